"""All pairs at once: a heat map of their strengths, or a network of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import notes_of, short, unit, value_text
from paribus._display.figure import Figure, Heat, Line, Mark, Panel, PanelAxis, Points, Text
from paribus._display.layout import single_panel
from paribus._display.mark_helpers import INK, color_of
from paribus._display.text_width import inches, text_width
from paribus._text import count, number
from paribus.results import HStatistics

if TYPE_CHECKING:
    from paribus._evaluators.interactions import Ratio

LABEL = 22  # characters of a feature's name; hover texts have all of it

# The color maps Blues and Oranges from a fifth of the way up: a weak cell differs from a blank one.
BLUES = ("#d0e1f2", "#a3cce3", "#64a9d3", "#3383be", "#0e59a2", "#08306b")
ORANGES = ("#fdd9b4", "#fdb271", "#fb8735", "#e65a0b", "#b33b02", "#7f2704")
WRITTEN = 8  # features of a heat map whose cells have room for their numbers
ROOM = 30.0  # em that fit beside each other below a heat map
COLOR_BARS = 2.4  # inches, beside a heat map

HORIZONTAL = 12  # features of a network whose labels are horizontal; those of more lie along the rays
RADIUS = 2.0  # inches, of the circle of a network
INCH = 1 / RADIUS  # in units of a network, whose circle has the radius one
AWAY = 0.4 * INCH  # from the circle to where the label of the largest node starts
LEGEND = 1.9 * INCH  # for what widths and sizes mean
HEADING = 24  # characters of a line that have room there
WEAK = 0.01  # of the strongest link: what is weaker is not drawn
WIDEST = 9.0  # points, of the strongest link
LARGEST = 26.0  # points across, of the strongest feature's node
ALONG = np.linspace(0.0, 1.0, 11)[:, None]  # where on a link a pointer finds it


@dataclass(frozen=True, eq=False)
class Pairs:
    """The features to draw, strongest first: ``matrix (j, k)`` of strengths and each feature's own.

    The matrix is symmetric, its diagonal is zero, and pairs that were not requested are NaN. ``hover`` is the
    text of each pair, and on its diagonal of each feature. ``lines`` say what is left out.
    """

    labels: list[str]
    matrix: Floats
    own: Floats
    hover: list[list[str]]
    lines: list[str]


def _pairs_of(result: HStatistics, k: int, o: int) -> Pairs:
    names, strength = result.feature_names, result.pairwise.strength[:, o]
    matrix = np.where(np.eye(len(names), dtype=bool), 0.0, np.nan)
    for (first, second), value in zip(result.pairs, strength, strict=True):
        matrix[first, second] = matrix[second, first] = value
    own, errors = result.main_effect.strength[:, o], result.main_effect.strength_error[:, o]
    # By all interactions of a feature together; among equals, by its own effect.
    shown = np.lexsort((-own, -np.nansum(matrix**2, axis=1)))[:k]
    rows = {feature: row for row, feature in enumerate(shown.tolist())}
    hover = [[""] * len(rows) for _ in rows]
    for feature, row in rows.items():
        text = value_text("own effect", float(own[feature]), float(errors[feature]))
        hover[row][row] = f"{names[feature]}\n{text}"
    for entry, (first, second) in enumerate(result.pairs):
        if first in rows and second in rows:
            text = interaction_text(result.pairwise, [names[first], names[second]], entry, o)
            hover[rows[first]][rows[second]] = hover[rows[second]][rows[first]] = text
    labels = [short(names[feature], LABEL) for feature in rows]
    lines = [f"{len(rows)} of {len(names):,} features"] if len(rows) < len(names) else []
    return Pairs(labels, matrix[np.ix_(shown, shown)], own[shown], hover, lines)


def interaction_text(ratio: Ratio, names: Sequence[str], entry: int, o: int) -> str:
    """Return the hover text of one entry of a statistic: its strength and its H², with their errors."""
    share = float(ratio.share[entry, o])
    strength = value_text("strength", float(ratio.strength[entry, o]), float(ratio.strength_error[entry, o]))
    h_squared = value_text("H²", share, float(ratio.ratio_error[entry, o]))
    return "\n".join([" × ".join(names), strength, *([] if np.isnan(share) else [h_squared])])


def heatmap(result: HStatistics, k: int, o: int) -> Figure:
    """Show every pair as a cell, and each feature's own effect on the diagonal in another color."""
    pairs = _pairs_of(result, k, o)
    size, labels, lines = len(pairs.labels), pairs.labels, list(pairs.lines)
    of_pairs, of_features = (
        f"{what}\n({unit(result, [o])})"
        for what in ("strength of the interaction", "own effect, on the diagonal")
    )
    marks: list[Mark] = [
        *_cells(np.nan_to_num(pairs.matrix), BLUES, of_pairs, pairs.hover),
        *_cells(np.diag(pairs.own), ORANGES, of_features, pairs.hover),
        _between_cells(size),
    ]
    absent = np.argwhere(np.isnan(pairs.matrix))
    marks += [Text(float(column), float(size - 1 - row), "·", size=16.0, alpha=0.8) for row, column in absent]
    if (pairs.matrix[~np.eye(size, dtype=bool)] == 0).any() or not pairs.own.all():
        lines.append("blank: exactly zero")
    if len(absent):
        lines.append("dot: not requested")
    rotated = size * max(map(text_width, labels)) > ROOM
    columns, rows = (
        tuple(zip(map(float, at), labels, strict=True)) for at in (range(size), range(size)[::-1])
    )
    x, y = (PanelAxis("", "category", ticks, low=-0.5, high=size - 0.5) for ticks in (columns, rows))
    side, beside = max(3.3, size * (0.6 if size <= WRITTEN else 0.3)), 0.3 + max(map(inches, labels))
    page = side + beside + COLOR_BARS, side + (beside if rotated else 0.4) + 0.3
    panel = Panel(tuple(marks), replace(x, turned=rotated), y, equal=True)
    return single_panel(panel, page, notes_of(result, *lines))


def _cells(values: Floats, colors: tuple[str, ...], unit: str, hover: list[list[str]]) -> list[Heat]:
    """Return the cells that are not zero, the first row uppermost."""
    if not values.any():
        return []
    edges = np.arange(len(values) + 1, dtype=np.float64) - 0.5
    shown = np.where(values == 0, np.nan, values)[::-1].copy()
    rows = [[*zip(*row, strict=True)] for row in zip(shown, hover[::-1], strict=True)]
    texts = tuple(tuple("" if np.isnan(value) else text for value, text in row) for row in rows)
    numbers = tuple(tuple("" if np.isnan(value) else _brief(value) for value in row) for row in shown)
    written = numbers if len(values) <= WRITTEN else ()
    return [Heat(edges, edges, shown, colors, 0.0, float(values.max()), unit, written, texts)]


def _brief(value: float) -> str:
    """Return a number that fits in a cell."""
    plain = f"{value:.2g}"
    brief = plain if len(plain) <= 6 else f"{value:.0e}"
    return brief.replace("e-0", "e-").replace("e+0", "e")


def _between_cells(size: int) -> Line:
    """Return faint lines between cells, without which blank ones are none."""
    along, across = np.tile([-0.5, size - 0.5, np.nan], size + 1), np.repeat(np.arange(size + 1) - 0.5, 3)
    across[2::3] = np.nan
    x, y = np.concatenate([along, across]), np.concatenate([across, along])
    return Line(x, y, INK, width=0.5, alpha=0.2)


def network(result: HStatistics, k: int, o: int) -> Figure:
    """Show features on a circle, as large as their own effect, with links as wide as they interact."""
    pairs = _pairs_of(result, k, o)
    links, labels, lines = np.triu(np.nan_to_num(pairs.matrix)), pairs.labels, list(pairs.lines)
    # The strongest feature stands on top, the others follow clockwise.
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(labels)) / len(labels)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    drawn = np.argwhere((links > 0) & (links >= WEAK * links.max()))
    strongest_last = drawn[np.argsort(links[tuple(drawn.T)], kind="stable")]
    largest = min(LARGEST, 0.8 * 2 * np.pi * RADIUS * 72 / len(angles))
    across = _diameters(pairs.own, float(pairs.own.max()), largest)
    own_texts = tuple(pairs.hover[place][place] for place in range(len(labels)))
    right, x, y, size = _circle(labels, places)
    if not links.any():
        lines.append("every interaction is exactly zero")
    weak = int(np.count_nonzero(links)) - len(drawn)
    if weak:
        lines.append(f"without {count(weak, 'link')} below 1 % of the strongest")
    marks = (
        *(_link(places, pairs.hover, link, links[tuple(link)] / links.max()) for link in strongest_last),
        Points(places[:, 0].copy(), places[:, 1].copy(), color_of(1), size=across, hover=own_texts),
        *_names(labels, np.round(places, 9), across),
        *_legend(right, float(links.max()), float(pairs.own.max()), largest, unit(result, [o])),
    )
    return single_panel(Panel(marks, x, y, equal=True), size, notes_of(result, *lines))


def _circle(labels: list[str], places: Floats) -> tuple[float, PanelAxis, PanelAxis, tuple[float, float]]:
    """Lay out a circle of radius one with room for labels around it and a legend to the right.

    Returned are where the legend starts, the axes, and how many inches they need.
    """
    cos, horizontal = places[:, 0], len(labels) <= HORIZONTAL
    long = np.array([inches(label, 9.0) for label in labels]) * INCH
    # Horizontal labels begin at their position right of the circle and end there left of it; those at its
    # top and bottom lie around theirs.
    upright = np.abs(cos) < 1e-9
    after, before = (
        long * (np.where(upright, 0.5, side > 0) if horizontal else np.maximum(side, 0.0))
        for side in (cos, -cos)
    )
    left = float(np.min(cos * (1 + AWAY) - before))
    right = float(np.max(cos * (1 + AWAY) + after)) + 0.1 * INCH
    up = 1 + AWAY + (0.15 * INCH if horizontal else float(long.max()))
    x = PanelAxis(scale="none", low=left, high=right + LEGEND)
    y = PanelAxis(scale="none", low=-up, high=up)
    return right, x, y, (RADIUS * (right + LEGEND - left), 2 * RADIUS * up)


def _link(places: Floats, hover: list[list[str]], link: Floats, share: float) -> Line:
    """Return the line of a pair; at its ends a pointer is on a node, whichever of both lies nearer."""
    first, second = link
    along = places[first] + ALONG * (places[second] - places[first])
    middle = [hover[first][second]] * (len(ALONG) - 2)
    x, y = along.T.copy()
    return _link_line(x, y, share, (hover[first][first], *middle, hover[second][second]))


def _link_line(x: Floats, y: Floats, share: float, hover: tuple[str, ...] = ()) -> Line:
    """Return a line as wide and strong as a link that has a share of the strongest one's strength."""
    width, alpha = 0.4 + (WIDEST - 0.4) * share, 0.2 + 0.7 * share
    return Line(x, y, color_of(0), width=float(width), alpha=float(alpha), hover=hover)


def _diameters(own: Floats, strongest: float, largest: float) -> Floats:
    """Return the diameters of nodes: areas go with the strength, but none is too small to be seen."""
    return np.maximum(largest * np.sqrt(own / (strongest or 1.0)), 3.5)


def _names(labels: list[str], places: Floats, across: Floats) -> Iterator[Text]:
    """Yield labels outside of the circle: horizontal while few, along the rays when they would meet.

    Rotated ones are never upside down, and rotated around their middle: not every renderer can do it around
    their ends.
    """
    size = 9.0 if len(labels) <= 30 else 8.0
    for label, (x, y), node in zip(labels, places.tolist(), across.tolist(), strict=True):
        away = node / 2 + 5
        if len(labels) > HORIZONTAL:
            middle = away + size * text_width(label) / 2
            rotation = float(np.degrees(np.arctan2(y, x))) + 180 * (x < 0)
            yield Text(x, y, label, rotation=rotation, size=size, offset=(x * middle, y * middle))
        else:
            text = Text(x, y, label, size=size, offset=(x * away, y * away))
            if x:
                yield replace(text, align="left" if x > 0 else "right")
            else:
                yield replace(text, upright="bottom" if y > 0 else "top")


def _legend(left: float, link: float, node: float, largest: float, unit: str) -> Iterator[Mark]:
    """Say right of the circle what widths and sizes mean, with three round examples of each.

    They are drawn as the links and nodes are, as a legend's own lines and dots come in few sizes; and so far
    apart that they do not meet on smaller pages.
    """
    ends = np.array([left, left + 0.4 * INCH])
    for what, strongest, (top, *rows) in (
        ("link: interaction", link, (1.48, 1.25, 0.9, 0.55)),
        ("node: own effect", node, (-0.27, -0.5, -0.85, -1.3)),
    ):
        if not strongest:
            continue
        yield Text(left, top * INCH, "\n".join([what, *wrap(f"({unit})", HEADING)]), "left", "bottom")
        for row, value in zip(rows, _examples(strongest), strict=True):
            if what.startswith("link"):
                yield _link_line(ends, np.full(2, row * INCH), value / link)
            else:
                size = _diameters(np.array([value]), node, largest)
                yield Points(ends[:1] + 0.2 * INCH, np.array([row * INCH]), color_of(1), size=size)
            yield Text(float(ends[1]), row * INCH, number(value), "left", offset=(7.0, 0.0))


def _examples(strongest: float) -> list[float]:
    """Return three round strengths to explain, none above the strongest."""
    aims = strongest * (1 + 1e-9) * np.array([0.1, 0.3, 1.0])  # three tenths of 3 are 0.9, not 0.8999...
    digit = 10.0 ** np.floor(np.log10(aims))
    return [float(value) for value in np.floor(aims / digit) * digit]

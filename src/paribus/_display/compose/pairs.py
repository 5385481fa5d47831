"""Heat maps and networks of pairwise interactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import background, caveats_of, short, unit, value_text
from paribus._display.figure import Figure, Heat, Line, Mark, Panel, PanelAxis, Points, Text
from paribus._display.layout import single_panel
from paribus._display.mark_helpers import INK, color_of
from paribus._display.text_width import inches, text_width
from paribus._text import number
from paribus.results import HStatistics

if TYPE_CHECKING:
    from paribus._evaluators.interactions import Ratio

LABEL = 22  # characters of the name of a feature; hover texts have the full name

# The upper four fifths of the color map Blues, so that weak cells differ from blank ones.
BLUES = ("#d0e1f2", "#a3cce3", "#64a9d3", "#3383be", "#0e59a2", "#08306b")
WRITTEN = 12  # features of a heat map with numbers in its cells, at most
CELL, SMALL_CELL = 0.5, 0.3  # inches of a cell with a number, and of one without
COLOR_BAR = 1.3  # inches of the color bar next to a heat map

HORIZONTAL = 12  # features of a network with horizontal labels; labels of more are radial
RADIUS = 2.0  # inches of the circle of a network
INCH = 1 / RADIUS  # in units of the network, whose circle has the radius one
AWAY = 0.4 * INCH  # distance from the circle to the label of the largest node
LEGEND = 1.9 * INCH  # width of the legend
HEADING = 24  # characters of a line of the legend
LINKS = 10  # plotted links, the strongest, at most
WIDEST = 9.0  # points, width of the strongest link
LARGEST = 26.0  # points, diameter of the node of the strongest feature, at most
ALONG = np.linspace(0.0, 1.0, 11)[:, None]  # positions along a link that have a hover text


@dataclass(frozen=True, eq=False)
class Pairs:
    """The plotted features, the strongest first.

    ``matrix (j, j)`` has the strengths of pairs. It is symmetric with a diagonal of zeros, and pairs that
    were not requested are NaN. ``own (j,)`` is the strength of each main effect. ``hover`` has the text of
    each pair, and that of each feature on its diagonal. ``lines`` are about the background data and about
    features that are left out.
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
    # Sort by the total strength of all interactions of a feature, then by its main effect.
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
    lines = [background(result.provenance), *lines]
    return Pairs(labels, matrix[np.ix_(shown, shown)], own[shown], hover, lines)


def interaction_text(ratio: Ratio, names: Sequence[str], entry: int, o: int) -> str:
    """Return the hover text of one entry of a statistic: strength and H² with their standard errors."""
    share = float(ratio.share[entry, o])
    strength = value_text("strength", float(ratio.strength[entry, o]), float(ratio.strength_error[entry, o]))
    h_squared = value_text("H²", share, float(ratio.ratio_error[entry, o]))
    return "\n".join([" × ".join(names), strength, *([] if np.isnan(share) else [h_squared])])


def heatmap(result: HStatistics, k: int, o: int, title: str) -> Figure:
    """Return a heat map of all pairs: the triangle below the diagonal, because strengths are symmetric."""
    pairs = _pairs_of(result, k, o)
    size, lines = len(pairs.labels), list(pairs.lines)
    below = np.tril(np.ones((size, size), dtype=bool), -1)[1:, :-1]  # the first feature has no row
    strengths, hover = pairs.matrix[1:, :-1], [row[:-1] for row in pairs.hover[1:]]
    marks: list[Mark] = [
        *_pair_heat(np.where(below, np.nan_to_num(strengths), 0.0), unit(result, [o]), hover),
        _between_cells(size - 1),
    ]
    absent = np.argwhere(np.isnan(strengths) & below)
    marks += [Text(float(column), float(size - 2 - row), "·", size=16.0, alpha=0.8) for row, column in absent]
    if (strengths[below] == 0).any():
        lines.append("blank: exactly zero")
    if len(absent):
        lines.append("dot: not requested")
    columns, rows = pairs.labels[:-1], pairs.labels[:0:-1]
    cell = CELL if size <= WRITTEN else SMALL_CELL
    rotated = 10 * max(map(text_width, columns)) > 72 * cell
    x, y = (
        PanelAxis("", "category", tuple(zip(map(float, range(size - 1)), names, strict=True)), turned)
        for names, turned in ((columns, rotated), (rows, False))
    )
    x, y = (replace(axis, low=-0.5, high=size - 1.5) for axis in (x, y))
    side, beside = max(2.4, (size - 1) * cell), 0.3 + max(map(inches, pairs.labels))
    page = side + beside + COLOR_BAR, side + (beside if rotated else 0.4) + 0.3
    return single_panel(Panel(tuple(marks), x, y, equal=True), page, lines, caveats_of(result), title)


def _pair_heat(values: Floats, unit: str, hover: list[list[str]]) -> list[Heat]:
    """Return the heat map of the cells that are not zero, with the first row on top."""
    if not values.any():
        return []
    edges = np.arange(len(values) + 1, dtype=np.float64) - 0.5
    shown = np.where(values == 0, np.nan, values)[::-1].copy()
    rows = [[*zip(*row, strict=True)] for row in zip(shown, hover[::-1], strict=True)]
    texts = tuple(tuple("" if np.isnan(value) else text for value, text in row) for row in rows)
    numbers = tuple(tuple("" if np.isnan(value) else _brief(value) for value in row) for row in shown)
    written = numbers if len(values) < WRITTEN else ()
    label = f"strength of the interaction ({unit})"
    return [Heat(edges, edges, shown, BLUES, 0.0, float(values.max()), label, written, texts)]


def _brief(value: float) -> str:
    """Return a number that fits in a cell."""
    plain = f"{value:.2g}"
    brief = plain if len(plain) <= 6 else f"{value:.0e}"
    return brief.replace("e-0", "e-").replace("e+0", "e")


def _between_cells(size: int) -> Line:
    """Return faint lines between the cells of a triangle of ``size`` rows, which make blank cells visible."""
    ends = (
        np.minimum(np.arange(size + 1) + 1.0, size) - 0.5
    )  # of the line below each row, and above the first
    along = np.column_stack([np.full(size + 1, -0.5), ends, np.full(size + 1, np.nan)]).ravel()
    across = np.repeat(size - 0.5 - np.arange(size + 1), 3)
    # Rows and columns are alike, counted from the lower left corner.
    x, y = np.concatenate([along, across]), np.concatenate([across, along])
    return Line(x, y, INK, width=0.5, alpha=0.2)


def network(result: HStatistics, k: int, o: int, title: str) -> Figure:
    """Return a network of features on a circle, with the strongest links.

    The area of a node is proportional to the main effect. The width of a link grows with the strength of the
    interaction.
    """
    pairs = _pairs_of(result, k, o)
    links, labels, lines = np.triu(np.nan_to_num(pairs.matrix)), pairs.labels, list(pairs.lines)
    # The strongest feature is on top, and the others follow clockwise.
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(labels)) / len(labels)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    known = np.argwhere(links > 0)
    drawn = known[np.argsort(links[tuple(known.T)], kind="stable")][-LINKS:]  # the strongest is on top
    largest = min(LARGEST, 0.8 * 2 * np.pi * RADIUS * 72 / len(angles))
    across = _diameters(pairs.own, float(pairs.own.max()), largest)
    own_texts = tuple(pairs.hover[place][place] for place in range(len(labels)))
    right, x, y, size = _network_layout(labels, places)
    if not links.any():
        lines.append("every interaction is exactly zero")
    if len(drawn) < len(known):
        lines.append(f"the strongest {len(drawn)} of {len(known):,} links")
    marks = (
        *(_network_link(places, pairs.hover, link, links[tuple(link)] / links.max()) for link in drawn),
        Points(places[:, 0].copy(), places[:, 1].copy(), color_of(1), size=across, hover=own_texts),
        *_network_labels(labels, np.round(places, 9), across),
        *_network_legend(right, float(links.max()), float(pairs.own.max()), largest, unit(result, [o])),
    )
    panel = Panel(marks, x, y, equal=True)
    return single_panel(panel, size, lines, caveats_of(result), title)


def _network_layout(
    labels: list[str], places: Floats
) -> tuple[float, PanelAxis, PanelAxis, tuple[float, float]]:
    """Return the left edge of the legend, the two axes, and the size in inches of a network.

    The circle has the radius one, labels around it, and the legend to its right.
    """
    cos, horizontal = places[:, 0], len(labels) <= HORIZONTAL
    long = np.array([inches(label, 9.0) for label in labels]) * INCH
    # A horizontal label begins at its position on the right half of the circle, ends there on the left half,
    # and is centered at the top and the bottom.
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


def _network_link(places: Floats, hover: list[list[str]], link: Floats, share: float) -> Line:
    """Return the line of a pair; its ends have the hover texts of the two nodes."""
    first, second = link
    along = places[first] + ALONG * (places[second] - places[first])
    middle = [hover[first][second]] * (len(ALONG) - 2)
    x, y = along.T.copy()
    return _link_line(x, y, share, (hover[first][first], *middle, hover[second][second]))


def _link_line(x: Floats, y: Floats, share: float, hover: tuple[str, ...] = ()) -> Line:
    """Return a line whose width and opacity grow with ``share``, the share of the strongest link."""
    width, alpha = 0.4 + (WIDEST - 0.4) * share, 0.2 + 0.7 * share
    return Line(x, y, color_of(0), width=float(width), alpha=float(alpha), hover=hover)


def _diameters(own: Floats, strongest: float, largest: float) -> Floats:
    """Return the diameters of nodes: areas are proportional to strengths, with a visible minimum."""
    return np.maximum(largest * np.sqrt(own / (strongest or 1.0)), 3.5)


def _network_labels(labels: list[str], places: Floats, across: Floats) -> Iterator[Text]:
    """Yield labels outside of the circle: horizontal if there are few, else radial.

    Radial labels are never upside down. They are rotated around their middle, because not all renderers can
    rotate text around its ends.
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


def _network_legend(left: float, link: float, node: float, largest: float, unit: str) -> Iterator[Mark]:
    """Yield the legend right of the circle: three examples of link widths and of node sizes.

    They are marks of the panel, because the legends of plotting libraries have few sizes.
    """
    ends = np.array([left, left + 0.4 * INCH])
    for what, strongest, (top, *rows) in (
        ("link: interaction", link, (1.48, 1.25, 0.9, 0.55)),
        ("node: own effect", node, (-0.27, -0.5, -0.85, -1.3)),
    ):
        if not strongest:
            continue
        yield Text(left, top * INCH, "\n".join([what, *wrap(f"({unit})", HEADING)]), "left", "bottom")
        for row, value in zip(rows, _legend_examples(strongest), strict=True):
            if what.startswith("link"):
                yield _link_line(ends, np.full(2, row * INCH), value / link)
            else:
                size = _diameters(np.array([value]), node, largest)
                yield Points(ends[:1] + 0.2 * INCH, np.array([row * INCH]), color_of(1), size=size)
            yield Text(float(ends[1]), row * INCH, number(value), "left", offset=(7.0, 0.0))


def _legend_examples(strongest: float) -> list[float]:
    """Return three round strengths, about a tenth, three tenths and all of the strongest one."""
    aims = strongest * (1 + 1e-9) * np.array([0.1, 0.3, 1.0])  # three tenths of 3 are 0.9, not 0.8999...
    digit = 10.0 ** np.floor(np.log10(aims))
    return [float(value) for value in np.floor(aims / digit) * digit]

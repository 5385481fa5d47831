"""All pairs at once: a heat map of their strengths, or a network of features."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import Figure, Heat, Line, Mark, Panel, PanelAxis, Points, Text
from paribus._display.panels.axis_layout import short
from paribus._display.panels.bars import below, interaction_hover
from paribus._display.panels.labels import height, hover_of, unit
from paribus._display.style import INK, color_of
from paribus._display.text import wide
from paribus._text import count, number
from paribus.results import HStatistics

LABEL = 22  # letters of a feature's name; what a pointer shows has all
LETTER = 0.075  # inches, about

# The color maps Blues and Oranges from a fifth of the way up: a weak cell differs from a blank one.
BLUES = ("#d0e1f2", "#a3cce3", "#64a9d3", "#3383be", "#0e59a2", "#08306b")
ORANGES = ("#fdd9b4", "#fdb271", "#fb8735", "#e65a0b", "#b33b02", "#7f2704")
WRITTEN = 8  # features of a heat map whose cells have room for their numbers
COLOR_BARS = 2.4  # inches, beside a heat map

LEVEL = 12  # features of a network whose labels stand category; those of more lie along the rays
AWAY = 0.4  # inches, from the circle to where the label of the largest node starts
RADIUS = 2.0  # inches, of the circle of a network
EXPLAINED = 1.9  # inches, for what widths and sizes mean
HEADING = 24  # letters of a line that have room there
WEAK = 0.01  # of the strongest link: what is weaker is not drawn
WIDEST = 9.0  # points, of the strongest link
LARGEST = 26.0  # points across, of the strongest feature's node
ALONG = np.linspace(0.0, 1.0, 11)  # where on a link a pointer finds it


@dataclass(frozen=True)
class Pairs:
    """The features to draw, strongest first: ``matrix (j, k)`` of strengths and each feature's own.

    The matrix is symmetric, its diagonal is zero, and pairs that were not requested are NaN. ``hover`` is
    what a pointer shows of each pair, and on its diagonal of each feature.
    """

    names: list[str]
    matrix: Floats
    own: Floats
    hover: list[list[str]]
    unit: str
    lines: list[str]

    @property
    def labels(self) -> list[str]:
        """The names, not longer than can be read."""
        return [short(name, LABEL) for name in self.names]


def _pairs_of(result: HStatistics, k: int, o: int) -> Pairs:
    size, names = len(result.features), result.feature_names
    matrix = np.where(np.eye(size, dtype=bool), 0.0, np.nan)
    hover = [[""] * size for _ in names]
    for entry, (first, second) in enumerate(result.pairs):
        matrix[first, second] = matrix[second, first] = result.pairwise.strength[entry, o]
        words = f"{names[first]} × {names[second]}\n{interaction_hover(result, 'pairwise', entry, o)}"
        hover[first][second] = hover[second][first] = words
    own, errors = result.main_effect.strength[:, o], result.main_effect.strength_error[:, o]
    for place, name in enumerate(names):
        hover[place][place] = f"{name}\n{height('own effect', float(own[place]), float(errors[place]))}"
    # By all interactions of a feature together; among equals, by its own effect.
    shown = np.lexsort((-own, -np.nansum(matrix**2, axis=1)))[:k]
    return Pairs(
        [names[place] for place in shown],
        matrix[np.ix_(shown, shown)],
        own[shown],
        [[hover[row][column] for column in shown] for row in shown],
        unit(result, [o]),
        [f"{len(shown)} of {size:,} features"] if len(shown) < size else [],
    )


def heatmap(result: HStatistics, k: int, o: int) -> Figure:
    """Show every pair as a cell, and each feature's own effect on the diagonal in another color."""
    pairs = _pairs_of(result, k, o)
    size, lines = len(pairs.names), list(pairs.lines)
    of_pairs, of_features = (
        f"{what}\n({pairs.unit})" for what in ("strength of the interaction", "own effect, on the diagonal")
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
    x, y, (width, height) = _square(pairs.labels)
    notes = hover_of(result, *lines)
    inches = (width, height + below(notes, width))
    return Figure((Panel(tuple(marks), x, y, equal=True),), size=inches, notes=notes)


def _cells(values: Floats, colors: tuple[str, ...], unit: str, told: list[list[str]]) -> list[Heat]:
    """Return the cells that are not zero, the first row uppermost."""
    if not values.any():
        return []
    edges = np.arange(len(values) + 1, dtype=np.float64) - 0.5
    few = len(values) <= WRITTEN
    shown = np.where(values == 0, np.nan, values)[::-1].copy()
    numbers = tuple(tuple("" if np.isnan(v) else _brief(v) for v in row) for row in shown) if few else ()
    hover = tuple(
        tuple("" if np.isnan(v) else words for v, words in zip(*row, strict=True))
        for row in zip(shown, told[::-1], strict=True)
    )
    return [Heat(edges, edges, shown, colors, 0.0, float(values.max()), unit, numbers, hover)]


def _brief(value: float) -> str:
    """Return a number for a cell, whose width is a few letters."""
    plain = f"{value:.2g}"
    brief = plain if len(plain) <= 6 else f"{value:.0e}"
    return brief.replace("e-0", "e-").replace("e+0", "e")


def _between_cells(size: int) -> Line:
    """Return faint lines between cells, without which blank ones are none."""
    edges, ends = np.arange(size + 1) - 0.5, np.array([-0.5, size - 0.5, np.nan])
    along, across = np.tile(ends, size + 1), np.repeat(edges, 3)
    gaps = np.isnan(along)
    x, y = np.concatenate([along, across]), np.concatenate([across, along])
    x[np.tile(gaps, 2)] = y[np.tile(gaps, 2)] = np.nan
    return Line(x, y, INK, width=0.5, alpha=0.2)


def _square(labels: list[str]) -> tuple[PanelAxis, PanelAxis, tuple[float, float]]:
    """Return two axes with the same labels, and how many inches cells and labels need."""
    size, longest = len(labels), max(map(len, labels))
    turned = size * longest > 50
    low, high, rows = -0.5, size - 0.5, [float(size - 1 - place) for place in range(size)]
    x = PanelAxis(
        "", "category", tuple((float(p), label) for p, label in enumerate(labels)), turned, low, high
    )
    y = PanelAxis("", "category", tuple(zip(rows, labels, strict=True)), low=low, high=high)
    side = max(3.3, size * (0.6 if size <= WRITTEN else 0.3))
    beside = 0.3 + LETTER * longest
    return x, y, (side + beside + COLOR_BARS, side + (beside if turned else 0.4) + 0.3)


def network(result: HStatistics, k: int, o: int) -> Figure:
    """Show features on a circle, as large as their own effect, with links as wide as they interact."""
    pairs = _pairs_of(result, k, o)
    links = np.triu(np.nan_to_num(pairs.matrix))
    labels = pairs.labels
    # The strongest feature stands on top, the others follow clockwise.
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(labels)) / len(labels)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    drawn, weak = _links(places, links, pairs.hover)
    largest = min(LARGEST, 0.8 * 2 * np.pi * RADIUS * 72 / len(angles))
    across = _across(pairs.own, float(pairs.own.max()), largest)
    nodes = Points(
        places[:, 0].copy(),
        places[:, 1].copy(),
        color_of(1),
        size=across,
        hover=tuple(pairs.hover[place][place] for place in range(len(labels))),
    )
    right, x, y, (width, height) = _circle(labels, angles)
    legend = _explained(right, float(links.max()), float(pairs.own.max()), largest, pairs.unit)
    lines = list(pairs.lines)
    if not links.any():
        lines.append("every interaction is exactly zero")
    if weak:
        lines.append(f"without {count(weak, 'link')} below 1 % of the strongest")
    marks = (*drawn, nodes, *_names(labels, angles, across), *legend)
    notes = hover_of(result, *lines)
    inches = (width, height + below(notes, width))
    return Figure((Panel(marks, x, y, equal=True),), size=inches, notes=notes)


def _circle(labels: list[str], angles: Floats) -> tuple[float, PanelAxis, PanelAxis, tuple[float, float]]:
    """Lay out a circle of radius one with room for labels around it and a legend to the right.

    Returned are where the legend starts, the axes, and how many inches they need.
    """
    inch, level, cos = 1 / RADIUS, len(labels) <= LEVEL, np.cos(angles)
    long = np.array([len(label) for label in labels]) * LETTER * inch
    # Horizontal labels begin at their position right of the circle and end there left of it; those at its
    # top and bottom lie around theirs.
    upright = np.abs(cos) < 1e-9
    after, before = (
        long * (np.where(upright, 0.5, side > 0) if level else np.maximum(side, 0.0)) for side in (cos, -cos)
    )
    left = float(np.min(cos * (1 + AWAY * inch) - before))
    right = float(np.max(cos * (1 + AWAY * inch) + after)) + 0.1 * inch
    up = 1 + AWAY * inch + (0.15 * inch if level else float(long.max()))
    x = PanelAxis(scale="none", low=left, high=right + EXPLAINED * inch)
    y = PanelAxis(scale="none", low=-up, high=up)
    return right, x, y, (RADIUS * (right - left) + EXPLAINED, 2 * RADIUS * up)


def _links(places: Floats, links: Floats, told: list[list[str]]) -> tuple[list[Line], int]:
    """Return a line for each pair, the strongest uppermost, and how many are too weak to be seen."""
    drawn = np.argwhere((links > 0) & (links >= WEAK * links.max()))
    lines = []
    for first, second in drawn[np.argsort(links[tuple(drawn.T)], kind="stable")]:
        along = places[first] + ALONG[:, None] * (places[second] - places[first])
        share = float(links[first, second] / links.max())
        # At its ends a pointer is on a node, whichever of both lies nearer.
        hover = (told[first][first], *[told[first][second]] * (len(ALONG) - 2), told[second][second])
        lines.append(_link(along[:, 0].copy(), along[:, 1].copy(), share, hover))
    return lines, int(np.count_nonzero(links)) - len(drawn)


def _link(x: Floats, y: Floats, share: float, hover: tuple[str, ...] = ()) -> Line:
    """Return a link that has a share of the strongest one's strength."""
    width, alpha = 0.4 + (WIDEST - 0.4) * share, 0.2 + 0.7 * share
    return Line(x, y, color_of(0), width=width, alpha=alpha, hover=hover)


def _across(own: Floats, strongest: float, largest: float) -> Floats:
    """Return the diameters of nodes: areas go with the strength, but none is too small to be seen."""
    return np.maximum(largest * np.sqrt(own / (strongest or 1.0)), 3.5)


def _names(labels: list[str], angles: Floats, across: Floats) -> list[Text]:
    """Return labels outside of the circle: category while few, along the rays when they would meet."""
    named = _level if len(labels) <= LEVEL else _along_ray
    size = 9.0 if len(labels) <= 30 else 8.0
    rays = np.round(np.column_stack([np.cos(angles), np.sin(angles)]), 9)
    return [
        named(label, float(x), float(y), float(node) / 2 + 5, size)
        for label, (x, y), node in zip(labels, rays, across, strict=True)
    ]


def _level(label: str, x: float, y: float, away: float, size: float) -> Text:
    """Return a label beside its node, or above or below it."""
    offset = (x * away, y * away)
    if x:
        return Text(x, y, label, "left" if x > 0 else "right", size=size, offset=offset)
    return Text(x, y, label, upright="bottom" if y > 0 else "top", size=size, offset=offset)


def _along_ray(label: str, x: float, y: float, away: float, size: float) -> Text:
    """Return a label on the line from the center through a node, never on its head.

    It is turned around its middle, where every drawer turns words; some do not around their ends.
    """
    middle = away + size * sum(map(wide, label)) / 2
    turned = float(np.degrees(np.arctan2(y, x))) + 180 * (x < 0)
    return Text(x, y, label, rotation=turned, size=size, offset=(x * middle, y * middle))


def _explained(left: float, link: float, node: float, largest: float, unit: str) -> list[Mark]:
    """Say right of the circle what widths and sizes mean, with three round examples of each.

    They are drawn as the links and nodes are, as a legend's own lines and dots come in few sizes; and so far
    apart that they do not meet on smaller pages.
    """
    inch, marks = 1 / RADIUS, list[Mark]()
    if link:
        marks.append(_heading(left, 1.48 * inch, "link: interaction", unit))
        ends = np.array([left, left + 0.4 * inch])
        for y, value in zip((1.25 * inch, 0.9 * inch, 0.55 * inch), _examples(link), strict=True):
            number_beside = Text(float(ends[1]), y, number(value), "left", offset=(7.0, 0.0))
            marks += [_link(ends, np.full(2, y), value / link), number_beside]
    if node:
        marks.append(_heading(left, -0.27 * inch, "node: own effect", unit))
        x, examples = left + 0.2 * inch, _examples(node)
        for y, value in zip((-0.5 * inch, -0.85 * inch, -1.3 * inch), examples, strict=True):
            size = _across(np.array([value]), node, largest)
            dot = Points(np.array([x]), np.array([y]), color_of(1), size=size)
            marks += [dot, Text(x, y, number(value), "left", offset=(LARGEST / 2 + 8, 0.0))]
    return marks


def _heading(x: float, y: float, what: str, unit: str) -> Text:
    return Text(x, y, "\n".join([what, *wrap(f"({unit})", HEADING)]), "left", "bottom")


def _examples(strongest: float) -> list[float]:
    """Return three round strengths to explain, none above the strongest."""
    aims = strongest * (1 + 1e-9) * np.array([0.1, 0.3, 1.0])  # three tenths of 3 are 0.9, not 0.8999...
    digit = 10.0 ** np.floor(np.log10(aims))
    return [float(value) for value in np.floor(aims / digit) * digit]

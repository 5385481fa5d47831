"""Heat maps of pairwise interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import background, caveats_of, short, unit, value_text
from paribus._display.figure import Figure, Heat, Line, Mark, Panel, PanelAxis, Text
from paribus._display.layout import single_panel
from paribus._display.mark_helpers import INK
from paribus._display.text_width import inches, text_width
from paribus.results import HStatistics

if TYPE_CHECKING:
    from paribus._evaluators.interactions import Ratio

LABEL = 22  # characters of the name of a feature; hover texts have the full name

# The upper four fifths of the color map Blues, so that weak cells differ from blank ones.
BLUES = ("#d0e1f2", "#a3cce3", "#64a9d3", "#3383be", "#0e59a2", "#08306b")
WRITTEN = 12  # features of a heat map with numbers in its cells, at most
CELL, SMALL_CELL = 0.5, 0.3  # inches of a cell with a number, and of one without
COLOR_BAR = 1.3  # inches of the color bar next to a heat map


@dataclass(frozen=True, eq=False)
class Pairs:
    """The plotted features, the strongest first.

    ``matrix (j, j)`` has the strengths of pairs. It is symmetric with a diagonal of zeros, and pairs that
    were not requested are NaN. ``hover`` has the text of each pair. ``lines`` are about the background data
    and about features that are left out.
    """

    labels: list[str]
    matrix: Floats
    hover: list[list[str]]
    lines: list[str]


def _pairs_of(result: HStatistics, k: int, o: int) -> Pairs:
    names, strength = result.feature_names, result.pairwise.strength[:, o]
    matrix = np.where(np.eye(len(names), dtype=bool), 0.0, np.nan)
    for (first, second), value in zip(result.pairs, strength, strict=True):
        matrix[first, second] = matrix[second, first] = value
    own = result.main_effect.strength[:, o]
    # Sort by the total strength of all interactions of a feature, then by its main effect.
    shown = np.lexsort((-own, -np.nansum(matrix**2, axis=1)))[:k]
    rows = {feature: row for row, feature in enumerate(shown.tolist())}
    hover = [[""] * len(rows) for _ in rows]
    for entry, (first, second) in enumerate(result.pairs):
        if first in rows and second in rows:
            text = interaction_text(result.pairwise, [names[first], names[second]], entry, o)
            hover[rows[first]][rows[second]] = hover[rows[second]][rows[first]] = text
    labels = [short(names[feature], LABEL) for feature in rows]
    lines = [f"{len(rows)} of {len(names):,} features"] if len(rows) < len(names) else []
    lines = [background(result.provenance), *lines]
    return Pairs(labels, matrix[np.ix_(shown, shown)], hover, lines)


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

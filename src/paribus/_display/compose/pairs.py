"""Heat maps of pairwise interactions."""

from __future__ import annotations

from collections.abc import Sequence
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


def interaction_text(ratio: Ratio, names: Sequence[str], entry: int, o: int) -> str:
    """Return the hover text of one entry of a statistic: strength and H² with their standard errors."""
    share = float(ratio.share[entry, o])
    strength = value_text("strength", float(ratio.strength[entry, o]), float(ratio.strength_error[entry, o]))
    h_squared = value_text("H²", share, float(ratio.ratio_error[entry, o]))
    return "\n".join([" × ".join(names), strength, *([] if np.isnan(share) else [h_squared])])


def heatmap(result: HStatistics, k: int, o: int, title: str) -> Figure:
    """Return a heat map of all pairs: the triangle below the diagonal, because strengths are symmetric."""
    names = result.feature_names
    matrix = np.where(np.eye(len(names), dtype=bool), 0.0, np.nan)  # NaN for pairs that were not requested
    for (first, second), value in zip(result.pairs, result.pairwise.strength[:, o], strict=True):
        matrix[first, second] = matrix[second, first] = value
    main_effects = result.main_effect.strength[:, o]
    # Sort by the total strength of all interactions of a feature, then by its main effect.
    order = np.lexsort((-main_effects, -np.nansum(matrix**2, axis=1)))[:k].tolist()
    size, labels = len(order), [short(names[feature], LABEL) for feature in order]
    below = np.tril(np.ones((size, size), dtype=bool), -1)[1:, :-1]  # the first feature has no row
    strengths = matrix[np.ix_(order, order)][1:, :-1]
    values = np.where(below, np.nan_to_num(strengths), 0.0)
    marks: list[Mark] = [_pair_heat(result, o, order, values)] if values.any() else []
    marks.append(_between_cells(size - 1))
    absent = np.argwhere(np.isnan(strengths) & below)
    marks += [Text(float(column), float(size - 2 - row), "·", size=16.0, alpha=0.8) for row, column in absent]
    lines = [background(result.provenance)]
    if size < len(names):
        lines.append(f"{size} of {len(names):,} features")
    if (strengths[below] == 0).any():
        lines.append("blank: exactly zero")
    if len(absent):
        lines.append("dot: not requested")
    columns, rows = labels[:-1], labels[:0:-1]
    cell = CELL if size <= WRITTEN else SMALL_CELL
    rotated = 10 * max(map(text_width, columns)) > 72 * cell
    at, high = [float(place) for place in range(size - 1)], size - 1.5
    x = PanelAxis("", "category", tuple(zip(at, columns, strict=True)), rotated, low=-0.5, high=high)
    y = PanelAxis("", "category", tuple(zip(at, rows, strict=True)), low=-0.5, high=high)
    side, beside = max(2.4, (size - 1) * cell), 0.3 + max(map(inches, labels))
    page = side + beside + COLOR_BAR, side + (beside if rotated else 0.4) + 0.3
    return single_panel(Panel(tuple(marks), x, y, equal=True), page, lines, caveats_of(result), title)


def _pair_heat(result: HStatistics, o: int, order: list[int], values: Floats) -> Heat:
    """Return the heat map of the cells that are not zero, with the first row on top."""
    shown = np.where(values == 0, np.nan, values)[::-1].copy()
    ranks = {feature: rank for rank, feature in enumerate(order)}
    hover = [[""] * len(values) for _ in values]
    for entry, (first, second) in enumerate(result.pairs):
        if first in ranks and second in ranks:
            column, rank = sorted((ranks[first], ranks[second]))
            row = len(values) - rank
            if not np.isnan(shown[row, column]):
                names = [result.feature_names[first], result.feature_names[second]]
                hover[row][column] = interaction_text(result.pairwise, names, entry, o)
    written: tuple[tuple[str, ...], ...] = ()
    if len(values) < WRITTEN:
        written = tuple(tuple("" if np.isnan(value) else _brief(value) for value in row) for row in shown)
    edges = np.arange(len(values) + 1, dtype=np.float64) - 0.5
    label = f"strength of the interaction ({unit(result, [o])})"
    high = float(values.max())
    return Heat(edges, edges, shown, BLUES, 0.0, high, label, written, tuple(map(tuple, hover)))


def _brief(value: float) -> str:
    """Return a number that fits in a cell."""
    plain = f"{value:.2g}"
    brief = plain if len(plain) <= 6 else f"{value:.0e}"
    return brief.replace("e-0", "e-").replace("e+0", "e")


def _between_cells(size: int) -> Line:
    """Return faint lines between the cells of a triangle of ``size`` rows, which make blank cells visible."""
    # The ends of the line below each row, and above the first.
    ends = np.minimum(np.arange(size + 1) + 1.0, size) - 0.5
    along = np.column_stack([np.full(size + 1, -0.5), ends, np.full(size + 1, np.nan)]).ravel()
    across = np.repeat(size - 0.5 - np.arange(size + 1), 3)
    # Rows and columns are alike, counted from the lower left corner.
    x, y = np.concatenate([along, across]), np.concatenate([across, along])
    return Line(x, y, INK, width=0.5, alpha=0.2)

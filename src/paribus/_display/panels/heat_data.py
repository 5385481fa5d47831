"""What is known in the cells of two features, and its colors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.figure import Hatch, Mark
from paribus._display.panels.labels import height, share
from paribus._display.style import DIVERGING, SEQUENTIAL
from paribus.results import PartialDependence

ROUNDING = 1e-9  # of the largest: what is smaller is no hill
TOLD = 10_000  # cells that are described in words; those of more would make a page of tens of megabytes
NOTHING = 1e-13  # in units of the prediction: what is left where numbers cancel out


@dataclass(frozen=True, eq=False)
class HeatData:
    """What is known in each cell ``(y, x)``: heights, errors, the data, and whether it is off the data."""

    heights: Floats
    errors: Floats | None
    weights: Floats
    off: Flags | None
    name: str
    whole: float

    def hover(self, across: Sequence[str], up: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return what a pointer shows of each cell; of very many cells, nothing but their numbers."""
        if self.heights.size > TOLD:
            return ()
        return tuple(
            tuple(self._cell(words, row, (j, i)) for i, words in enumerate(across))
            for j, row in enumerate(up)
        )

    def _cell(self, across: str, up: str, cell: tuple[int, int]) -> str:
        error = None if self.errors is None else float(self.errors[cell])
        told = height(self.name, float(self.heights[cell]), error)
        return "\n".join([across, up, told, share(float(self.weights[cell]), self.whole)])


def mask_of(effect: PartialDependence) -> Flags | None:
    """Return which cells are off the data, if that was evaluated."""
    return None if effect.extrapolation is None else effect.extrapolation.mask


def hatched(x_edges: Floats, y_edges: Floats, off: Flags | None, label: str) -> list[Mark]:
    """Return the mark of cells off the data, if there are any."""
    return [] if off is None or not off.any() else [Hatch(x_edges, y_edges, off, label)]


def flat(values: Floats) -> bool:
    """Return whether values are constant up to rounding."""
    known = values[np.isfinite(values)]
    if not len(known):
        return True
    return bool(np.ptp(known) <= max(ROUNDING * float(np.abs(known).max()), NOTHING))


def colors_of(values: Floats, *, zero: bool) -> tuple[str, float, float]:
    """Return the colors of values and their ends: around a zero as far on both sides."""
    known = values[np.isfinite(values)]
    if zero:
        largest = float(np.abs(known).max(initial=0.0))
        largest = largest if largest > NOTHING else 1.0
        return DIVERGING, -largest, largest
    if flat(values):  # ends that are readable numbers
        middle = float(known.mean()) if len(known) else 0.0
        aside = 0.1 * abs(middle) if abs(middle) > NOTHING else 1.0
        return SEQUENTIAL, middle - aside, middle + aside
    return SEQUENTIAL, float(known.min()), float(known.max())

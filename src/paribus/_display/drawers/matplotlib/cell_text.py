"""Words that fit where they stand. Imported by functions that draw, as it needs matplotlib itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.text import Text

from paribus._display.drawers.matplotlib.colors import LETTER, SMALLEST


class CellNumber(Text):
    """A number in a cell, smaller where the cell is small, and none where it could not be read.

    ``cell`` is the cell's width and height in the units of the axes. All numbers in cells that are as large
    have letters of one size, as ``letters`` is how many the longest of them has.
    """

    def __init__(self, x: float, y: float, word: str, cell: tuple[float, float], letters: int, **style: Any):
        super().__init__(x, y, word, ha="center", va="center", clip_on=True, **style)
        self.cell, self.letters, self.largest = cell, letters, float(self.get_fontsize())

    def draw(self, renderer: Any) -> None:
        """Draw the number as large as fits now."""
        axes: Any = self.axes
        ends = axes.transData.transform(np.array([(0.0, 0.0), self.cell]))
        wide, high = np.abs(ends[1] - ends[0]) * 72 / axes.figure.dpi
        size = min(self.largest, wide / (1.3 * LETTER * self.letters), high / 1.4)
        if size < SMALLEST:
            return  # numbers that run into each other say less than colors alone
        self.set_fontsize(size)
        super().draw(renderer)

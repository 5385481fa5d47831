"""Every row's own curve: the fold whose merge is putting side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Array


@dataclass(frozen=True, eq=False)
class RowCurves:
    """What is kept of each row, as parts ``(first row, (k, i, ...))``: predictions at points, or codes."""

    parts: tuple[tuple[int, Array], ...]

    def merge(self, other: Self) -> Self:
        """Put the parts side by side; nothing is copied before `finish`."""
        return type(self)(self.parts + other.parts)

    def finish(self) -> Array:
        """Return the parts in row order, shape ``(k, n, ...)``."""
        ordered = sorted(self.parts, key=lambda part: part[0])
        return np.concatenate([curves for _, curves in ordered], axis=1)

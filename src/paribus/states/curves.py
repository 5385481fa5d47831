"""Every row's own curve: the fold whose merge is putting side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus.contracts import Floats


@dataclass(frozen=True, eq=False)
class RowCurves:
    """Predictions of each row at each point, as parts ``(first row, (o, i, g))``."""

    parts: tuple[tuple[int, Floats], ...]

    def merge(self, other: Self) -> Self:
        """Put the parts side by side; nothing is copied before `finish`."""
        return type(self)(self.parts + other.parts)

    def finish(self) -> Floats:
        """Return the curves in row order, shape ``(o, n, g)``."""
        ordered = sorted(self.parts, key=lambda part: part[0])
        return np.concatenate([curves for _, curves in ordered], axis=1)

"""Several states under their names: many folds in one, so that the rows are read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, eq=False)
class Keyed:
    """States by key, such as ``("moments", 3)`` for the moments of grid 3; without any it is neutral."""

    parts: Mapping[tuple[str, int], Any]

    def merge(self, other: Self) -> Self:
        """Merge what both have, keep what only one has."""
        merged = dict(self.parts)
        for key, state in other.parts.items():
            merged[key] = merged[key].merge(state) if key in merged else state
        return type(self)(merged)

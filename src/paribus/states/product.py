"""Several states side by side: a product of folds is one fold, so the rows are read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from paribus.contracts import State

S = TypeVar("S", bound=State)


@dataclass(frozen=True)
class Product(Generic[S]):
    """States of several questions about the same rows."""

    parts: tuple[S, ...]

    def merge(self, other: Self) -> Self:
        """Merge part by part."""
        pairs = zip(self.parts, other.parts, strict=True)
        return type(self)(tuple(mine.merge(theirs) for mine, theirs in pairs))

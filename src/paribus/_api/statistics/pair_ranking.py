"""Which pairs of features interact most, as soon as that is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus._contracts import Floats

Pair = tuple[int, int]


@dataclass(eq=False)
class VariedFeatures:
    """The features that can be varied, as positions in the table; None before the first statistic knows."""

    features: tuple[int, ...] | None = None


@dataclass(eq=False)
class PairRanking:
    """Mean squares of the interactions of pairs for each of several models, filled in while these are found.

    Pairs are of positions among ``features``, which are positions in the table.
    """

    features: tuple[int, ...]
    models: int
    _squares: dict[int, dict[Pair, float]] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether every model has been seen."""
        return len(self._squares) == self.models

    def previewed(self, model: int, joint: Any) -> None:
        """Take what is known before the last pass: pairs that are not among them do not interact."""
        self.finished(model, joint.groups, joint.numerator)

    def finished(self, model: int, pairs: tuple[Pair, ...], squares: Floats) -> None:
        """Take the mean squares ``(t, o)`` of one model, unless they are known from before."""
        sums = np.nan_to_num(squares).sum(axis=1).tolist()
        self._squares.setdefault(model, dict(zip(pairs, sums, strict=True)))

    def strongest(self, count: int) -> tuple[Pair, ...]:
        """Return the pairs with the largest mean squares, added up over outputs and models."""
        totals: dict[Pair, float] = {}
        for squares in self._squares.values():
            for pair, square in squares.items():
                totals[pair] = totals.get(pair, 0.0) + square
        ordered = sorted((pair for pair, total in totals.items() if total > 0), key=lambda p: (-totals[p], p))
        return tuple((self.features[one], self.features[other]) for one, other in ordered[:count])

"""Numbers of a few rows that stand for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.sampling import sample_numbers

SEED = 0  # of the hash of row numbers


@dataclass(frozen=True, eq=False)
class SampledRows:
    """``values (q, k)`` and ``weights (k,)`` of at most ``most`` rows, chosen by a hash of their ``numbers``.

    The choice depends on the numbers of the rows alone, in memory or read, whoever reads which rows.
    """

    most: int
    numbers: Integers
    values: Floats
    weights: Floats

    @classmethod
    def of(cls, numbers: Integers, values: Floats, weights: Floats | None, most: int) -> Self:
        """Choose among rows in order, with values ``(q, i)``; every weight is positive."""
        counted = np.ones(len(numbers)) if weights is None else weights
        chosen = sample_numbers(numbers, SEED, most)
        return cls(most, numbers[chosen], values[:, chosen], counted[chosen])

    def merge(self, other: Self) -> Self:
        """Choose among the rows of both."""
        numbers = np.concatenate([self.numbers, other.numbers])
        order = np.argsort(numbers)
        chosen = order[sample_numbers(numbers[order], SEED, self.most)]
        values = np.concatenate([self.values, other.values], axis=1)[:, chosen]
        weights = np.concatenate([self.weights, other.weights])[chosen]
        return type(self)(self.most, numbers[chosen], values, weights)

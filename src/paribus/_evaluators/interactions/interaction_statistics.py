"""What is found: mean squares with their sampling errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paribus._contracts import Floats, Integers


@dataclass(frozen=True, eq=False)
class Ratio:
    """Mean squares, and what share they are of others; every array ``(k, o)``.

    Attributes
    ----------
    numerator, denominator
        Mean squares over the rows, in squared units of the prediction. A numerator that rounding alone
        can explain is exactly zero.
    numerator_error, ratio_error
        Standard errors of the numerator and of numerator / denominator.
    mean_share
        The mean of the ratios of several models, None of one.
    """

    numerator: Floats
    denominator: Floats
    numerator_error: Floats
    ratio_error: Floats
    mean_share: Floats | None = None

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if array is not None:
                array.setflags(write=False)

    def __setstate__(self, state: dict[str, Floats | None]) -> None:
        """Take the arrays of a copy or of an unpickled one, which are new and writable."""
        vars(self).update(state)
        self.__post_init__()

    def replaced(self, numbers: Integers, others: Ratio) -> Ratio:
        """Return itself with some entries replaced by others."""
        arrays = []
        for name in ("numerator", "denominator", "numerator_error", "ratio_error"):
            array = getattr(self, name).copy()
            array[numbers] = getattr(others, name)
            arrays.append(array)
        return Ratio(*arrays)

    # Computed once: whoever reads one entry after the other would compute all of them each time.
    @cached_property
    def share(self) -> Floats:
        """The ratio; zero where the numerator is, NaN where only the denominator vanishes."""
        if self.mean_share is not None:
            return self.mean_share
        empty = np.where(self.numerator == 0, 0.0, np.nan)
        return _frozen(np.divide(self.numerator, self.denominator, out=empty, where=self.denominator > 0))

    @cached_property
    def strength(self) -> Floats:
        """The root of the numerator, in units of the prediction."""
        return _frozen(np.sqrt(self.numerator))

    @cached_property
    def strength_error(self) -> Floats:
        """The standard error of the strength; zero where the strength is zero by construction."""
        strength = self.strength
        # A numerator that is zero has an error of zero, or none.
        error = self.numerator_error + 0.0
        return _frozen(np.divide(self.numerator_error, 2 * strength, out=error, where=strength > 0))


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class InteractionStatistics:
    """The requested statistics, None for others.

    ``main`` has the mean square of each feature's own effect over that of the prediction, ``left_out`` that
    of what the prediction loses when the feature alone is averaged out; the others are shares of interaction.
    ``variance (o,)`` is the mean square of the centered prediction, ``predictions`` how many rows the model
    predicted, ``floor`` the mean square up to which a numerator is called zero, ``pairs`` those that
    ``pairwise`` is of, None for all.
    """

    variance: Floats
    main: Ratio
    left_out: Ratio | None = None
    pairwise: Ratio | None = None
    overall: Ratio | None = None
    total: Ratio | None = None
    threeway: Ratio | None = None
    triples: tuple[tuple[int, ...], ...] = ()
    predictions: int = 0
    floor: Floats | float = 0.0
    pairs: tuple[tuple[int, int], ...] | None = None

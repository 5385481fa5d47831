"""Features that own several columns: one cell for each tuple of codes that occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from paribus._contracts import Integers
from paribus._kernels.program import Ints, Program
from paribus._states import CodeTuples
from paribus._states.counts import keys_of
from paribus.errors import RefusalCode, RefusalError

CROSSED = 1_000  # cells of a feature whose columns are crossed, at most
Tuples = Mapping[int, Ints]  # of each feature whose columns are not crossed, ``(c, t)`` in order


def columns_of(program: Program, feature: int) -> list[int]:
    """Return the code columns of a feature of the table."""
    return list(program.columns_of.get(feature, ()))


def in_tuples(program: Program) -> tuple[int, ...]:
    """Return the features of a family whose cells are the tuples of codes that occur.

    These are all that own several columns if one of them has too many codes to be crossed, else none, which
    saves a pass over the rows.
    """
    features = [f for f in program.family.features if len(columns_of(program, f)) > 1]
    most = max((prod(program.n_codes[columns_of(program, f)].tolist()) for f in features), default=0)
    return tuple(features) if most > CROSSED else ()


def expected_cells(program: Program, feature: int, rows: int) -> int:
    """Return about how many cells a feature has, before it is known which tuples occur.

    Codes of columns that are monotone in the feature, and of columns that each mark one category, change
    together no more often than there are thresholds.
    """
    sizes = program.n_codes[columns_of(program, feature)].tolist()
    return prod(sizes) if len(sizes) < 2 else min(prod(sizes), sum(size - 2 for size in sizes) + 2, rows)


def tuples_among(program: Program, features: Iterable[int], codes: Ints) -> dict[int, Ints]:
    """Return the tuples that rows ``(c, i)`` have, of those of some features that own several columns."""
    columns = {feature: columns_of(program, feature) for feature in features}
    return {
        feature: CodeTuples.of(codes[own], codes.shape[1]).tuples
        for feature, own in columns.items()
        if len(own) > 1
    }


@dataclass(frozen=True, eq=False)
class TupleNumbers:
    """Where each tuple of codes stands among those that occur, ``(c, t)`` in order.

    Columns have ``sizes`` codes. A key of as many columns as an integer holds is looked up at once.
    """

    tuples: Ints
    sizes: Ints

    @cached_property
    def _known(self) -> dict[int, Integers]:
        """The keys that occur, by the column that each portion ends with."""
        known: dict[int, Integers] = {}
        number = np.zeros(self.tuples.shape[1], np.int64)
        for column, key in keys_of(self.tuples, self.sizes, number):
            known[column] = np.unique(key)
            number[:] = np.searchsorted(known[column], key)
        return known

    def of(self, codes: Ints) -> Integers:
        """Return the number of each row's tuple."""
        number = np.zeros(codes.shape[1], np.int64)
        for column, key in keys_of(codes, self.sizes, number):
            known = self._known[column]
            number[:] = np.minimum(np.searchsorted(known, key), len(known) - 1)
            if not np.array_equal(known[number], key):
                raise RefusalError(
                    "its preprocessing did not return the same columns for the same rows again",
                    RefusalCode.DIFFERS,
                )
        return number

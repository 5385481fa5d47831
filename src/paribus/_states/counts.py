"""Weights of rows: by slot, by cells that are occupied, by tuples of codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Array, Integers, Octets


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of the rows in each cell of an array; integers when there are no weights."""

    cells: Array

    def merge(self, other: Self) -> Self:
        """Add the counts."""
        return type(self)(self.cells + other.cells)


@dataclass(frozen=True, eq=False)
class Occupied:
    """Cells of tables ``(q, c)`` that some row lies in, as packed bits."""

    bits: Octets

    @classmethod
    def of(cls, tables: Array) -> Self:
        """Pack tables of 0 and 1."""
        return cls(np.packbits(tables, axis=-1))

    def merge(self, other: Self) -> Self:
        """Return the cells that either has."""
        return type(self)(self.bits | other.bits)

    def tables(self) -> Array:
        """Return the tables of 0 and 1."""
        return np.unpackbits(self.bits, axis=-1)


LONGEST = 2**62  # a key, at most, so that it is a 64-bit integer


@dataclass(frozen=True, eq=False)
class CodeTuples:
    """Distinct tuples ``(c, t)`` in lexicographic order; of more than ``most`` the first ``most + 1``.

    ``weight (t,)`` is that of the rows which have each of them. The first tuples of a union are the same in
    whatever order it is made. A run may be resumed with more memory, or less: the smaller ``most`` of two
    counts.
    """

    tuples: Array
    weight: Array
    most: int

    @classmethod
    def of(cls, codes: Array, most: int, weights: Array | None = None) -> Self:
        """Find the distinct tuples among those of rows, ``(c, i)``, whose ``weights`` are one by default."""
        number = np.zeros(codes.shape[1], np.int64)
        for _, key in keys_of(codes, codes.max(axis=1, initial=0) + 1, number):
            number[:] = np.searchsorted(np.unique(key), key)
        row = np.empty(number.max(initial=-1) + 1, np.int64)
        row[number] = np.arange(len(number))
        weight = np.bincount(number, weights, minlength=len(row)).astype(np.float64)
        return cls(codes[:, row[: most + 1]], weight[: most + 1], most)

    def merge(self, other: Self) -> Self:
        """Return the tuples that either has."""
        most = min(self.most, other.most)
        if self.most == most and np.array_equal(self.tuples, other.tuples):
            return type(self)(self.tuples, self.weight + other.weight, most)
        weight = np.concatenate([self.weight, other.weight])
        return type(self).of(np.concatenate([self.tuples, other.tuples], axis=1), most, weight)


def keys_of(codes: Array, sizes: Array, number: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield keys that order tuples as some first columns do, more at a time, and where each portion ends.

    ``number (i,)``, which is below 2**31, is that of the columns before, to be set by whoever takes the key.
    Columns have ``sizes`` codes.
    """
    column = 0
    while column < len(sizes):
        key, longest = number.copy(), 2**31
        while column < len(sizes) and longest * int(sizes[column]) <= LONGEST:
            key *= sizes[column]
            key += codes[column]
            longest *= int(sizes[column])
            column += 1
        yield column, key

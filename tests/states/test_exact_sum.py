"""Sums without rounding: the bits do not depend on order or grouping, and are those of the exact sum."""

import math
from functools import reduce

import numpy as np
import pytest

from paribus._states import BinnedSum, ExactSum


def grouped(make, terms, rng):
    """The sum of terms in some order, in some groups."""
    parts = np.array_split(rng.permutation(terms), rng.integers(1, 9))
    return reduce(type(make(parts[0])).merge, map(make, parts)).total()


@pytest.mark.parametrize("seed", range(5))
def test_exact_sums_do_not_depend_on_the_cut_and_lose_nothing_that_counts(seed):
    rng = np.random.default_rng(seed)
    terms = rng.uniform(-1, 1, 500)
    make = lambda part: ExactSum.of(part, 1.0, 500)  # noqa: E731
    totals = {float(grouped(make, terms, rng)) for _ in range(20)}
    assert len(totals) == 1
    assert totals.pop() == pytest.approx(math.fsum(terms), rel=1e-15, abs=2.0**-85)


def test_exact_sums_of_many_rows_at_their_bound_do_not_round():
    bound, rows = 3.7, 1_000
    whole = ExactSum.of(np.full((2, rows), bound), bound, rows)
    halves = ExactSum.of(np.full((2, rows // 2), bound), bound, rows)
    assert whole.total().tolist() == halves.merge(halves).total().tolist()
    assert whole.total() == pytest.approx([bound * rows] * 2, rel=1e-15)
    assert ExactSum.of(np.array([0.3]), 1.0, 1).total() == 0.3


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_terms_of_any_size_keep_the_digits_of_small_ones(seed):
    rng = np.random.default_rng(seed)
    terms = rng.normal(size=60) * 10.0 ** rng.integers(-250, 250, 60)
    terms = np.concatenate([terms, -terms[:50], [1e-290]])
    make = lambda part: BinnedSum.of(part, len(terms))  # noqa: E731
    totals = {float(grouped(make, terms, rng)) for _ in range(20)}
    assert len(totals) == 1
    assert totals.pop() == pytest.approx(math.fsum(terms), rel=1e-15)


def test_terms_in_bins_are_those_of_eight_powers_of_two():
    state = BinnedSum.of(np.array([0.75, 2.0**7, 2.0**8, -(2.0**-1), 2.0**-2]), 5)
    assert sorted(state.bins) == [-1, 0, 1]
    assert [float(state.bins[number].total()) for number in (-1, 0, 1)] == [0.25, 0.25, 384.0]
    assert BinnedSum.of(np.array([[1.0, 2.0], [3.0, 4.0]]), 2).total().tolist() == [3.0, 7.0]

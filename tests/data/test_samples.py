"""Samples of whole units of dependent rows: any blocks, limits, sums of squares."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus._data.samples import Sample, UnitRows, means_of_units, uniform
from paribus._states import UnitSums

SEEDS = range(100)


def facts(rows):
    """Return the numbers of a sample in an order that does not depend on blocks."""
    order = np.argsort(rows.numbers)
    return {
        "rows": rows.rows,
        "units": rows.keys.tolist(),
        "sizes": rows.sizes.tolist(),
        "numbers": rows.numbers[order].tolist(),
        "unit of rows": rows.keys[rows.unit[order]].tolist(),
        "weights": rows.weights[order].tolist(),
        "values": rows.values[:, order].tolist(),
    }


def merged_in_any_order(parts, seed):
    """Merge parts, two at a time, in a random order."""
    order, parts = np.random.default_rng(seed), list(parts)
    while len(parts) > 1:
        order.shuffle(parts)
        parts.append(parts.pop().merge(parts.pop()))
    return parts[0]


@st.composite
def blocks_of_units(draw):
    """Draw units of skewed sizes, their rows in a random order, and the ends of blocks."""
    sizes = draw(st.lists(st.one_of(st.integers(1, 3), st.integers(1, 60)), min_size=1, max_size=30))
    seed = draw(st.integers(0, 2**20))
    units = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    ends = draw(st.lists(st.integers(1, max(1, len(units) - 1)), max_size=6, unique=True))
    return units, seed, [part for part in np.split(np.arange(len(units)), sorted(ends)) if len(part)]


@settings(max_examples=100)
@given(blocks_of_units(), st.integers(1, 64), st.booleans())
def test_sample_of_units_is_the_same_for_any_blocks_and_order_of_merges(drawn, most, weighted):
    units, seed, blocks = drawn
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(units)) if weighted else None
    values = rng.normal(size=(2, len(units)))
    whole = UnitRows.of(np.arange(len(units)), units, weights, seed, most, values)
    parts = [
        UnitRows.of(
            rows, units[rows], None if weights is None else weights[rows], seed, most, values[:, rows]
        )
        for rows in blocks
    ]
    for order in range(3):
        assert facts(merged_in_any_order(parts, order)) == facts(whole)


def test_unit_that_does_not_fit_in_a_block_is_not_kept_from_a_later_one():
    ranked = np.argsort(uniform(np.arange(5), 0))
    units = np.repeat(ranked, [4, 4, 4, 3, 4])  # the last row is in a block of its own
    whole = UnitRows.of(np.arange(19), units, None, 0, 16)
    first, second = (
        UnitRows.of(rows, units[rows], None, 0, 16) for rows in (np.arange(18), np.arange(18, 19))
    )
    assert sorted(whole.keys.tolist()) == sorted(ranked[:4].tolist())
    assert facts(first.merge(second)) == facts(whole)


def test_sample_of_one_large_unit_and_small_ones_is_that_of_a_larger_limit():
    """By group, 256 rows are sampled of the 4,097 that are kept of files."""
    units = np.repeat(np.arange(17), [4_100, *[1] * 16])
    held = UnitRows.of(np.arange(len(units)), units, None, 0, 256).sample(256, 1.0, weighted=False)
    read = UnitRows.of(np.arange(len(units)), units, None, 0, 4_097).sample(256, 1.0, weighted=False)
    assert held.numbers.tolist() == read.numbers.tolist()


@settings(max_examples=100)
@given(blocks_of_units(), st.sampled_from([1, 4, 16, 36, 64]))
def test_sample_of_fewer_rows_is_part_of_larger_sample(drawn, size):
    """Files keep the rows of a larger limit than that of a statistic; rows in memory are sampled at once."""
    units, seed, _ = drawn
    numbers, most = np.arange(len(units)), 65
    held = UnitRows.of(numbers, units, None, seed, size).sample(size, 1.0, weighted=False)
    read = UnitRows.of(numbers, units, None, seed, most).sample(size, 1.0, weighted=False)
    assert held.numbers.tolist() == read.numbers.tolist()
    assert held.squares.tolist() == read.squares.tolist()
    assert held.units.tolist() == read.units.tolist()


@given(blocks_of_units(), st.integers(1, 64))
def test_sample_of_units_has_whole_units_up_to_a_limit(drawn, most):
    units, seed, _ = drawn
    kept = UnitRows.of(np.arange(len(units)), units, None, seed, most)
    sizes, counts = np.bincount(units), np.bincount(kept.unit, minlength=len(kept.keys))
    total = len(sizes)
    largest = most // min(total, math.isqrt(most))
    assert kept.rows == len(units)
    assert kept.sizes.tolist() == sizes[kept.keys].tolist()
    assert len(kept.numbers) <= most
    if len(units) <= most:
        assert len(kept.numbers) == len(units)
        return
    assert counts.tolist() == np.minimum(kept.sizes, largest).tolist()
    assert len(kept.numbers) > most - largest or len(kept.keys) == total
    order = np.argsort(uniform(np.arange(total), seed))
    assert set(kept.keys.tolist()) == set(order[: len(kept.keys)].tolist())
    for place, key in enumerate(kept.keys):  # the first rows of each unit in the order of a hash
        rows = np.flatnonzero(units == key)
        first = rows[np.argsort(uniform(rows, seed))][: counts[place]]
        assert sorted(first.tolist()) == sorted(kept.numbers[kept.unit == place].tolist())


def test_sample_of_many_large_units_has_at_most_the_root_of_the_limit_of_each():
    units = np.repeat(np.arange(500), 90)
    kept = UnitRows.of(np.arange(len(units)), units, None, 0, 4_096)
    assert np.bincount(kept.unit).tolist() == [64] * 64
    assert len(kept.keys) == 64


@pytest.mark.parametrize("count", [1, 2, 7, 63, 64])
def test_sample_has_all_units_up_to_the_root_of_the_limit(count):
    units = np.random.default_rng(0).permutation(np.repeat(np.arange(count), 5_000 // count + 70))
    kept = UnitRows.of(np.arange(len(units)), units, None, 0, 4_096)
    assert kept.keys.tolist() == list(range(count))
    assert set(np.bincount(kept.unit).tolist()) == {min(4_096 // count, 5_000 // count + 70)}


def test_sample_of_units_leaves_out_rows_of_weight_zero():
    units, weights = np.array([5, 5, 7, 7, 9]), np.array([1.0, 0.0, 0.0, 0.0, 4.0])
    sample = UnitRows.of(np.arange(5), units, weights, 0, 100).sample(100, 2.0, weighted=True)
    assert sample.numbers.tolist() == [0, 4]
    assert sample.weights.tolist() == [0.5, 2.0]
    assert sample.squares.tolist() == [0.25, 4.0]
    assert sample.n_units == 2


def test_sum_of_squares_of_units_is_that_of_the_sums_of_their_rows():
    rng = np.random.default_rng(0)
    units, weights = rng.integers(0, 8, 60), rng.exponential(size=60)
    values = rng.normal(size=(2, 3, 60))
    sample = UnitRows.of(np.arange(60), units, weights, 0, 60).sample(60, 1.0, weighted=True)
    sums = np.stack([(values * weights)[..., units == unit].sum(axis=-1) for unit in range(8)], axis=-1)
    total = np.array([weights[units == unit].sum() for unit in range(8)])
    np.testing.assert_allclose(sample.unit_squares, total**2, rtol=1e-12)
    np.testing.assert_allclose(sample.unit_means(values), sums / total, rtol=1e-12)
    np.testing.assert_allclose(sample.unit_means(values) ** 2 @ sample.unit_squares, (sums**2).sum(axis=-1))
    error = np.sqrt((sums**2).sum(axis=-1) * 8 / 7) / weights.sum()
    np.testing.assert_allclose(sample.error(values, weights.sum()), error, rtol=1e-12)
    assert sample.n_units == 8


def test_units_of_single_rows_are_rows():
    rng = np.random.default_rng(0)
    weights, values = rng.exponential(size=40), rng.normal(size=(2, 40))
    single = UnitRows.of(np.arange(40), rng.permutation(40), weights, 0, 50).sample(50, 1.0, weighted=True)
    rows = Sample(np.arange(40), weights**2, weights)
    np.testing.assert_allclose(single.squares, rows.squares, rtol=1e-15)
    for sample in (single, rows):
        assert sample.n_units == 40
    np.testing.assert_allclose(
        single.error(values, weights.sum()), rows.error(values, weights.sum()), rtol=1e-13
    )


def test_single_unit_has_no_error():
    sample = UnitRows.of(np.arange(9), np.zeros(9, np.int64), None, 0, 9).sample(9, 1.0, weighted=False)
    assert np.isnan(sample.error(np.arange(9.0), 9.0))


def test_tiny_weights_count():
    weights = np.array([1e-200, 2e-200, 1e-200, 1.0])
    sample = UnitRows.of(np.arange(4), np.array([0, 0, 1, 2]), weights, 0, 4).sample(4, 1.0, weighted=True)
    assert (sample.unit_squares > 0).all()
    assert np.isfinite(sample.unit_means(np.arange(4.0))).all()


@given(blocks_of_units(), st.booleans())
def test_sums_of_units_are_the_same_for_any_blocks(drawn, weighted):
    units, seed, blocks = drawn
    rng = np.random.default_rng(seed)
    factors = rng.exponential(size=len(units)) if weighted else np.ones(len(units))
    values = rng.normal(size=(2, 3, len(units)))
    parts = [UnitSums.of(values[..., rows], factors[rows], units[rows]) for rows in blocks]
    sums = reduce(UnitSums.merge, parts)
    means, weight = means_of_units(values, factors, np.unique(units, return_inverse=True)[1])
    assert sums.units.tolist() == np.unique(units).tolist()
    np.testing.assert_allclose(sums.weight, weight, rtol=1e-12)
    np.testing.assert_allclose(sums.means, means, rtol=1e-9, atol=1e-12)


def expected_ratio(sizes, shared, most, *, weighted):
    """Return the mean over seeds of an estimated sum of squares of units, relative to that of all rows.

    ``shared`` is the correlation of the rows of a unit.
    """
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(len(sizes)), sizes)
    levels = np.sqrt(shared) * rng.normal(size=len(sizes))[units]
    values = levels + np.sqrt(1 - shared) * rng.normal(size=len(units))
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(units)) if weighted else np.ones(len(units))
    values -= np.average(values, weights=weights)
    exact = np.square(np.bincount(units, weights * values)).sum()
    estimates = []
    for seed in SEEDS:
        kept = UnitRows.of(np.arange(len(units)), units, weights if weighted else None, seed, most)
        sample = kept.sample(most, 1.0, weighted=weighted)
        estimates.append(sample.unit_means(values[sample.numbers]) ** 2 @ sample.unit_squares)
    return np.mean(estimates) / exact


SKEWED = np.minimum(1 + np.random.default_rng(0).pareto(1.2, 600) * 2, 60).astype(int)
POPULATIONS = {
    "small units": (np.full(800, 3), 0.0, 400),
    "small units with a share in common": (np.full(800, 3), 0.3, 400),
    "skewed units that are nearly constant": (SKEWED, 0.9, 1_024),
    "skewed units": (SKEWED, 0.3, 1_024),
    "few large units that are nearly constant": (np.full(12, 100), 0.9, 400),
    "few large units of weakly dependent rows": (np.full(12, 100), 0.05, 400),
    "few large units of independent rows": (np.full(12, 100), 0.0, 400),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", POPULATIONS)
def test_estimated_variance_of_units_is_on_average_that_of_all_rows(name, weighted):
    sizes, shared, most = POPULATIONS[name]
    ratio = expected_ratio(sizes, shared, most, weighted=weighted)
    # Of a large unit some rows are kept, whose mean varies: errors are too large, most of all without dependence.
    kept = min(sizes.max(), most // min(len(sizes), int(np.sqrt(most))))
    excess = (shared + (1 - shared) / kept) / (shared + (1 - shared) / sizes.max())
    assert 0.8 < ratio < (1.25 + 0.25 * weighted) * excess  # of a variance: errors differ by half of it

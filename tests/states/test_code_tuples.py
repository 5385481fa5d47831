"""Tuples of codes are a set: the same in whatever order blocks are merged."""

import numpy as np
import pytest

from paribus._states import CodeTuples


def codes(columns, rows, most_codes, seed=0):
    return np.random.default_rng(seed).integers(0, most_codes, (columns, rows)).astype(np.int32)


@pytest.mark.parametrize(("columns", "most_codes"), [(2, 3), (3, 40), (70, 2), (5, 2**20), (4, 2**31 - 1)])
def test_tuples_are_those_of_numpy_in_lexicographic_order(columns, most_codes):
    rows = codes(columns, 200, most_codes)[:, np.arange(300) % 200]
    found = CodeTuples.of(rows, 1_000)
    want = sorted({tuple(row) for row in rows.T.tolist()})
    assert found.tuples.T.tolist() == [list(row) for row in want]
    assert found.tuples.dtype == np.int32


@pytest.mark.parametrize("most", [5, 40, 1_000])
def test_tuples_do_not_depend_on_the_order_of_blocks(most):
    rows = codes(4, 600, 3)
    whole = CodeTuples.of(rows, most).tuples
    assert whole.shape[1] == min(most + 1, 81)
    states = [CodeTuples.of(rows[:, first : first + 100], most) for first in range(0, 600, 100)]
    for order in (range(6), range(5, -1, -1), (3, 0, 5, 1, 4, 2)):
        merged = states[order[0]]
        for number in order[1:]:
            merged = merged.merge(states[number])
        assert np.array_equal(merged.tuples, whole)


def test_tuples_of_a_run_with_less_memory_are_fewer():
    rows = codes(4, 600, 3)
    for one, other in ((5, 40), (40, 5)):
        merged = CodeTuples.of(rows, one).merge(CodeTuples.of(rows, other))
        assert merged.most == 5
        assert np.array_equal(merged.tuples, CodeTuples.of(rows, 5).tuples)


def test_weights_of_tuples_add_up_however_rows_are_cut():
    rng = np.random.default_rng(4)
    rows, weights = rng.integers(0, 4, (2, 300), dtype=np.int32), rng.integers(1, 5, 300).astype(float)
    whole = CodeTuples.of(rows, 100, weights)
    parts = [CodeTuples.of(rows[:, part], 100, weights[part]) for part in (slice(0, 90), slice(90, 300))]
    merged = parts[0].merge(parts[1])
    np.testing.assert_array_equal(merged.tuples, whole.tuples)
    np.testing.assert_array_equal(merged.weight, whole.weight)
    first = (rows == whole.tuples[:, :1]).all(axis=0)
    assert whole.weight[0] == weights[first].sum()
    assert whole.merge(whole).weight.sum() == 2 * weights.sum()

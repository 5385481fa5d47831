"""Labels of groups, cut points, and the groups of the rows of a block."""

import numpy as np
import pandas as pd
import pytest

from paribus._data.grouping import (
    GroupsByColumn,
    checked_cuts,
    distinct_from,
    distinct_texts,
    interval_labels,
)
from paribus._data.read import table_of
from paribus._data.rows import Block, rows_of
from paribus._data.summary import summarize
from paribus.errors import OptionError


def grouped(values, cuts=None, weights=None):
    """Return the groups of a column, and that of each row."""
    table = table_of(pd.DataFrame({"g": values, "x": 0.0}))
    summary = summarize(
        rows_of(table, weights), 0, nominal=False, limit=13, percentiles=(0.25, 0.75), bins=(4,)
    )
    groups = GroupsByColumn.of("g", summary, cuts)
    block = Block(table, None, 0, by=table.column(0))
    return groups, [groups.labels[code] for code in groups.codes(block)]


def test_row_at_a_cut_point_belongs_to_the_interval_below():
    _, have = grouped([0.0, 1.0, np.nextafter(1.0, 2.0), 2.0, np.nan, np.inf, -np.inf], [1.0, 2.0])
    assert have == ["<= 1", "<= 1", "(1, 2]", "(1, 2]", "missing", "> 2", "<= 1"]


def test_quarters_have_a_quarter_of_the_weight():
    values = np.arange(100.0)
    weights = np.where(values < 50, 3.0, 1.0)
    groups, have = grouped(values, weights=weights)
    shares = [weights[np.array(have) == label].sum() / weights.sum() for label in groups.labels[:4]]
    np.testing.assert_allclose(shares, 0.25, atol=0.02)


def test_missing_values_between_others_do_not_shift_groups():
    values = [None, "b", "a", None, "b", None]
    _, have = grouped(values)
    assert have == ["missing" if value is None else value for value in values]


@pytest.mark.parametrize("values", [["b", None, "a", "b", None, "c"], [2.0, np.nan, 0.5, 1.0, np.nan, 7.0]])
def test_block_that_is_cut_keeps_the_group_of_each_row(values):
    groups, want = grouped(values, None if isinstance(values[0], str) else [1.0])
    table = table_of(pd.DataFrame({"g": values}))
    whole = Block(table, None, 0, by=table.column(0))
    for size in (1, 2, 4, 6):
        codes = np.concatenate([groups.codes(block) for block in whole.cut(size)])
        assert [groups.labels[code] for code in codes] == want


def test_values_that_were_not_seen_are_other():
    groups, _ = grouped(["a", "b"])
    table = table_of(pd.DataFrame({"g": ["b", "new", None]}))
    codes = groups.codes(Block(table, None, 0, by=table.column(0)))
    assert [groups.labels[code] for code in codes] == ["b", "other", "missing"]


def test_labels_of_intervals_name_their_ends():
    assert interval_labels([]) == ["all"]
    assert interval_labels(["1"]) == ["<= 1", "> 1"]
    assert interval_labels(["1", "2", "3"]) == ["<= 1", "(1, 2]", "(2, 3]", "> 3"]


def test_texts_are_written_in_full_only_if_short_ones_are_alike():
    assert distinct_texts([0.123456, 1.0]) == ["0.1235", "1"]
    assert distinct_texts([0.123456, 0.123457]) == ["0.123456", "0.123457"]
    instants = np.array([1, 2], dtype="datetime64[ns]")
    assert distinct_texts(instants) == ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002"]
    assert distinct_texts([1, "1"]) == ["1", "'1'"]
    assert distinct_from(["missing", "(missing)"], "missing") == "((missing))"
    assert distinct_from(["a"], "missing") == "missing"


@pytest.mark.parametrize("cuts", [[], [1.0, 1.0], [2.0, 1.0], [np.nan], 1.0, [[1.0]], ["x"], [None]])
def test_wrong_cut_points_are_refused(cuts):
    table = table_of(pd.DataFrame({"g": np.arange(20.0)}))
    summary = summarize(rows_of(table, None), 0, nominal=False, limit=13, percentiles=(0.25, 0.75))
    with pytest.raises(OptionError, match=r"by=\{'g': "):
        checked_cuts("g", cuts, summary)

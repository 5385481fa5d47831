"""The first pass over rows that are read: it finds what summaries of the same rows in memory hold."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paribus
from conftest import numbers
from paribus._data.scan import parquet
from paribus._evaluators import survey
from paribus._evaluators.survey import DeclaredCategories, UnusableColumn, WeightTotals, union
from selection import nightly

KINDS = (
    "count",
    "small",
    "flag",
    "level",
    "city",
    "gap",
    "single",
    "day",
    "zoned",
    "wait",
    "constant",
    "mostly",
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 64)


@pytest.fixture
def files(tmp_path, awkward):
    """The awkward table in two files, the first categories of which differ."""
    for number, part in enumerate((awkward[:200], awkward[200:])):
        part.to_parquet(tmp_path / f"{number}.parquet", row_group_size=50)
    return tmp_path


@pytest.mark.parametrize("feature", KINDS)
@pytest.mark.parametrize("weighted", [*nightly(False), True])
def test_surveyed_column_has_the_grid_of_the_same_rows_in_memory(files, awkward, feature, weighted):
    weights = np.where(np.arange(len(awkward)) % 5 == 0, 0.0, 1.0 + np.arange(len(awkward)) % 3)
    held = {"sample_weight": weights} if weighted else {}
    read = {}
    if weighted:
        frame = awkward.assign(weight=weights)
        for number, part in enumerate((frame[:200], frame[200:])):
            part.to_parquet(files / f"{number}.parquet", row_group_size=50)
        read = {"sample_weight": "weight"}
    want = paribus.partial_dependence(numbers, awkward, feature, **held)
    found = paribus.partial_dependence(numbers, str(files), feature, **read)
    assert found.kinds == want.kinds
    assert list(found.grid_values[0]) == list(want.grid_values[0])
    np.testing.assert_allclose(found.average, want.average, rtol=1e-9)
    np.testing.assert_allclose(found.support, want.support, rtol=1e-9)
    assert (found.missing is None) == (want.missing is None)
    if want.missing is not None:
        assert found.missing.share == pytest.approx(want.missing.share)
        np.testing.assert_allclose(found.missing.average, want.missing.average, rtol=1e-9)
    if want.deciles is not None:
        np.testing.assert_array_equal(np.asarray(found.deciles), np.asarray(want.deciles))


def written(tmp_path, **columns):
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=100)
    return str(tmp_path / "rows.parquet")


def test_infinite_numbers_are_counted_and_left_out_of_the_grid(tmp_path):
    x = np.arange(300.0)
    x[[5, 250]] = np.inf
    x[7] = -np.inf
    weights = np.where(np.arange(300) == 7, 3.0, 1.0)

    def model(frame):
        return np.nan_to_num(frame["x"].to_numpy(), posinf=0.0, neginf=0.0)

    for column in ({}, {"w": weights}):
        path = written(tmp_path, x=x, **column)
        found = paribus.partial_dependence(model, path, "x", sample_weight="w" if column else None)
        held = {"sample_weight": weights} if column else {}
        want = paribus.partial_dependence(model, pd.DataFrame({"x": x}), "x", **held)
        assert np.isfinite(found.grid_values[0]).all()
        np.testing.assert_array_equal(found.grid_values[0], want.grid_values[0])
        assert [str(note) for note in found.notes if "infinite" in str(note)] == [
            str(note) for note in want.notes if "infinite" in str(note)
        ]


def test_rows_that_cannot_be_surveyed_are_refused(tmp_path):
    empty = written(tmp_path, x=np.zeros(0))
    with pytest.raises(paribus.errors.TableError, match="X has no rows"):
        paribus.partial_dependence(len, empty, "x")
    zero = written(tmp_path, x=np.arange(5.0), w=np.zeros(5))
    with pytest.raises(paribus.errors.WeightError, match="sample_weight='w' is zero in every row"):
        paribus.partial_dependence(lambda frame: frame["x"].to_numpy(), zero, "x", sample_weight="w")


def test_text_of_too_many_values_needs_values_to_evaluate(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MOST_LISTED", 40)
    path = written(tmp_path, name=[f"n{k % 90}" for k in range(300)], x=np.arange(300.0))

    def model(frame):
        return frame["x"].to_numpy() + frame["name"].str.len().to_numpy()

    with pytest.raises(paribus.errors.FeatureError, match="'name' has more than 40 categories"):
        paribus.partial_dependence(model, path, "name")
    given = paribus.partial_dependence(model, path, "name", custom_values={"name": ["n1", "n22"]})
    assert given.average[0].tolist() == [149.5 + 2, 149.5 + 3]


def test_thinned_columns_keep_their_ends_and_few_distinct_values(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "CAPACITY", 200)
    monkeypatch.setattr(survey, "LEAST_CAPACITY", 200)
    monkeypatch.setattr(survey, "EXACT_BYTES", 0)
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=3_000), "n": rng.integers(0, 5, 3_000)}
    path = written(tmp_path, **columns)

    def model(frame):
        return frame["x"].to_numpy() + frame["n"].to_numpy()

    for feature in ("x", "n"):
        found = paribus.partial_dependence(model, path, feature, percentiles=(0, 1), grid_resolution=20)
        want = paribus.partial_dependence(
            model, pd.DataFrame(columns), feature, percentiles=(0, 1), grid_resolution=20
        )
        assert found.grid_values[0][[0, -1]].tolist() == want.grid_values[0][[0, -1]].tolist()
        if feature == "n":
            assert found.grid_values[0].tolist() == [0, 1, 2, 3, 4]
            np.testing.assert_allclose(found.support, want.support)
        assert 0 < found.provenance.rank_error < 0.05
        ordered = np.sort(columns[feature])
        below, until = (
            np.searchsorted(ordered, found.deciles[0], side) / 3_000 for side in ("left", "right")
        )
        nominal = np.linspace(0, 1, 11)
        slack = found.provenance.rank_error + 1e-3
        assert (below <= nominal + slack).all()
        assert (until >= nominal - slack).all()


def test_states_of_columns_merge_to_those_of_all_rows():
    why, other = UnusableColumn("it is a list"), UnusableColumn("it is a struct")
    assert why.merge(other) is why
    assert union(None, ("a",)) == union(("a",), None) == ("a",)
    assert union(None, None) is None
    assert union(("a", "b"), ("c", "a")) == ("a", "b", "c")
    assert WeightTotals.of(3, np.zeros(3)).rows == 3
    assert WeightTotals.of(3, np.zeros(3)).n_weighted == 0
    both = WeightTotals.of(3, np.zeros(3)).merge(WeightTotals.of(2, np.array([2.0, 6.0])))
    assert (both.rows, both.n_weighted, both.total * both.weight_scale) == (5, 2, 8.0)


def test_declared_categories_have_a_limit(monkeypatch):
    monkeypatch.setattr(survey, "MOST_CATEGORIES", 3)
    two = DeclaredCategories(("a", "b"))
    assert two.merge(DeclaredCategories(("b", "c"))).categories == ("a", "b", "c")
    with pytest.raises(paribus.errors.TableError, match=r"more than 3 categories \('a', 'b', ...\)"):
        two.merge(DeclaredCategories(("c", "d")))


def test_rows_without_weight_add_nothing_to_totals():
    nothing = WeightTotals.of(3, np.zeros(3))
    assert astuple(nothing) == (3, 0, 0.0, 0.0, 0.0)
    some = WeightTotals.of(2, np.array([0.0, 3.0]))
    assert (some.n_weighted, some.total * some.weight_scale) == (1, 3.0)

"""Results by group: access, tables, comparison, difference, files, text and notes."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus
from paribus.errors import InputError
from paribus.results import Group, GroupedResults

QUIET = {"progress": False}


@cache
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    return X.assign(zone=rng.choice(["east", "north", "west"], 300, p=[0.5, 0.3, 0.2]))


@cache
def model():
    X = rows()
    y = X["a"] * X["b"] + np.where(X["zone"] == "east", X["a"], 0)
    return HistGradientBoostingRegressor(max_iter=8).fit(X[list("abc")], y)


CALLS = {
    "partial_dependence": {"features": "a", "grid_resolution": 4},
    "effects": {"features": ["a", ("a", "b")], "grid_resolution": 4},
    "accumulated_local_effects": {"features": ["a", "b"], "grid_resolution": 4},
    "marginal": {"features": ["a"]},
    "h_statistic": {"features": list("abc")},
    "feature_importance": {"features": list("abc")},
}


@cache
def found(verb):
    return getattr(paribus, verb)(model(), rows(), by="zone", **CALLS[verb], **QUIET)


def test_mapping_has_groups_in_order_and_finds_them_by_value():
    have = found("effects")
    assert list(have) == ["east", "north", "west"]
    assert len(have) == 3
    assert "north" in have
    assert have["north"] is have.results[1]
    assert list(have.values()) == list(have.results)
    assert have.get("nort") is None
    with pytest.raises(KeyError, match="no group 'nort' of zone; did you mean 'north'"):
        have["nort"]
    np.testing.assert_allclose(sum(one.share for one in have.groups), 1)


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([1, 2], [1, 2.0]),
        ([12_345.0, 0.5], [12_345, np.float64(0.5)]),
        ([-0.0, 1.0], [0, 1.0]),
        ([0.0, 1.0], [-0.0, 1]),
        ([True, False], [True, np.False_]),
        ([0.12345, 0.12346], [0.12345, 0.12346]),
        (["2026-01-01", "2026-01-02"], [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02").date()]),
    ],
)
def test_groups_are_found_by_their_values(values, keys):
    X = rows()[list("abc")]
    by = np.array(values, dtype="datetime64[ns]" if isinstance(values[0], str) else None)[
        np.arange(300) % 3 // 2
    ]
    have = paribus.partial_dependence(model(), X, "a", by=by, custom_values={"a": [0.5]}, **QUIET)
    for number, key in enumerate(keys):
        mask = np.arange(300) % 3 // 2 == number
        np.testing.assert_allclose(have[key].average[0, 0], model().predict(X[mask].assign(a=0.5)).mean())
    difference = have.difference(keys[0], keys[1]).difference
    np.testing.assert_allclose(difference, have[keys[0]].average - have[keys[1]].average)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("verb", CALLS)
def test_table_is_that_of_the_groups_with_their_labels(verb, backend):
    have = found(verb)
    table = have.to_frame(backend=backend)
    table = table if backend == "pandas" else table.to_pandas()
    assert table.columns[0] == "group"
    assert list(table["group"].unique()) == list(have)
    for label in have:
        one = have[label].to_frame(backend="pandas")
        own = table[table["group"] == label].drop(columns="group").reset_index(drop=True)
        assert list(own.columns) == list(one.columns)
        for name in one:
            if one[name].dtype.kind == "f":
                np.testing.assert_array_equal(own[name].astype(float), one[name].astype(float))
            else:
                assert own[name].astype(str).tolist() == one[name].astype(str).tolist(), name


def test_column_of_the_data_named_group_stays_in_the_table():
    X = rows()[list("abc")].rename(columns={"a": "group"})
    have = paribus.partial_dependence(
        lambda t: np.asarray(t["group"]) * np.asarray(t["b"]), X, "group", by=rows()["zone"], **QUIET
    )
    table = have.to_frame()
    want = np.concatenate([one.grid_values[0] for one in have.values()])
    np.testing.assert_array_equal(table["group (feature)"], want)
    assert list(table["group"].unique()) == list(have)


def test_difference_of_ale_is_refused_because_groups_have_centers_of_their_rows():
    with pytest.raises(paribus.errors.InputError, match="centered by its own rows"):
        found("accumulated_local_effects").difference("east", "west")


@pytest.mark.parametrize("verb", ["partial_dependence", "effects", "marginal"])
def test_difference_of_disjoint_rows_adds_variances(verb):
    have = found(verb)
    difference = have.difference("east", "west")
    pairs = [(difference, have["east"], have["west"])]
    if verb != "partial_dependence":
        pairs = [(difference[key], have["east"][key], have["west"][key]) for key in difference]
    for one, left, right in pairs:
        values, error = {
            "marginal": ("predicted", "predicted_error"),
        }.get(verb, ("average", "standard_error"))
        np.testing.assert_allclose(one.difference, left[values] - right[values], atol=1e-14)
        np.testing.assert_allclose(one.standard_error, np.hypot(left[error], right[error]), rtol=1e-12)


@pytest.mark.parametrize("verb", CALLS)
def test_groups_are_compared_side_by_side_if_they_have_curves(verb):
    have = found(verb)
    if verb in ("h_statistic", "feature_importance"):
        for wrong in (have.compare, lambda: have.difference("east", "west")):
            with pytest.raises(InputError, match=r"to_frame\(\) has"):
                wrong()
        return
    both = have.compare()
    parts = (both if verb == "partial_dependence" else both["a"]).parts
    assert list(parts) == list(have)
    assert parts["west"] == (have["west"] if verb == "partial_dependence" else have["west"]["a"])


@pytest.mark.parametrize("verb", CALLS)
def test_saved_results_are_read_back_equal(verb, tmp_path):
    have = found(verb)
    have.save(tmp_path / "groups.json")
    again = paribus.load(tmp_path / "groups.json")
    assert isinstance(again, GroupedResults)
    assert again == have
    assert again.groups == have.groups
    assert again.notes == have.notes
    assert repr(again) == repr(have)


@pytest.mark.parametrize("verb", CALLS)
def test_text_has_every_group_with_its_rows(verb):
    text = repr(found(verb))
    for one in found(verb).groups:
        assert [one.label, str(one.rows), f"{one.share:.1%}"] in [
            line.split()[:3] for line in text.splitlines()
        ]
    assert text.startswith("by zone: 3 groups of ") or "by zone: 3 groups of " in text.split("\n")[0]


def test_record_of_a_result_names_its_group():
    have = found("partial_dependence")
    assert [one.provenance.group for one in have.values()] == ["zone = east", "zone = north", "zone = west"]
    assert [one.provenance.rows for one in have.values()] == [one.rows for one in have.groups]
    assert len({one.provenance.fingerprint for one in have.values()}) == 1


def test_wrong_parts_are_refused():
    have = found("partial_dependence")
    other = found("feature_importance").results[0]
    groups = (Group("x", 1, 0.5), Group("y", 1, 0.5))
    for wrong in (
        ((), ()),
        (groups, have.results[:1]),
        ((groups[0], groups[0]), have.results[:2]),
        (groups, (have.results[0], other)),
    ):
        with pytest.raises(InputError):
            GroupedResults("zone", *wrong)

"""Arguments other than X: features that are a target, and targets and weights by label and by column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import paribus

ROWS = 120
QUIET = {"progress": False}
VERBS = (
    "partial_dependence",
    "effects",
    "accumulated_local_effects",
    "marginal",
    "h_statistic",
    "feature_importance",
)


def table():
    rng = np.random.default_rng(3)
    return pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=list("abc"), index=rng.permutation(ROWS) + 1_000)


def predict(X):
    return X["a"] * X["b"] + 2 * X["c"]


X = table()
Y = (predict(X) + 0.5).rename("y")
BINARY = (Y > 0).astype(int)
TARGETS = {
    "numbers": Y,
    "zeros and ones": BINARY,
    "list": BINARY.tolist(),
    "array": BINARY.to_numpy(),
    "column": BINARY.to_numpy()[:, None],
    "frame": BINARY.to_frame(),
    "booleans": Y > 0,
    "labels": BINARY.map({0: "no", 1: "yes"}),
    "polars": pl.Series(BINARY.to_numpy()),
    "arrow": pa.array(BINARY.to_numpy()),
    "list of a series": [BINARY],
    "a few floats": [0.0, 1.0],
    "repeated positions": [0, 1, 0],
}


def check_refused(call):
    with pytest.raises(paribus.errors.FeatureError) as refused:
        call()
    text = str(refused.value)
    assert "y=" in text
    assert len(text) < 400
    assert "dtype" not in text
    assert "\n" not in text


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("verb", VERBS)
def test_target_in_the_place_of_features_is_refused(verb, target):
    check_refused(lambda: getattr(paribus, verb)(predict, X, target, **QUIET))


@pytest.mark.parametrize("verb", [*VERBS, "explain"])
def test_target_in_the_place_of_features_is_refused_by_methods(verb):
    explainer = paribus.Explainer(predict, X, **QUIET)
    check_refused(lambda: getattr(explainer, verb)(BINARY))
    if verb != "explain":
        check_refused(lambda: explainer.run((verb, {"features": BINARY})))


def test_target_of_explain_is_its_third_argument_and_no_feature():
    assert paribus.explain(predict, X, Y, **QUIET).performance is not None
    check_refused(lambda: paribus.explain(predict, X, features=BINARY, **QUIET))


@pytest.mark.parametrize("target", [[0, 1, 1, 0], [7, 12, 9, 30], ["no", "yes", "no", "no"]])
def test_target_of_wide_table_is_refused_although_it_has_fewer_entries_than_columns(target):
    wide = np.random.default_rng(0).normal(size=(4, 6))
    check_refused(lambda: paribus.effects(lambda t: t[:, 0], wide, target, **QUIET))


def test_columns_by_position_name_and_mask_are_no_target():
    wide = np.random.default_rng(0).normal(size=(4, 6))
    chosen = paribus.effects(lambda t: t[:, 0], wide, [3, 0, 1, 2], **QUIET)  # as many as rows
    assert set(chosen) == {"x0", "x1", "x2", "x3"}
    for features in ([True, False, True], np.array([True, False, True]), pd.Index(["a", "c"]), [0, 2]):
        assert set(paribus.effects(predict, X, features, **QUIET)) == {"a", "c"}
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), "a", "b", "c"]  # more than columns
    assert len(paribus.effects(predict, X, pairs, grid_resolution=4, **QUIET)) == 6


def test_a_series_within_features_is_not_printed():
    with pytest.raises(paribus.errors.FeatureError) as refused:
        paribus.partial_dependence(predict, X, [BINARY[:2].rename("some"), "a"], **QUIET)
    assert len(str(refused.value)) < 400
    assert "dtype" not in str(refused.value)


def test_columns_of_a_multi_index_are_selected_by_tuple():
    wide = X.set_axis(pd.MultiIndex.from_tuples([("u", "a"), ("u", "b"), ("v", 1)]), axis=1)

    def model(t):
        return t["u", "a"] * t["u", "b"] + t["v", 1]

    curve = paribus.partial_dependence(model, wide, ("v", 1), **QUIET)
    assert curve.feature_names == ("('v', 1)",)
    np.testing.assert_array_equal(curve.average, paribus.partial_dependence(model, wide, 2, **QUIET).average)
    found = paribus.effects(model, wide, [("u", "a"), (("u", "b"), ("v", 1))], grid_resolution=4, **QUIET)
    assert set(found) == {"('u', 'a')", ("('u', 'b')", "('v', 1)")}
    options = {"features": [("u", "a"), ("v", 1)], "custom_values": {("v", 1): [0.0, 1.0]}}
    assert paribus.effects(model, wide, **options, **QUIET)["('v', 1)"].average.shape == (1, 2)
    assert paribus.h_statistic(model, wide, [("u", "a"), ("u", "b")], **QUIET).pairs
    assert paribus.explain(model, wide, features=[("v", 1)], **QUIET).feature_names == ("('v', 1)",)
    mixed = paribus.effects(model, wide, [(("u", "b"), 0)], grid_resolution=4, **QUIET)
    assert set(mixed) == {("('u', 'b')", "('u', 'a')")}
    with pytest.raises(paribus.errors.FeatureError, match="feature 'u' is not a column of X"):
        paribus.effects(model, wide, [("u", "c")], **QUIET)


def test_tuple_that_is_both_a_column_and_several_is_refused():
    named = X.set_axis(["a", "b", "('a', 'b')"], axis=1)
    with pytest.raises(
        paribus.errors.FeatureError, match=r"ambiguous: .* write \"\('a', 'b'\)\" for the column"
    ):
        paribus.partial_dependence(lambda t: t["a"], named, ("a", "b"), **QUIET)
    assert paribus.partial_dependence(lambda t: t["a"], named, ["a", "b"], **QUIET).average.ndim == 3


ORDER = np.random.default_rng(1).permutation(ROWS)
WEIGHTS = pd.Series(np.random.default_rng(2).uniform(0.5, 2.0, ROWS), index=X.index)


def averages(y, sample_weight=None, X=X):
    found = paribus.marginal(predict, X, ["a"], y=y, sample_weight=sample_weight, grid_resolution=5, **QUIET)
    return found["a"].observed


def test_target_and_weights_with_the_labels_of_x_in_another_order_are_aligned():
    wanted = averages(Y.to_numpy(), WEIGHTS.to_numpy())
    moved, weights = Y.iloc[ORDER], WEIGHTS.iloc[ORDER[::-1]]
    assert not np.array_equal(averages(moved.to_numpy(), WEIGHTS), wanted)
    np.testing.assert_array_equal(averages(moved, weights), wanted)
    np.testing.assert_array_equal(averages(moved.to_frame(), weights), wanted)
    want, have = (paribus.explain(predict, X, y, **QUIET).performance for y in (Y, moved))
    assert repr(have.metrics) == repr(want.metrics)
    assert str(have) == str(want)  # without the time of the explanation
    options = {"kind": "permutation", "progress": False}
    want, have = (paribus.feature_importance(predict, X, y=y, **options).values for y in (Y, moved))
    np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("as_x", [pd.DataFrame.to_numpy, pl.from_pandas], ids=["numpy", "polars"])
def test_target_without_an_index_on_either_side_is_taken_by_position(as_x):
    moved, table = Y.iloc[ORDER], as_x(X.iloc[ORDER])
    model = (lambda t: t[:, 0]) if isinstance(table, np.ndarray) else (lambda t: t["a"])
    have = paribus.marginal(model, table, [0], y=moved, grid_resolution=5, **QUIET)
    want = paribus.marginal(model, table, [0], y=moved.to_numpy(), grid_resolution=5, **QUIET)
    for one, other in zip(have.values(), want.values(), strict=True):
        np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(averages(pl.Series(Y.to_numpy())), averages(Y))


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (np.arange(ROWS), "has no label 1"),
        ([*X.index[:-1], X.index[0]], "a label occurs twice"),
    ],
)
def test_target_and_weights_with_other_labels_are_refused(index, words):
    other = {"y": Y.set_axis(index), "sample_weight": WEIGHTS.set_axis(index)}
    for argument, error in (("y", paribus.errors.InputError), ("sample_weight", paribus.errors.WeightError)):
        with pytest.raises(error, match=f"the index of {argument} .*{words}.*{argument}.to_numpy()"):
            averages(**{"y": Y, "sample_weight": WEIGHTS, argument: other[argument]})


def test_repeated_labels_in_the_same_order_are_taken_by_position():
    twice = X.set_axis(np.arange(ROWS) // 2)
    np.testing.assert_array_equal(averages(Y.set_axis(twice.index), X=twice), averages(Y))


LIBRARIES = {"pandas": lambda t: t, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.mark.parametrize("library", LIBRARIES)
def test_target_and_weights_may_be_columns_of_a_table_in_memory(library):
    table = LIBRARIES[library](X.assign(w=WEIGHTS, y=Y).reset_index(drop=True))
    seen = []

    def model(t):
        seen.append(tuple(t.columns if library != "arrow" else t.column_names))
        return np.asarray(t["a"]) * np.asarray(t["b"]) + 2 * np.asarray(t["c"])

    have = paribus.explain(model, table, "y", sample_weight="w", **QUIET)
    want = paribus.explain(predict, X, Y, sample_weight=WEIGHTS, **QUIET)
    assert set(seen) == {("a", "b", "c")}
    assert have.feature_names == want.feature_names
    assert repr(have.performance.metrics) == repr(want.performance.metrics)
    for name in "abc":
        np.testing.assert_allclose(have.effects[name].average, want.effects[name].average, rtol=1e-12)


def test_columns_of_target_and_weights_are_as_for_files(tmp_path):
    table = X.assign(w=WEIGHTS, y=Y, z=2 * Y)
    table.to_parquet(tmp_path / "rows.parquet")
    two = {"estimator": None, "features": ["a"], "y": ["y", "z"], "sample_weight": "w", "grid_resolution": 5}
    one, other = (
        paribus.marginal(X=where, **two, **QUIET)["a"] for where in (table, str(tmp_path / "rows.parquet"))
    )
    np.testing.assert_allclose(one.observed, other.observed, rtol=1e-12)
    np.testing.assert_allclose(one.observed[1], 2 * one.observed[0], rtol=1e-12)


def test_column_of_target_is_no_feature_and_that_of_weights_one_if_the_model_was_fitted_on_it():
    table = X.assign(w=WEIGHTS, y=Y)
    model = LinearRegression().fit(table[["w", "a", "b", "c"]], Y)
    found = paribus.effects(model, table.drop(columns="y"), sample_weight="w", **QUIET)
    assert set(found) == {"a", "b", "c", "w"}
    want = paribus.effects(model, table[["w", "a", "b", "c"]], sample_weight=WEIGHTS, **QUIET)
    np.testing.assert_array_equal(found["w"].average, want["w"].average)
    named = LinearRegression().fit(X, Y)
    assert set(paribus.marginal(named, table, y="y", sample_weight="w", **QUIET)) == {"a", "b", "c"}
    with pytest.raises(paribus.errors.FeatureError, match="'y' is a column of X that the model does not use"):
        paribus.marginal(named, table, ["y"], y="y", **QUIET)


def test_columns_of_an_array_are_target_and_weights_by_name():
    array, names = np.column_stack([X, Y]), ["a", "b", "c", "y"]
    model = LinearRegression().fit(X.to_numpy(), Y)
    have = paribus.Explainer(model, array, y="y", feature_names=names, **QUIET).marginal()
    want = paribus.Explainer(model, X.to_numpy(), y=Y, feature_names=names[:3], **QUIET).marginal()
    assert set(have) == {"a", "b", "c"}
    np.testing.assert_array_equal(have["a"].residual, want["a"].residual)
    every = LinearRegression().fit(array, Y)  # fitted on as many columns as there are
    assert "y" in paribus.Explainer(every, array, y="y", feature_names=names, **QUIET).marginal()


def test_list_of_labels_is_a_target_and_no_list_of_columns():
    labels = BINARY.map({0: "no", 1: "yes"}).tolist()
    found = paribus.feature_importance(
        lambda t: np.column_stack([1 - (t["c"] > 0), t["c"] > 0]), X, y=BINARY.tolist(), kind="permutation",
        loss="log_loss", **QUIET,
    )  # fmt: skip
    assert found.values.shape == (3,)
    with pytest.raises(paribus.errors.InputError, match="y holds 'no', which cannot be averaged"):
        averages(labels)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"y": "Y"}, paribus.errors.InputError, "y='Y' is not a column of X; did you mean 'y'"),
        ({"sample_weight": "v"}, paribus.errors.WeightError, "sample_weight='v' is not a column of X"),
    ],
)
def test_columns_of_target_and_weights_that_do_not_exist_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        paribus.marginal(predict, X.assign(y=Y), **options, **QUIET)
    with pytest.raises(paribus.errors.TableError, match="only the columns of y and sample_weight"):
        paribus.marginal(None, X[["a"]], y="a", **QUIET)

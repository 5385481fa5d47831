"""Defects seen in others (scikit-learn 1.9.1 unless said otherwise), each shown not to be ours."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.collections import LineCollection
from scipy.sparse import csr_array
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from xgboost import XGBRegressor

import paribus

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1])


def brute(predict, table, column, values):
    """The definition, with one loop."""
    averages = []
    for value in values:
        changed = table.copy()
        if isinstance(changed, pd.DataFrame):
            changed[column] = pd.Series(
                [value] * len(changed), index=changed.index, dtype=changed[column].dtype
            )
        else:
            changed[:, column] = value
        averages.append(predict(changed).mean())
    return np.array(averages)


def test_category_of_hist_gradient_boosting_is_not_read_as_a_number():
    codes = RNG.integers(0, 6, 500)
    table = np.column_stack([codes, RNG.normal(size=500)]).astype(float)
    target = np.array([0.6, 9.4, 9.4, 0.6, 0.6, 9.4])[codes]
    model = HistGradientBoostingRegressor(categorical_features=[0], max_iter=20).fit(table, target)
    effect = paribus.partial_dependence(model, table, 0, categorical_features=[0])
    np.testing.assert_allclose(effect.average[0], brute(model.predict, table, 0, range(6)))


def test_categories_beyond_ascii_do_not_stop_a_model_that_stores_a_part_of_them():
    """XGBoost 3.2.0 stores as many bytes of a text as it has characters."""
    table = pd.DataFrame({"a": pd.Categorical(RNG.choice(["é", "ü", "ß"], 300)), "b": X[:, 1]})
    model = XGBRegressor(n_estimators=5, enable_categorical=True).fit(
        table, table["a"].cat.codes + table["b"]
    )
    effect = paribus.partial_dependence(model, table, "a")
    expected = brute(model.predict, table, "a", effect.grid_values[0])
    np.testing.assert_allclose(effect.average[0], expected, rtol=1e-5)


def test_the_missing_value_goes_where_the_trees_send_it():
    gaps = X.copy()
    gaps[::6, 0] = np.nan
    target = np.where(np.isnan(gaps[:, 0]), 5.0, gaps[:, 0])
    model = HistGradientBoostingRegressor(max_iter=20).fit(gaps, target)
    effect = paribus.partial_dependence(model, gaps, 0)
    assert effect.missing.average[0] == pytest.approx(brute(model.predict, gaps, 0, [np.nan])[0])
    assert effect.missing.average[0] > 4


def test_the_baseline_is_never_left_out():
    for model in (HistGradientBoostingRegressor(max_iter=5), GradientBoostingRegressor(n_estimators=5)):
        effect = paribus.partial_dependence(model.fit(X, Y + 100), X, 0)
        assert effect.average.mean() == pytest.approx(100, abs=1)


def test_pandas_categories_reach_hist_gradient_boosting():
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(RNG.choice(["x", "y"], 300))})
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    model.fit(frame, Y + (frame["c"] == "x"))
    effect = paribus.partial_dependence(model, frame, "c")
    np.testing.assert_allclose(effect.average[0], brute(model.predict, frame, "c", effect.grid_values[0]))


def test_a_model_fitted_with_weights_is_explained():
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, Y, sample_weight=np.arange(300) + 1.0)
    effect = paribus.partial_dependence(model, X, 0, custom_values={0: [0.0]})
    np.testing.assert_allclose(effect.average[0], brute(model.predict, X, 0, [0.0]))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_two_rows_are_not_taken_for_two_classes(rows):
    model = LogisticRegression().fit(X, Y > 0)
    effect = paribus.partial_dependence(model, X[:rows], 0, custom_values={0: [0.0, 1.0]}, kind="both")
    assert effect.individual.shape == (1, rows, 2)
    want = [
        model.predict_proba(np.column_stack([np.full(rows, v), X[:rows, 1:]]))[:, 1].mean() for v in (0, 1)
    ]
    np.testing.assert_allclose(effect.average[0], want)


def test_a_sparse_table_is_refused_not_collapsed():
    with pytest.raises(paribus.errors.TableError, match="toarray"):
        paribus.partial_dependence(LinearRegression().fit(X, Y), csr_array(X), 0)


def test_polars_works():
    model = LinearRegression().fit(X, Y)
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    effect = paribus.partial_dependence(lambda t: model.predict(t.to_numpy()), frame, "a", grid_resolution=5)
    np.testing.assert_allclose(effect.average[0], brute(model.predict, X, 0, effect.grid_values[0]))


def test_no_features_say_so():
    with pytest.raises(paribus.errors.FeatureError, match="name at least one column"):
        paribus.partial_dependence(LinearRegression().fit(X, Y), X, [])


def test_custom_values_of_another_feature_are_not_ignored():
    model = LinearRegression().fit(X, Y)
    for key in (1, "x1", "nowhere"):
        with pytest.raises(paribus.errors.GridError, match="custom_values"):
            paribus.partial_dependence(model, X, [0], custom_values={key: [1.0]})
    with pytest.raises(paribus.errors.GridError, match="by name and by position"):
        paribus.partial_dependence(model, X, [0], custom_values={0: [1.0], "x0": [1.0]})


def test_an_output_past_the_last_is_refused():
    model = LinearRegression().fit(X, np.stack([Y, -Y], 1))
    effect = paribus.partial_dependence(model, X, 0)
    with pytest.raises(paribus.errors.OptionError, match="0 to 1"):
        effect.plot(output=2)


def test_decile_marks_lie_inside_the_picture():
    effect = paribus.partial_dependence(lambda t: 100 * t[:, 0] * t[:, 1], 40 + X, [0, 1], grid_resolution=9)
    ax = effect.plot().axes[0]
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    marks = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert [len(mark.get_segments()) for mark in marks] == [9, 9]
    for mark in marks:
        ends = mark.get_transform().transform(np.concatenate(mark.get_segments()))
        assert ((frame.min - 1 <= ends) & (ends <= frame.max + 1)).all()
    plt.close(ax.figure)


def test_nan_is_no_point_of_the_axis():
    column = RNG.choice([1.0, 2.0, np.nan], 300)
    table = np.column_stack([column, X[:, 1]])
    effect = paribus.partial_dependence(lambda t: np.nan_to_num(t[:, 0]), table, 0)
    assert effect.grid_values[0].tolist() == [1.0, 2.0]
    assert effect.missing.share == pytest.approx(np.isnan(column).mean())


@pytest.mark.parametrize("share", [0.0, 0.04, 0.2])
def test_nan_does_not_push_the_quantiles(share):
    column = RNG.uniform(size=2000)
    column[: int(share * 2000)] = np.nan
    effect = paribus.partial_dependence(
        lambda t: np.nan_to_num(t[:, 0]), np.column_stack([column, column]), 0, percentiles=(0.05, 0.95)
    )
    present = column[~np.isnan(column)]
    np.testing.assert_allclose(effect.grid_values[0][[0, -1]], np.quantile(present, [0.05, 0.95]))
    assert np.ptp(effect.average) > 0.8


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(n_estimators=5), HistGradientBoostingClassifier(max_iter=5)]
)
def test_auto_is_a_probability_whatever_the_method(model):
    fitted = model.fit(X, Y > 0)
    want = brute(lambda t: fitted.predict_proba(t)[:, 1], X, 0, [0.5])
    for response in ("auto", "predict_proba"):
        effect = paribus.partial_dependence(
            fitted, X, 0, custom_values={0: [0.5]}, response_method=response, method="auto"
        )
        np.testing.assert_allclose(effect.average[0], want)
        assert effect.provenance.scale == "probability"
    raw = paribus.partial_dependence(
        fitted, X, 0, custom_values={0: [0.5]}, response_method="decision_function"
    )
    np.testing.assert_allclose(raw.average[0], brute(fitted.decision_function, X, 0, [0.5]))


def test_a_forest_on_correlated_features_is_averaged_over_the_rows_given():
    twin = np.column_stack([X[:, 0], X[:, 0] + 0.1 * X[:, 1]])
    model = RandomForestRegressor(20, random_state=0).fit(twin, twin.sum(axis=1))
    for method in ("auto", "brute"):
        effect = paribus.partial_dependence(model, twin, 0, custom_values={0: [1.5]}, method=method)
        np.testing.assert_allclose(effect.average[0], brute(model.predict, twin, 0, [1.5]))


def test_integers_and_their_nullable_kind_work():
    frame = pd.DataFrame({"n": RNG.integers(0, 9, 50), "m": pd.array(RNG.integers(0, 9, 50), dtype="Int64")})
    for column in frame:
        effect = paribus.partial_dependence(lambda t: t["n"] + t["m"].to_numpy(float), frame, column)
        assert effect.grid_values[0].dtype.kind == "i"


def test_the_values_given_are_not_changed():
    """alibi writes into the caller's grid."""
    values = {"x0": [3.0, 1.0]}
    paribus.partial_dependence(lambda t: t[:, 0], X, 0, custom_values=values)
    assert values == {"x0": [3.0, 1.0]}


def test_zero_at_the_end_of_a_grid_is_kept():
    """woodelf 0.4.8 trims it."""
    effect = paribus.partial_dependence(lambda t: t[:, 0], X, 0, custom_values={0: [-1.0, 0.0]})
    assert effect.average[0].tolist() == [-1.0, 0.0]


def test_a_feature_the_model_ignores_sits_at_the_average_prediction():
    """woodelf 0.4.8 puts it at zero."""
    effect = paribus.partial_dependence(lambda t: t[:, 0] + 10, X, 2)
    np.testing.assert_allclose(effect.average[0], X[:, 0].mean() + 10)

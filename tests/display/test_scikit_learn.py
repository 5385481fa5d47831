"""Notebooks written for scikit-learn's display, with one import changed; and what it refuses."""

import ast
import inspect
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text
from sklearn import inspection
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, make_hastie_10_2
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._display import scikit_learn
from paribus._display.scikit_learn import PartialDependenceDisplay
from paribus.errors import ModelError, RefusalError, TableError

Theirs = inspection.PartialDependenceDisplay
ATTRIBUTES = ["axes_", "lines_", "contours_", "bars_", "heatmaps_", "deciles_vlines_", "deciles_hlines_"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def hastie():
    X, y = make_hastie_10_2(random_state=0)
    model = GradientBoostingClassifier(n_estimators=100, learning_rate=1.0, max_depth=1, random_state=0)
    return model.fit(X, y), X


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    model = GradientBoostingClassifier(n_estimators=10, max_depth=1, random_state=0)
    return model.fit(data.data, data.target), data.data


@pytest.fixture(scope="module")
def diabetes():
    data = load_diabetes(as_frame=True)
    return data.data, data.target


@pytest.fixture(scope="module")
def bikes():
    """A table like that of scikit-learn's example on bike rentals, whose data is on the network."""
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "temp": rng.normal(15, 8, n).round(1),
            "humidity": rng.uniform(0.2, 1, n),
            "season": rng.choice(["spring", "summer", "fall", "winter"], n),
            "weather": rng.choice(["clear", "misty", "rain"], n, p=[0.6, 0.3, 0.1]),
            "hour": rng.integers(0, 24, n),
        }
    )
    busy = table["season"].map({"spring": 1.0, "summer": 2.0, "fall": 1.5, "winter": 0.5})
    y = table["temp"] * busy - 10 * (table["weather"] == "rain") - 5 * table["humidity"] + table["hour"] / 8
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["season", "weather"]), remainder="passthrough"
    )
    model = make_pipeline(encode, GradientBoostingRegressor(n_estimators=30, random_state=0))
    return model.fit(table, y), table


def crossed(table):
    """A function of a table whose effect of age differs between cities."""
    city = table["city"].map({"Bern": 1.0, "Basel": 2.0, "Genf": 3.0}).to_numpy(float)
    days = (table["day"] - pd.Timestamp("2024-01-01")).dt.days.to_numpy(float)
    return table["age"].to_numpy(float) * city / 20 + days / 100 + 2 * table["member"].to_numpy(float)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    n = 200
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice(["Bern", "Basel", "Genf"], n, p=[0.5, 0.2, 0.3]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "member": rng.random(n) < 0.4,
        }
    )


def on_our_grid(ours, estimator, X, features, **options):
    """The same panels by scikit-learn, by brute force, at the points ours has asked."""
    custom = {
        feature: values
        for group, result in zip(ours.features, ours.pd_results, strict=True)
        for feature, values in zip(group, result["grid_values"], strict=True)
    }
    return Theirs.from_estimator(estimator, X, features, method="brute", custom_values=custom, **options)


def curves_of(display):
    return [None if line is None else np.array(line.get_data(), dtype=float) for line in display.lines_.flat]


def assert_same_curves(ours, theirs, tolerance=1e-10):
    assert ours.lines_.shape == theirs.lines_.shape
    for one, other in zip(curves_of(ours), curves_of(theirs), strict=True):
        if other is None:
            assert one is None
        else:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def numbered(axes):
    """The axes of a display that has no gaps."""
    return [one for one in axes.flat if one is not None]


# The interface


def arguments_of(method):
    return {p.name: (p.kind, p.default) for p in inspect.signature(method).parameters.values()}


@pytest.mark.parametrize("method", ["plot", "__init__"])
def test_arguments_are_those_of_scikit_learn(method):
    ours, theirs = (arguments_of(getattr(cls, method)) for cls in (PartialDependenceDisplay, Theirs))
    assert list(ours.items()) == list(theirs.items())


def test_from_estimator_takes_every_argument_of_scikit_learn_and_of_plot():
    ours = arguments_of(PartialDependenceDisplay.plot) | arguments_of(PartialDependenceDisplay.from_estimator)
    assert arguments_of(Theirs.from_estimator).items() <= ours.items()


def test_from_estimator_refuses_a_misspelled_option_before_it_predicts(iris):
    with pytest.raises(TypeError, match="lines_kw"):
        PartialDependenceDisplay.from_estimator(lambda X: pytest.fail("predicts"), iris[1], [0], lines_kw={})


def test_nothing_private_of_scikit_learn_is_used():
    private = {name for name in dir(Theirs) if name.startswith("_") and not name.startswith("__")}
    for file in (Path(scikit_learn.__file__),):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn"):
                assert not any(part.startswith("_") for part in node.module.split("."))
            assert getattr(node, "attr", getattr(node, "name", None)) not in private


def test_it_is_a_display_of_scikit_learn_with_its_attributes(iris):
    model, X = iris
    display = PartialDependenceDisplay.from_estimator(
        model, X, [3, 2, (3, 2), 0], target=0, grid_resolution=5, n_cols=2
    )
    assert isinstance(display, Theirs)
    assert all(getattr(display, name).shape == (2, 2) for name in ATTRIBUTES)
    assert display.figure_ is display.bounding_ax_.figure
    assert display.features == [(3,), (2,), (3, 2), (0,)]
    assert display.feature_names == ["x0", "x1", "x2", "x3"]
    assert display.target_idx == 0
    assert display.is_categorical == [(False,), (False,), (False, False), (False,)]
    assert display.lines_[1, 0] is None
    assert display.contours_[1, 0] is not None
    assert display.axes_[0, 0].get_ylabel() == "Partial dependence"
    assert [ax.get_xlabel() for ax in display.axes_.flat] == ["x3", "x2", "x3", "x0"]


def test_results_are_bunches_with_the_keys_and_shapes_of_scikit_learn(iris):
    model, X = iris
    options = {"target": 1, "kind": ["average", "individual", "both"], "grid_resolution": 5}
    ours = PartialDependenceDisplay.from_estimator(model, X, [0, 1, 2], **options)
    theirs = on_our_grid(ours, model, X, [0, 1, 2], **options)
    for mine, other in zip(ours.pd_results, theirs.pd_results, strict=True):
        assert isinstance(mine, type(other))
        assert set(mine) == {*other, "support"}
        for key in other:
            np.testing.assert_allclose(mine[key], other[key], atol=1e-12)
    assert all(isinstance(effect, paribus.results.PartialDependence) for effect in ours.effects_)


@pytest.mark.nightly
def test_importing_the_display_imports_no_plotting_package():
    code = (
        "import sys, paribus._display.scikit_learn; "
        "print([m for m in ('matplotlib', 'plotly') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# The user guide, and the two examples of the gallery


def test_guide_a_grid_of_two_curves_and_a_surface(hastie):
    clf, X = hastie
    display = PartialDependenceDisplay.from_estimator(clf, X, [0, 1, (0, 1)])
    assert plt.gcf() is display.figure_
    assert display.contours_[0, 2] is not None
    few = X[:300]
    ours = PartialDependenceDisplay.from_estimator(clf, few, [0, 1, (0, 1)], grid_resolution=8)
    theirs = on_our_grid(ours, clf, few, [0, 1, (0, 1)])
    assert_same_curves(ours, theirs)
    np.testing.assert_allclose(ours.pd_results[2].average, theirs.pd_results[2].average, atol=1e-12)
    np.testing.assert_allclose(ours.contours_[0, 2].levels, theirs.contours_[0, 2].levels)


def test_guide_one_class_of_several(iris):
    model, X = iris
    ours = PartialDependenceDisplay.from_estimator(model, X, [3, 2, (3, 2)], target=0)
    # Few distinct values: both ask at each of them.
    theirs = Theirs.from_estimator(model, X, [3, 2, (3, 2)], target=0, method="brute")
    assert_same_curves(ours, theirs)


def test_guide_the_table_of_another_example(iris, hastie):
    """The guide passes the ten columns of its first example to the model of iris."""
    mc_clf, X = iris[0], hastie[1][:500]
    with pytest.warns(UserWarning, match=r"X has 10 columns .* was fitted on 4: the first 4 are taken"):
        display = PartialDependenceDisplay.from_estimator(mc_clf, X, [3, 2, (3, 2)], target=0)
    same = PartialDependenceDisplay.from_estimator(mc_clf, X[:, :4], [3, 2, (3, 2)], target=0)
    assert_same_curves(display, same, 0)


@pytest.mark.parametrize(
    ("kind", "centered"),
    [("individual", False), ("both", False), ("both", True)],
    ids=["ice", "both", "centered"],
)
def test_guide_individual_curves(hastie, kind, centered):
    clf, X = hastie
    display = PartialDependenceDisplay.from_estimator(clf, X, [0, 1], kind=kind, centered=centered)
    assert display.lines_.shape == (1, 2, 1000 + (kind == "both"))
    options = {"kind": kind, "centered": centered, "random_state": 1, "subsample": 20}
    ours = PartialDependenceDisplay.from_estimator(clf, X[:200], [0, 1], grid_resolution=9, **options)
    assert_same_curves(ours, on_our_grid(ours, clf, X[:200], [0, 1], **options))


def test_gallery_two_models_on_the_same_axes(diabetes):
    X, y = diabetes
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    net = make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(10,), tol=50, max_iter=500, random_state=0)
    ).fit(X, y)
    _, ax = plt.subplots(figsize=(12, 6))
    first = PartialDependenceDisplay.from_estimator(tree, X, ["age", "bmi"], ax=ax)
    _, ax = plt.subplots(figsize=(12, 6))
    second = PartialDependenceDisplay.from_estimator(net, X, ["age", "bmi"], ax=ax, line_kw={"color": "red"})
    _, (left, right) = plt.subplots(1, 2)
    first.plot(ax=[left, right], line_kw={"label": "Decision Tree"})
    second.plot(ax=[left, right], line_kw={"label": "Multi-layer Perceptron", "color": "red"})
    assert len(left.get_lines()) == 2
    assert [text.get_text() for text in left.get_legend().get_texts()] == [
        "Decision Tree",
        "Multi-layer Perceptron",
    ]
    third = second.plot(ax=first.axes_, line_kw={"c": "red"})
    assert third.axes_[0] is left
    assert third.bounding_ax_ is None
    assert to_hex(third.lines_[0].get_color()) == "#ff0000"
    fourth = PartialDependenceDisplay.from_estimator(net, X, ["age"], ax=first.axes_[:1])
    assert_same_curves(fourth, on_our_grid(fourth, net, X, ["age"], ax=[plt.subplots()[1]]))


def test_gallery_categories_of_a_pipeline(bikes):
    model, X = bikes
    features = ["temp", "humidity", "season", "weather", ("temp", "humidity"), ("season", "weather")]
    options = {"categorical_features": ["season", "weather"], "subsample": 50, "random_state": 0}
    _, axes = plt.subplots(2, 3, constrained_layout=True)
    ours = PartialDependenceDisplay.from_estimator(
        model, X, features, ax=axes, n_jobs=2, grid_resolution=12, **options
    )
    ours.figure_.suptitle("of bike rentals")
    custom = {j: ours.pd_results[j]["grid_values"][0] for j in (0, 1)}
    theirs = Theirs.from_estimator(
        model,
        X,
        features,
        ax=plt.subplots(2, 3)[1],
        grid_resolution=12,
        method="brute",
        custom_values=custom,
        **options,
    )
    assert_same_curves(ours, theirs)
    for number in (2, 3):  # bars, by the alphabet as theirs
        mine, other = (display.axes_.flat[number] for display in (ours, theirs))
        assert [t.get_text() for t in mine.get_xticklabels()] == [
            t.get_text() for t in other.get_xticklabels()
        ]
        heights = [[bar.get_height() for bar in one.containers[0]] for one in (mine, other)]
        np.testing.assert_allclose(*heights)
        assert ours.bars_.flat[number] is mine.containers[0][0]
    heats = [display.heatmaps_.flat[5].get_array() for display in (ours, theirs)]
    np.testing.assert_allclose(*heats)
    assert 2 not in ours.deciles
    ours.figure_.draw_without_rendering()


def test_gallery_a_kind_for_each_panel(bikes):
    model, X = bikes
    features, kind = ["temp", "humidity", ("temp", "humidity")], ["both", "individual", "average"]
    options = {"kind": kind, "centered": True, "subsample": 0.1, "random_state": 0}
    ours = PartialDependenceDisplay.from_estimator(model, X, features, grid_resolution=7, **options)
    assert ours.lines_.shape == (1, 3, 41)
    assert_same_curves(ours, on_our_grid(ours, model, X, features, **options))


# The numbers


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(5, max_depth=4, random_state=0),
        HistGradientBoostingRegressor(max_iter=10, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
        make_pipeline(StandardScaler(), LinearRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_auto_is_brute_force_over_the_rows(diabetes, model):
    X, y = diabetes
    model.fit(X, y)
    ours = PartialDependenceDisplay.from_estimator(model, X, ["bmi", ("bmi", "s5")], grid_resolution=6)
    theirs = on_our_grid(ours, model, X, ["bmi", ("bmi", "s5")])
    assert_same_curves(ours, theirs)
    np.testing.assert_allclose(ours.pd_results[1].average, theirs.pd_results[1].average, rtol=1e-10)


def test_boosters_are_read_as_exactly_as_single_precision_allows(diabetes):
    xgboost = pytest.importorskip("xgboost")
    X, y = diabetes
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=3).fit(X, y)
    ours = PartialDependenceDisplay.from_estimator(model, X, ["bmi", "s5"], grid_resolution=8)
    assert_same_curves(ours, on_our_grid(ours, model, X, ["bmi", "s5"]), 1e-6)
    native = PartialDependenceDisplay.from_estimator(model.get_booster(), X, ["bmi", "s5"], grid_resolution=8)
    assert_same_curves(native, ours, 1e-6)


def test_weights_count_in_the_average_and_the_deciles(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X[["bmi", "s5"]], y)
    weight = np.where(X["bmi"] > 0, 3.0, 1.0)
    ours = PartialDependenceDisplay.from_estimator(
        model, X[["bmi", "s5"]], ["bmi"], sample_weight=weight, grid_resolution=5
    )
    assert_same_curves(ours, on_our_grid(ours, model, X[["bmi", "s5"]], ["bmi"], sample_weight=weight))
    assert ours.deciles[0][4] > np.median(X["bmi"])


def test_recursion_is_theirs_with_the_baseline(diabetes, hastie):
    X, y = diabetes
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
    ours = PartialDependenceDisplay.from_estimator(model, X, ["bmi"], method="recursion", grid_resolution=6)
    grid = {2: ours.pd_results[0]["grid_values"][0]}
    theirs = Theirs.from_estimator(model, X, ["bmi"], method="recursion", custom_values=grid)
    difference = curves_of(ours)[0][1] - curves_of(theirs)[0][1]
    np.testing.assert_allclose(difference, model.init_.constant_[0, 0], rtol=1e-6)
    clf, X = hastie
    ours = PartialDependenceDisplay.from_estimator(clf, X, [0], method="recursion", grid_resolution=6)
    grid = {0: ours.pd_results[0]["grid_values"][0]}
    theirs = Theirs.from_estimator(clf, X, [0], method="recursion", custom_values=grid)
    assert np.ptp(curves_of(ours)[0][1] - curves_of(theirs)[0][1]) < 1e-5  # both are log-odds


def test_the_average_is_of_all_rows_and_the_sample_of_drawn_ones(hastie):
    clf, X = hastie
    few, more = (
        PartialDependenceDisplay.from_estimator(
            clf, X[:300], [0], kind="both", subsample=n, random_state=0, grid_resolution=5
        )
        for n in (3, 0.5)
    )
    assert few.lines_.shape == (1, 1, 4)
    assert more.lines_.shape == (1, 1, 151)
    assert few.pd_results[0].individual.shape == (1, 300, 5)
    np.testing.assert_array_equal(few.lines_[0, 0, -1].get_ydata(), more.lines_[0, 0, -1].get_ydata())


def test_one_output_of_a_regression(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, np.column_stack([y, -2 * y]))
    ours = PartialDependenceDisplay.from_estimator(model, X, ["bmi"], target=1, grid_resolution=5)
    assert ours.target_idx == 1
    assert_same_curves(ours, on_our_grid(ours, model, X, ["bmi"], target=1))
    named = PartialDependenceDisplay.from_estimator(model, X, ["bmi"], target="output 1", grid_resolution=5)
    assert_same_curves(named, ours, 0)


def test_classes_are_found_by_their_label(iris):
    _, X = iris
    names = load_iris().target_names[load_iris().target]
    model = LogisticRegression(max_iter=1000).fit(X, names)
    ours = PartialDependenceDisplay.from_estimator(model, X, [0], target="virginica", grid_resolution=5)
    assert ours.target_idx == 2
    assert_same_curves(ours, on_our_grid(ours, model, X, [0], target="virginica"))


# What scikit-learn refuses, or gets wrong


def test_integers_are_evaluated_at_integers(people):
    with (
        warnings.catch_warnings(action="error", category=FutureWarning),
        pytest.raises((ValueError, FutureWarning), match="integer data"),  # a warning before 1.9
    ):
        Theirs.from_estimator(
            DecisionTreeRegressor().fit(people[["age"]], people["age"]), people[["age"]], [0]
        )
    display = PartialDependenceDisplay.from_estimator(crossed, people, ["age"], grid_resolution=10)
    x, y = display.lines_[0, 0].get_data()
    assert len(x) == 10
    np.testing.assert_array_equal(x, np.round(x))
    table = people.assign(age=x[3])
    np.testing.assert_allclose(y[3], crossed(table).mean())


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_other_tables(people, convert):
    ours = PartialDependenceDisplay.from_estimator(
        lambda table: crossed(table.to_pandas()),
        convert(people),
        ["age", "city", ("city", "member")],
        grid_resolution=5,
    )
    same = PartialDependenceDisplay.from_estimator(
        crossed, people, ["age", "city", ("city", "member")], grid_resolution=5
    )
    for mine, other in zip(ours.pd_results, same.pd_results, strict=True):
        np.testing.assert_allclose(mine.average, other.average)


def test_grid_resolution_below_the_categories_draws_them_all(bikes):
    model, X = bikes
    display = PartialDependenceDisplay.from_estimator(
        model, X, ["season"], categorical_features=["season"], grid_resolution=2
    )
    assert len(display.axes_[0, 0].containers[0]) == 4


def test_values_by_name_and_by_position(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    for key in ("bmi", 2):
        display = PartialDependenceDisplay.from_estimator(
            model,
            X,
            ["bmi", "s5"],
            kind=["both", "average"],
            custom_values={key: [0.0, 0.1]},
            grid_resolution=5,
        )
        assert display.lines_[0, 0, -1].get_xdata().tolist() == [0.0, 0.1]
        assert len(display.pd_results[1]["grid_values"][0]) == 5
    with pytest.raises(ValueError, match="not among the features"):
        PartialDependenceDisplay.from_estimator(model, X, ["bmi"], custom_values={"s5": [0.0]})


def test_missing_values_are_no_point_of_the_axis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[::5, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, np.where(np.isnan(X[:, 0]), 9.0, X[:, 0]))
    display = PartialDependenceDisplay.from_estimator(model, X, [0, (0, 1)], grid_resolution=6)
    assert np.isfinite(display.lines_[0, 0].get_data()).all()
    assert np.isfinite(display.deciles[0]).all()
    assert display.effects_[0].missing.average[0] > 5


def test_a_category_of_a_gradient_boosting_is_not_read_as_a_number():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 400), rng.normal(size=400)]).astype(float)
    model = HistGradientBoostingRegressor(categorical_features=[0]).fit(X, np.isin(X[:, 0], [1, 2, 5]) * 9.0)
    display = PartialDependenceDisplay.from_estimator(model, X, [0], categorical_features=[0])
    heights = [bar.get_height() for bar in display.axes_[0, 0].containers[0]]
    np.testing.assert_allclose(heights, [0, 9, 9, 0, 0, 9], atol=0.1)


def test_two_rows_of_two_classes(iris):
    _, X = iris
    model = LogisticRegression().fit(X, load_iris().target == 0)
    display = PartialDependenceDisplay.from_estimator(model, X[[0, 80]], [0])
    assert display.pd_results[0].average.shape == (1, 2)


def test_probabilities_of_a_boosting_stay_probabilities(hastie):
    clf, X = hastie
    display = PartialDependenceDisplay.from_estimator(clf, X[:500], [0], grid_resolution=5)
    assert 0 < display.lines_[0, 0].get_ydata().min() < display.lines_[0, 0].get_ydata().max() < 1
    PartialDependenceDisplay.from_estimator(clf, X[:500], [0], response_method="predict_proba")


# Pictures


def test_deciles_are_the_inner_nine(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, ["bmi", ("bmi", "s5")], grid_resolution=5)
    for number, column in ((2, "bmi"), (8, "s5")):
        np.testing.assert_allclose(display.deciles[number], np.quantile(X[column], np.arange(1, 10) / 10))


def test_styles_of_lines(hastie):
    clf, X = hastie
    display = PartialDependenceDisplay.from_estimator(
        clf,
        X[:100],
        [0],
        kind="both",
        subsample=5,
        grid_resolution=5,
        line_kw={"lw": 3},
        ice_lines_kw={"color": "tab:green", "linewidth": 0.25},
        pd_line_kw={"color": "k", "label": "mean"},
    )
    assert display.lines_[0, 0, 0].get_color() == "tab:green"
    assert display.lines_[0, 0, 0].get_linewidth() == 0.25
    assert display.lines_[0, 0, 5].get_color() == "k"
    assert display.lines_[0, 0, 5].get_linewidth() == 3
    assert display.axes_[0, 0].get_legend().get_texts()[0].get_text() == "mean"


def test_drawing_again_with_other_options(iris):
    model, X = iris
    display = PartialDependenceDisplay.from_estimator(model, X, [3, 2, (3, 2)], target=0)
    again = display.plot(
        n_cols=2, pdp_lim={1: (-1, 2), 2: (0, 1)}, line_kw={"color": "C3"}, contour_kw={"cmap": "Blues"}
    )
    assert again is display
    assert display.axes_.shape == (2, 2)
    assert display.axes_[1, 1] is None
    assert display.axes_[0, 0].get_ylim() == (-1, 2)
    assert display.lines_[0, 0].get_color() == "C3"
    assert display.contours_[1, 0].get_cmap().name == "Blues"
    np.testing.assert_allclose(display.contours_[1, 0].levels, np.linspace(0, 1, 8))


def test_names_of_categories_are_no_formulas():
    X = pd.DataFrame({"price": ["$1 to $2", "$3"] * 20, "x": np.arange(40.0)})
    display = PartialDependenceDisplay.from_estimator(
        lambda t: t["x"].to_numpy() * (t["price"] == "$3").to_numpy(),
        X,
        ["price"],
        grid_resolution=3,
    )
    written = [text.get_text() for text in display.axes_[0, 0].get_xticklabels()]
    assert written == [r"\$1 to \$2", r"\$3"]
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize(
    "name",
    [
        "$$2",
        "a_{b",
        "$x^2$ and $",
        r"\alpha",
        "<script>alert(1)</script>",
        "%s",
        "a\nb",
        "a\x00\x1bb",
        "",
        "_a",
    ],
)
def test_names_of_features_and_categories_are_written_as_they_are(tmp_path, name):
    rng = np.random.default_rng(0)
    other = f"{name}2"
    X = pd.DataFrame(
        {
            name: rng.normal(size=60),
            other: rng.choice([name, other, "plain"], 60),
            "z": rng.normal(size=60),
            "c": rng.choice([name, "k"], 60),
        }
    )
    shown = name.replace("\x00", r"\x00").replace("\x1b", r"\x1b")
    display = PartialDependenceDisplay.from_estimator(
        lambda t: t.iloc[:, 0] + (t.iloc[:, 1] == "plain"),
        X,
        [name, other, (name, "z"), (other, "c")],
        grid_resolution=3,
    )
    display.figure_.savefig(tmp_path / "drawn.svg")
    ElementTree.parse(tmp_path / "drawn.svg")
    along = display.axes_[0, 0].xaxis.label
    assert along._preprocess_math(along.get_text()) == (shown, False)
    for text in display.figure_.findobj(Text):
        assert text._preprocess_math(text.get_text())[1] is False


def test_a_display_made_by_hand_from_results_of_either(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    grid = {"bmi": [0.0, 0.1]}
    for result in (
        inspection.partial_dependence(model, X, ["bmi"], custom_values=grid),
        paribus.partial_dependence(model, X, "bmi", custom_values=grid),
    ):
        display = PartialDependenceDisplay(
            [result], features=[(2,)], feature_names=list(X), target_idx=0, deciles={2: [0.0, 0.05]}
        ).plot(pdp_lim={1: (100, 300)})
        assert display.lines_[0, 0].get_xdata().tolist() == [0.0, 0.1]
        assert display.axes_[0, 0].get_ylim() == (100, 300)


# Errors; those of arguments are ValueErrors as theirs


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"features": [0]}, "target=None must be one of the outputs of the model: 0, 1, 2"),
        ({"features": [0], "target": 3}, "target=3 must be one of the outputs of the model: 0, 1, 2"),
        ({"features": [0], "target": 0, "kind": ["average", "both"]}, "as many entries as features="),
        ({"features": [0], "target": 0, "kind": "mean"}, "kind='mean' is not one of"),
        ({"features": [(0, 1)], "target": 0, "kind": "both"}, r"an average only; pass kind=\['average'\]"),
        ({"features": [(0, 1, 2)], "target": 0}, "no more than pairs are drawn; see paribus.effects"),
        ({"features": [], "target": 0}, "must be a list with an entry for each panel"),
        ({"features": 0, "target": 0}, "must be a list with an entry for each panel"),
        ({"features": [9], "target": 0}, "feature 9 is not a column of X, which has 0 to 3"),
        ({"features": ["petal"], "target": 0}, "'petal' is not a column of X"),
        ({"features": [0], "target": 0, "subsample": -1}, "subsample=-1 must be a number of rows"),
        ({"features": [0], "target": 0, "subsample": 1.2}, r"subsample=1.2 must be .* None for all"),
        ({"features": [0], "target": 0, "grid_resolution": 1}, "grid_resolution=1 must be"),
        ({"features": [0], "target": 0, "percentiles": (0.9, 0.1)}, "percentiles="),
        ({"features": [0], "target": 0, "method": "fast"}, "method='fast' is not one of"),
        ({"features": [0], "target": 0, "response_method": "score"}, "response_method='score' is not one of"),
        ({"features": [0], "target": 0, "sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_errors_name_the_way_out(iris, options, match):
    model, X = iris
    with pytest.raises(ValueError, match=match):
        PartialDependenceDisplay.from_estimator(model, X, **options)
    assert not plt.get_fignums()


def test_a_target_that_is_one_too_many(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, np.column_stack([y, -y]))
    with pytest.raises(
        ValueError, match="target=2 must be one of the outputs of the model: 'output 0', 'output 1', 0, 1"
    ):
        PartialDependenceDisplay.from_estimator(model, X, ["bmi"], target=2)
    with pytest.raises(ValueError, match="target=None must be one of the outputs"):
        PartialDependenceDisplay.from_estimator(model, X, ["bmi"])


def test_models_that_fail_name_the_reason(iris, diabetes):
    _, X = iris
    with pytest.raises(ModelError, match="must be fitted"):
        PartialDependenceDisplay.from_estimator(LinearRegression(), X, [0])
    with pytest.raises(TableError, match=r"X has 10 features, but .* is expecting 4 features"):
        PartialDependenceDisplay.from_estimator(
            iris[0], diabetes[0].to_numpy(), [0], target=0, method="brute"
        )
    model = LinearRegression().fit(*diabetes)
    with pytest.raises(RefusalError, match="method='recursion' for LinearRegression"):
        PartialDependenceDisplay.from_estimator(model, diabetes[0], ["bmi"], method="recursion")
    with pytest.raises(RefusalError, match="request kind='average'"):
        PartialDependenceDisplay.from_estimator(iris[0], X, [0], target=0, method="recursion", kind="both")


def test_columns_to_spare_are_refused_where_scikit_learn_refuses_them(rng):
    X = rng.normal(size=(40, 5))
    model = LinearRegression().fit(X[:, :3], X[:, 0])
    with pytest.raises(TableError, match="X has 5 features"):
        PartialDependenceDisplay.from_estimator(model, X, [0])


def test_panels_that_scikit_learn_does_not_draw_are_refused_with_a_way_out(people):
    with pytest.raises(
        paribus.errors.FeatureError, match=r"not draw a pair of a number and a category; paribus\.effects"
    ):
        PartialDependenceDisplay.from_estimator(crossed, people, [("age", "city")])
    for kind in ("both", "individual"):
        with pytest.raises(
            paribus.errors.OptionError, match=rf"kind='{kind}': scikit-learn does not draw individual"
        ):
            PartialDependenceDisplay.from_estimator(crossed, people, ["city"], kind=kind)


def test_dates_are_drawn(people):
    display = PartialDependenceDisplay.from_estimator(crossed, people, ["day"], kind="both")
    assert display.lines_.flat[-1].get_xdata().dtype.kind == "M"
    display.figure_.canvas.draw()

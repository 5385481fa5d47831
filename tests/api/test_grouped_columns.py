"""Groups of columns that are one feature: the numbers of naive code, for every function, model and table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus
from paribus.errors import FeatureError, GridError, TableError
from paribus.notes import NoteCode
from statistic_of import statistic_of

CITY = ["city_A", "city_B", "city_C"]
LAGS = ["lag1", "lag2"]
FEATURES = {"city": CITY, "lag": LAGS}
HOT = {"A": (1.0, 0.0, 0.0), "B": (0.0, 1.0, 0.0), "C": (0.0, 0.0, 1.0), "none": (0.0, 0.0, 0.0)}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    n = 300
    city = rng.choice(list("ABCD"), n)
    table = pd.DataFrame({"age": rng.normal(40, 12, n), "income": rng.normal(size=n)})
    for name in CITY:
        table[name] = (city == name[-1]).astype(float)
    table["lag1"] = rng.integers(0, 3, n).astype(float)
    table["lag2"] = rng.integers(0, 3, n).astype(float)
    table.loc[rng.random(n) < 0.15, "lag1"] = np.nan
    table.loc[rng.random(n) < 0.15, "lag2"] = np.nan
    return table


@pytest.fixture(scope="module")
def y(X):
    rng = np.random.default_rng(1)
    lag = X["lag1"].fillna(-1) - X["lag2"].fillna(0)
    return (
        0.05 * X["age"]
        + X["income"] * X["city_A"]
        - X["city_B"]
        + lag * X["income"]
        + 0.1 * rng.normal(size=300)
    )


@pytest.fixture(scope="module")
def weights(X):
    return np.random.default_rng(2).uniform(0, 3, len(X)) * (np.arange(len(X)) % 7 > 0)


@pytest.fixture(scope="module")
def forest(X, y):
    return HistGradientBoostingRegressor(max_iter=15, max_leaf_nodes=8).fit(X, y)


def lightgbm(**options):
    return pytest.importorskip("lightgbm").LGBMRegressor(n_estimators=15, verbose=-1, **options)


def xgboost():
    return pytest.importorskip("xgboost").XGBRegressor(n_estimators=15, max_depth=4)


def function(table):
    lag = table["lag1"].fillna(9).to_numpy() * table["lag2"].fillna(5).to_numpy()
    return table["city_A"].to_numpy() * table["income"].to_numpy() + lag


MODELS = {
    "hist": lambda: HistGradientBoostingRegressor(max_iter=15),
    "forest": lambda: RandomForestRegressor(10, random_state=0),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "linear": LinearRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=10)),
    "function": lambda: function,
}


def value_of(label):
    return tuple(np.nan if part == "missing" else float(part) for part in label[1:-1].split(", "))


def naive(predict, X, weights, columns, values):
    moved = X.copy()
    for column, value in zip(columns, values, strict=True):
        moved[column] = value
    return np.average(predict(moved), weights=weights)


@pytest.mark.parametrize("name", MODELS)
def test_curves_are_averages_of_predictions_with_all_columns_set(name, X, y, weights):
    X = X.fillna(0.0) if name == "linear" else X
    model = MODELS[name]()
    predict = model if name == "function" else model.fit(X, y).predict
    found = paribus.effects(model, X, FEATURES, sample_weight=weights, progress=False)
    tolerance = 1e-6 if name == "xgboost" else 1e-10  # predictions in single precision
    assert list(found["city"].grid_values[0]) == list(HOT)
    want = [naive(predict, X, weights, CITY, HOT[label]) for label in HOT]
    np.testing.assert_allclose(found["city"].average[0], want, rtol=tolerance, atol=tolerance)
    lags = found["lag"]
    want = [naive(predict, X, weights, LAGS, value_of(label)) for label in lags.grid_values[0]]
    np.testing.assert_allclose(lags.average[0], want, rtol=tolerance, atol=tolerance)
    occurring = X[weights > 0].drop_duplicates(LAGS)[LAGS].isna().all(axis=1)
    assert len(want) == (~occurring).sum()
    assert (lags.missing is not None) == occurring.any()
    if lags.missing is not None:
        want = naive(predict, X, weights, LAGS, (np.nan, np.nan))
        np.testing.assert_allclose(lags.missing.average[0], want, rtol=tolerance, atol=tolerance)
    assert (found["city"].provenance.evaluator == "brute") == (name == "function")
    assert (lags.provenance.evaluator == "brute") == (name == "function")


def test_support_is_weight_of_rows_with_combination(X, forest, weights):
    found = paribus.partial_dependence(forest, X, {"city": CITY}, sample_weight=weights, progress=False)
    want = [weights[(X[CITY].to_numpy() == HOT[label]).all(axis=1)].sum() for label in HOT]
    np.testing.assert_allclose(found.support, want)


def test_probabilities_of_classifier(X, y):
    X = X.fillna(0.0)
    model = LogisticRegression(max_iter=500).fit(X, y > y.mean())
    found = paribus.partial_dependence(model, X, {"city": CITY}, progress=False)
    want = [naive(lambda t: model.predict_proba(t)[:, 1], X, None, CITY, HOT[label]) for label in HOT]
    np.testing.assert_allclose(found.average[0], want, rtol=1e-10)
    assert found.provenance.evaluator != "brute"


@pytest.mark.parametrize("features", [{"city": CITY, "age": "age"}, [{"city": CITY}, "age"]])
def test_mapping_of_several_is_one_surface(features, X, forest, weights):
    ages = [30.0, 50.0]
    found = paribus.partial_dependence(
        forest,
        X,
        features,
        sample_weight=weights,
        custom_values={"age": ages, "city": ["C", "none"]},
        progress=False,
    )
    assert found.feature_names == ("city", "age")
    want = [
        [naive(forest.predict, X, weights, [*CITY, "age"], (*HOT[label], age)) for age in ages]
        for label in ("C", "none")
    ]
    np.testing.assert_allclose(found.average[0], want, rtol=1e-10)


def test_effects_of_list_have_curves_and_pairs_of_groups(X, forest):
    requested = [{"city": CITY, "lag": LAGS}, "age", ("city", "age"), ("city", "lag")]
    found = paribus.effects(forest, X, requested, grid_resolution=4, progress=False)
    assert set(found) == {"city", "lag", "age", ("city", "age"), ("city", "lag")}
    both = found["city", "lag"]
    want = [
        [
            naive(forest.predict, X, None, [*CITY, *LAGS], (*HOT[one], *value_of(two)))
            for two in both.grid_values[1]
        ]
        for one in both.grid_values[0]
    ]
    np.testing.assert_allclose(both.average[0], want, rtol=1e-10)
    assert both.provenance.evaluator == "tree_exact"


def expanded(table):
    """Return the columns that a table with categories stands for."""
    made = table[["age", "income"]].copy()
    for position, name in enumerate(CITY):
        made[name] = [HOT[label][position] for label in table["city"]]
    for position, name in enumerate(LAGS):
        made[name] = [np.nan if label != label else value_of(label)[position] for label in table["lag"]]
    return made


@pytest.fixture(scope="module")
def as_categories(X, forest):
    """The same rows with categorical columns, and the same model of them."""
    found = paribus.effects(forest, X, FEATURES, progress=False)
    city = [next(label for label in HOT if HOT[label] == tuple(row)) for row in X[CITY].to_numpy()]
    lag = [f"({'missing' if a != a else a}, {'missing' if b != b else b})" for a, b in X[LAGS].to_numpy()]
    lag = [None if label == "(missing, missing)" else label for label in lag]
    table = X[["age", "income"]].assign(
        city=pd.Categorical(city, categories=list(found["city"].grid_values[0])),
        lag=pd.Categorical(lag, categories=list(found["lag"].grid_values[0])),
    )
    return table, lambda rows: forest.predict(expanded(rows))


ALL = {**FEATURES, "age": "age", "income": "income"}


def test_local_effects_are_those_of_categorical_column(X, forest, as_categories):
    table, predict = as_categories
    have = paribus.accumulated_local_effects(forest, X, ALL, progress=False)
    want = paribus.accumulated_local_effects(predict, table, list(ALL), progress=False)
    for feature in ALL:
        assert list(have[feature].grid_values[0]) == list(want[feature].grid_values[0])
        np.testing.assert_allclose(have[feature].ale, want[feature].ale, rtol=1e-10, atol=1e-12)


def test_marginal_averages_are_those_of_categorical_column(X, y, forest, as_categories):
    table, predict = as_categories
    have = paribus.marginal(forest, X, ALL, y=y, progress=False)
    want = paribus.marginal(predict, table, list(ALL), y=y, progress=False)
    for feature in ALL:
        for name in ("predicted", "observed"):
            np.testing.assert_allclose(have[feature][name], want[feature][name], rtol=1e-10)


def test_interactions_are_those_of_categorical_column(X, forest, as_categories):
    table, predict = as_categories
    options = {"subsample": 60, "progress": False}
    have = statistic_of("h_statistic", forest, X, ALL, **options)
    want = statistic_of("h_statistic", predict, table, list(ALL), **options)
    assert have.feature_names == want.feature_names
    assert have.provenance.evaluator != "brute"
    np.testing.assert_allclose(have["h_squared_pairwise"], want["h_squared_pairwise"], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", ["effect", "permutation"])
def test_importance_is_that_of_categorical_column(kind, X, y, forest, as_categories):
    table, predict = as_categories
    options = {"kind": kind, "y": y, "subsample": 60, "progress": False}
    have = statistic_of("feature_importance", forest, X, ALL, **options)
    want = statistic_of("feature_importance", predict, table, list(ALL), **options)
    assert have.feature_names == want.feature_names
    np.testing.assert_allclose(have.values, want.values, rtol=1e-8, atol=1e-12)


def test_own_importance_of_group_is_sum_of_its_columns(X, y):
    model = RandomForestRegressor(5, random_state=0).fit(X.fillna(0.0), y)
    found = paribus.feature_importance(model, X.fillna(0.0), ALL, kind="model", progress=False)
    shares = dict(zip(X.columns, model.feature_importances_, strict=True))
    want = {name: sum(shares[column] for column in np.atleast_1d(own)) for name, own in ALL.items()}
    assert dict(zip(found.feature_names, found.values, strict=True)) == pytest.approx(want)


def test_explanation_has_groups_as_features(X, y, forest, tmp_path):
    found = paribus.explain(forest, X, y, features=ALL, progress=False)
    curves = paribus.effects(forest, X, ALL, grid_resolution=20, progress=False)
    assert set(found.effects) == set(ALL)
    np.testing.assert_allclose(found.effects["city"].average, curves["city"].average, rtol=1e-12)
    assert {one.name for one in found.columns} == set(ALL)
    assert not [note for note in found.verdict if note.code is NoteCode.ONE_HOT_COLUMNS]
    found.report(tmp_path / "report.html")
    assert "(1.0, 2.0)" in (tmp_path / "report.html").read_text()


def test_explainer_runs_groups_beside_columns(X, y, forest):
    explainer = paribus.Explainer(forest, X, y, progress=False)
    found = explainer.run(("effects", {"features": FEATURES}), "accumulated_local_effects")
    assert list(found) == ["effects", "accumulated_local_effects"]
    assert set(found["effects"]) == set(FEATURES)
    assert set(found["accumulated_local_effects"]) == set(X.columns)
    alone = explainer.effects(FEATURES)
    np.testing.assert_array_equal(found["effects"]["city"].average, alone["city"].average)


def test_models_of_list_have_groups(X, y, forest):
    models = [forest, HistGradientBoostingRegressor(max_iter=5).fit(X, y)]
    found = paribus.partial_dependence(models, X, {"city": CITY}, progress=False)
    each = [[naive(one.predict, X, None, CITY, HOT[label]) for label in HOT] for one in models]
    np.testing.assert_allclose(found.average[0], np.mean(each, axis=0), rtol=1e-10)


def test_individual_curves_and_verification(X, forest):
    found = paribus.Explainer(forest, X, verify=True, progress=False).partial_dependence(
        {"city": CITY}, kind="both"
    )
    for position, label in enumerate(HOT):
        moved = X.assign(**dict(zip(CITY, HOT[label], strict=True)))
        np.testing.assert_allclose(found.individual[0, :, position], forest.predict(moved), rtol=1e-10)


def test_polars_table(X):
    def predict(table):
        assert isinstance(table, pl.DataFrame)
        assert table.schema == frame.schema
        return table["city_A"].to_numpy() * table["income"].to_numpy() + table["lag1"].fill_null(7).to_numpy()

    frame = pl.from_pandas(X)
    found = paribus.effects(predict, frame, FEATURES, progress=False)
    plain = lambda t: t["city_A"] * t["income"] + t["lag1"].fillna(7)  # noqa: E731
    want = [naive(plain, X, None, CITY, HOT[label]) for label in HOT]
    np.testing.assert_allclose(found["city"].average[0], want, rtol=1e-10, atol=1e-14)
    want = [naive(plain, X, None, LAGS, value_of(label)) for label in found["lag"].grid_values[0]]
    np.testing.assert_allclose(found["lag"].average[0], want, rtol=1e-10, atol=1e-14)


def test_array_by_position(X, y):
    values = X.to_numpy()
    model = HistGradientBoostingRegressor(max_iter=10).fit(values, y)
    found = paribus.effects(model, values, {"city": [2, 3, 4], 0: 0, "income": 1}, progress=False)
    assert set(found) == {"city", "x0", "income"}
    assert list(found["city"].grid_values[0]) == ["x2", "x3", "x4", "none"]
    predict = lambda t: model.predict(t.to_numpy())  # noqa: E731
    want = [naive(predict, X, None, CITY, HOT[label]) for label in HOT]
    np.testing.assert_allclose(found["city"].average[0], want, rtol=1e-10)
    alone = paribus.partial_dependence(model, values, 1, progress=False)
    np.testing.assert_allclose(found["income"].average, alone.average, rtol=1e-12)


def test_model_gets_columns_in_their_own_dtypes():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=80),
            "flag_x": rng.random(80) < 0.5,
            "day": pd.to_datetime(rng.integers(0, 2, 80), unit="D", origin="2026-01-01"),
            "kind": pd.Categorical(rng.choice(["p", "q"], 80)),
            "count": rng.integers(0, 2, 80),
        }
    )

    def predict(rows):
        assert (rows.dtypes == table.dtypes).all()
        day = (rows["day"] == "2026-01-02").to_numpy()
        return rows["a"].to_numpy() * day + (rows["kind"] == "q").to_numpy() * rows["count"].to_numpy()

    found = paribus.partial_dependence(predict, table, {"k": ["day", "kind", "count"]}, progress=False)
    assert list(found.grid_values[0][:2]) == ["(2026-01-01 00:00:00, p, 0)", "(2026-01-01 00:00:00, p, 1)"]
    want = [
        day * table["a"].mean() + (kind == "q") * count for day in (0, 1) for kind in "pq" for count in (0, 1)
    ]
    np.testing.assert_allclose(found.average[0], want, atol=1e-12)


def test_many_columns_of_one_feature():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 40, 2_000)
    table = pd.DataFrame({"a": rng.normal(size=2_000), **{f"c_{j}": 1.0 * (code == j) for j in range(40)}})
    model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=40).fit(
        table, table["a"] * (code % 5) + code % 7
    )
    columns = [f"c_{j}" for j in range(40)]
    found = paribus.effects(model, table, {"c": columns, "a": "a"}, grid_resolution=5, progress=False)
    assert found["c"].provenance.evaluator == "tree_exact"
    want = [naive(model.predict, table, None, columns, np.eye(40)[j]) for j in range(40)]
    np.testing.assert_allclose(found["c"].average[0], want, rtol=1e-10)


@pytest.fixture(scope="module")
def parquet(X, y, weights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "rows.parquet"
    X.assign(y=y, w=weights).to_parquet(folder, row_group_size=70)
    return str(folder)


def test_read_rows_give_the_same_bits(X, forest, weights, parquet):
    held = paribus.effects(forest, X, ALL, sample_weight=weights, grid_resolution=6, progress=False)
    read = paribus.effects(forest, parquet, ALL, sample_weight="w", grid_resolution=6, progress=False)
    assert list(held) == list(read)
    for feature in FEATURES:
        np.testing.assert_array_equal(held[feature].grid_values[0], read[feature].grid_values[0])
        np.testing.assert_array_equal(held[feature].average, read[feature].average)
    np.testing.assert_array_equal(held["lag"].missing.average, read["lag"].missing.average)


def test_read_rows_of_function_and_stream(X, parquet):
    held = paribus.effects(function, X, FEATURES, progress=False)
    for source in (parquet, lambda: iter([X.iloc[:100], X.iloc[100:]])):
        read = paribus.effects(function, source, FEATURES, progress=False)
        for feature in FEATURES:
            np.testing.assert_allclose(read[feature].average, held[feature].average, rtol=1e-12)


def test_interactions_of_read_rows(X, forest, parquet):
    held = paribus.h_statistic(forest, X, ALL, progress=False)
    read = paribus.h_statistic(forest, parquet, ALL, progress=False)
    np.testing.assert_allclose(read["h_squared_pairwise"], held["h_squared_pairwise"], rtol=1e-10)


def test_checkpoint_of_other_groups_is_refused(forest, parquet, tmp_path):
    options = {"checkpoint": tmp_path, "progress": False}
    first = statistic_of("effects", forest, parquet, {"lag": LAGS, "city": CITY}, **options)
    again = statistic_of("effects", forest, parquet, {"lag": LAGS, "city": CITY}, **options)
    np.testing.assert_array_equal(first["lag"].average, again["lag"].average)
    with pytest.raises(paribus.ParibusError, match="checkpoint"):
        statistic_of("effects", forest, parquet, {"lag": LAGS[::-1], "city": CITY}, **options)


def test_categories_of_read_rows_are_refused(X, tmp_path):
    X.assign(kind=pd.Categorical(["p", "q"] * 150)).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(TableError, match="'kind' is categorical"):
        paribus.effects(
            function, str(tmp_path / "rows.parquet"), {"both": ["kind", "city_A"]}, progress=False
        )


def test_custom_values_are_names_of_combinations(X, forest):
    found = paribus.effects(forest, X, {"city": CITY}, custom_values={"city": ["B", "A"]}, progress=False)
    want = [naive(forest.predict, X, None, CITY, HOT[label]) for label in "BA"]
    np.testing.assert_allclose(found["city"].average[0], want, rtol=1e-10)
    with pytest.raises(GridError, match="'Z' is not a category of 'city', which has 'A', 'B', 'C', 'none'"):
        paribus.effects(forest, X, {"city": CITY}, custom_values={"city": ["Z"]}, progress=False)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"city": ["city_A", "city_X"]}, "'city_X' is not a column of X"),
        ({"age": ["city_A", "city_B"]}, "'age' must be text, and not the name of another feature"),
        ({"one": ["city_A", "city_B"], "two": ["city_B", "lag1"]}, "'city_B' is listed twice"),
        ({"one": ["city_A", "city_A"]}, "'city_A' is listed twice"),
        ({"city": []}, "'city' has no columns"),
        ({}, "features is empty"),
        ([{"city": CITY}, "city_A"], "'city_A' is set together with other columns"),
    ],
)
def test_wrong_groups_are_refused(features, message, X, forest):
    with pytest.raises(FeatureError, match=message):
        paribus.effects(forest, X, features, progress=False)


def test_one_hot_columns_are_noted_if_each_is_varied_alone(X, forest):
    found = paribus.effects(forest, X, grid_resolution=5, progress=False)
    (note,) = [note for note in found.notes if note.code is NoteCode.ONE_HOT_COLUMNS]
    assert "{'city': ['city_A', 'city_B', 'city_C']}" in note
    assert {key for key, one in found.items() if note in one.notes} == set(CITY)
    for requested in (list(X.columns), {"city": CITY}):
        several = paribus.effects(forest, X, requested, grid_resolution=5, progress=False)
        assert not [note for note in several.notes if note.code is NoteCode.ONE_HOT_COLUMNS]


@pytest.mark.parametrize(
    "columns",
    [
        {"is_old": [1, 0, 1, 0], "is_rich": [1, 1, 0, 0]},  # a row has both
        {"is_old": [1, 0, 0, 0], "has_car": [0, 1, 0, 0]},  # other names
        {"is_old": [2, 0, 0, 0], "is_rich": [0, 1, 0, 0]},  # not an indicator
    ],
)
def test_other_columns_are_not_noted(columns):
    table = pd.DataFrame({name: values * 50 for name, values in columns.items()}).astype(float)
    table["a"] = np.arange(200.0)
    found = paribus.effects(lambda t: t.sum(axis=1).to_numpy(), table, progress=False)
    assert not [note for note in found.notes if note.code is NoteCode.ONE_HOT_COLUMNS]


def test_result_is_saved_and_explainer_data_pickled(X, forest, tmp_path):
    found = paribus.effects(forest, X, FEATURES, progress=False)
    found.save(tmp_path / "effects.json")
    assert paribus.load(tmp_path / "effects.json") == found
    explainer = paribus.Explainer(forest, X, progress=False)
    explainer.effects(FEATURES)
    (other,) = explainer._by_groups.values()
    table = pickle.loads(pickle.dumps(other._subject.data.rows.table))
    assert table.names == ("age", "income", "city", "lag")


def test_group_may_have_the_name_of_a_column_that_the_model_does_not_use(X, y, forest):
    named = paribus.partial_dependence(forest, X.assign(city="text"), {"city": CITY}, progress=False)
    alone = paribus.partial_dependence(forest, X, {"city": CITY}, progress=False)
    np.testing.assert_array_equal(named.average, alone.average)


def test_read_columns_have_the_names_of_results(X, parquet):
    names = [*(f"v_{j}" for j in range(len(X.columns))), "y", "w"]
    group = {"city": ["v_2", "v_3", "v_4"]}
    read = paribus.Explainer(function, parquet, feature_names=names, progress=False).partial_dependence(group)
    held = paribus.Explainer(function, X, feature_names=names[:-2], progress=False).partial_dependence(group)
    assert list(read.grid_values[0]) == list(held.grid_values[0]) == ["2", "3", "4", "none"]
    np.testing.assert_allclose(read.average, held.average, rtol=1e-12)

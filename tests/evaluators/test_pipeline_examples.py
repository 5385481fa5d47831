"""The pipelines of scikit-learn's own examples, on tables of ours: exact, or a sentence that says why not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectPercentile, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import paribus
from pipeline_examples import refusals_of


def rentals(n=120):
    """Return hours of a rental service: weather and season by name, hour and temperature as numbers."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "season": pd.Categorical(rng.choice(["spring", "summer", "fall", "winter"], n)),
            "weather": pd.Categorical(rng.choice(["clear", "misty", "rain"], n)),
            "workingday": rng.choice(["True", "False"], n).astype(object),
            "hour": rng.integers(0, 24, n),
            "temp": rng.normal(15, 8, n),
            "humidity": rng.uniform(0.2, 1, n),
        }
    )
    y = np.exp(np.sin(X["hour"] / 4) + 0.05 * X["temp"] - X["humidity"] * (X["weather"] == "rain"))
    return X, y


def test_partial_dependence_of_rentals():
    X, y = rentals()
    words = ["season", "weather", "workingday"]
    ordinal = ColumnTransformer([("cat", OrdinalEncoder(), words)], remainder="passthrough")
    boosted = make_pipeline(
        ordinal.set_output(transform="pandas"),
        HistGradientBoostingRegressor(categorical_features=[f"cat__{name}" for name in words], max_iter=10),
    ).fit(X, y)
    requests = ["season", "hour", "temp", ["temp", "humidity"], ["season", "weather"]]
    assert not refusals_of(boosted, X, requests, kind="both")
    scaled = ColumnTransformer(
        [
            ("num", QuantileTransformer(n_quantiles=50), make_column_selector(dtype_include=np.number)),
            ("cat", OneHotEncoder(handle_unknown="ignore"), words),
        ]
    )
    network = make_pipeline(scaled, MLPRegressor(hidden_layer_sizes=(4,), max_iter=30, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge, which is no matter here
        network.fit(X, y)
    refusal = refusals_of(network, X, ["temp"])["temp"]
    assert "MLPRegressor is not among the tree ensembles" in refusal


def test_mixed_types_with_selected_categories():
    rng = np.random.default_rng(4)
    n = 150
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n)),
            "fare": rng.lognormal(3, 1, n),
            "embarked": pd.Categorical(rng.choice(["S", "C", "Q", None], n)),
            "sex": pd.Categorical(rng.choice(["female", "male"], n)),
            "pclass": rng.integers(1, 4, n),
        }
    )
    y = (np.log(X["fare"]) + 2 * (X["sex"] == "female") - X["pclass"] > 2).astype(int)
    numeric = Pipeline([("imputer", SimpleImputer(strategy="median")), ("scaler", StandardScaler())])
    nominal = Pipeline(
        [
            ("encoder", OneHotEncoder(handle_unknown="ignore")),
            ("selector", SelectPercentile(chi2, percentile=50)),
        ]
    )
    for chosen in (
        [["age", "fare"], ["embarked", "sex", "pclass"]],
        [make_column_selector(dtype_exclude="category"), make_column_selector(dtype_include="category")],
    ):
        prepared = ColumnTransformer(
            [("num", numeric, chosen[0]), ("cat", nominal, chosen[1])], remainder="drop"
        )
        model = Pipeline([("preprocessor", prepared), ("classifier", LogisticRegression())]).fit(X, y)
        assert not refusals_of(model, X, ["age", "embarked", "pclass", ["fare", "sex"]], kind="both")


def lengths(texts):
    """Return what is counted in each text, as scikit-learn's example does."""
    return [{"length": len(text), "sentences": text.count(".")} for text in texts]


def test_columns_of_text_from_different_sources():
    rng = np.random.default_rng(5)
    topics = np.array(["orbit launch moon.", "engine wheel road. brake.", "bake flour salt."])
    y = rng.integers(0, 3, 80)
    body = [f"{topics[k]} {topics[rng.integers(3)]} {'long ' * rng.integers(4)}" for k in y]
    X = pd.DataFrame({"subject": topics[y], "body": body, "stars": rng.integers(1, 6, 80)}).astype({"subject": object, "body": object})  # fmt: skip
    union = ColumnTransformer(
        [
            ("subject", TfidfVectorizer(min_df=2), "subject"),
            (
                "body_bow",
                make_pipeline(TfidfVectorizer(), TruncatedSVD(n_components=3, random_state=0)),
                "body",
            ),
            ("body_stats", make_pipeline(FunctionTransformer(lengths), DictVectorizer()), "body"),
        ],
        transformer_weights={"subject": 0.8, "body_bow": 0.5, "body_stats": 1.0},
        remainder="passthrough",
    )
    model = Pipeline([("union", union), ("svc", LinearSVC(dual=False))]).fit(X, y)
    assert not refusals_of(model, X, ["subject", "stars"], kind="both")
    # As the example has it: a step before that takes the columns out of what it is given, all at once.
    split = FunctionTransformer(lambda table: table[["subject", "body", "stars"]])
    model = Pipeline([("split", split), ("union", union), ("svc", LinearSVC(dual=False))]).fit(X, y)
    refusal = refusals_of(model, X, ["stars"])["stars"]
    assert "FunctionTransformer(<lambda>) joins 'stars' with 'subject', 'body'" in refusal


def test_what_is_joined_is_brute_force_and_the_rest_exact():
    X, y = rentals()
    prepared = ColumnTransformer(
        [
            ("pca", PCA(1), ["temp", "humidity"]),
            ("w", OneHotEncoder(), ["season"]),
            ("h", "passthrough", ["hour"]),
        ]
    )
    model = make_pipeline(
        prepared.set_params(sparse_threshold=0), HistGradientBoostingRegressor(max_iter=5)
    ).fit(X, y)
    refusals = refusals_of(model, X, ["temp", "hour", "season", ["hour", "temp"]], kind="both")
    assert sorted(refusals) == ["['hour', 'temp']", "temp"]
    assert "PCA joins 'temp' with 'humidity'" in refusals["temp"]
    with pytest.raises(paribus.errors.RefusalError, match="PCA joins 'temp' with 'humidity'"):
        paribus.partial_dependence(model, X, "temp", method="exact", progress=False)

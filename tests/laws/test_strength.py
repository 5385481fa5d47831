"""One strength: the standard deviation of the partial dependence at every row's own value, wherever it is printed."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

import paribus
from paribus._text import measured
from selection import nightly

ROWS = 120


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.lognormal(0, 1, ROWS), "n": rng.poisson(2, ROWS)})
    X["b"] = X["b"].where(rng.uniform(size=ROWS) > 0.1)
    X["city"] = pd.Categorical(rng.choice(["north", "south", "east"], ROWS))
    return X


X = _table()
Y = (X["a"] ** 3 + X["b"].fillna(3.0) + 0.3 * X["n"] + (X["city"] == "north")).to_numpy()
Y = Y + 0.1 * np.random.default_rng(6).normal(size=ROWS)
WEIGHTS = np.random.default_rng(7).integers(0, 4, ROWS).astype(float)


def _prepared(last, *numbers):
    steps = numbers or (SimpleImputer(add_indicator=True),)
    return make_pipeline(
        make_column_transformer((make_pipeline(*steps), ["a", "b", "n"]), (OneHotEncoder(), ["city"])), last
    )


MODELS = {
    "boosted trees": lambda: lightgbm.LGBMRegressor(n_estimators=40, min_child_samples=5, verbose=-1).fit(
        X, Y
    ),
    "forest behind an indicator of missing values": lambda: _prepared(
        RandomForestRegressor(10, random_state=0)
    ).fit(X, Y),
    "ridge": lambda: _prepared(Ridge()).fit(X, Y),
    "ridge of splines": lambda: _prepared(Ridge(), SimpleImputer(), SplineTransformer()).fit(X, Y),
    "probabilities of trees": lambda: HistGradientBoostingClassifier(
        max_iter=20, categorical_features="from_dtype"
    ).fit(X, Y > 1),
    "probabilities of a linear model": lambda: _prepared(LogisticRegression()).fit(X, Y > 1),
    "a model that is evaluated itself": lambda: _prepared(KNeighborsRegressor()).fit(X, Y),
}


def _naive(model, weights=None) -> dict[str, float]:
    """Set a feature to the value of each row in turn, average the predictions, and take their deviation."""
    found = {}
    for feature in X:
        rows = X.loc[np.tile(X.index, ROWS)].reset_index(drop=True)
        rows[feature] = X.loc[np.repeat(X.index, ROWS), feature].reset_index(drop=True)
        predicted = (
            model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)
        )
        curve = np.average(predicted.reshape(ROWS, ROWS), axis=1, weights=weights)
        mean = np.average(curve, weights=weights)
        found[feature] = float(np.sqrt(np.average((curve - mean) ** 2, weights=weights)))
    return found


@pytest.mark.parametrize("weights", [*nightly(None), WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_strength_is_the_naive_one_in_every_function_and_in_one_order(name, weights):
    model = MODELS[name]()
    options = {"sample_weight": weights, "progress": False}
    target = Y > 1 if hasattr(model, "predict_proba") else Y
    explanation = paribus.explain(model, X, target, **options)
    importance = paribus.feature_importance(model, X, **options)
    effects = paribus.effects(model, X, **options)
    frame = explanation.to_frame().set_index("feature")["strength"]
    want = _naive(model, weights)
    order = sorted(want, key=want.get, reverse=True)
    printed = {
        "importance": dict(zip(importance.feature_names, importance.values.tolist(), strict=True)),
        "effects": {key: one.strength for key, one in effects.items()},
        "explain": frame.to_dict(),
        "curves of explain": {key: one.strength for key, one in explanation.effects.items()},
    }
    for where, have in printed.items():
        for feature in X:
            assert have[feature] == pytest.approx(want[feature], rel=1e-6, abs=1e-9), (where, feature)
        assert sorted(have, key=have.get, reverse=True) == order, where
    assert [importance.feature_names[position] for position in importance.order] == order
    assert list(effects) == list(explanation.effects) == list(frame.index) == order


def test_report_and_drift_print_the_strength_of_the_definition(tmp_path):
    model = MODELS["boosted trees"]()
    explanation = paribus.explain(model, X, Y, progress=False)
    want = _naive(model)
    explanation.report(tmp_path / "report.html")
    kept = paribus.load(tmp_path / "report.html")
    change = kept.compare(explanation)
    for one in change.effects:
        assert one.strengths == pytest.approx((want[one.feature],) * 2, rel=1e-6)
    strongest = max(want, key=want.get)
    row = next(line for line in str(explanation).splitlines() if line.strip().startswith(f"{strongest} "))
    assert f" {measured(want[strongest], explanation.table[strongest].standard_error)} " in row


def test_strength_of_read_rows_is_that_of_rows_in_memory_to_the_bit(tmp_path):
    model = MODELS["forest behind an indicator of missing values"]()
    X.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    held = paribus.effects(model, X, progress=False)
    read = paribus.effects(model, str(tmp_path / "rows.parquet"), progress=False)
    assert {k: one.strength for k, one in held.items()} == {k: one.strength for k, one in read.items()}
    threads = paribus.effects(model, X, n_jobs=3, progress=False)
    assert {k: one.strength for k, one in held.items()} == {k: one.strength for k, one in threads.items()}


@pytest.mark.nightly
def test_strengths_of_crossed_rows_are_the_same_in_explain_with_many_features():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(600, 9)), columns=list("abcdefghi"))
    target = wide["a"] + wide["b"] * wide["c"] + 0.1 * wide["d"] > 0
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(wide, target)
    explanation = paribus.explain(model, wide, progress=False)
    importance = paribus.feature_importance(model, wide, progress=False)
    effects = paribus.effects(model, wide, progress=False)
    assert explanation.interactions.provenance.sampled_rows < importance.provenance.sampled_rows == 500
    assert all(any(note.code == "PAR204" for note in effects[feature].notes) for feature in wide)
    few = paribus.effects(model, wide[:500], progress=False)
    assert not any(note.code == "PAR204" for note in few.notes)
    for feature, want in zip(importance.feature_names, importance.values, strict=True):
        assert explanation.table[feature].strength == effects[feature].strength == want
    assert explanation.importance.provenance.sampled_rows == 500


def test_partial_dependence_has_a_strength_where_no_further_predictions_are_needed():
    model = MODELS["boosted trees"]()
    alone = paribus.partial_dependence(model, X, "a", progress=False)
    assert alone.strength == pytest.approx(_naive(model)["a"], rel=1e-9)
    calls = []
    itself = paribus.partial_dependence(
        lambda t: calls.append(len(t)) or t["a"], X[["a"]], "a", progress=False
    )
    assert np.isnan(itself.strength)
    every = paribus.partial_dependence(lambda t: 2.0 * t["n"], X[["n"]], "n", progress=False)
    assert every.strength == pytest.approx(2.0 * X["n"].std(ddof=0))


def test_strength_of_trees_is_the_definition_on_more_rows_than_are_crossed():
    rng = np.random.default_rng(9)
    table = rng.lognormal(size=(1_200, 2)).round(1)
    table[::9, 0] = np.nan
    target = np.nan_to_num(table[:, 0], nan=4.0) ** 2 + table[:, 1]
    model = lightgbm.LGBMRegressor(n_estimators=20, min_child_samples=5, verbose=-1).fit(table, target)
    effects = paribus.effects(model, table, progress=False)
    for feature in range(2):
        moved, averages = table.copy(), {}
        for value in np.unique(table[:, feature]):  # NaN is the last one
            moved[:, feature] = value
            averages[value if value == value else None] = model.predict(moved).mean()
        curve = [averages[value if value == value else None] for value in table[:, feature].tolist()]
        assert effects[f"x{feature}"].strength == pytest.approx(np.std(curve), rel=1e-9)

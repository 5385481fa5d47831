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


FROM_POINTS = (
    "probabilities of trees",
    "probabilities of a linear model",
    "a model that is evaluated itself",
)


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


def _from_points(effect) -> float:
    """Return the weighted standard deviation of the points of a curve; a missing value is one more point."""
    weights, curve = effect.support, effect.average[0]
    if effect.missing is not None:
        weights, curve = (
            np.append(weights, effect.missing.support),
            np.append(curve, effect.missing.average[0]),
        )
    mean = np.average(curve, weights=weights)
    return float(np.sqrt(np.average((curve - mean) ** 2, weights=weights)))


@pytest.mark.parametrize("weights", [*nightly(None), WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_strength_is_one_number_in_every_function_and_order(name, weights):
    model = MODELS[name]()
    options = {"sample_weight": weights, "progress": False}
    target = Y > 1 if hasattr(model, "predict_proba") else Y
    explanation = paribus.explain(model, X, target, **options)
    importance = paribus.feature_importance(model, X, **options)
    effects = paribus.effects(model, X, **options)
    alone = {feature: paribus.partial_dependence(model, X, feature, **options).strength for feature in X}
    printed = {
        "importance": dict(zip(importance.feature_names, importance.values.tolist(), strict=True)),
        "importance of explain": dict(
            zip(explanation.importance.feature_names, explanation.importance.values.tolist(), strict=True)
        ),
        "explain": explanation.to_frame().set_index("feature")["strength"].to_dict(),
        "curves of explain": {key: effect.strength for key, effect in explanation.effects.items()},
        "partial dependence": alone,
    }
    strengths = {key: effect.strength for key, effect in effects.items()}
    for where, have in printed.items():
        assert have == pytest.approx(strengths, rel=1e-12), where
    order = sorted(strengths, key=strengths.get, reverse=True)
    assert [importance.feature_names[position] for position in importance.order] == order
    assert list(effects) == list(explanation.effects) == order
    definition = _naive(model, weights)
    for feature, effect in effects.items():
        exact = effect.strength_from == "rows"
        assert exact == (feature in ("n", "city") or name not in FROM_POINTS)
        assert strengths[feature] == pytest.approx(definition[feature], rel=1e-6 if exact else 0.06, abs=1e-9)
        if not exact:
            assert strengths[feature] == pytest.approx(_from_points(effect), rel=1e-12)


def test_strength_from_points_has_the_documented_error():
    """The figures of docs/effects.md, on some of the cases of benchmarks/strengths.py."""
    rng, errors = np.random.default_rng(1), []
    features = {
        "normal": rng.normal(size=2_000),
        "lognormal": rng.lognormal(size=2_000),
        "t": rng.standard_t(3, size=2_000),
        "uniform": rng.uniform(size=2_000),
        "rounded": rng.normal(size=2_000).round(1),
    }
    for column in features.values():
        ranks = column.argsort().argsort() / len(column)
        for curve in (column, ranks, (ranks > 0.95) * 1.0, np.sin(6 * ranks)):
            order = np.argsort(column)
            table = column[:, None]
            effect = paribus.partial_dependence(
                lambda t, o=order, c=curve, x=column: np.interp(t[:, 0], x[o], c[o]), table, 0, progress=False
            )
            errors.append(abs(effect.strength / np.std(curve) - 1))
    assert np.median(errors) < 0.01
    assert max(errors) < 0.06


def test_strength_of_part_of_the_data_is_unknown_unless_the_model_gives_it():
    trees, function = MODELS["boosted trees"](), lambda t: t["a"] * 2.0
    for part in ({"percentiles": (0.05, 0.95)}, {"custom_values": {"a": [-1.0, 0.0, 1.0]}}):
        known = paribus.effects(trees, X, ["a"], **part, progress=False)["a"]
        assert known.strength == pytest.approx(_naive(trees)["a"], rel=1e-9)
        unknown = paribus.effects(function, X, ["a"], **part, progress=False)
        assert np.isnan(unknown["a"].strength)
        assert "no strength where custom_values or percentiles leave out part of the data" in repr(unknown)
    whole = paribus.effects(function, X, ["a"], percentiles=(0, 1), progress=False)
    assert "strengths from the points of each curve, at most 50" in repr(whole)


def test_strength_of_a_group_needs_ten_points_with_rows():
    few = np.where(np.arange(ROWS) < 8, "few", "many")
    groups = paribus.effects(lambda t: t["a"] * 2.0 + t["n"], X, ["a", "n"], by=few, progress=False)
    assert np.isnan(groups["few"]["a"].strength)
    assert groups["many"]["a"].strength > 1
    assert groups["few"]["n"].strength == pytest.approx(X["n"][:8].std(ddof=0))  # each value is a point


def test_effects_of_a_function_predict_what_their_curves_need():
    wide, predicted = np.random.default_rng(0).normal(size=(300, 60)), [0]

    def count(rows):
        predicted[0] += len(rows)
        return rows[:, :3].sum(axis=1)

    paribus.effects(count, wide, grid_resolution=10, progress=False)
    assert predicted[0] <= 300 * 60 * 10 + 1_000


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
    row = next(
        line
        for line in str(explanation).splitlines()
        if line.strip().startswith(f"{strongest} ") and " ± " in line
    )
    assert f" {measured(want[strongest], explanation.table[strongest].standard_error)} " in row


def test_strength_of_read_rows_is_that_of_rows_in_memory_to_the_bit(tmp_path):
    model = MODELS["forest behind an indicator of missing values"]()
    X.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    held = paribus.effects(model, X, progress=False)
    read = paribus.effects(model, str(tmp_path / "rows.parquet"), progress=False)
    assert {k: one.strength for k, one in held.items()} == {k: one.strength for k, one in read.items()}
    threads = paribus.effects(model, X, n_jobs=3, progress=False)
    assert {k: one.strength for k, one in held.items()} == {k: one.strength for k, one in threads.items()}


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


def test_errors_of_strengths_are_those_of_all_rows_not_of_the_crossed_ones():
    """A rare value may be in no crossed row: its strength still has an error."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.random(1_500) < 0.004, rng.normal(size=1_500)]).astype(float)

    def predict(rows):
        return 3 * rows[:, 0] + rows[:, 1] * (1 + rows[:, 0])

    importance = paribus.feature_importance(predict, table, progress=False)
    errors = dict(zip(importance.feature_names, importance.standard_error.tolist(), strict=True))
    assert errors["x0"] == pytest.approx(1.5 / np.sqrt(1_500), rel=0.2)  # of a share, three times
    assert errors["x1"] == pytest.approx(np.sqrt(0.5 / 1_500), rel=0.1)

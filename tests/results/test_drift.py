"""The change from one explanation to another: what counts as moved, and what is sampling error."""

import dataclasses

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import r2_score, roc_auc_score

import paribus
from paribus.results.drift import Drift
from paribus.results.performance import Metric, Performance
from paribus.results.storage import differing


def explained(model, X, y=None, subsample="auto", **options):
    return paribus.Explainer(model, X, y, progress=False, **options).explain(subsample=subsample)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(400, 3))


@pytest.fixture(scope="module")
def old(X):
    return explained(lambda t: t[:, 0] + t[:, 1] * t[:, 2], X)


def names(changes):
    return [change.name for change in changes]


def test_change_of_curve_is_difference_apart_from_level(X, old):
    new = explained(lambda t: t[:, 0] + 0.5 * (t[:, 0] > 0.7) + t[:, 1] * t[:, 2] + 3, X)
    drift = old.compare(new)
    moved = drift.effects[0]
    assert (moved.feature, moved.presence, moved.compared) == ("x0", "both", pytest.approx(1))
    apart = new.effects["x0"].average[0] - old.effects["x0"].average[0]
    support = old.effects["x0"].support
    assert np.allclose(moved.weights, support / support.sum())
    assert np.array_equal(moved.grid_values[0], old.effects["x0"].grid_values[0])
    assert np.allclose(moved.change[0], apart - apart @ moved.weights)
    assert np.isclose(moved.typical[0] ** 2, moved.weights @ moved.change[0] ** 2)
    assert float(moved.largest_at(0)) > 0.7
    assert drift.level_new[0] - drift.level_old[0] == pytest.approx(3.13, abs=0.1)
    assert names(drift.above(0.1)) == ["level", "x0", "rows"]
    assert drift.deviation[0] == pytest.approx(np.std(X[:, 0] + X[:, 1] * X[:, 2]), rel=1e-12)
    change = next(change for change in drift.ranked() if change.name == "x0")
    assert change.size == moved.typical[0] / drift.deviation[0]


def test_change_in_the_outer_rows_alone_is_found():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(size=400), rng.normal(size=400)])
    old = explained(lambda t: t[:, 0] + 0.1 * t[:, 1], X)
    new = explained(lambda t: t[:, 0] - 2.0 * (t[:, 0] > 0.97) + 0.1 * t[:, 1], X)
    moved = next(change for change in old.compare(new).effects if change.feature == "x0")
    share = moved.weights[moved.grid_values[0] > 0.97].sum()
    assert share == pytest.approx(np.mean(X[:, 0] > 0.97), abs=0.005)
    assert moved.change.min() == pytest.approx(-2 * (1 - share))
    assert moved.typical[0] == pytest.approx(2 * np.sqrt(share * (1 - share)))


def test_same_model_on_same_rows_has_not_changed(X, old):
    drift = old.compare(explained(lambda t: t[:, 0] + t[:, 1] * t[:, 2], X))
    assert drift.same_model
    assert drift.same_data
    assert drift.above(0.0) == []
    assert all(change.change == 0 for change in drift.ranked())


def test_interaction_that_appears_is_a_change(X, old):
    drift = old.compare(explained(lambda t: t[:, 0] + t[:, 1] * t[:, 2] + t[:, 0] * t[:, 2], X))
    pairs = [change for change in drift.above(0.3) if change.kind == "interaction"]
    assert [change.features for change in pairs] == [("x0", "x2")]
    assert pairs[0].old == 0
    assert pairs[0].change == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_other_rows_of_the_same_model_move_beyond_bound_and_within_errors(seed):
    """A few hundred rows move an average by a share of the spread; standard errors tell that from drift."""

    def model(t):
        return t[:, 0] + t[:, 1] * t[:, 2]

    rng = np.random.default_rng(seed)
    old = explained(model, rng.normal(size=(2000, 3)))
    new = explained(model, rng.normal(size=(100, 3)))
    drift = old.compare(new, independent=True)
    assert drift.ranked()[0].size > 0.02
    assert drift.above(0.02) == []
    assert drift.errors == "independent"
    moved = explained(lambda t: model(t) + 0.8 * np.abs(t[:, 0]), rng.normal(size=(300, 3)))
    assert "x0" in names(old.compare(moved, independent=True).above(0.1))


def test_errors_of_rows_that_may_overlap_are_the_sum_of_both(X, old):
    new = explained(lambda t: t[:, 0] + t[:, 1] * t[:, 2], X[:300])
    bound, independent = (old.compare(new, independent=flag) for flag in (False, True))
    assert bound.errors == "upper bound"
    one, two = (dict(zip(d.feature_names, d.effects, strict=True))["x1"] for d in (bound, independent))
    assert (one.standard_error > two.standard_error).all()
    itself = old.compare(old)
    (alone,) = (effect for effect in itself.effects if effect.feature == "x1")
    variance = []  # of each value relative to the average over the data
    covariance, shares = old.effects["x1"].covariance[0], alone.weights
    for place in range(len(shares)):
        against = np.eye(len(shares))[place] - shares
        variance.append(against @ covariance @ against)
    assert np.allclose(alone.standard_error[0], 2 * np.sqrt(variance))
    assert [note.code.name for note in bound.notes] == ["ERROR_BASIS"]
    assert "features differ: between two new values" in bound.notes[0].values["grids"]
    assert "not of fitting a model again" in bound.notes[0]


def test_steps_between_grid_values_are_no_change():
    """A tree's curve jumps between grid points, which lie elsewhere for other rows."""
    rng = np.random.default_rng(3)
    old, new = (
        explained(lambda t: (t[:, 0] > 0.3) * 2.0 + t[:, 1], rng.normal(size=(n, 2))) for n in (900, 700)
    )
    (moved,) = (effect for effect in old.compare(new).effects if effect.feature == "x0")
    assert moved.typical[0] < 0.05
    assert set(moved.grid_values[0]) <= set(old.effects["x0"].grid_values[0])


def test_a_new_curve_is_compared_at_the_old_values_and_weighted_by_the_old_data():
    """A difference shows the model, whatever the new rows and grid are."""
    rng = np.random.default_rng(8)
    rows, later = rng.normal(size=(900, 2)), rng.uniform(-2, 2, size=(700, 2))
    old, new = (explained(lambda t, k=k: k * t[:, 0], X) for k, X in ((1.0, rows), (1.5, later)))
    drift = old.compare(new, independent=True)
    (moved,) = (effect for effect in drift.effects if effect.feature == "x0")
    values, support = old.effects["x0"].grid_values[0], old.effects["x0"].support
    ends = new.effects["x0"].grid_values[0][[0, -1]]
    within = (values >= ends[0]) & (values <= ends[1])
    assert not within.all()
    assert np.array_equal(moved.grid_values[0], values[within])
    weights = support[within] / support[within].sum()
    assert np.allclose(moved.weights, weights)
    assert moved.compared == pytest.approx(support[within].sum() / support.sum())
    line = 0.5 * (values[within] - weights @ values[within])
    # A change within the range of the two new values next to an old one is not counted.
    assert 0.8 < moved.typical[0] / np.sqrt(weights @ line**2) < 1
    change = least_change(values[within], old.effects["x0"], new.effects["x0"], weights)
    np.testing.assert_allclose(moved.change[0], change, rtol=1e-10, atol=1e-14)
    assert moved.typical[0] == pytest.approx(np.sqrt(weights @ np.square(change)), rel=1e-12)
    on_old_grid = explained(lambda t: 1.5 * t[:, 0], rows)
    (exact,) = (effect for effect in old.compare(on_old_grid).effects if effect.feature == "x0")
    line = 0.5 * (values - exact.weights @ values)
    assert exact.typical[0] == pytest.approx(np.sqrt(exact.weights @ line**2))
    lost = 1 - min(effect.compared for effect in drift.effects)
    assert f"up to {100 * lost:.2g} % of the old data of a feature has no new curve" in drift.notes[0]


def least_change(values, old, new, weights):
    """Return the change of a curve at some old grid values, by the formula of `EffectDrift`."""
    curve = [old.average[0][list(old.grid_values[0]).index(value)] for value in values]
    points = list(zip(new.grid_values[0], new.average[0], strict=True))
    ends = []
    for value in values:
        below = max(point for point in points if point[0] <= value)
        above = min(point for point in points if point[0] >= value)
        ends.append((min(below[1], above[1]), max(below[1], above[1])))
    level = sum(weights * (curve - np.interp(values, *zip(*points, strict=True))))
    for step in range(21):
        change = []
        for height, (low, high) in zip(curve, ends, strict=True):
            least, most = low + level - height, high + level - height
            change.append(0.0 if least <= 0 <= most else min(least, most, key=abs))
        level -= sum(weights * change) * (step < 20)
    return change


def test_a_feature_that_one_explanation_was_not_asked_for_is_not_compared(X, old):
    def model(t):
        return t[:, 0] + t[:, 1] * t[:, 2]

    part = paribus.Explainer(model, X, progress=False).explain(features=[0, 1])
    for drift in (old.compare(part), part.compare(old)):
        assert drift.above(0.0) == []
        assert drift.not_compared == ("x2",)
        assert set(drift.feature_names) == {"x0", "x1"}
        assert set(drift.interactions.pairs) <= {("x0", "x1")}
        assert "not compared: x2" in repr(drift)


def test_typical_change_of_noise_exceeds_threshold_no_more_often_than_stated():
    """The typical change in standard errors has a tail no longer than that of one normal error."""
    rng = np.random.default_rng(0)
    for correlation in (0.0, 0.6, 0.99):
        shared = np.sqrt(correlation) * rng.normal(size=(20_000, 1))
        noise = shared + np.sqrt(1 - correlation) * rng.normal(size=(20_000, 20))
        typical = np.sqrt(np.mean(noise**2, axis=1))  # of standard error 1 at each point
        assert np.mean(typical > 1.96) <= 0.05 + 0.005


def test_features_and_categories_of_one_explanation_alone():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=200), "city": rng.choice(["Bern", "Genf"], 200)})

    def model(t):
        return np.asarray(t["x"], float) + (np.asarray(t["city"]) == "Bern")

    old = explained(model, frame)
    more = frame.assign(z=rng.normal(size=200), city=rng.choice(["Bern", "Chur"], 200))
    new = explained(lambda t: model(t) + np.asarray(t["z"], float), more)
    by_name = {one.feature: one for one in old.compare(new).effects}
    assert (by_name["z"].presence, by_name["z"].strengths[0]) == ("new", None)
    curve, share = new.effects["z"].average[0], new.effects["z"].support / new.effects["z"].support.sum()
    assert by_name["z"].typical[0] == pytest.approx(np.sqrt(share @ (curve - share @ curve) ** 2))
    assert by_name["z"].typical[0] == pytest.approx(new.effects["z"].strength, rel=0.02)
    assert by_name["city"].grid_values[0].tolist() == ["Bern"]
    assert by_name["city"].compared == pytest.approx(np.mean(frame["city"] == "Bern"))
    assert "z" in names(old.compare(new).above(0.1))
    gone = {one.feature: one for one in new.compare(old).effects}["z"]
    assert gone.presence == "old"
    assert gone.typical[0] == pytest.approx(by_name["z"].typical[0])


def test_missing_point_is_compared():
    X = np.random.default_rng(2).normal(size=(300, 2))
    X[::4, 0] = np.nan
    old, new = (explained(lambda t, v=v: np.nan_to_num(t[:, 0], nan=v) + t[:, 1], X) for v in (0.0, 3.0))
    moved = old.compare(new).effects[0]
    assert moved.feature == "x0"
    assert moved.largest_at(0) == "missing"
    assert moved.missing_weight == pytest.approx(0.25)
    assert moved.missing_change[0] == pytest.approx(0.75 * 3)
    assert "missing" in repr(old.compare(new))


def test_dates_of_other_units_share_values_and_weights():
    day = np.datetime64("2026-01-01") + np.arange(200) % 50
    other = np.random.default_rng(0).normal(size=200)
    old, new = (
        explained(
            lambda t, k=k: k * t["day"].to_numpy().astype("M8[D]").astype(float) + t["x"].to_numpy(),
            pd.DataFrame({"day": day.astype(f"M8[{unit}]"), "x": other}),
        )
        for k, unit in ((0.0, "ns"), (0.1, "s"))
    )
    moved = old.compare(new).effects[0]
    assert moved.feature == "day"
    assert len(moved.weights) == len(old.effects["day"].grid_values[0])
    support = old.effects["day"].support
    assert np.allclose(moved.weights, support / support.sum())


def test_nothing_in_common_counts_as_moved(X, old):
    far = explained(lambda t: t[:, 0] + t[:, 1] * t[:, 2], X + np.array([100.0, 0, 0]))
    drift = old.compare(far)
    assert np.isnan(drift.effects[0].typical[0])
    assert "x0" in names(drift.above(1e6))
    assert "no common value" in repr(drift)


def test_several_outputs_are_compared_one_by_one(X):
    old, new = (explained(lambda t, k=k: np.stack([t[:, 0], k * t[:, 1]], axis=1), X) for k in (1.0, 2.0))
    drift = old.compare(new)
    assert [(c.name, c.output) for c in drift.above(0.1)] == [
        (name, drift.output_names[1]) for name in ("x1", "rows")
    ]
    assert drift.figure(output=1).panels
    with pytest.raises(paribus.errors.DrawingError, match="one output"):
        drift.figure()


def test_threshold_grows_with_what_is_compared(X, old):
    drift = old.compare(old)
    assert 2 < dataclasses.replace(drift, interactions=None).threshold < drift.threshold < 5


def test_unit_of_bound_is_the_standard_deviation_of_the_old_predictions(X, old):
    drift = old.compare(explained(lambda t: 1.5 * t[:, 0] + t[:, 1] * t[:, 2], X))
    size = drift.effects[0].typical[0] / drift.deviation[0]
    assert names(drift.above(size * 0.99)) == ["x0"]
    assert drift.above(size * 1.01) == []


def test_table_file_text_and_picture(X, old, tmp_path):
    drift = old.compare(explained(lambda t: 1.5 * t[:, 0] + t[:, 1] * t[:, 2], X))
    frame = drift.to_frame(backend="pandas")
    assert set(frame["kind"]) == {"effect", "level", "rows", "interaction"}
    assert len(frame) == len(drift.ranked())
    assert frame["feature"][0] == "x0"
    drift.save(tmp_path / "drift.json")
    again = paribus.load(tmp_path / "drift.json")
    assert isinstance(again, Drift)
    assert again == drift
    assert (
        repr(drift).splitlines()[0] == "Drift, <lambda> to <lambda>, the same rows: 3 features (prediction)"
    )
    bars = drift.figure().panels[0].marks[0]
    assert bars.length[0] == drift.effects[0].typical[0]
    assert "text/html" in drift._repr_mimebundle_()


def test_metrics_of_both_are_compared(old):
    one, two = (
        dataclasses.replace(
            old,
            performance=Performance(
                (Metric("AUC", None, value, 0.03, 0.5, "higher"),), (), (), old.provenance
            ),
        )
        for value in (0.8, 0.7)
    )
    (metric,) = one.compare(two).metrics
    assert (metric.name, metric.old, metric.new, metric.standard_error) == ("AUC", 0.8, 0.7, 0.06)
    assert ["AUC", "0.8", "0.7", "-0.1", "±", "0.06"] in [
        line.split() for line in repr(one.compare(two)).splitlines()
    ]
    assert one.compare(two).to_frame(backend="pandas")["kind"].iloc[-1] == "metric: AUC"
    assert old.compare(two).metrics == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda old: old.compare(3), "new= must be an Explanation, not a int"),
        (lambda old: old.compare(old, independent=True), "over the same rows; omit it"),
        (lambda old: old.compare(old, independent=1), "independent=1 must be True or False"),
        (lambda old: old.compare(old).above(-1), "bound=-1 must be a number that is not negative"),
        (lambda old: dataclasses.replace(old.compare(old), provenances={}), "those of 'old' and 'new'"),
    ],
)
def test_wrong_arguments_are_named(old, call, message):
    with pytest.raises(paribus.errors.InputError, match=message):
        call(old)


def test_other_outputs_and_other_features_are_refused(X, old):
    two = explained(lambda t: np.stack([t[:, 0], t[:, 1]], axis=1), X)
    with pytest.raises(paribus.errors.InputError, match="about other outputs"):
        old.compare(two)
    other = explained(lambda t: t[:, 0], X, feature_names=["a", "b", "c"])
    with pytest.raises(paribus.errors.InputError, match="no feature in common"):
        old.compare(other)


LIBRARIES = {
    "lightgbm": lambda seed: lightgbm.LGBMRegressor(
        n_estimators=60,
        num_leaves=15,
        subsample=0.8,
        subsample_freq=1,
        random_state=seed,
        verbose=-1,
        n_jobs=1,
    ),
    "xgboost": lambda seed: xgboost.XGBRegressor(
        n_estimators=60, max_depth=4, learning_rate=0.1, subsample=0.8, random_state=seed, n_jobs=1
    ),
    "forest": lambda seed: RandomForestRegressor(
        20, min_samples_leaf=20, max_features=0.7, random_state=seed
    ),
    "histogram": lambda seed: HistGradientBoostingRegressor(
        max_iter=60, max_leaf_nodes=15, random_state=seed
    ),
}


def drawn(n, seed, moved=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] += 0.5 * X[:, 0]
    y = 2 * np.tanh(X[:, 0]) + X[:, 1] ** 2 / 2 + 0.7 * X[:, 2] * X[:, 3] + moved * (X[:, 0] > 0.5)
    return X, y + rng.normal(size=n)


def gate(library, seed):
    """Return whether refits by bootstrap and fresh data fail, and whether a model that moved does."""
    make, (X, y) = LIBRARIES[library], drawn(8000, seed)
    again = np.random.default_rng(seed).integers(0, len(X), len(X))
    rows, later = drawn(600, 500 + seed)[0], drawn(300, 900 + seed)[0]
    old = explained(make(0).fit(X, y), rows)
    models = [make(1).fit(X[again], y[again]), make(1).fit(*drawn(8000, 99 + seed))]
    models.append(make(1).fit(*drawn(8000, 99 + seed, moved=1.0)))
    on_rows = [bool(old.compare(explained(model, rows)).above(0.1)) for model in models]
    on_later = [
        bool(old.compare(explained(model, later), independent=True).above(0.1)) for model in models[::2]
    ]
    return on_rows, on_later


@pytest.mark.nightly
@pytest.mark.parametrize("library", LIBRARIES)
def test_gate_passes_refits_and_fails_a_model_that_moved(library):
    assert gate(library, 1) == ([False, False, True], [False, True])


def test_gate_passes_another_seed_and_fails_a_model_that_moved():
    make, rows = LIBRARIES["lightgbm"], drawn(500, 7)[0]
    old, again, moved = (
        explained(make(seed).fit(*drawn(3000, 1, shift)), rows) for seed, shift in ((0, 0), (1, 0), (1, 1.5))
    )
    assert old.compare(again).above(0.1) == []
    assert "x0" in names(old.compare(moved).above(0.1))


@pytest.mark.parametrize("case", ["one row", "constant", "one weight", "no value", "no value at all", "tiny"])
def test_nothing_has_moved_since_itself_whatever_is_unknown(case):
    X = np.random.default_rng(0).normal(size=(1 if case == "one row" else 40, 2))
    X[:, 1:] = np.nan if case == "no value" else X[:, 1:]
    X = X * np.nan if case == "no value at all" else X * 1e-310 if case == "tiny" else X
    weights = np.eye(len(X))[0] if case == "one weight" else None

    def model(X):
        return np.full(len(X), 3.0) if case == "constant" else np.nan_to_num(X).sum(axis=1)

    found = paribus.explain(model, X, sample_weight=weights, progress=False)
    drift = found.compare(found)
    assert drift.above(0) == []
    assert all(change.change == change.size == change.in_errors == 0 for change in drift.ranked())
    assert found.compare(paribus.explain(lambda X: model(X) + 1, X, progress=False)).above(0)


def test_a_column_without_any_value_is_compared_where_it_is_missing():
    X = np.column_stack([np.arange(40.0), np.full(40, np.nan)])
    old, new = (
        paribus.explain(lambda X, b=b: X[:, 0] + b * np.isnan(X[:, 1]), X, progress=False) for b in (0.0, 1.0)
    )
    drift = old.compare(new)
    lacking = next(one for one in drift.effects if one.feature == "x1")
    assert lacking.missing_weight == 1
    assert lacking.typical == 0  # of one point all is level
    np.testing.assert_allclose(drift.level_new - drift.level_old, 1.0)


def test_predictions_whose_squares_overflow_are_explained_without_warnings():
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = paribus.explain(lambda X: np.sign(X[:, 0]) * 1e200, X, X[:, 0], progress=False)
    assert "▁" in repr(found)
    assert found.to_markdown()
    assert found.compare(found).above(0) == []


def test_a_row_of_no_feature_is_named():
    found = paribus.explain(lambda X: X[:, 0], np.arange(8.0).reshape(4, 2), progress=False)
    with pytest.raises(KeyError, match="no row of 'x7'"):
        found.table["x7"]


def test_level_and_deviation_are_those_of_all_rows_whatever_the_other_explanation_is():
    rng = np.random.default_rng(4)
    X, weights = rng.normal(size=(6000, 3)), rng.integers(0, 4, 6000).astype(float)
    old = explained(lambda t: t[:, 0] + t[:, 1] * t[:, 2], X, sample_weight=weights, subsample=None)
    predicted = X[:, 0] + X[:, 1] * X[:, 2]
    mean = np.average(predicted, weights=weights)
    deviation = np.sqrt(np.average((predicted - mean) ** 2, weights=weights))
    others = [
        explained(lambda t: 3 * t[:, 0], X, sample_weight=weights),
        explained(lambda t: t[:, 0], X[:500]),
        explained(lambda t: t[:, 0] ** 2, X[:300, :1]),
    ]
    for drift in map(old.compare, others):
        assert drift.level_old[0] == pytest.approx(mean, rel=1e-12)
        assert drift.deviation[0] == pytest.approx(deviation, rel=1e-12)
    assert old.compare(others[1]).level_new[0] == pytest.approx(X[:500, 0].mean(), rel=1e-12)


@pytest.mark.parametrize("source", ["pandas", "polars", "parquet"])
def test_rows_are_the_same_for_a_model_of_fewer_columns(source, tmp_path):
    """Otherwise a change would also have to exceed its standard errors, and a dropped feature is missed."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc")).assign(
        city=rng.choice(["Bern", "Genf"], 3000)
    )
    y = frame["a"] + 0.5 * frame["b"]
    models = [LinearRegression().fit(frame[names], y) for names in (["a", "b", "c"], ["a", "c"])]

    def explain(model, table):
        if source == "pandas":
            return explained(model, table)
        if source == "polars":
            return explained(model, pl.from_pandas(table))
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        table.to_parquet(path, row_group_size=700)
        return explained(model, str(path))

    old, new = (explain(model, frame) for model in models)
    drift = old.compare(new)
    assert drift.same_data
    assert drift.rows.typical[0] == pytest.approx(
        np.sqrt(np.mean((models[1].predict(frame[["a", "c"]]) - models[0].predict(frame[list("abc")])) ** 2)),
        rel=0.05,
    )
    assert {"b", "rows"} <= set(names(drift.above(0.1)))
    assert old.compare(explain(models[1], frame[["c", "a"]])).same_data
    other = frame.copy()
    other.loc[2999, "c"] += 1e-9
    assert not old.compare(explain(models[1], other)).same_data
    assert not old.compare(explain(models[0], frame[::-1])).same_data
    assert not old.compare(explain(models[0], frame[:-1])).same_data
    weighted = explained(models[0], frame, sample_weight=np.arange(3000.0)) if source == "pandas" else None
    assert weighted is None or not old.compare(weighted).same_data


def test_digest_of_a_column_that_is_read_does_not_depend_on_how_many_are_read_with_it(tmp_path):
    """Rows are read in smaller blocks the wider they are."""
    rng = np.random.default_rng(6)
    wide = pd.DataFrame(rng.normal(size=(9000, 200)), columns=[f"c{j}" for j in range(200)])
    wide.to_parquet(tmp_path / "wide.parquet")
    rows = []
    for columns in (["c0", "c5"], list(wide)):
        model = LinearRegression().fit(wide[columns][:700], wide["c0"][:700])
        explainer = paribus.Explainer(model, str(tmp_path / "wide.parquet"), progress=False)
        explainer.effects(["c0"], grid_resolution=2)
        rows.append(explainer._subject.data.rows)
    narrow, all_columns = (one.digests()[0] for one in rows)
    assert narrow == {name: all_columns[name] for name in narrow}
    assert rows[0].fingerprint() != rows[1].fingerprint()


def test_other_samples_of_the_same_rows_are_other_rows():
    """A tree model that is read uses all 1,500 rows, and a function 1,000, which is no change of the model."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(1500, 3)), columns=list("abc"))
    trees = HistGradientBoostingRegressor(max_iter=20).fit(X, X["a"] * X["b"] + X["c"])

    def explain(model, **options):
        return paribus.explain(model, X, interactions=False, progress=False, **options)

    def function(table):
        return trees.predict(table)

    read, called, other_seed = explain(trees), explain(function), explain(function, random_state=1)
    used = [part.provenance.used_rows for part in (read, called, other_seed)]
    assert used == [1500, 1000, 1000]
    for old, new in ((read, called), (called, other_seed), (called, other_seed.without_rows())):
        drift = old.compare(new)
        assert not drift.same_data
        assert drift.above(0.0) == []
        assert abs(drift.level_old[0] - drift.level_new[0]) > 0.001 * drift.deviation[0]
        assert drift.level_error[0] == old.predictions.standard_error[0] + new.predictions.standard_error[0]
        assert "rows may be in both" in drift.notes[0]
        assert "over other rows or other samples" in drift.notes[0]
        assert "same rows" not in repr(drift)
        assert f"{old.provenance.used_rows:,} to 1,000 rows" in repr(drift)
    assert read.compare(explain(function, subsample=None)).same_data
    assert called.compare(explain(function)).same_data


def test_change_that_no_curve_shows_is_one_of_rows(X):
    """Curves and strengths of interactions are the same, and every prediction is another."""
    rows = np.concatenate([X, X * [-1, 1, 1]])
    old, new = (explained(lambda t, sign=sign: sign * t[:, 0] * t[:, 1], rows) for sign in (1, -1))
    drift = old.compare(new)
    assert names(drift.above(0.1)) == ["rows"]
    assert drift.above(0.1, rows=2.2) == []
    size = 2 * np.abs(rows[:, 0] * rows[:, 1])
    assert drift.rows.typical[0] == pytest.approx(np.sqrt(np.mean(size**2)))
    assert drift.rows.share_above(0.5)[0] == pytest.approx(np.mean(size > 0.5))
    share = 100 * np.mean(size > 0.1 * drift.deviation[0])
    assert f"{share:.2g} % change by more than 0.1" in repr(drift)
    other = explained(lambda t: t[:, 0] * t[:, 1], X[:100])
    assert old.compare(other).rows is None
    assert "over other rows" in old.compare(other).notes[0]
    with pytest.raises(
        paribus.errors.OptionError, match=r"rows=0\.1 bounds changes of single rows, which are not"
    ):
        old.compare(other).above(0.05, rows=0.1)


def test_kept_rows_are_a_fixed_sample_with_its_weights_and_the_same_wherever_rows_are(tmp_path, client):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(7000, 2)), columns=["a", "b"])
    frame = frame.assign(y=rng.normal(size=7000), w=rng.integers(0, 3, 7000).astype(float))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=900)

    def model(t):
        return np.asarray(t["a"]) * np.asarray(t["b"])

    held = explained(model, frame[["a", "b"]], frame["y"], sample_weight=frame["w"], n_jobs=1, subsample=None)
    path = str(tmp_path / "rows.parquet")
    others = [
        explained(model, frame[["a", "b"]], frame["y"], sample_weight=frame["w"], n_jobs=2, subsample=None),
        explained(model, path, "y", sample_weight="w", subsample=None),
        explained(model, path, "y", sample_weight="w", executor=client, subsample=None),
    ]
    kept = held.predictions
    assert (len(kept.numbers), kept.rows) == (2000, (frame["w"] > 0).sum())
    assert np.array_equal(kept.predicted[0], model(frame)[kept.numbers])
    assert np.array_equal(kept.observed[0], frame["y"][kept.numbers])
    assert np.array_equal(kept.weights, frame["w"][kept.numbers])
    assert kept.weights.min() > 0
    numbers = ("mean", "standard_error", "deviation", "numbers", "weights", "predicted", "observed")
    for other in others:
        for name in numbers:
            assert np.array_equal(getattr(kept, name), getattr(other.predictions, name)), name
    held.report(tmp_path / "report.html")
    assert not differing(paribus.load(tmp_path / "report.html").predictions, kept)


def test_predictions_of_several_models_and_of_drawn_rows_are_kept(X):
    models = [lambda t: t[:, 0], lambda t: t[:, 1]]
    found = explained(models, X).predictions
    assert np.allclose(found.predicted[0], X[found.numbers, :2].mean(axis=1))
    assert found.deviation[0] == pytest.approx(X[:, :2].mean(axis=1).std())
    many = np.random.default_rng(1).normal(size=(3000, 2))
    explainer = paribus.Explainer(lambda t: t[:, 0], many, progress=False)
    drawn = explainer.explain(subsample=800)
    assert drawn.predictions.rows == len(drawn.predictions.numbers) == 800
    drift = explainer.explain().compare(drawn)
    assert not drift.same_data
    assert drift.rows is None


def test_explanations_without_rows_keep_averages_and_compare(tmp_path):
    _, y, one, other = scored(0.4, n=200)
    bare = one.without_rows()
    bare.report(tmp_path / "report.html")
    found = paribus.load(tmp_path / "report.html")
    assert found.predictions.predicted.shape == (1, 0)
    assert found.predictions.observed is None
    assert np.array_equal(found.effects["x0"].average, one.effects["x0"].average)
    assert [metric.value for metric in found.performance.metrics] == [
        metric.value for metric in one.performance.metrics
    ]
    for pair in ((bare, other), (other, found), (bare, found)):
        drift = pair[0].compare(pair[1])
        assert drift.same_data
        assert drift.rows is None
        assert not any(metric.paired for metric in drift.metrics)
        assert "one is without rows" in drift.notes[0]
        assert "other rows or other samples" not in drift.notes[0]
    assert len(one.predictions.numbers) == len(y)


def scored(noise, n=900):
    """Return rows, a target, and two explanations: of a good model and of one with more ``noise``."""
    table = np.random.default_rng(0).normal(size=(n, 3))
    y = table[:, 0] + 0.5 * np.random.default_rng(1).normal(size=n)
    return table, y, *(explained(lambda t, k=k: t[:, 0] + k * t[:, 2], table, y) for k in (0.1, noise))


def jackknife(statistic, y, f, g):
    """Return the standard error of a difference of two models' statistics, from all rows but one."""
    n, every = len(y), np.arange(len(y))
    left = [statistic(y[every != i], f[every != i]) - statistic(y[every != i], g[every != i]) for i in every]
    return np.sqrt((n - 1) / n * np.sum((np.array(left) - np.mean(left)) ** 2))


def test_standard_error_of_a_metric_on_the_same_rows_is_paired():
    _, y, old, new = scored(0.2, n=300)
    metrics = {one.name: one for one in old.compare(new).metrics}
    f, g = old.predictions.predicted[0], new.predictions.predicted[0]
    statistics = {
        "root mean squared error": lambda y, f: np.sqrt(np.mean((y - f) ** 2)),
        "mean absolute error": lambda y, f: np.mean(np.abs(y - f)),
        "mean residual": lambda y, f: np.mean(y - f),
        "R²": r2_score,
    }
    for name, statistic in statistics.items():
        assert metrics[name].paired
        assert metrics[name].standard_error == pytest.approx(jackknife(statistic, y, f, g), rel=0.06), name
        parts = [one.performance[name].standard_error for one in (old, new)]
        assert metrics[name].standard_error < 0.5 * sum(parts)
    assert "R², AUC and ratios are of differences row by row" in old.compare(new).notes[0]
    itself = {one.name: one for one in old.compare(old).metrics}
    assert itself["R²"].standard_error == pytest.approx(0, abs=1e-9)


def test_standard_error_of_scores_of_classes_on_the_same_rows_is_paired():
    table, y, *_ = scored(0.3, n=150)
    target = (y > 0).astype(int)
    models = [LogisticRegression().fit(table[:size], target[:size]) for size in (150, 30)]
    old, new = (explained(model, table, target) for model in models)
    f, g = (model.predict_proba(table)[:, 1] for model in models)
    metrics = {one.name: one for one in old.compare(new).metrics}
    statistics = {
        "AUC": roc_auc_score,
        "log loss": lambda y, f: -np.mean(np.log(np.where(y, f, 1 - f))),
        "accuracy": lambda y, f: np.mean((f > 0.5) == y),
    }
    for name, statistic in statistics.items():
        assert metrics[name].paired
        want = jackknife(statistic, target, f, g)
        assert metrics[name].standard_error == pytest.approx(want, rel=0.06), name
    # That of a ratio is of both, at least those of outcomes with these probabilities, and their correlation.
    ratio = metrics["observed / predicted"]
    correlation = np.corrcoef(*(target - target.mean() / part.mean() * part for part in (f, g)))[0, 1]
    one, two = (part.performance[ratio.name].standard_error for part in (old, new))
    assert ratio.paired
    assert ratio.standard_error == pytest.approx(np.sqrt(one**2 + two**2 - 2 * correlation * one * two))


def test_standard_error_of_a_ratio_on_the_same_rows_is_paired_and_of_a_deviance_is_not():
    table, y, *_ = scored(0.3, n=150)
    target = np.exp(y).round()
    models = [PoissonRegressor().fit(table[:size], target[:size]) for size in (150, 40)]
    old, new = (explained(model, table, target) for model in models)
    f, g = (model.predict(table) for model in models)
    metrics = {one.name: one for one in old.compare(new).metrics}
    ratio = metrics["observed / predicted"]
    assert ratio.paired
    want = jackknife(lambda y, f: np.mean(y) / np.mean(f), target, f, g)
    assert ratio.standard_error == pytest.approx(want, rel=0.06)
    assert not metrics["mean Poisson deviance"].paired


def test_metric_that_gets_worse_counts_beyond_its_bound_and_its_error():
    table, y, old, new = scored(0.5)
    drift = old.compare(new)
    assert drift.gated_metric() == "R²"
    (loss,) = drift.worse(0.01)
    assert loss.worse == pytest.approx(old.performance["R²"].value - new.performance["R²"].value)
    assert drift.worse(loss.worse * 1.01) == []
    assert new.compare(old).worse(0.0) == []
    assert [one.name for one in drift.worse(0.01, "mean absolute error")] == ["mean absolute error"]
    near = explained(lambda t: t[:, 0] + 0.1 * t[:, 1], table, y)
    metric = next(one for one in old.compare(near).metrics if one.name == "R²")
    assert abs(metric.worse) > 0
    assert old.compare(near).worse(0.0) == near.compare(old).worse(0.0) == []  # less than its error
    assert drift.worse(0.01, "R2") == [loss]
    with pytest.raises(
        paribus.errors.OptionError, match="metric='AUC' is not reported by both; known: 'root mean sq"
    ):
        drift.worse(0.01, "AUC")
    with pytest.raises(paribus.errors.OptionError, match="have no metric in common; explain both with y"):
        old.compare(explained(lambda t: t[:, 0], np.eye(3))).worse(0.1)


def test_interactions_are_ordered_by_the_stronger_of_both_explanations(X):
    old = explained(lambda t: t[:, 0] * t[:, 1] + 3 * t[:, 1] * t[:, 2], X)
    new = explained(lambda t: 9 * t[:, 0] * t[:, 2] + t[:, 0] * t[:, 1], X)
    found = old.compare(new).interactions
    peaks = np.maximum(found.old, found.new).max(axis=1)
    assert len(peaks) == 3
    assert (np.diff(peaks) < 0).all()
    assert set(found.pairs[0]) == {"x0", "x2"}


def test_changes_of_rows_of_many_outputs_are_shown_in_part(X):
    def several(scale):
        return explained(lambda t: np.column_stack([scale * (k + 1) * t[:, 0] for k in range(12)]), X[:60])

    printed = repr(several(1.0).compare(several(2.0)))
    assert sum(line.strip().startswith("predictions") for line in printed.splitlines()) == 10

"""Contrasts and slopes of curves: naive loops over rows, intervals, tables, refusals."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import paribus
from paribus._kernels import compiled, reference
from paribus._states import CurveProducts
from paribus._states.student import student_quantile
from paribus.errors import InputError, OptionError
from paribus.results import Contrast

QUIET = {"progress": False}
ROWS = 600
rng = np.random.default_rng(3)
X = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
GAPS = X.assign(a=X["a"].where(np.arange(ROWS) % 9 > 0))
Y = X["a"] * X["b"] + np.sin(X["c"]) + 0.1 * rng.normal(size=ROWS)
WEIGHTS = np.where(np.arange(ROWS) % 7 == 0, 0.0, rng.exponential(size=ROWS))
GRID = {"a": [-1.0, -0.2, 0.5, 2.0]}
CLASSES = (Y > 0).astype(int) + (Y > 1)
MODELS = {
    "trees": HistGradientBoostingRegressor(max_iter=20).fit(GAPS, Y),
    "classes": RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, CLASSES),
    "additive": LogisticRegression().fit(X, CLASSES > 0),
    "parallel": LinearRegression().fit(X, Y),
    "combination": VotingRegressor(
        [("trees", HistGradientBoostingRegressor(max_iter=5)), ("line", LinearRegression())]
    ).fit(X, Y),
    "brute": lambda t: np.sin(np.asarray(t["a"])) * np.asarray(t["b"]) + np.asarray(t["c"]),
}
EVALUATORS = {
    "trees": "tree_exact",
    "classes": "tree_exact",
    "additive": "additive_exact",
    "parallel": "additive_exact",
    "combination": "combined_exact",
    "brute": "brute",
}


def predicted(model, table, value):
    """Return the prediction ``(n, o)`` of each row with ``a`` replaced."""
    own = getattr(model, "predict_proba", getattr(model, "predict", model))(table.assign(a=value))
    own = np.asarray(own).reshape(len(table), -1)
    return own[:, 1:] if own.shape[1] == 2 else own


def naive(differences, weights):
    """Return the weighted mean ``(o,)`` of differences ``(n, o)``, and its linearized standard error."""
    w = np.ones(len(differences)) if weights is None else weights
    n, mean = (w > 0).sum(), (w[:, None] * differences).sum(axis=0) / w.sum()
    squares = (w[:, None] ** 2 * (differences - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(n / (n - 1) * squares) / w.sum()


def share_error(statistic, support, weights):
    """Return the error ``(o,)`` of a statistic of the data at the points that is due to their weights.

    The influence of a row is the derivative by the weight of its point, here a complex step.
    """
    total, w = support.sum(), np.ones(ROWS) if weights is None else weights
    influences = [statistic(support + 1e-30j * total * point).imag / 1e-30 for point in np.eye(len(support))]
    squares = support / total @ np.square(influences)
    return np.sqrt(squares * (w**2).sum()) / w.sum()


def close(found, estimate, error):
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize("name", MODELS)
def test_contrast_and_slope_are_those_of_the_rows(name, kind, weights):
    model = MODELS[name]
    effect = paribus.partial_dependence(
        model, X, "a", custom_values=GRID, sample_weight=weights, kind=kind, **QUIET
    )
    assert effect.provenance.evaluator == EVALUATORS[name]
    assert (effect.covariance is None) == (kind == "both")
    at = {value: predicted(model, X, value) for value in GRID["a"]}
    close(effect.contrast(-0.2, 2), *naive(at[2.0] - at[-0.2], weights))
    close(effect.contrast(0.5, 0.5), 0.0, 0.0)

    def slopes(s):
        p = np.array([s[0] + s[1] / 2, s[1] / 2 + s[2] / 2, s[2] / 2 + s[3]]) / s.sum()
        return sum(
            share * (at[high] - at[low]) / (high - low)
            for share, low, high in zip(p, GRID["a"][:-1], GRID["a"][1:], strict=True)
        )

    mean, error = naive(slopes(effect.support), weights)
    of_shares = share_error(lambda s: naive(slopes(s), weights)[0], effect.support, weights)
    close(effect.slope(), mean, np.hypot(error, of_shares))


def test_error_is_paired_and_not_that_of_independent_rows():
    effect = paribus.partial_dependence(MODELS["trees"], X, "a", custom_values=GRID, **QUIET)
    apart = np.hypot(effect.standard_error[:, 0], effect.standard_error[:, -1])
    assert not np.allclose(effect.contrast(-1, 2).standard_error, apart, rtol=0.05)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, np.datetime64("NaT")])
def test_missing_value_is_an_end(missing):
    model = MODELS["trees"]
    effect = paribus.partial_dependence(model, GAPS, "a", custom_values=GRID, sample_weight=WEIGHTS, **QUIET)
    found = effect.contrast(missing, 0.5)
    assert found.label == "0.5 - missing"
    close(found, *naive(predicted(model, GAPS, 0.5) - predicted(model, GAPS, np.nan), WEIGHTS))
    close(effect.contrast(0.5, missing), -found.estimate, found.standard_error)
    whole = paribus.partial_dependence(model, X, "a", custom_values=GRID, **QUIET)
    with pytest.raises(OptionError, match="is a missing value, and a has none"):
        whole.contrast(missing, 0.5)


def test_categories_and_booleans_are_compared_by_name():
    table = pd.DataFrame(
        {"k": np.resize(["north", "south", "west"], 90), "t": np.arange(90) % 4 == 0, "v": X["a"][:90]}
    )

    def predict(t):
        return np.where(t["k"] == "north", t["v"], t["v"] ** 2) * (1 + np.asarray(t["t"], dtype=float))

    effects = paribus.effects(predict, table, ["k", "t"], **QUIET)
    rows = predict(table.assign(k="south")) - predict(table.assign(k="north"))
    close(effects["k"].contrast("north", "south"), *naive(np.asarray(rows)[:, None], None))
    rows = predict(table.assign(t=True)) - predict(table.assign(t=False))
    close(effects["t"].contrast(False, True), *naive(np.asarray(rows)[:, None], None))
    frame = effects.contrasts(backend="pandas")
    assert sorted(frame["contrast"]) == ["True - False", "south - north", "west - north"]
    with pytest.raises(OptionError, match=r"start='nort' is not a grid value of k.*north"):
        effects["k"].contrast("nort", "south")
    with pytest.raises(OptionError, match=r"slope\(\) needs distances between values; k is string"):
        effects["k"].slope()


def test_dates_have_slopes_per_day():
    days = pd.date_range("2026-01-01", periods=40)
    table = pd.DataFrame({"d": days, "v": np.arange(40.0)})

    def predict(t):
        return 3 * (t["d"] - days[0]).dt.days + t["v"]

    effect = paribus.partial_dependence(predict, table, "d", **QUIET)
    assert effect.slope().label == "per day"
    close(effect.slope(), 3.0, 0.0)
    close(effect.contrast(datetime.date(2026, 1, 1), np.datetime64("2026-01-11")), 30.0, 0.0)


def test_value_between_grid_values_is_refused_with_the_nearest():
    effect = paribus.partial_dependence(MODELS["brute"], X, "a", custom_values=GRID, **QUIET)
    with pytest.raises(
        OptionError, match=r"stop=1.7 is not a grid value of a; the nearest are 0.5 and 2.0.*custom_values"
    ):
        effect.contrast(-1, 1.7)
    close(
        effect.contrast(-1, 2 + 1e-12), effect.contrast(-1, 2).estimate, effect.contrast(-1, 2).standard_error
    )
    with pytest.raises(OptionError, match="start='x' is not a grid value of a"):
        effect.contrast("x", 2)


def test_effects_of_two_features_are_refused():
    effects = paribus.effects(MODELS["brute"], X, [("a", "b"), "c"], grid_resolution=4, **QUIET)
    for call in (lambda one: one.contrast(0, 1), lambda one: one.slope()):
        with pytest.raises(OptionError, match="is defined for one feature; this is an effect of a x b"):
            call(effects["a", "b"])
    assert effects.slopes(backend="pandas")["feature"].tolist() == ["c"]
    assert effects["a", "b"].covariance is None


def test_more_rows_than_are_sampled_have_nearly_the_error_of_all():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(9_000, 3)), columns=list("abc"))
    for name in ("trees", "brute"):
        effect = paribus.partial_dependence(MODELS[name], table, "a", custom_values=GRID, **QUIET)
        mean, error = naive(predicted(MODELS[name], table, 2.0) - predicted(MODELS[name], table, -1.0), None)
        found = effect.contrast(-1, 2)
        np.testing.assert_allclose(found.estimate, mean, rtol=1e-9)
        np.testing.assert_allclose(found.standard_error, error, rtol=0.05)
    few = paribus.partial_dependence(MODELS["brute"], table, "a", custom_values=GRID, subsample=200, **QUIET)
    more = 9_000 / few.provenance.sampled_rows
    assert more > 40
    np.testing.assert_allclose(few.contrast(-1, 2).standard_error, error * np.sqrt(more), rtol=0.2)


def test_error_of_several_models_is_the_root_mean_square_of_theirs():
    models = [MODELS["brute"], lambda t: 2 * MODELS["brute"](t)]
    both = paribus.partial_dependence(models, X, "a", custom_values=GRID, **QUIET).contrast(-1, 2)
    one = paribus.partial_dependence(models[0], X, "a", custom_values=GRID, **QUIET).contrast(-1, 2)
    close(both, 1.5 * one.estimate, np.sqrt(2.5) * one.standard_error)


def test_recursion_and_very_many_points_have_no_error():
    effect = paribus.partial_dependence(MODELS["trees"], X, "a", method="recursion", **QUIET)
    start, stop = effect.grid_values[0][[3, 40]]
    found = effect.contrast(start, stop)
    assert np.isfinite(found.estimate).all()
    assert np.isnan(found.standard_error).all()
    assert "±" not in repr(found)
    many = {"a": np.linspace(-1, 1, 300)}
    effect = paribus.partial_dependence(MODELS["brute"], X, "a", custom_values=many, **QUIET)
    assert np.isnan(effect.slope().standard_error).all()


def test_single_row_has_no_error_and_infinite_points_leave_the_others():
    one = paribus.partial_dependence(MODELS["brute"], X[:1], "a", custom_values=GRID, **QUIET)
    assert np.isnan(one.contrast(-1, 2).standard_error).all()

    def predict(t):
        return np.where(t["a"] > 1, np.inf, t["a"] * t["b"])

    effect = paribus.partial_dependence(predict, X, "a", custom_values=GRID, **QUIET)
    close(effect.contrast(-1, 0.5), *naive(1.5 * X[["b"]].to_numpy(), None))
    assert not np.isfinite(effect.contrast(-1, 2).standard_error).any()


def test_centered_effects_have_the_same_contrasts_and_derivatives_none():
    effect = paribus.partial_dependence(MODELS["trees"], X, "a", custom_values=GRID, **QUIET)
    want = effect.contrast(-1, 2)
    close(effect.centered(at=0.5).contrast(-1, 2), want.estimate, want.standard_error)
    assert effect.derivative().covariance is None


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_ale_contrast_adds_up_bins(weights):
    effect = paribus.accumulated_local_effects(
        MODELS["brute"], X, ["a"], grid_resolution=8, sample_weight=weights, **QUIET
    )["a"]
    edges, w = effect.grid_values[0], np.ones(ROWS) if weights is None else weights
    own = np.clip(np.searchsorted(edges, X["a"], side="left"), 1, len(edges) - 1) - 1
    model = MODELS["brute"]
    bins = []
    for k in range(len(edges) - 1):
        rows = X[(own == k) & (w > 0)]
        change = predicted(model, rows, edges[k + 1]) - predicted(model, rows, edges[k])
        bins.append([value[0] for value in naive(change, w[rows.index])])
    mean, error = np.array(bins).T
    close(effect.contrast(edges[2], edges[6]), mean[2:6].sum(), np.sqrt((error[2:6] ** 2).sum()))
    middle = (edges[3] + edges[4]) / 2  # curves are linear between edges
    close(effect.contrast(edges[3], middle), mean[3] / 2, error[3] / 2)
    support = np.array([w[own == k].sum() for k in range(len(mean))])
    p = support / w.sum() / np.diff(edges)
    of_shares = share_error(lambda s: (s / s.sum() / np.diff(edges)) @ mean, support, weights)
    close(effect.slope(), (p * mean).sum(), np.sqrt(((p * error) ** 2).sum() + of_shares**2))
    with pytest.raises(OptionError, match="stop=99 is not within the values of a"):
        effect.contrast(0, 99)


def test_ale_contrasts_of_missing_and_empty_bins():
    table = GAPS.assign(a=GAPS["a"].round(0))
    effect = paribus.accumulated_local_effects(MODELS["trees"], table, ["a"], **QUIET)["a"]
    anchor = effect.missing.anchor
    place = list(effect.grid_values[0]).index(anchor)
    found = effect.contrast(anchor, None)
    change = np.sqrt(effect.missing.standard_error**2 - effect.standard_error[:, place] ** 2)
    np.testing.assert_allclose(found.standard_error, change, rtol=1e-8)
    np.testing.assert_allclose(found.estimate, effect.missing.ale - effect.ale[:, place])
    wide = {"a": [-3.0, 0.0, 2.0, 50.0, 100.0]}
    empty = paribus.accumulated_local_effects(MODELS["brute"], X, ["a"], custom_values=wide, **QUIET)["a"]
    np.testing.assert_allclose(np.einsum("ogg->og", empty.covariance) ** 0.5, empty.standard_error, rtol=1e-9)


def test_tables_of_many_features():
    effects = paribus.effects(MODELS["trees"], X, custom_values={"a": [-1.0, 0.0, 1.0]}, **QUIET)
    frame = effects.contrasts({"a": (-1, 1)}, level=0.9, backend="pandas")
    found = effects["a"].contrast(-1, 1)
    assert list(frame) == ["feature", "contrast", "output", "estimate", "standard_error", "low", "high"]
    row = frame.iloc[0]
    assert (row["feature"], row["contrast"]) == ("a", "1 - -1")
    np.testing.assert_allclose([row["low"], row["high"]], found.interval(0.9)[:, 0])
    width = student_quantile(0.9, len(X) - 1) * row["standard_error"]
    np.testing.assert_allclose(row["high"] - row["estimate"], width, rtol=1e-6)
    every = effects.contrasts(backend="pandas")
    assert set(every["feature"]) == {"a", "b", "c"}
    slopes = effects.slopes(backend="pandas").set_index("feature")
    assert slopes.loc["b", "estimate"] == effects["b"].slope().estimate[0]
    assert len(paribus.accumulated_local_effects(MODELS["trees"], X, **QUIET).slopes()) == 3
    with pytest.raises(KeyError, match="no effect of 'z'"):
        effects.contrasts({"z": (0, 1)})
    with pytest.raises(InputError, match="needs partial dependence or accumulated local effects"):
        paribus.marginal(MODELS["trees"], X, ["a"], **QUIET).slopes()
    quartiles = every[every["feature"] == "b"]
    low, high = map(float, quartiles["contrast"].iloc[0].split(" - ")[::-1])
    np.testing.assert_allclose([low, high], np.quantile(X["b"], [0.25, 0.75]), atol=0.1)


def test_contrast_is_saved_printed_and_frozen(tmp_path):
    effect = paribus.partial_dependence(MODELS["classes"], X, "a", custom_values=GRID, **QUIET)
    found = effect.contrast(-1, 2)
    assert isinstance(found, Contrast)
    assert found.estimate.shape == found.standard_error.shape == (3,)
    found.save(tmp_path / "contrast.json")
    assert paribus.load(tmp_path / "contrast.json") == found
    effect.save(tmp_path / "effect.json")
    assert (
        paribus.load(tmp_path / "effect.json").contrast(-1, 2).standard_error.tobytes()
        == found.standard_error.tobytes()
    )
    assert not found.estimate.flags.writeable
    assert repr(found).splitlines()[0] == "Contrast of a: 2 - -1"
    assert len(found.to_frame(backend="pandas")) == 3
    for level in (0, 1, 95, "x"):
        with pytest.raises(OptionError, match=r"must be a probability between 0 and 1"):
            found.interval(level)
    with pytest.raises(InputError, match="covariance of shape"):
        paribus.results.PartialDependence(**{**vars(effect), "covariance": np.zeros((3, 2, 2))})


@pytest.mark.parametrize(("points", "rows"), [(1, 1), (2, 7), (5, 64), (9, 513)])
def test_compiled_products_are_those_of_the_reference(points, rows):
    curves = np.random.default_rng(0).normal(size=(2, points, rows))
    want = np.einsum("ogi,ohi->ogh", curves, curves)
    np.testing.assert_allclose(compiled.multiply(curves), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(reference.multiply(curves), want, rtol=1e-12, atol=1e-12)


def test_products_of_parts_merge_to_those_of_all():
    curves = 100 + np.random.default_rng(0).normal(size=(2, 4, 50))
    squares = np.random.default_rng(1).exponential(size=50)
    whole = CurveProducts.of(curves, squares, reference.multiply)
    parts = [
        CurveProducts.of(curves[..., s], squares[s], reference.multiply)
        for s in (slice(0, 13), slice(13, 50))
    ]
    merged = parts[1].merge(parts[0])
    np.testing.assert_allclose(merged.products, whole.products, rtol=1e-12)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12)


@pytest.mark.nightly
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_cover_the_difference_of_the_population(weighted):
    draws = np.random.default_rng(11)
    covered = 0
    for _ in range(400):
        table = pd.DataFrame(draws.normal(size=(200, 3)), columns=list("abc"))
        weights = draws.uniform(0.2, 3, 200) if weighted else None

        def predict(t):
            return np.asarray(t["a"] * (1 + t["b"]) + np.abs(t["c"]) * t["a"] ** 2)

        values = {"a": [0.0, 1.0, 2.0]}
        effect = paribus.partial_dependence(
            predict, table, "a", custom_values=values, sample_weight=weights, **QUIET
        )
        low, high = effect.contrast(0, 2).interval()
        covered += low[0] < 2 + 4 * np.sqrt(2 / np.pi) < high[0]
    assert 0.92 <= covered / 400 <= 0.98, covered

"""Metrics on the rows of an explanation: values as scikit-learn has them, errors, one predict, any cut."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC

import paribus
from paribus import Explainer
from paribus._api.options import MarginalOptions
from paribus._api.statistics.performance_statistic import PerformanceStatistic
from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._evaluators.cell_means import PredictionEstimate
from paribus._evaluators.performance import measure
from paribus._evaluators.performance.measure import PerformanceMeasure, RowLosses, wilson_interval
from paribus._executors import LocalExecutor
from paribus._models import adapt
from paribus._models.scoring import family_of, outcome_of
from paribus._states import Keyed, known_states
from paribus._states.codec import packed, unpacked
from paribus.notes import NoteCode

CLOSE = {"rtol": 1e-12, "atol": 1e-13}


def performance(model, X, y, sample_weight=None, percentiles=(0.05, 0.95), **options):
    """Return the performance alone: averages need no other statistics beside them."""
    explainer = Explainer(model, X, y, sample_weight=sample_weight, **options)
    averages = MarginalOptions.of(explainer, percentiles=percentiles)
    statistic = PerformanceStatistic.of(averages.statistic(explainer._subject))
    return explainer._run([statistic], averages.sample)[0].performance


def by_name(found, output=None):
    return {one.name: one for one in found.metrics if output is None or one.output == output}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).round(1)  # so that predictions are tied
    weights = rng.integers(0, 4, 400).astype(float)
    return X, np.exp(0.5 * X[:, 0] + 0.3 * rng.normal(size=400)), weights


def test_metrics_of_numbers_are_those_of_scikit_learn(rows):
    X, y, weights = rows
    model = LinearRegression().fit(X[:, :1], y)
    f = model.predict(X[:, :1])
    for w in (None, weights):
        found = by_name(performance(model, X[:, :1], y, w))
        want = {
            "root mean squared error": metrics.root_mean_squared_error(y, f, sample_weight=w),
            "mean absolute error": metrics.mean_absolute_error(y, f, sample_weight=w),
            "R²": metrics.r2_score(y, f, sample_weight=w),
            "mean residual": np.average(y - f, weights=w),
            "observed / predicted": np.average(y, weights=w) / np.average(f, weights=w),
        }
        assert set(found) == set(want)
        for name, value in want.items():
            np.testing.assert_allclose(found[name].value, value, **CLOSE, err_msg=name)


@pytest.mark.parametrize("kind", [PoissonRegressor, GammaRegressor, "tweedie"])
def test_deviance_of_a_model_that_names_its_distribution_is_that_of_scikit_learn(rows, kind):
    X, y, weights = rows
    power = {PoissonRegressor: 1, GammaRegressor: 2, "tweedie": 1.3}[kind]
    y = y.round() if power < 2 else y
    if kind == "tweedie":
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.XGBRegressor(
            objective="reg:tweedie", tweedie_variance_power=power, n_estimators=3, n_jobs=1
        ).fit(X, y)
    else:
        model = kind().fit(X, y)
    f = model.predict(X).astype(float)
    found = performance(model, X, y, weights).metrics
    (deviance,) = (one for one in found if one.name.startswith("mean ") and "deviance" in one.name)
    options = {"sample_weight": weights, "power": power}
    np.testing.assert_allclose(deviance.value, metrics.mean_tweedie_deviance(y, f, **options), **CLOSE)
    explained = 1 - deviance.value / deviance.constant
    np.testing.assert_allclose(explained, metrics.d2_tweedie_score(y, f, **options), rtol=1e-10)
    assert deviance.standard_error > 0


def test_deviance_is_left_out_where_rows_are_outside_its_range(rows):
    X, y, _ = rows
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, y)
    found = performance(model, X, y - y.max() / 2)
    assert not [one for one in found.metrics if "Poisson" in one.name]
    texts = [note for note in found.notes if note.code is NoteCode.METRIC_LEFT_OUT]
    assert any("left out mean Poisson deviance: " in note for note in texts)
    assert any(note == "left out observed / predicted: y has negative values" for note in texts)


def test_metrics_of_two_classes_are_those_of_scikit_learn(rows):
    X, y, weights = rows
    labels = np.where(y > 1, "yes", "no")
    model = LogisticRegression().fit(X[:, :1], labels)
    p = model.predict_proba(X[:, :1])[:, 1]
    for w in (None, weights):
        found = by_name(performance(model, X[:, :1], labels, w))
        want = {
            "log loss": metrics.log_loss(labels, p, sample_weight=w),
            "accuracy": metrics.accuracy_score(labels, model.predict(X[:, :1]), sample_weight=w),
            "AUC": metrics.roc_auc_score(labels, p, sample_weight=w),
            "observed / predicted": np.average(labels == "yes", weights=w) / np.average(p, weights=w),
        }
        assert set(found) == set(want)
        for name, value in want.items():
            np.testing.assert_allclose(found[name].value, value, **CLOSE, err_msg=name)
        assert found["AUC"].output == "yes"
        assert found["log loss"].output is None


def test_metrics_of_several_classes_are_those_of_scikit_learn(rows):
    X, y, weights = rows
    labels = np.digitize(y, [0.8, 1.3])
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(X, labels)
    p = model.predict_proba(X)
    found = performance(model, X, labels, weights)
    together = by_name(found)
    np.testing.assert_allclose(
        together["log loss"].value, metrics.log_loss(labels, p, sample_weight=weights), **CLOSE
    )
    for k in range(3):
        auc = metrics.roc_auc_score(labels == k, p[:, k], sample_weight=weights)
        np.testing.assert_allclose(by_name(found, str(k))["AUC"].value, auc, **CLOSE)
    assert [one.output for one in found.calibration] == ["0", "1", "2"]
    assert list(found) == ["log loss", "accuracy", "AUC", "observed / predicted"]
    assert len(found) == 4
    assert found["AUC"] == by_name(found, "0")["AUC"]


class Events:
    """Predicts both columns themselves, as the probabilities of two events."""

    classes_ = (np.array([0, 1]), np.array([0, 1]))

    def predict_proba(self, table):
        return table


def test_metrics_of_several_events_are_those_of_each(rows):
    X, y, _ = rows
    events = np.column_stack([y > 1, X[:, 1] > 0.5]).astype(float)
    probabilities = 1 / (1 + np.exp(-X[:, :2]))
    found = performance(Events(), probabilities, events)
    for o in range(2):
        p, own = probabilities[:, o], by_name(found, found.output_names[o])
        np.testing.assert_allclose(own["log loss"].value, metrics.log_loss(events[:, o], p), **CLOSE)
        np.testing.assert_allclose(own["accuracy"].value, np.mean((p > 0.5) == events[:, o]), **CLOSE)
        frequent = max(events[:, o].mean(), 1 - events[:, o].mean())
        np.testing.assert_allclose(own["accuracy"].constant, frequent, **CLOSE)


def test_constant_is_the_metric_of_a_model_that_predicts_the_average(rows):
    X, y, weights = rows
    targets = (
        (DummyRegressor(), y),
        (DummyRegressor(), y - 2),
        (DummyClassifier(strategy="prior"), y > 0.8),
        (DummyClassifier(strategy="prior"), np.digitize(y, [0.8, 1.3])),
    )
    for model, target in targets:
        for w in (None, weights):
            found = performance(model.fit(X, target, w), X, target, w)
            assert len(found) >= 4
            for one in found.metrics:
                np.testing.assert_allclose(one.value, one.constant, rtol=1e-9, atol=1e-12, err_msg=one.name)
    # Of numbers between 0 and 1, the average is not the share of rows above a half.
    shares = np.column_stack([np.linspace(0, 0.7, 400), np.linspace(1, 0.2, 400)])
    found = performance(Events(), np.tile(shares.mean(axis=0), (400, 1)), shares)
    for o, likely in enumerate((np.mean(shares[:, 0] <= 0.5), np.mean(shares[:, 1] > 0.5))):
        accuracy = by_name(found, found.output_names[o])["accuracy"]
        np.testing.assert_allclose((accuracy.value, accuracy.constant), likely, **CLOSE)


def test_calibration_groups_hold_all_rows_and_part_no_prediction(rows):
    X, y, weights = rows
    model = LinearRegression().fit(X[:, :1], y)
    (table,) = performance(model, X[:, :1], y, weights).calibration
    assert 8 <= len(table.predicted) <= 10
    np.testing.assert_allclose(table.weight.sum(), weights.sum())
    np.testing.assert_allclose((table.weight * table.observed).sum(), (weights * y).sum())
    assert all(one < two for one, two in pairwise(table.predicted))
    f = model.predict(X[:, :1])
    first = f <= table.predicted[0] + (table.predicted[1] - table.predicted[0]) / 2
    inside = f[first & (weights > 0)]
    assert table.predicted[0] >= inside.min()


def test_integer_weights_are_repeated_rows(rows):
    X, y, weights = rows
    model, places = LinearRegression().fit(X, y), np.repeat(np.arange(400), weights.astype(int))
    one, two = performance(model, X, y, weights), performance(model, X[places], y[places])
    for left, right in zip(one.metrics, two.metrics, strict=True):
        np.testing.assert_allclose(left.value, right.value, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(left.constant, right.constant, rtol=1e-10, atol=1e-12)
    scaled = performance(model, X, y, 1e9 * weights)
    for left, right in zip(one.metrics, scaled.metrics, strict=True):
        np.testing.assert_allclose(left.standard_error, right.standard_error, rtol=1e-9)


def test_each_row_is_predicted_once_for_averages_and_performance(rows):
    X, y, _ = rows
    predicted = []

    def model(table):
        predicted.append(len(table))
        return table[:, 0]

    explainer = Explainer(model, X, y)
    explainer.marginal()
    alone = sum(predicted)
    predicted.clear()
    performance(model, X, y)
    assert sum(predicted) == alone


def folded(model, X, y, weights, size, threads=1, family=None):
    """Return the estimate of rows cut into blocks of a size, from a state that went through bytes."""
    rows = rows_of(table_of(X), weights)
    adapted = adapt(model, rows.table)
    outcome = outcome_of(adapted, model, 1)
    own = PerformanceMeasure(adapted, outcome, RowLosses(1, outcome.bounded, outcome.bounded, family))
    blocks = type(rows)(rows.table, rows.weights, rows.weight_scale, np.asarray(y)).blocks(size)
    state = LocalExecutor(threads, False).fold(own, blocks, Keyed({}))
    independent = PredictionEstimate(len(X), float(len(X)), *np.empty((3, 1)), *[None] * 4)
    return own.finish(unpacked(packed(state), known_states()), independent)


def test_any_cut_gives_the_numbers_and_any_number_of_threads_the_bits(rows):
    X, y, weights = rows
    for model, target in (
        (LinearRegression().fit(X, y), y),
        (LogisticRegression().fit(X, y > 1), y > 1),
    ):
        whole, parts, many = (folded(model, X, target, weights, *cut) for cut in ((400,), (37,), (37, 3)))
        assert repr(parts.metrics) == repr(many.metrics)  # NaN is no other NaN
        for one, two in zip(whole.metrics, parts.metrics, strict=True):
            assert one[:2] == two[:2]
            np.testing.assert_allclose(one[2:5], two[2:5], rtol=1e-9, atol=1e-11)


class Given:
    """Predicts the column itself as a probability."""

    classes_ = np.array([0, 1])

    def predict_proba(self, table):
        return np.column_stack([1 - table[:, 0], table[:, 0]])


@pytest.mark.cluster
def test_a_cluster_gives_the_bits_of_one_process(rows, client):
    X, y, weights = rows
    model = LinearRegression().fit(X, y)
    here, there = (performance(model, X, y, weights, executor=one) for one in (None, client))
    assert repr(here.metrics) == repr(there.metrics)
    np.testing.assert_array_equal(here.calibration[0].observed, there.calibration[0].observed)


def test_native_boosters_are_measured_on_the_scale_of_their_objective(rows):
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    X, y, _ = rows
    cases = (y > 1).astype(int)
    data = xgboost.DMatrix(X, cases)
    found = performance(xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 2), X, cases)
    p = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 2).predict(data).astype(float)
    np.testing.assert_allclose(by_name(found)["log loss"].value, metrics.log_loss(cases, p), rtol=1e-12)
    margins = xgboost.train({"objective": "binary:logitraw", "nthread": 1}, data, 2)
    (note,) = performance(margins, X, cases).notes
    assert note.startswith("left out all metrics: predict of the objective 'binary:logitraw'")
    counts = lightgbm.train(
        {"objective": "poisson", "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y.round()), 2
    )
    assert "mean Poisson deviance" in by_name(performance(counts, X, y.round()))


@pytest.mark.parametrize("objective", ["multi:softprob", "multiclass", "multiclassova"])
def test_native_boosters_of_several_classes_are_measured_as_classifiers(rows, objective):
    X, y, _ = rows
    classes = np.digitize(y, [0.7, 1.3])
    settings = {"objective": objective, "num_class": 3}
    if objective.startswith("multi:"):
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.train(settings | {"nthread": 1}, xgboost.DMatrix(X, classes), 3)
        predicted = model.predict(xgboost.DMatrix(X))
    else:
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.train(settings | {"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, classes), 3)
        predicted = model.predict(X)
    found = by_name(performance(model, X, classes))
    loss = -np.log(predicted[np.arange(len(X)), classes].astype(float)).mean()
    np.testing.assert_allclose(found["log loss"].value, loss, rtol=1e-6)
    accuracy = np.mean(predicted.argmax(axis=1) == classes)
    assert found["accuracy"].value == pytest.approx(accuracy, rel=1e-12)
    assert found.keys().isdisjoint({"RMSE", "R²"})


def test_ranks_beyond_the_capacity_are_shared_by_the_same_rows(monkeypatch):
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    cases = (rng.random(20_000) < p).astype(int)
    exact = performance(Given(), p[:, None], cases)
    np.testing.assert_allclose(by_name(exact)["AUC"].value, metrics.roc_auc_score(cases, p), **CLOSE)
    assert not exact.notes
    monkeypatch.setattr(measure, "CAPACITY", 64)
    monkeypatch.setattr(measure, "LEAST_CAPACITY", 64)
    rough = performance(Given(), p[:, None], cases)
    assert 0 < abs(rough["AUC"].value - exact["AUC"].value) < 0.005
    backwards = performance(Given(), p[::-1, None], cases[::-1])
    for one, two in zip(rough.metrics, backwards.metrics, strict=True):  # the same rows share ranks
        np.testing.assert_allclose(one.value, two.value, rtol=1e-10)


def test_streamed_rows_give_the_numbers_of_rows_in_memory(rows, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y, weights = rows
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y, "w": weights})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=50)
    frame = table.select(["a", "b"])

    def model(t):
        return np.asarray(t["a"]) + 1.5

    held = paribus.explain(model, frame, y, sample_weight=weights)
    read = paribus.explain(model, tmp_path / "rows.parquet", "y", sample_weight="w")
    for one, two in zip(held.performance.metrics, read.performance.metrics, strict=True):
        np.testing.assert_array_equal(
            (one.value, one.standard_error, one.constant), (two.value, two.standard_error, two.constant)
        )
    assert [vars(one) | {"dtype": ""} for one in held.columns] == [
        vars(one) | {"dtype": ""} for one in read.columns
    ]


def test_what_has_no_metrics_says_so(rows):
    X, y, _ = rows
    assert paribus.explain(lambda t: t[:, 0], X).performance is None
    models = [lambda t: t[:, 0], lambda t: t[:, 1]]
    several = performance(models, X, y)
    assert not several.metrics
    assert (list(several), len(several)) == ([], 0)
    assert several.notes[0].code is NoteCode.METRIC_LEFT_OUT
    assert several.notes[0].startswith("left out all metrics: estimator is a list")
    classifier = LogisticRegression().fit(X, y > 1)
    labels = performance(classifier, X, y > 1, response_method="predict")
    assert labels.notes[0].startswith("left out all metrics: predict returns labels of classes")
    infinite = performance(lambda t: np.where(t[:, 0] > 1, np.inf, t[:, 0]), X, y)
    assert not np.isfinite(by_name(infinite)["root mean squared error"].value)
    assert "left out observed / predicted: some predictions are not finite" in infinite.notes
    single = performance(classifier, X, np.zeros(400, bool))
    assert single.notes == ("left out AUC: all rows are of the class, or none is",)
    classifier.coef_ = np.full((1, 3), np.nan)
    undefined = performance(classifier, X, y > 1)
    assert undefined.notes == ("left out AUC, observed / predicted: some predictions are not finite",)
    constant = performance(lambda t: np.ones(len(t)), X, np.ones(400))
    assert any("left out R²: y does not vary" in note for note in constant.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        margins = LinearSVC().fit(X, y > 1)
    with pytest.raises(paribus.errors.OptionError, match="y cannot be compared with a"):
        performance(margins, X, y > 1)
    with pytest.raises(paribus.errors.InputError, match=r"y\[0\] is nan, and 0 more are missing"):
        performance(lambda t: t[:, 0], X, np.append(np.nan, y[1:]))


@pytest.mark.nightly
def test_standard_errors_are_those_of_a_bootstrap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 2))
    weights = rng.integers(1, 4, 1_500).astype(float)
    y = np.exp(0.7 * X[:, 0] + 0.5 * rng.normal(size=1_500))
    cases = (y > 1.5).astype(int)
    for model, target in (
        (PoissonRegressor().fit(X, y), y),
        (LogisticRegression().fit(X, cases), cases),
    ):
        family = family_of(model)
        found = folded(model, X, target, weights, 1_500, family=family)
        drawn = []
        for _ in range(200):
            places = rng.integers(0, 1_500, 1_500)
            again = folded(model, X[places], target[places], weights[places], 1_500, family=family)
            drawn.append([one.value for one in again.metrics])
        spread = np.std(drawn, axis=0, ddof=1)
        for one, own in zip(found.metrics, spread, strict=True):
            assert 0.8 < one.error / own < 1.25, (one, own)


def leaks(X, y, model=lambda t: np.zeros(len(t)), **options):
    """Return the share of each feature that is found to predict the target alone."""
    notes = performance(model, X, y, **options).notes
    return {note.feature: note.value for note in notes if note.code is NoteCode.TARGET_AMONG_FEATURES}


@pytest.fixture(scope="module")
def ordinary():
    rng = np.random.default_rng(0)
    strong, n = rng.normal(size=2_000), 2_000
    X = pd.DataFrame(
        {
            "strong": strong,
            "skewed": np.exp(1.5 * strong + 0.3 * rng.normal(size=n)),
            "row": np.arange(n),
            "id": [f"customer {place}" for place in rng.permutation(n)],
            "city": rng.choice(["Bern", "Genf", "Zug"], n),
            "noise": rng.normal(size=n),
        }
    )
    return X, strong, rng


@pytest.mark.parametrize("percentiles", [(0.05, 0.95), (0, 1)])
def test_ordinary_features_are_not_taken_for_the_target(ordinary, percentiles):
    X, strong, rng = ordinary
    y = strong + 0.2 * rng.normal(size=len(X))  # R² 0.96
    for target in (
        y,
        np.exp(2 * y),
        y > 0,
        (y > 1.5).astype(int),
        rng.integers(0, 2, len(X)),
        strong * 0 + 3,
    ):
        assert not leaks(X, np.asarray(target, dtype=float), percentiles=percentiles)
    few = slice(0, 45)  # of which averages over twenty cells fit any target
    assert not leaks(X[few], rng.normal(size=45), percentiles=percentiles)


@pytest.mark.parametrize("percentiles", [(0.05, 0.95), (0, 1)])
def test_target_among_the_features_is_found(ordinary, percentiles):
    X, strong, rng = ordinary
    y = strong + 0.5 * rng.normal(size=len(X))
    for target in (y, np.exp(0.5 * y)):
        close = target + 0.01 * target.std() * rng.normal(size=len(X))
        found = leaks(X.assign(copy=target, close=close), target, percentiles=percentiles)
        assert set(found) == {"copy", "close"}
        assert all(0.99 <= score <= 1 for score in found.values())
    event = (y > 0.5).astype(float)
    wrong = np.where(rng.random(len(X)) < 0.01, 1 - event, event)
    paid = np.where(
        event == 1, rng.exponential(100.0, len(X)), np.nan
    )  # there is a value after an event only
    label = np.where(event == 1, "closed", "open")
    found = leaks(X.assign(event=event, wrong=wrong, paid=paid, label=label), event, percentiles=percentiles)
    assert set(found) == {"event", "wrong", "paid", "label"}
    assert found["event"] == found["label"] == 1
    assert found["wrong"] == pytest.approx(np.corrcoef(wrong, event)[0, 1] ** 2, abs=1e-3)


def test_target_of_any_distribution_is_found_in_cells_of_any_width(ordinary):
    X, strong, rng = ordinary
    y = np.exp(2 * strong)  # of which nearly all rows lie in the first of equally wide cells
    for weights in (None, rng.integers(0, 4, len(X)).astype(float)):
        found = leaks(X.assign(copy=y, root=np.sqrt(y)), y, sample_weight=weights, percentiles=(0, 1))
        assert set(found) == {"copy", "root", "strong"}  # which is the logarithm
        assert found["copy"] > 0.9999


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_target_that_is_missing_in_a_part_of_the_rows_is_found(ordinary, share):
    X, strong, rng = ordinary
    X = X[["noise"]][:1_000]
    y = (strong + 0.5 * rng.normal(size=2_000))[:1_000]
    weights = rng.integers(0, 4, 1_000).astype(float)
    at_random, below = rng.random(1_000) < share, y <= np.quantile(y, share)
    for target, gone in ((y, at_random), (y, below), (np.exp(y), at_random), ((y > 1) * 1.0, at_random)):
        part = X.assign(part=np.where(gone, np.nan, target))
        assert set(leaks(part, target)) == set(leaks(part, target, sample_weight=weights)) == {"part"}
    (note,) = performance(lambda t: np.zeros(len(t)), part, target).notes[:1]
    assert note.startswith("part alone predicts the target: averages of y near its values explain 100%")
    assert note.values["data"] == pytest.approx(1 - at_random.mean())


def test_feature_that_tells_one_class_of_several_apart_is_found(rows):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 600)
    X = np.column_stack([y == "b", rng.normal(size=600) + (y == "b")]).astype(float)
    model = LogisticRegression().fit(X, y)
    (note,) = (note for note in performance(model, X, y).notes if note.feature is not None)
    assert note.startswith("x0 alone predicts class b: averages of y")
    X[::4, 0] = np.nan
    partial = performance(lambda t: np.full((len(t), 3), 1 / 3), X, np.column_stack([y == k for k in "abc"]))
    assert {note.feature for note in partial.notes if note.code is NoteCode.TARGET_AMONG_FEATURES} == {"x0"}
    codes = np.column_stack([X[:, 1], np.unique(y, return_inverse=True)[1]])
    assert leaks(codes, y, LogisticRegression().fit(codes, y)) == {"x1": 1.0}


def test_honest_predictors_are_no_leaks():
    rng = np.random.default_rng(0)
    for n in (60, 300, 3_000):
        strong = rng.normal(size=n)
        noise = rng.normal(size=n) / 3  # R² 0.9
        X = pd.DataFrame(
            {
                "strong": strong,
                "side": (strong > 0).astype(float),  # of which two separate groups of y are the result
                "grade": np.digitize(strong, [-1, 0, 1]).astype(str),
                "row": rng.permutation(n),
                "id": [f"customer {place}" for place in range(n)],
            }
        )
        X["part"] = np.where(rng.random(n) < 0.3, np.nan, strong)
        for y in (strong + noise, np.sign(strong) + noise, np.exp(2 * strong + noise)):
            assert not leaks(X, y)
            assert not leaks(X, y, percentiles=(0, 1))


def test_rare_events_and_outliers_of_small_tables_make_no_leaks():
    rng = np.random.default_rng(0)
    for n in (60, 100, 200):
        for _ in range(2):
            columns = {f"x{k}": rng.normal(size=n) for k in range(8)}
            columns |= {f"c{k}": rng.choice(list("abcdefghijkl"), n) for k in range(4)}
            events, outlier = np.zeros(n), rng.normal(size=n)
            events[rng.choice(n, 2, replace=False)] = 1
            outlier[0] = 1e6
            for y in (events, outlier, np.exp(2 * rng.normal(size=n))):
                assert not leaks(pd.DataFrame(columns), y)


def test_target_among_the_features_of_a_small_table_is_found():
    rng = np.random.default_rng(0)
    y = rng.normal(size=120)
    assert set(leaks(np.column_stack([y, rng.normal(size=120), y > 0]), y)) == {"x0"}
    assert set(leaks(np.column_stack([y, rng.normal(size=120), y > 0]), (y > 0).astype(float))) == {
        "x0",
        "x2",
    }


def test_leak_is_named_first_of_rows_in_memory_and_of_files(ordinary, tmp_path):
    X, strong, rng = ordinary
    table = X[["strong", "noise"]].assign(default=(strong + rng.normal(size=len(X)) > 0).astype(int))
    model = LogisticRegression().fit(table, table["default"])
    table.assign(y=table["default"]).to_parquet(tmp_path / "rows.parquet")
    held = paribus.explain(model, table, table["default"], interactions=False)
    read = paribus.explain(model, str(tmp_path / "rows.parquet"), "y", interactions=False)
    for found in (held, read):
        first = found.verdict[0]
        assert (first.code, first.severity, first.feature) == ("PAR118", "issue", "default")
        assert first == (
            "default alone predicts the target: averages of y near its values explain 100% of the variance "
            "that such averages can; check that default is known before the target is"
        )
    unaware = paribus.explain(model, table)  # without y, nothing is looked for
    outcomes = {check.code: check.outcome for check in unaware.checks}
    assert outcomes[NoteCode.TARGET_AMONG_FEATURES] == "not applicable"


def test_calibration_of_classes_has_binomial_intervals():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.02], [0.5], [0.98]], 200, axis=0)
    y = np.r_[np.zeros(200), rng.integers(0, 2, 200), np.ones(200)]
    model = LogisticRegression().fit(X, y)
    (table,) = performance(model, X, y).calibration
    assert table.observed[[0, -1]].tolist() == [0, 1]
    assert (table.observed_low <= table.observed).all()
    assert (table.observed <= table.observed_high).all()
    # t² / (n + t²), for a group without an event
    t = scipy.stats.t.ppf(0.975, len(X) - 1)
    assert table.observed_high[0] == pytest.approx(t**2 / (200 + t**2), rel=1e-4)
    assert table.observed_low[-1] == pytest.approx(200 / (200 + t**2), rel=1e-4)
    assert (table.observed_high - table.observed_low > 0.01).all()


def test_wilson_interval_holds_the_probability_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for probability in (0.01, 0.1, 0.5):
        share = rng.binomial(200, probability, 20_000) / 200
        low, high = wilson_interval(share, np.full(len(share), 200.0), 1.96)
        assert 0.93 < np.mean((low <= probability) & (probability <= high)) < 0.99
    weights = rng.choice([1.0, 5.0], (4_000, 200))
    share = np.average(rng.random((4_000, 200)) < 0.1, axis=1, weights=weights)
    low, high = wilson_interval(share, weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1), 1.96)
    assert 0.92 < np.mean((low <= 0.1) & (high >= 0.1)) < 0.98


def test_ratio_of_rows_without_an_event_has_an_error():
    X = np.linspace(0, 1, 40)[:, None]
    fitted = LogisticRegression().fit(X, np.arange(40) % 20 == 0)
    ratio = by_name(performance(fitted, X, np.zeros(40)))["observed / predicted"]
    assert ratio.value == 0
    assert ratio.standard_error == pytest.approx(0.69, abs=0.02)  # two of forty rows are predicted

"""Results by group equal loops over the rows of each group, for every function, model, source and column."""

import datetime
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import pairwise

import catboost
import dask.dataframe as dd
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

import paribus
from ale_examples import mixed, mixed_model
from paribus._data.samples import uniform
from paribus._data.scan import parquet
from paribus._executors.checkpoint import KeptStates
from paribus.errors import InputError, OptionError
from paribus.notes import NoteCode
from statistic_of import statistic_of

ROWS, NAMES = 600, list("abcd")
QUIET = {"progress": False}
POINTS = {"a": [-1.0, 0.0, 0.7], "b": [-0.5, 0.5], "c": [0.0, 2.0, 4.0]}


@cache
def frame():
    """Numbers that models are fitted on, groups, weights and a target."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=NAMES)
    table["c"] = rng.integers(0, 5, ROWS).astype(float)
    group = rng.choice(["north", "south", "west"], ROWS, p=[0.6, 0.3, 0.1])
    y = table["a"] * table["b"] + np.where(group == "north", 1, -1) * table["c"] / 4 + table["d"]
    weight = np.where(rng.random(ROWS) < 0.15, 0.0, rng.gamma(1.0, size=ROWS))
    return table.assign(group=group, w=weight, y=y + 0.1 * rng.normal(size=ROWS))


def held():
    return frame()[NAMES]


def callable_model(table):
    a, b, c, d = (np.asarray(table[name], dtype=float) for name in NAMES)
    return a * b + np.tanh(c) + np.where(a > 0.3, d, 0.0)


@cache
def model(name):
    X, y = held(), frame()["y"]
    label = np.digitize(y, [-0.7, 0.7])
    forest = RandomForestRegressor(5, max_depth=4, random_state=0)
    boosted = HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=6)
    classifier = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6)
    quick = {"thread_count": 1, "allow_writing_files": False, "verbose": False}
    makers = {
        "boosted": lambda: boosted.fit(X, y),
        "forest": lambda: forest.fit(X, y),
        "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=8, num_leaves=6, verbose=-1, n_jobs=1).fit(
            X, y
        ),
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=6, max_depth=3, n_jobs=1).fit(X, y),
        "catboost": lambda: catboost.CatBoostRegressor(iterations=6, depth=3, **quick).fit(X, y),
        "linear": lambda: LinearRegression().fit(X, y),
        "logistic": lambda: LogisticRegression().fit(X, label > 0),
        "voting": lambda: VotingRegressor([("trees", boosted), ("line", LinearRegression())]).fit(X, y),
        "calibrated": lambda: CalibratedClassifierCV(classifier, cv=2).fit(X, label > 0),
        "probability": lambda: classifier.fit(X, label > 0),
        "classes": lambda: HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5).fit(X, label),
        "callable": lambda: callable_model,
        "list": lambda: [model("boosted"), model("linear")],
    }
    return makers[name]()


MODELS = (
    "boosted", "forest", "lightgbm", "xgboost", "catboost", "linear", "logistic", "voting", "calibrated",
    "probability", "classes", "callable", "list",
)  # fmt: skip


def predicted(name, table):
    """Predictions by output and row."""
    if name == "list":
        return np.mean([predicted(one, table) for one in ("boosted", "linear")], axis=0)
    fitted = model(name)
    if name == "callable":
        return fitted(table)[None]
    if not hasattr(fitted, "predict_proba"):
        return fitted.predict(table)[None]
    found = fitted.predict_proba(table).T
    return found if len(found) > 2 else found[1:]


def masks():
    """The rows of each group."""
    table = frame()
    return {label: (table["group"] == label).to_numpy() for label in ("north", "south", "west")}


def close(have, want, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(have, want, rtol=rtol, atol=atol)


def curves_by_hand(name, rows, features, points):
    """Curves of rows at all combinations of points: outputs, rows, points of each feature."""
    mesh = np.stack([one.ravel() for one in np.meshgrid(*points, indexing="ij")], axis=1)
    found = [predicted(name, rows.assign(**dict(zip(features, point, strict=True)))) for point in mesh]
    stacked = np.stack(found, axis=-1)
    return stacked.reshape(*stacked.shape[:2], *map(len, points))


def errors_by_hand(curves, weight):
    """Standard error of a weighted mean, with the factor n / (n - 1) of the rows that count."""
    share, rows = weight / weight.sum(), np.count_nonzero(weight)
    mean = np.tensordot(share, curves, (0, 1))
    inner = np.einsum("i,oi...->o...", share**2, (curves - mean[:, None]) ** 2)
    return np.sqrt(inner * rows / (rows - 1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_curves_and_surfaces_by_group_equal_loops_over_the_rows_of_each_group(name, weighted):
    X, weight = held(), frame()["w"].to_numpy() if weighted else np.ones(ROWS)
    features = ["a", "c", ("a", "b")]
    have = paribus.effects(
        model(name), X, features, by=frame()["group"], custom_values=POINTS, kind="average" if name == "list" else "both",
        sample_weight=weight if weighted else None, **QUIET,
    )  # fmt: skip
    whole = paribus.effects(
        model(name), X, features, custom_values=POINTS, sample_weight=weight if weighted else None, **QUIET
    )
    assert list(have) == ["north", "south", "west"]
    rtol = {"xgboost": 2e-6, "catboost": 1e-9}.get(name, 1e-10)
    for key in features:
        names = (key,) if isinstance(key, str) else key
        total = 0.0
        for label, mask in masks().items():
            rows, w = X[mask], weight[mask]
            curves = curves_by_hand(name, rows, names, [POINTS[one] for one in names])
            one = have[label][key]
            close(one.average, np.tensordot(w / w.sum(), curves, (0, 1)), rtol, atol=rtol / 10)
            if name != "list":
                close(one.individual, curves, rtol, atol=rtol)
                close(one.standard_error, errors_by_hand(curves, w), max(rtol, 1e-8), atol=rtol)
            total = total + w.sum() / weight.sum() * one.average
            assert have.groups[list(have).index(label)].rows == (w > 0).sum()
            close(have.groups[list(have).index(label)].share, w.sum() / weight.sum())
        close(total, whole[key].average, 1e-9)
        close(sum(have[label][key].support for label in have), whole[key].support, 1e-12)


def ale_by_hand(name, rows, weight, feature, edges):
    """First-order local effects of a number, centered in its rows, at the edges of bins."""
    x = rows[feature].to_numpy()
    place = np.clip(np.searchsorted(edges, x, side="left"), 1, len(edges) - 1)
    step = predicted(name, rows.assign(**{feature: edges[place]}))
    step = (step - predicted(name, rows.assign(**{feature: edges[place - 1]})))[0]
    mean = np.array([np.average(step[place == k], weights=weight[place == k]) for k in range(1, len(edges))])
    values = np.concatenate([[0], np.cumsum(mean)])
    return values - np.average(np.interp(x, edges, values), weights=weight)


@pytest.mark.parametrize(
    "name", ["boosted", "lightgbm", "xgboost", "linear", "voting", "probability", "callable"]
)
def test_local_effects_by_group_equal_loops_in_the_bins_of_all_rows(name):
    X, weight = held(), frame()["w"].to_numpy()
    have = paribus.accumulated_local_effects(
        model(name), X, ["a", "b"], by=frame()["group"], grid_resolution=4, sample_weight=weight, **QUIET
    )
    for label, mask in masks().items():
        for feature in ("a", "b"):
            one = have[label][feature]
            edges = np.asarray(one.grid_values[0])
            np.testing.assert_array_equal(edges, have["north"][feature].grid_values[0])
            want = ale_by_hand(name, X[mask], weight[mask], feature, edges)
            rtol = 1e-5 if name == "xgboost" else 1e-10
            close(one.ale[0], want, rtol, atol=rtol)


@pytest.mark.parametrize("weighted", [False, True])
def test_marginal_averages_by_group_are_those_of_the_rows_of_each_cell(weighted):
    X, y = held(), frame()["y"]
    weight = frame()["w"].to_numpy() if weighted else np.ones(ROWS)
    have = paribus.marginal(
        model("boosted"),
        X,
        ["c"],
        y=y,
        by=frame()["group"],
        sample_weight=weight if weighted else None,
        **QUIET,
    )
    for label, mask in masks().items():
        one = have[label]["c"]
        for place, value in enumerate(one.grid_values[0]):
            here = mask & (X["c"] == value).to_numpy()
            close(one.support[place], weight[here].sum())
            for part, values in ((one.predicted, predicted("boosted", X)[0]), (one.observed, y.to_numpy())):
                close(part[0, place], np.average(values[here], weights=weight[here]))


@pytest.mark.parametrize(
    ("name", "weighted"),
    [
        *(("boosted", False), ("lightgbm", True), ("xgboost", False), ("linear", True), ("voting", False)),
        *(("probability", True), ("callable", False)),
    ],
)
def test_interactions_and_importance_by_group_are_those_of_its_rows_alone(name, weighted):
    X, weight = held(), frame()["w"].to_numpy() if weighted else None
    table = {"by": frame()["group"], "sample_weight": weight, **QUIET}
    have = paribus.h_statistic(model(name), X, NAMES[:3], **table)
    # Every row is crossed: strengths of curves depend on the grid, which is that of all groups.
    strong = paribus.feature_importance(model(name), X, NAMES[:3], subsample=None, **table)
    for label, mask in masks().items():
        alone = {"sample_weight": None if weight is None else weight[mask], **QUIET}
        want = paribus.h_statistic(model(name), X[mask], NAMES[:3], **alone)
        for part in ("h_squared_overall", "h_squared_pairwise", "variance"):
            close(getattr(have[label], part), getattr(want, part), 1e-8, 1e-11)
        want = paribus.feature_importance(model(name), X[mask], NAMES[:3], subsample=None, **alone)
        close(strong[label].values, want.values, 1e-8)
        close(strong[label].standard_error, want.standard_error, 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_permutation_importance_by_group_is_that_of_its_rows_alone(weighted):
    X, y, weight = held(), frame()["y"].copy(), frame()["w"].to_numpy() if weighted else None
    if weighted:
        y[weight == 0] = np.nan  # a row that does not count needs no target
    options = {"kind": "permutation", "random_state": 0, "n_repeats": 3, **QUIET}
    have = paribus.feature_importance(
        model("boosted"), X, NAMES[:3], y=y, by=frame()["group"], sample_weight=weight, **options
    )
    for label, mask in masks().items():
        own = None if weight is None else weight[mask]
        want = paribus.feature_importance(
            model("boosted"), X[mask], NAMES[:3], y=y[mask], sample_weight=own, **options
        )
        close(have[label].repeats, want.repeats)
        close(have[label].values, want.values)
        close(have[label].standard_error, want.standard_error)
    with pytest.raises(InputError, match="y has shape"):
        paribus.feature_importance(model("boosted"), X, y=y[:-1].to_numpy(), by=frame()["group"], **options)


def test_importance_of_the_model_has_no_groups():
    with pytest.raises(OptionError, match="has no groups; leave by"):
        paribus.feature_importance(model("boosted"), held(), kind="model", by=frame()["group"], **QUIET)


def test_local_effects_of_categories_and_missing_values_equal_loops():
    X, f = mixed(), mixed_model
    zone = np.where(np.arange(len(X)) % 3 == 0, "x", "y")
    have = paribus.accumulated_local_effects(f, X, ["b", "c"], by=zone, grid_resolution=3, **QUIET)
    whole = paribus.accumulated_local_effects(f, X, ["b", "c"], grid_resolution=3, **QUIET)
    for label in ("x", "y"):
        rows = X[zone == label]
        one = have[label]["c"]
        levels = list(one.grid_values[0])
        assert levels == list(whole["c"].grid_values[0])  # the order is that of all rows

        def at(level, some):
            return f(some.assign(c=pd.Categorical([level] * len(some), X["c"].cat.categories)))

        heights = [0.0]
        for low, high in pairwise(levels):
            some = rows[rows["c"].isin([low, high])]
            heights.append(heights[-1] + np.mean(at(high, some) - at(low, some)))
        known = rows["c"].dropna()
        center = np.mean([heights[levels.index(value)] for value in known])
        close(one.ale[0], np.array(heights) - center)
        for feature in ("b", "c"):
            absent = rows[rows[feature].isna()]
            missing = have[label][feature].missing
            close(missing.support, len(absent))
            close(missing.share, len(absent) / len(rows))
            place = list(have[label][feature].grid_values[0]).index(missing.anchor)
            filled = at(missing.anchor, absent) if feature == "c" else f(absent.assign(b=missing.anchor))
            close(missing.ale[0], have[label][feature].ale[0, place] + np.mean(f(absent) - filled))


def test_effects_at_missing_values_have_the_weight_of_the_group():
    X = held().assign(a=frame()["a"].where(np.arange(ROWS) % 7 > 0))
    fitted = HistGradientBoostingRegressor(max_iter=5).fit(X, frame()["y"])
    weight = frame()["w"].to_numpy()
    have = paribus.partial_dependence(fitted, X, "a", by=frame()["group"], sample_weight=weight, **QUIET)
    for label, mask in masks().items():
        missing, here = have[label].missing, X["a"].isna().to_numpy() & mask
        close(missing.support, weight[here].sum())
        close(missing.share, weight[here].sum() / weight[mask].sum())
        close(missing.average[0], np.average(fitted.predict(X[mask].assign(a=np.nan)), weights=weight[mask]))


def numbers(result, path=""):
    """Return every array, number and word of a result by its path, but for records and notes."""
    if isinstance(result, (np.ndarray, str, bool, int, float, np.generic)):
        return {path: np.asarray(result)}
    found = {}
    if is_dataclass(result):
        for one in fields(result):
            if one.name not in ("provenance", "notes", "extrapolation"):
                found |= numbers(getattr(result, one.name), f"{path}.{one.name}")
    elif isinstance(result, (tuple, list)):
        for place, one in enumerate(result):
            found |= numbers(one, f"{path}[{place}]")
    return found


def same(have, want, rtol=0.0, apart=()):
    """The numbers of two results are alike; without a tolerance their bits are."""
    have, want = numbers(have), numbers(want)
    assert have.keys() == want.keys()
    for key, leaf in have.items():
        if any(part in key for part in apart):
            continue
        if leaf.dtype.kind == "f" and rtol:
            np.testing.assert_allclose(leaf, want[key], rtol=rtol, atol=rtol, err_msg=key)
        else:
            np.testing.assert_array_equal(leaf, want[key], err_msg=key)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The rows in three Parquet files of small row groups."""
    folder = tmp_path_factory.mktemp("rows")
    for number, (first, stop) in enumerate(pairwise((0, 130, 131, ROWS))):
        frame().iloc[first:stop].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=50)
    return str(folder)


def stream():
    """Return the rows as batches."""
    return iter(pa.Table.from_pandas(frame(), preserve_index=False).to_batches(max_chunksize=77))


CALLS = {
    "curves": ("partial_dependence", {"features": "a", "custom_values": {"a": POINTS["a"]}}),
    "effects": ("effects", {"features": ["a", "c", ("a", "b")], "grid_resolution": 4}),
    "both": ("effects", {"features": ["a"], "grid_resolution": 4, "kind": "both"}),
    "quantiles": ("effects", {"features": ["a"], "grid_resolution": 4, "quantiles": True}),
    "ale": ("accumulated_local_effects", {"features": ["a", "c", ("a", "b")], "grid_resolution": 3}),
    "marginal": ("marginal", {"features": ["a", "c"], "y": "y"}),
    "h": ("h_statistic", {"features": NAMES[:3]}),
    "importance": ("feature_importance", {"features": NAMES[:3]}),
}


def call(key, name, X, **options):
    verb, arguments = CALLS[key]
    return statistic_of(verb, model(name), X, **arguments, by="group", **options, **QUIET)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("lightgbm", None),
        ("voting", "w"),
        pytest.param("linear", "w", marks=pytest.mark.nightly),
        pytest.param("callable", None, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("key", CALLS)
def test_rows_that_are_read_have_the_results_of_rows_in_memory(key, name, weight, files):
    held = call(key, name, frame(), sample_weight=weight)
    read = call(key, name, files, sample_weight=weight)
    assert [(one.label, one.rows) for one in held.groups] == [(one.label, one.rows) for one in read.groups]
    exact = name == "lightgbm" and weight is None and key in ("curves", "effects", "both")
    same(read, held, 0.0 if exact else 1e-8)


@pytest.mark.nightly
@pytest.mark.parametrize("key", CALLS)
def test_threads_and_streams_give_the_bits_of_files(key, files):
    read = call(key, "lightgbm", files, sample_weight="w", n_jobs=1)
    for threads in (2, 4):
        same(call(key, "lightgbm", files, sample_weight="w", n_jobs=threads), read)
    same(call(key, "lightgbm", stream, sample_weight="w"), read, 1e-9)
    held = call(key, "callable", frame(), sample_weight="w", n_jobs=1)
    same(call(key, "callable", frame(), sample_weight="w", n_jobs=2), held)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("key", "name"),
    [*((key, "lightgbm") for key in ("effects", "ale", "marginal", "h")), ("both", "callable")],
)
def test_dask_gives_the_bits_of_files(key, name, files, client):
    read = call(key, name, files, sample_weight="w")
    same(call(key, name, files, sample_weight="w", executor=client), read)
    partitions = dd.from_pandas(frame(), npartitions=4)
    same(call(key, name, partitions, sample_weight="w"), read, 1e-9)
    same(call(key, name, partitions, sample_weight="w", executor=client), read, 1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
@pytest.mark.parametrize("key", ["effects", "ale", "marginal", "h"])
def test_frames_of_all_libraries_give_the_bits_of_pandas(key, convert):
    X = convert(frame())
    verb, arguments = CALLS[key]
    held = call(key, "lightgbm", frame())
    have = getattr(paribus, verb)(model("lightgbm"), X, **arguments, by="group", **QUIET)
    same(have, held)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 64)


@pytest.mark.nightly
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("key", ["effects", "ale", "marginal", "h"])
def test_resumed_run_has_the_bits_of_one_without_checkpoint(key, files, tmp_path, monkeypatch):
    want = call(key, "lightgbm", files, sample_weight="w")
    keep, left = KeptStates.save, [3]

    def keeping(self, first, stop, state):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        keep(self, first, stop, state)

    with monkeypatch.context() as patched:
        patched.setattr(KeptStates, "save", keeping)
        with pytest.raises(KeyboardInterrupt):
            call(key, "lightgbm", files, sample_weight="w", checkpoint=tmp_path / "kept")
    same(call(key, "lightgbm", files, sample_weight="w", checkpoint=tmp_path / "kept"), want)
    same(call(key, "lightgbm", files, sample_weight="w", checkpoint=tmp_path / "kept"), want)


REQUESTS = (
    ("effects", {"features": ["a", ("a", "b")], "grid_resolution": 4}),
    ("accumulated_local_effects", {"features": ["a", "c"], "grid_resolution": 3}),
    ("marginal", {"features": ["a"]}),
    ("h_statistic", {"features": NAMES[:3]}),
    ("feature_importance", {"features": NAMES[:3]}),
)


@pytest.mark.nightly
@pytest.mark.parametrize("where", ["memory", "files"])
@pytest.mark.parametrize("name", ["lightgbm", "callable"])
def test_statistics_of_one_run_are_those_of_single_calls(name, where, files):
    X = frame() if where == "memory" else files
    options = {"by": "group", "sample_weight": "w", **QUIET}
    have = paribus.Explainer(model(name), X, "y", **options).run(*REQUESTS)
    for verb, arguments in REQUESTS:
        single = getattr(paribus.Explainer(model(name), X, "y", **options), verb)(**arguments)
        same(have[verb], single, 1e-10)


def labels_of(by, X=None, **options):
    """Labels and numbers of rows of the groups of a cheap call."""
    X = frame() if X is None else X
    have = paribus.partial_dependence(
        model("linear"), X, "a", by=by, custom_values={"a": [0.0]}, **options, **QUIET
    )
    return {one.label: one.rows for one in have.groups}


CITIES = [f"c{number:02d}" for number in range(20)]
DAY = np.datetime64("2026-01-01")


def some_missing(values):
    values = pd.Series(values)
    values[::10] = None
    return values


def columns_of_every_kind():
    """Columns, and the labels of their groups in order."""
    rng = np.random.default_rng(5)
    few = rng.integers(0, 3, ROWS)
    many = rng.integers(0, 300, ROWS)
    days = pd.Series(DAY + many.astype("timedelta64[D]")).astype("datetime64[ns]")
    yield "text", some_missing(np.array(["u", "v"])[few // 2]), ["u", "v", "missing"]
    yield "int", few, ["0", "1", "2"]
    yield "nullable", some_missing(pd.array(few, dtype="Int64")), ["0", "1", "2", "missing"]
    yield "bool", few > 0, ["False", "True"]
    yield "few floats", some_missing(few / 2), ["0", "0.5", "1", "missing"]
    yield "both zeros", np.array([-0.0, 1.0, 0.0])[few], ["0", "1"]
    yield "negative zero", np.array([-0.0, 0.5, 1.0])[few], ["0", "0.5", "1"]
    yield "twelve", np.arange(ROWS) % 12, [str(value) for value in range(12)]
    yield "days", days.dt.floor("D").where(many < 3, DAY), ["2026-01-01", "2026-01-02", "2026-01-03"]
    level = pd.Categorical(np.array(["low", "high"])[few // 2], ["low", "mid", "high"], ordered=True)
    yield "levels with an unused one", level, ["low", "high"]
    yield "close numbers", np.array([0.12345, 0.12346])[few // 2], ["0.12345", "0.12346"]
    yield "names of rest", some_missing(np.array(["missing", "x"])[few // 2]), ["missing", "x", "(missing)"]
    yield "nothing", np.full(ROWS, np.nan), ["missing"]


@pytest.mark.parametrize("case", list(columns_of_every_kind()), ids=lambda case: case[0])
def test_values_of_a_column_are_groups_in_memory_and_in_files(case, tmp_path):
    _, values, labels = case
    X = frame().assign(g=values)
    have = labels_of("g", X)
    assert sorted(have) == sorted(labels)
    assert sum(have.values()) == ROWS
    if case[0] not in ("text", "names of rest"):  # text is in the order of frequency
        assert list(have) == labels
    assert labels_of(X["g"], X) == labels_of(pl.Series("g", X["g"]), X) == have
    X.to_parquet(tmp_path / "x.parquet", row_group_size=100)
    read = labels_of("g", str(tmp_path / "x.parquet"))
    assert list(read.items()) == list(have.items())


@pytest.mark.parametrize("kind", ["float", "date"])
def test_numbers_with_many_values_are_cut_into_quarters(kind, tmp_path):
    values = some_missing(np.random.default_rng(0).normal(size=ROWS))
    if kind == "date":
        values = pd.Timestamp("2026-01-01") + pd.to_timedelta(values * 1e6, unit="s")
    X = frame().assign(g=values)
    have = labels_of("g", X)
    assert list(have.values()) == [135, 135, 135, 135, 60]
    assert [label.split()[0][0] for label in have] == ["<", "(", "(", ">", "m"]
    X.to_parquet(tmp_path / "x.parquet", row_group_size=100)
    assert labels_of("g", str(tmp_path / "x.parquet")) == have
    middle = values.median()
    below = int((values <= middle).sum())
    assert list(labels_of({"g": [middle]}, X).values()) == [below, 540 - below, 60]


def test_rare_categories_are_one_group_with_a_note():
    place = np.minimum(np.random.default_rng(1).geometric(0.15, ROWS) - 1, 19)
    X = frame().assign(g=np.array(CITIES)[place])
    have = paribus.partial_dependence(model("linear"), X, "a", by="g", **QUIET)
    assert len(have) == 12
    assert list(have)[-1] == "other"
    kept = X["g"].isin(list(have)[:-1]).to_numpy()
    assert have.groups[-1].rows == (~kept).sum()
    close(have["other"].average, paribus.partial_dependence(
        model("linear"), X[~kept], "a", custom_values={"a": have["other"].grid_values[0]}, **QUIET
    ).average)  # fmt: skip
    (note,) = [note for note in have.notes if note.code is NoteCode.RARE_CATEGORIES]
    assert note.values["share"] == pytest.approx(1 - kept.mean())
    again = np.where(X["g"] == CITIES[0], "other", X["g"])
    renamed = paribus.partial_dependence(model("linear"), X, "a", by=again, **QUIET)
    (note,) = [note for note in renamed.notes if note.code is NoteCode.RARE_CATEGORIES]
    assert "the group '(other)'" in str(note)
    assert "(other)" in renamed


def test_series_is_aligned_by_its_index():
    X, group = frame(), frame()["group"]
    want = paribus.partial_dependence(model("boosted"), X, "a", by=group, **QUIET)
    have = paribus.partial_dependence(
        model("boosted"), X, "a", by=group.sample(frac=1, random_state=1), **QUIET
    )
    same(have, want)
    with pytest.raises(InputError, match="index of by has no label 0"):
        labels_of(group.set_axis(range(1_000, 1_000 + ROWS)))
    assert labels_of(pa.chunked_array([group.tolist()])) == labels_of(group.tolist()) == labels_of("group")
    assert labels_of(pd.Categorical(group)) == labels_of(group.to_numpy(object)) == labels_of("group")


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("grop", "did you mean 'group'"),
        (7, "not the name of a column of X"),
        (np.zeros(5), "by has 5 values, and X has 600 rows"),
        (np.zeros((ROWS, 2)), "one for each row"),
        ({"a": [1.0, 0.0]}, "in increasing order"),
        ({"a": [0.0, 0.0]}, "in increasing order"),
        ({"a": []}, "at least one cut point"),
        ({"a": [np.nan]}, "increasing order"),
        ({"a": ["x"]}, "must be numbers, or dates"),
        ({"group": ["north"]}, "has categories"),
        ({"a": [0.0], "b": [0.0]}, "must map the name of one column"),
        ({"aa": [0.0]}, "did you mean 'a'"),
    ],
)
def test_wrong_groups_are_refused(by, text):
    with pytest.raises((OptionError, InputError), match=text):
        labels_of(by)


def test_values_for_rows_that_are_read_are_refused(files):
    with pytest.raises(OptionError, match="out of core, so by must be the name of a column"):
        labels_of(frame()["group"], files)


def test_cut_points_are_upper_ends_and_empty_intervals_are_left_out():
    X = frame()
    have = labels_of({"c": [0.5, 0.7, 2.0, 9.0]})
    want = {
        "<= 0.5": (X["c"] <= 0.5).sum(),
        "(0.7, 2]": X["c"].between(1, 2).sum(),
        "(2, 9]": (X["c"] > 2).sum(),
    }
    assert have == want
    assert list(labels_of({"a": [-0.0, 1.0]})) == ["<= 0", "(0, 1]", "> 1"]
    zoned = X.assign(g=pd.Timestamp("2026-01-01", tz="Asia/Tokyo") + pd.to_timedelta(X["c"], unit="D"))
    cut = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=9)))
    assert list(labels_of({"g": [cut]}, zoned).values()) == [(X["c"] <= 1).sum(), (X["c"] > 1).sum()]


def test_model_of_an_array_gets_the_column_only_if_it_was_fitted_on_it():
    X, group = held().to_numpy(), np.arange(ROWS) % 3
    fitted = HistGradientBoostingRegressor(max_iter=4).fit(X, frame()["y"])
    have = paribus.partial_dependence(fitted, np.column_stack([X, group]), 0, by=4, **QUIET)
    same(have, paribus.partial_dependence(fitted, X, 0, by=pd.Series(group, name="x4"), **QUIET))
    used = paribus.partial_dependence(fitted, X, 0, by=2, custom_values={0: [0.5]}, **QUIET)
    moved = X.copy()
    moved[:, 0] = 0.5
    for value in range(5):
        close(used[value].average[0, 0], fitted.predict(moved[X[:, 2] == value]).mean())


def test_rows_keep_the_value_of_the_grouping_column():
    X = frame()

    def f(table):
        return np.asarray(table["a"]) * (np.asarray(table["group"]) == "north")

    have = paribus.partial_dependence(f, X, "a", by="group", custom_values={"a": [1.0, 2.0]}, **QUIET)
    assert {label: have[label].average.tolist() for label in have} == {
        "north": [[1.0, 2.0]], "south": [[0.0, 0.0]], "west": [[0.0, 0.0]],
    }  # fmt: skip


def test_group_of_one_row_has_no_error_and_a_note():
    group = np.where(np.arange(ROWS) == 5, "lonely", "many")
    for name in ("boosted", "linear", "callable"):
        have = paribus.partial_dependence(
            model(name), held(), "a", by=group, custom_values={"a": [0.5]}, **QUIET
        )
        close(have["lonely"].average[0, 0], predicted(name, held().iloc[[5]].assign(a=0.5))[0, 0])
        assert np.isnan(have["lonely"].standard_error).all()
        assert np.isfinite(have["many"].standard_error).all()
        assert [note.code for note in have.notes].count(NoteCode.SMALL_GROUP) == 1
    for verb in ("accumulated_local_effects", "marginal", "h_statistic", "feature_importance"):
        found = getattr(paribus, verb)(model("boosted"), held(), ["a", "b"], by=group, **QUIET)
        assert list(found) == ["many", "lonely"], verb


def test_rows_of_weight_zero_are_in_no_group():
    X, weight = frame(), np.where(frame()["group"] == "west", 0.0, frame()["w"])
    some = weight > 0
    have = paribus.effects(
        model("boosted"), X, ["a"], by="group", sample_weight=weight, grid_resolution=4, **QUIET
    )
    want = paribus.effects(
        model("boosted"), X[some], ["a"], by="group", sample_weight=weight[some], grid_resolution=4, **QUIET
    )
    assert list(have) == ["north", "south"]
    same(have, want, 1e-10)


def test_integer_weights_repeat_rows():
    X, weight = frame(), np.random.default_rng(2).integers(0, 4, ROWS)
    for name in ("boosted", "linear", "callable"):
        options = {"by": "group", "custom_values": {"a": POINTS["a"]}, **QUIET}
        have = paribus.effects(model(name), X, ["a"], sample_weight=weight, **options)
        want = paribus.effects(
            model(name), X.loc[X.index.repeat(weight)].reset_index(drop=True), ["a"], **options
        )
        for label in have:
            close(have[label]["a"].average, want[label]["a"].average)
            close(have[label]["a"].support, want[label]["a"].support)


def test_order_of_rows_does_not_matter():
    X = frame()
    for name in ("boosted", "linear", "callable"):
        options = {"by": "group", "sample_weight": "w", **QUIET}
        have = paribus.Explainer(model(name), X, **options).run(*REQUESTS)
        mixed_up = paribus.Explainer(model(name), X.sample(frac=1, random_state=0), **options).run(*REQUESTS)
        for verb, _ in REQUESTS:
            same(mixed_up[verb], have[verb], 1e-8, apart=(".order",))


def test_list_of_one_model_has_the_numbers_of_the_model():
    options = {"features": ["a", "c"], "by": "group", "grid_resolution": 4, **QUIET}
    have, want = (paribus.effects(one, frame(), **options) for one in ([model("boosted")], model("boosted")))
    for label in want:
        for feature in ("a", "c"):
            close(have[label][feature].average, want[label][feature].average)
            close(have[label][feature].standard_error, want[label][feature].standard_error)


def test_quantiles_by_group_are_those_of_its_curves():
    options = {"custom_values": {"a": POINTS["a"]}, "quantiles": [0.1, 0.5, 0.9], **QUIET}
    for name in ("lightgbm", "callable"):
        have = paribus.partial_dependence(model(name), frame(), "a", by="group", **options)
        for label, mask in masks().items():
            want = paribus.partial_dependence(model(name), held()[mask], "a", **options)
            close(have[label].quantiles.values, want.quantiles.values)


@pytest.mark.parametrize("name", ["lightgbm", "voting"])
def test_verified_and_bounded_runs_give_the_same(name):
    want = call("effects", name, frame())
    same(call("effects", name, frame(), verify=True), want)
    same(call("effects", name, frame(), max_memory="200MB"), want, 1e-10)
    checked = call("effects", name, frame(), verify=True)
    assert all(
        one.provenance.verified_difference < 1e-9 for group in checked.values() for one in group.values()
    )


@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_of_sampled_rows_are_those_of_the_sample(files, weight):
    options = {
        "features": ["a", "b"],
        "grid_resolution": 5,
        "sample_weight": weight,
        "subsample": 90,
        **QUIET,
    }
    have, read = (paribus.effects(callable_model, X, by="group", **options) for X in (frame(), files))
    whole = paribus.effects(callable_model, frame(), **options)
    assert sum(have[label]["a"].provenance.sampled_rows for label in have) == 90
    for label in have:
        assert have[label]["a"].average.tobytes() == read[label]["a"].average.tobytes()
        assert have[label]["a"].grid_values[0].tobytes() == whole["a"].grid_values[0].tobytes()


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_without_sampled_rows_are_noted_and_records_are_of_the_rows_used(tmp_path, weighted):
    """A rare group that is in no sampled row was left out in silence, and records were of all rows."""
    rng, rows = np.random.default_rng(0), 600
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows), "w": rng.uniform(1, 2, rows)})
    order = np.argsort(uniform(np.arange(rows), 0))
    X["g"] = np.where(np.arange(rows) % 3 == 0, "p", "q")
    X.loc[order[[3, 7]], "g"] = "few"
    for place, label in enumerate(["lost 1", "lost 2", "lost 3", "lost 4", None], 101):
        X.loc[order[place], ["g", "w"]] = label, 1.5
    X.to_parquet(tmp_path / "rows.parquet")
    sample = X.loc[np.sort(order[:100])]
    options = {"features": ["a", "b"], "grid_resolution": 5, "subsample": 100, "progress": False}
    options |= {"sample_weight": "w"} if weighted else {}

    def function(table):
        return np.asarray(table["a"] * table["b"])

    for source in (X, str(tmp_path / "rows.parquet")):
        by_group = paribus.effects(function, source, by="g", **options)
        assert list(by_group) == ["q", "p", "few"]
        for group in by_group.groups:
            own = sample[sample["g"] == group.label]
            size = own["w"].sum() / sample["w"].sum() if weighted else len(own) / 100
            assert (group.rows, group.share) == (len(own), pytest.approx(size))
            record = by_group[group.label].provenance
            assert (record.rows, record.sampled_rows, record.seed) == (len(own), len(own), 0)
            assert (record.weights is not None) == weighted
            assert not weighted or record.weights["sum"] == pytest.approx(own["w"].sum())
            assert record.background().startswith(f"{len(own)} rows, sampled with seed 0")
        small = [note for note in by_group.notes if note.code is NoteCode.SMALL_GROUP]
        assert [note.values["rows"] for note in small] == [0, 2]
        assert small[0].startswith(
            "g = lost 1, lost 2, lost 3 and 2 more has 0 rows in the sample, and therefore no"
        )
        cut = paribus.effects(function, source, by={"b": [-9.0, 0.0]}, **options)
        assert [group.rows for group in cut.groups] == [(sample["b"] <= 0).sum(), (sample["b"] > 0).sum()]
        assert any(note.startswith("b = <= -9 has 0 rows in the sample") for note in cut.notes)
        every = paribus.effects(function, source, by="g", **options | {"subsample": None})
        assert set(every) == {*by_group, "lost 1", "lost 2", "lost 3", "lost 4", "missing"}
        assert not any("no result" in note for note in every.notes)
        numbers = {name: value for name, value in options.items() if name != "grid_resolution"}
        pairs = paribus.h_statistic(function, source, by="g", **numbers)["p"]
        used = int((sample["g"] == "p").sum())
        assert any(f"interactions used {used} rows; errors include" in note for note in pairs.notes)


def test_splits_as_grid_are_those_of_the_model_for_all_groups():
    have = paribus.partial_dependence(
        model("boosted"), frame(), "a", by="group", grid_resolution="splits", **QUIET
    )
    whole = paribus.partial_dependence(model("boosted"), frame(), "a", grid_resolution="splits", **QUIET)
    for label, mask in masks().items():
        np.testing.assert_array_equal(have[label].grid_values[0], whole.grid_values[0])
        want = [predicted("boosted", held()[mask].assign(a=value)).mean() for value in whole.grid_values[0]]
        close(have[label].average[0], want)


def test_recursion_has_no_rows_and_is_the_same_in_all_groups():
    have = paribus.partial_dependence(model("boosted"), frame(), "a", by="group", method="recursion", **QUIET)
    whole = paribus.partial_dependence(model("boosted"), frame(), "a", method="recursion", **QUIET)
    for label in have:
        close(have[label].average, whole.average)
    close(sum(have[label].support for label in have), whole.support)


@pytest.mark.parametrize("name", ["boosted", "lightgbm", "linear", "callable"])
def test_strength_of_an_effect_by_group_is_that_of_its_rows_alone(name):
    options = {"custom_values": {"a": POINTS["a"], "c": POINTS["c"]}, **QUIET}
    group = np.where(np.arange(ROWS) % 40 == 0, "few", np.where(np.arange(ROWS) % 2, "odd", "even"))
    have = paribus.effects(model(name), held(), ["a", "c"], by=group, **options)
    for label in have:
        want = paribus.effects(model(name), held()[group == label], ["a", "c"], **options)
        for feature in ("a", "c"):
            close(have[label][feature].strength, want[feature].strength)


def test_notes_name_the_groups_that_they_are_about():
    X = pd.DataFrame({"a": np.where(np.arange(60) % 6 == 0, np.nan, np.arange(60.0)), "z": ["p", "q"] * 30})
    have = paribus.effects(lambda t: np.nan_to_num(t["a"]), X, ["a"], by="z", progress=False)
    missing = [note for note in have.notes if note.code == "PAR102"]
    assert missing == ["p: a is missing in 33.3% of the data; the effect at missing is reported separately"]


def test_regions_and_several_columns_are_refused_by_group():
    X = pd.DataFrame({"a": np.arange(60.0), "z": ["p", "q"] * 30})
    with pytest.raises(paribus.errors.OptionError, match="regions are parts of all rows"):
        paribus.Explainer(lambda t: np.asarray(t["a"]), X, by="z", progress=False).regions()
    with pytest.raises(paribus.errors.OptionError, match="names 2 columns"):
        paribus.effects(lambda t: np.asarray(t["a"]), X, by=["a", "z"], progress=False)

"""CatBoost models are read as they are: margins, links and leaves equal CatBoost's own."""

import ast
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from paribus._data.read import table_of
from paribus._models.ensemble import LEAF
from paribus._models.libraries import catboost as reader
from paribus._models.libraries.catboost import CatBoost
from paribus.errors import ModelError, RefusalError

catboost = pytest.importorskip("catboost")
QUIET = {"iterations": 12, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
GROWTH = [{}, {"grow_policy": "Lossguide", "max_leaves": 9}, {"grow_policy": "Depthwise"}]
CITIES = ["Bern", "Basel", "Genf", "Zürich", "", "a city with a rather long name of its own", "x" * 90]


def data(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 2] = np.round(X[:, 2], 1)
    X[rng.random((n, 5)) < 0.15] = np.nan
    X[:, 3:] = np.nan_to_num(X[:, 3:])
    known = np.nan_to_num(X, nan=1.3)
    known[:, 0] += 4 * np.isnan(X[:, 0])  # so that missing is told from every number
    return X, known[:, 0] + known[:, 1] * known[:, 2] + np.abs(known[:, 3]) + 0.3 * known[:, 4]


def awkward_rows(ensemble, X):
    """Random rows, and every threshold with its neighbors in both precisions, in each column."""
    rng = np.random.default_rng(1)
    rows = [X]
    for column, encoding in enumerate(ensemble.encodings):
        asked = ensemble.threshold[(ensemble.column == column) & (ensemble.category_set < 0)]
        near = [asked, np.nextafter(asked, -np.inf), np.nextafter(asked, np.inf)]
        with np.errstate(over="ignore"):  # a border may be the largest number of single precision
            single = [np.nextafter(asked.astype(np.float32), np.float32(side)) for side in (-np.inf, np.inf)]
        near += single + [(asked + neighbor) / 2 for neighbor in single]
        near.append(
            [np.nan, np.inf, -np.inf, 1e300, -1e300, 3.4028234e38, 3.4028236e38, -3.4028236e38, 1e-46, 0.0]
        )
        values = np.concatenate([np.asarray(part, dtype=float) for part in near])
        block = X[rng.integers(0, len(X), len(values))].copy()
        block[:, encoding.feature] = values
        rows.append(block)
    return np.concatenate(rows)


def raw(model, X):
    return np.reshape(model.predict(X, prediction_type="RawFormulaVal"), (len(X), -1))


def check_leaves(ensemble, numbers, model, X):
    """Leaves correspond one to one, tree by tree."""
    ours, theirs = ensemble.leaves(numbers), model.calc_leaf_indexes(X)
    assert ours.shape == theirs.shape
    for a, b in zip(ours.T, theirs.T, strict=True):
        pairs = len(np.unique(np.stack([a, b]), axis=1).T)
        assert pairs == len(np.unique(a)) == len(np.unique(b))


def check(model, X, table=None):
    ensemble = reader.read(model)
    numbers = ensemble.numbers(table_of(X if table is None else table, None))
    np.testing.assert_allclose(ensemble.margins(numbers), raw(model, X), rtol=1e-12, atol=1e-12)
    check_leaves(ensemble, numbers, model, X)
    return ensemble


def check_link(model, X, response):
    ensemble = reader.read(model)
    margins = ensemble.margins(ensemble.numbers(table_of(X, None)))
    answered = ensemble.links[response].apply(margins.T).T
    own = np.reshape(getattr(model, response)(X), (len(X), -1))
    if response == "predict_proba" and answered.shape[1] == 1:
        own = own[:, 1:]
    np.testing.assert_allclose(answered, own, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_margins_and_leaves_with_missing_infinite_and_tied_values(growth, nan_mode):
    X, y = data()
    model = catboost.CatBoostRegressor(nan_mode=nan_mode, **QUIET, **growth).fit(X, y)
    rows = awkward_rows(reader.read(model), X)
    ensemble = check(model, rows)
    extreme = np.abs(ensemble.threshold).max()
    assert extreme == np.finfo(np.float32).max
    assert {e.missing for e in ensemble.encodings} == ({-np.inf} if nan_mode == "Min" else {-np.inf, np.inf})
    names = list("abcde")
    for frame in (pd.DataFrame(rows, columns=names), pl.DataFrame(rows, schema=names)):
        numbers = ensemble.numbers(table_of(frame, None))
        np.testing.assert_allclose(ensemble.margins(numbers), raw(model, rows), rtol=1e-12, atol=1e-12)


def test_numbers_of_other_types_are_rounded_once():
    low = 2**60
    trained = np.repeat([[float(low)], [float(low + 2**37)]], 20, axis=0)
    model = catboost.CatBoostRegressor(**QUIET).fit(trained, trained[:, 0] > low)
    # Rounded to double precision first, the second of these would fall on the other side.
    X = np.array([[low + 2**36], [low + 2**36 + 1], [low + 2**37]], dtype=np.int64)
    check(model, X)
    flags = np.random.default_rng(0).random((60, 2)) < 0.5
    check(catboost.CatBoostRegressor(**QUIET).fit(flags, flags @ [1.0, 2.0]), flags)


@pytest.mark.parametrize("growth", GROWTH)
def test_cover_is_the_training_weight(growth):
    X, y = data()
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    model = catboost.CatBoostRegressor(**QUIET, **growth).fit(X, y, sample_weight=weight)
    ensemble = reader.read(model)
    leaves = ensemble.leaves(ensemble.numbers(table_of(X, None)))
    counted = np.zeros(len(ensemble.column))
    for tree in leaves.T:
        np.add.at(counted, tree, weight)
    inner = ensemble.column != LEAF
    np.testing.assert_allclose(ensemble.cover[~inner], counted[~inner])
    children = ensemble.cover[ensemble.left] + ensemble.cover[ensemble.right]
    np.testing.assert_allclose(ensemble.cover[inner], children[inner])
    np.testing.assert_allclose(ensemble.cover[ensemble.roots], weight.sum())


def test_nodes_without_a_choice_are_left_out():
    X, y = data()
    X = X[:, :2]
    model = catboost.CatBoostRegressor(**QUIET | {"depth": 6}).fit(X, y)
    ensemble = check(model, awkward_rows(reader.read(model), X))
    assert len(ensemble.column) < 0.7 * 12 * (2**7 - 1)
    inner = np.flatnonzero(ensemble.column != LEAF)
    for child, at_most in ((ensemble.left, True), (ensemble.right, False)):
        same = inner[ensemble.column[child[inner]] == ensemble.column[inner]]
        below, above = ensemble.threshold[child[same]], ensemble.threshold[same]
        assert ((below < above) if at_most else (below > above)).all()


def levels_frame(n=300):
    rng = np.random.default_rng(3)
    city, count = rng.choice(CITIES, n), rng.integers(-2, 4, n)
    return pd.DataFrame(
        {"size": rng.normal(size=n), "city": city, "flag": rng.random(n) < 0.5, "count": count}
    )


def fit_levels(frame, **options):
    y = (
        frame["size"]
        + (frame["city"] == "Genf")
        + 2 * (frame["city"] == "") * frame["flag"]
        + (frame["count"] == 2)
    )
    y += 3 * (frame["city"] == CITIES[5]) - 2 * (frame["city"] == CITIES[6])
    options = QUIET | {"iterations": 25, "one_hot_max_size": 20} | options
    return catboost.CatBoostRegressor(cat_features=["city", "flag", "count"], **options).fit(frame, y)


@pytest.mark.parametrize("growth", GROWTH)
def test_one_hot_categories(growth):
    frame = levels_frame()
    model = fit_levels(frame, **growth)
    unseen = frame.head(40).assign(city=["never", "seen"] * 20, count=range(40))
    both = pd.concat([frame, unseen], ignore_index=True)
    ensemble = check(model, both)
    assert len(ensemble.category_sets) > 4
    check(model, both.assign(city=pd.Categorical(both["city"]), count=both["count"].astype("int8")))
    check(model, both.assign(city=both["city"].astype(object), flag=pd.Categorical(both["flag"])))
    check(model, both.assign(count=both["count"].astype(str), flag=both["flag"].astype("boolean")))
    check(model, both.to_numpy(dtype=object))
    polars = pl.DataFrame(both.to_dict("list"))
    check(model, polars)
    check(model, polars.with_columns(pl.col("city").cast(pl.Enum([*CITIES, "never", "seen"]))))
    again = pickle.loads(pickle.dumps(ensemble))
    assert np.array_equal(again.numbers(table_of(both, None)), ensemble.numbers(table_of(both, None)))


def fit_statistics(frame, loss="RMSE", **options):
    """Return a model that splits by statistics of categories, which interact with each other and a number."""
    places = frame["city"].map({city: place for place, city in enumerate(CITIES)})
    y = np.sin(3.0 * places + frame["count"]) * (1 + (frame["size"] > 0)) + 0.5 * frame["flag"]
    options = QUIET | {"iterations": 25, "one_hot_max_size": 1, "max_ctr_complexity": 1} | options
    named = {"cat_features": ["city", "flag", "count"], **options}
    if loss == "RMSE":
        return catboost.CatBoostRegressor(**named).fit(frame, y)
    classes = pd.qcut(y, 2 if loss == "Logloss" else 3, labels=False)
    return catboost.CatBoostClassifier(loss_function=loss, **named).fit(frame, classes)


KINDS = [
    {},
    {"simple_ctr": ["Buckets:TargetBorderCount=3", "Counter"]},
    {"simple_ctr": ["BinarizedTargetMeanValue:TargetBorderCount=4:Prior=0.3"]},
    {"simple_ctr": ["Borders:TargetBorderCount=5:Prior=0.3"], "counter_calc_method": "Full"},
    {"loss": "Logloss"},
    {"loss": "MultiClass"},
    {"loss": "MultiClass", "simple_ctr": ["Borders", "Counter:Prior=2"]},
]


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("options", KINDS)
def test_target_statistics_of_single_columns(options, growth):
    frame = levels_frame()
    model = fit_statistics(frame, **options, **growth)
    unseen = frame.head(40).assign(city=["never", "seen"] * 20, count=range(40))
    both = pd.concat([frame, unseen], ignore_index=True)
    ensemble = check(model, both)
    columns = {encoding.feature for encoding in ensemble.encodings[4:]}
    assert len(columns) > 1  # the first four are the columns themselves
    assert (ensemble.column >= 4).sum() > 10
    check(model, pl.DataFrame(both.to_dict("list")))
    again = pickle.loads(pickle.dumps(ensemble))
    assert np.array_equal(again.numbers(table_of(both, None)), ensemble.numbers(table_of(both, None)))


def test_damaged_target_statistics_are_refused():
    model = fit_statistics(levels_frame())
    text = reader._exported(model)

    def damaged(change):
        dump = json.loads(text)
        (first, *_), tables = dump["features_info"]["ctrs"], dump["ctr_data"]
        change(first, tables[first["identifier"]])
        with CatBoost().reading():
            return reader.parsed(model, json.dumps(dump).encode())

    for change, message in (
        (lambda one, held: one.update(slope=1), "target statistics with 'slope'"),
        (lambda one, held: held["hash_map"].pop(), "incomplete"),
        (lambda one, held: held.update(hash_stride=1), "number of fields of 1"),
        (lambda one, held: one.update(target_border_idx=9), "target border of 9"),
        (lambda one, held: one.update(borders=[*one["borders"][::-1], 0.0]), "do not ascend"),
        (lambda one, held: one.update(identifier="none"), "cannot be read"),
        (lambda one, held: one.update(ctr_type="Counter"), "the table of another"),
        (lambda one, held: one.update(target_border_idx=1), "target border of 1"),
        (lambda one, held: held["hash_map"].__setitem__(0, "-5"), "other keys than hashes"),
        (lambda one, held: held["hash_map"].__setitem__(0, 1.5), "other keys than hashes"),
    ):
        with pytest.raises(RefusalError, match=message):
            damaged(change)
    other = json.loads(text)
    tested = [split for tree in other["oblivious_trees"] for split in tree["splits"]]
    next(one for one in tested if one["split_type"] == "OnlineCtr")["ctr_target_border_idx"] += 1
    with pytest.raises(RefusalError, match="is not the test of its split"):
        reader.parsed(model, json.dumps(other).encode())
    other = json.loads(text)
    for one in other["features_info"]["ctrs"]:
        elements, one["ctr_type"] = one["elements"], "FeatureFreq"
        name = json.dumps({"identifier": elements, "type": "FeatureFreq"})
        other["ctr_data"][name] = other["ctr_data"][one["identifier"]]
        one["identifier"] = name
    with pytest.raises(RefusalError, match="of the kind FeatureFreq"):
        reader.parsed(model, json.dumps(other).encode())


def test_a_level_that_is_known_is_not_asked_again():
    frame = levels_frame()
    ensemble = check(fit_levels(frame, depth=6), frame)
    again = 0
    for node in np.flatnonzero(ensemble.category_set >= 0):
        below, is_level = [ensemble.left[node], ensemble.right[node]], [False, True]
        while below:
            at, known = below.pop(), is_level.pop()
            if ensemble.column[at] == LEAF:
                continue
            same = ensemble.column[at] == ensemble.column[node]
            assert not (same and (known or ensemble.category_set[at] == ensemble.category_set[node]))
            again += same
            below += [ensemble.left[at], ensemble.right[at]]
            is_level += [known, known]
    assert again  # of a category that it is not, another one may be evaluated


def test_missing_levels_and_real_numbers_are_refused_as_catboost_does():
    frame = levels_frame()
    ensemble = reader.read(fit_levels(frame))
    for city in ([None] * 10, [1.5] * 10):
        with pytest.raises(ModelError):
            ensemble.numbers(table_of(frame.head(10).assign(city=pd.Series(city, dtype=object)), None))


def test_hashes_of_levels_of_any_length(tmp_path):
    levels = [("äbcdefghijklmnopqrstuvwxyz 0123456789" * 6)[n % 5 : n % 5 + n] for n in range(200)]
    frame = pd.DataFrame({"level": levels, "x": 1.0})
    small = pd.DataFrame({"level": ["a", "b"] * 10, "x": np.arange(20.0)})
    model = catboost.CatBoostRegressor(cat_features=["level"], **QUIET).fit(small, small["x"])
    model.save_model(
        str(tmp_path / "m.py"), format="python", pool=catboost.Pool(frame, cat_features=["level"])
    )
    text = (tmp_path / "m.py").read_text()
    start = text.index("cat_features_hashes = ") + len("cat_features_hashes = ")
    found = ast.literal_eval(text[start : text.index("}", start) + 1])
    assert len(found) == len(set(levels))
    assert {level.encode("latin-1"): number for level, number in found.items()} == {
        level.encode(): reader.category_hash(level) for level in levels
    }


REGRESSION = ["RMSE", "MAE", "Quantile:alpha=0.9", "MultiQuantile:alpha=0.1,0.5", "Poisson", "Lq:q=3", "MAPE"]
REGRESSION += [
    "Tweedie:variance_power=1.5",
    "LogCosh",
    "Huber:delta=1",
    "LogLinQuantile",
    "Expectile:alpha=0.3",
]


@pytest.mark.parametrize("loss", REGRESSION)
def test_regression_losses(loss):
    X, y = data()
    model = catboost.CatBoostRegressor(loss_function=loss, **QUIET).fit(X, np.abs(y) + 0.1)
    check(model, X)
    check_link(model, X, "predict")


def test_log_links_belong_to_the_regressor_only():
    X, y = data()
    model = catboost.CatBoost({"loss_function": "Poisson", **QUIET}).fit(X, np.abs(y))
    check_link(model, X, "predict")
    model = catboost.CatBoostRegressor(objective="Poisson", **QUIET).fit(X, np.abs(y))
    check_link(model, X, "predict")
    assert reader.read(model).links["predict"].name == "exp"


def test_several_targets():
    X, y = data()
    for growth in GROWTH:
        model = catboost.CatBoostRegressor(loss_function="MultiRMSE", **QUIET, **growth)
        model.fit(X, np.stack([y, -2 * y + X[:, 3]], axis=1))
        check(model, X)
        check_link(model, X, "predict")


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize(
    "loss",
    ["Logloss", "CrossEntropy", "Focal:focal_alpha=0.5;focal_gamma=1.0", "MultiClass", "MultiClassOneVsAll"],
)
def test_classifiers(loss, growth):
    X, y = data()
    target = np.digitize(y, [0.0, 1.0]) if loss.startswith("Multi") else y > 0
    target = target * 0.7 + 0.1 if loss == "CrossEntropy" else target
    model = catboost.CatBoostClassifier(loss_function=loss, **QUIET, **growth).fit(X, target)
    ensemble = check(model, X)
    check_link(model, X, "predict_proba")
    assert ensemble.n_margins == (3 if loss.startswith("Multi") else 1)
    assert "labels" in ensemble.refused["predict"]


@pytest.mark.parametrize("loss", ["MultiLogloss", "MultiCrossEntropy"])
def test_several_labels(loss):
    X, y = data()
    target = np.stack([y > 0, X[:, 3] > 0, X[:, 4] > 1], axis=1).astype(int)
    model = catboost.CatBoostClassifier(loss_function=loss, **QUIET).fit(X, target)
    check_link(model, X, "predict_proba")


def test_ranker():
    X, y = data()
    group = np.repeat(np.arange(40), 10)
    model = catboost.CatBoostRanker(loss_function="YetiRank", **QUIET).fit(X, y - y.min(), group_id=group)
    ensemble = reader.read(model)
    margins = ensemble.margins(ensemble.numbers(table_of(X, None)))[:, 0]
    np.testing.assert_allclose(ensemble.links["predict"].apply(margins), model.predict(X), rtol=1e-12)


def test_scale_bias_best_iteration_and_sums():
    X, y = data()
    model = catboost.CatBoostRegressor(**QUIET).fit(X, y)
    model.set_scale_and_bias(1 / 3, 0.7)
    check(model, X)
    noise = np.random.default_rng(5).normal(size=len(y))
    stopped = catboost.CatBoostRegressor(**QUIET | {"iterations": 60, "learning_rate": 0.9})
    stopped.fit(X, noise, eval_set=(X, -noise), use_best_model=True)
    assert len(check(stopped, X).roots) == stopped.tree_count_ < 60
    deeper = catboost.CatBoostRegressor(**QUIET | {"depth": 6}).fit(X, y)
    total = catboost.sum_models([deeper, stopped, model], weights=[0.5, 2.0, 1.0])
    check(total, awkward_rows(reader.read(total), X))


def test_a_model_loaded_from_a_file(tmp_path):
    X, y = data()
    catboost.CatBoostRegressor(loss_function="Tweedie:variance_power=1.2", **QUIET).fit(
        X, np.abs(y)
    ).save_model(str(tmp_path / "model.cbm"))
    loaded = catboost.CatBoostRegressor().load_model(str(tmp_path / "model.cbm"))
    check(loaded, X)
    check_link(loaded, X, "predict")


def test_trees_without_splits_and_columns_without_use():
    X, y = data()
    constant = QUIET | {"allow_const_label": True, "bootstrap_type": "No"}
    for growth in GROWTH:
        check(catboost.CatBoostRegressor(**constant, **growth).fit(X, np.ones(len(X))), X)
    X[:, 1] = 1.0
    check(catboost.CatBoostRegressor(ignored_features=[0], **QUIET).fit(X, y), X)


def test_refused_responses():
    X, y = data()
    model = catboost.CatBoostRegressor(loss_function="RMSEWithUncertainty", **QUIET).fit(X, y)
    ensemble = check(model, X)
    assert "variance" in ensemble.refused["predict"]
    assert "predict" not in ensemble.links

    class Own:
        def calc_ders_range(self, approxes, targets, weights):
            return [(targets[i] - approxes[i], -1.0) for i in range(len(targets))]

    model = catboost.CatBoostClassifier(loss_function=Own(), eval_metric="Logloss", **QUIET)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Can't optimi[sz]e method", UserWarning)  # by numba
        model.fit(X, y > 0)
    ensemble = reader.read(model)
    assert "predict_proba" not in ensemble.links
    assert "PythonUserDefined" in ensemble.refused["predict_proba"]


def test_refused_models():
    X, y = data()
    frame = levels_frame()
    with pytest.raises(RefusalError, match=r"target statistics of combinations of '.*max_ctr_complexity=1"):
        reader.read(fit_statistics(frame, max_ctr_complexity=4, iterations=100))
    words = pd.DataFrame({"said": np.where(y > 0, "good thing", "bad thing indeed"), "x": X[:, 3]})
    text = catboost.CatBoostClassifier(text_features=["said"], **QUIET).fit(words, y > 0)
    with pytest.raises(RefusalError, match="text features"):
        reader.read(text)
    vectors = pd.DataFrame({"where": list(np.nan_to_num(X)), "x": X[:, 3]})
    embedded = catboost.CatBoostClassifier(embedding_features=["where"], **QUIET).fit(vectors, y > 0)
    with pytest.raises(RefusalError, match="embedding features"):
        reader.read(embedded)
    with pytest.raises(RefusalError, match="not fitted"):
        reader.read(catboost.CatBoostRegressor())

    class Other(catboost.CatBoostRegressor):
        def predict(self, *args, **kwargs):
            return 2 * super().predict(*args, **kwargs)

    with pytest.raises(RefusalError, match="not a class of CatBoost"):
        reader.read(Other(**QUIET).fit(X, y))


def test_refused_trees():
    columns = reader.Columns.of({}, {})
    with pytest.raises(RefusalError, match="of the kind Other"):
        columns.splits([{"split_type": "Other", "split_index": 0}])
    with pytest.raises(RefusalError, match="has no trees"):
        reader._catboost_forest({"oblivious_trees": []}, columns)


def test_fields_that_are_not_known_are_refused_and_the_installed_version_has_none():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(city=np.array(CITIES[:4])[np.arange(len(X)) % 4])
    options = {"cat_features": ["city"], "one_hot_max_size": 10, **QUIET}
    for growth in GROWTH:
        model = catboost.CatBoostRegressor(**options, **growth).fit(frame, y + 3 * (frame.city == "Bern"))
        text = reader._exported(model)
        assert reader.parsed(model, text).category_sets
        for what in ("models", "features", "splits", "trees" if not growth else "nodes"):
            dump = json.loads(text)
            tree = (dump.get("oblivious_trees") or dump["trees"])[0]
            split = tree["splits"][0] if not growth else tree["split"]
            part = {"models": dump, "features": dump["features_info"]["float_features"][0], "splits": split}
            part.get(what, tree)["slope"] = 1.0
            expected = f"CatBoost {catboost.__version__} writes {what} with 'slope'"
            with pytest.raises(RefusalError, match=expected):
                reader.parsed(model, json.dumps(dump).encode())

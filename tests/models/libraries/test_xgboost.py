"""Trees of XGBoost, read and compared with what XGBoost itself answers."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb

from paribus._data.read import table_of
from paribus._models.ensemble import LEAF
from paribus._models.libraries import xgboost as reader
from paribus._models.libraries.xgboost import Categories, XGBoost, read
from paribus._models.predictor import Link
from paribus.errors import ModelError, RefusalError

VERSION = tuple(int(part) for part in xgb.__version__.split(".")[:2])
STORES_LEVELS = VERSION >= (3, 1)
RNG = np.random.default_rng(3)
N = 300
X = RNG.normal(size=(N, 4))
X[:, 2] = RNG.integers(0, 6, N)  # few values, so that rows tie with thresholds
FULL = X.copy()
SCORE = 2 * X[:, 0] + X[:, 1] * X[:, 3] + X[:, 2]
X[RNG.random(X.shape) < 0.12] = np.nan
Y = SCORE + RNG.normal(size=N) * 0.3 + 3
POSITIVE = np.exp(Y / 4)
TWO = (SCORE > 2).astype(int)
THREE = np.digitize(SCORE, [1, 4])
TARGETS = np.column_stack([Y, -Y, np.cos(SCORE)])
SMALL = {"n_estimators": 6, "max_depth": 4, "n_jobs": 1, "verbosity": 0}
NATIVE = {"max_depth": 4, "nthread": 1, "verbosity": 0}
LEVELS = [f"l{number:02d}" for number in range(12)]


def trained(parameters, label, rounds=6, **keywords):
    return xgb.train(NATIVE | parameters, xgb.DMatrix(X, label), rounds, **keywords)


def near(threshold):
    """The threshold and its neighbors in both precisions, and where rounding changes sides."""
    single = np.nextafter(np.float32(threshold), np.float32(np.inf))  # it was written one float lower
    down, up = np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf))
    middles = [(np.float64(single) + np.float64(other)) / 2 for other in (down, up)]
    around = [float(single), float(down), float(up), threshold, *middles]
    return around + [np.nextafter(value, way) for value in around for way in (-np.inf, np.inf)]


def rows_to_ask(ensemble, table=X):
    """Rows of a numeric table, and rows in which one column sits at a threshold or next to it."""
    rng = np.random.default_rng(0)
    compared = np.flatnonzero((ensemble.column != LEAF) & (ensemble.category_set < 0))
    rows = [table[:80], FULL[:20, : table.shape[1]]]
    for node in rng.choice(compared, min(25, len(compared)), replace=False) if len(compared) else ():
        values = near(ensemble.threshold[node])
        block = np.repeat(table[rng.integers(len(table), size=1)], len(values), axis=0)
        block[:, ensemble.column[node]] = values
        rows.append(block)
    rows.append(np.full((1, table.shape[1]), np.nan))
    return np.concatenate(rows)


def one_to_one(ours, theirs):
    for tree in range(ours.shape[1]):
        pairs = np.unique(np.column_stack([ours[:, tree], theirs[:, tree]]), axis=0)
        if len(np.unique(pairs[:, 0])) != len(pairs) or len(np.unique(pairs[:, 1])) != len(pairs):
            return False
    return ours.shape == theirs.shape


def close(ours, theirs, relative=3e-6):
    theirs = np.reshape(theirs, (len(ours), -1))
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=relative, atol=relative * max(1.0, np.abs(theirs).max()))


def natively(booster, table, **keywords):
    return XGBoost().native_predictor(booster, keywords).raw(table)


def own_leaves(model, table):
    best = getattr(model, "best_iteration", None) if hasattr(model, "get_booster") else None
    used = {} if best is None else {"iteration_range": (0, best + 1)}
    # Asked of the booster, because a wrapper's apply wants names and knows no categories in some versions.
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    return np.reshape(natively(booster, table, pred_leaf=True, **used), (len(table), -1))


def answers(model, table):
    """What the model answers by every response, of two classes the positive one."""
    if not hasattr(model, "get_booster"):
        margin = natively(model, table, output_margin=True)
        return {"predict": natively(model, table), "decision_function": margin}
    found = {"predict": model.predict(table), "decision_function": model.predict(table, output_margin=True)}
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(table)
        if np.ndim(found["decision_function"]) == 1:
            found["predict_proba"] = found["predict_proba"][:, 1]
    return found


def compare(model, table, ensemble=None, leaves=True):
    """Leaves, margins and every response on the rows of a table of any library."""
    ensemble = ensemble or read(model)
    numbers = ensemble.numbers(table_of(table, None))
    if leaves:
        assert one_to_one(ensemble.leaves(numbers), own_leaves(model, table))
    theirs = answers(model, table)
    assert set(ensemble.links) | set(ensemble.refused) == set(theirs)
    assert not set(ensemble.links) & set(ensemble.refused)
    assert ensemble.links["decision_function"] == Link()
    margins = ensemble.margins(numbers)
    for response, link in ensemble.links.items():
        # An exponential turns the rounding of the margin into a relative error of its own size.
        error = 1e-4 if link.name == "exp" else 3e-6
        close(link.apply(margins.T).T, theirs[response], error)
    return ensemble


def check_covers(ensemble):
    inner = ensemble.column != LEAF
    both = ensemble.cover[ensemble.left[inner]] + ensemble.cover[ensemble.right[inner]]
    np.testing.assert_allclose(ensemble.cover[inner], both, rtol=1e-4)


REGRESSIONS = {
    "reg:squarederror": Y,
    "reg:linear": Y,
    "reg:absoluteerror": Y,
    "reg:pseudohubererror": Y,
    "reg:squaredlogerror": POSITIVE,
    "reg:gamma": POSITIVE,
    "reg:tweedie": POSITIVE,
    "count:poisson": POSITIVE,
    "reg:logistic": TWO,
    "binary:logistic": TWO,
    "binary:logitraw": TWO,
}


@pytest.mark.parametrize("objective", REGRESSIONS)
def test_objectives_of_one_margin(objective):
    model = xgb.XGBRegressor(objective=objective, **SMALL).fit(X, REGRESSIONS[objective])
    ensemble = read(model)
    assert "predict" in ensemble.links
    compare(model, rows_to_ask(ensemble), ensemble)
    check_covers(ensemble)


def aft():
    data = xgb.DMatrix(X)
    data.set_float_info("label_lower_bound", POSITIVE)
    data.set_float_info("label_upper_bound", POSITIVE)
    return xgb.train(NATIVE | {"objective": "survival:aft"}, data, 5)


MODELS = {
    "quantiles": lambda: xgb.XGBRegressor(
        objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9], **SMALL
    ).fit(X, Y),
    "one quantile": lambda: xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=0.3, **SMALL).fit(
        X, Y
    ),
    "cox": lambda: trained({"objective": "survival:cox"}, POSITIVE),
    "aft": aft,
    "classifier": lambda: xgb.XGBClassifier(**SMALL).fit(X, TWO),
    "classifier of raw logits": lambda: xgb.XGBClassifier(objective="binary:logitraw", **SMALL).fit(X, TWO),
    "classifier of one class": lambda: xgb.XGBClassifier(**SMALL).fit(X, 0 * TWO),
    "three classes": lambda: xgb.XGBClassifier(**SMALL).fit(X, THREE),
    "softmax wrapper": lambda: xgb.XGBClassifier(objective="multi:softmax", **SMALL).fit(X, THREE),
    "two margins": lambda: xgb.XGBClassifier(objective="multi:softprob", num_class=2, **SMALL).fit(X, TWO),
    "labels": lambda: xgb.XGBClassifier(**SMALL).fit(X, np.column_stack([TWO, 1 - TWO, THREE > 1])),
    "targets": lambda: xgb.XGBRegressor(**SMALL).fit(X, TARGETS),
    "forest": lambda: xgb.XGBRFRegressor(**SMALL).fit(X, Y),
    "forest classifier": lambda: xgb.XGBRFClassifier(**SMALL).fit(X, THREE),
    "parallel trees": lambda: xgb.XGBClassifier(num_parallel_tree=3, subsample=0.5, **SMALL).fit(X, THREE),
    "dart": lambda: xgb.XGBRegressor(booster="dart", rate_drop=0.5, **SMALL).fit(X, Y),
    "dart of three classes": lambda: xgb.XGBClassifier(
        booster="dart", rate_drop=0.5, num_parallel_tree=2, **SMALL
    ).fit(X, THREE),
    "native dart": lambda: trained({"booster": "dart", "rate_drop": 0.5}, Y, 9),
    "native three classes": lambda: trained({"objective": "multi:softprob", "num_class": 3}, THREE),
    "ranker": lambda: xgb.XGBRanker(objective="rank:ndcg", **SMALL).fit(X, TWO, qid=np.arange(N) // 20),
    "pairwise ranker": lambda: xgb.XGBRanker(objective="rank:pairwise", **SMALL).fit(
        X, TWO, qid=np.arange(N) // 20
    ),
    "map ranker": lambda: xgb.XGBRanker(objective="rank:map", **SMALL).fit(X, TWO, qid=np.arange(N) // 20),
    "base score": lambda: xgb.XGBRegressor(base_score=7.5, **SMALL).fit(X, Y),
    # In single precision the logit of this is 13.745, and 13.815 in double.
    "extreme base score": lambda: xgb.XGBRegressor(
        objective="binary:logistic", base_score=0.999999, **SMALL
    ).fit(X, TWO),
    "base score as mean": lambda: xgb.XGBRegressor(objective="count:poisson", base_score=2.5, **SMALL).fit(
        X, POSITIVE
    ),
    "no tree": lambda: xgb.XGBRegressor(n_estimators=0, n_jobs=1).fit(X, Y),
    "stumps without split": lambda: xgb.XGBRegressor(n_estimators=2, min_child_weight=1e9, n_jobs=1).fit(
        X, Y
    ),
    "custom objective": lambda: xgb.XGBRegressor(
        objective=lambda a, b: (b - a, np.ones_like(a)), **SMALL
    ).fit(X, Y),
    "custom objective of a classifier": lambda: xgb.XGBClassifier(
        objective=lambda a, b: (1 / (1 + np.exp(-b)) - a, np.full_like(b, 0.25)), **SMALL
    ).fit(X, TWO),
    "native custom objective": lambda: trained(
        {}, Y, obj=lambda predicted, data: (predicted - data.get_label(), np.ones(len(predicted)))
    ),
    "approx": lambda: xgb.XGBRegressor(tree_method="approx", **SMALL).fit(X, Y),
    "weights": lambda: xgb.XGBRegressor(**SMALL).fit(X, Y, sample_weight=RNG.random(N)),
    "base margin": lambda: xgb.XGBRegressor(**SMALL).fit(X, Y, base_margin=RNG.normal(size=N)),
    "lossguide": lambda: xgb.XGBRegressor(
        grow_policy="lossguide", max_leaves=15, max_depth=0, n_estimators=5, n_jobs=1
    ).fit(X, Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model = MODELS[name]()
    ensemble = read(model)
    compare(model, rows_to_ask(ensemble), ensemble, leaves=name != "no tree")
    check_covers(ensemble)


@pytest.mark.parametrize(
    ("kind", "label"), [(xgb.XGBRegressor, TARGETS), (xgb.XGBClassifier, THREE)], ids=["targets", "classes"]
)
def test_one_tree_for_all_margins(kind, label):
    model = kind(multi_strategy="multi_output_tree", **SMALL).fit(X, label)
    ensemble = read(model)
    assert ensemble.value.shape[1] == 3
    compare(model, rows_to_ask(ensemble), ensemble)
    if ensemble.cover is not None:  # not recorded before version 3.2
        check_covers(ensemble)


@pytest.mark.skipif(not STORES_LEVELS, reason="one base score serves all targets")
def test_a_base_score_for_each_target():
    model = xgb.XGBRegressor(base_score=[1.0, -2.0, 3.0], **SMALL).fit(X, TARGETS)
    assert compare(model, X).base.tolist() == [1.0, -2.0, 3.0]


def test_nodes_pruned_away_are_left_out():
    model = xgb.XGBRegressor(tree_method="exact", gamma=20, **SMALL).fit(X, Y)
    trees = saved(model.get_booster())["learner"]["gradient_booster"]["model"]["trees"]
    assert sum(int(tree["tree_param"]["num_deleted"]) for tree in trees) > 0
    ensemble = read(model)
    compare(model, rows_to_ask(ensemble), ensemble)
    check_covers(ensemble)


def stopped_early(**parameters):
    model = xgb.XGBRegressor(
        n_estimators=100, learning_rate=0.5, early_stopping_rounds=2, n_jobs=1, **parameters
    )
    return model.fit(X[:150], Y[:150], eval_set=[(X[150:], Y[150:])], verbose=False)


@pytest.mark.parametrize(
    "parameters", [{"num_parallel_tree": 2, "subsample": 0.7}, {"booster": "dart", "rate_drop": 0.3}]
)
def test_a_wrapper_stops_at_its_best_iteration_and_a_booster_does_not(parameters):
    model = stopped_early(**parameters)
    per_round = parameters.get("num_parallel_tree", 1)
    rounds = model.get_booster().num_boosted_rounds()
    assert len(compare(model, X).roots) == (model.best_iteration + 1) * per_round < rounds * per_round
    assert len(compare(model.get_booster(), X).roots) == rounds * per_round


@pytest.mark.parametrize("part", [slice(0, 3), slice(2, 5), slice(0, 6, 2)])
def test_slices_of_a_booster(part):
    assert len(compare(trained({"num_parallel_tree": 2}, Y)[part], X).roots) == 6


def test_a_slice_of_dart():
    compare(trained({"booster": "dart", "rate_drop": 0.5}, Y)[1:4], X)


def test_a_saved_and_a_pickled_model(tmp_path):
    model = xgb.XGBClassifier(**SMALL).fit(X, THREE)
    model.get_booster().save_model(tmp_path / "model.json")
    compare(xgb.Booster(model_file=tmp_path / "model.json"), X)
    compare(pickle.loads(pickle.dumps(model)), X)


EXTREMES = np.array([np.inf, -np.inf, 1e39, -1e39, 3.4028235e38, -3.4028235e38, 1e-46, -1e-46, 0.0, -0.0])


def test_infinities_of_a_wrapper_and_of_a_booster():
    model = xgb.XGBRegressor(**SMALL).fit(FULL, Y)
    rows = FULL[:40].copy()
    for column in range(4):
        rows[column * 10 : (column + 1) * 10, column] = EXTREMES
    compare(model, rows, leaves=False)  # leaves are only told of a matrix, which takes no infinity
    with np.errstate(over="ignore"):
        singles = rows.astype(np.float32)
    compare(model, singles, leaves=False)
    compare(model, pd.DataFrame(rows), leaves=False)
    ensemble = read(model.get_booster())
    with pytest.raises(xgb.core.XGBoostError, match="inf"):
        natively(model.get_booster(), rows)
    for bad in EXTREMES[:4]:
        with pytest.raises(ModelError, match="infinite"):
            ensemble.numbers(table_of(np.full((1, 4), bad), None))
    finite = np.isfinite(singles).all(axis=1)
    compare(model.get_booster(), rows[finite], ensemble)


TABLES = {
    "float32": FULL.astype(np.float32),
    "float16": FULL.astype(np.float16),
    "by columns": np.asfortranarray(X),
    "whole": (FULL * 3).astype(np.int64),
    "large whole": (FULL * 1e8).astype(np.int64),  # beyond what single precision tells apart
    "flags": FULL > 0,
    "objects": X.astype(object),
    "pandas": pd.DataFrame(X, columns=list("abcd")),
    "pandas of all types": pd.DataFrame(
        {
            "a": FULL[:, 0] > 0,
            "b": FULL[:, 1].astype("f4"),
            "c": FULL[:, 2].astype("int8"),
            "d": pd.array(np.where(FULL[:, 3] > 1, None, FULL[:, 2]), dtype="Int64"),
        }
    ),
    "polars": pl.DataFrame(X, schema=list("abcd")),
    "polars with nulls": pl.DataFrame(X, schema=list("abcd")).fill_nan(None),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    table = TABLES[name]
    model = xgb.XGBRegressor(**SMALL).fit(table, Y)
    compare(model, table)
    compare(model.get_booster(), table)


def frame(levels=LEVELS, rows=N, seed=5):
    rng = np.random.default_rng(seed)
    named = rng.choice(levels, rows)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "c": pd.Categorical(named, categories=levels[::-1]),
            "k": pd.Categorical(rng.choice([30, 10, 20], rows), categories=[20, 10, 30]),
        }
    )
    table.loc[::7, "c"] = np.nan
    return table


def of_categories(table):
    effect = np.random.default_rng(1).normal(size=len(LEVELS)) * 3
    y = table.a + effect[table.c.cat.codes] + 2 * (table.k == 10)
    return xgb.XGBRegressor(enable_categorical=True, max_cat_to_onehot=4, **SMALL).fit(table, y)


CATEGORIES = frame()
MODEL = of_categories(CATEGORIES)


def codes_of(table):
    return np.column_stack([table.a, table.c.cat.codes.replace(-1, np.nan), table.k.cat.codes])


def test_categories_of_a_frame():
    ensemble = compare(MODEL, CATEGORIES)
    sizes = {len(levels.listed) for levels in ensemble.category_sets}
    assert 1 in sizes  # one category against the others
    assert max(sizes) > 1
    compare(MODEL.get_booster(), CATEGORIES)
    compare(MODEL.get_booster()[:3], CATEGORIES)


def test_levels_in_another_order_or_fewer_of_them():
    other = CATEGORIES.assign(c=CATEGORIES.c.cat.reorder_categories(LEVELS))
    compare(MODEL, other)
    compare(MODEL, CATEGORIES.assign(c=CATEGORIES.c.cat.remove_categories(LEVELS[:3])))


def test_codes_of_an_array():
    codes = codes_of(CATEGORIES)
    compare(MODEL, codes)
    odd = np.array([-0.5, -0.0, 0.4, 0.999, 1.5, -1.0, -3.0, 11.5, 12.0, 100.0, 2.0**24, 1e30])
    rows = codes[: 2 * len(odd)].copy()
    rows[:, 0] = 0.5
    for column in (1, 2):
        rows[:, column] = np.resize(odd, len(rows))
        compare(MODEL, rows)
    rows[:2, 1] = np.inf, -np.inf
    compare(MODEL, rows, leaves=False)


def test_codes_are_whole_numbers_of_an_array_even_if_levels_are():
    codes = codes_of(CATEGORIES)[:, 1:].copy()
    table = CATEGORIES[["k"]].assign(z=1.0)
    model = xgb.XGBRegressor(enable_categorical=True, **SMALL).fit(table, codes[:, 1])
    compare(model, table)
    compare(model, np.column_stack([codes[:, 1], np.ones(N)]).astype(int))


@pytest.mark.skipif(not STORES_LEVELS, reason="categories are known by their order alone")
def test_a_level_that_training_did_not_know_is_refused():
    ensemble = read(MODEL)
    wider = CATEGORIES.assign(c=CATEGORIES.c.cat.add_categories(["l055"]))
    np.testing.assert_array_equal(
        ensemble.numbers(table_of(wider, None)), ensemble.numbers(table_of(CATEGORIES, None))
    )
    wider.loc[5, "c"] = "l055"
    with pytest.raises(RefusalError, match="'c' has a category that was not in the training data"):
        ensemble.numbers(table_of(wider, None))


@pytest.mark.skipif(STORES_LEVELS, reason="categories are known by their names")
def test_a_level_that_training_did_not_know_has_a_code():
    wider = CATEGORIES.assign(c=CATEGORIES.c.cat.add_categories(["l055"]))
    wider.loc[::3, "c"] = "l055"
    compare(MODEL, wider)


def test_a_column_of_text_is_refused():
    text = CATEGORIES.assign(c=CATEGORIES.c.astype(object).fillna("l01"))
    with pytest.raises(RefusalError, match="'c' is of kind string"):
        read(MODEL).numbers(table_of(text, None))


@pytest.mark.skipif(not STORES_LEVELS, reason="not read before version 3")
def test_categories_of_polars():
    table = CATEGORIES[["a", "c"]]
    model = xgb.XGBRegressor(enable_categorical=True, max_cat_to_onehot=4, **SMALL).fit(table, Y)
    texts = [None if pd.isna(level) else level for level in table.c.tolist()]
    for dtype in (pl.Enum(LEVELS), pl.Categorical):
        other = pl.DataFrame({"a": table.a.to_numpy(), "c": pl.Series(texts, dtype=dtype)})
        if dtype is pl.Categorical and VERSION >= (3, 4):
            with pytest.raises(ValueError, match=r"does not support `polars\.Categorical`"):
                model.predict(other)
            continue
        compare(model, other)
        compare(xgb.XGBRegressor(enable_categorical=True, **SMALL).fit(other, Y), table)


def test_categories_by_feature_types():
    codes = codes_of(CATEGORIES)
    effect = np.sin(5 * np.nan_to_num(codes[:, 1]))
    model = xgb.XGBRegressor(
        feature_types=["q", "c", "c"], enable_categorical=True, max_cat_to_onehot=4, **SMALL
    ).fit(codes, codes[:, 0] + 3 * effect + codes[:, 2])
    ensemble = compare(model, codes)
    assert len(ensemble.category_sets)
    compare(model, pd.DataFrame(codes, columns=list("ack")))
    compare(model, CATEGORIES)  # a frame's categories count by their declared order
    compare(model.get_booster(), codes)


def saved(booster):
    return json.loads(booster.save_raw("json"))


class Saved:
    """A booster known by its JSON alone."""

    def __init__(self, content):
        self.content = content

    def save_raw(self, raw_format):
        assert raw_format == "json"
        return json.dumps(self.content).encode()


def test_the_json_of_older_versions():
    content = saved(MODEL.get_booster())
    learner = content["learner"]
    learner["gradient_booster"]["model"].pop("cats", None)
    parameters = learner["learner_model_param"]
    parameters["base_score"] = parameters["base_score"].strip("[]")
    ensemble = read(Saved(content))
    assert [type(encoding) is Categories for encoding in ensemble.encodings] == [False, True, True]
    assert ensemble.encodings[1].categories == "declared"
    compare(MODEL.get_booster(), CATEGORIES, ensemble)


def test_the_json_of_older_multi_output_trees():
    model = xgb.XGBRegressor(multi_strategy="multi_output_tree", base_score=0.5, **SMALL).fit(X, TARGETS)
    content = saved(model.get_booster())
    content["learner"]["learner_model_param"]["base_score"] = "5E-1"
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        leaves = [node for node, child in enumerate(tree["left_children"]) if child == -1]
        for node in leaves if "leaf_weights" in tree else ():
            place = tree["right_children"][node]
            tree["base_weights"][3 * node : 3 * node + 3] = tree["leaf_weights"][3 * place : 3 * place + 3]
            tree["right_children"][node] = -1
        tree.pop("leaf_weights", None)
        tree.pop("sum_hessian", None)
    ensemble = read(Saved(content))
    assert ensemble.cover is None
    compare(model.get_booster(), X, ensemble)


def test_the_json_of_newer_dart():
    booster = trained({"booster": "dart", "rate_drop": 0.5}, Y)
    content = saved(booster)
    old = content["learner"]["gradient_booster"]
    if "gbtree" in old:  # before XGBoost 3.4
        new = old["gbtree"]
        new["model"]["weight_drop"] = old["weight_drop"]
        content["learner"]["gradient_booster"] = new
    assert len(content["learner"]["gradient_booster"]["model"]["weight_drop"])
    compare(booster, X, read(Saved(content)))


def test_cover_is_the_training_weight():
    weights = RNG.random(N)
    model = xgb.XGBRegressor(**SMALL).fit(X, Y, sample_weight=weights)
    ensemble = read(model)
    counted = np.zeros(len(ensemble.column))
    leaves = ensemble.leaves(ensemble.numbers(table_of(X, None)))
    np.add.at(counted, leaves, weights[:, None])
    np.testing.assert_allclose(
        ensemble.cover[ensemble.column == LEAF], counted[ensemble.column == LEAF], rtol=1e-4
    )


def test_links():
    two = read(xgb.XGBClassifier(**SMALL).fit(X, TWO))
    assert two.links == {"decision_function": Link(), "predict_proba": Link("sigmoid")}
    assert "class labels" in two.refused["predict"]
    assert read(trained({"objective": "count:poisson"}, POSITIVE)).links["predict"] == Link("exp")


@pytest.mark.parametrize("kind", [xgb.XGBRegressor, xgb.XGBClassifier])
def test_labels_of_a_hinge_are_refused(kind):
    model = kind(objective="binary:hinge", **SMALL).fit(X, TWO)
    ensemble = compare(model, X)
    assert set(ensemble.links) == {"decision_function"}
    response = "predict" if kind is xgb.XGBRegressor else "predict_proba"
    assert "'binary:hinge' predicts labels" in ensemble.refused[response]


def test_labels_of_a_native_softmax_are_refused():
    ensemble = compare(trained({"objective": "multi:softmax", "num_class": 3}, THREE), X)
    assert "'multi:softmax' predicts labels" in ensemble.refused["predict"]


def test_a_linear_booster_is_refused():
    with pytest.raises(RefusalError, match="'gblinear' has no trees"):
        read(trained({"booster": "gblinear", "max_depth": None}, Y, 2))


@pytest.mark.parametrize("missing", [-999.0, 0, np.inf])
def test_another_missing_value_is_refused(missing):
    model = xgb.XGBRegressor(missing=missing, **SMALL).fit(FULL, Y)
    with pytest.raises(RefusalError, match=f"missing={missing!r}"):
        read(model)


def test_an_unknown_objective_is_refused():
    content = saved(trained({}, Y))
    content["learner"]["objective"]["name"] = "reg:new"
    with pytest.raises(RefusalError, match="'reg:new' is not known"):
        read(Saved(content))


def test_a_threshold_of_minus_infinity_is_refused():
    content = saved(trained({}, Y))
    content["learner"]["gradient_booster"]["model"]["trees"][0]["split_conditions"][0] = -np.inf
    with pytest.raises(RefusalError, match="minus infinity"):
        read(Saved(content))


def test_codes_compared_with_a_threshold_are_refused():
    content = saved(trained({}, Y))
    content["learner"]["feature_types"] = ["c"] * 4
    with pytest.raises(RefusalError, match="category column with a threshold"):
        read(Saved(content))


def parts_of(dump):
    """Every part of a dump whose fields are known, by what it is called."""
    learner = dump["learner"]
    model = learner["gradient_booster"].get("gbtree", learner["gradient_booster"])["model"]
    yield "learner", learner
    yield "learner_model_param", learner["learner_model_param"]
    yield "gradient_booster", learner["gradient_booster"]
    yield "model", model
    yield from (("trees", tree) for tree in model["trees"])
    yield from (("tree_param", tree["tree_param"]) for tree in model["trees"])
    if "cats" in model:
        yield "cats", model["cats"]
        yield from (("category encoders", encoder) for encoder in model["cats"]["enc"])


def test_fields_that_are_not_known_are_refused_and_the_installed_version_has_none():
    frame = pd.DataFrame({"word": pd.Categorical(np.array(LEVELS)[RNG.integers(0, 12, N)]), "x": FULL[:, 0]})
    with_numbers = frame.assign(word=pd.Categorical(RNG.integers(0, 9, N)))
    vectors = xgb.XGBRegressor(**SMALL, multi_strategy="multi_output_tree").fit(X, TARGETS)
    for model in (
        xgb.XGBRegressor(**SMALL, enable_categorical=True).fit(frame, Y),
        xgb.XGBRegressor(**SMALL, enable_categorical=True).fit(with_numbers, Y),
        xgb.XGBRegressor(**SMALL, booster="dart", rate_drop=0.5).fit(X, Y),
        xgb.XGBClassifier(**SMALL).fit(X, THREE),
        vectors,
    ):
        text = model.get_booster().save_raw("json")
        for what, part in parts_of(json.loads(text)):
            assert set(part) <= reader.KNOWN[what], (what, xgb.__version__)
    for number, (what, _) in enumerate(parts_of(json.loads(text))):
        dump = json.loads(text)
        list(parts_of(dump))[number][1]["leaf_slopes"] = [1.0]
        expected = f"XGBoost {xgb.__version__} writes {what} with 'leaf_slopes'"
        with pytest.raises(RefusalError, match=expected):
            reader.parsed(vectors, json.dumps(dump).encode())

"""LightGBM models as trees: margins, leaves and responses are LightGBM's own."""

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from paribus._data.read import table_of
from paribus._models import ensemble as trees
from paribus._models.libraries import lightgbm as reader
from paribus._models.libraries.lightgbm import read
from paribus.errors import RefusalError

QUIET = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 12, "seed": 1}
pytestmark = pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed")  # by LightGBM 4.4
POLARS = tuple(int(part) for part in lgb.__version__.split(".")[:2]) >= (4, 7)


def numeric(n=400):
    """Columns with missing values, without any, sparse, whole, and next to zero on both sides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[rng.random(n) < 0.2, 0] = np.nan
    X[rng.random(n) < 0.6, 2] = 0.0
    X[:, 3] = rng.integers(-3, 4, n)
    X[:, 4] = rng.choice([-2e-35, -5e-36, 0.0, 5e-36, 3e-35, 1.0], n)
    signal = np.nan_to_num(X[:, 0], nan=1.5) + X[:, 1] * (X[:, 3] > 0) + np.where(X[:, 2] == 0, 1, X[:, 2])
    return X, signal + 2 * (X[:, 4] < 0) + 3 * (X[:, 4] > 1e-35)


def train(objective="regression", rounds=12, target=None, X=None, **params):
    own, signal = numeric()
    y = target(signal) if target else signal
    group = [20] * 20 if objective in ("lambdarank", "rank_xendcg") else None
    data = lgb.Dataset(own if X is None else X, y, group=group, params={"verbose": -1, "min_data_in_bin": 1})
    return lgb.train({**QUIET, "objective": objective, **params}, data, rounds)


def hard_rows(model, X, extra=(), n=600):
    """Rows whose entries are drawn from the data, from around the thresholds, and from what is odd."""
    rng = np.random.default_rng(5)
    rows = X[rng.integers(0, len(X), n)].astype(float)
    tested = model.threshold[(model.column != trees.LEAF) & (model.category_set < 0)]
    single = tested.astype(np.float32)
    near = [tested, np.nextafter(tested, -np.inf), np.nextafter(tested, np.inf), single.astype(float)]
    near += [np.nextafter(single, np.float32(to)).astype(float) for to in (-np.inf, np.inf)]
    odd = [
        np.nan,
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1e-36,
        -1e-36,
        reader.ZERO,
        -reader.ZERO,
        1e300,
        -1e301,
    ]
    pool = np.concatenate([*near, odd, np.repeat(np.array(extra, dtype=float), 20)])
    replaced = rng.random(rows.shape) < 0.6
    rows[replaced] = rng.choice(pool, replaced.sum())
    return rows


def agree(estimator, X, model=None):
    """Compare margins, leaves and every response on a table; return the trees."""
    model = read(estimator) if model is None else model
    booster = getattr(estimator, "booster_", estimator)
    numbers = model.numbers(table_of(X, None))
    margins = model.margins(numbers)
    raw = np.reshape(estimator.predict(X, raw_score=True), (len(margins), -1))
    asked = model.links["decision_function"].apply(margins.T).T
    np.testing.assert_allclose(asked, raw, rtol=1e-12, atol=1e-12 * np.abs(raw).max())
    for response in set(model.links) - {"decision_function"}:
        expected = np.reshape(getattr(estimator, response)(X), (len(margins), -1))
        if response == "predict_proba" and model.n_margins == 1 and expected.shape[1] == 2:
            expected = expected[:, 1:]
        got = model.links[response].apply(margins.T).T
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-14)
    own = booster.predict(X, pred_leaf=True).reshape(len(numbers), -1)
    leaves = model.leaves(numbers)
    assert own.shape == leaves.shape
    for tree in range(own.shape[1]):
        pairs = set(zip(own[:, tree].tolist(), leaves[:, tree].tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    return model


def positive(signal):
    return np.abs(signal) + 0.5


def labels(signal):
    return (signal > 1).astype(int)


def three(signal):
    return np.digitize(signal, [0, 2])


@pytest.mark.parametrize(
    ("objective", "target", "params", "link"),
    [
        ("regression", None, {}, "identity"),
        ("regression", None, {"reg_sqrt": True}, "signed_square"),
        ("regression_l1", None, {}, "identity"),
        ("regression_l1", None, {"reg_sqrt": True}, "signed_square"),
        ("huber", None, {}, "identity"),
        ("fair", None, {}, "identity"),
        ("quantile", None, {"alpha": 0.3}, "identity"),
        ("mape", positive, {}, "identity"),
        ("poisson", positive, {}, "exp"),
        ("gamma", positive, {}, "exp"),
        ("tweedie", positive, {"tweedie_variance_power": 1.3}, "exp"),
        ("binary", labels, {"sigmoid": 0.7, "is_unbalance": True}, "sigmoid"),
        ("cross_entropy", lambda s: 1 / (1 + np.exp(-s)), {}, "sigmoid"),
        ("cross_entropy_lambda", lambda s: 1 / (1 + np.exp(-s)), {}, "softplus"),
        ("multiclass", three, {"num_class": 3}, "softmax"),
        ("multiclassova", three, {"num_class": 3, "sigmoid": 1.3}, "sigmoid"),
        ("lambdarank", three, {}, "identity"),
        ("rank_xendcg", three, {}, "identity"),
    ],
)
def test_objectives(objective, target, params, link):
    booster = train(objective, 6, target, **params)
    model = read(booster)
    assert model.links["predict"].name == link
    assert model.n_margins == params.get("num_class", 1)
    agree(booster, hard_rows(model, numeric()[0], n=200))


BAGGED = {"bagging_fraction": 0.6, "bagging_freq": 1}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
        {"boosting": "rf", **BAGGED},
        {"boosting": "rf", **BAGGED, "objective": "multiclass", "num_class": 3, "target": three},
        {"boosting": "rf", **BAGGED, "objective": "binary", "sigmoid": 2.0, "target": labels},
        {"data_sample_strategy": "goss", "learning_rate": 0.3},
        {"extra_trees": True},
        {"use_missing": False},
        {"zero_as_missing": True},
        {"max_bin": 4, "min_data_in_leaf": 1, "num_leaves": 60},
    ],
)
def test_ways_of_boosting_and_of_missing_values(params):
    booster = train(**{"rounds": 20, **params})
    model = read(booster)
    rows = hard_rows(model, numeric()[0])
    agree(booster, rows)
    with np.errstate(over="ignore"):
        agree(booster, rows.astype(np.float32))


def test_each_kind_of_missing_value_is_met():
    def kinds(**params):
        return {(e.zero_is_missing, np.isnan(e.missing)) for e in read(train(**params)).encodings}

    assert kinds() == {(False, True), (False, False)}
    assert kinds(use_missing=False) == {(False, False)}
    assert (True, True) in kinds(zero_as_missing=True)


def test_a_feature_may_treat_missing_values_in_several_ways():
    """Training goes on with data that has missing values where there were none."""
    X, y = numeric()
    full = np.nan_to_num(X)
    first = lgb.train({**QUIET, "objective": "regression"}, lgb.Dataset(full, y), 8)
    booster = lgb.train(
        {**QUIET, "objective": "regression"}, lgb.Dataset(X, y, free_raw_data=False), 8, init_model=first
    )
    model = read(booster)
    features = [encoding.feature for encoding in model.encodings]
    assert len(set(features)) < len(features)
    agree(booster, hard_rows(model, X))


def test_next_to_zero_nothing_is_told_apart():
    booster = train(rounds=30)
    model = read(booster)
    near = reader.ZERO
    assert (np.abs(model.threshold[model.column != trees.LEAF]) < 2e-35).any()
    values = [-near, near, np.nextafter(-near, -1), np.nextafter(near, 1), -5e-324, 0.0, -0.0, 5e-324]
    rows = np.repeat(numeric()[0][:40], len(values), axis=0)
    rows[:, 4] = np.tile(values, 40)
    agree(booster, rows)


def test_cover_counts_the_training_rows():
    model = read(train(rounds=5))
    inner = np.flatnonzero(model.column != trees.LEAF)
    assert (model.cover[model.roots] == 400).all()
    assert (model.cover[inner] == model.cover[model.left[inner]] + model.cover[model.right[inner]]).all()


def test_trees_of_one_leaf_and_no_trees():
    X, y = numeric()
    flat = lgb.train({**QUIET, "objective": "regression"}, lgb.Dataset(X, np.full(len(y), 3.5)), 4)
    assert agree(flat, X).encodings == ()
    mixed = lgb.train(
        {**QUIET, "objective": "multiclass", "num_class": 3}, lgb.Dataset(X, (y > 1).astype(int)), 4
    )
    sizes = [tree["num_leaves"] for tree in mixed.dump_model()["tree_info"]]
    assert 1 in sizes
    assert max(sizes) > 1
    agree(mixed, X)
    empty = lgb.Booster({**QUIET, "objective": "regression"}, lgb.Dataset(X, y))
    assert len(read(empty).roots) == 0


@pytest.mark.parametrize("params", [{}, {"boosting": "rf", **BAGGED}])
def test_the_best_iteration_is_the_last_one_used(params, tmp_path):
    X, y = numeric()
    noise = np.random.default_rng(3).normal(size=len(y)) * 3
    data = lgb.Dataset(X[:200], (y + noise)[:200])
    valid = lgb.Dataset(X[200:], (y + noise)[200:], reference=data)
    stop = [lgb.early_stopping(3, verbose=False)]
    settings = {**QUIET, "objective": "regression", "learning_rate": 0.5, **params}
    booster = lgb.train(settings, data, 60, valid_sets=[valid], callbacks=stop, keep_training_booster=True)
    assert 0 < booster.best_iteration < booster.current_iteration()
    assert len(agree(booster, X).roots) == booster.best_iteration
    booster.save_model(tmp_path / "model.txt")
    for other in (
        lgb.Booster(model_file=tmp_path / "model.txt"),
        lgb.Booster(model_str=booster.model_to_string(num_iteration=-1)),
        pickle.loads(pickle.dumps(booster)),
    ):
        agree(other, X)


def test_the_text_has_every_bit_of_the_model_in_memory():
    """Neither the thresholds nor the leaves of a booster that never went through text are rounded."""
    X, y = numeric()
    data = lgb.Dataset(X * np.pi, y, params={"verbose": -1})
    booster = lgb.train({**QUIET, "objective": "regression"}, data, 20, keep_training_booster=True)
    model = read(booster)
    rows = hard_rows(model, X)
    booster_margins = booster.predict(rows, raw_score=True)
    assert (model.margins(model.numbers(table_of(rows, None)))[:, 0] == booster_margins).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers(classes):
    X, y = numeric()
    target = np.array(["no", "yes", "maybe"])[three(y) % classes]
    estimator = lgb.LGBMClassifier(n_estimators=8, **QUIET).fit(X, target)
    model = agree(estimator, hard_rows(read(estimator), X))
    assert set(model.links) == {"predict_proba", "decision_function"}
    assert "labels" in model.refused["predict"]
    assert model.n_margins == (1 if classes == 2 else 3)


def test_two_classes_with_a_margin_each():
    X, y = numeric()
    estimator = lgb.LGBMClassifier(n_estimators=5, objective="multiclass", num_class=2, **QUIET)
    model = agree(estimator.fit(X, labels(y)), X)
    assert model.n_margins == 2
    assert set(model.links) == {"decision_function"}
    assert "two classes with a margin each" in model.refused["predict_proba"]


def test_regressors_and_rankers():
    X, y = numeric()
    agree(lgb.LGBMRegressor(n_estimators=8, objective="poisson", **QUIET).fit(X, positive(y)), X)
    agree(lgb.LGBMRegressor(n_estimators=8, boosting_type="rf", **BAGGED, **QUIET).fit(X, y), X)
    agree(lgb.LGBMRanker(n_estimators=8, **QUIET).fit(X, three(y), group=[20] * 20), X)


def squared(y, margin):
    return margin - y, np.ones_like(margin)


@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities")
def test_a_function_as_objective_leaves_margins_as_they_are():
    X, y = numeric()
    agree(lgb.LGBMRegressor(n_estimators=8, objective=squared, **QUIET).fit(X, y), X)
    model = agree(lgb.LGBMClassifier(n_estimators=8, objective=squared, **QUIET).fit(X, labels(y)), X)
    assert {link.name for link in model.links.values()} == {"identity"}
    assert len(model.links) == 3


def test_integers_as_categories():
    rng = np.random.default_rng(2)
    X, y = numeric()
    X[:, 1] = rng.integers(0, 70, len(X))
    X[:, 5] = rng.choice([0, 3, 40, 41, 100], len(X))
    y = y + 3 * np.sin(X[:, 1] * 7) + 5 * (X[:, 5] == 40)
    data = lgb.Dataset(X, y, categorical_feature=[1, 5], params={"verbose": -1, "min_data_in_bin": 1})
    booster = lgb.train(
        {**QUIET, "objective": "regression", "min_data_per_group": 5, "cat_smooth": 1}, data, 25
    )
    model = read(booster)
    assert len(model.category_sets) > 10
    odd = [-1, -0.5, -1.5, 0.9, 2.7, 40.99, 41, 99, 1000, 1e10, -1e10, 2**31, 2.0**32 + 40]
    agree(booster, hard_rows(model, X, odd, n=1500))
    agree(booster, hard_rows(model, X, odd).clip(-1e9, 1e9).astype(np.float32))


def frame(n=500):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "city": pd.Categorical(rng.choice(list("abcdefgh"), n)),
            "size": rng.integers(0, 200, n),
            "code": pd.Categorical(rng.choice([10, 20, 35], n), [35, 10, 20, 99]),
            "flag": rng.random(n) < 0.4,
            "half": rng.normal(size=n).astype("float32"),
            "nullable": pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(0, 50, n)), dtype="Int64"),
        }
    )


def outcome(X):
    y = (
        X["number"]
        + X["size"] / 100
        + 2 * X["flag"]
        + X["half"]
        + X["nullable"].astype(float).fillna(80) / 50
    )
    levels = X["city"].astype(object).map({"a": 3, "c": -1, "h": 2}).astype(float).fillna(0)
    return y + levels + 2 * (X["code"] == 20)


def odd_levels(X):
    """Categories the model never saw, in another order, some missing."""
    rng = np.random.default_rng(6)
    odd = X.copy()
    odd["city"] = pd.Categorical(rng.choice([*"zhgacb", None], len(X)), list("zhgacb"))
    odd["code"] = pd.Categorical(rng.choice([20, 7, 35], len(X)), [7, 20, 35])
    odd["number"] = np.where(rng.random(len(X)) < 0.3, np.nan, X["number"])
    odd.loc[::9, "number"] = np.inf
    return odd


def test_frames_with_categories():
    X = frame()
    estimator = lgb.LGBMRegressor(n_estimators=20, min_data_per_group=5, cat_smooth=1, **QUIET).fit(
        X, outcome(X)
    )
    model = agree(estimator, X)
    assert model.category_sets
    agree(estimator, odd_levels(X), model)
    loaded = lgb.Booster(model_str=estimator.booster_.model_to_string())
    agree(loaded, odd_levels(X))


@pytest.mark.parametrize("params", [{}, {"zero_as_missing": True}])
def test_ordered_categories_are_compared_by_their_codes(params):
    X = frame().drop(columns=["code", "flag"])
    X["city"] = X["city"].cat.as_ordered()
    X["nullable"] = X["nullable"] + 1000
    y = X["city"].cat.codes + X["number"]
    estimator = lgb.LGBMRegressor(n_estimators=20, **params, **QUIET).fit(X, y)
    model = agree(estimator, X)
    assert not model.category_sets
    odd = X.copy()
    odd["city"] = pd.Categorical(odd_levels(frame())["city"], [*"zhgacb"], ordered=True)
    agree(estimator, odd, model)


def test_a_category_column_without_use_does_not_shift_the_others():
    X = frame()
    X.insert(0, "constant", pd.Categorical(["only"] * len(X), ["only", "never"]))
    X["useless"] = pd.Categorical(np.random.default_rng(8).choice(list("pq"), len(X)))
    estimator = lgb.LGBMRegressor(n_estimators=3, **QUIET).fit(X, outcome(X))
    agree(estimator, X)


def test_a_category_column_that_was_guessed_wrong_is_refused():
    """An ordered category beside integers declared as categories looks like the other way round."""
    X = frame()[["number", "city", "size"]]
    X["city"] = X["city"].cat.as_ordered()
    X["size"] = X["size"] % 8
    y = X["number"] + X["city"].cat.codes + X["size"] % 3
    estimator = lgb.LGBMRegressor(n_estimators=5, **QUIET).fit(X, y, categorical_feature=["size"])
    model = read(estimator)
    with pytest.raises(RefusalError, match=r"'(city|size)' is of kind (category|integer)"):
        model.numbers(table_of(X, None))


def test_category_columns_that_cannot_be_told_are_refused():
    X = frame()[["number", "city", "size"]]
    X["city"] = X["city"].cat.as_ordered()
    X["size"] = X["size"] % 5
    estimator = lgb.LGBMRegressor(n_estimators=5, **QUIET).fit(X, X["number"] + X["size"])
    with pytest.raises(RefusalError, match="does not tell which of its columns"):
        read(estimator)


def test_category_codes_in_place_of_levels_are_refused():
    X = frame()[["number", "city"]]
    model = read(lgb.LGBMRegressor(n_estimators=5, **QUIET).fit(X, outcome(frame())))
    with pytest.raises(RefusalError, match="'city' is of kind integer where"):
        model.numbers(table_of(X.assign(city=X["city"].cat.codes), None))


def test_categories_of_other_types_are_refused():
    X = frame()[["number", "city"]]
    X["city"] = pd.cut(X["number"], 4)
    data = lgb.Dataset(X, outcome(frame()), params={"verbose": -1})
    with pytest.raises(RefusalError, match="neither text nor numbers"):
        read(lgb.train(QUIET, data, 2, keep_training_booster=True))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int8", "int32", "int64", "uint16", "bool", "Float64"]
)
def test_dtypes_of_frames(dtype):
    X, y = numeric()
    X = pd.DataFrame(np.nan_to_num(X * 20)).clip(0, 100).astype("float64" if "loat" in dtype else "int64")
    X.columns = [f"c{j}" for j in X]
    agree(lgb.LGBMRegressor(n_estimators=8, **QUIET).fit(X.astype(dtype), y), X.astype(dtype))


def test_single_precision_is_widened_before_comparing():
    X, _ = numeric()
    booster = train()
    model = read(booster)
    rows = hard_rows(model, X).clip(-1e30, 1e30)
    columns = [f"c{j}" for j in range(X.shape[1])]
    agree(booster, pd.DataFrame(rows.astype(np.float32), columns=columns), model)
    mixed = pd.DataFrame(rows, columns=columns).astype({"c0": "float32", "c1": "float32"})
    agree(booster, mixed, model)


def test_large_integers_are_answered_unless_rounding_would_matter():
    X = np.arange(2**24, 2**24 + 400, dtype=np.int64)[:, None] * np.array([1, 3])
    y = np.sin(X[:, 0] / 5.0)
    floats = X.astype(float)
    exact = lgb.LGBMRegressor(n_estimators=10, min_data_in_bin=1, max_bin=500, **QUIET).fit(floats, y)
    model = agree(exact, floats)
    with pytest.raises(RefusalError, match="rounds across a split"):
        model.numbers(table_of(X, None))
    X[200:] *= 2
    coarse = lgb.LGBMRegressor(n_estimators=3, num_leaves=2, verbose=-1).fit(X.astype(float), X[:, 0] > 2**25)
    assert (X.astype(np.float32) != X).any()
    agree(coarse, X)
    agree(coarse, pd.DataFrame(X, columns=["Column_0", "Column_1"]))


@pytest.mark.skipif(not POLARS, reason="LightGBM reads polars from 4.7 on")
def test_polars():
    X, _ = numeric()
    booster = train()
    model = read(booster)
    hard = hard_rows(model, X)
    hard[hard == -reader.ZERO] = 0.0  # the one number that Arrow tables keep and others do not
    rows = pl.DataFrame(hard, schema=[f"c{j}" for j in range(X.shape[1])])
    agree(booster, rows, model)
    mixed = rows.with_columns(
        c3=pl.col("c3").fill_nan(None).clip(-100, 100).cast(pl.Int32),
        c5=pl.col("c5") > 0,
        c1=pl.col("c1").fill_nan(0).clip(-1e30, 1e30).cast(pl.Float32),
    )
    agree(booster, mixed, model)


def test_linear_trees_are_refused():
    with pytest.raises(RefusalError, match="linear trees"):
        read(train(X=np.nan_to_num(numeric()[0]), linear_tree=True))


def test_a_sigmoid_the_text_rounds_is_refused():
    with pytest.raises(RefusalError, match=r"sigmoid is written as 0\.123457"):
        read(train("binary", 2, labels, sigmoid=0.123456789))
    assert read(train("binary", 2, labels, sigmoid=0.12345)).links["predict"].scale == 0.12345


def test_predicting_with_fewer_trees_is_refused():
    X, y = numeric()
    estimator = lgb.LGBMClassifier(n_estimators=5, pred_early_stop=True, **QUIET).fit(X, labels(y))
    with pytest.raises(RefusalError, match="pred_early_stop"):
        read(estimator)


def test_a_predict_of_ones_own_is_refused():
    class Doubled(lgb.LGBMRegressor):
        def predict(self, X, **keywords):
            return 2 * super().predict(X, **keywords)

    X, y = numeric()
    with pytest.raises(RefusalError, match="predict is not LightGBM's own"):
        read(Doubled(n_estimators=5, **QUIET).fit(X, y))


def test_an_objective_nobody_knows_is_refused():
    with pytest.raises(RefusalError, match="'hinge'"):
        reader._link_of(["hinge"])


def test_lines_that_are_not_known_are_refused_and_the_installed_version_has_none():
    X, y = numeric()
    text = train().model_to_string()
    for rows in (text, train(boosting="rf", bagging_fraction=0.5, bagging_freq=1).model_to_string()):
        found = reader.LightGBMText.of(rows)
        assert set(found.header) <= reader.HEADER
        assert set(found.lines) <= reader.LINES
    linear = lgb.LGBMRegressor(linear_tree=True, verbose=-1, n_estimators=2).fit(np.nan_to_num(X), y)
    assert set(reader.LightGBMText.of(linear.booster_.model_to_string()).lines) <= reader.LINES
    for old, new in (
        ("\nnum_cat=", "\nleaf_slope=1 2\nnum_cat="),
        ("\nnum_class=", "\nleaf_slope=1\nnum_class="),
    ):
        with pytest.raises(RefusalError, match=f"LightGBM {lgb.__version__} writes .* with 'leaf_slope'"):
            reader.parsed(None, text.replace(old, new), [])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("num_leaves", "900000000"),
        ("num_leaves", "0"),
        ("left_child", "4294967297"),
        ("split_feature", "-1"),
        ("split_feature", "900"),
        ("split_feature", "0.5"),
        ("decision_type", "64"),
        ("decision_type", "nan"),
        ("leaf_value", "inf"),
        ("threshold", "nan"),
    ],
)
def test_numbers_out_of_range_are_refused(line, value):
    text = train(rounds=2).model_to_string()
    start = text.index(f"\n{line}=") + len(line) + 2
    end = min(text.index(stop, start) for stop in (" ", "\n"))
    with pytest.raises(RefusalError):
        reader.parsed(None, text[:start] + value + text[end:], [])

"""Tree ensembles of every library, the tables they are explained on, and how two effects are compared."""

from functools import cache

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn import ensemble as forests
from sklearn import tree
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paribus._api.statistics import effects_statistic as effects_statistic

N = 240
RNG = np.random.default_rng(7)
FULL = RNG.normal(size=(N, 5))
FULL[:, 3] = RNG.integers(-2, 3, N)
GAPS = np.where((RNG.random((N, 5)) < 0.15) & np.isin(np.arange(5), [0, 2]), np.nan, FULL)
SIGNAL = FULL[:, 0] * FULL[:, 1] + np.sin(2 * FULL[:, 2]) + FULL[:, 3] + 2 * np.isnan(GAPS[:, 0]) + 5
TWO, THREE = (SIGNAL > 5).astype(int), np.digitize(SIGNAL, [4.5, 6])
LEVELS = np.array(["fir", "oak", "elm", "ash"])
MIXED = pd.DataFrame(
    {
        "x": GAPS[:, 0],
        "level": pd.Categorical(LEVELS[RNG.integers(0, 4, N)], LEVELS),
        "count": FULL[:, 3].astype(np.int64),
        "flag": FULL[:, 4] > 0,
        "single": FULL[:, 2].astype(np.float32),
    }
)
MIXED_SIGNAL = SIGNAL + 2 * MIXED["level"].isin(["oak", "ash"]).to_numpy() * (1 + MIXED["flag"])
HOLES = MIXED.assign(level=MIXED["level"].where(RNG.random(N) > 0.1))
TEXT = MIXED.assign(level=MIXED["level"].astype(str))
ZEROS = np.where(RNG.random((N, 5)) < 0.3, 0.0, GAPS)
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
PROBED = np.unique(np.linspace(0, N - 1, 32).astype(int))  # rows whose answers check the trees that were read
XGB = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1, "verbosity": 0}
NATIVE = {"max_depth": 4, "nthread": 1, "verbosity": 0}
LGB = {"n_estimators": 8, "num_leaves": 10, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
CAT = {"iterations": 8, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
PREDICT, MARGIN, BOTH = ("predict",), ("predict", "decision_function"), ("predict_proba", "decision_function")
PROBABILITY = ("predict_proba",)


def hist(kind, **options):
    options = {"max_iter": 8, "min_samples_leaf": 5, "max_leaf_nodes": 10} | options
    return getattr(forests, f"HistGradientBoosting{kind}")(**options)


def stopped():
    model = xgb.XGBRegressor(**XGB | {"n_estimators": 60, "learning_rate": 1.0}, early_stopping_rounds=3)
    model.fit(GAPS[:160], SIGNAL[:160], eval_set=[(GAPS[160:], SIGNAL[160:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


def by_categories(model, table=HOLES):
    return model.fit(table, MIXED_SIGNAL)


def bagged(kind, y, **options):
    members = getattr(tree, f"DecisionTree{kind}")(max_depth=4, random_state=0)
    return getattr(forests, f"Bagging{kind}")(members, 5, random_state=0, **options).fit(GAPS, y)


# By name: how it is fitted, the table it is requested, its responses.
MODELS = {
    "tree": (lambda: tree.DecisionTreeRegressor(max_depth=5).fit(GAPS, SIGNAL), GAPS, PREDICT),
    "deep tree": (lambda: tree.ExtraTreeRegressor(random_state=0).fit(FULL, SIGNAL), FULL, PREDICT),
    "forest": (lambda: forests.RandomForestRegressor(6, random_state=0).fit(GAPS, SIGNAL), GAPS, PREDICT),
    "forest, two targets": (
        lambda: forests.RandomForestRegressor(4, random_state=0).fit(GAPS, np.c_[SIGNAL, -FULL[:, 1]]),
        GAPS,
        PREDICT,
    ),
    "forest, two classes": (
        lambda: forests.RandomForestClassifier(5, random_state=0).fit(GAPS, TWO),
        GAPS,
        PROBABILITY,
    ),
    "forest, three classes": (
        lambda: forests.RandomForestClassifier(5, max_depth=4, random_state=0).fit(GAPS, THREE),
        GAPS,
        PROBABILITY,
    ),
    "forest, targets of classes": (
        lambda: forests.RandomForestClassifier(4, random_state=0).fit(FULL, np.c_[TWO, THREE]),
        FULL,
        PROBABILITY,
    ),
    "extra trees": (
        lambda: forests.ExtraTreesRegressor(5, max_depth=6, random_state=0).fit(FULL, SIGNAL),
        FULL,
        PREDICT,
    ),
    "extra trees, classes": (
        lambda: forests.ExtraTreesClassifier(5, max_depth=6, random_state=0).fit(FULL, THREE),
        FULL,
        PROBABILITY,
    ),
    "boosting": (lambda: forests.GradientBoostingRegressor(n_estimators=8).fit(FULL, SIGNAL), FULL, PREDICT),
    "boosting, two classes": (
        lambda: forests.GradientBoostingClassifier(n_estimators=6).fit(FULL, TWO),
        FULL,
        BOTH,
    ),
    "boosting, three classes": (
        lambda: forests.GradientBoostingClassifier(n_estimators=4).fit(FULL, THREE),
        FULL,
        BOTH,
    ),
    "hist": (lambda: hist("Regressor").fit(GAPS, SIGNAL), GAPS, PREDICT),
    "hist, poisson": (
        lambda: hist("Regressor", loss="poisson").fit(GAPS, np.abs(SIGNAL).round()),
        GAPS,
        PREDICT,
    ),
    "hist, two classes": (lambda: hist("Classifier").fit(GAPS, TWO), GAPS, BOTH),
    "hist, three classes": (lambda: hist("Classifier", max_iter=4).fit(GAPS, THREE), GAPS, BOTH),
    "hist, categories": (lambda: by_categories(hist("Regressor")), HOLES, PREDICT),
    "hist, text": (
        lambda: by_categories(hist("Regressor", categorical_features=["level"]), TEXT),
        TEXT,
        PREDICT,
    ),
    "adaboost, two classes": (
        lambda: forests.AdaBoostClassifier(n_estimators=6, random_state=0).fit(FULL, TWO),
        FULL,
        BOTH,
    ),
    "adaboost, three classes": (
        lambda: forests.AdaBoostClassifier(
            tree.DecisionTreeClassifier(max_depth=3), n_estimators=5, random_state=0
        ).fit(FULL, THREE),
        FULL,
        BOTH,
    ),
    "bagging": (lambda: bagged("Regressor", SIGNAL, max_features=0.6), GAPS, PREDICT),
    "bagging, classes": (
        lambda: bagged("Classifier", THREE, max_samples=0.3, bootstrap_features=True),
        GAPS,
        PROBABILITY,
    ),
    "isolation": (
        lambda: forests.IsolationForest(n_estimators=10, max_samples=64, random_state=0).fit(FULL),
        FULL,
        ("decision_function",),
    ),
    "xgboost": (lambda: xgb.XGBRegressor(**XGB).fit(GAPS, SIGNAL), GAPS, MARGIN),
    "xgboost, categories": (
        lambda: by_categories(xgb.XGBRegressor(**XGB, enable_categorical=True, max_cat_to_onehot=2)),
        HOLES,
        PREDICT,
    ),
    "xgboost, dart": (
        lambda: xgb.XGBRegressor(**XGB, booster="dart", rate_drop=0.4).fit(GAPS, SIGNAL),
        GAPS,
        PREDICT,
    ),
    "xgboost, poisson": (
        lambda: xgb.XGBRegressor(**XGB, objective="count:poisson").fit(GAPS, np.abs(SIGNAL).round()),
        GAPS,
        MARGIN,
    ),
    "xgboost, two classes": (lambda: xgb.XGBClassifier(**XGB).fit(GAPS, TWO), GAPS, BOTH),
    "xgboost, three classes": (lambda: xgb.XGBClassifier(**XGB).fit(GAPS, THREE), GAPS, BOTH),
    "xgboost, native": (
        lambda: xgb.train(NATIVE | {"objective": "binary:logistic"}, xgb.DMatrix(GAPS, TWO), 8),
        GAPS,
        MARGIN,
    ),
    "xgboost, stopped early": (stopped, GAPS, PREDICT),
    "xgboost, trees of two targets": (
        lambda: xgb.XGBRegressor(**XGB, multi_strategy="multi_output_tree", tree_method="hist").fit(
            GAPS, np.c_[SIGNAL, FULL[:, 1]]
        ),
        GAPS,
        PREDICT,
    ),
    "lightgbm": (lambda: lgb.LGBMRegressor(**LGB).fit(GAPS, SIGNAL), GAPS, MARGIN),
    "lightgbm, categories": (
        lambda: by_categories(lgb.LGBMRegressor(**LGB, min_data_per_group=5, cat_smooth=1)),
        HOLES,
        PREDICT,
    ),
    "lightgbm, dart": (
        lambda: lgb.LGBMRegressor(**LGB, boosting_type="dart", drop_rate=0.5).fit(GAPS, SIGNAL),
        GAPS,
        PREDICT,
    ),
    "lightgbm, forest": (
        lambda: lgb.LGBMRegressor(**LGB, boosting_type="rf", subsample=0.6, subsample_freq=1).fit(
            GAPS, SIGNAL
        ),
        GAPS,
        MARGIN,
    ),
    "lightgbm, zero is missing": (
        lambda: lgb.LGBMRegressor(**LGB, zero_as_missing=True).fit(ZEROS, SIGNAL),
        ZEROS,
        PREDICT,
    ),
    "lightgbm, poisson": (
        lambda: lgb.LGBMRegressor(**LGB, objective="poisson").fit(GAPS, np.abs(SIGNAL)),
        GAPS,
        MARGIN,
    ),
    "lightgbm, two classes": (lambda: lgb.LGBMClassifier(**LGB).fit(GAPS, TWO), GAPS, BOTH),
    "lightgbm, three classes": (lambda: lgb.LGBMClassifier(**LGB).fit(GAPS, THREE), GAPS, BOTH),
    "lightgbm, native": (lambda: fitted("lightgbm, two classes").booster_, GAPS, MARGIN),
    "catboost": (lambda: catboost.CatBoostRegressor(**CAT).fit(GAPS, SIGNAL), GAPS, MARGIN),
    "catboost, text": (
        lambda: by_categories(
            catboost.CatBoostRegressor(**CAT, cat_features=["level"], one_hot_max_size=10), TEXT
        ),
        TEXT,
        PREDICT,
    ),
    "catboost, statistics": (
        lambda: by_categories(
            catboost.CatBoostRegressor(
                **CAT, cat_features=["level"], one_hot_max_size=1, max_ctr_complexity=1
            ),
            TEXT,
        ),
        TEXT,
        PREDICT,
    ),
    "catboost, lossguide": (
        lambda: catboost.CatBoostRegressor(**CAT | {"depth": 6}, grow_policy="Lossguide", max_leaves=9).fit(
            GAPS, SIGNAL
        ),
        GAPS,
        PREDICT,
    ),
    "catboost, two classes": (lambda: catboost.CatBoostClassifier(**CAT).fit(GAPS, TWO), GAPS, BOTH),
    "catboost, three classes": (lambda: catboost.CatBoostClassifier(**CAT).fit(GAPS, THREE), GAPS, BOTH),
}


@cache
def fitted(name):
    return MODELS[name][0]()


def tolerance(name):
    return 5e-6 if name.startswith("xgboost") else 1e-9  # XGBoost adds leaves in single precision


def close(have, want, tolerance):
    assert (have is None) == (want is None)
    if want is not None:
        size = np.abs(want).max(initial=0.0)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance * size)


def agree(have, want, tolerance):
    """Every number of a result, and where it was evaluated."""
    assert have.feature_names == want.feature_names
    assert have.output_names == want.output_names
    for mine, theirs in zip(have.grid_values, want.grid_values, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(have.support, want.support)
    assert (have.missing is None) == (want.missing is None)
    for part in ("average", "standard_error", "individual"):
        close(getattr(have, part), getattr(want, part), tolerance)
        if have.missing is not None:
            close(getattr(have.missing, part), getattr(want.missing, part), tolerance)


def same_bits(one, other):
    for part in ("average", "standard_error", "individual", "support"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.tobytes() == theirs.tobytes(), part
    if one.missing is not None:
        assert one.missing.average.tobytes() == other.missing.average.tobytes()


class OwnForest(forests.RandomForestRegressor):
    """May customize its predictions."""


def unreadable():
    return {
        "linear trees": (lgb.LGBMRegressor(**LGB, linear_tree=True).fit(FULL, SIGNAL), FULL, "linear trees"),
        "median": (
            forests.AdaBoostRegressor(n_estimators=4, random_state=0).fit(FULL, SIGNAL),
            FULL,
            "weighted median",
        ),
        "pipeline": (
            make_pipeline(StandardScaler(), KNeighborsRegressor(3)).fit(FULL, SIGNAL),
            FULL,
            "KNeighborsRegressor is not among the tree ensembles",
        ),
        "function": (lambda table: table[:, 0], FULL, "it is a function, which has no trees"),
        "subclass": (
            OwnForest(3, random_state=0).fit(FULL, SIGNAL),
            FULL,
            "OwnForest is not a class of scikit-learn",
        ),
    }


UNREADABLE = unreadable()

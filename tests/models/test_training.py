"""What models keep while they are fitted: every library, and models within others."""

import warnings

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paribus._models.training import training_curves


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=120)


def kept(model):
    return {(one.data, one.metric): one.values for one in training_curves(model)}


def test_estimators_of_scikit_learn_keep_what_their_attributes_hold(rows):
    X, y = rows
    boosted = GradientBoostingRegressor(n_estimators=4, subsample=0.5).fit(X, y)
    assert list(kept(boosted)) == [("training", "squared_error"), ("out of bag", "squared_error")]
    np.testing.assert_array_equal(kept(boosted)["training", "squared_error"], boosted.train_score_)
    binned = HistGradientBoostingClassifier(max_iter=3, early_stopping=True).fit(X, y > 0)
    np.testing.assert_array_equal(kept(binned)["validation", "minus log_loss"], binned.validation_score_)
    assert kept(HistGradientBoostingClassifier(max_iter=2).fit(X, y > 0)) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = MLPRegressor(hidden_layer_sizes=(2,), max_iter=3).fit(X, y)
    np.testing.assert_array_equal(kept(network)["training", "loss"], network.loss_curve_)
    weak = AdaBoostClassifier(n_estimators=2).fit(X, y > 0.3)
    assert len(kept(weak)["training", "weighted error of each member"]) == len(weak.estimator_errors_)
    assert kept(RandomForestRegressor(n_estimators=2).fit(X, y)) == {}
    assert kept(lambda table: table) == {}


def test_boosting_libraries_keep_what_was_evaluated(rows):
    X, y = rows
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    catboost = pytest.importorskip("catboost")
    one = xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, y, eval_set=[(X, y)], verbose=False)
    assert kept(one)["validation_0", "rmse"].tolist() == one.evals_result()["validation_0"]["rmse"]
    assert kept(xgboost.XGBRegressor(n_estimators=1, n_jobs=1).fit(X, y)) == {}
    assert kept(one.get_booster()) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a newer name of the argument, which older releases do not have
        two = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(
            X, y, eval_set=[(X[1:], y[1:])]
        )
    assert kept(two)["valid_0", "l2"].tolist() == two.evals_result_["valid_0"]["l2"]
    assert kept(two.booster_) == {}
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    three = catboost.CatBoostRegressor(n_estimators=3, **quiet).fit(X, y)
    assert kept(three)["learn", "RMSE"].tolist() == three.get_evals_result()["learn"]["RMSE"]


def test_models_within_others_are_found(rows):
    X, y = rows
    inner = GradientBoostingRegressor(n_estimators=2)
    piped = make_pipeline(StandardScaler(), inner).fit(X, y)
    np.testing.assert_array_equal(kept(piped)["training", "squared_error"], piped[-1].train_score_)
    search = GridSearchCV(piped, {"gradientboostingregressor__max_depth": [1]}, cv=2).fit(X, y)
    best = search.best_estimator_[-1].train_score_
    np.testing.assert_array_equal(kept(search)["training", "squared_error"], best)
    turned = TransformedTargetRegressor(inner).fit(X, y)
    assert len(kept(turned)["training", "squared_error"]) == 2

"""The model's own importance: its numbers as they are, in the order of the table, or a reason why not."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostClassifier, CatBoostRanker, CatBoostRegressor
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from paribus._data.read import table_of
from paribus._models.own_importance import own_importance
from paribus.errors import RefusalError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = 3 * X[:, 2] + X[:, 0] + 0.1 * RNG.normal(size=200)
CODES = (Y > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
TREES = RandomForestRegressor(5, random_state=0)
QUIET = {"iterations": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
LIGHT = {"n_estimators": 5, "verbose": -1, "n_jobs": 1}


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(5, random_state=0),
        ExtraTreesRegressor(5, random_state=0),
        DecisionTreeRegressor(max_depth=4),
        AdaBoostRegressor(n_estimators=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learn_to_the_last_bit(model):
    model.fit(X, Y)
    found = own_importance(model, table_of(X))
    np.testing.assert_array_equal(found.values, model.feature_importances_)
    assert "impurity" in found.what


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=5, random_state=0)],
)
def test_classifiers_and_frames(model):
    model.fit(FRAME, CODES)
    found = own_importance(model, table_of(FRAME))
    np.testing.assert_array_equal(found.values, model.feature_importances_)
    assert found.values.argmax() == 2


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (xgboost.XGBRegressor(n_estimators=5), "average gain"),
        (xgboost.XGBRegressor(n_estimators=5, importance_type="weight"), "number of its splits"),
        (xgboost.XGBRegressor(n_estimators=5, importance_type="total_gain"), "total gain"),
        (xgboost.XGBRegressor(n_estimators=5, importance_type="cover"), "average cover"),
        (xgboost.XGBRegressor(n_estimators=5, importance_type="total_cover"), "total cover"),
        (xgboost.XGBRegressor(n_estimators=5, booster="dart"), "average gain"),
        (lightgbm.LGBMRegressor(**LIGHT), "number of its splits"),
        (lightgbm.LGBMRegressor(importance_type="gain", **LIGHT), "total gain"),
        (CatBoostRegressor(**QUIET), "PredictionValuesChange"),
    ],
)
def test_boosters_say_what_they_report(model, what):
    model.fit(X, Y)
    found = own_importance(model, table_of(X))
    assert what in found.what
    want = np.asarray(model.feature_importances_, dtype=float)
    np.testing.assert_allclose(found.values, want / want.sum(), rtol=1e-6)
    assert found.values.sum() == pytest.approx(1, abs=1e-6)
    assert found.values[[0, 2]].min() > found.values[[1, 3]].max()


def test_a_share_that_rounding_made_negative_stays_as_it_is():
    """As scikit-learn reports for a split that gains nothing."""
    shares = np.array([0.25, -1.3e-16, 0.75, 0.0])
    np.testing.assert_array_equal(own_importance(Foreign(shares), table_of(X)).values, shares)


def test_single_precision_shares_stay_as_they_are():
    model = xgboost.XGBClassifier(n_estimators=20).fit(X, CODES)
    found = own_importance(model, table_of(X))
    np.testing.assert_array_equal(found.values, model.feature_importances_.astype(float))


def test_native_boosters_report_their_gain():
    wrapped = xgboost.XGBRegressor(n_estimators=5).fit(X, Y)
    plain = own_importance(wrapped.get_booster(), table_of(X))
    np.testing.assert_allclose(plain.values, own_importance(wrapped, table_of(X)).values, rtol=1e-6)
    assert "average gain" in plain.what
    named = xgboost.train({"max_depth": 2}, xgboost.DMatrix(FRAME, Y), 2)
    assert set(named.get_score(importance_type="gain")) < {"a", "b", "c", "d"}  # not all of them are split at
    found = own_importance(named, table_of(FRAME))
    assert found.values[2] == found.values.max()
    assert (found.values == 0).sum() == 4 - len(named.get_score())

    light = lightgbm.LGBMRegressor(importance_type="gain", **LIGHT).fit(X, Y)
    native = own_importance(light.booster_, table_of(X))
    np.testing.assert_array_equal(native.values, own_importance(light, table_of(X)).values)
    assert "total gain" in native.what


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(3),
        lightgbm.LGBMRegressor(**LIGHT),
        xgboost.XGBRegressor(n_estimators=2),
    ],
)
def test_a_model_that_uses_nothing_has_zeros(model):
    model.fit(X, np.ones(200))
    assert own_importance(model, table_of(X)).values.tolist() == [0, 0, 0, 0]


def test_a_pipeline_whose_steps_keep_the_columns():
    for table in (X, FRAME):
        pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), TREES).fit(table, Y)
        found = own_importance(pipeline, table_of(table))
        np.testing.assert_array_equal(found.values, pipeline[-1].feature_importances_)
    alone = make_pipeline(TREES).fit(X, Y)
    np.testing.assert_array_equal(own_importance(alone, table_of(X)).values, alone[-1].feature_importances_)


@pytest.mark.parametrize("prefix", [True, False])
def test_a_pipeline_whose_steps_move_the_columns(prefix):
    moves = ColumnTransformer(
        [("some", StandardScaler(), ["c", "b"]), ("others", "passthrough", ["d", "a"])],
        verbose_feature_names_out=prefix,
    )
    pipeline = make_pipeline(moves, TREES).fit(FRAME, Y)
    found = own_importance(pipeline, table_of(FRAME))
    np.testing.assert_array_equal(found.values[[2, 1, 3, 0]], pipeline[-1].feature_importances_)
    # Such a pipeline finds its columns by name, so that the table may have them in another order.
    turned = own_importance(pipeline, table_of(FRAME[["d", "c", "b", "a"]]))
    np.testing.assert_array_equal(turned.values, found.values[[3, 2, 1, 0]])


def test_moved_columns_without_names():
    moves = make_column_transformer((StandardScaler(), [2, 1]), remainder="passthrough")
    pipeline = make_pipeline(moves, TREES).fit(X, Y)
    found = own_importance(pipeline, table_of(X, ["a", "b", "c", "d"]))
    assert found.values.argmax() == 2
    np.testing.assert_array_equal(found.values[[2, 1, 0, 3]], pipeline[-1].feature_importances_)


def test_the_best_of_a_search_is_asked():
    search = GridSearchCV(TREES, {"max_depth": [2, 3]}, cv=2).fit(X, Y)
    found = own_importance(search, table_of(X))
    np.testing.assert_array_equal(found.values, search.best_estimator_.feature_importances_)


class Foreign:
    """A model of a library nobody has heard of."""

    def __init__(self, importance):
        self.feature_importances_ = importance

    def predict(self, table):
        return table[:, 0]


def test_other_libraries_are_believed_and_named():
    found = own_importance(Foreign([1, 0, 3, 0]), table_of(X))
    assert found.values.tolist() == [0.25, 0, 0.75, 0]
    assert "Foreign" in found.what


GROUPED = np.arange(200) // 20


@pytest.mark.parametrize(
    ("model", "table", "message"),
    [
        (LinearRegression().fit(X, Y), X, "LinearRegression: it has coefficients, .* not importances"),
        (make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y), X, "it has coefficients"),
        (HistGradientBoostingRegressor(max_iter=2).fit(X, Y), X, "it reports none"),
        (lambda t: t[:, 0], X, "it is a function"),
        (xgboost.XGBRegressor(n_estimators=2, booster="gblinear").fit(X, Y), X, "its booster is linear"),
        (
            xgboost.XGBRegressor(n_estimators=2, booster="gblinear").fit(X, Y).get_booster(),
            X,
            "its booster is linear",
        ),
        (CatBoostRanker(**QUIET).fit(X, CODES, group_id=GROUPED), X, "it reports none"),
        (RandomForestRegressor(3).fit(X, Y), X[:, :3], "it reports on 4 columns, and X has 3"),
        (
            make_pipeline(OneHotEncoder(), RandomForestRegressor(3)).fit(X.round(), Y),
            X,
            "it reports on .* columns, and X has 4",
        ),
        (make_pipeline(PCA(), RandomForestRegressor(3)).fit(X, Y), X, "not those of X, such as 'pca0'"),
        (
            make_pipeline(FunctionTransformer(np.tanh), RandomForestRegressor(3)).fit(X, Y),
            X,
            "do not say which columns they hand on",
        ),
        (
            make_pipeline(
                make_column_transformer((StandardScaler(), [0, 1]), (MinMaxScaler(), [2, 2])),
                RandomForestRegressor(3),
            ).fit(X, Y),
            X,
            r"its last step sees 4 columns that are not those of X",
        ),
        (Foreign([0.5, -0.5, 1, 0]), X, "none of them negative"),
        (Foreign([0.5, np.nan, 1, 0]), X, "none of them negative"),
        (Foreign(np.ones((4, 2))), X, "not one number per column"),
    ],
)
def test_what_is_refused_with_its_reason(model, table, message):
    with pytest.raises(RefusalError, match=message) as caught:
        own_importance(model, table_of(table))
    assert "kind='permutation' and kind='effect'" in str(caught.value)


def test_catboost_classifier():
    model = CatBoostClassifier(**QUIET).fit(X, CODES)
    np.testing.assert_allclose(own_importance(model, table_of(X)).values, model.feature_importances_ / 100)

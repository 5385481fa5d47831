"""Directions that are declared, by the user or by the constraints of a model."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from xgboost import XGBRegressor

import paribus
from paribus._api.model_facts import declared_directions, directions_of, model_directions
from paribus._data.features import Header
from paribus.errors import FeatureError, OptionError

HEADER = Header(("a", "b", "c"), ("id", "a", "b", "c"))
FITTED = {"a": {"y": "rising"}, "c": {"y": "falling"}}


@pytest.fixture(scope="module")
def X():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(150, 3)), columns=list("abc"))


@pytest.mark.parametrize(
    "monotone",
    [
        {"a": 1, "c": -1},
        {"a": "rising", 3: "falling", "b": 0},
        {"a": "increasing", "c": "decreasing", "b": None},
        [0, 1, 0, -1],
        np.array([0, 1, 0, -1]),
        (None, 1.0, None, -1.0),
        {"a": {"y": 1}, "c": {"y": "falling"}},
    ],
)
def test_directions_may_be_written_in_many_ways(monotone):
    assert directions_of(monotone, None, HEADER, ["y"]) | {"b": {}} == FITTED | {"b": {}}


def test_directions_of_several_outputs():
    assert declared_directions({"a": 1}, HEADER, ["y", "z"]) == {"a": {"y": "rising", "z": "rising"}}
    assert declared_directions({"a": {"z": -1}}, HEADER, ["y", "z"]) == {"a": {"z": "falling"}}


@pytest.mark.parametrize(
    ("monotone", "error", "text"),
    [
        ({"aa": 1}, FeatureError, r"monotone: feature 'aa' is not a column of X; did you mean 'a'\?"),
        ({"a": "up"}, OptionError, r"monotone of 'a' is 'up'; it must be 1, 'rising' or .* for neither$"),
        ({"a": "raising"}, OptionError, r"; did you mean 'rising'\?"),
        ({"a": 2}, OptionError, r"monotone of 'a' is 2; it must be 1"),
        ({"a": True}, OptionError, r"monotone of 'a' is True; it must be 1"),
        ({"a": 1, 1: -1}, OptionError, "names 'a' twice, by name and by position"),
        ({"a": {"yes": 1}}, OptionError, r"monotone of 'a': there is no output 'yes'; known: 'y'"),
        (
            [1, 0],
            OptionError,
            r"monotone=\[1, 0\] must map features .* or have one for each of the 4 columns",
        ),
        ("rising", OptionError, r"monotone='rising' must map features to directions, as in \{'id': 1\}"),
        (1, OptionError, r"monotone=1 must map features to directions"),
    ],
)
def test_what_is_no_direction_is_refused(monotone, error, text):
    with pytest.raises(error, match=text):
        declared_directions(monotone, HEADER, ["y"])


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(monotonic_cst=[1, 0, -1]),
        HistGradientBoostingRegressor(monotonic_cst={"a": 1, "c": -1}),
        LGBMRegressor(monotone_constraints=[1, 0, -1]),
        LGBMRegressor(monotonic_cst=[1, 0, -1]),
        LGBMRegressor(mc="1,0,-1"),
        XGBRegressor(monotone_constraints=(1, 0, -1)),
        XGBRegressor(monotone_constraints="(1,0,-1)"),
        XGBRegressor(monotone_constraints={"a": 1, "c": -1}),
        CatBoostRegressor(monotone_constraints=[1, 0, -1]),
        CatBoostRegressor(monotone_constraints={"a": 1, "c": -1}),
        CatBoostRegressor(monotone_constraints={0: 1, 2: -1}),
        CatBoostRegressor(monotone_constraints="a:1,c:-1"),
    ],
)
def test_constraints_of_models_are_read(model):
    assert model_directions(model, HEADER.names, ["y"]) == FITTED
    assert model_directions(model, HEADER.names, ["y", "z"]) == {}  # of which output is not known
    assert directions_of({"a": 0, "b": 1}, model, HEADER, ["y"]) == {
        "a": {},
        "b": {"y": "rising"},
        "c": {"y": "falling"},
    }


def test_models_without_constraints_have_none():
    several = XGBRegressor(monotone_constraints=(1, 0))
    searched = make_pipeline(FunctionTransformer(), HistGradientBoostingRegressor(monotonic_cst=[1, 0, -1]))
    for model in (LinearRegression(), len, several, searched, LGBMRegressor, LGBMRegressor(mc="1,x,0.5")):
        assert set(model_directions(model, HEADER.names, ["y"])) <= {"a"}
    assert model_directions(several, HEADER.names, ["y"]) == {}


def test_constraints_are_of_the_second_class(X):
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    model = HistGradientBoostingClassifier(monotonic_cst={"a": 1}, max_iter=5).fit(X, y)
    (own,) = (one.monotonicity for one in paribus.explain(model, X).shapes if one.feature == "a")
    assert (own.direction, own.is_declared, own.violation) == ("rising", True, 0)
    search = GridSearchCV(model, {"max_iter": [3]}, cv=2).fit(X, y)
    assert model_directions(search, HEADER.names, ["yes"]) == {"a": {"yes": "rising"}}
    three = LGBMClassifier(monotone_constraints=[1, 0, 0], n_estimators=2, verbose=-1)
    three.fit(X, np.digitize(X["a"], [-0.5, 0.5]))
    assert model_directions(three, HEADER.names, ["0", "1", "2"]) == {}

"""Hyperparameters as text: the same in every process, without secrets and without rows."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from paribus._models.parameters import LONGEST, MASKED, libraries_of, parameters_of, value_text


class Odd(BaseEstimator):
    """A model with parameters of all kinds."""

    def __init__(self, api_key=None, db_password=None, token=None, key=None, value=None, token_pattern=None):
        self.api_key, self.db_password, self.token = api_key, db_password, token
        self.key, self.value, self.token_pattern = key, value, token_pattern

    def predict(self, X):
        return np.zeros(len(X))


def test_nested_models_are_named_by_class_and_functions_by_place():
    model = make_pipeline(StandardScaler(), FunctionTransformer(np.log1p), Ridge(alpha=0.5))
    found = parameters_of(model)
    assert found["ridge"] == "Ridge"
    assert found["ridge__alpha"] == "0.5"
    assert found["functiontransformer__func"] == "log1p" or "log1p" in found["functiontransformer__func"]
    assert list(found) == sorted(found)
    assert "0x" not in "".join(found.values())
    assert "sklearn" in libraries_of(model)


def test_secrets_are_masked_and_what_only_sounds_like_one_is_not():
    found = parameters_of(Odd("s3cret", "s3cret", "s3cret", key="age", token_pattern="a+"))
    assert found["api_key"] == found["db_password"] == found["token"] == MASKED
    assert "s3cret" not in str(found)
    assert (found["key"], found["token_pattern"]) == ("'age'", "'a+'")
    assert parameters_of(CountVectorizer())["token_pattern"] != MASKED


def test_values_have_no_addresses_and_no_more_than_a_line():
    assert value_text({"b": {3, 1}, "a": (None, [True])}) == "{'a': (None, [True]), 'b': {1, 3}}"
    assert value_text(np.float64(0.1)) == "0.1"
    assert value_text(np.arange(3)) == "array of [0, 1, 2]"
    assert value_text(np.zeros((50, 2))) == "array of shape (50, 2)"
    assert value_text(partial(max, 1, key=len)) == "partial(max, 1, key=len)"
    assert value_text(np.random.RandomState(0)) == "RandomState"
    assert value_text(object()) == "object"
    assert value_text(list(range(100))).endswith("and 92 more]")
    assert len(parameters_of(Odd(value="x" * 10_000))["value"]) == LONGEST


def test_a_model_whose_parameters_cannot_be_read_has_none():
    class Broken:
        def get_params(self, deep=True):
            raise RuntimeError("broken")

    assert parameters_of(Broken()) == {}
    assert parameters_of(lambda table: table) == {}


def test_native_boosters_have_those_of_their_own():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    X = np.random.default_rng(0).normal(size=(50, 2))
    data = xgboost.DMatrix(X, X[:, 0])
    booster = xgboost.train({"max_depth": 3, "eta": 0.5, "nthread": 1}, data, 2)
    found = parameters_of(booster)
    assert found["learner.gradient_booster.tree_train_param.max_depth"] == "'3'"
    native = lightgbm.train({"num_leaves": 5, "verbose": -1}, lightgbm.Dataset(X, X[:, 0]), 2)
    assert parameters_of(native)["num_leaves"] == "5"


def test_the_seed_of_hashes_changes_nothing():
    code = "from paribus._models.parameters import value_text as text; print(text({'b', 'a', 'c', 'd', 'e'}))"
    environment = {**os.environ, "PYTHONHASHSEED": "2"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "{'a', 'b', 'c', 'd', 'e'}"

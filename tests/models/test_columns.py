"""The columns a model was fitted on: their names, places, kinds, and those within models."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus
from paribus._data.read import table_of
from paribus._models import adapt, structure_of
from paribus._models.columns import FittedColumns, columns_of, fitted_on, orders_within, width_of
from paribus._models.libraries import boosting_library
from paribus._models.structure import structure_digest

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(80, 3)), columns=["a", "b", "c"])
Y = (X["a"] * X["b"] + X["c"]).to_numpy()
LINEAR = LinearRegression().fit(X, Y)


def boosted(table):
    return lightgbm.LGBMRegressor(n_estimators=3, num_leaves=4, verbose=-1, n_jobs=1).fit(table, Y)


def test_places_of_columns_are_found_by_name():
    own = FittedColumns(("a", "b"))
    assert own.places(("b", "x", "a")) == (2, 0)
    assert FittedColumns(("a", "b"), optional=frozenset({"a"})).places(("b",)) == (None, 0)
    with pytest.raises(paribus.errors.TableError, match=r"X has no column 'a', which.*did you mean 'A'"):
        own.places(("A", "b"))
    with pytest.raises(paribus.errors.TableError, match=r"X has no column 'a' \(nor 1 other\)"):
        own.places(("x",))


def test_names_that_a_library_spells_alike_are_refused():
    spaced = X.rename(columns={"a": "a b"})
    own = fitted_on(boosted(spaced))
    assert own.names == ("a_b", "b", "c")
    assert own.places(("a b", "b", "c")) == (0, 1, 2)
    with pytest.raises(
        paribus.errors.TableError, match="X has columns 'a b' and 'a_b', and LightGBM calls both 'a_b'"
    ):
        own.places(("a b", "a_b", "b", "c"))


def test_generated_names_take_any_columns_by_place():
    own = fitted_on(boosted(X.to_numpy()))
    assert own.generated
    assert own.places(("x", "y", "z")) is None
    assert own.places(("Column_2", "Column_0", "Column_1")) == (1, 2, 0)
    assert not fitted_on(boosted(X)).generated
    assert not fitted_on(LINEAR).generated


def test_kinds_of_columns_are_those_of_the_fit():
    coded = X.assign(c=pd.Categorical(np.where(X["c"] > 0, "high", "low")), b=pd.Categorical(X["b"] > 0))
    own = fitted_on(boosted(coded))
    assert own.typed
    assert own.knows(0)
    assert own.describe(0) == "numbers"
    assert own.describe(2) == "categories of text"
    assert own.describe(1) == "categories of booleans"
    assert own.n_known(2) == "text"
    assert own.pandas
    plain = fitted_on(LINEAR)
    assert not plain.typed
    assert not plain.closed
    assert not plain.pandas
    assert not plain.knows(0)
    assert plain.describe(0) == "numbers or on categories that it does not keep"
    numbers = FittedColumns(("a", "b"), categories={0: (1, 2.5, None), 1: ("x", 2)}, numbers=frozenset())
    assert numbers.n_known(0) == "numbers"
    assert numbers.n_known(1) is None


def test_columns_of_models_within_are_found():
    own = fitted_on(GridSearchCV(boosted(X), {"num_leaves": [4]}, cv=2).fit(X, Y))
    assert own.names == ("a", "b", "c")
    assert own.library is boosting_library(boosted(X))
    scaled = make_pipeline(StandardScaler(), boosted(X)).fit(X, Y)
    assert fitted_on(scaled).library is None
    assert fitted_on(len) is None
    assert columns_of(len) is None
    assert fitted_on(LINEAR.predict).names == ("a", "b", "c")


def test_width_is_that_of_the_fit():
    assert width_of(LINEAR) == width_of(LINEAR.predict) == 3
    assert width_of(LinearRegression().fit(X.to_numpy(), Y)) == 3
    assert width_of(len) is None


def test_columns_that_are_dropped_first_are_optional():
    first = ColumnTransformer([("n", StandardScaler(), ["a", "b"])]).fit(X)
    assert fitted_on(make_pipeline(first, LinearRegression()).fit(X, Y)).optional == {"c"}
    kept = ColumnTransformer([("n", StandardScaler(), ["a", "b"])], remainder="passthrough")
    assert fitted_on(make_pipeline(kept, LinearRegression()).fit(X, Y)).optional == frozenset()
    assert fitted_on(LINEAR).optional == frozenset()


class Wrapper(BaseEstimator):
    """Knows no columns, and holds a model that does."""

    def __init__(self, estimator=None):
        self.estimator = estimator

    def predict(self, X):
        return self.estimator.predict(X)


def test_order_of_columns_within_a_wrapper_is_found():
    assert list(orders_within(Wrapper(LINEAR), ("a", "b", "c"))) == []
    assert list(orders_within(Wrapper(LINEAR), ("c", "x", "a", "b"))) == [(2, 1, 3, 0)]
    assert list(orders_within(Wrapper(Wrapper(LINEAR)), ("b", "a", "c"))) == [(1, 0, 2)]
    assert list(orders_within(Wrapper(LINEAR), ("b", "a"))) == []
    assert list(orders_within(LINEAR, ("c", "b", "a"))) == []
    assert list(orders_within(Wrapper(boosted(X.to_numpy())), ("c", "b", "a"))) == []
    several = Wrapper(VotingRegressor([("l", LinearRegression())]).fit(X, Y))
    assert list(orders_within(several, ("c", "b", "a"))) == [(2, 1, 0)]


def test_digest_of_a_structure_depends_on_all_its_numbers():
    table = table_of(X)
    shifted = LinearRegression().fit(X, Y + 1)
    models = {
        "trees": boosted(X),
        "other trees": boosted(X + 1.0),
        "terms": LINEAR,
        "other terms": shifted,
        "sum": VotingRegressor([("t", LINEAR), ("l", boosted(X))]).fit(X, Y),
        "weighted": VotingRegressor([("t", LINEAR), ("l", boosted(X))], weights=[1, 2]).fit(X, Y),
    }
    digests = {}
    for name, model in models.items():
        adapted, again = adapt(model, table), adapt(model, table)
        assert structure_digest(adapted) == ""
        structure_of(adapted), structure_of(again)
        digests[name] = structure_digest(adapted)
        assert digests[name] == structure_digest(again) != ""
    assert len(set(digests.values())) == len(models)
    assert structure_digest(adapt(lambda t: t["a"].to_numpy(), table)) == ""

"""Pipelines that hypothesis builds: branches, unions, chains and nests of steps on mixed tables, any last step."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

NUMERIC, NOMINAL = ("integer", "float", "gaps"), ("text", "category", "flag", "rare")


def dense(matrix):
    """Return an array of what may be sparse."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def reverse(table):
    """Return numbers with their columns in another order, which nothing but looking at values shows."""
    return np.asarray(table)[:, ::-1]


def added(table):
    """Return numbers and the sum of each row, as own code that joins columns."""
    values = np.asarray(table, dtype=float)
    return np.column_stack([values, values.sum(axis=1)])


@dataclass
class Example:
    """A pipeline that is not fitted, its table, target and weights, and what is requested of it."""

    model: object
    X: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray | None
    requests: list

    @property
    def options(self):
        """What every request passes."""
        return {"kind": "both", "grid_resolution": 4, "sample_weight": self.weights}


def column(kind, rng, n):
    """Return a column of a kind; ties are frequent."""
    if kind == "integer":
        return rng.integers(-3, 6, n)
    if kind in ("float", "gaps"):
        values = np.round(rng.normal(size=n), int(rng.integers(0, 4)))
        return np.where(rng.random(n) < 0.15, np.nan, values) if kind == "gaps" else values
    if kind == "text":
        return rng.choice(["a", "b", "c", None], n, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    if kind == "category":
        return pd.Categorical(rng.choice(["u", "v", "w", None], n), ["w", "v", "u", "never"])
    if kind == "rare":
        return np.array([f"r{min(k, 9)}" for k in rng.geometric(0.3, n)], dtype=object)
    return rng.random(n) < 0.5


def target(X, rng, classes):
    """Return numbers, or that many classes of them, that depend on every column."""
    y = 0.1 * rng.normal(size=len(X))
    for name in X:
        codes = pd.factorize(X[name])[0] if X[name].dtype.kind not in "if" else X[name].fillna(2.0)
        y = y + rng.normal() * np.sin(np.asarray(codes, dtype=float)) * (1 + (y > 0))
    return y if not classes else pd.qcut(pd.Series(y).rank(method="first"), classes, labels=False).to_numpy()


IMPUTERS = st.one_of(
    st.builds(SimpleImputer, strategy=st.sampled_from(["mean", "median", "most_frequent"]), add_indicator=st.booleans()),
    st.builds(SimpleImputer, strategy=st.just("constant"), fill_value=st.just(-1)),
    st.sampled_from([0, 0, 0, 1]).map(lambda joins: KNNImputer(n_neighbors=2) if joins else SimpleImputer()),
)  # fmt: skip
BY_COLUMN = st.one_of(
    st.sampled_from([StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler(), PowerTransformer(), Binarizer()]),
    st.builds(QuantileTransformer, n_quantiles=st.just(5)),
    st.builds(KBinsDiscretizer, n_bins=st.just(3), encode=st.sampled_from(["onehot", "onehot-dense", "ordinal"]),
              strategy=st.just("uniform")),
    st.builds(SplineTransformer, n_knots=st.just(3), degree=st.sampled_from([1, 3]), sparse_output=st.booleans()),
    st.builds(FunctionTransformer, st.sampled_from([None, np.arctan, dense, lambda x: x * 2 + 1]), accept_sparse=st.just(True)),
    st.builds(VarianceThreshold),
    st.builds(FeatureUnion, st.just([("a", StandardScaler()), ("b", "passthrough"), ("c", Binarizer())]),
              transformer_weights=st.sampled_from([None, {"a": -2.0}])),
)  # fmt: skip
JOINING = st.sampled_from([
    PolynomialFeatures(2), PolynomialFeatures(2, interaction_only=True, include_bias=False), PCA(1), Normalizer(),
    FunctionTransformer(reverse), FunctionTransformer(added),
])  # fmt: skip
ENCODERS = st.one_of(
    st.builds(OneHotEncoder, handle_unknown=st.just("ignore"), drop=st.sampled_from([None, "first", "if_binary"]),
              min_frequency=st.sampled_from([None, 4]), sparse_output=st.booleans()),
    st.builds(OneHotEncoder, handle_unknown=st.just("infrequent_if_exist"), max_categories=st.just(2)),
    st.builds(OrdinalEncoder, handle_unknown=st.just("use_encoded_value"), unknown_value=st.just(-1),
              encoded_missing_value=st.just(-2)),
    st.builds(TargetEncoder, cv=st.just(2), random_state=st.just(0)),
)  # fmt: skip


@st.composite
def chosen(draw, names, every):
    """Draw columns in one of the ways a ColumnTransformer takes them."""
    how = draw(st.sampled_from(["names", "names", "positions", "negative", "mask", "callable"]))
    if how == "positions":
        return [every.index(name) for name in names]
    if how == "negative":
        return [every.index(name) - len(every) for name in names]
    if how == "mask":
        return [name in names for name in every]
    return (lambda table: list(names)) if how == "callable" else list(names)


@st.composite
def branches(draw, kinds):
    """Draw a branch of a ColumnTransformer: a chain of steps for some columns of one sort."""
    every = list(kinds)
    numeric, nominal = ([name for name in every if kinds[name] in sort] for sort in (NUMERIC, NOMINAL))
    if nominal and (not numeric or draw(st.booleans())):
        names = draw(st.lists(st.sampled_from(nominal), min_size=1, max_size=3, unique=True))
        steps = [draw(ENCODERS)]
    else:
        names = draw(st.lists(st.sampled_from(numeric), min_size=1, max_size=3, unique=True))
        steps = [draw(IMPUTERS), *draw(st.lists(BY_COLUMN, max_size=2))]
        if draw(st.integers(0, 7)) == 0:
            steps = [steps[0], draw(JOINING), *steps[1:]]
        if draw(st.integers(0, 9)) == 0:
            steps = [MissingIndicator(features="all")]
    if len(steps) > 2:  # most steps take no sparse input
        steps.insert(2, FunctionTransformer(dense, accept_sparse=True))
    if len(names) > 1 and draw(st.integers(0, 7)) == 0 and isinstance(steps[0], SimpleImputer):
        inner = [("first", make_pipeline(*steps), [0]), ("last", SimpleImputer(), [-1])]
        steps = [ColumnTransformer(inner, remainder=SimpleImputer(), sparse_threshold=0)]
    # The chain itself is a step, as some people nest them.
    return make_pipeline(*steps) if draw(st.booleans()) or len(steps) > 1 else steps[0], draw(
        chosen(names, every)
    )


@st.composite
def column_transformers(draw, kinds):
    """Draw a ColumnTransformer of one to four branches, whose columns may overlap."""
    drawn = draw(st.lists(branches(kinds), min_size=1, max_size=4))
    named = [(f"b{number}", *branch) for number, branch in enumerate(drawn)]
    rest = draw(st.sampled_from(["drop", "drop", "passthrough"]))
    if rest == "passthrough" and any(kind in ("text", "category", "rare", "gaps") for kind in kinds.values()):
        rest = "drop"  # no last step takes them as they are
    return ColumnTransformer(named, remainder=rest, sparse_threshold=draw(st.sampled_from([0, 0.3, 1.0])))


@st.composite
def preprocessings(draw, kinds):
    """Draw the steps before the last one."""
    first = draw(column_transformers(kinds))
    if draw(st.integers(0, 4)) == 0:
        first = FeatureUnion([("one", first), ("two", draw(column_transformers(kinds)))])
    after = draw(
        st.sampled_from([[], [], [], ["scale"], ["select"], ["threshold"], ["dense"], ["none"], ["pca"]])
    )
    known = {
        "scale": MaxAbsScaler(), "select": SelectKBest(k=2), "threshold": VarianceThreshold(),
        "dense": FunctionTransformer(dense, accept_sparse=True), "none": "passthrough", "pca": PCA(2),
    }  # fmt: skip
    steps = [first, *(known[name] for name in after)]
    return steps if draw(st.booleans()) else [make_pipeline(*steps)]


ONE = {"n_estimators": 4, "n_jobs": 1}
LAST = {  # and the number of classes they predict
    "LightGBM": (LGBMRegressor(**ONE, min_child_samples=2, verbose=-1), 0),
    "LightGBM of 3": (LGBMClassifier(**ONE, min_child_samples=2, verbose=-1), 3),
    "XGBoost": (XGBRegressor(**ONE, max_depth=3), 0),
    "XGBoost of 2": (XGBClassifier(**ONE, max_depth=3), 2),
    "HistGB": (HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=2), 0),
    "HistGB of 2": (HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=2), 2),
    "forest": (RandomForestRegressor(**ONE, max_depth=4, random_state=0), 0),
    "forest of 3": (RandomForestClassifier(**ONE, max_depth=4, random_state=0), 3),
    "boosting": (GradientBoostingRegressor(n_estimators=4, random_state=0), 0),
    "tree": (DecisionTreeRegressor(max_depth=5, random_state=0), 0),
    "ridge": (Ridge(), 0),
    "least squares": (LinearRegression(), 0),
    "elastic net": (ElasticNet(0.01), 0),
    "logistic of 2": (LogisticRegression(), 2),
    "logistic of 3": (LogisticRegression(), 3),
}


@st.composite
def examples(draw):
    """Draw a pipeline, its table and what is requested."""
    drawn = draw(st.lists(st.sampled_from([*NUMERIC, *NOMINAL]), min_size=2, max_size=5))
    kinds = {f"{kind} {number}": kind for number, kind in enumerate(drawn)}
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n = draw(st.integers(24, 60))
    X = pd.DataFrame({name: column(kind, rng, n) for name, kind in kinds.items()})
    last, classes = LAST[draw(st.sampled_from(list(LAST)))]
    steps = draw(preprocessings(kinds))
    if isinstance(last, (HistGradientBoostingRegressor, HistGradientBoostingClassifier)):
        steps = [*steps, FunctionTransformer(dense, accept_sparse=True)]
    names = list(kinds)
    pairs = st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True)
    requests = [*draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)), draw(pairs)]
    weights = (
        rng.integers(0, 3, n).astype(float) + (np.arange(n) == 0) if draw(st.integers(0, 3)) == 0 else None
    )
    return Example(make_pipeline(*steps, last), X, target(X, rng, classes), weights, requests)

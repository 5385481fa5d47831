"""A small fitted model of every family, for the table in docs/exact.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import statsmodels.api as sm
import xgboost as xgb
from glum import GeneralizedLinearRegressor
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from sklearn import ensemble, linear_model, naive_bayes, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

ROWS = 48
VALUE, MARGIN, PROBABILITY = "predict", "decision_function", "predict_proba"
SURVIVAL = ("predict_survival_function", "predict_cumulative_hazard_function")  # at some times


def _tables() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return numbers, the same with gaps and a category, and a positive target of them."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(
        {"a": rng.normal(size=ROWS), "b": rng.integers(0, 9, ROWS), "c": rng.gamma(2, 1, ROWS)}
    )
    city = pd.Categorical(rng.choice(["Bern", "Chur", "Genf", "Zug"], ROWS))
    mixed = numbers.assign(c=numbers["c"].where(rng.random(ROWS) > 0.1), city=city)
    y = np.exp(numbers["a"] / 2 * (numbers["b"] > 4) + numbers["c"] / 5) + (city == "Zug")
    return numbers, mixed, y


NUMBERS, MIXED, Y = _tables()
TEXT = MIXED.assign(city=MIXED["city"].astype(str))
TWO, THREE = (Y.gt(Y.median())).astype(int), pd.qcut(Y, 3, labels=False)
COUNTS = Y.round().astype(int)
XGB = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "verbosity": 0}
LGB = {"n_estimators": 4, "num_leaves": 5, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
CAT = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
EBM = {"max_rounds": 20, "outer_bags": 1, "n_jobs": 1, "interactions": 1}
TREES = {"n_estimators": 4, "random_state": 0}


class Family(NamedTuple):
    """Models of one kind: the heading and the name of a row, how one is fitted, on what, its responses."""

    group: str
    name: str
    fit: Callable[[], Any]
    responses: tuple[str, ...] = (VALUE,)
    X: pd.DataFrame = NUMBERS
    features: tuple[str, str] = ("a", "b")


def families() -> Iterator[Family]:
    """Yield every family, in the order of the page."""
    yield from _trees()
    yield from _boosting()
    yield from _xgboost()
    yield from _lightgbm()
    yield from _catboost()
    yield from _terms()
    yield from _prepared()
    yield from _wrapped()
    yield from _survival()
    yield from _others()


def _trees() -> Iterator[Family]:
    group, classes = "scikit-learn trees and forests", (PROBABILITY,)
    grown = {"max_depth": 4, "random_state": 0}
    yield Family(
        group, "`DecisionTreeRegressor`", lambda: tree.DecisionTreeRegressor(**grown).fit(NUMBERS, Y)
    )
    yield Family(
        group,
        "`DecisionTreeClassifier`",
        lambda: tree.DecisionTreeClassifier(**grown).fit(NUMBERS, TWO),
        classes,
    )
    for kind in ("RandomForest", "ExtraTrees"):
        for suffix, y, responses in (("Regressor", Y, (VALUE,)), ("Classifier", THREE, classes)):
            made = getattr(ensemble, kind + suffix)
            yield Family(
                group,
                f"`{kind}{suffix}`",
                lambda made=made, y=y: made(**TREES).fit(NUMBERS, y),
                responses,
            )
    bagged = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    yield Family(
        group,
        "`BaggingClassifier` of trees",
        lambda: ensemble.BaggingClassifier(bagged, **TREES).fit(NUMBERS, TWO),
        classes,
    )
    yield Family(
        group, "`IsolationForest`", lambda: ensemble.IsolationForest(**TREES).fit(NUMBERS), (MARGIN,)
    )
    yield Family(
        group,
        "`AdaBoostClassifier`",
        lambda: ensemble.AdaBoostClassifier(**TREES).fit(NUMBERS, TWO),
        (PROBABILITY, MARGIN),
    )
    yield Family(group, "`AdaBoostRegressor`", lambda: ensemble.AdaBoostRegressor(**TREES).fit(NUMBERS, Y))


def _boosting() -> Iterator[Family]:
    group, both = "scikit-learn boosting", (PROBABILITY, MARGIN)
    few = {"max_iter": 4, "min_samples_leaf": 5}
    yield Family(
        group,
        "`GradientBoostingRegressor`, any loss",
        lambda: ensemble.GradientBoostingRegressor(**TREES, loss="huber").fit(NUMBERS, Y),
    )
    start = linear_model.LinearRegression()
    yield Family(
        group,
        "`GradientBoostingRegressor`, `init` a model",
        lambda: ensemble.GradientBoostingRegressor(**TREES, init=start).fit(NUMBERS, Y),
    )
    for name, y in (("two classes", TWO), ("several classes", THREE)):
        yield Family(
            group,
            f"`GradientBoostingClassifier`, {name}",
            lambda y=y: ensemble.GradientBoostingClassifier(**TREES).fit(NUMBERS, y),
            both,
        )
    first = ensemble.HistGradientBoostingClassifier(**few)
    yield Family(
        group,
        "`GradientBoostingClassifier`, `init` a `HistGradientBoostingClassifier`",
        lambda: ensemble.GradientBoostingClassifier(**TREES, init=first).fit(NUMBERS, TWO),
        both,
    )
    yield Family(
        group,
        "`HistGradientBoostingRegressor`, with categories",
        lambda: ensemble.HistGradientBoostingRegressor(**few).fit(MIXED, Y),
        X=MIXED,
    )
    yield Family(
        group,
        "`HistGradientBoostingRegressor`, Poisson",
        lambda: ensemble.HistGradientBoostingRegressor(**few, loss="poisson").fit(NUMBERS, COUNTS),
    )
    yield Family(
        group,
        "`HistGradientBoostingClassifier`",
        lambda: ensemble.HistGradientBoostingClassifier(**few).fit(NUMBERS, TWO),
        both,
    )


def _xgboost() -> Iterator[Family]:
    group, both = "XGBoost", (PROBABILITY, MARGIN)
    yield Family(
        group,
        "`XGBRegressor`, with categories",
        lambda: xgb.XGBRegressor(**XGB, enable_categorical=True).fit(MIXED, Y),
        X=MIXED,
    )
    yield Family(
        group,
        "`XGBRegressor`, Poisson",
        lambda: xgb.XGBRegressor(**XGB, objective="count:poisson").fit(NUMBERS, COUNTS),
        (VALUE, MARGIN),
    )
    yield Family(
        group,
        "`XGBRegressor`, DART",
        lambda: xgb.XGBRegressor(**XGB, booster="dart", rate_drop=0.5).fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`XGBRegressor`, `gblinear`",
        lambda: xgb.XGBRegressor(n_estimators=4, booster="gblinear", verbosity=0).fit(NUMBERS, Y),
    )
    yield Family(group, "`XGBRFRegressor`", lambda: xgb.XGBRFRegressor(**XGB).fit(NUMBERS, Y))
    yield Family(group, "`XGBClassifier`", lambda: xgb.XGBClassifier(**XGB).fit(NUMBERS, TWO), both)
    binary = {"max_depth": 3, "nthread": 1, "verbosity": 0, "objective": "binary:logistic"}
    yield Family(
        group,
        "`xgboost.train`, logistic",
        lambda: xgb.train(binary, xgb.DMatrix(NUMBERS, TWO), 4),
        (VALUE, MARGIN),
    )


def _lightgbm() -> Iterator[Family]:
    group, both = "LightGBM", (PROBABILITY, MARGIN)
    yield Family(
        group,
        "`LGBMRegressor`, with categories",
        lambda: lgb.LGBMRegressor(**LGB, min_data_per_group=5).fit(MIXED, Y),
        X=MIXED,
    )
    yield Family(
        group,
        "`LGBMRegressor`, Poisson",
        lambda: lgb.LGBMRegressor(**LGB, objective="poisson").fit(NUMBERS, COUNTS),
        (VALUE, MARGIN),
    )
    yield Family(
        group,
        "`LGBMRegressor`, DART",
        lambda: lgb.LGBMRegressor(**LGB, boosting_type="dart").fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`LGBMRegressor`, linear trees",
        lambda: lgb.LGBMRegressor(**LGB, linear_tree=True).fit(NUMBERS, Y),
    )
    yield Family(group, "`LGBMClassifier`", lambda: lgb.LGBMClassifier(**LGB).fit(NUMBERS, THREE), both)


def _catboost() -> Iterator[Family]:
    group = "CatBoost"
    yield Family(group, "`CatBoostRegressor`", lambda: catboost.CatBoostRegressor(**CAT).fit(NUMBERS, Y))
    for name, size in (("one-hot categories", 10), ("target statistics of categories", 1)):
        yield Family(
            group,
            f"`CatBoostRegressor`, {name}",
            lambda size=size: catboost.CatBoostRegressor(
                **CAT, cat_features=["city"], one_hot_max_size=size, max_ctr_complexity=1
            ).fit(TEXT, 5 * TEXT["city"].factorize()[0] + Y),
            X=TEXT,
        )
    yield Family(
        group,
        "`CatBoostClassifier`",
        lambda: catboost.CatBoostClassifier(**CAT).fit(NUMBERS, TWO),
        (PROBABILITY, MARGIN),
    )


def _terms() -> Iterator[Family]:
    group, both = "Sums of terms", (PROBABILITY, MARGIN)
    yield Family(
        group, "`LinearRegression`, `Ridge`, `Lasso`, ...", lambda: linear_model.Ridge().fit(NUMBERS, Y)
    )
    yield Family(
        group, "`LogisticRegression`", lambda: linear_model.LogisticRegression().fit(NUMBERS, TWO), both
    )
    yield Family(
        group,
        "`PoissonRegressor`, `GammaRegressor`, `TweedieRegressor`",
        lambda: linear_model.PoissonRegressor().fit(NUMBERS, COUNTS),
    )
    yield Family(group, "`LinearSVC`", lambda: LinearSVC().fit(NUMBERS, TWO), (MARGIN,))
    yield Family(
        group,
        "`LinearDiscriminantAnalysis`",
        lambda: LinearDiscriminantAnalysis().fit(NUMBERS, TWO),
        both,
    )
    yield Family(group, "`GaussianNB`", lambda: naive_bayes.GaussianNB().fit(NUMBERS, TWO), (PROBABILITY,))
    yield Family(
        group,
        "glum `GeneralizedLinearRegressor`",
        lambda: GeneralizedLinearRegressor(family="poisson", alpha=0.1).fit(NUMBERS, COUNTS),
    )
    yield Family(
        group,
        "statsmodels `GLM`",
        lambda: sm.GLM(COUNTS, NUMBERS, family=sm.families.Poisson()).fit(),
    )
    group = "Explainable boosting machines"
    yield Family(
        group,
        "`ExplainableBoostingRegressor`",
        lambda: ExplainableBoostingRegressor(**EBM).fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`ExplainableBoostingClassifier`",
        lambda: ExplainableBoostingClassifier(**EBM).fit(NUMBERS, TWO),
        both,
    )


def _survival() -> Iterator[Family]:
    group, times = "scikit-survival", Surv.from_arrays(NUMBERS["c"] > 1, Y)
    for name, model in (
        ("`RandomSurvivalForest`", RandomSurvivalForest(**TREES)),
        ("`GradientBoostingSurvivalAnalysis`", GradientBoostingSurvivalAnalysis(**TREES)),
        ("`CoxPHSurvivalAnalysis`", CoxPHSurvivalAnalysis(alpha=0.1)),
    ):
        yield Family(group, name, lambda model=model: model.fit(NUMBERS, times), (VALUE, *SURVIVAL))


def _prepare(numbers: Any) -> Any:
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), numbers), ["a", "b", "c"]),
        (OneHotEncoder(sparse_output=False), ["city"]),
    )


def _prepared() -> Iterator[Family]:
    group = "Pipelines"
    boosted = ensemble.GradientBoostingRegressor(**TREES)
    yield Family(
        group,
        "impute, scale, one-hot; then trees",
        lambda: make_pipeline(_prepare(StandardScaler()), boosted).fit(MIXED, Y),
        X=MIXED,
    )
    yield Family(
        group,
        "impute, scale, one-hot; then boosted classes",
        lambda: make_pipeline(_prepare(StandardScaler()), ensemble.GradientBoostingClassifier(**TREES)).fit(
            MIXED, TWO
        ),
        (PROBABILITY, MARGIN),
        MIXED,
    )
    yield Family(
        group,
        "splines, one-hot; then `Ridge`",
        lambda: make_pipeline(_prepare(SplineTransformer(4)), linear_model.Ridge()).fit(MIXED, Y),
        X=MIXED,
    )
    yield Family(
        group,
        "splines, one-hot; then trees",
        lambda: make_pipeline(_prepare(SplineTransformer(4)), boosted).fit(MIXED, Y),
        X=MIXED,
    )
    for name, step in (("PCA", PCA(2)), ("PolynomialFeatures", PolynomialFeatures(2))):
        yield Family(
            group,
            f"`{name}` of the features; then trees",
            lambda step=step: make_pipeline(_prepare(step), boosted).fit(MIXED, Y),
            X=MIXED,
        )


def _wrapped() -> Iterator[Family]:
    group = "Models made of models"
    boosted, line = ensemble.GradientBoostingRegressor(**TREES), linear_model.Ridge()
    classes = ensemble.GradientBoostingClassifier(**TREES)
    chance = linear_model.LogisticRegression()
    forest = ensemble.RandomForestRegressor(**TREES)
    grid = {"max_depth": [2, 3]}
    yield Family(group, "`GridSearchCV` of trees", lambda: GridSearchCV(boosted, grid, cv=2).fit(NUMBERS, Y))
    yield Family(
        group,
        "`VotingRegressor` of trees",
        lambda: ensemble.VotingRegressor([("x", boosted), ("y", forest)]).fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`VotingRegressor` of trees and `Ridge`",
        lambda: ensemble.VotingRegressor([("x", boosted), ("y", line)]).fit(NUMBERS, Y),
    )
    for vote in ("soft", "hard"):
        yield Family(
            group,
            f"`VotingClassifier`, {vote}",
            lambda vote=vote: ensemble.VotingClassifier([("x", classes), ("y", chance)], voting=vote).fit(
                NUMBERS, TWO
            ),
            (PROBABILITY if vote == "soft" else VALUE,),
        )
    lines = [("a", linear_model.Ridge()), ("b", linear_model.LinearRegression())]
    yield Family(
        group,
        "`VotingRegressor` of `Ridge` and `LinearRegression`",
        lambda: ensemble.VotingRegressor(lines).fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`BaggingRegressor` of `Ridge`",
        lambda: ensemble.BaggingRegressor(line, **TREES).fit(NUMBERS, Y),
    )
    yield from _stacked(group, boosted, classes, forest)


def _stacked(group: str, boosted: Any, classes: Any, forest: Any) -> Iterator[Family]:
    two = [("x", boosted), ("y", forest)]
    yield Family(
        group,
        "`StackingRegressor`, last step `RidgeCV`",
        lambda: ensemble.StackingRegressor(two, linear_model.RidgeCV(), cv=2).fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`StackingRegressor`, last step a forest",
        lambda: ensemble.StackingRegressor(two, forest, cv=2).fit(NUMBERS, Y),
    )
    yield Family(
        group,
        "`CalibratedClassifierCV` of trees",
        lambda: CalibratedClassifierCV(classes, cv=2).fit(NUMBERS, TWO),
        (PROBABILITY,),
    )
    log = {"func": np.log, "inverse_func": np.exp}
    yield Family(
        group,
        "`TransformedTargetRegressor` of trees",
        lambda: TransformedTargetRegressor(boosted, **log).fit(NUMBERS, Y),
    )
    pair = np.column_stack([Y, COUNTS])
    yield Family(
        group,
        "`MultiOutputRegressor` of trees",
        lambda: MultiOutputRegressor(boosted).fit(NUMBERS, pair),
    )
    yield Family(group, "`RegressorChain`", lambda: RegressorChain(boosted).fit(NUMBERS, pair))
    yield Family(
        group,
        "`OneVsRestClassifier` of trees",
        lambda: OneVsRestClassifier(classes).fit(NUMBERS, THREE),
        (PROBABILITY,),
    )


def _others() -> Iterator[Family]:
    group = "Any other model"
    yield Family(
        group,
        "`MLPRegressor`",
        lambda: MLPRegressor(hidden_layer_sizes=4, max_iter=500, random_state=0, solver="lbfgs").fit(
            NUMBERS, Y
        ),
    )
    yield Family(group, "`SVR`", lambda: SVR().fit(NUMBERS, Y))
    yield Family(group, "`KNeighborsRegressor`", lambda: KNeighborsRegressor().fit(NUMBERS, Y))
    forest = ensemble.RandomForestClassifier(**TREES)
    yield Family(group, "class labels of any classifier", lambda: forest.fit(NUMBERS, TWO))
    yield Family(group, "a function", lambda: lambda X: X["a"] * X["b"], ("auto",))

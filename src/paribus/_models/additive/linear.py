"""Linear and generalized linear models of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._models.link import Link
from paribus.errors import RefusalCode, RefusalError

# Classes whose predictions are coefficients times columns, by the responses that are and their links.
REGRESSORS = frozenset(
    (
        "ARDRegression",
        "BayesianRidge",
        "ElasticNet",
        "ElasticNetCV",
        "HuberRegressor",
        "Lars",
        "LarsCV",
        "Lasso",
        "LassoCV",
        "LassoLars",
        "LassoLarsCV",
        "LassoLarsIC",
        "LinearRegression",
        "LinearSVR",
        "MultiTaskElasticNet",
        "MultiTaskElasticNetCV",
        "MultiTaskLasso",
        "MultiTaskLassoCV",
        "OrthogonalMatchingPursuit",
        "OrthogonalMatchingPursuitCV",
        "PassiveAggressiveRegressor",
        "QuantileRegressor",
        "Ridge",
        "RidgeCV",
        "SGDRegressor",
        "TheilSenRegressor",
    )
)
LOGARITHMIC = frozenset(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"))
LOGISTIC = frozenset(("LinearDiscriminantAnalysis", "LogisticRegression", "LogisticRegressionCV"))
CLASSIFIERS = LOGISTIC | {
    "LinearSVC",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
}


def is_linear(model: Any) -> bool:
    """Return whether a model is a linear model of scikit-learn."""
    known = REGRESSORS | LOGARITHMIC | CLASSIFIERS
    return type(model).__module__.split(".")[0] == "sklearn" and type(model).__name__ in known


def read_linear(model: Any, response: str) -> tuple[Floats, Floats, Link]:
    """Return coefficients ``(m, c)``, intercept ``(m,)`` and link; refuse a response that has none."""
    link = _link(model, type(model).__name__, response)
    own = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_  # after sparsify()
    coefficients = np.atleast_2d(np.asarray(own, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(coefficients))
    return coefficients, np.array(intercept), link


def _link(model: Any, name: str, response: str) -> Link:
    """Return the link from margins to a response, or refuse."""
    if response == "predict" and name in REGRESSORS:
        return Link()
    if response == "predict" and name in LOGARITHMIC:
        # Of a Tweedie regression "auto" is the identity for the power of a normal distribution.
        kind = getattr(model, "link", "log")
        linear = kind == "identity" or (kind == "auto" and model.power <= 0)
        return Link() if linear else Link("exp")
    if response == "predict":
        raise RefusalError(
            f"the predict of {name} gives class labels, which are no sum of terms; request predict_proba or "
            "decision_function, where it has one",
            RefusalCode.NONLINEAR_LINK,
        )
    if response == "decision_function":
        return Link()
    if name in LOGISTIC:
        return _of_probabilities(model, name)
    if name == "SGDClassifier" and model.loss == "log_loss" and len(model.classes_) == 2:
        return Link("sigmoid")
    raise RefusalError(
        f"the {response} of {name}(loss={getattr(model, 'loss', None)!r}) of {len(model.classes_)} classes "
        "is no known function of sums of terms; request decision_function",
        RefusalCode.NONLINEAR_LINK,
    )


def _of_probabilities(model: Any, name: str) -> Link:
    """Return the link of a logistic regression, which may be one of each class against the rest."""
    two = len(model.classes_) == 2
    how = getattr(model, "multi_class", "deprecated")  # releases up to 1.8 have it
    several = how == "multinomial" or (how != "ovr" and getattr(model, "solver", "") != "liblinear")
    if not two and not several and name != "LinearDiscriminantAnalysis":
        raise RefusalError(
            f"the predict_proba of {name} fits each class against the rest, and divides by the sum of all; "
            "request decision_function",
            RefusalCode.NONLINEAR_LINK,
        )
    if two:  # probabilities of two classes by a softmax of the margin and its negative
        return Link("sigmoid", 2.0 if how == "multinomial" else 1.0)
    return Link("softmax")

"""Readers of additive models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.additive.additive import (
    Additive,
    LinearTerms,
    SquaredTerms,
    StepTerms,
    TableTerms,
    Terms,
)
from paribus._models.parameters import attribute
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import Preparation
from paribus._models.trees import refuse_difference
from paribus.errors import RefusalCode, RefusalError

# By the name of the class of a link, as both libraries write it.
LINKS = {
    "Identity": Link(),
    "IdentityLink": Link(),
    "Log": Link("exp"),
    "LogLink": Link("exp"),
    "Logit": Link("sigmoid"),
    "LogitLink": Link("sigmoid"),
}
# What statsmodels calls fitted models, and which of its models have a link of their own.
RESULTS = (
    "BinaryResultsWrapper",
    "GLMResultsWrapper",
    "PoissonResultsWrapper",
    "RegressionResultsWrapper",
)
OWN_LINKS = {
    "GLS": Link(),
    "Logit": Link("sigmoid"),
    "OLS": Link(),
    "Poisson": Link("exp"),
    "WLS": Link(),
}
GLUM = ("GeneralizedLinearRegressor", "GeneralizedLinearRegressorCV")


def is_glm(model: Any) -> bool:
    """Return whether a model is a fitted linear model of statsmodels or glum."""
    known = {"statsmodels": RESULTS, "glum": GLUM}
    return type(model).__name__ in known.get(type(model).__module__.split(".")[0], ())


def read_glm(model: Any, response: str) -> tuple[Floats, Floats, Link]:
    """Return coefficients ``(1, c)``, intercept ``(1,)`` and link, or refuse."""
    if response != "predict":
        name = type(model).__name__
        raise RefusalError(
            f"the {response} of {name} is not known as a sum of terms", RefusalCode.UNSUPPORTED
        )
    return _of_glum(model) if type(model).__name__ in GLUM else _of_statsmodels(model)


def _of_statsmodels(results: Any) -> tuple[Floats, Floats, Link]:
    """Read the parameters of fitted results; the table has a column for each, a constant one if any."""
    model = results.model
    name = type(model).__name__
    _refuse_formula(name, attribute(model, "formula"))
    if name == "GLM":
        link = _known(name, model.family.link)
    elif name in OWN_LINKS:
        link = OWN_LINKS[name]
    else:
        raise RefusalError(f"{name} of statsmodels is not known as a sum of terms", RefusalCode.NO_STRUCTURE)
    return np.asarray(results.params, dtype=np.float64).reshape(1, -1), np.zeros(1), link


def _of_glum(model: Any) -> tuple[Floats, Floats, Link]:
    """Read the coefficients, which are one per column unless some of them were categories."""
    name = type(model).__name__
    _refuse_formula(name, attribute(model, "formula"))
    coefficients = np.asarray(model.coef_, dtype=np.float64).reshape(1, -1)
    return coefficients, np.array([float(model.intercept_)]), _known(name, model.link_instance)


def _refuse_formula(name: str, formula: Any) -> None:
    if formula is not None:
        raise RefusalError(
            f"{name} was fitted by the formula {formula!s:.100}, whose terms may join columns",
            RefusalCode.UNSUPPORTED,
        )


def _known(name: str, link: Any) -> Link:
    """Return a link by its class."""
    found = LINKS.get(type(link).__name__)
    if type(link).__name__ == "TweedieLink":
        found = {0: Link(), 1: Link("exp")}.get(link.power)
    if found is None:
        raise RefusalError(
            f"the link {type(link).__name__} of {name} is not known", RefusalCode.NONLINEAR_LINK
        )
    return found


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


def is_naive_bayes(model: Any) -> bool:
    """Return whether a model is a naive Bayes classifier of scikit-learn."""
    return type(model).__module__.split(".")[0] == "sklearn" and type(model).__name__ in READERS


def read_naive_bayes(model: Any, response: str) -> tuple[Terms, Floats, Link]:
    """Return terms, intercept ``(m,)`` and link; `RefusalError` if the response has none."""
    name = type(model).__name__
    if response != "predict_proba":
        raise RefusalError(
            f"the {response} of {name} gives class labels, which are no sum of terms; request predict_proba",
            RefusalCode.NONLINEAR_LINK,
        )
    with np.errstate(divide="ignore"):  # what is not finite is refused, not warned of
        terms, intercept = READERS[name](model)
    return terms, np.asarray(intercept, dtype=np.float64), Link("softmax")


def _gaussian(model: Any) -> tuple[Terms, Floats]:
    variance = np.asarray(model.var_, dtype=np.float64)
    constant = np.log(model.class_prior_) - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)
    return SquaredTerms(np.asarray(model.theta_, dtype=np.float64), -0.5 / variance), constant


def _bernoulli(model: Any) -> tuple[Terms, Floats]:
    present = np.asarray(model.feature_log_prob_, dtype=np.float64)
    absent = np.log(1 - np.exp(present))
    if model.binarize is None:  # numbers between absent and present count in proportion
        return LinearTerms(present - absent), model.class_log_prior_ + absent.sum(axis=1)
    return StepTerms(float(model.binarize), absent, present), model.class_log_prior_


def _multinomial(model: Any) -> tuple[Terms, Floats]:
    return LinearTerms(np.asarray(model.feature_log_prob_, dtype=np.float64)), model.class_log_prior_


def _complement(model: Any) -> tuple[Terms, Floats]:
    coefficients = np.asarray(model.feature_log_prob_, dtype=np.float64)
    only = model.class_log_prior_ if len(model.classes_) == 1 else np.zeros(len(coefficients))
    return LinearTerms(coefficients), only


def _categorical(model: Any) -> tuple[Terms, Floats]:
    tables = tuple(np.asarray(table, dtype=np.float64) for table in model.feature_log_prob_)
    return TableTerms(tables), model.class_log_prior_


READERS: dict[str, Callable[[Any], tuple[Terms, Floats]]] = {
    "BernoulliNB": _bernoulli,
    "CategoricalNB": _categorical,
    "ComplementNB": _complement,
    "GaussianNB": _gaussian,
    "MultinomialNB": _multinomial,
}


def is_additive(model: Any) -> bool:
    """Return whether a model is of a class whose terms can be read."""
    return is_linear(model) or is_naive_bayes(model) or is_glm(model)


def additive_for(
    model: Any,
    response: str,
    columns: tuple[int, ...] | None,
    sample: Table,
    prediction: Floats,
    preparation: Preparation | None,
) -> Additive:
    """Return the terms of a model for a response, or refuse; they must predict ``sample`` as the model did.

    ``columns`` are those the adapter picked of the model's outputs, ``prediction (n, o)`` what was picked.
    """
    terms, intercept, link = _read(model, response)
    margins, width = terms.shape
    if not (terms.finite and np.isfinite(intercept).all()):
        raise RefusalError(f"a coefficient of {type(model).__name__} is not finite", RefusalCode.UNSUPPORTED)
    received = len(sample.names) if preparation is None else len(preparation.owners)
    if width != received or len(intercept) != margins:
        raise RefusalError(
            f"{type(model).__name__} has coefficients of {width} columns and receives {received}",
            RefusalCode.DATA,
        )
    owner = np.arange(width) if preparation is None else np.array(preparation.owners)
    outputs = prediction.shape[1]
    both = columns is None and link.name == "sigmoid" and (margins, outputs) == (1, 2)
    picked = None if both or margins == outputs else _picked(link, columns, margins, outputs)
    additive = Additive(terms, intercept, owner, link, picked, both, preparation)
    whole = additive.terms(additive.rows(sample), ())
    ours = additive.outputs(additive.rest(whole, [])).T
    refuse_difference(ours, prediction, f"on {len(sample)} rows", "terms")
    return additive


def _read(model: Any, response: str) -> tuple[Terms, Floats, Link]:
    try:
        if is_naive_bayes(model):
            return read_naive_bayes(model, response)
        read = read_glm if is_glm(model) else read_linear
        coefficients, intercept, link = read(model, response)
    except AttributeError as error:
        raise RefusalError(
            f"{type(model).__name__} has no {error.name!r}: it is not fitted, or its release is not known",
            RefusalCode.NO_STRUCTURE,
        ) from error
    return LinearTerms(coefficients), intercept, link


def _picked(link: Link, columns: tuple[int, ...] | None, margins: int, outputs: int) -> tuple[int, ...]:
    """Return which probabilities are reported, where there are more of them."""
    if link.name == "softmax" and columns is not None and len(columns) == outputs and max(columns) < margins:
        return columns
    raise RefusalError(
        f"its terms add up to {margins} margins, and it has {outputs} outputs", RefusalCode.UNSUPPORTED
    )

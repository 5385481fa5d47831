"""Readers of additive models of scikit-learn, statsmodels, glum, XGBoost and scikit-survival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.additive.additive import (
    Additive,
    LinearTerms,
    SingleTerms,
    SquaredTerms,
    StepTerms,
    TableTerms,
    Terms,
)
from paribus._models.libraries.xgboost import is_linear_booster, read_linear_booster
from paribus._models.parameters import attribute, package_of, replaced_method
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import Preparation
from paribus._models.trees import is_single, refuse_difference
from paribus.errors import RefusalCode, RefusalError

# By class name of a link in statsmodels and glum.
LINKS = {
    "Identity": Link(),
    "IdentityLink": Link(),
    "Log": Link("exp"),
    "LogLink": Link("exp"),
    "Logit": Link("sigmoid"),
    "LogitLink": Link("sigmoid"),
}
# Classes of fitted models in statsmodels, and links of its models that are not a GLM.
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
SURVIVAL = (
    "ComponentwiseGradientBoostingSurvivalAnalysis",
    "CoxPHSurvivalAnalysis",
    "CoxnetSurvivalAnalysis",
    "IPCRidge",
)


def is_glm(model: Any) -> bool:
    """Return whether a model is a fitted linear model of statsmodels, glum or scikit-survival."""
    classes = {"statsmodels": RESULTS, "glum": GLUM, "sksurv": SURVIVAL}
    return type(model).__name__ in classes.get(package_of(model), ())


def read_glm(model: Any, response: str) -> tuple[Floats, Floats, Link]:
    """Return coefficients ``(1, c)``, intercept ``(1,)`` and link, or refuse."""
    name = type(model).__name__
    if response != "predict":
        raise RefusalError(
            f"the {response} of {name} is not known as a sum of terms", RefusalCode.UNSUPPORTED
        )
    if name in SURVIVAL:  # a linear risk score, or the log of a predicted time
        coefficients = np.asarray(model.coef_, dtype=np.float64)
        if name == "CoxnetSurvivalAnalysis":  # a path of penalties, of which predict uses the last
            return coefficients[:, -1:].T, -np.asarray(model.offset_[-1:], dtype=np.float64), Link()
        if name == "ComponentwiseGradientBoostingSurvivalAnalysis":
            link = Link() if model.loss == "coxph" else Link("exp")
            return coefficients[None, 1:], coefficients[:1], link
        if name == "IPCRidge":
            return coefficients.reshape(1, -1), np.array([float(model.intercept_)]), Link("exp")
        return coefficients.reshape(1, -1), np.zeros(1), Link()
    if name in GLUM:  # with categorical columns there are more coefficients than columns
        _refuse_formula(name, attribute(model, "formula"))
        coefficients = np.asarray(model.coef_, dtype=np.float64).reshape(1, -1)
        return coefficients, np.array([float(model.intercept_)]), _glm_link(name, model.link_instance)
    # Fitted results of statsmodels, for which the table must contain the constant column.
    fitted = model.model
    name = type(fitted).__name__
    _refuse_formula(name, attribute(fitted, "formula"))
    if name == "GLM":
        link = _glm_link(name, fitted.family.link)
    elif name in OWN_LINKS:
        link = OWN_LINKS[name]
    else:
        raise RefusalError(f"{name} of statsmodels is not known as a sum of terms", RefusalCode.NO_STRUCTURE)
    return np.asarray(model.params, dtype=np.float64).reshape(1, -1), np.zeros(1), link


def _refuse_formula(name: str, formula: Any) -> None:
    if formula is not None:
        raise RefusalError(
            f"{name} was fitted by the formula {formula!s:.100}, whose terms may join columns",
            RefusalCode.UNSUPPORTED,
        )


def _glm_link(name: str, link: Any) -> Link:
    """Return a link by its class, or refuse an unknown one."""
    kind = type(link).__name__
    supported = {0: Link(), 1: Link("exp")}.get(link.power) if kind == "TweedieLink" else LINKS.get(kind)
    if supported is None:
        raise RefusalError(f"the link {kind} of {name} is not known", RefusalCode.NONLINEAR_LINK)
    return supported


# Linear models by the link of their responses.
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
    classes = REGRESSORS | LOGARITHMIC | CLASSIFIERS
    return package_of(model) == "sklearn" and type(model).__name__ in classes


def read_linear(model: Any, response: str) -> tuple[Floats, Floats, Link]:
    """Return coefficients ``(m, c)``, intercept ``(m,)`` and link, or refuse the response."""
    link = _linear_link(model, type(model).__name__, response)
    dense = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_  # after sparsify()
    coefficients = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(coefficients))
    return coefficients, np.array(intercept), link


def _linear_link(model: Any, name: str, response: str) -> Link:
    """Return the link from margins to a response, or refuse."""
    if response == "predict" and name in REGRESSORS:
        return Link()
    if response == "predict" and name in LOGARITHMIC:
        # The link "auto" of a Tweedie regression is the identity for powers up to 0.
        kind = getattr(model, "link", "log")
        linear = kind == "identity" or (kind == "auto" and model.power <= 0)
        return Link() if linear else Link("exp")
    if response == "predict":
        raise RefusalError(
            f"the predict of {name} gives class labels, not a sum of terms; request predict_proba or "
            "decision_function, where it has one",
            RefusalCode.NONLINEAR_LINK,
        )
    if response == "decision_function":
        return Link()
    if name in LOGISTIC:
        two = len(model.classes_) == 2
        how = getattr(model, "multi_class", "deprecated")  # exists up to release 1.8
        several = how == "multinomial" or (how != "ovr" and getattr(model, "solver", "") != "liblinear")
        if not two and not several and name != "LinearDiscriminantAnalysis":
            raise RefusalError(
                f"the predict_proba of {name} fits each class against the rest, and divides by the sum of "
                "all; request decision_function",
                RefusalCode.NONLINEAR_LINK,
            )
        if two:  # a multinomial fit is a softmax of the margin and its negative
            return Link("sigmoid", 2.0 if how == "multinomial" else 1.0)
        return Link("softmax")
    if name == "SGDClassifier" and model.loss == "log_loss" and len(model.classes_) == 2:
        return Link("sigmoid")
    raise RefusalError(
        f"the {response} of {name}(loss={getattr(model, 'loss', None)!r}) of {len(model.classes_)} classes "
        "is not a known function of sums of terms; request decision_function",
        RefusalCode.NONLINEAR_LINK,
    )


NAIVE_BAYES = ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB")


def is_naive_bayes(model: Any) -> bool:
    """Return whether a model is a naive Bayes classifier of scikit-learn."""
    return package_of(model) == "sklearn" and type(model).__name__ in NAIVE_BAYES


def read_naive_bayes(model: Any, response: str) -> tuple[Terms, Floats, Link]:
    """Return terms, intercept ``(m,)`` and link, or refuse the response."""
    name = type(model).__name__
    if response != "predict_proba":
        raise RefusalError(
            f"the {response} of {name} gives class labels, not a sum of terms; request predict_proba",
            RefusalCode.NONLINEAR_LINK,
        )
    with np.errstate(divide="ignore"):  # parameters that are not finite are refused later
        terms, intercept = _naive_bayes_terms(model, name)
    return terms, np.asarray(intercept, dtype=np.float64), Link("softmax")


def _naive_bayes_terms(model: Any, name: str) -> tuple[Terms, Floats]:
    """Return the log likelihoods of columns as terms, and the rest of the log posterior ``(m,)``."""
    if name == "GaussianNB":
        variance = np.asarray(model.var_, dtype=np.float64)
        constant = np.log(model.class_prior_) - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)
        return SquaredTerms(np.asarray(model.theta_, dtype=np.float64), -0.5 / variance), constant
    if name == "CategoricalNB":
        tables = tuple(np.asarray(table, dtype=np.float64) for table in model.feature_log_prob_)
        return TableTerms(tables), model.class_log_prior_
    present = np.asarray(model.feature_log_prob_, dtype=np.float64)
    if name == "BernoulliNB":
        absent = np.log(1 - np.exp(present))
        if model.binarize is None:  # interpolates linearly between absent (0) and present (1)
            return LinearTerms(present - absent), model.class_log_prior_ + absent.sum(axis=1)
        return StepTerms(float(model.binarize), absent, present), model.class_log_prior_
    if name == "ComplementNB" and len(model.classes_) > 1:  # ignores the class prior
        return LinearTerms(present), np.zeros(len(present))
    return LinearTerms(present), model.class_log_prior_


PROJECTIONS = ("IncrementalPCA", "PCA", "TruncatedSVD")


def is_projection(step: Any) -> bool:
    """Return whether a step of scikit-learn projects the columns on components, by its own method."""
    projects = package_of(step) == "sklearn" and type(step).__name__ in PROJECTIONS
    return projects and replaced_method(step, ("transform",)) is None


@dataclass(frozen=True, eq=False)
class ProjectedModel:
    """A linear model behind projections, which is linear in the columns before them, too."""

    projections: tuple[Any, ...]
    model: Any

    @property
    def ends(self) -> tuple[Any, Any]:
        """The step that receives the columns, and the model."""
        return self.projections[0], self.model

    def terms(self, response: str) -> tuple[Terms, Floats, Link]:
        r"""Return the terms: for :math:`z = A (x - \mu)` the coefficients are :math:`w A`."""
        coefficients, intercept, link = read_linear(self.model, response)
        for step in reversed(self.projections):
            components = np.asarray(step.components_, dtype=np.float64)
            if getattr(step, "whiten", False):
                deviations = np.sqrt(np.asarray(step.explained_variance_, dtype=np.float64))
                components = components / np.maximum(deviations, np.finfo(deviations.dtype).eps)[:, None]
            coefficients = coefficients @ components
            intercept = intercept - coefficients @ getattr(step, "mean_", np.zeros(components.shape[1]))
        return LinearTerms(coefficients), intercept, link


def behind_projections(steps: Sequence[Any], model: Any) -> tuple[Sequence[Any], Any]:
    """Return the steps without the last projections, and a linear model that includes these."""
    first = len(steps)
    while first and is_projection(steps[first - 1]):
        first -= 1
    if first == len(steps) or not is_linear(model):
        return steps, model
    return steps[:first], ProjectedModel(tuple(steps[first:]), model)


def is_additive(model: Any) -> bool:
    """Return whether a model belongs to a class of additive models that is supported."""
    kinds = (is_linear, is_naive_bayes, is_glm, is_linear_booster)
    return isinstance(model, ProjectedModel) or any(is_kind(model) for is_kind in kinds)


def additive_for(
    model: Any,
    response: str,
    columns: tuple[int, ...] | None,
    sample: Table,
    prediction: Floats,
    preparation: Preparation | None,
) -> Additive:
    """Return the terms of a model for a response, or refuse, also if its predictions of ``sample`` differ.

    ``columns`` are the reported columns among the outputs of the model, None for all; ``prediction (n, o)``
    are these outputs.
    """
    terms, intercept, link = _read_terms(model, response)
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
    if both or margins == outputs:
        columns = None
    elif link.name != "softmax" or columns is None or len(columns) != outputs or max(columns) >= margins:
        raise RefusalError(
            f"its terms add up to {margins} margins, and it has {outputs} outputs", RefusalCode.UNSUPPORTED
        )
    additive = Additive(terms, intercept, owner, link, columns, both, preparation, is_single(prediction))
    whole = additive.terms(additive.rows(sample), ())
    ours = additive.outputs(additive.rest(whole, [])).T
    refuse_difference(ours, prediction, f"on {len(sample)} rows", "terms")
    return additive


def _read_terms(model: Any, response: str) -> tuple[Terms, Floats, Link]:
    try:
        if isinstance(model, ProjectedModel):
            return model.terms(response)
        if is_naive_bayes(model):
            return read_naive_bayes(model, response)
        if is_linear_booster(model):
            coefficients, intercept, link = read_linear_booster(model, response)
            return SingleTerms(coefficients), intercept, link
        read = read_glm if is_glm(model) else read_linear
        coefficients, intercept, link = read(model, response)
    except AttributeError as error:
        raise RefusalError(
            f"{type(model).__name__} has no {error.name!r}: it is not fitted, or its release is not known",
            RefusalCode.NO_STRUCTURE,
        ) from error
    return LinearTerms(coefficients), intercept, link

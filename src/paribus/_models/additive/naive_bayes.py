"""Naive Bayes of scikit-learn: log-probabilities of classes are sums of one term per column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._models.additive.terms import LinearTerms, SquaredTerms, StepTerms, TableTerms, Terms
from paribus._models.link import Link
from paribus.errors import RefusalCode, RefusalError


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

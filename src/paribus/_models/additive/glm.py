"""Generalized linear models of other libraries: statsmodels and glum."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._models.estimators import attribute
from paribus._models.link import Link
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

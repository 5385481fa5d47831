"""Models that are a sum of one term per column, behind a link: linear and generalized linear models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.table import CellValues, Table
from paribus._models.link import Link
from paribus._models.preparation import Preparation
from paribus.errors import ModelError, RefusalCode, RefusalError

# Classes of scikit-learn whose predictions are coefficients times columns, and the links of their responses.
IDENTITY = Link("identity")
LINEAR = [
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
]
LOGARITHMIC = ("GammaRegressor", "PoissonRegressor", "TweedieRegressor")
MARGINS = ("LinearSVC", "Perceptron", "PassiveAggressiveClassifier", "RidgeClassifier", "RidgeClassifierCV")
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV")


@dataclass(frozen=True, eq=False)
class Additive:
    r"""A margin that is a sum of terms, each of one feature, and the link to what is predicted.

    .. math:: F_m(x) = b_m + \sum_c \beta_{mc} z_c(x_{j(c)})

    Attributes
    ----------
    coefficients : (m, c)
    intercept : (m,)
    owner : (c,)
        The feature that each column is of.
    preparation : Preparation or None
        What makes the columns of a table, None where they are its own.
    """

    coefficients: Floats
    intercept: Floats
    owner: Integers
    link: Link
    columns: tuple[int, ...] | None
    bound: float | None
    both: bool
    preparation: Preparation | None

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.intercept)

    def outputs(self, margins: Floats) -> Floats:
        """Return the outputs ``(o, ...)`` of margins ``(m, ...)``."""
        outputs = self.link.apply(margins)
        if self.both:
            return np.concatenate([1.0 - outputs, outputs])
        return outputs if self.columns is None else outputs[list(self.columns)]

    def terms(self, table: Table, features: tuple[int, ...]) -> Floats:
        """Return the term of each of some features, and last the margin of all terms, ``(f + 1, m, i)``."""
        made: Any = table if self.preparation is None else self.preparation.table(table.native)
        position = {feature: number for number, feature in enumerate(features)}
        terms = np.zeros((len(features) + 1, self.n_margins, len(table)))
        terms[-1] += self.intercept[:, None]
        for column in np.flatnonzero(self.coefficients.any(axis=0)).tolist():
            added = self.coefficients[:, column, None] * _numbers(made, column)
            number = position.get(int(self.owner[column]))
            terms[-1] += added
            if number is not None:
                terms[number] += added
        return terms

    def values(self, feature: int, cells: CellValues) -> Floats:
        """Return the term of a feature at some values, ``(m, v)``."""
        count = len(cells.column.missing)
        made = None if self.preparation is None else self.preparation.values(feature, cells)
        term = np.zeros((self.n_margins, count))
        for column in np.flatnonzero((self.owner == feature) & self.coefficients.any(axis=0)).tolist():
            numbers = _of_column(cells.column) if made is None else _numbers(made, column)
            term += self.coefficients[:, column, None] * numbers
        return term

    @property
    def prepared_bytes(self) -> int:
        """Memory of a row while it goes through preprocessing."""
        return 0 if self.preparation is None else self.preparation.row_bytes

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that some step makes one column of, together with others."""
        if self.preparation is not None:
            self.preparation.refuse_joined(features)


def _numbers(table: Any, column: int) -> Floats:
    floats = table.floats(column)
    return _of_column(table.column(column)) if floats is None else floats.astype(np.float64, copy=False)


def _of_column(column: Any) -> Floats:
    if column.missing.any():
        raise ModelError(f"{column.name!r} has missing values, which the model does not accept")
    if column.values.dtype.kind not in "biuf":
        raise RefusalError(f"{column.name!r} does not hold numbers", RefusalCode.DATA)
    return np.asarray(column.values, dtype=np.float64)


def is_linear(model: Any) -> bool:
    """Return whether a model is a linear model of scikit-learn."""
    known = (*LINEAR, *LOGARITHMIC, *MARGINS, *LOGISTIC, "SGDClassifier")
    return type(model).__module__.split(".")[0] == "sklearn" and type(model).__name__ in known


def read_linear(model: Any, response: str) -> tuple[Floats, Floats, Link]:
    """Return coefficients ``(m, c)``, intercept ``(m,)`` and link; `RefusalError` if the response has none."""
    name = type(model).__name__
    link = _link(model, name, response)
    if link is None:
        raise RefusalError(
            f"the {response} of {name} is not known as a sum of terms", RefusalCode.UNSUPPORTED
        )
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(coefficients))
    if not (np.isfinite(coefficients).all() and np.isfinite(intercept).all()):
        raise RefusalError("a coefficient is not finite", RefusalCode.UNSUPPORTED)
    return coefficients, np.array(intercept), link


def _link(model: Any, name: str, response: str) -> Link | None:
    """Return the link from margins to a response; None where that is not known."""
    if name in LINEAR:
        return IDENTITY if response == "predict" else None
    if name in LOGARITHMIC and response == "predict":
        # Of a Tweedie regression "auto" is the identity for the power of a normal distribution.
        kind = getattr(model, "link", "log")
        linear = kind == "identity" or (kind == "auto" and model.power <= 0)
        return IDENTITY if linear else Link("exp")
    if response == "decision_function" and name in (*MARGINS, *LOGISTIC, "SGDClassifier"):
        return IDENTITY
    if response == "predict_proba" and name in LOGISTIC:
        return Link("sigmoid") if len(model.coef_) == 1 else Link("softmax")
    if response == "predict_proba" and name == "SGDClassifier" and model.loss == "log_loss":
        return Link("sigmoid") if len(model.coef_) == 1 else None
    return None


def bound_of(link: Link) -> float | None:
    """Return a power of two that no output exceeds, None where that is not known."""
    return 1.0 if link.name in ("sigmoid", "softmax") else None


def refuse_overflow(additive: Additive, margins: Floats) -> None:
    """Refuse margins whose exponentials may overflow when they are added up."""
    if additive.link.name == "exp" and float(np.abs(margins).max(initial=0.0)) / math.log(2.0) > 900.0:
        raise RefusalError("its predictions may overflow when they are added up", RefusalCode.UNSUPPORTED)

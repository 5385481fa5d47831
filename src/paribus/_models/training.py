"""Facts that a model stored when it was fitted: training rows and importances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import Table
from paribus._models.adapter import describe
from paribus._models.libraries import library_for
from paribus._models.parameters import attribute, steps_of
from paribus._models.wrappers import handed_to
from paribus._text import count
from paribus.errors import RefusalError


class KeptCurve(NamedTuple):
    """One score of some rows after each iteration."""

    data: str
    metric: str
    values: Floats


def training_curves(estimator: Any) -> list[KeptCurve]:
    """Return the scores that a model, or the one within a pipeline or a search, kept while it was fitted."""
    model = innermost(estimator)
    library = library_for(model)
    kept = {} if library is None else library.training_curves(model)
    return [
        KeptCurve(str(data), str(metric), np.asarray(values, dtype=np.float64))
        for data, metrics in kept.items()
        for metric, values in metrics.items()
    ]


def innermost(estimator: Any) -> Any:
    """Return the model that others hand rows on to: the last step of a pipeline, the best of a search."""
    while True:
        steps = steps_of(estimator)
        inner = steps[-1] if steps else handed_to(estimator, "predict_proba")
        inner = attribute(estimator, "regressor_") if inner is None else inner
        if inner is None or inner is estimator or isinstance(inner, str):
            return estimator
        estimator = inner


NEGLIGIBLE = 1e-6  # of the largest: below zero it is rounding, as in differences of impurities
ROUNDING = 8  # last places by which shares that were divided by their sum may miss one


@dataclass(frozen=True, eq=False)
class OwnImportance:
    """The share of each column of the table ``(p,)``, and ``what`` it is a share of, in words.

    Shares add up to 1; they are all 0 for a model that uses no column.
    """

    values: Floats
    what: str


def own_importance(estimator: Any, table: Table) -> OwnImportance:
    """Return the importance a fitted model reports, or raise `RefusalError` where it has none.

    That is ``feature_importances_``, or the gain of a native booster. In a pipeline it is that of the last
    step, where the steps before it keep the columns of the table apart and say which is which. How a search
    was done does not matter: it is that of its best estimator.

    These numbers belong to the fitting and not to the rows of ``table``, which only has to have the columns
    the model was fitted on.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    name, columns = describe(estimator), len(table.names)
    models = steps_of(estimator) or [estimator]
    raw, what = _reported(models[-1], name)
    if len(raw) != columns:
        raise _refusal(name, f"it reports on {count(len(raw), 'column')}, and X has {columns}")
    values = np.empty(columns)
    values[_origins(estimator, table) if len(models) > 1 else slice(None)] = _shares(raw, name)
    return OwnImportance(values, what)


def _reported(model: Any, name: str) -> tuple[Array, str]:
    """Return what the model reports, column by column as it saw them, and what that is."""
    library = library_for(model, boosting=True) or library_for(model)
    try:
        raw: Any = (
            getattr(model, "feature_importances_", None) if library is None else library.importance(model)
        )
    except RefusalError as refusal:
        raise _refusal(name, str(refusal)) from refusal
    if np.ndim(raw) == 0:  # it may be empty where a model would need the data again
        raise _refusal(name, _why_none(model))
    if library is None:
        return np.asarray(raw), f"feature_importances_ as {type(model).__name__} defines them"
    return np.asarray(raw), library.importance_name(model)


def _why_none(model: Any) -> str:
    if hasattr(model, "coef_"):
        return "it has coefficients, which depend on the scale of the columns and are no importance"
    if callable(model) and not hasattr(model, "predict"):
        return "it is a function"
    return "it reports none"


def _origins(pipeline: Any, table: Table) -> Integers:
    """Return which column of the table each column of the last step is, by the names of the steps before."""
    name = describe(pipeline)
    try:
        out = [str(label) for label in pipeline[:-1].get_feature_names_out()]
    except Exception as error:  # steps say in many ways that they know no names
        raise _refusal(name, "its steps do not say which columns they hand on") from error
    fitted = getattr(pipeline, "feature_names_in_", None)
    own = [f"x{j}" for j in range(len(table.names))] if fitted is None else [str(label) for label in fitted]
    if set(own) == set(table.names):  # steps that choose by name do not mind another order than in fit
        own = list(table.names)
    position = {label: j for j, label in enumerate(own)}
    # A step for some of the columns puts its name and two underscores before theirs.
    origins = [position.get(label, position.get(label.split("__", 1)[-1], -1)) for label in out]
    if sorted(origins) != list(range(len(own))):
        other = next((label for label, j in zip(out, origins, strict=True) if j < 0), None)
        shown = "" if other is None else f", such as {other!r}"
        raise _refusal(name, f"its last step sees {count(len(out), 'column')} that are not those of X{shown}")
    return np.array(origins)


def _shares(raw: Array, name: str) -> Floats:
    """Divide by the sum; shares that were divided already stay as they are, to the last bit."""
    values = raw.astype(np.float64)
    size = float(np.abs(values).max(initial=0.0))
    if values.ndim != 1 or not np.isfinite(values).all() or (values < -NEGLIGIBLE * size).any():
        raise _refusal(name, "what it reports is not one number per column, none of them negative")
    total = float(values.sum())
    precision = np.finfo(raw.dtype if raw.dtype.kind == "f" else np.float64).eps
    if total == 0 or abs(total - 1) <= ROUNDING * len(values) * precision:
        return values
    return values / total


def _refusal(name: str, reason: str) -> RefusalError:
    return RefusalError(
        f"method='model' for {name}: {reason}. method='permutation' and method='effect' work for any model"
    )

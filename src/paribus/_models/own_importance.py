"""Importances that fitted models report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import Table
from paribus._models.adapter import describe
from paribus._models.libraries import library_for
from paribus._models.parameters import steps_of
from paribus._text import count
from paribus.errors import RefusalError

NEGLIGIBLE = 1e-6  # relative to the largest; smaller negative values are rounding errors
ROUNDING = 8  # units in the last place per column by which normalized shares may miss one


@dataclass(frozen=True, eq=False)
class OwnImportance:
    """Share of each column of the table ``(p,)``, and a description ``what`` of the importance.

    Shares sum to 1. They are all 0 for a model that uses no column.
    """

    values: Floats
    what: str


def own_importance(estimator: Any, table: Table) -> OwnImportance:
    """Return the importance that a fitted model reports, or raise `RefusalError` if it reports none.

    The importance is ``feature_importances_``, or the gain of a native booster. For a search it is that of
    the best estimator. For a pipeline it is that of the last step. The steps before it must return one
    column per column of the table, and name it.

    The importance depends on the training data, not on the rows of ``table``. The table must have the
    columns that the model was fitted on.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    name, columns = describe(estimator), len(table.names)
    models = steps_of(estimator) or [estimator]
    raw, what = _reported_importance(models[-1], name)
    if len(raw) != columns:
        raise _importance_refusal(name, f"it reports on {count(len(raw), 'column')}, and X has {columns}")
    values = np.empty(columns)
    values[_origins(estimator, table) if len(models) > 1 else slice(None)] = _as_shares(raw, name)
    return OwnImportance(values, what)


def _reported_importance(model: Any, name: str) -> tuple[Array, str]:
    """Return the reported importance of the columns that the model received, and its description."""
    library = library_for(model, boosting=True) or library_for(model)
    try:
        raw: Any = (
            getattr(model, "feature_importances_", None) if library is None else library.importance(model)
        )
    except RefusalError as refusal:
        raise _importance_refusal(name, str(refusal)) from refusal
    if np.ndim(raw) == 0:  # None, also for CatBoost models that would need the training data
        raise _importance_refusal(name, _why_no_importance(model))
    if library is None:
        return np.asarray(raw), f"feature_importances_ as {type(model).__name__} defines them"
    return np.asarray(raw), library.importance_name(model)


def _why_no_importance(model: Any) -> str:
    if hasattr(model, "coef_"):
        return "it has coefficients, which depend on the scale of the columns and are not importances"
    if callable(model) and not hasattr(model, "predict"):
        return "it is a function"
    return "it reports none"


def _origins(pipeline: Any, table: Table) -> Integers:
    """Return the column of the table of each column of the last step, by the output names of the steps."""
    name = describe(pipeline)
    try:
        out = [str(label) for label in pipeline[:-1].get_feature_names_out()]
    except Exception as error:  # steps without names raise errors of any class
        raise _importance_refusal(name, "its steps do not say which columns they hand on") from error
    fitted = getattr(pipeline, "feature_names_in_", None)
    own = [f"x{j}" for j in range(len(table.names))] if fitted is None else [str(label) for label in fitted]
    if set(own) == set(table.names):  # steps that select by name accept another order than in fit
        own = list(table.names)
    position = {label: j for j, label in enumerate(own)}
    # Steps for some of the columns prefix names with the name of the step and two underscores.
    origins = [position.get(label, position.get(label.split("__", 1)[-1], -1)) for label in out]
    if sorted(origins) != list(range(len(own))):
        other = next((label for label, j in zip(out, origins, strict=True) if j < 0), None)
        shown = "" if other is None else f", such as {other!r}"
        raise _importance_refusal(
            name, f"its last step sees {count(len(out), 'column')} that are not those of X{shown}"
        )
    return np.array(origins)


def _as_shares(raw: Array, name: str) -> Floats:
    """Return values divided by their sum. Values that already sum to one stay unchanged."""
    values = raw.astype(np.float64)
    size = float(np.abs(values).max(initial=0.0))
    if values.ndim != 1 or not np.isfinite(values).all() or (values < -NEGLIGIBLE * size).any():
        raise _importance_refusal(name, "what it reports is not one number per column, none of them negative")
    total = float(values.sum())
    precision = np.finfo(raw.dtype if raw.dtype.kind == "f" else np.float64).eps
    if total == 0 or abs(total - 1) <= ROUNDING * len(values) * precision:
        return values
    return values / total


def _importance_refusal(name: str, reason: str) -> RefusalError:
    return RefusalError(
        f"kind='model' for {name}: {reason}. kind='permutation' and kind='effect' work for any model"
    )

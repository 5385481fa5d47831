"""Importances that fitted models report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Floats, Integers
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
    model = models[-1]
    library = library_for(model, boosting=True) or library_for(model)
    try:
        reported: Any = (
            getattr(model, "feature_importances_", None) if library is None else library.importance(model)
        )
    except RefusalError as refusal:
        raise _importance_refusal(name, str(refusal)) from refusal
    if np.ndim(reported) == 0:  # None, also for CatBoost models that would need the training data
        reason = "it reports none"
        if hasattr(model, "coef_"):
            reason = "it has coefficients, which depend on the scale of the columns and are not importances"
        elif callable(model) and not hasattr(model, "predict"):
            reason = "it is a function"
        raise _importance_refusal(name, reason)
    raw = np.asarray(reported)
    if len(raw) != columns:
        raise _importance_refusal(name, f"it reports on {count(len(raw), 'column')}, and X has {columns}")
    shares = raw.astype(np.float64)
    size = float(np.abs(shares).max(initial=0.0))
    if shares.ndim != 1 or not np.isfinite(shares).all() or (shares < -NEGLIGIBLE * size).any():
        raise _importance_refusal(name, "what it reports is not one number per column, none of them negative")
    total = float(shares.sum())
    precision = np.finfo(raw.dtype if raw.dtype.kind == "f" else np.float64).eps
    if total != 0 and abs(total - 1) > ROUNDING * columns * precision:  # shares may sum to one already
        shares = shares / total
    what = f"feature_importances_ as {type(model).__name__} defines them"
    if library is not None:
        what = library.importance_name(model)
    values = np.empty(columns)
    values[_origins(estimator, table) if len(models) > 1 else slice(None)] = shares
    return OwnImportance(values, what)


def _origins(pipeline: Any, table: Table) -> Integers:
    """Return the column of the table of each column of the last step, by the output names of the steps."""
    name = describe(pipeline)
    try:
        out = [str(label) for label in pipeline[:-1].get_feature_names_out()]
    except Exception as error:  # steps without names raise errors of any class
        raise _importance_refusal(name, "its steps do not say which columns they hand on") from error
    fitted = getattr(pipeline, "feature_names_in_", None)
    names = [f"x{j}" for j in range(len(table.names))]
    if fitted is not None:
        names = [str(label) for label in fitted]
    if set(names) == set(table.names):  # steps that select by name accept another order than in fit
        names = list(table.names)
    position = {label: j for j, label in enumerate(names)}
    # Steps for some of the columns prefix names with the name of the step and two underscores.
    origins = [position.get(label, position.get(label.split("__", 1)[-1], -1)) for label in out]
    if sorted(origins) != list(range(len(names))):
        other = next((label for label, j in zip(out, origins, strict=True) if j < 0), None)
        shown = "" if other is None else f", such as {other!r}"
        raise _importance_refusal(
            name, f"its last step sees {count(len(out), 'column')} that are not those of X{shown}"
        )
    return np.array(origins)


def _importance_refusal(name: str, reason: str) -> RefusalError:
    return RefusalError(
        f"kind='model' for {name}: {reason}. kind='permutation' and kind='effect' work for any model"
    )

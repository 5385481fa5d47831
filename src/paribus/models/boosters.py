"""What the boosting libraries call things: margins of their wrappers, tables of a native booster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paribus.errors import OptionError
from paribus.models.foreign import steps_of
from paribus.models.model import Call

# The keyword that makes a wrapper's own predict return the margin, before any link.
MARGIN: dict[str, dict[str, Any]] = {
    "xgboost": {"output_margin": True},
    "lightgbm": {"raw_score": True},
    "catboost": {"prediction_type": "RawFormulaVal"},
}


def margin_call(estimator: Any) -> Call | None:
    """Return how a booster's wrapper, or a pipeline that ends in one, is asked for its margin."""
    keywords = MARGIN.get(booster_library(estimator) or "")
    if keywords is not None and "CatBoostRanker" in (
        base.__name__ for base in type(_last(estimator)).__mro__
    ):
        keywords = {}  # its predict is the margin and takes no such keyword
    return None if keywords is None else Call(estimator, "predict", keywords)


def has_margin(estimator: Any) -> bool:
    """Tell whether a model can be asked for its margin."""
    return hasattr(estimator, "decision_function") or margin_call(estimator) is not None


def booster_library(estimator: Any) -> str | None:
    """Return the boosting library a model, or the last step of a pipeline, derives from."""
    libraries = (base.__module__.split(".")[0] for base in type(_last(estimator)).__mro__)
    return next((library for library in libraries if library in MARGIN), None)


def _last(estimator: Any) -> Any:
    return (steps_of(estimator) or [estimator])[-1]


@dataclass(frozen=True)
class FromMatrix:
    """A native XGBoost booster, which reads tables only through its own matrix."""

    booster: Any

    def __call__(self, table: Any, **keywords: Any) -> Any:
        """Return what the booster predicts for a table."""
        import xgboost

        columns = getattr(table, "columns", None)
        names = None if columns is not None else self.booster.feature_names
        matrix = xgboost.DMatrix(table, feature_names=names, enable_categorical=True)
        return self.booster.predict(matrix, **keywords)


def native_call(estimator: Any, response_method: str) -> Call | None:
    """Return how a native booster is asked, None for any other model.

    ``auto`` and ``predict`` are what its own ``predict`` returns, on the scale of its objective.
    """
    library, kind = type(estimator).__module__.split(".")[0], type(estimator).__name__
    if library not in ("xgboost", "lightgbm") or kind != "Booster":
        return None
    if response_method == "predict_proba":
        raise OptionError(
            "response_method='predict_proba': a native Booster has only predict, which returns "
            "probabilities when its objective does; leave it at 'auto'"
        )
    keywords = MARGIN[library] if response_method == "decision_function" else {}
    if library == "xgboost":
        return Call(FromMatrix(estimator), None, keywords)
    return Call(estimator, "predict", keywords)

"""What a model kept while it was fitted, wherever within other models it is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paribus._contracts import Floats
from paribus._models.estimators import attribute, steps_of
from paribus._models.libraries import library_for
from paribus._models.wrappers import handed_to


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

"""scikit-survival: survival trees, their forests, and gradient boosting, all with trees of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._models.ensemble import Ensemble
from paribus._models.libraries.sklearn import (
    Sklearn,
    accepts_missing,
    initial_margins,
    join_trees,
    single_precision,
)
from paribus._models.parameters import attribute
from paribus._models.predictor import Link
from paribus._models.survival import HAZARD, START, SURVIVAL, times_before
from paribus.errors import RefusalError

TREES, FORESTS = ("SurvivalTree", "ExtraSurvivalTree"), ("RandomSurvivalForest", "ExtraSurvivalTrees")
BOOSTING = "GradientBoostingSurvivalAnalysis"
LEAF_COLUMN = {HAZARD: 0, SURVIVAL: 1}  # in the values (nodes, times, 2) of a survival tree
# By class name of a loss. Other losses than the partial likelihood predict the log of a time.
LINKS = {"CoxPH": Link(), "CensoredSquaredLoss": Link("exp"), "IPCWLeastSquaresError": Link("exp")}


class ScikitSurvival(Sklearn):
    """scikit-survival, whose trees have step functions of time in their leaves."""

    module = "sksurv"
    title = "scikit-survival"

    def importance(self, model: Any) -> Any:
        """Return the importance of each column, None for forests, which raise an error."""
        return attribute(model, "feature_importances_")

    def importance_name(self, model: Any) -> str:
        """Return a description of the importance."""
        if type(model).__name__ == BOOSTING:
            return super().importance_name(model)
        return f"feature_importances_ as {type(model).__name__} defines them"

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees whose leaves sum to the risk score."""
        if type(model).__name__ != BOOSTING:
            return _mean_of_trees(model, "predict", _risks)
        loss = type(model._loss).__name__
        if loss not in LINKS:
            raise RefusalError(f"its loss {loss} is not known")
        trees = list(model.estimators_.ravel())
        # With dropout, each tree has a weight.
        weights = model.learning_rate * getattr(model, "_scale", np.ones(len(trees)))
        value = np.concatenate([w * tree.tree_.value[:, 0] for w, tree in zip(weights, trees, strict=True)])
        encodings = single_precision(model.n_features_in_, accepts_missing=False)
        return join_trees(trees, value, initial_margins(model), encodings, {"predict": LINKS[loss]}, {})

    def read_trees_at(self, model: Any, response: str, times: tuple[float, ...]) -> Ensemble:
        """Return the trees of a forest, whose leaves have a value for each time."""

        def values(tree: Any) -> Floats:
            at = times_before(tree.unique_times_, times)
            at_times = tree.tree_.value[:, at, LEAF_COLUMN[response]]
            return np.where(at < 0, START[response], at_times)

        return _mean_of_trees(model, response, values)


def _mean_of_trees(model: Any, response: str, values: Callable[[Any], Floats]) -> Ensemble:
    """Return the mean of trees; ``values`` returns those at the nodes of a tree, ``(n, k)``."""
    name = type(model).__name__
    if name not in TREES + FORESTS:
        raise RefusalError(f"{name} is not among the tree ensembles of scikit-survival that can be read")
    trees = [model] if name in TREES else model.estimators_
    value = np.concatenate([values(tree) for tree in trees]) / len(trees)
    encodings = single_precision(model.n_features_in_, accepts_missing(trees[0]))
    return join_trees(trees, value, np.zeros(value.shape[1]), encodings, {response: Link()}, {})


def _risks(tree: Any) -> Floats:
    """Return the sum of the cumulative hazards at all event times, which is stored with low memory."""
    value: Floats = tree.tree_.value[:, :, 0]
    return value if tree.low_memory else value[:, tree.is_event_time_].sum(axis=1, keepdims=True)

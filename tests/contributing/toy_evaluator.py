"""A faster way to effects of features that a model says it does not use: each row is predicted once."""

from dataclasses import dataclass

import numpy as np

from paribus._evaluators.request import EffectEstimate, EvaluationRequest, SinglePass
from paribus._models import Model
from paribus._states import Keyed, Moments
from paribus.errors import RefusalError
from paribus.meaning import Estimand


@dataclass(frozen=True, eq=False)
class UnusedFeatures(SinglePass):
    model: Model
    request: EvaluationRequest

    name = "unused_features"
    shortcut = True
    estimand = Estimand.INTERVENTIONAL
    threaded = False
    how = "predicts every row as it is, once, since the model does not use the feature"
    block_rows = 1_024
    worker_bytes = property(lambda self: 16 * self.block_rows * self.outputs)
    state_bytes = property(lambda self: 32 * self.outputs)
    outputs = property(lambda self: self.model.n_outputs)
    predictions = property(lambda self: self.request.n_weighted)

    @classmethod
    def build(cls, model, request):
        used = getattr(model.predictor.target, "used_features_", None)
        if used is None or any(axis.feature in used for grid in request.grids for axis in grid.axes):
            raise RefusalError("the model does not say that it leaves the features out")
        if request.individual or request.quantiles is not None:
            raise RefusalError("it has no curves of rows")
        return cls(model, request)

    def evaluate(self, block):
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        predictions = self.model.predict(block.table.native, len(block.table))
        return Keyed({("all", 0): Moments.of(predictions.T[:, None, :], block.weights)})

    def finish(self, state, threads):
        moments = state.parts["all", 0]
        mean, error = moments.mean, moments.standard_error()
        sizes = (grid.n_points for grid in self.request.grids)
        return [EffectEstimate(np.repeat(mean, n, 1), np.repeat(error, n, 1), None) for n in sizes]

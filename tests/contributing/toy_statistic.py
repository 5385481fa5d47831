"""A statistic: the mean of the predictions, by each of the outputs."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from paribus._api.run import each_model
from paribus._api.runner import Pass
from paribus._states import Keyed, Moments

VERB = "mean_prediction"


@dataclass(frozen=True, eq=False)
class MeanPrediction:
    """From a block to a state: the evaluator."""

    model: object
    block_rows: int = 32

    def evaluate(self, block):
        block = self.kept(block)
        if not len(block.table):
            return Keyed({})
        predictions = self.model.predict(block.table.native, len(block.table))
        return Keyed({("mean", 0): Moments.of(predictions.T[:, None, :], block.weights)})

    def kept(self, block):
        return block.weighted()


@dataclass(frozen=True, eq=False)
class MeanStatistic:
    """For `paribus._api.run`: what it wants of the rows, its passes, its result."""

    kind: type = MeanPrediction
    verb: str = VERB
    seeds: tuple = ()
    needs_model: bool = True
    needs_target: bool = False
    reads_trees: bool = False
    wanted: tuple = ()

    def evaluate(self, work):
        states = yield from each_model([self.passes(work, model) for model in work.models])
        return partial(self.finish, states)

    def passes(self, work, model):
        evaluator = self.kind(model)
        blocks, identity = work.rows.blocks(evaluator.block_rows), work.identity(work.rows, model, VERB)
        (state,) = yield [Pass(VERB, evaluator, blocks, 1, identity=identity, rows=work.rows)]
        return state

    def finish(self, states):
        moments = [state.parts["mean", 0] for state in states]
        each = np.array([one.mean[:, 0] for one in moments])
        errors = np.array([one.standard_error()[:, 0] for one in moments])
        return {"mean": each.mean(axis=0), "standard_error": errors.mean(axis=0)}

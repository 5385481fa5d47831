"""A statistic that is added inherits every law; one that breaks a law is found by that law."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

import paribus
from examples import EXAMPLES
from laws import LAWS
from paribus._api import explainer
from paribus._api.run import each_model
from paribus._api.runner import Pass
from paribus._states import Keyed, Moments
from paribus._states.expected import Expected
from table_of_statistics import NO_CURVES, NO_TREES, Statistic

VERB = "mean_prediction"


@dataclass(frozen=True, eq=False)
class MeanPrediction:
    """The mean of the predictions of a block, by each of the outputs."""

    model: object
    block_rows: int = 32

    def expected(self, rows):
        return Expected({("mean", 0): Moments.expected(self.model.n_outputs, 1, rows)})

    def evaluate(self, block):
        block = self.kept(block)
        if not len(block.table):
            return Keyed({})
        predictions = self.model.predict(block.table.native, len(block.table))
        return Keyed({("mean", 0): Moments.of(predictions.T[:, None, :], block.weights)})

    def kept(self, block):
        return block.weighted()


class IgnoresWeights(MeanPrediction):
    def kept(self, block):
        return replace(block, weights=None)


class DependsOnOrder(MeanPrediction):
    """The first rows count more than the last."""

    def kept(self, block):
        block = block.weighted()
        later = 1.0 / (1.0 + block.start + np.arange(len(block.table)))
        return replace(block, weights=later if block.weights is None else block.weights * later)


class CountsBlocks(MeanPrediction):
    """A block counts as much as any other, however many rows it has."""

    def kept(self, block):
        block = block.weighted()
        weights = np.ones(len(block.table)) if block.weights is None else block.weights
        return replace(block, weights=weights / weights.sum() if len(weights) else weights)


@dataclass(frozen=True, eq=False)
class Toy:
    """The same for `paribus._api.run`: what it wants of the rows, its passes, its result."""

    kind: type
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


def mean_of_terms(found, additive):
    yield found["mean"], [additive.mean(additive.y)]


TOY = Statistic(VERB, additive=mean_of_terms, laws_without=dict([NO_TREES, NO_CURVES]))


@pytest.fixture
def registered(monkeypatch):
    """Give explainers another method, as a file in ``_api/statistics`` would."""

    def register(kind):
        def mean_prediction(self, features=None, percentiles=None):
            return self._compute(VERB, {})

        monkeypatch.setattr(paribus.Explainer, VERB, mean_prediction, raising=False)
        monkeypatch.setitem(explainer.BUILDERS, VERB, lambda self, **given: Toy(kind, wanted={}))

    return register


@pytest.fixture
def broken_laws(client, tmp_path):
    def find(statistic, monkeypatch, most=None):
        found = set()
        for name, law in LAWS.items():
            if name in statistic.laws_without:
                continue
            for example in law.examples[:most]:
                folder = tmp_path / f"{name} {example}"
                folder.mkdir()
                given = {"monkeypatch": monkeypatch, "tmp_path": folder, "client": client}
                try:
                    law.holds(statistic=statistic, example=EXAMPLES[example](rows=statistic.rows), **given)
                except AssertionError:
                    found.add(name)
        return found

    return find


def test_toy_statistic_obeys_every_law(registered, broken_laws, monkeypatch):
    registered(MeanPrediction)
    found = TOY.compute(lambda t: t["a"].to_numpy(), EXAMPLES["function"]().X)
    assert found["['mean']"] == pytest.approx(EXAMPLES["function"]().X["a"].mean())
    assert broken_laws(TOY, monkeypatch) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "laws"),
    [
        (IgnoresWeights, {"integer weights", "zero weight", "additive model"}),
        (
            DependsOnOrder,
            {"integer weights", "zero weight", "order of rows", "any split into blocks", "additive model"},
        ),
        (
            CountsBlocks,
            {"integer weights", "zero weight", "order of rows", "any split into blocks", "additive model"},
        ),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_toy_statistic_that_breaks_laws_is_found_by_them(registered, broken_laws, monkeypatch, kind, laws):
    registered(kind)
    toy = replace(TOY, laws_without=dict([NO_TREES, NO_CURVES]))
    assert broken_laws(toy, monkeypatch, most=1) == laws

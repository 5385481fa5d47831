"""A statistic that is added inherits every law; one that breaks a law is found by that law."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import paribus
from examples import EXAMPLES
from laws import LAWS
from paribus._api import explainer
from paribus._api.options import STATISTICS, StatisticOptions
from table_of_statistics import NO_CURVES, NO_TREES, Statistic
from toy_statistic import VERB, MeanPrediction, MeanStatistic


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


def mean_of_terms(found, additive):
    yield found["mean"], [additive.mean(additive.y)]


TOY = Statistic(VERB, additive=mean_of_terms, laws_without=dict([NO_TREES, NO_CURVES]))


@pytest.fixture
def registered(monkeypatch):
    """Give explainers another method, as a file in ``_api/statistics`` would."""

    def register(kind):
        @dataclass(frozen=True, kw_only=True, eq=False)
        class MeanOptions(StatisticOptions[Any]):
            verb = VERB

            features: Any = None
            percentiles: Any = None

            def statistic(self, subject):
                return MeanStatistic(kind, wanted={})

        def mean_prediction(self, features=None, percentiles=None, subsample=None, random_state=0):
            sample = {"subsample": subsample, "random_state": random_state}
            return self._compute(MeanOptions(features=features, percentiles=percentiles, **sample))

        monkeypatch.setattr(paribus.Explainer, VERB, mean_prediction, raising=False)
        monkeypatch.setattr(explainer, "STATISTICS", (*STATISTICS, MeanOptions))

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


@pytest.mark.nightly
def test_toy_statistic_obeys_every_law(registered, broken_laws, monkeypatch):
    registered(MeanPrediction)
    found = TOY.compute(lambda t: t["a"].to_numpy(), EXAMPLES["function"]().X)
    assert found["['mean']"] == pytest.approx(EXAMPLES["function"]().X["a"].mean())
    assert broken_laws(TOY, monkeypatch, most=1) == set()


@pytest.mark.nightly
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

"""Laws that models which are sums of terms must keep as well: their shortcuts fold by themselves."""

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from examples import Example, codes
from laws import LAWS
from table_of_statistics import STATISTICS

OPTIONS = {"categorical_features": ["kind"]}


@cache
def linear(rows):
    X, y, weights = codes(rows)
    X, y = X.fillna(2.0), np.stack([y, np.cos(y)], axis=1)
    return Example(Ridge().fit(X, y), X, y, weights, OPTIONS)


@cache
def logistic(rows):
    X, y, weights = codes(rows)
    X, y = X.fillna(2.0), np.digitize(y, np.quantile(y, [0.4, 0.8]))
    return Example(LogisticRegression(max_iter=500).fit(X, y), X, y, weights, OPTIONS)


CHECKED = (
    "exact equals brute",
    "any split into blocks",
    "order of blocks",
    "threads",
    "zero weight",
    "integer weights",
    "read equals held",
    "resumed equals run",
)
SHORTCUTS = ("pd", "ice", "two-way", "ale", "ale_pair", "h", "importance")
MODELS = {"linear": linear, "logistic": logistic}


FURTHER = ("exact equals brute", "any split into blocks", "resumed equals run")
QUICK = {"linear": ("pd", "ale", "h"), "logistic": ("ale_pair",)}  # each way states are folded, once


def marks(law, statistic, model):
    """Return the markers of a case; brute force is compared in tests of the evaluators, too."""
    quick = statistic in QUICK[model] and law in FURTHER and (law, statistic) != ("exact equals brute", "pd")
    return [] if quick else [pytest.mark.nightly]


CASES = [
    pytest.param(law, statistic, model, marks=marks(law, statistic, model))
    for law in CHECKED
    for statistic in SHORTCUTS
    for model in MODELS
    if statistic in QUICK[model] or (law in FURTHER and (model == "linear" or statistic in ("pd", "ice")))
]


@pytest.mark.parametrize(("law", "statistic", "model"), CASES)
def test_law_holds_for_sums_of_terms(law, statistic, model, monkeypatch, tmp_path):
    one = STATISTICS[statistic]
    if law in one.laws_without:
        pytest.skip(one.laws_without[law])
    example = MODELS[model](rows=one.rows)
    LAWS[law].holds(statistic=one, example=example, monkeypatch=monkeypatch, tmp_path=tmp_path)


@pytest.mark.cluster
@pytest.mark.parametrize("statistic", ["pd", "ale", "h"])
def test_cluster_gives_the_bits_of_one_machine(statistic, client, monkeypatch):
    one = STATISTICS[statistic]
    example = linear(rows=one.rows)
    LAWS["Dask"].holds(statistic=one, example=example, client=client, monkeypatch=monkeypatch)


def test_every_verb_takes_its_shortcut():
    example = linear(90)
    for name in SHORTCUTS:
        found = STATISTICS[name].result(example.model, example.X, example.y, example.weights)
        assert found.provenance.evaluator.startswith("additive"), (name, found.provenance.refusals)
        assert found.provenance.predictions == 0

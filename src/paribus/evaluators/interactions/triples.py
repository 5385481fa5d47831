"""Triples of features of a tree ensemble: every row is kept, and looked up in three features' cells."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from paribus.contracts import Floats
from paribus.data.sampling import Sample
from paribus.evaluators.interactions.ask import StrengthAsk
from paribus.evaluators.interactions.evidence import Joint
from paribus.evaluators.interactions.influence import Witnesses
from paribus.evaluators.interactions.looks import Counting, Looked, influence_within, kernels
from paribus.evaluators.trees.boxes import TABLE_CELLS, Leaves
from paribus.evaluators.trees.programs import family_of, program_of
from paribus.models.ensemble import Ensemble

Group = tuple[int, ...]


def counting_of(ensemble: Ensemble, ask: StrengthAsk, sample: Sample, triples: tuple[Group, ...]) -> Counting:
    """Return who counts the coverage of triples, which takes one more pass over the rows."""
    program = program_of(ensemble, family_of(_named(ask, triples)), kernels())
    largest = TABLE_CELLS // ask.block_cut
    return Counting(program, ensemble, Leaves.of(program, kernels(), largest), None, sample.numbers)


def _named(ask: StrengthAsk, triples: tuple[Group, ...]) -> list[Group]:
    """Return the columns of each triple, in their order in the table."""
    return [tuple(sorted(ask.features[j] for j in triple)) for triple in triples]


def joint_of(
    ensemble: Ensemble, ask: StrengthAsk, triples: tuple[Group, ...], witnesses: Witnesses, looked: Looked
) -> Joint:
    """Return the statistics of triples from their coverage."""
    features = looked.leaves.program.family.features
    place = {feature: number for number, feature in enumerate(features)}
    places = [tuple(place[feature] for feature in triple) for triple in _named(ask, triples)]
    found = [_triple(ensemble, looked, triple, witnesses) for triple in places]
    squares, functions, inner = zip(*found, strict=True)
    return Joint.of(triples, squares, functions, inner)


def _triple(
    ensemble: Ensemble, looked: Looked, triple: Group, witnesses: Witnesses
) -> tuple[Floats, Floats, Floats]:
    """Return mean squares ``(2, m)``, functions at the witnesses and their inner influence ``(2, m, i)``."""
    at, weight, own = looked.points(triple, None)
    sharing = [
        group for size in (2, 3) for group in combinations(triple, size) if len(looked.leaves.testing(group))
    ]
    effect = sum(looked.effects[place][:, at[way]] for way, place in enumerate(triple))
    interaction = np.zeros_like(effect)
    for group in sharing:
        values = looked.interaction(group, at[[triple.index(place) for place in group]])
        effect = effect + values
        interaction = values if len(group) == 3 else interaction
    square, functions = looked.squared(np.stack([interaction, effect]), weight, own)
    return square, functions, _inner(ensemble, looked, sharing, functions, witnesses)


def _inner(
    ensemble: Ensemble, looked: Looked, sharing: list[Group], functions: Floats, witnesses: Witnesses
) -> Floats:
    """Return what witnesses do through averages that move two or three of the features."""
    if not sharing:
        return np.zeros_like(functions)
    weighed = witnesses.centred(functions) * witnesses.share
    # The interaction of a pair has a part in the joint effect of the triple, and none in its interaction.
    asked = np.stack([weighed if len(group) == 3 else weighed * [[[0.0]], [[1.0]]] for group in sharing])
    return np.asarray(influence_within(ensemble, looked, sharing, asked).sum(axis=0))

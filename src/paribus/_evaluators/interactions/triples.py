"""Triples of features of a tree ensemble: every row is kept, and looked up in three features' cells."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from paribus._contracts import Floats
from paribus._data.sampling import Sample
from paribus._evaluators.interactions.effect_moments import JointMoments
from paribus._evaluators.interactions.influence import InfluenceSample
from paribus._evaluators.interactions.interaction_request import InteractionRequest
from paribus._evaluators.interactions.tree_passes import CoveragePass, CoverageTables, influence_within
from paribus._evaluators.trees.leaf_boxes import TABLE_CELLS, Leaves
from paribus._evaluators.trees.programs import family_of, program_of
from paribus._evaluators.trees.tuple_cells import Tuples
from paribus._kernels import kernels
from paribus._models.ensemble import Ensemble

Group = tuple[int, ...]


def counting_of(
    ensemble: Ensemble,
    request: InteractionRequest,
    sample: Sample,
    triples: tuple[Group, ...],
    tuples: Tuples,
) -> CoveragePass:
    """Return who counts the coverage of triples, which takes one more pass over the rows.

    ``tuples`` are those of codes that occur, of features that own several columns.
    """
    program = program_of(ensemble, family_of(_named(request, triples)), kernels())
    leaves = Leaves.of(program, kernels(), TABLE_CELLS // request.block_cut, tuples)
    return CoveragePass(program, ensemble, leaves, None, sample.numbers)


def _named(request: InteractionRequest, triples: tuple[Group, ...]) -> list[Group]:
    """Return the columns of each triple, in their order in the table."""
    return [tuple(sorted(request.features[j] for j in triple)) for triple in triples]


def joint_of(
    ensemble: Ensemble,
    request: InteractionRequest,
    triples: tuple[Group, ...],
    witnesses: InfluenceSample,
    tables: CoverageTables,
) -> JointMoments:
    """Return the statistics of triples from their coverage."""
    features = tables.leaves.program.family.features
    position = {feature: number for number, feature in enumerate(features)}
    positions = [tuple(position[feature] for feature in triple) for triple in _named(request, triples)]
    found = [_triple(ensemble, tables, triple, witnesses) for triple in positions]
    squares, functions, inner = zip(*found, strict=True)
    return JointMoments.of(triples, squares, functions, inner)


def _triple(
    ensemble: Ensemble, tables: CoverageTables, triple: Group, witnesses: InfluenceSample
) -> tuple[Floats, Floats, Floats]:
    """Return mean squares ``(2, m)``, functions at the witnesses and their inner influence ``(2, m, i)``."""
    at, weight, own = tables.points(triple)
    sharing = [
        group for size in (2, 3) for group in combinations(triple, size) if len(tables.leaves.testing(group))
    ]
    effect = sum(tables.effects[position][:, at[way]] for way, position in enumerate(triple))
    interaction = np.zeros_like(effect)
    for group in sharing:
        values = tables.interaction(group, at[[triple.index(position) for position in group]])
        effect = effect + values
        interaction = values if len(group) == 3 else interaction
    square, functions = tables.squared(np.stack([interaction, effect]), weight, own)
    return square, functions, _inner(ensemble, tables, sharing, functions, witnesses)


def _inner(
    ensemble: Ensemble,
    tables: CoverageTables,
    sharing: list[Group],
    functions: Floats,
    witnesses: InfluenceSample,
) -> Floats:
    """Return what witnesses do through averages that move two or three of the features."""
    if not sharing:
        return np.zeros_like(functions)
    weighed = witnesses.centered(functions) * witnesses.share
    # The interaction of a pair has a part in the joint effect of the triple, and none in its interaction.
    functions_of = np.stack(
        [weighed if len(group) == 3 else weighed * [[[0.0]], [[1.0]]] for group in sharing]
    )
    return np.asarray(influence_within(ensemble, tables, sharing, functions_of).sum(axis=0))

"""Number of rows that are crossed with each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from paribus._budget import FLOAT
from paribus._models import Model, structure_of, trees_of
from paribus._models.combination import Combination
from paribus._models.ensemble import LEAF
from paribus.errors import RefusalError

SUBSAMPLE = 500  # rows that are crossed with each other if the model predicts them
CROSSED_LEAVES = 400_000_000_000  # leaves times crossed rows squared, if trees are read: some seconds
CURVE_BYTES = 256_000_000  # memory of the curves of single features at crossed rows, at most
MOST_CROSSED = 4_000  # rows that are crossed at most


def is_called(model: Model) -> bool:
    """Return whether a model has to be called, because its structure cannot be read."""
    try:
        structure_of(model)
    except RefusalError:
        return True
    return False


def crosses(model: Model) -> bool:
    """Return whether the effects at all rows need rows that are crossed with each other.

    They do not if outputs are sums over leaves or terms, whose means follow from sums over the rows.
    """
    try:
        structure = structure_of(model)
    except RefusalError:
        return True
    return isinstance(structure, Combination) or not structure.link.linear


def tree_crossed_rows(models: Sequence[Model], features: int, crossings: int, memory: int | None) -> int:
    """Return the number of rows to cross with each other if the trees of models are read.

    They take some seconds, and limited memory for the curves of single features: an eighth of ``memory`` if
    that is given. All models use the same rows.
    """
    most = CURVE_BYTES if memory is None else min(CURVE_BYTES, memory // 8)
    sizes = []
    for model in models:
        try:
            leaves = int(np.count_nonzero(trees_of(model).ensemble.column == LEAF))
        except RefusalError:
            return SUBSAMPLE
        by_time = CROSSED_LEAVES // (crossings * max(1, leaves))
        sizes.append(min(by_time, most // (FLOAT * features * model.n_outputs)))
    return max(SUBSAMPLE, min(MOST_CROSSED, math.isqrt(min(sizes))))

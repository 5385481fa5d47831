"""Margins of many rows: each tree is walked by a block of rows at once."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._models.ensemble import LEAF, Ensemble

BLOCK_ROWS = 8_192  # whose numbers and positions stay in a near cache while trees are walked


class TreeWalk:
    """The nodes of an ensemble such that a walk needs no test for leaves: a leaf is its own child."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        own = np.arange(len(ensemble.column), dtype=np.int32)
        leaf = ensemble.column == LEAF
        self.column = np.where(leaf, 0, ensemble.column).astype(np.intp)
        children = np.where(leaf, own, ensemble.right), np.where(leaf, own, ensemble.left)
        self.child = np.stack(children, axis=1).ravel().astype(np.intp)
        self.threshold = np.where(leaf, np.inf, ensemble.threshold)
        self.level_set = np.where(leaf, -1, ensemble.level_set)
        self.by_category = bool((self.level_set >= 0).any())
        self.depth = _depths(ensemble)

    def margins(self, numbers: Floats) -> Floats:
        """Return the margins ``(n, m)``, added up in the order and the precision of the library."""
        ensemble = self.ensemble
        precision = np.float32 if ensemble.single_sum else np.float64
        total = np.broadcast_to(ensemble.base.astype(precision), (len(numbers), ensemble.n_margins)).copy()
        value = ensemble.value.astype(precision)
        if not numbers.shape[1]:  # no tree tests anything
            numbers = np.zeros((len(numbers), 1))
        flat = np.ascontiguousarray(numbers).ravel()
        start = np.arange(len(numbers)) * numbers.shape[1]
        missing = bool(np.isnan(flat).any())
        for tree, root in enumerate(ensemble.roots.tolist()):
            at = np.full(len(numbers), root, np.intp)
            for _ in range(int(self.depth[tree])):
                at = self._next(at, flat[start + self.column[at]], missing)
            if value.shape[1] == 1:
                total[:, ensemble.output[tree]] += value[at, 0]
            else:
                total += value[at]
        return total.astype(np.float64)

    def _next(self, at: Integers, x: Floats, missing: bool) -> Integers:
        """Return the child that each row goes to."""
        left = x <= self.threshold[at]
        if self.by_category:
            sets = self.level_set[at]
            for number in np.unique(sets[sets >= 0]).tolist():
                here = sets == number
                left[here] = self.ensemble.level_sets[number].goes_left(x[here])
        if missing:
            lost = np.isnan(x)
            left[lost] = self.ensemble.missing_left[at[lost]]
        return np.asarray(self.child[2 * at + left])


def _depths(ensemble: Ensemble) -> Integers:
    """Return the number of steps to the deepest leaf of each tree."""
    depth = np.zeros(len(ensemble.roots), np.int64)
    level, tree = ensemble.roots.astype(np.int64), np.arange(len(ensemble.roots))
    steps = 0
    while True:
        inner = ensemble.column[level] != LEAF
        level, tree = level[inner], np.tile(tree[inner], 2)
        if not len(level):
            return depth
        steps += 1
        depth[tree] = steps
        level = np.concatenate([ensemble.left[level], ensemble.right[level]]).astype(np.int64)

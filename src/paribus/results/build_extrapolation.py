"""Build `Extrapolation` from empty cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._evaluators.association import RowSample
from paribus._evaluators.occupancy import OccupiedCells, bins_for
from paribus._grid import Axis, Grid
from paribus.results.extrapolation import Extrapolation

KNOWN = 0.5  # of the points of a curve about which a partner must say something to count


def extrapolation_of(
    grid: Grid, joint: OccupiedCells | None, probe: RowSample, names: tuple[str, ...]
) -> Extrapolation | None:
    """Find the partner with which most points of a grid are off the data."""
    if joint is None:
        return None
    # A pair whose cells all have rows has a share of zero, and is read if no other says anything.
    largest = max(_shares(grid, joint, open_=True), key=lambda one: one.share, default=None)
    largest = largest or next(_shares(grid, joint, open_=False), None)
    if largest is None:
        return None
    varied = {axis.feature for axis in grid.axes}
    partners = {k for j in varied for k in joint.outlook.partners.get(j, ())} - varied
    association, measure = probe.between(largest.feature, largest.partner)
    return Extrapolation(
        largest.share,
        names[largest.feature],
        names[largest.partner],
        association,
        measure,
        largest.by_point,
        _mask(grid, joint),
        len(partners),
        bins_for(joint.outlook.rows),
    )


@dataclass(frozen=True, eq=False)
class _Share:
    """The share of one feature with one partner, and at each point."""

    share: float
    feature: int
    partner: int
    by_point: Floats


def _shares(grid: Grid, joint: OccupiedCells, *, open_: bool) -> Iterator[_Share]:
    """Yield what each pair shows: those of the grid itself, and each feature with each of its partners.

    ``open_`` chooses those of whose cells some had no row at first sight, or the others.
    """
    axes, shape = grid.axes, grid.shape
    varied = {axis.feature for axis in axes}
    for one, other in combinations(range(len(axes)), 2):
        if joint.knows(axes[one].feature, axes[other].feature, open_=open_):
            expected, empty = _crossed(axes[one], axes[other], joint)
            if 2 * expected.sum() >= expected.size > 0:
                at = np.where(expected, empty, np.nan)
                pair = axes[one].feature, axes[other].feature
                yield _Share(float(empty.sum() / expected.sum()), *pair, _broadcast(at, (one, other), shape))
    for position, axis in enumerate(axes):
        for partner in joint.outlook.partners.get(axis.feature, ()):
            if partner in varied or not len(axis) or not joint.knows(axis.feature, partner, open_=open_):
                continue
            known, off = _beside(axis, partner, joint)
            if known.sum() >= KNOWN * joint.weights[partner].sum() * len(axis):
                at = np.divide(off, known, out=np.full(len(axis), np.nan), where=known > 0)
                share = float(off.sum() / known.sum())
                yield _Share(share, axis.feature, partner, _broadcast(at, (position,), shape))


def _crossed(one: Axis, other: Axis, joint: OccupiedCells) -> tuple[Flags, Flags]:
    """Return which points of two axes lie where rows are to be expected, and which of these where none is."""
    at = np.ix_(joint.bins_of(one), joint.bins_of(other))
    expected, empty = joint.cells(one.feature, other.feature)
    return expected[at], empty[at]


def _beside(axis: Axis, partner: int, joint: OccupiedCells) -> tuple[Floats, Floats]:
    """Return the partner's weight at each point: all of which something is known, and that in empty cells."""
    expected, empty = joint.cells(axis.feature, partner)
    at, weight = joint.bins_of(axis), joint.weights[partner]
    return expected[at] @ weight, empty[at] @ weight


def _broadcast(at: Floats, positions: tuple[int, ...], shape: tuple[int, ...]) -> Floats:
    """Lay what is known along some axes out over all of them."""
    own = tuple(size if position in positions else 1 for position, size in enumerate(shape))
    return np.array(np.broadcast_to(at.reshape(own), shape), dtype=np.float64)


def _mask(grid: Grid, joint: OccupiedCells) -> Flags | None:
    axes = grid.axes
    if len(axes) != 2 or not joint.knows(axes[0].feature, axes[1].feature):
        return None
    return np.array(_crossed(axes[0], axes[1], joint)[1])

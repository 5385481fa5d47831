"""Build `Extrapolation` from empty cells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from operator import itemgetter

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._evaluators.association import RowSample
from paribus._evaluators.occupancy import OccupiedCells, bins_for
from paribus._grid import Axis, Grid
from paribus.results.curve_parts import Extrapolation

KNOWN = 0.5  # of the points of a curve about which a partner must say something to count


def extrapolation_of(
    grid: Grid, joint: OccupiedCells | None, probe: RowSample, names: tuple[str, ...]
) -> Extrapolation | None:
    """Find the partner with which most points of a grid are off the data."""
    if joint is None:
        return None
    # A pair whose cells all have rows has a share of zero, and is read if no other says anything.
    largest = max(_shares(grid, joint, open_=True), key=itemgetter(0), default=None)
    largest = largest or next(_shares(grid, joint, open_=False), None)
    if largest is None:
        return None
    share, feature, partner, at, along = largest
    own = tuple(size if position in along else 1 for position, size in enumerate(grid.shape))
    varied = {axis.feature for axis in grid.axes}
    partners = {k for j in varied for k in joint.outlook.partners.get(j, ())} - varied
    association, measure = probe.between(feature, partner)
    return Extrapolation(
        share=share,
        feature=names[feature],
        partner=names[partner],
        association=association,
        measure=measure,
        by_point=np.array(np.broadcast_to(at.reshape(own), grid.shape), dtype=np.float64),
        mask=_mask(grid, joint),
        partners=len(partners),
        bins=bins_for(joint.outlook.rows),
    )


def _shares(
    grid: Grid, joint: OccupiedCells, *, open_: bool
) -> Iterator[tuple[float, int, int, Floats, tuple[int, ...]]]:
    """Yield what each pair shows: those of the grid itself, and each feature with each of its partners.

    That is the share, the feature and its partner, the share at each point, and along which axes that is.
    ``open_`` chooses those of whose cells some had no row at first sight, or the others.
    """
    axes, varied = grid.axes, {axis.feature for axis in grid.axes}
    for one, other in combinations(range(len(axes)), 2):
        pair = axes[one].feature, axes[other].feature
        if joint.knows(*pair, open_=open_):
            expected, empty = _crossed(axes[one], axes[other], joint)
            if 2 * expected.sum() >= expected.size > 0:
                at = np.where(expected, empty, np.nan)
                yield float(empty.sum() / expected.sum()), *pair, at, (one, other)
    for position, axis in enumerate(axes):
        of_axis = joint.outlook.partners.get(axis.feature, ()) if len(axis) else ()
        partners = [k for k in of_axis if k not in varied and joint.knows(axis.feature, k, open_=open_)]
        # Of those whose cells all have rows, the first that says something is enough.
        for some in [partners] if open_ and partners else [[partner] for partner in partners]:
            yield from _with_partners(axis, position, some, joint)


def _with_partners(
    axis: Axis, position: int, partners: list[int], joint: OccupiedCells
) -> Iterator[tuple[float, int, int, Floats, tuple[int, ...]]]:
    """Yield what a feature shows with each of some partners."""
    bins = joint.bins_of(axis)
    for partner, every, empty, weight in zip(partners, *joint.beside(axis.feature, partners), strict=True):
        # The partner's weight at each point: all of which something is known, and that in empty cells.
        known, off = every[bins], empty[bins]
        if known.sum() >= KNOWN * weight * len(axis):
            at = np.divide(off, known, out=np.full(len(axis), np.nan), where=known > 0)
            yield float(off.sum() / known.sum()), axis.feature, partner, at, (position,)


def _crossed(one: Axis, other: Axis, joint: OccupiedCells) -> tuple[Flags, Flags]:
    """Return which points of two axes lie where rows are to be expected, and which of these where none is."""
    at = np.ix_(joint.bins_of(one), joint.bins_of(other))
    expected, empty = joint.cells(one.feature, other.feature)
    return expected[at], empty[at]


def _mask(grid: Grid, joint: OccupiedCells) -> Flags | None:
    axes = grid.axes
    if len(axes) != 2 or not joint.knows(axes[0].feature, axes[1].feature):
        return None
    return np.array(_crossed(axes[0], axes[1], joint)[1])

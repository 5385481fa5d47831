"""Verification: a few grid points recomputed by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from paribus._contracts import Floats
from paribus._data.background import Background
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, reraise_with_rows
from paribus._evaluators.request import EffectEstimate
from paribus._grid import Grid
from paribus._models import Model
from paribus._models.trees import rounding_of
from paribus._states import Moments
from paribus._states.overflow import ignore_fp_errors
from paribus.errors import RefusalError

POINTS = 8  # over all grids, and at least one of each


def largest_difference(
    model: Model, rows: Mapping[int, Background], grids: tuple[Grid, ...], estimates: list[EffectEstimate]
) -> float:
    """Return by how much the averages differ from brute force at a few points, at most.

    ``rows`` are those that each grid was averaged over.
    """
    worst, picked = 0.0, _picked(grids)
    for some in {id(one): one for one in rows.values()}.values():
        here = [one for one in picked if rows[one[0]] is some]
        for (number, point), brute in zip(here, _asked(model, some, grids, here), strict=True):
            worst = max(worst, apart(brute, estimates[number].average[:, point]))
    return within_rounding(model, worst)


def points_recomputed(grids: tuple[Grid, ...]) -> tuple[int, ...]:
    """Return at how many points of each grid averages are compared."""
    picked = Counter(number for number, _ in _picked(grids))
    return tuple(picked[number] for number in range(len(grids)))


def apart(one: Floats, other: Floats) -> float:
    """Return by how much numbers differ at most; two that are no numbers do not."""
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with ignore_fp_errors():
        differences = np.where(same, 0.0, np.abs(one - other))
    return float(np.nan_to_num(differences, nan=np.inf).max(initial=0.0))


def within_rounding(model: Model, worst: float, terms: int = 1, more: float = 0.0) -> float:
    """Return a difference that rounding explains: of sums of ``terms`` predictions, and ``more``."""
    rounding = 0.0 if model.sample_prediction is None else rounding_of(model.sample_prediction)
    allowed = terms * rounding + more
    if not worst <= allowed:
        raise RefusalError(
            f"verify=True: brute force differs by {worst:.3g} from what was computed, where the tolerance "
            f"for rounding is "
            f"{allowed:.1g}; use method='brute', and please report this model"
        )
    return worst


def _picked(grids: tuple[Grid, ...]) -> list[tuple[int, int]]:
    """Return some points, each with the number of its grid: the ends, or the middle."""
    each = -(-POINTS // len(grids))
    picked = []
    for number, grid in enumerate(grids):
        last = grid.n_points - 1
        points = np.linspace(0, last, each) if each > 1 else np.array([last / 2])
        picked += [(number, int(point)) for point in np.unique(points.astype(int)) if grid.n_points]
    return picked


def _asked(model: Model, rows: Background, grids: tuple[Grid, ...], picked: list[tuple[int, int]]) -> Floats:
    """Return the weighted averages of the model's predictions at some points, in one pass over the rows."""
    moments_of: dict[int, Moments] = {}
    for block in rows.blocks(CALL_ROWS):
        kept = block.weighted()
        if not len(kept.table):
            continue
        stack = kept.table.stack(1, ScratchBuffer())
        for position, (number, point) in enumerate(picked):
            grid, last = grids[number], block.start + len(block.table) - 1
            table = stack.at(grid.replacements, grid.index(point, point + 1))
            with reraise_with_rows(model, block.start, last, grid.names):
                predictions = np.ascontiguousarray(model.predict(table, len(kept.table)).T)
            moments = Moments.of(predictions[:, None], kept.weights)
            moments_of[position] = moments_of[position].merge(moments) if position in moments_of else moments
    return np.array([moments_of[position].mean[:, 0] for position in range(len(picked))])

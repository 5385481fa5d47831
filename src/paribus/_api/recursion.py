"""What is said of an average along training paths beside the one over the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paribus._evaluators.planner import Plan
from paribus._evaluators.request import EffectEstimate
from paribus._grid import Grid
from paribus._text import at_value, number
from paribus.errors import MemoryBoundError, RefusalError
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode

ROUNDING = 1e-9  # of the numbers compared: a difference below this is none


def recursion_notes(
    plan: Plan,
    exactly: Callable[[], list[EffectEstimate]],
    grids: tuple[Grid, ...],
    estimates: list[EffectEstimate],
) -> list[tuple[Note, ...]]:
    """Return for each estimate by another estimand how far it is from the exact one; nothing for others."""
    if plan.evaluator.estimand is not Estimand.PATH_DEPENDENT:
        return [()] * len(grids)
    try:
        exact = exactly()
    except (RefusalError, MemoryBoundError) as refusal:
        text = f"recursion could not be compared with exact: {refusal}"
        return [(Note(NoteCode.RECURSION_UNCHECKED, text),)] * len(grids)
    return [_apart(*one) for one in zip(grids, estimates, exact, strict=True)]


def _apart(grid: Grid, estimate: EffectEstimate, exact: EffectEstimate) -> tuple[Note, ...]:
    """Return where the two differ most, if by more than the standard error."""
    apart = np.abs(estimate.average - exact.average)
    error = np.nan_to_num(exact.standard_error)
    beyond = np.where(apart > error + ROUNDING * np.abs(exact.average), apart, 0.0)
    if not beyond.any():
        return ()
    output, point = np.unravel_index(np.argmax(beyond), beyond.shape)
    largest, one = float(beyond[output, point]), float(error[output, point])
    errors = f" ({number(largest / one)} standard errors)" if one else ""
    text = (
        f"recursion differs from exact by up to {number(largest)}{errors} at {_point_text(grid, int(point))}"
    )
    return (Note(NoteCode.RECURSION_DIFFERS, text, value=largest),)


def _point_text(grid: Grid, point: int) -> str:
    """Return a point as text."""
    if grid.includes_missing and point == grid.n_points - 1:
        return f"{grid.names[0]} missing"
    index = grid.index(point, point + 1)[0]
    values = (axis.values[position] for axis, position in zip(grid.axes, index, strict=True))
    return ", ".join(f"{name} = {at_value(value)}" for name, value in zip(grid.names, values, strict=True))

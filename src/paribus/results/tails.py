"""The part of a curve beyond the percentiles, where plots end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from paribus._contracts import Array, Floats
from paribus._states.overflow import ignore_fp_errors
from paribus._text import at_value, number, percent
from paribus.notes import Note, NoteCode
from paribus.results.schema import Record, array, record

if TYPE_CHECKING:
    from paribus.results.partial_dependence import PartialDependence

NOISE = 2.0  # standard errors that a movement must exceed to count,
TURN = 0.1  # and share of the range within the percentiles by which a curve that turns back moves,
EXTENSION = 1.0  # or by which one leaves that range
TREND = 0.5  # share of the range between the ends of a curve that has a direction
Part = TypeVar("Part", bound=Any)


@record
class Tails(Record):
    """The partial dependence beyond the ends of its grid, as far as the data reaches.

    Attributes
    ----------
    values : ndarray of shape (t,)
        Values below the grid, then values above it, the smallest and the largest of the data among them.
    below : int
        How many of them lie below.
    share : float
        Share of the data's weight that lies beyond the cells of the grid.
    average, standard_error : ndarray of shape (n_outputs, t)
        The partial dependence there.
    """

    values: Array = array("tail")
    below: int
    share: float
    average: Floats = array("output", "tail")
    standard_error: Floats = array("output", "tail")


def trimmed(part: Part) -> Part:
    """Return a curve within the percentiles, where plots end, with the rest of it as ``tails``."""
    below, above = part.tail_points
    if not below + above:
        return part
    (values,) = part.grid_values
    kept = slice(below, len(values) - above)
    changes = {"grid_values": (values[kept],), "tail_points": (0, 0), **_sliced(part, kept)}
    if hasattr(part, "tails"):
        changes["tails"] = _tails(part)
    trimmed: Part = replace(part, **changes)
    return trimmed


def _sliced(part: Record, kept: slice) -> dict[str, Any]:
    """Return the arrays of a record along its grid, and its nested records, at some points."""
    changes: dict[str, Any] = {}
    for name, declared in part.declared.items():
        value = getattr(part, name)
        if value is None or name == "tails":
            continue
        if declared.nested and declared.dims:
            if declared.dims[-1] == "grid":
                arrays = ((one.name, getattr(value, one.name)) for one in fields(value))
                changes[name] = replace(
                    value, **{key: own[..., kept] for key, own in arrays if own is not None}
                )
        elif declared.nested:
            changes[name] = replace(value, **_sliced(value, kept))
        elif declared.dims[-1:] == ("grid",):
            changes[name] = value[..., kept]
    return changes


def _tails(effect: PartialDependence) -> Tails | None:
    """Return the tails of an effect whose grid has them."""
    below, above = effect.tail_points
    (values,) = effect.grid_values
    if effect.average is None or effect.standard_error is None:
        return None
    outer = np.r_[0:below, len(values) - above : len(values)]
    total = effect.support.sum() + (0.0 if effect.missing is None else effect.missing.support)
    share = float(effect.support[outer].sum() / total) if total > 0 else 0.0
    average, error = effect.average[:, outer], effect.standard_error[:, outer]
    return Tails(values[outer], below, share, average, error)


def tail_notes(effect: PartialDependence) -> Iterator[Note]:
    """Yield a note if the curve turns back beyond the percentiles, and one if it leaves its range."""
    inner = trimmed(effect)
    tails, average = inner.tails, inner.average
    if tails is None or average is None or not len(inner.grid_values[0]):
        return
    found = [(code, *worst) for o in range(len(average)) for code, worst in _outer_movements(inner, tails, o)]
    for code in (NoteCode.TAILS_TURN, NoteCode.TAILS_EXTEND):
        known = [one for one in found if one[0] is code]
        if known:
            _, size, o, at = max(known, key=lambda one: one[1])
            yield Note(code, _sentence(inner, tails, code, o, at), effect.feature_names[0], size)


@ignore_fp_errors()
def _outer_movements(
    inner: PartialDependence, tails: Tails, o: int
) -> list[tuple[NoteCode, tuple[float, int, int]]]:
    """Return how far an output turns back, or leaves its range, at each outer value: size, output, place."""
    assert inner.average is not None
    curve, outer, error = inner.average[o], tails.average[o], np.nan_to_num(tails.standard_error[o])
    low, high = curve.min(), curve.max()
    width, trend = high - low, curve[-1] - curve[0]
    above = np.arange(len(outer)) >= tails.below
    away = np.where(above, outer - curve[-1], curve[0] - outer)  # along the axis, from the nearer end
    back = -np.sign(trend) * away if abs(trend) > TREND * width else np.zeros(len(outer))
    beyond = np.maximum(outer - high, low - outer)
    found = []
    for code, sizes, least in (
        (NoteCode.TAILS_TURN, back, TURN * width),
        (NoteCode.TAILS_EXTEND, beyond, EXTENSION * width),
    ):
        counted = np.where(sizes > np.maximum(least, NOISE * error), sizes, 0.0)
        if counted.any():
            found.append((code, (float(counted.max()), o, int(np.argmax(counted)))))
    return found


def _sentence(inner: PartialDependence, tails: Tails, code: NoteCode, o: int, at: int) -> str:
    assert inner.average is not None
    (values,), curve, name = inner.grid_values, inner.average[o], inner.feature_names[0]
    of = f" for {inner.output_names[o]}" if len(inner.output_names) > 1 else ""
    does = "turns back" if code is NoteCode.TAILS_TURN else "leaves its range"
    share = f"about {percent(tails.share)}".replace(" %", "%")
    outer = f"{number(tails.average[o, at])} at {at_value(tails.values[at])}"
    text = f"the curve of {name}{of} {does} beyond {at_value(values[0])} to {at_value(values[-1])}, where "
    if code is NoteCode.TAILS_TURN:
        end = 0 if at < tails.below else -1
        return (
            f"{text}{share} of the data lies: from {number(curve[end])} at {at_value(values[end])} to {outer}"
        )
    within = f"{number(curve.min())} and {number(curve.max())}"
    return f"{text}{share} of the data lies: it is {outer}, and between {within} within"

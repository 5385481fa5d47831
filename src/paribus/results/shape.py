"""The shape of a curve: in words, and how far it moves against one direction."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from paribus._contracts import Floats
from paribus.results.schema import Record, array, record

Direction: TypeAlias = Literal["rising", "falling"]
ShapeName: TypeAlias = Literal[
    "flat", "rising", "falling", "steps up", "steps down", "U", "inverted U", "wavy", "categories"
]


@record
class Monotonicity(Record):
    r"""The largest movement of a partial dependence against one direction.

    .. math:: \max_{a \le b} \big( PD(a) - PD(b) \big)

    for a curve that should rise, and the same of :math:`-PD` for one that should fall.

    Attributes
    ----------
    direction : {"rising", "falling"}
        The direction that the curve is held to.
    is_declared : bool
        Whether it was declared; else it is the prevailing one.
    violation : float
        The largest movement against it, in units of the prediction; 0 for a monotone curve.
    standard_error : float
        Sampling error of that difference, from the differences of the same rows at both points.
    start, stop : value
        Where the movement begins and ends; None for a monotone curve.
    support : float
        Share of the weight of the data between the two, both included.
    """

    direction: Direction
    is_declared: bool
    violation: float
    standard_error: float
    start: Any
    stop: Any
    support: float


@record
class Shape(Record):
    """What one curve looks like: the partial dependence of a feature, for one output.

    Attributes
    ----------
    feature, output : str
        Which curve.
    name : str
        In words: ``"flat"``, ``"rising"``, ``"falling"``, ``"steps up"``, ``"steps down"``, ``"U"``,
        ``"inverted U"``, ``"wavy"``, or ``"categories"`` for values without an order.
    range : float
        Highest minus lowest value of the curve, in units of the prediction.
    range_error : float
        Sampling error of that difference, from the same rows at both points.
    lowest, highest : value
        Where the curve is lowest and highest.
    monotonicity : Monotonicity or None
        None for values without an order.
    centered_error : ndarray of shape (g,)
        Sampling error of the curve relative to its average over the data, at each grid point.
    rows : int
        Number of rows that the standard errors are of.
    """

    feature: str
    output: str
    name: ShapeName
    range: float
    range_error: float
    lowest: Any
    highest: Any
    monotonicity: Monotonicity | None
    centered_error: Floats = array("grid")
    rows: int

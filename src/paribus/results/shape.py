"""The shape of a curve: in words, and how far it moves against one direction."""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex, TypeAlias, overload

from paribus._contracts import Floats
from paribus.errors import did_you_mean
from paribus.results.schema import Record, array, record

Direction: TypeAlias = Literal["rising", "falling"]
ShapeName: TypeAlias = Literal[
    "flat",
    "rising",
    "falling",
    "steps up",
    "steps down",
    "U",
    "inverted U",
    "wavy",
    "categories",
    "undefined",
]


@record
class Monotonicity(Record):
    r"""The largest movement of a partial dependence against one direction.

    .. math:: \max_{a \le b} \left( PD(a) - PD(b) \right)

    for a curve that should rise, and the same of :math:`-PD` for one that should fall.

    Attributes
    ----------
    direction : {"rising", "falling"}
        The direction that the curve is held to.
    is_declared : bool
        Whether it was declared, by the user or by constraints of the model; else it is the prevailing one,
        the sign of the covariance of the curve with the rank of the value in the data.
    violation : float
        The largest movement against it, in units of the prediction; 0 for a monotone curve.
    standard_error : float
        Sampling error of that difference, from the differences of the same rows at both points.
    start, stop : value
        Where the movement begins and ends; None for a monotone curve.
    support : float
        Share of the data with a value that lies between the two, both included.
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
    r"""What one curve looks like: the partial dependence of a feature, for one output.

    Attributes
    ----------
    feature, output : str
        Which curve.
    name : str
        In words, see below.
    range : float
        Highest minus lowest value of the curve, in units of the prediction.
    range_error : float
        Sampling error of that difference, from the same rows at both points.
    lowest, highest : value
        Where the curve is lowest and highest; None where no point is finite.
    monotonicity : Monotonicity or None
        None for values without an order.
    centered_error : ndarray of shape (g,)
        Sampling error of the curve relative to its average over the data, at each grid point.
    rows : int
        Number of rows whose individual curves give the standard errors; 0, and errors NaN, without any.

    Notes
    -----
    Two points differ if their distance exceeds two standard errors, paired by rows, and 5 % of the range. A
    curve without two such points is ``"flat"``. Followed from left to right, over all values that have data,
    it is ``"rising"`` or ``"falling"`` if it never turns back by so much, ``"U"`` or ``"inverted U"`` if it
    does once, ``"wavy"`` if more often. A movement of which at least 80 % happens at one to four gaps between
    grid points, one gap in eight and a quarter of the axis at most, is ``"steps up"`` or ``"steps down"``.
    Values without an order are ``"categories"``; a curve without a finite point is ``"undefined"``.

    Errors are of differences of the same rows: with individual curves :math:`f_{ig}`,

    .. math:: \operatorname{se}^2(PD_g - PD_h) = \frac{n}{n - 1} \frac{1}{W^2} \sum_i w_i^2
        \left(f_{ig} - f_{ih} - (PD_g - PD_h)\right)^2

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> shapes = paribus.explain(lambda X: X[:, 0] ** 2 + 0.5 * X[:, 1], X, monotone={1: "falling"}).shapes
    >>> [(shape.feature, shape.name) for shape in shapes]
    [('x0', 'U'), ('x1', 'rising')]
    >>> own = shapes[1].monotonicity
    >>> own.is_declared, bool(np.isclose(own.violation, shapes[1].range))
    (True, True)
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


class Shapes(tuple[Shape, ...]):
    """A tuple of shapes that features are keys of; with several outputs, a feature and an output.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> shapes = paribus.explain(lambda X: X[:, 0] ** 2 + 0.5 * X[:, 1], X).shapes
    >>> shapes["x0"].name, shapes["x1"].name, len(shapes)
    ('U', 'rising', 2)
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str | tuple[str, str]) -> Shape: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Shape, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (str, tuple)):
            return super().__getitem__(key)
        feature, output = (key, None) if isinstance(key, str) else key
        of_feature = [shape for shape in self if shape.feature == feature]
        if not of_feature:
            known = list(dict.fromkeys(shape.feature for shape in self))
            raise KeyError(f"no shape of {feature!r}{did_you_mean(str(feature), known)}")
        outputs = [shape.output for shape in of_feature]
        if output is None and len(outputs) == 1:
            return of_feature[0]
        if output not in outputs:
            raise KeyError(
                f"{feature!r} has a shape for each of {len(outputs)} outputs; give one as well, "
                f"[{feature!r}, {outputs[0]!r}]"
            )
        return of_feature[outputs.index(output)]

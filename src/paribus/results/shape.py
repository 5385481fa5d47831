"""Shapes of curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias, overload

import numpy as np

from paribus._contracts import Array, Flags, Floats
from paribus._text import at_value, span
from paribus.errors import did_you_mean
from paribus.results.curve_parts import ROUNDING
from paribus.results.curve_values import as_numbers
from paribus.results.effects import Effects
from paribus.results.partial_dependence import PartialDependence
from paribus.results.schema import Record, record

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
        Whether you or constraints of the model declared the direction. Otherwise it follows from the name of
        the shape, or of a wave from the covariance with the rank.
    violation : float
        The largest movement against it, in units of the prediction; 0 for a monotone curve.
    standard_error : float
        Sampling error of that difference, from the differences of the same rows at both points.
    start, stop : value
        Where the movement begins and ends; None for a monotone curve.
    support : float
        Share of all rows, by weight, with a value between the two, both included.
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
    r"""The shape of one curve: the partial dependence of a feature, for one output.

    Attributes
    ----------
    feature, output : str
        Which curve.
    name : str
        In one word, see below.
    text : str
        In words, with the values where it turns or is flat.
    range : float
        Highest minus lowest value of the curve, in units of the prediction.
    range_error : float
        Sampling error of that difference, from the same rows at both points.
    lowest, highest : value
        Where the curve is lowest and highest, at values that have data; None where no point is finite.
    monotonicity : Monotonicity or None
        None for values without an order.

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
    text: str
    range: float
    range_error: float
    lowest: Any
    highest: Any
    monotonicity: Monotonicity | None


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

    def widest(self, feature: str) -> Shape | None:
        """Return the shape of the output that a feature moves most; None without any."""
        own = (shape for shape in self if shape.feature == feature)
        return max(own, key=lambda shape: np.nan_to_num(shape.range), default=None)


NOISE = 2.0  # paired standard errors that a movement must exceed to count; more if few rows give them,
WIGGLE = 0.05  # and share of the range: less cannot be seen beside the rest of the curve
STEP_MOVEMENT = 0.8  # share of a movement that its steps make up,
STEP_WIDTH = 0.25  # within so small a share of the axis,
STEP_GAPS = 8  # at one gap in so many between grid points; of fewer gaps each would be a step
MOST_STEPS = 4  # more of them are a slope
STEP_POINTS = 0.05  # share of the points within which a movement is at one value
FLAT = 0.05  # share of the range of a curve within which it is flat,
FLAT_SHARE = 0.15  # and share of the data that a flat part must have to be mentioned
FLAT_POINTS = 5  # of fewer points, no part is called flat
TURNING = 0.5  # share of the range of a reversal above which a curve has no direction
UNORDERED: dict[str, str] = {"categories": "differs by category", "flat": "flat", "undefined": "undefined"}
MONOTONE: dict[Direction, tuple[ShapeName, ...]] = {
    "rising": ("rising", "steps up"),
    "falling": ("falling", "steps down"),
}


def shapes_of(
    effects: Effects[PartialDependence], declared: Mapping[str, Mapping[str, Direction]]
) -> tuple[Shape, ...]:
    """Return the shape of each curve of single features, in the order of the effects and their outputs.

    ``declared`` has directions by feature and output.
    """
    shapes: list[Shape] = []
    for effect in effects.effects:
        if len(effect.feature_names) == 1 and effect.average is not None:
            directions = declared.get(effect.feature_names[0], {})
            shapes += [_shape(effect, o, directions.get(name)) for o, name in enumerate(effect.output_names)]
    return tuple(shapes)


def value_text(values: Array, point: int) -> str:
    """Return the value of a point as text, a number with three digits of the range of the axis."""
    value = values[point]
    if not isinstance(value, np.floating):
        return at_value(value)
    return span(float(value), float(values[0]), float(values[-1]))[0]


LONE = 0.01  # share of the data: more rows are no exception
LONE_SPREADS = 10  # times the range between the first and the last decile, to the next value


class LoneExtremes(NamedTuple):
    """A few rows with values far from all others.

    ``above`` is whether they lie above, ``last`` the position of the last other value on the grid, ``share``
    their share of all rows, and ``gap`` the distance between the two.
    """

    above: bool
    last: int
    share: float
    gap: float


def lone_extremes(effect: PartialDependence) -> LoneExtremes | None:
    """Return the extremes of a numeric feature that few rows have, at the side with the wider gap.

    The gap is at least ten times the range from the first to the last decile, or of all other values if these
    coincide, and at most 1 % of the data lies beyond it. Rows between two grid values divide their distance.
    """
    ranks, deciles = effect.ranks, effect.deciles[0]
    if ranks is None or deciles is None or effect.kinds[0] not in ("numeric", "integer"):
        return None
    grid = as_numbers(effect.grid_values[0])
    between = (ranks[0, 1:] - ranks[1, :-1]) * effect.provenance.used_rows
    spread, gaps = float(deciles[9] - deciles[1]), np.diff(grid) / (1 + between)
    below = [LoneExtremes(False, p + 1, float(ranks[0, p + 1]), gap) for p, gap in enumerate(gaps)]
    above = [LoneExtremes(True, p, float(ranks[1, -1] - ranks[1, p]), gap) for p, gap in enumerate(gaps)]
    lone = []
    for extremes in (*below, *above):
        others = grid[: extremes.last + 1] if extremes.above else grid[extremes.last :]
        width = spread or float(np.ptp(others))
        if extremes.share <= LONE and 0 < LONE_SPREADS * width <= extremes.gap:
            lone.append(extremes)
    return max(lone, key=lambda extremes: extremes.gap, default=None)


@dataclass(frozen=True, eq=False)
class ShapedCurve:
    """The partial dependence of the output ``o``."""

    effect: PartialDependence
    o: int

    @cached_property
    def heights(self) -> Floats:
        """The curve ``(g,)``."""
        assert self.effect.average is not None
        return np.asarray(self.effect.average[self.o])

    @cached_property
    def covariance(self) -> Floats:
        """Sampling covariance ``(g, g)`` of the points, NaN if it is not known."""
        points = len(self.heights)
        if self.effect.covariance is None:
            return np.full((points, points), np.nan)
        return np.asarray(self.effect.covariance[self.o, :points, :points])

    @property
    def values(self) -> Array:
        """The grid."""
        return self.effect.grid_values[0]

    @cached_property
    def finite(self) -> Flags:
        """Points whose prediction is finite."""
        return np.isfinite(self.heights)

    @cached_property
    def shares(self) -> Floats:
        """Share of the data around each point; every point counts the same where there is no data at any."""
        support = np.where(self.finite, self.effect.support, 0.0)
        support = support if support.any() else self.finite.astype(np.float64)
        return support / support.sum() if support.any() else support

    @cached_property
    def within(self) -> list[int]:
        """Points around which there is data, which decide the shape."""
        return [int(g) for g in np.flatnonzero(self.shares > 0)]

    @property
    def extremes(self) -> tuple[int, int]:
        """Points where the curve is lowest and highest."""
        heights = self.heights[self.within]
        return self.within[int(np.argmin(heights))], self.within[int(np.argmax(heights))]

    def value_text(self, point: int) -> str:
        """Return the value of a point as text."""
        return value_text(self.values, point)

    def share_between(self, start: int, stop: int) -> float:
        """Return the share of all rows with a value from one point to another, both included."""
        ranks, support = self.effect.ranks, self.effect.support
        if ranks is not None:
            return float(ranks[1, stop] - ranks[0, start])
        missing = 0.0 if self.effect.missing is None else self.effect.missing.support
        total = support.sum() + missing
        return float(support[start : stop + 1].sum() / total) if total > 0 else 0.0

    def error(self, one: int, other: int) -> float:
        """Return the standard error of the difference of two points, from pairs of the same rows."""
        own = self.covariance
        square = own[one, one] + own[other, other] - 2 * own[one, other]
        return float(np.sqrt(square if np.isnan(square) or square > 0 else 0.0))

    @cached_property
    def errors(self) -> Floats:
        """The same ``(g, g)`` for all pairs of points, zero where it is not known."""
        own = np.diagonal(self.covariance)
        return np.sqrt(np.maximum(0.0, np.nan_to_num(own[:, None] + own - 2 * self.covariance)))

    @cached_property
    def noise(self) -> float:
        """Standard errors that a movement must exceed to count."""
        return max(NOISE, self.effect.provenance.error_quantile())

    @cached_property
    def least(self) -> float:
        """The smallest difference that is not rounding."""
        return float(ROUNDING * np.abs(self.heights[self.finite]).max(initial=0.0))

    def moves(self, one: int, other: int, wiggle: float) -> bool:
        """Return whether the difference of two points counts."""
        noise = self.noise * float(self.errors[one, other])
        return bool(abs(self.heights[other] - self.heights[one]) > max(self.least, wiggle, noise))


def _shape(effect: PartialDependence, o: int, declared: Direction | None) -> Shape:
    curve = ShapedCurve(effect, o)
    numbers: dict[str, Any] = {"range": 0.0, "range_error": np.nan, "lowest": None, "highest": None}
    if curve.finite.any():
        low, high = curve.extremes
        numbers = {
            "range": float(curve.heights[high] - curve.heights[low]),
            "range_error": curve.error(low, high),
            "lowest": curve.values[low],
            "highest": curve.values[high],
        }
    name, ordered = _name(curve), effect.ordered[0]
    monotonicity = _monotonicity(curve, name, declared) if ordered and curve.finite.any() else None
    return Shape(
        feature=effect.feature_names[0],
        output=effect.output_names[o],
        name=name,
        text=_words(curve, name, numbers["range"], monotonicity),
        **numbers,
        monotonicity=monotonicity,
    )


def _name(curve: ShapedCurve) -> ShapeName:
    if not curve.finite.any():
        return "undefined"
    points, heights = curve.within, curve.heights
    wiggle = WIGGLE * float(np.ptp(heights[points]))
    low, high = curve.extremes
    if not curve.effect.ordered[0]:
        return "categories" if curve.moves(low, high, wiggle) else "flat"
    turns = turning_points(curve, points, wiggle)
    if len(turns) == 1:
        return "flat"
    rises = heights[turns[1]] > heights[turns[0]]
    if len(turns) == 2:
        if has_steps(curve, points):
            return "steps up" if rises else "steps down"
        return "rising" if rises else "falling"
    extreme = high if rises else low
    if len(turns) == 3 and extreme not in (points[0], points[-1]):
        return "inverted U" if rises else "U"
    return "wavy"


def _words(curve: ShapedCurve, name: ShapeName, width: float, monotonicity: Monotonicity | None) -> str:
    """Return a shape in words, such as ``"rises until 40, then flat"``."""
    if name in UNORDERED or monotonicity is None:
        return UNORDERED.get(name, name)
    low, high = curve.extremes
    if name == "U":
        return f"U-shaped, lowest at {curve.value_text(low)}"
    if name == "inverted U":
        return f"rises until {curve.value_text(high)}, then falls"
    if name == "wavy":
        return course_of(monotonicity, width)
    return _monotone_words(curve, rises=name in MONOTONE["rising"], steps=name.startswith("steps"))


def course_of(monotonicity: Monotonicity, width: float) -> str:
    """Return the course of a curve of a range that turns back, in words."""
    if monotonicity.violation > TURNING * width:
        return "goes up and down"
    return "mostly rises" if monotonicity.direction == "rising" else "mostly falls"


def _monotone_words(curve: ShapedCurve, *, rises: bool, steps: bool) -> str:
    """Return the words of a curve with one direction, and of its flat parts."""
    points, verb = curve.within, "rises" if rises else "falls"
    level = curve.heights[points] - curve.heights[points].min()
    level = level / level.max() if rises else 1 - level / level.max()
    moved, last = np.flatnonzero(level > FLAT), np.flatnonzero(level < 1 - FLAT)
    start, stop = max(0, int(moved[0]) - 1), min(len(level) - 1, int(last[-1]) + 1)
    shares, several = curve.shares[points], len(level) >= FLAT_POINTS
    before = several and float(shares[:start].sum()) >= FLAT_SHARE
    after = several and float(shares[stop + 1 :].sum()) >= FLAT_SHARE
    begin, end = curve.value_text(points[start]), curve.value_text(points[stop])
    if before and after:
        narrow = stop - start <= max(1, STEP_POINTS * len(level))
        return f"{verb} at {end}, flat elsewhere" if narrow else f"{verb} between {begin} and {end}"
    if after:
        return f"{verb} until {end}, then flat"
    if before:
        return f"flat until {begin}, then {verb}"
    return f"{verb} in steps" if steps else verb


def turning_points(curve: ShapedCurve, points: list[int], wiggle: float) -> list[int]:
    """Return the points between which a curve moves up and down by more than noise.

    The curve is followed from its first point. A turn is where it was highest before it fell by more than
    `NOISE` paired standard errors and `WIGGLE` of the range, or lowest before it rose so much.
    """
    heights = curve.heights
    low = high = turn = points[0]
    turns: list[int] = []
    rising: bool | None = None
    for point in points[1:]:
        if rising is None:  # until the first movement that counts, both ends are open
            low = point if heights[point] < heights[low] else low
            high = point if heights[point] > heights[high] else high
            start = low if heights[point] - heights[low] > heights[high] - heights[point] else high
            if curve.moves(start, point, wiggle):
                rising, turn, turns = bool(heights[point] > heights[start]), point, [start]
        elif (heights[point] >= heights[turn]) == rising:
            turn = point
        elif curve.moves(turn, point, wiggle):
            turns.append(turn)
            rising, turn = not rising, point
    return [points[0]] if rising is None else [*turns, turn]


def has_steps(curve: ShapedCurve, points: list[int]) -> bool:
    """Return whether a few jumps within a small part of the axis make up most of a movement."""
    values = curve.values[points]
    places = np.arange(len(points), dtype=np.float64)
    if values.dtype.kind in "fiumM":
        places = as_numbers(values)
    jumps, widths = np.abs(np.diff(curve.heights[points])), np.diff(places)
    largest = np.argsort(-jumps, kind="stable")
    enough = int(np.searchsorted(np.cumsum(jumps[largest]), STEP_MOVEMENT * jumps.sum())) + 1
    few = enough <= min(MOST_STEPS, len(jumps) // STEP_GAPS)
    return bool(few and widths[largest[:enough]].sum() <= STEP_WIDTH * widths.sum())


def prevailing(curve: ShapedCurve) -> Direction:
    r"""Return the direction of the curve over the data.

    It is the sign of :math:`\sum_g F_g (1 - F_g) (PD_{g+1} - PD_g)`, with :math:`F_g` the share of the data
    up to point g: the covariance of the curve with the rank of the value. A tail without data does not
    decide. Where that is zero, it is the direction that the curve moves less against.
    """
    points = curve.within
    heights, below = curve.heights[points], np.cumsum(curve.shares[points])[:-1]
    trend = float(np.sum(below * (1 - below) * np.diff(heights)))
    if abs(trend) > curve.least:
        return "rising" if trend > 0 else "falling"
    return "rising" if _against(curve, "rising")[0] <= _against(curve, "falling")[0] else "falling"


def _against(curve: ShapedCurve, direction: Direction) -> tuple[float, int, int]:
    """Return the largest movement against a direction, and the points between which it is."""
    points = curve.within
    heights = -curve.heights if direction == "falling" else curve.heights
    worst, best = (0.0, points[0], points[0]), points[0]
    for point in points[1:]:
        if heights[point] > heights[best]:
            best = point
        drop = float(heights[best] - heights[point])
        worst = (drop, best, point) if drop > worst[0] else worst
    return worst


def _monotonicity(curve: ShapedCurve, name: ShapeName, declared: Direction | None) -> Monotonicity:
    named = next((direction for direction, names in MONOTONE.items() if name in names), None)
    direction = declared or named or prevailing(curve)
    violation, start, stop = _against(curve, direction)
    if violation <= curve.least:
        return Monotonicity(direction, declared is not None, 0.0, 0.0, None, None, 0.0)
    return Monotonicity(
        direction=direction,
        is_declared=declared is not None,
        violation=violation,
        standard_error=curve.error(start, stop),
        start=curve.values[start],
        stop=curve.values[stop],
        support=curve.share_between(start, stop),
    )

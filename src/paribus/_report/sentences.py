"""Shapes and effects in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paribus._contracts import Array, Floats
from paribus._report.figures import References
from paribus._report.markup import Markup, at, joined, name_of, span
from paribus._text import NONE, brief, count
from paribus.results.curve_parts import ROUNDING
from paribus.results.partial_dependence import trimmed
from paribus.results.shape import Shape
from paribus.results.verdict import TURNING

LEVEL = 0.05  # share of the range of a curve within which it is called flat,
PART = 0.15  # and share of the data that a flat part must have to be mentioned
POINTS = 5  # of fewer points, no part of a curve is called flat
STEP = 0.05  # share of the points within which a movement is a step
SENTENCES = 3
UNORDERED = {"categories": "differs by category", "flat": "flat", "undefined": "undefined"}
TURNS = {"U": ("falls", "rises"), "inverted U": ("rises", "falls")}


@dataclass(frozen=True, eq=False)
class ShownCurve:
    """The plotted part of a curve: ``heights (g,)`` at ``values (g,)``, and ``shares (g,)`` of the data."""

    shape: Shape
    values: Array
    heights: Floats
    shares: Floats

    @property
    def range(self) -> float:
        """Highest minus lowest height."""
        return float(np.ptp(self.heights))

    @property
    def ends(self) -> tuple[int, int]:
        """Positions of the lowest and the highest height, in the order of values if they have one."""
        low, high = int(np.argmin(self.heights)), int(np.argmax(self.heights))
        return (low, high) if self.shape.name == "categories" or low < high else (high, low)

    @property
    def ends_text(self) -> str:
        """The two heights at the ends."""
        first, last = self.ends
        return " to ".join(span(self.heights[first], self.heights[last]))

    @property
    def moves_only_beyond(self) -> bool:
        """Whether the curve moves, but not within the percentiles."""
        largest = max(self.shape.range, float(np.abs(self.heights).max()))
        return self.shape.name not in UNORDERED and self.range <= ROUNDING * largest

    @property
    def turn(self) -> int | None:
        """Position where a curve turns once; None for other shapes, and for a turn at an end."""
        if self.shape.name not in TURNS:
            return None
        turn = int(np.argmin(self.heights) if self.shape.name == "U" else np.argmax(self.heights))
        moved = np.abs(self.heights[[0, -1]] - self.heights[turn]).min() > LEVEL * self.range
        return turn if moved else None

    @property
    def direction(self) -> str | None:
        """Direction of a curve that never turns back by much of its range; None of others."""
        if self.shape.name in UNORDERED:
            return None
        for verb, heights in (("rises", self.heights), ("falls", -self.heights)):
            if float((np.maximum.accumulate(heights) - heights).max()) <= TURNING * self.range:
                return verb
        return None

    @property
    def words(self) -> str:
        """The shape, such as ``"rises until 40, then flat"``."""
        if self.shape.name in UNORDERED:
            return UNORDERED[self.shape.name]
        if self.moves_only_beyond:
            return "flat within the percentiles"
        if self.turn is not None:
            where = self.value(self.turn)
            down = self.shape.name == "U"
            return f"U-shaped, lowest at {where}" if down else f"rises until {where}, then falls"
        if self.direction is None:
            return "goes up and down"
        wavy = self.shape.name == "wavy"
        return f"mostly {self.direction}" if wavy else self._monotone_words(self.direction)

    def _monotone_words(self, verb: str) -> str:
        """Return the words of a curve with one direction, and of its flat parts."""
        level = (self.heights - self.heights.min()) / self.range
        level = level if verb == "rises" else 1 - level
        moved, last = np.flatnonzero(level > LEVEL), np.flatnonzero(level < 1 - LEVEL)
        start, stop = max(0, int(moved[0]) - 1), min(len(level) - 1, int(last[-1]) + 1)
        before = len(level) >= POINTS and float(self.shares[:start].sum()) >= PART
        after = len(level) >= POINTS and float(self.shares[stop + 1 :].sum()) >= PART
        if before and after and stop - start <= max(1, STEP * len(level)):
            return f"{verb} at {self.value(stop)}, flat elsewhere"
        if before and after:
            return f"{verb} between {self.value(start)} and {self.value(stop)}"
        if after:
            return f"{verb} until {self.value(stop)}, then flat"
        if before:
            return f"flat until {self.value(start)}, then {verb}"
        return f"{verb} in steps" if self.shape.name.startswith("steps") else verb

    def value(self, position: int) -> str:
        """Return a value of the feature as text, with two digits of the range of the axis."""
        value = self.values[position]
        if not isinstance(value, np.floating):
            return at(value)
        return span(*(float(one) for one in (value, self.values[0], self.values[-1])))[0]


def shown_curve(refs: References, name: str, shape: Shape | None = None) -> ShownCurve | None:
    """Return the plotted curve of a shape, by default of the output that the feature moves most."""
    shape = refs.widest(name) if shape is None else shape
    inner = trimmed(refs.explanation.effects[name])
    if shape is None or inner.average is None:
        return None
    heights = inner.average[inner.output_names.index(shape.output)]
    known = np.isfinite(heights)
    if not known.any():
        return None
    support = inner.support[known]
    shares = support / support.sum() if support.sum() > 0 else np.full(len(support), 1 / len(support))
    return ShownCurve(shape, inner.grid_values[0][known], heights[known], shares)


def shape_words(refs: References, name: str, shape: Shape | None = None) -> str:
    """Return the shape of a curve in words, by default of the output that the feature moves most."""
    curve = shown_curve(refs, name, shape)
    return NONE if curve is None else curve.words


def sentences(refs: References) -> list[Markup]:
    """Return at most three sentences with the main numbers."""
    return [sentence for sentence, _ in zip(_every_sentence(refs), range(SENTENCES), strict=False)]


def _every_sentence(refs: References) -> Iterator[Markup]:
    """Yield sentences, the most important first."""
    curves = {name: curve for name in refs.ranks if (curve := shown_curve(refs, name)) is not None}
    strongest = list(curves)[: SENTENCES - 1]
    for name in strongest:
        yield _effect_sentence(refs, name, curves[name])
    others = [name for name in curves if name not in strongest]
    if others:
        most = max(others, key=lambda name: curves[name].range)
        many = f"The other {len(others)} features move" if len(others) > 1 else "The other feature moves"
        moved = "it" if len(refs.explanation.output_names) == 1 else "an output"
        yield joined(f"{many} {moved} by at most {brief(curves[most].range)} (", name_of(most, 40), ").")
    if refs.strongest_pair is not None:
        (one, two), strength = refs.strongest_pair
        text = f" interact most: together they typically differ by {brief(strength)} from the sum of both."
        yield joined(name_of(one, 40), " and ", name_of(two, 40), text)
    if refs.curves_share:
        yield joined(f"The curves alone reproduce {refs.curves_share} of the variance of the prediction.")
    yield joined(f"All averages are over {count(refs.explanation.provenance.used_rows, 'row')}.")


def _effect_sentence(refs: References, name: str, curve: ShownCurve) -> Markup:
    """Return the sentence of the effect of one feature."""
    feature, scale = name_of(name, 40), refs.explanation.provenance.scale
    subject = joined("the average ", name_of(scale.label(curve.shape.output), 60))
    if curve.shape.name == "categories":
        low, high = span(*curve.heights[list(curve.ends)])
        values = (name_of(curve.value(place), 30) for place in curve.ends)
        parts = zip((f" goes from {low} (", f" to {high} ("), values, strict=True)
        return joined("By ", feature, ", ", subject, (joined(text, value, ")") for text, value in parts), ".")
    ordered = curve.shape.monotonicity is not None
    ends = f" goes from {curve.value(0)} to {curve.value(-1)}, "
    start = joined("As ", feature, ends, subject) if ordered else joined("By ", feature, ", ", subject)
    if curve.moves_only_beyond:
        return joined(start, f" stays at {brief(curve.heights[0])}. It moves only beyond these values.")
    if curve.turn is not None:
        begin, turn, end = span(curve.heights[0], curve.heights[curve.turn], curve.heights[-1])
        verb, then = TURNS[curve.shape.name]
        return joined(
            start, f" {verb} from {begin} to {turn} at {curve.value(curve.turn)}, then {then} to {end}."
        )
    if curve.direction is None:
        how = "hardly moves" if curve.shape.name == "flat" else "moves"
        between = " and ".join(span(float(curve.heights.min()), float(curve.heights.max())))
        return joined(start, f" {how} between {between}.")
    mostly = "mostly " * (curve.shape.name == "wavy")
    begin, end = span(curve.heights[0], curve.heights[-1])
    return joined(start, f" {mostly}{curve.direction} from {begin} to {end}.")

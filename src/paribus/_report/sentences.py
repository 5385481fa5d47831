"""Shapes and effects in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paribus._contracts import Array, Floats
from paribus._report.figures import References
from paribus._report.markup import Markup, joined, name_of, shortened
from paribus._text import NONE, brief, count, span
from paribus.results.shape import MONOTONE, Shape, value_text

SENTENCES = 3


@dataclass(frozen=True, eq=False)
class ShownCurve:
    """The curve of a shape: ``heights (g,)`` at ``values (g,)`` that have data.

    ``at_missing`` is its height at the missing value, None without one.
    """

    shape: Shape
    values: Array
    heights: Floats
    at_missing: float | None

    @property
    def ends(self) -> tuple[int, int]:
        """Positions of both ends of a falling curve, and of the lowest and highest height of others."""
        low, high = int(np.argmin(self.heights)), int(np.argmax(self.heights))
        return (high, low) if self.shape.name in MONOTONE["falling"] else (low, high)

    @property
    def ends_text(self) -> str:
        """The two heights at the ends."""
        first, last = self.ends
        return " to ".join(span(self.heights[first], self.heights[last]))

    @property
    def reach(self) -> float:
        """Highest minus lowest height, the missing value included."""
        last = [] if self.at_missing is None else [self.at_missing]
        return float(np.ptp([*self.heights, *last]))

    def value(self, position: int) -> str:
        """Return a value of the feature as text."""
        return shortened(value_text(self.values, position))


def shown_curve(refs: References, name: str, shape: Shape | None = None) -> ShownCurve | None:
    """Return the curve of a shape, by default of the output that the feature moves most."""
    shape = refs.widest(name) if shape is None else shape
    effect = refs.explanation.effects[name]
    if shape is None or effect.average is None:
        return None
    output = effect.output_names.index(shape.output)
    heights, missing = effect.average[output], effect.missing
    known = np.isfinite(heights) & ((effect.support > 0) | (effect.support.sum() == 0))
    if not known.any():
        return None
    at_missing = None if missing is None or missing.average is None else float(missing.average[output])
    return ShownCurve(shape, effect.grid_values[0][known], heights[known], at_missing)


def shape_words(refs: References, name: str, shape: Shape | None = None) -> str:
    """Return the shape of a curve in words, by default of the output that the feature moves most."""
    shape = refs.widest(name) if shape is None else shape
    return NONE if shape is None else shape.text


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
        most = max(others, key=lambda name: curves[name].reach)
        many = f"The other {len(others)} features move" if len(others) > 1 else "The other feature moves"
        moved = "it" if len(refs.explanation.output_names) == 1 else "an output"
        yield joined(f"{many} {moved} by at most {brief(curves[most].reach)} (", name_of(most, 40), ").")
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
    name, first, last = curve.shape.name, curve.heights[0], curve.heights[-1]
    if name in ("U", "inverted U"):
        turn = int(np.argmin(curve.heights) if name == "U" else np.argmax(curve.heights))
        begin, middle, end = span(first, curve.heights[turn], last)
        verb, then = ("falls", "rises") if name == "U" else ("rises", "falls")
        return joined(
            start, f" {verb} from {begin} to {middle} at {curve.value(turn)}, then {then} to {end}."
        )
    if name in (*MONOTONE["rising"], *MONOTONE["falling"]):
        begin, end = span(first, last)
        return joined(start, f" {'rises' if name in MONOTONE['rising'] else 'falls'} from {begin} to {end}.")
    between = " and ".join(span(float(curve.heights.min()), float(curve.heights.max())))
    how = "hardly moves" if name == "flat" else "moves"
    return joined(start, f" {how} between {between}.")

"""An explanation in sentences, each with the numbers and names in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Array, Floats
from paribus._states.sums import ignore_fp_errors
from paribus._text import brief, measured, span
from paribus.meaning import Scale
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import Metric
from paribus.results.repr_text import explained_text
from paribus.results.shape import MONOTONE, Shape, lone_extremes, value_text
from paribus.results.text_table import fitted

if TYPE_CHECKING:
    from paribus.results.explanation import Explanation

STRONGEST = 2  # features with a sentence
OUTPUTS = 3  # outputs with a mean in the first sentence
NAME = 40  # characters of a name in a sentence
SCORES = ("R²", "AUC", "accuracy", "root mean squared error", "log loss")  # those first that say most
NAMED = 2  # scores in a sentence


@dataclass(frozen=True)
class Sentence:
    """A sentence about an explanation.

    Attributes
    ----------
    text : str
        The sentence, with rounded numbers and shortened names.
    values : dict of str to value
        The numbers in full precision, and the names.
    """

    text: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class ShownCurve:
    """The curve of a shape: ``heights (g,)`` at ``values (g,)`` that have data.

    ``at_missing`` is its height at the missing value, None without one. ``start`` and ``stop`` are the first
    and the last point that is not a lone extreme.
    """

    shape: Shape
    values: Array
    heights: Floats
    at_missing: float | None
    start: int
    stop: int

    @property
    def path(self) -> list[int]:
        """Points at both ends and the turn; where a curve has no direction, the lowest and the highest."""
        heights = self.heights[self.start : self.stop + 1]
        low, high = self.start + int(np.argmin(heights)), self.start + int(np.argmax(heights))
        if self.shape.name in ("U", "inverted U"):
            return sorted({self.start, low if self.shape.name == "U" else high, self.stop})
        directed = self.shape.name in (*MONOTONE["rising"], *MONOTONE["falling"])
        if directed:
            return [self.start, self.stop]
        return [low, high] if self.shape.monotonicity is None else sorted((low, high))

    @property
    def path_text(self) -> str:
        """The heights along the path."""
        return " to ".join(span(*self.heights[self.path]))

    @property
    def reach(self) -> float:
        """Highest minus lowest height, the missing value included."""
        last = [] if self.at_missing is None else [self.at_missing]
        return float(np.ptp([*self.heights, *last]))

    def value(self, position: int) -> str:
        """Return a value of the feature as text."""
        return fitted(value_text(self.values[self.start : self.stop + 1], position - self.start), NAME)


def shown_curve(effect: PartialDependence, shape: Shape | None) -> ShownCurve | None:
    """Return the curve of a shape; None where it has no finite height."""
    if shape is None or effect.average is None:
        return None
    output = effect.output_names.index(shape.output)
    heights, missing, support = effect.average[output], effect.missing, effect.support
    known = np.isfinite(heights) & ((support > 0) | (support.sum() == 0))
    if not known.any():
        return None
    at_missing = None if missing is None or missing.average is None else float(missing.average[output])
    first, last, lone = 0, len(known) - 1, lone_extremes(effect)
    if lone is not None:
        first, last = (first, lone.last) if lone.above else (lone.last, last)
    start, stop = int(known[:first].sum()), int(known[: last + 1].sum()) - 1
    return ShownCurve(shape, effect.grid_values[0][known], heights[known], at_missing, start, stop)


@ignore_fp_errors()
def sentences_of(explanation: Explanation) -> tuple[Sentence, ...]:
    """Return what is predicted and how well, the strongest effects, and what the curves explain."""
    return tuple(_sentences(explanation))


def _sentences(explanation: Explanation) -> Iterator[Sentence]:
    yield _predicted(explanation)
    yield _fit(explanation)
    for note in explanation.verdict:
        if note.code.order == "first" and note.severity == "issue":
            yield Sentence(f"Check first: {note.text}.", {"code": note.code.name, **note.values})
    known = {
        effect.feature_names[0]: shown_curve(effect, explanation.shapes.widest(effect.feature_names[0]))
        for effect in explanation.effects.effects
    }
    curves = {name: curve for name, curve in known.items() if curve is not None}
    moving = [name for name, curve in curves.items() if curve.reach > 0]
    strongest = moving[:STRONGEST]
    others = [name for name in curves if name not in strongest]
    yield from (_effect(explanation, name, curves[name]) for name in strongest)
    if others:
        most = max(others, key=lambda name: curves[name].reach)
        many = f"The other {len(others)} features move" if len(others) > 1 else "The other feature moves"
        moved = "it" if len(explanation.output_names) == 1 else "an output"
        values = {"features": len(others), "range": curves[most].reach, "feature": most}
        text = f"{many} {moved} by at most {brief(curves[most].reach)} ({fitted(most, NAME)})."
        if curves[most].reach == 0:
            text = f"No other feature moves {moved}." if strongest else f"No feature moves {moved}."
        yield Sentence(text, values)
    yield from _strongest_pair(explanation)
    yield from _shares(explanation)
    p = explanation.provenance
    text = f"All averages are over {fitted(p.background(), 200)}, {p.how}."
    yield Sentence(text, {"rows": p.used_rows, "total": p.rows, "seed": p.seed})


def _predicted(explanation: Explanation) -> Sentence:
    """Return what is predicted: means of the prediction and of the target, or the share of a class."""
    scale, outputs = explanation.provenance.scale, explanation.output_names
    targets = {target.output: target for target in explanation.target}
    means = dict(zip(outputs, explanation.predictions.mean.tolist(), strict=True))
    observed = {output: target.mean for output, target in targets.items()}
    values = {"predicted": means, "observed": observed}
    if len(outputs) > 1:
        parts = [
            f"{brief(means[output])} for {fitted(_bare_label(scale, output), NAME)}"
            + (f" (observed: {brief(observed[output])})" if output in observed else "")
            for output in outputs[:OUTPUTS]
        ]
        more = ", …" * (len(outputs) > OUTPUTS)
        return Sentence(f"The model predicts a {scale} for each output: {', '.join(parts)}{more}.", values)
    output, target = outputs[0], targets.get(outputs[0])
    name = None if target is None else target.name
    is_class = target is not None and target.standard_deviation is None
    what = f"the {scale.label(output)}" + f" of {name}" * (is_class and name is not None)
    if scale == "prediction":
        what = name or (output if output != "prediction" else "the target")
    text = f"The model predicts {fitted(what, 2 * NAME)}: on average {brief(means[output])}"
    if target is not None:
        observed_text = "the share of this class in the rows is" if is_class else "the average target is"
        text += f"; {observed_text} {brief(target.mean)}"
    return Sentence(f"{text}.", values)


def _bare_label(scale: Scale, output: str) -> str:
    """Return the name of an output without the unit, such as ``"class 1"``."""
    return scale.label(output).removeprefix(f"{scale.base} of ").removeprefix("predicted ")


def _fit(explanation: Explanation) -> Sentence:
    """Return the scores that say most, each next to that of a constant prediction."""
    metrics = () if explanation.performance is None else explanation.performance.metrics
    by_name: dict[str, list[Metric]] = {}
    for metric in metrics:
        by_name.setdefault(metric.name, []).append(metric)
    # A score of each of several outputs is a range; ranking needs a single one.
    known = [name for name in SCORES if name in by_name and (name != "AUC" or len(by_name[name]) == 1)]
    shown = (known or list(by_name))[:NAMED]
    if not shown:
        return Sentence("How well it predicts is not known without y.", {})
    parts = []
    for name in shown:
        first, *others = by_name[name]
        constant = _range_text([metric.constant for metric in by_name[name]])
        score = _range_text([metric.value for metric in by_name[name]])
        score = score if others else measured(first.value, first.standard_error)
        parts.append(f"{name} is {score} ({constant} for a constant prediction)")
    values = {
        name: [(metric.value, metric.standard_error, metric.constant) for metric in by_name[name]]
        for name in shown
    }
    return Sentence(f"On these rows, {' and '.join(parts)}.", values)


def _range_text(numbers: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(brief(end) for end in (min(numbers), max(numbers))))


def _effect(explanation: Explanation, name: str, curve: ShownCurve) -> Sentence:
    """Return the sentence of the effect of one feature."""
    shape, path = curve.shape, curve.path
    label = explanation.provenance.scale.label(shape.output)
    feature, subject = fitted(name, NAME), f"the average {fitted(label, 2 * NAME)}"
    heights = span(*curve.heights[path])
    ends = path if shape.name == "categories" else [curve.start, curve.stop]
    values = {
        "feature": name,
        "from": curve.values[ends[0]],
        "to": curve.values[ends[-1]],
        "heights": curve.heights[path].tolist(),
    }
    if shape.name == "categories":
        first, last = (f"{height} ({curve.value(g)})" for height, g in zip(heights, path, strict=True))
        return Sentence(f"By {feature}, {subject} goes from {first} to {last}.", values)
    start = f"By {feature}, "
    if shape.monotonicity is not None:
        start = f"As {feature} goes from {curve.value(curve.start)} to {curve.value(curve.stop)}, "
    directed = shape.name not in ("flat", "wavy")
    if len(set(heights)) == 1:
        course = f"is {heights[0]} throughout"
    elif not directed:
        words = "hardly moves" if shape.name == "flat" else shape.text
        course = f"{words}, between {' and '.join(heights)}"
    else:
        course = f"{_verb(curve, path[0], path[1])} from {heights[0]} to {heights[1]}"
        if len(path) == 3:
            values["at"] = curve.values[path[1]]
            then = f"then {_verb(curve, path[1], path[2])} to {heights[2]}"
            course += f" at {curve.value(path[1])}, {then}"
    return Sentence(f"{start}{subject} {course}.", values)


def _verb(curve: ShownCurve, start: int, stop: int) -> str:
    return "rises" if curve.heights[stop] > curve.heights[start] else "falls"


def _strongest_pair(explanation: Explanation) -> Iterator[Sentence]:
    """Yield the strength of the strongest interaction, if there is any."""
    interactions = explanation.interactions
    if interactions is None:
        return
    strengths = np.sqrt(np.mean(np.square(np.nan_to_num(interactions.pairwise.strength)), axis=1))
    if strengths.any():
        best = int(np.argmax(strengths))
        pair = [interactions.feature_names[place] for place in interactions.pairs[best]]
        names, strength = " and ".join(fitted(name, NAME) for name in pair), float(strengths[best])
        differ = f"together they typically differ by {brief(strength)} from the sum of both"
        yield Sentence(f"{names} interact most: {differ}.", {"features": pair, "strength": strength})


def _shares(explanation: Explanation) -> Iterator[Sentence]:
    """Yield the shares of the variance that curves, pairs and regions explain, if the prediction varies."""
    shares, interactions, regions = explanation.explained, explanation.interactions, explanation.regions
    if shares is None:
        return
    part = len(explanation.columns) < max(2, len(explanation.predictions.column_digests))
    gains = {name: found.explained[0] for name, found in (regions or {}).items() if found.splits}
    best = max(gains, key=gains.__getitem__, default=None)
    rows = None if interactions is None else interactions.provenance.sampled_rows
    text = explained_text(
        shares,
        explanation.output_names,
        features=len(explanation.columns) if part else None,
        pair_rows=rows,
        best=best,
    )
    if text:
        rest = "; the rest is unexplained" * (shares.pairs is not None)
        yield Sentence(
            f"{text[:1].upper()}{text[1:]}{rest}.", {**vars(shares), "rows": rows, "feature": best}
        )

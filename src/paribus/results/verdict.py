"""Findings and verdict of an explanation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._text import at_value, count, number, percent, with_error
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.effects import Effects, compare
from paribus.results.group_comparison import RESIDUAL, GroupComparison
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import Metric, Performance, residual_errors
from paribus.results.regions import Regions
from paribus.results.repr_text import explained_text
from paribus.results.schema import Record, record
from paribus.results.shape import Monotonicity, Shape, course_of

if TYPE_CHECKING:
    from paribus._evaluators.interactions import VarianceShares

NOISE = 2.0  # standard errors that a movement against a direction must exceed
SINGLE = 1e-6  # of the range: models that predict in single precision move by less for no reason
TURNS = ("U", "inverted U", "wavy")  # names of shapes that turn back
REVERSED = 0.1  # share of the range of a curve that a reversal must exceed: less is a wiggle,
REVERSED_OF = 0.01  # and of the largest range of all curves: less cannot be seen in a prediction
LEAST_SUPPORT = 0.01  # share of the data that a movement must concern to be reported as a reversal
THIN = 0.1  # share of the data at the points that have least of it,
THIN_MOVEMENT = 0.8  # and share of the movement of the curve that lies at these points
THIN_POINTS = 3  # of fewer points, one is simply rare
MOSTLY = 0.5  # share of interactions in the mean square of all that a feature does,
MOSTLY_LINKED = 0.8  # and on the scale of probabilities, where a model without any has some
INCOMPLETE = 0.1  # share of the variance of the prediction that the curves alone do not reproduce
NOTABLE = 0.01  # share of the variance of the prediction below which that changes no decision
DIFFERENT = 0.2  # share of the range of a curve by which ALE must differ to change a reading,
DIFFERENT_OF = 0.1  # of the largest range of all curves, and of a feature so strong beside the strongest
ERRORS = 3.0  # standard errors by which a single cell, or the average of all rows, must be off
CELL_ROWS = 30  # rows of a cell at least: of fewer, the error itself is not known
CELL_SIZE = 0.1  # of the standard deviation of the prediction: with many rows, everything differs
BIASED = 0.05  # difference worth a note: of observed / predicted from 1, or of a residual per deviation of y
RATIO, ROOT = "observed / predicted", "root mean squared error"
# Metrics that show whether a model predicts at all, and what predicts as well as one without skill.
SKILL = {
    "R²": "the average of these rows predicts them as well as the model does",
    "AUC": "the model ranks these rows no better than chance does",
}


def direction_notes(shapes: tuple[Shape, ...]) -> Iterator[Note]:
    """Yield notes on curves that move against a declared or their prevailing direction.

    Without a declared one, these are all curves that turn back visibly, whatever their shape is called: a
    wave or a U has the largest movements.
    """
    several = len({shape.output for shape in shapes}) > 1
    ranges: dict[str, float] = {}
    for shape in shapes:
        ranges[shape.output] = max(shape.range, ranges.get(shape.output, 0.0))
    for shape in shapes:
        own = shape.monotonicity
        if own is None or own.violation <= SINGLE * shape.range or _within_noise(own):
            continue
        share = own.violation / shape.range
        of = f" for {shape.output}" if several else ""
        if own.is_declared:
            text = (
                f"{shape.feature} is declared {own.direction}, but its curve{of} moves against it by "
                f"{number(own.violation)}, {share:.0%} of its range, {_where(own)}"
            )
            yield Note(NoteCode.DIRECTION_VIOLATED, text, shape.feature, own.violation)
        elif (
            shape.name in TURNS
            and share >= REVERSED
            and own.violation >= REVERSED_OF * ranges[shape.output]
            and own.support >= LEAST_SUPPORT
        ):
            if shape.name in ("U", "inverted U"):
                moves = "falls" if own.direction == "rising" else "rises"
                form = "U-shaped" if shape.name == "U" else "hump-shaped"
                text = f"the curve of {shape.feature}{of} is {form}: it {moves} by {number(own.violation)}"
            else:
                against, course = (
                    "falls" if own.direction == "rising" else "rises",
                    course_of(own, shape.range),
                )
                but = ", but" if course.startswith("mostly") else ": it"
                text = (
                    f"the curve of {shape.feature}{of} {course}{but} {against} by {number(own.violation)}, "
                    f"{share:.0%} of its range,"
                )
            text = f"{text} {_where(own)}"
            yield Note(NoteCode.DIRECTION_REVERSED, text, shape.feature, own.violation)


def _within_noise(own: Monotonicity) -> bool:
    return bool(np.isfinite(own.standard_error) and own.violation <= NOISE * own.standard_error)


def _where(own: Monotonicity) -> str:
    return f"from {at_value(own.start)} to {at_value(own.stop)}, where {_share(own.support)} of the data lies"


def _share(part: float) -> str:
    """Return a share as sentences write it, without the space of labels and tables."""
    return percent(part).replace(" %", "%")


def support_notes(effects: Effects[PartialDependence]) -> Iterator[Note]:
    """Yield notes on curves that move most where hardly any data is."""
    for effect in effects.effects:
        if len(effect.feature_names) == 1 and effect.ordered[0] and effect.average is not None:
            share, data = _thin_movement(effect, effect.average)
            if share >= THIN_MOVEMENT:
                name = effect.feature_names[0]
                text = (
                    f"{share:.0%} of the movement of the curve of {name} lies at values around which only "
                    f"{_share(data)} of the data is"
                )
                yield Note(NoteCode.THIN_SUPPORT, text, name, share)


def _thin_movement(effect: PartialDependence, average: Floats) -> tuple[float, float]:
    """Return the share of the movement at the points with the least data, over all outputs, and that data."""
    total = effect.support.sum()
    if len(effect.support) < THIN_POINTS or not total > 0 or not np.isfinite(average).all():
        return 0.0, 0.0
    shares = effect.support / total
    order = np.argsort(shares, kind="stable")
    thin = np.zeros(len(shares), dtype=bool)
    thin[order[np.cumsum(shares[order]) < THIN]] = True
    moved = np.abs(np.diff(average, axis=1)).sum(axis=0)
    touched = thin[1:] | thin[:-1]
    share = float(moved[touched].sum() / moved.sum()) if moved.sum() > 0 else 0.0
    return share, float(shares[thin].sum())


def comparison_notes(
    effects: Effects[PartialDependence], ale: Effects[AccumulatedLocalEffect], unit: float
) -> Iterator[Note]:
    """Yield notes on features whose accumulated local effects lead to another reading of the curve.

    ``unit`` is the largest range of a curve. A feature is as strong as the stronger of its two curves.
    """
    compared = compare(effects, ale).effects
    strengths = [max(one.strength, 0.0 if one.ale is None else one.ale.strength) for one in compared]
    for one, strength in zip(compared, strengths, strict=True):
        share = 0.0 if one.share is None else float(np.nanmax(one.share, initial=0.0))
        if share >= DIFFERENT and strength >= DIFFERENT_OF * max(strengths):
            differing = (note for note in one.notes if note.code is NoteCode.ALE_DIFFERS)
            yield from (note for note in differing if (note.value or 0.0) >= DIFFERENT_OF * unit)


def interaction_notes(interactions: HStatistics, importance: Importance) -> Iterator[Note]:
    """Yield notes on features that act mostly in interactions, by more than sampling error.

    A share is stated only where the effect of the feature itself is known: beyond its standard error.
    """
    if interactions.overall is None:
        return
    together, error = (
        getattr(interactions.overall, name).sum(axis=1) for name in ("numerator", "numerator_error")
    )
    alone = interactions.main_effect.numerator.sum(axis=1)
    variance = float(interactions.variance.sum())
    linked = any(note.code is NoteCode.PROBABILITY_SCALE for note in interactions.notes)
    mostly = MOSTLY_LINKED if linked else MOSTLY
    known = dict(zip(importance.feature_names, _alone(importance), strict=True))
    for place, name in enumerate(interactions.feature_names):
        joint, own = float(together[place]), float(alone[place])
        share = joint / (joint + own) if joint + own > 0 else 0.0
        noise = NOISE * float(np.nan_to_num(error[place]))
        if share < mostly or joint < max(NOTABLE * variance, noise):
            continue
        size, of = known[name]
        if size > of:
            text = f"{share:.0%} of the effect of {name} is interaction with other features"
        else:
            strength = with_error(np.sqrt(joint), float(error[place]) / (2 * np.sqrt(joint)))
            text = (
                f"{name} acts in interactions with other features (strength {strength}), while its own "
                f"effect ({with_error(size, of)}) is within its standard error"
            )
        text += ", which its curve averages out; see the surfaces of its strongest pairs"
        yield Note(NoteCode.HIDDEN_INTERACTION, text, name, share)


def share_notes(shares: VarianceShares | None, outputs: tuple[str, ...]) -> Iterator[Note]:
    """Yield a note if the curves leave a notable share of the variance, of the output where it is largest."""
    if shares is None or not np.isfinite(shares.curves).any():
        return
    o = int(np.nanargmin(shares.curves))
    left = 1 - float(shares.curves[o])
    if left > max(INCOMPLETE, NOISE * float(np.nan_to_num(shares.curves_error[o]))):
        name = outputs[o]
        text = explained_text(shares.of_output(o), (name,))
        text += f" of {name}" * (len(outputs) > 1)
        if shares.pairs is not None and shares.pairs[o] < left / 2:
            text += "; the rest is due to larger interactions, or to features that were not requested"
        else:
            text += "; see the surfaces of strong pairs"
        yield Note(NoteCode.CURVES_INCOMPLETE, text, value=left)


def region_notes(regions: Regions) -> Iterator[Note]:
    """Yield the features whose effect differs between regions."""
    for name, one in regions.items():
        if one.splits:
            share, _ = one.explained
            texts = "; ".join(region.text for region in one.regions)
            text = f"the effect of {name} differs between {len(one.regions)} regions of the data: {texts}"
            yield Note(NoteCode.REGIONS_FOUND, text, name, share)


def _alone(importance: Importance) -> list[tuple[float, float]]:
    """Return the strength of each feature with its standard error; of several outputs, of all together."""
    values, errors = (
        np.sqrt(np.mean(own.reshape(len(own), -1) ** 2, axis=1))
        for own in (importance.values, np.nan_to_num(importance.standard_error))
    )
    return [(float(size), float(error)) for size, error in zip(values, errors, strict=True)]


def strength_notes(effects: Effects[PartialDependence], importance: Importance) -> Iterator[Note]:
    """Yield notes on features without any effect.

    A feature with a single value, and none missing, has no effect to show. Of a constant prediction none has.
    """
    single = [one for one in effects.effects if len(one.feature_names) == 1]
    varied = {
        one.feature_names[0] for one in single if len(one.grid_values[0]) > 1 or one.missing is not None
    }
    values = importance.with_interactions
    if values is not None and np.any(values != 0):
        by_feature = zip(importance.feature_names, values, strict=True)
        for name in (name for name, own in by_feature if np.all(own == 0) and name in varied):
            yield Note(NoteCode.NO_EFFECT, f"the prediction does not depend on {name}", name, 0.0)


@dataclass(frozen=True, eq=False)
class ResidualCells:
    """Observed and predicted averages ``(o, g)`` near the values of a feature; last, where it is missing."""

    part: Marginal
    observed: Floats
    predicted: Floats
    residual: Floats
    error: Floats
    rows: Integers
    share: Floats

    @classmethod
    def of(cls, part: Marginal) -> ResidualCells | None:
        """Return the cells of a feature; None without outcomes or a model."""
        names = ("observed", "predicted", "residual", "residual_error")
        arrays = [getattr(part, name) for name in names]
        if any(array is None for array in arrays):
            return None
        rows, support = part.rows, part.support
        if part.missing is not None:
            last = (getattr(part.missing, name) for name in names)
            arrays = [np.column_stack(pair) for pair in zip(arrays, last, strict=True)]
            rows, support = np.append(rows, part.missing.rows or 0), np.append(support, part.missing.support)
        within = (1 - part.outside) / max(np.finfo(float).tiny, support.sum())
        observed, predicted, residual, error = arrays
        return cls(part, observed, predicted, residual, error, rows, support * within)

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the residuals."""
        return residual_errors(self.observed, self.predicted, self.error, self.rows)

    @cached_property
    def known(self) -> Flags:
        """Whether each cell has enough rows for the standard error of its residual."""
        return np.isfinite(self.residual) & (self.errors > 0) & (self.rows >= CELL_ROWS)

    @cached_property
    def ratio(self) -> Floats:
        """Residuals in standard errors, zero where they are not known."""
        return np.divide(np.abs(self.residual), self.errors, out=np.zeros_like(self.error), where=self.known)

    def text(self, o: int, g: int) -> str:
        """Return what differs in a cell."""
        name, outputs = self.part.feature_names[0], self.part.output_names
        values, of = self.part.grid_values[0], f" ({outputs[o]})" if len(outputs) > 1 else ""
        where = f"near {name} = {at_value(values[g])}" if g < len(values) else f"where {name} is missing"
        return (
            f"{where}, with {_share(float(self.share[g]))} of the data, "
            f"the observed average is {number(float(self.observed[o, g]))} and the predicted one "
            f"{number(float(self.predicted[o, g]))}{of}, "
            f"a difference of {with_error(abs(float(self.residual[o, g])), float(self.errors[o, g]))}"
        )


def cell_notes(averages: Effects[Marginal], deviation: Floats) -> Iterator[Note]:
    """Yield a note for each feature with a cell whose residual is larger than chance explains.

    ``deviation`` is that of the prediction, for each output. A single cell must be off by `ERRORS` standard
    errors; as the largest of k is looked for, by as many as have the same probability divided by k.
    """
    cells = [one for one in map(ResidualCells.of, averages.effects) if one is not None]
    looked = sum(int(one.known.sum()) for one in cells)
    if not looked:
        return
    tail = 1 - NormalDist().cdf(ERRORS)
    bound = -NormalDist().inv_cdf(tail / looked)
    for one in cells:
        off = (one.ratio > bound) & (np.abs(one.residual) > CELL_SIZE * deviation[:, None])
        if off.any():
            o, g = (int(place) for place in np.unravel_index(np.argmax(one.ratio * off), off.shape))
            errors, cells_looked = f"{float(one.ratio[o, g]):.1f} standard errors", count(looked, "cell")
            others = f"; it is {errors}, and up to {bound:.1f} may be chance among {cells_looked}"
            name, size = one.part.feature_names[0], abs(float(one.residual[o, g]))
            yield Note(NoteCode.CELL_DIFFERS, one.text(o, g) + others, name, size)


def skill_notes(performance: Performance) -> Iterator[Note]:
    """Yield notes on metrics that are within noise of those of a constant, or worse."""
    for metric in performance.metrics:
        if metric.name in SKILL:
            error = metric.standard_error if np.isfinite(metric.standard_error) else 0.0
            if metric.value - metric.constant <= NOISE * error:
                text = f"{metric.name}{_output_of(metric, performance)} is {metric}: {SKILL[metric.name]}"
                yield Note(NoteCode.NO_SKILL, text, value=metric.value)


def _output_of(metric: Metric, performance: Performance) -> str:
    """Return which output a metric is of, where there are several."""
    if metric.output is None or len({one.output for one in performance.metrics} - {None}) < 2:
        return ""
    classes = any((one.name, one.output) == ("log loss", None) for one in performance.metrics)
    return f" of class {metric.output}" if classes else f" of {metric.output}"


def bias_notes(performance: Performance) -> Iterator[Note]:
    """Yield a note for each output whose observed average differs from the predicted one.

    Of a target that has negative values, the mean residual is compared with the standard deviation of y.
    """
    by_output = {(metric.name, metric.output): metric for metric in performance.metrics}
    for (name, output), metric in by_output.items():
        if name == RATIO:
            ideal, least = 1.0, BIASED
        elif name == RESIDUAL and (RATIO, output) not in by_output:
            ideal, least = 0.0, BIASED * by_output[ROOT, output].constant
        else:
            continue
        off = abs(metric.value - ideal)
        error = metric.standard_error if np.isfinite(metric.standard_error) else 0.0
        if max(least, ERRORS * error) < off < np.inf:
            text = f"the {name}{_output_of(metric, performance)} is {metric}, not {ideal:g}"
            yield Note(NoteCode.POOR_CALIBRATION, text, value=off)


NAMED = 3  # other features that a finding lists by name
EXTRAPOLATES = 0.1  # share of a curve: less changes no reading of it


class Verdict(tuple[Note, ...]):
    """A tuple of findings, worst first, which prints one on each line.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> print(paribus.explain(lambda X: X[:, 0], X).verdict)
    tip PAR413: the prediction does not depend on x1
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(finding_line, self)) or "no findings"


def finding_line(note: Note) -> str:
    """Return a finding as a line: its severity, its code and the sentence.

    Characters of names that move a cursor are written out.
    """
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in note.text)
    return f"{note.severity} {note.code.value}: {text}"


@record
class Check(Record):
    """One kind of caveat that was looked for.

    Attributes
    ----------
    code : NoteCode
        The kind.
    found : int
        Number of features, or of other things, that it was found of.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = paribus.explain(lambda X: X[:, 0], X)
    >>> [(check.code.name, check.found) for check in found.checks if check.found]
    [('NO_EFFECT', 1)]
    """

    code: NoteCode
    found: int


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of an explanation that a verdict is about."""

    effects: Effects[PartialDependence]
    ale: Effects[AccumulatedLocalEffect]
    averages: Effects[Marginal]
    importance: Importance
    interactions: HStatistics | None
    surfaces: Effects[PartialDependence] | None
    shapes: tuple[Shape, ...]
    performance: Performance | None
    explained: VarianceShares | None
    by_group: GroupComparison | None = None
    regions: Regions | None = None

    @property
    def results(self) -> list[Any]:
        """Those that have notes, the one whose words are kept first."""
        named = (
            self.effects,
            self.ale,
            self.averages,
            self.importance,
            self.interactions,
            self.surfaces,
            self.performance,
            self.by_group,
            self.regions,
        )
        return [part for part in named if part is not None]

    @property
    def strengths(self) -> dict[str, float]:
        """Strength of each feature, relative to the strongest."""
        own = {one.feature_names[0]: one.strength for one in self.effects.effects}
        most = max((value for value in own.values() if np.isfinite(value)), default=0.0)
        return {name: value / most if most > 0 else 0.0 for name, value in own.items()}

    @property
    def unit(self) -> float:
        """The largest range of a curve, which numbers in units of the prediction are relative to."""
        return max((shape.range for shape in self.shapes), default=0.0)

    def notes(self) -> list[Note]:
        """Return all notes, those that only the parts together show last."""
        found = [note for part in self.results for note in part.notes if not _extrapolates_little(note)]
        found += [*direction_notes(self.shapes), *support_notes(self.effects)]
        found += comparison_notes(self.effects, self.ale, self.unit)
        found += strength_notes(self.effects, self.importance)
        if self.interactions is not None:
            found += interaction_notes(self.interactions, self.importance)
            found += share_notes(self.explained, self.interactions.output_names)
        if self.regions is not None:
            found += region_notes(self.regions)
        found += cell_notes(self.averages, self._deviation())
        if self.performance is not None:
            found += [*skill_notes(self.performance), *bias_notes(self.performance)]
        return found

    def _deviation(self) -> Any:
        """Return the standard deviation of the prediction ``(o,)``; of one feature, that of its effect."""
        if self.interactions is not None:
            return np.sqrt(self.interactions.variance)
        strength = self.effects.effects[0].strength
        return np.full(len(self.effects.effects[0].output_names), strength)

    def looked_for(self) -> list[NoteCode]:
        """Return the kinds of caveats that these parts look for."""
        wanted = ["always", *(["with pairs"] if self.interactions is not None else [])]
        codes = [code for when in wanted for code in NoteCode if code.traits.checked == when]
        codes += [NoteCode.EXTRAPOLATION] * any(one.extrapolation is not None for one in self.effects.effects)
        declared = [
            shape.monotonicity is not None and shape.monotonicity.is_declared for shape in self.shapes
        ]
        codes += [NoteCode.DIRECTION_VIOLATED] * any(declared)
        codes += [NoteCode.CELL_DIFFERS] * any(one.residual is not None for one in self.averages.effects)
        metrics = () if self.performance is None else self.performance.metrics
        codes += [NoteCode.NO_SKILL] * any(metric.name in SKILL for metric in metrics)
        codes += [NoteCode.POOR_CALIBRATION] * any(metric.name in (RATIO, RESIDUAL) for metric in metrics)
        codes += [NoteCode.TARGET_AMONG_FEATURES] * bool(metrics)
        codes += [NoteCode.REGIONS_FOUND] * (self.regions is not None)
        if self.by_group is not None:
            codes += [NoteCode.GROUPS_DIFFER, *[NoteCode.GROUP_BIAS] * bool(self.by_group.performance)]
        return codes


def notes_of(explanation: Any) -> list[Note]:
    """Return every note that the verdict of an explanation counts."""
    known = {name: getattr(explanation, name) for name in Parts.__dataclass_fields__}
    return distinct(Parts(**known).notes())


def verdict_of(parts: Parts) -> tuple[Verdict, tuple[Check, ...]]:
    """Return findings, worst first, and what was looked for.

    A caveat that several parts have of one feature is one finding, and so is one kind of caveat of several
    features: it has the words of the worst, and counts the others. Issues come before tips, first among them
    a target among the features, violations of declared directions and a model without skill. Others are in
    the order of their number: in units of the prediction, or a share times the strength of the feature.
    Calibration comes last, as nothing says whether the model was fitted to these rows. Checks are sorted by
    code.
    """
    notes, sizes = distinct(parts.notes()), Sizes(parts.strengths, parts.unit)
    found = Counter(note.code for note in notes)
    codes = sorted({*parts.looked_for(), *found}, key=str)
    checks = tuple(Check(code, found[code]) for code in codes)
    kinds = [[note for note in notes if note.code is code] for code in codes]
    grouped = [_grouped(same, sizes) for same in kinds if same]
    ranked = sorted(grouped, key=lambda note: (note.severity != "issue", -sizes.of(note)))
    return Verdict(ranked), checks


@dataclass(frozen=True, eq=False)
class Sizes:
    """How much a note matters: by the strength of its feature, relative to others, and by its number."""

    strengths: Mapping[str, float]
    unit: float

    def of(self, note: Note) -> float:
        """Return a number between 0 and 1; what is about no single feature concerns all of them.

        A share counts as much as its feature is strong; a number in units of the prediction has that in it.
        What stands first counts one more.
        """
        if note.code.traits.order == "last":
            return 0.0
        value = 1.0 if note.value is None else abs(note.value)
        if note.code.traits.unit == "prediction":
            size = min(1.0, value / self.unit) if self.unit > 0 else 0.0
        else:
            size = self.strengths.get(note.feature or "", 1.0) * min(1.0, value)
        return size + (note.code.traits.order == "first") if np.isfinite(size) else 1.0


def distinct(notes: Iterable[Note]) -> list[Note]:
    """Return one note of each kind for each feature, and for what is about none one of each sentence.

    The first is kept; of several in units of the prediction, as outputs have them, the largest.
    """
    kept: dict[tuple[NoteCode, str], Note] = {}
    for note in notes:
        key = note.code, note.text if note.feature is None else f"feature {note.feature}"
        before = kept.get(key)
        if before is None or (
            note.code.traits.unit == "prediction" and (note.value or 0) > (before.value or 0)
        ):
            kept[key] = note
    return list(kept.values())


def _grouped(notes: list[Note], sizes: Sizes) -> Note:
    """Return one finding of notes of one kind."""
    worst, *others = sorted(notes, key=lambda note: -sizes.of(note))
    if not others:
        return worst
    names = [_named(note) for note in others if note.feature is not None]
    if len(names) < len(others):
        more = f"{worst}; and {count(len(others), 'more note')} of this kind"
    else:
        listed = ", ".join(names[:NAMED]) + (" and more" if len(names) > NAMED else "")
        more = f"{worst}; also found for {count(len(names), 'other feature')}: {listed}"
    return Note(worst.code, more, worst.feature, worst.value)


def _named(note: Note) -> str:
    """Return the feature of a note, with its number where that is in units of the prediction."""
    if note.code.traits.unit != "prediction" or note.value is None:
        return str(note.feature)
    return f"{note.feature} ({number(note.value)})"


def _extrapolates_little(note: Note) -> bool:
    """Return whether a note on extrapolation changes no reading."""
    return note.code is NoteCode.EXTRAPOLATION and note.value is not None and note.value < EXTRAPOLATES

"""Findings and verdict of an explanation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.samples import FEWEST_PARTS
from paribus._states.student import student_quantile
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.curve_parts import ROUNDING
from paribus.results.effects import Effects, compare
from paribus.results.group_comparison import GroupComparison
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import RATIO, RESIDUAL, Metric, Performance, residual_errors
from paribus.results.provenance import Provenance
from paribus.results.regions import Regions
from paribus.results.schema import Record, record
from paribus.results.shape import Monotonicity, Shape, lone_extremes

NOISE = 2.0  # standard errors: a larger movement is chance in less than one of twenty samples
ERRORS = 3.0  # standard errors of a cell or a bias, because the largest of many is reported
SINGLE = 1e-6  # of a range: models that predict in single precision move by less through rounding
VISIBLE = 0.1  # of a range, of the data or of a deviation: less does not change how a curve is read
DIFFERENT = 0.2  # of the range of a curve: ALE that differs by less leads to the same reading
NOTABLE = 0.01  # of the data, a variance or a level: less does not change a decision
MOSTLY = 0.5  # of a mean square: the larger part
MOST = 0.8  # and four fifths, where a part of it is expected anyway
CELL_ROWS = 30  # of fewer rows, the standard error is not known well enough
TIPS = 6  # tips of a verdict: readers skip longer lists
TURNS = ("U", "inverted U", "wavy")  # names of shapes that turn back
ROOT = "root mean squared error"
ALWAYS = (  # checks of every explanation
    NoteCode.MISSING_VALUES,
    NoteCode.NEARLY_CONSTANT,
    NoteCode.SINGLE_VALUE,
    NoteCode.NO_VALUE,
    NoteCode.INFINITE_VALUES,
    NoteCode.LONE_EXTREMES,
    NoteCode.RARE_CATEGORIES,
    NoteCode.OUTSIDE_GRID,
    NoteCode.EMPTY_CELLS,
    NoteCode.FEATURE_SKIPPED,
    NoteCode.THIN_SUPPORT,
    NoteCode.COLUMNS_IGNORED,
    NoteCode.UNKNOWN_CATEGORIES,
    NoteCode.NOT_FINITE,
    NoteCode.ROW_DEPENDENT,
    NoteCode.ALE_DIFFERS,
)
# Metrics that show whether a model predicts at all, and what predicts as well as one without skill.
SKILL = {
    "R²": "the average of these rows predicts them as well as the model does",
    "AUC": "the model ranks these rows no better than chance does",
}


def noise_of(provenance: Provenance) -> float:
    """Return the standard errors that a difference must exceed: more if few rows or units give them."""
    return max(NOISE, provenance.error_quantile())


def direction_notes(shapes: tuple[Shape, ...], noise: float = NOISE) -> Iterator[Note]:
    """Yield notes on curves that move against a declared or their prevailing direction.

    Without a declared one, these are all curves that turn back visibly, whatever their shape is called: a
    wave or a U has the largest movements.
    """
    several = len({shape.output for shape in shapes}) > 1
    ranges: dict[str, float] = {}
    for shape in shapes:
        ranges[shape.output] = max(shape.range, ranges.get(shape.output, 0.0))
    for shape in shapes:
        course = shape.monotonicity
        if course is None or course.violation <= SINGLE * shape.range or _within_noise(course, noise):
            continue
        values = {
            "feature": shape.feature,
            "output": shape.output if several else None,
            "size": course.violation,
            "share": course.violation / shape.range,
            "start": course.start,
            "stop": course.stop,
            "data": course.support,
        }
        if course.is_declared:
            yield NoteCode.DIRECTION_VIOLATED.note(direction=course.direction, **values)
        elif (
            shape.name in TURNS
            and values["share"] >= VISIBLE
            and course.violation >= NOTABLE * ranges[shape.output]
            and course.support >= NOTABLE
        ):
            moves = "falls" if course.direction == "rising" else "rises"
            yield NoteCode.DIRECTION_REVERSED.note(shape=shape.text, moves=moves, **values)


def _within_noise(course: Monotonicity, noise: float) -> bool:
    return bool(np.isfinite(course.standard_error) and course.violation <= noise * course.standard_error)


def support_notes(effects: Effects[PartialDependence]) -> Iterator[Note]:
    """Yield notes on curves that move most where hardly any data is."""
    for effect in effects.effects:
        if len(effect.feature_names) == 1 and effect.ordered[0] and effect.average is not None:
            share, data = _thin_movement(effect, effect.average)
            if share >= MOST:
                yield NoteCode.THIN_SUPPORT.note(feature=effect.feature_names[0], share=share, data=data)


def extreme_notes(effects: Effects[PartialDependence]) -> Iterator[Note]:
    """Yield notes on features with few rows far from all others, such as codes for missing values."""
    for effect in effects.effects:
        gap = lone_extremes(effect) if len(effect.feature_names) == 1 else None
        if gap is not None:
            values = effect.grid_values[0]
            yield NoteCode.LONE_EXTREMES.note(
                feature=effect.feature_names[0],
                data=gap.share,
                side="above" if gap.above else "below",
                last=values[gap.last],
                extreme=values[-1 if gap.above else 0],
            )


def _thin_movement(effect: PartialDependence, average: Floats) -> tuple[float, float]:
    """Return the share of the movement at the points with the least data, over all outputs, and that data."""
    total = effect.support.sum()
    if len(effect.support) < 3 or not total > 0 or not np.isfinite(average).all():
        return 0.0, 0.0
    shares = effect.support / total
    order = np.argsort(shares, kind="stable")
    thin = np.zeros(len(shares), dtype=bool)
    thin[order[np.cumsum(shares[order]) < VISIBLE]] = True
    moved = np.abs(np.diff(average, axis=1)).sum(axis=0)
    touched = thin[1:] | thin[:-1]
    moves = moved.sum() > ROUNDING * np.abs(average).max()
    share = float(moved[touched].sum() / moved.sum()) if moves else 0.0
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
        if share >= DIFFERENT and strength >= VISIBLE * max(strengths):
            differing = (note for note in one.notes if note.code is NoteCode.ALE_DIFFERS)
            yield from (note for note in differing if (note.value or 0.0) >= VISIBLE * unit)


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
    mostly = MOST if linked else MOSTLY
    known = dict(zip(importance.feature_names, _alone(importance), strict=True))
    for place, name in enumerate(interactions.feature_names):
        joint, own = float(together[place]), float(alone[place])
        share = joint / (joint + own) if joint + own > 0 else 0.0
        noise = noise_of(interactions.provenance) * float(np.nan_to_num(error[place]))
        if share < mostly or joint < max(NOTABLE * variance, noise):
            continue
        yield NoteCode.HIDDEN_INTERACTION.note(
            feature=name,
            share=share,
            joint=(np.sqrt(joint), float(error[place]) / (2 * np.sqrt(joint))),
            alone=known[name],
        )


def region_notes(regions: Regions) -> Iterator[Note]:
    """Yield the features whose effect differs between regions."""
    for name, one in regions.items():
        if one.splits:
            share, _ = one.explained
            texts = tuple(region.text for region in one.regions)
            yield NoteCode.REGIONS_FOUND.note(feature=name, share=share, count=len(texts), regions=texts)


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
            yield NoteCode.NO_EFFECT.note(feature=name, share=0.0)


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

    def values(self, o: int, g: int) -> dict[str, Any]:
        """Return the values of the note on a cell."""
        name, grid = self.part.feature_names[0], self.part.grid_values[0]
        outputs = self.part.output_names
        size = abs(float(self.residual[o, g]))
        return {
            "feature": name,
            "value": grid[g] if g < len(grid) else None,
            "missing": name if g == len(grid) else None,
            "data": float(self.share[g]),
            "observed": float(self.observed[o, g]),
            "predicted": float(self.predicted[o, g]),
            "output": outputs[o] if len(outputs) > 1 else None,
            "difference": (size, float(self.errors[o, g])),
            "size": size,
            "errors": float(self.ratio[o, g]),
        }


def cell_notes(averages: Effects[Marginal], deviation: Floats) -> Iterator[Note]:
    """Yield a note for each feature with a cell whose residual is larger than chance explains.

    ``deviation`` is that of the prediction, for each output. A single cell must be off by `ERRORS` standard
    errors; as the largest of k is looked for, by as many as have the same probability divided by k.
    """
    cells = _cells(averages)
    looked = sum(int(one.known.sum()) for one in cells)
    if not looked:
        return
    tail = 1 - NormalDist().cdf(ERRORS)
    # The errors of cells of units come from at least `FEWEST_PARTS` parts.
    dependent = averages.provenance.standard_error_units is not None
    freedom = FEWEST_PARTS - 1 if dependent else averages.provenance.error_freedom
    bound = float(student_quantile(1 - 2 * tail / looked, freedom))
    for one in cells:
        off = (one.ratio > bound) & (np.abs(one.residual) > VISIBLE * deviation[:, None])
        if off.any():
            o, g = (int(place) for place in np.unravel_index(np.argmax(one.ratio * off), off.shape))
            yield NoteCode.CELL_DIFFERS.note(**one.values(o, g), bound=bound, cells=looked)


def skill_notes(performance: Performance) -> Iterator[Note]:
    """Yield notes on metrics that are within noise of those of a constant, or worse."""
    for metric in performance.metrics:
        if metric.name in SKILL:
            error = metric.standard_error if np.isfinite(metric.standard_error) else 0.0
            if metric.value - metric.constant <= noise_of(performance.provenance) * error:
                yield NoteCode.NO_SKILL.note(
                    metric=metric.name,
                    output=_output_of(metric, performance),
                    estimate=(metric.value, metric.standard_error),
                    consequence=SKILL[metric.name],
                )


def _output_of(metric: Metric, performance: Performance) -> str | None:
    """Return which output a metric is of, None if there is a single one."""
    if metric.output is None or len({one.output for one in performance.metrics} - {None}) < 2:
        return None
    classes = any((one.name, one.output) == ("log loss", None) for one in performance.metrics)
    return f"class {metric.output}" if classes else metric.output


def bias_notes(performance: Performance) -> Iterator[Note]:
    """Yield a note for each output whose observed average differs from the predicted one.

    Of a target that has negative values, the mean residual is compared with the standard deviation of y.
    """
    by_output = {(metric.name, metric.output): metric for metric in performance.metrics}
    for (name, output), metric in by_output.items():
        if name == RATIO:
            ideal, least = 1.0, NOTABLE
        elif name == RESIDUAL and (RATIO, output) not in by_output:
            ideal, least = 0.0, NOTABLE * by_output[ROOT, output].constant
        else:
            continue
        off = abs(metric.value - ideal)
        error = metric.standard_error if np.isfinite(metric.standard_error) else 0.0
        if max(least, ERRORS * error) < off < np.inf:
            yield NoteCode.POOR_CALIBRATION.note(
                metric=name,
                output=_output_of(metric, performance),
                estimate=(metric.value, metric.standard_error),
                ideal=ideal,
                share=off,
            )


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


Outcome = Literal["found", "not found", "not applicable"]


@record
class Check(Record):
    """Outcome of one check.

    Attributes
    ----------
    code : NoteCode
        The kind of caveat.
    found : int
        Number of features, or of other things, that it was found of.
    reason : str
        Why the check does not apply to this explanation; empty if it was done.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> checks = paribus.explain(lambda X: X[:, 0], X).checks
    >>> [(check.code.name, check.found) for check in checks if check.outcome == "found"]
    [('NO_EFFECT', 1)]
    >>> next(check for check in checks if check.code.name == "NO_SKILL").reason
    'it needs y'
    """

    code: NoteCode
    found: int
    reason: str

    @property
    def outcome(self) -> Outcome:
        """Whether the check found something, found nothing, or does not apply."""
        return "not applicable" if self.reason else "found" if self.found else "not found"


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
        notes = [note for part in self.results for note in part.notes if not _extrapolates_little(note)]
        noise = noise_of(self.effects.provenance)
        notes += [
            *direction_notes(self.shapes, noise),
            *support_notes(self.effects),
            *extreme_notes(self.effects),
        ]
        notes += comparison_notes(self.effects, self.ale, self.unit)
        notes += strength_notes(self.effects, self.importance)
        if self.interactions is not None:
            notes += interaction_notes(self.interactions, self.importance)
        if self.regions is not None:
            notes += region_notes(self.regions)
        notes += cell_notes(self.averages, self._deviation())
        if self.performance is not None:
            notes += [*skill_notes(self.performance), *bias_notes(self.performance)]
        return notes

    def _deviation(self) -> Any:
        """Return the standard deviation of the prediction ``(o,)``; of one feature, that of its effect."""
        if self.interactions is not None:
            return np.sqrt(self.interactions.variance)
        strength = self.effects.effects[0].strength
        return np.full(len(self.effects.effects[0].output_names), strength)

    def reasons(self) -> dict[NoteCode, str]:
        """Return for each check why it does not apply, empty text if it does."""
        metrics = () if self.performance is None else self.performance.metrics
        names = {metric.name for metric in metrics}
        measured = "" if names else "it needs y"
        extrapolation = any(effect.extrapolation is not None for effect in self.effects.effects)
        courses = [shape.monotonicity for shape in self.shapes if shape.monotonicity is not None]
        known_cells = any(cells.known.any() for cells in _cells(self.averages))
        pairs = "" if self.interactions is not None else "interactions were not computed"
        groups = "" if self.by_group is not None else "it needs groups, by="
        return dict.fromkeys(ALWAYS, "") | {
            NoteCode.EXTRAPOLATION: "" if extrapolation else "it needs two features and 180 rows",
            NoteCode.DIRECTION_VIOLATED: ""
            if any(course.is_declared for course in courses)
            else "no direction is declared",
            NoteCode.DIRECTION_REVERSED: "" if courses else "no feature has an order",
            NoteCode.TARGET_AMONG_FEATURES: measured,
            NoteCode.CELL_DIFFERS: "" if known_cells else measured or f"no cell has {CELL_ROWS} rows",
            NoteCode.NO_SKILL: "" if names & {*SKILL} else measured or "it needs R² or AUC",
            NoteCode.POOR_CALIBRATION: "" if names & {RATIO, RESIDUAL} else measured or "it needs residuals",
            NoteCode.HIDDEN_INTERACTION: pairs,
            NoteCode.UNRELIABLE_H: pairs,
            NoteCode.CONSTANT_PREDICTION: pairs,
            NoteCode.NO_EFFECT: "" if self.importance.with_interactions is not None else pairs,
            NoteCode.REGIONS_FOUND: "" if self.regions is not None else "regions were not searched for",
            NoteCode.GROUPS_DIFFER: groups,
            NoteCode.GROUP_BIAS: groups or ("" if self.by_group and self.by_group.performance else measured),
        }


def _cells(averages: Effects[Marginal]) -> list[ResidualCells]:
    return [cells for cells in map(ResidualCells.of, averages.effects) if cells is not None]


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
    Calibration comes last, as nothing says whether the model was fitted to these rows. A verdict has all
    kinds of issues and the `TIPS` kinds of tips that matter most. Checks are sorted by code.
    """
    notes, sizes = distinct(parts.notes()), Sizes(parts.strengths, parts.unit)
    found, reasons = Counter(note.code for note in notes), parts.reasons()
    codes = sorted({*reasons, *found}, key=str)
    checks = tuple(Check(code, found[code], "" if found[code] else reasons.get(code, "")) for code in codes)
    kinds = [[note for note in notes if note.code is code] for code in codes]
    ranked = sorted((_grouped(same, sizes) for same in kinds if same), key=lambda note: -sizes.of(note))
    issues, tips = ([note for note in ranked if note.severity == kind] for kind in ("issue", "tip"))
    return Verdict(issues + tips[:TIPS]), checks


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
        if note.code.order == "last":
            return 0.0
        value = 1.0 if note.value is None else abs(note.value)
        if "size" in note.values:
            size = min(1.0, value / self.unit) if self.unit > 0 else 0.0
        else:
            size = self.strengths.get(note.feature or "", 1.0) * min(1.0, value)
        return size + (note.code.order == "first") if np.isfinite(size) else 1.0


def distinct(notes: Iterable[Note]) -> list[Note]:
    """Return one note of each kind for each feature, and for what is about none one of each sentence.

    The first is kept; of several in units of the prediction, as outputs have them, the largest.
    """
    kept: dict[tuple[NoteCode, str], Note] = {}
    for note in notes:
        key = note.code, note.text if note.feature is None else f"feature {note.feature}"
        before = kept.get(key)
        if before is None or ("size" in note.values and (note.value or 0) > (before.value or 0)):
            kept[key] = note
    return list(kept.values())


def _grouped(notes: list[Note], sizes: Sizes) -> Note:
    """Return one finding of notes of one kind."""
    worst, *others = sorted(notes, key=lambda note: -sizes.of(note))
    if not others:
        return worst
    names = tuple(note.feature for note in others if note.feature is not None)
    if len(names) < len(others):
        return worst.with_values(more=len(others))
    return worst.with_values(others=names)


def _extrapolates_little(note: Note) -> bool:
    """Return whether a note on extrapolation changes no reading."""
    return note.code is NoteCode.EXTRAPOLATION and note.value is not None and note.value < VISIBLE

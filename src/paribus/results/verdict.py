"""What stands first: the notes of all parts, worst first, and what was checked and found fine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._text import count, number
from paribus.errors import OptionError, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.effects import Effects
from paribus.results.findings import (
    CALIBRATION,
    SKILL,
    calibration_notes,
    cell_notes,
    comparison_notes,
    direction_notes,
    interaction_notes,
    skill_notes,
    strength_notes,
    support_notes,
)
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.local_effect import LocalEffects
from paribus.results.marginal import Marginals
from paribus.results.performance import Performance
from paribus.results.schema import Record, record
from paribus.results.shape import Shape

NAMED = 3  # other features that a finding lists by name
# Codes whose number is in units of the prediction; others are shares, or numbers of rows and files.
IN_UNITS = (
    NoteCode.ALE_DIFFERS,
    NoteCode.CELL_DIFFERS,
    NoteCode.DIRECTION_REVERSED,
    NoteCode.DIRECTION_VIOLATED,
    NoteCode.MODELS_DIFFER,
    NoteCode.RECURSION_DIFFERS,
)
# What stands first, whatever its number: a target among the features, a requirement that is not met, a model
# that predicts nothing.
FIRST = (NoteCode.TARGET_AMONG_FEATURES, NoteCode.DIRECTION_VIOLATED, NoteCode.NO_SKILL)
# What stands last: calibration, as rows may be those of the training; about pairs that hardly matter; about
# how one statistic is defined or which could not be computed.
MINOR = (
    NoteCode.POOR_CALIBRATION,
    NoteCode.SHRUNKEN_PREDICTIONS,
    NoteCode.WEAK_DENOMINATOR,
    NoteCode.H_ABOVE_ONE,
    NoteCode.H_UNDEFINED,
    NoteCode.CATEGORY_ORDER,
    NoteCode.PROBABILITY_SCALE,
    NoteCode.METRIC_LEFT_OUT,
    NoteCode.SHARED_RANKS,
)
EXTRAPOLATES = 0.1  # share of a curve: less changes no reading of it
# What every explanation looks for.
ALWAYS = (
    NoteCode.EXTRAPOLATION,
    NoteCode.MISSING_VALUES,
    NoteCode.NEARLY_CONSTANT,
    NoteCode.SINGLE_VALUE,
    NoteCode.NO_VALUE,
    NoteCode.INFINITE_VALUES,
    NoteCode.NARROW_RANGE,
    NoteCode.RARE_CATEGORIES,
    NoteCode.OUTSIDE_GRID,
    NoteCode.EMPTY_CELLS,
    NoteCode.FEATURE_SKIPPED,
    NoteCode.THIN_SUPPORT,
    NoteCode.COLUMNS_IGNORED,
    NoteCode.UNKNOWN_CATEGORIES,
    NoteCode.NOT_FINITE,
    NoteCode.ROW_DEPENDENT,
    NoteCode.CONSTANT_PREDICTION,
    NoteCode.ALE_DIFFERS,
    NoteCode.DIRECTION_REVERSED,
    NoteCode.NO_EFFECT,
    NoteCode.DOMINANT_FEATURE,
)
WITH_PAIRS = (NoteCode.HIDDEN_INTERACTION, NoteCode.WEAK_DENOMINATOR, NoteCode.H_ABOVE_ONE)


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
    muted : bool
        Whether they are left out of the verdict.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = paribus.explain(lambda X: X[:, 0], X, mute=["NO_EFFECT"])
    >>> [(check.code.name, check.found, check.muted) for check in found.checks if check.found]
    [('NO_EFFECT', 1, True)]
    """

    code: NoteCode
    found: int
    muted: bool


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of an explanation that a verdict is about."""

    effects: Effects
    local_effects: LocalEffects
    averages: Marginals
    importance: Importance
    interactions: HStatistics | None
    surfaces: Effects | None
    shapes: tuple[Shape, ...]
    performance: Performance | None

    @property
    def results(self) -> list[Any]:
        """Those that have notes, the one whose words are kept first."""
        named = (
            self.effects,
            self.local_effects,
            self.averages,
            self.importance,
            self.interactions,
            self.surfaces,
            self.performance,
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
        found += comparison_notes(self.effects, self.local_effects, self.unit)
        found += strength_notes(self.effects, self.importance)
        if self.interactions is not None:
            found += interaction_notes(self.interactions, self.importance)
        found += cell_notes(self.averages, self._deviation())
        if self.performance is not None:
            found += [*skill_notes(self.performance), *calibration_notes(self.performance)]
        return found

    def _deviation(self) -> Any:
        """Return the standard deviation of the prediction ``(o,)``; of one feature, that of its effect."""
        if self.interactions is not None:
            return np.sqrt(self.interactions.variance)
        strength = self.effects.effects[0].strength
        return np.full(len(self.effects.effects[0].output_names), strength)

    def looked_for(self) -> list[NoteCode]:
        """Return the kinds of caveats that these parts look for."""
        codes = [*ALWAYS, *(WITH_PAIRS if self.interactions is not None else ())]
        declared = [
            shape.monotonicity is not None and shape.monotonicity.is_declared for shape in self.shapes
        ]
        codes += [NoteCode.DIRECTION_VIOLATED] * any(declared)
        codes += [NoteCode.CELL_DIFFERS] * any(one.residual is not None for one in self.averages.effects)
        metrics = () if self.performance is None else self.performance.metrics
        codes += [NoteCode.NO_SKILL] * any(metric.name in SKILL for metric in metrics)
        if any(metric.name in CALIBRATION for metric in metrics):
            codes += [NoteCode.POOR_CALIBRATION, NoteCode.SHRUNKEN_PREDICTIONS]
        codes += [NoteCode.TARGET_AMONG_FEATURES] * bool(metrics)
        return codes


def notes_of(explanation: Any) -> list[Note]:
    """Return every note that the verdict of an explanation counts, without muted ones."""
    known = {name: getattr(explanation, name) for name in Parts.__dataclass_fields__}
    muted = {check.code for check in explanation.checks if check.muted}
    return [note for note in distinct(Parts(**known).notes()) if note.code not in muted]


def verdict_of(parts: Parts, mute: Any = ()) -> tuple[Verdict, tuple[Check, ...]]:
    """Return findings, worst first, and what was looked for.

    A caveat that several parts have of one feature is one finding, and so is one kind of caveat of several
    features: it has the words of the worst, and counts the others. Issues come before tips, first among them
    a target among the features, violations of declared directions and a model without skill. Others are in
    the order of their number: in units of the prediction, or a share times the strength of the feature.
    Calibration comes last, as nothing says whether the model was fitted to these rows.

    Parameters
    ----------
    parts : Parts
        What was computed.
    mute : sequence of str or NoteCode
        Kinds to leave out, by code (``"PAR101"``), name (``"EXTRAPOLATION"``) or all of a hundred
        (``"PAR1xx"``).

    Returns
    -------
    Verdict, tuple of Check
        Checks by code; those that were muted say so.
    """
    muted = muted_codes(mute)
    notes, sizes = distinct(parts.notes()), Sizes(parts.strengths, parts.unit)
    found = Counter(note.code for note in notes)
    codes = sorted({*parts.looked_for(), *found, *muted}, key=str)
    checks = tuple(Check(code, found[code], code in muted) for code in codes)
    kept = [note for note in notes if note.code not in muted]
    kinds = [[note for note in kept if note.code is code] for code in codes]
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
        if note.code in MINOR:
            return 0.0
        value = 1.0 if note.value is None else abs(note.value)
        if note.code in IN_UNITS:
            size = min(1.0, value / self.unit) if self.unit > 0 else 0.0
        else:
            size = self.strengths.get(note.feature or "", 1.0) * min(1.0, value)
        return size + (note.code in FIRST) if np.isfinite(size) else 1.0


def distinct(notes: Iterable[Note]) -> list[Note]:
    """Return one note of each kind for each feature, and for what is about none one of each sentence.

    The first is kept; of several in units of the prediction, as outputs have them, the largest.
    """
    kept: dict[tuple[NoteCode, str], Note] = {}
    for note in notes:
        key = note.code, note.text if note.feature is None else f"feature {note.feature}"
        before = kept.get(key)
        if before is None or (note.code in IN_UNITS and (note.value or 0) > (before.value or 0)):
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
        more = f"{worst}; likewise {count(len(names), 'other feature')}: {listed}"
    return Note(worst.code, more, worst.feature, worst.value)


def _named(note: Note) -> str:
    """Return the feature of a note, with its number where that is in units of the prediction."""
    if note.code not in IN_UNITS or note.value is None:
        return str(note.feature)
    return f"{note.feature} ({number(note.value)})"


def _extrapolates_little(note: Note) -> bool:
    return note.code is NoteCode.EXTRAPOLATION and note.value is not None and note.value < EXTRAPOLATES


def muted_codes(mute: Any) -> frozenset[NoteCode]:
    """Return the kinds that are muted; refuse what names none."""
    given = [mute] if isinstance(mute, str) else mute
    if not isinstance(given, Iterable):
        raise OptionError(f"mute={mute!r} must be a list of codes, such as ['PAR101', 'EXTRAPOLATION']")
    found: set[NoteCode] = set()
    for one in given:
        word = str(one.value if isinstance(one, NoteCode) else one).strip()
        upper = word.upper()
        named = {code for code in NoteCode if upper in (code.value, code.name, f"{code.value[:4]}XX")}
        if not named:
            known = [*(code.name for code in NoteCode), *(code.value for code in NoteCode)]
            raise OptionError(f"mute has {word!r}, which is no code of a note{did_you_mean(upper, known)}")
        found |= named
    return frozenset(found)

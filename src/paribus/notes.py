"""Notes: caveats of a result with a stable code, a severity, and the values that their text is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, Self

import numpy as np

from paribus._text import at_value, brief, count, measured, share_text
from paribus._typing import Severity
from paribus.meaning import TaggedText

__all__ = ["Note", "NoteCode"]

Order = Literal["first", "by size", "last"]
FIRST: Order = "first"
LAST: Order = "last"
LISTED = 3  # of the names in a note; its values have all
OPTIONAL = re.compile("<([^<>]*)>")  # part of a template that is left out if one of its values is absent
PLACE = re.compile(r"\{(\w+)(?::([^}]+))?\}")  # of a value, with its format


class NoteCode(StrEnum):
    """Kinds of notes, grouped by topic: the data, the rows, the model, the estimand, the errors.

    A code and its name never change their meaning. An *issue* would change a decision: whether to use the
    model, or how to read one of its curves. A *tip* explains the numbers, or how to learn more.

    Attributes
    ----------
    severity : {"issue", "tip"}
        Whether such a note would change a decision, or explains the numbers.
    meaning : str
        The statement of such a note, for any feature and data.
    template : str
        Text with the names of values in braces, and with optional parts in angle brackets.
    order : {"first", "by size", "last"}
        Place in a verdict: first whatever its number, last, or by its number in between.
    """

    severity: Severity
    meaning: str
    template: str
    order: Order

    def __new__(
        cls, code: str, severity: Severity, meaning: str, template: str, order: Order = "by size"
    ) -> NoteCode:
        """Make a member of its code."""
        member = str.__new__(cls, code)
        member._value_, member.severity, member.meaning = code, severity, meaning
        member.template, member.order = template, order
        return member

    def note(self, **values: Any) -> Note:
        """Return a note of this kind with its values."""
        return Note(self, values)

    EXTRAPOLATION = (
        "PAR101",
        "issue",
        "part of a curve combines values that do not occur together",
        "{share:%} of this {what} combines values of {feature} and {partner} that do not occur together "
        "({measure} {association}); compare accumulated_local_effects",
    )
    MISSING_VALUES = (
        "PAR102",
        "tip",
        "a feature is missing in part of the data",
        "{feature} is missing in {share:%} of the data{treatment}",
    )
    NEARLY_CONSTANT = (
        "PAR103",
        "tip",
        "a feature has the same value in nearly all rows",
        "{feature} is {value:at} in {share:%} of the data",
    )
    SINGLE_VALUE = (
        "PAR104",
        "tip",
        "a feature has a single value, and no effect to show",
        "{feature} has a single value<{place}>, so it has no effect to show",
    )
    NO_VALUE = (
        "PAR105",
        "issue",
        "a feature has no finite value to evaluate",
        "{feature} has no finite value for a grid",
    )
    INFINITE_VALUES = (
        "PAR106",
        "issue",
        "a feature is infinite in part of the data",
        "{feature} is infinite in {share:%} of the data, which quantiles ignore",
    )
    LONE_EXTREMES = (
        "PAR107",
        "tip",
        "few rows have values far from all others",
        "{data:%} of the data has {feature} {side} {last:at}, as far as {extreme:at}; check "
        "whether that is a code for a missing value",
    )
    RARE_CATEGORIES = (
        "PAR108",
        "tip",
        "rare categories are left out, or combined into one group",
        "{feature} has {categories} values; the {kept} most frequent are used, and the others, "
        "{share:%} of the data, are {treatment}",
    )
    TIME_ZONE = (
        "PAR109",
        "tip",
        "dates are reported in UTC",
        "{feature} is reported in UTC; its time zone is {zone}",
    )
    OUTSIDE_GRID = (
        "PAR110",
        "tip",
        "part of the data lies beyond the grid and is ignored",
        "{share:%} of the data lies outside the grid of {feature}, and its local effects ignore it",
    )
    EMPTY_CELLS = (
        "PAR111",
        "issue",
        "cells without rows were filled from their neighbors",
        "{empty} of {cells} cells are empty{treatment}",
    )
    CATEGORY_ORDER = (
        "PAR112",
        "tip",
        "categories were put in an order, on which ALE depends",
        "the categories of {feature} have no order; ALE arranged them {order}: {categories}; "
        "partial dependence does not depend on that",
        LAST,
    )
    FEATURE_SKIPPED = ("PAR113", "issue", "a feature was left out", "{reason}")
    THIN_SUPPORT = (
        "PAR114",
        "tip",
        "most of the movement of a curve lies where data is sparse",
        "{share:%} of the movement of the curve of {feature} is at values with only {data:%} of the data",
    )
    QUANTILES_ESTIMATED = (
        "PAR115",
        "tip",
        "grids or bins are based on estimated quantiles",
        "the {what} of {features} are based on estimated quantiles, whose ranks are off by at "
        "most {share:%} of the data; to have the same as in memory, pass custom_values to a "
        "single statistic<, or {remedy}>",
    )
    TARGET_AMONG_FEATURES = (
        "PAR118",
        "issue",
        "a single feature predicts the target, or one of its classes, nearly perfectly",
        "{feature} alone predicts {target}: averages of y near its values explain {share:%} of the "
        "variance that such averages can<, over {data:%} of the data>; check that {feature} is known "
        "before the target is",
        FIRST,
    )
    SMALL_GROUP = (
        "PAR120",
        "issue",
        "a group has no sampled row, or too few for reliable standard errors",
        "{by} = {group} has {rows:row}<{place}>, and therefore {consequence}",
    )
    ONE_HOT_COLUMNS = (
        "PAR121",
        "tip",
        "columns look like a one-hot encoding of one feature",
        "{columns:column} look like a one-hot encoding of {prefix}, and each curve varies one of "
        "them alone; pass {remedy} among the features to set them together",
        LAST,
    )
    REPEATED_UNITS = (
        "PAR122",
        "tip",
        "a column looks like an identifier of units that have several rows",
        "{feature} looks like an identifier of units, with {rows} rows each on average: rows of a unit may "
        "depend on each other; pass units={remedy} for standard errors that allow for it",
        LAST,
    )
    FILES_SKIPPED = (
        "PAR201",
        "issue",
        "files could not be read and were skipped",
        "skipped {count:file}: {files}",
    )
    COLUMNS_IGNORED = (
        "PAR202",
        "tip",
        "columns of X that the model was not fitted on were ignored",
        "ignored {count:column} of X that the model was not fitted on: {columns}",
    )
    UNKNOWN_CATEGORIES = (
        "PAR203",
        "issue",
        "X has categories that the model does not know",
        "X has categories that the model does not know and treats as missing: {categories}",
    )
    ROWS_SAMPLED = (
        "PAR204",
        "tip",
        "the statistics were computed on a sample of the rows",
        "{what} used {rows:row}< of {total}>; {consequence}",
    )
    PAIRS_CHOSEN = (
        "PAR208",
        "tip",
        "only pairs of the features that interact most were evaluated",
        "{pairs} of {total:pair} were evaluated: those of the {features} features that interact "
        "most with all others together; paribus.h_statistic evaluates all",
    )
    NOT_FINITE = ("PAR301", "issue", "predictions, or statistics of them, are not finite", "{reason}")
    ROW_DEPENDENT = (
        "PAR302",
        "issue",
        "the model predicts the same rows differently",
        "{model} predicted some rows differently when they were repeated, or together with rows "
        "of extreme values{consequence}",
    )
    CONSTANT_PREDICTION = (
        "PAR303",
        "issue",
        "the prediction does not vary over the rows",
        "the prediction does not vary over these rows: there is nothing to explain",
    )
    SINGLE_ROW = (
        "PAR304",
        "issue",
        "a single row does not determine effects",
        "a single row has neither effects nor standard errors",
    )
    PROBABILITY_SCALE = (
        "PAR306",
        "tip",
        "a model that is additive on the margin scale interacts on the probability scale",
        "{about}; response_method='decision_function' explains the margin<, {exact}>",
        LAST,
    )
    CELL_DIFFERS = (
        "PAR309",
        "issue",
        "near a value, the observed average differs from the predicted one",
        "<near {feature} = {value:at}><where {missing} is missing>, with {data:%} of the data, "
        "the observed average is {observed} and the predicted one {predicted}< ({output})>, a "
        "difference of {difference:±}; it is {errors} standard errors, and up to {bound} may be "
        "chance among {cells:cell}",
    )
    POOR_CALIBRATION = (
        "PAR310",
        "issue",
        "poor calibration: the observed average differs from the predicted one",
        "the {metric}< of {output}> is {estimate:±}, not {ideal}",
        LAST,
    )
    NO_SKILL = (
        "PAR311",
        "issue",
        "the model predicts these rows no better than a constant does",
        "{metric}< of {output}> is {estimate:±}: {consequence}",
        FIRST,
    )
    AMPLIFIED_ROUNDING = (
        "PAR313",
        "tip",
        "calibration steps amplify the rounding of margins in single precision",
        "the calibration of {model} has steps, and its margins have single precision: where these"
        " are added up in another order, a prediction may differ by up to {size}",
    )
    GROUP_BIAS = (
        "PAR314",
        "issue",
        "in a group of rows, the observed average differs from the predicted one",
        "in the group {by} = {group}, the observed average< of {output}> differs from the predicted one by "
        "{difference:±}, {errors} standard errors",
        LAST,
    )
    TRAINING_PATHS = (
        "PAR401",
        "issue",
        "averaged along the paths of the training data, not over X",
        "averaged along the paths of the training data, not over X: for dependent features this "
        "differs from brute force",
    )
    ALE_DIFFERS = (
        "PAR404",
        "issue",
        "ALE differs from partial dependence, because of dependent features or interactions",
        "ALE of {feature} differs from PD by up to {size}, {share:%} of the range< of {output}>, "
        "at {value:at}; features that depend on each other, or interactions, can cause this",
    )
    UNRELIABLE_H = (
        "PAR407",
        "tip",
        "H² is noise, above 1 or not defined, because the joint effect is small",
        "{groups} {reason}",
        LAST,
    )
    DIRECTION_VIOLATED = (
        "PAR410",
        "issue",
        "a curve moves against the direction that was declared",
        "{feature} is declared {direction}, but its curve< for {output}> moves against it by "
        "{size}, {share:%} of its range, from {start:at} to {stop:at}, where {data:%} of the data"
        " lies",
        FIRST,
    )
    DIRECTION_REVERSED = (
        "PAR411",
        "tip",
        "a curve reverses its prevailing direction",
        "{feature}< for {output}>: {shape}; the curve {moves} by {size}, {share:%} of its range, "
        "from {start:at} to {stop:at}, where {data:%} of the data lies",
    )
    HIDDEN_INTERACTION = (
        "PAR412",
        "issue",
        "a feature acts mostly through interactions, which its curve averages out",
        "{feature} acts mostly in interactions with other features (strength {joint:±}; alone "
        "{alone:±}), which its curve averages out; see the surfaces of its strongest pairs",
    )
    NO_EFFECT = (
        "PAR413",
        "tip",
        "the prediction does not depend on a feature",
        "the prediction does not depend on {feature}",
    )
    GROUPS_DIFFER = (
        "PAR415",
        "tip",
        "an effect differs between groups of rows by more than chance",
        "the effect of {feature}< on {output}> differs between {by} = {group} and {reference}: by"
        " {difference:±} at {value:at}, apart from their levels",
    )
    REGIONS_FOUND = (
        "PAR417",
        "tip",
        "an effect differs between regions of the data",
        "the effect of {feature} differs between {count:region} of the data: {regions}",
    )
    ERROR_BASIS = (
        "PAR504",
        "tip",
        "basis of standard errors, and of curves between grid values",
        "{reason}<; {grids}>",
    )
    METRIC_LEFT_OUT = (
        "PAR601",
        "tip",
        "a performance metric is not defined here and was left out",
        "left out {metrics}< of {outputs}>: {reason}",
        LAST,
    )


class Note(TaggedText):
    """One caveat of a result; as text, a plain sentence that is made from its values.

    Attributes
    ----------
    code : NoteCode
        The kind of caveat, such as ``"PAR101"``, whose ``code.name`` is ``"EXTRAPOLATION"``.
    values : mapping of str
        The values of the sentence by name: features, numbers in full precision, and words.
    severity : {"issue", "tip"}
        Whether it would change a decision, or explains the numbers.
    text : str
        The sentence.
    feature : str or None
        The feature it is about, if that is one.
    value : float or None
        The number it is about: a size in units of the prediction, or else a share.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [np.nan, 3.0], [1.0, 1.0]])
    >>> (note,) = paribus.partial_dependence(lambda X: np.nan_to_num(X[:, 0]), X, 0).notes
    >>> note
    'x0 is missing in 33.3% of the data; the effect at missing is reported separately'
    >>> note.code.value, note.code.name, note.severity, note.feature, round(note.values["share"], 2)
    ('PAR102', 'MISSING_VALUES', 'tip', 'x0', 0.33)
    """

    code: NoteCode
    values: Mapping[str, Any]

    def __new__(cls, code: NoteCode, values: Mapping[str, Any]) -> Self:
        """Write the sentence from the values that are not None."""
        known = {name: _plain(value) for name, value in values.items() if value is not None}
        whole = f"<{{of}}: >{code.template}<; also for {{others}}><; and {{more}} more of this kind>"
        parts = OPTIONAL.sub(lambda part: part[1] * _complete(part[1], known), whole)
        text = PLACE.sub(lambda place: _formatted(known[place[1]], place[2]), parts)
        return super().__new__(cls, text, code=code, values=known)

    @property
    def severity(self) -> Severity:
        """Whether it would change a decision, or explains the numbers."""
        return self.code.severity

    @property
    def text(self) -> str:
        """The sentence."""
        return str(self)

    @property
    def feature(self) -> str | None:
        """The feature it is about, if that is one."""
        return self.values.get("feature")

    @property
    def value(self) -> float | None:
        """The number it is about: a size in units of the prediction, or else a share."""
        number = self.values.get("size", self.values.get("share"))
        return None if number is None else float(number)

    def with_values(self, **values: Any) -> Note:
        """Return the note with further values: ``of``, ``others`` or ``more``."""
        return Note(self.code, {**self.values, **values})


def _plain(value: Any) -> Any:
    """Return a value as a file can hold it: NumPy numbers as numbers, dates as text."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return at_value(value)
    return value.item() if isinstance(value, np.generic) else value


def _complete(part: str, values: Mapping[str, Any]) -> bool:
    """Return whether all values of a part of a template are known."""
    return all(place[1] in values for place in PLACE.finditer(part))


def _formatted(value: Any, form: str | None) -> str:
    """Return a value as text: a share, a number with its error, a grid value, a count, or by its type."""
    if form == "%":
        return share_text(value)
    if form == "±":
        return measured(*value)
    if form == "at":
        return at_value(value)
    if form is not None:
        return count(value, form)
    if isinstance(value, tuple):
        more = f" and {len(value) - LISTED:,} more" if len(value) > LISTED else ""
        return ", ".join(map(str, value[:LISTED])) + more
    if isinstance(value, int):
        return f"{value:,}"
    return brief(value) if isinstance(value, float) else str(value)

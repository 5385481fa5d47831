"""Notes: caveats of a result with a stable code, a severity, a feature and a number."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple, Self

from paribus._typing import Severity
from paribus.meaning import TaggedText

__all__ = ["Note", "NoteCode", "Traits"]


class Traits(NamedTuple):
    """Treatment of notes of one code in an explanation.

    Attributes
    ----------
    order : {"first", "by size", "last"}
        Place in a verdict: first whatever its number, last, or by its number in between.
    unit : {"prediction", "share"}
        Unit of its number: that of the prediction, or a share, or a count of rows or files.
    checked : {"always", "with pairs", "if possible"}
        Whether every explanation looks for it, those with interactions, or only some.
    """

    order: Literal["first", "by size", "last"] = "by size"
    unit: Literal["prediction", "share"] = "share"
    checked: Literal["always", "with pairs", "if possible"] = "if possible"


DEFAULT = Traits()
ALWAYS, WITH_PAIRS = Traits(checked="always"), Traits(checked="with pairs")
FIRST, LAST, IN_UNITS = Traits(order="first"), Traits(order="last"), Traits(unit="prediction")
FIRST_IN_UNITS = Traits(order="first", unit="prediction")
ALWAYS_IN_UNITS = Traits(unit="prediction", checked="always")
LAST_WITH_PAIRS = Traits(order="last", checked="with pairs")


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
    traits : Traits
        Its place in a verdict, the unit of its number, and which explanations look for it.
    """

    severity: Severity
    meaning: str
    traits: Traits

    def __new__(cls, code: str, severity: Severity, meaning: str, traits: Traits = DEFAULT) -> NoteCode:
        """Make a member of its code."""
        member = str.__new__(cls, code)
        member._value_, member.severity, member.meaning, member.traits = code, severity, meaning, traits
        return member

    EXTRAPOLATION = "PAR101", "issue", "part of a curve combines values that do not occur together"
    MISSING_VALUES = "PAR102", "tip", "a feature is missing in part of the data", ALWAYS
    NEARLY_CONSTANT = "PAR103", "tip", "a feature has the same value in nearly all rows", ALWAYS
    SINGLE_VALUE = "PAR104", "tip", "a feature has a single value, and no effect to show", ALWAYS
    NO_VALUE = "PAR105", "issue", "a feature has no finite value to evaluate", ALWAYS
    INFINITE_VALUES = "PAR106", "issue", "a feature is infinite in part of the data", ALWAYS
    NARROW_RANGE = "PAR107", "tip", "the axis covers the whole range, as the percentiles coincide", ALWAYS
    RARE_CATEGORIES = "PAR108", "tip", "only the most frequent categories are evaluated", ALWAYS
    TIME_ZONE = "PAR109", "tip", "dates are reported in UTC"
    OUTSIDE_GRID = "PAR110", "tip", "part of the data lies beyond the grid and is ignored", ALWAYS
    EMPTY_CELLS = "PAR111", "issue", "cells without rows were filled from their neighbors", ALWAYS
    CATEGORY_ORDER = "PAR112", "tip", "categories were put in an order, on which ALE depends", LAST
    FEATURE_SKIPPED = "PAR113", "issue", "a feature was left out", ALWAYS
    THIN_SUPPORT = "PAR114", "tip", "most of the movement of a curve lies where data is sparse", ALWAYS
    QUANTILES_ESTIMATED = "PAR115", "tip", "grids or bins are based on estimated quantiles"
    TARGET_AMONG_FEATURES = (
        "PAR118",
        "issue",
        "a single feature predicts the target, or one of its classes, nearly perfectly",
        FIRST,
    )
    GROUPS_JOINED = "PAR119", "tip", "rare categories of a grouping column were combined into one group"
    SMALL_GROUP = "PAR120", "issue", "a group has no sampled row, or too few for reliable standard errors"
    ONE_HOT_COLUMNS = "PAR121", "tip", "columns look like a one-hot encoding of one feature", LAST
    FILES_SKIPPED = "PAR201", "issue", "files could not be read and were skipped"
    COLUMNS_IGNORED = "PAR202", "tip", "columns of X that the model was not fitted on were ignored", ALWAYS
    UNKNOWN_CATEGORIES = "PAR203", "issue", "X has categories that the model does not know", ALWAYS
    ROWS_SAMPLED = "PAR204", "tip", "the statistics were computed on a sample of the rows"
    PAIRS_CHOSEN = "PAR208", "tip", "only pairs of the features that interact most were evaluated"
    NOT_FINITE = "PAR301", "issue", "predictions, or statistics of them, are not finite", ALWAYS
    ROW_DEPENDENT = "PAR302", "issue", "the model predicts the same rows differently", ALWAYS
    CONSTANT_PREDICTION = "PAR303", "issue", "the prediction does not vary over the rows", ALWAYS
    SINGLE_ROW = "PAR304", "issue", "a single row does not determine effects"
    PROBABILITY_SCALE = (
        "PAR306",
        "tip",
        "a model that is additive on the margin scale interacts on the probability scale",
        LAST,
    )
    CELL_DIFFERS = (
        "PAR309",
        "issue",
        "near a value, the observed average differs from the predicted one",
        IN_UNITS,
    )
    POOR_CALIBRATION = (
        "PAR310",
        "issue",
        "poor calibration: the observed average differs from the predicted one",
        LAST,
    )
    NO_SKILL = "PAR311", "issue", "the model predicts these rows no better than a constant does", FIRST
    AMPLIFIED_ROUNDING = (
        "PAR313",
        "tip",
        "calibration steps amplify the rounding of margins in single precision",
    )
    GROUP_BIAS = (
        "PAR314",
        "issue",
        "in a group of rows, the observed average differs from the predicted one",
        LAST,
    )
    TRAINING_PATHS = "PAR401", "issue", "averaged along the paths of the training data, not over X"
    ALE_DIFFERS = (
        "PAR404",
        "issue",
        "ALE differs from partial dependence, because of dependent features or interactions",
        ALWAYS_IN_UNITS,
    )
    WEAK_DENOMINATOR = (
        "PAR407",
        "tip",
        "the joint effect is so small that H² is mostly noise",
        LAST_WITH_PAIRS,
    )
    H_ABOVE_ONE = (
        "PAR408",
        "tip",
        "H² is above 1, as the effects of the features cancel in the joint one",
        LAST_WITH_PAIRS,
    )
    H_UNDEFINED = "PAR409", "tip", "H² is not defined, as the joint effect vanishes", LAST
    DIRECTION_VIOLATED = (
        "PAR410",
        "issue",
        "a curve moves against the direction that was declared",
        FIRST_IN_UNITS,
    )
    DIRECTION_REVERSED = (
        "PAR411",
        "tip",
        "a curve reverses its prevailing direction",
        ALWAYS_IN_UNITS,
    )
    HIDDEN_INTERACTION = (
        "PAR412",
        "issue",
        "a feature acts mostly through interactions, which its curve averages out",
        WITH_PAIRS,
    )
    NO_EFFECT = "PAR413", "tip", "the prediction does not depend on a feature", ALWAYS
    GROUPS_DIFFER = "PAR415", "tip", "an effect differs between groups of rows by more than chance", IN_UNITS
    CURVES_INCOMPLETE = (
        "PAR416",
        "tip",
        "the curves alone reproduce less than 90 % of the variance of the prediction",
        WITH_PAIRS,
    )
    REGIONS_FOUND = "PAR417", "tip", "an effect differs between regions of the data"
    NO_STANDARD_ERROR = "PAR502", "tip", "there is no standard error without individual curves"
    ERROR_BASIS = "PAR504", "tip", "basis of the standard error of a difference"
    INTERPOLATED = "PAR505", "tip", "curves were compared between the values of their grids"
    METRIC_LEFT_OUT = "PAR601", "tip", "a performance metric is not defined here and was left out", LAST


class Note(TaggedText):
    """One caveat of a result; as text, a plain sentence.

    Attributes
    ----------
    code : NoteCode
        The kind of caveat, such as ``"PAR101"``, whose ``code.name`` is ``"EXTRAPOLATION"``.
    severity : {"issue", "tip"}
        Whether it would change a decision, or explains the numbers.
    text : str
        The sentence.
    feature : str or None
        The feature it is about, if that is one.
    value : float or None
        The number it is about, such as a share of the data.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [np.nan, 3.0], [1.0, 1.0]])
    >>> (note,) = paribus.partial_dependence(lambda X: np.nan_to_num(X[:, 0]), X, 0).notes
    >>> note
    'x0 is missing in 33.3% of the data; the effect at missing is reported separately'
    >>> note.code.value, note.code.name, note.severity, note.feature, round(note.value, 2)
    ('PAR102', 'MISSING_VALUES', 'tip', 'x0', 0.33)
    """

    code: NoteCode
    text: str
    feature: str | None
    value: float | None

    def __new__(
        cls, code: NoteCode, text: str, feature: str | None = None, value: float | None = None
    ) -> Self:
        """Keep the sentence as text."""
        number = None if value is None else float(value)
        return super().__new__(cls, text, code=code, text=str(text), feature=feature, value=number)

    @property
    def severity(self) -> Severity:
        """Whether it would change a decision, or explains the numbers."""
        return self.code.severity

    def of(self, which: str) -> Note:
        """Return the note about one of several, named before the sentence."""
        return Note(self.code, f"{which}: {self.text}", self.feature, self.value)

"""What a model does with each feature, a row each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import NOMINAL, Floats
from paribus._states.sums import ignore_fp_errors
from paribus._text import at_value, brief, percent, plain_value
from paribus._typing import FrameBackend
from paribus.errors import did_you_mean
from paribus.results.text_table import fitted, table_lines
from paribus.results.tidy import native
from paribus.results.verdict import notes_of

if TYPE_CHECKING:
    from paribus.results.explanation import Explanation
    from paribus.results.partial_dependence import PartialDependence

BLOCKS = "▁▂▃▄▅▆▇█"
POINTS = 8  # characters of a sparkline
WIDEST = 28  # characters of a value, or of a second name, in text


@dataclass(frozen=True)
class FeatureRow:
    """What is known of one feature, over all outputs.

    Attributes
    ----------
    feature : str
        Its name.
    strength, standard_error : float
        Standard deviation of the partial dependence over the data, in units of the prediction, and its
        sampling error; over several outputs the root mean square.
    importance : float
        Root mean square change of the prediction when the feature is averaged out, interactions included.
    shape : str or None
        In words, of the output with the widest curve, as `Shape.text`.
    partner : str or None
        The feature that it interacts with most.
    partner_strength, partner_h_squared : float
        Strength of that interaction in units of the prediction, and its H².
    lowest, highest : value
        Ends of the values in the data that are not missing; None for categories.
    categories : int or None
        Number of categories on the grid; None for numbers and dates.
    inside : float
        Share of the weight of the data around the points of the curve.
    missing : float
        Share of the weight of the data that is missing.
    notes : int
        Number of notes about the feature.
    sparkline : str
        The curve in eight characters.
    """

    feature: str
    strength: float
    standard_error: float
    importance: float
    shape: str | None
    partner: str | None
    partner_strength: float
    partner_h_squared: float
    lowest: Any
    highest: Any
    categories: int | None
    inside: float
    missing: float
    notes: int
    sparkline: str

    @property
    def support(self) -> str:
        """The values that the data has, in words."""
        if self.categories is not None:
            return f"{self.categories:,} categor{'y' if self.categories == 1 else 'ies'}"
        if self.lowest is None:
            return "no values"
        lowest, highest = (fitted(at_value(end), WIDEST) for end in (self.lowest, self.highest))
        return f"{lowest} to {highest}" if lowest != highest else f"only {lowest}"


@dataclass(frozen=True)
class FeatureTable(Sequence[FeatureRow]):
    """A row for each feature of an `Explanation`, strongest first.

    The table of `to_frame` has the attributes of `FeatureRow` as columns; values are text where features
    differ in kind.
    """

    rows: tuple[FeatureRow, ...]
    backend: str

    @classmethod
    @ignore_fp_errors()
    def of(cls, explanation: Explanation) -> FeatureTable:
        """Gather what the parts of an explanation say of each feature."""
        notes = Counter(note.feature for note in notes_of(explanation))
        rows = tuple(_row(explanation, effect, notes) for effect in explanation.effects.effects)
        return cls(rows, explanation.provenance.backend)

    def __getitem__(self, position: Any) -> Any:
        """Return a row by position, or by the name of its feature."""
        if isinstance(position, str):
            known = {row.feature: row for row in self.rows}
            if position not in known:
                raise KeyError(f"no row of {position!r}{did_you_mean(position, known)}")
            return known[position]
        return self.rows[position]

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return the table in the library of the user's own table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        columns: dict[str, Any] = {}
        for one in fields(FeatureRow):
            values = [getattr(row, one.name) for row in self.rows]
            places = one.name in ("lowest", "highest")
            columns[one.name] = [None if v is None else plain_value(v) for v in values] if places else values
        return native(columns, self.backend, backend)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns for readers."""
        return {
            "feature": [row.feature for row in self.rows],
            "strength": [row.strength for row in self.rows],
            "standard_error": [row.standard_error for row in self.rows],
            "shape": [row.shape or "" for row in self.rows],
            "strongest interaction": [_partner_text(row) for row in self.rows],
            "values": [row.support for row in self.rows],
            "missing": [percent(row.missing) if row.missing else "0 %" for row in self.rows],
            "curve": [row.sparkline for row in self.rows],
        }

    def __repr__(self) -> str:
        return "\n".join(table_lines(self.columns(), len(self.rows)))


def _partner_text(row: FeatureRow) -> str:
    if row.partner is None:
        return "none"
    return f"{fitted(row.partner, WIDEST)} ({brief(row.partner_strength)})"


def _row(explanation: Explanation, effect: PartialDependence, notes: Counter[str | None]) -> FeatureRow:
    name = effect.feature_names[0]
    shape = explanation.shapes.widest(name)
    strength, error, importance = _importance(explanation, name)
    average = explanation.averages.get(name)
    share = 0.0 if effect.missing is None else effect.missing.share
    nominal = effect.kinds[0] in NOMINAL
    ends = None if nominal else _ends(effect)
    partner, size, h_squared = _partner(explanation, name)
    return FeatureRow(
        feature=name,
        strength=strength,
        standard_error=error,
        importance=importance,
        shape=None if shape is None else shape.text,
        partner=partner,
        partner_strength=size,
        partner_h_squared=h_squared,
        lowest=None if ends is None else ends[0],
        highest=None if ends is None else ends[1],
        categories=len(effect.grid_values[0]) if nominal else None,
        inside=math.nan if average is None else 1.0 - average.outside - share,
        missing=share,
        notes=notes[name],
        sparkline=sparkline(_widest_curve(effect)),
    )


def _ends(effect: PartialDependence) -> tuple[Any, Any] | None:
    """Return the lowest and the highest value of the data, or of the grid where deciles are not known."""
    deciles = None if effect.deciles is None else effect.deciles[0]
    values = effect.grid_values[0] if deciles is None or not len(deciles) else deciles
    return (values[0], values[-1]) if len(values) else None


def _importance(explanation: Explanation, name: str) -> tuple[float, float, float]:
    """Return strength, its error and the importance with interactions of a feature, over all outputs."""
    found = explanation.importance
    if name not in found.feature_names:
        return math.nan, math.nan, math.nan
    position = found.feature_names.index(name)
    strength, error = (np.atleast_1d(array[position]) for array in (found.values, found.standard_error))
    whole = strength if found.with_interactions is None else np.atleast_1d(found.with_interactions[position])
    size = _root_mean_square(strength)
    # As if the errors of outputs went together, which is the most they can add up to.
    together = float(np.mean(strength * error)) / size if size > 0 else float(np.max(error))
    return size, together, _root_mean_square(whole)


def _root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _partner(explanation: Explanation, name: str) -> tuple[str | None, float, float]:
    """Return the feature that one interacts with most, the strength of that, and its H²."""
    found = explanation.interactions
    if found is None or name not in found.feature_names:
        return None, math.nan, math.nan
    position = found.feature_names.index(name)
    having = [number for number, pair in enumerate(found.pairs) if position in pair]
    if not having:  # a weaker feature, whose pairs were not evaluated
        return None, math.nan, math.nan
    strengths = [_root_mean_square(found.pairwise.strength[number]) for number in having]
    best = int(np.argmax(np.nan_to_num(strengths)))
    if not strengths[best] > 0:
        return None, 0.0, 0.0
    pair = found.pairs[having[best]]
    other = pair[1] if pair[0] == position else pair[0]
    share = found.pairwise.share[having[best]]
    strongest = int(np.argmax(np.nan_to_num(found.pairwise.strength[having[best]])))
    return found.feature_names[other], strengths[best], float(share[strongest])


def _widest_curve(effect: PartialDependence) -> Floats:
    """Return the curve of the output that it moves most."""
    if effect.average is None or not effect.average.size:
        return np.zeros(0)
    known = np.where(np.isfinite(effect.average), effect.average, np.nan)
    spread = [
        float(np.ptp(curve[np.isfinite(curve)])) if np.isfinite(curve).any() else 0.0 for curve in known
    ]
    return np.asarray(known[int(np.argmax(spread))])


def sparkline(curve: Floats) -> str:
    """Return a curve in block characters, a blank where it is not finite.

    >>> sparkline(np.array([0.0, 1.0, 2.0, 3.0])), sparkline(np.array([1.0, 1.0]))
    ('▁▁▃▃▆▆██', '▁▁▁▁▁▁▁▁')
    """
    if not len(curve):
        return ""
    places = np.minimum(np.arange(POINTS) * len(curve) // POINTS, len(curve) - 1)
    places[-1] = len(curve) - 1
    values = curve[places]
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    width = high / 2 - low / 2  # halves, as the difference of large numbers overflows
    return "".join(
        " "
        if not np.isfinite(value)
        else BLOCKS[round((len(BLOCKS) - 1) * float((value / 2 - low / 2) / width)) if width else 0]
        for value in values
    )

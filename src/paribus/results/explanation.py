"""All that there is to see of a model in one result."""

from __future__ import annotations

from paribus.notes import Note
from paribus.results.effects import Effects
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.local_effect import LocalEffects
from paribus.results.marginal import Marginals
from paribus.results.model_record import ColumnRecord, ModelRecord
from paribus.results.observed_expected import ObservedExpected, observed_expected
from paribus.results.performance import Performance
from paribus.results.plot_mixin import NotebookReprMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.shape import Shape
from paribus.results.verdict import Check


@record
class Explanation(NotebookReprMixin):
    """What a model does with its features: every statistic of one model on one background.

    Attributes
    ----------
    effects : Effects
        Partial dependence on every feature, with quantiles of the individual curves, strongest first.
    local_effects : LocalEffects
        Accumulated local effects of every feature.
    averages : Marginals
        Average prediction, and observed and residual with ``y``, over the rows near each value.
    importance : Importance
        Importance of every feature by its effect.
    interactions : HStatistics or None
        H-statistics of all pairs; None for a single feature.
    surfaces : Effects or None
        Partial dependence on the strongest pairs.
    shapes : tuple of Shape
        Of every feature and output, in the order of ``effects``.
    performance : Performance or None
        How well the model predicts the rows; None without ``y``.
    model : ModelRecord
    columns : tuple of ColumnRecord
        Of every feature, in the order of X.
    verdict : tuple of Note
        Notes of all parts, worst first, without muted ones.
    checks : tuple of Check
        What was looked for, found or not.
    """

    stored = "explanation"

    effects: Effects
    local_effects: LocalEffects
    averages: Marginals
    importance: Importance
    interactions: HStatistics | None
    surfaces: Effects | None
    shapes: tuple[Shape, ...]
    performance: Performance | None
    model: ModelRecord
    columns: tuple[ColumnRecord, ...]
    verdict: tuple[Note, ...]
    checks: tuple[Check, ...]

    @property
    def provenance(self) -> Provenance:
        """How the partial dependence was computed."""
        return self.effects.provenance

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, strongest first."""
        return tuple(str(name) for name in self.effects)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.effects.effects[0].output_names

    @property
    def notes(self) -> tuple[Note, ...]:
        """The verdict."""
        return self.verdict

    def observed_expected(self) -> ObservedExpected:
        """Return observed against predicted averages in the cells of all features, worst first.

        This needs ``y``.
        """
        return observed_expected(self.averages)

    def __repr__(self) -> str:
        return f"Explanation of {self.provenance.model}: {len(self.effects)} features"

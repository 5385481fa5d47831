"""All that there is to see of a model in one result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from paribus._evaluators.interactions import VarianceShares
from paribus._text import count, shown_of
from paribus._typing import FrameBackend
from paribus.errors import InputError
from paribus.notes import Note
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.build_drift import drift_of
from paribus.results.effects import Effects
from paribus.results.feature_table import FeatureTable
from paribus.results.group_comparison import GroupComparison
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.marginal import Marginal
from paribus.results.mixins import PANELS, ReportMixin
from paribus.results.model_record import ColumnRecord, FileRecord, ModelRecord, RowPredictions, TargetRecord
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import Performance
from paribus.results.provenance import Provenance, brute_lines
from paribus.results.regions import Regions
from paribus.results.schema import nested, record
from paribus.results.sentences import Sentence, sentences_of
from paribus.results.shape import Shapes
from paribus.results.text_table import table_lines
from paribus.results.verdict import Check, Verdict, finding_line, notes_of

if TYPE_CHECKING:
    from paribus.results.drift import Drift
    from paribus.results.mixins import Figure

SHOWN = 20  # features that are shown
FINDINGS = 5  # of the verdict that are shown
DIFFERENCES = 3  # between groups that are shown


@record
class Explanation(ReportMixin):
    """All statistics of one model on one background.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> explanation = paribus.explain(model, X, y)
    >>> len(explanation.effects), len(explanation.interactions.feature_pairs), len(explanation.surfaces)
    (10, 45, 10)

    Attributes
    ----------
    effects : Effects
        Partial dependence on every feature, with quantiles of the individual curves, strongest first.
    ale : Effects
        Accumulated local effects of every feature.
    averages : Effects
        Average prediction, and observed and residual with ``y``, over the rows near each value.
    importance : Importance
        Importance of every feature by its effect.
    interactions : HStatistics or None
        H-statistics of all pairs; None for a single feature.
    surfaces : Effects or None
        Partial dependence on the strongest pairs.
    shapes : tuple of Shape
        Shapes by feature and output, in the order of ``effects``; ``shapes["age"]`` is the one of a feature.
    performance : Performance or None
        How well the model predicts the rows; None without ``y``.
    predictions : RowPredictions
        Mean and spread of the predictions of all rows, and the predictions of a fixed sample of rows.
    model : ModelRecord
    columns : tuple of ColumnRecord
        Records of the features, in the order of X.
    verdict : tuple of Note
        Kinds of issues, worst first, and the six kinds of tips that matter most; it prints one on each line.
    checks : tuple of Check
        The outcome of each check: found, not found, or not applicable with the reason.
    target : tuple of TargetRecord
        Distribution of ``y`` for each output; empty where no metrics were computed.
    files : tuple of FileRecord
        Files that the rows were read from; empty for rows in memory.
    by_group : GroupComparison or None
        Effects and performance of each group of rows, and where effects differ most; None without ``by``.
    regions : Regions or None
        Regions for the features whose curves differ most between rows. None for models whose structure is not
        read, for lists and without interactions.
    explained : VarianceShares or None
        Shares of the variance of the prediction that curves reproduce, and that pairs or regions add. The
        share of regions is that of the feature whose splits gain most.
    """

    stored = "explanation"

    effects: Effects[PartialDependence]
    ale: Effects[AccumulatedLocalEffect]
    averages: Effects[Marginal]
    importance: Importance
    interactions: HStatistics | None
    surfaces: Effects[PartialDependence] | None
    shapes: Shapes
    performance: Performance | None
    predictions: RowPredictions
    model: ModelRecord
    columns: tuple[ColumnRecord, ...]
    verdict: Verdict
    checks: tuple[Check, ...]
    target: tuple[TargetRecord, ...] = ()
    files: tuple[FileRecord, ...] = ()
    by_group: GroupComparison | None = None
    regions: Regions | None = None
    explained: VarianceShares | None = nested("output", default=None)

    def __post_init__(self) -> None:
        vars(self).update(shapes=Shapes(self.shapes), verdict=Verdict(self.verdict))
        super().__post_init__()

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

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """What is predicted and how well, the strongest effects, and what curves and pairs explain.

        The report has the same sentences. ``values`` of each has its numbers in full precision.
        """
        return sentences_of(self)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of all parts, one for each kind and feature; the verdict has those that matter most."""
        return tuple(notes_of(self))

    @cached_property
    def table(self) -> FeatureTable:  # type: ignore[override]  # it has no dimensions of its own
        """A row for each feature, strongest first."""
        return FeatureTable.of(self)

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return the table of features, in the library of the user's own table.

        It has a row for each feature, strongest first; `FeatureRow` names the columns. Tables of the numbers
        of each part are those of the parts: ``explanation.effects.to_frame()``.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return self.table.to_frame(backend=backend)

    def figure(self, *, k: int = PANELS, **options: Any) -> Figure:
        """Return the curves of the strongest features as plain data; parameters are those of `plot`.

        Returns
        -------
        Figure
            Panels, their axes and marks, before any plotting library.
        """
        return self.effects.figure(k=k, **options)

    def plot(self, *, k: int = PANELS, **options: Any) -> Any:
        """Plot the partial dependence on the strongest features, with quantiles of the rows.

        Parameters
        ----------
        k : int
            Maximum number of features.
        **options
            Other arguments of `Effects.plot`.

        Returns
        -------
        matplotlib.figure.Figure or plotly.graph_objects.Figure
            The figure, whether it has one panel or several.
        """
        return self.effects.plot(k=k, **options)

    def without_rows(self) -> Explanation:
        """Return the explanation without the predictions, weights and targets of single rows.

        An explanation keeps those of up to 2,000 rows, and saves them with results and reports, to compare
        models row by row. Averages over the rows near a value remain; near a rare value that is one row.

        Returns
        -------
        Explanation
            The same numbers otherwise. Compared with others, predictions of single rows are not compared, and
            differences of metrics are not paired.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> explanation = paribus.explain(lambda X: X[:, 0] * X[:, 1], X)
        >>> explanation.predictions.predicted.shape, explanation.without_rows().predictions.predicted.shape
        ((1, 50), (1, 0))
        """
        kept = self.predictions
        none = replace(
            kept,
            numbers=kept.numbers[:0],
            weights=kept.weights[:0],
            predicted=kept.predicted[:, :0],
            observed=None,
        )
        return replace(self, predictions=none)

    def compare(self, new: Explanation, *, independent: bool = False) -> Drift:
        r"""Return the change from this explanation to another: of a challenger, or of rows of another time.

        Curves are compared at the values of this explanation, weighted by its data, and apart from their
        levels. So a difference shows the model, and not the data or the grid. If the new curve has another
        grid, a change within the range of two neighboring values is not counted, see `EffectDrift`. Features
        that one explanation was not asked for are not compared.

        Standard errors are those of averages over rows. For the same rows, and for rows that may be in both,
        the standard error of a difference is at most the sum of both; for independent samples, which only the
        caller can declare, it is the root of the sum of squares.

        Parameters
        ----------
        new : Explanation
            The newer explanation, of the same outputs and scale; models, rows and features may differ.
        independent : bool
            Declare that the two are over independent samples without common rows, such as two years.

        Returns
        -------
        Drift
            ``above(bound)`` has the changes that exceed a bound and the sampling error;
            ``worse(bound)`` the metrics that got worse.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> old = paribus.explain(lambda X: X[:, 0] + X[:, 1], X)
        >>> new = paribus.explain(lambda X: X[:, 0] + 1.5 * X[:, 1], X)
        >>> drift = old.compare(new)
        >>> drift.feature_names[0], round(drift.effects[0].strengths[1], 2)
        ('x1', 1.45)
        """
        if not isinstance(new, Explanation):
            raise InputError(f"new= must be an Explanation, not a {type(new).__name__}")
        return drift_of(self, new, independent)

    def __repr__(self) -> str:
        return "\n  ".join(self._lines())

    def _lines(self) -> Iterator[str]:
        p, outputs = self.provenance, len(self.output_names)
        scale = f"{p.scale}" if outputs == 1 else f"{outputs} outputs, {p.scale}"
        yield f"Explanation of {p.model}: {count(len(self.effects), 'feature')}, strongest first ({scale})"
        yield from map(str, self.sentences)
        yield from brute_lines(p)
        yield from table_lines(self.table.columns(), SHOWN)
        if self.by_group is not None:
            yield from self.by_group.lines(DIFFERENCES)
        shown = shown_of(len(self.verdict), FINDINGS)
        yield from map(finding_line, self.verdict[:shown])
        if len(self.verdict) > shown:
            yield f"and {count(len(self.verdict) - shown, 'more finding')} in verdict"

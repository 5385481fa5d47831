"""How far the behavior of a model has moved: the change from one explanation to another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Kind
from paribus._text import at_value, plain_value
from paribus._typing import (
    Better,
    DriftKind,
    DriftMeasure,
    DriftUnit,
    ErrorBasis,
    FrameBackend,
    Presence,
)
from paribus.errors import InputError, OptionError, check_choice, did_you_mean
from paribus.notes import Note
from paribus.results.drift_text import drift_lines
from paribus.results.mixins import BarsMixin
from paribus.results.provenance import Provenance
from paribus.results.refits import student_quantile
from paribus.results.schema import Record, array, labels, record
from paribus.results.tidy import native

ROWS_FACTOR = (
    3  # of a bound for curves: predictions of single rows of a refit vary two to three times as much
)
GATED = ("log loss", "R²")  # metrics that a gate is about by default
OTHER_ROWS = (
    "which are not compared because the two explanations are over other rows, one over rows in memory and "
    "the other over rows that were read, or one is without rows"
)


@record
class EffectDrift(Record):
    r"""Change of the partial dependence on one feature, apart from a change of its level.

    With the curves :math:`A` (old) and :math:`B` (new) at shared values and the share :math:`w_g` of the data
    there, half of it that of the old rows and half that of the new ones,

    .. math:: L = \sum_g w_g (B_g - A_g), \qquad D_g = B_g - A_g - L, \qquad
        T = \sqrt{\sum_g w_g D_g^2}

    are the change of the level, of the shape, and the typical change. Where grids differ a curve is known to
    lie between its neighbors only; :math:`D` is then the least change that agrees with both curves, and
    :math:`L` the level for which :math:`T` is least.

    Attributes
    ----------
    feature : str
        The feature.
    presence : {"both", "old", "new"}
        Which explanation has it. Where one lacks it, its curve counts as flat there.
    kinds, output_names, grid_values
        As in `PartialDependence`. Values of numbers and dates are those of both grids in the common range;
        those of categories are the common ones.
    change, standard_error : ndarray of shape (n_outputs, g)
        :math:`D` and its standard error.
    weights : ndarray of shape (g,)
        :math:`w`, which with ``missing_weight`` is 1 in total.
    missing_change, missing_error : ndarray of shape (n_outputs,) or None
        The same at a missing value, if both have that point.
    missing_weight : float
        Share of the data there.
    level, level_error : ndarray of shape (n_outputs,)
        :math:`L` and its standard error.
    typical, typical_error : ndarray of shape (n_outputs,)
        :math:`T`, and the same of the standard errors.
    largest, largest_error : ndarray of shape (n_outputs,)
        :math:`D` where it is largest in size, and its standard error there.
    at : tuple of value
        Where that is, for each output; None for a missing value.
    strengths : tuple of float or None
        Strength of the old and of the new effect; None where there is none.
    ranks : tuple of int or None
        Rank of the old and the new importance, 1 for the most important.
    only_old, only_new : tuple of str
        Categories that only one of the two has on its grid, as text.
    typical_refit_errors, largest_refit_errors : ndarray of shape (2, n_outputs) or None
        Standard errors of ``typical`` and ``largest`` over the refits of the old and of the new explanation.
        None unless both are of a list of models; then ``standard_error`` includes them.
    """

    feature: str
    presence: Presence
    kinds: tuple[Kind, ...] = array(1)
    output_names: tuple[str, ...] = labels("output")
    grid_values: tuple[Array, ...] = array(1)
    change: Floats = array("output", "grid")
    standard_error: Floats = array("output", "grid")
    weights: Floats = array("grid")
    missing_change: Floats | None = array("output")
    missing_error: Floats | None = array("output")
    missing_weight: float
    level: Floats = array("output")
    level_error: Floats = array("output")
    typical: Floats = array("output")
    typical_error: Floats = array("output")
    largest: Floats = array("output")
    largest_error: Floats = array("output")
    at: tuple[Any, ...] = array("output")
    strengths: tuple[float | None, ...] = array(2)
    ranks: tuple[int | None, ...] = array(2)
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    typical_refit_errors: Floats | None = array(2, "output", default=None)
    largest_refit_errors: Floats | None = array(2, "output", default=None)


@record
class InteractionDrift(Record):
    """Change of the strength of interactions, strongest of either explanation first.

    Attributes
    ----------
    output_names : tuple of str
        Names of the outputs.
    pairs : tuple of tuple of str
        Names of the two features of each pair that interacts in one of the explanations.
    old, new, standard_error : ndarray of shape (p, n_outputs)
        The strengths, 0 where an explanation lacks the pair, and the standard error of their difference.
    refit_errors : ndarray of shape (2, p, n_outputs) or None
        Standard errors of the strengths over refits, as in `EffectDrift`.
    """

    output_names: tuple[str, ...] = labels("output")
    pairs: tuple[tuple[str, str], ...] = array("pair")
    old: Floats = array("pair", "output")
    new: Floats = array("pair", "output")
    standard_error: Floats = array("pair", "output")
    refit_errors: Floats | None = array(2, "pair", "output", default=None)


@record
class RowDrift(Record):
    r"""Change of the predictions of the same rows, one by one.

    With the predictions :math:`f_i` (old) and :math:`g_i` (new) of the rows that both explanations keep, and
    their weights,

    .. math:: T = \sqrt{\sum_i w_i (g_i - f_i)^2 / \sum_i w_i}

    is the typical change. It includes a change of the level, and changes that no curve shows.

    Attributes
    ----------
    rows : int
        Number of background rows, of which those below are a fixed sample.
    output_names : tuple of str
        Names of the outputs.
    change : ndarray of shape (n_outputs, k)
        New minus old predictions.
    weights : ndarray of shape (k,)
        Weights of the rows.
    typical, typical_error : ndarray of shape (n_outputs,)
        :math:`T` and its standard error.
    """

    rows: int
    output_names: tuple[str, ...] = labels("output")
    change: Floats = array("output", "row")
    weights: Floats = array("row")
    typical: Floats = array("output")
    typical_error: Floats = array("output")

    def share_above(self, size: Any) -> Floats:
        """Return the share of the weight of rows whose prediction changes by more than a size, by output.

        Parameters
        ----------
        size : float or array-like of shape (n_outputs,)
            In the unit of the prediction.
        """
        above = np.abs(self.change) > np.broadcast_to(size, len(self.change))[:, None]
        return np.asarray(above @ self.weights / self.weights.sum())


@record
class MetricDrift(Record):
    """Change of one number of how well the models predict.

    Attributes
    ----------
    name, output : str
        As in `Metric`.
    old, new, standard_error : float
        Both numbers, and the standard error of their difference; NaN where there is none.
    better : {"lower", "higher", "near 1", "near 0"}
        Which values are good.
    paired : bool
        Whether the standard error is that of differences of the same rows; otherwise it is an upper bound, or
        that of independent samples.
    """

    name: str
    output: str | None
    old: float
    new: float
    standard_error: float
    better: Better
    paired: bool

    @property
    def worse(self) -> float:
        """By how much the new number is worse than the old one; negative if it is better."""
        if self.better in ("lower", "higher"):
            return self.new - self.old if self.better == "lower" else self.old - self.new
        best = 1.0 if self.better == "near 1" else 0.0
        return abs(self.new - best) - abs(self.old - best)


@dataclass(frozen=True)
class Bounds:
    """Bounds of a gate that every refit passes, as `Explanation.calibrate` proposes them.

    Attributes
    ----------
    change, rows : float
        Bounds on level, effects and interactions, and on predictions of rows: ``above(change, rows=rows)``.
    metrics : dict of str to float
        Bound on how much each metric gets worse: ``worse(metrics["AUC"], "AUC")``.
    largest : tuple of Change
        The largest change of either kind.
    refits : int
        Number of refits.
    """

    change: float
    rows: float
    metrics: dict[str, float]
    largest: tuple[Change, ...]
    refits: int


@dataclass(frozen=True)
class Change:
    """One change, as `Drift.ranked` and `Drift.above` return it.

    Attributes
    ----------
    kind : {"level", "rows", "effect", "interaction"}
        The changed quantity: the average prediction, the predictions of single rows, one curve, or the
        strength of an interaction.
    features : tuple of str
        None for the level and for rows, one for an effect, two for an interaction.
    output : str
        The output of the model.
    old, new : float
        The levels, the strengths of the effects, or those of the interactions; NaN for rows.
    change, standard_error : float
        The change in units of the prediction, and its standard error. NaN if it is not known.
    share : float
        Size of the change as a share of the spread of the old predictions.
    at : str
        Where the change is, for ``measure="largest"``; else empty.
    refit_errors : tuple of float or None
        Standard errors over the refits of the old and of the new explanation, which ``standard_error``
        includes. None unless both are of a list of models, and for rows.
    """

    kind: DriftKind
    features: tuple[str, ...]
    output: str
    old: float
    new: float
    change: float
    standard_error: float
    share: float
    at: str = ""
    refit_errors: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The features, or the other quantity that changed."""
        return " x ".join(self.features) or self.kind

    @property
    def in_errors(self) -> float:
        """Size of the change in standard errors; infinite without any error."""
        error = 0.0 if math.isnan(self.standard_error) else self.standard_error
        return _share(self.change, error)


@record
class Drift(BarsMixin):
    r"""The change from one explanation to another: of a challenger, or of rows of another time.

    Attributes
    ----------
    output_names : tuple of str
        Names of the outputs.
    effects : tuple of EffectDrift
        Of every feature of either explanation, largest typical change first.
    interactions : InteractionDrift or None
        None unless both have interactions.
    metrics : tuple of MetricDrift
        Changes of the metrics that both report.
    rows : RowDrift or None
        Of the predictions of single rows; None unless both are over the same rows.
    level_old, level_new, level_error : ndarray of shape (n_outputs,)
        Average prediction over all rows of each explanation, with their weights, and the standard error of
        its change.
    spread : ndarray of shape (n_outputs,)
        Twice the standard deviation of the old predictions over all rows, with their weights.
    errors : {"upper bound", "independent"}
        Whether standard errors of differences are the sum of both, as rows may be in both, or those of
        independent samples.
    same_model, same_data : bool
        Whether the digests of the models are equal, and whether the rows are: `RowPredictions.same_rows`.
    notes : tuple of Note
        Caveats about the standard errors and the grids.
    provenances : dict of str to Provenance
        Provenance of both, as ``"old"`` and ``"new"``.
    refits : tuple of int or None
        Number of models of the old and of the new explanation; None unless both are of a list of models.
    level_refit_errors : ndarray of shape (2, n_outputs) or None
        Standard errors of the levels over refits, as in `EffectDrift`.

    Notes
    -----
    Standard errors are those of averages over rows: how much the numbers would vary with other rows from the
    same source. A model that is fitted again varies as well. If both explanations are of a list of refitted
    models, standard errors of level, effects and interactions are over rows and refits: :math:`V = r^2 +
    q_{old}^2 + q_{new}^2` with the error :math:`r` over rows and the errors :math:`q = \sqrt{1/m + c} \, s`
    over refits (`paribus.Explanation.with_correction`). Otherwise no error accounts for that, and a bound has
    to leave room for it.

    The table of `to_frame` has the columns ``kind``, ``feature``, ``feature_2``, ``output``, ``old``, ``new``
    (levels, strengths or metrics), ``change``, ``standard_error``, ``share`` (of the spread), ``largest``,
    ``largest_error`` and ``at``.
    """

    stored = "drift"

    output_names: tuple[str, ...] = labels("output")
    effects: tuple[EffectDrift, ...]
    interactions: InteractionDrift | None
    metrics: tuple[MetricDrift, ...]
    rows: RowDrift | None
    level_old: Floats = array("output")
    level_new: Floats = array("output")
    level_error: Floats = array("output")
    spread: Floats = array("output")
    errors: ErrorBasis
    same_model: bool
    same_data: bool
    notes: tuple[Note, ...]
    provenances: dict[str, Provenance]
    refits: tuple[int, ...] | None = array(2, default=None)
    level_refit_errors: Floats | None = array(2, "output", default=None)

    def _check(self) -> None:
        if set(self.provenances) != {"old", "new"}:
            raise InputError("provenances must be those of 'old' and 'new'; pass both")
        own = [one.output_names for one in self.effects]
        own += [] if self.interactions is None else [self.interactions.output_names]
        if any(names != self.output_names for names in own):
            raise InputError("effects or interactions are of other outputs; pass those of output_names")
        if len(set(self.feature_names)) != len(self.effects):
            raise InputError("effects are of one feature twice; pass each once")

    @property
    def provenance(self) -> Provenance:
        """Provenance of the new explanation."""
        return self.provenances["new"]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, largest typical change first."""
        return tuple(one.feature for one in self.effects)

    def __repr__(self) -> str:
        return "\n  ".join(drift_lines(self))

    def ranked(self, measure: DriftMeasure = "typical") -> list[Change]:
        """Return every change, largest share of the spread first; those of single rows last.

        Parameters
        ----------
        measure : {"typical", "largest"}
            Change of an effect: the root mean square over the data, or the largest at a point.
        """
        check_choice("measure", measure, DriftMeasure)
        found = [change for o in range(len(self.output_names)) for change in self._changes(o, measure)]
        return sorted(
            found, key=lambda one: (one.kind == "rows", -one.share if one.share >= 0 else -math.inf)
        )

    def _changes(self, o: int, measure: str) -> list[Change]:
        """Return the changes of one output."""
        spread, name = float(self.spread[o]), self.output_names[o]
        numbers: tuple[Any, ...]

        def change(
            kind: DriftKind,
            features: tuple[str, ...],
            ends: Any,
            size: Any,
            error: Any,
            refits: Any = None,
            at: str = "",
        ) -> Change:
            old, new = (math.nan if end is None else float(end) for end in ends)
            share = _share(float(size), spread)
            both = None if refits is None else (float(refits[0]), float(refits[1]))
            return Change(kind, features, name, old, new, float(size), float(error), share, at, both)

        def of_output(refits: Floats | None) -> Floats | None:
            return None if refits is None else refits[..., o]

        levels, refits = (self.level_old[o], self.level_new[o]), of_output(self.level_refit_errors)
        found = [change("level", (), levels, levels[1] - levels[0], self.level_error[o], refits)]
        if self.rows is not None:
            numbers = self.rows.typical[o], self.rows.typical_error[o]
            found.append(change("rows", (), (None, None), *numbers))
        for one in self.effects:
            numbers = one.typical[o], one.typical_error[o], of_output(one.typical_refit_errors)
            if measure == "largest":
                numbers = one.largest[o], one.largest_error[o], of_output(one.largest_refit_errors)
                numbers += (point_text(one, o, plain_value),)
            found.append(change("effect", (one.feature,), one.strengths, *numbers))
        pairs = self.interactions
        for p, names in enumerate(() if pairs is None else pairs.pairs):
            assert pairs is not None
            ends, of_pairs = (pairs.old[p, o], pairs.new[p, o]), of_output(pairs.refit_errors)
            numbers = pairs.standard_error[p, o], None if of_pairs is None else of_pairs[:, p]
            found.append(change("interaction", names, ends, ends[1] - ends[0], *numbers))
        return found

    def threshold(self, measure: DriftMeasure = "typical", confidence: float = 0.95) -> float:
        r"""Return how many standard errors a change must have to count, given how many are looked at.

        .. math:: z_{1 - \alpha / 2K}, \qquad \alpha = 1 - confidence

        the quantile of a normal distribution for :math:`K` comparisons (Bonferroni): level, effects and
        interactions of every output. If nothing has changed, none of all exceeds it with at least the given
        probability. The typical change of an effect counts as one comparison, however many points its curve
        has: without a change :math:`T^2` is a quadratic form of normal errors whose tail, for given standard
        errors, is longest if all points err together [1]_. The largest change counts once for each point.

        Parameters
        ----------
        measure : {"typical", "largest"}
            As in `ranked`.
        confidence : float
            At least 0.8, and below 1.

        References
        ----------
        .. [1] G. J. Székely and N. K. Bakirov, "Extremal probabilities for Gaussian quadratic forms",
           Probability Theory and Related Fields 126 (2003).
        """
        return NormalDist().inv_cdf((1 + self._coverage(measure, confidence)) / 2)

    def _coverage(self, measure: DriftMeasure, confidence: float) -> float:
        """Return the confidence level of each comparison."""
        check_choice("measure", measure, DriftMeasure)
        _check_confidence(confidence)
        points = [len(one.weights) + (one.missing_change is not None) for one in self.effects]
        effects = sum(points) if measure == "largest" else len(points)
        pairs = 0 if self.interactions is None else len(self.interactions.pairs)
        comparisons = len(self.output_names) * (1 + effects + pairs)
        return 1 - (1 - confidence) / comparisons

    def _exceeds_error(self, change: Change, coverage: float) -> bool:
        """Return whether a change is more than sampling error; over the same rows only refits have any."""
        if change.refit_errors is None or self.refits is None:
            return self.same_data or change.in_errors > NormalDist().inv_cdf((1 + coverage) / 2)
        error = math.hypot(*change.refit_errors) if self.same_data else change.standard_error
        if not error > 0:
            return abs(change.change) > 0
        parts = zip(change.refit_errors, self.refits, strict=True)
        spent = sum((one / error) ** 4 / (models - 1) for one, models in parts)
        bound = student_quantile(coverage, 1 / spent if spent > 0 else math.inf)
        return abs(change.change) > error * float(bound)

    def above(
        self,
        bound: float,
        *,
        unit: DriftUnit = "spread",
        measure: DriftMeasure = "typical",
        confidence: float = 0.95,
        rows: float | None = None,
    ) -> list[Change]:
        """Return the changes that exceed a bound and are more than sampling error, in the order of `ranked`.

        A change counts if its size is above ``bound`` *and* above `threshold` standard errors. Over the same
        rows ``bound`` alone decides: there a change is one of the models, exactly. What cannot be compared,
        because a curve is not finite or the grids have nothing in common, counts as well.

        If both explanations are of a list of refitted models, a change of level, effect or interaction also
        has to exceed their standard errors over refits, over the same rows too. The quantile is then that of
        Student's distribution, with the degrees of freedom of Welch and Satterthwaite.

        Parameters
        ----------
        bound : float
            Size of a change of the level, an effect or an interaction that is tolerated.
        unit : {"spread", "prediction"}
            Unit of ``bound``: the spread of the old predictions, which is twice their standard deviation
            over the data; or the unit of the prediction.
        measure : {"typical", "largest"}
            Change of an effect: the root mean square over the data, or the largest at a point, which varies
            more between fits.
        confidence : float
            Probability that sampling error alone exceeds no threshold of all that are compared.
        rows : float, optional
            Tolerated typical change of the predictions of single rows, in the same unit; by default three
            times ``bound``. Requires the same rows in both explanations.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> old = paribus.explain(lambda X: X[:, 0] + X[:, 1], X)
        >>> new = paribus.explain(lambda X: X[:, 0] + 1.5 * X[:, 1], X)
        >>> [change.name for change in old.compare(new).above(0.05)]
        ['x1', 'rows']
        """
        check_choice("unit", unit, DriftUnit)
        _check_bound("bound", bound)
        if rows is not None:
            _check_bound("rows", rows)
            if self.rows is None:
                raise OptionError(f"rows={rows!r} bounds changes of single rows, {OTHER_ROWS}; omit it")
        coverage = self._coverage(measure, confidence)
        found = []
        for change in self.ranked(measure):
            size = change.share if unit == "spread" else abs(change.change)
            limit = rows_bound(bound, rows) if change.kind == "rows" else bound
            if math.isnan(size) or (size > limit and self._exceeds_error(change, coverage)):
                found.append(change)
        return found

    def worse(
        self, bound: float, metric: str | None = None, *, confidence: float = 0.95
    ) -> list[MetricDrift]:
        r"""Return the metrics of performance that got worse by more than a bound and than sampling error.

        A metric of each output counts if it is worse by more than ``bound`` *and* by more than :math:`z_{1 -
        \alpha / K}` standard errors, with :math:`K` outputs and :math:`\alpha = 1 - confidence`. The rows are
        a sample of those that a model is for, so that this also holds for the same rows. A metric that is not
        a number counts as well; without a standard error ``bound`` decides alone.

        Parameters
        ----------
        bound : float
            Tolerated loss, in the unit of the metric.
        metric : str, optional
            Name of the metric, ``"R2"`` for R². By default the log loss of classes, R² of numbers, else the
            first metric.
        confidence : float
            Probability that sampling error alone does not count as a loss.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> old = paribus.explain(lambda X: X[:, 0] + X[:, 1], X, X.sum(axis=1))
        >>> new = paribus.explain(lambda X: X[:, 0] + 1.5 * X[:, 1], X, X.sum(axis=1))
        >>> [loss.name for loss in old.compare(new).worse(0.01)]
        ['R²']
        """
        _check_bound("bound", bound)
        _check_confidence(confidence)
        name = self.gated_metric(metric)
        chosen = [one for one in self.metrics if one.name == name]
        errors = NormalDist().inv_cdf(1 - (1 - confidence) / len(chosen))
        return [
            one
            for one in chosen
            if math.isnan(one.worse) or (one.worse > bound and not one.worse <= errors * one.standard_error)
        ]

    def gated_metric(self, name: str | None = None) -> str:
        """Return the name of the metric that `worse` is about, of which both have values."""
        known = tuple(dict.fromkeys(one.name for one in self.metrics))
        if not known:
            raise OptionError("the two explanations have no metric in common; explain both with y")
        if name is None:
            name = next((one for one in GATED if one in known), known[0])
        plain = {one.replace("²", "2"): one for one in known}  # as a keyboard has it
        found = plain.get(str(name).replace("²", "2"))
        if found is None:
            raise OptionError(f"metric={name!r} is not reported by both{did_you_mean(str(name), known)}")
        return found

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table with a row per change, in the library of the user's own table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        typical, largest = (self.ranked(measure) for measure in ("typical", "largest"))
        peaks = {(one.kind, one.features, one.output): one for one in largest}
        rows = [self._row(one, peaks[one.kind, one.features, one.output]) for one in typical]
        rows += [
            (
                *(f"metric: {one.name}", None, None, one.output, one.old, one.new, one.new - one.old),
                *(one.standard_error, math.nan, math.nan, math.nan, None),
            )
            for one in self.metrics
        ]
        columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
        table = {name: list(values) for name, values in columns}
        return native(table, self.provenance.backend, backend)

    def _row(self, change: Change, peak: Change) -> tuple[Any, ...]:
        first, second = (*change.features, None, None)[:2]
        effect = change.kind == "effect"
        largest = (peak.change, peak.standard_error, peak.at) if effect else (math.nan, math.nan, None)
        return (
            change.kind,
            first,
            second,
            change.output,
            change.old,
            change.new,
            change.change,
            change.standard_error,
            change.share,
            *largest,
        )


COLUMNS = (
    *("kind", "feature", "feature_2", "output", "old", "new"),
    *("change", "standard_error", "share", "largest", "largest_error", "at"),
)


def rows_bound(bound: float, rows: float | None) -> float:
    """Return the bound on changes of single rows, if only that on other changes may be given."""
    return ROWS_FACTOR * bound if rows is None else rows


def _check_bound(name: str, bound: float) -> None:
    if not isinstance(bound, Real) or not bound >= 0:
        raise OptionError(f"{name}={bound!r} must be a number that is not negative")


def _check_confidence(confidence: float) -> None:
    if not isinstance(confidence, Real) or not 0.8 <= confidence < 1:
        raise OptionError(f"confidence={confidence!r} must be at least 0.8 and below 1")


def _share(size: float, unit: float) -> float:
    """Return how many units the size of a change is: infinitely many of 0, unless there is no change."""
    if unit == math.inf:
        return math.nan if size != 0 else 0.0
    if unit > 0:
        return abs(size) / unit
    return math.inf if abs(size) > 0 else abs(size)


def point_text(effect: EffectDrift, o: int, written: Callable[[Any], str] = at_value) -> str:
    """Return where the change of an effect is largest."""
    if np.isnan(effect.largest[o]):
        return "no common value"
    return "missing" if effect.at[o] is None else written(effect.at[o])

"""How far the behavior of a model has moved: the change from one explanation to another."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Kind
from paribus._text import at_value
from paribus._typing import Better, DriftKind, ErrorBasis, FrameBackend, Presence
from paribus.errors import InputError, OptionError, did_you_mean
from paribus.notes import Note
from paribus.results.drift_text import drift_lines
from paribus.results.mixins import BarsMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, array, labels, record
from paribus.results.tidy import native

ROWS_FACTOR = 3  # bound on rows by default: predictions of rows vary two to three times as much as curves
CONFIDENCE = 0.95  # probability that sampling error alone exceeds no threshold
GATED = ("log loss", "R²")  # metrics that a gate is about by default


@record
class EffectDrift(Record):
    r"""Change of the partial dependence on one feature, apart from a change of its level.

    With the curves :math:`A` (old) and :math:`B` (new) at the values :math:`g` of the old grid, and the share
    :math:`w_g` of the old data there,

    .. math:: D_g = B_g - A_g - \sum_h w_h (B_h - A_h), \qquad T = \sqrt{\sum_g w_g D_g^2}

    are the change of the shape and the typical change. Categories are matched by name, and values beyond the
    new grid are left out. If :math:`g` is between two values of the new grid, a step of the new curve may lie
    anywhere between them. Its value is only known to be from :math:`L_g` to :math:`U_g`, the lower and the
    upper of the curve at both, which at a value of the new grid are :math:`B_g`. The change is then the least
    one that agrees with the new grid:

    .. math:: D_g = \operatorname*{arg\,min}_{L_g - A_g - c \,\le\, d \,\le\, U_g - A_g - c} |d|

    The level :math:`c` starts as :math:`\sum_h w_h (B_h - A_h)`, with :math:`B` linear between the values of
    the new grid. The step :math:`c \leftarrow c + \sum_h w_h D_h` is made 20 times, toward the :math:`c` of
    the least :math:`T`.

    Attributes
    ----------
    feature : str
        The feature.
    presence : {"both", "old", "new"}
        The explanations whose model has it. The curve of a model without it is flat.
    kinds, output_names, grid_values
        As in `PartialDependence`, at the values that are compared.
    change, standard_error : ndarray of shape (n_outputs, g)
        :math:`D` and its standard error.
    weights : ndarray of shape (g,)
        :math:`w`, which with ``missing_weight`` is 1 in total.
    missing_change, missing_error : ndarray of shape (n_outputs,) or None
        The same at a missing value, if both have that point.
    missing_weight : float
        Share of the data there.
    compared : float
        Share of the old data at the values that are compared.
    typical, typical_error : ndarray of shape (n_outputs,)
        :math:`T`, and the same of the standard errors.
    strengths : tuple of float or None
        Strength of the old and of the new effect; None where there is none.
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
    compared: float
    typical: Floats = array("output")
    typical_error: Floats = array("output")
    strengths: tuple[float | None, ...] = array(2)

    def largest_at(self, output: int) -> str:
        """Return the value where an output, by position, changes most; empty if it does not change."""
        (values,), sizes = self.grid_values, np.abs(self.change[output])
        if self.missing_change is not None:
            sizes = np.append(sizes, abs(self.missing_change[output]))
        if not len(sizes):
            return "no common value"
        place = int(np.argmax(np.nan_to_num(sizes, nan=np.inf)))
        return "" if sizes[place] == 0 else at_value(values[place]) if place < len(values) else "missing"


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
        The strengths, 0 of a model that lacks one of the features, and the standard error of their
        difference.
    """

    output_names: tuple[str, ...] = labels("output")
    pairs: tuple[tuple[str, str], ...] = array("pair")
    old: Floats = array("pair", "output")
    new: Floats = array("pair", "output")
    standard_error: Floats = array("pair", "output")


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
        The change in units of the prediction, and its standard error. NaN if it is not known. Of curves and
        of rows, it is the typical change.
    size : float
        Size of the change in standard deviations of the old predictions.
    largest_at : str
        Value at which a curve changes most; empty for others.
    """

    kind: DriftKind
    features: tuple[str, ...]
    output: str
    old: float
    new: float
    change: float
    standard_error: float
    size: float
    largest_at: str = ""

    @property
    def name(self) -> str:
        """The features, or the other quantity that changed."""
        return " x ".join(self.features) or self.kind

    @property
    def in_errors(self) -> float:
        """Size of the change in standard errors; infinite without any error."""
        return _multiple(self.change, 0.0 if math.isnan(self.standard_error) else self.standard_error)


@record
class Drift(BarsMixin):
    r"""The change from one explanation to another: of a challenger, or of rows of another time.

    Attributes
    ----------
    output_names : tuple of str
        Names of the outputs.
    effects : tuple of EffectDrift
        Of every feature of both explanations, largest typical change first.
    not_compared : tuple of str
        Features of one explanation that the other was not asked for.
    interactions : InteractionDrift or None
        None unless both have interactions.
    metrics : tuple of MetricDrift
        Changes of the metrics that both report.
    rows : RowDrift or None
        Of the predictions of single rows; None unless both are over the same rows.
    level_old, level_new, level_error : ndarray of shape (n_outputs,)
        Average prediction over all rows of each explanation, with their weights, and the standard error of
        its change.
    deviation : ndarray of shape (n_outputs,)
        Standard deviation of the old predictions over all rows, with their weights: the unit of changes.
    errors : {"upper bound", "independent"}
        Whether standard errors of differences are the sum of both, as rows may be in both, or those of
        independent samples.
    same_model, same_data : bool
        Whether the digests of the models are equal; and the rows: their sample, their weights, and the
        columns that both know.
    notes : tuple of Note
        Caveats about the standard errors and the grids.
    provenances : dict of str to Provenance
        Provenance of both, as ``"old"`` and ``"new"``.

    Notes
    -----
    Standard errors are those of averages over rows: how much the numbers would vary with other rows from the
    same source. A model that is fitted again varies as well. No error accounts for that, and a bound has to
    leave room for it.

    The table of `to_frame` has the columns ``kind``, ``feature``, ``feature_2``, ``output``, ``old``, ``new``
    (levels, strengths or metrics), ``change``, ``standard_error``, ``size`` and ``largest_at``, as in
    `Change`.
    """

    stored = "drift"

    output_names: tuple[str, ...] = labels("output")
    effects: tuple[EffectDrift, ...]
    not_compared: tuple[str, ...]
    interactions: InteractionDrift | None
    metrics: tuple[MetricDrift, ...]
    rows: RowDrift | None
    level_old: Floats = array("output")
    level_new: Floats = array("output")
    level_error: Floats = array("output")
    deviation: Floats = array("output")
    errors: ErrorBasis
    same_model: bool
    same_data: bool
    notes: tuple[Note, ...]
    provenances: dict[str, Provenance]

    def _check(self) -> None:
        if set(self.provenances) != {"old", "new"}:
            raise InputError("provenances must be those of 'old' and 'new'; pass both")
        names = [effect.output_names for effect in self.effects]
        names += [] if self.interactions is None else [self.interactions.output_names]
        if any(outputs != self.output_names for outputs in names):
            raise InputError("effects or interactions are of other outputs; pass those of output_names")
        if len(set(self.feature_names)) != len(self.effects):
            raise InputError("effects are of one feature twice; pass each once")

    @property
    def provenance(self) -> Provenance:
        """Provenance of the new explanation."""
        return self.provenances["new"]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the compared features, largest typical change first."""
        return tuple(effect.feature for effect in self.effects)

    def __repr__(self) -> str:
        return "\n  ".join(drift_lines(self))

    def ranked(self) -> list[Change]:
        """Return every change, largest first; those of single rows last."""
        changes = [change for o in range(len(self.output_names)) for change in self._changes(o)]
        return sorted(
            changes,
            key=lambda change: (change.kind == "rows", -change.size if change.size >= 0 else -math.inf),
        )

    def _changes(self, o: int) -> list[Change]:
        """Return the changes of one output."""

        def change(
            kind: DriftKind, features: tuple[str, ...], ends: Any, size: Any, error: Any, at: str = ""
        ) -> Change:
            old, new = (math.nan if end is None else float(end) for end in ends)
            deviations = _multiple(float(size), float(self.deviation[o]))
            name = self.output_names[o]
            return Change(kind, features, name, old, new, float(size), float(error), deviations, at)

        levels = self.level_old[o], self.level_new[o]
        changes = [change("level", (), levels, levels[1] - levels[0], self.level_error[o])]
        if self.rows is not None:
            changes.append(change("rows", (), (None, None), self.rows.typical[o], self.rows.typical_error[o]))
        for effect in self.effects:
            typical, at = (effect.typical[o], effect.typical_error[o]), effect.largest_at(o)
            changes.append(change("effect", (effect.feature,), effect.strengths, *typical, at))
        pairs = self.interactions
        for p, names in enumerate(() if pairs is None else pairs.pairs):
            assert pairs is not None
            ends = pairs.old[p, o], pairs.new[p, o]
            changes.append(change("interaction", names, ends, ends[1] - ends[0], pairs.standard_error[p, o]))
        return changes

    @property
    def threshold(self) -> float:
        r"""Standard errors that a change must have to count, given how many are looked at.

        .. math:: z_{1 - \alpha / 2K}, \qquad \alpha = 0.05

        the quantile of Student's distribution for :math:`K` comparisons (Bonferroni): level, effects and
        interactions of every output. If nothing has changed, none of all exceeds it with a probability of at
        least 95 %. The typical change of an effect counts as one comparison, however many points its curve
        has: without a change :math:`T^2` is a quadratic form of normal errors whose tail, for given standard
        errors, is longest if all points err together [1]_.

        References
        ----------
        .. [1] G. J. Székely and N. K. Bakirov, "Extremal probabilities for Gaussian quadratic forms",
           Probability Theory and Related Fields 126 (2003).
        """
        pairs = 0 if self.interactions is None else len(self.interactions.pairs)
        comparisons = len(self.output_names) * (1 + len(self.effects) + pairs)
        return self._error_quantile(1 - (1 - CONFIDENCE) / comparisons)

    def _error_quantile(self, level: float) -> float:
        """Return the half width of an interval in standard errors, of the explanation with fewer rows."""
        return max(provenance.error_quantile(level) for provenance in self.provenances.values())

    def above(self, bound: float, *, rows: float | None = None) -> list[Change]:
        """Return the changes that exceed a bound and are more than sampling error, in the order of `ranked`.

        A change counts if its size is above ``bound`` *and* above `threshold` standard errors. Over the same
        rows ``bound`` alone decides: there a change is one of the models, exactly. What cannot be compared,
        because a curve is not finite or the grids have nothing in common, counts as well.

        Parameters
        ----------
        bound : float
            Tolerated size of a change of the level, an effect or an interaction, in standard deviations of
            the old predictions.
        rows : float, optional
            Tolerated typical change of the predictions of single rows, in the same unit; by default three
            times ``bound``. Requires the same rows in both explanations.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> old = paribus.explain(lambda X: X[:, 0] + X[:, 1], X)
        >>> new = paribus.explain(lambda X: X[:, 0] + 1.5 * X[:, 1], X)
        >>> [change.name for change in old.compare(new).above(0.1)]
        ['x1', 'rows']
        """
        _check_bound("bound", bound)
        if rows is not None:
            _check_bound("rows", rows)
            if self.rows is None:
                raise OptionError(
                    f"rows={rows!r} bounds changes of single rows, {why_no_rows(self.same_data)}; omit it"
                )
        limits = {"rows": rows_bound(bound, rows)}
        threshold = -math.inf if self.same_data else self.threshold
        return [
            change
            for change in self.ranked()
            if math.isnan(change.size)
            or (change.size > limits.get(change.kind, bound) and change.in_errors > threshold)
        ]

    def worse(self, bound: float, metric: str | None = None) -> list[MetricDrift]:
        r"""Return the metrics of performance that got worse by more than a bound and than sampling error.

        A metric of each output counts if it is worse by more than ``bound`` *and* by more than :math:`z_{1 -
        0.05 / K}` standard errors, with :math:`K` outputs. The rows are a sample of those that a model is
        for, so that this also holds for the same rows. A metric that is not a number counts as well; without
        a standard error ``bound`` decides alone.

        Parameters
        ----------
        bound : float
            Tolerated loss, in the unit of the metric.
        metric : str, optional
            Name of the metric, ``"R2"`` for R². By default the log loss of classes, R² of numbers, else the
            first metric.

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
        name = self.gated_metric(metric)
        gated = [metric for metric in self.metrics if metric.name == name]
        errors = self._error_quantile(1 - 2 * (1 - CONFIDENCE) / len(gated))
        return [
            loss
            for loss in gated
            if math.isnan(loss.worse)
            or (loss.worse > bound and not loss.worse <= errors * loss.standard_error)
        ]

    def gated_metric(self, name: str | None = None) -> str:
        """Return the name of the metric that `worse` is about, of which both have values."""
        known = tuple(dict.fromkeys(metric.name for metric in self.metrics))
        if not known:
            raise OptionError("the two explanations have no metric in common; explain both with y")
        if name is None:
            name = next((metric for metric in GATED if metric in known), known[0])
        plain = {metric.replace("²", "2"): metric for metric in known}  # as a keyboard has it
        if (gated := plain.get(name.replace("²", "2"))) is None:
            raise OptionError(f"metric={name!r} is not reported by both{did_you_mean(name, known)}")
        return gated

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table with a row per change, in the library of the user's own table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return native(columns_of(self), self.provenance.backend, backend)


def columns_of(drift: Drift) -> dict[str, list[Any]]:
    """Return the columns of the table of changes."""
    names = ("kind", "feature", "feature_2", *(field.name for field in fields(Change)[2:]))
    rows: list[tuple[Any, ...]] = []
    for change in drift.ranked():
        kind, features, *numbers = astuple(change)
        rows.append((kind, *(*features, None, None)[:2], *numbers))
    for metric in drift.metrics:
        ends = metric.old, metric.new, metric.new - metric.old
        numbers = [metric.output, *ends, metric.standard_error, math.nan, ""]
        rows.append((f"metric: {metric.name}", None, None, *numbers))
    return {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def why_no_rows(same_data: bool) -> str:
    """Return why predictions of single rows are not compared."""
    if same_data:
        return "which are not compared because one is without rows"
    return (
        "which are not compared because the two explanations are over other rows or other samples, or one "
        "over rows in memory and the other over rows that were read"
    )


def rows_bound(bound: float, rows: float | None) -> float:
    """Return the bound on changes of single rows, by default a multiple of that on other changes."""
    return ROWS_FACTOR * bound if rows is None else rows


def _check_bound(name: str, bound: float) -> None:
    if not isinstance(bound, Real) or not bound >= 0:
        raise OptionError(f"{name}={bound!r} must be a number that is not negative")


def _multiple(size: float, unit: float) -> float:
    """Return how many units the size of a change is: infinitely many of 0, unless there is no change."""
    if unit == math.inf:
        return math.nan if size != 0 else 0.0
    if unit > 0:
        return abs(size) / unit
    return math.inf if abs(size) > 0 else abs(size)

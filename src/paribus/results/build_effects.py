"""Build effects from states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._evaluators.occupancy import OccupiedCells, RowSample, bins_for
from paribus._evaluators.request import EffectEstimate, EvaluationRequest
from paribus._evaluators.support import Support
from paribus._grid import Axis, Grid
from paribus._models import Model, rounding_notes
from paribus._models.predictor import imputes, unsteady_notes
from paribus._typing import StrengthBasis
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.curve_parts import (
    AtMissing,
    Extrapolation,
    IceQuantiles,
    ModelSpread,
)
from paribus.results.curve_values import root_mean_square, split_points, strengths_of, without_level
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance, skipped_notes

if TYPE_CHECKING:
    from paribus._evaluators.ale.accumulate import AleEstimate
    from paribus._evaluators.ale.ale_grid import AleGrid
    from paribus._evaluators.cell_means import CellEstimate, CellMeans

ROUNDED = 16 * float(np.finfo(np.float64).eps)  # of the prediction: rounding error of a strength of zero
LEAST_POINTS = 10  # points with rows that a strength needs
SHOWN = 6  # categories that a note lists
LEFT_OUT = ", which is left out"
APART = "; the effect at missing is reported separately"
IMPUTED = (
    "the models replace missing values by a single imputation: intervals over refits do not include its "
    "uncertainty, and are too narrow"
)
LOST_POINT = "the prediction is not finite at some points, so neither is their average"
LOST_DIFFERENCE = (
    "a prediction, or a difference of two, is not finite at some points, so the effect is not either"
)
LOST_ROW = "the prediction is not finite for some rows, so neither is the average over them"
# What follows from a model that predicts rows differently when they are repeated.
CUT = "; if its prediction for a row depends on other rows, the effect depends on the sizes of batches"
ONE_BY_ONE = f", so it was evaluated one point at a time{CUT}"


def with_strength(estimate: EffectEstimate, grid: Grid, support: Support) -> EffectEstimate:
    """Return an estimate with strengths: from the points of the curve, unless the model gave them.

    They are NaN if the points do not represent the rows: those of a part of the data, and those of a group
    that has rows at few of them.
    """
    if estimate.strength is not None:
        rounding = ROUNDED * np.abs(estimate.average).max(axis=1, initial=0.0)
        return replace(estimate, strength=np.where(estimate.strength <= rounding, 0.0, estimate.strength))
    weights = support.points.ravel()
    if grid.includes_missing:
        weights = np.append(weights, support.missing)
    strength = strengths_of(estimate.average, weights)
    coverages = {axis.covers for axis in grid.axes}
    few = np.count_nonzero(weights) < min(LEAST_POINTS, len(weights))
    if len(grid.axes) == 1 and ("part" in coverages or ("range" in coverages and few)):
        strength = np.full_like(strength, np.nan)
    basis: StrengthBasis = "rows" if coverages == {"values"} else "points"
    return replace(estimate, strength=strength, strength_from=basis)


@dataclass(frozen=True, eq=False)
class EffectBuilder:
    """What the effects of one call share.

    Attributes
    ----------
    output_names : tuple of str
        Names of the outputs.
    models : tuple of Model
        Those that predicted, all with these outputs.
    unit : float
        Factor from computed weights to those given.
    provenance : Provenance
        How they were computed.
    """

    output_names: tuple[str, ...]
    models: tuple[Model, ...]
    unit: float
    provenance: Provenance

    def partial_dependence(
        self,
        request: EvaluationRequest,
        grid: Grid,
        estimate: EffectEstimate,
        support: Support,
        extrapolation: Extrapolation | None,
        remarks: tuple[Note, ...],
        rows: float,
    ) -> PartialDependence:
        """Return the effect of a grid over ``rows`` rows; ``remarks`` are notes about how it was computed.

        ``rows`` is the weight of all rows. The estimate has strengths, see `with_strength`.
        """
        assert estimate.strength is not None
        averaged = request.kind != "individual"
        averages = (estimate.average, estimate.standard_error) if averaged else (None, None)
        parts = *averages, estimate.individual, estimate.quantiles, estimate.by_model
        average, error, curves, quantiles, models = (
            split_points(points, grid.shape, grid.includes_missing) for points in parts
        )
        missing, spread = None, None
        if grid.includes_missing:
            missing = AtMissing(
                support.missing / rows,
                support.missing,
                average=average[1],
                standard_error=error[1],
                individual=curves[1],
            )
        if request.quantiles is not None and quantiles[0] is not None:
            probabilities = np.array(request.quantiles.probabilities)
            spread = IceQuantiles(probabilities, quantiles[0], estimate.rank_error, quantiles[1])
        named = self._named(grid.axes, "ordered", "deciles")
        by_model = self._by_model(*models, estimate.strength_by_model)
        where = "; its effect there is reported for it alone" if len(grid.axes) > 1 else APART
        own = self._effect_notes(extrapolation, len(grid.axes))
        axes = grid.axes if missing is None else (replace(grid.axes[0], missing_share=missing.share),)
        notes = self._notes(axes, own, where, estimate.average, LOST_POINT)
        return PartialDependence(
            **named,
            average=average[0],
            standard_error=error[0],
            individual=curves[0],
            support=support.points,
            extrapolation=extrapolation,
            missing=missing,
            strengths=estimate.strength,
            strength_from=estimate.strength_from,
            ranks=None if support.ranks is None else support.ranks / rows,
            notes=(*notes, *remarks),
            quantiles=spread,
            row_weights=None if estimate.row_weights is None else estimate.row_weights * self.unit,
            row_units=estimate.row_units,
            by_model=by_model,
            covariance=without_level(estimate.covariance) if averaged else None,
            share_covariance=estimate.share_covariance,
        )

    def _effect_notes(self, extrapolation: Extrapolation | None, ways: int) -> Iterator[Note]:
        far = None if extrapolation is None else extrapolation.note("curve" if ways == 1 else "surface")
        if far is not None:
            yield far
        if self.provenance.estimand is Estimand.PATH_DEPENDENT:
            yield NoteCode.TRAINING_PATHS.note()

    def accumulated_local_effect(
        self, grid: AleGrid, estimate: AleEstimate, total: float, remarks: tuple[Note, ...] = ()
    ) -> AccumulatedLocalEffect:
        """Return an accumulated local effect; ``total`` is the weight of the rows, ``remarks`` are notes."""
        computed = estimate.ale
        if estimate.empty.size and estimate.empty.all():  # no row is in a bin
            unknown = np.full_like(computed, np.nan)
            estimate = replace(estimate, ale=unknown, error=unknown)
        values, weights = estimate.ale.reshape(len(self.output_names), -1), estimate.node_weight.ravel()
        if len(grid.bins) == 1 and grid.bins[0].alone:
            weights = np.array([grid.bins[0].alone])
        missing = None
        if estimate.missing is not None:
            axis = grid.axes[0]
            anchor = axis.values[grid.bins[0].anchor]
            anchor = anchor.item() if isinstance(anchor, (np.number, np.bool_)) else anchor
            missing = AtMissing(
                estimate.missing_weight / total,
                estimate.missing_weight * self.unit,
                anchor=anchor,
                ale=estimate.missing[0].copy(),
                standard_error=estimate.missing[1].copy(),
            )
            values = np.concatenate([values, estimate.missing[0][:, None]], axis=1)
            weights = np.append(weights, estimate.missing_weight)
        named, by_model = self._named(grid.axes), self._by_model(estimate.by_model, estimate.missing_by_model)
        where = LEFT_OUT if missing is None else APART
        own = _local_notes(grid, estimate, total)
        axes = grid.axes if missing is None else (replace(grid.axes[0], missing_share=missing.share),)
        notes = self._notes(axes, own, where, computed, LOST_DIFFERENCE)
        return AccumulatedLocalEffect(
            **named,
            ale=estimate.ale,
            standard_error=estimate.error,
            local=estimate.local,
            local_error=estimate.local_error,
            support=estimate.weight * self.unit,
            rows=estimate.rows.copy(),
            empty=estimate.empty,
            missing=missing,
            order=tuple(bins.order for bins in grid.bins),
            strength=root_mean_square(strengths_of(values, weights)),
            notes=(*notes, *remarks),
            by_model=by_model,
            covariance=estimate.covariance,
            share_covariance=estimate.share_covariance,
        )

    def marginal(
        self, axis: Axis, moments: CellEstimate, means: CellMeans, remarks: tuple[Note, ...] = ()
    ) -> Marginal:
        """Return the averages near each value; ``remarks`` are notes about how they were computed."""
        rows, weight, cells = moments.rows, moments.weight, axis.cell_of_point
        total, missing, beyond = weight.sum(), axis.n_cells, axis.n_cells + 1
        inside = np.flatnonzero(rows[: axis.n_cells + 1])
        first = moments.mean[: means.outputs]  # of predictions, or of observed values without a model
        by_model = last = apart = None
        if moments.by_model is not None:
            by_model = np.where(rows > 0, moments.by_model, np.nan)[:, : means.outputs]
        if rows[missing]:
            last = None if by_model is None else by_model[..., missing].copy()
            averages = _averages(moments, means, np.array([missing]))
            apart = AtMissing(
                share=float(weight[missing] / total),
                support=float(weight[missing] * self.unit),
                rows=int(rows[missing]),
                **{name: None if array is None else array[:, 0].copy() for name, array in averages.items()},
            )
        return Marginal(
            **self._named((axis,), "ordered", "deciles"),
            **_averages(moments, means, cells),
            support=weight[cells] * self.unit,
            rows=rows[cells],
            missing=apart,
            outside=float(weight[beyond] / total),
            strength=root_mean_square(strengths_of(first[:, inside], weight[inside])),
            notes=(*self._notes((axis,), (), ", a separate cell", first, LOST_ROW, CUT), *remarks),
            by_model=self._by_model(None if by_model is None else by_model[..., cells], last),
        )

    def _named(self, axes: tuple[Axis, ...], *more: str) -> dict[str, Any]:
        """Return the fields that every effect has; ``more`` are attributes of its axes."""
        along = {
            "feature_names": "name",
            "kinds": "kind",
            "grid_values": "values",
            **{name: name for name in more},
        }
        fields = {field: tuple(getattr(axis, name) for axis in axes) for field, name in along.items()}
        return {"output_names": self.output_names, "provenance": self.provenance, **fields}

    def _by_model(
        self, values: Floats | None, missing: Floats | None, strengths: Floats | None = None
    ) -> ModelSpread | None:
        return ModelSpread.of(tuple(model.name for model in self.models), values, missing, strengths)

    def _notes(
        self,
        axes: tuple[Axis, ...],
        own: Iterable[Note],
        missing: str,
        numbers: Floats,
        lost: str,
        then: str = ONE_BY_ONE,
    ) -> Iterator[Note]:
        """Yield caveats: of the axes, an effect's ``own``, of the rows and of the predictions.

        ``missing`` is what was done about missing values, ``lost`` is said where ``numbers`` are not finite,
        and ``then`` is what follows from a model that depends on other rows.
        """
        yield from (note for axis in axes for note in axis.notes)
        yield from own
        for axis in axes:
            if axis.missing_share and (len(axis) or missing != LEFT_OUT):  # of none there is nothing left
                yield NoteCode.MISSING_VALUES.note(
                    feature=axis.name, share=axis.missing_share, treatment=missing
                )
        yield from skipped_notes(self.provenance)
        if not np.isfinite(numbers).all():
            yield NoteCode.NOT_FINITE.note(reason=lost)
        yield from unsteady_notes(self.models, then)
        if len(self.models) > 1 and any(map(imputes, self.models)):
            yield NoteCode.ERROR_BASIS.note(reason=IMPUTED)
        if self.provenance.evaluator != "brute":
            yield from rounding_notes(self.models)


def _local_notes(grid: AleGrid, estimate: AleEstimate, total: float) -> Iterator[Note]:
    from paribus._evaluators.ale.ale_grid import DECLARED, GIVEN, LISTED

    for bins in grid.bins:
        if bins.order and bins.order not in (LISTED, GIVEN, DECLARED):
            categories = tuple(str(value) for value in bins.axis.values)
            yield NoteCode.CATEGORY_ORDER.note(
                feature=bins.axis.name, order=bins.order, categories=categories
            )
    missing = estimate.missing_weight if grid.includes_missing else grid.axes[0].missing
    inside = float(estimate.weight.sum()) + missing
    if len(grid.axes) == 1 and (all(grid.steps) or grid.bins[0].order) and inside < total * (1 - 1e-9):
        beyond = 1 - inside / total
        name = grid.axes[0].name
        yield NoteCode.OUTSIDE_GRID.note(feature=name, share=beyond)
    if estimate.empty.any():
        empty, size = int(estimate.empty.sum()), estimate.empty.size
        filled = " and use the nearest cell that has rows"
        treatment = filled if empty < size else ", so the effect is unknown"
        yield NoteCode.EMPTY_CELLS.note(empty=empty, cells=size, share=empty / size, treatment=treatment)


def _averages(moments: CellEstimate, means: CellMeans, cells: Integers) -> dict[str, Any]:
    """Return the averages in some cells ``(o, c)`` and their errors; NaN where there are no rows."""
    mean, first = np.where(moments.rows > 0, moments.mean, np.nan), 0
    numbers: dict[str, Any] = {}
    for name in ("predicted", "observed", "residual"):
        known = name in means.averaged
        some = slice(first, first + means.outputs)
        numbers[name] = mean[some, cells] if known else None
        numbers[f"{name}_error"] = moments.error[some, cells] if known else None
        first += means.outputs * known
    return numbers


KNOWN = 0.5  # of the points of a curve about which a partner must say something to count


def extrapolation_of(
    grid: Grid, joint: OccupiedCells | None, probe: RowSample | None, names: tuple[str, ...]
) -> Extrapolation | None:
    """Find the partner with which most points of a grid are off the data."""
    if joint is None or probe is None:
        return None
    # A pair whose cells all have rows has a share of zero, and is read if no other says anything.
    largest = max(_shares(grid, joint, open_=True), key=itemgetter(0), default=None)
    largest = largest or next(_shares(grid, joint, open_=False), None)
    if largest is None:
        return None
    share, feature, partner, at, along = largest
    own = tuple(size if position in along else 1 for position, size in enumerate(grid.shape))
    varied = {axis.feature for axis in grid.axes}
    partners = {k for j in varied for k in joint.outlook.partners.get(j, ())} - varied
    association, measure = probe.between(feature, partner)
    return Extrapolation(
        share=share,
        feature=names[feature],
        partner=names[partner],
        association=association,
        measure=measure,
        by_point=np.array(np.broadcast_to(at.reshape(own), grid.shape), dtype=np.float64),
        mask=_mask(grid, joint),
        partners=len(partners),
        bins=bins_for(joint.outlook.rows),
    )


def _shares(
    grid: Grid, joint: OccupiedCells, *, open_: bool
) -> Iterator[tuple[float, int, int, Floats, tuple[int, ...]]]:
    """Yield what each pair shows: those of the grid itself, and each feature with each of its partners.

    That is the share, the feature and its partner, the share at each point, and along which axes that is.
    ``open_`` chooses those of whose cells some had no row at first sight, or the others.
    """
    axes, varied = grid.axes, {axis.feature for axis in grid.axes}
    for one, other in combinations(range(len(axes)), 2):
        pair = axes[one].feature, axes[other].feature
        if joint.knows(*pair, open_=open_):
            expected, empty = _crossed(axes[one], axes[other], joint)
            if 2 * expected.sum() >= expected.size > 0:
                at = np.where(expected, empty, np.nan)
                yield float(empty.sum() / expected.sum()), *pair, at, (one, other)
    for position, axis in enumerate(axes):
        of_axis = joint.outlook.partners.get(axis.feature, ()) if len(axis) else ()
        partners = [k for k in of_axis if k not in varied and joint.knows(axis.feature, k, open_=open_)]
        # Of those whose cells all have rows, the first that says something is enough.
        for some in [partners] if open_ and partners else [[partner] for partner in partners]:
            yield from _with_partners(axis, position, some, joint)


def _with_partners(
    axis: Axis, position: int, partners: list[int], joint: OccupiedCells
) -> Iterator[tuple[float, int, int, Floats, tuple[int, ...]]]:
    """Yield what a feature shows with each of some partners."""
    bins = joint.bins_of(axis)
    for partner, every, empty, weight in zip(partners, *joint.beside(axis.feature, partners), strict=True):
        # The partner's weight at each point: all of which something is known, and that in empty cells.
        known, off = every[bins], empty[bins]
        if known.sum() >= KNOWN * weight * len(axis):
            at = np.divide(off, known, out=np.full(len(axis), np.nan), where=known > 0)
            yield float(off.sum() / known.sum()), axis.feature, partner, at, (position,)


def _crossed(one: Axis, other: Axis, joint: OccupiedCells) -> tuple[Flags, Flags]:
    """Return which points of two axes lie where rows are to be expected, and which of these where none is."""
    at = np.ix_(joint.bins_of(one), joint.bins_of(other))
    expected, empty = joint.cells(one.feature, other.feature)
    return expected[at], empty[at]


def _mask(grid: Grid, joint: OccupiedCells) -> Flags | None:
    axes = grid.axes
    if len(axes) != 2 or not joint.knows(axes[0].feature, axes[1].feature):
        return None
    return np.array(_crossed(axes[0], axes[1], joint)[1])

"""Regions of the data in which the individual curves of a feature are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from paribus._api.by_group import by_group
from paribus._api.combine import combine_facts
from paribus._api.data import InMemoryData
from paribus._api.run import (
    Fact,
    ModelEstimates,
    Rounds,
    RunContext,
    Statistic,
    Steps,
    evaluate_model,
    folded,
    lockstep,
)
from paribus._api.statistics.axis_options import AxisOptions
from paribus._api.statistics.effects_statistic import EffectsStatistic
from paribus._budget import FLOAT
from paribus._contracts import Floats
from paribus._data.rows import Block, Rows
from paribus._data.summary import Summary, SummarySpec
from paribus._evaluators.cell_means import CellEstimate, CellMeans, MarginalRequest
from paribus._evaluators.interactions.tree_interactions import pairs_sharing_path
from paribus._evaluators.region_search import (
    FoundSplit,
    RegionEstimate,
    RegionGrouping,
    RegionSearch,
    SplitCells,
    heterogeneity,
)
from paribus._evaluators.request import EvaluationRequest, StatisticEvaluator
from paribus._evaluators.trees.programs import family_of, program_of
from paribus._grid import Grid, axis_of
from paribus._kernels import kernels
from paribus._models import Model, is_called, structure_of
from paribus._models.additive import Additive
from paribus._models.combination import Combination, refuse_joined
from paribus._states.sums import ignore_fp_errors
from paribus._text import count, plain_value
from paribus._typing import AUTO
from paribus.errors import FeatureError, MemoryBoundError, RefusalError
from paribus.notes import Note, NoteCode
from paribus.results import FeatureRegions, GroupedResults, Provenance, Region, Regions, RegionSplit
from paribus.results.provenance import few_unit_notes
from paribus.results.regions import region_text

REGION_CURVES = "curves of regions"  # name of a fact
MOST_FEATURES = 5  # features that are searched unless they are named
SEARCHED_ROWS = 20_000  # rows that are searched, whose curves are held: more hardly move a threshold
RANKED_ROWS = 1_000  # rows by which features are chosen
CURVE_BYTES = 64_000_000  # of the curves of all features that are held at a time
ROUNDING = 1e-24  # share of the mean squared prediction: a smaller gain is due to rounding


@dataclass(frozen=True, eq=False)
class RegionStatistic(Statistic):
    """Splits of the rows by other features that most reduce the spread of centered individual curves.

    ``features`` are None to search those with the most heterogeneous curves among ``searched``, or among all
    columns if that is None. An ``optional`` result is None if no column can be varied, or if the model has to
    be called. Splits are searched in sampled rows; the curves of regions are those of all rows.
    """

    axes: AxisOptions
    features: tuple[int, ...] | None
    max_depth: int
    min_gain: float
    seed: int
    verb: str = "regions"
    searched: tuple[int, ...] | None = None
    optional: bool = False

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.axes.wanted

    def evaluate(self, context: RunContext) -> Steps:
        """Lay out the grids, search regions in sampled rows, and average the curves of each region."""
        (model,) = context.models
        if self.optional and is_called(model):
            return lambda: None
        summaries, errors = self._summaries(context)
        grids, skipped = self._grids(context, summaries, errors)
        if not grids:
            return lambda: None
        cells = tuple(SplitCells.of(j, summary) for j, summary in summaries.items())
        rows: Rows = yield from context.subsample(SEARCHED_ROWS, self.seed)
        # At once, so that the passes for curves join those of other statistics over rows that are read.
        found = folded(self._search(_in_rows(context, rows), model, rows, grids, cells), context)
        curves = yield from self._curves(context, found)
        gains = [sum(split.gain for split in regions.splits) for regions in found.estimates]
        best = curves[int(np.argmax(gains))] if any(gains) else None
        yield Fact(REGION_CURVES, SearchedRegions(rows, best))
        return partial(self._result, context, found, skipped, curves)

    def _search(
        self, context: RunContext, model: Model, rows: Rows, grids: list[Grid], cells: tuple[SplitCells, ...]
    ) -> Rounds:
        """Weigh the points of the grids, choose features if none are named, then search their regions."""
        weighed = yield from self._weighed(context, model, grids)
        shares = [_shares(grid, estimate) for grid, estimate in zip(grids, weighed.estimates, strict=True)]
        predictions = _predictions(weighed)
        ranked = self.features is None and len(grids) > MOST_FEATURES
        if ranked:
            few = rows.keep(rows.sampled(RANKED_ROWS, self.seed))
            spread = partial(_heterogeneity, few, shares)
            spreads = yield from self._from_curves(_in_rows(context, few), model, grids, spread)
            predictions += _predictions(spreads)
            chosen = np.argsort(-np.array(spreads.estimates), kind="stable")[:MOST_FEATURES]
            grids, shares = [grids[n] for n in chosen], [shares[n] for n in chosen]
        candidates = _interacting(model, [grid.axes[0].feature for grid in grids], cells)
        variance, square = _moments(weighed)
        search = RegionSearch.of(
            rows,
            cells,
            {number for numbers in candidates for number in numbers},
            max_depth=self.max_depth,
            min_gain=self.min_gain,
            variance=variance,
            least_gain=ROUNDING * square,
        )
        block = Block(rows.table, rows.weights, 0)
        points = [grid.nearest_point(block.column(grid.axes[0].feature)) for grid in grids]
        find = lambda number, curves: search.find(  # noqa: E731
            curves, shares[number], points[number], candidates[number]
        )
        estimated = yield from self._from_curves(context, model, grids, find)
        facts = {**combine_facts([estimated]), "predictions": predictions + _predictions(estimated)}
        return FoundRegions(search, tuple(grids), tuple(estimated.estimates), facts, ranked)

    def _summaries(self, context: RunContext) -> tuple[dict[int, Summary], dict[int, FeatureError]]:
        """Return the summary of each column, and the errors of columns that cannot be summarized."""

        def summary(j: int) -> Summary | FeatureError:
            try:
                return context.data.summary(j, self.wanted)
            except FeatureError as error:
                return error

        every = dict(zip(self.wanted, context.pool.map(summary, self.wanted), strict=True))
        errors = {j: error for j, error in every.items() if isinstance(error, FeatureError)}
        return {j: known for j, known in every.items() if isinstance(known, Summary)}, errors

    def _grids(
        self, context: RunContext, summaries: Mapping[int, Summary], errors: Mapping[int, FeatureError]
    ) -> tuple[list[Grid], tuple[str, ...]]:
        """Return the grid of each feature, at the edges of its bins, and the errors of skipped ones."""
        grids, skipped = [], []
        for j in (self.searched or self.wanted) if self.features is None else self.features:
            try:
                if j in errors:
                    raise errors[j]
                edges = summaries[j].edges
                points = None if not edges else edges[0].view(summaries[j].unit or edges[0].dtype)
                axis = axis_of(summaries[j], context.rows.table, j, self.axes.grid, given=points)
                if not len(axis):
                    raise FeatureError(f"{axis.name!r} has no finite value for a grid")
                grids.append(Grid((axis,)))
            except FeatureError as error:
                if self.features is not None:
                    raise
                skipped.append(str(error))
        if not grids and not self.optional:
            raise FeatureError(f"no column of X can be varied: {skipped[0]}")
        return grids, tuple(skipped)

    def _weighed(self, context: RunContext, model: Model, grids: Sequence[Grid]) -> Rounds:
        """Return the weight around each point, and the moments of predictions, in one pass."""
        request = MarginalRequest(tuple(grids), "average", **context.of_rows(), kept_rows=1)
        return evaluate_model(context, model, lambda candidate: request, AUTO, f"{self.verb}-weights")

    def _from_curves(
        self, context: RunContext, model: Model, grids: Sequence[Grid], estimate: Callable[[int, Floats], Any]
    ) -> Rounds:
        """Return estimates from the number of each grid and the curves ``(o, n, g)`` of all rows.

        Only the curves of some grids are held at a time.
        """
        rows, largest = context.rows, max(grid.n_points for grid in grids)
        held = max(1, CURVE_BYTES // (FLOAT * len(rows) * model.n_outputs * largest))
        estimates, evaluated = [], []
        for first in range(0, len(grids), held):
            portion = tuple(grids[first : first + held])
            try:
                requested = partial(_request, context, portion)
                curves = yield from evaluate_model(context, model, requested, AUTO, self.verb)
            except MemoryBoundError as error:
                raise MemoryBoundError(
                    f"max_memory does not fit the individual curves of {portion[0].names[0]!r} at "
                    f"{count(len(rows), 'row')}; raise max_memory of Explainer, or pass a smaller subsample="
                ) from error
            evaluated.append(curves)
            estimates += [estimate(n, effect.individual) for n, effect in enumerate(curves.estimates, first)]
        plans = [plan for curves in evaluated for plan in curves.plans]
        return replace(evaluated[0], plans=plans, estimates=estimates)

    def _curves(self, context: RunContext, found: FoundRegions) -> Rounds:
        """Return the curves by region of each grid; without a split, all rows are one region."""
        steps = list[Steps]()
        groupings = self._groupings(found)
        for feature, grouping in groupings:
            axes = replace(self.axes, features=(feature,), surveyed=tuple(self.wanted), skip=False)
            effect = EffectsStatistic(((feature,),), axes, alone=True, verb=f"{self.verb}-curves-{feature}")
            steps.append(by_group(context, grouping, effect))
        builders = yield from lockstep(steps)
        return [
            RegionCurves(*grouping, cache(build)) for grouping, build in zip(groupings, builders, strict=True)
        ]

    def _groupings(self, found: FoundRegions) -> list[tuple[int, RegionGrouping]]:
        """Return the feature of each grid, and its regions as groups of rows."""
        groupings = []
        for grid, estimate in zip(found.grids, found.estimates, strict=True):
            _, regions = regions_of(found.search, estimate)
            labels, leaves = tuple(region.text for region in regions), tuple(estimate.regions)
            name, candidates = f"regions of {grid.names[0]}", found.search.candidates
            grouping = RegionGrouping(name, labels, leaves, estimate.splits, candidates)
            groupings.append((grid.axes[0].feature, grouping))
        return groupings

    def _result(
        self,
        context: RunContext,
        found: FoundRegions,
        skipped: tuple[str, ...],
        curves: Sequence[RegionCurves],
    ) -> Regions:
        """Build the result."""
        search, every = found.search, context.rows.n_weighted
        searched = len(search.weights)
        facts = found.facts | {"standard_error_rows": int(search.measures.sum())}
        if search.units is not None:
            facts["standard_error_units"] = len(np.unique(search.units[search.measures]))
        if searched < every:
            facts |= {"sampled_rows": searched, "seed": self.seed}
        provenance = context.record(
            **facts,
            grid_resolution=self.axes.bins[0],
            points=sum(grid.n_points for grid in found.grids),
            rank_error=context.data.rank_error(self.wanted),
        )
        sampled = _sampled_notes(searched, every, self.seed, ranked=found.ranked)
        notes = (*sampled, *few_unit_notes(provenance))
        scale = context.rows.weight_scale
        features = [
            _feature(search, grid.names, estimate, curve.build(), scale, notes, provenance)
            for grid, estimate, curve in zip(found.grids, found.estimates, curves, strict=True)
        ]
        ordered = sorted(features, key=lambda feature: -feature.heterogeneity)
        return Regions(tuple(ordered), skipped)


class RegionCurves(NamedTuple):
    """The regions of a feature as groups of rows, and the function that builds their curves."""

    feature: int
    grouping: RegionGrouping
    build: Callable[[], GroupedResults]


class SearchedRegions(NamedTuple):
    """The rows in which regions were searched, and the curves of the feature whose splits gain most."""

    rows: Rows
    best: RegionCurves | None


@dataclass(frozen=True, eq=False)
class FoundRegions:
    """The regions of the feature of each grid, and the record of their computation.

    ``ranked`` says that the features were chosen by their heterogeneity.
    """

    search: RegionSearch
    grids: tuple[Grid, ...]
    estimates: tuple[RegionEstimate, ...]
    facts: dict[str, Any]
    ranked: bool


def _predictions(estimated: ModelEstimates) -> int:
    """Return the number of rows that the model predicted."""
    return sum(plan.evaluator.predictions for plan in estimated.plans)


def _request(
    context: RunContext, grids: tuple[Grid, ...], candidate: type[StatisticEvaluator] | None
) -> EvaluationRequest:
    """Return the request for the individual curves of all rows, whichever the candidate evaluator."""
    return EvaluationRequest(grids, "individual", **context.of_rows(), strengths=False)


def _in_rows(context: RunContext, rows: Rows) -> RunContext:
    """Return the context of some of its rows in memory."""
    if rows is context.rows:
        return context
    return replace(context, data=InMemoryData(rows, True), of_sample=True)


def _heterogeneity(rows: Rows, shares: Sequence[Floats], number: int, curves: Floats) -> float:
    """Return the heterogeneity of the curves of a grid over all rows."""
    return heterogeneity(curves, shares[number], rows.weights)


def regions_of(
    search: RegionSearch, estimate: RegionEstimate, weight_scale: float = 1.0
) -> tuple[tuple[RegionSplit, ...], tuple[Region, ...]]:
    """Return the kept splits of a feature, and its regions."""
    splits = tuple(_split(search, split) for split in estimate.splits)
    paths = [_path(splits, node) for node in estimate.regions]
    texts = [region_text(path) for path in paths]
    if len(set(texts)) < len(texts):  # thresholds that round alike are written in full
        texts = [region_text(path, plain_value) for path in paths]
    regions = tuple(
        Region(
            node=node,
            text=text,
            rows=facts.rows,
            weight=facts.weight * weight_scale,
            heterogeneity=facts.heterogeneity / facts.weight,
        )
        for text, (node, facts) in zip(texts, estimate.regions.items(), strict=True)
    )
    return splits, regions


def _feature(
    search: RegionSearch,
    names: tuple[str, ...],
    estimate: RegionEstimate,
    curves: GroupedResults,
    weight_scale: float,
    notes: tuple[Note, ...],
    provenance: Provenance,
) -> FeatureRegions:
    """Return the regions of one feature."""
    whole = estimate.whole
    splits, regions = regions_of(search, estimate, weight_scale)
    return FeatureRegions(
        feature_names=names,
        splits=splits,
        regions=regions,
        heterogeneity=whole.heterogeneity / whole.weight,
        heterogeneity_within=sum(facts.heterogeneity for facts in estimate.regions.values()) / whole.weight,
        prediction_variance=search.variance,
        curves=curves,
        notes=notes,
        provenance=provenance,
    )


def _split(search: RegionSearch, split: FoundSplit) -> RegionSplit:
    """Return a split as a result."""
    cells, variance = search.candidates[split.cells], search.variance
    threshold, categories = cells.side_values(split.left)
    return RegionSplit(
        node=split.node,
        feature=cells.name,
        threshold=threshold,
        categories=categories,
        missing=None if not cells.missing else "left" if split.left[-1] else "right",
        rows=split.rows,
        gain=split.gain,
        gain_error=split.error,
        share_of_heterogeneity=split.gain / split.heterogeneity if split.heterogeneity else 0.0,
        share_of_variance=split.gain / variance if variance else 0.0,
    )


def _path(splits: Sequence[RegionSplit], leaf: int) -> list[tuple[RegionSplit, int]]:
    """Return the splits that lead to a node, each with the side of the node."""
    nodes = [leaf >> up for up in range(leaf.bit_length() - 1)][::-1]
    by_node = {split.node: split for split in splits}
    return [(by_node[node // 2], node % 2) for node in nodes]


def _moments(weighed: ModelEstimates) -> tuple[float, float]:
    """Return the variance and the mean square of the predictions of all rows, summed over outputs."""
    means = weighed.plans[0].evaluator
    assert isinstance(means, CellMeans)
    found = means.predictions_in(weighed.state)
    with ignore_fp_errors():
        variance = float((found.deviation**2).sum())
        return variance, variance + float((found.mean**2).sum())


def _shares(grid: Grid, cells: CellEstimate) -> Floats:
    """Return the share of the weight around each point of a grid, with the missing value if it is one."""
    axis = grid.axes[0]
    weight = cells.weight[axis.cell_of_point]
    if grid.includes_missing:
        weight = np.append(weight, cells.weight[axis.n_cells])
    total = weight.sum()
    return np.asarray(weight / total if total > 0 else np.full(len(weight), 1 / len(weight)), np.float64)


def _interacting(
    model: Model, features: Sequence[int], cells: tuple[SplitCells, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return for each feature the numbers of the features that may interact with it.

    In a sum of trees these share a path with it. A sum of terms of single features has no interactions.
    """
    others = tuple(tuple(n for n, one in enumerate(cells) if one.feature != feature) for feature in features)
    try:
        structure = structure_of(model)
        refuse_joined(structure, features)
    except RefusalError:
        return others
    if isinstance(structure, Combination) or not structure.link.linear:
        return others
    if isinstance(structure, Additive):
        return ((),) * len(features)
    family = family_of((one.feature,) for one in cells)
    program = program_of(structure.ensemble, family, kernels())
    known = [family.features.index(one.feature) for one in cells]
    pairs = {frozenset(pair) for pair in pairs_sharing_path(program)}
    return tuple(
        tuple(n for n in own if {family.features.index(feature), known[n]} in pairs)
        for feature, own in zip(features, others, strict=True)
    )


def _sampled_notes(searched: int, rows: int, seed: int, *, ranked: bool) -> tuple[Note, ...]:
    """Return notes on sampled rows: of the search, and of the choice of features."""
    notes = []
    if searched < rows:
        search = NoteCode.ROWS_SAMPLED.note(
            what="the search for regions", rows=searched, total=rows, consequence="curves use all rows"
        )
        notes.append(search)
    if ranked and searched > RANKED_ROWS:
        choice = NoteCode.ROWS_SAMPLED.note(
            what="the choice of the most heterogeneous features",
            rows=RANKED_ROWS,
            total=rows,
            consequence="name features to choose others",
        )
        notes.append(choice)
    return tuple(notes)

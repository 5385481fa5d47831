"""Regions of the data in which the individual curves of a feature are alike."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from paribus._api.by_group import by_group
from paribus._api.combine import combine_facts
from paribus._api.data import InMemoryData
from paribus._api.run import (
    ModelEstimates,
    Rounds,
    RowsNeededError,
    RunContext,
    Steps,
    evaluate_model,
    lockstep,
)
from paribus._api.statistics.axis_options import AxisOptions
from paribus._api.statistics.effects_statistic import EffectsStatistic
from paribus._contracts import Floats
from paribus._data.rows import Rows
from paribus._data.summary import SEED, Summary, SummarySpec
from paribus._evaluators.cell_means import CellEstimate, CellMeans, MarginalRequest
from paribus._evaluators.interactions.tree_interactions import pairs_sharing_path
from paribus._evaluators.region_cells import RegionGrouping, SplitCells
from paribus._evaluators.region_search import (
    FoundSplit,
    NodeFacts,
    RegionEstimate,
    RegionRequest,
    SplitBounds,
)
from paribus._evaluators.trees.programs import family_of, program_of
from paribus._grid import Grid, axis_of
from paribus._kernels import kernels
from paribus._models import Model, structure_of
from paribus._models.additive import Additive
from paribus._models.combination import Combination, refuse_joined
from paribus._states.sums import ignore_fp_errors
from paribus._text import plain_value
from paribus._typing import AUTO
from paribus.errors import FeatureError, RefusalError
from paribus.notes import Note, NoteCode
from paribus.results import FeatureRegions, GroupedResults, Provenance, Region, Regions, RegionSplit
from paribus.results.regions import region_text

MOST_FEATURES = 5  # features that are searched unless they are named
RANKED, RANKED_BRUTE = 4_096, 512  # rows by which these are chosen: of a structure, and of predictions
ALL_ROWS, BRUTE_ROWS = None, 4_000  # default number of rows that are searched: by structure, by predictions
ROUNDING = 1e-24  # share of the mean squared prediction: a smaller gain is due to rounding


@dataclass(frozen=True, eq=False)
class RegionStatistic:
    """Splits of the rows by other features that most reduce the spread of centered individual curves.

    ``features`` are None to search those with the most heterogeneous curves among ``searched``, or among all
    columns if that is None. An ``optional`` result is None if no column can be varied, or if the structure of
    the model cannot be read, so that many predictions would be needed. ``size`` is the number of rows to
    sample, None for all, or "auto" for the first of ``sizes`` if the structure of the model is read, and the
    second if the model predicts.
    """

    axes: AxisOptions
    features: tuple[int, ...] | None
    max_depth: int
    bounds: SplitBounds
    size: int | str | None
    seed: int
    method: str = AUTO
    verb: str = "regions"
    sizes: tuple[int | None, int] = (ALL_ROWS, BRUTE_ROWS)
    searched: tuple[int, ...] | None = None
    optional: bool = False
    _sampled: dict[tuple[RunContext, int], tuple[Rows, float]] = field(default_factory=dict)

    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the sample, and of standard errors."""
        return tuple(dict.fromkeys((self.seed, SEED)))

    @property
    def reads_trees(self) -> bool:
        """Whether it probably uses the trees of a model, which are then read in advance."""
        return self.method != "brute"

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.axes.wanted

    def evaluate(self, context: RunContext) -> Steps:
        """Weigh the points of the grids, choose features if none are named, then search their regions."""
        (model,) = context.models
        if self.optional and not _is_read(model):
            return lambda: None
        summaries, errors = self._summaries(context)
        grids, skipped = self._grids(context, summaries, errors)
        if not grids:
            return lambda: None
        cells = tuple(SplitCells.of(j, summary) for j, summary in summaries.items())
        candidates = _interacting(model, [grid.axes[0].feature for grid in grids], cells)
        weighed = yield from self._weighed(context, model, grids, f"{self.verb}-weights")
        means, (variance, square) = weighed.plans[0].evaluator, _moments(weighed)
        shares = [_shares(grid, own) for grid, own in zip(grids, weighed.estimates, strict=True)]
        request = replace(
            self._request(context, grids, tuple(shares), cells),
            candidates=candidates,
            variance=variance,
            least_gain=ROUNDING * square,
        )
        ranked: int | None = None
        if self.features is None and len(grids) > 1:
            spread = yield from self._searched(context, model, request, RANKED)
            ranked = spread.plans[0].evaluator.request.n_weighted
            order = np.argsort([-one.whole.heterogeneity for one in spread.estimates], kind="stable")
            request = request.only(tuple(order[:MOST_FEATURES].tolist()))
        request = replace(request, max_depth=self.max_depth)
        searched = yield from self._searched(context, model, request, None)
        curves = yield from self._curves(context, request, searched)
        return partial(self._result, context, request, searched, means.predictions, skipped, ranked, curves)

    def _summaries(self, context: RunContext) -> tuple[dict[int, Summary], dict[int, FeatureError]]:
        """Return the summary of each column, and the errors of columns that cannot be summarized."""

        def summary(j: int) -> Summary | FeatureError:
            try:
                return context.data.summary(j, self.wanted)
            except FeatureError as error:
                return error

        every = dict(zip(self.wanted, context.pool.map(summary, self.wanted), strict=True))
        errors = {j: one for j, one in every.items() if isinstance(one, FeatureError)}
        return {j: one for j, one in every.items() if isinstance(one, Summary)}, errors

    def _grids(
        self, context: RunContext, summaries: Mapping[int, Summary], errors: Mapping[int, FeatureError]
    ) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
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
        return tuple(grids), tuple(skipped)

    def _weighed(self, context: RunContext, model: Model, grids: tuple[Grid, ...], name: str) -> Rounds:
        """Return the weight around each point, and the moments of predictions, in one pass."""
        request = MarginalRequest(grids, "average", **context.of_rows(), kept_rows=1)
        return evaluate_model(context, model, lambda candidate: request, AUTO, name)

    def _request(
        self,
        context: RunContext,
        grids: tuple[Grid, ...],
        shares: tuple[Floats, ...],
        cells: tuple[SplitCells, ...],
    ) -> RegionRequest:
        """Return the request of the heterogeneity of every grid on all rows, without splits."""
        return RegionRequest(
            grids,
            "average",
            **context.of_rows(),
            strengths=False,
            shares=shares,
            cells=cells,
            bounds=self.bounds,
        )

    def _searched(
        self, context: RunContext, model: Model, request: RegionRequest, ranked: int | None
    ) -> Rounds:
        """Return the estimates of a request; with ``ranked``, on at most as many rows."""
        name = self.verb if ranked is None else f"{self.verb}-ranking"
        requested = partial(self._requested, context, request, ranked)
        sample = partial(self._sample, context, model, request.grids[:1])
        return evaluate_model(context, model, requested, self.method, name, sample=sample)

    def _requested(
        self, context: RunContext, request: RegionRequest, ranked: int | None, candidate: type[Any] | None
    ) -> RegionRequest:
        """Return the request to a candidate evaluator; raise `RowsNeededError` if it needs a sample first."""
        predicts = candidate is not None and not candidate.shortcut
        size = self.size if isinstance(self.size, int) else None
        if self.size == AUTO:
            size = self.sizes[predicts]
        held = self.optional and not context.rows.in_memory  # one sample for all passes
        if ranked is not None and not held:
            size = min(RANKED_BRUTE if predicts else ranked, size or ranked)
        if size is None or (size >= context.rows.n_weighted and not held):
            return request
        if (context, size) not in self._sampled:
            raise RowsNeededError(size, self.seed)
        rows, variance = self._sampled[context, size]
        return replace(request.among(rows), background=rows, variance=variance)

    def _sample(
        self, context: RunContext, model: Model, grids: tuple[Grid, ...], size: int
    ) -> Generator[Any, Any, None]:
        """Sample rows for `_requested`, and compute the variance of their predictions."""
        rows = yield from context.subsample(size, self.seed)
        sampled = replace(context, data=InMemoryData(rows, True), of_sample=True)
        weighed = yield from self._weighed(sampled, model, grids, f"{self.verb}-variance-{size}")
        self._sampled[context, size] = rows, _moments(weighed)[0]

    def _curves(self, context: RunContext, request: RegionRequest, searched: ModelEstimates) -> Rounds:
        """Return the functions that build the curves by region of each grid with splits."""
        rows = {n: plan.evaluator.request.background for plan in searched.plans for n in plan.numbers}
        steps: dict[int, Steps] = {}
        for number, found in enumerate(searched.estimates):
            if not found.splits:
                continue
            feature, (name,) = request.grids[number].axes[0].feature, request.grids[number].names
            regions = regions_of(request, found)[1]
            labels, leaves = tuple(one.text for one in regions), tuple(one.node for one in regions)
            grouping = RegionGrouping(f"regions of {name}", labels, leaves, found.splits, request.cells)
            axes = replace(self.axes, features=(feature,), surveyed=tuple(self.wanted), skip=False)
            verb = f"{self.verb}-curves-{feature}"
            effect = EffectsStatistic(((feature,),), axes, method=self.method, alone=True, verb=verb)
            some = rows[number]
            own = context
            if isinstance(some, Rows):
                own = replace(context, data=InMemoryData(some, True), of_sample=True)
            steps[number] = by_group(own, grouping, effect)
        return dict(zip(steps, (yield from lockstep(list(steps.values()))), strict=True))

    def _result(
        self,
        context: RunContext,
        request: RegionRequest,
        searched: ModelEstimates,
        predicted: int,
        skipped: tuple[str, ...],
        ranked: int | None,
        curves: Mapping[int, Callable[[], GroupedResults]],
    ) -> Regions:
        """Build the result; ``ranked`` is the number of rows by which features were chosen."""
        every = context.rows.n_weighted
        used = min((plan.evaluator.request.background or context.rows).n_weighted for plan in searched.plans)
        facts, sampled = combine_facts([searched]), used < every
        predicted += used if sampled else 0  # for the variance of the sample
        if sampled:
            facts |= {"sampled_rows": used, "seed": self.seed}
        provenance = context.record(
            **{**facts, "predictions": facts["predictions"] + predicted},
            grid_resolution=self.axes.bins[0],
            points=request.points,
            rank_error=context.data.rank_error(self.wanted),
        )
        notes = _sampled_notes(provenance, every, ranked)
        scale = context.rows.weight_scale
        requests: dict[int, RegionRequest] = {}
        for plan in searched.plans:
            planned = plan.evaluator.request
            assert isinstance(planned, RegionRequest)
            requests |= {n: replace(request, variance=planned.variance) for n in plan.numbers}
        features = [
            _feature(requests[number], number, found, curves, scale, notes, provenance)
            for number, found in enumerate(searched.estimates)
        ]
        ordered = sorted(features, key=lambda one: -one.heterogeneity)
        return Regions(tuple(ordered), skipped)


def regions_of(
    request: RegionRequest, found: RegionEstimate, weight_scale: float = 1.0
) -> tuple[tuple[RegionSplit, ...], tuple[Region, ...]]:
    """Return the kept splits of a feature, and its regions."""
    splits = tuple(_split(request, split, found.whole.measured) for split in found.splits)
    leaves = leaves_of(found)
    paths = [_path(splits, node) for node in leaves]
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
        for text, (node, facts) in zip(texts, leaves.items(), strict=True)
    )
    return splits, regions


def _feature(
    request: RegionRequest,
    number: int,
    found: RegionEstimate,
    curves: Mapping[int, Callable[[], GroupedResults]],
    weight_scale: float,
    notes: tuple[Note, ...],
    provenance: Provenance,
) -> FeatureRegions:
    """Return the regions of one feature."""
    bounds, whole = request.bounds, found.whole
    measured = whole.measured or 1.0  # few rows may all select splits
    splits, regions = regions_of(request, found, weight_scale)
    return FeatureRegions(
        feature_names=request.grids[number].names,
        splits=splits,
        regions=regions,
        rejected=tuple(_split(request, split, measured) for split in found.rejected),
        heterogeneity=whole.heterogeneity / whole.weight,
        heterogeneity_within=sum(facts.heterogeneity for facts in leaves_of(found).values()) / whole.weight,
        prediction_variance=request.variance,
        curves=curves[number]() if number in curves else None,
        min_gain=bounds.min_gain,
        min_variance=bounds.min_variance,
        min_errors=bounds.min_errors,
        notes=notes,
        provenance=provenance,
    )


def _split(request: RegionRequest, split: FoundSplit, weight: float) -> RegionSplit:
    """Return a split as a result; ``weight`` is that of all rows that measure."""
    cells = request.cells[split.cells]
    threshold, categories = cells.side_values(split.left)
    whole, variance = split.whole.measured_heterogeneity, request.variance * weight
    return RegionSplit(
        node=split.node,
        feature=cells.name,
        threshold=threshold,
        categories=categories,
        missing=None if not cells.missing else "left" if split.left[-1] else "right",
        rows=split.whole.rows,
        gain=split.gain / weight,
        gain_error=split.error / weight,
        share_of_heterogeneity=split.gain / whole if whole else 0.0,
        share_of_variance=split.gain / variance if variance else 0.0,
    )


def leaves_of(found: RegionEstimate) -> dict[int, NodeFacts]:
    """Return the facts about each region by its node, from left to right."""
    split = {one.node: one for one in found.splits}

    def below(node: int, facts: NodeFacts) -> dict[int, NodeFacts]:
        if node not in split:
            return {node: facts}
        left, right = split[node].sides
        return below(2 * node, left) | below(2 * node + 1, right)

    return below(1, found.whole)


def _path(splits: Sequence[RegionSplit], leaf: int) -> list[tuple[RegionSplit, int]]:
    """Return the splits that lead to a node, each with the side of the node."""
    nodes = [leaf >> up for up in range(leaf.bit_length() - 1)][::-1]
    by_node = {split.node: split for split in splits}
    return [(by_node[node // 2], node % 2) for node in nodes]


def _is_read(model: Model) -> bool:
    """Return whether the structure of a model can be read."""
    try:
        structure_of(model)
    except RefusalError:
        return False
    return True


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


def _sampled_notes(provenance: Provenance, rows: int, ranked: int | None) -> tuple[Note, ...]:
    """Return notes on sampled rows: of the search, and of the choice of features."""
    notes = []
    if provenance.sampled_rows is not None:
        text = (
            f"regions are searched for in {provenance.sampled_rows:,} of {rows:,} rows "
            f"(seed={provenance.seed}); pass subsample for another number"
        )
        notes.append(Note(NoteCode.ROWS_SAMPLED, text, value=provenance.sampled_rows))
    if ranked is not None and ranked < rows:
        text = f"the most heterogeneous features were chosen by {ranked:,} of {rows:,} rows; or name features"
        notes.append(Note(NoteCode.ROWS_SAMPLED, text, value=ranked))
    return tuple(notes)

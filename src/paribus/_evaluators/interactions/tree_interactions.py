"""Interactions of tree ensembles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from paribus._budget import AHEAD, FLOAT, format_bytes
from paribus._contracts import Floats
from paribus._data.rows import Block
from paribus._data.samples import Sample
from paribus._evaluators.interactions.effect_moments import (
    EffectMoments,
    JointMoments,
    ZeroThresholds,
    interaction_p_values,
    ratios_of,
    strongest_triples,
    variance_shares,
)
from paribus._evaluators.interactions.requests import (
    ExactInteractions,
    FeatureCurves,
    InfluenceSample,
    InteractionRequest,
    InteractionStatistics,
    Ratio,
)
from paribus._evaluators.interactions.tree_passes import (
    CoveragePass,
    CoverageTables,
    PredictionPass,
    influence_within,
)
from paribus._evaluators.request import Fold, Passes
from paribus._evaluators.trees.leaf_boxes import (
    ExpectedLeaves,
    Leaves,
    ThresholdCells,
    Tuples,
    columns_of,
    in_tuples,
)
from paribus._evaluators.trees.programs import codes_of, family_of, program_of
from paribus._kernels import kernels, prepare
from paribus._kernels.program import ACTIVE, SLOT, Ints, Program
from paribus._models import Model, trees_of
from paribus._models.ensemble import Ensemble
from paribus._models.trees import Trees
from paribus._states import CodeTuples, Keyed
from paribus.errors import MemoryBoundError, RefusalCode, RefusalError

BLOCK_ROWS = 16_384
BLOCKS = 8  # minimum number of blocks of a table, for threads
MERGED = 32  # maximum size of a state per row of its block, unless the table is too short
WITNESSES, FEWEST = 2_048, 1_024  # rows whose influence gives standard errors, with errors of 5 or 10 %
WORK = 1_000_000_000  # maximum of leaves times pairs they test times influence rows
HELD, LEAST = 500_000_000, 64  # bytes of effects at the influence rows; minimum number of these rows
TABLES = 4  # in memory while a pair is looked up: of both features, of their differences, and copies
MOST_TUPLES = 100_000  # maximum number of cells of a feature with several columns
TUPLE_SHARE = 128  # bytes of max_memory per code of a tuple, as several states are in memory
OF_PAIR, OF_ITEM = 16, 16  # floats for the statistics of a pair, and for a leaf that tests a pair
OF_TRIPLE = 12  # floats per row while a triple is looked up: cells, parts of its effect, and copies


@dataclass(frozen=True, eq=False)
class TreeInteractions(ExactInteractions):
    r"""Exact strengths of a sum of trees on every row.

    A leaf is a box: it adds its value to rows whose cells pass its tests of each feature. Only the leaves
    that test all features of a group T contribute to its interaction,

    .. math:: I_T(x) = \sum_{l \supseteq T} v_l \sum_{S \subseteq T} (-1)^{|T| - |S|} 1[x_S \in l] A_l(S)

    with :math:`A_l(S)` the share of rows that reach l with S free. The interaction is a table over the cells
    of T, and zero for a group that no path tests together. The first pass counts the coverage and the rows in
    each pair of cells. The second pass computes the change of predictions if one feature is averaged out.
    """

    model: Model
    request: InteractionRequest
    ensemble: Ensemble
    single: Program
    groups: tuple[tuple[int, ...], ...]
    program: Program
    leaves: Leaves | ExpectedLeaves

    name: ClassVar[str] = "tree_exact"
    structure: ClassVar[type | None] = Trees
    how: ClassVar[str] = "exact, from the trees"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> TreeInteractions:
        """Return the evaluator, with the pairs of features that share a path."""
        trees = trees_of(model)
        if not trees.link.linear:
            raise RefusalError(
                f"{model.response} is not a sum over leaves, so rows are crossed with each other; "
                "response_method='decision_function', where the model has one, is exact on all rows",
                RefusalCode.NONLINEAR_LINK,
            )
        ensemble, scale = trees.ensemble, trees.link.scale
        if scale != 1.0:
            ensemble = replace(ensemble, value=ensemble.value * scale, base=ensemble.base * scale)
        if ensemble.preparation is not None:
            ensemble.preparation.refuse_joined(request.features)
        single = program_of(ensemble, family_of((feature,) for feature in request.features), kernels())
        groups = pairs_sharing_path(single) if request.pairwise else ()
        features = single.family.features
        named = [tuple(features[position] for position in group) for group in groups]
        program = program_of(ensemble, family_of([*((f,) for f in features), *named]), kernels())
        cover = "weighted_cover" if request.rows.weighted else "cover"
        pairs = ["pair_moments", "interact"] if groups else []
        prepare(program, "passing", cover, *pairs, "lose", "line_curves")
        leaves = (
            ExpectedLeaves.of(program, len(request.rows))
            if in_tuples(program)
            else Leaves.of(program, kernels())
        )
        return cls(model, request, ensemble, single, groups, program, leaves)

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        return (
            f"counting {len(self.groups)} pairs of features on every row needs {format_bytes(needed)} and "
            f"max_memory is {format_bytes(self.request.max_memory)}. Raise max_memory of Explainer, name "
            "fewer features, or pass subsample="
        )

    @cached_property
    def sample(self) -> Sample:
        """The rows whose influence gives the standard errors: fewer if many leaves test many pairs."""
        by_work = int(np.clip(WORK // max(1, self._items), FEWEST, WITNESSES))
        # In memory are several effects of each pair, and for one feature at a time the curves of all
        # influence rows at their cells.
        held, margins = HELD // FLOAT, self.program.n_margins
        by_pairs = held // (16 * max(1, len(self.groups)) * margins)
        cells = int(self.leaves.size.max(initial=1))
        by_curves = max(math.isqrt(held // (4 * margins)), held // (4 * margins * cells))
        size = min(by_work, by_pairs, by_curves, len(self.request.rows))
        return self.request.rows.sample(max(LEAST, size), self.request.seed)

    @cached_property
    def _items(self) -> int:
        """Number of pairs that leaves test, summed over leaves."""
        sizes = (self.program.family.members >= 0).sum(axis=1)
        return int((sizes[self.program.slot_set] > 1).sum())

    @cached_property
    def _counted(self) -> Ints | None:
        """The pairs of features whose cells are counted together, None if the cells of each row are kept."""
        pairs = np.array(self.groups, np.int32).reshape(-1, 2)
        # Tables with more cells than rows take more memory than the rows.
        cells = self.leaves.size[pairs].astype(np.int64).prod(axis=1).sum()
        return pairs if cells <= len(pairs) * len(self.request.rows) else None

    @cached_property
    def counting(self) -> CoveragePass:
        """The first pass over the rows, after cells are known."""
        assert isinstance(self.leaves, Leaves)
        return CoveragePass(
            self.program,
            self.ensemble,
            self.leaves,
            self._counted,
            self.sample.numbers,
            self.request.outcome,
        )

    @cached_property
    def state_numbers(self) -> int:
        """Size of the state of one block, without kept rows."""
        pairs, size = self._counted, self.leaves.size.astype(np.int64)
        return self.program.n_slots + int(0 if pairs is None else size[pairs].prod(axis=1).sum())

    @cached_property
    def _largest_pair(self) -> int:
        """Cells of the largest pair of features."""
        size = self.leaves.size.astype(np.int64)
        return int(size[np.array(self.groups, np.int32).reshape(-1, 2)].prod(axis=1).max(initial=1))

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough for several threads, and more if states to merge are large."""
        rows, chunk = len(self.request.rows), int(kernels().CHUNK)
        shared = min(BLOCK_ROWS, -(-rows // (BLOCKS * chunk)) * chunk)
        return int(max(1, shared, min(-(-rows // BLOCKS), self.state_numbers // MERGED)))

    @property
    def held_bytes(self) -> int:
        """Memory of trees, kept rows, and effects at the influence rows."""
        program, rows = self.program, self.request.rows
        kept = 0 if self._counted is not None else 4 * len(rows) * len(self.request.features)
        levels = math.ceil(math.log2(max(2, len(rows) / self.block_rows))) + 2
        functions = len(self.groups) * program.n_margins * len(self.sample.numbers)
        trees = program.nbytes + self.single.nbytes + self.leaves.nbytes
        triples = OF_TRIPLE * program.n_margins * len(rows) if self.request.threeway else 0
        found = OF_PAIR * len(self.request.pairs) * program.n_margins
        amounts = OF_ITEM * self._items * self.ensemble.value.shape[1]
        numbers = levels * self.state_numbers + 8 * functions + found + amounts + triples
        return int(trees + 2 * kept + FLOAT * numbers)

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: its state, codes, and effects of its rows."""
        program, rows = self.program, min(self.block_rows, len(self.request.rows))
        functions = 6 * len(self.request.features) * program.n_margins + 2 * len(program.columns)
        lists = program.levels if program.shallow < len(program.entries) else 0
        influence_rows = len(self.sample.numbers)
        points = min(influence_rows, int(self.leaves.size.max(initial=1)))
        curves = 2 * program.n_margins * points * influence_rows
        tables = TABLES * min(self.leaves.largest, self._largest_pair * program.n_margins)
        if self._counted is not None:
            tables = 2 * self._largest_pair
        # Blocks wait for a thread while others are read.
        read = 0 if self.request.rows.in_memory else (1 + AHEAD) * self.request.rows.table.row_bytes * rows
        read += rows * self.ensemble.prepared_bytes
        return read + int(FLOAT * max(self.state_numbers + rows * (functions + lists), curves, tables))

    def _fold(self, name: str, evaluator: CoveragePass | PredictionPass | TuplePass, block_rows: int) -> Fold:
        rowwise = getattr(evaluator, "pairs", ()) is None
        settings = (self.request.settings, rowwise), self.sample.numbers
        return Fold(name, evaluator, block_rows, settings=settings)

    def passes(self, threads: int) -> Passes:
        """Yield a pass that finds occurring tuples of codes if needed, then the passes of `_statistics`."""
        if isinstance(self.leaves, Leaves):
            return (yield from self._statistics(threads))
        features = in_tuples(self.program)
        columns = sum(len(columns_of(self.program, feature)) for feature in features)
        most = max(1, min(MOST_TUPLES, self.request.max_memory // (TUPLE_SHARE * columns)))
        finding = TuplePass(self.program, self.ensemble, features, most)
        state = yield self._fold("codes", finding, min(BLOCK_ROWS, self.block_rows))
        known = self._with(finding.finish(state, self.request.rows.table.names), threads)
        return (yield from known._statistics(threads))

    def _with(self, tuples: Tuples, threads: int) -> TreeInteractions:
        """Return the evaluator with the occurring cells, or raise if they do not fit the memory bound."""
        known = replace(self, leaves=Leaves.of(self.program, kernels(), tuples=tuples))
        vars(known)["sample"] = self.sample  # its size was recorded
        needed = known.memory(threads)
        if needed <= self.request.max_memory:
            return known
        shortage = self.shortage(1.01 * needed)
        if self.request.memory_was_given:
            raise MemoryBoundError(shortage)
        raise RefusalError(shortage, RefusalCode.MEMORY)

    def _statistics(self, threads: int) -> Passes:
        """Yield the passes for coverage, predictions and triples, and return the statistics."""
        state = yield self._fold("coverage", self.counting, self.block_rows)
        tables, target = CoverageTables.of(self.counting, state), state.parts.get(("observed", 0))
        observed = None if target is None else target.finish()
        walking = self._walking(tables)
        influence_rows = InfluenceSample.of(
            self.sample, self.request.rows.total, self.request.rows.n_weighted
        )
        joint = self._joint(tables, influence_rows, threads) if self.groups else None
        sums = yield self._fold("predictions", walking, min(BLOCK_ROWS, self.block_rows))
        evidence = self._evidence(tables, walking, sums)
        # Averages are computed in double precision, even if the library predicts in single precision.
        predictions, single = evidence.full.T + walking.center, self.ensemble.single_sum
        zero = ZeroThresholds.of(evidence.variance, predictions, single=False, single_own=single)
        ratios = ratios_of(evidence, joint, influence_rows, zero, threads)
        pairs = np.zeros_like(evidence.full) if self.request.pairwise else None
        pairs = pairs if joint is None else joint.interaction.sum(axis=0)
        explained = variance_shares(ratios["rest"], evidence, pairs, influence_rows, zero)
        if self.request.pairwise:
            together = sums.parts["together", 0].cells / tables.total
            ratios["joint"] = self._of_all_pairs(
                ratios.get("joint"), joint, evidence, together, influence_rows, zero
            )
        triples = strongest_triples(ratios, len(self.request.features), self.request.threeway)
        threeway = None
        if triples:
            counting = counting_of(self.ensemble, self.request, self.sample, triples, self._tuples)
            state = yield self._fold("triples", counting, self.block_rows)
            three = joint_of(
                self.ensemble, self.request, triples, influence_rows, CoverageTables.of(counting, state)
            )
            threeway = ratios_of(evidence, three, influence_rows, zero, threads)["joint"]
        return InteractionStatistics(
            zero.above(evidence.variance),
            ratios["main"],
            explained,
            ratios.get("left_out"),
            ratios.get("joint"),
            ratios.get("overall"),
            ratios["rest"] if self.request.has_total else None,
            threeway,
            triples,
            floor=zero.own,
            p_values=interaction_p_values(evidence, observed, influence_rows, zero),
        )

    @cached_property
    def _position(self) -> list[int]:
        """Position of each requested feature in the family, which is in the order of the table."""
        return [self.single.family.features.index(feature) for feature in self.request.features]

    @property
    def _tuples(self) -> Tuples:
        """The occurring tuples of codes of features whose columns are not crossed."""
        return self.counting.leaves.cells.tuples

    def _walking(self, tables: CoverageTables) -> PredictionPass:
        walk = self.single
        if not self.request.overall:
            walk = program_of(self.ensemble, family_of([()]), kernels())
        share = np.zeros(walk.n_slots)
        if self.request.overall:
            leaves = Leaves.of(walk, kernels(), tuples=self._tuples)
            for position, counts in enumerate(tables.cells):
                slots, weight = leaves.passing_weight(position, counts)
                share[slots] = weight / tables.total
        cells = ThresholdCells(self.single, self._tuples)
        return PredictionPass(
            walk, self.ensemble, cells, tables.effects, share, tables.center + self.ensemble.base
        )

    def _evidence(self, tables: CoverageTables, walking: PredictionPass, sums: Keyed) -> EffectMoments:
        effect, full, lost = walking.functions(tables.sample)
        first, second = (sums.parts[name, 0].cells / tables.total for name in ("first", "second"))
        square = np.maximum(second - first**2, 0.0)
        features = len(self._position)
        main = [
            table**2 @ counts / tables.total
            for table, counts in zip(tables.effects, tables.cells, strict=True)
        ]
        position = self._position

        return EffectMoments(
            variance=square[0],
            main=np.array(main)[position],
            lost=square[2 : 2 + features][position] if self.request.overall else None,
            overall=square[2 + features :][position] if self.request.overall else None,
            rest=square[1],
            full=full,
            effect=effect[position],
            loss=lost[position] if self.request.overall else None,
            single=lambda j: self._single(tables, position[j]),
        )

    def _single(self, tables: CoverageTables, position: int) -> FeatureCurves:
        """Return the curves of the influence rows over a feature, at their cells."""
        cells = ThresholdCells(self.single, self._tuples)
        occupied, point = np.unique(cells.of(tables.sample)[position], return_inverse=True)
        points = cells.points(position, occupied)
        traced = kernels().trace(self.single, [points])
        chunk, rows = int(kernels().CHUNK), tables.sample.shape[1]
        curves = [
            kernels().curves(
                self.single, traced, np.ascontiguousarray(tables.sample[:, first : first + chunk])
            )
            for first in range(0, rows, chunk)
        ]
        return FeatureCurves(np.concatenate(curves, axis=-1), point)

    def _joint(self, tables: CoverageTables, influence_rows: InfluenceSample, threads: int) -> JointMoments:
        """Return the moments of the pairs that share a path."""
        squares, functions = tables.pair_moments(self.groups, self.counting.pairs, threads)
        weighed = influence_rows.centered(functions) * influence_rows.share
        inner = influence_within(self.ensemble, tables, self.groups, weighed, threads)
        place = {position: number for number, position in enumerate(self._position)}
        groups = tuple(tuple(sorted(place[position] for position in group)) for group in self.groups)
        numerator, denominator = squares.swapaxes(0, 1)
        interaction, effect = functions.swapaxes(0, 1)
        return JointMoments(groups, numerator, denominator, interaction, effect, inner)

    def _of_all_pairs(
        self,
        sharing: Ratio | None,
        joint: JointMoments | None,
        evidence: EffectMoments,
        together: Floats,
        influence_rows: InfluenceSample,
        zero: ZeroThresholds,
    ) -> Ratio:
        """Return the ratios of all pairs; without a common path, joint effects are sums of effects."""
        count, position = len(self._position), np.array(self._position)
        one, other = np.triu_indices(count, 1)
        square = evidence.main[one] + evidence.main[other] + 2 * together[:, position[one], position[other]].T
        every = influence_rows.none(square, zero.averages)
        if joint is None or sharing is None:
            return every
        first, second = np.array(joint.groups).T
        return every.replaced(first * count - first * (first + 1) // 2 + second - first - 1, sharing)


def pairs_sharing_path(program: Program) -> tuple[tuple[int, ...], ...]:
    """Return the pairs of features, as positions in the family, that are tested on the same path."""
    leaves = np.flatnonzero(program.entries[:, SLOT] >= 0)
    active = program.entries[leaves, ACTIVE]
    tests = np.zeros((len(leaves), len(program.family.features)), np.float32)
    feature = program.family.members[program.slot_set, 0]
    of_slot = np.repeat(np.arange(len(leaves)), active)
    tests[of_slot[feature >= 0], feature[feature >= 0]] = 1.0
    one, other = np.nonzero(np.triu(tests.T @ tests, 1))
    return tuple(zip(one.tolist(), other.tolist(), strict=True))


Group = tuple[int, ...]


def counting_of(
    ensemble: Ensemble,
    request: InteractionRequest,
    sample: Sample,
    triples: tuple[Group, ...],
    tuples: Tuples,
) -> CoveragePass:
    """Return the evaluator of the coverage of triples, which takes one more pass over the rows.

    ``tuples`` are the occurring tuples of codes of features with several columns.
    """
    program = program_of(ensemble, family_of(_triple_columns(request, triples)), kernels())
    leaves = Leaves.of(program, kernels(), tuples=tuples)
    return CoveragePass(program, ensemble, leaves, None, sample.numbers)


def _triple_columns(request: InteractionRequest, triples: tuple[Group, ...]) -> list[Group]:
    """Return the columns of each triple, in their order in the table."""
    return [tuple(sorted(request.features[j] for j in triple)) for triple in triples]


def joint_of(
    ensemble: Ensemble,
    request: InteractionRequest,
    triples: tuple[Group, ...],
    influence_rows: InfluenceSample,
    tables: CoverageTables,
) -> JointMoments:
    """Return the moments of triples from their coverage."""
    features = tables.leaves.program.family.features
    position = {feature: number for number, feature in enumerate(features)}
    positions = [
        tuple(position[feature] for feature in triple) for triple in _triple_columns(request, triples)
    ]
    found = [_triple_moments(ensemble, tables, triple, influence_rows) for triple in positions]
    squares, functions, inner = zip(*found, strict=True)
    return JointMoments.of(triples, squares, functions, inner)


def _triple_moments(
    ensemble: Ensemble, tables: CoverageTables, triple: Group, influence_rows: InfluenceSample
) -> tuple[Floats, Floats, Floats]:
    """Return mean squares ``(2, m)``, effects at influence rows, and inner influence ``(2, m, i)``."""
    at, weight, own = tables.points(triple)
    sharing = [
        group for size in (2, 3) for group in combinations(triple, size) if len(tables.leaves.testing(group))
    ]
    effect = sum(tables.effects[position][:, at[way]] for way, position in enumerate(triple))
    interaction = np.zeros_like(effect)
    for group in sharing:
        values = tables.interaction(group, at[[triple.index(position) for position in group]])
        effect = effect + values
        interaction = values if len(group) == 3 else interaction
    square, functions = tables.squared(np.stack([interaction, effect]), weight, own)
    return square, functions, _triple_inner_influence(ensemble, tables, sharing, functions, influence_rows)


def _triple_inner_influence(
    ensemble: Ensemble,
    tables: CoverageTables,
    sharing: list[Group],
    functions: Floats,
    influence_rows: InfluenceSample,
) -> Floats:
    """Return the influence of rows through averages that vary two or three of the features."""
    if not sharing:
        return np.zeros_like(functions)
    weighed = influence_rows.centered(functions) * influence_rows.share
    # The interaction of a pair is part of the joint effect of the triple, not of its interaction.
    functions_of = np.stack(
        [weighed if len(group) == 3 else weighed * [[[0.0]], [[1.0]]] for group in sharing]
    )
    return np.asarray(influence_within(ensemble, tables, sharing, functions_of).sum(axis=0))


@dataclass(frozen=True, eq=False)
class TuplePass:
    """First pass, which finds occurring tuples of codes; more than ``most`` per feature are refused."""

    program: Program
    ensemble: Ensemble
    features: tuple[int, ...]
    most: int

    def evaluate(self, block: Block) -> Keyed:
        """Return the tuples of codes in a block."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        codes = codes_of(self.program, self.ensemble, block, kernels())
        return Keyed(
            {
                ("tuples", feature): CodeTuples.of(codes[columns_of(self.program, feature)], self.most)
                for feature in self.features
            }
        )

    def finish(self, state: Keyed, names: tuple[str, ...]) -> Tuples:
        """Return the tuples of codes in all rows; ``names`` are the column names of the table."""
        found: dict[int, CodeTuples] = {feature: state.parts["tuples", feature] for feature in self.features}
        for feature, own in found.items():
            columns, count = own.tuples.shape
            if count > own.most:
                raise RefusalError(
                    f"its trees test {columns} columns made of {names[feature]!r}, of which X has more than "
                    f"{own.most:,} combinations, the most that max_memory permits",
                    RefusalCode.MEMORY,
                )
        return {feature: own.tuples for feature, own in found.items()}

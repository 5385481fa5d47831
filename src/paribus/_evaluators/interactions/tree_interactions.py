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
from paribus._data.rows import Block, Sample
from paribus._evaluators.interactions.effect_moments import (
    EffectMoments,
    JointMoments,
    ZeroThresholds,
    ratios_of,
    strongest_triples,
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
    TABLE_CELLS,
    ExpectedLeaves,
    Leaves,
    ThresholdCells,
    Tuples,
    columns_of,
    in_tuples,
)
from paribus._evaluators.trees.programs import codes_of, family_of, program_of
from paribus._kernels import kernels
from paribus._kernels.program import ACTIVE, SLOT, Ints, Program
from paribus._models import Model, trees_of
from paribus._models.ensemble import Ensemble
from paribus._models.trees import Trees
from paribus._states import CodeTuples, Keyed
from paribus.errors import MemoryBoundError, RefusalCode, RefusalError

BLOCK_ROWS = 16_384
BLOCKS = 8  # a table is cut into at least so many, for threads
MERGED = 32  # numbers of a state per row of its block, at most, unless the table is too short
WITNESSES, FEWEST = 2_048, 1_024  # rows whose influence gives the standard errors, to 5 or 10 %
WORK = 1_000_000_000  # leaves times pairs they test times influence rows, that errors may take
HELD, LEAST = 500_000_000, 64  # bytes of functions at the influence rows; and how many these are in any case
TABLES = 4  # held at once while a pair is looked up: of both features, of their differences, and copies
MOST_TUPLES = 100_000  # cells of a feature that owns several columns
TUPLE_SHARE = 128  # bytes of max_memory for each code of a tuple: there are some states at once
OF_PAIR, OF_ITEM = 16, 16  # numbers for statistics of a pair, and for a leaf that tests a pair
OF_TRIPLE = 12  # numbers per row while a triple is looked up: cells, parts of its effect, and copies


@dataclass(frozen=True, eq=False)
class TreeInteractions(ExactInteractions):
    r"""Strengths of a sum of trees, exactly, on every row.

    A leaf is a box: it adds its value where each feature's cell lies among those that pass. In the
    interaction of a group T of features only the leaves that test all of T remain,

    .. math:: I_T(x) = \sum_{l \supseteq T} v_l \sum_{S \subseteq T} (-1)^{|T| - |S|} 1[x_S \in l] A_l(S)

    with :math:`A_l(S)` the share of rows that reach l with S free, so that it is a table over the cells of T
    and a group that no path tests together has none at all. One pass counts the coverage and the rows in
    each pair of cells; what a prediction loses with one feature averaged out takes a second.
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
    how: ClassVar[str] = "looks up every row in tables of leaf interactions"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> TreeInteractions:
        """Find which features share a path."""
        trees = trees_of(model)
        if not trees.link.linear:
            raise RefusalError(
                f"{model.response} is no sum over leaves, so that every row would have to be evaluated with "
                f"the "
                "values of every other; response_method='decision_function', where the model has one, is a "
                "sum and exact on every row",
                RefusalCode.NONLINEAR_LINK,
            )
        ensemble, scale = trees.ensemble, trees.link.scale
        if scale != 1.0:
            ensemble = replace(ensemble, value=ensemble.value * scale, base=ensemble.base * scale)
        if ensemble.preparation is not None:
            ensemble.preparation.refuse_joined(request.features)
        single = program_of(ensemble, family_of((feature,) for feature in request.features), kernels())
        groups = _sharing(single) if request.pairwise else ()
        features = single.family.features
        named = [tuple(features[position] for position in group) for group in groups]
        program = program_of(ensemble, family_of([*((f,) for f in features), *named]), kernels())
        leaves = (
            ExpectedLeaves.of(program, len(request.rows))
            if in_tuples(program)
            else Leaves.of(program, kernels())
        )
        return cls(model, request, ensemble, single, groups, program, leaves)

    def memory(self, threads: int) -> int:
        """Return the memory it takes at most; states wait beside blocks that several threads evaluate."""
        return self.held_bytes + self.worker_bytes * (1 if threads == 1 else 2 * threads)

    def shortage(self, needed: float) -> str:
        """Return what to say where the memory bound is below what is ``needed``."""
        return (
            f"counting {len(self.groups)} pairs of features on every row needs {format_bytes(needed)} and "
            f"max_memory is {format_bytes(self.request.max_memory)}. Raise max_memory, name fewer features, "
            f"or pass "
            "subsample="
        )

    @cached_property
    def sample(self) -> Sample:
        """The rows whose influence gives the errors: fewer where many leaves test many pairs."""
        by_work = int(np.clip(WORK // max(1, self._items), FEWEST, WITNESSES))
        # Of each pair some functions are held; of one feature at a time the curves of all influence rows, at
        # the cells that they have.
        held, margins = HELD // FLOAT, self.program.n_margins
        by_pairs = held // (16 * max(1, len(self.groups)) * margins)
        cells = int(self.leaves.size.max(initial=1))
        by_curves = max(math.isqrt(held // (4 * margins)), held // (4 * margins * cells))
        size = min(by_work, by_pairs, by_curves, len(self.request.rows)) // self.request.influence_cut
        return self.request.rows.sample(max(LEAST, size), self.request.seed)

    @cached_property
    def _items(self) -> int:
        """How many pairs all leaves test."""
        sizes = (self.program.family.members >= 0).sum(axis=1)
        return int((sizes[self.program.slot_set] > 1).sum())

    @cached_property
    def _largest(self) -> int:
        """Numbers of a table, at most."""
        return self.leaves.largest // self.request.block_cut

    @cached_property
    def _counted(self) -> Ints | None:
        """The pairs of features whose cells are counted together, None where each row's cells are kept."""
        pairs = np.array(self.groups, np.int32).reshape(-1, 2)
        # A table that has more cells than there are rows is emptier than the rows themselves.
        cells = self.leaves.size[pairs].astype(np.int64).prod(axis=1).sum()
        return pairs if cells <= len(pairs) * len(self.request.rows) else None

    @cached_property
    def counting(self) -> CoveragePass:
        """The first pass over the rows once cells are known."""
        assert isinstance(self.leaves, Leaves)
        leaves = replace(self.leaves, largest=self._largest) if self.request.block_cut > 1 else self.leaves
        return CoveragePass(self.program, self.ensemble, leaves, self._counted, self.sample.numbers)

    @cached_property
    def state_numbers(self) -> int:
        """Numbers in the state of one block, but for rows that are kept as they are."""
        pairs, size = self._counted, self.leaves.size.astype(np.int64)
        return self.program.n_slots + int(0 if pairs is None else size[pairs].prod(axis=1).sum())

    @cached_property
    def _largest_pair(self) -> int:
        """Cells of the largest pair of features."""
        size = self.leaves.size.astype(np.int64)
        return int(size[np.array(self.groups, np.int32).reshape(-1, 2)].prod(axis=1).max(initial=1))

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough to share, and more where a state is large, so that few are merged."""
        rows, chunk = len(self.request.rows), int(kernels().CHUNK)
        shared = min(BLOCK_ROWS, -(-rows // (BLOCKS * chunk)) * chunk)
        shared = max(shared, min(-(-rows // BLOCKS), self.state_numbers // MERGED))
        return int(max(1, shared // self.request.block_cut))

    @property
    def held_bytes(self) -> int:
        """Trees, rows that are kept, and functions at the influence rows."""
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
        """Memory that one block takes: its state, codes, and the functions of its rows."""
        program, rows = self.program, min(self.block_rows, len(self.request.rows))
        functions = 6 * len(self.request.features) * program.n_margins + 2 * len(program.columns)
        lists = program.levels if program.shallow < len(program.entries) else 0
        influence_rows = len(self.sample.numbers)
        points = min(influence_rows, int(self.leaves.size.max(initial=1)))
        curves = 2 * program.n_margins * points * influence_rows
        tables = TABLES * min(self._largest, self._largest_pair * program.n_margins)
        if self._counted is not None:
            tables = 2 * self._largest_pair
        # Blocks that are read wait for a thread, and others are read meanwhile.
        read = 0 if self.request.rows.in_memory else (1 + AHEAD) * self.request.rows.table.row_bytes * rows
        read += rows * self.ensemble.prepared_bytes
        return read + int(FLOAT * max(self.state_numbers + rows * (functions + lists), curves, tables))

    def _fold(
        self,
        name: str,
        evaluator: CoveragePass | PredictionPass | TuplePass,
        block_rows: int,
        preview: JointMoments | None = None,
    ) -> Fold:
        rowwise = getattr(evaluator, "pairs", ()) is None
        settings = (self.request.settings, rowwise), self.sample.numbers
        return Fold(name, evaluator, block_rows, settings=settings, preview=preview)

    def passes(self, threads: int) -> Passes:
        """Find which tuples of codes occur where one feature owns many columns, and go on."""
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
        """Return itself with the cells that occur, and in smaller blocks if they need more than expected."""
        known = replace(self, leaves=Leaves.of(self.program, kernels(), tuples=tuples))
        needed = []
        for cut in self.request.cuts:
            if cut >= self.request.cut:
                smaller = replace(known, request=replace(self.request, cut=cut))
                vars(smaller)["sample"] = self.sample  # whose size was recorded
                needed.append(smaller.memory(threads))
                if needed[-1] <= self.request.max_memory:
                    return smaller
        shortage = self.shortage(1.01 * min(needed))
        if self.request.memory_was_given:
            raise MemoryBoundError(shortage)
        raise RefusalError(shortage, RefusalCode.MEMORY)

    def _statistics(self, threads: int) -> Passes:
        """Count, look up, and square."""
        state = yield self._fold("coverage", self.counting, self.block_rows)
        tables = CoverageTables.of(self.counting, state)
        walking = self._walking(tables)
        influence_rows = InfluenceSample.of(
            self.sample, self.request.rows.total, self.request.rows.n_weighted
        )
        # Which pairs are strongest is known before the second pass, which their surfaces can share.
        joint = self._joint(tables, influence_rows, threads) if self.groups else None
        sums = yield self._fold("predictions", walking, min(BLOCK_ROWS, self.block_rows), joint)
        evidence = self._evidence(tables, walking, sums)
        # Averages are of sums in double precision, whatever the library does.
        predictions, single = evidence.full.T + walking.center, self.ensemble.single_sum
        zero = ZeroThresholds.of(evidence.variance, predictions, single=False, single_own=single)
        ratios = ratios_of(evidence, joint, influence_rows, zero, threads)
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
            ratios.get("left_out"),
            ratios.get("joint"),
            ratios.get("overall"),
            ratios.get("total"),
            threeway,
            triples,
            floor=zero.own,
        )

    @cached_property
    def _position(self) -> list[int]:
        """Where each feature requested stands in the family, which is in the order of the table."""
        return [self.single.family.features.index(feature) for feature in self.request.features]

    @property
    def _tuples(self) -> Tuples:
        """The tuples of codes that occur, of features whose columns are not crossed."""
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

        def single(j: int) -> FeatureCurves:
            return self._single(tables, position[j])

        return EffectMoments(
            variance=square[0],
            main=np.array(main)[position],
            lost=square[2 : 2 + features][position] if self.request.overall else None,
            overall=square[2 + features :][position] if self.request.overall else None,
            total=square[1] if self.request.overall and self.request.every_column else None,
            full=full,
            effect=effect[position],
            loss=lost[position] if self.request.overall else None,
            single=single,
        )

    def _single(self, tables: CoverageTables, position: int) -> FeatureCurves:
        """Draw the influence rows' curves over a feature, at the cells they have."""
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
        """Return the statistics of the pairs that share a path."""
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
        """Return the statistics of all pairs: the effect of two that share no path is the sum of theirs."""
        count, position = len(self._position), np.array(self._position)
        one, other = np.triu_indices(count, 1)
        square = evidence.main[one] + evidence.main[other] + 2 * together[:, position[one], position[other]].T
        every = influence_rows.none(square, zero.averages)
        if joint is None or sharing is None:
            return every
        first, second = np.array(joint.groups).T
        return every.replaced(first * count - first * (first + 1) // 2 + second - first - 1, sharing)


def _sharing(program: Program) -> tuple[tuple[int, ...], ...]:
    """Return the pairs of features, as positions in the family, that some path tests together."""
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
    """Return who counts the coverage of triples, which takes one more pass over the rows.

    ``tuples`` are those of codes that occur, of features that own several columns.
    """
    program = program_of(ensemble, family_of(_named(request, triples)), kernels())
    leaves = Leaves.of(program, kernels(), TABLE_CELLS // request.block_cut, tuples)
    return CoveragePass(program, ensemble, leaves, None, sample.numbers)


def _named(request: InteractionRequest, triples: tuple[Group, ...]) -> list[Group]:
    """Return the columns of each triple, in their order in the table."""
    return [tuple(sorted(request.features[j] for j in triple)) for triple in triples]


def joint_of(
    ensemble: Ensemble,
    request: InteractionRequest,
    triples: tuple[Group, ...],
    influence_rows: InfluenceSample,
    tables: CoverageTables,
) -> JointMoments:
    """Return the statistics of triples from their coverage."""
    features = tables.leaves.program.family.features
    position = {feature: number for number, feature in enumerate(features)}
    positions = [tuple(position[feature] for feature in triple) for triple in _named(request, triples)]
    found = [_triple(ensemble, tables, triple, influence_rows) for triple in positions]
    squares, functions, inner = zip(*found, strict=True)
    return JointMoments.of(triples, squares, functions, inner)


def _triple(
    ensemble: Ensemble, tables: CoverageTables, triple: Group, influence_rows: InfluenceSample
) -> tuple[Floats, Floats, Floats]:
    """Return mean squares ``(2, m)``, functions at influence rows and their inner influence ``(2, m, i)``."""
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
    return square, functions, _inner(ensemble, tables, sharing, functions, influence_rows)


def _inner(
    ensemble: Ensemble,
    tables: CoverageTables,
    sharing: list[Group],
    functions: Floats,
    influence_rows: InfluenceSample,
) -> Floats:
    """Return what influence rows do through averages that move two or three of the features."""
    if not sharing:
        return np.zeros_like(functions)
    weighed = influence_rows.centered(functions) * influence_rows.share
    # The interaction of a pair has a part in the joint effect of the triple, and none in its interaction.
    functions_of = np.stack(
        [weighed if len(group) == 3 else weighed * [[[0.0]], [[1.0]]] for group in sharing]
    )
    return np.asarray(influence_within(ensemble, tables, sharing, functions_of).sum(axis=0))


@dataclass(frozen=True, eq=False)
class TuplePass:
    """A pass over the rows before all others; more than ``most`` tuples of a feature are refused."""

    program: Program
    ensemble: Ensemble
    features: tuple[int, ...]
    most: int

    def evaluate(self, block: Block) -> Keyed:
        """Return the tuples of a block."""
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
        """Return the tuples of all rows; ``names`` are those of the columns of the table."""
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

"""Passes over the rows for interactions of tree ensembles, and interactions by crossed rows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block
from paribus._evaluators.interactions.crossed_interactions import TRIPLE_PARTS, CrossedInteractions, Group
from paribus._evaluators.interactions.requests import FeatureCurves, InteractionRequest
from paribus._evaluators.request import Fold
from paribus._evaluators.trees.leaf_boxes import Leaves, ThresholdCells, parts_of, tuples_among
from paribus._evaluators.trees.programs import codes_of, family_of, observed_points, program_of, with_free
from paribus._kernels import kernels
from paribus._kernels.program import CellPoints, Ints, PointCodes, Program
from paribus._models import Model, trees_of
from paribus._models.ensemble import Ensemble
from paribus._models.scoring import Outcome
from paribus._models.trees import Trees
from paribus._states import Counts, Keyed, RowCurves
from paribus.errors import RefusalCode, RefusalError

PRODUCT_ROWS = 256  # rows whose products are summed together


@dataclass(frozen=True, eq=False)
class CoveragePass:
    """First pass over the rows: coverage of leaves, and counts of rows in cells.

    ``pairs`` are the pairs of features whose cells are counted together, None to keep the cells of each row.
    """

    program: Program
    ensemble: Ensemble
    leaves: Leaves
    pairs: Ints | None
    sample: Integers
    outcome: Outcome | None = None

    def evaluate(self, block: Block) -> Keyed:
        """Return the coverage of a block, its counts, and the codes and targets of its sampled rows."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        weights = block.weights
        codes = codes_of(self.program, self.ensemble, block, kernels())
        cells = self.leaves.cells.of(codes)
        size = self.leaves.cells.size
        sampled = np.isin(block.positions, self.sample)
        states: dict[tuple[str, int], Any] = {
            ("weight", 0): Counts(np.array([len(codes.T) if weights is None else weights.sum()])),
            ("coverage", 0): Counts(kernels().cover(self.program, codes, weights)),
            ("sample", 0): RowCurves(((block.start, codes[:, sampled]),)),
        }
        if self.outcome is not None and block.target is not None:
            observed = self.outcome.numbers(block.target[sampled]).T
            states["observed", 0] = RowCurves(((block.start, observed),))
        for position in range(len(size)):
            states["cells", position] = Counts(
                np.bincount(cells[position], weights, minlength=int(size[position]))
            )
        if self.pairs is None:
            states["rows", 0] = RowCurves(((block.start, cells),))
            own = np.ones(len(block.table)) if weights is None else weights
            states["row weights", 0] = RowCurves(((block.start, own[None]),))
        else:
            states["pairs", 0] = Counts(kernels().count_pairs(cells, weights, self.pairs, size))
        return Keyed(states)


@dataclass(frozen=True, eq=False)
class PredictionPass:
    """Second pass: predictions of every row, effects, and changes if one feature is averaged out.

    ``effects`` are the centered effects of each feature by cell, ``(m, c)``. ``walk`` is a program whose
    family has the features that are averaged out, if any. ``share`` is, for each of its slots, the share of
    rows that pass a leaf's tests of the feature. ``center`` is the average prediction ``(m,)``.
    """

    walk: Program
    ensemble: Ensemble
    cells: ThresholdCells
    effects: tuple[Floats, ...]
    share: Floats
    center: Floats

    def evaluate(self, block: Block) -> Keyed:
        """Return sums over the rows of a block: products of effects, and functions and their squares."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        effect, full, lost = self.functions(codes_of(self.walk, self.ensemble, block, kernels()))
        weights = np.ones(effect.shape[-1]) if block.weights is None else block.weights
        functions = [full[None], (full - effect.sum(axis=0))[None]]
        if len(lost):
            functions += [lost, lost - effect]
        every = np.concatenate(functions)
        return Keyed(
            {
                ("together", 0): Counts(_products(effect, weights)),
                ("first", 0): Counts(np.einsum("fmi,i->fm", every, weights)),
                ("second", 0): Counts(np.einsum("fmi,fmi,i->fm", every, every, weights)),
            }
        )

    def functions(self, codes: Ints) -> tuple[Floats, Floats, Floats]:
        """Return effects ``(f, m, i)``, predictions minus ``center (m, i)``, and losses ``(f, m, i)``."""
        own = self.cells.of(codes)
        effect = np.stack([table[:, cell] for table, cell in zip(self.effects, own, strict=True)])
        full, lost = kernels().lose(self.walk, codes, self.share, self.ensemble.single_sum)
        return effect, full - self.center[:, None], lost.swapaxes(0, 1)


def _products(effect: Floats, weights: Floats) -> Floats:
    """Return the sums of products ``(m, f, f)`` of every two effects ``(f, m, i)``.

    Rows are processed in portions, because a BLAS library starts additional threads for larger matrices.
    """
    found = np.zeros((effect.shape[1], len(effect), len(effect)))
    for first in range(0, len(weights), PRODUCT_ROWS):
        some = slice(first, first + PRODUCT_ROWS)
        part = effect[..., some]
        found += (part * weights[some]).swapaxes(0, 1) @ part.transpose(1, 2, 0)
    return found


@dataclass(frozen=True, eq=False)
class CoverageTables:
    """Results of the first pass.

    Attributes
    ----------
    total : float
        Weight of the rows.
    share : (s,)
        Share of the rows that reach each slot.
    cells : tuple of (c,)
        Weight in the cells of each feature.
    effects : tuple of (m, c)
        The centered effect of each feature by cell.
    center : (m,)
        The average prediction, without the baseline.
    sample : (c, i)
        Codes of the influence rows.
    state : Keyed
        The state, with counts of pairs or cells of rows.
    """

    leaves: Leaves
    total: float
    share: Floats
    cells: tuple[Floats, ...]
    effects: tuple[Floats, ...]
    center: Floats
    sample: Ints
    state: Keyed

    @classmethod
    def of(cls, counting: CoveragePass, state: Keyed) -> CoverageTables:
        """Return the results, with the effects of single features from the coverage."""
        leaves, total = counting.leaves, float(state.parts["weight", 0].cells[0])
        share = state.parts["coverage", 0].cells / total
        cells = tuple(state.parts["cells", position].cells for position in range(len(leaves.cells.size)))
        effects = []
        for position, counts in enumerate(cells):
            table = leaves.table((position,), leaves.testing((position,)), share)
            effects.append(table - (table @ counts / total)[:, None])
        center = share[leaves.slots(())] @ leaves.value
        sample = np.ascontiguousarray(state.parts["sample", 0].finish())
        return cls(leaves, total, share, cells, tuple(effects), center, sample, state)

    def interaction(self, group: tuple[int, ...], at: Ints) -> Floats:
        """Return the uncentered interaction ``(m, i)`` of a group in cells ``(d, i)`` of its features."""
        leaves = self.leaves.testing(group)
        result = np.zeros((len(self.center), at.shape[1]))
        for part, sign in parts_of(group):
            positions = tuple(group[way] for way in part)
            result += sign * self.leaves.at(positions, leaves, self.share, at[list(part)], kernels())
        return result

    def points(self, group: tuple[int, ...]) -> tuple[Ints, Floats, Integers]:
        """Return the cells ``(d, g)`` of all rows, their weights, and the positions of influence rows.

        The cells of the influence rows are appended to those of all rows, which have the weights.
        """
        own = self.leaves.cells.of(self.sample)[list(group)]
        cells, weight = self._rows
        rows = cells[list(group)]
        return np.concatenate([rows, own], axis=1), weight, np.arange(own.shape[1]) + rows.shape[1]

    def pair_moments(
        self, groups: Sequence[tuple[int, ...]], counted: Ints | None, threads: int
    ) -> tuple[Floats, Floats]:
        """Return mean squares ``(t, 2, m)`` of interactions and joint effects of pairs, and their values.

        The values are those at the influence rows, ``(t, 2, m, i)``. ``counted`` are the pairs whose cells
        were counted, None if cells of rows were kept. Pairs with too large tables are looked up row by row.
        """
        pairs, size = np.array(groups, np.int32).reshape(-1, 2), self.leaves.cells.size
        margins, own = len(self.center), self.leaves.cells.of(self.sample)
        cells = size[pairs].astype(np.int64).prod(axis=1)
        tabled = (cells * margins <= self.leaves.largest) | (counted is not None)
        counts, rows, weight = None, np.empty((len(size), 0), np.int32), np.empty(0)
        if counted is None:
            rows, weight = self._rows
        else:
            counts = self.state.parts["pairs", 0].cells.astype(np.float64, copy=False)
        first = np.cumsum(cells) - cells
        points = CellPoints(pairs[tabled], size, counts, first[tabled], rows, weight, self.total)
        boxes, chosen = self.leaves.boxes(), [groups[number] for number in np.flatnonzero(tabled).tolist()]
        items = self.leaves.items(chosen, boxes, self.share)
        found: tuple[Floats, Floats] = kernels().pair_moments(
            boxes, items, points, self.effects, own, threads
        )
        if tabled.all():
            return found
        squares = np.empty((len(pairs), 2, margins))
        functions = np.empty((*squares.shape, own.shape[1]))
        squares[tabled], functions[tabled] = found
        with ThreadPoolExecutor(threads) as pool:
            numbers = np.flatnonzero(~tabled).tolist()
            others = pool.map(lambda number: self._looked_up(groups[number]), numbers)
            for number, other in zip(numbers, others, strict=True):
                squares[number], functions[number] = other
        return squares, functions

    def _looked_up(self, group: tuple[int, ...]) -> tuple[Floats, Floats]:
        at, weight, own = self.points(group)
        interaction = self.interaction(group, at)
        effect = interaction + sum(self.effects[position][:, at[way]] for way, position in enumerate(group))
        return self.squared(np.stack([interaction, effect]), weight, own)

    @cached_property
    def _rows(self) -> tuple[Ints, Floats]:
        """The kept cells of every row, and its weight."""
        return self.state.parts["rows", 0].finish(), self.state.parts["row weights", 0].finish()[0]

    def squared(self, functions: Floats, weight: Floats, own: Integers) -> tuple[Floats, Floats]:
        """Return the mean squares of centered functions ``(..., g)``, and their values at influence rows."""
        seen = functions[..., : len(weight)]
        mean = seen @ weight / self.total
        return (seen - mean[..., None]) ** 2 @ weight / self.total, functions[..., own] - mean[..., None]


def influence_within(
    ensemble: Ensemble,
    tables: CoverageTables,
    groups: Sequence[tuple[int, ...]],
    functions: Floats,
    threads: int = 1,
) -> Floats:
    """Return the influence of rows through averages that vary the features of a group together.

    ``functions (t, q, m, i)`` are multiplied by the shares of rows; the result has the same shape. Whether a
    row reaches a leaf with a group free depends on all other features that the leaf tests, also those not
    requested.
    """
    leaves, features = tables.leaves, tables.leaves.program.family.features
    tested = {ensemble.encodings[column].feature for column in np.unique(ensemble.column) if column >= 0}
    if not tested <= set(features):
        named = [tuple(features[position] for position in group) for group in groups]
        every = [(feature,) for feature in tested | set(features)]
        program = program_of(ensemble, family_of([*every, *named]), kernels())
        tuples = {**tuples_among(program, tested - set(features), tables.sample), **leaves.cells.tuples}
        leaves = Leaves.of(program, kernels(), tuples=tuples)
        position = {feature: number for number, feature in enumerate(leaves.program.family.features)}
        groups = [tuple(position[feature] for feature in group) for group in named]
    boxes = leaves.boxes()
    items = leaves.items(list(groups), boxes)
    result: Floats = kernels().interact(boxes, items, leaves.cells.of(tables.sample), functions, threads)
    return result


POINTS = 512  # points at which curves are computed together, so that a chunk of rows fits a CPU cache
HELD_ARRAYS = 4  # arrays of curves in memory: margins, and temporary arrays of the link
EDGE_BYTES = 8  # per point at which a leaf becomes reachable or unreachable


@dataclass(frozen=True, eq=False)
class TreeCurves:
    """Predictor of every row with the values of every other row, from the leaves that are reached.

    ``program`` has no free features; it is laid out again for each set of features.
    """

    trees: Trees
    program: Program

    def curves(self, block: Block, sets: Sequence[Group]) -> list[FeatureCurves]:
        """Return the predictions ``(o, g, i)`` at the values that rows have in each set of columns.

        Values that no split separates share a point.
        """
        codes = codes_of(self.program, self.trees.ensemble, block, kernels())
        return [self._computed(features, codes) for features in sets]

    def _computed(self, features: Group, codes: Ints) -> FeatureCurves:
        program = with_free(self.program, self.trees.ensemble, features)
        points, point = observed_points(program, codes, features)
        chunk, rows, curves = int(kernels().CHUNK), codes.shape[1], None
        for first, some in _point_portions(points):
            traced = kernels().trace(program, [some])
            for start in range(0, rows, chunk):
                own = np.ascontiguousarray(codes[:, start : start + chunk])
                computed = self.trees.outputs(kernels().curves(program, traced, own), overwrite=True)
                if curves is None:
                    curves = np.empty((len(computed), points.size, rows))
                curves[:, first : first + some.size, start : start + chunk] = computed
        assert curves is not None
        return FeatureCurves(curves, point)


def _point_portions(points: PointCodes) -> Iterator[tuple[int, PointCodes]]:
    """Yield portions of at most `POINTS` points, each with the number of its first point."""
    for first in range(0, points.size, POINTS):
        codes = np.ascontiguousarray(points.codes[:, first : first + POINTS])
        size = min(POINTS, points.size - first)
        yield first, replace(points, axis_first=np.array([0, size], np.int32), codes=codes, size=size)


@dataclass(frozen=True, eq=False)
class CrossedFeatures:
    """Evaluator of the curves over single features, with all rows in one block."""

    predictor: TreeCurves
    features: tuple[int, ...]

    def evaluate(self, block: Block) -> Keyed:
        """Return the curves of the block's features."""
        sets = [(self.features[number],) for number in block.questions]
        curves = self.predictor.curves(block, sets)
        return Keyed({("curves", number): one for number, one in zip(block.questions, curves, strict=True)})


@dataclass(frozen=True, eq=False)
class TreeCrossings(CrossedInteractions):
    r"""Strengths of a nonlinear function of sums of trees, such as a probability, without predictions.

    The prediction for row k with the values of row i in S is a function h of margins. A leaf adds its value
    to the margin if row i passes its tests of S and row k passes all others:

    .. math:: f(x_{i,S}, x_{k,\bar S}) = h\Big(b + \sum_l v_l 1[x_{i,S} \in l] 1[x_{k,\bar S} \in l]\Big)

    Rows i are sorted by their codes, and a leaf is visited only where it becomes reachable or unreachable.
    The result are the same n x n predictions for each set of features as those of brute force.
    """

    model: Model
    request: InteractionRequest
    trees: Trees
    program: Program

    name: ClassVar[str] = "tree_crossed"
    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    threaded: ClassVar[bool] = True
    how: ClassVar[str] = "from the trees, each row with the values of each other row"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> TreeCrossings:
        """Return the evaluator, or refuse a linear link, for which rows need not be crossed."""
        trees = trees_of(model)
        if trees.link.linear:
            raise RefusalError(
                f"{model.response} is a sum over leaves, so that no row has to be evaluated with the values "
                "of others",
                RefusalCode.UNSUPPORTED,
            )
        if trees.ensemble.preparation is not None:
            trees.ensemble.preparation.refuse_joined(request.features)
        return cls(model, request, trees, program_of(trees.ensemble, family_of([()]), kernels()))

    @property
    def predictor(self) -> TreeCurves:
        """Predictor that reads the trees."""
        return TreeCurves(self.trees, self.program)

    @property
    def block_rows(self) -> int:
        """All rows, because they are crossed with each other."""
        return max(1, len(self.request.rows))

    def _points(self, features: Group) -> int:
        """Return the maximum number of points of some features: that of rows, or of combinations of codes."""
        codes = self.program.n_codes.astype(np.float64)
        own = [position for feature in features for position in self.program.columns_of.get(feature, ())]
        return int(min(len(self.request.rows), codes[own].prod()))

    @property
    def held_bytes(self) -> int:
        """Memory of the trees, the curves over each feature, and the effects of pairs."""
        points = sum(self._points((feature,)) for feature in self.request.features)
        curves = FLOAT * points * len(self.request.rows) * self.model.n_outputs
        return int(self.program.nbytes + curves + self.functions_bytes)

    @property
    def worker_bytes(self) -> int:
        """Memory of the curves over a group of features and its parts, a portion of curves, and its trace."""
        rows, chunk = len(self.request.rows), int(kernels().CHUNK)
        sets = TRIPLE_PARTS if self.request.threeway else 1
        curves = sets * FLOAT * rows * rows * self.model.n_outputs
        numbers = self.program.n_margins + self.model.n_outputs
        drawing = HELD_ARRAYS * FLOAT * numbers * min(rows, POINTS) * min(rows, chunk)
        edges = EDGE_BYTES * len(self.program.entries) * min(rows, POINTS)
        return int(curves + drawing + edges + 2 * self.program.nbytes)

    def singles(self) -> Generator[Fold, Keyed, tuple[FeatureCurves, ...]]:
        """Yield a pass over single features, and return their curves."""
        count, rows = len(self.request.features), len(self.request.rows)
        drawing = CrossedFeatures(self.predictor, self.request.features)
        parts = tuple(((number,), rows) for number in range(count))
        state = yield self.fold("curves", drawing, self.block_rows, parts)
        return tuple(state.parts["curves", number] for number in range(count))

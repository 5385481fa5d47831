"""Strengths of trees behind a nonlinear link: every row with the values of every other, off the leaves."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._data.rows import Block
from paribus._evaluators.interactions.crossed_interactions import (
    TRIPLE_PARTS,
    CrossedInteractions,
    Group,
)
from paribus._evaluators.interactions.influence import FeatureCurves
from paribus._evaluators.interactions.interaction_request import InteractionRequest
from paribus._evaluators.request import Fold
from paribus._evaluators.trees.programs import (
    codes_of,
    family_of,
    observed_points,
    program_of,
    with_free,
)
from paribus._kernels import kernels
from paribus._kernels.program import Ints, PointCodes, Program
from paribus._models import Model, trees_of
from paribus._models.trees import Trees
from paribus._states import Keyed
from paribus.errors import RefusalCode, RefusalError

POINTS = 512  # at which curves are drawn at once: with a chunk of rows, what stays in a near cache
DRAWN = 4  # arrays of such a drawing that are held at once: margins, and what their link takes
EDGE_BYTES = 8  # of each point at which a leaf begins or ends to be reached


@dataclass(frozen=True, eq=False)
class TreeCurves:
    """Every row with the values of every other, added up from the leaves that it then reaches.

    ``program`` is for no free feature; each set of features is laid out when it is drawn.
    """

    trees: Trees
    program: Program

    def curves(self, block: Block, sets: Sequence[Group]) -> list[FeatureCurves]:
        """Return the predictions ``(o, g, i)`` at the values that rows have in each set of columns.

        Values that no split separates are one point.
        """
        codes = codes_of(self.program, self.trees.ensemble, block, kernels())
        return [self._drawn(features, codes) for features in sets]

    def _drawn(self, features: Group, codes: Ints) -> FeatureCurves:
        program = with_free(self.program, self.trees.ensemble, features, kernels())
        points, point = observed_points(program, codes, features)
        chunk, rows, curves = int(kernels().CHUNK), codes.shape[1], None
        for first, some in _cut(points):
            traced = kernels().trace(program, [some])
            for start in range(0, rows, chunk):
                own = np.ascontiguousarray(codes[:, start : start + chunk])
                drawn = self.trees.outputs(kernels().curves(program, traced, own), overwrite=True)
                if curves is None:
                    curves = np.empty((len(drawn), points.size, rows))
                curves[:, first : first + some.size, start : start + chunk] = drawn
        assert curves is not None
        return FeatureCurves(curves, point)


def _cut(points: PointCodes) -> Iterator[tuple[int, PointCodes]]:
    """Yield some points of a list at a time, with the number of the first."""
    for first in range(0, points.size, POINTS):
        codes = np.ascontiguousarray(points.codes[:, first : first + POINTS])
        size = min(POINTS, points.size - first)
        yield first, replace(points, axis_first=np.array([0, size], np.int32), codes=codes, size=size)


@dataclass(frozen=True, eq=False)
class CrossedFeatures:
    """Evaluates single features, all rows at a time."""

    predictor: TreeCurves
    features: tuple[int, ...]

    def evaluate(self, block: Block) -> Keyed:
        """Return the curves of the block's features."""
        sets = [(self.features[number],) for number in block.questions]
        curves = self.predictor.curves(block, sets)
        return Keyed({("curves", number): one for number, one in zip(block.questions, curves, strict=True)})


@dataclass(frozen=True, eq=False)
class TreeCrossings(CrossedInteractions):
    r"""Strengths of a nonlinear function of sums of trees, such as a probability, without the model.

    The prediction for row k with the values of row i in S is a link of margins, and in these every leaf adds
    its value if i passes its tests of S and k all its others:

    .. math:: f(x_{i,S}, x_{k,\bar S}) = h\Big(b + \sum_l v_l 1[x_{i,S} \in l] 1[x_{k,\bar S} \in l]\Big)

    Along the rows i, sorted by their codes, a leaf is visited only where it begins and ends to be reached.
    These are the n x n numbers for each set of features that brute force gets from the model.
    """

    model: Model
    request: InteractionRequest
    trees: Trees
    program: Program

    name: ClassVar[str] = "tree_crossed"
    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    threaded: ClassVar[bool] = True
    how: ClassVar[str] = "adds up the leaves that every row reaches with the values of every other row"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> TreeCrossings:
        """Lay the trees out, unless their outputs are sums."""
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

    def fallback(self, short: str) -> str | None:
        """Return nothing: it is no fallback."""
        return None

    @property
    def predictions(self) -> int:
        """The model itself predicts no row."""
        return 0

    @property
    def calls(self) -> int:
        """The model itself is not called."""
        return 0

    def predicted(self, crossed: int) -> int:
        """Return that the model predicted none of the rows."""
        return 0

    @property
    def rounds_to_single(self) -> bool:
        """Margins are added up in double precision, also those of a row by itself."""
        return False

    @property
    def predictor(self) -> TreeCurves:
        """The trees."""
        return TreeCurves(self.trees, self.program)

    def groups_together(self, *, triples: bool) -> int:
        """Return that groups are evaluated one by one."""
        return 1

    @property
    def block_rows(self) -> int:
        """All rows, which meet each other."""
        return max(1, len(self.request.rows))

    def _points(self, features: Group) -> int:
        """Return the number of points of some features at most: of rows, or of codes."""
        codes = self.program.n_codes.astype(np.float64)
        own = [position for feature in features for position in self.program.columns_of.get(feature, ())]
        return int(min(len(self.request.rows), codes[own].prod()))

    @property
    def held_bytes(self) -> int:
        """The trees, the curves of every row over each feature, and functions of pairs."""
        points = sum(self._points((feature,)) for feature in self.request.features)
        curves = FLOAT * points * len(self.request.rows) * self.model.n_outputs
        return int(self.program.nbytes + curves + self.functions_bytes)

    @property
    def worker_bytes(self) -> int:
        """The curves of every row over a group of features and its parts, a drawing, and its trace."""
        rows, chunk = len(self.request.rows), int(kernels().CHUNK)
        sets = TRIPLE_PARTS if self.request.threeway else 1
        curves = sets * FLOAT * rows * rows * self.model.n_outputs
        numbers = self.program.n_margins + self.model.n_outputs
        drawing = DRAWN * FLOAT * numbers * min(rows, POINTS) * min(rows, chunk)
        edges = EDGE_BYTES * len(self.program.entries) * min(rows, POINTS)
        return int(curves + drawing + edges + 2 * self.program.nbytes)

    def singles(self) -> Generator[Fold, Keyed, tuple[FeatureCurves, ...]]:
        """Draw the curves over single features."""
        count, rows = len(self.request.features), len(self.request.rows)
        drawing = CrossedFeatures(self.predictor, self.request.features)
        parts = tuple(((number,), rows) for number in range(count))
        state = yield self.fold("curves", drawing, self.block_rows, parts)
        return tuple(state.parts["curves", number] for number in range(count))

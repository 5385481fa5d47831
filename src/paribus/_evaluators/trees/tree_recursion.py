"""Partial dependence along the paths of the training data: another estimand, by name only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Floats
from paribus._data.rows import Block
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, SinglePass
from paribus._evaluators.trees.programs import laid_out
from paribus._kernels import kernels
from paribus._kernels.program import PointCodes, Program
from paribus._models import Model, trees_of
from paribus._models.ensemble import Ensemble
from paribus._models.trees import Trees
from paribus._states import Keyed
from paribus.errors import RefusalError
from paribus.meaning import Estimand

BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class TreeRecursion(SinglePass):
    r"""The path-dependent average of a sum of trees, baseline included.

    .. math:: b + \sum_l v_l \, 1[x_S \text{ passes } l] \prod_{t \notin S} c_t / c_{parent(t)}

    over the tests :math:`t` of other features on the way to leaf :math:`l`, with :math:`c` the training
    weight at a node. No row of ``X`` is evaluated: where features depend on each other this is not the
    brute-force number, and it knows no standard error.
    """

    model: Model
    request: EvaluationRequest
    program: Program
    points: tuple[PointCodes, ...]
    fraction: Floats

    name: ClassVar[str] = "tree_recursion"
    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    estimand: ClassVar[Estimand] = Estimand.PATH_DEPENDENT
    threaded: ClassVar[bool] = True
    how: ClassVar[str] = "follows both branches of other features, weighted by the training data"

    @staticmethod
    def _refusal(model: Model, request: EvaluationRequest) -> str | None:
        """Return why training paths do not give what is requested."""
        trees = trees_of(model)
        if request.individual:
            return "training paths have no curve of a single row; request kind='average'"
        if request.quantiles is not None:
            return "training paths have no curves of single rows, so no quantiles; leave quantiles out"
        if request.weighted:
            return "training paths have their own weights; leave sample_weight out"
        if not trees.link.linear:
            return (
                f"recursion averages sums of leaves, to which {model.response} applies a link; where the "
                "model has a decision_function, or is a booster, request response_method='decision_function'"
            )
        cover = trees.ensemble.cover
        if cover is None or not (cover > 0).all():
            return "the model does not record how much of its training data reached each node"
        return None

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> TreeRecursion:
        """Lay the trees out for the grids."""
        refusal = cls._refusal(model, request)
        if refusal is not None:
            raise RefusalError(refusal)
        ensemble = trees_of(model).ensemble
        program, points = laid_out(ensemble, request.grids, kernels())
        return cls(model, request, program, points, _fractions(ensemble))

    @property
    def block_rows(self) -> int:
        """Rows per block, of which only the support is counted."""
        return BLOCK_ROWS

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.model.n_outputs

    @property
    def held_bytes(self) -> int:
        """The trees as the kernels take them."""
        return self.program.nbytes

    @property
    def state_bytes(self) -> int:
        """A number per slot."""
        return FLOAT * self.program.n_slots

    @property
    def worker_bytes(self) -> int:
        """Rows are not evaluated; the shares of leaves are held."""
        return self.state_bytes

    @property
    def error_rows(self) -> int:
        """There is no standard error."""
        return 0

    def evaluate(self, block: Block) -> Keyed:
        """Rows are not read."""
        return Keyed({})

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return averages along the paths."""
        share = kernels().weigh(self.program, self.fraction)

        def answer(points: PointCodes) -> EffectEstimate:
            if not points.size:
                none = np.empty((self.model.n_outputs, 0))
                return EffectEstimate(none, none, None)
            average = kernels().average(self.program, points, share) + self.program.base[:, None]
            return EffectEstimate(average, np.full_like(average, np.nan), None)

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(answer, self.points))


def _fractions(ensemble: Ensemble) -> Floats:
    """Return for each node the share of its parent's training weight; 1 at roots."""
    assert ensemble.cover is not None
    inner = np.flatnonzero(ensemble.column >= 0)
    fraction = np.ones(len(ensemble.column))
    for children in (ensemble.left, ensemble.right):
        fraction[children[inner]] = ensemble.cover[children[inner]] / ensemble.cover[inner]
    return fraction

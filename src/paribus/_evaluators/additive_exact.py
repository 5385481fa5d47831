"""Exact effects of models that are a sum of one term per feature, behind a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._evaluators.exact_effects import BLOCKS, ExactEffects
from paribus._evaluators.prepared_rows import prepared_rows
from paribus._evaluators.request import EvaluationRequest
from paribus._grid import moved_values
from paribus._models import Model, structure_of
from paribus._models.additive import Additive
from paribus._states import BinnedSum, Keyed, Moments, PairedMoments
from paribus.errors import RefusalCode, RefusalError

PREPARED_ROWS = 65_536  # rows of a block behind preprocessing


@dataclass(frozen=True, eq=False)
class AdditiveExact(ExactEffects):
    r"""Partial dependence of a sum of terms, exactly: no row is predicted.

    With the features in S set to :math:`x_S`, the margin of a row is its own with their terms exchanged:

    .. math:: F(x_S, x_{iC}) = F(x_i) - \sum_{j \in S} g_j(x_{ij}) + \sum_{j \in S} g_j(x_j)

    so that on the scale of the margin all rows' curves are parallel.
    """

    model: Model
    request: EvaluationRequest
    additive: Additive
    features: tuple[int, ...]
    values: tuple[tuple[Floats, ...], ...]

    name: ClassVar[str] = "additive_exact"
    structure: ClassVar[type | None] = Additive
    how: ClassVar[str] = "adds the term of each feature at its values to the other terms of every row"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> AdditiveExact:
        """Evaluate the terms at the values of the grids."""
        features = tuple(sorted({axis.feature for grid in request.grids for axis in grid.axes}))
        additive = additive_of(model, features)
        requests, axes = moved_values(request.grids)
        terms = additive.values(requests)
        values = tuple(tuple(terms[number] for number in own) for own in axes)
        return cls(model, request, additive, features, values)

    @property
    def linear(self) -> bool:
        """Whether an average of outputs is the output of averages."""
        return self.additive.link.linear

    @property
    def bound(self) -> float | None:
        """A number that no output exceeds, None where that is not known."""
        return self.additive.bound

    @property
    def samples_errors(self) -> bool:
        """Whether standard errors come from curves of sampled rows: not of parallel ones, which add up."""
        return not self.linear and not self.request.individual

    def widened(self, rows: int) -> int:
        """Return more rows behind preprocessing, whose steps cost some milliseconds however few there are."""
        if self.additive.preparation is None:
            return rows
        return max(rows, min(-(-self.request.rows // BLOCKS), PREPARED_ROWS))

    @property
    def row_numbers(self) -> int:
        """Numbers that are kept of a row."""
        return (len(self.features) + 2) * self.n_margins

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of points of each grid."""
        return tuple(grid.n_points for grid in self.request.grids)

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return self.additive.n_margins

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        _, sketches = self.request.collected_bytes(self.model.n_outputs)
        return 2 * FLOAT * self.request.points * self.model.n_outputs + sketches

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: its terms, and a drawing of curves."""
        rows = min(self.block_rows, self.request.rows)
        terms = FLOAT * rows * (len(self.features) + 6) * self.n_margins
        kept = FLOAT * rows * self.request.points * self.model.n_outputs
        kept *= 1 if self.request.individual else 2 * (self.request.quantiles is not None)
        prepared = rows * self.additive.prepared_bytes
        return self.state_bytes + terms + kept + prepared + 4 * self.curve_bytes

    def read(self, block: Block) -> Array:
        """Return the terms of each feature that some grid varies, then margins."""
        return terms_of(self.additive, self.features, block).reshape(self.row_numbers, -1)

    def _rest(self, number: int, rows: Array) -> Floats:
        """Return the margins of rows without the terms that a grid replaces, ``(m, i)``."""
        terms = rows.reshape(len(self.features) + 2, self.n_margins, -1)
        own = [self.features.index(axis.feature) for axis in self.request.grids[number].axes]
        return self.additive.rest(terms, own)

    def _at_points(self, number: int) -> Floats:
        """Return the sum of the terms of a grid's features at each of its points, ``(m, g)``."""
        index = self.request.grids[number].index(0, self.sizes[number])
        total = np.zeros((self.n_margins, len(index)))
        for axis, values in enumerate(self.values[number]):
            total += values[:, index[:, axis]]
        return total

    def sums(self, rows: Array, weights: Floats | None) -> dict[tuple[str, int], Any]:
        """Return the sums of what each grid leaves of the margins, and their spread."""
        states: dict[tuple[str, int], Any] = {}
        for number in range(len(self.values)):
            rest = self._rest(number, rows)
            added = BinnedSum.of(rest if weights is None else rest * weights, self.request.rows)
            states["rest", number] = added
            if not self.request.individual:
                states["spread", number] = Moments.of(rest[:, None], weights)
        if weights is not None and not weights.any():
            return states
        terms = rows.reshape(len(self.features) + 2, self.n_margins, -1)
        for number, feature in self.measured.items():
            own = terms[self.features.index(feature)].T
            states["terms", number] = PairedMoments.of(own, own, weights)
        return states

    def strengths(self, state: Keyed, total: float, threads: int) -> list[Floats | None]:
        """Return the standard deviation of the term of each feature over the rows."""
        found: list[Floats | None] = [None] * len(self.sizes)
        for number in self.measured:
            moments = state.parts["terms", number]
            deviation = np.sqrt(moments.products[0] / moments.weight)
            found[number] = np.abs(deviation * self.additive.link.scale)
        return found

    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the average of what a grid leaves, plus its own terms."""
        rest = state.parts["rest", number].total()[:, None] / total
        return self.additive.outputs(rest + self._at_points(number))

    def errors(self, state: Keyed, averages: list[Floats], total: float, threads: int) -> list[Floats]:
        """Return standard errors; those of parallel curves are the same at every point, from every row."""
        if not self.linear:
            return super().errors(state, averages, total, threads)
        spreads = (state.parts["spread", number].standard_error() for number in range(len(averages)))
        return [
            np.repeat(spread, mean.shape[1], axis=1) for spread, mean in zip(spreads, averages, strict=True)
        ]

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs of rows at the points of a group of grids."""
        drawn = [self._rest(q, rows)[:, None, :] + self._at_points(q)[:, :, None] for q in group]
        return self.additive.outputs(np.concatenate(drawn, axis=1))


def terms_of(additive: Additive, features: tuple[int, ...], block: Block) -> Floats:
    """Return the terms of some features, then margins, ``(f + 2, m, i)``, once for all who need them."""

    def compute() -> Floats:
        return additive.terms(prepared_rows(additive.preparation, block), features)

    return np.asarray(block.derived(("terms", id(additive), features), compute))


def additive_of(model: Model, features: tuple[int, ...]) -> Additive:
    """Return the terms of a model, or refuse where it is no sum of terms, or one of two features together."""
    additive = structure_of(model)
    if not isinstance(additive, Additive):
        raise RefusalError("it is not a sum of terms", RefusalCode.NO_STRUCTURE)
    additive.refuse_joined(features)
    return additive

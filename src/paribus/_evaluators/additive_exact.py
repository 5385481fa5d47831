"""Exact effects of additive models and combinations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log2
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._evaluators.brute_force import prepared_rows
from paribus._evaluators.exact_effects import BLOCKS, ExactEffects
from paribus._evaluators.request import EvaluationRequest
from paribus._evaluators.trees.tree_exact import TreeExact
from paribus._grid import moved_values
from paribus._models import Model, model_of_part, structure_of
from paribus._models.additive import Additive
from paribus._models.combination import Combination
from paribus._states import BinnedSum, Keyed, Moments, Variances
from paribus.errors import RefusalCode, RefusalError

PREPARED_ROWS = 65_536  # maximum number of rows per block after preprocessing


@dataclass(frozen=True, eq=False)
class AdditiveExact(ExactEffects):
    r"""Exact partial dependence of a sum of terms, without predictions.

    If the features in S are set to :math:`x_S`, only their terms in the margin of a row change:

    .. math:: F(x_S, x_{iC}) = F(x_i) - \sum_{j \in S} g_j(x_{ij}) + \sum_{j \in S} g_j(x_j)

    On the scale of the margin the curves of all rows are therefore parallel.
    """

    model: Model
    request: EvaluationRequest
    additive: Additive
    features: tuple[int, ...]
    values: tuple[tuple[Floats, ...], ...]

    name: ClassVar[str] = "additive_exact"
    structure: ClassVar[type | None] = Additive
    how: ClassVar[str] = "exact, from the terms of the model"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> AdditiveExact:
        """Return the evaluator, with the terms at the values of the grids."""
        features = tuple(sorted({axis.feature for grid in request.grids for axis in grid.axes}))
        additive = additive_of(model, features)
        requests, axes = moved_values(request.grids)
        terms = additive.values(requests)
        values = tuple(tuple(terms[number] for number in own) for own in axes)
        return cls(model, request, additive, features, values)

    @property
    def linear(self) -> bool:
        """Whether the average of outputs equals the output of average margins."""
        return self.additive.link.linear

    @property
    def bound(self) -> float | None:
        """Upper bound of the absolute outputs, None if unknown."""
        return self.additive.bound

    @property
    def samples_errors(self) -> bool:
        """Whether standard errors come from the curves of sampled rows: not if curves are parallel."""
        parallel = self.linear and not self.request.dependent
        return not parallel and not self.request.individual

    def widened(self, rows: int) -> int:
        """Return more rows after preprocessing, whose steps take milliseconds even for few rows."""
        if self.additive.preparation is None:
            return rows
        return max(rows, min(-(-self.request.rows // BLOCKS), PREPARED_ROWS))

    @property
    def row_numbers(self) -> int:
        """Number of values read from a row."""
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
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: its terms, and curves computed together."""
        rows = min(self.block_rows, self.request.rows)
        terms = FLOAT * rows * (len(self.features) + 6) * self.n_margins
        prepared = rows * self.additive.prepared_bytes
        return self.state_bytes + terms + self.kept_bytes + prepared + 4 * self.curve_bytes

    def read(self, block: Block) -> Array:
        """Return the terms of each feature of a grid, and two further rows of margins (see `terms_of`)."""
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
        """Return sums and moments of the margins without the terms of each grid, and moments of terms."""
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
            states["terms", number] = Variances.of(terms[self.features.index(feature)].T, weights)
        return states

    def strengths(self, state: Keyed, total: float, threads: int) -> list[Floats | None]:
        """Return the standard deviation of the term of each feature over the rows."""
        found: list[Floats | None] = [None] * len(self.sizes)
        for number in self.measured:
            deviation = np.sqrt(state.parts["terms", number].variance)
            found[number] = np.abs(deviation * self.additive.link.scale)
        return found

    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the outputs of the average margin without a grid's terms, plus these terms at its points."""
        rest = state.parts["rest", number].total()[:, None] / total
        return self.additive.outputs(rest + self._at_points(number))

    def errors(
        self, state: Keyed, averages: list[Floats], total: float, threads: int
    ) -> tuple[list[Floats], list[Floats | None]]:
        """Return standard errors and covariances.

        For parallel curves, errors are equal at all points and use every row, and differences have none.
        """
        if self.samples_errors:
            return super().errors(state, averages, total, threads)
        spreads = (state.parts["spread", number].standard_error() for number in range(len(averages)))
        errors = [
            np.repeat(spread, mean.shape[1], axis=1) for spread, mean in zip(spreads, averages, strict=True)
        ]
        none = 0.0 if self.request.n_weighted > 1 else np.nan
        return errors, [
            np.full((*mean.shape, mean.shape[1]), none) if self.paired(number) else None
            for number, mean in enumerate(averages)
        ]

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs of rows at the points of a group of grids."""
        computed = [self._rest(q, rows)[:, None, :] + self._at_points(q)[:, :, None] for q in group]
        return self.additive.outputs(np.concatenate(computed, axis=1))


def terms_of(additive: Additive, features: tuple[int, ...], block: Block) -> Floats:
    """Return the terms of some features, then margins, ``(f + 2, m, i)``, cached in the block."""

    def terms(block: Block) -> Floats:
        return np.asarray(additive.terms(prepared_rows(additive.preparation, block), features))

    key = "terms", additive, features
    found: Floats = block.row_values(key, terms, lambda whole, *ends: whole[..., slice(*ends)])
    return found


def additive_of(model: Model, features: tuple[int, ...]) -> Additive:
    """Return the terms of a model, or refuse if it is not a sum of terms of single features."""
    additive = structure_of(model)
    if not isinstance(additive, Additive):
        raise RefusalError("it is not a sum of terms", RefusalCode.NO_STRUCTURE)
    additive.refuse_joined(features)
    return additive


@dataclass(frozen=True, eq=False)
class CombinedExact(ExactEffects):
    """Exact partial dependence of a function of weighted sums of models, from the structure of each."""

    model: Model
    request: EvaluationRequest
    combination: Combination
    built: tuple[ExactEffects, ...]

    name: ClassVar[str] = "combined_exact"
    structure: ClassVar[type | None] = Combination
    how: ClassVar[str] = "exact, from the structures of its models"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> CombinedExact:
        """Return the evaluator, with an evaluator of each part."""
        combination = structure_of(model)
        if not isinstance(combination, Combination):
            raise RefusalError("it is not made of several models", RefusalCode.NO_STRUCTURE)
        parts = tuple(exact_of(model_of_part(model, part), request) for part in combination.parts)
        return cls(model, request, combination, parts)

    @cached_property
    def evaluators(self) -> tuple[Any, ...]:
        """The evaluators of the parts, with the request of this one."""
        built: tuple[Any, ...] = self.built
        same = all(one.request is self.request for one in built)
        return built if same else tuple(replace(one, request=self.request) for one in built)

    @property
    def linear(self) -> bool:
        """Whether the average of outputs equals the output of average margins."""
        return self.combination.function is None and all(one.linear for one in self.evaluators)

    @property
    def bound(self) -> float | None:
        """Upper bound of the absolute outputs, None if unknown."""
        bounds = [one.bound for one in self.evaluators]
        if self.combination.bound is not None or None in bounds or self.combination.function is not None:
            return self.combination.bound
        largest = np.repeat(bounds, [one.model.n_outputs for one in self.evaluators])
        most = np.abs(self.combination.weights) @ largest + np.abs(self.combination.constant)
        return 2.0 ** ceil(log2(max(1.0, float(most.max()))))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of points of each grid."""
        return self.built[0].sizes

    @property
    def n_margins(self) -> int:
        """Number of margins and outputs of all parts, and of their sums, which are in memory together."""
        held = sum(one.n_margins + one.model.n_outputs for one in self.evaluators)
        return int(held) + len(self.combination.weights) + self.model.n_outputs

    @property
    def held_bytes(self) -> int:
        """Memory of all parts."""
        return sum(one.held_bytes for one in self.evaluators)

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        return int(super().state_bytes + sum(one.state_bytes for one in self.evaluators))

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: the rows read by the parts, and curves of all parts."""
        rows = min(self.block_rows, self.request.rows)
        read = 0
        for one in self.evaluators:
            own = one.worker_bytes - one.kept_bytes - 4 * one.curve_bytes
            read += -(-own * max(rows, one.block_rows) // one.block_rows)
        together = 3 * FLOAT * self.row_numbers * rows
        return self.state_bytes + read + together + self.kept_bytes + 4 * self.curve_bytes

    def prepare_curves(self, groups: list[tuple[int, ...]]) -> None:
        """Prepare the curves of every part."""
        for one in self.evaluators:
            one.prepare_curves(groups)

    def read(self, block: Block) -> Array:
        """Return the values that the margins of each part depend on, concatenated."""
        return np.concatenate([one.read(block).astype(np.float64) for one in self.evaluators])

    @property
    def row_numbers(self) -> int:
        """Number of values read from a row."""
        return sum(one.row_numbers for one in self.evaluators)

    def _split_rows(self, rows: Array) -> list[Array]:
        ends = np.cumsum([one.row_numbers for one in self.evaluators])
        found = np.split(rows, ends[:-1])
        return [
            np.ascontiguousarray(own.astype(one.row_dtype))
            for one, own in zip(self.evaluators, found, strict=True)
        ]

    def sums(self, rows: Array, weights: Floats | None) -> dict[tuple[str, int], Any]:
        """Return the sums of every part."""
        states: dict[tuple[str, int], Any] = {}
        for number, (one, own) in enumerate(zip(self.evaluators, self._split_rows(rows), strict=True)):
            states |= {(f"{number} {name}", k): s for (name, k), s in one.sums(own, weights).items()}
        return states

    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the average outputs of a grid, combined from those of every part."""
        computed = []
        for position, one in enumerate(self.evaluators):
            begin = f"{position} "
            own = {
                (name.removeprefix(begin), k): s
                for (name, k), s in state.parts.items()
                if name.startswith(begin)
            }
            computed.append(one.average_outputs(Keyed(own), number, total))
        return self.combination.outputs(computed)

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs ``(o, g, i)`` of rows at the points of a group of grids."""
        split = self._split_rows(rows)
        computed = [one.curves(group, own) for one, own in zip(self.evaluators, split, strict=True)]
        return self.combination.outputs(computed)


def exact_of(model: Model, request: EvaluationRequest) -> ExactEffects:
    """Return the exact evaluator for the structure of a model; raises `RefusalError` if it has none."""
    structure = structure_of(model)
    if isinstance(structure, Combination):
        return CombinedExact.build(model, request)
    return (
        AdditiveExact.build(model, request)
        if isinstance(structure, Additive)
        else TreeExact.at_all_points(model, request)
    )

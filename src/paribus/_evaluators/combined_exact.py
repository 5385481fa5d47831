"""Exact effects of models that are a function of other models, each read by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log2
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._evaluators.additive_exact import AdditiveExact
from paribus._evaluators.exact_effects import ExactEffects
from paribus._evaluators.request import EvaluationRequest
from paribus._evaluators.trees.tree_exact import TreeExact
from paribus._models import Model, model_of_part, structure_of
from paribus._models.additive import Additive
from paribus._models.combination import Combination
from paribus._states import Keyed
from paribus.errors import RefusalCode, RefusalError


@dataclass(frozen=True, eq=False)
class CombinedExact(ExactEffects):
    """Partial dependence of a function of weighted sums of models, from the structure of each."""

    model: Model
    request: EvaluationRequest
    combination: Combination
    built: tuple[ExactEffects, ...]

    name: ClassVar[str] = "combined_exact"
    structure: ClassVar[type | None] = Combination
    how: ClassVar[str] = "adds up what each of its models does, each by its own structure"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> CombinedExact:
        """Build the evaluator of every part."""
        combination = structure_of(model)
        if not isinstance(combination, Combination):
            raise RefusalError("it is not made of several models", RefusalCode.NO_STRUCTURE)
        parts = tuple(exact_of(model_of_part(model, part), request) for part in combination.parts)
        return cls(model, request, combination, parts)

    @cached_property
    def evaluators(self) -> tuple[Any, ...]:
        """The evaluators of parts, which are cut as this one is."""
        built: tuple[Any, ...] = self.built
        same = all(one.request is self.request for one in built)
        return built if same else tuple(replace(one, request=self.request) for one in built)

    @property
    def linear(self) -> bool:
        """Whether an average of outputs is the output of averages."""
        return self.combination.function is None and all(one.linear for one in self.evaluators)

    @property
    def bound(self) -> float | None:
        """A number that no output exceeds, None where that is not known."""
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
        """Margins and outputs of all parts, and their sums, which are held at once."""
        held = sum(one.n_margins + one.model.n_outputs for one in self.evaluators)
        return int(held) + len(self.combination.weights) + self.model.n_outputs

    @property
    def held_bytes(self) -> int:
        """Memory of all parts."""
        return sum(one.held_bytes for one in self.evaluators)

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        _, sketches = self.request.collected_bytes(self.model.n_outputs)
        own = 2 * FLOAT * self.request.points * self.model.n_outputs + sketches
        return int(own + sum(one.state_bytes for one in self.evaluators))

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: what parts read, and a drawing of the curves of all."""
        rows = min(self.block_rows, self.request.rows)
        read = 0
        for one in self.evaluators:
            own = one.worker_bytes - one.kept_bytes - 4 * one.curve_bytes
            read += -(-own * max(rows, one.block_rows) // one.block_rows)
        together = 3 * FLOAT * self.row_numbers * rows
        return self.state_bytes + read + together + self.kept_bytes + 4 * self.curve_bytes

    def prepare(self) -> None:
        """Prepare every part."""
        if self.request.individual or self.request.quantiles is not None or not self.linear:
            self.prepare_curves([group for group, _ in self.groups])

    def prepare_curves(self, groups: list[tuple[int, ...]]) -> None:
        """Prepare every part to draw curves."""
        for one in self.evaluators:
            one.prepare_curves(groups)

    def read(self, block: Block) -> Array:
        """Return what the margins of each part depend on, one below the other."""
        return np.concatenate([one.read(block).astype(np.float64) for one in self.evaluators])

    @property
    def row_numbers(self) -> int:
        """Numbers that are kept of a row."""
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
        """Return the average outputs of a grid: those of every part, added up."""
        drawn = []
        for position, one in enumerate(self.evaluators):
            begin = f"{position} "
            own = {
                (name.removeprefix(begin), k): s
                for (name, k), s in state.parts.items()
                if name.startswith(begin)
            }
            drawn.append(one.average_outputs(Keyed(own), number, total))
        return self.combination.outputs(drawn)

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs ``(o, g, i)`` of rows at the points of a group of grids."""
        split = self._split_rows(rows)
        drawn = [one.curves(group, own) for one, own in zip(self.evaluators, split, strict=True)]
        return self.combination.outputs(drawn)


def exact_of(model: Model, request: EvaluationRequest) -> ExactEffects:
    """Return the evaluator of whatever structure a model has; `RefusalError` says why it has none."""
    structure = structure_of(model)
    if isinstance(structure, Combination):
        return CombinedExact.build(model, request)
    return (
        AdditiveExact.build(model, request)
        if isinstance(structure, Additive)
        else TreeExact.at_all_points(model, request)
    )

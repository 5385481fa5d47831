"""Exact effects of models that add up other models, each read by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._evaluators.additive_exact import AdditiveExact
from paribus._evaluators.exact_effects import ExactEffects
from paribus._evaluators.request import EvaluationRequest
from paribus._evaluators.trees.tree_exact import TreeExact
from paribus._models import Model, structure_of
from paribus._models.additive import Additive
from paribus._models.wrappers import Combination
from paribus._states import Keyed, RowCurves
from paribus._states.expected import Constructed
from paribus.errors import RefusalCode, RefusalError


@dataclass(frozen=True, eq=False)
class CombinedExact(ExactEffects):
    """Partial dependence of a weighted sum of models, from the structure of each."""

    model: Model
    request: EvaluationRequest
    combination: Combination
    parts_read: tuple[ExactEffects, ...]

    name: ClassVar[str] = "combined_exact"
    structure: ClassVar[type | None] = Combination
    how: ClassVar[str] = "adds up what each of its models does, each by its own structure"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> CombinedExact:
        """Read every part."""
        combination = structure_of(model)
        if not isinstance(combination, Combination):
            raise RefusalError("it is not a sum of models", RefusalCode.NO_STRUCTURE)
        parts = tuple(exact_of(part.model, request) for part in combination.parts)
        return cls(model, request, combination, parts)

    @property
    def linear(self) -> bool:
        """Whether an average of outputs is the output of averages."""
        functions = any(part.function is not None for part in self.combination.parts)
        return not functions and all(part.linear for part in self.parts_read)

    @property
    def bound(self) -> float | None:
        """A number that no output exceeds; not known."""
        return None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of points of each grid."""
        return self.parts_read[0].sizes

    @property
    def n_margins(self) -> int:
        """Margins of all parts, which are held at once."""
        return sum(part.n_margins for part in self.parts_read) + self.model.n_outputs

    @property
    def held_bytes(self) -> int:
        """Memory of all parts."""
        return sum(part.held_bytes for part in self.parts_read)

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        return sum(part.state_bytes for part in self.parts_read)

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes."""
        return sum(part.worker_bytes for part in self.parts_read) + 4 * self.curve_bytes

    def prepare(self) -> None:
        """Prepare every part."""
        for part in self.parts_read:
            part.prepare()

    def read(self, block: Block) -> Array:
        """Return what the margins of each part depend on, one below the other."""
        return np.concatenate([part.read(block).astype(np.float64) for part in self.parts_read])

    def rows_expected(self) -> Constructed:
        """Return the pattern of what is kept of sampled rows."""
        return RowCurves.expected("sample", sum(part.row_numbers for part in self.parts_read))

    @property
    def row_numbers(self) -> int:
        """Numbers that are kept of a row."""
        return sum(part.row_numbers for part in self.parts_read)

    def _split_rows(self, rows: Array) -> list[Array]:
        ends = np.cumsum([part.row_numbers for part in self.parts_read])
        found = np.split(rows, ends[:-1])
        return [
            np.ascontiguousarray(one.astype(part.row_dtype))
            for part, one in zip(self.parts_read, found, strict=True)
        ]

    def sums(self, rows: Array, weights: Floats | None) -> dict[tuple[str, int], Any]:
        """Return the sums of every part."""
        states: dict[tuple[str, int], Any] = {}
        for number, (part, own) in enumerate(zip(self.parts_read, self._split_rows(rows), strict=True)):
            states |= {(f"{number} {name}", k): s for (name, k), s in part.sums(own, weights).items()}
        return states

    def sums_expected(self, rows: int) -> dict[tuple[str, int], Any]:
        """Return the patterns of these sums."""
        patterns: dict[tuple[str, int], Any] = {}
        for number, part in enumerate(self.parts_read):
            patterns |= {(f"{number} {name}", k): s for (name, k), s in part.sums_expected(rows).items()}
        return patterns

    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the average outputs of a grid: those of every part, added up."""
        drawn = []
        for position, part in enumerate(self.parts_read):
            begin = f"{position} "
            own = {
                (name.removeprefix(begin), k): s
                for (name, k), s in state.parts.items()
                if name.startswith(begin)
            }
            drawn.append(part.average_outputs(Keyed(own), number, total))
        return self.combination.outputs(drawn)

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs ``(o, g, i)`` of rows at the points of a group of grids."""
        split = self._split_rows(rows)
        drawn = [part.curves(group, own) for part, own in zip(self.parts_read, split, strict=True)]
        return self.combination.outputs(drawn)


def exact_of(model: Model, request: EvaluationRequest) -> ExactEffects:
    """Return the evaluator of whatever structure a model has; `RefusalError` says why it has none."""
    structure = structure_of(model)
    if isinstance(structure, Combination):
        return CombinedExact.build(model, request)
    return (
        AdditiveExact.build(model, request)
        if isinstance(structure, Additive)
        else TreeExact.build(model, request)
    )

"""The pass that finds which tuples of codes occur, where one feature owns many columns."""

from __future__ import annotations

from dataclasses import dataclass

from paribus._data.rows import Block
from paribus._evaluators.trees.programs import codes_of
from paribus._evaluators.trees.tuple_cells import Tuples, columns_of
from paribus._kernels import kernels
from paribus._kernels.program import Program
from paribus._models.ensemble import Ensemble
from paribus._states import CodeTuples, Keyed
from paribus.errors import RefusalCode, RefusalError


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

"""Evaluation by group of rows, and the totals of each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paribus._contracts import Blocks, Evaluator
from paribus._data.grouping import Grouping
from paribus._data.rows import ONE_PART, Block, Derived, Parts
from paribus._data.samples import PrioritySample, Sample, UnitRows, unweighted_sample
from paribus._data.scan.open import ScannedRows
from paribus._evaluators.survey import SAMPLED, WeightTotals
from paribus._states import Keyed


def rows_of_group(block: Block, grouping: Grouping, group: int) -> Block:
    """Return the rows of one group, selected once for all evaluators of the block."""
    codes = block.derived(("groups", id(grouping)), lambda: grouping.codes(block))
    name = "group", id(grouping), group
    found: Block = block.derived((*name, "rows"), lambda: block.keep(codes == group, name))
    if found.questions == block.questions:
        return found
    own = replace(found, questions=block.questions, share=block.share)
    vars(own)["_derived"] = block.derived(name, Derived)
    return own


@dataclass(frozen=True, eq=False)
class ByGroup:
    """Evaluator that evaluates the rows of each group with the evaluator of the group."""

    evaluators: Mapping[int, Evaluator[Any, Keyed]]
    grouping: Grouping

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of all groups, whose names begin with the number of the group."""
        states: dict[tuple[str, int], Any] = {}
        for group, evaluator in self.evaluators.items():
            own = rows_of_group(block, self.grouping, group)
            if len(own.table):
                parts = evaluator.evaluate(own).parts.items()
                states |= {(f"{group} {name}", number): state for (name, number), state in parts}
        return Keyed(states)


def state_of_group(state: Keyed, group: int) -> Keyed:
    """Return the state of one group from that of `ByGroup`."""
    named = ((name.partition(" "), number, part) for (name, number), part in state.parts.items())
    return Keyed({(key[2], number): part for key, number, part in named if key[0] == str(group)})


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """Evaluator of the number of rows and the weight of each group, with sampled rows for each seed."""

    grouping: Grouping
    seeds: tuple[int, ...]

    def evaluate(self, block: Block) -> Keyed:
        """Return the totals of the groups in a block."""
        states: dict[tuple[str, int], Any] = {}
        codes, numbers = self.grouping.codes(block), block.positions
        for group in np.unique(codes[codes >= 0]).tolist():
            mask = codes == group
            weights = None if block.weights is None else block.weights[mask]
            states["totals", group] = WeightTotals.of(int(mask.sum()), weights)
            chances = np.ones(int(mask.sum())) if weights is None else weights
            for seed in self.seeds:
                states[f"heavy {seed}", group] = PrioritySample.of(numbers[mask], chances, seed, SAMPLED)
                if block.units is not None:
                    units = UnitRows.of(numbers[mask], block.units[mask], weights, seed, SAMPLED)
                    states[f"units {seed}", group] = units
        return Keyed(states)

    def finish(self, state: Keyed, rows: ScannedRows) -> dict[int, ScannedGroup]:
        """Return the rows of each group that has a positive weight, by its number."""
        groups = {}
        for (name, group), totals in sorted(state.parts.items()):
            if name != "totals" or not totals.n_weighted:
                continue
            unit = totals.weight_scale
            groups[group] = ScannedGroup(
                rows.reading,
                rows.table,
                totals.rows,
                totals.n_weighted,
                totals.total * unit,
                totals.squares * unit**2,
                {seed: state.parts[f"heavy {seed}", group] for seed in self.seeds},
                None
                if rows.units is None
                else {seed: state.parts[f"units {seed}", group] for seed in self.seeds},
                rows.some,
                rows.column_digests,
                rows,
                self.grouping,
                group,
            )
        return groups


@dataclass(frozen=True, eq=False)
class GroupBlocks:
    """The rows of one group in blocks of all rows."""

    whole: Blocks[Block]
    grouping: Grouping
    group: int
    parts: Parts

    def __iter__(self) -> Iterator[Block]:
        for block in self.whole:
            yield rows_of_group(block, self.grouping, self.group)


@dataclass(frozen=True, eq=False)
class ScannedGroup(ScannedRows):
    """The rows of one group of out-of-core rows, with the weights of ``whole``."""

    whole: ScannedRows
    grouping: Grouping
    group: int

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.whole.weighted

    def blocks(self, size: int, parts: Parts = ONE_PART) -> Any:
        """Return the rows of the group in blocks of ``size`` rows of all groups."""
        return GroupBlocks(self.whole.blocks(size, parts), self.grouping, self.group, parts)

    def sample(self, size: int, seed: int) -> Sample:
        """Sample rows for a sum of squares: the same rows as in memory."""
        if self.units is not None:
            return super().sample(size, seed)
        assert self.heavy is not None
        heavy = self.heavy[seed]
        size = min(size, heavy.most - 1)
        if self.weighted:
            return heavy.sample(size, 1.0)
        return unweighted_sample(np.sort(heavy.numbers[:size]), self.n_rows)

    def weight_facts(self) -> dict[str, float] | None:
        """Return the sum of the weights, the number of rows of weight zero, and the effective sample size."""
        return super().weight_facts() if self.weighted else None

    def fingerprint(self, *, target: bool = True) -> str:
        """Return the digest of all rows."""
        return self.whole.fingerprint(target=target)

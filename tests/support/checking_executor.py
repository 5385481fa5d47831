"""An executor that holds what every fold leaves to what its evaluator expects."""

from dataclasses import replace

import numpy as np
import pytest

import paribus
from paribus._states import Keyed, merge_in_order


class Checking:
    """An executor that checks what every fold leaves."""

    def __init__(self):
        self.checked = []

    def describe(self):
        return "a check"

    def fold(self, evaluator, blocks, zero, *, store=None):
        blocks = list(blocks)
        states = [evaluator.evaluate(block) for block in blocks]
        merged = merge_in_order(states, zero)
        self.checked.append(type(evaluator).__name__)
        if not hasattr(evaluator, "expected"):  # rows crossed with each other: states are not kept
            return merged
        numbers = {block.number: len(block.table) for block in blocks}
        expected = evaluator.expected(sum(numbers.values()))
        for state in states:
            expected.check(state)
        expected.check(merged, whole=True)
        for key in set(merged.parts) - expected.optional:
            lacking = Keyed({other: part for other, part in merged.parts.items() if other != key})
            with pytest.raises(paribus.CheckpointError):
                expected.check(lacking, whole=True)
            expected.check(lacking)
        with pytest.raises(paribus.CheckpointError, match="unknown"):
            expected.check(Keyed({**merged.parts, ("nobody", 0): next(iter(merged.parts.values()))}))
        if expected.totals and len(blocks) > 1:
            with pytest.raises(paribus.CheckpointError):
                expected.check(merge_in_order(states[:-1], zero), whole=True)
        if blocks and blocks[0].weights is not None and not any("curves" in name for name, _ in merged.parts):
            self.without_weight(evaluator, blocks[0], expected)
        return merged

    def without_weight(self, evaluator, block, expected):
        """Rows without weight leave nothing behind, or only that they were there."""
        nothing = replace(block, weights=np.zeros(len(block.table)))
        state = evaluator.evaluate(nothing)
        expected.check(state)
        assert isinstance(state, Keyed)
        assert not {name for name, _ in state.parts} & {"moments", "sums", "cells", "products", "values"}

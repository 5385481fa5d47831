"""Strengths of any model from its predictions: every row with the values of every other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._data.rows import Block
from paribus._evaluators.brute_force import BruteForce
from paribus._evaluators.interactions.crossed_interactions import (
    TRIPLE_PARTS,
    CrossedInteractions,
    Group,
)
from paribus._evaluators.interactions.influence import FeatureCurves
from paribus._evaluators.interactions.interaction_request import InteractionRequest
from paribus._evaluators.request import EvaluationRequest, Fold
from paribus._grid import ObservedValues
from paribus._models import Model
from paribus._states import Keyed


@dataclass(frozen=True, eq=False)
class BruteCurves:
    """Every row with the values of every other, predicted by the model."""

    brute: BruteForce

    def curves(self, block: Block, sets: Sequence[Group]) -> list[FeatureCurves]:
        """Return the predictions ``(o, g, i)`` at the values that rows have in each set of columns."""
        grids = tuple(ObservedValues.of(block.table, features) for features in sets)
        several = BruteForce(self.brute.model, replace(self.brute.request, grids=grids), self.brute.scratch)
        whole = Block(block.table, block.weights, block.start, tuple(range(len(grids))))
        state = several.evaluate(whole)
        found = (state.parts["curves", number].finish() for number in range(len(grids)))
        return [FeatureCurves(one.swapaxes(1, 2), grid.point) for one, grid in zip(found, grids, strict=True)]


@dataclass(frozen=True, eq=False)
class BruteInteractions(CrossedInteractions):
    """The definition itself, for any model, which predicts every row with the values of every other."""

    model: Model
    request: InteractionRequest

    name: ClassVar[str] = "brute"
    shortcut: ClassVar[bool] = False
    threaded: ClassVar[bool] = False
    how: ClassVar[str] = "evaluates the model for every row with the values of every other row"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> BruteInteractions:
        """Prepare to predict every row with the values of every other."""
        return cls(model, request)

    def fallback(self, short: str) -> str | None:
        """Warn before rows are drawn, or crossed with each other, because trees are short of memory."""
        rows, whole = self.request.rows.n_weighted, self.request.drawn_from
        drawn = f" on {rows:,} rows drawn from {whole:,}" if whole is not None and rows < whole else ""
        return (
            f"max_memory is too small for the shortcut, so the model is evaluated{drawn}, every row with the "
            f"values of every other: about {rows:,} predictions for each row and pair ({short})"
        )

    @property
    def predictions(self) -> int:
        """Rows the model will predict at most."""
        rows, sets = len(self.request.rows), self.request.n_pairs + TRIPLE_PARTS * self.n_triples
        return self._single_predictions + sets * rows * rows

    @property
    def calls(self) -> int:
        """Number of predicts at most."""
        square, most, calls = len(self.request.rows) ** 2, self._brute.call_rows, self._brute.calls
        for groups, parts in ((self.request.n_pairs, 1), (self.n_triples, TRIPLE_PARTS)):
            together = self.groups_together(triples=parts > 1)
            calls += -(-groups // together) * max(1, -(-parts * square // most))
        return calls

    @property
    def _single_predictions(self) -> int:
        return len(self.request.rows) * sum(grid.n_points for grid in self._singles)

    @cached_property
    def _singles(self) -> tuple[ObservedValues, ...]:
        return tuple(
            ObservedValues.of(self.request.rows.table, (feature,)) for feature in self.request.features
        )

    @cached_property
    def _brute(self) -> BruteForce:
        rows = self.request.rows
        request = EvaluationRequest(
            self._singles,
            "individual",
            len(rows),
            rows.n_weighted,
            rows.table.row_bytes,
            self.request.max_memory,
            self.request.threads,
            rows.weighted,
            cut=self.request.cut,
            few_calls=self.request.few_calls,
        )
        return BruteForce(self.model, request)

    @property
    def held_bytes(self) -> int:
        """The curves of every row over each feature, twice while they are joined, and functions of pairs."""
        curves = sum(grid.n_points for grid in self._singles) * len(self.request.rows) * self.model.n_outputs
        return 2 * FLOAT * curves + self.functions_bytes

    @property
    def worker_bytes(self) -> int:
        """The curves of every row over one group of features, twice while they are joined, and a predict."""
        rows, triples = len(self.request.rows), bool(self.request.threeway)
        parts = (5 if triples else 2 * bool(self.request.n_pairs)) * self.groups_together(triples=triples)
        return parts * FLOAT * rows * rows * self.model.n_outputs + self._brute.call_bytes

    def groups_together(self, *, triples: bool) -> int:
        """Return how many groups of features are predicted together: several where calls are dear."""
        each = len(self.request.rows) ** 2 * (TRIPLE_PARTS if triples else 1)
        return max(1, self._brute.call_rows // max(1, each)) if self._brute.batched else 1

    @property
    def block_rows(self) -> int:
        """Number of rows per call."""
        return self._brute.block_rows

    @property
    def predictor(self) -> BruteCurves:
        """The model itself."""
        return BruteCurves(self._brute)

    @property
    def rounds_to_single(self) -> bool:
        """Whether the model predicts in single precision."""
        return self.model.is_float32

    def predicted(self, crossed: int) -> int:
        """Return how many rows the model predicted: for single features, and for groups."""
        return self._single_predictions + crossed

    def singles(self) -> Generator[Fold, Keyed, tuple[FeatureCurves, ...]]:
        """Predict single features, some rows at a time."""
        state = yield self.fold("curves", self._brute, self._brute.block_rows, self._brute.parts)
        estimates = self._brute.finish(state)
        return tuple(
            FeatureCurves(np.ascontiguousarray(estimate.individual.swapaxes(1, 2)), grid.point)
            for estimate, grid in zip(estimates, self._singles, strict=True)
            if estimate.individual is not None
        )

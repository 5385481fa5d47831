"""Bounds on the number of predictions, crossed rows, and notes on rows that were sampled to keep bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from paribus._api.run import ModelEstimates, Rounds, RunContext
from paribus._budget import FLOAT
from paribus._contracts import Floats
from paribus._data.rows import Rows
from paribus._evaluators.planner import PredictionBound, RowsNeededError, reading_predictions
from paribus._models import Model, structure_of, trees_of
from paribus._models.combination import Combination
from paribus._models.ensemble import LEAF
from paribus.errors import RefusalError
from paribus.notes import Note, NoteCode
from paribus.results import Provenance

SUBSAMPLE = 500  # rows that are crossed with each other if the model predicts them
CROSSED_LEAVES = 400_000_000_000  # leaves times crossed rows squared, if trees are read: some seconds
CURVE_BYTES = 256_000_000  # memory of the curves of single features at crossed rows, at most
MOST_CROSSED = 4_000  # rows that are crossed at most


def crosses(model: Model) -> bool:
    """Return whether the effects at all rows need rows that are crossed with each other.

    They do not if outputs are sums over leaves or terms, whose means follow from sums over the rows.
    """
    try:
        structure = structure_of(model)
    except RefusalError:
        return True
    return isinstance(structure, Combination) or not structure.link.linear


def tree_crossed_rows(models: Sequence[Model], features: int, crossings: int, memory: int | None) -> int:
    """Return the number of rows to cross with each other if the trees of models are read.

    They take some seconds, and limited memory for the curves of single features: an eighth of ``memory`` if
    that is given. All models use the same rows.
    """
    most = CURVE_BYTES if memory is None else min(CURVE_BYTES, memory // 8)
    sizes = []
    for model in models:
        try:
            leaves = int(np.count_nonzero(trees_of(model).ensemble.column == LEAF))
        except RefusalError:
            return SUBSAMPLE
        by_time = CROSSED_LEAVES // (crossings * max(1, leaves))
        sizes.append(min(by_time, most // (FLOAT * features * model.n_outputs)))
    return max(SUBSAMPLE, min(MOST_CROSSED, math.isqrt(min(sizes))))


@dataclass(frozen=True, eq=False)
class PredictionBudget:
    """The prediction limit of one call, divided equally among its models, and the rows sampled so far."""

    given: int
    context: RunContext
    seed: int
    verb: str
    _samples: dict[int, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, given: int | None, context: RunContext, seed: int, verb: str) -> PredictionBudget | None:
        """Return the budget of a call, None without a limit."""
        return None if given is None else cls(given, context, seed, verb)

    def bound(
        self, model: Model, *, reads: bool, recomputed: tuple[int, ...] = (), verified: int = 0
    ) -> PredictionBound:
        """Return the bound for one model, after the predictions already spent on it.

        ``reads`` says that reading the model's structure takes predictions. ``recomputed`` (points of each
        grid) and ``verified`` (predictions) are those of ``verify=True``.
        """
        context = self.context
        spent = model.tried + (reading_predictions(model) if reads else 0)
        if context.runner.checkpoint is not None and not context.rows.in_memory:
            spent += len(context.rows.table)  # predicted to identify the model of a checkpoint
        most = self.given // len(context.models) - spent
        return PredictionBound(self.given, most, context.rows.n_weighted, self.rows, recomputed, verified)

    def rows(self, size: int) -> Rows:
        """Return a sample of ``size`` rows, or raise `RowsNeededError` if it is not available yet."""
        if size not in self._samples:
            raise RowsNeededError(size)
        return self._samples[size]

    def sample(self, size: int) -> Rounds:
        """Sample rows, which takes a pass over out-of-core data."""
        self._samples[size] = yield from self.context.subsample(size, self.seed, self.verb)


def fewest_rows(estimated: Sequence[ModelEstimates], count: int) -> list[Rows | None]:
    """Return the sampled rows of each of ``count`` effects: the smallest sample over all models."""
    fewest: list[Rows | None] = [None] * count
    for plan in (plan for one in estimated for plan in one.plans):
        for number in plan.numbers if plan.sampled is not None else ():
            before = fewest[number]
            if plan.sampled is not None and (before is None or len(plan.sampled) < len(before)):
                fewest[number] = plan.sampled
    return fewest


def sampled_provenance(provenance: Provenance, sampled: Rows | None, seed: int) -> Provenance:
    """Return the record of an effect, with the number of sampled rows and the seed."""
    return provenance if sampled is None else replace(provenance, sampled_rows=len(sampled), seed=seed)


def bound_note(
    provenance: Provenance, given: int, share: float | None, of: str = "the range of the effect"
) -> Note:
    """Return the note on sampled rows; ``share`` is the standard error as a share of ``of``."""
    shown = "" if share is None else f"; standard errors are up to {share:.1%} of {of}"
    sampled, rows = provenance.sampled_rows or 0, provenance.rows
    text = (
        f"{sampled:,} of {rows:,} rows were sampled (seed={provenance.seed}) to keep max_predictions={given}"
        f", which took {provenance.predictions:,} predictions{shown}"
    )
    return Note(NoteCode.PREDICTIONS_BOUNDED, text, value=share)


def share_of_range(values: Floats, error: Floats) -> float | None:
    """Return the largest standard error as a share of the range of its output; None if undefined."""
    flat, errors = (array.reshape(len(values), -1) for array in (values, error))
    with np.errstate(invalid="ignore"):
        width = np.ptp(flat, axis=1) if flat.shape[1] else np.zeros(len(flat))
        shares = errors.max(axis=1, initial=0.0) / np.where(width > 0, width, np.nan)
    known = shares[np.isfinite(shares)]
    return float(known.max()) if len(known) else None


def share_of_largest(values: Floats, error: Floats) -> float | None:
    """Return the largest standard error as a share of the largest value; None if undefined."""
    largest, worst = np.abs(values).max(initial=0.0), error.max(initial=0.0)
    share = worst / largest if largest > 0 else np.nan
    return float(share) if np.isfinite(share) else None

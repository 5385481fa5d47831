"""What ``max_predictions`` allows a call, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from paribus._api.run import Estimated, Rounds, Work
from paribus._contracts import Floats
from paribus._data.rows import Rows
from paribus._evaluators.prediction_bound import (
    PredictionBound,
    RowsNeededError,
    reading_predictions,
)
from paribus._models import Model
from paribus.notes import Note, NoteCode
from paribus.results import Provenance


@dataclass(frozen=True, eq=False)
class PredictionBudget:
    """The predictions of one call, divided equally among its models, and the rows that were drawn so far."""

    given: int
    work: Work
    seed: int
    verb: str
    _drawn: dict[int, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, given: int | None, work: Work, seed: int, verb: str) -> PredictionBudget | None:
        """Return the budget of a call, None where it has none."""
        return None if given is None else cls(given, work, seed, verb)

    def bound(
        self, model: Model, *, reads: bool, recomputed: tuple[int, ...] = (), verified: int = 0
    ) -> PredictionBound:
        """Return what is left to evaluate one model; ``reads`` says that its structure is read first.

        ``recomputed`` and ``verified`` are those of ``verify=True``.
        """
        work = self.work
        spent = model.tried + (reading_predictions(model) if reads else 0)
        if work.runner.checkpoint is not None and not work.rows.in_memory:
            spent += len(work.rows.table)  # which say whether it is the model of a kept state
        most = self.given // len(work.models) - spent
        return PredictionBound(self.given, most, work.rows.n_weighted, self.rows, recomputed, verified)

    def rows(self, size: int) -> Rows:
        """Return rows that were drawn."""
        if size not in self._drawn:
            raise RowsNeededError(size)
        return self._drawn[size]

    def draw(self, size: int) -> Rounds:
        """Draw rows, which takes a pass where they are read."""
        self._drawn[size] = yield from self.work.subsample(size, self.seed, self.verb)


def drawn_rows(estimated: Sequence[Estimated], count: int) -> list[Rows | None]:
    """Return the rows that were drawn for each of ``count`` effects, the fewest of all models."""
    fewest: list[Rows | None] = [None] * count
    for plan in (plan for one in estimated for plan in one.plans):
        for number in plan.numbers if plan.drawn is not None else ():
            before = fewest[number]
            if plan.drawn is not None and (before is None or len(plan.drawn) < len(before)):
                fewest[number] = plan.drawn
    return fewest


def drawn_provenance(provenance: Provenance, drawn: Rows | None, seed: int) -> Provenance:
    """Return the record of an effect, with the number of rows that were drawn for it."""
    return provenance if drawn is None else replace(provenance, sampled_rows=len(drawn), seed=seed)


def bound_note(
    provenance: Provenance, given: int, share: float | None, of: str = "the range of the effect"
) -> Note:
    """Return what is said of rows that were drawn, and the error that results as a ``share`` of something."""
    shown = "" if share is None else f"; standard errors are up to {share:.1%} of {of}"
    drawn, rows = provenance.sampled_rows or 0, provenance.rows
    text = (
        f"{drawn:,} of {rows:,} rows were drawn (seed={provenance.seed}) to keep max_predictions={given}, "
        f"which took {provenance.predictions:,} predictions{shown}"
    )
    return Note(NoteCode.PREDICTIONS_BOUNDED, text, value=share)


def share_of_range(values: Floats, error: Floats) -> float | None:
    """Return the largest standard error as a share of the range of its output; None where there is none."""
    flat, errors = (array.reshape(len(values), -1) for array in (values, error))
    with np.errstate(invalid="ignore"):
        width = np.ptp(flat, axis=1) if flat.shape[1] else np.zeros(len(flat))
        shares = errors.max(axis=1, initial=0.0) / np.where(width > 0, width, np.nan)
    known = shares[np.isfinite(shares)]
    return float(known.max()) if len(known) else None


def share_of_largest(values: Floats, error: Floats) -> float | None:
    """Return the largest standard error as a share of the largest value; None where there is none."""
    largest, worst = np.abs(values).max(initial=0.0), error.max(initial=0.0)
    share = worst / largest if largest > 0 else np.nan
    return float(share) if np.isfinite(share) else None

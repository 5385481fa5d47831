"""Permutation importance: loss of predictions after columns are shuffled among the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT, format_bytes
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block, Rows
from paribus._data.table import CellValues, ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, OUTPUT_COPIES, TABLE_COPIES
from paribus._evaluators.request import Fold, Passes, StatisticEvaluator, WholeRequest
from paribus._models import Model
from paribus._models.predictor import unsteady_notes
from paribus._models.scoring import RowScore, Score, Scorer, TotalScore
from paribus._states import Keyed
from paribus._states.sums import LARGE, enlarged, ignore_fp_errors, scaled
from paribus.errors import ModelError, ParibusError, failure
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode

Group = tuple[int, ...]
CALL_BYTES = 8_000_000  # of rows and predictions in one call; max_memory does not change it
ROOT = 2.0**400  # larger losses are divided by LARGE, because sums of their squares overflow
ROW_ARRAYS = 10  # floats per row while a group is shuffled: donors, losses, sums over repeats, copies


@dataclass(frozen=True, eq=False)
class PermutationImportances:
    """Permutation importance of each group of columns.

    Attributes
    ----------
    values, standard_error : ndarray of shape (k,)
        Increase of the loss, or decrease of the score, averaged over repeats, and its standard error.
    repeats : ndarray of shape (k, r)
        The increase or decrease in each repeat.
    baseline : float
        The loss or score before anything was shuffled.
    score : RowScore, TotalScore or Scorer
        The score of predictions, which holds the model.
    notes : tuple of Note
        Caveats of the values.
    """

    values: Floats
    standard_error: Floats
    repeats: Floats
    baseline: float
    score: Score
    notes: tuple[Note, ...]

    @property
    def unit(self) -> str:
        """Description of the values in words."""
        return f"{'decrease' if self.score.greater_is_better else 'increase'} of {self.score.name}"


@dataclass(frozen=True, eq=False)
class PermutationRequest(WholeRequest):
    """Groups of columns to shuffle among ``rows``, and the score of predictions.

    ``rows`` may be a sample of ``n_weighted`` rows with positive weight.
    """

    statistic: ClassVar[str] = "permutation"
    cuts: ClassVar[tuple[int, ...]] = (1,)  # calls are never cut: other sizes could change the last bits
    points: ClassVar[int] = 0  # there is no grid
    memory_was_given: ClassVar[bool] = True  # there is no shortcut that could exceed the bound
    rows: Rows
    score: Score
    groups: tuple[Group, ...]
    repeats: int
    seed: int
    n_weighted: int
    max_memory: int
    threads: int
    cut: int = 1

    @property
    def n_results(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options that a state depends on, in addition to the rows and the model."""
        return self.groups, self.repeats, self.seed


@dataclass(frozen=True, eq=False)
class PermutationEvaluator(StatisticEvaluator):
    r"""Shuffles each group of columns among the rows and scores the model again.

    .. math:: I_S = \frac{1}{r} \sum_k \frac{1}{W} \sum_i w_i
              \left[ L(y_i, f(x_{\pi_k(i), S}, x_{i, \bar S})) - L(y_i, f(x_i)) \right]

    The columns of a group are shuffled together. Row :math:`i` receives the values of its donor, row
    :math:`\pi_k(i)`. A row is a donor in proportion to its weight: on average, a row of weight 3 has the
    effect of three rows of weight 1. Without weights :math:`\pi_k` is a permutation. Rows of weight zero are
    ignored. A permutation depends only on the seed, the columns and the number of the repeat.

    If the loss is a mean over rows, its standard error covers the sampling of rows and of permutations; see
    `RowChanges`. For any other score it covers only the variation over repeats, and a note says so.
    """

    model: Model | None
    request: PermutationRequest

    name: ClassVar[str] = "permutation"
    shortcut: ClassVar[bool] = False
    threaded: ClassVar[bool] = False
    estimand: ClassVar[Estimand] = Estimand.PREDICTIVE_QUALITY
    how: ClassVar[str] = "by permutation, scores of predictions with shuffled values of a feature"

    @classmethod
    def build(cls, model: Model | None, request: PermutationRequest) -> PermutationEvaluator:
        """Return the evaluator; the model is that of the score, None for a scorer, which calls another."""
        return cls(None if isinstance(request.score, Scorer) else request.score.model, request)

    @property
    def _shuffler(self) -> Shuffler:
        request = self.request
        return Shuffler(
            request.score,
            request.groups,
            request.repeats,
            request.seed,
            request.rows.table.row_bytes,
            request.rows.weight_scale,
        )

    @property
    def block_rows(self) -> int:
        """All rows, because any row may be the donor of any other."""
        return len(self.request.rows)

    @property
    def error_rows(self) -> int:
        """Number of all rows of the request."""
        return len(self.request.rows)

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts."""
        scored = 1 + isinstance(self.request.score, Scorer) + self.request.repeats * len(self.request.groups)
        return len(self.request.rows) * scored

    @property
    def calls(self) -> int:
        """Number of calls of the model."""
        request, shuffler, rows = self.request, self._shuffler, len(self.request.rows)
        if isinstance(request.score, Scorer):
            return 2 + request.repeats * len(request.groups)
        each = -(-rows // shuffler.call_rows)
        rounds = -(-request.repeats // shuffler.at_once(rows))
        return each * (1 + rounds * len(request.groups))

    def memory(self, threads: int) -> int:
        """Return the maximum memory: the losses, and the groups that threads shuffle at the same time."""
        rows = len(self.request.rows)
        return 2 * FLOAT * rows + threads * self._shuffler.worker_bytes(rows)

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        return (
            f"shuffling {len(self.request.rows)} rows needs {format_bytes(needed)} and max_memory is "
            f"{format_bytes(self.request.max_memory)}; raise max_memory, or pass a smaller subsample="
        )

    def passes(self, threads: int) -> Passes:
        """Yield one fold that scores each shuffled group, after the unshuffled rows are scored."""
        request, rows = self.request, self.request.rows
        shuffler = self._shuffler.begun(rows)
        parts = tuple(((number,), request.repeats) for number in range(len(request.groups)))
        state = yield Fold("", shuffler, len(rows), parts, request.settings)
        found = [state.parts["shuffled", number] for number in range(len(request.groups))]
        values = np.array([one.value for one in found])
        return PermutationImportances(
            values,
            np.array([one.standard_error for one in found]),
            np.array([one.repeats for one in found]).reshape(len(request.groups), request.repeats),
            shuffler.baseline(rows.weights),
            request.score,
            (
                *_permutation_notes(
                    request.score, request.repeats, len(rows), request.n_weighted, request.seed
                ),
                *_not_numbers(values, request.groups, rows),
                *shuffler.unsteady(rows),
            ),
        )


@dataclass(frozen=True, eq=False)
class GroupImportance:
    """Importance of one group: mean over repeats, its standard error, and each repeat ``(r,)``."""

    value: float
    standard_error: float
    repeats: Floats

    def times(self, unit: float) -> GroupImportance:
        """Return the importance multiplied by ``unit``, which is 1 or `LARGE`."""
        if unit == 1.0:
            return self
        value, error = (float(enlarged(one)) for one in (self.value, self.standard_error))
        return GroupImportance(value, error, enlarged(self.repeats))


@dataclass(frozen=True, eq=False)
class Shuffler:
    """Scores of the model on rows with shuffled columns.

    A block is the whole table and one group of columns, because any row may be the donor of any other.
    ``before`` is the loss of each unshuffled row, or the score of all of them.
    """

    score: Score
    groups: tuple[Group, ...]
    repeats: int
    seed: int
    row_bytes: int
    unit: float
    before: Floats = field(default_factory=lambda: np.array(np.nan))
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    @property
    def _row_cost(self) -> int:
        outputs = 0 if isinstance(self.score, Scorer) else self.score.model.n_outputs
        return self.row_bytes * TABLE_COPIES + outputs * FLOAT * OUTPUT_COPIES

    @property
    def call_rows(self) -> int:
        """Rows per call of the model; it depends on the table and the score alone."""
        return max(1, min(CALL_ROWS, CALL_BYTES // self._row_cost))

    def worker_bytes(self, rows: int) -> int:
        """Return the memory of shuffling one group among ``rows`` rows."""
        predicted = min(self.call_rows, rows * self.repeats) if isinstance(self.score, RowScore) else rows
        return FLOAT * ROW_ARRAYS * rows + self._row_cost * predicted

    def begun(self, rows: Rows) -> Shuffler:
        """Return a shuffler that holds the score of the unshuffled rows."""
        every = np.arange(len(rows))[None]
        return replace(self, before=self.scored(Block(rows.table, rows.weights, 0), {}, every)[0])

    def unsteady(self, rows: Rows) -> list[Note]:
        """Return a note if the model predicts the same rows differently; a scorer scores them again."""
        then = ": its predictions also vary without shuffling, which values and errors include"
        if not isinstance(self.score, Scorer):
            return unsteady_notes((self.score.model,), then)
        again = self.begun(rows).before
        if np.allclose(again, self.before, rtol=1e-4, equal_nan=True):
            return []
        text = f"scored twice on the same rows, the model had {self.before:.6g} and then {again:.6g}{then}"
        return [Note(NoteCode.ROW_DEPENDENT, text)]

    def baseline(self, weights: Floats | None) -> float:
        """Return the score of the unshuffled rows."""
        if not self.before.ndim:
            return float(self.before)
        return float(scaled(partial(np.average, weights=weights), self.before))

    def evaluate(self, block: Block) -> Keyed:
        """Return the importance of the group of the block."""
        (number,) = block.questions
        return Keyed({("shuffled", number): self._shuffled(block, self.groups[number])})

    def at_once(self, rows: int) -> int:
        """Return how many repeats of ``rows`` rows fit one call of the model."""
        if isinstance(self.score, Scorer) or not self.score.model.row_independent:
            return 1
        return max(1, self.call_rows // rows)

    def _shuffled(self, block: Block, group: Group) -> GroupImportance:
        """Return the importance of one group, with as many repeats per call of the model as fit."""
        rows = len(block.table)
        at_once = self.at_once(rows)
        cells = {j: block.table.own_cells(j) for j in group}
        sign = -1.0 if self.score.greater_is_better else 1.0
        unit = LARGE if np.abs(self.before).max(initial=0.0) > ROOT else 1.0
        tally = RowChanges(rows, block.weights) if isinstance(self.score, RowScore) else RepeatChanges()
        for first in range(0, self.repeats, at_once):
            some = range(first, min(first + at_once, self.repeats))
            donors = np.stack([self._donors(block, group, repeat) for repeat in some])
            scores = self.scored(block, cells, donors)
            for score, lent in zip(scores, donors, strict=True):
                with ignore_fp_errors():
                    tally.add(sign * (score / unit - self.before / unit), lent)
        return tally.finish().times(unit)

    def _donors(self, block: Block, group: Group, repeat: int) -> Integers:
        # A spawn key, in which (1,) and (1, 0) differ; as entropy they would be the same.
        sequence = np.random.SeedSequence(self.seed, spawn_key=(repeat, *sorted(group)))
        return donors_of(len(block.table), block.weights, np.random.default_rng(sequence))

    def scored(self, block: Block, cells: dict[int, CellValues], donors: Integers) -> Floats:
        """Return the scores of shuffles ``donors (b, i)``: ``(b, i)`` row by row, ``(b,)`` of all rows."""
        try:
            return self._scored(block, cells, donors)
        except ParibusError:
            raise
        except Exception as error:  # a model may raise anything; the message names the shuffled columns
            names = ", ".join(block.table.names[j] for j in cells)
            raise ModelError(
                f"the model failed on rows of X{f' with {names} shuffled' if names else ''}: "
                f"{failure(error)}; it must be able to predict any row"
            ) from error

    def _scored(self, block: Block, cells: dict[int, CellValues], donors: Integers) -> Floats:
        score = self.score
        weights = None if block.weights is None else block.weights * self.unit
        if isinstance(score, RowScore):
            losses = np.empty(donors.shape)
            for first, predictions in self._predictions(score.model, block, cells, donors):
                rows = slice(first, first + predictions.shape[1])
                losses[:, rows] = [score.of_rows(some, first) for some in predictions]
            return losses
        if isinstance(score, TotalScore):
            whole = np.empty((*donors.shape, score.model.n_outputs))
            for first, predictions in self._predictions(score.model, block, cells, donors):
                whole[:, first : first + predictions.shape[1]] = predictions
            return np.array([score.total(some, weights) for some in whole])
        tables = (self._table(block, cells, lent[None]) for lent in donors)
        return np.array([score.total(table, weights) for table in tables])

    def _predictions(
        self, model: Model, block: Block, cells: dict[int, CellValues], donors: Integers
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the number of the first row and predictions of shape ``(b, m, o)``, portion by portion."""
        for part in block.cut(self.call_rows):
            rows = len(part.table)
            lent = donors[:, part.start : part.start + rows]
            predictions = model.predict(self._table(part, cells, lent), lent.size)
            yield part.start, predictions.reshape(*lent.shape, model.n_outputs)

    def _table(self, part: Block, cells: dict[int, CellValues], donors: Integers) -> Any:
        """Return the rows of a part once per permutation ``(b, m)``, with the cells of their donors."""
        index = np.broadcast_to(donors[..., None], (*donors.shape, len(cells)))
        return part.table.stack(len(donors), self.scratch).at(cells, index)


def donors_of(rows: int, weights: Floats | None, rng: np.random.Generator) -> Integers:
    """Return the donor of each row, shape ``(n,)``; rows are donors in proportion to their weight.

    With equal weights this is a permutation. Otherwise every row is an arc on a circle, as long as its
    weight. A second circle has the same arcs in random order, rotated by a random angle. The donor of a row
    is the arc of the second circle at a random position within the row's arc on the first one.
    """
    if weights is None or (weights == weights[0]).all():
        return rng.permutation(rows)
    order = rng.permutation(rows)
    ends = np.cumsum(weights[order])
    positions = np.cumsum(weights) - weights * rng.random(rows) + ends[-1] * rng.random()
    under = np.searchsorted(ends, positions % ends[-1], side="right")
    under = np.minimum(under, rows - 1)  # rounding may put a position at the end
    return np.asarray(order[under])


class RowChanges:
    r"""Sums over repeats that give the mean change of a loss and its standard error.

    A change :math:`d_{ik}` depends on two rows: the predicted row and its donor. The influence of row i on
    the mean change is the sum over both roles:

    .. math:: \psi_i = w_i (\bar d_i - I) + \frac{1}{r} \sum_k \sum_{l: \pi_k(l) = i} w_l (d_{lk} - I)

    .. math:: SE^2 = \frac{n}{n - 1} \frac{1}{W^2} \left[ \sum_i \psi_i^2
              - \frac{1}{r^2} \sum_{ik} w_i^2 (d_{ik} - I)^2 \right]

    The first sum is the linearized variance, as in `Moments`, of both roles. It counts the variance of the
    permutations twice, so the second sum subtracts it once. The error is at least that of the permutations
    alone, :math:`s_k / \sqrt r`, where :math:`s_k` is the standard deviation over repeats.
    """

    def __init__(self, rows: int, weights: Floats | None) -> None:
        self.weights = np.ones(rows) if weights is None else weights
        self.means: list[float] = []
        self.as_row, self.as_donor, self.lent = np.zeros(rows), np.zeros(rows), np.zeros(rows)
        self.sum, self.square = 0.0, 0.0

    def add(self, changes: Floats, donors: Integers) -> None:
        """Add the changes of one repeat, and the donor of each row."""
        weights, rows = self.weights, len(self.weights)
        with ignore_fp_errors():
            self.means.append(float((weights * changes).sum() / weights.sum()))
            about = changes - self.means[0]  # near their mean, so that squares keep their precision
            weighted = weights * about
            self.as_row += about
            self.as_donor += np.bincount(donors, weighted, rows)
            self.lent += np.bincount(donors, weights, rows)
            self.sum += float((weights * weighted).sum())
            self.square += float((weighted**2).sum())

    def finish(self) -> GroupImportance:
        """Return the mean over repeats and its standard error, NaN if there is only one row."""
        rows, repeats, weights = len(self.weights), len(self.means), self.weights
        with ignore_fp_errors():
            shuffles = RepeatChanges(self.means).finish()
            off = shuffles.value - self.means[0]
            roles = weights * (self.as_row / repeats - off) + (self.as_donor - off * self.lent) / repeats
            chance = self.square - 2 * off * self.sum + off**2 * repeats * float((weights**2).sum())
            square = float((roles**2).sum()) - chance / repeats**2
            sampled = square / float(weights.sum()) ** 2 * rows / (rows - 1) if rows > 1 else np.nan
            error = np.sqrt(np.maximum(sampled, 0.0))
        error = error if repeats == 1 else np.maximum(error, shuffles.standard_error)
        return GroupImportance(shuffles.value, float(error), shuffles.repeats)


@dataclass(frozen=True, eq=False)
class RepeatChanges:
    """Changes of a score in each repeat, and their mean with its standard error."""

    means: list[float] = field(default_factory=list)

    def add(self, change: Any, donors: Integers) -> None:
        """Add the change of one repeat."""
        self.means.append(float(change))

    def finish(self) -> GroupImportance:
        """Return the mean over repeats and its standard error, NaN if there is only one repeat."""
        repeats = np.array(self.means)
        with ignore_fp_errors():
            error = repeats.std(ddof=1) / np.sqrt(len(repeats)) if len(repeats) > 1 else np.nan
            return GroupImportance(float(repeats.mean()), float(error), repeats)


def _permutation_notes(
    score: Score, repeats: int, used_rows: int, counted: int, seed: int
) -> tuple[Note, ...]:
    notes = []
    if used_rows < counted:
        text = f"values and standard errors are of {used_rows} rows sampled from {counted} (seed={seed})"
        notes.append(Note(NoteCode.ROWS_PERMUTED, text, value=used_rows))
    if not isinstance(score, RowScore):
        error = (
            "there is no standard error with one repeat"
            if repeats == 1
            else f"standard errors describe the variation over {repeats} permutations, not over samples of "
            f"rows"
        )
        text = f"{score.name} is not a mean over rows, so {error}"
        notes.append(Note(NoteCode.SCORE_ERROR, text))
    return tuple(notes)


def _not_numbers(values: Floats, groups: tuple[Group, ...], rows: Rows) -> Iterator[Note]:
    for group, value in zip(groups, values, strict=True):
        if not np.isfinite(value):
            names = ", ".join(rows.table.names[j] for j in group)
            why = "because the model predicts or scores no finite number"
            yield Note(NoteCode.NOT_FINITE, f"{names}: the importance is {value}, {why}", names)

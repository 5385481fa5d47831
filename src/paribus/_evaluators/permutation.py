"""Permutation importance: loss of predictions after columns are shuffled among the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT, format_bytes
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block, Rows
from paribus._data.samples import distinct
from paribus._data.table import CellValues, ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, OUTPUT_COPIES, TABLE_COPIES
from paribus._evaluators.request import Fold, Passes, StatisticEvaluator, WholeRequest
from paribus._models import Model
from paribus._models.scoring import RowLoss
from paribus._states import Keyed
from paribus._states.sums import ignore_fp_errors
from paribus.errors import ModelError, ParibusError, failure
from paribus.meaning import Estimand

Group = tuple[int, ...]
CALL_BYTES = 8_000_000  # of rows and predictions in one call; max_memory does not change it
ROW_ARRAYS = 10  # floats per row while a group is shuffled: donors, losses, sums over repeats, copies


@dataclass(frozen=True, eq=False)
class GroupImportance:
    """Increase of the loss for one group: mean over repeats, its standard error, and each repeat ``(r,)``."""

    value: float
    standard_error: float
    repeats: Floats


@dataclass(frozen=True, eq=False)
class PermutationRequest(WholeRequest):
    """Importances of the groups of a shuffler, on rows in memory with positive weight."""

    statistic: ClassVar[str] = "permutation"
    points: ClassVar[int] = 0  # there is no grid
    settings: ClassVar[tuple[Any, ...]] = ()  # of stored states, which rows in memory do not have
    memory_was_given: ClassVar[bool] = True  # there is no shortcut that could exceed the bound
    rows: Rows
    shuffler: Shuffler
    max_memory: int
    threads: int


@dataclass(frozen=True, eq=False)
class PermutationEvaluator(StatisticEvaluator):
    r"""Shuffles each group of columns among the rows and computes the loss again.

    .. math:: I_S = \frac{1}{r} \sum_k \frac{1}{W} \sum_i w_i
              \left[ L(y_i, f(x_{\pi_k(i), S}, x_{i, \bar S})) - L(y_i, f(x_i)) \right]

    The columns of a group are shuffled together. Row :math:`i` receives the values of its donor, row
    :math:`\pi_k(i)`. A row is a donor in proportion to its weight: on average, a row of weight 3 has the
    effect of three rows of weight 1. Without weights :math:`\pi_k` is a permutation. Rows of weight zero are
    ignored. A permutation depends only on the seed, the columns and the number of the repeat.

    The standard error covers the sampling of rows and of permutations; see `RowChanges`.
    """

    model: Model
    request: PermutationRequest

    name: ClassVar[str] = "permutation"
    shortcut: ClassVar[bool] = False
    threaded: ClassVar[bool] = False
    estimand: ClassVar[Estimand] = Estimand.PREDICTIVE_QUALITY
    how: ClassVar[str] = "by permutation, losses of predictions with shuffled values of a feature"

    @property
    def block_rows(self) -> int:
        """All rows, because any row may be the donor of any other."""
        return len(self.request.rows)

    @property
    def error_rows(self) -> int:
        """Number of all rows of the request."""
        return len(self.request.rows)

    @property
    def error_units(self) -> int | None:
        """Number of units of the rows, None if rows are independent."""
        units = self.request.rows.units
        return None if units is None else len(distinct(units))

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts."""
        shuffler = self.request.shuffler
        return len(self.request.rows) * (1 + shuffler.repeats * len(shuffler.groups))

    def memory(self, threads: int) -> int:
        """Return the maximum memory: the losses, and the groups that threads shuffle at the same time."""
        rows = len(self.request.rows)
        return 2 * FLOAT * rows + threads * self.request.shuffler.worker_bytes(rows)

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        return (
            f"shuffling {len(self.request.rows)} rows needs {format_bytes(needed)} and max_memory is "
            f"{format_bytes(self.request.max_memory)}; raise max_memory of Explainer, or pass a smaller "
            "subsample="
        )

    def passes(self, threads: int) -> Passes:
        """Yield one fold that shuffles each group, and return the importance of each."""
        rows, numbers = self.request.rows, range(len(self.request.shuffler.groups))
        shuffler = self.request.shuffler.begun(rows)
        parts = tuple(((number,), shuffler.repeats) for number in numbers)
        state = yield Fold("", shuffler, len(rows), parts)
        return tuple(state.parts["shuffled", number] for number in numbers)


@dataclass(frozen=True, eq=False)
class Shuffler:
    """Losses of the model on rows with shuffled columns.

    A block is the whole table and one group of columns, because any row may be the donor of any other.
    ``before`` is the loss of each unshuffled row.
    """

    loss: RowLoss
    groups: tuple[Group, ...]
    repeats: int
    seed: int
    row_bytes: int
    before: Floats = field(default_factory=lambda: np.zeros(0))
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    @property
    def _row_cost(self) -> int:
        return self.row_bytes * TABLE_COPIES + self.loss.model.n_outputs * FLOAT * OUTPUT_COPIES

    @property
    def call_rows(self) -> int:
        """Rows per call of the model; it depends on the table and the model alone."""
        return max(1, min(CALL_ROWS, CALL_BYTES // self._row_cost))

    def worker_bytes(self, rows: int) -> int:
        """Return the memory of shuffling one group among ``rows`` rows."""
        return FLOAT * ROW_ARRAYS * rows + self._row_cost * min(self.call_rows, rows * self.repeats)

    def at_once(self, rows: int) -> int:
        """Return how many repeats of ``rows`` rows fit one call of the model."""
        return max(1, self.call_rows // rows) if self.loss.model.row_independent else 1

    def begun(self, rows: Rows) -> Shuffler:
        """Return a shuffler that holds the losses of the unshuffled rows."""
        unchanged = np.arange(len(rows))[None]
        return replace(self, before=self.losses(Block(rows.table, rows.weights, 0), {}, unchanged)[0])

    def evaluate(self, block: Block) -> Keyed:
        """Return the importance of the group of the block, with as many repeats per call as fit."""
        (number,) = block.questions
        group, rows = self.groups[number], len(block.table)
        cells = {j: block.table.own_cells(j) for j in group}
        changes, at_once = RowChanges(rows, block.weights, block.units), self.at_once(rows)
        for first in range(0, self.repeats, at_once):
            repeats = range(first, min(first + at_once, self.repeats))
            donors = np.stack([self._donors(block, group, repeat) for repeat in repeats])
            for losses, lent in zip(self.losses(block, cells, donors), donors, strict=True):
                with ignore_fp_errors():
                    changes.add(losses - self.before, lent)
        return Keyed({("shuffled", number): changes.finish()})

    def _donors(self, block: Block, group: Group, repeat: int) -> Integers:
        # A spawn key, in which (1,) and (1, 0) differ; as entropy they would be the same.
        sequence = np.random.SeedSequence(self.seed, spawn_key=(repeat, *sorted(group)))
        return donors_of(len(block.table), block.weights, np.random.default_rng(sequence))

    def losses(self, block: Block, cells: dict[int, CellValues], donors: Integers) -> Floats:
        """Return the loss of each row ``(b, i)``, with the cells of its donors ``(b, i)``."""
        losses, model = np.empty(donors.shape), self.loss.model
        for part in block.cut(self.call_rows):
            lent = donors[:, part.start : part.start + len(part.table)]
            index = np.broadcast_to(lent[..., None], (*lent.shape, len(cells)))
            try:
                table = part.table.stack(len(lent), self.scratch).at(cells, index)
                predictions = model.predict(table, lent.size)
            except ParibusError:
                raise
            except Exception as error:  # a model may raise anything; the message names the shuffled columns
                names = ", ".join(block.table.names[j] for j in cells)
                raise ModelError(
                    f"the model failed on rows of X{f' with {names} shuffled' if names else ''}: "
                    f"{failure(error)}; it must be able to predict any row"
                ) from error
            for repeat, each in enumerate(predictions.reshape(*lent.shape, model.n_outputs)):
                losses[repeat, part.start : part.start + len(each)] = self.loss.of_rows(each, part.start)
        return losses


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
    alone, :math:`s_k / \sqrt r`, where :math:`s_k` is the standard deviation over repeats. The influences of
    dependent rows are summed within a unit.
    """

    def __init__(self, rows: int, weights: Floats | None, units: Integers | None) -> None:
        self.units = units
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
        """Return the mean over repeats, and its error, NaN for a single row."""
        rows, weights, repeats = len(self.weights), self.weights, np.array(self.means)
        with ignore_fp_errors():
            value = float(repeats.mean())
            off = value - self.means[0]
            roles = weights * (self.as_row / len(repeats) - off)
            roles += (self.as_donor - off * self.lent) / len(repeats)
            chance = self.square - 2 * off * self.sum + off**2 * len(repeats) * float((weights**2).sum())
            if self.units is not None:
                units = np.unique(self.units, return_inverse=True)[1]
                roles = np.bincount(units, roles).astype(np.float64)
                rows = len(roles)
            square = float((roles**2).sum()) - chance / len(repeats) ** 2
            sampled = square / float(weights.sum()) ** 2 * rows / (rows - 1) if rows > 1 else np.nan
            error = np.sqrt(np.maximum(sampled, 0.0))
            if len(repeats) > 1:
                error = np.maximum(error, repeats.std(ddof=1) / np.sqrt(len(repeats)))
        return GroupImportance(value, float(error), repeats)

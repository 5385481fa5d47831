"""How many predictions a model may make, and the rows that are drawn so that it makes no more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from paribus._data.rows import Rows
from paribus._models import Model, structure_of
from paribus._models.tree_check import MOST_ROWS
from paribus.errors import OptionError, RefusalCode, RefusalError

LEAST_ROWS = 2  # of one row there is no standard error
WAYS_OUT = "raise it, name fewer features or lower grid_resolution"
CROSSED_WAYS_OUT = "raise it or name fewer features"


class RowsNeededError(Exception):
    """Raised by a request that needs rows in memory which were not sampled yet."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True, eq=False)
class PredictionBound:
    """The predictions that evaluating one model may take, ``most`` of the ``given`` ones.

    ``draw`` returns so many of the ``rows`` rows with positive weight, or raises `RowsNeededError`.
    ``recomputed`` are the points of each grid at which ``verify=True`` predicts the same rows once more,
    ``verified`` what it predicts of rows of its own, each way.
    """

    given: int
    most: int
    rows: int
    draw: Callable[[int], Rows] | None = None
    recomputed: tuple[int, ...] = ()
    verified: int = 0

    def bounded(self, evaluator: Any, numbers: Iterable[int], done: Iterable[int]) -> tuple[Any, Rows | None]:
        """Return an evaluator of some grids on as many rows as may be, and those rows; None for all rows.

        Shortcuts, which need no predictions, were found for the grids that are ``done``.
        """
        verified, again = self.rows * self._recomputed(done), self._recomputed(numbers)
        if evaluator.shortcut:
            self.check_verified(self.verified + verified + self.rows * again)
            return evaluator, None
        besides = 2 * self.verified + verified  # both ways evaluate the model itself
        if evaluator.predictions + self.rows * again + besides <= self.most:
            return evaluator, None
        assert self.draw is not None
        drawn = self.draw(self.size(evaluator.row_predictions + again, besides))
        return replace(evaluator, request=evaluator.request.among(drawn)), drawn

    def _recomputed(self, numbers: Iterable[int]) -> int:
        return sum(self.recomputed[number] for number in numbers) if self.recomputed else 0

    def size(self, each: int, besides: int = 0, ways_out: str = WAYS_OUT) -> int:
        """Return how many rows can be predicted ``each`` times."""
        size = min(self.rows, (self.most - besides) // max(1, each))
        least = min(LEAST_ROWS, self.rows)
        if size < least:
            self.refuse(least * each + besides, f"{least} rows", ways_out)
        return size

    def check_verified(self, predictions: int) -> None:
        """Refuse predictions that are made for comparison alone."""
        if predictions and predictions > self.most:
            needed = self.given - self.most + predictions
            raise OptionError(
                f"max_predictions={self.given}: verify=True needs {needed:,} predictions to compare with; "
                "raise it, or leave verify out"
            )

    def crossed(self, each: int) -> int:
        """Return how many rows can be crossed with each other ``each`` times."""
        left = self.most - 2 * self.verified
        size = min(self.rows, math.isqrt(max(0, left) // max(1, each)))
        least = min(LEAST_ROWS, self.rows)
        if size < least:
            needed = least * least * each + 2 * self.verified
            self.refuse(needed, f"{least} rows crossed with each other", CROSSED_WAYS_OUT)
        return size

    def refuse(self, predictions: int, what: str, ways_out: str) -> None:
        """Say how many predictions it would take."""
        needed = self.given - self.most + predictions
        verified = ", or leave verify out" if self.recomputed or self.verified else ""
        raise OptionError(
            f"max_predictions={self.given}: {what} need {needed:,} predictions, those included by which a "
            f"model is tried first; {ways_out}{verified}"
        )


def reading_predictions(model: Model) -> int:
    """Return how many rows a model predicts while its structure is read, at most.

    Models within it are tried on the same rows as itself, and trees once more next to their splits.
    """
    if model.response == "callable":
        return 0
    try:
        structure_of(model)
    except RefusalError as refusal:
        if refusal.code is RefusalCode.NO_STRUCTURE:
            return model.tried
    return model.tried + MOST_ROWS

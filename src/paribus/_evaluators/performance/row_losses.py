"""Losses that are means over rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Floats
from paribus._models.scoring import Family

CLOSEST = float(np.finfo(np.float64).eps)  # a probability is taken to be at least so far from 0 and 1


@dataclass(frozen=True)
class RowLosses:
    """Which losses are computed of each row, in order: by name and output, None for all outputs together.

    ``exclusive`` says that outputs are the probabilities of classes of which one comes out.
    """

    outputs: int
    probability: bool = False
    exclusive: bool = False
    family: Family | None = None

    @property
    def names(self) -> tuple[tuple[str, int | None], ...]:
        """Name and output of each."""
        each = ("squared", "residual") if self.probability else ("squared", "residual", "absolute")
        if self.family is not None:
            each = (*each, "deviance", "own term")
        together = ("log loss", "Brier score", "accuracy") if self.exclusive else ()
        return (
            *((name, None) for name in together),
            *((name, output) for name in each for output in range(self.outputs)),
        )

    def of(self, observed: Floats, predicted: Floats) -> Floats:
        """Return the losses ``(q, i)`` of rows, of which both are ``(i, o)``."""
        with np.errstate(all="ignore"):  # what is not finite is noted
            residual = observed - predicted
            found = [residual**2, residual]
            if not self.probability:
                found.append(np.abs(residual))
            if self.family is not None:
                found += [self.family.deviance(observed, predicted), self.family.own_term(observed)]
            together = []
            if self.exclusive:
                squares = (residual**2).sum(axis=1)
                together = [log_losses(observed, predicted), squares, _is_right(observed, predicted)]
        return np.concatenate([*(one[None] for one in together), *(one.T for one in found)])


def log_losses(observed: Floats, predicted: Floats) -> Floats:
    """Return minus the logarithm of the probability of what came out; one output is that of two classes."""
    if predicted.shape[1] == 1:
        observed = np.concatenate([1 - observed, observed], axis=1)
        predicted = np.concatenate([1 - predicted, predicted], axis=1)
    logs = np.log(np.clip(predicted, CLOSEST, 1 - CLOSEST))
    return np.asarray(-(observed * logs).sum(axis=1))


def _is_right(observed: Floats, predicted: Floats) -> Floats:
    """Return 1 where the most probable class came out, else 0."""
    if predicted.shape[1] == 1:
        right = (predicted[:, 0] > 0.5) == (observed[:, 0] > 0.5)
    else:
        right = predicted.argmax(axis=1) == observed.argmax(axis=1)
    return np.where(np.isfinite(predicted).all(axis=1), right, np.nan)

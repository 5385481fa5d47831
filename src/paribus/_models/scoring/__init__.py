"""Targets, distribution families and losses of predictions."""

from paribus._models.scoring.losses import RowLoss, loss_of
from paribus._models.scoring.targets import (
    Family,
    Outcome,
    family_of,
    other_scale,
    outcome_of,
    predicts_probability,
    target_of,
)

__all__ = [
    "Family",
    "Outcome",
    "RowLoss",
    "family_of",
    "loss_of",
    "other_scale",
    "outcome_of",
    "predicts_probability",
    "target_of",
]

"""Targets, distribution families, losses and scores of predictions."""

from paribus._models.scoring.choose import (
    Family,
    Outcome,
    family_of,
    other_scale,
    outcome_of,
    predicts_probability,
    score_of,
    target_of,
)
from paribus._models.scoring.losses import RowScore, Score, Scorer, TotalScore

__all__ = [
    "Family",
    "Outcome",
    "RowScore",
    "Score",
    "Scorer",
    "TotalScore",
    "family_of",
    "other_scale",
    "outcome_of",
    "predicts_probability",
    "score_of",
    "target_of",
]

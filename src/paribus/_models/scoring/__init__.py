"""How good predictions are: losses and scores of a model's predictions."""

from paribus._models.scoring.choose import score_of
from paribus._models.scoring.family import Family, family_of, other_scale, predicts_probability
from paribus._models.scoring.outcome import Outcome, outcome_of
from paribus._models.scoring.score import RowScore, Score, Scorer, TotalScore
from paribus._models.scoring.target import target_of

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

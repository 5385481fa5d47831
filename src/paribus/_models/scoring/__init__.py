"""How good predictions are: losses and scores of a model's predictions."""

from paribus._models.scoring.choose import score_of
from paribus._models.scoring.outcome import Outcome, outcome_of
from paribus._models.scoring.score import RowScore, Score, Scorer, TotalScore
from paribus._models.scoring.target import target_of

__all__ = ["Outcome", "RowScore", "Score", "Scorer", "TotalScore", "outcome_of", "score_of", "target_of"]

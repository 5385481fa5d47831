"""Which score is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paribus._contracts import Array
from paribus._data.table import Table
from paribus._models.adapter import RESPONSES
from paribus._models.scoring.external_scorers import from_function, is_scorer, scorer_called, scorer_of
from paribus._models.scoring.losses import OWN, has_classes
from paribus._models.scoring.score import RowScore, Score, ScoringInput
from paribus.errors import OptionError, check_choice

# Scores of scikit-learn that are a constant minus a mean over rows, which is known more about.
MEANS: Mapping[str, tuple[str, float]] = {
    "accuracy": ("error_rate", 1.0),
    "neg_log_loss": ("log_loss", 0.0),
    "neg_mean_absolute_error": ("absolute_error", 0.0),
    "neg_mean_gamma_deviance": ("gamma", 0.0),
    "neg_mean_poisson_deviance": ("poisson", 0.0),
    "neg_mean_squared_error": ("squared_error", 0.0),
}


def score_of(
    estimator: Any,
    scoring: Any,
    target: Array,
    table: Table,
    *,
    response_method: str = "auto",
    weighted: bool = False,
) -> Score:
    """Return how good the predictions of a model are on the rows of a table, or raise.

    Parameters
    ----------
    estimator
        The model as the user passed it.
    scoring : None, str or callable
        - None: ``log_loss`` of a model with ``predict_proba``, ``error_rate`` of any other classifier,
          ``log_loss`` where ``target`` is text, else ``squared_error``.
        - a loss of our own: ``squared_error``, ``absolute_error``, ``poisson`` and ``gamma`` (deviances),
          ``log_loss``, ``error_rate``; or the score ``r2``.
        - the name of a scorer of scikit-learn, or such a scorer, or ``scorer(estimator, X, y) -> number``.
          Greater is better.
        - a function ``loss(y_true, y_pred)`` that returns one value per row, or a number. Smaller is better,
          but for functions of ``sklearn.metrics`` called ``..._score``. A number of weighted rows needs the
          keyword ``sample_weight``. It is given what ``response_method`` returns: ``(n,)`` for one output,
          as of the positive class of two, else ``(n, o)``.
    target : ndarray of shape (n,) or (n, o)
        From `target_of`.
    table : Table
        The rows that belong to ``target``.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        How the model predicts; ``"auto"`` is ``predict`` for losses of numbers and labels, ``predict_proba``
        for ``log_loss``, and as everywhere for a function. Scorers decide for themselves.
    weighted : bool
        Whether there will be weights.

    Returns
    -------
    RowScore, TotalScore or Scorer
    """
    check_choice("response_method", response_method, RESPONSES)
    given = ScoringInput(estimator, target, table, response_method)
    if scoring is None:
        scoring = _default(estimator, target)
    if isinstance(scoring, str):
        name, constant = MEANS.get(scoring, (scoring, None))
        if name not in OWN:
            return scorer_of(given, scoring, scorer_called(scoring), weighted)
        score = OWN[name](given)
        if constant is None or not isinstance(score, RowScore):
            return score
        return replace(score, name=scoring, constant=constant)
    if not callable(scoring):
        raise OptionError(
            f"scoring={scoring!r} must be None, a name such as {', '.join(map(repr, OWN))}, a function "
            "(y_true, y_pred) or a scorer (estimator, X, y)"
        )
    name = str(getattr(scoring, "__name__", None) or scoring)
    if is_scorer(scoring):
        return scorer_of(given, name, scoring, weighted)
    return from_function(given, name, scoring, weighted)


def _default(estimator: Any, target: Array) -> str:
    if hasattr(estimator, "predict_proba"):
        return "log_loss"
    if has_classes(estimator):
        return "error_rate"
    return "log_loss" if target.dtype.kind in "OUST" else "squared_error"

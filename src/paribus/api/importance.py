"""Importance: by effect, by permutation, by the model's own account."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus import budget
from paribus.api.background import has_names, held, opened
from paribus.api.options import AUTO, checked, seed_of, size_of, whole
from paribus.api.record import of_estimator, of_model, recorded
from paribus.api.running import Running
from paribus.api.strengths import Strengths
from paribus.data.features import Feature, resolve_each, resolve_groups
from paribus.data.rows import Rows
from paribus.errors import OptionError, one_of
from paribus.executors import Local
from paribus.models import only_one
from paribus.notes import Note, NoteCode
from paribus.results import Importance
from paribus.results.provenance import skipped_notes
from paribus.results.strengths import importance_of

if TYPE_CHECKING:
    from paribus.evaluators.permutation import Permuted

METHODS = ("effect", "permutation", "model")


def feature_importance(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    method: str = "effect",
    features: Any = None,
    sample_weight: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    target_names: Any = None,
    scoring: Any = None,
    n_repeats: int = 5,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
) -> Importance:
    r"""Tell how much each feature matters: to predictions, to their quality, or by the model's own account.

    By **effect**, the standard deviation over the data of the partial dependence, each row at its own value
    or level, and what the prediction loses when the feature alone is averaged out, interactions included:

    .. math:: \langle F_j^2 \rangle^{1/2} \qquad \langle (F - F_{\setminus j})^2 \rangle^{1/2}

    both in units of the prediction; no ``y`` is needed. By **permutation**, how much worse predictions of
    ``y`` get when the values of a feature, or of several together, are shuffled among the rows. By the
    **model**, what it recorded itself when it was fitted: impurity, gain or the like, divided by their sum.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    y : array of shape (n,), optional
        What should have been predicted; for permutation only.
    method : {"effect", "permutation", "model"}
        What importance means.
    features : sequence, optional
        Names or positions; every column by default. By permutation also tuples, whose columns are shuffled
        together.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    feature_names, response_method, target_names, n_jobs, max_memory, progress
        As for `partial_dependence`.
    scoring : str or callable, optional
        For permutation: a loss (``"squared_error"``, ``"absolute_error"``, ``"log_loss"``, ``"poisson"``,
        ``"gamma"``, ``"error_rate"``), a function of ``y`` and the prediction, or a scikit-learn scorer or
        its name. The squared error of a regressor and the log loss of a classifier by default.
    n_repeats : int
        How often a feature is shuffled.
    subsample : int, None or "auto"
        Rows to use. ``"auto"`` is every row, but for the effects of a model that has to be asked itself
        about every row with the values of every other, where it is 500; None is every row.
    random_state : int or numpy Generator, optional
        Seed of the draw and of the shuffles; None is 0, so that the same call gives the same number.

    Returns
    -------
    Importance
        With ``values``, ``standard_error``, ``to_frame()`` and ``plot()``.

    See Also
    --------
    h_statistic : How much of it is interaction.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> predict = lambda X: 3 * X[:, 0] + X[:, 1]
    >>> paribus.feature_importance(predict, X).order
    [0, 1, 2]
    >>> asked = {"method": "permutation", "features": [(0, 1), 2]}
    >>> paribus.feature_importance(predict, X, predict(X), **asked).feature_names
    ('x0 + x1', 'x2')
    """
    only_one(estimator, "feature_importance")
    one_of("method", method, METHODS)
    checked(progress=progress)
    _unused(method, y, scoring, n_repeats, response_method, subsample, target_names)
    size = size_of(subsample, None)
    if method == "effect":
        running = Running(progress)
        rows = opened(estimator, X, sample_weight, feature_names, "raise", running)
        named = has_names(rows, feature_names)
        call = Strengths.of(estimator, rows, named, features, size, random_state, "raise", running)
        model, plan, found, provenance = call.find(
            pairwise=False,
            overall=True,
            threeway=0,
            response_method=response_method,
            target_names=target_names,
            method=AUTO,
            n_jobs=n_jobs,
            max_memory=max_memory,
        )
        return importance_of(found, plan.ask, call.tokens, model, provenance)
    started = perf_counter()
    rows = held(estimator, X, sample_weight, feature_names, f"method={method!r}")
    header, named = rows.header, has_names(rows, feature_names)
    if method == "model":
        return _by_model(estimator, rows, *resolve_each(features, header, named), started)
    groups, tokens = resolve_groups(features, header, named)
    memory, seed = budget.memory(max_memory), seed_of(random_state)
    from paribus.evaluators.permutation import permutation_importance  # not needed to import paribus

    permuted = permutation_importance(
        estimator,
        rows,
        y,
        groups,
        partial(Local, progress=progress, doing="permutation"),
        max_memory=memory,
        scoring=scoring,
        response_method=response_method,
        repeats=whole("n_repeats", n_repeats, 1),
        seed=seed,
        max_rows=size if isinstance(size, int) else None,
        threads=1 if n_jobs is None else budget.threads(n_jobs),
    )
    return _by_permutation(estimator, rows, groups, tokens, permuted, started, seed, memory)


def _unused(
    method: str,
    y: Any,
    scoring: Any,
    n_repeats: Any,
    response_method: str,
    subsample: Any,
    target_names: Any,
) -> None:
    """Refuse arguments that the method would silently ignore."""
    given = {
        "target_names": method != "effect" and target_names is not None,
        "scoring": method != "permutation" and scoring is not None,
        "n_repeats": method != "permutation" and n_repeats != 5,
        "y": method == "model" and y is not None,
        "response_method": method == "model" and response_method != AUTO,
        "subsample": method == "model" and subsample != AUTO,
    }
    if method == "permutation" and y is None:
        raise OptionError("method='permutation' needs y, to tell how much worse predictions of it get")
    for name, is_given in given.items():
        if is_given:
            raise OptionError(f"{name} has no meaning for method={method!r}; leave it out")


def _by_model(
    estimator: Any, rows: Rows, chosen: tuple[int, ...], tokens: tuple[Feature, ...], started: float
) -> Importance:
    from paribus.models.own_importance import own_importance

    own = own_importance(estimator, rows.table)
    provenance = recorded(
        rows,
        started,
        rows.fingerprint(),
        **of_estimator(estimator, "own importance", "share"),
        estimand="the model's own account of its training",
        evaluator="model",
        why="asked for by method='model'",
        how=f"reads {own.what}",
        block_rows=len(rows),
        threads=1,
        max_memory=0,
    )
    return Importance(
        method="model",
        unit=f"share of {own.what}",
        features=tokens,
        feature_names=tuple(rows.table.names[j] for j in chosen),
        output_names=("prediction",),
        values=own.values[list(chosen)],
        standard_error=np.full(len(chosen), np.nan),
        with_interactions=None,
        standard_error_with_interactions=None,
        repeats=None,
        notes=(
            Note(
                NoteCode.TRAINING_DATA,
                "it is about the data the model was fitted to, not about X, and has no standard error",
            ),
            *skipped_notes(provenance),
        ),
        provenance=provenance,
    )


def _by_permutation(
    estimator: Any,
    rows: Rows,
    groups: tuple[tuple[int, ...], ...],
    tokens: tuple[Any, ...],
    permuted: Permuted,
    started: float,
    seed: int,
    memory: int,
) -> Importance:
    from paribus.models.scoring import Scorer

    score = permuted.score
    asked = (
        of_estimator(estimator, score.response, "score")
        if isinstance(score, Scorer)
        else of_model(score.model)
    )
    provenance = recorded(
        rows,
        started,
        rows.fingerprint(),
        **asked,
        estimand="loss of predictive quality",
        evaluator="permutation",
        why="asked for by method='permutation'",
        how="shuffles the values of a feature among the rows and scores the predictions again",
        sampled_rows=permuted.rows if permuted.rows < rows.counted else None,
        seed=seed,
        predictions=permuted.predictions,
        standard_error_rows=permuted.rows,
        block_rows=permuted.rows,
        threads=permuted.threads,
        max_memory=memory,
    )
    return Importance(
        method="permutation",
        unit=permuted.unit,
        features=tokens,
        feature_names=tuple(" + ".join(rows.table.names[j] for j in group) for group in groups),
        output_names=("prediction",),
        values=permuted.values,
        standard_error=permuted.standard_error,
        with_interactions=None,
        standard_error_with_interactions=None,
        repeats=permuted.repeats,
        notes=(*permuted.notes, *skipped_notes(provenance)),
        provenance=provenance,
    )

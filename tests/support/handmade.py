"""Results of interactions and importance built by hand, for what reads them."""

import itertools

import numpy as np

from paribus._evaluators.interactions import Ratio
from paribus.notes import NoteCode
from paribus.results import HStatistics, Importance, Provenance


def provenance(**changes):
    facts = {
        "date": "2026-01-31T12:00:00+00:00",
        "paribus": "0.3",
        "numpy": "2.0",
        "python": "3.11",
        "pandas": "3.0",
        "numba": None,
        "model": "Forest",
        "model_library": "sklearn",
        "model_version": "1.7",
        "response": "predict",
        "scale": "prediction",
        "estimand": "interventional",
        "evaluator": "trees",
        "why": "every tree can be read",
        "how": "sums over leaves",
        "structure": "HistGradientBoostingRegressor: 60 trees",
        "refusals": {"other": "no"},
        "rows": 20_000,
        "columns": 4,
        "unused_columns": (),
        "unknown_categories": (),
        "backend": "pandas",
        "source": None,
        "skipped": (),
        "passes": 1,
        "rank_error": None,
        "executor": "this process",
        "fingerprint": "f00",
        "model_digest": "ba7",
        "weights": None,
        "sampled_rows": None,
        "seed": None,
        "percentiles": None,
        "grid_resolution": None,
        "points": 0,
        "predictions": 0,
        "standard_error_rows": 20_000,
        "block_rows": 512,
        "threads": 1,
        "max_memory": 10**9,
        "verified_difference": None,
        "seconds": 0.5,
    }
    return Provenance(**facts | changes)


def ratio(numerator, denominator):
    """Mean squares whose standard errors are a tenth of them."""
    numerator, denominator = (np.atleast_2d(np.array(a, dtype=float).T).T for a in (numerator, denominator))
    return Ratio(numerator, denominator, numerator / 10, numerator / denominator / 20)


def statistics(names, pairwise, *, main=None, joint=None, outputs=("prediction",), triples=None, **facts):
    """Return statistics of all pairs of named features, from the mean squares of their interactions.

    A joint effect is 4 and the variance of the prediction 100, unless said otherwise.
    """
    size, shape = len(names), np.atleast_2d(np.array(pairwise, dtype=float).T).T.shape
    pairs = tuple(itertools.combinations(range(size), 2))
    every = tuple(itertools.combinations(range(size), 3)) if triples is not None else ()
    own = np.arange(1.0, size + 1)[:, None] ** 2 * np.ones(shape[1]) if main is None else main
    return HStatistics(
        tuple(names),
        tuple(str(name) for name in names),
        tuple(outputs),
        pairs,
        every,
        np.full(shape[1], 100.0),
        ratio(own, np.full((size, shape[1]), 100.0)),
        ratio(pairwise, np.full(shape, 4.0) if joint is None else joint),
        ratio(np.full((size, shape[1]), 9.0), np.full((size, shape[1]), 100.0)),
        None if triples is None else ratio(triples, np.full(len(every), 4.0)),
        ratio(np.full((1, shape[1]), 25.0), np.full((1, shape[1]), 100.0)),
        (NoteCode.SINGLE_ROW.note(),),
        provenance(**facts),
    )


def importance(features, values, *, kind="effect", outputs=("prediction",), **facts):
    """Return importances; by effect, what features do with their interactions is twice as much."""
    values = np.array(values, dtype=float)
    effect, by_model = kind == "effect", kind == "model"
    return Importance(
        kind,
        "loss in $",
        tuple(features),
        tuple(" + ".join(map(str, f)) if isinstance(f, tuple) else str(f) for f in features),
        tuple(outputs),
        values,
        np.full_like(values, np.nan) if by_model else np.abs(values) / 10,
        2 * values if effect else None,
        values / 5 if effect else None,
        np.stack([values, values], 1) if kind == "permutation" else None,
        (NoteCode.SINGLE_ROW.note(),),
        provenance(**facts),
    )

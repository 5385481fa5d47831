"""The only place that chooses how a question is answered."""

from __future__ import annotations

from dataclasses import dataclass

from paribus.budget import in_words
from paribus.errors import MemoryBoundError, RefusalError, one_of
from paribus.evaluators.ask import METHODS, Ask
from paribus.evaluators.brute import BruteForce
from paribus.models import Model

# In order of preference; each says why it cannot answer, or that it can. A faster evaluator must give
# the number brute force gives: it may refuse, it may not approximate.
EVALUATORS = (BruteForce,)


@dataclass(frozen=True)
class Plan:
    """Which evaluator answers, why, why the others do not, and in what portions."""

    evaluator: BruteForce
    why: str
    refusals: dict[str, str]
    block_rows: int
    threads: int


def choose(model: Model, ask: Ask, method: str) -> Plan:
    """Choose the first evaluator that can answer; ``method`` may insist on one by name."""
    one_of("method", method, METHODS)
    refusals: dict[str, str] = {}
    for candidate in EVALUATORS:
        if method == "exact" and not candidate.exact:
            refusals[candidate.name] = "it is not a shortcut; method='brute' asks for it by name"
            continue
        refusal = candidate.refuse(model, ask)
        if refusal is None:
            return _planned(candidate.build(model, ask), candidate.reason, refusals)
        refusals[candidate.name] = refusal
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
    raise RefusalError(
        f"method={method!r}: no evaluator knows a shortcut for {model.name} ({reasons}). "
        "method='brute' gives the same number, method='auto' takes the fastest that does"
    )


def _planned(evaluator: BruteForce, why: str, refusals: dict[str, str]) -> Plan:
    ask = evaluator.ask
    needed = result_bytes(ask, evaluator.model.n_outputs) + evaluator.worker_bytes
    if needed > ask.max_memory:
        raise MemoryBoundError(
            f"the answer needs {in_words(needed)} and max_memory is {in_words(ask.max_memory)}: "
            f"{ask.points} points, {evaluator.model.n_outputs} outputs"
            + (f", a curve for each of {ask.rows} rows" if ask.individual else "")
            + ". Raise max_memory, lower grid_resolution"
            + (", ask for kind='average', or pass fewer rows" if ask.individual else "")
        )
    spare = ask.max_memory - result_bytes(ask, evaluator.model.n_outputs)
    threads = max(1, min(ask.threads, spare // evaluator.worker_bytes))
    return Plan(evaluator, why, refusals, evaluator.block_rows, threads)


def result_bytes(ask: Ask, outputs: int) -> int:
    """Memory of the answer itself: averages, errors and support; curves twice, while they are joined."""
    cell = 8 * outputs * ask.points
    return 4 * cell + (2 * cell * ask.rows if ask.individual else 0)

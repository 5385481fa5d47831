"""The only place that chooses how a question is answered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from paribus import budget
from paribus.budget import FLOAT, in_words
from paribus.errors import MemoryBoundError, RefusalError, one_of
from paribus.evaluators.ask import METHODS, Ask, EffectEvaluator, Portioned
from paribus.evaluators.brute import BruteForce
from paribus.evaluators.trees.exact import TreeExact
from paribus.evaluators.trees.recursion import TreeRecursion
from paribus.models import Model

# In order of preference. A faster evaluator must give the number brute force gives: it may refuse, it may
# not approximate.
EVALUATORS: tuple[type[EffectEvaluator], ...] = (TreeExact, TreeRecursion, BruteForce)
INTERVENTIONAL = "interventional"
OTHER_ESTIMAND = "it answers another question, so it is only taken by name"
QUEUE = 3  # states a thread has ready or in hand while others are merged


@dataclass(frozen=True, eq=False)
class Plan:
    """Which evaluator answers, why, why the others do not, and on how many threads."""

    evaluator: EffectEvaluator
    why: str
    refusals: dict[str, str]
    threads: int


def choose(model: Model, ask: Ask, method: str, refused: Mapping[str, str] | None = None) -> Plan:
    """Choose the first evaluator that can answer; ``method`` may insist on a shortcut, or on none.

    ``refused`` are those that turned out not to, once they met the rows.
    """
    one_of("method", method, METHODS)
    refusals: dict[str, str] = dict(refused or {})
    for candidate in EVALUATORS:
        if candidate.name in refusals:
            continue
        refusal = _not_meant(candidate, method) or candidate.refuse(model, ask)
        if refusal is None:
            try:
                evaluator = candidate.build(model, ask)
                threads = threads_within(evaluator, model.n_outputs, ask)
            except RefusalError as found:
                refusal = str(found)
            except MemoryBoundError as bound:
                if method != "auto" or not candidate.shortcut:
                    raise
                refusal = str(bound)
            else:
                why = "the fastest that can answer" if method == "auto" else f"asked for by method={method!r}"
                return Plan(evaluator, why, refusals, threads)
        refusals[candidate.name] = refusal
    raise RefusalError(_none_can(model, method, refusals))


def _none_can(model: Model, method: str, refusals: dict[str, str]) -> str:
    if method == "recursion":
        return f"method='recursion' for {model.name}: {refusals['tree_recursion']}"
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
    return (
        f"method={method!r}: no evaluator knows a shortcut for {model.name} ({reasons}). "
        "method='brute' gives the same number, method='auto' takes the fastest that does"
    )


def _not_meant(candidate: type[EffectEvaluator], method: str) -> str | None:
    """Return why an evaluator is not what the method means."""
    if (candidate.estimand != INTERVENTIONAL) != (method == "recursion"):
        return f"method={method!r} was asked for by name" if method == "recursion" else OTHER_ESTIMAND
    if method == "exact" and not candidate.shortcut:
        return "it is no shortcut"
    if method == "brute" and candidate.shortcut:
        return f"method={method!r} was asked for by name"
    return None


def memory_of(plan: Plan, model: Model, ask: Ask) -> int:
    """Return the memory a plan takes at most, in bytes."""
    evaluator = plan.evaluator
    block = ask.row_bytes * min(ask.rows, evaluator.block_rows) if ask.read else 0
    answer = answer_bytes(ask, model.n_outputs, evaluator.block_rows, evaluator.state_bytes)
    return answer + evaluator.held_bytes + plan.threads * QUEUE * (evaluator.worker_bytes + block)


def threads_within(evaluator: Portioned, outputs: int, ask: Ask) -> int:
    """Return how many threads fit in the memory bound beside the answer, or refuse when not even one does."""
    answer = answer_bytes(ask, outputs, evaluator.block_rows, evaluator.state_bytes)
    answer += evaluator.held_bytes
    wanted = ask.threads or (budget.threads(-1) if evaluator.threaded else 1)
    block = ask.row_bytes * min(ask.rows, evaluator.block_rows) if ask.read else 0
    worker = QUEUE * (evaluator.worker_bytes + block)
    one = answer + evaluator.worker_bytes + block
    if one > ask.max_memory:
        raise MemoryBoundError(
            f"the answer needs {in_words(one)} and max_memory is {in_words(ask.max_memory)}: "
            f"{ask.points} points, {outputs} outputs"
            + (f", a curve for each of {ask.rows} rows" if ask.individual else "")
            + ". Raise max_memory, lower grid_resolution"
            + (", leave spread out" if ask.spread is not None else "")
            + (", ask for kind='average', or pass fewer rows" if ask.individual else "")
        )
    return max(1, min(wanted, (ask.max_memory - answer) // worker))


def answer_bytes(ask: Ask, outputs: int, block_rows: int, state_bytes: int) -> int:
    """Memory of the answer: curves twice, while they are joined, and every state on the way to be merged.

    The tree of merges holds one state per level.
    """
    cell = FLOAT * outputs * ask.points
    levels = math.ceil(math.log2(max(2, ask.rows / block_rows))) + 2
    collected, _ = ask.collected_bytes(outputs)
    return state_bytes * levels + collected + (2 * cell * ask.rows if ask.individual else 0)

"""The only place that chooses how a question is answered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from paribus import budget
from paribus.budget import AHEAD, FLOAT, in_words
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
DEARER = 10  # times a shortcut that brute force may cost without a warning
P = TypeVar("P", bound=Portioned)


@dataclass(frozen=True, eq=False)
class Plan:
    """Which evaluator answers, why, why the others do not, on how many threads, and what to warn of."""

    evaluator: EffectEvaluator
    why: str
    refusals: dict[str, str]
    threads: int
    warning: str | None = None


def dearer(short: str, passes: float) -> str | None:
    """Return what to say before brute force begins because a shortcut was ``short`` of memory.

    None where it predicts the rows hardly more often than the shortcut goes through them.
    """
    if passes <= DEARER:
        return None
    return (
        f"max_memory is too small for the shortcut, so the model is evaluated about {passes:,.0f} times on "
        f"every row, where the shortcut takes about as long as one such pass ({short})"
    )


def choose(model: Model, ask: Ask, method: str, refused: Mapping[str, str] | None = None) -> Plan:
    """Choose the first evaluator that can answer; ``method`` may insist on a shortcut, or on none.

    ``refused`` are those that turned out not to, once they met the rows.
    """
    one_of("method", method, METHODS)
    refusals: dict[str, str] = dict(refused or {})
    short: str | None = None
    for candidate in EVALUATORS:
        if candidate.name in refusals:
            continue
        refusal = _not_meant(candidate, method) or candidate.refuse(model, ask)
        if refusal is None:
            try:
                evaluator, threads = fitted(candidate.build(model, ask), model.n_outputs)
            except RefusalError as found:
                refusal = str(found)
            except MemoryBoundError as bound:
                if method != "auto" or not candidate.shortcut:
                    raise
                refusal = short = str(bound)
            else:
                evaluator.prepare()
                why = "the fastest that can answer" if method == "auto" else f"asked for by method={method!r}"
                passes = evaluator.predictions / max(1, ask.counted)
                warning = None if short is None else dearer(short, passes)
                return Plan(evaluator, why, refusals, threads, warning)
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


def fitted(evaluator: P, outputs: int) -> tuple[P, int]:
    """Return an evaluator whose calls and blocks are small enough for the memory bound, and its threads.

    One that needs more than the bound however small they are is refused.
    """
    ask = evaluator.ask
    wanted = ask.threads or (budget.threads(-1) if evaluator.threaded else 1)
    needed = []
    for cut in ask.cuts:
        smaller = replace(evaluator, ask=replace(ask, cut=cut))  # type: ignore[type-var]
        needed.append(memory_of(smaller, outputs, 1))
        if needed[-1] <= ask.max_memory:
            return smaller, _threads_within(smaller, outputs, wanted)
    raise MemoryBoundError(
        f"the result needs {in_words(1.01 * min(needed))} and max_memory is {in_words(ask.max_memory)}: "
        f"{ask.points} points, {outputs} outputs"
        + (f", a curve for each of {ask.rows} rows" if ask.individual else "")
        + ". Raise max_memory, lower grid_resolution"
        + (", leave spread out" if ask.spread is not None else "")
        + (", pass kind='average' or fewer rows" if ask.individual else "")
    )


def _threads_within(evaluator: Portioned, outputs: int, wanted: int) -> int:
    """Return the most threads that fit, of which one does; every further one takes as much as the third."""
    two, three = (memory_of(evaluator, outputs, threads) for threads in (2, 3))
    bound = evaluator.ask.max_memory
    return 1 if two > bound else int(min(wanted, 2 + (bound - two) // max(1, three - two)))


def memory_of(evaluator: Portioned, outputs: int, threads: int) -> int:
    """Return the memory an evaluator takes at most, in bytes: the result, and blocks that are evaluated.

    Beside those that threads evaluate, blocks wait to be, or their states to be merged.
    """
    ask = evaluator.ask
    block = ask.row_bytes * min(ask.rows, evaluator.block_rows) if ask.read else 0
    queued = 1 + AHEAD * threads if threads > 1 or ask.read else 1
    waiting = (queued - threads) * max(evaluator.state_bytes, block)
    answer = answer_bytes(ask, outputs, evaluator.block_rows, evaluator.state_bytes)
    return answer + evaluator.held_bytes + threads * (evaluator.worker_bytes + block) + max(0, waiting)


def answer_bytes(ask: Ask, outputs: int, block_rows: int, state_bytes: int) -> int:
    """Memory of the answer: curves twice, while they are joined, and every state on the way to be merged.

    The tree of merges holds one state per level.
    """
    cell = FLOAT * outputs * ask.points
    levels = math.ceil(math.log2(max(2, ask.rows / block_rows))) + 2
    collected, _ = ask.collected_bytes(outputs)
    return state_bytes * levels + collected + (2 * cell * ask.rows if ask.individual else 0)

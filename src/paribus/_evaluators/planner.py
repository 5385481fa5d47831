"""The only place that chooses how a statistic is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paribus import _budget
from paribus._data.rows import Rows
from paribus._evaluators.prediction_bound import PredictionBound
from paribus._evaluators.request import Request, StatisticEvaluator
from paribus._models import Model, structure_of
from paribus._models.combination import refuse_joined
from paribus._models.trees import Trees
from paribus.errors import MemoryBoundError, RefusalCode, RefusalError
from paribus.meaning import Estimand, Refusal

OTHER_ESTIMAND = "it estimates something else, so it is only taken by name"
OTHER_KIND = "the model is not a tree ensemble"
SEVERAL = "it is made of several models that are not one sum of trees or terms"
# The way out of a bound that leaves no room for trees: brute force takes far longer, so nobody falls into it.
BRUTE = ". Where method= is an argument, method='brute' evaluates the model itself: slower, in less memory"
NOT_COVERED = "pairs of features are evaluated on the model itself"


def _of_effects() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.additive_exact import AdditiveExact
    from paribus._evaluators.brute_force import BruteForce
    from paribus._evaluators.combined_exact import CombinedExact
    from paribus._evaluators.trees.tree_exact import TreeExact
    from paribus._evaluators.trees.tree_recursion import TreeRecursion

    return [TreeExact, AdditiveExact, CombinedExact, TreeRecursion, BruteForce]


def _of_ale() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.ale.brute_ale import BruteAle
    from paribus._evaluators.ale.structure_ale import AdditiveAle, CombinedAle
    from paribus._evaluators.ale.tree_ale import TreeAle

    return [TreeAle, AdditiveAle, CombinedAle, BruteAle]


def _of_interactions() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.interactions.additive_interactions import AdditiveInteractions
    from paribus._evaluators.interactions.brute_interactions import BruteInteractions
    from paribus._evaluators.interactions.tree_crossings import TreeCrossings
    from paribus._evaluators.interactions.tree_interactions import TreeInteractions

    return [TreeInteractions, TreeCrossings, AdditiveInteractions, BruteInteractions]


def _of_marginal() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.cell_means import CellMeans

    return [CellMeans]


def _of_permutation() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.permutation import PermutationEvaluator

    return [PermutationEvaluator]


# By the name of the statistic what evaluates it, in order of preference, imported when it is requested. A
# faster evaluator must give the number that evaluating the model gives: it may refuse, not approximate.
EVALUATORS: dict[str, Callable[[], list[type[StatisticEvaluator]]]] = {
    "effects": _of_effects,
    "ale": _of_ale,
    "interactions": _of_interactions,
    "marginal": _of_marginal,
    "permutation": _of_permutation,
}


@dataclass(frozen=True, eq=False)
class Plan:
    """Which evaluator computes which grids, why, why the others do not, on how many threads.

    ``drawn`` are the rows it goes through where a bound on predictions allows no more.
    """

    evaluator: StatisticEvaluator
    numbers: tuple[int, ...]
    why: str
    refusals: dict[str, Refusal]
    threads: int
    warning: str | None = None
    drawn: Rows | None = None


def choose(
    model: Model | None,
    requested: Callable[[type[StatisticEvaluator] | None], Request],
    method: str = "auto",
    refused: Mapping[str, Refusal] | None = None,
    bound: PredictionBound | None = None,
) -> list[Plan]:
    """Choose the first evaluators that can compute all grids.

    ``requested`` returns the request for an evaluator, or for any if there is none, on fewer rows where it
    evaluates the model or crosses rows with each other; ``method`` may insist on a shortcut, or on none.
    ``refused`` are the evaluators that refused what they met in the rows. Evaluating the model takes no more
    predictions than the ``bound``. A bound on memory that the user gave and a shortcut exceeds is an error.
    """
    refusals = dict(refused or {})
    short: str | None = None
    plans: list[Plan] = []
    done: set[int] = set()
    candidates = EVALUATORS[requested(None).statistic]()
    if method in ("auto", "exact") and _read_by_none(candidates, model):
        refusals["combined_exact"] = Refusal("combined_exact", RefusalCode.UNSUPPORTED, SEVERAL)
    for candidate in candidates:
        if candidate.name in refusals:
            earlier = refusals[candidate.name]
            short = str(earlier) if earlier.code is RefusalCode.MEMORY else short
            continue
        reason, code = _not_meant(candidate, method), RefusalCode.NOT_REQUESTED
        if reason is None and (unread := _unread(candidate, model)) is not None:
            reason, code = str(unread), unread.code
        if candidate.structure is not None and (
            reason in refusals.values() or (reason == OTHER_KIND and method != "recursion")
        ):
            continue  # one reason is enough for all evaluators of structures
        if reason is None:
            request = requested(candidate)
            covered, left = _covered(candidate, model, request)
            numbers = tuple(number for number in covered if number not in done)
            try:
                if numbers:
                    within = (
                        None if bound is None else partial(bound.bounded, numbers=numbers, done=set(done))
                    )
                    plans.append(_planned(candidate, model, request, numbers, method, short, within))
                    done.update(numbers)
                if len(done) == request.n_parts:
                    return [replace(plan, refusals=refusals) for plan in plans]
                reason, code = str(left), left.code
            except RefusalError as found:
                reason, code = str(found), found.code
            except MemoryBoundError as shortage:
                if method != "auto" or not candidate.shortcut:
                    raise
                if request.given:
                    raise MemoryBoundError(f"{shortage}{BRUTE}") from shortage
                reason = short = str(shortage)
                code = RefusalCode.MEMORY
        refusals[candidate.name] = Refusal(candidate.name, code, reason)
    raise RefusalError(_none_can(model, method, refusals))


def _covered(
    candidate: type[StatisticEvaluator], model: Model | None, request: Request
) -> tuple[tuple[int, ...], RefusalError]:
    """Return the numbers of the grids that an evaluator can compute, and why not those of any others."""
    numbers, left = candidate.covers(request), RefusalError(NOT_COVERED, RefusalCode.UNSUPPORTED)
    if candidate.structure is None or model is None or request.n_parts == 1:
        return numbers, left  # a single one it refuses by itself
    kept, grids = [], getattr(request, "grids", ())
    for number in numbers:
        try:
            refuse_joined(structure_of(model), [axis.feature for axis in grids[number].axes])
            kept.append(number)
        except RefusalError as joined:
            left = joined
    return tuple(kept), left


def _planned(
    candidate: type[StatisticEvaluator],
    model: Model | None,
    request: Request,
    numbers: tuple[int, ...],
    method: str,
    short: str | None,
    within: Callable[[Any], tuple[Any, Rows | None]] | None = None,
) -> Plan:
    some = request if len(numbers) == request.n_parts else request.only(numbers)
    built, drawn = candidate.build(model, some), None
    if within is not None:
        built, drawn = within(built)
    evaluator, threads = fitted(built)
    why = f"requested by method={method!r}"
    if method == "auto":
        why = "the fastest that applies" if short is None else "the fastest that fits max_memory"
    warning = None if short is None else evaluator.fallback(short)
    return Plan(evaluator, numbers, why, {}, threads, warning, drawn)


def _none_can(model: Model | None, method: str, refusals: Mapping[str, Refusal]) -> str:
    name = "None" if model is None else model.name
    if method == "recursion":
        return f"method='recursion' for {name}: {refusals['tree_recursion']}"
    reasons = "; ".join(f"{evaluator}: {reason}" for evaluator, reason in refusals.items())
    return (
        f"method={method!r}: no exact shortcut for {name} ({reasons}). "
        "method='brute' gives the same result on the same rows, method='auto' uses the fastest exact "
        "evaluator"
    )


def reads_trees(evaluator: Any) -> bool:
    """Return whether an evaluator, or one of those it is built from, evaluates the trees of a model."""
    built = getattr(evaluator, "built", ())
    parts = built if isinstance(built, tuple) else (built,)
    return evaluator.structure is Trees or any(map(reads_trees, parts))


def _read_by_none(candidates: list[type[StatisticEvaluator]], model: Model | None) -> bool:
    """Return whether a model has a structure, and of a kind that no evaluator of a statistic reads."""
    kinds = tuple(one.structure for one in candidates if one.structure is not None)
    if not kinds or model is None:
        return False
    try:
        return not isinstance(structure_of(model), kinds)
    except RefusalError:
        return False


def _unread(candidate: type[StatisticEvaluator], model: Model | None) -> RefusalError | None:
    """Return why a model does not have the structure that an evaluator reads."""
    if candidate.structure is None or model is None:
        return None
    try:
        structure = structure_of(model)
    except RefusalError as refusal:
        return refusal
    return None if isinstance(structure, candidate.structure) else RefusalError(OTHER_KIND)


def _not_meant(candidate: type[StatisticEvaluator], method: str) -> str | None:
    """Return why an evaluator is not what the method means."""
    if (candidate.estimand is Estimand.PATH_DEPENDENT) != (method == "recursion"):
        return f"method={method!r} was requested by name" if method == "recursion" else OTHER_ESTIMAND
    if method == "exact" and not candidate.shortcut:
        return "it is not a shortcut"
    if method == "brute" and candidate.shortcut:
        return f"method={method!r} was requested by name"
    return None


def fitted(evaluator: Any) -> tuple[Any, int]:
    """Return an evaluator whose calls and blocks are small enough for the memory bound, and its threads.

    One that needs more than the bound however small they are is refused.
    """
    request = evaluator.request
    wanted = request.threads or (_budget.threads(-1) if evaluator.threaded else 1)
    needed = []
    for cut in request.cuts:
        smaller = evaluator if cut == request.cut else replace(evaluator, request=replace(request, cut=cut))
        needed.append(smaller.memory(1))
        if needed[-1] <= request.max_memory:
            return smaller, _threads_within(smaller, wanted)
    raise MemoryBoundError(evaluator.shortage(1.01 * min(needed)))


def _threads_within(evaluator: Any, wanted: int) -> int:
    """Return the most threads that fit, of which one does; every further one takes as much as the third."""
    two, three = (evaluator.memory(threads) for threads in (2, 3))
    bound = evaluator.request.max_memory
    return 1 if two > bound else int(min(wanted, 2 + (bound - two) // max(1, three - two)))

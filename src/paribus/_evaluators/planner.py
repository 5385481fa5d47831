"""Choice of evaluators, and verification of estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paribus import _budget
from paribus._contracts import Floats
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, reraise_with_rows
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, SinglePass, StatisticEvaluator
from paribus._grid import Grid
from paribus._kernels import why_numpy
from paribus._models import Model, structure_of
from paribus._models.combination import refuse_joined
from paribus._models.ensemble import LEAF
from paribus._models.structure import reads_single, trees_of
from paribus._models.trees import Trees, rounding_of
from paribus._states import Moments
from paribus._states.sums import ignore_fp_errors
from paribus.errors import MemoryBoundError, RefusalCode, RefusalError
from paribus.meaning import Estimand, Refusal

if TYPE_CHECKING:
    from paribus._data.scan.open import Background
    from paribus._evaluators.interactions.requests import InteractionRequest
    from paribus._evaluators.permutation import PermutationRequest

# Sizes are divided by ``cut``, one of ``cuts``, to fit ``max_memory``. A request has ``n_parts`` parts, each
# of which may be computed by another evaluator.
Request: TypeAlias = "EvaluationRequest | InteractionRequest | PermutationRequest"

OTHER_ESTIMAND = "it is a different estimand, so it is only used on request"
OTHER_KIND = "the model is not a tree ensemble"
SEVERAL = "it is a function of other models, and not one sum of trees or terms"
# Brute force needs less memory, but it is not chosen automatically because it takes far longer.
BRUTE = ". Where method= is an argument, method='brute' evaluates the model itself: slower, in less memory"
# Predictions of a row by a tree that take as long as the NumPy kernels take for the row at one leaf.
LEAF_PREDICTIONS = 2
NOT_COVERED = "pairs of features are evaluated on the model itself"


def _of_effects() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.additive_exact import AdditiveExact, CombinedExact
    from paribus._evaluators.brute_force import BruteForce
    from paribus._evaluators.trees.tree_exact import TreeExact, TreeRecursion

    return [TreeExact, AdditiveExact, CombinedExact, TreeRecursion, BruteForce]


def _of_ale() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.ale.brute_ale import AdditiveAle, BruteAle, CombinedAle
    from paribus._evaluators.ale.tree_ale import TreeAle
    from paribus._evaluators.ale.tree_pair_ale import TreePairAle

    return [TreeAle, TreePairAle, AdditiveAle, CombinedAle, BruteAle]


def _of_interactions() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.interactions.additive_interactions import AdditiveInteractions, BruteInteractions
    from paribus._evaluators.interactions.tree_interactions import TreeInteractions
    from paribus._evaluators.interactions.tree_passes import TreeCrossings

    return [TreeInteractions, TreeCrossings, AdditiveInteractions, BruteInteractions]


def _of_marginal() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.cell_means import CellMeans

    return [CellMeans]


def _of_permutation() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.permutation import PermutationEvaluator

    return [PermutationEvaluator]


# Evaluators of each statistic in order of preference, imported when the statistic is requested. A faster
# evaluator must give the same number as brute force: it may refuse, but not approximate.
EVALUATORS: dict[str, Callable[[], list[type[StatisticEvaluator]]]] = {
    "effects": _of_effects,
    "ale": _of_ale,
    "interactions": _of_interactions,
    "marginal": _of_marginal,
    "permutation": _of_permutation,
}


@dataclass(frozen=True, eq=False)
class Plan:
    """Evaluator of the parts ``numbers`` of a request, the reason for it, and the refusals of others.

    ``threads`` is the number of threads.
    """

    evaluator: StatisticEvaluator
    numbers: tuple[int, ...]
    why: str
    refusals: dict[str, Refusal]
    threads: int


def choose(
    model: Model | None,
    requested: Callable[[type[StatisticEvaluator] | None], Request],
    method: str = "auto",
    refused: Mapping[str, Refusal] | None = None,
) -> list[Plan]:
    """Choose the first evaluators that together compute all parts of a request.

    ``requested`` returns the request for an evaluator, which may have fewer rows if the evaluator calls the
    model or crosses rows. ``method`` may require a shortcut, or exclude shortcuts. ``refused`` are evaluators
    that refused during an earlier pass. Without compiled kernels, brute force on all rows may replace a
    slower shortcut. It is an error if a shortcut exceeds a memory bound that the user gave.
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
        reason, code, part = _not_meant(candidate, method), RefusalCode.NOT_REQUESTED, None
        if reason is None and (unread := _unread(candidate, model)) is not None:
            reason, code, part = str(unread), unread.code, unread.part
        if candidate.structure is not None and (
            reason in refusals.values() or (reason == OTHER_KIND and method != "recursion")
        ):
            continue  # evaluators of structures share one reason
        if reason is None:
            request = requested(candidate)
            covered, left = _covered(candidate, model, request)
            numbers = tuple(number for number in covered if number not in done)
            try:
                if numbers:
                    _refuse_slower(candidate, candidates[-1], model, requested, method)
                    plans.append(_planned(candidate, model, request, numbers, method, short))
                    done.update(numbers)
                if len(done) == request.n_parts:
                    return _with_refusals(plans, refusals)
                reason, code, part = str(left), left.code, left.part
            except RefusalError as found:
                reason, code, part = str(found), found.code, found.part
            except MemoryBoundError as shortage:
                if method != "auto" or not candidate.shortcut:
                    raise
                if request.memory_was_given:
                    raise MemoryBoundError(f"{shortage}{BRUTE}") from shortage
                reason = short = str(shortage)
                code = RefusalCode.MEMORY
        refusals[candidate.name] = Refusal(candidate.name, code, reason, part)
    raise RefusalError(_none_can(model, method, refusals))


def _with_refusals(plans: list[Plan], refusals: dict[str, Refusal]) -> list[Plan]:
    """Return the plans with the refusals; parts that another shortcut computes are not mentioned."""
    if all(plan.evaluator.shortcut for plan in plans):
        refusals = {name: refusal for name, refusal in refusals.items() if str(refusal) != NOT_COVERED}
    return [replace(plan, refusals=refusals) for plan in plans]


def _covered(
    candidate: type[StatisticEvaluator], model: Model | None, request: Request
) -> tuple[tuple[int, ...], RefusalError]:
    """Return the numbers of the grids that an evaluator can compute, and the refusal of the others."""
    numbers, left = candidate.covers(request), RefusalError(NOT_COVERED, RefusalCode.UNSUPPORTED)
    if candidate.structure is None or model is None or request.n_parts == 1:
        return numbers, left  # `build` refuses a single part
    kept, grids = [], getattr(request, "grids", ())
    for number in numbers:
        try:
            refuse_joined(structure_of(model), [axis.feature for axis in grids[number].axes])
            kept.append(number)
        except RefusalError as joined:
            left = joined
    return tuple(kept), left


def _refuse_slower(
    candidate: type[StatisticEvaluator],
    brute: type[StatisticEvaluator],
    model: Model | None,
    requested: Callable[[type[StatisticEvaluator] | None], Request],
    method: str,
) -> None:
    """Refuse an evaluator of trees if, without compiled kernels, brute force on the same rows is faster.

    The kernels in NumPy test a row at every leaf, where a prediction follows one path. Both are counted and
    not timed, so that the same call always uses the same evaluator. Shortcuts are kept where predictions
    cross rows with each other, or need preprocessing.
    """
    kept = method != "auto" or candidate.structure is not Trees
    if kept or model is None or not issubclass(brute, SinglePass) or (why := why_numpy()) is None:
        return
    trees = trees_of(model).ensemble
    if trees.preparation is not None:
        return
    leaves = int((trees.column == LEAF).sum()) / max(1, len(trees.roots))
    try:
        evaluator, _ = fitted(brute.build(model, requested(brute)))
    except MemoryBoundError:
        return
    if evaluator.row_predictions < LEAF_PREDICTIONS * leaves:
        raise RefusalError(
            f"the kernels in NumPy would take longer than {evaluator.row_predictions} predictions of each "
            f"row by trees of {leaves:.0f} leaves ({why}); method='exact' uses the kernels",
            RefusalCode.SLOWER,
        )


def _planned(
    candidate: type[StatisticEvaluator],
    model: Model | None,
    request: Request,
    numbers: tuple[int, ...],
    method: str,
    short: str | None,
) -> Plan:
    some = request if len(numbers) == request.n_parts else request.only(numbers)
    evaluator, threads = fitted(candidate.build(model, some))
    why = f"requested by method={method!r}"
    if method == "auto":
        why = "the fastest that applies" if short is None else "the fastest that fits max_memory"
    return Plan(evaluator, numbers, why, {}, threads)


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
    """Return whether an evaluator, or one of its parts, reads the trees of a model."""
    built = getattr(evaluator, "built", ())
    parts = built if isinstance(built, tuple) else (built,)
    return evaluator.structure is Trees or any(map(reads_trees, parts))


def _read_by_none(candidates: list[type[StatisticEvaluator]], model: Model | None) -> bool:
    """Return whether a model has a structure of a kind that no candidate reads."""
    kinds = tuple(one.structure for one in candidates if one.structure is not None)
    if not kinds or model is None:
        return False
    try:
        return not isinstance(structure_of(model), kinds)
    except RefusalError:
        return False


def _unread(candidate: type[StatisticEvaluator], model: Model | None) -> RefusalError | None:
    """Return the refusal if a model lacks the structure that an evaluator reads, else None."""
    if candidate.structure is None or model is None:
        return None
    try:
        structure = structure_of(model)
    except RefusalError as refusal:
        return refusal
    return None if isinstance(structure, candidate.structure) else RefusalError(OTHER_KIND)


def _not_meant(candidate: type[StatisticEvaluator], method: str) -> str | None:
    """Return why ``method`` excludes an evaluator, None if it does not."""
    if (candidate.estimand is Estimand.PATH_DEPENDENT) != (method == "recursion"):
        return f"method={method!r} was requested by name" if method == "recursion" else OTHER_ESTIMAND
    if method == "exact" and not candidate.shortcut:
        return "it is not a shortcut"
    if method == "brute" and candidate.shortcut:
        return f"method={method!r} was requested by name"
    return None


def fitted(evaluator: Any) -> tuple[Any, int]:
    """Return an evaluator whose calls and blocks fit the memory bound, and its number of threads.

    Raises `MemoryBoundError` if no size fits.
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
    """Return the number of threads that fit the memory bound, at least 1; memory is linear from 2 threads."""
    two, three = (evaluator.memory(threads) for threads in (2, 3))
    bound = evaluator.request.max_memory
    return 1 if two > bound else int(min(wanted, 2 + (bound - two) // max(1, three - two)))


POINTS = 8  # points compared over all grids, at least one of each


def largest_difference(
    model: Model, rows: Background, grids: tuple[Grid, ...], estimates: list[EffectEstimate]
) -> float:
    """Return the largest difference between averages and brute force at a few points."""
    worst, picked = 0.0, _compared_points(grids)
    for (number, point), brute in zip(picked, _brute_averages(model, rows, grids, picked), strict=True):
        worst = max(worst, apart(brute, estimates[number].average[:, point]))
    return within_rounding(model, worst)


def apart(one: Floats, other: Floats) -> float:
    """Return the largest absolute difference; NaN equals NaN, and differs from numbers by infinity."""
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with ignore_fp_errors():
        differences = np.where(same, 0.0, np.abs(one - other))
    return float(np.nan_to_num(differences, nan=np.inf).max(initial=0.0))


def within_rounding(model: Model, worst: float, terms: int = 1, more: float = 0.0) -> float:
    """Return a difference if rounding explains it, for sums of ``terms`` predictions, else refuse.

    ``more`` is added to the tolerance.
    """
    known = model.sample_prediction
    rounding = 0.0 if known is None else rounding_of(known, single=reads_single(model))
    allowed = terms * rounding + more
    if not worst <= allowed:
        raise RefusalError(
            f"verify=True: brute force differs by {worst:.3g} from what was computed, where the tolerance "
            f"for rounding is "
            f"{allowed:.1g}; use method='brute', and please report this model"
        )
    return worst


def _compared_points(grids: tuple[Grid, ...]) -> list[tuple[int, int]]:
    """Return some points, each with the number of its grid: evenly spaced, or the middle one."""
    each = -(-POINTS // len(grids))
    picked = []
    for number, grid in enumerate(grids):
        last = grid.n_points - 1
        points = np.linspace(0, last, each) if each > 1 else np.array([last / 2])
        picked += [(number, int(point)) for point in np.unique(points.astype(int)) if grid.n_points]
    return picked


def _brute_averages(
    model: Model, rows: Background, grids: tuple[Grid, ...], picked: list[tuple[int, int]]
) -> Floats:
    """Return weighted averages of predictions ``(points, o)`` at some points, in one pass over the rows."""
    moments_of: dict[int, Moments] = {}
    for block in rows.blocks(CALL_ROWS):
        kept = block.weighted()
        if not len(kept.table):
            continue
        stack = kept.table.stack(1, ScratchBuffer())
        for position, (number, point) in enumerate(picked):
            grid, last = grids[number], block.start + len(block.table) - 1
            table = stack.at(grid.replacements, grid.index(point, point + 1))
            with reraise_with_rows(model, block.start, last, grid.names):
                predictions = np.ascontiguousarray(model.predict(table, len(kept.table)).T)
            moments = Moments.of(predictions[:, None], kept.weights)
            moments_of[position] = moments_of[position].merge(moments) if position in moments_of else moments
    return np.array([moments_of[position].mean[:, 0] for position in range(len(picked))])

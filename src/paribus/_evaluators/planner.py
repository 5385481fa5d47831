"""Choose an evaluator, bound its predictions, verify its values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from paribus import _budget
from paribus._contracts import Floats
from paribus._data.rows import Background, Rows
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, reraise_with_rows
from paribus._evaluators.request import EffectEstimate, Request, StatisticEvaluator
from paribus._grid import Grid
from paribus._models import Model, structure_of
from paribus._models.combination import refuse_joined
from paribus._models.trees import MOST_ROWS, Trees, rounding_of
from paribus._states import Moments
from paribus._states.sums import ignore_fp_errors
from paribus.errors import MemoryBoundError, OptionError, RefusalCode, RefusalError
from paribus.meaning import Estimand, Refusal

OTHER_ESTIMAND = "it estimates something else, so it is only taken by name"
OTHER_KIND = "the model is not a tree ensemble"
SEVERAL = "it is made of several models that are not one sum of trees or terms"
# The way out of a bound that leaves no room for trees: brute force takes far longer, so nobody falls into it.
BRUTE = ". Where method= is an argument, method='brute' evaluates the model itself: slower, in less memory"
NOT_COVERED = "pairs of features are evaluated on the model itself"


def _of_effects() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.additive_exact import AdditiveExact, CombinedExact
    from paribus._evaluators.brute_force import BruteForce
    from paribus._evaluators.trees.tree_exact import TreeExact, TreeRecursion

    return [TreeExact, AdditiveExact, CombinedExact, TreeRecursion, BruteForce]


def _of_ale() -> list[type[StatisticEvaluator]]:
    from paribus._evaluators.ale.brute_ale import AdditiveAle, BruteAle, CombinedAle
    from paribus._evaluators.ale.tree_ale import TreeAle

    return [TreeAle, AdditiveAle, CombinedAle, BruteAle]


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

    ``sampled`` are the rows it goes through where a bound on predictions allows no more.
    """

    evaluator: StatisticEvaluator
    numbers: tuple[int, ...]
    why: str
    refusals: dict[str, Refusal]
    threads: int
    warning: str | None = None
    sampled: Rows | None = None


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
                if request.memory_was_given:
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
    built, sampled = candidate.build(model, some), None
    if within is not None:
        built, sampled = within(built)
    evaluator, threads = fitted(built)
    why = f"requested by method={method!r}"
    if method == "auto":
        why = "the fastest that applies" if short is None else "the fastest that fits max_memory"
    warning = None if short is None else evaluator.fallback(short)
    return Plan(evaluator, numbers, why, {}, threads, warning, sampled)


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


LEAST_ROWS = 2  # of one row there is no standard error
WAYS_OUT = "raise it, name fewer features or lower grid_resolution"
CROSSED_WAYS_OUT = "raise it or name fewer features"


class RowsNeededError(Exception):
    """Raised by a request that needs rows in memory which were not sampled yet."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True, eq=False)
class PredictionBound:
    """The predictions that evaluating one model may take, ``most`` of the ``given`` ones.

    ``draw`` returns so many of the ``rows`` rows with positive weight, or raises `RowsNeededError`.
    ``recomputed`` are the points of each grid at which ``verify=True`` predicts the same rows once more,
    ``verified`` what it predicts of rows of its own, each way.
    """

    given: int
    most: int
    rows: int
    draw: Callable[[int], Rows] | None = None
    recomputed: tuple[int, ...] = ()
    verified: int = 0

    def bounded(self, evaluator: Any, numbers: Iterable[int], done: Iterable[int]) -> tuple[Any, Rows | None]:
        """Return an evaluator of some grids on as many rows as may be, and those rows; None for all rows.

        Shortcuts, which need no predictions, were found for the grids that are ``done``.
        """
        verified, again = self.rows * self._recomputed(done), self._recomputed(numbers)
        if evaluator.shortcut:
            self.check_verified(self.verified + verified + self.rows * again)
            return evaluator, None
        besides = 2 * self.verified + verified  # both ways evaluate the model itself
        if evaluator.predictions + self.rows * again + besides <= self.most:
            return evaluator, None
        assert self.draw is not None
        sampled = self.draw(self.size(evaluator.row_predictions + again, besides))
        return replace(evaluator, request=evaluator.request.among(sampled)), sampled

    def _recomputed(self, numbers: Iterable[int]) -> int:
        return sum(self.recomputed[number] for number in numbers) if self.recomputed else 0

    def size(self, each: int, besides: int = 0, ways_out: str = WAYS_OUT) -> int:
        """Return how many rows can be predicted ``each`` times."""
        size = min(self.rows, (self.most - besides) // max(1, each))
        least = min(LEAST_ROWS, self.rows)
        if size < least:
            self.refuse(least * each + besides, f"{least} rows", ways_out)
        return size

    def check_verified(self, predictions: int) -> None:
        """Refuse predictions that are made for comparison alone."""
        if predictions and predictions > self.most:
            needed = self.given - self.most + predictions
            raise OptionError(
                f"max_predictions={self.given}: verify=True needs {needed:,} predictions to compare with; "
                "raise it, or leave verify out"
            )

    def crossed(self, each: int) -> int:
        """Return how many rows can be crossed with each other ``each`` times."""
        left = self.most - 2 * self.verified
        size = min(self.rows, math.isqrt(max(0, left) // max(1, each)))
        least = min(LEAST_ROWS, self.rows)
        if size < least:
            needed = least * least * each + 2 * self.verified
            self.refuse(needed, f"{least} rows crossed with each other", CROSSED_WAYS_OUT)
        return size

    def refuse(self, predictions: int, what: str, ways_out: str) -> None:
        """Say how many predictions it would take."""
        needed = self.given - self.most + predictions
        verified = ", or leave verify out" if self.recomputed or self.verified else ""
        raise OptionError(
            f"max_predictions={self.given}: {what} need {needed:,} predictions, those included by which a "
            f"model is tried first; {ways_out}{verified}"
        )


def reading_predictions(model: Model) -> int:
    """Return how many rows a model predicts while its structure is read, at most.

    Models within it are tried on the same rows as itself, and trees once more next to their splits.
    """
    if model.response == "callable":
        return 0
    try:
        structure_of(model)
    except RefusalError as refusal:
        if refusal.code is RefusalCode.NO_STRUCTURE:
            return model.tried
    return model.tried + MOST_ROWS


POINTS = 8  # over all grids, and at least one of each


def largest_difference(
    model: Model, rows: Mapping[int, Background], grids: tuple[Grid, ...], estimates: list[EffectEstimate]
) -> float:
    """Return by how much the averages differ from brute force at a few points, at most.

    ``rows`` are those that each grid was averaged over.
    """
    worst, picked = 0.0, _picked(grids)
    for some in {id(one): one for one in rows.values()}.values():
        here = [one for one in picked if rows[one[0]] is some]
        for (number, point), brute in zip(here, _asked(model, some, grids, here), strict=True):
            worst = max(worst, apart(brute, estimates[number].average[:, point]))
    return within_rounding(model, worst)


def points_recomputed(grids: tuple[Grid, ...]) -> tuple[int, ...]:
    """Return at how many points of each grid averages are compared."""
    picked = Counter(number for number, _ in _picked(grids))
    return tuple(picked[number] for number in range(len(grids)))


def apart(one: Floats, other: Floats) -> float:
    """Return by how much numbers differ at most; two that are no numbers do not."""
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with ignore_fp_errors():
        differences = np.where(same, 0.0, np.abs(one - other))
    return float(np.nan_to_num(differences, nan=np.inf).max(initial=0.0))


def within_rounding(model: Model, worst: float, terms: int = 1, more: float = 0.0) -> float:
    """Return a difference that rounding explains: of sums of ``terms`` predictions, and ``more``."""
    rounding = 0.0 if model.sample_prediction is None else rounding_of(model.sample_prediction)
    allowed = terms * rounding + more
    if not worst <= allowed:
        raise RefusalError(
            f"verify=True: brute force differs by {worst:.3g} from what was computed, where the tolerance "
            f"for rounding is "
            f"{allowed:.1g}; use method='brute', and please report this model"
        )
    return worst


def _picked(grids: tuple[Grid, ...]) -> list[tuple[int, int]]:
    """Return some points, each with the number of its grid: the ends, or the middle."""
    each = -(-POINTS // len(grids))
    picked = []
    for number, grid in enumerate(grids):
        last = grid.n_points - 1
        points = np.linspace(0, last, each) if each > 1 else np.array([last / 2])
        picked += [(number, int(point)) for point in np.unique(points.astype(int)) if grid.n_points]
    return picked


def _asked(model: Model, rows: Background, grids: tuple[Grid, ...], picked: list[tuple[int, int]]) -> Floats:
    """Return the weighted averages of the model's predictions at some points, in one pass over the rows."""
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

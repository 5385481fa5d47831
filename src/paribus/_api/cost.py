"""Cost estimates."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from paribus import _budget
from paribus._api.data import ExplainerData, InMemoryData, Trial
from paribus._api.run import Rounds, RunContext, StateOrRefusal, Statistic, Verification, lockstep
from paribus._api.runner import Runner
from paribus._data.rows import Rows
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS
from paribus._evaluators.interactions.additive_interactions import BruteInteractions
from paribus._evaluators.interactions.tree_passes import TreeCrossings
from paribus._evaluators.permutation import PermutationEvaluator
from paribus._evaluators.planner import Plan
from paribus._evaluators.request import EvaluationRequest
from paribus._executors import LocalExecutor
from paribus._models import Model
from paribus._states import Keyed
from paribus.results import CostEstimate

TIMED_ROWS = 128  # rows that are predicted if predictions are expensive, or crossed with each other
TIMED_SIZES = (1, TIMED_ROWS, 2_048, 16_384)  # rows in each timed call of predict
LONG_PREDICT = 0.1  # seconds of a call after which no larger one is timed
DRIVEN_SECONDS = 0.5  # limit on the predictions of a trial
WARM_ROWS = 64  # rows evaluated before timing, so that compilation is not counted
PACES: WeakKeyDictionary[Model, dict[int, Pace]] = WeakKeyDictionary()  # by model and largest size
CROSSING = ("interactions", "permutation")  # statistics whose brute-force cost is not proportional to rows


@dataclass(eq=False)
class TrialWork(RunContext):
    """Run context of a trial, in which samples are taken from the trial's rows.

    ``sampled`` has the size and seed of each sample. ``facts`` are those found by earlier statistics.
    """

    some: Rows | None = None
    sampled: set[tuple[int, int]] = field(default_factory=set)
    facts: dict[str, Any] = field(default_factory=dict)

    def subsample(self, size: int, seed: int, verb: str) -> Rounds:
        """Return a sample of the trial's rows."""
        assert self.some is not None
        self.sampled.add((size, seed))
        return self.some.subsample(size, seed)
        yield  # a generator without passes


@dataclass(eq=False)
class Clock:
    """Seconds per row of each pass over ``rows`` rows, and fixed additional seconds."""

    rows: int
    per_row: list[float] = field(default_factory=list)
    fixed: float = 0.0

    def drive(self, rounds: Rounds, rows: Rows) -> None:
        """Run every pass on one thread; passes over other rows than ``rows`` count as fixed cost."""
        passes = next(rounds)
        while True:
            started = perf_counter()
            states: list[StateOrRefusal] = [
                LocalExecutor(1, False).fold(one.evaluator, one.blocks, Keyed({})) for one in passes
            ]
            seconds = perf_counter() - started
            if all(one.rows is rows for one in passes):
                self.per_row.append(seconds / self.rows)
            else:
                self.fixed += seconds
            started = perf_counter()
            try:
                passes = rounds.send(states)
            except StopIteration:
                self.fixed += perf_counter() - started
                return
            self.fixed += perf_counter() - started


def forecast(
    statistics: Sequence[Statistic],
    trial: Trial,
    models: tuple[Model, ...],
    *,
    threads: int | None,
    max_memory: int | None,
    several: bool,
) -> CostEstimate:
    """Plan the statistics for all rows, and time them on the rows of a trial."""
    bounds = _budget.memory(max_memory), max_memory is not None, threads
    fingerprint: Future[str] = Future()
    fingerprint.set_result("")
    facts: dict[str, Any] = {}
    with ThreadPoolExecutor(threads or _budget.threads(-1)) as pool:

        def context(data: ExplainerData, some: Rows) -> TrialWork:
            shared = Runner(False), *bounds, pool, fingerprint, several
            return TrialWork(data, models, *shared, some=some, facts=facts)

        planned, verifying, clocks = [], [], []
        for one in statistics:
            whole = context(trial.data, trial.rows)
            plans, reads = _first_plans(one, whole)
            verified = one.verification(whole, plans)
            clock = _statistic_clock(one, plans, trial.rows, context, reads)
            if not whole.rows.in_memory:  # samples and verification read them again
                clock.per_row = [0.0] * len(whole.sampled) + clock.per_row + [0.0] * verified.passes
            planned.append(plans)
            verifying.append(verified)
            clocks.append(clock)
    estimate = _estimate(trial, planned, clocks)
    return _with_predictions(estimate, statistics, models, planned, verifying)


def _with_predictions(
    estimate: CostEstimate,
    statistics: Sequence[Statistic],
    models: tuple[Model, ...],
    planned: list[list[Plan]],
    verifying: list[Verification],
) -> CostEstimate:
    """Return the estimate with the number of predictions, including those that adapt the models."""
    evaluators = [plan.evaluator for plans in planned for plan in plans]
    predictions = [one.predictions for one in evaluators] + [one.predictions for one in verifying]
    if not any(predictions):
        return estimate
    tried = list(models) if any(one.needs_model for one in statistics) else []
    for one in evaluators:
        if isinstance(one, PermutationEvaluator) and one.model is not None:
            tried.append(one.model)
    return replace(
        estimate,
        predictions=sum(model.tried for model in tried) + sum(predictions),
        calls=sum(model.tried_calls for model in tried)
        + sum(one.calls for one in evaluators)
        + sum(one.calls for one in verifying),
    )


def _first_plans(statistic: Statistic, context: TrialWork) -> tuple[list[Plan], bool]:
    """Return the plans of the first round, and whether it reads the rows; no plans without passes."""
    rounds = lockstep([statistic.evaluate(context)], context.facts)
    try:
        passes = next(rounds)
    except StopIteration:
        return [], False
    rounds.close()
    return [one.plan for one in passes if one.plan is not None], any(one.reads for one in passes)


def _statistic_clock(statistic: Statistic, plans: list[Plan], rows: Rows, context: Any, reads: bool) -> Clock:
    """Return the measured or extrapolated time of a statistic; ``context`` builds a `TrialWork`."""
    crossing = [p for p in plans if p.evaluator.request.statistic in CROSSING and not p.evaluator.shortcut]
    brute = [p for p in crossing if isinstance(p.evaluator, BruteInteractions)]
    size = min([len(rows), *(plan.evaluator.block_rows for plan in plans)])
    predicting = [plan for plan in plans if plan.evaluator.predictions]
    if predicting and statistic.max_predictions is not None:
        return _call_clock(predicting, rows, reads, TIMED_ROWS)  # a trial must add few predictions
    apart = [plan for plan in predicting if plan not in crossing]
    if apart and (crossing or _is_slow(apart, rows, size)):
        clock = _call_clock(apart, rows, reads, CALL_ROWS)
        clock.fixed += _prediction_clock(crossing, rows).fixed
        return clock
    if brute and len(brute) == len(plans) and _crossing_seconds(brute, rows) <= DRIVEN_SECONDS:
        # Fast predictions are not the main cost of crossing, but many of them are: take the longer estimate.
        return max(
            _crossed_clock(statistic, brute, rows, context),
            _prediction_clock(brute, rows),
            key=lambda one: one.fixed,
        )
    if crossing or not plans:
        return _prediction_clock(crossing, rows)
    crossed = [plan for plan in plans if isinstance(plan.evaluator, TreeCrossings)]
    if crossed:
        return _crossed_clock(statistic, crossed, rows, context)
    return [_driven_clock(statistic, rows, context, count) for count in (min(WARM_ROWS, size), size)][-1]


def _is_slow(plans: list[Plan], rows: Rows, size: int) -> bool:
    """Return whether predicting a block as often as the evaluators need takes too long for a trial."""
    seconds = 0.0
    for plan in plans:
        model, request = plan.evaluator.model, plan.evaluator.request
        if model is not None and isinstance(request, EvaluationRequest):
            times = plan.evaluator.predictions / max(1, request.n_weighted)
            seconds += _pace(model, rows, CALL_ROWS).by_row * size * times
    return seconds > DRIVEN_SECONDS


def _crossing_seconds(plans: list[Plan], rows: Rows) -> float:
    """Return the seconds to predict ``TIMED_ROWS`` rows that are crossed with each other."""
    seconds = 0.0
    for plan in plans:
        model, crossed = plan.evaluator.model, plan.evaluator.request.points
        if model is not None:
            share = (min(TIMED_ROWS, crossed) / crossed) ** 2
            seconds += _pace(model, rows, CALL_ROWS).by_row * plan.evaluator.predictions * share
    return seconds


def _driven_clock(statistic: Statistic, rows: Rows, context: Any, count: int) -> Clock:
    """Return the time of a statistic on the first ``count`` rows."""
    weights, target = (None if array is None else array[:count] for array in (rows.weights, rows.target))
    some = replace(rows, table=rows.table.slice(0, count), weights=weights, target=target)
    clock = Clock(count)
    own = context(InMemoryData(some, True), some)
    # A copy, because facts about a few rows are not those about all.
    clock.drive(lockstep([statistic.evaluate(own)], dict(own.facts)), some)
    return clock


def _crossed_clock(statistic: Statistic, plans: list[Plan], rows: Rows, context: Any) -> Clock:
    """Return the time of a statistic that crosses rows, partly proportional to the square of their number."""
    few, more = (min(size, len(rows)) for size in (WARM_ROWS, TIMED_ROWS))
    clocks = [
        _driven_clock(statistic, rows, context, count) for count in (few, few, more)
    ]  # the first one compiles
    short, long = (clock.fixed + clock.rows * sum(clock.per_row) for clock in clocks[1:])
    each = max(0.0, long - short) / max(1, more**2 - few**2)
    most = max(plan.evaluator.request.points for plan in plans)
    seconds = max(0.0, short - each * few**2) + each * most**2
    return Clock(len(rows), fixed=seconds / plans[0].threads)


def _prediction_clock(plans: list[Plan], rows: Rows) -> Clock:
    """Return the time of all predictions of plans that cross rows with each other."""
    clock = Clock(len(rows))
    for plan in plans:
        model = plan.evaluator.model
        if model is not None:
            pace = _pace(model, rows, CALL_ROWS)
            clock.fixed += pace.seconds(plan.evaluator.calls, plan.evaluator.predictions) / plan.threads
    return clock


def _call_clock(plans: list[Plan], rows: Rows, reads: bool, most: int) -> Clock:
    """Return the time of all predictions, estimated from calls with at most ``most`` rows."""
    clock = Clock(len(rows), [0.0] if reads else [])
    for plan in plans:
        model, predictions = plan.evaluator.model, plan.evaluator.predictions
        if model is not None:
            pace = _pace(model, rows, min(most, len(rows), predictions))  # no more than the call itself
            clock.fixed += pace.seconds(plan.evaluator.calls, predictions)
    return clock


class Pace(NamedTuple):
    """Seconds of a call of predict, and of each row in it."""

    by_call: float
    by_row: float

    def seconds(self, calls: int, predictions: int) -> float:
        """Return the seconds of ``predictions`` rows in ``calls`` calls."""
        return calls * self.by_call + predictions * self.by_row


def _pace(model: Model, rows: Rows, most: int) -> Pace:
    """Time calls of predict with more and more rows, until the time per row is measurable.

    With few rows, the fixed time of a call dominates. The result is kept for other statistics.
    """
    known = PACES.setdefault(model, {})
    if most in known:
        return known[most]
    times: dict[int, float] = {}
    for size in (min(size, most) for size in TIMED_SIZES):
        times[size] = _predict_seconds(model, rows, size)
        if times[size] <= LONG_PREDICT and most > TIMED_ROWS:  # other processes may use the cores meanwhile
            times[size] = min(times[size], _predict_seconds(model, rows, size))
        if size == most or (size > 1 and times[size] > LONG_PREDICT):
            break
    largest = max(times)
    by_row = max(0.0, (times[largest] - times[1]) / max(1, largest - 1))
    known[most] = Pace(max(0.0, times[1] - by_row), by_row)
    return known[most]


def rough_seconds(models: Sequence[Model], rows: Rows, predictions: int) -> float:
    """Return roughly the seconds of ``predictions`` predictions, from one call with a few rows."""
    size = min(TIMED_ROWS, len(rows))
    return sum(_predict_seconds(model, rows, size) for model in models) / size * predictions


def _predict_seconds(model: Model, rows: Rows, size: int) -> float:
    """Return the seconds of one call of predict with about ``size`` rows."""
    # A stack is a copy, so that a model that modifies its input does not modify X.
    copies = -(-size // len(rows))
    few = rows.table.slice(0, -(-size // copies))
    stack = few.stack(copies, ScratchBuffer())
    started = perf_counter()
    model.predict(stack.at({}, np.zeros((copies, 0), dtype=np.int64)), copies * len(few))
    return perf_counter() - started


def _estimate(trial: Trial, planned: list[list[Plan]], clocks: list[Clock]) -> CostEstimate:
    """Return the cost of all rows, from the plans and times of each statistic."""
    plans = [plan for each in planned for plan in each]
    cores, used = _budget.threads(-1), max((plan.threads for plan in plans), default=1)
    rounds = max((len(clock.per_row) for clock in clocks), default=0)
    passes = [
        sum(clock.per_row[index] for clock in clocks if index < len(clock.per_row)) for index in range(rounds)
    ]
    if not trial.data.rows.in_memory:
        passes.insert(0, trial.surveying)
    # Seconds per row: reading and computing overlap.
    row = sum(max(trial.reading, work / used, (trial.reading + work) / cores) for work in passes)
    fixed = sum(clock.fixed for clock in clocks)
    evaluators = [plan.evaluator for plan in plans]
    # Without the requests for strengths beside effects.
    requests = [
        plan.evaluator.request
        for each in planned
        for plan in each
        if plan.evaluator.request.statistic == each[0].evaluator.request.statistic
    ]
    memory = sum(plan.evaluator.memory(plan.threads) for plan in plans)
    seconds = None if trial.known is None else row * trial.known + fixed
    rate = (trial.known or len(trial.rows)) / (row * (trial.known or len(trial.rows)) + fixed or 1e-9)
    return CostEstimate(
        rows=trial.known,
        columns=trial.data.header.names,
        effects=sum(one.n_results for one in requests),
        points=sum(one.points for one in requests),
        passes=max(1, len(passes)),
        evaluator=" and ".join(dict.fromkeys(one.name for one in evaluators)) or "model",
        why=plans[-1].why if plans else "no pass over the rows is needed",
        refusals={name: why for plan in plans for name, why in plan.refusals.items()},
        threads=used,
        rows_per_second=rate,
        seconds=seconds,
        reading=min(1.0, len(passes) * trial.reading / row) if row else 0.0,
        # Passes that together exceed the bound run one after the other.
        memory=min([memory, *(one.request.max_memory for one in evaluators)]),
        warning=next((plan.warning for plan in plans if plan.warning is not None), None),
    )

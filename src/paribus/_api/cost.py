"""What statistics would take, found out on a block of rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from paribus import _budget
from paribus._api.data import ExplainerData, InMemoryData, Trial
from paribus._api.run import Rounds, Statistic, Work
from paribus._api.runner import Pass, Runner
from paribus._data.rows import Rows
from paribus._evaluators.interactions.brute_interactions import BruteInteractions
from paribus._evaluators.permutation import PermutationEvaluator
from paribus._evaluators.planner import Plan
from paribus._evaluators.request import StatisticEvaluator
from paribus._executors import LocalExecutor
from paribus._models import Model
from paribus._models.scoring import Scorer
from paribus._states import Keyed
from paribus.results import CostEstimate

WARM_ROWS = 64  # evaluated before the clock runs, so that compiling is not counted
CROSSING = ("interactions", "permutation")  # whose passes over the model itself are not proportional to rows


@dataclass(eq=False)
class TrialWork(Work):
    """Work on the rows of a trial, of which any sample is at hand."""

    some: Rows | None = None

    def subsample(self, size: int, seed: int, verb: str) -> Rounds:
        """Return rows of the trial."""
        assert self.some is not None
        return self.some.subsample(size, seed)
        yield  # a generator without passes


@dataclass(eq=False)
class Clock:
    """Seconds per row of each pass, and what is spent besides, whatever the number of rows."""

    rows: int
    per_row: list[float] = field(default_factory=list)
    fixed: float = 0.0

    def drive(self, rounds: Rounds) -> None:
        """Fold every pass here and now, on one thread."""
        passes = rounds.send(None)  # type: ignore[arg-type]
        while True:
            started = perf_counter()
            states = [LocalExecutor(1, False).fold(one.evaluator, one.blocks, Keyed({})) for one in passes]
            seconds = perf_counter() - started
            if all(one.blocks.rows == self.rows for one in passes):
                self.per_row.append(seconds / self.rows)
            else:
                self.fixed += seconds
            started = perf_counter()
            try:
                passes = rounds.send(states)  # type: ignore[arg-type]
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
    with ThreadPoolExecutor(threads or _budget.threads(-1)) as pool:

        def work(data: ExplainerData, some: Rows) -> TrialWork:
            return TrialWork(data, models, Runner(False), *bounds, pool, fingerprint, several, some=some)

        planned = [_plans(one, work(trial.data, trial.rows)) for one in statistics]
        clocks = [
            _timed(one, plans, trial.rows, work) for one, plans in zip(statistics, planned, strict=True)
        ]
    return _estimate(trial, [plan for plans in planned for plan in plans], clocks)


def _plans(statistic: Statistic, work: Work) -> list[Plan]:
    """Return the plans of the first round: none of a statistic without passes."""
    rounds = statistic.evaluate(work)
    try:
        passes: list[Pass] = rounds.send(None)  # type: ignore[arg-type]
    except StopIteration:
        return []
    rounds.close()
    return [one.plan for one in passes if one.plan is not None]


def _timed(statistic: Statistic, plans: list[Plan], rows: Rows, work: Any) -> Clock:
    crossing = [p for p in plans if p.evaluator.request.statistic in CROSSING and not p.evaluator.shortcut]
    size = min([len(rows), *(plan.evaluator.block_rows for plan in plans)])
    if crossing or not plans:
        return _predicted(crossing, rows)
    clock = Clock(size)
    for count in (min(WARM_ROWS, size), size):
        some = replace(rows, table=rows.table.slice(0, count), **_cut(rows, count))
        clock = Clock(count)
        clock.drive(statistic.evaluate(work(InMemoryData(some, True), some)))
    return clock


def _cut(rows: Rows, count: int) -> dict[str, Any]:
    return {
        name: None if array is None else array[:count]
        for name, array in (("weights", rows.weights), ("target", rows.target))
    }


def _predicted(plans: list[Plan], rows: Rows) -> Clock:
    """Return what the predictions of models take that are evaluated on rows crossed with each other."""
    clock = Clock(len(rows))
    for plan in plans:
        model = _model_of(plan.evaluator)
        if model is not None:
            some = rows.table.slice(0, min(len(rows), WARM_ROWS**2))
            started = perf_counter()
            model.predict(some.native, len(some))
            clock.fixed += (perf_counter() - started) / len(some) * plan.evaluator.predictions / plan.threads
    return clock


def _model_of(evaluator: StatisticEvaluator) -> Model | None:
    """Return the model that predicts; a scorer calls one itself."""
    if isinstance(evaluator, BruteInteractions):
        return evaluator.model
    if isinstance(evaluator, PermutationEvaluator) and not isinstance(evaluator.request.score, Scorer):
        return evaluator.request.score.model
    return None


def _estimate(trial: Trial, plans: list[Plan], clocks: list[Clock]) -> CostEstimate:
    cores, used = _budget.threads(-1), max((plan.threads for plan in plans), default=1)

    def wall(work: float) -> float:
        """Return the time of one row where reading and work go on at the same time."""
        return max(trial.reading, work / used, (trial.reading + work) / cores)

    rounds = max((len(clock.per_row) for clock in clocks), default=0)
    passes = [
        sum(clock.per_row[index] for clock in clocks if index < len(clock.per_row)) for index in range(rounds)
    ]
    if not trial.data.rows.in_memory:
        passes.insert(0, trial.surveying)
    row = sum(wall(work) for work in passes)
    fixed = sum(clock.fixed for clock in clocks)
    evaluators = [plan.evaluator for plan in plans]
    seconds = None if trial.known is None else row * trial.known + fixed
    rate = (trial.known or len(trial.rows)) / (row * (trial.known or len(trial.rows)) + fixed or 1e-9)
    return CostEstimate(
        rows=trial.known,
        columns=trial.data.header.names,
        effects=sum(one.request.n_results for one in evaluators),
        points=sum(one.request.points for one in evaluators),
        passes=max(1, len(passes)),
        evaluator=" and ".join(dict.fromkeys(one.name for one in evaluators)) or "model",
        why=plans[-1].why if plans else "no pass over the rows is needed",
        refusals={name: why for plan in plans for name, why in plan.refusals.items()},
        threads=used,
        rows_per_second=rate,
        seconds=seconds,
        reading=min(1.0, len(passes) * trial.reading / row) if row else 0.0,
        memory=sum(plan.evaluator.memory(plan.threads) for plan in plans),
        warning=next((plan.warning for plan in plans if plan.warning is not None), None),
    )

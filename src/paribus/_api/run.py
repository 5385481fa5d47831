"""Run of one or several statistics: choice of evaluators, shared passes, fallbacks and records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from paribus import _budget
from paribus._api.data import ExplainerData, GroupData, SurveyRequest
from paribus._api.model_facts import recorded
from paribus._api.runner import Pass, Runner, digest
from paribus._contracts import Evaluator
from paribus._data.rows import Rows
from paribus._data.samples import Sample
from paribus._data.summary import SEED, SummarySpec
from paribus._data.table import Table
from paribus._evaluators.planner import Plan, Request, choose, reads_trees
from paribus._evaluators.request import StatisticEvaluator
from paribus._evaluators.support import RowSampler, Together
from paribus._executors import LocalExecutor
from paribus._kernels import why_numpy
from paribus._models import Model, is_called, structure_digest, structure_text
from paribus._states import Keyed
from paribus.errors import RefusalError
from paribus.meaning import Refusal
from paribus.results import Provenance

if TYPE_CHECKING:
    from paribus._data.scan.open import Background

SAMPLE = 4_096  # sampled rows for standard errors, whose relative error is then about 1 %
COUNTED_ROWS = 16_384  # rows per block of a pass that only counts
SIDE_BY_SIDE = 8  # models of a list whose passes are shared
STRONGEST_PAIRS = "strongest pairs"  # name of a fact: pairs of positions in the table, strongest first
StateOrRefusal: TypeAlias = Keyed | RefusalError


class Fact(NamedTuple):
    """An intermediate result of a statistic that others may need."""

    name: str
    value: Any


class Needed(NamedTuple):
    """The fact that a statistic waits for; it receives None if no other statistic yields it."""

    name: str


class RowsNeededError(Exception):
    """Exception of a request that needs ``size`` sampled rows which were not read yet."""

    def __init__(self, size: int, seed: int) -> None:
        super().__init__(size, seed)
        self.size, self.seed = size, seed


Rounds: TypeAlias = Generator[list[Pass], list[StateOrRefusal], Any]
Steps: TypeAlias = Generator[list[Pass] | Fact | Needed, Any, Any]


class Statistic(ABC):
    """A statistic: the summaries that it needs first, and the passes that compute it.

    The names of its passes begin with ``verb``. ``evaluate`` yields the passes of each round and receives
    their states. It returns a function that builds the result, which is called after all statistics of the
    run have finished. It may also yield a `Fact` for other statistics, or `Needed` to receive one.
    """

    verb: str
    needs_model: ClassVar[bool] = True
    needs_target: ClassVar[bool] = False

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of weighted sampling."""
        return (SEED,)

    @property
    def reads_trees(self) -> bool:
        """Whether it probably uses the trees of a model, which are then read in advance."""
        return True

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return {}

    @abstractmethod
    def evaluate(self, context: RunContext) -> Steps:
        """Yield rounds of passes, and return the function that builds the result."""


@dataclass(eq=False)
class RunContext:
    """Rows, models, limits and the runner of passes that the statistics of a run share.

    ``threads=None`` lets the evaluator choose. ``memory_was_given`` is True if the user set ``max_memory``.
    ``several`` is True if the user passed a list of models. The context of a group has that of all rows as
    ``parent``, and its ``label``; ``n_groups`` is the number of groups, and ``shared_units`` says that units
    have rows in several of them. If the rows are a sample by ``seed``,
    ``sampled_from`` is the context of all of them. With ``of_sample``, passes over sampled rows in memory do
    not read X.
    """

    data: ExplainerData | GroupData
    models: tuple[Model, ...]
    runner: Runner
    memory: int
    memory_was_given: bool
    threads: int | None
    pool: ThreadPoolExecutor
    fingerprint: Future[str]
    several: bool = False
    started: float = field(default_factory=perf_counter)
    parent: RunContext | None = None
    label: str | None = None
    n_groups: int = 1
    shared_units: bool = False
    of_sample: bool = False
    sampled_from: RunContext | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        self._sampled: dict[tuple[int, int], Rows] = {}
        self._sampling: dict[tuple[int, int], Pass] = {}
        self._shared: dict[int, tuple[Any, Any]] = {}
        self._known: dict[int, str] = {}

    @property
    def rows(self) -> Background:
        """The rows, in memory or out of core."""
        return self.data.rows

    @property
    def whole(self) -> RunContext:
        """The context of all rows, from which grids, bins and the order of categories come."""
        return self.parent or self

    def group(self, label: str, rows: Background, n_groups: int, shared_units: bool) -> RunContext:
        """Return the context of one of several groups of the rows, which may share units."""
        assert not isinstance(self.data, GroupData)
        return replace(
            self,
            data=GroupData(self.data, rows),
            parent=self,
            label=label,
            n_groups=n_groups,
            shared_units=shared_units,
        )

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return ``compute()``, called once for all statistics that share the object ``key``."""
        shared = self.whole._shared
        if id(key) not in shared:
            shared[id(key)] = key, compute()  # holding the key keeps its id unique
        return shared[id(key)][1]

    def shared(self, statistic: Any) -> dict[Any, Any]:
        """Return a place for what the evaluators of a statistic share among groups of rows."""
        return {} if self.parent is None else self.once(statistic, dict)

    def of_rows(self) -> dict[str, Any]:
        """Return the arguments of a request that describe the rows and the limits of the run."""
        rows = self.rows
        return {
            "rows": len(rows),
            "n_weighted": rows.n_weighted,
            "row_bytes": rows.table.row_bytes,
            "max_memory": self.memory,
            "threads": self.threads,
            "weighted": rows.weighted,
            "out_of_core": not rows.in_memory,
            "memory_was_given": self.memory_was_given,
            "dependent": rows.units is not None,
        }

    def unit_sample(self) -> Sample | None:
        """Return the sampled units of dependent rows, None if rows are independent."""
        rows = self.rows
        return None if rows.units is None else self.once(rows, lambda: rows.sample(SAMPLE, SEED))

    def record(self, *, target: bool = False, **facts: Any) -> Provenance:
        """Return the record of a statistic; ``target`` says that it used the target."""
        shared: dict[str, Any] = {
            "passes": self.runner.passes,
            "executor": self.runner.where,
            "max_memory": self.memory,
            "group": self.label,
            "shared_units": self.shared_units,
        }
        every, rows = self.whole.rows, self.rows
        if self.sampled_from is not None:
            every = self.sampled_from.rows
            shared |= {"sampled_rows": rows.n_weighted, "seed": self.seed, "weights": rows.weight_facts()}
            if self.parent is not None:  # how many rows of all are in the group is not known
                shared["rows"] = len(rows)
            rows = every
        fingerprint = every.fingerprint() if target else self.fingerprint.result()
        return recorded(rows, self.started, fingerprint, **(shared | facts))

    def identity(self, rows: Background, model: Model | None, *settings: Any) -> dict[str, str] | None:
        """Return digests of data, model and settings that identify a stored state, None without a store."""
        if rows.in_memory or self.runner.checkpoint is None:
            return None
        return {
            "data": digest(rows.fingerprint(), rows.stamp),
            "model": digest() if model is None else self._digest(model, rows.table),
            "settings": digest(rows.weight_scale, self.label, *settings),
        }

    def _digest(self, model: Model, table: Table) -> str:
        """Return a digest of a model: its structure, version, code and predictions."""
        from paribus._evaluators.brute_force import reraise_with_rows

        known = self.whole._known
        if id(model) not in known:
            with reraise_with_rows(model, 0, len(table) - 1):
                predictions = model.predict(table.native, len(table))
            code = code_of(model.predictor.target)
            known[id(model)] = digest(
                model.digest(), structure_digest(model), model.version, predictions, *code
            )
        return known[id(model)]

    def sampled_run(self, size: int, seed: int) -> RunContext:
        """Return the context of ``size`` rows in memory, ``self`` if there are no more rows."""
        assert not isinstance(self.data, GroupData)
        if size >= self.rows.n_weighted:
            return self
        data = self.data.sampled(size, seed, self.runner)
        of_sample = not self.rows.in_memory
        return replace(self, data=data, sampled_from=self, seed=seed, of_sample=of_sample)

    def sampled(self, size: int, seed: int) -> Rows:
        """Return ``size`` rows in memory; raise `RowsNeededError` if they have to be read first."""
        if (size, seed) not in self._sampled:
            if not isinstance(self.rows, Rows):
                raise RowsNeededError(size, seed)
            self._sampled[size, seed] = self.rows.keep(self.rows.sampled(size, seed))
        return self._sampled[size, seed]

    def subsample(self, size: int, seed: int) -> Rounds:
        """Return ``size`` rows in memory; out-of-core rows take a pass, the same for all that need them."""
        key = size, seed
        if not self.rows.in_memory and key not in self._sampled:
            sampler = RowSampler(size, seed)
            if key not in self._sampling:
                blocks, threads = self.rows.blocks(sampler.block_rows), self.threads or 1
                self._sampling[key] = Pass(f"sample-{size}-{seed}", sampler, blocks, threads, rows=self.rows)
            (state,) = yield [self._sampling[key]]
            if isinstance(state, RefusalError):
                raise state
            self._sampled[key] = sampler.finish(state, self.rows)
        return self.sampled(size, seed)


@dataclass(frozen=True, eq=False)
class ModelEstimates:
    """Estimates of one model in the order of the grids, and the plans behind them.

    ``state`` is that of the first pass, including the counts of additional evaluators.
    """

    model: Model | None
    plans: list[Plan]
    estimates: list[Any]
    state: Keyed

    @property
    def facts(self) -> dict[str, Any]:
        """Record of the computation: evaluators, reasons, predictions and sizes of blocks."""
        evaluators = [plan.evaluator for plan in self.plans]
        why = why_numpy() if any(map(reads_trees, evaluators)) else None
        slower = [] if why is None else [f"with NumPy, slower than compiled: {why}"]
        read = any(one.structure is not None for one in evaluators)
        return {
            "estimand": evaluators[0].estimand,
            "evaluator": " and ".join(dict.fromkeys(one.name for one in evaluators)),
            "why": self.plans[-1].why,
            "how": "; ".join(dict.fromkeys([*(one.how for one in evaluators), *slower])),
            "structure": structure_text(self.model) if read and self.model is not None else None,
            "refusals": self.plans[0].refusals,
            "predictions": sum(one.predictions for one in evaluators),
            "standard_error_rows": min(one.error_rows for one in evaluators),
            "standard_error_units": min(
                (one.error_units for one in evaluators if one.error_units is not None), default=None
            ),
            "block_rows": max(one.block_rows for one in evaluators),
            "threads": max(plan.threads for plan in self.plans),
        }


def lockstep(generators: Sequence[Steps]) -> Rounds:
    """Run generators of passes in rounds: each round has the passes of all unfinished generators.

    A generator that needs a fact continues in the round in which another one yields it. If no generator is
    left to yield it, the fact is None, first for the first generator that waits.
    """
    known: dict[str, Any] = {}
    results: list[Any] = [None] * len(generators)
    waiting: dict[int, list[Pass]] = {}
    needing: dict[int, str] = {}

    def advance(index: int, sent: Any) -> None:
        """Run a generator until it yields passes, or needs an unknown fact."""
        while True:
            try:
                step = generators[index].send(sent)
            except StopIteration as done:
                results[index] = done.value
                return
            match step:
                case Fact(name, value):
                    known[name], sent = value, None
                case Needed(name) if name in known:
                    sent = known[name]
                case Needed(name):
                    needing[index] = name
                    return
                case passes:
                    waiting[index] = passes
                    return

    for index in range(len(generators)):
        advance(index, None)
    while waiting or needing:
        ready = [index for index, name in needing.items() if name in known]
        if not ready and not waiting:
            ready = list(needing)[:1]  # no generator is left to yield the fact
        for index in ready:
            advance(index, known.get(needing.pop(index)))
        if ready:
            continue
        requested = dict(sorted(waiting.items()))
        waiting.clear()
        states = yield [one for passes in requested.values() for one in passes]
        for index, passes in requested.items():
            advance(index, [states.pop(0) for _ in passes])
    return results


def each_model(generators: Sequence[Rounds]) -> Rounds:
    """Run the passes of several models in groups, which bounds the structures held in memory."""
    results: list[Any] = []
    for first in range(0, len(generators), SIDE_BY_SIDE):
        results += yield from lockstep(generators[first : first + SIDE_BY_SIDE])
    return results


def evaluate_model(
    context: RunContext,
    model: Model | None,
    requested: Callable[[type[StatisticEvaluator] | None], Request],
    method: str,
    name: str,
    *,
    additional: tuple[Evaluator[Any, Keyed], ...] = (),
    settings: tuple[Any, ...] = (),
) -> Rounds:
    """Choose evaluators and run their passes; an evaluator that refuses the rows is replaced.

    ``additional`` are further evaluators in the first pass, whose stored state also depends on ``settings``.
    """
    refused: dict[str, Refusal] = {}
    while True:
        try:
            plans = choose(model, requested, method, refused)
        except RowsNeededError as needed:
            yield from context.subsample(needed.size, needed.seed)
            continue
        several = len(plans) > 1 or bool(refused)
        names = [f"{name}-{plan.evaluator.name}" if several else name for plan in plans]
        count = sum(len(plan.numbers) for plan in plans)
        driven = [
            _drive_passes(context, model, plan, own, additional if index == 0 else (), settings, count)
            for index, (plan, own) in enumerate(zip(plans, names, strict=True))
        ]
        results = yield from lockstep(driven)
        refusals = {
            plan.evaluator.name: Refusal(plan.evaluator.name, one.code, str(one), one.part)
            for plan, one in zip(plans, results, strict=True)
            if isinstance(one, RefusalError)
        }
        if refusals:
            refused |= refusals
            continue
        return ModelEstimates(
            model, plans, _estimates_in_order(plans, [estimates for estimates, _ in results]), results[0][1]
        )


def _estimates_in_order(plans: list[Plan], results: list[Any]) -> list[Any]:
    """Return the estimates of all plans in the order of the grids."""
    if not isinstance(results[0], list):
        return results
    numbered = {
        number: estimate
        for plan, estimates in zip(plans, results, strict=True)
        for number, estimate in zip(plan.numbers, estimates, strict=True)
    }
    return [numbered[number] for number in sorted(numbered)]


def _drive_passes(
    context: RunContext,
    model: Model | None,
    plan: Plan,
    name: str,
    additional: tuple[Evaluator[Any, Keyed], ...],
    settings: tuple[Any, ...],
    count: int,
) -> Rounds:
    """Run the passes of one evaluator; return its estimates and the first state, or its refusal.

    ``count`` is the number of grids of all evaluators together.
    """
    evaluator = plan.evaluator
    rows: Background = evaluator.request.background or context.rows
    passes = evaluator.passes(plan.threads)
    fold, first = next(passes), None
    # Counts are over all rows and grids, even if this evaluator has only some of them.
    some = len(plan.numbers) < count
    apart = [_separate_pass(context, name, plan, additional, settings, count)] if some and additional else []
    if apart:
        additional, settings = (), ()
    while True:
        evaluating = fold.evaluator if not additional else Together((fold.evaluator, *additional))
        cut = evaluator.name, fold.name, fold.block_rows, fold.parts
        one = Pass(
            f"{name}-{fold.name}" if fold.name else name,
            evaluating,
            rows.blocks(fold.block_rows, fold.parts),
            plan.threads,
            evaluator.memory(plan.threads),
            context.identity(rows, model, cut, *fold.settings, *settings),
            reads=not context.of_sample and (context.rows.in_memory or not rows.in_memory),
            plan=plan,
            rows=rows,
        )
        state, *counted = yield [one, *apart]
        if isinstance(state, RefusalError):
            return state
        first, additional, settings, apart = first or (*counted, state)[0], (), (), []
        try:
            fold = passes.send(state)
        except StopIteration as done:
            return done.value, first
        except RefusalError as refusal:  # because of values in the rows
            return refusal


def _separate_pass(
    context: RunContext,
    name: str,
    plan: Plan,
    additional: tuple[Evaluator[Any, Keyed], ...],
    settings: tuple[Any, ...],
    count: int,
) -> Pass:
    """Return a separate counting pass over all rows, for an evaluator of some rows or some grids."""
    rows, request = context.rows, plan.evaluator.request
    parts = ((tuple(range(count)), request.points),)
    identity = context.identity(rows, None, *request.settings, *settings)
    blocks, threads = rows.blocks(COUNTED_ROWS, parts), context.threads or 1
    return Pass(f"{name}-support", Together(additional), blocks, threads, identity=identity, rows=rows)


def estimates_here(plan: Plan, rows: Background) -> Any:
    """Return the estimates of one evaluator on some rows, computed in this process."""
    passes = plan.evaluator.passes(plan.threads)
    fold = next(passes)
    while True:
        blocks = rows.blocks(fold.block_rows, fold.parts)
        state = LocalExecutor(plan.threads, False).fold(fold.evaluator, blocks, Keyed({}))
        try:
            fold = passes.send(state)
        except StopIteration as done:
            return done.value


def both_ways(
    model: Model,
    requested: Callable[[type[StatisticEvaluator] | None], Request],
    rows: Rows,
    method: str,
) -> list[list[Any]]:
    """Return the estimates of a statistic on a few rows by a method, and by brute force."""
    estimates_by_method = []
    for way in (method, "brute"):
        plans = choose(model, requested, way)
        estimates_by_method.append(_estimates_in_order(plans, [estimates_here(plan, rows) for plan in plans]))
    return estimates_by_method


@dataclass(frozen=True)
class Subsample:
    """The rows that a run uses: ``size`` of them, sampled by ``seed``, or every row if that is None.

    If a model has to be called, they are at most ``called``.
    """

    size: int | None = None
    seed: int = 0
    called: int | None = None

    def of(self, context: RunContext) -> RunContext:
        """Return the context of the sampled rows."""
        size = self.size
        if size is None and self.called is not None and any(map(is_called, context.models)):
            size = self.called
        return context if size is None else context.sampled_run(size, self.seed)


def run(
    statistics: Sequence[Statistic],
    prepare: Callable[[ThreadPoolExecutor, SurveyRequest], RunContext],
    *,
    threads: int | None,
    max_memory: int | None,
    sample: Subsample,
) -> list[Any]:
    """Survey the rows, run the passes of all statistics in lock-step, and return their results."""
    wanted = tuple(one.wanted for one in statistics)
    seeds = tuple(dict.fromkeys(seed for one in statistics for seed in one.seeds))
    # Our own code may use every core; a model that predicts has its own threads.
    surveying = SurveyRequest(wanted, seeds, threads or _budget.threads(-1), max_memory)
    with ThreadPoolExecutor(surveying.threads) as pool:
        context = sample.of(prepare(pool, surveying))
        return [build() for build in folded(lockstep([one.evaluate(context) for one in statistics]), context)]


def folded(rounds: Rounds, context: RunContext) -> Any:
    """Run all rounds of passes, and return what they return."""
    states: list[StateOrRefusal] | None = None
    while True:
        try:
            passes = rounds.send(states)  # type: ignore[arg-type]
        except StopIteration as done:
            return done.value
        states = context.runner.fold(passes, context.memory)


def code_of(estimator: Any) -> tuple[Any, ...]:
    """Return the code and constants of a function, nothing for other estimators.

    They distinguish functions that predict the sampled rows alike.
    """
    code = getattr(estimator, "__code__", None)
    if code is None:
        return ()
    constants = [constant for constant in code.co_consts if isinstance(constant, (int, float, str, bytes))]
    return code.co_code, code.co_names, constants

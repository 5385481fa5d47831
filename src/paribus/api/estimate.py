"""What a call would take, found out on a block of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from paribus import budget
from paribus.api.background import some_rows, told, whole_files
from paribus.api.call import SEED, Axes, Call, Curves
from paribus.api.running import Running
from paribus.data.rows import Block, Rows
from paribus.data.summary import Summary
from paribus.errors import SourceError, one_of
from paribus.evaluators import choose
from paribus.evaluators.ask import METHODS, Ask, EffectEvaluator
from paribus.evaluators.plan import memory_of
from paribus.evaluators.support import SupportCounter
from paribus.evaluators.together import Together
from paribus.grid import GridOptions
from paribus.models import Model, adapt, only_one
from paribus.results import Estimate

if TYPE_CHECKING:
    from paribus.data.scan.reading import Reading

WARM_ROWS = 64  # evaluated before the clock runs, so that compiling is not counted


def plan(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int | str = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    kind: Curves = "average",
    spread: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    on_error: str = "raise",
) -> Estimate:
    """Estimate what `effects` would take with the same arguments: passes, time and memory.

    One block of rows is read, looked at and evaluated, and the time that took is scaled to all rows.

    Parameters
    ----------
    estimator, X, features, sample_weight, categorical_features, feature_names, response_method, \
percentiles, grid_resolution, custom_values, method, kind, spread, n_jobs, max_memory, on_error
        As for `effects`.

    Returns
    -------
    Estimate
        With ``passes``, ``seconds``, ``memory``, ``evaluator`` and more; printed, it says them in words.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(1_000, 3))
    >>> estimate = paribus.plan(lambda X: X[:, 0] * X[:, 1], X)
    >>> estimate.evaluator, estimate.passes, estimate.points
    ('brute', 1, 300)
    """
    only_one(estimator, "plan")
    one_of("method", method, METHODS)
    grid = GridOptions.of(percentiles, grid_resolution)
    running = Running(False)
    call = Call.of(
        estimator, X, sample_weight, feature_names, grid, kind, False, on_error, running, spread=spread
    )
    asked = call.asked(features)
    axes_of = Axes.of(call.header, asked, grid, categorical_features, custom_values, features is None)
    adapted = partial(adapt, estimator, response_method=response_method)
    rows, memory = call.opened, None if max_memory is None else budget.memory(max_memory)
    trial = _in_memory(rows) if isinstance(rows, Rows) else _skipping(rows, axes_of, on_error, memory)
    model = adapted(trial.rows.table)
    threads = None if n_jobs is None else budget.threads(n_jobs)
    with ThreadPoolExecutor(threads or budget.threads(-1)) as pool:
        sides = call.sides(model)
        summary = trial.summary or partial(axes_of.summarised, trial.rows)
        axes, _ = axes_of.laid_out(summary, trial.rows.table, sides, pool)
    ask = call.ask(trial.rows, asked, axes, max_memory, threads)
    return _estimate(call, trial, model, ask, method)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Rows that were read to know how long that takes: seconds per row of reading and of the first look.

    ``rows`` has the number of all, None in ``known`` if that is a guess; ``block`` are those that were read.
    """

    rows: Any
    known: int | None
    block: Block
    reading: float
    looking: float
    summary: Callable[[int], Summary] | None


def _in_memory(rows: Rows) -> _Trial:
    return _Trial(rows, len(rows), Block(rows.table, rows.weights, 0), 0.0, 0.0, None)


def _skipping(reading: Reading, axes: Axes, on_error: str, memory: int | None) -> _Trial:
    while True:
        try:
            return _read(reading, axes, memory)
        except SourceError as error:
            if on_error != "skip":
                raise
            reading = whole_files(reading, error)


def _read(reading: Reading, axes: Axes, memory: int | None) -> _Trial:
    import pyarrow as pa

    from paribus.evaluators.survey import Survey, survey_rows

    head = some_rows(reading)
    rows = survey_rows(head.row_bytes, memory)
    reading = replace(reading, unit=reading.first_unit())
    started = perf_counter()
    table = pa.concat_tables(reading.source.batches(reading.read, 0, rows))
    read = perf_counter() - started
    survey = Survey.of(reading, axes.wanted, SEED, memory, head)
    started = perf_counter()
    state = survey.evaluate(reading.block(table, 0, 0))
    looked = perf_counter() - started
    scanned, found = survey.finish(reading, state)
    known = reading.source.rows
    seen = len(table)
    counted = (known or seen) * scanned.counted // seen
    scanned = replace(scanned, n=known or seen, counted=counted)
    return _Trial(
        scanned, known, scanned.reading.block(table, 0, 0), read / seen, looked / seen, partial(told, found)
    )


def _estimate(call: Call, trial: _Trial, model: Model, ask: Ask, method: str) -> Estimate:
    chosen = choose(model, ask, method)
    evaluator, cores = chosen.evaluator, budget.threads(-1)
    evaluating = _seconds_per_row(evaluator, ask, trial.block)

    def wall(work: float) -> float:
        """Return the time of one row where reading and work go on at the same time."""
        return max(trial.reading, work / chosen.threads, (trial.reading + work) / cores)

    passes = [evaluating] if isinstance(call.opened, Rows) else [trial.looking, evaluating]
    row = sum(wall(work) for work in passes)
    return Estimate(
        rows=trial.known,
        columns=call.names,
        effects=len(ask.questions),
        points=ask.points,
        passes=len(passes),
        evaluator=evaluator.name,
        why=chosen.why,
        refusals=chosen.refusals,
        threads=chosen.threads,
        rows_per_second=1 / row,
        seconds=None if trial.known is None else row * trial.known,
        reading=min(1.0, len(passes) * trial.reading / row),
        memory=memory_of(evaluator, model.n_outputs, chosen.threads),
        warning=chosen.warning,
    )


def _seconds_per_row(evaluator: EffectEvaluator, ask: Ask, block: Block) -> float:
    """Return how long a row takes in all parts of the questions."""
    together = Together((evaluator, SupportCounter(ask.questions)))
    size = min(evaluator.block_rows, len(block.table))
    seconds = 0.0
    for rows in (min(WARM_ROWS, size), size):
        started = perf_counter()
        for part in block.between(0, rows).asked(evaluator.parts):
            together.evaluate(part)
        seconds = perf_counter() - started
    return seconds / size

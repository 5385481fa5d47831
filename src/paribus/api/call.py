"""The path of a call: rows, model, points, plan, fold, results."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from paribus import budget
from paribus.api.background import Background, Looking, identity_of, looked, opened
from paribus.api.comparison import remarks_on
from paribus.api.counting import Counted, Counting
from paribus.api.options import checked, probabilities_of
from paribus.api.record import of_model, recorded
from paribus.api.refits import Found, joined_facts, joined_remarks, label, mean_answer
from paribus.api.running import Running, announce
from paribus.contracts import Array
from paribus.data.features import Header, by_position, resolve_many, resolve_set
from paribus.data.rows import Rows
from paribus.data.summary import Summary, summarise
from paribus.data.table import Table
from paribus.errors import FeatureError, OptionError, RefusalError, one_of
from paribus.evaluators import Ask, Plan, choose
from paribus.evaluators.ask import KINDS, METHODS, Answer, SpreadAsk
from paribus.evaluators.together import Together
from paribus.evaluators.verify import largest_difference
from paribus.executors import Local
from paribus.grid import SPLITS, Axis, GridOptions, Question, axis_of
from paribus.models import Model, adapt_each, listed, prefetch_structure, structure_of
from paribus.results import PartialDependence, Provenance
from paribus.results.build import effect_of
from paribus.states import Keyed

if TYPE_CHECKING:
    from paribus.data.scan.reading import Reading
    from paribus.data.scan.scanned import Scanned
    from paribus.evaluators.survey import Wanted

SPREAD_BYTES = 500_000_000  # to hold predictions in, or where there is a bound:
SPREAD_SHARE = 4  # one part in so many of it
SAMPLE, SEED = 1_024, 0  # draws of rows for standard errors: they are then known to about 2 %
Curves = Literal["average", "individual", "both"]


@dataclass(frozen=True)
class Call:
    """What every verb starts from, once its plain arguments are checked."""

    started: float
    estimator: Any
    opened: Rows | Reading
    grid: GridOptions
    kind: Curves
    verify: bool
    on_error: str
    running: Running
    spread: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        sample_weight: Any,
        names: Any,
        grid: GridOptions,
        kind: Any,
        verify: Any,
        on_error: str,
        running: Running,
        *,
        spread: Any = None,
        y: Any = None,
    ) -> Call:
        """Check the plain arguments and open the rows."""
        started = perf_counter()
        one_of("kind", kind, KINDS)
        checked(progress=running.progress, verify=verify)
        probabilities = probabilities_of(spread)
        if listed(estimator) is not None and (kind != "average" or probabilities is not None):
            asked = f"kind={kind!r}" if kind != "average" else "spread="
            raise OptionError(f"{asked} is about the rows' curves by one model; ask one model at a time")
        rows = opened(estimator, X, sample_weight, names, on_error, running, y)
        return cls(started, estimator, rows, grid, kind, verify, on_error, running, probabilities)

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""
        return self.opened.header

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns the model gets, as results report them."""
        return self.header.names

    def asked(self, features: Any) -> tuple[tuple[int, ...], ...]:
        """Return the columns of each effect in a list; without one, each column by itself."""
        if features is None:
            return tuple((j,) for j in range(len(self.names)))
        return resolve_many(features, self.header)

    def answer(
        self,
        asked: tuple[tuple[int, ...], ...],
        *,
        categorical_features: Any,
        custom_values: Any,
        response_method: str,
        target_names: Any,
        method: str,
        n_jobs: Any,
        max_memory: Any,
        skip: bool = False,
    ) -> tuple[list[PartialDependence], tuple[str, ...]]:
        """Follow the path of a call: model, points, plan, fold, results.

        With ``skip`` a feature that cannot be varied is left out, and why is returned beside the results.
        """
        from paribus.evaluators.occupancy import Outlook, probe_of  # none of it is needed to import paribus
        from paribus.results.offdata import extrapolation_of

        threads = None if n_jobs is None else budget.threads(n_jobs)
        one_of("method", method, METHODS)
        if self.verify and method == "recursion":
            raise OptionError("verify=True compares with brute force, and recursion answers another question")
        axes_of = Axes.of(self.header, asked, self.grid, categorical_features, custom_values, skip)
        # Our own work may take every core; a model that is asked brings its own threads.
        with ThreadPoolExecutor(threads or budget.threads(-1)) as pool:
            looking = Looking.of(SEED, n_jobs, max_memory, self.on_error, self.running)
            rows, models, summary = self.looked(axes_of, response_method, target_names, looking)
            for model in () if method == "brute" else models:
                pool.submit(prefetch_structure, model)
            fingerprint = pool.submit(rows.fingerprint)
            axes, skipped = axes_of.laid_out(summary, rows.table, self.sides(*models), pool)
        ask = self.ask(rows, asked, axes, max_memory, threads)
        questions = ask.questions
        probe = probe_of(rows.few(SEED), axes_of.nominal, rows.counted)
        outlook = Outlook.of(probe, questions, rows.counted)
        # Training paths ask about no rows that might not exist.
        counting = Counting.of(questions, outlook, rows.unit, joint=method != "recursion")
        found, (supports, joint) = self._each(rows, models, ask, method, counting)
        far = [extrapolation_of(question, joint, probe, self.names) for question in questions]
        provenance = self._provenance(rows, ask, fingerprint.result(), joined_facts(found))
        effects = [
            effect_of(*answer, ask=ask, models=models, unit=rows.unit, provenance=provenance)
            for answer in zip(
                questions, self._joined(found), supports, far, joined_remarks(found), strict=True
            )
        ]
        return effects, skipped

    def sides(self, *models: Model) -> Callable[[int, np.dtype[Any]], Array] | None:
        """Return what tells the numbers on both sides of all thresholds, if they are to be asked."""
        return _sides(models) if self.grid.splits else None

    def ask(
        self,
        rows: Background,
        asked: tuple[tuple[int, ...], ...],
        axes: dict[int, Axis],
        max_memory: Any,
        threads: int | None,
    ) -> Ask:
        """Put the questions; one whose axis was left out is left out."""
        questions = tuple(
            Question(tuple(axes[j] for j in group)) for group in asked if all(j in axes for j in group)
        )
        return Ask(
            questions,
            self.kind,
            len(rows),
            rows.counted,
            rows.table.row_bytes,
            budget.memory(max_memory),
            threads,
            rows.weighted,
            rows.sample(SAMPLE, SEED),
            read=not isinstance(rows, Rows),
            spread=self._spread(max_memory),
            given=max_memory is not None,
        )

    def _spread(self, max_memory: Any) -> SpreadAsk | None:
        if self.spread is None:
            return None
        held = SPREAD_BYTES if max_memory is None else budget.memory(max_memory) // SPREAD_SHARE
        return SpreadAsk(self.spread, held)

    def looked(
        self, axes: Axes, response_method: str, target_names: Any, looking: Looking
    ) -> tuple[Background, tuple[Model, ...], Callable[[int], Summary]]:
        """Return the rows, the models, and what tells of a feature what its axis needs to know."""
        adapted = partial(
            adapt_each, self.estimator, response_method=response_method, target_names=target_names
        )
        rows = self.opened
        if isinstance(rows, Rows):
            return rows, adapted(rows.table), partial(axes.summarised, rows)
        return looked(rows, adapted, axes.wanted, looking)

    def _each(
        self, rows: Background, models: tuple[Model, ...], ask: Ask, method: str, counting: Counting
    ) -> tuple[list[Found[Answer]], Counted]:
        """Ask one model after another, each as if it were the only one; rows are counted with the first."""
        found: list[Found[Answer]] = []
        counted: Counted = [], None
        for place, model in enumerate(models):
            doing = label("effects", place, len(models))
            plan, answers, state = self._folded(rows, model, ask, method, doing, None if place else counting)
            if place == 0:
                counted = counting.finish(state)
            exactly = partial(self._exact, rows, model, ask)
            remarks = remarks_on(plan, exactly, ask.questions, answers)
            verified = largest_difference(model, rows, ask.questions, answers) if self.verify else None
            found.append(Found(answers, remarks, _facts(model, plan, verified)))
        return found, counted

    def _exact(self, rows: Background, model: Model, ask: Ask) -> list[Answer]:
        """Answer exactly on a few rows, to compare: on all of them it could take longer than what is asked.

        Where rows have weights, on all: the few are chosen without.
        """
        if rows.weighted:
            return self._folded(rows, model, ask, "exact", "exact", None)[1]
        few = Rows(rows.few(SEED), None)
        some = replace(ask, rows=len(few), counted=len(few), weighted=False, sample=None, read=False)
        plan = choose(model, some, "exact")
        evaluator = plan.evaluator
        state = Local(plan.threads, False).fold(
            evaluator, few.blocks(evaluator.block_rows, evaluator.parts), Keyed({})
        )
        return evaluator.finish(state, plan.threads)

    def _folded(
        self, rows: Background, model: Model, ask: Ask, method: str, doing: str, counting: Counting | None
    ) -> tuple[Plan, list[Answer], Keyed]:
        """Choose an evaluator and fold; one that refuses what it meets in the rows makes way for the next."""
        refused: dict[str, str] = {}
        while True:
            plan = choose(model, ask, method, refused)
            evaluator = plan.evaluator
            announce(plan.warning)
            try:
                state = self.running.fold(
                    Together((evaluator, *(() if counting is None else counting.parts))),
                    rows.blocks(evaluator.block_rows, evaluator.parts),
                    plan.threads,
                    doing=doing,
                    by=evaluator.name if refused else "",
                    identity=None if isinstance(rows, Rows) else _identity(rows, model, ask, plan, counting),
                )
            except RefusalError as refusal:
                refused[evaluator.name] = str(refusal)
                continue
            return plan, evaluator.finish(state, plan.threads), state

    def _joined(self, found: list[Found[Answer]]) -> list[Answer]:
        """Return the answer to each question: that of the one model, or the mean of those of a list."""
        if listed(self.estimator) is None:
            return found[0].answers
        return [mean_answer(answers) for answers in zip(*(one.answers for one in found), strict=True)]

    def _provenance(self, rows: Background, ask: Ask, fingerprint: str, facts: dict[str, Any]) -> Provenance:
        return recorded(
            rows,
            self.started,
            fingerprint,
            **facts,
            percentiles=self.grid.percentiles,
            grid_resolution=SPLITS if self.grid.splits else self.grid.resolution,
            points=ask.points,
            max_memory=ask.max_memory,
            passes=self.running.passes,
            executor=self.running.where,
            rank_error=0.0 if isinstance(rows, Rows) else rows.rank_error,
        )


def _facts(model: Model, plan: Plan, verified: float | None) -> dict[str, Any]:
    """Return what is recorded of one model and of who asked it."""
    return {
        **of_model(model),
        "estimand": plan.evaluator.estimand,
        "evaluator": plan.evaluator.name,
        "why": plan.why,
        "how": plan.evaluator.how,
        "refusals": plan.refusals,
        "predictions": plan.evaluator.predictions,
        "standard_error_rows": plan.evaluator.error_rows,
        "block_rows": plan.evaluator.block_rows,
        "threads": plan.threads,
        "verified_difference": verified,
    }


@dataclass(frozen=True)
class Axes:
    """Which features need an axis, and what is said about how to lay it out."""

    features: tuple[int, ...]
    grid: GridOptions
    nominal: frozenset[int]
    given: dict[int, Any]
    skip: bool
    bins: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        header: Header,
        asked: tuple[tuple[int, ...], ...],
        grid: GridOptions,
        categorical_features: Any,
        custom_values: Any,
        skip: bool,
    ) -> Axes:
        """Read what is said of features."""
        features = tuple(sorted({feature for group in asked for feature in group}))
        nominal = resolve_set("categorical_features", categorical_features, header)
        given = by_position(custom_values, header, set(features))
        return cls(features, grid, nominal, given, skip)

    @property
    def wanted(self) -> dict[int, Wanted]:
        """What a survey must find out."""
        from paribus.evaluators.survey import Wanted

        options = self.grid.resolution, self.grid.percentiles
        return {
            j: Wanted(j in self.nominal, *options, given=j in self.given, bins=self.bins)
            for j in self.features
        }

    def summarised(self, rows: Rows, feature: int) -> Summary:
        """Look at a feature of rows in memory."""
        limit, percentiles = self.grid.resolution, self.grid.percentiles
        nominal = feature in self.nominal
        return summarise(rows, feature, nominal=nominal, limit=limit, percentiles=percentiles, bins=self.bins)

    def laid_out(
        self,
        summary: Callable[[int], Summary],
        like: Table,
        sides: Callable[[int, np.dtype[Any]], Array] | None,
        pool: ThreadPoolExecutor,
    ) -> tuple[dict[int, Axis], tuple[str, ...]]:
        """Lay out each axis once, however many questions share it."""

        def axis(j: int) -> Axis | FeatureError:
            try:
                return axis_of(summary(j), like, j, self.grid, given=self.given.get(j), sides=sides)
            except FeatureError as error:
                return error

        found = dict(zip(self.features, pool.map(axis, self.features), strict=True))
        refused = [error for error in found.values() if isinstance(error, FeatureError)]
        if refused and not self.skip:
            raise refused[0]
        if len(refused) == len(self.features):
            raise FeatureError(f"no column of X can be varied: {refused[0]}")
        axes = {j: axis for j, axis in found.items() if isinstance(axis, Axis)}
        return axes, tuple(str(error) for error in refused)


def _identity(rows: Scanned, model: Model, ask: Ask, plan: Plan, counting: Counting | None) -> dict[str, str]:
    """Return what a kept state of effects is a state of."""
    evaluator = plan.evaluator
    points = [cells.values for question in ask.questions for cells in question.replaced.values()]
    asked = [(question.names, question.n_points) for question in ask.questions]
    sample = ask.sample.numbers if ask.sample is not None else ()
    cut = evaluator.name, evaluator.block_rows, evaluator.parts
    portions = (*cut, ask.kind, ask.spread, None if counting is None else counting.settings)
    return identity_of(rows, model, portions, asked, sample, *(plain(values) for values in points))


def plain(values: Array) -> Any:
    """Return values as what a digest takes: text and objects have no bytes of their own."""
    return values.tolist() if values.dtype == object else values


def _sides(models: tuple[Model, ...]) -> Callable[[int, np.dtype[Any]], Array]:
    """Return what tells the numbers on both sides of the thresholds of all models."""
    each = []
    for model in models:
        try:
            each.append(structure_of(model).ensemble.sides)
        except RefusalError as refusal:
            raise RefusalError(
                f"grid_resolution={SPLITS!r} needs the trees of {model.name}: {refusal}; give a whole number"
            ) from refusal

    def sides(feature: int, dtype: np.dtype[Any]) -> Array:
        return np.unique(np.concatenate([one(feature, dtype) for one in each]))

    return sides

"""Partial dependence and individual conditional expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

from paribus.api.combine import joined_facts, joined_remarks, label, mean_answer
from paribus.api.recursion import remarks_on
from paribus.api.run import Estimated, Rounds, Work, estimates_here, evaluated, lockstep
from paribus.api.statistics.axes import Axes, Groups
from paribus.contracts import Floats
from paribus.data.rows import Rows
from paribus.evaluators.occupancy import Joint, Occupancy, Outlook, probe_of
from paribus.evaluators.planner import choose
from paribus.evaluators.request import Answer, Ask, SpreadAsk
from paribus.evaluators.support import SupportCounter
from paribus.evaluators.survey import SEED, Wanted
from paribus.evaluators.verify import largest_difference
from paribus.grid import SPLITS, Question
from paribus.models import Model
from paribus.notes import Note
from paribus.results import Effects, PartialDependence
from paribus.results.build import effect_of
from paribus.results.offdata import extrapolation_of
from paribus.states import Keyed

SPREAD_BYTES = 500_000_000  # to hold predictions in, or where there is a bound:
SPREAD_SHARE = 4  # one part in so many of it
SAMPLE = 1_024  # draws of rows for standard errors: they are then known to about 2 %
# The weight around the points of each question, and which cells of two features have rows.
Counted: TypeAlias = tuple[list[Floats], Joint | None]


@dataclass(frozen=True, eq=False)
class EffectsStatistic:
    """Average predictions with the features of each group set to the points of a grid."""

    groups: Groups
    axes: Axes
    kind: Any = "average"
    method: str = "auto"
    verify: bool = False
    spread: tuple[float, ...] | None = None
    alone: bool = False
    verb: str = "effects"

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    @property
    def wanted(self) -> Mapping[int, Wanted]:
        """What a survey must find out about which feature."""
        return self.axes.wanted

    @property
    def reads_trees(self) -> bool:
        """Whether the trees of a model are likely needed, so that they are read ahead."""
        return self.method != "brute"

    def evaluate(self, work: Work) -> Rounds:
        """Lay out the grids, then evaluate every model in one pass; rows are counted with the first."""
        axes, skipped = self.axes.laid_out(work)
        questions = tuple(
            Question(tuple(axes[j] for j in group)) for group in self.groups if all(j in axes for j in group)
        )
        rows, ask = work.rows, self._ask(work, questions)
        probe = probe_of(rows.few(SEED), self.axes.nominal, rows.counted)
        outlook = Outlook.of(probe, questions, rows.counted)
        # Training paths are about no rows that might not exist.
        counting = Counting.of(questions, outlook, rows.unit, joint=self.method != "recursion")
        found = yield from lockstep(
            [self._evaluated(work, ask, place, counting) for place in range(len(work.models))]
        )
        supports, joint = counting.finish(found[0].state)
        remarks = joined_remarks([self._remarks(work, one, ask) for one in found])
        verified = [self._verified(work, one, questions) for one in found]
        far = [extrapolation_of(question, joint, probe, work.data.header.names) for question in questions]
        several = zip(questions, self._joined(work, found), supports, far, remarks, strict=True)
        return partial(self._result, work, ask, found, verified, list(several), skipped)

    def _ask(self, work: Work, questions: tuple[Question, ...]) -> Ask:
        rows = work.rows
        return Ask(
            questions,
            self.kind,
            len(rows),
            rows.counted,
            rows.table.row_bytes,
            work.memory,
            work.threads,
            rows.weighted,
            rows.sample(SAMPLE, SEED),
            read=not rows.in_memory,
            spread=self._spread(work),
            given=work.given,
        )

    def _spread(self, work: Work) -> SpreadAsk | None:
        if self.spread is None:
            return None
        return SpreadAsk(self.spread, work.memory // SPREAD_SHARE if work.given else SPREAD_BYTES)

    def _evaluated(self, work: Work, ask: Ask, place: int, counting: Counting) -> Rounds:
        return evaluated(
            work,
            work.models[place],
            lambda shortcut: ask,
            self.method,
            label(self.verb, place, len(work.models)),
            beside=() if place else counting.parts,
            settings=() if place else counting.settings,
        )

    def _remarks(self, work: Work, one: Estimated, ask: Ask) -> list[tuple[Note, ...]]:
        assert one.model is not None
        exactly = partial(self._exact, work, one.model, ask)
        return remarks_on(one.plans[0], exactly, ask.questions, one.estimates)

    def _exact(self, work: Work, model: Model, ask: Ask) -> list[Answer]:
        """Evaluate exactly on a few rows, to compare: on all of them it could take longer than the rest.

        Where rows have weights, on all: the few are chosen without.
        """
        rows, some = work.rows, ask
        if not rows.weighted:
            rows = Rows(rows.few(SEED), None)
            some = replace(ask, rows=len(rows), counted=len(rows), weighted=False, sample=None, read=False)
        (plan,) = choose(model, lambda shortcut: some, "exact")
        work.runner.passes += not rows.in_memory
        estimates: list[Answer] = estimates_here(plan, rows)
        return estimates

    def _verified(self, work: Work, one: Estimated, questions: tuple[Question, ...]) -> float | None:
        if not self.verify:
            return None
        assert one.model is not None
        work.runner.passes += not work.rows.in_memory
        return largest_difference(one.model, work.rows, questions, one.estimates)

    def _joined(self, work: Work, found: list[Estimated]) -> list[Answer]:
        """Return the estimate of each question: that of the one model, or the mean of those of a list."""
        if not work.several:
            return found[0].estimates
        return [mean_answer(answers) for answers in zip(*(one.estimates for one in found), strict=True)]

    def _result(
        self,
        work: Work,
        ask: Ask,
        found: list[Estimated],
        verified: list[float | None],
        several: list[Any],
        skipped: tuple[str, ...],
    ) -> Effects | PartialDependence:
        grid = self.axes.grid
        provenance = work.record(
            **joined_facts(found, verified),
            percentiles=grid.percentiles,
            grid_resolution=SPLITS if grid.splits else grid.resolution,
            points=ask.points,
            rank_error=work.data.rank_error(self.wanted),
        )
        effects = [
            effect_of(*one, ask=ask, models=work.models, unit=work.rows.unit, provenance=provenance)
            for one in several
        ]
        return effects[0] if self.alone else Effects(effects, skipped)


@dataclass(frozen=True, eq=False)
class Counting:
    """Counts how much data lies around each point and, unless None, which values occur together."""

    support: SupportCounter
    occupancy: Occupancy | None
    outlook: Outlook
    unit: float

    @classmethod
    def of(cls, questions: tuple[Question, ...], outlook: Outlook, unit: float, *, joint: bool) -> Counting:
        """Prepare to count; ``joint`` tells that it matters which values occur together."""
        return cls(SupportCounter(questions), Occupancy.of(outlook) if joint else None, outlook, unit)

    @property
    def parts(self) -> tuple[SupportCounter | Occupancy, ...]:
        """Who counts."""
        return (self.support,) if self.occupancy is None else (self.support, self.occupancy)

    @property
    def settings(self) -> tuple[Any, ...]:
        """What a kept state depends on besides the rows and the points."""
        return () if self.occupancy is None else self.occupancy.settings

    def finish(self, state: Keyed) -> Counted:
        """Return what was counted."""
        joint = None if self.occupancy is None else self.occupancy.finish(state, self.outlook)
        return self.support.finish(state, self.unit), joint

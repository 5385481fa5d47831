"""How local effects are found: rows, model, bins, plan, fold, results."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from paribus import budget
from paribus.api.background import Background, Looking, identity_of
from paribus.api.call import SEED, Axes, Call
from paribus.api.record import of_model, recorded
from paribus.api.refits import Found, joined_facts, label, mean_local_answer
from paribus.api.running import Running, announce
from paribus.contracts import Array
from paribus.data.rows import Rows
from paribus.data.sampling import MOST_FEW, few_rows
from paribus.data.summary import Summary
from paribus.errors import FeatureError, RefusalError
from paribus.evaluators import Ask
from paribus.evaluators.local.accumulate import LocalAnswer, accumulated
from paribus.evaluators.local.bins import Bins, Move, bins_of
from paribus.evaluators.local.order import DRAWN, similar_order
from paribus.evaluators.local.plan import LocalPlan, choose_local
from paribus.models import Model, listed
from paribus.results import LocalEffects
from paribus.results.moves import local_effect_of
from paribus.states import CellMoments, Counts, Keyed


@dataclass(frozen=True, eq=False)
class Local:
    """One call: what is asked of which rows, and how it is run."""

    call: Call
    asked: tuple[tuple[int, ...], ...]
    axes: Axes
    looking: Looking
    threads: int | None
    max_memory: int

    @classmethod
    def of(
        cls, call: Call, asked: tuple[tuple[int, ...], ...], axes: Axes, n_jobs: Any, max_memory: Any
    ) -> Local:
        """Check what the user gave."""
        many = next((group for group in asked if len(group) > 2), None)
        if many is not None:
            names = ", ".join(call.names[j] for j in many)
            raise FeatureError(
                f"local effects are of one feature or two; {len(many)} were asked for ({names})"
            )
        looking = Looking.of(SEED, n_jobs, max_memory, call.on_error, call.running)
        threads = None if n_jobs is None else budget.threads(n_jobs)
        return cls(call, asked, axes, looking, threads, budget.memory(max_memory))

    def answer(self, response_method: str, target_names: Any, method: str) -> LocalEffects:
        """Follow the path of a call: rows, model, bins, plan, fold, results."""
        rows, models, summary = self.call.looked(self.axes, response_method, target_names, self.looking)
        with ThreadPoolExecutor(self.looking.threads) as pool:
            fingerprint = pool.submit(rows.fingerprint)
            moves, skipped = self._moves(rows, summary, pool)
        ask = self._ask(rows, moves)
        found = [
            self._found(rows, model, ask, moves, method, label("local-effects", place, len(models)))
            for place, model in enumerate(models)
        ]
        provenance = recorded(
            rows,
            self.call.started,
            fingerprint.result(),
            **joined_facts(found),
            grid_resolution=self.axes.bins[min(len(group) for group in self.asked) - 1],
            points=ask.points,
            max_memory=self.max_memory,
            passes=self.call.running.passes,
            executor=self.call.running.where,
            rank_error=0.0 if isinstance(rows, Rows) else rows.rank_error,
        )
        effects = [
            local_effect_of(move, answer, rows.total, rows.unit, models, provenance)
            for move, answer in zip(moves, self._joined(found), strict=True)
        ]
        return LocalEffects(effects, skipped)

    def _joined(self, found: list[Found[LocalAnswer]]) -> list[LocalAnswer]:
        """Return each effect: that of the one model, or the mean of those of a list."""
        if listed(self.call.estimator) is None:
            return found[0].answers
        return [mean_local_answer(answers) for answers in zip(*(one.answers for one in found), strict=True)]

    def _moves(
        self, rows: Background, summary: Callable[[int], Summary], pool: ThreadPoolExecutor
    ) -> tuple[tuple[Move, ...], tuple[str, ...]]:
        """Lay out the bins of each feature, for curves and for surfaces."""
        wanted = sorted({(j, len(group) - 1) for group in self.asked for j in group})
        drawn = Drawn(rows, self.call.running)

        def laid_out(one: tuple[int, int]) -> Bins | FeatureError:
            feature, place = one
            try:
                known = summary(feature)
                return bins_of(
                    known,
                    rows.table,
                    feature,
                    place,
                    given=self.axes.given.get(feature),
                    ordered=lambda levels: drawn.ordered(feature, levels),
                )
            except FeatureError as error:
                return error

        found = dict(zip(wanted, pool.map(laid_out, wanted), strict=True))
        refused = {one: bins for one, bins in found.items() if isinstance(bins, FeatureError)}
        if refused and (not self.axes.skip or len(refused) == len(found)):
            raise next(iter(refused.values()))
        groups = [[found[j, len(group) - 1] for j in group] for group in self.asked]
        moves = tuple(
            Move.along(*(bins for bins in group if isinstance(bins, Bins)))
            for group in groups
            if not any(isinstance(bins, FeatureError) for bins in group)
        )
        for move in moves:
            _check_pair(move)
        return moves, tuple(str(error) for error in refused.values())

    def _ask(self, rows: Background, moves: tuple[Move, ...]) -> Ask:
        return Ask(
            moves,
            "average",
            len(rows),
            rows.counted,
            rows.table.row_bytes,
            self.max_memory,
            self.threads,
            rows.weighted,
            read=not isinstance(rows, Rows),
            given=self.looking.memory is not None,
        )

    def _found(
        self, rows: Background, model: Model, ask: Ask, moves: tuple[Move, ...], method: str, doing: str
    ) -> Found[LocalAnswer]:
        """Ask one model, as if it were the only one."""
        plans, refusals, answers = self._folded(rows, model, ask, moves, method, doing)
        facts = {
            **of_model(model),
            "estimand": "accumulated local",
            "evaluator": " and ".join(dict.fromkeys(plan.evaluator.name for plan in plans)),
            "why": "the fastest that can answer" if method == "auto" else f"asked for by method={method!r}",
            "how": "; ".join(dict.fromkeys(plan.evaluator.how for plan in plans)),
            "refusals": refusals,
            "predictions": sum(plan.evaluator.predictions for plan in plans),
            "standard_error_rows": rows.counted,
            "block_rows": max(plan.evaluator.block_rows for plan in plans),
            "threads": max(plan.threads for plan in plans),
        }
        return Found(answers, [()] * len(answers), facts)

    def _folded(
        self, rows: Background, model: Model, ask: Ask, moves: tuple[Move, ...], method: str, doing: str
    ) -> tuple[list[LocalPlan], dict[str, str], list[LocalAnswer]]:
        """Fold over the rows once per evaluator; trees that refuse what they meet in them make way."""
        refused: dict[str, str] = {}
        while True:
            plans, refusals = choose_local(model, ask, moves, method, refused)
            for plan in plans:
                announce(plan.warning)
            try:
                states = [self._fold(rows, model, plan, doing, again=bool(refused)) for plan in plans]
            except RefusalError as refusal:
                refused["tree_local"] = str(refusal)
                continue
            found: dict[int, LocalAnswer] = {}
            for plan, state in zip(plans, states, strict=True):
                for place, number in enumerate(plan.numbers):
                    found[number] = _found(moves[number], place, state, model.n_outputs)
            return plans, refusals, [found[number] for number in range(len(moves))]

    def _fold(self, rows: Background, model: Model, plan: LocalPlan, doing: str, *, again: bool) -> Keyed:
        evaluator = plan.evaluator
        return self.call.running.fold(
            evaluator,
            rows.blocks(evaluator.block_rows, evaluator.parts),
            plan.threads,
            doing=f"{doing}-{evaluator.name}",
            by=evaluator.name if again else "",
            identity=None if isinstance(rows, Rows) else _identity(rows, model, plan),
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some rows, drawn when they are first asked for: they tell which levels are similar."""

    rows: Background
    running: Running
    lock: Any = field(default_factory=Lock)

    @cached_property
    def some(self) -> Rows:
        """The rows drawn."""
        size = min(DRAWN, few_rows(len(self.rows.table.names)) * DRAWN // MOST_FEW)  # fewer of wide tables
        if isinstance(self.rows, Rows):
            return self.rows.keep(self.rows.chosen(size, SEED))
        self.running.passes += 1
        return self.rows.subsample(size, SEED)

    def ordered(self, feature: int, levels: Array) -> tuple[Array, str]:
        """Put levels in an order in which neighbours have similar rows."""
        with self.lock:  # several features ask at once, and rows are drawn, and counted as a pass, once
            some = self.some
        return similar_order(some, feature, levels)


def _check_pair(move: Move) -> None:
    if len(move.bins) == 2 and all(bins.nominal for bins in move.bins):
        names = " and ".join(repr(bins.axis.name) for bins in move.bins)
        raise FeatureError(
            f"{names} are both levels, between which there are no local differences of differences; ask "
            "partial_dependence or h_statistic about them"
        )


def _found(move: Move, place: int, state: Keyed, outputs: int) -> LocalAnswer:
    """Finish one effect; no rows at all leave no states."""
    none = np.zeros(move.n_cells + 1)
    ways = len(move.moves)
    nothing = np.zeros((outputs * (ways + ways * (ways - 1) // 2), len(none)))
    no_moments = CellMoments(none.astype(np.int64), none, none, nothing, nothing, nothing)
    quantities = 2 * len(move.bins) - 1
    moments = state.parts.get(("local", place), no_moments)
    places = state.parts.get(("places", place), Counts(np.zeros((quantities, len(none)))))
    return accumulated(move, moments, places.cells, outputs)


def _settings(bins: Bins) -> tuple[Any, ...]:
    axis = bins.axis
    return axis.name, axis.kind, axis.missing > 0, bins.order, bins.anchor, axis.cells.values.tolist()


def _identity(rows: Any, model: Model, plan: LocalPlan) -> dict[str, str]:
    """Return what a kept state of local effects is a state of."""
    evaluator = plan.evaluator
    asked = [tuple(_settings(bins) for bins in move.bins) for move in evaluator.moves]
    return identity_of(rows, model, (evaluator.name, evaluator.block_rows, evaluator.parts), asked)

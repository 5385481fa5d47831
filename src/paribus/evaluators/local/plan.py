"""Which local effects are read off trees, and which are asked of the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paribus.errors import MemoryBoundError, RefusalError, one_of
from paribus.evaluators.ask import Ask
from paribus.evaluators.local.bins import Move
from paribus.evaluators.local.brute import LocalBrute
from paribus.evaluators.local.trees import LocalTrees
from paribus.evaluators.plan import threads_within
from paribus.models import Model

METHODS = ("auto", "exact", "brute")
TOGETHER = "pairs of features are asked of the model itself"


@dataclass(frozen=True, eq=False)
class LocalPlan:
    """Who answers which questions, and on how many threads."""

    evaluator: LocalTrees | LocalBrute
    numbers: tuple[int, ...]
    threads: int


def choose_local(
    model: Model, ask: Ask, moves: tuple[Move, ...], method: str, refused: Mapping[str, str]
) -> tuple[list[LocalPlan], dict[str, str]]:
    """Return who answers what, and why trees do not where they do not.

    ``refused`` says why trees turned out not to, once they met the rows.
    """
    one_of("method", method, METHODS)
    refusals = dict(refused)
    single = tuple(number for number, move in enumerate(moves) if len(move.bins) == 1)
    plans = []
    if method == "brute":
        refusals["tree_local"] = "method='brute' was asked for by name"
    elif single and "tree_local" not in refusals:
        try:
            plans.append(_planned(LocalTrees, model, ask, moves, single))
        except RefusalError as refusal:
            refusals["tree_local"] = str(refusal)
        except MemoryBoundError as bound:
            if method != "auto":
                raise
            refusals["tree_local"] = str(bound)
    answered = {number for plan in plans for number in plan.numbers}
    rest = tuple(number for number in range(len(moves)) if number not in answered)
    if rest and method == "exact":
        why = refusals.get("tree_local", TOGETHER)
        raise RefusalError(
            f"method='exact': no shortcut for the local effects of {model.name} ({why}). method='brute' "
            "gives the same number, method='auto' takes the fastest that does"
        )
    if rest:
        refusals.setdefault("tree_local", TOGETHER)
        plans.append(_planned(LocalBrute, model, ask, moves, rest))
    return plans, refusals


def _planned(
    kind: type[LocalTrees] | type[LocalBrute],
    model: Model,
    ask: Ask,
    moves: tuple[Move, ...],
    numbers: tuple[int, ...],
) -> LocalPlan:
    some = tuple(moves[number] for number in numbers)
    part = replace(ask, questions=some)
    evaluator = kind.build(model, part, some)
    return LocalPlan(evaluator, numbers, threads_within(evaluator, model.n_outputs, part))

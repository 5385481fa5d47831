"""Which local effects are read off trees, and which are asked of the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paribus.errors import MemoryBoundError, RefusalError, one_of
from paribus.evaluators.ask import Ask
from paribus.evaluators.local.bins import Move
from paribus.evaluators.local.brute import LocalBrute
from paribus.evaluators.local.trees import LocalTrees
from paribus.evaluators.plan import dearer, fitted
from paribus.models import Model

METHODS = ("auto", "exact", "brute")
TREE_PASSES = 2  # predictions that trees take the time of, for all features together
TOGETHER = "pairs of features are asked of the model itself"


@dataclass(frozen=True, eq=False)
class LocalPlan:
    """Who answers which questions, on how many threads, and what to warn of before that."""

    evaluator: LocalTrees | LocalBrute
    numbers: tuple[int, ...]
    threads: int
    warning: str | None = None


def choose_local(
    model: Model, ask: Ask, moves: tuple[Move, ...], method: str, refused: Mapping[str, str]
) -> tuple[list[LocalPlan], dict[str, str]]:
    """Return who answers what, and why trees do not where they do not.

    ``refused`` says why trees turned out not to, once they met the rows.
    """
    one_of("method", method, METHODS)
    refusals = dict(refused)
    single = tuple(number for number, move in enumerate(moves) if len(move.bins) == 1)
    plans: list[LocalPlan] = []
    short: str | None = None
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
            refusals["tree_local"] = short = str(bound)
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
        slow = _planned(LocalBrute, model, ask, moves, rest)
        passes = slow.evaluator.predictions / max(1, TREE_PASSES * ask.counted)
        plans.append(slow if short is None else replace(slow, warning=dearer(short, passes)))
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
    evaluator, threads = fitted(evaluator, model.n_outputs)
    return LocalPlan(evaluator, numbers, threads)

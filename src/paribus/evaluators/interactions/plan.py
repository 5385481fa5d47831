"""Which evaluator finds strengths, and on which rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paribus.errors import MemoryBoundError, RefusalError, one_of
from paribus.evaluators.interactions.ask import StrengthAsk, StrengthEvaluator
from paribus.evaluators.interactions.brute import BruteStrengths
from paribus.evaluators.interactions.trees import TreeStrengths
from paribus.models import Model

METHODS = ("auto", "exact", "brute")
# In order of preference. A faster evaluator must give the number of the definition on its rows.
EVALUATORS: tuple[type[StrengthEvaluator], ...] = (TreeStrengths, BruteStrengths)


@dataclass(frozen=True, eq=False)
class StrengthPlan:
    """Which evaluator answers on which rows, why, and why the others do not."""

    evaluator: StrengthEvaluator
    ask: StrengthAsk
    why: str
    refusals: dict[str, str]


def choose_strengths(
    model: Model,
    asking: Callable[[bool], StrengthAsk],
    method: str,
    refused: dict[str, str],
    falling_back: Callable[[str], None],
) -> StrengthPlan:
    """Choose the first evaluator that can answer; ``asking`` says what a shortcut is asked, or brute force.

    ``refused`` are those that turned out not to, once they met the rows. ``falling_back`` is called with the
    reason before brute force, if that fits, begins because a shortcut is short of memory.
    """
    one_of("method", method, METHODS)
    refusals, short = dict(refused), ""
    for candidate in EVALUATORS:
        if candidate.name in refusals:
            continue
        ask = asking(candidate.shortcut)
        refusal = _not_meant(candidate, method) or candidate.refuse(model, ask)
        if refusal is None:
            try:
                evaluator = candidate.build(model, ask)
            except (RefusalError, MemoryBoundError) as found:
                refusal = str(found)
                if isinstance(found, MemoryBoundError):
                    if method != "auto" or not candidate.shortcut:
                        raise
                    short = refusal
            else:
                if short:
                    falling_back(short)
                why = "the fastest that can answer" if method == "auto" else f"asked for by method={method!r}"
                return StrengthPlan(evaluator, evaluator.ask, why, refusals)
        refusals[candidate.name] = refusal
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
    raise RefusalError(
        f"method={method!r}: no evaluator knows a shortcut for {model.name} ({reasons}). method='brute' "
        "gives the same number on the same rows, method='auto' takes the fastest that does"
    )


def _not_meant(candidate: type[StrengthEvaluator], method: str) -> str | None:
    if method == "exact" and not candidate.shortcut:
        return "it is no shortcut"
    if method == "brute" and candidate.shortcut:
        return "method='brute' was asked for by name"
    return None

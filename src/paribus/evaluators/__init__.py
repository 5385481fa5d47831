"""From a block to a state: the plan that chooses, and the ways to evaluate."""

from paribus.evaluators.ask import Ask
from paribus.evaluators.plan import Plan, choose

__all__ = ["Ask", "Plan", "choose"]

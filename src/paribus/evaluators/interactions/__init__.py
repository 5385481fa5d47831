"""Effects at the rows themselves: how strong a feature is, and how much of that is interaction."""

from paribus.evaluators.interactions.found import Found, Ratio

__all__ = ["Found", "Ratio"]

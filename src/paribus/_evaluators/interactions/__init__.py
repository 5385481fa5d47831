"""Effects at the rows themselves: how strong a feature is, and how much of that is interaction."""

from paribus._evaluators.interactions.requests import InteractionStatistics, Ratio

__all__ = ["InteractionStatistics", "Ratio"]

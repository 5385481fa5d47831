"""Interactions: mean squares of effects at the rows, and their share that is interaction."""

from paribus._evaluators.interactions.requests import InteractionStatistics, Ratio, VarianceShares

__all__ = ["InteractionStatistics", "Ratio", "VarianceShares"]

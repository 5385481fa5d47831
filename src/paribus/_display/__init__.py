"""Plots of results. This package reads results only, and the computing packages never import it."""

"""Accumulated local effects: finite differences of predictions within bins of a feature."""

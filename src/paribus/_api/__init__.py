"""Public functions, the class `Explainer` whose methods they call, and runs of statistics."""

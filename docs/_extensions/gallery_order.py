"""The order of the gallery: its groups, and the examples of each, from the first question to the last."""

from pathlib import Path

GROUPS = {
    "effects": ["loans", "rentals_categories", "missing_values", "contrasts"],
    "trust": ["marriages", "height_and_weight", "rentals_surface", "claims", "credit"],
    "interactions": ["wages", "diabetes_h", "rentals_ice", "groups", "regions"],
    "compare": ["loans_models", "two_models", "importance"],
    "models": ["doctor_visits", "pipeline", "one_hot_columns", "quantile_forecasts"],
}
EXAMPLES = [f"plot_{name}.py" for names in GROUPS.values() for name in names]


def group_order(folder):
    """Return the place of a group in the gallery."""
    return list(GROUPS).index(Path(folder).name)


def reading_order(filename):
    """Return the place of an example in the gallery."""
    return EXAMPLES.index(Path(filename).name)

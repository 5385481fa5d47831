"""The order of the examples: that of a reader who knows nothing of the subject."""

import os.path

EXAMPLES = [
    "rentals",
    "linear_model",
    "iris_classes",
    "rentals_categories",
    "one_hot_columns",
    "missing_values",
    "rentals_ice",
    "groups",
    "regions",
    "contrasts",
    "rentals_surface",
    "height_and_weight",
    "enough_rows",
    "diabetes_h",
    "housing_interaction",
    "importance",
    "claims",
    "credit",
    "pipeline",
    "ensembles",
    "network",
    "housing_models",
    "two_models",
    "training_curves",
    "quantile_forecasts",
    "hastie_recursion",
    "polars",
    "parquet",
    "dask",
    "report",
]


def reading_order(filename):
    """Return the place of an example in the gallery; one that is not listed comes last, by its name."""
    name = os.path.basename(filename).removeprefix("plot_").removesuffix(".py")
    return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), name)

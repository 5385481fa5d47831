"""paribus: what a fitted model does with its features, all else equal."""

from paribus.api import effects, feature_importance, h_statistic, partial_dependence
from paribus.errors import (
    DrawingError,
    FeatureError,
    FormatError,
    GridError,
    InputError,
    MemoryBoundError,
    ModelError,
    OptionError,
    ParibusError,
    RefusalError,
    TableError,
    WeightError,
)
from paribus.results import (
    Effects,
    HStatistics,
    Importance,
    Interaction,
    Missing,
    PartialDependence,
    Provenance,
    load,
)
from paribus.version import __version__

__all__ = [
    "DrawingError",
    "Effects",
    "FeatureError",
    "FormatError",
    "GridError",
    "HStatistics",
    "Importance",
    "InputError",
    "Interaction",
    "MemoryBoundError",
    "Missing",
    "ModelError",
    "OptionError",
    "ParibusError",
    "PartialDependence",
    "Provenance",
    "RefusalError",
    "TableError",
    "WeightError",
    "__version__",
    "effects",
    "feature_importance",
    "h_statistic",
    "load",
    "partial_dependence",
]

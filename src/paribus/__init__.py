"""paribus: what a fitted model does with its features, all else equal."""

from paribus.api import effects, partial_dependence
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
from paribus.results import Effects, Missing, PartialDependence, Provenance, load
from paribus.version import __version__

__all__ = [
    "DrawingError",
    "Effects",
    "FeatureError",
    "FormatError",
    "GridError",
    "InputError",
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
    "load",
    "partial_dependence",
]

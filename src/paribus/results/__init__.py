"""What came out: frozen, with its provenance inside."""

from paribus.results.effects import Effects
from paribus.results.estimate import Estimate
from paribus.results.hstatistics import HStatistics, Interaction
from paribus.results.importance import Importance
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.storage import load

__all__ = [
    "Effects",
    "Estimate",
    "HStatistics",
    "Importance",
    "Interaction",
    "Missing",
    "PartialDependence",
    "Provenance",
    "load",
]

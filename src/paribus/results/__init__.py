"""What came out: frozen, with its provenance inside."""

from paribus.results.effects import Effects
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.storage import load

__all__ = ["Effects", "Missing", "PartialDependence", "Provenance", "load"]

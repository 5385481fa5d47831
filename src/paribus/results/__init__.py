"""What came out: frozen, with its provenance inside."""

from paribus.errors import RefusalCode
from paribus.meaning import Association, Estimand, Refusal, Scale
from paribus.notes import Note, NoteCode
from paribus.results.comparison import Comparison, Comparisons, compare
from paribus.results.difference import Difference, Differences
from paribus.results.effects import Effects
from paribus.results.estimate import Estimate
from paribus.results.extrapolation import Extrapolation
from paribus.results.hstatistics import HStatistics, Interaction
from paribus.results.importance import Importance
from paribus.results.local import LocalEffect, LocalEffects, LocalMissing
from paribus.results.marginal import Marginal, Marginals, MissingRows
from paribus.results.overlay import Overlay, Overlays, overlay
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.refits import Refits
from paribus.results.spread import Spread
from paribus.results.storage import load

__all__ = [
    "Association",
    "Comparison",
    "Comparisons",
    "Difference",
    "Differences",
    "Effects",
    "Estimand",
    "Estimate",
    "Extrapolation",
    "HStatistics",
    "Importance",
    "Interaction",
    "LocalEffect",
    "LocalEffects",
    "LocalMissing",
    "Marginal",
    "Marginals",
    "Missing",
    "MissingRows",
    "Note",
    "NoteCode",
    "Overlay",
    "Overlays",
    "PartialDependence",
    "Provenance",
    "Refits",
    "Refusal",
    "RefusalCode",
    "Scale",
    "Spread",
    "compare",
    "load",
    "overlay",
]

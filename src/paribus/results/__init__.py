"""What came out: frozen, with its provenance inside."""

from paribus.errors import RefusalCode
from paribus.meaning import Association, Estimand, Refusal, Scale
from paribus.notes import Note, NoteCode
from paribus.results.comparison import Comparison, Comparisons, compare
from paribus.results.cost_estimate import CostEstimate
from paribus.results.curve_parts import Extrapolation, IceQuantiles, ModelSpread
from paribus.results.difference import Difference, Differences
from paribus.results.drift import Change, Drift, EffectDrift
from paribus.results.effects import Effects
from paribus.results.explanation import Explanation
from paribus.results.hstatistics import HStatistics, Interaction
from paribus.results.importance import Importance
from paribus.results.local_effect import LocalEffect, LocalEffectAtMissing, LocalEffects
from paribus.results.marginal import Marginal, MarginalAtMissing, Marginals
from paribus.results.overlay import Overlay, Overlays, overlay
from paribus.results.partial_dependence import PartialDependence, PartialDependenceAtMissing, Tails
from paribus.results.provenance import Provenance
from paribus.results.storage import load

__all__ = [
    "Association",
    "Change",
    "Comparison",
    "Comparisons",
    "CostEstimate",
    "Difference",
    "Differences",
    "Drift",
    "EffectDrift",
    "Effects",
    "Estimand",
    "Explanation",
    "Extrapolation",
    "HStatistics",
    "IceQuantiles",
    "Importance",
    "Interaction",
    "LocalEffect",
    "LocalEffectAtMissing",
    "LocalEffects",
    "Marginal",
    "MarginalAtMissing",
    "Marginals",
    "ModelSpread",
    "Note",
    "NoteCode",
    "Overlay",
    "Overlays",
    "PartialDependence",
    "PartialDependenceAtMissing",
    "Provenance",
    "Refusal",
    "RefusalCode",
    "Scale",
    "Tails",
    "compare",
    "load",
    "overlay",
]

"""Results: frozen records with their provenance."""

from paribus.meaning import Association, Estimand, Refusal, Scale
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.comparison import Comparison, Difference
from paribus.results.contrasts import Contrast
from paribus.results.cost_estimate import CostEstimate
from paribus.results.curve_parts import AtMissing, Extrapolation, IceQuantiles, ModelSpread
from paribus.results.drift import Change, Drift, EffectDrift
from paribus.results.effects import Effects
from paribus.results.explanation import Explanation
from paribus.results.group_comparison import GroupComparison, GroupDifference
from paribus.results.groups import Group, GroupedResults
from paribus.results.hstatistics import HStatistics, Interaction
from paribus.results.importance import Importance
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence, Tails
from paribus.results.performance import Performance
from paribus.results.provenance import Provenance
from paribus.results.regions import FeatureRegions, Region, Regions, RegionSplit
from paribus.results.shape import Shape

__all__ = [
    "AccumulatedLocalEffect",
    "Association",
    "AtMissing",
    "Change",
    "Comparison",
    "Contrast",
    "CostEstimate",
    "Difference",
    "Drift",
    "EffectDrift",
    "Effects",
    "Estimand",
    "Explanation",
    "Extrapolation",
    "FeatureRegions",
    "Group",
    "GroupComparison",
    "GroupDifference",
    "GroupedResults",
    "HStatistics",
    "IceQuantiles",
    "Importance",
    "Interaction",
    "Marginal",
    "ModelSpread",
    "PartialDependence",
    "Performance",
    "Provenance",
    "Refusal",
    "Region",
    "RegionSplit",
    "Regions",
    "Scale",
    "Shape",
    "Tails",
]

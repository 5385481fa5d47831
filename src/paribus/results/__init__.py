"""Results: frozen records with their provenance."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from paribus.meaning import Association, Estimand, Refusal, Scale
    from paribus.results.ale import AccumulatedLocalEffect
    from paribus.results.comparison import Comparison, Difference
    from paribus.results.contrasts import Contrast
    from paribus.results.curve_parts import AtMissing, Extrapolation, IceQuantiles, ModelSpread
    from paribus.results.drift import Change, Drift, EffectDrift
    from paribus.results.effects import Effects
    from paribus.results.explanation import Explanation
    from paribus.results.group_comparison import GroupComparison, GroupDifference
    from paribus.results.groups import Group, GroupedResults
    from paribus.results.hstatistics import HStatistics, Interaction
    from paribus.results.importance import Importance
    from paribus.results.marginal import Marginal
    from paribus.results.partial_dependence import PartialDependence
    from paribus.results.performance import Performance
    from paribus.results.provenance import Provenance
    from paribus.results.regions import FeatureRegions, Region, Regions, RegionSplit
    from paribus.results.shape import Shape

# Modules that classes are loaded from on first use.
_HOMES = {
    "AccumulatedLocalEffect": "results.ale",
    "Association": "meaning",
    "AtMissing": "results.curve_parts",
    "Change": "results.drift",
    "Comparison": "results.comparison",
    "Contrast": "results.contrasts",
    "Difference": "results.comparison",
    "Drift": "results.drift",
    "EffectDrift": "results.drift",
    "Effects": "results.effects",
    "Estimand": "meaning",
    "Explanation": "results.explanation",
    "Extrapolation": "results.curve_parts",
    "FeatureRegions": "results.regions",
    "Group": "results.groups",
    "GroupComparison": "results.group_comparison",
    "GroupDifference": "results.group_comparison",
    "GroupedResults": "results.groups",
    "HStatistics": "results.hstatistics",
    "IceQuantiles": "results.curve_parts",
    "Importance": "results.importance",
    "Interaction": "results.hstatistics",
    "Marginal": "results.marginal",
    "ModelSpread": "results.curve_parts",
    "PartialDependence": "results.partial_dependence",
    "Performance": "results.performance",
    "Provenance": "results.provenance",
    "Refusal": "meaning",
    "Region": "results.regions",
    "RegionSplit": "results.regions",
    "Regions": "results.regions",
    "Scale": "meaning",
    "Shape": "results.shape",
}

__all__ = [
    "AccumulatedLocalEffect",
    "Association",
    "AtMissing",
    "Change",
    "Comparison",
    "Contrast",
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
]


def __getattr__(name: str) -> typing.Any:
    """Load a class on first use, with the modules that it needs."""
    if name not in _HOMES:
        raise AttributeError(f"module 'paribus.results' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"paribus.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    """List public names, loaded or not."""
    return list(__all__)

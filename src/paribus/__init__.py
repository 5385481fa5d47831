"""paribus: what a fitted model does with its features, all else equal."""

import importlib
import typing

from paribus._version import __version__
from paribus.errors import (
    CheckpointError,
    CostWarning,
    DrawingError,
    ExecutorError,
    FeatureError,
    FormatError,
    GridError,
    InputError,
    MemoryBoundError,
    ModelError,
    ModelFileError,
    OptionError,
    ParibusError,
    RefusalError,
    SourceError,
    TableError,
    WeightError,
)

if typing.TYPE_CHECKING:
    from paribus._api import (
        Explainer,
        accumulated_local_effects,
        effects,
        estimate_cost,
        explain,
        feature_importance,
        h_statistic,
        marginal,
        partial_dependence,
    )
    from paribus._display.scikit_learn import PartialDependenceDisplay
    from paribus._models.files.model_file import read_model
    from paribus._show_versions import show_versions
    from paribus.results import (
        Association,
        Change,
        Comparison,
        Comparisons,
        CostEstimate,
        Difference,
        Differences,
        Drift,
        EffectDrift,
        Effects,
        Estimand,
        Explanation,
        Extrapolation,
        HStatistics,
        IceQuantiles,
        Importance,
        Interaction,
        LocalEffect,
        LocalEffectAtMissing,
        LocalEffects,
        Marginal,
        MarginalAtMissing,
        Marginals,
        ModelSpread,
        Note,
        NoteCode,
        Overlay,
        Overlays,
        PartialDependence,
        PartialDependenceAtMissing,
        Provenance,
        Refusal,
        RefusalCode,
        Scale,
        Tails,
        compare,
        load,
        overlay,
    )

__all__ = [
    "Association",
    "Change",
    "CheckpointError",
    "Comparison",
    "Comparisons",
    "CostEstimate",
    "CostWarning",
    "Difference",
    "Differences",
    "DrawingError",
    "Drift",
    "EffectDrift",
    "Effects",
    "Estimand",
    "ExecutorError",
    "Explainer",
    "Explanation",
    "Extrapolation",
    "FeatureError",
    "FormatError",
    "GridError",
    "HStatistics",
    "IceQuantiles",
    "Importance",
    "InputError",
    "Interaction",
    "LocalEffect",
    "LocalEffectAtMissing",
    "LocalEffects",
    "Marginal",
    "MarginalAtMissing",
    "Marginals",
    "MemoryBoundError",
    "ModelError",
    "ModelFileError",
    "ModelSpread",
    "Note",
    "NoteCode",
    "OptionError",
    "Overlay",
    "Overlays",
    "ParibusError",
    "PartialDependence",
    "PartialDependenceAtMissing",
    "PartialDependenceDisplay",
    "Provenance",
    "Refusal",
    "RefusalCode",
    "RefusalError",
    "Scale",
    "SourceError",
    "TableError",
    "Tails",
    "WeightError",
    "__version__",
    "accumulated_local_effects",
    "compare",
    "effects",
    "estimate_cost",
    "explain",
    "feature_importance",
    "h_statistic",
    "load",
    "marginal",
    "overlay",
    "partial_dependence",
    "read_model",
    "show_versions",
]

_FUNCTIONS = (
    "Explainer",
    "accumulated_local_effects",
    "effects",
    "estimate_cost",
    "explain",
    "feature_importance",
    "h_statistic",
    "marginal",
    "partial_dependence",
)
_ELSEWHERE = {
    "PartialDependenceDisplay": "_display.scikit_learn",
    "read_model": "_models.files.model_file",
    "show_versions": "_show_versions",
}


def __getattr__(name: str) -> typing.Any:
    """Load functions, results, a display and the reader of files, with all they need, on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'paribus' has no attribute {name!r}")
    home = _ELSEWHERE.get(name, "_api" if name in _FUNCTIONS else "results")
    from paribus._loading import uncollected

    with uncollected():
        try:
            found = globals()[name] = getattr(importlib.import_module(f"paribus.{home}"), name)
        except ModuleNotFoundError as error:
            if error.name != "sklearn":
                raise
            way_out = "pip install scikit-learn 'paribus[plot]'"
            raise DrawingError(f"{name} is scikit-learn's, which is not installed; {way_out}") from error
    return found


def __dir__() -> list[str]:
    """List what is public, loaded or not."""
    return list(__all__)

"""Effects of features on the predictions of a fitted model, all else equal.

Functions are here. Classes of results are in `paribus.results`, exceptions in `paribus.errors`, codes of
notes in `paribus.notes`.
"""

import importlib
import typing

from paribus import errors
from paribus._version import __version__
from paribus.errors import ParibusError

if typing.TYPE_CHECKING:
    from paribus import notes as notes
    from paribus import results as results
    from paribus._api.curve_functions import accumulated_local_effects, effects, marginal, partial_dependence
    from paribus._api.explainer import Explainer
    from paribus._api.model_functions import (
        explain,
        feature_importance,
        h_statistic,
        regions,
    )
    from paribus._display.scikit_learn import PartialDependenceDisplay
    from paribus._models.libraries.model_file import read_model
    from paribus._show_versions import show_versions
    from paribus.results import Explanation
    from paribus.results.effects import compare
    from paribus.results.storage import load

# Modules that names are loaded from on first use, with everything that they need.
_HOMES = {
    "Explainer": "_api.explainer",
    "Explanation": "results",
    "PartialDependenceDisplay": "_display.scikit_learn",
    "accumulated_local_effects": "_api.curve_functions",
    "compare": "results.effects",
    "effects": "_api.curve_functions",
    "explain": "_api.model_functions",
    "feature_importance": "_api.model_functions",
    "h_statistic": "_api.model_functions",
    "load": "results.storage",
    "marginal": "_api.curve_functions",
    "partial_dependence": "_api.curve_functions",
    "read_model": "_models.libraries.model_file",
    "regions": "_api.model_functions",
    "show_versions": "_show_versions",
}
_MODULES = ("errors", "notes", "results")

__all__ = [
    "Explainer",
    "Explanation",
    "ParibusError",
    "PartialDependenceDisplay",
    "__version__",
    "accumulated_local_effects",
    "compare",
    "effects",
    "explain",
    "feature_importance",
    "h_statistic",
    "load",
    "marginal",
    "partial_dependence",
    "read_model",
    "regions",
    "show_versions",
]


def __getattr__(name: str) -> typing.Any:
    """Load a function, class or public module on first use."""
    if name in _MODULES:
        return importlib.import_module(f"paribus.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'paribus' has no attribute {name!r}{_moved(name)}")
    from paribus._loading import uncollected

    with uncollected():
        try:
            found = globals()[name] = getattr(importlib.import_module(f"paribus.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name != "sklearn":
                raise
            way_out = "pip install scikit-learn 'paribus[plot]'"
            raise errors.DrawingError(
                f"{name} is scikit-learn's, which is not installed; {way_out}"
            ) from error
    return found


def _moved(name: str) -> str:
    """Return the module that has a public class which is not at the top level."""
    if not name[:1].isupper():
        return ""
    homes = [home for home in _MODULES if name in importlib.import_module(f"paribus.{home}").__all__]
    return f"; it is paribus.{homes[0]}.{name}" if homes else ""


def __dir__() -> list[str]:
    """List public names, loaded or not."""
    return sorted((*__all__, *_MODULES))

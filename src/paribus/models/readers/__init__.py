"""From a fitted model to its trees, or the reason why they cannot be read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from paribus.data.table import Table
from paribus.errors import RefusalError, TableError
from paribus.models.boosters import FromMatrix, booster_library
from paribus.models.bound import METHODS
from paribus.models.columns import Fitted, columns_of
from paribus.models.ensemble import Ensemble
from paribus.models.readers.known import LIBRARIES, reading


def read(target: Any, table: Table) -> Ensemble:
    """Return the trees of what a model's call asks; `RefusalError` says why that is not possible.

    ``table`` has the columns the model is to be asked about, some of its rows.
    """
    model = target.booster if isinstance(target, FromMatrix) else target
    bases = (base.__module__.split(".")[0] for base in type(model).__mro__)
    # The boosters' wrappers derive from scikit-learn's classes, so that the nearest library is the one.
    library = next((base for base in bases if base in LIBRARIES), None)
    if library is None:
        raise RefusalError("it is no tree ensemble of a library whose trees are read here")
    with reading(library):
        _check_own(model, library)
        _check_names(model, table)
        ensemble: Ensemble = import_module(f"paribus.models.readers.{library}").read(model)
    tested = max((encoding.feature for encoding in ensemble.encodings), default=-1)
    if tested >= len(table.names):
        raise RefusalError(f"its trees test column {tested}, and X has {len(table.names)} columns")
    return ensemble


def _check_own(model: Any, library: str) -> None:
    """Refuse what may predict in a way of its own: a subclass, or an instance whose methods were replaced."""
    name = type(model).__name__
    if type(model).__module__.split(".")[0] != library:
        raise RefusalError(
            f"{name} is not a class of {LIBRARIES[library]}, so it may predict in a way of its own"
        )
    replaced = [method for method in METHODS if method in getattr(model, "__dict__", {})]
    if replaced:
        raise RefusalError(
            f"the {replaced[0]} of this {name} was replaced, so it predicts in a way of its own"
        )


def _check_names(model: Any, table: Table) -> None:
    """Refuse columns in another order than fitted: some libraries find them by name, trees by position."""
    header = getattr(table.native, "column_names", getattr(table.native, "columns", None))
    names = columns_of(model)
    if names is None or header is None:
        return
    try:
        places = Fitted(names, booster_library(model)).places(tuple(map(str, header)))
    except TableError as error:
        raise RefusalError(str(error)) from error
    if places is not None and places != tuple(range(len(header))):
        raise RefusalError("the columns of X are not those it was fitted on, in their order")

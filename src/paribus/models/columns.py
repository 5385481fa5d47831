"""Which columns a model was fitted on, if it remembers."""

from __future__ import annotations

from typing import Any


def columns_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns a model was fitted on, None where it does not know them."""
    for attribute in (
        "feature_names_in_",
        "feature_names_",
        "feature_names",
        "feature_name_",
        "feature_name",
    ):
        try:
            names = getattr(estimator, attribute, None)
        except Exception:  # a property of a model that is not fitted may raise anything
            continue
        names = names() if callable(names) else names
        if names is not None and not isinstance(names, str) and len(names):
            return tuple(str(name) for name in names)
    return None

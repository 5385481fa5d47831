"""Explanations that commands read back."""

from __future__ import annotations

from paribus.errors import InputError
from paribus.results import Explanation, load


def read_explanation(path: str) -> Explanation:
    """Return a saved explanation, or that of a report."""
    found = load(path)
    if not isinstance(found, Explanation):
        raise InputError(
            f"{path} holds a {type(found).__name__}; pass .json or .html that paribus explain wrote"
        )
    return found

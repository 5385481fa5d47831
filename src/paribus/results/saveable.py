"""Shared by all results: equality, saving, key completion."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from paribus.results.equality import differing
from paribus.results.frozen import Frozen
from paribus.results.schema import SAVED
from paribus.results.storage import save


class Saveable(Frozen):
    """A result that can be saved, and equals another if every value does."""

    def __init_subclass__(cls, *, saved: bool = False, **more: Any) -> None:
        """Let files hold results of a class that is ``saved``."""
        super().__init_subclass__(**more)
        if saved:
            SAVED[cls.__name__] = cls

    def __eq__(self, other: object) -> bool:
        """Return whether two results are the same bit for bit, provenance included; NaN equals NaN."""
        return type(other) is type(self) and differing(self, other) is None

    __hash__ = None  # type: ignore[assignment]

    def save(self, path: str | PathLike[str]) -> None:
        """Save to a versioned JSON file that `paribus.load` restores bit for bit.

        A value that would not be restored identically raises a `FormatError` that names it. An existing file
        is replaced only once the new one is complete.
        """
        save(self, path)

    def _ipython_key_completions_(self) -> list[Any]:
        """Return the keys for completion in notebooks."""
        return list(self) if isinstance(self, Mapping) else []

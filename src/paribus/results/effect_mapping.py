"""Mapping from features to effects, strongest first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from paribus._typing import FrameBackend
from paribus.errors import InputError, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.plot_mixin import PlotMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.tidy import long_frame

Key: TypeAlias = str | tuple[str, ...]


E = TypeVar("E", bound=Any)  # a result that has a strength


@record
class EffectMapping(PlotMixin, Mapping[Key, E], Generic[E]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Attributes
    ----------
    effects : tuple
        The effects, in this order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    effects: tuple[E, ...]
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # An effect that is not finite has no strength, and stands last.
        ordered = sorted(self.effects, key=lambda e: (math.isnan(e.strength), -e.strength))
        vars(self).update(effects=tuple(ordered))
        super().__post_init__()

    def _check(self) -> None:
        if not self.effects or len(self) != len(self.effects):
            raise InputError("effects are none, or two have one name; pass each once")

    @cached_property
    def _by_key(self) -> dict[Key, E]:
        return {_key(effect.feature_names): effect for effect in self.effects}

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy long table of all effects.

        The documentation of the class names the columns.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return long_frame(self, [table for effect in self.effects for table in effect._tables()], backend)

    def to_xarray(self) -> dict[Key, Any]:
        """Return the arrays of each effect, see there, under its key."""
        return {key: effect.to_xarray() for key, effect in self.items()}

    @property
    def provenance(self) -> Provenance:
        """How the result was computed."""
        provenance: Provenance = self.effects[0].provenance
        return provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats over all effects, and which features were left out."""
        notes = (note for effect in self.values() for note in effect.notes)
        skipped = (Note(NoteCode.FEATURE_SKIPPED, reason) for reason in self.skipped)
        return tuple(dict.fromkeys((*skipped, *notes)))

    def __getitem__(self, key: Key) -> E:
        if key in self._by_key:
            return self._by_key[key]
        known = [k if isinstance(k, str) else " x ".join(k) for k in self]
        wanted = " x ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        raise KeyError(f"no effect of {wanted!r}{did_you_mean(wanted, known)}")

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Key]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)


def _key(names: tuple[str, ...]) -> Key:
    return names[0] if len(names) == 1 else names

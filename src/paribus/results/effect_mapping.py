"""Mapping from features to effects, strongest first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeAlias, TypeVar

from paribus.errors import did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.plot_mixin import PlotMixin
from paribus.results.provenance import Provenance

Key: TypeAlias = str | tuple[str, ...]


class EffectResult(Protocol):
    """A result that has a strength."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        ...

    @property
    def strength(self) -> float:
        """Size of the effect in units of the prediction."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats as plain sentences."""
        ...

    @property
    def provenance(self) -> Provenance:
        """How the result was computed."""
        ...


E = TypeVar("E", bound=EffectResult)


class EffectMapping(PlotMixin, Mapping[Key, E], Generic[E]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first."""

    def __init__(self, effects: list[E], skipped: tuple[str, ...] = ()) -> None:
        # An effect that is not finite has no strength, and stands last.
        ordered = sorted(effects, key=lambda e: (math.isnan(e.strength), -e.strength))
        self._effects = {_key(effect.feature_names): effect for effect in ordered}
        self._skipped = skipped

    @property
    def provenance(self) -> Provenance:
        """How the result was computed."""
        return next(iter(self._effects.values())).provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats over all effects, and which features were left out."""
        notes = (note for effect in self.values() for note in effect.notes)
        skipped = (Note(NoteCode.FEATURE_SKIPPED, reason) for reason in self._skipped)
        return tuple(dict.fromkeys((*skipped, *notes)))

    @property
    def skipped(self) -> tuple[str, ...]:
        """Why features were skipped when all features were requested."""
        return self._skipped

    def __getitem__(self, key: Key) -> E:
        if key in self._effects:
            return self._effects[key]
        known = [k if isinstance(k, str) else " x ".join(k) for k in self._effects]
        wanted = " x ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        raise KeyError(f"no effect of {wanted!r}{did_you_mean(wanted, known)}")

    def __contains__(self, key: object) -> bool:
        return key in self._effects

    def __iter__(self) -> Iterator[Key]:
        return iter(self._effects)

    def __len__(self) -> int:
        return len(self._effects)


def _key(names: tuple[str, ...]) -> Key:
    return names[0] if len(names) == 1 else names

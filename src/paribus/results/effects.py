"""Many effects from one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, TypeAlias

from paribus.errors import did_you_mean
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance

Key: TypeAlias = str | tuple[str, ...]


class Effects(Mapping[Key, PartialDependence]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Strength is `PartialDependence.strength`: the standard deviation of the partial dependence over the
    data, in units of the prediction.
    """

    def __init__(self, effects: list[PartialDependence], skipped: tuple[str, ...] = ()) -> None:
        # An effect that is not finite has no strength, and stands last.
        ordered = sorted(effects, key=lambda e: (math.isnan(e.strength), -e.strength))
        self._effects = {_key(effect): effect for effect in ordered}
        self._skipped = skipped

    @property
    def provenance(self) -> Provenance:
        """How the numbers came about."""
        return next(iter(self._effects.values())).provenance

    @property
    def notes(self) -> tuple[str, ...]:
        """What the data cannot carry, over all effects, and which features could not be asked."""
        notes = (note for effect in self.values() for note in effect.notes)
        return tuple(dict.fromkeys((*self._skipped, *notes)))

    @property
    def skipped(self) -> tuple[str, ...]:
        """Why features were left out when every feature was asked for."""
        return self._skipped

    def __getitem__(self, key: Key) -> PartialDependence:
        if key in self._effects:
            return self._effects[key]
        known = [k if isinstance(k, str) else " x ".join(k) for k in self._effects]
        wanted = " x ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        raise KeyError(f"no effect of {wanted!r}{did_you_mean(wanted, known)}")

    def __contains__(self, key: object) -> bool:
        return key in self._effects

    def __eq__(self, other: object) -> bool:
        """Tell whether two results are the same bit for bit, provenance included."""
        from paribus.results.storage import same

        return isinstance(other, Effects) and same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._effects)

    def __len__(self) -> int:
        return len(self._effects)

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return one tidy long table of all averages.

        Columns ``feature``, ``value`` (as text, None for the missing point), ``number`` (None for
        levels and dates), for effects of several features the same with ``_2``, ``_3``, ..., then
        ``output``, ``average``, ``standard_error``, ``support``.
        """
        from paribus.results.tidy import effects_frame

        return effects_frame(self, backend)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a versioned JSON file that `paribus.load` reads back bit for bit."""
        from paribus.results.storage import save

        save(self, path)

    def plot(self, *, columns: int = 3, output: str | int | None = None) -> Any:
        """Draw one panel per effect with matplotlib, strongest first, one-way panels on one y-axis.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from paribus.display.matplotlib import draw_effects

        return draw_effects(self, columns=columns, output=output)

    def __repr__(self) -> str:
        from paribus.results.story import effects_story

        return effects_story(self)


def _key(effect: PartialDependence) -> Key:
    names = effect.feature_names
    return names[0] if len(names) == 1 else names

"""Many effects from one pass."""

from __future__ import annotations

from typing import Any

from paribus.results.partial_dependence import PartialDependence
from paribus.results.ranked import SavedEffects


class Effects(SavedEffects[PartialDependence]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Strength is `PartialDependence.strength`: the standard deviation of the partial dependence over the
    data, in units of the prediction.
    """

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return one tidy long table of all averages.

        Columns ``feature``, ``value`` (as text, None for the missing point), ``number`` (None for
        levels and dates), for effects of several features the same with ``_2``, ``_3``, ..., then
        ``output``, ``average``, ``standard_error``, ``support``, ``between_models``, the standard deviation
        between models if there are several, and ``q10``, ``q25``, ... of the spread.
        """
        from paribus.results.tidy import effects_frame

        return effects_frame(self, backend)

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

"""Every result as a figure: which panels it has, in which order, with which notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from paribus.display.figure import Figure, Panel
from paribus.display.grid import NO_PANEL, figure_of
from paribus.display.panels.answers import comparison_panel, marginal_panel, overlay_panel
from paribus.display.panels.effect import effect_panel
from paribus.display.panels.local import local_panel
from paribus.display.panels.surface import local_surface_panel, surface_panel
from paribus.errors import DrawingError, one_of
from paribus.results import Comparison, LocalEffect, Marginal, Overlay, PartialDependence, Provenance
from paribus.results.outputs import chosen

R = TypeVar("R")
OUTPUTS = ("color", "rows")  # where several outputs go


@dataclass(frozen=True)
class Options:
    """What is asked of a picture of one result or of many.

    ``output`` is one output of several; else ``outputs`` says whether they are colours of one panel or have
    panels of their own.
    """

    output: str | int | None = None
    outputs: str | None = None
    columns: int = 3
    share_y: bool = True
    title: str | None = None


def effects_figure(effects: Sequence[PartialDependence], notes: Sequence[str], options: Options) -> Figure:
    """Return the panels of partial dependence."""
    for effect in effects:
        _check_ways(effect)
    plain = all(effect.individual is None and effect.spread is None for effect in effects)
    return _figure(effects, _effect, notes, options, together=plain and _one_way(effects))


def locals_figure(effects: Sequence[LocalEffect], notes: Sequence[str], options: Options) -> Figure:
    """Return the panels of accumulated local effects."""
    return _figure(effects, _local, notes, options, together=_one_way(effects))


def marginals_figure(
    marginals: Sequence[Marginal],
    notes: Sequence[str],
    options: Options,
    effect: PartialDependence | None = None,
) -> Figure:
    """Return the panels of averages near values, beside a partial dependence if one is given."""

    def panel(marginal: Marginal, outputs: list[int]) -> Panel:
        return marginal_panel(marginal, outputs[0], effect)

    return _figure(marginals, panel, notes, options)


def comparisons_figure(comparisons: Sequence[Comparison], notes: Sequence[str], options: Options) -> Figure:
    """Return the panels of answers side by side."""
    return _figure(comparisons, lambda one, outputs: comparison_panel(one, outputs[0]), notes, options)


def overlays_figure(overlays: Sequence[Overlay], notes: Sequence[str], options: Options) -> Figure:
    """Return the panels of several models or slices."""
    return _figure(overlays, lambda one, outputs: overlay_panel(one.parts, outputs[0]), notes, options)


def _effect(effect: PartialDependence, outputs: list[int]) -> Panel:
    if len(effect.grid_values) == 1:
        return effect_panel(effect, outputs)
    return surface_panel(effect, outputs[0])


def _local(effect: LocalEffect, outputs: list[int]) -> Panel:
    if len(effect.grid_values) == 1:
        return local_panel(effect, outputs)
    return local_surface_panel(effect, outputs[0])


def _figure(
    results: Sequence[Any],
    panel: Callable[[Any, list[int]], Panel],
    notes: Sequence[str],
    options: Options,
    *,
    together: bool | None = None,
) -> Figure:
    """Return one panel for each result, or for each result and output.

    ``together`` is whether outputs are colours of one panel where nothing else is asked for; None where they
    cannot be, as colours have another meaning.
    """
    if not results:
        raise DrawingError("there is no effect to draw")
    outputs = chosen(results[0].output_names, options.output)
    together = _asked(options.outputs, together, len(outputs))
    columns = max(1, options.columns)
    if together or len(outputs) == 1:
        panels = [panel(result, outputs) for result in results]
    elif len(results) == 1:
        panels = [panel(results[0], [o]) for o in outputs]
    else:
        columns = min(columns, len(results))
        panels = _rows(results, panel, outputs, columns)
    told = (*background(results[0].provenance), *notes)
    return figure_of(panels, columns=columns, share_y=options.share_y, title=options.title, notes=told)


def _asked(outputs: str | None, together: bool | None, count: int) -> bool:
    """Tell whether outputs are colours."""
    if outputs is None:
        return bool(together)
    one_of("outputs", outputs, OUTPUTS)
    if outputs == "color" and not together and count > 1:
        raise DrawingError(
            "outputs='color' is for averages of one feature each; colours have another meaning here. "
            "Pass outputs='rows', or one with output="
        )
    return outputs == "color"


def _rows(
    results: Sequence[Any], panel: Callable[[Any, list[int]], Panel], outputs: list[int], columns: int
) -> list[Panel]:
    """Return a row of panels for each output, as many results in it as have room."""
    panels: list[Panel] = []
    for first in range(0, len(results), columns):
        some = results[first : first + columns]
        for o in outputs:
            panels += [panel(result, [o]) for result in some]
            panels += [NO_PANEL] * (columns - len(some) if first else 0)
    return panels


def background(provenance: Provenance) -> tuple[str, ...]:
    """Return the line that says whose numbers these are."""
    model = provenance.model
    return (f"{model}, {provenance.background()}",) if model else ()


def _one_way(effects: Sequence[PartialDependence] | Sequence[LocalEffect]) -> bool:
    return all(len(effect.grid_values) == 1 for effect in effects)


def _check_ways(effect: PartialDependence) -> None:
    ways = len(effect.grid_values)
    if ways > 2:
        raise DrawingError(
            f"an effect of {ways} features has no picture; ask for two of them, or read to_frame()"
        )
    if ways == 2 and effect.average is None:
        raise DrawingError("individual surfaces have no picture; ask for kind='average' or 'both'")

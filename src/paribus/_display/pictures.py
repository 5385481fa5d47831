"""Every result as a figure: which panels it has, in which order, with which notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from paribus._display.figure import Figure, Panel
from paribus._display.layout import NO_PANEL, figure_of
from paribus._display.panels.ale_curves import local_panel
from paribus._display.panels.effect import effect_panel
from paribus._display.panels.interactions import importance_figure, interactions_figure
from paribus._display.panels.labels import background as background_of
from paribus._display.panels.overlays import (
    comparison_panel,
    difference_panel,
    marginal_panel,
    overlay_panel,
)
from paribus._display.panels.surface import local_surface_panel, surface_panel
from paribus._typing import OutputLayout
from paribus.errors import DrawingError, OptionError, check_choice
from paribus.meaning import Scale
from paribus.results import (
    Comparison,
    Difference,
    HStatistics,
    Importance,
    LocalEffect,
    Marginal,
    Overlay,
    PartialDependence,
)
from paribus.results.effect_mapping import EffectMapping
from paribus.results.outputs import chosen

FLAT = 20  # times the effects on an output: on an axis as long as that they could not be seen


@dataclass(frozen=True)
class PlotOptions:
    """Options of a plot of one result or of many.

    ``output`` is one output of several; else ``outputs`` says whether they are colors of one panel or have
    panels of their own. Of many results ``k`` are drawn.
    """

    output: str | int | None = None
    outputs: str | None = None
    k: int = 24
    columns: int = 3
    share_y: bool = True
    title: str | None = None
    figsize: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("columns", self.columns)):
            if not isinstance(value, Integral) or value < 1:
                raise OptionError(f"{name}={value!r} must be a positive integer")
        if not isinstance(self.share_y, bool):
            raise OptionError(f"share_y={self.share_y!r} must be True or False")
        if self.title is not None and not isinstance(self.title, str):
            raise OptionError(f"title={self.title!r} must be text")
        if self.figsize is not None and not _is_size(self.figsize):
            raise OptionError(f"figsize={self.figsize!r} must be a width and a height in inches")


def _is_size(size: Any) -> bool:
    return (
        isinstance(size, (tuple, list))
        and len(size) == 2
        and all(isinstance(side, (int, float)) and side > 0 for side in size)
    )


def figure_for(result: Any, *options: Any) -> Figure:
    """Return the figure of a result of any type, by the options of its ``figure`` in their order."""
    if isinstance(result, HStatistics):
        return interactions_figure(result, *options)
    if isinstance(result, Importance):
        return importance_figure(result, *options)
    return figure_of_result(result, PlotOptions(*options))


def figure_of_result(result: Any, options: PlotOptions) -> Figure:
    """Return the figure of a result, or of a mapping of results."""
    every = list(result.values()) if isinstance(result, EffectMapping) else [result]
    if not every:
        raise DrawingError("there is no effect to plot")
    results, notes = every[: options.k], result.notes
    if len(results) < len(every):
        told = dict.fromkeys(note for one in results for note in one.notes)
        notes = (f"the strongest {len(results)} of {len(every):,}; k= draws more", *told)
    return _figure(results, PANELS[type(results[0])], notes, options, together=_together(results))


def _together(results: Sequence[Any]) -> bool:
    """Return whether outputs can be distinguished by color: only for averages of one feature."""
    if not isinstance(results[0], (PartialDependence, LocalEffect)):
        return False
    plain = all(result.get("individual") is None and result.get("quantiles") is None for result in results)
    return plain and all(_ways(result) == 1 for result in results)


def _of_one_size(results: Sequence[Any]) -> bool:
    """Return whether outputs can share an axis without one of them appearing flat."""
    curves = [result.ale if isinstance(result, LocalEffect) else result.average for result in results]
    known = [curve for curve in curves if curve is not None and curve.shape[1]]
    if not known or results[0].provenance.scale == Scale("probability"):
        return True
    every = np.concatenate(known, axis=1)
    if not np.isfinite(every).all():
        return True
    moved = np.ptp(every, axis=1)
    return not np.ptp(every) > FLAT * np.min(moved, initial=np.inf, where=moved > 0)


def _effect(effect: PartialDependence, outputs: list[int]) -> Panel:
    _check_ways(effect)
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
    options: PlotOptions,
    *,
    together: bool,
) -> Figure:
    """Return one panel for each result, or for each result and output.

    ``together`` is whether outputs can be colors of one panel.
    """
    outputs = chosen(results[0].output_names, options.output)
    if len(results) > 1:
        results, refused = _drawable(results, panel, outputs)
        notes = (*refused, *notes)
    if options.outputs is None:
        together = together and _of_one_size(results)
    else:
        together = _asked(options.outputs, together, len(outputs))
    columns = options.columns
    if together or len(outputs) == 1:
        panels = [panel(result, outputs) for result in results]
    elif len(results) == 1:
        panels = [panel(results[0], [o]) for o in outputs]
    else:
        columns = min(columns, len(results))
        panels = _rows(results, panel, outputs, columns)
    lines = (*background(results[0]), *_means(results))
    figure = figure_of(
        panels, columns=columns, share_y=options.share_y, title=options.title, background=lines, notes=notes
    )
    if options.figsize is None:
        return figure
    width, height = options.figsize
    return replace(figure, size=(width, height))


def _drawable(
    results: Sequence[Any], panel: Callable[[Any, list[int]], Panel], outputs: list[int]
) -> tuple[list[Any], list[str]]:
    """Return the results that have a panel, and why others have none: these are no reason to draw nothing."""
    kept, refused = [], []
    for result in results:
        try:
            if _ways(result) > 1:  # those of one feature always have
                panel(result, outputs[:1])
        except DrawingError as error:
            refused.append(f"{' x '.join(result.feature_names)} is not drawn: {error}")
        else:
            kept.append(result)
    if not kept:
        raise DrawingError("; ".join(refused))
    return kept, refused


def _ways(result: Any) -> int:
    return len(result.feature_names)


def _asked(outputs: str, together: bool, count: int) -> bool:
    """Return whether outputs are distinguished by color, if possible."""
    check_choice("outputs", outputs, OutputLayout)
    if outputs == "color" and not together and count > 1:
        raise DrawingError(
            "outputs='color' is for averages of one feature each; colors have another meaning here. "
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


def background(result: Any) -> tuple[str, ...]:
    """Return the lines that say whose numbers these are, over whom."""
    if isinstance(result, Difference):
        known = result.provenances
    elif isinstance(result, Overlay):
        known = {name: part.provenance for name, part in result.parts.items()}
    else:
        return (background_of(result.provenance),)
    told = {name: background_of(provenance) for name, provenance in known.items()}
    if len(set(told.values())) == 1:
        return tuple(set(told.values()))
    return tuple(f"{name}: {line}" for name, line in told.items())


def _means(results: Sequence[Any]) -> tuple[str, ...]:
    """Return the line that says that surfaces of several models are the mean of theirs."""
    counts = {
        len(result.by_model.models) for result in results if _ways(result) > 1 and result.by_model is not None
    }
    return tuple(f"surfaces are the mean of {count} models" for count in counts if count > 1)


def _check_ways(effect: PartialDependence) -> None:
    ways = len(effect.grid_values)
    if ways > 2:
        raise DrawingError(
            f"an effect of {ways} features cannot be plotted; request two of them, or use to_frame()"
        )


PANELS: dict[type, Callable[[Any, list[int]], Panel]] = {
    PartialDependence: _effect,
    LocalEffect: _local,
    Marginal: lambda marginal, outputs: marginal_panel(marginal, outputs[0]),
    Comparison: lambda comparison, outputs: comparison_panel(comparison, outputs[0]),
    Overlay: lambda overlay, outputs: overlay_panel(overlay.parts, outputs[0]),
    Difference: lambda found, outputs: difference_panel(found, outputs[0]),
}

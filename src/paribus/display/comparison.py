"""Answers about the same feature on one picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Flags, Floats
from paribus.display.axes import Place, name_axis, no_ticks_below_curves, placed, share_y, strip, y_label
from paribus.display.paper import legend, new_axes, notes_below, panels_of
from paribus.errors import DrawingError
from paribus.results.comparison import Comparison, Comparisons
from paribus.results.local import LocalEffect
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What each is called, drawn with along numbers and at levels, and in which colour.
LOOKS = {
    "effect": ("partial dependence", "-", "o", "C0"),
    "local": ("accumulated local effects", "--", "D", "C1"),
    "predicted": ("average prediction of rows here", "-.", "s", "C2"),
    "observed": ("average observed of rows here", ":", "x", "C3"),
}
ASIDE = 0.12  # of a level's room: by how much answers stand beside each other


def draw_comparison(
    comparison: Comparison, *, ax: Axes | None = None, output: str | int | None = None
) -> Axes:
    """Draw the answers for one output on ``ax``, or on a new figure."""
    outputs = chosen(comparison.output_names, output)
    if len(outputs) > 1:
        names = ", ".join(comparison.output_names)
        raise DrawingError(f"a comparison shows one output; pass output= one of {names}")
    panel = ax if ax is not None else new_axes()
    effect, o = comparison.effect, outputs[0]
    place = placed(effect, 0)
    _draw(panel, place, effect["average"][o], effect["standard_error"][o], "effect")
    if comparison.local is not None and comparison.local_level is not None:
        local = comparison.local
        own, height = _own_place(place, local), local.ale[o] + comparison.local_level[o]
        seen = _within(own, place)
        _draw(panel, replace(own, at=own.at[seen]), height[seen], local.standard_error[o][seen], "local")
    marginal = comparison.marginal
    for name in ("predicted", "observed"):
        if marginal is not None and name in marginal:
            _draw(panel, place, marginal[name][o], marginal[f"{name}_error"][o], name)
    if place.labels is None and len(place.at) > 1:
        low, high = place.at.min(), place.at.max()
        panel.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    strip(panel, effect.support, None, place)
    name_axis(panel.xaxis, place)
    panel.set_ylabel(y_label(effect, outputs))
    no_ticks_below_curves(panel)
    legend(panel, "± 2 standard errors")
    notes_below(panel, comparison.notes)
    return panel


def draw_comparisons(
    comparisons: Comparisons, *, columns: int = 3, output: str | int | None = None
) -> Figure:
    """Draw one panel per feature; the first says what is what."""
    figure, panels = panels_of(len(comparisons), columns)
    for panel, comparison in zip(panels, comparisons.values(), strict=True):
        draw_comparison(comparison, ax=panel, output=output)
    share_y(panels)
    for panel in panels[1:]:
        said = panel.get_legend()
        if said is not None:
            said.remove()
    return figure


def _own_place(place: Place, local: LocalEffect) -> Place:
    """Return where the values of a local effect go on the axis of the other."""
    if place.labels is None:
        return placed(local, 0)
    own = placed(local, 0)
    assert own.labels is not None
    at = [place.labels.index(label) if label in place.labels else np.nan for label in own.labels]
    return Place(np.array(at, dtype=float), own.labels, own.label, own.dates, own.missing)


def _within(own: Place, place: Place) -> Flags:
    """Tell which values of a local effect lie on the axis of the other: its bins reach to the extremes."""
    if place.labels is not None or not len(place.at):
        return np.asarray(~np.isnan(own.at))
    low, high = place.at.min(), place.at.max()
    # And the next beyond, so that no curve ends before the others.
    return np.asarray((np.append(own.at[1:], np.inf) > low) & (np.append(-np.inf, own.at[:-1]) < high))


def _draw(ax: Axes, place: Place, height: Floats, error: Floats | None, which: str) -> None:
    label, line, point, color = LOOKS[which]
    bars = 2 * np.nan_to_num(np.zeros_like(height) if error is None else error)
    if place.labels is not None or len(height) == 1:
        aside = ASIDE * (list(LOOKS).index(which) - 1.5)
        ax.errorbar(place.at + aside, height, bars, fmt=point, color=color, capsize=2, label=label, zorder=3)
        return
    order = np.argsort(place.at, kind="stable")
    x, y, e = place.at[order], height[order], bars[order]
    style: dict[str, Any] = {"color": color, "zorder": 4 if which == "effect" else 3}
    ax.fill_between(x, y - e, y + e, color=color, alpha=0.15, linewidth=0, zorder=2)
    ax.plot(x, y, line, label=label, **style)

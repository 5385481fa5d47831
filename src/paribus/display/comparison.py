"""Answers about the same feature on one picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Flags, Floats
from paribus.display.axes import (
    Laid,
    Place,
    name_axis,
    no_ticks_below_curves,
    placed,
    share_y,
    strip,
    y_label,
)
from paribus.display.paper import legend, new_axes, notes_below, panels_of
from paribus.errors import DrawingError
from paribus.results.comparison import Comparison, Comparisons
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
    for curve in _curves(comparison, o):
        _draw(panel, place, curve)
    if place.labels is None and len(place.at) > 1:
        low, high = place.at.min(), place.at.max()
        right = place.missing if effect.missing is not None else high
        panel.set_xlim(low - 0.04 * (high - low), right + 0.04 * (high - low))
    strip(panel, effect.support, None if effect.missing is None else effect.missing.support, place)
    name_axis(panel.xaxis, place, missing=effect.missing is not None)
    panel.set_ylabel(y_label(effect, outputs))
    no_ticks_below_curves(panel)
    legend(panel, "± 2 standard errors")
    notes_below(panel, comparison.notes)
    return panel


@dataclass(frozen=True, eq=False)
class Curve:
    """One of the answers: what it is called, the axis it is on, and at missing its height and error."""

    which: str
    result: Laid
    height: Floats
    error: Floats | None
    missing: tuple[float, float] | None


def _curves(comparison: Comparison, o: int) -> Iterator[Curve]:
    """Yield the answers there are, for one output."""
    effect, local, marginal = comparison.effect, comparison.local, comparison.marginal
    gap: Any = effect.missing
    error = None if effect.standard_error is None else effect.standard_error[o]
    at = None if gap is None or error is None else (gap.average[o], gap.standard_error[o])
    yield Curve("effect", effect, effect["average"][o], error, at)
    if local is not None and comparison.local_level is not None:
        level, gap = comparison.local_level[o], local.missing
        at = None if gap is None else (gap.ale[o] + level, gap.standard_error[o])
        yield Curve("local", local, local.ale[o] + level, local.standard_error[o], at)
    for name in ("predicted", "observed"):
        if marginal is not None and name in marginal:
            gap, error = marginal.missing, marginal[f"{name}_error"][o]
            at = None if gap is None else (getattr(gap, name)[o], getattr(gap, f"{name}_error")[o])
            yield Curve(name, marginal, marginal[name][o], error, at)


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


def _own_place(place: Place, result: Laid) -> Place:
    """Return where the values of an answer go on the axis of the partial dependence."""
    own = placed(result, 0)
    if place.labels is None or own.labels is None:
        return own
    at = [place.labels.index(label) if label in place.labels else np.nan for label in own.labels]
    return replace(own, at=np.array(at, dtype=float))


def _within(own: Place, place: Place) -> Flags:
    """Tell which values of an answer lie on the axis of the partial dependence; bins reach further."""
    if place.labels is not None or not len(place.at):
        return np.asarray(~np.isnan(own.at))
    low, high = place.at.min(), place.at.max()
    # And the next beyond, so that no curve ends before the others.
    return np.asarray((np.append(own.at[1:], np.inf) > low) & (np.append(-np.inf, own.at[:-1]) < high))


def _draw(ax: Axes, place: Place, curve: Curve) -> None:
    label, line, point, color = LOOKS[curve.which]
    own = _own_place(place, curve.result)
    seen = _within(own, place)
    x, y = own.at[seen], curve.height[seen]
    e = np.zeros_like(y) if curve.error is None else 2 * np.nan_to_num(curve.error[seen])
    aside = ASIDE * (list(LOOKS).index(curve.which) - 1.5)
    if place.labels is not None or len(y) == 1:
        ax.errorbar(x + aside, y, e, fmt=point, color=color, capsize=2, label=label, zorder=3)
    else:
        order = np.argsort(x, kind="stable")
        x, y, e = x[order], y[order], e[order]
        ax.fill_between(x, y - e, y + e, color=color, alpha=0.15, linewidth=0, zorder=2)
        ax.plot(x, y, line, label=label, color=color, zorder=4 if curve.which == "effect" else 3)
    if curve.missing is not None:
        at, bar = curve.missing
        step = (
            aside if place.labels is not None or len(place.at) < 2 else 0.02 * aside * float(np.ptp(place.at))
        )
        bars = 2 * np.nan_to_num(bar)
        ax.errorbar([place.missing + step], [at], [bars], fmt=point, color=color, capsize=2, zorder=3)

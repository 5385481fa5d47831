"""Averages of the rows near each value: predicted, observed, and partial dependence beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Array
from paribus.display.axes import (
    Place,
    name_axis,
    no_ticks_below_curves,
    placed,
    share_y,
    strip,
    y_label,
)
from paribus.display.paper import legend, new_axes, notes_below, panels_of, written
from paribus.errors import DrawingError
from paribus.results import Marginal, Marginals, PartialDependence
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = {"predicted": "-", "observed": ".--", "effect": ":"}  # of averages along numbers
POINT = {"predicted": "o", "observed": "s", "effect": "x"}  # and of single ones
ASIDE = 0.15  # of a level's room: by how much averages stand beside each other


def draw_marginal(
    marginal: Marginal,
    *,
    ax: Axes | None = None,
    output: str | int | None = None,
    effect: PartialDependence | None = None,
) -> Axes:
    """Draw averages near the values of one feature on ``ax``, or on a new figure."""
    outputs = chosen(marginal.output_names, output)
    if effect is not None:
        if not isinstance(effect, PartialDependence):
            raise DrawingError(f"effect= must be a PartialDependence, not a {type(effect).__name__}")
        _on_the_same_axis(marginal, effect)
    panel = ax if ax is not None else new_axes()
    place = placed(marginal, 0)
    names = [name for name in ("predicted", "observed") if name in marginal]
    many = len(outputs) > 1
    for color, o in enumerate(outputs):
        for aside, name in enumerate(names):
            shade = f"C{color if many else aside}"
            _near(panel, marginal, _moved(place, aside - (len(names) - 1) / 2), name, o, shade)
        if effect is not None:
            _beside(panel, effect, place, o, f"C{color if many else len(names)}")
    styles = STYLE if place.labels is None else POINT
    shown = {name: styles[name] for name in names}
    if effect is not None:
        shown["partial dependence"] = styles["effect"]
    _explain(panel, [marginal.output_names[o] for o in outputs], shown)
    strip(panel, marginal.support, None if marginal.missing is None else marginal.missing.support, place)
    name_axis(panel.xaxis, place, missing=marginal.missing is not None)
    panel.set_ylabel(y_label(marginal, outputs))
    no_ticks_below_curves(panel)
    notes_below(panel, marginal.notes)
    return panel


def draw_marginals(marginals: Marginals, *, columns: int = 3, output: str | int | None = None) -> Figure:
    """Draw one panel per feature on one y-axis; the first says what is what."""
    figure, panels = panels_of(len(marginals), columns)
    for panel, marginal in zip(panels, marginals.values(), strict=True):
        draw_marginal(marginal, ax=panel, output=output)
    share_y(panels)
    for panel in panels[1:]:
        said = panel.get_legend()
        if said is not None:
            said.remove()
    return figure


def _explain(ax: Axes, outputs: list[str], shown: dict[str, str]) -> None:
    """Say what is what: a colour for each of several outputs, else for each average."""
    many = len(outputs) > 1
    for color, output in enumerate(outputs if many else []):
        ax.plot([], [], color=f"C{color}", label=written(output))
    for color, (name, style) in enumerate(shown.items()):
        ax.plot([], [], style, color="k" if many else f"C{color}", label=name)
    legend(ax, "± 2 standard errors")


def _on_the_same_axis(marginal: Marginal, effect: PartialDependence) -> None:
    """Refuse an effect that does not belong beside these averages."""
    alike = effect.feature_names == marginal.feature_names and effect.output_names == marginal.output_names
    if effect.average is None or not alike or not _same(effect.grid_values[0], marginal.grid_values[0]):
        raise DrawingError(
            f"effect= must have averages of the same outputs on the axis of {marginal.feature_names[0]!r}; "
            "ask effects() with the same options"
        )


def _same(one: Array, two: Array) -> bool:
    return one.dtype == two.dtype and np.array_equal(one, two)


def _moved(place: Place, steps: float) -> Place:
    """Return places a little aside where levels have room of their own; a missing point is one."""
    if place.labels is None:
        span = float(np.ptp(place.at)) if len(place.at) > 1 else 1.0
        return replace(place, missing=place.missing + steps * 0.02 * span)
    return replace(place, at=place.at + steps * ASIDE, missing=place.missing + steps * ASIDE)


def _near(ax: Axes, marginal: Marginal, place: Place, name: str, o: int, color: str) -> None:
    """Draw averages and their errors; a cell without rows leaves a gap."""
    mean, error = marginal[name][o], 2 * np.nan_to_num(marginal[f"{name}_error"][o])
    style: dict[str, Any] = {"color": color, "zorder": 3}
    if place.labels is not None or len(mean) == 1:
        ax.errorbar(place.at, mean, error, fmt=POINT[name], capsize=2, **style)
    else:
        order = np.argsort(place.at, kind="stable")
        x, y, e = place.at[order], mean[order], error[order]
        ax.fill_between(x, y - e, y + e, color=color, alpha=0.2, linewidth=0, zorder=2)
        known = np.pad(np.isfinite(y), 1)
        alone = known[1:-1] & ~known[:-2] & ~known[2:]  # no line reaches it
        ax.plot(x, y, STYLE[name], linewidth=1.5 if name == "predicted" else 0.8, **style)
        ax.plot(x[alone], y[alone], POINT[name], markersize=4, **style)
    if marginal.missing is not None:
        at, bars = (getattr(marginal.missing, of)[o] for of in (name, f"{name}_error"))
        ax.errorbar([place.missing], at, 2 * np.nan_to_num(bars), fmt=POINT[name], capsize=2, **style)


def _beside(ax: Axes, effect: PartialDependence, place: Place, o: int, color: str) -> None:
    """Draw the partial dependence without its errors."""
    assert effect.average is not None
    order = np.argsort(place.at, kind="stable")
    kind = STYLE["effect"] if place.labels is None and len(order) > 1 else POINT["effect"]
    ax.plot(place.at[order], effect.average[o][order], kind, color=color, zorder=4)
    if effect.missing is not None and effect.missing.average is not None:
        ax.plot([place.missing], [effect.missing.average[o]], POINT["effect"], color=color, zorder=4)

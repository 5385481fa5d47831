"""Plots of interactions and importance: validation of the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import Figure
from paribus._display.panels.bars import below, importance_bars, interaction_bars, joined
from paribus._display.panels.labels import hover_of
from paribus._display.panels.pairs import heatmap, network
from paribus._text import exactly_zero, number, short
from paribus._typing import InteractionPlot, Statistic
from paribus.errors import DrawingError, OptionError, check_choice
from paribus.results import HStatistics, Importance
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from paribus.results import Effects, PartialDependence

COLUMNS = 3
PANEL = (4.6, 3.8)  # inches, of one two-way panel
TITLE = 38  # letters of a line above it


def interactions_figure(
    result: HStatistics,
    kind: str,
    statistic: str,
    k: int,
    output: str | int | None,
    effects: Effects | None = None,
) -> Figure:
    """Compose the picture of one output's interactions.

    Parameters
    ----------
    result : HStatistics
        What was found.
    kind : {"bars", "heatmap", "network", "panels"}
        The strongest entries with their errors; every pair, with each feature's own effect on the diagonal;
        features as nodes whose links are as wide as they interact; or the strongest pairs' two-way effects.
    statistic : {"pairwise", "overall", "threeway"}
        What the bars show.
    k : int
        How many bars, features of a heat map or network, or panels, at most.
    output : str or int, optional
        One output of several, by name or position. Needed with several.
    effects : Effects, optional
        Partial dependence of the pairs that get panels. Needed for these.
    """
    o = _asked(result, kind, statistic, k, output)
    if effects is not None and kind != "panels":
        raise DrawingError(f"kind={kind!r} does not use effects=; use kind='panels'")
    if kind == "bars":
        return interaction_bars(result, statistic, k, o)
    if kind == "panels":
        return _panels(result, k, o, effects)
    return heatmap(result, k, o) if kind == "heatmap" else network(result, k, o)


def importance_figure(result: Importance, k: int, output: str | int | None) -> Figure:
    """Compose the picture of what features matter for one output, ``k`` of them at most."""
    o = _one_output(result.output_names, output)
    _check_positive(k)
    _check_finite(result.values if result.values.ndim == 1 else result.values[:, o])
    return importance_bars(result, k, o)


def _asked(result: HStatistics, kind: str, statistic: str, k: int, output: str | int | None) -> int:
    """Refuse what has no picture, and return the output meant."""
    check_choice("kind", kind, InteractionPlot)
    check_choice("statistic", statistic, Statistic)
    if statistic == "total":
        raise DrawingError("statistic='total' is one number for each output; read h_squared_total")
    if kind in ("heatmap", "network") and min(k, len(result.features)) < 2:
        raise DrawingError(f"k={k} gives no pairs to plot; pass k=2 or more")
    if kind != "bars" and statistic != "pairwise":
        raise DrawingError(f"kind={kind!r} shows pairs; draw statistic={statistic!r} with kind='bars'")
    o = _one_output(result.output_names, output)
    _check_positive(k)
    _check_finite(result.ratio(statistic).numerator[:, o])
    return o


def _one_output(names: tuple[str, ...], output: str | int | None) -> int:
    outputs = chosen(names, output)
    if len(outputs) > 1:
        raise DrawingError(f"a picture shows one output; pass output= one of {', '.join(names)}")
    return outputs[0]


def _check_finite(values: Floats) -> None:
    if not np.isfinite(values).all():
        raise DrawingError("the values are not finite and cannot be plotted; see the notes")


def _check_positive(k: int) -> None:
    if k < 1:
        raise OptionError(f"k={k} gives nothing to plot; pass a positive number")


def _panels(result: HStatistics, k: int, o: int, effects: Effects | None) -> Figure:
    """Show the strongest pairs as two-way panels, the strongest first."""
    from paribus._display.panels.surface import surface_panel

    strength = result.pairwise.strength[:, o]
    order = [int(entry) for entry in np.argsort(-strength, kind="stable") if strength[entry]]
    if not order:
        raise DrawingError(f"{exactly_zero(len(strength), 'pair')}: there is no panel to draw")
    shown = order[:k]
    found = _effects_of(result, shown, effects)
    panels = [surface_panel(effect, _output_of(effect, result.output_names[o])) for effect in found]
    titles = _titles(result, shown, o)
    columns = min(COLUMNS, len(shown))
    lines = [f"{len(shown)} of {len(strength):,} pairs"] if len(shown) < len(strength) else []
    notes = hover_of(result, *lines)
    width, height = PANEL[0] * columns, PANEL[1] * -(-len(shown) // columns)
    return Figure(
        tuple(replace(panel, title=title) for panel, title in zip(panels, titles, strict=True)),
        columns=columns,
        size=(width, height + below(notes, width)),
        notes=notes,
    )


def _effects_of(result: HStatistics, shown: list[int], effects: Effects | None) -> list[PartialDependence]:
    """Return the effect of each pair, whichever of its features was named first; refuse if one is missing."""
    known: Mapping[Any, PartialDependence] = {} if effects is None else effects
    found: list[PartialDependence] = []
    for entry in shown:
        first, second = (result.feature_names[place] for place in result.pairs[entry])
        effect = known.get((first, second), known.get((second, first)))
        if effect is None:
            asked = [result.feature_pairs[each] for each in shown]
            fewer = f", or k={len(found)}" if found else ""
            raise DrawingError(
                f"kind='panels' needs the effect of {first} x {second}; pass effects= with these pairs: "
                f"paribus.effects(model, X, {asked}){fewer}"
            )
        _check_alike(result, effect)
        found.append(effect)
    return found


def _check_alike(result: HStatistics, effect: PartialDependence) -> None:
    """Refuse effects of another model, of other rows or on another scale: they are not what is strong."""
    one, two = result.provenance, effect.provenance
    for what in ("model", "scale", "rows", "fingerprint", "weights"):
        if getattr(one, what) != getattr(two, what):
            raise DrawingError(
                f"effects= have another {what} than these interactions ({getattr(two, what)}, not "
                f"{getattr(one, what)}); pass those of the same model and rows, with the same response_method"
            )


def _output_of(effect: PartialDependence, name: str) -> int:
    if name not in effect.output_names:
        raise DrawingError(
            f"effects= are of {', '.join(effect.output_names)}, not of {name}; pass those of the same model"
        )
    return effect.output_names.index(name)


def _titles(result: HStatistics, shown: list[int], o: int) -> list[str]:
    """Return what is above each panel: in one line if all of them have room for it."""
    names = [[result.feature_names[place] for place in result.pairs[entry]] for entry in shown]
    pairs = [joined(pair, " × ", TITLE - 4) for pair in names]
    sizes = [_size(result, entry, o) for entry in shown]
    long = any(len(pair) + len(size) > TITLE - 2 for pair, size in zip(pairs, sizes, strict=True))
    return [pair + (":\n" if long else ": ") + size for pair, size in zip(pairs, sizes, strict=True)]


def _size(result: HStatistics, entry: int, o: int) -> str:
    ratio = result.pairwise
    share = float(ratio.share[entry, o])
    return f"strength {number(float(ratio.strength[entry, o]))}" + (
        f", H² {short(share)}" if np.isfinite(share) else ""
    )

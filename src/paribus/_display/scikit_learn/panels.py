"""Panels: each drawn by a display of scikit-learn of its own, with a single entry, then made readable.

Such a display has public arguments for all that differs between panels and public attributes for what it
drew, so that nothing private of scikit-learn is used. What it refuses is drawn as what it knows: a category
with individual curves as a feature whose values are words, and a pair of a number and a category as curves of
the number, one for each category.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.inspection import PartialDependenceDisplay as Panel  # type: ignore[import-untyped]
from sklearn.utils import Bunch  # type: ignore[import-untyped]

from paribus._contracts import Array
from paribus._display.mark_helpers import color_of, dash_of
from paribus._display.text_width import printable, text_width
from paribus._text import count, duration_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.text import Text

LINES = re.compile(".{1,40}$|.{1,39}[ _./-]|.{1,40}", re.MULTILINE)  # of a name, broken where its parts meet
NAMED = 10  # categories of a mixed pair that have a color and a name; the others are drawn gray
ROOM = 11.0  # em that names side by side may take; longer ones are written upwards
EDGE = 0.07  # of a panel, in which the number on a contour would be cut off or stand on the deciles


def panel_of(display: Panel, number: int, centered: bool) -> Panel:
    """Return one entry of a display as a display: categories by name, after the number of a mixed pair."""
    features, result = display.features[number], display.pd_results[number]
    kind = display.kind if isinstance(display.kind, str) else display.kind[number]
    categorical = display.is_categorical[number] if display.is_categorical else (False,) * len(features)
    parts = {key: result[key] for key in ("average", "individual", "support") if key in result}
    grid = list(result["grid_values"])
    # A single value has no surface, but it can be the name of a curve.
    nominal = [own or len(values) < len(grid) for own, values in zip(categorical, grid, strict=True)]
    if nominal == [True, False]:
        features, nominal, grid = features[::-1], nominal[::-1], grid[::-1]
        parts = {key: part.swapaxes(-2, -1) for key, part in parts.items()}
    for key in parts.keys() - {"support"} if centered else ():
        parts[key] = parts[key] - parts[key].take([0], -len(grid))
    grid = [names_of(values) if own else values for own, values in zip(nominal, grid, strict=True)]
    return Panel(
        [Bunch(grid_values=grid, **parts)],
        features=[features],
        feature_names=[folded(name) for name in display.feature_names],
        kind=[kind],
        is_categorical=[tuple(nominal) if kind == "average" else (False,)],
        **{name: getattr(display, name) for name in ("target_idx", "deciles", "subsample", "random_state")},
    )


def is_surface(panel: Panel) -> bool:
    """Return whether both axes of a panel are features, rather than the vertical one the effect."""
    return panel.is_categorical[0] in ((False, False), (True, True))


def limits_of(panels: list[Panel], axes: list[Axes]) -> dict[int, tuple[float, float]]:
    """Return the ends of all curves and of all surfaces, with the curves that were in the axes before."""
    ends: dict[int, list[float]] = {}
    for panel, ax in zip(panels, axes, strict=True):
        drawn = panel.pd_results[0]["average" if panel.kind == ["average"] else "individual"]
        low, high = drawn[panel.target_idx].min(), drawn[panel.target_idx].max()
        flat = high - low <= 1e-12 * max(abs(low), abs(high))
        room = 0.05 * ((abs(low) or 1.0) if flat else high - low)
        size = 2 if is_surface(panel) else 1
        before = ax.get_ylim() if size == 1 and ax.has_data() else ()
        ends[size] = [*ends.get(size, []), low - room, high + room, *before]
    return {size: (min(own), max(own)) for size, own in ends.items()}


def draw(panel: Panel, ax: Axes, **options: Any) -> None:
    """Draw a panel into its axes, with options of scikit-learn's ``plot``."""
    from matplotlib import rcParams

    pair = len(panel.features[0]) == 2
    draw_own = _draw_surface if is_surface(panel) else _draw_category_lines if pair else _draw_curves
    draw_own(panel, ax, {"ax": [ax], **options})
    for deciles in filter(None, (panel.deciles_vlines_[0], panel.deciles_hlines_[0])):
        deciles.set_color(rcParams["xtick.color"])  # scikit-learn's black is not seen on black
    for axis, values in zip((ax.xaxis, ax.yaxis), panel.pd_results[0]["grid_values"], strict=False):
        write_times(axis, values)


def _draw_curves(panel: Panel, ax: Axes, options: dict[str, Any]) -> None:
    """Draw one feature; categories by name, with individual curves as lines."""
    (values,) = panel.pd_results[0]["grid_values"]
    # In the color of the curves around it, as scikit-learn 1.7 to 1.9 draw it, an average is not seen.
    average = {"color": "tab:orange"} if panel.kind == ["both"] else {}
    if isinstance(values[0], str) or len(values) == 1:
        average["marker"] = "o"
    options["pd_line_kw"] = {**average, **options["line_kw"], **options["pd_line_kw"]}
    before = len(ax.containers)  # bars of another model, within which these are drawn
    options["bar_kw"] = {"color": f"C{before}", "width": 0.8 / (before + 1), **options["bar_kw"]}
    panel.plot(**options)
    if isinstance(values[0], str):
        wide = len(values) * max(map(text_width, values))
        ax.tick_params(axis="x", rotation=90 if wide > ROOM else 0)
    if panel.kind == ["both"] and (legend := ax.get_legend()) is not None:
        legend.set_loc("upper left")  # to find the best place among a thousand curves takes seconds


def _draw_surface(panel: Panel, ax: Axes, options: dict[str, Any]) -> None:
    """Draw two numbers as contours, or two categories as a heat map."""
    before = set(ax.texts)
    with warnings.catch_warnings():
        # A surface that is flatter than the others may lie between two of their contours.
        warnings.filterwarnings("ignore", "No contour levels were found", UserWarning)
        panel.plot(**options)
    if panel.heatmaps_[0] is not None:
        # Beside the panel the bar would be higher than the cells, and make tight_layout() fail.
        panel.heatmaps_[0].colorbar.remove()
        ax.figure.colorbar(panel.heatmaps_[0], cax=ax.inset_axes((1.04, 0.0, 0.05, 1.0)))
        return
    panel.deciles_hlines_[0].set_transform(ax.get_yaxis_transform())  # scikit-learn places them along x
    clear_labels(ax, [text for text in ax.texts if text not in before])


def _draw_category_lines(panel: Panel, ax: Axes, options: dict[str, Any]) -> None:
    """Draw a number and a category: a curve over the number for each category."""
    (result,), ((number, category),), deciles = panel.pd_results, panel.features, panel.deciles
    values, names = result["grid_values"]
    rows = result["support"].sum(axis=0) if "support" in result else np.ones(len(names))
    named = sorted(np.argsort(-rows, kind="stable")[:NAMED].tolist())
    others = [code for code in range(len(names)) if code not in named]
    style = {**options["line_kw"], **options["pd_line_kw"]}
    model = f", {style['label']}" if style.get("label") else ""
    before = len(ax.get_lines())
    lines: dict[int, Any] = {}
    panel.features, panel.is_categorical = [(number,)], [(False,)]
    for code in (*named, *others):
        look: dict[str, Any] = {"color": color_of(before + code), "linestyle": dash_of(before + code)}
        # Matplotlib leaves a name out of the legend that is empty or begins with an underscore.
        look["label"] = re.sub("^(_|$)", r" \1", names[code] + model)
        if code in others:
            label = f"other ({count(len(others), 'category', 'categories')})" if code == others[0] else None
            look = {"color": "0.6", "linewidth": 0.7, "zorder": 1.9, "label": label}
        panel.pd_results = [Bunch(grid_values=[values], average=result["average"][..., code])]
        panel.deciles = deciles if len(lines) == len(names) - 1 else {}  # once, in the last drawing
        lines[code] = panel.plot(**{**options, "pd_line_kw": {**style, **look}}).lines_[0]
    panel.lines_, panel.category_lines_ = [None], [tuple(lines[code] for code in range(len(names)))]
    beside = ax.figure.get_layout_engine() is not None  # which makes room for it
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if beside else {}
    ax.legend(title=panel.feature_names[category], fontsize="small", **place)


def folded(name: str) -> str:
    r"""Return a name as matplotlib has to be given it: in short lines, and never read as a formula.

    >>> folded("cost_in_$_of_a_policy_before_its_first_claim")
    'cost_in_\\$_of_a_policy_before_its_first_\nclaim'
    """
    return "\n".join(LINES.findall(printable(name))).replace("$", r"\$")


def names_of(categories: Array) -> Array:
    """Return the names of categories, which are 3 rather than 3.0."""
    words = [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in categories.tolist()]
    return np.array([folded(word) for word in words], dtype=object)


def clear_labels(ax: Axes, labels: list[Text]) -> None:
    """Keep the numbers on contours that can be read: off the edge, and not black on dark colors."""
    from matplotlib.patheffects import withStroke

    for label in labels:
        place = ax.transAxes.inverted().transform(ax.transData.transform(label.get_position()))
        if place.min() < EDGE or place.max() > 1 - EDGE:
            label.remove()
        label.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.7)])


def write_times(axis: Axis, values: Array) -> None:
    """Write dates as dates, and durations in a unit that fits a few times."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    if values.dtype.kind == "M":
        locator = AutoDateLocator(maxticks=5)  # type: ignore[no-untyped-call]
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    if values.dtype.kind == "m":
        days = values / np.timedelta64(1, "D")
        unit, name = duration_unit(np.ptp(days) / 3)
        low, high, *_ = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(days.min() / unit, days.max() / unit)
        one = np.timedelta64(1, "D") / np.ones(1, values.dtype)[0] * unit
        axis.set_major_locator(MultipleLocator((high - low) * one))
        axis.set_major_formatter(lambda at, _: f"{at / one:g} {name}")

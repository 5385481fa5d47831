"""Panels that scikit-learn refuses to draw, or draws wrong.

Individual curves over categories, a line per category, the deciles of a second feature, dates.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import inspection  # type: ignore[import-untyped]

from paribus._contracts import Array
from paribus._display.mark_helpers import escaped
from paribus._display.scikit_learn.arguments import Columns
from paribus._display.scikit_learn.artists import (
    clear_labels,
    draw_rug,
    explain,
    headroom,
    narrow_color_bar,
    recolor,
    roomy,
)
from paribus._display.scikit_learn.category_ticks import in_text, names_of, readable_dates, write_levels
from paribus._display.scikit_learn.drawing import Drawing
from paribus._display.style import color_of, dash_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

NAMED = 10  # categories of a mixed pair that have a color and a name; the others are drawn gray


class Panels(inspection.PartialDependenceDisplay):  # type: ignore[misc]
    """scikit-learn's display, whose panels are drawn by it with what it lacks."""

    lines_: Array
    _drawing: Drawing

    def _levels(self, number: int) -> tuple[bool, ...]:
        """Return which axes of a panel are categorical."""
        if self.is_categorical is None:
            return (False,) * len(self.features[number])
        return tuple(self.is_categorical[number])

    def _plot_one_way_partial_dependence(
        self,
        kind: str,
        preds: Any,
        avg_preds: Any,
        feature_values: Array,
        feature_idx: Columns,
        n_ice_lines: int,
        ax: Axes,
        n_cols: int | None,
        pd_plot_idx: int,
        n_lines: int,
        ice_lines_kw: dict[str, Any],
        pd_line_kw: dict[str, Any],
        categorical: bool,
        bar_kw: dict[str, Any],
        pdp_lim: dict[int, tuple[float, float]],
    ) -> None:
        """Draw one feature with scikit-learn; categories by name, with individual curves as lines."""
        ice_lines_kw, pd_line_kw = self._drawing.lines(kind)
        lines = self.lines_.copy()
        super()._plot_one_way_partial_dependence(
            kind,
            preds,
            avg_preds,
            names_of(feature_values) if categorical else feature_values,
            feature_idx,
            n_ice_lines,
            ax,
            n_cols,
            pd_plot_idx,
            n_lines,
            ice_lines_kw,
            {"marker": "o", **pd_line_kw} if categorical or len(feature_values) == 1 else pd_line_kw,
            categorical and kind == "average",
            self._drawing.bars(ax),
            {features: _apart(*ends) for features, ends in pdp_lim.items()},
        )
        if kind == "average" and not categorical and lines.ndim > self.axes_.ndim:
            # scikit-learn puts it among the individual curves of another panel.
            drawn, self.lines_ = self.lines_.flat[pd_plot_idx], lines
            lines.reshape(self.axes_.size, n_lines)[pd_plot_idx, -1] = drawn
        if categorical:
            write_levels(ax, feature_values)
        readable_dates(ax.xaxis, feature_values)
        recolor(self.deciles_vlines_.flat[pd_plot_idx])
        legend = ax.get_legend()
        if legend is not None and kind == "both":
            legend.set_loc("upper left")  # to find the best place among a thousand curves takes seconds

    def _plot_two_way_partial_dependence(
        self,
        avg_preds: Any,
        feature_values: Sequence[Array],
        feature_idx: Columns,
        ax: Axes,
        pd_plot_idx: int,
        Z_level: Array,
        contour_kw: dict[str, Any],
        categorical: bool,
        heatmap_kw: dict[str, Any],
    ) -> None:
        """Let scikit-learn draw two numbers or two categories, and draw one of each ourselves."""
        if any(self._levels(pd_plot_idx)) and not categorical:
            self._plot_levels(avg_preds[self.target_idx].T, feature_values, feature_idx, ax, pd_plot_idx)
            ends = _apart(Z_level[0], Z_level[-1])
            ax.set_ylim(*(ends if roomy(ax) or self._drawing.fixed else headroom(ax, *ends)))
            return
        before = set(ax.texts)
        with warnings.catch_warnings():
            # A surface that is flatter than the others may lie between two of their contours.
            warnings.filterwarnings("ignore", "No contour levels were found", UserWarning)
            super()._plot_two_way_partial_dependence(
                avg_preds,
                [names_of(values) for values in feature_values] if categorical else feature_values,
                feature_idx,
                ax,
                pd_plot_idx,
                np.linspace(*_apart(Z_level[0], Z_level[-1]), num=len(Z_level)),
                contour_kw,
                categorical,
                heatmap_kw,
            )
        if categorical:
            narrow_color_bar(self.heatmaps_.flat[pd_plot_idx])
            return
        self.deciles_hlines_.flat[pd_plot_idx].remove()
        self.deciles_hlines_.flat[pd_plot_idx] = draw_rug(ax, self.deciles[feature_idx[1]], along="y")
        recolor(self.deciles_vlines_.flat[pd_plot_idx])
        clear_labels(ax, [text for text in ax.texts if text not in before])
        for axis, values in zip((ax.xaxis, ax.yaxis), feature_values, strict=True):
            readable_dates(axis, values)

    def _plot_levels(
        self, curves: Array, feature_values: Sequence[Array], feature_idx: Columns, ax: Axes, number: int
    ) -> None:
        """Draw a pair of a number and a category: ``curves (categories, g)`` over the number."""
        values, levels = feature_values
        names, style = names_of(levels), self._drawing.level_style
        support = self.pd_results[number].get("support")
        weights = np.ones(len(levels)) if support is None else support.sum(axis=0)
        named = np.argsort(-weights, kind="stable")[:NAMED].tolist()
        others = [level for level in range(len(levels)) if level not in named]
        before = len(ax.get_lines())
        lines: dict[int, Line2D] = {}
        for level in (*others, *sorted(named)):
            gray = {"color": "0.6", "linewidth": 0.7}
            own = {"color": color_of(before + level), "linestyle": dash_of(before + level), **style}
            lines[level] = ax.plot(values, curves[level], **(gray if level in others else own))[0]
        for level in named:
            lines[level].set_label(self._drawing.called(names[level]))
        for level in others[:1]:
            lines[level].set_label(f"other ({len(others)} categories)")
        self._drawing.levels[number] = tuple(lines[level] for level in range(len(levels)))
        self.deciles_vlines_.flat[number] = draw_rug(ax, self.deciles[feature_idx[0]], along="x")
        readable_dates(ax.xaxis, values)
        ax.set_xlabel(self.feature_names[feature_idx[0]])
        ax.set_ylabel("Partial dependence")
        explain(ax, escaped(in_text(self.feature_names[feature_idx[1]])))


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, with room around a curve that is flat."""
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    room = 0.05 * abs(low) or 0.05
    return low - room, high + room

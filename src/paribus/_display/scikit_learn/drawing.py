"""What one call of ``plot`` remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._display.scikit_learn.arguments import given_axes, is_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@dataclass(frozen=True)
class Drawing:
    """What one call of ``plot`` remembers while scikit-learn draws panel after panel.

    The height of curves is ``fixed`` where the user gave it.
    ``heights`` are those of panels that something was drawn into before, ``labels`` are given where the last
    row of such panels has gaps, and ``levels`` are the lines of mixed pairs by the number of the panel.
    """

    axes: Any
    fixed: bool
    line: dict[str, Any]
    individual: dict[str, Any]
    average: dict[str, Any]
    bar: dict[str, Any]
    heights: dict[Axes, tuple[float, float]]
    labels: dict[Axes, str]
    levels: dict[int, tuple[Line2D, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, ax: Any, fixed: bool, *styles: dict[str, Any] | None) -> Drawing:
        """Check the axes before anything is drawn, and spell out the styles of lines and bars."""
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        *lines, bar = styles
        line, individual, average = (normalize_kwargs(style or {}, Line2D) for style in lines)
        looks = line, individual, average, normalize_kwargs(bar or {}, Patch)
        if is_axes(ax):
            return cls(ax, fixed, *looks, {}, {})
        given, whole = given_axes(ax), np.asarray(ax, dtype=object)
        gaps = len(given) < whole.size
        heights = {one: one.get_ylim() for one in given if one.has_data()}
        labels = {one: one.get_ylabel() for one in given if gaps}
        return cls(np.array(given, dtype=object) if gaps else whole, fixed, *looks, heights, labels)

    def lines(self, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return how individual curves and the average look.

        scikit-learn 1.9 mixes the styles of panels, so that an average is as blue as the curves around it.
        """
        both = kind == "both"
        apart = {"color": "tab:orange", "linestyle": "--", "label": "average"} if both else {"color": "C0"}
        thin = {"color": "tab:blue" if both else "C0", "alpha": 0.3, "linewidth": 0.5}
        individual = {**thin, **self.line, **self.individual}
        individual.pop("label", None)
        return individual, {**apart, **self.line, **self.average}

    @property
    def level_style(self) -> dict[str, Any]:
        """How lines per category look, whose color and dashes say which one it is."""
        style = {**self.line, **self.average}
        return {key: value for key, value in style.items() if key not in ("color", "linestyle", "label")}

    def called(self, level: str) -> str:
        """Return the name of a category in a legend, with that of the model if the user gave one."""
        label = {**self.line, **self.average}.get("label")
        level = f" {level}" if level.startswith("_") else level  # else matplotlib would leave it out
        return f"{level}, {label}" if label else level

    def bars(self, ax: Axes) -> dict[str, Any]:
        """Return how bars look: within those that were there before, so that both are seen."""
        before = len(ax.containers)
        return {"color": f"C{before}", "width": 0.8 / (before + 1), **self.bar}

    def keep_labels(self) -> None:
        """Give panels the labels they had, where scikit-learn cannot know which stand on the left."""
        for axes, label in self.labels.items():
            axes.set_ylabel(label)

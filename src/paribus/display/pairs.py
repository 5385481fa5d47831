"""All pairs at once: a heat map of their strengths, or a network of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Floats
from paribus.display.paper import LABEL, inches, new_axes, small_print, told_of, unit_of, written
from paribus.results import HStatistics
from paribus.results.story import count, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN = 8  # features of a heat map whose cells have room for their numbers
LEVEL = 12  # features of a network whose labels stand level; those of more lie along the rays
LETTER = 0.075  # inches, about
AWAY = 0.4  # inches, from the circle to where the label of the largest node starts
RADIUS = 2.0  # inches, of the circle of a new network
WEAK = 0.01  # of the strongest link: what is weaker is not drawn
WIDEST = 9.0  # points, of the strongest link
LARGEST = 26.0  # points across, of the strongest feature's node


@dataclass(frozen=True)
class Pairs:
    """The features to draw, strongest first: ``matrix (j, k)`` of strengths and each feature's own.

    The matrix is symmetric, its diagonal is zero, and pairs that were not asked for are NaN.
    """

    names: list[str]
    matrix: Floats
    own: Floats
    unit: str
    lines: list[str]


def _pairs_of(result: HStatistics, k: int, o: int) -> Pairs:
    size = len(result.features)
    matrix = np.where(np.eye(size, dtype=bool), 0.0, np.nan)
    for (first, second), strength in zip(result.pairs, result.pairwise.strength[:, o], strict=True):
        matrix[first, second] = matrix[second, first] = strength
    own = result.main_effect.strength[:, o]
    # By all interactions of a feature together; among equals, by its own effect.
    shown = np.lexsort((-own, -np.nansum(matrix**2, axis=1)))[:k]
    return Pairs(
        [result.feature_names[place] for place in shown],
        matrix[np.ix_(shown, shown)],
        own[shown],
        unit_of(result.provenance.scale, result.output_names[o]),
        [f"{len(shown)} of {size:,} features"] if len(shown) < size else [],
    )


def heatmap(result: HStatistics, k: int, o: int, ax: Axes | None) -> Axes:
    """Draw every pair as a cell, and each feature's own effect on the diagonal in another colour."""
    pairs = _pairs_of(result, k, o)
    size, lines = len(pairs.names), list(pairs.lines)
    side = 4.2 + 0.2 * size
    panel = ax if ax is not None else new_axes(side + 2.0, side, square=True)
    # Where nobody lays out the figure, the second colour bar comes to stand before the first: leave it room.
    gap = 0.02 if panel.figure.get_layout_engine() else 0.9 / inches(panel)[0]
    _cells(panel, np.diag(pairs.own), "Oranges", f"own effect, on the diagonal\n({pairs.unit})", gap)
    _cells(panel, np.nan_to_num(pairs.matrix), "Blues", f"strength of the interaction\n({pairs.unit})", 0.02)
    absent = np.argwhere(np.isnan(pairs.matrix))
    for row, column in absent:
        panel.text(column, row, "·", ha="center", va="center", color="0.6")
    _name_cells(panel, [written(name) for name in pairs.names])
    apart = ~np.eye(size, dtype=bool)
    if (pairs.matrix[apart] == 0).any() or not pairs.own.all():
        lines.append("blank: exactly zero")
    if len(absent):
        lines.append("dot: not asked for")
    small_print(panel, lines + told_of(panel, result.provenance, result.notes))
    return panel


def _cells(ax: Axes, values: Floats, cmap: str, label: str, gap: float) -> None:
    """Colour the cells that are not zero, and say what the colours mean."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    if not values.any():
        return
    # From a fifth of the way up, so that a weak cell is told from a blank one.
    shades = ListedColormap(colormaps[cmap](np.linspace(0.2, 1, 256)))
    image = ax.imshow(np.where(values == 0, np.nan, values), cmap=shades, vmin=0, vmax=values.max())
    width, height = inches(ax)
    size: dict[str, Any] = {"shrink": min(0.9, 3.5 / height), "fraction": min(0.15, 0.6 / width), "pad": gap}
    ax.figure.colorbar(image, ax=ax, label=label, **size)
    if len(values) > WRITTEN:
        return
    for (row, column), value in np.ndenumerate(values):
        if value:
            shade = "w" if value > 0.6 * values.max() else "k"
            ax.text(column, row, _brief(value), ha="center", va="center", color=shade, fontsize="small")


def _brief(value: float) -> str:
    """Return a number for a cell, whose width is a few letters."""
    plain = f"{value:.2g}"
    short = plain if len(plain) <= 6 else f"{value:.0e}"
    return short.replace("e-0", "e-").replace("e+0", "e")


def _name_cells(ax: Axes, labels: list[str]) -> None:
    size = "small" if len(labels) <= 20 else "x-small"
    upright = len(labels) * max(map(len, labels)) > 50
    places = range(len(labels))
    ax.set_xticks(places, labels, rotation=90 if upright else 0, fontsize=size)
    ax.set_yticks(places, labels, fontsize=size)
    edges = np.arange(len(labels) + 1) - 0.5
    ax.set_xticks(edges, minor=True)
    ax.set_yticks(edges, minor=True)
    ax.grid(which="minor", color="0.9", linewidth=0.5)
    ax.tick_params(which="both", length=0)
    ax.set(xlim=(-0.5, len(labels) - 0.5), ylim=(len(labels) - 0.5, -0.5), aspect="equal")


def network(result: HStatistics, k: int, o: int, ax: Axes | None) -> Axes:
    """Draw features on a circle, as large as their own effect, with links as wide as they interact."""
    pairs = _pairs_of(result, k, o)
    links = np.triu(np.nan_to_num(pairs.matrix))
    panel, labels, radius = _circle(ax, pairs.names)
    # The strongest feature stands on top, the others follow clockwise.
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(labels)) / len(labels)
    weak = _links(panel, np.column_stack([np.cos(angles), np.sin(angles)]), links)
    largest = min(LARGEST, 0.8 * 2 * np.pi * radius * 72 / len(angles))
    across = _across(pairs.own, pairs.own.max(), largest)
    panel.scatter(np.cos(angles), np.sin(angles), across**2, "C1", edgecolor="w", linewidth=0.8, zorder=3)
    _name_nodes(panel, labels, angles, across)
    _link_legend(panel, links.max(), pairs.unit)
    _node_legend(panel, pairs.own.max(), largest, pairs.unit)
    lines = list(pairs.lines)
    if not links.any():
        lines.append("every interaction is exactly zero")
    if weak:
        lines.append(f"without {count(weak, 'link')} below 1 % of the strongest")
    small_print(panel, lines + told_of(panel, result.provenance, result.notes))
    return panel


def _circle(ax: Axes | None, names: list[str]) -> tuple[Axes, list[str], float]:
    """Lay out a circle of radius one with room for labels around it; its radius is returned in inches."""
    level, most, radius = len(names) <= LEVEL, LABEL, RADIUS
    if ax is not None:  # about half of it is for the circle, and labels are as long as the rest allows
        width, height = inches(ax)
        half = (width if level else min(width, height)) / 2
        most = min(LABEL, max(8, int((half / 2 - AWAY) / LETTER)))
    labels = [written(name, most) for name in names]
    beside = max(map(len, labels)) * LETTER + AWAY
    above = AWAY if level else beside
    if ax is None:
        ax = new_axes(2 * (radius + beside) + 2.0, 2 * (radius + above) + 0.4, square=True)
    else:
        radius = max(min(width / 2 - beside, height / 2 - above), 0.1 * min(width, height))
    across, up = 1 + beside / radius, 1 + above / radius
    ax.set(xlim=(-across, across), ylim=(-up, up), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    return ax, labels, radius


def _links(ax: Axes, places: Floats, links: Floats) -> int:
    """Draw a line for each pair, the strongest uppermost; return how many are too weak to be seen."""
    drawn = np.argwhere((links > 0) & (links >= WEAK * links.max()))
    for ends in drawn[np.argsort(links[tuple(drawn.T)], kind="stable")]:
        ax.plot(*places[ends].T, zorder=1, **_line(float(links[tuple(ends)] / links.max())))
    return int(np.count_nonzero(links)) - len(drawn)


def _line(share: float) -> dict[str, Any]:
    """Return how a link looks that has a share of the strongest one's strength."""
    width = 0.4 + (WIDEST - 0.4) * share
    return {"color": "C0", "linewidth": width, "alpha": 0.1 + 0.8 * share, "solid_capstyle": "butt"}


def _across(own: Floats, strongest: float, largest: float) -> Floats:
    """Return the diameters of nodes: areas go with the strength, but none is too small to be seen."""
    return np.maximum(largest * np.sqrt(own / (strongest or 1.0)), 3.5)


def _name_nodes(ax: Axes, labels: list[str], angles: Floats, across: Floats) -> None:
    """Write labels outside of the circle: level while few, along the rays when they would meet."""
    level = len(labels) <= LEVEL
    for label, angle, size in zip(labels, angles, across, strict=True):
        x, y = round(float(np.cos(angle)), 9), round(float(np.sin(angle)), 9)
        away = size / 2 + 5
        upright = level and x == 0
        ax.annotate(
            label,
            (x, y),
            (x * away, y * away),
            textcoords="offset points",
            ha="center" if upright else "left" if x >= 0 else "right",
            va="center" if not upright else "bottom" if y > 0 else "top",
            rotation=0.0 if level else float(np.degrees(np.arctan2(y, x))) + 180 * (x < 0),
            rotation_mode="anchor",
            fontsize="small" if len(labels) <= 30 else "x-small",
            annotation_clip=False,
        )


def _link_legend(ax: Axes, strongest: float, unit: str) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], label=number(v), **_line(v / strongest)) for v in _examples(strongest)]
    _explain(ax, lines, f"link: interaction\n({unit})", top=True)


def _node_legend(ax: Axes, strongest: float, largest: float, unit: str) -> None:
    from matplotlib.lines import Line2D

    examples = np.array(_examples(strongest))
    dots = [
        Line2D([], [], linestyle="", marker="o", color="C1", markersize=size, label=number(value))
        for value, size in zip(examples, _across(examples, strongest, largest), strict=True)
    ]
    _explain(ax, dots, f"node: own effect\n({unit})", top=False)


def _explain(ax: Axes, handles: list[Any], title: str, *, top: bool) -> None:
    """Put a legend to the right of the circle: one in the upper half, one in the lower."""
    if not handles:
        return
    shown = ax.legend(
        handles=handles,
        title=title,
        loc="lower left" if top else "upper left",
        bbox_to_anchor=(1, 0.52 if top else 0.48),
        frameon=False,
        labelspacing=0.2,
        handleheight=2.0 if top else 3.3,  # in letters: a row is as high as the largest node
        alignment="left",
        fontsize="small",
        title_fontsize="small",
    )
    if top:
        ax.add_artist(shown)  # else the next legend would replace it


def _examples(strongest: float) -> list[float]:
    """Return three round strengths to explain, none above the strongest."""
    if not strongest:
        return []
    aims = strongest * (1 + 1e-9) * np.array([0.1, 0.3, 1.0])  # three tenths of 3 are 0.9, not 0.8999...
    digit = 10.0 ** np.floor(np.log10(aims))
    return [float(value) for value in np.floor(aims / digit) * digit]

"""Rankings as horizontal bars: the longest on top, each with its sampling error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Array, Flags, Floats
from paribus.display.paper import LABEL, legend, new_axes, small_print, told_of, unit_of, written
from paribus.results import HStatistics, Importance
from paribus.results.story import exactly_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEGLIGIBLE = 1e-3  # of the variance of the prediction: a joint effect below it makes any share meaningless
LETTERS = 2 * LABEL  # of a label, over all the features it names
WORDS = {
    "pairwise": ("pair", "strength of the interaction"),
    "overall": ("feature", "strength of all interactions of a feature"),
    "threeway": ("triple", "strength of the three-way interaction"),
}


@dataclass(frozen=True)
class Ranking:
    """Entries by name, in any order, of which the longest bars are drawn.

    ``noun`` is what one entry is called and ``axis`` what the bars measure, without their errors.
    ``faint`` entries are grey, ``remarks`` are written beside their bars.
    """

    labels: list[str]
    values: Floats
    errors: Floats
    noun: str
    axis: str
    faint: Flags
    remarks: list[str]

    def longest(self, k: int) -> list[int]:
        """Return the entries to draw: exact zeros have no bar."""
        order = np.argsort(-self.values, kind="stable")
        return [int(entry) for entry in order if self.values[entry] != 0][:k]

    def left_out(self, k: int) -> list[str]:
        """Return what the bars do not show, in words."""
        zero = int((self.values == 0).sum())
        lines = []
        if len(self.labels) - zero > k:
            lines.append(f"{k} of {len(self.labels):,} {self.noun}s")
        if zero:
            lines.append(exactly_zero(zero, self.noun))
        return ["; ".join(lines)] if lines else []


def interaction_bars(result: HStatistics, statistic: str, k: int, o: int, ax: Axes | None) -> Axes:
    """Draw the strongest entries of a statistic, with H² beside them."""
    ratio, groups = result.ratio(statistic), result.groups(statistic)
    noun, measure = WORDS[statistic]
    ranking = Ranking(
        [_joined([result.feature_names[place] for place in group], " × ") for group in groups],
        ratio.strength[:, o],
        ratio.strength_error[:, o],
        noun,
        f"{measure} ({unit_of(result.provenance.scale, result.output_names[o])})",
        ratio.denominator[:, o] < NEGLIGIBLE * result.variance[o],
        [_share(share) for share in ratio.share[:, o]],
    )
    shown = ranking.longest(k)
    panel = _panel(ax, ranking, shown)
    _bars(panel, ranking, shown)
    lines = ranking.left_out(k) if shown else []
    if ranking.faint[shown].any():
        lines.append("grey: a joint effect below 0.1 % of the prediction's variance, whose H² says little")
    small_print(panel, lines + told_of(panel, result.provenance, result.notes))
    return panel


def importance_bars(result: Importance, k: int, o: int, ax: Axes | None) -> Axes:
    """Draw the most important features; by effect, with their interactions as a lighter bar behind."""
    of_output = f", {written(result.output_names[o])}" if len(result.output_names) > 1 else ""
    values = _of(result.values, o)
    ranking = Ranking(
        [_joined(name.split(" + "), " + ") for name in result.feature_names],
        values,
        _of(result.standard_error, o),
        "feature",
        result.unit.replace("$", r"\$") + of_output,
        np.zeros(len(values), bool),
        [""] * len(values),
    )
    shown = ranking.longest(k)
    panel = _panel(ax, ranking, shown)
    if result.with_interactions is None or not shown:
        _bars(panel, ranking, shown)
    else:
        _bars(panel, ranking, shown, lane=(-0.18, 0.44), label="on its own")
        _behind(panel, result, shown, o)
        legend(panel, None)
    small_print(
        panel, (ranking.left_out(k) if shown else []) + told_of(panel, result.provenance, result.notes)
    )
    return panel


def _of(values: Floats, o: int) -> Floats:
    return values if values.ndim == 1 else values[:, o]


def _share(share: float) -> str:
    if np.isnan(share):
        return ""
    return f"H² {share:.2f}" if share >= 0.005 else "H² < 0.01"


def _joined(names: list[str], by: str) -> str:
    """Return names as one label; the more there are, the shorter each."""
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    return by.join(written(name, LETTERS // max(2, len(names))) for name in names)


def _panel(ax: Axes | None, ranking: Ranking, shown: list[int]) -> Axes:
    if ax is not None:
        return ax
    letters = max((len(ranking.labels[entry]) for entry in shown), default=0)
    return new_axes(5.6 + 0.06 * letters, 1.5 + 0.27 * max(len(shown), 3))


def _bars(
    ax: Axes,
    ranking: Ranking,
    shown: list[int],
    *,
    lane: tuple[float, float] = (0.0, 0.7),
    label: str | None = None,
) -> None:
    """Draw bars in a lane of their rows: how far off the middle, and how high."""
    off, height = lane
    at, values = np.arange(len(shown)) + off, ranking.values[shown]
    known = np.isfinite(ranking.errors[shown])
    errors = 2 * np.where(known, ranking.errors[shown], 0.0)
    colors = ["0.7" if ranking.faint[entry] else "C0" for entry in shown]
    ax.barh(at, values, height, color=colors, label=label, zorder=2)
    _error_bars(ax, at[known], values[known], errors[known])
    for entry, y, end in zip(shown, at, np.nan_to_num(values) + errors, strict=True):
        quiet: dict[str, Any] = {"va": "center", "fontsize": "x-small", "color": "0.45"}
        ax.annotate(ranking.remarks[entry], (end, y), (5, 0), textcoords="offset points", **quiet)
    _name_rows(ax, ranking, shown)
    _room(ax, values, errors, 0.13 if any(ranking.remarks) else 0.03)
    ax.set_xlabel(ranking.axis + ("\n± 2 standard errors" if known.any() else ""))


def _error_bars(ax: Axes, at: Array, values: Floats, errors: Floats) -> None:
    ax.errorbar(values, at, xerr=errors, fmt="none", ecolor="0.2", elinewidth=1, capsize=2, zorder=4)


def _name_rows(ax: Axes, ranking: Ranking, shown: list[int]) -> None:
    """Name the bars, the longest on top."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_yticks(range(len(shown)), [ranking.labels[entry] for entry in shown], fontsize="small")
    ax.tick_params(axis="y", length=0)
    if shown:
        ax.set_ylim(len(shown) - 0.4, -0.6)
    else:
        ax.set_xticks([])
        words = "; ".join(ranking.left_out(1)) or f"there is no {ranking.noun}"
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color="0.35")


def _room(ax: Axes, values: Floats, errors: Floats, room: float) -> None:
    """Make the axis as long as bars, their errors and a share of room beyond them."""
    if not len(values):
        return
    ends = np.nan_to_num(np.concatenate([values - errors, values + errors, [0.0]]))
    low, high = float(ends.min()), float(ends.max())
    span = (high - low) or 1.0
    ax.set_xlim(low - 0.03 * span * (low < 0), high + room * span)
    if low < 0:
        ax.axvline(0, color="0.2", linewidth=0.8, zorder=3)


def _behind(ax: Axes, result: Importance, shown: list[int], o: int) -> None:
    """Draw what each feature moves together with others, in all its row, so that neither bar is hidden."""
    assert result.with_interactions is not None
    values, at = _of(result.with_interactions, o)[shown], np.arange(len(shown))
    ax.barh(at, values, 0.8, color="C0", alpha=0.3, linewidth=0, label="with its interactions", zorder=1)
    errors = np.zeros_like(values)
    if result.standard_error_with_interactions is not None:
        errors = 2 * np.nan_to_num(_of(result.standard_error_with_interactions, o)[shown])
        _error_bars(ax, at + 0.22, values, errors)
    low, high = ax.get_xlim()
    ax.set_xlim(low, max(high, 1.03 * float(np.nan_to_num(values + errors).max())))

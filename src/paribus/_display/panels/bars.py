"""Rankings as horizontal bars: the longest on top, each with its sampling error."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.figure import Bars, Figure, Mark, Panel, PanelAxis, Points, Rule, Text
from paribus._display.panels.axis_layout import short
from paribus._display.panels.labels import height, hover_of, unit
from paribus._display.style import INK, color_of
from paribus._text import exactly_zero
from paribus.results import HStatistics, Importance

NEGLIGIBLE = 1e-3  # of the variance of the prediction: a joint effect below it makes any share meaningless
LETTERS = 44  # of a label, over all the features it names
LETTER = 0.08  # inches, about
SMALL_PRINT = 15  # letters of a note in an inch, about
FAINT = "#B3B3B3"
REMARKED = 0.16  # of the axis: room for what is written beside the longest bar
WORDS = {
    "pairwise": ("pair", "strength of the interaction"),
    "overall": ("feature", "strength of all interactions of a feature"),
    "threeway": ("triple", "strength of the three-way interaction"),
}


@dataclass(frozen=True)
class Ranking:
    """Entries by name, in any order, of which the longest bars are drawn.

    ``noun`` is what one entry is called and ``axis`` what the bars measure, without their errors.
    ``faint`` entries are gray, ``remarks`` are written beside their bars, ``hover`` is what a pointer shows.
    """

    labels: list[str]
    values: Floats
    errors: Floats
    noun: str
    axis: str
    faint: Flags
    remarks: list[str]
    hover: list[str]

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


def interaction_bars(result: HStatistics, statistic: str, k: int, o: int) -> Figure:
    """Show the strongest entries of a statistic, with H² beside them."""
    ranking = _interactions(result, statistic, o)
    shown = ranking.longest(k)
    if not shown:
        return _nothing(ranking, hover_of(result))
    lines = ranking.left_out(k)
    if ranking.faint[shown].any():
        lines.append("gray: a joint effect below 0.1 % of the prediction's variance, whose H² says little")
    bars = _bars(ranking, shown)
    remarks = _remarks(ranking, shown, bars)
    room = REMARKED if remarks else 0.03
    notes = hover_of(result, *lines)
    return _figure(ranking, shown, [bars, *remarks], room, notes)


def _remarks(ranking: Ranking, shown: list[int], bars: Bars) -> list[Text]:
    """Return what is written beside bars, where their errors end."""
    _, ends = _reach(bars)
    return [
        Text(float(end), float(row), ranking.remarks[entry], "left", size=8.0, offset=(5.0, 0.0), alpha=0.7)
        for entry, row, end in zip(shown, bars.at, ends, strict=True)
        if ranking.remarks[entry]
    ]


def _interactions(result: HStatistics, statistic: str, o: int) -> Ranking:
    ratio, groups = result.ratio(statistic), result.groups(statistic)
    noun, measure = WORDS[statistic]
    names = [[result.feature_names[place] for place in group] for group in groups]
    return Ranking(
        [joined(group, " × ") for group in names],
        ratio.strength[:, o],
        ratio.strength_error[:, o],
        noun,
        f"{measure} ({unit(result, [o])})",
        ratio.denominator[:, o] < NEGLIGIBLE * result.variance[o],
        [_share(share) for share in ratio.share[:, o]],
        [
            f"{' × '.join(names[entry])}\n{interaction_hover(result, statistic, entry, o)}"
            for entry in range(len(names))
        ],
    )


def interaction_hover(result: HStatistics, statistic: str, entry: int, o: int) -> str:
    """Return what a pointer shows of one entry of a statistic: its strength and its H², with their errors."""
    ratio = result.ratio(statistic)
    strength = height("strength", float(ratio.strength[entry, o]), float(ratio.strength_error[entry, o]))
    if np.isnan(ratio.share[entry, o]):
        return strength
    return f"{strength}\n{height('H²', float(ratio.share[entry, o]), float(ratio.ratio_error[entry, o]))}"


def importance_bars(result: Importance, k: int, o: int) -> Figure:
    """Show the most important features; by effect, with their interactions as a lighter bar behind."""
    ranking = _importances(result, o)
    shown = ranking.longest(k)
    if not shown:
        return _nothing(ranking, hover_of(result))
    notes = hover_of(result, *ranking.left_out(k))
    if result.with_interactions is None:
        return _figure(ranking, shown, [_bars(ranking, shown)], 0.03, notes)
    own = _bars(ranking, shown, lane=(0.18, 0.44), label="on its own")
    behind, ends = _behind(result, shown, o)
    return _figure(ranking, shown, [behind, own, *ends], 0.03, notes)


def _importances(result: Importance, o: int) -> Ranking:
    of_output = f", {short(result.output_names[o])}" if len(result.output_names) > 1 else ""
    values, errors = _of(result.values, o), _of(result.standard_error, o)
    lines = [
        f"{name}\n{height('importance', float(value), float(error))}"
        for name, value, error in zip(result.feature_names, values, errors, strict=True)
    ]
    return Ranking(
        [joined(name.split(" + "), " + ") for name in result.feature_names],
        values,
        errors,
        "feature",
        result.unit + of_output,
        np.zeros(len(values), bool),
        [""] * len(values),
        lines,
    )


def _of(values: Floats, o: int) -> Floats:
    return values if values.ndim == 1 else values[:, o]


def _share(share: float) -> str:
    if np.isnan(share):
        return ""
    return f"H² {share:.2f}" if share >= 0.005 else "H² < 0.01"


def joined(names: list[str], by: str, most: int = LETTERS) -> str:
    """Return names as one label: in full if that can be read; else the more there are, the shorter each."""
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    label = by.join(names)
    if len(label) <= most:
        return label
    given, room = dict.fromkeys(names, 0), most
    for rank, name in enumerate(sorted(names, key=len)):  # what short names leave is for the longer ones
        given[name] = min(len(name), room // (len(names) - rank))
        room -= given[name]
    return by.join(short(name, given[name]) for name in names)


def _rows(shown: list[int]) -> Floats:
    """Return the height of each row, the first uppermost."""
    return np.arange(len(shown), dtype=float)[::-1].copy()


def _bars(
    ranking: Ranking, shown: list[int], *, lane: tuple[float, float] = (0.0, 0.7), label: str | None = None
) -> Bars:
    """Return bars in a lane of their rows: how far above the middle, and how high."""
    above, across = lane
    errors = 2 * ranking.errors[shown]
    colors = tuple(FAINT if ranking.faint[entry] else color_of(0) for entry in shown)
    return Bars(
        _rows(shown) + above,
        ranking.values[shown],
        np.full(len(shown), across),
        colors if ranking.faint[shown].any() else color_of(0),
        label=label,
        horizontal=True,
        error=errors if np.isfinite(errors).any() else None,
        hover=tuple(ranking.hover[entry] for entry in shown),
    )


def _behind(result: Importance, shown: list[int], o: int) -> tuple[Bars, list[Points]]:
    """Return what each feature moves together with others, in all its row, so that neither bar is hidden.

    Errors are apart from the bars: they stand in the part of the row that is left to these.
    """
    assert result.with_interactions is not None
    values, rows = _of(result.with_interactions, o)[shown], _rows(shown)
    errors = np.full_like(values, np.nan)
    if result.standard_error_with_interactions is not None:
        errors = _of(result.standard_error_with_interactions, o)[shown]
    hover = tuple(
        f"{result.feature_names[entry]}\n{height('with its interactions', float(value), float(error))}"
        for entry, value, error in zip(shown, values, errors, strict=True)
    )
    wide, label = np.full(len(shown), 0.8), "with its interactions"
    bars = Bars(rows, values, wide, color_of(0), label=label, alpha=0.4, horizontal=True, hover=hover)
    if not np.isfinite(errors).any():
        return bars, []
    ends = Points(
        values, rows - 0.22, INK, marker="bar", size=4.0, alpha=0.8, error=2 * errors, error_along="x"
    )
    return bars, [ends]


def _reach(mark: Mark) -> tuple[Floats, Floats]:
    """Return how far bars and points reach to the left and to the right, their errors included."""
    assert isinstance(mark, Bars | Points)
    values = np.nan_to_num(mark.length if isinstance(mark, Bars) else mark.x)
    errors = np.zeros_like(values) if mark.error is None else np.nan_to_num(mark.error)
    return values - errors, values + errors


def _axis(label: str, marks: list[Mark], room: float) -> PanelAxis:
    """Return an axis as long as bars, their errors and a share of room beyond them."""
    reach = [_reach(mark) for mark in marks if not isinstance(mark, Text | Rule)]
    ends = np.concatenate([[0.0], *(side for both in reach for side in both)])
    low, high = float(ends.min()), float(ends.max())
    span = (high - low) or 1.0
    return PanelAxis(label, low=low - 0.03 * span * (low < 0), high=high + room * span)


def _figure(
    ranking: Ranking, shown: list[int], marks: list[Mark], room: float, notes: tuple[str, ...]
) -> Figure:
    known = np.isfinite(ranking.errors[shown]).any()
    across = _axis(ranking.axis + "\n± 2 standard errors" * bool(known), marks, room)
    if across.low:
        marks = [*marks, Rule(0.0, along="x")]
    labels = [ranking.labels[entry] for entry in shown]
    ticks = tuple(zip(map(float, _rows(shown)), labels, strict=True))
    names = PanelAxis("", "category", ticks, low=-0.6, high=len(shown) - 0.4)
    width = 6.0 + LETTER * max(map(len, labels))
    legend = 0.3 * any(isinstance(mark, Bars) and mark.label is not None for mark in marks)
    size = (width, 1.1 + 0.27 * max(len(shown), 3) + legend + below(notes, width))
    return Figure((Panel(tuple(marks), across, names),), size=size, notes=notes)


def _nothing(ranking: Ranking, notes: tuple[str, ...]) -> Figure:
    """Return a figure that says why it has no bar."""
    words = "; ".join(ranking.left_out(1)) or f"there is no {ranking.noun}"
    blank = PanelAxis(scale="none", low=0.0, high=1.0)
    said = Panel((Text(0.5, 0.5, words, alpha=0.8),), blank, blank)
    return Figure((said,), size=(5.6, 1.6 + below(notes, 5.6)), notes=notes)


def below(notes: tuple[str, ...], width: float) -> float:
    """Return the inches that notes need below a picture of some width."""
    return 0.17 * sum(ceil(len(note) / (SMALL_PRINT * width)) for note in notes)

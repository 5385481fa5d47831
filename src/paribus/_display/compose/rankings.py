"""Figures of interactions, importance, drift and performance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._display.compose.axis import background, caveats_of, hover_texts, shares, short, unit, whole_of
from paribus._display.compose.pairs import heatmap, interaction_text
from paribus._display.figure import Bars, Figure, Line, Mark, Panel, PanelAxis, Points, Rule, Text
from paribus._display.layout import figure_of, single_panel
from paribus._display.mark_helpers import GRAY, INK, PALETTE
from paribus._display.text_width import inches
from paribus._text import exactly_zero, number
from paribus._text import short as short_number
from paribus._typing import InteractionPlot, Statistic
from paribus.errors import DrawingError, OptionError, check_choice
from paribus.results import Drift, HStatistics, Importance
from paribus.results.curve_parts import chosen
from paribus.results.performance import Calibration, Performance

MARGIN = 0.04  # of the range of averages, to each side


def performance_figure(result: Performance, columns: int, title: str | None) -> Figure:
    """Compose a panel for the calibration of each output."""
    if isinstance(columns, bool) or not isinstance(columns, int) or columns < 1:
        raise OptionError(f"columns={columns!r} must be a positive integer")
    several = len(result.calibration) > 1
    title = "Calibration" if title is None else title
    whole = whole_of(result.provenance)
    panels = [calibration_panel(calibration, whole, several) for calibration in result.calibration]
    if not panels:
        raise DrawingError("there is no calibration to plot; see the notes")
    lines = (background(result.provenance),)
    return figure_of(
        panels, columns=columns, share_y=False, title=title, background=lines, notes=tuple(result.notes)
    )


def calibration_panel(calibration: Calibration, whole: float, several: bool) -> Panel:
    """Return observed against predicted averages with intervals, and the diagonal where both are equal."""
    finite = np.isfinite(calibration.predicted) & np.isfinite(calibration.observed)
    predicted, observed = calibration.predicted[finite], calibration.observed[finite]
    low, high = calibration.observed_low[finite], calibration.observed_high[finite]
    both = np.concatenate([predicted, observed]) if finite.any() else np.array([0.0, 1.0])
    ends = np.array([both.min(), both.max()])
    room = MARGIN * (ends[1] - ends[0])
    hover = []
    for group, share in enumerate(shares(calibration.weight[finite], whole)):
        averages = f"predicted {number(predicted[group])}\nobserved {number(observed[group])}"
        interval = "interval unknown"
        if np.isfinite([low[group], high[group]]).all():
            interval = f"95 % interval {number(low[group])} to {number(high[group])}"
        hover.append(f"{averages}\n{interval}\n{share}")
    low, high = (np.where(np.isfinite(end), end, observed) for end in (low, high))
    marks = (
        Line(ends, ends, INK, "observed = predicted", dash="dashed", width=1.0),
        # The average need not be the middle of its interval.
        Points(predicted, (low + high) / 2, PALETTE[0], size=0.0, error=(high - low) / 2),
        Points(predicted, observed, PALETTE[0], "groups of rows, with intervals of 95 %", hover=tuple(hover)),
    )
    x = PanelAxis("average prediction", low=float(ends[0] - room), high=float(ends[1] + room))
    title = short(calibration.output) if several else None
    return Panel(marks, x, PanelAxis("average observed"), title=title)


NEGLIGIBLE = 1e-3  # of the variance of the prediction: H² of a smaller joint effect is meaningless
H_SQUARED = 0.001  # smaller values of H² are not written
LABEL = 44  # characters of a label, which may name several features
REMARK = 0.16  # of the axis: space for the text beside the longest bar
MEASURES = {  # name of an entry of each statistic, quantity that its bars show, and title
    "pairwise": ("pair", "strength of the interaction", "Interactions of pairs"),
    "overall": ("feature", "strength of all interactions of a feature", "Interactions of features"),
    "threeway": ("triple", "strength of the three-way interaction", "Interactions of triples"),
}


def interactions_figure(
    result: HStatistics,
    kind: str,
    statistic: str,
    k: int,
    output: str | int | None,
    title: str | None,
) -> Figure:
    """Compose the figure of the interactions of one output.

    Parameters
    ----------
    result : HStatistics
        The statistics.
    kind : {"bars", "heatmap"}
        Bars of the strongest entries with error bars, or a heat map of all pairs.
    statistic : {"pairwise", "overall", "threeway"}
        The statistic that bars show.
    k : int
        The number of bars, or of features of a heat map, at most.
    output : str or int, optional
        The output, by name or position. Required if there are several.
    title : str, optional
        The title. By default it names the statistic.
    """
    check_choice("kind", kind, InteractionPlot)
    check_choice("statistic", statistic, Statistic)
    if statistic == "total":
        raise DrawingError("statistic='total' is one number for each output; read h_squared_total")
    if kind == "heatmap" and min(k, len(result.features)) < 2:
        raise DrawingError(f"k={k} gives no pairs to plot; pass k=2 or more")
    if kind != "bars" and statistic != "pairwise":
        raise DrawingError(f"kind={kind!r} shows pairs; draw statistic={statistic!r} with kind='bars'")
    ratio, (noun, measure, usual_title) = result.ratio(statistic), MEASURES[statistic]
    o = _one_output(result.output_names, output, k, ratio.numerator)
    title = usual_title if title is None else title
    if kind == "heatmap":
        return heatmap(result, k, o, title)
    names = [[result.feature_names[place] for place in group] for group in result.groups(statistic)]
    ranking = Ranking(
        result,
        title,
        noun,
        f"{measure} ({unit(result, [o])})",
        [joined(group, " × ") for group in names],
        ratio.strength[:, o],
        ratio.strength_error[:, o],
        lambda entry: interaction_text(ratio, names[entry], entry, o),
    )
    shown = ranking.longest(k)
    faint = ratio.denominator[shown, o] < NEGLIGIBLE * result.variance[o]
    colors = tuple(GRAY if gray else PALETTE[0] for gray in faint) if faint.any() else PALETTE[0]
    bars = ranking.bars(shown, colors)
    ends = bars.length if bars.error is None else bars.length + np.nan_to_num(bars.error)
    remarks = []  # H² next to the bars, unless all are equal
    for share, row, end in zip(ratio.share[shown, o], bars.at, ends, strict=True):
        if not np.isnan(share):
            text = f"H² {short_number(share)}" if share >= H_SQUARED else f"H² < {H_SQUARED}"
            remarks.append(Text(float(end), float(row), text, "left", size=8.0, offset=(5.0, 0.0), alpha=0.7))
    if len({remark.text for remark in remarks}) == 1 < len(remarks):
        remarks = []
    gray = "gray: a joint effect below 0.1 % of the prediction's variance, whose H² says little"
    room = REMARK if remarks else 0.03
    return ranking.figure(k, [bars, *remarks], *([gray] if faint.any() else []), room=room)


def importance_figure(result: Importance, k: int, output: str | int | None, title: str | None) -> Figure:
    """Compose bars of the ``k`` most important features for one output.

    An importance that counts interactions has a second, lighter bar behind the first.
    """
    if np.isnan(result.values).all():
        raise DrawingError(
            "the importance of every feature is unknown, as with percentiles= or custom_values=, whose "
            "points do not represent all rows; leave these out, or plot the effects"
        )
    o = _one_output(result.output_names, output, k, result.values)
    names, values = result.feature_names, _of_output(result.values, o)
    errors = _of_output(result.standard_error, o)
    of_output = f", {short(result.output_names[o])}" if len(result.output_names) > 1 else ""
    hover = hover_texts(names, "importance", values, errors)
    labels = [joined(name.split(" + "), " + ") for name in names]
    title = "Feature importance" if title is None else title
    axis = result.unit + of_output
    ranking = Ranking(result, title, "feature", axis, labels, values, errors, hover.__getitem__)
    shown = ranking.longest(k)
    if result.with_interactions is None or not len(shown):
        return ranking.figure(k, [ranking.bars(shown)])
    values, errors = _of_output(result.with_interactions, o), np.full_like(values, np.nan)
    if result.standard_error_with_interactions is not None:
        errors = _of_output(result.standard_error_with_interactions, o)
    label = "with its interactions"
    hover = hover_texts(names, label, values, errors)
    together = replace(ranking, values=values, errors=errors, hover=hover.__getitem__)
    # The lighter bar is wider, so that both are visible. Its error bar lies below the darker bar.
    behind = replace(together.bars(shown, width=0.8, label=label), alpha=0.4)
    darker = ranking.bars(shown, above=0.18, width=0.44, label="on its own")
    marks: list[Mark] = [replace(behind, error=None), darker]
    if behind.error is not None:
        ends = Points(behind.length, behind.at - 0.22, INK, marker="bar", size=4.0, alpha=0.8)
        marks.append(replace(ends, error=behind.error, error_along="x"))
    return ranking.figure(k, marks)


def drift_figure(result: Drift, k: int, output: str | int | None, title: str | None) -> Figure:
    """Compose bars of the ``k`` largest changes of effects on one output."""
    values = np.array([effect.typical for effect in result.effects])
    o = _one_output(result.output_names, output, k, values)
    errors = np.array([effect.typical_error[o] for effect in result.effects])
    hover = hover_texts(result.feature_names, "typical change", values[:, o], errors)
    axis = f"typical change of the effect ({unit(result, [o])})"
    labels = [joined([name], "") for name in result.feature_names]
    title = "Change of effects" if title is None else title
    ranking = Ranking(result, title, "feature", axis, labels, values[:, o], errors, hover.__getitem__)
    bars = ranking.bars(ranking.longest(k))
    return ranking.figure(k, [bars], f"compared with {background(result.provenances['old'])}")


def _one_output(names: tuple[str, ...], output: str | int | None, k: int, values: Floats) -> int:
    """Return the index of the output to plot; raise if the figure is impossible."""
    outputs = chosen(names, output)
    if len(outputs) > 1:
        raise DrawingError(f"a picture shows one output; pass output= one of {', '.join(names)}")
    if k < 1:
        raise OptionError(f"k={k} gives nothing to plot; pass a positive number")
    if not np.isfinite(_of_output(values, outputs[0])).all():
        raise DrawingError("the values are not finite and cannot be plotted; see the notes")
    return outputs[0]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Named values in any order, of which the largest are plotted as bars below a title.

    ``noun`` names one entry, such as a feature. ``axis`` is the label of the axis without the error bars.
    ``hover`` returns the hover text of an entry.
    """

    result: HStatistics | Importance | Drift
    title: str
    noun: str
    axis: str
    labels: list[str]
    values: Floats
    errors: Floats
    hover: Callable[[int], str]

    def longest(self, k: int) -> Integers:
        """Return the indices of the ``k`` largest values, without exact zeros."""
        order = np.argsort(-self.values, kind="stable")
        return np.asarray(order[self.values[order] != 0][:k])

    def bars(
        self,
        shown: Integers,
        color: str | tuple[str, ...] = PALETTE[0],
        above: float = 0.0,
        width: float = 0.7,
        label: str | None = None,
    ) -> Bars:
        """Return the bars of entries; ``above`` is their offset from the middle of the row."""
        errors = 2 * self.errors[shown]
        return Bars(
            _bar_positions(shown) + above,
            self.values[shown],
            np.full(len(shown), width),
            color,
            label=label,
            horizontal=True,
            error=errors if np.isfinite(errors).any() else None,
            hover=tuple(self.hover(entry) for entry in shown.tolist()),
        )

    def figure(self, k: int, marks: list[Mark], *lines: str, room: float = 0.03) -> Figure:
        """Return the figure of marks for the ``k`` longest bars; ``room`` is the free share of the x-axis.

        ``lines`` are notes about the figure.
        """
        shown = self.longest(k)
        zeros, count = int((self.values == 0).sum()), len(self.labels)
        omitted = [f"{k} of {count:,} {self.noun}s"] if count - zeros > (k if len(shown) else 1) else []
        if zeros:
            omitted.append(exactly_zero(zeros, self.noun))
        if not len(shown):  # a text instead of bars
            blank = PanelAxis(scale="none", low=0.0, high=1.0)
            text = Text(0.5, 0.5, "; ".join(omitted) or f"there is no {self.noun}", alpha=0.8)
            return self._page(Panel((text,), blank, blank), (5.6, 1.6))
        ends = [0.0]  # of the bars and their error bars
        for mark in marks:
            if isinstance(mark, Bars | Points):
                values = mark.length if isinstance(mark, Bars) else mark.x
                error = 0.0 if mark.error is None else np.nan_to_num(mark.error)
                ends += [*(values - error), *(values + error)]
        low, high = float(min(ends)), float(max(ends))
        span = (high - low) or 1.0
        label = self.axis
        if np.isfinite(self.errors[shown]).any():
            label += "\n± 2 standard errors"
        x = PanelAxis(label, low=low - 0.03 * span * (low < 0), high=high + room * span)
        marks = [*marks, Rule(0.0, along="x")] if x.low else marks
        labels = [self.labels[entry] for entry in shown]
        ticks = tuple(zip(_bar_positions(shown).tolist(), labels, strict=True))
        y = PanelAxis("", "category", ticks, low=-0.6, high=len(shown) - 0.4)
        width = 6.0 + max(map(inches, labels))
        legend = 0.3 * any(isinstance(mark, Bars) and mark.label is not None for mark in marks)
        height = 1.1 + 0.27 * max(len(shown), 3) + legend
        if omitted:
            lines = ("; ".join(omitted), *lines)
        return self._page(Panel(tuple(marks), x, y), (width, height), *lines)

    def _page(self, panel: Panel, size: tuple[float, float], *lines: str) -> Figure:
        background_lines = (background(self.result.provenance), *lines)
        return single_panel(panel, size, background_lines, caveats_of(self.result), self.title)


def _bar_positions(shown: Integers) -> Floats:
    """Return the y-position of each bar, with the first on top."""
    return np.arange(len(shown), dtype=float)[::-1].copy()


def _of_output(values: Floats, o: int) -> Floats:
    return values if values.ndim == 1 else values[:, o]


def joined(names: list[str], by: str, most: int = LABEL) -> str:
    """Return names joined to one label of at most ``most`` characters; longer names are shortened."""
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    label = by.join(names)
    if len(label) <= most:
        return label
    given, room = dict.fromkeys(names, 0), most
    for rank, name in enumerate(sorted(names, key=len)):  # long names share the space that short ones leave
        given[name] = min(len(name), room // (len(names) - rank))
        room -= given[name]
    return by.join(short(name, given[name]) for name in names)

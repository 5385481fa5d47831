"""Figures of all types of results: their panels and their notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from paribus._display.compose.axis import background as background_of
from paribus._display.compose.axis import folded, short
from paribus._display.compose.curves import comparison_panel, curve_panel, parts_panel
from paribus._display.compose.rankings import (
    drift_figure,
    importance_figure,
    interactions_figure,
    performance_figure,
)
from paribus._display.compose.surfaces import surface_panel
from paribus._display.figure import Figure, Line, Mark, Panel, Points
from paribus._display.layout import NO_PANEL, figure_of
from paribus._typing import OutputLayout
from paribus.errors import DrawingError, OptionError, check_choice
from paribus.meaning import Scale
from paribus.notes import NoteCode
from paribus.results import (
    AccumulatedLocalEffect,
    Comparison,
    Difference,
    Drift,
    FeatureRegions,
    GroupedResults,
    HStatistics,
    Importance,
    Marginal,
    PartialDependence,
    Regions,
)
from paribus.results.curve_parts import chosen
from paribus.results.effects import Effects, compare
from paribus.results.performance import Performance

TITLES = {
    PartialDependence: "Partial dependence",
    AccumulatedLocalEffect: "Accumulated local effects",
    Marginal: "Averages of rows near each value",
    Difference: "Difference of effects",
    Comparison: "Comparison of estimates",
}
OVERLAID = 5  # groups or regions whose curves share a panel
BESIDE = 20  # characters of a line in a legend beside a panel
FLAT = 20  # a curve looks flat on an axis that is this many times longer than its range


def figure_for(result: Any, *options: Any) -> Figure:
    """Return the figure of a result of any type; ``options`` are the arguments of its ``figure`` in order."""
    if isinstance(result, HStatistics):
        return interactions_figure(result, *options)
    if isinstance(result, Importance):
        return importance_figure(result, *options)
    if isinstance(result, Drift):
        return drift_figure(result, *options)
    if isinstance(result, Performance):
        return performance_figure(result, *options)
    output, outputs, k, columns, share_y, title, figsize = options
    _check_figure_options(k, columns, share_y, title, figsize)
    compose: Callable[..., Figure] = _effects_figure
    if isinstance(result, GroupedResults):
        compose = _groups_figure
    elif isinstance(result, (FeatureRegions, Regions)):
        compose = _regions_figure
    figure = compose(result, output, outputs, k, columns, share_y, title)
    return figure if figsize is None else replace(figure, size=(figsize[0], figsize[1]))


def _check_figure_options(k: Any, columns: Any, share_y: Any, title: Any, figsize: Any) -> None:
    counts = [isinstance(count, Integral) and int(count) >= 1 for count in (k, columns)]
    pair = isinstance(figsize, (tuple, list)) and len(figsize) == 2
    size = pair and all(isinstance(side, (int, float)) and side > 0 for side in figsize)
    for name, value, valid, expected in (
        ("k", k, counts[0], "a positive integer"),
        ("columns", columns, counts[1], "a positive integer"),
        ("share_y", share_y, isinstance(share_y, bool), "True or False"),
        ("title", title, title is None or isinstance(title, str), "text"),
        ("figsize", figsize, figsize is None or size, "a width and a height in inches"),
    ):
        if not valid:
            raise OptionError(f"{name}={value!r} must be {expected}")


def _effects_figure(
    result: Any,
    output: str | int | None,
    outputs: str | None,
    k: int,
    columns: int,
    share_y: bool,
    title: str | None,
) -> Figure:
    """Return a figure with one panel for each effect, or for each effect and output."""
    effects = list(result.values()) if isinstance(result, Effects) else [result]
    results, notes, lines = effects[:k], tuple(result.notes), list[str]()
    if len(results) < len(effects):
        notes = tuple(dict.fromkeys(note for effect in results for note in effect.notes))
        noun = "features" if all(len(effect.feature_names) == 1 for effect in effects) else "effects"
        lines.append(f"{len(results)} of {len(effects):,} {noun}, the strongest; k= draws more")
    chosen_outputs = chosen(results[0].output_names, output)
    if len(results) > 1:
        results, refused = _plottable_results(results, chosen_outputs)
        lines += refused
    panels, columns = _panels_of_results(results, chosen_outputs, outputs, columns)
    spreads = [effect.by_model for effect in results if len(effect.feature_names) > 1]
    counts = {len(spread.models) for spread in spreads if spread is not None}
    lines += [f"surfaces are the mean of {count} models" for count in counts if count > 1]
    return figure_of(
        panels,
        columns=columns,
        share_y=share_y,
        title=_title_of(results) if title is None else title,
        background=(*_background_lines(results[0]), *lines),
        notes=notes,
    )


def _title_of(results: Sequence[Any]) -> str:
    """Return the title of effects: the estimate, and the features if there is a single effect."""
    first, features = results[0], " and ".join(map(short, results[0].feature_names))
    if isinstance(first, Comparison) and not first.several_estimands:
        first = next(iter(first.parts.values()))
    estimate = TITLES[type(first)]
    if not isinstance(first, Comparison) and first.provenance.scale.interaction:
        estimate = "Interaction"
    return f"{estimate}: {features}" if len(results) == 1 else estimate


def _groups_figure(
    result: GroupedResults, output: str | int | None, outputs: str | None, k: int, *options: Any
) -> Figure:
    """Return the curves of groups in one panel for each feature, or one for each group if these are many."""
    columns, share_y, title = options
    if isinstance(result.results[0], (HStatistics, Importance)):
        raise DrawingError(f"plot one group, such as result[{next(iter(result))!r}]; to_frame() has all")
    if len(result) == 1:
        return _effects_figure(result.results[0], output, outputs, k, *options)
    groups = [list(part.values()) if isinstance(part, Effects) else [part] for part in result.results]
    single = all(len(effect.feature_names) == 1 for effects in groups for effect in effects)
    if len(result) <= OVERLAID and single:
        figure = _effects_figure(result.compare(), output, outputs, k, *options)
        return replace(figure, legend_title=result.by)
    chosen_outputs = chosen(groups[0][0].output_names, output)
    keys = [effect.feature_names for effect in groups[0]]
    panels = []
    for label, effects in zip(result, groups, strict=True):
        by_name = {effect.feature_names: effect for effect in effects}
        panels += [
            replace(_panel_of_result(by_name[key], chosen_outputs), title=f"{result.by} = {label}")
            for key in keys
            if key in by_name
        ]
    rows = ", ".join(f"{group.label}: {group.rows:,}" for group in result.groups)
    lines = [f"{result.provenance.model}; rows by {result.by}: {rows}"]
    if len(panels) > k:
        lines.append(f"the first {k} of {len(panels):,} panels; k= draws more")
    return figure_of(
        panels[:k],
        columns=columns if len(keys) == 1 else len(keys),  # a row for each group of several features
        share_y=share_y,
        title=_title_of(groups[0]) if title is None else title,
        background=lines,
        notes=tuple(result.notes),
    )


def _regions_figure(
    result: FeatureRegions | Regions,
    output: str | int | None,
    outputs: str | None,
    k: int,
    columns: int,
    share_y: bool,
    title: str | None,
) -> Figure:
    """Return the curves of regions in one panel for each feature that has regions."""
    features = list(result.values()) if isinstance(result, Regions) else [result]
    split = [feature for feature in features if feature.splits] or features
    whole = ", ".join(feature.feature_names[0] for feature in features if feature not in split)
    shown = split[:k]
    panels = [panel for feature in shown for panel in _region_panels(feature, output, outputs)]
    if len(shown) > 1:  # each feature has other regions, so each panel its own legend to the right
        panels = [
            panel if panel.title else replace(panel.with_marks(_with_folded_label), legend="panel")
            for panel in panels
        ]
    lines = [f"{feature.feature_names[0]}: {next(feature._lines())}" for feature in shown]
    if len(shown) < len(split):
        lines.append(f"the most heterogeneous {len(shown)} of {len(split)}, k= draws more")
    if whole:
        lines.append(f"no split was kept for: {whole}")
    notes = (*result.notes, *(note for feature in shown for note in feature.curves.notes))
    return figure_of(
        panels,
        columns=columns,
        share_y=share_y,
        title="Regions of rows with different effects" if title is None else title,
        background=(background_of(result.provenance), *lines),
        notes=tuple(note for note in dict.fromkeys(notes) if note.code is not NoteCode.ROWS_SAMPLED),
    )


def _region_panels(feature: FeatureRegions, output: str | int | None, outputs: str | None) -> Iterator[Panel]:
    """Yield the panel of a feature with the curves of its regions, or one for each if these are many."""
    labels = [short(label) for label in feature.curves]
    results: tuple[Any, ...] = feature.curves.results
    parts = dict(zip(labels if len(set(labels)) == len(labels) else feature.curves, results, strict=True))
    chosen_outputs = chosen(results[0].output_names, output)
    if not feature.splits:
        yield from _panels_of_results(results, chosen_outputs, outputs, 1)[0]
    elif len(parts) > OVERLAID:
        for label, part in parts.items():
            for panel in _panels_of_results([part], chosen_outputs, outputs, 1)[0]:
                yield replace(panel, title=label)
    else:
        for panel in _panels_of_results([compare(parts)], chosen_outputs, outputs, 1)[0]:
            title = f"regions of {feature.feature_names[0]} {panel.legend_title or ''}".strip()
            yield replace(panel, legend_title=title)


def _with_folded_label(mark: Mark) -> Mark:
    """Return a mark whose label is broken into lines."""
    if isinstance(mark, Line | Points) and mark.label:
        return replace(mark, label=folded(mark.label, BESIDE))
    return mark


def _panels_of_results(
    results: Sequence[Any], outputs: list[int], layout: str | None, columns: int
) -> tuple[list[Panel], int]:
    """Return the panels and the number of columns; several outputs of several results have a row each."""
    if layout is not None:
        check_choice("outputs", layout, OutputLayout)
    if len(outputs) == 1 or _in_one_panel(results, layout):
        return [_panel_of_result(result, outputs) for result in results], columns
    if len(results) == 1:
        return [_panel_of_result(results[0], [o]) for o in outputs], columns
    columns = min(columns, len(results))
    panels: list[Panel] = []
    for first in range(0, len(results), columns):
        row = results[first : first + columns]
        for o in outputs:
            panels += [_panel_of_result(result, [o]) for result in row]
            panels += [NO_PANEL] * (columns - len(row))
    return panels, columns


def _panel_of_result(result: Any, outputs: list[int]) -> Panel:
    """Return the panel of a result; only curves of one feature show more than the first output."""
    if isinstance(result, Comparison) and result.several_estimands:
        return comparison_panel(result, outputs[0])
    if isinstance(result, Comparison):
        return parts_panel(result.parts, outputs[0])
    n_features = len(result.feature_names)
    if n_features == 1:
        return curve_panel(result, outputs)
    if n_features == 2:
        return surface_panel(result, outputs[0])
    raise DrawingError(
        f"an effect of {n_features} features cannot be plotted; request two of them, or use to_frame()"
    )


def _in_one_panel(results: Sequence[Any], requested: str | None) -> bool:
    """Return whether outputs share a panel as colors, which is possible for averages of one feature."""
    possible = all(
        isinstance(result, (PartialDependence, AccumulatedLocalEffect))
        and len(result.feature_names) == 1
        and result.get("individual") is None
        and result.get("quantiles") is None
        for result in results
    )
    if requested == "color" and not possible:
        raise DrawingError(
            "outputs='color' is for averages of one feature each; colors have another meaning here. "
            "Pass outputs='rows', or one with output="
        )
    return requested == "color" or (requested is None and possible and _of_one_size(results))


def _of_one_size(results: Sequence[Any]) -> bool:
    """Return whether outputs can share an axis without one of them appearing flat."""
    averages = [
        result.ale if isinstance(result, AccumulatedLocalEffect) else result.average for result in results
    ]
    curves = [average for average in averages if average is not None and average.shape[1]]
    if not curves or results[0].provenance.scale in (Scale("probability"), Scale("survival")):
        return True
    heights = np.concatenate(curves, axis=1)
    if not np.isfinite(heights).all():
        return True
    ranges = np.ptp(heights, axis=1)
    return not np.ptp(heights) > FLAT * np.min(ranges, initial=np.inf, where=ranges > 0)


def _plottable_results(results: Sequence[Any], outputs: list[int]) -> tuple[list[Any], list[str]]:
    """Return the results that can be plotted, and a message for each other one; raise if there are none."""
    kept, refused = [], []
    for result in results:
        try:
            if len(result.feature_names) > 1:  # an effect of one feature always has a panel
                _panel_of_result(result, outputs[:1])
        except DrawingError as error:
            refused.append(f"{' x '.join(result.feature_names)} is not drawn: {error}")
        else:
            kept.append(result)
    if not kept:
        raise DrawingError("; ".join(refused))
    return kept, refused


def _background_lines(result: Any) -> tuple[str, ...]:
    """Return the lines that name the model and the background data of a result."""
    records = {"": result.provenance}
    if isinstance(result, Difference):
        records = result.provenances
    elif isinstance(result, Comparison) and not result.several_estimands:
        records = {name: part.provenance for name, part in result.parts.items()}
    if len(records) > 1 and all(record.group is not None for record in records.values()):
        rows = ", ".join(f"{name}: {record.rows:,}" for name, record in records.items())
        return (f"{result.provenance.model}; rows of each group: {rows}",)
    lines = {name: background_of(record) for name, record in records.items()}
    if len(set(lines.values())) == 1:
        return tuple(set(lines.values()))
    return tuple(f"{name}: {line}" for name, line in lines.items())

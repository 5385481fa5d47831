"""Sections of groups of rows, and of regions in which the curves of a feature are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from paribus._report.figures import SMALL, References, figure
from paribus._report.markup import Content, Markup, at, element, joined, name_of, share, table
from paribus._text import count, measured
from paribus.results.effects import compare
from paribus.results.group_comparison import GroupComparison, GroupDifference
from paribus.results.regions import FeatureRegions
from paribus.results.text_table import text_table

CURVES = 4  # features with a plot of the curves of all groups, at most
OVERLAID = 5  # groups in one plot, at most
METRICS = 6  # metrics in the table, at most


def group_section(refs: References) -> Markup | None:
    """Return the section of groups, None without any."""
    groups = refs.explanation.by_group
    if groups is None:
        return None
    title = "Groups"
    found = sum(one.significant for one in groups.differences)
    text = (
        "A curve of a group averages over the rows of the group, on the grid of all rows. Curves are "
        "compared apart from their levels: each is centered by its average over the data of all groups. "
        "p-values are adjusted for the points of a curve, and by Holm's method for "
        f"{count(groups.comparisons, 'comparison')}. "
        f"{found} of {count(len(groups.differences), 'effect')} differ by more than chance."
    )
    return element(
        "section",
        element("h2", title, " by ", name_of(groups.by)),
        element("p", text),
        _sizes_table(groups),
        _differences_table(refs, groups),
        *_curves(groups),
        id="groups",
        aria_label=title,
    )


def _sizes_table(groups: GroupComparison) -> Markup:
    """Return the table of rows and performance, with one line for each group."""
    names = dict.fromkeys(
        (metric.name, metric.output) for own in groups.performance.values() for metric in own.metrics
    )
    shown = list(names)[:METRICS]
    several = len({output for _, output in names}) > 1
    rows = []
    for group in groups.effects.groups:
        own = groups.performance.get(group.label)
        known = {} if own is None else {(one.name, one.output): one for one in own.metrics}
        cells = (known.get(key) for key in shown)
        numbers = ("–" if one is None else measured(one.value, one.standard_error) for one in cells)
        rows.append([name_of(group.label), f"{group.rows:,}", share(group.share), *numbers])
    heads: list[Content] = [
        joined(name, joined(", ", name_of(output or "all", 30)) if several else None)
        for name, output in shown
    ]
    caption = "Rows and performance of each group" if shown else "Rows of each group"
    return table(caption, ["Group", "Rows", "Share", *heads], rows)


def _differences_table(refs: References, groups: GroupComparison) -> Markup:
    """Return the table of the largest difference of each feature."""
    differences = groups.differences
    columns = {
        "feature": [one.feature for one in differences],
        "output": [one.output for one in differences],
        "group": [one.group for one in differences],
        "minus": [one.reference for one in differences],
        "largest difference": [one.difference for one in differences],
        "standard_error": [one.standard_error for one in differences],
        "at": [at(one.value) for one in differences],
        "p-value": [_chance(one) for one in differences],
    }
    return refs.table("Effects that differ most between groups", text_table(columns))


def _chance(one: GroupDifference) -> str:
    """Return an adjusted p-value as text."""
    if one.p_value != one.p_value:
        return "–"
    return "under 0.001" if one.p_value < 0.001 else f"{one.p_value:.2g}"


def _curves(groups: GroupComparison) -> list[Content]:
    """Return plots of the features that differ most, with the curves of the largest groups."""
    labels = sorted(groups.effects.groups, key=lambda group: -group.share)[:OVERLAID]
    kept = [group.label for group in groups.effects.groups if group in labels]
    features = dict.fromkeys(one.feature for one in groups.differences if one.significant)
    if len(kept) < 2:
        return []
    drawn = []
    for place, feature in enumerate(list(features)[:CURVES]):
        drawing = compare({label: groups.effects[label][feature] for label in kept}).figure()
        caption = joined("Partial dependence on ", name_of(feature), " in each group.")
        drawn.append(figure(replace(drawing, size=SMALL), caption, f"group-{place}"))
    return [element("div", *drawn, class_="figures")] if drawn else []


def region_section(refs: References) -> Markup | None:
    """Return the section of regions, None if they were not searched."""
    regions = refs.explanation.regions
    if regions is None:
        return None
    text = (
        "The spread of a feature is the standard deviation of its centered individual curves. It is zero "
        "without interactions. A split of the rows is selected on one half of them. It is kept if it reduces "
        "the spread of the other half by more than chance and by enough to matter. Spreads of regions are of "
        "both halves, and gains of the other half. Curves are of all rows."
    )
    split = [one for one in regions.values() if one.splits]
    none = [name for name, one in regions.items() if not one.splits]
    listed = joined(*(joined(", " * (place > 0), refs.feature(name)) for place, name in enumerate(none)))
    title = "Regions"
    return element(
        "section",
        element("h2", title),
        element("p", text),
        _regions_table(refs, split) if split else None,
        element("div", *map(_region_curves, range(len(split)), split), class_="figures") if split else None,
        element("p", "No single split was kept for ", listed, ".") if none else None,
        *(element("p", str(note), class_="small") for note in regions.notes),
        id="regions",
        aria_label=title,
        class_=None if split else "appendix",
    )


def _regions_table(refs: References, split: Sequence[FeatureRegions]) -> Markup:
    """Return the table of regions, with the spread of the curves in each."""
    regions = [(one, region) for one in split for region in one.regions]
    columns = {
        "feature": [one.feature_names[0] for one, _ in regions],
        "region": [region.text for _, region in regions],
        "rows": [region.rows for _, region in regions],
        "spread of curves": [math.sqrt(region.heterogeneity) for _, region in regions],
        "spread without regions": [math.sqrt(one.heterogeneity) for one, _ in regions],
        "spread within regions": [math.sqrt(one.heterogeneity_within) for one, _ in regions],
        "share of variance gained": [share(one.explained[0]) for one, _ in regions],
    }
    return refs.table("Regions of each feature", text_table(columns))


def _region_curves(place: int, one: FeatureRegions) -> Markup:
    """Return the plot of the curves of all regions of a feature."""
    caption = joined("Partial dependence on ", name_of(one.feature_names[0]), " in each region.")
    return figure(replace(one.curves.figure(), size=SMALL), caption, f"region-{place}")

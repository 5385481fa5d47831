"""Sections of groups of rows, and of regions in which the curves of a feature are alike."""

from __future__ import annotations

import math
from dataclasses import replace

from paribus._report.figures import SMALL, References, figure
from paribus._report.markup import (
    Content,
    Markup,
    at,
    element,
    joined,
    name_of,
    section,
    separated,
    share,
    table,
)
from paribus._text import count, measured
from paribus.results.effects import compare
from paribus.results.group_comparison import GroupComparison, GroupDifference
from paribus.results.text_table import text_table

CURVES = 4  # features with a plot of the curves of all groups, at most
OVERLAID = 5  # groups in one plot, at most
METRICS = 6  # metrics in the table, at most


def group_section(refs: References) -> Markup | None:
    """Return the section of groups, None without any."""
    groups = refs.explanation.by_group
    if groups is None:
        return None
    differences = groups.differences
    significant = sum(difference.significant for difference in differences)
    text = (
        "A curve of a group averages over the rows of the group, on the grid of all rows. Curves are "
        "compared apart from their levels: each is centered by its average over the data of all groups. "
        "p-values are adjusted for the points of a curve, and by Holm's method for "
        f"{count(groups.comparisons, 'comparison')}. "
        f"{significant} of {count(len(differences), 'effect')} differ by more than chance."
    )
    columns = {
        "feature": [difference.feature for difference in differences],
        "output": [difference.output for difference in differences],
        "group": [difference.group for difference in differences],
        "minus": [difference.reference for difference in differences],
        "largest difference": [difference.difference for difference in differences],
        "standard_error": [difference.standard_error for difference in differences],
        "at": [at(difference.value) for difference in differences],
        "p-value": [_chance(difference) for difference in differences],
    }
    return element(
        "section",
        element("h2", "Groups by ", name_of(groups.by)),
        element("p", text),
        _sizes_table(groups),
        refs.table("Effects that differ most between groups", text_table(columns)),
        *_curves(groups),
        id="groups",
        aria_label="Groups",
    )


def _sizes_table(groups: GroupComparison) -> Markup:
    """Return the table of rows and performance, with one line for each group."""
    names = dict.fromkeys(
        (metric.name, metric.output)
        for performance in groups.performance.values()
        for metric in performance.metrics
    )
    shown = list(names)[:METRICS]
    several = len({output for _, output in names}) > 1
    rows = []
    for group in groups.effects.groups:
        performance = groups.performance.get(group.label)
        metrics = {}
        if performance is not None:
            metrics = {(metric.name, metric.output): metric for metric in performance.metrics}
        row = [name_of(group.label), f"{group.rows:,}", share(group.share)]
        for name in shown:
            metric = metrics.get(name)
            row.append("–" if metric is None else measured(metric.value, metric.standard_error))
        rows.append(row)
    heads: list[Content] = [
        joined(name, joined(", ", name_of(output or "all", 30)) if several else None)
        for name, output in shown
    ]
    caption = "Rows and performance of each group" if shown else "Rows of each group"
    return table(caption, ["Group", "Rows", "Share", *heads], rows)


def _chance(difference: GroupDifference) -> str:
    """Return an adjusted p-value as text."""
    p_value = difference.p_value
    if p_value != p_value:
        return "–"
    return "under 0.001" if p_value < 0.001 else f"{p_value:.2g}"


def _curves(groups: GroupComparison) -> list[Content]:
    """Return plots of the features that differ most, with the curves of the largest groups."""
    labels = sorted(groups.effects.groups, key=lambda group: -group.share)[:OVERLAID]
    kept = [group.label for group in groups.effects.groups if group in labels]
    significant = (difference.feature for difference in groups.differences if difference.significant)
    features = list(dict.fromkeys(significant))[:CURVES]
    if len(kept) < 2 or not features:
        return []
    figures = []
    for place, feature in enumerate(features):
        drawing = compare({label: groups.effects[label][feature] for label in kept}).figure()
        caption = joined("Partial dependence on ", name_of(feature), " in each group.")
        figures.append(figure(replace(drawing, size=SMALL), caption, f"group-{place}"))
    return [element("div", *figures, class_="figures")]


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
    split = [feature for feature in regions.values() if feature.splits]
    content: list[Content] = [element("p", text)]
    if split:
        rows = [(feature, region) for feature in split for region in feature.regions]
        columns = {
            "feature": [feature.feature_names[0] for feature, _ in rows],
            "region": [region.text for _, region in rows],
            "rows": [region.rows for _, region in rows],
            "spread of curves": [math.sqrt(region.heterogeneity) for _, region in rows],
            "spread without regions": [math.sqrt(feature.heterogeneity) for feature, _ in rows],
            "spread within regions": [math.sqrt(feature.heterogeneity_within) for feature, _ in rows],
            "share of variance gained": [share(feature.explained[0]) for feature, _ in rows],
        }
        figures = []
        for place, feature in enumerate(split):
            caption = joined("Partial dependence on ", name_of(feature.feature_names[0]), " in each region.")
            figures.append(figure(replace(feature.curves.figure(), size=SMALL), caption, f"region-{place}"))
        content.append(refs.table("Regions of each feature", text_table(columns)))
        content.append(element("div", *figures, class_="figures"))
    if len(split) < len(regions):
        whole = (refs.feature(name) for name, feature in regions.items() if not feature.splits)
        content.append(element("p", "No single split was kept for ", separated(", ", whole), "."))
    content += [element("p", str(note), class_="small") for note in regions.notes]
    return section("regions", "Regions", *content, class_=None if split else "appendix")

"""Comparison section of a report: changes since an earlier explanation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from paribus._report.figures import MEDIUM, SMALL, References, figure, moved_most
from paribus._report.markup import (
    Content,
    Markup,
    element,
    facts,
    joined,
    long_text,
    name_of,
    shortened,
    table,
)
from paribus._text import NONE, brief, measured, multiple
from paribus.errors import ParibusError
from paribus.results.drift import Change, Drift, EffectDrift, point_text
from paribus.results.drift_text import NOTICEABLE, shown_rows
from paribus.results.effects import compare
from paribus.results.explanation import Explanation

BARS = 15  # features in the bar plot, at most
CURVES = 6  # features with a plot of their old and new curves, at most
PAIRS = 15  # pairs in the table, at most
ROUNDING = 1e-9  # of the spread: a smaller change counts as zero


def drift_section(refs: References, old: Explanation) -> Markup:
    """Return the section of changes from the ``old`` explanation to that of the page."""
    drift = old.compare(refs.explanation)
    moved = drift.above(0.0)
    counted = len({change.name for change in moved if change.kind == "effect"})
    errors = (
        f"Beyond the error over {'' if drift.same_data else 'rows and '}refits, {drift.refits[0]} old and "
        f"{drift.refits[1]} new ones, are {counted} of {len(drift.effects)} features."
        if drift.refits is not None
        else "The rows are the same, so that every change is one of the models."
        if drift.same_data
        else f"Beyond sampling error is what exceeds {drift.threshold():.1f} standard errors, a bound that "
        f"allows for the number of comparisons. {counted} of {len(drift.effects)} features do."
    )
    return element(
        "section",
        element("h2", "Comparison"),
        element(
            "p",
            "The change from an earlier explanation (old) to that of this page (new), at shared values and "
            "apart from a change of the level. The typical change is its root mean square over the data. ",
            errors,
        ),
        _compared_facts(drift),
        _effect_changes_table(refs, drift),
        *_drift_figures(refs, drift, old),
        _pair_changes_table(refs, drift),
        _metric_changes_table(drift),
        *(element("p", long_text(str(note)), class_="small") for note in drift.notes),
        id="comparison",
        aria_label="Comparison",
    )


def _compared_facts(drift: Drift) -> Markup:
    old, new = (drift.provenances[name] for name in ("old", "new"))
    levels = joined(
        joined(
            "; " * (place > 0),
            joined(name_of(output, 30), ": ") if len(drift.output_names) > 1 else None,
            f"{brief(drift.level_old[place])} to {brief(drift.level_new[place])}, change ",
            measured(drift.level_new[place] - drift.level_old[place], drift.level_error[place]),
        )
        for place, output in enumerate(drift.output_names)
    )
    model = "the same" if drift.same_model else joined(name_of(old.model), " to ", name_of(new.model))
    rows = "the same" if drift.same_data else f"{old.rows:,} to {new.rows:,}"
    digests = element("code", f"{old.model_digest} to {new.model_digest}")
    return facts(
        [
            ("Model", model),
            ("Rows", rows),
            ("Level (average prediction)", levels),
            ("Predictions of single rows", _row_changes(drift)),
            ("Digests of the models", digests),
        ]
    )


def _row_changes(drift: Drift) -> Content:
    """Return the text about changes of the predictions of single rows."""
    rows = drift.rows
    if rows is None:
        return "not compared: the rows differ, or were left out"
    shares = rows.share_above(NOTICEABLE * drift.spread)
    return joined(
        joined(
            "; " * (place > 0),
            joined(name_of(output, 30), ": ") if len(drift.output_names) > 1 else None,
            "typical change ",
            measured(rows.typical[place], rows.typical_error[place]),
            f", {100 * shares[place]:.3g} % of rows by more than {100 * NOTICEABLE:.3g} % of the spread",
            f" ({shown_rows(rows.change.shape[1], rows.rows)})",
        )
        for place, output in enumerate(drift.output_names)
    )


def _effect_changes_table(refs: References, drift: Drift) -> Markup:
    by_name = {one.feature: one for one in drift.effects}
    rows = []
    for change in drift.ranked():
        if change.kind == "effect":
            one, output = by_name[change.features[0]], drift.output_names.index(change.output)
            numbers = _effect_change_cells(one, change, output)
            rows.append([refs.feature(one.feature), *_output_cell(drift, change.output), *numbers])
    heads = [
        "Feature",
        *["Output"] * (len(drift.output_names) > 1),
        "Typical change",
        "Share of the spread",
        "Standard errors",
    ]
    heads += ["Largest change", "At", "Strength", "Rank"]
    return table("Effects, largest change first", heads, rows, sortable=True)


def _effect_change_cells(one: EffectDrift, change: Change, output: int) -> list[str]:
    if change.share < ROUNDING:
        return ["0", "0 %", "0", "0", NONE, _old_to_new_text(one.strengths), _old_to_new_text(one.ranks)]
    largest = measured(float(one.largest[output]), float(one.largest_error[output]))
    return [
        measured(change.change, change.standard_error),
        NONE if math.isnan(change.share) else f"{100 * change.share:.3g} %",
        multiple(change.in_errors),
        largest,
        element("bdi", shortened(point_text(one, output), 40)),
        _old_to_new_text(one.strengths),
        _old_to_new_text(one.ranks),
    ]


def _output_cell(drift: Drift, output: str) -> list[str]:
    """Return the cell with the name of the output, or no cell for a single output."""
    return [name_of(output, 30)] if len(drift.output_names) > 1 else []


def _old_to_new_text(ends: tuple[float | None, ...]) -> str:
    return " to ".join(NONE if end is None else brief(end) for end in ends)


def _drift_figures(refs: References, drift: Drift, old: Explanation) -> Iterator[Content]:
    """Yield a bar plot of the typical changes, and plots of the old and new curves that changed most."""
    largest = [float(one.typical.max(initial=0.0)) for one in drift.effects]
    if not any(size > 0 for size in largest):
        return
    output = max(range(len(drift.output_names)), key=lambda o: max(one.typical[o] for one in drift.effects))
    caption = "Typical changes, largest first, with ± 2 standard errors. The table above has the numbers."
    bars = figure(drift.figure(k=BARS, output=output), caption, "drift-bars", width=MEDIUM, readouts=True)
    yield element("div", bars, class_="pair")
    drawn = []
    for place, one in enumerate(drift.effects[:CURVES]):
        both = (old.effects.get(one.feature), refs.explanation.effects.get(one.feature))
        if one.presence == "both" and one.typical.max(initial=0.0) > 0 and None not in both:
            drawn.append(_old_and_new_curves(one, both, f"drift-{place}"))
    yield element("div", *drawn, class_="figures")


def _old_and_new_curves(one: EffectDrift, both: tuple[Any, ...], key: str) -> Markup:
    """Return the plot of the old and the new curve of a feature, for the output with the largest change."""
    output = moved_most(one.change, 1)[0]
    parts = {
        label: replace(effect, quantiles=None) for label, effect in zip(("old", "new"), both, strict=True)
    }
    caption = joined("Old and new partial dependence of ", name_of(one.feature, 40), ".")
    try:
        drawing = compare(parts).figure(output=output)
    except ParibusError as error:
        return element("p", name_of(one.feature), f" is not drawn: {error}")
    return figure(replace(drawing, size=SMALL), caption, key)


def _pair_changes_table(refs: References, drift: Drift) -> Markup | None:
    changes = [one for one in drift.ranked() if one.kind == "interaction" and one.change != 0][:PAIRS]
    rows = [
        [
            refs.features(one.features),
            *_output_cell(drift, one.output),
            brief(one.old),
            brief(one.new),
            measured(one.change, one.standard_error),
            multiple(one.in_errors),
        ]
        for one in changes
    ]
    heads = (
        "Features",
        *["Output"] * (len(drift.output_names) > 1),
        "Old strength",
        "New strength",
        "Change",
        "Standard errors",
    )
    return table(f"Interactions, largest change first, at most {PAIRS}", heads, rows) if rows else None


def _metric_changes_table(drift: Drift) -> Markup | None:
    rows = [
        [
            one.name,
            *_output_cell(drift, one.output or "all"),
            brief(one.old),
            brief(one.new),
            measured(one.new - one.old, one.standard_error),
            "same rows" if one.paired else drift.errors,
        ]
        for one in drift.metrics
    ]
    heads = ("Metric", *["Output"] * (len(drift.output_names) > 1), "Old", "New", "Change", "Standard error")
    return table("Performance", heads, rows) if rows else None

"""Comparison section of a report: changes since an earlier explanation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from paribus._report.figures import MEDIUM, SMALL, References, figure, moved_most
from paribus._report.markup import (
    Content,
    Markup,
    element,
    facts,
    joined,
    long_text,
    name_of,
    section,
    separated,
    table,
)
from paribus._text import NONE
from paribus.errors import ParibusError
from paribus.results.drift import Drift
from paribus.results.drift_text import HEADS, change_cells, changed, metric_cells, row_changes
from paribus.results.effects import compare
from paribus.results.explanation import Explanation

BARS = 15  # features in the bar plot, at most
CURVES = 6  # features with a plot of their old and new curves, at most


def drift_section(refs: References, old: Explanation) -> Markup:
    """Return the section of changes from the ``old`` explanation to that of the page."""
    drift = old.compare(refs.explanation)
    beyond = {change.name for change in drift.above(0.0) if change.kind == "effect"}
    errors = (
        "The rows are the same, so that every change is one of the models."
        if drift.same_data
        else f"Beyond sampling error is what exceeds {drift.threshold:.1f} standard errors, a bound that "
        f"allows for the number of comparisons. {len(beyond)} of {len(drift.effects)} features do."
    )
    old_record, new_record = (drift.provenances[name] for name in ("old", "new"))
    names = joined(name_of(old_record.model), " to ", name_of(new_record.model))
    rows = f"{old_record.used_rows:,} to {new_record.used_rows:,}"
    single_rows = "; ".join(row_changes(drift)) or "not compared: the rows differ, or were left out"
    digests = element("code", f"{old_record.model_digest} to {new_record.model_digest}")
    compared: list[tuple[Content, Content]] = [
        ("Model", "the same" if drift.same_model else names),
        ("Rows", "the same" if drift.same_data else rows),
        ("Predictions of single rows", single_rows),
        ("Digests of the models", digests),
    ]
    if drift.not_compared:
        features = separated(", ", (name_of(name, 40) for name in drift.not_compared))
        compared.append(("Features that only one explanation has", features))
    return section(
        "comparison",
        "Comparison",
        element(
            "p",
            "The change from an earlier explanation (old) to that of this page (new). Curves are compared at "
            "the old values, apart from a change of the level; their change is the root mean square over the "
            "old data. Deviations are standard deviations of the old predictions. ",
            errors,
        ),
        facts(compared),
        _changes_table(refs, drift),
        *_drift_figures(refs, drift, old),
        *(element("p", long_text(str(note)), class_="small") for note in drift.notes),
    )


def _changes_table(refs: References, drift: Drift) -> Markup:
    """Return the table of all changes, and of the metrics."""
    several = len(drift.output_names) > 1
    rows = [
        [
            refs.features(change.features) if change.features else change.kind,
            *[name_of(change.output, 30)] * several,
            *change_cells(change),
        ]
        for change in changed(drift)
    ]
    rows += [
        [metric.name, *[name_of(metric.output or "all", 30)] * several, *metric_cells(metric)]
        for metric in drift.metrics
    ]
    heads = [HEADS[0], *["output"] * several, *HEADS[1:]]
    cells = ([cell or NONE for cell in row] for row in rows)
    return table("Changes, largest first", [head.capitalize() for head in heads], cells, sortable=True)


def _drift_figures(refs: References, drift: Drift, old: Explanation) -> Iterator[Content]:
    """Yield a bar plot of the changes, and plots of the old and new curves that changed most."""
    if not any((effect.typical > 0).any() for effect in drift.effects):
        return
    output = max(range(len(drift.output_names)), key=lambda o: max(e.typical[o] for e in drift.effects))
    caption = "Changes of curves, largest first, with ± 2 standard errors. The table above has the numbers."
    bars = figure(drift.figure(k=BARS, output=output), caption, "drift-bars", width=MEDIUM, readouts=True)
    yield element("div", bars, class_="pair")
    drawn = []
    for place, effect in enumerate(drift.effects[:CURVES]):
        if effect.presence != "both" or not (effect.typical > 0).any():
            continue
        name = effect.feature
        curves = {
            "old": replace(old.effects[name], quantiles=None),
            "new": replace(refs.explanation.effects[name], quantiles=None),
        }
        try:
            drawing = compare(curves).figure(output=moved_most(effect.change, 1)[0])
        except ParibusError as error:
            drawn.append(element("p", name_of(name), f" is not drawn: {error}"))
        else:
            caption = joined("Old and new partial dependence of ", name_of(name, 40), ".")
            drawn.append(figure(replace(drawing, size=SMALL), caption, f"drift-{place}"))
    yield element("div", *drawn, class_="figures")

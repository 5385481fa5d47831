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
    table,
)
from paribus._text import NONE
from paribus.errors import ParibusError
from paribus.results.drift import Drift, EffectDrift
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
    return element(
        "section",
        element("h2", "Comparison"),
        element(
            "p",
            "The change from an earlier explanation (old) to that of this page (new). Curves are compared at "
            "the old values, apart from a change of the level; their change is the root mean square over the "
            "old data. Deviations are standard deviations of the old predictions. ",
            errors,
        ),
        _compared_facts(drift),
        _changes_table(refs, drift),
        *_drift_figures(refs, drift, old),
        *(element("p", long_text(str(note)), class_="small") for note in drift.notes),
        id="comparison",
        aria_label="Comparison",
    )


def _compared_facts(drift: Drift) -> Markup:
    old, new = (drift.provenances[name] for name in ("old", "new"))
    model = "the same" if drift.same_model else joined(name_of(old.model), " to ", name_of(new.model))
    rows = "the same" if drift.same_data else f"{old.used_rows:,} to {new.used_rows:,}"
    pairs: list[tuple[Content, Content]] = [
        ("Model", model),
        ("Rows", rows),
        (
            "Predictions of single rows",
            "; ".join(row_changes(drift)) or "not compared: the rows differ, or were left out",
        ),
        ("Digests of the models", element("code", f"{old.model_digest} to {new.model_digest}")),
    ]
    if drift.not_compared:
        names = joined(
            joined(", " * (place > 0), name_of(name, 40)) for place, name in enumerate(drift.not_compared)
        )
        pairs.append(("Features that only one explanation has", names))
    return facts(pairs)


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
        if effect.presence == "both" and (effect.typical > 0).any():
            pair = {"old": old, "new": refs.explanation}
            drawn.append(_old_and_new_curves(pair, effect, f"drift-{place}"))
    yield element("div", *drawn, class_="figures")


def _old_and_new_curves(pair: dict[str, Explanation], effect: EffectDrift, key: str) -> Markup:
    """Return the plot of the old and the new curve of a feature, for the output with the largest change."""
    name, output = effect.feature, moved_most(effect.change, 1)[0]
    curves = {label: replace(one.effects[name], quantiles=None) for label, one in pair.items()}
    caption = joined("Old and new partial dependence of ", name_of(name, 40), ".")
    try:
        drawing = compare(curves).figure(output=output)
    except ParibusError as error:
        return element("p", name_of(name), f" is not drawn: {error}")
    return figure(replace(drawing, size=SMALL), caption, key)

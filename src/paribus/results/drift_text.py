"""The change of a model as a table in text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from paribus._text import NONE, brief, count, measured, multiple, short, shown_of

if TYPE_CHECKING:
    from paribus.results.drift import Change, Drift, MetricDrift

SHOWN = 10  # changes in the text, and outputs
WIDEST = 40  # characters of a name
NOTICEABLE = 0.1  # standard deviations: changes of single rows that are counted
ROUNDING = 1e-9  # standard deviations: a smaller change counts as zero
HEADS = ("change of", "old", "new", "change", "in deviations", "in errors", "largest at")


def drift_lines(drift: Drift) -> list[str]:
    """Return the compared explanations, the largest changes, and the caveats."""
    old, new = (drift.provenances[name] for name in ("old", "new"))
    model = "the same model" if drift.same_model else f"{old.model} to {new.model}"
    rows = "the same rows" if drift.same_data else f"{old.used_rows:,} to {new.used_rows:,} rows"
    lines = [f"Drift, {model}, {rows}: {count(len(drift.effects), 'feature')} ({new.scale})"]
    changes = changed(drift)
    shown = shown_of(len(changes), SHOWN)
    cells = [(change.name, change.output, change_cells(change)) for change in changes[:shown]]
    cells += [(metric.name, metric.output or "", metric_cells(metric)) for metric in drift.metrics]
    table = [HEADS, *((_name(drift, name, output), *numbers) for name, output, numbers in cells)]
    table = table if cells else [("nothing has changed",)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
    lines += [f"and {count(len(changes) - shown, 'more change')}"] * (len(changes) > shown)
    lines += list(row_changes(drift))[:SHOWN]
    lines += [f"not compared: {', '.join(drift.not_compared)}"] * bool(drift.not_compared)
    return [*lines, *(f"note: {note}" for note in drift.notes)]


def changed(drift: Drift) -> list[Change]:
    """Return the changes of curves, interactions and the level, without those by rounding."""
    return [change for change in drift.ranked() if change.kind != "rows" and not change.size < ROUNDING]


def change_cells(change: Change) -> list[str]:
    """Return a change as the cells of a table."""
    size, errors = (
        NONE if math.isnan(ratio) else multiple(ratio) for ratio in (change.size, change.in_errors)
    )
    at = change.largest_at
    return [
        brief(change.old),
        brief(change.new),
        measured(change.change, change.standard_error),
        size,
        errors,
        at if len(at) <= WIDEST else f"{at[: WIDEST - 3]}...",
    ]


def metric_cells(metric: MetricDrift) -> list[str]:
    """Return the change of a metric as the cells of a table."""
    change = measured(metric.new - metric.old, metric.standard_error)
    return [brief(metric.old), brief(metric.new), change, "", "", ""]


def row_changes(drift: Drift) -> Iterator[str]:
    """Yield how much predictions of single rows change, for each output; nothing if they are not compared."""
    if drift.rows is None:
        return
    kept = drift.rows.change.shape[1]
    rows = f"{kept:,} rows" if kept == drift.rows.rows else f"{kept:,} of {drift.rows.rows:,} rows"
    shares = drift.rows.share_above(NOTICEABLE * drift.deviation)
    for change in drift.ranked():
        if change.kind == "rows":
            size = f"{measured(change.change, change.standard_error)}, {multiple(change.size)} deviations"
            share = short(100 * shares[drift.output_names.index(change.output)])
            name = _name(drift, "predictions", change.output)
            yield f"{name} of {rows}: typical change {size}; {share} % change by more than {NOTICEABLE}"


def _name(drift: Drift, name: str, output: str) -> str:
    """Return the name of a change, with its output if there are several."""
    whole = f"{name} on {output}" if output and len(drift.output_names) > 1 else name
    return whole if len(whole) <= WIDEST else f"{whole[: WIDEST - 3]}..."

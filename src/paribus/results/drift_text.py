"""The change of a model as a table in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paribus._text import at_value, count, multiple, number, shown_of, with_error

if TYPE_CHECKING:
    from paribus.results.drift import Change, Drift, EffectDrift

SHOWN = 10  # effects in the text
PAIRS = 3  # interactions
WIDEST = 40  # characters of a name
NOTICEABLE = 0.05  # of the spread: changes of single rows that are counted


def drift_lines(drift: Drift, shown: int = SHOWN) -> list[str]:
    """Return what was compared, the largest changes of each kind, and the caveats."""
    old, new = (drift.provenances[name] for name in ("old", "new"))
    model = "the same model" if drift.same_model else f"{old.model} to {new.model}"
    rows = "the same rows" if drift.same_data else f"{old.rows:,} to {new.rows:,} rows"
    lines = [f"Drift, {model}, {rows}: {count(len(drift.effects), 'feature')} ({new.scale})"]
    lines += _levels(drift) + _rows(drift)
    ranked = drift.ranked()
    effects = [one for one in ranked if one.kind == "effect"]
    some = shown_of(len(effects), shown)
    lines += _table(drift, effects[:some])
    lines += [f"and {count(len(effects) - some, 'more effect')}"] * (len(effects) > some)
    pairs = [one for one in ranked if one.kind == "interaction" and one.change != 0]
    some = shown_of(len(pairs), PAIRS)
    lines += [f"interaction {_pair(drift, one)}" for one in pairs[:some]]
    lines += [f"and {count(len(pairs) - some, 'more interaction')}"] * (len(pairs) > some)
    for metric in drift.metrics:
        of = "" if metric.output is None else _on(drift, metric.output)
        change = with_error(metric.new - metric.old, metric.standard_error)
        lines.append(f"{metric.name}{of}: {number(metric.old)} to {number(metric.new)}, change {change}")
    return [*lines, *(f"note: {note}" for note in drift.notes)]


def _on(drift: Drift, output: str) -> str:
    return f" on {output}" if len(drift.output_names) > 1 else ""


def _levels(drift: Drift) -> list[str]:
    lines = []
    for change in drift.ranked():
        if change.kind == "level":
            size = f"{with_error(change.change, change.standard_error)}, {_share(change.share)} of the spread"
            ends = f"{number(change.old)} to {number(change.new)}"
            lines.append(f"level{_on(drift, change.output)}: {ends}, change {size}")
    return lines[:SHOWN]


def _rows(drift: Drift) -> list[str]:
    """Return how much predictions of single rows change, and how many rows change noticeably."""
    if drift.rows is None:
        return []
    shares = drift.rows.share_above(NOTICEABLE * drift.spread)
    kept = shown_rows(drift.rows.change.shape[1], drift.rows.rows)
    lines = []
    for change in drift.ranked():
        if change.kind == "rows":
            size = f"{with_error(change.change, change.standard_error)}, {_share(change.share)} of the spread"
            many = _share(float(shares[drift.output_names.index(change.output)]))
            more = f"{many} of rows by more than {100 * NOTICEABLE:.3g} % of the spread"
            lines.append(f"predictions{_on(drift, change.output)} of {kept}: typical change {size}; {more}")
    return lines[:SHOWN]


def shown_rows(kept: int, rows: int) -> str:
    """Return how many rows are compared one by one.

    >>> shown_rows(2000, 2000), shown_rows(2000, 10_000)
    ('2,000 rows', '2,000 of 10,000 rows')
    """
    return f"{kept:,} rows" if kept == rows else f"{kept:,} of {rows:,} rows"


def _pair(drift: Drift, change: Change) -> str:
    size = with_error(change.change, change.standard_error)
    ends = f"strength {number(change.old)} to {number(change.new)}"
    return (
        f"{change.name}{_on(drift, change.output)}: {ends}, change {size}, "
        f"{_share(change.share)} of the spread"
    )


def _share(share: float) -> str:
    return "unknown" if np.isnan(share) else f"{100 * share:.3g} %" if np.isfinite(share) else "inf"


def _table(drift: Drift, changes: list[Change]) -> list[str]:
    """Return the effects as rows of a table."""
    by_name = {one.feature: one for one in drift.effects}
    head = ("feature", "typical change", "of spread", "in errors", "largest", "at", "strength", "rank")
    rows: list[tuple[str, ...]] = [head]
    for change in changes:
        effect = by_name[change.features[0]]
        o = drift.output_names.index(change.output)
        rows.append((_name(drift, change), *_cells(effect, change, o)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _name(drift: Drift, change: Change) -> str:
    name = change.name + _on(drift, change.output)
    return name if len(name) <= WIDEST else f"{name[: WIDEST - 3]}..."


def _cells(effect: EffectDrift, change: Change, o: int) -> tuple[str, ...]:
    """Return the numbers of one effect; `largest` is signed, the typical change is a size."""
    if np.isnan(change.change):
        return "unknown", "", "", "", "no common value", _ends(effect.strengths), _ends(effect.ranks)
    where = "missing" if effect.at[o] is None else at_value(effect.at[o])
    return (
        with_error(change.change, change.standard_error),
        _share(change.share),
        multiple(change.in_errors),
        with_error(float(effect.largest[o]), float(effect.largest_error[o])),
        where if len(where) <= WIDEST else f"{where[: WIDEST - 3]}...",
        _ends(effect.strengths),
        _ends(effect.ranks),
    )


def _ends(pair: tuple[float | None, ...]) -> str:
    return " to ".join("none" if end is None else number(end) for end in pair)

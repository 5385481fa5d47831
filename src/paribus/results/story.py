"""Results in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from paribus.results.effects import Effects
    from paribus.results.hstatistics import HStatistics, Interaction
    from paribus.results.importance import Importance
    from paribus.results.partial_dependence import PartialDependence
    from paribus.results.provenance import Provenance

SHOWN = 5  # entries of a ranking that are told


def number(value: float) -> str:
    """Return a number in four digits."""
    return f"{value:.4g}"


def at_value(value: Any) -> str:
    """Return a grid value as a person writes it."""
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]")).replace("T00:00:00", "")
    return str(value)


def effect_story(effect: PartialDependence) -> str:
    """Tell one effect in five lines: what, how it moves, over whom, the missing, how computed."""
    p = effect.provenance
    names = " x ".join(effect.feature_names)
    shape = " x ".join(str(len(values)) for values in effect.grid_values)
    lines = [
        f"PartialDependence of {p.model} on {names}: {shape} points, "
        f"{len(effect.output_names)} output{'s' * (len(effect.output_names) > 1)} ({p.scale})",
        *(f"  {line}" for line in _movements(effect)),
        f"  averaged over {p.background()}{_error(effect)}",
    ]
    if effect.missing is not None and effect.missing.average is not None:
        shown = ", ".join(number(v) for v in effect.missing.average[:3])
        lines.append(f"  missing in {effect.missing.share:.1%} of the data, where the average is {shown}")
    asked = f"{p.predictions:,} predictions, " if p.predictions else ""
    lines.append(f"  by {p.evaluator}: {p.how} ({asked}{short(p.seconds)} s)")
    lines.extend(f"  note: {note}" for note in effect.notes)
    return "\n".join(lines)


def _movements(effect: PartialDependence) -> list[str]:
    if effect.average is None:
        rows = effect.provenance.rows
        return [f"individual curves of {rows:,} rows"]
    if not effect.average.size:
        return ["no point to ask"]
    shown = [f"{name}: {_movement(effect, o)}" for o, name in enumerate(effect.output_names[:3])]
    more = len(effect.output_names) - 3
    return shown + ([f"and {more} more outputs"] if more > 0 else [])


def _movement(effect: PartialDependence, o: int) -> str:
    assert effect.average is not None
    curve = effect.average[o]
    if not np.isfinite(curve).all():
        return "not finite everywhere"
    low, high = (np.unravel_index(f(curve), curve.shape) for f in (np.argmin, np.argmax))
    if curve[low] == curve[high]:
        return f"{number(curve[low])} everywhere"
    ends = (f"{number(curve[place])} at {_where(effect, place)}" for place in (low, high))
    return "from " + " to ".join(ends)


def _where(effect: PartialDependence, place: Any) -> str:
    values = zip(effect.feature_names, effect.grid_values, place, strict=True)
    return ", ".join(f"{name} = {at_value(axis[g])}" for name, axis, g in values)


def _error(effect: PartialDependence) -> str:
    if effect.standard_error is None or not np.isfinite(effect.standard_error).any():
        return ""
    return f", standard error at most {number(float(np.nanmax(effect.standard_error)))}"


def effects_story(effects: Effects) -> str:
    """Tell many effects: the strongest five and how they were computed."""
    p = effects.provenance
    lines = [f"Effects of {p.model}: {len(effects)} effects, strongest first ({p.scale})"]
    for key, effect in list(effects.items())[:SHOWN]:
        name = key if isinstance(key, str) else " x ".join(key)
        lines.append(f"  {name}: {number(effect.strength)}")
    if len(effects) > SHOWN:
        lines.append(f"  and {len(effects) - SHOWN} more")
    lines.append(f"  averaged over {p.background()}; by {p.evaluator} ({short(p.seconds)} s)")
    lines.extend(f"  skipped: {reason}" for reason in effects.skipped)
    return "\n".join(lines)


def interactions_story(result: HStatistics) -> str:
    """Tell interactions: how much there is, the strongest five pairs, over whom and how computed."""
    p = result.provenance
    lines = [
        f"HStatistics of {p.model}: {count(len(result.pairs), 'pair')} of "
        f"{count(len(result.features), 'feature')}, strongest first ({p.scale})"
    ]
    if result.total is not None:
        lines.append(f"  total H² {_total(result)}")
    found = [entry for entry in result.strongest(None) if entry.strength != 0]
    lines.extend(f"  {_entry(result, entry)}" for entry in found[:SHOWN])
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN:,} more")
    zero = int((result.pairwise.numerator == 0).all(axis=1).sum())
    if zero:
        lines.append(f"  {exactly_zero(zero, 'pair')}")
    if result.threeway is not None:
        triples = result.strongest(3, statistic="threeway")
        lines.extend(f"  {_entry(result, entry)}" for entry in triples if entry.strength != 0)
    return "\n".join([*lines, *_how(p), *(f"  note: {note}" for note in result.notes)])


def count(size: int, noun: str) -> str:
    """Return ``"1 pair"`` or ``"12 pairs"``."""
    return f"{size:,} {noun}{'s' * (size != 1)}"


def exactly_zero(size: int, noun: str) -> str:
    """Return the line that counts what is not shown."""
    return f"{count(size, noun)} {'is' if size == 1 else 'are'} exactly zero"


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error, if it has one."""
    return f"{number(value)} ± {short(error)}" if np.isfinite(error) else number(value)


def short(value: float) -> str:
    """Return a number in two digits, or as a whole one."""
    return f"{value:.2g}" if abs(value) < 99.5 else f"{value:,.0f}"


def _total(result: HStatistics) -> str:
    entries = result.strongest(None, statistic="total")
    if len(entries) == 1:
        return with_error(entries[0].h_squared, entries[0].standard_error_h_squared)
    told = (
        f"{with_error(entry.h_squared, entry.standard_error_h_squared)} on {entry.output}"
        for entry in entries[:3]
    )
    more = len(entries) - 3
    return ", ".join(told) + (f" and {count(more, 'more output')}" if more > 0 else "")


def _entry(result: HStatistics, entry: Interaction) -> str:
    names = dict(zip(result.features, result.feature_names, strict=True))
    pair = " x ".join(names[feature] for feature in entry.features)
    on = f" on {entry.output}" if len(result.output_names) > 1 else ""
    return f"{pair}{on}: {with_error(entry.strength, entry.standard_error)} (H² {entry.h_squared:.2g})"


def _how(p: Provenance) -> list[str]:
    """Tell over whom, how well known and how computed."""
    used = p.rows if p.sampled_rows is None else p.sampled_rows
    errors = (
        f"; standard errors from {p.standard_error_rows:,} of them" if p.standard_error_rows < used else ""
    )
    asked = f"{p.predictions:,} predictions, " if p.predictions else ""
    return [
        f"  averaged over {p.background()}{errors}",
        f"  by {p.evaluator}: {p.how} ({asked}{short(p.seconds)} s)",
    ]


def importance_story(result: Importance) -> str:
    """Tell importance: the most important five, over whom and how computed."""
    p, outputs = result.provenance, len(result.output_names)
    of = f", {outputs} outputs" if outputs > 1 else ""
    lines = [
        f"Importance of {count(len(result.features), 'feature')} for {p.model} by {result.method}{of}: "
        f"{result.unit}, most important first"
    ]
    for place in result.order[:SHOWN]:
        lines.append(f"  {result.feature_names[place]}: {_sizes(result, place)}")
    if len(result.features) > SHOWN:
        lines.append(f"  and {len(result.features) - SHOWN} more")
    # What a model says of itself is over no rows of ours.
    how = _how(p)[1:] if result.method == "model" else _how(p)
    return "\n".join([*lines, *how, *(f"  note: {note}" for note in result.notes)])


def _sizes(result: Importance, place: int) -> str:
    values, errors = (np.atleast_1d(a[place]) for a in (result.values, result.standard_error))
    told = [with_error(float(v), float(e)) for v, e in zip(values, errors, strict=True)]
    if len(told) > 1:
        named = [f"{one} on {name}" for one, name in zip(told, result.output_names, strict=True)]
        return ", ".join(named[:3]) + (", ..." if len(named) > 3 else "")
    if result.with_interactions is None:
        return told[0]
    return f"{told[0]} ({number(float(result.with_interactions[place]))} with its interactions)"

"""Results in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from paribus.results.effects import Effects
    from paribus.results.partial_dependence import PartialDependence


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
    lines.append(f"  by {p.evaluator}: {p.how} ({asked}{p.seconds:.2g} s)")
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
    for key, effect in list(effects.items())[:5]:
        name = key if isinstance(key, str) else " x ".join(key)
        lines.append(f"  {name}: {number(effect.strength)}")
    if len(effects) > 5:
        lines.append(f"  and {len(effects) - 5} more")
    lines.append(f"  averaged over {p.background()}; by {p.evaluator} ({p.seconds:.2g} s)")
    lines.extend(f"  skipped: {reason}" for reason in effects.skipped)
    return "\n".join(lines)

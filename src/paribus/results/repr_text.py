"""Results in a few lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats
from paribus._text import at_value, count, exactly_zero, number, short, with_error
from paribus.results.provenance import skipped_notes

if TYPE_CHECKING:
    from paribus.results.comparison import Comparison, Comparisons
    from paribus.results.difference import Difference, Differences
    from paribus.results.effect_mapping import EffectMapping
    from paribus.results.hstatistics import HStatistics, Interaction
    from paribus.results.importance import Importance
    from paribus.results.local_effect import LocalEffect
    from paribus.results.marginal import Marginal, Marginals
    from paribus.results.overlay import Overlay, Overlays
    from paribus.results.partial_dependence import PartialDependence
    from paribus.results.provenance import Provenance

SHOWN = 5  # entries of a ranking that are shown
FEW = 10  # rows of a cell whose standard error is no more than a guess
ROUNDING = 1e-12  # of what came out: a smaller residual is none


def format_effect(effect: PartialDependence) -> str:
    """Format an effect in five lines: name, range, background data, missing values, evaluator."""
    p = effect.provenance
    names = " x ".join(effect.feature_names)
    shape = " x ".join(str(len(values)) for values in effect.grid_values)
    lines = [
        f"PartialDependence of {p.model} on {names}: {shape} points, "
        f"{count(len(effect.output_names), 'output')} ({p.scale})",
        *_movements(effect),
        f"  averaged over {p.background()}{_error(effect)}",
        *_spread(effect),
        *_between(effect),
    ]
    if effect.missing is not None and effect.missing.average is not None:
        shown = ", ".join(number(v) for v in effect.missing.average[:3])
        lines.append(f"  missing in {effect.missing.share:.1%} of the data, where the average is {shown}")
    return "\n".join([*lines, _by(p), *_remarks(effect)])


def _movements(effect: PartialDependence) -> list[str]:
    if effect.average is None:
        return [f"  individual curves of {effect.provenance.rows:,} rows"]
    if not effect.average.size:
        return ["  no grid point"]
    curves = effect.average
    return _by_output(effect, lambda o: [_moved(curves[o], effect)])


def _by_output(result: Any, describe: Callable[[int], list[str]]) -> list[str]:
    """Return the lines of the first three outputs, and how many more there are."""
    names = result.output_names
    lines = [f"  {name}: {line}" for o, name in enumerate(names[:3]) for line in describe(o)]
    return lines + ([f"  and {count(len(names) - 3, 'more output')}"] if len(names) > 3 else [])


def _strongest(results: Mapping[Any, Any], describe: Callable[[Any], str]) -> list[str]:
    """Return the lines of the first five results, and how many more there are."""
    lines = [
        f"  {key if isinstance(key, str) else ' x '.join(key)}: {describe(one)}"
        for key, one in list(results.items())[:SHOWN]
    ]
    return lines + _more(len(results))


def _more(size: int) -> list[str]:
    return [f"  and {size - SHOWN} more"] if size > SHOWN else []


def _remarks(result: Any) -> list[str]:
    return [f"  note: {note}" for note in result.notes]


def _moved(curve: Floats, effect: PartialDependence | LocalEffect | Difference) -> str:
    if not curve.size:
        return "no grid value"
    if not np.isfinite(curve).all():
        return "not finite everywhere"
    low, high = (np.unravel_index(f(curve), curve.shape) for f in (np.argmin, np.argmax))
    if curve[low] == curve[high]:
        return f"{number(curve[low])} everywhere"
    ends = (f"{number(curve[position])} at {_where(effect, position)}" for position in (low, high))
    return "from " + " to ".join(ends)


def _where(effect: PartialDependence | LocalEffect | Difference, position: Any) -> str:
    values = zip(effect.feature_names, effect.grid_values, position, strict=True)
    return ", ".join(f"{name} = {at_value(axis[g])}" for name, axis, g in values)


def _error(effect: PartialDependence | LocalEffect) -> str:
    if effect.standard_error is None or not np.isfinite(effect.standard_error).any():
        return ""
    return f", standard error at most {number(float(np.nanmax(effect.standard_error)))}"


def _spread(effect: PartialDependence) -> list[str]:
    """Format the heterogeneity of rows: the width of the widest band."""
    spread = effect.quantiles
    if spread is None or not spread.values.size:
        return []
    exact = "" if spread.rank_error == 0 else f", ranks to {100 * spread.rank_error:.2g} %"
    band = next(spread.bands(), None)
    if band is None:
        return [f"  with {len(spread.probabilities)} quantiles of the rows' curves{exact}"]
    share, low, high = band
    widest = number(float(np.max(spread.values[:, high] - spread.values[:, low])))
    return [f"  {100 * share:.4g} % of rows lie within {widest} of each other at any point{exact}"]


def _between(effect: PartialDependence | LocalEffect) -> list[str]:
    """Format the standard deviation between models."""
    spread = effect.by_model
    if spread is None or not np.isfinite(spread.standard_deviation).any():
        return []
    most = number(float(np.nanmax(spread.standard_deviation)))
    return [f"  between {len(spread.models)} models: standard deviation at most {most}"]


def format_mapping(kind: str, effects: EffectMapping[Any], done: str) -> str:
    """Format a mapping by strength: the five strongest and how they were computed."""
    p = effects.provenance
    lines = [f"{kind} of {p.model}: {count(len(effects), 'effect')}, strongest first ({p.scale})"]
    lines += _strongest(effects, lambda effect: number(effect.strength))
    lines.append(f"  {done} over {p.background()}; by {p.evaluator} ({short(p.seconds)} s)")
    lines.extend(f"  note: {note}" for note in skipped_notes(p))
    lines.extend(f"  skipped: {reason}" for reason in effects.skipped)
    return "\n".join(lines)


def format_local_effect(effect: LocalEffect) -> str:
    """Format an ALE: name, range, background data, missing values, evaluator."""
    p = effect.provenance
    shape = " x ".join(str(len(values)) for values in effect.grid_values)
    lines = [
        f"LocalEffect of {p.model} on {' x '.join(effect.feature_names)}: {shape} values, "
        f"{count(len(effect.output_names), 'output')} ({p.scale})"
    ]
    lines += _by_output(effect, lambda o: [_moved(effect.ale[o], effect)])
    lines.append(f"  accumulated over {p.background()}{_error(effect)}")
    lines.extend(_between(effect))
    if effect.missing is not None:
        shown = ", ".join(number(value) for value in effect.missing.ale[:3])
        lines.append(f"  missing in {effect.missing.share:.1%} of the data, where the effect is {shown}")
    return "\n".join([*lines, _by(p), *_remarks(effect)])


def format_marginal(marginal: Marginal) -> str:
    """Format averages near the values of one feature: range, largest residual, background data."""
    p, outputs = marginal.provenance, len(marginal.output_names)
    of = p.model if "predicted" in marginal else "what came out"
    lines = [
        f"Marginal of {of} on {marginal.feature_names[0]}: "
        f"{count(len(marginal.grid_values[0]), 'point')}, {count(outputs, 'output')} ({p.scale})"
    ]
    lines += _by_output(marginal, lambda o: _averages(marginal, o))
    beyond = f", {marginal.outside:.1%} of the weight in no cell" if marginal.outside else ""
    lines.append(f"  averaged over {p.background()}{beyond}")
    if marginal.missing is not None:
        names = [name for name in ("predicted", "observed") if name in marginal]
        shown = (f"{name} is {number(getattr(marginal.missing, name)[0])}" for name in names)
        lines.append(f"  missing in {marginal.missing.share:.1%} of the data, where {' and '.join(shown)}")
    return "\n".join([*lines, _by(p), *_remarks(marginal)])


def _averages(marginal: Marginal, o: int) -> list[str]:
    """Format the range of each average, and where residuals are largest."""
    texts = []
    for name in ("predicted", "observed"):
        if name in marginal:
            texts.append(f"{name} {_from_to(marginal, marginal[name][o])}")
    off = furthest_off(marginal, o)
    return texts + ([f"residual {off}"] if off else [])


def _from_to(marginal: Marginal, curve: Floats) -> str:
    positions = np.flatnonzero(np.isfinite(curve))
    if not len(positions):
        return "nowhere, as no cell has rows"
    low, high = (positions[f(curve[positions])] for f in (np.argmin, np.argmax))
    if curve[low] == curve[high]:
        return f"{number(curve[low])} everywhere"
    return " to ".join(
        f"{word}{number(curve[g])} at {_near(marginal, g)}" for word, g in (("from ", low), ("", high))
    )


def _near(marginal: Marginal, position: int) -> str:
    return f"{marginal.feature_names[0]} = {at_value(marginal.grid_values[0][position])}"


def furthest_off(marginal: Marginal, o: int) -> str:
    """Return the largest residual in standard errors, among cells with enough rows."""
    if "residual" not in marginal:
        return ""
    residual, error, observed = (marginal[name][o] for name in ("residual", "residual_error", "observed"))
    size, largest = np.abs(residual), np.abs(observed[np.isfinite(observed)]).max(initial=0.0)
    known = (marginal.rows >= FEW) & (error > 0) & np.isfinite(size) & (size > ROUNDING * largest)
    # Where all rows are of one class, or none is, nothing says how likely another was.
    known &= marginal["observed_error"][o] > 0
    if not known.any():
        return ""
    ratio = np.divide(size, error, out=np.zeros_like(size), where=known)
    position = int(np.argmax(ratio))
    at = with_error(float(residual[position]), float(error[position]))
    return f"{at} at {_near(marginal, position)}, {short(float(ratio[position]))} standard errors"


def format_marginals(marginals: Marginals) -> str:
    """Format averages of many features: the five strongest and their largest residuals."""
    p = marginals.provenance
    features = count(len(marginals), "feature")
    of = p.model if p.predictions else "what came out"
    lines = [f"Marginals of {of}: {features}, strongest first ({p.scale})"]
    lines += _strongest(marginals, _marginal_strength)
    lines += [f"  averaged over {p.background()}", _by(p)]
    lines += [f"  note: {note}" for note in skipped_notes(p)]
    return "\n".join([*lines, *(f"  skipped: {reason}" for reason in marginals.skipped)])


def _marginal_strength(marginal: Marginal) -> str:
    off = furthest_off(marginal, 0)
    return number(marginal.strength) + (f", residual {off}" if off else "")


def _by(p: Provenance) -> str:
    predictions = f"{p.predictions:,} predictions, " if p.predictions else ""
    return f"  by {p.evaluator}: {p.how} ({predictions}{short(p.seconds)} s)"


def format_comparison(comparison: Comparison) -> str:
    """Format a comparison: what is compared, the largest distance, and the notes."""
    parts = {"partial dependence": comparison.effect, "local effects": comparison.local}
    names = [name for name, part in {**parts, "averages": comparison.marginal}.items() if part is not None]
    lines = [
        f"Comparison of {comparison.provenance.model} on {comparison.feature_names[0]}: {', '.join(names)}"
    ]
    if comparison.difference is not None and comparison.share is not None:
        texts = zip(comparison.output_names, comparison.difference, comparison.share, strict=True)
        lines += [
            f"  {name}: local effects are up to {number(float(apart))} from it, {share:.1%} of the range"
            for name, apart, share in list(texts)[:3]
        ]
    return "\n".join([*lines, *_remarks(comparison)])


def format_comparisons(comparisons: Comparisons) -> str:
    """Format comparisons of many features: the five strongest."""
    p = comparisons.provenance
    lines = [
        f"Comparisons of {p.model}: {count(len(comparisons), 'feature')}, strongest effect first ({p.scale})"
    ]
    return "\n".join([*lines, *_strongest(comparisons, _distance)])


def _distance(one: Comparison) -> str:
    most = np.nan if one.share is None else np.nanmax(one.share, initial=-np.inf)
    apart = f", local effects {most:.1%} of the range away" if np.isfinite(most) else ""
    return f"{number(one.strength)}{apart}"


def format_overlay(overlay: Overlay) -> str:
    """Format an overlay: the range of each part, and the notes."""
    kind, names = type(next(iter(overlay.parts.values()))).__name__, overlay.output_names
    lines = [
        f"Overlay of {count(len(overlay.parts), 'part')} on {overlay.feature_names[0]}: {kind}, "
        f"{count(len(names), 'output')} ({overlay.provenance.scale})"
    ]
    for name, part in overlay.parts.items():
        for o, output in enumerate(names[:3]):
            of = f"{name}, {output}" if len(names) > 1 else name
            lines.extend(f"  {of}: {moved}" for moved in _part_moves(part, o))
    if len(names) > 3:
        lines.append(f"  and {count(len(names) - 3, 'more output')}")
    return "\n".join([*lines, *_remarks(overlay)])


def _part_moves(part: Any, o: int) -> list[str]:
    if "predicted" in part or "observed" in part:
        return _averages(part, o)
    return [_moved(part["ale" if "ale" in part else "average"][o], part)]


def format_overlays(overlays: Overlays) -> str:
    """Format overlays of many features: the five strongest, with the strength of each part."""
    parts = next(iter(overlays.values())).parts
    lines = [
        f"Overlays of {', '.join(parts)}: {count(len(overlays), 'feature')}, strongest first "
        f"({overlays.provenance.scale})"
    ]
    lines += _strongest(
        overlays, lambda one: ", ".join(f"{number(p.strength)} ({name})" for name, p in one.parts.items())
    )
    return "\n".join([*lines, *(f"  skipped: {reason}" for reason in overlays.skipped)])


def format_difference(result: Difference) -> str:
    """Describe a difference: between what, how it moves, and where it is largest, in standard errors."""
    names = result.output_names
    lines = [
        f"Difference {result.part} minus {result.reference} on {result.feature_names[0]}: {result.curve} at "
        f"{count(len(result.grid_values[0]), 'point')}, {count(len(names), 'output')} "
        f"({result.provenance.scale})"
    ]
    for o, name in enumerate(names[:3]):
        lines.append(f"  {name}: {_moved(result.difference[o], result)}")
        largest = _largest(result, o)
        lines += [f"  largest: {largest}"] if largest else []
    if len(names) > 3:
        lines.append(f"  and {count(len(names) - 3, 'more output')}")
    if result.missing_difference is not None and result.missing_error is not None:
        pairs = zip(result.missing_difference[:3].tolist(), result.missing_error[:3].tolist(), strict=True)
        lines.append(f"  at a missing value: {', '.join(with_error(*pair) for pair in pairs)}")
    return "\n".join([*lines, *_remarks(result)])


def _largest(result: Difference, o: int) -> str:
    """Describe the largest difference, where it is, and how many standard errors it is."""
    size = np.abs(result.difference[o])
    if not np.isfinite(size).any():
        return ""
    position = int(np.nanargmax(np.where(np.isfinite(size), size, np.nan)))
    value, error = float(result.difference[o, position]), float(result.standard_error[o, position])
    shown = f"{with_error(value, error)} at {_where(result, (position,))}"
    return f"{shown}, {short(abs(value) / error)} standard errors" if error > 0 else shown


def format_differences(result: Differences) -> str:
    """Describe differences at many features: the largest five."""
    first = next(iter(result.values()))
    lines = [
        f"Differences {first.part} minus {first.reference}: {count(len(result), 'feature')}, largest first "
        f"({result.provenance.scale})"
    ]
    lines += _strongest(result, _largest_of_all)
    return "\n".join([*lines, *(f"  skipped: {reason}" for reason in result.skipped)])


def _largest_of_all(result: Difference) -> str:
    size = np.abs(np.where(np.isfinite(result.difference), result.difference, 0.0))
    return _largest(result, int(size.max(axis=1).argmax())) or "not finite"


def format_interactions(result: HStatistics) -> str:
    """Format interactions: the total, the five strongest pairs, background data and evaluator."""
    p = result.provenance
    lines = [
        f"HStatistics of {p.model}: {count(len(result.pairs), 'pair')} of "
        f"{count(len(result.features), 'feature')}, strongest first ({p.scale})"
    ]
    if result.total is not None:
        lines.append(f"  total H² {_total(result)}")
    difference = [entry for entry in result.strongest(SHOWN) if entry.strength != 0]
    lines.extend(f"  {_entry(result, entry)}" for entry in difference)
    more = np.count_nonzero(result.pairwise.strength) - len(difference)
    if more:
        lines.append(f"  and {more:,} more")
    zero = int((result.pairwise.numerator == 0).all(axis=1).sum())
    if zero:
        lines.append(f"  {exactly_zero(zero, 'pair')}")
    if result.threeway is not None:
        triples = result.strongest(3, statistic="threeway")
        lines.extend(f"  {_entry(result, entry)}" for entry in triples if entry.strength != 0)
    return "\n".join([*lines, *_how(p), *_remarks(result)])


def _total(result: HStatistics) -> str:
    entries = result.strongest(None, statistic="total")
    if len(entries) == 1:
        return with_error(entries[0].h_squared, entries[0].standard_error_h_squared)
    texts = (
        f"{with_error(entry.h_squared, entry.standard_error_h_squared)} on {entry.output}"
        for entry in entries[:3]
    )
    more = len(entries) - 3
    return ", ".join(texts) + (f" and {count(more, 'more output')}" if more > 0 else "")


def _entry(result: HStatistics, entry: Interaction) -> str:
    names = dict(zip(result.features, result.feature_names, strict=True))
    pair = " x ".join(names[feature] for feature in entry.features)
    on = f" on {entry.output}" if len(result.output_names) > 1 else ""
    return f"{pair}{on}: {with_error(entry.strength, entry.standard_error)} (H² {entry.h_squared:.2g})"


def _how(p: Provenance) -> list[str]:
    """Format background data, standard error and evaluator."""
    used = p.rows if p.sampled_rows is None else p.sampled_rows
    errors = (
        f"; standard errors from {p.standard_error_rows:,} of them" if p.standard_error_rows < used else ""
    )
    return [f"  averaged over {p.background()}{errors}", _by(p)]


def format_importance(result: Importance) -> str:
    """Format importance: the five most important features, background data and evaluator."""
    p, outputs = result.provenance, len(result.output_names)
    of = f", {outputs} outputs" if outputs > 1 else ""
    lines = [
        f"Importance of {count(len(result.features), 'feature')} for {p.model} by {result.method}{of}: "
        f"{result.unit}, most important first"
    ]
    for position in result.order[:SHOWN]:
        lines.append(f"  {result.feature_names[position]}: {_sizes(result, position)}")
    lines += _more(len(result.features))
    # What a model says of itself is over no rows of ours.
    how = _how(p)[1:] if result.method == "model" else _how(p)
    return "\n".join([*lines, *how, *_remarks(result)])


def _sizes(result: Importance, position: int) -> str:
    values, errors = (np.atleast_1d(a[position]) for a in (result.values, result.standard_error))
    texts = [with_error(float(v), float(e)) for v, e in zip(values, errors, strict=True)]
    if len(texts) > 1:
        named = [f"{one} on {name}" for one, name in zip(texts, result.output_names, strict=True)]
        return ", ".join(named[:3]) + (", ..." if len(named) > 3 else "")
    if result.with_interactions is None:
        return texts[0]
    return f"{texts[0]} ({number(float(result.with_interactions[position]))} with its interactions)"

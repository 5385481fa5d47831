"""Results in a few lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.interactions import VarianceShares
from paribus._text import at_point, brief, count, exactly_zero, number, short, shown_of, with_error
from paribus._typing import Statistic
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import curves_of
from paribus.results.provenance import brute_lines, skipped_notes
from paribus.results.text_table import WIDEST, fitted, table_lines
from paribus.results.tidy import interaction_columns

if TYPE_CHECKING:
    from paribus.results.comparison import Comparison, Difference, Part
    from paribus.results.effects import Effects
    from paribus.results.groups import GroupedResults
    from paribus.results.hstatistics import HStatistics
    from paribus.results.importance import Importance
    from paribus.results.marginal import Marginal
    from paribus.results.performance import Performance
    from paribus.results.provenance import Provenance
    from paribus.results.regions import FeatureRegions, Regions

SHOWN = 5  # entries of a ranking that are shown
OUTPUTS = 3  # outputs that are shown
METRICS = 12  # rows of the table of metrics
TRIPLES = 3  # interactions of three features
FEW = 10  # rows of a cell whose standard error is no more than a guess
ROUNDING = 1e-12  # of the largest observed average: smaller residuals are rounding errors
EFFECTS = {"AccumulatedLocalEffect": " (ALE)", "Marginal": " (averages)", "Comparison": " (compared)"}
AT_MISSING = {"average": "the average", "ale": "the effect"}  # what curves are called there


def describe(result: Any) -> str:
    """Return what a result is, its main numbers, the rows and the evaluator behind them, and its caveats.

    Of a mapping, the caveats are those of the call; each of its results has its own.
    """
    name, many = type(result).__name__, hasattr(result, "skipped")
    kind = EFFECTS.get(type(next(iter(result.values()))).__name__, "") if many else ""
    head, *lines = LINES.get(name, _plain_lines)(result)
    notes = _notes_of_call(result) if many else result.notes
    lines += [f"note: {note}" for note in notes]
    lines += [f"skipped: {reason}" for reason in (result.skipped if many else ())]
    return "\n  ".join([f"{name}{kind} {head}", *lines])


def _notes_of_call(results: Any) -> list[Note]:
    placed = [note for note in results.notes if note.code is NoteCode.QUANTILES_ESTIMATED]
    return [*placed, *skipped_notes(results.provenance)]


def _head(result: Any, what: str, kind: str) -> str:
    outputs, scale = count(len(result.output_names), "output"), result.provenance.scale
    return f"{what} on {' x '.join(result.feature_names)}: {kind}, {outputs} ({scale})"


def _points(result: Part | Difference) -> str:
    sizes, between = [len(values) for values in result.grid_values], result.provenance.percentiles
    part = "" if between is None or sizes == [1] else f" between quantiles {between[0]:g} and {between[1]:g}"
    return f"{' x '.join(map(str, sizes))} point{'s' * (sizes != [1])}{part}"


def _plain_lines(result: Any) -> Iterator[str]:
    """Yield the model, the rows and the evaluator of a result without a text of its type."""
    yield f"of {_source(result.provenance)} ({result.provenance.scale})"
    yield from _how(result.provenance)


def _by_output(result: Any, lines: Callable[[int], list[str]]) -> Iterator[str]:
    """Yield the lines of the first outputs, and how many more there are."""
    size = len(result.output_names)
    shown = shown_of(size, OUTPUTS)
    for o, name in enumerate(result.output_names[:shown]):
        yield from (f"{name}: {line}" for line in lines(o))
    yield from _more(size - shown, " output")


def _more(size: int, noun: str = "") -> list[str]:
    return [f"and {size:,} more{noun}{'s' * (size > 1 and noun != '')}"] if size > 0 else []


def _effect(effect: Part) -> Iterator[str]:
    yield _head(effect, f"of {_source(effect.provenance)}", _points(effect))
    known = [name for name in curves_of(effect) if name != "residual"]
    if known:
        yield from _by_output(effect, lambda o: _curves(effect, o))
    else:
        yield f"individual curves of {count(effect.provenance.rows, 'row')}"
    yield from _quantiles(effect)
    if effect.by_model is not None and np.isfinite(effect.by_model.standard_deviation).any():
        most = number(float(np.nanmax(effect.by_model.standard_deviation)))
        yield f"between {len(effect.by_model.models)} models: standard deviation at most {most}"
    if effect.missing is not None and known:
        numbers = {AT_MISSING.get(name, name): getattr(effect.missing, name)[:OUTPUTS] for name in known}
        texts = (f"{what} is {', '.join(map(number, values))}" for what, values in numbers.items())
        yield f"missing in {effect.missing.share:.1%} of the data, where {' and '.join(texts)}"
    yield from _how(effect.provenance, _additional(effect))


def _curves(effect: Part, o: int) -> list[str]:
    """Return the range of each curve, and where residuals are largest."""
    near = "outside" in effect  # averages near a value are several curves, each under its name
    named = [(f"{name} " * near, effect[name][o]) for name in curves_of(effect) if name != "residual"]
    off = _largest_residual(effect, o)
    return [f"{name}{_range(curve, effect)}" for name, curve in named] + [f"residual {off}"] * bool(off)


def _range(curve: Floats, result: Part | Difference) -> str:
    """Return the ends of a curve or surface, and where they are; cells without rows have no average."""
    known, near = np.isfinite(curve), "outside" in result
    if not known.any():
        nothing = "nowhere finite" if curve.size else "no grid point"
        return "nowhere, as no cell has rows" if near else nothing
    lost = 0 if near else int((~known).sum())
    elsewhere = f", not finite at {lost:,} of {curve.size:,} points" if lost else ""
    places = (np.argmin(np.where(known, curve, np.inf)), np.argmax(np.where(known, curve, -np.inf)))
    low, high = (np.unravel_index(place, curve.shape) for place in places)
    if curve[low] == curve[high]:
        return f"{number(curve[low])} {'wherever it is finite' if lost else 'everywhere'}{elsewhere}"
    ends = (f"{number(curve[at])} at {_where(result, at)}" for at in (low, high))
    return f"from {' to '.join(ends)}{elsewhere}"


def _where(result: Part | Difference, position: Any) -> str:
    return at_point(result.feature_names, result.grid_values, position)


def _quantiles(effect: Part) -> Iterator[str]:
    """Yield the heterogeneity of rows: the width of the widest band."""
    spread = effect.get("quantiles")
    if spread is None or not spread.values.size:
        return
    exact = "" if spread.rank_error == 0 else f", ranks to {100 * spread.rank_error:.2g} %"
    share, low, high = next(spread.bands(), (0.0, 0, 0))
    widest = number(float(np.max(spread.values[:, high] - spread.values[:, low])))
    if share:
        yield f"{100 * share:.4g} % of rows lie within {widest} of each other at any point{exact}"
    else:
        yield f"with {len(spread.probabilities)} quantiles of the rows' curves{exact}"


def _additional(effect: Part) -> str:
    """Return how well averages are known, or how much of the data they leave out."""
    error = effect.get("standard_error")
    if error is not None and np.isfinite(error).any():
        curve, most = effect[curves_of(effect)[0]], float(np.nanmax(error))
        rounding = ROUNDING * float(np.abs(curve[np.isfinite(curve)]).max(initial=0.0))
        return f", standard error at most {number(most if most > rounding else 0.0)}"
    return f", {effect['outside']:.1%} of the weight in no cell" if effect.get("outside") else ""


def _largest_residual(marginal: Any, o: int) -> str:
    """Return the largest residual in standard errors, among cells with enough rows."""
    if "residual" not in marginal:
        return ""
    residual, error, observed = (marginal[name][o] for name in ("residual", "residual_error", "observed"))
    size, largest = np.abs(residual), np.abs(observed[np.isfinite(observed)]).max(initial=0.0)
    known = (marginal.rows >= FEW) & (error > 0) & np.isfinite(size) & (size > ROUNDING * largest)
    # Where all rows are of one class, or none is, nothing says how likely another was.
    known &= marginal["observed_error"][o] > 0
    ratio = np.divide(size, error, out=np.zeros_like(size), where=known)
    return _at(marginal, residual, error, int(np.argmax(ratio))) if known.any() else ""


def _at(result: Marginal | Difference, values: Floats, errors: Floats, position: int) -> str:
    """Return a number with its error, where it is, and how many standard errors it is."""
    value, error = float(values[position]), float(errors[position])
    text = f"{with_error(value, error)} at {_where(result, (position,))}"
    return f"{text}, {short(abs(value) / error)} standard errors" if error > 0 else text


def _source(p: Provenance) -> str:
    return "the target" if p.estimand is Estimand.MARGINAL and not p.predictions else p.model


def _how(p: Provenance, addition: str = "") -> Iterator[str]:
    """Yield the rows and the evaluator; what a model recorded of its training is over no rows of ours."""
    if p.estimand is not Estimand.TRAINING:
        done = "accumulated" if p.estimand is Estimand.ACCUMULATED_LOCAL else "averaged"
        yield f"{done} over {p.background()}{addition}"
    predictions = f"{count(p.predictions, 'prediction')}, " if p.predictions else ""
    yield f"{p.how} ({predictions}{short(p.seconds)} s)"
    yield from brute_lines(p)


def _effects(effects: Effects[Any]) -> Iterator[str]:
    first: Any = next(iter(effects.values()))
    kind, noun = type(first).__name__, "feature" if all(isinstance(key, str) for key in effects) else "effect"
    columns: dict[str, Any] = {noun: [key if isinstance(key, str) else " x ".join(key) for key in effects]}
    order, source = "strongest", f"of {_source(effects.provenance)}"
    if kind == "Difference":
        order, source = "largest", f"{first.part} minus {first.reference}"
        columns["largest difference"] = [_largest_of_all(each) for each in effects.values()]
    elif kind != "Comparison":
        columns["strength"] = [effect.strength for effect in effects.values()]
        columns["largest residual"] = [_largest_residual(effect, 0) or None for effect in effects.values()]
    elif first.several_estimands:
        columns["strength"] = [each.strength for each in effects.values()]
        columns["ALE from PD"] = [_share_apart(each) for each in effects.values()]
    else:
        source = f"of {', '.join(first.parts)}"
        columns |= {name: [each.parts[name].strength for each in effects.values()] for name in first.parts}
    yield f"{source}: {count(len(effects), noun)}, {order} first ({effects.provenance.scale})"
    yield from table_lines(columns, SHOWN)
    if kind not in ("Comparison", "Difference"):
        yield from strength_lines(effects)
        yield from _how(effects.provenance)
        yield from dict.fromkeys(note for note in effects.notes if note.code is NoteCode.ROWS_SAMPLED)


def strength_lines(effects: Effects[Any]) -> Iterator[str]:
    """Yield how strengths were computed if not over the values of all rows, and why they are absent."""
    curves = [effect for effect in effects.values() if len(effect.feature_names) == 1]
    from_points = [curve for curve in curves if getattr(curve, "strength_from", "rows") == "points"]
    known = [len(curve.grid_values[0]) for curve in from_points if np.isfinite(curve.strength)]
    if known:
        yield f"strengths from the points of each curve, at most {max(known)}"
    if any(np.isnan(curve.strength) and np.isfinite(curve.average).all() for curve in from_points):
        yield "no strength where custom_values or percentiles leave out part of the data"


def _share_apart(comparison: Comparison) -> str | None:
    """Return how far ALE is from partial dependence, as a share of the range."""
    if comparison.share is None or not np.isfinite(comparison.share).any():
        return None
    return f"{np.nanmax(comparison.share):.1%} of the range"


def _comparison(comparison: Comparison) -> Iterator[str]:
    if not comparison.several_estimands:
        yield from _parts_lines(comparison)
        return
    yield _head(comparison, f"of {comparison.provenance.model}", ", ".join(comparison.parts))
    if comparison.distance is not None and comparison.share is not None:
        apart = [
            f"ALE is up to {number(float(size))} from PD, {share:.1%} of the range"
            for size, share in zip(comparison.distance, comparison.share, strict=True)
        ]
        yield from _by_output(comparison, lambda o: [apart[o]])


def _parts_lines(comparison: Comparison) -> Iterator[str]:
    kind, names = type(next(iter(comparison.parts.values()))).__name__, comparison.output_names
    yield _head(comparison, f"of {count(len(comparison.parts), 'part')}", kind)
    shown = shown_of(len(names), OUTPUTS)
    for name, part in comparison.parts.items():
        for o, output in enumerate(names[:shown]):
            label = f"{name}, {output}" if len(names) > 1 else name
            yield from (f"{label}: {line}" for line in _curves(part, o))
    yield from _more(len(names) - shown, " output")


def _difference(result: Difference) -> Iterator[str]:
    yield _head(result, f"{result.part} minus {result.reference}", f"{result.curve} at {_points(result)}")
    yield from _by_output(result, lambda o: [_range(result.difference[o], result), *_largest(result, o)])
    if result.missing_difference is not None and result.missing_error is not None:
        pairs = zip(result.missing_difference.tolist(), result.missing_error.tolist(), strict=True)
        yield f"at a missing value: {', '.join(with_error(*pair) for pair in list(pairs)[:OUTPUTS])}"


def _largest(result: Difference, o: int) -> list[str]:
    """Return the largest difference, where it is, and how many standard errors it is."""
    curve, known = result.difference[o], np.isfinite(result.difference[o])
    if not known.any():
        return []
    position = int(np.argmax(np.where(known, np.abs(curve), -1.0)))
    return [f"largest {_at(result, curve, result.standard_error[o], position)}"]


def _largest_of_all(result: Difference) -> str:
    """Return the largest difference of all outputs, at a missing value too."""
    size = np.abs(np.where(np.isfinite(result.difference), result.difference, 0.0))
    if result.missing_difference is not None and result.missing_error is not None:
        o = int(np.argmax(np.nan_to_num(np.abs(result.missing_difference))))
        if abs(result.missing_difference[o]) > size.max():
            missing = float(result.missing_difference[o]), float(result.missing_error[o])
            return f"{with_error(*missing)} at a missing value"
    found = _largest(result, int(size.max(axis=1).argmax()))
    return found[0].removeprefix("largest ") if found else "not finite"


def explained_text(
    shares: VarianceShares,
    outputs: tuple[str, ...],
    *,
    features: int | None = None,
    pair_rows: int | None = None,
    best: str | None = None,
) -> str:
    """Return the shares as a sentence, empty for a constant prediction.

    ``features`` is the number of features explained, None for all columns. ``pair_rows`` is the number of
    sampled rows that pairs were evaluated on, and ``best`` the feature of the regions.

    >>> known = (np.array([value]) for value in (0.805, 0.01, 0.15, 0.012))
    >>> explained_text(VarianceShares(*known), ("prediction",))
    'the curves alone reproduce 80.5 % (± 1) of the variance of the prediction; pairs add 15 % (± 1.2)'
    """
    if not np.isfinite(shares.curves).any():
        return ""
    whose = {None: "the curves alone reproduce", 1: "the curve of this feature alone reproduces"}
    subject = whose.get(features, f"the curves of these {features} features alone reproduce")
    curves = _percents(shares.curves, shares.curves_error, outputs)
    text = f"{subject} {curves} of the variance of the prediction"
    if shares.pairs is not None and shares.pairs_error is not None:
        sampled = "" if pair_rows is None else f", on {count(pair_rows, 'row')}"
        text += f"; pairs add {_percents(shares.pairs, shares.pairs_error, outputs, sampled)}"
    if shares.regions is not None and shares.regions_error is not None and shares.regions.any():
        feature = "one feature" if best is None else fitted(best, WIDEST)
        text += f", or regions of {feature} {_percents(shares.regions, shares.regions_error, outputs)}"
    return text


def _percents(shares: Floats, errors: Floats, outputs: tuple[str, ...], sampled: str = "") -> str:
    """Return a share in percent with its standard error, for each of the first outputs."""
    texts = []
    for name, share, error in list(zip(outputs, 100 * shares, 100 * errors, strict=True))[:OUTPUTS]:
        known = f" (± {short(error)}{sampled})" if np.isfinite(error) and error > 0 else ""
        texts.append(
            f"{brief(share)} %{known}" + (f" for {fitted(name, WIDEST)}" if len(outputs) > 1 else "")
        )
    more = len(outputs) - OUTPUTS
    return ", ".join(texts) + (f" and {count(more, 'more output')}" if more > 0 else "")


def _interactions(result: HStatistics) -> Iterator[str]:
    p, pairs = result.provenance, count(len(result.pairs), "pair")
    yield f"of {p.model}: {pairs} of {count(len(result.features), 'feature')}, strongest first ({p.scale})"
    if result.total is not None:
        several = len(result.output_names) > 1
        totals = (
            with_error(entry.h_squared, entry.standard_error_h_squared) + f" on {entry.output}" * several
            for entry in result.strongest(OUTPUTS, statistic="total")
        )
        yield " ".join(
            [f"total H² {', '.join(totals)}", *_more(len(result.output_names) - OUTPUTS, " output")]
        )
    if result.explained is not None:
        yield from filter(None, [explained_text(result.explained, result.output_names)])
    if result.p_values is not None:
        yield tested_text(result.p_values, result.feature_names)
    yield from table_lines(pair_columns(result), SHOWN)
    zero = int((result.pairwise.numerator == 0).all(axis=1).sum())
    if zero:
        yield exactly_zero(zero, "pair")
    if result.threeway is not None:
        yield from table_lines(pair_columns(result, "threeway"), TRIPLES)
    yield from _how(p, _error_rows(p))


TESTED = 0.05  # probability of a false statement that y has an interaction of a feature


def tested_text(p_values: Floats, names: Sequence[str]) -> str:
    """Return which features interact in the target, by Bonferroni's method over features and outputs."""
    if np.isnan(p_values).all():
        return "whether y has interactions is not tested: there is a single unit of rows"
    smallest = np.nanmin(p_values, axis=1) * p_values.size
    listed = ", ".join(name for name, p in zip(names, smallest.tolist(), strict=True) if p < TESTED)
    return f"interactions that y supports, of each feature with all others: {listed or 'none'}"


def pair_columns(result: HStatistics, statistic: Statistic = "pairwise") -> dict[str, Any]:
    """Return the columns of interactions that are not zero for readers, strongest first."""
    columns = interaction_columns(result, statistic, sort=True, zeros=False)
    left_out = ("statistic", "numerator", "denominator")
    return {name: values for name, values in columns.items() if name not in left_out}


def _error_rows(p: Provenance) -> str:
    units = "" if p.standard_error_units is None else f" in {count(p.standard_error_units, 'unit')}"
    if p.standard_error_rows < p.used_rows:
        return f"; standard errors from {p.standard_error_rows:,} of them{units}"
    return f"; standard errors from {p.standard_error_units:,} units" if units else ""


def _importance(result: Importance) -> Iterator[str]:
    p, outputs = result.provenance, len(result.output_names)
    of = f", {outputs} outputs" if outputs > 1 else ""
    features = count(len(result.features), "feature")
    yield f"of {features} for {p.model} by {result.kind}{of}: {result.unit}, most important first"
    yield from table_lines(result._tables()[0].columns, SHOWN * min(outputs, OUTPUTS))
    yield from _how(p, _error_rows(p))


def _performance(result: Performance) -> Iterator[str]:
    p = result.provenance
    yield f"of {p.model}: {count(len(result.metrics), 'metric')} on the rows that it is explained on"
    yield from table_lines(result._table(), METRICS)
    yield f"averaged over {p.background()}"
    yield p.how  # in a pass of an explanation, whose time is not that of the metrics


def _feature_regions(one: FeatureRegions) -> Iterator[str]:
    yield f"of {one.provenance.model} on {one.feature_names[0]}: {count(len(one.regions), 'region')}"
    yield from one._lines()
    yield from _how(one.provenance)


def _regions(regions: Regions) -> Iterator[str]:
    yield f"of {regions.provenance.model}: {count(len(regions), 'feature')}, most heterogeneous first"
    for name, one in regions.items():
        first, *rest = one._lines()
        yield f"{name}: {first}"
        yield from (f"  {line}" for line in rest)
    yield from _how(regions.provenance)


def _groups(result: GroupedResults) -> Iterator[str]:
    """Yield the groups with their sizes, and the main numbers of each result."""
    kind = type(result.results[0]).__name__
    yield f"by {result.by}: {count(len(result), 'group')} of {_source(result.provenance)} ({kind})"
    columns = {
        "group": [group.label for group in result.groups],
        "rows": [group.rows for group in result.groups],
        "of the data": [f"{group.share:.1%}" for group in result.groups],
        "result": [_first_numbers(each) for each in result.results],
    }
    yield from table_lines(columns, len(result))


def _first_numbers(result: Any) -> str:
    """Return the main numbers of a result in a few words."""
    if hasattr(result, "grid_values"):
        return _curves(result, 0)[0]
    if hasattr(result, "effects"):
        return "strongest " + ", ".join(" x ".join(one.feature_names) for one in result.effects[:3])
    if hasattr(result, "pairs"):
        strongest = ((" x ".join(map(str, one.features)), one.strength) for one in result.strongest(3))
        return ", ".join(f"{names} {number(strength)}" for names, strength in strongest)
    named = [(result.feature_names[j], float(np.atleast_2d(result.values.T)[0, j])) for j in result.order[:3]]
    return ", ".join(f"{name} {number(value)}" for name, value in named)


LINES: dict[str, Callable[[Any], Iterator[str]]] = {
    **dict.fromkeys(("PartialDependence", "AccumulatedLocalEffect", "Marginal"), _effect),
    "Effects": _effects,
    "Comparison": _comparison,
    "Difference": _difference,
    "GroupedResults": _groups,
    "HStatistics": _interactions,
    "Importance": _importance,
    "Performance": _performance,
    "FeatureRegions": _feature_regions,
    "Regions": _regions,
}

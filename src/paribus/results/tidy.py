"""Results as long tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from paribus._contracts import Array, Floats
from paribus._typing import FrameBackend, TableKind
from paribus.errors import OptionError, check_choice

if TYPE_CHECKING:
    from paribus.results.comparison import Comparison, Comparisons
    from paribus.results.difference import Difference, Differences
    from paribus.results.effects import Effects
    from paribus.results.hstatistics import HStatistics
    from paribus.results.importance import Importance
    from paribus.results.local_effect import LocalEffect, LocalEffects
    from paribus.results.marginal import Marginal, Marginals
    from paribus.results.overlay import Overlay, Overlays
    from paribus.results.partial_dependence import PartialDependence

# Names that no feature has in the table of an effect, whichever of its tables it is.
TAKEN = ("output", "row", "average", "standard_error", "support", "prediction", "ale", "local", "local_error")
BETWEEN = "between_models"
BACKENDS: tuple[FrameBackend, ...] = get_args(FrameBackend)
Columns: TypeAlias = dict[Any, Any]  # by name, and the values of features by the position of their axis


def effect_frame(effect: PartialDependence, kind: str | None, backend: str | None) -> Any:
    """Return one effect as a long table."""
    if kind is None:
        kind = "average" if effect.average is not None else "individual"
    check_choice("kind", kind, TableKind)
    if kind not in effect:
        raise OptionError(f"kind={kind!r} was not computed; pass kind='both' to partial_dependence")
    columns = _averages(effect) if kind == "average" else _curves(effect)
    return _frame(_named(columns, _names(effect)), effect.provenance.backend, backend)


def _table(result: Any, columns: dict[str, Array], last: Mapping[str, Any] | None = None) -> Columns:
    """Return columns ``(o, g)`` of a result, below each other, with its outputs and the values of its axes.

    ``last`` is what they are at a missing value, which comes last; NaN where that is not known.
    """
    points, outputs = _points(result), len(result.output_names)
    if last is not None:
        points = [[*values.tolist(), None] for values in points]
        columns = {name: _with_last(array, last.get(name)) for name, array in columns.items()}
    size = next(iter(columns.values())).shape[1]
    return {
        "output": [name for name in result.output_names for _ in range(size)],
        **{position: _tiled(values, outputs) for position, values in enumerate(points)},
        **{name: array.ravel() for name, array in columns.items()},
    }


def _averages(effect: PartialDependence) -> Columns:
    assert effect.average is not None
    average = effect.average.reshape(len(effect.output_names), -1)
    error, missing, quantiles = effect.standard_error, effect.missing, effect.quantiles
    columns = {
        "average": average,
        "standard_error": np.full_like(average, np.nan) if error is None else error.reshape(average.shape),
        "support": np.broadcast_to(effect.support.ravel(), average.shape),
        **_between(effect),
    }
    last = None if missing is None else {**vars(missing), **_between_missing(effect)}
    for position, name in enumerate(() if quantiles is None else quantiles.names):
        assert quantiles is not None
        columns[name] = quantiles.values[:, position].reshape(average.shape)
        if last is not None and quantiles.missing is not None:
            last[name] = quantiles.missing[:, position]
    return _table(effect, columns, last)


def _between(effect: PartialDependence | LocalEffect) -> dict[str, Floats]:
    """Return the standard deviation between models where there are several."""
    refits = effect.by_model
    return (
        {} if refits is None else {BETWEEN: refits.standard_deviation.reshape(len(effect.output_names), -1)}
    )


def _between_missing(effect: PartialDependence | LocalEffect) -> dict[str, Any]:
    return {} if effect.by_model is None else {BETWEEN: effect.by_model.missing_deviation}


def _curves(effect: PartialDependence) -> Columns:
    assert effect.individual is not None
    outputs, rows = effect.individual.shape[:2]
    curves, points = effect.individual.reshape(outputs, rows, -1), _points(effect)
    if effect.missing is not None:
        points = [[*values.tolist(), None] for values in points]
        curves = _with_last(curves, effect.missing.individual)
    size = curves.shape[2]
    return {
        "output": [name for name in effect.output_names for _ in range(rows * size)],
        "row": np.tile(np.repeat(np.arange(rows), size), outputs),
        **{position: _tiled(values, outputs * rows) for position, values in enumerate(points)},
        "prediction": curves.ravel(),
    }


def _with_last(points: Array, last: Any) -> Array:
    """Append the missing point."""
    last = np.broadcast_to(np.nan if last is None else last, points.shape[:-1])
    return np.concatenate([points, last[..., None]], axis=-1)


def _points(result: Any) -> list[Any]:
    """Return the value each axis has at each point."""
    grids = np.meshgrid(*(np.arange(len(v)) for v in result.grid_values), indexing="ij")
    return [_scalars(v)[g.ravel()] for v, g in zip(result.grid_values, grids, strict=True)]


def _tiled(values: Any, times: int) -> Any:
    """Repeat values; numbers stay numpy, so that they keep their dtype, anything else becomes a list."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return np.tile(values, times)
    return list(values.tolist() if isinstance(values, np.ndarray) else values) * times


def _scalars(values: Array) -> Array:
    """Return values every frame library can hold: mixed categories as text, dates in microseconds."""
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype == object and len({type(value) for value in values}) > 1:
        return np.array([str(value) for value in values], dtype=object)
    coarse = values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as")
    return values.astype(f"{values.dtype.kind}8[us]") if coarse else values


def _names(effect: PartialDependence | LocalEffect) -> list[str]:
    """Return the features' names, kept apart from the columns that are always there."""
    quantiles = getattr(effect, "quantiles", None)
    taken = [*TAKEN, *(() if quantiles is None else quantiles.names), *_between(effect)]
    for name in effect.feature_names:
        taken.append(_free(name, taken))
    return taken[-len(effect.feature_names) :]


def _free(name: str, taken: Collection[Any]) -> str:
    while name in taken:
        name += " (feature)"
    return name


def _named(columns: Columns, names: list[str]) -> dict[str, Any]:
    """Put the names of features in for the positions of their axes."""
    return {names[key] if isinstance(key, int) else key: values for key, values in columns.items()}


def _single(result: Any, columns: Columns, backend: str | None) -> Any:
    """Return the table of one feature, whose name is none of the others."""
    names = [_free(result.feature_names[0], columns)]
    return _frame(_named(columns, names), result.provenance.backend, backend)


def _below(first: str, tables: list[Columns], result: Any, backend: str | None) -> Any:
    """Return tables of one feature below each other; their ``first`` column says which it is."""
    stacked = _stacked(tables)
    values = _alike(stacked.pop(0))
    name = _free(result.feature_names[0], stacked)
    columns = {first: stacked.pop(first), "output": stacked.pop("output"), name: values, **stacked}
    return _frame(columns, result.provenance.backend, backend)


def _many(results: Any, tables: list[Columns], backend: str | None) -> Any:
    return _frame(_stacked(tables), results.provenance.backend, backend)


def local_frame(effect: LocalEffect, backend: str | None) -> Any:
    """Return a local effect as a long table."""
    return _frame(_named(_local(effect), _names(effect)), effect.provenance.backend, backend)


def _local(effect: LocalEffect) -> Columns:
    outputs = len(effect.output_names)
    columns = {name: getattr(effect, name).reshape(outputs, -1) for name in ("ale", "standard_error")}
    if len(effect.grid_values) == 1:
        start = np.full((outputs, min(1, len(effect.grid_values[0]))), np.nan)
        columns |= {
            name: np.concatenate([start, getattr(effect, name)], axis=1) for name in ("local", "local_error")
        }
        lead = len(effect.grid_values[0]) - len(effect.support)
        support = np.concatenate([np.full(lead, np.nan), effect.support])
        columns["support"] = np.broadcast_to(support, (outputs, len(support)))
    missing = effect.missing
    last = None if missing is None else {**vars(missing), **_between_missing(effect)}
    return _table(effect, columns | _between(effect), last)


def locals_frame(effects: LocalEffects, backend: str | None) -> Any:
    """Return many local effects as one long table."""
    most = max(len(effect.feature_names) for effect in effects.values())
    numbers = ("output", "ale", "standard_error", BETWEEN)
    return _many(effects, [_long(one, _local(one), most, numbers) for one in effects.values()], backend)


def comparison_frame(comparison: Comparison, backend: str | None) -> Any:
    """Return the curves of one feature as one long table."""
    return _below("curve", [table for table, _ in _compared(comparison)], comparison, backend)


def comparisons_frame(comparisons: Comparisons, backend: str | None) -> Any:
    """Return the curves of many features as one long table."""
    tables = [
        {"curve": table.pop("curve"), **_long(part, table)}
        for comparison in comparisons.values()
        for table, part in _compared(comparison)
    ]
    return _many(comparisons, tables, backend)


def _compared(comparison: Comparison) -> Iterator[tuple[Columns, Any]]:
    """Yield the columns of each curve, and the part it is of."""
    effect, local, marginal = comparison.effect, comparison.local, comparison.marginal
    curves: list[tuple[str, Any, Any, Any]] = [
        ("partial dependence", effect, effect.average, effect.standard_error)
    ]
    if local is not None and comparison.local_offset is not None:
        laid = local.ale + comparison.local_offset[:, None]
        curves.append(("local effect", local, laid, local.standard_error))
    for name in ("predicted", "observed"):
        if marginal is not None and name in marginal:
            curves.append((name, marginal, marginal[name], marginal[f"{name}_error"]))
    for name, part, height, error in curves:
        error = np.full_like(height, np.nan) if error is None else error
        yield {"curve": [name] * height.size, **_table(part, {"height": height, "error": error})}, part


def difference_frame(difference: Difference, backend: str | None) -> Any:
    """Return the difference of two parts as a long table."""
    return _single(difference, _apart(difference), backend)


def differences_frame(difference: Differences, backend: str | None) -> Any:
    """Return the differences of two parts at many features as one long table."""
    return _many(difference, [_long(one, _apart(one)) for one in difference.values()], backend)


def _apart(difference: Difference) -> Columns:
    """Return the columns of a difference."""
    columns = {"difference": difference.difference, "standard_error": difference.standard_error}
    last = {"difference": difference.missing_difference, "standard_error": difference.missing_error}
    return _table(difference, columns, None if difference.missing_difference is None else last)


def effects_frame(effects: Effects, backend: str | None) -> Any:
    """Return many effects as one long table."""
    if any(effect.average is None for effect in effects.values()):
        raise OptionError("kind='individual' has no averages; pass kind='both' to effects()")
    most = max(len(effect.feature_names) for effect in effects.values())
    return _many(effects, [_long(effect, _averages(effect), most) for effect in effects.values()], backend)


def _long(
    result: Any, columns: Columns, most: int = 1, numbers: tuple[str, ...] | None = None
) -> dict[str, list[Any]]:
    """Return columns for features of any kind: name, value as text, and as a number where it is one.

    There are as many of each as the ``most`` features of an effect. ``numbers`` are the other columns.
    """
    size = len(columns["output"])
    long: dict[str, list[Any]] = {}
    for position in range(most):
        suffix = "" if position == 0 else f"_{position + 1}"
        known = position < len(result.feature_names)
        values = columns[position] if known else [None] * size
        ordinal = known and result.kinds[position] in ("numeric", "integer")
        long |= {
            f"feature{suffix}": [result.feature_names[position] if known else None] * size,
            f"value{suffix}": [None if v is None else str(v) for v in values],
            f"number{suffix}": [float(v) if ordinal and v is not None else np.nan for v in values],
        }
    others = (name for name in columns if not isinstance(name, int) and (numbers is None or name in numbers))
    return long | {name: list(columns[name]) for name in others}


def marginal_frame(marginal: Marginal, backend: str | None) -> Any:
    """Return averages near the values of one feature as a long table."""
    return _single(marginal, _near(marginal), backend)


def _near(marginal: Marginal) -> Columns:
    """Return the columns of the averages near the values of one feature."""
    averages = {name: marginal[name] for name in marginal.optional_keys if name in marginal}
    shape = next(iter(averages.values())).shape
    weights = {name: np.broadcast_to(marginal[name], shape) for name in ("support", "rows")}
    return _table(marginal, averages | weights, None if marginal.missing is None else vars(marginal.missing))


def marginals_frame(marginals: Marginals, backend: str | None) -> Any:
    """Return averages near the values of many features as one long table."""
    return _many(marginals, [_long(one, _near(one)) for one in marginals.values()], backend)


def overlay_frame(overlay: Overlay, backend: str | None) -> Any:
    """Return the parts of one feature as one long table."""
    tables = [_of_part(name, _part(part)) for name, part in overlay.parts.items()]
    return _below("part", tables, overlay, backend)


def overlays_frame(overlays: Overlays, backend: str | None) -> Any:
    """Return the parts of many features as one long table."""
    tables = [
        _of_part(name, _long(part, _part(part)))
        for overlay in overlays.values()
        for name, part in overlay.parts.items()
    ]
    return _many(overlays, tables, backend)


def _part(part: Any) -> Columns:
    """Return the columns of a part, by what it holds."""
    if "predicted" in part or "observed" in part:
        return _near(part)
    return _local(part) if "ale" in part else _averages(part)


def _of_part(name: str, columns: Columns) -> Columns:
    return {"part": [name] * len(columns["output"]), **columns}


def _stacked(tables: list[Columns]) -> Columns:
    """Put tables below each other; numbers that one lacks are NaN."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {
        name: [value for table in tables for value in table.get(name, [np.nan] * len(table["output"]))]
        for name in names
    }


def _alike(values: list[Any]) -> list[Any]:
    """Return values that fit in one column: numbers as they are, categories of several types as text."""
    present = [value for value in values if value is not None]
    number = all(isinstance(value, (int, float, np.number)) for value in present)
    if number or len({type(value) for value in present}) < 2:
        return values
    return [None if value is None else str(value) for value in values]


def interactions_frame(
    result: HStatistics, statistic: str | None, sort: bool, zeros: bool, backend: str | None
) -> Any:
    """Return statistics of interactions as one long table."""
    statistics = result.computed if statistic is None else (statistic,)
    parts = [_interactions(result, name, sort, zeros) for name in statistics]
    texts = ("statistic", "feature", "feature_2", "feature_3", "output")
    # Lists of text, arrays of numbers: an empty list of numbers would have no type.
    columns = {
        name: [text for part in parts for text in part[name]]
        if name in texts
        else np.concatenate([part[name] for part in parts])
        for name in parts[0]
    }
    return _frame(columns, result.provenance.backend, backend, texts)


def _interactions(result: HStatistics, statistic: str, sort: bool, zeros: bool) -> dict[str, Any]:
    ratio, groups = result.ratio(statistic), result.groups(statistic)
    strength = ratio.strength.ravel()
    kept = np.argsort(-strength, kind="stable") if sort else np.arange(strength.size)
    if not zeros:
        kept = kept[strength[kept] != 0]
    entries, outputs = (positions.tolist() for positions in np.divmod(kept, len(result.output_names)))
    # The total is of all features, and names none of them.
    members = [() if statistic == "total" else groups[entry] for entry in entries]
    numbers = {
        "strength": strength,
        "standard_error": ratio.strength_error,
        "h_squared": ratio.share,
        "standard_error_h_squared": ratio.ratio_error,
        "numerator": ratio.numerator,
        "denominator": ratio.denominator,
    }
    return {
        "statistic": [statistic] * len(members),
        "feature": [_member(result, member, 0) for member in members],
        "feature_2": [_member(result, member, 1) for member in members],
        "feature_3": [_member(result, member, 2) for member in members],
        "output": [result.output_names[o] for o in outputs],
        **{name: values.ravel()[kept] for name, values in numbers.items()},
    }


def _member(result: HStatistics, group: tuple[int, ...], position: int) -> str | None:
    return result.feature_names[group[position]] if position < len(group) else None


def importance_frame(result: Importance, backend: str | None) -> Any:
    """Return the importance of features as a table, most important first."""
    order, outputs = result.order, len(result.output_names)
    table: dict[str, Any] = {"feature": [result.feature_names[j] for j in order for _ in range(outputs)]}
    if outputs > 1:
        table["output"] = list(result.output_names) * len(order)
    columns = {
        "importance": result.values,
        "standard_error": result.standard_error,
        "with_interactions": result.with_interactions,
        "standard_error_with_interactions": result.standard_error_with_interactions,
    }
    table |= {name: values[order].ravel() for name, values in columns.items() if values is not None}
    return _frame(table, result.provenance.backend, backend)


def _frame(columns: dict[str, Any], table: str, backend: str | None, texts: tuple[str, ...] = ()) -> Any:
    """Build a native frame: as requested, else as the user's table was, else what is installed.

    Columns of ``texts`` are of text even where they hold nothing.
    """
    if backend is not None:
        check_choice("backend", backend, FrameBackend)
    installed = (name for name in BACKENDS if find_spec(name) is not None)
    chosen: Any = backend or (table if table in BACKENDS else next(installed))
    frame = nw.from_dict(columns, backend=chosen)
    empty = [nw.col(name).cast(nw.String) for name in texts if frame.schema[name] == nw.Unknown]
    return frame.with_columns(*empty).to_native()

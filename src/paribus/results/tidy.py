"""Results as long tables."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from paribus.contracts import Array, Floats
from paribus.errors import OptionError, one_of

if TYPE_CHECKING:
    from paribus.results.effects import Effects
    from paribus.results.hstatistics import HStatistics
    from paribus.results.importance import Importance
    from paribus.results.partial_dependence import PartialDependence

BACKENDS = ("pandas", "polars", "pyarrow")


def effect_frame(effect: PartialDependence, kind: str | None, backend: str | None) -> Any:
    """Return one effect as a long table."""
    if kind is None:
        kind = "average" if effect.average is not None else "individual"
    one_of("kind", kind, ("average", "individual"))
    if kind not in effect:
        raise OptionError(f"kind={kind!r} was not computed; ask partial_dependence for kind='both'")
    columns = _averages(effect) if kind == "average" else _curves(effect)
    return _frame(columns, effect.provenance.backend, backend)


def _averages(effect: PartialDependence) -> dict[str, Any]:
    assert effect.average is not None
    assert effect.standard_error is not None
    outputs = len(effect.output_names)
    points = _points(effect)
    average, error = (a.reshape(outputs, -1) for a in (effect.average, effect.standard_error))
    support = effect.support.ravel()
    if effect.missing is not None:
        points = [[*values.tolist(), None] for values in points]
        average = _with_last(average, effect.missing.average)
        error = _with_last(error, effect.missing.standard_error)
        support = np.append(support, effect.missing.support)
    size = average.shape[1]
    return {
        "output": np.repeat(np.array(effect.output_names, dtype=object), size).tolist(),
        **{name: _tiled(values, outputs) for name, values in zip(_names(effect), points, strict=True)},
        "average": average.ravel(),
        "standard_error": error.ravel(),
        "support": np.tile(support, outputs),
    }


def _curves(effect: PartialDependence) -> dict[str, Any]:
    assert effect.individual is not None
    outputs, rows = effect.individual.shape[:2]
    curves, points = effect.individual.reshape(outputs, rows, -1), _points(effect)
    if effect.missing is not None:
        points = [[*values.tolist(), None] for values in points]
        curves = _with_last(curves, effect.missing.individual)
    size = curves.shape[2]
    return {
        "output": np.repeat(np.array(effect.output_names, dtype=object), rows * size).tolist(),
        "row": np.tile(np.repeat(np.arange(rows), size), outputs),
        **{name: _tiled(v, outputs * rows) for name, v in zip(_names(effect), points, strict=True)},
        "prediction": curves.ravel(),
    }


def _with_last(points: Floats, last: Floats | None) -> Floats:
    """Append the missing point."""
    assert last is not None
    return np.concatenate([points, last[..., None]], axis=-1)


def _points(effect: PartialDependence) -> list[Any]:
    """Return the value each axis has at each point."""
    grids = np.meshgrid(*(np.arange(len(v)) for v in effect.grid_values), indexing="ij")
    return [_scalars(v)[g.ravel()] for v, g in zip(effect.grid_values, grids, strict=True)]


def _tiled(values: Any, times: int) -> Any:
    """Repeat values; numbers stay numpy, so that they keep their dtype, anything else becomes a list."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return np.tile(values, times)
    return list(values.tolist() if isinstance(values, np.ndarray) else values) * times


def _scalars(values: Array) -> Array:
    """Return values every frame library can hold: levels of several types as text, dates in microseconds."""
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype == object and len({type(value) for value in values}) > 1:
        return np.array([str(value) for value in values], dtype=object)
    coarse = values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as")
    return values.astype(f"{values.dtype.kind}8[us]") if coarse else values


def _names(effect: PartialDependence) -> list[str]:
    """Return the features' names, kept apart from the columns that are always there."""
    taken = {"output", "row", "average", "standard_error", "support", "prediction"}
    names = []
    for name in effect.feature_names:
        free = name
        while free in taken:
            free += " (feature)"
        taken.add(free)
        names.append(free)
    return names


def effects_frame(effects: Effects, backend: str | None) -> Any:
    """Return many effects as one long table."""
    most = max(len(effect.feature_names) for effect in effects.values())
    table: dict[str, list[Any]] = {}
    for effect in effects.values():
        if effect.average is None:
            raise OptionError("kind='individual' has no averages; ask effects() for kind='both'")
        columns = _averages(effect)
        for name, values in _long(effect, columns, most).items():
            table.setdefault(name, []).extend(values)
    return _frame(table, effects.provenance.backend, backend)


def _long(effect: PartialDependence, columns: dict[str, Any], most: int) -> dict[str, list[Any]]:
    size = len(columns["average"])
    long: dict[str, list[Any]] = {}
    for place in range(most):
        suffix = "" if place == 0 else f"_{place + 1}"
        if place < len(effect.feature_names):
            values = columns[_names(effect)[place]]
            long[f"feature{suffix}"] = [effect.feature_names[place]] * size
            long[f"value{suffix}"] = [None if v is None else str(v) for v in values]
            ordinal = effect.kinds[place] in ("numeric", "integer")
            long[f"number{suffix}"] = [float(v) if ordinal and v is not None else np.nan for v in values]
        else:
            long[f"feature{suffix}"] = [None] * size
            long[f"value{suffix}"] = [None] * size
            long[f"number{suffix}"] = [np.nan] * size
    for name in ("output", "average", "standard_error", "support"):
        long[name] = list(columns[name])
    return long


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
    entries, outputs = (places.tolist() for places in np.divmod(kept, len(result.output_names)))
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


def _member(result: HStatistics, group: tuple[int, ...], place: int) -> str | None:
    return result.feature_names[group[place]] if place < len(group) else None


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
    """Build a native frame: as asked, else as the user's table was, else what is installed.

    Columns of ``texts`` are of text even where they hold nothing.
    """
    if backend is not None:
        one_of("backend", backend, BACKENDS)
    installed = (name for name in BACKENDS if find_spec(name) is not None)
    chosen: Any = backend or (table if table in BACKENDS else next(installed))
    frame = nw.from_dict(columns, backend=chosen)
    empty = [nw.col(name).cast(nw.String) for name in texts if frame.schema[name] == nw.Unknown]
    return frame.with_columns(*empty).to_native()

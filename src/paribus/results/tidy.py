"""Results as long tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, get_args

import narwhals.stable.v2 as nw
import numpy as np

from paribus._typing import FrameBackend, TableKind
from paribus.contracts import Array, Floats
from paribus.errors import OptionError, one_of

if TYPE_CHECKING:
    from paribus.results.comparison import Comparison, Comparisons
    from paribus.results.difference import Difference, Differences
    from paribus.results.effects import Effects
    from paribus.results.hstatistics import HStatistics
    from paribus.results.importance import Importance
    from paribus.results.local import LocalEffect, LocalEffects
    from paribus.results.marginal import Marginal, Marginals
    from paribus.results.overlay import Overlay, Overlays
    from paribus.results.partial_dependence import PartialDependence

POINTS = ("average", "standard_error", "support")
LOCAL = ("ale", "local", "local_error")
BETWEEN = "between_models"
BACKENDS: tuple[FrameBackend, ...] = get_args(FrameBackend)


def effect_frame(effect: PartialDependence, kind: str | None, backend: str | None) -> Any:
    """Return one effect as a long table."""
    if kind is None:
        kind = "average" if effect.average is not None else "individual"
    one_of("kind", kind, TableKind)
    if kind not in effect:
        raise OptionError(f"kind={kind!r} was not computed; ask partial_dependence for kind='both'")
    columns = _averages(effect) if kind == "average" else _curves(effect)
    return _frame(columns, effect.provenance.backend, backend)


def _averages(effect: PartialDependence) -> dict[str, Any]:
    assert effect.average is not None
    outputs = len(effect.output_names)
    points = _points(effect)
    average = effect.average.reshape(outputs, -1)
    error = np.full_like(average, np.nan)
    if effect.standard_error is not None:
        error = effect.standard_error.reshape(outputs, -1)
    support = effect.support.ravel()
    if effect.missing is not None:
        points = [[*values.tolist(), None] for values in points]
        average = _with_last(average, effect.missing.average)
        none = np.full(outputs, np.nan)
        last = none if effect.missing.standard_error is None else effect.missing.standard_error
        error = _with_last(error, last)
        support = np.append(support, effect.missing.support)
    size = average.shape[1]
    return {
        "output": np.repeat(np.array(effect.output_names, dtype=object), size).tolist(),
        **{name: _tiled(values, outputs) for name, values in zip(_names(effect), points, strict=True)},
        "average": average.ravel(),
        "standard_error": error.ravel(),
        "support": np.tile(support, outputs),
        **_between(effect),
        **_quantiles(effect),
    }


def _between(effect: PartialDependence | LocalEffect) -> dict[str, Floats]:
    """Return the standard deviation between models where there are several."""
    refits = effect.refits
    if refits is None:
        return {}
    deviation = refits.standard_deviation.reshape(len(effect.output_names), -1)
    last = refits.missing_deviation
    return {BETWEEN: (deviation if last is None else _with_last(deviation, last)).ravel()}


def _quantiles(effect: PartialDependence) -> dict[str, Floats]:
    spread = effect.spread
    if spread is None:
        return {}
    values = spread.values.reshape(*spread.values.shape[:2], -1)
    values = values if spread.missing is None else _with_last(values, spread.missing)
    return {name: values[:, place].ravel() for place, name in enumerate(spread.names)}


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


def _points(effect: PartialDependence | LocalEffect) -> list[Any]:
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


def _names(effect: PartialDependence | LocalEffect) -> list[str]:
    """Return the features' names, kept apart from the columns that are always there."""
    taken = {"output", "row", "average", "standard_error", "support", "prediction", *LOCAL}
    spread = getattr(effect, "spread", None)
    taken |= set() if spread is None else set(spread.names)
    taken |= set() if effect.refits is None else {BETWEEN}
    names = []
    for name in effect.feature_names:
        free = _free(name, taken)
        taken.add(free)
        names.append(free)
    return names


def local_frame(effect: LocalEffect, backend: str | None) -> Any:
    """Return a local effect as a long table."""
    return _frame(_local(effect), effect.provenance.backend, backend)


def _local(effect: LocalEffect) -> dict[str, Any]:
    outputs, points = len(effect.output_names), _points(effect)
    columns = {name: getattr(effect, name).reshape(outputs, -1) for name in ("ale", "standard_error")}
    if len(effect.grid_values) == 1:
        start = np.full((outputs, min(1, len(effect.grid_values[0]))), np.nan)
        columns |= {
            name: np.concatenate([start, getattr(effect, name)], axis=1) for name in ("local", "local_error")
        }
        lead = len(effect.grid_values[0]) - len(effect.support)
        support = np.concatenate([np.full(lead, np.nan), effect.support])
        columns["support"] = np.repeat(support[None], outputs, axis=0)
    if effect.missing is not None:
        points = [[*values.tolist(), None] for values in points]
        last = {"ale": effect.missing.ale, "standard_error": effect.missing.standard_error}
        none = np.full(outputs, np.nan)
        last["support"] = np.full(outputs, effect.missing.support)
        columns = {name: _with_last(values, last.get(name, none)) for name, values in columns.items()}
    size = columns["ale"].shape[1]
    return {
        "output": np.repeat(np.array(effect.output_names, dtype=object), size).tolist(),
        **{name: _tiled(values, outputs) for name, values in zip(_names(effect), points, strict=True)},
        **{name: values.ravel() for name, values in columns.items()},
        **_between(effect),
    }


def locals_frame(effects: LocalEffects, backend: str | None) -> Any:
    """Return many local effects as one long table."""
    most = max(len(effect.feature_names) for effect in effects.values())
    tables = []
    for effect in effects.values():
        columns = _local(effect)
        numbers = [name for name in ("ale", "standard_error", BETWEEN) if name in columns]
        tables.append(_long(effect, columns, most, tuple(numbers)))
    return _frame(_stacked(tables), effects.provenance.backend, backend)


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += " (feature)"
    return name


def comparison_frame(comparison: Comparison, backend: str | None) -> Any:
    """Return the curves of one feature as one long table."""
    stacked = _stacked([columns for columns, _ in _compared(comparison)])
    values = _alike(stacked.pop("value"))
    name = _free(comparison.feature_names[0], stacked)
    columns = {"curve": stacked.pop("curve"), "output": stacked.pop("output"), name: values, **stacked}
    return _frame(columns, comparison.provenance.backend, backend)


def comparisons_frame(comparisons: Comparisons, backend: str | None) -> Any:
    """Return the curves of many features as one long table."""
    tables = []
    for comparison in comparisons.values():
        for columns, kind in _compared(comparison):
            curve, values = columns.pop("curve"), columns.pop("value")
            tables.append({"curve": curve, **_placed(comparison.feature_names[0], values, kind), **columns})
    return _frame(_stacked(tables), comparisons.provenance.backend, backend)


def _compared(comparison: Comparison) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the columns of each curve, that of the feature called ``value``, and the kind of its axis."""
    effect, local, marginal = comparison.effect, comparison.local, comparison.marginal
    curves: list[tuple[str, Any, Any, Any]] = [
        ("partial dependence", effect, effect.average, effect.standard_error)
    ]
    if local is not None and comparison.local_level is not None:
        laid = local.ale + comparison.local_level[:, None]
        curves.append(("local effect", local, laid, local.standard_error))
    for name in ("predicted", "observed"):
        if marginal is not None and name in marginal:
            curves.append((name, marginal, marginal[name], marginal[f"{name}_error"]))
    for name, part, height, error in curves:
        columns = {
            "curve": [name] * height.size,
            "value": _tiled(_scalars(part.grid_values[0]), len(height)),
            "output": [output for output in part.output_names for _ in part.grid_values[0]],
            "height": height.ravel(),
            "error": np.full(height.size, np.nan) if error is None else error.ravel(),
        }
        yield columns, part.kinds[0]


def difference_frame(found: Difference, backend: str | None) -> Any:
    """Return the difference of two parts as a long table."""
    own = _apart(found)
    values, output = own.pop("value"), own.pop("output")
    name = _free(found.feature_names[0], ("output", *own))
    return _frame({"output": output, name: values, **own}, found.provenance.backend, backend)


def differences_frame(found: Differences, backend: str | None) -> Any:
    """Return the differences of two parts at many features as one long table."""
    tables = []
    for one in found.values():
        own = _apart(one)
        tables.append(_placed(one.feature_names[0], own.pop("value"), one.kinds[0]) | own)
    return _frame(_stacked(tables), found.provenance.backend, backend)


def _apart(found: Difference) -> dict[str, Any]:
    """Return the columns of a difference, that of the feature called ``value``; a missing one comes last."""
    values: Any = _scalars(found.grid_values[0])
    apart, error = found.difference, found.standard_error
    if found.missing_difference is not None:
        values = [*values.tolist(), None]
        apart = _with_last(apart, found.missing_difference)
        error = _with_last(error, found.missing_error)
    return {
        "value": _tiled(values, len(apart)),
        "output": [name for name in found.output_names for _ in range(apart.shape[1])],
        "difference": apart.ravel(),
        "standard_error": error.ravel(),
    }


def effects_frame(effects: Effects, backend: str | None) -> Any:
    """Return many effects as one long table."""
    most = max(len(effect.feature_names) for effect in effects.values())
    tables = []
    for effect in effects.values():
        if effect.average is None:
            raise OptionError("kind='individual' has no averages; ask effects() for kind='both'")
        more = *_between(effect), *_quantiles(effect)
        tables.append(_long(effect, _averages(effect), most, (*POINTS, *more)))
    return _frame(_stacked(tables), effects.provenance.backend, backend)


def _long(
    effect: PartialDependence | LocalEffect, columns: dict[str, Any], most: int, numbers: tuple[str, ...]
) -> dict[str, list[Any]]:
    size = len(columns["output"])
    long: dict[str, list[Any]] = {}
    for place in range(most):
        suffix = "" if place == 0 else f"_{place + 1}"
        if place < len(effect.feature_names):
            values = columns[_names(effect)[place]]
            long |= _placed(effect.feature_names[place], values, effect.kinds[place], suffix)
        else:
            long[f"feature{suffix}"] = [None] * size
            long[f"value{suffix}"] = [None] * size
            long[f"number{suffix}"] = [np.nan] * size
    for name in ("output", *numbers):
        long[name] = list(columns[name])
    return long


def _placed(name: str, values: Any, kind: str, suffix: str = "") -> dict[str, list[Any]]:
    """Return the columns of a feature's name and its value: as text, and as a number where it is one."""
    ordinal = kind in ("numeric", "integer")
    return {
        f"feature{suffix}": [name] * len(values),
        f"value{suffix}": [None if v is None else str(v) for v in values],
        f"number{suffix}": [float(v) if ordinal and v is not None else np.nan for v in values],
    }


def marginal_frame(marginal: Marginal, backend: str | None) -> Any:
    """Return averages near the values of one feature as a long table."""
    own = _near(marginal)
    values = own.pop("value")
    name = _free(marginal.feature_names[0], own)
    columns = {"output": own.pop("output"), name: values, **own}
    return _frame(columns, marginal.provenance.backend, backend)


def _near(marginal: Marginal) -> dict[str, Any]:
    """Return the columns of one feature, its own called ``value``; that of missing ones comes last."""
    outputs, missing = len(marginal.output_names), marginal.missing
    averages = {name: marginal[name] for name in marginal.asked if name in marginal}
    values: Any = _scalars(marginal.grid_values[0])
    support, rows = marginal.support, marginal.rows
    if missing is not None:
        values = [*values.tolist(), None]
        support, rows = np.append(support, missing.support), np.append(rows, missing.rows)
        averages = {name: _with_last(array, getattr(missing, name)) for name, array in averages.items()}
    return {
        "output": [name for name in marginal.output_names for _ in range(len(rows))],
        "value": _tiled(values, outputs),
        **{name: array.ravel() for name, array in averages.items()},
        "support": np.tile(support, outputs),
        "rows": np.tile(rows, outputs),
    }


def marginals_frame(marginals: Marginals, backend: str | None) -> Any:
    """Return averages near the values of many features as one long table."""
    tables = [_long_near(marginal) for marginal in marginals.values()]
    return _frame(_stacked(tables), marginals.provenance.backend, backend)


def _long_near(marginal: Marginal) -> dict[str, Any]:
    own = _near(marginal)
    return _placed(marginal.feature_names[0], own.pop("value"), marginal.kinds[0]) | own


def overlay_frame(overlay: Overlay, backend: str | None) -> Any:
    """Return the parts of one feature as one long table."""
    stacked = _stacked([_named(name, _valued(part)) for name, part in overlay.parts.items()])
    values = _alike(stacked.pop("value"))
    name = _free(overlay.feature_names[0], stacked)
    columns = {"part": stacked.pop("part"), "output": stacked.pop("output"), name: values, **stacked}
    return _frame(columns, overlay.provenance.backend, backend)


def overlays_frame(overlays: Overlays, backend: str | None) -> Any:
    """Return the parts of many features as one long table."""
    tables = [
        _named(name, _long_part(part))
        for overlay in overlays.values()
        for name, part in overlay.parts.items()
    ]
    return _frame(_stacked(tables), overlays.provenance.backend, backend)


def _is_marginal(part: Any) -> bool:
    return "predicted" in part or "observed" in part


def _valued(part: Any) -> dict[str, Any]:
    """Return the columns of a part, that of its feature called ``value``."""
    if _is_marginal(part):
        return _near(part)
    own = _local(part) if "ale" in part else _averages(part)
    values = own.pop(_names(part)[0])
    return {"output": own.pop("output"), "value": values, **own}


def _long_part(part: Any) -> dict[str, Any]:
    if _is_marginal(part):
        return _long_near(part)
    own = _local(part) if "ale" in part else _averages(part)
    taken = "output", _names(part)[0]
    return _long(part, own, 1, tuple(name for name in own if name not in taken))


def _named(part: str, columns: dict[str, Any]) -> dict[str, Any]:
    return {"part": [part] * len(columns["output"]), **columns}


def _stacked(tables: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Put tables below each other; numbers that one lacks are NaN."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {
        name: [value for table in tables for value in table.get(name, [np.nan] * len(table["output"]))]
        for name in names
    }


def _alike(values: list[Any]) -> list[Any]:
    """Return values that fit in one column: numbers as they are, levels of several types as text."""
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
        one_of("backend", backend, FrameBackend)
    installed = (name for name in BACKENDS if find_spec(name) is not None)
    chosen: Any = backend or (table if table in BACKENDS else next(installed))
    frame = nw.from_dict(columns, backend=chosen)
    empty = [nw.col(name).cast(nw.String) for name in texts if frame.schema[name] == nw.Unknown]
    return frame.with_columns(*empty).to_native()

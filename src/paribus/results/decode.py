"""What a file holds, as a result again: each field as it was, or an error that says which is not."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from paribus.contracts import NOMINAL, Array
from paribus.evaluators.interactions import Ratio
from paribus.results.effects import Effects
from paribus.results.extrapolation import Extrapolation
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import ARRAYS, Importance
from paribus.results.local import LocalEffect, LocalEffects, LocalMissing
from paribus.results.marginal import AVERAGES, Marginal, Marginals, MissingRows
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.refits import Refits
from paribus.results.spread import Spread


def _decode_array(body: Any, dtype: str | None = None) -> Array:
    stored, shape = np.dtype(body["dtype"]), tuple(body["shape"])
    if stored.kind not in "fiubmMO" or (dtype is not None and stored != np.dtype(dtype)):
        raise ValueError(f"an array of dtype {stored} is not expected here")
    values = body["values"]
    if stored.kind == "O":
        array = np.empty(len(values), dtype=object)
        array[:] = [_decode_level(item) for item in values]
    elif stored.kind in "mM":
        array = np.array(values, dtype=np.int64).view(stored)
    else:
        array = np.array([float(v) for v in values] if stored.kind == "f" else values, dtype=stored)
    return array.reshape(shape)


def _decode_level(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    readers = {"datetime": datetime.datetime.fromisoformat, "date": datetime.date.fromisoformat}
    ((name, text),) = item.items()
    return readers[name](text)


def _floats(body: Any) -> Array | None:
    return None if body is None else _decode_array(body, "float64")


def _only(body: Any, record: type) -> dict[str, Any]:
    """Refuse fields this release does not know, or that are lacking."""
    names = {f.name for f in dataclasses.fields(record)}
    if not isinstance(body, dict) or set(body) != names:
        found = set(body) if isinstance(body, dict) else set()
        raise ValueError(f"{record.__name__} has unknown or lacking fields {sorted(found ^ names)}")
    return dict(body)


def _provenance(body: Any) -> Provenance:
    fields = _only(body, Provenance)
    fields["skipped"] = tuple(fields["skipped"])
    fields["unused_columns"] = tuple(fields["unused_columns"])
    if fields["percentiles"] is not None:
        fields["percentiles"] = tuple(fields["percentiles"])
    if fields["verified_difference"] is not None:
        fields["verified_difference"] = float(fields["verified_difference"])  # NaN was written as text
    return Provenance(**fields)


def decode_effects(body: Any) -> Effects:
    """Return many effects."""
    return Effects([decode_effect(item) for item in body["effects"]], tuple(body["skipped"]))


def decode_effect(body: Any) -> PartialDependence:
    """Return one effect."""
    fields = _only(body, PartialDependence)
    for name in ("average", "standard_error", "individual", "support", "row_weights"):
        fields[name] = _floats(fields[name])
    for name in ("feature_names", "output_names", "kinds", "ordered", "notes"):
        fields[name] = tuple(fields[name])
    fields["grid_values"] = tuple(_decode_array(item) for item in fields["grid_values"])
    fields["deciles"] = tuple(None if d is None else _decode_array(d) for d in fields["deciles"])
    if fields["missing"] is not None:
        missing = _only(fields["missing"], Missing)
        arrays = {n: _floats(missing[n]) for n in ("average", "standard_error", "individual")}
        fields["missing"] = Missing(missing["share"], missing["support"], **arrays)
    fields["spread"] = None if fields["spread"] is None else _spread(fields["spread"])
    fields["refits"] = _refits(fields["refits"])
    fields["extrapolation"] = _extrapolation(fields["extrapolation"])
    fields["provenance"] = _provenance(fields["provenance"])
    effect = PartialDependence(**fields)
    _check_shapes(effect)
    return effect


def _spread(body: Any) -> Spread:
    fields = _only(body, Spread)
    arrays = {name: _floats(fields[name]) for name in ("probabilities", "values", "missing")}
    return Spread(rank_error=float(fields["rank_error"]), **arrays)  # type: ignore[arg-type]


def _refits(body: Any) -> Refits | None:
    if body is None:
        return None
    fields = _only(body, Refits)
    arrays = {name: _decode_array(fields[name], "float64") for name in ("values", "standard_deviation")}
    return Refits(tuple(fields["models"]), missing=_floats(fields["missing"]), **arrays)


def _check_refits(refits: Refits, curve: tuple[int, ...], missing: bool) -> None:
    models = len(refits.models)
    _check_shape("values of refits", refits.values, (models, *curve))
    _check_shape("standard_deviation of refits", refits.standard_deviation, curve)
    if (refits.missing is not None) != missing:
        raise ValueError("refits at missing without that point, or the other way round")
    if refits.missing is not None:
        _check_shape("missing of refits", refits.missing, (models, curve[0]))


def _check_spread(spread: Spread, curve: tuple[int, ...], missing: bool) -> None:
    outputs, size = curve[0], len(spread.probabilities)
    _check_shape("values of spread", spread.values, (outputs, size, *curve[1:]))
    if (spread.missing is not None) != missing:
        raise ValueError("a spread at missing without that point, or the other way round")
    if spread.missing is not None:
        _check_shape("missing of spread", spread.missing, (outputs, size))


def _extrapolation(body: Any) -> Extrapolation | None:
    if body is None:
        return None
    fields = _only(body, Extrapolation)
    fields["by_point"] = _decode_array(fields["by_point"], "float64")
    fields["mask"] = None if fields["mask"] is None else _decode_array(fields["mask"], "bool")
    return Extrapolation(**fields)


def _check_shapes(effect: PartialDependence) -> None:
    """Refuse arrays that do not belong together."""
    shape = tuple(len(values) for values in effect.grid_values)
    curve = (len(effect.output_names), *shape)
    for array in (effect.average, effect.standard_error):
        if array is not None and array.shape != curve:
            raise ValueError(f"an array of shape {array.shape} where {curve} belongs")
    if effect.individual is not None and (effect.individual.shape[0], *effect.individual.shape[2:]) != curve:
        raise ValueError(f"curves of shape {effect.individual.shape} where {curve} belongs for each row")
    if effect.support.shape != shape:
        raise ValueError(f"support of shape {effect.support.shape} where {shape} belongs")
    far = effect.extrapolation
    for known in () if far is None else (far.by_point, far.mask):
        if known is not None and known.shape != shape:
            raise ValueError(f"extrapolation of shape {known.shape} where {shape} belongs")
    for name in ("feature_names", "kinds", "ordered", "deciles"):
        _check_length(name, getattr(effect, name), len(shape))
    if effect.spread is not None:
        _check_spread(effect.spread, curve, effect.missing is not None)
    if effect.refits is not None:
        _check_refits(effect.refits, curve, effect.missing is not None)
    if effect.row_weights is not None:
        rows = () if effect.individual is None else effect.individual.shape[1:2]
        _check_shape("row_weights", effect.row_weights, rows)


def decode_locals(body: Any) -> LocalEffects:
    """Return many local effects."""
    return LocalEffects([decode_local(item) for item in body["effects"]], tuple(body["skipped"]))


def decode_local(body: Any) -> LocalEffect:
    """Return one local effect."""
    fields = _only(body, LocalEffect)
    for name in ("ale", "standard_error", "local", "local_error", "support"):
        fields[name] = _floats(fields[name])
    for name, dtype in (("rows", "int64"), ("empty", "bool")):
        fields[name] = _decode_array(fields[name], dtype)
    for name in ("feature_names", "output_names", "kinds", "order", "notes"):
        fields[name] = tuple(fields[name])
    fields["grid_values"] = tuple(_decode_array(item) for item in fields["grid_values"])
    fields["strength"] = float(fields["strength"])
    if fields["missing"] is not None:
        missing = _only(fields["missing"], LocalMissing)
        arrays = {name: _decode_array(missing[name], "float64") for name in ("ale", "standard_error")}
        anchor = _anchor(missing["anchor"], fields["grid_values"][0])
        fields["missing"] = LocalMissing(missing["share"], missing["support"], anchor, **arrays)
    fields["refits"] = _refits(fields["refits"])
    fields["provenance"] = _provenance(fields["provenance"])
    effect = LocalEffect(**fields)
    _check_local(effect)
    return effect


def _anchor(item: Any, values: Array) -> Any:
    """Return one of the values of an axis: a number may be infinite, and was then written as text."""
    if values.dtype.kind == "f":
        return float(item)
    return _decode_array(item)[()] if values.dtype.kind in "mM" else _decode_level(item)


def _check_local(effect: LocalEffect) -> None:
    """Refuse arrays that do not belong together."""
    outputs, nodes = len(effect.output_names), tuple(len(values) for values in effect.grid_values)
    steps = tuple(max(0, size - 1) for size in nodes)
    cells = tuple(
        size if kind in NOMINAL else step for size, step, kind in zip(nodes, steps, effect.kinds, strict=True)
    )
    for name, shape in (("ale", nodes), ("standard_error", nodes), ("local", steps), ("local_error", steps)):
        _check_shape(name, getattr(effect, name), (outputs, *shape))
    for name, shape in (("support", cells), ("rows", cells), ("empty", steps)):
        _check_shape(name, getattr(effect, name), shape)
    _check_length("feature_names", effect.feature_names, len(nodes))
    _check_length("order", effect.order, len(nodes))
    if effect.refits is not None:
        _check_refits(effect.refits, (outputs, *nodes), effect.missing is not None)


def decode_marginals(body: Any) -> Marginals:
    """Return averages near the values of many features."""
    return Marginals([decode_marginal(item) for item in body["effects"]], tuple(body["skipped"]))


def decode_marginal(body: Any) -> Marginal:
    """Return averages near the values of one feature."""
    fields = _only(body, Marginal)
    for name in (*AVERAGES, "support"):
        fields[name] = _floats(fields[name])
    fields["rows"] = _decode_array(fields["rows"], "int64")
    for name in ("feature_names", "output_names", "kinds", "ordered", "notes"):
        fields[name] = tuple(fields[name])
    fields["grid_values"] = tuple(_decode_array(item) for item in fields["grid_values"])
    fields["deciles"] = tuple(None if d is None else _decode_array(d) for d in fields["deciles"])
    fields["strength"] = float(fields["strength"])  # NaN was written as text
    if fields["missing"] is not None:
        missing = _only(fields["missing"], MissingRows)
        fields["missing"] = MissingRows(**missing | {name: _floats(missing[name]) for name in AVERAGES})
    fields["provenance"] = _provenance(fields["provenance"])
    marginal = Marginal(**fields)
    _check_marginal(marginal)
    return marginal


def _check_marginal(marginal: Marginal) -> None:
    """Refuse arrays that do not belong together."""
    for name in ("feature_names", "kinds", "ordered", "grid_values", "deciles"):
        _check_length(name, getattr(marginal, name), 1)
    points, outputs = len(marginal.grid_values[0]), len(marginal.output_names)
    _check_shape("support", marginal.support, (points,))
    _check_shape("rows", marginal.rows, (points,))
    for name in AVERAGES:
        array = getattr(marginal, name)
        if array is not None:
            _check_shape(name, array, (outputs, points))
        if marginal.missing is not None:
            own = getattr(marginal.missing, name)
            if (own is None) != (array is None):
                raise ValueError(f"{name} of missing values is not that of the others")
            if own is not None:
                _check_shape(f"{name} of missing values", own, (outputs,))


def decode_interactions(body: Any) -> HStatistics:
    """Return statistics of interactions."""
    fields = _only(body, HStatistics)
    for name in ("features", "feature_names", "output_names", "notes"):
        fields[name] = tuple(fields[name])
    for name in ("pairs", "triples"):
        fields[name] = tuple(tuple(group) for group in fields[name])
    for name in ("main_effect", "pairwise"):
        fields[name] = _ratio(fields[name])
    for name in ("overall", "threeway", "total"):
        fields[name] = None if fields[name] is None else _ratio(fields[name])
    fields["variance"] = _decode_array(fields["variance"], "float64")
    fields["provenance"] = _provenance(fields["provenance"])
    result = HStatistics(**fields)
    _check_interactions(result)
    return result


def _ratio(body: Any) -> Ratio:
    fields = _only(body, Ratio)
    return Ratio(**{name: _decode_array(array, "float64") for name, array in fields.items()})


def _check_interactions(result: HStatistics) -> None:
    """Refuse statistics of other features, or of another number of outputs, than the result's."""
    size, outputs = len(result.features), len(result.output_names)
    _check_length("feature_names", result.feature_names, size)
    _check_shape("variance", result.variance, (outputs,))
    _check_ratio("main_effect", result.main_effect, (size, outputs))
    for statistic in result.computed:
        _check_ratio(statistic, result.ratio(statistic), (len(result.groups(statistic)), outputs))
    _check_places("pairs", result.pairs, 2, size)
    _check_places("triples", result.triples, 3, size)
    if result.threeway is None and result.triples:
        raise ValueError("triples without their statistic")


def _check_ratio(name: str, ratio: Ratio, shape: tuple[int, ...]) -> None:
    for field in dataclasses.fields(ratio):
        _check_shape(f"{field.name} of {name}", getattr(ratio, field.name), shape)


def _check_places(name: str, groups: Iterable[tuple[Any, ...]], ways: int, size: int) -> None:
    places = range(size)
    for group in groups:
        if len(group) != ways or not all(type(place) is int and place in places for place in group):
            raise ValueError(f"{name} holds {group}, which is not {ways} places among {size} features")


def decode_importance(body: Any) -> Importance:
    """Return the importance of features."""
    fields = _only(body, Importance)
    fields["features"] = tuple(tuple(g) if isinstance(g, list) else g for g in fields["features"])
    for name in ("feature_names", "output_names", "notes"):
        fields[name] = tuple(fields[name])
    for name in ARRAYS:
        fields[name] = _floats(fields[name])
    fields["provenance"] = _provenance(fields["provenance"])
    result = Importance(**fields)
    _check_importance(result)
    return result


def _check_importance(result: Importance) -> None:
    """Refuse arrays of another number of features or outputs."""
    size, outputs = len(result.features), len(result.output_names)
    _check_length("feature_names", result.feature_names, size)
    shape = (size,) if outputs == 1 else (size, outputs)
    _check_shape("values", result.values, shape)
    _check_shape("standard_error", result.standard_error, shape)
    for name in ("with_interactions", "standard_error_with_interactions"):
        array = getattr(result, name)
        if array is not None:
            _check_shape(name, array, shape)
    if result.repeats is not None:
        _check_shape("repeats", result.repeats, (size, result.repeats.shape[-1]))


def _check_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} of shape {array.shape} where {shape} belongs")


def _check_length(name: str, values: tuple[Any, ...], size: int) -> None:
    if len(values) != size:
        raise ValueError(f"{len(values)} {name} where {size} belong")


DECODERS: dict[Any, Callable[[Any], Any]] = {
    "PartialDependence": decode_effect,
    "Effects": decode_effects,
    "LocalEffect": decode_local,
    "LocalEffects": decode_locals,
    "Marginal": decode_marginal,
    "Marginals": decode_marginals,
    "HStatistics": decode_interactions,
    "Importance": decode_importance,
}

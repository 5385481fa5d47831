"""Results on disk: versioned JSON that comes back bit for bit, or is refused."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from paribus.contracts import Array
from paribus.errors import FormatError
from paribus.results.effects import Effects
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance

FORMAT = "paribus"
VERSION = 1


def save(result: PartialDependence | Effects, path: str | PathLike[str]) -> None:
    """Write a result as JSON."""
    body = _encode_result(result)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(result).__name__,
        "digest": _digest(body),
        "result": body,
    }
    Path(path).write_text(json.dumps(document, allow_nan=False), encoding="utf-8")


def same(one: PartialDependence | Effects, other: PartialDependence | Effects) -> bool:
    """Tell whether two results are the same bit for bit."""
    return bool(_encode_result(one) == _encode_result(other))


def _digest(body: Any) -> str:
    """Return what tells a file that was changed after it was saved."""
    return hashlib.sha256(json.dumps(body, allow_nan=False, sort_keys=True).encode()).hexdigest()


def load(path: str | PathLike[str]) -> PartialDependence | Effects:
    """Read a saved result, without the model or the data.

    Parameters
    ----------
    path : str or path
        A file written by ``save()`` of a result.

    Returns
    -------
    PartialDependence or Effects
        Equal to what was saved, bit for bit.

    Raises
    ------
    FormatError
        When the file is not a paribus result, or of a version this release does not know.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, paribus
    >>> effect = paribus.partial_dependence(lambda X: X[:, 0] ** 2, np.arange(6.0).reshape(3, 2), 0)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "effect.json"
    >>> effect.save(path)
    >>> np.array_equal(paribus.load(path).average, effect.average)
    True
    """
    document = _read(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{path} is not a result saved by paribus")
    if document.get("version") != VERSION:
        raise FormatError(
            f"{path} has format version {document.get('version')!r}; this release reads version {VERSION}"
        )
    kinds: dict[Any, Callable[[Any], PartialDependence | Effects]] = {
        "PartialDependence": _decode_effect,
        "Effects": _decode_effects,
    }
    kind = document.get("kind")
    if kind not in kinds:
        raise FormatError(f"{path} holds a {kind!r}; this release knows {', '.join(kinds)}")
    if document.get("digest") != _digest(document.get("result")):
        raise FormatError(f"{path} is damaged, or was changed after it was saved")
    try:
        return kinds[kind](document["result"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise FormatError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _read(path: str | PathLike[str]) -> Any:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not a result saved by paribus: {error}") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path} is not a result saved by paribus: {error}") from error


def _encode_result(result: PartialDependence | Effects) -> dict[str, Any]:
    if isinstance(result, Effects):
        effects = [_encode_record(effect) for effect in result.values()]
        return {"effects": effects, "skipped": list(result.skipped)}
    return _encode_record(result)


def _encode_record(record: Any) -> dict[str, Any]:
    """Encode a dataclass field by field."""
    return {f.name: _encode(getattr(record, f.name)) for f in dataclasses.fields(record)}


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return _encode_record(value)
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _encode(item) for key, item in value.items()}
    return _encode_scalar(value)


def _encode_scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # "nan", "inf", "-inf": JSON has no such numbers
    if isinstance(value, datetime.date):
        name = "datetime" if isinstance(value, datetime.datetime) else "date"
        return {name: value.isoformat()}
    return value


def _encode_array(array: Array) -> dict[str, Any]:
    """Encode dtype, shape and values; Python writes every double so that it reads back the same."""
    flat = array.ravel()
    values = flat.view(np.int64) if array.dtype.kind in "mM" else flat
    return {
        "dtype": "object" if array.dtype == object else array.dtype.str,
        "shape": list(array.shape),
        "values": [_encode_scalar(item) for item in values.tolist()],
    }


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


def _decode_effects(body: Any) -> Effects:
    return Effects([_decode_effect(item) for item in body["effects"]], tuple(body["skipped"]))


def _decode_effect(body: Any) -> PartialDependence:
    fields = _only(body, PartialDependence)
    for name in ("average", "standard_error", "individual", "support"):
        fields[name] = _floats(fields[name])
    for name in ("feature_names", "output_names", "kinds", "notes"):
        fields[name] = tuple(fields[name])
    fields["grid_values"] = tuple(_decode_array(item) for item in fields["grid_values"])
    fields["deciles"] = tuple(None if d is None else _decode_array(d) for d in fields["deciles"])
    if fields["missing"] is not None:
        missing = _only(fields["missing"], Missing)
        arrays = {n: _floats(missing[n]) for n in ("average", "standard_error", "individual")}
        fields["missing"] = Missing(missing["share"], missing["support"], **arrays)
    provenance = _only(fields["provenance"], Provenance)
    provenance["percentiles"] = tuple(provenance["percentiles"])
    fields["provenance"] = Provenance(**provenance)
    effect = PartialDependence(**fields)
    _check_shapes(effect)
    return effect


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
    if not len(effect.feature_names) == len(effect.kinds) == len(effect.deciles) == len(shape):
        raise ValueError("names, kinds and deciles of another number of axes")

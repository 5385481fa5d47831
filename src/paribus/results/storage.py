"""Results on disk: versioned JSON that comes back bit for bit, or is refused."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from paribus.contracts import Array
from paribus.errors import FormatError
from paribus.results.effects import Effects
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.local import LocalEffect, LocalEffects
from paribus.results.marginal import Marginal, Marginals
from paribus.results.partial_dependence import PartialDependence
from paribus.results.ranked import Ranked

Result: TypeAlias = (
    PartialDependence | Effects | LocalEffect | LocalEffects | HStatistics | Importance | Marginal | Marginals
)
FORMAT = "paribus"
VERSION = 1


def save(result: Result, path: str | PathLike[str]) -> None:
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


def same(one: Result, other: Result) -> bool:
    """Tell whether two results are the same bit for bit."""
    return bool(_encode_result(one) == _encode_result(other))


def _digest(body: Any) -> str:
    """Return what tells a file that was changed after it was saved."""
    return hashlib.sha256(json.dumps(body, allow_nan=False, sort_keys=True).encode()).hexdigest()


def load(path: str | PathLike[str]) -> Result:
    """Read a saved result, without the model or the data.

    Parameters
    ----------
    path : str or path
        A file written by ``save()`` of a result.

    Returns
    -------
    PartialDependence, Effects, LocalEffect, LocalEffects, HStatistics, Importance, Marginal or Marginals
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
    from paribus.results.decode import DECODERS

    kind = document.get("kind")
    if kind not in DECODERS:
        raise FormatError(f"{path} holds a {kind!r}; this release knows {', '.join(DECODERS)}")
    if document.get("digest") != _digest(document.get("result")):
        raise FormatError(f"{path} is damaged, or was changed after it was saved")
    try:
        found: Result = DECODERS[kind](document["result"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise FormatError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return found


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


def _encode_result(result: Result) -> dict[str, Any]:
    if isinstance(result, Ranked):
        effects = [_encode_record(effect) for effect in result.values()]
        return {"effects": effects, "skipped": list(result.skipped)}
    return _encode_record(result)


def _encode_record(record: Any) -> dict[str, Any]:
    """Encode a dataclass field by field."""
    return {f.name: _encode(getattr(record, f.name)) for f in dataclasses.fields(record)}


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return _encode_record(value)
    if isinstance(value, (np.ndarray, np.datetime64, np.timedelta64)):
        return _encode_array(np.asarray(value))
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

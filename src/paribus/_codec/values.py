"""Conversion of values and arrays to JSON and back, with the same type."""

from __future__ import annotations

import datetime
import math
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from decimal import Decimal
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from paribus._contracts import Array
from paribus._data.kinds import objects
from paribus.errors import FormatError

READABLE = 256  # largest array whose numbers are written as text; larger ones are written as bytes
RATIO = 100  # maximum ratio of bytes to compressed bytes, so that a small file cannot fill the memory
DTYPE = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|[mM]8(?:\[\d{0,9}[a-zA-Z]{1,2}\])?)")
SMALLEST, LARGEST = -(2**63), 2**64 - 1  # integers that tables can hold


def write_value(value: Any) -> Any:
    """Return a value as JSON; types that JSON lacks become an object with the type as key."""
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is tuple:
        return [write_value(item) for item in value]
    if kind is np.ndarray:
        return write_array(value)
    if isinstance(value, np.generic) and DTYPE.fullmatch(value.dtype.str):
        return {"numpy": write_array(np.asarray(value))}
    if kind.__name__ not in ODD:
        raise FormatError(f"{value!r} of type {kind.__name__} cannot be saved; make it text or a number in X")
    write, _ = ODD[kind.__name__]
    return {kind.__name__: write(value)}


def read_value(body: Any) -> Any:
    """Return a value from its JSON."""
    if isinstance(body, list):
        return tuple(read_value(item) for item in body)
    if type(body) is int and not SMALLEST <= body <= LARGEST:
        raise ValueError("an integer of more than 64 bits")
    if not isinstance(body, dict):
        return body
    ((name, written),) = body.items()
    if name == "numpy":
        return _read_scalar_value(written)
    _, read = ODD[name]
    return read(written)


def _read_scalar_value(body: Any) -> Any:
    """Return a NumPy scalar from its JSON."""
    array = read_array(body)
    if array.shape or array.dtype == object:
        raise ValueError("several values where one belongs")
    return array[()]


def _write_zone(zone: datetime.tzinfo | None) -> Any:
    """Return the name of a time zone, or its offset from UTC in seconds."""
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        return zone.key
    if hasattr(zone, "zone"):  # pytz, which pandas 2 uses
        return {"pytz": zone.zone}
    offset = zone.utcoffset(None)
    if offset is None:
        raise FormatError(f"time zone {zone!r} cannot be saved; use one of zoneinfo")
    return offset.total_seconds()


def _read_zone(body: Any) -> datetime.tzinfo | None:
    """Return a time zone from its JSON."""
    if isinstance(body, dict):
        zone: datetime.tzinfo = _import_package("pytz").timezone(body["pytz"])
        return zone
    if body is None or isinstance(body, str):
        return None if body is None else ZoneInfo(body)
    return datetime.timezone(datetime.timedelta(0, body))


def _read_datetime(body: Any) -> datetime.datetime:
    """Return a datetime from its text, time zone and fold."""
    text, zone, fold = body
    return datetime.datetime.fromisoformat(text).replace(tzinfo=_read_zone(zone), fold=fold)


def _read_time(body: Any) -> datetime.time:
    """Return a time from its text and fold."""
    text, fold = body
    return datetime.time.fromisoformat(text).replace(fold=fold)


def _read_stamp(body: Any) -> Any:
    """Return a pandas Timestamp from its datetime64 and time zone."""
    array, zone = body
    stamp = _import_package("pandas").Timestamp(_read_scalar_value(array))
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(_read_zone(zone))


def _import_package(name: str) -> Any:
    """Import a package whose types occur in a file, or raise if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(f"it has values of {name}, which is not installed") from error


# Functions that write and read types that JSON does not have. Saved values are read back and compared, so
# that values that change, such as those of a subclass, are not saved.
ODD: dict[str, tuple[Any, Any]] = {
    "float": (str, float),
    "str_": (str, np.str_),
    "bytes": (bytes.hex, bytes.fromhex),
    "Decimal": (str, Decimal),
    "time": (lambda t: [t.isoformat(), t.fold], _read_time),
    "date": (datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (
        lambda t: [t.replace(tzinfo=None).isoformat(), _write_zone(t.tzinfo), t.fold],
        _read_datetime,
    ),
    "timedelta": (lambda t: [t.days, t.seconds, t.microseconds], lambda body: datetime.timedelta(*body)),
    "Timestamp": (
        lambda t: [write_array(np.asarray(t.to_datetime64())), _write_zone(t.tzinfo)],
        _read_stamp,
    ),
    "Timedelta": (
        lambda t: write_array(np.asarray(t.to_timedelta64())),
        lambda body: _import_package("pandas").Timedelta(_read_scalar_value(body)),
    ),
}


def write_array(array: Array) -> dict[str, Any]:
    """Return dtype, shape and values: as numbers if they are few, else as compressed bytes."""
    if array.dtype == object:
        values = [write_value(item) for item in array.ravel()]
        return {"dtype": "object", "shape": list(array.shape), "values": values}
    if not DTYPE.fullmatch(array.dtype.str):
        raise FormatError(f"an array of dtype {array.dtype} cannot be saved; cast it to float64")
    flat = np.ascontiguousarray(array).reshape(-1)
    body = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if flat.size <= READABLE:
        values = _as_json(flat)
        # A NaN has a sign and a payload, which its text does not keep.
        if _numbers_of_dtype(values, flat.dtype).tobytes() == flat.tobytes():
            return {**body, "values": values}
    # The first bytes of all numbers, then the second ones, and so on, which compresses better by a fifth.
    data = _transposed_bytes(flat.tobytes(), flat.itemsize)
    packed = zlib.compress(data)
    if len(data) > RATIO * len(packed):
        packed = zlib.compress(data, level=0)
    return {**body, "zlib": b64encode(packed).decode()}


def read_array(body: Any, dtype: np.dtype[Any] | None = None) -> Array:
    """Return an array from its JSON, checking its sizes first; raise for another dtype than the given one."""
    if not isinstance(body, dict) or {*body} - {"values", "zlib"} != {"dtype", "shape"} or len(body) != 3:
        raise ValueError("no array where one belongs")
    name, shape = body["dtype"], body["shape"]
    if not isinstance(shape, list) or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError("the shape of an array is not a list of sizes")
    if name == "object" and dtype is None and "values" in body:
        return objects(map(read_value, _of_size(body["values"], shape))).reshape(shape)
    if not isinstance(name, str) or not DTYPE.fullmatch(name) or np.dtype(name) != (dtype or np.dtype(name)):
        raise ValueError(f"an array of dtype {name} is not expected here")
    stored = np.dtype(name)
    if "values" in body:
        return _numbers_of_dtype(_of_size(body["values"], shape), stored).reshape(shape)
    size = math.prod(shape) * stored.itemsize
    packed = b64decode(body["zlib"], validate=True)
    if size > RATIO * len(packed):
        raise ValueError("an array that would be far larger than the file")
    data = zlib.decompressobj().decompress(packed, size + 1)
    if not len(data) == size > 0:
        raise ValueError("an array whose bytes are not as many as its shape says")
    return array_of(stored, shape, bytearray(_transposed_bytes(data, size // stored.itemsize)))


def array_of(dtype: np.dtype[Any], shape: Sequence[int], data: bytearray | memoryview) -> Array:
    """Return an array from bytes; raise for a wrong size, or for truth values other than 0 and 1."""
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array whose bytes are not as many as its shape {tuple(shape)} says")
    array = np.frombuffer(data, dtype).reshape(shape)
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError("truth values that are neither true nor false")
    return array


def _of_size(values: Any, shape: list[int]) -> list[Any]:
    """Return a list of values, or raise if their number differs from the shape."""
    if not isinstance(values, list) or len(values) != math.prod(shape):
        raise ValueError(f"an array whose values are not as many as its shape {tuple(shape)} says")
    return values


def _as_json(flat: Array) -> list[Any]:
    """Return a list of numbers, with text for non-finite ones and integers for dates."""
    numbers = (flat.view(f"{flat.dtype.str[0]}i8") if flat.dtype.kind in "mM" else flat).tolist()
    return [item if math.isfinite(item) else str(item) for item in numbers]


def _numbers_of_dtype(values: list[Any], dtype: np.dtype[Any]) -> Array:
    """Return an array of a dtype; raise for values that would be written differently."""
    types = {"f": (int, float, str), "b": (bool,)}.get(dtype.kind, (int,))
    ticks = np.dtype(f"{dtype.str[0]}i8") if dtype.kind in "mM" else dtype
    if not all(type(value) in types for value in values):
        raise ValueError(f"an array of dtype {dtype} holds something else")
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=ticks).view(dtype)
    if _as_json(array) != values:
        raise ValueError(f"an array holds numbers that dtype {dtype} cannot")
    return array


def _transposed_bytes(data: bytes, width: int) -> bytes:
    """Return bytes, given in rows of a width, column by column."""
    return np.frombuffer(data, np.uint8).reshape(-1, width).T.tobytes()

"""Serialization of states as arrays and plain values, without executable content."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from paribus._codec.records import Format, decode, encode
from paribus._codec.values import array_of, read_value, write_value
from paribus._contracts import Array
from paribus.errors import CheckpointError

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<>|]?[biufcmM]\d+(?:\[\d*[A-Za-z]+\])?)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)


def packed(state: Any) -> bytes:
    """Return a state as bytes: a JSON tree of plain values, and the arrays to which it refers."""
    arrays: dict[str, Any] = {}
    tree = encode(state, _state_format(arrays, {}))
    header = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, tree=header, **arrays)
    return file.getvalue()


def unpacked(data: bytes, known: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the state from its bytes; ``known`` are the permitted classes by name."""
    try:
        arrays = _parse_npz(data)
        return _state_format(arrays, known).read(json.loads(arrays["tree"].tobytes()))
    except CheckpointError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise CheckpointError(f"a stored state cannot be read: {error}") from error


def _state_format(arrays: dict[str, Any], known: Mapping[str, Any]) -> Format:
    """Return the format of states, which refers to arrays and tables by their number in ``arrays``."""

    def write(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype != object:
            arrays[f"a{len(arrays)}"] = value
            return {"array": len(arrays) - 1}
        if type(value).__name__ != "Table":
            return write_value(value)
        arrays[f"a{len(arrays)}"] = _table_bytes(value)
        return {"table": len(arrays) - 1}

    def read(body: Any) -> Any:
        if not isinstance(body, dict):
            return body if isinstance(body, int) else read_value(body)
        if "table" in body:
            return _parse_table(arrays[f"a{body['table']}"])
        if "record" not in body:
            return read_value(body)
        if body["record"] not in known:
            raise CheckpointError(f"a stored state has an unknown part {body['record']!r}")
        return decode(known[body["record"]], body, form)

    def read_array(body: Any, dtype: np.dtype[Any] | None) -> Array:
        if not isinstance(body, dict) or len(body) != 1 or not {"array", "numpy"} >= set(body):
            raise ValueError("no array where one belongs")
        # A sum over all axes is a scalar of numpy.
        array: Array = arrays[f"a{body['array']}"] if "array" in body else read_value(body)
        if array.dtype != (dtype or array.dtype):
            raise ValueError(f"an array of dtype {array.dtype} is not expected here")
        return array

    form = Format(lambda kind: kind.__name__, write, read, read_array)
    return form


def _parse_npz(data: bytes) -> dict[str, Array]:
    """Return the arrays of an uncompressed npz file, with at most as much memory as the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = file.infolist()
        if sum(member.file_size for member in members) > len(data):
            raise CheckpointError("a stored state declares more than it holds")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise CheckpointError("a stored state is compressed, as none is")
        return {member.filename.removesuffix(".npy"): _parse_npy(file.read(member)) for member in members}


def _parse_npy(data: bytes) -> Array:
    """Return an array of the npy format, whose header must match the number of bytes."""
    start = len(MAGIC) + 2
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    header = HEADER.fullmatch(data[start : start + length])
    if not data.startswith(MAGIC) or header is None:
        raise CheckpointError("a stored state cannot be read: an array has another header")
    shape = [int(size) for size in re.findall(rb"\d+", header[3])]
    order = -1 if header[2] == b"True" else 1  # in Fortran order the axes are reversed
    # A copy, because kernels need aligned and writable arrays.
    content = bytearray(memoryview(data)[start + length :])
    array = array_of(np.dtype(header[1].decode()), shape[::order], content)
    return array if order == 1 else array.T


def _table_bytes(table: Any) -> Array:
    """Return an Arrow table as the bytes of an IPC stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _parse_table(content: Array) -> Any:
    """Return an Arrow table from its bytes, after a check of all buffers, offsets and codes."""
    import pyarrow as pa

    result = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    result.validate(full=True)
    return result

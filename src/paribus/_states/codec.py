"""States as files: arrays and plain values, nothing that could run when it is read."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus.errors import CheckpointError

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<>|]?[biufcmM]\d+(?:\[\d*[A-Za-z]+\])?)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)


def packed(state: Any) -> bytes:
    """Return a state as bytes: a tree of plain values, and the arrays it refers to."""
    arrays: list[Any] = []
    tree = _taken_apart(state, arrays)
    header = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, tree=header, **{f"a{n}": array for n, array in enumerate(arrays)})
    return file.getvalue()


def unpacked(data: bytes, known: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the state that was packed; ``known`` are the classes it may consist of, by name."""
    try:
        arrays = _arrays(data)
        return _put_together(json.loads(arrays["tree"].tobytes()), arrays, known)
    except CheckpointError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise CheckpointError(f"a stored state cannot be read: {error}") from error


def _arrays(data: bytes) -> dict[str, Array]:
    """Return the arrays of an uncompressed npz file; no more is allocated than the file is long."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = file.infolist()
        if sum(member.file_size for member in members) > len(data):
            raise CheckpointError("a stored state declares more than it holds")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise CheckpointError("a stored state is compressed, as none is")
        return {member.filename.removesuffix(".npy"): _array(file.read(member)) for member in members}


def _array(data: bytes) -> Array:
    """Return one array, whose header must agree with how much there is."""
    start = len(MAGIC) + 2
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    header = HEADER.fullmatch(data[start : start + length])
    if not data.startswith(MAGIC) or header is None:
        raise CheckpointError("a stored state cannot be read: an array has another header")
    dtype, shape = np.dtype(header[1].decode()), tuple(int(size) for size in re.findall(rb"\d+", header[3]))
    if math.prod(shape) * dtype.itemsize != len(data) - start - length:
        raise CheckpointError("a stored state cannot be read: an array has another size")
    # A copy, because kernels take arrays that are aligned and may be written to.
    flat = np.frombuffer(data, dtype, offset=start + length).copy()
    return flat.reshape(shape, order="F" if header[2] == b"True" else "C")


def _taken_apart(value: Any, arrays: list[Any]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, Mapping):
        return {"items": [[key, _taken_apart(part, arrays)] for key, part in value.items()]}
    if is_dataclass(value):
        parts = {f.name: _taken_apart(getattr(value, f.name), arrays) for f in fields(value) if f.init}
        return {"class": type(value).__name__, "fields": parts}
    if isinstance(value, tuple) and value and all(isinstance(part, np.generic) for part in value):
        arrays.append(np.array(value))
        return {"scalars": len(arrays) - 1}
    if isinstance(value, tuple) and all(isinstance(part, (tuple, int, np.ndarray)) for part in value):
        return {"tuple": [_taken_apart(part, arrays) for part in value]}
    return {"arrow": _arrow(value, arrays), "table": not isinstance(value, tuple)}


def _arrow(value: Any, arrays: list[Any]) -> Any:
    """Write a table, or categories of any type Arrow knows."""
    import pyarrow as pa

    table = pa.table({"levels": pa.array(list(value))}) if isinstance(value, tuple) else value
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    arrays.append(np.frombuffer(sink.getvalue(), np.uint8))
    return len(arrays) - 1


def _from_arrow(content: Array, table: bool) -> Any:
    """Return a table or categories, after every buffer, offset and code of it was checked."""
    import pyarrow as pa

    result = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    result.validate(full=True)
    if table:
        return result
    kind = result.schema.field(0).type
    # Nested types, and rows without a byte of their own, could be more than memory holds as objects.
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or len(result) > len(content):
        raise CheckpointError(f"a stored state has categories of type {kind}")
    return tuple(result.column(0).to_pylist())


def _put_together(tree: Any, arrays: Mapping[str, Array], known: Mapping[str, Callable[..., Any]]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[f"a{tree['array']}"]
    if "scalars" in tree:
        return tuple(arrays[f"a{tree['scalars']}"])
    if "items" in tree:
        return {
            tuple(key) if isinstance(key, list) else key: _put_together(part, arrays, known)
            for key, part in tree["items"]
        }
    if "tuple" in tree:
        return tuple(_put_together(part, arrays, known) for part in tree["tuple"])
    if "arrow" in tree:
        return _from_arrow(arrays[f"a{tree['arrow']}"], tree["table"])
    if tree["class"] not in known:
        raise CheckpointError(f"a stored state has an unknown part {tree['class']!r}")
    parts = {name: _put_together(part, arrays, known) for name, part in tree["fields"].items()}
    return known[tree["class"]](**parts)

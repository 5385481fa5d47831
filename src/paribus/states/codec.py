"""States as files: arrays and plain values, nothing that could run when it is read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from paribus.errors import CheckpointError


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
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return _put_together(json.loads(file["tree"].tobytes()), file, known)
    except CheckpointError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise CheckpointError(f"a state that was kept cannot be read: {error}") from error


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
    """Write a table, or levels of any type Arrow knows."""
    import pyarrow as pa

    table = pa.table({"levels": pa.array(list(value))}) if isinstance(value, tuple) else value
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    arrays.append(np.frombuffer(sink.getvalue(), np.uint8))
    return len(arrays) - 1


def _put_together(tree: Any, file: Any, known: Mapping[str, Callable[..., Any]]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return file[f"a{tree['array']}"]
    if "scalars" in tree:
        return tuple(file[f"a{tree['scalars']}"])
    if "items" in tree:
        return {
            tuple(key) if isinstance(key, list) else key: _put_together(part, file, known)
            for key, part in tree["items"]
        }
    if "tuple" in tree:
        return tuple(_put_together(part, file, known) for part in tree["tuple"])
    if "arrow" in tree:
        import pyarrow as pa

        table = pa.ipc.open_stream(pa.py_buffer(file[f"a{tree['arrow']}"])).read_all()
        return table if tree["table"] else tuple(table.column(0).to_pylist())
    if tree["class"] not in known:
        raise CheckpointError(f"a state that was kept has an unknown part {tree['class']!r}")
    parts = {name: _put_together(part, file, known) for name, part in tree["fields"].items()}
    return known[tree["class"]](**parts)

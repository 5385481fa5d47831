"""Digests of what was read, the same whoever read which part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 2**128
# Rows that have a digest together. The blocks of a survey have a multiple of them, whatever columns are read.
ROWS = 1_024


def digests_of(table: pa.Table, start: int) -> list[int]:
    """Return a sum of digests of rows for each column of a block, of which ``start`` is the first row."""
    return [_digest(column, start) for column in table.columns]


def _digest(column: Any, start: int) -> int:
    total, (kind, content) = 0, _content(column)
    missing = np.asarray(column.is_null()) if column.null_count else None
    for first in range(0, len(column), ROWS):
        stop = min(first + ROWS, len(column))
        digest = xxhash.xxh3_128(f"{kind} {start + first} {stop - first}".encode())
        if missing is not None and missing[first:stop].any():
            digest.update(np.packbits(missing[first:stop]).data)
        for part in content(first, stop):
            digest.update(part)
        total += digest.intdigest()
    return total % SIZE


def _content(column: Any) -> tuple[Any, Callable[[int, int], tuple[Any, ...]]]:
    """Return the type, and what some rows hold: neither depends on chunks, nor on codes of categories."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.string(), _texts(column)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        # The positions of nulls are known; as floats, integers beside them would lose digits.
        numbers = np.ascontiguousarray(column.fill_null(0).to_numpy())
    elif pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        numbers = np.ascontiguousarray(column.cast(whole).fill_null(0).to_numpy())
    else:
        return kind, lambda first, stop: (repr(column.slice(first, stop - first).to_pylist()).encode(),)
    return kind, lambda first, stop: (numbers[first:stop].view(np.uint8),)


def _texts(column: Any) -> Callable[[int, int], tuple[Any, ...]]:
    """Return what yields the lengths of texts and their bytes."""
    import pyarrow as pa

    chunks = column.fill_null("").cast(pa.large_string()).chunks
    texts = pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_string())
    _, places, content = texts.buffers()
    ends = np.frombuffer(places, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(content or b"", np.uint8)
    return lambda first, stop: (np.diff(ends[first : stop + 1]), data[ends[first] : ends[stop]])

"""A digest of what was read, the same whoever read which part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 2**128
ROWS = 16_384  # that have a digest together, so that it does not depend on larger blocks


def digest_of(table: pa.Table, start: int) -> int:
    """Return a sum of digests of the rows of a block, of which the first has the number ``start``."""
    firsts = range(0, table.num_rows, ROWS)
    return sum(_digest(table.slice(first, ROWS), start + first) for first in firsts) % SIZE


def _digest(table: pa.Table, start: int) -> int:
    digest = xxhash.xxh3_128(repr((start, table.num_rows, table.schema.names)).encode())
    for column in table.columns:
        digest.update(str(column.type).encode())
        for part in _content(column):
            digest.update(part)
    return digest.intdigest()


def _content(column: Any) -> Iterator[Any]:
    """Yield what depends on the values alone: not on chunks, nor on which codes stand for which text."""
    import pyarrow as pa

    kind = column.type
    if column.null_count:
        yield np.packbits(np.asarray(column.is_null()))
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        codes = column.dictionary_encode().unify_dictionaries().combine_chunks()
        yield repr(codes.dictionary.to_pylist()).encode()
        yield np.ascontiguousarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind):
        # The positions of nulls are known; as floats, integers beside them would lose digits.
        yield np.ascontiguousarray(column.fill_null(0).to_numpy()).view(np.uint8)
    elif pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        yield np.ascontiguousarray(column.cast(whole).fill_null(0).to_numpy()).view(np.uint8)
    else:
        yield repr(column.to_pylist()).encode()

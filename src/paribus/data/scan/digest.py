"""A digest of what was read, the same whoever read which part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 2**128


def digest_of(table: pa.Table, number: int) -> int:
    """Return a digest of the values of a block and of its number; those of all blocks are added up."""
    digest = xxhash.xxh3_128(repr((number, table.num_rows, table.schema.names)).encode())
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
        yield np.ascontiguousarray(column.to_numpy()).view(np.uint8)
    else:
        yield repr(column.to_pylist()).encode()

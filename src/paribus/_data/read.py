"""Conversion of user input to tables and sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._data.table import ArrayTable, Table
from paribus._loading import check_pyarrow
from paribus._text import count
from paribus.errors import TableError


def source_of(X: Any, on_error: str) -> Any:
    """Return a source to read X from, or None if X is in memory."""
    if isinstance(X, np.ndarray):  # lists are checked in `opened`: they may be paths or rows
        return None
    from paribus._data.scan.open import source_of as opened

    try:
        return opened(X, on_error)
    except ImportError:
        check_pyarrow("X that is read block by block")
        raise


def table_of(X: Any, names: Any = None) -> Table:
    """Return ``X`` as a table without a copy: an array, nested lists, or an eager data frame."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TableError(
            f"X is a sparse {type(X).__name__}; pass X.toarray(), or a slice of it that fits in memory"
        )
    # A frame is recognized by its attributes, so that no frame library is imported here.
    is_frame = any(hasattr(X, attribute) for attribute in ("collect_schema", "column_names", "columns"))
    if is_frame:
        from paribus._data.frame import FrameTable  # narwhals is only loaded for frames

        table: Table = FrameTable.of(X, names)
    else:
        table = ArrayTable.of(X, names)
    if not len(table) or not table.names:
        rows, columns = count(len(table), "row"), count(len(table.names), "column")
        raise TableError(f"X has {rows} and {columns}; at least one of each is needed")
    return table

"""Tables for readers: columns as text, for `repr`, reports and Markdown."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from paribus._text import NONE, brief, measured, shown_of

HEADS = {
    "ale": "ALE",
    "constant": "constant prediction",
    "feature_2": "with",
    "feature_3": "and",
    "h_squared": "H²",
    "in_errors": "standard errors",
    "support": "weight of the data",
}
WIDEST = 40  # characters of a name in aligned text; other cells may have twice as many


class TextColumn(NamedTuple):
    """A column of a table for readers: its head and cells; ``names`` are texts from the data."""

    head: str
    cells: list[str]
    names: bool = False


def text_table(columns: Mapping[str, Any], most: int | None = None) -> list[TextColumn]:
    """Return columns of a table of numbers as text, of at most so many rows.

    A standard error is in the cell of the number before it. Columns without a value are left out, and so is
    ``output`` if there is only one.
    """
    table: list[TextColumn] = []
    numbers: list[Any] | None = None  # of the last column, None if that is left out
    for name, column in columns.items():
        shown = column[:most]
        values = shown.tolist() if isinstance(shown, np.ndarray) else list(shown)
        if name.startswith("standard_error") or name.endswith("_error"):
            if numbers is not None:
                pairs = zip(numbers, values, strict=True)
                table[-1] = TextColumn(table[-1].head, [measured(*pair) for pair in pairs])
            continue
        known = {value for value in values if value is not None and value == value}
        numbers = values if known and (name != "output" or len(known) > 1) else None
        if numbers is not None:
            names = any(isinstance(value, str) for value in known)
            table.append(TextColumn(head_of(name), [_cell(value) for value in values], names))
    return table


def head_of(name: str) -> str:
    """Return the head of a column."""
    return HEADS.get(name, name.replace("_", " "))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return NONE
    return f"{value:,}" if isinstance(value, int) else brief(value)


def table_lines(columns: Mapping[str, Any], most: int) -> Iterator[str]:
    """Yield columns of a table as aligned text: heads, at most so many rows, and the number of others."""
    size = len(next(iter(columns.values())))
    shown = shown_of(size, most)
    cells = [
        [column.head, *(fitted(cell, WIDEST if place == 0 else 2 * WIDEST) for cell in column.cells)]
        for place, column in enumerate(text_table(columns, shown))
    ]
    widths = [max(map(_width, column)) for column in cells]
    for row in zip(*cells, strict=True):
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
    if size > shown:
        yield f"and {size - shown:,} more"


def fitted(text: str, widest: int) -> str:
    """Return a text without characters that move a cursor, and not too long."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: 4 * widest])
    return shown if len(shown) <= widest else f"{shown[: widest - 1]}…"


def _width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )

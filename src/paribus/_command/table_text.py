"""Tables as text that other programs read."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # text that begins so is a formula to a spreadsheet


def csv_text(table: Any) -> str:
    """Return an Arrow table as CSV; what is missing is empty.

    An apostrophe comes before text that a spreadsheet would run as a formula: names of features and
    categories come from files that anybody may have written. Numbers and JSON are as they are.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_inert, table.column_names))
    for row in table.to_pylist():
        writer.writerow([None if _unknown(value) else _inert(value) for value in row.values()])
    return out.getvalue()


def json_text(table: Any) -> str:
    """Return an Arrow table as a JSON list with an object for each row."""
    rows = [
        {name: None if _unknown(value) else _plain(value) for name, value in row.items()}
        for row in table.to_pylist()
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False)


def _inert(value: Any) -> Any:
    """Return text that a spreadsheet does not read as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _unknown(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain(value: Any) -> Any:
    """Return a value that JSON has; infinities and dates become text."""
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if isinstance(value, (str, int, float, bool)) and finite else str(value)

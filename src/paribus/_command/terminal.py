"""Text in a terminal: tables, progress and errors."""

from __future__ import annotations

import argparse
import csv
import io
import json
import logging
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, TextIO

from paribus._data.scan.listing import names_store, without_secret
from paribus.errors import InputError

PLAIN: dict[str, str | int | None] = {
    "±": "+/-",
    "²": "^2",
    "×": "x",
    "≥": ">=",
    "≤": "<=",
    "—": "-",
    "–": "-",
    "…": "...",
    "µ": "u",
}
KEPT = "\n\t"


def complain(message: str) -> None:
    """Write one sentence to stderr."""
    _write(sys.stderr, f"paribus: {' '.join(message.split())}\n")


@contextmanager
def progress_lines() -> Iterator[None]:
    """Write to stderr what is logged meanwhile: a line for each stage, where no bar can be redrawn."""
    handler = logging.Handler()
    handler.emit = lambda record: complain(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("paribus")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound threads and memory."""
    parser.add_argument("--jobs", type=int, metavar="N", help="number of threads; -1 for every core")
    parser.add_argument(
        "--max-memory", metavar="SIZE", help="memory to use at most, as 2GB; by default half of what is free"
    )


def report(text: str) -> None:
    """Write text to stdout; a reader that has seen enough is no failure."""
    try:
        _write(sys.stdout, text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would raise once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report_bytes(content: bytes) -> None:
    """Write a picture to stdout."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(stream: TextIO, text: str) -> None:
    """Write what the terminal can show; names in data may hold sequences that control it."""
    safe = "".join(c if c.isprintable() or c in KEPT else c.encode("unicode_escape").decode() for c in text)
    encoding = stream.encoding or "ascii"
    try:
        safe.encode(encoding)
    except UnicodeEncodeError:
        plain = safe.translate(str.maketrans(PLAIN))
        safe = plain.encode(encoding, "backslashreplace").decode(encoding)
    stream.write(safe)


def check_writable(path: Path, option: str = "-o", inputs: Iterable[str | None] = ()) -> None:
    """Refuse a place that cannot be written to, or that is one of the inputs, before any work."""
    if names_store(path):
        raise InputError(
            f"{option} {without_secret(str(path))} is an address; give the name of a local file, and copy it"
        )
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}; create it first")
    for given in inputs:
        if given is not None and _is_input(path, given):
            raise InputError(
                f"{option} {path} would overwrite an input, {without_secret(given)}; give another name"
            )


def _is_input(path: Path, given: str) -> bool:
    """Return whether a path is the file that is read, under any name, or one in the folder or pattern."""
    if not path.exists():
        return False
    local = os.path.expanduser(given.removeprefix("file://"))
    if os.path.isdir(local):
        return Path(local).resolve() in path.resolve().parents
    files = [local] if os.path.exists(local) else glob(local, recursive=True)
    return any(path.samefile(file) for file in files if os.path.exists(file))


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file under another name and rename it, so that a failure leaves nothing behind."""
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    half = target.with_name(f".paribus.{os.urandom(8).hex()}.half")
    try:
        half.write_bytes(data)
        half.replace(target)
    except OSError as error:
        raise InputError(f"-o {path} cannot be written: {error}") from error
    finally:
        half.unlink(missing_ok=True)


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

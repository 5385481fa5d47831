"""Output of commands: results, progress, errors and files."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import TextIO

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
    _write_printable(sys.stderr, f"paribus: {' '.join(message.split())}\n")


@contextmanager
def progress_lines() -> Iterator[None]:
    """Write log records to stderr in the meantime, which show progress if there is no bar."""
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


def report(text: str) -> None:
    """Write text to stdout; a closed pipe is not an error."""
    try:
        _write_printable(sys.stdout, text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The rest of the buffer would raise again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_printable(stream: TextIO, text: str) -> None:
    """Write text without control sequences, and with characters that the encoding supports."""
    safe = "".join(c if c.isprintable() or c in KEPT else c.encode("unicode_escape").decode() for c in text)
    encoding = stream.encoding or "ascii"
    try:
        safe.encode(encoding)
    except UnicodeEncodeError:
        plain = safe.translate(str.maketrans(PLAIN))
        safe = plain.encode(encoding, "backslashreplace").decode(encoding)
    stream.write(safe)


def check_writable(path: Path, option: str = "-o", inputs: Iterable[str | None] = ()) -> None:
    """Raise if a path cannot be written to, or is one of the inputs."""
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
    """Return whether a path is the input file, or is in the input folder or pattern."""
    if not path.exists():
        return False
    local = os.path.expanduser(given.removeprefix("file://"))
    if os.path.isdir(local):
        return Path(local).resolve() in path.resolve().parents
    files = [local] if os.path.exists(local) else glob(local, recursive=True)
    return any(path.samefile(file) for file in files if os.path.exists(file))

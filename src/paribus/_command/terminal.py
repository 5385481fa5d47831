"""What is written to the terminal, and into files that results are written to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from paribus._data.scan.object_store import names_store, without_secret
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


def check_writable(path: Path, folder: str = "-o") -> None:
    """Refuse a place that cannot be written to, before any work."""
    if names_store(path):
        raise InputError(
            f"{folder} {without_secret(str(path))} is an address; give the name of a local file, and copy it"
        )
    if path.is_dir():
        raise InputError(f"{folder} {path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{folder} {path}: there is no folder {path.parent}; create it first")


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

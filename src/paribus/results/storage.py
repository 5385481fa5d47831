"""Results in files: equality, saving and loading."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import os
import re
import stat
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paribus._codec.records import Format, decode, encode
from paribus._codec.values import read_array, read_value, write_value
from paribus._contracts import Array
from paribus._data.scan.listing import names_store, without_secret
from paribus._typing import FrameBackend
from paribus.errors import FormatError
from paribus.meaning import TaggedText
from paribus.results.schema import Record, stored_records
from paribus.results.tidy import LongTable, frame_of, table_of


class Saveable(Record):
    """A result that can be saved, and equals another if every value does."""

    def __eq__(self, other: object) -> bool:
        """Return whether two results are the same bit for bit, provenance included; NaN equals NaN."""
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def save(self, path: str | PathLike[str]) -> None:
        """Save to a versioned JSON file that `paribus.load` restores bit for bit.

        A value that would not be restored identically raises a `FormatError` that names it. An existing file
        is replaced only once the new one is complete.
        """
        save(self, path)

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        It has one row per output and grid point. The documentation of the class names the columns.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return frame_of(self, self._tables(), backend)

    def _tables(self) -> list[LongTable]:
        """Return what its table consists of, one below the other."""
        return [table_of(self)]

    def _ipython_key_completions_(self) -> list[Any]:
        """Return the keys for completion in notebooks."""
        return list(self) if isinstance(self, Mapping) else []


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same and of one type, all the way down; NaN equals NaN."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_array(one, other)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, TaggedText) or dataclasses.is_dataclass(one):
        return not differing(one, other)
    if isinstance(one, dict):  # the order of keys included
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    # The text shows zones, nanoseconds, signs of zeros, and that NaN is NaN.
    return bool(one == other) if isinstance(one, (str, int)) else _traits(one) == _traits(other)


def differing(one: Any, other: Any) -> list[str]:
    """Return the names of the fields in which two records of one type differ."""
    names = vars(one) if isinstance(one, TaggedText) else [field.name for field in dataclasses.fields(one)]
    return [name for name in names if not same(getattr(one, name), getattr(other, name))]


def _same_array(one: Array, other: Array) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return all(map(same, one.flat, other.flat))
    if one.dtype.kind != "f" or one.tobytes() == other.tobytes():
        return one.tobytes() == other.tobytes()
    alike = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool((alike | (np.isnan(one) & np.isnan(other))).all())


def _traits(value: Any) -> tuple[Any, ...]:
    return repr(value), getattr(value, "unit", None), type(getattr(value, "tzinfo", None))


FORMAT = "paribus"
VERSION = 1

# What reading a file raises that was made to harm, or was damaged.
WRONG = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError, zlib.error)
DEEP = "it is nested more deeply than any result"
PAGE = "<!doctype html>"  # what a report begins with
RATIO = 100  # of a payload to its compressed bytes, at most: beyond it is stored
# Nothing but this writes the tag: all text of a page is escaped.
PAYLOAD = re.compile(
    r'<template id="paribus-payload" data-bytes="([0-9]{1,12})" data-sha256="([0-9a-f]{64})">'
    r"([A-Za-z0-9+/=]*)</template>"
)
READABLE = Format(lambda kind: getattr(kind, "stored", None), write_value, read_value, read_array)


class Payload(NamedTuple):
    """A saved result inside a page: base64 of what zlib made of the JSON, and the SHA-256 of that JSON."""

    data: str
    size: int
    sha256: str


def save(result: object, path: str | PathLike[str]) -> None:
    """Write a result as JSON, if it comes back the same."""
    write_file(path, _document(result))


def payload_of(result: object) -> Payload:
    """Return a result as it stands in a page, if it comes back the same."""
    text = _document(result).encode()
    packed = zlib.compress(text, 9)
    if len(text) > RATIO * len(packed):
        packed = zlib.compress(text, 0)
    return Payload(base64.b64encode(packed).decode(), len(text), hashlib.sha256(text).hexdigest())


def _document(result: object) -> str:
    body = encode(result, READABLE)
    lost = _lost(result, body)
    if lost is not None:
        raise FormatError(f"this {type(result).__name__} cannot be saved without loss: {lost}")
    document = {"format": FORMAT, "version": VERSION, "digest": _digest(body), "result": body}
    return json.dumps(document, allow_nan=False)


def write_file(path: str | PathLike[str], text: str) -> None:
    """Write text to a file, which is replaced only once the new one is complete."""
    if names_store(path):
        raise FormatError(
            f"path={without_secret(str(path))!r} is an address, and results are written to a disk; "
            "pass a local path, and copy the file by pyarrow.fs.copy_files(path, address)"
        )
    try:
        _write(Path(path), text)
    except (OSError, TypeError, ValueError) as error:
        raise FormatError(f"path={path!r} cannot be written: {error}") from error


def _write(path: Path, text: str) -> None:
    """Write a file under another name and rename it, so that a failure leaves an earlier one as it was."""
    if path.exists() and not path.is_file():  # a pipe or a device, which has to stay what it is
        path.write_text(text, encoding="utf-8")
        return
    file = Path(os.path.realpath(path))  # a link stays one
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.parent}")
    half = file.with_name(f".paribus.{os.urandom(8).hex()}.half")
    try:
        with half.open("x", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        if file.exists():
            file.open("ab").close()  # a file that is not to be written is not to be replaced either
            half.chmod(stat.S_IMODE(file.stat().st_mode))
        half.replace(file)
    finally:
        half.unlink(missing_ok=True)


def _lost(result: object, body: Any) -> str | None:
    """Return what would not be read back as it is."""
    try:
        again = decode(type(result), body, READABLE)
    except WRONG as error:
        return _short(str(error))
    lost = differing(result, again)
    return f"{lost[0]} is of a type that a file cannot hold" if lost else None


def _digest(body: Any) -> str:
    """Return what reveals a file that was changed after it was saved; the order of keys is that of parts."""
    return hashlib.sha256(json.dumps(body, allow_nan=False).encode()).hexdigest()


def load(path: str | PathLike[str]) -> Any:
    """Read a saved result, without the model or the data.

    >>> import pathlib, tempfile, paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "effects.json"
    >>> paribus.effects(Ridge().fit(X, y), X).save(path)
    >>> len(paribus.load(path))
    10

    Parameters
    ----------
    path : str or path
        A file written by ``save()`` of a result, or a page written by `Explanation.report`.

    Returns
    -------
    PartialDependence, AccumulatedLocalEffect, Marginal, Effects, HStatistics, Importance, Comparison, \
Difference or Explanation
        Identical to the saved result, including types. For a report, without facts that differ between runs:
        see `Provenance.reproducible`.

    Raises
    ------
    FormatError
        If the file does not exist, is not a paribus result, was damaged or changed, or has an unknown
        version.

    Examples
    --------
    >>> import numpy as np
    >>> effect = paribus.partial_dependence(lambda X: X[:, 0] ** 2, np.arange(6.0).reshape(3, 2), 0)
    >>> effect.save(path)
    >>> paribus.load(path) == effect
    True
    """
    document = _read(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{path} is not a result saved by paribus")
    if document.get("version") != VERSION:
        stated = _short(repr(document.get("version")))
        raise FormatError(f"{path} has format version {stated}; this release reads version {VERSION}")
    body = document.get("result")
    name = body.get("record") if isinstance(body, dict) else None
    known = stored_records()
    if not isinstance(name, str) or name not in known:
        raise FormatError(f"{path} holds a {_short(repr(name))}; this release knows {', '.join(known)}")
    try:
        if document.get("digest") != _digest(body):
            raise FormatError(f"{path} is damaged, or was changed after it was saved")
        return decode(known[name], body, READABLE)
    except RecursionError as error:
        raise FormatError(f"{path} is damaged: {DEEP}") from error
    except WRONG as error:
        raise FormatError(f"{path} is damaged: {_short(f'{type(error).__name__}: {error}')}") from error


def _read(path: str | PathLike[str]) -> Any:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if names_store(path):
            raise FormatError(
                f"{without_secret(str(path))} is an address, and results are read from a disk; copy it "
                "first by pyarrow.fs.copy_files(address, path)"
            ) from None  # which has the whole address
        raise FormatError(f"there is no file {path}; give the path of a saved result") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not a result saved by paribus: {error}") from error
    except (OSError, TypeError, ValueError) as error:
        raise FormatError(
            f"path={path!r} cannot be read: {error}; give the path of a saved result"
        ) from error
    if text[: len(PAGE)].lower() == PAGE:
        text = _payload_in(text, path)
    try:
        return json.loads(text, parse_constant=_refuse)
    except (RecursionError, ValueError) as error:
        wrong = DEEP if isinstance(error, RecursionError) else _short(str(error))
        raise FormatError(f"{path} is not a result saved by paribus: {wrong}") from error


def _payload_in(page: str, path: str | PathLike[str]) -> str:
    """Return the saved result inside a page, or refuse one that is damaged or larger than it says."""
    found = PAYLOAD.findall(page)
    if len(found) != 1 or page.count('id="paribus-payload"') != 1:
        raise FormatError(
            f"{path} is not a page written by paribus: it has {len(found)} saved results, not one"
        )
    stated, digest, data = found[0]
    size = int(stated)
    try:
        packed = base64.b64decode(data, validate=True)
        if size > RATIO * len(packed):
            raise ValueError(f"{size:,} bytes cannot be in {len(packed):,}")
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(packed, size + 1)
        if len(text) != size or not unpacker.eof or unpacker.unused_data:
            raise ValueError(f"it does not have {size:,} bytes")
        if hashlib.sha256(text).hexdigest() != digest:
            raise ValueError("it was changed after it was written")
        return text.decode()
    except (binascii.Error, ValueError, zlib.error) as error:
        raise FormatError(f"the saved result in {path} is damaged: {_short(str(error))}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _short(text: str) -> str:
    return text if len(text) < 300 else f"{text[:300]} ..."

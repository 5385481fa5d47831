"""Results on disk: versioned JSON that comes back bit for bit, or is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Mapping
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paribus.errors import FormatError
from paribus.meaning import TaggedText
from paribus.results.equality import differing
from paribus.results.schema import SAVED, read
from paribus.results.values import write_array, write_value

if TYPE_CHECKING:
    from paribus.results.comparison import Comparison, Comparisons
    from paribus.results.difference import Difference, Differences
    from paribus.results.effects import Effects
    from paribus.results.hstatistics import HStatistics
    from paribus.results.importance import Importance
    from paribus.results.local_effect import LocalEffect, LocalEffects
    from paribus.results.marginal import Marginal, Marginals
    from paribus.results.overlay import Overlay, Overlays
    from paribus.results.partial_dependence import PartialDependence

Result: TypeAlias = (
    "PartialDependence | Effects | LocalEffect | LocalEffects | Marginal | Marginals | HStatistics"
    " | Importance | Comparison | Comparisons | Overlay | Overlays | Difference | Differences"
)
FORMAT = "paribus"
VERSION = 3

# What reading a file raises that was made to harm, or was damaged.
WRONG = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)


def save(result: object, path: str | PathLike[str]) -> None:
    """Write a result as JSON, if it comes back the same."""
    kind = type(result).__name__
    body = encode(result)
    lost = _lost(result, body)
    if lost is not None:
        raise FormatError(f"this {kind} cannot be saved without loss: {lost}")
    document = {"format": FORMAT, "version": VERSION, "kind": kind, "digest": _digest(body), "result": body}
    text = json.dumps(document, allow_nan=False)
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
    half = file.with_name(f".paribus.{os.urandom(8).hex()}.half")
    try:
        with half.open("x", encoding="utf-8") as handle:
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
        again = read(type(result), body)
    except WRONG as error:
        return _short(str(error))
    name = differing(result, again)
    return None if name is None else f"{name} is of a type that a file cannot hold"


def _digest(body: Any) -> str:
    """Return what reveals a file that was changed after it was saved; the order of keys is that of parts."""
    return hashlib.sha256(json.dumps(body, allow_nan=False).encode()).hexdigest()


def load(path: str | PathLike[str]) -> Result:
    """Read a saved result, without the model or the data.

    Parameters
    ----------
    path : str or path
        A file written by ``save()`` of a result.

    Returns
    -------
    PartialDependence, Effects, LocalEffect, LocalEffects, Marginal, Marginals, HStatistics, Importance, \
Comparison, Comparisons, Overlay, Overlays, Difference or Differences
        Identical to the saved result, including types.

    Raises
    ------
    FormatError
        If the file does not exist, is not a paribus result, was damaged or changed, or has an unknown
        version.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, paribus
    >>> effect = paribus.partial_dependence(lambda X: X[:, 0] ** 2, np.arange(6.0).reshape(3, 2), 0)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "effect.json"
    >>> effect.save(path)
    >>> paribus.load(path) == effect
    True
    """
    document = _read(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{path} is not a result saved by paribus")
    version, kind = document.get("version"), document.get("kind")
    if version != VERSION:
        stated = _short(repr(version))
        raise FormatError(f"{path} has format version {stated}; this release reads version {VERSION}")
    if not isinstance(kind, str) or kind not in SAVED:
        raise FormatError(f"{path} holds a {_short(repr(kind))}; this release knows {', '.join(SAVED)}")
    try:
        if document.get("digest") != _digest(document.get("result")):
            raise FormatError(f"{path} is damaged, or was changed after it was saved")
        result: Result = read(SAVED[kind], document["result"])
    except WRONG as error:
        raise FormatError(f"{path} is damaged: {_short(f'{type(error).__name__}: {error}')}") from error
    return result


def _read(path: str | PathLike[str]) -> Any:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FormatError(f"there is no file {path}; give the path of a saved result") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not a result saved by paribus: {error}") from error
    except (OSError, TypeError, ValueError) as error:
        raise FormatError(
            f"path={path!r} cannot be read: {error}; give the path of a saved result"
        ) from error
    try:
        return json.loads(text, parse_constant=_refuse)
    except (RecursionError, ValueError) as error:
        raise FormatError(f"{path} is not a result saved by paribus: {_short(str(error))}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _short(text: str) -> str:
    return text if len(text) < 300 else f"{text[:300]} ..."


def encode(value: Any) -> Any:
    """Return a result, or a part of it, as JSON: records by field, mappings of results in order."""
    if type(value) in (int, str):  # most of what there is
        return value
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, np.ndarray):
        return write_array(value)
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, TaggedText):
        return encode(vars(value))
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):  # of results, as all others are records
        effects = list(value.values())
        return {"effects": encode(effects), "skipped": encode(value.skipped)}  # type: ignore[attr-defined]
    return write_value(value)

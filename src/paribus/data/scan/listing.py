"""Which files are meant: a path, a folder, a pattern or an address, on any filesystem Arrow knows."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from paribus.errors import SourceError

WILD = re.compile(r"[*?\[]")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_path(X: Any) -> bool:
    """Tell text and paths, one or several, from tables."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(x, (str, os.PathLike)) for x in X)


def listed(X: Any) -> tuple[Any, list[str], str]:
    """Return the filesystem, the files in order, and the folder whose subfolders may say ``key=value``."""
    if isinstance(X, (list, tuple)):
        return _several(X)
    filesystem, path = _located(os.fspath(X))
    if WILD.search(path):
        base = _fixed(path)
        matches = re.compile(_pattern(path)).fullmatch
        files = [file for file in _under(filesystem, base) if matches(file)]
        if not files:
            raise SourceError(f"X={os.fspath(X)!r}: no file matches this pattern")
        return filesystem, files, base
    kind = filesystem.get_file_info(path).type.name
    if kind == "NotFound":
        raise SourceError(f"X={os.fspath(X)!r}: there is no such file or folder")
    if kind == "File":
        return filesystem, [path], path.rpartition("/")[0]
    files = [file for file in _under(filesystem, path) if not _hidden(file[len(path) :])]
    if not files:
        raise SourceError(f"X={os.fspath(X)!r}: this folder has no files")
    return filesystem, files, path


def keys_of(path: str, base: str) -> tuple[tuple[str, str | None], ...]:
    """Return what the folders between a base and a file say, as in ``year=2026/part-0.parquet``.

    >>> keys_of("/data/year=2026/name=a%20b/x.parquet", "/data")
    (('year', '2026'), ('name', 'a b'))
    """
    folders = path[len(base) :].split("/")[:-1] if path.startswith(base) else []
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple((key, None if value == HIVE_NULL else unquote(value)) for key, value in pairs)


def _several(paths: Sequence[Any]) -> tuple[Any, list[str], str]:
    filesystem, files = None, []
    for path in paths:
        filesystem, found, _ = listed(path)
        files += found
    folders = {file.rpartition("/")[0] for file in files}
    return filesystem, files, os.path.commonpath(folders) if len(folders) > 1 else folders.pop()


def _located(path: str) -> tuple[Any, str]:
    """Return the filesystem of an address and the path on it; a path without a scheme is local."""
    from pyarrow import fs

    if "://" in path:
        scheme, _, rest = path.partition("://")
        # A pattern is no address: what is wild is put back once the filesystem is known.
        fixed = _fixed(rest) if WILD.search(rest) else rest
        try:
            filesystem, found = fs.FileSystem.from_uri(f"{scheme}://{fixed}")
        except (OSError, ValueError) as error:
            raise SourceError(f"X={path!r} is no address that can be read: {error}") from error
        return filesystem, found + rest[len(fixed) :]
    return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/")


def _fixed(path: str) -> str:
    """Return the folders of a pattern before the first that is wild."""
    folders = path.split("/")
    first = next(place for place, folder in enumerate(folders) if WILD.search(folder))
    return "/".join(folders[:first])


def _under(filesystem: Any, folder: str) -> list[str]:
    from pyarrow import fs

    selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
    return sorted(info.path for info in filesystem.get_file_info(selector) if info.type.name == "File")


def _hidden(path: str) -> bool:
    """Tell files that are about the data, such as ``_SUCCESS``, from the data."""
    return any(part.startswith(("_", ".")) for part in path.split("/") if "=" not in part)


def _pattern(path: str) -> str:
    """Return a regular expression: ``*`` and ``?`` stay within a folder, ``**`` does not.

    >>> bool(re.fullmatch(_pattern("/a/**/x-?.parquet"), "/a/b/c/x-1.parquet"))
    True
    """
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]*\])", path)
    return "".join(words.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts)

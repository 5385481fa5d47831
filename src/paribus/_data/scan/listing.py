"""Which files are meant: a path, a folder, a pattern or an address, on any filesystem Arrow knows."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from paribus.errors import SourceError

WILD = re.compile(r"[*?\[]")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_path(X: Any) -> bool:
    """Return whether X is one or several paths."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(x, (str, os.PathLike)) for x in X)


def listed(X: Any) -> tuple[Any, list[str], str]:
    """Return the filesystem, the files in order, and the folder whose subfolders may say ``key=value``."""
    if isinstance(X, (list, tuple)):
        return _several(X)
    filesystem, path = _located(os.fspath(X))
    kind = filesystem.get_file_info(path).type.name
    if WILD.search(path) and kind == "NotFound":
        files = _matching(filesystem, path)
        if not files:
            raise SourceError(f"X={os.fspath(X)!r}: no file matches this pattern")
        return filesystem, files, _above(_fixed(path))
    if kind == "NotFound":
        raise SourceError(f"X={os.fspath(X)!r}: there is no such file or folder")
    if kind == "File":
        return filesystem, [path], _base([path])
    files = [file for file in _under(filesystem, path) if not _hidden(file[len(path) :])]
    if not files:
        raise SourceError(f"X={os.fspath(X)!r}: this folder has no files")
    return filesystem, files, _above(path)


def _matching(filesystem: Any, path: str) -> list[str]:
    """Return the files a pattern names, or else those in the folders it names."""
    every, pattern = _under(filesystem, _fixed(path)), _pattern(path)
    files = [file for file in every if re.fullmatch(pattern, file)]
    inside = re.compile(f"(?:{pattern})(/.*)")
    found = ((file, inside.fullmatch(file)) for file in every)
    return files or [file for file, match in found if match and not _hidden(match[match.re.groups])]


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
        where, found, _ = listed(path)
        if filesystem is not None and where != filesystem:
            raise SourceError(f"X has files on several filesystems, such as {os.fspath(path)!r}; give one")
        filesystem = where
        files += found
    twice = [file for file, count in Counter(files).items() if count > 1]
    if twice:
        raise SourceError(f"X has {twice[0]} more than once, so that its rows would count more than once")
    return filesystem, files, _base(files)


def _base(files: list[str]) -> str:
    """Return the folder all files are in."""
    return _above(os.path.commonpath({file.rpartition("/")[0] for file in files}).replace(os.sep, "/"))


def _above(folder: str) -> str:
    """Return a folder, or the last one above the first that says ``key=value``."""
    return folder.partition("=")[0].rpartition("/")[0] if "=" in folder else folder


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
    first = next(position for position, folder in enumerate(folders) if WILD.search(folder))
    return "/".join(folders[:first])


def _under(filesystem: Any, folder: str) -> list[str]:
    from pyarrow import fs

    selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
    return sorted(info.path for info in filesystem.get_file_info(selector) if info.type.name == "File")


def _hidden(path: str) -> bool:
    """Return whether a file is metadata, such as ``_SUCCESS``."""
    return any(part.startswith(("_", ".")) for part in path.split("/") if "=" not in part)


def _pattern(path: str) -> str:
    """Return a regular expression: ``*`` and ``?`` stay within a folder, ``**`` does not.

    >>> bool(re.fullmatch(_pattern("/a/**/x-?.parquet"), "/a/b/c/x-1.parquet"))
    True
    """
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]*\])", path)
    return "".join(words.get(part) or _literal(part) for part in parts)


def _literal(part: str) -> str:
    return part.replace("[!", "[^", 1) if part.startswith("[") else re.escape(part)

"""Which files are meant: a path, a folder, a pattern or an address, on any filesystem Arrow knows."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

from paribus._data.scan.object_store import (
    is_address,
    is_local,
    names_store,
    opened_store,
    split_options,
    store_reason,
    without_secret,
)
from paribus.errors import SourceError

WILD = re.compile(r"[*?\[]")
LISTS_AT_ONCE = 16  # of several paths: object stores respond slowly, and many at a time
BUCKET = re.compile(r"s3://[^/]+")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
# Folders of tables whose files count only as a log beside them says, and how such a table is passed.
LOG = re.compile(r"(.*?)/(?:(_delta_log|\.hoodie)(?:/.*)?|(metadata)/[^/]*\.metadata\.json(?:\.gz)?)")
WITH_LOG = {
    "_delta_log": (
        "Delta Lake",
        "DeltaTable(path).to_pyarrow_dataset() of deltalake, or polars.scan_delta(path)",
    ),
    ".hoodie": (
        "Hudi",
        "a function that returns batches from a reader of the format, or a table in memory",
    ),
    "metadata": (
        "Iceberg",
        "lambda: table.scan().to_arrow_batch_reader() of a pyiceberg table, or polars.scan_iceberg(table)",
    ),
}


def is_path(X: Any) -> bool:
    """Return whether X is one or several paths."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(x, (str, os.PathLike)) for x in X)


def listed(X: Any) -> tuple[Any, list[str], str]:
    """Return the filesystem, the files in order, and the folder whose subfolders may say ``key=value``."""
    if isinstance(X, (list, tuple)):
        return _several(X)
    given = os.fspath(X)
    return _listed(given, *_located(given))


def _listed(given: str, filesystem: Any, path: str) -> tuple[Any, list[str], str]:
    shown = without_secret(given)
    try:
        kind = filesystem.get_file_info(path).type.name
        if WILD.search(path) and kind == "NotFound":
            files, listing = _matching(filesystem, path)
            if not files:
                raise SourceError(f"X={shown!r}: no file matches this pattern{_bucket(filesystem, path)}")
            _check_no_log(shown, filesystem, _fixed(path), files, listing)
            return filesystem, files, _above(_fixed(path))
        if kind == "NotFound":
            raise SourceError(
                f"X={shown!r}: there is no such file or folder{_missing(given, filesystem, path)}"
            )
        if kind == "File":
            return filesystem, [path], _base([path])
        listing = _under(filesystem, path)
        files = [file for file in listing if not _hidden(file[len(path) :])]
        _check_no_log(shown, filesystem, path, files, listing)
    except SourceError:
        raise
    except (OSError, ValueError) as error:  # the latter if Arrow takes it for no path
        raise SourceError(f"X={shown!r} cannot be listed: {store_reason(error)}") from error
    if not files:
        raise SourceError(f"X={shown!r}: this folder has no files")
    return filesystem, files, _above(path)


def _check_no_log(shown: str, filesystem: Any, folder: str, files: list[str], listing: list[str]) -> None:
    """Refuse files of a table whose log says which of them count: others were replaced or removed.

    ``listing`` is what was listed to find the files, in ``folder``. That may also be a part of a table: a
    folder that says ``key=value``, or ``data`` of Iceberg.
    """
    above = {_above(folder), folder.rpartition("/")[0] if folder.endswith("/data") else folder} - {folder}
    logs = [f"{place}/{name}" for place in above for name in WITH_LOG]
    found = [info.path for info in filesystem.get_file_info(logs) if info.type.name == "Directory"]
    for place in [path for path in (*found, *listing) if path.endswith("/metadata")]:
        found += [info.path for info in _infos(filesystem, place, recursive=False)]
    for match in filter(None, map(LOG.fullmatch, (*found, *listing))):
        root = match[1]
        if any(file.startswith(f"{root}/") for file in files):
            kind, way_out = WITH_LOG[match[2] or match[3]]
            raise SourceError(
                f"X={shown!r} has files of a {kind} table, of which some may have been replaced or removed: "
                f"the log in {root}/{match[2] or match[3]} says which count. Pass {way_out}"
            )


def _missing(given: str, filesystem: Any, path: str) -> str:
    if is_local(filesystem):
        return "; pass an address as text, because pathlib shortens it" if names_store(given) else ""
    return _bucket(filesystem, path)


def _bucket(filesystem: Any, path: str) -> str:
    """Return whether it is the bucket that is missing, as the end of a sentence."""
    bucket = path.partition("/")[0]
    if filesystem.type_name != "s3" or filesystem.get_file_info(bucket).type.name != "NotFound":
        return ""
    return f", because there is no bucket {bucket!r}"


def _matching(filesystem: Any, path: str) -> tuple[list[str], list[str]]:
    """Return the files a pattern names, or else those in the folders it names; and all that was listed."""
    folder, pattern = _fixed(path), _pattern(path)
    if folder == path.rpartition("/")[0] and "**" not in path:  # a bucket may hold a lot besides
        infos = _infos(filesystem, folder, recursive=False)
        named = [info for info in infos if re.fullmatch(pattern, info.path)]
        files = [info.path for info in named if info.type.name == "File"]
        below = [info.path for info in named if info.type.name == "Directory"]
        every = [info.path for info in infos]
        if files:
            return sorted(files), every
        held = {one: _under(filesystem, one) for one in below}
        every += [file for some in held.values() for file in some]
        return sorted(f for one, some in held.items() for f in some if not _hidden(f[len(one) :])), every
    every = _under(filesystem, folder)
    files = [file for file in every if re.fullmatch(pattern, file)]
    within = re.compile(f"(?:{pattern})(/.*)")
    found = ((file, within.fullmatch(file)) for file in every)
    inside = [file for file, match in found if match and not _hidden(match[match.re.groups])]
    return files or inside, every


def keys_of(path: str, base: str) -> tuple[tuple[str, str | None], ...]:
    """Return what the folders between a base and a file say, as in ``year=2026/part-0.parquet``.

    >>> keys_of("/data/year=2026/name=a%20b/x.parquet", "/data")
    (('year', '2026'), ('name', 'a b'))
    """
    folders = path[len(base) :].split("/")[:-1] if path.startswith(base) else []
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple((key, None if value == HIVE_NULL else unquote(value)) for key, value in pairs)


def _several(paths: Sequence[Any]) -> tuple[Any, list[str], str]:
    given = [os.fspath(path) for path in paths]
    places = _all_located(given)
    filesystem = places[0][0]
    for path, (where, _) in zip(given, places, strict=True):
        if where != filesystem:
            shown = without_secret(path)
            raise SourceError(f"X has files on several filesystems, such as {shown!r}; give one")
    with ThreadPoolExecutor(LISTS_AT_ONCE) as pool:
        found = pool.map(lambda path, place: _listed(path, *place)[1], given, places)
        files = [file for some in found for file in some]
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


def _all_located(paths: list[str]) -> list[tuple[Any, str]]:
    """Locate several paths; a bucket is opened once."""
    opened: dict[str, tuple[Any, str]] = {}
    places = []
    for path in paths:
        bucket, key, options = _parts(path) if is_address(path) else (path, "", "")
        if bucket + options not in opened:
            opened[bucket + options] = _located(bucket + options)
        filesystem, base = opened[bucket + options]
        places.append((filesystem, base + key))
    return places


def _parts(path: str) -> tuple[str, str, str]:
    """Return an address as what is opened, the key in it and its options.

    A key is taken as it is: one of S3 may hold spaces and percent signs.

    >>> _parts("s3://bucket/city=a%20b/*.parquet?region=eu-west-1")
    ('s3://bucket', '/city=a%20b/*.parquet', '?region=eu-west-1')
    """
    plain, options = split_options(path)
    bucket = BUCKET.match(plain)
    if bucket is not None:
        return bucket[0], plain[bucket.end() :].rstrip("/"), options
    # A pattern is no address: what is wild is put back once the filesystem is known.
    fixed = _fixed(plain) if WILD.search(plain) else plain
    return fixed, plain[len(fixed) :], options


def _located(path: str) -> tuple[Any, str]:
    """Return the filesystem of an address and the path on it; a path without a scheme is local."""
    from pyarrow import fs

    if not is_address(path):
        return fs.LocalFileSystem(), _local(path)
    opened, key, options = _parts(path)
    try:
        filesystem, found = opened_store(opened + options)
    except (OSError, ValueError) as error:
        shown = without_secret(path)
        reason = store_reason(error).replace(opened + options, without_secret(opened + options))
        raise SourceError(
            f"X={shown!r} cannot be opened: {reason}; what fsspec reads is "
            "passed as pyarrow.dataset.dataset(path, filesystem=fsspec.filesystem(...))"
        ) from (error if shown == path else None)  # Arrow repeats the address, and a traceback the cause
    return filesystem, found + key


def _local(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/")


def _fixed(path: str) -> str:
    """Return the folders of a pattern before the first that is wild."""
    folders = path.split("/")
    first = next(position for position, folder in enumerate(folders) if WILD.search(folder))
    return "/".join(folders[:first])


def _under(filesystem: Any, folder: str) -> list[str]:
    infos = _infos(filesystem, folder, recursive=True)
    return sorted(info.path for info in infos if info.type.name == "File")


def _infos(filesystem: Any, folder: str, recursive: bool) -> list[Any]:
    from pyarrow import fs

    selector = fs.FileSelector(folder, recursive=recursive, allow_not_found=True)
    found: list[Any] = filesystem.get_file_info(selector)
    return found


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

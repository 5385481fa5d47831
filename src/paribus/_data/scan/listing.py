"""Listing of the files of a dataset, on local disks and in object stores, and digests of columns."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
import xxhash

from paribus.errors import SourceError, failure

if TYPE_CHECKING:
    import pyarrow as pa

SILENCE, CONNECT = 5.0, 5.0  # seconds without data, and to connect, before another attempt
ATTEMPTS = 4  # per request to S3, with pauses of about 0.5, 1 and 2 seconds
# A question mark is also a wildcard: options of an address have a name, and values without wildcards.
OPTIONS = re.compile(r"\?\w+=[^&?*\[]*(?:&\w+=[^&?*\[]*)*$")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # pathlib shortens two slashes to one
# Also removes keys that contain a slash; a port is not removed.
SECRET = re.compile(r"(:/{1,2})(?:[^/]*@|[^/@:]*:(?!\d+/).*@)")
SECRET_OPTION = re.compile(
    r"([?&][^=&]*(?:secret|token|key|sig|password|credential)[^=&]*=)[^&]*", re.IGNORECASE
)
S3_OPTIONS = {"region", "scheme", "endpoint_override", "tls_ca_file_path"}
ENDPOINTS = (
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
)  # environment variables with the address of another store
WRITTEN = (
    "ETag",
    "etag",
    "mtime",
    "LastModified",
    "last_modified",
)  # keys of ``info`` in fsspec, by which a rewritten file is recognized
CREDENTIALS = (
    "check that credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN) "
    "are set, have not expired and permit listing and reading it"
)
REGION = "name the region of the bucket, as in s3://bucket/folder?region=eu-west-1"
HINTS = (  # pattern in the error message of a store, and a suggestion
    (r"HTTP status 301|permanent_?redirect", REGION),
    (r"HTTP status 400", f"{CREDENTIALS}, and {REGION}"),
    (r"access_?denied|access_?key|signature|forbidden|expired|token|credential|permission", CREDENTIALS),
    (r"no_?such_?bucket", "check the name of the bucket"),
    (
        r"slow_?down|internal_?(?:failure|error)|HTTP status 50[03]|reduce your request rate",
        "the store is too busy, or fails: try again later",
    ),
    (
        r"network|curlCode|connect|resolve|timed? ?out",
        "check the network, and AWS_ENDPOINT_URL if the store is not Amazon's",
    ),
)


def names_store(path: Any) -> bool:
    """Return whether a path for results is an address, also one that `pathlib` has shortened.

    >>> from pathlib import PurePosixPath
    >>> names_store("s3://bucket/x.json"), names_store(PurePosixPath("s3://bucket/x.json"))
    (True, True)
    """
    if not isinstance(path, (str, os.PathLike)):
        return False
    found = ADDRESS.match(str(path))
    return found is not None and not os.path.exists(found[0])


def without_secret(path: str) -> str:
    """Return an address without the credentials in it, also one that `pathlib` has shortened.

    >>> without_secret("s3://key:secret@bucket/x.parquet")
    's3://bucket/x.parquet'
    >>> without_secret("abfs://box/x.parquet?client_id=me&client_secret=hidden")
    'abfs://box/x.parquet?client_id=me&client_secret=...'
    """
    return SECRET_OPTION.sub(r"\1...", SECRET.sub(r"\1", path)) if ":/" in path else path


def split_options(path: str) -> tuple[str, str]:
    """Return an address without its options, and the options.

    >>> split_options("s3://bucket/part-?.parquet?region=eu-west-1")
    ('s3://bucket/part-?.parquet', '?region=eu-west-1')
    """
    found = OPTIONS.search(path)
    return (path, "") if found is None else (path[: found.start()], found[0])


def opened_store(address: str) -> tuple[Any, str]:
    """Return the filesystem of an address without wildcards, and the path on it."""
    from pyarrow import fs

    if address.startswith("s3://"):
        return _opened_s3(address)
    filesystem, path = fs.FileSystem.from_uri(address)
    return filesystem, path


def _opened_s3(address: str) -> tuple[Any, str]:
    """Return the filesystem and bucket of an S3 address, with timeouts shorter than Arrow's 90 seconds.

    Options of the address are `S3_OPTIONS`. Open a bucket once, because finding credentials may be slow.
    """
    from pyarrow import fs

    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    unknown = sorted(set(options) - S3_OPTIONS)
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is not an option of an address, which are {', '.join(sorted(S3_OPTIONS))}"
        )
    secret, _, bucket = parts.netloc.rpartition("@")
    if ":" in bucket:
        raise ValueError("a key with a slash in it is written with %2F, or given by AWS_SECRET_ACCESS_KEY")
    if secret:
        options["access_key"], _, options["secret_key"] = map(unquote, secret.partition(":"))
    named = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "")
    if named and "endpoint_override" not in options:
        scheme, _, options["endpoint_override"] = named.rpartition("://")
        options["scheme"] = scheme or "https"
    if "region" not in options and "endpoint_override" not in options:
        options["region"] = fs.resolve_s3_region(bucket)
    attempts = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    bounds = {"request_timeout": SILENCE, "connect_timeout": CONNECT, "retry_strategy": attempts}
    return fs.S3FileSystem(**options, **bounds), bucket


def is_local(filesystem: Any) -> bool:
    """Return whether files are on this machine."""
    return bool(filesystem.type_name == "local")


def store_reason(error: Exception) -> str:
    """Return in one line why a store failed, with a suggestion if there is one."""
    plain = type(error) is OSError and error.errno is None and str(error).strip()  # as Arrow raises them
    reason = (str(error).strip() if plain else failure(error)).splitlines()[0].rstrip(".: ")
    return reason + next(
        (f"; {hint}" for words, hint in HINTS if re.search(words, reason, re.IGNORECASE)), ""
    )


def is_final(filesystem: Any, error: Exception) -> bool:
    """Return whether another attempt is useless; the clients of S3 and fsspec repeat attempts themselves."""
    own = filesystem.type_name.startswith("py::") or "AWS Error" in str(error)
    return own or isinstance(error, (FileNotFoundError, PermissionError)) or not isinstance(error, OSError)


def version_of(filesystem: Any, path: str, handle: Any) -> str:
    """Return text that changes if a file is rewritten: its entity tag, or its size and time."""
    tag = (handle.metadata() or {}).get("ETag")
    if tag is not None:
        return str(tag.decode())
    foreign = getattr(getattr(filesystem, "handler", None), "fs", None)  # a filesystem of fsspec
    if foreign is not None:
        found = foreign.info(path)
        return f"{found.get('size')} {next((found[key] for key in WRITTEN if key in found), None)}"
    info = filesystem.get_file_info(path)
    return f"{info.size} {info.mtime_ns}"


WILD = re.compile(r"[*?\[]")
LISTS_AT_ONCE = 16  # paths listed in parallel, because object stores respond slowly
BUCKET = re.compile(r"s3://[^/]+")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
# Folders with the log of a table, which says which files are valid; and how to pass such a table.
LOG = re.compile(r"(.*?)/(?:(_delta_log|\.hoodie)(?:/.*)?|(metadata)/[^/]*\.metadata\.json(?:\.gz)?)")
WITH_LOG = {
    "_delta_log": (
        "Delta Lake",
        "deltalake.DeltaTable(path)",
    ),
    ".hoodie": (
        "Hudi",
        "a function that returns batches from a reader of the format, or a table in memory",
    ),
    "metadata": (
        "Iceberg",
        "the pyiceberg table, catalog.load_table(name)",
    ),
}


def is_path(X: Any) -> bool:
    """Return whether X is a path or a list of paths."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(x, (str, os.PathLike)) for x in X)


def listed(X: Any) -> tuple[Any, list[str], str]:
    """Return the filesystem, the files in order, and the folder above folders named ``key=value``."""
    if isinstance(X, (list, tuple)):
        return _listed_paths(X)
    given = os.fspath(X)
    return _listed_path(given, *_filesystem_of_path(given))


def _listed_path(given: str, filesystem: Any, path: str) -> tuple[Any, list[str], str]:
    """Return the same as `listed` for one path, which the user wrote as ``given``."""
    shown = without_secret(given)
    try:
        kind = filesystem.get_file_info(path).type.name
        if WILD.search(path) and kind == "NotFound":
            files, listing = _matching(filesystem, path)
            if not files:
                raise SourceError(
                    f"X={shown!r}: no file matches this pattern{_no_bucket_text(filesystem, path)}"
                )
            _check_no_log(shown, filesystem, _folder_before_wildcard(path), files, listing)
            return filesystem, files, _folder_above_keys(_folder_before_wildcard(path))
        if kind == "NotFound":
            raise SourceError(
                f"X={shown!r}: there is no such file or folder{_why_not_found(given, filesystem, path)}"
            )
        if kind == "File":
            return filesystem, [path], _common_folder([path])
        listing = _under(filesystem, path)
        files = [file for file in listing if not _hidden(file[len(path) :])]
        _check_no_log(shown, filesystem, path, files, listing)
    except SourceError:
        raise
    except (OSError, ValueError) as error:  # ValueError if Arrow refuses the path
        raise SourceError(f"X={shown!r} cannot be listed: {store_reason(error)}") from error
    if not files:
        raise SourceError(f"X={shown!r}: this folder has no files")
    return filesystem, files, _folder_above_keys(path)


def _check_no_log(shown: str, filesystem: Any, folder: str, files: list[str], listing: list[str]) -> None:
    """Raise `SourceError` for files of a table whose log says which files are valid.

    ``listing`` has all paths that were listed in ``folder`` to find the files. The folder may be a part of
    a table: a folder named ``key=value``, or ``data`` of Iceberg.
    """
    above = {
        _folder_above_keys(folder),
        folder.rpartition("/")[0] if folder.endswith("/data") else folder,
    } - {folder}
    logs = [f"{place}/{name}" for place in above for name in WITH_LOG]
    found = [info.path for info in filesystem.get_file_info(logs) if info.type.name == "Directory"]
    for place in [path for path in (*found, *listing) if path.endswith("/metadata")]:
        found += [info.path for info in _infos(filesystem, place, recursive=False)]
    for match in filter(None, map(LOG.fullmatch, (*found, *listing))):
        root = match[1]
        if any(file.startswith(f"{root}/") for file in files):
            kind, way_out = WITH_LOG[match[2] or match[3]]
            raise SourceError(
                f"X={shown!r} has files of a {kind} table, of which some may have been replaced or removed, "
                f"as only the log in {root}/{match[2] or match[3]} says; pass {way_out}"
            )


def _why_not_found(given: str, filesystem: Any, path: str) -> str:
    """Return why a path does not exist, as the end of a sentence."""
    if is_local(filesystem):
        return "; pass an address as text, because pathlib shortens it" if names_store(given) else ""
    return _no_bucket_text(filesystem, path)


def _no_bucket_text(filesystem: Any, path: str) -> str:
    """Return that the bucket does not exist, as the end of a sentence; empty text if it does."""
    bucket = path.partition("/")[0]
    if filesystem.type_name != "s3" or filesystem.get_file_info(bucket).type.name != "NotFound":
        return ""
    return f", because there is no bucket {bucket!r}"


def _matching(filesystem: Any, path: str) -> tuple[list[str], list[str]]:
    """Return the files that match a pattern, else those in matching folders; and all listed paths."""
    folder, pattern = _folder_before_wildcard(path), _pattern(path)
    if folder == path.rpartition("/")[0] and "**" not in path:  # other folders of a bucket may be large
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
    """Return the keys and values in folder names below a base, as in ``year=2026/part-0.parquet``.

    >>> keys_of("/data/year=2026/name=a%20b/x.parquet", "/data")
    (('year', '2026'), ('name', 'a b'))
    """
    folders = path[len(base) :].split("/")[:-1] if path.startswith(base) else []
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple((key, None if value == HIVE_NULL else unquote(value)) for key, value in pairs)


def _listed_paths(paths: Sequence[Any]) -> tuple[Any, list[str], str]:
    given = [os.fspath(path) for path in paths]
    places = _filesystems_of_paths(given)
    filesystem = places[0][0]
    for path, (where, _) in zip(given, places, strict=True):
        if where != filesystem:
            shown = without_secret(path)
            raise SourceError(f"X has files on several filesystems, such as {shown!r}; give one")
    with ThreadPoolExecutor(LISTS_AT_ONCE) as pool:
        found = pool.map(lambda path, place: _listed_path(path, *place)[1], given, places)
        files = [file for some in found for file in some]
    twice = [file for file, count in Counter(files).items() if count > 1]
    if twice:
        raise SourceError(f"X has {twice[0]} more than once, so that its rows would count more than once")
    return filesystem, files, _common_folder(files)


def _common_folder(files: list[str]) -> str:
    """Return the deepest folder that contains all files, above folders named ``key=value``."""
    return _folder_above_keys(
        os.path.commonpath({file.rpartition("/")[0] for file in files}).replace(os.sep, "/")
    )


def _folder_above_keys(folder: str) -> str:
    """Return a folder, or its last parent above the first folder named ``key=value``."""
    return folder.partition("=")[0].rpartition("/")[0] if "=" in folder else folder


def _filesystems_of_paths(paths: list[str]) -> list[tuple[Any, str]]:
    """Return the filesystem and path of several paths; each bucket is opened once."""
    opened: dict[str, tuple[Any, str]] = {}
    places = []
    for path in paths:
        bucket, key, options = _split_address(path) if "://" in path else (path, "", "")
        if bucket + options not in opened:
            opened[bucket + options] = _filesystem_of_path(bucket + options)
        filesystem, base = opened[bucket + options]
        places.append((filesystem, base + key))
    return places


def _split_address(path: str) -> tuple[str, str, str]:
    """Return an address split into the part to open, the key in it and its options.

    Keys are not decoded, because those of S3 may contain spaces and percent signs.

    >>> _split_address("s3://bucket/city=a%20b/*.parquet?region=eu-west-1")
    ('s3://bucket', '/city=a%20b/*.parquet', '?region=eu-west-1')
    """
    plain, options = split_options(path)
    bucket = BUCKET.match(plain)
    if bucket is not None:
        return bucket[0], plain[bucket.end() :].rstrip("/"), options
    # A filesystem cannot be opened by a pattern; the wildcards are the key.
    fixed = _folder_before_wildcard(plain) if WILD.search(plain) else plain
    return fixed, plain[len(fixed) :], options


def _filesystem_of_path(path: str) -> tuple[Any, str]:
    """Return the filesystem of an address and the path on it; paths without a scheme are local."""
    from pyarrow import fs

    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/")
    opened, key, options = _split_address(path)
    try:
        filesystem, found = opened_store(opened + options)
    except (OSError, ValueError) as error:
        shown = without_secret(path)
        reason = store_reason(error).replace(opened + options, without_secret(opened + options))
        raise SourceError(
            f"X={shown!r} cannot be opened: {reason}; what fsspec reads is "
            "passed as pyarrow.dataset.dataset(path, filesystem=fsspec.filesystem(...))"
        ) from (error if shown == path else None)  # the cause would show the address with its secret
    return filesystem, found + key


def _folder_before_wildcard(path: str) -> str:
    """Return the folders of a pattern before the first with a wildcard."""
    folders = path.split("/")
    first = next(position for position, folder in enumerate(folders) if WILD.search(folder))
    return "/".join(folders[:first])


def _under(filesystem: Any, folder: str) -> list[str]:
    """Return the sorted paths of all files in a folder and its subfolders."""
    infos = _infos(filesystem, folder, recursive=True)
    return sorted(info.path for info in infos if info.type.name == "File")


def _infos(filesystem: Any, folder: str, recursive: bool) -> list[Any]:
    from pyarrow import fs

    selector = fs.FileSelector(folder, recursive=recursive, allow_not_found=True)
    found: list[Any] = filesystem.get_file_info(selector)
    return found


def _hidden(path: str) -> bool:
    """Return whether a path is one of metadata, such as ``_SUCCESS``."""
    return any(part.startswith(("_", ".")) for part in path.split("/") if "=" not in part)


def _pattern(path: str) -> str:
    """Return a regular expression for a pattern; ``*`` and ``?`` do not match a slash, ``**`` does.

    >>> bool(re.fullmatch(_pattern("/a/**/x-?.parquet"), "/a/b/c/x-1.parquet"))
    True
    """
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]*\])", path)
    return "".join(
        words.get(part) or (part.replace("[!", "[^", 1) if part.startswith("[") else re.escape(part))
        for part in parts
    )


SIZE = 2**128  # sums of digests are taken modulo this
ROWS = 1_024  # rows per digest; a survey reads blocks of a multiple of this


def digests_of(table: pa.Table, start: int) -> list[int]:
    """Return the sum of the digests of groups of rows for each column; ``start`` is the first row number."""
    return [_column_digest(column, start) for column in table.columns]


def _column_digest(column: Any, start: int) -> int:
    total, (kind, content) = 0, _digest_buffers(column)
    missing = np.asarray(column.is_null()) if column.null_count else None
    for first in range(0, len(column), ROWS):
        stop = min(first + ROWS, len(column))
        digest = xxhash.xxh3_128(f"{kind} {start + first} {stop - first}".encode())
        if missing is not None and missing[first:stop].any():
            digest.update(np.packbits(missing[first:stop]).data)
        for part in content(first, stop):
            digest.update(part)
        total += digest.intdigest()
    return total % SIZE


def _digest_buffers(column: Any) -> tuple[Any, Callable[[int, int], tuple[Any, ...]]]:
    """Return the type of a column, and a function that returns buffers with the values of some rows.

    Neither depends on the chunks of the column nor on the codes of categories.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.string(), _texts(column)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        whole = column
    elif pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        whole = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    else:
        return kind, lambda first, stop: (repr(column.slice(first, stop - first).to_pylist()).encode(),)
    # Nulls are digested separately; conversion to floats would round large integers.
    numbers = np.ascontiguousarray((whole.fill_null(0) if whole.null_count else whole).to_numpy())
    return kind, lambda first, stop: (numbers[first:stop].view(np.uint8),)


def _texts(column: Any) -> Callable[[int, int], tuple[Any, ...]]:
    """Return a function that returns the lengths and the bytes of the texts of some rows."""
    import pyarrow as pa

    chunks = column.fill_null("").cast(pa.large_string()).chunks
    texts = pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_string())
    _, places, content = texts.buffers()
    ends = np.frombuffer(places, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(content or b"", np.uint8)
    return lambda first, stop: (np.diff(ends[first : stop + 1]), data[ends[first] : ends[stop]])

"""Object stores: a filesystem from an address, how long it may be silent, and what to do if it refuses."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from paribus.errors import failure

SILENCE, CONNECT = 5.0, 5.0  # seconds without a byte, and until a connection stands, before a new attempt
ATTEMPTS = 4  # of one request to S3, with pauses of about 0.5, 1 and 2 seconds between them
# A question mark is also a pattern: options of an address have a name, and nothing wild in them.
OPTIONS = re.compile(r"\?\w+=[^&?*\[]*(?:&\w+=[^&?*\[]*)*$")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # pathlib leaves one slash of two
# Who writes a key with a slash in it has to be shown the message without it, too; a port is no key.
SECRET = re.compile(r"(:/{1,2})(?:[^/]*@|[^/@:]*:(?!\d+/).*@)")
SECRET_OPTION = re.compile(
    r"([?&][^=&]*(?:secret|token|key|sig|password|credential)[^=&]*=)[^&]*", re.IGNORECASE
)
S3_OPTIONS = {"region", "scheme", "endpoint_override", "tls_ca_file_path"}
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # variables that name a store other than Amazon's
WRITTEN = ("ETag", "etag", "mtime", "LastModified", "last_modified")  # what filesystems of fsspec say
CREDENTIALS = (
    "check that credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN) "
    "are set, have not expired and permit listing and reading it"
)
REGION = "name the region of the bucket, as in s3://bucket/folder?region=eu-west-1"
HINTS = (  # what the reason of a store says, and what to do
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


def is_address(path: str) -> bool:
    """Return whether a path names a filesystem, as ``s3://bucket/file`` does."""
    return "://" in path


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
    """Return an address without its options, and these.

    >>> split_options("s3://bucket/part-?.parquet?region=eu-west-1")
    ('s3://bucket/part-?.parquet', '?region=eu-west-1')
    """
    found = OPTIONS.search(path)
    return (path, "") if found is None else (path[: found.start()], found[0])


def opened_store(address: str) -> tuple[Any, str]:
    """Return the filesystem of an address without a pattern, and the path on it."""
    from pyarrow import fs

    if address.startswith("s3://"):
        return _opened_s3(address)
    filesystem, path = fs.FileSystem.from_uri(address)
    return filesystem, path


def _opened_s3(address: str) -> tuple[Any, str]:
    """Open a bucket within bounds of time: Arrow alone waits for a silent one for a minute and a half.

    Options of the address are those Arrow knows. It is opened once, as credentials may be looked up slowly.
    """
    from pyarrow import fs

    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    unknown = sorted(set(options) - S3_OPTIONS)
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is no option of an address, which are {', '.join(sorted(S3_OPTIONS))}"
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
    """Return in one line why a store failed, and what can be done."""
    plain = type(error) is OSError and error.errno is None and str(error).strip()  # as Arrow raises them
    reason = (str(error).strip() if plain else failure(error)).splitlines()[0].rstrip(".: ")
    return f"{reason}{way_out(reason)}"


def way_out(reason: str) -> str:
    """Return what can be done about a reason, as the end of a sentence."""
    return next((f"; {hint}" for words, hint in HINTS if re.search(words, reason, re.IGNORECASE)), "")


def is_final(filesystem: Any, error: Exception) -> bool:
    """Return whether another attempt is of no use: the clients of S3 and of fsspec make their own."""
    own = filesystem.type_name.startswith("py::") or "AWS Error" in str(error)
    return own or isinstance(error, (FileNotFoundError, PermissionError)) or not isinstance(error, OSError)


def version_of(filesystem: Any, path: str, handle: Any) -> str:
    """Return what differs once a file was written anew: its entity tag, or its size and time."""
    tag = (handle.metadata() or {}).get("ETag")
    if tag is not None:
        return str(tag.decode())
    foreign = getattr(getattr(filesystem, "handler", None), "fs", None)  # that of fsspec
    if foreign is not None:
        found = foreign.info(path)
        return f"{found.get('size')} {next((found[key] for key in WRITTEN if key in found), None)}"
    info = filesystem.get_file_info(path)
    return f"{info.size} {info.mtime_ns}"

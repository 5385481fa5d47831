"""Cache folder of compiled kernels, and observers of their compilation."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeAlias

Watcher: TypeAlias = Callable[
    [Path | None], None
]  # called with the cache folder, None if kernels are not cached
_watchers: list[Watcher] = []
_lock = Lock()


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Notify a watcher before a kernel is compiled in this context, in any thread."""
    with _lock:
        _watchers.append(watcher)
    try:
        yield
    finally:
        with _lock:
            _watchers.remove(watcher)


def compiling(kept: Path | None) -> None:
    """Notify the latest watcher that compilation of a kernel starts."""
    with _lock:
        if _watchers:
            _watchers[-1](kept)


CHOICE = "PARIBUS_CACHE_DIR"  # environment variable with the path of the cache folder
NUMBA = "NUMBA_CACHE_DIR"  # environment variable of numba, which takes precedence
LOG = logging.getLogger("paribus")


def place() -> Path:
    """Return the cache folder for kernels of the current sources, whether or not it exists.

    Raises OSError if the home directory of the user is unknown.
    """
    named = os.environ.get(NUMBA) or os.environ.get(CHOICE)
    try:
        kept = Path(named).expanduser() if named else _user_folder() / "paribus"
    except RuntimeError as error:  # raised by Path.expanduser
        raise FileNotFoundError(str(error)) from error
    return kept / f"kernels-{_source_digest()}"


def _user_folder() -> Path:
    """Return the cache folder of the user on this platform."""
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


@cache
def _source_digest() -> str:
    """Return a digest of all kernel sources, because numba only checks the file that defines a kernel."""
    own = Path(__file__).parent
    sources = sorted([*own.glob("*.py"), *(own / "jit").glob("*.py")])
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


@cache
def folder() -> Path | None:
    """Return a writable cache folder, None if there is none.

    numba only loads from a writable folder. Kernels in a read-only one, such as that of a container image,
    are first copied to a temporary folder.
    """
    kept: Path | None = None
    try:
        kept = place()
        return _writable(kept)
    except OSError as error:
        why = error
    try:
        if kept is not None and any(kept.rglob("*.nbi")):
            copied = Path(tempfile.mkdtemp(prefix="paribus-"))
            atexit.register(shutil.rmtree, copied, ignore_errors=True)
            shutil.copytree(kept, copied, dirs_exist_ok=True)
            return copied
    except OSError as error:
        why = error
    LOG.warning(
        "compiled kernels cannot be kept in %s (%s), so that every process compiles them; set %s to a folder "
        "that can be written", kept or "a cache folder", why, CHOICE
    )  # fmt: skip
    return None


def _writable(path: Path) -> Path:
    """Create a folder if it is missing and return it; raise OSError if it is not writable."""
    path.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=path).close()
    return path

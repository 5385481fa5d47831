"""Kernels kept on disk, and the progress of compiling them."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Protocol


class Watcher(Protocol):
    """Shows what is compiled."""

    def compiling(self, name: str, kept: Path | None) -> None:
        """Show that a kernel is compiled, and where it is kept, None if it is not."""
        ...


_watchers: list[Watcher] = []
_lock = Lock()


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Show a watcher what is compiled meanwhile, in whichever thread."""
    with _lock:
        _watchers.append(watcher)
    try:
        yield
    finally:
        with _lock:
            _watchers.remove(watcher)


def compiling(name: str, kept: Path | None) -> None:
    """Show that a kernel is compiled."""
    with _lock:
        if _watchers:
            _watchers[-1].compiling(name, kept)


CHOICE = "PARIBUS_CACHE_DIR"  # the environment variable that names the folder
NUMBA = "NUMBA_CACHE_DIR"  # that of numba, which comes first
LOG = logging.getLogger("paribus")


def place() -> Path:
    """Return the folder in which compiled kernels of these sources are kept, if it can be written.

    Raises OSError where a user has no home.
    """
    named = os.environ.get(NUMBA) or os.environ.get(CHOICE)
    try:
        kept = Path(named).expanduser() if named else _user_folder() / "paribus"
    except RuntimeError as error:  # as Path has it
        raise FileNotFoundError(str(error)) from error
    return kept / f"kernels-{_digest()}"


def _user_folder() -> Path:
    """Return the folder for what programs keep of a user and can make again."""
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


@cache
def _digest() -> str:
    """Return a digest of the sources: numba would notice only a change of the file a kernel is in."""
    own = Path(__file__).parent
    sources = sorted([*own.glob("*.py"), *(own / "jit").glob("*.py")])
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


@cache
def folder() -> Path | None:
    """Return a folder that can be written, None if there is none.

    numba loads from no other: what an image or an installation keeps for its users is copied first.
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
    """Return a folder that is made if it is missing, or raise OSError."""
    path.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=path).close()
    return path

"""Who is shown that kernels are compiled: whoever called last, while it is waiting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

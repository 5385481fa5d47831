"""Imports and compilation without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LOCK = Lock()
_paused = {"by": 0, "enabled": False}  # number of loading threads, and the setting before the first


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection in the meantime.

    Modules and compiled kernels consist of many permanent objects. With them, garbage collection would take a
    fifth of the loading time and free nothing.
    """
    with LOCK:
        if not _paused["by"]:
            _paused["enabled"] = gc.isenabled()
            gc.disable()
        _paused["by"] += 1
    try:
        yield
    finally:
        with LOCK:
            _paused["by"] -= 1
            if not _paused["by"] and _paused["enabled"]:
                gc.enable()

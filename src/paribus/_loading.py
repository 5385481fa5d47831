"""Loading what is used first, modules and kernels, without stopping to look for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LOCK = Lock()
_paused = {"by": 0, "enabled": False}  # how many threads are loading, and what was set before the first


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile.

    Modules, and what numba makes of a kernel, are many objects that stay. Among those of the libraries that
    are loaded already, a fifth of the time would go into finding that nothing can be freed.
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

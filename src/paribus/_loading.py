"""Loading of plugins and of pyarrow, and imports and compilation without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from paribus.errors import InputError, SourceError, failure

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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


def check_pyarrow(what: str) -> None:
    """Raise `SourceError` if pyarrow, which ``what`` needs, is not installed."""
    if find_spec("pyarrow") is None:
        raise SourceError(f"{what} needs pyarrow; pip install 'paribus[parquet]'")


@cache
def plugins(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, sorted by name.

    They are found once, and not before a model or an executor is unknown, because all packages are read.
    """
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=group), key=lambda point: point.name))


def load_plugin(point: EntryPoint, *required: str) -> Any:
    """Return the object of an entry point, or raise `InputError` that names the plugin and its package."""
    package = point.dist.name if point.dist is not None else point.module
    try:
        found = point.load()
        lacking = next((name for name in required if not hasattr(found, name)), None)
        if lacking is not None:
            raise TypeError(f"{point.value} has no {lacking}")
    except Exception as error:  # a plugin may raise any error
        raise InputError(
            f"the plugin {point.name!r} of {package} cannot be loaded: {failure(error)}; update or uninstall "
            f"{package}"
        ) from error
    return found

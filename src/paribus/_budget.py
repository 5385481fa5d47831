"""Portions: how much memory, how many threads and how much time a computation may take."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from paribus.errors import OptionError

FLOAT = 8  # bytes
FREE_FRACTION = 0.5  # of the memory that is free when the call starts, unless max_memory says otherwise
AHEAD = 2  # blocks that wait per thread, so that no thread waits for the next one
MAX_HOURS = 6.0  # that an explanation may be estimated to take, unless max_hours says otherwise
LEAST_FREE = 64_000_000  # to begin with, however little there is
# Where a Linux container states its limit and what it uses, in version 2 of control groups and in version 1.
CONTAINER = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


def memory(max_memory: Any) -> int:
    """Read a memory bound in bytes, or as text; None is half of the memory that is free now.

    >>> memory("200MB"), memory("1.5 GiB"), memory(1e6)
    (200000000, 1610612736, 1000000)
    """
    if max_memory is None:
        return int(free_memory() * FREE_FRACTION)
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]I?)?B?\s*", max_memory.upper())
        size = float(match[1]) * UNITS[match[2] or ""] if match else np.nan
    elif isinstance(max_memory, (int, float, np.integer, np.floating)) and not isinstance(max_memory, bool):
        size = float(max_memory)
    else:
        size = np.nan
    if not (np.isfinite(size) and size >= 1):
        raise OptionError(f"max_memory={max_memory!r} must be a number of bytes or text such as '200MB'")
    return int(size)


def free_memory() -> int:
    """Return the memory in bytes this process could still take: what the machine has, or its container."""
    import psutil

    free = int(psutil.virtual_memory().available)
    for folder, limit, used in CONTAINER:
        try:
            most, held = (int((Path(folder) / name).read_text()) for name in (limit, used))
            free = min(free, most - held + _cached(Path(folder) / "memory.stat"))
        except (OSError, ValueError):  # no container, or one without a limit, which is written "max"
            continue
    return max(free, LEAST_FREE)


def _cached(stat: Path) -> int:
    """Return what a container holds of files, which it gives back when memory is short."""
    facts = dict(line.split() for line in stat.read_text().splitlines())
    return sum(int(facts.get(name, 0)) for name in ("active_file", "inactive_file"))


def threads(n_jobs: Any) -> int:
    """Read ``n_jobs``: -1 is every core, -2 all but one.

    >>> threads(3)
    3
    """
    if not isinstance(n_jobs, (int, np.integer)) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r} must be a positive number of threads, or -1 for every core")
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    """Return the cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def format_bytes(size: float) -> str:
    """Return a number of bytes with its unit.

    >>> format_bytes(2_500_000)
    '2.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"

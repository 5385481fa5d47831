"""Limits on memory and threads."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from paribus.errors import OptionError

FLOAT = 8  # bytes
FREE_FRACTION = 0.5  # share of the free memory that is used without max_memory
AHEAD = 2  # blocks in the queue per thread
LEAST_FREE = 64_000_000  # lower bound of the free memory, in bytes
# Files with the memory limit and usage of a Linux container, in versions 2 and 1 of control groups.
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
    """Return a memory limit in bytes from a number or text; None is half of the free memory.

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
    """Return the free memory in bytes, of the machine or its container."""
    import psutil

    free = int(psutil.virtual_memory().available)
    for folder, limit, used in CONTAINER:
        try:
            most, held = (int((Path(folder) / name).read_text()) for name in (limit, used))
            lines = (Path(folder) / "memory.stat").read_text().splitlines()
            facts = dict(line.split() for line in lines)
            # The page cache is freed when memory is short.
            cached = sum(int(facts.get(name, 0)) for name in ("active_file", "inactive_file"))
            free = min(free, most - held + cached)
        except (OSError, ValueError):  # no container, or one without a limit, which is written "max"
            continue
    return max(free, LEAST_FREE)


def threads(n_jobs: Any) -> int:
    """Return the number of threads from ``n_jobs``: -1 is every core, -2 all but one.

    >>> threads(3)
    3
    """
    if not isinstance(n_jobs, (int, np.integer)) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r} must be a positive number of threads, or -1 for every core")
    if n_jobs > 0:
        return int(n_jobs)
    # The process may be restricted to some cores of the machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


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

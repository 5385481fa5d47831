"""Compilation of several kernels at once, in processes that share the cache folder with this one.

Each worker is a new interpreter that loads numba, compiles the kernels it is given and stores them in the
cache folder, from which the caller loads them. The caller compiles as well, and compiles every kernel that a
worker failed to store.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from paribus import _budget
from paribus._kernels import cache_folder
from paribus._kernels.program import Program

LEAST_KERNELS = 3  # missing kernels from which a worker, which first loads numba, saves time
MOST_WORKERS = 7  # each takes about 200 MB of memory
BUSY = 2.0  # processes per core from which the caller would wait long for workers
PATIENCE = 60.0  # seconds that the caller waits for a worker before it compiles the kernel itself
CHILD = """\
import json, sys
sys.path[:] = json.loads(sys.stdin.readline())
from paribus._kernels.compile_workers import compile_requested
compile_requested()
"""
UNUSED = "scipy", "cffi"  # numba imports them for functions that no kernel calls
LOG = logging.getLogger("paribus")

# Kernels of the functions of `compiled`, by the shape of trees: of few tests, shallow and deep.
BY_SHAPE: dict[str, tuple[tuple[str, ...], ...]] = {
    "cover": (
        ("pattern_walks.cover_by_patterns",),
        ("coverage.cover_by_masks",),
        ("coverage.cover_by_lists",),
    ),
    "weighted_cover": (
        ("pattern_walks.cover_by_patterns",),
        ("coverage.weigh_by_masks",),
        ("coverage.cover_by_lists",),
    ),
    "curves": (
        ("pattern_walks.add_by_patterns",),
        ("row_curves.curves_by_masks",),
        ("row_curves.list_lines", "row_curves.lines_by_lists", "row_curves.average_lines"),
    ),
    "lose": (
        ("pattern_walks.add_by_patterns",),
        ("feature_loss.lose_by_masks",),
        ("feature_loss.lose_by_lists",),
    ),
    "move": (
        ("pattern_walks.move_by_patterns",),
        ("shifts.move_by_masks",),
        ("shifts.move_by_masks",),
    ),
}
OF_ALL_SHAPES = {
    "cell_averages": ("row_curves.average_cells",),
    "interact": ("interactions.sum_pairs", "interactions.spread"),
    "multiply": ("row_curves.multiply",),
    "pair_moments": ("interactions.pair_moments",),
    "passing": ("boxes.list_runs",),
}


def kernels_of(program: Program, functions: Iterable[str]) -> list[str]:
    """Return the kernels that functions of `compiled` call for the trees of a program, in this order."""
    shallow, deep = program.patterned < program.shallow, program.shallow < len(program.entries)
    names: list[str] = []
    for function in functions:
        if function in OF_ALL_SHAPES:
            names += OF_ALL_SHAPES[function]
            continue
        shapes = zip(BY_SHAPE[function], (program.patterned > 0, shallow, deep), strict=True)
        names += [name for kernels, occurs in shapes if occurs for name in kernels]
    return list(dict.fromkeys(names))


class Workers:
    """Processes that compile kernels, and the kernels that they are to compile.

    ``_waiting`` are kernels that nobody compiles yet, in the order in which the caller needs them. ``_begun``
    are those of workers, each with its process and an event that is set as soon as it is stored or failed.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all kernels and workers, which a forked process does not have."""
        self._lock = Lock()
        self._waiting: list[str] = []
        self._begun: dict[str, tuple[subprocess.Popen[str], Event]] = {}
        self._running = 0

    def start(self, names: Iterable[str]) -> None:
        """Start workers for kernels that are not in the cache folder, if there are several of them."""
        kept = cache_folder.folder()
        if kept is None or kept != cache_folder.place() or not _can_start():
            return
        missing = _missing(names, kept)
        with self._lock:
            self._waiting += [name for name in missing if name not in {*self._waiting, *self._begun}]
            wanted = len(self._waiting) // 2 if len(self._waiting) >= LEAST_KERNELS else 0
            new = max(0, min(wanted, _most_workers()) - self._running)
            self._running += new
        for _ in range(new):
            Thread(target=self._serve, args=(kept,), daemon=True).start()

    def wait_for(self, name: str) -> None:
        """Return when the caller may load or compile a kernel; load others while a worker compiles it."""
        with self._lock:
            if name in self._waiting:
                self._waiting.remove(name)
            process, done = self._begun.get(name, (None, None))
        if process is None or done is None:
            return
        while not done.is_set() and (other := self._take()) is not None:
            find_kernel(other).load()
        if not done.wait(PATIENCE):
            LOG.info("the process that compiles %s takes too long and is stopped", name)
            process.kill()

    def _take(self, process: subprocess.Popen[str] | None = None) -> str | None:
        """Return the next kernel to be compiled, by a worker if one is given; None if none is left."""
        with self._lock:
            if not self._waiting:
                return None
            name = self._waiting.pop(0)
            if process is not None:
                self._begun[name] = process, Event()
            return name

    def _serve(self, kept: Path) -> None:
        """Let a new process compile kernels, until none is left."""
        name = None
        try:
            with _process() as process:
                for _ in process.stdout or ():  # a line when numba is loaded, and after each kernel
                    self._finish(name)
                    name = self._take(process)
                    if name is None:
                        break
                    cache_folder.compiling(name.split(".")[1].replace("_", " "), kept)
                    _send(process, name)
        except OSError as error:
            LOG.info("no process compiles kernels (%s)", error)
        finally:
            self._finish(name)
            with self._lock:
                self._running -= 1

    def _finish(self, name: str | None) -> None:
        """Let the caller load a kernel, or compile it if the worker failed."""
        with self._lock:
            _, done = self._begun.pop(name, (None, None)) if name is not None else (None, None)
        if done is not None:
            done.set()


WORKERS = Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKERS.reset)


def _most_workers() -> int:
    """Return how many workers may run in addition to the caller: none on a machine that is busy already."""
    cores = _budget.threads(-1)
    busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > BUSY * cores
    return 0 if busy else min(cores - 1, MOST_WORKERS)


def _missing(names: Iterable[str], kept: Path) -> list[str]:
    """Return the kernels that are not loaded and have no index for this version of Python."""
    unloaded = [name for name in names if not find_kernel(name).loaded]
    if len(unloaded) < LEAST_KERNELS:
        return unloaded
    tag = f".py{sys.version_info.major}{sys.version_info.minor}"
    stored = {path.name.partition("-")[0] for path in kept.glob("*/*.nbi") if tag in path.name}
    return [name for name in unloaded if name not in stored]


def find_kernel(name: str) -> Any:
    """Return the kernel with a name such as ``coverage.cover_by_masks``."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"paribus._kernels.jit.{module}"), function)


def _can_start() -> bool:
    """Return whether the executable of this process is an interpreter, not an application that embeds it."""
    executable = Path(sys.executable or "").name.lower()
    return executable.startswith("python") and not getattr(sys, "frozen", False)


@contextmanager
def _process() -> Iterator[subprocess.Popen[str]]:
    """Start a process that compiles kernels; it ends when its input is closed."""
    silent = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # no console on Windows
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
    }
    with subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD], text=True, creationflags=silent, **pipes
    ) as process:
        _send(process, json.dumps(sys.path))
        yield process


def _send(process: subprocess.Popen[str], line: str) -> None:
    """Write a line to the input of a process."""
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def compile_requested() -> None:
    """Compile the kernels whose names are read from stdin; write a line first, and one after each kernel."""
    for name in UNUSED:
        sys.modules[name] = None  # type: ignore[assignment]  # importing it fails
    import_module("paribus._kernels.jit.common")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        find_kernel(line.strip()).load()
        sys.stdout.write(line)
        sys.stdout.flush()

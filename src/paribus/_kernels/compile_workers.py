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
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from paribus import _budget
from paribus._kernels import cache_folder

if TYPE_CHECKING:
    from paribus._kernels.jit.common import Kernel

LEAST_KERNELS = 3  # missing kernels from which a worker, which first loads numba, saves time
MOST_WORKERS = 7  # each takes about 200 MB of memory
BUSY = 2.0  # processes per core from which the caller would wait long for workers
PATIENCE = 60.0  # seconds that the caller waits for a worker before it compiles the kernel itself
CHILD = """\
import json, sys
sys.path[:] = json.loads(sys.stdin.readline())
from paribus._kernels.kernel_names import compile_requested
compile_requested()
"""
LOG = logging.getLogger("paribus")


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
        self._waiting: list[Kernel] = []
        self._begun: dict[Kernel, tuple[subprocess.Popen[str], Event]] = {}
        self._running = 0

    def start(self, kernels: Iterable[Kernel]) -> None:
        """Start workers for kernels that are not in the cache folder, if there are several of them."""
        kept = cache_folder.folder()
        missing = _missing(kernels, kept)
        if kept is None or kept != cache_folder.place() or not _can_start():
            return
        with self._lock:
            self._waiting += [kernel for kernel in missing if kernel not in {*self._waiting, *self._begun}]
            wanted = len(self._waiting) // 2 if len(self._waiting) >= LEAST_KERNELS else 0
            new = max(0, min(wanted, _most_workers()) - self._running)
            self._running += new
        for _ in range(new):
            Thread(target=self._serve, args=(kept,), daemon=True).start()

    def wait_for(self, kernel: Kernel) -> None:
        """Return when the caller may load or compile a kernel; load others while a worker compiles it."""
        with self._lock:
            if kernel in self._waiting:
                self._waiting.remove(kernel)
            process, done = self._begun.get(kernel, (None, None))
        if process is None or done is None:
            return
        while not done.is_set() and (other := self._take()) is not None:
            other.load()
        if not done.wait(PATIENCE):
            LOG.info("the process that compiles %s takes too long and is stopped", kernel.name)
            process.kill()

    def _take(self, process: subprocess.Popen[str] | None = None) -> Kernel | None:
        """Return the next kernel to be compiled, by a worker if one is given; None if none is left."""
        with self._lock:
            if not self._waiting:
                return None
            kernel = self._waiting.pop(0)
            if process is not None:
                self._begun[kernel] = process, Event()
            return kernel

    def _serve(self, kept: Path) -> None:
        """Let a new process compile kernels, until none is left."""
        kernel = None
        try:
            with _process() as process:
                for _ in process.stdout or ():  # a line when numba is loaded, and after each kernel
                    self._finish(kernel)
                    kernel = self._take(process)
                    if kernel is None:
                        break
                    cache_folder.compiling(kept)
                    _send(process, kernel.key)
        except OSError as error:
            LOG.info("no process compiles kernels (%s)", error)
        finally:
            self._finish(kernel)
            with self._lock:
                self._running -= 1

    def _finish(self, kernel: Kernel | None) -> None:
        """Let the caller load a kernel, or compile it if the worker failed."""
        with self._lock:
            _, done = self._begun.pop(kernel, (None, None)) if kernel is not None else (None, None)
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


def _missing(kernels: Iterable[Kernel], kept: Path | None) -> list[Kernel]:
    """Return the kernels that are not loaded and have no index for this version of Python."""
    unloaded = [kernel for kernel in kernels if not kernel.loaded]
    if kept is None or len(unloaded) < LEAST_KERNELS:
        return unloaded
    tag = f".py{sys.version_info.major}{sys.version_info.minor}"
    stored = {path.name.partition("-")[0] for path in kept.glob("*/*.nbi") if tag in path.name}
    return [kernel for kernel in unloaded if kernel.key not in stored]


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

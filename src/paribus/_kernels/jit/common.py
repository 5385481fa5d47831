"""What the kernels share: when they are compiled, words for positions, and adding to curves."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import RLock
from time import perf_counter
from typing import Any

from numba import config, f8, njit, u8
from numba.core import event, options

from paribus._kernels import cache_folder
from paribus._loading import uncollected

import_module("numba.np.arrayobj")  # no kernel is loaded without it, and meanwhile no garbage is collected

CHUNK = u8(512)  # rows whose masks are eight words
ZERO, ONE, TWO = u8(0), u8(1), u8(2)
LOG = logging.getLogger("paribus")
LOCK = RLock()  # one kernel is compiled at a time, as numba has it, and its folder is that of the others


# No kernel counts references or divides by zero, and none is called from C: what is left out takes no time.
# numba knows these for code of its own; where it does not, all is compiled.
OPTIONS = {
    name: value
    for name, value in {"_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}.items()
    if hasattr(getattr(options, "DefaultOptions", None), name)
}
ALONE = {"no_cpython_wrapper": True} if OPTIONS else {}


class Kernel:
    """A loop that is compiled for its signatures, or loaded from the cache, when it is first called.

    What was kept may be damaged, by a full disk for example; it is then compiled and kept anew. Without a
    folder that can be written it is compiled for this process alone.
    """

    def __init__(self, function: Callable[..., None], signatures: tuple[Any, ...]) -> None:
        self.function = function
        self.signatures = signatures[0] if isinstance(signatures[0], list) else signatures
        self._run: Any = None

    def __call__(self, *arguments: Any) -> None:
        (self._run or self.load())(*arguments)

    @property
    def name(self) -> str:
        """What it does, in words."""
        return self.function.__name__.replace("_", " ")

    @property
    def loaded(self) -> bool:
        """Whether it can be called without waiting."""
        return self._run is not None

    def load(self) -> Any:
        """Load or compile it, and return what is called."""
        with LOCK, uncollected():
            if self._run is None:
                kept = cache_folder.folder()
                try:
                    self._run = self._compiled(kept)
                except Exception as error:  # unpickling may raise anything
                    files = self._files(kept)
                    if not files:
                        raise
                    self._run = self._compiled(kept if self._forgotten(files, error) else None)
        return self._run

    def _compiled(self, kept: Path | None) -> Any:
        """Compile it, or load what was kept in a folder."""
        with _keeping_in(kept):
            try:
                run = njit(nogil=True, cache=kept is not None, **OPTIONS)(self.function)
            except RuntimeError as error:  # numba knows of no folder for a function of this kind of file
                LOG.warning("%s is compiled in every process: %s", self.name, error)
                run, kept = njit(nogil=True, **OPTIONS)(self.function), None
        with event.install_listener("numba:compile", _Started(self, run, kept)):
            for signature in self.signatures:
                try:
                    run.compile(signature)
                except OSError as error:
                    if not run.overloads:
                        raise
                    LOG.warning("the compiled %s cannot be kept in %s (%s)", self.name, kept, error)
        run.disable_compile()
        return run

    def _files(self, kept: Path | None) -> list[Path]:
        """Return the files that numba keeps of the kernel."""
        own = f"{Path(self.function.__code__.co_filename).stem}.{self.function.__qualname__}-"
        files = [] if kept is None else kept.rglob("*.nb[ic]")
        return [path for path in files if path.name.startswith(own)]

    def _forgotten(self, files: list[Path], error: Exception) -> bool:
        """Remove what is kept of the kernel, and return whether that was possible."""
        LOG.warning(
            "the compiled %s in %s cannot be loaded (%s: %s) and is compiled anew; if this is said again, "
            "delete that folder", self.name, files[0].parent, type(error).__name__, error
        )  # fmt: skip
        try:
            for path in files:
                path.unlink()
        except OSError:
            return False
        return True


class _Started(event.Listener):  # type: ignore[misc]
    """Passes on that a kernel is compiled, which takes seconds, and not loaded."""

    def __init__(self, kernel: Kernel, run: Any, kept: Path | None) -> None:
        self.kernel, self.run, self.kept = kernel, run, kept
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        """Say so before it begins."""
        if event.data["dispatcher"] is self.run:
            self._began = perf_counter()
            cache_folder.compiling(self.kernel.name, self.kept)

    def on_end(self, event: Any) -> None:
        """Say so when it ends."""
        if event.data["dispatcher"] is self.run:
            LOG.info("compiled %s in %.1f s", self.kernel.name, perf_counter() - self._began)


@contextmanager
def _keeping_in(folder: Path | None) -> Iterator[None]:
    """Let numba keep what is decorated meanwhile in a folder."""
    before = config.CACHE_DIR
    config.CACHE_DIR = before if folder is None else str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def kernel(*signatures: Any) -> Callable[[Callable[..., None]], Kernel]:
    """Make a loop a kernel, compiled for its signatures when it is first called."""
    return lambda function: Kernel(function, signatures)


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call, and nobody else, together with the first of them."""
    return njit(nogil=True, **ALONE, **OPTIONS)(function)


@helper
def add(curves, at, members, first, stop, amount):
    """Add an amount to one point of some rows' curves; ``at`` is that point of the first row."""
    for i in range(first, stop):
        curves[at + members[i]] += amount


@helper
def visit(visits, number, edges, members, first, stop, amount, points, rows, margin, curves):
    """Add what a leaf gives the rows that reach it when a grid's features are free."""
    for edge in range(u8(visits[number, 2]), u8(visits[number, 3])):
        at = (margin * points + u8(edges[edge, 0])) * rows
        add(curves, at, members, first, stop, amount * f8(edges[edge, 1]))

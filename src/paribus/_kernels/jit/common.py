"""Decorators that compile kernels on first use, and constants that kernels share."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from numba import config, njit, u8

from paribus._kernels import cache_folder
from paribus._kernels.compile_workers import WORKERS
from paribus._loading import uncollected

CHUNK = u8(512)  # rows whose mask has eight words
ZERO, ONE, TWO = u8(0), u8(1), u8(2)
LOG = logging.getLogger("paribus")
LOCK = RLock()  # kernels are compiled one at a time, because numba's cache folder is a global setting


try:
    internals: ModuleType | None = import_module("paribus._kernels.jit.numba_internals")
except (ImportError, AttributeError) as error:  # another version of numba
    LOG.info("kernels are compiled without private interfaces of numba, which takes longer: %s", error)
    internals = None

# Kernels need no checks of division by zero.
OPTIONS: dict[str, Any] = {"error_model": "numpy", **(internals.OPTIONS if internals else {})}
ALONE: dict[str, Any] = internals.HELPER_OPTIONS if internals else {}


class Kernel:
    """Loop that is compiled for its signatures, or loaded from the cache, when it is first called.

    If the cached files are damaged, for example by a full disk, the kernel is compiled and cached again. If
    there is no writable cache folder, it is compiled for this process only.
    """

    def __init__(
        self, function: Callable[..., None], signatures: tuple[Any, ...], math: frozenset[str]
    ) -> None:
        self.function = function
        self.options = {**OPTIONS, "fastmath": set(math)} if math else OPTIONS
        self.signatures = signatures[0] if isinstance(signatures[0], list) else signatures
        self._run: Any = None

    def __call__(self, *arguments: Any) -> None:
        (self._run or self.load())(*arguments)

    @property
    def name(self) -> str:
        """Name of the function with spaces, for messages."""
        return self.function.__name__.replace("_", " ")

    @property
    def key(self) -> str:
        """Names of the module and the function, with which the cached files begin."""
        return f"{Path(self.function.__code__.co_filename).stem}.{self.function.__qualname__}"

    @property
    def loaded(self) -> bool:
        """Whether the kernel is compiled or loaded already."""
        return self._run is not None

    def load(self) -> Any:
        """Load or compile the kernel, and return the compiled function."""
        with LOCK, uncollected():
            if self._run is None:
                WORKERS.wait_for(self)
            if self._run is None:
                kept = cache_folder.folder()
                try:
                    self._run = self._compiled(kept)
                except Exception as error:  # unpickling may raise anything
                    files = self.files(kept)
                    if not files:
                        raise
                    self._run = self._compiled(kept if self._forgotten(files, error) else None)
        return self._run

    def _compiled(self, kept: Path | None) -> Any:
        """Return the compiled function, loaded from a cache folder if possible."""
        with _keeping_in(kept):
            try:
                run = njit(nogil=True, cache=kept is not None, **self.options)(self.function)
            except RuntimeError as error:  # numba cannot cache functions of this file
                LOG.warning("%s is compiled in every process: %s", self.name, error)
                run, kept = njit(nogil=True, **self.options)(self.function), None
        if not self.files(kept):
            cache_folder.compiling(kept)
        for signature in self.signatures:
            try:
                run.compile(signature)
            except OSError as error:
                if not run.overloads:
                    raise
                LOG.warning("the compiled %s cannot be kept in %s (%s)", self.name, kept, error)
        run.disable_compile()
        return run

    def files(self, kept: Path | None) -> list[Path]:
        """Return the cached files of the kernel."""
        return [] if kept is None else list(kept.glob(f"*/{self.key}-*.nb[ic]"))

    def _forgotten(self, files: list[Path], error: Exception) -> bool:
        """Delete cached files of the kernel, and return whether that succeeded."""
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


@contextmanager
def _keeping_in(folder: Path | None) -> Iterator[None]:
    """Set the cache folder of functions that numba decorates in this context."""
    before = config.CACHE_DIR
    config.CACHE_DIR = before if folder is None else str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def kernel(*signatures: Any, math: Iterable[str] = ()) -> Callable[[Callable[..., None]], Kernel]:
    """Return a decorator that makes a loop a kernel with these signatures.

    ``math`` are the flags of LLVM for floating-point numbers, such as ``reassoc``.
    """
    return lambda function: Kernel(function, signatures, frozenset(math))


def helper(function: Callable[..., Any]) -> Any:
    """Return a function that only kernels call, compiled together with them."""
    return njit(nogil=True, **ALONE, **OPTIONS)(function)

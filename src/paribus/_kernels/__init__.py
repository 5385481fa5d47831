"""Loops over rows, nodes and grid points: `reference` specifies them in NumPy, `compiled` runs them in numba.

Both modules have the same functions, and `kernels` returns one of the two. `compiled` is imported when a
kernel is first needed, because numba takes longer to load than the rest of the library. `reference`
replaces it where numba cannot be imported.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from paribus._loading import uncollected
from paribus.errors import check_choice, failure

if TYPE_CHECKING:
    from paribus._kernels.program import Program

COMPILED, REFERENCE = "paribus._kernels.compiled", "paribus._kernels.reference"
COUNTS = "paribus._kernels.jit.interactions"  # has the kernels that count rows in bins
CHOICE = "PARIBUS_KERNELS"  # environment variable that selects the kernels


def kernels(*, small: bool = False) -> ModuleType:
    """Return the kernels: compiled where numba can be imported, else those in NumPy.

    ``small`` work counts rows in bins. It is done in NumPy unless its kernels are loaded already, because
    loading them would take longer. Both return the same.
    """
    counting = sys.modules.get(COUNTS)
    names = ("locate", "tally", "mark")
    if small and not (counting and all(getattr(counting, name).loaded for name in names)):
        return import_module(REFERENCE)
    name = COMPILED if why_numpy() is None else REFERENCE
    if name in sys.modules:
        return import_module(name)  # waits while another thread imports it
    with uncollected():
        return import_module(name)


def prepare(program: Program, *functions: str) -> None:
    """Start to compile the kernels of functions that will be called for a program and are not cached.

    Functions are named in the order of their calls. If only a few kernels are missing, nothing is started,
    and each is compiled when it is first called.
    """
    if why_numpy() is None:
        from paribus._kernels.compile_workers import WORKERS
        from paribus._kernels.kernel_names import find_kernel, kernels_of

        WORKERS.start(map(find_kernel, kernels_of(program, functions)))


@cache
def why_numpy() -> str | None:
    """Return the reason for using the kernels in NumPy, None where the compiled ones are used."""
    choice = os.environ.get(CHOICE, "compiled")
    check_choice(f"the environment variable {CHOICE}", choice, ("compiled", "reference"))
    if choice == "reference":
        return f"{CHOICE} is set to 'reference'"
    try:
        with uncollected():
            import_module("numba")
    except Exception as error:  # any error: an unsupported Python or NumPy, a broken llvmlite
        absent = isinstance(error, ModuleNotFoundError) and error.name == "numba"
        why = "numba is not installed" if absent else f"numba cannot be imported ({failure(error)})"
        logging.getLogger("paribus").warning("trees are evaluated with NumPy, many times slower: %s", why)
        return why
    return None

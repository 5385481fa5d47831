"""Loops over rows, nodes and points: `reference` says what they compute, `compiled` does it fast.

Both have the same functions: `rank` numbers among thresholds, `lay_out` a program, `cover` rows, draw the
`curves` of rows along what was `trace`d, `average` points, `weigh` the paths of training. Everybody gets them
from `kernels`: `compiled` is imported when a kernel is first needed, because numba takes longer to load than
the rest of the library, and where numba cannot be imported `reference` is used in its place.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from importlib import import_module
from types import ModuleType

from paribus._loading import uncollected
from paribus.errors import check_choice, failure

COMPILED, REFERENCE = "paribus._kernels.compiled", "paribus._kernels.reference"
COUNTS = "paribus._kernels.jit.interactions"
CHOICE = "PARIBUS_KERNELS"  # the environment variable that names the kernels


def kernels(*, small: bool = False) -> ModuleType:
    """Return the kernels: compiled where numba can be imported, else those in NumPy.

    ``small`` work, which is to count rows in bins, is left to NumPy unless its kernels are loaded already: to
    load them would take longer. Both return the same.
    """
    if small and not _counts_loaded():
        return import_module(REFERENCE)
    name = COMPILED if why_numpy() is None else REFERENCE
    if name in sys.modules:
        return import_module(name)  # which waits for a thread that is still at it
    with uncollected():
        return import_module(name)


def _counts_loaded() -> bool:
    """Return whether the kernels that count rows in bins are loaded."""
    known = sys.modules.get(COUNTS)
    return known is not None and all(getattr(known, name).loaded for name in ("locate", "tally", "mark"))


@cache
def why_numpy() -> str | None:
    """Return why the kernels are those in NumPy, None where they are compiled."""
    choice = os.environ.get(CHOICE, "compiled")
    check_choice(f"the environment variable {CHOICE}", choice, ("compiled", "reference"))
    if choice == "reference":
        return f"{CHOICE} is set to 'reference'"
    try:
        with uncollected():
            import_module("numba")
    except Exception as error:  # an import may fail in any way: an unknown Python or NumPy, a broken llvmlite
        absent = isinstance(error, ModuleNotFoundError) and error.name == "numba"
        why = "numba is not installed" if absent else f"numba cannot be imported ({failure(error)})"
        logging.getLogger("paribus").warning("trees are evaluated with NumPy, many times slower: %s", why)
        return why
    return None

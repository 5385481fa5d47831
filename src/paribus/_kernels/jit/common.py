"""What the kernels share: words for positions, and adding to curves."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

import logging

from numba import f4, f8, njit, u8
from numba.core.caching import FunctionCache

CHUNK = u8(512)  # rows whose masks are eight words
ZERO, ONE = u8(0), u8(1)


def _can_cache() -> bool:
    """Return whether numba has a cache folder; without one it refuses to compile with ``cache=True``."""
    try:
        njit(cache=True)(_can_cache)
    except RuntimeError:
        return False
    return True


CACHED = _can_cache()


def kernel(*signatures):
    """Compile a loop for its signature, or load what was compiled before.

    What numba kept may be damaged, by a full disk for example; it is then compiled and kept anew. Without a
    folder that can be written it is compiled for this process alone.
    """

    def compiled(function):
        if CACHED:
            try:
                return njit(*signatures, nogil=True, cache=True)(function)
            except Exception as error:  # unpickling may raise anything; what does not compile fails once more
                if _forgotten(function, error):
                    return njit(*signatures, nogil=True, cache=True)(function)
        return njit(*signatures, nogil=True)(function)

    return compiled


def _forgotten(function, error) -> bool:
    """Empty the index of what is kept of a function, and return whether that was possible."""
    cache = FunctionCache(function)
    logging.getLogger("paribus").warning(
        "the compiled %s in %s cannot be loaded (%s: %s) and is compiled anew; if this is said again, delete "
        "that folder",
        function.__name__,
        cache.cache_path,
        type(error).__name__,
        error,
    )
    try:
        cache.flush()
    except OSError:
        return False
    return True


@njit(nogil=True)
def add(curves, at, members, first, stop, amount):
    """Add an amount to one point of some rows' curves; ``at`` is that point of the first row."""
    for i in range(first, stop):
        curves[at + members[i]] += amount


@njit(nogil=True)
def add_single(sums, at, members, first, stop, amount):
    """Add an amount to some rows' sums, which are held in single precision."""
    for i in range(first, stop):
        sums[at + members[i]] = f8(f4(sums[at + members[i]] + amount))


@njit(nogil=True)
def visit(visits, number, edges, members, first, stop, amount, points, rows, margin, curves):
    """Add what a leaf gives the rows that reach it when a grid's features are free."""
    for edge in range(u8(visits[number, 2]), u8(visits[number, 3])):
        at = (margin * points + u8(edges[edge, 0])) * rows
        add(curves, at, members, first, stop, amount * f8(edges[edge, 1]))

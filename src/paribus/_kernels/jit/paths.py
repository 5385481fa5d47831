"""The paths of the training data."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u8, void

from paribus._kernels.jit.common import ZERO, kernel
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, NODE, SLOT, UPS


@kernel(
    void(i4[:, ::1], i4[::1], u8, f8[::1], f8[::1], f8[::1]),
)
def weigh(entries, up, most, fraction, held, shares):
    """Write the product, at each slot, of the fractions of the nodes on the way whose feature is not free."""
    for entry in range(u8(entries.shape[0])):
        n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
        here, ups = level * most, u8(entries[entry, UPS])
        if n == ZERO:
            held[here] = 1.0
        for a in range(n):
            union, before = up[ups + a], held[here - most + a]
            held[here + a] = before if union == i4(a) else before * fraction[u8(entries[entry, NODE])]
            if union >= i4(n):
                held[here + u8(union)] = before
        if entries[entry, SLOT] >= 0:
            for a in range(u8(entries[entry, ACTIVE])):
                shares[u8(entries[entry, SLOT]) + a] = held[here + a]

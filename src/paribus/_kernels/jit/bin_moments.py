"""Moments of what moves change in the bins of a feature."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u8, void

from paribus._kernels.jit.common import ONE, ZERO, kernel

TWO, THREE = u8(2), u8(3)


@kernel(void(i4[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:, ::1]))
def collect(cells, numbers, edges, widths, changes, sums):
    """Write rows, means, sums of squared deviations and of the places of rows in their bin."""
    for i in range(u8(cells.size)):
        cell = u8(cells[i])
        sums[ZERO, cell] += 1.0
        sums[ONE, cell] += changes[i]
        sums[THREE, cell] += (numbers[i] - edges[cell]) / widths[cell]
    for cell in range(u8(sums.shape[1])):
        if sums[ZERO, cell] > 0.0:
            sums[ONE, cell] *= 1.0 / sums[ZERO, cell]
    for i in range(u8(cells.size)):
        cell = u8(cells[i])
        apart = changes[i] - sums[ONE, cell]
        sums[TWO, cell] += apart * apart

"""Names of kernels: those that each function of `compiled` calls, and compilation by name in a worker."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from paribus._kernels.program import Program

if TYPE_CHECKING:
    from paribus._kernels.jit.common import Kernel

UNUSED = "scipy", "cffi"  # numba imports them for functions that no kernel calls

# Kernels of the functions of `compiled`, by the shape of trees: of few tests, shallow and deep. Lines are
# grids with one axis, each of another feature.
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
        ("row_curves.curves_by_lists",),
    ),
    "line_curves": (
        ("pattern_walks.add_by_patterns",),
        ("row_curves.curves_by_masks",),
        ("row_curves.list_lines", "row_curves.lines_by_lists"),
    ),
    "line_averages": (
        (),
        (),
        ("row_curves.average_lines",),
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


def find_kernel(name: str) -> Kernel:
    """Return the kernel with a name such as ``coverage.cover_by_masks``."""
    module, _, function = name.partition(".")
    kernel: Kernel = getattr(import_module(f"paribus._kernels.jit.{module}"), function)
    return kernel


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

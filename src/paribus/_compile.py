"""Command ``paribus compile``: compilation of all kernels in advance."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pkgutil import iter_modules
from time import perf_counter
from typing import Any

from paribus._kernels import cache_folder, why_numpy
from paribus._kernels.compile_workers import WORKERS

DESCRIPTION = """\
Compile the numba kernels for tree models in advance, so that later processes do not wait for compilation. Use
this for container images and for read-only installations. Kernels are stored in NUMBA_CACHE_DIR, else in
PARIBUS_CACHE_DIR, else in the user's cache folder. Later processes must find that folder at the same path.
"""
EXAMPLE = """\
example, in a Dockerfile:
  ENV PARIBUS_CACHE_DIR=/opt/paribus
  RUN pip install paribus && python -m paribus compile
"""


def add_to(commands: Any) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "compile",
        help="compile the kernels for tree models in advance",
        description=DESCRIPTION,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile every kernel and report each; return 1 if that is not possible."""
    why = why_numpy()
    if why is not None:
        return _report_failure(f"nothing to compile: {why}; trees are evaluated with NumPy")
    try:
        wanted = cache_folder.place()
    except OSError as error:
        return _report_failure(f"{error} Set {cache_folder.CHOICE} to a folder")
    kept = cache_folder.folder()
    if kept != wanted:
        return _report_failure(f"{wanted} cannot be written; set {cache_folder.CHOICE} to another folder")
    began = perf_counter()
    kernels = every_kernel()
    WORKERS.start(kernels)
    for number, kernel in enumerate(kernels, 1):
        kernel.load()
        seconds = perf_counter() - began
        sys.stdout.write(f"{number:>3} of {len(kernels)}  {seconds:5.1f} s  {kernel.name}\n")
        sys.stdout.flush()
    seconds = perf_counter() - began
    size = sum(one.stat().st_size for one in kept.rglob("*") if one.is_file()) / 1e6
    sys.stdout.write(f"{len(kernels)} kernels in {seconds:.1f} s, kept in {kept} ({size:.1f} MB)\n")
    return 0


def every_kernel() -> list[Any]:
    """Return the kernels of all modules in ``_kernels.jit``."""
    from paribus._kernels import jit
    from paribus._kernels.jit.common import Kernel

    files = [import_module(f"{jit.__name__}.{one.name}") for one in iter_modules(jit.__path__)]
    found = {id(thing): thing for file in files for thing in vars(file).values() if isinstance(thing, Kernel)}
    return list(found.values())


def _report_failure(message: str) -> int:
    """Write a message to stderr, and return exit code 1."""
    sys.stderr.write(f"paribus: {message}\n")
    return 1

"""Versions, kernels, threads and memory, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import TextIO

from paribus import _budget
from paribus._kernels import why_numpy
from paribus._models.libraries import LIBRARIES, PACKAGES
from paribus._version import __version__
from paribus.errors import OptionError

NEEDED = ("numpy", "narwhals", "numba", "llvmlite", "psutil", "xxhash", "tqdm")
EXTRAS = ("pyarrow", "matplotlib", "plotly", "dask", "distributed", "pyspark", "skops")
TABLES = ("pandas", "polars", "duckdb", "deltalake", "pyiceberg")
FURTHER_MODELS = ("scipy", "glum", "statsmodels", "skrub")


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions of all libraries that affect results, and the settings of this machine.

    Include it in bug reports. Libraries are looked up and not imported, except for numba, whose import shows
    whether its kernels can be used. Nothing is sent anywhere.

    Parameters
    ----------
    file : text file, optional
        Output file; standard output by default.

    Returns
    -------
    None

    Examples
    --------
    >>> import paribus
    >>> paribus.show_versions()  # doctest: +SKIP
    paribus 0.1.0
    <BLANKLINE>
    system
      python        3.12.1
      platform      Linux-6.8.0-x86_64-with-glibc2.39
    ...

    Written to a log:

    >>> import io
    >>> kept = io.StringIO()
    >>> paribus.show_versions(kept)
    >>> kept.getvalue().splitlines()[0] == f"paribus {paribus.__version__}"
    True
    """
    models = tuple(PACKAGES.get(library.module, library.module) for library in LIBRARIES)
    sections = {
        "system": {"python": platform.python_version(), "platform": platform.platform()},
        "dependencies": _versions(NEEDED),
        "extras": _versions(EXTRAS),
        "tables": _versions(TABLES),
        "models": _versions(models + FURTHER_MODELS),
        "computing": {
            "kernels": _kernels(),
            "cores": str(_budget.threads(-1)),
            "memory bound": f"{_budget.format_bytes(_budget.memory(None))}, half of what is free",
        },
    }
    width = max(len(name) for section in sections.values() for name in section)
    lines = [f"paribus {__version__}"]
    for title, section in sections.items():
        lines += ["", title, *(f"  {name:<{width}}  {value}" for name, value in section.items())]
    print("\n".join(lines), file=file or sys.stdout)


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    """Return the version of each package by its metadata, without importing it."""
    installed = {}
    for name in names:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed[name] = "not installed"
    return installed


def _kernels() -> str:
    """Return the kernels that evaluate trees, and why they are not compiled."""
    try:
        why = why_numpy()
    except OptionError as error:
        return f"none: {error}"
    return "compiled by numba" if why is None else f"reference, in NumPy: {why}"

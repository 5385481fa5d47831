"""Results as xarray's datasets: arrays with names for their dimensions, and coordinates."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from paribus._contracts import NOMINAL
from paribus.errors import OptionError
from paribus.results.schema import Dim, declared_arrays
from paribus.results.tidy import free_name, plain


def dataset_of(result: Any) -> Any:
    """Return the arrays of a result and of its parts as a dataset."""
    try:
        xarray = import_module("xarray")
    except ImportError as error:
        raise OptionError("to_xarray() needs xarray; pip install 'paribus[xarray]'") from error
    arrays = {"_".join(path): (dims, value) for path, dims, value in declared_arrays(result)}
    taken = {*arrays, *(dim for dims, _ in arrays.values() for dim in dims)}
    axes, coordinates = _axes(result, taken) if hasattr(result, "grid_values") else ({}, {})
    axes["outputs"] = ["output"] * (len(getattr(result, "output_names", ())) > 1)
    variables, labels = {}, result._labels()
    for name, (dims, value) in arrays.items():
        if isinstance(value, np.ndarray) and not any(value is known for known in labels.values()):
            fixed = tuple(axis for axis, dim in enumerate(dims) if dim == 1)
            named = [axis for dim in dims if dim != 1 for axis in axes.get(dim, [dim])]
            variables[name] = named, value.squeeze(fixed)
    coordinates |= labels
    used = {axis for named, _ in variables.values() for axis in named}
    labeled = {axis: (axis, list(values)) for axis, values in coordinates.items() if axis in used}
    facts = {name: value for name, value in vars(result).items() if isinstance(value, (str, int, float))}
    return xarray.Dataset(variables, labeled, facts)


def _axes(result: Any, taken: set[Any]) -> tuple[dict[Dim, list[Any]], dict[Any, Any]]:
    """Return the names of the axes of the grid, of steps and of cells, and the values along each.

    A step is at the value it leads to.
    """
    features = result.feature_names
    names = [free_name(name, taken | {*features} - {name}) for name in features]
    steps = [free_name(f"{name} step", taken | {*names}, "between values") for name in names]
    pairs = zip(names, steps, result.kinds, strict=True)
    cells = [name if kind in NOMINAL else step for name, step, kind in pairs]
    grids = [plain(values) for values in result.grid_values]
    values = dict(zip(names, grids, strict=True)) | {
        s: grid[1:] for s, grid in zip(steps, grids, strict=True)
    }
    return {"grid": names, "step": steps, "cell": cells}, values

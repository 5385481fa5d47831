"""Shared by all results: equality, files, tables, arrays with names, key completion."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from paribus._typing import FrameBackend
from paribus.results.schema import Record
from paribus.results.storage import same, save
from paribus.results.tidy import LongTable, dataset_of, frame_of, table_of


class Saveable(Record):
    """A result that can be saved, and equals another if every value does."""

    def __eq__(self, other: object) -> bool:
        """Return whether two results are the same bit for bit, provenance included; NaN equals NaN."""
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def save(self, path: str | PathLike[str]) -> None:
        """Save to a versioned JSON file that `paribus.load` restores bit for bit.

        A value that would not be restored identically raises a `FormatError` that names it. An existing file
        is replaced only once the new one is complete.
        """
        save(self, path)

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        It has one row per output and grid point. The documentation of the class names the columns.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return frame_of(self, self._tables(), backend)

    def to_xarray(self) -> Any:
        """Return the arrays with names for their dimensions and coordinates.

        Dimensions are ``output``, the features, ``row``, ``quantile``, ``model`` and others that the arrays
        have; the arrays of parts are named after both, such as ``by_model_values``. This needs xarray.

        Returns
        -------
        xarray.Dataset, or dict of them
            A dictionary if the result is made of several that have grids of their own.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0)
        >>> effect.to_xarray()["average"].sel(x0=2.0).values
        array([6.])
        """
        return dataset_of(self)

    def _tables(self) -> list[LongTable]:
        """Return what its table consists of, one below the other."""
        return [table_of(self)]

    def _ipython_key_completions_(self) -> list[Any]:
        """Return the keys for completion in notebooks."""
        return list(self) if isinstance(self, Mapping) else []

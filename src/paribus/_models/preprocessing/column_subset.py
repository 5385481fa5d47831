"""Some columns of a table, as a model that converts tables to arrays hands them to its members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ColumnSubset:
    """A step that keeps some columns, in an order of its own, as an array or a sparse matrix."""

    columns: tuple[int, ...]

    def transform(self, table: Any) -> Any:
        """Return the columns."""
        array = table.tocsr() if hasattr(table, "tocsr") else np.asarray(table)
        return array[:, list(self.columns)]

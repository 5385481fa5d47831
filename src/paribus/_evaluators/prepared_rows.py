"""Rows behind preprocessing, made once of each block for all structures that the same steps are before."""

from __future__ import annotations

from threading import Lock
from typing import Any

from paribus._data.rows import Block
from paribus._models.preprocessing.sources import AnyPreparation

TRANSFORMING = Lock()  # steps are not written for several threads


def prepared_rows(preparation: AnyPreparation, block: Block) -> Any:
    """Return the rows of a block as the last step receives them, as they are where there is no step."""
    if preparation is None:
        return block.table

    def transformed() -> Any:
        with TRANSFORMING:
            return preparation.table(block.table.native)

    return block.derived(("prepared", preparation.key), transformed)

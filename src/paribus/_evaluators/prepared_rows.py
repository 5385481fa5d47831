"""Rows behind preprocessing, made once of each block for all structures that the same steps are before."""

from __future__ import annotations

from typing import Any

from paribus._data.rows import Block
from paribus._models.preprocessing.sources import AnyPreparation


def prepared_rows(preparation: AnyPreparation, block: Block) -> Any:
    """Return the rows of a block as the last step receives them, as they are where there is no step."""
    if preparation is None:
        return block.table
    return block.derived(("prepared", preparation.key), lambda: preparation.table(block.table.native))

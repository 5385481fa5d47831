"""What a page for validators says of a model and its data."""

from __future__ import annotations

from typing import Any

from paribus._contracts import Kind
from paribus.results.schema import Record, record


@record
class ModelRecord(Record):
    """What is known of a model.

    Attributes
    ----------
    name, library, version, digest : str
        Its class, where that comes from, and a digest of what it predicts.
    parameters : dict of str to str
        Its hyperparameters, as text.
    trees, leaves, depth : int or None
        Size of its trees; None where none were read.
    structure : str or None
        What was read of it; None where the model itself was evaluated.
    versions : dict of str to str
        Versions of Python and of every library that took part.
    platform : str
        Operating system and machine.
    """

    name: str
    library: str
    version: str
    digest: str
    parameters: dict[str, str]
    trees: int | None
    leaves: int | None
    depth: int | None
    structure: str | None
    versions: dict[str, str]
    platform: str


@record
class ColumnRecord(Record):
    """What is known of a column of the data.

    Attributes
    ----------
    name : str
    kind : str
        ``numeric``, ``integer``, ``boolean``, ``category``, ``string`` or ``datetime``.
    dtype : str
        Its type in the table.
    lowest, highest : value
        Its range; None for categories.
    missing : float
        Share of the weight of the data that is missing.
    categories : int or None
        Number of categories; None for numbers and dates.
    """

    name: str
    kind: Kind
    dtype: str
    lowest: Any
    highest: Any
    missing: float
    categories: int | None

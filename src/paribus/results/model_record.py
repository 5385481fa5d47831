"""The record of an explanation: model, data files, columns, target, and predictions of rows."""

from __future__ import annotations

from typing import Any

from paribus._contracts import Floats, Integers, Kind
from paribus.results.schema import Record, array, record


@record
class FileRecord(Record):
    """A file that a model or rows were read from.

    Attributes
    ----------
    name : str
        Its name, without folders that all files have in common.
    rows : int or None
        Number of its rows; None for a model.
    sha256 : str or None
        SHA-256 of the content of a model file; None for rows, which the fingerprint of the data identifies.
    """

    name: str
    rows: int | None
    sha256: str | None

    def __str__(self) -> str:
        return self.name if self.rows is None else f"{self.name} ({self.rows:,} rows)"


@record
class TargetRecord(Record):
    """The distribution of the target over the rows, with their weights, for one output of the model.

    Attributes
    ----------
    name : str or None
        Name of its column; None where ``y`` has none.
    output : str
        The output of the model it is compared with.
    mean : float
        Its average; of a class the base rate.
    standard_deviation, lowest, median, highest : float or None
        Its spread and range; None for a class.
    """

    name: str | None
    output: str
    mean: float
    standard_deviation: float | None
    lowest: float | None
    median: float | None
    highest: float | None


@record
class ModelRecord(Record):
    """Record of a model.

    Attributes
    ----------
    name, library, version, digest : str
        Its class, the library and version of the class, and a digest of predictions.
    parameters : dict of str to str
        Its hyperparameters, as text.
    trees, leaves, depth : int or None
        Size of its trees; None where none were read.
    structure : str or None
        Structure that was read; None where the model itself was evaluated.
    versions : dict of str to str
        Versions of Python and of every library that took part.
    platform : str
        Operating system and machine.
    objective : str or None
        The loss it was fitted to minimize, in the words of its library; None where it does not say.
    file : FileRecord or None
        The file that `read_model` read it from; None for an object in memory.
    structure_digest : str
        Digest of the trees or terms that were read; empty where the model itself was evaluated.
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
    objective: str | None = None
    file: FileRecord | None = None
    structure_digest: str = ""


@record
class ColumnRecord(Record):
    """Record of a column of the data.

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


@record
class RowPredictions(Record):
    """Predictions of the background rows: mean and spread over all of them, and those of a fixed sample.

    The sample has 2,000 rows of positive weight, or all if there are fewer. A hash of their positions chooses
    them, so that they are the same for every model, and for rows in memory and rows that are read.

    Attributes
    ----------
    rows : int
        Number of rows that were predicted: all of positive weight, or a sample of them.
    mean, standard_error, deviation : ndarray of shape (n_outputs,)
        Average prediction, its standard error, and the standard deviation of predictions, over these rows
        with their weights. The deviation of the mean of several models is that of the sample.
    numbers, weights : ndarray of shape (k,)
        Positions of the rows of the sample, from 0, and their weights.
    predicted : ndarray of shape (n_outputs, k)
        Their predictions.
    observed : ndarray of shape (n_outputs, k) or None
        Their target as numbers, 0 and 1 for classes; None without ``y``.
    column_digests : dict of str to str
        Digest of each column of X by its name: of all columns in memory, of those that were read otherwise.
    weight_digest : str or None
        Digest of the weights; None without weights.
    units : ndarray of int of shape (k,) or None
        The unit of each row of the sample, as a number from 0; None if rows are independent. Whole units are
        then sampled.
    """

    rows: int
    mean: Floats = array("output")
    standard_error: Floats = array("output")
    deviation: Floats = array("output")
    numbers: Integers = array("row")
    weights: Floats = array("row")
    predicted: Floats = array("output", "row")
    observed: Floats | None = array("output", "row")
    column_digests: dict[str, str]
    weight_digest: str | None
    units: Integers | None = array("row", default=None)

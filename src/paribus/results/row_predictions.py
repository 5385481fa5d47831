"""Predictions of the background rows, by which two models are compared row by row."""

from __future__ import annotations

from paribus._contracts import Floats, Integers
from paribus.results.schema import Record, array, record


@record
class RowPredictions(Record):
    """Predictions of the background rows: mean and spread over all of them, and those of a fixed sample.

    The sample has 2,000 rows of positive weight, or all if there are fewer. A hash of their positions chooses
    them, so that they are the same for every model, and for rows in memory and rows that are read.

    Attributes
    ----------
    rows : int
        Number of rows that were predicted: all of positive weight, or those drawn for ``max_predictions``.
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

    def same_rows(self, other: RowPredictions) -> bool:
        """Return whether two models were explained on the same rows.

        They were if the weights are the same, and every column that both know has the same values in the same
        order.
        """
        shared = self.column_digests.keys() & other.column_digests.keys()
        same_weights = self.weight_digest == other.weight_digest
        equal = [self.column_digests[name] == other.column_digests[name] for name in shared]
        return same_weights and bool(equal) and all(equal)

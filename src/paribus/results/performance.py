"""How well a model predicts the rows that it is explained on."""

from __future__ import annotations

from paribus._contracts import Floats
from paribus._typing import Better
from paribus.notes import Note
from paribus.results.plot_mixin import NotebookReprMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, array, record


@record
class Metric(Record):
    """One number of how well a model predicts.

    Attributes
    ----------
    name : str
        Such as ``"mean squared error"``, ``"log loss"``, ``"AUC"``.
    output : str or None
        The output it is of; None for all together.
    value, standard_error : float
        The number and its sampling error; NaN where there is none.
    better : {"lower", "higher", "near 1", "near 0"}
        Which values are good.
    """

    name: str
    output: str | None
    value: float
    standard_error: float
    better: Better


@record
class Calibration(Record):
    """Observed against predicted, in groups of rows with similar predictions, of one output.

    Attributes
    ----------
    output : str
        The output.
    predicted, observed, observed_error : ndarray of shape (k,)
        Averages within each group, and the sampling error of the observed one.
    weight : ndarray of shape (k,)
        Weight of the rows of each group.
    """

    output: str
    predicted: Floats = array("group")
    observed: Floats = array("group")
    observed_error: Floats = array("group")
    weight: Floats = array("group")


@record
class TrainingCurve(Record):
    """A score that a model kept while it was fitted, one value for each iteration.

    Attributes
    ----------
    data, metric : str
        Which rows it is of, and which score.
    values : ndarray of shape (t,)
        The score after each iteration.
    """

    data: str
    metric: str
    values: Floats = array("iteration")


@record
class Performance(NotebookReprMixin):
    """How well a model predicts the rows that it is explained on.

    Attributes
    ----------
    metrics : tuple of Metric
        Losses first, then ranking, then calibration.
    calibration : tuple of Calibration
        For each output.
    training_curves : tuple of TrainingCurve
        What the model kept while it was fitted.
    notes : tuple of Note
    provenance : Provenance
    """

    stored = "performance"

    metrics: tuple[Metric, ...]
    calibration: tuple[Calibration, ...]
    training_curves: tuple[TrainingCurve, ...]
    notes: tuple[Note, ...]
    provenance: Provenance

"""How well a model predicts the rows that it is explained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats
from paribus._text import with_error
from paribus._typing import Better, FrameBackend, PlotBackend
from paribus.errors import did_you_mean
from paribus.notes import Note
from paribus.results.plot_mixin import NotebookReprMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, array, record
from paribus.results.tidy import dataset_of, native

if TYPE_CHECKING:
    from paribus.results.plot_mixin import Figure


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

    def __str__(self) -> str:
        """Return the number with its error."""
        return with_error(self.value, self.standard_error)


@record
class Calibration(Record):
    """Observed against predicted, in groups of rows with similar predictions, of one output.

    Attributes
    ----------
    output : str
        The output.
    predicted, observed : ndarray of shape (k,)
        Averages within each group.
    observed_low, observed_high : ndarray of shape (k,)
        Ends of an interval of 95 % around the observed one: Wilson's for classes, which has a width also
        where all rows of a group are of one class; else 1.96 standard errors to each side.
    weight : ndarray of shape (k,)
        Weight of the rows of each group.
    """

    output: str
    predicted: Floats = array("group")
    observed: Floats = array("group")
    observed_low: Floats = array("group")
    observed_high: Floats = array("group")
    weight: Floats = array("group")


@record
class TrainingCurve(Record):
    """A score that a model kept while it was fitted, one value for each iteration.

    Attributes
    ----------
    data, metric : str
        Which rows it is of, and which score. ``"out of bag"`` of gradient boosting are the rows that the last
        tree was not fitted to, those before it mostly were: it is no error on new rows.
    values : ndarray of shape (t,)
        The score after each iteration.
    """

    data: str
    metric: str
    values: Floats = array("iteration")


@record
class Performance(NotebookReprMixin):
    """How well a model predicts the rows that it is explained on.

    A metric that has no meaning for the target or the model is left out, and a note says why. Standard errors
    are of the rows as a random sample, with their weights; the model itself is fixed.

    Attributes
    ----------
    metrics : tuple of Metric
        Losses first, then ranking, then calibration.
    calibration : tuple of Calibration
        For each output.
    training_curves : tuple of TrainingCurve
        What the model kept while it was fitted.
    notes : tuple of Note
        Features that alone predict the target, what was left out and why, and by how much a metric may be off
        where close predictions share a rank.
    provenance : Provenance
        How the predictions were made.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X[:, 0] + rng.normal(size=500)
    >>> performance = paribus.explain(lambda X: X[:, 0], X, y).performance
    >>> print(performance["R²"])
    0.5031 ± 0.032
    """

    stored = "performance"

    metrics: tuple[Metric, ...]
    calibration: tuple[Calibration, ...]
    training_curves: tuple[TrainingCurve, ...]
    notes: tuple[Note, ...]
    provenance: Provenance

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs that have a calibration table."""
        return tuple(one.output for one in self.calibration)

    def __getitem__(self, name: str) -> Metric:
        """Return the metric of a name: of the model as a whole, or of the first output."""
        found = [metric for metric in self.metrics if metric.name == name]
        if not found:
            known = tuple(dict.fromkeys(metric.name for metric in self.metrics))
            raise KeyError(f"there is no metric {name!r}{did_you_mean(str(name), known)}")
        return found[0]

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table with a row for each metric: its name, output, value, standard error, what is better.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        columns = {
            "metric": [one.name for one in self.metrics],
            "output": [one.output for one in self.metrics],
            "value": np.array([one.value for one in self.metrics]),
            "standard_error": np.array([one.standard_error for one in self.metrics]),
            "better": [one.better for one in self.metrics],
        }
        return native(columns, self.provenance.backend, backend)

    def to_xarray(self) -> dict[str, Any]:
        """Return observed against predicted in groups of rows, as a dataset for each output by its name."""
        return {one.output: dataset_of(one) for one in self.calibration}

    def figure(self, *, columns: int = 3, title: str | None = None) -> Figure:
        """Return the plot as plain data; parameters are those of `plot`.

        Returns
        -------
        Figure
            Panels, their axes and marks, before any plotting library.
        """
        return self._figure(columns, title)

    def plot(
        self,
        *,
        ax: Any = None,
        columns: int = 3,
        title: str | None = None,
        backend: PlotBackend = "matplotlib",
    ) -> Any:
        """Plot observed against predicted in groups of rows, for each output, and the training curves.

        Points on the diagonal are predicted as they came out; bars are intervals of 95 %. Training curves
        have a panel for each score.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Axes to draw on, one per panel. A new figure by default.
        columns : int
            Panels in a row, at most.
        title : str, optional
            Title above all panels.
        backend : {"matplotlib", "plotly"}
            Plotting library.

        Returns
        -------
        matplotlib.axes.Axes or matplotlib.figure.Figure or plotly.graph_objects.Figure
        """
        return self._drawn(self._figure(columns, title), backend, ax)

"""Performance, and observed against predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._text import with_error
from paribus._typing import Better, FrameBackend, PlotBackend
from paribus.errors import did_you_mean
from paribus.notes import Note
from paribus.results.mixins import NotebookReprMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, array, record
from paribus.results.tidy import native

if TYPE_CHECKING:
    from paribus.results.mixins import Figure

RESIDUAL, RATIO = "mean residual", "observed / predicted"  # metrics of bias


@record
class Metric(Record):
    """One number of how well a model predicts.

    Attributes
    ----------
    name : str
        Such as ``"root mean squared error"``, ``"log loss"``, ``"AUC"``.
    output : str or None
        The output it is of; None for all together.
    value, standard_error : float
        The number and its sampling error; NaN where there is none.
    constant : float
        The number for a constant prediction of the same rows: the mean of the target, or the shares of its
        classes, of which accuracy takes the most frequent one.
    better : {"lower", "higher", "near 1", "near 0"}
        Which values are good.
    """

    name: str
    output: str | None
    value: float
    standard_error: float
    constant: float
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
        Ends of the 95 % interval of the observed average: Wilson's for classes, else 1.96 standard errors to
        each side.
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
class Performance(NotebookReprMixin, Mapping[str, Metric]):
    """How well a model predicts the rows that it is explained on: a mapping from names to metrics.

    A metric of each of several outputs is one entry, that of the first output; ``metrics`` has all of them.
    A metric that is not defined for the target or the model is left out, and a note gives the reason.
    Standard errors treat the rows as a random sample, with their weights, and the model as fixed.

    Attributes
    ----------
    metrics : tuple of Metric
        Losses first, then AUC, then observed / predicted; of each output.
    calibration : tuple of Calibration
        For each output.
    notes : tuple of Note
        Features that alone predict the target, metrics that were left out, and whether close predictions
        share a rank.
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
    >>> list(performance)[:2]
    ['root mean squared error', 'mean absolute error']
    >>> round(performance["root mean squared error"].constant, 2)  # the standard deviation of y
    1.43
    """

    stored = "performance"

    metrics: tuple[Metric, ...]
    calibration: tuple[Calibration, ...]
    notes: tuple[Note, ...]
    provenance: Provenance

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs that have a calibration table."""
        return tuple(one.output for one in self.calibration)

    def residuals(self) -> Iterator[tuple[str, float, float]]:
        """Yield each output with its observed less its predicted average, and the standard error of that.

        Of classes both follow from the ratio of the averages.
        """
        for table in self.calibration:
            known = {metric.name: metric for metric in self.metrics if metric.output == table.output}
            if RESIDUAL in known:
                yield table.output, known[RESIDUAL].value, known[RESIDUAL].standard_error
            elif RATIO in known:
                predicted, ratio = float(np.average(table.predicted, weights=table.weight)), known[RATIO]
                yield table.output, predicted * (ratio.value - 1), predicted * ratio.standard_error

    @property
    def _first_by_name(self) -> dict[str, Metric]:
        first: dict[str, Metric] = {}
        for metric in self.metrics:
            first.setdefault(metric.name, metric)
        return first

    def __getitem__(self, name: str) -> Metric:
        """Return the metric of a name: of the model as a whole, or of the first output."""
        metrics = self._first_by_name
        if name not in metrics:
            raise KeyError(f"there is no metric {name!r}{did_you_mean(str(name), tuple(metrics))}")
        return metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first_by_name)

    def __len__(self) -> int:
        return len(self._first_by_name)

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table of the fields of each metric, each of every output.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return native(self._table(), self.provenance.backend, backend)

    def _table(self) -> dict[str, Any]:
        """Return the columns of its table."""
        return {
            "metric": [one.name for one in self.metrics],
            "output": [one.output for one in self.metrics],
            "value": np.array([one.value for one in self.metrics]),
            "standard_error": np.array([one.standard_error for one in self.metrics]),
            "constant": np.array([one.constant for one in self.metrics]),
            "better": [one.better for one in self.metrics],
        }

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
        dark: bool = False,
    ) -> Any:
        """Plot observed against predicted in groups of rows, for each output.

        Points on the diagonal are calibrated; bars are intervals of 95 %.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Axes to draw on, one per panel. A new figure by default.
        columns : int
            Panels in a row, at most.
        title : str, optional
            Title above all panels; an empty one leaves it out, and so do several ``ax``.
        backend : {"matplotlib", "plotly"}
            Plotting library.
        dark : bool
            Whether to draw on a dark background.

        Returns
        -------
        matplotlib.figure.Figure or plotly.graph_objects.Figure
            The figure, whether it has one panel or several; with ``ax`` the figure of these axes.
        """
        return self._plotted(self._figure(columns, title), backend, ax, dark)


SHOWN = 5  # cells that are printed
MISSING = "missing"
FEW = 10  # rows of one of two outcomes: of fewer, their own spread is no estimate of the error


def residual_errors(observed: Floats, predicted: Floats, error: Floats, rows: Integers) -> Floats:
    """Return standard errors of residuals.

    Of outcomes that are shares, at least that of outcomes with the predicted probability, and half of
    Wilson's interval around the observed one: a few rows that all have one outcome have no variance.
    """
    with np.errstate(invalid="ignore"):
        both = np.stack([observed, predicted])
        if not ((both >= 0) & (both <= 1) | np.isnan(both)).all():
            return error
        most = np.maximum(rows, 1)
        wilson = np.sqrt(observed * (1 - observed) / most + 0.25 / most**2) / (1 + 1 / most)
        likely = np.sqrt(predicted * (1 - predicted) / most)
        return np.asarray(np.fmax(np.fmax(error, likely), wilson))

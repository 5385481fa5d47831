"""Performance, and observed against predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._text import at_value, count, with_error
from paribus._typing import Better, FrameBackend, PlotBackend
from paribus.errors import InputError, did_you_mean
from paribus.notes import Note
from paribus.results.effects import Effects
from paribus.results.marginal import Marginal
from paribus.results.mixins import NotebookReprMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, array, record
from paribus.results.storage import Saveable
from paribus.results.text_table import table_lines
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


@record
class ObservedExpected(Saveable):
    r"""Observed and predicted averages in each cell of each feature, worst first.

    .. math:: z_c = \frac{\bar y_c - \bar f_c}{SE_c}

    A cell has the rows near one value of a feature, or those whose value is missing. Cells are in the order
    of :math:`|z_c|`; those without a standard error, such as of a single row, come last. Of many cells a few
    are several standard errors off by chance.

    Attributes
    ----------
    feature, value, output : tuple of str
        The cell: its feature, its value as text, and its output.
    rows : ndarray of shape (n,)
        Number of rows of each cell.
    support : ndarray of shape (n,)
        Weight of these rows.
    observed, predicted : ndarray of shape (n,)
        Weighted averages of ``y`` and of the prediction.
    difference, standard_error : ndarray of shape (n,)
        Observed minus predicted, and its sampling error from the residuals of the rows; of classes with
        fewer than ten rows of either class at least :math:`\sqrt{\bar f_c (1 - \bar f_c) / n_c}` and half
        the width of Wilson's interval of one standard error, as rows of one class show no variation.
    in_errors : ndarray of shape (n,)
        The difference in standard errors; NaN where there is none.
    provenance : Provenance
        How the averages were computed.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 3, size=(300, 2)).astype(float)
    >>> y = X[:, 0] + (X[:, 1] == 2) + 0.1 * rng.normal(size=300)
    >>> table = paribus.explain(lambda X: X[:, 0], X, y).observed_expected()
    >>> table.feature[0], table.value[0], round(float(table.difference[0]), 1)
    ('x1', '2', 1.0)
    """

    stored = "observed_expected"

    feature: tuple[str, ...] = array("entry")
    value: tuple[str, ...] = array("entry")
    output: tuple[str, ...] = array("entry")
    rows: Integers = array("entry")
    support: Floats = array("entry")
    observed: Floats = array("entry")
    predicted: Floats = array("entry")
    difference: Floats = array("entry")
    standard_error: Floats = array("entry")
    in_errors: Floats = array("entry")
    provenance: Provenance

    def __len__(self) -> int:
        return len(self.feature)

    def __repr__(self) -> str:
        model = self.provenance.model
        head = f"ObservedExpected of {model}: {count(len(self), 'cell')}, worst first"
        return "\n  ".join([head, *table_lines(self._table(), SHOWN)])

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table of a row for each cell, worst first; columns are the attributes.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return native(self._table(), self.provenance.backend, backend)

    def _table(self) -> dict[str, Any]:
        """Return the columns of its table."""
        columns = {name: column for name, column in vars(self).items() if name != "provenance"}
        return {name: list(part) if isinstance(part, tuple) else part for name, part in columns.items()}


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


CELL_ROWS = 10  # rows of a cell that is ranked by its difference


def observed_expected(averages: Effects[Marginal]) -> ObservedExpected:
    """Return the table of all cells that have rows, small ones last, or refuse averages without both."""
    tables = [_cells(one) for one in averages.effects]
    columns = {name: [entry for table in tables for entry in table[name]] for name in tables[0]}
    difference, error = (
        np.array(columns[name], dtype=np.float64) for name in ("difference", "standard_error")
    )
    size = np.divide(difference, error, out=np.full(len(error), np.nan), where=error > 0)
    known = np.array(columns["rows"]) >= CELL_ROWS  # of fewer rows, the error itself is not known
    worst = np.where(known, np.nan_to_num(np.abs(size), nan=-1.0), -2.0)
    order = np.argsort(-worst, kind="stable").tolist()
    sorted_columns: dict[str, Any] = {
        name: tuple(entries[place] for place in order) for name, entries in columns.items()
    }
    numbers = {
        name: np.array(entries, dtype=np.int64 if name == "rows" else np.float64)
        for name, entries in sorted_columns.items()
        if name not in ("feature", "value", "output")
    }
    return ObservedExpected(
        **{**sorted_columns, **numbers, "in_errors": size[order]}, provenance=averages.effects[0].provenance
    )


def _cells(one: Marginal) -> dict[str, list[Any]]:
    """Return the columns of one feature: its cells, and that of missing values, of each output."""
    if one.residual is None or one.predicted is None or one.observed is None or one.residual_error is None:
        raise InputError("observed against expected needs y and a model; pass y= to explain")
    numbers = {
        "observed": one.observed,
        "predicted": one.predicted,
        "difference": one.residual,
        "standard_error": one.residual_error,
    }
    values = [at_value(value) for value in one.grid_values[0]]
    rows, support = one.rows, one.support
    if one.missing is not None:
        last: Any = one.missing
        own = {"difference": last.residual, "standard_error": last.residual_error}
        own |= {"observed": last.observed, "predicted": last.predicted}
        numbers = {name: np.concatenate([part, own[name][:, None]], axis=1) for name, part in numbers.items()}
        values, rows, support = (
            [*values, MISSING],
            np.append(rows, last.rows),
            np.append(support, last.support),
        )
    if one.provenance.scale.base == "probability":
        seen, error = numbers["observed"], numbers["standard_error"]
        few = (np.minimum(seen, 1 - seen) * rows < FEW) & (rows > 1)
        numbers["standard_error"] = np.where(
            few, residual_errors(seen, numbers["predicted"], error, rows), error
        )
    kept = np.flatnonzero(rows > 0).tolist()
    outputs = range(len(one.output_names))
    table: dict[str, list[Any]] = {
        "feature": [one.feature_names[0]] * (len(kept) * len(outputs)),
        "value": [values[place] for _ in outputs for place in kept],
        "output": [one.output_names[o] for o in outputs for _ in kept],
        "rows": [int(rows[place]) for _ in outputs for place in kept],
        "support": [float(support[place]) for _ in outputs for place in kept],
    }
    return table | {name: part[:, kept].ravel().tolist() for name, part in numbers.items()}

"""Observed against expected: the cells of all features in one table, worst first."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._text import at_value, count, number, shown_of, with_error
from paribus._typing import FrameBackend
from paribus.errors import InputError
from paribus.results.marginal import Marginal, Marginals
from paribus.results.provenance import Provenance
from paribus.results.saveable import Saveable
from paribus.results.schema import array, record
from paribus.results.tidy import native

SHOWN = 5  # cells that are printed
MISSING = "missing"
FEW = 10  # rows of one of two outcomes: of fewer, their own spread is no estimate of the error


@record
class ObservedExpected(Saveable):
    r"""What came out against what is predicted, in each cell of each feature, worst first.

    .. math:: z_c = \frac{\bar y_c - \bar f_c}{SE_c}

    A cell has the rows near one value of a feature, or those whose value is missing. Cells are in the order
    of :math:`|z_c|`; those without a standard error, such as of a single row, come last. Of many cells a few
    are several standard errors off by chance.

    Attributes
    ----------
    feature, value, output : tuple of str
        Which cell: the feature, its value as text, and which output.
    rows : ndarray of shape (n,)
        Number of rows of each cell.
    support : ndarray of shape (n,)
        Their weight.
    observed, predicted : ndarray of shape (n,)
        Weighted averages of ``y`` and of the prediction.
    difference, standard_error : ndarray of shape (n,)
        Observed minus predicted, and its sampling error from the residuals of the rows; of classes with
        fewer than ten rows of either outcome at least :math:`\sqrt{\bar f_c (1 - \bar f_c) / n_c}` and half
        the width of Wilson's interval of one standard error, as rows of one outcome show no error of their
        own.
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
        lines = [f"ObservedExpected of {model}: {count(len(self), 'cell')}, worst first"]
        several = len(set(self.output)) > 1
        shown = shown_of(len(self), SHOWN)
        for place in range(shown):
            of = f" ({self.output[place]})" if several else ""
            off = with_error(float(self.difference[place]), float(self.standard_error[place]))
            lines.append(
                f"  {self.feature[place]} = {self.value[place]}{of}: observed "
                f"{number(float(self.observed[place]))}, predicted {number(float(self.predicted[place]))}, "
                f"difference {off}, {count(int(self.rows[place]), 'row')}"
            )
        more = len(self) - shown
        return "\n".join([*lines, *([f"  and {more:,} more"] if more > 0 else [])])

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table of a row for each cell, worst first; columns are the attributes.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        names = [name for name in self.__dataclass_fields__ if name != "provenance"]
        columns = {name: getattr(self, name) for name in names}
        plain = {name: list(own) if isinstance(own, tuple) else own for name, own in columns.items()}
        return native(plain, self.provenance.backend, backend)


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


def observed_expected(averages: Marginals) -> ObservedExpected:
    """Return the table of all cells that have rows, or refuse averages without both."""
    tables = [_cells(one) for one in averages.effects]
    columns = {name: [entry for table in tables for entry in table[name]] for name in tables[0]}
    difference, error = (
        np.array(columns[name], dtype=np.float64) for name in ("difference", "standard_error")
    )
    size = np.divide(difference, error, out=np.full(len(error), np.nan), where=error > 0)
    order = np.argsort(-np.nan_to_num(np.abs(size), nan=-1.0), kind="stable").tolist()
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

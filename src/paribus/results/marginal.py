"""Averages of predictions and targets over the rows near each value of a feature."""

from __future__ import annotations

from paribus._contracts import Array, Floats, Integers, Kind
from paribus.errors import InputError
from paribus.notes import Note
from paribus.results.curve_parts import AtMissing, ModelSpread
from paribus.results.mixins import Result
from paribus.results.provenance import Provenance
from paribus.results.schema import array, labels, nested, record


@record
class Marginal(Result):
    """Averages of predictions, outcomes and residuals over the rows near each value of one feature.

    Attributes and keys are the same; a key is absent when there was no model, or no ``y``. A cell without
    rows is NaN.

    Attributes
    ----------
    grid_values : tuple of one ndarray of shape (g,)
        The values of the axis, as in `PartialDependence`. The cell of a number reaches half-way to its
        neighbors.
    predicted, observed, residual : ndarray of shape (n_outputs, g) or None
        Weighted averages over the rows of each cell of the prediction, of ``y`` (for a classifier of the
        indicator of the class), and of ``y`` minus the prediction.
    predicted_error, observed_error, residual_error : ndarray of shape (n_outputs, g) or None
        Their standard errors, treating the rows of a cell as a random sample. NaN with a single row; too
        small where all rows of a cell are of one class.
    support : ndarray of shape (g,)
        Weight of the rows in each cell.
    rows : ndarray of shape (g,)
        Number of rows in each cell, those of weight zero not counted.
    missing : AtMissing or None
        The same for the rows whose value is missing, if there are any.
    outside : float
        Share of the weight outside all cells: beyond the ends of the grid, or in categories not on it.
    deciles : tuple of one ndarray or None
        Quantiles 0, 0.1, ..., 1 of the data; None for categorical features.
    strength : float
        Standard deviation over the rows in cells of the average prediction, or of the average ``y`` where
        there is no model; root mean square over outputs.
    feature_names, output_names : tuple of str
        Name of the feature, and of the outputs.
    kinds : tuple of one str
        Kind of the feature, as in `PartialDependence`.
    ordered : tuple of one bool
        Whether the order of its values has a meaning, as in `PartialDependence`.
    provenance : Provenance
        How the result was computed.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.
    by_model : ModelSpread or None
        For a list of models, each one's own ``predicted``.

    Notes
    -----
    The table of `to_frame` has a row per output and cell: columns ``output``, the feature (without a value in
    the row of missing ones), the averages there are with their errors, ``support``, ``rows``, and of several
    models ``between_models``, the standard deviation between their predictions.
    """

    stored = "marginal"

    feature_names: tuple[str, ...] = array(1)
    output_names: tuple[str, ...] = labels("output")
    kinds: tuple[Kind, ...] = array(1)
    ordered: tuple[bool, ...] = array(1)
    grid_values: tuple[Array, ...] = array(1)
    predicted: Floats | None = array("output", "grid", optional=True)
    predicted_error: Floats | None = array("output", "grid", optional=True)
    observed: Floats | None = array("output", "grid", optional=True)
    observed_error: Floats | None = array("output", "grid", optional=True)
    residual: Floats | None = array("output", "grid", optional=True)
    residual_error: Floats | None = array("output", "grid", optional=True)
    support: Floats = array("grid", column="support")
    rows: Integers = array("grid", column="rows")
    missing: AtMissing | None = nested()
    outside: float
    deciles: tuple[Array | None, ...] = array(1)
    strength: float
    notes: tuple[Note, ...]
    provenance: Provenance
    by_model: ModelSpread | None = nested(default=None)

    def _check(self) -> None:
        for name in ("predicted", "observed", "residual"):
            if (getattr(self, name) is None) != (getattr(self, f"{name}_error") is None):
                raise InputError(f"{name} and {name}_error need each other; pass both or none")
        if self.predicted is None and self.observed is None:
            raise InputError("there are no averages; pass predicted or observed")
        super()._check()

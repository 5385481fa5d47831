"""What is predicted and what came out for the rows near each value of a feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from paribus._contracts import Array, Floats, Integers, Kind
from paribus._typing import FrameBackend
from paribus.notes import Note
from paribus.results.effect_mapping import EffectMapping
from paribus.results.frozen import Frozen
from paribus.results.model_spread import ModelSpread
from paribus.results.provenance import Provenance
from paribus.results.result import Result
from paribus.results.tidy import marginal_frame, marginals_frame

AVERAGES = (
    "predicted",
    "predicted_error",
    "observed",
    "observed_error",
    "residual",
    "residual_error",
)


@dataclass(frozen=True, eq=False)
class MarginalAtMissing(Frozen):
    """The same averages over the rows whose value is missing.

    Attributes
    ----------
    share, support : float
        Their share of the weight, and that weight itself.
    rows : int
        Their number.
    predicted, predicted_error, observed, observed_error, residual, residual_error : ndarray of shape \
(n_outputs,) or None
        As in `Marginal`.
    """

    share: float
    support: float
    rows: int
    predicted: Floats | None
    predicted_error: Floats | None
    observed: Floats | None
    observed_error: Floats | None
    residual: Floats | None
    residual_error: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class Marginal(Result, saved=True):
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
        Their standard errors, as if the rows of a cell were a random sample. NaN with a single row; too
        small where all rows of a cell are of one class, or none is.
    support : ndarray of shape (g,)
        Weight of the rows in each cell.
    rows : ndarray of shape (g,)
        Number of rows in each cell, those of weight zero not counted.
    missing : MissingRows or None
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
    """

    optional_keys: ClassVar[tuple[str, ...]] = AVERAGES
    shapes: ClassVar[dict[str, str]] = {
        "1": "feature_names kinds ordered grid_values deciles",
        "o": " ".join(("output_names", *(f"missing.{name}" for name in AVERAGES))),
        "g": "support rows",
        "o g": " ".join((*AVERAGES, "by_model.standard_deviation")),
        "m": "by_model.models",
        "m o g": "by_model.values",
        "m o": "by_model.missing",
    }

    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    ordered: tuple[bool, ...]
    grid_values: tuple[Array, ...]
    predicted: Floats | None
    predicted_error: Floats | None
    observed: Floats | None
    observed_error: Floats | None
    residual: Floats | None
    residual_error: Floats | None
    support: Floats
    rows: Integers
    missing: MarginalAtMissing | None
    outside: float
    deciles: tuple[Array | None, ...]
    strength: float
    notes: tuple[Note, ...]
    provenance: Provenance
    by_model: ModelSpread | None = None

    def _check(self) -> None:
        self._check_missing(self.missing, AVERAGES)
        for name in ("predicted", "observed", "residual"):
            if (getattr(self, name) is None) != (getattr(self, f"{name}_error") is None):
                raise ValueError(f"{name} without its error, or the other way round")
        if self.predicted is None and self.observed is None:
            raise ValueError("no averages")

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table with one row per output and cell, in the library of the user's own table.

        Columns ``output``, the feature (without a value in the row of missing ones), the averages there are
        with their errors, ``support`` and ``rows``.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return marginal_frame(self, backend)


class Marginals(EffectMapping[Marginal], saved=True):
    """A mapping from a feature's name to its `Marginal`, strongest first.

    Strength is `Marginal.strength`: the standard deviation over the data of the average prediction.
    """

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy long table of all features.

        Columns ``feature``, ``value`` (as text, None for missing ones), ``number`` (None for categories and
        dates), ``output``, the averages there are with their errors, ``support`` and ``rows``.
        """
        return marginals_frame(self, backend)

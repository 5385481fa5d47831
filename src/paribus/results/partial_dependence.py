"""The partial dependence of one feature, or of several together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from paribus._typing import FrameBackend, TableKind
from paribus.contracts import Array, Floats, Kind
from paribus.notes import Note
from paribus.results.extrapolation import Extrapolation
from paribus.results.frozen import Frozen
from paribus.results.provenance import Provenance
from paribus.results.record import Record
from paribus.results.refits import Refits
from paribus.results.relative import centred, derivative
from paribus.results.spread import Spread
from paribus.results.story import effect_story
from paribus.results.tidy import effect_frame

ASKED = ("average", "standard_error", "individual", "spread", "row_weights", "refits")


@dataclass(frozen=True, eq=False)
class Missing(Frozen):
    """The effect at a missing value, apart from the curve.

    Attributes
    ----------
    share : float
        Share of the data's weight whose value is missing.
    support : float
        That weight itself.
    average, standard_error : ndarray of shape (n_outputs,) or None
        The partial dependence at missing; None when only individual curves were asked for.
    individual : ndarray of shape (n_outputs, n_rows) or None
        Every row's prediction with the feature missing.
    """

    share: float
    support: float
    average: Floats | None
    standard_error: Floats | None
    individual: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence(Record, saved=True):
    """Partial dependence and individual conditional expectation of one feature or several together.

    Attributes and keys are the same; a key is absent when its part was not asked for.

    Attributes
    ----------
    grid_values : tuple of ndarray
        The values of each axis, ``g0, g1, ...``. Dates with a time zone are in UTC.
    average : ndarray of shape (n_outputs, g0, g1, ...) or None
        The partial dependence; of a list of models the mean of theirs.
    standard_error : ndarray of the shape of ``average`` or None
        Sampling error of the average, as if the rows were a random sample. NaN with a single row. Of a list
        of models it is the mean of their standard errors, which the sampling error of the mean curve cannot
        exceed; how much models differ is in ``refits`` alone.
    individual : ndarray of shape (n_outputs, n_rows, g0, g1, ...) or None
        Each row's own curve.
    spread : Spread or None
        Quantiles of the individual curves over the rows, at each point.
    row_weights : ndarray of shape (n_rows,) or None
        Weights of the individual curves; None without weights or curves.
    refits : Refits or None
        The curve of each model and the standard deviation between them, where a list of models was asked.
    support : ndarray of shape (g0, g1, ...)
        Weight of the data around each point, rows that miss a value not counted.
    extrapolation : Extrapolation or None
        How many of the points behind the effect combine values of two features that no row has.
    missing : Missing or None
        The effect at a missing value, for one feature that has any.
    deciles : tuple of ndarray or None
        For each axis the quantiles 0, 0.1, ..., 1 of the data; None for levels.
    strength : float
        Standard deviation of the partial dependence over the data, the missing value included, in
        units of the prediction; root mean square over outputs.
    feature_names, output_names : tuple of str
        Names of the axes and of the outputs.
    kinds : tuple of str
        ``numeric``, ``integer``, ``boolean``, ``category``, ``string`` or ``datetime``, per axis.
    ordered : tuple of bool
        Whether the order of an axis' values has a meaning: that of numbers, dates and booleans has, that of
        levels where the column declares it (an ordered category, an Enum of polars) or the values were given
        in ``custom_values``.
    provenance : Provenance
        How the numbers came about.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.
    """

    asked: ClassVar[tuple[str, ...]] = ASKED
    shapes: ClassVar[dict[str, str]] = {
        "d": "feature_names ordered deciles",
        "o": "output_names missing.average missing.standard_error",
        "o g": "average standard_error refits.standard_deviation",
        "g": "support extrapolation.by_point extrapolation.mask",
        "o n g": "individual",
        "o n": "missing.individual",
        "n": "row_weights",
        "q": "spread.probabilities",
        "o q g": "spread.values",
        "o q": "spread.missing",
        "m": "refits.models",
        "m o g": "refits.values",
        "m o": "refits.missing",
    }

    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    ordered: tuple[bool, ...]
    grid_values: tuple[Array, ...]
    average: Floats | None
    standard_error: Floats | None
    individual: Floats | None
    support: Floats
    extrapolation: Extrapolation | None
    missing: Missing | None
    deciles: tuple[Array | None, ...]
    strength: float
    notes: tuple[Note, ...]
    provenance: Provenance
    spread: Spread | None = None
    row_weights: Floats | None = None
    refits: Refits | None = None

    def _check(self) -> None:
        if self.average is None and self.individual is None:
            raise ValueError("neither averages nor curves")
        if self.individual is None and self.row_weights is not None:
            raise ValueError("row_weights without curves")
        self._check_missing(self.missing, ("average", "individual"), ("spread", "refits"))

    def to_frame(self, kind: TableKind | None = None, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        Parameters
        ----------
        kind : {"average", "individual"}, optional
            One row per output and point (columns ``output``, the features, ``average``,
            ``standard_error``, ``support``, ``between_models``, the standard deviation between models if
            there are several, and ``q10``, ``q25``, ... of the spread; the missing point is the row without
            a value), or one per output, row and point (columns ``output``, ``row``, the
            features, ``prediction``). The average when there is one.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Another library than that of the table.
        """
        return effect_frame(self, kind, backend)

    def centred(self, at: Any = None) -> PartialDependence:
        r"""Return the effect relative to its value at one point of the grid.

        .. math:: PD_S(x_S) - PD_S(a), \qquad f(x_S, x_{i,\bar S}) - f(a, x_{i,\bar S})

        Curves of rows that differ in level but not in shape then lie on each other. With individual curves
        (``kind="both"``) the standard error and the spread are those of the differences; at :math:`a` they
        are zero. Without, the average alone is told: the error of a difference does not follow from the
        errors of its two sides, nor do its quantiles. The curve of each of several models is taken relative
        to its own value, so that the standard deviation between them is that of the differences. ``strength``
        stays what it is.

        Parameters
        ----------
        at : value, or tuple of values, optional
            A value of ``grid_values``, one for each axis. The first of each by default.

        Returns
        -------
        PartialDependence
            Of the same shapes; ``provenance.scale`` and a note say what it is relative to.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, kind="both")
        >>> effect.centred(at=1.0).individual[0]
        array([[-1.,  0.,  1.],
               [-3.,  0.,  3.],
               [-5.,  0.,  5.]])
        """
        return centred(self, at)

    def derivative(self) -> PartialDependence:
        r"""Return the slope along a numeric axis, or along dates per day.

        .. math:: \frac{h_-^2 f(x + h_+) + (h_+^2 - h_-^2) f(x) - h_+^2 f(x - h_-)}{h_+ h_- (h_+ + h_-)}

        at a point :math:`x` whose neighbours lie :math:`h_-` below and :math:`h_+` above: the slope of the
        parabola through the three, and at the two ends that of the line to the neighbour. It is taken of the
        average, and of every row's and every model's curve; standard error and spread are those of the rows'
        slopes, and need individual curves (``kind="both"``). Of a model that is a sum of steps, such as a
        tree ensemble, this is the slope *between grid points*: it tells by how much the steps there add up,
        and depends on how far apart the points are. ``strength`` is the standard deviation of the slope over
        the data.

        Returns
        -------
        PartialDependence
            Of the same shapes and without the missing point; ``provenance.scale`` says per unit of what.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [3.0, 5.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, kind="both")
        >>> effect.derivative().individual[0]
        array([[1., 1., 1.],
               [3., 3., 3.],
               [5., 5., 5.]])
        """
        return derivative(self)

    def __repr__(self) -> str:
        return effect_story(self)

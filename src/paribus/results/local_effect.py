"""Accumulated local effects of one feature, or of two together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from paribus._contracts import Array, Flags, Floats, Integers, Kind
from paribus._typing import FrameBackend
from paribus.notes import Note
from paribus.results.effect_mapping import EffectMapping
from paribus.results.frozen import Frozen
from paribus.results.model_spread import ModelSpread
from paribus.results.provenance import Provenance
from paribus.results.result import Result
from paribus.results.tidy import local_frame, locals_frame


@dataclass(frozen=True, eq=False)
class LocalEffectAtMissing(Frozen):
    """The effect at a missing value, apart from the curve.

    Rows without a value lie in no bin, and have no neighbors to be compared with. What is reported is the
    ALE at ``anchor``, the edge nearest the median or the most frequent category, plus
    it the average change of the rows without a value when it is replaced by none.

    Attributes
    ----------
    share : float
        Share of the data's weight whose value is missing.
    support : float
        That weight itself.
    anchor : number, date or category
        The value they are compared with.
    ale, standard_error : ndarray of shape (n_outputs,)
        The effect, on the scale of the curve.
    """

    share: float
    support: float
    anchor: Any
    ale: Floats
    standard_error: Floats


@dataclass(frozen=True, eq=False, repr=False)
class LocalEffect(Result, saved=True):
    """Accumulated local effects (ALE) of one feature, or of two together.

    Fields are available as attributes and as keys; optional keys are absent if they were not requested.

    Attributes
    ----------
    grid_values : tuple of ndarray
        The values of each axis, ``g0, g1``: edges of bins, every one a value that occurs; or categories in
        order.
    ale : ndarray of shape (n_outputs, g0) or (n_outputs, g0, g1)
        The effect at these values, its average over the data zero. That of two features is what is left once
        the effect of each by itself is taken away. Of a list of models it is the mean of theirs, as ``local``
        is.
    standard_error : ndarray of the shape of ``ale``
        Sampling error, given where the rows lie. Of a list of models it is the mean of their standard errors,
        which the sampling error of the mean curve cannot exceed.
    local : ndarray of shape (n_outputs, g0 - 1) or (n_outputs, g0 - 1, g1 - 1)
        The average change from one value to the next, of the rows in between (of categories, of the rows at
        either). NaN where there are none.
    local_error : ndarray of the shape of ``local``
        Its sampling error.
    support : ndarray
        Weight of the data in each bin ``(g0 - 1,)`` or at each category ``(g0,)``; of two features in each
        cell.
    rows : ndarray of the shape of ``support``
        Number of rows there.
    empty : ndarray of bool of shape (g0 - 1,) or (g0 - 1, g1 - 1)
        Where no row shows the change: the nearest one that some do was taken, in proportion to the distance,
        of two features never more than it was there.
    missing : LocalMissing or None
        The effect at a missing value, for a single feature with missing values.
    by_model : ModelSpread or None
        The effect by model and the standard deviation between models, for a list of models.
    order : tuple of str
        How the categories of each axis were put in order; empty for numbers.
    strength : float
        Standard deviation of the effect over the data, in units of the prediction; root mean square over
        outputs.
    feature_names, output_names : tuple of str
        Names of the axes and of the outputs.
    kinds : tuple of str
        ``numeric``, ``integer``, ``boolean``, ``category``, ``string`` or ``datetime``, per axis.
    provenance : Provenance
        How the result was computed.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.
    """

    optional_keys: ClassVar[tuple[str, ...]] = ("by_model",)
    shapes: ClassVar[dict[str, str]] = {
        "d": "feature_names order",
        "o": "output_names missing.ale missing.standard_error",
        "o g": "ale standard_error by_model.standard_deviation",
        "o s": "local local_error",
        "s": "empty",
        "c": "support rows",
        "m": "by_model.models",
        "m o g": "by_model.values",
        "m o": "by_model.missing",
    }

    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    grid_values: tuple[Array, ...]
    ale: Floats
    standard_error: Floats
    local: Floats
    local_error: Floats
    support: Floats
    rows: Integers
    empty: Flags
    missing: LocalEffectAtMissing | None
    order: tuple[str, ...]
    strength: float
    notes: tuple[Note, ...]
    provenance: Provenance
    by_model: ModelSpread | None = None

    def _check(self) -> None:
        self._check_missing(self.missing, (), ("by_model",))

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        One row per output and value: columns ``output``, the features, ``ale``, ``standard_error``, and for
        one feature ``local`` (the change that leads there), ``local_error`` and ``support`` (the weight of
        the rows that show it; of a category, the weight of its own); of several models ``between_models``,
        the standard deviation between them. The effect at a missing value is the row with a null feature.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return local_frame(self, backend)


class LocalEffects(EffectMapping[LocalEffect], saved=True):
    """A mapping from a feature's name (or a pair of names) to its local effect, strongest first."""

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy long table of all effects.

        Columns ``feature``, ``value`` (as text, None for the missing point), ``number`` (None for categories
        and dates), for effects of two features the same with ``_2``, then ``output``, ``ale``,
        ``standard_error``, and of several models ``between_models``.
        """
        return locals_frame(self, backend)

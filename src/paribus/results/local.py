"""Accumulated local effects of one feature, or of two together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from paribus._typing import FrameBackend
from paribus.contracts import Array, Flags, Floats, Integers, Kind
from paribus.notes import Note
from paribus.results.frozen import Frozen
from paribus.results.provenance import Provenance
from paribus.results.ranked import Ranked
from paribus.results.record import Record
from paribus.results.refits import Refits
from paribus.results.story import local_story, ranked_story
from paribus.results.tidy import local_frame, locals_frame


@dataclass(frozen=True, eq=False)
class LocalMissing(Frozen):
    """The effect at a missing value, apart from the curve.

    Rows without a value lie in no bin, and have no neighbours to be compared with. What is reported is the
    height of the curve at ``anchor``, the edge nearest the median or the most frequent level, and on top of
    it the average change of the rows without a value when it is replaced by none.

    Attributes
    ----------
    share : float
        Share of the data's weight whose value is missing.
    support : float
        That weight itself.
    anchor : number, date or level
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
class LocalEffect(Record, saved=True):
    """Accumulated local effects (ALE) of one feature, or of two together.

    Attributes and keys are the same; a key is absent when its part was not asked for.

    Attributes
    ----------
    grid_values : tuple of ndarray
        The values of each axis, ``g0, g1``: edges of bins, every one a value that occurs; or levels in order.
    ale : ndarray of shape (n_outputs, g0) or (n_outputs, g0, g1)
        The effect at these values, its average over the data zero. That of two features is what is left once
        the effect of each by itself is taken away. Of a list of models it is the mean of theirs, as ``local``
        is.
    standard_error : ndarray of the shape of ``ale``
        Sampling error, given where the rows lie. Of a list of models it is the mean of their standard errors,
        which the sampling error of the mean curve cannot exceed.
    local : ndarray of shape (n_outputs, g0 - 1) or (n_outputs, g0 - 1, g1 - 1)
        The average change from one value to the next, of the rows in between (of levels, of the rows at
        either). NaN where there are none.
    local_error : ndarray of the shape of ``local``
        Its sampling error.
    support : ndarray
        Weight of the data in each bin ``(g0 - 1,)`` or at each level ``(g0,)``; of two features in each cell.
    rows : ndarray of the shape of ``support``
        Number of rows there.
    empty : ndarray of bool of shape (g0 - 1,) or (g0 - 1, g1 - 1)
        Where no row tells the change: the nearest one that some do was taken, in proportion to the distance,
        of two features never more than it was there.
    missing : LocalMissing or None
        The effect at a missing value, for one feature that has any.
    refits : Refits or None
        The effect by each model and the standard deviation between them, where a list of models was asked.
    order : tuple of str
        How the levels of each axis were put in order; empty for numbers.
    strength : float
        Standard deviation of the effect over the data, in units of the prediction; root mean square over
        outputs.
    feature_names, output_names : tuple of str
        Names of the axes and of the outputs.
    kinds : tuple of str
        ``numeric``, ``integer``, ``boolean``, ``category``, ``string`` or ``datetime``, per axis.
    provenance : Provenance
        How the numbers came about.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.
    """

    asked: ClassVar[tuple[str, ...]] = ("refits",)
    shapes: ClassVar[dict[str, str]] = {
        "d": "feature_names order",
        "o": "output_names missing.ale missing.standard_error",
        "o g": "ale standard_error refits.standard_deviation",
        "o s": "local local_error",
        "s": "empty",
        "c": "support rows",
        "m": "refits.models",
        "m o g": "refits.values",
        "m o": "refits.missing",
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
    missing: LocalMissing | None
    order: tuple[str, ...]
    strength: float
    notes: tuple[Note, ...]
    provenance: Provenance
    refits: Refits | None = None

    def _check(self) -> None:
        self._check_missing(self.missing, (), ("refits",))

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        One row per output and value: columns ``output``, the features, ``ale``, ``standard_error``, and for
        one feature ``local`` (the change that leads there), ``local_error`` and ``support`` (the weight of
        the rows that tell it; of a level, the weight of its own); of several models ``between_models``, the
        standard deviation between them. The missing value is the row without one.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Another library than that of the table.
        """
        return local_frame(self, backend)

    def __repr__(self) -> str:
        return local_story(self)


class LocalEffects(Ranked[LocalEffect], saved=True):
    """A mapping from a feature's name (or a pair of names) to its local effect, strongest first."""

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy long table of all effects.

        Columns ``feature``, ``value`` (as text, None for the missing point), ``number`` (None for levels and
        dates), for effects of two features the same with ``_2``, then ``output``, ``ale``,
        ``standard_error``, and of several models ``between_models``.
        """
        return locals_frame(self, backend)

    def __repr__(self) -> str:
        return ranked_story("LocalEffects", self, "accumulated")

"""The partial dependence of one feature, or of several together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from paribus.contracts import Array, Floats, Kind
from paribus.results.provenance import Provenance

ALWAYS = (
    "grid_values",
    "support",
    "missing",
    "deciles",
    "feature_names",
    "output_names",
    "kinds",
    "strength",
    "notes",
    "provenance",
)
ASKED = ("average", "standard_error", "individual")


def read_only(array: Array | None) -> None:
    """Freeze an array in place."""
    if array is not None:
        array.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Missing:
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

    def __post_init__(self) -> None:
        for array in (self.average, self.standard_error, self.individual):
            read_only(array)


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence(Mapping[str, Any]):
    """Partial dependence and individual conditional expectation of one feature or several together.

    Attributes and keys are the same; a key is absent when its part was not asked for.

    Attributes
    ----------
    grid_values : tuple of ndarray
        The values of each axis, ``g0, g1, ...``. Dates with a time zone are in UTC.
    average : ndarray of shape (n_outputs, g0, g1, ...) or None
        The partial dependence.
    standard_error : ndarray of the shape of ``average`` or None
        Sampling error of the average, as if the rows were a random sample. NaN with a single row.
    individual : ndarray of shape (n_outputs, n_rows, g0, g1, ...) or None
        Each row's own curve.
    support : ndarray of shape (g0, g1, ...)
        Weight of the data around each point, rows that miss a value not counted.
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
    provenance : Provenance
        How the numbers came about.
    notes : tuple of str
        What the data cannot carry, in plain sentences.
    """

    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    grid_values: tuple[Array, ...]
    average: Floats | None
    standard_error: Floats | None
    individual: Floats | None
    support: Floats
    missing: Missing | None
    deciles: tuple[Array | None, ...]
    strength: float
    notes: tuple[str, ...]
    provenance: Provenance

    def __post_init__(self) -> None:
        read_only(self.average)
        read_only(self.standard_error)
        read_only(self.individual)
        read_only(self.support)
        for array in (*self.grid_values, *self.deciles):
            read_only(array)

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(key)
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in ALWAYS or (key in ASKED and getattr(self, str(key)) is not None)

    def __iter__(self) -> Iterator[str]:
        return (key for key in (*ASKED, *ALWAYS) if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        """Tell whether two results are the same bit for bit, provenance included."""
        from paribus.results.storage import same

        return isinstance(other, PartialDependence) and same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self, kind: str | None = None, *, backend: str | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        Parameters
        ----------
        kind : {"average", "individual"}, optional
            One row per output and point (columns ``output``, the features, ``average``,
            ``standard_error``, ``support``; the missing point is the row without a value), or one per
            output, row and point (columns ``output``, ``row``, the features, ``prediction``). The
            average when there is one.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Another library than that of the table.
        """
        from paribus.results.tidy import effect_frame

        return effect_frame(self, kind, backend)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a versioned JSON file that `paribus.load` reads back bit for bit."""
        from paribus.results.storage import save

        save(self, path)

    def plot(self, *, ax: Any = None, output: str | int | None = None) -> Any:
        """Draw with matplotlib: curve over the data's support, surface, or individual curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        output : str or int, optional
            One output of several, by name or position. Needed for a surface with several.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from paribus.display.matplotlib import draw_effect

        return draw_effect(self, ax=ax, output=output)

    def __repr__(self) -> str:
        from paribus.results.story import effect_story

        return effect_story(self)

"""The same feature by several models, or in several slices of the data, on one axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from paribus._contracts import NOMINAL
from paribus.errors import InputError
from paribus.notes import Note
from paribus.results.curve_values import check_alike, check_same, curves_of
from paribus.results.difference import difference_of, differences_of
from paribus.results.effects import EffectMapping, Effects
from paribus.results.local_effect import LocalEffect, LocalEffects
from paribus.results.marginal import Marginal, Marginals
from paribus.results.mixins import PlotMixin
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.tidy import LongTable, table_of

if TYPE_CHECKING:
    from paribus.results.difference import Difference, Differences

Part: TypeAlias = PartialDependence | LocalEffect | Marginal
Parts: TypeAlias = Mapping[str, PartialDependence] | Mapping[str, LocalEffect] | Mapping[str, Marginal]
Several: TypeAlias = Mapping[str, Effects] | Mapping[str, LocalEffects] | Mapping[str, Marginals]

ONE = (PartialDependence, LocalEffect, Marginal)
MANY = (Effects, LocalEffects, Marginals)


@record
class Overlay(PlotMixin):
    """Results of one feature under names: of several models, or of several slices of the data.

    Attributes
    ----------
    parts : dict of str to PartialDependence, LocalEffect or Marginal
        The results, all of one type, in the order they were given. Each keeps its own axis.

    Notes
    -----
    The table of `to_frame` has the columns ``part`` and then those of the tables of the parts, empty where a
    part lacks one.
    """

    stored = "overlay"

    parts: dict[str, Part]

    def _check(self) -> None:
        check_parts(self.parts)

    @property
    def _first(self) -> Part:
        return next(iter(self.parts.values()))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Name of the feature."""
        return self._first.feature_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._first.output_names

    @property
    def strength(self) -> float:
        """The largest strength of a part; NaN if none has any."""
        known = [part.strength for part in self.parts.values() if not np.isnan(part.strength)]
        return max(known, default=float("nan"))

    @property
    def provenance(self) -> Provenance:
        """Provenance of the first part."""
        return self._first.provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats, each once, after the names of its parts if they are not all."""
        by_note: dict[Note, list[str]] = {}
        for name, part in self.parts.items():
            for note in dict.fromkeys(part.notes):
                by_note.setdefault(note, []).append(name)
        return tuple(
            note if len(names) == len(self.parts) else note.of(", ".join(names))
            for note, names in by_note.items()
        )

    def _tables(self) -> list[LongTable]:
        """Return the table of each part."""
        return [table_of(part, part=name) for name, part in self.parts.items()]

    def to_xarray(self) -> dict[str, Any]:
        """Return the arrays of each part, see there, under its name."""
        return {name: part.to_xarray() for name, part in self.parts.items()}

    def difference(
        self,
        part: str | None = None,
        *,
        reference: str | None = None,
        curve: str | None = None,
        independent: bool = False,
    ) -> Difference:
        r"""Return the difference of two parts, with its standard error.

        Parameters
        ----------
        part : str, optional
            The part to compare; with two parts the one that is not ``reference``.
        reference : str, optional
            The part it is compared with; the first by default.
        curve : {"predicted", "observed", "residual"}, optional
            Which average of `Marginal` to compare; the first available one by default.
        independent : bool
            Declare that the two are based on independent samples without common rows, such as two years. By
            default rows may overlap.

        Returns
        -------
        Difference
            On the common grid; ``errors`` and a note say how its standard error was computed.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 3.0], [3.0, 4.0]])
        >>> models = {"old": lambda X: X[:, 0], "new": lambda X: 2 * X[:, 0] + X[:, 1]}
        >>> found = {name: paribus.partial_dependence(f, X, 0, kind="both") for name, f in models.items()}
        >>> paribus.overlay(found).difference()
        Difference new minus old on x0: average at 4 points, 1 output (prediction)
          prediction: from 2.25 at x0 = 0 to 5.25 at x0 = 3
          prediction: largest 5.25 ± 0.75 at x0 = 3, 7 standard errors
          note: both are over the same rows: standard errors are those of the rows' own differences
        """
        return difference_of(self, part, reference, curve, independent)


@record
class Overlays(EffectMapping[Overlay]):
    """A mapping from a feature's name to its `Overlay`, strongest first by the strongest of its parts.

    The table of `to_frame` has the columns ``part`` and then those of the table of many effects: ``feature``,
    ``value`` (as text, None for missing ones), ``number`` (None for categories and dates), ``output`` and the
    numbers.

    Attributes
    ----------
    effects : tuple of Overlay
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    stored = "overlays"

    effects: tuple[Overlay, ...]

    def difference(
        self,
        part: str | None = None,
        *,
        reference: str | None = None,
        curve: str | None = None,
        independent: bool = False,
    ) -> Differences:
        """Return the difference of two parts for every feature, largest first.

        Parameters are those of `Overlay.difference`.
        """
        return differences_of(self, part, reference, curve, independent)


@overload
def overlay(results: Parts) -> Overlay: ...


@overload
def overlay(results: Several) -> Overlays: ...


def overlay(results: Any) -> Overlay | Overlays:
    """Overlay results of several models, or of several slices of the data.

    Parameters
    ----------
    results : mapping of str to result
        Two or more results of the same type by name: either one-way results of the same feature
        (`PartialDependence`, `LocalEffect`, `Marginal`), or mappings (`Effects`, `LocalEffects`,
        `Marginals`). They must have the same outputs on the same scale; models, rows and grids may differ.

    Returns
    -------
    Overlay or Overlays
        For one feature, or for every feature with a one-way effect in all results.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 3.0], [3.0, 3.0]])
    >>> predict = lambda X: X[:, 0] * X[:, 1]
    >>> early, late = (paribus.partial_dependence(predict, rows, 0) for rows in (X[:2], X[2:]))
    >>> paribus.overlay({"2019": early, "2020": late})
    Overlay of 2 parts on x0: PartialDependence, 1 output (prediction)
      2019: from 0 at x0 = 0 to 1 at x0 = 1
      2020: from 6 at x0 = 2 to 9 at x0 = 3
    """
    several = _checked(results)
    if isinstance(next(iter(several.values())), ONE):
        check_parts(several)
        return Overlay(several)
    features = dict.fromkeys(key for many in several.values() for key in many if isinstance(key, str))
    lacking = {name: [part for part, many in several.items() if name not in many] for name in features}
    everywhere = [name for name in features if not lacking[name]]
    if not everywhere:
        raise InputError(f"overlay() needs a one-way effect that all of {', '.join(map(repr, several))} have")
    skipped = tuple(f"{name} is not in {', '.join(parts)}" for name, parts in lacking.items() if parts)
    overlays = (overlay({part: many[name] for part, many in several.items()}) for name in everywhere)
    return Overlays(tuple(overlays), skipped)


def _checked(results: Any) -> dict[str, Any]:
    """Refuse what is not two or more results of one type under names."""
    if not isinstance(results, Mapping):
        raise InputError(f"overlay() takes a mapping from names to results, not a {type(results).__name__}")
    for name, part in results.items():
        if not isinstance(name, str):
            raise InputError(f"overlay() needs names that are text; {name!r} is not")
        if not isinstance(part, (*ONE, *MANY)):
            raise InputError(f"overlay() takes results such as PartialDependence; {name!r} is not one")
    if len(results) < 2:
        raise InputError(f"overlay() needs two results at least; there are {len(results)}")
    check_same(_quoted(results), "of another type", lambda part: type(part).__name__)
    return dict(results)


def check_parts(parts: Mapping[str, Any]) -> None:
    """Refuse curves that do not belong on one axis."""
    named = _quoted(_checked(parts))
    check_alike(named)
    check_same(named, "on another kind of axis", _axis)
    check_same(named, "an average of something else", lambda part: " and ".join(curves_of(part)[:2]))


def _quoted(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {repr(name): part for name, part in parts.items()}


def _axis(part: Part) -> str:
    kind = part.grid_values[0].dtype.kind
    return "categories" if part.kinds[0] in NOMINAL else {"M": "dates", "m": "durations"}.get(kind, "numbers")

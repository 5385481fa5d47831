"""Effects by feature, and comparisons of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar, overload

import numpy as np

from paribus._contracts import NOMINAL
from paribus._typing import FrameBackend
from paribus.errors import InputError, OptionError, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.comparison import (
    ESTIMANDS,
    PARTS,
    Comparison,
    Difference,
    Part,
    comparison_of,
    difference_of,
)
from paribus.results.contrasts import contrast_frame, default_contrasts
from paribus.results.curve_values import check_same, root_mean_square, strengths_of
from paribus.results.marginal import Marginal
from paribus.results.mixins import PlotMixin
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.storage import Saveable
from paribus.results.tidy import long_frame
from paribus.results.transforms import interaction

Key: TypeAlias = str | tuple[str, ...]
Effect: TypeAlias = PartialDependence | AccumulatedLocalEffect | Marginal | Comparison | Difference
E = TypeVar("E", bound=Effect)


def _order(effect: Any) -> tuple[bool, float]:
    """Return a key by which the strongest effect comes first, and one that is not finite last.

    A curve of a part of the data has no strength; its order is that of the deviation of its points.
    """
    size = effect.strength
    if math.isnan(size) and isinstance(effect, PartialDependence) and effect.average is not None:
        average = effect.average.reshape(len(effect.average), -1)
        size = root_mean_square(strengths_of(average, effect.support.ravel()))
    return math.isnan(size), -size


@record
class Effects(PlotMixin, Mapping[Key, E], Generic[E]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Effects are partial dependence (`PartialDependence`), accumulated local effects
    (`AccumulatedLocalEffect`), averages near values (`Marginal`), comparisons (`Comparison`) or differences
    (`Difference`), all of one type. Strength is a standard deviation over the data, in units of the
    prediction; for differences it is the largest one.

    The table of `to_frame` has the columns ``feature``, ``value`` (as text, None for the missing point),
    ``number`` (None for categories and dates), for effects of several features the same with ``_2``, ``_3``,
    ..., then ``output`` and the numbers of the table of one effect. For partial dependence these are
    ``average``, ``standard_error``, ``support``, ``between_models``, the standard deviation between models if
    there are several, and quantiles ``q10``, ``q25``, ... A table of comparisons begins with ``part``, or
    ``curve`` for several estimands.

    Attributes
    ----------
    effects : tuple
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    stored = "effects"

    effects: tuple[E, ...]
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        vars(self).update(effects=tuple(sorted(self.effects, key=_order)))
        super().__post_init__()

    def _check(self) -> None:
        if not self.effects or len(self) != len(self.effects):
            raise InputError("effects is empty, or two have the same name; pass each once")
        if len({type(effect) for effect in self.effects}) > 1:
            raise InputError("effects are of several types; pass effects of one type")

    @cached_property
    def _by_key(self) -> dict[Key, E]:
        return {
            names[0] if len(names) == 1 else names: effect
            for effect in self.effects
            for names in (effect.feature_names,)
        }

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy long table of all effects.

        The documentation of the class names the columns.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return long_frame(self, [table for effect in self.effects for table in effect._tables()], backend)

    @property
    def provenance(self) -> Provenance:
        """How the result was computed."""
        provenance: Provenance = self.effects[0].provenance
        return provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats over all effects, and which features were left out."""
        notes = (note for effect in self.values() for note in effect.notes)
        skipped = (NoteCode.FEATURE_SKIPPED.note(reason=reason) for reason in self.skipped)
        return tuple(dict.fromkeys((*skipped, *notes)))

    def __getitem__(self, key: Key) -> E:
        if key in self._by_key:
            return self._by_key[key]
        known = [k if isinstance(k, str) else " x ".join(k) for k in self]
        wanted = " x ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        raise KeyError(f"no effect of {wanted!r}{did_you_mean(wanted, known)}")

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Key]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def interaction(self, first: str, second: str) -> PartialDependence:
        r"""Return the interaction of two features: their joint effect minus the individual effects.

        .. math:: I_{jk}(x_j, x_k) = PD_{jk}(x_j, x_k) - PD_j(x_j) - PD_k(x_k) - c

        with :math:`c` such that its average over the data, weighted by ``support``, is zero. It is zero
        everywhere if the model is additive in the two features; its mean square over the rows is the
        numerator of Friedman and Popescu's H, see `h_statistic`. With individual curves (``kind="both"``) the
        standard error and the quantiles are those of the row-wise differences, and for several models each
        has its own. ``strength`` is the standard deviation of the interaction over the data.

        Parameters
        ----------
        first, second : str
            Names of the features, in any order. Their one-way effects and their joint effect must have been
            computed.

        Returns
        -------
        PartialDependence
            With the shapes of the joint effect; ``provenance.scale`` records that it is the interaction only.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
        >>> found = paribus.effects(lambda X: 5 * X[:, 0] + X[:, 0] * X[:, 1], X, [0, 1, (0, 1)])
        >>> found.interaction("x0", "x1").average[0]
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        if not all(isinstance(effect, PartialDependence) for effect in self.effects):
            raise InputError("interaction() needs effects of `paribus.effects`; these are of another type")
        return interaction(self, first, second)  # type: ignore[arg-type]

    def contrasts(
        self,
        values: Mapping[str, tuple[Any, Any]] | None = None,
        *,
        level: float = 0.95,
        backend: FrameBackend | None = None,
    ) -> Any:
        """Return the contrasts of many features as a table, see `PartialDependence.contrast`.

        Parameters
        ----------
        values : mapping of str to (value, value), optional
            The two values to compare for each feature, such as ``{"age": (30, 50)}``. By default, quartiles
            of all features, or each category and the most frequent one.
        level : float
            Probability with which the intervals cover the differences.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.

        Returns
        -------
        frame
            A row per contrast and output, with the columns ``feature``, ``contrast``, ``output``,
            ``estimate``, ``standard_error``, ``low`` and ``high``, the ends of the interval.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 6.0]])
        >>> found = paribus.effects(lambda X: X[:, 0] * X[:, 1], X)
        >>> found.contrasts({"x0": (30, 50), "x1": (1, 2)}, backend="pandas")["estimate"].tolist()
        [60.0, 40.0]
        """
        if values is None:
            pairs = [(one, *ends) for one in self._curves("contrasts") for ends in default_contrasts(one)]
        else:
            self._curves("contrasts")
            pairs = [(self[name], *ends) for name, ends in values.items()]
        if not pairs:
            raise OptionError("contrasts() needs a feature with two values at least")
        return contrast_frame([one.contrast(start, stop) for one, start, stop in pairs], level, backend)

    def slopes(self, *, level: float = 0.95, backend: FrameBackend | None = None) -> Any:
        """Return the slopes of all numeric features as a table, see `PartialDependence.slope`.

        Parameters
        ----------
        level : float
            Probability with which the intervals cover the slopes.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.

        Returns
        -------
        frame
            A row per feature and output, with the columns of `contrasts`.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 6.0]])
        >>> paribus.effects(lambda X: X[:, 0] * X[:, 1], X).slopes(backend="pandas")["estimate"].tolist()
        [40.0, 3.0]
        """
        found = [
            one.slope()
            for one in self._curves("slopes")
            if one.kinds[0] not in NOMINAL and len(np.unique(one.grid_values[0])) > 1
        ]
        if not found:
            raise OptionError("slopes() needs a numeric feature or a date with two values at least")
        return contrast_frame(found, level, backend)

    def _curves(self, call: str) -> list[Any]:
        """Return the effects of single features, for a ``call`` that needs curves with differences."""
        if not isinstance(self.effects[0], (PartialDependence, AccumulatedLocalEffect)):
            raise InputError(
                f"{call}() needs partial dependence or accumulated local effects; these are of another type"
            )
        return [one for one in self.effects if len(one.feature_names) == 1]

    def difference(
        self,
        part: str | None = None,
        *,
        reference: str | None = None,
        curve: str | None = None,
        independent: bool = False,
    ) -> Effects[Difference]:
        """Return the difference of two parts for every feature of comparisons, largest first.

        Parameters are those of `Comparison.difference`.
        """
        differences, skipped = [], []
        for name, one in self.items():
            if not isinstance(one, Comparison):
                raise InputError("difference() needs comparisons; pass effects by name to paribus.compare")
            try:
                differences.append(difference_of(one, part, reference, curve, independent))
            except OptionError:
                raise
            except InputError as error:
                skipped.append(f"{name}: {error}")
        if not differences:
            raise InputError(f"difference() has no feature to compare: {'; '.join(skipped[:3])}")
        return Effects(tuple(differences), (*self.skipped, *skipped))


@overload
def compare(results: Mapping[str, Part], /) -> Comparison: ...


@overload
def compare(results: Mapping[str, Effects[Any]], /) -> Effects[Comparison]: ...


@overload
def compare(effect: PartialDependence, /, *others: Part | None) -> Comparison: ...


@overload
def compare(effect: Effects[Any], /, *others: Effects[Any] | None) -> Effects[Comparison]: ...


def compare(*results: Any) -> Comparison | Effects[Comparison]:
    """Compare results of the same feature: of several models, slices of the data, or estimands.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> early, late = (paribus.partial_dependence(model, X[rows], "bmi") for rows in (y < 140, y >= 140))
    >>> list(paribus.compare({"low": early, "high": late}).parts)
    ['low', 'high']

    Parameters
    ----------
    *results : results, or one mapping of str to result
        Partial dependence, ALE and averages of the same model and rows; or a mapping from names to results of
        one type. Results are of one feature, or `Effects`.

    Returns
    -------
    Comparison or Effects
        For one feature, or for every feature with a one-way effect in all results of a mapping. Of several
        estimands, for every feature with a partial dependence; ``skipped`` lists those that others lack.

    Notes
    -----
    Results of a mapping may have different models, rows and grids, but must have the same outputs and scale.
    An estimand that is None is left out.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> predict = lambda X: X[:, 0] + X[:, 1]
    >>> effect = paribus.partial_dependence(predict, X, 0)
    >>> ale = paribus.accumulated_local_effects(predict, X, 0)["x0"]
    >>> float(paribus.compare(effect, ale).share[0].round(6))
    0.0

    Two slices of the data:

    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 3.0], [3.0, 3.0]])
    >>> predict = lambda X: X[:, 0] * X[:, 1]
    >>> early, late = (paribus.partial_dependence(predict, rows, 0) for rows in (X[:2], X[2:]))
    >>> paribus.compare({"2019": early, "2020": late})
    Comparison of 2 parts on x0: PartialDependence, 1 output (prediction)
      2019: from 0 at x0 = 0 to 1 at x0 = 1
      2020: from 6 at x0 = 2 to 9 at x0 = 3
    """
    named = len(results) == 1 and isinstance(results[0], Mapping) and not isinstance(results[0], Saveable)
    parts = _named_results(results[0]) if named else _estimands(results)
    if not isinstance(next(iter(parts.values())), Effects):
        return comparison_of(parts)
    features = dict.fromkeys(key for many in parts.values() for key in many if isinstance(key, str))
    lacking = {name: [part for part, many in parts.items() if name not in many] for name in features}
    needed = list(parts) if named else list(parts)[:1]
    everywhere = [name for name in features if not set(needed) & set(lacking[name])]
    if not everywhere:
        raise InputError(f"compare() needs a one-way effect that all of {', '.join(map(repr, needed))} have")
    skipped = [f"{name} is not in {', '.join(missing)}" for name, missing in lacking.items() if missing]
    compared = (
        comparison_of({part: many[name] for part, many in parts.items() if name in many})
        for name in everywhere
    )
    return Effects(tuple(compared), tuple(skipped))


def _named_results(results: Mapping[Any, Any]) -> dict[str, Any]:
    """Return two or more results of one type by name, or refuse others."""
    for name, part in results.items():
        if not isinstance(name, str):
            raise InputError(f"compare() needs names that are text; {name!r} is not")
        if not isinstance(part, (*PARTS, Effects)):
            raise InputError(f"compare() takes results such as PartialDependence; {name!r} is not one")
    if len(results) < 2:
        raise InputError(f"compare() needs two results at least; there are {len(results)}")
    check_same({repr(name): part for name, part in results.items()}, "of another type", _kind_of)
    return dict(results)


def _estimands(results: tuple[Any, ...]) -> dict[str, Any]:
    """Return results of different types by the abbreviation of their estimand, or refuse others."""
    parts: dict[str, Any] = {}
    for part in results:
        if part is None:
            continue
        if not isinstance(part, (*PARTS, Effects)):
            raise InputError(
                f"compare() takes results such as PartialDependence, not a {type(part).__name__}"
            )
        kind: Any = type(part.effects[0]) if isinstance(part, Effects) else type(part)
        name = ESTIMANDS.get(kind)
        if name is None or name in parts:
            raise InputError(
                "compare() takes one result of each type: PD, ALE and averages; pass a mapping from names to "
                "results for several models or slices of the data"
            )
        parts[name] = part
    if not parts:
        raise InputError("compare() needs results; pass partial dependence, ALE or averages of one feature")
    if "PD" not in parts:
        raise InputError("compare() compares others with partial dependence; pass that as well")
    if len({isinstance(part, Effects) for part in parts.values()}) > 1:
        raise InputError("compare() takes results of one feature, or Effects of many; these are both")
    return parts


def _kind_of(result: Any) -> str:
    if not isinstance(result, Effects):
        return type(result).__name__
    return f"Effects of {type(result.effects[0]).__name__}"

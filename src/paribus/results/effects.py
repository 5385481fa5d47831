"""Effects by feature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from paribus._typing import FrameBackend
from paribus.errors import InputError, OptionError, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.mixins import PlotMixin
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.tidy import long_frame
from paribus.results.transforms import interaction


def chosen(names: tuple[str, ...], output: str | int | None) -> list[int]:
    """Return the selected outputs: all of them, or one by name or position."""
    if output is None:
        return list(range(len(names)))
    if isinstance(output, str):
        if output not in names:
            raise OptionError(f"output={output!r} is not an output{did_you_mean(output, names)}")
        return [names.index(output)]
    if not 0 <= output < len(names):
        raise OptionError(f"output={output} is not one of the outputs 0 to {len(names) - 1}")
    return [int(output)]


Key: TypeAlias = str | tuple[str, ...]


E = TypeVar("E", bound=Any)  # a result that has a strength


@record
class EffectMapping(PlotMixin, Mapping[Key, E], Generic[E]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Attributes
    ----------
    effects : tuple
        The effects, in this order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    effects: tuple[E, ...]
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # An effect that is not finite has no strength, and stands last.
        ordered = sorted(self.effects, key=lambda e: (math.isnan(e.strength), -e.strength))
        vars(self).update(effects=tuple(ordered))
        super().__post_init__()

    def _check(self) -> None:
        if not self.effects or len(self) != len(self.effects):
            raise InputError("effects are none, or two have one name; pass each once")

    @cached_property
    def _by_key(self) -> dict[Key, E]:
        return {_key(effect.feature_names): effect for effect in self.effects}

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy long table of all effects.

        The documentation of the class names the columns.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return long_frame(self, [table for effect in self.effects for table in effect._tables()], backend)

    def to_xarray(self) -> dict[Key, Any]:
        """Return the arrays of each effect, see there, under its key."""
        return {key: effect.to_xarray() for key, effect in self.items()}

    @property
    def provenance(self) -> Provenance:
        """How the result was computed."""
        provenance: Provenance = self.effects[0].provenance
        return provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats over all effects, and which features were left out."""
        notes = (note for effect in self.values() for note in effect.notes)
        skipped = (Note(NoteCode.FEATURE_SKIPPED, reason) for reason in self.skipped)
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


def _key(names: tuple[str, ...]) -> Key:
    return names[0] if len(names) == 1 else names


@record
class Effects(EffectMapping[PartialDependence]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Strength is `PartialDependence.strength`: the standard deviation of the partial dependence over the
    data, in units of the prediction.

    The table of `to_frame` has the columns ``feature``, ``value`` (as text, None for the missing point),
    ``number`` (None for categories and dates), for effects of several features the same with ``_2``, ``_3``,
    ..., then ``output``, ``average``, ``standard_error``, ``support``, ``between_models``, the standard
    deviation between models if there are several, and ``q10``, ``q25``, ... of the spread.

    Attributes
    ----------
    effects : tuple of PartialDependence
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    stored = "effects"

    effects: tuple[PartialDependence, ...]

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
            With the shapes of the joint effect; ``provenance.scale`` says that it is the interaction only.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
        >>> found = paribus.effects(lambda X: 5 * X[:, 0] + X[:, 0] * X[:, 1], X, [0, 1, (0, 1)])
        >>> found.interaction("x0", "x1").average[0]
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        return interaction(self, first, second)

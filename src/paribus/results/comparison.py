"""Several estimands of the same feature side by side, and the distance between them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, overload

import numpy as np

from paribus._contracts import NOMINAL, Floats
from paribus._text import at_point, number
from paribus.errors import InputError
from paribus.notes import Note, NoteCode
from paribus.results.curve_parts import ROUNDING
from paribus.results.curve_values import at_values, check_alike, check_same, curves_of, neighbor_range
from paribus.results.effects import EffectMapping, Effects
from paribus.results.local_effect import LocalEffect, LocalEffects
from paribus.results.marginal import Marginal, Marginals
from paribus.results.mixins import PlotMixin
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import array, record
from paribus.results.tidy import LongTable, table_of

NOTE_SHARE = 0.05  # of the range: a larger difference is reported in a note, if errors do not account for it


@record
class Comparison(PlotMixin):
    """Partial dependence, accumulated local effects and averages of one feature, side by side.

    Partial dependence sets the feature to a value in all rows; accumulated local effects move rows within
    their bin only; averages near a value change no row and therefore include the effects of dependent
    features. If features are independent and the model is additive, the first two curves coincide.

    Attributes
    ----------
    effect : PartialDependence
    local : LocalEffect or None
    marginal : Marginal or None
    local_offset : ndarray of shape (n_outputs,) or None
        Constant added to the ALE curve, whose average is zero, to align it with the partial dependence: the
        mean distance of the two over the data on the grid of the latter.
    difference : ndarray of shape (n_outputs,) or None
        Largest distance between the aligned curves, in units of the prediction. Within a bin, ALE is known
        to lie between the values at its edges only, and the distance is that from this range.
    share : ndarray of shape (n_outputs,) or None
        That distance relative to the range of both curves.
    at : tuple or None
        The value at which it is attained, for each output.
    notes : tuple of Note
        Caveats over all parts, and by how much they differ.

    Notes
    -----
    The table of `to_frame` has the columns ``curve`` (``"partial dependence"``, ``"local effect"``, laid on
    it, ``"predicted"`` or ``"observed"``), ``output``, the feature, ``height`` and ``error``.
    """

    stored = "comparison"

    effect: PartialDependence
    local: LocalEffect | None
    marginal: Marginal | None
    local_offset: Floats | None = array("output")
    difference: Floats | None = array("output")
    share: Floats | None = array("output")
    at: tuple[Any, ...] | None = array("output")
    notes: tuple[Note, ...]

    def _check(self) -> None:
        """Refuse parts that `compare` would refuse."""
        check_parts(self.effect, self.local, self.marginal)
        values = (self.local_offset, self.difference, self.share, self.at)
        if any((one is None) != (self.local is None) for one in values):
            raise InputError("local and the distances from it need each other; pass all or none")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Name of the feature."""
        return self.effect.feature_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.effect.output_names

    @property
    def strength(self) -> float:
        """Strength of the partial dependence."""
        return self.effect.strength

    @property
    def provenance(self) -> Provenance:
        """Provenance of the partial dependence."""
        return self.effect.provenance

    def _tables(self) -> list[LongTable]:
        """Return a table of each curve."""
        effect, local, marginal = self.effect, self.local, self.marginal
        curves: dict[str, tuple[Any, ...]] = {
            "partial dependence": (effect, effect.average, effect.standard_error)
        }
        if local is not None and self.local_offset is not None:
            curves["local effect"] = local, local.ale + self.local_offset[:, None], local.standard_error
        for name in ("predicted", "observed"):
            if marginal is not None and name in marginal:
                curves[name] = marginal, marginal[name], marginal[f"{name}_error"]
        return [
            table_of(part, {"height": height, "error": error}, curve=name)
            for name, (part, height, error) in curves.items()
        ]

    def to_xarray(self) -> dict[str, Any]:
        """Return the arrays of each part, see there, under its name."""
        parts = {"effect": self.effect, "local": self.local, "marginal": self.marginal}
        return {name: part.to_xarray() for name, part in parts.items() if part is not None}


@record
class Comparisons(EffectMapping[Comparison]):
    """A mapping from a feature's name to its `Comparison`, strongest effect first.

    The table of `to_frame` has the columns ``curve``, ``feature``, ``value`` (as text), ``number`` (None for
    categories and dates), ``output``, ``height`` and ``error``.

    Attributes
    ----------
    effects : tuple of Comparison
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    stored = "comparisons"

    effects: tuple[Comparison, ...]


@overload
def compare(
    effect: PartialDependence, local: LocalEffect | None = None, marginal: Marginal | None = None
) -> Comparison: ...


@overload
def compare(
    effect: Effects, local: LocalEffects | None = None, marginal: Marginals | None = None
) -> Comparisons: ...


def compare(effect: Any, local: Any = None, marginal: Any = None) -> Comparison | Comparisons:
    """Compare partial dependence, accumulated local effects and averages of the same feature.

    Parameters
    ----------
    effect : PartialDependence or Effects
        Result of `partial_dependence` or `effects`.
    local : LocalEffect or LocalEffects, optional
        Result of `accumulated_local_effects` for the same model and rows.
    marginal : Marginal or Marginals, optional
        Result of `marginal` for the same model and rows.

    Returns
    -------
    Comparison or Comparisons
        For one feature, or for every one-way effect in ``effect``.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> predict = lambda X: X[:, 0] + X[:, 1]
    >>> effect = paribus.partial_dependence(predict, X, 0)
    >>> local = paribus.accumulated_local_effects(predict, X, 0)["x0"]
    >>> float(paribus.compare(effect, local).share[0].round(6))
    0.0
    """
    if not isinstance(effect, Effects):
        check_parts(effect, local, marginal)
        return _compared(effect, local, marginal)
    _given((Effects, LocalEffects, Marginals), effect, local, marginal)
    several = tuple(
        compare(one, *(None if many is None else many.get(key) for many in (local, marginal)))
        for key, one in effect.items()
        if isinstance(key, str)
    )
    if not several:
        raise InputError(
            "effect= has no effect of a single feature to compare; request one feature at a time"
        )
    return Comparisons(several)


def _given(kinds: tuple[type, ...], *results: Any) -> dict[str, Any]:
    """Return the results that are given by their arguments; refuse what is of another type."""
    given: dict[str, Any] = {}
    for name, kind, result in zip(("effect=", "local=", "marginal="), kinds, results, strict=True):
        if result is not None or not given:  # the first is needed
            given[name] = result
            if not isinstance(result, kind):
                raise InputError(f"{name} must be a {kind.__name__}, not a {type(result).__name__}")
    return given


def check_parts(effect: Any, local: Any, marginal: Any) -> None:
    """Refuse what is not about the same feature, rows and model."""
    parts = _given((PartialDependence, LocalEffect, Marginal), effect, local, marginal)
    check_alike(parts)
    # A fingerprint reveals other values of y as well, which partial dependence does not know.
    unseen = {name: part for name, part in parts.items() if "observed" not in part}
    rows, fingerprint = "over other rows or weights", attrgetter("provenance.fingerprint")
    check_same(parts, rows, attrgetter("provenance.rows", "provenance.weights"), _background)
    check_same(unseen, f"{rows}, by its fingerprint", fingerprint)
    predicted = {name: part for name, part in parts.items() if curves_of(part)[0] != "observed"}
    digest, model = attrgetter("provenance.model_digest"), attrgetter("provenance.model")
    check_same(predicted, "of another model, by its model_digest", digest, model)


def _background(part: Any) -> Any:
    return part.provenance.background()


def _compared(effect: PartialDependence, local: LocalEffect | None, marginal: Marginal | None) -> Comparison:
    far = None if effect.extrapolation is None else effect.extrapolation.note("curve")
    notes = [] if far is None else [far]  # the two that matter most come first
    distance: dict[str, Any] = dict.fromkeys(("local_offset", "difference", "share", "at"))
    if local is not None:
        distance, different = _apart(effect, local)
        notes += different
    notes += [note for part in (effect, local) if part is not None for note in part.notes]
    if marginal is not None:
        # The effect reports missing values already.
        notes += [note for note in marginal.notes if note.code is not NoteCode.MISSING_VALUES]
    return Comparison(effect, local, marginal, **distance, notes=tuple(dict.fromkeys(notes)))


def _apart(effect: PartialDependence, local: LocalEffect) -> tuple[dict[str, Any], list[Note]]:
    """Lay local effects on the partial dependence, and find where they are furthest from it.

    A note reports what is more than two standard errors of both.
    """
    assert effect.average is not None
    outputs, nominal = len(effect.output_names), effect.kinds[0] in NOMINAL
    own, wanted = local.grid_values[0], effect.grid_values[0]
    other, known = at_values(own, wanted, local.ale, nominal)
    average, weights, values = effect.average[:, known], effect.support[known], wanted[known]
    if not known.any():
        names = ("local_offset", "difference", "share")
        return {**{name: np.full(outputs, np.nan) for name in names}, "at": (None,) * outputs}, []
    if not weights.any():
        weights = np.ones(len(weights))
    offset = ((average - other) * weights).sum(axis=1) / weights.sum()
    laid = other + offset[:, None]
    low, high = neighbor_range(own, wanted, local.ale, nominal)
    apart = np.maximum(0.0, np.maximum(low + offset[:, None] - average, average - high - offset[:, None]))
    largest, difference = apart.argmax(axis=1), apart.max(axis=1)
    range_ = np.ptp(np.concatenate([average, laid], axis=1), axis=1)
    moves = range_ > ROUNDING * np.abs(average).max(axis=1)  # else it is rounding
    share = np.divide(difference, range_, out=np.zeros(outputs), where=moves)
    errors = np.nan_to_num(at_values(own, wanted, local.standard_error, nominal)[0])
    if effect.standard_error is not None:
        errors = errors + np.nan_to_num(effect.standard_error[:, known])
    beyond = difference > 2 * errors[np.arange(outputs), largest]
    found = {"local_offset": offset, "difference": difference, "share": share}
    found["at"] = tuple(values[g] for g in largest)
    relative = np.nan_to_num(np.where(beyond, share, 0.0))
    worst = int(np.argmax(relative))
    if relative[worst] < NOTE_SHARE:
        return found, []
    size, of = difference[worst], f" ({effect.output_names[worst]})" * (outputs > 1)
    where = at_point(effect.feature_names, (values,), (largest[worst],))
    share_of_range = f"{relative[worst]:.0%} of the range{of}"
    text = (
        f"ALE differs from PD by up to {number(float(size))}, {share_of_range}, at {where}; features that "
        "depend on each other, or interactions, can cause this"
    )
    return found, [Note(NoteCode.ALE_DIFFERS, text, effect.feature_names[0], size)]

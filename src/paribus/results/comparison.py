"""Several estimands of the same feature side by side, and the distance between them."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from paribus._contracts import NOMINAL, Flags, Floats
from paribus._text import at_value, number
from paribus.errors import InputError
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import at_values
from paribus.results.effect_mapping import EffectMapping
from paribus.results.effects import Effects
from paribus.results.local_effect import LocalEffect, LocalEffects
from paribus.results.marginal import Marginal, Marginals
from paribus.results.partial_dependence import PartialDependence
from paribus.results.plot_mixin import PlotMixin
from paribus.results.provenance import Provenance
from paribus.results.repr_text import format_comparison, format_comparisons
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
        Largest distance between the aligned curves, in units of the prediction.
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

    def __repr__(self) -> str:
        return format_comparison(self)


@record
class Comparisons(EffectMapping[Comparison]):
    """A mapping from a feature's name to its `Comparison`, strongest effect first.

    The table of `to_frame` has the columns ``curve``, ``feature``, ``value`` (as text), ``number`` (None for
    categories and dates), ``output``, ``height`` and ``error``.
    """

    stored = "comparisons"

    effects: tuple[Comparison, ...]

    def __repr__(self) -> str:
        return format_comparisons(self)


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
    if isinstance(effect, Effects):
        several = [
            compare(one, _own(local, LocalEffects, key), _own(marginal, Marginals, key))
            for key, one in effect.items()
            if isinstance(key, str)
        ]
        if not several:
            raise InputError(
                "effect= has no effect of a single feature to compare; request one feature at a time"
            )
        return Comparisons(tuple(several))
    check_parts(effect, local, marginal)
    return _compared(effect, local, marginal)


def check_parts(effect: Any, local: Any, marginal: Any) -> None:
    """Refuse what is not about the same feature, rows and model."""
    _check(effect, PartialDependence, "effect")
    for other, kind, name in ((local, LocalEffect, "local"), (marginal, Marginal, "marginal")):
        if other is not None:
            _check(other, kind, name)
            _check_alike(effect, other, name)


def _own(results: Any, kind: type[EffectMapping[Any]], key: str) -> Any:
    """Return the part of a mapping that is about a feature."""
    if results is None:
        return None
    _check(results, kind, "local" if kind is LocalEffects else "marginal")
    return results.get(key)


def _check(result: Any, kind: type, name: str) -> None:
    if not isinstance(result, kind):
        raise InputError(f"{name}= must be a {kind.__name__}, not a {type(result).__name__}")
    if isinstance(result, PartialDependence) and (result.average is None or len(result.feature_names) != 1):
        what = "individual curves" if result.average is None else "an average"
        raise InputError(
            f"effect= must be the average of a single feature, not {what} of "
            f"{' x '.join(result.feature_names)}; request one feature, and kind='average'"
        )


def _check_alike(effect: PartialDependence, other: LocalEffect | Marginal, name: str) -> None:
    """Refuse what is about another feature, other rows or another scale."""
    one, two = effect.provenance, other.provenance
    if other.feature_names != effect.feature_names:
        raise InputError(f"{name}= is about {other.feature_names}, effect= about {effect.feature_names}")
    if other.output_names != effect.output_names or (one.scale != two.scale):
        raise InputError(
            f"{name}= and effect= have other outputs, or another scale ({two.scale}, {one.scale})"
        )
    if one.rows != two.rows:
        raise InputError(f"{name}= is over {two.rows:,} rows and effect= over {one.rows:,}; compare the same")
    # A fingerprint reveals other values of y as well, which partial dependence does not know.
    if one.weights != two.weights or (
        one.fingerprint != two.fingerprint and not (isinstance(other, Marginal) and "observed" in other)
    ):
        raise InputError(f"{name}= and effect= are over other rows or weights; compare the same")
    predicted = isinstance(other, LocalEffect) or "predicted" in other
    if predicted and one.model_digest != two.model_digest:
        raise InputError(
            f"{name}= is of {two.model} and effect= of {one.model}, which are different models by their "
            "model_digest; compare the same model"
        )


def _compared(effect: PartialDependence, local: LocalEffect | None, marginal: Marginal | None) -> Comparison:
    notes = [note for part in (effect, local) if part is not None for note in part.notes]
    if marginal is not None:
        # The effect reports missing values already.
        notes += [note for note in marginal.notes if note.code is not NoteCode.MISSING_VALUES]
    offset = difference = share = at = None
    if local is not None:
        offset, difference, share, at, beyond = _apart(effect, local)
        notes = [*_difference_notes(effect, difference, np.where(beyond, share, 0.0), at), *notes]
    far = effect.extrapolation.note("curve") if effect.extrapolation is not None else None
    notes = [*([far] if far else []), *notes]  # the two that matter most come first
    return Comparison(effect, local, marginal, offset, difference, share, at, tuple(dict.fromkeys(notes)))


def _apart(
    effect: PartialDependence, local: LocalEffect
) -> tuple[Floats, Floats, Floats, tuple[Any, ...], Flags]:
    """Lay local effects on the partial dependence, and find where they are furthest from it.

    The last says for which outputs that is more than two standard errors of both.
    """
    assert effect.average is not None
    nominal = effect.kinds[0] in NOMINAL
    own, wanted = local.grid_values[0], effect.grid_values[0]
    other, known = at_values(own, wanted, local.ale, nominal)
    average, weights = effect.average[:, known], effect.support[known]
    outputs = len(effect.output_names)
    if not known.any():
        none = np.full(outputs, np.nan)
        return none, none.copy(), none.copy(), (None,) * outputs, np.zeros(outputs, bool)
    if not weights.any():
        weights = np.ones(len(weights))
    offset = ((average - other) * weights).sum(axis=1) / weights.sum()
    laid = other + offset[:, None]
    apart = np.abs(average - laid)
    largest = apart.argmax(axis=1)
    difference = apart.max(axis=1)
    both = np.concatenate([average, laid], axis=1)
    range_ = np.ptp(both, axis=1)
    share = np.divide(difference, range_, out=np.zeros(outputs), where=range_ > 0)
    values = effect.grid_values[0][known]
    errors = np.nan_to_num(at_values(own, wanted, local.standard_error, nominal)[0])
    if effect.standard_error is not None:
        errors = errors + np.nan_to_num(effect.standard_error[:, known])
    beyond = difference > 2 * errors[np.arange(outputs), largest]
    return offset, difference, share, tuple(values[g] for g in largest), beyond


def _difference_notes(
    effect: PartialDependence, difference: Floats, share: Floats, at: tuple[Any, ...]
) -> list[Note]:
    known = np.nan_to_num(share)
    worst = int(np.argmax(known))
    if known[worst] < NOTE_SHARE:
        return []
    of = f" ({effect.output_names[worst]})" if len(effect.output_names) > 1 else ""
    name = effect.feature_names[0]
    text = (
        f"ALE differs from PD by up to {number(float(difference[worst]))}, {known[worst]:.0%} of the range"
        f"{of}, at {name} = {at_value(at[worst])}"
    )
    return [Note(NoteCode.ALE_DIFFERS, text, name, difference[worst])]

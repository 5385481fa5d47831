"""What one model, or one slice of the data, has beyond another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Kind
from paribus._typing import ErrorBasis
from paribus.errors import InputError, OptionError, check_choice, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import at_values, shared_values
from paribus.results.effect_mapping import EffectMapping
from paribus.results.local_effect import LocalEffect
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.repr_text import format_difference, format_differences
from paribus.results.result import Result
from paribus.results.schema import array, labels, record
from paribus.results.transforms import moments_of

if TYPE_CHECKING:
    from paribus.results.overlay import Overlay, Overlays, Part


@record
class Difference(Result):
    r"""Difference of two parts of an overlay, on their common grid.

    With the two curves :math:`A(x)` and :math:`B(x)` and their standard errors :math:`s_A` and :math:`s_B`

    .. math:: D(x) = A(x) - B(x)

    and ``errors`` says how the standard error of D was computed. If the results may share rows it is at most
    :math:`s_A + s_B`. For the same rows with individual curves (``kind="both"``) it is that of the mean of
    the row-wise differences. For independent samples, which only the caller can declare, it is
    :math:`\sqrt{s_A^2 + s_B^2}`.

    Attributes
    ----------
    part, reference : str
        Names of the two: the difference is the first minus the second.
    curve : str
        What is compared: ``"average"`` of partial dependence, ``"ale"`` of local effects, ``"predicted"``,
        ``"observed"`` or ``"residual"`` of averages near a value.
    grid_values : tuple of one ndarray of shape (g,)
        For numeric features and dates, the union of both grids within their common range; curves are
        interpolated linearly, and so are standard errors, which is an upper bound. For categorical features,
        the common categories.
    difference, standard_error : ndarray of shape (n_outputs, g)
        The difference and its standard error; NaN where one of the two is unknown.
    missing_difference, missing_error : ndarray of shape (n_outputs,) or None
        The same at a missing value, if both have that point.
    errors : {"upper bound", "row by row", "independent"}
        How the standard error was computed; ``"independent"`` if ``independent=True`` was passed.
    feature_names, output_names, kinds, ordered
        As in the two parts.
    notes : tuple of Note
        Caveats about the standard errors and the grid.
    provenances : dict of str to Provenance
        Provenance of the two, by name.

    Notes
    -----
    The table of `to_frame` has the columns ``output``, the feature, ``difference`` and ``standard_error``.
    The effect at a missing value is the row with a null feature.
    """

    stored = "difference"

    part: str
    reference: str
    curve: str
    feature_names: tuple[str, ...] = array(1)
    output_names: tuple[str, ...] = labels("output")
    kinds: tuple[Kind, ...] = array(1)
    ordered: tuple[bool, ...] = array(1)
    grid_values: tuple[Array, ...] = array(1)
    difference: Floats = array("output", "grid")
    standard_error: Floats = array("output", "grid")
    missing_difference: Floats | None = array("output", optional=True)
    missing_error: Floats | None = array("output", optional=True)
    errors: ErrorBasis
    notes: tuple[Note, ...]
    provenances: dict[str, Provenance]

    def _check(self) -> None:
        if set(self.provenances) != {self.part, self.reference} or len(self.provenances) != 2:
            raise InputError("provenances are of other parts; pass those of part and reference")
        if (self.missing_difference is None) != (self.missing_error is None):
            raise InputError("missing_difference and missing_error need each other; pass both or none")

    @property
    def provenance(self) -> Provenance:
        """Provenance of the part."""
        return self.provenances[self.part]

    @property
    def strength(self) -> float:
        """Largest absolute difference; NaN if none is known."""
        known = np.abs(self.difference[np.isfinite(self.difference)])
        return float(known.max()) if known.size else float("nan")

    def _at_missing(self) -> dict[str, Any]:
        if self.missing_difference is None:
            return {}
        return {"difference": self.missing_difference, "standard_error": self.missing_error}

    def __repr__(self) -> str:
        return format_difference(self)


@record
class Differences(EffectMapping[Difference]):
    """A mapping from a feature's name to the `Difference` of two parts there, the largest first.

    The table of `to_frame` has the columns ``feature``, ``value`` (as text, None for the missing one),
    ``number`` (None for categories and dates), ``output``, ``difference`` and ``standard_error``.
    """

    stored = "differences"

    effects: tuple[Difference, ...]

    def __repr__(self) -> str:
        return format_differences(self)


def difference_of(
    overlay: Overlay, part: str | None, reference: str | None, curve: str | None, independent: bool
) -> Difference:
    """Return one part of an overlay less another."""
    part, reference = _names(tuple(overlay.parts), part, reference)
    one, other = overlay.parts[part], overlay.parts[reference]
    same_rows = one.provenance.fingerprint == other.provenance.fingerprint
    if not isinstance(independent, bool):
        raise OptionError(f"independent={independent!r} must be True or False")
    if independent and same_rows:
        raise OptionError(f"independent=True, but {part!r} and {reference!r} are over the same rows; omit it")
    grids, nominal = (one.grid_values[0], other.grid_values[0]), one.kinds[0] in NOMINAL
    values = shared_values(*grids, nominal)
    if not len(values):
        raise InputError(
            f"{part!r} and {reference!r} have no value of {overlay.feature_names[0]} in common; compute both "
            "at the same custom_values"
        )
    curve = _curve(one, curve)
    last = one.missing is not None and other.missing is not None
    basis = _basis(one, other, same_rows, independent)
    error = _error(one, other, curve, values, last, basis)
    with np.errstate(invalid="ignore"):  # infinities of both
        apart = _at(one, curve, values, last) - _at(other, curve, values, last)
    between = not nominal and not all(np.isin(values, grid).all() for grid in grids)
    return Difference(
        part,
        reference,
        curve,
        one.feature_names,
        one.output_names,
        one.kinds,
        (not nominal if isinstance(one, LocalEffect) else one.ordered[0],),
        (values,),
        apart[:, : len(values)].copy(),
        error[:, : len(values)].copy(),
        apart[:, -1].copy() if last else None,
        error[:, -1].copy() if last else None,
        basis,
        _notes((one, other), basis, same_rows, between),
        {part: one.provenance, reference: other.provenance},
    )


def differences_of(
    overlays: Overlays, part: str | None, reference: str | None, curve: str | None, independent: bool
) -> Differences:
    """Return one part less another, for every feature at which both are known."""
    differences, skipped = [], []
    for name, overlay in overlays.items():
        try:
            differences.append(difference_of(overlay, part, reference, curve, independent))
        except OptionError:
            raise
        except InputError as error:
            skipped.append(f"{name}: {error}")
    if not differences:
        raise InputError(f"difference() has no feature to compare: {'; '.join(skipped[:3])}")
    return Differences(tuple(differences), (*overlays.skipped, *skipped))


def _names(names: tuple[str, ...], part: str | None, reference: str | None) -> tuple[str, str]:
    """Return the part and what it is compared with: of two, the second less the first."""
    for argument, name in (("part", part), ("reference", reference)):
        if name is not None and name not in names:
            raise OptionError(f"{argument}={name!r} is not a part{did_you_mean(str(name), names)}")
    reference = reference or next(name for name in names if name != part)
    others = [name for name in names if name != reference]
    if part is None and len(others) > 1:
        raise OptionError(f"difference() compares two of {len(names)} parts; pass part= one of {others}")
    part = part or others[0]
    if part == reference:
        raise OptionError(f"part={part!r} and reference={reference!r} are the same; name two")
    return part, reference


def _curve(part: Part, curve: str | None) -> str:
    if isinstance(part, Marginal):
        known = tuple(name for name in ("predicted", "observed", "residual") if name in part)
    else:
        known = ("ale",) if isinstance(part, LocalEffect) else ("average",)
    if curve is not None:
        check_choice("curve", curve, known)
    return curve or known[0]


def _at(part: Part, name: str, values: Array, last: bool) -> Floats:
    """Return curves ``(..., g)`` of a part at shared values, the missing one last if both have it."""
    curves = getattr(part, name)
    curves = np.full((len(part.output_names), len(part.grid_values[0])), np.nan) if curves is None else curves
    result, _ = at_values(part.grid_values[0], values, curves, part.kinds[0] in NOMINAL)
    if not last:
        return result
    point = getattr(part.missing, name)
    point = np.full(result.shape[:-1], np.nan) if point is None else point
    return np.concatenate([result, point[..., None]], axis=-1)


def _basis(one: Part, other: Part, same_rows: bool, independent: bool) -> ErrorBasis:
    """Return how the standard error is found.

    Other fingerprints do not show other rows: those of some columns of a table, of its rows in another order
    or of a slice of it are other ones, too.
    """
    if independent:
        return "independent"
    exact = same_rows and all(_in_order(part) and "individual" in part for part in (one, other))
    return "row by row" if exact else "upper bound"


def _error(one: Part, other: Part, curve: str, values: Array, last: bool, basis: ErrorBasis) -> Floats:
    """Return the standard error of a difference."""
    if basis == "row by row":
        assert isinstance(one, PartialDependence)
        with np.errstate(invalid="ignore"):
            apart = _at(one, "individual", values, last) - _at(other, "individual", values, last)
        return moments_of(apart, one.row_weights).standard_error()
    name = f"{curve}_error" if isinstance(one, Marginal) else "standard_error"
    first, second = (_at(part, name, values, last) for part in (one, other))
    return np.hypot(first, second) if basis == "independent" else first + second


def _in_order(part: Part) -> bool:
    """Return whether rows are in memory and the model is one: ``kind="both"`` has curves in their order."""
    return isinstance(part, PartialDependence) and part.by_model is None and part.provenance.source is None


def _notes(parts: tuple[Part, Part], basis: ErrorBasis, same_rows: bool, between: bool) -> tuple[Note, ...]:
    rows, remedy = "rows may be in both", "; pass independent=True if these are independent samples"
    if same_rows:
        rows = "both are over the same rows"
        remedy = "; kind='both' gives the exact ones" if all(map(_in_order, parts)) else ""
    notes = {
        "independent": "standard errors are those of independent samples, as independent=True states; they "
        "do not hold if rows are in both",
        "upper bound": f"{rows}: standard errors are the sum of theirs, an upper bound{remedy}",
        "row by row": f"{rows}: standard errors are those of the rows' own differences",
    }
    lines = "the grids of the two differ: between its own grid values a curve is a straight line"
    found = Note(NoteCode.ERROR_BASIS, notes[basis])
    return (found, Note(NoteCode.INTERPOLATED, lines)) if between else (found,)

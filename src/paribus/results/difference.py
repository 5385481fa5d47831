"""What one model, or one slice of the data, has beyond another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Kind
from paribus._typing import ErrorBasis
from paribus.errors import InputError, OptionError, check_choice, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import at_values, curves_of, shared_values
from paribus.results.effects import EffectMapping
from paribus.results.local_effect import LocalEffect
from paribus.results.marginal import Marginal
from paribus.results.mixins import Result
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import array, labels, record
from paribus.results.transforms import moments_of

if TYPE_CHECKING:
    from paribus.results.overlay import Overlay, Overlays, Part

INDEPENDENT = (
    "standard errors are those of independent samples, as independent=True states; they do not hold if rows "
    "are in both"
)


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


@record
class Differences(EffectMapping[Difference]):
    """A mapping from a feature's name to the `Difference` of two parts there, the largest first.

    The table of `to_frame` has the columns ``feature``, ``value`` (as text, None for the missing one),
    ``number`` (None for categories and dates), ``output``, ``difference`` and ``standard_error``.

    Attributes
    ----------
    effects : tuple of Difference
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    stored = "differences"

    effects: tuple[Difference, ...]


def difference_of(
    overlay: Overlay, part: str | None, reference: str | None, curve: str | None, independent: bool
) -> Difference:
    """Return one part of an overlay less another."""
    part, reference = _names(tuple(overlay.parts), part, reference)
    one, other = pair = overlay.parts[part], overlay.parts[reference]
    basis, reason = _basis(pair, (part, reference), independent)
    grids, nominal = (one.grid_values[0], other.grid_values[0]), one.kinds[0] in NOMINAL
    values = shared_values(*grids, nominal)
    if not len(values):
        raise InputError(
            f"{part!r} and {reference!r} have no value of {overlay.feature_names[0]} in common; compute both "
            "at the same custom_values"
        )
    if curve is not None:
        check_choice("curve", curve, curves_of(one))
    curve = curve or curves_of(one)[0]
    last = one.missing is not None and other.missing is not None
    apart = _apart(pair, curve, values, last)
    if isinstance(one, PartialDependence) and basis == "row by row":
        error = moments_of(_apart(pair, "individual", values, last), one.row_weights).standard_error()
    else:
        name = f"{curve}_error" if isinstance(one, Marginal) else "standard_error"
        first, second = (_at(one, name, values, last) for one in pair)
        error = np.hypot(first, second) if basis == "independent" else first + second
    notes = [Note(NoteCode.ERROR_BASIS, reason)]
    if not nominal and not all(np.isin(values, grid).all() for grid in grids):
        lines = "the grids of the two differ: between its own grid values a curve is a straight line"
        notes.append(Note(NoteCode.INTERPOLATED, lines))
    return Difference(
        part=part,
        reference=reference,
        curve=curve,
        feature_names=one.feature_names,
        output_names=one.output_names,
        kinds=one.kinds,
        ordered=(not nominal,) if isinstance(one, LocalEffect) else one.ordered,
        grid_values=(values,),
        difference=apart[:, : len(values)].copy(),
        standard_error=error[:, : len(values)].copy(),
        missing_difference=apart[:, -1].copy() if last else None,
        missing_error=error[:, -1].copy() if last else None,
        errors=basis,
        notes=tuple(notes),
        provenances={part: one.provenance, reference: other.provenance},
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


def _at(part: Part, name: str, values: Array, last: bool) -> Floats:
    """Return curves ``(..., g)`` of a part at shared values, the missing one last if both have it."""
    curves, size = getattr(part, name), (len(part.output_names), len(part.grid_values[0]))
    curves = np.full(size, np.nan) if curves is None else curves
    result, _ = at_values(part.grid_values[0], values, curves, part.kinds[0] in NOMINAL)
    if not last:
        return result
    point = getattr(part.missing, name)
    point = np.full(result.shape[:-1], np.nan) if point is None else point
    return np.concatenate([result, point[..., None]], axis=-1)


def _apart(pair: tuple[Part, Part], name: str, values: Array, last: bool) -> Floats:
    one, other = (_at(part, name, values, last) for part in pair)
    with np.errstate(invalid="ignore"):  # infinities of both
        return one - other


def _basis(pair: tuple[Part, Part], names: tuple[str, str], independent: bool) -> tuple[ErrorBasis, str]:
    """Return how the standard error is found, and the reason.

    Other fingerprints do not show other rows: those of some columns of a table, of its rows in another order
    or of a slice of it are other ones, too.
    """
    same_rows = len({part.provenance.fingerprint for part in pair}) == 1
    if not isinstance(independent, bool):
        raise OptionError(f"independent={independent!r} must be True or False")
    if independent and same_rows:
        both = " and ".join(map(repr, names))
        raise OptionError(f"independent=True, but {both} are over the same rows; omit it")
    if independent:
        return "independent", INDEPENDENT
    # Curves are in the order of the rows if these are in memory, and the model is one.
    in_order = all(
        isinstance(part, PartialDependence) and part.by_model is None and part.provenance.source is None
        for part in pair
    )
    rows, remedy = "rows may be in both", "; pass independent=True if these are independent samples"
    if same_rows:
        rows, remedy = "both are over the same rows", "; kind='both' gives the exact ones" * in_order
        if in_order and all("individual" in part for part in pair):
            return "row by row", f"{rows}: standard errors are those of the rows' own differences"
    return "upper bound", f"{rows}: standard errors are the sum of theirs, an upper bound{remedy}"

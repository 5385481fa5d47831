"""Curves of one feature side by side: of several models, rows or estimands, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Kind
from paribus._typing import ErrorBasis
from paribus.errors import InputError, OptionError, check_choice, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.curve_parts import ROUNDING
from paribus.results.curve_values import (
    SharedPoints,
    axis_kind,
    check_alike,
    check_independent,
    check_same,
    combined_error,
    common_values,
    curves_of,
    least_difference,
    shared_values,
)
from paribus.results.marginal import Marginal
from paribus.results.mixins import PlotMixin, Result
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import array, labels, record
from paribus.results.tidy import LongTable, table_of
from paribus.results.transforms import moments_of

Part: TypeAlias = PartialDependence | AccumulatedLocalEffect | Marginal
PARTS = (PartialDependence, AccumulatedLocalEffect, Marginal)
ESTIMANDS = {PartialDependence: "PD", AccumulatedLocalEffect: "ALE", Marginal: "averages"}
NOTE_SHARE = 0.05  # of the range: a larger difference is reported in a note, if errors do not account for it

SHARED = (
    "the groups have units in common: standard errors are the sum of theirs, an upper bound of those of units"
)
DISJOINT = "the groups have no row in common, so that the variances of their averages add"
INDEPENDENT = (
    "standard errors are those of independent samples, as independent=True states; they do not hold if rows "
    "are in both"
)


@record
class Comparison(PlotMixin):
    """Curves of one feature side by side: of several models or slices of the data, or of several estimands.

    Partial dependence sets the feature to a value in all rows; accumulated local effects move rows within
    their bin only; averages near a value change no row and therefore include the effects of dependent
    features. If features are independent and the model is additive, the first two curves coincide.

    Attributes
    ----------
    parts : dict of str to PartialDependence, AccumulatedLocalEffect or Marginal
        The results by name, in the order they were given. Each keeps its own axis. They are of one type, or
        each of another type, named ``"PD"``, ``"ALE"`` and ``"averages"``.
    ale_offset : ndarray of shape (n_outputs,) or None
        Constant added to the ALE curve to align it with the partial dependence: the mean distance over the
        data. None without both.
    distance : ndarray of shape (n_outputs,) or None
        Largest distance between the aligned curves, in units of the prediction. Within a bin, it is the
        distance from the range of ALE between its edges.
    share : ndarray of shape (n_outputs,) or None
        The distance relative to the range of both curves.
    at : tuple or None
        The value at which it is attained, for each output.
    notes : tuple of Note
        Caveats, each once, after the names of its parts if they are not all; and by how much ALE differs.

    Notes
    -----
    The table of `to_frame` has the columns ``part`` and then those of the tables of the parts, if these are
    of one type. For several estimands it has ``curve`` (``"partial dependence"``, ``"ALE"``, aligned,
    ``"predicted"`` or ``"observed"``), ``output``, the feature, ``height`` and ``error``.
    """

    stored = "comparison"

    parts: dict[str, Part]
    ale_offset: Floats | None = array("output", default=None)
    distance: Floats | None = array("output", default=None)
    share: Floats | None = array("output", default=None)
    at: tuple[Any, ...] | None = array("output", default=None)
    notes: tuple[Note, ...] = ()

    def _check(self) -> None:
        check_parts(self.parts)
        values = (self.ale_offset, self.distance, self.share, self.at)
        needed = self.effect is not None and self.ale is not None and self.several_estimands
        if any((one is None) == needed for one in values):
            raise InputError("PD, ALE and the distances between them need each other; pass all or none")

    def _first(self, kind: type[Any] | tuple[type[Any], ...] = PARTS) -> Any:
        return next((part for part in self.parts.values() if isinstance(part, kind)), None)

    @property
    def several_estimands(self) -> bool:
        """Whether the parts are of different types, and not of several models or slices of the data."""
        return len({type(part) for part in self.parts.values()}) == len(self.parts)

    @property
    def effect(self) -> PartialDependence | None:
        """The first partial dependence."""
        return self._first(PartialDependence)  # type: ignore[no-any-return]

    @property
    def ale(self) -> AccumulatedLocalEffect | None:
        """The first accumulated local effect."""
        return self._first(AccumulatedLocalEffect)  # type: ignore[no-any-return]

    @property
    def marginal(self) -> Marginal | None:
        """The first averages near a value."""
        return self._first(Marginal)  # type: ignore[no-any-return]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Name of the feature."""
        return self._first().feature_names  # type: ignore[no-any-return]

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._first().output_names  # type: ignore[no-any-return]

    @property
    def strength(self) -> float:
        """The strength of the partial dependence, or the largest of a part; NaN if none has any."""
        if self.several_estimands and self.effect is not None:
            return self.effect.strength
        known = [part.strength for part in self.parts.values() if not np.isnan(part.strength)]
        return max(known, default=float("nan"))

    @property
    def provenance(self) -> Provenance:
        """Provenance of the first part."""
        return self._first().provenance  # type: ignore[no-any-return]

    def _tables(self) -> list[LongTable]:
        """Return a table of each part, or of each curve of several estimands."""
        if not self.several_estimands:
            return [table_of(part, part=name) for name, part in self.parts.items()]
        curves: dict[str, tuple[Any, ...]] = {}
        for part in self.parts.values():
            if isinstance(part, PartialDependence):
                curves["partial dependence"] = part, part.average, part.standard_error
            elif isinstance(part, Marginal):
                names = [name for name in ("predicted", "observed") if name in part]
                curves |= {name: (part, part[name], part[f"{name}_error"]) for name in names}
            else:
                offset = 0.0 if self.ale_offset is None else self.ale_offset[:, None]
                curves["ALE"] = part, part.ale + offset, part.standard_error
        return [
            table_of(part, {"height": height, "error": error}, curve=name)
            for name, (part, height, error) in curves.items()
        ]

    def difference(
        self,
        part: str | None = None,
        *,
        reference: str | None = None,
        curve: str | None = None,
        independent: bool = False,
    ) -> Difference:
        r"""Return the difference of two parts of one type, with its standard error.

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
            On the common grid; ``errors`` and a note report the basis of its standard error.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 3.0], [3.0, 4.0]])
        >>> models = {"old": lambda X: X[:, 0], "new": lambda X: 2 * X[:, 0] + X[:, 1]}
        >>> found = {name: paribus.partial_dependence(f, X, 0, kind="both") for name, f in models.items()}
        >>> paribus.compare(found).difference()
        Difference new minus old on x0: average at 4 points, 1 output (prediction)
          prediction: from 2.25 at x0 = 0 to 5.25 at x0 = 3
          prediction: largest 5.25 ± 0.75 at x0 = 3, 7 standard errors
          note: both are over the same rows: standard errors are those of the rows' own differences
        """
        return difference_of(self, part, reference, curve, independent)


@record
class Difference(Result):
    r"""Difference of two parts of a comparison, on their common grid.

    With the two curves :math:`A(x)` and :math:`B(x)` and their standard errors :math:`s_A` and :math:`s_B`

    .. math:: D(x) = A(x) - B(x)

    and ``errors`` is the basis of the standard error of D. If the results may share rows it is at most
    :math:`s_A + s_B`. For the same rows with individual curves (``kind="both"``) it is that of the mean of
    the row-wise differences. For independent samples, which only the caller can declare, it is
    :math:`\sqrt{s_A^2 + s_B^2}`.

    Attributes
    ----------
    part, reference : str
        Names of the two: the difference is the first minus the second.
    curve : str
        Name of the compared curve: ``"average"`` of partial dependence, ``"ale"`` of accumulated local
        effects, ``"predicted"``, ``"observed"`` or ``"residual"`` of averages near a value.
    grid_values : tuple of one ndarray of shape (g,)
        For numbers and dates, the union of both grids within their common range, with linear interpolation.
        For categories, those of both.
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
        """Largest absolute difference, at a missing value too; NaN if none is known."""
        missing = np.empty(0) if self.missing_difference is None else self.missing_difference
        every = np.abs(np.append(self.difference, missing))
        return (
            float(np.max(every, where=np.isfinite(every), initial=-1.0))
            if np.isfinite(every).any()
            else np.nan
        )

    def _at_missing(self) -> dict[str, Any]:
        if self.missing_difference is None:
            return {}
        return {"difference": self.missing_difference, "standard_error": self.missing_error}


def comparison_of(parts: Mapping[str, Part]) -> Comparison:
    """Return parts side by side, and the distance of ALE from partial dependence if it has both."""
    check_parts(parts)
    comparable = {type(part): part for part in parts.values()}
    if len(comparable) < len(parts):
        return Comparison(dict(parts), notes=shared_notes(parts))
    effect, local = comparable.get(PartialDependence), comparable.get(AccumulatedLocalEffect)
    notes: list[Note] = []
    distance: dict[str, Any] = {}
    if isinstance(effect, PartialDependence):
        far = None if effect.extrapolation is None else effect.extrapolation.note("curve")
        notes += [] if far is None else [far]  # the two that matter most come first
        if isinstance(local, AccumulatedLocalEffect):
            distance, different = _ale_distance(effect, local)
            notes += different
    for part in parts.values():
        # The effect reports missing values already.
        known = isinstance(part, Marginal) and effect is not None
        notes += [note for note in part.notes if not known or note.code is not NoteCode.MISSING_VALUES]
    return Comparison(dict(parts), **distance, notes=tuple(dict.fromkeys(notes)))


def shared_notes(parts: Mapping[str, Any]) -> tuple[Note, ...]:
    """Return the notes of parts, each once, after the names of its parts if they are not all."""
    by_note: dict[Note, list[str]] = {}
    for name, part in parts.items():
        for note in dict.fromkeys(part.notes):
            by_note.setdefault(note, []).append(name)
    return tuple(
        note if len(names) == len(parts) else note.with_values(of=", ".join(names))
        for note, names in by_note.items()
    )


def check_parts(parts: Mapping[str, Any]) -> None:
    """Refuse curves that do not belong on one axis, and estimands of other rows or another model."""
    named = {repr(name): part for name, part in parts.items()}
    if not parts or not all(isinstance(part, PARTS) for part in parts.values()):
        raise InputError("compare() takes results of one feature, such as PartialDependence")
    check_alike(named)
    check_same(named, "on another kind of axis", axis_kind)
    kinds = {type(part) for part in parts.values()}
    if len(kinds) == 1:
        same = "an average of something else"
        check_same(named, same, lambda part: " and ".join(curves_of(part)[:2]))
        return
    if len(kinds) < len(parts):
        raise InputError("compare() takes results of one type, or one of each type; two of several types")
    # A fingerprint covers values of y as well, which partial dependence does not know.
    unseen = {name: part for name, part in named.items() if "observed" not in part}
    rows, fingerprint = "over other rows or weights", attrgetter("provenance.fingerprint")
    fields = ("rows", "weights", "sampled_rows", "seed", "group")
    shown = attrgetter(*(f"provenance.{name}" for name in fields))
    check_same(named, rows, shown, lambda part: part.provenance.background())
    check_same(unseen, f"{rows}, by its fingerprint", fingerprint)
    predicted = {name: part for name, part in named.items() if curves_of(part)[0] != "observed"}
    digest, model = attrgetter("provenance.model_digest"), attrgetter("provenance.model")
    check_same(predicted, "of another model, by its model_digest", digest, model)


def _ale_distance(
    effect: PartialDependence, local: AccumulatedLocalEffect
) -> tuple[dict[str, Any], list[Note]]:
    """Align ALE with the partial dependence, and find where they are furthest apart.

    A note reports a distance of more than two standard errors of both.
    """
    outputs, values = len(effect.output_names), common_values(effect, local)
    points = SharedPoints(values, missing=False)
    other, average, weights = (
        points.at(*field) for field in ((local, "ale"), (effect, "average"), (effect, "support"))
    )
    if not len(values):
        names = ("ale_offset", "distance", "share")
        return {**{name: np.full(outputs, np.nan) for name in names}, "at": (None,) * outputs}, []
    if not weights.any():
        weights = np.ones(len(weights))
    offset = ((average - other) * weights).sum(axis=1) / weights.sum()
    laid = other + offset[:, None]
    apart = np.abs(least_difference(average, *points.ends(local, "ale"), offset))
    largest, distance = apart.argmax(axis=1), apart.max(axis=1)
    range_ = np.ptp(np.concatenate([average, laid], axis=1), axis=1)
    moves = range_ > ROUNDING * np.abs(average).max(axis=1)  # else it is rounding
    share = np.divide(distance, range_, out=np.zeros(outputs), where=moves)
    error, other_error = (np.nan_to_num(points.at(part, "standard_error")) for part in (local, effect))
    beyond = distance > 2 * (error + other_error)[np.arange(outputs), largest]
    found = {"ale_offset": offset, "distance": distance, "share": share}
    found["at"] = tuple(values[g] for g in largest)
    relative = np.nan_to_num(np.where(beyond, share, 0.0))
    worst = int(np.argmax(relative))
    if relative[worst] < NOTE_SHARE:
        return found, []
    note = NoteCode.ALE_DIFFERS.note(
        feature=effect.feature_names[0],
        size=distance[worst],
        share=relative[worst],
        output=effect.output_names[worst] if outputs > 1 else None,
        value=values[largest[worst]],
    )
    return found, [note]


def difference_of(
    comparison: Comparison, part: str | None, reference: str | None, curve: str | None, independent: bool
) -> Difference:
    """Return one part of a comparison less another."""
    part, reference = _part_names(comparison.parts, part, reference)
    one, other = pair = comparison.parts[part], comparison.parts[reference]
    basis, reason = _error_basis(pair, (part, reference), independent)
    grids, nominal = (one.grid_values[0], other.grid_values[0]), one.kinds[0] in NOMINAL
    values = shared_values(*grids, nominal)
    if not len(values):
        raise InputError(
            f"{part!r} and {reference!r} have no value of {comparison.feature_names[0]} in common; compute "
            "both at the same custom_values"
        )
    if curve is not None:
        check_choice("curve", curve, curves_of(one))
    curve = curve or curves_of(one)[0]
    points = SharedPoints(values, missing=one.missing is not None and other.missing is not None)
    difference, missing_difference = points.split(_subtracted(pair, curve, points))
    if isinstance(one, PartialDependence) and basis == "row by row":
        rows = _subtracted(pair, "individual", points)
        error = moments_of(rows, one.row_weights, one.row_units).standard_error()
    else:
        name = f"{curve}_error" if isinstance(one, Marginal) else "standard_error"
        error = combined_error(basis, *(points.at(part, name) for part in pair))
    standard_error, missing_error = points.split(error)
    grids_differ = None
    if not nominal and not all(np.isin(values, grid).all() for grid in grids):
        grids_differ = "the grids of the two differ: between grid values a curve is a straight line"
    note = NoteCode.ERROR_BASIS.note(reason=reason, grids=grids_differ)
    return Difference(
        part=part,
        reference=reference,
        curve=curve,
        feature_names=one.feature_names,
        output_names=one.output_names,
        kinds=one.kinds,
        ordered=(not nominal,) if isinstance(one, AccumulatedLocalEffect) else one.ordered,
        grid_values=(values,),
        difference=difference,
        standard_error=standard_error,
        missing_difference=missing_difference,
        missing_error=missing_error,
        errors=basis,
        notes=(note,),
        provenances={part: one.provenance, reference: other.provenance},
    )


def _part_names(parts: dict[str, Part], part: str | None, reference: str | None) -> tuple[str, str]:
    """Return the part and the one it is compared with: of two, the second and the first."""
    names = tuple(parts)
    for argument, name in (("part", part), ("reference", reference)):
        if name is not None and name not in names:
            raise OptionError(f"{argument}={name!r} is not a part{did_you_mean(str(name), names)}")
    if len(names) < 2:
        raise InputError("difference() needs two parts; pass several results by name to paribus.compare")
    if reference is None:
        reference = next(name for name in names if name != part)
    others = [name for name in names if name != reference]
    if part is None and len(others) > 1:
        raise OptionError(f"difference() compares two of {len(names)} parts; pass part= one of {others}")
    part = others[0] if part is None else part
    if part == reference:
        raise OptionError(f"part={part!r} and reference={reference!r} are the same; name two")
    if type(parts[part]) is not type(parts[reference]):
        raise InputError(
            "difference() needs two parts of one type, such as two models; for PD and ALE see distance"
        )
    return part, reference


def _subtracted(pair: tuple[Part, Part], name: str, points: SharedPoints) -> Floats:
    one, other = (points.at(part, name) for part in pair)
    with np.errstate(invalid="ignore"):  # infinities of both
        return one - other


def _disjoint(one: Provenance, other: Provenance) -> bool:
    """Return whether two results are of different groups of the same rows, by the same variable."""
    if one.group is None or other.group is None or one.fingerprint != other.fingerprint:
        return False
    by = {group.partition(" = ")[0] for group in (one.group, other.group)}
    return len(by) == 1 and one.group != other.group


def _rows_of(part: Part) -> tuple[Any, ...]:
    """Return the identity of the rows of a part: the same data, and the same sample of them."""
    provenance = part.provenance
    return provenance.fingerprint, provenance.sampled_rows, provenance.seed, provenance.group


def _error_basis(
    pair: tuple[Part, Part], names: tuple[str, str], independent: bool
) -> tuple[ErrorBasis, str]:
    """Return how the standard error is found, and the reason.

    Other fingerprints do not show other rows: those of some columns of a table, of its rows in another order
    or of a slice of it are other ones, too.
    """
    same_rows = len({_rows_of(part) for part in pair}) == 1
    if _disjoint(*(part.provenance for part in pair)):
        shared = any(part.provenance.shared_units for part in pair)
        return ("upper bound", SHARED) if shared else ("independent", DISJOINT)
    check_independent(independent, same_rows, " and ".join(map(repr, names)))
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

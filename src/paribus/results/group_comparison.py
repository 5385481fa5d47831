"""Comparison of the groups of rows of an explanation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._states.student import student_tail
from paribus._text import at_value, count, with_error
from paribus._typing import ErrorBasis, FrameBackend
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import centered_variance, combined_error, data_shares, share_variance
from paribus.results.effects import Effects
from paribus.results.groups import GroupedResults
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import Performance
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.storage import Saveable
from paribus.results.tidy import native

LEVEL = 0.05  # probability of any false difference among all comparisons
TESTED_ROWS = 30  # rows of a group below which it is not compared, because errors are not reliable
ROUNDING = 1e-9  # relative difference that counts as rounding


@dataclass(frozen=True)
class GroupDifference:
    """The largest difference between the curves of a feature in two groups, apart from their levels.

    Attributes
    ----------
    feature, output : str
        The feature and the output.
    group, reference : str
        Labels of the two groups.
    value : number, date or str
        The grid value at which the centered curves differ most.
    difference, standard_error : float
        Centered curve of ``group`` minus that of ``reference`` there, in units of the prediction.
    p_value : float
        Probability of a difference as large by chance, adjusted for the points of the curve and by Holm's
        method for all comparisons; NaN without a standard error.
    """

    feature: str
    output: str
    group: str
    reference: str
    value: Any
    difference: float
    standard_error: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the difference passes Holm's method at 5 %."""
        return self.p_value < LEVEL

    def __str__(self) -> str:
        apart = f"{self.group} minus {self.reference} is {with_error(self.difference, self.standard_error)}"
        chance = "more than chance" if self.significant else "not more than chance"
        return f"{self.feature}: {apart} at {at_value(self.value)}, {chance}"


@record
class GroupComparison(Saveable):
    r"""Effects and performance by group of rows, and where effects differ most.

    Curves are compared apart from their levels: each is centered by its average over the data on the grid.
    With the covariance :math:`C_g` of the points of the curve of group :math:`g`, and the share :math:`p_x`
    of the data of all groups at each point, the difference of two groups and its standard error are

    .. math:: D_x = \sum_z (1[z = x] - p_z) (PD^g_z - PD^h_z), \qquad
              SE_x^2 = v_x^T (C_g + C_h) v_x, \quad v_{xz} = 1[z = x] - p_z

    because the rows of two groups are disjoint; the variance of the shares :math:`p` is added. If units have
    rows in both groups, it is the sum of both errors, an upper bound. Points are compared where both groups
    have rows. The grouping
    column itself, and groups of fewer than 30 rows, are not compared.

    Attributes
    ----------
    effects : GroupedResults
        Partial dependence on every feature in each group.
    performance : dict of str to Performance
        How well the rows of each group are predicted; empty without ``y``.
    differences : tuple of GroupDifference
        For each feature and output the pair of groups that differ most, largest first.
    comparisons : int
        Number of comparisons, of pairs of groups for each feature and output, that Holm's method adjusts for.
    """

    stored = "group_comparison"

    effects: GroupedResults
    performance: dict[str, Performance]
    differences: tuple[GroupDifference, ...]
    comparisons: int

    @property
    def by(self) -> str:
        """Name of the column or variable that defines the groups."""
        return self.effects.by

    @property
    def provenance(self) -> Provenance:
        """How the effects of the first group were computed."""
        return self.effects.provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Which effects differ between groups, and which groups are predicted with a bias."""
        codes = NoteCode.RARE_CATEGORIES, NoteCode.SMALL_GROUP
        groups = (note for note in self.effects.notes if note.code in codes)
        return (*self._difference_notes(), *self._bias_notes(), *groups)

    def _difference_notes(self) -> Iterator[Note]:
        several = len({one.output for one in self.differences}) > 1
        for one in self.differences:
            if one.significant:
                yield NoteCode.GROUPS_DIFFER.note(
                    feature=one.feature,
                    output=one.output if several else None,
                    by=self.by,
                    group=one.group,
                    reference=one.reference,
                    difference=(abs(one.difference), one.standard_error),
                    size=abs(one.difference),
                    value=one.value,
                )

    def _bias_notes(self) -> Iterator[Note]:
        biases = [(label, *bias) for label, own in self.performance.items() for bias in own.residuals()]
        level = 1 - LEVEL / max(1, len(biases))
        limits = {label: own.provenance.error_quantile(level) for label, own in self.performance.items()}
        several = len({output for _, output, _, _ in biases}) > 1
        for label, output, mean, error in biases:
            errors = abs(mean) / error if error else 0.0
            if errors > limits[label]:
                yield NoteCode.GROUP_BIAS.note(
                    by=self.by,
                    group=label,
                    output=output if several else None,
                    difference=(mean, error),
                    errors=errors,
                    size=abs(mean),
                )

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return the table of the largest differences, one row per feature and output.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        names = ("feature", "output", "group", "reference", "difference", "standard_error", "p_value")
        columns = {name: [getattr(one, name) for one in self.differences] for name in names}
        columns["value"] = [at_value(one.value) for one in self.differences]
        return native(columns, self.provenance.backend, backend)

    def __repr__(self) -> str:
        return "\n".join(["GroupComparison", *(f"  {line}" for line in self.lines(len(self.differences)))])

    def lines(self, most: int) -> Iterator[str]:
        """Yield the groups, and the ``most`` largest differences that are more than chance."""
        sizes = ", ".join(f"{group.label} {group.share:.0%}" for group in self.effects.groups)
        yield f"by {self.by} ({sizes}):"
        found = [one for one in self.differences if one.significant]
        yield from (f"  {one}" for one in found[:most])
        if not found:
            yield f"  no effect differs by more than chance in {count(self.comparisons, 'comparison')}"


def compare_groups(effects: GroupedResults, performance: dict[str, Performance]) -> GroupComparison:
    """Compare the curves of all pairs of groups for each feature and output."""
    several: list[GroupDifference] = []
    first: Effects[PartialDependence] = effects.results[0]  # type: ignore[assignment]
    large = {group.label for group in effects.groups if group.rows >= TESTED_ROWS}
    for name in first:
        if name != effects.by:  # groups have different values of the grouping column
            curves = {label: effects[label][name] for label in effects if name in effects[label]}
            shares = data_shares(np.sum([curve.support for curve in curves.values()], axis=0))
            several += _feature_differences(curves, large, shares)
    adjusted = _holm(several)
    largest: dict[tuple[str, str], GroupDifference] = {}
    for one in sorted(adjusted, key=lambda one: (not one.significant, -abs(one.difference))):
        largest.setdefault((one.feature, one.output), one)
    return GroupComparison(effects, performance, tuple(largest.values()), len(several))


def _feature_differences(
    curves: dict[str, PartialDependence], tested: set[str], shares: Floats
) -> Iterator[GroupDifference]:
    """Yield the largest difference of each pair of tested groups, with a p-value adjusted for the points."""
    centered = {label: _centered(curve, shares) for label, curve in curves.items() if label in tested}
    for group, reference in combinations(centered, 2):
        (one, first), (other, second) = centered[group], centered[reference]
        freedom = min(curves[label].provenance.error_freedom for label in (group, reference))
        basis: ErrorBasis = "upper bound" if curves[group].provenance.shared_units else "independent"
        level_error = _level_error(one - other, shares, basis, curves.values())
        common = (curves[group].support > 0) & (curves[reference].support > 0)
        for o, output in enumerate(curves[group].output_names):
            apart = np.where(common, one[o] - other[o], np.nan)
            if not np.isfinite(apart).any():
                continue
            at = int(np.nanargmax(np.abs(apart)))
            error = combined_error(basis, np.sqrt(first[o, at]), np.sqrt(second[o, at]))
            error = float(np.hypot(error, level_error[o]))
            size = float(np.nanmax(np.abs(curves[group].average[o]), initial=0.0))  # type: ignore[index]
            yield GroupDifference(
                curves[group].feature_names[0],
                output,
                group,
                reference,
                curves[group].grid_values[0][at],
                float(apart[at]),
                error,
                _p_value(float(apart[at]), error, size, int(common.sum()), freedom),
            )


def _centered(curve: PartialDependence, shares: Floats) -> tuple[Floats, Floats]:
    """Return the curve ``(o, g)``, centered by its average over the data, and its variance."""
    assert curve.average is not None
    centered, points = curve.average - (curve.average @ shares)[:, None], len(shares)
    if curve.covariance is None:
        return centered, np.full_like(centered, np.nan)
    return centered, centered_variance(curve.covariance[:, :points, :points], shares)


def _level_error(
    difference: Floats, shares: Floats, basis: ErrorBasis, curves: Iterable[PartialDependence]
) -> Floats:
    """Return the error ``(o,)`` of the level of a difference ``(o, g)`` due to the shares of all groups."""
    apart = np.nan_to_num(difference - (difference @ shares)[:, None])
    total, error = sum(curve.support.sum() for curve in curves), np.zeros(len(difference))
    for curve in curves if total > 0 else ():
        missing = 0.0 if curve.missing is None else curve.missing.support
        heights = apart if curve.missing is None else np.pad(apart, [(0, 0), (0, 1)])
        share = (curve.support.sum() + missing) / total
        error = combined_error(basis, error, share * np.sqrt(share_variance(curve, heights)))
    return error


def _p_value(difference: float, error: float, size: float, points: int, freedom: int) -> float:
    """Return the probability of so large a difference at any of the points, by chance."""
    if not np.isfinite(error):
        return float("nan")
    if abs(difference) <= ROUNDING * size:
        return 1.0
    if not error > 0:
        return 0.0
    return min(1.0, points * student_tail(abs(difference) / error, freedom))


def _holm(differences: Sequence[GroupDifference]) -> list[GroupDifference]:
    """Return the differences with p-values adjusted for their number by Holm's method."""
    order = sorted(range(len(differences)), key=lambda place: differences[place].p_value)
    adjusted, largest = list(differences), 0.0
    for rank, place in enumerate(order):
        own = differences[place]
        if np.isnan(own.p_value):
            continue
        largest = max(largest, min(1.0, (len(order) - rank) * own.p_value))
        adjusted[place] = replace(own, p_value=largest)
    return adjusted

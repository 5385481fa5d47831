"""Results by group of rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from paribus._text import at_value, plain_value
from paribus._typing import FrameBackend
from paribus.errors import InputError, did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.comparison import Comparison, Difference, shared_notes
from paribus.results.effects import Effects, compare
from paribus.results.hstatistics import HStatistics
from paribus.results.importance import Importance
from paribus.results.mixins import PlotMixin
from paribus.results.partial_dependence import PartialDependence
from paribus.results.provenance import Provenance
from paribus.results.schema import record
from paribus.results.tidy import grouped_frame

FEW_ROWS = 10  # rows of a group below which its standard errors are only a guess
ByGroup: TypeAlias = PartialDependence | Effects[Any] | HStatistics | Importance


@dataclass(frozen=True)
class Group:
    """A group of rows.

    Attributes
    ----------
    label : str
        The value or interval that defines the group, ``"other"`` or ``"missing"``.
    rows : int
        Number of rows with positive weight.
    share : float
        Share of the weight of all rows.
    """

    label: str
    rows: int
    share: float


@record
class GroupedResults(PlotMixin, Mapping[str, Any]):
    r"""A mapping from the label of a group of rows to its result, in the order of the groups.

    A result by group averages over the rows :math:`z_i = g` of each group, on the grid of all rows:

    .. math:: PD_S^g(x_S) = \frac{1}{W_g} \sum_{i: z_i = g} w_i f(x_S, x_{i,\bar S}), \qquad
              \sum_g \frac{W_g}{W} PD_S^g = PD_S

    Rows keep the value of the grouping column. A surface instead sets that column to a value in all rows.

    Attributes
    ----------
    by : str
        Name of the column or variable that defines the groups.
    groups : tuple of Group
        Label, number of rows and share of the weight of each group.
    results : tuple
        The values of the mapping, in its order: of the type that the function returns without ``by``.
    joined : tuple of Note
        Notes on how the groups were formed.

    Notes
    -----
    The table of `to_frame` has the column ``group``, and then those of the results.
    """

    stored = "groups"

    by: str
    groups: tuple[Group, ...]
    results: tuple[ByGroup, ...]
    joined: tuple[Note, ...] = ()

    def _check(self) -> None:
        labels = {group.label for group in self.groups}
        if not self.groups or not len(labels) == len(self.groups) == len(self.results):
            raise InputError("groups is empty, or two have the same label, or a result is missing")
        if len({type(result) for result in self.results}) > 1:
            raise InputError("results of groups are of several types; pass results of one type")

    def __getitem__(self, key: Any) -> Any:
        return self.results[list(self).index(self._label(key))]

    def _label(self, key: Any) -> str:
        """Return the label of the group of a value, or raise if there is none."""
        texts = _labels_of(key)
        for text in texts:
            if text in list(self):
                return text
        raise KeyError(f"no group {texts[0]!r} of {self.by}{did_you_mean(texts[0], list(self))}")

    def __iter__(self) -> Iterator[str]:
        return (group.label for group in self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def provenance(self) -> Provenance:
        """How the result of the first group was computed."""
        return self.results[0].provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats over all groups: how they were formed, which are small, and those of their results."""
        small = [_small_note(self.by, group) for group in self.groups if group.rows < FEW_ROWS]
        return (*self.joined, *small, *shared_notes(dict(self)))

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return one tidy table of all groups.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        frames = [result.to_frame(backend=backend) for result in self.results]
        return grouped_frame(dict(zip(self, frames, strict=True)))

    def compare(self) -> Comparison | Effects[Comparison]:
        """Return the curves of all groups side by side, for one feature or for each.

        Returns
        -------
        Comparison or Effects
            With one part for each group, see `paribus.compare`.
        """
        if isinstance(self.results[0], (HStatistics, Importance)):
            raise InputError("only curves can be compared side by side; to_frame() has all groups")
        found: Comparison | Effects[Comparison] = compare(dict(self))
        return found

    def difference(self, group: Any, reference: Any) -> Difference | Effects[Difference]:
        r"""Return the curves of one group minus those of another.

        The rows of two groups are disjoint, so that the variances add:

        .. math:: SE = \sqrt{SE_g^2 + SE_h^2}

        Parameters
        ----------
        group, reference : str, or value of the grouping column
            Two groups.

        Returns
        -------
        Difference or Effects
            For one feature, or for each, largest first.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 3.0], [3.0, 3.0]])
        >>> found = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, by=1)
        >>> found.difference(3, 1).difference
        array([[0., 2., 4., 6.]])
        """
        names = [self._label(key) for key in (group, reference)]
        one, other = (self[name] for name in names)
        if isinstance(one, (HStatistics, Importance)):
            raise InputError("difference() is between curves; to_frame() has the numbers of all groups")
        first = next(iter(one.values())) if isinstance(one, Effects) else one
        if isinstance(first, AccumulatedLocalEffect):
            raise InputError(
                "difference() of ALE would depend on the values that each group has, because its curve is "
                "centered by its own rows; compare partial dependence, or plot the groups"
            )
        both: Comparison | Effects[Comparison] = compare({names[0]: one, names[1]: other})
        return both.difference(names[0], reference=names[1])


def _labels_of(key: Any) -> tuple[str, ...]:
    """Return the texts that the label of a value may be."""
    if isinstance(key, str):
        return (key,)
    if isinstance(key, datetime.date):
        key = np.datetime64(key)
    if isinstance(key, datetime.timedelta):
        key = np.timedelta64(key)
    values = (key, float(key)) if isinstance(key, (int, np.integer)) else (key,)
    return tuple(write(value) for value in values for write in (at_value, plain_value, str))


def _small_note(by: str, group: Group) -> Note:
    """Return the note on a group with few rows."""
    errors = "no standard errors" if group.rows < 2 else "standard errors that are only a guess"
    return NoteCode.SMALL_GROUP.note(by=by, group=group.label, rows=group.rows, consequence=errors)

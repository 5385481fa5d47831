"""Layout of the axes of features, and notes on estimated quantiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._api.run import RunContext
from paribus._contracts import Array
from paribus._data.column_groups import one_hot_groups
from paribus._data.features import Header, resolve_many, resolve_set, values_by_position
from paribus._data.rows import Rows
from paribus._data.summary import Summary, SummarySpec
from paribus._data.table import Table
from paribus._grid import SPLITS, Axis, Grid, GridOptions, axis_of
from paribus._models import Model, trees_of
from paribus._models.preprocessing.raw_splits import split_sides
from paribus._text import shown_of
from paribus.errors import FeatureError, RefusalError
from paribus.notes import Note, NoteCode

if TYPE_CHECKING:
    from paribus._data.scan.open import Background

NAMED = 3  # features that a note lists
Groups = tuple[tuple[int, ...], ...]


def groups_of(features: Any, header: Header) -> Groups:
    """Return the columns of each effect; with ``features=None``, each column by itself."""
    if features is None:
        return tuple((j,) for j in range(len(header.names)))
    return resolve_many(features, header)


@dataclass(frozen=True)
class AxisOptions:
    """The features that need an axis, and the options of its layout.

    ``nominal`` are features that the user declared categorical, and ``names`` those of codes of some of
    them. ``given`` maps features to custom values.
    ``skip`` says that unsupported columns are skipped, else they raise. ``bins`` are the numbers of bins of
    ALE. ``surveyed`` are the features to summarize if ``features`` are chosen only after the survey.
    """

    header: Header
    features: tuple[int, ...]
    grid: GridOptions
    nominal: frozenset[int]
    names: dict[int, Mapping[Any, str]]
    given: dict[int, Any]
    skip: bool
    bins: tuple[int, ...] = ()
    surveyed: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        header: Header,
        groups: tuple[tuple[int, ...], ...],
        grid: GridOptions,
        categorical_features: Any,
        category_names: Mapping[str, Mapping[Any, str]],
        custom_values: Any,
        skip: bool,
        bins: tuple[int, ...] = (),
    ) -> AxisOptions:
        """Resolve the user's arguments."""
        features = tuple(sorted({feature for group in groups for feature in group}))
        names = {j: category_names[name] for j, name in enumerate(header.names) if name in category_names}
        nominal = resolve_set("categorical_features", categorical_features, header) | names.keys()
        given = values_by_position(custom_values, header, set(features))
        return cls(header, features, grid, nominal, names, given, skip, bins)

    @cached_property
    def wanted(self) -> dict[int, SummarySpec]:
        """The summary that each feature needs."""
        options = self.grid.resolution, self.grid.percentiles
        return {
            j: SummarySpec(j in self.nominal, *options, j in self.given, self.bins, self.names.get(j))
            for j in self.surveyed or self.features
        }

    def laid_out(self, context: RunContext) -> tuple[dict[int, Axis], tuple[str, ...]]:
        """Return the axes by feature and the errors of skipped columns, computed once per run."""
        found: tuple[dict[int, Axis], tuple[str, ...]] = context.once(self, partial(self._laid_out, context))
        if context.parent is None:
            return found
        axes, skipped = found  # a group counts its own rows
        counted_anew = {j: replace(axis, cell_counts=None, value_counts=None) for j, axis in axes.items()}
        return counted_anew, skipped

    def _laid_out(self, context: RunContext) -> tuple[dict[int, Axis], tuple[str, ...]]:
        """Lay out the axes of all features in parallel."""
        like = context.rows.table
        sides = _sides(context.models, like) if self.grid.splits else None

        def axis(j: int) -> Axis | FeatureError:
            try:
                return axis_of(
                    context.data.summary(j, self.wanted),
                    like,
                    j,
                    self.grid,
                    given=self.given.get(j),
                    sides=sides,
                )
            except FeatureError as error:
                return error

        axes_or_errors = dict(zip(self.features, context.pool.map(axis, self.features), strict=True))
        refused = [error for error in axes_or_errors.values() if isinstance(error, FeatureError)]
        if refused and not self.skip:
            raise refused[0]
        if len(refused) == len(self.features):
            raise FeatureError(f"no column of X can be varied: {refused[0]}")
        axes = {j: axis for j, axis in axes_or_errors.items() if isinstance(axis, Axis)}
        return axes, tuple(str(error) for error in refused)


def quantile_notes(
    grids: Sequence[Grid], context: RunContext, wanted: Mapping[int, SummarySpec], what: str = "grid points"
) -> list[tuple[Note, ...]]:
    """Return the note on estimated quantiles for each grid whose points they placed.

    The note lists all such features, and is the same for all grids, so that results show it once. ``what``
    names the points in the note.
    """
    placed = {axis.feature: axis for grid in grids for axis in grid.axes if axis.rank_error > 0}
    off = {placed[feature].name: placed[feature].rank_error for feature in sorted(placed)}
    if not off:
        return [()] * len(grids)
    names = tuple(off)
    exact = context.data.exact_in_more_memory(wanted)
    note = NoteCode.QUANTILES_ESTIMATED.note(
        what=what,
        features=names,
        feature=names[0] if len(names) == 1 else None,
        share=max(off.values()),
        remedy="a larger max_memory to Explainer" if exact else None,
    )
    return [(note,) if any(axis.rank_error > 0 for axis in grid.axes) else () for grid in grids]


def one_hot_notes(grids: Sequence[Grid], table: Table) -> list[tuple[Note, ...]]:
    """Return for each grid of a column that looks one-hot encoded a note on columns to set together."""
    binary = [
        grid.axes[0].feature for grid in grids if len(grid.axes) == 1 and set(grid.axes[0].values) == {0, 1}
    ]
    by_feature: dict[int, Note] = {}
    for prefix, group in one_hot_groups(table, binary).items():
        names = [table.names[j] for j in group]
        shown = shown_of(len(names), NAMED)
        listed = ", ".join(map(repr, names[:shown])) + ", ..." * (shown < len(names))
        note = NoteCode.ONE_HOT_COLUMNS.note(
            columns=len(names), prefix=prefix, remedy=f"{{{prefix!r}: [{listed}]}}"
        )
        by_feature |= dict.fromkeys(group, note)
    owners = [grid.axes[0].feature for grid in grids]
    return [(by_feature[j],) if j in by_feature else () for j in owners]


# Names of columns that identify units: ending in id, or nouns of units.
IDENTIFIER = re.compile(
    r"(^|[_ .-])(id|key|uuid|number|nr|no)$|[a-z](Id|ID|Key|Nr)$"
    r"|^(account|client|customer|hospital|household|patient|person|policy|subject|user|vehicle)s?$",
    re.ASCII,
)
FEWEST_UNITS, FEWEST_ROWS = 10, 1.5  # units, and rows of each on average, of a column that identifies units


def unit_notes(rows: Background) -> tuple[Note, ...]:
    """Return a note on the first column of X that looks like an identifier of units of several rows."""
    if not isinstance(rows, Rows) or rows.units is not None:
        return ()
    table = rows.table if rows.given is None else rows.given
    for position, name in enumerate(table.names):
        if not IDENTIFIER.search(name):
            continue
        try:
            column = table.column(position)
        except FeatureError:  # an unsupported type
            continue
        if column.kind not in ("integer", "string", "category"):
            continue
        units = len(column.factorized()[1])
        if units >= FEWEST_UNITS and len(column.values) >= FEWEST_ROWS * units:
            size = len(column.values) / units
            return (NoteCode.REPEATED_UNITS.note(feature=name, rows=size, remedy=repr(name)),)
    return ()


def _sides(models: tuple[Model, ...], like: Table) -> Callable[[int, Summary], Array]:
    """Return a function that finds the values on both sides of the thresholds of all models."""
    each = []
    for model in models:
        try:
            each.append(trees_of(model).ensemble)
        except RefusalError as refusal:
            raise RefusalError(
                f"grid_resolution={SPLITS!r} needs the trees of {model.name}: {refusal}; pass an integer",
                refusal.code,
            ) from refusal

    def sides(feature: int, summary: Summary) -> Array:
        try:
            found = [split_sides(ensemble, like, feature, summary) for ensemble in each]
        except RefusalError as refusal:
            raise RefusalError(
                f"grid_resolution={SPLITS!r} does not know where {summary.name!r} is split: {refusal}; "
                f"pass an integer, or custom_values of {summary.name!r}",
                refusal.code,
            ) from refusal
        return np.unique(np.concatenate(found))

    return sides

"""Representation of tree ensembles of all libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import NOMINAL, Array, Flags, Floats, Integers
from paribus._data.table import CellValues, Column, Table
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import AnyPreparation
from paribus.errors import ModelError, RefusalError

Nodes = NDArray[np.int32]
INFINITE = "has infinite values, which the model does not accept"
MISSING = "has missing values, which the model does not accept"
LEAF = -1  # column of nodes without a split
ALL = slice(None)
ZERO = float(np.float32(1e-35))  # numbers up to this distance from zero count as zero if zeros are missing


@dataclass(frozen=True, eq=False)
class Encoding:
    """Encoding of a column of the table as the numbers that nodes compare. NaN means missing.

    Attributes
    ----------
    feature : int
        Position of the column in the table.
    position : int or None
        Position of the prepared column if there is preprocessing, which computes it from the feature. None
        if the encoding reads the feature itself.
    single : bool
        Whether the number is first rounded to single precision.
    whole : bool
        Whether the number is truncated to an integer, as for categories given as numbers.
    categories : mapping, "declared" or None
        Number of each category. With ``"declared"``, the categories that the column declares are numbered in
        order. None reads the column as numbers.
    unseen : float
        Number of a category that is not in ``categories``.
    missing : float
        Number of a missing value. NaN follows the missing direction of nodes, other numbers are compared.
    zero_is_missing : bool
        Whether zero also means missing.
    accepts_missing, accepts_infinite : bool
        Whether the library accepts such values. Otherwise they raise an error.
    """

    plain: ClassVar[bool] = True  # floats may be read directly; False if a subclass overrides `numbers`

    feature: int
    single: bool = False
    whole: bool = False
    categories: Mapping[Any, float] | Literal["declared"] | None = None
    unseen: float = np.nan
    missing: float = np.nan
    zero_is_missing: bool = False
    accepts_missing: bool = True
    accepts_infinite: bool = True
    position: int | None = None

    @property
    def place(self) -> int:
        """Position of the column that the encoding reads."""
        return self.feature if self.position is None else self.position

    @property
    def strict(self) -> bool:
        """Whether missing or infinite numbers are refused."""
        return not (self.accepts_missing and self.accepts_infinite)

    def read(self, table: Table) -> Floats:
        """Return the numbers of the column in a table. Float columns are read without a missing mask."""
        floats = table.floats(self.place) if self.plain and self.categories is None else None
        if floats is None:
            return self.numbers(table.column(self.place))
        numbers = self._compared(floats)
        if not self.accepts_infinite and np.isinf(numbers).any():
            raise ModelError(f"{table.names[self.place]!r} {INFINITE}")
        if self.accepts_missing and np.isnan(self.missing) and not self.zero_is_missing:
            return numbers
        missing = np.isnan(floats)
        if not self.accepts_missing and missing.any():
            raise ModelError(f"{table.names[self.place]!r} {MISSING}")
        if missing.any():
            numbers = np.where(missing, self.missing, numbers)
        return np.where(np.abs(numbers) <= ZERO, np.nan, numbers) if self.zero_is_missing else numbers

    def numbers(self, column: Column) -> Floats:
        """Return the numbers of a column, shape ``(n,)``."""
        if self.categories is not None:
            present = self._of_categories(column)
        elif column.kind == "datetime" or (column.kind in NOMINAL and column.values.dtype.kind not in "biuf"):
            raise RefusalError(f"{column.name!r} is of kind {column.kind}, which the trees know as a number")
        else:
            present = self._compared(column.values)
        if not self.accepts_infinite and np.isinf(present).any():
            raise ModelError(f"{column.name!r} {INFINITE}")
        if self.zero_is_missing:
            present = np.where(np.abs(present) <= ZERO, np.nan, present)
        if len(present) == len(column.missing):
            return present
        if not self.accepts_missing:
            raise ModelError(f"{column.name!r} {MISSING}")
        numbers = np.full(len(column.missing), self.missing)
        numbers[~column.missing] = present
        return numbers

    def _compared(self, values: Array) -> Floats:
        """Return numbers in the precision that nodes compare."""
        if self.single and values.dtype != np.float32:
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        numbers = values.astype(np.float64, copy=False)
        return np.trunc(numbers) if self.whole else numbers

    def _of_categories(self, column: Column) -> Floats:
        codes, occurring = column.factorized()
        number_of: Mapping[Any, float]
        if isinstance(self.categories, Mapping):
            number_of = self.categories
        elif column.categories is not None:
            number_of = {category: float(number) for number, category in enumerate(column.categories)}
        else:
            raise RefusalError(f"{column.name!r} declares no categories, which the trees know by their order")
        plain = (category.item() if isinstance(category, np.generic) else category for category in occurring)
        numbers = np.array([number_of.get(category, self.unseen) for category in plain], dtype=np.float64)
        return numbers[codes] if len(codes) else np.empty(0)


@dataclass(frozen=True, eq=False)
class CategorySet:
    """A categorical split: ``listed`` codes go left if ``listed_left``, else right; others vice versa."""

    listed: Integers
    listed_left: bool = True

    def goes_left(self, numbers: Floats) -> Flags:
        """Return which numbers go left. NaN is handled by the caller."""
        return np.asarray(np.isin(numbers, self.listed) == self.listed_left)


@dataclass(frozen=True, eq=False)
class Ensemble:
    r"""Trees whose leaves sum to margins, and links from margins to predictions.

    .. math:: F_m(x) = base_m + \sum_t value_{leaf_t(x), m}

    Nodes of all trees are concatenated. Children are positions among all nodes.

    Attributes
    ----------
    roots : (t,)
        Root of each tree.
    column : (n,)
        Position of the encoding that each node tests, ``LEAF`` for leaves.
    threshold : (n,)
        Numbers up to the threshold go left. A strict comparison uses the next smaller float. Unused for
        leaves and categorical splits.
    left, right : (n,)
        Children. Unused for leaves.
    missing_left : (n,)
        Whether missing values go left.
    value : (n, k)
        Values that leaves add, including learning rate, tree weight and averaging. Unused for other nodes.
    output : (t,)
        The margin that a tree adds to if ``k == 1``. With ``k > 1`` each leaf adds to all margins.
    base : (m,)
        Margins before any tree.
    encodings : tuple of Encoding
        The columns that nodes test.
    links : mapping
        Links by response: ``"predict"``, ``"predict_proba"`` and ``"decision_function"``.
    category_set : (n,)
        Position of the tested set in ``category_sets``, -1 for splits by threshold.
    category_sets : tuple of CategorySet
        The sets of categorical splits.
    refused : mapping
        Reasons by response that the model has but that is not in ``links``.
    cover : (n,) or None
        Training weight of each node, for the path-dependent estimand.
    single_sum : bool
        Whether the library sums leaves in single precision, starting with ``base``. Averages use exact sums.
        Predictions of single rows are rounded like those of the library.
    preparation : Preparation, JoinedPreparation or None
        Preprocessing that computes the columns of the encodings, None without preprocessing.
    """

    roots: Nodes
    column: Nodes
    threshold: Floats
    left: Nodes
    right: Nodes
    missing_left: Flags
    value: Floats
    output: Nodes
    base: Floats
    encodings: tuple[Encoding, ...]
    links: Mapping[str, Link]
    category_set: Nodes = field(default_factory=lambda: np.empty(0, np.int32))
    category_sets: tuple[CategorySet, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    cover: Floats | None = None
    single_sum: bool = False
    preparation: AnyPreparation = None

    def __post_init__(self) -> None:
        if not len(self.category_set):
            object.__setattr__(self, "category_set", np.full(len(self.column), -1, np.int32))
        for name in ("roots", "column", "left", "right", "output", "category_set"):
            positions = getattr(self, name)
            if np.ndim(positions) != 1 or np.asarray(positions).dtype.kind not in "iu":
                raise RefusalError(f"its trees cannot be read: {name} are not a list of integers")
            # As kernels need them.
            object.__setattr__(self, name, np.ascontiguousarray(positions, dtype=np.int32))
        check(self)

    @cached_property
    def tree(self) -> Integers:
        """Tree of each node, ``(n,)``. Nodes of a tree need not be consecutive."""
        tree = np.zeros(len(self.column), np.int64)
        level, owner = self.roots.astype(np.int64), np.arange(len(self.roots))
        while len(level):
            tree[level] = owner
            inner = self.column[level] != LEAF
            level, owner = level[inner], np.tile(owner[inner], 2)
            level = np.concatenate([self.left[level], self.right[level]]).astype(np.int64)
        return tree

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.base)

    def sides(self, feature: int, dtype: np.dtype[Any], among: Nodes | slice = ALL) -> Array:
        """Return for each threshold of a feature the last number of a dtype left of it, and the first right.

        ``among`` selects the nodes.
        """
        tested, compares = self.column[among], self.category_set[among] < 0
        lasts: list[Array] = [np.empty(0, dtype)]
        for column, encoding in enumerate(self.encodings):
            if encoding.feature == feature:
                here = self.threshold[among][np.flatnonzero((tested == column) & compares)]
                lasts.append(_last_left(here[np.isfinite(here)], dtype, encoding.single))
                if encoding.zero_is_missing:  # numbers close to zero are missing
                    lasts.append(_last_left(np.array([-np.nextafter(ZERO, 1.0), ZERO]), dtype, False))
        last = np.unique(np.concatenate(lasts))
        step = np.nextafter(last, dtype.type(np.inf)) if dtype.kind == "f" else last + 1
        return np.unique(np.concatenate([last, step]))

    def rows(self, table: Table) -> Any:
        """Return the rows of a table after preprocessing, if there is any."""
        return table if self.preparation is None else self.preparation.table(table.native)

    @property
    def prepared_bytes(self) -> int:
        """Memory per row during preprocessing."""
        return 0 if self.preparation is None else self.preparation.row_bytes

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[Callable[[Encoding], Floats]]:
        """Return for each request a function from encodings to the numbers of some values of a feature."""
        if self.preparation is None:
            return [methodcaller("numbers", cells.column) for _, cells in requests]
        return [partial(_numbers_in_table, made) for made in self.preparation.values(requests)]

    def numbers(self, table: Table) -> Floats:
        """Return the numbers that nodes compare, ``(n, c)``."""
        table = self.rows(table)
        encoded = [encoding.read(table) for encoding in self.encodings]
        return np.stack(encoded, axis=1) if encoded else np.empty((len(table), 0))

    def leaves(self, numbers: Floats) -> Integers:
        """Return the leaf of each row in each tree, ``(n, t)``, by the reference implementation."""
        at = np.broadcast_to(self.roots, (len(numbers), len(self.roots))).astype(np.int64)
        rows = np.arange(len(numbers))[:, None]
        while (inner := self.column[at] != LEAF).any():
            x = numbers[rows, np.where(inner, self.column[at], 0)]
            went = np.where(self._goes_left(at, x), self.left[at], self.right[at])
            at = np.where(inner, went, at)
        return at

    def margins(self, numbers: Floats) -> Floats:
        """Return the margins ``(n, m)``."""
        leaves = self.leaves(numbers)
        added = np.zeros((len(numbers), self.n_margins))
        for tree in range(len(self.roots)):
            if self.value.shape[1] == 1:
                added[:, self.output[tree]] += self.value[leaves[:, tree], 0]
            else:
                added += self.value[leaves[:, tree]]
        return self.base + added

    def _goes_left(self, at: Integers, x: Floats) -> Flags:
        went = x <= self.threshold[at]
        sets = np.where(self.column[at] == LEAF, -1, self.category_set[at]).ravel()
        tests = np.flatnonzero(sets >= 0)
        tests = tests[np.argsort(sets[tests], kind="stable")]
        numbers, first = np.unique(sets[tests], return_index=True)
        for number, here in zip(numbers, np.split(tests, first[1:]), strict=False):
            went.flat[here] = self.category_sets[number].goes_left(x.flat[here])
        return np.where(np.isnan(x), self.missing_left[at], went)


def _numbers_in_table(table: Any, encoding: Encoding) -> Floats:
    return encoding.numbers(table.column(encoding.place))


def _last_left(thresholds: Floats, dtype: np.dtype[Any], single: bool) -> Array:
    """Return the largest number of a dtype that goes left of each threshold.

    With ``single``, numbers are rounded to single precision before the comparison.
    """
    whole = dtype.kind != "f"
    if not single:
        return np.floor(thresholds).astype(dtype) if whole else _largest_float_at_most(thresholds, dtype)
    below = _largest_float_at_most(thresholds, np.dtype(np.float32))
    if dtype == np.float32:
        return below
    # Numbers between two single numbers are rounded to the nearer one, the midpoint in either direction.
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    middle = np.floor(middle) if whole else middle
    before = middle - 1 if whole else np.nextafter(middle, -np.inf)
    return np.where(middle.astype(np.float32) <= thresholds, middle, before).astype(dtype)


def _largest_float_at_most(thresholds: Floats, dtype: np.dtype[Any]) -> Array:
    """Return the largest float of a dtype that is at most each threshold."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(dtype)
    return np.where(near > thresholds, np.nextafter(near, dtype.type(-np.inf)), near)


def check(ensemble: Ensemble) -> None:
    """Refuse arrays that do not form valid trees."""
    nodes, trees = len(ensemble.column), len(ensemble.roots)
    per_node: tuple[Array, ...] = (
        ensemble.threshold,
        ensemble.left,
        ensemble.right,
        ensemble.missing_left,
        ensemble.value,
        ensemble.category_set,
    )
    if ensemble.value.ndim != 2 or ensemble.base.ndim != 1:
        raise RefusalError("its trees cannot be read: leaves are not a table of values")
    if ensemble.cover is not None:
        per_node += (ensemble.cover,)
    if any(len(array) != nodes for array in per_node) or len(ensemble.output) != trees:
        raise RefusalError("its trees cannot be read: their arrays differ in length")
    width, margins = ensemble.value.shape[1], ensemble.n_margins
    if width not in (1, margins):
        raise RefusalError(f"its trees cannot be read: leaves of {width} values for {margins} margins")
    features = [encoding.feature for encoding in ensemble.encodings]
    if any(type(feature) is bool or not isinstance(feature, (int, np.integer)) for feature in features):
        raise RefusalError("its trees cannot be read: some column has no number")
    if min(features, default=0) < 0:
        raise RefusalError("its trees cannot be read: columns out of range")
    within("roots", ensemble.roots, 0, nodes)
    within("outputs", ensemble.output, 0, margins)
    within("columns", ensemble.column, LEAF, len(ensemble.encodings))
    within("sets of categories", ensemble.category_set, -1, len(ensemble.category_sets))
    inner = ensemble.column != LEAF
    places = np.flatnonzero(inner)
    left, right = ensemble.left[places], ensemble.right[places]
    children = np.concatenate([left, right])
    within("children", children, 0, nodes)
    # The nodes below a root form a tree if every other node has one parent and no node is its own ancestor.
    parents = np.bincount(children, minlength=nodes) + np.bincount(ensemble.roots, minlength=nodes)
    if (parents != 1).any():
        raise RefusalError("its trees cannot be read: some node has no parent, or several")
    # No node is its own ancestor if children follow their parents, as in most libraries.
    if not ((left > places) & (right > places)).all():
        level, reached = ensemble.roots.astype(np.int64), 0
        while len(level):  # ends, because every node has one parent
            reached += len(level)
            split = level[inner[level]]
            level = np.concatenate([ensemble.left[split], ensemble.right[split]]).astype(np.int64)
        if reached != nodes:
            raise RefusalError("its trees cannot be read: some node is its own ancestor")
    compared = inner & (ensemble.category_set < 0)
    if np.isnan(ensemble.threshold[compared]).any():
        raise RefusalError("its trees cannot be read: a threshold is NaN")
    if not np.isfinite(ensemble.value[~inner]).all() or not np.isfinite(ensemble.base).all():
        raise RefusalError("a leaf or the baseline is not finite, so no sum over leaves is")


def within(what: str, positions: Array, first: int, stop: int) -> None:
    """Refuse positions out of range, including NaN."""
    if len(positions) and not (positions.min() >= first and positions.max() < stop):
        raise RefusalError(f"its trees cannot be read: {what} out of range")

"""Models read from files, which predict without the library that wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.read import table_of
from paribus._data.table import ArrayTable, Table
from paribus._models.columns import FittedColumns
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.libraries.library import Library
from paribus._text import count
from paribus.errors import ModelError, ModelFileError, RefusalError, TableError

BLOCK_ROWS = 8_192  # rows per block, whose numbers and positions fit into a fast cache


class TreeWalk:
    """Nodes of an ensemble in which each leaf is its own child, so that a walk needs no test for leaves."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        own = np.arange(len(ensemble.column), dtype=np.int32)
        leaf = ensemble.column == LEAF
        self.column = np.where(leaf, 0, ensemble.column).astype(np.intp)
        children = np.where(leaf, own, ensemble.right), np.where(leaf, own, ensemble.left)
        self.child = np.stack(children, axis=1).ravel().astype(np.intp)
        self.threshold = np.where(leaf, np.inf, ensemble.threshold)
        self.category_set = np.where(leaf, -1, ensemble.category_set)
        self.by_category = bool((self.category_set >= 0).any())
        self.depth = _depths(ensemble)

    def margins(self, numbers: Floats) -> Floats:
        """Return the margins ``(n, m)``, summed in the order and precision of the library."""
        ensemble = self.ensemble
        precision = np.float32 if ensemble.single_sum else np.float64
        total = np.broadcast_to(ensemble.base.astype(precision), (len(numbers), ensemble.n_margins)).copy()
        value = ensemble.value.astype(precision)
        if not numbers.shape[1]:  # no tree has a split
            numbers = np.zeros((len(numbers), 1))
        flat = np.ascontiguousarray(numbers).ravel()
        start = np.arange(len(numbers)) * numbers.shape[1]
        missing = bool(np.isnan(flat).any())
        for tree, root in enumerate(ensemble.roots.tolist()):
            at = np.full(len(numbers), root, np.intp)
            for _ in range(int(self.depth[tree])):
                at = self._next(at, flat[start + self.column[at]], missing)
            if value.shape[1] == 1:
                total[:, ensemble.output[tree]] += value[at, 0]
            else:
                total += value[at]
        return total.astype(np.float64)

    def _next(self, at: Integers, x: Floats, missing: bool) -> Integers:
        """Return the next node of each row."""
        left = x <= self.threshold[at]
        if self.by_category:
            sets = self.category_set[at]
            for number in np.unique(sets[sets >= 0]).tolist():
                here = sets == number
                left[here] = self.ensemble.category_sets[number].goes_left(x[here])
        if missing:
            lost = np.isnan(x)
            left[lost] = self.ensemble.missing_left[at[lost]]
        return np.asarray(self.child[2 * at + left])


def _depths(ensemble: Ensemble) -> Integers:
    """Return the number of steps to the deepest leaf of each tree."""
    depth = np.zeros(len(ensemble.roots), np.int64)
    level, tree = ensemble.roots.astype(np.int64), np.arange(len(ensemble.roots))
    steps = 0
    while True:
        inner = ensemble.column[level] != LEAF
        level, tree = level[inner], np.tile(tree[inner], 2)
        if not len(level):
            return depth
        steps += 1
        depth[tree] = steps
        level = np.concatenate([ensemble.left[level], ensemble.right[level]]).astype(np.int64)


LONGEST_NAME = 1_000  # characters of a column name, which messages and figures show


@dataclass(frozen=True, eq=False)
class FileFacts:
    """Facts in a model file, other than the trees.

    Attributes
    ----------
    file_format : str
        Name of the format, as in ``"LightGBM text"``.
    library : Library
        The library that wrote the file.
    version : str
        Version of the library that wrote the file, empty if the file does not contain it.
    objective : str
        Name of the objective in its library.
    columns : int
        Number of columns that the model was fitted on.
    names : tuple of str or None
        Names of these columns, None if the file has none.
    categories : mapping or None
        Categories of each categorical column, None if the file does not contain them.
    numbers : frozenset of int
        Numeric columns of a model whose file does not contain categories.
    classes : array or None
        Classes of a classifier, None if the file does not name them.
    labels : {"largest", "positive"} or None
        How ``predict`` turns margins into labels, None if it does not return labels.
    several_labels : bool
        Whether the task is multilabel: labels do not exclude each other.
    """

    file_format: str
    library: Library
    version: str
    objective: str
    columns: int
    names: tuple[str, ...] | None = None
    categories: Mapping[int, Any] | None = None
    numbers: frozenset[int] = frozenset()
    classes: Array | None = None
    labels: Literal["largest", "positive"] | None = None
    several_labels: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class FileModel:
    """A model that `read_model` read from a file; its trees predict.

    Attributes
    ----------
    facts : FileFacts
        Facts other than the trees: format, objective, version of the library, columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Their names. Absent if the file has none.
    """

    predicts_in_numpy: ClassVar[bool] = True
    ensemble: Ensemble = field(repr=False)
    facts: FileFacts

    def __post_init__(self) -> None:
        """Refuse contents of damaged files: more margins than trees fill, and very long names."""
        margins, trees = self.ensemble.n_margins, len(self.ensemble.roots)
        if margins > max(1, trees, self.ensemble.value.shape[1]):
            raise ModelFileError(f"it announces {count(margins, 'output')}, and has {count(trees, 'tree')}")
        longest = max(map(len, self.facts.names or ()), default=0)
        if longest > LONGEST_NAME:
            raise ModelFileError(
                f"a name of a column has {longest:,} characters, of at most {LONGEST_NAME:,}"
            )

    @property
    def file_library(self) -> Library:
        """The library that wrote the file."""
        return self.facts.library

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self.facts.columns

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns. Absent if the file has none."""
        if self.facts.names is None:
            raise AttributeError("the file has no names of columns")
        return np.array(self.facts.names, dtype=object)

    def predict(self, X: Any, *, margin: bool = False) -> Floats:
        """Return what the library's own model returns on the scale of its objective.

        Parameters
        ----------
        X : table
            Rows, with the columns the model was fitted on; a frame may have others and another order.
        margin : bool
            Return the sum of the leaves instead, before any link.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            A prediction of each row, or one for each class or target.
        """
        if margin:
            return self._response(X, "decision_function")
        if self.facts.labels is not None:
            margins = self._margins(X)
            largest = self.facts.labels == "largest"
            return np.asarray(margins.argmax(axis=1) if largest else margins[:, 0] > 0, dtype=np.float32)
        return self._response(X, "predict")

    def _response(self, X: Any, response: str) -> Floats:
        """Return outputs in the precision of the library: ``(n,)`` for one output, else ``(n, k)``."""
        link = self.ensemble.links.get(response)
        if link is None:
            raise ModelError(f"{self!r} has no {response}: {self.ensemble.refused.get(response, '')}")
        outputs = link.apply(self._margins(X).T).T
        if self.ensemble.single_sum:
            with np.errstate(over="ignore"):
                outputs = outputs.astype(np.float32)
        return outputs[:, 0] if outputs.shape[1] == 1 else np.ascontiguousarray(outputs)

    def _margins(self, X: Any) -> Floats:
        """Return the margins ``(n, m)``, computed in blocks of rows."""
        table = self._fitted(table_of(X))
        margins = np.empty((len(table), self.ensemble.n_margins))
        for start in range(0, len(table), BLOCK_ROWS):
            block = table.slice(start, min(start + BLOCK_ROWS, len(table)))
            try:
                margins[start : start + BLOCK_ROWS] = self._walk.margins(self.ensemble.numbers(block))
            except RefusalError as error:  # about values that the library treats inconsistently
                raise ModelError(f"{self!r} does not predict these rows: {error}") from error
        return margins

    def _fitted(self, table: Table) -> Table:
        """Return the columns that the model was fitted on, in this order."""
        names, places = self.facts.names, None
        if names is not None and not isinstance(table, ArrayTable):
            places = FittedColumns(names, self.file_library).places(table.names)
        if places is None:
            if len(table.names) != self.n_features_in_:
                columns = count(len(table.names), "column")
                raise TableError(f"X has {columns}, and {self!r} was fitted on {self.n_features_in_}")
            return table
        if places != tuple(range(len(table.names))):
            picked: Table = table.pick(places)  # type: ignore[attr-defined]
            return picked
        return table

    @cached_property
    def _walk(self) -> TreeWalk:
        return TreeWalk(self.ensemble)

    def __getstate__(self) -> dict[str, Any]:
        return {"ensemble": self.ensemble, "facts": self.facts}

    def __repr__(self) -> str:
        facts, trees = self.facts, len(self.ensemble.roots)
        return (
            f"{type(self).__name__}({facts.file_format}, objective={facts.objective[:60]!r}, "
            f"{trees:,} tree{'s' * (trees != 1)}, {facts.columns:,} column{'s' * (facts.columns != 1)})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class FileClassifier(FileModel):
    """A classifier that `read_model` read from a file; its trees predict.

    Attributes
    ----------
    classes_ : array
        The classes, in the order of probabilities. Absent if the file does not name them.
    """

    @property
    def classes_(self) -> Array:
        """The classes. Absent if the file does not name them."""
        if self.facts.classes is None:
            raise AttributeError("the file does not name the classes")
        return self.facts.classes

    @property
    def multilabel_(self) -> bool:
        """Whether a row may belong to several classes."""
        return self.facts.several_labels

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, ``(n, k)``."""
        probability = self._response(X, "predict_proba")
        if probability.ndim == 1 and not self.multilabel_:
            return np.stack([1 - probability, probability], axis=1)
        return probability.reshape(len(probability), -1)

    def decision_function(self, X: Any) -> Floats:
        """Return the margins, which are the sums of leaves before any link."""
        return self._response(X, "decision_function")

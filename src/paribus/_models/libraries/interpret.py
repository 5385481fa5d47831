"""Explainable boosting machines of interpret, with each term as one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.table import Column
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.libraries.library import Library
from paribus._models.predictor import Link
from paribus.errors import RefusalError

MODELS = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor")
LINKS = {  # of predict for regressors, of predict_proba for classifiers
    "identity": Link(),
    "log": Link("exp"),
    "logit": Link("sigmoid"),
    "mlogit": Link("softmax"),
}
LABELS = "its predict gives class labels, not a sum of terms; request predict_proba"
MOST_LEAVES = 1_000_000  # per term
EXACT = 2.0**53  # larger floats are not written as integers


class Interpret(Library):
    """interpret, whose boosting machines are sums of tables over the bins of one or more features."""

    module = "interpret"
    title = "interpret"

    def importance(self, model: Any) -> Any:
        """Return None, because importances are those of terms, not of columns."""
        return None

    def read_trees(self, model: Any) -> Ensemble:
        """Return the terms of a fitted boosting machine as trees."""
        name = type(model).__name__
        if name not in MODELS:
            raise RefusalError(f"{name} is not among the models of interpret that can be read")
        if model.link_ not in LINKS:
            raise RefusalError(f"the link {model.link_!r} of {name} is not known")
        axes = [_feature_axis(model, feature) for feature in range(int(model.n_features_in_))]
        base = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
        nodes = _Nodes(len(base))
        for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
            term_axes = []
            for feature in features:
                by_size = axes[feature].by_size
                term_axes.append(by_size[min(len(by_size), len(features)) - 1])
            nodes.add_term(term_axes, np.asarray(scores, dtype=np.float64))
        classifies = name == "ExplainableBoostingClassifier"
        link = LINKS[model.link_]
        return Ensemble(
            roots=np.array(nodes.roots, np.int32),
            column=np.array(nodes.column, np.int32),
            threshold=np.array(nodes.threshold),
            left=np.array(nodes.left, np.int32),
            right=np.array(nodes.right, np.int32),
            missing_left=np.zeros(len(nodes.column), dtype=bool),  # which splits at infinity test
            value=np.array(nodes.value).reshape(-1, len(base)),
            output=np.zeros(len(nodes.roots), np.int32),
            base=base,
            encodings=tuple(axis.encoding for axis in axes),
            links={"decision_function": Link(), "predict_proba": link} if classifies else {"predict": link},
            refused={"predict": LABELS} if classifies else {},
        )


@dataclass(frozen=True, eq=False)
class _Spelled(Encoding):
    """Encoding of categories by their text, also for integers and booleans."""

    def _of_categories(self, column: Column) -> Floats:
        codes, occurring = column.factorized()
        assert isinstance(self.categories, Mapping)
        number_of = self.categories
        numbers = [number_of.get(_category_text(value, column.name), self.unseen) for value in occurring]
        return np.array(numbers, dtype=np.float64)[codes] if len(codes) else np.empty(0)


def _category_text(value: Any, name: str) -> str:
    """Return the text of a category in interpret, or refuse."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return plain
    if isinstance(plain, bool):
        return "1" if plain else "0"
    if isinstance(plain, int):
        return str(plain)
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < EXACT:
        return str(int(plain))
    raise RefusalError(f"{name!r} has the category {plain!r:.100}, which is neither text nor an integer")


@dataclass(frozen=True, eq=False)
class _TermAxis:
    """Intervals of a feature in a term: ``bins`` has the bin of each interval between ``thresholds``.

    ``missing`` is the bin of missing values, None if the encoding turns them into a number. ``size`` is the
    number of bins.
    """

    feature: int
    thresholds: Floats
    bins: Integers
    missing: int | None
    size: int


@dataclass(frozen=True, eq=False)
class _Axis:
    """Encoding of a feature, and its intervals in terms of one feature, two features, ...

    The last entry of ``by_size`` also holds for terms with more features.
    """

    encoding: Encoding
    by_size: Sequence[_TermAxis]


def _feature_axis(model: Any, feature: int) -> _Axis:
    kind, binnings = model.feature_types_in_[feature], model.bins_[feature]
    if kind == "continuous":
        intervals = []
        for cuts in map(np.asarray, binnings):
            if cuts.ndim != 1 or cuts.dtype != np.float64 or not (np.diff(cuts) > 0).all():
                raise RefusalError(f"the cuts of column {feature} are not rising numbers")
            # A number equal to a cut belongs to the upper interval.
            below = np.asarray(np.nextafter(cuts, -np.inf), dtype=np.float64)
            intervals.append(_TermAxis(feature, below, np.arange(1, len(cuts) + 2), 0, len(cuts) + 3))
        return _Axis(Encoding(feature), intervals)
    if kind not in ("nominal", "ordinal"):
        raise RefusalError(f"column {feature} is of the type {kind!r}, which is not known")
    names = list(dict.fromkeys(name for categories in binnings for name in categories))
    # As for the bins, missing is 0 and unknown categories come last.
    numbers = {name: float(number) for number, name in enumerate(names, 1)}
    encoding = _Spelled(feature, categories=numbers, unseen=len(names) + 1.0, missing=0.0)
    # Between missing values, each category and unknown categories.
    halves = np.asarray(np.arange(len(names) + 1) + 0.5, dtype=np.float64)
    intervals = []
    for categories in binnings:
        size = max(categories.values(), default=0) + 2
        bins = [0, *(categories.get(name, size - 1) for name in names), size - 1]
        intervals.append(_TermAxis(feature, halves, np.array(bins), None, size))
    return _Axis(encoding, intervals)


@dataclass
class _Nodes:
    """Concatenated nodes of the trees of all terms."""

    margins: int
    roots: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[Floats] = field(default_factory=list)

    def add_term(self, axes: Sequence[_TermAxis], scores: Floats) -> None:
        """Add a tree with the scores of a term as leaves."""
        sizes = tuple(axis.size for axis in axes)
        wanted = sizes if self.margins == 1 else (*sizes, self.margins)
        if scores.shape != wanted:
            raise RefusalError(f"a term has scores of shape {scores.shape} for bins of shape {wanted}")
        leaves = int(np.prod([len(axis.bins) + 1 for axis in axes]))
        if leaves > MOST_LEAVES:
            raise RefusalError(f"a term of {len(axes)} features has {leaves:,} combinations of bins")
        self.roots.append(self._part(axes, scores.reshape(*sizes, self.margins)))

    def _part(self, axes: Sequence[_TermAxis], scores: Floats) -> int:
        """Add the nodes that select a score by the remaining axes, and return the first of them."""
        if not axes:
            return self._node(LEAF, 0.0, scores)
        axis, pieces = axes[0], scores[axes[0].bins]
        if axis.missing is None or (pieces == scores[axis.missing]).all():
            return self._search(axes, pieces, 0, len(pieces))
        # Every number is at most infinity: only missing values go right.
        node = self._node(axis.feature, np.inf, None)
        self.left[node] = self._search(axes, pieces, 0, len(pieces))
        self.right[node] = self._part(axes[1:], scores[axis.missing])
        return node

    def _search(self, axes: Sequence[_TermAxis], pieces: Floats, first: int, stop: int) -> int:
        """Add a binary search for an interval, and return its first node. Equal intervals need no split."""
        if (pieces[first:stop] == pieces[first]).all():
            return self._part(axes[1:], pieces[first])
        middle = (first + stop) // 2
        node = self._node(axes[0].feature, float(axes[0].thresholds[middle - 1]), None)
        self.left[node] = self._search(axes, pieces, first, middle)
        self.right[node] = self._search(axes, pieces, middle, stop)
        return node

    def _node(self, column: int, threshold: float, value: Floats | None) -> int:
        self.column.append(column)
        self.threshold.append(threshold)
        self.left.append(0)
        self.right.append(0)
        self.value.append(np.zeros(self.margins) if value is None else value)
        return len(self.column) - 1

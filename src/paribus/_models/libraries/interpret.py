"""Explainable boosting machines of interpret: every term, a table over bins, is one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import Column
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.libraries.library import Library
from paribus._models.predictor import Link
from paribus.errors import RefusalError

MODELS = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor")
LINKS = {  # of a regressor's predict, or a classifier's probabilities
    "identity": Link(),
    "log": Link("exp"),
    "logit": Link("sigmoid"),
    "mlogit": Link("softmax"),
}
LABELS = "its predict gives class labels, which are no sum of terms; request predict_proba"
MOST_LEAVES = 1_000_000  # of one term
EXACT = 2.0**53  # integers from which floats are no longer spelled as integers


class Interpret(Library):
    """interpret, whose boosting machines are sums of tables over the bins of one feature or more."""

    module = "interpret"
    title = "interpret"

    def importance(self, model: Any) -> Any:
        """Return none: it reports importances of terms, not of columns."""
        return None

    def read_trees(self, model: Any) -> Ensemble:
        """Return the terms of a fitted boosting machine as trees."""
        name = type(model).__name__
        if name not in MODELS:
            raise RefusalError(f"{name} is not among the models of interpret that can be read")
        if model.link_ not in LINKS:
            raise RefusalError(f"the link {model.link_!r} of {name} is not known")
        axes = [_axes(model, feature) for feature in range(int(model.n_features_in_))]
        base = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
        nodes = _Nodes(len(base))
        for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
            own = [axes[feature].of_term(len(features)) for feature in features]
            nodes.add_term(own, np.asarray(scores, dtype=np.float64))
        link = LINKS[model.link_]
        if name == "ExplainableBoostingRegressor":
            return nodes.ensemble(base, [one.encoding for one in axes], {"predict": link}, {})
        links = {"decision_function": Link(), "predict_proba": link}
        return nodes.ensemble(base, [one.encoding for one in axes], links, {"predict": LABELS})


@dataclass(frozen=True, eq=False)
class _Spelled(Encoding):
    """Categories that are known by their text; integers and truth values have one, too."""

    def _of_categories(self, column: Column) -> Floats:
        codes, occurring = column.factorized()
        assert isinstance(self.categories, Mapping)
        known = self.categories
        numbers = [known.get(_text(value, column.name), self.unseen) for value in occurring]
        return np.array(numbers, dtype=np.float64)[codes] if len(codes) else np.empty(0)


def _text(value: Any, name: str) -> str:
    """Return a category as interpret spells it, or refuse."""
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
    """The pieces of a feature in a term: between thresholds, each with its bin.

    ``missing`` is the bin of missing values that follow no threshold, None where they are numbers as well.
    ``size`` is how many bins there are.
    """

    feature: int
    thresholds: Floats
    bins: Integers
    missing: int | None
    size: int


@dataclass(frozen=True, eq=False)
class _Axis:
    """How a feature becomes a number, and its pieces: in terms of one feature, of two, and so on."""

    encoding: Encoding
    by_size: Sequence[_TermAxis]

    def of_term(self, features: int) -> _TermAxis:
        """Return the pieces in a term of so many features: the last that are known serve all larger ones."""
        return self.by_size[min(len(self.by_size), features) - 1]


def _axes(model: Any, feature: int) -> _Axis:
    kind, binnings = model.feature_types_in_[feature], model.bins_[feature]
    if kind == "continuous":
        return _Axis(Encoding(feature), [_of_cuts(feature, np.asarray(cuts)) for cuts in binnings])
    if kind not in ("nominal", "ordinal"):
        raise RefusalError(f"column {feature} is of the type {kind!r}, which is not known")
    names = list(dict.fromkeys(name for categories in binnings for name in categories))
    # Missing is 0 and a category that is not known comes last, as among the bins.
    numbers = {name: float(number) for number, name in enumerate(names, 1)}
    encoding = _Spelled(feature, categories=numbers, unseen=len(names) + 1.0, missing=0.0)
    return _Axis(encoding, [_of_categories(feature, names, categories) for categories in binnings])


def _of_cuts(feature: int, cuts: Array) -> _TermAxis:
    """Return the pieces between cuts; a number that equals one is above it."""
    if cuts.ndim != 1 or cuts.dtype != np.float64 or not (np.diff(cuts) > 0).all():
        raise RefusalError(f"the cuts of column {feature} are not rising numbers")
    below = np.asarray(np.nextafter(cuts, -np.inf), dtype=np.float64)
    return _TermAxis(feature, below, np.arange(1, len(cuts) + 2), 0, len(cuts) + 3)


def _of_categories(feature: int, names: Sequence[str], categories: Mapping[str, int]) -> _TermAxis:
    """Return a piece for missing values, for each category and for those that are not known."""
    size = max(categories.values(), default=0) + 2
    bins = [0, *(categories.get(name, size - 1) for name in names), size - 1]
    halves = np.arange(len(bins) - 1, dtype=np.float64) + 0.5
    return _TermAxis(feature, np.asarray(halves, dtype=np.float64), np.array(bins), None, size)


@dataclass
class _Nodes:
    """The nodes of all terms, one after another."""

    margins: int
    roots: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[Floats] = field(default_factory=list)

    def add_term(self, axes: Sequence[_TermAxis], scores: Floats) -> None:
        """Add a tree whose leaves are the scores of a term."""
        sizes = tuple(axis.size for axis in axes)
        wanted = sizes if self.margins == 1 else (*sizes, self.margins)
        if scores.shape != wanted:
            raise RefusalError(f"a term has scores of shape {scores.shape} for bins of shape {wanted}")
        leaves = int(np.prod([len(axis.bins) + 1 for axis in axes]))
        if leaves > MOST_LEAVES:
            raise RefusalError(f"a term of {len(axes)} features has {leaves:,} combinations of bins")
        self.roots.append(self._part(axes, scores.reshape(*sizes, self.margins)))

    def _part(self, axes: Sequence[_TermAxis], scores: Floats) -> int:
        """Add what decides between the scores of some axes; return its first node."""
        if not axes:
            return self._node(LEAF, 0.0, scores)
        axis, pieces = axes[0], scores[axes[0].bins]
        if axis.missing is None or (pieces == scores[axis.missing]).all():
            return self._search(axes, pieces, 0, len(pieces))
        # Every number is at most infinity, so that only missing values go right.
        node = self._node(axis.feature, np.inf, None)
        self.left[node] = self._search(axes, pieces, 0, len(pieces))
        self.right[node] = self._part(axes[1:], scores[axis.missing])
        return node

    def _search(self, axes: Sequence[_TermAxis], pieces: Floats, first: int, stop: int) -> int:
        """Add a search for a piece, by halves; pieces that are alike need none."""
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

    def ensemble(
        self,
        base: Floats,
        encodings: Sequence[Encoding],
        links: Mapping[str, Link],
        refused: Mapping[str, str],
    ) -> Ensemble:
        """Complete the nodes; a missing value goes right, which decides where there is a test for it."""
        return Ensemble(
            roots=np.array(self.roots, np.int32),
            column=np.array(self.column, np.int32),
            threshold=np.array(self.threshold),
            left=np.array(self.left, np.int32),
            right=np.array(self.right, np.int32),
            missing_left=np.zeros(len(self.column), dtype=bool),
            value=np.array(self.value).reshape(-1, self.margins),
            output=np.zeros(len(self.roots), np.int32),
            base=base,
            encodings=tuple(encodings),
            links=links,
            refused=refused,
        )

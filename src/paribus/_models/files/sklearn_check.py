"""Trees of scikit-learn from a file: the check of every other ensemble, before any of them predicts.

scikit-learn follows the numbers of children and columns without looking where they point.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from paribus._contracts import Array, Integers
from paribus._models.ensemble import LEAF, Encoding, Ensemble, within
from paribus._models.estimators import attribute
from paribus._models.libraries.library import MOST_COLUMNS, counted
from paribus.errors import RefusalError

# These hand their rows on to trees that do not count the columns again.
TRUSTING = ("sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._iforest")
WORDS = 8  # of 32 bits, of a set of categories


def check_sklearn_trees(model: Any) -> None:
    """Refuse a model with a tree whose nodes point out of it, in a circle, or at columns it has not."""
    seen: dict[tuple[int, int | None], Any] = {}
    waiting: list[tuple[Any, int | None]] = [(model, None)]
    while waiting:
        one, columns = waiting.pop()
        if (id(one), columns) in seen:
            continue
        seen[id(one), columns] = one
        if _is(one, "sklearn.tree._tree", "Tree"):
            _check_tree(one, columns)
            continue
        below = _columns_below(one, columns)
        for predictor in _predictors(one):
            _check_predictor(predictor, one, below)
        waiting += [(part, below) for part in _parts(one)]


def _is(one: Any, module: str, name: str) -> bool:
    return any(base.__module__ == module and base.__name__ == name for base in type(one).__mro__)


def _columns_below(one: Any, columns: int | None) -> int | None:
    """Return how many columns the trees get that an object holds itself; None where others count them."""
    if isinstance(one, (list, tuple, dict, np.ndarray)):
        return columns
    own = attribute(one, "n_features_in_")
    trusting = any(base.__module__ in TRUSTING for base in type(one).__mro__)
    if not (trusting or attribute(one, "tree_") is not None or attribute(one, "_predictors") is not None):
        return None
    if not isinstance(own, (int, np.integer)):
        raise RefusalError(f"{type(one).__name__} has trees, and does not say of how many columns")
    known = [int(own)] if columns is None else [int(own), columns]
    chosen = attribute(one, "estimators_features_")
    if trusting and chosen is not None:
        known += [len(features) for features in chosen]
    return counted("a number of columns", min(known), 0, MOST_COLUMNS)


def _parts(one: Any) -> Iterator[Any]:
    """Yield what an object holds that may hold trees."""
    if isinstance(one, dict):
        yield from one.values()
    elif isinstance(one, (list, tuple, set, frozenset)):
        yield from one
    elif isinstance(one, np.ndarray):
        yield from one.ravel().tolist() if one.dtype == object else ()
    elif not isinstance(one, type):
        yield from getattr(one, "__dict__", {}).values()


def _predictors(one: Any) -> Iterator[Any]:
    """Yield the trees of histogram gradient boosting."""
    for trees in attribute(one, "_predictors") or ():
        yield from trees


@lru_cache(maxsize=8)
def _encodings(columns: int) -> tuple[Encoding, ...]:
    return tuple(Encoding(column) for column in range(columns))


def _check_nodes(leaf: Array, feature: Array, left: Array, right: Array, columns: int) -> None:
    """Let nodes pass for an ensemble of one tree, which is checked as every other."""
    inner = ~np.asarray(leaf, dtype=bool)
    nodes = len(inner)
    within("columns", feature[inner], 0, columns)
    within("children", np.concatenate([left[inner], right[inner]]), 0, nodes)

    def whole(numbers: Array, at_leaf: int) -> Integers:
        return np.where(inner, numbers, at_leaf).astype(np.int64)

    Ensemble(
        roots=np.zeros(1, np.int32),
        column=whole(feature, LEAF),  # type: ignore[arg-type]
        threshold=np.zeros(nodes),
        left=whole(left, 0),  # type: ignore[arg-type]
        right=whole(right, 0),  # type: ignore[arg-type]
        missing_left=np.zeros(nodes, bool),
        value=np.zeros((nodes, 1)),
        output=np.zeros(1, np.int32),
        base=np.zeros(1),
        encodings=_encodings(columns),
        links={},
    )


def _check_tree(tree: Any, columns: int | None) -> None:
    """Check a tree; more nodes than it has room for would be read from other memory."""
    if not 0 < tree.node_count <= tree.capacity or columns is None:
        raise RefusalError(
            "its trees cannot be read: a tree has no nodes, or more than there are, or no owner"
        )
    left = tree.children_left
    _check_nodes(left == -1, tree.feature, left, tree.children_right, columns)


def _check_predictor(predictor: Any, owner: Any, columns: int | None) -> None:
    """Check a tree of histogram gradient boosting, and the sets of categories it tests."""
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    leaf = nodes["is_leaf"] != 0
    _check_nodes(leaf, nodes["feature_idx"], nodes["left"], nodes["right"], columns or 0)
    tests = nodes[~leaf & (nodes["is_categorical"] != 0)]
    if not len(tests):
        return
    nominal = np.asarray(owner._bin_mapper.is_categorical_, dtype=bool)
    within("sets of categories", tests["bitset_idx"], 0, len(sets))
    within("columns", tests["feature_idx"], 0, len(nominal))
    if sets.ndim != 2 or sets.shape[1] != WORDS or not nominal[tests["feature_idx"]].all():
        raise RefusalError("its trees cannot be read: they test categories of a column that has none")

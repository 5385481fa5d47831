"""Trees held to their model where a wrong reading would show: on both sides of splits, at every category."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import CellValues, ScratchBuffer, Table
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.trees import Trees, refuse_difference
from paribus.errors import GridError, ModelError, RefusalCode, RefusalError, failure

MOST_ROWS = 224  # predicted once more when trees are read
STEPS = 10_000  # rows times trees, which bounds the time it takes to walk them
FEATURES = 32  # whose values are replaced, those of the most roots first
SMALL = 1e-30  # numbers nearer to zero are zero to a library in some kinds of table and not in others


def check_at_splits(trees: Trees, sample: Table, predict: Callable[[Any, int], Floats]) -> None:
    """Refuse trees that differ from their model in rows made of the values that decide between leaves.

    Rows of ``sample`` are repeated, and each takes, of every feature that is tested, one of the categories or
    a value next to a split, those of the roots before others. One call of ``predict`` is compared with the
    sum over leaves. A feature whose column cannot hold such values keeps its own.
    """
    ensemble = trees.ensemble
    copies = max(1, min(MOST_ROWS, STEPS // max(1, len(ensemble.roots))) // len(sample))
    rows, rng = copies * len(sample), np.random.default_rng(0)
    numbers = np.tile(ensemble.numbers(sample), (copies, 1))
    replaced: dict[int, CellValues] = {}
    index: list[Integers] = []
    for feature in _tested(ensemble):
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # of splits beyond what a column can hold
                values = _decisive(ensemble, sample, feature, rows)
            cells = sample.cells(feature, values)
            encoded = {
                column: encoding.numbers(cells.column)
                for column, encoding in enumerate(ensemble.encodings)
                if encoding.feature == feature
            }
        except (GridError, ModelError, RefusalError):
            continue  # it is held to its model by the rows of the table only
        if len(cells.column.missing):
            position = rng.permutation(rows) % len(cells.column.missing)
            for column, own in encoded.items():
                numbers[:, column] = own[position]
            replaced[feature] = cells
            index.append(position.reshape(copies, len(sample)))
    if not replaced:
        return
    table = sample.stack(copies, ScratchBuffer()).at(replaced, np.stack(index, axis=2))
    try:
        prediction = predict(table, rows)
    except Exception as error:  # whatever a foreign model raises
        raise RefusalError(
            f"its trees were read, but it fails at values next to splits: {failure(error)}",
            RefusalCode.DIFFERS,
        ) from error
    refuse_difference(trees.outputs(ensemble.margins(numbers).T).T, prediction, "at values next to splits")


def _tested(ensemble: Ensemble) -> list[int]:
    """Return the features that nodes test, those of the most roots first."""
    features = np.array([encoding.feature for encoding in ensemble.encodings] + [-1])
    found = features[ensemble.column[ensemble.column != LEAF]]
    roots = features[ensemble.column[ensemble.roots]]
    count = {int(feature): 0 for feature in np.unique(found)}
    for feature, times in zip(*np.unique(roots[roots >= 0], return_counts=True), strict=True):
        count[int(feature)] = int(times)
    return sorted(count, key=lambda feature: -count[feature])[:FEATURES]


def _decisive(ensemble: Ensemble, sample: Table, feature: int, most: int) -> Array:
    """Return values of a column that the trees separate, at most so many."""
    column = sample.column(feature)
    if column.values.dtype.kind == "b":
        return np.array([False, True])
    if column.values.dtype.kind not in "fiu":
        return _categories(ensemble, sample, feature)[:most]
    dtype = column.values.dtype
    root = np.zeros(len(ensemble.column), dtype=bool)
    root[ensemble.roots] = True
    first = ensemble.sides(feature, dtype, root)
    later = np.setdiff1d(
        np.concatenate([ensemble.sides(feature, dtype), _listed(ensemble, feature, dtype)]), first
    )
    first = _spread(first, most // 2)
    values = np.concatenate([first, _spread(later, most - len(first))])
    if dtype.kind == "f":
        small = (np.abs(values) < SMALL) & (values != 0)
        others = [0.0] * int(small.any()) + [np.nan] * int(column.missing.any())
        values = np.append(values[np.isfinite(values) & ~small], others).astype(dtype)
    return np.asarray(values)


def _spread(values: Array, most: int) -> Array:
    """Return some of many values, from all over."""
    chosen = np.linspace(0, len(values) - 1, min(len(values), most)).astype(int)
    return np.asarray(values[np.unique(chosen)])


def _categories(ensemble: Ensemble, sample: Table, feature: int) -> Array:
    """Return the categories a column may hold that the trees know.

    Where the trees know them by a hash alone, they are those of the rows at hand.
    """
    column = sample.column(feature)
    known: dict[Any, None] = {}
    for encoding in ensemble.encodings:
        if encoding.feature == feature and encoding.levels is not None:
            known.update(
                dict.fromkeys(column.levels or () if encoding.levels == "declared" else encoding.levels)
            )
    if column.levels is not None and sample.backend != "polars":  # whose columns may hold others as well
        allowed = set(column.levels)
        known = {level: None for level in known if level in allowed}
    values = np.empty(len(known), dtype=object)
    values[:] = list(known)
    return values if len(known) else column.values


def _listed(ensemble: Ensemble, feature: int, dtype: np.dtype[Any]) -> Array:
    """Return the numbers of categories that nodes list of a column of numbers."""
    if not ensemble.level_sets:
        return np.empty(0, dtype)
    columns = [
        position for position, encoding in enumerate(ensemble.encodings) if encoding.feature == feature
    ]
    here = np.isin(ensemble.column, columns)
    sets = np.unique(ensemble.level_set[here & (ensemble.level_set >= 0)])
    listed = np.concatenate([np.empty(0), *(ensemble.level_sets[number].listed for number in sets)])
    limit = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
    return np.unique(listed[(listed >= 0) & (listed <= limit)]).astype(dtype)

"""Weighted sums of tree ensembles as one ensemble: trees side by side, their values scaled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import Table
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.link import Link
from paribus._models.preprocessing.sources import joined
from paribus._models.trees import Trees, bound_of


def adds_up(structure: Any) -> bool:
    """Return whether a structure is trees whose outputs are sums of leaves, so that sums of them are, too."""
    return (
        isinstance(structure, Trees)
        and structure.link.linear
        and not structure.both
        and structure.columns is None
    )


def tree_sum(members: Sequence[Trees], weights: Sequence[Floats], constant: Floats, context: Table) -> Trees:
    """Return the trees of ``constant + sum of weights (o, m) @ outputs (m, ...)`` over some trees.

    Libraries that add up in single precision are followed only where every output is that of one member.
    """
    ensembles = [member.ensemble for member in members]
    scaled = [own * member.link.scale for own, member in zip(weights, members, strict=True)]
    base = constant + sum(own @ ensemble.base for own, ensemble in zip(scaled, ensembles, strict=True))
    encodings, columns, preparation = _encodings(ensembles, context)
    values, outputs = _values(ensembles, scaled)
    first = np.cumsum([0, *(len(ensemble.column) for ensemble in ensembles)])
    sets = np.cumsum([0, *(len(ensemble.level_sets) for ensemble in ensembles)])

    def shifted(name: str, by: Integers) -> Array:
        return np.concatenate([getattr(e, name) + by[k] for k, e in enumerate(ensembles)])

    def every(name: str) -> Array:
        return np.concatenate([getattr(ensemble, name) for ensemble in ensembles])

    level_set = [np.where(e.level_set < 0, -1, e.level_set + sets[k]) for k, e in enumerate(ensembles)]
    alone = all((own == own.astype(bool)).all() for own in scaled)
    alone = alone and bool((np.hstack(scaled).sum(axis=1) == 1).all()) and not constant.any()
    ensemble = Ensemble(
        roots=shifted("roots", first),
        column=np.concatenate(columns),
        threshold=every("threshold"),
        left=shifted("left", first),
        right=shifted("right", first),
        missing_left=every("missing_left"),
        value=values,
        output=outputs,
        base=base,
        encodings=encodings,
        links={},
        level_set=np.concatenate(level_set),
        level_sets=tuple(one for ensemble in ensembles for one in ensemble.level_sets),
        single_sum=alone and all(ensemble.single_sum for ensemble in ensembles),
        preparation=preparation,
    )
    return Trees(ensemble, Link(), None, bound_of(ensemble, Link()))


def _encodings(
    ensembles: Sequence[Ensemble], context: Table
) -> tuple[tuple[Encoding, ...], list[Array], Any]:
    """Return the encodings of all ensembles, each once, the columns of all nodes, and their preparation."""
    preparation, positions = joined([ensemble.preparation for ensemble in ensembles], context)
    known: dict[Any, int] = {}
    encodings: list[Encoding] = []
    columns = []
    for ensemble, moved in zip(ensembles, positions, strict=True):
        numbers = []
        for encoding in ensemble.encodings:
            if preparation is not None:
                encoding = replace(encoding, position=int(moved[encoding.place]))
            number = known.setdefault(_key(encoding), len(encodings))
            if number == len(encodings):
                encodings.append(encoding)
            numbers.append(number)
        at = np.array([*numbers, LEAF])  # a leaf has the last number
        columns.append(at[ensemble.column])
    return tuple(encodings), columns, preparation


def _key(encoding: Encoding) -> Any:
    """Return what two encodings share that read the same numbers."""
    values = [getattr(encoding, field.name) for field in fields(encoding)]
    return type(encoding), tuple(repr(v) if isinstance(v, (float, str)) else _identity(v) for v in values)


def _identity(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(map(repr, value.items()))
    return value if value is None or isinstance(value, (bool, int)) else id(value)


def _values(ensembles: Sequence[Ensemble], weights: Sequence[Floats]) -> tuple[Floats, Array]:
    """Return what leaves add, and the output each tree adds to, if each adds to one alone."""
    of_trees = [own[:, ensemble.output] for own, ensemble in zip(weights, ensembles, strict=True)]
    plain = all(ensemble.value.shape[1] == 1 for ensemble in ensembles)
    narrow = plain and all((own != 0).sum(axis=0).max(initial=0) <= 1 for own in of_trees)
    values, outputs = [], []
    for ensemble, own, of_tree in zip(ensembles, weights, of_trees, strict=True):
        leaves = np.where((ensemble.column == LEAF)[:, None], ensemble.value, 0.0)
        output = np.argmax(of_tree != 0, axis=0)
        if narrow:
            values.append(leaves * of_tree[output, np.arange(len(output))][ensemble.tree, None])
        elif ensemble.value.shape[1] == 1:
            values.append(leaves * of_tree.T[ensemble.tree])
        else:
            values.append(leaves @ own.T)
        outputs.append(output if narrow else np.zeros_like(output))
    return np.concatenate(values), np.concatenate(outputs)

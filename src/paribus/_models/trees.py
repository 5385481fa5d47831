"""Sums of trees, and their checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import CellValues, ScratchBuffer, Table
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import joined
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
    found = features[np.flatnonzero(np.bincount(ensemble.column - LEAF)[1:])]
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
    first = ensemble.sides(feature, dtype, ensemble.roots)
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
        if encoding.feature == feature and encoding.categories is not None:
            known.update(
                dict.fromkeys(
                    column.categories or () if encoding.categories == "declared" else encoding.categories
                )
            )
    if column.categories is not None and sample.backend != "polars":  # whose columns may hold others as well
        allowed = set(column.categories)
        known = {level: None for level in known if level in allowed}
    values = np.empty(len(known), dtype=object)
    values[:] = list(known)
    return values if len(known) else column.values


def _listed(ensemble: Ensemble, feature: int, dtype: np.dtype[Any]) -> Array:
    """Return the numbers of categories that nodes list of a column of numbers."""
    if not ensemble.category_sets:
        return np.empty(0, dtype)
    columns = [
        position for position, encoding in enumerate(ensemble.encodings) if encoding.feature == feature
    ]
    here = np.isin(ensemble.column, columns)
    sets = np.unique(ensemble.category_set[here & (ensemble.category_set >= 0)])
    listed = np.concatenate([np.empty(0), *(ensemble.category_sets[number].listed for number in sets)])
    limit = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
    return np.unique(listed[(listed >= 0) & (listed <= limit)]).astype(dtype)


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
    sets = np.cumsum([0, *(len(ensemble.category_sets) for ensemble in ensembles)])

    def shifted(name: str, by: Integers) -> Array:
        return np.concatenate([getattr(e, name) + by[k] for k, e in enumerate(ensembles)])

    def every(name: str) -> Array:
        return np.concatenate([getattr(ensemble, name) for ensemble in ensembles])

    category_set = [
        np.where(e.category_set < 0, -1, e.category_set + sets[k]) for k, e in enumerate(ensembles)
    ]
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
        category_set=np.concatenate(category_set),
        category_sets=tuple(one for ensemble in ensembles for one in ensemble.category_sets),
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


TOLERANCE = 1e-4  # of the spread of predictions, between our sum over leaves and the model's own
SINGLE, DOUBLE = 1e-5, 1e-9  # of their size: sums of leaves in single precision, and in double
LARGEST = 900.0  # the power of two that a response may reach such that sums of it do not overflow


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble, the link to the response requested, and which outputs of the link are reported.

    ``columns`` None reports them all. ``bound`` is a number that no output exceeds, None if any may. With
    ``both`` the one output is the probability of the second of two classes, and the first comes before it.
    """

    ensemble: Ensemble
    link: Link
    columns: tuple[int, ...] | None
    bound: float | None
    both: bool = False

    def outputs(self, margins: Floats, *, overwrite: bool = False) -> Floats:
        """Return the outputs ``(o, ...)`` of margins ``(m, ...)``, which ``overwrite`` allows to replace."""
        outputs = self.link.apply(margins, overwrite=overwrite)
        if self.both:
            return np.concatenate([1.0 - outputs, outputs])
        return outputs if self.columns is None else outputs[list(self.columns)]


def trees_for(
    ensemble: Ensemble, response: str, columns: tuple[int, ...] | None, sample: Table, prediction: Floats
) -> Trees:
    """Return the trees for a response, or refuse; they must predict ``sample`` as the model did.

    ``columns`` are those the adapter picked of the model's outputs, ``prediction (n, o)`` what was picked.
    """
    link = ensemble.links.get(response)
    if link is None:
        why = ensemble.refused.get(response, f"its trees do not determine {response}")
        raise RefusalError(
            why, RefusalCode.NONLINEAR_LINK if response in ensemble.refused else RefusalCode.UNSUPPORTED
        )
    both = columns is None and link.name == "sigmoid" and (ensemble.n_margins, prediction.shape[1]) == (1, 2)
    picked = None if both else _picked(ensemble, columns, prediction.shape[1])
    if picked is not None and link.linear:
        ensemble, picked = _only(ensemble, picked), None
    trees = Trees(ensemble, link, picked, bound_of(ensemble, link), both)
    try:
        ours = trees.outputs(ensemble.margins(ensemble.numbers(sample)).T).T
    except ModelError as error:
        raise RefusalError(f"its trees were read, but {error}", RefusalCode.DATA) from error
    refuse_difference(ours, prediction, f"on {len(sample)} rows")
    return trees


def refuse_difference(ours: Floats, prediction: Floats, where: str, parts: str = "trees") -> None:
    """Refuse sums over leaves, or other ``parts``, ``(n, o)`` that are not what the model predicts."""
    worst = np.abs(ours - prediction).max(initial=0.0)
    spread = np.ptp(prediction, axis=0).max(initial=0.0)
    if not worst <= TOLERANCE * spread + rounding_of(prediction):
        raise RefusalError(
            f"its {parts} were read, but their sum differs from its prediction by {worst:.2g} {where}",
            RefusalCode.DIFFERS,
        )


def rounding_of(prediction: Floats) -> float:
    """Return what a library may lose by adding leaves, which shows in the precision of its predictions."""
    finite = prediction[np.isfinite(prediction)]
    with np.errstate(over="ignore"):  # of what single precision cannot hold
        single = bool((finite.astype(np.float32) == finite).all())
    return (SINGLE if single else DOUBLE) * float(np.abs(finite).max(initial=0.0))


def _picked(ensemble: Ensemble, columns: tuple[int, ...] | None, outputs: int) -> tuple[int, ...] | None:
    if ensemble.n_margins == outputs:
        return None
    if columns is not None and len(columns) == outputs and max(columns) < ensemble.n_margins:
        return columns
    text = f"its trees add up to {ensemble.n_margins} margins, and it has {outputs} outputs"
    raise RefusalError(text, RefusalCode.UNSUPPORTED)


def _only(ensemble: Ensemble, columns: tuple[int, ...]) -> Ensemble:
    """Return the ensemble of some of the margins, which add up by themselves."""
    kept = list(columns)
    if ensemble.value.shape[1] > 1:
        output = np.zeros_like(ensemble.output)
        return replace(ensemble, value=ensemble.value[:, kept], base=ensemble.base[kept], output=output)
    positions = np.full(ensemble.n_margins, -1, np.int32)
    positions[kept] = np.arange(len(kept))
    if (positions[ensemble.output] < 0).any():
        raise RefusalError("some of its trees add to outputs that are not reported", RefusalCode.UNSUPPORTED)
    return replace(ensemble, output=positions[ensemble.output], base=ensemble.base[kept])


def bound_of(ensemble: Ensemble, link: Link) -> float | None:
    """Return a power of two that no output exceeds, None where that is not known from the link alone.

    Trees whose predictions, or squares of them, may overflow when they are added up are refused.
    """
    if link.linear:  # whose outputs are not summed row by row
        leaf, base = (float(np.abs(values).max(initial=0.0)) for values in (ensemble.value, ensemble.base))
        _bounded(2.0 * math.log2((len(ensemble.roots) * leaf + base) * abs(link.scale) + 1.0), "squares")
        return None
    if link.name in ("sigmoid", "softmax"):
        return 1.0
    if link.name == "isolation":  # of a depth, which is not negative
        return 2.0 ** math.ceil(math.log2(1.0 + abs(link.shift)))
    largest = np.zeros(len(ensemble.roots))
    leaf = ensemble.column == LEAF
    np.maximum.at(largest, ensemble.tree[leaf], np.abs(ensemble.value[leaf]).max(axis=1))
    margin = float(np.abs(ensemble.base).max() + largest.sum()) * abs(link.scale)
    exponent = margin / math.log(2.0) if link.name == "exp" else 2.0 * math.log2(margin + 1.0)
    _bounded(exponent, "predictions")
    return None


def _bounded(exponent: float, of: str) -> None:
    """Refuse trees whose predictions, or squares of them, may reach a power of two whose sums overflow."""
    if exponent > LARGEST:
        raise RefusalError(
            f"its {of} may reach 2^{exponent:.0f}, and sums of such overflow", RefusalCode.UNSUPPORTED
        )

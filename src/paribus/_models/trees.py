"""Trees with a link, their sums, and their comparison with models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.kinds import objects
from paribus._data.table import CellValues, ScratchBuffer, Table
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import joined
from paribus.errors import GridError, ModelError, RefusalCode, RefusalError, failure

MOST_ROWS = 224  # rows that are predicted to check trees
STEPS = 10_000  # rows times trees, a bound of the time for the check
FEATURES = 32  # features whose values are replaced, those of most roots first
SMALL = 1e-30  # libraries treat smaller numbers as zero in some types of tables only


def check_at_splits(trees: Trees, sample: Table, predict: Callable[[Any, int], Floats]) -> None:
    """Refuse trees whose predictions differ from those of their model next to splits.

    Rows of ``sample`` are repeated. In each row, every tested feature takes a category or a value next to a
    split, with splits of roots first. One call of ``predict`` is compared with the sum over leaves. A
    feature whose column cannot hold such values keeps its values.
    """
    ensemble = trees.ensemble
    copies = max(1, min(MOST_ROWS, STEPS // max(1, len(ensemble.roots))) // len(sample))
    rows, rng = copies * len(sample), np.random.default_rng(0)
    numbers = np.tile(ensemble.numbers(sample), (copies, 1))
    replaced: dict[int, CellValues] = {}
    index: list[Integers] = []
    for feature in _tested_features(ensemble):
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # for splits beyond the range of the dtype
                values = _values_at_splits(ensemble, sample, feature, rows)
            cells = sample.cells(feature, values)
            encoded = {
                column: encoding.numbers(cells.column)
                for column, encoding in enumerate(ensemble.encodings)
                if encoding.feature == feature
            }
        except (GridError, ModelError, RefusalError):
            continue  # this feature is checked by the rows of the table only
        if len(cells.column.missing):
            position = rng.permutation(rows) % len(cells.column.missing)
            for column, encoded_values in encoded.items():
                numbers[:, column] = encoded_values[position]
            replaced[feature] = cells
            index.append(position.reshape(copies, len(sample)))
    if not replaced:
        return
    table = sample.stack(copies, ScratchBuffer()).at(replaced, np.stack(index, axis=2))
    try:
        prediction = predict(table, rows)
    except Exception as error:  # of any class
        raise RefusalError(
            f"its trees were read, but it fails at values next to splits: {failure(error)}",
            RefusalCode.DIFFERS,
        ) from error
    refuse_difference(trees.outputs(ensemble.margins(numbers).T).T, prediction, "at values next to splits")


def _tested_features(ensemble: Ensemble) -> list[int]:
    """Return at most `FEATURES` tested features, those of most roots first."""
    features = np.array([encoding.feature for encoding in ensemble.encodings] + [-1])
    tested = features[np.flatnonzero(np.bincount(ensemble.column - LEAF)[1:])]
    roots = features[ensemble.column[ensemble.roots]]
    roots_of = {int(feature): 0 for feature in np.unique(tested)}
    for feature, times in zip(*np.unique(roots[roots >= 0], return_counts=True), strict=True):
        roots_of[int(feature)] = int(times)
    return sorted(roots_of, key=lambda feature: -roots_of[feature])[:FEATURES]


def _values_at_splits(ensemble: Ensemble, sample: Table, feature: int, most: int) -> Array:
    """Return at most ``most`` values of a column next to splits, or categories."""
    column = sample.column(feature)
    if column.values.dtype.kind == "b":
        return np.array([False, True])
    if column.values.dtype.kind not in "fiu":
        return _encoded_categories(ensemble, sample, feature)[:most]
    dtype = column.values.dtype
    first = ensemble.sides(feature, dtype, ensemble.roots)
    later = np.setdiff1d(
        np.concatenate([ensemble.sides(feature, dtype), _listed_category_numbers(ensemble, feature, dtype)]),
        first,
    )
    first = _evenly_chosen(first, most // 2)
    values = np.concatenate([first, _evenly_chosen(later, most - len(first))])
    if dtype.kind == "f":
        small = (np.abs(values) < SMALL) & (values != 0)
        others = [0.0] * int(small.any()) + [np.nan] * int(column.missing.any())
        values = np.append(values[np.isfinite(values) & ~small], others).astype(dtype)
    return np.asarray(values)


def _evenly_chosen(values: Array, most: int) -> Array:
    """Return at most ``most`` of the values, evenly spaced."""
    chosen = np.linspace(0, len(values) - 1, min(len(values), most)).astype(int)
    return np.asarray(values[np.unique(chosen)])


def _encoded_categories(ensemble: Ensemble, sample: Table, feature: int) -> Array:
    """Return the categories of the encodings that a column may hold.

    Return the values of the column if encodings have only hashes of categories.
    """
    column = sample.column(feature)
    categories: dict[Any, None] = {}
    for encoding in ensemble.encodings:
        if encoding.feature == feature and encoding.categories == "declared":
            categories.update(dict.fromkeys(column.categories or ()))
        elif encoding.feature == feature and encoding.categories is not None:
            categories.update(dict.fromkeys(encoding.categories))
    # Columns of polars may hold undeclared categories.
    if column.categories is not None and sample.backend != "polars":
        allowed = set(column.categories)
        categories = {category: None for category in categories if category in allowed}
    return objects(categories) if categories else column.values


def _listed_category_numbers(ensemble: Ensemble, feature: int, dtype: np.dtype[Any]) -> Array:
    """Return the numbers in the category sets of a numeric column."""
    if not ensemble.category_sets:
        return np.empty(0, dtype)
    columns = [column for column, encoding in enumerate(ensemble.encodings) if encoding.feature == feature]
    here = np.isin(ensemble.column, columns)
    sets = np.unique(ensemble.category_set[here & (ensemble.category_set >= 0)])
    listed = np.concatenate([np.empty(0), *(ensemble.category_sets[number].listed for number in sets)])
    limit = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
    return np.unique(listed[(listed >= 0) & (listed <= limit)]).astype(dtype)


def adds_up(structure: Any) -> bool:
    """Return whether a structure is trees whose outputs are sums of leaves, which can be joined."""
    return (
        isinstance(structure, Trees)
        and structure.link.linear
        and not structure.both
        and structure.columns is None
    )


def tree_sum(members: Sequence[Trees], weights: Sequence[Floats], constant: Floats, context: Table) -> Trees:
    """Return the trees of ``constant + sum of weights (o, m) @ outputs (m, ...)`` over some trees.

    Sums in single precision are reproduced only if every output is an output of one member.
    """
    ensembles = [member.ensemble for member in members]
    scaled = [weight * member.link.scale for weight, member in zip(weights, members, strict=True)]
    base = constant + sum(weight @ ensemble.base for weight, ensemble in zip(scaled, ensembles, strict=True))
    encodings, columns, preparation = _joined_encodings(ensembles, context)
    values, outputs = _weighted_leaves(ensembles, scaled)
    first = np.cumsum([0, *(len(ensemble.column) for ensemble in ensembles)])
    sets = np.cumsum([0, *(len(ensemble.category_sets) for ensemble in ensembles)])

    def concatenated(name: str, shift: bool = False) -> Array:
        parts = [getattr(ensemble, name) for ensemble in ensembles]
        return np.concatenate([part + by for part, by in zip(parts, first, strict=False)] if shift else parts)

    category_set = [
        np.where(e.category_set < 0, -1, e.category_set + sets[k]) for k, e in enumerate(ensembles)
    ]
    alone = all((weight == weight.astype(bool)).all() for weight in scaled)
    alone = alone and bool((np.hstack(scaled).sum(axis=1) == 1).all()) and not constant.any()
    ensemble = Ensemble(
        roots=concatenated("roots", shift=True),
        column=np.concatenate(columns),
        threshold=concatenated("threshold"),
        left=concatenated("left", shift=True),
        right=concatenated("right", shift=True),
        missing_left=concatenated("missing_left"),
        value=values,
        output=outputs,
        base=base,
        encodings=encodings,
        links={},
        category_set=np.concatenate(category_set),
        category_sets=tuple(tested for ensemble in ensembles for tested in ensemble.category_sets),
        single_sum=alone and all(ensemble.single_sum for ensemble in ensembles),
        preparation=preparation,
    )
    single = any(member.single for member in members)
    return Trees(ensemble, Link(), None, bound_of(ensemble, Link()), single=single)


def _joined_encodings(
    ensembles: Sequence[Ensemble], context: Table
) -> tuple[tuple[Encoding, ...], list[Array], Any]:
    """Return the distinct encodings of all ensembles, the columns of all nodes, and the preparation."""
    preparation, positions = joined([ensemble.preparation for ensemble in ensembles], context)
    number_of: dict[Any, int] = {}
    encodings: list[Encoding] = []
    columns = []
    for ensemble, moved in zip(ensembles, positions, strict=True):
        numbers = []
        for encoding in ensemble.encodings:
            if preparation is not None:
                encoding = replace(encoding, position=int(moved[encoding.place]))
            number = number_of.setdefault(_encoding_key(encoding), len(encodings))
            if number == len(encodings):
                encodings.append(encoding)
            numbers.append(number)
        at = np.array([*numbers, LEAF])  # LEAF indexes the last entry
        columns.append(at[ensemble.column])
    return tuple(encodings), columns, preparation


def _encoding_key(encoding: Encoding) -> Any:
    """Return a key that is equal for encodings with equal numbers."""
    key: list[Any] = [type(encoding)]
    for field in fields(encoding):
        value = getattr(encoding, field.name)
        if isinstance(value, Mapping):
            key.append(tuple(map(repr, value.items())))
        elif isinstance(value, (float, str)):
            key.append(repr(value))
        else:
            key.append(value if value is None or isinstance(value, (bool, int)) else id(value))
    return tuple(key)


def _weighted_leaves(ensembles: Sequence[Ensemble], weights: Sequence[Floats]) -> tuple[Floats, Array]:
    """Return the weighted values of leaves, and the output of each tree, zero for vector leaves."""
    of_trees = [weight[:, ensemble.output] for weight, ensemble in zip(weights, ensembles, strict=True)]
    plain = all(ensemble.value.shape[1] == 1 for ensemble in ensembles)
    narrow = plain and all((of_tree != 0).sum(axis=0).max(initial=0) <= 1 for of_tree in of_trees)
    values, outputs = [], []
    for ensemble, weight, of_tree in zip(ensembles, weights, of_trees, strict=True):
        leaves = np.where((ensemble.column == LEAF)[:, None], ensemble.value, 0.0)
        output = np.argmax(of_tree != 0, axis=0)
        if narrow:
            values.append(leaves * of_tree[output, np.arange(len(output))][ensemble.tree, None])
        elif ensemble.value.shape[1] == 1:
            values.append(leaves * of_tree.T[ensemble.tree])
        else:
            values.append(leaves @ weight.T)
        outputs.append(output if narrow else np.zeros_like(output))
    return np.concatenate(values), np.concatenate(outputs)


TOLERANCE = 1e-4  # of the difference from the model, relative to the range of predictions
SINGLE, DOUBLE = 1e-5, 1e-9  # relative rounding errors of sums in single and double precision
LARGEST = 900.0  # exponent of two of the largest response such that sums do not overflow


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble, the link to the requested response, and the reported outputs.

    ``columns`` are the reported outputs of the link, None for all. ``bound`` is a number that no output
    exceeds, None if it is unknown. With ``both``, the link returns the probability of the second class, and
    the probabilities of both classes are reported. ``single`` means that the model, or a part of it, predicts
    in single precision.
    """

    ensemble: Ensemble
    link: Link
    columns: tuple[int, ...] | None
    bound: float | None
    both: bool = False
    single: bool = False

    def outputs(self, margins: Floats, *, overwrite: bool = False) -> Floats:
        """Return the outputs ``(o, ...)`` of margins ``(m, ...)``, which may be overwritten."""
        outputs = self.link.apply(margins, overwrite=overwrite)
        if self.both:
            return np.concatenate([1.0 - outputs, outputs])
        return outputs if self.columns is None else outputs[list(self.columns)]


def trees_for(
    ensemble: Ensemble, response: str, columns: tuple[int, ...] | None, sample: Table, prediction: Floats
) -> Trees:
    """Return the trees for a response, or refuse, also if their predictions of ``sample`` differ.

    ``columns`` are the reported columns among the outputs of the model, None for all; ``prediction (n, o)``
    are these outputs.
    """
    link = ensemble.links.get(response)
    if link is None:
        why = ensemble.refused.get(response, f"its trees do not determine {response}")
        raise RefusalError(
            why, RefusalCode.NONLINEAR_LINK if response in ensemble.refused else RefusalCode.UNSUPPORTED
        )
    margins, outputs = ensemble.n_margins, prediction.shape[1]
    both = columns is None and link.name == "sigmoid" and (margins, outputs) == (1, 2)
    if both or margins == outputs:
        columns = None
    elif columns is None or len(columns) != outputs or max(columns) >= margins:
        raise RefusalError(
            f"its trees add up to {margins} margins, and it has {outputs} outputs", RefusalCode.UNSUPPORTED
        )
    if columns is not None and link.linear:
        ensemble, columns = _with_margins(ensemble, columns), None
    trees = Trees(ensemble, link, columns, bound_of(ensemble, link), both, ensemble.single_sum)
    try:
        ours = trees.outputs(ensemble.margins(ensemble.numbers(sample)).T).T
    except ModelError as error:
        raise RefusalError(f"its trees were read, but {error}", RefusalCode.DATA) from error
    refuse_difference(ours, prediction, f"on {len(sample)} rows")
    return trees


def refuse_difference(ours: Floats, prediction: Floats, where: str, parts: str = "trees") -> None:
    """Refuse sums ``(n, o)`` over trees, or other ``parts``, that differ from predictions of the model."""
    worst = np.abs(ours - prediction).max(initial=0.0)
    spread = np.ptp(prediction, axis=0).max(initial=0.0)
    if not worst <= TOLERANCE * spread + rounding_of(prediction):
        raise RefusalError(
            f"its {parts} were read, but their sum differs from its prediction by {worst:.2g} {where}",
            RefusalCode.DIFFERS,
        )


def rounding_of(prediction: Floats, *, single: bool = False) -> float:
    """Return a bound of the rounding error of sums, by the precision of the predictions.

    ``single`` means that a part of the model predicts in single precision.
    """
    finite = prediction[np.isfinite(prediction)]
    precision = SINGLE if single or is_single(finite) else DOUBLE
    return precision * float(np.abs(finite).max(initial=0.0))


def is_single(prediction: Floats) -> bool:
    """Return whether predictions are numbers of single precision."""
    with np.errstate(over="ignore"):  # of numbers beyond single precision
        return np.array_equal(prediction.astype(np.float32), prediction, equal_nan=True)


def _with_margins(ensemble: Ensemble, columns: tuple[int, ...]) -> Ensemble:
    """Return the ensemble of some of the margins."""
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
    """Return a power of two that no output exceeds, None if the link does not determine it.

    Refuse trees for which sums of predictions, or of their squares, may overflow.
    """
    if link.linear:  # outputs are not summed by rows
        leaf, base = (float(np.abs(values).max(initial=0.0)) for values in (ensemble.value, ensemble.base))
        largest_margin = (len(ensemble.roots) * leaf + base) * abs(link.scale)
        _refuse_large_exponent(2.0 * math.log2(largest_margin + 1.0), "squares")
        return None
    if link.name in ("sigmoid", "softmax"):
        return 1.0
    if link.name == "isolation":  # depths are not negative
        return 2.0 ** math.ceil(math.log2(1.0 + abs(link.shift)))
    largest = np.zeros(len(ensemble.roots))
    leaf = ensemble.column == LEAF
    np.maximum.at(largest, ensemble.tree[leaf], np.abs(ensemble.value[leaf]).max(axis=1))
    margin = float(np.abs(ensemble.base).max() + largest.sum()) * abs(link.scale)
    exponent = margin / math.log(2.0) if link.name == "exp" else 2.0 * math.log2(margin + 1.0)
    _refuse_large_exponent(exponent, "predictions")
    return None


def _refuse_large_exponent(exponent: float, of: str) -> None:
    """Refuse trees whose predictions, or their squares, may reach a power of two whose sums overflow."""
    if exponent > LARGEST:
        raise RefusalError(
            f"its {of} may reach 2^{exponent:.0f}, and sums of such overflow", RefusalCode.UNSUPPORTED
        )

"""Which raw columns each column behind preprocessing depends on, proved from the fitted steps.

If every output column depends on one raw column, moving that column moves its outputs and nothing else: what
a last step does with them together is what the pipeline does with the raw column. No transformer needs code
of its own; what must be known of one is whether each of its outputs depends on a single input, and on which.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from paribus._contracts import Flags
from paribus._models.column_subset import ColumnSubset
from paribus._models.estimators import attribute, steps_of
from paribus.errors import RefusalCode, RefusalError

Owners: TypeAlias = tuple[frozenset[int], ...]  # of each column, the raw columns it depends on

# Transformers of scikit-learn that say in the name of each output which inputs it is made of: they treat
# columns one by one, or name those they join, as PolynomialFeatures does.
NAMED = frozenset(
    (
        "Binarizer",
        "KBinsDiscretizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "MissingIndicator",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "SimpleImputer",
        "SplineTransformer",
        "StandardScaler",
        "TargetEncoder",
    )
)
TOKEN = re.compile("\u27e6(\\d+)\u27e7")  # stands in no name of a column


class Dependencies:
    """The raw columns that each output of fitted steps depends on.

    Attributes
    ----------
    owners : tuple of frozenset
        The raw columns of each output.
    joined : dict
        By raw column, the class of the first step in which it meets another.
    """

    def __init__(self, steps: Iterable[Any], table: Any, columns: int) -> None:
        self.joined: dict[int, str] = {}
        self.owners: Owners = tuple(frozenset((j,)) for j in range(columns))
        for step in steps:
            table, self.owners = self._through(step, table, self.owners)

    def _through(self, step: Any, table: Any, owners: Owners) -> tuple[Any, Owners]:
        """Return what a step makes of a table whose columns have these owners, and the owners of that."""
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return table, owners
        if type(step).__name__ == "Pipeline" and steps_of(step):
            for inner in steps_of(step):
                table, owners = self._through(inner, table, owners)
            return table, owners
        made = step.transform(table)
        name, shape = type(step).__name__, np.shape(made)
        _refuse_other_rows(step, table, made)
        if len(shape) != 2 or shape[0] != np.shape(table)[0]:
            raise RefusalError(f"{name} does not return one row per row", RefusalCode.UNSUPPORTED)
        found = self._outputs(step, table, made, owners)
        if len(found) != shape[1]:
            raise RefusalError(
                f"{name} returns {shape[1]} columns and accounts for {len(found)}", RefusalCode.UNSUPPORTED
            )
        for owner in found:
            for feature in owner if len(owner) > 1 else ():
                self.joined.setdefault(feature, name)
        return made, found

    def _outputs(self, step: Any, table: Any, made: Any, owners: Owners) -> Owners:
        name, module = type(step).__name__, type(step).__module__.split(".")[0]
        width = int(np.shape(made)[1])
        every: frozenset[int] = frozenset().union(*owners)
        if len(every) <= 1:  # whatever it does, it sees no other column
            return (every,) * width
        if isinstance(step, ColumnSubset):
            return tuple(owners[column] for column in step.columns)
        if module != "sklearn":
            return (every,) * width
        if name == "ColumnTransformer":
            return self._of_branches(step, table, owners)
        if name == "FeatureUnion":
            parts = (part for _, part in step.transformer_list if part != "drop")
            return tuple(owner for part in parts for owner in self._through(part, table, owners)[1])
        support = attribute(step, "get_support")
        if callable(support):  # a selector of columns
            return tuple(owner for owner, kept in zip(owners, support(), strict=True) if kept)
        if name == "FunctionTransformer" and (isinstance(step.func, np.ufunc) or _same(made, table)):
            return owners  # each number by itself, or none of them changed
        if name in NAMED:
            inputs = _inputs(step, len(owners))
            return tuple(frozenset().union(*(owners[j] for j in some)) for some in inputs)
        return (every,) * width

    def _of_branches(self, step: Any, table: Any, owners: Owners) -> Owners:
        """Return the owners of a ColumnTransformer's outputs: those of each branch, where it puts them."""
        outputs: dict[int, frozenset[int]] = {}
        for name, branch, columns in step.transformers_:
            places = step.output_indices_[name]
            if places.stop > places.start:
                part, positions = _chosen(table, columns)
                _, found = self._through(branch, part, tuple(owners[j] for j in positions))
                outputs.update(zip(range(places.start, places.stop), found, strict=True))
        return tuple(outputs[place] for place in sorted(outputs))


def _refuse_other_rows(step: Any, table: Any, made: Any) -> None:
    """Refuse a step that transforms half of the rows in another way than all of them."""
    chosen = np.arange(np.shape(table)[0]) % 2 == 0
    half = step.transform(_rows(table, chosen))
    if not _same(half, _rows(made, chosen)):
        raise RefusalError(
            f"{type(step).__name__} transforms a row in another way when other rows are beside it",
            RefusalCode.UNSUPPORTED,
        )


def _rows(table: Any, chosen: Flags) -> Any:
    return table.loc[chosen] if hasattr(table, "loc") else table[chosen]


def _same(one: Any, two: Any) -> bool:
    """Return whether two tables hold the same values, whatever they are held by."""
    one, two = (table.toarray() if hasattr(table, "toarray") else np.asarray(table) for table in (one, two))
    if one.shape != two.shape:
        return False
    if one.dtype.kind in "fiub" and two.dtype.kind in "fiub":
        return bool(np.array_equal(one, two, equal_nan=True))
    return bool(((one == two) | ((one != one) & (two != two))).all())


def _inputs(step: Any, columns: int) -> Iterator[list[int]]:
    """Yield the inputs that each output is made of, which the step says in its name."""
    renamed = copy.copy(step)
    if hasattr(renamed, "feature_names_in_"):
        del renamed.feature_names_in_  # it would refuse any other names
    for name in renamed.get_feature_names_out([f"\u27e6{j}\u27e7" for j in range(columns)]):
        yield [int(position) for position in TOKEN.findall(str(name))]


def _chosen(table: Any, columns: Any) -> tuple[Any, list[int]]:
    """Return the columns that a branch of a ColumnTransformer receives, and their positions."""
    names = list(map(str, getattr(table, "columns", range(np.shape(table)[1]))))
    single = isinstance(columns, (str, int, np.integer))
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):  # ends included
        first = 0 if columns.start is None else names.index(columns.start)
        stop = len(names) if columns.stop is None else names.index(columns.stop) + 1
        positions = list(range(first, stop))
    elif isinstance(columns, slice):
        positions = list(range(len(names)))[columns]
    else:
        given = np.atleast_1d(np.asarray(columns, dtype=object))
        if len(given) and all(isinstance(column, (bool, np.bool_)) for column in given):
            positions = [j for j, kept in enumerate(given) if kept]
        else:
            positions = [names.index(j) if isinstance(j, str) else range(len(names))[j] for j in given]
    wanted: Any = positions[0] if single else positions
    return (table.iloc[:, wanted] if hasattr(table, "iloc") else table[:, wanted]), positions

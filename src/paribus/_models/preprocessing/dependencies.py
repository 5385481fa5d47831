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

from paribus._data.table import Table
from paribus._models.estimators import METHODS, attribute, replaced_method, steps_of
from paribus._models.preprocessing.column_subset import ColumnSubset
from paribus._models.preprocessing.rehearsal import Rehearsal, copied, shape_of, title_of
from paribus._models.preprocessing.stand_in import by_number
from paribus.errors import RefusalCode, RefusalError

Owners: TypeAlias = tuple[frozenset[int], ...]  # of each column, the raw columns it depends on

# Transformers of scikit-learn and skrub that say in the name of each output which inputs it is made of: they
# treat columns one by one, or name those they join, as PolynomialFeatures does.
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
        "SquashingScaler",
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
        By raw column that meets others in an output: the first step where it does, and those others.
    """

    def __init__(self, steps: Iterable[Any], sample: Table) -> None:
        steps, columns = tuple(steps), len(sample.names)
        self.owners, self.joined = self._follow(steps, Rehearsal.of(sample, range(columns)), columns)
        if self.joined:
            # Once more: what is joined must move together to show that no other column moves it.
            together = _together([{feature, *met} for feature, (_, met) in self.joined.items()], columns)
            self._follow(steps, Rehearsal.of(sample, together), columns)

    def _follow(
        self, steps: tuple[Any, ...], rehearsal: Rehearsal, columns: int
    ) -> tuple[Owners, dict[int, tuple[str, frozenset[int]]]]:
        self._rehearsal = rehearsal
        self._joined: dict[int, tuple[str, frozenset[int]]] = {}
        tables, owners = rehearsal.tables, tuple(frozenset((j,)) for j in range(columns))
        for step in steps:
            tables, owners = self._through(step, tables, owners)
        del self._rehearsal
        return owners, self._joined

    def _through(self, step: Any, tables: list[Any], owners: Owners) -> tuple[list[Any], Owners]:
        """Return what a step makes of tables whose columns have these owners, and the owners of that."""
        if is_passthrough(step):
            return tables, owners
        if is_own(step) and type(step).__name__ == "FrozenEstimator":
            return self._through(step.estimator, tables, owners)
        if is_pipeline(step):
            for inner in acting_steps(step):
                tables, owners = self._through(inner, tables, owners)
            return tables, owners
        inside = self._inside(step, tables, owners)
        made = self._rehearsal.through(step, tables)
        found = self._outputs(step, tables[0], shape_of(made[0])[1], owners) if inside is None else inside
        name = title_of(step)
        if len(found) != shape_of(made[0])[1]:
            raise RefusalError(
                f"{name} returns {shape_of(made[0])[1]} columns and accounts for {len(found)}",
                RefusalCode.UNSUPPORTED,
            )
        self._rehearsal.check(step, tables, made, found)
        for owner in set(found):
            for feature in owner if len(owner) > 1 else ():
                first, met = self._joined.get(feature, (name, frozenset()))
                self._joined[feature] = first, met | (owner - {feature})
        return made, found

    def _inside(self, step: Any, tables: list[Any], owners: Owners) -> Owners | None:
        """Return the owners of the outputs of a step made of others; None for any other."""
        if not is_own(step):
            return None
        if type(step).__name__ == "ColumnTransformer":
            return self._of_branches(step, tables, owners)
        if type(step).__name__ == "FeatureUnion":
            parts = (part for _, part in step.transformer_list if not _is_dropped(part))
            made = (self._through(part, [copied(table) for table in tables], owners) for part in parts)
            return tuple(owner for _, found in made for owner in found)
        return None

    def _of_branches(self, step: Any, tables: list[Any], owners: Owners) -> Owners:
        """Return the owners of a ColumnTransformer's outputs: those of each branch, where it puts them."""
        outputs: dict[int, frozenset[int]] = {}
        for name, branch, columns in step.transformers_:
            places = step.output_indices_[name]
            if places.stop > places.start:
                positions = _positions(step, tables[0], columns)
                single = isinstance(columns, (str, int, np.integer))
                parts = [None if table is None else _chosen(table, positions, single) for table in tables]
                _, found = self._through(branch, parts, tuple(owners[j] for j in positions))
                if len(found) != places.stop - places.start:
                    raise RefusalError(
                        f"{title_of(branch)} accounts for {len(found)} of the {places.stop - places.start} "
                        f"columns that {title_of(step)} puts together",
                        RefusalCode.UNSUPPORTED,
                    )
                outputs.update(zip(range(places.start, places.stop), found, strict=True))
        return tuple(outputs[place] for place in sorted(outputs))

    def _outputs(self, step: Any, table: Any, width: int, owners: Owners) -> Owners:
        name = type(step).__name__
        every: frozenset[int] = frozenset().union(*owners)
        if isinstance(step, ColumnSubset):
            return tuple(owners[column] for column in step.columns)
        if len(every) <= 1 or not is_own(step):  # it sees no other column; or it may do anything with them
            return (every,) * width
        support = attribute(step, "get_support")
        if callable(support):  # a selector of columns
            return tuple(owner for owner, kept in zip(owners, support(), strict=True) if kept)
        if name == "TableVectorizer":
            return _reported(step, table, owners)
        if name == "FunctionTransformer":
            return owners if _treats_numbers(step, table) else (every,) * width
        if name in NAMED:
            inputs = _inputs(step, len(owners))
            return tuple(frozenset().union(*(owners[j] for j in some)) for some in inputs)
        return (every,) * width


def is_own(step: Any) -> bool:
    """Return whether a step is an object of scikit-learn or skrub that nobody changed."""
    known = type(step).__module__.split(".")[0] in ("sklearn", "skrub")
    return known and replaced_method(step, ("transform",)) is None


def is_pipeline(model: Any) -> bool:
    """Return whether a model or step is a pipeline of scikit-learn or imbalanced-learn, unchanged."""
    own = type(model).__module__.split(".")[0] in ("sklearn", "imblearn")
    whole = own and type(model).__name__ == "Pipeline" and bool(steps_of(model))
    return whole and replaced_method(model, ("transform", *METHODS)) is None


def acting_steps(pipeline: Any) -> list[Any]:
    """Return the steps of a pipeline that act when it predicts; samplers of rows act when it is fitted."""
    return [
        step
        for step in steps_of(pipeline)
        if not is_passthrough(step) and (hasattr(step, "transform") or not hasattr(step, "fit_resample"))
    ]


def is_passthrough(step: Any) -> bool:
    """Return whether a step stands for none."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _is_dropped(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"


def _together(groups: list[set[int]], columns: int) -> list[int]:
    """Return a number per column, the same for columns that some groups hold together."""
    numbers = list(range(columns))
    for group in groups:
        same = {numbers[column] for column in group}
        numbers = [min(same) if number in same else number for number in numbers]
    return numbers


def _treats_numbers(step: Any, table: Any) -> bool:
    """Return whether a FunctionTransformer provably treats each number by itself."""
    if step.func is None:
        return True
    kind = type(table)
    if step.validate and not hasattr(table, "tocsr"):
        kind = np.ndarray
    return by_number(step.func, kind, step.kw_args or {})


def _inputs(step: Any, columns: int) -> Iterator[list[int]]:
    """Yield the inputs that each output is made of, which the step says in its name."""
    renamed = copy.copy(step)
    if hasattr(renamed, "feature_names_in_"):
        del renamed.feature_names_in_  # it would refuse any other names
    if hasattr(renamed, "feature_name_combiner"):
        renamed.feature_name_combiner = "concat"  # a function may leave the name of the input out
    for name in renamed.get_feature_names_out([f"\u27e6{j}\u27e7" for j in range(columns)]):
        found = [int(position) for position in TOKEN.findall(str(name))]
        # The one output that is made of no input is the constant of a polynomial.
        yield found if found or type(step).__name__ == "PolynomialFeatures" else list(range(columns))


def _reported(step: Any, table: Any, owners: Owners) -> Owners:
    """Return the owners that skrub reports of each output; it vectorizes columns one by one."""
    header = getattr(table, "column_names", getattr(table, "columns", ()))
    names, made = attribute(step, "all_outputs_"), attribute(step, "output_to_input_")
    by_name = dict(zip(map(str, header), owners, strict=False))
    if not isinstance(names, list) or not isinstance(made, dict) or not set(made.values()) <= set(by_name):
        raise RefusalError(
            f"{title_of(step)} does not report what it makes of each column", RefusalCode.UNSUPPORTED
        )
    return tuple(by_name[made[name]] for name in names)


def _positions(step: Any, table: Any, columns: Any) -> list[int]:
    """Return the positions in a table of the columns that a branch of a ColumnTransformer receives.

    It finds those of a frame by the names they had when it was fitted, however they were chosen.
    """
    header = getattr(table, "column_names", getattr(table, "columns", None))
    fitted = attribute(step, "feature_names_in_")
    names = list(range(step.n_features_in_)) if fitted is None else list(fitted)
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):  # ends included
        first = 0 if columns.start is None else names.index(columns.start)
        stop = len(names) if columns.stop is None else names.index(columns.stop) + 1
        chosen = list(range(first, stop))
    elif isinstance(columns, slice):
        chosen = list(range(len(names)))[columns]
    else:
        given = np.atleast_1d(np.asarray(columns, dtype=object))
        if len(given) and all(isinstance(column, (bool, np.bool_)) for column in given):
            chosen = [j for j, kept in enumerate(given) if kept]
        else:
            chosen = [names.index(j) if isinstance(j, str) else range(len(names))[j] for j in given]
    if fitted is None or header is None:
        return chosen
    places = list(header)
    return [places.index(names[j]) for j in chosen]


def _chosen(table: Any, positions: list[int], single: bool) -> Any:
    """Return some columns of a table, as one dimension where a single one was chosen by itself."""
    wanted: Any = positions[0] if single else positions
    if hasattr(table, "iloc"):
        return table.iloc[:, wanted]
    if hasattr(table, "column_names") or hasattr(table, "columns"):
        import narwhals.stable.v2 as nw

        return nw.from_native(table, eager_only=True)[:, wanted].to_native()
    return table[:, wanted]

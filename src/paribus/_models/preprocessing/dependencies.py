"""Raw columns that each prepared column depends on, and their verification."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from paribus._contracts import Array, Floats, Integers
from paribus._data.column_groups import owners_of
from paribus._data.kinds import missing_objects
from paribus._data.table import CellValues, ScratchBuffer, Table
from paribus._models.parameters import METHODS, attribute, package_of, replaced_method, steps_of
from paribus.errors import FeatureError, RefusalCode, RefusalError, failure

BY_NUMBER = (np.clip, np.nan_to_num, np.round, np.where)  # elementwise functions that are not ufuncs
DENSE = ("toarray", "todense", "to_numpy")  # methods that return the same values as an array


class NotByNumberError(Exception):
    """A function that is not elementwise."""


class StandIn(NDArrayOperatorsMixin):
    """Placeholder of a table of some class; ``opened`` collects the operations that need its values."""

    def __init__(self, kind: type, opened: list[str]) -> None:
        self.__dict__.update(kind=kind, opened=opened)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance must return the class of the table
        return type(self) if "kind" not in self.__dict__ else self.__dict__["kind"]

    def __getattr__(self, name: str) -> Any:
        kind = self.__dict__["kind"]
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        if name in DENSE:
            return lambda: StandIn(np.ndarray, self.__dict__["opened"])
        if name == "values" and isinstance(getattr(kind, name), property):
            return StandIn(np.ndarray, self.__dict__["opened"])
        if name == "copy":
            return lambda: self
        if name == "astype":
            return self._as_numbers
        if name == "fillna":
            return lambda value: self._with(name, (value,))
        return self._refused(name)

    def _refused(self, name: str) -> NoReturn:
        self.__dict__["opened"].append(name)
        raise NotByNumberError(name)

    def _as_numbers(self, dtype: Any) -> StandIn:
        try:
            converts_to_numbers = isinstance(dtype, (str, type, np.dtype)) and np.dtype(dtype).kind in "fiub"
        except TypeError:  # a dtype that numpy does not know
            converts_to_numbers = False
        if not converts_to_numbers:  # conversion to categories or text may depend on other rows
            self._refused("astype")
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> StandIn:
        if method != "__call__" or options or ufunc.nout != 1 or ufunc.signature is not None:
            self._refused(ufunc.__name__)
        return self._with(ufunc.__name__, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> StandIn:
        if function not in BY_NUMBER:
            self._refused(str(function))
        return self._with(str(function), (*inputs, *options.values()))

    def _with(self, name: str, inputs: tuple[Any, ...]) -> StandIn:
        """Return the result of an elementwise operation with numbers and results from the same table."""
        for value in inputs:
            same_table = type(value) is StandIn and value.__dict__["opened"] is self.__dict__["opened"]
            if not same_table and not (value is None or isinstance(value, (bool, int, float, np.number))):
                self._refused(name)
        return self

    def __getitem__(self, key: Any) -> NoReturn:
        self._refused("__getitem__")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self._refused("__setitem__")

    def __len__(self) -> int:
        self._refused("__len__")

    def __iter__(self) -> NoReturn:
        self._refused("__iter__")

    def __bool__(self) -> bool:
        self._refused("__bool__")

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        self._refused("__array__")


def by_number(function: Callable[..., Any], kind: type, options: dict[str, Any]) -> bool:
    """Return whether a function of tables of a class is provably elementwise."""
    opened: list[str] = []
    if "type" in getattr(getattr(function, "__code__", None), "co_names", ()):
        return False  # only type() distinguishes the placeholder from a table
    try:
        made = function(StandIn(kind, opened), **options)
    except Exception:  # of any class; nothing is proved
        return False
    return type(made) is StandIn and made.__dict__["opened"] is opened and not opened


@dataclass(frozen=True)
class ColumnSubset:
    """A step that selects columns in a given order, as an array or a sparse matrix.

    With ``single``, their numbers are rounded to single precision.
    """

    columns: tuple[int, ...]
    single: bool = False

    def transform(self, table: Any) -> Any:
        """Return the columns."""
        array = table.tocsr() if hasattr(table, "tocsr") else np.asarray(table)
        with np.errstate(over="ignore"):  # the model refuses infinite numbers
            array = array.astype(np.float32) if self.single else array
        return array[:, list(self.columns)]


Owners: TypeAlias = tuple[frozenset[int], ...]  # raw columns that each column depends on

# Transformers of scikit-learn and skrub whose output names contain the names of their inputs. They transform
# columns one by one, or name all inputs of an output, such as PolynomialFeatures.
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
TOKEN = re.compile("\u27e6(\\d+)\u27e7")  # does not occur in column names


class Dependencies:
    """Raw columns that each output of fitted steps depends on.

    Attributes
    ----------
    owners : tuple of frozenset
        The raw columns of each output.
    joined : dict
        Raw columns that are combined with others in an output: the first such step, and the other columns.
    """

    def __init__(self, steps: Iterable[Any], sample: Table) -> None:
        steps, columns = tuple(steps), len(sample.names)
        first = tuple(frozenset((feature,)) for feature in owners_of(sample))
        self.owners, self.joined = self._follow(steps, Rehearsal.of(sample, range(columns)), first)
        if self.joined:
            # Once more with joined columns permuted together, to show that no other column matters.
            together = list(range(columns))  # a number per column, equal for joined ones
            for feature, (_, met) in self.joined.items():
                same = {together[column] for column in (feature, *met)}
                together = [min(same) if number in same else number for number in together]
            self._follow(steps, Rehearsal.of(sample, together), first)

    def _follow(
        self, steps: tuple[Any, ...], rehearsal: Rehearsal, owners: Owners
    ) -> tuple[Owners, dict[int, tuple[str, frozenset[int]]]]:
        self._rehearsal = rehearsal
        self._joined: dict[int, tuple[str, frozenset[int]]] = {}
        tables = rehearsal.tables
        for step in steps:
            tables, owners = self._through(step, tables, owners)
        del self._rehearsal
        return owners, self._joined

    def _through(self, step: Any, tables: list[Any], owners: Owners) -> tuple[list[Any], Owners]:
        """Return the outputs of a step for tables whose columns have these owners, and their owners."""
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
        width, name = shape_of(made[0])[1], title_of(step)
        made_of = self._outputs(step, tables[0], width, owners) if inside is None else inside
        if len(made_of) != width:
            raise _step_refusal(step, f"returns {width} columns and accounts for {len(made_of)}")
        self._rehearsal.check(step, tables, made, made_of)
        for owner in set(made_of):
            for feature in owner if len(owner) > 1 else ():
                first, met = self._joined.get(feature, (name, frozenset()))
                self._joined[feature] = first, met | (owner - {feature})
        return made, made_of

    def _inside(self, step: Any, tables: list[Any], owners: Owners) -> Owners | None:
        """Return the owners of the outputs of a step with nested steps, None for other steps."""
        if not is_own(step):
            return None
        if type(step).__name__ == "ColumnTransformer":
            return self._of_branches(step, tables, owners)
        if type(step).__name__ == "FeatureUnion":
            owners_of_outputs: list[frozenset[int]] = []
            for _, part in step.transformer_list:
                if not (isinstance(part, str) and part == "drop"):
                    _, made_of = self._through(part, [copied(table) for table in tables], owners)
                    owners_of_outputs += made_of
            return tuple(owners_of_outputs)
        return None

    def _of_branches(self, step: Any, tables: list[Any], owners: Owners) -> Owners:
        """Return the owners of the outputs of a ColumnTransformer, in the order of its outputs."""
        outputs: dict[int, frozenset[int]] = {}
        for name, branch, columns in step.transformers_:
            places = step.output_indices_[name]
            if places.stop > places.start:
                positions = _branch_positions(step, tables[0], columns)
                single = isinstance(columns, (str, int, np.integer))
                parts = [
                    None if table is None else _columns_of_native(table, positions, single)
                    for table in tables
                ]
                _, made_of = self._through(branch, parts, tuple(owners[j] for j in positions))
                width = places.stop - places.start
                if len(made_of) != width:
                    joined_by = f"columns that {title_of(step)} puts together"
                    raise _step_refusal(branch, f"accounts for {len(made_of)} of the {width} {joined_by}")
                outputs.update(zip(range(places.start, places.stop), made_of, strict=True))
        return tuple(outputs[place] for place in sorted(outputs))

    def _outputs(self, step: Any, table: Any, width: int, owners: Owners) -> Owners:
        name = type(step).__name__
        together: frozenset[int] = frozenset().union(*owners)
        if isinstance(step, ColumnSubset):
            return tuple(owners[column] for column in step.columns)
        if len(together) <= 1 or not is_own(step):  # one input, or an unknown step
            return (together,) * width
        support = attribute(step, "get_support")
        if callable(support):  # a feature selector
            return tuple(owner for owner, kept in zip(owners, support(), strict=True) if kept)
        if name == "TableVectorizer":
            return _skrub_owners(step, table, owners)
        if name == "FunctionTransformer":
            kind = np.ndarray if step.validate and not hasattr(table, "tocsr") else type(table)
            elementwise = step.func is None or by_number(step.func, kind, step.kw_args or {})
            return owners if elementwise else (together,) * width
        if name in NAMED:
            inputs = _inputs_by_name(step, len(owners))
            return tuple(frozenset().union(*(owners[j] for j in positions)) for positions in inputs)
        return (together,) * width


def is_own(step: Any) -> bool:
    """Return whether a step belongs to scikit-learn or skrub, with an unchanged ``transform``."""
    return package_of(step) in ("sklearn", "skrub") and replaced_method(step, ("transform",)) is None


def is_pipeline(model: Any) -> bool:
    """Return whether an object is a pipeline of scikit-learn or imbalanced-learn, with unchanged methods."""
    is_class = package_of(model) in ("sklearn", "imblearn") and type(model).__name__ == "Pipeline"
    return is_class and bool(steps_of(model)) and replaced_method(model, ("transform", *METHODS)) is None


def acting_steps(pipeline: Any) -> list[Any]:
    """Return the steps of a pipeline that are active in predictions. Samplers are active in ``fit`` only."""
    return [
        step
        for step in steps_of(pipeline)
        if not is_passthrough(step) and (hasattr(step, "transform") or not hasattr(step, "fit_resample"))
    ]


def is_passthrough(step: Any) -> bool:
    """Return whether a step is a placeholder that does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _inputs_by_name(step: Any, columns: int) -> Iterator[list[int]]:
    """Yield the inputs of each output, which its name contains."""
    renamed = copy.copy(step)
    if hasattr(renamed, "feature_names_in_"):
        del renamed.feature_names_in_  # it would refuse other names
    if hasattr(renamed, "feature_name_combiner"):
        renamed.feature_name_combiner = "concat"  # a function may omit the name of the input
    for name in renamed.get_feature_names_out([f"\u27e6{j}\u27e7" for j in range(columns)]):
        inputs = [int(position) for position in TOKEN.findall(str(name))]
        # Only the constant of a polynomial has no input. Otherwise all inputs are assumed.
        yield inputs if inputs or type(step).__name__ == "PolynomialFeatures" else list(range(columns))


def _skrub_owners(step: Any, table: Any, owners: Owners) -> Owners:
    """Return the owners of each output that skrub reports. It transforms columns one by one."""
    header = getattr(table, "column_names", getattr(table, "columns", ()))
    names, made = attribute(step, "all_outputs_"), attribute(step, "output_to_input_")
    by_name = dict(zip(map(str, header), owners, strict=False))
    if not isinstance(names, list) or not isinstance(made, dict) or not set(made.values()) <= set(by_name):
        raise _step_refusal(step, "does not report what it makes of each column")
    return tuple(by_name[made[name]] for name in names)


def _branch_positions(step: Any, table: Any, columns: Any) -> list[int]:
    """Return the positions in a table of the columns that a branch of a ColumnTransformer receives.

    In a frame, columns are found by their names in ``fit``, even if they were selected by position.
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


def _columns_of_native(table: Any, positions: list[int], single: bool) -> Any:
    """Return some columns of a native table, one-dimensional for a ``single`` column."""
    wanted: Any = positions[0] if single else positions
    if hasattr(table, "iloc"):
        return table.iloc[:, wanted]
    if hasattr(table, "column_names") or hasattr(table, "columns"):
        import narwhals.stable.v2 as nw

        return nw.from_native(table, eager_only=True)[:, wanted].to_native()
    return table[:, wanted]


DISTURBED = 4  # position of the first table that steps may refuse
FAR, EMPTY, DISTURBED_ROWS = 0, 1, 2  # positions of the disturbed rows, and their number
FACTOR = 1e3  # multiple of the largest number in the distant row
# Rounding error of sums in another order, as in matrix products, relative to the largest number.
SINGLE, DOUBLE = 1e-5, 1e-9


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Tables of sampled rows: all rows, every second row, a single row, and rows with permuted columns.

    ``alternate`` and ``alone`` are the rows of the second and third table, ``orders (p, i)`` the permutations
    of columns. Two disturbed tables follow: all rows with a distant and an empty row, and the empty row
    alone. They are None if steps refuse them.
    """

    tables: list[Any]
    alternate: Integers
    alone: Integers
    orders: Integers

    @classmethod
    def of(cls, sample: Table, together: Iterable[int]) -> Rehearsal:
        """Return the tables of a sample. Columns with the same number in ``together`` share a permutation."""
        rows, numbers = np.arange(len(sample)), list(together)
        rng = np.random.default_rng(0)
        sampled = {number: rng.permutation(rows) for number in sorted(set(numbers))}
        cells: dict[int, CellValues] = {}
        for feature in range(len(sample.names)):
            try:
                cells[feature] = sample.own_cells(feature)
            except FeatureError:  # columns that cannot be read are not permuted
                sampled[numbers[feature]] = rows
        orders = np.stack([sampled[number] for number in numbers])
        index = orders[list(cells)].T[None]
        mixed = sample.stack(1, ScratchBuffer()).at(cells, index)
        alternate, alone = rows[::2], rows[len(rows) // 2 :][:1]
        fewer = [sample.keep(np.isin(rows, kept)).native for kept in (alternate, alone)]
        tables = [copied(sample.native), *fewer, mixed, *_disturbed_tables(sample.native)]
        return cls(tables, alternate, alone, orders)

    def through(self, step: Any, tables: list[Any]) -> list[Any]:
        """Return the outputs of a step for the tables, None for refused disturbed tables."""
        made: list[Any] = []
        for position, table in enumerate(tables):
            if table is None:
                made.append(None)
                continue
            try:
                with np.errstate(all="ignore" if position >= DISTURBED else None):
                    made.append(step.transform(copied(table)))
            except Exception as error:  # of any class
                if position >= DISTURBED:
                    made.append(None)
                    continue
                raise _step_refusal(step, f"failed on rows of X: {failure(error)}") from error
            shape = shape_of(made[-1])
            if shape[0] != shape_of(table)[0] or shape[1] != shape_of(made[0])[1]:
                raise _step_refusal(step, "does not return one row per row, of the same columns")
        return made

    def check(
        self, step: Any, tables: list[Any], made: list[Any], owners: tuple[frozenset[int], ...]
    ) -> None:
        """Refuse a step that depends on other rows, is random, or depends on columns beyond ``owners``."""
        whole, scale = made[0], _column_rounding(made[0])
        compared = [(made[1], whole, self.alternate), (made[2], whole, self.alone)]
        if made[-2] is not None:
            still = np.arange(DISTURBED_ROWS, len(self.orders[0]))
            compared.append((_rows_of_matrix(made[-2], still), whole, still))
        if made[-2] is not None and made[-1] is not None:
            compared.append((made[-1], made[-2], np.array([EMPTY])))
        for fewer, beside, kept in compared:
            if not _equal_tables(fewer, _rows_of_matrix(beside, kept), scale):
                again = self.through(step, tables[:1])[0]
                why = "transforms a row differently together with other rows"
                if not _equal_tables(again, whole, scale):
                    why = "transforms the same rows differently each time"
                raise _step_refusal(step, why)
        # Outputs of several features with different permutations are not compared.
        source = [min(owner, default=-1) for owner in owners]
        comparable = [
            column
            for column, owner in enumerate(owners)
            if len({self.orders[feature].tobytes() for feature in owner}) <= 1
        ]
        mixed = _columns_of_matrix(made[3], comparable)
        expected = _columns_of_matrix(self._exchanged(whole, source), comparable)
        if not _equal_tables(mixed, expected, scale[comparable] if len(scale) == len(owners) else scale):
            raise _step_refusal(step, "makes columns that change with others than they are made of")

    def _exchanged(self, made: Any, source: list[int]) -> Any:
        """Return a table whose columns are permuted like the features in ``source``."""
        still = np.arange(self.orders.shape[1])
        orders = np.concatenate([self.orders, still[None]])  # the last one is for outputs without input
        if not _is_sparse(made):
            return np.take_along_axis(_as_matrix(made), orders[source].T, axis=0)
        entries, places = made.tocoo(), np.argsort(orders, axis=1)
        rows = places[np.array(source)[entries.col], entries.row]
        return type(entries)((entries.data, (rows, entries.col)), shape=entries.shape)


def _disturbed_tables(native: Any) -> list[Any]:
    """Return the rows with a distant row and an empty row, and the empty row alone."""
    frame = hasattr(native, "iloc")
    if len(native) <= DISTURBED_ROWS or not (frame or isinstance(native, np.ndarray)):
        return [None, None]
    made = copied(native)
    cells = made.iloc if frame else made
    for position in range(made.shape[1]):
        dtype = cells[:, position].dtype
        if dtype.kind != "f":  # encoders may warn about missing text
            continue
        size = np.abs(np.asarray(cells[:, position], dtype=np.float64))
        far = FACTOR * np.max(np.where(np.isfinite(size), size, 0.0))
        # A frame refuses numbers that its dtype must round.
        single = isinstance(dtype, np.dtype)
        cells[FAR, position] = dtype.type(min(far, np.finfo(dtype).max / 2)) if single else far
        cells[EMPTY, position] = np.nan
    return [made, cells[[EMPTY]]]


def title_of(step: Any) -> str:
    """Return the class name of a step, with the function of a FunctionTransformer."""
    function = getattr(step, "func", None)
    if type(step).__name__ != "FunctionTransformer" or function is None:
        return type(step).__name__
    return f"FunctionTransformer({getattr(function, '__name__', type(function).__name__)})"


def _step_refusal(step: Any, why: str) -> RefusalError:
    """Return a refusal that names a step."""
    return RefusalError(f"{title_of(step)} {why}", RefusalCode.UNSUPPORTED, title_of(step))


def shape_of(table: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns. A one-dimensional array has one column."""
    shape = tuple(map(int, np.shape(table)))
    if len(shape) > 2 or not shape:
        raise RefusalError(f"a step returns an array of shape {shape}", RefusalCode.UNSUPPORTED)
    return (shape[0], shape[1]) if len(shape) == 2 else (shape[0], 1)


def copied(table: Any) -> Any:
    """Return a copy that a step may modify. Tables of polars and Arrow are immutable."""
    if isinstance(table, np.ndarray) or hasattr(table, "iloc") or hasattr(table, "tocsr"):
        return table.copy()
    return table


def _is_sparse(table: Any) -> bool:
    return hasattr(table, "tocsr")


def _as_matrix(table: Any) -> Array:
    values = np.asarray(table, dtype=object if isinstance(table, list) else None)
    return values[:, None] if values.ndim == 1 else values


def _rows_of_matrix(table: Any, kept: Integers) -> Any:
    return table.tocsr()[kept] if _is_sparse(table) else _as_matrix(table)[kept]


def _columns_of_matrix(table: Any, places: list[int]) -> Any:
    return table.tocsc()[:, places] if _is_sparse(table) else _as_matrix(table)[:, places]


def _stored_entries(table: Any) -> tuple[Array, Array, Array]:
    """Return row pointers, indices and data of a sparse table. Stored zeros are kept."""
    table = table.tocsr().copy()
    table.sum_duplicates()
    return table.indptr, table.indices, table.data


def _column_rounding(table: Any) -> Floats:
    """Return a bound of rounding errors for each column, or for all columns of a sparse table."""
    values = table.data[:, None] if _is_sparse(table) else _as_matrix(table)
    if values.dtype.kind not in "fiub":
        return np.zeros(values.shape[1])
    largest = np.abs(np.where(np.isfinite(values), values, 0)).max(axis=0, initial=0)
    return np.asarray(largest * (SINGLE if values.dtype == np.float32 else DOUBLE), dtype=np.float64)


def _equal_tables(table: Any, other: Any, rounding: Floats) -> bool:
    """Return whether two tables have equal values up to rounding, in any format."""
    if _is_sparse(table) and _is_sparse(other):
        *places, data = _stored_entries(table)
        *other_places, other_data = _stored_entries(other)
        same = all(map(np.array_equal, places, other_places))
        return same and _equal_tables(data[:, None], other_data[:, None], rounding)
    left, right = (t.toarray() if _is_sparse(t) else _as_matrix(t) for t in (table, other))
    if left.shape != right.shape:
        return False
    if left.dtype.kind not in "fiub" or right.dtype.kind not in "fiub":
        gaps, other_gaps = (missing_objects(matrix.astype(object).ravel()) for matrix in (left, right))
        pairs = zip(left.ravel()[~gaps], right.ravel()[~other_gaps], strict=False)
        return np.array_equal(gaps, other_gaps) and all(np.array_equal(*pair) for pair in pairs)
    return bool(np.isclose(left, right, rtol=0.0, atol=rounding, equal_nan=True).all())

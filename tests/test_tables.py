"""The table as it is: every kind of column, in every library."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import paribus
from conftest import by_hand, numbers
from paribus.data.table import Scratch, table_of

COLUMNS = [
    "count",
    "small",
    "nullable",
    "flag",
    "level",
    "city",
    "gap",
    "single",
    "day",
    "zoned",
    "wait",
    "constant",
    "mostly",
]
KINDS = {
    "count": "integer",
    "small": "integer",
    "nullable": "integer",
    "flag": "boolean",
    "level": "category",
    "city": "string",
    "day": "datetime",
    "zoned": "datetime",
    "wait": "datetime",
}


def libraries(frame):
    polars = pl.from_pandas(frame).with_columns(pl.col("level").cast(pl.Enum(["low", "mid", "high"])))
    return {"pandas": frame, "polars": polars, "pyarrow": pa.Table.from_pandas(frame, preserve_index=False)}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_column_equals_the_slow_obvious_way(awkward, library, column):
    effect = paribus.partial_dependence(numbers, libraries(awkward)[library], column, grid_resolution=12)
    assert effect.kinds == (KINDS.get(column, "numeric"),)
    assert np.isfinite(effect.average).all()
    grid = effect.grid_values[0]
    assert not pd.isna(grid).any()
    for value, average in list(zip(grid, effect.average[0], strict=True))[:: max(1, len(grid) // 4)]:
        value = pd.Timestamp(value).tz_localize("UTC") if column == "zoned" else value
        assert average == pytest.approx(by_hand(numbers, awkward, column, value), rel=1e-12)
    share = awkward[column].isna().mean()
    if share:
        assert effect.missing.share == pytest.approx(share)
        assert effect.missing.average[0] == pytest.approx(by_hand(numbers, awkward, column, None), rel=1e-12)
    else:
        assert effect.missing is None


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_model_sees_the_dtypes_it_was_fitted_on(awkward, library):
    table = libraries(awkward)[library]
    seen = []

    def model(given):
        assert type(given) is type(table)
        seen.append(given)
        return np.zeros(len(given))

    paribus.effects(model, table, grid_resolution=5)
    schemas = [t.dtypes.to_dict() if library == "pandas" else t.schema for t in seen]
    assert len(schemas) > 5
    want = table.dtypes.to_dict() if library == "pandas" else table.schema
    assert all(schema == want for schema in schemas)


def test_pandas_row_labels_stay_with_their_rows(awkward):
    frame = awkward.set_index(pd.Index([f"row {i}" for i in range(len(awkward))]))
    weights = pd.Series(np.arange(len(frame)) * 1.0, index=frame.index)
    effect = paribus.partial_dependence(lambda t: weights.loc[t.index].to_numpy(), frame, "gap")
    assert effect.average == pytest.approx(weights.mean())


def test_every_missing_value_is_the_one_the_model_knows():
    frame = pd.DataFrame({"a": pd.Series(["x", None, "y"] * 5, dtype=object), "b": range(15)})
    seen = []

    def model(table):
        seen.extend(v for v in table["a"] if not isinstance(v, str))
        return np.zeros(len(table))

    paribus.partial_dependence(model, frame, "a")
    assert seen
    assert all(v is None for v in seen)


def test_objects_are_read_by_what_they_hold():
    day = datetime.date(2026, 1, 1)
    rows = [[1, 1.5, "a", True, day, 1], [2, None, None, False, day, "x"], [3, 2.5, "b", True, day, 2.5]]
    table = table_of(np.array(rows, dtype=object))
    kinds = [table.column(j).kind for j in range(6)]
    assert kinds == ["integer", "numeric", "string", "boolean", "datetime", "string"]
    effect = paribus.partial_dependence(lambda t: np.array([float(v or 9) for v in t[:, 1]]), table.native, 1)
    assert effect.missing.average == pytest.approx([9.0])
    seen = set()
    paribus.partial_dependence(lambda t: [seen.add(type(v)) or 0.0 for v in t[:, 4]], table.native, 4)
    assert seen == {datetime.date}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_arrays_keep_their_dtype(rng, dtype):
    X = rng.integers(0, 2 if dtype == "bool" else 60, (50, 3)).astype(dtype)

    def model(table):
        assert table.dtype == X.dtype
        return table[:, 0] * 1.0

    effect = paribus.partial_dependence(model, X, 0, grid_resolution=5)
    assert effect.average[0] == pytest.approx(effect.grid_values[0].astype(float))


def test_text_arrays():
    X = np.array([["a", "x"], ["b", "y"], ["a", "y"]])
    effect = paribus.partial_dependence(lambda t: (t[:, 0] == "a") * 1.0, X, 0)
    assert list(effect.grid_values[0]) == ["a", "b"]
    assert effect.average.tolist() == [[1.0, 0.0]]


def test_nested_lists_are_a_table():
    effect = paribus.partial_dependence(lambda t: t[:, 0], [[1.0, 2.0], [3.0, 4.0]], 0)
    assert effect.average.tolist() == [[1.0, 3.0]]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros(5), "rows and columns"),
        (np.zeros((0, 3)), "0 rows"),
        (np.zeros((3, 0)), "0 columns"),
        (np.zeros((2, 2), dtype=complex), "complex"),
        ([[1, 2], [3]], "table"),
        (pl.LazyFrame({"a": [1]}), "collect()"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique"),
        (pd.DataFrame({"a": []}), "0 rows"),
    ],
)
def test_what_is_no_table_is_refused(X, words):
    with pytest.raises(paribus.TableError, match=words.replace("(", r"\(").replace(")", r"\)")):
        paribus.partial_dependence(lambda t: np.zeros(len(t)), X, 0)


def test_nested_columns_are_refused_only_when_varied():
    table = pl.DataFrame({"a": [1.0, 2.0], "list": [[1], [2, 3]]})
    assert paribus.partial_dependence(lambda t: t["a"], table, "a").average.tolist() == [[1.0, 2.0]]
    with pytest.raises(paribus.FeatureError, match="cannot be varied"):
        paribus.partial_dependence(lambda t: t["a"], table, "list")


def test_decimals():
    from decimal import Decimal

    values = [Decimal("1.50"), None, Decimal("2.50")]
    for table in (pl.DataFrame({"d": values}), pa.table({"d": values})):
        effect = paribus.partial_dependence(
            lambda t: (
                [float(v or 7) for v in t["d"].to_pylist()]
                if hasattr(t["d"], "to_pylist")
                else [float(v or 7) for v in t["d"]]
            ),
            table,
            "d",
        )
        assert effect.grid_values[0].tolist() == [1.5, 2.5]
        assert effect.average.tolist() == [[1.5, 2.5]]
        assert effect.missing.average.tolist() == [7.0]


def test_null_and_nan_are_both_missing():
    table = pl.DataFrame({"f": [1.0, float("nan"), None, 2.0]})
    effect = paribus.partial_dependence(lambda t: t["f"].fill_nan(None).fill_null(5.0), table, "f")
    assert effect.missing.share == 0.5
    assert effect.grid_values[0].tolist() == [1.0, 2.0]


def test_blocks_and_cells_travel(awkward):
    for table in (*libraries(awkward).values(), awkward[["gap", "count"]].to_numpy()):
        read = table_of(table)
        again = pickle.loads(pickle.dumps(read.slice(3, 20)))
        assert len(again) == 17
        assert (again.column(0).values == read.slice(3, 20).column(0).values).all()
    assert pickle.loads(pickle.dumps(Scratch())).buffer is None


def test_fingerprints_tell_data_apart(awkward):
    def print_of(table, **arguments):
        effect = paribus.partial_dependence(lambda t: np.zeros(len(t)), table, 0, **arguments)
        return effect.provenance.fingerprint

    for table in libraries(awkward).values():
        assert print_of(table) == print_of(table)
    changed = awkward.copy()
    changed.loc[7, "city"] = "Bern" if changed.loc[7, "city"] != "Bern" else "Genf"
    assert print_of(awkward) != print_of(changed)
    weights = np.ones(len(awkward))
    assert print_of(awkward, sample_weight=weights) != print_of(awkward, sample_weight=2 * weights)


def test_models_may_read_the_codes_behind_levels(awkward):
    for table in libraries(awkward).values():

        def codes(given):
            frame = given if isinstance(given, pd.DataFrame) else given.to_pandas()
            return frame["level"].cat.codes.to_numpy(float)

        effect = paribus.partial_dependence(codes, table, "level", custom_values={"level": ["high", "low"]})
        assert effect.average.tolist() == [[2.0, 0.0]]

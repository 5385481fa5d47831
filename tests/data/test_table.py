"""The table as it is: every kind of column, in every library."""

import datetime
import pickle
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import paribus
from conftest import by_hand, numbers
from paribus._data.read import table_of
from paribus._data.table import ScratchBuffer

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
def test_every_column_equals_slow_obvious_way(awkward, library, column):
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
def test_model_sees_dtypes_it_was_fitted_on(awkward, library):
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


def test_table_pandas_row_labels_stay_with_their_rows(awkward):
    frame = awkward.set_index(pd.Index([f"row {i}" for i in range(len(awkward))]))
    weights = pd.Series(np.arange(len(frame)) * 1.0, index=frame.index)
    effect = paribus.partial_dependence(lambda t: weights.loc[t.index].to_numpy(), frame, "gap")
    assert effect.average == pytest.approx(weights.mean())
    assert "one point at a time" in effect.notes[-1]
    plain = awkward.reset_index(drop=True)
    effect = paribus.partial_dependence(lambda t: 2.0 * t.index.to_numpy(), plain, "gap")
    assert effect.average == pytest.approx(2 * plain.index.to_numpy().mean())


def test_table_models_may_write_by_row_label():
    frame = pd.DataFrame({"a": [1.0, 2, 3] * 5, "c": ["x", "y", "z"] * 5})

    def model(table):
        score = pd.Series(0.0, index=table.index)
        score.loc[table[table["c"] == "x"].index] = 1.0
        return score

    effect = paribus.partial_dependence(model, frame, "c")
    assert effect.average.tolist() == [[1.0, 0.0, 0.0]]
    assert not effect.notes


def test_table_model_that_compares_rows_is_noted(rng):
    effect = paribus.partial_dependence(lambda t: t[:, 0] - np.cumsum(t[:, 1]), rng.normal(size=(50, 2)), 0)
    assert "depends on other rows" in effect.notes[-1]


def test_table_every_missing_value_is_one_model_knows():
    frame = pd.DataFrame({"a": pd.Series(["x", None, "y"] * 5, dtype=object), "b": range(15)})
    seen = []

    def model(table):
        seen.extend(v for v in table["a"] if not isinstance(v, str))
        return np.zeros(len(table))

    paribus.partial_dependence(model, frame, "a")
    assert seen
    assert all(v is None for v in seen)


def test_table_objects_are_read_by_what_they_hold():
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


def test_table_text_arrays():
    X = np.array([["a", "x"], ["b", "y"], ["a", "y"]])
    effect = paribus.partial_dependence(lambda t: (t[:, 0] == "a") * 1.0, X, 0)
    assert list(effect.grid_values[0]) == ["a", "b"]
    assert effect.average.tolist() == [[1.0, 0.0]]


def test_nested_lists_are_table():
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
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique"),
        (pd.DataFrame({"a": []}), "0 rows"),
    ],
)
def test_what_is_no_table_is_refused(X, words):
    with pytest.raises(paribus.errors.TableError, match=words.replace("(", r"\(").replace(")", r"\)")):
        paribus.partial_dependence(lambda t: np.zeros(len(t)), X, 0)


def test_nested_columns_are_refused_only_when_varied():
    table = pl.DataFrame({"a": [1.0, 2.0], "list": [[1], [2, 3]]})
    assert paribus.partial_dependence(lambda t: t["a"], table, "a").average.tolist() == [[1.0, 2.0]]
    with pytest.raises(paribus.errors.FeatureError, match="cannot be varied"):
        paribus.partial_dependence(lambda t: t["a"], table, "list")


def test_table_decimals():
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


def test_table_null_and_nan_are_both_missing():
    table = pl.DataFrame({"f": [1.0, float("nan"), None, 2.0]})
    effect = paribus.partial_dependence(lambda t: t["f"].fill_nan(None).fill_null(5.0), table, "f")
    assert effect.missing.share == 0.5
    assert effect.grid_values[0].tolist() == [1.0, 2.0]


def test_table_blocks_and_cells_travel(awkward):
    for table in (*libraries(awkward).values(), awkward[["gap", "count"]].to_numpy()):
        read = table_of(table)
        again = pickle.loads(pickle.dumps(read.slice(3, 20)))
        assert len(again) == 17
        assert (again.column(0).values == read.slice(3, 20).column(0).values).all()
    assert pickle.loads(pickle.dumps(ScratchBuffer())).buffer is None


def test_table_fingerprints_report_data_apart(awkward):
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


def test_table_models_may_read_codes_behind_categories(awkward):
    for table in libraries(awkward).values():

        def codes(given):
            frame = given if isinstance(given, pd.DataFrame) else given.to_pandas()
            return frame["level"].cat.codes.to_numpy(float)

        effect = paribus.partial_dependence(codes, table, "level", custom_values={"level": ["high", "low"]})
        assert effect.average.tolist() == [[2.0, 0.0]]


def zero(table):
    return np.zeros(len(table))


def odd_columns():
    """Columns people really have, by the value a model must keep seeing."""
    ten = np.arange(10)
    return {
        "zone": pd.Series(pd.date_range("2026-01-01", periods=10, tz="America/New_York")),
        "fixed zone": pd.Series(pd.date_range("2026-01-01", periods=10, tz="Etc/GMT+5")),
        "nanoseconds": pd.Series(pd.date_range("2026-01-01", periods=10, unit="ns")),
        "date32": pd.Series(pd.date_range("2026-01-01", periods=10)).dt.date.astype(
            pd.ArrowDtype(pa.date32())
        ),
        "category of dates": pd.Series(pd.Categorical(pd.date_range("2026-01-01", periods=10))),
        "category of numbers": pd.Series(pd.Categorical(ten % 3)),
        "category of a mixture": pd.Series(pd.Categorical([1, "a"] * 5)),
        "intervals": pd.Series(pd.cut(ten, 3)),
        "mixture": pd.Series([1, "a", None, 2.5, "b"] * 2, dtype=object),
        "unsigned": pd.Series(np.uint64(2**63) + ten.astype("uint64")),
        "large": pd.Series(2**60 + ten),
        "bytes": pd.Series([b"a", b"b"] * 5, dtype=object),
        "arrow text": pd.Series(["a", None] * 5, dtype="string[pyarrow]"),
        "arrow numbers": pd.Series([1.5, None] * 5, dtype=pd.ArrowDtype(pa.float64())),
        "nullable flags": pd.array([True, None] * 5, dtype="boolean"),
        "flags as objects": pd.Series([True, None] * 5, dtype=object),
        "decimals": pd.Series([Decimal("1.5"), Decimal("NaN"), Decimal("3")] * 3 + [None], dtype=object),
        "stamps": pd.Series([pd.Timestamp("2026-01-01"), pd.NaT] * 5, dtype=object),
        "half": pd.Series(ten.astype("float16")),
        "all missing": pd.Series([np.nan] * 10),
        "all infinite": pd.Series([np.inf] * 10),
    }


@pytest.mark.parametrize("name", odd_columns())
@pytest.mark.parametrize("resolution", [4, 100])
def test_odd_columns_work_and_do_not_disturb_others(name, resolution, tmp_path):
    frame = pd.DataFrame({"odd": odd_columns()[name], "plain": np.arange(10.0)})
    types = {type(v) for v in frame["odd"]}
    seen = []

    def model(table):
        assert table.dtypes.equals(frame.dtypes)
        seen.extend(table["odd"])
        return table["plain"].to_numpy() * 2.0

    for features in ("odd", "plain", ["plain", "odd"]):
        effect = paribus.partial_dependence(model, frame, features, grid_resolution=resolution)
        assert np.isfinite(effect.average).all()
        assert effect.support.sum() <= 10
        effect.save(tmp_path / "effect.json")
        assert paribus.load(tmp_path / "effect.json") == effect
        for backend in ("pandas", "polars", "pyarrow"):
            assert len(effect.to_frame(backend=backend)) >= effect.support.size
    assert {type(v) for v in seen} <= types
    alone = paribus.partial_dependence(model, frame, "odd", grid_resolution=100)
    if len(alone.grid_values[0]) > 1:
        assert alone.support.sum() + (alone.missing.support if alone.missing else 0) == 10


def test_table_integers_beyond_floats_are_counted_and_requested_exactly():
    ids = 2**60 + np.arange(300) % 3
    effect = paribus.partial_dependence(zero, pd.DataFrame({"id": ids}), "id")
    assert effect.support.tolist() == [100, 100, 100]
    spread = 2**62 + np.arange(1000)
    effect = paribus.partial_dependence(zero, pd.DataFrame({"id": spread}), "id", grid_resolution=11)
    assert effect.support[1:-1].min() >= 80
    near = (2**63 - 1 - 10 * np.arange(60))[:, None]
    values = paribus.partial_dependence(zero, near, 0, grid_resolution=10).grid_values[0]
    assert near.min() <= values[0] < values[-1] <= near.max()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Series([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 3, dtype=object), "time zone"),
        (pd.Series([[1], [2], [3]], dtype=object), "cannot be varied"),
        (pd.Series([2**70, 1, 2], dtype=object), "64 bits"),
        (pd.Series([1 + 1j, 2, 3]), "cannot be varied"),
    ],
)
def test_columns_that_cannot_be_varied_say_so_and_are_skipped_among_all(column, words):
    frame = pd.DataFrame({"odd": column, "plain": [1.0, 2.0, 3.0]})
    with pytest.raises(paribus.errors.FeatureError, match=words):
        paribus.partial_dependence(lambda t: t["plain"], frame, "odd")
    effects = paribus.effects(lambda t: t["plain"], frame)
    assert list(effects) == ["plain"]
    assert words in effects.skipped[0]
    assert words in effects.notes[0]
    assert "skipped: " in repr(effects)
    with pytest.raises(paribus.errors.FeatureError, match="no column"):
        paribus.effects(lambda t: np.zeros(len(t)), frame[["odd"]])


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["new", "c", "b", "a"])])
def test_text_of_polars_that_first_occurs_in_a_late_row_has_its_code(dtype):
    pl.Series(["b", "elsewhere"], dtype=pl.Categorical)  # a table in the same pool of categories
    texts = ["c", None, *"ab" * 5000, "new", "c"]
    column = table_of(pl.DataFrame({"a": pl.Series(texts, dtype=dtype)})).column(0)
    codes, occurring = column.factorized()
    present = [text for text in texts if text is not None]
    assert [occurring[code] for code in codes] == column.values.tolist() == present
    assert sorted(occurring) == ["a", "b", "c", "new"]


def test_table_numbers_beyond_64_bits_of_polars_are_refused():
    table = pl.DataFrame({"a": pl.Series([1, 2, 3], dtype=pl.Int128)})
    with pytest.raises(paribus.errors.FeatureError, match="Int128"):
        paribus.partial_dependence(zero, table, "a")


def test_table_missing_objects_of_every_kind():
    column = np.array(
        [1.0, None, np.nan, pd.NA, pd.NaT, np.timedelta64("NaT", "s"), Decimal("NaN")], dtype=object
    )
    effect = paribus.partial_dependence(zero, column[:, None], 0)
    assert effect.missing.support == 6


def test_table_masked_arrays_are_refused():
    masked = np.ma.masked_values([[1.0, 2.0], [-999.0, 3.0]], -999)
    with pytest.raises(paribus.errors.TableError, match="filled"):
        paribus.partial_dependence(zero, masked, 0)
    with pytest.raises(paribus.errors.WeightError):
        paribus.partial_dependence(zero, np.zeros((2, 1)), 0, sample_weight=masked[:, 0])
    unmasked = np.ma.array([[1.0], [2.0]])
    assert paribus.partial_dependence(zero, unmasked, 0).support.tolist() == [1, 1]


def test_table_nested_lists_keep_numbers_beside_text():
    effect = paribus.partial_dependence(zero, [[1, "a"], [10, "b"], [2, "a"]], 0)
    assert effect.grid_values[0].tolist() == [1, 2, 10]


def test_integers_as_column_labels():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=[1, 0])
    with pytest.raises(paribus.errors.FeatureError, match="position"):
        paribus.partial_dependence(zero, frame, 1)
    assert paribus.partial_dependence(zero, frame, "1").grid_values[0].tolist() == [1.0, 3.0]
    plain = pd.DataFrame([[1.0, 2.0], [3.0, np.nan]])
    effect = paribus.partial_dependence(lambda t: t[1].fillna(7), plain, 1)
    assert effect.grid_values[0].tolist() == [2.0]
    assert effect.missing.average.tolist() == [7.0]
    two = pd.DataFrame([[1.0, 2.0]], columns=pd.MultiIndex.from_tuples([("u", "a"), ("u", "b")]))
    assert paribus.partial_dependence(zero, two, 1).feature_names == ("('u', 'b')",)
    with pytest.raises(paribus.errors.TableError, match="header of X"):
        paribus.partial_dependence(zero, pd.DataFrame([[1, 2]], columns=[1, "1"]), 0)


def test_table_equal_data_has_one_fingerprint_however_it_is_held():
    def print_of(table):
        return paribus.partial_dependence(zero, table, 0).provenance.fingerprint

    whole = pa.table({"a": [1.0, 2.0, 3.0], "s": ["x", None, "y"]})
    assert print_of(whole) == print_of(pa.concat_tables([whole.slice(0, 1), whole.slice(1)]))
    frame = whole.to_pandas()
    assert print_of(frame) == print_of(frame.set_axis(["p", "q", "r"]))
    prints = [print_of(np.zeros((4, 2), dtype)) for dtype in ("f8", "i8", "u8", "M8[D]", "M8[s]")]
    assert len(set(prints)) == 5


@pytest.mark.alone
def test_wide_pandas_table_costs_what_numpy_costs():
    X = np.random.default_rng(0).normal(size=(400, 300))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(300)])

    def seconds(table):
        started = time.perf_counter()
        paribus.effects(lambda t: np.zeros(len(t)), table, list(range(40)), grid_resolution=40)
        return time.perf_counter() - started

    seconds(frame)
    assert min(seconds(frame) for _ in range(3)) < 1.5 * min(seconds(X) for _ in range(3)) + 0.2


@pytest.mark.parametrize("gap", [99, 100, 300, 1100])
def test_table_objects_after_long_gap_are_what_they_are(gap):
    frame = pd.DataFrame({"a": pd.Series([None] * gap + [1.5, 2.5] * 200, dtype=object), "b": 0.0})
    assert paribus.partial_dependence(zero, frame, "a").kinds == ("numeric",)
    stamps = pd.Series(
        [None] * gap + [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-03-01")] * 9, dtype=object
    )
    seen = set()
    for table in (pd.DataFrame({"a": stamps}), np.array(stamps, dtype=object)[:, None]):
        paribus.partial_dependence(lambda t: seen.update(map(type, np.ravel(t))) or zero(t), table, 0)
    assert seen == {pd.Timestamp, type(None)}


@pytest.mark.parametrize("kind", [datetime.timedelta, np.timedelta64, pd.Timedelta])
def test_table_durations_as_objects(kind):
    hours = [
        kind(datetime.timedelta(hours=h)) if kind is not datetime.timedelta else kind(hours=h)
        for h in range(9)
    ]
    column = np.empty((9, 1), dtype=object)
    column[:, 0] = hours
    seen = set()
    effect = paribus.partial_dependence(
        lambda t: seen.update(map(type, t[:, 0])) or zero(t), column, 0, grid_resolution=4
    )
    assert effect.kinds == ("datetime",)
    assert seen == {kind}


def test_table_arrow_dictionary_may_name_category_twice():
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 2]), pa.array(["a", "b", "a"]))
    effect = paribus.partial_dependence(zero, pa.table({"a": levels}), "a")
    assert dict(zip(effect.grid_values[0], effect.support, strict=True)) == {"a": 3.0, "b": 1.0}


def test_table_null_is_not_nan_to_fingerprint():
    prints = [
        paribus.partial_dependence(zero, pl.DataFrame({"a": [1.0, gap]}), "a").provenance.fingerprint
        for gap in (None, float("nan"))
    ]
    assert prints[0] != prints[1]


def test_table_unsigned_numbers_across_sign_bit():
    values = np.array([2**63 - 5 + k for k in range(10)], dtype=np.uint64)
    effect = paribus.partial_dependence(zero, values[:, None], 0, grid_resolution=5)
    assert effect.grid_values[0][[0, -1]].tolist() == values[[0, -1]].tolist()
    assert effect.support.sum() == 10


def test_table_few_weighted_rows_of_many_are_quick():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200_000, 3)), columns=list("abc"))
    weights = np.zeros(len(frame))
    weights[::2000] = 1.0
    effect = paribus.partial_dependence(
        lambda t: t["a"], frame, "a", sample_weight=weights, grid_resolution=20
    )
    assert effect.provenance.block_rows > 1000
    assert effect.provenance.predictions == 100 * len(effect.grid_values[0])


def test_table_dates_with_zone_say_that_they_are_reported_in_utc(tmp_path):
    when = pd.date_range("2024-06-30 20:00", periods=50, freq="15min", tz="America/New_York")
    frame = pd.DataFrame({"when": when, "x": np.arange(50.0)})
    frame.to_parquet(tmp_path / "zoned.parquet")
    tables = frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), tmp_path / "zoned.parquet"
    for table in tables:
        effect = paribus.partial_dependence(lambda t: np.asarray(t["x"], float), table, "when")
        assert "when is reported in UTC; its time zone is America/New_York" in effect.notes
    for other in (when.tz_convert("UTC"), when.tz_localize(None)):
        effect = paribus.partial_dependence(lambda t: t["x"], frame.assign(when=other), "when")
        assert not any("UTC" in note for note in effect.notes)


@pytest.mark.parametrize("order", ["C", "F"])
def test_table_pandas_frame_in_one_array_equals_its_columns_apart(rng, order):
    array = np.asarray(rng.normal(size=(60, 5)).astype(np.float32), order=order)
    array[:4, 2] = np.nan
    whole = pd.DataFrame(array, columns=list("abcde"), index=np.arange(60) + 7, copy=False)
    whole.attrs["unit"] = "m"
    apart = whole.copy()
    apart["c"] = apart["c"].to_numpy().copy()  # which lies beside the others
    one, other = table_of(whole), table_of(apart)
    assert one.whole is not None
    assert one.slice(3, 9).whole.shape == (6, 5)
    assert other.whole is None
    assert one.row_bytes == other.row_bytes
    assert [one.dtype(j) for j in range(5)] == [other.dtype(j) for j in range(5)]
    assert one.digests == other.digests
    kept = np.arange(60) % 3 > 0
    some = [(table, table.slice(2, 30), table.keep(kept)) for table in (one, other)]
    for mine, theirs in zip(*some, strict=True):
        cells = {j: mine.cells(j, np.array([0.5, 1.5])) for j in (0, 4)}
        cells[2] = one.slice(0, 1).with_missing(2, mine.cells(2, np.array([2.0])))
        for index in (np.zeros((1, 3), int), np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1]])):
            pairs = [table.stack(len(index), ScratchBuffer()).at(cells, index) for table in (mine, theirs)]
            pd.testing.assert_frame_equal(*pairs)
            assert pairs[0].attrs == {"unit": "m"}
    doubles = {
        1: table_of(whole.astype(np.float64)).cells(1, np.array([0.1]))
    }  # which single precision has not
    for table in (one, other):
        found = table.stack(2, ScratchBuffer()).at(doubles, np.zeros((2, 1), int))
        assert (found["b"] == 0.1).all()


def test_table_model_may_write_into_frame_or_return_part_of_it(rng):
    array = rng.normal(size=(600, 4))
    frame = pd.DataFrame(array, columns=list("abcd"))
    before = frame.copy()

    def writes(table):
        found = (table["a"] * table["b"] + table["c"]).to_numpy()
        table["a"] = 0.0
        table.iloc[:, 1] = -1.0
        return found

    effects = paribus.effects(writes, frame, grid_resolution=8, progress=False)
    exact = paribus.effects(lambda t: t[:, 0] * t[:, 1] + t[:, 2], array, grid_resolution=8, progress=False)
    pd.testing.assert_frame_equal(frame, before)
    for one, other in zip(effects.values(), exact.values(), strict=True):
        np.testing.assert_array_equal(one.average, other.average)
    parts = [
        paribus.effects(model, table, grid_resolution=8, quantiles=(0.1, 0.9), progress=False)
        for model, table in ((lambda t: t["a"], frame), (lambda t: t[:, 0], array))
    ]
    for one, other in zip(*(each.values() for each in parts), strict=True):
        np.testing.assert_array_equal(one.quantiles.values, other.quantiles.values)


@pytest.mark.parametrize("library", ["pandas", "arrow"])
def test_table_repeated_columns_are_refused_with_the_way_out(library):
    twice = pd.DataFrame(np.ones((4, 3)), columns=["a", "b", "a"])
    table = twice if library == "pandas" else pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"])
    with pytest.raises(paribus.errors.TableError, match="the header of X has 'a' more than once") as refused:
        paribus.effects(lambda t: t["b"], table, progress=False)
    assert "\n" not in str(refused.value)
    if library == "pandas":
        assert "X.loc[:, ~X.columns.duplicated()]" in str(refused.value)
        kept = twice.loc[:, ~twice.columns.duplicated()]
        assert set(paribus.effects(lambda t: t["b"], kept, progress=False)) == {"a", "b"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: paribus.marginal(np.sum, np.ones((1, 2)), y=[1.0, 2.0]), "X has 1 row;"),
        (lambda: paribus.effects(np.sum, np.ones((0, 1))), "X has 0 rows and 1 column;"),
        (lambda: paribus.Explainer(np.sum, np.ones((4, 1)), feature_names=["a", "b"]).effects(), "and X has 1 column$"),
        (lambda: paribus.Explainer(np.sum, np.ones((4, 2)), feature_names=["a"]).effects(), "feature_names has 1 name and"),
        (lambda: paribus.effects(np.sum, np.ones((4, 2)), sample_weight=[1.0]), "X has 4 rows;"),
        (lambda: paribus.effects(LinearRegression().fit([[1.0]], [1.0]), np.ones((4, 2))), "expecting 1 feature "),
    ],
)  # fmt: skip
def test_counts_in_messages_have_their_plural(call, words):
    with pytest.raises(paribus.errors.InputError, match=words):
        call()


def test_count_of_row_groups_has_its_plural(tmp_path):
    pd.DataFrame({"a": np.arange(8.0)}).to_parquet(tmp_path / "rows.parquet")
    found = paribus.effects(lambda t: t["a"], tmp_path / "rows.parquet", progress=False)
    assert found["a"].provenance.source.endswith("rows.parquet, 1 row group")
    assert found["a"].provenance.reproducible().source == "rows.parquet, 1 row group"
    explainer = paribus.Explainer(lambda t: t[:, 0], np.ones((1, 1)))
    assert "1 row in memory (numpy), 1 column (" in repr(explainer)


def test_frame_that_cannot_be_read_is_refused():
    class Frame:
        columns = ("a", "b")
        shape = (2, 2)

        def to_numpy(self):
            return np.zeros((2, 2))

    with pytest.raises(paribus.errors.TableError, match="X is a Frame that cannot be read"):
        table_of(Frame())

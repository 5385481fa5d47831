"""Where we ask: axes, support, deciles, custom values, features."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import paribus
from paribus._data.summary import quantiles
from statistic_of import statistic_of


def zero(table):
    return np.zeros(len(table))


def ask(X, features=0, **arguments):
    return statistic_of("partial_dependence", zero, X, features, **arguments)


def grid(X, features=0, **arguments):
    return ask(X, features, **arguments).grid_values[0]


def test_numbers_are_evenly_spaced_between_linear_quantiles(rng):
    X = rng.normal(size=(500, 1))
    low, high = np.quantile(X[:, 0], [0.05, 0.95])
    between = grid(X, percentiles=(0.05, 0.95), grid_resolution=100)
    np.testing.assert_array_equal(between, np.linspace(low, high, 100))
    low, high = np.quantile(X[:, 0], [0.2, 0.6])
    np.testing.assert_array_equal(
        grid(X, percentiles=[0.2, 0.6], grid_resolution=7), np.linspace(low, high, 7)
    )


def test_at_most_as_many_values_as_points_are_evaluated_at_each(rng):
    X = rng.choice([1.5, 2.5, 7.0], (100, 1))
    assert grid(X).tolist() == [1.5, 2.5, 7.0]
    assert grid(X, grid_resolution=3).tolist() == [1.5, 2.5, 7.0]
    assert len(grid(X, grid_resolution=2)) == 2


def test_whole_numbers_are_asked_at_whole_evenly_spaced_points(rng):
    X = rng.integers(0, 1000, (5000, 1))
    low, high = np.quantile(X, [0.05, 0.95])
    for resolution in (2, 3, 30, 500):
        values = grid(X, percentiles=(0.05, 0.95), grid_resolution=resolution)
        assert values.dtype == np.int64
        assert np.ptp(np.diff(values)) <= 1  # as even as integers can be
        assert len(values) == min(resolution, round(high) - round(low) + 1)
        assert (values[0], values[-1]) == (round(low), round(high))


def test_levels_stand_in_declared_order_and_text_by_frequency():
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["S", "L", "M", "M"], ["S", "M", "L", "XL"]),
            "city": ["b", "a", "b", "c"],
            "code": [3, 1, 3, 2],
            "flag": [True, True, True, True],
        }
    )
    assert grid(frame, "size").tolist() == ["S", "M", "L"]
    assert grid(frame, "city").tolist() == ["b", "a", "c"]
    assert grid(frame, "flag").tolist() == [True]
    effect = ask(frame, "code", categorical_features=["code"])
    assert effect.kinds == ("category",)
    assert effect.grid_values[0].tolist() == [1, 2, 3]
    assert effect.support.tolist() == [1, 1, 2]
    assert effect.deciles == (None,)


def test_an_empty_list_of_categories_is_no_category(rng):
    assert ask(rng.normal(size=(20, 2)), categorical_features=[]).kinds == ("numeric",)


def test_many_levels_are_cut_to_the_most_frequent_and_said(rng):
    names = [f"category {k}" for k in range(300)]
    column = np.concatenate([names, names[:50] * 3])
    effect = ask(pd.DataFrame({"a": column}), "a", grid_resolution=10)
    assert len(effect.grid_values[0]) == 100
    assert set(names[:50]) <= set(effect.grid_values[0])
    assert "300 values; the 100 most frequent are used" in effect.notes[0]
    assert len(grid(pd.DataFrame({"a": column}), "a", grid_resolution=1000)) == 300


@pytest.mark.parametrize("dtype", [float, int])
def test_constant_and_nearly_constant_features_give_a_result_and_a_note(rng, dtype):
    effect = ask(np.ones((50, 1), dtype=dtype))
    assert effect.grid_values[0].tolist() == [1]
    assert "single value" in effect.notes[0]
    X = np.where(rng.random((5000, 1)) < 0.97, 0, rng.integers(-300, 300, (5000, 1))).astype(dtype)
    for resolution in (2, 20):
        effect = ask(X, percentiles=(0.05, 0.95), grid_resolution=resolution)
        values = effect.grid_values[0]
        assert 0 in values
        assert values[0] < 0
        assert len(values) <= resolution + 1
        assert "is 0 in 97% of the data" in effect.notes[0]


def test_a_feature_without_any_value_has_only_its_missing_point():
    X = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    effect = paribus.partial_dependence(lambda t: np.isnan(t[:, 0]) + t[:, 1], X, 0)
    assert effect.average.shape == (1, 0)
    assert effect.missing.share == 1.0
    assert effect.missing.average.tolist() == [2.5]
    assert "no finite value" in effect.notes[0]
    assert repr(effect)


def test_infinite_values_enter_no_quantile(rng):
    X = rng.normal(size=(200, 1))
    X[:20] = np.inf
    effect = ask(X)
    assert np.isfinite(effect.grid_values[0]).all()
    assert "infinite in 10%" in effect.notes[0]
    assert effect.grid_values[0][[0, -1]].tolist() == [X[20:].min(), X[20:].max()]


def test_missing_values_do_not_move_the_axis(rng):
    X = rng.normal(size=(1000, 1))
    gaps = np.vstack([X, np.full((300, 1), np.nan)])
    np.testing.assert_array_equal(grid(gaps), grid(X))


def test_dates_are_asked_at_whole_days():
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=d) for d in range(400)]
    effect = ask(pl.DataFrame({"day": days}), "day", percentiles=(0.05, 0.95), grid_resolution=20)
    values = effect.grid_values[0]
    assert values.dtype == np.dtype("datetime64[D]")
    assert len(values) == 20
    assert np.ptp(np.diff(values)) == np.timedelta64(1, "D")  # 19 days, or 18
    assert effect.deciles[0][0] == np.datetime64("2026-01-01")


def test_support_counts_the_data_not_the_grid(rng):
    X = np.array([[0.0], [0.0], [1.0], [2.0], [2.0], [2.0], [9.0], [np.nan]])
    effect = ask(X, custom_values={0: [0.0, 1.0, 2.0, 5.0]})
    assert effect.support.tolist() == [2, 1, 3, 0]
    weights = np.array([1, 2, 3, 4, 5, 6, 7, 8.0])
    effect = ask(X, custom_values={0: [2.0, 0.0, 2.0]}, sample_weight=weights)
    assert effect.support.tolist() == [15 + 0, 3 + 3, 15 + 0]
    effect = ask(np.array([[0, 0], [0, 1], [0, 1], [1, 0.0]]), [0, 1])
    assert effect.support.tolist() == [[1, 2], [1, 0]]


@pytest.mark.parametrize("dtype", [float, int])
def test_a_cell_includes_its_upper_end_and_not_its_lower(dtype):
    X = np.arange(0, 10).astype(dtype)[:, None]
    effect = ask(X, custom_values={0: [2, 4, 6]})
    assert effect.support.tolist() == [2, 2, 2]  # 2 and 3, 4 and 5, 6 and 7; 1 lies outside
    effect = ask(X, custom_values={0: [2, 5]})
    assert effect.support.tolist() == [3, 3]  # 1 to 3 and 4 to 6


def test_missing_in_rows_of_weight_zero_is_not_missing():
    X = np.array([[1.0], [2.0], [np.nan]])
    assert ask(X, sample_weight=[1, 1, 0]).missing is None
    assert ask(X, sample_weight=[1, 0, 1]).missing.share == 0.5
    frame = pd.DataFrame({"a": ["x", "y", None, None]})
    effect = ask(frame, "a", sample_weight=[1, 0, 0, 1])
    assert effect.grid_values[0].tolist() == ["x"]
    assert effect.missing.support == 1


def test_support_of_a_whole_axis_is_all_the_data_between_its_ends(rng):
    X = rng.normal(size=(4000, 1))
    effect = ask(X)
    values = effect.grid_values[0]
    half = (values[1] - values[0]) / 2
    inside = ((values[0] - half < X) & (values[-1] + half >= X)).sum()
    assert effect.support.sum() == inside


def test_deciles_come_from_the_data(rng):
    X = rng.normal(size=(1000, 2))
    effect = ask(X, [0, 1], custom_values={0: [0.0]})
    np.testing.assert_allclose(effect.deciles[0], np.quantile(X[:, 0], np.arange(11) / 10))
    np.testing.assert_allclose(effect.deciles[1], np.quantile(X[:, 1], np.arange(11) / 10))


def test_weighted_quantiles_are_those_of_repeated_rows(rng):
    values, weights = np.sort(rng.normal(size=50)), rng.integers(1, 5, 50).astype(float)
    weights[3] = 1.0
    at = np.linspace(0, 1, 21)
    np.testing.assert_allclose(
        quantiles(values, at, weights), np.quantile(np.repeat(values, weights.astype(int)), at)
    )
    np.testing.assert_allclose(quantiles(values, at, 0.1 * weights), quantiles(values, at, weights))
    np.testing.assert_allclose(quantiles(values, at, np.full(50, 0.3)), np.quantile(values, at))


@given(
    hnp.arrays(float, st.integers(1, 40), elements=st.floats(-1e9, 1e9)),
    st.lists(st.floats(0, 1), max_size=9),
)
def test_quantiles_without_weights_are_those_of_numpy_to_the_bit(values, at):
    np.testing.assert_array_equal(quantiles(np.sort(values), at), np.quantile(values, at))


def test_custom_values_by_name_or_position(rng):
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    for key in ("b", 1, np.int64(1)):
        effect = ask(frame, ["a", "b"], custom_values={key: [3.0, 1.0, 1.0]}, grid_resolution=5)
        assert effect.grid_values[1].tolist() == [3.0, 1.0, 1.0]
        assert effect.support.shape == (5, 3)


def test_the_grid_of_one_result_can_be_asked_of_another(awkward):
    for column in ("count", "city", "day", "zoned", "wait", "gap", "flag", "level"):
        first = ask(awkward, column, grid_resolution=8)
        again = ask(awkward.iloc[::3], column, custom_values={column: first.grid_values[0]})
        assert again.grid_values[0].tolist() == first.grid_values[0].tolist()


def test_dates_may_be_given_in_any_form(awkward):
    zoned = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    effect = ask(awkward, "zoned", custom_values={"zoned": [zoned, "2002-01-01"]})
    assert effect.grid_values[0].astype("datetime64[h]").astype(str).tolist() == [
        "2000-12-31T22",
        "2002-01-01T00",
    ]
    text = ask(awkward, "zoned", custom_values={"zoned": ["2001-01-01T12:00+02:00", "2002-01"]})
    assert text.grid_values[0].astype("datetime64[h]").astype(str).tolist() == [
        "2001-01-01T10",
        "2002-01-01T00",
    ]
    for values, words in (
        (["soon"], "read as dates"),
        ([2020], "2020 is not a valid grid value of 'day'; pass dates"),
    ):
        with pytest.raises(paribus.errors.GridError, match=words):
            ask(awkward, "day", custom_values={"day": values})
    with pytest.raises(
        paribus.errors.GridError, match="5 is not a valid grid value of 'wait'; pass dates, durations"
    ):
        ask(awkward, "wait", custom_values={"wait": [5]})
    with pytest.raises(paribus.errors.GridError, match="finer"):
        ask(
            np.array([["2026-01-01"], ["2026-01-02"]], dtype="M8[D]"),
            0,
            custom_values={0: ["2026-01-01T13:00"]},
        )


STEPS = {
    "days": (pd.Timestamp("2015-01-01"), pd.Timedelta("1D")),
    "noons": (pd.Timestamp("2015-01-01 12:00"), pd.Timedelta("1D")),
    "mondays": (pd.Timestamp("2015-01-05"), pd.Timedelta("7D")),
    "hours": (pd.Timestamp("2015-01-01"), pd.Timedelta("1h")),
    "minutes": (pd.Timestamp("2015-01-01"), pd.Timedelta("15min")),
    "seconds": (pd.Timestamp("2015-01-01"), pd.Timedelta("1s")),
    "waits": (pd.Timedelta(0), pd.Timedelta("1D")),
    "shifts": (pd.Timedelta("30min"), pd.Timedelta("8h")),
}


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
@pytest.mark.parametrize("kind", STEPS)
def test_dates_are_evaluated_at_values_the_column_could_hold(rng, tmp_path, kind, unit):
    first, step = STEPS[kind]
    counts = rng.integers(0, 3_000, 500)
    frame = pd.DataFrame({"when": pd.Series([first + count * step for count in counts]).dt.as_unit(unit)})
    frame.loc[::7, "when"] = pd.NaT
    values = ask(frame, "when", grid_resolution=40).grid_values[0]
    away = values - np.array([first if isinstance(first, pd.Timedelta) else first.to_datetime64()]).astype(
        values.dtype
    )
    assert (away.view(np.int64) % step.as_unit(unit).to_timedelta64().astype(np.int64) == 0).all()
    assert 38 <= len(values) <= 40
    assert (np.diff(values) > np.timedelta64(0, "ns")).all()
    assert frame["when"].min() <= values[0] < values[-1] <= frame["when"].max()
    if unit != "s":  # which Parquet has no type for
        frame.to_parquet(tmp_path / "when.parquet", row_group_size=50)
        read = ask(tmp_path / "when.parquet", "when", grid_resolution=40).grid_values[0]
        assert (read == values).all()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC", "+02:00"])
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "parquet"])
def test_days_of_a_zone_are_evaluated_at_its_midnights(rng, tmp_path, zone, library):
    days = pd.date_range("2010-01-01", "2019-01-01", tz=zone).to_series()
    frame = pd.DataFrame({"day": days.sample(2_000, random_state=0).reset_index(drop=True)})
    frame.to_parquet(tmp_path / "days.parquet", row_group_size=300)
    tables = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame) if zone != "+02:00" else frame,
        "arrow": lambda: pa.Table.from_pandas(frame),
        "parquet": lambda: tmp_path / "days.parquet",
    }
    values = ask(tables[library](), "day", grid_resolution=50).grid_values[0]
    shown = pd.Series(values).dt.tz_localize("UTC").dt.tz_convert(days.dt.tz)
    assert len(shown) == 50
    assert shown.isin(days).all()


def test_dates_of_rows_without_weight_do_not_count_for_the_steps(rng, tmp_path):
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.append(rng.integers(0, 900, 300), 500), "D")
    frame = pd.DataFrame({"when": when, "w": np.append(np.ones(300), 0.0)})
    frame.loc[300, "when"] += pd.Timedelta("1s")
    frame.to_parquet(tmp_path / "when.parquet")
    held = ask(frame[["when"]], "when", grid_resolution=20, sample_weight=frame["w"])
    read = ask(tmp_path / "when.parquet", "when", grid_resolution=20, sample_weight="w")
    assert (held.grid_values[0] == held.grid_values[0].astype("M8[D]")).all()
    assert (held.grid_values[0] == read.grid_values[0]).all()


def test_a_date_far_from_all_others_keeps_its_distance():
    ends = np.array([-(2**62) - 2**60, 2**62 + 2**60])  # further apart than the largest number of 64 bits
    when = np.concatenate([ends, np.arange(200) * 2])[:, None].view("M8[ns]")
    values = ask(when, 0, percentiles=(0, 1), grid_resolution=10).grid_values[0]
    assert (values[[0, -1]].view(np.int64) == ends).all()


def test_listed_nanoseconds_are_the_ones_in_the_data():
    ticks = 1_767_225_600_000_000_000 + 1_000_001 * np.arange(7)
    frame = pd.DataFrame({"t": pd.to_datetime(ticks, unit="ns")})
    effect = ask(frame, "t")
    assert effect.grid_values[0].view(np.int64).tolist() == ticks.tolist()
    assert effect.support.tolist() == [1] * 7


def test_nanoseconds_and_mixed_durations():
    frame = pd.DataFrame(
        {"t": pd.to_datetime(np.arange(5), unit="ns"), "d": pd.to_timedelta(np.arange(5), unit="ns")}
    )
    for column in frame:
        effect = ask(frame, column, custom_values={column: frame[column]})
        assert effect.grid_values[0].view(np.int64).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(
        paribus.errors.GridError, match="5 is not a valid grid value of 'd'; pass dates, durations or text"
    ):
        ask(frame, "d", custom_values={"d": [np.timedelta64(1, "h"), 5]})
    with pytest.raises(paribus.errors.GridError, match="complex"):
        ask(np.zeros((3, 1)), custom_values={0: [1 + 1j]})


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("count", [2.5], "'count' cannot be represented in its dtype Int64.*cast the column in X"),
        ("small", [300], "'small' cannot be represented in its dtype Int8"),
        ("level", ["huge"], "'huge' is not a category of 'level'"),
        ("gap", [], "non-empty"),
        ("gap", [[1.0, 2.0]], "one-dimensional"),
        ("gap", 3.0, "list of values"),
        ("gap", {1.0, 2.0}, "list of values"),
        ("gap", [np.nan], "missing"),
        ("city", [None, "Bern"], "missing"),
        ("gap", [np.inf], "infinite"),
        ("gap", ["a"], "'gap' cannot be represented in its dtype Float64"),
        ("flag", [2], "2 is not a valid grid value of 'flag', whose dtype is Boolean"),
    ],
)
def test_values_a_column_cannot_hold_are_refused(awkward, column, values, words):
    with pytest.raises(paribus.errors.GridError, match=words):
        ask(awkward, column, custom_values={column: values})


def test_values_an_array_cannot_hold_are_refused():
    with pytest.raises(paribus.errors.GridError, match="int64"):
        ask(np.zeros((3, 1), dtype=int), custom_values={0: [0.5]})
    with pytest.raises(
        paribus.errors.GridError, match="'long' is not a valid grid value of 'x0', whose dtype is <U1"
    ):
        ask(np.array([["a"], ["b"]]), custom_values={0: ["long"]})


@pytest.mark.parametrize(
    "features",
    [
        "age",
        1,
        np.array("age"),
        pd.Index(["age"]),
        range(1, 2),
        ["age"],
        [1],
        (1,),
        [("age",)],
        [False, True, False],
        np.array([1]),
    ],
)
def test_one_feature_may_be_named_in_many_ways(rng, features):
    frame = pd.DataFrame(rng.normal(size=(9, 3)), columns=["bmi", "age", "sex"])
    assert ask(frame, features).feature_names == ("age",)


@pytest.mark.parametrize("features", [["age", "bmi"], [1, 0], [(1, 0)], ("age", 0), np.array([1, 0])])
def test_several_features_are_one_joint_effect(rng, features):
    frame = pd.DataFrame(rng.normal(size=(9, 3)), columns=["bmi", "age", "sex"])
    assert ask(frame, features, grid_resolution=3).feature_names == ("age", "bmi")


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ("agee", "did you mean 'age'"),
        (7, "has 0 to 2"),
        (-1, "has 0 to 2"),
        ([], "empty"),
        ([1, "age"], "twice"),
        ([(0, 1), (1, 2)], "effects()"),
        ([True, False], "mask of 2"),
        (1.5, "neither"),
        (None, "neither"),
        ({"age", "bmi"}, "is unordered; pass a list"),
    ],
)
def test_features_that_are_not_there(rng, features, words):
    frame = pd.DataFrame(rng.normal(size=(9, 3)), columns=["bmi", "age", "sex"])
    with pytest.raises(paribus.errors.FeatureError, match=words.replace("(", r"\(").replace(")", r"\)")):
        ask(frame, features)


def test_names_of_an_array(rng):
    X = rng.normal(size=(9, 2))
    assert ask(X, "x1").feature_names == ("x1",)
    assert ask(X, "b", feature_names=["a", "b"]).feature_names == ("b",)
    for names in (["a"], ["a", "a"]):
        with pytest.raises(paribus.errors.TableError):
            ask(X, 0, feature_names=names)
    with pytest.raises(paribus.errors.FeatureError, match="categorical_features"):
        ask(X, 0, categorical_features=["c"])


@pytest.mark.parametrize(
    "arguments",
    [
        {"percentiles": (0.9, 0.1)},
        {"percentiles": (0.5,)},
        {"percentiles": (-0.1, 0.5)},
        {"percentiles": "both"},
        {"grid_resolution": 1},
        {"grid_resolution": 2.5},
        {"grid_resolution": True},
        {"kind": "all"},
        {"method": "fast"},
        {"response_method": "margin"},
        {"n_jobs": 0},
        {"max_memory": "much"},
        {"max_memory": -1},
        {"max_memory": "1.2.3MB"},
        {"max_memory": "."},
        {"max_memory": ".MB"},
        {"progress": "yes"},
        {"target_names": ["a", "b"]},
    ],
)
def test_options_outside_their_range(rng, arguments):
    with pytest.raises(paribus.errors.OptionError, match=next(iter(arguments))):
        ask(rng.normal(size=(9, 2)), 0, **arguments)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(3), "3"),
        (np.full(9, np.nan), "finite"),
        (-np.ones(9), "negative"),
        (np.zeros(9), "positive"),
        (["a"] * 9, "numbers"),
        (["1"] * 9, "numbers"),
        (np.full(9, 1 + 1j), "numbers"),
        (np.ones((9, 1)), "shape"),
    ],
)
def test_weights_that_are_none(rng, weights, words):
    with pytest.raises(paribus.errors.WeightError, match=words):
        ask(rng.normal(size=(9, 2)), 0, sample_weight=weights)

"""What came out: keys, tables, files, text."""

import base64
import collections
import dataclasses
import datetime
import enum
import errno
import fractions
import hashlib
import json
import os
import pickle
import stat
import subprocess
import sys
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import dateutil.tz
import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import fuzz_results
import paribus
from conftest import numbers
from handmade import provenance
from paribus._codec.values import READABLE, read_array, write_array
from paribus._data.kinds import objects
from paribus._text import at_value
from paribus._text import number as told
from paribus.results import PartialDependence, Provenance, storage
from paribus.results.schema import stored_records
from paribus.results.storage import _digest, payload_of


def two_outputs(table):
    return np.stack([table[:, 0], table[:, 0] * table[:, 1]], axis=1)


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


def test_keys_are_those_asked_for(X):
    average = paribus.partial_dependence(two_outputs, X, 0)
    assert "average" in average
    assert "individual" not in average
    with pytest.raises(KeyError, match="there is no"):
        average["individual"]
    individual = paribus.partial_dependence(two_outputs, X, 0, kind="individual")
    assert "average" not in individual
    assert individual.individual.shape == (2, 60, 36)  # 30 points, and the 3 rows in each tail
    both = paribus.partial_dependence(two_outputs, X, [0, 1], kind="both", grid_resolution=4)
    assert both["average"].shape == both["standard_error"].shape == (2, 4, 4)
    assert both["individual"].shape == (2, 60, 4, 4)
    assert both["support"].shape == (4, 4)
    assert set(both) == {*average, "individual"} - {"covariance"}  # of one feature, without curves of rows
    assert len(dict(both)) == len(both)


def test_results_are_frozen(X):
    effect = paribus.partial_dependence(two_outputs, X, [0, 1], kind="both", grid_resolution=4)
    arrays = [effect.average, effect.individual, effect.standard_error, effect.support, *effect.grid_values]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        effect.average = None


def test_provenance_tells_how(X):
    weights = np.arange(60.0)
    effect = paribus.Explainer(two_outputs, X, sample_weight=weights, max_memory="1GB").partial_dependence(0)
    p = effect.provenance
    assert isinstance(p, Provenance)
    assert (p.rows, p.columns, p.backend) == (60, 3, "numpy")
    assert p.weights == {
        "sum": 1770.0,
        "zero_rows": 1.0,
        "effective_rows": pytest.approx(weights.sum() ** 2 / (weights**2).sum()),
    }
    assert p.estimand == "interventional"
    assert p.max_memory == 10**9
    assert p.paribus == paribus.__version__
    assert p.seconds > 0
    assert abs(datetime.datetime.fromisoformat(p.date) - datetime.datetime.now(datetime.UTC)).seconds < 60
    assert p.pandas == pd.__version__
    assert p.numba == getattr(sys.modules.get("numba"), "__version__", None)


def test_provenance_prints_one_line_for_each_field_and_each_refusal():
    record = provenance(why="because " * 40, refusals={"one": "no", "other": "neither"}, skipped=("a", "b"))
    lines = repr(record).splitlines()
    assert lines[0] == "Provenance"
    names = [line.split()[0] for line in lines[1:] if line[2] != " "]
    assert names == [field.name for field in dataclasses.fields(record)]
    starts = {line[2:23].strip(): line[23:].strip() for line in lines[1:]}
    assert starts["date"] == "2026-01-31T12:00:00+00:00"
    assert starts["numba"] == "None"
    place = next(n for n, line in enumerate(lines) if line.startswith("  refusals"))
    assert [line.strip() for line in lines[place : place + 2]][1] == "other: neither"
    assert repr(record).count("because") == 40


@pytest.mark.nightly
def test_the_versions_of_what_was_not_imported_are_none():
    code = (
        "import numpy as np, paribus;"
        "p = paribus.partial_dependence(lambda X: X[:, 0], np.arange(6.0).reshape(3, 2), 0).provenance;"
        "print(p.pandas, p.numba)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "None None"


def test_notebooks_complete_keys():
    prepared = fuzz_results.prepared()
    completions = {type(r).__name__: r._ipython_key_completions_() for r in prepared}
    mappings = [
        set(r._ipython_key_completions_()) for r in prepared if isinstance(r, paribus.results.Effects)
    ]
    assert {"x", ("x", "day")} in mappings
    assert {"average", "grid_values"} < set(completions["PartialDependence"])
    assert {"ale", "rows"} < set(completions["AccumulatedLocalEffect"])
    assert any({"x", "city"} < keys for keys in mappings)
    assert "h_squared_pairwise" in completions["HStatistics"]
    assert completions["Importance"] == completions["Comparison"] == []


def test_the_tidy_table_is_of_the_users_library(awkward):
    for table, kind in (
        (awkward, pd.DataFrame),
        (pl.from_pandas(awkward), pl.DataFrame),
        (pa.Table.from_pandas(awkward), pa.Table),
    ):
        for column in ("gap", "city", "count", "day", "zoned", "wait", "flag", "level"):
            effect = paribus.partial_dependence(numbers, table, column, grid_resolution=6)
            frame = effect.to_frame()
            assert isinstance(frame, kind)
            assert len(frame) == len(effect.grid_values[0]) + (effect.missing is not None)
            for backend in ("pandas", "polars", "pyarrow"):
                assert len(effect.to_frame(backend=backend)) == len(frame)


def test_the_tidy_table_holds_the_numbers(X):
    X[::4, 0] = np.nan
    effect = paribus.partial_dependence(
        lambda t: two_outputs(np.nan_to_num(t, nan=7.0)), X, 0, kind="both", grid_resolution=5
    )
    frame = effect.to_frame()
    assert list(frame.columns) == ["output", "x0", "average", "standard_error", "support"]
    second = frame[frame["output"] == "output 1"]
    np.testing.assert_array_equal(second["average"][:-1], effect.average[1])
    assert second["average"].iloc[-1] == effect.missing.average[1]
    assert np.isnan(second["x0"].iloc[-1])
    assert second["support"].iloc[-1] == 15
    curves = effect.to_frame("individual")
    assert len(curves) == 2 * 60 * 6
    row = curves[(curves["row"] == 7) & (curves["output"] == "output 1")]
    np.testing.assert_array_equal(row["prediction"][:-1], effect.individual[1, 7])
    with pytest.raises(paribus.errors.OptionError):
        effect.to_frame("curves")
    with pytest.raises(paribus.errors.OptionError, match="kind='both'"):
        paribus.partial_dependence(two_outputs, np.nan_to_num(X), 0).to_frame("individual")
    with pytest.raises(paribus.errors.OptionError):
        effect.to_frame(backend="excel")


def test_a_two_way_table_pairs_values_with_their_average(X):
    effect = paribus.partial_dependence(two_outputs, X, [0, 1], grid_resolution=4)
    frame = effect.to_frame()
    for row in frame.sample(10, random_state=0).itertuples(index=False):
        o, g, h = (
            effect.output_names.index(row.output),
            effect.grid_values[0].tolist().index(row.x0),
            effect.grid_values[1].tolist().index(row.x1),
        )
        assert row.average == effect.average[o, g, h]
        assert row.support == effect.support[g, h]


def test_a_feature_named_like_a_column_of_the_table(rng):
    frame = pd.DataFrame(rng.normal(size=(9, 2)), columns=["average", "b"])
    table = paribus.partial_dependence(lambda t: t["b"], frame, "average").to_frame()
    assert "average (feature)" in table.columns
    frame.columns = ["output", "output (feature)"]
    table = paribus.partial_dependence(lambda t: t["output"], frame, [0, 1], grid_resolution=3).to_frame()
    assert table.shape == (9, 6)


def same(one, other):
    for name in ("average", "standard_error", "individual", "support"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.tobytes() == theirs.tobytes()
            assert mine.shape == theirs.shape
    for mine, theirs in zip(one.grid_values, other.grid_values, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()
    for mine, theirs in zip(one.deciles, other.deciles, strict=True):
        assert mine is theirs or mine.tolist() == theirs.tolist()
    if one.missing is not None:
        assert one.missing.average.tobytes() == other.missing.average.tobytes()
        assert one.missing.share == other.missing.share
    assert one.provenance == other.provenance
    assert (one.notes, one.kinds, one.output_names) == (other.notes, other.kinds, other.output_names)
    assert repr(one) == repr(other)
    assert not other.average.flags.writeable


@pytest.mark.parametrize("kind", ["average", "both"])
def test_every_bit_survives_saving(awkward, tmp_path, kind):
    weights = np.arange(len(awkward)) + 0.1
    for column in awkward.columns:
        effect = paribus.partial_dependence(
            numbers, awkward, column, kind=kind, grid_resolution=6, sample_weight=weights
        )
        effect.save(tmp_path / "effect.json")
        same(effect, paribus.load(tmp_path / "effect.json"))


def test_numbers_json_cannot_write_survive(tmp_path):
    X = np.array([[1.0, np.inf], [2.0, 0.0]])
    effect = paribus.partial_dependence(lambda t: t[:, 1] - 0.0 * t[:, 0], X, 0)
    effect.save(tmp_path / "e.json")
    again = paribus.load(str(tmp_path / "e.json"))
    assert np.isinf(again.average).all()
    assert np.isnan(again.standard_error).all()
    one_row = paribus.partial_dependence(lambda t: -0.0 * t[:, 0], X[:1], 0)
    one_row.save(tmp_path / "e.json")
    same(one_row, paribus.load(tmp_path / "e.json"))


def test_odd_levels_survive_as_text(tmp_path):
    frame = pd.DataFrame({"bin": pd.cut(np.arange(9.0), 3), "x": 1.0})
    effect = paribus.partial_dependence(lambda t: t["bin"].cat.codes.to_numpy() * 1.0, frame, "bin")
    assert all(isinstance(v, str) for v in effect.grid_values[0])
    assert effect.average.tolist() == [[0.0, 1.0, 2.0]]
    effect.save(tmp_path / "e.json")
    same(effect, paribus.load(tmp_path / "e.json"))


def damaged(document):
    """Ways in which a file can be wrong."""
    yield "not a result", []
    yield "not a result", {**document, "format": "other"}
    for other in (0, 2, 99):
        yield f"has format version {other}; this release reads version 1", {**document, "version": other}
    yield "holds a None", {k: v for k, v in document.items() if k != "result"}
    yield "'surprise'", {**document, "result": {**document["result"], "record": "surprise"}}
    for change in (
        {"average": None, "new_field": 1},
        {"average": {"dtype": "<f8", "shape": [1, 2], "values": [1.0]}},
        {"average": {"dtype": "<f8", "shape": [1, 2], "values": [1.0, 2.0]}},
        {"average": {"dtype": "|S3", "shape": [1], "values": ["a"]}},
        {"support": {"dtype": "<f8", "shape": [1], "values": [1.0]}},
        {"individual": {"dtype": "<f8", "shape": [1, 2], "values": [1.0, 2.0]}},
        {"kinds": []},
        {"provenance": {"rows": 3}},
        {"grid_values": 3},
        {"ordered": []},
    ):
        yield "damaged", {**document, "result": {**document["result"], **change}}


def test_files_that_are_not_understood_are_refused(X, tmp_path):
    path = tmp_path / "effect.json"
    paribus.partial_dependence(two_outputs, X, 0).save(path)
    document = json.loads(path.read_text())
    tampered = json.loads(path.read_text())
    tampered["result"]["average"]["values"][0] += 1e-9
    path.write_text(json.dumps(tampered))
    with pytest.raises(paribus.errors.FormatError, match="changed after it was saved"):
        paribus.load(path)
    for words, wrong in damaged(document):
        if isinstance(wrong, dict):
            wrong["digest"] = _digest(wrong.get("result"))
        path.write_text(json.dumps(wrong))
        with pytest.raises(paribus.errors.FormatError, match=words):
            paribus.load(path)
    for content in (b"\xff\xfe\x00", b"{", b""):
        path.write_bytes(content)
        with pytest.raises(paribus.errors.FormatError):
            paribus.load(path)
    with pytest.raises(paribus.errors.FormatError, match=r"there is no file .*nowhere.json"):
        paribus.load(tmp_path / "nowhere.json")


def test_saving_into_a_folder_that_does_not_exist_names_the_folder(X, tmp_path):
    effect = paribus.partial_dependence(two_outputs, X, 0, grid_resolution=3)
    with pytest.raises(paribus.errors.FormatError, match=r"there is no folder .*nowhere"):
        effect.save(tmp_path / "nowhere" / "effect.json")


def test_effects_are_ordered_by_strength_and_travel(rng, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["weak", "strong", "dead"])
    frame.loc[::5, "weak"] = np.nan

    def model(t):
        return t["weak"].fillna(0) + 5 * t["strong"]

    effects = paribus.effects(model, frame, grid_resolution=10)
    assert list(effects) == ["strong", "weak", "dead"]
    assert effects["strong"].strength == pytest.approx(5 * frame["strong"].std(), rel=0.2)
    assert effects["dead"].strength == pytest.approx(0, abs=1e-12)
    effects.save(tmp_path / "effects.json")
    again = paribus.load(tmp_path / "effects.json")
    assert list(again) == list(effects)
    for key in effects:
        same(effects[key], again[key])
    assert again == effects
    assert again != paribus.effects(model, frame, ["strong"], grid_resolution=10)
    with pytest.raises(KeyError, match="did you mean 'strong'"):
        effects["strng"]
    with pytest.raises(KeyError):
        effects[0]
    assert "strong" in effects
    assert ("strong", "weak") not in effects
    assert effects.notes == effects["weak"].notes


def test_effects_without_strength_stand_last(X):
    def model(t):
        return np.where(t[:, 1] > 9, np.inf, t[:, 0] * 1.0 + 5 * t[:, 2])

    effects = paribus.effects(model, X, custom_values={1: [0.0, 10.0]}, grid_resolution=5)
    assert list(effects) == ["x2", "x0", "x1"]


def test_effects_become_one_long_table(awkward):
    effects = paribus.effects(numbers, awkward, ["gap", "city", ("count", "flag")], grid_resolution=5)
    for backend in ("pandas", "polars", "pyarrow"):
        frame = effects.to_frame(backend=backend)
        names = frame.column_names if backend == "pyarrow" else list(frame.columns)
        assert names[:6] == ["feature", "value", "number", "feature_2", "value_2", "number_2"]
        points = sum(effect.average.size + (effect.missing is not None) for effect in effects.values())
        assert len(frame) == points
    frame = effects.to_frame()
    gap = frame[frame["feature"] == "gap"]
    np.testing.assert_array_equal(gap["number"].dropna(), effects["gap"].grid_values[0])
    with pytest.raises(paribus.errors.OptionError, match="kind='both'"):
        paribus.effects(numbers, awkward, ["gap"], kind="individual").to_frame()


def test_effects_ask_every_feature_once(X):
    assert set(paribus.effects(two_outputs, X)) == {"x0", "x1", "x2"}
    assert set(paribus.effects(two_outputs, X, [0, "x0", (0, 1)], grid_resolution=3)) == {"x0", ("x0", "x1")}
    with pytest.raises(paribus.errors.FeatureError):
        paribus.effects(two_outputs, X, [])


def test_the_story_is_told_in_a_few_lines(X):
    X[::6, 0] = np.nan
    effect = paribus.partial_dependence(lambda t: np.nan_to_num(t[:, 0], nan=4.0), X, 0)
    lines = repr(effect).splitlines()
    assert len(lines) == 6
    assert "on x0: 50 points, 1 output" in lines[0]
    assert "from " in lines[1]
    assert "missing in 16.7%" in lines[2]
    assert "60 rows (unweighted), standard error at most" in lines[3]
    assert "by brute" in lines[4]
    assert "strongest first" in repr(paribus.effects(two_outputs, np.nan_to_num(X)))
    assert "60 rows" in repr(paribus.partial_dependence(two_outputs, np.nan_to_num(X), 0, kind="individual"))
    many = paribus.partial_dependence(lambda t: np.zeros((len(t), 7)), np.nan_to_num(X), 0)
    assert "and 4 more outputs" in repr(many)


def test_the_text_of_a_curve_has_explicit_percentiles(X):
    between = {"percentiles": (0.05, 0.95)}
    part = paribus.partial_dependence(two_outputs, X, 0, grid_resolution=20, **between)
    assert "on x0: 20 points between quantiles 0.05 and 0.95, 2 outputs" in repr(part).splitlines()[0]
    surface = paribus.partial_dependence(two_outputs, X, (0, 1), grid_resolution=4, **between)
    assert "on x0 x x1: 4 x 4 points between quantiles 0.05 and 0.95, 2 outputs" in repr(surface)
    whole = paribus.partial_dependence(two_outputs, X, 0, grid_resolution=20)
    assert "on x0: 16 points, 2 outputs" in repr(whole).splitlines()[0]
    single = paribus.partial_dependence(two_outputs, np.ones((5, 2)), 0, **between)
    assert "on x0: 1 point, 2 outputs" in repr(single).splitlines()[0]


def test_printed_effects_have_the_points_of_strengths(X):
    points = "  strengths from the points of each curve, at most "
    none = "  no strength where custom_values or percentiles leave out part of the data"

    def lines(X, *arguments, **options):
        printed = repr(paribus.effects(two_outputs, X, *arguments, **options)).splitlines()
        return [line for line in printed if line.startswith((points[:11], none[:13]))]

    assert lines(X) == [f"{points}36"]
    assert lines(X, [0, 1, (0, 1)], grid_resolution=10) == [f"{points}8"]
    assert lines(X, percentiles=(0.1, 0.9)) == [none]
    assert lines(X, custom_values={0: [0.0, 1.0]}) == [f"{points}36", none]
    assert lines(np.round(X)) == []  # the points are all values of the data
    additive = LinearRegression().fit(X, X[:, 0])
    assert points not in repr(paribus.effects(additive, X))


def test_the_text_of_a_curve_shows_the_range_of_its_finite_values():
    X = np.arange(4.0)[:, None]
    some = paribus.partial_dependence(lambda t: np.where(t[:, 0] > 2, np.inf, t[:, 0]), X, 0)
    assert "  prediction: from 0 at x0 = 0 to 2 at x0 = 2, not finite at 1 of 4 points" in repr(some)
    none = paribus.partial_dependence(lambda t: np.full(len(t), np.inf), X, 0)
    assert "  prediction: nowhere finite" in repr(none)


def test_individual_strength_is_that_of_the_average(X):
    both = paribus.partial_dependence(two_outputs, X, 0, kind="both")
    only = paribus.partial_dependence(two_outputs, X, 0, kind="individual")
    assert isinstance(only, PartialDependence)
    assert only.strength == pytest.approx(both.strength)


def test_the_missing_point_counts_in_the_strength_with_its_weight():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    effect = paribus.partial_dependence(
        lambda t: np.where(np.isnan(t[:, 0]), 8.0, 0.0), X, 0, sample_weight=[1.0, 1.0, 1.0, 3.0]
    )
    assert effect.strength == pytest.approx(np.sqrt(1 / 3 * 2 / 3) * 8)  # a third of the weight is at 0


LEVELS = ["low", "mid", "high"]
CODES = [0, 1, 2, 1, 0, 2, 2, 1]
TEXTS = [LEVELS[code] for code in CODES]


def coded(ordered):
    codes = pa.array(CODES, pa.int32())
    return pa.table({"c": pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=ordered)})


COLUMNS = {
    "pandas ordered": (lambda: pd.DataFrame({"c": pd.Categorical(TEXTS, LEVELS, ordered=True)}), True),
    "pandas unordered": (lambda: pd.DataFrame({"c": pd.Categorical(TEXTS, LEVELS)}), False),
    "pandas text": (lambda: pd.DataFrame({"c": TEXTS}), False),
    "pandas dates": (lambda: pd.DataFrame({"c": pd.to_datetime(["2026-01-01", "2026-02-01"] * 4)}), True),
    "pandas booleans": (lambda: pd.DataFrame({"c": [True, False] * 4}), True),
    "polars Enum": (lambda: pl.DataFrame({"c": pl.Series(TEXTS, dtype=pl.Enum(LEVELS))}), True),
    "polars Categorical": (lambda: pl.DataFrame({"c": pl.Series(TEXTS, dtype=pl.Categorical())}), False),
    "polars String": (lambda: pl.DataFrame({"c": TEXTS}), False),
    "Arrow ordered": (lambda: coded(ordered=True), True),
    "Arrow unordered": (lambda: coded(ordered=False), False),
    "Arrow text": (lambda: pa.table({"c": TEXTS}), False),
    "numpy text": (lambda: np.array(TEXTS, dtype=object)[:, None], False),
    "numpy strings": (lambda: np.array(TEXTS)[:, None], False),
    "numpy booleans": (lambda: np.array([[True], [False]] * 4), True),
    "integers": (lambda: pd.DataFrame({"c": CODES}), True),
    "numbers": (lambda: np.array(CODES, float)[:, None], True),
}


def zero(table):
    return np.zeros(len(table))


def as_files(table, folder):
    """Write a table to two files as its own library does."""
    folder.mkdir()
    for number, (first, stop) in enumerate(((0, 3), (3, 8))):
        path = folder / f"{number}.parquet"
        if isinstance(table, pa.Table):
            pq.write_table(table.slice(first, stop - first), path)
        elif isinstance(table, pd.DataFrame):
            table[first:stop].to_parquet(path)
        else:
            table[first:stop].write_parquet(path)
    return str(folder)


# Older versions of polars hand an Enum to Arrow, and so to files, as if its order had no meaning.
ENUM_ORDER = pl.Series(TEXTS, dtype=pl.Enum(LEVELS)).to_arrow().type.ordered


@pytest.mark.parametrize("name", COLUMNS)
def test_an_axis_tells_whether_its_order_has_a_meaning(name, tmp_path):
    make, ordered = COLUMNS[name]
    table = make()
    sources = [table]
    if not isinstance(table, np.ndarray):
        sources.append(as_files(table, tmp_path / "rows"))
    if isinstance(table, pl.DataFrame):
        sources.append(table.lazy())
    for rows in sources:
        found = next(iter(paribus.effects(zero, rows, [0]).values()))
        near = next(iter(paribus.marginal(zero, rows, [0]).values()))
        for result in (found, near):
            assert result.ordered == (ordered and (rows is table or ENUM_ORDER or name != "polars Enum"),)
            result.save(tmp_path / "result.json")
            again = paribus.load(tmp_path / "result.json")
            assert again.ordered == result.ordered
            assert again == result


def test_the_order_of_given_levels_is_meant_and_that_of_declared_numbers_is_not():
    frame = pd.DataFrame({"c": TEXTS, "n": CODES})
    given = {"c": ["low", "mid", "high"]}
    pair = paribus.partial_dependence(
        zero, frame, ["c", "n"], custom_values=given, categorical_features=["n"]
    )
    assert pair.ordered == (True, False)
    other = paribus.partial_dependence(zero, frame, ["n", "c"])
    assert other.ordered == (True, False)
    assert paribus.marginal(zero, frame, ["c"], custom_values=given)["c"].ordered == (True,)
    same_but_for_order = paribus.partial_dependence(zero, frame, "c", custom_values={"c": ["low"]})
    assert same_but_for_order != dataclasses.replace(same_but_for_order, ordered=(False,))


def test_numbers_and_durations_are_told_as_people_do():
    assert at_value(np.timedelta64(36, "h")) == "1.5 days"
    assert at_value(np.timedelta64(90, "s")) == "1.5 minutes"
    assert at_value(np.timedelta64(-48, "ms")) == "-48 ms"
    assert at_value(np.timedelta64(0, "s")) == "0 µs"
    assert [told(v) for v in (1_000_003.0, 0.99996, 1.0, 12.3456)] == ["1,000,003", "0.99996", "1", "12.35"]
    assert told(1e12 + 2e8) == "1.0002e+12"


def types_of(value):
    """Return the types of a value all the way down."""
    if dataclasses.is_dataclass(value):
        return type(value), [types_of(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return type(value), [(types_of(key), types_of(item)) for key, item in value.items()]
    if isinstance(value, np.ndarray):
        items = [types_of(item) for item in value.flat] if value.dtype == object else None
        return np.ndarray, value.dtype, value.shape, items
    if isinstance(value, (tuple, list)):
        return type(value), [types_of(item) for item in value]
    return type(value), getattr(value, "unit", None), type(getattr(value, "tzinfo", None))


def comes_back(result, path):
    """Save, load and compare; return what was loaded."""
    result.save(path)
    again = paribus.load(path)
    assert again == result
    assert result == again
    assert types_of(again) == types_of(result)
    assert repr(again) == repr(result)
    assert pickle.loads(pickle.dumps(result)) == result
    return again


def test_every_type_of_result_comes_back_with_every_type_in_it(tmp_path):
    results = fuzz_results.prepared()
    own = {name for name, kind in stored_records().items() if kind.__module__.startswith("paribus.")}
    assert {type(result).stored for result in results} == own
    for result in results:
        comes_back(result, tmp_path / "result.json")


ZONES = [None, datetime.UTC, ZoneInfo("Europe/Zurich"), datetime.timezone(datetime.timedelta(hours=-3))]
EXACT = st.one_of(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5),
    st.times() | st.dates() | st.timedeltas(),
    st.binary(max_size=4) | st.decimals(allow_nan=False),
    st.datetimes(timezones=st.sampled_from(ZONES)),
    st.floats(width=32).map(np.float32) | st.integers(-128, 127).map(np.int8) | st.booleans().map(np.bool_),
    st.text(max_size=4).map(np.str_),
    st.integers(-(2**62), 2**62).map(lambda n: np.datetime64(n, "ns")),
    st.integers(-(2**62), 2**62).map(lambda n: np.timedelta64(n, "ms")),
    st.builds(
        lambda ns, zone, unit: pd.Timestamp(ns, unit="ns", tz=zone).as_unit(unit),
        st.integers(0, 2**60),
        st.sampled_from(ZONES),
        st.sampled_from(["s", "us", "ns"]),
    ),
    st.integers(-(2**60), 2**60).map(lambda ns: pd.Timedelta(ns, unit="ns")),
)
LOSSY = st.sampled_from(
    [
        fractions.Fraction(1, 3),
        pd.Interval(0, 1),
        pd.Period("2026-01"),
        2**64,
        10**5_000,
        1 + 2j,
        object(),
        np.longdouble("1.1"),
        enum.IntEnum("Color", "red").red,
        frozenset("ab"),
        datetime.time(12, tzinfo=ZoneInfo("Europe/Zurich")),
        datetime.datetime(2026, 1, 1, tzinfo=dateutil.tz.gettz("Europe/Zurich")),
    ]
)


@cache
def effect_at(size):
    """Return an effect at so many categories."""
    return paribus.partial_dependence(zero, pd.DataFrame({"c": list("abcdef")[:size] * 2}), "c")


def with_levels(values):
    """Return an effect at given categories."""
    return dataclasses.replace(effect_at(len(values)), grid_values=(objects(values),))


@given(st.lists(EXACT | st.tuples(EXACT, EXACT), min_size=1, max_size=6))
@example([datetime.time(0, 0, fold=1), datetime.time(0, 0)])
def test_every_category_comes_back_as_it_was(tmp_path_factory, values):
    comes_back(with_levels(values), tmp_path_factory.mktemp("saved") / "result.json")


@given(LOSSY)
def test_what_would_not_come_back_is_not_saved(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("saved") / "result.json"
    for odd in (value, (1, value)):
        with pytest.raises(paribus.errors.FormatError, match="cannot be saved"):
            with_levels([odd, "a"]).save(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"provenance": provenance(seconds=fractions.Fraction(1, 3))},
            r"Fraction\(1, 3\) of type Fraction cannot be saved",
        ),
        ({"deciles": collections.namedtuple("Odd", "only")(None)}, "deciles is of a type"),
        ({"deciles": (np.zeros(9, complex),)}, "dtype complex128 cannot be saved"),
    ],
)
def test_the_value_that_cannot_be_saved_is_named(tmp_path, change, words):
    with pytest.raises(paribus.errors.FormatError, match=words):
        dataclasses.replace(with_levels(list("abc")), **change).save(tmp_path / "e.json")


@given(
    hnp.arrays(
        st.sampled_from(["<f8", ">f8", "<f4", "<f2", "<i8", "|u1", "|b1", "<M8[ns]", "<m8[25s]"]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=5),
    )
)
def test_every_bit_of_an_array_is_kept(array):
    small = json.loads(json.dumps(write_array(array), allow_nan=False))
    large = np.concatenate([array.ravel()] * 300)
    packed = json.loads(json.dumps(write_array(large), allow_nan=False))
    assert ("values" in packed) == (large.size <= READABLE)
    for body, given_ in ((small, array), (packed, large)):
        again = read_array(body)
        assert (again.dtype.str, again.shape) == (given_.dtype.str, given_.shape)
        assert again.tobytes() == given_.tobytes()


def test_the_sign_of_nan_and_of_zero_is_kept(tmp_path):
    effect = with_levels(list("abc"))
    odd = np.array([[-0.0, -np.nan, np.nan]])
    assert np.signbit(odd).tolist() == [[True, True, False]]
    result = dataclasses.replace(effect, average=odd)
    assert comes_back(result, tmp_path / "e.json").average.tobytes() == odd.tobytes()
    assert result == dataclasses.replace(result, average=np.abs(odd) * np.array([[-1.0, 1.0, 1.0]]))
    assert result != dataclasses.replace(result, average=np.array([[0.0, np.nan, np.nan]]))
    assert dataclasses.replace(effect, strengths=odd[0, 1:2]) == dataclasses.replace(
        effect, strengths=odd[0, 1:2].copy()
    )
    assert dataclasses.replace(effect, strengths=np.zeros(1)) != dataclasses.replace(
        effect, strengths=-np.zeros(1)
    )


def test_the_sign_and_the_type_of_a_number_are_compared(X):
    local = paribus.accumulated_local_effects(two_outputs, X, 0)["x0"]
    assert dataclasses.replace(local, strength=np.nan) == dataclasses.replace(local, strength=float("nan"))
    assert dataclasses.replace(local, strength=0.0) != dataclasses.replace(local, strength=-0.0)
    assert dataclasses.replace(local, strength=0.0) != dataclasses.replace(local, strength=np.float64(0.0))


def test_many_curves_are_written_compactly_and_the_same_each_time(tmp_path, rng):
    X = rng.normal(size=(2_000, 2))
    effect = paribus.partial_dependence(two_outputs, X, 0, kind="both", grid_resolution=20)
    effect.save(tmp_path / "one.json")
    effect.save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    body = json.loads((tmp_path / "one.json").read_text())["result"]
    assert list(body["individual"]) == ["dtype", "shape", "zlib"]
    assert list(body["average"]) == ["dtype", "shape", "values"]
    assert (tmp_path / "one.json").stat().st_size < 1.3 * effect.individual.nbytes
    assert comes_back(effect, tmp_path / "one.json").individual.tobytes() == effect.individual.tobytes()


def array_of(size, **data):
    return {"dtype": "<f8", "shape": [size], **data}


def packed(data):
    return base64.b64encode(zlib.compress(data)).decode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (array_of(10**15, zlib=packed(b"")), "far larger than the file"),
        (array_of(10**6, zlib=packed(bytes(8 * 10**6))), "far larger than the file"),
        (array_of(10, zlib=packed(bytes(8_000))), "not as many as its shape"),
        (array_of(10, zlib=packed(bytes(16))), "not as many as its shape"),
        (array_of(10, bytes=base64.b64encode(bytes(80)).decode()), "no array"),
        (array_of(10**15, values=[]), "not as many as its shape"),
        (array_of(10, zlib="é"), "ASCII"),
        (array_of(2, values=[1.0, "much"]), "convert"),
        (array_of(2, values=[1.0, "2.0"]), "numbers that dtype float64 cannot"),
        (array_of(2, values=[1.0, True]), "holds something else"),
        (array_of(1, values=[10**400]), "too large"),
        ({"dtype": "<f4", "shape": [1], "values": [1e300]}, "dtype float32 cannot"),
        ({"dtype": "<i8", "shape": [1], "values": [1.5]}, "holds something else"),
        ({"dtype": "|b1", "shape": [8], "zlib": packed(bytes([2] * 8))}, "neither true"),
        ({"dtype": "<U99999999", "shape": [0], "values": []}, "not expected"),
        ({"dtype": "f8,f8", "shape": [0], "values": []}, "not expected"),
        ({"dtype": "<f8", "shape": [-1], "values": []}, "not a list of sizes"),
        ({"dtype": "<f8", "shape": [True], "values": [1.0]}, "not a list of sizes"),
        ({"dtype": "<f8", "shape": [1]}, "no array"),
        ([1.0], "no array"),
    ],
)
def test_sizes_are_checked_before_an_array_is_made(body, words):
    with pytest.raises((ValueError, OverflowError), match=words):
        read_array(body)


def changed_file(path, change):
    """Change the result in a file, and its digest with it."""
    document = json.loads(path.read_text())
    change(document["result"])
    path.write_text(json.dumps({**document, "digest": _digest(document["result"])}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.update(notes=[5]), "notes of PartialDependence: 5 is not a mapping"),
        (lambda body: body.update(notes="text"), "notes of PartialDependence: 'text' is not a list"),
        (lambda body: body.update(strengths=[1.0]), "strengths of PartialDependence"),
        (lambda body: body.update(strength_from="cells"), "'cells' is not one of"),
        (lambda body: body["provenance"].update(seconds=[1.0]), "seconds of Provenance"),
        (lambda body: body["provenance"].update(seconds=True), "True is not a float"),
        (lambda body: body["provenance"].update(seconds=2**64), "more than 64 bits"),
        (lambda body: body["provenance"].update(rows="many"), "rows of Provenance: 'many' is not a int"),
        (lambda body: body["provenance"].update(refusals=[]), "refusals of Provenance"),
        (lambda body: body["provenance"].update(percentiles=[0.1]), "percentiles of Provenance"),
        (lambda body: body["provenance"].update(weights={"sum": "x"}), "weights of Provenance"),
        (lambda body: body.update(kinds=["float"]), "'float' is not one of"),
        (lambda body: body.update(ordered=[1]), "1 is not a bool"),
        (lambda body: body.update(average=None), "neither averages nor curves"),
        (lambda body: body.update(missing=[]), "missing of PartialDependence"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_when_it_is_loaded(X, tmp_path, change, words):
    path = tmp_path / "effect.json"
    paribus.partial_dependence(two_outputs, X, 0, grid_resolution=4).save(path)
    changed_file(path, change)
    with pytest.raises(paribus.errors.FormatError, match=words):
        paribus.load(path)


@pytest.mark.parametrize(
    "text", ["NaN", "[" * 100_000, '{"a":' * 50_000, "9" * 5_000, '{"format": "paribus", "version": NaN}']
)
def test_files_that_json_cannot_hold_are_refused(tmp_path, text):
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(paribus.errors.FormatError, match="is not a result saved by paribus"):
        paribus.load(tmp_path / "e.json")


@pytest.mark.parametrize(
    ("path", "words"), [(None, "path=None"), (5, "path=5"), ("a\0b", "path="), (".", "path=")]
)
def test_paths_that_are_none_end_in_one_error(X, path, words):
    with pytest.raises(paribus.errors.FormatError, match=words):
        paribus.load(path)
    with pytest.raises(paribus.errors.FormatError, match=words):
        paribus.partial_dependence(two_outputs, X, 0, grid_resolution=4).save(path)


def test_a_failure_to_save_leaves_the_earlier_file_and_nothing_else(X, tmp_path, monkeypatch):
    path = tmp_path / "effect.json"
    earlier = paribus.partial_dependence(two_outputs, X, 0, grid_resolution=4)
    later = paribus.partial_dependence(two_outputs, X, 0, grid_resolution=5)
    earlier.save(path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as broken:
            broken.setattr(os, name, full)
            with pytest.raises(paribus.errors.FormatError, match=r"cannot be written: .*No space left"):
                later.save(path)
        assert paribus.load(path) == earlier
        assert list(tmp_path.iterdir()) == [path]
    later.save(path)
    assert paribus.load(path) == later
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_file_replaces_what_is_in_a_file_and_nothing_else(X, tmp_path, monkeypatch):
    effect = paribus.partial_dependence(two_outputs, X, 0, grid_resolution=4)
    path, link, pipe = (tmp_path / name for name in ("effect.json", "link.json", "pipe"))
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    effect.save(link)
    assert link.is_symlink()
    assert paribus.load(path) == effect
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        effect.save(pipe)
        assert json.loads(os.read(reader, 1 << 20)) == json.loads(path.read_text())
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    opened = Path.open

    def protected(self, mode="r", **options):
        if self.name == path.name and mode != "r":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(self, mode, **options)

    monkeypatch.setattr(Path, "open", protected)  # as chmod does not protect a file from an administrator
    with pytest.raises(paribus.errors.FormatError, match="Permission denied"):
        paribus.partial_dependence(two_outputs, X, 1, grid_resolution=4).save(path)
    assert paribus.load(path) == effect
    assert sorted(tmp_path.iterdir()) == [path, link, pipe]


def test_messages_about_files_are_short(X, tmp_path):
    path = tmp_path / "effect.json"
    paribus.partial_dependence(two_outputs, X, 0, grid_resolution=4).save(path)
    document, long = json.loads(path.read_text()), "x" * 10_000
    for key, value in (("version", long), ("result", {"record": long}), ("result", [long]), ("format", long)):
        path.write_text(json.dumps({**document, key: value}))
        with pytest.raises(paribus.errors.FormatError) as caught:
            paribus.load(path)
        assert len(str(caught.value)) < 800
    path.write_text(json.dumps(document))
    changed_file(path, lambda body: body.update(notes=long))
    with pytest.raises(paribus.errors.FormatError) as caught:
        paribus.load(path)
    assert len(str(caught.value)) < 800


@pytest.mark.nightly
def test_changed_files_are_refused_or_work(tmp_path):
    rng = np.random.default_rng(0)
    outcomes = [fuzz_results.mutate_and_load(rng, tmp_path) for _ in range(300)]
    assert 20 < outcomes.count("loaded") < 150
    assert outcomes.count("loaded") + outcomes.count("equal") + outcomes.count("refused") == 300
    assert max(fuzz_results.peaks) < 20_000_000


def page_of(effect, **changes):
    """A page as a report writes it, around a saved result."""
    payload = payload_of(effect)
    facts = {"size": payload.size, "sha256": payload.sha256, "data": payload.data} | changes
    own = f'<template id="paribus-payload" data-bytes="{facts["size"]}" data-sha256="{facts["sha256"]}">'
    return f"<!doctype html><html><body>{own}{facts['data']}</template></body></html>"


def test_result_inside_a_page_comes_back_as_it_was(X, tmp_path):
    effect = paribus.partial_dependence(two_outputs, X, 0, kind="both")
    path = tmp_path / "page.html"
    path.write_text(page_of(effect))
    assert paribus.load(path) == effect
    path.write_text(page_of(effect).replace("<!doctype html>", "<!DOCTYPE html>"))
    assert paribus.load(path) == effect


def test_payload_that_would_shrink_too_much_is_not_compressed(X):
    flat = paribus.partial_dependence(
        lambda t: np.zeros(len(t)), np.zeros((4_000, 1)) + np.arange(4_000)[:, None] % 2, 0, kind="both"
    )
    for effect in (flat, paribus.partial_dependence(two_outputs, X, 0)):
        payload = payload_of(effect)
        packed = base64.b64decode(payload.data)
        text = zlib.decompress(packed)
        assert len(text) == payload.size <= storage.RATIO * len(packed)
        assert hashlib.sha256(text).hexdigest() == payload.sha256


def test_damaged_pages_are_refused(X, tmp_path):
    effect = paribus.partial_dependence(two_outputs, X, 0)
    payload, path = payload_of(effect), tmp_path / "page.html"
    text = zlib.decompress(base64.b64decode(payload.data))
    longer = base64.b64encode(zlib.compress(text + b" ")).decode()
    other = base64.b64encode(zlib.compress(text.replace(b"0", b"1", 1))).decode()
    rest = base64.b64encode(base64.b64decode(payload.data) + b"rest").decode()
    cut = base64.b64encode(base64.b64decode(payload.data)[:-9]).decode()
    whole = page_of(effect)
    for page, words in (
        (whole.replace("paribus-payload", "other"), "0 saved results, not one"),
        (whole + whole[15:], "2 saved results, not one"),
        (whole + '<p id="paribus-payload">', "not a page written by paribus"),
        (page_of(effect, size=payload.size + 1), "does not have"),
        (page_of(effect, size=payload.size - 1), "does not have"),
        (page_of(effect, size=10**11), "cannot be in"),
        (page_of(effect, data=longer), "does not have"),
        (page_of(effect, data=rest), "does not have"),
        (page_of(effect, data=cut), "does not have"),
        (page_of(effect, data=other), "changed after it was written"),
        (page_of(effect, data=payload.data[:-3]), "is damaged"),
        (page_of(effect, data=base64.b64encode(b"no zlib, but long enough" * 99).decode()), "is damaged"),
    ):
        path.write_text(page)
        with pytest.raises(paribus.errors.FormatError, match=words):
            paribus.load(path)


@pytest.mark.parametrize("address", ["s3://bucket/effect.json", "gs://key:secret@bucket/effect.json"])
def test_results_are_not_written_to_or_read_from_addresses(X, address):
    with pytest.raises(
        paribus.errors.FormatError, match="is an address, and results are read from a disk"
    ) as read:
        paribus.load(address)
    effect = paribus.partial_dependence(two_outputs, X, 0)
    with pytest.raises(
        paribus.errors.FormatError, match="is an address, and results are written to a disk"
    ) as write:
        effect.save(address)
    assert "secret" not in f"{read.value} {write.value}"


def test_a_new_process_loads_any_result(tmp_path):
    path = tmp_path / "explanation.json"
    paribus.explain(lambda X: X[:, 0], np.arange(60.0).reshape(20, 3), progress=False).save(path)
    code = f"import paribus; print(type(paribus.load({str(path)!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Explanation"

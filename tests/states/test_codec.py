"""States as bytes: they come back bit for bit, nothing is unpickled, damaged ones are refused."""

import datetime
import io
import json
import pickle
import tracemalloc
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzz_checkpoints as fuzz
import paribus
from package_classes import changeable, comparing_arrays, dataclasses_of
from paribus._data.kinds import Steps
from paribus._data.samples import PrioritySample, UnitRows
from paribus._data.scan import parquet
from paribus._evaluators.support import KeptRows
from paribus._evaluators.survey import (
    ColumnSketch,
    DeclaredCategories,
    Digest,
    UnusableColumn,
    WeightTotals,
    survey_states,
)
from paribus._kernels import reference
from paribus._states import (
    BinnedSum,
    CellMoments,
    CodeTuples,
    Counts,
    CurveProducts,
    ExactSum,
    Keyed,
    Moments,
    Occupied,
    PointValues,
    RankedRows,
    RowCurves,
    SampledRows,
    UnitSums,
    Variances,
    known_states,
)
from paribus._states.codec import packed, unpacked
from paribus._states.row_states import CategoryWeights, Sketch

KNOWN = known_states() | survey_states()


def states():
    """One state of every class, and those whose parts are awkward."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    weights = rng.gamma(1.0, size=30)
    missing = pa.table({"x": pa.array([None], pa.float64()), "city": pa.array([None]).cast(pa.string())})
    coded = pa.table({"level": pa.array(["b"]).dictionary_encode(), "day": [datetime.date(2026, 1, 1)]})
    thinned = Sketch.of(x, weights, exact=8, capacity=4, limit=3)
    kept = Sketch.of(np.array([3, 1, 2], "i2"), None, exact=8, capacity=4, limit=9)
    dates = Sketch.of(np.arange(40).astype("M8[ns]"), None, exact=8, capacity=4, limit=3)
    few = Sketch.of(np.repeat([1.0, 2.0], 10), None, exact=8, capacity=4, limit=3)
    day, now = datetime.date(2026, 2, 3), datetime.datetime(2026, 2, 3, 4, 5, 6, 7)
    return {
        "counts": Counts(np.arange(6, dtype=np.int32).reshape(2, 3)),
        "no counts": Counts(np.zeros((0, 3))),
        "cells": CellMoments.of(rng.normal(size=(2, 30)), np.arange(30) % 4, None, 5),
        "weighted cells": CellMoments.of(rng.normal(size=(2, 30)), np.arange(30) % 4, weights, 5),
        "moments": Moments.of(rng.normal(size=(2, 3, 5)), None),
        "weighted moments": Moments.of(rng.normal(size=(2, 3, 5)), np.arange(1.0, 6)),
        "infinite moments": Moments.of(np.full((1, 2, 3), np.inf), None),
        "products": CurveProducts.of(rng.normal(size=(2, 3, 5)), np.arange(1.0, 6), reference.multiply),
        "values at points": PointValues.of(rng.normal(size=(2, 3, 5)), None, most=9, capacity=4),
        "weighted values at points": PointValues.of(x.reshape(1, 1, 30), weights, most=30, capacity=4),
        "thinned values at points": PointValues.of(x.reshape(1, 1, 30), weights, most=9, capacity=4),
        "exact sum": ExactSum.of(x, 8.0, 100),
        "binned sum": BinnedSum.of(np.array([1e-30, 1e30, -1e30, 0.1]), 9),
        "tuples of codes": CodeTuples.of(np.arange(12, dtype=np.int32).reshape(3, 4) % 5, 9),
        "curves": RowCurves(((3, rng.normal(size=(2, 4))), (0, np.zeros((2, 0), np.float32)))),
        "no curves": RowCurves(()),
        "turned curves": RowCurves(((0, rng.normal(size=(4, 2)).T),)),
        "weighed": WeightTotals.of(30, weights),
        "nothing weighed": WeightTotals.of(0, np.zeros(0)),
        "declared text": DeclaredCategories(("b", "a", "ü\0")),
        "declared numbers": DeclaredCategories((3, 1)),
        "declared nothing": DeclaredCategories(()),
        "unvaried": UnusableColumn("it is a list"),
        "digest": Digest(2**128 - 3),
        "few rows": KeptRows(4, 0, np.array([7]), coded),
        "occupied": Occupied.of(rng.random((3, 1024)) < 0.1),
        "variances": Variances.of(rng.normal(size=(30, 2)), weights),
        "ranked": RankedRows.of(x, rng.normal(size=(2, 30)), weights, 9),
        "sums of units": UnitSums.of(rng.normal(size=(2, 30)), weights, np.arange(30) % 7),
        "rows of units": UnitRows.of(np.arange(30), np.arange(30) % 7, None, 0, 99),
        "some rows of units": UnitRows.of(np.arange(30), np.arange(30) % 7, weights, 0, 9, x[None]),
        "cells of dependent rows": CellMoments.of(x[None], np.arange(30) % 4, weights, 5, np.arange(30) % 7),
        "sampled rows": SampledRows.of(np.arange(30), rng.normal(size=(2, 30)), weights, 9),
        "thinned": thinned,
        "kept": kept,
        "dates": dates,
        "few": few,
        "levels": CategoryWeights(("a", "b"), np.array([1.0, 2.0]), 5),
        "categories of integers": CategoryWeights((1, 2**40), np.array([1.0, 2.0]), 5),
        "categories of numbers": CategoryWeights((0.1, float("inf"), -0.0), np.ones(3), 5),
        "categories of flags": CategoryWeights((True, False), np.ones(2), 5),
        "categories of days": CategoryWeights((day,), np.ones(1), 5),
        "categories of moments": CategoryWeights((now,), np.ones(1), 5),
        "categories of ticks": CategoryWeights(
            (np.datetime64(7, "ns"), np.datetime64(8, "ns")), np.ones(2), 5
        ),
        "categories of date ticks": CategoryWeights((np.datetime64(7, "D"),), np.ones(1), 5),
        "categories of waits": CategoryWeights((np.timedelta64(7, "us"),), np.ones(1), 5),
        "too many categories": CategoryWeights((), np.zeros(0), 5, True),
        "priorities": PrioritySample.of(np.arange(30), weights, 0, 5),
        "look": ColumnSketch("numeric", "<f8", 2.5, missing, 7, 0.5, thinned, None, None, False),
        "steps": Steps(-(2**62), 86_400 * 10**9, "Europe/Berlin"),
        "coded look": ColumnSketch(
            "category", "O", 0.0, coded, -1, 0.0, None, CategoryWeights(("b",), np.ones(1), 5), ("b",), True
        ),
    }


def alike(one, other):
    """Two states are the same bit for bit, down to their types."""
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, pa.Table):
        assert one.schema == other.schema
        assert one.to_pylist() == other.to_pylist()
    elif isinstance(one, Mapping):
        assert list(one) == list(other)
        for key in one:
            alike(one[key], other[key])
    elif is_dataclass(one):
        assert type(one) is type(other)
        for field in fields(one):
            alike(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            alike(mine, theirs)
    elif isinstance(one, float):
        assert one.hex() == other.hex()
    else:
        assert one == other
        assert hash(one) == hash(other)
        assert isinstance(one, bool) == isinstance(other, bool)


@pytest.mark.parametrize("name", states())
def test_every_state_comes_back_bit_for_bit(name):
    state = states()[name]
    alike(state, unpacked(packed(state), KNOWN))
    keyed = Keyed({("look", 3): state, ("other", 0): Counts(np.ones(2))})
    alike(keyed, unpacked(packed(keyed), KNOWN))


@pytest.mark.parametrize(
    "name", ["levels", "categories of days", "categories of moments", "categories of ticks", "dates"]
)
def test_states_merge_after_they_came_back_as_before(name):
    state = states()[name]
    again = unpacked(packed(state), KNOWN)
    alike(again.merge(state), state.merge(state))
    alike(state.merge(again), state.merge(state))


def test_every_state_that_is_known_is_tried():
    assert {type(state).__name__ for state in states().values()} | {"Keyed"} == set(KNOWN)


def test_codec_classes_that_are_not_known_are_refused():
    with pytest.raises(paribus.errors.CheckpointError, match="'Sketch'"):
        unpacked(packed(states()["kept"]), known_states())
    with pytest.raises(paribus.errors.CheckpointError, match="'Popen'"):
        unpacked(forged({"record": "Popen", "args": "true"}), KNOWN)


def forged(tree, **arrays):
    file = io.BytesIO()
    np.savez(file, tree=np.frombuffer(json.dumps(tree).encode(), np.uint8), **arrays)
    return file.getvalue()


class Trap:
    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_codec_nothing_that_is_read_is_unpickled():
    objects = np.empty(1, object)
    objects[0] = Trap()
    file = io.BytesIO()
    np.savez(file, tree=objects)
    for data in (
        pickle.dumps(Trap()),
        file.getvalue(),
        forged({"record": "Counts", "cells": {"array": 0}}, a0=objects),
    ):
        with pytest.raises(paribus.errors.CheckpointError, match="cannot be read"):
            unpacked(data, KNOWN)
    assert not Trap.sprung


@given(st.sampled_from(["thinned", "coded look", "binned sum"]), st.data())
def test_codec_damaged_bytes_are_refused_or_harmless(name, data):
    state = states()[name]
    whole = packed(state)
    broken = bytearray(whole)
    if data.draw(st.booleans(), "cut"):
        broken = broken[: data.draw(st.integers(0, len(whole) - 1), "length")]
    else:
        broken[data.draw(st.integers(0, len(whole) - 1), "place")] ^= data.draw(st.integers(1, 255), "flip")
    try:
        found = unpacked(bytes(broken), KNOWN)
    except paribus.errors.CheckpointError:
        return
    assert len(broken) == len(whole)
    assert type(found) is type(state)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 256)


def test_codec_false_offsets_of_text_are_refused():
    table = pa.table({"text": ["one", "two", "three"]})
    data = fuzz.loaded(packed(KeptRows(4, 0, np.arange(3), table)))
    offsets = np.array([0, 3, 6, 11], np.int32).tobytes()
    name = next(name for name, array in data.items() if offsets in array.tobytes())
    for false in ([0, 3, 2**30, 11], [0, 2**31 - 1, 6, 11], [-9, 3, 6, 11], [0, 6, 3, 11]):
        broken = data[name].tobytes().replace(offsets, np.array(false, np.int32).tobytes())
        with pytest.raises(paribus.errors.CheckpointError, match="cannot be read"):
            unpacked(fuzz.written({**data, name: np.frombuffer(broken, np.uint8)}), KNOWN)


def test_codec_codes_of_categories_beyond_their_dictionary_are_refused():
    table = pa.table({"text": pa.array(["one", "two"] * 8).dictionary_encode()})
    data = fuzz.loaded(packed(KeptRows(99, 0, np.arange(16), table)))
    codes = np.tile(np.array([0, 1], np.int32), 8).tobytes()
    name = next(name for name, array in data.items() if codes in array.tobytes())
    broken = data[name].tobytes().replace(codes, np.tile(np.array([0, 10**6], np.int32), 8).tobytes())
    with pytest.raises(paribus.errors.CheckpointError, match="cannot be read"):
        unpacked(fuzz.written({**data, name: np.frombuffer(broken, np.uint8)}), KNOWN)


def test_state_takes_no_more_memory_than_its_file_is_long():
    state = packed(Counts(np.zeros(999)))
    bombs = [
        fuzz.written(fuzz.loaded(packed(Counts(np.zeros(5_000_000)))), np.savez_compressed),
        state.replace(b"(999,), }" + b" " * 12, b"(999999999999999,), }"),
        state.replace(b"(999,), }" + b" " * 20, b"(99999999999999999999999,), }"),
        state.replace(b"'<f8'", b"'<c8'"),
        state.replace(b"'<f8'", b"'|O8'"),
    ]
    tracemalloc.start()
    for bomb in bombs:
        with pytest.raises(paribus.errors.CheckpointError):
            unpacked(bomb, KNOWN)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000


def test_codec_members_that_share_their_bytes_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("tree.npy", bytes(100_000))
        for number in range(50):
            out.filelist.append(out.filelist[0])
            out.NameToInfo[f"a{number}.npy"] = out.filelist[0]
    with pytest.raises(paribus.errors.CheckpointError, match="declares more than it holds"):
        unpacked(file.getvalue(), KNOWN)


@pytest.mark.parametrize("deep", [1_000, 100_000])
def test_codec_deep_trees_are_refused(deep):
    for text in ("[" * deep, '{"parts":[' * deep + "]}" * deep):
        data = {"tree": np.frombuffer(text.encode(), np.uint8)}
        with pytest.raises(paribus.errors.CheckpointError, match="cannot be read"):
            unpacked(fuzz.written(data), KNOWN)


def test_classes_of_states_are_frozen_and_none_compares_arrays():
    package = "paribus._states"
    assert len(dataclasses_of(package)) > 12
    assert changeable(package) == set()
    assert comparing_arrays(package) == set()

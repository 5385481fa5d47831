"""A run that was killed goes on where it was, ends in the same bits, and takes nobody else's states."""

import datetime
import errno
import io
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzz_checkpoints as fuzz
import paribus
from paribus._data.sampling import PrioritySample
from paribus._data.scan import parquet
from paribus._data.steps import Steps
from paribus._evaluators.interactions.tree_passes import CoveragePass, PredictionPass
from paribus._evaluators.survey import (
    ColumnSketch,
    DeclaredCategories,
    Digest,
    KeptRows,
    Survey,
    UnusableColumn,
    WeightTotals,
    survey_states,
)
from paribus._evaluators.together import Together
from paribus._evaluators.trees.tree_exact import TreeExact
from paribus._executors.checkpoint import MACHINE, Checkpoint, KeptStates
from paribus._states import (
    BinnedSum,
    CellMoments,
    Counts,
    ExactSum,
    Keyed,
    Moments,
    Occupied,
    PointValues,
    RowCurves,
    known_states,
)
from paribus._states.codec import packed, unpacked
from paribus._states.expected import Constructed, Each, Either, Expected, Number, Numbers
from paribus._states.sketch import CategoryWeights, Sketch

ROWS = 2_500
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
        "values at points": PointValues.of(rng.normal(size=(2, 3, 5)), None, most=9, capacity=4),
        "weighted values at points": PointValues.of(x.reshape(1, 1, 30), weights, most=30, capacity=4),
        "thinned values at points": PointValues.of(x.reshape(1, 1, 30), weights, most=9, capacity=4),
        "exact sum": ExactSum.of(x, 8.0, 100),
        "binned sum": BinnedSum.of(np.array([1e-30, 1e30, -1e30, 0.1]), 9),
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


def test_classes_that_are_not_known_are_refused():
    with pytest.raises(paribus.CheckpointError, match="'Sketch'"):
        unpacked(packed(states()["kept"]), known_states())
    with pytest.raises(paribus.CheckpointError, match="'Popen'"):
        unpacked(forged({"record": "Popen", "args": "true"}), KNOWN)


def forged(tree, **arrays):
    file = io.BytesIO()
    np.savez(file, tree=np.frombuffer(json.dumps(tree).encode(), np.uint8), **arrays)
    return file.getvalue()


class Trap:
    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_nothing_that_is_read_is_unpickled():
    objects = np.empty(1, object)
    objects[0] = Trap()
    file = io.BytesIO()
    np.savez(file, tree=objects)
    for data in (
        pickle.dumps(Trap()),
        file.getvalue(),
        forged({"record": "Counts", "cells": {"array": 0}}, a0=objects),
    ):
        with pytest.raises(paribus.CheckpointError, match="cannot be read"):
            unpacked(data, KNOWN)
    assert not Trap.sprung


@given(st.sampled_from(["thinned", "coded look", "binned sum"]), st.data())
def test_damaged_bytes_are_refused_or_harmless(name, data):
    state = states()[name]
    whole = packed(state)
    broken = bytearray(whole)
    if data.draw(st.booleans(), "cut"):
        broken = broken[: data.draw(st.integers(0, len(whole) - 1), "length")]
    else:
        broken[data.draw(st.integers(0, len(whole) - 1), "place")] ^= data.draw(st.integers(1, 255), "flip")
    try:
        found = unpacked(bytes(broken), KNOWN)
    except paribus.CheckpointError:
        return
    assert len(broken) == len(whole)
    assert type(found) is type(state)


@cache
def frame():
    draw = np.random.default_rng(1)
    a = np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(size=ROWS))
    city = draw.choice(["Bern", "Basel", "Genf"], ROWS)
    X = pd.DataFrame({"a": a, "b": draw.integers(0, 9, ROWS), "c": draw.gamma(2.0, size=ROWS), "city": city})
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(draw.integers(0, 5, ROWS), unit="D")
    return X.assign(w=draw.gamma(1.0, size=ROWS), day=day.astype("datetime64[ns]") + pd.Timedelta(7, "ns"))


def written(folder, table=None):
    folder.mkdir(exist_ok=True)
    table = frame() if table is None else table
    for number, (first, stop) in enumerate(pairwise((0, 900, 1_000, ROWS))):
        table.iloc[first:stop].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=300)
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "rows")


@cache
def trees(rounds=4):
    X = frame()[["a", "b", "c"]]
    y = X["a"].fillna(2) * X["b"] + np.sin(X["c"])
    return lightgbm.LGBMRegressor(n_estimators=rounds, num_leaves=7, verbose=-1, n_jobs=1).fit(X, y)


def asked(table):
    return np.nan_to_num(table["a"].to_numpy(float), nan=2.0) * table["b"].to_numpy() + table["c"].to_numpy()


def many_levels(table):
    return asked(table) + table["city"].map({"Bern": 1.0, "Basel": 2.0, "Genf": 3.0}).to_numpy()


CALLS = {
    "trees": partial(paribus.effects, trees(), features=["a", "b", ("a", "c")], grid_resolution=9),
    "weighted trees": partial(
        paribus.effects, trees(), features=["a", "c"], grid_resolution=9, sample_weight="w"
    ),
    "function": partial(paribus.effects, asked, features=["a", "b"], grid_resolution=5, sample_weight="w"),
    "curves": partial(paribus.effects, asked, features=["c"], grid_resolution=4, kind="both"),
    "text": partial(paribus.effects, many_levels, features=["city", "b"], grid_resolution=5),
    "days as categories": partial(paribus.effects, asked, features=["day"], categorical_features=["day"]),
    "interactions": partial(paribus.h_statistic, trees()),
    "weighted interactions": partial(paribus.h_statistic, trees(), sample_weight="w", threeway=3),
}


def numbers(result):
    """Everything a result says, but when and where it was computed."""
    if hasattr(result, "h_squared_pairwise"):
        names = [
            f"{what}_{key}" for what in ("h_squared", "standard_error") for key in ("pairwise", "overall")
        ]
        return [getattr(result, name).tobytes() for name in names]
    found = []
    for key, effect in result.items():
        arrays = [effect.average, effect.standard_error, effect.individual, effect.support]
        found += [key, *(None if array is None else array.tobytes() for array in arrays)]
        found += [values.tolist() for values in effect.grid_values]
        found += [None if values is None else values.tobytes() for values in effect.deciles]
        if effect.missing is not None:
            found += [effect.missing.share, effect.missing.average.tobytes()]
    return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    monkeypatch.setattr("paribus._api.data.survey_rows", lambda *bounds: 256)


@pytest.fixture
def evaluated(monkeypatch):
    """The rows at which blocks began that were evaluated, pass by pass."""
    begun = []
    for kind in (Together, Survey, CoveragePass, PredictionPass):

        def spying(self, block, evaluate=kind.evaluate, name=kind.__name__):
            begun.append((name, block.start, block.questions))
            return evaluate(self, block)

        monkeypatch.setattr(kind, "evaluate", spying)
    return begun


def interrupted(monkeypatch, after, call):
    """Run until so many ranges were kept, and then as if somebody had pressed Ctrl-C."""
    keep, left = KeptStates.save, [after]

    def keeping(self, first, stop, state):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        keep(self, first, stop, state)

    with monkeypatch.context() as patched:
        patched.setattr(KeptStates, "save", keeping)
        with pytest.raises(KeyboardInterrupt):
            call()


@pytest.mark.parametrize("after", [4, 11])
@pytest.mark.parametrize("name", CALLS)
def test_a_run_that_was_interrupted_ends_in_the_same_bits(
    folder, tmp_path, monkeypatch, evaluated, name, after
):
    call = partial(CALLS[name], X=folder, n_jobs=1)
    wanted = numbers(call())
    every = Counter(evaluated)
    interrupted(monkeypatch, after, partial(call, checkpoint=tmp_path / "kept"))
    assert len(list((tmp_path / "kept").rglob("*.npz"))) == after
    evaluated.clear()
    assert numbers(call(checkpoint=tmp_path / "kept")) == wanted
    again = Counter(evaluated)
    assert again <= every
    assert (every - again).total() >= after
    evaluated.clear()
    assert numbers(call(checkpoint=tmp_path / "kept")) == wanted
    assert evaluated == []


@pytest.mark.parametrize("points", [(0, 1, 2, 3), (9, 1, 1), (10, 0, 1)])
def test_a_run_that_is_interrupted_again_and_again_gets_there(folder, tmp_path, monkeypatch, points):
    call = partial(CALLS["weighted trees"], X=folder, checkpoint=tmp_path / "kept")
    for after in points:
        interrupted(monkeypatch, after, call)
    assert len(list((tmp_path / "kept").rglob("*.npz"))) == sum(points)
    assert numbers(call()) == numbers(CALLS["weighted trees"](X=folder))


def test_one_thread_goes_on_where_two_were(folder, tmp_path, monkeypatch, evaluated):
    for name in ("trees", "function", "interactions"):
        call = partial(CALLS[name], X=folder, checkpoint=tmp_path / name)
        interrupted(monkeypatch, 11, partial(call, n_jobs=2))
        assert numbers(call(n_jobs=1)) == numbers(CALLS[name](X=folder))
        evaluated.clear()
        assert numbers(call(n_jobs=2)) == numbers(call(n_jobs=1))
        assert evaluated == []


KILLED = """
import sys, time
import numpy as np
import paribus
from paribus._api import data
import slow

slow.pause = 0.02
data.survey_rows = lambda *bounds: 256
paribus.effects(slow.model, sys.argv[1], ["a", "b"], grid_resolution=5, checkpoint=sys.argv[2])
"""
SLOW = """
import time
import numpy as np

pause = 0.0

def model(table):
    time.sleep(pause)
    return np.nan_to_num(table["a"].to_numpy(float), nan=2.0) * table["b"].to_numpy() + table["c"].to_numpy()
"""


def test_a_process_that_was_killed_leaves_what_it_had_finished(folder, tmp_path, monkeypatch, evaluated):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "killed.py").write_text(KILLED)
    kept = tmp_path / "kept"
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "killed.py"), str(folder), str(kept)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )
    deadline = time.monotonic() + 60
    while len(list(kept.rglob("*effects*/*.npz"))) < 3 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    finished = len(list(kept.rglob("*effects*/*.npz")))
    monkeypatch.syspath_prepend(str(tmp_path))
    import slow

    call = partial(paribus.effects, slow.model, folder, ["a", "b"], grid_resolution=5)
    resumed = call(checkpoint=kept)
    begun = {start for name, start, _ in evaluated if name == "Together"}
    assert len(begun) == -(-ROWS // resumed["a"].provenance.block_rows) - finished
    assert not any(name == "Survey" for name, *_ in evaluated)
    assert numbers(resumed) == numbers(call())


def test_a_half_written_file_is_not_there(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder)
    wanted = numbers(call(checkpoint=tmp_path / "kept"))
    for file in (tmp_path / "kept").rglob("*.npz"):
        file.with_suffix(".0a1b2c3d-4711.half").write_bytes(file.read_bytes()[:50])
        file.unlink()
    assert numbers(call(checkpoint=tmp_path / "kept")) == wanted


def test_a_damaged_state_is_refused_and_not_taken(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    file = next((tmp_path / "kept").rglob("*effects*/*.npz"))
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(paribus.CheckpointError) as raised:
        call()
    assert str(file) in str(raised.value)


def test_a_damaged_identity_says_what_to_remove(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    file = next((tmp_path / "kept").rglob("identity.json"))
    for content in ("{", "[]", "null", '"text"'):
        file.write_text(content)
        with pytest.raises(paribus.CheckpointError, match=r"identity\.json|belongs to another run \(other"):
            call()


def test_other_data_is_refused(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    changed = frame().copy()
    changed.loc[1_234, "c"] += 1.0
    written(folder, changed)
    with pytest.raises(
        paribus.CheckpointError, match=r"belongs to another run \(other data\); use another folder, or remove"
    ):
        call()


def test_fewer_files_are_other_data(folder, tmp_path):
    call = partial(CALLS["trees"], checkpoint=tmp_path / "kept")
    call(X=folder)
    with pytest.raises(paribus.CheckpointError, match="other data"):
        call(X=sorted(folder.iterdir())[:2])


def test_another_model_is_refused(folder, tmp_path):
    options = {"features": ["a"], "grid_resolution": 5, "checkpoint": tmp_path / "kept"}
    paribus.effects(trees(), folder, **options)
    with pytest.raises(paribus.CheckpointError, match="other model"):
        paribus.effects(trees(5), folder, **options)
    paribus.h_statistic(trees(), folder, checkpoint=tmp_path / "strengths")
    with pytest.raises(paribus.CheckpointError, match="other model"):
        paribus.h_statistic(trees(5), folder, checkpoint=tmp_path / "strengths")


def test_a_function_that_answers_otherwise_is_another_model(folder, tmp_path):
    options = {"features": ["a"], "grid_resolution": 5, "checkpoint": tmp_path / "kept"}
    paribus.effects(lambda t: asked(t), folder, **options)
    with pytest.raises(paribus.CheckpointError, match="other model"):
        paribus.effects(lambda t: asked(t) + 1, folder, **options)


OTHER = {
    "resolution": {"grid_resolution": 6},
    "percentiles": {"percentiles": (0.1, 0.9)},
    "splits": {"grid_resolution": "splits"},
    "kind": {"kind": "both"},
    "method": {"method": "brute"},
    "weights": {"sample_weight": "w"},
    "values": {"custom_values": {"a": [0.0, 0.5]}},
    "features": {"features": ["a", "c"]},
    "order of features": {"features": ["b", "a"]},
    "levels": {"categorical_features": ["b"]},
    "names": {"feature_names": [*"xyzuvw"], "features": ["x", "y"]},
}


@pytest.mark.parametrize("name", OTHER)
def test_other_settings_are_refused_or_lead_to_their_own_numbers(folder, tmp_path, name):
    first = {"features": ["a", "b"], "grid_resolution": 5}
    paribus.effects(trees(), folder, checkpoint=tmp_path / "kept", **first)
    if name == "order of features":
        found = paribus.effects(trees(), folder, **first | OTHER[name])
        try:
            again = paribus.effects(trees(), folder, checkpoint=tmp_path / "kept", **first | OTHER[name])
        except paribus.CheckpointError:
            return
        assert numbers(again) == numbers(found)
        return
    with pytest.raises(
        paribus.CheckpointError, match=r"another run \(other .*settings\); use another folder"
    ):
        paribus.effects(trees(), folder, checkpoint=tmp_path / "kept", **first | OTHER[name])


def test_custom_values_are_settings(folder, tmp_path):
    call = partial(paribus.effects, many_levels, folder, ["a", "city"], checkpoint=tmp_path / "kept")
    given_first = {"a": [0.0, 1.0], "city": ["Bern", "Genf"]}
    wanted = numbers(call(custom_values=given_first))
    for other in ({"a": [0.0, 1.5], "city": ["Bern", "Genf"]}, {"a": [0.0, 1.0], "city": ["Bern", "Basel"]}):
        with pytest.raises(paribus.CheckpointError, match="other settings"):
            call(custom_values=other)
    assert numbers(call(custom_values=given_first)) == wanted


@pytest.mark.parametrize(
    "other",
    [
        {"features": ["a", "b"]},
        {"threeway": 3},
        {"overall": False},
        {"sample_weight": "w"},
        {"random_state": 1},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_settings_of_interactions_are_refused(folder, tmp_path, other):
    first = {"features": ["a", "b", "c"]}
    paribus.h_statistic(trees(), folder, checkpoint=tmp_path / "kept", **first)
    with pytest.raises(paribus.CheckpointError, match="other settings"):
        paribus.h_statistic(trees(), folder, checkpoint=tmp_path / "kept", **first | other)


def test_effects_and_interactions_do_not_take_each_others_states(folder, tmp_path):
    effects = partial(CALLS["trees"], X=folder)
    strengths = partial(CALLS["interactions"], X=folder)
    wanted = numbers(effects(checkpoint=tmp_path / "kept"))
    with pytest.raises(paribus.CheckpointError, match="other settings"):
        strengths(checkpoint=tmp_path / "kept")
    assert numbers(effects(checkpoint=tmp_path / "kept")) == wanted


def test_a_skipped_file_does_not_stop_a_checkpoint(folder, tmp_path):
    file = folder / "2.parquet"
    data, place = bytearray(file.read_bytes()), pq.ParquetFile(file).metadata.row_group(3).column(2)
    first = place.dictionary_page_offset or place.data_page_offset
    for k in range(first, first + place.total_compressed_size):
        data[k] ^= 0xFF
    file.write_bytes(bytes(data))
    call = partial(CALLS["trees"], X=folder, on_error="skip")
    wanted = call()
    assert wanted["a"].provenance.rows == 1_000
    for _ in range(2):
        assert numbers(call(checkpoint=tmp_path / "kept")) == numbers(wanted)


def test_what_can_only_be_read_from_its_beginning_has_no_checkpoint(tmp_path):
    def batches():
        yield frame()[["a", "b", "c"]]

    with pytest.raises(paribus.OptionError, match="Parquet"):
        paribus.effects(trees(), batches, ["a"], grid_resolution=5, checkpoint=tmp_path / "kept")


def test_a_checkpoint_holds_numbers_and_plain_text_only(folder, tmp_path):
    CALLS["text"](X=folder, checkpoint=tmp_path / "kept")
    files = [file for file in (tmp_path / "kept").rglob("*") if file.is_file()]
    assert {file.suffix for file in files} == {".npz", ".json"}
    for file in files:
        if file.suffix == ".npz":
            with np.load(file, allow_pickle=False) as arrays:
                assert "tree" in arrays
        else:
            named = {"run"} if file.name == "run.json" else {"version", "run", "data", "settings"}
            assert set(json.loads(file.read_text())) >= named


def test_a_folder_that_does_not_exist_is_made(tmp_path, folder):
    deep = tmp_path / "not" / "yet"
    CALLS["trees"](X=folder, checkpoint=str(deep))
    assert sorted(path.name for path in deep.iterdir()) == ["00-survey", "01-effects", "run.json"]
    assert isinstance(Checkpoint.of(deep).folder, Path)


def test_blocks_of_another_size_are_not_counted_again(tmp_path):
    rng = np.random.default_rng(0)
    wide = pa.table({f"x{j}": rng.normal(size=9_000) for j in range(62)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    call = partial(paribus.effects, lambda X: X["x0"], tmp_path / "wide.parquet", ["x0"])
    call(max_memory="1GB", checkpoint=tmp_path / "kept")
    with pytest.raises(paribus.CheckpointError, match="settings"):
        call(max_memory="20MB", checkpoint=tmp_path / "kept")


def test_what_the_folders_say_is_data(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"data/year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": np.arange(50.0)}), tmp_path / f"data/year={year}/x.parquet")
    call = partial(
        paribus.effects, lambda X: X["a"], tmp_path / "data", ["year"], checkpoint=tmp_path / "kept"
    )
    call()
    (tmp_path / "data/year=2021").rename(tmp_path / "data/year=3021")
    with pytest.raises(paribus.CheckpointError, match="data"):
        call()


def test_functions_that_answer_the_first_rows_alike_are_told_apart(tmp_path):
    pq.write_table(pa.table({"a": np.append(np.zeros(20_000), 9.0)}), tmp_path / "x.parquet")
    call = partial(paribus.effects, X=tmp_path / "x.parquet", features=["a"], checkpoint=tmp_path / "kept")
    call(lambda X: np.where(X["a"] > 2.5, 100.0, 0.0))
    with pytest.raises(paribus.CheckpointError, match="model"):
        call(lambda X: np.where(X["a"] > 2.5, 200.0, 0.0))


def test_halves_of_killed_runs_are_cleared(folder, tmp_path):
    CALLS["text"](X=folder, checkpoint=tmp_path / "kept")
    state = next((tmp_path / "kept").rglob("*.npz"))
    with subprocess.Popen([sys.executable, "-c", ""]) as over:
        pass
    of = {"killed": f"{MACHINE}-{over.pid}", "running": f"{MACHINE}-{os.getpid()}"}
    of |= {"elsewhere": f"{'0' * 8}-{over.pid}", "elsewhere, old": f"{'1' * 8}-{os.getpid()}", "other": "x"}
    halves = {name: state.with_suffix(f".{writer}.half") for name, writer in of.items()}
    for half in halves.values():
        half.write_bytes(b"half")
    os.utime(halves["elsewhere, old"], (0, 0))
    CALLS["text"](X=folder, checkpoint=tmp_path / "kept")
    assert [name for name, half in halves.items() if half.exists()] == ["running", "elsewhere", "other"]


def test_a_pass_that_another_run_opens_does_not_lose_what_is_just_written(tmp_path, monkeypatch):
    opened, sync = Checkpoint.of(tmp_path), os.fsync
    store = opened.store("00-x", {"data": "1"}, Expected({}), {})

    def meanwhile(handle):
        sync(handle)
        opened.store("00-x", {"data": "1"}, Expected({}), {})

    monkeypatch.setattr(os, "fsync", meanwhile)
    store.save(0, 1, Keyed({}))
    assert store.contains(0, 1)


def test_one_that_refuses_what_it_meets_leaves_its_folder_to_itself(folder, tmp_path, monkeypatch):
    def refuse(self, block):
        raise paribus.RefusalError("it met something")

    call = partial(paribus.effects, trees(), folder, ["a"], grid_resolution=5)
    want = call(method="brute")
    monkeypatch.setattr(TreeExact, "evaluate", refuse)
    have = call(checkpoint=tmp_path / "kept")
    assert have["a"].provenance.evaluator == "brute"
    assert numbers(have) == numbers(want)


def test_changed_folders_give_the_same_bits_or_one_error(tmp_path):
    found = Counter(fuzz.mutate_and_run(seed, tmp_path) for seed in range(200))
    assert set(found) == {"same", "refused", "forged"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of effects, and one like it."""
    return fuzz.finished_folder("effects", str(tmp_path_factory.mktemp("finished")))


@pytest.fixture
def copied(finished, tmp_path):
    return Path(shutil.copytree(finished.folder, tmp_path / "copied"))


def states_in(folder):
    return sorted(folder.rglob("*.npz"))


def test_a_copied_folder_is_resumed(finished, copied):
    assert fuzz.numbers(finished.run(copied)) == finished.found


def test_states_belong_to_their_range_pass_and_run(finished, copied):
    survey_state, effects_state = (next(copied.glob(f"*{name}/*.npz")) for name in ("survey", "effects"))
    other_range = sorted(effects_state.parent.glob("*.npz"))[1]
    twin = finished.twin / effects_state.relative_to(copied)
    mine = effects_state.read_bytes()
    for stranger in (other_range, survey_state, twin):
        effects_state.write_bytes(stranger.read_bytes())
        with pytest.raises(
            paribus.CheckpointError, match=r"changed, or is of another run, pass or range; rem"
        ):
            finished.run(copied)
    effects_state.write_bytes(mine)
    assert fuzz.numbers(finished.run(copied)) == finished.found


def test_a_pass_of_another_run_with_the_same_settings_is_refused(finished, copied):
    shutil.rmtree(copied / "01-effects")
    shutil.copytree(finished.twin / "01-effects", copied / "01-effects")
    with pytest.raises(paribus.CheckpointError, match="belongs to another run; use another folder"):
        finished.run(copied)


def test_states_without_what_says_whose_they_are_are_refused(finished, copied):
    (copied / "run.json").unlink()
    with pytest.raises(paribus.CheckpointError, match="belongs to another run; use another folder"):
        finished.run(copied)
    shutil.copy(finished.folder / "run.json", copied)
    (copied / "01-effects" / "identity.json").unlink()
    assert fuzz.numbers(finished.run(copied)) == finished.found  # it says nothing that the run does not know


@pytest.mark.parametrize("file", ["run.json", "01-effects/identity.json"])
@pytest.mark.parametrize(
    "content",
    ["", "{", "[" * 100_000, '{"a":' * 50_000, "9" * 10_000, "NaN", "[]", "null", '{"run": NaN}', "\xff" * 9],
    ids=["nothing", "begun", "deep", "deep mapping", "huge", "nan", "list", "null", "no run", "no text"],
)
def test_odd_notes_end_in_one_error(finished, copied, file, content):
    (copied / file).write_bytes(content.encode("latin1"))
    with pytest.raises(
        paribus.CheckpointError,
        match=r"run\.json|identity\.json|belongs to another run \(other",
    ):
        finished.run(copied)


def test_a_note_without_end_is_not_read(finished, copied):
    with (copied / "run.json").open("r+b") as file:
        file.truncate(10**12)  # which takes no place on the disk
    with pytest.raises(paribus.CheckpointError, match="bytes where"):
        finished.run(copied)


def a_folder(file):
    file.unlink(missing_ok=True)
    file.mkdir()


def a_pipe(file):
    file.unlink()
    os.mkfifo(file)


def a_loop(file):
    file.unlink()
    file.symlink_to(file)


@pytest.mark.parametrize("make", [a_folder, a_pipe])
@pytest.mark.parametrize(
    "name", ["run.json", "01-effects/identity.json", "01-effects/000000000-000000001.npz"]
)
def test_what_is_no_file_is_refused(finished, copied, name, make):
    make(copied / name)
    with pytest.raises(paribus.CheckpointError, match="it is not a regular file; pass another folder"):
        finished.run(copied)


def test_a_file_where_a_pass_is_expected_is_refused(finished, copied):
    shutil.rmtree(copied / "01-effects")
    (copied / "01-effects").write_text("")
    with pytest.raises(paribus.CheckpointError, match=r"01-effects cannot be used: .*File exists"):
        finished.run(copied)


def test_a_half_that_cannot_be_cleared_is_named(finished, copied):
    half = copied / "01-effects" / "000000000-000000001.9.half"
    a_folder(half)
    os.utime(half, (0, 0))
    with pytest.raises(paribus.CheckpointError, match="01-effects cannot be used"):
        finished.run(copied)


def test_a_link_that_leads_nowhere_is_written_anew(finished, copied):
    a_loop(states_in(copied)[-1])
    assert fuzz.numbers(finished.run(copied)) == finished.found


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "~nobody-has-this-name/x", 5, b"bytes"])
def test_paths_that_can_be_no_folder_are_refused(folder, path):
    with pytest.raises(paribus.OptionError, match="checkpoint="):
        CALLS["trees"](X=folder, checkpoint=path)


def test_a_path_that_leads_in_a_circle_is_refused(folder, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(paribus.OptionError, match="cannot be a folder"):
        CALLS["trees"](X=folder, checkpoint=tmp_path / "loop" / "deep")


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_full_disk_ends_in_one_error_and_leaves_no_half(folder, tmp_path, monkeypatch, after):
    call, left, sync = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept"), [after], os.fsync

    def full(handle):
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(paribus.CheckpointError, match="No space left on device; pass another folder"):
            call()
    assert not list((tmp_path / "kept").rglob("*.half"))
    assert numbers(call()) == numbers(CALLS["trees"](X=folder))


def test_what_may_not_be_read_ends_in_one_error(finished, copied, monkeypatch):
    def denied(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", denied)
        with pytest.raises(paribus.CheckpointError, match="Permission denied; pass another folder"):
            finished.run(copied)


def test_two_that_begin_at_once_are_one_run(tmp_path, monkeypatch):
    first = Checkpoint.of(tmp_path / "kept")
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.name != "run.json" and exists(path))
    assert Checkpoint.of(tmp_path / "kept").run == first.run


def test_a_file_system_without_hard_links_will_do(tmp_path, monkeypatch):
    def unsupported(*paths):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    assert Checkpoint.of(tmp_path / "kept").run == Checkpoint.of(tmp_path / "kept").run


def forged_state(finished, copied, change):
    """Change the arrays of a state of effects, and give it the digest that the run itself would.

    ``change`` is given the arrays, and the fields of each part of the state by key.
    """
    file = sorted((copied / "01-effects").glob("*.npz"))[0]
    arrays = fuzz.loaded(file.read_bytes())
    tree = json.loads(arrays["tree"].tobytes())
    change(arrays, {key[0]: part for key, part in tree["parts"]})
    fuzz.forge(file, fuzz.written(arrays), finished)


@pytest.mark.parametrize(
    ("key", "change", "words"),
    [
        ("coverage", lambda array: array[:-1], r"shape .* is expected"),
        ("coverage", lambda array: array + 1_000_000, "out of range"),
        ("coverage", lambda array: array * np.nan, "out of range"),
        ("coverage", lambda array: array.astype("f4"), "no array of i8 or f8"),
        ("support", lambda array: array - 10**6, "out of range"),
        ("weight", lambda array: array.reshape(1, 1), "shape"),
    ],
)
def test_arrays_that_nobody_expects_are_refused_with_a_right_digest_too(finished, copied, key, change, words):
    def changed(arrays, parts):
        name = f"a{parts[key]['cells']['array']}"
        arrays[name] = change(arrays[name])

    forged_state(finished, copied, changed)
    with pytest.raises(paribus.CheckpointError, match=f"not what this run expects: .*{key}.*{words}"):
        finished.run(copied)


@pytest.mark.parametrize("code", [-1, 10**6, 2**31 - 1, -(2**31)])
def test_codes_beyond_the_tables_of_kernels_are_refused_with_a_right_digest_too(finished, copied, code):
    def changed(arrays, parts):
        _, codes = parts["sample"]["parts"][0]
        arrays[f"a{codes['array']}"][0, 0] = code

    forged_state(finished, copied, changed)
    with pytest.raises(paribus.CheckpointError, match=r"sample.* has numbers out of range"):
        finished.run(copied)


def test_false_offsets_of_text_are_refused():
    table = pa.table({"text": ["one", "two", "three"]})
    data = fuzz.loaded(packed(KeptRows(4, 0, np.arange(3), table)))
    offsets = np.array([0, 3, 6, 11], np.int32).tobytes()
    name = next(name for name, array in data.items() if offsets in array.tobytes())
    for false in ([0, 3, 2**30, 11], [0, 2**31 - 1, 6, 11], [-9, 3, 6, 11], [0, 6, 3, 11]):
        broken = data[name].tobytes().replace(offsets, np.array(false, np.int32).tobytes())
        with pytest.raises(paribus.CheckpointError, match="cannot be read"):
            unpacked(fuzz.written({**data, name: np.frombuffer(broken, np.uint8)}), KNOWN)


def test_codes_of_categories_beyond_their_dictionary_are_refused():
    table = pa.table({"text": pa.array(["one", "two"] * 8).dictionary_encode()})
    data = fuzz.loaded(packed(KeptRows(99, 0, np.arange(16), table)))
    codes = np.tile(np.array([0, 1], np.int32), 8).tobytes()
    name = next(name for name, array in data.items() if codes in array.tobytes())
    broken = data[name].tobytes().replace(codes, np.tile(np.array([0, 10**6], np.int32), 8).tobytes())
    with pytest.raises(paribus.CheckpointError, match="cannot be read"):
        unpacked(fuzz.written({**data, name: np.frombuffer(broken, np.uint8)}), KNOWN)


def test_a_state_takes_no_more_memory_than_its_file_is_long():
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
        with pytest.raises(paribus.CheckpointError):
            unpacked(bomb, KNOWN)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000


def test_members_that_share_their_bytes_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("tree.npy", bytes(100_000))
        for number in range(50):
            out.filelist.append(out.filelist[0])
            out.NameToInfo[f"a{number}.npy"] = out.filelist[0]
    with pytest.raises(paribus.CheckpointError, match="declares more than it holds"):
        unpacked(file.getvalue(), KNOWN)


@pytest.mark.parametrize("deep", [1_000, 100_000])
def test_deep_trees_are_refused(deep):
    for text in ("[" * deep, '{"parts":[' * deep + "]}" * deep):
        data = {"tree": np.frombuffer(text.encode(), np.uint8)}
        with pytest.raises(paribus.CheckpointError, match="cannot be read"):
            unpacked(fuzz.written(data), KNOWN)


def test_every_length_that_has_a_name_is_the_same_wherever_it_occurs():
    curves, sums = RowCurves.expected("rows", 2), RowCurves.expected("rows", 1, low=0, high=1)
    expected = Expected({("curves", 0): curves, ("sums", 0): sums}, totals={"rows": 7})

    def state(*sizes, others=None):
        own = tuple((start, np.zeros((2, size))) for start, size in enumerate(sizes))
        rest = tuple((start, np.zeros((1, size))) for start, size in enumerate(others or sizes))
        return Keyed({("curves", 0): RowCurves(own), ("sums", 0): RowCurves(rest)})

    expected.check(state(3, 4), whole=True)
    expected.check(state(3))
    for wrong, words in (
        (state(3, 4, others=(4, 3)), "shape"),
        (state(3, 4, others=(3,)), "another number of parts"),
        (state(3, 3), "6 rows where there are 7"),
        (Keyed({("curves", 0): RowCurves(())}), "one or more|1 or more"),
        (Keyed({("curves", 1): Counts(np.zeros(1))}), "unknown"),
        (Keyed({("curves", 0): Counts(np.zeros(1))}), "no RowCurves"),
        (Keyed({}), "is missing"),
        (Counts(np.zeros(1)), "no Keyed"),
    ):
        with pytest.raises(paribus.CheckpointError, match=words):
            expected.check(wrong, whole=True)


def test_patterns_refuse_other_types_and_numbers():
    either = Either((None, Numbers((2,), low=0.0, high=[1.0, 2.0])))
    pattern = Expected(
        {("a", 0): Constructed(DeclaredCategories, levels=(either, Number(int, 1, 5), Each("n", 3, least=0)))}
    )

    def check(*parts):
        pattern.check(Keyed({("a", 0): DeclaredCategories(parts)}))

    check(None, 1, ())
    check(np.array([1.0, 2.0]), 5, (3, 3))
    for wrong in (
        (np.array([2.0, 1.0]), 1, ()),
        (np.array([np.nan, 1.0]), 1, ()),
        (np.array([0, 1]), 1, ()),
        (np.zeros(3), 1, ()),
        (None, 6, ()),
        (None, True, ()),
        (None, 1.0, ()),
        (None, 1, (3, 4)),
        (None, 1, [3]),
        (None, 1),
    ):
        with pytest.raises(paribus.CheckpointError, match="not what this run expects"):
            check(*wrong)


def test_states_that_lack_a_part_are_refused_with_a_right_digest_too(finished, copied):
    for file in (copied / "01-effects").glob("*.npz"):
        arrays = fuzz.loaded(file.read_bytes())
        tree = json.loads(arrays["tree"].tobytes())
        tree["parts"] = [item for item in tree["parts"] if item[0] != ["coverage", 0]]
        fuzz.forge(
            file, fuzz.written({**arrays, "tree": np.frombuffer(json.dumps(tree).encode(), "u1")}), finished
        )
    words = r"01-effects: .*\('coverage', 0\) is missing; remove the folder to start over"
    with pytest.raises(paribus.CheckpointError, match=words):
        finished.run(copied)

"""Runs that were interrupted go on to the same bits; other data, models and settings are refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fuzz_checkpoints as fuzz
import paribus
from checkpoint_examples import CALLS, ROWS, asked, frame, many_levels, numbers, trees, written
from paribus._data.scan import parquet
from paribus._evaluators.interactions.tree_passes import CoveragePass, PredictionPass
from paribus._evaluators.support import Together
from paribus._evaluators.survey import Survey
from paribus._evaluators.trees.tree_exact import TreeExact
from paribus._executors.checkpoint import Checkpoint, KeptStates
from selection import nightly
from statistic_of import statistic_of


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "rows")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 256)


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


@pytest.mark.parametrize("after", [4, *nightly(11)])
@pytest.mark.parametrize("name", CALLS)
def test_checkpoint_run_that_was_interrupted_ends_in_same_bits(
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
def test_checkpoint_run_that_is_interrupted_again_and_again_gets_there(folder, tmp_path, monkeypatch, points):
    call = partial(CALLS["weighted trees"], X=folder, checkpoint=tmp_path / "kept")
    for after in points:
        interrupted(monkeypatch, after, call)
    assert len(list((tmp_path / "kept").rglob("*.npz"))) == sum(points)
    assert numbers(call()) == numbers(CALLS["weighted trees"](X=folder))


@pytest.mark.nightly
def test_checkpoint_one_thread_goes_on_where_two_were(folder, tmp_path, monkeypatch, evaluated):
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
from paribus._evaluators import survey
import slow

slow.pause = 0.02
survey.survey_rows = lambda *bounds: 256
explainer = paribus.Explainer(slow.model, sys.argv[1], checkpoint=sys.argv[2])
explainer.effects(["a", "b"], grid_resolution=5)
"""
SLOW = """
import time
import numpy as np

pause = 0.0

def model(table):
    time.sleep(pause)
    return np.nan_to_num(table["a"].to_numpy(float), nan=2.0) * table["b"].to_numpy() + table["c"].to_numpy()
"""


@pytest.mark.nightly
def test_checkpoint_process_that_was_killed_leaves_what_it_had_finished(
    folder, tmp_path, monkeypatch, evaluated
):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "killed.py").write_text(KILLED)
    kept = tmp_path / "kept"
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "killed.py"), str(folder), str(kept)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )
    deadline = time.monotonic() + 60
    while len(list(kept.rglob("*effects-*/*.npz"))) < 3 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    finished = len(list(kept.rglob("*effects-*/*.npz")))
    monkeypatch.syspath_prepend(str(tmp_path))
    import slow

    call = partial(statistic_of, "effects", slow.model, folder, ["a", "b"], grid_resolution=5)
    resumed = call(checkpoint=kept)
    begun = {start for name, start, _ in evaluated if name == "Together"}
    assert len(begun) == -(-ROWS // resumed["a"].provenance.block_rows) - finished
    assert not any(name == "Survey" for name, *_ in evaluated)
    assert numbers(resumed) == numbers(call())


def test_checkpoint_half_written_file_is_not_there(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder)
    wanted = numbers(call(checkpoint=tmp_path / "kept"))
    for file in (tmp_path / "kept").rglob("*.npz"):
        file.with_suffix(".0a1b2c3d-4711.half").write_bytes(file.read_bytes()[:50])
        file.unlink()
    assert numbers(call(checkpoint=tmp_path / "kept")) == wanted


def test_checkpoint_damaged_state_is_refused_and_not_taken(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    file = next((tmp_path / "kept").rglob("*effects-*/*.npz"))
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(paribus.errors.CheckpointError) as raised:
        call()
    assert str(file) in str(raised.value)


def test_checkpoint_damaged_identity_says_what_to_remove(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    file = next((tmp_path / "kept").rglob("identity.json"))
    for content in ("{", "[]", "null", '"text"'):
        file.write_text(content)
        with pytest.raises(
            paribus.errors.CheckpointError, match=r"identity\.json|belongs to another run \(other"
        ):
            call()


@pytest.mark.parametrize("version", [0, 2])
def test_checkpoint_of_another_version_is_refused(folder, tmp_path, version):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    file = next((tmp_path / "kept").rglob("identity.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))
    with pytest.raises(paribus.errors.CheckpointError, match=r"belongs to another run \(other version\)"):
        call()


def test_checkpoint_other_data_is_refused(folder, tmp_path):
    call = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept")
    call()
    changed = frame().copy()
    changed.loc[1_234, "c"] += 1.0
    written(folder, changed)
    with pytest.raises(
        paribus.errors.CheckpointError,
        match=r"belongs to another run \(other data\); use another folder, or remove",
    ):
        call()


def test_checkpoint_fewer_files_are_other_data(folder, tmp_path):
    call = partial(CALLS["trees"], checkpoint=tmp_path / "kept")
    call(X=folder)
    with pytest.raises(paribus.errors.CheckpointError, match="other data"):
        call(X=sorted(folder.iterdir())[:2])


def test_checkpoint_another_model_is_refused(folder, tmp_path):
    options = {"features": ["a"], "grid_resolution": 5, "checkpoint": tmp_path / "kept"}
    statistic_of("effects", trees(), folder, **options)
    with pytest.raises(paribus.errors.CheckpointError, match="other model"):
        statistic_of("effects", trees(5), folder, **options)
    paribus.Explainer(trees(), folder, checkpoint=tmp_path / "strengths").h_statistic()
    with pytest.raises(paribus.errors.CheckpointError, match="other model"):
        paribus.Explainer(trees(5), folder, checkpoint=tmp_path / "strengths").h_statistic()


def test_checkpoint_function_that_answers_otherwise_is_another_model(folder, tmp_path):
    options = {"features": ["a"], "grid_resolution": 5, "checkpoint": tmp_path / "kept"}
    statistic_of("effects", lambda t: asked(t), folder, **options)
    with pytest.raises(paribus.errors.CheckpointError, match="other model"):
        statistic_of("effects", lambda t: asked(t) + 1, folder, **options)


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
def test_checkpoint_calls_with_other_settings_share_a_folder(folder, tmp_path, name):
    call = partial(statistic_of, "effects", trees(), folder)
    first = {"features": ["a", "b"], "grid_resolution": 5}
    wanted = numbers(call(**first, checkpoint=tmp_path / "kept"))
    other = numbers(call(**first | OTHER[name]))
    assert numbers(call(**first | OTHER[name], checkpoint=tmp_path / "kept")) == other
    assert numbers(call(**first, checkpoint=tmp_path / "kept")) == wanted


def test_checkpoint_custom_values_are_settings(folder, tmp_path):
    call = partial(statistic_of, "effects", many_levels, folder, ["a", "city"])
    given_first = {"a": [0.0, 1.0], "city": ["Bern", "Genf"]}
    wanted = numbers(call(custom_values=given_first, checkpoint=tmp_path / "kept"))
    for other in ({"a": [0.0, 1.5], "city": ["Bern", "Genf"]}, {"a": [0.0, 1.0], "city": ["Bern", "Basel"]}):
        kept = numbers(call(custom_values=other, checkpoint=tmp_path / "kept"))
        assert kept == numbers(call(custom_values=other))
        assert kept != wanted
    assert numbers(call(custom_values=given_first, checkpoint=tmp_path / "kept")) == wanted


@pytest.mark.parametrize(
    "other",
    [
        {"features": ["a", "b"]},
        {"threeway": 3},
        {"sample_weight": "w"},
        {"random_state": 1},
    ],
    ids=lambda other: next(iter(other)),
)
def test_checkpoint_interactions_with_other_settings_share_a_folder(folder, tmp_path, other):
    call = partial(statistic_of, "h_statistic", trees(), folder)
    first = {"features": ["a", "b", "c"]}
    wanted = numbers(call(**first, checkpoint=tmp_path / "kept"))
    kept = numbers(call(**first | other, checkpoint=tmp_path / "kept"))
    assert kept == numbers(call(**first | other))
    assert numbers(call(**first, checkpoint=tmp_path / "kept")) == wanted


def test_checkpoint_effects_and_interactions_do_not_take_each_others_states(folder, tmp_path):
    effects, strengths = (partial(CALLS[name], X=folder) for name in ("trees", "interactions"))
    wanted = numbers(effects()), numbers(strengths())
    for _ in range(2):
        found = [numbers(call(checkpoint=tmp_path / "kept")) for call in (effects, strengths)]
        assert tuple(found) == wanted


def test_skipped_file_does_not_stop_checkpoint(folder, tmp_path):
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

    with pytest.raises(paribus.errors.OptionError, match="Parquet"):
        paribus.Explainer(trees(), batches, checkpoint=tmp_path / "kept").effects(["a"], grid_resolution=5)


def test_checkpoint_holds_numbers_and_plain_text_only(folder, tmp_path):
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


def test_checkpoint_folder_that_does_not_exist_is_made(tmp_path, folder):
    deep = tmp_path / "not" / "yet"
    CALLS["trees"](X=folder, checkpoint=str(deep))
    names = [path.name.rpartition("-")[0] for path in sorted(deep.iterdir())]
    assert names == ["00-survey", "01-effects", ""]  # the last one is run.json
    assert isinstance(Checkpoint.of(deep).folder, Path)


def test_checkpoint_survey_in_blocks_of_another_size_has_its_own_states(tmp_path):
    rng = np.random.default_rng(0)
    wide = pa.table({f"x{j}": rng.normal(size=9_000) for j in range(62)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    call = partial(statistic_of, "effects", lambda X: X["x0"], tmp_path / "wide.parquet", ["x0"])
    wanted = numbers(call(max_memory="1GB", checkpoint=tmp_path / "kept"))
    assert numbers(call(max_memory="20MB", checkpoint=tmp_path / "kept")) == wanted
    assert len(list((tmp_path / "kept").glob("00-survey-*"))) == 2


def test_checkpoint_what_folders_say_is_data(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"data/year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": np.arange(50.0)}), tmp_path / f"data/year={year}/x.parquet")
    call = partial(
        statistic_of, "effects", lambda X: X["a"], tmp_path / "data", ["year"], checkpoint=tmp_path / "kept"
    )
    call()
    (tmp_path / "data/year=2021").rename(tmp_path / "data/year=3021")
    with pytest.raises(paribus.errors.CheckpointError, match="data"):
        call()


def test_checkpoint_functions_that_answer_first_rows_alike_are_reported_apart(tmp_path):
    pq.write_table(pa.table({"a": np.append(np.zeros(20_000), 9.0)}), tmp_path / "x.parquet")
    call = partial(
        statistic_of, "effects", X=tmp_path / "x.parquet", features=["a"], checkpoint=tmp_path / "kept"
    )
    call(lambda X: np.where(X["a"] > 2.5, 100.0, 0.0))
    with pytest.raises(paribus.errors.CheckpointError, match="model"):
        call(lambda X: np.where(X["a"] > 2.5, 200.0, 0.0))


def test_checkpoint_one_that_refuses_what_it_meets_leaves_its_folder_to_itself(folder, tmp_path, monkeypatch):
    def refuse(self, block):
        raise paribus.errors.RefusalError("it met something")

    call = partial(statistic_of, "effects", trees(), folder, ["a"], grid_resolution=5)
    want = call(method="brute")
    monkeypatch.setattr(TreeExact, "evaluate", refuse)
    have = call(checkpoint=tmp_path / "kept")
    assert have["a"].provenance.evaluator == "brute"
    assert numbers(have) == numbers(want)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of effects, and one like it."""
    return fuzz.finished_folder("effects", str(tmp_path_factory.mktemp("finished")))


def test_checkpoint_other_bytes_within_size_time_and_extremes_are_other_data(tmp_path):
    plain = {"index": False, "compression": None, "use_dictionary": False}
    table, file = frame()[["a", "b", "c"]], tmp_path / "rows.parquet"
    table.to_parquet(file, **plain)
    before, footer = file.stat(), pq.read_metadata(file)
    call = partial(CALLS["trees"], X=file, checkpoint=tmp_path / "kept")
    call()
    changed = table.copy()
    changed.loc[changed["c"].sub(changed["c"].median()).abs().idxmin(), "c"] += 0.5
    changed.to_parquet(file, **plain)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert pq.read_metadata(file).equals(footer)
    with pytest.raises(paribus.errors.CheckpointError, match="other data"):
        call()

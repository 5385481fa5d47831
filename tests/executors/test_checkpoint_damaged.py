"""Folders of checkpoints that somebody changed give the same bits or one error."""

import errno
import os
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import fuzz_checkpoints as fuzz
import paribus
from checkpoint_examples import CALLS, numbers, written
from paribus._data.scan import parquet
from paribus._executors.checkpoint import Checkpoint


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "rows")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 256)


@pytest.mark.nightly
def test_checkpoint_changed_folders_give_same_bits_or_one_error(tmp_path):
    found = Counter(fuzz.mutate_and_run(seed, tmp_path) for seed in range(100))
    assert set(found) == {"same", "refused"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of effects, and one like it."""
    return fuzz.finished_folder("effects", str(tmp_path_factory.mktemp("finished")))


@pytest.fixture
def copied(finished, tmp_path):
    return Path(shutil.copytree(finished.folder, tmp_path / "copied"))


def states_in(folder):
    return sorted(folder.rglob("*.npz"))


def test_checkpoint_copied_folder_is_resumed(finished, copied):
    assert fuzz.numbers(finished.run(copied)) == finished.found


def test_checkpoint_states_belong_to_their_range_pass_and_run(finished, copied):
    survey_state, effects_state = (next(copied.glob(f"*{name}-*/*.npz")) for name in ("survey", "effects"))
    other_range = sorted(effects_state.parent.glob("*.npz"))[1]
    twin = finished.twin / effects_state.relative_to(copied)
    mine = effects_state.read_bytes()
    for stranger in (other_range, survey_state, twin):
        effects_state.write_bytes(stranger.read_bytes())
        with pytest.raises(
            paribus.errors.CheckpointError, match=r"changed, or is of another run, pass or range; rem"
        ):
            finished.run(copied)
    effects_state.write_bytes(mine)
    assert fuzz.numbers(finished.run(copied)) == finished.found


def test_checkpoint_pass_of_another_run_with_same_settings_is_refused(finished, copied):
    (effects,) = copied.glob("01-effects-*")
    shutil.rmtree(effects)
    shutil.copytree(finished.twin / effects.name, effects)
    with pytest.raises(paribus.errors.CheckpointError, match="belongs to another run; use another folder"):
        finished.run(copied)


def test_checkpoint_states_without_what_says_whose_they_are_are_refused(finished, copied):
    (copied / "run.json").unlink()
    with pytest.raises(paribus.errors.CheckpointError, match="belongs to another run; use another folder"):
        finished.run(copied)
    shutil.copy(finished.folder / "run.json", copied)
    next(copied.glob("01-effects-*/identity.json")).unlink()
    assert fuzz.numbers(finished.run(copied)) == finished.found  # it says nothing that the run does not know


@pytest.mark.parametrize("file", ["run.json", "01-effects-*/identity.json"])
@pytest.mark.parametrize(
    "content",
    ["", "{", "[" * 100_000, '{"a":' * 50_000, "9" * 10_000, "NaN", "[]", "null", '{"run": NaN}', "\xff" * 9],
    ids=["nothing", "begun", "deep", "deep mapping", "huge", "nan", "list", "null", "no run", "no text"],
)
def test_checkpoint_odd_notes_end_in_one_error(finished, copied, file, content):
    next(copied.glob(file)).write_bytes(content.encode("latin1"))
    with pytest.raises(
        paribus.errors.CheckpointError,
        match=r"run\.json|identity\.json|belongs to another run \(other",
    ):
        finished.run(copied)


def test_checkpoint_note_without_end_is_not_read(finished, copied):
    with (copied / "run.json").open("r+b") as file:
        file.truncate(10**12)  # which takes no place on the disk
    with pytest.raises(paribus.errors.CheckpointError, match="bytes where"):
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
    "name", ["run.json", "01-effects-*/identity.json", "01-effects-*/000000000-000000001.npz"]
)
def test_checkpoint_what_is_no_file_is_refused(finished, copied, name, make):
    make(next(copied.glob(name)))
    with pytest.raises(paribus.errors.CheckpointError, match="it is not a regular file; pass another folder"):
        finished.run(copied)


def test_checkpoint_file_where_pass_is_expected_is_refused(finished, copied):
    (effects,) = copied.glob("01-effects-*")
    shutil.rmtree(effects)
    effects.write_text("")
    with pytest.raises(paribus.errors.CheckpointError, match=r"01-effects-\w+ cannot be used: .*File exists"):
        finished.run(copied)


def test_checkpoint_link_that_leads_nowhere_is_written_anew(finished, copied):
    a_loop(states_in(copied)[-1])
    assert fuzz.numbers(finished.run(copied)) == finished.found


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "~nobody-has-this-name/x", 5, b"bytes"])
def test_checkpoint_paths_that_can_be_no_folder_are_refused(folder, path):
    with pytest.raises(paribus.errors.OptionError, match="checkpoint="):
        CALLS["trees"](X=folder, checkpoint=path)


def test_checkpoint_path_that_leads_in_circle_is_refused(folder, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(paribus.errors.OptionError, match="cannot be a folder"):
        CALLS["trees"](X=folder, checkpoint=tmp_path / "loop" / "deep")


@pytest.mark.parametrize("after", [0, 1, 3])
def test_checkpoint_full_disk_ends_in_one_error_and_leaves_no_half(folder, tmp_path, monkeypatch, after):
    call, left, sync = partial(CALLS["trees"], X=folder, checkpoint=tmp_path / "kept"), [after], os.fsync

    def full(handle):
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(
            paribus.errors.CheckpointError, match="No space left on device; pass another folder"
        ):
            call()
    assert not list((tmp_path / "kept").rglob("*.half"))
    assert numbers(call()) == numbers(CALLS["trees"](X=folder))


def test_checkpoint_what_may_not_be_read_ends_in_one_error(finished, copied, monkeypatch):
    def denied(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", denied)
        with pytest.raises(paribus.errors.CheckpointError, match="Permission denied; pass another folder"):
            finished.run(copied)


def test_checkpoint_two_that_begin_at_once_are_one_run(tmp_path, monkeypatch):
    first = Checkpoint.of(tmp_path / "kept")
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.name != "run.json" and exists(path))
    assert Checkpoint.of(tmp_path / "kept").run == first.run


def test_checkpoint_file_system_without_hard_links_will_do(tmp_path, monkeypatch):
    def unsupported(*paths):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    assert Checkpoint.of(tmp_path / "kept").run == Checkpoint.of(tmp_path / "kept").run

"""Where compiled kernels are kept, and what is done where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paribus._kernels import cache_folder

CHILD = """
import logging, sys
import numpy as np
from paribus._kernels import cache_folder
from paribus._kernels.jit.interactions import tally
logging.basicConfig(format="%(message)s", stream=sys.stdout, level=logging.INFO)
rows = np.zeros((1, 32), np.int64)
tally(np.array([[0, 1, 1, 2]], np.uint8), rows)
assert rows[0, :3].tolist() == [1, 2, 1]
print(cache_folder.folder())
"""


@pytest.fixture
def chosen(monkeypatch):
    """Choose the folder anew, and again afterwards."""
    cache_folder.folder.cache_clear()
    for name in (cache_folder.NUMBA, cache_folder.CHOICE):
        monkeypatch.delenv(name, raising=False)
    yield monkeypatch
    cache_folder.folder.cache_clear()


@pytest.mark.parametrize(
    ("platform", "variable", "want"),
    [
        ("linux", "XDG_CACHE_HOME", "{home}/paribus"),
        ("linux", None, "~/.cache/paribus"),
        ("darwin", None, "~/Library/Caches/paribus"),
        ("win32", "LOCALAPPDATA", "{home}/paribus"),
        ("win32", None, "~/AppData/Local/paribus"),
    ],
)
def test_kernels_are_kept_in_the_users_cache_folder(platform, variable, want, chosen, tmp_path):
    chosen.setattr(sys, "platform", platform)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        chosen.delenv(name, raising=False)
    if variable is not None:
        chosen.setenv(variable, str(tmp_path))
    assert cache_folder.place().parent == Path(want.format(home=tmp_path)).expanduser()
    assert cache_folder.place().name.startswith("kernels-")


def test_environment_variables_name_the_folder(chosen, tmp_path):
    chosen.setenv(cache_folder.CHOICE, str(tmp_path / "own"))
    assert cache_folder.folder().parent == tmp_path / "own"
    chosen.setenv(cache_folder.NUMBA, str(tmp_path / "numba"))  # which comes first
    cache_folder.folder.cache_clear()
    assert cache_folder.folder().parent == tmp_path / "numba"


def test_a_folder_that_cannot_be_made_is_done_without(chosen, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    chosen.setenv(cache_folder.CHOICE, str(tmp_path / "file"))
    assert cache_folder.folder() is cache_folder.folder() is None
    assert caplog.text.count("so that every process compiles them; set PARIBUS_CACHE_DIR to a folder") == 1


def test_a_folder_that_can_only_be_read_is_copied(chosen, tmp_path):
    chosen.setenv(cache_folder.CHOICE, str(tmp_path))
    (cache_folder.place() / "jit").mkdir(parents=True)
    (cache_folder.place() / "jit" / "masks.nbi").write_text("index")

    def refuses(path):
        raise PermissionError("read only")

    chosen.setattr(cache_folder, "_writable", refuses)
    copied = cache_folder.folder()
    assert copied != cache_folder.place()
    assert (copied / "jit" / "masks.nbi").read_text() == "index"


@pytest.mark.nightly
def test_a_kernel_is_compiled_once_and_then_loaded(tmp_path):
    """In the folder alone, without a word the second time, and anew for other sources."""
    said = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", CHILD],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )
        said.append(run.stdout)
    assert "compiled tally in" in said[0]
    assert "compiled tally in" not in said[1]
    assert {path.suffix for path in tmp_path.rglob("*tally*")} == {".nbi", ".nbc"}


def test_a_user_without_a_home_compiles_for_one_process(chosen, caplog):
    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    chosen.setattr(Path, "expanduser", homeless)
    assert cache_folder.folder() is None
    assert "Could not determine home directory" in caplog.text

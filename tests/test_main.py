"""The command ``python -m paribus``."""

import pytest

from paribus import __main__, _compile
from paribus._kernels import cache_folder


class Compiled:
    name, loaded, loads = "cover rows", True, 0

    def load(self):
        self.loads += 1


def test_compile_reports_every_kernel_and_where_it_is_kept(monkeypatch, capsys, tmp_path):
    one = Compiled()
    monkeypatch.setattr(_compile, "every_kernel", lambda: [one, one])
    monkeypatch.setattr(cache_folder, "place", lambda: tmp_path)
    monkeypatch.setattr(cache_folder, "folder", lambda: tmp_path)
    assert __main__.main(["compile"]) == 0
    shown = capsys.readouterr().out
    assert one.loads == 2
    assert "2 of 2" in shown
    assert "cover rows" in shown
    assert f"kept in {tmp_path}" in shown


def test_compile_finds_every_kernel_once():
    names = [kernel.function.__name__ for kernel in _compile.every_kernel()]
    assert len(names) == len(set(names)) > 10
    assert "rank" in names


def test_compile_fails_where_nothing_can_be_kept(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(cache_folder, "place", lambda: tmp_path / "away")
    monkeypatch.setattr(cache_folder, "folder", lambda: None)
    assert __main__.main(["compile"]) == 1
    assert "cannot be written; set PARIBUS_CACHE_DIR to another folder" in capsys.readouterr().err


def test_compile_fails_without_numba(monkeypatch, capsys):
    monkeypatch.setattr(_compile, "why_numpy", lambda: "numba is not installed")
    assert __main__.main(["compile"]) == 1
    assert "nothing to compile: numba is not installed" in capsys.readouterr().err


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        __main__.main(["compile", "--help"])
    assert ended.value.code == 0
    assert "RUN pip install paribus && python -m paribus compile" in capsys.readouterr().out

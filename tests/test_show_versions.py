"""What `paribus.show_versions` prints: every library by its metadata, and how this machine computes."""

import io
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import paribus
from paribus import _show_versions
from paribus._command.entry import main

ROOT = Path(__file__).parent.parent


def shown():
    """Return what is printed, as a mapping from names to values."""
    kept = io.StringIO()
    paribus.show_versions(kept)
    return dict(re.findall(r"^  (\S+(?: \S+)?) {2,}(.+)$", kept.getvalue(), re.MULTILINE))


def test_every_dependency_and_extra_is_shown_with_its_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    models = project["dependency-groups"]["models"]
    named = [
        *project["project"]["dependencies"],
        *(one for every in extras.values() for one in every),
        *models,
    ]
    names = {re.match(r"[\w-]+", one)[0] for one in named} - {"paribus"}
    have = shown()
    assert len(names) > 15
    for name in names:
        assert have[name] == metadata.version(name), name
    assert have["python"] == sys.version.split()[0]


def test_the_first_line_is_that_of_the_command(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    command = capsys.readouterr().out
    paribus.show_versions()
    assert capsys.readouterr().out.startswith(command)
    assert command == f"paribus {paribus.__version__}\n"


@pytest.mark.nightly
def test_no_library_is_imported_but_numba():
    heavy = ("matplotlib", "plotly", "pandas", "polars", "sklearn", "xgboost", "dask", "duckdb")
    code = f"import sys, paribus; paribus.show_versions(); print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_is_absent_and_why_kernels_are_slow_is_said(monkeypatch):
    monkeypatch.setattr(_show_versions, "EXTRAS", ("no-such-package",))
    monkeypatch.setattr(_show_versions, "why_numpy", lambda: "numba is not installed")
    have = shown()
    assert have["no-such-package"] == "not installed"
    assert have["kernels"] == "reference, in NumPy: numba is not installed"
    assert re.fullmatch(r"[\d.]+ [MGT]B, half of what is free", have["memory bound"])
    assert int(have["cores"]) >= 1


def test_an_unknown_choice_of_kernels_is_reported_and_no_error(monkeypatch):
    def refuse():
        raise paribus.errors.OptionError("the environment variable PARIBUS_KERNELS='quick' must be ...")

    monkeypatch.setattr(_show_versions, "why_numpy", refuse)
    assert shown()["kernels"].startswith("none: the environment variable PARIBUS_KERNELS='quick'")

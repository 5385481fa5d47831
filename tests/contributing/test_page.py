"""CONTRIBUTING.md: what it names is there, and every folder of tests is named."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()


def named():
    """Return the files and folders of tests in the table."""
    rows = re.findall(r"^\|.*\|(.*)\|$", PAGE.partition("| behavior | tests |")[2], flags=re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    return [name for name in names if not name.startswith("make ")]


def test_tests_that_are_named_are_there_and_every_folder_is_named():
    folders = set()
    for name in named():
        places = [ROOT / "tests", ROOT]
        found = [path for place in places for path in place.glob(name.rstrip("/"))]
        assert found, name
        folders |= {path if path.is_dir() else path.parent for path in found}
    assert {path.parent for path in (ROOT / "tests").rglob("test_*.py")} <= folders


def test_commands_that_are_named_are_in_the_makefile():
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", PAGE)) <= known

"""CONTRIBUTING.md: what it names is there, and its rule of the places of tests holds."""

import re
from pathlib import Path

import paribus

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PAGE = (ROOT / "CONTRIBUTING.md").read_text()


def test_tests_mirror_modules_or_are_in_the_table_of_behavior():
    """A test file begins with the name of a module or folder of its package."""
    table = PAGE.split("| behavior |")[1].split("\n\n")[0]
    listed = {pattern: set(TESTS.glob(pattern)) for pattern in re.findall(r"`([\w/*]+\.py)`", table)}
    assert [pattern for pattern, files in listed.items() if not files] == []
    package, astray = Path(paribus.__file__).parent, []
    for path in set(TESTS.rglob("test_*.py")) - set().union(*listed.values()):
        folder = path.parent.relative_to(TESTS)
        mirrored = package / folder if (package / folder).is_dir() else package / f"_{folder}"
        parts = mirrored.rglob("*") if folder.name else mirrored.glob("*")
        names = {part.stem.strip("_") for part in parts}
        subject = f"{path.stem.removeprefix('test_')}_"
        if not any(subject.startswith(f"{name}_") for name in names if name):
            astray.append(path.relative_to(TESTS).as_posix())
    assert astray == []


def test_commands_that_are_named_are_in_the_makefile():
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", PAGE)) <= known

"""Cases that CI leaves to ``make soak``."""

from pathlib import Path

from conftest import FURTHER


def test_further_cases_name_tests_that_exist():
    tests = Path(__file__).parents[1]
    text = "".join(path.read_text() for path in tests.rglob("test_*.py"))
    for case in FURTHER:
        assert case.rpartition("::")[2].partition("[")[0] in text, case

"""Selection of test cases: which run on each change, and which at night."""

import pytest


def nightly(*values):
    """Return cases of a parameter that only `make nightly` runs."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]

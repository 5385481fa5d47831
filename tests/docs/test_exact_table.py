"""The table of exact methods agrees with what paribus does."""

from importlib import import_module

import pytest

from selection import nightly

for library in ("catboost", "glum", "interpret.glassbox", "sksurv", "statsmodels.api"):
    pytest.importorskip(library)

exact = import_module("exact")  # after what it imports was found
FAMILIES = {family.name: family for family in exact.families()}
IN_CI = [
    "`RandomForestClassifier`",
    "`VotingRegressor` of trees and `Ridge`",
    "`PCA` of the features; then trees",
    "a function",
]


@pytest.mark.parametrize("name", [*IN_CI, *nightly(*(name for name in FAMILIES if name not in IN_CI))])
def test_row_is_what_its_calls_did(name):
    page, family = exact.PAGE.read_text(), FAMILIES[name]
    numbers = exact.reasons_in(page)
    for cells in exact.rows_of(family, verify=True):
        assert exact.line(family, cells, numbers) in page.splitlines()


def test_page_has_every_family_and_uses_every_reason():
    page = exact.PAGE.read_text()
    for family in FAMILIES.values():
        assert page.count(f"\n| {family.name} | ") == len(family.responses)
    for number in exact.reasons_in(page).values():
        assert f" M{number} |" in page or f" –{number} |" in page

"""What a call will cost, as text."""

import pytest

from paribus.results.cost_estimate import CostEstimate

FACTS = {
    "rows": 20_000,
    "columns": ("a", "b", "c"),
    "effects": 2,
    "points": 40,
    "passes": 1,
    "evaluator": "brute force",
    "why": "its structure is not known",
    "refusals": {},
    "threads": 4,
    "rows_per_second": 12_345.6,
    "seconds": 1.62,
    "reading": 0.25,
    "memory": 2_000_000,
}


def estimate(**changes):
    return CostEstimate(**FACTS | changes)


def test_cost_estimate_prints_its_numbers_in_order():
    lines = repr(estimate(predictions=800_000, calls=3)).splitlines()
    assert lines == [
        "2 effects, 40 points, 20,000 rows of 3 columns",
        "by brute force (its structure is not known) in 1 pass on 4 threads",
        "the model predicts 800,000 rows in 3 calls",
        "about 12,346 rows a second; reading takes 25% of that",
        "about 1.6 seconds",
        lines[5],
    ]
    assert lines[5].startswith("about 2")
    assert lines[5].endswith("of memory")


def test_cost_estimate_leaves_out_what_is_not_known():
    lines = repr(estimate(rows=None, seconds=None, passes=2, warning="it is slow")).splitlines()
    assert lines[0] == "2 effects, 40 points, an unknown number of rows of 3 columns"
    assert " in 2 passes on " in lines[1]
    assert lines[2].startswith("about 12,346 rows a second")
    assert lines[3].endswith("of memory")
    assert lines[4:] == ["warning: it is slow"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25 seconds"),
        (90.0, "90 seconds"),
        (120.0, "2 minutes"),
        (7199.0, "120 minutes"),
        (7200.0, "2.0 hours"),
        (10_000.0, "2.8 hours"),
    ],
)
def test_announcement_says_how_long_it_takes(seconds, text):
    assert estimate(seconds=seconds).announcement == f"this takes about {text}"
    assert f"about {text}" in repr(estimate(seconds=seconds))


def test_announcement_names_the_bound_of_predictions():
    assert estimate(seconds=None).announcement == "this takes an unknown time"
    assert estimate(predictions=7).announcement == (
        "this takes about 1.6 seconds: the model predicts up to 7 rows; max_predictions= bounds them"
    )

"""Every law of ARCHITECTURE.md over every statistic."""

from pathlib import Path

import pytest

from examples import EXAMPLES
from laws import HEAVY, LAWS, PREPARED
from paribus._api.options import STATISTICS as OPTIONS
from table_of_statistics import STATISTICS


def held(law, statistic, example, request):
    """Hold a statistic against a law, or skip with the reason why it does not apply."""
    if law in statistic.laws_without:
        pytest.skip(statistic.laws_without[law])
    given = {name: request.getfixturevalue(name) for name in ("monkeypatch", "tmp_path")}
    if law == "Dask":
        given["client"] = request.getfixturevalue("client")
    LAWS[law].holds(statistic=statistic, example=EXAMPLES[example](rows=statistic.rows), **given)


EVERY = tuple(STATISTICS)
# CI holds many laws of these statistics by a plain function and of the others by trees, or the other way round.
CURVES = ("pd", "quantiles", "ale", "marginal", "importance", "regions", "extrapolation")
OTHERS = ("ice", "two-way", "ale_pair", "h", "importance at rows", "permutation")
TAILS = {"heavy tails": ("pd", "importance"), "heavy tails of a function": ("pd", "quantiles")}
# The cases of each law in CI: statistics by example. `make nightly` runs every statistic with every example.
IN_CI = {
    "exact equals brute": {"boosted": EVERY, "heavy tails": ("pd", "ale"), "classes": ("ice", "ale", "h"), "two targets": ("pd", "two-way"),
                           "pipeline": ("ice", "ale"), "linear pipeline": ("ice", "h")},
    "compiled equals reference": {"boosted": EVERY, "heavy tails": ("pd",), "classes": ("two-way", "h")},
    "any split into blocks": {**TAILS, "function": CURVES, "boosted": OTHERS, "classes": ("ale", "h"), "pipeline": ("ice",)},
    "order of blocks": {**TAILS, "boosted": CURVES, "function": OTHERS},
    "threads": {**TAILS, "function": CURVES, "boosted": OTHERS},
    "Dask": {"function": CURVES, "boosted": OTHERS},
    "company in a pass": {"function": CURVES, "boosted": OTHERS, "pipeline": ("ale",)},
    "integer weights": {**TAILS, "boosted": CURVES, "function": OTHERS, "classes": ("importance",)},
    "zero weight": {**TAILS, "function": CURVES, "boosted": OTHERS, "two targets": ("h",), "linear pipeline": ("ice",)},
    "scale of weights": {**TAILS, "boosted": CURVES, "function": OTHERS},
    "equal weights": {"function": CURVES, "boosted": OTHERS},
    "order of rows": {**TAILS, "boosted": CURVES, "function": OTHERS, "classes": ("ale",)},
    "order of columns": {"function": CURVES, "boosted": OTHERS},
    "relabeled categories": {"boosted": CURVES, "function": OTHERS},
    "additive model": {"function": EVERY},
    "mean of ICE is partial dependence": {"function": EVERY, "boosted": EVERY, "classes": EVERY, "pipeline": EVERY},
    "read equals held": {**TAILS, "function": CURVES, "boosted": OTHERS, "pipeline": ("ale",)},
    "resumed equals run": {**TAILS, "boosted": CURVES, "function": OTHERS, "pipeline": ("ice",)},
    "list of one model": {"function": CURVES, "boosted": OTHERS},
    "pipeline": {"pipeline": ("two-way",), "linear pipeline": ("two-way",)},
}  # fmt: skip


def applies(statistic, example):
    """Return whether an example shows more of a statistic than others: pipelines where they are read, tails of curves."""
    if example in HEAVY:
        return statistic in ("pd", "quantiles", "ale", "marginal", "importance")
    return example not in PREPARED or statistic in ("pd", "ice", "two-way", "ale", "h")


def marks(law, statistic, example):
    """Return the markers of a case."""
    in_ci = statistic in IN_CI[law].get(example, ())
    return [pytest.mark.cluster] * (law == "Dask") + [pytest.mark.nightly] * (not in_ci)


CASES = [
    pytest.param(law, statistic, example, marks=marks(law, statistic, example))
    for law in LAWS
    for statistic in STATISTICS
    for example in LAWS[law].examples
    if applies(statistic, example)
]


@pytest.mark.parametrize(("law", "statistic", "example"), CASES)
def test_law_holds(law, statistic, example, request):
    held(law, STATISTICS[statistic], example, request)


def test_laws_without_are_laws_with_a_reason():
    for name, statistic in STATISTICS.items():
        for law, reason in statistic.laws_without.items():
            assert law in LAWS, f"{name}: {law}"
            assert len(reason.split()) > 3, f"{name}: {law}"
        assert ("additive model" in statistic.laws_without) == (statistic.additive is None), name


def test_every_verb_of_an_explainer_is_in_the_table():
    assert {statistic.verb for statistic in STATISTICS.values()} >= {options.verb for options in OPTIONS} - {
        "partial_dependence"
    }


def test_laws_are_those_of_the_architecture_page():
    page = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text().partition("\n## Laws\n")[2]
    rows = [line for line in page.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows[1:]] == list(LAWS)


def test_ci_holds_every_law_that_applies_to_a_statistic():
    held = {
        (law, statistic)
        for law, examples in IN_CI.items()
        for example, statistics in examples.items()
        for statistic in statistics
        if example in LAWS[law].examples
    }
    applicable = {
        case.values[:2] for case in CASES if case.values[0] not in STATISTICS[case.values[1]].laws_without
    }
    assert {pair for pair in applicable if pair[0] != "pipeline"} <= held
    assert IN_CI.keys() == LAWS.keys()

"""Every law of ARCHITECTURE.md over every statistic."""

from pathlib import Path

import pytest

from examples import EXAMPLES
from laws import LAWS, PREPARED
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


QUICK = {
    ("exact equals brute", "pipeline"): ("ice", "ale"),
    ("exact equals brute", "linear pipeline"): ("ice",),
    ("read equals held", "pipeline"): ("ale",),
}


def applies(statistic, example):
    """Return whether an example shows more of a statistic than others: pipelines do where they are read."""
    return example not in PREPARED or statistic in ("pd", "ice", "two-way", "ale", "h")


def soaks(law, statistic, example):
    """Return whether a further case is left out of CI, as most are: every law still meets every example by a
    third of the statistics, or by all of a few, and every statistic meets every example."""
    without = STATISTICS[statistic].laws_without
    laws = [one for one in LAWS if example in LAWS[one].examples and one not in without]
    held = [one for one in STATISTICS if applies(one, example) and law not in STATISTICS[one].laws_without]
    first = law not in laws or law == laws[0] or len(held) < 3
    return not first and (held.index(statistic) + list(LAWS).index(law)) % 3 > 0


EACH = ("Dask", "exact equals brute", "mean of ICE is partial dependence")  # by a function and by trees


def alternates(law, statistic, example):
    """Return whether CI holds a law by the other one of a function and boosted trees, in turn by statistic."""
    others = {"function", "boosted"} - {example}
    if len(others) == 2 or not others <= {*LAWS[law].examples} or law in EACH:
        return False
    turn = (list(STATISTICS).index(statistic) + list(LAWS).index(law)) % 2
    return turn == (example == "function")


def marks(law, statistic, example):
    """Return the markers of a case; slow are models that repeat what a function and trees of one output show."""
    more = LAWS[law].examples[0] == "function" and example in ("classes", "two targets")
    more |= example in PREPARED and statistic not in QUICK.get((law, example), ())
    soak = soaks(law, statistic, example) if more else alternates(law, statistic, example)
    return [pytest.mark.cluster] * (law == "Dask") + [pytest.mark.slow] * more + [pytest.mark.soak] * soak


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


def test_every_law_and_every_statistic_meets_every_example_in_ci():
    cases = [case.values for case in CASES if case.values[0] not in STATISTICS[case.values[1]].laws_without]
    in_ci = [case.values for case in CASES if "soak" not in [mark.name for mark in case.marks]]
    for pair in (lambda law, statistic, example: (law, example), lambda law, *others: others):
        assert {pair(*case) for case in cases} == {pair(*case) for case in in_ci if case in cases}

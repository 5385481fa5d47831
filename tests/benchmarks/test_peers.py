"""The page of benchmarks is what its record gives, and the record holds what the page promises."""

import copy
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import peers_page  # noqa: E402
import peers_work  # noqa: E402
from peers_calls import CALLS, OURS_BY_KIND  # noqa: E402
from peers_tasks import TASKS, fitted, table  # noqa: E402

RECORD = json.loads(peers_page.RECORD.read_text())


def test_the_page_is_that_of_the_record():
    assert peers_page.PAGE.read_text() == peers_page.page(RECORD)
    assert not RECORD["quick"]


def test_results_called_the_same_are_the_same():
    assert peers_page.wrong(RECORD) == []
    broken = copy.deepcopy(RECORD)
    line = next(line for line in broken["lines"] if "both" in line and line["both"]["same"] == "yes")
    line["both"]["difference"] = 0.01
    assert len(peers_page.wrong(broken)) == 1


def test_at_least_six_peers_have_figures_and_losses_are_listed():
    done = [line for line in RECORD["lines"] if "failed" not in line]
    assert len({line["peer"].split(" ")[0] for line in done}) >= 6
    lost = [line for line in done if peers_page.ratio(line) < 1]
    listed = peers_page.PAGE.read_text().split("## Where a peer is faster")[1].split("\n## ")[0]
    assert listed.count("\n- ") == len(lost)


def test_the_exponent_of_a_power_is_the_power():
    sizes = [10, 20, 40, 80]
    assert peers_page.exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    assert peers_page.exponent(sizes, [2.0] * 4) == pytest.approx(0.0)


def test_ratios_in_two_environments_are_in_units_of_predict():
    theirs = {"seconds": {"peer": [6.0, 6.0], "predict": [2.0, 2.0]}}
    ours = {"seconds": {"paribus": [0.5, 0.5], "predict": [1.0, 1.0]}}
    assert peers_page.ratio({"theirs": theirs, "ours": ours}) == 6.0
    assert (
        peers_page.ratio({"both": {"seconds": {"peer": [3.0, 8.0, 4.0], "paribus": [1.0, 2.0, 2.0]}}}) == 3.0
    )


@pytest.mark.parametrize("peer", ["scikit-learn brute", "scikit-learn recursion", "naive H"])
def test_the_same_work_gives_the_same_number(peer):
    """With the peers that the tests have; the others are compared in every run."""
    X, y = table(120, 6)
    model = fitted("boosting", X, y, trees=4)
    for task in {task.kind: task.quick() for task in TASKS if peer in task.peers}.values():
        rows = X[: task.rows]
        found, call, results = peers_work.measured(task, peer, model, rows, True, True)
        apart = peers_work.difference(call, results["peer"], results["paribus"])
        assert (apart < 1e-9) == (found["same"] == "yes"), (task.title, apart)
        assert set(found["seconds"]) == {"peer", "paribus", "predict"}


def test_every_task_names_peers_that_can_do_it():
    for task in TASKS:
        assert task.kind in OURS_BY_KIND
        assert all(task.kind in CALLS[peer] for peer in task.peers), task.title

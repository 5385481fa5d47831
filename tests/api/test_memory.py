"""Memory: a bound is kept or refused, and it changes no number."""

import re
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import paribus
from paribus import _budget
from paribus._api import run
from paribus._evaluators.request import CALLS_FIRST, MOST_CUTS, EvaluationRequest
from paribus._models import Model, structure
from statistic_of import statistic_of

ROWS = 6_000
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(ROWS, 4)), columns=list("abcd"))
TABLE["d"] = TABLE["d"].round()
SIGNAL = (TABLE["a"] * TABLE["b"] + TABLE["c"]).to_numpy()
WEIGHTS = RNG.gamma(1.0, size=ROWS)
MODELS = {
    "regressor": HistGradientBoostingRegressor(max_iter=15, random_state=0).fit(TABLE, SIGNAL),
    "classifier": HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(TABLE, SIGNAL > 0),
    "function": lambda t: np.stack([t["a"] * t["b"], np.tanh(t["c"])], axis=1),
}
QUIET = {"progress": False}


def numbers(model, source, weights, **options):
    """Return every number of every verb, as bytes."""
    options = {**QUIET, **options, "sample_weight": weights}
    drawn = {"subsample": 30} if model is not MODELS["regressor"] else {}
    found = {}
    effects = statistic_of("effects", model, source, ["a", "d", ("a", "b")], grid_resolution=8, **options)
    moves = statistic_of("accumulated_local_effects", model, source, ["a", "d"], **options)
    near = statistic_of("marginal", model, source, ["a", "d"], **options)
    for name, results, keys in (
        ("effects", effects, ("average", "standard_error", "support")),
        ("moves", moves, ("ale", "standard_error", "local", "local_error")),
        ("near", near, ("predicted", "predicted_error", "rows")),
    ):
        for feature, result in results.items():
            found[name, feature] = (
                result.provenance.evaluator,
                *(np.asarray(getattr(result, key)).tobytes() for key in keys),
                result.notes,
            )
    h = statistic_of("h_statistic", model, source, ["a", "b", "c"], **drawn, **options)
    found["h"] = h.provenance.evaluator, repr(h.strongest(3)), h["numerator_pairwise"].tobytes(), h.notes
    importance = statistic_of("feature_importance", model, source, features=["a", "b"], **drawn, **options)
    found["importance"] = importance.values.tobytes(), importance.standard_error.tobytes()
    return found


@pytest.mark.nightly
@pytest.mark.parametrize(
    "weighted",
    [pytest.param(False, marks=pytest.mark.nightly, id="unweighted"), pytest.param(True, id="weighted")],
)
@pytest.mark.parametrize("read", [False, True], ids=["held", "read"])
@pytest.mark.parametrize("name", MODELS)
def test_memory_changes_no_number(name, read, weighted, tmp_path, monkeypatch):
    source, weights = TABLE, WEIGHTS if weighted else None
    if read:
        source, weights = tmp_path / "rows.parquet", "weight" if weighted else None
        TABLE.assign(**({"weight": WEIGHTS} if weighted else {})).to_parquet(source)
    want = numbers(MODELS[name], source, weights, max_memory="4GB")
    assert numbers(MODELS[name], source, weights, max_memory="40MB") == want
    for free in (_budget.LEAST_FREE, 10**11):
        monkeypatch.setattr(_budget, "free_memory", lambda free=free: free)
        assert numbers(MODELS[name], source, weights) == want, free


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_permutations_do_not_depend_on_memory(weighted, monkeypatch):
    options = {"kind": "permutation", "sample_weight": WEIGHTS if weighted else None, "n_jobs": 2, **QUIET}
    found = []
    for free in (_budget.LEAST_FREE, 10**11):
        monkeypatch.setattr(_budget, "free_memory", lambda free=free: free)
        found.append(statistic_of("feature_importance", MODELS["regressor"], TABLE, y=SIGNAL, **options))
    assert found[0].values.tobytes() == found[1].values.tobytes()
    assert found[0].standard_error.tobytes() == found[1].standard_error.tobytes()


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("bound", ["400kB", "60kB", "40kB"])
def test_portions_predicted_in_several_calls_are_those_of_one(columns, bound):
    """A model that returns a view of what it is given is no exception."""
    X = np.random.default_rng(0).normal(size=(3_000, columns))
    for model in (lambda t: t[:, -1], lambda t: t[:, -1] ** 2):
        want = paribus.partial_dependence(model, X, 0, grid_resolution=3, **QUIET)
        have = paribus.Explainer(model, X, max_memory=bound, **QUIET).partial_dependence(0, grid_resolution=3)
        assert have.average.tobytes() == want.average.tobytes()
        assert have.standard_error.tobytes() == want.standard_error.tobytes()


def test_blocks_are_cut_last_and_only_for_a_bound_that_was_given():
    request = EvaluationRequest((), "average", 10, 10, 8, 10**6, 1)
    assert request.cuts == tuple(2**power for power in range(13)) == (*request.cuts[:-1], MOST_CUTS)
    free = EvaluationRequest((), "average", 10, 10, 8, 10**6, 1, memory_was_given=False)
    assert max(free.cuts) == CALLS_FIRST
    X = np.random.default_rng(0).normal(size=(20_000, 30))
    options = {"grid_resolution": 4, "sample_weight": np.arange(20_000) % 5, **QUIET}
    want, cut = (
        statistic_of("partial_dependence", lambda t: t[:, 0] * t[:, 1], X, 0, max_memory=bound, **options)
        for bound in ("1GB", "40kB")
    )
    assert cut.provenance.block_rows < want.provenance.block_rows
    np.testing.assert_allclose(cut.average, want.average, rtol=1e-12)
    np.testing.assert_allclose(cut.standard_error, want.standard_error, rtol=1e-12)


@pytest.fixture
def plans(monkeypatch):
    """Return the plans of all calls."""
    made, choose = [], run.choose

    def choosing(*arguments):
        chosen = choose(*arguments)
        made.extend(chosen)
        return chosen

    monkeypatch.setattr(run, "choose", choosing)
    return made


@pytest.mark.nightly
@pytest.mark.parametrize(("read", "jobs"), [(False, 1), (False, 8), (True, 2)])
@pytest.mark.parametrize("name", MODELS)
def test_a_plan_keeps_the_bound_or_is_refused(name, read, jobs, tmp_path, plans):
    source = TABLE[:2_000]
    if read:
        source.to_parquet(tmp_path / "rows.parquet")
        source = tmp_path / "rows.parquet"
    accepted = 0
    for bound in (2e4, 5e5, 2e6, 8e6, 1.6e7, 3e7, 1e8):
        for options in ({}, {"kind": "both"}, {"quantiles": True}):
            asked = {"grid_resolution": 20, "max_memory": bound, "n_jobs": jobs, **options}
            plans.clear()
            try:
                statistic_of("effects", MODELS[name], source, ["a", "d", ("a", "b")], **asked, **QUIET)
            except paribus.errors.MemoryBoundError:
                continue
            assert all(plan.evaluator.memory(plan.threads) <= bound for plan in plans)
            assert all(1 <= plan.threads <= jobs for plan in plans)
            accepted += 1
    assert accepted >= 5


@pytest.mark.nightly
def test_a_bound_missed_by_a_little_is_met_by_smaller_blocks():
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    model = lightgbm.LGBMRegressor(n_estimators=50, verbose=-1).fit(X, X[:, 0] * X[:, 1])
    for bound in ("200MB", "50MB", "20MB", "10MB"):
        assert (
            paribus.Explainer(model, X, max_memory=bound, **QUIET).effects().provenance.evaluator
            == "tree_exact"
        )
    with pytest.raises(paribus.errors.MemoryBoundError, match="max_memory is 25 MB"):
        paribus.Explainer(model, X, max_memory="25MB", **QUIET).h_statistic()


@pytest.mark.nightly
def test_bound_that_is_too_small_for_trees_is_refused_with_the_minimum(monkeypatch):
    forest = RandomForestRegressor(20, random_state=0).fit(TABLE, SIGNAL)
    some, begun, predict = TABLE[:60], [], Model.predict

    def watched(model, table, rows):
        begun.append(rows)
        return predict(model, table, rows)

    monkeypatch.setattr(Model, "predict", watched)
    monkeypatch.setattr(
        structure, "check_at_splits", lambda *arguments: None
    )  # it predicts some rows at once
    for verb, arguments in (
        ("partial_dependence", {"features": "a", "grid_resolution": 30}),
        ("partial_dependence", {"features": "a", "grid_resolution": 5}),
        ("h_statistic", {"features": ["a", "b"]}),
        ("effects", {"features": ["a"], "grid_resolution": 30}),
        ("explain", {"features": ["a", "b"]}),
    ):
        with pytest.raises(
            paribus.errors.MemoryBoundError, match=r"Raise max_memory.*method='brute'"
        ) as found:
            statistic_of(verb, forest, some, **arguments, max_memory="3MB")
        least = re.search(r"needs? ([\d.]+ [kM]B) and max_memory is 3 MB", str(found.value))[1]
        assert not begun
        if verb != "explain":  # of which each part has a minimum
            statistic_of(verb, forest, some, **arguments, max_memory=least)
        begun.clear()
    by_model = paribus.Explainer(forest, some, max_memory="3MB", **QUIET).partial_dependence(
        "a", method="brute"
    )
    assert by_model.provenance.evaluator == "brute"
    paribus.Explainer(lambda t: t["a"], some, max_memory="3MB", **QUIET).partial_dependence("a")  # no trees


PEAK = """
import sys
from pathlib import Path
import lightgbm
import numpy as np
import paribus

def peak():
    return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

X = np.random.default_rng(0).normal(size=(200_000, 20)).astype("float32")
trees = lightgbm.LGBMRegressor(n_estimators=15, verbose=-1).fit(X[:5_000], X[:5_000, 0] * X[:5_000, 1])
model = trees if sys.argv[2] == "trees" else lambda t: t[:, 0] * t[:, 1]
features = list(range(8)) if sys.argv[2] == "trees" else [0]
options = {"max_memory": float(sys.argv[1]), "n_jobs": 2, "progress": False}
paribus.Explainer(model, X[:1_000], **options).effects(features, grid_resolution=20)  # compiles and imports
Path("/proc/self/clear_refs").write_text("5")
before = peak()
paribus.Explainer(model, X, **options).effects(features, grid_resolution=20)
print(peak() - before)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("bound", [8e6, 30e6, 120e6])
@pytest.mark.parametrize("model", ["trees", "function"])
def test_a_process_grows_by_no_more_than_the_bound(model, bound):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(bound), model], capture_output=True, text=True, check=True
    )
    assert (
        int(done.stdout) <= bound + 6e6
    )  # columns while axes are laid out, and what the allocator rounds up

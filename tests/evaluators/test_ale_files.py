"""Accumulated local effects of out-of-core rows, under a memory bound, resumed."""

from functools import cache, partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import (
    RandomForestRegressor,
)

import paribus
from ale_examples import ASKED, LETTERS, mixed, mixed_model, of_number, one, plain_people, planted, same
from paribus import accumulated_local_effects as ale
from paribus._api.statistics import ale_statistic as statistic
from paribus._evaluators import survey
from paribus._evaluators.ale import brute_ale, tree_ale
from paribus._evaluators.ale.brute_ale import BruteAle
from paribus._evaluators.ale.tree_ale import TreeAle
from paribus._evaluators.ale.tree_pair_ale import TreePairAle
from statistic_of import statistic_of


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(survey, "SURVEY_ROWS", 1_024)
    monkeypatch.setattr(tree_ale, "BLOCK_ROWS", 128)
    monkeypatch.setattr(brute_ale.BruteForce, "block_rows", property(lambda self: 128))


def written(folder, frame):
    folder.mkdir()
    for number, (first, stop) in enumerate(pairwise((0, 400, 401, 500, len(frame)))):
        part = pa.Table.from_pandas(frame[first:stop], preserve_index=False)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=170)
    return str(folder)


@cache
def filed():
    rng = np.random.default_rng(3)
    frame = mixed(2_500).assign(w=np.where(rng.random(2_500) < 0.1, 0.0, rng.integers(1, 4, 2_500) / 2))
    return frame.assign(day=pd.Timestamp("2026-01-01") + pd.to_timedelta(frame["n"] * 7, unit="D"))


@pytest.mark.nightly
@pytest.mark.parametrize("weight", [None, "w"])
def test_ale_rows_that_are_read_give_numbers_of_rows_in_memory(tmp_path, weight):
    folder = written(tmp_path / "rows", filed())
    held = filed() if weight is None else filed().drop(columns="w")
    features = [*ASKED, "day"]
    have = ale(mixed_model, folder, features, sample_weight=weight)
    want = ale(mixed_model, held, features, sample_weight=None if weight is None else filed()["w"])
    assert (
        have.provenance.passes == 3
    )  # a survey, rows that tell which categories are similar, and the effects
    for key, effect in have.items():
        assert effect.order == want[key].order
        same(effect, want[key], 1e-12)
        assert [effect.kinds, effect.notes] == [want[key].kinds, want[key].notes]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [TreeAle, TreePairAle, BruteAle])
def test_ale_run_that_was_interrupted_goes_on(tmp_path, small_blocks, monkeypatch, kind):
    X, y = plain_people()
    X = pd.concat([X] * 5, ignore_index=True)
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X[:500], y)
    folder, kept = written(tmp_path / "rows", X), tmp_path / "kept"
    features = ["a", "b", ("a", "n")]
    options = {"method": "brute" if kind is BruteAle else "auto"}
    want = ale(model, folder, features, **options)
    evaluate, done = kind.evaluate, []

    def stopping(self, block):
        if len(done) == 13:
            raise KeyboardInterrupt
        done.append(block.number)
        return evaluate(self, block)

    monkeypatch.setattr(kind, "evaluate", stopping)
    with pytest.raises(KeyboardInterrupt):
        paribus.Explainer(model, folder, checkpoint=kept, n_jobs=1).accumulated_local_effects(
            features, **options
        )
    assert done == list(range(13))
    done[:] = []
    have = paribus.Explainer(model, folder, checkpoint=kept, n_jobs=1).accumulated_local_effects(
        features, **options
    )
    assert min(done) > 4
    for key, effect in have.items():
        same(effect, want[key])
    monkeypatch.setattr(kind, "evaluate", evaluate)
    for other in ({"grid_resolution": 7}, {"custom_values": {"a": [-1.0, 0.0, 1.0]}}):
        have = paribus.Explainer(model, folder, checkpoint=kept).accumulated_local_effects(
            features, **options, **other
        )
        for key, effect in ale(model, folder, features, **options, **other).items():
            same(have[key], effect)


def test_ale_same_rows_report_which_categories_are_similar_wherever_they_are(tmp_path, monkeypatch):
    """So few that chance decides the order."""
    monkeypatch.setattr(statistic, "SAMPLED", 60)
    folder, told = written(tmp_path / "rows", filed()[["a", "b", "c", "w"]]), []
    for weight in (None, "w"):
        held = filed()[["a", "b", "c"]] if weight else filed()[["a", "b", "c", "w"]]
        weights = filed()["w"] if weight else None
        have = one(lambda t: t["a"].to_numpy(), folder, "c", sample_weight=weight)
        want = one(lambda t: t["a"].to_numpy(), held, "c", sample_weight=weights)
        same(have, want, 1e-12)
        assert have.order == want.order
        told.append(have.order)
    assert all("similar" in order for (order,) in told)


def test_ale_edges_of_rows_too_many_to_be_sorted_are_values_all_same(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "EXACT_ROWS", 2_000)
    monkeypatch.setattr(survey, "CAPACITY", 1_024)
    monkeypatch.setattr(survey, "SURVEY_ROWS", 4_096)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.lognormal(size=30_000), "zero": 0.0, "y": 1.0})
    frame["zero"] = np.where(rng.random(30_000) < 0.9, 0.0, frame["x"])
    found = ale(
        lambda t: 3 * (t["x"] + t["zero"]).to_numpy(), written(tmp_path / "rows", frame), ["x", "zero"]
    )
    assert 0 < found.provenance.rank_error < 0.02
    for name, effect in found.items():
        x, edges = frame[name].to_numpy(), effect.grid_values[0]
        assert np.isin(edges, x).all()
        assert (edges[0], edges[-1]) == (x.min(), x.max())
        assert 39 <= len(edges) - 1 <= 40
        np.testing.assert_allclose(effect.ale[0], 3 * (edges - x.mean()), rtol=0, atol=1e-12 * 3 * x.max())
        assert effect.rows.sum() == 30_000
        if name == "x":
            assert effect.rows.max() < 2 * 30_000 / 40


def test_ale_declared_orders_are_read_from_files(tmp_path):
    place, y = planted(0.3)
    level = pd.Categorical(np.array(LETTERS)[place], LETTERS, ordered=True)
    found = one(of_number, written(tmp_path / "rows", pd.DataFrame({"c": level, "y": y})), "c")
    assert found.order == ("as declared",)
    assert found.grid_values[0].tolist() == LETTERS


def test_ale_memory_bound_makes_portions_smaller_or_says_so():
    X = np.random.default_rng(0).normal(size=(3_000, 4))
    forest = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, X[:, 0] * X[:, 1])
    for model in (forest, lambda X: X[:, 0] * X[:, 1]):
        want = ale(model, X, [0, 1, (0, 1)])
        for bound in ("30MB", "2MB", "600kB"):
            for key, effect in (
                paribus.Explainer(model, X, max_memory=bound)
                .accumulated_local_effects([0, 1, (0, 1)])
                .items()
            ):
                same(effect, want[key], 1e-12)
        with pytest.raises(paribus.errors.MemoryBoundError, match="max_memory"):
            paribus.Explainer(model, X, max_memory="10kB").accumulated_local_effects([0, 1, (0, 1)])


def test_ale_of_other_groups_or_edges_shares_a_checkpoint(tmp_path):
    """Only the local effects themselves differ here, not what the first pass over the rows looks for."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.integers(0, 4, 300).astype(float) for name in "abc"})
    table.to_parquet(tmp_path / "t.parquet")

    def predict(t):
        return (t["a"] * t["b"] + t["c"]).to_numpy()

    call = partial(statistic_of, "accumulated_local_effects", predict, tmp_path / "t.parquet", method="brute")
    calls = [
        {"features": ["a", ("b", "c")], "grid_resolution": 5},
        {"features": [("a", "b"), "c"], "grid_resolution": 5},
        {"features": ["a"], "custom_values": {"a": [-1.0, 1.0, 3.0]}},
        {"features": ["a"], "custom_values": {"a": [-1.0, 2.0, 3.0]}},
    ]
    for options in (*calls, *calls):
        kept, want = call(**options, checkpoint=tmp_path / "kept"), call(**options)
        for key, effect in want.items():
            same(kept[key], effect)

"""On a cluster, with workers that die, fail and run short of memory: the bits of one process, or one error."""

import os
import pickle
import signal
import threading
import time
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import dask
import dask.dataframe as dd
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from dask.distributed import Client, LocalCluster
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus
from checkpoint_examples import stopped_and_resumed
from compared_results import differing
from paribus.__main__ import main
from paribus._evaluators import exact_effects, survey
from paribus._executors import dask as cluster_of
from paribus._executors import local
from paribus._states import ranges_of
from paribus._states.codec import packed
from selection import nightly
from statistic_of import statistic_of

pytestmark = pytest.mark.cluster

ROWS, NAMES = 24_000, list("abcd")
POINTS = np.linspace(-1, 1, 5)


def table(rows=ROWS):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=rows).astype("float32") for name in NAMES}
    columns["a"] = np.where(rng.random(rows) < 0.02, np.nan, columns["a"]).astype("float32")
    return pd.DataFrame(columns | {"w": rng.integers(0, 4, rows) / 3})


def target(frame):
    return frame["a"].fillna(2) * frame["b"] + np.sin(frame["c"]) + 0.1 * frame["d"]


def write(folder, frame, files, group):
    """Write files of unequal lengths, the last row group of each shorter than the others."""
    folder.mkdir()
    ends = (np.linspace(0, 1, files + 1) ** 1.5 * len(frame)).astype(int)
    for number, (first, stop) in enumerate(pairwise(ends)):
        part = pa.Table.from_pandas(frame[first:stop], preserve_index=False)
        pq.write_table(
            part, folder / f"part-{number:03d}.parquet", row_group_size=group, write_page_checksum=True
        )
    return str(folder)


@contextmanager
def workers(**options):
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    } | options
    # A local cluster drops for good a worker whose name is not registered a while after a death, also
    # where its nanny is just replacing it after the next one.
    patient = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with dask.config.set(patient), LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with workers() as client:
        yield client


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def model(frame):
    fitted = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1)
    return fitted.fit(frame[NAMES][:5_000], target(frame)[:5_000])


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows") / "files", frame, 12, 900)


@pytest.fixture(scope="module")
def wanted(model, files, many_blocks):
    """What this process answers, with weights."""
    return paribus.effects(model, files, [*NAMES, ("a", "b")], sample_weight="w")


@pytest.fixture(autouse=True, scope="module")
def many_blocks():
    """Cut tens of thousands of rows as finely as the library cuts tens of millions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "SURVEY_ROWS", 1_024)
        patch.setattr(exact_effects, "BLOCK_ROWS", 1_024)
        yield


def points(*features):
    return {"features": features, "custom_values": {n: POINTS for f in features for n in f}}


def same(have, want):
    """Compare every number to the bit."""
    assert list(have) == list(want)
    for name, effect in want.items():
        assert len(have[name].grid_values) == len(effect.grid_values)
        for one, two in zip(have[name].grid_values, effect.grid_values, strict=True):
            assert np.array_equal(one, two)
        for key in ("average", "standard_error", "support", "individual"):
            one, two = have[name].get(key), effect.get(key)
            assert (one is None) == (two is None), key
            assert one is None or np.array_equal(one, two, equal_nan=True), (name, key)
        assert (have[name].missing is None) == (effect.missing is None)
        if effect.missing is not None:
            assert np.array_equal(have[name].missing.average, effect.missing.average)


def same_strengths(have, want):
    for key in (
        "h_squared_pairwise",
        "numerator_pairwise",
        "standard_error_h_squared_pairwise",
        "h_squared_overall",
    ):
        assert np.array_equal(have[key], want[key]), key


def product(frame):
    """A model that is a plain function of the frame it is shown."""
    assert isinstance(frame, pd.DataFrame)
    return np.stack([frame["a"].fillna(2) * frame["b"], np.sin(frame["c"]) + frame["d"]], axis=1)


class Marked:
    """A model that does something the first ``times`` it is evaluated on a worker about a row with ``d`` above."""

    def __init__(self, folder, times, above=-np.inf):
        self.folder, self.times, self.above, self.home = Path(folder), times, above, os.getpid()

    def __call__(self, frame):
        if os.getpid() != self.home and (frame["d"] > self.above).any():
            for number in range(self.times):
                try:
                    (self.folder / f"mark-{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                self.act()
                break
        return target(frame).to_numpy()

    def act(self):
        raise RuntimeError("no answer this time")

    @property
    def marks(self):
        return len(list(self.folder.glob("mark-*")))


class Labeled:
    """A classifier of two labels that rows do not have."""

    classes_: ClassVar = np.array([-1.0, -2.0])

    def predict_proba(self, frame):
        return np.full((len(frame), 2), 0.5)


class Dies(Marked):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Waits(Marked):
    """Does not return before it is let go."""

    def act(self):
        until(self.released.exists, 600)

    @property
    def released(self):
        return self.folder / "released"


class Swells(Marked):
    """Takes memory until it is stopped."""

    def act(self):
        held = []
        while True:
            held.append(np.ones(4_000_000))
            time.sleep(0.01)


class Counted:
    """A model that writes down how often it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __call__(self, frame):
        return target(frame).to_numpy()

    def __getstate__(self):
        return {"file": self.file}

    def __setstate__(self, state):
        self.__dict__.update(state)
        with Path(self.file).open("a") as handle:
            handle.write(f"{os.getpid()}\n")


def until(condition, seconds=60.0):
    """Wait for what must become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


def tasks_left(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def idle(client):
    """Wait until nothing is left to do, and until workers that died were replaced: two deaths at once of
    the same worker are more than its nanny bears."""
    until(lambda: tasks_left(client) == 0)
    until(lambda: len(both(client)) == 2 and both(client) == set(worker_pids(client)), 120)


def both(client):
    return set(client.run(os.getpid, on_error="ignore").values())


def worker_pids(client):
    return [nanny.pid for nanny in client.cluster.workers.values()]


# The same bits


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("cut", "group", "per_thread", "most"), [(1, 50_000, 0, 1), (3, 5_000, 1, 1), (31, 700, 4, 8_192)]
)
@pytest.mark.parametrize("weight", [*nightly(None), "w"])
def test_no_cut_into_files_row_groups_and_tasks_changes_a_bit(
    client, model, frame, tmp_path, monkeypatch, cut, group, per_thread, most, weight
):
    monkeypatch.setattr(cluster_of, "PER_THREAD", per_thread)
    monkeypatch.setattr(cluster_of, "MOST_TASKS", most)
    source = write(tmp_path / "files", frame, cut, group)
    asked = {"features": [*NAMES, ("a", "b")], "grid_resolution": 10, "sample_weight": weight}
    have = statistic_of("effects", model, source, executor=client, **asked)
    same(have, paribus.effects(model, source, n_jobs=1, **asked))
    given = asked | {
        "custom_values": {n: have[n].grid_values[0] for n in NAMES},
        "sample_weight": weight and frame[weight],
    }
    same(have, paribus.effects(model, frame[NAMES], **given))
    assert have["a"].provenance.evaluator == "tree_exact"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "weight"),
    [
        pytest.param("average", "w", marks=pytest.mark.nightly),
        pytest.param("both", None, marks=pytest.mark.nightly),
        ("both", "w"),
    ],
)
def test_function_and_pipelines_give_the_same_bits_on_a_cluster(client, frame, files, kind, weight):
    columns, signal = frame[["b", "c", "d"]], target(frame)
    trees = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    models = {
        "brute": product,
        "additive_exact": make_pipeline(StandardScaler(), LinearRegression()).fit(columns, signal),
        "tree_exact": make_pipeline(StandardScaler(), trees).fit(columns[:3_000], signal[:3_000]),
    }
    for evaluator, model in models.items():
        options = {**points("b", ("c", "d")), "kind": kind, "sample_weight": weight, "max_memory": "1GB"}
        have = statistic_of("effects", model, files, executor=client, **options)
        assert have["b"].provenance.evaluator == evaluator
        same(have, statistic_of("effects", model, files, **options))


@pytest.mark.parametrize("kind", ["average", "both"])
def test_probabilities_and_curves_of_each_row_are_the_same_bits(client, frame, files, kind):
    classes = np.digitize(target(frame)[:5_000], [-0.5, 0.5])
    classifier = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1).fit(
        frame[NAMES][:5_000], classes
    )
    asked = {**points("a", "b"), "kind": kind, "max_memory": "1GB"}
    have = statistic_of("effects", classifier, files, executor=client, **asked)
    assert have["a"].average.shape == (3, 5)
    same(have, statistic_of("effects", classifier, files, **asked))


def test_interactions_are_the_same_bits_for_trees_and_for_a_function(client, model, files):
    for asked_of, subsample, weight in ((model, "auto", "w"), (model, "auto", None), (product, 60, "w")):
        asked = {"sample_weight": weight, "subsample": subsample, "features": ["a", "b"]}
        have = statistic_of("h_statistic", asked_of, files, executor=client, **asked)
        same_strengths(have, paribus.h_statistic(asked_of, files, **asked))
        assert have.provenance.executor == "Dask, 2 workers"
    assert have.provenance.sampled_rows == 60


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars", "arrow"])
def test_a_table_in_memory_is_sent_to_the_workers(client, frame, library):
    X = {
        "numpy": lambda: frame[NAMES].to_numpy(),
        "pandas": lambda: frame[NAMES],
        "polars": lambda: pl.DataFrame({name: frame[name].to_numpy() for name in NAMES}),
        "arrow": lambda: pa.Table.from_pandas(frame[NAMES]),
    }[library]()
    fitted = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, n_jobs=1)
    fitted.fit(X[:3_000] if library != "arrow" else frame[NAMES][:3_000], target(frame)[:3_000])
    asked = {"sample_weight": frame["w"], "grid_resolution": 10}
    same(statistic_of("effects", fitted, X, executor=client, **asked), paribus.effects(fitted, X, **asked))


@pytest.mark.parametrize("partitioning", [None, "hive"])
def test_an_arrow_dataset_of_files_is_read_by_the_workers_as_its_files_are(
    client, model, files, wanted, partitioning
):
    X = ds.dataset(files, partitioning=partitioning)
    have = paribus.Explainer(model, X, sample_weight="w", executor=client).effects([*NAMES, ("a", "b")])
    same(have, wanted)


# Data frames of Dask


def cut_frame(frame, lengths):
    """Return a Dask data frame whose partitions have these lengths."""
    ends = np.cumsum([0, *lengths])
    parts = [dask.delayed(frame[first:stop]) for first, stop in pairwise(ends)]
    return dd.from_delayed(parts, meta=frame[:0], verify_meta=False)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "lengths",
    [[24_000], [9_000, 0, 3_000, 12_000], [1, 23_998, 1, 0], [1_500] * 16],
    ids=["one", "an empty one", "one row", "sixteen"],
)
def test_no_cut_into_partitions_changes_a_bit_of_a_sum_of_trees(client, model, frame, lengths):
    asked = points(*NAMES, ("a", "b"))
    want = paribus.effects(model, frame[NAMES], **asked)
    X = cut_frame(frame[NAMES], lengths)
    have = statistic_of("effects", model, X, executor=client, **asked)
    same(have, want)
    assert have["a"].provenance.rows == ROWS
    same(paribus.effects(model, X, **asked), want)


def test_a_data_frame_is_computed_where_its_cluster_is(client, model, frame):
    parts = dd.from_pandas(frame[NAMES], npartitions=3)
    with client.as_current():
        found = paribus.effects(model, parts, NAMES[:1])
    assert found[NAMES[0]].provenance.executor == "Dask, 2 workers"


def test_a_frame_that_is_on_the_cluster_is_read_from_there(client, model, frame):
    parts = dd.from_pandas(frame[NAMES], npartitions=3).persist()
    found = paribus.Explainer(model, parts, executor=client, verify=True).effects(NAMES[:1])
    assert found[NAMES[0]].provenance.verified_difference < 1e-9
    drawn = paribus.Explainer(product, parts, executor=client).h_statistic(["a", "b"], subsample=30)
    assert drawn.provenance.sampled_rows == 30
    client.cancel(parts)  # others count what is left on the cluster


def test_sampled_rows_are_the_same_on_a_cluster(client, frame):
    asked = {**points("a", "b"), "subsample": 60}
    want = paribus.effects(product, frame[NAMES], **asked)
    assert want["a"].provenance.sampled_rows == 60
    for X in (frame[NAMES], dd.from_pandas(frame[NAMES], npartitions=3)):
        have = statistic_of("effects", product, X, executor=client, **asked)
        same(have, want)
        assert have["a"].provenance.sampled_rows == want["a"].provenance.sampled_rows


def test_a_data_frame_with_weights_gives_the_same_numbers_up_to_rounding(client, model, frame):
    asked = points(*NAMES)
    want = paribus.effects(model, frame[NAMES], sample_weight=frame["w"], **asked)
    X = cut_frame(frame, [5_000, 0, 7_000, 12_000])
    have = statistic_of("effects", model, X, sample_weight="w", executor=client, **asked)
    for name in NAMES:
        np.testing.assert_allclose(have[name].average, want[name].average, rtol=1e-12)
        # Rows that tell errors are drawn by their numbers within partitions.
        np.testing.assert_allclose(have[name].standard_error, want[name].standard_error, rtol=0.15)
        np.testing.assert_allclose(have[name].support, want[name].support, rtol=1e-12)


def lived(frame):
    """A model of text and categories; strict about what it is shown."""
    assert isinstance(frame["level"].dtype, pd.CategoricalDtype)
    city = frame["city"].map({"Bern": 1.0, "Basel": 2.0}).astype(float).fillna(-1)
    return city.to_numpy() + frame["level"].map({"low": 0.0, "high": 3.0}).astype(float) * frame["b"]


@pytest.mark.parametrize("lengths", [[12_000, 12_000], [0, 7_000, 17_000]], ids=["two", "first empty"])
def test_text_and_categories_of_a_data_frame_are_read_alike(client, frame, lengths):
    rng = np.random.default_rng(1)
    mixed = frame[["b"]].assign(
        city=rng.choice(["Bern", "Basel", None], ROWS),
        level=pd.Categorical(rng.choice(["low", "high"], ROWS), ["low", "high", "never"]),
    )
    asked = {"features": ["city", "level"], "grid_resolution": 5}
    want = paribus.effects(lived, mixed, **asked)
    have = statistic_of("effects", lived, cut_frame(mixed, lengths), executor=client, **asked)
    assert list(have) == list(want)
    for name in want:
        assert list(have[name].grid_values[0]) == list(want[name].grid_values[0])
        np.testing.assert_allclose(have[name].average, want[name].average, rtol=1e-12)
        assert np.array_equal(have[name].support, want[name].support)


def test_interactions_of_a_data_frame_are_those_of_the_table(client, model, frame):
    X = cut_frame(frame[NAMES], [5_000, 0, 7_000, 12_000])
    have = paribus.Explainer(model, X, executor=client).h_statistic()
    want = paribus.h_statistic(model, frame[NAMES])
    for key in ("h_squared_pairwise", "h_squared_overall"):
        np.testing.assert_allclose(have[key], want[key], rtol=1e-9)


def test_a_task_never_needs_more_than_one_partition_of_many_in_memory(client, model, frame, monkeypatch):
    seen = []
    branch = cluster_of.Graph.call

    def call(self, function, name, *arguments):
        seen.extend(len(arguments[2]) for _ in range(name == "evaluate"))
        return branch(self, function, name, *arguments)

    monkeypatch.setattr(cluster_of.Graph, "call", call)
    paribus.Explainer(model, cut_frame(frame[NAMES], [1_000] * 24), executor=client).effects(["a"])
    assert sum(seen) == 2 * 24
    assert max(seen) == 1


def test_the_tasks_of_many_partitions_are_prepared_once_a_pass(client, model, frame, monkeypatch):
    X = cut_frame(frame[NAMES], [1_000] * 24)
    prepared, delayed = [], type(X).to_delayed

    def to_delayed(self, *arguments, **options):
        prepared.append(self.npartitions)
        return delayed(self, *arguments, **options)

    monkeypatch.setattr(type(X), "to_delayed", to_delayed)
    assert paribus.Explainer(model, X, executor=client).effects(["a"])["a"].provenance.passes == 2
    assert 0 < sum(prepared) <= 2 * 24


# What goes wrong


@pytest.mark.nightly
@pytest.mark.parametrize(("doing", "after"), [("survey", 6), ("effects", 1)])
def test_a_worker_that_is_killed_changes_no_bit(client, model, files, wanted, monkeypatch, after, doing):
    killed, shown = [], cluster_of.with_progress

    def killing(results, rows, progress, label, before):
        for number, one in enumerate(shown(results, rows, progress, label, before)):
            if number == after and label == doing:
                killed.append(worker_pids(client)[0])
                os.kill(killed[0], signal.SIGKILL)
            yield one

    monkeypatch.setattr(cluster_of, "with_progress", killing)
    same(
        paribus.Explainer(model, files, sample_weight="w", executor=client).effects([*NAMES, ("a", "b")]),
        wanted,
    )
    assert len(killed) == 1
    idle(client)


@pytest.mark.nightly
def test_states_that_are_lost_after_they_were_announced_are_computed_again(
    client, model, files, wanted, monkeypatch
):
    shown, lost = cluster_of.with_progress, []

    def losing(results, rows, progress, label, before):
        for number, one in enumerate(shown(results, rows, progress, label, before)):
            if not number and label == "effects":
                until(lambda: not any(client.processing().values()))
                first = worker_pids(client)
                for pid in first:
                    os.kill(pid, signal.SIGKILL)
                until(lambda: not client.nthreads())
                client.wait_for_workers(2, timeout=120)
                lost.extend(first)
            yield one

    monkeypatch.setattr(cluster_of, "with_progress", losing)
    have = paribus.Explainer(model, files, sample_weight="w", executor=client).effects([*NAMES, ("a", "b")])
    assert len(lost) == 2
    same(have, wanted)
    idle(client)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [pytest.param(Marked, id="fails"), pytest.param(Dies, id="dies")])
def test_a_task_that_fails_twice_and_then_works_changes_no_bit(client, files, tmp_path, kind):
    asked_of = kind(tmp_path, 2, above=2.5)
    asked = points("a", "b")
    have = statistic_of("effects", asked_of, files, executor=client, **asked)
    assert asked_of.marks == 2
    same(have, paribus.effects(asked_of, files, **asked))
    idle(client)


@pytest.mark.nightly
def test_merging_and_evaluating_twice_gives_the_same_and_changes_nothing(model, files, monkeypatch, tmp_path):
    merges = 0

    class Twice:
        def __init__(self, state):
            self.state = state

        def merge(self, other):
            nonlocal merges
            merges += 1
            before = packed(self.state), packed(other.state)
            once, again = self.state.merge(other.state), self.state.merge(other.state)
            assert packed(once) == packed(again)
            assert before == (packed(self.state), packed(other.state))
            return Twice(once)

    def merge_in_order(states, zero=None):
        return real((Twice(state) for state in states), Twice(zero)).state

    real = local.merge_in_order
    monkeypatch.setattr(local, "merge_in_order", merge_in_order)
    for weight in (None, "w"):
        for asked_of in (model, product):
            asked = {**points("a", "b"), "sample_weight": weight}
            statistic_of("effects", asked_of, files, kind="both", max_memory="1GB", **asked)
        paribus.h_statistic(model, files, ["a", "b"], sample_weight=weight)
    assert merges > 100


@pytest.mark.alone
def test_a_model_that_always_fails_on_some_rows_is_one_error_that_names_them_at_once(client, frame, files):
    row = int(frame["d"].argmax())

    def fails(table):
        if len(table) > 100 and (table["d"] == frame["d"].max()).any():
            raise RuntimeError("no such d")
        return table["a"].fillna(2).to_numpy()

    started = time.perf_counter()
    with pytest.raises(
        paribus.errors.ModelError, match=r"failed on rows \d+ to \d+ of X.*no such d"
    ) as caught:
        statistic_of("effects", fails, files, **points("a"), executor=client)
    assert time.perf_counter() - started < 10
    words = str(caught.value).split()
    first, last = int(words[words.index("rows") + 1]), int(words[words.index("to") + 1])
    assert first <= row <= last
    assert last - first < 10_000
    idle(client)


def test_a_model_that_workers_cannot_load_is_one_error_that_says_so(client, files):
    with pytest.raises(paribus.errors.ExecutorError, match=r"no such file on this machine"):
        statistic_of("effects", OnlyHere(), files, **points("a"), executor=client)
    idle(client)


class OnlyHere:
    def __call__(self, frame):
        return target(frame).to_numpy()

    def __setstate__(self, state):
        raise OSError("no such file on this machine")

    def __getstate__(self):
        return {"some": "thing"}


def spoil(folder, column_bytes):
    """Overwrite the beginning or the middle of a column of the second row group of the third file."""
    victim = folder / "part-002.parquet"
    column = pq.ParquetFile(victim).metadata.row_group(1).column(1)
    first = column.dictionary_page_offset or column.data_page_offset
    place = first + int(column.total_compressed_size * column_bytes)
    whole = victim.read_bytes()
    victim.write_bytes(whole[:place] + b"\xff" * 64 + whole[place + 64 :])
    return victim


@pytest.mark.parametrize("damage", ["cut", "header", "values", "gone"])
def test_a_damaged_file_is_named(client, model, frame, tmp_path, damage, monkeypatch):
    folder = Path(write(tmp_path / "files", frame, 4, 2_000))
    victim = folder / "part-002.parquet"
    if damage == "gone":  # after the footers were read
        opened = survey.Survey.of

        def late(*arguments):
            victim.unlink(missing_ok=True)
            return opened(*arguments)

        monkeypatch.setattr(survey.Survey, "of", late)
    elif damage == "cut":
        victim.write_bytes(victim.read_bytes()[:-2_000])
    else:
        spoil(folder, 0.0 if damage == "header" else 0.5)
    with pytest.raises(paribus.errors.SourceError, match=r"part-002\.parquet"):
        paribus.Explainer(model, str(folder), executor=client).effects()
    idle(client)


def test_damaged_files_are_left_out_where_that_is_asked_for(client, model, frame, tmp_path):
    folder = Path(write(tmp_path / "files", frame, 4, 2_000))
    victim = spoil(folder, 0.0)
    have = paribus.Explainer(model, str(folder), executor=client, on_error="skip").effects()
    assert "part-002.parquet" in have["a"].provenance.skipped[0]
    victim.unlink()
    same(have, paribus.effects(model, str(folder)))


@pytest.mark.parametrize("X", ["files", "frame"])
def test_no_rows_at_all_are_told_as_such(client, model, frame, tmp_path, X):
    pq.write_table(pa.Table.from_pandas(frame[:0]), tmp_path / "none.parquet")
    source = str(tmp_path) if X == "files" else cut_frame(frame[:0], [0, 0])
    with pytest.raises(paribus.errors.TableError, match="no rows"):
        paribus.Explainer(model, source, executor=client).effects()


@pytest.mark.nightly
def test_a_worker_short_of_memory_gives_the_right_answer_or_an_error_with_the_rows(
    files, tmp_path, monkeypatch
):
    once, always = Swells(tmp_path, 1, above=3.0), Swells(tmp_path, 100, above=3.0)
    settings = {"distributed.scheduler.allowed-failures": 1, "distributed.worker.memory.pause": False}
    with dask.config.set(settings), workers(n_workers=1, memory_limit="600MB") as client:
        have = statistic_of("effects", once, files, **points("a"), executor=client)
        assert once.marks == 1
        same(have, paribus.effects(once, files, **points("a")))
        monkeypatch.setattr(cluster_of, "PER_THREAD", 1)  # one task, whose state is all there is
        monkeypatch.setattr(cluster_of, "MOST_TASKS", 1)
        with pytest.raises(paribus.errors.ExecutorError, match=r"on rows [\d,]+ to [\d,]+ of X.*memory"):
            statistic_of("effects", always, files, **points("a"), executor=client)
    assert always.marks == 3


@pytest.mark.alone
def test_an_interrupt_leaves_nothing_to_do_on_the_cluster(client, files, tmp_path):
    held = Waits(tmp_path, 1_000)

    def interrupt():
        until(lambda: held.marks >= 2, 300)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        paribus.Explainer(held, files, executor=client).effects(NAMES, grid_resolution=50)
    thread.join()
    # Both workers are held, so that nothing can have come to an end by being computed.
    until(lambda: tasks_left(client) == 0)
    assert not any(client.processing().values())
    held.released.touch()
    idle(client)


@pytest.mark.nightly
def test_command_line_on_a_cluster_gives_the_bits_of_one_process(client, model, files, tmp_path):
    model.booster_.save_model(tmp_path / "model.txt")
    asked = ["explain", str(tmp_path / "model.txt"), files, "--quiet", "--save"]
    assert main([*asked, str(tmp_path / "here.json")]) == 0
    assert main([*asked, str(tmp_path / "there.json"), "--executor", client.scheduler.address]) == 0
    have = paribus.load(tmp_path / "there.json")
    assert have.effects["a"].provenance.executor.startswith("Dask")
    assert not differing(have, paribus.load(tmp_path / "here.json"))


# Begun and finished


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("begun", "finished", "after"),
    [("here", "cluster", 33), ("cluster", "here", 33), ("cluster", "cluster", 10), ("here", "here", 33)],
)
def test_a_run_that_was_stopped_goes_on_anywhere_and_gives_the_same_bits(
    client, model, files, wanted, tmp_path, monkeypatch, begun, finished, after
):
    where = {"here": None, "cluster": client}
    asked = {"sample_weight": "w", "features": [*NAMES, ("a", "b")], "checkpoint": tmp_path / "kept"}
    runs = [
        lambda one=one: statistic_of("effects", model, files, executor=where[one], **asked)
        for one in (begun, finished)
    ]
    have, kept, rest = stopped_and_resumed(*runs, after, monkeypatch)
    same(have, wanted)
    assert have["a"].provenance.fingerprint == wanted["a"].provenance.fingerprint
    assert not set(kept) & set(rest)
    assert len(kept) + len(rest) == 2 * 24  # blocks of the survey, and as many of the effects


def test_interactions_that_were_stopped_go_on_on_the_cluster(client, model, files, tmp_path, monkeypatch):
    run = partial(statistic_of, "h_statistic", model, files, checkpoint=tmp_path / "kept")
    have, kept, _ = stopped_and_resumed(run, partial(run, executor=client), 30, monkeypatch)
    assert kept[-1][0] != "00-survey"
    same_strengths(have, paribus.h_statistic(model, files))


def test_a_checkpoint_of_other_files_is_refused_on_the_cluster(client, model, frame, files, tmp_path):
    paribus.Explainer(model, files, executor=client, checkpoint=tmp_path / "kept").effects(["a"])
    other = write(tmp_path / "other", frame[::-1], 12, 900)
    with pytest.raises(
        paribus.errors.CheckpointError, match=r"belongs to another run \(other data\); use another folder"
    ):
        paribus.Explainer(model, other, executor=client, checkpoint=tmp_path / "kept").effects(["a"])


# What is sent, and what is said


def test_the_model_is_sent_to_each_worker_once(client, files, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_of, "MOST_TASKS", 8_192)
    file = tmp_path / "unpickled"
    file.touch()
    explainer = paribus.Explainer(Counted(str(file)), files, executor=client)
    have = explainer.partial_dependence("a", custom_values=points("a")["custom_values"])
    assert have.provenance.rows == ROWS
    times = [int(pid) for pid in file.read_text().split()]
    assert os.getpid() not in times
    assert len(times) <= len(client.nthreads()) + 1


def test_rows_in_memory_are_sent_once_and_without_a_warning(client, monkeypatch):
    """A warning is an error here: Dask warns of a graph with megabytes in it."""
    X = pa.table({name: np.random.default_rng(0).normal(size=500_000) for name in NAMES})
    sent, evaluated = [], cluster_of.Graph.call

    def call(self, function, name, *arguments):
        sent.append(sum(len(pickle.dumps(one)) for one in arguments[1:] if name == "evaluate"))
        return evaluated(self, function, name, *arguments)

    monkeypatch.setattr(cluster_of.Graph, "call", call)
    effect = paribus.Explainer(lambda t: t["a"].to_numpy(), X, executor=client).effects(
        ["b"], custom_values={"b": [0.0]}
    )
    assert effect["b"].average == pytest.approx(float(np.mean(X["a"].to_numpy())))
    assert sum(sent) < 2 * X.nbytes


def test_a_large_model_is_sent_without_a_warning(client, files):
    ballast = np.ones(3_000_000)

    def heavy(table):
        return table["b"].to_numpy() * ballast[0]

    have = statistic_of("effects", heavy, files, **points("b"), executor=client)
    np.testing.assert_allclose(have["b"].average[0], POINTS, rtol=1e-6)


class Bar:
    """Stands for the bar of tqdm."""

    bars: ClassVar = []

    def __init__(self, *, total, initial, desc, **_):
        self.total, self.done, self.label = total, initial, desc
        Bar.bars.append(self)

    def update(self, rows):
        self.done += rows

    def close(self):
        pass


@pytest.mark.nightly
def test_the_bar_counts_rows_on_the_cluster_and_those_that_were_kept(
    client, model, frame, files, tmp_path, monkeypatch
):
    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    monkeypatch.setattr("paribus._executors.progress.has_bars", lambda: True)
    monkeypatch.setattr(Bar, "bars", [])
    asked = {"executor": client, "progress": True, "features": ["a"]}
    statistic_of("effects", model, files, checkpoint=tmp_path / "kept", **asked)
    assert [(bar.label, bar.total, bar.done) for bar in Bar.bars] == [
        ("first look at the data", ROWS, ROWS),
        ("partial dependence", ROWS, ROWS),
    ]
    block = sorted((tmp_path / "kept").glob("01-effects-*/*.npz"))[3]
    block.unlink()
    Bar.bars.clear()
    statistic_of("effects", model, files, checkpoint=tmp_path / "kept", **asked)
    assert [(bar.label, bar.total, bar.done) for bar in Bar.bars] == [("partial dependence", ROWS, ROWS)]
    Bar.bars.clear()
    statistic_of("effects", model, cut_frame(frame[NAMES], [1_000] * 24), **asked)
    assert [bar.done for bar in Bar.bars if bar.label == "partial dependence"] == [ROWS]


def test_who_computed_is_recorded(client, model, files):
    have = paribus.Explainer(model, files, executor=client).partial_dependence("a")
    assert have.provenance.executor == "Dask, 2 workers"
    assert have.provenance.passes == 2
    assert paribus.partial_dependence(model, files, "a").provenance.executor == "this process"


@pytest.mark.parametrize("kind", ["lazy", "batches"])
def test_a_stream_is_refused_with_the_way_out(client, model, frame, kind):
    X = {
        "lazy": lambda: pl.DataFrame({name: frame[name].to_numpy() for name in NAMES}).lazy(),
        "batches": lambda: lambda: iter([frame[NAMES]]),
    }[kind]()
    with pytest.raises(paribus.errors.OptionError, match=r"executor= needs rows .* Write X to Parquet"):
        paribus.Explainer(model, X, executor=client).effects()


def test_what_is_no_client_is_refused(model, files):
    with pytest.raises(paribus.errors.OptionError, match=r"must be a dask\.distributed Client"):
        paribus.Explainer(model, files, executor=4).effects()


def test_a_range_of_tasks_is_a_branch_of_the_tree_of_merges():
    for count in (1, 2, 7, 20, 1_000):
        for most in (1, 3, 8, 5_000):
            ranges = ranges_of(count, most)
            assert len(ranges) <= most
            assert [first for first, _ in ranges[1:]] == [stop for _, stop in ranges[:-1]]
            assert (ranges[0][0], ranges[-1][1]) == (0, count)


def test_averages_near_values_are_those_of_one_process(client, model, files, frame):
    want = paribus.marginal(model, files, y="d", sample_weight="w")
    for rows in (files, dd.from_pandas(frame, npartitions=5)):
        have = paribus.Explainer(model, rows, y="d", sample_weight="w", executor=client).marginal()
        assert have.provenance.executor == "Dask, 2 workers"
        assert set(have) == set(want)
        for name, one in want.items():
            # Partitions are cut elsewhere than files, which moves the last digits.
            exact = {} if rows is not files else {"rtol": 0, "atol": 0}
            for key in ("predicted", "observed", "residual_error", "support", "rows"):
                assert np.allclose(have[name][key], one[key], **exact, equal_nan=True), (name, key)


def test_a_target_that_cannot_be_compared_is_said_once(client, model, files):
    with pytest.raises(paribus.errors.InputError, match="not a class of the model"):
        paribus.Explainer(Labeled(), files, y="w", executor=client).marginal()
    with pytest.raises(paribus.errors.InputError, match="y='a' is missing in row"):
        paribus.Explainer(model, files, y="a", executor=client).marginal()


@pytest.mark.nightly
def test_local_effects_are_those_of_one_process(client, model, files, frame):
    asked = ["a", "b", ("b", "c")]
    want = paribus.accumulated_local_effects(model, files, asked, sample_weight="w")
    for rows in (files, dd.from_pandas(frame, npartitions=5)):
        have = paribus.Explainer(model, rows, sample_weight="w", executor=client).accumulated_local_effects(
            asked
        )
        assert have.provenance.executor == "Dask, 2 workers"
        assert have.provenance.evaluator == "tree_ale and tree_pair_ale"
        assert set(have) == set(want)
        for name, one in want.items():
            # Partitions are cut elsewhere than files, which moves the last digits.
            exact = {} if rows is not files else {"rtol": 0, "atol": 0}
            for key in ("ale", "standard_error", "local", "local_error", "support", "rows"):
                assert np.allclose(have[name][key], one[key], **exact, equal_nan=True), (name, key)
        assert np.allclose(have["a"].missing.ale, want["a"].missing.ale)

"""On Spark, with workers that die and fail: the bits of one process, or one error that names rows or files."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import lightgbm
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paribus
from checkpoint_examples import stopped_and_resumed
from compared_results import differing
from paribus._data.scan.parquet import ParquetFiles
from paribus._data.scan.spark_frame import SparkPartitions, spark_source
from paribus._evaluators import exact_effects, survey
from paribus._executors import spark as cluster_of
from statistic_of import statistic_of

pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.nightly,  # needs Java, and half a minute to start; the laws run on Dask in CI
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ROWS, NAMES = 12_000, ["a", "b", "c", "city"]
QUIET = {"progress": False, "sample_weight": "w"}


@pytest.fixture(scope="session")
def spark():
    """A cluster of two executors, whose Python workers are separate processes."""
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in options.items():
        builder = builder.config(name, value)
    handler = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    signal.signal(signal.SIGINT, handler)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=ROWS).astype("float32") for name in "abc"})
    table["a"] = table["a"].where(rng.random(ROWS) > 0.02)
    table["city"] = rng.choice(["Bern", "Basel", None], ROWS)
    return table.assign(w=rng.integers(0, 4, ROWS) / 3, y=target(table))


def target(frame):
    city = frame["city"].map({"Bern": 1.0, "Basel": 2.0}).astype(float).fillna(-1.0)
    return (frame["a"].fillna(2) * frame["b"] + np.sin(frame["c"]) + city).to_numpy(float)


@pytest.fixture(scope="module")
def model(frame):
    shown = frame[NAMES].astype({"city": "category"})
    return lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(shown, frame["y"])


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows") / "files", frame, 5, 900)


@pytest.fixture(autouse=True, scope="module")
def many_blocks():
    """Cut thousands of rows as finely as the library cuts tens of millions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "SURVEY_ROWS", 512)
        patch.setattr(exact_effects, "BLOCK_ROWS", 512)
        yield


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


def same(have, want):
    """Compare every number bit for bit."""
    assert not differing(have, want)


def close(have, want, rtol=1e-9):
    """Compare averages, supports and grids up to rounding."""
    assert list(have) == list(want)
    for name in want:
        assert list(have[name].grid_values[0]) == list(want[name].grid_values[0])
        np.testing.assert_allclose(have[name].average, want[name].average, rtol=rtol)
        np.testing.assert_allclose(have[name].support, want[name].support, rtol=rtol)


def until(condition, seconds=120.0):
    """Wait for a condition that must become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


class Marked:
    """A model that does something the first ``times`` it is evaluated on a worker."""

    def __init__(self, folder, times):
        self.folder, self.times, self.home = Path(folder), times, os.getpid()

    def __call__(self, frame):
        if os.getpid() != self.home:
            for number in range(self.times):
                try:
                    (self.folder / f"mark-{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                self.act()
                break
        return target(frame)

    def act(self):
        raise RuntimeError("no answer this time")

    @property
    def marks(self):
        return len(list(self.folder.glob("mark-*")))


class Dies(Marked):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Waits(Marked):
    def act(self):
        until((self.folder / "released").exists, 600)


class OnlyHere:
    """A model that other processes cannot load."""

    def __call__(self, frame):
        return target(frame)

    def __getstate__(self):
        return {"some": "thing"}

    def __setstate__(self, state):
        raise OSError("no such file on this machine")


class Counted:
    """A model that writes down each process that unpickles it."""

    def __init__(self, file):
        self.file = file

    def __call__(self, frame):
        return target(frame)

    def __getstate__(self):
        return {"file": self.file}

    def __setstate__(self, state):
        self.__dict__.update(state)
        with Path(self.file).open("a") as handle:
            handle.write(f"{os.getpid()}\n")


FUNCTIONS = {
    "effects": lambda model, X, **o: statistic_of("effects", model, X, [*NAMES, ("a", "b")], **o),
    "ice": lambda model, X, **o: statistic_of(
        "effects", model, X, ["b"], kind="both", custom_values={"b": [-1.0, 0.0, 1.0]}, max_memory="1GB", **o
    ),
    "ale": lambda model, X, **o: statistic_of(
        "accumulated_local_effects", model, X, ["a", "city", ("b", "c")], **o
    ),
    "h": lambda model, X, **o: statistic_of("h_statistic", model, X, **o),
    "marginal": lambda model, X, **o: statistic_of("marginal", model, X, y="y", **o),
    "importance": lambda model, X, **o: statistic_of("feature_importance", model, X, **o),
    "regions": lambda model, X, **o: statistic_of("regions", model, X, ["a", "b"], **o),
}


# Identical results


@pytest.mark.parametrize("name", FUNCTIONS)
def test_spark_gives_the_bits_of_one_process(spark, model, files, name):
    have = FUNCTIONS[name](model, files, executor=spark, **QUIET)
    same(have, FUNCTIONS[name](model, files, n_jobs=1, **QUIET))
    one = have if hasattr(have, "provenance") else next(iter(have.values()))
    assert one.provenance.executor == f"Spark {pyspark.__version__}"


def test_spark_explains_and_reports_as_one_process(spark, model, files, tmp_path):
    have = paribus.Explainer(model, files, "y", executor=spark, **QUIET).explain()
    same(have, paribus.explain(model, files, "y", **QUIET))
    have.report(tmp_path / "report.html")
    assert have.effects["a"].provenance.executor == f"Spark {pyspark.__version__}"
    assert "city" in (tmp_path / "report.html").read_text()


def test_spark_evaluates_functions_and_tables_in_memory(spark, frame, files):
    asked = {"features": ["b", "city"], "grid_resolution": 5, "progress": False}
    same(
        statistic_of("effects", target, files, executor=spark, **asked),
        paribus.effects(target, files, **asked),
    )
    shown = {**asked, "sample_weight": frame["w"]}
    have = statistic_of("effects", target, frame[NAMES], executor=spark, **shown)
    same(have, paribus.effects(target, frame[NAMES], **shown))


def test_number_of_tasks_and_jobs_changes_no_bit(spark, model, files, monkeypatch):
    want = paribus.effects(model, files, **QUIET)
    for per_thread, job in ((0, 1), (1, 1), (12, 5)):
        monkeypatch.setattr(cluster_of, "PER_THREAD", per_thread)
        monkeypatch.setattr(cluster_of, "JOB_TASKS", job)
        monkeypatch.setattr(cluster_of, "TASK_ROWS", 10**9 if per_thread else ROWS)
        same(paribus.Explainer(model, files, executor=spark, **QUIET).effects(), want)


# Data frames


def test_plain_read_of_files_gives_the_bits_of_the_files(spark, model, files):
    X = spark.read.parquet(files)
    assert isinstance(spark_source(X, "raise"), ParquetFiles)
    have = paribus.effects(model, X, **QUIET)
    same(have, paribus.effects(model, files, **QUIET))
    assert have["a"].provenance.executor == f"Spark {pyspark.__version__}"


def test_partitions_of_a_frame_give_the_numbers_of_its_rows(spark, model, files, frame):
    X = spark.read.parquet(files).where("b > -1")
    assert isinstance(spark_source(X, "raise"), SparkPartitions)
    kept = frame[frame["b"] > -1]
    want = paribus.effects(model, kept[NAMES], sample_weight=kept["w"], progress=False)
    have = paribus.Explainer(model, X, executor=spark, **QUIET).effects()
    close(have, want)
    assert have["a"].provenance.rows == len(kept)
    assert "a Spark data frame" in have["a"].provenance.background()


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X.select("*"),
        lambda X: X.limit(10),
        lambda X: X.repartition(3),
        lambda X: X.union(X),
        lambda X: X.withColumnRenamed("a", "d"),
        lambda X: X.sparkSession.read.option("mergeSchema", "true").parquet(*X.inputFiles()),
        lambda X: X.sparkSession.read.schema("b float, a float").parquet(*X.inputFiles()),
        lambda X: X.sparkSession.read.schema("a double").parquet(*X.inputFiles()),
    ],
    ids=["select", "limit", "repartition", "union", "rename", "options", "columns", "types"],
)
def test_only_plain_reads_are_read_from_files(spark, files, make):
    assert isinstance(spark_source(make(spark.read.parquet(files)), "raise"), SparkPartitions)


@pytest.mark.parametrize("name", ["ale", "h", "marginal", "regions"])
def test_every_function_takes_partitions_of_a_frame(spark, model, files, name):
    X = spark.read.parquet(files).select("*")
    have, want = (FUNCTIONS[name](model, one, **QUIET) for one in (X, files))
    key = {"ale": "ale", "h": "h_squared_pairwise", "marginal": "predicted"}.get(name)
    if name == "h":
        np.testing.assert_allclose(have[key], want[key], rtol=1e-6)
    elif name == "regions":
        assert list(have) == list(want)
    else:
        for feature in want:
            np.testing.assert_allclose(have[feature][key], want[feature][key], rtol=1e-8, atol=1e-12)


def typed(frame):
    """A function of every type of column, strict about the types that it gets."""
    assert frame["flag"].dtype == bool
    assert frame["count"].dtype.kind == "i"
    assert frame["gap"].dtype.kind == "f"
    return frame["count"] * 1.0 + frame["flag"] + frame["gap"].fillna(3) + frame["odd.name"].eq("x")


@pytest.mark.parametrize("partitions", [1, 7])
def test_types_and_missing_values_are_those_of_parquet(spark, tmp_path, partitions):
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "count": rng.integers(0, 9, 500),
            "flag": rng.random(500) < 0.5,
            "gap": pa.array([None if n % 7 == 0 else n % 5 for n in range(500)], pa.int32()),
            "odd.name": pa.array([None if n % 11 == 0 else "xyz"[n % 3] for n in range(500)]),
            "unused": pa.array([[1]] * 500),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    asked = {"features": ["count", "flag", "gap", "odd.name"], "progress": False}
    want = paribus.effects(typed, pa.table(table).drop("unused").to_pandas(), **asked)
    read = spark.read.parquet(str(tmp_path)).drop("unused").repartition(partitions)
    have = paribus.effects(typed, read, **asked)
    for name in want:
        assert sorted(map(str, have[name].grid_values[0])) == sorted(map(str, want[name].grid_values[0]))
        order, mine = (np.argsort(list(map(str, one[name].grid_values[0]))) for one in (want, have))
        np.testing.assert_allclose(have[name].average[:, mine], want[name].average[:, order], rtol=1e-9)


def test_frame_that_changes_between_passes_is_refused(spark, files, monkeypatch):
    passes, tasks = [], SparkPartitions.tasks.fget

    def changing(self):
        passes.append(1)
        return [one.where(f"b > {len(passes)} - 3") for one in tasks(self)]

    monkeypatch.setattr(SparkPartitions, "tasks", property(changing))
    with pytest.raises(paribus.errors.SourceError, match=r"rows where it had .* before"):
        paribus.effects(target, spark.read.parquet(files).select("*"), ["b"], progress=False)
    assert len(passes) == 2


def test_other_executor_is_refused_for_a_spark_frame(spark, files):
    class Other:
        def fold(self, evaluator, blocks, zero, *, store=None):
            return zero

        def describe(self):
            return "other"

    with pytest.raises(paribus.errors.OptionError, match="must be its SparkSession"):
        paribus.Explainer(target, spark.read.parquet(files), executor=Other()).effects()


def test_frame_without_rows_is_refused(spark, files):
    with pytest.raises(paribus.errors.TableError, match="no rows"):
        paribus.effects(target, spark.read.parquet(files).where("b > 1e9"), progress=False)


def test_checkpoint_of_a_frame_is_refused(spark, files, tmp_path):
    with pytest.raises(paribus.errors.OptionError, match=r"X is a Spark data frame\. Write it to Parquet"):
        paribus.Explainer(
            target, spark.read.parquet(files).select("*"), checkpoint=tmp_path / "kept"
        ).effects()


# Failures


def executors(spark):
    """Return the executors of the cluster, which are descendants of the driver's JVM."""

    def is_executor(process):
        try:
            return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
        except psutil.NoSuchProcess:  # it has ended; zombies are of this class too
            return False

    driver = psutil.Process(spark.sparkContext._gateway.proc.pid)
    return [process for process in driver.children(recursive=True) if is_executor(process)]


@pytest.mark.parametrize(("doing", "after"), [("survey", 0), ("effects", 0), ("effects", 5)])
def test_executor_that_is_killed_changes_no_bit(spark, model, files, monkeypatch, doing, after):
    until(lambda: len(executors(spark)) == 2)
    killed, shown = [], cluster_of.with_progress

    def killing(results, rows, progress, label, before):
        for number, one in enumerate(shown(results, rows, progress, label, before)):
            if number == after and label == doing:
                killed.append(executors(spark)[0])
                killed[0].send_signal(signal.SIGKILL)
            yield one

    monkeypatch.setattr(cluster_of, "with_progress", killing)
    have = paribus.Explainer(model, files, executor=spark, **QUIET).effects()
    assert len(killed) == 1
    same(have, paribus.effects(model, files, **QUIET))


@pytest.mark.parametrize("kind", [Marked, Dies])
def test_model_that_fails_twice_on_a_worker_changes_no_bit(spark, files, tmp_path, kind):
    failing = kind(tmp_path, 2)
    asked = {"features": ["b"], "custom_values": {"b": [0.0, 1.0]}, **QUIET}
    have = statistic_of("effects", failing, files, executor=spark, **asked)
    assert failing.marks == 2
    same(have, paribus.effects(target, files, **asked))


def test_model_that_always_fails_is_one_error_that_names_rows(spark, files):
    def fails(table):
        if len(table) > 100:
            raise RuntimeError("no such row")
        return target(table)

    with pytest.raises(paribus.errors.ModelError, match=r"failed on rows \d+ to \d+ of X.*no such row"):
        paribus.Explainer(fails, files, executor=spark, **QUIET).effects(["b"])


def test_model_that_workers_cannot_load_is_one_error(spark, files):
    match = r"Spark failed in the job that starts with rows 0 to .*OSError: no such file on this machine"
    with pytest.raises(paribus.errors.ExecutorError, match=match):
        paribus.Explainer(OnlyHere(), files, executor=spark, **QUIET).effects(["b"])


def test_model_that_kills_every_worker_is_one_error(spark, files, tmp_path):
    with pytest.raises(paribus.errors.ExecutorError, match="Spark failed in the job that starts with rows"):
        paribus.Explainer(Dies(tmp_path, 10_000), files, executor=spark, **QUIET).effects(["b"])


def test_damaged_file_is_named_or_skipped(spark, model, frame, tmp_path):
    folder = Path(write(tmp_path / "files", frame, 4, 2_000))
    victim = folder / "part-002.parquet"
    column = pq.ParquetFile(victim).metadata.row_group(1).column(1)
    place, whole = column.dictionary_page_offset or column.data_page_offset, victim.read_bytes()
    victim.write_bytes(whole[:place] + b"\xff" * 64 + whole[place + 64 :])
    with pytest.raises(paribus.errors.SourceError, match=r"part-002\.parquet"):
        paribus.Explainer(model, str(folder), executor=spark, **QUIET).effects()
    have = paribus.Explainer(model, str(folder), executor=spark, on_error="skip", **QUIET).effects()
    assert "part-002.parquet" in have["a"].provenance.skipped[0]
    victim.unlink()
    same(have, paribus.effects(model, str(folder), **QUIET))


@pytest.mark.alone
def test_interrupt_leaves_no_job_on_the_cluster(spark, files, tmp_path):
    held = Waits(tmp_path, 1_000)

    def interrupt():
        until(lambda: held.marks >= 2, 300)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        paribus.Explainer(held, files, executor=spark, **QUIET).effects(NAMES)
    thread.join()
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    (tmp_path / "released").touch()


# Checkpoints, progress and model


@pytest.mark.parametrize(("begun", "finished"), [("here", "spark"), ("spark", "here")])
def test_interrupted_run_resumes_anywhere_with_the_same_bits(
    spark, model, files, tmp_path, monkeypatch, begun, finished
):
    where = {"here": None, "spark": spark}
    asked = {**QUIET, "checkpoint": tmp_path / "kept"}
    runs = [
        lambda one=one: statistic_of("effects", model, files, executor=where[one], **asked)
        for one in (begun, finished)
    ]
    have, kept, rest = stopped_and_resumed(*runs, 20, monkeypatch)
    same(have, paribus.effects(model, files, **QUIET))
    assert not set(kept) & set(rest)
    assert len(kept) + len(rest) == 12 + 24  # blocks of the survey, and of the effects


def test_bar_counts_rows_on_spark(spark, model, files, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, *, total, initial, desc, **_):
            self.total, self.done, self.steps = total, initial, 0
            bars.append(self)

        def update(self, rows):
            self.done, self.steps = self.done + rows, self.steps + 1

        def close(self):
            pass

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    monkeypatch.setattr("paribus._executors.progress.has_bars", lambda: True)
    paribus.Explainer(model, files, executor=spark, progress=True).effects(["a"])
    assert [(bar.total, bar.done) for bar in bars] == [(ROWS, ROWS)] * 2
    assert all(bar.steps >= cluster_of.LEAST_JOBS for bar in bars)


def test_model_is_unpickled_once_in_each_worker_process(spark, files, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_of, "PER_THREAD", 12)
    file = tmp_path / "unpickled"
    file.touch()
    asked = {"custom_values": {"b": [0.0]}, **QUIET}
    statistic_of("effects", Counted(str(file)), files, ["b"], executor=spark, **asked)
    pids = file.read_text().split()
    assert pids
    assert str(os.getpid()) not in pids
    assert len(pids) <= 2 * len(
        set(pids)
    )  # two evaluators hold the model: the trial of the survey, the effects


def test_stream_is_refused_with_a_remedy(spark, frame):
    with pytest.raises(paribus.errors.OptionError, match=r"executor= needs rows .* Write X to Parquet"):
        paribus.Explainer(target, lambda: iter([frame[NAMES]]), executor=spark).effects()


# Other sessions and the command line


def test_stopped_session_is_refused():
    session = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    with pytest.raises(paribus.errors.ExecutorError, match=r"the Spark session is stopped; pass"):
        cluster_of.Jobs.of(session, None)


@contextmanager
def connect_server():
    """Start a server of Spark Connect, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {"binding.address": "127.0.0.1", "binding.port": port}
    confs = [
        part for name, value in options.items() for part in ("--conf", f"spark.connect.grpc.{name}={value}")
    ]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", *confs, "spark-internal"]
    with subprocess.Popen([*SUBMIT, *server], env=environment(), stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: process.poll() is None and answers(port))
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def environment():
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


SUBMIT = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]


@pytest.mark.parametrize("kind", ["spark-submit", "Spark Connect"])
def test_command_line_on_spark_gives_the_bits_of_one_process(model, files, tmp_path, kind):
    model.booster_.save_model(tmp_path / "model.txt")
    asked = ["explain", str(tmp_path / "model.txt"), files, "--target", "y", "--weight", "w"]
    subprocess.run([sys.executable, "-m", "paribus", *asked, "-o", tmp_path / "here.json"], check=True)
    there = [*asked, "-o", tmp_path / "there.json", "--executor"]
    if kind == "spark-submit":
        command = [*SUBMIT, import_module("paribus.__main__").__file__, *there, "spark"]
        subprocess.run(command, env=environment(), check=True)
    else:
        pytest.importorskip("grpc")
        with connect_server() as address:
            subprocess.run([sys.executable, "-m", "paribus", *there, address], check=True)
    same(paribus.load(tmp_path / "there.json"), paribus.load(tmp_path / "here.json"))

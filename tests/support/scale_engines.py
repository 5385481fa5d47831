"""Cost by number of rows, files, columns and tasks, on one machine, Dask and Spark: ``make scale``.

Prints the CPU time of the whole machine, so that nothing else should run. Takes 20 MB of disk for a million rows.
"""

import os
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path

import lightgbm
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster

import paribus
from paribus._evaluators import exact_effects, survey
from paribus._executors import dask, spark

FILE_ROWS = 2_500_000


def names(columns):
    return [f"x{j}" for j in range(columns)]


def fitted(columns):
    """Return 100 trees of 31 leaves."""
    draws = np.random.default_rng(0).standard_normal((20_000, columns)).astype(np.float32)
    target = draws[:, 0] * draws[:, 1] + np.sin(draws[:, 2]) + draws[:, -1]
    frame = pa.table(dict(zip(names(columns), draws.T, strict=True))).to_pandas()
    return lightgbm.LGBMRegressor(n_estimators=100, verbose=-1, n_jobs=1).fit(frame, target)


def write(path, rows, columns, group, seed=0):
    draws = np.random.default_rng(seed)
    table = pa.table({name: draws.standard_normal(rows, np.float32) for name in names(columns)})
    pq.write_table(table, path, row_group_size=group, compression="none", use_dictionary=False)


def cpu():
    return sum(psutil.cpu_times()[:3])


def timed(what, rows, model, X, executor=None, features=None):
    """Print the cost of all effects at 20 points, and the largest memory of this process in the meantime."""
    values = {name: np.linspace(-2, 2, 20) for name in features or model.feature_name_}
    peak, done = [0], threading.Event()

    def watch():
        while not done.wait(0.1):
            peak[0] = max(peak[0], psutil.Process().memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    started, used = time.perf_counter(), cpu()
    paribus.Explainer(model, X, executor=executor, progress=False).effects(features, custom_values=values)
    wall, used = time.perf_counter() - started, cpu() - used
    done.set()
    thread.join()
    print(
        f"{what}: {wall:.1f} s, CPU {used:.1f} s, {1e6 * used / rows:.2f} µs per row, {peak[0] / 1e6:.0f} MB here",
        flush=True,
    )


@contextmanager
def dask_client():
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    for name in ("bindAddress", "host"):
        builder = builder.config(f"spark.driver.{name}", "127.0.0.1")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


ENGINES = {"one machine": nullcontext, "Dask": dask_client, "Spark": spark_session}


def by_rows(home, millions):
    """Time 10 million rows, and all of them, on each engine."""
    model, files = fitted(5), [home / f"{number:03d}.parquet" for number in range(round(millions / 2.5))]
    for number, file in enumerate(files):
        write(file, FILE_ROWS, 5, 625_000, number)
    for engine, opened in ENGINES.items():
        with opened() as executor:
            paribus.Explainer(model, files[:1], executor=executor, progress=False).effects()
            for some in (files[:4], files):
                rows = FILE_ROWS * len(some)
                timed(f"{rows / 1e6:.0f} million rows, {engine}", rows, model, some, executor)


def by_files(home):
    """Time a million rows in 100, 1,000 and 10,000 files."""
    model = fitted(5)
    for count in (100, 1_000, 10_000):
        folder = home / f"{count}"
        folder.mkdir()
        for number in range(count):
            write(folder / f"{number:05d}.parquet", 1_000_000 // count, 5, 100_000, number)
        timed(f"{count:,} files", 1_000_000, model, str(folder))


def by_columns(home):
    """Time 100,000 rows of 10, 100 and 1,000 columns, for ten features and for all."""
    for columns in (10, 100, 1_000):
        model, file = fitted(columns), home / f"{columns}-columns.parquet"
        write(file, 100_000, columns, 25_000)
        timed(f"{columns:,} columns, 10 features", 100_000, model, file, features=names(10))
        timed(f"{columns:,} columns, all features", 100_000, model, file)


def by_tasks(home):
    """Time the same 256 blocks in 8, 64 and 256 tasks for each pass."""
    model, file = fitted(20), home / "tasks.parquet"
    write(file, 131_072, 20, 512)
    survey.SURVEY_ROWS = exact_effects.BLOCK_ROWS = 512
    spark.TASK_ROWS = 10**9
    for engine, module in (("Dask", dask), ("Spark", spark)):
        with ENGINES[engine]() as executor:
            paribus.Explainer(model, file, executor=executor, progress=False).effects()
            for tasks in (8, 64, 256):
                module.PER_THREAD = tasks // 2
                timed(f"{tasks} tasks, {engine}", 131_072, model, file, executor)


def main():
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 200.0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for measure in (by_files, by_columns, by_tasks):
            measure(Path(folder))
        by_rows(Path(folder), millions)


if __name__ == "__main__":
    main()

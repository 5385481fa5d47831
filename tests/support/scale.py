"""Out-of-core rows, on one machine, on a cluster and under faults: `python tests/support/scale.py [million rows]`.

Prints each figure beside its bound, and exits with 1 where one is missed. Takes four bytes of disk a number.
"""

import cProfile
import importlib
import os
import pickle
import pstats
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import dask
import lightgbm
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs

from paribus._api.runner import Runner
from paribus._executors import LocalExecutor
from statistic_of import statistic_of

MILLIONS = float(sys.argv[1]) if __name__ == "__main__" and len(sys.argv) > 1 else 50.0
COLUMNS, POINTS, TREES, FITTED, GROUPS = 20, 50, 100, 50_000, 4
NAMES = [f"x{j:02d}" for j in range(COLUMNS)]
FILES = min(200, max(40, round(2 * MILLIONS)))
AXES = {name: np.linspace(-2, 2, POINTS) for name in NAMES}
KILLS, RESUMED, SEED = 5, 3, 0
MEMORY_LIMIT = 2_000_000_000  # of a worker
missed, faults = [], {"runs": 0, "differences": 0}


def seconds(body):
    started = time.perf_counter()
    body()
    return time.perf_counter() - started


def told(what, figure, bound="", kept=True):
    """Print a figure beside what is evaluated of it."""
    asked = f" (asked: {bound})" if bound else ""
    print(f"  {what}: {figure}{asked}{'' if kept else '  MISSED'}", flush=True)
    if not kept:
        missed.append(what)


def write(folder):
    """Write file by file, so that one of them is all that is ever held."""
    folder.mkdir()
    rows = round(MILLIONS * 1e6) // FILES
    for number in range(FILES):
        rng = np.random.default_rng([SEED, number])
        table = pa.table({name: rng.standard_normal(rows, np.float32) for name in NAMES})
        file = folder / f"part-{number:03d}.parquet"
        pq.write_table(table, file, row_group_size=-(-rows // GROUPS))


def fitted():
    rows = np.random.default_rng(SEED).standard_normal((FITTED, COLUMNS), np.float32)
    y = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) + rows[:, 3]
    frame = pa.table(dict(zip(NAMES, rows.T, strict=True))).to_pandas()
    return lightgbm.LGBMRegressor(n_estimators=TREES, verbose=-1, n_jobs=-1).fit(frame, y)


def asked(model, source, **arguments):
    return statistic_of("effects", model, source, NAMES, custom_values=AXES, progress=False, **arguments)


def numbers(effects):
    """Return every number of a result, as bytes."""
    keys = ("average", "standard_error", "support")
    return {(name, key): effect[key].tobytes() for name, effect in sorted(effects.items()) for key in keys}


def bare(model, files):
    """Read the same rows and predict them once."""
    for batch in ds.dataset(files).to_batches(columns=NAMES, batch_size=100_000):
        model.predict(batch.to_pandas())


APART = """
import pickle, sys
import paribus
from pathlib import Path

def peak():  # of this program alone, which getrusage is not: it counts the process that started it
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

sys.path.insert(0, {here!r})
sys.argv = sys.argv[:1]
from scale import asked, numbers
model = pickle.loads(Path({model!r}).read_bytes())
options = {options!r}
if {address!r}:
    from dask.distributed import Client
    options["executor"] = Client({address!r})
asked(model, {files!r}[:1])
before = peak()
found = asked(model, {files!r}, **options)
Path({out!r}).write_bytes(pickle.dumps((numbers(found), peak() - before, peak())))
"""


def apart(home, files, address="", **options):
    """Start a process that asks, and return it with the file it will write."""
    out = home / f"out-{random.Random(time.time_ns()).getrandbits(32):08x}"
    here = os.fspath(Path(__file__).parent)
    facts = {"here": here, "model": os.fspath(home / "model"), "files": files, "out": os.fspath(out)}
    code = APART.format(**facts, address=address, options=options)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL), out


def finished(process, out):
    if process.wait() != 0 or not out.exists():
        raise RuntimeError(f"a process that asks ended with {process.returncode}")
    return pickle.loads(out.read_bytes())


def in_memory(home, files):
    """Return the numbers, how memory grew and its peak: the least of two runs, because threads take turns."""
    (found, *one), (again, *two) = (finished(*apart(home, files)) for _ in range(2))
    told("numbers that differ between processes", different(again, found), "0", found == again)
    return found, *map(min, zip(one, two, strict=True))


def streamed(home, model, files, some):
    """(1) In one process."""
    print(f"(1) all {COLUMNS} effects of {POINTS} points, read, in one process", flush=True)
    asked(model, files[:1])
    ours, theirs = [], []
    for _ in range(2):
        ours.append(seconds(partial(asked, model, files)))
        theirs.append(seconds(partial(bare, model, files)))
    ratio = min(ours) / min(theirs)
    told("time", f"{min(ours):.1f} s, one bare predict {min(theirs):.1f} s")
    told("ratio to one bare predict of the same batches", f"{ratio:.2f}", "at most 1.0", ratio <= 1.0)
    (fifth, least, low), (whole, most, high) = (in_memory(home, given) for given in (some, files))
    told("memory more at the peak, a fifth of the rows", f"{least:.0f} MB", "below 1,000", least < 1_000)
    told("memory more at the peak, all rows", f"{most:.0f} MB", "below 1,000", most < 1_000)
    told("peak of all rows to that of a fifth", f"{high / low:.2f}", "at most 1.1", high <= 1.1 * low)
    return whole, fifth


def on_dask(model, files, client, whole):
    """(2) On two worker processes."""
    print("(2) the same on Dask, two worker processes of one thread", flush=True)
    found = numbers(asked(model, files, executor=client))
    told("numbers that differ", different(found, whole), "0", found == whole)

    def predicted(path, booster):
        rows = pq.read_table(path, columns=NAMES).to_pandas()
        return float(booster.predict(rows, num_threads=1).sum())

    def graph():
        booster = dask.delayed(model.booster_)
        client.gather(client.compute([dask.delayed(predicted, pure=False)(path, booster) for path in files]))

    ours, theirs = [], []
    for _ in range(2):
        ours.append(seconds(partial(asked, model, files, executor=client)))
        theirs.append(seconds(graph))
    ratio = min(ours) / min(theirs)
    told("time", f"{min(ours):.1f} s, the bare graph {min(theirs):.1f} s")
    told("ratio to the bare graph that predicts once", f"{ratio:.2f}", "at most 1.0", ratio <= 1.0)


def different(found, wanted):
    return sum(found.get(key) != value for key, value in wanted.items()) + len(found.keys() - wanted.keys())


def under(what, wanted, body):
    """Run under a fault and count: a run that ends in an error differs as well."""
    try:
        found = different(body(), wanted)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    faults["runs"] += 1
    faults["differences"] += found != 0
    told(what, f"{found} numbers differ" if isinstance(found, int) else found, "0", found == 0)


@contextmanager
def meanwhile(act, client):
    """Do something in a thread while the body runs; workers are all there again afterwards."""
    done = threading.Event()
    thread = threading.Thread(target=act, args=(done,))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        client.wait_for_workers(2, timeout=120)


def pids(client):
    return [nanny.pid for nanny in client.cluster.workers.values()]


class Flaky(LocalFileSystem):
    """A disk on which the first reads of one file by a worker fail."""

    cacheable = False

    def __init__(self, *arguments, victim="", marks="", home=0, **options):
        super().__init__(*arguments, victim=victim, marks=marks, home=home, **options)
        self.victim, self.marks, self.home = victim, marks, home

    def _open(self, path, mode="rb", block_size=None, **options):
        if os.getpid() != self.home and path.endswith(self.victim):
            for number in range(2):
                try:
                    Path(self.marks, f"failed-{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                raise OSError("this read failed on purpose")
        return super()._open(path, mode, block_size, **options)


def flaky(home, files):
    """Return the files as a dataset on such a disk, and how many reads failed so far."""
    # By the name of its module, under which workers import it: classes of a script are sent whole.
    marks = Path(tempfile.mkdtemp(dir=home))
    disk = importlib.import_module("scale").Flaky(
        victim=Path(files[len(files) // 2]).name, marks=os.fspath(marks), home=os.getpid()
    )
    wrapped = fs.PyFileSystem(fs.FSSpecHandler(disk))
    return ds.dataset(files, format="parquet", filesystem=wrapped), lambda: len(list(marks.iterdir()))


def swell():
    """Take memory in a thread of a worker until its nanny ends it."""

    def take():
        held = []
        while True:
            held.append(np.ones(8_000_000))
            time.sleep(0.02)

    threading.Thread(target=take, daemon=True).start()


def kill_workers(model, files, client, wanted, chance, usual):
    for turn in range(KILLS):
        delay, which = chance.uniform(0.05, 0.9) * usual, chance.randrange(2)

        def kill(done, delay=delay, which=which):
            done.wait(delay)
            os.kill(pids(client)[which], signal.SIGKILL)

        with meanwhile(kill, client):
            what = f"a worker killed after {delay:.1f} s, {turn + 1} of {KILLS}"
            under(what, wanted, lambda: numbers(asked(model, files, executor=client)))


def kill_clients(home, files, client, wanted, chance, usual):
    where = {"here": "", "on Dask": client.scheduler.address}
    turns = [("here", "here"), ("on Dask", "on Dask"), ("on Dask", "here")]
    for turn, (begun, resumed) in enumerate(turns[:RESUMED]):
        folder = home / f"checkpoint-{turn}"
        delay = chance.uniform(0.1, 0.7) * usual
        process, _ = apart(home, files, where[begun], checkpoint=os.fspath(folder))
        while not folder.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(delay)
        early = process.poll() is None
        process.kill()
        process.wait()
        kept = len(list(folder.rglob("*.npz")))
        what = f"begun {begun}, killed after {delay:.1f} s with {kept} states kept, resumed {resumed}"
        told("killed before it was done", early, True, early)
        again = partial(apart, home, files, where[resumed], checkpoint=os.fspath(folder))
        under(what, wanted, lambda again=again: finished(*again())[0])


def under_faults(home, model, files, client, wanted):
    """(3) Faults: what comes out must be the same to the bit."""
    print(f"(3) under faults, {len(files)} of the files", flush=True)
    chance = random.Random(SEED)
    request = partial(asked, model, files, executor=client)
    usual = min(seconds(request) for _ in range(2))
    kill_workers(model, files, client, wanted, chance, usual)
    kill_clients(home, files, client, wanted, chance, usual)

    dataset, failed = flaky(home, files)
    under("a file whose read fails twice", wanted, lambda: numbers(asked(model, dataset, executor=client)))
    told("reads that failed", failed(), 2, failed() == 2)

    def stutter(done):
        slow, stopped = pids(client)[0], 0
        while not done.is_set():
            os.kill(slow, signal.SIGSTOP)
            done.wait(0.3)
            os.kill(slow, signal.SIGCONT)
            stopped += 1
            done.wait(0.1)

    with meanwhile(stutter, client):
        under("a worker stopped three quarters of the time", wanted, lambda: numbers(request()))

    first = pids(client)

    def overfill(done):
        done.wait(0.3 * usual)
        client.run(swell, workers=[next(iter(client.nthreads()))])

    def until_ended():
        found = numbers(request())
        deadline = time.monotonic() + 60
        while pids(client) == first and time.monotonic() < deadline:
            found = numbers(request())
        return found

    with meanwhile(overfill, client):
        under("a worker over its memory limit", wanted, until_ended)
    told("workers ended for their memory", len(set(first) - set(pids(client))), "1", pids(client) != first)


@contextmanager
def in_one_thread(profile=None):
    """Read and evaluate in turns, so that the time of each is its own."""
    threaded, fold, passes = LocalExecutor._threaded, Runner._alone, {"reading": 0.0}

    def timed(self, one, store):
        if profile is not None:
            return profile.runcall(fold, self, one, store)
        passes["reading"] += seconds(lambda: sum(1 for _ in one.blocks))
        started = time.perf_counter()
        found = fold(self, one, store)
        passes[one.name] = time.perf_counter() - started
        return found

    LocalExecutor._threaded, Runner._alone = LocalExecutor._serial, timed
    try:
        yield passes
    finally:
        LocalExecutor._threaded, Runner._alone = threaded, fold


def throughput(model, files):
    """(4) What a core does, and on what it spends its time."""
    print("(4) on one thread", flush=True)
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    with in_one_thread() as passes:
        asked(model, files, n_jobs=1)
    both = passes["survey"] + passes["effects"]
    figures = {
        "reading alone": passes["reading"] / 2,
        "reading and survey": passes["survey"],
        "reading and evaluating": passes["effects"],
        "both passes": both,
    }
    for name, took in figures.items():
        told(name, f"{rows / took / 1e6:.2f} million rows a second a core, {took:.2f} s")
    profile = cProfile.Profile()
    with in_one_thread(profile):
        asked(model, files, n_jobs=1)
    table = pstats.Stats(profile)
    own = sorted(table.stats.items(), key=lambda item: -item[1][2])[:14]
    for (file, line, function), (_, calls, took, _, _) in own:
        where = f"{Path(file).name}:{line} " if line else ""
        print(f"    {took / table.total_tt:6.1%} {took:7.2f} s {calls:9,} calls  {where}{function}")


def main():
    warnings.simplefilter("ignore")
    home = Path(tempfile.mkdtemp(prefix="paribus-scale-"))
    try:
        print(
            f"{MILLIONS:g} million rows x {COLUMNS} float32, {FILES} files of {GROUPS} row groups, {TREES} "
            f"trees"
        )
        write(home / "data")
        model = fitted()
        (home / "model").write_bytes(pickle.dumps(model))
        files = sorted(os.fspath(file) for file in (home / "data").iterdir())
        some = files[: FILES // 5]
        whole, fifth = streamed(home, model, files, some)
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with LocalCluster(**options, memory_limit=MEMORY_LIMIT) as cluster, Client(cluster) as client:
            on_dask(model, files, client, whole)
            under_faults(home, model, some, client, fifth)
        throughput(model, some)
    finally:
        shutil.rmtree(home)
    for what in missed:
        print(f"missed: {what}")
    print(f"{faults['runs']} runs under faults, {faults['differences']} differences")
    return 1 if missed or faults["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())

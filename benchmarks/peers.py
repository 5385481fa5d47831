"""The same work on paribus and on its peers from PyPI: `make bench-peers`; about forty minutes.

Builds an environment for each group of peers that can be installed together, in `build/peers`, runs every
peer in a process of its own, and writes `benchmarks/peers.json` and `docs/benchmarks.md`. A peer that
does not install, fails or takes too long is recorded as such. Linux and macOS.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import peers_page
from peers_tasks import TASKS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TIMEOUT = 1_800  # seconds by the clock that one process may take
SHARED = "shared"
# Peers that pin numpy below 2 cannot be installed with paribus: there both are measured in units of `predict`
ENVIRONMENTS = {
    SHARED: (
        str(ROOT),
        "scikit-learn",
        "lightgbm",
        "woodelf-explainer==0.4.8",
        "shap==0.51.0",
        "effector==0.6.0",
        "PyALE==1.2.0",
        "PDPbox==0.3.0",
        "dalex==1.8.0",
    ),
    "alibi": ("alibi==0.9.6", "click", "lightgbm"),  # alibi's own dependencies import click without naming it
    "artemis": ("pyartemis==0.1.5", "lightgbm"),
}
HOME = {"alibi": "alibi", "alibi tree": "alibi", "artemis": "artemis"}  # all others are in the shared one
PACKAGES = {  # of each environment, with what a user imports first
    SHARED: {
        "paribus": "import paribus",
        "scikit-learn": "from sklearn.inspection import partial_dependence",
        "woodelf-explainer": "import woodelf",
        "shap": "import shap",
        "effector": "import effector",
        "PyALE": "import PyALE",
        "PDPbox": "import pdpbox",
        "dalex": "import dalex",
    },
    "alibi": {"alibi": "from alibi.explainers import PartialDependence"},
    "artemis": {
        "pyartemis": "from artemis.interactions_methods.model_agnostic import FriedmanHStatisticMethod"
    },
}
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class FailedError(Exception):
    """A measurement that gave no figure; the message is what the page says."""


def say(*words):
    print(f"{time.strftime('%H:%M:%S')}", *words, file=sys.stderr, flush=True)


def build(name, requirements, scratch):
    """Return the interpreter of an environment, which is built unless it has these requirements already."""
    folder = scratch / name
    stamp = folder / "requirements.json"
    python = folder / "bin" / "python"
    if stamp.exists() and json.loads(stamp.read_text()) == list(requirements):
        return python
    say(f"building the environment {name}")
    uv = shutil.which("uv")
    commands = [
        [uv, "venv", "--clear", "-p", sys.executable, folder]
        if uv
        else [sys.executable, "-m", "venv", "--clear", folder],
        [uv, "pip", "install", "-q", "--python", python, *requirements]
        if uv
        else [python, "-m", "pip", "install", "-q", *requirements],
    ]
    for command in commands:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode:
            raise FailedError(f"does not install: {(done.stderr.strip() or done.stdout).splitlines()[-1]}")
    stamp.write_text(json.dumps(list(requirements)))
    return python


def run(python, scratch, script, *arguments, threads=ONE_THREAD, kernels="kernels"):
    """Return the lines of JSON that a script of this folder prints in an environment, and how it ended."""
    own = {"PYTHONPATH": str(ROOT / "src"), "PARIBUS_CACHE_DIR": str(scratch / kernels), "MPLBACKEND": "agg"}
    command = [str(python), "-W", "ignore", str(HERE / script), *map(str, arguments)]
    environment = {**os.environ, **threads, **own}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile all modules
    with (scratch / "printed.log").open("w+") as printed, (scratch / "errors.log").open("a") as errors:
        try:
            code = subprocess.run(
                command, env=environment, stdout=printed, stderr=errors, timeout=TIMEOUT
            ).returncode
            ended = f"ended with exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            ended = f"did not finish in {TIMEOUT} s"
        printed.seek(0)
        return [json.loads(line) for line in printed if line.endswith("\n")], ended


def only(found, ended):
    """Return the one line that was printed by a script which must not fail."""
    if ended or not found:
        raise SystemExit(f"{ended}: see errors.log in the scratch folder")
    return found[-1]


FIT = """
import pickle, sys, json
from pathlib import Path
from peers_tasks import fitted, table
for model, rows, columns, trees, file in json.loads(sys.argv[1]):
    X, y = table(max(rows, 2_000), columns)
    Path(file).write_bytes(pickle.dumps((fitted(model, X, y, trees), X[:rows])))
"""


def inputs(tasks, python, scratch, trees):
    """Fit every model in the shared environment; return the file of each, with its rows."""
    files = {(t.model, t.rows, t.columns): scratch / f"{t.model}-{t.rows}-{t.columns}.pickle" for t in tasks}
    jobs = [[*key, trees, str(file)] for key, file in files.items()]
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(HERE)]), **ONE_THREAD}
    subprocess.run(
        [str(python), "-W", "ignore", "-c", FIT, json.dumps(jobs)], env={**os.environ, **own}, check=True
    )
    return files


def in_one_process(jobs, python, scratch):
    """Return what each job found; where a process ends in the middle of one, another does the rest."""
    if isinstance(python, FailedError):
        return [{"failed": str(python)}] * len(jobs)
    done = []
    while len(done) < len(jobs):
        place = scratch / "jobs.json"
        place.write_text(json.dumps(jobs[len(done) :]))
        found, ended = run(python, scratch, "peers_work.py", place)
        done += found
        if len(done) < len(jobs):
            done.append({"failed": ended})
    return done


def compared(peer, tasks, files, pythons, scratch):
    """Return the lines of a peer: both sides in one process, or each against `predict` in its own."""
    home = HOME.get(peer, SHARED)
    jobs = [
        {
            "task": asdict(task),
            "peer": peer,
            "inputs": str(files[task.model, task.rows, task.columns]),
            "result": str(scratch / f"result-{number}.npy"),
        }
        for number, task in enumerate(tasks)
    ]

    def measured(environment, **sides):
        return in_one_process([job | sides for job in jobs], pythons[environment], scratch)

    lines = [{"task": task.title, "peer": peer, "environment": home} for task in tasks]
    if home == SHARED:
        both = measured(SHARED, with_paribus=True, with_peer=True)
        found = [side if "failed" in side else {"both": side} for side in both]
    else:
        theirs = measured(home, with_paribus=False, with_peer=True)
        ours = measured(SHARED, with_paribus=True, with_peer=False)
        found = [
            next((side for side in pair if "failed" in side), {"theirs": pair[0], "ours": pair[1]})
            for pair in zip(theirs, ours, strict=True)
        ]
    return [line | part for line, part in zip(lines, found, strict=True)]


def machine():
    """Return what the run was made on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    names = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    pretty = [line for line in _lines("/etc/os-release") if line.startswith("PRETTY_NAME=")]
    return {
        "cores": os.cpu_count(),
        "processor": names[0].split(":")[1].strip() if names else platform.processor(),
        "memory_gigabytes": round(memory / 2**30, 1),
        "system": pretty[0].split("=")[1].strip('"') if pretty else platform.platform(),
        "python": platform.python_version(),
    }


def _lines(path):
    path = Path(path)
    return path.read_text().splitlines() if path.exists() else []


def costs(pythons, scratch, quick):
    """Return import times and sizes by package, and the first calls of paribus where nothing is compiled."""
    found, first = {}, None
    for environment, packages in PACKAGES.items():
        if isinstance(pythons[environment], FailedError):
            continue
        compiles = environment == SHARED and not quick  # which takes a minute
        job = {"packages": packages, "runs": 1 if quick else 5, "first_calls": compiles}
        empty = f"kernels-{time.time_ns()}"
        part = only(*run(pythons[environment], scratch, "peers_costs.py", json.dumps(job), kernels=empty))
        found |= part["costs"]
        first = first or part["first_calls"]
    return found, first


def environments(scratch):
    """Return the interpreter of each environment, or why there is none."""
    shared = build(SHARED, ENVIRONMENTS[SHARED], scratch)
    code = "import sklearn; print(sklearn.__version__)"
    version = subprocess.run([shared, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    pythons = {SHARED: shared}
    for name in ENVIRONMENTS.keys() - {SHARED}:
        try:  # models are fitted once, and read by the version that wrote them
            pythons[name] = build(name, (*ENVIRONMENTS[name], f"scikit-learn=={version}"), scratch)
        except FailedError as error:
            pythons[name] = error
    return pythons


def record(options, scratch):
    """Measure everything; return the record."""
    began, before = time.time(), round(os.getloadavg()[0], 1)
    pythons = environments(scratch)
    installed = time.time()
    tasks = [task.quick() if options.quick else task for task in TASKS]
    files = inputs(tasks, pythons[SHARED], scratch, 5 if options.quick else 100)
    lines = []
    for peer in dict.fromkeys(peer for task in tasks for peer in task.peers):
        say(peer)
        lines += compared(peer, [t for t in tasks if peer in t.peers], files, pythons, scratch)
    size = ("--quick",) if options.quick else ()
    shared = pythons[SHARED]
    say("growth")
    growth = only(*run(shared, scratch, "peers_growth.py", *size))
    threads = only(*run(shared, scratch, "peers_growth.py", "--threads", *size, threads={}))
    say("imports")
    paid, first = costs(pythons, scratch, options.quick)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "quick": options.quick,
        "machine": machine(),
        "load_before": before,
        "load_after": round(os.getloadavg()[0], 1),
        "seconds_installing": round(installed - began),
        "seconds_measuring": round(time.time() - installed),
        "tasks": [asdict(task) for task in tasks],
        "lines": lines,
        "growth": growth,
        "threads": threads,
        "costs": paid,
        "first_calls": first,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, to see whether all of it runs; written to the scratch folder",
    )
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "peers")
    options = parser.parse_args()
    scratch = options.scratch.resolve()
    kept = (scratch / "peers.json", scratch / "benchmarks.md")  # small sizes say nothing about speed
    to_record, to_page = kept if options.quick else (peers_page.RECORD, peers_page.PAGE)
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "errors.log").write_text("")
    found = record(options, scratch)
    to_record.write_text(json.dumps(found, indent=1) + "\n")
    to_page.write_text(peers_page.page(found))
    wrong = peers_page.wrong(found)
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""All measurements of a peer in one process, run by `peers.py` in its environment: a line of JSON each.

Seconds are those of the processor, on one thread, so that neither threads nor other programs disturb much.
The first call of each side, on few rows, compiles and imports; it is reported apart. Then both sides do the
same work in turns.
"""

import json
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from peers_calls import CALLS, OURS_BY_KIND, Case
from peers_tasks import Task, grids

ROUNDS = 5
ENOUGH = 6.0  # seconds of measuring, after which no round is begun
LIMIT = 300  # seconds by the clock that one task may take
SHARE = 0.6  # of the memory of the machine
FEW_ROWS = {"h": 30}


def seconds(body):
    """Return the processor's seconds of a call, and its result."""
    began = time.process_time()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        found = body()
    return time.process_time() - began, found


def case_of(task, model, X, edges):
    """Return what the functions of `peers_calls` take."""
    features = list(range(task.features))
    return Case(model, X, features, grids(task.kind, X, features, task.points, edges))


def in_turns(sides, rounds=ROUNDS, enough=ENOUGH):
    """Return seconds of each side by round, and the last results."""
    found = {name: [] for name in sides}
    results = {}
    for number in range(rounds):
        for name in list(sides) if number % 2 == 0 else list(sides)[::-1]:
            took, results[name] = seconds(sides[name])
            found[name].append(took)
        if sum(map(sum, found.values())) > enough:
            break
    return found, results


def difference(call, theirs, ours):
    """Return the largest difference, as a share of the range of the numbers of paribus."""
    theirs, ours = np.asarray(theirs, dtype=float), np.asarray(ours, dtype=float)
    if theirs.shape != ours.shape:
        raise ValueError(f"shapes differ: {theirs.shape} and {ours.shape}")
    if call.origin:
        theirs, ours = theirs - theirs[..., :1], ours - ours[..., :1]
    spread = np.ptp(ours) or np.max(np.abs(ours)) or 1.0  # one pair has no range
    return float(np.max(np.abs(theirs - ours)) / spread)


def measured(task, peer, model, X, with_paribus, with_peer):
    """Return first calls, seconds by round and results of the sides that this environment has."""
    call = CALLS[peer][task.kind]
    run = {}
    if with_peer:
        run["peer"] = call.run
    if with_paribus:
        run["paribus"] = OURS_BY_KIND[task.kind]
    small = case_of(task, model, X[: FEW_ROWS.get(task.kind, 200)], call.edges)
    first = {name: seconds(lambda body=body: body(small))[0] for name, body in run.items()}
    case = case_of(task, model, X, call.edges)
    sides = {name: lambda body=body: body(case) for name, body in run.items()}
    times = min(max(50_000 // len(X), 1), 100)  # one predict of few rows is too short for the clock
    found, results = in_turns(sides | {"predict": lambda: [model.predict(X) for _ in range(times)]})
    found["predict"] = [took / times for took in found["predict"]]
    about = {"same": call.same, "more": call.more}
    return {"first": first, "seconds": found, **about}, call, results


def late(signum, frame):
    raise TimeoutError(f"did not finish in {LIMIT} s")


def one(job):
    """Return what is found for one task, or why nothing is."""
    task = Task(**job["task"])
    kept = Path(job["result"])
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        model, X = pickle.loads(Path(job["inputs"]).read_bytes())
        found, call, results = measured(task, job["peer"], model, X, job["with_paribus"], job["with_peer"])
        if not job["with_paribus"]:
            np.save(kept, results["peer"])
        else:
            theirs = results["peer"] if job["with_peer"] else np.load(kept)
            found["difference"] = difference(call, theirs, results["paribus"])
    except TimeoutError as error:
        return {"failed": str(error)}
    except Exception as error:  # of any kind, in a peer's own code: it stands on the page
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"[:200]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return found


def main():
    warnings.simplefilter("ignore")
    most = int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # rather an error than a machine that swaps
    for job in json.loads(Path(sys.argv[1]).read_text()):
        print(json.dumps(one(job)), flush=True)


if __name__ == "__main__":
    main()

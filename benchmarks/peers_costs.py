"""What a library costs before its first number: seconds to import, megabytes installed; run by `peers.py`."""

import json
import re
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution, version

CHILD = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def normal(name):
    """Return the name of a distribution as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name):
    """Return a distribution and all that it requires without extras, of those installed here."""
    found, waiting = set(), [normal(name)]
    while waiting:
        current = waiting.pop()
        try:
            requires = distribution(current).requires or []
        except PackageNotFoundError:
            continue  # for another platform or Python
        if current not in found:
            found.add(current)
            waiting += [normal(re.match(r"[\w.-]+", r).group()) for r in requires if "extra ==" not in r]
    return found


def megabytes(name):
    """Return the size of the files of a distribution and of those it requires."""
    files = (path for part in needed(name) for path in distribution(part).files or ())
    return sum(path.size or 0 for path in files) / 1e6


def import_seconds(statement, runs):
    """Return the median of the processor's seconds of an import in a new process."""
    taken = []
    for _ in range(runs):
        child = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CHILD.format(statement)],
            capture_output=True,
            text=True,
            check=True,
        )
        taken.append(float(child.stdout.splitlines()[-1]))
    return statistics.median(taken)


FIRST = """
import sys, time, numpy as np, paribus
from sklearn.ensemble import HistGradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(442, 10))
model = HistGradientBoostingRegressor(max_iter=60).fit(X, X[:, 0] * X[:, 1])
began = time.process_time()
getattr(paribus, sys.argv[1])(model, X, progress=False, n_jobs=1)
print(time.process_time() - began)
"""


def first_calls():
    """Return seconds of the first call of each verb: with nothing compiled, and in the next process."""
    found = {}
    for verb in ("effects", "accumulated_local_effects", "h_statistic"):
        taken = []
        for _ in ("compiles", "loads"):
            child = subprocess.run(
                [sys.executable, "-c", FIRST, verb], capture_output=True, text=True, check=True
            )
            taken.append(float(child.stdout.splitlines()[-1]))
        found[verb] = taken
    return found


def main():
    began = time.perf_counter()
    job = json.loads(sys.argv[1])
    found = {
        package: {
            "version": version(package),
            "import_seconds": import_seconds(statement, job["runs"]),
            "megabytes": megabytes(package),
            "packages": len(needed(package)),
        }
        for package, statement in job["packages"].items()
    }
    first = first_calls() if job["first_calls"] else None
    print(json.dumps({"costs": found, "first_calls": first, "took": time.perf_counter() - began}))


if __name__ == "__main__":
    main()

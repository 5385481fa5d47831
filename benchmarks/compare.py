"""Which kernel became slower since another commit: `make bench BASE=<commit>`.

Both versions do the same work in turns, on one thread, in seconds of the processor. A line is called slower
if it was so in every round, and by a tenth in the middle one; the exit code is then 1.
"""

import argparse
import io
import json
import os
import pickle
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
import xgboost
from catboost import CatBoostRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EVERY = ("effects", "effects, weighted", "ICE", "two-way", "H", "ALE")
LEAST = 0.002  # seconds: what takes less is not compared
SLOWER, FASTER = 1.10, 0.90
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FIRST_CALL = """
import sys, time
import numpy as np, paribus
from sklearn.ensemble import HistGradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(442, 10))
model = HistGradientBoostingRegressor(max_iter=60).fit(X, X[:, 0] * X[:, 1])
began = time.process_time()
getattr(paribus, sys.argv[1])(model, X, progress=False)
print(time.process_time() - began)
"""


def cases(rows):
    """Return models of noisy data in which every feature matters, with rows and verbs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20)).astype(np.float32)
    X[:, 10:15] += X[:, :5] / 2
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * X[:, 3:].sum(axis=1) + 0.1 * rng.normal(size=rows)
    models = {
        "HistGradientBoosting": (HistGradientBoostingRegressor(early_stopping=False), rows, EVERY),
        "LightGBM": (lightgbm.LGBMRegressor(verbose=-1, n_jobs=1), rows, EVERY),
        "XGBoost": (xgboost.XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1), rows, EVERY),
        "CatBoost": (
            CatBoostRegressor(iterations=100, verbose=0, thread_count=1, allow_writing_files=False),
            rows,
            EVERY,
        ),
        "unpruned forest": (RandomForestRegressor(20, random_state=0), rows // 4, ("effects", "ALE")),
        "probabilities": (HistGradientBoostingClassifier(), rows // 4, ("effects", "ICE", "ALE")),
    }
    return {
        name: (model.fit(X[:20_000], y[:20_000] > 0 if "Classifier" in str(model) else y[:20_000]), X[:n], v)
        for name, (model, n, v) in models.items()
    }


def sources_of(commit, folder):
    """Write the sources of a commit to a folder."""
    packed = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def run(sources, cache, *command):
    """Run a Python command on some sources, with compiled kernels kept in a folder."""
    own = {"PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(cache)}
    environment = {**os.environ, **ONE_THREAD, **own}
    done = subprocess.run(
        [sys.executable, *command], env=environment, cwd=cache, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"on {sources}:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


def first_calls(sources, folder):
    """Return the seconds of the first call of each verb where nothing is compiled yet."""
    found = {}
    for verb in ("effects", "h_statistic", "accumulated_local_effects"):
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            found[f"first call: {verb}"] = {
                "in total": float(run(sources, Path(cache), "-c", FIRST_CALL, verb))
            }
    return found


def rounds_of(sides, folder, inputs, rounds):
    """Measure both sides in turns; return for each side a list of what each round found."""
    found = {side: [] for side in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for side in order:
            cache = folder / f"kernels of {side}"
            cache.mkdir(exist_ok=True)
            once = json.loads(run(sides[side], cache, str(HERE / "workload.py"), str(inputs)))
            found[side].append(once | first_calls(sides[side], folder))
            print(f"round {number + 1} of {rounds}: {side}", file=sys.stderr, flush=True)
    return found


def lines_of(found):
    """Yield each case and kernel with the seconds of both sides, ratios by round, and a verdict."""
    base, head = found["base"], found["head"]
    for case in head[0]:
        kernels = dict.fromkeys([*base[0].get(case, {}), *head[0][case]])
        for kernel in kernels:
            before, now = ([once.get(case, {}).get(kernel, 0.0) for once in side] for side in (base, head))
            if max(min(before), min(now)) < LEAST:
                continue
            verdict = "new" if not min(before) else "gone" if not min(now) else ""
            ratios = [n / b for b, n in zip(before, now, strict=True)] if not verdict else [float("nan")]
            middle = statistics.median(ratios)
            if min(ratios) > 1.0 and middle > SLOWER:
                verdict = "SLOWER"
            elif max(ratios) < 1.0 and middle < FASTER:
                verdict = "faster"
            yield case, kernel, min(before), min(now), middle, verdict


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = folder / "cases.pickle"
        inputs.write_bytes(pickle.dumps(cases(options.rows)))
        sides = {"base": sources_of(options.base, folder), "head": ROOT / "src"}
        found = rounds_of(sides, folder, inputs, options.rounds)
    slower = 0
    for case, kernel, before, now, middle, verdict in lines_of(found):
        title = f"{case}" if kernel == "in total" else f"    {kernel}"
        print(f"{title:<48} {1e3 * before:>9.1f} ms {1e3 * now:>9.1f} ms  {middle:>5.2f}  {verdict}")
        slower += verdict == "SLOWER"
    print(f"{slower} slower than {options.base}" if slower else f"nothing slower than {options.base}")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())

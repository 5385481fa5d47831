"""What `compare.py` times: every verb on models as people fit them, in one process, kernel by kernel.

Run with the sources to be timed on ``PYTHONPATH``. Prints JSON: seconds of the processor by case, and within
a case by kernel, on one thread, so that neither threads nor other processes disturb much.
"""

import json
import pickle
import sys
import time
import warnings
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import paribus

VERBS = {
    "effects": lambda model, rows: paribus.effects(model, rows, n_jobs=1, progress=False),
    "effects, weighted": lambda model, rows: paribus.effects(
        model, rows, sample_weight=abs(rows[:, 0]) + 0.5, n_jobs=1, progress=False
    ),
    "ICE": lambda model, rows: paribus.effects(
        model, rows[:2_000], [0, 1, 2], kind="both", n_jobs=1, progress=False
    ),
    "two-way": lambda model, rows: paribus.effects(model, rows, [(0, 1), (2, 3)], n_jobs=1, progress=False),
    "H": lambda model, rows: paribus.h_statistic(model, rows, n_jobs=1, progress=False),
    "ALE": lambda model, rows: paribus.accumulated_local_effects(model, rows, n_jobs=1, progress=False),
}


class KernelTimer:
    """Seconds spent in each function of the compiled kernels."""

    def __init__(self):
        self.seconds = defaultdict(float)
        module = import_module("paribus._kernels.compiled")
        for name, function in list(vars(module).items()):
            own = str(getattr(function, "__module__", "")).startswith(module.__name__)
            if own and callable(function) and not isinstance(function, type) and not name.startswith("_"):
                setattr(module, name, self._timed(name, function))

    def _timed(self, name, function):
        def timed(*arguments, **named):
            began = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds[name] += time.thread_time() - began

        return timed


def measured(timer, body):
    """Return the seconds of a call by kernel; the rest is what is done in Python and NumPy."""
    body()  # compiles, or loads what was compiled
    timer.seconds.clear()
    began = time.process_time()
    body()
    total = time.process_time() - began
    kernels = dict(timer.seconds)
    return {"in total": total, **kernels, "outside the kernels": total - sum(kernels.values())}


def main():
    warnings.simplefilter("ignore")
    cases = pickle.loads(Path(sys.argv[1]).read_bytes())
    timer = KernelTimer()
    found = {}
    for name, (model, rows, verbs) in cases.items():
        for verb in verbs:
            found[f"{name}: {verb}"] = measured(timer, lambda v=verb, m=model, r=rows: VERBS[v](m, r))
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""Run targets of the Makefile as stages, and print the time of each at the end.

``make ci`` and ``make nightly`` run it: ``python tools/stages.py kernels lint,types,site test``. Stages run
one after another. Targets that are joined by commas run two at a time, and their output is printed when they
end. All stages run, even after a failure; the exit code is 1 if a target failed.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent


def run(target, hold_output):
    """Run a target; return its name, exit code and seconds."""
    start = perf_counter()
    command = ["make", "--no-print-directory", target, f"PYTHON={sys.executable}"]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if hold_output else {}
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, **output)
    if hold_output:
        print(f"--- {target}\n{done.stdout}", flush=True)
    return target, done.returncode, perf_counter() - start


def main(stages):
    """Run the stages and print the table of times; return the exit code."""
    start = perf_counter()
    outcomes = []
    for stage in stages:
        targets = stage.split(",")
        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            outcomes += pool.map(partial(run, hold_output=len(targets) > 1), targets)
    print("\nstage           seconds")
    for target, code, seconds in outcomes:
        print(f"{target:14}{seconds:9.0f}{'   FAILED' if code else ''}")
    print(f"{'in all':14}{perf_counter() - start:9.0f}", flush=True)
    return int(any(code for _, code, _ in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

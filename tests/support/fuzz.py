"""Damaged files: each is refused in one sentence or changes nothing. ``make random`` runs 20,000 of them.

Each case mutates a saved result, a checkpoint folder or the dump of a booster, at random from a seed. It passes if
paribus raises a `ParibusError`, or if what it returns is whole and right. Cases run in separate processes, so that a
crash or a hang is a failure like any other, reported with the seed that shows it again:
``python tests/support/fuzz.py --only results --first 1234 --cases 1``.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TARGETS = {"results": 10_000, "checkpoints": 2_000, "boosters": 8_000}
BATCH = 250  # cases a process runs, so that importing and compiling are paid for once
CASE_SECONDS, FIRST_SECONDS = 120, 600  # after which a case counts as hanging; the first waits for compilers
NAMED = 10  # failures printed in full


def _case(target: str):
    """Return the function that runs one case from a random generator and returns how it ended."""
    if target == "results":
        from fuzz_results import mutate_and_load as run
    elif target == "checkpoints":
        from fuzz_checkpoints import mutate_and_run as run
    else:
        from fuzz_boosters import mutate_and_read

        return lambda rng, folder: mutate_and_read(rng)
    return run


@dataclass
class Tally:
    """How cases ended."""

    ends: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    peak: int = 0  # bytes that one case allocated at most, where that is measured
    slowest: tuple[float, int] = (0.0, 0)  # seconds of CPU and the seed; the first of a process also compiles

    def add(self, ends, failures, peak=0, slowest=(0.0, 0), **_):
        """Count more cases."""
        self.ends.update(ends)
        self.failures += failures
        self.peak, self.slowest = max(self.peak, peak), max(self.slowest, tuple(slowest))


def work(target: str, first: int, count: int, journal: Path, stop: float) -> None:
    """Run cases one after another; the journal names the one in hand, for whoever finds this process dead."""
    warnings.simplefilter("ignore")  # a damaged file may well make a library complain
    run, tally = _case(target), Tally()
    for seed in range(first, first + count):
        if time.time() > stop:
            break
        journal.write_text(json.dumps({"seed": seed, **vars(tally)}))
        faulthandler.dump_traceback_later(FIRST_SECONDS if seed == first else CASE_SECONDS, exit=True)
        began = time.process_time()
        try:
            tally.ends[run(np.random.default_rng(seed), journal.parent)] += 1
        except Exception as error:  # anything that is no ParibusError is what this looks for
            tally.failures.append(f"{target} seed {seed}: {type(error).__name__}: {error}"[:500])
        faulthandler.cancel_dump_traceback_later()
        if seed > first:
            tally.slowest = max(tally.slowest, (time.process_time() - began, seed))
    tally.peak = max(getattr(sys.modules.get("fuzz_results"), "peaks", ()), default=0)
    journal.write_text(json.dumps({"seed": None, **vars(tally)}))


def _batch(target: str, first: int, count: int, stop: float) -> Tally:
    """Run cases in a process of their own; when one kills it, go on after that one."""
    tally, last = Tally(), first + count
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.json"
        while first < last and time.time() < stop:
            command = [sys.executable, __file__, "--work", target, "--first", str(first)]
            command += ["--cases", str(last - first), "--journal", str(journal), "--stop", str(stop)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            if not journal.exists():
                tally.add({}, [f"{target}: no case could run: {done.stderr[-500:]}"])
                break
            report = json.loads(journal.read_text())
            seed = report.pop("seed")
            tally.add(**report)
            if seed is None:
                break
            tally.add({}, [f"{target} seed {seed}: exit {done.returncode}: {done.stderr[-300:]}"])
            first = seed + 1
    return tally


def _run(target: str, first: int, cases: int, stop: float, pool: ThreadPoolExecutor) -> bool:
    """Run the cases of a target, print how they ended, and return whether all of them passed."""
    started, last = time.time(), first + cases
    tally = Tally()
    starts = range(first, last, BATCH)
    for one in pool.map(lambda at: _batch(target, at, min(BATCH, last - at), stop), starts):
        tally.add(**vars(one))
    ran = tally.ends.total() + len(tally.failures)
    summary = ", ".join(f"{number:,} {end}" for end, number in tally.ends.most_common())
    print(f"{target}: {ran:,} of {cases:,} cases in {time.time() - started:.0f} s: {summary or 'none'}")
    for failure in tally.failures[:NAMED]:
        print(f"  failed: {failure}")
    if tally.peak:
        print(f"  a case allocated {tally.peak / 1e6:.1f} MB at most")
    print(f"  the slowest case, {tally.slowest[1]}, took {tally.slowest[0]:.1f} s of CPU")
    print(f"  {len(tally.failures):,} failed", flush=True)
    return not tally.failures and ran == cases


def main() -> None:
    """Run the cases of all targets within a time limit, and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TARGETS, help="one kind of file; all of them otherwise")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--cases", type=int, help="cases of each kind; otherwise 20,000 in all")
    parser.add_argument("--minutes", type=float, default=120, help="when to stop, finished or not")
    parser.add_argument("--work", choices=TARGETS, help=argparse.SUPPRESS)
    parser.add_argument("--journal", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--stop", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.first, given.cases, given.journal, given.stop)
        return
    stop = time.time() + 60 * given.minutes
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = [
            _run(target, given.first, given.cases or TARGETS[target], stop, pool)
            for target in ([given.only] if given.only else TARGETS)
        ]
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()

"""Plant random small faults in all packages except the command line, and count how many the tests detect.

``make mutants SEED=1 COUNT=300 MINUTES=120`` runs it. All tests run once, while coverage.py records which lines each
test executes. cosmic-ray plants every fault in a clone of the project, which includes uncommitted changes of files
that git tracks. There, the tests that execute its statement run, fastest first, until one fails. Outcomes are kept in
build/mutants. A second call continues from there, and repeats faults that survived other tests.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import shlex
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cache
from itertools import accumulate, islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code, use_mutation
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.testing import run_tests
from coverage.numbits import nums_to_numbits, register_sqlite_functions
from parso.python.tree import Keyword

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "mutants"
RATE = 0.85  # below which the exit code is 1
FIRST = 12  # tests that run before the files of all others are imported
SECONDS = 30.0  # of tests for one fault, as recorded
NO_REPORT = "no report"  # of pytest: a crash, or the time limit
EXECUTING = """
    SELECT context FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id
    WHERE path = ? AND numbits_any_intersection(numbits, ?)
"""
PYTEST = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "recording"]
PYTEST += ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"]


class Removal(Operator):
    """Removes a call, a raise statement or the change of an object; replaces a returned value by None."""

    def mutation_positions(self, node):
        call = node.type == "atom_expr" and node.parent.type == "simple_stmt"
        change = node.type == "expr_stmt" and (
            node.children[0].type == "atom_expr" or node.children[1].get_first_leaf().value not in "=:"
        )
        if call or change or node.type in ("raise_stmt", "return_stmt"):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        code = "return None" if node.type == "return_stmt" else "pass"
        return Keyword(code, node.start_pos, node.get_first_leaf().prefix)

    @classmethod
    def examples(cls):
        return Example("f(x)", "pass"), Example("x += 1", "pass"), Example("x[0] = 1", "pass")


# `|` is mostly part of a type. A class or a property without its decorator fails in the first test that uses it.
OPERATORS = {
    name: get_operator(name) for name in operator_names() if not re.search("_BitOr_|Decorator", name)
}
OPERATORS = {name: kind() for name, kind in OPERATORS.items() if not kind.arguments()} | {
    "Removal": Removal()
}


@cache
def sources():
    """Return (text, syntax tree) of all modules in which faults are planted."""
    paths = sorted(map(Path, git("ls-files", "src/paribus/*.py").splitlines()))
    texts = {path: (ROOT / path).read_text() for path in paths if "_command" not in path.parts}
    return {path: (text, ast.parse(text)) for path, text in texts.items()}


def guards(tree):
    """Yield (line, column) of flags that only guard against errors of programmers, which no test can detect.

    They are the arguments of decorators, as in ``dataclass(frozen=True)``, and ``strict=True`` of ``zip``.
    """
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            yield from (
                (part.value.lineno, part.value.col_offset) for part in getattr(decorator, "keywords", ())
            )
        if isinstance(node, ast.keyword) and node.arg == "strict":
            yield node.value.lineno, node.value.col_offset


def places():
    """Return (path, {position: [(operator, its number in the file)]}) of each line that can have a fault."""
    found = []
    for path, (text, tree) in sources().items():
        nodes, lines = list(ast_nodes(get_ast(text))), defaultdict(lambda: defaultdict(list))
        excluded = set(guards(tree))
        for name, operator in OPERATORS.items():
            positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
            for number, start in enumerate(positions):
                if start not in excluded:
                    lines[start[0]][start].append((name, number))
        found += ((path, lines[line]) for line in sorted(lines))
    return found


def random_faults(seed):
    """Yield faults (path, line, operator, number, text): lines are equally likely, and positions within a line."""
    draw, shuffled = random.Random(seed), places()
    draw.shuffle(shuffled)
    for path, positions in shuffled:
        (line, _), operators = draw.choice(sorted(positions.items()))
        name, number = draw.choice(operators)
        old, tree = sources()[path]
        new = mutate_code(old, OPERATORS[name], number)
        with suppress(SyntaxError):  # cosmic-ray takes the star before keyword-only parameters for a product
            if ast.dump(ast.parse(new)) != ast.dump(tree):
                before, after = (text.splitlines()[line - 1].strip() for text in (old, new))
                yield path, line, name, number, f"{path}:{line}  {before}  ->  {after}"


def lines_of(node, whole=True):
    """Return the lines of a statement, with its decorators; without the statements in it unless ``whole``."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    body = None if whole else getattr(node, "body", None)
    return range(first, max(body[0].lineno, node.lineno + 1) if body else node.end_lineno + 1)


def names_of(node):
    """Return the names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    return {
        name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }


class Recording:
    """The lines that each test executes, and the seconds of each test that passes."""

    def __init__(self, folder, clone):
        self.lines, self.clone, self.files = folder / "coverage", clone, defaultdict(list)
        report = json.loads((folder / "report.json").read_text())
        self.seconds = {
            test: report["seconds"][test] for test in report["seconds"].keys() - report["failures"]
        }
        for test in self.seconds:
            self.files[test.split("::")[0]].append(test)

    def executing(self, path, lines):
        """Return {test: 0} of tests that execute any of some lines, and {test: 1} if their fixtures may do so."""
        with closing(sqlite3.connect(self.lines)) as connection:
            register_sqlite_functions(connection)
            values = str(self.clone / path), nums_to_numbits(lines)
            contexts = [context.rpartition("|") for (context,) in connection.execute(EXECUTING, values)]
        shared = {
            test: 1
            for name, _, when in contexts
            if when == "setup"
            for test in self.files[name.split("::")[0]]
        }
        return shared | {test: 0 for test, _, when in contexts if when != "setup" and test in self.seconds}

    def selected(self, path, line):
        """Return the tests that can detect a fault in a line, fastest first, within ``SECONDS``."""
        tree = sources()[path][1]
        chain = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and line in lines_of(node)]
        tests = self.executing(path, {line, *lines_of(chain[-1], whole=False)})
        functions = [node for node in chain if isinstance(node, ast.FunctionDef)]
        tests = tests or self.naming(names_of([chain[0], *functions][-1]))
        ordered = sorted(tests, key=lambda test: (tests[test], self.seconds[test], test))
        total = list(accumulate(self.seconds[test] for test in ordered))
        return [
            test for test, seconds in zip(ordered, total, strict=True) if seconds <= max(SECONDS, total[0])
        ]

    def naming(self, names):
        """Return the tests that execute a line with one of some names.

        Lines that run at import are not executed by tests, and lines that numba compiles are not recorded. If only
        such lines have the names, these are replaced by the names that those lines define.
        """
        tests, seen = {}, set()
        while names and not tests:
            users = set()
            for path, (_, tree) in sources().items():
                nodes = (
                    node
                    for node in ast.walk(tree)
                    if names & {getattr(node, "id", 0), getattr(node, "attr", 0)}
                )
                if lines := {node.lineno for node in nodes}:
                    tests |= self.executing(path, lines)
                    users = users.union(*(names_of(node) for node in tree.body if lines & {*lines_of(node)}))
            seen |= names
            names = users - seen
        return tests


def run_pytest(clone, report, options, seconds):
    """Run tests in a clone, and return what the plugin keeps, or how pytest ended instead of a failure."""
    variables = {"PYTHONPATH": f"{clone / 'src'}:{clone / 'tests' / 'support'}", "PARIBUS_RECORDING": report}
    variables |= {"XDG_CACHE_HOME": KEPT / "cache", "COVERAGE_FILE": report.with_name("coverage")}
    settings = [f"{name}={value}" for name, value in variables.items()]
    report.unlink(missing_ok=True)
    inner = shlex.join(["env", "-u", "PYTHONDONTWRITEBYTECODE", *settings, *PYTEST, *options])
    _, output = run_tests(shlex.join(["sh", "-c", f"cd {shlex.quote(str(clone))} && exec {inner}"]), seconds)
    if report.exists():
        return json.loads(report.read_text())
    return {"seconds": {}, "failures": [f"{NO_REPORT}: {output[-200:]}"]}


def failures(clone, tests, recording, *options):
    """Return which of some tests fail in a clone, or how pytest ended."""
    report, names = clone.with_suffix(".json"), clone.with_suffix(".txt")
    names.write_text("\n".join(tests))
    seconds = 120 + 5 * sum(recording.seconds[test] for test in tests)
    options = [f"@{names}", "-p", "no:xdist", *options]
    return run_pytest(clone, report, options, seconds)["failures"] if tests else []


def git(*arguments, folder=ROOT):
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def cloned(clone, commit):
    """Return a clone of the project that has the tracked files of a commit."""
    if not clone.exists():
        git("clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(clone))
    git("checkout", "--quiet", "--force", "--detach", commit, folder=clone)
    return clone


def recorded(clone, folder, select, jobs):
    """Return the recording in a folder, made in a clone if it is missing."""
    if not (folder / "report.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["tests", "src", "-m", select, "--numprocesses", str(jobs), "--dist", "worksteal"]
        options += ["--cov=src/paribus", "--cov-context=test", "--cov-report="]
        report = run_pytest(clone, folder / "report.json", options, None)
        print(
            f"{len(report['seconds'])} tests recorded; these fail and are not used: {report['failures']}",
            flush=True,
        )
    return Recording(folder, clone)


def summarize(outcomes, count):
    """Print the survivors and the rate of each package; return the exit code."""
    detected = defaultdict(list)
    for outcome in outcomes:
        for package in (outcome["fault"].split("/")[2].split(":")[0], "all"):
            detected[package].append(bool(outcome["detected"]))
        if not outcome["detected"]:
            print(f"survived {outcome['tests']} tests: {outcome['fault']}")
    for package, values in sorted(detected.items()):
        print(f"{package:20} {sum(values)} of {len(values)} faults detected")
    ended = sum((outcome["detected"] or "").startswith(NO_REPORT) for outcome in outcomes)
    print(f"{ended} of these ended the process of the tests, or exceeded its time limit")
    if len(outcomes) < count:
        print(f"{count - len(outcomes)} of {count} faults were not tried within the time limit")
    return int(sum(detected["all"]) < RATE * len(outcomes) or not outcomes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--select", required=True, help="expression of markers of the tests")
    for name, default in {"seed": 1, "count": 300, "minutes": 120, "jobs": os.cpu_count()}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))  # for faults that allocate without end
    KEPT.mkdir(parents=True, exist_ok=True)
    commit = git("stash", "create") or git("rev-parse", "HEAD")
    clones = [cloned(KEPT / f"clone{number}", commit) for number in range(options.jobs)]
    source, tests = (git("rev-parse", f"{commit}:{folder}")[:12] for folder in ("src", "tests"))
    recording = recorded(clones[0], KEPT / f"recording-{source}-{tests}", options.select, options.jobs)
    file = KEPT / f"seed-{options.seed}-{source}.jsonl"
    lines = map(json.loads, file.read_text().splitlines() if file.exists() else ())
    outcomes = {outcome["fault"]: outcome for outcome in lines}

    def judge(fault, clone):
        """Plant a fault, unless its outcome is known, and append the outcome to the file."""
        path, line, operator, number, text = fault
        before = outcomes.get(text)
        if time.monotonic() > until or (before and (before["detected"] or before["by"] == tests)):
            return
        selected, failed = recording.selected(path, line), []
        git("clean", "-fdxq", "-e", "__pycache__", folder=clone)
        with use_mutation(clone / path, OPERATORS[operator], number):
            for part in (selected[:FIRST], selected[FIRST:]):
                failed = failed or failures(clone, part, recording, "-x")
        detected = failed[0] if failed else None
        outcomes[text] = {"fault": text, "tests": len(selected), "detected": detected, "by": tests}
        with file.open("a") as kept:
            kept.write(json.dumps(outcomes[text]) + "\n")
        print(f"{'detected' if failed else 'survived'}  {text}", flush=True)

    faults = list(islice(random_faults(options.seed), options.count))
    with ThreadPoolExecutor(options.jobs) as pool:
        shares = (faults[first :: options.jobs] for first in range(options.jobs))
        list(pool.map(lambda share, clone: [judge(fault, clone) for fault in share], shares, clones))
    tried = [outcomes[text] for *_, text in faults if text in outcomes]
    # A test that fails without a fault too, among other tests than those it was recorded with, shows nothing.
    detecting = {outcome["detected"] for outcome in tried} & recording.seconds.keys()
    unreliable = failures(clones[0], sorted(detecting), recording)
    for outcome in tried:
        outcome["detected"] = None if outcome["detected"] in unreliable else outcome["detected"]
    return summarize(tried, options.count)


if __name__ == "__main__":
    sys.exit(main())

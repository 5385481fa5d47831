"""Plant random small faults in four packages, and count how many the tests of the same package detect.

``make mutants SEED=1 COUNT=300 MINUTES=120`` runs it. Each file of tests is run once to record which statements
each test executes. Every fault is then planted in a forked process by an import hook: sources are not touched.
There, the tests that execute its statement run, fastest first, until one fails. Outcomes are kept in
build/mutants. A second call goes on from there, and repeats faults that survived other tests.
"""

import argparse
import ast
import gc
import hashlib
import importlib
import importlib.util
import itertools
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE, KEPT = ROOT / "src" / "paribus", ROOT / "build" / "mutants"
PACKAGES = {"_states": "states", "_evaluators": "evaluators", "_models": "models", "results": "results"}
# Imported before processes are forked: libraries that start threads do so when they run, not before.
PRELOADED = """
    matplotlib.pyplot pandas polars pyarrow.parquet pyarrow.dataset scipy.stats scipy.optimize sklearn.ensemble
    sklearn.pipeline sklearn.compose sklearn.linear_model sklearn.inspection sklearn.neural_network sklearn.svm
    sklearn.calibration sklearn.model_selection sklearn.datasets lightgbm xgboost catboost numba sybil xarray
    statsmodels.api glum interpret.glassbox skrub skops.io dask.dataframe distributed tqdm.auto plotly.graph_objects
"""
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "tmp_path_retention_policy=none"]
OPTIONS += ["-m", "not slow and not soak and not cluster and not browser and not alone"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
OPTIONS += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]  # of files that another test left open
RATE = 0.9  # below which the exit code is 1
FIRST = 12  # tests that run before the files of all others are imported
SECONDS = 30.0  # of tests for one fault, as recorded
SYMMETRIC = [
    "min",
    "max",
    "minimum",
    "maximum",
    "hypot",
    "logaddexp",
    "union1d",
    "intersect1d",
    "array_equal",
]
NAMES = (
    "Lt LtE GtE, LtE Lt Gt, Gt GtE LtE, GtE Gt Lt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, NotIn In, Add Sub, "
    "Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod Mult, Pow Mult, LShift RShift, RShift LShift, BitAnd BitOr, "
    "BitOr BitAnd, BitXor BitOr, And Or, Or And, MatMult"
)
SWAPS = {
    getattr(ast, one): [getattr(ast, o) for o in others] for one, *others in map(str.split, NAMES.split(","))
}


def copied(node, **changes):
    """Return a node with other values in some fields, at the same place of the file."""
    fields = {name: getattr(node, name, None) for name in node._fields}
    return ast.copy_location(type(node)(**(fields | changes)), node)


def replacements(node, default):
    """Yield the expressions a small fault may put in place of one; ``default``: it is that of an argument."""
    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                for other in SWAPS[type(op)]:
                    yield copied(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
        case ast.BinOp() | ast.BoolOp():
            yield from (copied(node, op=other()) for other in SWAPS[type(node.op)])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield copied(node, value=not node.value)
        case ast.Constant(value=int() | float()):
            yield from (copied(node, value=node.value + step) for step in (1, -1))
        case ast.Constant(value=None | str()) if default:
            yield copied(node, value=0 if node.value is None else "" if node.value else "other")
        case ast.Call(args=[first, second, *rest]) if ast.dump(first) != ast.dump(second):
            starred = any(isinstance(argument, ast.Starred) for argument in (first, second))
            if not starred and ast.unparse(node.func).removeprefix("np.") not in SYMMETRIC:
                yield copied(node, args=[second, first, *rest])
        case ast.Slice():
            yield from (copied(node, **{end: None}) for end in ("lower", "upper") if getattr(node, end))
        case ast.IfExp():
            yield copied(node, body=node.orelse, orelse=node.body)


def expressions(node):
    """Yield the expressions of a statement with their places, without annotations and statements within."""
    for field, value in ast.iter_fields(node):
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            inner = isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
            if not isinstance(child, ast.AST) or inner or field in ("annotation", "returns"):
                continue
            default = field in ("defaults", "kw_defaults")
            if isinstance(child, ast.expr):
                yield (node, field, i), child, default
            yield from expressions(child)


def stored(node):
    """Return the names that are assigned to within a node."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def removable(statement, bound):
    """Return whether a statement can be left out, such that no name is missing for that reason alone."""
    match statement:
        case ast.Assign(targets=targets):
            return all(stored(target) <= bound for target in targets)
        case ast.Expr(value=value):
            return not isinstance(value, ast.Constant)
        case ast.If():
            return not statement.orelse
    return isinstance(statement, (ast.AugAssign, ast.Raise, ast.Delete))


def faults_of_statement(statement, place, bound):
    """Yield the faults of one statement, as (place, old node, new node)."""
    if removable(statement, bound):
        yield place, statement, ast.copy_location(ast.Pass(), statement)
    match statement:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Assign(targets=[ast.Name(id="__all__")]):
            return  # texts of errors are left alone
        case ast.Break() | ast.Continue():
            other = ast.Continue if isinstance(statement, ast.Break) else ast.Break
            yield place, statement, ast.copy_location(other(), statement)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield place, statement, copied(statement, value=None)
        case ast.If(test=test) | ast.While(test=test):
            yield (statement, "test", None), test, ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
    for where, node, default in expressions(statement):
        yield from ((where, node, new) for new in replacements(node, default))


def statements_of(tree):
    """Return the statements of a module that have faults, as (place, faults, whether it runs at import)."""
    found = []

    def visit(parent, bound, at_import):
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for i, child in enumerate(getattr(parent, field, ())):
                typing = "TYPE_CHECKING" in ast.unparse(child.test) if isinstance(child, ast.If) else False
                if typing or "overload" in map(ast.unparse, getattr(child, "decorator_list", ())):
                    continue
                place = parent, field, i
                if isinstance(child, ast.stmt) and (faults := list(faults_of_statement(child, place, bound))):
                    found.append((place, faults, at_import))
                function = isinstance(child, ast.FunctionDef)
                arguments = ast.walk(child.args) if function else ()
                own = {node.arg for node in arguments if isinstance(node, ast.arg)} if function else bound
                visit(child, own, at_import and not function)
                bound |= stored(child)

    visit(tree, set(), True)
    return found


class Changed(SourceFileLoader):
    """Finder and loader of modules whose syntax tree is changed; all others are found as always."""

    def __init__(self, change, paths, name="", path=""):
        super().__init__(name, path)
        self.change, self.paths = change, paths

    def find_spec(self, name, path=None, target=None):
        own = SOURCE.parent.joinpath(*name.split("."))
        file = own / "__init__.py" if own.is_dir() else own.with_suffix(".py")
        if str(file) not in self.paths:
            return None
        loader = Changed(self.change, self.paths, name, str(file))
        return importlib.util.spec_from_loader(name, loader, is_package=own.is_dir())

    def exec_module(self, module):
        tree = parsed(self.path)
        vars(module).update(self.change(self.path, tree) or {})
        with warnings.catch_warnings(action="ignore"):  # of comparisons with literals
            code = compile(ast.fix_missing_locations(tree), self.path, "exec")
        exec(code, vars(module))


def parsed(path):
    return ast.parse(Path(path).read_text())


def sources():
    return [str(path) for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]


def digest_of(*paths):
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


def plant(fault, path, tree):
    """Put a fault, which is (path, number of statement, number within it), into the tree of its module."""
    (parent, field, index), _, new = statements_of(tree)[fault[1]][1][fault[2]]
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def text_of(fault):
    _, old, new = statements_of(parsed(fault[0]))[fault[1]][1][fault[2]]
    before, after = (ast.unparse(ast.fix_missing_locations(node)).splitlines()[0][:90] for node in (old, new))
    return f"{Path(fault[0]).relative_to(ROOT)}:{old.lineno}:{old.col_offset + 1}  {before}  ->  {after}"


class Chosen:
    """Plugin of pytest: runs some tests in their order, and keeps those that fail."""

    def __init__(self, tests):
        self.order, self.failed = {test: i for i, test in enumerate(tests)}, []

    @pytest.hookimpl(trylast=True)  # after conftest has loaded its own profile
    def pytest_configure(self):
        settings = hypothesis.settings
        settings.register_profile("mutants", settings.get_profile("ci"), database=None, derandomize=True)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


class Recorder(Chosen):
    """Plugin of pytest: which statements each test executes, and its seconds."""

    def __init__(self):
        self.seen, self.of_fixture, self.tests = {}, {}, {}
        sys.meta_path.insert(0, Changed(self.probe, sources()))

    def probe(self, path, tree):
        """Let every statement of a function store that it was executed."""
        statements = statements_of(tree)
        for number, ((parent, field, index), _, at_import) in reversed(list(enumerate(statements))):
            if not at_import:
                code = ast.parse(f"__seen__[{number}] = 1").body[0]
                getattr(parent, field).insert(index, ast.copy_location(code, getattr(parent, field)[index]))
        self.seen[path] = bytearray(len(statements))
        return {"__seen__": self.seen[path]}

    def taken(self):
        """Return the statements that were executed since the last call."""
        found = {
            path: [i for i, one in enumerate(seen) if one] for path, seen in self.seen.items() if any(seen)
        }
        self.store(found, 0)
        return found

    def store(self, found, value):
        for path, numbers in found.items():
            for number in numbers:
                self.seen[path][number] = value

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        before = self.taken()
        try:
            return (yield)
        finally:
            self.of_fixture[fixturedef] = self.taken()
            self.store(before, 1)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        for module in list(
            sys.modules.values()
        ):  # helpers of tests forget what they computed for other tests
            if str(getattr(module, "__file__", None)).startswith(str(ROOT / "tests")):
                for value in vars(module).values():
                    getattr(value, "cache_clear", int)()
        self.taken()
        self.tests[item.nodeid] = None
        begin = time.process_time()
        try:
            return (yield)
        finally:
            for fixture in itertools.chain(*item._fixtureinfo.name2fixturedefs.values()):
                self.store(self.of_fixture.get(fixture, {}), 1)
            if item.nodeid in self.tests:
                self.tests[item.nodeid] = [round(time.process_time() - begin, 3), self.taken()]

    def pytest_collection_modifyitems(self, items):
        """Keep all tests."""

    def pytest_runtest_logreport(self, report):
        if not report.passed:  # skipped, or failed without a fault
            self.tests.pop(report.nodeid, None)

    def pytest_collectreport(self, report):
        assert not report.failed, report.longrepr


def record(file):
    recorder = Recorder()
    pytest.main([file, *OPTIONS], plugins=[recorder])
    return recorder.tests


def failures(tests, *options, fault=None):
    """Return which of some tests fail with a fault planted, or how pytest ended."""
    if fault is not None:
        sys.meta_path.insert(0, Changed(partial(plant, fault), [fault[0]]))
    plugin, files = Chosen(tests), dict.fromkeys(test.split("::")[0] for test in tests)
    code = pytest.main([*files, *OPTIONS, *options], plugins=[plugin])
    return plugin.failed or ([f"exit code {int(code)}"] if code not in (0, 5) else [])  # 5: it ran none


def in_child(pipe, seconds, function, args):
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))  # for faults that allocate without end
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        pipe.send((function(*args), None))
    except BaseException:
        pipe.send((None, traceback.format_exc()))
    os._exit(0)


def forked(seconds, function, *args):
    """Return what a function returns in a process with a limit of processor time, or that it was killed."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=in_child, args=(theirs, seconds, function, args))
    child.start()
    theirs.close()
    try:  # on a busy machine it may take longer than its processor time
        found, wrong = ours.recv() if ours.poll(10 * seconds) else (["no end"], None)
    except EOFError:
        found, wrong = ["killed"], None
    try:
        os.killpg(child.pid, signal.SIGKILL)  # with what its tests have started
    except ProcessLookupError:
        child.kill()
    child.join()
    if wrong:
        raise RuntimeError(wrong)
    return found


def in_parallel(function, works, jobs):
    """Call a function with each of some works, in several processes."""
    processes = [
        multiprocessing.Process(target=lambda k=k: [*map(function, works[k::jobs])]) for k in range(jobs)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        sys.exit("stopped, as printed above")


def recorded(jobs):
    """Return {test: [seconds, {path: statements}]} of all tests, and a digest of each file."""
    files = [
        path for folder in PACKAGES.values() for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))
    ]
    shared = digest_of(*sources())
    places = {
        path.relative_to(ROOT).as_posix(): KEPT / f"record-{shared}-{digest_of(path)}.json" for path in files
    }

    def write(name):
        if not places[name].exists():
            found = forked(1800, record, name)
            places[name].write_text(json.dumps(found))
            print(
                f"{name}: {len(found)} tests, {sum(seconds for seconds, _ in found.values()):.0f} s",
                flush=True,
            )

    in_parallel(write, list(places), jobs)
    tests = {
        test: value for place in places.values() for test, value in json.loads(place.read_text()).items()
    }
    return tests, {name: place.stem for name, place in places.items()}


def selection(fault, tests):
    """Return the tests of the package that can detect a fault, fastest first, within ``SECONDS``."""
    path, number, _ = fault
    folder = PACKAGES[Path(path).relative_to(SOURCE).parts[0]]
    own = {test: value for test, value in tests.items() if test.startswith(f"tests/{folder}/")}
    chosen = sorted((t for t in own if number in own[t][1].get(path, ())), key=lambda test: own[test][0])
    if statements_of(parsed(path))[number][2]:  # at import: it may matter to all tests
        chosen = sorted(own, key=lambda test: (path not in own[test][1], own[test][0]))
    total = itertools.accumulate(own[test][0] for test in chosen)
    return [
        test
        for i, (test, seconds) in enumerate(zip(chosen, total, strict=True))
        if seconds < SECONDS or not i
    ]


class Trials:
    """Outcomes of faults, kept in a file."""

    def __init__(self, place, until, tests, digests):
        self.place, self.until, self.tests, self.digests = place, until, tests, digests

    def outcomes(self):
        lines = self.place.read_text().splitlines() if self.place.exists() else ()
        return {line["fault"]: line for line in map(json.loads, lines)}

    def failing(self, part, *options, fault=None):
        """Return which of some tests fail, or how their process ended."""
        seconds = 30 + 4 * sum(self.tests[test][0] for test in part)
        return forked(seconds, partial(failures, part, *options, fault=fault)) if part else []

    def __call__(self, fault):
        """Plant a fault, unless its outcome is known, and append the outcome to the file."""
        if time.monotonic() > self.until:
            return
        name, selected = text_of(fault), selection(fault, self.tests)
        files = sorted({self.digests[test.split("::")[0]] for test in selected})
        old, new = self.outcomes().get(name), {"fault": name, "source": digest_of(fault[0]), "files": files}
        if old and old["source"] == new["source"] and (old["detected"] or old["files"] == files):
            return
        parts = selected[:FIRST], selected[FIRST:]
        failed = next(filter(None, (self.failing(part, "-x", fault=fault) for part in parts)), [None])
        with self.place.open("a") as file:
            file.write(json.dumps(new | {"tests": len(selected), "detected": failed[0]}) + "\n")
        print(f"{'detected' if failed[0] else 'survived'}  {name}", flush=True)


def chosen_faults(seed, count):
    """Return faults at random; every statement is equally likely."""
    places = [
        (path, i, len(one[1])) for path in sources() for i, one in enumerate(statements_of(parsed(path)))
    ]
    draw = random.Random(seed)
    return [(path, number, draw.randrange(many)) for path, number, many in draw.sample(places, count)]


def report(outcomes, count):
    """Print the survivors and the rate in each package; return the exit code."""
    survivors = [one for one in outcomes if not one["detected"]]
    for one in survivors:
        print(f"survived {one['tests']} tests: {one['fault']}")
    for package in (*PACKAGES, ""):
        tried, left = (
            sum(f"paribus/{package}" in one["fault"] for one in some) for some in (outcomes, survivors)
        )
        print(f"{package or 'all':12} {tried - left} of {tried} faults detected")
    if len(outcomes) < count:
        print(f"{count - len(outcomes)} of {count} faults were not tried within the time limit")
    return int(len(outcomes) - len(survivors) < RATE * len(outcomes))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"seed": 1, "count": 300, "minutes": 120, "jobs": os.cpu_count()}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    multiprocessing.set_start_method("fork")
    os.chdir(ROOT)
    sys.path.insert(0, str(SOURCE.parent))
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1"}
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in PRELOADED.split():
        importlib.import_module(name)
    sys.dont_write_bytecode, sys.pycache_prefix = (
        False,
        str(KEPT / "compiled"),
    )  # or each process would compile
    gc.freeze()  # or its collections would copy every page of memory into each process
    trials = Trials(KEPT / f"seed-{options.seed}.jsonl", until, *recorded(options.jobs))
    faults = chosen_faults(options.seed, options.count)
    in_parallel(trials, faults, options.jobs)
    outcomes = [one for one in map(trials.outcomes().get, map(text_of, faults)) if one]
    # A test that fails without a fault too, when it runs among others than those it was recorded with, shows nothing.
    unreliable = set(trials.failing(sorted({one["detected"] for one in outcomes} & set(trials.tests))))
    for one in outcomes:
        one["detected"] = None if one["detected"] in unreliable else one["detected"]
    return report(outcomes, options.count)


if __name__ == "__main__":
    sys.exit(main())

"""What rows, blocks and engines promise, whoever implements it."""

import ast
import gc
import pickle
import weakref
from dataclasses import replace
from pathlib import Path

import grimp
import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

import paribus
from paribus._contracts import Blocks, Executor
from paribus._data.read import source_of, table_of
from paribus._data.rows import rows_of
from paribus._data.scan.reading import PartitionBlocks, ReadBlocks, TableReader
from paribus._evaluators.support import RowSampler
from paribus._evaluators.survey import Survey
from paribus._executors import LocalExecutor, as_executor
from paribus._executors.dask import DaskExecutor
from paribus._models import adapt, prefetch_structure, structure, structure_digest, structure_of
from paribus._models.libraries import LIBRARIES
from paribus._states import Keyed, merge_in_order
from statistic_of import statistic_of

ROOT = Path(__file__).parent.parent
ROWS, COLUMNS = 600, ("a", "b", "c")


def frame(rows=ROWS):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list(COLUMNS))
    weights = np.where(rng.random(rows) < 0.2, 0.0, rng.gamma(1.0, size=rows))
    return table.assign(y=table["a"] * table["b"] + rng.normal(size=rows), w=weights)


def in_memory(weighted=True):
    table = frame()
    rows = rows_of(table_of(table[list(COLUMNS)]), table["w"] if weighted else None)
    return replace(rows, target=table["y"].to_numpy())


def scanned(folder, weighted=True):
    frame().to_parquet(folder / "rows.parquet", row_group_size=100)
    source = source_of(str(folder), "raise")
    reading = TableReader(source, COLUMNS, COLUMNS, "w" if weighted else None, target=("y",))
    reading = replace(
        reading, source=source.project(reading.read, "raise"), weight_scale=reading.first_unit()
    )
    survey = Survey.of(reading, (), (0,), reading.head())
    state = LocalExecutor().fold(survey, reading.blocks(128), Keyed({}))
    return survey.finish(reading, state).rows


def members(protocol):
    return {name for name in vars(protocol) if not name.startswith("_") or name in ("__len__", "__iter__")}


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_memory_and_rows_that_are_read_have_one_interface(tmp_path, weighted):
    held, read = in_memory(weighted), scanned(tmp_path, weighted)
    assert held.in_memory
    assert not read.in_memory
    for name in ("n_weighted", "weighted", "header", "n_targets", "skipped"):
        assert getattr(held, name) == getattr(read, name), name
    assert len(held) == len(read) == ROWS
    assert held.total * held.weight_scale == pytest.approx(read.total * read.weight_scale, rel=1e-12)
    assert (held.source_label, held.stamp) == (None, None)
    assert "rows.parquet" in read.source_label
    assert read.stamp is not None
    facts = [rows.weight_facts() for rows in (held, read)]
    assert facts == [None, None] if not weighted else facts[0] == pytest.approx(facts[1], rel=1e-12)
    assert all(isinstance(rows.fingerprint(), str) for rows in (held, read))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [37, 10**6])
def test_a_sample_is_the_same_rows_in_memory_and_read(tmp_path, weighted, size):
    held, read = in_memory(weighted), scanned(tmp_path, weighted)
    sampler = RowSampler(size, 3)
    state = LocalExecutor(1, False).fold(sampler, read.blocks(64), Keyed({}))
    one, two = held.keep(held.sampled(size, 3)), sampler.finish(state, read)
    assert len(one) == len(two) == min(size, held.n_weighted)
    for feature in range(len(COLUMNS)):
        np.testing.assert_array_equal(one.table.column(feature).values, two.table.column(feature).values)
    if weighted:
        np.testing.assert_array_equal(one.weights * one.weight_scale, two.weights * two.weight_scale)
    np.testing.assert_array_equal(held.sample(50, 0).numbers, read.sample(50, 0).numbers)
    np.testing.assert_array_equal(held.head_sample(0).column(0).values, read.head_sample(0).column(0).values)


class Sequential:
    """An engine: ships every block alone, as a cluster would, and merges in order."""

    def __init__(self):
        self.blocks = []

    def fold(self, evaluator, blocks, zero, *, store=None):
        states = {}
        for block in self.arriving(blocks):
            state, number = evaluator.evaluate(block), block.number
            states[number] = states[number].merge(state) if number in states else state
        self.blocks.append(len(states))
        return merge_in_order((states[number] for number in sorted(states)), zero)

    def arriving(self, blocks):
        for number in range(blocks.count):
            traveling, pending = blocks.part(number, number + 1).payload()
            for part in pickle.loads(pickle.dumps(traveling)).received(pending):
                yield from part

    def describe(self):
        return "one block after another"


def numbers(result):
    """Return every number of a result as text, in which all of its bits are, and NaN is NaN."""
    table = result.to_frame()
    return {name: repr(table[name].tolist()) for name in table.columns}


@pytest.mark.parametrize("read", [False, True], ids=["in memory", "read"])
@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("partial_dependence", {"features": 0}),
        ("effects", {}),
        ("accumulated_local_effects", {}),
        ("marginal", {}),
        ("h_statistic", {}),
    ],
)
def test_any_object_that_folds_is_an_engine_of_every_verb(tmp_path, verb, options, read):
    table, engine = frame(6_000), Sequential()
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    model.fit(table[list(COLUMNS)], table["y"])
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=1_000)
    X = str(tmp_path) if read else table[list(COLUMNS)]
    assert as_executor(engine) is engine
    have, want = (statistic_of(verb, model, X, **options, executor=executor) for executor in (engine, None))
    assert max(engine.blocks) > 1
    assert numbers(have) == numbers(want)
    one = have if hasattr(have, "provenance") else next(iter(have.values()))
    assert one.provenance.executor == "one block after another"


def test_what_is_no_engine_is_refused():
    class Half:
        def fold(self, evaluator, blocks, zero, *, store=None):
            return zero

    for wrong in (3, "threads", Half(), Sequential, object()):
        with pytest.raises(
            paribus.errors.OptionError,
            match=r"executor=.* must be a dask.distributed Client, a SparkSession, or an object with fold .*; omit it",
        ) as caught:
            as_executor(wrong)
        assert str(caught.value).startswith(f"executor={wrong!r} ")
        with pytest.raises(paribus.errors.OptionError, match="omit it to compute locally on n_jobs threads"):
            paribus.Explainer(lambda t: t[:, 0], np.eye(3), executor=wrong).partial_dependence(0)


def test_engines_are_told_apart_by_what_they_accept():
    class Client:
        def submit(self): ...

        def nthreads(self):
            return {"one": 2, "two": 2}

    here, there = (
        as_executor(threads=3, progress=False, doing="effects"),
        as_executor(Client(), progress=True),
    )
    assert here == LocalExecutor(3, False, "effects")
    assert here.describe() == "this process"
    assert isinstance(there, DaskExecutor)
    assert there.progress is True
    assert there.describe() == "Dask, 2 workers"
    assert all(isinstance(one, Executor) for one in (here, there, Sequential()))


def test_blocks_promise_what_engines_use(tmp_path):
    read = scanned(tmp_path)
    for blocks in (in_memory().blocks(64), read.blocks(64), read.reading.blocks(64)):
        assert isinstance(blocks, Blocks)
        assert blocks.size == 64
        assert blocks.count == -(-ROWS // 64)
        assert blocks.n_tasks >= 0
        part = blocks.part(2, 4)
        assert part.describe().startswith("rows 128 to 255 of X")
        travelling, pending = part.payload()
        assert pending == []
        numbers = [block.number for there in travelling.received(pending) for block in there]
        assert numbers == [2, 3]
    assert isinstance(read.blocks(64), ReadBlocks)
    assert members(Blocks) <= set(dir(PartitionBlocks)) | set(PartitionBlocks.__dataclass_fields__)


def fitted(estimator, columns=COLUMNS):
    table = frame()
    return estimator.fit(table[list(columns)], table["y"])


def forest():
    model = fitted(RandomForestRegressor(5, max_depth=3, random_state=0))
    return adapt(model, in_memory().table)


def test_a_structure_is_read_once(monkeypatch):
    model, read, times = forest(), structure.read_trees, []
    monkeypatch.setattr(structure, "read_trees", lambda *given: times.append(1) or read(*given))
    prefetch_structure(model)
    assert structure_of(model) is structure_of(model)
    assert len(times) == 1


def test_a_structure_or_its_refusal_does_not_keep_a_model_alive():
    models = [forest(), adapt(lambda t: t["a"], in_memory().table)]
    for model in models:
        prefetch_structure(model)
    gone = [*map(weakref.ref, models)]
    del model
    models.clear()
    gc.collect()
    assert [one() for one in gone] == [None, None]


def test_the_digest_of_a_model_does_not_depend_on_what_was_read_of_it():
    model, other = forest(), forest()
    before, unread = model.digest(), structure_digest(model)
    prefetch_structure(model)
    prefetch_structure(other)
    assert model.digest() == before == other.digest()
    assert unread == ""
    assert len(structure_digest(model)) == 32
    assert structure_digest(model) == structure_digest(other)


class Own(RandomForestRegressor):
    """May predict in a way of its own."""


@pytest.mark.parametrize(
    ("estimator", "code"),
    [
        (lambda: lambda t: t["a"], "no structure"),
        (lambda: fitted(KNeighborsRegressor()), "no structure"),
        (lambda: fitted(lightgbm.LGBMRegressor(n_estimators=3, verbose=-1), COLUMNS[::-1]), "data"),
        (lambda: fitted(Own(3)), "no structure"),
        (lambda: fitted(RandomForestRegressor(3), COLUMNS[:2]), None),
    ],
    ids=["function", "neighbors", "columns", "subclass", "trees"],
)
def test_a_model_without_a_structure_has_a_code_for_why(estimator, code):
    model = adapt(estimator(), in_memory().table if code else table_of(frame()[["a", "b"]]))
    for _ in range(2):
        found = None
        try:
            structure_of(model)
        except paribus.errors.RefusalError as refusal:
            found = refusal.code
        assert found == code


def test_every_library_has_one_line():
    assert [library.title for library in LIBRARIES] == [
        "scikit-learn",
        "XGBoost",
        "LightGBM",
        "CatBoost",
        "interpret",
        "scikit-survival",
    ]
    with pytest.raises(
        paribus.errors.RefusalError, match=r"^not a supported tree ensemble \(scikit-learn, XGBoost, "
    ):
        structure.read_trees(object(), in_memory().table)


def texts(path):
    """Yield the text that is executed: no comment, no docstring."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(one.body[0].value) for one in nodes if isinstance(one, documented) and ast.get_docstring(one)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value.lower()


def test_no_file_but_its_own_names_a_boosting_library():
    boosting = [library.module for library in LIBRARIES if library.boosts]
    assert len(boosting) == 3
    own = ("libraries", "_command")  # those of each library, and help about their files
    files = (path for path in (ROOT / "src/paribus").rglob("*.py") if path.parent.name not in own)
    assert not [
        (path.name, text) for path in files for text in texts(path) if any(one in text for one in boosting)
    ]


def test_rows_models_and_engines_import_each_other_in_no_circle():
    graph = grimp.build_graph("paribus", cache_dir=None)
    rooms = (
        "paribus._contracts",
        "paribus._data",
        "paribus._models",
        "paribus._executors",
        "paribus._states",
    )
    left = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    left = {module: found for module, found in left.items() if module.startswith(rooms)}
    while ground := [module for module, found in left.items() if not found & left.keys()]:
        for module in ground:
            del left[module]
    assert not left

"""Checkpoint folders that somebody changed: the same bits, or one ParibusError; never a crash.

`mutate_and_run` changes one copy of a finished folder and runs the call again. No change may alter a
number, raise anything else, or end the process.
"""

import io
import json
import math
import os
import shutil
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import paribus
from paribus._data.scan import parquet
from paribus._evaluators import survey
from paribus._executors.checkpoint import COMMENT, DIGEST
from statistic_of import statistic_of

ROWS = 700
BLOCK = 256  # rows of a block in a survey
EXTREME = [-1, 0, 1, 31, 32, 255, 2**15, 2**31 - 1, -(2**31), 2**40, 2**53, 2**62, -(2**62), 2**63 - 1]
ODD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -1.0, 0.0, 0.5, 1e18]


@cache
def _frame():
    draw = np.random.default_rng(5)
    a = np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(size=ROWS))
    city = pd.Categorical(draw.choice(["Bern", "Basel", "Genf"], ROWS))
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(draw.integers(0, 9, ROWS), unit="D")
    frame = {"a": a, "b": draw.integers(0, 9, ROWS), "c": draw.gamma(2.0, size=ROWS)}
    text = draw.choice(["red", "green"], ROWS)
    return pd.DataFrame(frame).assign(
        city=city,
        text=text,
        day=day,
        w=draw.gamma(1.0, size=ROWS) * (draw.random(ROWS) < 0.9),
        y=draw.normal(size=ROWS),
    )


@cache
def _trees(classes=False):
    X = _frame()[["a", "b", "c"]]
    y = X["a"].fillna(2) * X["b"] + np.sin(X["c"])
    if classes:
        return HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5).fit(X, y > y.median())
    return HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=6).fit(X, y)


def _predict(table):
    return np.nan_to_num(table["a"].to_numpy(float), nan=2.0) * table["b"].to_numpy() + table["c"].to_numpy()


def _calls():
    """Return the calls by name: every evaluator whose states are kept, and a survey of columns of all kinds."""
    few = {"grid_resolution": 4}
    odd = ["a", "city", "text", "day"]
    return {
        "effects": partial(statistic_of, "effects", _trees(), features=["a", ("a", "c")], **few),
        "weighted effects": partial(
            statistic_of, "effects", _trees(), features=["b", "c"], sample_weight="w", **few
        ),
        "probabilities": partial(statistic_of, "effects", _trees(True), features=["a", "c"], **few),
        "curves": partial(
            statistic_of, "effects", _trees(), features=["a"], kind="both", sample_weight="w", **few
        ),
        "spread": partial(
            statistic_of, "effects", _trees(), features=["a"], quantiles=True, sample_weight="w", **few
        ),
        "survey": partial(statistic_of, "effects", _predict, features=odd, sample_weight="w", **few),
        "brute curves": partial(statistic_of, "effects", _predict, features=["c"], kind="both", **few),
        "brute spread": partial(statistic_of, "effects", _predict, features=["c"], quantiles=True, **few),
        "local": partial(statistic_of, "accumulated_local_effects", _trees(), features=["a", "b"]),
        "brute local": partial(statistic_of, "accumulated_local_effects", _predict, features=["a", "city"]),
        "marginal": partial(statistic_of, "marginal", _trees(), features=["a", "b"], y="y", **few),
        "interactions": partial(statistic_of, "h_statistic", _trees()),
        "triples": partial(statistic_of, "h_statistic", _trees(), threeway=3, sample_weight="w"),
    }


def numbers(value):
    """Return all a result says but how it came about, as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, Mapping):
        return [(str(key), numbers(part)) for key, part in value.items() if key != "provenance"]
    if is_dataclass(value):
        kept = (one.name for one in fields(value) if one.name != "provenance")
        return [(name, numbers(getattr(value, name))) for name in kept]
    if isinstance(value, (list, tuple)):
        return [numbers(part) for part in value]
    return repr(value)


class Finished:
    """A finished folder of one call, and the numbers of its result; a twin is of another run."""

    def __init__(self, name, rows, home):
        self.call = partial(_calls()[name], X=rows, n_jobs=1, max_memory="1GB", progress=False)
        self.folder, self.twin = home / name, home / f"{name} twin"
        self.found = numbers(self.run(self.folder))
        assert numbers(self.run(self.twin)) == self.found

    def run(self, folder):
        with small_blocks():
            return self.call(checkpoint=folder)


@contextmanager
def small_blocks():
    """Cut a survey into some blocks although there are few rows."""
    with (
        mock.patch.object(survey, "survey_rows", return_value=BLOCK),
        mock.patch.object(parquet, "PAUSE", 0.0),
    ):
        yield


@cache
def finished_folder(name, workdir):
    home = Path(workdir)
    home.mkdir(parents=True, exist_ok=True)
    rows = home / "rows.parquet"
    if not rows.exists():
        _frame().to_parquet(rows, index=False, row_group_size=200)
    return Finished(name, rows, home)


def mutate_and_run(seed, workdir):
    """Change a copy of a finished folder and run again: 'same' or 'refused'.

    Raises AssertionError if numbers differ, or if something is raised that is not a ParibusError.
    """
    rng = np.random.default_rng(seed)
    names = list(_calls())
    finished = finished_folder(names[rng.integers(len(names))], str(workdir))
    folder = Path(mkdtemp(dir=workdir)) / "kept"
    shutil.copytree(finished.folder, folder)
    change = _pick(rng, CHANGES)
    what = f"seed {seed!r}: {finished.folder.name}, {change.__name__}"
    try:
        change(rng, folder, finished)
        return _outcome(finished, folder, what)
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def _outcome(finished, folder, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = finished.run(folder)
            found = numbers(result)
            repr(result)
            result.to_frame()
        except paribus.ParibusError:
            return "refused"
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    assert found == finished.found, f"{what}: other numbers"
    return "same"


def _pick(rng, things):
    things = list(things)
    return things[rng.integers(len(things))]


def _file(rng, folder, pattern="*.npz"):
    return _pick(rng, sorted(folder.rglob(pattern)))


def flipped_bits(rng, folder, finished):
    file = _file(rng, folder, _pick(rng, ("*.npz", "*.npz", "*.json")))
    data = bytearray(file.read_bytes())
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        data[place] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(data))


def truncated(rng, folder, finished):
    file = _file(rng, folder, _pick(rng, ("*.npz", "*.json")))
    data = file.read_bytes()
    file.write_bytes(data[: rng.integers(len(data))])


def lengthened(rng, folder, finished):
    file = _file(rng, folder, _pick(rng, ("*.npz", "*.json")))
    file.write_bytes(file.read_bytes() + rng.bytes(int(rng.integers(1, 99))))


def swapped(rng, folder, finished):
    """Exchange two states: of ranges of one pass, or of two passes."""
    one, other = _file(rng, folder), _file(rng, folder)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def of_another_run(rng, folder, finished):
    """Take a state, or what says whose it is, from a run with the same settings, or a whole pass of it."""
    file = _file(rng, folder, _pick(rng, ("*.npz", "identity.json", "run.json")))
    if file.name == "identity.json" and rng.random() < 0.5:
        shutil.rmtree(file.parent)
        shutil.copytree(finished.twin / file.parent.name, file.parent)
        return
    shutil.copy(finished.twin / file.relative_to(folder), file)


def removed(rng, folder, finished):
    file = _file(rng, folder, _pick(rng, ("*.npz", "*.json")))
    file.unlink()


def half_written(rng, folder, finished):
    file = _file(rng, folder)
    half = file.with_suffix(".0a1b2c3d-77.half")
    if rng.random() < 0.3:
        half.mkdir()
    else:
        half.write_bytes(file.read_bytes()[: int(rng.integers(99))])
    if rng.random() < 0.5:
        os.utime(half, (0, 0))


def another_kind_of_file(rng, folder, finished):
    """Put a folder where a file is expected, a file where a folder is, or a link that leads nowhere."""
    file = _file(rng, folder, _pick(rng, ("*.npz", "*.json", "0*")))
    if file.is_dir():
        shutil.rmtree(file)
        file.write_bytes(b"")
        return
    file.unlink()
    if rng.random() < 0.5:
        file.mkdir()
    else:
        file.symlink_to(file)


def odd_note(rng, folder, finished):
    """Write something else where a folder says what it is of."""
    file = _file(rng, folder, "*.json")
    known = json.loads(file.read_bytes())
    name = _pick(rng, known)
    odd = _pick(
        rng, ["NaN", "1" * 5_000, "[" * 100_000, '{"a":' * 50_000, "{}", "null", "1e999", '"\\ud800"']
    )
    whole = json.dumps(known | {name: "?"}).replace('"?"', odd)
    file.write_text(_pick(rng, [odd, whole]))


def other_arrays(rng, folder, finished):
    """Change the arrays or the tree of a state, and write it without a digest that fits."""
    file = _file(rng, folder)
    arrays = loaded(file.read_bytes())
    _pick(rng, ARRAY_CHANGES)(rng, arrays)
    file.write_bytes(written(arrays) + file.read_bytes()[-DIGEST:])


CHANGES = [
    flipped_bits,
    truncated,
    lengthened,
    swapped,
    of_another_run,
    removed,
    half_written,
    another_kind_of_file,
    odd_note,
    *[other_arrays] * 6,
]


def loaded(data):
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def written(arrays, save=np.savez):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()[: -len(COMMENT)] + COMMENT


def _chosen(rng, arrays):
    return _pick(rng, [name for name in arrays if name != "tree"])


def _changed_numbers(rng, arrays):
    name = _chosen(rng, arrays)
    array = np.array(arrays[name])
    if not array.size:
        return
    flat = array.reshape(-1).view(f"i{array.itemsize}") if array.dtype.kind in "mMb" else array.reshape(-1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rng.random() < 0.3:
            flat += np.asarray(_pick(rng, EXTREME)).astype(flat.dtype)
        else:
            odd = EXTREME if flat.dtype.kind != "f" or rng.random() < 0.3 else ODD
            places = rng.integers(len(flat), size=rng.integers(1, 4))
            flat[places] = np.asarray(_pick(rng, odd)).astype(flat.dtype)
    arrays[name] = flat.view(array.dtype).reshape(array.shape)


def _changed_type(rng, arrays):
    name = _chosen(rng, arrays)
    kind = _pick(
        rng, ["i1", "i4", "u4", "i8", "u8", "f4", "f8", ">f8", ">i4", "c16", "?", "M8[s]", "f2", "U3", "S4"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            arrays[name] = arrays[name].astype(kind)
        except (TypeError, ValueError):
            arrays[name] = np.zeros(arrays[name].shape, kind)


def _changed_shape(rng, arrays):
    name = _chosen(rng, arrays)
    array = arrays[name]
    axis = int(rng.integers(max(1, array.ndim)))
    ways = {
        "flat": lambda: array.reshape(-1),
        "more": lambda: array[None],
        "turned": lambda: np.asfortranarray(array),
        "transposed": lambda: array.T,
        "none": lambda: array[:0],
        "half": lambda: np.take(array, np.arange(array.shape[axis] // 2), axis),
        "twice": lambda: np.concatenate([array, array], axis),
        "scalar": lambda: array.reshape(-1)[:1].reshape(()),
    }
    try:
        arrays[name] = ways[_pick(rng, ways)]()
    except (ValueError, IndexError):
        arrays[name] = array.reshape(-1)


def _changed_tree(rng, arrays):
    """Change the plain values of a state: other scalars, parts that are missing, twice, or another's."""
    tree = json.loads(arrays["tree"].tobytes())
    nodes = []

    def walk(node):
        if isinstance(node, dict):
            places = node
        elif isinstance(node, list):
            places = range(len(node))
        else:
            return
        for place in places:
            nodes.append((node, place))
            walk(node[place])

    walk(tree)
    for _ in range(int(rng.integers(1, 3))):
        node, place = _pick(rng, nodes)
        way = rng.random()
        if way < 0.2:
            other, there = _pick(rng, nodes)
            node[place] = json.loads(json.dumps(other[there])) if _holds(other, there) else None
        elif way < 0.4 and isinstance(node, dict) and place in node:
            del node[place]
        elif way < 0.5 and isinstance(node, list) and place < len(node):
            node.append(json.loads(json.dumps(node[place])))
        elif way < 0.6 and isinstance(node, list):
            del node[place : place + 1]
        elif _holds(node, place):
            odd = [
                None,
                True,
                "text",
                [],
                {},
                [[]],
                0.5,
                10**30,
                {"array": 0},
                {"array": 10**9},
                {"table": 0},
                {"record": "Keyed", "parts": []},
                {"numpy": {"dtype": "<f8", "shape": [], "values": [0.5]}},
            ]
            node[place] = _pick(rng, [*odd, *EXTREME, *ODD])
    arrays["tree"] = np.frombuffer(json.dumps(tree).encode(), np.uint8)


def _holds(node, place):
    return place in node if isinstance(node, dict) else place < len(node)


def _changed_bytes(rng, arrays):
    """Flip bits of what Arrow wrote, or of any other array as it lies."""
    wrote = [name for name, array in arrays.items() if array.dtype == np.uint8 and name != "tree"]
    name = _pick(rng, wrote or [_chosen(rng, arrays)])
    data = bytearray(arrays[name].tobytes())
    if not data:
        return
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        data[place] = (
            int(rng.integers(256)) if rng.random() < 0.5 else data[place] ^ 1 << int(rng.integers(8))
        )
    arrays[name] = np.frombuffer(bytes(data), arrays[name].dtype).reshape(arrays[name].shape)


def _exchanged(rng, arrays):
    """Exchange two arrays."""
    one, other = _chosen(rng, arrays), _chosen(rng, arrays)
    arrays[one], arrays[other] = arrays[other], arrays[one]


ARRAY_CHANGES = [_changed_numbers, _changed_tree, _changed_type, _changed_shape, _changed_bytes, _exchanged]

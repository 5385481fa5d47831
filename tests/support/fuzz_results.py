"""Saved results that were changed: what is loaded works, and anything else is refused in one sentence.

`mutate_and_load` takes a saved result of any type, changes it, and loads it. Called many times over it looks for
files that crash, hang, take memory or end in an exception that is no `ParibusError`. A file whose digest was not
recomputed is refused, or is the result that was saved.
"""

import contextlib
import copy
import functools
import json
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import paribus
from handmade import importance, statistics
from paribus.results.storage import _digest
from statistic_of import statistic_of

ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(
        "",
        "x",
        "nan",
        "inf",
        "<f8",
        "object",
        "numeric",
        "\0",
        "é" * 5,
        [],
        [[]],
        [1],
        ["a", "b"],
        {},
        {"a": 1},
    ),
    *({"float": "nan"}, {"float": []}, {"date": "2026-13-01"}, {"datetime": ["2026-01-01", "No/Where", 0]}),
    *({"numpy": {"dtype": "<i8", "shape": [1], "values": [1]}}, {"timedelta": [10**12]}, {"str_": 5}),
    *({"Timestamp": [1, 2]}, {"numpy": {}}, {"surprise": 1}, {"dtype": "<f8", "shape": [1], "values": [1.0]}),
    *({"dtype": "<f8", "shape": [10**12], "zlib": "eJwDAAAAAAE="}, {"dtype": "O", "shape": [], "bytes": ""}),
)
PEAK_BYTES = 200_000_000  # that loading a file may allocate
peaks = []  # bytes allocated at most while each file was loaded
LITERALS = ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000, "[" * 2_000, '"\\ud800"')


def _model(table):
    columns = np.asarray(table["x"], dtype=float), np.asarray(table["gap"], dtype=float)
    return columns[0] * 2 + np.nan_to_num(columns[1], nan=3.0)


def _classes(table):
    return np.stack([_model(table), -_model(table)], axis=1)


def _turning(table):
    return np.where(np.asarray(table["city"]) == "Bern", 1.0, -1.0) * np.asarray(table["x"], dtype=float)


@functools.cache
def prepared():
    """Return small results of every type, with much of what each can hold."""
    rng = np.random.default_rng(0)
    size = 40
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=size),
            "gap": np.where(np.arange(size) % 5 == 0, np.nan, rng.normal(size=size)),
            "city": rng.choice(["Bern", "Basel", "Genf"], size),
            "stamp": pd.Categorical(pd.to_datetime(rng.integers(1, 4, size), unit="ns", utc=True)),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, size), unit="D"),
            "count": rng.integers(0, 5, size),
            "flag": rng.random(size) < 0.5,
        }
    )
    other = _classes(frame)[:, 0] + rng.normal(size=size)
    options = {"grid_resolution": 4, "progress": False}
    every = statistic_of(
        "effects", _model, frame, **options, sample_weight=np.arange(size) + 1.0, verify=True
    )
    polar = paribus.effects(_model, pl.from_pandas(frame.drop(columns="stamp")), **options, quantiles=True)
    arrow = pa.Table.from_pandas(frame[["x", "gap", "day"]])
    local = paribus.accumulated_local_effects(_model, frame, progress=False)
    near = paribus.marginal(_model, frame, y=other, **options)
    plain = paribus.effects(_model, frame, **options)
    compared = paribus.compare(plain, local, near)
    again = paribus.effects(lambda table: 2 * _model(table), frame, **options)
    laid = paribus.compare({"one": plain, "two": again})
    old, new = (
        paribus.Explainer(model, frame, other, progress=False).explain(grid_resolution=4)
        for model in (_model, lambda table: 2 * _model(table))
    )
    turning = paribus.regions(_turning, pd.concat([frame] * 8), ["x"], progress=False)
    return [
        *(turning, turning["x"], plain["x"].contrast(*plain["x"].grid_values[0][[0, -1]])),
        *(every, every["gap"], every["stamp"], polar, polar["city"], local, local["gap"], near, near["day"]),
        *(compared, compared["gap"], laid, laid["city"], laid["day"]),
        *(old, old.performance, old.compare(new)),
        *(laid.difference(), laid["gap"].difference(), laid["city"].difference()),
        paribus.compare({"a": local["gap"], "b": local["gap"]}),
        paribus.effects([_model, _model], arrow, ["x", ("x", "day")], **options),
        paribus.partial_dependence(_classes, frame, ["x", "city"], kind="both", **options),
        paribus.partial_dependence(_model, frame, "gap", kind="individual", **options),
        paribus.partial_dependence(_model, frame, "x", kind="both", grid_resolution=20, progress=False),
        paribus.effects(_model, frame, ["x", "gap"], by="city", **options),
        paribus.explain(_model, frame, other, by="city", grid_resolution=4, progress=False).by_group,
        statistics("abcd", [1.0, 0.0, 2.0, 3.0, np.nan, 5.0], triples=[1.0, 2.0, 3.0, 4.0]),
        statistics(["a", 3], np.ones((1, 2)), outputs=("p", "q")),
        importance(["a", ("b", 2)], [np.nan, -1.0]),
        importance(["a", "b"], [1.0, 2.0], kind="permutation"),
    ]


def mutate_and_load(rng, workdir) -> str:
    """Change one saved result and load it: ``"refused"``, ``"equal"``, or ``"loaded"`` and found to work.

    Parameters
    ----------
    rng : numpy.random.Generator
        What decides the result and the change.
    workdir : pathlib.Path
        Where files go.
    """
    path = workdir / "mutated.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that no result has may overflow where they are squared
        results = prepared()
        saved = results[rng.integers(len(results))]
        saved.save(path)
        guarded = not _change(rng, path)
        try:
            found = _loaded(path)
        except paribus.ParibusError as error:
            return _checked(str(error))
        except Exception as error:
            raise AssertionError(f"load raised {type(error).__name__}: {error}") from error
        _use(found, path, workdir / "again.json")
        if guarded and found != saved:
            raise AssertionError(f"a changed {type(found).__name__} was loaded under the digest of another")
        return "equal" if found == saved else "loaded"


def _loaded(path):
    """Load a file, and measure what that allocates."""
    tracemalloc.start()
    try:
        return paribus.load(path)
    finally:
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        if peaks[-1] > PEAK_BYTES:
            raise AssertionError(f"loading {path.stat().st_size:,} bytes allocated {peaks[-1]:,}")


def _checked(message):
    """Refuse messages that say nothing, or show the file."""
    assert 20 < len(message) < 1_500, message
    return "refused"


def _use(found, path, again):
    """Do with a result what users do."""
    try:
        assert repr(found)
        with contextlib.suppress(paribus.ParibusError):  # such as that there are curves without averages
            found.to_frame()
        assert found == paribus.load(path)
        found.save(again)
        assert paribus.load(again) == found
    except Exception as error:
        raise AssertionError(
            f"a loaded {type(found).__name__} fails: {type(error).__name__}: {error}"
        ) from error


def _change(rng, path):
    """Change a file; return whether its digest was recomputed."""
    how = rng.choice(
        ["bits", "cut", "literal", "value", "value", "value", "value", "number", "number", "shape", "move"]
    )
    data = path.read_bytes()
    if how == "bits":
        changed = bytearray(data)
        for place in rng.integers(len(changed), size=rng.integers(1, 4)):
            changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
    elif how == "cut":
        first, stop = sorted(rng.integers(len(data) + 1, size=2).tolist())
        path.write_bytes(data[:first] + data[stop:] if rng.random() < 0.5 else data[:stop])
    elif how == "literal":
        text = data.decode()
        place = int(rng.choice([n for n, letter in enumerate(text) if letter in ",:[{"]))
        path.write_text(text[: place + 1] + str(rng.choice(LITERALS)) + text[place + 1 :])
    else:
        document = json.loads(data)
        {"value": _value, "number": _number, "shape": _shape, "move": _move}[how](rng, document)
        recomputed = rng.random() < 0.85
        if recomputed:
            with contextlib.suppress(ValueError):  # an integer of too many digits has no digest
                document["digest"] = _digest(document.get("result"))
        path.write_text(_written(document))
        return recomputed
    return False


def _written(document):
    """Write JSON with integers of any length."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(document)
    finally:
        sys.set_int_max_str_digits(limit)


def _places(node, above=()):
    """Yield where every value of a document is; of long lists the first few."""
    children = (
        node.items() if isinstance(node, dict) else enumerate(node[:6]) if isinstance(node, list) else ()
    )
    for key, child in children:
        yield (*above, key)
        yield from _places(child, (*above, key))


def _parent(document, place):
    for key in place[:-1]:
        document = document[key]
    return document


def _chosen(rng, document, fits=lambda value: True):
    """Return the parent and key of a value, deep ones and shallow ones alike; None where no value fits."""
    places = [place for place in _places(document) if fits(_parent(document, place)[place[-1]])]
    if not places:
        return None
    depth = rng.choice(sorted({len(place) for place in places}))
    of_depth = [place for place in places if len(place) == depth]
    place = of_depth[rng.integers(len(of_depth))]
    return _parent(document, place), place[-1]


def _value(rng, document):
    parent, key = _chosen(rng, document)
    if rng.random() < 0.15:
        del parent[key]
    else:
        parent[key] = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])


def _number(rng, document):
    chosen = _chosen(rng, document["result"], lambda value: type(value) in (int, float))
    if chosen is not None:
        parent, key = chosen
        numbers = [value for value in ODD_VALUES if type(value) in (int, float)]
        parent[key] = numbers[rng.integers(len(numbers))]


def _shape(rng, document):
    chosen = _chosen(rng, document["result"], lambda value: isinstance(value, dict) and "shape" in value)
    if chosen is None:
        return
    parent, key = chosen
    array, change = parent[key], rng.integers(4)
    if change == 0:
        array["shape"] = array["shape"][::-1] + [1] * int(rng.integers(2))
    elif change == 1:
        array["shape"] = [int(n) for n in rng.integers(0, 2**40, size=2)]
    elif change == 2 and "values" in array:
        array["values"] = array["values"][: len(array["values"]) // 2]
        array["shape"] = [len(array["values"])]
    else:
        array["dtype"] = str(
            rng.choice(["<f4", ">f8", "<i8", "|b1", "|O", "object", "<M8[ns]", "<m8[D]", "<U9"])
        )


def _move(rng, document):
    """Put a value of the document where another was."""
    one, other = _chosen(rng, document["result"]), _chosen(rng, document["result"])
    if one is not None and other is not None:
        (parent, key), (source, name) = one, other
        parent[key] = copy.deepcopy(source[name])

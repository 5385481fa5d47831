"""Accumulated local effects as results: saved, read-only, as frames, in words."""

import hashlib

import numpy as np
import pandas as pd
import pytest

import paribus
from ale_examples import PARTS, asked, mixed, one
from conftest import numbers
from paribus import accumulated_local_effects as ale


def test_ale_results_come_back_bit_for_bit(tmp_path, awkward):
    found = ale(numbers, awkward, [*awkward, ("count", "gap"), ("count", "city"), ("day", "gap")])
    level = np.array([np.inf, np.inf, 1.0, 2.0, np.nan])
    far = ale(lambda X: np.nan_to_num(X[:, 0], nan=3.0, posinf=9.0), level[:, None], categorical_features=[0])
    assert far["x0"].missing.anchor == np.inf
    flags = pd.DataFrame(
        {"f": pd.array([True, False, None, True], dtype="boolean"), "y": [1.0, 2.0, 3.0, 5.0]}
    )
    holed = ale(lambda t: t["f"].astype(float).fillna(4).to_numpy() + t["y"].to_numpy(), flags)
    assert holed["f"].missing.anchor is True
    for number, result in enumerate((found, holed, far, *found.values())):
        path = tmp_path / f"{number}.json"
        result.save(path)
        back = paribus.load(path)
        assert type(back) is type(result)
        assert back == result
        assert repr(back) == repr(result)
    assert found["count"] != found["small"]
    assert len({hashlib.md5((tmp_path / f"{k}.json").read_bytes()).hexdigest() for k in range(5)}) == 5


def test_ale_results_are_mappings_that_nobody_can_change():
    found = asked(mixed())
    effect = found["b"]
    assert set(effect) >= {"ale", "standard_error", "grid_values", "missing", "local", "support"}
    assert found["a"]["missing"] is None  # there are no such rows
    assert "by_model" not in effect  # there was one model
    assert "anything" not in effect
    assert len(effect) == len(list(effect))
    assert effect["ale"] is effect.ale
    for key in ("anything", "save"):
        with pytest.raises(KeyError):
            effect[key]
    with pytest.raises(KeyError, match="did you mean 'flag'"):
        found["flagg"]
    with pytest.raises(KeyError, match="no effect of 'a x d'"):
        found["a", "d"]
    for array in (*(effect[name] for name in PARTS), *effect.grid_values, effect.missing.ale):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        effect.strength = 1.0
    with pytest.raises(TypeError):
        hash(effect)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_ale_frames_are_long_and_in_library_requested_for(backend):
    found = asked(mixed())

    def read(frame):
        assert type(frame).__module__.startswith(backend)
        return frame if backend == "pandas" else frame.to_pandas()

    curve = read(found["b"].to_frame(backend=backend))
    assert list(curve) == ["output", "b", "ale", "standard_error", "local", "local_error", "support"]
    edges = len(found["b"].grid_values[0])
    assert len(curve) == edges + 1
    np.testing.assert_array_equal(curve["b"][:edges], found["b"].grid_values[0])
    assert pd.isna(curve["b"].iloc[-1])
    assert curve["ale"].iloc[-1] == found["b"].missing.ale[0]
    np.testing.assert_array_equal(curve["local"][1:edges], found["b"].local[0])
    np.testing.assert_array_equal(curve["support"][1:edges], found["b"].support)
    assert np.isnan(curve["support"][0])
    level = read(found["c"].to_frame(backend=backend))
    np.testing.assert_array_equal(level["support"][:4], found["c"].support)
    surface = read(found["a", "c"].to_frame(backend=backend))
    assert list(surface) == ["output", "a", "c", "ale", "standard_error"]
    np.testing.assert_array_equal(surface["ale"], found["a", "c"].ale.ravel())
    table = read(found.to_frame(backend=backend))
    columns = ["feature", "value", "number", "feature_2", "value_2", "number_2", "output", "ale"]
    assert list(table) == [*columns, "standard_error", "local", "local_error", "support"]
    assert len(table) == sum(e.ale.size + (e.missing is not None) for e in found.values())
    with pytest.raises(paribus.errors.OptionError):
        found.to_frame(backend="excel")


def test_ale_columns_of_frames_keep_apart_from_features_of_same_name():
    X = pd.DataFrame({"ale": [1.0, 2.0, 3.0], "local": [1.0, 5.0, 3.0]})
    frame = one(lambda t: t["ale"].to_numpy(), X, ("ale", "local")).to_frame()
    assert list(frame) == ["output", "ale (feature)", "local (feature)", "ale", "standard_error"]


def test_ale_repr_reports_what_moves_and_how_it_was_found():
    found = asked(mixed())
    text = repr(found)
    assert text.startswith("Effects (ALE) of mixed_model: 8 effects, strongest first (prediction)")
    assert "accumulated over 400 rows (unweighted)\n  by brute" in text
    text = repr(found["b"])
    for part in (
        "AccumulatedLocalEffect of mixed_model on b: 41 points, 1 output",
        "missing in",
        "predictions",
        "note:",
    ):
        assert part in text
    assert "a x c" in repr(found["a", "c"])

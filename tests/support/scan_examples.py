"""Rows in files and in memory, and models of both."""

from functools import cache
from itertools import pairwise

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

import paribus
from statistic_of import statistic_of

ROWS = 2_400
CUTS = (0, 700, 701, 1_300, 2_400)
NUMBERS = ["a", "b", "c"]


@cache
def frame():
    rng = np.random.default_rng(0)
    a = np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS))
    table = {"c": rng.gamma(2.0, size=ROWS), "a": a, "b": rng.integers(0, 40, ROWS)}
    table["city"] = rng.choice(["Bern", "Basel", "Genf", "Chur"], ROWS, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(table | {"w": np.where(rng.random(ROWS) < 0.1, 0.0, rng.gamma(1.0, size=ROWS))})


def answer():
    X = frame()
    return np.nan_to_num(X["a"], nan=2.0) * X["b"] / 20 + np.sin(X["c"]) + (X["city"] == "Bern")


@cache
def model(name):
    X, y = frame()[NUMBERS], answer()
    models = {
        "lightgbm": lightgbm.LGBMRegressor(n_estimators=5, num_leaves=7, verbose=-1, n_jobs=1),
        "xgboost": xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1),
        "catboost": catboost.CatBoostRegressor(
            iterations=5, depth=3, verbose=False, allow_writing_files=False, thread_count=1
        ),
        "forest": RandomForestRegressor(4, max_depth=4, random_state=0),
        "boosted": HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=7),
    }
    return models[name].fit(X, y)


def asked(table):
    """A model that is a plain function; pandas or polars in."""
    a, b, c = (np.asarray(table[name].to_numpy(), float) for name in NUMBERS)
    return np.nan_to_num(a, nan=2.0) * b / 20 + np.tanh(c)


def held():
    return frame()[NUMBERS]


def written(folder, table=None, cuts=CUTS, size=170):
    """Write rows as several files, whose row groups are of another size than any block."""
    table = pa.Table.from_pandas(frame(), preserve_index=False) if table is None else table
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, (first, stop) in enumerate(pairwise(cuts)):
        files.append(folder / f"part-{number}.parquet")
        pq.write_table(table.slice(first, stop - first), files[-1], row_group_size=size)
    return files


def equal(one, other):
    """Compare arrays of anything bit for bit, missing ones included."""
    if one is None or other is None:
        assert one is other
        return
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype.kind == other.dtype.kind
    np.testing.assert_array_equal(one, other, strict=one.dtype != object)


def same(one, other):
    """Two effects are bit-identical."""
    assert one.feature_names == other.feature_names
    assert one.kinds == other.kinds
    for key in ("average", "standard_error", "support", "individual"):
        equal(getattr(one, key), getattr(other, key))
    for key in ("grid_values", "deciles"):
        for mine, theirs in zip(one[key], other[key], strict=True):
            equal(mine, theirs)
    assert (one.missing is None) == (other.missing is None)
    if one.missing is not None:
        assert (one.missing.share, one.missing.support) == (other.missing.share, other.missing.support)
        equal(one.missing.average, other.missing.average)
        equal(one.missing.standard_error, other.missing.standard_error)


def all_same(read, kept):
    assert list(read) == list(kept)
    for key in kept:
        same(read[key], kept[key])


FEATURES = ["a", "b", "c", ("a", "b")]


@cache
def in_memory(name, weighted=False):
    chosen = asked if name == "asked" else model(name)
    return paribus.effects(
        chosen, held(), FEATURES, grid_resolution=11, sample_weight=frame()["w"] if weighted else None
    )


def check(source, name="lightgbm", weighted=False):
    chosen = asked if name == "asked" else model(name)
    read = paribus.effects(
        chosen, source, FEATURES, grid_resolution=11, sample_weight="w" if weighted else None
    )
    all_same(read, in_memory(name, weighted))
    return read


def in_batches(convert=lambda batch: batch, size=333):
    """A function that yields batches of the rows, as some library has them."""

    def batches():
        table = pa.Table.from_pandas(frame(), preserve_index=False)
        for first in range(0, ROWS, size):
            yield convert(table.slice(first, size))

    return batches


def refused(error, *words, chosen=asked, X=None, **options):
    with pytest.raises(error) as raised:
        statistic_of("partial_dependence", chosen, X, options.pop("features", "a"), **options)
    assert isinstance(raised.value, paribus.ParibusError)
    for word in words:
        assert word in str(raised.value)
    return str(raised.value)


def emptied(file):
    file.write_bytes(b"")

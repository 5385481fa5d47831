"""Units of rows that are read: the numbers of the same rows in memory, from files, groups and clusters."""

from functools import cache
from itertools import pairwise

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paribus
from compared_results import differing, leaves
from paribus._evaluators import exact_effects, survey
from selection import nightly
from statistic_of import statistic_of

ROWS, LARGE, NAMES = 1_500, 8_200, ["a", "b", "n"]
QUIET = {"progress": False}


@cache
def frame(rows=ROWS):
    """Return rows of customers, some of whom have many, with weights, a target and groups."""
    rng = np.random.default_rng(0)
    customer = np.minimum(rng.geometric(0.01, rows), 300) - 1
    level = rng.normal(size=300)[customer]
    X = pd.DataFrame({"a": (level + rng.normal(size=rows)).round(1), "b": rng.normal(size=rows).round(1)})
    X["a"] = X["a"].where(rng.random(rows) > 0.05)
    X["n"] = rng.poisson(2, rows)
    X["customer"] = [f"customer {number}" for number in customer]
    X["number"] = customer.astype("int32")
    X["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(customer, unit="D")
    X["w"] = rng.choice([0.0, 0.5, 1.0, 3.0], rows)
    X["y"] = X["a"].fillna(2) * X["b"] + X["n"] + level + rng.normal(size=rows)
    X["region"] = np.where(customer % 3 == 0, "east", "west")  # of a customer
    X["channel"] = rng.choice(["web", "shop"], rows)  # of a row
    return X


@cache
def model():
    options = {"n_estimators": 8, "num_leaves": 7, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMRegressor(**options).fit(frame()[NAMES], frame()["y"])


def called(rows):
    """Predict from a table of any library."""
    a, b, n = (np.asarray(rows[name], float) for name in NAMES)
    return np.nan_to_num(a, nan=2.0) * b + np.sqrt(n) * (1 + b)


def written(folder, rows):
    """Write three files of small row groups."""
    for number, (first, stop) in enumerate(pairwise((0, 401, 402, len(rows)))):
        part = pa.Table.from_pandas(rows.iloc[first:stop], preserve_index=False)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=max(130, len(rows) // 20))
    return str(folder)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return written(tmp_path_factory.mktemp("rows"), frame())


@pytest.fixture(scope="module")
def large_files(tmp_path_factory):
    return written(tmp_path_factory.mktemp("large"), frame(LARGE))


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    """Cut thousands of rows as finely as the library cuts millions."""
    monkeypatch.setattr(survey, "SURVEY_ROWS", 512)
    monkeypatch.setattr(survey, "survey_rows", lambda *bounds: 512)
    monkeypatch.setattr(exact_effects, "BLOCK_ROWS", 512)


CALLS = {
    "effects": ("effects", {"features": ["a", "n", ("a", "b")], "grid_resolution": 7}),
    "both": ("effects", {"features": ["a", "n"], "grid_resolution": 5, "kind": "both"}),
    "h": ("h_statistic", {"features": NAMES}),
    "importance": ("feature_importance", {"features": NAMES}),
    "local effects": ("accumulated_local_effects", {"features": ["a", "n"], "grid_resolution": 7}),
    "averages": ("marginal", {"features": ["a", "n"], "y": "y"}),
    "explanation": ("explain", {"features": NAMES}),
}


def call(key, fitted, rows, **options):
    verb, arguments = CALLS[key]
    target = ["y"] if verb == "explain" else []
    return statistic_of(verb, fitted, rows, *target, **arguments, **options, **QUIET)


def unlike(have, want, rtol):
    """Return the paths of arrays that differ in their bits, or by more than a tolerance; digests are of sources."""
    if not rtol:
        return [path for path in differing(have, want) if "digest" not in path]
    have, want = dict(leaves(have)), dict(leaves(want))
    paths = [path for path, array in want.items() if array.dtype.kind == "f"]
    assert paths
    return [
        path
        for path in paths
        if not np.allclose(have[path], want[path], rtol=rtol, atol=1e-12, equal_nan=True)
    ]


@pytest.mark.parametrize("weight", [*nightly(None), "w"], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(("key", "fitted"), [*((key, "trees") for key in CALLS), ("effects", "function")])
def test_units_of_files_give_the_numbers_of_rows_in_memory(key, fitted, weight, files):
    fitted = {"trees": model(), "function": called}[fitted]
    columns = [*NAMES, "customer", "w", "y"]
    held = call(key, fitted, frame()[columns], units="customer", sample_weight=weight)
    read = call(key, fitted, files, units="customer", sample_weight=weight)
    assert read.provenance.standard_error_units == held.provenance.standard_error_units
    assert unlike(read, held, 1e-9) == []


@pytest.mark.parametrize("key", ["effects", "both", "h", "importance"])
def test_units_of_files_give_the_bits_of_rows_in_memory(key, files):
    held = call(key, model(), frame()[[*NAMES, "customer"]], units="customer")
    assert unlike(call(key, model(), files, units="customer"), held, 0) == []


@pytest.mark.parametrize("column", ["number", "day", "region"])
def test_columns_of_any_type_are_the_same_units_in_files(column, files):
    held = call("local effects", model(), frame()[[*NAMES, column]], units=column)
    read = call("local effects", model(), files, units=column)
    assert unlike(read, held, 1e-9) == []


@pytest.mark.parametrize("weight", [None, "w"], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("key", ["effects", "averages"])
def test_sampled_units_of_files_are_those_of_rows_in_memory(key, weight, large_files):
    """More rows than give errors: the units of a sample do not depend on blocks."""
    columns = [*NAMES, "customer", "w", "y"]
    held = call(key, model(), frame(LARGE)[columns], units="customer", sample_weight=weight)
    read = call(key, model(), large_files, units="customer", sample_weight=weight)
    assert held.provenance.standard_error_units == read.provenance.standard_error_units
    assert unlike(read, held, 1e-9) == []


@pytest.mark.parametrize("column", ["region", "channel"])
def test_units_by_group_are_those_of_rows_in_memory_and_in_several_groups_are_reported(column, files):
    columns = [*NAMES, "customer", column]
    held = call("effects", model(), frame()[columns], units="customer", by=column)
    read = call("effects", model(), files, units="customer", by=column)
    assert list(read) == list(held)
    for label, result in held.items():
        shared = column == "channel"
        for effects in (result, read[label]):
            assert {effect.provenance.shared_units for effect in effects.values()} == {shared}
        assert unlike(read[label], result, 1e-9) == []
    parts = {label: result["a"] for label, result in read.items()}
    difference = paribus.compare(parts).difference()
    assert difference.errors == ("upper bound" if column == "channel" else "independent")


def test_missing_units_of_files_are_refused(tmp_path):
    rows = frame()[[*NAMES, "customer"]]
    folder = written(tmp_path, rows.assign(customer=rows["customer"].where(np.arange(ROWS) != 700)))
    with pytest.raises(paribus.ParibusError, match="the unit is missing in row"):
        call("effects", model(), folder, units="customer")


def test_sampled_rows_of_files_keep_their_units(files):
    held = call("effects", model(), frame()[[*NAMES, "customer"]], units="customer", subsample=200)
    read = call("effects", model(), files, units="customer", subsample=200)
    assert held.provenance.standard_error_units == read.provenance.standard_error_units < 200
    assert unlike(read, held, 1e-9) == []


@pytest.mark.parametrize("key", ["effects", *nightly("averages", "h")])
def test_resumed_run_has_the_units_of_one_without_checkpoint(key, files, tmp_path, monkeypatch):
    want = call(key, model(), files, units="customer", sample_weight="w")
    folder = tmp_path / "kept"
    options = {"units": "customer", "sample_weight": "w", "checkpoint": str(folder)}
    first = call(key, model(), files, **options)
    again = call(key, model(), files, **options)
    for have in (first, again):
        assert unlike(have, want, 0) == []


def test_threads_give_the_bits_of_one_thread(files):
    for key in ("effects", "local effects"):
        options = {"units": "customer", "sample_weight": "w"}
        single, several = (call(key, model(), files, n_jobs=threads, **options) for threads in (1, 3))
        assert unlike(several, single, 0) == []


@pytest.mark.cluster
@pytest.mark.parametrize("key", ["effects", *nightly("local effects", "averages", "h", "both")])
def test_cluster_gives_the_bits_of_one_process(key, files, client):
    options = {"units": "customer", "sample_weight": "w"}
    want = call(key, model(), files, **options)
    assert unlike(call(key, model(), files, executor=client, **options), want, 0) == []

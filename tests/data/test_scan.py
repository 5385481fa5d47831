"""Out-of-core rows: every source gives the numbers of the same rows in memory."""

import re
from dataclasses import asdict
from functools import partial

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import paribus
from paribus._data.scan import parquet
from paribus._evaluators import survey
from paribus.notes import NoteCode
from scan_examples import (
    NUMBERS,
    ROWS,
    all_same,
    answer,
    asked,
    check,
    emptied,
    equal,
    frame,
    held,
    in_batches,
    in_memory,
    model,
    refused,
    same,
    written,
)
from selection import nightly
from statistic_of import statistic_of


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    written(path)
    (path / "_SUCCESS").write_bytes(b"")
    return path


def ipc_dataset(folder):
    path = folder / "rows.arrow"
    pa.feather.write_feather(pa.Table.from_pandas(frame(), preserve_index=False), path, chunksize=500)
    return ds.dataset(path, format="ipc")


CONNECTIONS = []  # older versions of DuckDB close one that nothing refers to, though a relation of it is left


def connected():
    CONNECTIONS.append(duckdb.connect())
    return CONNECTIONS[-1]


SOURCES = {
    "folder": lambda folder, tmp: str(folder),
    "path": lambda folder, tmp: folder,
    "star": lambda folder, tmp: f"{folder}/*.parquet",
    "question mark": lambda folder, tmp: folder / "part-?.parquet",
    "two stars": lambda folder, tmp: f"{folder.parent}/**/{folder.name}/**/part-*.parquet",
    "set of letters": lambda folder, tmp: f"{folder}/part-[0-3].parquet",
    "list": lambda folder, tmp: [str(folder / f"part-{n}.parquet") for n in range(4)],
    "tuple of paths and patterns": lambda folder, tmp: (
        folder / "part-0.parquet",
        f"{folder}/*[1-9].parquet",
    ),
    "address": lambda folder, tmp: folder.as_uri(),
    "address with a pattern": lambda folder, tmp: f"{folder.as_uri()}/part-*.parquet",
    "one file": lambda folder, tmp: written(tmp, cuts=(0, ROWS))[0],
    "dataset of Parquet": lambda folder, tmp: ds.dataset(folder),
    "dataset of IPC": lambda folder, tmp: ipc_dataset(tmp),
    "dataset in memory": lambda folder, tmp: ds.dataset(pa.Table.from_pandas(frame())),
    "lazy frame": lambda folder, tmp: pl.from_pandas(frame()).lazy().with_columns(pl.col("a") * 1.0),
    "lazy scan": lambda folder, tmp: pl.scan_parquet(folder / "*.parquet"),
    "relation": lambda folder, tmp: connected().from_arrow(pa.Table.from_pandas(frame())),
    "query": lambda folder, tmp: connected().sql(f"select * from '{folder}/*.parquet'"),
    "batches of Arrow tables": lambda folder, tmp: in_batches(),
    "record batches": lambda folder, tmp: in_batches(lambda t: t.to_batches()[0]),
    "batches of pandas": lambda folder, tmp: in_batches(lambda t: t.to_pandas()),
    "batches of polars": lambda folder, tmp: in_batches(pl.from_arrow),
    "list of batches": lambda folder, tmp: lambda: list(in_batches()()),
    "Dask": lambda folder, tmp: dd.from_pandas(frame(), npartitions=3),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("weighted", [*nightly(False), True], ids=["", "weighted"])
def test_every_source_gives_bits_of_same_rows_in_memory(folder, tmp_path, source, weighted):
    read = check(SOURCES[source](folder, tmp_path), weighted=weighted)
    provenance = read["a"].provenance
    assert (provenance.rows, provenance.passes, provenance.rank_error) == (ROWS, 2, 0.0)
    assert provenance.evaluator == "tree_exact"
    assert provenance.source
    assert provenance.skipped == ()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["xgboost", "catboost", "forest", "boosted", "asked"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_scan_every_model_gives_bits_of_same_rows_in_memory(folder, name, weighted):
    check(folder, name, weighted)


@pytest.mark.parametrize("source", ["lazy frame", "Dask", "batches of polars"])
def test_scan_function_that_is_requested_gives_same_bits_from_streams(folder, tmp_path, source):
    check(SOURCES[source](folder, tmp_path), "asked")


def test_function_sees_pandas_and_polars_of_what_polars_would_read(folder):
    seen = set()

    def spying(table):
        seen.add(type(table).__module__.partition(".")[0])
        return np.asarray(table["b"].to_numpy(), float)

    for source, library in ((folder, "pandas"), (pl.scan_parquet(folder / "*.parquet"), "polars")):
        seen.clear()
        effect = paribus.partial_dependence(spying, source, "c", grid_resolution=5)
        assert seen == {library}
        assert effect.provenance.backend == library


def test_scan_curves_of_every_row_come_in_order_of_rows(folder):
    for chosen in (model("lightgbm"), asked):
        options = {"kind": "both", "grid_resolution": 5}
        read = paribus.partial_dependence(chosen, folder, "a", **options)
        same(read, paribus.partial_dependence(chosen, held(), "a", **options))


def test_threads_do_not_change_bits_of_what_is_read(folder):
    options = {"grid_resolution": 7, "sample_weight": "w"}
    for chosen in (model("lightgbm"), asked):
        one, many = (paribus.effects(chosen, folder, NUMBERS, n_jobs=k, **options) for k in (1, 3))
        all_same(one, many)


@pytest.mark.parametrize("rows", [37, 256])
def test_blocks_of_survey_do_not_follow_files(folder, monkeypatch, rows):
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: rows)
    check(folder)
    weighted = paribus.effects(asked, folder, NUMBERS, grid_resolution=11, sample_weight="w")
    for key in NUMBERS:
        kept = in_memory("asked", True)[key]
        equal(weighted[key].average, kept.average)
        np.testing.assert_allclose(weighted[key].grid_values[0], kept.grid_values[0], rtol=1e-12)


def test_splits_verification_and_brute_force_work_on_files(folder):
    options = {"grid_resolution": "splits", "verify": True}
    read = statistic_of("partial_dependence", model("forest"), folder, "c", **options)
    same(read, statistic_of("partial_dependence", model("forest"), held(), "c", **options))
    assert read.provenance.verified_difference < 1e-9
    options = {"grid_resolution": 5, "method": "brute"}
    read = statistic_of("partial_dependence", model("forest"), folder, "c", **options)
    same(read, statistic_of("partial_dependence", model("forest"), held(), "c", **options))


@pytest.mark.nightly
def test_thousands_of_tiny_files_are_read_in_order(tmp_path):
    table = pa.Table.from_pandas(held(), preserve_index=False)
    for row in range(2_000):
        pq.write_table(table.slice(row, 1), tmp_path / f"{row:04d}.parquet")
    read = paribus.partial_dependence(model("lightgbm"), tmp_path, "a", kind="both", grid_resolution=3)
    same(
        read,
        paribus.partial_dependence(model("lightgbm"), held()[:2_000], "a", kind="both", grid_resolution=3),
    )
    assert "2,000 Parquet files" in read.provenance.source


def test_files_without_rows_and_with_one_are_files(tmp_path):
    written(tmp_path, cuts=(0, 0, 1, 1, 900, 900, ROWS, ROWS))
    check(tmp_path, weighted=True)


def test_scan_single_row_is_enough(tmp_path):
    file = written(tmp_path, cuts=(5, 6))[0]
    read = paribus.partial_dependence(model("lightgbm"), file, "c")
    same(read, paribus.partial_dependence(model("lightgbm"), held()[5:6], "c"))


def test_scan_feature_of_too_many_categories_asks_for_those_to_ask(folder, monkeypatch):
    monkeypatch.setattr(survey, "MOST_LISTED", 3)
    refused(paribus.errors.FeatureError, "'city'", "custom_values", X=folder, features="city")
    given = {"city": ["Bern", "Genf"]}
    read = paribus.partial_dependence(asked, folder, "city", custom_values=given)
    kept = paribus.partial_dependence(asked, frame()[["c", "a", "b", "city"]], "city", custom_values=given)
    same(read, kept)
    found = paribus.effects(asked, folder, grid_resolution=4)
    assert "city" not in found
    assert any("'city'" in note for note in found.notes)


def test_scan_h_statistics_go_through_rows_three_times(folder):
    assert paribus.h_statistic(model("lightgbm"), folder).provenance.passes == 3


def test_scan_h_statistics_of_function_draw_rows_they_draw_in_memory(folder):
    read = paribus.h_statistic(asked, folder, NUMBERS, subsample=40, random_state=3)
    kept = paribus.h_statistic(asked, held(), NUMBERS, subsample=40, random_state=3)
    equal(read.h_squared_pairwise, kept.h_squared_pairwise)
    assert read.provenance.sampled_rows == 40
    with pytest.raises(paribus.errors.OptionError, match="subsample=None"):
        paribus.h_statistic(asked, folder, NUMBERS, subsample=None)


def test_importance_by_effect_reads_files_and_by_permutation_does_not(folder):
    read = paribus.feature_importance(model("lightgbm"), folder)
    kept = paribus.feature_importance(model("lightgbm"), held())
    equal(read.values, kept.values)
    equal(read.standard_error, kept.standard_error)
    assert read.feature_names == kept.feature_names
    with pytest.raises(paribus.errors.TableError, match="kind='permutation' needs X in memory"):
        paribus.feature_importance(model("lightgbm"), folder, y=answer(), kind="permutation")


@pytest.mark.parametrize("stream", [False, True], ids=["files", "stream"])
def test_scan_bar_counts_rows_of_each_pass(folder, capsys, monkeypatch, stream):
    monkeypatch.setattr("paribus._executors.progress.has_bars", lambda: True)
    source = in_batches() if stream else folder
    paribus.partial_dependence(model("lightgbm"), source, "a", grid_resolution=3, progress=True)
    shown = capsys.readouterr().err
    assert "first look at the data" in shown
    assert "partial dependence" in shown
    assert "2.40k/2.40k" in shown
    paribus.partial_dependence(model("lightgbm"), source, "a", grid_resolution=3, progress=False)
    assert capsys.readouterr().err == ""


def test_what_was_read_is_recorded_and_survives_file(tmp_path):
    files = written(tmp_path / "rows")
    emptied(files[1])
    found = {
        "effect": paribus.Explainer(model("lightgbm"), tmp_path / "rows", on_error="skip").partial_dependence(
            "a", grid_resolution=4
        ),
        "strengths": paribus.Explainer(model("lightgbm"), tmp_path / "rows", on_error="skip").h_statistic(),
    }
    for name, result in found.items():
        result.save(tmp_path / name)
        again = paribus.load(tmp_path / name).provenance
        assert asdict(again) == asdict(result.provenance)
        assert again.source == result.provenance.source
        assert "3 Parquet files" in again.source
        assert again.passes in (2, 3)
        assert again.executor == "this process"
        assert len(again.model_digest) == 32
        assert len(again.skipped) == 1
        assert str(files[1]) in again.skipped[0]
    assert found["effect"].provenance.rank_error == 0.0
    assert "read from 3 Parquet files" in repr(found["effect"])


def test_fingerprint_reports_other_rows_and_not_other_files(folder, tmp_path):
    request = partial(paribus.partial_dependence, model("lightgbm"), features="a", grid_resolution=3)
    first = request(X=folder).provenance.fingerprint
    assert first == request(X=written(tmp_path / "one", cuts=(0, ROWS))[0]).provenance.fingerprint
    changed = frame().copy()
    changed.loc[7, "c"] += 1e-9
    table = pa.Table.from_pandas(changed, preserve_index=False)
    assert first != request(X=written(tmp_path / "two", table)).provenance.fingerprint


def test_scan_numbers_beyond_what_is_kept_are_thinned_and_error_is_said(folder, monkeypatch):
    monkeypatch.setattr(survey, "EXACT_ROWS", 500)
    monkeypatch.setattr(survey, "CAPACITY", 128)
    monkeypatch.setattr(survey, "LEAST_CAPACITY", 64)
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 256)
    read = paribus.effects(model("lightgbm"), folder, NUMBERS, grid_resolution=60)
    error = read["c"].provenance.rank_error
    assert 0 < error < 0.05
    values = np.sort(frame()["c"])
    ranks = np.searchsorted(values, read["c"].deciles[0]) / ROWS
    assert np.abs(ranks - np.arange(11) / 10).max() <= error + 2 / ROWS
    assert read["c"].deciles[0][[0, -1]].tolist() == values[[0, -1]].tolist()
    listed = paribus.partial_dependence(model("lightgbm"), held(), "b", grid_resolution=60)
    equal(read["b"].grid_values[0], listed.grid_values[0])
    equal(read["b"].average, listed.average)
    equal(read["b"].support, listed.support)
    # Values that were listed one by one are no estimates, and a larger max_memory would not help.
    assert [note.code for note in read["b"].notes if note.code is NoteCode.QUANTILES_ESTIMATED] == []
    (note,) = (note for note in read["c"].notes if note.code is NoteCode.QUANTILES_ESTIMATED)
    assert note.value == error
    assert note.endswith("the same as in memory, pass custom_values to a single statistic")


@pytest.mark.nightly
def test_estimated_quantiles_are_noted_once(tmp_path):
    X = np.random.default_rng(0).normal(size=(40_000, 5))
    names = [f"x{j}" for j in range(5)]
    pq.write_table(pa.table(dict(zip(names, X.T, strict=True))), tmp_path / "rows.parquet")

    def predict(rows):
        return rows["x0"].to_numpy() ** 2

    def noted(verb, features, **options):
        options = {"max_memory": "5MB", "grid_resolution": 5} | options
        found = statistic_of(verb, predict, tmp_path / "rows.parquet", features, **options)
        return found, [note for note in found.notes if note.code is NoteCode.QUANTILES_ESTIMATED]

    for verb, what in (
        ("effects", "grid points"),
        ("accumulated_local_effects", "bins"),
        ("marginal", "grid points"),
    ):
        found, (note,) = noted(verb, names)
        assert note.value == found.provenance.rank_error > 0
        assert re.fullmatch(
            f"the {what} of x0, x1, x2 and 2 more are based on estimated quantiles, whose ranks are off "
            r"by at most \d\S* % of the data; to have the same as in memory, pass custom_values to a single "
            "statistic, or a larger max_memory to Explainer",
            note,
        )
        assert note.feature is None
        assert repr(found).count("estimated quantiles") == 1
        given = {name: np.array([-1.0, 0.0, 1.0]) for name in names}
        assert noted(verb, names, custom_values=given)[1] == []
        assert noted(verb, names, max_memory=None)[1] == []
    one, (note,) = noted("partial_dependence", "x3", max_memory="2MB")
    assert (note.feature, note.value) == ("x3", one.provenance.rank_error)
    assert note.startswith("the grid points of x3 are based on")
    assert noted("partial_dependence", "x3", percentiles=(0, 1))[1] == []


def test_scan_empty_first_batch_reports_nothing():
    def batches():
        yield pd.DataFrame({"a": [], "b": []})
        yield pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})

    found = paribus.effects(lambda X: X["a"], batches)
    assert set(found) == {"a", "b"}


def test_scan_query_is_not_begun_more_often_than_it_takes(monkeypatch):
    begun = []

    def batches():
        begun.append(1)
        yield pa.table({"a": np.arange(50.0)})

    found = paribus.effects(lambda X: X["a"], batches, ["a"])
    assert (found["a"].provenance.passes, len(begun)) == (2, 3)  # once more to know its columns


def test_scan_without_pandas_model_is_shown_arrow(folder, monkeypatch):
    monkeypatch.setattr("paribus._data.scan.source.find_spec", lambda name: None)
    seen = set()

    def model_of_arrow(table):
        seen.add(type(table))
        return table["c"].to_numpy()

    have = paribus.partial_dependence(model_of_arrow, folder, "c", grid_resolution=5)
    want = paribus.partial_dependence(lambda X: X["c"], frame(), "c", grid_resolution=5)
    assert seen == {pa.Table}
    assert np.array_equal(have.average, want.average)


def test_scan_only_rows_requested_for_are_decoded(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": np.arange(300_000.0)}), tmp_path / "x.parquet", row_group_size=300_000)
    decoded = []
    kept = parquet.conformed
    monkeypatch.setattr(parquet, "conformed", lambda t, *rest: decoded.append(len(t)) or kept(t, *rest))
    files = parquet.parquet_files(tmp_path / "x.parquet", "raise")
    batches = [len(batch) for batch in files.batches(("a",), 10, 20)]
    assert batches == decoded == [10]


def test_drawn_statistic_reads_once_to_know_rows_and_once_to_draw(folder):
    found = paribus.h_statistic(asked, folder, NUMBERS, subsample=40)
    assert (found.provenance.passes, found.provenance.sampled_rows) == (2, 40)

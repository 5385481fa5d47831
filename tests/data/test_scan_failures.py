"""Files that are damaged, gone or changed, batches that do not fit, and what cannot be read."""

import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import paribus
from paribus._data.scan import parquet
from paribus._data.scan.parquet import ParquetFiles
from paribus._evaluators import survey
from scan_examples import (
    NUMBERS,
    ROWS,
    all_same,
    asked,
    check,
    emptied,
    equal,
    frame,
    held,
    in_batches,
    model,
    refused,
    same,
    written,
)
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


def truncated(file):
    file.write_bytes(file.read_bytes()[:-200])


def replaced(file):
    file.write_text("a,b,c\n1,2,3\n" * 50)


def without_a_column(file):
    pq.write_table(pq.read_table(file).drop_columns(["b"]), file)


def of_other_type(file):
    table = pq.read_table(file)
    place = table.schema.get_field_index("b")
    pq.write_table(table.set_column(place, "b", table["b"].cast(pa.string())), file)


def damaged(file):
    """Flip bytes of a data page in the middle of the file; the footer stays as it was."""
    data = bytearray(file.read_bytes())
    footer = pq.ParquetFile(file).metadata
    place = footer.row_group(footer.num_row_groups // 2).column(1)
    first = place.dictionary_page_offset or place.data_page_offset
    for k in range(first, first + place.total_compressed_size):
        data[k] ^= 0xFF
    file.write_bytes(bytes(data))


DAMAGE = [truncated, emptied, replaced, without_a_column, of_other_type, damaged]


@pytest.mark.parametrize("place", [0, 3], ids=["first", "last"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_bad_file_is_named_with_what_is_wrong_and_way_out(tmp_path, damage, place):
    files = written(tmp_path)
    damage(files[place])
    message = refused(paribus.errors.SourceError, str(files[place]), X=tmp_path, chosen=model("lightgbm"))
    assert "on_error='skip'" in message
    if damage in (without_a_column, of_other_type):
        assert "'b'" in message


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("verb", ["effects", "h_statistic"])
def test_bad_file_that_is_skipped_is_reported_and_none_of_its_rows_count(tmp_path, damage, verb):
    files = written(tmp_path, cuts=(0, 300, 700, 1_000, 1_300, 2_000, ROWS))
    damage(files[1])
    damage(files[0])
    options = {} if verb == "h_statistic" else {"grid_resolution": 7}
    read = statistic_of(verb, model("lightgbm"), tmp_path, NUMBERS, on_error="skip", **options)
    kept = statistic_of(verb, model("lightgbm"), files[2:], NUMBERS, **options)
    one = read["a"] if verb == "effects" else read
    assert one.provenance.rows == ROWS - 700
    assert sorted(text.split()[0] for text in one.provenance.skipped) == [str(f) for f in files[:2]]
    assert any("skipped 2 files: " in note and str(files[0]) in note for note in one.notes)
    if verb == "effects":
        all_same(read, kept)
    else:
        equal(read.h_squared_pairwise, kept.h_squared_pairwise)


def test_of_many_skipped_files_note_names_few(tmp_path):
    files = written(tmp_path, cuts=tuple(range(0, 700, 100)))
    for file in files[:5]:
        emptied(file)
    read = paribus.Explainer(asked, tmp_path, on_error="skip").partial_dependence("a", grid_resolution=3)
    assert len(read.provenance.skipped) == 5
    assert any("skipped 5 files: " in note and "and 2 more" in note for note in read.notes)


def test_if_every_file_is_bad_there_is_nothing_to_skip_to(tmp_path):
    for file in written(tmp_path):
        emptied(file)
    refused(paribus.errors.SourceError, "none of 4 files", "part-0.parquet", X=tmp_path, on_error="skip")


def test_if_every_file_turns_out_bad_there_is_nothing_to_skip_to(tmp_path):
    for file in written(tmp_path, cuts=(0, 1200, ROWS)):
        damaged(file)
    refused(
        paribus.errors.TableError, "part-0.parquet", X=tmp_path, on_error="skip", chosen=model("lightgbm")
    )


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("midway", [False, True], ids=["at first", "midway"])
def test_read_that_fails_now_and_then_gives_same_bits(folder, monkeypatch, failures, midway):
    read, tries = ParquetFiles._read, {}

    def flaky(self, file, columns, first, stop):
        for number, table in enumerate(read(self, file, columns, first, stop)):
            if number == midway:
                tries[file.path, first] = tries.get((file.path, first), 0) + 1
                if tries[file.path, first] <= failures:
                    raise OSError("the network is gone")
            yield table

    monkeypatch.setattr(ParquetFiles, "_read", flaky)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 100)
    check(folder, weighted=True)
    assert tries


def test_read_that_always_fails_names_file_and_its_rows(folder, monkeypatch):
    read, tries = ParquetFiles._read, []

    def broken(self, file, columns, first, stop):
        if file.path.endswith("part-2.parquet"):
            tries.append(first)
            raise OSError("the network is gone")
        yield from read(self, file, columns, first, stop)

    monkeypatch.setattr(ParquetFiles, "_read", broken)
    refused(paribus.errors.SourceError, "part-2.parquet", "rows 0 to", "the network is gone", X=folder)
    assert len(tries) == parquet.TRIES


def test_file_that_shrinks_between_passes_is_noticed(tmp_path, monkeypatch):
    files = written(tmp_path)
    finish = survey.Survey.finish

    def shrinking(self, *arguments):
        pq.write_table(pq.read_table(files[3]).slice(0, 3), files[3])
        return finish(self, *arguments)

    monkeypatch.setattr(survey.Survey, "finish", shrinking)
    refused(paribus.errors.SourceError, str(files[3]), X=tmp_path)


def test_no_file_where_path_points_is_said(tmp_path):
    missing = tmp_path / "nowhere.parquet"
    refused(paribus.errors.SourceError, str(missing), "no such file", X=missing)
    refused(paribus.errors.SourceError, "*.parquet", "no file matches", X=tmp_path / "*.parquet")
    refused(paribus.errors.SourceError, str(tmp_path), "no files", X=tmp_path)
    refused(paribus.errors.SourceError, "nowhere.parquet", X=[missing])
    refused(paribus.errors.SourceError, "wrong://x", X="wrong://x/y.parquet")


def test_files_without_single_row_are_said_to_have_none(tmp_path):
    written(tmp_path, cuts=(0, 0, 0))
    for chosen in (asked, model("lightgbm")):
        refused(paribus.errors.TableError, "no rows", X=tmp_path, chosen=chosen)
        with pytest.raises(paribus.errors.TableError, match="no rows"):
            paribus.h_statistic(chosen, tmp_path)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost", "forest"])
def test_column_model_was_fitted_on_and_no_file_has_is_named(tmp_path, name):
    table = pa.Table.from_pandas(held(), preserve_index=False)
    written(
        tmp_path, table.rename_columns(["renamed" if name == "b" else name for name in table.column_names])
    )
    refused(paribus.ParibusError, "'b'", X=tmp_path, chosen=model(name))


def test_scan_functions_that_yield_no_tables_are_refused():
    refused(paribus.errors.SourceError, "yields no batch", X=lambda: iter(()))
    refused(paribus.errors.SourceError, "int", "iterator of batches", X=lambda: 3)
    refused(paribus.errors.SourceError, "batch 0", "dict", "Arrow", X=lambda: iter([{"a": [1.0]}]))
    refused(paribus.errors.SourceError, "batch 2", "str", X=lambda: iter([held(), held(), "end"]))


def test_scan_generator_instead_of_function_is_reported_what_to_pass():
    refused(paribus.errors.TableError, "function", X=in_batches()())


def test_scan_function_that_returns_same_iterator_twice_is_refused():
    batches = in_batches()()
    refused(paribus.errors.TableError, "iterator", X=lambda: batches)


def test_scan_function_that_yields_fewer_rows_when_it_is_requested_again_is_refused(monkeypatch):
    finish, last = survey.Survey.finish, [ROWS]

    def shrinking(self, *arguments):
        last[0] = 600
        return finish(self, *arguments)

    monkeypatch.setattr(survey.Survey, "finish", shrinking)
    refused(
        paribus.errors.SourceError, "rows", X=lambda: (held()[k : k + 300] for k in range(0, last[0], 300))
    )


def test_scan_batches_of_another_schema_are_named_with_their_column():
    other = held().assign(b=held()["b"].astype(str))
    refused(paribus.errors.SourceError, "batch 1", "'b'", "string", "int64", X=lambda: iter([held(), other]))
    less = held().drop(columns="c")
    refused(paribus.errors.SourceError, "batch 1", "'c'", X=lambda: iter([held(), less]))


def test_scan_partitions_of_another_schema_are_named_with_their_column():
    parts = [held()[:1_000], held()[1_000:].assign(b="text")]
    mixed = dd.from_map(lambda number: parts[number], [0, 1], meta=held()[:0])
    refused(paribus.errors.SourceError, "partition 1", "'b'", X=mixed)


def test_small_dask_partitions_are_read():
    few = frame()[:90]
    read = paribus.partial_dependence(asked, dd.from_pandas(few, npartitions=6), "c", grid_resolution=5)
    same(read, paribus.partial_dependence(asked, few, "c", grid_resolution=5))


def test_scan_weights_that_are_none_are_refused_with_their_row(tmp_path):
    values = {"negative": -1.0, "nan": np.nan, "infinite": np.inf}
    for name, value in values.items():
        weights = np.ones(ROWS)
        weights[1_234] = value
        written(tmp_path / name, pa.Table.from_pandas(frame().assign(w=weights), preserve_index=False))
        refused(paribus.errors.WeightError, "'w'", "row 1234", X=tmp_path / name, sample_weight="w")
    written(tmp_path / "text", pa.Table.from_pandas(frame().assign(w="heavy"), preserve_index=False))
    refused(paribus.errors.WeightError, "'w'", "string", X=tmp_path / "text", sample_weight="w")
    written(tmp_path / "zero", pa.Table.from_pandas(frame().assign(w=0.0), preserve_index=False))
    refused(paribus.errors.WeightError, "'w'", "zero in every row", X=tmp_path / "zero", sample_weight="w")


def test_weights_of_what_is_read_are_column(folder):
    refused(paribus.errors.WeightError, "'weight'", "not a column", X=folder, sample_weight="weight")
    refused(
        paribus.errors.WeightError,
        "sample_weight must be the name of a column",
        X=folder,
        sample_weight=np.ones(ROWS),
    )
    refused(paribus.errors.WeightError, "'w'", "not a column of X", X=held(), sample_weight="w")


def test_options_of_what_is_read_are_checked(folder, tmp_path):
    refused(paribus.errors.OptionError, "on_error='ignore'", "'skip'", X=folder, on_error="ignore")
    refused(paribus.errors.OptionError, "executor=4", "Client", X=folder, executor=4)
    refused(paribus.errors.OptionError, "checkpoint", "in-memory", X=held(), checkpoint=tmp_path)
    refused(paribus.errors.OptionError, "checkpoint=3", X=folder, checkpoint=3)
    (tmp_path / "file").write_text("")
    refused(paribus.errors.OptionError, "cannot be a folder", X=folder, checkpoint=tmp_path / "file")
    refused(paribus.errors.FeatureError, "did you mean 'city'", X=folder, features="cities")


def test_file_given_twice_is_refused(folder):
    file = next(folder.glob("*.parquet"))
    with pytest.raises(paribus.errors.SourceError, match="more than once"):
        paribus.effects(asked, [file, str(folder / "*.parquet")], ["a"])


def test_scan_whatever_fails_on_way_is_said_to_be_x():
    def failing():
        yield pa.table({"a": [1.0, 2.0]})
        raise ConnectionError("the line is dead")

    with pytest.raises(paribus.errors.SourceError, match=r"X \(batches of a function\).*the line is dead"):
        paribus.effects(lambda X: X["a"], failing, ["a"])


def test_scan_too_many_categories_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MOST_CATEGORIES", 40)
    monkeypatch.setattr(survey, "SURVEY_BYTES", 1)
    codes = pa.array([f"id{i // 20}" for i in range(2_000)]).dictionary_encode()
    pq.write_table(
        pa.table({"a": np.arange(2_000.0), "id": codes}), tmp_path / "x.parquet", row_group_size=500
    )
    with pytest.raises(paribus.errors.TableError, match="more than 40 categories"):
        paribus.effects(lambda X: X["a"], tmp_path / "x.parquet", ["a"])


def test_file_that_changes_between_passes_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.arange(500.0)}), file)

    finish = survey.Survey.finish

    def finished(self, reading, state):
        found = finish(self, reading, state)
        pq.write_table(pa.table({"a": np.arange(500.0) + 1}), file)
        return found

    monkeypatch.setattr(survey.Survey, "finish", finished)
    with pytest.raises(paribus.errors.SourceError, match="was written anew"):
        paribus.effects(lambda X: X["a"], file, ["a"], grid_resolution=3)

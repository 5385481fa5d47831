"""What rows, blocks and engines promise, whoever implements it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from paribus.contracts import Blocks
from paribus.data.background import Background
from paribus.data.read import source_of, table_of
from paribus.data.rows import rows_of
from paribus.data.scan.reading import Reading
from paribus.evaluators.survey import Survey
from paribus.executors import Local
from paribus.states import Keyed

ROWS, COLUMNS = 600, ("a", "b", "c")


def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=list(COLUMNS))
    return table.assign(
        y=rng.normal(size=ROWS), w=np.where(rng.random(ROWS) < 0.2, 0.0, rng.gamma(1.0, size=ROWS))
    )


def in_memory(weighted=True):
    table = frame()
    rows = rows_of(table_of(table[list(COLUMNS)]), table["w"] if weighted else None)
    return replace(rows, target=table["y"].to_numpy())


def scanned(folder, weighted=True):
    frame().to_parquet(folder / "rows.parquet", row_group_size=100)
    source = source_of(str(folder), "raise")
    reading = Reading(source, COLUMNS, COLUMNS, "w" if weighted else None, target=("y",))
    reading = replace(reading, source=source.project(reading.read, "raise"), unit=reading.first_unit())
    survey = Survey.of(reading, {}, 0, None, reading.head())
    state = Local().fold(survey, reading.blocks(128), Keyed({}))
    return survey.finish(reading, state)[0]


def members(protocol):
    return {name for name in vars(protocol) if not name.startswith("_") or name in ("__len__", "__iter__")}


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_memory_and_rows_that_are_read_have_one_interface(tmp_path, weighted):
    held, read = in_memory(weighted), scanned(tmp_path, weighted)
    assert isinstance(held, Background)
    assert isinstance(read, Background)
    assert held.in_memory
    assert not read.in_memory
    for name in ("counted", "weighted", "header", "n_targets", "skipped"):
        assert getattr(held, name) == getattr(read, name), name
    assert len(held) == len(read) == ROWS
    assert held.total * held.unit == pytest.approx(read.total * read.unit, rel=1e-12)
    assert held.rank_error == 0.0 <= read.rank_error
    assert (held.source_label, held.stamp, held.target_columns) == (None, None, ())
    assert "rows.parquet" in read.source_label
    assert read.stamp is not None
    assert read.target_columns == ("y",)
    facts = [rows.weight_facts() for rows in (held, read)]
    assert facts == [None, None] if not weighted else facts[0] == pytest.approx(facts[1], rel=1e-12)
    assert all(isinstance(rows.fingerprint(), str) for rows in (held, read))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [37, None])
def test_a_subsample_is_the_same_rows_in_memory_and_read(tmp_path, weighted, size):
    held, read = in_memory(weighted), scanned(tmp_path, weighted)
    one, two = (rows.subsample(size, 3) for rows in (held, read))
    assert one.in_memory
    assert two.in_memory
    assert len(one) == len(two) == (held.counted if size is None else size)
    for feature in range(len(COLUMNS)):
        np.testing.assert_array_equal(one.table.column(feature).values, two.table.column(feature).values)
    if weighted:
        np.testing.assert_array_equal(one.weights * one.unit, two.weights * two.unit)
    np.testing.assert_array_equal(held.sample(50, 0).numbers, read.sample(50, 0).numbers)
    np.testing.assert_array_equal(held.few(0).column(0).values, read.few(0).column(0).values)


def test_an_interface_misses_no_member_that_its_implementations_lack(tmp_path):
    class Half:
        table = None

    assert not isinstance(Half(), Background)
    for rows in (in_memory(), scanned(tmp_path)):
        assert all(hasattr(rows, name) for name in members(Background))
        blocks = rows.blocks(64)
        assert all(hasattr(blocks, name) for name in members(Blocks))

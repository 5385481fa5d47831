"""What works where pyarrow is not installed, and the error of everything else.

Tables in memory need no pyarrow: their numbers are those with pyarrow, to the last bit.
"""

import json
import subprocess
import sys

import duckdb
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest

import arrowless
import paribus
from paribus._command.files import read_data


@pytest.fixture
def without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_numbers_of_tables_in_memory_are_those_with_pyarrow():
    run = subprocess.run([sys.executable, arrowless.__file__], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    have, want = json.loads(run.stdout), arrowless.results()
    assert len(have) >= 18
    assert have == want


@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize(
    "source",
    [
        lambda folder: folder / "x.parquet",
        lambda folder: "s3://bucket/x.parquet",
        lambda folder: pl.LazyFrame({"a": [1.0, 2.0]}),
        lambda folder: duckdb.sql("select 1.0 as a"),
        lambda folder: lambda: iter([pd.DataFrame({"a": [1.0, 2.0]})]),
    ],
    ids=["path", "address", "lazy frame", "query", "function"],
)
def test_sources_that_are_read_in_blocks_name_the_extra(tmp_path, source):
    with pytest.raises(paribus.errors.SourceError, match=r"needs pyarrow; pip install 'paribus\[parquet\]'$"):
        paribus.partial_dependence(np.sum, source(tmp_path), 0)


@pytest.mark.usefixtures("without_pyarrow")
def test_data_of_the_command_line_names_the_extra(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(paribus.errors.SourceError, match=r"data.csv needs pyarrow; pip install 'paribus\["):
        read_data(str(tmp_path / "data.csv"))


def test_polars_table_for_a_model_of_pandas_categories_names_the_extra(monkeypatch):
    X = pd.DataFrame({"a": np.arange(60.0), "c": pd.Categorical(["x", "y", "z"] * 20)})
    model = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(X, X["a"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        paribus.errors.TableError, match=r"from polars to pandas, .* needs pyarrow; pip install"
    ):
        paribus.partial_dependence(model, pl.DataFrame({"a": X["a"].to_list(), "c": X["c"].to_list()}), "a")


def test_table_of_a_result_needs_one_library_and_names_it(monkeypatch):
    effect = paribus.partial_dependence(lambda t: t[:, 0], np.eye(9), 0)
    for installed in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(paribus.errors.OptionError, match=r"needs pyarrow; pip install pyarrow$"):
            effect.to_frame(backend="pyarrow")
        assert type(effect.to_frame()).__module__.startswith(("pandas", "polars"))
        monkeypatch.setitem(sys.modules, installed, None)
    with pytest.raises(
        paribus.errors.OptionError, match=r"needs pandas or polars or pyarrow; pip install pandas$"
    ):
        effect.to_frame()

"""Tables for readers: which columns they have, how numbers are written, how text is aligned."""

import numpy as np
import pytest

from paribus.results.text_table import table_lines, text_table

NAN = float("nan")


def test_standard_error_is_in_the_cell_of_the_number_before_it():
    columns = {
        "feature": ["a", "b"],
        "value": np.array([25.5634, NAN]),
        "standard_error": np.array([0.5552, NAN]),
        "missing": [NAN, NAN],
        "missing_error": [1.0, 1.0],
        "rows": [12_000, 3],
    }
    table = text_table(columns)
    assert [column.head for column in table] == ["feature", "value", "rows"]
    assert [column.cells for column in table] == [["a", "b"], ["25.6 ± 0.56", "–"], ["12,000", "3"]]
    assert [column.names for column in table] == [True, False, False]


@pytest.mark.parametrize(("outputs", "shown"), [(["p", "p"], False), (["p", "q"], True)])
def test_output_is_a_column_if_there_are_several(outputs, shown):
    heads = [column.head for column in text_table({"output": outputs, "h_squared": [0.1, 0.2]})]
    assert heads == ["output"] * shown + ["H²"]


def test_lines_are_aligned_and_count_the_rows_that_are_left_out():
    columns = {"feature": ["日本", "e\u0301", "x" * 50, "d"], "value": [1.0, 2.0, 3.0, 4.0]}
    assert list(table_lines(columns, 2)) == ["feature  value", "日本     1", "e\u0301        2", "and 2 more"]
    assert list(table_lines(columns, 3))[3] == f"{'x' * 39}…  3"
    assert list(table_lines({"feature": []}, 2)) == []


def test_text_cannot_control_a_terminal():
    assert list(table_lines({"feature": ["\x1b[31m"]}, 1)) == ["feature", "\\x1b[31m"]

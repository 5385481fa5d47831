"""Tables in which groups of columns are one feature: names of combinations, cells and stacks."""

import numpy as np
import pandas as pd
import pytest

from paribus._data import column_groups as grouped
from paribus._data.column_groups import GroupedTable, one_hot_groups, owners_of
from paribus._data.read import table_of
from paribus._data.table import ScratchBuffer

NAN = np.nan


def categories(columns, name="city"):
    table = GroupedTable.of(table_of(pd.DataFrame(columns)), {name: tuple(range(len(columns)))})
    column = table.column(0)
    labels = np.full(len(table), None, dtype=object)
    labels[~column.missing] = column.values
    return column.categories, labels.tolist()


@pytest.mark.parametrize(
    ("columns", "known", "rows"),
    [
        ({"city_A": [1, 0, 0], "city_B": [0, 1, 0]}, ("A", "B", "none"), ["A", "B", "none"]),
        ({"city_A": [True, False], "city_B": [False, True]}, ("A", "B"), ["A", "B"]),
        ({"city_none": [1, 0], "city_B": [0, 0]}, ("city_none", "none"), ["city_none", "none"]),
        ({"city_new_a": [1, 0], "city_new_b": [0, 1]}, ("new_a", "new_b"), ["new_a", "new_b"]),
        ({"x=Aa": [1, 0], "x=Ab": [0, 1]}, ("Aa", "Ab"), ["Aa", "Ab"]),
        ({"north": [1, 0], "south": [0, 1]}, ("north", "south"), ["north", "south"]),
        ({"city_A": [1, 1, 0], "city_B": [1, 0, 1]}, ("A", "B", "A + B"), ["A + B", "A", "B"]),
        ({"city_A": [1.0, NAN, 0.0], "city_B": [0.0, NAN, 0.0]}, ("A", "none"), ["A", None, "none"]),
        (
            {"city_A": [1.0, NAN], "city_B": [0.0, 0.0]},
            ("(1.0, 0.0)", "(missing, 0.0)"),
            ["(1.0, 0.0)", "(missing, 0.0)"],
        ),
        (
            {"a": [2, 1, 2], "b": [0.5, 3, 0.1]},
            ("(1, 3.0)", "(2, 0.1)", "(2, 0.5)"),
            ["(2, 0.5)", "(1, 3.0)", "(2, 0.1)"],
        ),
        ({"a": ["q", "p"], "b": [0, 0]}, ("(p, 0)", "(q, 0)"), ["(q, 0)", "(p, 0)"]),
        (
            {"a": ["x, y", "x"], "b": ["z", "y, z"]},
            ("('x', 'y, z')", "('x, y', 'z')"),
            ["('x, y', 'z')", "('x', 'y, z')"],
        ),
    ],
)
def test_combinations_are_named(columns, known, rows):
    assert categories(columns) == (known, rows)


def test_many_values_do_not_overflow(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 50, (400, 4))
    columns = {f"c{j}": values[:, j] for j in range(4)}
    whole = categories(columns)
    monkeypatch.setattr(grouped, "MOST_CODES", 100)
    assert categories(columns) == whole
    assert whole[1] == [str(tuple(row)) for row in values.tolist()]


def test_table_has_feature_in_place_of_first_column():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0, 1], "c": ["x", "y"], "d": [1, 0]})
    table = GroupedTable.of(table_of(frame), {"bd": (3, 1), "text": (2,)})
    assert table.names == ("a", "text", "bd")
    assert owners_of(table) == (0, 2, 1, 2)
    assert owners_of(table.whole) == (0, 1, 2, 3)
    assert table.native is frame
    assert table.column(1).name == "text"
    assert table.column(2).categories == ("d", "b")
    assert len(set(table.digests)) == 3


@pytest.mark.parametrize("kind", ["pandas", "array"])
def test_stack_sets_all_columns(kind):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "c": [1.0, 0.0, 0.0]})
    table = GroupedTable.of(table_of(frame if kind == "pandas" else frame.to_numpy()), {"bc": (1, 2)})
    cells = table.cells(1, np.array(table.column(1).categories, dtype=object))
    made = np.asarray(table.slice(1, 3).stack(3, ScratchBuffer()).at({1: cells}, np.array([[0], [1], [2]])))
    assert made[:, 0].tolist() == [2.0, 3.0] * 3
    assert made[:, 1:].tolist() == [[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 2 + [[0.0, 0.0]] * 2
    own = table.own_cells(1)
    mixed = np.asarray(table.stack(1, ScratchBuffer()).at({1: own}, np.array([[[2], [0], [1]]])))
    assert mixed.tolist() == [[1.0, 0.0, 0.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]]


def test_one_hot_groups_by_longest_shared_beginning():
    rng = np.random.default_rng(0)
    pet, other = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {"has_dog_big": pet == 0, "has_dog_small": pet == 1, "has_cat": other == 0, "x": pet == 2}
    ).astype(float)
    assert one_hot_groups(table_of(frame), range(4)) == {"has_dog": [0, 1]}

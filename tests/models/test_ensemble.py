"""Trees in one form: what columns become, where rows go, and arrays that are no trees."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus._data.read import table_of
from paribus._models.ensemble import LEAF, ZERO, CategorySet, Encoding, Ensemble
from paribus._models.predictor import Link
from paribus.errors import ModelError, RefusalError

NAN = np.nan


def ensemble(**changes):
    """Two trees of two margins: x0 <= 1, then x1 in a set, and x0 <= 5."""
    facts = {
        "roots": np.array([0, 5]),
        "column": np.array([0, LEAF, 1, LEAF, LEAF, 0, LEAF, LEAF]),
        "threshold": np.array([1.0, NAN, NAN, NAN, NAN, 5.0, NAN, NAN]),
        "left": np.array([1, -9, 3, -9, -9, 6, -9, -9]),
        "right": np.array([2, -9, 4, -9, -9, 7, -9, -9]),
        "missing_left": np.array([True, False, False, False, False, False, False, False]),
        "value": np.array([NAN, 1.0, NAN, 2.0, 4.0, NAN, 8.0, 16.0])[:, None],
        "output": np.array([0, 1]),
        "base": np.array([0.5, 0.25]),
        "encodings": (Encoding(0), Encoding(1)),
        "links": {"predict": Link()},
        "category_set": np.array([-1, -1, 0, -1, -1, -1, -1, -1]),
        "category_sets": (CategorySet(np.array([2, 3])),),
    }
    return Ensemble(**facts | changes)


ROWS = np.array([[1.0, 0.0], [1.5, 2.0], [1.5, 7.0], [9.0, 3.0], [NAN, NAN], [9.0, NAN]])
MARGINS = np.array([[1.5, 8.25], [2.5, 8.25], [4.5, 8.25], [2.5, 16.25], [1.5, 16.25], [4.5, 16.25]])


def test_margins_are_sums_of_the_leaves_that_rows_reach():
    trees = ensemble()
    assert trees.leaves(ROWS).tolist() == [[1, 6], [3, 6], [4, 6], [3, 7], [1, 7], [4, 7]]
    np.testing.assert_array_equal(trees.margins(ROWS), MARGINS)
    assert trees.tree.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert trees.n_margins == 2
    table = table_of(ROWS)
    np.testing.assert_array_equal(trees.margins(trees.numbers(table)), MARGINS)
    other = replace(trees, category_sets=(CategorySet(np.array([2, 3]), listed_left=False),))
    assert other.leaves(ROWS)[:4, 0].tolist() == [1, 4, 3, 4]


def test_leaves_of_several_values_add_to_all_margins():
    value = np.stack([ensemble().value[:, 0], -ensemble().value[:, 0]], axis=1)
    found = ensemble(value=value).margins(ROWS)
    sums = MARGINS.sum(axis=1) - 0.75
    np.testing.assert_array_equal(found, np.stack([0.5 + sums, 0.25 - sums], axis=1))


def test_order_of_nodes_does_not_matter():
    trees = ensemble()
    order = np.random.default_rng(0).permutation(8)
    place = np.append(np.argsort(order), -9)
    facts = {
        name: getattr(trees, name)[order]
        for name in ("column", "threshold", "missing_left", "value", "category_set")
    }
    facts |= {name: place[getattr(trees, name)[order]] for name in ("left", "right")}
    moved = ensemble(roots=place[trees.roots], **facts)
    np.testing.assert_array_equal(moved.margins(ROWS), MARGINS)
    assert moved.tree[place[:8]].tolist() == trees.tree.tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"roots": np.array([0, 5, 8])}, "differ in length"),
        ({"roots": np.array([0, 8])}, "roots out of range"),
        ({"roots": np.array([[0, 5]])}, "roots are not a list of integers"),
        ({"left": np.full(8, 1.5)}, "left are not a list of integers"),
        ({"value": np.zeros(8)}, "leaves are not a table"),
        ({"base": np.zeros((1, 2))}, "leaves are not a table"),
        ({"value": np.zeros((8, 3))}, "leaves of 3 values for 2 margins"),
        ({"threshold": np.zeros(7)}, "differ in length"),
        ({"cover": np.zeros(7)}, "differ in length"),
        ({"output": np.array([0])}, "differ in length"),
        ({"output": np.array([0, 2])}, "outputs out of range"),
        ({"output": np.array([0, -1])}, "outputs out of range"),
        ({"encodings": (Encoding(0), Encoding(True))}, "some column has no number"),
        ({"encodings": (Encoding(0), Encoding("a"))}, "some column has no number"),
        ({"encodings": (Encoding(0), Encoding(-1))}, "columns out of range"),
        ({"encodings": (Encoding(0),)}, "columns out of range"),
        ({"column": np.array([0, -2, 1, LEAF, LEAF, 0, LEAF, LEAF])}, "columns out of range"),
        ({"category_sets": ()}, "sets of categories out of range"),
        ({"category_set": np.array([-1, -1, -2, -1, -1, -1, -1, -1])}, "sets of categories out of range"),
        ({"left": np.array([1, -9, 8, -9, -9, 6, -9, -9])}, "children out of range"),
        ({"left": np.array([-1, -9, 3, -9, -9, 6, -9, -9])}, "children out of range"),
        ({"left": np.array([3, -9, 3, -9, -9, 6, -9, -9])}, "no parent, or several"),
        ({"threshold": np.array([NAN, 0, 0, 0, 0, 5.0, 0, 0])}, "a threshold is NaN"),
        ({"value": np.array([0, np.inf, 0, 2.0, 4.0, 0, 8.0, 16.0])[:, None]}, "is not finite"),
        ({"base": np.array([np.inf, 0.0])}, "is not finite"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(changes, words):
    with pytest.raises(RefusalError, match=words):
        ensemble(**changes)


def test_node_that_is_its_own_ancestor_is_refused():
    column = np.array([LEAF, 0, 0, 0, LEAF, LEAF, LEAF])
    left, right = np.array([-9, 2, 3, 1, -9, -9, -9]), np.array([-9, 4, 5, 6, -9, -9, -9])
    facts = {"threshold": np.zeros(7), "missing_left": np.zeros(7, bool), "value": np.zeros((7, 1))}
    with pytest.raises(RefusalError, match="some node is its own ancestor"):
        ensemble(
            roots=np.array([0]), column=column, left=left, right=right, output=np.array([0]),
            category_set=np.full(7, -1), **facts,
        )  # fmt: skip
    # A parent after its children is none.
    upside = ensemble(
        roots=np.array([2]), column=np.array([LEAF, LEAF, 0]), left=np.array([-9, -9, 0]), right=np.array([-9, -9, 1]),
        threshold=np.zeros(3), missing_left=np.zeros(3, bool), value=np.array([[1.0], [2.0], [NAN]]),
        output=np.array([0]), category_set=np.full(3, -1),
    )  # fmt: skip
    assert upside.margins(np.array([[0.0, 0.0], [1.0, 0.0]]))[:, 0].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8"])
@pytest.mark.parametrize("single", [False, True])
def test_sides_of_a_split_are_neighbors_that_part(dtype, single):
    kind = np.dtype(dtype)
    thresholds = np.array([1.0, NAN, NAN, NAN, NAN, 5.3, NAN, NAN])
    trees = ensemble(threshold=thresholds, encodings=(Encoding(0, single=single), Encoding(1)))
    sides = trees.sides(0, kind)
    assert sides.dtype == kind
    assert len(sides) == 4
    numbers = Encoding(0, single=single).read(table_of(pd.DataFrame({"x": sides})))
    for threshold, (last, first) in zip([1.0, 5.3], numbers.reshape(2, 2), strict=True):
        assert last <= threshold < first
    following = sides[::2] + 1 if kind.kind == "i" else np.nextafter(sides[::2], np.array(np.inf, kind))
    assert sides[1::2].tolist() == following.tolist()
    assert trees.sides(0, kind, np.array([0])).tolist() == sides[:2].tolist()
    assert len(trees.sides(1, kind)) == 0  # a set of categories has no sides


def test_zero_that_is_missing_has_sides():
    trees = ensemble(encodings=(Encoding(0, zero_is_missing=True), Encoding(1)))
    sides = trees.sides(0, np.dtype("f8"))
    assert len(sides) == 8
    assert ZERO in sides
    assert -ZERO in sides


COLUMN = pd.DataFrame({"x": [0.0, 1.75, -2.5, np.nan, 1e-40, np.inf]})


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [0.0, 1.75, -2.5, NAN, 1e-40, np.inf]),
        ({"whole": True}, [0.0, 1.0, -2.0, NAN, 0.0, np.inf]),
        ({"missing": -1.0}, [0.0, 1.75, -2.5, -1.0, 1e-40, np.inf]),
        ({"zero_is_missing": True}, [NAN, 1.75, -2.5, NAN, NAN, np.inf]),
        ({"single": True}, [0.0, 1.75, -2.5, NAN, float(np.float32(1e-40)), np.inf]),
    ],
)
def test_columns_become_the_numbers_that_nodes_compare(options, want):
    encoding = Encoding(0, **options)
    table = table_of(COLUMN)
    np.testing.assert_array_equal(encoding.read(table), want)
    np.testing.assert_array_equal(encoding.numbers(table.column(0)), want)


def test_columns_that_a_library_refuses_are_refused():
    table = table_of(COLUMN)
    for strict, words in (
        (Encoding(0, accepts_missing=False), "missing"),
        (Encoding(0, accepts_infinite=False), "infinite"),
    ):
        assert strict.strict
        for read in (lambda one: one.read(table), lambda one: one.numbers(table.column(0))):
            with pytest.raises(ModelError, match=f"'x'.*{words}"):
                read(strict)
    assert not Encoding(0).strict
    dates = table_of(pd.DataFrame({"day": pd.to_datetime(["2026-01-01"]), "word": ["a"]}))
    for column in (0, 1):
        with pytest.raises(RefusalError, match="which the trees know as a number"):
            Encoding(column).read(dates)


def test_categories_become_their_numbers():
    words = pd.DataFrame(
        {"w": pd.Categorical(["b", "a", None, "c"], ["c", "b", "a"]), "t": ["b", "a", None, "z"]}
    )
    table = table_of(words)
    np.testing.assert_array_equal(Encoding(0, categories="declared").read(table), [1.0, 2.0, NAN, 0.0])
    known = {"a": 5.0, "b": 6.0}
    np.testing.assert_array_equal(Encoding(1, categories=known).read(table), [6.0, 5.0, NAN, NAN])
    np.testing.assert_array_equal(
        Encoding(1, categories=known, unseen=-1.0, missing=9.0).read(table), [6.0, 5.0, 9.0, -1.0]
    )
    with pytest.raises(RefusalError, match="'t' declares no categories"):
        Encoding(1, categories="declared").read(table)
    assert Encoding(4, position=1).place == 1
    assert Encoding(4).place == 4


def test_a_name_of_a_column_is_in_what_is_refused():
    trees = ensemble(encodings=(Encoding(0, accepts_missing=False), Encoding(1)))
    with pytest.raises(paribus.errors.ModelError, match="'x'"):
        trees.numbers(table_of(pd.DataFrame({"x": [np.nan], "y": [0.0]})))

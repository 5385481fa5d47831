"""What a survey leaves behind: quantiles in little memory, categories, priorities, digests; split as one likes."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paribus._data.rows import Block
from paribus._data.samples import PrioritySample, sample_of
from paribus._data.scan.listing import ROWS, digests_of
from paribus._data.scan.model_table import ModelTable
from paribus._data.summary import quantiles
from paribus._evaluators.survey import DeclaredCategories, Digest, SketchSpec, Survey, WeightTotals
from paribus._states import merge_in_order
from paribus._states.row_states import CategoryWeights, Sketch

PROBABILITIES = tuple(np.linspace(0, 1, 21))
sizes = st.integers(1, 300)
columns = sizes.flatmap(
    lambda n: (
        hnp.arrays(np.float64, n, elements=st.floats(-1e6, 1e6, allow_subnormal=False))
        | hnp.arrays(np.float32, n, elements=st.floats(-1e6, 1e6, width=32, allow_subnormal=False))
        | hnp.arrays(np.int64, n, elements=st.integers(-50, 50))
        | hnp.arrays(np.int8, n, elements=st.integers(-128, 127))
        | hnp.arrays(np.uint16, n, elements=st.integers(0, 60_000))
        | hnp.arrays("M8[s]", n, elements=st.integers(0, 10**9).map(lambda t: np.datetime64(t, "s")))
    )
)
weighing = st.sampled_from([0.25, 1.0, 3.0, 40.0])


def drawn_weights(data, size):
    return data.draw(st.none() | hnp.arrays(float, size, elements=weighing), "weights")


def drawn_cuts(data, size):
    return [0, *sorted(data.draw(st.lists(st.integers(0, size), max_size=12), "cuts")), size]


def sketched(values, weights, cuts, **options):
    parts = [
        Sketch.of(values[a:b], None if weights is None else weights[a:b], **options)
        for a, b in pairwise(cuts)
    ]
    return merge_in_order(parts)


def bits(sketch):
    arrays = (sketch.values, sketch.weights, sketch.ends, sketch.few, sketch.few_weights)
    return [None if array is None else (array.dtype.str, array.tobytes()) for array in arrays] + [
        sketch.error
    ]


@st.composite
def options(draw):
    capacity = draw(st.integers(1, 12))
    return {"exact": draw(st.integers(capacity, 40)), "capacity": capacity, "limit": draw(st.integers(1, 20))}


@given(columns, options(), st.data())
def test_the_rank_of_every_quantile_is_off_by_no_more_than_is_said(values, options, data):
    if values.dtype.kind == "M":
        values = values.view(np.int64)
    weights = drawn_weights(data, len(values))
    sketch = sketched(values, weights, drawn_cuts(data, len(values)), **options)
    own = np.ones(len(values)) if weights is None else weights
    order = np.argsort(values, kind="stable")
    ordered, upper = values[order].astype(float), np.append(0.0, np.cumsum(own[order]))
    found = sketch.quantiles(PROBABILITIES)
    assert (np.diff(found) >= -1e-9 * np.abs(found[1:])).all()
    allowed = sketch.bound + own.max() + 1e-9
    for probability, value in zip(PROBABILITIES, found, strict=True):
        slack = 1e-9 * max(1.0, abs(value))
        below = upper[np.searchsorted(ordered, value - slack, side="left")]
        until = upper[np.searchsorted(ordered, value + slack, side="right")]
        assert below - allowed <= probability * own.sum() <= until + allowed


@given(columns, options(), st.data())
def test_no_weight_is_lost_and_the_ends_are_exact(values, options, data):
    weights = drawn_weights(data, len(values))
    cuts = drawn_cuts(data, len(values))
    own = np.ones(len(values)) if weights is None else weights
    states = [
        Sketch.of(values[a:b], None if weights is None else weights[a:b], **options)
        for a, b in pairwise(cuts)
    ]
    shuffled = data.draw(st.permutations(states), "order")
    for parts in (states, shuffled, states[::-1]):
        sketch = merge_in_order(parts).with_ends()
        held = len(sketch.values) if sketch.weights is None else sketch.weights.sum()
        assert held == pytest.approx(own.sum())
        assert sketch.ends.tolist() == [values.min().tolist(), values.max().tolist()]
        assert sketch.values.dtype == values.dtype
        assert (sketch.values[1:] >= sketch.values[:-1]).all()
        assert np.isin(sketch.values, values).all()
        assert len(sketch.values) <= max(options["exact"], 4 * options["capacity"])


@given(columns, options(), st.data())
def test_few_distinct_numbers_are_listed_with_their_weights(values, options, data):
    weights = drawn_weights(data, len(values))
    sketch = sketched(values, weights, drawn_cuts(data, len(values)), **options).with_ends()
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) > options["limit"]:
        assert sketch.few is None
        assert sketch.few_weights is None
    else:
        assert sketch.few.tolist() == distinct.tolist()
        np.testing.assert_allclose(sketch.few_weights, np.bincount(place, weights), rtol=1e-12)


@given(columns, st.data())
def test_a_sketch_is_exact_while_everything_is_kept(values, data):
    if values.dtype.kind == "M":
        values = values.view(np.int64)
    weights = drawn_weights(data, len(values))
    sketch = sketched(values, weights, drawn_cuts(data, len(values)), exact=len(values), capacity=1, limit=5)
    assert not sketch.thinned
    assert sketch.error == 0.0
    order = np.argsort(values, kind="stable")
    own = None if weights is None else weights[order]
    found, wanted = sketch.quantiles(PROBABILITIES), quantiles(values[order], PROBABILITIES, own)
    if weights is None:
        assert found.tolist() == wanted.tolist()
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@given(columns, options(), st.data())
def test_the_same_blocks_give_the_same_bits(values, options, data):
    weights, cuts = drawn_weights(data, len(values)), drawn_cuts(data, len(values))
    one, two = (sketched(values, weights, cuts, **options) for _ in range(2))
    assert bits(one) == bits(two)


def test_a_quantile_in_a_gap_is_off_by_no_more_than_is_said():
    values = np.append(np.arange(51.0), 1e9 + np.arange(151.0))
    sketch = Sketch.of(values, None, exact=3, capacity=2, limit=2)
    probabilities = np.linspace(0, 1, 201)
    found = sketch.quantiles(probabilities)
    below, until = (np.searchsorted(values, found, side=side) for side in ("left", "right"))
    asked = probabilities * len(values)
    assert (np.maximum(below - asked, asked - until) <= sketch.bound + 1).all()


def test_many_thinnings_keep_the_error_small():
    values = np.random.default_rng(0).normal(size=200_000)
    sketch = sketched(values, None, list(range(0, 200_001, 1_000)), exact=1_024, capacity=1_024, limit=10)
    assert 0 < sketch.bound < 0.02 * len(values)
    ranks = np.searchsorted(np.sort(values), sketch.quantiles(PROBABILITIES)) / len(values)
    assert np.abs(ranks - PROBABILITIES).max() <= sketch.bound / len(values)


def test_thinning_keeps_the_number_in_the_middle_of_each_group():
    sketch = Sketch.of(np.arange(40.0)[::-1], None, exact=39, capacity=4, limit=5)
    assert sketch.values.tolist() == [4.0, 14.0, 24.0, 34.0]
    assert sketch.weights.tolist() == [10.0] * 4
    assert (sketch.error, sketch.bound, sketch.ends.tolist(), sketch.few) == (5.0, 10.0, [0.0, 39.0], None)
    assert sketch.quantiles([0.0, 0.125, 0.25, 1.0]).tolist() == [0.0, 4.0, 9.0, 39.0]
    heavy = Sketch.of(np.arange(8.0), np.array([1.0, 1, 1, 1, 100, 1, 1, 2]), exact=7, capacity=4, limit=5)
    assert heavy.weights.sum() == 108.0
    assert 4.0 in heavy.values
    assert Sketch.of(np.arange(40.0), None, exact=40, capacity=4, limit=5).bound == 0.0


@pytest.mark.parametrize("weights", [None, 2.0])
def test_sketch_is_thinned_again_only_beyond_four_times_its_capacity(weights):
    def part(first, stop):
        own = None if weights is None else np.full(stop - first, weights)
        return Sketch.of(np.arange(first, stop, dtype=float), own, exact=8, capacity=4, limit=3)

    thin = part(0, 9)
    assert len(thin.values) == 4
    full = thin.merge(part(9, 17)).merge(part(17, 21))
    assert len(full.values) == 16
    assert full.error == thin.error
    again = full.merge(part(21, 22))
    assert len(again.values) == 4
    assert again.error > thin.error
    assert part(9, 17).merge(thin).error == thin.error
    assert thin.merge(thin).error == 2 * thin.error


def test_limited_sketches_list_distinct_numbers_only_up_to_the_limit():
    sketch = Sketch.of(np.repeat([1.0, 2.0, 3.0], 5), None, exact=8, capacity=4, limit=9)
    assert sketch.limited(3).few.tolist() == [1.0, 2.0, 3.0]
    assert sketch.limited(3).limit == sketch.limited(2).limit + 1 == 3
    assert sketch.limited(2).few is sketch.limited(2).few_weights is None
    kept = Sketch.of(np.array([1.0]), None, exact=8, capacity=4, limit=9)
    assert kept.limited(2).limit == 2
    assert sketch.with_ends() is sketch
    assert sketch.merge(kept).few_weights.tolist() == [6.0, 5.0, 5.0]
    assert sketch.limited(2).merge(sketch.limited(2)).few is None
    none = Sketch.of(np.zeros(0), None, exact=8, capacity=4, limit=9).with_ends()
    assert len(none.ends) == none.bound == 0
    assert none.merge(none).ends.tolist() == []
    assert none.merge(sketch).ends.tolist() == [1.0, 3.0]


levelled = st.lists(st.sampled_from(["a", "b", "c", None, 1, 2.5, True]), max_size=20)


@given(levelled, levelled, st.integers(1, 7))
def test_levels_add_up_until_there_are_too_many(one, two, most):
    def levels(found):
        distinct = tuple(dict.fromkeys(found))
        weights = np.array([float(sum(v == level for v in found)) for level in distinct])
        return CategoryWeights(distinct, weights, most).within()

    merged = levels(one).merge(levels(two))
    wanted = dict.fromkeys([*one, *two])
    assert merged.too_many == (len(wanted) > most)
    if merged.too_many:
        assert merged.found == ()
        assert merged.merge(levels([])).too_many
        assert levels([]).merge(merged).too_many
    else:
        assert merged.found == tuple(wanted)
        assert merged.weights.tolist() == [sum(v == level for v in [*one, *two]) for level in wanted]


@given(st.integers(1, 200), st.integers(1, 30), st.integers(0, 5), st.data())
def test_any_split_in_any_order_chooses_the_same_rows(rows, size, seed, data):
    weights = data.draw(hnp.arrays(float, rows, elements=st.sampled_from([0.0, 1e-200, 0.5, 1.0, 7.0])))
    numbers = np.arange(rows)
    whole = PrioritySample.of(numbers, weights, seed, size + 1)
    parts = [
        PrioritySample.of(numbers[a:b], weights[a:b], seed, size + 1)
        for a, b in pairwise(drawn_cuts(data, rows))
    ]
    merged = merge_in_order(data.draw(st.permutations(parts), "order"))
    one, two = whole.sample(size, 2.0), merged.sample(size, 2.0)
    for name in ("numbers", "squares", "weights"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    n_weighted = np.flatnonzero(weights > 0)
    assert len(one.numbers) == min(size, len(n_weighted))
    assert np.isin(one.numbers, n_weighted).all()
    assert (np.diff(one.numbers) > 0).all()
    if size >= len(n_weighted):
        assert one.numbers.tolist() == n_weighted.tolist()
        np.testing.assert_allclose(one.squares, np.maximum((weights[n_weighted] / 2) ** 2, 1e-290))


@pytest.mark.parametrize("unit", [1.0, 8.0])
def test_rows_of_highest_priority_stand_for_all_without_bias(unit):
    rng = np.random.default_rng(0)
    weights, d = rng.gamma(0.5, size=400), rng.normal(size=400)
    truth = ((weights / unit) ** 2 * d**2).sum()
    found = []
    for seed in range(600):
        sample = PrioritySample.of(np.arange(400), weights, seed, 81).sample(80, unit)
        found.append((sample.squares * d[sample.numbers] ** 2).sum())
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth) < 4 * error
    assert error < 0.02 * truth


def test_rows_that_count_the_same_are_drawn_once_each():
    sample = sample_of(1_000, 100, 3)
    assert len(set(sample.numbers.tolist())) == 100
    assert sample.squares.sum() == pytest.approx(1_000)
    assert sample_of(50, 100, 3).numbers.tolist() == list(range(50))


SPECS = tuple(SketchSpec(feature, feature == 1, 6, 1_000, 100) for feature in range(3))
SURVEY = Survey(SPECS, (), (0,), False, None)


@given(st.integers(1, 60), st.data())
def test_any_split_of_the_rows_is_surveyed_alike(rows, data):
    gaps = st.sampled_from([-1.5, 0.0, 2.0, 7.25, float("inf"), float("-inf"), float("nan")])
    x = data.draw(hnp.arrays(float, rows, elements=gaps | st.floats(-5, 5)), "x")
    city = data.draw(st.lists(st.sampled_from(["a", "b", None]), min_size=rows, max_size=rows), "city")
    n = data.draw(hnp.arrays(np.int32, rows, elements=st.integers(-9, 9)), "n")
    weights = data.draw(
        st.none() | hnp.arrays(float, rows, elements=st.sampled_from([0.0, 0.5, 1.0, 4.0])), "weights"
    )
    table = pa.table({"x": x, "city": pa.array(city, pa.string()), "n": n})

    def block(first, stop):
        some = ModelTable.of(table.slice(first, stop - first), ("x", "city", "n"), "pandas")
        return Block(some, None if weights is None else weights[first:stop], first)

    whole = SURVEY.evaluate(block(0, rows)).parts
    cuts = [c for c in dict.fromkeys(drawn_cuts(data, rows)) if c <= rows]
    states = [SURVEY.evaluate(block(a, b)) for a, b in pairwise(cuts)]
    merged = merge_in_order(data.draw(st.permutations(states), "order")).parts
    assert set(merged) == set(whole)
    one, two = whole["weighed", 0], merged["weighed", 0]
    assert (one.rows, one.n_weighted) == (two.rows, two.n_weighted)
    assert one.total * one.weight_scale == two.total * two.weight_scale
    assert one.squares * one.weight_scale**2 == two.squares * two.weight_scale**2
    assert merged["length", 0].cells.tolist() == [rows]
    for feature in range(len(SPECS)):
        one, two = whole["look", feature], merged["look", feature]
        assert (one.missing, one.infinite, one.kind, one.dtype) == (
            two.missing,
            two.infinite,
            two.kind,
            two.dtype,
        )
        assert (one.missing_row is None) == (two.missing_row is None)
        if one.missing_row is not None:
            assert one.missing_at == two.missing_at
            assert one.missing_row.to_pylist().__repr__() == two.missing_row.to_pylist().__repr__()
        if one.sketch is None:
            assert dict(zip(one.categories.found, one.categories.weights, strict=True)) == dict(
                zip(two.categories.found, two.categories.weights, strict=True)
            )
        else:
            mine, theirs = one.sketch.with_ends(), two.sketch.with_ends()
            assert mine.values.tolist() == theirs.values.tolist()
            assert mine.ends.tolist() == theirs.ends.tolist()
            assert (mine.few is None) == (theirs.few is None)
            if mine.few is not None:
                assert mine.few.tolist() == theirs.few.tolist()
                assert mine.few_weights.tolist() == theirs.few_weights.tolist()
    chosen = [key for key, state in whole.items() if isinstance(state, PrioritySample)]
    assert bool(chosen) == (weights is not None)
    for key in chosen:
        assert whole[key].numbers.tolist() == merged[key].numbers.tolist()


@given(
    hnp.arrays(float, st.integers(1, 30), elements=st.sampled_from([0.0, 1e-300, 0.3, 1.0, 1e300])), st.data()
)
def test_sums_of_weights_neither_vanish_nor_overflow(weights, data):
    parts = [WeightTotals.of(b - a, weights[a:b]) for a, b in pairwise(drawn_cuts(data, len(weights)))]
    merged = merge_in_order(parts)
    assert merged.n_weighted == (weights > 0).sum()
    assert merged.total * merged.weight_scale == pytest.approx(weights.sum())
    if merged.n_weighted:
        assert 1 <= merged.total < 2 * len(weights)
        assert merged.total**2 / merged.squares <= merged.n_weighted * (1 + 1e-12)


def arrow(rows=40):
    rng = np.random.default_rng(0)
    cities = [None if k % 11 == 0 else "abc"[k % 3] for k in range(rows)]
    return pa.table(
        {
            "x": pa.array([None if k % 7 == 0 else float(v) for k, v in enumerate(rng.normal(size=rows))]),
            "n": pa.array([None if k % 9 == 1 else k for k in range(rows)]),
            "huge": pa.array([None if k == 3 else 2**60 + k for k in range(rows)]),
            "city": pa.array(cities),
            "coded": pa.array(cities).dictionary_encode(),
            "day": pa.array(np.arange(rows).astype("M8[D]")),
            "flag": pa.array([k % 2 == 0 for k in range(rows)]),
        }
    )


@given(st.lists(st.integers(0, 40), max_size=6))
@example([0, 0, 40])
def test_a_digest_does_not_depend_on_chunks(cuts):
    table = arrow()
    parts = [table.slice(a, b - a) for a, b in pairwise([0, *sorted(cuts), 40])]
    recoded = []
    for part in parts:
        plain = part["coded"].cast(pa.string()).dictionary_encode()
        recoded.append(part.set_column(4, "coded", plain))
    for chunked in (pa.concat_tables(parts), pa.concat_tables(recoded)):
        assert digests_of(chunked, 3) == digests_of(table, 3)


def test_sums_of_digests_do_not_depend_on_blocks_that_are_multiples_of_their_rows():
    rows = 3 * ROWS + 40
    table = pa.concat_tables([arrow()] * (rows // 40 + 1)).slice(0, rows)
    whole = digests_of(table, 0)
    for size in (ROWS, 2 * ROWS):
        parts = [digests_of(table.slice(first, size), first) for first in range(0, rows, size)]
        assert [sum(each) % 2**128 for each in zip(*parts, strict=True)] == whole
    text = table.column_names.index("city")
    assert whole[text] == whole[table.column_names.index("coded")]  # categories are the same values


CHANGED = {
    "x": lambda values: [*values[:5], np.nextafter(values[5], 9.0), *values[6:]],
    "n": lambda values: [*values[:5], 6, *values[6:]],
    "huge": lambda values: [*values[:5], 2**60 + 6, *values[6:]],
    "city": lambda values: [*values[:5], "z", *values[6:]],
    "coded": lambda values: [*values[:5], "z", *values[6:]],
    "day": lambda values: [*values[:5], values[6], *values[6:]],
    "flag": lambda values: [*values[:5], not values[5], *values[6:]],
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_digest_tells_when_one_value_changes_or_is_missing(name):
    table = arrow()
    place, values = table.column_names.index(name), table[name].to_pylist()
    for changed in (CHANGED[name](values), [*values[:5], None, *values[6:]]):
        column = pa.array(changed, pa.string() if name == "coded" else table[name].type)
        column = column.dictionary_encode() if name == "coded" else column
        before, after = digests_of(table, 0), digests_of(table.set_column(place, name, column), 0)
        assert [k for k in range(len(before)) if before[k] != after[k]] == [place]


def test_a_digest_tells_order_numbers_types_and_weights():
    table = arrow()
    found = {
        digests_of(table, 0)[1],
        digests_of(table, 1)[1],
        digests_of(table.take(list(range(39, -1, -1))), 0)[1],
        digests_of(table.slice(0, 39), 0)[1],
        digests_of(table.set_column(1, "n", table["n"].cast(pa.int32())), 0)[1],
    }
    assert len(found) == 5
    survey = Survey((), (), (0,), False, None)

    def digest(weights):
        shown = ModelTable.of(table, tuple(table.column_names), "pandas")
        parts = survey.evaluate(Block(shown, weights, 0)).parts
        return tuple(state.total for (name, _), state in parts.items() if name == "digest")

    ones = np.ones(40)
    assert (
        len({digest(None), digest(ones), digest(np.append(ones[1:], 2.0)), digest(np.append(2.0, ones[1:]))})
        == 4
    )


@given(st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_digests_add_up_in_any_order(totals, random):
    shuffled = list(totals)
    random.shuffle(shuffled)
    one, two = (merge_in_order(Digest(t) for t in some).total for some in (totals, shuffled))
    assert one == two < 2**128


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=5, unique=True), min_size=1, max_size=5))
def test_declared_levels_are_met_once_in_order(found):
    assume(any(found))
    merged = merge_in_order(DeclaredCategories(tuple(levels)) for levels in found)
    assert merged.categories == tuple(dict.fromkeys(level for levels in found for level in levels))

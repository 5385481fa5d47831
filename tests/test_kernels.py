"""The kernels: `reference` and `compiled` compute the same, and it is what brute force computes."""

import math
from dataclasses import fields, replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ensembles import INF, NAN, Case, cases, full
from paribus.errors import RefusalError
from paribus.evaluators.trees.programs import program_of
from paribus.kernels import compiled, reference
from paribus.kernels.program import CodeColumn, Layout, level_codes
from paribus.models.ensemble import Encoding, Ensemble, LevelSet
from paribus.models.link import Link
from paribus.states import BinnedSum, ExactSum, merge_in_order

KERNELS = reference, compiled
DEEP = 1, 4, 10**9  # leaves from which trees are walked with lists: all of them, some, none
laws = settings(max_examples=max(100, settings.default.max_examples))  # more with --hypothesis-profile=laws


def programs(case):
    for deep in DEEP:
        yield program_of(case.ensemble, case.family, compiled, deep)


# ---------------------------------------------------------------- trees


@laws
@given(cases())
@example(full())
def test_both_kernels_lay_trees_out_alike(case):
    def lay_out(*arguments):
        one, other = (kernels.lay_out(*arguments) for kernels in KERNELS)
        for field in fields(Layout):
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs, field.name)
        return one

    for deep in DEEP:
        program_of(case.ensemble, case.family, SimpleNamespace(lay_out=lay_out), deep)


@laws
@given(cases())
@example(full())
def test_both_kernels_count_the_same_rows(case):
    for program in programs(case):
        codes = case.codes(program, reference)
        np.testing.assert_array_equal(codes, case.codes(program, compiled))
        one, other = (kernels.cover(program, codes, None) for kernels in KERNELS)
        np.testing.assert_array_equal(one, other)
        if case.weights is not None:
            one, other = (kernels.cover(program, codes, case.weights) for kernels in KERNELS)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=0)


@laws
@given(cases(), st.data())
def test_any_split_of_the_rows_counts_the_same_bits(case, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, case.rows), max_size=4)))
    for program in programs(case):
        codes = case.codes(program, compiled)
        whole = compiled.cover(program, codes, None)
        parts = [np.ascontiguousarray(codes[:, a:b]) for a, b in pairwise([0, *cuts, case.rows])]
        added = sum(compiled.cover(program, part, None) for part in parts)
        assert added.tobytes() == whole.tobytes()


@laws
@given(cases())
@example(full())
def test_averages_are_those_of_brute_force(case):
    want = np.average(case.curves(), axis=2, weights=case.weights)
    for program in programs(case):
        for kernels in KERNELS:
            share = kernels.cover(program, case.codes(program, kernels), case.weights) / case.total
            found = [kernels.average(program, points, share) for points in case.points(program, kernels)]
            averages = np.concatenate(found, axis=1) + program.base[:, None]
            np.testing.assert_allclose(averages, want, rtol=0, atol=1e-12 * case.size)


@laws
@given(cases())
@example(full())
def test_curves_are_those_of_brute_force(case):
    want = case.curves()
    for program in programs(case):
        for kernels in KERNELS:
            codes, trace = case.codes(program, kernels), kernels.trace(program, case.points(program, kernels))
            parts = (codes[:, k : k + kernels.CHUNK] for k in range(0, case.rows, kernels.CHUNK))
            drawn = [kernels.curves(program, trace, np.ascontiguousarray(part)) for part in parts]
            np.testing.assert_allclose(np.concatenate(drawn, axis=2), want, rtol=0, atol=1e-12 * case.size)


# ---------------------------------------------------------------- codes

anything = st.floats(width=64)
HOSTILE = {
    "none": [],
    "one": [0.5],
    "signed zeros": [-0.0, 0.0],
    "an outlier": [1e-12, 2e-12, 3e-12, 1e300],
    "denormal": [0.0, 5e-324, 1e-323],
    "nearly denormal": [0.0, 2.3e-308, 2.5e-308],
    "neighbours": [1.0, 1.0 + 2**-52, 1.0 + 2**-51],
    "overflowing": [-1.7e308, 0.0, 1.7e308],
    "from minus infinity": [-INF, 0.0, 1.0],
    "to infinity": [0.0, 1.0, INF],
    "both infinities": [-INF, INF],
    "only infinity": [INF],
    "many": np.linspace(-3, 3, 100_000),
    "many and an outlier": np.append(np.linspace(-3, 3, 100_000), 1e18),
    "many powers": 2.0 ** np.arange(-1074, 1024),
}


def ranked_as_searched(known, numbers):
    column = CodeColumn.of(0, np.unique(known), levels=False)
    want = np.where(np.isnan(numbers), len(column.known) + 1, np.searchsorted(column.known, numbers))
    for kernels in KERNELS:
        found = kernels.rank(column, numbers)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("known", HOSTILE.values(), ids=HOSTILE)
def test_codes_of_hostile_thresholds_are_places_among_them(known):
    known = np.array(known, float)
    numbers = np.concatenate([[-INF, -1.8e308, -1.0, 0.0, 0.3, 1.0, 1.8e308, INF, NAN], known, -known])
    with np.errstate(over="ignore"):
        numbers = np.concatenate([numbers, *(np.nextafter(numbers, side) for side in (-INF, INF))])
    ranked_as_searched(known, numbers)
    numbers.setflags(write=False)  # a column of a table may be neither ours nor contiguous
    ranked_as_searched(known, numbers[::-3])


@laws
@given(
    st.lists(anything.filter(lambda x: x == x), max_size=30), st.lists(anything, max_size=30), st.randoms()
)
def test_codes_are_places_among_thresholds(known, numbers, random):
    ties = [math.nextafter(random.choice(known), random.choice([0.0, -INF, INF])) for _ in known]
    ranked_as_searched(np.array(known, float), np.array([*numbers, *known, *ties], float))


@laws
@given(
    st.sets(st.integers(-5, 5)), st.lists(st.sampled_from([-5.0, 0.0, -0.0, 3.0, 3.5, 9.0, INF, -INF, NAN]))
)
def test_codes_of_levels_are_their_places(listed, numbers):
    known = sorted(listed)
    column = CodeColumn.of(0, np.array(known, float), levels=True)
    want = [known.index(x) if x in listed else len(known) + (x != x) for x in numbers]
    assert level_codes(column, np.array(numbers, float)).tolist() == want


# ---------------------------------------------------------------- what is no tree


def ints(*numbers):
    return np.array(numbers, np.int32)


STUMP_AND_LEAF = Ensemble(
    roots=ints(0, 3),
    column=ints(0, -1, -1, -1),
    threshold=np.array([0.5, NAN, NAN, NAN]),
    left=ints(1, -1, -1, -1),
    right=ints(2, -1, -1, -1),
    missing_left=np.zeros(4, bool),
    value=np.array([[NAN], [1.0], [2.0], [3.0]]),
    output=ints(0, 1),
    base=np.zeros(2),
    encodings=(Encoding(0),),
    links={"predict": Link()},
    level_sets=(LevelSet(np.arange(2)),),
)
LEAVES_AND_CYCLE = {"column": ints(-1, 0, -1, -1), "left": ints(0, 1, 0, 0), "right": ints(0, 2, 0, 0)}
MALFORMED = {
    "no parent, or several": {
        "its own child": {"left": ints(0, -1, -1, -1)},
        "two parents": {"column": ints(0, 0, -1, -1), "left": ints(1, 2, 0, 0), "right": ints(2, 3, 0, 0)},
        "the same child twice": {"right": ints(1, -1, -1, -1)},
        "a root below another": {"roots": ints(0, 1)},
        "a root twice": {"roots": ints(0, 0)},
        "an orphan": {"roots": ints(0), "output": ints(0)},
        "no roots": {"roots": ints(), "output": ints()},
    },
    "its own ancestor": {"a cycle off the roots": LEAVES_AND_CYCLE | {"value": np.ones((4, 1))}},
    "out of range": {
        "a child beyond": {"right": ints(4, -1, -1, -1)},
        "a negative child": {"right": ints(-1, -1, -1, -1)},
        "a root beyond": {"roots": ints(0, 4)},
        "a negative root": {"roots": ints(0, -1)},
        "a column beyond": {"column": ints(1, -1, -1, -1)},
        "a column below that of leaves": {"column": ints(0, -1, -1, -2)},
        "an output beyond": {"output": ints(0, 2)},
        "a negative output": {"output": ints(0, -1)},
        "no margins": {"base": np.empty(0)},
        "a set of levels beyond": {"level_set": ints(1, -1, -1, -1)},
        "a negative set of levels": {"level_set": ints(-2, -1, -1, -1)},
    },
    "threshold is NaN": {"a threshold": {"threshold": np.full(4, NAN)}},
    "not finite": {
        "a leaf of NaN": {"value": np.full((4, 1), NAN)},
        "a leaf of infinity": {"value": np.array([[0.0], [1.0], [INF], [3.0]])},
        "a baseline of infinity": {"base": np.array([0.0, -INF])},
    },
    "values for 2 margins": {
        "leaves of three": {"value": np.ones((4, 3))},
        "leaves of none": {"value": np.ones((4, 0))},
    },
    "differ in length": {"too few outputs": {"output": ints(0)}}
    | {
        f"too short {name}": {name: getattr(STUMP_AND_LEAF, name)[:3]}
        for name in ("threshold", "left", "right", "missing_left", "value", "level_set")
    },
}


@pytest.mark.parametrize(
    ("why", "changes"),
    [pytest.param(why, each[name], id=name) for why, each in MALFORMED.items() for name in each],
)
def test_arrays_that_are_no_trees_are_refused_before_anything_walks_them(why, changes):
    with pytest.raises(RefusalError, match=why):
        replace(STUMP_AND_LEAF, **changes)


def test_what_is_not_read_may_be_anything():
    assert STUMP_AND_LEAF.margins(np.array([[0.5], [0.6], [NAN]])).tolist() == [[1, 3], [2, 3], [2, 3]]


def test_an_ensemble_without_trees_is_its_baseline():
    none = {field.name: getattr(STUMP_AND_LEAF, field.name) for field in fields(Ensemble)[:8]}
    empty = replace(STUMP_AND_LEAF, **{name: array[:0] for name, array in none.items()}, level_set=ints())
    case = Case(empty, (np.zeros(3),), None, ({0: np.array([1.0, NAN])},))
    for kernels in KERNELS:
        program = program_of(empty, case.family, kernels)
        points, codes = case.points(program, kernels), case.codes(program, kernels)
        assert kernels.cover(program, codes, None).tolist() == []
        assert kernels.average(program, points[0], np.empty(0)).tolist() == [[0, 0], [0, 0]]
        drawn = kernels.curves(program, kernels.trace(program, points), codes)
        np.testing.assert_array_equal(drawn, case.curves())


# ---------------------------------------------------------------- sums and links


@laws
@given(st.data())
def test_exact_sums_have_the_same_bits_in_any_order_and_grouping(data):
    bound = data.draw(st.sampled_from([1.0, 2.0**-40, 3.7, 1e6]))
    numbers = st.floats(-1, 1) | st.sampled_from([0.1, -0.1, 1 / 3, -1.0, 1.0, 1e-17, -0.0])
    terms = bound * np.array(data.draw(st.lists(numbers, min_size=1, max_size=40)))
    rows = len(terms) + data.draw(st.integers(0, 10**6))
    mixed = np.array(data.draw(st.permutations(terms.tolist())))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(terms)), max_size=5)))
    whole = ExactSum.of(terms, bound, rows)
    states = [ExactSum.of(mixed[a:b], bound, rows) for a, b in pairwise([0, *cuts, len(terms)])]
    while len(states) > 1:
        other = states.pop(data.draw(st.integers(0, len(states) - 2)))
        states[-1] = other.merge(states[-1])
    assert states[0].total().tobytes() == whole.total().tobytes()
    want, beyond = math.fsum(terms), len(terms) * rows**2 * 2.0**-101 * bound
    assert abs(whole.total() - want) <= 1e-15 * abs(want) + beyond


def exp(z):
    try:
        return math.exp(z)
    except OverflowError:
        return INF


FORMULAE = {
    "identity": lambda z: z,
    "exp": exp,
    "sigmoid": lambda z: 1 / (1 + exp(-z)),
    "signed_square": lambda z: z * abs(z),
    "softplus": lambda z: math.log1p(exp(z)) if z < 40 else z,
    "isolation": lambda z: 0.5 - (2.0**-z if z > -1024 else INF),
}
margins = st.floats(-1e4, 1e4) | st.sampled_from([-1e160, 1e160, -1e300, 1e300, 709.0, -745.0, 0.0])


@laws
@given(st.sampled_from(sorted(FORMULAE)), st.lists(margins, min_size=1), st.sampled_from([1.0, 2.0, -0.5]))
@example("exp", [1e300, 710.0, -1e300], 1.0)
@example("sigmoid", [-1e300, 1e300, -746.0], 1.0)
@example("signed_square", [-1e300, 1e300], 1.0)
@example("softplus", [-1e300, 1e300], 2.0)
def test_links_are_their_formulae_and_overflow_quietly(name, numbers, scale):
    want = [FORMULAE[name](z * scale) for z in numbers]
    found = Link(name, scale, shift=0.5).apply(np.array([numbers]))
    np.testing.assert_allclose(found, [want], rtol=1e-12, atol=1e-300)
    assert Link(name).linear == (name == "identity")


@laws
@given(st.lists(st.tuples(margins, margins, margins), min_size=1), st.sampled_from([1.0, 2.0]))
@example([(1e300, -1e300, 1e300), (-1e300, -1e300, -1e300)], 2.0)
def test_softmax_is_its_formula_and_overflows_quietly(numbers, scale):
    found = Link("softmax", scale).apply(np.array(numbers).T)
    for row, each in zip(numbers, found.T, strict=True):
        top = max(row)
        raised = [exp((z - top) * scale) for z in row]
        np.testing.assert_allclose(each, np.array(raised) / math.fsum(raised), rtol=1e-11, atol=1e-300)


@given(st.lists(st.floats(-1e120, 1e120, allow_subnormal=False), min_size=1, max_size=60), st.data())
def test_sums_of_terms_of_any_size_do_not_depend_on_their_order(terms, data):
    mixed = np.array(data.draw(st.permutations(terms)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(terms)), max_size=4)))
    parts = [BinnedSum.of(mixed[a:b], 2**20) for a, b in pairwise([0, *cuts, len(terms)])]
    whole = BinnedSum.of(np.array(terms), 2**20).total()
    merged = merge_in_order(parts).total()
    assert whole.tobytes() == merged.tobytes()
    size = math.fsum(abs(term) for term in terms)
    assert abs(float(whole) - math.fsum(terms)) <= 1e-14 * size


def test_small_terms_keep_their_digits_whatever_the_bound():
    terms = np.random.default_rng(0).lognormal(-20, 3, 100_000)
    assert float(BinnedSum.of(terms, 10**8).total()) == pytest.approx(math.fsum(terms), rel=1e-13)

"""Random tree ensembles with a table and questions to ask of them, as awkward as they come."""

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from paribus._data.table import Column
from paribus._evaluators.trees.programs import code_of, family_of, points_of
from paribus._models.ensemble import LEAF, CategorySet, Encoding, Ensemble
from paribus._models.predictor import Link

INF, NAN = math.inf, math.nan
# Few, so that thresholds, rows and points often tie.
NUMBERS = [0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 0.1, 5e-324, -5e-324, 1e-36, 1e300, -1e300, 1.7e308, -1.7e308]
NUMBERS += [INF, -INF]
LEVELED, TEXT, FEATURES = (
    3,
    4,
    6,
)  # features of categories, the one of text, all; no encoding knows the last one
ENCODINGS = [
    Encoding(0),
    Encoding(1),
    Encoding(3),
    Encoding(4, categories={"a": 0.0, "b": 1.0, "c": 2.0}),
    Encoding(2),
    Encoding(0, single=True),
    Encoding(0, missing=0.5),
    Encoding(1, zero_is_missing=True),
    Encoding(3, whole=True),
    Encoding(4, categories="declared"),
    Encoding(4, categories={"a": 0.5, "c": -1.0}, unseen=1.0, missing=2.0),
]
FIELDS = "column", "threshold", "left", "right", "missing_left", "category_set"  # of nodes
EDGES = [63, 64, 65, 511, 512, 513, 1025]  # about the words and chunks of masks, and twice a chunk
category_sets = st.builds(
    CategorySet,
    st.lists(st.integers(0, 3), max_size=4).map(lambda listed: np.array(listed, np.int64)),
    st.booleans(),
)


@st.composite
def shapes(draw, most):
    """Return the children of each node of a tree of at most ``most`` leaves; None at a leaf."""
    nodes, waiting = [], [draw(st.integers(1, most))]
    chain, places = draw(st.booleans()), [None]
    while waiting:
        leaves, above = waiting.pop(), places.pop()
        if above is not None:
            nodes[above].append(len(nodes))
        if leaves == 1:
            nodes.append(None)
            continue
        left = draw(st.sampled_from([1, leaves - 1]) if chain else st.integers(1, leaves - 1))
        waiting += [leaves - left, left]
        places += [len(nodes)] * 2
        nodes.append([])
    return nodes


@st.composite
def ensembles(draw, most_trees=5, most_leaves=11):
    """Return an ensemble; what must not be read is NaN or no node."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    encodings = tuple(draw(st.lists(st.sampled_from(ENCODINGS), min_size=3, max_size=6)))
    pool = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=5))
    sets = tuple(draw(st.lists(category_sets, min_size=1, max_size=3)))
    even = draw(st.booleans())  # chance tests everything; hypothesis prefers to repeat itself

    def pick(options):
        return options[rng.integers(len(options))] if even else draw(st.sampled_from(options))

    nodes, roots = [], []
    for shape in draw(st.lists(shapes(most_leaves), min_size=1, max_size=most_trees)):
        roots.append(len(nodes))
        for children in shape:
            if children is None:
                nodes.append((LEAF, NAN, False, -1, -1, -1))
                continue
            column = pick(range(len(encodings)))
            number = pick(range(-1, len(sets))) if encodings[column].feature >= LEVELED else -1
            threshold = NAN if number >= 0 else pick(pool)
            below = (roots[-1] + child for child in children)
            nodes.append((column, threshold, pick([False, True]), number, *below))
    margins = draw(st.integers(1, 3))
    column, threshold, missing_left, category_set, left, right = (
        np.array(part) for part in zip(*nodes, strict=True)
    )
    value = rng.normal(size=(len(nodes), margins if draw(st.booleans()) else 1))
    value[column != LEAF] = NAN
    order = rng.permutation(len(nodes)) if draw(st.booleans()) else np.arange(len(nodes))
    place = np.append(np.argsort(order), -9).astype(np.int32)  # of each node; what is no node stays none
    return Ensemble(
        roots=place[roots],
        column=column[order].astype(np.int32),
        threshold=threshold[order],
        left=place[left][order],
        right=place[right][order],
        missing_left=missing_left[order],
        value=value[order],
        output=rng.integers(0, margins, len(roots)).astype(np.int32),
        base=rng.normal(size=margins),
        encodings=encodings,
        links={"predict": Link()},
        category_set=category_set[order].astype(np.int32),
        category_sets=sets,
    )


@dataclass(frozen=True)
class Case:
    """An ensemble, a table of one array per feature, weights, and questions: arrays of values by feature."""

    ensemble: Ensemble
    table: tuple
    weights: np.ndarray | None
    questions: tuple

    def __repr__(self):
        arrays = {
            name: value for name, value in vars(self.ensemble).items() if name not in ("links", "refused")
        }
        return f"Case({arrays},\n{self.table},\n{self.weights},\n{self.questions})"

    @property
    def family(self):
        return family_of([tuple(question) for question in self.questions])

    @property
    def rows(self):
        return len(self.table[0])

    @property
    def total(self):
        return self.rows if self.weights is None else self.weights.sum()

    @property
    def size(self):
        """What margins are at most."""
        return np.abs(self.ensemble.base).max() + np.abs(np.nan_to_num(self.ensemble.value)).sum()

    def codes(self, program, kernels):
        codes = np.empty((len(program.columns), self.rows), np.int32)
        for place, column in enumerate(program.columns):
            encoding = self.ensemble.encodings[column.encoding]
            codes[place] = code_of(column, encoding.numbers(column_of(self.table[encoding.feature])), kernels)
        return codes

    def points(self, program, kernels):
        asked = (
            tuple((feature, column_of(values)) for feature, values in question.items())
            for question in self.questions
        )
        sizes = (math.prod(map(len, question.values())) for question in self.questions)
        return [
            points_of(
                program,
                self.ensemble,
                SimpleNamespace(columns=axes, n_points=size),
                [partial(lambda column, encoding: encoding.numbers(column), column) for _, column in axes],
                kernels,
            )
            for axes, size in zip(asked, sizes, strict=True)
        ]

    def curves(self):
        """Return the margins of rows with the asked columns replaced, ``(m, g, i)``, the slow obvious way."""
        drawn = []
        for question in self.questions:
            for point in product(*question.values()):
                table = list(self.table)
                for feature, value in zip(question, point, strict=True):
                    table[feature] = np.full_like(table[feature], value)
                numbers = [e.numbers(column_of(table[e.feature])) for e in self.ensemble.encodings]
                drawn.append(self.ensemble.margins(np.stack(numbers, axis=1)).T)
        return np.stack(drawn, axis=1)


def column_of(values):
    """Return a column as a table would; NaN or None is missing."""
    if values.dtype == object:
        missing = np.array([value is None for value in values])
        return Column("text", "category", values[~missing], missing, categories=("c", "a", "d", "b"))
    missing = np.isnan(values)
    return Column("number", "numeric", values[~missing], missing)


@st.composite
def cases(draw):
    rows = draw(st.integers(1, 12) | st.integers(13, 40) | st.sampled_from(EDGES))
    ensemble = draw(ensembles(3, 6) if rows > 100 else ensembles())
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    used = ensemble.threshold[~np.isnan(ensemble.threshold)].tolist()
    ties = [math.nextafter(x, side) for x in used for side in (x, INF, -INF)] + [0.3, INF, -INF, NAN]
    menus = [np.array(ties, float)] * LEVELED
    menus += [np.array([0.0, 1.0, 2.0, 3.0, 0.5, *ties]), np.array(["a", "b", "c", "d", "e", None], object)]
    menus += [np.zeros(1)]
    table = tuple(rng.choice(menu, rows) for menu in menus)
    weights = draw(st.none() | st.just(rng.choice([0.0, 1.0, 0.1, 3.0, 1e-9], rows)))
    if weights is not None and not weights.any():
        weights[0] = 1.0
    known = [encoding.feature for encoding in ensemble.encodings]
    feature = st.sampled_from(known) | st.sampled_from(known) | st.integers(0, FEATURES - 1)
    asked = st.lists(feature, min_size=1, max_size=3, unique=True)
    asked |= st.permutations(sorted(set(known))).map(lambda features: features[:3])
    questions = []
    for features in draw(st.lists(asked, min_size=1, max_size=3)):
        most = 6 if len(features) == 1 else 3
        question = {}
        for feature in features:
            points = rng.choice(menus[feature], draw(st.integers(1, most)))
            if feature < TEXT and draw(st.booleans()):
                points[-1] = NAN
            question[feature] = points
        questions.append(question)
    return Case(ensemble, table, weights, tuple(questions))


def full():
    """Return a case that is always tried: full trees, two chunks of rows and one more, up to three features."""
    rng = np.random.default_rng(0)
    trees, inner = 3, 15
    nodes = 2 * inner + 1
    start = np.repeat(np.arange(trees, dtype=np.int32) * nodes, nodes)
    heap = np.tile(np.arange(nodes, dtype=np.int32), trees)
    ensemble = Ensemble(
        roots=start[::nodes].copy(),
        column=np.where(heap < inner, rng.integers(0, 3, heap.size), LEAF).astype(np.int32),
        threshold=rng.normal(size=heap.size).round(1),
        left=start + 2 * heap + 1,
        right=start + 2 * heap + 2,
        missing_left=rng.random(heap.size) < 0.5,
        value=rng.normal(size=(heap.size, 1)),
        output=np.array([1, 0, 1], np.int32),
        base=np.array([0.5, -1.0]),
        encodings=(Encoding(0), Encoding(1), Encoding(2)),
        links={"predict": Link()},
    )
    table = rng.normal(size=(3, 1025)).round(1)
    table[rng.random(table.shape) < 0.1] = NAN
    axes = [np.array([-0.5, 0.3, NAN]), np.array([0.6, -0.6]), np.array([0.0, 0.9, -0.3, 0.1])]
    questions = {0: axes[0], 1: axes[1], 2: axes[2]}, {2: axes[2], 0: axes[0]}, {1: axes[2]}
    return Case(ensemble, tuple(table), rng.choice([0.0, 1.0, 0.1, 3.0], 1025), questions)


def symmetric(ensemble, depths, seed, repeat=True):
    """Return an ensemble with trees added that test at each depth the same, in the middle of the others."""
    rng = np.random.default_rng(seed)
    parts = {name: [getattr(ensemble, name)] for name in FIELDS}
    values, roots = [ensemble.value], [*ensemble.roots]
    tests = np.flatnonzero(ensemble.column != LEAF)
    for depth in depths if len(tests) else ():
        start, inner = sum(map(len, values)), 2**depth - 1
        heap = np.arange(2 * inner + 1)
        level = np.log2(heap + 1).astype(int)
        # As often as not a test the tree has already, which then is walked as any other tree.
        chosen = rng.choice(tests, depth + 1, replace=repeat)
        parts["column"].append(np.where(heap < inner, ensemble.column[chosen][level], LEAF))
        parts["threshold"].append(ensemble.threshold[chosen][level])
        parts["category_set"].append(ensemble.category_set[chosen][level])
        parts["missing_left"].append((rng.random(depth + 1) < 0.5)[level])
        parts["left"].append(start + 2 * heap + 1)
        parts["right"].append(start + 2 * heap + 2)
        values.append(rng.normal(size=(len(heap), ensemble.value.shape[1])))
        roots.insert(rng.integers(len(roots) + 1), start)
    return replace(
        ensemble,
        **{name: np.concatenate(arrays).astype(arrays[0].dtype) for name, arrays in parts.items()},
        value=np.concatenate(values),
        roots=np.array(roots, np.int32),
        output=rng.integers(0, ensemble.n_margins, len(roots)).astype(np.int32),
    )


@st.composite
def mixed(draw):
    """Return cases of random trees and symmetric ones."""
    case = draw(cases())
    most = 3 if case.rows > 100 else 4
    depths = draw(st.lists(st.integers(0, most), min_size=1, max_size=3))
    return replace(case, ensemble=symmetric(case.ensemble, depths, draw(st.integers(0, 999))))

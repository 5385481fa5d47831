"""The laws of ARCHITECTURE.md, each written once; a law raises AssertionError where a statistic breaks it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from examples import EXAMPLES, Additive
from paribus._evaluators.interactions.crossed_interactions import CrossedRows
from paribus._evaluators.interactions.tree_passes import CrossedFeatures
from paribus._evaluators.permutation import Shuffler
from paribus._executors import LocalExecutor
from paribus._executors.dask import DaskExecutor
from paribus._kernels import reference
from paribus._states import merge_in_order

BLOCKS = 6  # as many are made of the rows of an example
WHOLE = (CrossedFeatures, CrossedRows, Shuffler)  # their rows meet each other, so that a block has them all
# Strengths of models that are called follow from the points of their curves, see test_strength.
FROM_POINTS = ("strengths", "strength_from")
COMPANY = [
    ("effects", {"grid_resolution": 3}),
    ("accumulated_local_effects", {"grid_resolution": 3}),
    ("marginal", {"grid_resolution": 3}),
    ("h_statistic", {"features": ["a", "b"], "subsample": 40}),
]


def same(have, want, tolerance=0.0, without=(), scaled=()):
    """Compare numbers by their paths: to the bit, or up to a tolerance relative to the largest of an array.

    ``without`` are parts of names that are not compared; arrays named in ``scaled`` are so many times larger.
    """
    assert have.keys() >= want.keys(), want.keys() - have.keys()
    for path, theirs in want.items():
        mine, name = have[path], name_of(path)
        if any(part in path for part in without):
            continue
        assert mine.shape == theirs.shape, path
        factor = next((factor for one, factor in scaled if one == name), 1.0)
        if theirs.dtype.kind not in "fc" or (tolerance == 0 and factor == 1):
            assert mine.tolist() == theirs.tolist() or mine.tobytes() == theirs.tobytes(), path
        else:
            size = tolerance * np.abs(theirs[np.isfinite(theirs)] * factor).max(initial=1.0 * factor)
            np.testing.assert_allclose(mine, theirs * factor, rtol=tolerance, atol=size, err_msg=path)


def name_of(path):
    return path.rpartition(".")[2].partition("[")[0]


def follow(statistic, numbers, places):
    """Return what was found of rows, in another order or another number of times."""
    return {
        path: leaf.take(places, axis=statistic.per_row[name_of(path)]) if name_of(path) in statistic.per_row else leaf
        for path, leaf in numbers.items()
    }  # fmt: skip


def weightings(example):
    return None, example.weights


# ---------------------------------------------------------------- engines


class Recut:
    """An engine that cuts the rows into smaller blocks, and leaves them to another."""

    def __init__(self, engine, example):
        self.engine, self.size, self.blocks = engine, len(example.X) // BLOCKS + 1, 0

    def fold(self, evaluator, blocks, zero, *, store=None):
        if blocks.size > self.size and not isinstance(evaluator, WHOLE):
            blocks = replace(blocks, size=self.size)
        self.blocks = max(self.blocks, blocks.count)
        return self.engine.fold(evaluator, blocks, zero, store=store)

    def describe(self):
        return f"blocks of {self.size} rows"


class Backwards:
    """An engine that evaluates the last block first, and merges in order."""

    def fold(self, evaluator, blocks, zero, *, store=None):
        states = {}
        for place, block in reversed(list(enumerate(blocks))):
            states[place] = block.number, evaluator.evaluate(block)
        numbered = {}
        for place in sorted(states):
            number, state = states[place]
            numbered[number] = numbered[number].merge(state) if number in numbered else state
        return merge_in_order(numbered.values(), zero)

    def describe(self):
        return "backwards"


class Stopped:
    """An engine that counts the blocks it evaluates, and is interrupted after some."""

    def __init__(self, after=None):
        self.after, self.evaluated = after, 0

    def fold(self, evaluator, blocks, zero, *, store=None):
        return LocalExecutor(1, False).fold(Stopping(self, evaluator), blocks, zero, store=store)

    def describe(self):
        return "stopped"


class Stopping:
    def __init__(self, engine, evaluator):
        self.engine, self.evaluator = engine, evaluator

    def evaluate(self, block):
        if self.engine.evaluated == self.engine.after:
            raise KeyboardInterrupt
        self.engine.evaluated += 1
        return self.evaluator.evaluate(block)


def computed(statistic, example, **changes):
    given = {"model": example.model, "X": example.X, "y": example.y} | dict(example.options) | changes
    return statistic.compute(**given)


@lru_cache(maxsize=128)
def plain(statistic, example, weighted=True):
    """Return the numbers of an example as it is, once for all laws."""
    return computed(statistic, example, sample_weight=example.weights if weighted else None)


@lru_cache(maxsize=128)
def in_blocks(statistic, example, weighted=True):
    """Return the numbers of an example cut into small blocks, evaluated one after another."""
    return by_engine(statistic, example, LocalExecutor(1, False), weighted)


def by_engine(statistic, example, engine, weighted):
    return computed(
        statistic,
        example,
        sample_weight=example.weights if weighted else None,
        executor=Recut(engine, example),
    )


# ---------------------------------------------------------------- ways to compute


def exact_equals_brute(statistic, example, **_):
    def hidden(t):
        return getattr(example.model, "predict_proba", example.model.predict)(t)

    for weighted in (False, True):
        weights = example.weights if weighted else None
        brute = computed(statistic, example, model=hidden, sample_weight=weights)
        have = without_names(plain(statistic, example, weighted))
        same(have, without_names(brute), statistic.tolerance, without=FROM_POINTS)


def without_names(numbers):
    """Leave out the names of outputs and their scale, which a function has none of."""
    return {path: leaf for path, leaf in numbers.items() if name_of(path) not in ("output_names", "unit")}


def compiled_equals_reference(statistic, example, monkeypatch, **_):
    for weighted in (False, True):
        want, weights = plain(statistic, example, weighted), example.weights if weighted else None
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "paribus._kernels.compiled", reference)
            same(computed(statistic, example, sample_weight=weights), want, statistic.tolerance)


def any_split_into_blocks(statistic, example, **_):
    for weighted in (False, True):
        have, want = (find(statistic, example, weighted) for find in (in_blocks, plain))
        same(have, want, statistic.tolerance_of_split)


def order_of_blocks(statistic, example, **_):
    for weighted in (False, True):
        backwards = by_engine(statistic, example, Backwards(), weighted)
        same(backwards, in_blocks(statistic, example, weighted))


def threads(statistic, example, **_):
    for weighted in (False, True):
        many = by_engine(statistic, example, LocalExecutor(3, False), weighted)
        same(many, in_blocks(statistic, example, weighted))


def dask(statistic, example, client, **_):
    there = by_engine(statistic, example, DaskExecutor(client, False), True)
    same(there, in_blocks(statistic, example))


def company_in_a_pass(statistic, example, tmp_path, **_):
    together = computed(statistic, example, sample_weight=example.weights, company=COMPANY)
    same(together, plain(statistic, example))
    if "read equals held" not in statistic.laws_without:
        folder, example = written(example, tmp_path / "rows"), shown(example)
        alone, together = (
            from_files(statistic, example, folder, "w", company=company) for company in ((), COMPANY)
        )
        same(together, alone)


# ---------------------------------------------------------------- weights and order


def integer_weights(statistic, example, **_):
    times = np.random.default_rng(0).integers(0, 4, len(example.X))
    times[0] = (
        1  # quantiles between rows depend on the unit, which is the smallest weight of those with a value
    )
    places = np.repeat(np.arange(len(times)), times)
    X, y, _ = example.rows(places)
    weighted = computed(statistic, example, sample_weight=times)
    repeated = computed(statistic, example, X=X, y=y)
    same(follow(statistic, weighted, places), repeated, statistic.tolerance, without=statistic.by_count)


def zero_weight(statistic, example, **_):
    gone = example.weights == 0
    strange, unknown = example.X.copy(), np.array(example.y)
    odd = 1e30 if statistic.per_row else np.inf  # a row whose own curve is shown must be predicted
    strange.loc[gone, "a"], strange.loc[gone, "b"], strange.loc[gone, "kind"] = 1e9, odd, None
    if unknown.dtype.kind == "f":
        unknown[gone] = np.nan
    X, y, weights = example.rows(np.flatnonzero(~gone))
    have = computed(statistic, example, X=strange, y=unknown, sample_weight=example.weights)
    want = computed(statistic, example, X=X, y=y, sample_weight=weights)
    same(follow(statistic, have, np.flatnonzero(~gone)), want, statistic.tolerance)


def scale_of_weights(statistic, example, **_):
    for factor in (1e-200, 1e200):
        have = computed(statistic, example, sample_weight=example.weights * factor)
        scaled = [(name, factor) for name in statistic.in_units]
        same(have, plain(statistic, example), statistic.tolerance, scaled=scaled)


def equal_weights(statistic, example, **_):
    have = computed(statistic, example, sample_weight=np.ones(len(example.X)))
    same(have, plain(statistic, example, weighted=False), statistic.tolerance)


def order_of_rows(statistic, example, **_):
    order = np.random.default_rng(1).permutation(len(example.X))
    X, y, weights = example.rows(order)
    have = computed(statistic, example, X=X, y=y, sample_weight=weights)
    same(have, follow(statistic, plain(statistic, example), order), statistic.tolerance)


def order_of_columns(statistic, example, **_):
    moved, features = example.X[example.X.columns[::-1]], statistic.arguments.get("features")
    have = computed(statistic, example, X=moved, features=features or list(example.X))
    same(have, plain(statistic, example, weighted=False), statistic.tolerance)


def relabeled_categories(statistic, example, **_):
    old, new = list(example.X["kind"].cat.categories), ("w", "u", "zebra")
    back = dict(zip(new, old, strict=True))
    have = {
        path: np.vectorize(lambda one: back.get(one, one))(leaf) if leaf.dtype.kind in "OU" and leaf.size else leaf
        for path, leaf in plain(statistic, example.relabeled(new)).items()
    }  # fmt: skip
    same(have, plain(statistic, example), statistic.tolerance)


# ---------------------------------------------------------------- known models


def additive_model(statistic, **_):
    additive = Additive(statistic.rows)
    pairs = any(isinstance(one, tuple) for one in statistic.arguments.get("features", ()))
    features = {"features": [("p", "q"), ("q", "r")] if pairs else list(additive.names)}
    if statistic.verb == "effects":
        features["percentiles"] = (0, 1)
    given = additive.predict, additive.X, additive.y, additive.weights
    compared = list(statistic.additive(statistic.result(*given, **features), additive))
    assert compared
    for have, want in compared:
        np.testing.assert_allclose(have, want, rtol=0, atol=1e-12 * 30)


def mean_of_ice(statistic, example, **_):
    for weights in weightings(example):
        found = statistic.result(example.model, example.X, example.y, weights, **example.options)
        counted = np.ones(len(example.X)) if weights is None else weights
        kept = counted > 0  # the model may predict anything for the others
        for effect in found.values():
            mean = np.average(effect.individual[:, kept], axis=1, weights=counted[kept])
            np.testing.assert_allclose(effect.average, mean, rtol=1e-9, atol=1e-9)
            if effect.missing is not None:
                at = np.average(effect.missing.individual[:, kept], axis=1, weights=counted[kept])
                np.testing.assert_allclose(effect.missing.average, at, rtol=1e-9, atol=1e-9)


def list_of_one_model(statistic, example, **_):
    given = {"sample_weight": example.weights}
    if "threeway" in statistic.arguments:
        given["threeway"] = 0  # triples are of a single model
    one, several = (
        computed(statistic, example, model=model, **given) for model in (example.model, [example.model])
    )
    same(several, one)


def by_hand(steps, last):
    """Return a pipeline as a function that prepares each column by itself and puts what they become together."""

    def predict(t):
        made = [
            t[columns] if isinstance(branch, str) else branch.transform(t[columns])
            for _, branch, columns in steps.transformers_
        ]
        dense = [one.toarray() if hasattr(one, "toarray") else np.asarray(one, dtype=float) for one in made]
        return last.predict(np.hstack(dense))

    return predict


def pipeline(statistic, example, **_):
    for weighted in (False, True):
        weights = example.weights if weighted else None
        alone = computed(statistic, example, model=by_hand(*example.model), sample_weight=weights)
        have = without_names(plain(statistic, example, weighted))
        same(have, without_names(alone), statistic.tolerance, without=FROM_POINTS)


# ---------------------------------------------------------------- files


def written(example, folder):
    """Write rows, target and weights as several files with row groups of another size than a block."""
    table = pd.concat([example.X, example.targets.set_axis(target_names(example), axis=1)], axis=1)
    table = pa.Table.from_pandas(table.assign(w=example.weights), preserve_index=False)
    rows = len(example.X)
    folder.mkdir()
    for number, (first, stop) in enumerate(pairwise((0, rows // 3, rows // 3 + 1, rows))):
        pq.write_table(
            table.slice(first, stop - first), folder / f"{number}.parquet", row_group_size=rows // 8
        )
    return str(folder)


def target_names(example):
    return list(map(str, example.targets.columns))


def from_files(statistic, example, folder, weights, **options):
    names = target_names(example)
    return computed(
        statistic,
        example,
        X=folder,
        y=names[0] if len(names) == 1 else names,
        sample_weight=weights,
        **options,
    )


def read_equals_held(statistic, example, tmp_path, **_):
    folder, example = written(example, tmp_path / "rows"), shown(example)
    for weighted in (False, True):
        have = from_files(statistic, example, folder, "w" if weighted else None)
        same(have, plain(statistic, example, weighted), statistic.tolerance_of_read)
    have = from_files(statistic, example, folder, "w", executor=Recut(LocalExecutor(1, False), example))
    same(have, in_blocks(statistic, example), 1e-12)  # the first pass adds weights up in these blocks too


@cache
def shown(example):
    """Return an example whose model says which columns it was fitted on, so that no other is read."""
    return example if hasattr(example.model, "predict") else replace(example, model=Named(example))


class Named:
    """A function that knows the names of its columns."""

    def __init__(self, example):
        self.function, self.feature_names_in_ = example.model, np.array(example.X.columns)

    def predict(self, t):
        return self.function(t)


def resumed_equals_run(statistic, example, tmp_path, **_):
    folder, kept, example = written(example, tmp_path / "rows"), tmp_path / "kept", shown(example)
    whole = Recut(Stopped(), example)
    want = from_files(statistic, example, folder, "w", executor=whole)
    stopped = Recut(Stopped(whole.blocks + 3), example)  # past the survey
    try:
        from_files(statistic, example, folder, "w", executor=stopped, checkpoint=kept)
    except KeyboardInterrupt:
        assert list(kept.glob("*/*.npz"))
    else:
        raise AssertionError("it was not interrupted")
    again = Recut(Stopped(), example)
    same(from_files(statistic, example, folder, "w", executor=again, checkpoint=kept), want)
    assert again.engine.evaluated < whole.engine.evaluated, "kept states were not read"


@dataclass(frozen=True)
class Law:
    """A law and the examples it is held against: those where it says something."""

    holds: Callable[..., None]
    examples: tuple[str, ...] = tuple(EXAMPLES)


PREPARED = ("pipeline", "linear pipeline")
HEAVY = ("heavy tails", "heavy tails of a function")
PLAIN_AND_TREES = ("function", "boosted", *HEAVY)
TREES = ("boosted", "classes", "two targets", "pipeline", "heavy tails")
LABELED = ("function", "boosted", "classes", *HEAVY)
LAWS = {
    "exact equals brute": Law(exact_equals_brute, (*TREES, "linear pipeline")),
    "compiled equals reference": Law(compiled_equals_reference, TREES),
    "any split into blocks": Law(any_split_into_blocks, (*LABELED, *PREPARED)),
    "order of blocks": Law(order_of_blocks, PLAIN_AND_TREES),
    "threads": Law(threads, (*PLAIN_AND_TREES, "pipeline")),
    "Dask": Law(dask, (*PLAIN_AND_TREES, "pipeline")),
    "company in a pass": Law(company_in_a_pass, (*PLAIN_AND_TREES, "pipeline")),
    "integer weights": Law(integer_weights),
    "zero weight": Law(zero_weight),
    "scale of weights": Law(scale_of_weights, PLAIN_AND_TREES),
    "equal weights": Law(equal_weights, PLAIN_AND_TREES),
    "order of rows": Law(order_of_rows, LABELED),
    "order of columns": Law(order_of_columns, PLAIN_AND_TREES),
    "relabeled categories": Law(relabeled_categories, (*PLAIN_AND_TREES, "pipeline")),
    "additive model": Law(additive_model, ("function",)),
    "mean of ICE is partial dependence": Law(mean_of_ice),
    "read equals held": Law(read_equals_held, (*PLAIN_AND_TREES, *PREPARED)),
    "resumed equals run": Law(resumed_equals_run, (*PLAIN_AND_TREES, *PREPARED)),
    "list of one model": Law(list_of_one_model, PLAIN_AND_TREES),
    "pipeline": Law(pipeline, PREPARED),
}

"""Permutation importance: what shuffling does, its standard error, and that nothing else changes a bit."""

import threading
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import inspection
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor

import paribus
from conftest import numbers
from paribus._data.samples import sample_numbers
from paribus._evaluators import permutation
from paribus._evaluators.permutation import RowChanges, donors_of
from paribus.errors import InputError, MemoryBoundError, ModelError, OptionError
from selection import nightly
from statistic_of import statistic_of

RNG = np.random.default_rng(0)
X, Y = make_friedman1(400, 6, noise=1.0, random_state=0)
LABELS = np.where(np.median(Y) < Y, "high", "low")
WEIGHTS = RNG.exponential(size=400)
SINGLE = tuple((j,) for j in range(6))
LINEAR = LinearRegression().fit(X, Y)
LOGISTIC = LogisticRegression().fit(X, LABELS)
NETWORK = MLPRegressor(hidden_layer_sizes=16, max_iter=2000, tol=1e-2, random_state=0).fit(X, Y)


def importance(estimator, table, y, groups=SINGLE, weights=None, repeats=5, seed=0, **options):
    return statistic_of(
        "feature_importance",
        estimator,
        table,
        groups,
        y=y,
        kind="permutation",
        sample_weight=weights,
        n_repeats=repeats,
        random_state=seed,
        **{"subsample": None, "progress": False, **options},
    )


def same_bits(one, other):
    for key in ("values", "standard_error", "repeats"):
        np.testing.assert_array_equal(getattr(one, key), getattr(other, key))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("estimator", "y", "loss", "scoring"),
    [
        (LINEAR, Y, "squared_error", "neg_mean_squared_error"),
        (LOGISTIC, LABELS, "log_loss", "neg_log_loss"),
        (LOGISTIC, LABELS, "error_rate", "accuracy"),
    ],
    ids=["squared error", "log loss", "error rate"],
)
def test_numbers_of_scikit_learn_up_to_shuffles(estimator, y, loss, scoring):
    ours = importance(estimator, X, y, loss=loss, repeats=60)
    theirs = inspection.permutation_importance(
        estimator, X, y, scoring=scoring, n_repeats=60, random_state=1, sample_weight=None
    )
    spread = np.hypot(ours.repeats.std(axis=1, ddof=1), theirs.importances_std) / np.sqrt(60)
    assert (np.abs(ours.values - theirs.importances_mean) <= 4 * spread + 1e-12).all()
    ratio = ours.repeats.std(axis=1) / theirs.importances_std
    assert (np.abs(np.log(ratio)) < 0.5).all()  # and their shuffles are as far apart as ours


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_one_shuffle_by_hand(loss):
    """Each way to compare numbers, against the definition."""
    power = 2 if loss == "squared_error" else 1
    found = importance(LINEAR, X, Y, ((2, 0),), loss=loss, repeats=3, seed=7)
    for repeat, value in enumerate(found.repeats[0]):
        rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(repeat, 0, 2)))
        changed = X.copy()
        changed[:, [0, 2]] = X[rng.permutation(400)][:, [0, 2]]
        before, after = (np.mean(np.abs(Y - LINEAR.predict(t)) ** power) for t in (X, changed))
        assert value == pytest.approx(after - before, rel=1e-9)
    assert found.values[0] == pytest.approx(found.repeats[0].mean())


def test_permutation_column_model_does_not_use_has_exactly_none():
    def two(table):
        return table[:, 0] + table[:, 1]

    found = importance(two, X, Y, weights=WEIGHTS)
    assert (found.values[2:] == 0).all()
    assert (found.standard_error[2:] == 0).all()
    assert (found.values[:2] != 0).all()


def test_permutation_columns_of_group_move_together():
    def difference(table):
        return table[:, 0] - table[:, 1]

    twins = np.column_stack([X[:, 0], X[:, 0], X[:, 1]])
    found = importance(difference, twins, np.zeros(400), ((0,), (0, 1), (1, 0), (0, 1, 2)))
    assert found.values[0] > 0.1
    assert (found.values[1:] == 0).all()


def test_permutation_group_is_same_whatever_else_is_requested():
    some = importance(LINEAR, X, Y, ((4,), (1, 3)))
    more = importance(LINEAR, X, Y, ((0,), (3, 1), (2,), (4,)))
    np.testing.assert_array_equal(some.values, more.values[[3, 1]])
    np.testing.assert_array_equal(some.standard_error, more.standard_error[[3, 1]])
    assert some.values[0] != more.values[0]


def test_groups_and_repeats_have_shuffles_of_their_own():
    def one(table):
        return table.sum(axis=1)

    same = np.repeat(X[:, :1], 3, axis=1)  # three columns alike, so that only the shuffles differ
    found = importance(one, same, Y, ((0,), (1,), (1, 0)), repeats=4)
    assert len(np.unique(found.repeats)) == 12
    assert not np.array_equal(found.values, importance(one, same, Y, ((0,), (1,), (1, 0)), seed=1).values)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_permutation_row_of_weight_zero_is_no_row(loss):
    rng = np.random.default_rng(3)
    strange = np.where(rng.random(X.shape) < 0.5, np.nan, 1e300)  # LINEAR would fail on these
    places = rng.integers(0, 401, 400)
    padded, y = np.insert(X, places, strange, axis=0), np.insert(Y, places, np.nan)
    zeros = np.insert(WEIGHTS, places, 0.0)
    with_weights = importance(LINEAR, X, Y, weights=WEIGHTS, loss=loss)
    same_bits(importance(LINEAR, padded, y, weights=zeros, loss=loss), with_weights)


def test_permutation_weights_count_in_both_roles():
    """In the mean over shuffles a row of weight 3 does what three rows of weight 1 do."""
    x = X[:60, :2]
    y = x @ [3.0, 2.0] + np.random.default_rng(0).normal(size=60)
    times = np.where(x[:, 0] > 0.6, 5, 1) + (x[:, 1] > 0.5)  # not at random, so that they change the means
    tripled, repeated = np.repeat(x, times, axis=0), np.repeat(y, times)
    # Every pair of rows, which is what the mean over shuffles is.
    model = LinearRegression().fit(x, y)
    exact = []
    for j in range(2):
        pairs = np.repeat(tripled[None], len(tripled), axis=0)
        pairs[:, :, j] = tripled[:, j][:, None]
        losses = (repeated - model.predict(pairs.reshape(-1, 2)).reshape(pairs.shape[:2])) ** 2
        exact.append(losses.mean() - np.mean((repeated - model.predict(tripled)) ** 2))
    for table, target, weights in ((x, y, times * 0.1), (tripled, repeated, None)):
        found = importance(model, table, target, ((0,), (1,)), weights=weights, repeats=2000)
        error = found.repeats.std(axis=1) / np.sqrt(2000)
        assert (np.abs(found.values - exact) < 4 * error).all()
        assert (error < 0.02 * np.abs(exact)).all()
    plain = importance(model, x, y, ((0,), (1,)), repeats=2000).values
    assert (np.abs(plain - exact) > 0.05 * np.abs(exact)).all()  # so weights do matter here


def test_permutation_row_lends_as_often_as_it_counts():
    weights = np.array([0.1, 1.0, 2.0, 7.0])
    rng = np.random.default_rng(0)
    drawn = np.stack([donors_of(4, weights, rng) for _ in range(20_000)])
    for place in range(4):
        share = np.bincount(drawn[:, place], minlength=4) / 20_000
        np.testing.assert_allclose(share, weights / weights.sum(), atol=0.015)
    assert sorted(donors_of(50, np.full(50, 0.7), rng)) == list(range(50))
    assert sorted(donors_of(50, None, rng)) == list(range(50))


def truth(table):
    return 2 * table[:, 0] + table[:, 1] * (table[:, 2] > 0)


@pytest.mark.nightly
@pytest.mark.parametrize("repeats", [1, 2, 5, 20])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_permutation_standard_error_is_that_of_another_sample(repeats, weighted):
    """200 samples: the interval holds the importance in the population, and errors are as large as the spread."""
    values, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1.7, 1.7, (200, 3))
        y = truth(x) + rng.normal(size=200)
        weights = rng.uniform(0.2, 2, 200) if weighted else None
        found = importance(truth, x, y, ((0,), (1,), (2,)), weights=weights, repeats=repeats, seed=seed)
        values.append(found.values)
        errors.append(found.standard_error)
    variance = 1.7**2 / 3
    population = np.array([8 * variance, variance, variance / 2])
    inside = np.abs(np.array(values) - population) <= 1.96 * np.array(errors)
    assert (inside.sum(axis=0) >= 180).all()
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.std(values, axis=0)
    assert (np.abs(ratio - 1) < 0.17).all()  # a spread of 200 is itself known to 5 %


def test_error_is_not_below_that_of_shuffles():
    tally = RowChanges(4, None, None)
    for sign in (1.0, -1.0):  # the roles of each row cancel, and only the repeats differ
        tally.add(np.array([1.0, 1.0, 1.0, 1.0]) * sign, np.arange(4))
    assert tally.finish().standard_error == pytest.approx(np.sqrt(2) / np.sqrt(2))
    assert tally.finish().value == 0


def test_permutation_error_is_known_of_one_repeat():
    assert np.isfinite(importance(LINEAR, X, Y, repeats=1).standard_error).all()
    assert importance(LINEAR, X, Y).notes == ()


def test_permutation_threads_and_memory_do_not_change_bits(monkeypatch):
    """Also of a network, whose sums depend on how many rows it is requested at a time."""
    monkeypatch.setattr(permutation, "CALL_ROWS", 150)
    alone = importance(NETWORK, X, Y, weights=WEIGHTS)
    for threads, memory in ((2, 10**9), (5, 10**9), (1, 110_000), (3, 150_000)):
        other = importance(NETWORK, X, Y, n_jobs=threads, max_memory=memory, weights=WEIGHTS)
        same_bits(alone, other)
    assert importance(NETWORK, X, Y, n_jobs=3, weights=WEIGHTS).provenance.threads == 3
    assert other.provenance.threads < 3
    again = importance(NETWORK, X, Y, weights=WEIGHTS)
    same_bits(alone, again)


@pytest.mark.parametrize("call_rows", [*nightly(1), 7, 150, 400, 900, 10_000])
def test_permutation_portions_give_same_answer(call_rows, monkeypatch):
    whole = importance(LINEAR, X, Y, weights=WEIGHTS)
    monkeypatch.setattr(permutation, "CALL_ROWS", call_rows)
    sizes = []

    def counted(table):
        sizes.append(len(table))
        return LINEAR.predict(table)

    parts = importance(counted, X, Y, weights=WEIGHTS)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-9)
    np.testing.assert_allclose(parts.standard_error, whole.standard_error, rtol=1e-9)
    assert max(sizes) <= max(call_rows, 64)  # a few rows are evaluated first, to know the model
    assert sum(sizes) == pytest.approx(parts.provenance.predictions, abs=110)
    assert parts.provenance.predictions == 400 * (1 + 5 * 6)


def test_permutation_threads_are_used():
    seen = set()
    both = threading.Barrier(2, timeout=20)

    def model(table):
        if len(table) == 2000 and len(seen) < 2:
            seen.add(threading.get_ident())
            both.wait()  # breaks unless two threads are here at a time
        return table[:, 0]

    importance(model, X, Y, ((0,), (1,)), n_jobs=2)
    assert len(seen) == 2


def test_permutation_memory_stays_within_bound():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60_000, 30))
    y = wide[:, 0]
    with pytest.raises(MemoryBoundError, match=r"shuffling 60000 rows needs .* raise max_memory"):
        importance(lambda t: t[:, 0] + t[:, 1], wide, y, ((0,),), max_memory=5_000_000)
    tracemalloc.start()
    importance(lambda t: t[:, 0] + t[:, 1], wide, y, ((0,), (1,)), max_memory=14_000_000, n_jobs=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 14_000_000


def test_permutation_subsample_is_drawn_once():
    found = importance(LINEAR, X, Y, subsample=100, seed=5)
    assert found.provenance.standard_error_rows == 100
    assert found.provenance.predictions == 100 * 31
    assert not found.notes
    chosen = sample_numbers(np.arange(400), 5, 100)
    same_bits(found, importance(LINEAR, X[chosen], Y[chosen], seed=5))
    whole = importance(LINEAR, X, Y, subsample=400)
    assert whole.notes == ()
    same_bits(whole, importance(LINEAR, X, Y))
    assert (found.standard_error > 1.3 * importance(LINEAR, X, Y, seed=5).standard_error)[[0, 1, 3]].all()


COLUMNS = ("count", "small", "nullable", "flag", "level", "city", "gap", "single", "day", "zoned", "wait")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_permutation_every_kind_of_column_moves_in_its_dtype(awkward, library):
    to = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[library]
    table = to(awkward)
    seen = set()

    def strict(asked):
        if library == "pandas":
            dtypes = tuple(map(str, asked.dtypes))
        else:
            dtypes = tuple(map(str, asked.dtypes if library == "polars" else asked.schema.types))
        seen.add((type(asked).__name__, dtypes))
        return numbers(asked)

    groups = tuple((awkward.columns.get_loc(name),) for name in COLUMNS)
    y = numbers(awkward)
    found = importance(strict, table, y, groups, repeats=2)
    assert len(seen) == 1
    for (j,), values in zip(groups, found.repeats, strict=True):
        for repeat, value in enumerate(values):
            rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(repeat, j)))
            changed = awkward.copy()
            changed[awkward.columns[j]] = awkward.iloc[rng.permutation(300), j].set_axis(awkward.index)
            assert value == pytest.approx(np.mean((numbers(changed) - y) ** 2), rel=1e-9), awkward.columns[j]
            assert value > 0


def test_permutation_categories_of_several_chunks_and_missing_ones():
    levels = ["a", "b", None, "c", "a", "b"] * 5
    chunks = [pa.array(levels[:7]).dictionary_encode(), pa.array(levels[7:]).dictionary_encode()]
    table = pa.table({"level": pa.chunked_array(chunks), "number": pa.array(np.arange(30.0))})
    code = {"a": 1.0, "b": 2.0, "c": 3.0, None: 7.0}

    def model(asked):
        assert pa.types.is_dictionary(asked.schema.field("level").type)
        return np.array([code[level] for level in asked["level"].to_pylist()])

    y = model(table)
    found = importance(model, table, y, ((0,), (1,)))
    assert found.values[0] > 0
    assert found.values[1] == 0


def test_permutation_arrays_of_objects_and_of_single_precision():
    objects = np.empty((60, 2), dtype=object)
    objects[:, 0] = RNG.choice(["a", "b"], 60)
    objects[:, 1] = RNG.normal(size=60)

    def model(asked):
        assert asked.dtype == object
        assert {type(value) for value in asked[:, 0]} == {str}
        return (asked[:, 0] == "a") + asked[:, 1].astype(float)

    y = model(objects)
    assert (importance(model, objects, y, ((0,), (1,))).values > 0).all()

    def single(asked):
        assert asked.dtype == np.float32
        return asked[:, 0]

    assert importance(single, X.astype(np.float32), Y, ((0,),)).values[0] != 0


def test_permutation_model_that_knows_rows_by_their_label_sees_their_labels():
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(400)])
    by_label = pd.Series(Y, index=frame.index)

    def lookup(asked):
        return by_label.loc[asked.index].to_numpy() + asked[0].to_numpy()

    found = importance(lookup, frame, Y, ((0,), (1,)))
    assert found.values[0] == pytest.approx(0, abs=1e-12)  # a shuffle does not change the mean of squares
    assert found.values[1] == 0


def test_permutation_model_that_writes_into_what_it_is_given_harms_nobody():
    def vandal(asked):
        answer = asked[:, 0].copy()
        asked[:] = np.nan
        return answer

    before = X.copy()
    found = importance(vandal, X, Y, ((0,), (1,)))
    np.testing.assert_array_equal(X, before)
    assert found.values[1] == 0
    assert np.isfinite(found.values[0])


def test_permutation_labels_and_probabilities_of_real_models():
    forest = RandomForestClassifier(10, random_state=0).fit(X, LABELS)
    found = importance(forest, X, LABELS)
    assert found.unit == "increase of log_loss"
    assert found.values[[0, 1, 3]].min() > 3 * found.values[[2, 5]].max()
    wrong = importance(forest, pd.DataFrame(X), pl.Series(LABELS), loss="error_rate")
    assert (wrong.values >= 0).all()
    assert wrong.values.max() > 0.1


def test_permutation_what_is_not_number_is_said():
    def broken(table):
        return np.where(table[:, 0] > 0.99, np.nan, table[:, 1])

    mended = X.copy()
    mended[:, 0] = np.minimum(mended[:, 0], 0.9)
    mended[0, 2] = 5.0

    def sum_of(table):
        return broken(table) + np.where(table[:, 2] + table[:, 3] > 5.9, np.nan, 0.0)

    mended[0, 3] = 0.0
    found = importance(sum_of, mended, Y)
    assert np.isnan(found.values[[2, 3]]).any()
    assert np.isfinite(found.values[[0, 1]]).all()
    bad = [f"x{j}" for j in range(6) if np.isnan(found.values[j])]
    assert [note.split(":")[0] for note in found.notes] == bad


def test_permutation_one_row_has_no_error():
    found = importance(lambda t: t[:, 0], X[:1], Y[:1], ((0,),))
    assert found.values[0] == 0
    assert np.isnan(found.standard_error[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_repeats": 0}, "n_repeats=0 must be an integer of at least 1"),
        ({"n_repeats": 2.5}, "n_repeats=2.5 must be"),
        ({"n_repeats": True}, "n_repeats=True must be"),
        ({"random_state": -1}, "random_state=-1 must be an integer of at least 0"),
        ({"random_state": "a"}, "random_state='a' must be"),
        ({"subsample": 1}, "subsample=1 must be an integer of at least 2, None for every row, or 'auto'"),
        ({"subsample": 0.5}, "subsample=0.5 must be"),
        ({"loss": "nothing"}, "loss='nothing' is not one of 'squared_error', 'absolute_error', "),
    ],
)
def test_permutation_options_out_of_range(arguments, message):
    with pytest.raises(OptionError, match=message):
        paribus.feature_importance(LINEAR, X, y=Y, kind="permutation", **arguments)


def test_permutation_y_is_checked():
    with pytest.raises(InputError, match=r"y has shape \(399,\) and X has 400 rows"):
        importance(LINEAR, X, Y[1:])


def test_model_that_fails_on_shuffled_rows_is_named():
    def picky(table):
        if (table[:, 0] > table[:, 1]).any():
            raise ZeroDivisionError("no such row")
        return table[:, 0]

    ordered = np.sort(X[:, :3], axis=1)
    with pytest.raises(ModelError, match="with x0 shuffled: ZeroDivisionError: no such row"):
        importance(picky, ordered, Y, ((0,),))
    late = np.zeros((400, 2))
    late[3, 0] = 1.0  # not among the rows that are evaluated first
    with pytest.raises(ModelError, match="failed on rows of X: ZeroDivisionError"):
        importance(picky, late, Y, ((1,),))


def test_permutation_model_that_predicts_same_rows_differently_is_noted():
    table = np.random.default_rng(0).normal(size=(300, 2))

    class Noisy(BaseEstimator, RegressorMixin):
        def __init__(self, noise=0.0):
            self.noise, self.chance = noise, np.random.default_rng(0)

        def fit(self, X, y):
            return self

        def predict(self, X):
            return X[:, 0] + self.noise * self.chance.normal(size=len(X))

    for noise in (0.0, 0.5):
        found = paribus.feature_importance(Noisy(noise), table, y=table[:, 0], kind="permutation")
        assert any("also vary without shuffling" in note for note in found.notes) == (noise > 0)
        assert found.provenance.predictions == 300 * 11

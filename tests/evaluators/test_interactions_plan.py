"""H-statistics: which rows are drawn, what is computed, how, and what is refused."""

import tracemalloc
from itertools import combinations

import lightgbm as lgb
import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import paribus
from interaction_examples import (
    FULL,
    LGB,
    MANY,
    SIGNAL,
    TRAIN,
    N,
    Naive,
    agree,
    alike,
    asked,
    bits,
    fitted,
    hist,
    naive_of,
    product_of_three,
)
from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._data.samples import sample_numbers
from paribus._evaluators.interactions.additive_interactions import AdditiveInteractions
from paribus._evaluators.interactions.requests import InteractionRequest
from paribus._models import adapt
from statistic_of import statistic_of

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("name", ["lightgbm", "function"])
def test_h_statistic_sampled_rows_are_the_first_in_the_order_of_their_hash(name, seed):
    found = paribus.h_statistic(fitted(name), MANY, random_state=seed, subsample=50)
    rows = sample_numbers(np.arange(560), seed or 0, 50)
    alike(found, paribus.h_statistic(fitted(name), MANY[rows], subsample=None), 1e-12)
    provenance = found.provenance
    assert (provenance.rows, provenance.sampled_rows, provenance.seed) == (560, 50, seed or 0)
    assert any("interactions used 50 rows of 560" in note for note in found.notes)
    assert f"averaged over 50 of 560 rows, sampled with seed {seed or 0}" in repr(found)


def test_h_statistic_drawn_rows_have_weight():
    weights = np.arange(560) % 2 * 1.5
    found = paribus.h_statistic(product_of_three, MANY, subsample=40, sample_weight=weights, random_state=3)
    counted = np.flatnonzero(weights)
    rows = counted[sample_numbers(counted, 3, 40)]
    alike(found, paribus.h_statistic(product_of_three, MANY[rows]), 1e-12)


def test_h_statistic_auto_is_every_row_of_trees_and_five_hundred_of_others():
    exact, brute = (paribus.h_statistic(fitted(name), MANY, [0, 1]) for name in ("lightgbm", "function"))
    assert (exact.provenance.sampled_rows, exact.provenance.seed, exact.provenance.points) == (
        None,
        None,
        560,
    )
    assert (brute.provenance.sampled_rows, brute.provenance.seed, brute.provenance.points) == (500, 0, 500)
    every = paribus.h_statistic(product_of_three, MANY, [0, 1], subsample=None)
    assert (every.provenance.sampled_rows, every.provenance.points) == (None, 560)
    assert not any("interactions used" in note for note in every.notes)
    assert "averaged over 560 rows (unweighted)" in repr(every)
    larger = paribus.h_statistic(product_of_three, MANY, [0, 1], subsample=9_999)
    assert bits(larger) == bits(every)
    assert larger.provenance.sampled_rows is None


def test_h_statistic_generator_is_requested_for_seed():
    one, other = (
        paribus.h_statistic(
            product_of_three, MANY, [0, 1], subsample=30, random_state=np.random.default_rng(4)
        )
        for _ in range(2)
    )
    assert bits(one) == bits(other)
    assert one.provenance.seed == int(np.random.default_rng(4).integers(2**31))
    old = paribus.h_statistic(
        product_of_three, MANY, [0, 1], subsample=30, random_state=np.random.RandomState(4)
    )
    assert old.provenance.seed == int(np.random.RandomState(4).randint(2**31 - 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"subsample": 1}, r"subsample=1 must be an integer of at least 2, None for every row, or 'auto'"),
        ({"subsample": 2.5}, r"subsample=2.5 must be"),
        ({"subsample": True}, r"subsample=True must be"),
        ({"subsample": "all"}, r"subsample='all' must be"),
        ({"random_state": -1}, r"random_state=-1 must be an integer of at least 0"),
        ({"random_state": "seed"}, r"random_state='seed' must be"),
        ({"threeway": -1}, r"threeway=-1 must be an integer of at least 0"),
        ({"threeway": True}, r"threeway=True must be"),
        ({"overall": 1}, r"overall=1 must be one of True, False"),
        ({"progress": "yes"}, r"progress='yes' must be one of None, True, False"),
        ({"method": "fast"}, r"method='fast'"),
        ({"features": [0]}, r"features=\[0\]: an interaction needs at least two features"),
    ],
)
def test_h_statistic_options_out_of_range(arguments, message):
    with pytest.raises(paribus.errors.OptionError, match=message):
        statistic_of("h_statistic", product_of_three, MANY, **arguments)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "features is empty"),
        (["x9", 0], "'x9' is not a column"),
        ([(0, 1), 2], r"features=\[\(0, 1\), 2\] has a group of features; pass single ones"),
        ([0, 9], "9"),
        ([0, -1], "-1"),
        ([0, 0], "each once"),
    ],
)
def test_h_statistic_features_out_of_range(features, message):
    with pytest.raises(paribus.errors.FeatureError, match=message):
        paribus.h_statistic(product_of_three, MANY, features)


def test_h_statistic_only_what_was_requested_for_is_computed():
    found = asked("lightgbm", overall=False)
    assert found.computed == ("pairwise",)
    assert bits(found).items() <= bits(asked("lightgbm")).items()
    assert asked("function", overall=False).computed == ("pairwise",)


@pytest.mark.parametrize("overall", [True, False])
@pytest.mark.parametrize("name", ["lightgbm", "function"])
def test_h_statistic_threeway_is_of_features_that_interact_most(name, overall):
    found = asked(name, threeway=3, overall=overall)
    if overall:
        strength = found.overall.numerator.sum(axis=1)
    else:
        strength = np.array(
            [
                sum(found.numerator_pairwise[k] for k, pair in enumerate(found.pairs) if j in pair)
                for j in range(4)
            ]
        )
    assert found.feature_triples == [tuple(sorted(np.argsort(-strength)[:3].tolist()))]
    want = naive_of(name).statistics(None, tuple(found.feature_triples))
    agree(found, want, 1e-9, ("threeway",))


def distinct(columns):
    return len(np.unique(FULL[:, list(columns)], axis=0))


@pytest.mark.parametrize("threeway", [0, 3])
def test_h_statistic_predictions_are_counted_exactly(threeway):
    asked_rows = []

    def model(X):
        asked_rows.append(len(X))
        return product_of_three(X)

    found = paribus.h_statistic(model, FULL, threeway=threeway)
    provenance = found.provenance
    assert sum(asked_rows[4:]) == provenance.predictions  # the model is tried by four calls
    # Every row is evaluated once with each distinct combination of values.
    assert [distinct(column) for column in ((0,), (1,), (2,), (3,))] == [44, 37, 44, 3]
    groups = [group for size in (1, 2) for group in combinations(range(4), size)]
    for triple in found.feature_triples:
        groups += [*combinations(triple, 2), triple]
    assert provenance.predictions == N * sum(map(distinct, groups))
    assert f"{provenance.predictions:,} predictions" in repr(found)


def test_h_statistic_trees_are_not_requested_to_predict(monkeypatch):
    model, asked_rows = hist("Regressor").fit(TRAIN, SIGNAL), []
    predict = type(model)._raw_predict

    def counted(self, X, *arguments):
        asked_rows.append(len(X))
        return predict(self, X, *arguments)

    monkeypatch.setattr(type(model), "_raw_predict", counted)
    found = paribus.h_statistic(model, MANY)
    assert found.provenance.evaluator == "tree_exact"
    assert found.provenance.predictions == 0
    assert 0 < sum(asked_rows) <= 336  # a few, to check that the trees were read well, none per row


def test_h_statistic_model_without_trees_refuses_shortcut_with_its_reason():
    with pytest.raises(
        paribus.errors.RefusalError, match=r"tree_exact: .*SVR.*it is not a shortcut.*method='brute'"
    ):
        asked("support vectors", method="exact")
    provenance = asked("support vectors").provenance
    assert provenance.evaluator == "brute"
    assert "SVR" in provenance.refusals["tree_exact"]
    assert provenance.why == "the fastest that applies"
    by_name = asked("lightgbm", method="brute").provenance
    assert (by_name.evaluator, by_name.why) == ("brute", "requested by method='brute'")
    assert by_name.refusals["tree_exact"] == "method='brute' was requested by name"


def test_h_statistic_probabilities_of_booster_are_added_up_from_leaves():
    model = lgb.LGBMClassifier(**LGB).fit(TRAIN, SIGNAL > 5)
    found = paribus.h_statistic(model, FULL, response_method="predict_proba")
    assert (found.provenance.evaluator, found.provenance.predictions) == ("tree_crossed", 0)
    assert "predict_proba is not a sum over leaves" in found.provenance.refusals["tree_exact"]
    assert "response_method='decision_function'" in found.provenance.refusals["tree_exact"]
    assert any("on the probability scale" in note for note in found.notes)
    exact = paribus.h_statistic(model, FULL, response_method="predict_proba", method="exact")
    assert bits(exact) == bits(found)
    margin = paribus.h_statistic(model, FULL, response_method="decision_function")
    assert (margin.provenance.evaluator, margin.provenance.refusals) == ("tree_exact", {})
    assert not any("probability" in note for note in margin.notes)
    naive = Naive(lambda X: model.predict(X, raw_score=True)[:, None], FULL, range(4))
    agree(margin, naive.statistics(), 1e-9, ("pairwise", "overall", "total"))
    # The probabilities of a forest are sums over leaves.
    assert not any("probability" in note for note in asked("forest, three classes").notes)


def test_h_statistic_what_is_refused_late_makes_way_for_brute_force():
    """Integers beyond 2**24, of which one late row is rounded across a split of LightGBM."""
    first, n = 2**25, 240
    known = np.random.default_rng(0).normal(size=(n, 3))
    known[:, 0] = first + np.arange(n) % 10
    model = lgb.LGBMRegressor(**LGB, min_data_in_bin=1).fit(known, (known[:, 0] - first) * (1 + known[:, 1]))
    rows = np.round(10 * known).astype(np.int64)
    rows[:, 0] = first + 4 * (np.arange(n) % 3)
    late = rows.copy()
    late[n - 2, 0] = first + 3
    assert n - 2 not in np.unique(np.linspace(0, n - 1, 32).astype(int))  # it is not among those probed
    assert paribus.h_statistic(model, rows).provenance.evaluator == "tree_exact"
    found = paribus.h_statistic(model, late)
    assert found.provenance.evaluator == "brute"
    assert "rounds across a split" in found.provenance.refusals["tree_exact"]
    assert bits(found) == bits(paribus.h_statistic(model, late, method="brute"))
    with pytest.raises(paribus.errors.RefusalError, match="rounds across a split"):
        paribus.h_statistic(model, late, method="exact")
    importance = paribus.feature_importance(model, late)
    assert importance.provenance.evaluator == "brute"


def test_h_statistic_what_library_refuses_is_refused():
    row = min(set(range(N)) - set(np.linspace(0, N - 1, 32).astype(int)))  # not among those probed
    spoiled = FULL.copy()
    spoiled[row, 0] = np.nan
    model = forests.GradientBoostingRegressor(n_estimators=5).fit(TRAIN, SIGNAL)
    for method in ("exact", "brute", "auto"):
        with pytest.raises(paribus.ParibusError, match=r"NaN|missing"):
            paribus.h_statistic(model, spoiled, method=method)
    weights = np.ones(N)
    weights[row] = 0
    alike(
        paribus.h_statistic(model, spoiled, sample_weight=weights),
        paribus.h_statistic(model, np.delete(FULL, row, 0)),
    )


def test_h_statistic_bound_that_is_too_small_is_error():
    with pytest.raises(
        paribus.errors.MemoryBoundError, match=r"44 rows crossed with each other in 4 features need"
    ):
        asked("function", max_memory=10_000)
    with pytest.raises(MemoryError, match="smaller subsample="):
        asked("support vectors", max_memory="50kB")
    large = forests.RandomForestRegressor(40, random_state=0).fit(TRAIN, SIGNAL)
    few = {"subsample": 12, "max_memory": 500_000}
    for method in ("auto", "exact"):
        with pytest.raises(paribus.errors.MemoryBoundError, match=r"needs \S+ MB and max_memory is 500 kB"):
            statistic_of("h_statistic", large, FULL, method=method, **few)
    found = statistic_of("h_statistic", large, FULL, method="brute", **few | {"max_memory": "20MB"})
    assert found.provenance.evaluator == "brute"
    alike(found, paribus.h_statistic(large, FULL, method="exact", subsample=12), 1e-6)
    with pytest.raises(paribus.errors.MemoryBoundError):  # and nothing announces what does not begin
        paribus.Explainer(large, FULL, max_memory=20_000).h_statistic()


def test_h_statistic_groups_whose_h_must_not_be_read_as_it_stands_are_named():
    def far(X):
        return (X[:, 0] - X[:, 1]) ** 2

    x = np.linspace(-1, 1, 41)
    near = x + 0.1 * np.sin(99 * x)
    above = paribus.h_statistic(far, np.c_[x, near])
    agree(above, Naive(lambda X: far(X)[:, None], np.c_[x, near], range(2)).statistics(), 1e-9, ("pairwise",))
    assert above.h_squared_pairwise[0] > 2
    assert above.notes == (
        "x0 x x1 have an H² above 1, because their own effects cancel in the joint one; compare strengths",
    )
    vanishing = paribus.h_statistic(far, np.c_[x, x])
    assert vanishing.strength_pairwise[0] > 0.1
    assert np.isnan(vanishing.h_squared_pairwise[0])
    assert vanishing.notes[0] == (
        "x0 x x1 interact, but their joint effect vanishes, so that H² is not defined"
    )
    weak = paribus.h_statistic(lambda X: 100 * X[:, 0] + 1e-2 * X[:, 1] * X[:, 2], FULL[:, :3])
    assert weak.h_squared_pairwise[2] > 0.5
    assert weak.h_squared_pairwise[:2].tolist() == [0, 0]
    assert weak.notes == (
        "x1 x x2 have a joint effect below 0.1% of the prediction's variance: their H² is noise",
    )
    assert paribus.h_statistic(lambda X: X[:, 0] * (X[:, 1] + 5) + X[:, 2], FULL[:, :3]).notes == ()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_h_statistic_prediction_that_is_not_finite_is_reported_and_not_called_zero(value):
    def model(X):
        return np.where(X[:, 0] > 1, value, X[:, 0] * X[:, 1])

    found = paribus.h_statistic(model, FULL)
    assert any("not finite" in note for note in found.notes)
    assert np.isnan(found.variance).all()
    assert np.isnan(found.numerator_overall).all()
    assert np.isnan(paribus.feature_importance(model, FULL).values).all()


@pytest.mark.parametrize("kind", ["function", "tree"])
def test_integers_far_from_zero_keep_their_interactions(kind):
    """What single precision could hold was not therefore computed in it."""

    def model(X):
        return 1e6 + (X[:, 0] > 0) * (X[:, 1] > 0)

    fit = model if kind == "function" else DecisionTreeRegressor(max_depth=2).fit(TRAIN, model(TRAIN))
    found = paribus.h_statistic(fit, FULL)
    want = Naive(lambda X: model(X)[:, None] - 1e6, FULL, range(4)).statistics()
    np.testing.assert_allclose(found.numerator_pairwise[0], want["pairwise"][0][0], rtol=1e-6)
    assert found.strength_pairwise[0] > 0.1


def test_constant_model_has_no_interactions():
    constant = forests.RandomForestRegressor(2).fit(TRAIN, np.ones(300))
    for model, evaluator in ((lambda X: np.full(len(X), 3.0), "brute"), (constant, "tree_exact")):
        found = paribus.h_statistic(model, FULL, threeway=3)
        assert found.provenance.evaluator == evaluator
        assert found.h_squared_pairwise.tolist() == [0.0] * 6
        assert found.h_squared_overall.tolist() == [0.0] * 4
        assert found.h_squared_threeway.tolist() == [0.0]
        assert found.h_squared_total == 0.0


@pytest.mark.nightly
@pytest.mark.parametrize("jobs", [1, 2])
def test_h_statistic_trees_keep_to_memory_bound_or_refuse(jobs):
    X = np.random.default_rng(0).normal(size=(30_000, 6))
    y = X[:5_000, 0] * X[:5_000, 1] + X[:5_000, 2] * X[:5_000, 3]
    forest = forests.RandomForestRegressor(5, random_state=0).fit(X[:5_000], y)

    def ask(bound, rows=X):
        paribus.Explainer(forest, rows, max_memory=bound, n_jobs=jobs, progress=False).h_statistic(
            method="exact"
        )

    ask(250e6, X[:2_000])  # imports and compiles
    tracemalloc.start()
    ask(250e6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 250e6
    with pytest.raises(paribus.errors.MemoryBoundError, match="max_memory is 30 MB"):
        ask(30e6)


def test_blocks_of_terms_are_few_enough_to_share():
    rows = rows_of(table_of(MANY), None)
    model = adapt(LinearRegression().fit(MANY, MANY[:, 0]), rows.table)
    request = InteractionRequest(tuple(range(MANY.shape[1])), True, True, 0, rows, 0, 10**9, 1)
    whole = AdditiveInteractions.build(model, request)
    assert 1 < whole.block_rows < len(MANY)  # few enough to share
    assert len(whole.sample.numbers) <= len(MANY)

"""Tree ensembles end to end: the brute-force number without asking the model, or a refusal in words."""

from functools import cache
from importlib import import_module

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn import ensemble as forests
from sklearn import tree

import paribus
from paribus import _budget
from paribus._api.statistics import effects_statistic as effects_statistic
from paribus._data.read import table_of
from paribus._evaluators.trees import programs, tree_exact
from paribus._evaluators.trees.leaf_boxes import ThresholdCells
from paribus._kernels import compiled, reference
from paribus._models import structure
from paribus._models.adapter import adapt
from paribus._models.libraries import xgboost as xgboost_reader
from selection import nightly
from statistic_of import statistic_of
from tree_examples import (
    CAT,
    FULL,
    GAPS,
    HOLES,
    LGB,
    MIXED,
    MODELS,
    PROBED,
    SIGNAL,
    TEXT,
    UNREADABLE,
    WEIGHTS,
    XGB,
    N,
    agree,
    by_categories,
    close,
    fitted,
    hist,
    same_bits,
    tolerance,
)

POLARS = tuple(int(part) for part in lgb.__version__.split(".")[:2]) >= (4, 7)
# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


def exact_and_brute(model, table, features, **arguments):
    both = [
        paribus.effects(model, table, features, method=method, n_jobs=1, **arguments)
        for method in ("exact", "brute")
    ]
    assert [found.provenance.evaluator for found in both] == ["tree_exact", "brute"]
    assert set(both[0]) == set(both[1])
    return [(both[0][key], both[1][key]) for key in both[1]]


ASKED = [(name, response) for name, (_, _, responses) in MODELS.items() for response in responses]


@pytest.mark.parametrize("weights", [*nightly(None), WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize(("name", "response"), ASKED)
def test_trees_exact_is_brute_force(name, response, kind, weights):
    features = [0, 1, 2, 3, 4, (0, 1), (2, 3), (1, 3, 2)]
    arguments = {"kind": kind, "sample_weight": weights, "response_method": response, "grid_resolution": 4}
    for have, want in exact_and_brute(fitted(name), MODELS[name][1], features, **arguments):
        agree(have, want, tolerance(name))


def of_numbers(name):
    """A model of columns by name, without categories, fitted on pandas."""
    frame = pd.DataFrame(GAPS, columns=list("abcde"))
    model = {
        "hist": hist("Regressor"),
        "forest": forests.RandomForestRegressor(4, random_state=0),
        "xgboost": xgb.XGBRegressor(**XGB),
        "lightgbm": lgb.LGBMRegressor(**LGB),
        "catboost": catboost.CatBoostRegressor(**CAT),
    }[name]
    return model.fit(frame, SIGNAL), frame


@pytest.mark.parametrize("name", ["hist", "forest", "xgboost", "lightgbm", "catboost"])
def test_trees_every_library_of_tables_gives_same_bits(name):
    model, frame = of_numbers(name)
    one = paribus.partial_dependence(model, frame, ["a", "b"], method="exact", grid_resolution=5)
    agree(one, paribus.partial_dependence(model, frame, [0, 1], method="brute", grid_resolution=5), 5e-6)
    for table in [frame.to_numpy(), pl.from_pandas(frame)] if POLARS else [frame.to_numpy()]:
        names = None if hasattr(table, "columns") else list("abcde")
        same_bits(
            one,
            paribus.Explainer(model, table, feature_names=names).partial_dependence(
                ["a", "b"], method="exact", grid_resolution=5
            ),
        )


@pytest.mark.skipif(not POLARS, reason="not read by older versions")
@pytest.mark.parametrize(
    ("name", "model", "table"),
    [
        ("hist", lambda: hist("Regressor"), MIXED),
        ("xgboost", lambda: xgb.XGBRegressor(**XGB, enable_categorical=True), HOLES),
        (
            "catboost",
            lambda: catboost.CatBoostRegressor(**CAT, cat_features=["level"], one_hot_max_size=9),
            TEXT,
        ),
    ],
    ids=["hist", "xgboost", "catboost"],
)
def test_trees_exact_is_brute_force_on_categories_of_polars(name, model, table):
    table = pl.from_pandas(table)
    model = by_categories(model(), table)
    for have, want in exact_and_brute(model, table, ["level", ("level", "x"), "count"], grid_resolution=4):
        agree(have, want, tolerance(name))


@pytest.mark.parametrize("name", [name for name in MODELS if "categories" in name or "text" in name])
def test_trees_models_of_categories_do_split_by_categories(name):
    model = fitted(name)
    library = type(model).__module__.split(".")[0]
    reader = import_module(f"paribus._models.libraries.{library}")
    assert (reader.read(model).category_set >= 0).any()


@pytest.mark.parametrize("name", ["hist", "forest, three classes", "xgboost, two classes"])
def test_trees_walked_with_lists_of_rows_give_same_number(name, monkeypatch):
    want = paribus.effects(fitted(name), GAPS, [0, (0, 1)], kind="both", grid_resolution=5)
    monkeypatch.setattr(programs.program_of, "__defaults__", (2, 0))
    have = paribus.effects(fitted(name), GAPS, [0, (0, 1)], kind="both", grid_resolution=5)
    for key in want:
        agree(have[key], want[key], 1e-12)


@pytest.mark.parametrize(("name", "response"), [(name, MODELS[name][2][0]) for name in ("hist", "xgboost")])
def test_trees_auto_means_exact(name, response):
    provenance = paribus.partial_dependence(fitted(name), GAPS, 0, response_method=response).provenance
    assert provenance.evaluator == "tree_exact"
    assert provenance.estimand == "interventional"
    assert provenance.why == "the fastest that applies"
    assert provenance.refusals == {}
    assert provenance.predictions == 0


@pytest.mark.parametrize("name", UNREADABLE)
def test_model_whose_trees_cannot_be_read_is_requested_itself(name):
    model, table, reason = UNREADABLE[name]
    effect = paribus.partial_dependence(model, table, 0, grid_resolution=5)
    assert effect.provenance.evaluator == "brute"
    assert reason in effect.provenance.refusals["tree_exact"]
    assert "only used on request" in effect.provenance.refusals["tree_recursion"]
    same_bits(effect, paribus.partial_dependence(model, table, 0, method="brute", grid_resolution=5))


@pytest.mark.parametrize("method", ["exact", "recursion"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_trees_shortcut_by_name_is_refused_with_reason(name, method):
    model, table, reason = UNREADABLE[name]
    with pytest.raises(paribus.errors.RefusalError, match=f"method='{method}'.*{reason}"):
        paribus.partial_dependence(model, table, 0, method=method)


def test_trees_labels_are_no_sum_over_leaves():
    model = fitted("hist, two classes")
    provenance = paribus.partial_dependence(model, GAPS, 0, response_method="predict").provenance
    assert provenance.evaluator == "brute"
    assert "class labels" in provenance.refusals["tree_exact"]


def large_integers():
    """A model split between neighbors beyond 2**24, and integers of which one late row is rounded across."""
    first = 2**25
    known = FULL.copy()
    known[:, 0] = first + np.arange(N) % 10
    model = lgb.LGBMRegressor(**LGB, min_data_in_bin=1).fit(known, known[:, 0] - first + FULL[:, 1])
    rows = np.round(10 * FULL).astype(np.int64)
    rows[:, 0] = first + 4 * (np.arange(N) % 3)
    late = rows.copy()
    late[N - 2, 0] = first + 3
    assert N - 2 not in PROBED
    return model, rows, late


@pytest.mark.parametrize("feature", [1, 0], ids=["met in the rows", "met on the axis"])
def test_trees_what_is_refused_late_makes_way_for_brute_force(feature):
    model, rows, late = large_integers()
    assert paribus.partial_dependence(model, rows, feature).provenance.evaluator == "tree_exact"
    effect = paribus.partial_dependence(model, late, feature)
    assert effect.provenance.evaluator == "brute"
    assert "rounds across a split" in effect.provenance.refusals["tree_exact"]
    same_bits(effect, paribus.partial_dependence(model, late, feature, method="brute"))
    with pytest.raises(
        paribus.errors.RefusalError, match="'x0' has integers that LightGBM rounds across a split"
    ):
        paribus.partial_dependence(model, late, feature, method="exact")
    assert paribus.partial_dependence(model, late.astype(float), feature).provenance.evaluator == "tree_exact"


MANY = np.concatenate([np.where(np.isnan(GAPS), np.nan, GAPS + 0.05 * k) for k in range(7)])


@pytest.mark.nightly
@pytest.mark.parametrize("deep", [256, 2], ids=["masks", "lists"])
@pytest.mark.parametrize("sample", [2048, 100])
@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize("name", ["hist", "forest, three classes", "xgboost, two classes"])
def test_trees_threads_and_blocks_do_not_change_bits(name, kind, sample, deep, monkeypatch):
    monkeypatch.setattr(effects_statistic, "SAMPLE", sample)
    monkeypatch.setattr(programs.program_of, "__defaults__", (deep, 0))

    def ask(jobs):
        found = paribus.effects(
            fitted(name), MANY, [0, (0, 1)], n_jobs=jobs, kind=kind, grid_resolution=6, method="exact"
        )
        assert found.provenance.standard_error_rows == (
            sample if kind == "average" and sample == 100 else len(MANY)
        )
        return found

    first = ask(1)
    for block in (64, 1000, 10**6):
        monkeypatch.setattr(tree_exact.TreeExact, "block_rows", property(lambda _, block=block: block))
        by_threads = [ask(jobs) for jobs in (1, 2, 3)]
        assert by_threads[0].provenance.block_rows == block
        for key in first:
            for found in by_threads[1:]:
                same_bits(found[key], by_threads[0][key])
            same_bits(by_threads[0][key], first[key])


@pytest.mark.parametrize("weights", [None, np.tile(WEIGHTS, 7)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", ["hist", "xgboost, two classes", "forest, three classes"])
def test_trees_standard_error_of_sample_is_nearly_that_of_all_rows(name, weights, monkeypatch):
    monkeypatch.setattr(effects_statistic, "SAMPLE", 1000)
    arguments = {"sample_weight": weights, "grid_resolution": 8}
    have = paribus.partial_dependence(fitted(name), MANY, 0, **arguments)
    want = paribus.partial_dependence(fitted(name), MANY, 0, method="brute", **arguments)
    assert have.provenance.evaluator == "tree_exact"
    rows = have.provenance.standard_error_rows
    assert rows == 1000
    np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=0.1)
    assert not np.allclose(have.standard_error, want.standard_error, rtol=1e-6)
    close(have.average, want.average, tolerance(name))


@pytest.mark.parametrize(("rows", "counted"), [(4096, 4096), (4097, 4096)])
def test_trees_up_to_four_thousand_rows_all_report_standard_error(rows, counted):
    table = np.random.default_rng(0).normal(size=(rows, 5))
    have = paribus.partial_dependence(fitted("hist"), table, 0, grid_resolution=5)
    assert have.provenance.standard_error_rows == counted
    want = paribus.partial_dependence(fitted("hist"), table, 0, grid_resolution=5, method="brute")
    np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=1e-9 if rows == 4096 else 0.1)
    curves = paribus.partial_dependence(fitted("hist"), table, 0, grid_resolution=5, kind="both")
    assert curves.provenance.standard_error_rows == rows
    np.testing.assert_allclose(curves.standard_error, want.standard_error, rtol=1e-9)


def spoiled(value, column):
    """Rows of which one, that is not probed, has a value."""
    assert 1 not in PROBED
    table = FULL.copy()
    table[1, column] = value
    return table


@cache
def untested():
    """A model of which no tree tests the last column, and one that would have accepted missing values."""
    y = FULL[:, 0] + (FULL[:, 1] > 0)
    models = (
        forests.GradientBoostingRegressor(n_estimators=5, max_depth=2).fit(FULL, y),
        forests.RandomForestRegressor(3, max_depth=2, random_state=0).fit(FULL, y),
    )
    for model in models:
        assert 4 not in structure.read_trees(model, table_of(FULL, None)).column
    return models


@pytest.mark.parametrize("method", ["exact", "brute", "auto"])
@pytest.mark.parametrize("column", [1, 4], ids=["tested", "untested"])
@pytest.mark.parametrize(
    ("number", "value"), [(0, np.nan), (0, np.inf), (0, 1e300), (1, np.inf), (1, -np.inf)]
)
def test_trees_what_library_refuses_is_refused(number, value, column, method):
    with pytest.raises(paribus.errors.ModelError):
        paribus.partial_dependence(untested()[number], spoiled(value, column), 0, method=method)


def test_trees_missing_point_that_library_refuses_is_refused():
    for method in ("exact", "brute"):
        with pytest.raises(paribus.errors.ModelError):
            paribus.partial_dependence(untested()[0], spoiled(np.nan, 0), 0, method=method)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("column", [1, 4])
def test_trees_rows_of_weight_zero_may_hold_anything(column, value):
    weights = np.ones(N)
    weights[1] = 0
    table, model = spoiled(value, column), untested()[0]
    have = paribus.partial_dependence(model, table, 0, sample_weight=weights, method="exact")
    agree(have, paribus.partial_dependence(model, table, 0, sample_weight=weights, method="brute"), 1e-9)
    for method in ("exact", "brute"):
        with pytest.raises(paribus.errors.ModelError):
            paribus.partial_dependence(model, table, 0, sample_weight=weights, method=method, kind="both")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize(
    "name",
    ["hist, categories", "forest, three classes", "lightgbm, two classes", "xgboost", "catboost, text"],
)
def test_trees_effects_are_single_effects_bit_for_bit(name, kind):
    model, table = fitted(name), MODELS[name][1]
    found = paribus.effects(model, table, kind=kind)
    assert found.provenance.evaluator == "tree_exact"
    assert len(found) == 5
    for key, effect in found.items():
        feature = key if hasattr(table, "columns") else int(key[1:])
        same_bits(effect, paribus.partial_dependence(model, table, feature, kind=kind))


def test_trees_column_that_cannot_be_varied_is_skipped():
    frame = pd.DataFrame({"a": FULL[:, 0], "b": FULL[:, 1], "lists": [[1, 2]] * N})
    model = tree.DecisionTreeRegressor(max_depth=3).fit(frame[["a", "b"]], SIGNAL)
    found = paribus.effects(lambda table: model.predict(table[["a", "b"]]), frame)
    assert set(found) == {"a", "b"}
    assert found.skipped == ("feature 'lists' holds lists, which cannot be varied",)
    assert found.provenance.evaluator == "brute"


@pytest.mark.parametrize(
    ("features", "arguments"),
    [(0, {"max_memory": "1kB"}), ([0, 1, 2], {"kind": "both", "max_memory": "80MB"})],
)
def test_trees_bound_that_is_too_small_is_error_of_its_own(features, arguments):
    with pytest.raises(paribus.errors.MemoryBoundError, match="Raise max_memory of Explainer, lower grid"):
        statistic_of("partial_dependence", fitted("hist"), GAPS, features, method="exact", **arguments)


@pytest.mark.nightly
def test_trees_thousand_features():
    table = np.random.default_rng(0).normal(size=(50, 1000))
    model = hist("Regressor").fit(table, table[:, 0] * table[:, 1] + table[:, 2])
    found = paribus.effects(model, table, method="exact", grid_resolution=5)
    assert len(found) == 1000
    want = paribus.effects(model, table, [0, 1, 2, 999], method="brute", grid_resolution=5)
    for key, effect in want.items():
        agree(found[key], effect, 1e-9)


def test_two_thousand_trees():
    model = xgb.XGBRegressor(**XGB | {"n_estimators": 2000, "max_depth": 2}).fit(FULL, SIGNAL)
    for have, want in exact_and_brute(model, FULL, [0, (1, 2)], grid_resolution=4):
        agree(have, want, 5e-6)


def test_trees_integers_that_single_precision_rounds_are_requested_on_both_sides_of_split():
    table = (2**24 + np.arange(400)[:, None] * np.array([3, 5])).astype(np.int64)
    model = xgb.XGBRegressor(**XGB).fit(table, np.sin(table[:, 0] / 90))
    effect = paribus.partial_dependence(model, table, 0, grid_resolution="splits")
    asked = np.arange(table[:, 0].min(), table[:, 0].max() + 1)
    want = paribus.partial_dependence(model, table, 0, custom_values={0: asked}, method="brute")
    nearest = np.searchsorted(effect.grid_values[0], asked, side="right") - 1
    np.testing.assert_allclose(effect.average[:, nearest], want.average, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize(("features", "value"), [(0, np.inf), ([0, 1], np.nan), ([0, 1], np.inf)])
def test_trees_what_is_replaced_need_not_be_accepted(features, value):
    model = forests.GradientBoostingRegressor(n_estimators=5).fit(FULL, SIGNAL)
    table = FULL.copy()
    table[1, 0] = value  # a row that is not shown to the model before
    have, want = (
        paribus.partial_dependence(model, table, features, grid_resolution=5, method=method)
        for method in ("exact", "brute")
    )
    np.testing.assert_allclose(have.average, want.average, rtol=1e-9)
    with pytest.raises(paribus.errors.ModelError):
        paribus.partial_dependence(model, table, 2, method="exact")


def test_trees_that_would_take_too_much_memory_are_refused_unless_brute_force_is_requested(monkeypatch):
    model = forests.RandomForestRegressor(30, random_state=0).fit(FULL, SIGNAL)
    small = {"grid_resolution": 5, "max_memory": 400_000}
    for method in ("auto", "exact"):
        with pytest.raises(paribus.errors.MemoryBoundError, match=r"need [\d.]+ MB and max_memory is 400 kB"):
            statistic_of("partial_dependence", model, FULL, 0, method=method, **small)
    effect = statistic_of("partial_dependence", model, FULL, 0, method="brute", **small)
    assert effect.provenance.evaluator == "brute"
    monkeypatch.setattr(_budget, "free_memory", lambda: 800_000)  # of which half is the bound
    effect = paribus.partial_dependence(model, FULL, 0, grid_resolution=5)
    assert effect.provenance.evaluator == "brute"
    assert "max_memory" in effect.provenance.refusals["tree_exact"]


def test_trees_uneven_weights_are_sampled_by_what_they_count():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(30_000, 5))
    weights = rng.exponential(size=len(table)) ** 6
    model = forests.GradientBoostingRegressor(n_estimators=10).fit(FULL, SIGNAL)
    have, want = (
        paribus.partial_dependence(
            model, table, 0, custom_values={0: [-1.0, 0.0, 1.0]}, sample_weight=weights, method=method
        )
        for method in ("exact", "brute")
    )
    np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=0.1)
    assert have.provenance.standard_error_rows == 4096


@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize("name", ["hist", "hist, three classes"])
def test_trees_questions_without_points_leave_others_alone(name, kind):
    model = fitted(name)
    table = GAPS.copy()
    table[:, 0] = np.nan
    asked = [(0, 1), (1, 0), 2, (1, 2), 0]
    have, want = (
        paribus.effects(model, table, asked, grid_resolution=4, kind=kind, method=method)
        for method in ("exact", "brute")
    )
    for key in want:
        agree(have[key], want[key], 1e-9)
    assert have["x0", "x1"].average.shape[1:] == (0, 4)


def reordered():
    rng = np.random.default_rng(3)
    u, v = (rng.random((2, 4000)) < 0.01).astype(float)
    level, x = pd.Categorical(rng.choice(["a", "b"], 4000)), rng.normal(size=4000)
    frame = pd.DataFrame({"c": level, "u": u, "v": v, "x": x})
    return frame, 5 * u - 5 * v + x + 1e5


@pytest.mark.parametrize("library", ["sklearn", "catboost"])
def test_trees_columns_in_another_order_are_not_mistaken_for_each_other(library):
    frame, y = reordered()
    if library == "sklearn":
        model = hist("Regressor", categorical_features="from_dtype").fit(frame, y)
    else:
        frame = frame.drop(columns="c")
        model = catboost.CatBoostRegressor(**CAT).fit(frame, y)
    swapped = frame[[*frame.columns[:-3], "v", "u", "x"]]
    have, want = (paribus.partial_dependence(model, table, "u") for table in (swapped, frame))
    assert have.provenance.evaluator == "tree_exact"
    np.testing.assert_array_equal(have.average, want.average)
    with pytest.raises(paribus.errors.RefusalError, match="in their order"):
        structure.read_trees(model, table_of(swapped))


class Capped(xgb.XGBRegressor):
    def predict(self, X, **keywords):
        return np.minimum(super().predict(X, **keywords), 7.0)


def test_trees_what_predicts_in_way_of_its_own_is_requested_itself():
    own = Capped(**XGB).fit(FULL, SIGNAL)
    patched = forests.RandomForestRegressor(3).fit(FULL, SIGNAL)
    patched.predict = lambda X: np.zeros(len(X))
    for model, reason in (
        (own, "Capped is not a class of XGBoost, so its predictions may be customized"),
        (
            patched,
            "the predict of this RandomForestRegressor was replaced, so its predictions are customized",
        ),
    ):
        effect = paribus.partial_dependence(model, FULL, 0, grid_resolution=4)
        assert effect.provenance.evaluator == "brute"
        assert effect.provenance.refusals["tree_exact"] == reason


def test_trees_reader_that_fails_makes_way_for_brute_force(monkeypatch):
    def fails(estimator):
        raise KeyError("learner")

    monkeypatch.setattr(xgboost_reader, "read", fails)
    provenance = paribus.partial_dependence(fitted("xgboost"), GAPS, 0, grid_resolution=4).provenance
    assert provenance.evaluator == "brute"
    assert provenance.refusals["tree_exact"] == (
        f"the trees of XGBoost {xgb.__version__} cannot be read: KeyError: 'learner'"
    )


def test_trees_many_curves_of_rows_fit_where_their_result_does():
    table = np.random.default_rng(0).normal(size=(6_000, 20))
    model = forests.GradientBoostingRegressor(n_estimators=5).fit(table, table[:, 0])
    found = paribus.Explainer(model, table, max_memory="180MB").effects(kind="both", grid_resolution=40)
    assert found.provenance.evaluator == "tree_exact"


@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize("trees", [20, 500])
def test_exponential_of_many_trees_keeps_its_digits(trees, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 4))
    y = rng.poisson(np.exp(-2 + 0.5 * X[:, 0] + 0.4 * X[:, 1] * X[:, 2]))
    model = lgb.LGBMRegressor(**LGB | {"n_estimators": trees}, objective="poisson", learning_rate=0.3).fit(
        X, y
    )
    have, want = (
        paribus.partial_dependence(model, X, 0, grid_resolution=4, kind=kind, method=method)
        for method in ("exact", "brute")
    )
    agree(have, want, 1e-11)
    if kind == "both":
        np.testing.assert_allclose(have.average, have.individual.mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("options", [{"kind": "both"}, {"quantiles": (0.1, 0.9)}, {}], ids=str)
def test_points_that_no_test_tells_apart_are_evaluated_once(options, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[::9, 3] = np.nan
    y = X[:, 0] * (X[:, 1] > 0) + np.nan_to_num(X[:, 3])
    model = hist("Regressor", max_iter=3, max_leaf_nodes=4).fit(X, y)
    groups = [0, 3, 5, (0, 1), (0, 3)]
    sizes = []
    build = tree_exact.TreeExact.build

    def built(model, request):
        sizes.append(build(model, request).sizes)
        return build(model, request)

    def found():
        return paribus.effects(
            model, X, groups, grid_resolution=40, method="exact", progress=False, **options
        )

    monkeypatch.setattr(tree_exact.TreeExact, "build", built)
    few = found()
    assert max(sizes[0][:3]) < 12
    assert sizes[0][2] == 1  # which no tree tests
    monkeypatch.setattr(tree_exact.TreeExact, "build", tree_exact.TreeExact.at_all_points)
    for one, other in zip(few.values(), found().values(), strict=True):
        # Sums over leaves are added up in another order where there are fewer points.
        np.testing.assert_allclose(one.average, other.average, rtol=1e-12)
        assert one.missing is None or np.array_equal(one.missing.average, other.missing.average)
        curves = [
            (each.standard_error, each.individual, getattr(each.quantiles, "values", None))
            for each in (one, other)
        ]
        for mine, theirs in zip(*curves, strict=True):
            assert (mine is None) == (theirs is None)
            assert mine is None or np.allclose(mine, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("outputs", [1, 2])
def test_averages_at_all_codes_of_deep_trees_are_those_of_the_kernel(outputs, rng):
    X = rng.normal(size=(6_000, 3))
    X[::7, 1] = np.nan
    y = np.nan_to_num(X) @ rng.normal(size=(3, outputs)) + rng.normal(size=(6_000, outputs))
    model = forests.RandomForestRegressor(2, max_leaf_nodes=3_000, random_state=0).fit(
        X, y if outputs > 1 else y[:, 0]
    )
    ensemble = structure.trees_of(adapt(model, table_of(X))).ensemble
    program = programs.program_of(ensemble, programs.family_of([(0,), (1,), (2,)]), compiled)
    assert program.shallow < len(program.entries)
    share, cells = rng.random(program.n_slots), ThresholdCells(program)
    for kernels in (compiled, reference):
        for position, found in zip([0, 2, 1], kernels.cell_averages(program, [0, 2, 1], share), strict=True):
            points = cells.points(position, np.arange(cells.size[position]))
            want = compiled.average(program, points, share)
            np.testing.assert_allclose(found, want, rtol=0, atol=1e-12 * np.abs(want).max())

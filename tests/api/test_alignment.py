"""X is aligned with what the model was fitted on: by name, in its order, as its categories."""

import warnings
from functools import cache, partial

import duckdb
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost
from catboost import CatBoostRegressor
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import paribus
from paribus._api.data import open_data
from paribus._api.runner import Runner
from paribus._models.columns import fitted_on
from statistic_of import statistic_of

STORES = hasattr(xgboost.Booster, "get_categories")  # from version 3.1 on
ROWS = 400


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=ROWS),
            "region": pd.Categorical(rng.choice(["north", "south", "east"], ROWS)),
            "b": rng.normal(size=ROWS),
        }
    )


def target(table):
    return table.a + 2 * (table.region == "north") - (table.region == "east") * table.b


@cache
def model(name):
    table, y = frame(), target(frame())
    if name == "numbers":
        return lightgbm.LGBMRegressor(n_estimators=15, verbose=-1).fit(table[["a", "b"]], y)
    if name == "lightgbm":
        return lightgbm.LGBMRegressor(n_estimators=15, verbose=-1).fit(table, y)
    if name == "lightgbm booster":
        return model("lightgbm").booster_
    if name == "xgboost":
        return xgboost.XGBRegressor(n_estimators=15, enable_categorical=True).fit(table, y)
    if name == "xgboost booster":
        return model("xgboost").get_booster()
    if name == "catboost":
        return CatBoostRegressor(iterations=15, verbose=0, cat_features=["region"], one_hot_max_size=5).fit(
            table, y
        )
    if name == "histogram":
        return HistGradientBoostingRegressor(max_iter=15, categorical_features="from_dtype").fit(table, y)
    if name == "search":
        searched = lightgbm.LGBMRegressor(n_estimators=15, verbose=-1)
        return GridSearchCV(searched, {"num_leaves": [7]}, cv=2).fit(table, y)
    if name == "vote":
        return VotingRegressor([("one", lightgbm.LGBMRegressor(n_estimators=5, verbose=-1))]).fit(table, y)
    if name == "target":
        return TransformedTargetRegressor(lightgbm.LGBMRegressor(n_estimators=5, verbose=-1)).fit(table, y)
    if name == "only step":
        return make_pipeline(lightgbm.LGBMRegressor(n_estimators=5, verbose=-1)).fit(table, y)
    assert name == "pipeline"
    columns = ColumnTransformer(
        [("text", OneHotEncoder(), ["region"]), ("number", StandardScaler(), ["b", "a"])]
    )
    return make_pipeline(columns, LinearRegression()).fit(table.astype({"region": str}), y)


MODELS = [
    "lightgbm",
    "lightgbm booster",
    "xgboost",
    "xgboost booster",
    "catboost",
    "histogram",
    "pipeline",
    "search",
    "vote",
    "target",
    "only step",
]
CHANGES = {
    "as fitted": lambda table: table,
    "reordered": lambda table: table[["b", "region", "a"]],
    "extra": lambda table: table.assign(id=np.arange(ROWS), label="x")[["id", "a", "label", "region", "b"]],
    "text": lambda table: table.astype({"region": str}),
    "text, reordered": lambda table: table.astype({"region": str})[["region", "b", "a"]],
    "other category order": lambda table: table.assign(
        region=table.region.cat.reorder_categories(["south", "north", "east"])
    ),
}


def _parquet(table, folder):
    pq.write_table(
        pa.Table.from_pandas(table, preserve_index=False), folder / "x.parquet", row_group_size=150
    )
    return str(folder / "x.parquet")


CONNECTIONS = []  # older versions of DuckDB close one that nothing refers to, though a relation of it is left


def _duckdb(table, folder):
    path = _parquet(table, folder)
    CONNECTIONS.append(duckdb.connect())
    return CONNECTIONS[-1].sql(f"SELECT * FROM '{path}'")


def _batches(table, folder):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    return lambda: iter(arrow.to_batches(max_chunksize=130))


def _dask(table, folder):
    return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=3)


SOURCES = {
    "pandas": lambda table, folder: table,
    "polars": lambda table, folder: pl.from_pandas(table),
    "pyarrow": lambda table, folder: pa.Table.from_pandas(table, preserve_index=False),
    "lazy": lambda table, folder: pl.from_pandas(table).lazy(),
    "parquet": _parquet,
    "duckdb": _duckdb,
    "batches": _batches,
    "dask": _dask,
}


def by_value(effect):
    return {
        str(value): average for value, average in zip(effect.grid_values[0], effect.average[0], strict=True)
    }


@cache
def wanted(name):
    own = frame().astype({"region": str}) if name == "pipeline" else frame()
    found = paribus.effects(model(name), own, grid_resolution=5, progress=False)
    return {feature: by_value(effect) for feature, effect in found.items()}


WRAPPERS = ("search", "vote", "target", "only step", "lightgbm booster", "xgboost booster")
IN_CI = {"pandas": MODELS, "polars": ("lightgbm",), "parquet": ("histogram", "pipeline")}  # models by source
CASES = [
    pytest.param(name, change, source, marks=[pytest.mark.nightly] * (name not in IN_CI.get(source, ())))
    for name in MODELS
    for change in CHANGES
    for source in (("pandas", "polars", "parquet") if name in WRAPPERS else SOURCES)
]


@pytest.mark.parametrize(("name", "change", "source"), CASES)
def test_every_table_of_the_same_rows_gives_the_effects_of_the_table_as_fitted(
    name, change, source, tmp_path
):
    if "xgboost" in name and not STORES and (change, source) != ("reordered", "pandas"):
        pytest.skip("this XGBoost keeps no categories")
    X = SOURCES[source](CHANGES[change](frame()), tmp_path)
    found = paribus.effects(model(name), X, grid_resolution=5, progress=False)
    assert found.keys() == wanted(name).keys()
    for feature, effect in found.items():
        have, want = by_value(effect), wanted(name)[feature]
        assert have.keys() == want.keys()
        assert max(abs(have[value] - want[value]) for value in want) < 1e-12
    provenance = next(iter(found.values())).provenance
    assert provenance.unused_columns == (("id", "label") if change == "extra" else ())
    noted = [
        note
        for note in found.notes
        if "ignored 2 columns of X that the model was not fitted on: id, label" in note
    ]
    assert len(noted) == (change == "extra")
    if name in ("lightgbm", "xgboost", "histogram", "catboost"):
        assert provenance.evaluator != "brute", provenance.refusals


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", MODELS)
def test_a_missing_column_is_named_with_the_nearest_one(name, source, tmp_path):
    X = SOURCES[source](frame().rename(columns={"region": "regions"}), tmp_path)
    with pytest.raises(
        paribus.errors.TableError, match=r"X has no column 'region', .*did you mean 'regions'"
    ):
        paribus.partial_dependence(model(name), X, "a", progress=False)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "name", ["lightgbm", "lightgbm booster", "xgboost", "catboost", "histogram", "search"]
)
def test_text_where_numbers_were_and_numbers_where_categories_were_are_refused(name, source, tmp_path):
    if name == "xgboost" and not STORES:
        pytest.skip("this XGBoost keeps no categories")
    X = SOURCES[source](frame().assign(b="high"), tmp_path)
    with pytest.raises(
        paribus.errors.TableError, match="column 'b' of X holds text, and the model was fitted on numbers"
    ):
        paribus.partial_dependence(model(name), X, "a", progress=False)
    if name != "catboost":  # to which a number is a category as good as text
        X = SOURCES[source](frame().assign(region=1), tmp_path)
        with pytest.raises(
            paribus.errors.TableError, match=r"'region' of X holds numbers, .* on categories of text"
        ):
            paribus.partial_dependence(model(name), X, "a", progress=False)


def test_categories_of_other_values_are_refused_where_all_would_count_as_missing():
    X = frame().assign(region=pd.Categorical(np.arange(ROWS) % 3))
    with pytest.raises(
        paribus.errors.TableError, match=r"holds categories of numbers, .* on categories of text"
    ):
        paribus.partial_dependence(model("lightgbm"), X, "a")


VERBS = {
    "partial_dependence": lambda m, X, y: paribus.partial_dependence(m, X, "a", grid_resolution=5).average,
    "kind": lambda m, X, y: (
        paribus.partial_dependence(m, X, "a", kind="individual", grid_resolution=5).individual
    ),
    "accumulated": lambda m, X, y: paribus.accumulated_local_effects(m, X, ["a"])["a"].ale,
    "marginal": lambda m, X, y: paribus.marginal(m, X, ["a"], grid_resolution=5)["a"].predicted,
    "h": lambda m, X, y: paribus.h_statistic(m, X, ["a", "b"])["numerator_pairwise"],
    "importance": lambda m, X, y: paribus.feature_importance(m, X, features=["a", "b"]).values,
    "permutation": lambda m, X, y: (
        paribus.feature_importance(m, X, y=y, kind="permutation", features=["a", "b"]).values
    ),
    "model": lambda m, X, y: paribus.feature_importance(m, X, kind="model", features=["a", "b"]).values,
    "display": lambda m, X, y: paribus.PartialDependenceDisplay.from_estimator(
        m, X, ["a"], grid_resolution=5
    ).pd_results[0]["average"],
    "list": lambda m, X, y: paribus.partial_dependence([m, m], X, "a", grid_resolution=5).average,
    "method of a model": lambda m, X, y: (
        paribus.partial_dependence(m.predict, X, "a", grid_resolution=5).average
    ),
}


@pytest.mark.parametrize("source", ["pandas", "polars"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_aligns(verb, source, tmp_path):
    own, table = model("lightgbm"), frame()
    turned = CHANGES["text, reordered"](table).assign(id=1)
    X = SOURCES[source](turned, tmp_path)
    have, want = VERBS[verb](own, X, target(table)), VERBS[verb](own, table, target(table))
    np.testing.assert_allclose(have, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["effect", "permutation", "model"])
def test_importance_of_every_kind_notes_the_columns_left_out(kind):
    y = target(frame()) if kind == "permutation" else None
    found = paribus.feature_importance(model("lightgbm"), frame().assign(id=1), y=y, kind=kind)
    assert found.feature_names == ("a", "region", "b")
    assert any("ignored 1 column of X that the model was not fitted on: id" in note for note in found.notes)
    assert found.provenance.unused_columns == ("id",)


def test_unused_columns_are_saved_and_loaded(tmp_path):
    effect = paribus.partial_dependence(model("numbers"), frame(), "a")
    effect.save(tmp_path / "x.json")
    assert paribus.load(tmp_path / "x.json").provenance.unused_columns == ("region",)


def test_many_unused_columns_are_counted():
    X = frame().assign(**{f"u{j}": 1 for j in range(5)})
    notes = paribus.partial_dependence(model("lightgbm"), X, "a").notes
    assert "ignored 5 columns of X that the model was not fitted on: u0, u1, u2 and 2 more" in notes


@pytest.mark.parametrize("source", SOURCES)
def test_a_position_is_one_in_x_as_it_was_passed(source, tmp_path):
    own, table = model("lightgbm"), frame()
    X = SOURCES[source](table.assign(id=1)[["id", "b", "region", "a"]], tmp_path)
    for position, name in ((1, "b"), (3, "a")):
        have = paribus.partial_dependence(own, X, position, grid_resolution=5, progress=False)
        want = paribus.partial_dependence(own, table, name, grid_resolution=5)
        assert have.feature_names == (name,)
        np.testing.assert_array_equal(have.average, want.average)
    found = paribus.effects(
        own, X, [False, True, False, True], custom_values={3: [0.0, 1.0]}, grid_resolution=5, progress=False
    )
    assert set(found) == {"a", "b"}
    assert found["a"].grid_values[0].tolist() == [0.0, 1.0]


def test_strengths_keep_the_positions_that_were_asked_for():
    X = frame().assign(id=1)[["id", "b", "region", "a"]]
    found = paribus.h_statistic(model("lightgbm"), X, [3, 1])
    assert found["feature_pairs"] == [(3, 1)]
    assert paribus.feature_importance(model("lightgbm"), X, features=[3, 1]).feature_names == ("a", "b")


def test_a_display_takes_positions_and_values_of_x_as_it_was_passed():
    X = frame().assign(id=1)[["id", "b", "region", "a"]]
    display = paribus.PartialDependenceDisplay.from_estimator(
        model("lightgbm"), X, [3, 1], custom_values={3: [0.0, 1.0]}, grid_resolution=5
    )
    assert display.pd_results[0]["grid_values"][0].tolist() == [0.0, 1.0]
    assert [display.feature_names[group[0]] for group in display.features] == ["a", "b"]


@pytest.mark.parametrize("feature", ["id", 1])
def test_a_feature_the_model_does_not_use_is_refused(feature):
    X = frame().assign(id=1)[["a", "id", "region", "b"]]
    with pytest.raises(
        paribus.errors.FeatureError, match="'id' is a column of X that the model does not use"
    ):
        paribus.partial_dependence(model("lightgbm"), X, feature)


def test_the_weights_of_a_file_are_no_feature_and_no_unused_column(tmp_path):
    X = _parquet(frame().assign(w=1.0), tmp_path)
    effect = paribus.partial_dependence(model("lightgbm"), X, "a", sample_weight="w", progress=False)
    assert effect.provenance.unused_columns == ()
    with pytest.raises(paribus.errors.FeatureError, match="'w' is a column of X that the model does not use"):
        paribus.partial_dependence(model("lightgbm"), X, "w", sample_weight="w", progress=False)


def test_feature_names_are_those_of_x_as_it_was_passed(tmp_path):
    X = frame().assign(id=1)[["b", "id", "region", "a"]]
    names = ["Bonus", "ID", "Region", "Age"]
    want = paribus.partial_dependence(model("lightgbm"), frame(), "a", grid_resolution=5)
    for table in (X, _parquet(X, tmp_path)):
        have = paribus.Explainer(
            model("lightgbm"), table, feature_names=names, progress=False
        ).partial_dependence("Age", grid_resolution=5)
        np.testing.assert_array_equal(have.average, want.average)
        assert have.provenance.unused_columns == ("ID",)


def test_feature_names_of_a_file_may_leave_out_weights_and_target_and_nothing_else(tmp_path):
    X = _parquet(frame().assign(id=1, w=1.0)[["w", "id", "region", "b", "a"]], tmp_path)
    call = {"sample_weight": "w", "grid_resolution": 5, "progress": False}
    want = paribus.partial_dependence(model("lightgbm"), frame(), "a", grid_resolution=5)
    have = statistic_of(
        "partial_dependence",
        model("lightgbm"),
        X,
        "Age",
        feature_names=["ID", "Region", "Bonus", "Age"],
        **call,
    )
    np.testing.assert_allclose(have.average, want.average, rtol=1e-12)
    with pytest.raises(paribus.errors.InputError, match="3"):
        statistic_of(
            "partial_dependence",
            model("lightgbm"),
            X,
            "Age",
            feature_names=["Region", "Bonus", "Age"],
            **call,
        )


def test_a_collection_prints_once_that_columns_were_ignored():
    X = frame().assign(id=1)
    for compute in (paribus.effects, paribus.accumulated_local_effects, paribus.marginal):
        shown = repr(compute(model("lightgbm"), X, ["a", "b"], progress=False))
        assert shown.count("note: ignored 1 column of X that the model was not fitted on: id") == 1


def test_a_column_that_differs_in_case_alone_is_suggested():
    with pytest.raises(paribus.errors.TableError, match="did you mean 'REGION'"):
        paribus.partial_dependence(model("lightgbm"), frame().rename(columns={"region": "REGION"}), "a")


def test_names_of_an_array_that_contradict_the_model_are_refused():
    fitted, turned = frame()[["a", "b"]], ["b", "a"]
    known = model("numbers")
    assert list(known.feature_name_) == ["a", "b"]
    with pytest.raises(
        paribus.errors.TableError, match=r"feature_names=\['b', 'a'\].*fitted on .*another order \(a, b\)"
    ):
        paribus.Explainer(known, fitted[turned].to_numpy(), feature_names=turned).partial_dependence("a")
    for names in (["a", "b"], ["Age", "Bonus"]):
        have = paribus.Explainer(known, fitted.to_numpy(), feature_names=names).partial_dependence(
            0, grid_resolution=5
        )
        want = paribus.partial_dependence(known, fitted, "a", grid_resolution=5)
        np.testing.assert_array_equal(have.average, want.average)


def test_models_of_a_list_fitted_on_other_columns_are_refused_in_memory_too():
    with pytest.raises(paribus.errors.ModelError, match="some of them without 'region'"):
        paribus.partial_dependence([model("lightgbm"), model("numbers")], frame(), "a")
    turned = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame()[["b", "a"]], target(frame()))
    with pytest.raises(paribus.errors.ModelError, match="in another order"):
        paribus.partial_dependence([turned, model("numbers")], frame(), "a")


@pytest.mark.parametrize("source", ["pandas", "polars", "parquet"])
def test_a_model_without_names_gets_no_columns_moved_for_another_of_its_list(source, tmp_path):
    table, y = frame()[["a", "b"]], target(frame())
    by_place = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(table.to_numpy(), y)
    for other in (by_place, LinearRegression().fit(table.to_numpy(), y), lambda X: np.asarray(X)[:, 0]):
        models = [model("numbers"), other]
        call = partial(paribus.partial_dependence, features="a", custom_values={"a": [0.5]}, progress=False)
        want = (call(models[0], table).average + call(other, table).average) / 2
        have = call(models, SOURCES[source](table, tmp_path)).average
        np.testing.assert_allclose(have, want, rtol=0, atol=1e-12)
        X = SOURCES[source](table[["b", "a"]], tmp_path)
        with pytest.raises(
            paribus.errors.ModelError, match=r"does not store its columns; pass one model at a time"
        ):
            call(models, X)
    wide = SOURCES[source](table.assign(id=1), tmp_path)
    with pytest.raises(paribus.errors.ModelError, match=r"does not store its columns"):
        call(models, wide)
    with pytest.raises(paribus.errors.TableError, match=r"X has 3 features, but .* is expecting 2"):
        call([model("numbers"), by_place], wide)
    three = LinearRegression().fit(np.ones((5, 3)), np.arange(5))
    with pytest.raises(paribus.errors.TableError, match=r"X has 2 features, but .* is expecting 3"):
        call([model("numbers"), three], SOURCES[source](table, tmp_path))


@pytest.mark.parametrize("extra", [0, 1])
def test_an_array_needs_as_many_columns_as_the_model_was_fitted_on(extra):
    table = frame()[["a", "b"]]
    y = target(frame())
    for own in (
        model("numbers"),
        CatBoostRegressor(iterations=3, verbose=0).fit(table, y),
        LinearRegression().fit(table.to_numpy(), y),
    ):
        X = np.column_stack([table.to_numpy(), *([np.ones(ROWS)] * extra)])
        if extra:
            with pytest.raises(
                paribus.errors.TableError, match=r"X has 3 features, but .* is expecting 2 features"
            ):
                paribus.partial_dependence(own, X, 0)
        else:
            assert paribus.partial_dependence(own, X, 0, grid_resolution=5).average.shape == (1, 5)


@pytest.mark.parametrize("names", [list("ab"), [0, 1], ["Column_0", "Column_1"]])
def test_names_that_libraries_give_columns_of_arrays_are_no_knowledge(names):
    table, y = frame()[["a", "b"]], target(frame())
    X = table.set_axis(names, axis=1)
    for make in (
        lambda: lightgbm.LGBMRegressor(n_estimators=5, verbose=-1),
        lambda: xgboost.XGBRegressor(n_estimators=5),
        lambda: CatBoostRegressor(iterations=5, verbose=0),
    ):
        own = make().fit(table.to_numpy(), y)
        want = paribus.partial_dependence(own, table.to_numpy(), 0, grid_resolution=5)
        have = paribus.partial_dependence(own, X, str(names[0]), grid_resolution=5)
        np.testing.assert_array_equal(have.average, want.average)
        assert have.provenance.evaluator == want.provenance.evaluator != "brute"


def test_names_like_generated_ones_are_names_where_x_has_them():
    table = frame()[["a", "b"]].set_axis(["f0", "f1"], axis=1)
    own = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(table, target(frame()))
    want = paribus.partial_dependence(own, table, "f0", grid_resolution=5)
    have = paribus.partial_dependence(own, table[["f1", "f0"]], "f0", grid_resolution=5)
    np.testing.assert_array_equal(have.average, want.average)
    with pytest.raises(paribus.errors.TableError, match="no column 'f1'"):
        paribus.partial_dependence(own, table.assign(id=1)[["f0", "id"]], "f0")


@pytest.mark.parametrize("begin", ["f", "x", "feature_", ""])
def test_names_that_another_library_generates_are_names(begin):
    table, y = frame()[["a", "b"]].set_axis([f"{begin}{j}" for j in range(2)], axis=1), target(frame())
    turned = frame()[["b", "a"]]
    for own in (
        lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(table, y),
        xgboost.XGBRegressor(n_estimators=5).fit(table, y),
        LinearRegression().fit(table, y),
    ):
        with pytest.raises(paribus.errors.TableError, match=f"X has no column '{begin}0'"):
            paribus.partial_dependence(own, turned, "a")


@pytest.mark.parametrize("wrap", [lambda m: GridSearchCV(m, {}, cv=2), lambda m: VotingRegressor([("m", m)])])
def test_names_lightgbm_generates_are_no_knowledge_inside_another_model(wrap):
    table = frame()[["a", "b"]]
    own = wrap(lightgbm.LGBMRegressor(n_estimators=5, verbose=-1)).fit(table.to_numpy(), target(frame()))
    want = paribus.partial_dependence(own, table.to_numpy(), 0, grid_resolution=5)
    have = paribus.partial_dependence(own, table, "a", grid_resolution=5)
    np.testing.assert_array_equal(have.average, want.average)


class AsItIs(TransformerMixin, BaseEstimator):
    """A step that keeps no names: its columns are those it is given, chosen by name, or renamed."""

    def __init__(self, columns=None, renamed=None):
        self.columns, self.renamed = columns, renamed

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        X = X if self.columns is None else X[self.columns]
        return X if self.renamed is None else X.set_axis(self.renamed, axis=1)


class Wrapped:
    def __init__(self, estimator):
        self.estimator = estimator

    def predict(self, X):
        return self.estimator.predict(X)


@pytest.mark.parametrize("source", SOURCES)
def test_an_order_that_only_a_model_within_knows_is_refused_if_it_matters(source, tmp_path):
    table, y = frame()[["a", "b"]], target(frame())
    piped = make_pipeline(AsItIs(), lightgbm.LGBMRegressor(n_estimators=15, verbose=-1)).fit(table, y)
    for own in (piped, Wrapped(model("numbers")), Wrapped(piped), [piped, piped]):
        want = paribus.partial_dependence(model("numbers"), table, "a", grid_resolution=5).average
        have = paribus.partial_dependence(
            own, SOURCES[source](table, tmp_path), "a", grid_resolution=5, progress=False
        )
        np.testing.assert_allclose(have.average, want, rtol=0, atol=1e-12)
        X = SOURCES[source](table[["b", "a"]], tmp_path)
        with pytest.raises(
            paribus.errors.TableError, match=r"order 'b', 'a', .* was fitted on 'a', 'b', .*pass X"
        ):
            paribus.partial_dependence(own, X, "a", grid_resolution=5, progress=False)


@pytest.mark.parametrize(
    "step",
    [
        AsItIs(columns=["a", "b"]),
        AsItIs(columns=["b", "a"]),
        AsItIs(columns=["a", "b"], renamed=["u", "v"]),
        AsItIs(columns=["a", "b"], renamed=["id", "a"]),
    ],
)
def test_a_step_that_finds_columns_by_name_takes_them_in_any_order(step):
    table, y = frame()[["a", "b"]].assign(id=np.arange(ROWS)), target(frame())
    own = make_pipeline(step, lightgbm.LGBMRegressor(n_estimators=15, verbose=-1)).fit(table, y)
    want = paribus.partial_dependence(own, table, "a", grid_resolution=5).average
    for columns in (["b", "id", "a"], ["id", "b", "a"], ["a", "id", "b"]):
        have = paribus.partial_dependence(own, table[columns], "a", grid_resolution=5).average
        np.testing.assert_array_equal(have, want)


def test_a_model_that_leads_in_a_circle_is_explained():
    own = Wrapped(None)
    own.estimator, own.predict = own, lambda X: np.asarray(X)[:, 0]
    assert paribus.partial_dependence(own, frame()[["a", "b"]], "a", grid_resolution=5).average.shape == (
        1,
        5,
    )


def test_lightgbm_spells_spaces_as_underscores():
    table = frame()[["a", "b"]].set_axis(["my a", "my b"], axis=1)
    own = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(table, target(frame()))
    want = paribus.partial_dependence(own, table, "my a", grid_resolution=5)
    have = paribus.partial_dependence(own, table[["my b", "my a"]], "my a", grid_resolution=5)
    np.testing.assert_array_equal(have.average, want.average)
    assert have.provenance.evaluator == want.provenance.evaluator != "brute"
    with pytest.raises(paribus.errors.TableError, match="'my a' and 'my_a', and LightGBM calls both 'my_a'"):
        paribus.partial_dependence(own, table.assign(my_a=1.0), "my b")
    other = CatBoostRegressor(iterations=3, verbose=0).fit(
        table.set_axis(["my_a", "my_b"], axis=1), target(frame())
    )
    with pytest.raises(paribus.errors.TableError, match=r"no column 'my_a' .*did you mean 'my a'"):
        paribus.partial_dependence(other, table, "my a")


def test_columns_a_pipeline_drops_need_not_be_there():
    table = frame().assign(id=np.arange(ROWS))
    kept = ColumnTransformer([("number", StandardScaler(), ["a", "b"])])
    own = make_pipeline(kept, LinearRegression()).fit(table, target(table))
    want = paribus.partial_dependence(own, table, "a", grid_resolution=5).average
    have = paribus.partial_dependence(own, table[["b", "a"]], "a", grid_resolution=5).average
    np.testing.assert_allclose(have, want, rtol=0, atol=1e-12)
    with pytest.raises(paribus.errors.TableError, match="no column 'b'"):
        paribus.partial_dependence(own, table[["a"]], "a")


@pytest.mark.parametrize("source", SOURCES)
def test_values_lightgbm_does_not_know_are_missing_ones_to_it_and_stay_what_they_are(source, tmp_path):
    text = frame().region.astype(str).where(np.arange(ROWS) % 5 > 0, "west")
    own = frame().assign(region=pd.Categorical(text, categories=["east", "north", "south", "west"]))
    want = by_value(paribus.partial_dependence(model("lightgbm"), own, "region"))
    X = SOURCES[source](own.assign(region=text), tmp_path)
    have = paribus.partial_dependence(model("lightgbm"), X, "region", progress=False)
    assert by_value(have).keys() == want.keys()
    assert "west" in want
    assert max(abs(by_value(have)[value] - want[value]) for value in want) < 1e-12
    frames = have.to_frame()
    assert set(map(str, frames["region"])) == set(want)
    lost = own.assign(region=own.region.cat.set_categories(["east", "north", "south"]))
    at_missing = paribus.partial_dependence(model("lightgbm"), lost, "region")
    assert want["west"] == pytest.approx(at_missing.missing.average[0], abs=1e-12)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["lightgbm", "histogram", "search"])
@pytest.mark.parametrize("kind", ["text", "category"])
def test_a_column_of_which_the_model_knows_no_value_is_refused(name, source, kind, tmp_path):
    text = frame().region.astype(str).str.upper().where(np.arange(ROWS) % 4 > 0, None)
    column = text.astype("category") if kind == "category" else text.astype(object)
    if kind == "category":  # that a known one is declared does not help where none occurs
        column = column.cat.add_categories(["north"])
    X = SOURCES[source](frame().assign(region=column), tmp_path)
    with pytest.raises(
        paribus.errors.TableError,
        match=r"'region' of X has none of .*\('east', 'north', 'south'\): 'EAST', 'NORTH'",
    ):
        paribus.partial_dependence(model(name), X, "a", progress=False)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["lightgbm", "histogram"])
@pytest.mark.parametrize("kind", ["text", "category"])
def test_values_the_model_does_not_know_are_noted(name, source, kind, tmp_path):
    text = frame().region.astype(str).where(np.arange(ROWS) < 250, "west")
    column = pd.Categorical(text, [*"xyz", "east", "north", "south", "west"]) if kind == "category" else text
    X = SOURCES[source](frame().assign(region=column), tmp_path)
    effect = paribus.partial_dependence(model(name), X, "a", grid_resolution=5, progress=False)
    assert effect.provenance.unknown_categories == ("region: 'west'",)
    noted = "X has categories that the model does not know and treats as missing: region: 'west'"
    assert noted in effect.notes
    effect.save(tmp_path / "x.json")
    assert paribus.load(tmp_path / "x.json").provenance.unknown_categories == ("region: 'west'",)


def test_known_values_and_missing_ones_are_not_noted():
    gaps = frame().assign(region=frame().region.where(np.arange(ROWS) % 4 > 0))
    for X in (gaps, gaps.assign(region=pd.Categorical([None] * ROWS, ["north"]))):
        for name in ("lightgbm", "histogram"):
            assert paribus.partial_dependence(model(name), X, "a").provenance.unknown_categories == ()


def test_each_model_of_a_list_must_know_some_value():
    own = frame().assign(region=frame().region.cat.rename_categories(str.upper))
    upper = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(own, target(frame()))
    with pytest.raises(paribus.errors.TableError, match="none of the categories"):
        paribus.partial_dependence([upper, model("lightgbm")], own, "a")


@pytest.mark.skipif(not STORES, reason="this XGBoost keeps no categories")
@pytest.mark.parametrize("source", SOURCES)
def test_values_xgboost_does_not_know_are_refused(source, tmp_path):
    text = frame().region.astype(str).where(np.arange(ROWS) > 300, "west")
    for column in (text, pd.Categorical(text)):
        X = SOURCES[source](frame().assign(region=column), tmp_path)
        with pytest.raises(
            paribus.errors.TableError, match="column 'region' of X has 'west', which is not one of the 3"
        ):
            paribus.partial_dependence(model("xgboost"), X, "a", progress=False)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_categories_that_are_numbers_come_from_numbers(library, source, tmp_path):
    if library == "xgboost" and not STORES:
        pytest.skip("this XGBoost keeps no categories")
    code = np.array([3, 7, 12])[np.arange(ROWS) % 3]
    table = frame()[["a"]].assign(code=pd.Categorical(code))
    y = table.a + np.sin(code)
    if library == "lightgbm":
        own = lightgbm.LGBMRegressor(n_estimators=15, verbose=-1).fit(table, y)
    else:
        own = xgboost.XGBRegressor(n_estimators=15, enable_categorical=True).fit(table, y)
    want = by_value(paribus.partial_dependence(own, table, "code"))
    for plain in (code, code.astype(np.int32)):
        X = SOURCES[source](table.assign(code=plain), tmp_path)
        have = by_value(paribus.partial_dependence(own, X, "code", progress=False))
        assert have == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_missing_text_stays_missing(library):
    if library == "xgboost" and not STORES:
        pytest.skip("this XGBoost keeps no categories")
    gaps = frame().assign(region=frame().region.where(np.arange(ROWS) % 4 > 0))
    want = paribus.partial_dependence(model(library), gaps, "region")
    text = gaps.region.astype(object).where(gaps.region.notna(), None)
    for X in (gaps.assign(region=text), pl.from_pandas(gaps.assign(region=text))):
        have = paribus.partial_dependence(model(library), X, "region")
        assert by_value(have) == pytest.approx(by_value(want), abs=1e-12)
        np.testing.assert_allclose(have.missing.average, want.missing.average, rtol=0, atol=1e-12)


def test_text_that_must_become_categories_of_pandas_needs_pandas(monkeypatch):
    text = frame().assign(region=frame().region.astype(str))
    X = pa.Table.from_pandas(text, preserve_index=False)
    assert paribus.partial_dependence(model("lightgbm"), X, "region").provenance.backend == "pandas"
    monkeypatch.setattr("paribus._api.alignment.find_spec", lambda name: None)
    with pytest.raises(paribus.errors.TableError, match=r"in the fit: region; pip install pandas$"):
        paribus.partial_dependence(model("lightgbm"), X, "region")


def test_a_pipeline_written_for_pandas_gets_pandas():
    own = Pipeline(
        [
            ("ratio", FunctionTransformer(lambda t: t.assign(b=t.a / 2).to_numpy())),
            ("fit", LinearRegression()),
        ]
    )
    own.fit(frame()[["a", "b"]], target(frame()))
    want = paribus.partial_dependence(own, frame(), "a", grid_resolution=5)
    for X in (pl.from_pandas(frame()), pa.Table.from_pandas(frame()), pl.from_pandas(frame()).lazy()):
        have = paribus.partial_dependence(own, X, "a", grid_resolution=5, progress=False)
        np.testing.assert_allclose(have.average, want.average, rtol=0, atol=1e-12)
        assert have.provenance.backend == "pandas"


def test_a_model_that_takes_polars_gets_polars():
    own = LinearRegression().fit(frame()[["a", "b"]], target(frame()))
    X = pl.from_pandas(frame())
    assert paribus.partial_dependence(own, X, "a").provenance.backend == "polars"


def test_a_calibrated_model_knows_its_categories():
    labels = (target(frame()) > 0).astype(int)
    own = CalibratedClassifierCV(lightgbm.LGBMClassifier(n_estimators=5, verbose=-1), cv=2).fit(
        frame(), labels
    )
    assert fitted_on(own).categories == {1: ("east", "north", "south")}
    want = by_value(paribus.partial_dependence(own, frame(), "region"))
    have = by_value(paribus.partial_dependence(own, CHANGES["text, reordered"](frame()), "region"))
    assert have == pytest.approx(want, abs=1e-12)


def test_a_table_that_is_as_fitted_is_not_copied():
    table = frame()[["a", "b"]]
    own = RandomForestRegressor(n_estimators=2).fit(table, target(frame()))
    rows = open_data(own, table, None, None, "raise", Runner(False))[0].rows
    assert rows.table.native is table
    assert rows.aligned is None


def test_x_itself_is_not_changed():
    text = CHANGES["text, reordered"](frame())
    before = text.copy()
    paribus.effects(model("lightgbm"), text, grid_resolution=3)
    pd.testing.assert_frame_equal(text, before)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost", "histogram"])
def test_a_polars_enum_in_another_order_is_found_by_value(library):
    if library == "xgboost" and not STORES:
        pytest.skip("this XGBoost keeps no categories")
    text = pl.from_pandas(CHANGES["text, reordered"](frame()))
    X = text.with_columns(pl.col("region").cast(pl.Enum(["south", "north", "east"])))
    have = by_value(paribus.partial_dependence(model(library), X, "region"))
    assert have == pytest.approx(wanted(library)["region"], abs=1e-12)


def test_text_becomes_ordered_categories_and_constant_ones():
    table = frame().assign(
        size=pd.Categorical(
            np.array(["lo", "mid", "hi"])[np.arange(ROWS) % 3], ["lo", "mid", "hi"], ordered=True
        ),
        kind=pd.Categorical(["only"] * ROWS),
    )
    y = target(table) + table["size"].cat.codes
    own = lightgbm.LGBMRegressor(n_estimators=15, verbose=-1).fit(table, y)
    assert fitted_on(own).categories == {
        1: ("east", "north", "south"),
        3: ("lo", "mid", "hi"),
        4: ("only",),
    }
    text = table.astype({"size": str, "kind": str, "region": str})
    for feature in ("size", "region", "kind", "a"):
        want = by_value(paribus.partial_dependence(own, table, feature, grid_resolution=5))
        have = by_value(paribus.partial_dependence(own, text, feature, grid_resolution=5))
        assert have == pytest.approx(want, abs=1e-12)


def test_text_is_refused_where_lightgbm_does_not_tell_which_columns_were_categories():
    size = pd.Categorical(
        np.array(["lo", "mid", "hi"])[np.arange(ROWS) % 3], ["lo", "mid", "hi"], ordered=True
    )
    table = frame()[["a"]].assign(size=size, count=np.arange(ROWS) % 3)
    own = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(table, table.a + table["size"].cat.codes)
    paribus.partial_dependence(own, table[["size", "a", "count"]], "a")
    with pytest.raises(
        paribus.errors.TableError, match=r"'size' of X holds text, .* categories that it does not keep"
    ):
        paribus.partial_dependence(own, table.astype({"size": str}), "a")


def test_categories_that_are_booleans_come_from_booleans():
    table = frame()[["a"]].assign(member=pd.Categorical(np.arange(ROWS) % 2 == 0))
    own = lightgbm.LGBMRegressor(n_estimators=15, verbose=-1).fit(table, table.a + (np.arange(ROWS) % 2))
    want = by_value(paribus.partial_dependence(own, table, "member"))
    X = table.assign(member=np.arange(ROWS) % 2 == 0)
    for plain in (X, pl.from_pandas(X)):
        assert by_value(paribus.partial_dependence(own, plain, "member")) == pytest.approx(want, abs=1e-12)
    with pytest.raises(paribus.errors.TableError, match=r"holds numbers, .* categories of booleans"):
        paribus.partial_dependence(own, X.assign(member=2), "a")


def test_the_name_of_a_folder_becomes_a_category(tmp_path):
    text = pa.Table.from_pandas(frame().astype({"region": str}), preserve_index=False)
    pq.write_to_dataset(text, tmp_path / "x", partition_cols=["region"])
    have = by_value(paribus.partial_dependence(model("lightgbm"), tmp_path / "x", "region", progress=False))
    assert have == pytest.approx(wanted("lightgbm")["region"], abs=1e-12)


def test_objects_that_are_numbers_are_no_text():
    table = frame()[["a", "b"]]
    own = HistGradientBoostingRegressor(max_iter=5).fit(table, target(frame()))
    odd = table.astype(object)
    odd.loc[:200, "b"] = None
    assert paribus.partial_dependence(own, odd, "a", grid_resolution=5).average.shape == (1, 5)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["north", 1.5, object(), None], "values such as 1.5, and .* categories such as 'east'"),
        ([["north"], ["south"]], "objects that cannot be categories, and .* categories such as 'east'"),
    ],
)
def test_objects_of_another_type_are_refused_where_categories_were(values, words):
    region = pd.Series(values * (ROWS // len(values)), dtype=object)
    with pytest.raises(paribus.errors.TableError, match=f"column 'region' of X holds {words}"):
        paribus.partial_dependence(model("lightgbm"), frame().assign(region=region), "a")


@pytest.mark.parametrize("source", SOURCES)
def test_what_a_column_holds_is_said_in_plain_words(source, tmp_path):
    dates = pd.date_range("2020-01-01", periods=ROWS)
    X = SOURCES[source](frame().assign(region=dates), tmp_path)
    with pytest.raises(
        paribus.errors.TableError, match="'region' of X holds dates or times, and the model was fitted on"
    ):
        paribus.partial_dependence(model("lightgbm"), X, "a", progress=False)


def test_a_position_beyond_the_columns_is_no_rival_of_a_name():
    X = frame()[["a", "b"]].rename(columns={"a": "10", "b": "0"})
    for token, text in (
        (10, "which has 0 to 1; write '10' for the column of that name"),
        (0, "feature 0 is ambiguous: the column named 0 or the one at position 0; write '0' for the name"),
    ):
        with pytest.raises(paribus.errors.FeatureError, match=text):
            paribus.partial_dependence(lambda t: t["10"], X, token)

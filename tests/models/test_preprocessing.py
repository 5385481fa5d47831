"""Which raw columns an output of preprocessing depends on: proved, guarded, or refused by the name of the step."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.dummy import DummyRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import Lasso, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._data.read import table_of
from paribus._models.columns import PipelinePosition
from paribus._models.preprocessing.dependencies import NAMED, Dependencies, StandIn, by_number
from paribus._models.preprocessing.preparation import Preparation
from paribus._models.wrappers import passed_on
from paribus.errors import RefusalError
from pipeline_examples import NUMBERS, WORDS, mixed_table, refusal_of, refusals_of

X, Y = mixed_table()
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
NUMBER = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
PLAIN = ColumnTransformer([("n", NUMBER, NUMBERS), ("w", ONE_HOT, WORDS)])
FILLED = ColumnTransformer([("n", SimpleImputer(), NUMBERS)])


def dense(matrix):
    """Return an array of what may be sparse."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def bins(encode):
    return KBinsDiscretizer(4, encode=encode, quantile_method="averaged_inverted_cdf")


# By title: the steps, and the columns that some step joins.
STEPS = {
    "passthrough, drop": ([ColumnTransformer([("a", "passthrough", ["age", "price"]), ("b", "drop", ["power"])])], []),
    "an estimator of the rest": ([ColumnTransformer([("w", ONE_HOT, WORDS)], remainder=SimpleImputer())], []),
    "selectors": ([ColumnTransformer([("n", NUMBER, make_column_selector(dtype_include=np.number)), ("w", ONE_HOT, make_column_selector(dtype_exclude=np.number))])], []),
    "masks, slices": ([ColumnTransformer([("n", NUMBER, [True, True, True, False, False, False]), ("w", ONE_HOT, slice("city", "flag")), ("m", SimpleImputer(), slice(0, 2))])], []),
    "negative positions": ([ColumnTransformer([("n", NUMBER, [-6, -5]), ("w", ONE_HOT, [-3, -2])])], []),
    "used twice": ([ColumnTransformer([("n", NUMBER, NUMBERS), ("o", OrdinalEncoder(), WORDS), ("w", ONE_HOT, ["brand"])])], []),
    "nested": ([ColumnTransformer([("a", ColumnTransformer([("n", NUMBER, [1, 0])], remainder=SimpleImputer()), NUMBERS), ("w", ONE_HOT, WORDS)])], []),
    "union": ([ColumnTransformer([("u", FeatureUnion([("a", NUMBER), ("b", "passthrough"), ("c", "drop")], transformer_weights={"a": 2.0}), NUMBERS)])], []),
    "pandas": ([ColumnTransformer([("n", NUMBER, NUMBERS), ("w", OneHotEncoder(sparse_output=False), WORDS)], verbose_feature_names_out=False).set_output(transform="pandas")], []),
    "polars": ([ColumnTransformer([("n", SimpleImputer(), NUMBERS)]).set_output(transform="polars"), StandardScaler()], []),
    "one-hot": ([ColumnTransformer([("a", OneHotEncoder(drop="if_binary", min_frequency=10, handle_unknown="infrequent_if_exist"), ["city", "flag"]), ("b", OneHotEncoder(max_categories=3, drop="first", handle_unknown="ignore"), WORDS), ("c", OneHotEncoder(feature_name_combiner=lambda feature, category: str(category)), WORDS)])], []),
    "text filled": ([ColumnTransformer([("w", make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OrdinalEncoder()), WORDS), ("n", SimpleImputer(strategy="most_frequent", keep_empty_features=True), NUMBERS)])], []),
    "target encoder": ([ColumnTransformer([("w", TargetEncoder(), WORDS)])], []),
    "indicators, bins, splines": ([ColumnTransformer([("m", MissingIndicator(features="all"), NUMBERS)]), FeatureUnion([("i", FunctionTransformer()), ("b", Binarizer())])], []),
    "bins": ([FILLED, FeatureUnion([("a", bins("onehot")), ("b", bins("ordinal")), ("c", bins("onehot-dense"))])], []),
    "sparse splines": ([FILLED, SplineTransformer(4, sparse_output=True)], []),
    "scalers": ([FILLED, QuantileTransformer(n_quantiles=20), RobustScaler(), MaxAbsScaler(), PowerTransformer(), MinMaxScaler()], []),
    "powers of one": ([ColumnTransformer([("p", PolynomialFeatures(3), ["age"]), ("n", SimpleImputer(), ["price"])])], []),
    "polynomial": ([ColumnTransformer([("p", make_pipeline(SimpleImputer(), PolynomialFeatures(2, interaction_only=True)), ["age", "power"]), ("n", SimpleImputer(), ["price"])])], ["age", "power"]),
    "functions": ([PLAIN, FunctionTransformer(dense, accept_sparse=True), FunctionTransformer(lambda x: np.log(x.astype(np.float32) ** 2 + 1)), None, "passthrough"], []),
    "a function of a frame": ([ColumnTransformer([("f", FunctionTransformer(lambda frame: frame.fillna(0)), NUMBERS)])], []),
    "a sum of columns": ([FILLED, FunctionTransformer(lambda x: x[:, :2].sum(axis=1, keepdims=True))], NUMBERS),
    "PCA": ([ColumnTransformer([("p", make_pipeline(SimpleImputer(), PCA(2)), ["power", "price"]), ("n", SimpleImputer(), ["age"])])], ["power", "price"]),
    "neighbors": ([ColumnTransformer([("k", KNNImputer(), ["power", "price"]), ("n", "passthrough", ["age"])])], ["power", "price"]),
    "Normalizer": ([FILLED, Normalizer()], NUMBERS),
    "text": ([ColumnTransformer([("t", TfidfVectorizer(), "city"), ("c", make_pipeline(SimpleImputer(strategy="most_frequent"), FunctionTransformer(np.ravel), CountVectorizer(analyzer="char"), TruncatedSVD(2)), ["city"]), ("n", SimpleImputer(), NUMBERS)])], []),
    "selection": ([PLAIN, VarianceThreshold(1e-4), SelectKBest(f_regression, k=8), SelectFromModel(Lasso(0.0001))], []),
    "elimination": ([PLAIN, FunctionTransformer(dense, accept_sparse=True), RFE(Ridge(), n_features_to_select=4)], []),
    "written in place": ([ColumnTransformer([("n", make_pipeline(SimpleImputer(copy=False), StandardScaler(copy=False)), NUMBERS), ("w", ONE_HOT, WORDS)])], []),
}  # fmt: skip


def fitted(steps, table=X):
    """Return fitted steps, those that stand for none included."""
    return [step for _, step in Pipeline([(str(k), s) for k, s in enumerate([*steps, DummyRegressor()])]).fit(table, Y).steps[:-1]]  # fmt: skip


def outputs(steps, table):
    for step in steps:
        table = table if step is None or isinstance(step, str) else step.transform(table)
    return dense(table) if not isinstance(table, (pd.DataFrame, pl.DataFrame)) else table.to_numpy()


@pytest.mark.filterwarnings("ignore:Bins whose width:UserWarning")
@pytest.mark.parametrize("title", STEPS)
def test_owners_are_the_columns_that_move_an_output(title):
    steps, joined = STEPS[title]
    steps = fitted(steps)
    before = X.copy()
    dependencies = Dependencies(steps, table_of(X))
    pd.testing.assert_frame_equal(X, before)
    assert {X.columns[feature] for feature in dependencies.joined} == set(joined)
    own = outputs(steps, X)
    for feature, name in enumerate(X.columns):
        moved = X.assign(
            **{name: X[name].iloc[::-1].to_numpy() if name != "brand" else X[name].iloc[::-1].array}
        )
        changed = (pd.DataFrame(outputs(steps, moved)) != pd.DataFrame(own)) & ~pd.DataFrame(own).isna()
        for place in np.flatnonzero(changed.any()):
            assert feature in dependencies.owners[place]
            assert dependencies.owners[place] == {feature} or name in joined


def test_columns_are_found_by_name_where_scikit_learn_does():
    steps = fitted(
        [ColumnTransformer([("n", NUMBER, [0, 1]), ("w", ONE_HOT, slice(3, 5))], remainder="drop")]
    )
    other = X.assign(extra="text")[["extra", "brand", "flag", "power", "city", "price", "age"]]
    owners = Dependencies(steps, table_of(other)).owners
    assert [other.columns[min(owner)] for owner in owners] == [
        "age", "power", "power", *["city"] * 4, *["brand"] * 4,
    ]  # fmt: skip
    model = make_pipeline(*steps, DecisionTreeRegressor(max_depth=4).fit(outputs(steps, X), Y))
    assert not refusals_of(model, other, ["age", "power", "brand"], kind="both")


def test_a_target_of_several_classes_makes_several_columns_of_one():
    encoder = TargetEncoder(random_state=0).fit(X[WORDS], np.digitize(Y, np.quantile(Y, [0.3, 0.6])))
    assert Dependencies([encoder], table_of(X[WORDS])).owners == ({0},) * 3 + ({1},) * 3


def test_polars_frames_and_arrays_are_followed():
    frame = pl.from_pandas(X[["age", "power", "price", "city"]])
    steps = fitted(
        [ColumnTransformer([("n", NUMBER, ["age", "power"]), ("w", TfidfVectorizer(), "city")])], frame
    )
    model = make_pipeline(*steps, DecisionTreeRegressor(max_depth=4).fit(steps[0].transform(frame), Y))
    assert not refusals_of(model, frame, ["power", "city", ["age", "city"]])
    array = X[["age", "power", "price", "city"]].to_numpy()  # of objects
    model = make_pipeline(
        ColumnTransformer([("n", NUMBER, [0, -3]), ("w", ONE_HOT, [3])], remainder="passthrough"), Ridge()
    ).fit(array, Y)
    assert not refusals_of(model, array, [0, 1, 3, [1, 3]], kind="both")


class Own(TransformerMixin, OneToOneFeatureMixin, BaseEstimator):
    """A transformer of the user's own."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self.made(np.nan_to_num(np.asarray(X, dtype=float)))

    def made(self, values):
        """Return what it makes of numbers."""
        return values * 2


class Rank(Own):
    def made(self, values):
        return values.argsort(axis=0).argsort(axis=0).astype(float)


class FillsWithMean(Own):
    def transform(self, X):
        return pd.DataFrame(X).fillna(pd.DataFrame(X).mean()).to_numpy()


class Noise(Own):
    def made(self, values):
        return values + np.random.default_rng().normal(size=values.shape)


class Counts(Own):
    calls = 0

    def made(self, values):
        self.calls += 1
        return values + self.calls


class Swaps(StandardScaler):
    def transform(self, X):
        return super().transform(X)[:, ::-1]


ROWS, TIMES = "differently together with other rows", "differently each time"


@pytest.mark.parametrize(
    ("step", "why"), [(Rank(), ROWS), (FillsWithMean(), ROWS), (Noise(), TIMES), (Counts(), TIMES)]
)
@pytest.mark.parametrize("last", [DecisionTreeRegressor(max_depth=3), Ridge()], ids=["tree", "ridge"])
def test_what_depends_on_more_than_the_row_is_refused_by_name(step, why, last):
    prepared = ColumnTransformer(
        [("own", make_pipeline("passthrough", step), ["power"]), ("n", SimpleImputer(), ["age"])]
    )
    model = make_pipeline(prepared, last).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rows are predicted differently when they are repeated
        refusal = refusal_of(model, X, "age")
    assert f"{type(step).__name__} transforms" in refusal
    assert why in refusal


@pytest.mark.parametrize("step", [Own(), Swaps(), FunctionTransformer(lambda x: x[:, ::-1])])
def test_own_code_is_followed_where_it_sees_one_column(step):
    alone = ColumnTransformer(
        [("own", make_pipeline(SimpleImputer(), step), ["power"]), ("n", SimpleImputer(), ["age", "price"])]
    )
    model = make_pipeline(alone, DecisionTreeRegressor(max_depth=4)).fit(X, Y)
    assert refusal_of(model, X, "power", kind="both") == ""
    beside = ColumnTransformer(
        [("own", make_pipeline(SimpleImputer(), step), ["power", "price"]), ("n", SimpleImputer(), ["age"])]
    )
    model = make_pipeline(beside, DecisionTreeRegressor(max_depth=4)).fit(X, Y)
    name = "FunctionTransformer(<lambda>)" if isinstance(step, FunctionTransformer) else type(step).__name__
    refusals = refusals_of(model, X, ["power", "age"], kind="both")
    assert list(refusals) == ["power"]
    assert f"{name} joins 'power' with 'price'" in refusals["power"]


def test_a_transformer_that_was_changed_is_own_code():
    scaler = StandardScaler().fit(X[["age", "price"]])
    own = scaler.transform
    scaler.transform = lambda table: own(table)[:, ::-1]
    dependencies = Dependencies([scaler], table_of(X[["age", "price"]]))
    assert dependencies.joined == {0: ("StandardScaler", {1}), 1: ("StandardScaler", {0})}


def test_a_mix_that_the_proof_does_not_know_is_refused_by_name(monkeypatch):
    monkeypatch.setattr("paribus._models.preprocessing.dependencies.NAMED", NAMED | {"Normalizer"})
    steps = fitted([FILLED, Normalizer()])
    with pytest.raises(RefusalError, match="Normalizer makes columns that change with others"):
        Dependencies(steps, table_of(X))


def test_a_step_that_fails_or_changes_its_columns_is_refused_by_name():
    def fails(table):
        raise ValueError("no")

    with pytest.raises(
        RefusalError, match=r"FunctionTransformer\(fails\) failed on rows of X: ValueError: no"
    ):
        Dependencies([FunctionTransformer(fails)], table_of(X))
    dummies = FunctionTransformer(lambda table: pd.get_dummies(table))
    with pytest.raises(
        RefusalError, match=r"FunctionTransformer\(<lambda>\) does not return one row per row"
    ):
        Dependencies([dummies], table_of(X[["city"]]))


def test_what_a_fitted_object_lacks_is_a_refusal():
    prepared = ColumnTransformer([("n", SimpleImputer(), NUMBERS)]).fit(X)
    del prepared.output_indices_
    with pytest.raises(RefusalError, match="its preprocessing cannot be followed: AttributeError"):
        Preparation.of((prepared,), table_of(X), 0.0)


def test_categories_never_seen_are_evaluated_or_refused_as_the_model_does():
    model = make_pipeline(
        ColumnTransformer([("w", OneHotEncoder(), ["city"]), ("n", SimpleImputer(), ["age"])]), Ridge()
    )
    model.fit(X, Y)
    with pytest.raises(paribus.errors.ModelError, match="unknown categories"):
        paribus.partial_dependence(model, X, "city", custom_values={"city": ["Bern", "Rom"]}, progress=False)
    model = make_pipeline(
        ColumnTransformer([("w", ONE_HOT, ["city"]), ("n", SimpleImputer(), ["age"])]), Ridge()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are unknown categories
        assert refusal_of(model.fit(X, Y), X, "city", custom_values={"city": ["Bern", "Rom"]}) == ""


def test_values_keep_the_dtype_of_their_column():
    seen = []

    class Looks(Own):
        def transform(self, X):
            seen.append(X.dtypes.astype(str).tolist())
            return X[["age"]].to_numpy(float)

    preparation = Preparation.of((Looks(),), table_of(X), 0.0)
    seen.clear()
    table = table_of(X)
    for feature, name in enumerate(X.columns):
        cells = table.cells(feature, table.column(feature).values[:2])
        assert [len(one) for one in preparation.values([(feature, cells), (feature, cells)])] == [2, 2]
        assert seen.pop() == X.dtypes.astype(str).tolist(), name
        nothing = table.cells(feature, table.column(feature).values[:0])
        assert [len(one) for one in preparation.values([(feature, nothing), (feature, cells)])] == [0, 2]


def test_a_step_that_writes_in_place_leaves_the_table_alone():
    array = X[["age", "price"]].to_numpy(float)
    before = array.copy()
    model = make_pipeline(StandardScaler(copy=False), Ridge()).fit(array.copy(), Y)
    assert not refusals_of(model, array, [0, [0, 1]], kind="both")
    np.testing.assert_array_equal(array, before)


def test_only_pipelines_of_scikit_learn_are_followed():
    class Other(Pipeline):
        def predict(self, X):
            return -super().predict(X)

    model = Other([("i", FILLED), ("t", Ridge())]).fit(X, Y)
    assert passed_on(model, PipelinePosition(table_of(X)), "predict") is None
    assert "Other is not a class of scikit-learn" in refusal_of(model, X, "age")
    inner = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=3))
    model = make_pipeline(FILLED, "passthrough", inner).fit(X, Y)
    assert refusal_of(model, X, "power", kind="both") == ""


def test_steps_that_sample_rows_act_in_fit_alone():
    class Sampler(BaseEstimator):
        def fit_resample(self, X, y):
            raise AssertionError("it does not act when the pipeline predicts")

    steps = [
        ("i", FILLED),
        ("s", FrozenEstimator(StandardScaler().fit(FILLED.fit_transform(X)))),
        ("t", Ridge()),
    ]
    sampling = type("Pipeline", (Pipeline,), {"__module__": "imblearn.pipeline"})(steps).fit(X, Y)
    sampling.steps.insert(1, ("sampler", Sampler()))
    last, place = passed_on(sampling, PipelinePosition(table_of(X)), "predict")
    preparation = place.preparation
    assert last is sampling.steps[-1][1]
    assert [type(step).__name__ for step in preparation.steps] == ["ColumnTransformer", "FrozenEstimator"]
    assert not preparation.dependencies.joined


def swallows(table):
    try:
        return table[:, ::-1]
    except Exception:
        return table


CSR, FRAME, ARRAY = scipy.sparse.csr_matrix, pd.DataFrame, np.ndarray


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        *[(dense, kind) for kind in (CSR, scipy.sparse.csr_array, ARRAY, FRAME)],
        (lambda x: x.toarray() if scipy.sparse.issparse(x) else x, CSR),
        (lambda x: x.values if isinstance(x, pd.DataFrame) else x, FRAME),
        (np.log1p, FRAME),
        (np.sqrt, CSR),
        (lambda x: -(np.abs(x) ** 2) + x / 3, ARRAY),
        (lambda x: np.where(x > 3, 0, np.clip(x, -1, 1)), ARRAY),
        (lambda x: np.nan_to_num(x, nan=-1.0).astype("float32").copy(), ARRAY),
    ],
)
def test_functions_of_each_number_are_proved(function, kind):
    assert by_number(function, kind, {})


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x["a"] if hasattr(x, "iloc") else x, FRAME),
        (swallows, ARRAY),
        (lambda x: x if type(x) is not np.ndarray else x[:, ::-1], ARRAY),
        (lambda x: x if x.shape[0] < 50 else -x, ARRAY),
        (lambda x: x if len(x) < 50 else -x, ARRAY),
        (lambda x: x if (x < 1e9).all() else -x, ARRAY),
        (lambda x: x * np.arange(3), ARRAY),
        (lambda x: x @ x, ARRAY),
        (lambda x: np.add.reduce(x), ARRAY),
        (lambda x: np.sort(x, axis=1), ARRAY),
        (lambda x: np.asarray(x), ARRAY),
        (lambda x: [*x], ARRAY),
        (lambda x: x.astype("category"), FRAME),
        (lambda x: x.fillna(x.mean()), FRAME),
        (lambda x: x if x else -x, ARRAY),
        (lambda x: 1.0, ARRAY),
    ],
)
def test_other_functions_are_not(function, kind):
    assert not by_number(function, kind, {})


def test_step_that_fills_gaps_or_scales_by_the_rows_beside_them_is_refused_where_few_rows_need_it():
    """Neither the missing value nor the outlier is among the rows by which the model is tried."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.normal(size=3000)})
    table.loc[1711, "a"] = np.nan
    fills = ColumnTransformer(
        [("f", FunctionTransformer(lambda x: x.fillna(x.mean())), ["a"]), ("p", "passthrough", ["b"])]
    )
    scales = ColumnTransformer(
        [("f", FunctionTransformer(lambda x: x / max(50.0, x.max().max())), ["b"])], remainder=SimpleImputer()
    )
    for steps in (fills, scales):
        model = make_pipeline(steps, DecisionTreeRegressor(max_depth=3, random_state=0)).fit(
            table, table["b"]
        )
        assert "differently together with other rows" in refusal_of(model, table, "b")


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_xgboost_takes_what_a_matrix_of_integers_does_not_store_for_missing(dtype):
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    table = rng.integers(1, 9, size=(400, 2))
    table[rng.random((400, 2)) < 0.2] = 0
    sparse = FunctionTransformer(lambda x: scipy.sparse.csr_matrix(np.asarray(x)).astype(dtype))
    model = make_pipeline(ColumnTransformer([("a", sparse, [0]), ("b", sparse, [1])], sparse_threshold=1.0))
    model.steps.append(("last", xgboost.XGBRegressor(n_estimators=5, max_depth=3)))
    model.fit(table, table[:, 0] * (table[:, 1] > 0))
    exact = paribus.partial_dependence(model, table, 0)
    assert exact.provenance.evaluator == "tree_exact"
    brute = paribus.partial_dependence(model, table, 0, method="brute")
    np.testing.assert_allclose(exact.average, brute.average, rtol=3e-6)


def test_effects_that_no_step_joins_stay_exact_beside_those_that_are_joined():
    table, target = mixed_table()
    steps, joined = STEPS["PCA"]
    model = make_pipeline(*steps, DecisionTreeRegressor(max_depth=4, random_state=0)).fit(table, target)
    for verb, values in ((paribus.effects, "average"), (paribus.accumulated_local_effects, "ale")):
        mixed, brute = (verb(model, table, NUMBERS, method=method) for method in ("auto", "brute"))
        assert mixed.provenance.evaluator.endswith(" and brute")
        assert "PCA joins" in " ".join(map(str, mixed.provenance.refusals.values()))
        for name in NUMBERS:
            np.testing.assert_allclose(getattr(mixed[name], values), getattr(brute[name], values), atol=1e-9)
            if values == "average":
                np.testing.assert_array_equal(mixed[name].support, brute[name].support)
    assert set(joined) < set(NUMBERS)


@pytest.mark.parametrize(
    "dtypes", [{"a": "float32"}, {"a": "Float64", "s": "string"}, {"a": object, "s": object}]
)
def test_columns_of_any_dtype_are_followed(dtypes):
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200))
    table = pd.DataFrame({"a": gaps, "s": rng.choice(["x", "y", "z"], 200)}).astype(dtypes)
    steps = ColumnTransformer([("n", SimpleImputer(add_indicator=True), ["a"]), ("w", ONE_HOT, ["s"])])
    model = make_pipeline(steps, DecisionTreeRegressor(max_depth=3, random_state=0)).fit(
        table, rng.normal(size=200)
    )
    assert refusal_of(model, table, "a") == refusal_of(model, table, "s") == ""


def test_table_that_stands_in_for_another_has_the_attributes_of_its_type():
    table = StandIn(pd.DataFrame, [])
    assert isinstance(table, pd.DataFrame)
    assert not hasattr(table, "no_such_attribute")
    with pytest.raises(AttributeError, match="'DataFrame' object has no attribute 'no_such_attribute'"):
        _ = table.no_such_attribute

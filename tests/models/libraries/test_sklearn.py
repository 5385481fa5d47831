"""Trees of scikit-learn, read and compared with what scikit-learn itself answers."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from threadpoolctl import threadpool_limits

import paribus
from category_trees import CategoryTree, category_forest
from paribus._data.read import table_of
from paribus._models.ensemble import LEAF
from paribus._models.libraries import sklearn as reader
from paribus._models.libraries.sklearn import read
from paribus._models.predictor import as_outputs
from paribus._models.trees import bound_of
from paribus.errors import ModelError, RefusalError

RNG = np.random.default_rng(7)
N = 300
X = RNG.normal(size=(N, 4))
X[:, 2] = RNG.integers(0, 6, N)  # few values, so that rows tie with thresholds
HOLES = np.where(RNG.random((N, 4)) < 0.15, np.nan, X)
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.3 * X[:, 3]
TWO = (Y > 0).astype(int)
THREE = np.array(["low", "mid", "top"])[np.digitize(Y, [-0.6, 0.6])]
TARGETS = np.column_stack([Y, X[:, 1] - Y, np.cos(X[:, 0])])
LABELS = np.column_stack([np.digitize(Y, [-1, 0, 1]), TWO, np.digitize(X[:, 3], [-0.5, 0.5])])
WEIGHTS = RNG.random(N) + 0.1
RESPONSES = ("predict", "predict_proba", "decision_function")
HIST = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
BAD = (np.nan, np.inf, -np.inf, 1e300)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads that wait for each other make these small models slow on a busy machine."""
    with threadpool_limits(1):
        yield


def near(threshold):
    """The threshold and its neighbors in both precisions, and where rounding changes sides."""
    single = np.float32(threshold)
    down, up = np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf))
    middles = [(np.float64(single) + np.float64(other)) / 2 for other in (down, up)]
    around = [float(single), float(down), float(up), threshold, *middles]
    return around + [np.nextafter(value, way) for value in around for way in (-np.inf, np.inf)]


def rows_to_ask(ensemble, table):
    """Rows of a numeric table, and rows in which one column sits at a threshold or next to it."""
    rng = np.random.default_rng(0)
    compared = np.flatnonzero((ensemble.column != LEAF) & (ensemble.category_set < 0))
    compared = compared[np.isfinite(ensemble.threshold[compared])]
    rows = [table[~np.isnan(table).any(axis=1)][:60]]
    for node in rng.choice(compared, min(40, len(compared)), replace=False) if len(compared) else ():
        values = near(ensemble.threshold[node])
        block = np.repeat(rows[0][rng.integers(len(rows[0]), size=1)], len(values), axis=0)
        block[:, ensemble.encodings[ensemble.column[node]].feature] = values
        rows.append(block)
    asked = np.concatenate(rows)
    for encoding in ensemble.encodings:
        spoiled = rng.random(len(asked))
        if encoding.accepts_missing:
            asked[spoiled < 0.08, encoding.feature] = np.nan
        if encoding.accepts_infinite and encoding.categories is None:
            asked[(spoiled > 0.08) & (spoiled < 0.12), encoding.feature] = np.inf
            asked[(spoiled > 0.12) & (spoiled < 0.16), encoding.feature] = -np.inf
    return asked


def own_leaves(estimator, table):
    """The leaf of each row in each tree, asked of the library; None where it cannot be evaluated."""
    if isinstance(estimator, HIST):
        numbers = estimator._preprocess_X(table, reset=False)
        known, places = estimator._bin_mapper.make_known_categories_bitsets()
        leaves = []
        for predictor in (p for iteration in estimator._predictors for p in iteration):
            kept = predictor.nodes
            predictor.nodes = kept.copy()
            predictor.nodes["value"] = np.arange(len(kept))
            leaves.append(predictor.predict(numbers, known, places, 1))
            predictor.nodes = kept
        return np.stack(leaves, axis=1)
    if isinstance(estimator, GradientBoostingRegressor):
        table = np.asarray(table)  # its apply warns of the names it was fitted on
    if hasattr(estimator, "apply"):
        return np.reshape(estimator.apply(table), (len(table), -1))
    given = getattr(estimator, "estimators_features_", [slice(None)] * len(estimator.estimators_))
    with np.errstate(over="ignore"):
        table = np.asarray(table).astype(np.float32)
    trees = zip(estimator.estimators_, given, strict=True)
    return np.stack([tree.tree_.apply(table[:, g]) for tree, g in trees], axis=1)


def one_to_one(ours, theirs):
    for tree in range(ours.shape[1]):
        pairs = np.unique(np.column_stack([ours[:, tree], theirs[:, tree]]), axis=0)
        if len(np.unique(pairs[:, 0])) != len(pairs) or len(np.unique(pairs[:, 1])) != len(pairs):
            return False
    return ours.shape == theirs.shape


def close(ours, theirs):
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(theirs).max()))


def compare(estimator, ensemble, table):
    """Leaves, margins and every response on the rows of a table of any library."""
    numbers = ensemble.numbers(table_of(table, None))
    margins = ensemble.margins(numbers)
    assert one_to_one(ensemble.leaves(numbers), own_leaves(estimator, table))
    has = {response for response in RESPONSES if hasattr(estimator, response)}
    assert set(ensemble.links) | set(ensemble.refused) == has
    assert not set(ensemble.links) & set(ensemble.refused)
    for response, link in ensemble.links.items():
        theirs = as_outputs(getattr(estimator, response)(table), len(margins), "model")
        if link.name == "sigmoid":
            theirs = theirs[:, 1:]
        close(link.apply(margins.T).T, theirs)
    if isinstance(estimator, HIST):
        close(margins, estimator._raw_predict(table))


def check_cover(ensemble):
    inner = ensemble.column != LEAF
    below = ensemble.cover[ensemble.left[inner]] + ensemble.cover[ensemble.right[inner]]
    np.testing.assert_allclose(ensemble.cover[inner], below, rtol=1e-9)
    assert (ensemble.cover[ensemble.roots] > 0).all()


def answers(ask):
    try:
        with np.errstate(over="ignore"):
            ask()
    except (ValueError, ModelError):
        return False
    return True


def agree(estimator, table=X):
    """Read a fitted estimator and compare all it does on a numeric array."""
    ensemble = read(estimator)
    assert (ensemble.column != LEAF).any()
    compare(estimator, ensemble, rows_to_ask(ensemble, table))
    check_cover(ensemble)
    for column in range(table.shape[1]):
        for value in BAD:
            row = np.nan_to_num(table[:2])
            row[1, column] = value
            ours = answers(lambda row=row: ensemble.numbers(table_of(row, None)))
            assert ours == answers(lambda row=row: estimator.predict(row)), (column, value)
    return ensemble


SMALL = {"max_depth": 6, "random_state": 0}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of infinities, in scikit-learn itself
@pytest.mark.parametrize(
    "options", [{}, {"max_features": 2}, {"contamination": 0.1, "max_samples": 40}, {"bootstrap": True}]
)
def test_isolation_forests(options):
    forest = IsolationForest(n_estimators=6, random_state=0, **options).fit(X)
    ensemble = agree(forest)
    assert ensemble.links
    for response, link in ensemble.links.items():
        largest = np.abs(getattr(forest, response)(np.nan_to_num(X))).max()
        assert largest <= bound_of(ensemble, link) <= 4


@pytest.mark.parametrize("table", [X, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (DecisionTreeRegressor(random_state=0), Y),
        (DecisionTreeRegressor(splitter="random", **SMALL), TARGETS),
        (DecisionTreeRegressor(ccp_alpha=0.01, random_state=0), Y),
        (DecisionTreeRegressor(criterion="poisson", **SMALL), np.exp(Y)),
        (ExtraTreeRegressor(**SMALL), Y),
        (DecisionTreeClassifier(**SMALL), TWO),
        (DecisionTreeClassifier(class_weight="balanced", **SMALL), THREE),
        (DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=20, random_state=0), LABELS),
        (ExtraTreeClassifier(**SMALL), THREE),
        (ExtraTreeClassifier(**SMALL), LABELS),
    ],
)
def test_single_trees(estimator, target, table):
    ensemble = agree(estimator.fit(table, target, sample_weight=WEIGHTS), table)
    assert ensemble.encodings[0].accepts_missing


@pytest.mark.parametrize("table", [X, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (RandomForestRegressor(8, random_state=0), Y),
        (RandomForestRegressor(5, **SMALL), TARGETS),
        (ExtraTreesRegressor(8, random_state=0), Y),
        (RandomForestClassifier(8, random_state=0), TWO),
        (RandomForestClassifier(5, random_state=0), THREE),
        (RandomForestClassifier(5, **SMALL), LABELS),
        (ExtraTreesClassifier(5, bootstrap=True, **SMALL), LABELS),
    ],
)
def test_forests(estimator, target, table):
    agree(estimator.fit(table, target), table)


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (DecisionTreeRegressor(monotonic_cst=[1, -1, 0, 0], **SMALL), Y),
        (RandomForestRegressor(5, monotonic_cst=[1, -1, 0, 0], **SMALL), Y),
        (ExtraTreesClassifier(5, monotonic_cst=[0, 0, 1, -1], **SMALL), TWO),
        (HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[1, -1, 0, 0]), Y),
    ],
)
def test_monotonic_constraints(estimator, target):
    agree(estimator.fit(X, target))


def test_a_tree_that_does_not_accept_missing_values():
    agree(ExtraTreeRegressor(splitter="best", **SMALL).fit(X, Y))
    agree(DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(X, Y))


def test_a_forest_of_one_class():
    forest = RandomForestClassifier(3).fit(X, np.ones(N))
    compare(forest, read(forest), X)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
@pytest.mark.parametrize("init", [None, "zero", DummyRegressor(strategy="constant", constant=3.0)])
def test_gradient_boosting_regression(loss, init):
    model = GradientBoostingRegressor(loss=loss, init=init, n_estimators=12, learning_rate=0.3, alpha=0.7)
    agree(model.fit(X, Y, sample_weight=WEIGHTS))


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({}, TWO),
        ({}, THREE),
        ({"loss": "exponential"}, TWO),
        ({"loss": "exponential", "init": DummyClassifier(strategy="uniform")}, TWO),
        ({"init": "zero", "subsample": 0.5}, THREE),
        ({"init": DummyClassifier(strategy="most_frequent")}, TWO),
        ({"init": DummyClassifier(strategy="constant", constant=1)}, THREE),
        ({"n_iter_no_change": 2, "tol": 0.05}, THREE),
    ],
)
def test_gradient_boosting_classification(options, target):
    agree(GradientBoostingClassifier(n_estimators=12, random_state=0, **options).fit(X, target))


def test_exponential_loss_doubles_the_margin():
    model = GradientBoostingClassifier(loss="exponential", n_estimators=3).fit(X, TWO)
    assert read(model).links["predict_proba"].scale == 2.0


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "gamma", "poisson", "quantile"])
@pytest.mark.parametrize("table", [X, HOLES], ids=["complete", "holes"])
def test_hist_gradient_boosting_regression(loss, table):
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.3, max_iter=10)
    agree(model.fit(table, np.exp(Y), sample_weight=WEIGHTS), table)


@pytest.mark.parametrize("target", [TWO, THREE])
def test_hist_gradient_boosting_classification(target):
    agree(HistGradientBoostingClassifier(max_iter=6).fit(HOLES, target), HOLES)


def test_early_stopping():
    options = {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 200}
    model = HistGradientBoostingRegressor(random_state=0, **options).fit(X, Y)
    assert model.n_iter_ < 200
    assert len(agree(model).roots) == model.n_iter_


def test_missing_against_all_others():
    """Where only missing values tell, the threshold is infinite."""
    holes = np.where(RNG.random((N, 1)) < 0.4, np.nan, RNG.normal(size=(N, 1)))
    target = np.isnan(holes[:, 0]) * 5.0
    for model in (HistGradientBoostingRegressor(max_iter=2), DecisionTreeRegressor()):
        ensemble = agree(model.fit(holes, target), holes)
        assert np.isinf(ensemble.threshold[ensemble.column != LEAF]).any()


CODES = RNG.integers(0, 5, N)
MANY = RNG.integers(0, 200, N) * 3
LEVELLED = np.column_stack([X[:, 0], CODES * 10.5, X[:, 1], MANY])
PULL = np.array([0.0, 3.0, -2.0, 1.0, 4.0])[CODES] + X[:, 0] + np.sin(MANY)


def odd_levels():
    """Rows with categories that were never seen, in between, negative and missing."""
    odd = np.array([np.nan, -1.0, 10.4, 1e9, 0.0, -0.0, 42.0, 255.0, 256.0])
    asked = np.repeat(LEVELLED[:20], len(odd), axis=0)
    asked[:, 1] = np.tile(odd, 20)
    asked[::3, 3] = np.tile(odd, 20)[::3]
    asked[::7, 0] = np.nan
    return np.concatenate([LEVELLED, asked])


@pytest.mark.parametrize("categories", [[1, 3], [False, True, False, True], [1], [0, 1, 2, 3]])
@pytest.mark.parametrize("holes", [False, True])
def test_levels_of_an_array(categories, holes):
    table = LEVELLED.copy()
    if 0 in categories:
        table[:, [0, 2]] = np.round(table[:, [0, 2]])
    if holes:
        table[::9, 1] = table[::11, 3] = np.nan
    model = HistGradientBoostingRegressor(max_iter=15, categorical_features=categories, min_samples_leaf=5)
    ensemble = read(model.fit(table, PULL))
    assert ensemble.category_sets
    compare(model, ensemble, odd_levels())
    compare(model, ensemble, rows_to_ask(ensemble, odd_levels()))
    check_cover(ensemble)


def test_tests_of_levels_that_are_alike_share_their_set():
    model = HistGradientBoostingRegressor(max_iter=30, categorical_features=[1]).fit(LEVELLED, PULL)
    ensemble = read(model)
    listed = {tuple(levels.listed) for levels in ensemble.category_sets}
    assert len(listed) == len(ensemble.category_sets) < (ensemble.category_set >= 0).sum()


WORDS = np.array(["blue", "amber", "cyan", "red", "ölig"])
TEXT = WORDS[CODES]


def frame(text, kind=None):
    return pd.DataFrame(
        {
            "x": X[:, 0],
            "text": pd.Series(text, dtype=kind),
            "flag": X[:, 1] > 0,
            "count": CODES + 1,
            "z": X[:, 3],
        }
    )


def with_odd_words(table):
    """The same table with a word never seen and missing ones."""
    words = table["text"].astype(object).to_numpy().copy()
    words[::5], words[1::7] = "violet", np.nan
    return table.assign(text=pd.Series(words, dtype=object))


@pytest.mark.parametrize("holes", [False, True])
def test_levels_of_a_pandas_frame(holes):
    text = TEXT.astype(object)
    if holes:
        text[::6] = np.nan
    table = frame(pd.Categorical(text, categories=[*WORDS[::-1], "unused"]))
    model = HistGradientBoostingClassifier(max_iter=8).fit(table, THREE)
    ensemble = read(model)
    # The column of categories comes first inside the model.
    assert [encoding.feature for encoding in ensemble.encodings] == [1, 0, 2, 3, 4]
    odd = with_odd_words(table)
    for asked in (table, odd, odd.assign(text=odd["text"].astype("category")), table.assign(text="unused")):
        compare(model, ensemble, asked)
    none = odd["text"].to_numpy().copy()
    none[2::7] = None
    compare(model, ensemble, odd.assign(text=pd.Series(none, dtype=object)))


@pytest.mark.parametrize("categories", [["text", "flag", "count"], [1, 3], [False, True, True, False, False]])
def test_text_and_numbers_as_levels(categories):
    table = frame(TEXT.astype(object), object)
    model = HistGradientBoostingRegressor(max_iter=10, categorical_features=categories).fit(table, Y)
    ensemble = read(model)
    compare(model, ensemble, table)
    compare(model, ensemble, with_odd_words(table).assign(count=CODES - 1))
    compare(model, ensemble, table.assign(count=(CODES - 1.0)))


def polars_table(text, kind):
    table = frame(TEXT.astype(object), object)
    return pl.DataFrame({name: table[name].to_numpy() for name in table if name != "text"}).insert_column(
        1, pl.Series("text", text, dtype=kind)
    )


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["red", *WORDS[[0, 1, 2, 4]], "violet"])])
def test_levels_of_a_polars_frame(kind):
    text = TEXT.tolist()
    model = HistGradientBoostingRegressor(max_iter=10).fit(polars_table(text, kind), PULL)
    ensemble = read(model)
    compare(model, ensemble, polars_table(text, kind))
    text[::5], text[1::7] = ["violet"] * len(text[::5]), [None] * len(text[1::7])
    compare(model, ensemble, polars_table(text, kind))
    compare(model, ensemble, polars_table(text, pl.String))


def test_none_as_a_level_is_refused():
    text = TEXT.tolist()
    text[::6] = [None] * len(text[::6])
    model = HistGradientBoostingRegressor(max_iter=3).fit(polars_table(text, pl.Categorical), PULL)
    with pytest.raises(RefusalError, match="column 1 had None among its categories"):
        read(model)


def test_dates_as_levels_are_refused():
    day = (np.datetime64("2026-01-01") + CODES).astype("datetime64[ns]")
    table = pd.DataFrame({"x": X[:, 0], "day": pd.Categorical(day)})
    with pytest.raises(RefusalError, match="neither text nor numbers"):
        read(HistGradientBoostingRegressor(max_iter=3).fit(table, PULL))


def mixed():
    return pd.DataFrame(
        {
            "a": X[:, 0],
            "b": X[:, 1].astype("float32"),
            "c": X[:, 2].astype("int8"),
            "d": X[:, 3] > 0,
            "e": np.linspace(1, 2**31, N).astype("int64"),
        }
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(5, random_state=0),
        GradientBoostingRegressor(n_estimators=5),
        HistGradientBoostingRegressor(max_iter=5),
        DecisionTreeRegressor(),
    ],
)
def test_frames_of_mixed_types(model, library):
    table = mixed() if library is pd.DataFrame else pl.DataFrame(dict(mixed().items()))
    compare(model.fit(table, Y), read(model), table)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("target", [TWO, THREE, np.where(TWO, -1.5, 2.5), THREE == "mid"])
def test_adaboost_votes(depth, target):
    if target.dtype == float:
        target = target > 0
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=12, random_state=0)
    ensemble = agree(model.fit(X, target))
    assert set(ensemble.links) == {"decision_function", "predict_proba"}


def test_adaboost_that_stops_at_a_perfect_tree():
    model = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=9).fit(X, THREE)
    assert len(model.estimators_) < 9
    agree(model)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (BaggingRegressor(n_estimators=6, random_state=0), Y),
        (BaggingRegressor(DecisionTreeRegressor(max_depth=4), 6, max_features=2, random_state=1), TARGETS),
        (BaggingRegressor(ExtraTreeRegressor(), 6, max_features=1, random_state=1), Y),
        (BaggingRegressor(ExtraTreeRegressor(splitter="best"), 3, max_features=0.5, random_state=2), Y),
        (BaggingClassifier(n_estimators=6, bootstrap_features=True, random_state=0), THREE),
        (BaggingClassifier(DecisionTreeClassifier(max_depth=4), 6, random_state=0), TWO),
        (BaggingClassifier(DecisionTreeClassifier(), 12, max_samples=8, random_state=0), THREE),
    ],
)
def test_bagged_trees(model, target):
    agree(model.fit(X, target))


def test_a_column_that_no_bagged_tree_was_given_may_hold_anything():
    model = BaggingRegressor(n_estimators=2, max_features=1, random_state=1).fit(X, Y)
    accepts = [encoding.accepts_infinite for encoding in agree(model).encodings]
    assert accepts.count(True) >= 2


def test_bagged_trees_that_never_saw_a_class():
    rare = np.where(np.arange(N) < 3, "rare", THREE)
    # Rows are drawn by weight, and every class seen, unless weights are not requested.
    with config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier().set_fit_request(sample_weight=False)
        model = BaggingClassifier(tree, n_estimators=10, max_samples=20, random_state=0).fit(X, rare)
    assert any(len(tree.classes_) < 4 for tree in model.estimators_)
    agree(model)


class Doubled(RandomForestRegressor):
    def predict(self, X):
        return 2 * super().predict(X)


class MyTree(DecisionTreeRegressor):
    pass


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (AdaBoostRegressor(n_estimators=3).fit(X, Y), "weighted median"),
        (IsolationForest(n_estimators=3, max_samples=1).fit(X), "isolates nothing"),
        (RandomTreesEmbedding(3).fit(X), "predicts nothing"),
        (Doubled(3).fit(X, Y), "not a class of scikit-learn"),
        (LinearRegression().fit(X, Y), "not among the tree ensembles"),
        (make_pipeline(StandardScaler(), DecisionTreeRegressor()).fit(X, Y), "Pipeline is not among"),
        (VotingRegressor([("a", DecisionTreeRegressor())]).fit(X, Y), "VotingRegressor is not among"),
        (RandomForestRegressor(), "not fitted"),
        (DecisionTreeClassifier(), "not fitted"),
        (HistGradientBoostingRegressor(), "not fitted"),
        (GradientBoostingRegressor(), "not fitted"),
        (
            GradientBoostingRegressor(init=LinearRegression(), n_estimators=2).fit(X, Y),
            "init=LinearRegression",
        ),
        (
            GradientBoostingClassifier(init=DummyClassifier(strategy="stratified"), n_estimators=2).fit(
                X, TWO
            ),
            "init=DummyClassifier",
        ),
        (BaggingRegressor(LinearRegression(), 3).fit(X, Y), "class LinearRegression"),
        (BaggingRegressor(MyTree(), 3).fit(X, Y), "class MyTree"),
        (AdaBoostClassifier(LogisticRegression(), n_estimators=3).fit(X, TWO), "class LogisticRegression"),
        (AdaBoostClassifier(n_estimators=3).fit(X, np.ones(N)), "one class only"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refusals(model, reason):
    with pytest.raises(RefusalError, match=reason) as refusal:
        read(model)
    assert len(str(refusal.value)) >= 20


def test_an_unknown_link_is_refused():
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, Y)
    model._loss.link = object()
    with pytest.raises(RefusalError, match="not among the links"):
        read(model)


def test_labels_are_refused_with_a_way_out():
    models = (RandomForestClassifier(2), HistGradientBoostingClassifier(max_iter=2), AdaBoostClassifier())
    for model in models:
        assert "request predict_proba" in read(model.fit(X, TWO)).refused["predict"]


def test_reading_warns_of_nothing_when_fitted_on_names():
    table = mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (GradientBoostingRegressor(n_estimators=2), BaggingRegressor(n_estimators=2)):
            read(model.fit(table, Y))


def category_frame():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=200),
            "word": rng.choice([*"abcdefgh"], 200),
            "number": rng.integers(0, 70, 200).astype(float),
        }
    )
    table.loc[::9, "word"] = np.nan
    table.loc[::11, "number"] = np.nan
    return table


CATEGORICAL = np.array([False, True, True])


def category_model(name="DecisionTreeRegressor", trees=1, **options):
    table, rng = category_frame(), np.random.default_rng(5)
    nodes = [CategoryTree(rng, [-1, 8, 70], **options) for _ in range(trees)]
    return category_forest(name, nodes, table, CATEGORICAL), table


@pytest.mark.parametrize("kinds", [False, True])
@pytest.mark.parametrize(("name", "trees"), [("DecisionTreeRegressor", 1), ("RandomForestRegressor", 7)])
def test_categories_of_the_trees_of_scikit_learn_1_10(name, trees, kinds):
    model, table = category_model(name, trees, kinds=kinds)
    ensemble = read(model)
    assert ensemble.category_sets
    odd = table.assign(word=table["word"].where(table.index % 5 > 0, "never seen"))
    for rows in (table, odd, odd.assign(number=np.round(table["x"]))):
        close(ensemble.margins(ensemble.numbers(table_of(rows, None)))[:, 0], model.predict(rows))
    for feature in table:
        exact, brute = (
            paribus.partial_dependence(model, table, feature, method=method, grid_resolution=12)
            for method in ("exact", "brute")
        )
        np.testing.assert_allclose(exact.average, brute.average, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(exact.standard_error, brute.standard_error, rtol=1e-9, atol=1e-12)


def test_categories_that_are_split_in_unknown_ways_are_refused():
    version = re.escape(sklearn.__version__)
    model, _ = category_model(more=[("left_cat_hash", np.uint32)])
    with pytest.raises(RefusalError, match=f"scikit-learn {version} writes nodes with 'left_cat_hash'"):
        read(model)
    model, _ = category_model()
    model.tree_.nodes["split_kind"][0] = 2
    with pytest.raises(RefusalError, match="by a hash of the category"):
        read(model)
    model, _ = category_model("RandomForestRegressor", 3)
    model.estimators_[1]._categorical_encoder = model._categorical_encoder
    with pytest.raises(RefusalError, match="encode the categories of a column differently"):
        read(model)
    model._categorical_encoder = model.estimators_[1]._categorical_encoder = None
    with pytest.raises(RefusalError, match="split by categories"):
        read(model)


def test_every_field_the_installed_scikit_learn_writes_is_known():
    state = DecisionTreeRegressor().fit(X, Y).tree_.__getstate__()
    assert set(state) <= reader.STATE
    assert set(state["nodes"].dtype.names) <= reader.NODES
    (predictor,) = HistGradientBoostingRegressor(max_iter=1).fit(X, Y)._predictors[0]
    assert set(vars(predictor)) <= reader.HIST_TREE
    assert set(predictor.nodes.dtype.names) <= reader.HIST_NODES


def test_trees_of_histogram_boosting_with_unknown_fields_are_refused():
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, Y)
    (predictor,) = model._predictors[1]
    fields = [*predictor.nodes.dtype.descr, ("slope", "<f8")]
    wider = np.zeros(len(predictor.nodes), fields)
    for name in predictor.nodes.dtype.names:
        wider[name] = predictor.nodes[name]
    predictor.nodes = wider
    with pytest.raises(RefusalError, match=f"scikit-learn {re.escape(sklearn.__version__)} .* 'slope'"):
        read(model)

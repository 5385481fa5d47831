"""H-statistics of trees behind preprocessing, where one feature owns many columns."""

from functools import cache

import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost as xgb
from sklearn import ensemble as forests
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import paribus
from interaction_examples import alike, bits
from paribus._evaluators.interactions import tree_interactions
from paribus._evaluators.trees import leaf_boxes
from paribus._states import CodeTuples
from statistic_of import statistic_of

N = 40
NUMBERS, WORDS = ["age", "power"], ["city", "fuel"]


def table(rows=N, seed=0):
    """Integers, numbers with gaps, a category of many, and one with gaps."""
    rng = np.random.default_rng(seed)
    cities = np.array([f"city {k:02d}" for k in range(24)], dtype=object)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "power": rng.gamma(4, 25, rows),
            "city": cities[rng.integers(0, 24, rows)],
            "fuel": rng.choice(["diesel", "petrol", None], rows, p=[0.5, 0.3, 0.2]),
        }
    )
    X.loc[rng.random(rows) < 0.15, "power"] = np.nan
    return X


def target(X):
    city = X["city"].str[-2:].astype(int)
    power = X["power"].fillna(60)
    return (
        np.sin(city) * (X["fuel"] == "diesel") + 0.01 * power * (city > 12) + (X["age"] > 50) * np.log(power)
    )


TRAIN, X = table(400, 1), table()
WEIGHTS = np.random.default_rng(2).integers(0, 4, N).astype(float)
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
SCALED = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
PREPARED = {
    "sparse one-hot, indicator": ColumnTransformer([("n", SCALED, NUMBERS), ("w", ONE_HOT, WORDS)]),
    "dense one-hot, used twice": ColumnTransformer(
        [
            ("n", SCALED, NUMBERS),
            ("m", make_pipeline(SimpleImputer(), MinMaxScaler()), NUMBERS),
            ("w", OneHotEncoder(drop="first", sparse_output=False, handle_unknown="ignore"), WORDS),
        ]
    ),
    "ordinal and one-hot": ColumnTransformer(
        [("w", OrdinalEncoder(), WORDS), ("h", ONE_HOT, ["city"]), ("n", SimpleImputer(), NUMBERS)],
        sparse_threshold=0,
    ),
    "target encoder, splines": ColumnTransformer(
        [
            ("w", TargetEncoder(), WORDS),
            ("s", SplineTransformer(6), ["age"]),
            ("n", SCALED, ["power"]),
        ]
    ),
}
LAST = {
    "HistGB": forests.HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5),
    "forest": forests.RandomForestRegressor(4, min_samples_leaf=3, random_state=0),
    "LightGBM": lgb.LGBMRegressor(n_estimators=10, min_child_samples=5, verbose=-1),
    "XGBoost": xgb.XGBRegressor(n_estimators=8, max_depth=4),
}


def dense(made):
    return made.toarray() if hasattr(made, "toarray") else made


@cache
def model(prepared="sparse one-hot, indicator", last="LightGBM"):
    steps = [PREPARED[prepared], LAST[last]]
    if last == "HistGB":
        steps.insert(1, FunctionTransformer(dense, accept_sparse=True))
    return make_pipeline(*steps).fit(TRAIN, target(TRAIN))


def strengths(of, rows=X, features=None, **options):
    return statistic_of("h_statistic", of, rows, features, progress=False, subsample=None, **options)


@pytest.mark.parametrize(
    ("prepared", "last", "options"),
    [
        ("sparse one-hot, indicator", "LightGBM", {"threeway": 4}),
        ("sparse one-hot, indicator", "HistGB", {"features": ["city", "fuel"], "sample_weight": WEIGHTS}),
        ("sparse one-hot, indicator", "XGBoost", {"features": ["city", "power", "fuel"], "threeway": 3}),
        ("dense one-hot, used twice", "forest", {"features": ["power", "city", "age"], "threeway": 3}),
        ("dense one-hot, used twice", "XGBoost", {"sample_weight": WEIGHTS}),
        ("ordinal and one-hot", "HistGB", {"features": ["fuel", "city", "age"], "threeway": 3}),
        ("ordinal and one-hot", "LightGBM", {"features": ["age", "power"], "sample_weight": WEIGHTS}),
        ("target encoder, splines", "forest", {"features": ["age", "city"]}),
        ("target encoder, splines", "LightGBM", {"threeway": 3, "sample_weight": WEIGHTS, "overall": False}),
    ],
)
def test_groups_of_columns_have_numbers_and_errors_of_brute_force(prepared, last, options):
    exact, brute = (strengths(model(prepared, last), method=way, **options) for way in ("exact", "brute"))
    assert [one.provenance.evaluator for one in (exact, brute)] == ["tree_exact", "brute"]
    alike(exact, brute, 5e-5 if last == "XGBoost" else 1e-6)
    assert exact.numerator_pairwise.max() > 0


def test_numbers_do_not_depend_on_how_cells_are_counted(monkeypatch):
    """Crossed or as tuples that occur, in tables or looked up, of rows that are counted or kept."""
    of = model("sparse one-hot, indicator", "forest")
    requested = {
        "features": ["age", "power", "fuel"],
        "threeway": 3,
    }  # of which power has two columns, fuel three
    crossed, watched = strengths(of, **requested), []
    evaluate = tree_interactions.TuplePass.evaluate
    monkeypatch.setattr(
        tree_interactions.TuplePass,
        "evaluate",
        lambda self, block: watched.append(0) or evaluate(self, block),
    )
    alike(strengths(of, **requested), crossed, 1e-12)
    assert not watched
    monkeypatch.setattr(leaf_boxes, "CROSSED", 2)
    alike(strengths(of, **requested), crossed, 1e-9)
    assert watched
    monkeypatch.setattr(leaf_boxes, "TABLE_CELLS", 0)
    alike(strengths(of, **requested), crossed, 1e-9)


def test_category_of_many_columns_is_one_feature_of_few_cells(monkeypatch):
    sizes = []
    of = tree_interactions.Leaves.of.__func__

    def watched(cls, *args, **kwargs):
        leaves = of(cls, *args, **kwargs)
        sizes.append(leaves.size.tolist())
        return leaves

    monkeypatch.setattr(tree_interactions.Leaves, "of", classmethod(watched))
    strengths(model(), features=["city", "fuel"])
    occurring = X["city"].nunique(), X["fuel"].nunique(dropna=False)
    assert all(size <= most for size, most in zip(sizes[0], occurring, strict=True))
    assert sizes[0][0] > 12


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rows = table(1_500, 4)
    for number in range(3):
        part = rows.iloc[500 * number : 500 * (number + 1)]
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"part-{number}.parquet")
    return folder, rows


def test_bits_are_the_same_wherever_rows_are_and_with_any_threads(files, client, monkeypatch):
    monkeypatch.setattr(tree_interactions, "BLOCK_ROWS", 256)
    folder, rows = files
    features = ["age", "city", "fuel"]
    want = strengths(model(), rows, features, threeway=3, n_jobs=1)
    for X_given, options in ((rows, {"n_jobs": 3}), (folder, {"n_jobs": 2}), (folder, {"executor": client})):
        have = strengths(model(), X_given, features, threeway=3, **options)
        assert have.provenance.evaluator == "tree_exact", have.provenance.refusals
        assert bits(have) == bits(want)


def test_run_that_was_interrupted_goes_on(files, tmp_path, monkeypatch):
    monkeypatch.setattr(tree_interactions, "BLOCK_ROWS", 256)
    folder, _ = files
    want, done = strengths(model(), folder, ["city", "fuel"]), []
    evaluate = tree_interactions.TuplePass.evaluate

    def stopping(self, block):
        done.append(block.number)
        if len(done) == 4:
            raise KeyboardInterrupt
        return evaluate(self, block)

    requested = {"features": ["city", "fuel"], "checkpoint": tmp_path / "kept", "n_jobs": 1}
    with monkeypatch.context() as patch:
        patch.setattr(tree_interactions.TuplePass, "evaluate", stopping)
        with pytest.raises(KeyboardInterrupt):
            strengths(model(), folder, **requested)
        done[:] = [0] * 4
        assert bits(strengths(model(), folder, **requested)) == bits(want)
        assert min(done[4:]) > 0
    kept = {file.parent.name.rpartition("-")[0] for file in (tmp_path / "kept").glob("*/*.npz")}
    assert {"01-h_statistic-codes", "02-h_statistic-coverage", "03-h_statistic-predictions"} <= kept
    assert bits(strengths(model(), folder, **requested)) == bits(want)


def test_cells_that_need_more_memory_than_expected_make_way_for_brute_force(monkeypatch):
    """Once they are known; a request for the shortcut alone is refused."""
    monkeypatch.setattr(tree_interactions, "MOST_TUPLES", 5)
    requested = {"features": ["city", "fuel"]}
    found = strengths(model(), X, **requested)
    assert found.provenance.evaluator == "brute"
    refusal = found.provenance.refusals["tree_exact"]
    assert refusal.code is paribus.errors.RefusalCode.MEMORY
    assert "columns made of 'city', of which X has more than 5" in str(refusal)
    with pytest.raises(paribus.errors.RefusalError, match="columns made of 'city'"):
        strengths(model(), X, method="exact", **requested)


def test_memory_is_planned_again_once_cells_are_known(monkeypatch):
    def memory(self, threads):
        return 0 if isinstance(self.leaves, leaf_boxes.ExpectedLeaves) else 2**50

    monkeypatch.setattr(tree_interactions.TreeInteractions, "memory", memory)
    asked = {"features": ["city", "fuel"], "max_memory": "1GB"}
    for method in ("auto", "exact"):
        with pytest.raises(paribus.errors.MemoryBoundError, match=r"counting 1 pairs .* max_memory is 1 GB"):
            strengths(model(), X, method=method, **asked)


def test_rows_that_have_other_tuples_than_before_are_refused():
    rows = np.random.default_rng(0).integers(0, 3, (60, 50)).astype(np.int32)
    tuples = CodeTuples.of(rows, 50).tuples
    numbers = leaf_boxes.TupleNumbers(tuples, np.full(60, 3))
    assert np.array_equal(tuples[:, numbers.of(rows)], rows)
    for changed in (0, 30, 59):
        other = rows.copy()
        other[changed, 7] = (other[changed, 7] + 1) % 3
        with pytest.raises(
            paribus.errors.RefusalError, match="did not return the same columns for the same rows"
        ):
            numbers.of(other)


def test_feature_that_a_step_joins_with_others_is_refused_by_name():
    joining = ColumnTransformer(
        [
            ("joined", make_pipeline(SimpleImputer(), PCA(2)), ["age", "power"]),
            ("w", ONE_HOT, WORDS),
        ],
        sparse_threshold=0,
    )
    joined = make_pipeline(joining, LAST["HistGB"]).fit(TRAIN, target(TRAIN))
    with pytest.raises(paribus.errors.RefusalError, match="PCA joins 'power' with 'age'"):
        strengths(joined, features=["power", "city"], method="exact")
    others = {"features": ["city", "fuel"], "sample_weight": WEIGHTS}
    alike(strengths(joined, method="exact", **others), strengths(joined, method="brute", **others), 1e-6)

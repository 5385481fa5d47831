"""Effects of models made of models equal those of evaluating them, whatever is varied and wherever rows are."""

from functools import cache

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
    StackingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import paribus
from ale_examples import same
from paribus._evaluators import exact_effects
from selection import nightly
from statistic_of import statistic_of

QUIET = {"progress": False}
RNG = np.random.default_rng(0)
ROWS = 140
NUMBERS = pd.DataFrame(
    {"a": RNG.normal(size=ROWS), "b": RNG.integers(0, 9, ROWS), "c": RNG.gamma(2, 1, ROWS)}
)
X = NUMBERS.assign(d=RNG.choice(["x", "y", "z"], ROWS), c=NUMBERS["c"].where(RNG.random(ROWS) > 0.1))
Y = NUMBERS["a"] * (NUMBERS["b"] > 4) + NUMBERS["c"] + (X["d"] == "x")
TWO, THREE = Y.gt(Y.median()).astype(int), pd.qcut(Y, 3, labels=["u", "v", "w"]).astype(str)
WEIGHTS = RNG.integers(0, 3, ROWS) / 2

prepared = ColumnTransformer(
    [("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b", "c"]), ("w", OneHotEncoder(), ["d"])]
)
options = {"n_estimators": 5, "num_leaves": 6, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
light, light_classes = lightgbm.LGBMRegressor(**options), lightgbm.LGBMClassifier(**options)
boosted = GradientBoostingRegressor(n_estimators=5)
forest = RandomForestRegressor(3, max_depth=4, random_state=0)


def members(*models):
    return [(f"m{k}", make_pipeline(prepared, one)) for k, one in enumerate(models)]


@cache
def wrapped(name):
    logarithm = {"func": np.expm1, "inverse_func": np.log1p}
    made = {
        "trees": lambda: VotingRegressor(members(light, forest), weights=[2, 1]).fit(X, Y),
        "bagging": lambda: make_pipeline(prepared, BaggingRegressor(boosted, 3, max_features=0.7)).fit(X, Y),
        "trees and terms": lambda: VotingRegressor(members(light, Ridge()), weights=[2, 1]).fit(X, Y),
        "target": lambda: TransformedTargetRegressor(members(light)[0][1], **logarithm).fit(X, Y),
        "calibrated": lambda: CalibratedClassifierCV(members(light_classes)[0][1], cv=2).fit(X, THREE),
        "stacked": lambda: StackingClassifier(members(light_classes, LogisticRegression()), cv=2).fit(X, TWO),
    }
    return made[name]()


@pytest.mark.parametrize(
    "name", ["trees and terms", *nightly("bagging", "trees", "target", "calibrated", "stacked")]
)
def test_curves_surfaces_and_rows_are_those_of_the_model(name):
    model = wrapped(name)
    for features, more in (
        (["a", "c", "d"], {"sample_weight": WEIGHTS}),
        (["b"], {"kind": "both"}),
        ([("a", "d")], {}),
    ):
        given = {"grid_resolution": 5, **more, **QUIET}
        exact = paribus.effects(model, X, features, **given)
        brute = paribus.effects(model, X, features, method="brute", **given)
        assert exact.provenance.evaluator in ("tree_exact", "combined_exact"), exact.provenance.refusals
        for have, want in zip(exact.values(), brute.values(), strict=True):
            size = np.abs(want.average).max()
            np.testing.assert_allclose(have.average, want.average, rtol=0, atol=1e-9 * size)
            np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=1e-6, atol=1e-9)
            if "kind" in more:
                np.testing.assert_allclose(have.individual, want.individual, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("name", ["calibrated", *nightly("trees and terms")])
def test_local_effects_of_what_stays_made_of_several_models_are_those_of_the_model(name):
    rows = X.assign(b=1)  # no move of a feature with one value
    given = {"sample_weight": WEIGHTS, "grid_resolution": 6, **QUIET}
    exact = paribus.accumulated_local_effects(wrapped(name), rows, **given)
    brute = paribus.accumulated_local_effects(wrapped(name), rows, method="brute", **given)
    assert exact.provenance.evaluator == "combined_ale"
    assert exact.provenance.predictions == 0
    for have, want in zip(exact.values(), brute.values(), strict=True):
        same(have, want, 1e-9)


MERGED = {
    "vote of two libraries": (VotingRegressor([("a", light), ("b", forest)]), Y),
    "bagging": (BaggingRegressor(boosted, 3, max_features=0.7, random_state=0), Y),
    "several targets": (MultiOutputRegressor(light), np.c_[Y, -(Y**2)]),
}


@pytest.mark.parametrize("name", ["vote of two libraries", *nightly("bagging", "several targets")])
def test_strengths_local_effects_and_splits_of_merged_trees_are_those_of_the_model(name):
    model, target = MERGED[name]
    model.fit(NUMBERS, target)
    exact = paribus.h_statistic(model, NUMBERS, **QUIET)
    brute = paribus.h_statistic(model, NUMBERS, method="brute", subsample=ROWS, **QUIET)
    assert exact.provenance.evaluator == "tree_exact"
    for part in ("numerator_pairwise", "denominator_pairwise", "h_squared_overall"):
        np.testing.assert_allclose(exact[part], brute[part], rtol=1e-8, atol=1e-12, err_msg=part)
    local = paribus.accumulated_local_effects(model, NUMBERS, **QUIET)
    want = paribus.accumulated_local_effects(model, NUMBERS, method="brute", **QUIET)
    assert local.provenance.evaluator == "tree_ale"
    for feature in local:
        same(local[feature], want[feature], 1e-9)
    splits = paribus.partial_dependence(model, NUMBERS, "a", grid_resolution="splits", **QUIET)
    assert splits.provenance.evaluator == "tree_exact"


@pytest.mark.parametrize("name", nightly("calibrated", "trees and terms", "trees"))
def test_files_checkpoints_and_little_memory_change_no_bit(name, tmp_path):
    rows = pd.concat([X] * 20, ignore_index=True)
    rows = rows.assign(a=RNG.normal(size=len(rows)), w=RNG.integers(0, 3, len(rows)) / 2)
    (tmp_path / "rows").mkdir()
    table = pa.Table.from_pandas(rows, preserve_index=False)
    pq.write_table(table, tmp_path / "rows" / "part.parquet", row_group_size=700)
    model, given = wrapped(name), {"features": ["a", "d"], "grid_resolution": 5, **QUIET}
    held = paribus.effects(model, rows.drop(columns="w"), sample_weight=rows["w"], **given)
    files = {"X": tmp_path / "rows", "sample_weight": "w", "checkpoint": tmp_path / "kept", **given}
    little = statistic_of(
        "effects",
        model,
        rows.drop(columns="w"),
        sample_weight=rows["w"],
        max_memory="40MB",
        n_jobs=1,
        **given,
    )
    for other in (statistic_of("effects", model, **files), statistic_of("effects", model, **files), little):
        assert other.provenance.evaluator == held.provenance.evaluator != "brute"
        for have, want in zip(other.values(), held.values(), strict=True):
            np.testing.assert_array_equal(have.average, want.average)
            np.testing.assert_array_equal(have.standard_error, want.standard_error)


def test_grids_that_are_drawn_apart_are_drawn_apart_in_every_part(monkeypatch):
    given = {"features": ["a", "b", "c", "d"], "grid_resolution": 5, **QUIET}
    together = paribus.effects(wrapped("calibrated"), X, **given)
    monkeypatch.setattr(exact_effects, "CURVE_BYTES", 200_000)
    apart = paribus.effects(wrapped("calibrated"), X, **given)
    for have, want in zip(apart.values(), together.values(), strict=True):
        np.testing.assert_array_equal(have.average, want.average)

"""Every verb through pipelines: the numbers of the whole pipeline, within memory, in any company."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import paribus
from mixed_pipelines import fitted, joining, mixed
from paribus._data.read import table_of
from paribus._models import adapt, structure_of
from statistic_of import statistic_of

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM by an array
QUIET = {"progress": False}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["LightGBM", "logistic"])
def test_surfaces_and_curves_of_groups_of_columns_are_those_of_the_pipeline(name):
    X, _, weights = mixed()
    model, options = fitted(name), {"sample_weight": weights, "grid_resolution": 4, **QUIET}
    request = [("kind", "city"), ("gap", "kind"), ("day", "size")]
    exact, brute = (
        paribus.effects(model, X, request, method=method, **options) for method in ("exact", "brute")
    )
    for key, effect in exact.items():
        for part in ("average", "standard_error"):
            np.testing.assert_allclose(effect[part], brute[key][part], rtol=1e-9, atol=1e-9)
    curves = statistic_of("partial_dependence", model, X, "kind", kind="both", verify=True, **options)
    assert curves.provenance.predictions == 0
    assert curves.provenance.verified_difference < 1e-9
    np.testing.assert_allclose(curves.centered().individual[..., 0], 0, atol=1e-12)


def test_an_explainer_of_a_pipeline_gives_in_one_run_what_every_verb_gives():
    X, y, weights = mixed()
    explainer = paribus.Explainer(fitted("LightGBM"), X, y, sample_weight=weights, **QUIET)
    found = explainer.run(
        ("effects", {"features": ["gap", "kind"]}), ("accumulated_local_effects", {"features": ["gap", "kind"]}),
        ("marginal", {"features": ["gap", "kind"]}), ("feature_importance", {"features": ["gap", "kind"]}),
    )  # fmt: skip
    alone = explainer.effects(["gap", "kind"])
    hidden = paribus.Explainer(fitted("LightGBM").predict, X, y, sample_weight=weights, **QUIET)
    for key in ("gap", "kind"):
        assert found["effects"][key].average.tobytes() == alone[key].average.tobytes()
        near, want = found["marginal"][key], hidden.marginal([key])[key]
        np.testing.assert_allclose(near.predicted, want.predicted)
        np.testing.assert_allclose(near.residual, want.residual)
        local = found["accumulated_local_effects"][key]
        assert paribus.compare(found["effects"][key], local, near) is not None
    brute = paribus.feature_importance(fitted("LightGBM"), X, ["gap", "kind"], sample_weight=weights, **QUIET)
    np.testing.assert_allclose(found["feature_importance"].values, brute.values)
    shuffled = explainer.feature_importance(kind="permutation", random_state=0, n_repeats=2)
    assert shuffled.values[list(shuffled.feature_names).index("gap")] > 0


@pytest.mark.parametrize("name", ["LightGBM", "ridge"])
def test_what_is_read_of_a_pipeline_travels(name):
    X, *_ = mixed()
    table = table_of(X)
    structure = structure_of(adapt(fitted(name), table))
    there = pickle.loads(pickle.dumps(structure))
    here, far = (
        one.values([(3, table.own_cells(3))])[0] if name == "ridge" else one.ensemble.numbers(table)
        for one in (structure, there)
    )
    assert here.tobytes() == far.tobytes()


def test_recursion_moves_a_group_together_along_training_paths():
    X, y, _ = mixed()
    X = X[["kind", "size"]].dropna()
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), ["size"])
    )
    forest = RandomForestRegressor(3, max_depth=4, random_state=0)
    model = make_pipeline(steps, forest).fit(X, y[X.index])
    effect = paribus.partial_dependence(model, X, "kind", method="recursion", **QUIET)
    by_hand = [np.mean([along(one.tree_, row) for one in forest.estimators_]) for row in np.eye(3)]
    np.testing.assert_allclose(effect.average[0], by_hand, rtol=1e-12)
    with pytest.raises(paribus.errors.RefusalError, match=r"PolynomialFeatures .*'count'"):
        paribus.partial_dependence(fitted("LightGBM", joining), mixed()[0], "count", method="recursion")


def along(tree, group, node=0):
    """Return a tree's average along the paths of its training data, its first columns set to a group."""
    children = tree.children_left[node], tree.children_right[node]
    if children[0] < 0:
        return tree.value[node, 0, 0]
    column = tree.feature[node]
    if column < len(group):
        return along(tree, group, children[int(group[column] > tree.threshold[node])])
    shares = [tree.weighted_n_node_samples[child] / tree.weighted_n_node_samples[node] for child in children]
    return sum(share * along(tree, group, child) for share, child in zip(shares, children, strict=True))


@pytest.mark.nightly
@pytest.mark.parametrize("last", ["trees", "terms"])
def test_rows_that_preprocessing_makes_wider_stay_within_max_memory(last):
    rng, rows = np.random.default_rng(0), 8_000
    codes = rng.integers(0, 150, rows)
    X = pd.DataFrame({"c": codes.astype(str).astype(object), "a": rng.normal(size=rows)})
    X.loc[::9, "a"] = np.nan
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["c"]), (SimpleImputer(), ["a"])
    )
    trees = RandomForestRegressor(3, max_depth=5, random_state=0, max_features=0.3)
    model = make_pipeline(steps, trees if last == "trees" else Ridge())
    model.fit(X[:2_000], codes[:2_000] % 7 + X["a"][:2_000].fillna(1))
    options = {"features": ["a"], "n_jobs": 1, **QUIET}
    free = paribus.effects(model, X, **options)
    for verb in ("effects", "accumulated_local_effects"):
        if verb == "effects" or last == "trees":
            paribus.effects(model, X[:500], **options)
            tracemalloc.start()
            within = statistic_of(verb, model, X, **options, max_memory="8MB")
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert within.provenance.predictions == 0
            assert within.provenance.block_rows < 2_048
            assert peak < 8e6, peak
        if verb == "effects":
            assert free.provenance.block_rows == 2_048  # of which one-hot columns alone take 2.5 MB
            assert within["a"].average.tobytes() == free["a"].average.tobytes()

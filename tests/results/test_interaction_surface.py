"""What two features do together beyond each by itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor

import paribus

BOTH = ["a", "b", ("a", "b")]


@pytest.fixture
def frame(rng):
    table = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
    table["level"] = pd.Categorical(rng.choice(["x", "y", "z"], 150))
    return table


def separate(table):
    """Three features, of which ``a`` and ``b`` do not interact with each other."""
    a, b, c = (table[name].to_numpy() for name in ("a", "b", "c"))
    return np.exp(a) * (1 + c) + np.sin(3 * b) * c + 40


def together(table):
    a, b, c = (table[name].to_numpy() for name in ("a", "b", "c"))
    return np.stack([a * b + a + c * b, a * b * c], axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "grid",
    [
        {},
        {"grid_resolution": 5},
        {"grid_resolution": 7, "percentiles": (0, 1)},
        {"custom_values": {"a": [9.0, -1.0, -1.0], "b": [0.0]}},
    ],
)
def test_there_is_none_where_features_do_not_interact(frame, rng, weighted, grid):
    weights = rng.integers(0, 4, len(frame)) if weighted else None
    options = {"grid_resolution": 6, "sample_weight": weights, **grid}
    found = paribus.effects(separate, frame, BOTH, **options)
    size = np.abs(found["a", "b"].average).max()
    joint = found.interaction("a", "b")
    assert np.abs(joint.average).max() <= 1e-12 * size
    assert joint.strength <= 1e-12 * size
    assert found["a", "b"].strength > 0.1


def test_there_is_none_between_features_of_separate_trees(frame):
    X = frame[["a", "b"]].to_numpy()
    stumps = GradientBoostingRegressor(n_estimators=20, max_depth=1, random_state=0)
    stumps.fit(X, frame["a"] + frame["b"] ** 2)
    for method in ("auto", "brute", "recursion"):
        found = paribus.effects(stumps, X, [0, 1, (0, 1)], method=method, grid_resolution=8)
        assert np.abs(found.interaction("x0", "x1").average).max() <= 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_surface_without_both_curves_and_its_average_is_zero(frame, rng, weighted):
    weights = rng.integers(0, 4, len(frame)).astype(float) if weighted else None
    found = paribus.effects(together, frame, BOTH, grid_resolution=5, sample_weight=weights)
    surface, joint = found["a", "b"], found.interaction("a", "b")
    shares = surface.support / surface.support.sum()
    for o in range(2):
        left = surface.average[o] - found["a"].average[o][:, None] - found["b"].average[o][None, :]
        np.testing.assert_allclose(joint.average[o], left - (left * shares).sum(), rtol=0, atol=1e-12)
        assert abs((joint.average[o] * shares).sum()) < 1e-12
    strength = np.sqrt(np.mean([(joint.average[o] ** 2 * shares).sum() for o in range(2)]))
    assert joint.strength == pytest.approx(strength, rel=1e-12)
    mean_a, mean_b = (found[name].grid_values[0] for name in ("a", "b"))
    product = mean_a[:, None] * mean_b[None, :]
    want = product - mean_a[:, None] * np.average(frame["b"], weights=weights)
    want = want - mean_b[None, :] * np.average(frame["a"], weights=weights)
    np.testing.assert_allclose(joint.average[0], want - (want * shares).sum(), rtol=0, atol=1e-12)


def test_it_says_what_it_is_and_keeps_what_stays_true(frame, rng, tmp_path):
    frame["b"] = frame["a"] + 0.05 * rng.normal(size=len(frame))
    many = pd.concat([frame] * 4, ignore_index=True)
    found = paribus.effects(separate, many, BOTH, grid_resolution=6)
    surface, joint = found["a", "b"], found.interaction("a", "b")
    assert joint.provenance.scale == f"{surface.provenance.scale}, interaction only"
    assert joint.extrapolation is surface.extrapolation
    assert joint.extrapolation.mask.any()
    assert joint.feature_names == ("a", "b")
    assert joint.ordered == surface.ordered
    assert joint.missing is None
    assert joint.standard_error is None
    assert set(surface.notes) < set(joint.notes)
    assert any("interactions have no standard error" in note for note in joint.notes)
    assert "interaction only" in repr(joint)
    joint.save(tmp_path / "joint.json")
    assert paribus.load(tmp_path / "joint.json") == joint


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_each_rows_own_difference(frame, rng, weighted):
    weights = rng.integers(0, 4, len(frame)).astype(float) if weighted else None
    options = {"grid_resolution": 4, "sample_weight": weights, "quantiles": (0.25, 0.75)}
    found = paribus.effects(together, frame, BOTH, kind="both", **options)
    surface, joint = found["a", "b"], found.interaction("a", "b")
    left = surface.individual - found["a"].individual[..., :, None] - found["b"].individual[..., None, :]
    shares = surface.support / surface.support.sum()
    left = left - (left * shares).sum(axis=(-2, -1), keepdims=True)
    np.testing.assert_allclose(joint.individual, left, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        np.average(joint.individual, axis=1, weights=weights), joint.average, rtol=0, atol=1e-12
    )
    if not weighted:
        error = left.std(axis=1, ddof=1) / np.sqrt(len(frame))
        np.testing.assert_allclose(joint.standard_error, error, rtol=1e-9, atol=1e-12)
        quantiles = np.quantile(left, [0.25, 0.75], axis=1).transpose(1, 0, 2, 3)
        np.testing.assert_allclose(joint.quantiles.values, quantiles, rtol=0, atol=1e-12)
    else:
        weight, rows = weights[None, :, None, None], np.count_nonzero(weights)
        squares = (weight**2 * (left - joint.average[:, None]) ** 2).sum(axis=1)
        error = np.sqrt(squares * rows / (rows - 1)) / weights.sum()
        np.testing.assert_allclose(joint.standard_error, error, rtol=1e-9, atol=1e-12)
    assert not any("no standard error" in note for note in joint.notes)
    curves = paribus.effects(together, frame, BOTH, kind="individual", **options).interaction("a", "b")
    assert curves.average is None
    np.testing.assert_array_equal(curves.individual, joint.individual)
    assert curves.strength == pytest.approx(joint.strength, rel=1e-12)


def test_rows_agree_that_there_is_none(frame):
    found = paribus.effects(separate, frame, BOTH, grid_resolution=5, kind="both").interaction("a", "b")
    assert np.abs(found.individual).max() <= 1e-10
    assert found.standard_error.max() <= 1e-11


def test_each_model_has_its_own(frame):
    models = [together, separate_twice]
    found = paribus.effects(models, frame, BOTH, grid_resolution=4).interaction("a", "b")
    for place, model in enumerate(models):
        own = paribus.effects(model, frame, BOTH, grid_resolution=4).interaction("a", "b")
        np.testing.assert_allclose(found.by_model.values[place], own.average, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.average, found.by_model.values.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        found.by_model.standard_deviation, found.by_model.values.std(axis=0, ddof=1), rtol=0, atol=1e-12
    )


def separate_twice(table):
    return np.stack([separate(table), separate(table)], axis=1)


def test_either_order_levels_and_missing_values(frame):
    frame.loc[::7, "a"] = np.nan
    asked = ["a", "level", ("level", "a")]

    def model(table):
        return np.nan_to_num(table["a"].to_numpy(float)) * (table["level"] == "x").to_numpy() + table["c"]

    found = paribus.effects(model, frame, asked, grid_resolution=5)
    joint = found.interaction("a", "level")
    assert joint == found.interaction("level", "a")
    assert joint.feature_names == ("level", "a")
    assert joint.average.shape == (1, 3, 5)
    np.testing.assert_allclose(joint.average[0, 1], joint.average[0, 2], rtol=0, atol=1e-12)
    assert np.ptp(joint.average[0, 0] - joint.average[0, 1]) > 0.5


def test_what_is_lacking_is_named_with_the_way_out(frame):
    found = paribus.effects(separate, frame, ["a", "b"], grid_resolution=4)
    with pytest.raises(paribus.errors.OptionError, match=r"of both; .* features=\['a', 'b', \('a', 'b'\)\]"):
        found.interaction("a", "b")
    found = paribus.effects(separate, frame, ["b", ("b", "c")], grid_resolution=4)
    with pytest.raises(paribus.errors.OptionError, match="none of 'c'"):
        found.interaction("b", "c")
    with pytest.raises(paribus.errors.OptionError, match="name two"):
        found.interaction("b", "b")
    wide = paribus.effects(separate, frame, ["a", "b"], grid_resolution=5)
    pair = paribus.effects(separate, frame, [("a", "b")], grid_resolution=4)
    mixed = paribus.results.Effects([*wide.values(), *pair.values()])
    with pytest.raises(paribus.errors.OptionError, match="one call"):
        mixed.interaction("a", "b")

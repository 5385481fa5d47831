"""The part of a curve that plots show, and strengths of several outputs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus.results.partial_dependence import central_points, trimmed

RNG = np.random.default_rng(3)
# With 401 rows, the quantiles 0.05 and 0.95 are observed values.
X = pd.DataFrame({"x": RNG.uniform(size=401), "z": RNG.normal(size=401)})


def linear(t):
    return t["x"] + 0.1 * t["z"]


def effect_of(values, weights=None, **options):
    """Return the partial dependence of a feature with these values."""
    table = pd.DataFrame({"v": values, "z": np.arange(len(values))})
    return paribus.partial_dependence(lambda t: t["z"], table, "v", sample_weight=weights, **options)


def test_central_points_are_between_the_quantiles():
    effect = paribus.partial_dependence(linear, X, "x")
    (values,), central = effect.grid_values, central_points(effect)
    assert (values[0], values[-1]) == (X["x"].min(), X["x"].max())
    low, high = np.quantile(X["x"], [0.05, 0.95])
    np.testing.assert_allclose(values[central], np.linspace(low, high, 30))
    assert (values[: central.start] < low).all()
    assert (values[central.stop :] > high).all()
    assert effect.support[: central.start].sum() < 0.05 * len(X)
    assert effect.support[: central.start + 1].sum() >= 0.05 * len(X)
    assert effect.support[central.stop :].sum() < 0.05 * len(X)
    assert effect.support[central.stop - 1 :].sum() >= 0.05 * len(X)


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 10_000, 400),
        RNG.integers(2**62, 2**63 - 1, 400),
        RNG.integers(2**63, 2**64 - 1, 400, dtype=np.uint64),
        np.datetime64("2026-01-01") + RNG.integers(0, 5_000, 400).astype("m8[h]"),
        RNG.normal(size=400).astype(np.float32),
    ],
    ids=["integers", "large integers", "unsigned", "dates", "single precision"],
)
def test_central_points_of_any_kind_of_column(values):
    effect = effect_of(values)
    (grid,), central = effect.grid_values, central_points(effect)
    ordered = np.sort(values)
    assert (grid[0], grid[-1]) == (ordered[0], ordered[-1])
    assert ordered[16] <= grid[central][0] <= ordered[24]  # the 5th percentile is at position 20
    assert ordered[-25] <= grid[central][-1] <= ordered[-17]
    (shown,) = trimmed(effect).grid_values
    np.testing.assert_array_equal(shown, grid[central])
    assert shown.dtype == grid.dtype


@pytest.mark.parametrize(
    ("counts", "central"),
    [
        ([1] * 12, slice(0, 12)),  # few values
        ([1] * 13, slice(0, 13)),  # each has more than 5 %
        ([1] * 20, slice(0, 20)),  # each has 5 %
        ([1] * 21, slice(1, 20)),
        ([1, 1, *[100] * 11, 1], slice(2, 13)),
        ([1, *[100] * 11], slice(0, 12)),
        ([*[1] * 9, 300, 300, 300, *[1] * 8], slice(9, 12)),
        ([*[1] * 9, 300, 300, *[1] * 9], slice(0, 20)),  # two points would remain
        ([*[1] * 9, 900, *[1] * 10], slice(0, 20)),
    ],
)
def test_central_points_of_distinct_values(counts, central):
    values = np.repeat(np.arange(len(counts)), counts)
    assert central_points(effect_of(values)) == central
    weighted = effect_of(np.arange(len(counts)), np.array(counts, dtype=float))
    assert central_points(weighted) == central
    assert len(trimmed(weighted).grid_values[0]) == central.stop - central.start


@pytest.mark.parametrize(
    "options",
    [
        {"percentiles": (0.05, 0.95)},
        {"percentiles": (0, 0.9)},
        {"percentiles": (0.1, 1)},
        {"percentiles": (0, 1)},
        {"custom_values": {"v": np.linspace(0.2, 0.8, 30)}},
    ],
    ids=["center", "lower part", "upper part", "whole range", "custom values"],
)
def test_curve_of_requested_values_is_whole(options):
    effect = effect_of(np.sort(X["x"]), **options)
    assert central_points(effect) == slice(0, len(effect.grid_values[0]))
    assert trimmed(effect) is effect


def test_values_without_quantiles_or_without_data_are_whole():
    names = [f"name {n:02}" for n in range(30)]
    for category in (pd.Categorical(names * 10), pd.Categorical(names * 10, names, ordered=True)):
        effect = effect_of(category)
        assert central_points(effect) == slice(0, 30)
        assert trimmed(effect) is effect
    numbers = effect_of(np.arange(30))
    assert central_points(numbers) == slice(1, 29)
    assert central_points(replace(numbers, support=np.zeros(30))) == slice(0, 30)


def test_trimmed_effect_has_all_of_its_parts_at_the_central_points():
    gaps = X.assign(x=X["x"].where(X.index % 9 != 0), y=X["x"] + 0.01 * X["z"])
    predict = lambda t: t["x"].fillna(2.0) + 0.1 * t["z"] * t["y"]  # noqa: E731
    whole = paribus.partial_dependence(predict, gaps, "x", kind="both", quantiles=(0.1, 0.9))
    inner, central = trimmed(whole), central_points(whole)
    assert 0 < central.start < central.stop < len(whole.grid_values[0])
    for name in ("average", "standard_error", "individual", "support", "ranks"):
        np.testing.assert_array_equal(inner[name], getattr(whole, name)[..., central], err_msg=name)
    np.testing.assert_array_equal(inner.quantiles.values, whole.quantiles.values[..., central])
    np.testing.assert_array_equal(inner.extrapolation.by_point, whole.extrapolation.by_point[central])
    for name in ("strengths", "deciles", "notes", "provenance"):
        assert getattr(inner, name) is getattr(whole, name)
    for name in ("share", "support", "average", "standard_error", "individual"):
        np.testing.assert_array_equal(getattr(inner.missing, name), getattr(whole.missing, name))
    assert trimmed(inner) is inner


def test_trimmed_effect_has_models_and_no_covariance():
    whole = paribus.partial_dependence([linear, lambda t: t["x"] ** 2], X, "x")
    inner, central = trimmed(whole), central_points(whole)
    assert whole.covariance is not None
    assert inner.covariance is None
    for name in ("values", "standard_deviation"):
        full = getattr(whole.by_model, name)
        np.testing.assert_array_equal(getattr(inner.by_model, name), full[..., central])
    assert inner.by_model.strengths is whole.by_model.strengths


def test_trimmed_averages_near_each_value():
    whole = paribus.marginal(linear, X, "x", y=X["x"])["x"]
    inner, central = trimmed(whole), central_points(whole)
    assert central == central_points(paribus.partial_dependence(linear, X, "x"))
    for name in ("predicted", "observed", "residual", "residual_error", "support", "rows"):
        np.testing.assert_array_equal(getattr(inner, name), getattr(whole, name)[..., central])
    assert inner.outside == whole.outside == 0


def test_strength_is_the_root_mean_square_over_outputs():
    effect = paribus.partial_dependence(
        lambda t: np.stack([3.0 * t["x"], np.zeros(len(t)), -4.0 * t["x"]], axis=1), X, "x"
    )
    weights, values = effect.support / effect.support.sum(), effect.grid_values[0]
    deviation = np.sqrt(weights @ (values - weights @ values) ** 2)
    np.testing.assert_allclose(effect.strengths, [3 * deviation, 0, 4 * deviation], atol=1e-15)
    assert effect.strength == pytest.approx(deviation * 5 / np.sqrt(3))
    assert effect.strength_from == "points"
    huge = replace(effect, strengths=np.array([3e200, 0.0, 4e200]))
    assert huge.strength == pytest.approx(5e200 / np.sqrt(3))  # whose squares overflow


def test_effects_of_a_part_of_the_data_are_in_the_order_of_their_movement():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"weak": rng.normal(size=300), "strong": rng.normal(size=300), "few": rng.integers(0, 2, 300)}
    )

    def predict(t):
        return np.asarray(0.1 * t["weak"] + 5 * t["strong"] + 0.01 * t["few"])

    effects = paribus.effects(predict, X, percentiles=(0.05, 0.95), progress=False)
    assert list(effects) == ["strong", "weak", "few"]
    assert np.isnan(effects["strong"].strength)

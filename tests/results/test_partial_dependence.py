"""The part of a curve that plots show, and strengths of several outputs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus.results.partial_dependence import central_points

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


@pytest.mark.parametrize(
    ("counts", "central"),
    [
        ([1] * 12, slice(0, 12)),  # few values
        ([1] * 13, slice(0, 13)),  # each has more than 5 %
        ([1] * 20, slice(0, 20)),  # each has 5 %
        ([1] * 21, slice(1, 20)),
        ([1, 1, *[100] * 11, 1], slice(2, 13)),
        ([1, *[100] * 11], slice(1, 12)),
        ([*[1] * 9, 300, 300, 300, *[1] * 8], slice(9, 12)),
        ([*[1] * 9, 300, 300, *[1] * 9], slice(8, 11)),  # two points would remain
        ([*[1] * 9, 900, *[1] * 10], slice(7, 10)),
        ([900, *[1] * 19], slice(0, 3)),
    ],
)
def test_central_points_of_distinct_values(counts, central):
    values = np.repeat(np.arange(len(counts)), counts)
    assert central_points(effect_of(values)) == central
    weighted = effect_of(np.arange(len(counts)), np.array(counts, dtype=float))
    assert central_points(weighted) == central


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


def test_values_without_quantiles_or_without_data_are_whole():
    names = [f"name {n:02}" for n in range(30)]
    for category in (pd.Categorical(names * 10), pd.Categorical(names * 10, names, ordered=True)):
        effect = effect_of(category)
        assert central_points(effect) == slice(0, 30)
    numbers = effect_of(np.arange(30))
    assert central_points(numbers) == slice(1, 29)
    assert central_points(replace(numbers, support=np.zeros(30))) == slice(0, 30)


def test_averages_and_local_effects_have_the_central_points_of_their_rows():
    averages = paribus.marginal(linear, X, "x", y=X["x"])["x"]
    assert central_points(averages) == central_points(paribus.partial_dependence(linear, X, "x"))
    local = paribus.accumulated_local_effects(linear, X, "x", grid_resolution=20)["x"]
    assert central_points(local) == slice(1, 19)  # edges of bins with 5 % of the rows each, or a row less
    skewed = X.assign(x=np.where(X.index < 380, 0.0, X["x"]))
    values = paribus.accumulated_local_effects(linear, skewed, "x")["x"]
    assert values.grid_values[0][central_points(values)][0] == 0.0


def test_strength_is_the_root_mean_square_over_outputs():
    effect = paribus.partial_dependence(
        lambda t: np.stack([3.0 * t["x"], np.zeros(len(t)), -4.0 * t["x"]], axis=1), X, "x"
    )
    weights, values = effect.support / effect.support.sum(), effect.grid_values[0]
    deviation = np.sqrt(weights @ (values - weights @ values) ** 2)
    np.testing.assert_allclose(effect.strengths, [3 * deviation, 0, 4 * deviation], atol=1e-15)
    assert effect.strength == pytest.approx(deviation * 5 / np.sqrt(3))
    assert effect.strength_from == "points"


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

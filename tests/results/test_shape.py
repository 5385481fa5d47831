"""Shapes of curves: names, ranges, and movement against a direction, on curves that are known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paribus
from paribus._kernels import reference
from paribus._states import CurveProducts
from paribus.results import Effects
from paribus.results.curve_values import CurveCovariance
from paribus.results.shape import shapes_of
from random_tables import few

POINTS = np.arange(24)


@cache
def effect_at(points):
    """Return a partial dependence at the first integers."""
    X = np.arange(points)[:, None]
    return paribus.partial_dependence(lambda t: t[:, 0], X, 0, custom_values={0: np.arange(points)})


def effect_of(heights, support=None):
    """Return the partial dependence that has the given height at each integer, and so much data there."""
    heights = np.asarray(heights, dtype=float)
    counted = np.full(len(heights), 3.0) if support is None else np.asarray(support, dtype=float)
    return replace(effect_at(len(heights)), average=heights[None], support=counted)


def shape_of(heights, support=None, noise=None, declared=None):
    """Return its shape; ``noise`` is the standard error of each point, independent of the others."""
    effect = effect_of(heights, support)
    known = {}
    if noise is not None:
        products = CurveProducts(100.0, effect.average, 9_900 * np.eye(len(heights))[None] * noise**2)
        known["x0"] = CurveCovariance(products, 100.0, 100, 100)
    (shape,) = shapes_of(Effects((effect,)), known, {"x0": {"prediction": declared}} if declared else {})
    return shape


@pytest.mark.parametrize(
    ("heights", "name"),
    [
        (np.ones(24), "flat"),
        (1e6 + 1e-9 * np.sin(POINTS), "flat"),
        (POINTS, "rising"),
        (-np.sqrt(POINTS), "falling"),
        (1.0 * (POINTS >= 9), "steps up"),
        (-1.0 * (POINTS >= 4) - 2.0 * (POINTS >= 13), "steps down"),
        (np.floor(POINTS / 3), "rising"),  # too many steps to be told from a slope
        ((POINTS - 11) ** 2, "U"),
        (np.minimum(POINTS, 30 - POINTS), "inverted U"),
        (np.sin(POINTS / 3), "wavy"),
        (POINTS + 0.9 * (-1.0) ** POINTS, "rising"),  # back and forth by 0.8, below 5 % of the range
        (POINTS - 9.0 * (POINTS == 12), "wavy"),
        ([0, 1], "rising"),
        ([3, 1, 2], "U"),
        ([0, 0, 1], "rising"),
        ([2], "flat"),
    ],
)
def test_names_of_known_curves(heights, name):
    assert shape_of(heights).name == name


def test_movement_within_noise_is_no_turn():
    heights = POINTS - 3.0 * (POINTS >= 12)  # falls by 2, 10 % of the range
    assert shape_of(heights).name == shape_of(heights, noise=0.5).name == "wavy"
    assert shape_of(heights, noise=1.0).name == "rising"  # two errors of the difference are 2.8
    assert shape_of(heights, noise=20.0).name == "flat"


def test_every_value_that_has_data_decides_and_no_other():
    heights = np.where(POINTS < 20, POINTS, 60 - 3.0 * POINTS)
    assert shape_of(heights).name == "inverted U"
    thin = shape_of(heights, np.where(POINTS < 20, 100, 1))
    assert (thin.name, thin.monotonicity.direction) == ("inverted U", "rising")
    assert thin.range == np.ptp(heights) == 28
    assert thin.monotonicity.support < 0.06
    none = shape_of(heights, np.where(POINTS < 20, 100, 0))
    assert (none.name, none.monotonicity.direction) == ("rising", "rising")
    assert shape_of([0, 5], [400, 1]).name == "rising"


def test_categories_have_no_direction():
    X = pd.DataFrame({"k": list("abcab") * 4, "z": range(20)})
    predict = lambda t: t["k"].map({"a": 1.0, "b": 3.0, "c": 2.0}).to_numpy()  # noqa: E731
    effects = paribus.effects(predict, X, ["k", "z"])
    shapes = {shape.feature: shape for shape in shapes_of(effects, {}, {})}
    assert (shapes["k"].name, shapes["k"].lowest, shapes["k"].highest) == ("categories", "a", "b")
    assert shapes["k"].monotonicity is None
    assert np.isnan(shapes["k"].range_error)
    assert shapes["k"].rows == 0
    assert shapes["z"].name == "flat"
    ordered = X.assign(k=pd.Categorical(X["k"], list("acb"), ordered=True))
    (shape,) = shapes_of(paribus.effects(lambda t: predict(t.astype({"k": str})), ordered, ["k"]), {}, {})
    assert (shape.name, shape.monotonicity.violation) == ("rising", 0)


def test_a_curve_without_finite_points_is_undefined():
    shape = shape_of(np.full(5, np.inf))
    assert (shape.name, shape.lowest, shape.monotonicity) == ("undefined", None, None)
    partly = shape_of([np.nan, 0, 1, 2, np.inf])
    assert (partly.name, partly.range, partly.highest) == ("rising", 2, 3)


@few
@given(steps=st.lists(st.floats(0, 10), min_size=1, max_size=30), start=st.floats(-100, 100))
def test_a_monotone_curve_is_not_violated(steps, start):
    heights = start + np.cumsum([0.0, *steps])
    up, down = shape_of(heights, declared="rising"), shape_of(-heights)
    for shape, direction in ((up, "rising"), (down, "falling")):
        own = shape.monotonicity
        assert own.violation == own.support == 0
        assert own.start is own.stop is None
        if shape.range > 1e-9:
            assert own.direction == direction
            assert shape.name in (direction, "steps up" if direction == "rising" else "steps down")
    against = shape_of(heights, declared="falling").monotonicity
    assert against.violation == pytest.approx(up.range if up.range > 1e-9 else 0, abs=1e-9)


@few
@given(at=st.integers(2, 20), size=st.floats(0.5, 4), data=st.data())
def test_a_planted_dip_is_found_with_its_size_place_and_data(at, size, data):
    support = np.array(data.draw(st.lists(st.integers(1, 9), min_size=24, max_size=24)))
    heights = POINTS - (size + 1) * (at <= POINTS)
    for sign, direction in ((1, "rising"), (-1, "falling")):
        own = shape_of(sign * heights, support, noise=0.1, declared=direction).monotonicity
        assert own.is_declared
        assert own.violation == pytest.approx(size)
        assert (own.start, own.stop) == (at - 1, at)
        assert own.support == pytest.approx(support[at - 1 : at + 1].sum() / support.sum())
        assert own.standard_error == pytest.approx(0.1 * np.sqrt(2))
    assert shape_of(heights, support).monotonicity.direction == "rising"
    assert not shape_of(heights, support).monotonicity.is_declared


def test_centered_error_is_that_of_the_distance_from_the_mean_over_the_data():
    support = np.array([1, 2, 5])
    rng = np.random.default_rng(0)
    curves = rng.normal(size=(1, 50, 3))
    effect = effect_of([0, 1, 2], support)
    products = CurveProducts.of(curves.transpose(0, 2, 1), np.ones(50), reference.multiply)
    covariance = CurveCovariance(products, 50.0, 50, 50)
    mean = curves.mean(axis=1)
    (shape,) = shapes_of(Effects((replace(effect, average=mean),)), {"x0": covariance}, {})
    away = curves[0] - (curves[0] @ (support / 8))[:, None]
    np.testing.assert_allclose(shape.centered_error, away.std(axis=0, ddof=1) / np.sqrt(50))
    low, high = np.argmin(mean[0]), np.argmax(mean[0])
    apart = curves[0, :, high] - curves[0, :, low]
    assert shape.range_error == pytest.approx(apart.std(ddof=1) / np.sqrt(50))

"""Shapes of curves: names, ranges, and movement against a direction, on curves that are known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paribus
from paribus.results import Effects
from paribus.results.shape import shapes_of
from random_tables import few

POINTS = np.arange(24)


@cache
def effect_at(points):
    """Return a partial dependence at the first integers."""
    X = np.arange(points)[:, None]
    return paribus.partial_dependence(lambda t: t[:, 0], X, 0, custom_values={0: np.arange(points)})


def effect_of(heights, support=None, noise=None, missing=0.0):
    """Return the partial dependence that has the given height at each integer, and so much data there.

    ``noise`` is the standard error of each point, independent of the others; ``missing`` is the weight of rows
    with a missing value.
    """
    heights = np.asarray(heights, dtype=float)
    counted = np.full(len(heights), 3.0) if support is None else np.asarray(support, dtype=float)
    reached = np.cumsum(counted)
    return replace(
        effect_at(len(heights)),
        average=heights[None],
        support=counted,
        ranks=np.stack([reached - counted, reached]) / (reached[-1] + missing),
        covariance=None if noise is None else np.eye(len(heights))[None] * np.square(noise),
    )


def shape_of(heights, support=None, noise=None, declared=None, missing=0.0):
    """Return its shape."""
    effect = effect_of(heights, support, noise, missing)
    (shape,) = shapes_of(Effects((effect,)), {"x0": {"prediction": declared}} if declared else {})
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
    assert (none.range, none.lowest, none.highest) == (19, 0, 19)
    assert none.monotonicity.violation == 0
    left_out = shape_of(np.abs(POINTS - 8.0), np.where((POINTS > 4) & (POINTS < 12), 0, 100))
    assert (left_out.lowest, left_out.range) == (4, 11)
    assert shape_of([0, 5], [400, 1]).name == "rising"


def test_categories_have_no_direction():
    X = pd.DataFrame({"k": list("abcab") * 4, "z": range(20)})
    predict = lambda t: t["k"].map({"a": 1.0, "b": 3.0, "c": 2.0}).to_numpy()  # noqa: E731
    effects = paribus.effects(predict, X, ["k", "z"])
    shapes = {shape.feature: shape for shape in shapes_of(effects, {})}
    assert (shapes["k"].name, shapes["k"].lowest, shapes["k"].highest) == ("categories", "a", "b")
    assert shapes["k"].monotonicity is None
    assert shapes["k"].range_error == pytest.approx(0, abs=1e-12)  # all rows move alike
    assert shapes["k"].text == "differs by category"
    assert shapes["z"].name == "flat"
    ordered = X.assign(k=pd.Categorical(X["k"], list("acb"), ordered=True))
    (shape,) = shapes_of(paribus.effects(lambda t: predict(t.astype({"k": str})), ordered, ["k"]), {})
    assert (shape.name, shape.monotonicity.violation) == ("rising", 0)


def test_a_curve_without_finite_points_is_undefined():
    shape = shape_of(np.full(5, np.inf))
    assert (shape.name, shape.lowest, shape.monotonicity) == ("undefined", None, None)
    assert shape.text == "undefined"
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


def test_error_of_a_range_is_of_differences_of_the_same_rows():
    support = np.array([1, 2, 5])
    curves = np.random.default_rng(0).normal(size=(50, 3))
    effect = effect_of(curves.mean(axis=0), support)
    (shape,) = shapes_of(Effects((replace(effect, covariance=np.cov(curves.T)[None] / 50),)), {})
    low, high = np.argmin(effect.average[0]), np.argmax(effect.average[0])
    apart = curves[:, high] - curves[:, low]
    assert shape.range_error == pytest.approx(apart.std(ddof=1) / np.sqrt(50))
    (unknown,) = shapes_of(Effects((effect,)), {})
    assert np.isnan(unknown.range_error)


def test_errors_are_of_differences_of_the_same_rows_next_to_a_missing_value():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"k": rng.integers(0, 4, 300).astype(float), "z": rng.normal(size=300)})
    X.loc[::5, "k"] = np.nan
    predict = lambda t: t["k"].fillna(7.0) ** 2 * (1 + 0.1 * t["z"])  # noqa: E731
    (shape,) = shapes_of(paribus.effects(predict, X, ["k"]), {"k": {"prediction": "falling"}})
    error = 0.9 * X["z"].std() / np.sqrt(300)  # of 9 (1 + 0.1 z), the difference between 3 and 0
    assert shape.range == pytest.approx(9 * (1 + 0.1 * X["z"].mean()))
    assert shape.range_error == pytest.approx(error)
    assert shape.monotonicity.standard_error == pytest.approx(error)
    assert shape.monotonicity.support == pytest.approx(0.8)  # rows with a missing value count as others
    assert (shape.lowest, shape.highest) == (0, 3)


@pytest.mark.parametrize(
    ("heights", "text"),
    [
        (np.ones(24), "flat"),
        (POINTS, "rises"),
        (-np.sqrt(POINTS), "falls"),
        (np.minimum(POINTS, 12), "rises until 12, then flat"),
        (-np.minimum(POINTS, 12), "falls until 12, then flat"),
        (np.maximum(POINTS, 12), "flat until 12, then rises"),
        (np.clip(POINTS, 8, 15), "rises between 8 and 15"),
        (1.0 * (POINTS >= 9), "rises at 9, flat elsewhere"),
        (-1.0 * (POINTS >= 9), "falls at 9, flat elsewhere"),
        (np.minimum(POINTS, 21), "rises"),  # 3 of 24 points are beyond 20, 12.5 % of the data
        (np.minimum(POINTS, 20), "rises until 19, then flat"),  # 19 is 5 % of the range below; 4 are beyond
        ([0, 1, 2, 2], "rises"),  # of fewer than five points none is called flat
        ([0, 1, 2, 2, 2], "rises until 2, then flat"),
        (1.0 * (POINTS >= 2) + 2.0 * (POINTS >= 22), "rises in steps"),
        ((POINTS - 11) ** 2, "U-shaped, lowest at 11"),
        (np.minimum(POINTS, 30 - POINTS), "rises until 15, then falls"),
        (np.sin(POINTS / 3), "goes up and down"),
        (POINTS - 9.0 * (POINTS == 12), "mostly rises"),
        (9.0 * (POINTS == 12) - POINTS, "mostly falls"),
    ],
)
def test_words_of_known_curves(heights, text):
    assert shape_of(heights).text == text


def test_flat_part_is_mentioned_by_its_share_of_the_data():
    heights = np.minimum(POINTS, 21)
    assert shape_of(heights, np.where(POINTS > 20, 30, 10)).text == "rises until 20, then flat"
    assert shape_of(np.minimum(POINTS, 12), np.where(POINTS > 12, 1, 10)).text == "rises"


def test_extreme_of_a_u_is_inside():
    heights = [10.0, 0.0, 3.0, 6.0, 3.0, 0.0]
    assert shape_of(heights[1:], noise=0.1).name == "inverted U"
    noise = [20.0, 0.1, 0.1, 0.1, 0.1, 0.1]  # the first point is highest, by less than its error
    assert shape_of(heights, noise=noise).name == "wavy"
    assert shape_of(-np.array(heights), noise=noise).name == "wavy"
    assert shape_of(-np.array(heights)[1:], noise=0.1).name == "U"


@pytest.mark.parametrize(("sign", "direction"), [(1, "rising"), (-1, "falling")])
def test_direction_is_that_of_the_name(sign, direction):
    heights, support = sign * np.array([0.0, 5.0, 4.8, 10.0]), [1, 500, 500, 1]
    shape = shape_of(heights, support)  # by the data, it moves against its name
    assert (shape.name, shape.monotonicity.direction) == (direction, direction)
    assert shape.monotonicity.violation == pytest.approx(0.2)
    assert (shape.monotonicity.start, shape.monotonicity.stop) == (1, 2)
    turning = shape_of([*heights, heights[0]], [*support, 1])  # whose name has no direction
    assert turning.name in ("U", "inverted U")
    assert turning.monotonicity.direction == ("falling" if direction == "rising" else "rising")


@pytest.mark.parametrize("missing", [0.0, 18.0])
def test_support_of_a_violation_counts_all_rows(missing):
    heights, support = [0, 4, 3, 2, 9], [1, 2, 3, 4, 2]
    own = shape_of(heights, support, declared="rising", missing=missing).monotonicity
    assert (own.start, own.stop, own.violation) == (1, 3, 2)
    assert own.support == pytest.approx(9 / (12 + missing))
    categories = replace(effect_of(heights, support), ranks=None)  # whose support is of all rows without
    (shape,) = shapes_of(Effects((categories,)), {"x0": {"prediction": "rising"}})
    assert shape.monotonicity.support == pytest.approx(9 / 12)


def test_rows_between_two_values_count_in_a_violation():
    X = np.arange(1_000.0)[:, None]
    effects = paribus.effects(lambda t: np.where(t[:, 0] < 300, t[:, 0], 600 - t[:, 0]), X, grid_resolution=5)
    (shape,) = shapes_of(effects, {"x0": {"prediction": "rising"}})
    own = shape.monotonicity
    assert own.stop == 999
    assert own.support == pytest.approx(np.mean((own.start <= X) & (own.stop >= X)))

"""Uncertainty over refitted models: against naive code, in a simulation, in plots and in the gate."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import paribus
from paribus._display.figure import Band, Line, Points
from paribus._states.student import student_quantile
from paribus.results.partial_dependence import central_points
from selection import nightly

QUIET = {"progress": False}


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[::9, 2] = np.nan
    return X


def models(m=5, seed=1, slope=1.0):
    rng = np.random.default_rng(seed)
    return [
        lambda t, b=b: (
            (slope + b[0]) * t[:, 0] + np.nan_to_num(t[:, 2]) * (1 + b[1]) + t[:, 0] * t[:, 1] * b[2]
        )
        for b in 0.2 * rng.normal(size=(m, 3))
    ]


def naive_interval(fits, X, j, x, c, level, w=None):
    """Return the interval at one value by loops: rows of the mean model, refits, and their degrees."""
    moved = X.copy()
    moved[:, j] = x
    rows = np.array([fit(moved) for fit in fits])
    w = np.ones(len(X)) if w is None else w
    each = [float(np.sum(w * row) / w.sum()) for row in rows]
    n, m = len(X), len(fits)
    errors = []
    for row, mean in zip(rows, each, strict=True):
        errors.append(np.sqrt(n / (n - 1) * np.sum(w**2 * (row - mean) ** 2)) / w.sum())
    row_variance = np.mean(errors) ** 2
    middle = sum(each) / m
    refit_variance = (1 / m + c) * sum((one - middle) ** 2 for one in each) / (m - 1)
    total = row_variance + refit_variance
    freedom = (m - 1) * (total / refit_variance) ** 2
    half = scipy.stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(total)
    return middle - half, middle + half


def test_student_quantile_is_that_of_scipy():
    freedom = np.array([[1.0, 1.5, 2.0, 4.0], [9.7, 80.0, 3000.0, np.inf]])
    for level in (0.5, 0.95, 0.999, 1 - 1e-5):
        want = scipy.stats.t.ppf((1 + level) / 2, freedom)
        rtol = np.where((freedom == 1.5) & (level > 0.999), 0.02, 1e-9)  # its density is steep at the end
        assert (np.abs(student_quantile(level, freedom) - want) <= rtol * want).all()
    assert student_quantile(0.95, np.nan) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("correction", [None, 0.0, 0.58])
def test_refit_interval_equals_naive_code(correction, weighted):
    X, fits = table(), models()
    weight = np.random.default_rng(3).uniform(0.5, 2, len(X)) if weighted else None
    effect = paribus.partial_dependence(
        fits, X, 2, custom_values={2: [-1.0, 0.0, 2.0]}, sample_weight=weight, **QUIET
    )
    c = 3 if correction is None else correction
    low, high = effect.refit_interval(0.9, correction=correction)
    for k, x in enumerate((-1.0, 0.0, 2.0)):
        want = naive_interval(fits, X, 2, x, c, 0.9, weight)
        assert_allclose((low[0, k], high[0, k]), want, rtol=1e-10)
    at_missing = effect.refit_interval(0.9, correction=correction, at_missing=True)
    want = naive_interval(fits, X, 2, np.nan, c, 0.9, weight)
    assert_allclose([end[0] for end in at_missing], want, rtol=1e-10)


def test_interval_of_local_effects_and_of_relative_curves_is_over_what_is_known():
    X, fits = table(), models()
    local = paribus.accumulated_local_effects(fits, X, [0], **QUIET)["x0"]
    low, high = local.refit_interval()
    assert_allclose((low + high) / 2, local.ale, atol=1e-12)
    assert (high - low >= 2 * 1.95 * local.standard_error - 1e-12).all()
    relative = paribus.partial_dependence(fits, X, 0, grid_resolution=4, **QUIET).centered()
    low, high = relative.refit_interval(correction=0)
    error = relative.by_model.standard_deviation[0, 1:] / np.sqrt(5)
    assert_allclose((high - low)[0, 1:] / 2, scipy.stats.t.ppf(0.975, 4) * error, rtol=1e-6)
    assert high[0, 0] == low[0, 0]


def test_wrong_corrections_and_single_models_are_refused():
    X = table()
    effect = paribus.partial_dependence(models(), X, 0, **QUIET)
    for wrong in (-0.1, np.inf, np.nan, "folds"):
        with pytest.raises(paribus.errors.OptionError, match="correction="):
            effect.refit_interval(correction=wrong)
    for wrong in (0, 1, "most"):
        with pytest.raises(paribus.errors.OptionError, match="level="):
            effect.refit_interval(wrong)
    with pytest.raises(paribus.errors.OptionError, match="no effect at a missing value"):
        effect.refit_interval(at_missing=True)
    alone = paribus.partial_dependence(models()[0], X, 0, **QUIET)
    with pytest.raises(paribus.errors.OptionError, match="needs several models"):
        alone.refit_interval()
    one = paribus.partial_dependence(models(1), X, 0, **QUIET)
    assert np.isnan(one.refit_interval()).all()


def covered(seed, way):
    """Return whether intervals at three values contain the effect of the average fit.

    Linear fits of y = x0 + x0 x1 + noise, averaged over 150 other rows. ``way`` is how refits share rows.
    """
    rng = np.random.default_rng(seed)

    def drawn(n):
        X = rng.normal(size=(n, 2)) + 1
        design = np.column_stack([np.ones(n), X[:, 0], X[:, 1], X[:, 0] * X[:, 1]])
        return X, design, X[:, 0] + X[:, 0] * X[:, 1] + rng.normal(size=n)

    def fitted(design, y):
        b = np.linalg.lstsq(design, y, rcond=None)[0]
        return lambda t: b[0] + b[1] * t[:, 0] + b[2] * t[:, 1] + b[3] * t[:, 0] * t[:, 1]

    n, m, correction = (
        100,
        *{"independent": (6, 0), "folds": (6, None), "splits": (12, 2), "bootstrap": (12, 1)}[way],
    )
    if way == "independent":
        fits = [fitted(*drawn(n)[1:]) for _ in range(m)]
    else:
        _, design, y = drawn(n)
        folds = rng.permutation(n) % m
        chosen = {
            "folds": lambda k: np.flatnonzero(folds != k),
            "splits": lambda k: rng.choice(n, 2 * n // 3, replace=False),
            "bootstrap": lambda k: rng.integers(0, n, n),
        }[way]
        fits = [fitted(design[rows], y[rows]) for rows in map(chosen, range(m))]
    values = np.array([-1.0, 1.0, 3.0])
    X = drawn(150)[0]
    effect = paribus.partial_dependence(fits, X, 0, custom_values={0: values}, method="brute", **QUIET)
    low, high = effect.refit_interval(correction=correction)
    truth = values * 2  # x + x E[x1]: the average linear fit is unbiased
    return (low[0] <= truth) & (truth <= high[0])


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["independent", *nightly("folds", "splits", "bootstrap")])
def test_intervals_cover_the_effect_of_the_average_fit(way):
    share = np.mean([covered(seed, way) for seed in range(200)])
    assert 0.91 <= share <= 0.985, share


def test_plots_have_a_named_band_of_refits_apart_from_that_of_rows():
    effect = paribus.partial_dependence(models(), table(), 2, **QUIET)
    (panel,) = effect.figure().panels
    wide, narrow = (mark for mark in panel.marks if isinstance(mark, Band))
    assert (wide.role, wide.label) == ("refits", "rows and refits as folds, 95 %")
    assert (narrow.role, narrow.label) == ("standard_error", None)
    assert wide.color != narrow.color
    central = central_points(effect)
    assert len(wide.x) == central.stop - central.start < len(effect.grid_values[0])
    low, high = (end[0, central] for end in effect.refit_interval())
    assert_allclose((wide.low, wide.high), (low, high))
    assert_allclose(narrow.high, (effect.average[0] + 2 * effect.standard_error[0])[central])
    bar = next(mark for mark in panel.right[-1].marks if isinstance(mark, Points) and mark.marker == "bar")
    low, high = effect.refit_interval(at_missing=True)
    assert bar.error[0] == pytest.approx((high - low)[0] / 2)
    words = ["each of 5 models", "rows and refits as folds, 95 %", "average ± 2 standard errors"]
    page = effect.plot().figure
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    assert [text.get_text() for text in legend.get_texts()] == words
    assert all(word in effect.to_svg() for word in words)
    drawn = [trace.name for trace in effect.plot(backend="plotly").data]
    assert set(words) <= set(drawn)
    line = [mark for mark in panel.marks if isinstance(mark, Line)][-1]
    assert "rows and refits as folds, 95 %: " in line.hover[0]


def test_relative_curves_have_the_interval_of_refits_only():
    (panel,) = paribus.partial_dependence(models(), table(), 0, **QUIET).centered().figure().panels
    (band,) = (mark for mark in panel.marks if isinstance(mark, Band) and mark.role == "refits")
    assert band.label == "refits as folds, 95 %"

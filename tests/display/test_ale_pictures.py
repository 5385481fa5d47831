"""Pictures of accumulated local effects."""

import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import paribus
from ale_examples import library, one
from conftest import numbers
from paribus import accumulated_local_effects as ale
from paribus._display.figure import Hatch, Line
from paribus.results.partial_dependence import central_points


def drawn(effect, **options):
    """Draw without a warning, all the way to pixels."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = effect.plot(**options)
        figure.canvas.draw()
    return figure.axes[0]


@pytest.mark.nightly
def test_ale_every_kind_of_effect_is_drawn(awkward):
    found = ale(
        numbers, awkward, [*awkward, ("count", "gap"), ("count", "city"), ("city", "gap"), ("day", "gap")]
    )
    for effect in found.values():
        drawn(effect)
        plt.close("all")
    few = ale(numbers, awkward, ["count", "gap", "city", "day", ("count", "gap")])
    assert len(few) <= len(drawn(few).figure.axes)
    plt.close("all")


def test_ale_pictures_show_what_there_is():
    model, X = library("XGBoost")
    effect = one(model, X, "a")
    panel = drawn(effect)
    assert panel.get_xlabel() == "a"
    assert panel.get_ylabel() == "effect on prediction"
    line = panel.get_lines()[0]
    inner = central_points(effect)
    np.testing.assert_array_equal(line.get_ydata(), effect.ale[0, inner])
    np.testing.assert_array_equal(line.get_xdata(), effect.grid_values[0][inner])
    _, ax = plt.subplots()
    assert drawn(effect, ax=ax) is ax
    surface = one(model, X, ("a", "b"), grid_resolution=12)
    assert surface.empty.any()
    (panel,) = surface.figure().panels
    (hatch,) = [mark for mark in panel.marks if isinstance(mark, Hatch)]
    assert hatch.label == "no rows"
    np.testing.assert_array_equal(hatch.mask, surface.empty.T)
    drawn(surface)
    plt.close("all")


def test_ale_cells_without_rows_are_hatched_and_no_others():
    X = np.array(list(product([0.0, 0.5, 1.0, 1.5, 2.0], repeat=2)))
    X = X[(X <= 1).any(axis=1)]
    options = {"custom_values": {0: [0.0, 1.0, 2.0], 1: [0.0, 1.0, 2.0]}}
    surface = one(lambda X: X[:, 0] * X[:, 1], X, (0, 1), **options)
    assert surface.empty.tolist() == [[False, False], [False, True]]
    panel = drawn(surface)
    panel.figure.canvas.draw()
    pixels = np.asarray(panel.figure.canvas.buffer_rgba())[::-1, :, :3].astype(int)
    for (i, j), empty in np.ndenumerate(surface.empty):
        (left, low), (right, high) = panel.transData.transform(
            [(i + 0.1, j + 0.1), (i + 0.9, j + 0.9)]
        ).astype(int)
        colors = len(np.unique(pixels[low:high, left:right].reshape(-1, 3), axis=0))
        assert (colors > 1) == empty
    plt.close("all")


@pytest.mark.nightly
def test_ale_several_outputs_have_color_each():
    model, X = library("LightGBM of classes")
    found = ale(model, X, ["a", ("a", "b")])
    (panel,) = found["a"].figure().panels
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert [line.label for line in lines] == ["0", "1", "2"]
    assert len({line.color for line in lines}) == 3
    drawn(found["a"])
    assert drawn(found["a"], output="1").get_ylabel() == "effect on probability of class 1"
    assert len(found["a", "b"].figure().panels) == 3
    with pytest.raises(paribus.errors.DrawingError, match="output="):
        found["a", "b"].plot(outputs="color")
    drawn(found["a", "b"], output=2)
    with pytest.raises(paribus.ParibusError, match="no"):
        found["a"].plot(output="9")
    plt.close("all")


def test_ale_effects_without_errors_or_rows_are_drawn():
    X = np.random.default_rng(1).normal(size=(2, 2))
    for effect in ale(lambda X: X[:, 0] * X[:, 1], X, [0, (0, 1)]).values():
        drawn(effect)
    lonely = ale(lambda X: X[:, 0] * X[:, 1], X[:1], [0, (0, 1)])
    drawn(lonely["x0"])
    with pytest.raises(paribus.errors.DrawingError, match="two values of each"):
        lonely["x0", "x1"].plot()
    nothing = ale(lambda t: t["y"].to_numpy(), pd.DataFrame({"none": [np.nan] * 5, "y": np.arange(5.0)}))
    drawn(nothing["none"])
    drawn(nothing)
    plt.close("all")

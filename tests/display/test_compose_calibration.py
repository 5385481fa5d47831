"""The picture of performance: calibration with errors and the diagonal."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

import paribus
from paribus._display.figure import Line, Points
from paribus._text import measured


@pytest.fixture(scope="module")
def performance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, y)
    return paribus.explain(model, X, y).performance


def test_panels_have_the_numbers_of_the_result(performance):
    figure = performance.figure()
    assert figure.title == "Calibration"
    (calibration,) = figure.panels
    diagonal, bars, groups = calibration.marks
    assert isinstance(diagonal, Line)
    assert isinstance(groups, Points)
    assert (diagonal.x == diagonal.y).all()
    (table,) = performance.calibration
    np.testing.assert_array_equal(groups.x, table.predicted)
    np.testing.assert_array_equal(groups.y, table.observed)
    # A group of a single row has no interval, and a bar of no length at its average.
    unknown = table.weight == 1
    np.testing.assert_array_equal(np.isnan(table.observed_low), unknown)
    np.testing.assert_array_equal(np.isnan(table.observed_high), unknown)
    for end, drawn in ((table.observed_low, bars.y - bars.error), (table.observed_high, bars.y + bars.error)):
        np.testing.assert_allclose(drawn, np.where(unknown, table.observed, end))
    assert groups.hover[0].startswith("predicted ")
    assert "\n95 % interval " in groups.hover[0]
    assert groups.hover[0].endswith("of the data")


def test_a_group_without_an_interval_has_no_bar(performance):
    (table,) = performance.calibration
    unknown = np.where(np.arange(len(table.observed)) == 0, np.nan, table.observed_low)
    single = replace(table, observed_low=unknown, observed_high=unknown)
    _, bars, groups = replace(performance, calibration=(single,)).figure().panels[0].marks
    assert (bars.error[0], bars.y[0]) == (0.0, groups.y[0])


def test_every_renderer_draws_it(performance):
    page = performance.plot(title="how well")
    assert sum(len(axes.get_lines()) > 0 for axes in page.axes) == 1
    plt.close(page)
    assert performance.plot(backend="plotly").data
    assert performance.to_svg() == performance.to_svg()
    assert "image/png" in performance._repr_mimebundle_()


def test_text_and_table_have_every_metric(performance):
    text = repr(performance)
    assert text.startswith("Performance of GradientBoostingRegressor: ")
    lines = text.split("\n")
    for metric in performance.metrics:
        value = measured(metric.value, metric.standard_error)
        assert any(line.strip().startswith(metric.name) and value in line for line in lines)
    frame = performance.to_frame(backend="pyarrow")
    assert frame.column_names == ["metric", "output", "value", "standard_error", "constant", "better"]
    assert frame["metric"].to_pylist() == [one.name for one in performance.metrics]
    assert performance["R²"].better == "higher"
    with pytest.raises(KeyError, match="there is no metric 'R2'"):
        performance["R2"]


def test_what_cannot_be_drawn_is_refused(performance):
    nothing = replace(performance, calibration=())
    with pytest.raises(paribus.errors.DrawingError, match="no calibration to plot"):
        nothing.figure()
    with pytest.raises(paribus.errors.OptionError, match="columns=0 must be a positive integer"):
        performance.figure(columns=0)

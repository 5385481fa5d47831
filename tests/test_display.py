"""First pictures: every kind of panel draws, says what it shows, and leaves others' axes alone."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import paribus
from conftest import numbers


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


@pytest.mark.parametrize("kind", ["average", "individual", "both"])
def test_every_column_has_a_picture(awkward, kind):
    for column in awkward.columns:
        effect = paribus.partial_dependence(numbers, awkward, column, kind=kind, grid_resolution=8)
        ax = effect.plot()
        ax.figure.canvas.draw()
        assert ax.get_xlabel().startswith(column)
        assert ax.get_ylabel() == "prediction"
        ticks = [t.get_text() for t in (*ax.get_xticklabels(), *ax.get_xticklabels(minor=True))]
        assert ("missing" in ticks) == (effect.missing is not None)


def test_a_curve_is_the_numbers(rng):
    X = rng.normal(size=(300, 2))
    effect = paribus.partial_dependence(lambda t: t[:, 0] ** 2, X, 0, custom_values={0: [1.0, -1.0, 0.0]})
    ax = effect.plot()
    x, y = ax.lines[0].get_data()
    assert list(x) == [-1.0, 0.0, 1.0]
    assert list(y) == [1.0, 0.0, 1.0]
    assert legend(ax) == ["average ± 2 standard errors"]


def test_individual_curves_say_how_many_and_the_average_is_over_all(rng):
    X = rng.normal(size=(300, 2))
    effect = paribus.partial_dependence(lambda t: t[:, 0] * t[:, 1], X, 0, kind="both")
    ax = effect.plot()
    assert legend(ax) == ["100 of 300 rows", "average ± 2 standard errors"]
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), effect.average[0])


def test_classes_have_names_and_colours(rng):
    X = rng.normal(size=(50, 2))
    effect = paribus.partial_dependence(
        lambda t: np.stack([t[:, 0], t[:, 1]], 1), X, 0, target_names=["p", "q"]
    )
    assert legend(effect.plot()) == ["p", "q"]
    assert effect.plot(output="q").get_ylabel() == "prediction (q)"
    with pytest.raises(paribus.OptionError, match="did you mean"):
        effect.plot(output="pp")


@pytest.mark.parametrize(
    "pair",
    [
        ("gap", "mostly"),
        ("count", "day"),
        ("level", "city"),
        ("count", "level"),
        ("level", "count"),
        ("flag", "gap"),
    ],
)
def test_every_pair_has_a_picture(awkward, pair):
    effect = paribus.partial_dependence(numbers, awkward, pair, grid_resolution=7)
    ax = effect.plot()
    ax.figure.canvas.draw()
    nominal = {"level", "city", "flag"}
    if len(nominal & set(pair)) == 1:
        level = (nominal & set(pair)).pop()
        assert ax.get_legend().get_title().get_text() == level
    else:
        assert (ax.get_xlabel(), ax.get_ylabel()) == pair


def test_pictures_that_do_not_exist_say_so(rng):
    X = rng.normal(size=(30, 3))
    three = paribus.partial_dependence(lambda t: t[:, 0], X, [0, 1, 2], grid_resolution=3)
    with pytest.raises(paribus.DrawingError, match="3 features"):
        three.plot()
    two = paribus.partial_dependence(lambda t: t[:, :2], X, [0, 1], grid_resolution=3)
    with pytest.raises(paribus.DrawingError, match="output"):
        two.plot()
    assert two.plot(output=1)
    rows = paribus.partial_dependence(lambda t: t[:, 0], X, [0, 1], grid_resolution=3, kind="individual")
    with pytest.raises(paribus.DrawingError, match="kind='average'"):
        rows.plot()
    flat = paribus.partial_dependence(
        lambda t: t[:, 0], X, [0, 1], custom_values={0: [1.0]}, grid_resolution=3
    )
    with pytest.raises(paribus.DrawingError, match="two values"):
        flat.plot()


def test_axes_given_are_drawn_on_and_no_figure_is_made(rng):
    X = rng.normal(size=(30, 2))
    figure, axes = plt.subplots(1, 2)
    axes[0].set_title("mine")
    returned = paribus.partial_dependence(lambda t: t[:, 0], X, 0).plot(ax=axes[0])
    assert returned is axes[0]
    assert axes[0].get_title() == "mine"
    assert not axes[1].has_data()
    assert plt.get_fignums() == [figure.number]


def test_panels_share_their_y_axis(rng):
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a", "b", "c", "d"])
    effects = paribus.effects(
        lambda t: 9 * t["a"] + t["b"], frame, ["a", "b", "c", ("a", "b")], grid_resolution=5
    )
    figure = effects.plot(columns=2)
    panels = {ax.get_xlabel(): ax for ax in figure.axes if ax.get_ylabel() == "prediction" and ax.lines}
    assert len({ax.get_ylim() for ax in panels.values()}) == 1


def test_every_value_missing_or_off_the_data_still_draws(rng):
    X = np.column_stack([np.full(20, np.nan), rng.normal(size=20)])
    paribus.partial_dependence(lambda t: t[:, 1], X, 0).plot()
    paribus.partial_dependence(lambda t: t[:, 1], X, 1, custom_values={1: [50.0, 60.0]}).plot()
    one_row = paribus.partial_dependence(lambda t: t[:, 1], X[:1, [1, 1]], 1, custom_values={1: [0.0, 1.0]})
    one_row.plot().figure.canvas.draw()


def test_levels_are_written_as_they_are_and_told_apart(rng):
    names = [f"municipality of somewhere number {k}" for k in range(60)]
    frame = pd.DataFrame(
        {"price_$": rng.normal(size=600), "town": names * 10, "band": ["$5-$10", "none"] * 300}
    )
    ax = paribus.partial_dependence(lambda t: t["price_$"], frame, "band").plot()
    assert {t.get_text() for t in ax.get_xticklabels()} == {r"\$5-\$10", "none"}
    ax = paribus.partial_dependence(lambda t: t["price_$"], frame, "town").plot()
    labels = [t.get_text() for t in ax.get_xticklabels()]
    assert len(set(labels)) == len(labels) == 30
    assert max(map(len, labels)) <= 22
    ax = paribus.partial_dependence(
        lambda t: t["price_$"], frame, ["price_$", "town"], grid_resolution=4
    ).plot()
    assert ax.get_xlabel() == r"price_\$"
    assert len(ax.lines) == 12
    assert "12 of 60 levels" in ax.get_legend().get_title().get_text()


def test_no_number_stands_where_only_the_support_is_drawn(rng):
    X = rng.normal(size=(200, 2))
    effect = paribus.partial_dependence(lambda t: 1 / (1 + np.exp(-5 * t[:, 0])), X, 0)
    assert effect.plot().get_yticks().min() >= 0
    assert paribus.effects(lambda t: 1 / (1 + np.exp(-5 * t[:, 0])), X).plot().axes[0].get_yticks().min() >= 0


def test_a_flat_surface_shows_its_value(rng):
    X = rng.normal(size=(50, 2))
    ax = paribus.partial_dependence(lambda t: np.ones(len(t)), X, [0, 1], grid_resolution=4).plot()
    bar = ax.figure.axes[1]
    assert bar.get_yticks().tolist() == [1.0]


def test_the_missing_tick_stands_alone():
    X = np.column_stack([np.where(np.arange(60) % 5, np.linspace(0, 2, 60), np.nan), np.zeros(60)])
    ax = paribus.partial_dependence(lambda t: np.nan_to_num(t[:, 0]), X, 0).plot()
    assert max(ax.get_xticks()) <= 2 < ax.get_xticks(minor=True)[0]
    void = paribus.partial_dependence(
        lambda t: t[:, 1], np.column_stack([np.full(9, np.nan), np.zeros(9)]), 0
    )
    ax = void.plot()
    assert list(ax.get_xticks()) == []
    assert [t.get_text() for t in ax.get_xticklabels(minor=True)] == ["missing"]


def test_the_support_of_every_split_is_drawn_although_points_lie_on_both_sides(rng):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X = rng.normal(size=(400, 2))
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, np.sin(3 * X[:, 0]))
    ax = paribus.partial_dependence(model, X, 0, grid_resolution="splits").plot()
    low, high = ax.get_xlim()
    bars = ax.containers[0]
    assert sum(bar.get_width() for bar in bars) > 0.8 * (high - low)
    tallest = max(bars, key=lambda bar: bar.get_height())
    assert abs(tallest.get_x()) < 1.5  # where the data is


def test_very_many_points_have_a_strip_whichever_way_they_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    for values in (
        np.linspace(-2, 2, 2_000),
        np.linspace(2, -2, 2_000),
        np.array([2.0, 1.0, 1.0 - 1e-9, 0.0]),
    ):
        effect = paribus.partial_dependence(lambda t: t[:, 0], X, 0, custom_values={0: values})
        assert max(bar.get_height() for bar in effect.plot().patches) > 0

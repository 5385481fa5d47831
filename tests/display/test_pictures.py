"""First pictures: every kind of panel draws, says what it shows, and leaves others' axes alone."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import paribus
from conftest import numbers
from paribus._display.figure import Heat, Line, Strip
from paribus._display.vector.ticks import axis_ticks
from paribus.results.partial_dependence import central_points
from selection import nightly


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def only_panel(effect, **options):
    (panel,) = effect.figure(**options).panels
    return panel


def of(panel, kind):
    """Return the marks of one kind."""
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def labels(panel):
    return [mark.label for mark in panel.marks if getattr(mark, "label", None)]


def explained(ax):
    """Return what the only legend of the page that axes are on says."""
    (legend,) = [part.get_legend() for part in ax.figure.axes if part.get_legend() is not None]
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("kind", ["both", *nightly("average", "individual")])
def test_every_column_has_a_picture(awkward, kind):
    for column in awkward.columns:
        effect = paribus.partial_dependence(numbers, awkward, column, kind=kind, grid_resolution=8)
        panel = only_panel(effect)
        ax = effect.plot().axes[0]
        ax.figure.canvas.draw()
        assert ax.get_xlabel() == panel.x.label
        assert panel.x.label.startswith(column)
        assert ax.get_ylabel() == panel.y.label == "prediction"
        assert (len(panel.right) == 1) == (effect.missing is not None)
        drawn = [t.get_text() for side in ax.child_axes for t in side.get_xticklabels()]
        assert any(text.strip().startswith("missing") for text in drawn) == (effect.missing is not None)


def test_a_curve_is_the_numbers(rng):
    X = rng.normal(size=(300, 2))
    effect = paribus.partial_dependence(lambda t: t[:, 0] ** 2, X, 0, custom_values={0: [1.0, -1.0, 0.0]})
    panel = only_panel(effect)
    (line,) = of(panel, Line)
    assert line.x.tolist() == [-1.0, 0.0, 1.0]
    assert line.y.tolist() == [1.0, 0.0, 1.0]
    assert labels(panel) == explained(effect.plot()) == ["average ± 2 standard errors"]


@pytest.mark.parametrize(("highest", "whole"), [(20, True), (90, True), (4.0, False)])
def test_ticks_of_integers_are_integers(rng, highest, whole):
    values = rng.permutation(np.linspace(0, highest, 200).astype(type(highest)))
    X = pd.DataFrame({"rooms": values, "size": rng.normal(size=200)})
    effect = paribus.partial_dependence(lambda t: t["rooms"] + t["size"], X, "rooms")
    assert only_panel(effect).x.integers == whole
    ax = effect.plot().axes[0]
    ax.figure.canvas.draw()
    matplotlib_ticks = [at for at in ax.get_xticks() if ax.get_xlim()[0] <= at <= ax.get_xlim()[1]]
    vector_ticks = [at for at, _ in axis_ticks(only_panel(effect).x, ax.get_xlim(), "x", 400, 40).entries]
    for ticks in (matplotlib_ticks, vector_ticks):
        assert len(ticks) >= 4
        assert all(float(at).is_integer() for at in ticks) == whole
    given = effect.plot(backend="plotly").layout.xaxis.tickvals
    assert given is None


def test_individual_curves_say_how_many_and_the_average_is_over_all(rng):
    X = rng.normal(size=(300, 2))
    effect = paribus.partial_dependence(lambda t: t[:, 0] * t[:, 1], X, 0, kind="both")
    panel = only_panel(effect)
    some = "12 of 300 rows"
    assert labels(panel) == ["90 % of rows", "50 % of rows", some, "average ± 2 standard errors"]
    assert sorted(explained(effect.plot())) == sorted(labels(panel))
    *rows, mean = of(panel, Line)
    inner = central_points(effect)
    np.testing.assert_array_equal(mean.y, effect.average[0, inner])
    assert len(rows) == 12
    assert all((effect.individual[0][:, inner] == row.y).all(axis=1).any() for row in rows)


def test_classes_have_names_and_colors(rng):
    X = rng.normal(size=(50, 2))
    effect = paribus.Explainer(
        lambda t: np.stack([t[:, 0], t[:, 1]], 1), X, target_names=["p", "q"]
    ).partial_dependence(0)
    panel = only_panel(effect)
    assert labels(panel) == explained(effect.plot()) == ["p", "q"]
    assert panel.y.label == "prediction"
    p, q = of(panel, Line)
    assert p.color != q.color
    assert p.dash != q.dash
    assert effect.plot(output="q").axes[0].get_ylabel() == "predicted q"
    with pytest.raises(paribus.errors.OptionError, match="did you mean"):
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
    ax = effect.plot().axes[0]
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
    with pytest.raises(paribus.errors.DrawingError, match="3 features"):
        three.plot()
    two = paribus.partial_dependence(lambda t: t[:, :2], X, [0, 1], grid_resolution=3)
    with pytest.raises(paribus.errors.DrawingError, match="output"):
        two.plot(outputs="color")
    assert two.plot(output=1)
    rows = paribus.partial_dependence(lambda t: t[:, 0], X, [0, 1], grid_resolution=3, kind="individual")
    with pytest.raises(paribus.errors.DrawingError, match="kind='average'"):
        rows.plot()
    flat = paribus.partial_dependence(
        lambda t: t[:, 0], X, [0, 1], custom_values={0: [1.0]}, grid_resolution=3
    )
    with pytest.raises(paribus.errors.DrawingError, match="two values"):
        flat.plot()


def test_surfaces_and_rows_of_several_outputs_have_panels_of_their_own(rng):
    X = rng.normal(size=(30, 2))
    two = paribus.Explainer(lambda t: t, X, target_names=["p", "q"]).partial_dependence(
        [0, 1], grid_resolution=3
    )
    assert [panel.marks[0].unit for panel in two.figure().panels] == ["predicted p", "predicted q"]
    rows = paribus.Explainer(lambda t: t, X, target_names=["p", "q"]).partial_dependence(0, kind="both")
    one, other = rows.figure().panels
    assert (one.y.label, other.y.label) == ("predicted p", "predicted q")
    for panel, average in zip((one, other), rows.average[:, central_points(rows)], strict=True):
        np.testing.assert_array_equal(of(panel, Line)[-1].y, average)


def test_axes_given_are_drawn_on_and_no_figure_is_made(rng):
    X = rng.normal(size=(30, 2))
    figure, axes = plt.subplots(1, 2)
    axes[0].set_title("mine")
    returned = paribus.partial_dependence(lambda t: t[:, 0], X, 0).plot(ax=axes[0])
    assert returned is figure
    assert axes[0].get_title() == "mine"
    assert not axes[1].has_data()
    assert plt.get_fignums() == [figure.number]


def test_panels_share_their_y_axis(rng):
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a", "b", "c", "d"])
    effects = paribus.effects(
        lambda t: 9 * t["a"] + t["b"], frame, ["a", "b", "c", ("a", "b")], grid_resolution=5
    )
    figure = effects.plot(columns=2)
    panels = {ax.get_xlabel(): ax for ax in figure.axes if ax.get_xlabel() in "abc" and ax.lines}
    assert len(panels) == 3
    assert len({ax.get_ylim() for ax in panels.values()}) == 1


def test_every_value_missing_or_off_the_data_still_draws(rng):
    X = np.column_stack([np.full(20, np.nan), rng.normal(size=20)])
    paribus.partial_dependence(lambda t: t[:, 1], X, 0).plot().figure.canvas.draw()
    off = paribus.partial_dependence(lambda t: t[:, 1], X, 1, custom_values={1: [50.0, 60.0]})
    off.plot().figure.canvas.draw()
    one_row = paribus.partial_dependence(lambda t: t[:, 1], X[:1, [1, 1]], 1, custom_values={1: [0.0, 1.0]})
    one_row.plot().figure.canvas.draw()


def test_levels_are_written_as_they_are_and_told_apart(rng):
    names = [f"municipality of somewhere number {k}" for k in range(60)]
    frame = pd.DataFrame(
        {"price_$": rng.normal(size=600), "town": names * 10, "band": ["$5-$10", "none"] * 300}
    )
    ax = paribus.partial_dependence(lambda t: t["price_$"], frame, "band").plot().axes[0]
    assert {t.get_text() for t in ax.get_xticklabels()} == {r"\$5-\$10", "none"}
    towns = paribus.partial_dependence(lambda t: t["price_$"], frame, "town")
    written = [text for _, text in only_panel(towns).x.ticks]
    assert len(set(written)) == len(written) == 20
    assert written[-1] == "other (41 categories)"
    assert max(len(line) for text in written for line in text.split("\n")) <= 24
    assert [t.get_text() for t in towns.plot().axes[0].get_xticklabels()] == written
    pair = paribus.partial_dependence(lambda t: t["price_$"], frame, ["price_$", "town"], grid_resolution=4)
    ax = pair.plot().axes[0]
    assert ax.get_xlabel() == r"price_\$"
    assert len(explained(ax)) == 12
    assert "12 of 60 categories" in ax.get_legend().get_title().get_text()


def test_no_number_stands_where_only_the_support_is_drawn(rng):
    X = rng.normal(size=(200, 2))
    effect = paribus.partial_dependence(lambda t: 1 / (1 + np.exp(-5 * t[:, 0])), X, 0)
    assert effect.plot().axes[0].get_yticks().min() >= 0
    assert paribus.effects(lambda t: 1 / (1 + np.exp(-5 * t[:, 0])), X).plot().axes[0].get_yticks().min() >= 0


def test_a_flat_surface_shows_its_value(rng):
    X = rng.normal(size=(50, 2))
    flat = paribus.partial_dependence(lambda t: np.ones(len(t)), X, [0, 1], grid_resolution=4)
    (heat,) = of(only_panel(flat), Heat)
    assert (heat.values == 1.0).all()
    assert heat.low < 1.0 < heat.high
    bar = next(ax for ax in flat.plot().axes[0].child_axes if ax.get_ylabel() == "prediction")
    assert 1.0 in np.round(bar.get_yticks(), 9)


def test_the_missing_tick_stands_alone():
    X = np.column_stack([np.where(np.arange(60) % 5, np.linspace(0, 2, 60), np.nan), np.zeros(60)])
    effect = paribus.partial_dependence(lambda t: np.nan_to_num(t[:, 0]), X, 0)
    panel = only_panel(effect)
    assert panel.x.high < 2.1
    ((at, text),) = panel.right[-1].x.ticks
    assert (at, text.split("\n")[-2:]) == (0.0, ["missing", "20 %"])
    ax = effect.plot().axes[0]
    assert max(tick for tick in ax.get_xticks() if tick <= ax.get_xlim()[1]) <= 2
    void = paribus.partial_dependence(
        lambda t: t[:, 1], np.column_stack([np.full(9, np.nan), np.zeros(9)]), 0
    )
    assert of(only_panel(void), Line)[0].x.size == 0
    ax = void.plot().axes[0]
    assert list(ax.get_xticks()) == []
    (side,) = ax.child_axes
    assert [t.get_text().strip() for t in side.get_xticklabels()] == ["missing\n100 %"]


def test_the_support_of_every_split_is_drawn_although_points_lie_on_both_sides(rng):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X = rng.normal(size=(400, 2))
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, np.sin(3 * X[:, 0]))
    effect = paribus.partial_dependence(model, X, 0, grid_resolution="splits")
    panel = only_panel(effect)
    (strip,) = of(panel, Strip)
    assert strip.width.sum() > 0.8 * (panel.x.high - panel.x.low)
    assert abs(strip.at[strip.height.argmax()]) < 1.5  # where the data is
    np.testing.assert_allclose(
        (strip.height * strip.width).sum(), effect.support[central_points(effect)].sum()
    )
    assert all(line.steps for line in of(panel, Line))


def test_very_many_points_have_a_strip_whichever_way_they_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    for values in (
        np.linspace(-2, 2, 2_000),
        np.linspace(2, -2, 2_000),
        np.array([2.0, 1.0, 1.0 - 1e-9, 0.0]),
    ):
        effect = paribus.partial_dependence(lambda t: t[:, 0], X, 0, custom_values={0: values})
        (strip,) = of(only_panel(effect), Strip)
        assert strip.height.max() == strip.most > 0
        np.testing.assert_allclose((strip.height * strip.width).sum(), effect.support.sum())

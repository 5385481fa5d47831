"""Pictures of two features as data: every number in them is the result's."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import paribus
from conftest import numbers
from paribus._display.compose.surfaces import surface_panel
from paribus._display.figure import Bars, Contours, Figure, Hatch, Heat, Line, Points, Rug, Rule, Strip
from paribus._display.mark_helpers import DIVERGING, SEQUENTIAL
from selection import nightly

NOMINAL = {"level", "city", "flag"}


def of(panel, kind):
    """Return the marks of one kind."""
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def only(panel, kind):
    (mark,) = of(panel, kind)
    return mark


def local(model, X, pair, **options):
    (effect,) = paribus.accumulated_local_effects(model, X, [pair], **options).values()
    return effect


def panel_of(effect, o=0):
    return surface_panel(effect, o)


@pytest.fixture(scope="module")
def together():
    """Two features that go with each other, so that much of their plane has no rows."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=2_000)
    return np.column_stack([a, a + 0.2 * rng.normal(size=2_000), rng.normal(size=2_000)])


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def cars():
    """Categories of which some never meet, one is rare and one has a short range of numbers."""
    rng = np.random.default_rng(2)
    n = 3_000
    car = rng.choice(["van", "sport", "sedan"], n, p=[0.3, 0.1, 0.6])
    fuel = rng.choice(["petrol", "diesel", "electric"], n)
    fuel = np.where((car == "sport") & (fuel == "electric"), "petrol", fuel)
    km = np.where(car == "sport", rng.uniform(3, 8, n), rng.uniform(0, 30, n))
    town = rng.choice([f"t{k:02d}" for k in range(26)], n, p=np.r_[np.full(6, 0.15), np.full(20, 0.005)])
    return pd.DataFrame({"car": car, "fuel": fuel, "km": km, "town": town, "urban": rng.random(n) < 0.3})


def claims(table):
    car = table["car"].map({"van": 1.0, "sport": 3.0, "sedan": 0.0}).to_numpy(float)
    fuel = table["fuel"].map({"petrol": 5.0, "diesel": 9.0, "electric": 2.0}).to_numpy(float)
    town = table["town"].str[1:].astype(float).to_numpy()
    return car * fuel + car * table["km"].to_numpy() + town * (1 + table["urban"].to_numpy(float))


PAIRS = list(combinations(["gap", "count", "day", "wait", "zoned", "level", "city", "flag"], 2))


@pytest.mark.parametrize("pair", [*PAIRS, *nightly(*(pair[::-1] for pair in PAIRS))])
def test_every_pair_of_kinds_has_a_panel(awkward, pair):
    effect = paribus.partial_dependence(numbers, awkward, pair, grid_resolution=6)
    panel = panel_of(effect)
    nominal = NOMINAL & set(pair)
    if len(nominal) == 1:
        assert panel.legend == "panel"
        assert panel.legend_title == nominal.pop()
        assert panel.x.label.split(" (")[0] in set(pair) - NOMINAL
        assert panel.y.label == "prediction"
        assert {text for line in of(panel, Line) for text in line.hover if "nan" in text} == set()
        assert sum(line.y.size for line in of(panel, Line)) == effect.average.size
        return
    assert (panel.x.label.split(" (")[0], panel.y.label.split(" (")[0]) == pair
    assert panel.top.x.low == panel.x.low
    assert panel.right[-1].y.high == panel.y.high
    (mark,) = of(panel, Heat if len(nominal) == 2 else Contours)
    assert sorted(mark.values.ravel()) == sorted(effect.average[0].ravel())
    assert mark.unit == "prediction"
    assert np.shape(mark.hover) == mark.values.shape


def test_the_same_result_has_the_same_panel(together, cars):
    for pair, X, model in (
        ([0, 1], together, product),
        (["car", "km"], cars, claims),
        (["car", "town"], cars, claims),
    ):
        once, again = (
            panel_of(paribus.partial_dependence(model, X, pair, grid_resolution=8)) for _ in range(2)
        )
        assert once == again
        assert Figure((once,)) == Figure((again,))
        other = panel_of(
            paribus.partial_dependence(lambda t, model=model: 2 * model(t), X, pair, grid_resolution=8)
        )
        assert once != other
    assert surface_panel(local(product, together, (0, 1)), 0) == surface_panel(
        local(product, together, (0, 1)), 0
    )


def test_contours_are_the_surface_at_round_levels(together):
    effect = paribus.partial_dependence(product, together, [0, 1], grid_resolution=9)
    panel = panel_of(effect)
    contours = only(panel, Contours)
    np.testing.assert_array_equal(contours.values, effect.average[0].T)
    np.testing.assert_array_equal(contours.x, effect.grid_values[0])
    np.testing.assert_array_equal(contours.y, effect.grid_values[1])
    levels = contours.levels
    assert 6 <= len(levels) <= 16
    assert levels[0] <= effect.average.min() < effect.average.max() <= levels[-1]
    np.testing.assert_allclose(np.diff(levels), levels[1] - levels[0])
    assert all(len(f"{level:.10g}".replace("-", "").replace(".", "").strip("0")) <= 3 for level in levels)
    assert 0.0 in levels[::2]
    assert contours.colors == SEQUENTIAL
    assert (panel.x.low, panel.x.high) == (contours.x[0], contours.x[-1])
    assert f"x0 = {contours.x[2]:.4g}\nx1 = {contours.y[3]:.4g}\nprediction " in contours.hover[3][2]
    assert ", standard error " in contours.hover[3][2]
    assert contours.hover[4][4].endswith("% of the data")


@pytest.mark.parametrize("values", [[2.0, -1.0, 0.0], [0.0, 2.0, 0.0, -1.0]])
def test_values_given_in_any_order_or_twice_are_drawn_ascending_and_once(together, values):
    effect = paribus.partial_dependence(
        product, together, [0, 1], custom_values={0: values}, grid_resolution=4
    )
    contours = only(panel_of(effect), Contours)
    assert contours.x.tolist() == [-1.0, 0.0, 2.0]
    for row, column in enumerate(effect.grid_values[1]):
        np.testing.assert_allclose(contours.values[row], [-column, 0, 2 * column])


def test_points_no_row_combines_are_hatched(together):
    effect = paribus.partial_dependence(product, together, [0, 1], grid_resolution=9)
    mask = effect.extrapolation.mask
    assert mask.any()
    hatch, contours = only(panel_of(effect), Hatch), only(panel_of(effect), Contours)
    np.testing.assert_array_equal(hatch.mask, mask.T)
    assert hatch.label == "no row combines these"
    x = contours.x
    np.testing.assert_array_equal(hatch.x_edges, [x[0], *(x[1:] + x[:-1]) / 2, x[-1]])
    assert len(hatch.y_edges) == len(contours.y) + 1
    assert not of(panel_of(paribus.partial_dependence(product, together, [0, 2], grid_resolution=9)), Hatch)


def test_a_flat_surface_is_one_color_whose_number_can_be_read(together):
    for value in (0.0, 152.0, -1e6):
        effect = paribus.partial_dependence(
            lambda t, value=value: value + 1e-14 * t[:, 0], together, [0, 1], grid_resolution=4
        )
        heat = only(panel_of(effect), Heat)
        assert not of(panel_of(effect), Contours)
        assert heat.low < value < heat.high
        assert np.ptp(heat.values) < 1e-6 * (heat.high - heat.low)
        assert heat.x_edges[0] == effect.grid_values[0][0]
    flat = paribus.partial_dependence(lambda t: np.full(len(t), 7.0), together, [0, 1]).centered()
    assert (only(panel_of(flat), Heat).low, only(panel_of(flat), Heat).high) == (-1.0, 1.0)


def test_what_has_a_zero_is_colored_around_it(together):
    effect = paribus.partial_dependence(product, together, [0, 1], grid_resolution=7)
    contours = only(panel_of(effect.centered()), Contours)
    assert contours.colors == DIVERGING
    assert contours.levels[0] == -contours.levels[-1]
    alone = paribus.effects(product, together, [0, 1, (0, 1)], grid_resolution=7).interaction("x0", "x1")
    contours = only(panel_of(alone), Contours)
    assert contours.colors == DIVERGING
    assert contours.levels[0] == -contours.levels[-1]
    np.testing.assert_array_equal(contours.values, alone.average[0].T)


def test_only_the_interaction_of_a_mixed_pair_has_a_line_at_zero(cars):
    effect = paribus.partial_dependence(claims, cars, ["car", "km"], grid_resolution=5)
    assert not of(panel_of(effect), Rule)
    assert only(panel_of(effect.centered()), Rule).at == 0.0


def test_every_split_is_a_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    model = DecisionTreeRegressor(max_depth=3).fit(X, (X[:, 0] > 0.3) * (X[:, 1] > -0.2))
    effect = paribus.partial_dependence(model, X, [0, 1], grid_resolution="splits")
    panel = panel_of(effect)
    heat = only(panel, Heat)
    assert not of(panel, Contours)
    middles = [(edges[1:] + edges[:-1]) / 2 for edges in (heat.x_edges, heat.y_edges)]
    there = paribus.partial_dependence(model, X, [0, 1], custom_values=dict(enumerate(middles)))
    np.testing.assert_array_equal(heat.values, there.average[0].T)
    assert (np.diff(heat.values, axis=1) != 0).any(axis=0).all()  # one cell between two splits
    assert f"x0 from {heat.x_edges[0]:.4g} to {heat.x_edges[1]:.4g}\nx1 from " in heat.hover[0][0]
    parts = [float(text.split("\n")[-1].split(" %")[0]) for row in heat.hover for text in row]
    assert sum(parts) == pytest.approx(100, abs=3)
    splits = model.tree_.threshold[model.tree_.feature == 0]
    for split in splits:
        assert np.isclose(heat.x_edges, split, atol=1e-6).any()
    bars = only(panel.top, Bars)
    assert bars.width.min() >= (panel.x.high - panel.x.low) / 61
    inside = (X[:, 0] > panel.x.low) & (X[:, 0] < panel.x.high)
    assert (bars.length * bars.width).sum() == pytest.approx(inside.sum(), rel=0.2)


def test_whole_numbers_at_every_split_are_steps_too():
    X = np.random.default_rng(0).integers(0, 9, (500, 2)).astype(np.int64)
    model = DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] * X[:, 1])
    assert of(panel_of(paribus.partial_dependence(model, X, [0, 1], grid_resolution="splits")), Heat)


def test_the_data_lies_along_both_sides(together):
    effect = paribus.partial_dependence(product, together, [0, 1], grid_resolution=20)
    panel = panel_of(effect)
    x = effect.grid_values[0]
    bars = only(panel.top, Bars)
    np.testing.assert_allclose(bars.at, x)
    np.testing.assert_allclose(bars.length, effect.support.sum(axis=1) / (x[1] - x[0]))  # the ends' cells too
    assert bars.width[0] == pytest.approx(bars.width[1])  # it reaches beyond the axis
    assert not bars.horizontal
    assert only(panel.right[-1], Bars).horizontal
    assert panel.top.y.scale == panel.right[-1].x.scale == "none"
    assert panel.top.y.low == 0 < bars.length.max() <= panel.top.y.high
    assert bars.hover[3].startswith("x0 from ")
    rugs = of(panel, Rug)
    assert [rug.along for rug in rugs] == ["x", "y"]
    np.testing.assert_array_equal(rugs[0].at, effect.deciles[0][1:-1])
    assert rugs[1].hover[4] == f"50 % of the data up to x1 = {effect.deciles[1][5]:.4g}"


def test_deciles_beyond_the_picture_and_sides_without_data_are_left_out(together):
    values = {0: [0.0, 0.5, 1.0], 1: [50.0, 60.0]}
    panel = panel_of(paribus.partial_dependence(product, together, [0, 1], custom_values=values))
    rug = only(panel, Rug)
    assert rug.along == "x"
    assert ((rug.at >= 0) & (rug.at <= 1)).all()
    assert not panel.right


def test_uneven_cells_are_as_high_as_the_data_is_dense():
    X = np.column_stack([np.linspace(0, 8, 8_001)[1:], np.tile(np.linspace(0, 1, 50), 160)])
    effect = paribus.partial_dependence(product, X, [0, 1], custom_values={0: [0.5, 1.5, 5.5]})
    bars = only(panel_of(effect).top, Bars)
    np.testing.assert_allclose(bars.length, 1_000, rtol=0.01)
    close = paribus.partial_dependence(product, X, [0, 1], custom_values={0: [1.0, 2.0, 2.0 + 1e-9, 5.0]})
    assert only(panel_of(close).top, Bars).length.max() < 1_500


def test_a_number_of_few_values_has_a_curve_each_and_two_have_cells(rng):
    X = np.column_stack([np.tile([0.0, 1.0], 60), rng.normal(size=120), np.repeat([1.0, 2.0, 3.0], 40)])
    mixed = panel_of(paribus.partial_dependence(product, X, [0, 1], grid_resolution=6))
    assert [line.label for line in of(mixed, Line)] == ["0", "1"]
    assert (mixed.legend_title, mixed.x.label) == ("x0", "x1")
    cells = only(panel_of(paribus.partial_dependence(product, X, [0, 2])), Heat)
    np.testing.assert_allclose(cells.x_edges, [-0.5, 0.5, 1.5])
    np.testing.assert_allclose(cells.y_edges, [-0.5, 0.5, 1.5, 2.5])
    assert len(cells.written) == 3


def test_weights_are_the_data(together):
    weights = np.where(together[:, 0] > 0, 3.0, 0.0)
    effect = paribus.partial_dependence(
        product,
        together,
        [0, 1],
        sample_weight=weights,
        custom_values={0: [-1.0, 0.0, 1.0]},
        grid_resolution=4,
    )
    bars = only(panel_of(effect).top, Bars)
    assert bars.length[0] == 0 < bars.length[-1]
    assert "0 % of the data" in only(panel_of(effect), Contours).hover[0][0]


def test_dates_stand_where_they_are(awkward):
    effect = paribus.partial_dependence(numbers, awkward, ["day", "gap"], grid_resolution=6)
    panel = panel_of(effect)
    contours = only(panel, Contours)
    assert (panel.x.scale, panel.y.scale) == ("date", "number")
    days = effect.grid_values[0].astype("datetime64[s]").astype(np.int64) / 86400
    np.testing.assert_allclose(contours.x, days)
    assert "day = 2026-" in contours.hover[0][0]
    assert only(panel.top, Bars).hover[0].startswith("day from 2025-12-")  # half-way beyond the first day
    assert "day = 2026-" in of(panel, Rug)[0].hover[0]


def test_levels_are_sorted_by_effect_or_as_declared(cars):
    effect = paribus.partial_dependence(claims, cars, ["car", "fuel"])
    panel = panel_of(effect)
    heat = only(panel, Heat)
    assert [text for _, text in panel.x.ticks] == ["sedan", "van", "sport"]
    assert [text for _, text in panel.y.ticks] == ["electric", "petrol", "diesel"]
    assert (np.diff(heat.values.sum(axis=0)) > 0).all()
    levels = [level.tolist() for level in effect.grid_values]
    sport, diesel = levels[0].index("sport"), levels[1].index("diesel")
    assert heat.values[2, 2] == effect.average[0, sport, diesel]
    typed = cars.assign(car=pd.Categorical(cars["car"], ["van", "sport", "sedan"], ordered=True))
    declared = panel_of(
        paribus.partial_dependence(lambda t: claims(t.astype({"car": str})), typed, ["car", "fuel"])
    )
    assert [text for _, text in declared.x.ticks] == ["van", "sport", "sedan"]


def test_cells_of_levels_have_numbers_that_can_be_read(cars):
    effect = paribus.partial_dependence(claims, cars, ["car", "fuel"])
    panel = panel_of(effect)
    heat, hatch = only(panel, Heat), only(panel, Hatch)
    assert heat.x_edges.tolist() == heat.y_edges.tolist() == [-0.5, 0.5, 1.5, 2.5]
    assert (panel.x.low, panel.x.high) == (-0.5, 2.5)
    assert np.argwhere(hatch.mask).tolist() == [[0, 2]]  # no electric sports car
    assert heat.written[0][2] == ""
    for row, words in enumerate(heat.written):
        for column, word in enumerate(words):
            if word:
                assert float(word) == pytest.approx(heat.values[row, column], abs=0.5)
                assert len(word) <= 7
    assert "car = sport\nfuel = diesel\nprediction " in heat.hover[2][2]
    assert "\n0 % of the data" in heat.hover[0][2]
    top = only(panel.top, Bars)
    np.testing.assert_allclose(top.length, cars["car"].value_counts()[["sedan", "van", "sport"]])
    assert top.hover[0].startswith("car = sedan\n")


@pytest.mark.parametrize(
    ("factor", "shift", "shown"),
    [
        (1e-4, 0.0, "0.00020"),
        (1.0, 1e3, "1,002.0"),
        (1e8, 0.0, "2.0e8"),
        (1.0, 1e5, "100,002.0"),
        (0.0, 5.0, "5"),
    ],
)
def test_numbers_in_cells_are_brief_and_tell_cells_apart(factor, shift, shown):
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["p", "p", "q", "q"] * 25})
    effect = paribus.partial_dependence(
        lambda t: shift + factor * (2 * (t["a"] == "y") + (t["b"] == "q")).to_numpy(float), frame, ["a", "b"]
    )
    written = only(panel_of(effect), Heat).written
    assert written[0][1] == shown
    assert len({word for row in written for word in row}) == (4 if factor else 1)
    far = paribus.partial_dependence(
        lambda t: 1e9 + (2 * (t["a"] == "y") + (t["b"] == "q")).to_numpy(float), frame, ["a", "b"]
    )
    assert only(panel_of(far), Heat).written == ()  # numbers that fit would all be the same


def test_a_number_in_a_cell_that_is_almost_zero_has_no_sign():
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["p", "p", "q", "q"] * 25})
    effect = paribus.partial_dependence(
        lambda t: np.where(t["a"] == "x", -0.001, np.where(t["b"] == "p", -40.0, 60.0)), frame, ["a", "b"]
    )
    written = only(panel_of(effect), Heat).written
    assert sorted(word for row in written for word in row) == ["-40", "0", "0", "60"]


def test_rare_levels_share_a_place_with_their_average(cars):
    effect = paribus.partial_dependence(claims, cars, ["town", "car"])
    panel = panel_of(effect)
    heat = only(panel, Heat)
    assert heat.values.shape == (3, 20)
    assert heat.written == ()  # too narrow
    labels = [text.replace("\n", " ") for _, text in panel.x.ticks]
    assert labels[-1] == "other (7 categories)"
    kept = set(labels[:-1])
    rare = [place for place, town in enumerate(effect.grid_values[0]) if town not in kept]
    assert len(rare) == 7
    cars_ = effect.grid_values[1].tolist()
    for row, (_, name) in enumerate(panel.y.ticks):
        level = cars_.index(name)
        weights = effect.support[rare, level]
        pooled = (effect.average[0, rare, level] * weights).sum() / weights.sum()
        assert heat.values[row, -1] == pytest.approx(pooled)
        towns = effect.grid_values[0].tolist()
        own = [towns.index(label) for label in labels[:-1]]
        np.testing.assert_array_equal(heat.values[row, :-1], effect.average[0, own, level])
    assert only(panel.top, Bars).length.sum() == pytest.approx(effect.support.sum())
    assert "7 other categories of town" in heat.hover[0][-1]


def test_names_up_the_side_are_never_turned_and_told_apart(cars):
    long = {f"t{k:02d}": f"municipality of somewhere far away, number {k:02d}" for k in range(26)}
    frame = cars.assign(town=cars["town"].map(long))
    back = {name: town for town, name in long.items()}
    effect = paribus.partial_dependence(
        lambda t: claims(t.assign(town=t["town"].map(back))), frame, ["urban", "town"]
    )
    y = panel_of(effect).y
    names = [text for _, text in y.ticks]
    assert not y.turned
    assert len(set(names)) == len(names) == 20
    assert max(map(len, names)) <= 20
    assert all("\n" not in name for name in names)
    few = panel_of(
        paribus.partial_dependence(
            lambda t: np.ones(len(t)), frame[:60].assign(town=frame["town"][0]), ["urban", "town"]
        )
    )
    assert "\n" in few.y.ticks[0][1]


def test_a_level_has_a_curve_and_the_legend_reads_from_top_to_bottom(cars):
    for pair in (["km", "car"], ["car", "km"]):
        effect = paribus.partial_dependence(claims, cars, pair, grid_resolution=12)
        panel = panel_of(effect)
        lines = of(panel, Line)
        assert [line.label for line in lines] == ["sport", "van", "sedan"]
        assert (panel.x.label, panel.y.label, panel.legend_title) == ("km", "prediction", "car")
        levels = effect.grid_values[pair.index("car")].tolist()
        for line in lines:
            level = levels.index(line.label)
            curve = effect.average[0, level] if pair[0] == "car" else effect.average[0, :, level]
            known = np.isfinite(line.y)
            np.testing.assert_array_equal(line.y[known], curve[known])
            assert f"\ncar = {line.label}\nprediction " in line.hover[0]
        assert only(panel, Strip).at.tolist() == sorted(only(panel, Strip).at)
        looks = zip(lines, of(panel, Points), strict=True)
        assert len({(line.color, line.dash, end.marker) for line, end in looks}) == 3
        for line, end in zip(lines, of(panel, Points), strict=True):
            last = np.flatnonzero(np.isfinite(line.y))[-1]
            assert (end.x[0], end.y[0], end.color) == (line.x[last], line.y[last], line.color)


def test_the_strip_of_a_mixed_pair_is_the_density_of_all_levels():
    frame = pd.DataFrame({"km": np.linspace(0, 10, 10_001)[1:], "car": ["a", "b"] * 5_000})
    effect = paribus.partial_dependence(
        lambda t: t["km"], frame, ["car", "km"], custom_values={"km": [1, 2, 4, 8]}
    )
    np.testing.assert_allclose(only(panel_of(effect), Strip).height, 1_000, rtol=0.01)


def test_declared_levels_keep_their_order_in_the_legend(awkward):
    effect = paribus.partial_dependence(numbers, awkward, ["level", "count"], grid_resolution=5)
    assert [line.label for line in of(panel_of(effect), Line)] == ["low", "mid", "high"]
    flags = paribus.partial_dependence(numbers, awkward, ["flag", "gap"], grid_resolution=5)
    assert [line.label for line in of(panel_of(flags), Line)] == ["False", "True"]


def test_curves_are_cut_where_their_level_has_no_rows(cars):
    effect = paribus.partial_dependence(claims, cars, ["car", "km"], grid_resolution=30)
    km = effect.grid_values[1]
    sport, van, sedan = of(panel_of(effect), Line)
    assert np.isnan(sport.y[km > 9]).all()
    assert np.isfinite(sport.y[(km > 4) & (km < 7)]).all()
    assert np.isfinite(van.y).all()
    assert np.isfinite(sedan.y).all()
    assert of(panel_of(effect), Points)[0].x[0] < 9
    mask = np.zeros_like(effect.extrapolation.mask)
    mask[effect.grid_values[0].tolist().index("sedan"), 3] = True
    masked = panel_of(replace(effect, extrapolation=replace(effect.extrapolation, mask=mask)))
    assert np.flatnonzero(np.isnan(of(masked, Line)[2].y)).tolist() == [3]


def test_a_gap_by_chance_does_not_cut_a_curve():
    frame = pd.DataFrame({"km": [0.0, 1, 2, 3, 4, 0, 4], "car": ["a"] * 5 + ["b"] * 2})
    effect = paribus.partial_dependence(
        lambda t: t["km"], frame, ["car", "km"], custom_values={"km": [0, 1, 2, 3, 4]}
    )
    assert all(np.isfinite(line.y).all() for line in of(panel_of(effect), Line))


def test_curves_where_no_level_has_rows_are_all_drawn(cars):
    effect = paribus.partial_dependence(claims, cars, ["car", "km"], custom_values={"km": [100.0, 110.0]})
    assert not effect.support.any()
    lines = of(panel_of(replace(effect, extrapolation=None)), Line)
    assert all(np.isfinite(line.y).all() for line in lines)
    assert not of(panel_of(effect), Strip)


def test_of_many_levels_the_commonest_have_a_curve(cars):
    panel = panel_of(paribus.partial_dependence(claims, cars, ["km", "town"], grid_resolution=5))
    lines = of(panel, Line)
    assert len(lines) == 12
    assert {f"t{k:02d}" for k in range(6)} <= {line.label for line in lines}
    assert panel.legend_title == "town (12 of 26 categories)"
    assert all(one.y[-1] >= two.y[-1] for one, two in pairwise(lines))
    looks = [(line.color, line.dash, end.marker) for line, end in zip(lines, of(panel, Points), strict=True)]
    assert len(set(looks)) == 12


def test_one_number_or_one_level_has_a_picture(cars):
    one = paribus.partial_dependence(claims, cars, ["km", "car"], custom_values={"km": [5.0]})
    panel = panel_of(one)
    assert not of(panel, (Line, Strip))
    assert sorted(point.y[0] for point in of(panel, Points)) == sorted(one.average[0, 0])
    assert [point.label for point in of(panel, Points)] == ["sport", "van", "sedan"]
    assert {point.alpha for point in of(panel, Points)} == {1.0}
    alone = paribus.partial_dependence(claims, cars, ["car", "fuel"], custom_values={"car": ["van"]})
    assert only(panel_of(alone), Heat).values.shape == (3, 1)
    assert (
        len(
            of(
                panel_of(
                    paribus.partial_dependence(claims, cars, ["car", "km"], custom_values={"car": ["van"]})
                ),
                Line,
            )
        )
        == 1
    )


def test_answers_that_are_no_numbers_leave_a_gap(together):
    effect = paribus.partial_dependence(product, together, [0, 1], grid_resolution=5)
    holes = effect.average.copy()
    holes[0, 0, 0], holes[0, 4, 4] = np.inf, np.nan
    contours = only(panel_of(replace(effect, average=holes)), Contours)
    assert np.isnan(contours.values).sum() == 2
    assert np.isfinite(contours.levels).all()
    assert "inf" in contours.hover[0][0]
    nothing = only(panel_of(replace(effect, average=np.full_like(holes, np.nan))), Heat)
    assert nothing.low < nothing.high
    assert np.isnan(nothing.values).all()


def test_answers_without_end_leave_a_gap_among_steps_and_levels(cars, together):
    model = DecisionTreeRegressor(max_depth=4).fit(together, product(together))
    effect = paribus.partial_dependence(model, together, [0, 1], grid_resolution="splits")
    holes = effect.average.copy()
    holes[0, :2, 1] = np.inf
    assert np.isnan(only(panel_of(replace(effect, average=holes)), Heat).values).any()
    effect = paribus.partial_dependence(claims, cars, ["car", "fuel"])
    holes = effect.average.copy()
    holes[0, 0, 1] = np.inf
    heat = only(panel_of(replace(effect, average=holes)), Heat)
    assert np.isnan(heat.values).sum() == 1
    assert heat.high == effect.average[0][np.isfinite(holes[0])].max()


def test_pictures_that_do_not_exist_say_so(together, cars):
    rows = paribus.partial_dependence(product, together[:50], [0, 1], grid_resolution=3, kind="individual")
    with pytest.raises(paribus.errors.DrawingError, match="kind='average'"):
        panel_of(rows)
    line = paribus.partial_dependence(product, together, [0, 1], custom_values={0: [1.0]}, grid_resolution=3)
    with pytest.raises(paribus.errors.DrawingError, match="two values"):
        panel_of(line)
    twice = paribus.partial_dependence(
        product, together, [0, 1], custom_values={0: [1.0, 1.0]}, grid_resolution=3
    )
    with pytest.raises(paribus.errors.DrawingError, match="two values"):
        panel_of(twice)
    void = paribus.partial_dependence(lambda t: t["km"], cars.assign(car=None), ["car", "km"])
    with pytest.raises(paribus.errors.DrawingError, match="car has no value"):
        panel_of(void)
    constant = np.column_stack([np.ones(60), np.arange(60.0)])
    with pytest.raises(paribus.errors.DrawingError, match="two values"):
        surface_panel(local(product, constant, (0, 1)), 0)


def test_the_output_asked_for_is_drawn(together):
    effect = paribus.partial_dependence(lambda t: t[:, :2], together, [0, 1], grid_resolution=4)
    assert only(panel_of(effect, 1), Contours).unit != only(panel_of(effect, 0), Contours).unit
    np.testing.assert_array_equal(only(panel_of(effect, 1), Contours).values, effect.average[1].T)


def test_the_mean_of_several_models_is_drawn(together):
    effect = paribus.partial_dependence(
        [product, lambda t: 3 * product(t)], together, [0, 1], grid_resolution=4
    )
    np.testing.assert_array_equal(only(panel_of(effect), Contours).values, effect.average[0].T)


def test_local_cells_are_the_middles_of_their_corners_and_empty_ones_are_hatched(together):
    effect = local(product, together, (0, 1), grid_resolution=8)
    assert effect.empty.any()
    panel = surface_panel(effect, 0)
    heat, hatch = only(panel, Heat), only(panel, Hatch)
    ale = effect.ale[0]
    for i, j in np.ndindex(effect.empty.shape):
        if effect.empty[i, j]:
            assert np.isnan(heat.values[j, i])
        else:
            assert heat.values[j, i] == pytest.approx(ale[i : i + 2, j : j + 2].mean())
    np.testing.assert_array_equal(hatch.mask, effect.empty.T)
    assert hatch.label == "no rows"
    np.testing.assert_array_equal(heat.x_edges, effect.grid_values[0])
    assert heat.colors == DIVERGING
    assert heat.low == -heat.high == -np.nanmax(np.abs(heat.values))
    assert heat.unit == "joint effect on prediction"
    i, j = np.argwhere(~effect.empty)[0]
    edges = effect.grid_values[0]
    assert f"x0 from {edges[i]:.4g} to {edges[i + 1]:.4g}\nx1 from " in heat.hover[j][i]
    bars = only(panel.top, Bars)
    assert (bars.length * bars.width).sum() == pytest.approx(effect.support.sum())


def test_no_local_effect_has_a_readable_color_bar(together):
    heat = only(surface_panel(local(lambda t: t[:, 0] + t[:, 1], together, (0, 2)), 0), Heat)
    assert (heat.low, heat.high) == (-1.0, 1.0)


@pytest.mark.parametrize("pair", [("count", "level"), ("level", "count"), ("flag", "gap"), ("day", "city")])
def test_local_levels_have_a_curve_each_in_their_own_order(awkward, pair):
    effect = local(numbers, awkward, pair, grid_resolution=5)
    panel = surface_panel(effect, 0)
    lines = of(panel, Line)
    axis = 0 if pair[0] in NOMINAL else 1
    assert [line.label for line in lines] == [str(level) for level in effect.grid_values[axis]]
    for level, line in enumerate(lines):
        np.testing.assert_array_equal(line.y, effect.ale[0].take(level, axis))
        assert line.hover[0].endswith("% of the data in the bins next to it")
    assert panel.y.label == "joint effect on prediction"
    assert only(panel, Rule).at == 0.0
    assert panel.legend_title == pair[axis]
    strip = only(panel, Strip)
    assert (strip.height * strip.width).sum() == pytest.approx(effect.support.sum())


def test_local_curves_are_cut_where_their_level_has_no_rows(cars):
    effect = local(claims, cars, ("km", "car"), grid_resolution=20)
    lines = {line.label: line for line in of(surface_panel(effect, 0), Line)}
    sport = lines["sport"]
    assert np.isnan(sport.y[sport.x > 10]).all()
    assert np.isfinite(sport.y[(sport.x > 4) & (sport.x < 7)]).all()
    assert np.isfinite(lines["van"].y).all()


def test_local_dates_are_cells(awkward):
    panel = surface_panel(local(numbers, awkward, ("day", "gap"), grid_resolution=4), 0)
    assert panel.x.scale == "date"
    assert "day from 2026-" in only(panel, Heat).hover[0][0]

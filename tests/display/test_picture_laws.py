"""What holds of every picture: shares of the data agree, unknown errors are not drawn, texts say what is drawn."""

import re

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus._display.figure import Band, Bars, Line, Points, Strip
from paribus._text import number
from paribus.results.partial_dependence import central_points
from paribus.results.refits import half_width


def of(panel, kind):
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def only(result, **options):
    (panel,) = result.figure(**options).panels
    return panel


def shares(texts):
    return [float(re.search(r"([\d.e-]+) % of the data", text)[1]) for text in texts]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    rows = 400
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "k": rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1]),
            "town": rng.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1]),
        }
    )
    frame.loc[rng.random(rows) < 0.3, "a"] = np.nan
    return frame


def predict(frame):
    return frame["a"].fillna(0) * (1 + frame["k"]) + (frame["town"] == "y")


def effect_of(frame, features, **options):
    return paribus.partial_dependence(predict, frame, features, progress=False, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("first", "second"), [("a", "k"), ("a", "town"), ("k", "town"), ("town", "k")])
def test_shares_of_the_data_are_of_all_rows_in_pictures_of_one_and_of_two(table, first, second, weighted):
    weights = np.random.default_rng(0).integers(0, 4, len(table)) if weighted else None
    options = {"sample_weight": weights, "grid_resolution": 5, "percentiles": (0, 1)}
    both = effect_of(table, [first, second], **options)
    whole = len(table) if weights is None else weights.sum()
    panel = only(both)
    texts = [text for side in panel.parts[1:] for bars in of(side, Bars) for text in bars.hover]
    texts = texts or [text for strip in of(panel, Strip) for text in strip.hover]
    sides = 2 if panel.top is not None else 1
    assert sum(shares(texts)) == pytest.approx(sides * 100 * both.support.sum() / whole, abs=0.3 * len(texts))


def test_the_margin_of_a_pair_says_what_the_curve_says(table):
    alone = only(effect_of(table, "k"))
    values = {"k": [0, 1, 2]}  # all four would have a curve each
    beside = only(effect_of(table, ["k", "a"], custom_values=values, grid_resolution=6, percentiles=(0, 1)))
    share = [100 * (table["a"].notna() & (table["k"] == k)).mean() for k in range(3)]
    assert shares(of(alone, Strip)[0].hover) == pytest.approx(
        [100 * (table["k"] == k).mean() for k in range(4)], abs=0.5
    )
    assert shares(of(beside.top, Bars)[0].hover) == pytest.approx(share, abs=0.5)


def test_a_value_asked_twice_counts_its_rows_once(table):
    twice = effect_of(table, "k", custom_values={"k": [0, 0, 1, 1]})
    assert shares(of(only(twice), Strip)[0].hover) == pytest.approx(
        [100 * (table["k"] == k).mean() for k in (0, 1)], abs=0.5
    )
    halves, values = table.assign(k=table["k"] / 2), {"k": [0, 0, 0.5]}
    both = effect_of(halves, ["k", "a"], custom_values=values, grid_resolution=5, percentiles=(0, 1))
    texts = shares(of(only(both).right[-1], Bars)[0].hover)
    assert sum(texts) == pytest.approx(100 * (table["a"].notna() & (table["k"] < 2)).mean(), abs=1)


def test_density_at_the_ends_is_that_of_their_whole_cell():
    even = pd.DataFrame({"a": np.repeat(1.5 * np.arange(5.0), 20), "b": np.arange(100.0)})
    (strip,) = of(only(paribus.partial_dependence(lambda t: t["a"], even, "a")), Strip)
    assert np.ptp(strip.height) == pytest.approx(0)
    pair = only(paribus.partial_dependence(lambda t: t["a"], even, ["a", "b"], grid_resolution=5))
    (bars,) = of(pair.top, Bars)
    assert np.ptp(bars.length) == pytest.approx(0)


# --- what is around curves


def test_recursion_has_no_error_and_says_none():
    from sklearn.ensemble import GradientBoostingRegressor

    X = np.random.default_rng(0).normal(size=(80, 2))
    model = GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    panel = only(paribus.partial_dependence(model, X, 0, method="recursion"))
    assert not of(panel, Band)
    assert [line.label for line in of(panel, Line)] == ["average"]


def fits(count=3):
    return [lambda t, k=k: t["a"].fillna(0) * (1 + k) for k in range(count)]


def test_models_and_rows_are_told_apart_where_both_are_around_curves(table):
    one, several = (paribus.partial_dependence(f, table, "a") for f in (fits()[0], fits()))
    for parts in ({"one": one, "three": several}, {"three": several, "one": one}):
        panel = only(paribus.compare(parts))
        assert panel.legend_title is None
        words = {line.label for line in of(panel, Line)}
        assert words == {"one ± 2 standard errors", "three ± rows and refits as folds, 95 %"}
    same = only(paribus.compare({"one": one, "again": one}))
    assert same.legend_title == "± 2 standard errors"
    near = paribus.marginal(None, table, "a", y=table["k"].to_numpy())["a"]
    assert only(near).legend_title == "± 2 standard errors"


def test_a_pointer_tells_what_is_drawn_around_a_curve_of_models(table):
    effect = paribus.partial_dependence(fits(), table, "a")
    (line,) = [line for line in of(only(effect), Line) if line.hover]
    first = central_points(effect).start
    assert first > 0
    low, high = (end[0, first] for end in effect.refit_interval())
    assert f"rows and refits as folds, 95 %: {number(low)} to {number(high)}" in line.hover[0]


def test_models_points_stand_beside_their_mean():
    frame = pd.DataFrame({"town": ["x", "y"] * 20, "z": np.arange(40.0)})
    models = [lambda t, k=k: (t["town"] == "x") * (1.0 + k) for k in range(2)]
    mean, interval, *own = of(only(paribus.partial_dependence(models, frame, "town")), Points)[::-1]
    assert own
    assert (interval.x == mean.x).all()
    assert all((points.x > mean.x).all() for points in own)


# --- categories that share a place


@pytest.fixture(scope="module")
def towns():
    rng = np.random.default_rng(1)
    names = [f"t{k:02d}" for k in range(30)]
    chances = 1 / (1 + np.arange(30.0))
    return pd.DataFrame(
        {
            "town": np.append(names, rng.choice(names, 600, p=chances / chances.sum())),
            "s": rng.choice([-1, 1], 630),
        }
    )


def crossing(frame):
    return frame["s"] * (frame["town"].str[1:].astype(int) % 2 * 2.0 - 1) * 10


def pooled(effect, each):
    """Return the average over the eleven rarest categories of what each row or model has at them."""
    rare = np.argsort(-effect.support, kind="stable")[19:]
    return (each[..., rare] * effect.support[rare]).sum(axis=-1) / effect.support[rare].sum()


def test_rows_are_averaged_over_pooled_levels_before_their_quantiles(towns):
    effect = paribus.partial_dependence(crossing, towns, "town", kind="both")
    wide, *_ = of(only(effect), Bars)
    low, high = np.quantile(pooled(effect, effect.individual[0]), [0.05, 0.95])
    assert (wide.base[-1], wide.base[-1] + wide.length[-1]) == pytest.approx((low, high))
    known = paribus.partial_dependence(crossing, towns, "town", quantiles=(0.05, 0.95))
    (bars,) = of(only(known), Bars)
    assert np.isnan(bars.length[-1])  # quantiles of several categories tell none of their average
    assert np.isfinite(bars.length[:-1]).all()


def test_models_are_averaged_over_pooled_levels_before_their_deviation(towns):
    models = [lambda t, k=k: (t["town"].str[1:].astype(int) % 3 == k) * 1.0 for k in range(3)]
    effect = paribus.partial_dependence(models, towns, "town")
    interval = of(only(effect), Points)[-2]
    deviation = np.std(pooled(effect, effect.by_model.values[:, 0]), ddof=1)
    assert interval.error[-1] == pytest.approx(half_width(np.zeros(1), np.array([deviation]), 3, 0.95)[0])


# --- rows, surfaces, figures


def test_rows_that_are_drawn_have_weight(table):
    weights = np.zeros(len(table))
    weights[::20] = 1
    effect = effect_of(table, "a", kind="both", sample_weight=weights, percentiles=(0, 1))
    *rows, _ = of(only(effect), Line)
    counted = effect.individual[0][weights > 0]
    assert rows[0].label == "12 of 20 rows"
    assert all((counted == row.y).all(axis=1).any() for row in rows)


def test_bands_of_rows_have_the_steps_of_the_trees():
    from sklearn.ensemble import GradientBoostingRegressor

    X = np.random.default_rng(0).normal(size=(80, 2))
    model = GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    effect = paribus.partial_dependence(model, X, 0, grid_resolution="splits", quantiles=(0.05, 0.5, 0.95))
    assert all(mark.steps for mark in of(only(effect), (Band, Line)))


def test_surfaces_of_several_models_say_that_they_are_a_mean(table):
    effect = paribus.partial_dependence(fits(), table, ["a", "k"], grid_resolution=4)
    assert "surfaces are the mean of 3 models" in effect.figure().notes


def test_probabilities_of_all_classes_have_one_axis():
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(0).normal(size=(90, 2))
    model = LogisticRegression().fit(X, np.digitize(X[:, 0], [-1.5, 0.5]))
    panels = paribus.effects(model, X).figure(outputs="rows").panels
    assert len({(panel.y.low, panel.y.high) for panel in panels}) == 1
    heights = np.concatenate([line.y for panel in panels for line in of(panel, Line)])
    for panel in panels:  # no tick stands in the room for the data
        assert panel.y.ticks is None
        assert panel.y.low < panel.y.tick_low <= heights.min()


def test_what_reaches_beyond_the_axis_is_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"town": np.repeat(list("abcdef"), [50, 50, 50, 50, 50, 2]), "z": rng.normal(size=252)}
    )
    y = np.where(frame["town"] == "f", [100.0, -100.0] * 126, rng.normal(size=252))
    near = paribus.marginal(None, frame, "town", y=y)["town"]
    assert "bands or error bars of town reach beyond the axis" in near.figure().notes
    calm = paribus.marginal(None, frame, "town", y=rng.normal(size=252))["town"]
    assert not any("beyond the axis" in note for note in calm.figure().notes)


def test_small_effects_are_drawn_as_large_as_they_are():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 50), "z": np.linspace(1, 2, 50)[::-1]})
    panel = only(paribus.partial_dependence(lambda t: -3e-10 * t["x"], frame, "x"))
    assert panel.y.high - panel.y.low < 1e-9
    surface = only(paribus.partial_dependence(lambda t: 1e-10 * t["x"] * t["z"], frame, ["x", "z"]))
    assert max(surface.marks[0].levels) < 1e-9


def test_lines_of_the_background_leave_notes_their_room():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 30), "gap": [np.nan, *np.linspace(0, 1, 29)]})
    part = paribus.partial_dependence(lambda t: t["x"], frame, "gap")
    parts = {
        f"first {rows}": paribus.partial_dependence(lambda t: t["x"], frame[:rows], "gap")
        for rows in (24, 25, 26, 27, 28)
    }
    notes = paribus.compare({"all": part} | parts).figure().notes
    assert sum(note.endswith("rows (unweighted)") for note in notes) == 6
    assert any("missing" in note for note in notes)


# --- averages of a single row


def outcomes():
    """Rows of which three stand alone: at a far value, at a category and where the value is missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "town": ["x", "y"] * 100})
    frame.loc[0, "a"], frame.loc[1, "town"], frame.loc[2, "b"] = 9.0, "lonely", np.nan
    y = frame["a"].clip(-2, 2).to_numpy() + rng.normal(size=200)
    y[:3] = 70.0, -80.0, 90.0
    return frame, y


def averages(frame, y):
    options = {"grid_resolution": 7, "percentiles": (0, 1), "progress": False}
    effects = paribus.effects(lambda t: t["a"].clip(-2, 2), frame, **options)
    return effects, paribus.marginal(lambda t: t["a"].clip(-2, 2), frame, y=y, **options)


@pytest.mark.parametrize("compared", [False, True])
def test_a_single_row_does_not_set_the_axis_of_averages_and_words_tell(compared):
    effects, near = averages(*outcomes())
    figure = (paribus.compare(effects, None, near) if compared else near).figure()
    for panel in figure.panels:
        assert -10 < panel.y.low < panel.y.high < 10
        assert (panel.y.low, panel.y.high) == (figure.panels[0].y.low, figure.panels[0].y.high)
    (texts,) = [note for note in figure.notes if "single row" in note]
    assert texts.startswith("averages of a single row of ")
    assert all(name in texts for name in ("a", "b", "town"))
    observed = [mark for panel in figure.panels for mark in of(panel, Line) + of(panel, Points)]
    assert any((mark.y == 70.0).any() for mark in observed)  # it is drawn where it is, beyond the axis


def test_single_rows_on_the_axis_are_not_told():
    frame, y = outcomes()
    y[:3] = 0.0
    assert not any("single row" in note for note in averages(frame, y)[1].figure().notes)


def test_where_every_cell_has_a_single_row_all_are_seen():
    frame = pd.DataFrame({"a": np.arange(6.0)})
    near = paribus.marginal(lambda t: t["a"] ** 2, frame, ["a"])
    figure = near.figure()
    assert figure.panels[0].y.low < 0 < 25 < figure.panels[0].y.high
    assert not any("single row" in note for note in figure.notes)

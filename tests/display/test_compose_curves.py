"""Pictures of one feature as data: every number in them is the result's."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeRegressor

import paribus
from conftest import numbers
from paribus._contracts import NOMINAL
from paribus._display.figure import Band, Bars, Line, Points, Rug, Strip
from paribus._text import at_value, number, percent
from paribus._text import short as brief
from paribus.results.partial_dependence import central_points
from statistic_of import statistic_of

COLUMNS = [
    "count",
    "small",
    "nullable",
    "flag",
    "level",
    "city",
    "gap",
    "single",
    "day",
    "zoned",
    "wait",
    "constant",
    "mostly",
]
ALL = {"grid_resolution": 8, "percentiles": (0, 1)}  # a grid that is drawn as a whole
OWN_POSITION = 20  # categories; of more, the rarest share one
MISSING = ["nullable", "city", "gap", "day"]


def of(panel, kind):
    """Return the marks of one kind."""
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def only(panel, kind):
    (mark,) = of(panel, kind)
    return mark


def only_curve(panel):
    """Return the line or the points of the only curve."""
    return only(panel, (Line, Points))


def said(panel):
    return [mark.label for mark in panel.marks if getattr(mark, "label", None)]


def panel_of(result, **options):
    (panel,) = result.figure(**options).panels
    return panel


def written(panel):
    return [text for _, text in panel.x.ticks]


def effect_of(model, X, feature, **options):
    return statistic_of("partial_dependence", model, X, feature, progress=False, **options)


def local_of(model, X, feature, **options):
    (effect,) = statistic_of(
        "accumulated_local_effects", model, X, [feature], progress=False, **options
    ).values()
    return effect


def near_of(model, X, feature, **options):
    (near,) = statistic_of("marginal", model, X, [feature], progress=False, **options).values()
    return near


def levels_of(effect):
    return effect.kinds[0] in NOMINAL


def drawn(effect):
    """Return the points in the main panel."""
    return slice(None) if panel_of(effect).x.scale == "category" else central_points(effect)


def missing_part(panel):
    """Return the panel of the missing value, if there is one."""
    return next((part for part in panel.right if "missing" in part.x.ticks[0][1]), None)


def order_of(effect, heights):
    """Return the order in which values are drawn: categories by effect if they have none, numbers upwards."""
    if levels_of(effect):
        own = effect.ordered[0] or effect.grid_values[0].dtype.kind in "biuf"
        return np.arange(len(heights)) if own else np.argsort(heights, kind="stable")
    return np.argsort(effect.grid_values[0], kind="stable")


def weights_of(strip):
    """Return the weight of the data at each bar: its area, or its length along the axis at points."""
    points = len(set(strip.height)) == 1 and strip.height[0] < strip.most
    return strip.width * strip.most / 0.8 if points else strip.height * strip.width


def first(table):
    return np.asarray(table)[:, 0]


# --- every kind of axis


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("weighted", [False, True])
def test_heights_errors_and_words_are_those_of_the_effect(awkward, column, weighted):
    weights = np.arange(300) % 4.0 if weighted else None  # some rows do not count
    effect = effect_of(numbers, awkward, column, **ALL, sample_weight=weights)
    panel, order = panel_of(effect), order_of(effect, effect.average[0])
    heights, around = effect.average[0][order], 2 * effect.standard_error[0][order]
    if levels_of(effect) or len(heights) == 1:
        curve = only(panel, Points)
        assert_array_equal(curve.error, np.nan_to_num(around))
        assert not of(panel, Line)
    else:
        curve, band = only_curve(panel), only(panel, Band)
        assert isinstance(curve, Line)
        assert_allclose(band.low, heights - around)
        assert_allclose(band.high, heights + around)
        assert_array_equal(band.x, curve.x)
    assert_array_equal(curve.y, heights)
    assert (np.diff(curve.x) > 0).all()
    assert said(panel) == ["average ± 2 standard errors"]
    assert panel.y.label == "prediction"
    whole = 300 if weights is None else weights.sum()
    for text, g in zip(curve.hover, order, strict=True):
        value, height, share = text.split("\n")
        assert value.startswith(f"{column} = ")
        average, error = f"average {number(effect.average[0, g])}", effect.standard_error[0, g]
        assert height == (f"{average}, standard error {brief(error)}" if np.isfinite(error) else average)
        assert share == f"{percent(effect.support[g] / whole)} of the data"


@pytest.mark.parametrize("column", COLUMNS)
def test_values_stand_where_they_are(awkward, column):
    effect = effect_of(numbers, awkward, column, **ALL)
    panel, values = panel_of(effect), effect.grid_values[0]
    at = only_curve(panel).x
    if levels_of(effect):
        assert panel.x.scale == "category"
        assert_array_equal(at, np.arange(len(values)))
        assert written(panel) == [at_value(values[g]) for g in order_of(effect, effect.average[0])]
        assert [place for place, _ in panel.x.ticks] == at.tolist()
    elif column in ("day", "zoned"):
        assert panel.x.scale == "date"
        assert_allclose(at, (values - np.datetime64("1970-01-01")) / np.timedelta64(1, "D"))
    elif column == "wait":
        assert panel.x.label == "wait (hours)"
        assert_allclose(at, values / np.timedelta64(1, "h"))
    else:
        assert panel.x.scale == ("category" if column == "constant" else "number")
        assert_array_equal(at, np.sort(values.astype(float)))
    if panel.x.low is not None:
        assert panel.x.low < at.min()
        assert panel.x.high > at.max()


@pytest.mark.parametrize("column", MISSING)
@pytest.mark.parametrize("kind", ["average", "both", "individual"])
def test_the_missing_value_has_a_panel_of_its_own(awkward, column, kind):
    effect = effect_of(numbers, awkward, column, **ALL, kind=kind)
    panel, missing = panel_of(effect), effect.missing
    ((at, text),) = panel.right[-1].x.ticks
    assert (at, text.split("\n")[-2:]) == (0.0, ["missing", percent(missing.share)])
    assert panel.right[-1].y.low == panel.y.low
    assert panel.right[-1].y.high == panel.y.high
    assert not panel.right[-1].y.numbers
    if missing.average is not None:
        point = only(panel.right[-1], Points)
        assert point.y.tolist() == missing.average.tolist()
        assert point.error.tolist() == (2 * missing.standard_error).tolist()
        assert point.hover[0].split("\n")[0] == "missing"
        assert point.hover[0].split("\n")[1].startswith(f"average {number(missing.average[0])}")
        assert point.hover[0].split("\n")[2] == f"{percent(missing.share)} of the data"
    if missing.individual is not None:
        wide, narrow = of(panel.right[-1], Bars)
        rows = missing.individual[0]
        assert_allclose(wide.base, np.quantile(rows, 0.05))
        assert_allclose(wide.base + wide.length, np.quantile(rows, 0.95))
        assert_allclose(narrow.base, np.quantile(rows, 0.25))
        assert_allclose(narrow.base + narrow.length, np.quantile(rows, 0.75))


@pytest.mark.parametrize("column", COLUMNS)
def test_the_strip_is_all_of_the_data_on_the_axis(awkward, column):
    effect = effect_of(numbers, awkward, column, **ALL, sample_weight=np.arange(300.0))
    panel = panel_of(effect)
    strip = only(panel, Strip)
    assert strip.along == "x"
    assert not any(of(part, Strip) for part in panel.right)  # the share of the missing value is written
    weights = weights_of(strip)
    if len(set(strip.height)) == 1:  # points
        assert strip.height[0] < 0.5 * strip.most
        assert_allclose(weights, effect.support[order_of(effect, effect.average[0])])
    else:
        assert strip.most == strip.height.max()
    assert_allclose(weights.sum(), effect.support.sum())
    whole = np.arange(300.0).sum()
    for text, weight in zip(strip.hover, weights, strict=True):
        where, share = text.split("\n")
        assert where.startswith(column)
        assert share == f"{percent(weight / whole)} of the data"


@pytest.mark.parametrize("column", COLUMNS)
def test_deciles_are_those_of_the_data(awkward, column):
    effect = effect_of(numbers, awkward, column, **ALL)
    panel = panel_of(effect)
    if levels_of(effect) or len(effect.grid_values[0]) == 1:
        assert not of(panel, Rug)
        return
    rug, line = only(panel, Rug), only_curve(panel)
    assert isinstance(line, Line)
    assert len(rug.at) == len(rug.hover) <= 9
    assert (rug.at >= line.x[0]).all()
    assert (rug.at <= line.x[-1]).all()
    if column in ("single", "gap"):
        assert_allclose(rug.at, np.nanquantile(awkward[column], np.arange(1, 10) / 10), rtol=1e-6)
        assert rug.hover[0].startswith(f"10 % of the data up to {column} = ")


@pytest.mark.parametrize("column", COLUMNS)
def test_local_effects_stand_over_their_bins(awkward, column):
    effect = local_of(numbers, awkward, column)
    panel = panel_of(effect)
    curve = of(panel, (Line, Points))[0]
    assert_array_equal(curve.y, effect.ale[0, drawn(effect)])
    assert panel.y.label == "effect on prediction"
    assert said(panel) == ["ALE ± 2 standard errors"]
    assert (missing_part(panel) is not None) == (effect.missing is not None)
    if effect.missing is not None:
        point = only(panel.right[-1], Points)
        assert point.y.tolist() == effect.missing.ale.tolist()
        assert_array_equal(point.error, np.nan_to_num(2 * effect.missing.standard_error))
    for strip in of(panel, Strip):
        bins = drawn(effect) if levels_of(effect) else slice(drawn(effect).start, drawn(effect).stop - 1)
        assert_allclose(weights_of(strip).sum(), effect.support[bins].sum())
    if levels_of(effect):
        assert written(panel) == [at_value(value) for value in effect.grid_values[0]]  # as they are added up


@pytest.mark.parametrize("column", COLUMNS)
def test_averages_near_each_value_are_those_of_the_result(awkward, column):
    y = numbers(awkward) + np.arange(300) % 7
    near = near_of(numbers, awkward, column, y=y)
    panel, inner = panel_of(near), drawn(near)
    predicted, observed = (mark for mark in of(panel, (Line, Points)) if mark.label)
    order = order_of(near, near.predicted[0])[inner]
    assert_array_equal(predicted.y, near.predicted[0][order])
    assert_array_equal(observed.y, near.observed[0][order])
    if levels_of(near):
        assert_array_equal(observed.error, np.nan_to_num(2 * near.observed_error[0][order]))
        assert (predicted.x != observed.x).all()  # neither hides the other
        assert_allclose((predicted.x + observed.x) / 2, np.arange(len(order)), atol=1e-12)
    if near.missing is not None:
        heights = [mark.y[0] for mark in of(panel.right[-1], Points)]
        assert heights == [near.missing.predicted[0], near.missing.observed[0]]


# --- the part that is drawn


def test_a_curve_is_drawn_between_the_quantiles(rng):
    X = rng.uniform(size=(401, 2))  # so many rows that the quantiles are observed values
    effect = effect_of(lambda t: t[:, 0] ** 2, X, 0)
    figure = effect.figure()
    (panel,) = figure.panels
    line, band, strip = only(panel, Line), only(panel, Band), only(panel, Strip)
    values = np.linspace(*np.quantile(X[:, 0], [0.05, 0.95]), 30)
    for mark in (line, band):
        assert_allclose(mark.x, values)
    assert_allclose(line.y, values**2)
    assert len(effect.support) == 8 + 30 + 8
    assert_allclose((strip.height * strip.width).sum(), effect.support[8:38].sum())
    assert figure.notes == ("<lambda>, 401 rows (unweighted)",)


def wide_tails(rng):
    """Rows of two features with an outlier to each side, and a gap in the first."""
    X = rng.uniform(size=(400, 2))
    X[0], X[1], X[2::5, 0] = -1_000.0, 2_000.0, np.nan
    return X


def test_a_tail_in_which_the_curve_moves_has_a_strip(rng):
    X = wide_tails(rng)
    effect = effect_of(lambda t: np.nan_to_num(np.where(t[:, 0] > 1, 4.0, t[:, 0].clip(0))), X, 0)
    panel, inner, values = panel_of(effect), central_points(effect), effect.grid_values[0]
    assert not panel.left  # the curve is level there
    tail, missing = panel.right
    assert missing.x.ticks[0][1].startswith("\nmissing")
    line = only(tail, Line)
    assert_array_equal(line.x, values[inner.stop - 1 :])
    assert_array_equal(line.y, effect.average[0, inner.stop - 1 :])
    assert (line.label, of(tail, (Strip, Rug))) == (None, [])
    assert (tail.x.low, tail.x.high, tail.x.scale) == (values[inner.stop - 1], 2_000.0, "category")
    assert [text for _, text in tail.x.ticks] == ["\nto 2000"]
    assert 0.9 < (values[inner.stop - 1] - values[inner.start]) / (panel.x.high - panel.x.low) < 1
    assert panel.y.high > 4.0  # the axis has what is drawn
    assert (tail.y.low, tail.y.high, tail.y.numbers) == (panel.y.low, panel.y.high, False)


def test_whether_a_tail_moves_is_judged_on_the_shared_axis(rng):
    X = wide_tails(rng)
    model = lambda t: 0.2 * (t[:, 0] < 0) + 10.0 * np.clip(t[:, 1], 0, 1)  # noqa: E731
    effects = paribus.effects(model, X, progress=False)
    shared, alone = (
        {panel.x.label: panel for panel in effects.figure(share_y=share).panels} for share in (True, False)
    )
    assert not shared["x0"].left
    assert len(alone["x0"].left) == 1
    (strip,) = effects["x0"].figure().panels[0].left
    assert strip.x.ticks[0][1] == "\nfrom -1000"


@pytest.mark.parametrize("statistic", [local_of, near_of])
def test_local_effects_and_averages_have_strips_of_tails(rng, statistic):
    effect = statistic(lambda t: np.nan_to_num(t[:, 0]), wide_tails(rng), 0)
    panel = panel_of(effect)
    assert panel.x.high - panel.x.low < 2
    assert [part.x.ticks[0][1] for part in panel.left] == ["\nfrom -1000"]
    assert panel.right[0].x.ticks[0][1] == "\nto 2000"
    assert {part.x.low for part in panel.left} == {-1_000.0}


def test_all_estimates_of_a_comparison_are_in_a_strip(rng):
    X = wide_tails(rng)
    effect, local = (of_kind(lambda t: np.nan_to_num(t[:, 0]), X, 0) for of_kind in (effect_of, local_of))
    panel = panel_of(paribus.compare(effect, local))
    for part in (panel.left[0], panel.right[0]):
        assert len(of(part, Line)) == 2
        assert all(line.x[0] <= part.x.low and line.x[-1] >= part.x.high for line in of(part, Line))


def test_rows_in_a_strip_are_those_of_the_panel(rng):
    X = wide_tails(rng)
    panel = panel_of(effect_of(lambda t: np.nan_to_num(t[:, 0]) * t[:, 1], X, 0, kind="both"))
    rows = [[line for line in of(part, Line) if line.width < 1] for part in (panel, panel.right[0])]
    assert len(rows[0]) == len(rows[1]) == 12
    assert [line.y[-1] for line in rows[0]] == [line.y[0] for line in rows[1]]
    assert len(of(panel.right[0], Band)) == len(of(panel, Band))


def test_coinciding_percentiles_leave_the_shortest_range_of_most_rows():
    X = np.column_stack([np.concatenate([np.zeros(970), np.arange(1.0, 31.0)]), np.zeros(1_000)])
    effect = effect_of(first, X, 0)
    panel = panel_of(effect)
    assert only(panel, Line).x.tolist() == effect.grid_values[0][:3].tolist()
    assert panel.right[0].x.high == 30.0


def test_a_code_does_not_squeeze_the_other_values(rng):
    X = np.column_stack([np.repeat([0.0, 1.0, 666.0], [150, 149, 1]), rng.normal(size=300)])
    for effect in (effect_of(first, X, 0), near_of(first, X, 0)):
        panel = panel_of(effect)
        assert written(panel) == ["0", "1", "666"]
        assert all(points.y.tolist() == [0.0, 1.0, 666.0] for points in of(panel, Points))
        assert (panel.x.low, panel.x.high, panel.left, panel.right) == (-0.6, 2.6, (), ())


@pytest.mark.parametrize(
    "options",
    [{"percentiles": (0.05, 0.95)}, {"percentiles": (0, 1)}, {"custom_values": {0: np.arange(0, 1, 0.05)}}],
)
def test_a_curve_of_given_values_is_drawn_at_all_of_them(rng, options):
    effect = effect_of(first, rng.uniform(size=(401, 2)), 0, **options)
    assert_array_equal(only_curve(panel_of(effect)).x, effect.grid_values[0])


# --- where the data is thin


def test_a_curve_off_the_data_keeps_its_color_as_there_is_nothing_to_tell(rng):
    X = rng.normal(size=(50, 2))
    panel = panel_of(effect_of(first, X, 0, custom_values={0: [50.0, 55.0, 60.0]}))
    assert only(panel, Line).y.tolist() == [50.0, 55.0, 60.0]
    assert not of(panel, Rug)  # no decile lies there


# --- steps of trees


@pytest.fixture(scope="module")
def tree():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2))
    return DecisionTreeRegressor(max_leaf_nodes=12).fit(X, np.sin(3 * X[:, 0]) + X[:, 1]), X


def test_steps_hold_the_partial_dependence_of_the_model_between_splits(tree):
    model, X = tree
    effect = effect_of(model, X, 0, grid_resolution="splits")
    panel = panel_of(effect)
    line, band = only(panel, Line), only(panel, Band)
    assert line.steps
    assert band.steps
    wide = np.flatnonzero(np.diff(line.x) > 1e-6)
    assert len(wide) > 3
    for place in wide:
        changed = X.copy()
        for share in (0.01, 0.5, 0.99):
            changed[:, 0] = line.x[place] + share * (line.x[place + 1] - line.x[place])
            assert line.y[place] == pytest.approx(model.predict(changed).mean())


def test_points_that_are_close_are_no_steps(tree):
    model, X = tree
    for values in (np.logspace(-4, 1, 40), np.linspace(-2, 2, 3_000)):
        panel = panel_of(effect_of(model, X, 0, custom_values={0: values}))
        assert not only(panel, Line).steps
        assert not only(panel, Band).steps


def test_close_points_share_bars_that_can_be_seen(rng):
    X = rng.normal(size=(2_000, 2))
    for values in (np.linspace(-2, 2, 3_000), [0.0, 0.0, 1.0], [0.0, 1e-9, 1.0, 2.0, 2.0 + 1e-9]):
        effect = effect_of(first, X, 0, custom_values={0: values})
        strip = only(panel_of(effect), Strip)
        once = np.unique(effect.grid_values[0], return_index=True)[1]  # a value given twice has one position
        assert_allclose((strip.height * strip.width).sum(), effect.support[once].sum())
        if len(strip.at) > 1:
            reach = strip.width.sum()
            assert strip.width.min() > 4e-4 * reach
            assert_allclose(strip.at[:-1] + strip.width[:-1] / 2, strip.at[1:] - strip.width[1:] / 2)


def test_the_strip_has_about_thirty_bars_whatever_the_grid(rng):
    X = rng.gamma(3.0, size=(442, 2))
    for resolution in (100, 400):
        effect = effect_of(first, X, 0, grid_resolution=resolution)
        strip = only(panel_of(effect), Strip)
        assert 20 <= len(strip.at) <= 30
        assert_allclose((strip.height * strip.width).sum(), effect.support[central_points(effect)].sum())
        assert_allclose(strip.at[:-1] + strip.width[:-1] / 2, strip.at[1:] - strip.width[1:] / 2)
    few = effect_of(first, X, 0, grid_resolution=20)
    assert len(only(panel_of(few), Strip).at) == 12
    local = only(panel_of(local_of(first, X, 0)), Strip)
    assert len(local.at) <= 30


# --- few numbers


@pytest.mark.parametrize("values", [[0, 1], [0.0, 1.0], [-0.3, 0.8], [1, 2, 3, 4, 5], [0, 1, 2, 8]])
def test_few_values_are_points_and_not_slopes(values):
    X = np.column_stack([np.tile(values, 40), np.arange(40.0 * len(values))]).astype(np.asarray(values).dtype)
    effect = effect_of(lambda t: t[:, 0] ** 2 + 0.1 * t[:, 1], X, 0)
    panel = panel_of(effect)
    points = only(panel, Points)
    assert points.x.tolist() == list(range(len(values)))  # evenly spaced
    assert_array_equal(points.error, 2 * effect.standard_error[0])
    assert written(panel) == [at_value(value) for value in effect.grid_values[0]]
    assert panel.x.low < 0 < len(values) - 1 < panel.x.high
    assert not [mark for mark in panel.marks if isinstance(mark, (Line, Band, Rug))]
    rows = panel_of(effect_of(lambda t: t[:, 0] * t[:, 1], X, 0, kind="both"))
    assert not of(rows, Line)
    assert of(rows, Bars)


def test_numbers_between_which_there_is_data_have_a_curve(rng):
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 40, 200)])
    assert only_curve(panel_of(effect_of(first, X, 0, custom_values={0: [-1.0, 0.0, 1.0]})))
    assert only_curve(panel_of(effect_of(lambda t: t[:, 1], X, 1, grid_resolution=5)))
    thirds = np.column_stack([np.tile([0.0, 0.3, 0.7, 1.0], 20), np.zeros(80)])
    assert only(panel_of(effect_of(first, thirds, 0, custom_values={0: [0.0, 0.3, 1.0]})), Line)
    assert only_curve(panel_of(effect_of(lambda t: t[:, 1], X, 1)))  # too many whole numbers


def test_a_comparison_of_few_values_has_points_side_by_side():
    X = np.column_stack([np.tile([0.0, 1.0], 40), np.arange(80.0)])
    panel = panel_of(paribus.compare({"one": effect_of(first, X, 0), "two": effect_of(first, X, 0)}))
    one, two = of(panel, Points)
    assert (one.x < two.x).all()
    assert_allclose((one.x + two.x) / 2, [0.0, 1.0])


# --- categories


@pytest.fixture(scope="module")
def towns():
    """Sixty towns, the first of which have most of the rows, and what each is worth."""
    rng = np.random.default_rng(6)
    names = np.array([f"town {k:02d}" for k in range(60)])
    chances = 1 / (1 + np.arange(60.0))
    town = np.concatenate([names, rng.choice(names, 3_000, p=chances / chances.sum())])
    frame = pd.DataFrame({"town": town, "x": rng.normal(size=len(town))})
    worth = dict(zip(names, rng.normal(size=60), strict=True))
    return frame, lambda t: t["town"].map(worth).to_numpy(float) * (1 + 0.1 * t["x"].to_numpy())


def test_the_rarest_levels_share_the_last_place(towns):
    frame, model = towns
    effect = effect_of(model, frame, "town")
    panel = panel_of(effect)
    rare = np.argsort(-effect.support, kind="stable")[OWN_POSITION - 1 :]
    points, strip = only(panel, Points), only(panel, Strip)
    assert len(points.y) == OWN_POSITION
    assert written(panel)[-1].replace("\n", " ") == "other (41 categories)"
    weights = effect.support[rare]
    assert points.y[-1] == pytest.approx(np.average(effect.average[0, rare], weights=weights))
    bound = np.average(2 * effect.standard_error[0, rare], weights=weights)
    assert points.error[-1] == pytest.approx(bound)
    assert weights_of(strip)[-1] == pytest.approx(weights.sum())
    assert_allclose(weights_of(strip).sum(), effect.support.sum())
    assert points.hover[-1].startswith("41 other categories of town, averaged over the data\naverage ")
    own = np.setdiff1d(np.arange(60), rare)
    assert_array_equal(points.y[:-1], np.sort(effect.average[0, own]))


def test_the_rarest_levels_of_a_local_effect_share_a_place_and_the_others_keep_their_order(towns):
    frame, model = towns
    effect = local_of(model, frame, "town")
    panel = panel_of(effect)
    rare = np.argsort(-effect.support, kind="stable")[OWN_POSITION - 1 :]
    own = np.setdiff1d(np.arange(60), rare)
    assert written(panel)[:-1] == effect.grid_values[0][own].tolist()
    points = only(panel, Points)
    assert_array_equal(points.y[:-1], effect.ale[0, own])
    assert points.y[-1] == pytest.approx(np.average(effect.ale[0, rare], weights=effect.support[rare]))
    assert_allclose(weights_of(only(panel, Strip)).sum(), effect.support.sum())


def test_twenty_levels_have_a_place_each(towns):
    frame, model = towns
    some = frame[frame["town"] < "town 20"]
    panel = panel_of(effect_of(model, some, "town"))
    assert len(written(panel)) == 20
    assert not any("other" in text for text in written(panel))


def test_pooled_levels_of_no_weight_are_averaged_evenly(towns):
    frame, model = towns
    values = [f"town {k:02d}" for k in range(60)]
    few = frame[frame["town"] < "town 10"]
    effect = effect_of(model, few, "town", custom_values={"town": values})
    points = only(panel_of(effect), Points)
    rare = np.argsort(-effect.support, kind="stable")[OWN_POSITION - 1 :]
    assert effect.support[rare].sum() == 0
    assert points.y[-1] == pytest.approx(effect.average[0, rare].mean())


def test_bars_of_even_integers_have_one_height_however_the_grid_rounds():
    X = np.repeat(np.arange(50), 4)[:, None]
    effect = effect_of(first, X, 0, grid_resolution=21, percentiles=(0, 1))
    assert len(set(np.diff(effect.grid_values[0]))) > 1  # steps of two and three
    bars = only(panel_of(effect), Strip)
    assert_allclose(bars.height[1:-1], 4.0)
    assert_allclose(bars.height * bars.width, effect.support)


def test_numbers_and_booleans_that_are_categories_stay_in_sequence():
    X = np.random.default_rng(0).integers(0, 5, size=(200, 2)).astype(float)
    X[:, 1] = X[:, 1] > 2
    table = pd.DataFrame(X, columns=["day", "free"]).astype({"free": bool})
    effects = paribus.effects(
        lambda t: (t["day"] - 2.0) ** 2 - 3.0 * t["free"], table, categorical_features=["day"], progress=False
    )
    assert written(panel_of(effects["day"])) == ["0", "1", "2", "3", "4"]
    assert written(panel_of(effects["free"])) == ["False", "True"]
    assert only(panel_of(effects["day"]), Points).y.tolist() == effects["day"].average[0].tolist()
    both = paribus.partial_dependence(
        lambda t: (t["day"] - 2.0) ** 2 - 3.0 * t["free"],
        table,
        ["day", "free"],
        categorical_features=["day"],
    )
    x, y = both.figure().panels[0].x, both.figure().panels[0].y
    assert [text for _, text in x.ticks] == ["0", "1", "2", "3", "4"]
    assert [text for _, text in y.ticks] == ["False", "True"]


def test_levels_with_an_order_keep_it(awkward):
    declared = panel_of(effect_of(lambda t: -numbers(t), awkward, "level"))
    assert written(declared) == ["low", "mid", "high"]
    assert (np.diff(only(declared, Points).y) < 0).all()
    free = effect_of(lambda t: -numbers(t), awkward, "city")
    assert written(panel_of(free)) == ["Genf", "Basel", "Bern"]
    flags = panel_of(effect_of(lambda t: -numbers(t), awkward, "flag"))
    assert set(written(flags)) == {"False", "True"}


def test_nothing_of_a_long_label_is_lost(rng):
    names = [f"a very long name of a municipality, number {k}, somewhere far in the north" for k in range(4)]
    frame = pd.DataFrame({"where": names * 10, "x": rng.normal(size=40)})
    panel = panel_of(effect_of(lambda t: t["x"], frame, "where"))
    assert panel.x.turned
    assert len(set(written(panel))) == 4
    for label, text in zip(written(panel), only(panel, Points).hover, strict=True):
        assert max(map(len, label.split("\n"))) <= 24
        full = text.split("\n")[0].removeprefix("where = ")
        assert full in names
        beginning, *end = label.replace("\n", " ").split("…")  # what is left out, if anything, is the middle
        assert full.startswith(beginning)
        assert full.endswith(end[0] if end else beginning)
        assert beginning.startswith("a very long name")


def test_short_labels_are_not_turned(awkward):
    assert not panel_of(effect_of(numbers, awkward, "city")).x.turned


# --- rows, models, outputs


def test_bands_of_rows_are_weighted_quantiles_of_their_curves(rng):
    X = rng.normal(size=(200, 2))
    weights = rng.integers(0, 3, 200).astype(float)
    effect = effect_of(lambda t: t[:, 0] * t[:, 1], X, 0, kind="both", sample_weight=weights)
    wide, narrow, _ = of(panel_of(effect), Band)
    rows = np.repeat(effect.individual[0][:, central_points(effect)], effect.row_weights.astype(int), axis=0)
    for band, low, high in ((wide, 0.05, 0.95), (narrow, 0.25, 0.75)):
        assert_allclose(band.low, np.quantile(rows, low, axis=0))
        assert_allclose(band.high, np.quantile(rows, high, axis=0))
    assert (wide.label, narrow.label) == ("90 % of rows", "50 % of rows")


def test_rows_alone_are_not_moved(rng):
    X = rng.normal(size=(200, 2))
    effect = effect_of(lambda t: t[:, 0] * t[:, 1], X, 0, kind="individual")
    panel = panel_of(effect)
    assert said(panel) == ["90 % of rows", "50 % of rows", "12 of 200 rows"]
    lines = of(panel, Line)
    assert len(lines) == 12
    for line in lines:
        assert (np.abs(effect.individual[0][:, central_points(effect)] - line.y).max(axis=1) == 0).any()


def test_rows_that_begin_beyond_every_number_are_not_moved_there(rng):
    X = rng.normal(size=(60, 2))
    X[:, 1] = np.arange(60)

    def model(table):
        return np.where((table[:, 0] < -1) & (table[:, 1] > 30), np.inf, table[:, 0] + table[:, 1])

    effect = effect_of(model, X, 0, kind="both", custom_values={0: [-2.0, 0.0, 1.0]})
    panel = panel_of(effect)
    lines = of(panel, Line)[:-1]
    assert len(lines) == 12
    assert "12 of 60 rows" in said(panel)
    for line in lines:
        known = np.isfinite(line.y)
        assert known[1:].all()
        assert (np.abs(effect.individual[0][:, known] - line.y[known]).max(axis=1) == 0).any()


def test_rows_at_levels_are_bars_without_lines_between_levels(awkward):
    effect = effect_of(numbers, awkward, "city", kind="both")
    panel = panel_of(effect)
    order = order_of(effect, effect.average[0])
    assert not of(panel, (Line, Band))
    wide = of(panel, Bars)[0]
    assert_allclose(wide.base, np.quantile(effect.individual[0], 0.05, axis=0)[order])
    assert_allclose(wide.base + wide.length, np.quantile(effect.individual[0], 0.95, axis=0)[order])
    assert_array_equal(only(panel, Points).y, effect.average[0][order])


def test_quantiles_of_rows_at_levels_and_without_a_value(awkward):
    effect = effect_of(numbers, awkward, "city", quantiles=(0.1, 0.5, 0.9))
    panel, order = panel_of(effect), order_of(effect, effect.average[0])
    bar = only(panel, Bars)
    assert_allclose(bar.base, effect.quantiles.values[0, 0][order])
    assert_allclose(bar.base + bar.length, effect.quantiles.values[0, 2][order])
    median = next(mark for mark in of(panel, Points) if mark.label == "median of rows")
    assert_array_equal(median.y, effect.quantiles.values[0, 1][order])
    gap = only(panel.right[-1], Bars)
    assert_allclose([gap.base[0], gap.base[0] + gap.length[0]], effect.quantiles.missing[0, [0, 2]])


def three(table):
    values = np.asarray(table)
    return np.stack([values[:, 0], values[:, 1], values[:, 0] * values[:, 1]], 1)


def test_outputs_are_colors_or_rows(rng):
    X = rng.normal(size=(80, 2))
    effect = effect_of(three, X, 0, target_names=["p", "q", "r"])
    panel = panel_of(effect)
    lines = of(panel, Line)
    assert [line.label for line in lines] == ["p", "q", "r"]
    assert len({line.color for line in lines}) == len({line.dash for line in lines}) == 3
    shown = effect.average[:, central_points(effect)]
    assert_array_equal([line.y for line in lines], shown)
    assert [line.hover[0].split("\n")[1].split()[0] for line in lines] == ["p", "q", "r"]
    rows = effect.figure(outputs="rows").panels
    assert [p.y.label for p in rows] == ["predicted p", "predicted q", "predicted r"]
    assert_array_equal([only(p, Line).y for p in rows], shown)
    one = panel_of(effect, output="r")
    assert one.y.label == "predicted r"
    assert_array_equal(only(one, Line).y, shown[2])


def test_outputs_at_levels_stand_beside_each_other(awkward):
    effect = effect_of(lambda t: np.stack([numbers(t), -numbers(t)], 1), awkward, "city")
    assert len(effect.figure().panels) == 2  # on one axis, so far apart, neither could be seen to move
    panel = panel_of(effect, outputs="color")
    one, other = of(panel, Points)
    assert (one.x < other.x).all()
    assert_allclose((one.x + other.x) / 2, [0, 1, 2])
    assert one.marker != other.marker
    assert_array_equal(other.y, -one.y)  # both in the order of the first
    beside = of(panel.right[-1], Points)
    assert beside[0].x[0] < 0 < beside[1].x[0]


def test_probabilities_say_of_what(rng):
    from sklearn.linear_model import LogisticRegression

    X = rng.normal(size=(60, 2))
    model = LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    effect = effect_of(model, X, 0)
    assert [p.y.label for p in effect.figure(outputs="rows").panels] == [
        f"probability of class {k}" for k in range(3)
    ]
    assert panel_of(effect).y.label == "probability"


def test_a_centered_effect_is_a_change(rng):
    X = rng.normal(size=(100, 2))
    effect = effect_of(first, X, 0, kind="both", custom_values={0: [-1.0, 0.0, 2.0]}).centered(at=0.0)
    panel = panel_of(effect)
    assert panel.y.label.replace("\n", " ") == "change in prediction from x0 = 0"
    assert of(panel, Line)[-1].y.tolist() == [-1.0, 0.0, 2.0]
    assert "average" in said(panel_of(effect_of(first, X, 0).centered()))  # it has no standard error


def test_a_slope_is_drawn_as_one(rng):
    X = rng.normal(size=(100, 2))
    effect = effect_of(lambda t: t[:, 0] ** 2, X, 0, custom_values={0: np.linspace(-2, 2, 9)}).derivative()
    panel = panel_of(effect)
    assert panel.y.label == "prediction per unit of x0"
    line = of(panel, Line)[-1]
    assert_array_equal(line.y, effect.average[0])
    assert_array_equal(line.x, effect.grid_values[0])


def test_models_of_a_list_have_a_line_each_and_one_alone_none(rng):
    X = rng.normal(size=(60, 2))
    models = [lambda t, k=k: k * t[:, 0] for k in (1.0, 2.0, 4.0)]
    panel = panel_of(effect_of(models, X, 0))
    *own, mean = of(panel, Line)
    assert_allclose(own[2].y, 4 * own[0].y)
    assert mean.width > own[0].width
    words = ["each of 3 models", "rows and refits as folds, 95 %", "average ± 2 standard errors"]
    assert said(panel) == words
    assert said(panel_of(effect_of(models[:1], X, 0))) == ["average ± 2 standard errors"]


# --- little data


def test_a_single_point_is_a_point_with_its_error(rng):
    X = rng.normal(size=(50, 2))
    effect = effect_of(lambda t: t[:, 0] + t[:, 1], X, 0, custom_values={0: [0.5]})
    panel = panel_of(effect)
    point = only(panel, Points)
    assert (point.x.tolist(), point.y.tolist()) == ([0.5], effect.average[0].tolist())
    assert point.error.tolist() == (2 * effect.standard_error[0]).tolist()
    assert not of(panel, (Line, Band, Rug))
    both = panel_of(effect_of(lambda t: t[:, 0] * t[:, 1], X, 0, custom_values={0: [0.5]}, kind="both"))
    assert len(of(both, Bars)) == 2
    assert not of(both, Line)


def test_a_single_value_is_the_only_number_on_its_axis():
    day = pd.Timestamp("2026-03-01")
    frame = pd.DataFrame({"big": [1e12] * 9, "day": [day] * 9, "wait": [pd.Timedelta(hours=36)] * 9})
    for name, text in (("big", "1e+12"), ("day", "2026-03-01"), ("wait", "1.5 days")):
        panel = panel_of(effect_of(lambda t: np.column_stack([np.ones(len(t))] * 3), frame, name))
        ((at, label),) = panel.x.ticks
        assert label == text
        points = of(panel, Points)
        assert_allclose(np.mean([mark.x[0] for mark in points]), at)
        assert len({mark.x[0] for mark in points}) == 3  # none hides another
        assert all(panel.x.low < mark.x[0] < panel.x.high for mark in points)
        strip = only(panel, Strip)
        assert strip.width[0] < panel.x.high - panel.x.low


def test_a_single_value_of_a_slice_stands_where_it_is_on_the_axis_of_others(rng):
    X = rng.normal(size=(80, 2))
    same = X[:20].copy()
    same[:, 0] = 0.25
    parts = {"all": effect_of(first, X, 0), "same": effect_of(first, same, 0)}
    panel = panel_of(paribus.compare(parts))
    assert panel.x.scale == "number"
    assert only(panel, Points).x.tolist() == [0.25]


def test_a_constant_feature_and_one_level_are_points(rng):
    frame = pd.DataFrame({"same": np.full(30, 7.0), "word": ["one"] * 30, "x": rng.normal(size=30)})
    for name, at in (("same", 7.0), ("word", 0.0)):
        effect = effect_of(lambda t: t["x"], frame, name)
        panel = panel_of(effect)
        assert only(panel, Points).x.tolist() == [at]
        (hover,) = only(panel, Strip).hover
        assert hover.endswith("\n100 % of the data")
        assert np.isfinite([panel.y.low, panel.y.high]).all()
        for result in (local_of(lambda t: t["x"], frame, name), near_of(lambda t: t["x"], frame, name)):
            assert len(of(panel_of(result), Points)[0].x) == 1


def test_without_any_value_only_the_missing_one_is_shown(rng):
    frame = pd.DataFrame({"x": rng.normal(size=20), "none": np.full(20, np.nan)})
    frame["word"] = pd.Series([None] * 20, dtype="string")
    for name in ("none", "word"):
        panel = panel_of(local_of(lambda t: t["x"], frame, name))  # which has no difference to add up
        assert not of(panel, (Strip, Rug))
        assert not panel.right
        for verb in (effect_of, near_of):
            panel = panel_of(verb(lambda t: t["x"], frame, name))
            assert not panel.x.ticks
            assert not any(len(mark.at) for mark in of(panel, (Strip, Rug)))
            assert panel.right[-1].x.ticks[0][1].split("\n")[-1] == "100 %"
            point = only(panel.right[-1], Points)
            assert panel.y.low < point.y[0] < panel.y.high


def test_one_row_has_no_error_to_draw(rng):
    X = rng.normal(size=(1, 2))
    effect = effect_of(first, X, 0, custom_values={0: [0.0, 1.0, 2.0]})
    assert np.isnan(effect.standard_error).all()
    panel = panel_of(effect)
    assert not of(panel, Band)  # an error that is not known is not zero
    assert said(panel) == ["average"]
    assert "standard error" not in only(panel, Line).hover[0]
    X = np.array([[np.nan, 1.0], [2.0, 1.0]])
    near = near_of(lambda t: np.nan_to_num(t[:, 0]), X, 0)
    assert only(panel_of(near).right[-1], Points).error is None
    frame = pd.DataFrame({"level": ["a"] * 20 + ["once"], "x": rng.normal(size=21)})
    errors = only(panel_of(near_of(lambda t: t["x"], frame, "level")), Points).error
    assert sorted(np.isfinite(errors)) == [False, True]


def test_values_that_no_row_is_near_leave_a_gap(rng):
    X = np.column_stack([np.repeat([0.0, 0.1, 0.4], 20), rng.normal(size=60)])
    near = near_of(lambda t: t[:, 0] + t[:, 1], X, 0, custom_values={0: [0.0, 0.1, 0.2, 0.3, 0.4]})
    assert np.isnan(near.predicted[0]).tolist() == [False, False, True, True, False]
    panel = panel_of(near)
    assert_array_equal(only(panel, Line).y, near.predicted[0])
    assert [band.x.tolist() for band in of(panel, Band)] == [[0.0, 0.1], [0.4]]
    assert not of(panel, Points)  # renderers make a point of what no line reaches


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["average", "both"])
def test_predictions_that_are_no_number_leave_the_others_on_the_axis(rng, bad, kind):
    X = rng.normal(size=(50, 2))
    effect = effect_of(lambda t: np.where(t[:, 0] > 1, bad, t[:, 0]), X, 0, kind=kind, grid_resolution=20)
    panel = panel_of(effect)
    line = of(panel, Line)[-1]
    known = np.isfinite(line.y)
    assert known.any()
    assert not known.all()
    assert panel.y.low < line.y[known].min()
    assert line.y[known].max() < panel.y.high < 10


@pytest.mark.parametrize("above", [-9.0, 0.0])
def test_rows_at_levels_whose_predictions_are_infinite_have_no_bar(rng, above):
    frame = pd.DataFrame({"town": rng.choice(list("abc"), 90), "x": rng.normal(size=90)})

    def model(table):
        return np.where((table["town"] == "b") & (table["x"] > above), np.inf, table["x"])

    effect = effect_of(model, frame, "town", kind="both")
    panel = panel_of(effect)
    for bar in of(panel, Bars):
        assert np.isnan(bar.length).tolist() == np.isnan(bar.base).tolist()
        assert np.isfinite(bar.length).tolist() == np.isfinite(only(panel, Points).y).tolist()
    assert -5 < panel.y.low < panel.y.high < 5
    effect.plot().figure.canvas.draw()
    plt.close("all")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_that_are_all_no_number_are_drawn_on_an_empty_axis(rng, bad):
    X = rng.normal(size=(50, 2))
    panel = panel_of(effect_of(lambda t: np.full(len(t), bad), X, 0))
    assert not np.isfinite(of(panel, Line)[-1].y).any()
    assert panel.y.low is None


# --- several estimates on one axis


def test_a_comparison_has_each_estimate_on_its_own_values(rng):
    X = rng.normal(size=(500, 2))
    y = X[:, 0] + rng.normal(size=500)
    effect, local = effect_of(first, X, 0, **ALL), local_of(first, X, 0)
    near = near_of(first, X, 0, y=y, **ALL)
    comparison = paribus.compare(effect, local, near)
    panel = panel_of(comparison)
    lines = {line.label: line for line in of(panel, Line)}
    assert list(lines) == [
        "partial dependence",
        "accumulated local effects",
        "average prediction of rows here",
        "average observed of rows here",
    ]
    assert_array_equal(lines["partial dependence"].y, effect.average[0])
    moved = lines["accumulated local effects"]
    known = np.isin(local.grid_values[0], moved.x)
    assert_allclose(moved.y, (local.ale[0] + comparison.ale_offset[0])[known])
    assert moved.x[0] <= effect.grid_values[0][0]  # it ends no sooner than the others
    assert moved.x[-1] >= effect.grid_values[0][-1]
    assert_array_equal(lines["average observed of rows here"].y, near.observed[0])
    assert len({line.color for line in lines.values()}) == len({line.dash for line in lines.values()}) == 4
    assert panel.legend_title == "bands ± 2 standard errors"
    bands = {band.color for band in of(panel, Band)}
    assert bands == {lines[name].color for name in ("partial dependence", "accumulated local effects")}
    assert_allclose((only(panel, Strip).height * only(panel, Strip).width).sum(), effect.support.sum())


def test_observed_averages_alone_have_a_picture(rng):
    frame = pd.DataFrame({"x": rng.normal(size=90), "city": rng.choice(list("abc"), 90)})
    near = paribus.marginal(None, frame, y=np.arange(90.0))
    for panel in near.figure().panels:
        assert said(panel) == ["average observed of rows here"]
    city = panel_of(near["city"])
    assert_array_equal(only(city, Points).y, np.sort(near["city"].observed[0]))


def towns_of(names, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"town": rng.choice(names, 200), "x": rng.normal(size=200)})


def test_models_on_one_axis_share_the_data_and_differ_in_color_and_dashes(rng):
    X = rng.normal(size=(120, 2))
    parts = {"steep": effect_of(lambda t: 3 * t[:, 0], X, 0), "flat": effect_of(first, X, 0)}
    panel = panel_of(paribus.compare(parts))
    steep, flat = of(panel, Line)
    assert (steep.label, flat.label) == ("steep", "flat")
    assert steep.color != flat.color
    assert steep.dash != flat.dash
    assert_array_equal(steep.y, parts["steep"].average[0, central_points(parts["steep"])])
    assert_array_equal(flat.y, parts["flat"].average[0, central_points(parts["flat"])])
    assert steep.hover[0].split("\n")[1].startswith("steep ")
    assert only(panel, Strip)
    assert panel.legend_title == "± 2 standard errors"


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_groups_of_other_spreads_share_a_panel_with_all_their_data(rng, shift):
    X = pd.DataFrame({"a": rng.normal(size=1_000), "g": ["u", "v"] * 500})
    X.loc[X["g"] == "v", "a"] = 0.3 * X["a"] + shift
    groups = paribus.partial_dependence(lambda t: 2 * t["a"], X, "a", by="g", progress=False)
    panel = panel_of(groups)
    strip = only(panel, Strip)
    assert_allclose((strip.height * strip.width).sum(), 1_000, rtol=0.11)  # all but the tails of both
    for line in of(panel, Line):
        assert_allclose(line.y, 2 * line.x)


def test_slices_have_no_strip_in_common_and_each_its_own_grid(rng):
    X = rng.normal(size=(200, 2))
    parts = {
        "low": effect_of(first, X[X[:, 0] < 0], 0, grid_resolution=5, percentiles=(0, 1)),
        "high": effect_of(first, X[X[:, 0] >= 0], 0, grid_resolution=6, percentiles=(0, 1)),
    }
    panel = panel_of(paribus.compare(parts))
    assert not of(panel, (Strip, Rug))
    for line, part in zip(of(panel, Line), parts.values(), strict=True):
        assert_array_equal(line.x, part.grid_values[0])
        assert_array_equal(line.y, part.average[0])
    assert panel.x.low < min(part.grid_values[0].min() for part in parts.values())
    assert panel.x.high > max(part.grid_values[0].max() for part in parts.values())


def test_durations_of_slices_are_in_one_unit(rng):
    hours = rng.uniform(1, 200, 300)
    frame = pd.DataFrame({"wait": pd.to_timedelta(hours, "h"), "x": rng.normal(size=300)})
    parts = {
        name: effect_of(lambda t: t["x"], frame[some], "wait", **ALL)
        for name, some in (("short", hours < 20), ("long", hours >= 20))
    }
    assert panel_of(parts["short"]).x.label == "wait (hours)"
    panel = panel_of(paribus.compare(parts))
    assert panel.x.label == "wait (days)"
    for line, part in zip(of(panel, Line), parts.values(), strict=True):
        assert_allclose(line.x, part.grid_values[0] / np.timedelta64(1, "D"))


def test_slices_with_other_levels_have_all_of_them(rng):
    worth = {"a": 0.0, "b": 3.0, "c": 1.0, "d": 2.0}

    def model(table):
        return table["town"].map(worth).to_numpy(float)

    parts = {
        "one": effect_of(model, towns_of(["c", "a", "b"]), "town"),
        "two": effect_of(model, towns_of(["d", "b"], 1), "town"),
    }
    panel = panel_of(paribus.compare(parts))
    names = written(panel)
    assert names == ["a", "c", "d", "b"]  # by effect, each as in the first part that has it
    for mark, part in zip(of(panel, Points), parts.values(), strict=True):
        known = dict(zip(part.grid_values[0].tolist(), part.average[0].tolist(), strict=True))
        assert_array_equal(mark.y, [known.get(name, np.nan) for name in names])


def test_levels_in_another_order_are_matched_by_name():
    worth = {"a": 0.0, "b": 3.0, "c": 1.0}
    frame = towns_of(list("abc"))

    def model(table):
        return table["town"].map(worth).to_numpy(float)

    parts = {
        "one": effect_of(model, frame, "town", custom_values={"town": list("abc")}),
        "two": effect_of(model, frame, "town", custom_values={"town": list("cba")}),
    }
    panel = panel_of(paribus.compare(parts))
    assert written(panel) == ["a", "b", "c"]  # as the first was evaluated
    for mark in of(panel, Points):
        assert mark.y.tolist() == [0.0, 3.0, 1.0]


def test_overlaid_averages_keep_predicted_and_observed_apart(rng):
    X = rng.normal(size=(100, 2))
    y = X[:, 0]
    near = {name: near_of(lambda t, k=k: k * t[:, 0], X, 0, y=y) for name, k in (("one", 1.0), ("two", 2.0))}
    panel = panel_of(paribus.compare(near))
    assert said(panel) == ["one, predicted", "one, observed", "two, predicted", "two, observed"]
    lines = of(panel, Line)
    assert lines[0].color == lines[1].color != lines[2].color
    assert lines[0].dash == lines[2].dash != lines[1].dash


def test_overlaid_slices_show_each_missing_value(rng):
    X = rng.normal(size=(200, 2))
    X[::4, 0] = np.nan
    parts = {"one": effect_of(lambda t: np.nan_to_num(t[:, 0]) + t[:, 1], X[:100], 0)}
    parts["two"] = effect_of(lambda t: np.nan_to_num(t[:, 0]) + t[:, 1], X[100:], 0)
    panel = panel_of(paribus.compare(parts))
    points = of(panel.right[-1], Points)
    assert [mark.y[0] for mark in points] == [part.missing.average[0] for part in parts.values()]
    assert points[0].x[0] < points[1].x[0]
    assert panel.right[-1].x.ticks[0][1].strip() == "missing"  # slices have no share in common
    assert all("25 % of the data" in mark.hover[0] for mark in points)

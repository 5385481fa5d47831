"""Answers about the same feature side by side, and whether standard errors hold what they promise."""

import copy
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus
from paribus._display.figure import Line, Points
from paribus.results.partial_dependence import central_points

SAMPLES, ROWS, POINTS = 500, 150, np.array([-1.5, -0.5, 0.5, 1.5])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curved(table):
    return np.exp(0.5 * table[:, 0]) * (1 + table[:, 1]) + np.abs(table[:, 2]) * table[:, 0]


def related(rows, seed=0):
    """A table whose first two features go together."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=rows)
    return np.column_stack([first, 0.95 * first + np.sqrt(1 - 0.95**2) * rng.normal(size=rows)])


def answers(predict, X, feature, y=None, **options):
    effect = paribus.partial_dependence(predict, X, feature, **options)
    local = paribus.accumulated_local_effects(predict, X, feature)
    near = paribus.marginal(predict, X, feature, y=y, **options)
    return effect, *local.values(), *near.values()


NEAR = "average prediction of rows here"


def said(panel):
    return [mark.label for mark in panel.marks if getattr(mark, "label", None)]


def explained(page):
    """Return what the only legend of a page says."""
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.nightly
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_two_errors_hold_the_curve_of_the_population(weighted):
    """Of 2,000 pairs of a sample and a point, 93 to 97 % of intervals of 95 % hold it."""
    rng = np.random.default_rng(1)
    everyone = rng.normal(size=(400_000, 3)) + rng.normal(size=(400_000, 1))
    weight = rng.integers(1, 4, len(everyone)).astype(float) if weighted else np.ones(len(everyone))
    rows = [everyone.copy() for _ in POINTS]
    for point, table in zip(POINTS, rows, strict=True):
        table[:, 0] = point
    population = np.array([np.average(curved(table), weights=weight) for table in rows])
    held = []
    for _ in range(SAMPLES):
        chosen = rng.choice(len(everyone), ROWS, replace=False)
        found = paribus.partial_dependence(
            curved,
            everyone[chosen],
            0,
            custom_values={0: POINTS},
            sample_weight=weight[chosen] if weighted else None,
        )
        held.append(np.abs(found.average[0] - population) <= 1.96 * found.standard_error[0])
    assert np.size(held) == 2_000
    assert 0.93 <= np.mean(held) <= 0.97


def test_an_additive_model_on_independent_features_gives_one_curve():
    X = np.random.default_rng(0).uniform(size=(2_000, 3))
    found = paribus.compare(*answers(lambda t: t[:, 0] ** 2 + t[:, 1], X, 0))
    assert found.share[0] < 0.01
    assert found.notes == ()
    assert found.distance.shape == found.ale_offset.shape == (1,)
    # The offset is that of the other feature, which averages to a half, and of the first.
    np.testing.assert_allclose(found.ale_offset, np.mean(X[:, 0] ** 2) + np.mean(X[:, 1]), atol=0.01)


def test_jump_within_a_bin_of_independent_features_is_not_a_difference():
    X = np.random.default_rng(0).uniform(size=(2_000, 2))
    predict = lambda t: 1.0 * (t[:, 0] > 0.512) + 0.1 * t[:, 1]  # noqa: E731
    effect, local, *_ = answers(predict, X, 0, grid_resolution=150)
    edges, values = local.grid_values[0], effect.grid_values[0]
    inside = (values > 0.512) & (values < edges[np.searchsorted(edges, 0.512)])
    assert inside.any()  # the straight line between the edges is far from the curve there
    found = paribus.compare(effect, local)
    assert found.share[0] < 0.05
    assert not any(note.code == "PAR404" for note in found.notes)


def test_features_that_go_together_are_told_with_numbers():
    X = related(3_000)
    found = paribus.compare(*answers(lambda t: t[:, 0] * t[:, 1], X, 0))
    assert found.share[0] > 0.2
    first, second = found.notes[:2]
    assert (
        "of this curve combines values of x0 and x1 that do not occur together (Spearman correlation 0.9"
        in first
    )
    assert second.startswith("ALE of x0 differs from PD by up to ")
    assert f"{100 * found.share[0]:.3g}% of the range" in second
    value = found.effect.grid_values[0]
    assert found.at[0] in value
    place = list(value).index(found.at[0])
    edges, ale = found.ale.grid_values[0], found.ale.ale[0] + found.ale_offset[0]
    right = np.searchsorted(edges, value[place])
    low, high = sorted(ale[right - 1 : right + 1] if edges[right] != value[place] else ale[[right, right]])
    at = found.effect.average[0, place]
    np.testing.assert_allclose(max(low - at, at - high), found.distance[0])
    assert repr(found).count("note:") == len(found.notes)


def test_levels_are_compared_by_name():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(list("abcd"), 800), "size": rng.normal(size=800)})
    worth = {"a": 0.0, "b": 3.0, "c": 1.0, "d": 2.0}
    found = paribus.compare(*answers(lambda t: t["city"].map(worth).to_numpy() + t["size"], table, "city"))
    assert found.distance[0] < 1e-9
    (panel,) = found.figure().panels
    answers_ = [mark for mark in panel.marks if isinstance(mark, Points)]
    assert said(panel) == ["partial dependence", "accumulated local effects", NEAR]
    assert [text for _, text in panel.x.ticks] == ["a", "c", "d", "b"]  # by what they are worth
    for mark in answers_:
        np.testing.assert_allclose(np.diff(mark.y), 1.0, atol=0.2)


def test_every_feature_at_once_and_one_picture_each():
    X = related(500)
    y = X[:, 0] + np.random.default_rng(2).normal(size=500)

    def predict(t):
        return t[:, 0] + t[:, 1] ** 2

    every = paribus.compare(
        paribus.effects(predict, X, [0, 1, (0, 1)], grid_resolution=10),
        paribus.accumulated_local_effects(predict, X),
        paribus.marginal(predict, X, y=y, grid_resolution=10),
    )
    assert set(every) == {"x0", "x1"}
    figure = every.figure()
    assert [panel.x.label for panel in figure.panels] == list(every)
    words = [
        "partial dependence",
        "accumulated local effects",
        "average prediction of rows here",
        "average observed of rows here",
    ]
    assert [said(panel) for panel in figure.panels] == [words, words]
    page = every.plot()
    assert explained(page) == words
    assert any("do not occur together" in note for note in every.notes)
    assert "combines values of x1 and x0 that do not occur together" in figure.notes[-1]
    assert figure.notes[-1] in page.get_supxlabel().replace("\n", " ")
    assert repr(every).startswith("Effects (compared) of predict: 2 features")


def test_a_table_of_all_curves():
    X = related(300)
    found = paribus.compare(*answers(lambda t: t[:, 0], X, 0, y=X[:, 0], grid_resolution=5))
    frame = found.to_frame(backend="pandas")
    assert list(frame.columns) == ["curve", "output", "x0", "height", "error"]
    assert frame["curve"].value_counts().to_dict() == {
        "ALE": 41,
        "partial dependence": 5,
        "predicted": 5,
        "observed": 5,
    }
    effect = frame[frame["curve"] == "partial dependence"]
    np.testing.assert_array_equal(effect["height"], found.effect.average[0])
    np.testing.assert_array_equal(effect["x0"], found.effect.grid_values[0])  # numbers, not text
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(found.to_frame(backend=backend)) == len(frame)


def test_a_table_of_all_curves_of_all_features():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(list("ab"), 90), "size": rng.normal(size=90)})

    def predict(t):
        return t["size"].to_numpy()

    every = paribus.compare(
        paribus.effects(predict, table, grid_resolution=5),
        paribus.accumulated_local_effects(predict, table),
        paribus.marginal(predict, table, grid_resolution=5),
    )
    frame = every.to_frame()
    assert list(frame.columns) == ["curve", "feature", "value", "number", "output", "height", "error"]
    sizes = frame[(frame["curve"] == "partial dependence") & (frame["feature"] == "size")]
    np.testing.assert_array_equal(sizes["number"], every["size"].effect.grid_values[0])
    np.testing.assert_array_equal(sizes["height"], every["size"].effect.average[0])
    assert frame[frame["feature"] == "city"]["number"].isna().all()
    assert set(frame[frame["feature"] == "city"]["value"]) == {"a", "b"}
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(every.to_frame(backend=backend)) == len(frame)


def test_comparisons_travel(tmp_path):
    X = related(300)
    found = paribus.compare(*answers(lambda t: t[:, 0] * t[:, 1], X, 0, y=X[:, 0], grid_resolution=5))
    other = paribus.compare(*answers(lambda t: t[:, 0], X, 0, grid_resolution=5))
    assert found != other
    for way in (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy):
        assert way(found) == found
    found.save(tmp_path / "found.json")
    assert paribus.load(tmp_path / "found.json") == found
    assert paribus.load(tmp_path / "found.json") != other


def test_dates_and_several_outputs():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 365, 400), unit="D")
    table = pd.DataFrame({"day": days, "x": rng.normal(size=400)})

    def predict(t):
        past = ((t["day"] - pd.Timestamp("2026-01-01")) / pd.Timedelta(days=1)).to_numpy()
        return np.column_stack([past, -2.0 * past + t["x"]])

    found = paribus.compare(*answers(predict, table, "day"))
    assert (found.share < 1e-9).all()
    figure = found.figure()
    assert [panel.x.scale for panel in figure.panels] == ["date", "date"]
    first, last = np.quantile((days - days.min()).days, [0.05, 0.95])
    for o, panel in enumerate(figure.panels):
        line = next(mark for mark in panel.marks if isinstance(mark, Line))
        slope, level = ((1.0, 0.0), (-2.0, table["x"].mean()))[o]
        wanted = slope * np.round(np.linspace(first, last, 30)) + level
        np.testing.assert_allclose(line.y, wanted, atol=1e-9)
    with pytest.raises(paribus.errors.DrawingError, match="output"):
        found.plot(outputs="color")
    assert found.plot(output=1).axes[0].get_xlabel() == "day"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e, a, m: (a, None, None), "compares others with partial dependence; pass that as well"),
        (lambda e, a, m: (), "needs results; pass partial dependence"),
        (lambda e, a, m: (e, a, a), "takes one result of each type: PD, ALE and averages; pass a mapping"),
        (lambda e, a, m: (e, "a"), "takes results such as PartialDependence, not a str"),
        (lambda e, a, m: (e, paribus.effects(curved, np.eye(3), [0])), "takes one result of each type"),
        (
            lambda e, a, m: (e, paribus.marginal(curved, np.eye(3))),
            "one feature, or Effects of many; these are",
        ),
    ],
)
def test_only_what_belongs_together_is_compared(change, message):
    parts = answers(curved, np.random.default_rng(0).normal(size=(60, 3)), 0)
    with pytest.raises(paribus.errors.InputError, match=message):
        paribus.compare(*change(*parts))


def test_other_features_rows_and_outputs_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    effect, local, _ = answers(curved, X, 0)
    other = paribus.accumulated_local_effects(curved, X, 1)["x1"]
    with pytest.raises(paribus.errors.InputError, match="'ALE' is about another feature"):
        paribus.compare(effect, other)
    fewer = paribus.accumulated_local_effects(curved, X[:50], 0)["x0"]
    with pytest.raises(
        paribus.errors.InputError,
        match=r"'ALE' is over other rows or weights \(50 rows \(unw.*\) than 'PD' \(60 rows",
    ):
        paribus.compare(effect, fewer)
    both = paribus.accumulated_local_effects(lambda t: np.column_stack([t[:, 0]] * 2), X, 0)["x0"]
    with pytest.raises(paribus.errors.InputError, match="other outputs"):
        paribus.compare(effect, both)
    pair = paribus.partial_dependence(curved, X, (0, 1), grid_resolution=3)
    with pytest.raises(
        paribus.errors.InputError, match="average of a single feature, not an average of x0 x x1; request one"
    ):
        paribus.compare(pair, local)
    curves = paribus.partial_dependence(curved, X, 0, grid_resolution=3, kind="individual")
    with pytest.raises(
        paribus.errors.InputError, match="not individual curves of x0; request one feature, and kind"
    ):
        paribus.compare(curves, local)
    with pytest.raises(paribus.errors.InputError, match="needs a one-way effect that all of 'PD' have"):
        paribus.compare(paribus.effects(curved, X, [(0, 1)], grid_resolution=3))


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_averages_are_drawn_on_their_own_axis():
    X = np.random.default_rng(0).normal(size=(3_000, 2))

    def predict(t):
        return t[:, 0]

    for resolution in (7, 60):
        effect = paribus.partial_dependence(predict, X, 0, grid_resolution=20)
        near = paribus.marginal(predict, X, 0, grid_resolution=resolution)["x0"]
        drawn = lines(paribus.compare(effect, None, near).plot().axes[0])["average prediction of rows here"]
        low, high = effect.grid_values[0][central_points(effect)][[0, -1]]
        values = near.grid_values[0]
        inside = values[(low <= values) & (values <= high)]
        assert len(inside) > 0.5 * resolution
        np.testing.assert_array_equal(drawn.get_xdata(), inside)
        np.testing.assert_allclose(drawn.get_ydata(), drawn.get_xdata(), atol=0.25)


def test_levels_in_another_order_are_drawn_where_they_belong():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(list("xyz"), 600), "size": rng.normal(size=600)})

    def predict(t):
        return t["city"].map({"x": 0.0, "y": 10.0, "z": 20.0}).to_numpy()

    effect = paribus.partial_dependence(predict, table, "city", custom_values={"city": ["x", "y", "z"]})
    near = paribus.marginal(predict, table, "city", custom_values={"city": ["z", "y"]})["city"]
    (panel,) = paribus.compare(effect, None, near).figure().panels
    assert [text for _, text in panel.x.ticks] == ["x", "y", "z"]
    drawn = {mark.label: mark for mark in panel.marks if isinstance(mark, Points)}
    np.testing.assert_allclose(drawn["partial dependence"].y, [0.0, 10.0, 20.0])
    np.testing.assert_allclose(drawn[NEAR].y, [np.nan, 10.0, 20.0])  # it was not requested x
    assert drawn[NEAR].hover[1].startswith("city = y\n" + NEAR + " 10")


def test_the_missing_point_is_compared_too():
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[::5, 0] = np.nan
    found = paribus.compare(*answers(lambda t: np.where(np.isnan(t[:, 0]), 9.0, t[:, 0]), X, 0))
    (panel,) = found.figure().panels
    points = [mark for mark in panel.right[-1].marks if isinstance(mark, Points)]
    assert len(points) == 3  # an answer of each kind without a value
    assert all(mark.y[0] == pytest.approx(9.0) for mark in points)
    assert len({mark.x[0] for mark in points}) == len(points)  # none hides another
    sides = found.plot().axes[0].child_axes
    words = [tick.get_text().strip() for side in sides for tick in side.get_xticklabels()]
    assert words.count("missing\n20 %") == 1


def test_noise_is_no_difference():
    X = np.random.default_rng(0).normal(size=(400, 3))
    noise = np.random.default_rng(1).normal(size=400)

    def predict(t):  # in which the last feature hardly matters, but differently for every row
        return 10 * t[:, 0] + 0.01 * np.sin(40 * t[:, 2] * (1 + t[:, 1]))

    found = paribus.compare(*answers(predict, X, 2, y=noise))
    assert found.share[0] > 0.05
    assert not any(note.startswith("ALE differs") for note in found.notes)


def test_other_models_and_weights_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    effect, local, _ = answers(curved, X, 0)
    weighted = paribus.accumulated_local_effects(curved, X, 0, sample_weight=np.arange(1.0, 61))["x0"]
    with pytest.raises(paribus.errors.InputError, match="other rows or weights"):
        paribus.compare(effect, weighted)
    with pytest.raises(paribus.errors.InputError, match="other rows or weights"):
        paribus.compare(effect, paribus.accumulated_local_effects(curved, X[::-1] + 1, 0)["x0"])

    def another(t):
        return curved(t)

    with pytest.raises(
        paribus.errors.InputError, match=r"of another model, .* \(another\) than 'PD' \(curved\)"
    ):
        paribus.compare(effect, paribus.accumulated_local_effects(another, X, 0)["x0"])
    y = X[:, 0] * X[:, 1]
    first, second = (HistGradientBoostingRegressor(max_iter=n).fit(X, y) for n in (3, 4))
    exact, again = (paribus.partial_dependence(first, X, 0, method=how) for how in ("exact", "brute"))
    for effect_of_first in (exact, again):  # the same model, whatever was read of it
        assert paribus.compare(effect_of_first, None, paribus.marginal(first, X, 0)["x0"]).notes is not None
    with pytest.raises(paribus.errors.InputError, match="'ALE' is of another model, by its model_digest"):
        paribus.compare(exact, paribus.accumulated_local_effects(second, X, 0)["x0"])
    observed = paribus.marginal(curved, X, 0, y=X[:, 1])["x0"]
    assert paribus.compare(effect, local, observed).marginal is observed
    assert paribus.compare(effect.centered(), None, None).plot() is not None


def test_a_feature_without_any_value_has_nothing_to_compare():
    frame = pd.DataFrame({"none": [np.nan] * 40, "x": np.arange(40.0)})
    effect = paribus.partial_dependence(lambda t: t["x"], frame, "none")
    local = paribus.accumulated_local_effects(lambda t: t["x"], frame, "none")["none"]
    found = paribus.compare(effect, local)
    assert np.isnan(found.distance).all()
    assert found.at == (None,)


def test_compare_of_curves_that_do_not_move_reports_no_share_of_their_range(rng):
    X = pd.DataFrame({"used": rng.normal(size=300), "unused": rng.normal(size=300)})

    def predict(table):
        return 1 / 3 + np.sin(table["used"].to_numpy())

    found = paribus.compare(
        paribus.effects(predict, X, ["unused"], progress=False),
        paribus.accumulated_local_effects(predict, X, ["unused"], progress=False),
    )
    assert found["unused"].share.tolist() == [0.0]


def test_other_samples_of_the_rows_are_refused(rng):
    """The sampling error of one would show as a difference between the estimands."""
    X = rng.normal(size=(400, 2))
    samples = {"subsample": 100, "random_state": 3}
    effects = [paribus.partial_dependence(curved_pair, X, 0, **options) for options in ({}, samples)]
    ales = [
        paribus.accumulated_local_effects(curved_pair, X, [0], **options)["x0"]
        for options in ({}, samples, samples | {"subsample": 90}, samples | {"random_state": 4})
    ]
    for pair in ((0, 1), (1, 0), (1, 2), (1, 3)):
        with pytest.raises(paribus.errors.InputError, match="'ALE' is over other rows or weights"):
            paribus.compare(effects[pair[0]], ales[pair[1]])
    message = r"\(100 of 400 rows, sampled with seed 3 .* than 'PD' \(400 rows"
    with pytest.raises(paribus.errors.InputError, match=message):
        paribus.compare(effects[0], ales[1])
    for place in (0, 1):
        assert paribus.compare(effects[place], ales[place]).distance is not None
    some = paribus.compare(
        paribus.effects(curved_pair, X), paribus.accumulated_local_effects(curved_pair, X, [0])
    )
    assert some.skipped == ("x1 is not in ALE",)


def curved_pair(table):
    return np.exp(table[:, 0]) * (1 + table[:, 1])

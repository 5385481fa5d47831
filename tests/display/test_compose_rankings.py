"""Pictures of interactions and importance as data: what they say is what was found, and what they leave out."""

import subprocess
import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import paribus
from handmade import importance, statistics
from paribus._display.compose.rankings import importance_figure, interactions_figure
from paribus._display.figure import Bars, Heat, Line, Points, Rule, Text

KINDS = ("bars", "heatmap")
BACKGROUND = "Forest, 20,000 rows (unweighted)"
SMALL = "a single row has neither effects nor standard errors"
SAMPLE = "Forest, 500 of 20,000 rows, sampled with seed 0 (unweighted)"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def found():
    """Four features; pairs of strength 3, 1, 2, 0, 0.002 and 0, of which the one of 1 has no joint effect."""
    return statistics("abcd", [9.0, 1.0, 4.0, 0.0, 4e-6, 0.0], joint=[10.0, 0.05, 16.0, 4.0, 4.0, 4.0])


def picture(result, kind="bars", *, statistic="pairwise", k=15, output=None):
    return interactions_figure(result, kind, statistic, k, output, None)


def ranked(result, k=15, output=None):
    return importance_figure(result, k=k, output=output, title=None)


def marks(figure, kind):
    (panel,) = figure.panels
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def one(figure, kind):
    (mark,) = marks(figure, kind)
    return mark


def words(figure):
    return [text.text for text in marks(figure, Text)]


def ticks(figure, along="y"):
    """The words of an axis; on the y-axis the uppermost first."""
    places = getattr(figure.panels[0], along).ticks
    return [word for _, word in sorted(places, reverse=along == "y")]


def downwards(bars):
    """The lengths of bars, the uppermost first."""
    return [float(bars.length[place]) for place in np.argsort(-bars.at)]


# --- bars


def test_bars_are_strengths_with_their_errors(found):
    figure = picture(found)
    bars = one(figure, Bars)
    assert bars.horizontal
    np.testing.assert_allclose(downwards(bars), [3.0, 2.0, 1.0, 0.002])
    assert ticks(figure) == ["a × b", "a × d", "a × c", "b × d"]
    # A tenth of the square is a twentieth of the root; drawn are two standard errors.
    np.testing.assert_allclose(bars.error, [0.3, 0.2, 0.1, 0.0002])
    x, y = figure.panels[0].x, figure.panels[0].y
    assert x.label == "strength of the interaction (prediction)\n± 2 standard errors"
    assert words(figure) == ["H² 0.9", "H² 0.25", "H² 20", "H² < 0.001"]
    assert x.low == 0
    assert x.high > 3.3
    assert y.low < bars.at.min() < bars.at.max() < y.high
    assert not marks(figure, Rule)


def test_shares_stand_where_errors_end(found):
    figure = picture(found)
    bars = one(figure, Bars)
    for text, at, end in zip(marks(figure, Text), bars.at, bars.length + bars.error, strict=True):
        assert (text.x, text.y, text.align) == (end, at, "left")
        assert text.offset[0] > 0


def test_a_pointer_tells_strength_and_share_with_their_errors(found):
    assert (
        one(picture(found), Bars).hover[0]
        == "a × b\nstrength 3, standard error 0.15\nH² 0.9, standard error 0.045"
    )
    with np.errstate(divide="ignore"):
        vanished = statistics("ab", [4.0], joint=[0.0])
    assert one(picture(vanished), Bars).hover == ("a × b\nstrength 2, standard error 0.1",)
    assert words(picture(vanished)) == []


def test_bars_say_what_they_leave_out(found):
    assert picture(found).notes[1] == "2 pairs are exactly zero"
    assert picture(found, k=2).notes == (
        BACKGROUND,
        "2 of 6 pairs; 2 pairs are exactly zero",
        SMALL,
    )
    figure = picture(statistics("ab", [1.0]))
    assert words(figure) == ["H² 0.25"]
    assert figure.notes == (
        BACKGROUND,
        SMALL,
    )


def test_bars_whose_share_means_nothing_are_grey(found):
    figure = picture(found)
    gray = [len({color[1:3], color[3:5], color[5:7]}) == 1 for color in one(figure, Bars).color]
    assert gray == [False, False, True, False]
    assert any(note.startswith("gray: a joint effect below 0.1 %") for note in figure.notes)
    few = picture(found, k=2)
    assert "gray" not in " ".join(few.notes)
    assert isinstance(one(few, Bars).color, str)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_rows_is_said_first(found, kind):
    sampled = statistics("abc", [1.0, 2.0, 3.0], sampled_rows=500, seed=0)
    assert picture(sampled, kind).notes == (SAMPLE, SMALL)
    assert picture(found, kind).notes[0] == BACKGROUND


def test_other_statistics_have_bars():
    found = statistics("abcd", np.ones(6), triples=[1.0, 4.0, 0.0, 9.0])
    three = picture(found, statistic="threeway")
    assert ticks(three) == ["b × c × d", "a × b × d", "a × b × c"]
    assert three.notes == (BACKGROUND, "1 triple is exactly zero", SMALL)
    assert three.panels[0].x.label.startswith("strength of the three-way interaction")
    each = picture(found, statistic="overall")
    assert ticks(each) == list("abcd")
    assert downwards(one(each, Bars)) == [3.0] * 4
    assert each.panels[0].x.label.startswith("strength of all interactions of a feature")


def test_pictures_grow_with_what_they_show(rng):
    found = statistics([f"x{k}" for k in range(8)], rng.random(28))
    named = statistics([f"municipality of somewhere {k}" for k in range(8)], rng.random(28))
    few, many, wide = picture(found, k=3), picture(found, k=28), picture(named, k=3)
    assert few.size[1] < many.size[1]
    assert few.size[0] < wide.size[0]
    assert 0.2 < (many.size[1] - few.size[1]) / 25 < 0.4  # inches of a bar
    assert picture(found, "heatmap").size[0] < picture(named, "heatmap").size[0]
    assert picture(found, "heatmap", k=4).size < picture(found, "heatmap", k=8).size
    noted = statistics("abc", [1.0, 2.0, 3.0])
    plain = {kind: picture(noted, kind).size for kind in KINDS}
    quiet = replace(noted, notes=())
    noted = replace(noted, notes=noted.notes * 5)
    for kind in KINDS:
        assert picture(quiet, kind).size[1] < picture(noted, kind).size[1] == plain[kind][1]
        assert picture(noted, kind).size[0] == plain[kind][0]


# --- zeros


def test_nothing_but_zeros_is_said_in_words():
    zero = statistics("abc", np.zeros(3))
    figure = picture(zero)
    assert not marks(figure, Bars)
    assert words(figure) == ["3 pairs are exactly zero"]
    assert figure.notes == (
        BACKGROUND,
        SMALL,
    )
    dead = statistics("abc", np.zeros(3), main=np.zeros((3, 1)))
    assert not marks(picture(dead, "heatmap"), Heat)
    assert "blank: exactly zero" in picture(dead, "heatmap").notes


# --- heat map


def test_a_heat_map_is_the_triangle_below_the_diagonal_with_one_color_bar(found):
    figure = picture(found, "heatmap")
    pairs = one(figure, Heat)
    assert (ticks(figure, "x"), ticks(figure)) == (["a", "b", "d"], ["b", "d", "c"])  # by all interactions
    strengths = pairs.values[::-1]  # the first row is the uppermost
    expected = [[3.0, np.nan, np.nan], [2.0, 0.002, np.nan], [1.0, np.nan, np.nan]]  # zeros are blank
    np.testing.assert_allclose(strengths, expected)
    assert pairs.unit == "strength of the interaction (prediction)"
    assert "blank: exactly zero" in figure.notes
    assert pairs.written[::-1] == (("3", "", ""), ("2", "0.002", ""), ("1", "", ""))
    assert (pairs.low, pairs.high) == (0.0, 3.0)
    assert figure.panels[0].equal


def test_lines_between_cells_enclose_the_triangle(found):
    between = one(picture(found, "heatmap"), Line)
    for side in (between.x, between.y):
        assert np.nanmin(side) == -0.5
        assert np.nanmax(side) == 2.5
    ends = np.isfinite(between.x + between.y)
    assert (between.x[ends] + between.y[ends] <= 3.0).all()  # the corners of cells below the diagonal


def test_equal_remarks_are_left_out():
    found = statistics("abc", [1.0, 4.0, 9.0], joint=[10.0, 40.0, 90.0])
    assert words(picture(found)) == []
    assert words(picture(found, k=1)) == ["H² 0.1"]


def test_the_weakest_color_is_told_from_none(found):
    for heat in marks(picture(found, "heatmap"), Heat):
        gray = [sum(int(color[at : at + 2], 16) for at in (1, 3, 5)) / 3 / 255 for color in heat.colors]
        assert gray == sorted(gray, reverse=True)
        assert gray[0] < 0.9


def test_cells_tell_their_pair(found):
    pairs = one(picture(found, "heatmap"), Heat)
    assert pairs.hover[-1][0] == "a × b\nstrength 3, standard error 0.15\nH² 0.9, standard error 0.045"
    assert pairs.hover[-1][1] == ""  # above the diagonal


def test_a_heat_map_of_many_shows_the_strongest_without_numbers(rng):
    found = statistics([f"x{k}" for k in range(20)], rng.random(190))
    figure = picture(found, "heatmap", k=13)
    assert len(ticks(figure, "x")) == len(ticks(figure)) == 12
    pairs = one(figure, Heat)
    assert pairs.values.shape == (12, 12)
    assert pairs.written == ()
    assert not words(figure)
    assert figure.notes == (BACKGROUND, "13 of 20 features", SMALL)
    assert one(picture(found, "heatmap", k=12), Heat).written
    strongest = found.strongest(1)[0].features
    shown = picture(found, "heatmap", k=19)
    assert set(strongest) <= {*ticks(shown, "x"), *ticks(shown)}


@pytest.mark.parametrize(
    ("value", "brief"), [(0.002, "0.002"), (12345.0, "1e4"), (1.234e-7, "1e-7"), (99.0, "99"), (0.5, "0.5")]
)
def test_numbers_in_cells_are_brief(value, brief):
    assert one(picture(statistics("ab", [value**2]), "heatmap"), Heat).written == ((brief,),)


def test_pairs_not_asked_for_are_no_zeros(found):
    few = statistics("abc", [1.0, 4.0, 9.0])
    object.__setattr__(few, "pairs", few.pairs[:1])
    object.__setattr__(few, "pairwise", statistics("ab", [1.0]).pairwise)
    figure = picture(few, "heatmap")
    places = [(text.x, text.y, text.text) for text in marks(figure, Text)]
    assert ticks(figure)[-1] == "c"
    assert places == [(0.0, 0.0, "·"), (1.0, 0.0, "·")]  # the row of c
    assert figure.notes == (BACKGROUND, "dot: not requested", SMALL)
    assert "·" not in words(picture(found, "heatmap"))


# --- outputs, errors, names


def test_several_outputs_are_drawn_one_at_a_time():
    found = statistics(
        "abc", [[1.0, 4.0], [9.0, 0.0], [0.0, 1.0]], outputs=("no", "yes"), scale="probability"
    )
    values = importance("ab", [[1.0, 4.0], [3.0, 2.0]], outputs=("no", "yes"))
    for kind in KINDS:
        with pytest.raises(paribus.errors.DrawingError, match="output= one of no, yes"):
            picture(found, kind)
    with pytest.raises(paribus.errors.DrawingError, match="output= one of no, yes"):
        ranked(values)
    with pytest.raises(paribus.errors.OptionError, match="did you mean 'yes'"):
        ranked(values, output="yess")
    figure = picture(found, output="yes")
    assert downwards(one(figure, Bars)) == [2.0, 1.0]
    assert figure.panels[0].x.label.startswith("strength of the interaction (probability of yes)")
    assert ticks(picture(found, "heatmap", output=0), "x") == ["a", "c"]
    assert "probability of yes" in one(picture(found, "heatmap", output="yes"), Heat).unit
    figure = ranked(values, output=1)
    assert ticks(figure) == ["a", "b"]
    assert downwards(one_of_bars(figure, "on its own")) == [4.0, 2.0]
    assert figure.panels[0].x.label.startswith("loss in $, yes")


def test_pictures_that_do_not_exist_say_so(found):
    with pytest.raises(paribus.errors.OptionError, match="kind='network' is not one of 'bars', 'heatmap'"):
        picture(found, "network")
    with pytest.raises(paribus.errors.OptionError, match="statistic='pairs'"):
        picture(found, statistic="pairs")
    with pytest.raises(paribus.errors.OptionError, match="was not computed"):
        picture(found, statistic="threeway")
    with pytest.raises(paribus.errors.DrawingError, match="h_squared_total"):
        picture(found, statistic="total")
    for statistic in ("threeway", "overall"):
        with pytest.raises(paribus.errors.DrawingError, match="kind='bars'"):
            picture(found, "heatmap", statistic=statistic)
    with pytest.raises(paribus.errors.DrawingError, match="k=1 gives no pairs to plot; pass k=2 or more"):
        picture(found, "heatmap", k=1)
    with pytest.raises(paribus.errors.OptionError, match="k=0"):
        picture(found, k=0)
    with pytest.raises(paribus.errors.OptionError, match="k=0"):
        ranked(importance("ab", [1.0, 2.0]), k=0)


def test_numbers_that_are_not_finite_have_no_picture():
    broken = statistics("abc", [np.nan, 1.0, 2.0])
    for kind in KINDS:
        with pytest.raises(paribus.errors.DrawingError, match="not finite"):
            picture(broken, kind)
    with pytest.raises(paribus.errors.DrawingError, match="not finite"):
        ranked(importance("ab", [np.inf, 1.0]))


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_written_as_they_are(kind):
    names = ["price_$", "$x^2$", "municipality of somewhere number 1", "municipality of somewhere number 2"]
    figure = picture(statistics(names, np.ones(6)), kind)
    shown = " ".join([*words(figure), *ticks(figure)])
    shown += " ".join(ticks(figure, "x")) if kind == "heatmap" else ""
    assert "price_$" in shown
    assert "$x^2$" in shown
    assert "municipalit…e number 1" in shown
    assert "municipalit…e number 2" in shown


def test_labels_of_bars_are_complete_while_they_can_be_read():
    whole = "municipality of somewhere number 1"
    assert ticks(picture(statistics([whole, "b"], [1.0]))) == [f"{whole} × b"]
    assert ticks(ranked(importance([whole, "x" * 60], [2.0, 1.0]))) == [whole, "x" * 22 + "…" + "x" * 21]
    (label,) = ticks(picture(statistics([whole, "average number of"], [1.0])))
    assert label == "municipality …ere number 1 × average number of"  # the shorter one is complete
    for size in (1, 2, 3):
        group = tuple(letter * 50 for letter in "xyz"[:size])
        (label,) = ticks(ranked(importance([group], [1.0])))
        assert len(label) <= 50


@pytest.mark.parametrize("kind", KINDS)
def test_figures_of_the_same_numbers_are_equal(found, kind):
    again = statistics("abcd", [9.0, 1.0, 4.0, 0.0, 4e-6, 0.0], joint=[10.0, 0.05, 16.0, 4.0, 4.0, 4.0])
    other = statistics("abcd", [9.0, 1.0, 4.5, 0.0, 4e-6, 0.0], joint=[10.0, 0.05, 16.0, 4.0, 4.0, 4.0])
    assert picture(found, kind) == picture(again, kind)
    assert picture(found, kind) != picture(other, kind)


# --- what matters


def one_of_bars(figure, label):
    return next(bars for bars in marks(figure, Bars) if bars.label == label)


def test_importance_by_effect_shows_interactions_behind():
    figure = ranked(importance(["a", ("b", "c"), "d"], [1.0, 3.0, 0.0], sampled_rows=500, seed=0))
    together, own = marks(figure, Bars)  # what is behind comes first
    assert (together.label, own.label) == ("with its interactions", "on its own")
    assert downwards(own) == [3.0, 1.0]
    assert downwards(together) == [6.0, 2.0]
    assert together.alpha < own.alpha
    assert (together.width > own.width).all()
    np.testing.assert_allclose(own.error, [0.6, 0.2])
    ends = one(figure, Points)
    np.testing.assert_allclose(ends.error, [1.2, 0.4])
    np.testing.assert_array_equal(ends.x, together.length)
    assert ends.error_along == "x"
    # Errors of both are apart, each in the part of the row where its own bar is seen.
    assert (ends.y < own.at - own.width / 2).all()
    assert (ends.y > together.at - together.width / 2).all()
    assert ticks(figure) == ["b + c", "a"]
    assert figure.panels[0].x.label == "loss in $\n± 2 standard errors"
    assert figure.notes == (SAMPLE, "1 feature is exactly zero", SMALL)
    assert figure.panels[0].x.high > 6 + 1.2
    assert own.hover[0] == "b + c\nimportance 3, standard error 0.3"
    assert together.hover[0] == "b + c\nwith its interactions 6, standard error 0.6"


def test_importance_by_permutation_may_be_negative():
    figure = ranked(importance("abc", [1.0, -2.0, 3.0], kind="permutation"))
    bars = one(figure, Bars)
    assert downwards(bars) == [3.0, 1.0, -2.0]
    assert figure.panels[0].x.low < -2.4
    assert one(figure, Rule) == Rule(0.0, along="x")
    assert bars.label is None
    assert ticks(ranked(importance("abc", [1.0, -2.0, 3.0], kind="permutation"), k=1)) == ["c"]


def test_the_models_own_importance_has_no_errors():
    figure = ranked(importance("ab", [1.0, 2.0], kind="model"))
    bars = one(figure, Bars)
    assert bars.error is None
    assert bars.hover == ("b\nimportance 2", "a\nimportance 1")
    assert figure.panels[0].x.label == "loss in $"


def test_features_that_all_are_zero_are_said_in_words():
    figure = ranked(importance("ab", [0.0, 0.0]))
    assert words(figure) == ["2 features are exactly zero"]
    assert not marks(figure, Bars)


def test_large_groups_are_shortened():
    figure = ranked(importance([tuple("abcdef"), "g"], [1.0, 2.0]))
    assert ticks(figure) == ["g", "a + b + 4 more"]


# --- renderers


def figures(found):
    yield from (picture(found, kind) for kind in KINDS)
    yield picture(statistics([f"x{k}" for k in range(14)], np.ones(91)), "heatmap")
    yield picture(statistics("abc", np.zeros(3)))
    yield ranked(importance(["a", ("b", "c"), "d"], [1.0, 3.0, 0.0]))
    yield ranked(importance("abc", [1.0, -2.0, 3.0], kind="permutation"))


def test_matplotlib_draws_every_picture(found):
    from paribus._display.matplotlib import draw

    for figure in figures(found):
        page, axes = draw(figure)
        page.canvas.draw()
        assert len(axes) == len(figure.panels)


def test_matplotlib_has_one_color_bar_for_pairs(found):
    from paribus._display.matplotlib import draw

    page, (ax,) = draw(picture(found, "heatmap"))
    page.canvas.draw()
    (bar,) = ax.child_axes
    assert bar.get_ylabel().replace("\n", " ") == "strength of the interaction (prediction)"
    assert not bar.get_tightbbox().overlaps(ax.get_window_extent())


@pytest.mark.parametrize("kind", KINDS)
def test_axes_given_are_drawn_on_and_no_figure_is_made(found, kind):
    from paribus._display.matplotlib import draw

    page, axes = plt.subplots(1, 2)
    axes[0].set_title("mine")
    assert draw(picture(found, kind), axes[0]) == (page, [axes[0]])
    assert axes[0].get_title() == "mine"
    assert not axes[1].has_data()
    assert plt.get_fignums() == [page.number]
    page.canvas.draw()


def test_plotly_draws_every_picture(found):
    from paribus._display.plotly import draw

    for figure in figures(found):
        drawn = draw(figure)
        assert len(drawn.data) + len(drawn.layout.annotations) > 0
    (heat,) = (trace for trace in draw(picture(found, "heatmap")).data if trace.type == "heatmap")
    assert "a × b<br>strength 3, standard error 0.15" in str(heat.hovertext)


def test_composing_imports_no_plotting_package():
    code = (
        "import sys; import paribus._display.pictures; assert not {'matplotlib', 'plotly'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_importance_is_refused_with_the_way_out(rng):
    X = rng.normal(size=(60, 2))
    explanation = paribus.explain(lambda t: t[:, 0] * t[:, 1], X, percentiles=(0.05, 0.95), progress=False)
    with pytest.raises(
        paribus.errors.DrawingError, match=r"percentiles= .* leave these out, or plot the effects"
    ):
        explanation.importance.figure()

"""Pictures of interactions and importance as data: what they say is what was found, and what they leave out."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus
from handmade import importance, statistics
from paribus._display.compose.rankings import importance_figure, interactions_figure
from paribus._display.figure import Bars, Heat, Line, Points, Rule, Text

KINDS = ("bars", "heatmap", "network")
BACKGROUND = "Forest, 20,000 rows (unweighted)"
SAMPLE = "Forest, 500 of 20,000 rows, sampled with seed 0 (unweighted)"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def found():
    """Four features; pairs of strength 3, 1, 2, 0, 0.002 and 0, of which the one of 1 has no joint effect."""
    return statistics("abcd", [9.0, 1.0, 4.0, 0.0, 4e-6, 0.0], joint=[10.0, 0.05, 16.0, 4.0, 4.0, 4.0])


def picture(result, kind="bars", *, statistic="pairwise", k=15, output=None, effects=None):
    return interactions_figure(result, kind, statistic, k, output, effects)


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
        "the data is small",
    )
    figure = picture(statistics("ab", [1.0]))
    assert words(figure) == ["H² 0.25"]
    assert figure.notes == (
        BACKGROUND,
        "the data is small",
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
    assert picture(sampled, kind).notes == (SAMPLE, "the data is small")
    assert picture(found, kind).notes[0] == BACKGROUND


def test_other_statistics_have_bars():
    found = statistics("abcd", np.ones(6), triples=[1.0, 4.0, 0.0, 9.0])
    three = picture(found, statistic="threeway")
    assert ticks(three) == ["b × c × d", "a × b × d", "a × b × c"]
    assert three.notes == (BACKGROUND, "1 triple is exactly zero", "the data is small")
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
    for kind in ("heatmap", "network"):
        assert picture(found, kind).size[0] < picture(named, kind).size[0]
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
        "the data is small",
    )
    assert "every interaction is exactly zero" in picture(zero, "network").notes
    dead = statistics("abc", np.zeros(3), main=np.zeros((3, 1)))
    assert not marks(picture(dead, "heatmap"), Heat)
    assert "blank: exactly zero" in picture(dead, "heatmap").notes
    assert words(picture(dead, "network")) == list("abc")  # and no legend of what is not there


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


def test_a_network_has_at_most_ten_links_the_strongest(rng):
    strength = rng.random(45)
    found = statistics([f"x{k}" for k in range(10)], strength**2)
    figure = picture(found, "network")
    assert len(links(figure)) == 10
    assert "the strongest 10 of 45 links" in figure.notes
    drawn = {line.hover[5].split("\n")[0] for line in links(figure)}
    assert drawn == {" × ".join(one.features) for one in found.strongest(10)}


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
    assert figure.notes == (BACKGROUND, "13 of 20 features", "the data is small")
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
    assert figure.notes == (BACKGROUND, "dot: not requested", "the data is small")
    assert "·" not in words(picture(found, "heatmap"))


# --- network


def links(figure):
    return [line for line in marks(figure, Line) if line.hover]


def nodes(figure):
    return next(points for points in marks(figure, Points) if points.hover)


def test_a_network_draws_links_as_wide_as_they_are_strong(found):
    figure = picture(found, "network")
    widths = [line.width for line in links(figure)]
    assert len(widths) == 4
    assert widths == sorted(widths)  # the strongest lies on top
    assert widths[-1] == 9.0
    opaque = [line.alpha for line in links(figure)]
    assert opaque == sorted(opaque)
    assert figure.notes == (BACKGROUND, "the data is small")
    area = nodes(figure).size ** 2
    np.testing.assert_allclose(area / area.max(), [0.25, 0.5, 1.0, 0.75])  # a, b, d, c
    assert words(figure)[:4] == ["a", "b", "d", "c"]
    strongest, points = links(figure)[-1], nodes(figure)
    np.testing.assert_allclose([strongest.x[0], strongest.x[-1]], points.x[:2], atol=1e-12)  # a and b
    np.testing.assert_allclose([strongest.y[0], strongest.y[-1]], points.y[:2], atol=1e-12)
    assert points.y[0] == 1.0  # the strongest feature on top


def test_links_and_nodes_tell_what_they_are(found):
    figure = picture(found, "network")
    hover = links(figure)[-1].hover
    assert hover[5] == "a × b\nstrength 3, standard error 0.15\nH² 0.9, standard error 0.045"
    points = nodes(figure)
    assert points.hover[:2] == ("a\nown effect 1, standard error 0.05", "b\nown effect 2, standard error 0.1")
    assert (hover[0], hover[-1]) == points.hover[:2]  # a pointer at the end of a link is on a node


def test_a_network_says_what_widths_and_sizes_mean(found):
    figure = picture(found, "network")
    heads = ["link: interaction\n(prediction)", "node: own effect\n(prediction)"]
    texts = words(figure)[4:]
    assert texts == [heads[0], "0.3", "0.9", "3", heads[1], "0.4", "1", "4"]
    examples = [line for line in marks(figure, Line) if not line.hover]
    assert [line.width for line in examples] == sorted(line.width for line in examples)
    assert examples[-1].width == links(figure)[-1].width
    dots = [points for points in marks(figure, Points) if not points.hover]
    assert float(dots[-1].size[0]) == pytest.approx(float(nodes(figure).size.max()))
    assert float(dots[0].size[0] / dots[-1].size[0]) == pytest.approx(np.sqrt(0.1))
    # All of it stands to the right of every node and label, within the axis.
    legend = [text for text in marks(figure, Text) if text.text in texts]
    assert min(text.x for text in legend) > 1
    assert max(text.x for text in legend) < figure.panels[0].x.high


def test_long_units_are_told_in_lines_that_fit():
    output = "lives in municipality of somewhere"
    found = statistics("abc", [1.0, 2.0, 3.0], outputs=(output,), scale="probability")
    headings = [text for text in words(picture(found, "network")) if text.startswith(("link", "node"))]
    assert len(headings) == 2
    for heading in headings:
        assert max(map(len, heading.split("\n"))) <= 24
        assert f"(probability of {output})" in heading.replace("\n", " ")


@pytest.mark.parametrize("strongest", [0.2, 1.0, 3.0, 9.99, 12345.0, 7e-9])
def test_examples_are_round_and_none_is_above_the_strongest(strongest):
    found = statistics("ab", [strongest**2], main=[[strongest], [strongest / 2]])
    texts = words(picture(found, "network"))
    examples = [float(text.replace(",", "")) for text in texts if text[0].isdigit()][:3]
    assert len(examples) == len(set(examples)) == 3
    assert examples == sorted(examples)
    assert max(examples) <= strongest * (1 + 1e-9)
    assert all(len(f"{value:.0e}") == len(f"{value:.4e}".replace(".0000", "")) for value in examples)


@pytest.mark.parametrize("size", [2, 3, 6, 12, 13, 30])
@pytest.mark.parametrize("name", ["x{}", "average number of rooms per dwelling {}"])
def test_labels_of_a_network_do_not_meet(rng, size, name):
    found = statistics([name.format(k) for k in range(size)], rng.random(size * (size - 1) // 2))
    figure = picture(found, "network", k=size)
    names = marks(figure, Text)[:size]
    boxes = [outline(text, figure) for text in names]
    for place, box in enumerate(boxes):
        assert all(apart(box, other) for other in boxes[:place])
    heading = outline(marks(figure, Text)[size], figure)
    assert all(apart(box, heading) for box in boxes)
    x, y = figure.panels[0].x, figure.panels[0].y
    for box in boxes:
        assert x.low <= box[:, 0].min() / 72 / inches_of_a_unit(figure)
        assert box[:, 0].max() / 72 / inches_of_a_unit(figure) <= x.high
        assert np.abs(box[:, 1]).max() / 72 / inches_of_a_unit(figure) <= y.high


def inches_of_a_unit(figure):
    x = figure.panels[0].x
    return figure.size[0] / (x.high - x.low)


def outline(text, figure):
    """The corners of a text in points, by characters of usual width, rotated as it is."""
    lines = text.text.split("\n")
    wide, high = 0.55 * text.size * max(map(len, lines)), 1.2 * text.size * len(lines)
    left = {"left": 0.0, "center": -wide / 2, "right": -wide}[text.align]
    low = {"bottom": 0.0, "center": -high / 2, "top": -high}[text.upright]
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * [wide, high] + [left, low]
    angle = np.radians(text.rotation)
    turned = corners @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return turned + np.array(text.offset) + 72 * inches_of_a_unit(figure) * np.array([text.x, text.y])


def apart(one, other):
    """Whether a line parallel to a side of either box separates them."""
    for box in (one, other):
        for side in (box[1] - box[0], box[2] - box[1]):
            a, b = one @ side, other @ side
            if a.max() <= b.min() or b.max() <= a.min():
                return True
    return False


def test_labels_of_many_lie_along_the_rays(rng):
    found = statistics([f"x{k}" for k in range(20)], rng.random(190))
    assert {text.rotation for text in marks(picture(found, "network", k=12), Text)} == {0.0}
    for text in marks(picture(found, "network", k=20), Text)[:20]:
        ray = np.degrees(np.arctan2(text.y, text.x))
        assert np.isclose((text.rotation - ray) % 180, [0, 180], atol=1e-5).any()
        assert -90 <= (text.rotation + 180) % 360 - 180 <= 90 + 1e-6  # no name stands on its head
        assert (text.align, text.upright) == ("center", "center")  # the point around which all renderers turn
        assert np.hypot(*text.offset) > 5 + 9 * 0.3 * len(text.text) / 2  # beyond the node by half its length


# --- outputs, errors, names


def test_several_outputs_are_drawn_one_at_a_time():
    found = statistics(
        "abc", [[1.0, 4.0], [9.0, 0.0], [0.0, 1.0]], outputs=("no", "yes"), scale="probability"
    )
    values = importance("ab", [[1.0, 4.0], [3.0, 2.0]], outputs=("no", "yes"))
    for kind in (*KINDS, "panels"):
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
    assert "probability of yes" in " ".join(words(picture(found, "network", output="yes")))
    figure = ranked(values, output=1)
    assert ticks(figure) == ["a", "b"]
    assert downwards(one_of_bars(figure, "on its own")) == [4.0, 2.0]
    assert figure.panels[0].x.label.startswith("loss in $, yes")


def test_pictures_that_do_not_exist_say_so(found):
    with pytest.raises(
        paribus.errors.OptionError, match="kind='pie' is not one of 'bars', 'heatmap', 'network', 'panels'"
    ):
        picture(found, "pie")
    with pytest.raises(paribus.errors.OptionError, match="statistic='pairs'"):
        picture(found, statistic="pairs")
    with pytest.raises(paribus.errors.OptionError, match="was not computed"):
        picture(found, statistic="threeway")
    with pytest.raises(paribus.errors.DrawingError, match="h_squared_total"):
        picture(found, statistic="total")
    for kind in ("heatmap", "network", "panels"):
        for statistic in ("threeway", "overall"):
            with pytest.raises(paribus.errors.DrawingError, match="kind='bars'"):
                picture(found, kind, statistic=statistic)
    for kind in ("heatmap", "network"):
        with pytest.raises(paribus.errors.DrawingError, match="k=1 gives no pairs to plot; pass k=2 or more"):
            picture(found, kind, k=1)
    for kind in ("bars", "panels"):
        with pytest.raises(paribus.errors.OptionError, match="k=0"):
            picture(found, kind, k=0)
    with pytest.raises(paribus.errors.OptionError, match="k=0"):
        ranked(importance("ab", [1.0, 2.0]), k=0)


def test_numbers_that_are_not_finite_have_no_picture():
    broken = statistics("abc", [np.nan, 1.0, 2.0])
    for kind in (*KINDS, "panels"):
        with pytest.raises(paribus.errors.DrawingError, match="not finite"):
            picture(broken, kind)
    with pytest.raises(paribus.errors.DrawingError, match="not finite"):
        ranked(importance("ab", [np.inf, 1.0]))


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_written_as_they_are(kind):
    names = ["price_$", "$x^2$", "municipality of somewhere number 1", "municipality of somewhere number 2"]
    figure = picture(statistics(names, np.ones(6)), kind)
    shown = " ".join([*words(figure), *(ticks(figure) if kind != "network" else ())])
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
    assert figure.notes == (SAMPLE, "1 feature is exactly zero", "few rows")
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


# --- panels of the strongest pairs


@pytest.fixture(scope="module")
def modeled():
    """A model of three features in which a and b interact most, its statistics, and its two-way effects."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 3 * X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 0]
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    pairs = [(1, 0), (1, 2), (0, 2)]  # not as the statistics name them
    effects = paribus.effects(model, X, pairs, grid_resolution=6)
    return SimpleNamespace(statistics=paribus.h_statistic(model, X), effects=effects)


def test_the_strongest_pairs_are_panels(modeled):
    from paribus._display.compose.surfaces import surface_panel

    found = modeled.statistics
    figure = picture(found, "panels", k=2, effects=modeled.effects)
    assert len(figure.panels) == figure.columns == 2
    first = found.strongest(1)[0]
    assert set(first.features) == {0, 1}
    title = figure.panels[0].title
    names = " × ".join(found.feature_names[feature] for feature in first.features)
    assert title.startswith(names)
    assert f"strength {first.strength:.4g}, H² " in title
    assert f"H² {first.h_squared:.2g}" in title
    drawn = surface_panel(modeled.effects[found.feature_names[1], found.feature_names[0]], 0)
    assert figure.panels[0].marks == drawn.marks
    assert figure.notes[1] == "2 of 3 pairs"
    every = picture(found, "panels", k=15, effects=modeled.effects)
    assert len(every.panels) == every.columns == 3
    assert "pairs" not in " ".join(every.notes)
    assert figure.size[0] < every.size[0]


def test_panels_need_the_effects_of_their_pairs(modeled, found):
    with pytest.raises(paribus.errors.DrawingError) as refused:
        picture(found, "panels", k=2)
    assert "pass effects= with these pairs: paribus.effects(model, X, [('a', 'b'), ('a', 'd')])" in str(
        refused.value
    )
    assert "k=" not in str(refused.value)
    some = type(modeled.effects)([modeled.effects["x0", "x2"], modeled.effects["x1", "x0"]])
    with pytest.raises(paribus.errors.DrawingError, match=r"x1 x x2; .*\[\(0, 1\), \(1, 2\)\]\), or k=1"):
        picture(modeled.statistics, "panels", k=2, effects=some)
    assert len(picture(modeled.statistics, "panels", k=1, effects=some).panels) == 1


def test_effects_that_no_panel_shows_are_refused(modeled):
    for kind in KINDS:
        with pytest.raises(paribus.errors.DrawingError, match="kind='panels'"):
            picture(modeled.statistics, kind, effects=modeled.effects)
    zero = statistics("abc", np.zeros(3))
    with pytest.raises(paribus.errors.DrawingError, match="3 pairs are exactly zero"):
        picture(zero, "panels", effects=modeled.effects)
    other = alike(statistics(("x0", "x1"), [1.0], outputs=("cost",)), modeled.effects["x1", "x0"])
    with pytest.raises(paribus.errors.DrawingError, match="of prediction, not of cost"):
        picture(other, "panels", effects=modeled.effects)


def test_titles_are_in_lines_that_fit(modeled):
    long = statistics(["municipality of somewhere number 1", "b", "c"], [4.0, 1.0, 9.0])
    effect = modeled.effects["x1", "x0"]
    titles = [panel.title for panel in renamed(long, effect).panels]
    assert titles[0] == "b × c:\nstrength 3, H² 2.2"
    assert all(title.count("\n") == 1 for title in titles)
    brief = statistics("abc", [4.0, 1.0, 9.0])
    assert renamed(brief, effect).panels[0].title == "b × c: strength 3, H² 2.2"


def alike(result, effect):
    """A result built by hand, as if of the model and rows of an effect."""
    one, two = result.provenance, effect.provenance
    same = {name: getattr(two, name) for name in ("model", "scale", "rows", "fingerprint", "weights")}
    return replace(result, provenance=replace(one, **same))


def test_effects_of_other_rows_models_or_scales_are_refused(modeled):
    for name, value in {"scale": "log-odds", "fingerprint": "other", "rows": 7, "model": "Forest"}.items():
        provenance = replace(modeled.statistics.provenance, **{name: value})
        found = replace(modeled.statistics, provenance=provenance)
        with pytest.raises(paribus.errors.DrawingError, match=f"another {name}"):
            picture(found, "panels", k=1, effects=modeled.effects)


def renamed(result, effect):
    """Panels of a result built by hand: every pair has the same effect."""
    result = alike(result, effect)
    names = result.feature_names
    effects = {tuple(names[place] for place in pair): effect for pair in result.pairs}
    return picture(result, "panels", effects=effects)


# --- renderers


def figures(found, modeled):
    yield from (picture(found, kind) for kind in KINDS)
    yield picture(statistics([f"x{k}" for k in range(14)], np.ones(91)), "network")
    yield picture(statistics("abc", np.zeros(3)))
    yield picture(modeled.statistics, "panels", effects=modeled.effects)
    yield ranked(importance(["a", ("b", "c"), "d"], [1.0, 3.0, 0.0]))
    yield ranked(importance("abc", [1.0, -2.0, 3.0], kind="permutation"))


def test_matplotlib_draws_every_picture(found, modeled):
    from paribus._display.matplotlib import draw

    for figure in figures(found, modeled):
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


def test_plotly_draws_every_picture(found, modeled):
    from paribus._display.plotly import draw

    for figure in figures(found, modeled):
        drawn = draw(figure)
        assert len(drawn.data) + len(drawn.layout.annotations) > 0
    texts = [trace.hovertext for trace in draw(picture(found, "network")).data if trace.hovertext is not None]
    assert "a × b<br>strength 3, standard error 0.15" in str(texts)


def test_composing_imports_no_plotting_package():
    code = (
        "import sys; import paribus._display.pictures; assert not {'matplotlib', 'plotly'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Pictures of interactions and importance: what is drawn is what was found, and says what it leaves out."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import paribus
from handmade import importance, statistics

KINDS = ("bars", "heatmap", "network")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def found():
    """Four features; pairs of strength 3, 1, 2, 0, 0.002 and 0, of which the one of 1 has no joint effect."""
    return statistics("abcd", [9.0, 1.0, 4.0, 0.0, 4e-6, 0.0], joint=[10.0, 0.05, 16.0, 4.0, 4.0, 4.0])


def bars(ax):
    """The longest bar on top has the smallest y."""
    return sorted((bar.get_y(), round(bar.get_width(), 9)) for bar in ax.patches)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def half_lengths(container):
    """Half of the length of each error bar."""
    (segments,) = container[2]
    return [float(np.ptp(segment[:, 0])) / 2 for segment in segments.get_segments()]


def test_bars_are_strengths_with_their_errors(found):
    ax = found.plot()
    assert [width for _, width in bars(ax)] == [3.0, 2.0, 1.0, 0.002]
    assert ticks(ax.yaxis) == ["a × b", "a × d", "a × c", "b × d"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row is the uppermost
    errors = ax.containers[1]
    # A tenth of the square is a twentieth of the root; drawn are two standard errors.
    np.testing.assert_allclose(half_lengths(errors), [0.3, 0.2, 0.1, 0.0002])
    assert ax.get_xlabel() == "strength of the interaction (prediction)\n± 2 standard errors"
    assert texts(ax)[:4] == ["H² 0.90", "H² 0.25", "H² 20.00", "H² < 0.01"]
    assert ax.get_xlim()[0] == 0


def test_bars_say_what_they_leave_out(found):
    small = texts(found.plot())[-1]
    assert small.splitlines()[0] == "2 pairs are exactly zero"
    small = texts(found.plot(k=2))[-1]
    assert small == "2 of 6 pairs; 2 pairs are exactly zero\nthe data is small"
    assert texts(statistics("ab", [1.0]).plot()) == ["H² 0.25", "the data is small"]


def test_bars_whose_share_means_nothing_are_grey(found):
    ax = found.plot()
    grey = [bar.get_facecolor()[0] == bar.get_facecolor()[1] for bar in ax.patches]
    assert grey == [False, False, True, False]
    assert "grey: a joint effect below 0.1 %" in texts(ax)[-1]
    assert "grey" not in texts(found.plot(k=2))[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_rows_is_said(found, kind):
    sampled = statistics("abc", [1.0, 2.0, 3.0], sampled_rows=500, seed=0)
    assert texts(sampled.plot(kind))[-1].splitlines()[-2:] == ["500 of 20,000 rows", "the data is small"]
    assert "rows" not in "".join(texts(found.plot(kind)))


def test_other_statistics_have_bars():
    found = statistics("abcd", np.ones(6), triples=[1.0, 4.0, 0.0, 9.0])
    three = found.plot(statistic="threeway")
    assert ticks(three.yaxis) == ["b × c × d", "a × b × d", "a × b × c"]
    assert texts(three)[-1] == "1 triple is exactly zero\nthe data is small"
    assert three.get_xlabel().startswith("strength of the three-way interaction")
    each = found.plot(statistic="overall")
    assert ticks(each.yaxis) == list("abcd")
    assert [width for _, width in bars(each)] == [3.0] * 4


def test_nothing_but_zeros_is_said_in_words():
    zero = statistics("abc", np.zeros(3))
    ax = zero.plot()
    assert not ax.patches
    assert texts(ax) == ["3 pairs are exactly zero", "the data is small"]
    assert "every interaction is exactly zero" in texts(zero.plot("network"))[-1]
    heat = zero.plot("heatmap")
    assert len(heat.images) == 1  # the diagonal
    assert len(heat.figure.axes) == 2
    dead = statistics("abc", np.zeros(3), main=np.zeros((3, 1)))
    for kind in KINDS:
        ax = dead.plot(kind)
        ax.figure.canvas.draw()
        assert not ax.images


def test_a_heat_map_is_symmetric_with_own_effects_on_the_diagonal(found):
    ax = found.plot("heatmap")
    own, pairs = (image.get_array() for image in ax.images)
    assert ticks(ax.xaxis) == ticks(ax.yaxis) == ["a", "b", "d", "c"]  # by all interactions together
    np.testing.assert_array_equal(np.diag(own), [1.0, 2.0, 4.0, 3.0])
    assert np.ma.getmaskarray(own).sum() == 12
    np.testing.assert_array_equal(pairs.filled(0), pairs.filled(0).T)
    np.testing.assert_allclose(pairs.filled(0)[0], [0.0, 3.0, 2.0, 1.0])
    assert np.ma.getmaskarray(pairs)[1, 3]  # b and c: exactly zero, so blank
    labels = [axes.get_ylabel() for axes in ax.figure.axes[1:]]
    assert labels == [
        "own effect, on the diagonal\n(prediction)",
        "strength of the interaction\n(prediction)",
    ]
    assert "blank: exactly zero" in texts(ax)[-1]
    assert {"3", "2", "1", "0.002"} <= set(texts(ax))
    assert ax.images[0].cmap(0.5) != ax.images[1].cmap(0.5)


def test_a_heat_map_of_many_shows_the_strongest_without_numbers(rng):
    found = statistics([f"x{k}" for k in range(20)], rng.random(190))
    ax = found.plot("heatmap", k=12)
    assert len(ticks(ax.xaxis)) == 12
    assert ax.images[1].get_array().shape == (12, 12)
    assert texts(ax) == ["12 of 20 features\nthe data is small"]
    strongest = found.strongest(1)[0].features
    assert set(strongest) <= set(ticks(found.plot("heatmap", k=19).xaxis))


def test_pairs_not_asked_for_are_no_zeros(found):
    few = statistics("abc", [1.0, 4.0, 9.0])
    object.__setattr__(few, "pairs", few.pairs[:1])
    object.__setattr__(few, "pairwise", statistics("ab", [1.0]).pairwise)
    ax = few.plot("heatmap")
    assert texts(ax).count("·") == 4
    assert texts(ax)[-1] == "dot: not asked for\nthe data is small"
    assert "·" not in texts(found.plot("heatmap"))


def test_a_network_draws_links_as_wide_as_they_are_strong(found):
    ax = found.plot("network")
    widths = [line.get_linewidth() for line in ax.lines]
    assert len(widths) == 3
    assert widths == sorted(widths)  # the strongest lies on top
    opaque = [line.get_alpha() for line in ax.lines]
    assert opaque == sorted(opaque)
    assert texts(ax)[-1] == "without 1 link below 1 % of the strongest\nthe data is small"
    sizes = ax.collections[0].get_sizes()
    np.testing.assert_allclose(sizes / sizes.max(), [0.25, 0.5, 1.0, 0.75])  # a, b, d, c
    assert texts(ax)[:4] == ["a", "b", "d", "c"]
    ends = ax.lines[-1].get_xydata()
    np.testing.assert_allclose(ends, ax.collections[0].get_offsets()[:2])  # a and b


def test_a_network_says_what_widths_and_sizes_mean(found):
    ax = found.plot("network")
    legends = [child for child in ax.get_children() if type(child).__name__ == "Legend"]
    titles = {legend.get_title().get_text(): legend for legend in legends}
    assert set(titles) == {"link: interaction\n(prediction)", "node: own effect\n(prediction)"}
    link, node = (titles[title] for title in sorted(titles))
    assert [text.get_text() for text in link.get_texts()] == ["0.3", "0.9", "3"]
    assert [text.get_text() for text in node.get_texts()] == ["0.4", "1", "4"]
    assert link.get_lines()[-1].get_linewidth() == ax.lines[-1].get_linewidth()
    assert node.get_lines()[-1].get_markersize() ** 2 == pytest.approx(ax.collections[0].get_sizes().max())


@pytest.mark.parametrize("size", [3, 6, 12, 13, 30])
@pytest.mark.parametrize("name", ["x{}", "average number of rooms per dwelling {}"])
def test_labels_of_a_network_do_not_meet(rng, size, name):
    found = statistics([name.format(k) for k in range(size)], rng.random(size * (size - 1) // 2))
    ax = found.plot("network", k=size)
    ax.figure.canvas.draw()
    labels = [text for text in ax.texts if text.get_text().startswith(("x", "av"))]
    assert len(labels) == size
    corners = [outline(text) for text in labels]
    for place, one in enumerate(corners):
        for other in corners[:place]:
            assert apart(one, other)
    page = ax.figure.bbox
    assert all(page.contains(*corner) for box in corners for corner in box)


def outline(text):
    """The corners of a text, turned as it is."""
    turn = text.get_rotation()
    anchor = text.get_transform().transform(text.get_position())
    text.set_rotation(0)
    box = text.get_window_extent()
    text.set_rotation(turn)
    corners = box.corners()[[0, 1, 3, 2]] - anchor
    angle = np.radians(turn)
    return corners @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) + anchor


def apart(one, other):
    """Whether a line parallel to a side of either box separates them."""
    for box in (one, other):
        for side in (box[1] - box[0], box[2] - box[1]):
            a, b = one @ side, other @ side
            if a.max() <= b.min() or b.max() <= a.min():
                return True
    return False


def test_several_outputs_are_drawn_one_at_a_time():
    found = statistics(
        "abc", [[1.0, 4.0], [9.0, 0.0], [0.0, 1.0]], outputs=("no", "yes"), scale="probability"
    )
    values = importance("ab", [[1.0, 4.0], [3.0, 2.0]], outputs=("no", "yes"))
    for kind in KINDS:
        with pytest.raises(paribus.DrawingError, match="output= one of no, yes"):
            found.plot(kind)
    with pytest.raises(paribus.DrawingError, match="output= one of no, yes"):
        values.plot()
    with pytest.raises(paribus.OptionError, match="did you mean 'yes'"):
        values.plot(output="yess")
    ax = found.plot(output="yes")
    assert [width for _, width in bars(ax)] == [2.0, 1.0]
    assert ax.get_xlabel().startswith("strength of the interaction (probability of yes)")
    assert ticks(found.plot("heatmap", output=0).xaxis) == ["a", "c", "b"]
    ax = values.plot(output=1)
    assert ticks(ax.yaxis) == ["a", "b"]
    assert ax.get_xlabel().startswith(r"loss in \$, yes")


def test_pictures_that_do_not_exist_say_so(found):
    with pytest.raises(paribus.OptionError, match="kind='pie' is not one of 'bars', 'heatmap', 'network'"):
        found.plot("pie")
    with pytest.raises(paribus.OptionError, match="statistic='pairs'"):
        found.plot(statistic="pairs")
    with pytest.raises(paribus.OptionError, match="was not computed"):
        found.plot(statistic="threeway")
    with pytest.raises(paribus.DrawingError, match="h_squared_total"):
        found.plot(statistic="total")
    for kind in ("heatmap", "network"):
        for statistic in ("threeway", "overall"):
            with pytest.raises(paribus.DrawingError, match="kind='bars'"):
                found.plot(kind, statistic=statistic)
    for result in (found, importance("ab", [1.0, 2.0])):
        with pytest.raises(paribus.OptionError, match="k=0"):
            result.plot(k=0)
    assert not plt.get_fignums()


@pytest.mark.parametrize("kind", KINDS)
def test_axes_given_are_drawn_on_and_no_figure_is_made(found, kind):
    figure, axes = plt.subplots(1, 2)
    axes[0].set_title("mine")
    assert found.plot(kind, ax=axes[0]) is axes[0]
    assert axes[0].get_title() == "mine"
    assert not axes[1].has_data()
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()


def test_colour_bars_do_not_meet_on_axes_given(found):
    figure, ax = plt.subplots(figsize=(7, 4.5))
    found.plot("heatmap", ax=ax)
    figure.canvas.draw()
    boxes = [axes.get_tightbbox() for axes in figure.axes[1:]]
    assert not boxes[0].overlaps(boxes[1])


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_written_as_they_are(kind):
    names = ["price_$", "$x^2$", "municipality of somewhere number 1", "municipality of somewhere number 2"]
    ax = statistics(names, np.ones(6)).plot(kind)
    ax.figure.canvas.draw()
    shown = " ".join([*texts(ax), *ticks(ax.yaxis)])
    assert r"price_\$" in shown
    assert r"\$x^2\$" in shown
    assert "municipalit…e number 1" in shown
    assert "municipalit…e number 2" in shown


def test_importance_by_effect_shows_interactions_behind():
    ax = importance(["a", ("b", "c"), "d"], [1.0, 3.0, 0.0], sampled_rows=500, seed=0).plot()
    own, together = (c for c in ax.containers if hasattr(c, "patches"))
    assert [bar.get_width() for bar in own] == [3.0, 1.0]
    assert [bar.get_width() for bar in together] == [6.0, 2.0]
    assert together[0].get_zorder() < own[0].get_zorder()
    assert together[0].get_height() > own[0].get_height()
    lengths = [half_lengths(c) for c in ax.containers if not hasattr(c, "patches")]
    np.testing.assert_allclose(lengths, [[0.6, 0.2], [1.2, 0.4]])
    assert ticks(ax.yaxis) == ["b + c", "a"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "on its own",
        "with its interactions",
    ]
    assert ax.get_xlabel() == "loss in \\$\n± 2 standard errors"
    assert texts(ax)[-1] == "1 feature is exactly zero\n500 of 20,000 rows\nfew rows"
    assert ax.get_xlim()[1] > 6 + 1.2


def test_importance_by_permutation_may_be_negative():
    ax = importance("abc", [1.0, -2.0, 3.0], method="permutation").plot()
    assert [width for _, width in bars(ax)] == [3.0, 1.0, -2.0]
    assert ax.get_xlim()[0] < -2.4
    assert ax.get_legend() is None
    assert ticks(importance("abc", [1.0, -2.0, 3.0], method="permutation").plot(k=1).yaxis) == ["c"]


def test_the_models_own_importance_has_no_errors():
    ax = importance("ab", [1.0, 2.0], method="model").plot()
    (errors,) = (c for c in ax.containers if not hasattr(c, "patches"))
    assert half_lengths(errors) == []
    assert ax.get_xlabel() == r"loss in \$"


def test_large_groups_are_shortened():
    ax = importance([tuple("abcdef"), "g"], [1.0, 2.0]).plot()
    assert ticks(ax.yaxis) == ["g", "a + b + 4 more"]

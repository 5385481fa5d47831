"""The matplotlib renderer: every mark is drawn with the numbers it has, and what axes already say stays."""

import pickle
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from matplotlib.collections import PolyCollection, QuadMesh  # noqa: E402
from matplotlib.colors import to_rgba  # noqa: E402

from paribus._display.figure import (  # noqa: E402
    Band,
    Bars,
    Contours,
    Figure,
    Hatch,
    Heat,
    Line,
    Panel,
    PanelAxis,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.matplotlib import draw, png  # noqa: E402
from paribus.errors import DrawingError  # noqa: E402

X = np.array([0.0, 1.0, 2.0, 3.0])
Y = np.array([1.0, 3.0, 2.0, 5.0])
ONES = np.ones(4)
EDGES = np.arange(5.0) - 0.5
TABLE = np.add.outer(X, Y)
STRUCK = TABLE > 6
WORDS = tuple(tuple(f"{value:.0f}" for value in row) for row in TABLE)

MARKS = {
    "line": Line(X, Y, "#0072B2", label="a"),
    "steps": Line(X, Y, "#0072B2", steps=True, dash="dashed"),
    "band": Band(X, Y - 1, Y + 1, "#0072B2", label="b"),
    "stepped band": Band(X, Y - 1, Y + 1, "ink", steps=True),
    "points": Points(X, Y, "#D55E00", marker="diamond", size=X + 4, label="c"),
    "points with error": Points(X, Y, "#D55E00", error=ONES / 2),
    "points with error along x": Points(X, Y, "#D55E00", error=ONES / 2, error_along="x", marker="bar"),
    "bars": Bars(X, Y, ONES * 0.8, "#009E73", error=ONES / 2, label="d"),
    "category bars": Bars(
        X, Y, ONES * 0.8, ("red", "green", "blue", "ink"), base=ONES, horizontal=True, error=ONES
    ),
    "strip": Strip(X, Y, ONES, most=5.0),
    "strip along y": Strip(X, Y, ONES, most=5.0, along="y"),
    "rug": Rug(X),
    "rug along y": Rug(X, along="y"),
    "heat": Heat(EDGES, EDGES, TABLE, "viridis", 1.0, 8.0, "unit", written=WORDS),
    "heat of own colors": Heat(EDGES, EDGES, TABLE, ("#ffffff", "#0072B2"), 1.0, 8.0, None),
    "contours": Contours(X, X, TABLE, np.linspace(1, 8, 8), "viridis", "unit"),
    "hatch": Hatch(EDGES, EDGES, STRUCK, label="no data"),
    "rule": Rule(2.5),
    "upright rule": Rule(2.5, along="x"),
    "text": Text(1.0, 2.0, "said", rotation=90, color="ink", offset=(3.0, 3.0)),
}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def of(*marks, **parts):
    return Figure((Panel(marks, **parts),))


def drawn(*marks, **parts):
    page, (ax,) = draw(of(*marks, **parts))
    page.canvas.draw()
    return ax


def legend_of(page):
    """Return the words of all legends on a page, as they are read."""
    legends = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_every_mark_is_drawn_on_a_new_page_and_on_given_axes(mark):
    page, (ax,) = draw(of(mark))
    page.canvas.draw()
    assert ax.get_children()
    assert ax.has_data() or ax.texts
    _, own = plt.subplots()
    open_pages = plt.get_fignums()
    other, axes = draw(of(mark), own)
    other.canvas.draw()
    assert axes == [own]
    assert other is own.figure
    assert own.has_data() or own.texts
    assert plt.get_fignums() == open_pages


def test_later_marks_lie_over_earlier_ones():
    ax = drawn(MARKS["points"], MARKS["line"], MARKS["band"])
    points, band = ax.collections
    assert points.get_zorder() < ax.lines[0].get_zorder() < band.get_zorder()


# --- numbers


def test_a_line_goes_through_its_points():
    (line,) = drawn(MARKS["steps"]).lines
    assert np.array_equal(line.get_xydata(), np.stack([X, Y], axis=1))
    assert line.get_drawstyle() == "steps-post"
    assert line.get_linestyle() == "--"


def test_a_point_between_gaps_is_seen():
    lines = drawn(Line(X, np.array([np.nan, 3.0, np.nan, np.nan]), "#0072B2")).lines
    assert lines[-1].get_marker() == "."
    assert lines[-1].get_xydata().tolist() == [[1.0, 3.0]]


@pytest.mark.parametrize(("along", "column"), [("x", 0), ("y", 1)])
def test_error_bars_end_where_they_should(along, column):
    (bars,) = drawn(Points(X, Y, "ink", error=ONES / 2, error_along=along)).containers
    segments = np.array(bars.lines[2][0].get_segments())
    center = (X, Y)[column]
    assert np.array_equal(segments[:, :, column], np.stack([center - 0.5, center + 0.5], axis=1))


def test_bars_have_their_lengths_and_errors_at_their_ends():
    ax = drawn(MARKS["category bars"])
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(1.0, length) for length in Y]
    assert [bar.get_facecolor() for bar in ax.patches][:2] == [to_rgba("red"), to_rgba("green")]
    segments = np.array(ax.collections[0].get_segments())
    assert np.array_equal(segments[:, :, 0], np.stack([Y, Y + 2], axis=1))


def test_a_strip_is_a_share_of_the_panel_and_leaves_its_limits():
    ax = drawn(Line(X, Y, "#0072B2"), Strip(X, Y, ONES, most=10.0))
    (strip,) = ax.collections
    tops = np.array([path.vertices[:, 1].max() for path in strip.get_paths()])
    assert np.allclose(tops / tops[-1], Y / Y[-1])
    assert 0.02 < tops[-1] < 0.2
    assert ax.get_ylim()[0] > 0.5  # the curve's own, although the strip's bars start from the panel's edge
    assert ax.get_xlim()[0] < -0.5  # but the outermost bars are whole


def test_heat_has_its_numbers_written_to_be_read():
    ax = drawn(MARKS["heat"])
    (mesh,) = [one for one in ax.collections if isinstance(one, QuadMesh)]
    assert np.array_equal(mesh.get_array().reshape(TABLE.shape), TABLE)
    assert mesh.get_clim() == (1.0, 8.0)
    assert [text.get_text() for text in ax.texts] == [word for row in WORDS for word in row]
    assert ax.texts[0].get_color() == "white"
    assert ax.texts[-1].get_color() == "black"


def inked(ax):
    """Return how much of axes is dark."""
    ax.figure.canvas.draw()
    box = ax.get_window_extent()
    seen = np.asarray(ax.figure.canvas.buffer_rgba())[..., :3].mean(axis=2)[::-1]
    return float((seen[int(box.y0) + 2 : int(box.y1) - 2, int(box.x0) + 2 : int(box.x1) - 2] < 150).mean())


def test_numbers_in_cells_are_as_small_as_cells_and_none_where_they_would_not_be_read():
    white = Heat(
        EDGES, EDGES, 0 * TABLE, ("#ffffff", "#ffffff"), 0.0, 1.0, None, written=(("-123.4",) * 4,) * 4
    )
    page, (ax, other) = plt.subplots(1, 2)
    draw(of(white), ax)
    assert inked(ax) > 0
    before = ax.texts[0].get_fontsize()
    page.set_size_inches(4.4, 3.3)
    page.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert ax.texts[0].get_fontsize() < before
    assert all(box.width < ax.get_window_extent().width / 4 for box in boxes)
    draw(of(replace(white, written=(("a word as long as this",) * 4,) * 4)), other)
    assert inked(other) == 0


def test_own_colors_of_heat_run_from_the_first_to_the_last():
    mesh = drawn(MARKS["heat of own colors"]).collections[0]
    assert mesh.to_rgba(1.0)[:3] == (1, 1, 1)
    assert np.allclose(mesh.to_rgba(8.0), to_rgba("#0072B2"))


def test_as_many_cells_are_hatched_as_are_struck_out():
    (cells,) = [one for one in drawn(MARKS["hatch"]).collections if isinstance(one, PolyCollection)]
    assert len(cells.get_paths()) == STRUCK.sum()
    assert cells.get_hatch()


def test_level_contours_are_filled_without_lines():
    ax = drawn(Contours(X, X, np.full((4, 4), 2.0), np.array([1.0, 2.0, 3.0]), "viridis", "unit"))
    assert len(ax.collections) == 1


# --- beside


def beside():
    right = Panel(
        (Points(np.zeros(1), Y[:1], "ink", label="a"),),
        x=PanelAxis(scale="category", ticks=((0.0, "missing\n3.1 %"),)),
    )
    return Panel((MARKS["heat"], Line(X, X, "ink", label="a")), right=(right,), top=Panel((MARKS["bars"],)))


def test_side_panels_share_the_axis_and_the_color_bar_stands_beyond():
    page, (ax,) = draw(Figure((beside(),)))
    page.canvas.draw()
    right, top, bar = ax.child_axes
    assert right.get_ylim() == ax.get_ylim()
    assert top.get_xlim() == ax.get_xlim()
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["missing\n3.1 %"]
    assert not any(tick.get_visible() and tick.get_text() for tick in right.get_yticklabels())
    ends = [part.get_window_extent() for part in (ax, right, bar)]
    assert ends[0].x1 < ends[1].x0
    assert ends[1].x1 < ends[2].x0
    assert top.get_window_extent().y0 > ends[0].y1
    assert bar.get_ylabel() == "unit"


def test_strips_are_in_order_and_the_numbers_of_y_to_the_left_of_them():
    low, high, missing = (
        Panel((Line(X, Y, "ink"),), PanelAxis(scale="category", ticks=((1.5, text),), low=0.0, high=3.0))
        for text in ("from 1", "to 9", "missing")
    )
    ax = drawn(Line(X, Y, "ink"), left=(low,), right=(high, missing))
    parts = {part.get_xticklabels()[0].get_text(): part for part in ax.child_axes}
    boxes = [part.get_window_extent() for part in (parts["from 1"], ax, parts["to 9"], parts["missing"])]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
    numbers = [tick.get_window_extent() for tick in ax.get_yticklabels() if tick.get_text()]
    assert len(numbers) > 2
    assert all(box.x1 < boxes[0].x0 for box in numbers)
    assert all(part.get_ylim() == ax.get_ylim() for part in ax.child_axes)
    assert parts["from 1"].spines.left.get_visible()
    assert not ax.spines.left.get_visible()


def test_every_scale_of_colors_is_explained():
    low = Heat(EDGES, EDGES, np.where(STRUCK, np.nan, TABLE), "viridis", 1.0, 8.0, "one")
    high = Heat(EDGES, EDGES, np.where(STRUCK, TABLE, np.nan), "RdBu_r", 1.0, 8.0, "two")
    one, two = drawn(low, high, equal=True).child_axes
    assert [one.get_ylabel(), two.get_ylabel()] == ["one", "two"]
    assert one.get_window_extent().y0 > two.get_window_extent().y1


def test_bars_lie_across_what_is_measured():
    across, level = (
        drawn(Points(X, Y, "ink", marker="bar", error_along=along)).collections[0] for along in ("x", "y")
    )
    assert np.ptp(across.get_paths()[0].vertices[:, 0]) < 1e-9
    assert np.ptp(level.get_paths()[0].vertices[:, 1]) < 1e-9


def test_nothing_is_beyond_the_page():
    page, axes = draw(Figure((beside(), Panel(beside().marks, legend="panel", legend_title="t")), columns=2))
    page.canvas.draw()
    for ax in axes:
        box = ax.get_tightbbox()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= page.bbox.width + 1
        assert box.y1 <= page.bbox.height + 1


# --- axes


def test_axes_have_the_ends_ticks_and_words_of_the_figure():
    ticks = ((0.0, "zero"), (2.0, "two"))
    ax = drawn(
        MARKS["line"],
        x=PanelAxis("the x", "category", ticks, turned=True, low=-1, high=4),
        y=PanelAxis("the y", numbers=False),
    )
    assert ax.get_xlim() == (-1, 4)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("the x", "the y")
    assert [(tick.get_text(), tick.get_rotation()) for tick in ax.get_xticklabels()] == [
        ("zero", 90),
        ("two", 90),
    ]
    assert not any(tick.label1.get_visible() for tick in ax.yaxis.get_major_ticks())


def test_dates_are_read_as_days_since_1970():
    ax = drawn(Line(np.array([16071.0, 17166.0]), np.zeros(2), "ink"), x=PanelAxis("day", "date"))
    assert {"2014", "2015", "2016"} <= {tick.get_text() for tick in ax.get_xticklabels()}


def test_an_axis_without_scale_is_not_seen():
    ax = drawn(MARKS["line"], x=PanelAxis(scale="none"), y=PanelAxis(scale="none"))
    assert not len(ax.get_xticks())
    assert not any(spine.get_visible() for spine in ax.spines.values())


def test_many_words_are_smaller():
    def size(count):
        ticks = tuple((float(i), "a word") for i in range(count))
        return (
            drawn(MARKS["line"], x=PanelAxis(scale="category", ticks=ticks)).get_xticklabels()[0].get_size()
        )

    assert size(3) > size(12) >= 5


def test_equal_panels_have_units_as_long():
    ax = drawn(MARKS["heat"], equal=True)
    assert ax.get_aspect() == 1


# --- given axes


def test_what_axes_say_and_show_stays():
    _, ax = plt.subplots()
    (own,) = ax.plot([-10, 10], [-20, 20], label="mine")
    ax.legend(title="theirs")
    ax.set(xlabel="own x", ylabel="own y", title="own title")
    figure = Figure(
        (Panel((MARKS["line"],), x=PanelAxis("x", low=0, high=3), y=PanelAxis("y"), title="t"),), title="T"
    )
    draw(figure, ax)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("own x", "own y", "own title")
    assert not ax.get_title(loc="left")
    assert own in ax.lines
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mine", "a"]
    assert ax.get_legend().get_title().get_text() == "theirs"
    assert ax.spines["top"].get_visible()


def test_given_axes_without_scales_lose_their_frame():
    _, (ax, other) = plt.subplots(1, 2)
    other.plot([0, 1], [0, 1])
    scaleless = of(MARKS["line"], x=PanelAxis(scale="none"), y=PanelAxis(scale="none"))
    draw(scaleless, ax)
    draw(scaleless, other)
    assert not any(spine.get_visible() for spine in ax.spines.values())
    assert all(spine.get_visible() for spine in other.spines.values())


def test_limits_of_axes_that_show_something_widen():
    _, ax = plt.subplots()
    ax.plot([-10, 1], [0, 1])
    low, _ = ax.get_xlim()
    draw(of(MARKS["line"], x=PanelAxis(low=0, high=7), y=PanelAxis(low=-3, high=2)), ax)
    wider, high = ax.get_xlim()
    assert low - 0.5 < wider < low
    assert high == 7
    assert ax.get_ylim() == (-3, 2)
    draw(of(Line(X, 10 * Y, "ink")), ax)
    assert ax.get_xlim() == (wider, 7)
    assert ax.get_ylim()[1] >= 50


def test_limits_set_before_anything_is_shown_stay():
    _, ax = plt.subplots()
    ax.set_ylim(0, 1)
    draw(of(MARKS["line"], y=PanelAxis(low=-3, high=2)), ax)
    assert ax.get_ylim() == (0, 1)


def test_an_axis_turned_round_stays_so():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    ax.invert_yaxis()
    draw(of(MARKS["line"], y=PanelAxis(low=-3, high=6)), ax)
    assert ax.get_ylim() == (6, -3)


def test_axes_may_be_an_array_but_as_many_as_panels():
    two = Figure((Panel((MARKS["line"],)), Panel((MARKS["line"], MARKS["bars"]))))
    page, given = plt.subplots(2, 1)
    assert draw(two, given)[1] == list(given)
    assert legend_of(page) == ["a", "d"]  # each once, where it comes first
    with pytest.raises(DrawingError, match=r"1 axes .* 2 panels"):
        draw(two, given[0])
    with pytest.raises(DrawingError, match="not Figure"):
        draw(of(MARKS["line"]), page)


def curves(low, high, **of):
    """Return a figure of one panel from low to high, with the strip of data below."""
    y = np.linspace(low, high, 4)
    axis = PanelAxis("y", low=low - 0.25 * (high - low), high=high, tick_low=low)
    return Figure((Panel((Line(X, y, "#0072B2", label="mean"), Strip(X, Y, ONES, most=5.0)), y=axis),), **of)


def words_along_y(ax):
    ax.figure.canvas.draw()
    low, high = sorted(ax.get_ylim())
    return {
        tick: text.get_text()
        for tick, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        if low <= tick <= high
    }


def test_axes_that_share_a_side_show_all_that_is_drawn_on_any_of_them():
    _, axes = plt.subplots(1, 3, sharey=True)
    for ax, (low, high) in zip(axes, [(0, 1), (-5, 0.5), (0, 30)], strict=True):
        draw(curves(low, high), ax)
    assert axes[0].get_ylim() == (-7.5, 30)
    _, axes = plt.subplots(2, 1, sharex=True)
    draw(of(MARKS["line"], x=PanelAxis(low=0, high=3)), axes[0])
    draw(of(MARKS["line"], x=PanelAxis(low=2, high=8)), axes[1])
    assert axes[0].get_xlim() == (0, 8)


def test_what_is_drawn_later_on_axes_is_seen():
    _, ax = plt.subplots()
    draw(curves(0, 1), ax)
    ax.plot([0, 1], [0.5, 0.6])
    assert ax.get_ylim() == (-0.25, 1)
    ax.plot([0, 1], [0, 3])
    assert ax.get_ylim()[1] > 3
    assert ax.get_ylim()[0] == -0.25


def test_limits_set_after_something_is_shown_stay():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    ax.set(xlim=(-1, 1), ylim=(0, 1))
    ticks = ((0.0, "zero"), (9.0, "nine"))
    draw(
        of(
            MARKS["line"],
            x=PanelAxis(scale="category", ticks=ticks, low=0, high=9),
            y=PanelAxis(low=-3, high=2),
        ),
        ax,
    )
    assert ax.get_xlim() == (-1, 1)
    assert ax.get_ylim() == (0, 1)


def test_an_axis_has_round_numbers_above_the_data_whatever_it_shows():
    _, ax = plt.subplots()
    draw(curves(100, 160), ax)
    assert words_along_y(ax) == {float(tick): str(tick) for tick in range(100, 161, 10)}
    ax.set_ylim(0, 400)
    numbers = words_along_y(ax)
    assert len(numbers) >= 4
    assert min(numbers) >= 400 * 0.2
    assert max(numbers) > 350
    assert all(float(word) == tick for tick, word in numbers.items())
    ax.set_ylim(120.00001, 120.00004)
    assert len(set(words_along_y(ax).values())) == len(words_along_y(ax)) >= 3
    assert not ax.yaxis.get_offset_text().get_text()
    ax.set_ylim(400, 0)
    assert max(words_along_y(ax)) <= 400 * 0.8
    ax.set_ylim(0, 40000)
    assert "20,000" in words_along_y(ax).values()


def test_ticks_that_are_given_are_all_there_are():
    hours = ((3600.0, "1"), (7200.0, "2"))
    ax = drawn(Line(X * 3600, Y, "ink"), x=PanelAxis("waited (hours)", ticks=hours, low=0.0, high=10800.0))
    assert list(ax.get_xticks()) == [3600.0, 7200.0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2"]
    assert not len(drawn(MARKS["line"], x=PanelAxis("x", ticks=())).get_xticks())


@pytest.mark.parametrize("prepare", ["limits", "line", "result"])
def test_the_whole_axis_has_numbers_whatever_it_showed(prepare):
    _, ax = plt.subplots()
    if prepare == "limits":
        ax.set_ylim(0, 1000)
    elif prepare == "line":
        ax.plot([0, 1], [0, 1000])
    else:
        draw(curves(0, 1000), ax)
    draw(curves(100, 160), ax)
    assert min(words_along_y(ax)) <= 250
    assert max(words_along_y(ax)) >= 800


def test_ticks_and_scales_somebody_has_set_stay():
    _, (ax, other) = plt.subplots(1, 2)
    ax.set_yticks([1.0, 2.0])
    other.set_yscale("log")
    before = other.yaxis.get_major_locator()
    for one in (ax, other):
        draw(curves(1, 5), one)
    assert list(ax.get_yticks()) == [1.0, 2.0]
    assert other.yaxis.get_major_locator() is before


def notes_below(ax):
    """Return what stands below the label of x, in the order it is read, each in one line."""
    ax.figure.canvas.draw()
    floor = ax.xaxis.label.get_window_extent().y0
    below = [text for text in ax.texts if text.get_window_extent().y1 <= floor]
    below.sort(key=lambda text: -text.get_window_extent().y1)
    return [text.get_text().replace("\n", " ") for text in below]


def test_notes_stand_below_given_axes_each_once():
    _, ax = plt.subplots(layout="constrained")
    draw(curves(0, 1, notes=("note",)), ax)
    assert notes_below(ax) == ["note"]
    draw(curves(0, 2, notes=("another", "note")), ax)
    assert notes_below(ax) == ["note", "another"]
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    assert all(box.y0 >= 0 for box in boxes)


def test_notes_of_several_panels_stand_once_below_the_last():
    _, axes = plt.subplots(2, 2)
    panel = curves(0, 1).panels[0]
    draw(Figure((panel,) * 4, notes=("note",)), axes)
    assert [notes_below(ax) for ax in axes.flat] == [[], [], [], ["note"]]
    assert [ax.get_legend() is not None for ax in axes.flat] == [True, False, False, False]


def test_legends_on_given_axes_explain_what_was_there_and_what_came():
    _, ax = plt.subplots()
    draw(curves(0, 1), ax)
    draw(of(MARKS["line"]), ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mean", "a"]


def test_a_legend_on_given_axes_lies_within_them_and_off_the_curves():
    page, ax = plt.subplots(figsize=(6, 4))
    lines = tuple(Line(X, Y * slope, "ink", label=f"a rather long name {slope}") for slope in (-1, 0, 1))
    draw(of(*lines, x=PanelAxis("x")), ax)
    page.canvas.draw()
    legend, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
    paths = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
    assert not any(path.intersects_bbox(legend, filled=False) for path in paths)
    assert inside.x0 <= legend.x0 < legend.x1 <= inside.x1
    assert inside.y0 <= legend.y0 < legend.y1 <= inside.y1


def test_axes_reach_higher_where_a_legend_would_lie_on_curves():
    across = [
        Line(X, np.full(len(X), 0.5 * k), "ink", label="each" if k == 1 else None) for k in range(1, 11)
    ]
    crossed = of(*across, x=PanelAxis("x"), y=PanelAxis(low=0.0, high=5.0))
    page, (ax, fixed) = plt.subplots(1, 2, figsize=(6, 3))
    fixed.set_ylim(0, 5)
    draw(crossed, ax)
    draw(crossed, fixed)
    page.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    paths = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
    assert not any(path.intersects_bbox(legend, filled=False) for path in paths)
    assert ax.get_ylim()[0] == 0
    assert 5.2 < ax.get_ylim()[1] < 7
    assert max(words_along_y(ax)) <= 5
    assert fixed.get_ylim() == (0, 5)
    ax.plot([0, 1], [0, 20])
    assert ax.get_ylim()[1] >= 20
    assert max(words_along_y(ax)) == 20
    thin = of(
        *(replace(line, width=0.5) for line in across), x=PanelAxis("x"), y=PanelAxis(low=0.0, high=5.0)
    )
    _, ax = plt.subplots(figsize=(3, 3))
    draw(thin, ax)
    assert ax.get_ylim() == (0, 5)


def test_a_panels_own_legend_stands_beside_given_axes_where_a_layout_engine_makes_room():
    figure = of(MARKS["line"], legend="panel", legend_title="which")
    for layout in (None, "constrained"):
        page, ax = plt.subplots(layout=layout)
        draw(figure, ax)
        page.canvas.draw()
        legend, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert (legend.x0 > inside.x1) == (layout is not None)
        assert legend.x1 <= page.bbox.width


def full_figure():
    """Return a panel with all that stands around one: labels, a narrow panel, a color bar and notes."""
    panel = replace(beside(), x=PanelAxis("the x"), y=PanelAxis("the y"), title="title")
    return Figure((panel,), notes=("one note", "another note that is long enough for two lines of it"))


def test_axes_that_somebody_has_are_neither_moved_nor_resized():
    page, axes = plt.subplots(2, 2, figsize=(6, 4.5), sharey="row")
    before = [ax.get_position().bounds for ax in axes.flat]
    for ax in axes.flat:
        draw(full_figure(), ax)
    page.canvas.draw()
    assert [ax.get_position().bounds for ax in axes.flat] == before
    assert page.get_layout_engine() is None


def test_a_layout_engine_makes_room_for_what_stands_around_given_axes():
    page, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for ax in axes.flat:
        draw(full_figure(), ax)
    page.canvas.draw()
    words = [ax.get_tightbbox() for ax in axes.flat]
    assert not any(one.overlaps(two) for one, two in combinations(words, 2))
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in words)
    assert all(box.x1 <= page.bbox.width + 1 and box.y1 <= page.bbox.height + 1 for box in words)
    assert all(ax.get_window_extent().height > 50 for ax in axes.flat)


def test_a_picture_without_axes_shrinks_as_a_whole():
    marks = (Points(X, Y, "ink", size=20.0), Line(X, Y, "ink", width=4.0), Text(0.0, 1.0, "a", size=10.0))
    figure = Figure((Panel(marks, x=PanelAxis(scale="none"), y=PanelAxis(scale="none")),), size=(8, 6))
    sizes = []
    for wide in (20, 5):
        _, ax = plt.subplots(figsize=(wide, wide), layout="constrained")
        draw(figure, ax)
        sizes.append((ax.collections[0].get_sizes()[0], ax.lines[0].get_linewidth(), ax.texts[0].get_size()))
    assert sizes[0] == (400, 4, 10)
    assert all(small < 0.8 * large for small, large in zip(sizes[1], sizes[0], strict=True))


def test_words_that_would_be_tiny_beside_each_other_are_turned():
    ticks = tuple((float(i), "a word of some length") for i in range(8))
    ax = drawn(MARKS["line"], x=PanelAxis(scale="category", ticks=ticks))
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {90}
    assert ax.get_xticklabels()[0].get_size() >= 8


def test_a_long_name_is_no_longer_than_its_axis():
    name = (
        "a_very_long_name_of_a_feature_that_has_no_space_anywhere_and_is_longer_than_its_panel_twice_or_more"
    )
    page, (ax,) = draw(of(MARKS["line"], x=PanelAxis(name), y=PanelAxis(name)))
    page.canvas.draw()
    assert ax.yaxis.label.get_window_extent().height <= ax.get_window_extent().height
    assert ax.xaxis.label.get_window_extent().width <= ax.get_window_extent().width


def test_years_have_no_comma_and_thousands_do():
    def words(low, high):
        ax = drawn(Line(np.linspace(low, high, 4), Y, "ink"), x=PanelAxis("x", low=low, high=high))
        return {text.get_text() for text in ax.get_xticklabels()}

    assert "1960" in words(1940, 1990)
    assert {"40,000", "100,000"} <= words(20e3, 180e3)


def test_long_names_break_where_their_parts_meet():
    name = "a_very_long_name_of_a_feature_that_has_no_space_anywhere_and_is_longer_than_its_panel"
    page, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
    figure = of(MARKS["line"], x=PanelAxis(name), y=PanelAxis(name))
    draw(figure, axes[0])
    axes[1].set_ylabel("own")
    draw(figure, axes[1])
    page.canvas.draw()
    for label in (axes[0].get_xlabel(), axes[0].get_ylabel()):
        assert label.replace("\n", "") == name
        assert all(line.endswith("_") for line in label.split("\n")[:-1])
    assert axes[0].yaxis.label.get_window_extent().height <= axes[0].get_window_extent().height
    assert axes[0].xaxis.label.get_window_extent().width <= axes[0].get_window_extent().width
    assert axes[1].get_ylabel() == "own"


@pytest.mark.parametrize("inches", [1.5, 2.5, 5])
@pytest.mark.parametrize(
    "ends", [(25e3, 180e3), (100_000_123, 100_300_000), (0, 1), (-1e-7, 2e-7), (2e6, 9e7), (1900, 1999)]
)
def test_numbers_along_an_axis_keep_apart(inches, ends):
    page, ax = plt.subplots(figsize=(inches, 2), layout="constrained")
    draw(of(Line(np.linspace(*ends, 4), Y, "ink"), x=PanelAxis("x", low=ends[0], high=ends[1])), ax)
    page.canvas.draw()
    words = [text for text in ax.get_xticklabels() if text.get_text()]
    assert len(words) >= {1.5: 1, 2.5: 2, 5: 3}[inches]
    assert len({text.get_text() for text in words}) == len(words)
    boxes = [text.get_window_extent() for text in words]
    assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


@pytest.mark.parametrize("days", [40, 300, 700, 1090, 4000])
@pytest.mark.parametrize("inches", [1.2, 2.0, 3.4])
def test_dates_along_an_axis_keep_apart(days, inches):
    page, ax = plt.subplots(figsize=(inches, 2), layout="constrained")
    draw(of(Line(19000 + np.linspace(0, days, 4), Y, "ink"), x=PanelAxis("day", "date")), ax)
    page.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
    assert len(boxes) >= 2
    assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


# --- words


def test_legends_tell_each_label_once_and_cover_no_panel():
    panels = (Panel((MARKS["line"], MARKS["band"])), Panel((MARKS["band"], MARKS["line"], MARKS["bars"])))
    page, axes = draw(Figure(panels, columns=2, size=(8, 4), legend_title="which", title="T"))
    page.canvas.draw()
    assert sorted(legend_of(page)) == ["a", "b", "d"]
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    assert legend.get_title().get_text() == "which"
    box = legend.get_window_extent()
    assert all(box.y0 > ax.get_window_extent().y1 for ax in axes)
    assert box.y1 <= page._suptitle.get_window_extent().y0


def test_a_long_legend_takes_more_rows_not_more_width():
    marks = tuple(Line(X, Y + i, "ink", label=f"a rather long name {i}") for i in range(9))
    page, _ = draw(of(*marks))
    page.canvas.draw()
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    assert legend.get_window_extent().x0 >= 0
    assert legend.get_window_extent().x1 <= page.bbox.width


def test_a_panels_own_legend_stands_beyond_its_color_bar():
    page, (ax,) = draw(of(MARKS["heat"], MARKS["hatch"], legend="panel", legend_title="cells"))
    page.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 > ax.child_axes[0].get_tightbbox().x1
    assert legend_of(page) == ["no data"]


def test_labels_are_literal():
    page, (ax,) = draw(
        Figure(
            (Panel((Line(X, Y, "ink", label="_$a$"),), x=PanelAxis("$x_1$"), title="$t$"),),
            title="$T$",
            notes=("$n$",),
        )
    )
    page.canvas.draw()
    texts = [ax.xaxis.label, ax._left_title, page._suptitle, page._supxlabel]
    assert [text.get_text() for text in texts] == [r"\$x_1\$", r"\$t\$", r"\$T\$", r"\$n\$"]
    assert legend_of(page) == [r" _\$a\$"]
    assert all(text._preprocess_math(text.get_text())[1] is False for text in texts)


def test_nothing_is_titled_unless_asked():
    page, (ax,) = draw(of(MARKS["line"]))
    assert page._suptitle is None
    assert not ax.get_title(loc="left")
    assert page._supxlabel is None


def test_notes_stand_below_in_lines_that_fit():
    notes = ("first note", "a second note that is long " * 8)
    page, (ax,) = draw(Figure((Panel((MARKS["line"],), x=PanelAxis("x")),), notes=notes))
    page.canvas.draw()
    box = page._supxlabel.get_window_extent()
    assert page._supxlabel.get_text().startswith("first note\na second note")
    assert box.x0 >= 0
    assert box.x1 <= page.bbox.width
    assert box.y1 < ax.xaxis.label.get_window_extent().y0
    _, own = plt.subplots(layout="constrained")
    draw(Figure((Panel((MARKS["line"],)),), notes=notes), own)
    assert notes_below(own) == [note.strip() for note in notes]
    assert all(text.get_window_extent().width <= page.bbox.width for text in own.texts)


def test_greys_are_those_of_the_theme():
    with plt.style.context("dark_background"):
        ax = drawn(MARKS["strip"], MARKS["rule"], MARKS["text"], MARKS["stepped band"])
        light = drawn(MARKS["band"]).collections[0].get_alpha()
    assert ax.texts[0].get_color() == to_rgba("white")
    assert ax.lines[0].get_color()[:3] == (1, 1, 1)
    assert tuple(ax.collections[0].get_facecolor()[0])[:3] == (1, 1, 1)
    assert light > MARKS["band"].alpha


def test_png_is_a_picture_that_pyplot_never_hears_of():
    before = plt.get_fignums()
    picture = png(Figure((beside(),), size=(4, 3)), dpi=50)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert plt.get_fignums() == before
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (200, 150)


def test_axes_of_a_part_of_a_page_are_axes():
    page = plt.figure(layout="constrained")
    left, _ = page.subfigures(1, 2)
    given = left.subplots(1, 2, sharey=True)
    shown, axes = draw(Figure((beside(), Panel((MARKS["line"],))), notes=("note",)), given)
    page.canvas.draw()
    assert shown is page
    assert axes == list(given)
    assert given[0].get_ylim() == given[1].get_ylim()


def test_labels_keep_their_own_lines_and_break_before_an_error():
    words = "change in prediction\nfrom its mean"
    assert drawn(Line(X, Y, "#0072B2"), y=PanelAxis(words)).get_ylabel() == words
    narrow = Figure(
        (Panel((Line(X, Y, "#0072B2"),), x=PanelAxis("increase of the error ± 2 standard errors")),),
        1,
        (3.4, 3.0),
    )
    assert draw(narrow)[1][0].get_xlabel() == "increase of the error\n± 2 standard errors"
    wide = drawn(Line(X, Y, "#0072B2"), x=PanelAxis("increase ± 2 standard errors"))
    assert wide.get_xlabel() == "increase ± 2 standard errors"


@pytest.mark.parametrize(("theme", "ground"), [("default", 0.0), ("dark_background", 1.0)])
def test_ticks_of_the_rug_are_seen_on_colors_like_their_ink(theme, ground):
    with plt.style.context(theme):
        page, (ax,) = draw(of(Heat(EDGES, EDGES, 0 * TABLE + ground, "gray", 0.0, 1.0, None), Rug(X + 0.25)))
        page.canvas.draw()
        seen = np.asarray(page.canvas.buffer_rgba())[..., :3].mean(axis=2) / 255
        box = ax.get_window_extent()
        row = seen[seen.shape[0] - int(box.y0) - 4, int(box.x0) + 3 : int(box.x1) - 3]
        other = np.flatnonzero(np.abs(row - ground) > 0.5)
        assert np.count_nonzero(np.diff(other) > 5) == len(X) - 1


def test_large_and_small_numbers_have_their_power_at_each_tick():
    right = Panel(
        (Bars(X * 1e-7, Y, ONES * 1e-8, "ink", horizontal=True),),
        PanelAxis(scale="none"),
        PanelAxis(numbers=False),
    )
    page, (ax,) = draw(
        of(
            Line(X * 1e7, X * 1e-7, "#0072B2"),
            Heat(EDGES * 1e7, EDGES * 1e-7, TABLE * 1e6, "viridis", 1e6, 8e6, "unit"),
            right=(right,),
        )
    )
    page.canvas.draw()
    across = [text.get_text() for text in ax.get_xticklabels()]
    assert {"0", "1e7", "2e7"} <= {word.replace(".0", "") for word in across}
    assert all(
        word.endswith("e\N{MINUS SIGN}7")
        for word in (text.get_text() for text in ax.get_yticklabels())
        if word != "0"
    )
    for one in (ax, *ax.child_axes):
        assert not one.xaxis.get_offset_text().get_text()
        assert not one.yaxis.get_offset_text().get_text()
    assert any(text.get_text() == "5e6" for part in ax.child_axes for text in part.get_yticklabels())


def test_numbers_of_axes_that_show_something_stay_as_they_are():
    _, ax = plt.subplots()
    ax.plot(X * 1e6, Y)
    before = ax.xaxis.get_major_formatter()
    draw(of(Line(X * 1e6, Y, "#0072B2")), ax)
    assert ax.xaxis.get_major_formatter() is before


def test_figures_can_be_pickled():
    page, (ax,) = draw(of(Line(X * 1e6, Y, "#0072B2")))
    draw(Figure((Panel((MARKS["line"],)),), notes=("note",)), ax)
    page.canvas.draw()
    again = pickle.loads(pickle.dumps(page))
    again.canvas.draw()
    assert [t.get_text() for t in again.axes[0].get_xticklabels()] == [
        t.get_text() for t in page.axes[0].get_xticklabels()
    ]


def test_numbers_on_contours_are_as_short_as_at_ticks():
    ax = drawn(Contours(X, X, TABLE * 1e6, np.linspace(1, 8, 8) * 1e6, "viridis", "unit"))
    words = {text.get_text() for text in ax.texts}
    assert words
    assert words <= {"3e6", "5e6", "7e6"}


def test_title_of_a_legend_is_not_escaped_again_by_what_is_drawn_later():
    line = Line(np.arange(3.0), np.arange(3.0), "#0072B2", "a")
    figure = Figure((Panel((line,), legend="panel", legend_title="$g$"),))
    _, ax = plt.subplots()
    for _ in range(2):
        draw(figure, ax)
        assert ax.get_legend().get_title().get_text() == r"\$g\$"

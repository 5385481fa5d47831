"""The plotly renderer: what its traces show is what the marks hold."""

from dataclasses import replace

import numpy as np
import pytest

from paribus._display import mark_helpers
from paribus._display.figure import (
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
from paribus._display.plotly import draw

X = np.array([0.0, 1.0, 2.0, 4.0])
Y = np.array([1.0, 3.0, 2.0, 5.0])
BLUE, RED = mark_helpers.PALETTE[:2]
CELLS = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]])
EDGES = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])
TOLD = ("a", "b", "c", "d")


def drawn(*marks, **panel):
    return draw(Figure((Panel(marks, **panel),)))


def inside(figure, axis):
    low, high = axis.domain
    assert 0 <= low < high <= 1
    return low, high


def test_a_line_has_the_numbers_of_its_mark():
    (trace,) = drawn(Line(X, Y, BLUE, "curve", "dashed", 1.5, hover=TOLD)).data
    assert (trace.type, trace.mode, trace.name, trace.showlegend) == ("scatter", "lines", "curve", True)
    np.testing.assert_array_equal(trace.x, X)
    np.testing.assert_array_equal(trace.y, Y)
    assert (trace.line.dash, trace.line.width, trace.line.shape) == ("dash", 2.0, "linear")
    assert trace.line.color == "rgba(0,114,178,1)"
    assert (trace.hoverinfo, trace.hovertext) == ("text", TOLD)


def test_a_line_without_hover_is_silent():
    assert drawn(Line(X, Y, BLUE)).data[0].hoverinfo == "skip"


def test_a_point_without_neighbors_is_still_seen():
    line, dots = drawn(Line(X, np.array([1.0, np.nan, 2.0, 3.0]), BLUE)).data
    np.testing.assert_array_equal(line.y, [1, np.nan, 2, 3])
    assert (dots.mode, list(dots.x), list(dots.y)) == ("markers", [0.0], [1.0])


def test_a_band_encloses_its_curves():
    (trace,) = drawn(Band(X, Y - 1, Y + 1, BLUE, "error", alpha=0.3)).data
    assert (trace.fill, trace.hoverinfo, trace.fillcolor) == ("toself", "skip", "rgba(0,114,178,0.3)")
    np.testing.assert_array_equal(trace.y[:-1], [*(Y - 1), *(Y + 1)[::-1]])
    np.testing.assert_array_equal(trace.x[:-1], [*X, *X[::-1]])


def test_a_band_of_steps_holds_its_heights():
    (trace,) = drawn(Band(X[:3], Y[:3] - 1, Y[:3] + 1, BLUE, steps=True)).data
    np.testing.assert_array_equal(trace.x[:5], [0, 1, 1, 2, 2])
    np.testing.assert_array_equal(trace.y[:5], [0, 0, 2, 2, 1])


def test_a_band_breaks_where_it_is_unknown():
    low = np.array([0.0, 0.0, np.nan, 0.0, 0.0])
    (trace,) = drawn(Band(np.arange(5.0), low, low + 1, BLUE)).data
    np.testing.assert_array_equal(trace.y, [0, 0, 1, 1, np.nan, 0, 0, 1, 1, np.nan])


def test_points_have_errors_along_their_axis():
    error = np.array([0.1, 0.2, 0.3, 0.4])
    size = np.array([3.0, 6.0, 9.0, 12.0])
    along_y, along_x = drawn(
        Points(X, Y, BLUE, error=error, hover=TOLD, marker="square", size=size),
        Points(X, Y, RED, error=error, error_along="x", marker="dot", size=6.0),
    ).data
    np.testing.assert_array_equal(along_y.error_y.array, error)
    np.testing.assert_array_equal(along_x.error_x.array, error)
    assert along_y.error_x.array is None
    assert along_y.marker.symbol == "square"
    np.testing.assert_allclose(along_y.marker.size, size * 96 / 72)
    assert along_x.marker.size == 4.0
    assert along_y.hovertext == TOLD


@pytest.mark.parametrize("marker", ["circle", "square", "diamond", "cross", "triangle", "star", "bar", "dot"])
def test_every_marker_is_drawn(marker):
    assert drawn(Points(X, Y, BLUE, marker=marker)).data[0].marker.symbol


@pytest.mark.parametrize("level", [False, True])
def test_bars_stand_or_lie(level):
    width, base, error = np.full(4, 0.8), np.arange(4.0), np.full(4, 0.1)
    (trace,) = drawn(
        Bars(X, Y, width, (BLUE, RED, BLUE, RED), base, horizontal=level, error=error, hover=TOLD)
    ).data
    at, length, errors = (trace.y, trace.x, trace.error_x) if level else (trace.x, trace.y, trace.error_y)
    np.testing.assert_array_equal(at, X)
    np.testing.assert_array_equal(length, Y)
    np.testing.assert_array_equal(trace.base, base)
    np.testing.assert_array_equal(trace.width, width)
    np.testing.assert_array_equal(errors.array, error)
    assert len(set(trace.marker.color)) == 2
    assert trace.hovertext == TOLD


@pytest.mark.parametrize("along", ["x", "y"])
def test_the_strip_takes_its_share_of_the_panel(along):
    figure = drawn(Line(X, Y, BLUE), Strip(X, Y, np.full(4, 0.5), 10.0, along, TOLD))
    strip = figure.data[1]
    height, other = (strip.y, strip.yaxis) if along == "x" else (strip.x, strip.xaxis)
    np.testing.assert_allclose(height / Y, height[0] / Y[0])
    full = drawn(Strip(X, Y, np.full(4, 0.5), 5.0, along)).data[
        0
    ]  # half of it was left to panels with more data
    np.testing.assert_allclose(full.y if along == "x" else full.x, 2 * height)
    assert 0.02 < max(height) < 0.1
    axis = figure.layout["yaxis2" if along == "x" else "xaxis2"]
    assert other == ("y2" if along == "x" else "x2")
    assert (axis.range, axis.visible, axis.overlaying) == ((0, 1), False, "y" if along == "x" else "x")
    assert strip.zorder < figure.data[0].zorder
    assert strip.hovertext == TOLD


def test_a_strip_of_nothing_is_flat():
    strip = drawn(Strip(X, np.zeros(4), np.full(4, 0.5), 0.0)).data[0]
    np.testing.assert_array_equal(strip.y, 0)


def test_a_rug_lies_on_the_edge():
    figure = drawn(Line(X, Y, BLUE), Rug(X, hover=TOLD), Rug(Y, "y"))
    along_x, along_y = figure.data[1:]
    np.testing.assert_array_equal(along_x.x, X)
    np.testing.assert_array_equal(along_x.y, 0)
    np.testing.assert_array_equal(along_y.y, Y)
    assert (along_x.marker.symbol, along_y.marker.symbol) == ("line-ns", "line-ew")
    assert along_x.hovertext == TOLD


def test_heat_has_cells_numbers_and_a_bar():
    written = (("1", "2", "3"), ("4", "", "<6>"))
    heat = Heat(*EDGES, CELLS, mark_helpers.DIVERGING, -6.0, 6.0, "unit", written, written)
    figure = drawn(heat)
    (trace,) = figure.data
    np.testing.assert_array_equal(trace.z, CELLS)
    np.testing.assert_array_equal(trace.x, EDGES[0])
    assert (trace.zmin, trace.zmax, trace.colorbar.title.text) == (-6, 6, "unit")
    assert trace.text[1][2] == trace.hovertext[1][2] == "&lt;6&gt;"
    assert trace.colorbar.x > inside(figure, figure.layout.xaxis)[1]
    assert figure.layout.xaxis.range == (0, 3)


def test_heat_may_have_its_own_colors_and_no_bar():
    (trace,) = drawn(Heat(*EDGES, CELLS, ("#ffffff", "#888888", "#000000"), 0.0, 1.0, None)).data
    assert trace.colorscale == ((0.0, "#ffffff"), (0.5, "#888888"), (1.0, "#000000"))
    assert trace.showscale is False


def test_contours_are_filled_and_every_other_is_labeled():
    z = np.add.outer(np.arange(5.0), np.arange(4.0))
    levels = np.arange(0.0, 7.5, 0.5)
    figure = drawn(Contours(np.arange(4.0), np.arange(5.0), z, levels, mark_helpers.SEQUENTIAL, "effect"))
    filled, *labeled = figure.data
    np.testing.assert_array_equal(filled.z, z)
    assert (filled.contours.start, filled.contours.end, filled.contours.size) == (0.5, 6.5, 0.5)
    assert filled.colorbar.title.text == "effect"
    assert [t.contours.start for t in labeled] == [t.contours.end for t in labeled] == [1, 2, 3, 4, 5, 6]
    assert all(t.contours.showlabels and t.contours.labelformat == ".0f" for t in labeled)
    assert [t.contours.labelfont.color for t in labeled] == ["#eeeeee"] * 4 + ["#222222"] * 2
    assert filled.colorbar.tickvals == (0, 1, 2, 3, 4, 5, 6, 7)


def test_levels_are_written_in_full_and_nothing_has_no_sign():
    z = np.subtract.outer(np.arange(5.0), np.arange(5.0)) / 40
    levels = np.array([-0.075, -0.0375, -1e-17, 0.0375, 0.075])
    filled, *labeled = drawn(
        Contours(np.arange(5.0), np.arange(5.0), z, levels, mark_helpers.DIVERGING, "effect")
    ).data
    assert filled.colorbar.tickvals == (-0.075, 0, 0.075)
    assert not np.signbit([t.contours.start for t in labeled if abs(t.contours.start) < 0.01]).any()
    assert {t.contours.labelformat for t in labeled} == {filled.colorbar.tickformat} == {".3f"}


def test_an_unknown_date_is_a_gap():
    line = Line(np.array([0.0, np.nan, 1.0]), X[:3], BLUE)
    assert list(drawn(line, x=PanelAxis(scale="date")).data[0].x)[1] is None


def test_a_hatch_covers_the_cells_of_its_mask():
    mask = np.array([[True, True, False], [False, False, True]])
    (trace,) = drawn(Hatch(*EDGES, mask, "no data")).data
    assert (trace.fillpattern.shape, trace.showlegend, trace.name) == ("/", True, "no data")
    ends = np.flatnonzero(np.isnan(trace.y))
    corners = [(trace.x[e - 4 : e], trace.y[e - 4 : e]) for e in ends]
    boxes = [(x.min(), x.max(), y.min(), y.max()) for x, y in corners]
    assert boxes == [(0, 2, 0, 1), (2, 3, 1, 2)]


def test_a_hatch_of_nothing_is_nothing():
    assert not drawn(Hatch(*EDGES, np.zeros((2, 3), dtype=bool), "no data")).data


def test_rules_cross_the_panel():
    figure = drawn(Rule(1.5), Rule(2.5, "x"))
    across, upright = figure.layout.shapes[-2:]
    assert (across.yref, across.y0, across.y1, across.xref) == ("y", 1.5, 1.5, "x domain")
    assert (upright.xref, upright.x0, upright.x1, upright.yref) == ("x", 2.5, 2.5, "y domain")


def test_rules_lie_above_colors():
    heat = Heat(*EDGES, CELLS, mark_helpers.DIVERGING, 0.0, 1.0, None)
    assert drawn(heat, Rule(1.0)).layout.shapes[-1].layer == "above"
    assert drawn(Rule(1.0)).layout.shapes[-1].layer == "below"


def test_text_stands_where_it_should():
    figure = drawn(Text(1.0, 2.0, "here", "left", "top", 30.0, 9.0, (3.0, -6.0), RED, 0.5))
    (words,) = figure.layout.annotations
    assert (words.x, words.y, words.text, words.textangle) == (1, 2, "here", -30)
    assert (words.xanchor, words.yanchor, words.xshift, words.yshift) == ("left", "top", 4, -8)
    assert (words.font.size, words.opacity) == (12, 0.5)
    assert drawn(Text(0.0, 0.0, "ink")).layout.annotations[0].font.color is None  # the template's


def test_the_first_mark_lies_lowest():
    line, bars = drawn(Line(X, Y, BLUE), Bars(X, Y, np.full(4, 0.5), RED)).data
    assert line.zorder < bars.zorder
    bars, line = drawn(Bars(X, Y, np.full(4, 0.5), RED), Line(X, Y, BLUE)).data
    assert bars.zorder <= line.zorder


def test_days_are_dates():
    days = np.array([0.0, 0.5, 19000.0])
    figure = drawn(
        Line(days, days, BLUE),
        Bars(days, days, np.full(3, 2.0), RED),
        Text(0.5, 1.0, "noon"),
        Rule(19000.0, "x"),
        x=PanelAxis(scale="date", low=0.0, high=19001.0, ticks=((19000.0, "then"),)),
    )
    assert figure.layout.xaxis.type == "date"
    assert list(figure.data[0].x) == [
        "1970-01-01T00:00:00.000",
        "1970-01-01T12:00:00.000",
        "2022-01-08T00:00:00.000",
    ]
    np.testing.assert_array_equal(figure.data[1].width, 2 * 86_400_000)
    assert figure.layout.annotations[0].x == "1970-01-01T12:00:00.000"
    assert figure.layout.shapes[-1].x0 == "2022-01-08T00:00:00.000"
    assert figure.layout.xaxis.tickvals == ("2022-01-08T00:00:00.000",)
    assert figure.layout.xaxis.range == ("1970-01-01T00:00:00.000", "2022-01-09T00:00:00.000")


def test_levels_have_names_that_are_broken_rather_than_clipped():
    names = ("a", "a name so long that it would leave no room for the picture that it is the name of")
    axis = PanelAxis(scale="category", ticks=tuple((float(at), name) for at, name in enumerate(names)))
    figure = drawn(Points(Y[:2], X[:2], BLUE), y=axis)
    assert figure.layout.yaxis.tickvals == (0, 1)
    short, long = figure.layout.yaxis.ticktext
    assert short == "a"
    assert "<br>" in long
    assert long.replace("<br>", " ") == names[1]
    assert inside(figure, figure.layout.xaxis)[0] > 0.25


def test_names_upwards_are_broken_only_where_lines_fit_between_them():
    def axis(count):
        name = "a name of a category that is quite long in words"
        return PanelAxis(scale="category", turned=True, ticks=tuple((float(at), name) for at in range(count)))

    few, many = (drawn(Points(X, Y, BLUE), x=axis(count)).layout.xaxis for count in (3, 50))
    assert "<br>" in few.ticktext[0]
    assert "<br>" not in many.ticktext[0]
    assert few.tickangle == many.tickangle == -90
    assert 8 <= many.tickfont.size < few.tickfont.size


def texts_in(part):
    """Yield every text in a plotly figure as it is stored."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for inner in part.values():
            yield from texts_in(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from texts_in(inner)


def test_no_text_of_users_is_markup():
    evil = "<b>1 & 2</b> $x$ "
    shown = "&lt;b&gt;1 &amp; 2&lt;/b&gt; &#36;x&#36; "
    count = iter(range(1000))

    def text():
        return f"{evil}{next(count)}"

    def each(number=4):
        return tuple(text() for _ in range(number))

    def cells():
        return (each(3), each(3))

    surface = Contours(X[:3], X[:2], CELLS, np.arange(7.0), mark_helpers.SEQUENTIAL, text(), hover=cells())
    marks = (
        Heat(*EDGES, CELLS, mark_helpers.DIVERGING, 0.0, 1.0, text(), cells(), cells()),
        Hatch(*EDGES, CELLS > 2, text()),
        Line(X, Y, BLUE, text(), hover=each()),
        Band(X, Y - 1, Y + 1, RED, text()),
        Points(X, Y, BLUE, text(), hover=each()),
        Bars(X, Y, X + 1, RED, label=text(), hover=each()),
        Strip(X, Y, X + 1, 5.0, hover=each()),
        Rug(X, hover=each()),
        Text(0.0, 0.0, text()),
    )
    missing = Panel(marks[4:5], PanelAxis(scale="category", ticks=((0.0, text()),)))
    axes = PanelAxis(text(), ticks=((0.0, text()),)), PanelAxis(text(), ticks=((0.0, text()),))
    panels = (
        Panel(marks, *axes, text(), right=(missing,), legend="panel", legend_title=text()),
        Panel((surface, *marks[1:3]), PanelAxis(text()), PanelAxis(text())),
    )
    figure = draw(Figure(panels, 1, (20, 16), text(), (text(), text()), text()))
    written = [words.replace("<br>", " ") for words in texts_in(figure.to_dict()) if words != "%{text}"]
    assert not [words for words in written if set("<>$") & set(words)]
    stored = "\n".join(written)
    assert [n for n in range(next(count)) if f"{shown}{n}" not in stored] == []


def grid(rows, columns, **of):
    panels = []
    for number in range(rows * columns):
        first = number % columns == 0
        marks = (Line(X, Y, BLUE, "one"), Band(X, Y - 1, Y + 1, BLUE), Points(X, Y, RED, "two"))
        panels.append(
            Panel(
                marks,
                PanelAxis(f"feature {number}"),
                PanelAxis("effect" if first else "", numbers=first),
                **of,
            )
        )
    return draw(Figure(tuple(panels), columns, (4.0 * columns, 3.0 * rows), notes=("a note",)))


def test_no_label_is_explained_twice():
    figure = grid(2, 3)
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert shown == ["one", "two"]
    groups = {trace.legendgroup for trace in figure.data}
    assert len(groups) == 2  # so that hiding an entry hides it in every panel, with the band of its color
    assert all(trace.legend == "legend" for trace in figure.data)


def test_a_panel_may_have_its_own_legend():
    figure = grid(1, 2, legend="panel", legend_title="series")
    assert [trace.legend for trace in figure.data if trace.showlegend] == [
        "legend2",
        "legend2",
        "legend3",
        "legend3",
    ]
    for axis, legend in (("xaxis", "legend2"), ("xaxis2", "legend3")):
        assert figure.layout[legend].x > inside(figure, figure.layout[axis])[1]
        assert figure.layout[legend].title.text == "series"
    assert figure.layout.legend2.x < inside(figure, figure.layout.xaxis2)[0]


def boxes(figure):
    """Return the rectangles of the page that panels take."""
    found = {}
    for name in figure.layout:
        if name.startswith("yaxis") and not figure.layout[name].overlaying:
            y = figure.layout[name]
            x = figure.layout[y.anchor.replace("x", "xaxis")]
            found[name] = (*inside(figure, x), *inside(figure, y))
    return list(found.values())


def test_strips_are_in_order_and_the_numbers_of_y_to_the_left_of_them():
    strips = [
        Panel((Line(X, Y, BLUE),), PanelAxis(scale="category", ticks=((1.5, text),), low=0.0, high=3.0))
        for text in ("from 1", "to 9", "missing")
    ]
    figure = drawn(
        Line(X, Y, BLUE), left=(strips[0],), right=tuple(strips[1:]), y=PanelAxis(low=0.0, high=9.0)
    )
    main, high, missing, low = (figure.layout[name] for name in ("xaxis", "xaxis2", "xaxis3", "xaxis4"))
    ends = [end for axis in (low, main, high, missing) for end in axis.domain]
    assert ends == sorted(ends)
    assert [axis.ticktext for axis in (low, high, missing)] == [("from 1",), ("to 9",), ("missing",)]
    assert (figure.layout.yaxis.anchor, figure.layout.yaxis.showticklabels) == ("x4", True)
    assert not any(figure.layout[f"yaxis{number}"].showticklabels for number in (2, 3, 4))
    assert {figure.layout[f"yaxis{number}"].matches for number in (2, 3, 4)} == {"y"}
    upright = [shape for shape in figure.layout.shapes if (shape.x0, shape.x1) == (0, 0)]
    assert [shape.xref for shape in upright] == ["x4 domain"]


@pytest.mark.parametrize("size", [(3.0, 2.0), (6.4, 4.4), (14.0, 9.0)])
def test_panels_do_not_overlap(size):
    beside = Panel((Points(X[:1], Y[:1], BLUE),), PanelAxis(ticks=((0.0, "missing"),)))
    heat = Heat(*EDGES, CELLS, mark_helpers.DIVERGING, 0.0, 1.0, "unit")
    panel = Panel(
        (heat, Strip(X, Y, X, 5.0)), PanelAxis("x"), PanelAxis("y"), "title", right=(beside,), top=beside
    )
    figure = draw(Figure((panel,) * 6, 3, size))
    found = boxes(figure)
    assert len(found) == 18
    for number, (left, right, bottom, top) in enumerate(found):
        for other in found[:number]:
            assert right <= other[0] or other[1] <= left or top <= other[2] or other[3] <= bottom
    assert figure.layout.width >= size[0] * 96 - 1
    assert figure.layout.height >= size[1] * 96 - 1


def test_narrow_panels_share_the_axis_they_lie_along():
    marks = (Line(X, Y, BLUE),)
    figure = drawn(
        *marks, right=(Panel(marks),), top=Panel(marks), narrow=0.2, y=PanelAxis(low=0.0, high=6.0)
    )
    _, right, top = figure.data
    assert (right.yaxis, top.xaxis) == ("y2", "x3")
    assert figure.layout.yaxis2.matches == "y"
    assert figure.layout.xaxis3.matches == "x"
    assert figure.layout.yaxis2.range == (0, 6)
    assert inside(figure, figure.layout.xaxis2)[0] > inside(figure, figure.layout.xaxis)[1]
    assert inside(figure, figure.layout.yaxis3)[0] > inside(figure, figure.layout.yaxis)[1]
    assert figure.layout.yaxis2.showticklabels is False


def test_panels_without_numbers_follow_the_first_of_their_row():
    figure = grid(2, 2)
    assert [figure.layout[f"yaxis{n}"].matches for n in ("", 2, 3, 4)] == [None, "y", None, "y3"]


def test_panels_without_numbers_follow_only_an_axis_like_their_own():
    marks = (Line(X, Y, BLUE),)
    axes = (
        PanelAxis(low=0.0, high=1.0),
        PanelAxis(low=0.0, high=9.0),
        PanelAxis(low=0.0, high=9.0, numbers=False),
    )
    other = PanelAxis(low=0.0, high=5.0, numbers=False)
    figure = draw(Figure(tuple(Panel(marks, y=axis) for axis in (*axes, other)), 4))
    assert [figure.layout[f"yaxis{n}"].matches for n in ("", 2, 3, 4)] == [None, None, "y2", None]


def test_equal_units_are_as_long():
    figure = drawn(Line(X, Y, BLUE), equal=True, x=PanelAxis(scale="none"), y=PanelAxis(scale="none"))
    assert figure.layout.yaxis.scaleanchor == "x"
    assert figure.layout.xaxis.showticklabels is False
    assert not figure.layout.shapes


def test_size_title_and_notes():
    marks = (Line(X, Y, BLUE),)
    long = "words of a note that is longer than the picture is wide, so that it must be broken " * 2
    figure = draw(Figure((Panel(marks),), size=(5.0, 4.0), title="title", notes=(long, "second")))
    assert (figure.layout.width, figure.layout.height) == (480, 384)
    assert (figure.layout.title.text, figure.layout.title.xanchor) == ("title", "left")
    (notes,) = figure.layout.annotations
    assert notes.text.count("<br>") >= 3
    assert notes.align == "left"
    bare = draw(Figure((Panel(marks),), size=(5.0, 4.0)))
    assert bare.layout.title.text is None
    assert inside(bare, bare.layout.yaxis)[0] < inside(figure, figure.layout.yaxis)[0]


def test_the_theme_colors_words_and_may_be_chosen():
    import plotly.io as pio

    figure = drawn(Line(X, Y, mark_helpers.INK, "curve"), Text(0.0, 0.0, "here"), title="panel")
    assert figure.layout.font.color is None
    assert figure.layout.xaxis.color is None
    assert figure.layout.template == pio.templates["simple_white"]
    before = pio.templates.default
    try:
        pio.templates.default = "plotly_dark"
        assert drawn(Line(X, Y, BLUE)).layout.template == pio.templates["plotly_dark"]
    finally:
        pio.templates.default = before


def test_a_figure_without_panels_is_empty():
    assert not draw(Figure(())).data


def test_names_in_a_small_panel_do_not_touch():
    """Twenty names one above the other, and side by side upwards, in a grid of maps with the data beside."""
    names = tuple((float(level), f"category {level}") for level in range(20))
    up = PanelAxis("levels", scale="category", ticks=names, low=-0.5, high=19.5)
    across, edges, bare = replace(up, turned=True), np.arange(21.0) - 0.5, PanelAxis(scale="none")
    bars = Bars(np.arange(20.0), np.ones(20), np.ones(20), "ink")
    panel = Panel(
        (Heat(edges, edges, np.eye(20), "viridis", 0.0, 1.0, "unit"),),
        across,
        up,
        right=(Panel((replace(bars, horizontal=True),), bare, replace(up, numbers=False)),),
        top=Panel((bars,), replace(across, numbers=False), bare),
    )
    layout = draw(Figure((panel,) * 6, 3, (11.0, 6.0))).layout
    for axis, long in ((layout.yaxis, layout.height), (layout.xaxis, layout.width)):
        assert 6.5 <= axis.tickfont.size < long * (axis.domain[1] - axis.domain[0]) / 20


def test_the_mode_bar_hides_no_title_and_sends_nothing_away():
    bar = draw(Figure((Panel((Line(X, Y, BLUE),)),))).layout.modebar
    assert bar.orientation == "v"
    assert bar.bgcolor == "rgba(0,0,0,0)"
    assert "sendChartToCloud" in bar.remove
    assert bar.color is not None  # plotly would give it that of its transparent ground


def test_no_tick_stands_below_the_curves_where_there_is_room_for_the_data():
    axis = PanelAxis("probability", low=-0.215, high=1.05, tick_low=-0.05)
    shown = drawn(Line(X, Y / 5, BLUE), y=axis).layout.yaxis
    assert shown.range == (-0.215, 1.05)
    assert min(shown.tickvals) == 0
    assert max(shown.tickvals) == 1
    assert 4 <= len(shown.tickvals) <= 8
    np.testing.assert_allclose(np.diff(shown.tickvals), shown.tickvals[1])


@pytest.mark.parametrize("tick_low", [None, 0.0, -1.0])
def test_ticks_follow_when_somebody_zooms_where_all_of_an_axis_may_have_them(tick_low):
    axis = drawn(Line(X, Y, BLUE), y=PanelAxis(low=0.0, high=6.0, tick_low=tick_low)).layout.yaxis
    assert axis.tickvals is None
    assert 3 <= axis.nticks <= 9


@pytest.mark.parametrize(
    ("ends", "form"), [((0.2, 0.21), ".3f"), ((20.0, 40.0), ".0f"), ((2e4, 9e4), ",.0f"), ((2e7, 9e7), "")]
)
def test_numbers_above_the_data_have_the_decimals_that_distinguish_them(ends, form):
    low, high = ends
    axis = PanelAxis(low=low - 0.15 * (high - low), high=high, tick_low=low)
    shown = drawn(Line(X, Y, BLUE), y=axis).layout.yaxis
    assert (shown.tickformat or "") == form
    assert all(low <= tick <= high for tick in shown.tickvals)


def test_plotly_makes_room_at_the_sides_of_a_page():
    layout = draw(Figure((Panel((Line(X, Y, BLUE),), PanelAxis("x"), PanelAxis("y")),) * 2, 2)).layout
    assert [layout[f"{way}axis{n}"].automargin for way in "xy" for n in ("", 2)] == ["height"] * 2 + [
        "width"
    ] * 2
    assert layout.margin.autoexpand is not False


@pytest.mark.parametrize("ends", [(0.0, 0.0), (np.nan, np.inf), (0.0, 5e-324), (-1e308, 1e308)])
def test_an_axis_without_an_extent_is_drawn(ends):
    axis = PanelAxis("x", low=ends[0], high=ends[1])
    figure = drawn(Line(X, Y, BLUE), x=axis, y=axis)
    assert figure.layout.xaxis.nticks >= 3
    assert figure.layout.width < 700


def ticks_of(low, high, count):
    """Return where plotly puts ticks, as its source has it."""
    rough = (high - low) / count
    base = 10.0 ** np.floor(np.log10(rough))
    step = base * min(each for each in (2, 5, 10) if each >= rough / base)
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)


@pytest.mark.parametrize("inches", [2.6, 3.4, 8.0])
@pytest.mark.parametrize("ends", [(10.0, 95.0), (0.05, 0.95), (-1.0, 4.0), (1900.0, 1999.0), (25e3, 185e3)])
def test_an_axis_has_several_numbers_and_they_keep_apart(inches, ends):
    x = np.linspace(*ends, 4)
    figure = draw(
        Figure((Panel((Line(x, Y, BLUE),), x=PanelAxis("x", low=ends[0], high=ends[1])),), 1, (inches, 3))
    )
    axis = figure.layout.xaxis
    ticks = ticks_of(*ends, axis.nticks)
    assert 3 <= len(ticks) <= 9
    assert axis.tickvals is None  # which would stay when somebody zooms
    pixels = (axis.domain[1] - axis.domain[0]) * figure.layout.width
    letters = max(len(f"{tick:.1f}".removesuffix(".0")) for tick in ticks)
    assert (ticks[1] - ticks[0]) / (ends[1] - ends[0]) * pixels > 0.55 * 13 * letters


def test_thousands_are_in_full_and_millions_have_their_power():
    def axis(scale):
        return drawn(Line(X * scale, Y, BLUE), x=PanelAxis("x", low=0, high=4 * scale)).layout.xaxis

    assert axis(25e3).minexponent > 6
    assert axis(25e6).minexponent < 7
    assert axis(25e-9).minexponent < 7


@pytest.mark.parametrize(
    ("days", "least", "most"), [(700, 3 * 30.4, 6 * 30.4), (40, 7, 14), (7000, 2 * 365, 5 * 365)]
)
def test_dates_in_a_narrow_panel_keep_apart(days, least, most):
    x = 19000 + np.linspace(0, days, 4)
    axis = PanelAxis("day", "date", low=x[0], high=x[-1])
    figure = draw(Figure((Panel((Line(x, Y, BLUE),), x=axis),), 1, (3.4, 3)))
    # Plotly's step is the next round one, which is the longest of these: six months, two weeks, five years.
    assert least < days / figure.layout.xaxis.nticks <= most


def test_a_bar_lies_across_what_is_measured():
    for along, symbol in (("y", "line-ew"), ("x", "line-ns")):
        points = drawn(Points(X, Y, BLUE, marker="bar", error_along=along)).data[0]
        assert points.marker.symbol == symbol


def test_a_surface_of_very_many_cells_is_a_page_that_opens():
    import paribus

    X = np.random.default_rng(0).normal(size=(300, 2))
    effect = paribus.partial_dependence(lambda t: t[:, 0] * t[:, 1], X, [0, 1], grid_resolution=150)
    page = effect.plot(backend="plotly")
    assert len(page.to_json()) < 2_000_000
    assert [trace.hoverinfo for trace in page.data if trace.type == "contour"] == ["x+y+z"]

"""Our own SVG: every mark where its numbers are, words that never touch, nothing that a strict page refuses."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import importance, statistics
from paribus._display import vector
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Figure,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.mark_helpers import PALETTE
from paribus._display.text_width import text_width
from paribus._display.vector.canvas import (
    LEADING,
    SHADES,
    fitted,
    fitted_lines,
    line_path,
    shade_numbers,
    shades,
    simplified,
)
from paribus._display.vector.marks import DRAW, SHAPES, contour_lines, rings
from paribus._display.vector.page import _image_layout
from paribus._display.vector.ticks import axis_ticks, date_ticks, number_ticks
from paribus.errors import DrawingError, OptionError

X = np.array([0.0, 1.0, 2.0, 3.0])
EDGES = np.arange(5.0) - 0.5
TABLE = np.add.outer(X, X)
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "desc", "defs", "clipPath", "linearGradient", "stop", "pattern"} | {
    "g",
    "path",
    "circle",
    "text",
    "tspan",
}
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</svg><script>alert(1)</script>",
    "]]>",
    "<!--",
    "$$",
    "&amp;",
    "\"'",
    "a\u202egnp.exe",
    "\u2066\u2067",
    "x" * 10_000,
    "word " * 2_000,
    "a_" * 5_000,
    "🙂" * 50,
    "e\u0301" * 300,
    "a\x00b\x1b[31m\uffff",
    "שלום עולם",
    "",
    " ",
    "\n\n",
)


def every_mark(name="age", **parts):
    """Return a figure with all kinds of marks, panels, legends and axes; everything has one name."""
    ticks = tuple((at, f"{name} {at:.0f}") for at in X)
    words = tuple(tuple(f"{value:.0f}" for value in row) for row in TABLE)
    hover = tuple(f"{name}\n{at}" for at in X)
    missing = Panel(
        (Points(np.zeros(1), np.ones(1), "ink"),), PanelAxis(scale="category", ticks=((0.0, f"\n{name}"),))
    )
    curves = (
        Strip(X, X, np.ones(4), 3.0, hover=hover),
        Rug(X),
        Rule(0.5),
        Band(X, X - 1, X + 1, PALETTE[1], name, steps=True),
        Line(X, np.array([1.0, np.nan, 2.0, 2.5]), PALETTE[0], f"{name} 2", "dashed", hover=hover),
        Line(X, X**2, "ink", steps=True),
        Text(1.0, 1.0, name, rotation=30.0, alpha=0.5, color=PALETTE[3]),
    )
    points = [
        Points(X, X + place, PALETTE[place % 7], f"{name} {marker}", marker, error=np.ones(4), hover=hover)
        for place, marker in enumerate(("circle", "dot", "bar", *SHAPES))
    ]
    cells = Heat(
        EDGES, EDGES, np.where(TABLE > 5, np.nan, TABLE), "viridis", 0.0, 6.0, name, words, (hover,) * 4
    )
    surface = Contours(X, X, TABLE, np.linspace(0, 6, 7), "RdBu_r", name, (hover,) * 4)
    lying = Bars(X, X - 1, np.full(4, 0.8), (PALETTE[0], "#B3B3B3") * 2, None, name, 0.9, True, X / 9, hover)
    margin = Bars(X, X, np.ones(4), "ink", alpha=0.35)
    panels = (
        Panel(
            curves,
            PanelAxis(name),
            PanelAxis(name, tick_low=0.0, low=-1.0, high=9.0),
            name,
            (missing,),
            (missing,),
        ),
        Panel(tuple(points), PanelAxis(name, "category", ticks), legend="panel", legend_title=name),
        Panel((cells, Hatch(EDGES, EDGES, TABLE < 2, name), Rug(X, "y")), equal=True),
        Panel((surface,), PanelAxis(name), top=Panel((margin,), PanelAxis(), PanelAxis(scale="none"))),
        Panel((lying, Rule(0.0, "x")), PanelAxis(name), PanelAxis("", "category", ticks)),
        Panel((Line(19_000 + 90 * X, X, "ink"),), PanelAxis(name, "date"), PanelAxis(name, numbers=False)),
    )
    return Figure(panels, 3, (12.0, 8.0), name, (name,), name)


def elements(written, tag):
    return list(ElementTree.fromstring(written).iter(SVG + tag))


def corners(path):
    """Return the corners of each part of a path, which is given by absolute starts and relative ways."""
    parts = []
    for command, ways in re.findall(r"([Mhvl])([^Mhvlz]*)", path):
        numbers = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", ways)]
        if command == "M":
            parts.append([np.array(numbers)])
        elif command == "l":
            for way in np.reshape(numbers, (-1, 2)):
                parts[-1].append(parts[-1][-1] + way)
        else:
            parts[-1].append(parts[-1][-1] + ([numbers[0], 0.0] if command == "h" else [0.0, numbers[0]]))
    return [np.array(part) for part in parts]


def frame_of(figure):
    return _image_layout(figure, 96 * figure.size[0]).frames[0]


def values(frame, places):
    """Return positions in pixels as values of the axes."""
    x, y = frame.x, frame.y
    return np.column_stack(
        [
            side.low + (places[:, way] - side.start) / (side.end - side.start) * (side.high - side.low)
            for way, side in enumerate((x, y))
        ]
    )


# --- what is in it


def test_every_mark_of_figures_is_drawn():
    assert set(DRAW) == set(get_args(Mark))
    used = {
        type(mark)
        for panel in every_mark().panels
        for part in (panel, panel.top)
        if part
        for mark in part.marks
    }
    assert used == set(DRAW)


@pytest.mark.parametrize("theme", ["page", "light", "dark"])
def test_svg_has_only_what_a_strict_page_permits(theme):
    written = vector.render(every_mark(), id_prefix="a", theme=theme, hover=True)
    root = ElementTree.fromstring(written)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= DRAWN
    keys = {key for element in root.iter() for key in element.attrib}
    assert not any(key.startswith("on") or key in ("style", "href", "src") for key in keys)
    assert not re.search(r"https?:(?!//www.w3.org/2000/svg)|url\((?!#a-)|nan|inf\b", written)
    assert written == vector.render(every_mark(), id_prefix="a", theme=theme, hover=True)
    names = re.findall(r' id="([^"]+)"', written)
    assert len(names) == len(set(names))
    assert set(re.findall(r"url\(#([^)]+)\)", written)) <= set(names)


def test_classes_of_marks_are_those_of_the_style_sheet():
    sheet, written = vector.css(), vector.render(every_mark(), id_prefix="a")
    used = {name for names in re.findall(r'class="([^"]+)"', written) for name in names.split()}
    assert {"paribus", "f-c1", "s-c1", "s-ink", "f-data", "s-grid", "f-faint", "o-20"} <= used
    assert all(f".{name}{{" in sheet for name in used)
    assert not re.search(r"url|@import|expression|<", sheet)
    for theme in ("light", "dark"):
        assert "class=" not in vector.render(every_mark(), id_prefix="a", theme=theme)


def luminance(color):
    parts = np.array([*bytes.fromhex(color[1:])]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [vector.LIGHT, vector.DARK])
def test_colors_have_enough_contrast_to_their_ground(theme):
    assert min(contrast(color, theme.paper) for color in (theme.ink, theme.faint)) >= 4.5
    assert min(contrast(color, theme.paper) for color in (theme.data, *theme.series)) >= 3
    assert len({*theme.series, theme.ink, theme.data}) == len(PALETTE) + 2
    shown = vector.render(every_mark(), id_prefix="a", theme="dark" if theme is vector.DARK else "light")
    assert {theme.series[0], theme.paper, theme.ink, theme.grid} <= set(re.findall(r"#\w{6}", shown))


def test_color_maps_are_as_dark_as_values_are_low_and_numbers_on_them_are_legible():
    sequential, diverging = shades("viridis"), shades("RdBu_r")
    assert (np.diff([luminance(color) for color in sequential]) > 0).all()
    light = [luminance(color) for color in diverging]
    assert max(light) == max(light[SHADES // 2 - 1 : SHADES // 2 + 1])
    assert light[0] < 0.1 > light[-1]
    assert (shades(("#000000", "#ffffff"))[0], shades(("#000000", "#ffffff"))[-1]) == ("#000000", "#ffffff")
    assert shade_numbers(np.array([-1.0, 0.0, 5.0, 10.0, 99.0]), 0.0, 10.0)[[0, 1, 3, 4]].tolist() == [
        0,
        0,
        119,
        119,
    ]
    grounds = [*sequential, *diverging]
    assert min(contrast(ground, vector.canvas.legible(ground)) for ground in grounds) >= 4.5
    with pytest.raises(DrawingError, match="colors='jet' is not a color map"):
        shades("jet")


# --- where marks are


def test_lines_and_bands_are_where_their_numbers_are():
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(-3, 7, 40)), rng.normal(size=40)
    y[10] = np.nan
    figure = Figure((Panel((Band(x, y - 1, y + 1, PALETTE[1]), Line(x, y, PALETTE[0]))),))
    written, frame = vector.render(figure, id_prefix="a"), frame_of(figure)
    pixel = np.array([frame.x.high - frame.x.low, frame.y.high - frame.y.low]) / [
        frame.box.width,
        frame.box.height,
    ]
    (line,) = re.findall(r'class="s-c1"[^>]* d="([^"]+)"', written)
    found = [values(frame, part) for part in corners(line)]
    assert [len(part) for part in found] == [10, 29]
    known = np.isfinite(y)
    assert (np.abs(np.vstack(found) - np.column_stack([x, y])[known]) <= 0.06 * pixel).all()
    (band,) = re.findall(r'class="f-c2[^>]* d="([^"]+)"', written)
    low, high = (part for part in corners(band))
    expected = np.vstack([np.column_stack([x, y - 1])[:10], np.column_stack([x, y + 1])[:10][::-1]])
    assert (np.abs(values(frame, low) - expected) <= 0.06 * pixel).all()
    assert len(high) == 58


def test_steps_hold_until_the_next_point():
    figure = Figure((Panel((Line(X, X**2, PALETTE[0], steps=True),)),))
    (path,) = re.findall(r'class="s-c1"[^>]* d="([^"]+)"', vector.render(figure, id_prefix="a"))
    found = values(frame_of(figure), corners(path)[0])
    assert np.allclose(found, [[0, 0], [1, 0], [1, 1], [2, 1], [2, 4], [3, 4], [3, 9]], atol=0.02)


def test_points_bars_and_errors_are_where_their_numbers_are():
    bars = Bars(X, X + 1, np.full(4, 0.5), PALETTE[0], X / 2, error=np.full(4, 0.25))
    figure = Figure((Panel((bars, Points(X, 2 * X, PALETTE[1]))),))
    written, frame = vector.render(figure, id_prefix="a"), frame_of(figure)
    (path,) = re.findall(r'class="f-c1"[^>]* d="([^"]+)"', written)
    for at, part in zip(X, corners(path), strict=True):
        left, right = at - 0.25, at + 0.25
        low, high = at / 2, at / 2 + at + 1
        assert np.allclose(
            values(frame, part), [[left, low], [right, low], [right, high], [left, high]], atol=0.02
        )
    circles = np.array([[float(c.get("cx")), float(c.get("cy"))] for c in elements(written, "circle")])
    assert np.allclose(values(frame, circles), np.column_stack([X, 2 * X]), atol=0.02)
    assert {float(circle.get("r")) for circle in elements(written, "circle")} == {4.0}  # 6 points, 8 pixels
    (errors,) = re.findall(r'class="s-ink"[^>]* d="([^"]+)"', written)
    stems = [values(frame, part) for part in corners(errors)[::3]]
    ends = np.column_stack([1.5 * X + 0.75, 1.5 * X + 1.25])
    assert np.allclose([stem[:, 1] for stem in stems], ends, atol=0.02)


def test_strips_and_hatches_are_where_their_numbers_are():
    strip = Strip(X, np.array([1.0, 2.0, 0.5, 4.0]), np.array([1.0, 1.0, 1.0, 0.5]), 4.0)
    figure = Figure((Panel((strip, Line(X, X, "ink"), Hatch(EDGES, EDGES, TABLE == 3))),))
    written, frame = vector.render(figure, id_prefix="a"), frame_of(figure)
    (data,) = re.findall(r'class="f-data s-data"[^>]* d="([^"]+)"', written)
    touching, alone = corners(data)
    tops = (frame.y.start - touching[[1, 3, 5], 1]) / frame.box.height
    assert np.allclose(tops, 0.1 * strip.height[:3] / 4, atol=1e-3)
    assert np.allclose(values(frame, alone)[:, 0], [2.75, 2.75, 3.25, 3.25], atol=0.02)
    cells = corners(re.search(r'fill="url[^>]* d="([^"]+)"', written)[1])
    assert len(cells) == 4
    assert np.allclose(values(frame, cells[0])[:2], [[2.5, -0.5], [3.5, -0.5]], atol=0.02)


def test_cells_have_the_color_of_their_value_and_none_has_none():
    heat = Heat(EDGES, EDGES, np.where(TABLE == 3, np.nan, TABLE), ("#ffffff", "#000000"), 0.0, 6.0, None)
    figure = Figure((Panel((heat,)),))
    written, frame = vector.render(figure, id_prefix="a"), frame_of(figure)
    found = np.full((4, 4), "", dtype=object)
    for color, path in re.findall(r'<path fill="(#\w+)" shape-rendering="crispEdges" d="([^"]+)"', written):
        for part in corners(path):
            (left, low), (right, high) = values(frame, part).min(0), values(frame, part).max(0)
            found[round(low + 0.5) : round(high + 0.5), round(left + 0.5) : round(right + 0.5)] = color
    expected = shades(heat.colors)
    for value, color in zip(heat.values.ravel(), found.ravel(), strict=True):
        assert color == ("" if np.isnan(value) else expected[int(shade_numbers(value, 0.0, 6.0))])


def test_what_reaches_beyond_a_panel_is_cut_off_and_points_there_are_not_drawn():
    y = PanelAxis(low=0.0, high=2.0)
    figure = Figure((Panel((Line(X, X**2, PALETTE[0]), Points(X, X**2, PALETTE[1])), y=y),))
    written = vector.render(figure, id_prefix="a")
    assert len(elements(written, "circle")) == 2
    assert re.search(r'class="s-c1"[^>]*clip-path="url\(#a-1\)"', written)
    within = vector.render(Figure((Panel((Line(X, X, PALETTE[0]),)),)), id_prefix="a")
    assert "clip" not in within


def test_hover_texts_are_titles_of_targets():
    figure = every_mark()
    shown = elements(vector.render(figure, id_prefix="a", hover=True), "title")
    assert {"age\n0.0", "age\n3.0"} <= {title.text for title in shown}
    assert len(elements(vector.render(figure, id_prefix="a"), "title")) == 1


# --- paths


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=40))
def test_lines_pass_the_points_they_leave_out(points):
    kept = simplified(points)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    starts, ends = np.array(kept[:-1] or kept, float), np.array(kept[1:] or kept, float)
    for point in np.array(points, float):
        way = ends - starts
        share = np.clip(((point - starts) * way).sum(1) / np.maximum((way**2).sum(1), 1e-9), 0, 1)
        assert np.hypot(*(starts + share[:, None] * way - point).T).min() <= 1.0 + 1e-9


def test_points_on_a_straight_line_are_left_out():
    assert simplified([(0, 0), (10, 5), (20, 10), (20, 10), (30, 0)]) == [(0, 0), (20, 10), (30, 0)]
    assert line_path(np.linspace(0, 50, 99), np.linspace(0, 5, 99)) == "M0 0l50 5"
    assert simplified([(0, 0), (10, 0), (5, 0)]) == [(0, 0), (10, 0), (5, 0)]  # and back


# --- ticks


@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-6, 1e9),
    st.integers(40, 900),
    st.sampled_from(["x", "y"]),
)
def test_ticks_of_numbers_are_round_distinct_and_apart(low, span, length, way):
    high = low + span
    ticks = axis_ticks(PanelAxis(), (low, high), way, length, 100.0)
    if span < 1e-12 * abs(low):
        return
    at, texts = [at for at, _ in ticks.entries], [text for _, text in ticks.entries]
    assert len(set(texts)) == len(texts) <= 9
    slack = 1e-9 * span
    assert all(low - slack <= value <= high + slack for value in at)
    for value, text in ticks.entries:
        assert float(text.replace("−", "-").replace(",", "")) == pytest.approx(
            value, rel=1e-9, abs=1e-9 * span
        )
    for (one, before), (two, after) in pairwise(ticks.entries):
        gap = (two - one) / span * length
        assert gap >= (12 * (text_width(before) + text_width(after)) / 2 if way == "x" else 12 * LEADING)
    if len(at) > 1 and span > 1e-6 * abs(low):
        step = f"{(at[1] - at[0]):.6e}".split("e")[0].rstrip("0").rstrip(".")
        assert step in ("1", "2", "2.5", "5")


def texts_of(low, high, most=7):
    return [text for _, text in number_ticks(low, high, lambda entries: True, most)]


def test_numbers_at_ticks_are_written_in_full_with_minus_signs_and_powers():
    assert texts_of(-1.0, 1.0, 5) == ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
    assert texts_of(0.0, 50_000.0, 6) == ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]
    assert texts_of(1_990.0, 2_010.0, 5) == ["1990", "1995", "2000", "2005", "2010"]
    assert texts_of(0.0, 4e7, 5) == ["0", "1e7", "2e7", "3e7", "4e7"]
    assert texts_of(0.0, 1e-8, 3) == ["0", "0.5e−8", "1.0e−8"]
    assert texts_of(0.9999999, 1.0000001, 3) == ["0.9999999", "1.0000000", "1.0000001"]
    assert texts_of(1.0, 1.0) == texts_of(np.inf, 1.0) == texts_of(np.nan, 1.0) == []


def dates_of(low, high, most=7, *, two_lines=True):
    days = [
        (np.datetime64(stamp, "ms") - np.datetime64(0, "ms")) / np.timedelta64(1, "D")
        for stamp in (low, high)
    ]
    return [text for _, text in date_ticks(*days, lambda entries: True, most, two_lines=two_lines)]


def test_dates_at_ticks_are_those_of_the_calendar():
    assert dates_of("2015-06-01", "2019-02-01") == ["2016", "2017", "2018", "2019"]
    assert dates_of("1890-01-01", "2020-01-01", 4) == ["1900", "1950", "2000"]
    assert dates_of("2020-11-15", "2021-03-15") == ["Dec\n2020", "Jan\n2021", "Feb", "Mar"]
    assert dates_of("2020-11-15", "2021-03-15", two_lines=False) == [
        "2020 Dec",
        "2021 Jan",
        "2021 Feb",
        "2021 Mar",
    ]
    assert dates_of("2021-02-01", "2021-03-05") == ["1 Feb\n2021", "8 Feb", "15 Feb", "22 Feb", "1 Mar"]
    assert dates_of("2021-02-01T22:30", "2021-02-02T02:30") == [
        "23:00\n1 Feb 2021",
        "00:00\n2 Feb 2021",
        "01:00",
        "02:00",
    ]
    assert dates_of("2021-02-01T00:00:00.1", "2021-02-01T00:00:00.3", 3) == [
        "00:00:00.100\n1 Feb 2021",
        "00:00:00.200",
        "00:00:00.300",
    ]


def boxes_of(written):
    """Return where each text lies, estimated by the width of its characters: left, top, right, bottom."""
    found = []

    def visit(element, size, anchor):
        size, anchor = float(element.get("font-size", size)), element.get("text-anchor", anchor)
        if element.tag == f"{SVG}text":
            found.append(box_of(element, size, anchor))
        for child in element:
            visit(child, size, anchor)

    visit(ElementTree.fromstring(written), 10.0, "start")
    return found


def box_of(element, size, anchor):
    spans = element.findall(f"{SVG}tspan")
    lines = [span.text for span in spans] or [(element.text or "") + "".join(c.tail or "" for c in element)]
    wide, high = size * max(map(text_width, lines)), LEADING * size * (len(lines) - 1)
    back = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    moved = re.match(r"translate\((\S+) (\S+)\)rotate\((-?[\d.]+)\)", element.get("transform", ""))
    if not moved:
        return x - back, y - 0.7 * size, x - back + wide, y + high, " ".join(lines)
    left, top = float(moved[1]), float(moved[2])
    return left + y - 0.7 * size, top - wide + back, left + y + high, top + back, " ".join(lines)


def test_lines_of_a_text_begin_at_its_position_and_follow_below():
    ticks = ((0.0, "first\nsecond\n\nfourth"),)
    panel = Panel((Points(np.zeros(1), np.ones(1), "ink"),), PanelAxis(scale="category", ticks=ticks))
    written = vector.render(Figure((panel,)), id_prefix="a")
    (text,) = (text for text in elements(written, "text") if text.findall(f"{SVG}tspan"))
    size = float(text.get("font-size", 10.0))
    drops = [float(span.get("dy", 0.0)) for span in text.findall(f"{SVG}tspan")]
    np.testing.assert_allclose(drops, LEADING * size * np.array([0, 1, 2]), atol=0.02)


def overlapping(boxes):
    for place, one in enumerate(boxes):
        for two in boxes[place + 1 :]:
            if one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]:
                yield one[4], two[4]


def plain(name, count, turned=False):
    """Return a figure of four panels whose words stand around them: categories, dates, numbers, a ranking."""
    at = np.arange(float(count))
    ticks = tuple((place, f"{name} {place:.0f}") for place in at)
    spread = {"low": -0.6, "high": count - 0.4}
    panels = (
        Panel(
            (Points(at, at, "ink"),), PanelAxis(name, "category", ticks, turned, **spread), PanelAxis(name)
        ),
        Panel((Line(18_000 + 37 * at, at * 1e5, "ink"),), PanelAxis(name, "date"), PanelAxis(name), name),
        Panel((Line(at * 1e-7, -at, "ink", name),), PanelAxis(name), PanelAxis(name)),
        Panel(
            (Bars(at, at, at + 0.5, PALETTE[0], horizontal=True),),
            PanelAxis(),
            PanelAxis("", "category", ticks),
        ),
    )
    return Figure(panels, 2, (8.0, 6.0), name, (name,))


@pytest.mark.parametrize("width", [420, 768, 1400])
@pytest.mark.parametrize("count", [2, 9, 40])
@pytest.mark.parametrize("name", ["a", "annual_income_of_household (thousands)", "年齢"])
def test_words_never_touch_and_stay_inside_of_the_image(name, count, width):
    for turned in (False, True):
        written = vector.render(plain(name, count, turned), id_prefix="a", width=width)
        boxes = boxes_of(written)
        assert len(boxes) > 15
        assert list(overlapping(boxes)) == []
        wide, high = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', written).groups())
        assert min(min(box[:2]) for box in boxes) >= -1
        assert max(box[2] for box in boxes) <= wide + 1
        assert max(box[3] for box in boxes) <= high + 1


def test_shortened_names_have_all_of_it_under_a_pointer():
    name = "category_" * 9
    ticks = tuple((at, f"{name}{at:.0f}") for at in X)
    figure = Figure((Panel((Points(X, X, "ink"),), PanelAxis("", "category", ticks)),))
    written = vector.render(figure, id_prefix="a")
    assert f"{name}3" in {title.text for title in elements(written, "title")}
    assert "…" in "".join(elements(written, "text")[0].itertext())


# --- hostile names


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_inert_text_and_leave_the_layout_in_shape(name):
    written = vector.render(every_mark(name), id_prefix="a", hover=True)
    root = ElementTree.fromstring(written)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= DRAWN
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", written)
    expected = ElementTree.fromstring(vector.render(every_mark(), id_prefix="a"))
    for side in ("width", "height"):
        assert float(root.get(side)) <= 1.8 * float(expected.get(side))
    short = vector.render(every_mark(name), id_prefix="a")
    assert len(short) < 150_000
    if len(name) < 40 and name.isprintable() and name.strip():
        shown = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert any(name in text for text in shown)


@pytest.mark.nightly
@given(st.text(max_size=30), st.floats(5, 300), st.floats(6, 20), st.integers(1, 4))
def test_fitted_text_is_no_wider_than_its_room(text, length, size, most):
    lines = fitted_lines(text, length, size, most).split("\n")
    assert len(lines) <= max(most, 1)
    room = max(length, 4 * size)
    assert all(size * text_width(line) <= room + 1e-9 for line in lines)
    line = text.replace("\n", " ")
    assert size * text_width(fitted(line, room, size)) <= room + 1e-9


# --- contours


def test_contours_of_a_plane_are_straight_and_end_at_its_edge():
    x, y = np.linspace(0, 10, 6), np.linspace(0, 5, 4)
    plane = x[None, :] + 0 * y[:, None]
    (ring,) = rings(x, y, plane, 3.0)
    assert (ring.points.min(0).tolist(), ring.points.max(0).tolist()) == ([3.0, 0.0], [10.0, 5.0])
    (line,) = contour_lines([ring])
    assert np.allclose(line[:, 0], 3.0)
    assert sorted(line[:, 1]) == pytest.approx(y)
    assert rings(x, y, plane, 11.0) == []
    (whole,) = rings(x, y, plane, -np.inf)
    assert list(contour_lines([whole])) == []


def enclosed(found, points):
    """Return whether points lie inside of rings, by how often a ray from each crosses them."""
    inside = np.zeros(len(points), bool)
    for ring in found:
        for (x0, y0), (x1, y1) in zip(ring.points, np.roll(ring.points, -1, axis=0), strict=True):
            crosses = (y0 > points[:, 1]) != (y1 > points[:, 1])
            with np.errstate(divide="ignore", invalid="ignore"):
                inside ^= crosses & (points[:, 0] < (x1 - x0) * (points[:, 1] - y0) / (y1 - y0) + x0)
    return inside


@given(st.integers(0, 10_000), st.booleans())
def test_rings_enclose_what_is_high_and_nothing_else(seed, gaps):
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.uniform(0.5, 2, 8)), np.cumsum(rng.uniform(0.5, 2, 7))
    heights = rng.normal(size=(7, 8))
    if gaps:
        heights[rng.random(heights.shape) < 0.15] = np.nan
    found = rings(x, y, heights, 0.3)
    across, down = np.meshgrid(x[1:-1], y[1:-1])
    inner = heights[1:-1, 1:-1]
    around = np.stack([heights[i : i + 5, j : j + 6] for i in range(3) for j in range(3)])
    clear = np.isfinite(around).all(0)  # beside a gap a ring passes the point itself
    inside = enclosed(found, np.column_stack([across[clear], down[clear]]))
    assert (inside == (inner[clear] >= 0.3)).all()
    for line in contour_lines(found):
        for point in line:  # on an edge of the grid, as far along it as the level is
            column, row = (np.argmin(np.abs(side - at)) for side, at in zip((x, y), point, strict=True))
            assert min(abs(x[column] - point[0]), abs(y[row] - point[1])) < 1e-9


def test_filled_contours_have_the_color_of_the_surface():
    x = np.linspace(0, 6, 25)
    mark = Contours(x, x, np.add.outer(x, 0 * x), np.linspace(0, 6, 7), "viridis", "unit")
    figure = Figure((Panel((mark,)),))
    written, frame = vector.render(figure, id_prefix="a"), frame_of(figure)
    fills = re.findall(r'<path fill="(#\w{6})" d="([^"]+)"', written)
    assert len(fills) == 6
    for place, (color, path) in enumerate(fills):
        low = values(frame, corners(path)[0])[:, 1].min()
        assert low == pytest.approx(place, abs=0.05)
        assert color == shades("viridis")[round((place + 0.5) / 6 * (SHADES - 1))]
    assert [text.text for text in elements(written, "text") if text.get("paint-order")] == ["2", "4"]


# --- layout


def test_width_lays_panels_out_anew_and_keeps_the_size_of_text():
    figure = plain("a", 3)
    narrow, wide = (vector.render(figure, id_prefix="a", width=width) for width in (500, 900))
    sizes = [set(re.findall(r'font-size="([^"]+)"', written)) for written in (narrow, wide)]
    assert sizes[0] == sizes[1]
    assert [re.search(r' width="(\d+)"', written)[1] for written in (narrow, wide)] == ["500", "900"]
    for bad in (0, -1, 20, np.nan, np.inf):
        with pytest.raises(OptionError, match="width="):
            vector.render(figure, id_prefix="a", width=bad)
    with pytest.raises(OptionError, match="id_prefix="):
        vector.render(figure, id_prefix="a b")


def test_units_of_equal_panels_are_as_long():
    figure = every_mark()
    frame = _image_layout(figure, 1152.0).frames[2]
    across = frame.box.width / (frame.x.high - frame.x.low)
    assert across == pytest.approx(frame.box.height / (frame.y.high - frame.y.low))


def test_strips_are_in_order_and_the_numbers_of_y_to_the_left_of_them():
    line = Line(X, X, "ink")
    low, high, missing = (
        Panel((line,), PanelAxis(scale="category", ticks=((1.5, text),), low=0.0, high=3.0))
        for text in ("from 1", "to 9", "missing")
    )
    panel = Panel((line,), y=PanelAxis("height", low=0.0, high=3.0), left=(low,), right=(high, missing))
    frame = _image_layout(Figure((panel,)), 600.0).frames[0]
    boxes = [frame.left[0].box, frame.box, *(part.box for part in frame.right)]
    assert all(one.right < other.left for one, other in pairwise(boxes))
    assert (frame.ahead, frame.beyond) == (boxes[0].left, boxes[-1].right)
    written = vector.render(Figure((panel,)), id_prefix="a", width=600)
    at = {text.text: float(text.get("x")) for text in elements(written, "text") if text.get("x")}
    assert {"from 1", "to 9", "missing"} <= set(at)
    numbers = [x for text, x in at.items() if text.replace(".", "").isdigit() and x < boxes[1].left]
    assert len(numbers) > 2
    assert max(numbers) < frame.ahead


def test_legends_explain_each_label_once_above_or_beside():
    line = Line(X, X, PALETTE[0], "one")
    panels = (Panel((line,)), Panel((line, replace(line, label="two"))), Panel((line,), legend="panel"))
    written = vector.render(Figure(panels, 3, (12.0, 4.0)), id_prefix="a")
    shown = [text.text for text in elements(written, "text")]
    assert (shown.count("one"), shown.count("two")) == (2, 1)


def test_tall_legends_have_room_below_their_panel():
    lines = tuple(Line(X, X + place, PALETTE[0], f"category {place}") for place in range(30))
    panels = (Panel(lines, legend="panel", legend_title="region"), Panel((), title="next"))
    boxes = boxes_of(vector.render(Figure(panels, 1, (6.0, 4.0)), id_prefix="a"))
    assert list(overlapping(boxes)) == []
    last = next(box for box in boxes if box[4] == "category 29")
    assert last[3] < next(box for box in boxes if box[4] == "next")[1]


@pytest.mark.parametrize(
    "panel",
    [
        Panel(()),
        Panel((Line(X[:1], X[:1], "ink"),)),
        Panel(
            (Line(X, np.full(4, np.nan), "ink"), Band(X, X * np.nan, X, "ink"), Points(X, X * np.nan, "ink"))
        ),
        Panel((Line(X, np.array([0.0, np.inf, -np.inf, 1.0]), "ink"),)),
        Panel((Line(X * 1e307, X * 5e307, "ink"),), PanelAxis(low=-1e308, high=1e308)),
        Panel((Line(X * 5e-324, X * 5e-324, "ink"),)),
        Panel((Line(X, 1e17 + X, "ink"),)),
        Panel((Line(X, 0 * X + 3, "ink"),)),
        Panel((Strip(X, 0 * X, X, 0.0), Rug(X[:0]))),
        Panel((Heat(EDGES, EDGES, TABLE * np.nan, "viridis", 0.0, 0.0, "unit"),)),
        Panel((Contours(X, X, TABLE * np.nan, np.array([0.0, 1.0]), "viridis", "unit"),)),
        Panel((Contours(X, X, TABLE, np.array([2.0, 2.5, 3.0]), "viridis", "unit"),)),
        Panel((Line(X, X, "ink"),), PanelAxis(ticks=())),
        Panel((Line(X * 1e7, X, "ink"),), PanelAxis("since", "date")),
        Panel((Line(X * 1e-9, X, "ink"),), PanelAxis("since", "date"), PanelAxis("until", "date")),
    ],
)
def test_odd_numbers_have_a_picture(panel):
    written = vector.render(Figure((panel,)), id_prefix="a")
    ElementTree.fromstring(written)
    assert not re.search(r'[" ](?:nan|-?inf)', written)


def test_an_empty_panel_has_a_picture():
    ElementTree.fromstring(
        vector.render(Figure((Panel((), PanelAxis(scale="none"), PanelAxis(scale="none")),)), id_prefix="a")
    )


def test_rankings_and_heat_maps_are_small():
    found = statistics("abcdef", np.arange(1.0, 16.0))
    for figure in (found.figure("bars"), found.figure("heatmap")):
        assert len(vector.render(figure, id_prefix="a")) < 12_000
    assert len(vector.render(importance(["a", "b"], [1.0, 3.0]).figure(), id_prefix="a")) < 3_100


# --- sparklines


def test_sparklines_are_small_images_without_words_or_ids():
    x = np.linspace(0, 1, 60)
    drawn = vector.sparkline(x, np.sin(9 * x))
    bars = vector.sparkline(None, np.array([1.0, 3.0, np.nan, 2.0]))
    for written in (drawn, bars):
        root = ElementTree.fromstring(written)
        assert (root.get("aria-hidden"), root.get("width"), root.get("height")) == ("true", "96", "24")
        assert not re.search(r" id=|<text|style=|url", written)
    assert drawn.count("<path") == 1
    assert len(drawn) < 1_800
    heights = [np.ptp(part[:, 1]) for part in corners(re.search(r' d="([^"]+)"', bars)[1])]
    assert len(heights) == 3
    assert 0 < heights[0] < heights[2] < heights[1]


def test_sparkline_bars_start_at_zero():
    around_zero = vector.sparkline(None, np.array([-1.0, 1.0]))
    below, above = corners(re.search(r' d="([^"]+)"', around_zero)[1])
    assert (below[0, 1], above[0, 1]) == (12.0, 12.0)


@pytest.mark.parametrize("y", [[], [1.0], [np.nan], [np.nan, np.inf], [2.0, 2.0], [1e308, -1e308]])
def test_sparklines_of_odd_numbers_are_well_formed(y):
    for x in (None, np.arange(float(len(y)))):
        written = vector.sparkline(x, np.array(y))
        ElementTree.fromstring(written)
        assert "nan" not in written

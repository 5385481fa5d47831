"""Figures as standalone SVGs: nothing from outside, nothing that runs, the same bytes every time."""

import os
import pickle
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import paribus
from handmade import importance, statistics
from paribus._display import alt_text, vector
from paribus._display.figure import (
    Contours,
    Figure,
    Hatch,
    Heat,
    Line,
    Panel,
    PanelAxis,
    Points,
    Strip,
    Text,
)
from paribus._display.output import render_svg
from paribus.errors import OptionError

X = np.array([0.0, 1.0, 2.0, 3.0])
EDGES = np.arange(5.0) - 0.5
TABLE = np.add.outer(X, X)
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ("$x_1$", "<script>alert(1)</script>", "\"&'", "]]>", 'id="a" url(#b)', "_hidden", "$$", "&lt;")


def curve(name="x", label="average", **parts):
    marks = (Line(X, X**2, "#0072B2", label=label), Strip(X, X, np.ones(4), most=3.0))
    y = PanelAxis("prediction", low=-2.0, high=9.0, tick_low=0.0)
    return Panel(marks, PanelAxis(name), y, **parts)


def surface():
    marks = (
        Contours(X, X, TABLE, np.linspace(0, 6, 7), "viridis", "prediction"),
        Hatch(EDGES, EDGES, TABLE > 4, label="no row combines these"),
    )
    return Panel(marks, PanelAxis("age"), PanelAxis("power"))


def every_kind():
    words = tuple(tuple(f"{value:.0f}" for value in row) for row in TABLE)
    heat = Heat(EDGES, EDGES, TABLE, ("#ffffff", "#0072B2"), 0.0, 6.0, "strength", written=words)
    points = Points(X, X, "ink", error=np.ones(4), marker="diamond", label="mean")
    missing = Panel(
        (Points(np.zeros(1), np.ones(1), "ink"),), PanelAxis(scale="category", ticks=((0.0, "missing"),))
    )
    days = Panel((Line(19000 + 100 * X, X, "ink"),), PanelAxis("day", "date"), PanelAxis("prediction"))
    panels = (
        curve(right=(missing,)),
        surface(),
        Panel((heat, Text(1.0, 1.0, "said"))),
        Panel((points,)),
        days,
    )
    return Figure(panels, 2, (8.0, 9.0), "Everything", ("a note",))


def texts(written):
    """Return all that is written in the picture, a line for each text."""
    return ["".join(text.itertext()) for text in ElementTree.fromstring(written).iter(f"{SVG}text")]


def described(written):
    root = ElementTree.fromstring(written)
    return root.find(f"{SVG}title").text, root.find(f"{SVG}desc").text


# --- bytes

SCRIPT = """
import pickle, sys
from paribus._display.output import render_svg
sys.stdout.buffer.write(render_svg(pickle.load(sys.stdin.buffer)).encode())
assert not {"matplotlib", "plotly", "pandas"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def written():
    return render_svg(every_kind())


@pytest.mark.nightly
def test_svg_is_the_same_to_the_byte_in_other_processes_and_folders(written, tmp_path):
    figure = pickle.dumps(every_kind())
    for seed in ("1", "2"):
        known = os.environ | {"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": seed * 9}
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, input=figure, cwd=tmp_path, env=known, capture_output=True, check=True)
        assert done.stdout.decode() == written


@pytest.mark.nightly
def test_svg_is_the_same_to_the_byte_in_threads(written):
    with ThreadPoolExecutor(2) as threads:
        assert set(threads.map(render_svg, [every_kind()] * 2)) == {written}


def test_svg_says_no_date_and_no_version_of_its_makers(written):
    assert not re.search(r"matplotlib|metadata|20\d\d-\d\d-\d\dT", written)


def test_dark_svg_has_light_text_on_a_dark_ground():
    light, dark = (render_svg(Figure((curve(),)), dark=dark) for dark in (False, True))
    ground = [re.search(r"<path [^>]*>", written)[0] for written in (light, dark)]
    words = [re.search(r"<svg [^>]*>", written)[0] for written in (light, dark)]
    assert [vector.LIGHT.paper in ground[0], vector.DARK.paper in ground[1]] == [True, True]
    assert [f'fill="{vector.LIGHT.ink}"' in words[0], f'fill="{vector.DARK.ink}"' in words[1]] == [True, True]
    assert texts(light) == texts(dark)


# --- what is in it


def test_svg_runs_nothing_and_refers_to_nothing_outside(written):
    root = ElementTree.fromstring(written)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not tags & {"script", "style", "foreignObject", "metadata", "a"}
    keys = {key for element in root.iter() for key in element.attrib}
    assert not any(key.startswith("on") or key in ("style", "class", "href", "src") for key in keys)
    values = [value for element in root.iter() for value in element.attrib.values()]
    assert not any(re.search(r"https?:|url\((?!#)", value) for value in values)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_literal_text_wherever_they_stand(name):
    ticks = PanelAxis(scale="category", ticks=((1.0, name),))
    named = Panel((Line(X, X, "ink", label=name), Text(1.0, 1.0, name)), ticks, PanelAxis(name), title=name)
    cells = np.arange(2.0)
    heat = Panel((Heat(cells, cells, np.ones((1, 1)), "viridis", 0.0, 6.0, name, written=((name,),)),))
    written = render_svg(Figure((named, heat), 2, (12.0, 6.0), title=name, notes=(name,)))
    shown = [text.strip() for text in texts(written)]
    # title, panel title, label of y, tick, text, legend, color bar, cell, and note
    assert shown.count(name) == 9
    assert all(name in text for text in described(written))


def test_characters_that_no_page_may_contain_are_written_out():
    written = render_svg(Figure((curve("a\x00b\uffff"),)))
    assert r"a\x00b\uffff" in texts(written)


def test_text_stays_text_whatever_the_font_lacks():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = render_svg(Figure((curve("年齢"),)))
    assert "年齢" in texts(written)


def test_several_svgs_have_no_id_in_common_and_every_reference_is_found(written):
    figures = [Figure((curve(),)), Figure((curve("z"),)), Figure((surface(),))]
    page = "".join([written, *map(render_svg, figures)])
    known = re.findall(r' id="([^"]+)"', page)
    assert len(known) == len(set(known))
    used = re.findall(r"url\(#([^)]+)\)", page)
    assert set(used) <= set(known)
    assert len(used) > 3


def test_id_prefix_begins_every_id():
    written = render_svg(Figure((surface(),)), id_prefix="report-3")
    known = re.findall(r' id="([^"]+)"', written)
    assert len(known) == 3  # title, description and hatch
    assert all(name.startswith("report-3-") for name in known)
    for bad in ("", "3", 'a"b', "a b"):
        with pytest.raises(OptionError, match="id_prefix="):
            render_svg(Figure((curve(),)), id_prefix=bad)


# --- for screen readers


def test_svg_is_an_image_with_a_title_and_a_description():
    written = render_svg(Figure((curve("age"), curve("power")), 2, title=None, notes=("Model, 10 rows",)))
    root = ElementTree.fromstring(written)
    title, description = root[0], root[1]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert title.text == "prediction by age, and 1 more"
    assert description.text.split("\n") == [
        "2 panels: prediction by age; prediction by power.",
        "Legend: average.",
        "Model, 10 rows.",
    ]
    assert described(render_svg(Figure((curve(),), title="Claims")))[0] == "Claims"


def test_description_names_what_colors_bars_and_families_show():
    bars = Panel((), PanelAxis("strength"), PanelAxis(scale="category", ticks=((0.0, "age"), (1.0, "power"))))
    family = replace(curve("power"), legend="panel", legend_title="region")
    shown = [
        alt_text.figure_description(Figure((panel,))).split("\n")[0]
        for panel in (surface(), bars, family, replace(curve("age"), title="setosa"))
    ]
    assert shown == [
        "prediction by age and power.",
        "strength: age, power.",
        "prediction by power and region.",
        "setosa: prediction by age.",
    ]


def test_panels_that_share_a_label_of_y_are_described_by_it():
    second = replace(curve("power"), y=PanelAxis("", numbers=False))
    assert "prediction by power" in alt_text.figure_description(Figure((curve("age"), second), 2))


# --- results


@pytest.fixture(scope="module")
def effects():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"<b>age</b>": rng.normal(size=60), "$power$": rng.normal(size=60)})
    model = LinearRegression().fit(frame, frame.sum(axis=1))
    return paribus.effects(model, frame, grid_resolution=5)


def test_every_result_with_a_figure_has_an_svg_of_it(effects):
    one = effects["$power$"]
    H = statistics("abc", np.array([1.0, 2.0, 3.0]))
    ranked = importance(["a", "b"], [1.0, 3.0])
    both = paribus.compare({"a": effects, "b": effects})
    for result in (effects, both, both.difference(), one, paribus.compare(one), H, ranked):
        assert described(result.to_svg())[1] == alt_text.figure_description(result.figure())
    assert H.to_svg("heatmap") == render_svg(H.figure("heatmap"))
    assert effects.to_svg(k=1, title="One") == render_svg(effects.figure(k=1, title="One"))
    assert one.to_svg(dark=True, id_prefix="a") == render_svg(one.figure(), dark=True, id_prefix="a")


def test_svg_of_a_result_says_what_of_which_model_and_rows(effects):
    title, description = described(effects["$power$"].to_svg())
    assert title == "Partial dependence: $power$"
    assert description.startswith("prediction by $power$.")
    assert "LinearRegression, 60 rows" in description


def test_svg_needs_no_plotting_package(effects, monkeypatch):
    figure = effects.figure()
    for name in ("matplotlib", "plotly"):
        monkeypatch.setitem(sys.modules, name, None)
    assert render_svg(figure) == effects.to_svg()

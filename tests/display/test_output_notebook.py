"""What a notebook shows of every result: its story, and a picture in the page."""

import base64
import pickle
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import paribus
from handmade import importance, statistics
from paribus._display import matplotlib as renderer
from paribus._display import output

PNG = b"\x89PNG\r\n\x1a\n"
CLASSES = {
    paribus.results.PartialDependence,
    paribus.results.AccumulatedLocalEffect,
    paribus.results.Marginal,
    paribus.results.Comparison,
    paribus.results.Effects,
    paribus.results.HStatistics,
    paribus.results.Importance,
}


def model(table):
    return table["a"].to_numpy() + (table["<b>"] == "x & y").to_numpy()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=60), "<b>": rng.choice(["x & y", '"z"'], 60)})


@pytest.fixture(scope="module")
def everything(frame):
    """Return a result of every class."""
    found = paribus.effects(model, frame, progress=False, grid_resolution=5)
    local = paribus.accumulated_local_effects(model, frame, progress=False)
    near = paribus.marginal(model, frame, y=frame["a"].to_numpy(), progress=False)
    compared = paribus.compare(found, local, near)
    overlaid = paribus.compare({"<i>": found, "two": found})
    many = [found, local, near, compared, overlaid]
    ranked = importance(["a", "<b>"], [2.0, 1.0])
    return [*many, *(each["<b>"] for each in many), statistics(["a", "<b>", "c"], [4.0, 1.0, 0.5]), ranked]


def test_every_class_of_results_is_tested(everything):
    assert {type(result) for result in everything} == CLASSES


def test_a_notebook_shows_the_story_and_the_picture(everything):
    for result in everything:
        shown = result._repr_mimebundle_()
        assert set(shown) == {"text/plain", "text/html", "image/png"}
        assert shown["text/plain"] == repr(result)
        assert shown["image/png"].startswith(PNG)
        (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', shown["text/html"])
        assert base64.b64decode(data) == shown["image/png"]
        assert "http" not in shown["text/html"].replace(data, "")  # nothing is fetched
    assert not plt.get_fignums()


@pytest.mark.nightly
def test_other_ways_to_show_are_the_same(everything):
    for result in everything[:1] + everything[-2:]:
        shown = result._repr_mimebundle_(include=None, exclude=None)
        assert result._repr_html_() == shown["text/html"]
        assert result._repr_png_() == shown["image/png"]


@pytest.mark.nightly
def test_names_are_no_markup(everything):
    for result in everything:
        html = result._repr_html_()
        page = re.sub(r'src="[^"]*"', "", html)
        assert set(re.findall(r"<[^>]*>", re.sub(r'alt="[^"]*"', "", page))) == {"<img  >", "<pre>", "</pre>"}
        assert "<b>" not in page
        assert "<i>" not in page
        if "<b>" in repr(result):
            assert "&lt;b&gt;" in page


def test_no_figure_stays_open_and_none_of_somebody_is_touched(everything):
    mine = plt.figure()
    everything[0]._repr_png_()
    assert plt.get_fignums() == [mine.number]
    assert plt.gcf() is mine
    assert not mine.axes
    plt.close("all")


def test_what_has_no_picture_has_its_story(frame):
    wide = frame.assign(c=np.arange(60.0))[["a", "<b>", "c"]]
    three = paribus.partial_dependence(model, wide, ["a", "<b>", "c"], progress=False, grid_resolution=3)
    shown = three._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert "<img" not in shown["text/html"]
    assert "PartialDependence of model" in shown["text/html"]
    assert three._repr_png_() is None


def test_without_matplotlib_there_is_no_picture(everything, monkeypatch):
    monkeypatch.setattr(output, "find_spec", lambda name: None)
    for result in everything:
        shown = result._repr_mimebundle_()
        assert set(shown) == {"text/plain", "text/html"}
        assert result._repr_png_() is None
        assert "<img" not in result._repr_html_()


def test_of_very_many_effects_the_strongest_are_drawn(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 15))
    found = paribus.effects(lambda t: t @ np.arange(15.0), X, progress=False, grid_resolution=3)
    drawn = []
    monkeypatch.setattr(renderer, "png", lambda figure, dpi: drawn.append(figure) or PNG)
    assert found._repr_png_() == PNG
    (figure,) = drawn
    assert [panel.x.label for panel in figure.panels] == list(found)[:12]
    assert "12 of 15 features, the strongest; k= draws more" in figure.notes
    assert figure == found.figure()
    assert len(found.figure(k=15).panels) == 15


def test_a_mistake_in_drawing_is_not_hidden(everything, monkeypatch):
    def broken(figure, dpi):
        raise ZeroDivisionError

    monkeypatch.setattr(renderer, "png", broken)
    with pytest.raises(ZeroDivisionError):
        everything[0]._repr_png_()


def test_a_picture_is_drawn_once(everything, monkeypatch):
    """IPython requests the bundle, then for each way to show that the bundle lacks."""
    ways = {"text/html": "_repr_html_", "image/png": "_repr_png_", "text/plain": "__repr__"}
    drawn, true = [], renderer.png
    monkeypatch.setattr(renderer, "png", lambda figure, dpi: drawn.append(figure) or true(figure, dpi))
    for result in everything:
        drawn.clear()
        shown = result._repr_mimebundle_(include=None, exclude=None)
        for kind in set(ways) - set(shown):
            getattr(result, ways[kind])()
        assert len(drawn) == 1


# --- figures that are returned, where a notebook shows what pyplot holds after each cell


def shown(page):
    """Show what a cell ends with as IPython does, and return how often a notebook with figures inline shows it."""
    with pytest.raises(NotImplementedError):  # IPython then shows it as any other figure
        page._ipython_display_()
    return 1 + len(plt.get_fignums())


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    yield
    plt.close("all")


def test_a_figure_that_a_cell_ends_with_is_shown_once(everything, inline):
    for result in everything:
        assert shown(result.plot()) == 1


def test_a_figure_on_axes_of_ones_own_is_shown_once(everything, inline):
    effects = everything[0]
    assert shown(effects.plot(ax=plt.subplots(1, 2)[1])) == 1


def test_a_figure_that_a_cell_does_not_end_with_stays_with_pyplot(everything, inline):
    page = everything[0].plot()
    assert plt.get_fignums() == [page.number]


def test_a_script_shows_figures_with_pyplot(everything):
    page = everything[0].plot()
    with pytest.raises(NotImplementedError):
        page._ipython_display_()
    assert plt.get_fignums() == [page.number]
    assert plt.gcf() is page
    again = pickle.loads(pickle.dumps(page))
    assert len(again.axes) == len(page.axes)
    plt.close("all")

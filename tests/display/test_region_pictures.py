"""Pictures of regions: the curves of the regions of a feature in one panel, or in panels if they are many."""

from html import escape, unescape

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus._display.alt_text import figure_description, figure_title
from paribus._display.figure import Line, Strip
from paribus._text import number
from paribus.errors import DrawingError, OptionError

plt = pytest.importorskip("matplotlib.pyplot")
TOWNS = ["Basel", "Bern", "Geneva", "Lausanne", "Lucerne", "Sankt Gallen", "Zurich"]
QUIET = {"progress": False}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=["a", "b", "c"])
    return frame.assign(town=pd.Categorical(rng.choice(TOWNS, 2_000)))


def turning(frame):
    large = np.where(frame["town"].isin(["Bern", "Lucerne", "Sankt Gallen"]), 1, 3)
    return np.where(frame["b"] > 0.4, 1, -1) * large * frame["a"] + frame["c"]


@pytest.fixture(scope="module")
def found(table):
    return paribus.regions(turning, table, **QUIET)


@pytest.fixture(scope="module")
def deep(table):
    def steps(frame):
        return np.floor(2 * np.clip(frame["b"], -1.9, 1.9)) * frame["a"]

    return paribus.regions(steps, table, ["a"], max_depth=3, min_gain=0.01, **QUIET)


def lines(panel):
    return [mark for mark in panel.marks if isinstance(mark, Line) and mark.label]


def one_line(text):
    return " ".join(text.split())


def test_the_regions_of_a_feature_share_a_panel_with_all_its_data(found):
    one = found["a"]
    figure = one.figure()
    (panel,) = figure.panels
    assert [line.label for line in lines(panel)] == [region.text for region in one.regions]
    for line, curve in zip(lines(panel), one.curves.results, strict=True):
        assert set(np.round(line.y, 9)) <= set(np.round(curve.average[0], 9))
    assert figure.legend_title == "regions of a ± 2 standard errors"
    assert panel.legend == "figure"
    assert any(isinstance(mark, Strip) for mark in panel.marks)


def test_the_heterogeneity_before_and_after_stands_below(found):
    before, within = (
        number(getattr(found["a"], name) ** 0.5) for name in ("heterogeneity", "heterogeneity_within")
    )
    (line,) = (note for note in found["a"].figure().notes if note.startswith("a: "))
    assert f"differ by {before}" in line
    assert line.split("within 4 regions by ")[1].startswith(within)


def test_every_feature_with_regions_has_a_panel_and_a_legend(found):
    split = [name for name, one in found.items() if one.splits]
    whole = [name for name in found if name not in split]
    assert len(split) > 1
    assert whole
    figure = found.figure()
    assert [panel.x.label for panel in figure.panels] == split
    for name, panel in zip(split, figure.panels, strict=True):
        assert panel.legend == "panel"
        assert panel.legend_title.startswith(f"regions of {name}")
        assert [one_line(line.label) for line in lines(panel)] == [one.text for one in found[name].regions]
        assert max(len(part) for line in lines(panel) for part in line.label.splitlines()) <= 20
    assert f"no split was kept for: {', '.join(whole)}" in figure.notes


def test_k_features_are_drawn_and_a_line_says_so(found):
    figure = found.figure(k=1, title="First", figsize=(5, 4))
    assert len(figure.panels) == 1
    assert (figure.title, figure.size) == ("First", (5, 4))
    assert "the most heterogeneous 1 of 2, k= draws more" in figure.notes
    with pytest.raises(OptionError, match="k=0 must be"):
        found.figure(k=0)


def test_many_regions_have_panels(deep):
    figure = deep["a"].figure()
    assert len(deep["a"].regions) > 5
    assert [panel.title for panel in figure.panels] == [region.text for region in deep["a"].regions]
    assert all(len(lines(panel)) == 1 for panel in figure.panels)
    assert deep.figure() == figure


def test_long_regions_are_shortened_if_they_stay_apart(table):
    named = {"town": [f"{town} on the river of the same name" for town in TOWNS]}
    long = table.assign(town=table["town"].cat.rename_categories(named["town"]))

    def f(frame):
        return np.where(frame["town"].isin(named["town"][1:6:2]), 1, -1) * frame["a"]

    one = paribus.regions(f, long, ["a"], **QUIET)["a"]
    shown = [line.label for line in lines(one.figure().panels[0])]
    assert max(map(len, shown)) <= 60 < min(len(region.text) for region in one.regions)
    assert len(set(shown)) == len(shown) == 2


def test_several_outputs_have_a_panel_each_with_one_legend(table):
    def both(frame):
        return np.column_stack([turning(frame), -turning(frame)])

    one = paribus.Explainer(both, table, target_names=["up", "down"], **QUIET).regions(["a"])["a"]
    figure = one.figure()
    assert [panel.y.label for panel in figure.panels] == ["predicted up", "predicted down"]
    assert {panel.legend for panel in figure.panels} == {"figure"}
    assert len(one.figure(output="down").panels) == 1
    with pytest.raises(DrawingError, match="outputs='color'"):
        one.figure(outputs="color")


def test_features_without_regions_have_the_average_curve(found, table):
    (panel,) = found["c"].figure().panels
    (curve,) = found["c"].curves.results
    (line,) = lines(panel)
    assert line.label == "average ± 2 standard errors"
    assert set(np.round(line.y, 9)) <= set(np.round(curve.average[0], 9))
    none = paribus.regions(lambda frame: frame["a"] + frame["c"], table, **QUIET)
    figure = none.figure()
    assert [panel.x.label for panel in figure.panels] == list(none)
    assert sum("no split was kept" in note for note in figure.notes) == len(none)
    assert "image/png" in none._repr_mimebundle_()


@pytest.mark.parametrize("which", ["one", "all", "many"])
def test_all_renderers_draw_regions(found, deep, which):
    result = {"one": found["a"], "all": found, "many": deep}[which]
    figure = result.figure()
    result.plot().canvas.draw()
    assert result._repr_mimebundle_()["image/png"][:4] == b"\x89PNG"
    svg = result.to_svg()
    assert svg.startswith("<svg")
    assert escape(figure_title(figure)) in svg
    pytest.importorskip("plotly")
    traces = result.plot(backend="plotly").data
    names = {one_line(unescape(trace.name.replace("<br>", " "))) for trace in traces if trace.name}
    assert {one_line(line.label) for panel in figure.panels for line in lines(panel)} <= names


def test_the_description_names_the_regions(found, deep):
    single, several = figure_description(found["a"].figure()), figure_description(found.figure())
    assert single.startswith("prediction by a.\nLegend (regions of a ± 2 standard errors): ")
    assert all(region.text in single for region in found["a"].regions)
    assert "prediction by a and regions of a" in several
    assert all(one_line(region.text) in one_line(several) for region in found["a"].regions)
    first = deep["a"].regions[0].text
    assert figure_title(deep.figure(title="")).startswith(f"{first}: prediction by a, and ")
    assert figure_title(deep.figure()) == "Regions of rows with different effects"

"""Figures as plain data: when they are equal, how panels share axes, and who draws them."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import paribus
from handmade import importance, statistics
from paribus._display import figure as parts
from paribus._display import output as drawing
from paribus._display.figure import Band, Figure, Heat, Line, Panel, PanelAxis, Points, Strip
from paribus._display.layout import NO_PANEL, NOTE_SIZE, figure_of, lines_below
from paribus._display.mark_helpers import DARK, PALETTE
from paribus._display.output import draw
from paribus._display.text_width import inches
from paribus.notes import NoteCode
from selection import nightly
from statistic_of import statistic_of


@pytest.fixture(autouse=True)
def closed():
    """Close the pictures a test has drawn."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120), "c": rng.normal(size=120)})
    table["gap"] = np.where(rng.random(120) < 0.2, np.nan, rng.normal(size=120))
    table["city"] = rng.choice(["Bern", "Basel", "Genf"], 120)
    return table


ODD = [
    "$$2",
    "a_{b",
    r"\alpha",
    "<script>alert(1)</script>",
    "%s %{text}",
    "a\nb",
    "a\tb\r\nc",
    "column_" * 12,
]
ODD += ["a\x00b", "\x1b[31m\x7f\x85", "", "_a", "\u05e9\u05dc\u05d5\u05dd", "a\u2028b"]


@pytest.mark.nightly
def test_names_are_text_in_pictures_of_both_renderers(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=60) for name in ODD})
    table["kind"] = rng.choice([*ODD, "plain"], 60)
    table.loc[::7, ODD] = np.nan

    def both(given):
        value = given[ODD].fillna(0).sum(axis=1) * (given["kind"] == "plain")
        return np.column_stack([value, -value])

    first, last = ODD[0], ODD[-1]
    features = [*ODD, "kind", (first, "kind"), (first, last)]
    found = paribus.Explainer(both, table, target_names=[first, last]).effects(features, grid_resolution=3)
    overlaid = paribus.compare(dict.fromkeys(ODD, found[first]))
    titled = [found[name].figure(title=name) for name in ODD[::4]]
    every = found.figure(output=0)
    for figure in (*titled, every, overlaid.figure(output=0), found["kind"].figure()):
        page = draw(figure)
        for form in ("png", "svg") if figure not in titled else ("svg",):
            page.savefig(tmp_path / f"drawn.{form}")
        plt.close(page)
        ElementTree.parse(tmp_path / "drawn.svg")
        for text in page.findobj(Text):
            assert text._preprocess_math(text.get_text())[1] is False
        shown = json.loads(draw(figure, backend="plotly").to_json())
        del shown["layout"]["template"]
        said = list(_texts(shown))
        assert any(said)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f<>$\u2028]", "".join(said).replace("<br>", ""))
    page = found._repr_mimebundle_()["text/html"]
    assert not re.search(r"<script|[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)


def _texts(part):
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _texts(each)


def test_signs_that_cannot_be_drawn_are_written_out():
    panel = Panel(
        (parts.Text(0.0, 0.0, "a\x00b"),), x=PanelAxis("a\tb", ticks=((0.0, "\x1b["),)), title="a\r\nb\rc"
    )
    assert panel.marks[0].text == r"a\x00b"
    assert (panel.x.label, panel.x.ticks, panel.title) == ("a b", ((0.0, r"\x1b["),), "a\nb\nc")
    assert Figure((panel,), title="\ud800").title == r"\ud800"
    assert Figure((panel,), title="émoji 😀 שלום").title == "émoji 😀 שלום"


def model(table):
    gap, bern = table["gap"].fillna(3).to_numpy(), (table["city"] == "Bern").to_numpy()
    return 4 * table["a"].to_numpy() + table["b"].to_numpy() * gap + bern


def two(table):
    return np.column_stack([model(table), 100 * model(table)])


def effects(frame, features=None, predict=model, **options):
    return statistic_of("effects", predict, frame, features, progress=False, grid_resolution=6, **options)


def results(frame):
    """Return a result of every kind that has panels."""
    y = model(frame) + np.arange(len(frame)) % 5
    found = effects(frame)
    local = paribus.accumulated_local_effects(model, frame, progress=False)
    near = paribus.marginal(model, frame, y=y, progress=False)
    other = effects(frame, predict=lambda t: 2 * model(t))
    rows = effects(frame, ["a", "gap", "city"], kind="both")
    pair = effects(frame, [("a", "b"), ("a", "city")])
    compared = paribus.compare(found, local, near)
    overlaid = paribus.compare({"one": found, "two": other})
    apart = overlaid.difference()
    single = found["gap"], near["city"], pair["a", "b"], apart["gap"], apart["city"]
    return [found, local, near, rows, pair, compared, overlaid, apart, *single]


# --- equality


def test_the_same_result_has_the_same_figure(frame):
    for result in results(frame):
        assert result.figure() == result.figure()


def test_a_saved_result_has_the_same_figure(frame, tmp_path):
    for number, result in enumerate(results(frame)):
        result.save(tmp_path / f"{number}.json")
        assert paribus.load(tmp_path / f"{number}.json").figure() == result.figure()


def test_results_of_the_same_data_have_equal_figures(frame):
    assert effects(frame).figure() == effects(frame.copy()).figure()
    moved = frame.assign(a=frame["a"] + 1e-9)
    assert effects(frame).figure() != effects(moved).figure()


def some_marks():
    x = np.array([0.0, 1.0, 2.0])
    line = Line(x, np.array([1.0, np.nan, 3.0]), "ink", "one", hover=("a", "b", "c"))
    return line, Band(x, x, x + 1, "ink"), Points(x, x, "ink", size=np.array([1.0, 2.0, 3.0]))


def test_a_changed_number_or_word_makes_figures_unequal():
    line, band, points = some_marks()
    again = some_marks()[0]
    assert line == again  # NaN is equal to itself
    assert line != replace(line, y=np.array([1.0, np.nan, 3.0 + 1e-15 * 4]))
    assert line != replace(line, y=np.array([1.0, 2.0, 3.0]))
    assert line != replace(line, y=line.y[:2])
    assert line != replace(line, hover=("a", "b", "d"))
    assert line != replace(line, label="two")
    assert line != replace(line, width=3.0)
    assert points != replace(points, size=6.0)
    assert points != replace(points, size=np.array([1.0, 2.0, 4.0]))
    assert line != band
    assert line != "a line"
    panel = Panel((line, band))
    assert panel == Panel((again, band))
    assert panel != Panel((band, line))
    assert panel != replace(panel, right=(Panel((points,)),))
    figure = Figure((panel,), notes=("few rows",))
    assert figure == Figure((Panel((again, band)),), notes=("few rows",))
    assert figure != replace(figure, notes=("many rows",))
    assert figure != replace(figure, panels=(panel, panel))
    assert figure != replace(figure, size=(1.0, 2.0))


def test_figures_cannot_be_hashed_as_arrays_cannot():
    with pytest.raises(TypeError):
        hash(Figure((Panel(some_marks()),)))


# --- panels in rows


def heights(panel):
    """Return the heights of the curves of a panel and of the one beside it."""
    parts = panel.parts
    marks = [mark for part in parts for mark in part.marks if isinstance(mark, (Line, Points))]
    return np.concatenate([mark.y for mark in marks])


def test_panels_of_one_unit_have_one_axis_that_holds_every_height(frame):
    figure = effects(frame).figure()
    assert len(figure.panels) == 5
    (low,) = {panel.y.low for panel in figure.panels}
    (high,) = {panel.y.high for panel in figure.panels}
    for panel in figure.panels:
        assert low < heights(panel).min()
        assert heights(panel).max() < high
        if panel.right:
            assert (panel.right[-1].y.low, panel.right[-1].y.high) == (low, high)
    assert list(effects(frame)) == [panel.x.label for panel in figure.panels]  # the strongest first


def test_panels_without_data_below_have_the_axis_of_those_beside_them(frame):
    table = frame.assign(off=0.0, none=np.nan)
    found = paribus.effects(
        model, table, ["a", "off", "none"], custom_values={"off": [8.0, 9.0]}, progress=False
    )
    local = paribus.accumulated_local_effects(model, table, ["a", "off", "none"], progress=False)
    for figure in (found.figure(), local.figure()):
        strips = [any(isinstance(mark, Strip) for mark in panel.marks) for panel in figure.panels]
        assert set(strips) == {True, False}
        assert len({(panel.y.low, panel.y.high) for panel in figure.panels}) == 1
        assert [panel.y.numbers for panel in figure.panels] == [True, False, False]


def test_panels_by_themselves_have_axes_of_their_own(frame):
    shared, own = effects(frame).figure(), effects(frame).figure(share_y=False)
    assert len({panel.y.high for panel in own.panels}) == len(own.panels)
    assert all(panel.y.numbers and panel.y.label == "prediction" for panel in own.panels)
    for one, other in zip(shared.panels, own.panels, strict=True):
        assert one.marks == other.marks
        assert other.y.high - other.y.low <= one.y.high - one.y.low


@pytest.mark.parametrize("columns", [1, 2, 3, 9])
def test_the_label_of_y_stands_once_in_a_row(frame, columns):
    figure = effects(frame).figure(columns=columns)
    assert figure.columns == min(columns, 5)
    for place, panel in enumerate(figure.panels):
        begins = place % figure.columns == 0
        assert (panel.y.label == "prediction") == begins
        assert panel.y.numbers == begins


def test_ticks_begin_at_the_curves_above_the_room_for_the_data(frame):
    for result in (effects(frame), effects(frame, predict=lambda t: 1 / (1 + np.exp(-model(t))))):
        figure = result.figure()
        lowest = min(heights(panel).min() for panel in figure.panels)
        for panel in figure.panels:
            span = panel.y.high - panel.y.low
            assert panel.y.ticks is None  # the renderer finds them, and none below tick_low
            assert lowest - 0.1 * span <= panel.y.tick_low <= lowest
            assert any(isinstance(mark, Strip) for mark in panel.marks)
            assert panel.y.low < lowest - 0.05 * span  # room for the data
            assert not panel.right or panel.right[-1].y.tick_low == panel.y.tick_low


def test_one_that_has_no_picture_leaves_the_others_theirs(frame):
    features = ["a", ("a", "b"), ("b", "c")]
    every = paribus.effects(lambda t: t["a"], frame, features, custom_values={"c": [1.0]}, grid_resolution=4)
    figure = every.figure()
    assert len(figure.panels) == 2
    assert any(note.startswith("b x c is not drawn: a surface needs") for note in figure.notes)
    lone = paribus.effects(
        lambda t: t["a"], frame, [("b", "c")], custom_values={"c": [1.0]}, grid_resolution=4
    )
    with pytest.raises(paribus.errors.DrawingError, match="two values of each"):
        lone.figure()


def test_of_many_effects_the_strongest_are_drawn(frame):
    every = effects(frame)
    figure = every.figure(k=2)
    assert [panel.x.label for panel in figure.panels] == list(every)[:2]
    assert figure.notes[1] == f"2 of {len(every)} features, the strongest; k= draws more"
    with pytest.raises(paribus.errors.OptionError, match="k=0"):
        every.figure(k=0)


def test_a_flat_curve_has_an_axis_around_it(frame):
    for value in (0.0, 5.0, -1e9):
        figure = effects(frame, ["a"], lambda t, value=value: np.full(len(t), value)).figure()
        (panel,) = figure.panels
        assert panel.y.low < value < panel.y.high


def test_rounding_is_no_effect(frame):
    rng = np.random.default_rng(0)
    figure = effects(frame, ["a"], lambda t: 7 + 1e-14 * rng.normal(size=len(t))).figure()
    (panel,) = figure.panels
    assert panel.y.high - panel.y.low > 0.1


def test_far_errors_at_one_place_do_not_make_the_axis_long(frame):
    x = np.arange(20.0)
    error = np.where(x == 19, 1e6, 0.1)
    (panel,) = figure_of([Panel((Points(x, np.sin(x), "ink", error=error),))]).panels
    assert -3 < panel.y.low < -1.1 < 1.1 < panel.y.high < 3


def test_surfaces_keep_their_own_axes_among_curves(frame):
    figure = effects(frame, ["a", "b", ("a", "b")]).figure()
    (surface,) = [panel for panel in figure.panels if panel.x.label == "a" and panel.y.label == "b"]
    assert surface.y.numbers
    assert len({panel.y.high for panel in figure.panels if panel is not surface}) == 1


def test_outputs_in_rows_share_axes_only_with_their_own_kind(frame):
    found = effects(frame, ["a", "b"], two, target_names=["small", "large"])
    figure = found.figure(outputs="rows")
    assert (figure.columns, len(figure.panels)) == (2, 4)
    assert [panel.y.label for panel in figure.panels] == ["predicted small", "", "predicted large", ""]
    small, _, large, _ = figure.panels
    assert large.y.high > 20 * small.y.high


def test_rows_of_outputs_are_filled_up_where_results_do_not(frame):
    found = effects(frame, ["a", "b", "c"], two)
    figure = found.figure(outputs="rows", columns=2)
    assert figure.columns == 2
    assert [panel == NO_PANEL for panel in figure.panels] == [False] * 4 + [False, True, False, True]
    found.plot(outputs="rows", columns=2).canvas.draw()


def test_pictures_grow_with_their_panels(frame):
    found = effects(frame)
    one, five = found["a"].figure().size, found.figure().size
    assert five[0] > one[0]
    assert five[1] > one[1] * 0.9
    tall = found.figure(columns=1).size
    assert tall[0] < five[0]
    assert tall[1] > five[1]


def test_long_turned_labels_make_a_picture_higher(frame):
    names = frame["city"] + " of the confederation, in full"
    short, long = (effects(frame.assign(city=city), ["city"]).figure() for city in (frame["city"], names))
    assert long.panels[0].x.turned
    assert long.size[1] > short.size[1] + 0.5


def test_a_title_names_the_estimate_unless_another_is_given(frame):
    found = effects(frame, ["a"])
    assert found.figure().title == "Partial dependence: a"
    assert effects(frame, ["a", "b"]).figure().title == "Partial dependence"
    assert found.figure(title="").title is None
    assert found.figure(title="").size[1] < found.figure().size[1]
    assert found.figure(title="What a does").title == "What a does"
    assert found.plot(title="What a does").get_suptitle() == "What a does"


def test_notes_say_whose_numbers_and_over_whom(frame):
    assert effects(frame).figure().notes[0] == "model, 120 rows (unweighted)"
    weighted = effects(frame, ["a"], sample_weight=np.arange(120.0)).figure()
    assert weighted.notes[0].startswith("model, 120 rows (")
    assert "unweighted" not in weighted.notes[0]
    assert any("gap is missing in" in note for note in effects(frame)["gap"].figure().notes)
    slices = {"first": effects(frame[:50]), "rest": effects(frame[50:])}
    notes = paribus.compare(slices).figure().notes
    assert notes[:2] == ("first: model, 50 rows (unweighted)", "rest: model, 70 rows (unweighted)")
    same = paribus.compare({"one": effects(frame, ["a"]), "two": effects(frame, ["a"])}).figure().notes
    assert same[0] == "model, 120 rows (unweighted)"


def test_a_figure_has_one_line_of_caveats():
    assert lines_below(["model"], [], 6.0) == ("model",)
    assert lines_below(["model", "key"], ["a"], 6.0) == ("model", "key", "a")
    tip, issue = NoteCode.NO_EFFECT.note(feature="x"), NoteCode.NO_VALUE.note(feature="x")
    assert (tip.severity, issue.severity) == ("tip", "issue")
    assert lines_below([], [tip, issue, tip], 6.0) == (
        "x has no finite value for a grid (and 2 more in .notes)",
    )
    (cut,) = lines_below([], ["many words " * 40, "b"], 6.0)
    assert cut.endswith(" … (and 1 more in .notes)")
    assert 5.0 < inches(cut, NOTE_SIZE) <= 6.0


# --- who draws


@pytest.mark.nightly
def test_a_figure_needs_no_plotting_package():
    script = """
import sys, numpy as np, paribus
X = np.random.default_rng(0).normal(size=(50, 3))
y = X[:, 0]
f = lambda t: t[:, 0] * t[:, 1]
found = paribus.effects(f, X, [0, 1, (0, 1)], progress=False, kind="both", grid_resolution=5)
local = paribus.accumulated_local_effects(f, X, progress=False)
near = paribus.marginal(f, X, y=y, progress=False)
print(found, local, near)
for result in (found["x0"], found["x0", "x1"], local, near, paribus.compare(found, local, near),
               paribus.compare({"one": local, "two": local})):
    assert result.figure().panels
statistics = paribus.h_statistic(f, X, progress=False)
assert statistics.figure().panels
packages = {"matplotlib", "plotly", "IPython", "PIL"}
loaded = sorted(packages & {name.partition(".")[0] for name in sys.modules})
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_each_backend_draws_its_own(frame):
    import plotly.graph_objects as go
    from matplotlib.figure import Figure as Page

    found = effects(frame, ["a", "gap", ("a", "b")])
    for result in (found, found["a"], found["a", "b"]):
        assert isinstance(result.plot(), Page)
        assert isinstance(result.plot(backend="plotly"), go.Figure)
        assert isinstance(draw(result.figure(), backend="plotly"), go.Figure)
        assert isinstance(draw(result.figure()), Page)


@pytest.mark.parametrize("backend", ["matplotlib", "plotly"])
def test_dark_pictures_have_dark_paper_light_text_and_their_own_series(frame, backend):
    from matplotlib.colors import to_hex

    found = effects(frame, ["a", "city"])
    light, dark = (found.plot(backend=backend, dark=dark) for dark in (False, True))
    if backend == "plotly":
        assert dark.layout.paper_bgcolor == DARK.paper
        assert light.layout.paper_bgcolor is None
        return
    assert to_hex(dark.get_facecolor()) == to_hex(dark.axes[0].get_facecolor()) == DARK.paper
    assert to_hex(dark.axes[0].yaxis.label.get_color()) == DARK.ink
    colors = [{to_hex(line.get_color()) for line in page.axes[0].lines} for page in (light, dark)]
    assert colors == [{PALETTE[0]}, {DARK.series[0]}]
    assert to_hex(light.get_facecolor()) == "#ffffff"
    with pytest.raises(paribus.errors.DrawingError, match="leave out dark="):
        found.plot(ax=plt.subplots(1, 2)[1], dark=True)
    with pytest.raises(paribus.errors.OptionError, match="dark='night' must be one of True, False"):
        found.plot(dark="night")


def test_who_cannot_draw_says_so(frame):
    found = effects(frame, ["a", "b"])
    with pytest.raises(paribus.errors.OptionError, match="backend='nope'"):
        found.plot(backend="nope")
    with pytest.raises(paribus.errors.OptionError, match="matplotlib"):
        found["a"].plot(backend="matplotlb")
    ax = plt.figure().add_subplot()
    with pytest.raises(paribus.errors.DrawingError, match="matplotlib draws"):
        found["a"].plot(backend="plotly", ax=ax)
    with pytest.raises(paribus.errors.DrawingError, match="1 axes were given for 2 panels"):
        found.plot(ax=ax)
    with pytest.raises(paribus.errors.OptionError, match="outputs='columns'"):
        found.plot(outputs="columns")
    with pytest.raises(paribus.errors.InputError, match="effects is empty"):
        type(found)(())
    assert not ax.has_data()


@pytest.mark.parametrize(("backend", "extra"), [("matplotlib", "plot"), ("plotly", "plotly")])
def test_a_package_that_is_not_there_is_named(frame, monkeypatch, backend, extra):
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    found = effects(frame, ["a"])
    with pytest.raises(paribus.errors.DrawingError, match=rf"{backend} is not installed.*paribus\[{extra}\]"):
        found.plot(backend=backend)
    assert found.figure().panels


def test_axes_given_are_drawn_on_in_their_order(frame):
    page, axes = plt.subplots(1, 3)
    axes[1].set_ylabel("mine")
    found = effects(frame, ["a", "b", "city"])
    assert found.plot(ax=axes) is page
    assert [ax.get_xlabel() for ax in axes] == list(found)
    assert axes[1].get_ylabel() == "mine"
    assert plt.get_fignums() == [page.number]


def test_interactions_and_importance_are_figures_too():
    found = statistics(["a", "b", "c"], [4.0, 1.0, 0.5])
    ranked = importance(["a", "b"], [2.0, 1.0])
    assert found.figure() == found.figure()
    assert found.figure() != statistics(["a", "b", "c"], [4.0, 1.0, 0.6]).figure()
    assert found.figure(kind="heatmap") != found.figure()
    assert any(isinstance(mark, Heat) for mark in found.figure(kind="heatmap").panels[0].marks)
    assert ranked.figure() == ranked.figure()
    assert ranked.figure() != importance(["a", "b"], [2.0, 1.5]).figure()


# --- any table


def some_column(rng, rows):
    """Return a column of any kind, now and then with gaps."""
    kinds = [
        lambda: rng.normal(size=rows),
        lambda: rng.lognormal(0, 3, rows),
        lambda: rng.integers(0, 4, rows).astype(float),
        lambda: np.full(rows, 1e12),
        lambda: np.full(rows, np.nan),
        lambda: rng.choice(["a", "<b>$c_1$</b>", "a category with a very long name " * 3], rows),
        lambda: rng.choice([f"category {k}" for k in range(50)], rows),
        lambda: pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 10**7, rows), unit="s"),
        lambda: pd.to_timedelta(rng.integers(0, 10**6, rows), unit="s"),
        lambda: rng.random(rows) < 0.3,
    ]
    column = pd.Series(kinds[rng.integers(len(kinds))]())
    gaps = rng.random(rows) < rng.choice([0.0, 0.0, 0.1, 0.95])
    return column.mask(gaps) if gaps.any() and column.dtype.kind != "b" else column


def any_model(rng, outputs):
    """Return a model of any table that predicts NaN now and then."""
    bad, size = rng.choice([0.0, 0.0, np.nan]), rng.choice([1e-9, 1.0, 1e9])

    def predict(table):
        codes = [np.asarray(pd.util.hash_pandas_object(table[name], index=False)) for name in table]
        code = sum(column % 97 for column in codes).astype(float)
        return (
            np.where(code % 5 == 0, code + bad, code)[:, None] * size * np.arange(1, outputs + 1)
        ).squeeze()

    return predict


@pytest.mark.parametrize("seed", [0, 1, *nightly(2, 3, 4, 5)])
def test_any_table_has_pictures_by_every_renderer(seed):
    rng = np.random.default_rng(seed)
    rows, outputs = int(rng.choice([2, 30, 60])), int(rng.choice([1, 1, 3]))
    table = pd.DataFrame({name: some_column(rng, rows) for name in ("one", "two")})
    weights = None if rng.random() < 0.5 else 1.0 + np.arange(rows) % 3
    options = {"sample_weight": weights, "progress": False}
    model = any_model(rng, outputs)
    kind = str(rng.choice(["average", "individual", "both"]))
    found = paribus.effects(model, table, kind=kind, grid_resolution=7, **options)
    other = paribus.effects(any_model(rng, outputs), table, kind=kind, grid_resolution=4, **options)
    near = paribus.marginal(model, table, **options)
    local = paribus.accumulated_local_effects(model, table, **options)
    shown = [found, near, local]
    if kind != "individual":
        shown.append(paribus.compare({"one": found, "two": other}))
    for result in shown:
        figure = result.figure()
        assert figure == result.figure()
        draw(figure).canvas.draw()
        assert len(draw(figure, backend="plotly").to_json()) > 1_000
        for panel in figure.panels:
            assert panel.y.low is None or np.isfinite([panel.y.low, panel.y.high]).all()
        plt.close("all")


def test_sizes_are_those_asked_for_and_wrong_options_say_what_is_right(frame):
    every = effects(frame)
    assert every.figure(figsize=(5, 3)).size == every.figure(figsize=[5, 3]).size == (5, 3)
    wrong = {"columns": 2.5, "k": "many", "share_y": "all", "title": 3, "figsize": (3,), "figsize ": (0, 2)}
    for name, value in wrong.items():
        with pytest.raises(paribus.errors.OptionError, match=f"{name.strip()}="):
            every.figure(**{name.strip(): value})

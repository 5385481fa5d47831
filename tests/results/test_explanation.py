"""An explanation prints, saves, and becomes a table; nothing of it depends on the model afterwards."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import paribus
from paribus._data.samples import sample_numbers
from paribus._text import plain_value
from paribus.results.feature_table import _widest_curve, sparkline

ROWS = 300


def predict(X):
    steps = np.where(np.asarray(X["kind"]) == "u", 1.0, 0.0)
    return 2 * np.asarray(X["a"], dtype=float) + np.asarray(X["a"], dtype=float) * steps


@cache
def found(library="pandas"):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "kind": rng.choice(list("uv"), ROWS), "still": 1.0})
    X["gap"] = np.where(np.arange(ROWS) % 4 == 0, np.nan, rng.normal(size=ROWS))
    X["no\x1b[31mname" + "x" * 60] = rng.normal(size=ROWS)
    table = X if library == "pandas" else pl.from_pandas(X)
    return paribus.explain(predict, table, predict(X), subsample=50, progress=False)


def test_a_row_says_what_is_known_of_a_feature():
    table = found().table
    assert [row.feature for row in table] == list(found().feature_names)
    first = table["a"]
    assert first is table[0]
    assert first.strength == found().effects["a"].strength
    assert 0 < first.standard_error < first.strength < first.importance
    assert first.shape == found().shapes["a"].text == "rises"
    assert (first.partner, table["kind"].partner) == ("kind", "a")
    assert first.partner_strength == pytest.approx(table["kind"].partner_strength)
    assert table["kind"].categories == 2
    missing = np.mean(sample_numbers(np.arange(ROWS), 0, 50) % 4 == 0)
    assert table["gap"].missing == pytest.approx(missing)
    assert table["gap"].inside == pytest.approx(1 - missing)  # all but the missing values
    assert table["gap"].partner is None
    assert table["gap"].notes > 0
    assert (first.lowest, first.highest) == tuple(found().effects["a"].deciles[0][[0, -1]])


def test_the_text_is_a_table_with_the_worst_findings_below():
    lines = repr(found()).splitlines()
    assert lines[0] == "Explanation of predict: 5 features, strongest first (prediction)"
    heads = 1 + len(found().sentences)
    assert lines[1:heads] == [f"  {sentence.text}" for sentence in found().sentences]
    assert lines[heads].split() == [
        "feature",
        "strength",
        "shape",
        "strongest",
        "interaction",
        "values",
        "missing",
        "curve",
    ]
    assert lines[heads + 1].split()[0] == "a"
    assert lines[heads + 1].rstrip().endswith("█")
    starts = {line.index(word) for line, word in zip(lines[heads:], ("shape", "rises"), strict=False)}
    assert len(starts) == 1
    text = repr(found())
    assert "\x1b" not in text
    assert "\\x1b[31mname" in text
    assert all("x" * 40 not in line for line in lines[: heads + 1 + len(found().table)])
    assert f"{found().verdict[0].severity} {found().verdict[0].code.value}: {found().verdict[0]}" in text


def test_the_verdict_prints_one_finding_on_each_line():
    made = found()
    lines = str(made.verdict).splitlines()
    escaped = [str(note).replace("\x1b", "\\x1b") for note in made.verdict]
    assert any("\\x1b[31mname" in text for text in escaped)  # and does not color a terminal
    assert lines == [
        f"{note.severity} {note.code.value}: {text}" for note, text in zip(made.verdict, escaped, strict=True)
    ]
    assert len(lines) > 2
    assert repr(type(made.verdict)()) == "no findings"


def test_shapes_are_found_by_feature_and_output(tmp_path):
    made = found()
    assert made.shapes["a"] is made.shapes[0] is made.shapes["a", "prediction"]
    assert isinstance(made.shapes[:2], tuple)
    with pytest.raises(KeyError, match="no shape of 'gab'; did you mean 'gap'"):
        made.shapes["gab"]
    made.save(tmp_path / "made.json")
    again = paribus.load(tmp_path / "made.json")
    assert again == made
    assert again.shapes["gap"].feature == "gap"
    assert type(again.verdict) is type(made.verdict)
    X = np.random.default_rng(0).normal(size=(40, 1))
    two = paribus.explain(lambda X: np.column_stack([X, -X]), X, progress=False)
    one, other = two.output_names
    assert (two.shapes["x0", one].name, two.shapes["x0", other].name) == ("rising", "falling")
    for key in ("x0", ("x0", "none")):
        with pytest.raises(KeyError, match="each of 2 outputs; give one as well"):
            two.shapes[key]


def test_notes_are_counted_for_every_feature_they_are_about():
    X = pd.DataFrame({"a": [1.0, None, 3.0, 4.0] * 10, "b": [None, 26979.25, 3.5, 4.0] * 10, "c": [1.0] * 40})
    made = paribus.explain(lambda t: t["a"].fillna(0) + t["b"].fillna(0), X)
    assert {row.feature: row.notes >= 1 for row in made.table} == {"a": True, "b": True, "c": True}
    assert made.table["c"].support == "only 1"
    assert made.to_frame().set_index("feature")["highest"]["b"] == "26979.25"
    with pytest.raises(KeyError, match="no row of 'd'"):
        made.table["d"]


def test_many_features_are_cut_off():
    X = np.random.default_rng(0).normal(size=(30, 25))
    options = {"interactions": False, "grid_resolution": 2, "progress": False}
    many = paribus.explain(lambda X: X[:, 0], X, **options)
    assert "\n  and 5 more" in repr(many)
    assert len(repr(many.table).splitlines()) == 26


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_table_is_a_frame_of_the_library_of_the_user(library):
    frame = found(library).to_frame()
    assert type(frame).__module__.split(".")[0] == library
    assert list(frame["feature"]) == list(found(library).feature_names)
    arrow = found(library).to_frame(backend="pyarrow")
    assert arrow["strength"].to_pylist() == [row.strength for row in found().table]
    assert arrow["lowest"].to_pylist()[0] == plain_value(found().table[0].lowest)


def test_it_is_saved_bit_for_bit(tmp_path):
    found().save(tmp_path / "explanation.json")
    again = paribus.load(tmp_path / "explanation.json")
    assert again == found()
    assert again.explained.curves.tolist() == found().explained.curves.tolist()
    assert repr(again) == repr(found())
    assert again.table.rows[0] == found().table.rows[0]


def test_it_draws_its_strongest_features():
    assert found().figure() == found().effects.figure(k=9)
    assert found().figure(k=2) == found().effects.figure(k=2)
    assert "<pre>Explanation of predict" in found()._repr_html_()
    assert "image/png" in found()._repr_mimebundle_()


def test_a_sparkline_shows_where_a_curve_is_not_finite():
    assert sparkline(np.array([])) == ""
    assert sparkline(np.full(8, np.nan)) == " " * 8
    assert sparkline(np.array([0.0] * 4 + [np.inf] * 2 + [7.0] * 2)) == "▁▁▁▁  ██"
    assert sparkline(np.arange(8.0)) == "▁▂▃▄▅▆▇█"


def test_sparkline_is_of_an_output_that_is_finite():
    X = np.linspace(0, 1, 40)[:, None]
    effect = paribus.partial_dependence(lambda t: np.column_stack([t[:, 0] * np.nan, t[:, 0] / 2]), X, 0)
    np.testing.assert_array_equal(_widest_curve(effect), effect.average[1])


def turning(t):
    """Return predictions that rise along x, and fall by two in the last three percent."""
    return t["x"] - 2.0 * (t["x"] > 0.97) + 0.1 * t["z"]


def uniform():
    rng = np.random.default_rng(3)
    return pd.DataFrame({"x": rng.uniform(size=400), "z": rng.normal(size=400)})


def test_explanation_covers_the_data_and_names_the_shape_by_all_of_it():
    X = uniform()
    explanation = paribus.explain(turning, X, progress=False)
    effect = explanation.effects["x"]
    assert (effect.grid_values[0][0], effect.grid_values[0][-1]) == (X["x"].min(), X["x"].max())
    assert effect.support.sum() == len(X)
    assert explanation.averages["x"].outside == 0.0
    row = explanation.table["x"]
    assert row.shape == explanation.shapes["x"].text
    values, heights = effect.grid_values[0], effect.average[0]
    np.testing.assert_allclose(heights, values - 2.0 * (values > 0.97) + 0.1 * X["z"].mean())
    last = values[values <= 0.97].max()
    assert explanation.shapes["x"].monotonicity.violation == pytest.approx(
        last - values[values > 0.97].min() + 2
    )
    assert explanation.shapes["x"].highest == last
    assert explanation.shapes["x"].text == f"rises until {last:.3f}, then falls"


def test_explanation_takes_percentiles():
    X = uniform()
    explanation = paribus.explain(turning, X, percentiles=(0.2, 0.8), grid_resolution=10, progress=False)
    (values,) = explanation.effects["x"].grid_values
    np.testing.assert_allclose(values, np.linspace(*np.quantile(X["x"], [0.2, 0.8]), 10))
    np.testing.assert_array_equal(explanation.averages["x"].grid_values[0], values)
    assert explanation.provenance.percentiles == (0.2, 0.8)
    assert explanation.table["x"].shape == "rises"
    with pytest.raises(paribus.errors.OptionError, match="percentiles"):
        paribus.explain(turning, X, percentiles=(0.9, 0.1))

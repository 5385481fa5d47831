"""Beyond the percentiles: how far curves extend, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus._display.figure import Line
from paribus.notes import NoteCode
from paribus.results.partial_dependence import trimmed

RNG = np.random.default_rng(3)
X = pd.DataFrame({"x": RNG.uniform(size=400), "z": RNG.normal(size=400)})


def turning(t):
    """Rises, and falls by two in the last three percent."""
    return t["x"] - 2.0 * (t["x"] > 0.97) + 0.1 * t["z"]


def codes(result) -> list[NoteCode]:
    return [note.code for note in result.notes]


def test_tails_reach_the_extremes_of_the_data_and_equal_the_model():
    effect = paribus.partial_dependence(turning, X, "x")
    tails = effect.tails
    low, high = np.quantile(X["x"], [0.05, 0.95])
    assert tails.values[0] == X["x"].min()
    assert tails.values[-1] == X["x"].max()
    assert (tails.values[: tails.below] < low).all()
    assert (tails.values[tails.below :] > high).all()
    wanted = tails.values - 2.0 * (tails.values > 0.97) + 0.1 * X["z"].mean()
    np.testing.assert_allclose(tails.average[0], wanted, rtol=1e-12)
    assert tails.share == pytest.approx(1 - effect.support.sum() / len(X))
    assert 0.05 < tails.share < 0.12
    assert len(effect.grid_values[0]) == 100
    assert effect.grid_values[0][[0, -1]] == pytest.approx([low, high])


def test_curve_that_turns_back_in_the_tails_has_an_issue():
    effect = paribus.partial_dependence(turning, X, "x")
    note, further = effect.notes
    assert note.code is NoteCode.TAILS_TURN
    assert further.code is NoteCode.TAILS_EXTEND
    assert "leaves its range beyond" in further
    assert note.severity == "issue"
    assert note.feature == "x"
    assert "turns back beyond" in note
    assert "beyond the cells of the grid" in str(effect)


def test_curve_that_goes_on_as_before_has_no_note_unless_it_leaves_its_range_far():
    assert codes(paribus.partial_dependence(lambda t: 2 * t["x"], X, "x")) == []
    cubic = paribus.partial_dependence(lambda t: t["z"] ** 5, X, "z")
    assert codes(cubic) == [NoteCode.TAILS_EXTEND]
    assert cubic.notes[0].severity == "issue"


def test_noise_in_the_tails_has_no_note():
    wide = X.assign(noise=100.0 * RNG.normal(size=400))
    effect = paribus.partial_dependence(lambda t: t["noise"] + turning(t), wide, "x")
    assert codes(effect) == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"percentiles": (0, 1)}, "the whole range"), ({"custom_values": {"x": [0.2, 0.4]}}, "given values")],
)
def test_there_are_no_tails_beyond_the_whole_range_or_given_values(options, reason):
    assert paribus.partial_dependence(turning, X, "x", **options).tails is None, reason


def test_distinct_values_have_no_tails():
    few = X.assign(x=np.arange(400) % 7)
    assert paribus.partial_dependence(lambda t: t["x"], few, "x").tails is None


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 10_000, 400),
        RNG.integers(2**62, 2**63 - 1, 400),
        RNG.integers(2**63, 2**64 - 1, 400, dtype=np.uint64),
        np.datetime64("2026-01-01") + RNG.integers(0, 5_000, 400).astype("m8[h]"),
        RNG.normal(size=400).astype(np.float32),
    ],
    ids=["integers", "large integers", "unsigned", "dates", "single precision"],
)
def test_tails_have_the_kind_of_their_column(values):
    table = pd.DataFrame({"v": values, "z": X["z"]})
    for effect in (
        paribus.partial_dependence(lambda t: t["z"], table, "v"),
        trimmed(paribus.explain(lambda t: t["z"], table).effects["v"]),
    ):
        grid, tails = effect.grid_values[0], effect.tails
        assert tails.values.dtype.kind == grid.dtype.kind
        assert tails.values.min() == table["v"].min()
        assert tails.values.max() == table["v"].max()
        assert len(np.unique(tails.values)) == len(tails.values)
        assert (tails.values[: tails.below] < grid[0]).all()
        assert (tails.values[tails.below :] > grid[-1]).all()


def test_explain_covers_the_data_and_names_the_shape_by_all_of_it():
    explanation = paribus.explain(turning, X, progress=False)
    effect = explanation.effects["x"]
    assert effect.grid_values[0][0] == X["x"].min()
    assert effect.grid_values[0][-1] == X["x"].max()
    assert effect.tail_points == (4, 4)
    assert effect.support.sum() == len(X)
    assert explanation.averages["x"].outside == 0.0
    assert explanation.table["x"].shape != "rising"
    assert explanation.table["x"].violation > 1.5
    assert NoteCode.TAILS_TURN in [note.code for note in explanation.notes]


def test_explain_takes_percentiles():
    explanation = paribus.explain(turning, X, percentiles=(0.2, 0.8), grid_resolution=10, progress=False)
    effect = explanation.effects["x"]
    below, above = effect.tail_points
    inner = effect.grid_values[0][below : len(effect.grid_values[0]) - above]
    np.testing.assert_allclose(inner, np.linspace(*np.quantile(X["x"], [0.2, 0.8]), 10))
    assert explanation.provenance.percentiles == (0.2, 0.8)
    with pytest.raises(paribus.errors.OptionError, match="percentiles"):
        paribus.explain(turning, X, percentiles=(0.9, 0.1))


def test_trimmed_effect_ends_at_the_percentiles_with_all_of_its_parts():
    whole = paribus.explain(turning, X, progress=False).effects["x"]
    inner = trimmed(whole)
    points = len(whole.grid_values[0]) - sum(whole.tail_points)
    assert inner.average.shape == (1, points)
    assert inner.quantiles.values.shape == (1, 3, points)
    assert inner.support.shape == (points,)
    assert inner.tails.share == pytest.approx(1 - inner.support.sum() / len(X))
    assert trimmed(inner) is inner


def test_plot_marks_how_far_the_curve_extends_and_says_how_much_data_lies_there():
    figure = paribus.partial_dependence(turning, X, "x").figure()
    dotted = [mark for mark in figure.panels[0].marks if isinstance(mark, Line) and mark.dash == "dotted"]
    low, high = np.quantile(X["x"], [0.05, 0.95])
    assert [mark.x[0] for mark in dotted] == pytest.approx([low, high])
    assert "beyond" in dotted[1].hover[0]
    assert "dotted: beyond percentiles 5 and 95 (9.5% of the data)" in figure.notes
    full = paribus.partial_dependence(turning, X, "x", percentiles=(0, 1)).figure()
    assert not [mark for mark in full.panels[0].marks if isinstance(mark, Line) and mark.dash == "dotted"]


def test_tails_survive_files_and_pickles(tmp_path):
    effect = paribus.partial_dependence(turning, X, "x")
    effect.save(tmp_path / "effect.json")
    loaded = paribus.load(tmp_path / "effect.json")
    np.testing.assert_array_equal(loaded.tails.average, effect.tails.average)
    assert loaded.tails.below == effect.tails.below


def test_gate_detects_a_change_beyond_the_percentiles():
    old = paribus.explain(lambda t: t["x"] + 0.1 * t["z"], X, progress=False)
    change = old.compare(paribus.explain(turning, X, progress=False))
    moved = next(one for one in change.effects if one.feature == "x")
    assert moved.change.min() < -1.5
    assert moved.typical[0] > 0.19


def test_tails_of_a_centered_effect_are_relative_to_the_same_point_and_a_slope_has_none():
    effect = paribus.partial_dependence(turning, X, "x", kind="both")
    relative = effect.centered()
    np.testing.assert_allclose(relative.tails.average, effect.tails.average - effect.average[:, :1])
    assert np.isnan(relative.tails.standard_error).all()
    assert effect.derivative().tails is None
    assert NoteCode.TAILS_TURN in codes(effect)
    assert NoteCode.TAILS_TURN not in [*codes(relative), *codes(effect.derivative())]


def test_curves_of_rows_alone_have_all_points_of_their_grid_and_no_tails():
    curves = paribus.partial_dependence(turning, X, "x", kind="individual")
    assert curves.tails is None
    assert curves.tail_points == (0, 0)
    assert trimmed(curves) is curves


def test_saving_into_a_folder_that_does_not_exist_names_the_folder(tmp_path):
    effect = paribus.partial_dependence(turning, X, "x")
    with pytest.raises(paribus.errors.FormatError, match=r"there is no folder .*nowhere"):
        effect.save(tmp_path / "nowhere" / "effect.json")

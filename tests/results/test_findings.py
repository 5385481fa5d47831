"""What only all parts of an explanation show together: each finding planted, and not found without."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus import NoteCode
from paribus.results import Effects
from paribus.results.findings import (
    calibration_notes,
    cell_notes,
    comparison_notes,
    direction_notes,
    interaction_notes,
    skill_notes,
    strength_notes,
    support_notes,
)
from paribus.results.performance import Metric, Performance
from paribus.results.shape import Monotonicity, Shape


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(1_000, 4)), columns=list("abcd"))


def shape(violation, error, support=0.2, *, declared=True, output="y"):
    own = Monotonicity("rising", declared, violation, error, 2.0, 3.5, support)
    return Shape("a", output, "rising", 10.0, 0.1, 0.0, 5.0, own, np.zeros(2), 100)


def test_violation_of_a_declared_direction():
    (note,) = direction_notes((shape(1.5, 0.1, 0.034),))
    assert (note.code, note.severity, note.feature, note.value) == ("PAR410", "issue", "a", 1.5)
    assert note == (
        "a is declared rising, but its curve moves against it by 1.5, 15% of its range, from 2 to 3.5, where "
        "3.4% of the data lies (15 standard errors)"
    )
    (exact,) = direction_notes((shape(0.2, 0.0),))  # all rows move alike: there is no sampling error
    assert exact.endswith("lies")
    assert not list(direction_notes((shape(0.2, 0.11), shape(1e-6, 0.0), shape(0.0, 0.0))))
    both = list(direction_notes((shape(1.5, 0.1), shape(2.0, 0.1, output="z"))))
    assert "its curve for z moves" in both[1]


def test_reversal_of_the_prevailing_direction():
    (note,) = direction_notes((shape(1.5, 0.1, declared=False),))
    assert (note.code, note.severity) == (NoteCode.DIRECTION_REVERSED, "tip")
    assert note.startswith("the curve of a is mostly rising, but moves against that by 1.5, 15% of its range")
    small, wave, noise = shape(0.9, 0.1), shape(5.1, 0.1), shape(1.5, 0.8)
    rare = shape(1.5, 0.1, 0.009)
    others = tuple(
        replace(one, monotonicity=replace(one.monotonicity, is_declared=False))
        for one in (small, wave, noise, rare)
    )
    assert not list(direction_notes(others))


def test_thin_support():
    X = np.repeat(np.arange(12.0), [*[100] * 10, 3, 3])[:, None]
    late = paribus.effects(lambda t: 10.0 * (t[:, 0] > 9.5) + t[:, 0], X, percentiles=(0, 1))
    (note,) = support_notes(late)
    assert (note.code, note.feature) == (NoteCode.THIN_SUPPORT, "x0")
    assert note.value == pytest.approx(12 / 21)
    assert "only 0.6% of the data" in note
    assert not list(support_notes(paribus.effects(lambda t: t[:, 0], X, percentiles=(0, 1))))
    rare = np.repeat([0.0, 1.0], [999, 1])[:, None]
    assert not list(support_notes(paribus.effects(lambda t: t[:, 0], rare, percentiles=(0, 1))))


def test_local_effects_that_differ(X):
    near = X.assign(b=X["a"] + 0.1 * X["b"])
    predict = lambda t: t["a"] * t["b"]  # noqa: E731
    effects, local = paribus.effects(predict, near), paribus.accumulated_local_effects(predict, near)
    assert {note.feature for note in comparison_notes(effects, local)} >= {"a"}
    same = lambda t: t["a"] + t["b"]  # noqa: E731
    assert not list(comparison_notes(paribus.effects(same, X), paribus.accumulated_local_effects(same, X)))


def test_features_that_act_in_interactions(X):
    X = X.head(200)
    found = paribus.h_statistic(lambda t: t["a"] * t["b"] + t["c"], X)
    notes = list(interaction_notes(found))
    assert {note.feature for note in notes} == {"a", "b"}
    assert all(note.value > 0.9 and note.severity == "issue" for note in notes)
    weak = paribus.h_statistic(lambda t: 0.05 * t["a"] * t["b"] + t["c"], X)
    assert not list(interaction_notes(weak))
    assert not list(interaction_notes(paribus.h_statistic(lambda t: t["a"] + t["c"], X, overall=False)))


def test_features_without_effect_and_one_with_most(X):
    X = X.head(200).copy()

    def notes(predict):
        effects, importance = paribus.effects(predict, X), paribus.feature_importance(predict, X)
        return {(note.code.name, note.feature) for note in strength_notes(effects, importance)}

    assert notes(lambda t: 3 * t["a"] + t["b"]) == {
        ("NO_EFFECT", "c"),
        ("NO_EFFECT", "d"),
        ("DOMINANT_FEATURE", "a"),
    }
    joint = notes(lambda t: t["a"] + t["b"] + t["c"] * (t["d"] - t["d"].mean()))
    assert joint == set()  # c has hardly a curve, but an effect
    assert notes(lambda t: np.ones(len(t))) == set()  # of which there is another note
    X["d"] = 1.0
    assert ("NO_EFFECT", "d") not in notes(lambda t: t["a"] + t["b"])


def test_strengths_whose_squares_overflow(X):
    predict = lambda t: t["a"] + t["b"]  # noqa: E731
    effects, importance = (
        paribus.effects(predict, X.head(50)),
        paribus.feature_importance(predict, X.head(50)),
    )
    huge = [replace(one, strength=one.strength * 1e200) for one in effects.effects]
    assert {note.code.name for note in strength_notes(Effects(tuple(huge)), importance)} == {"NO_EFFECT"}
    first = replace(huge[0], strength=1e202)
    (*_, note) = strength_notes(Effects((first, *huge[1:])), importance)
    assert note.code is NoteCode.DOMINANT_FEATURE
    assert note.value == pytest.approx(1, abs=1e-3)


def averages(predict, X, y):
    return paribus.marginal(predict, X, y=y)


def test_cells_that_differ(X):
    rng = np.random.default_rng(1)
    table = X.assign(k=rng.choice(list("uvw"), len(X)))
    predict = lambda t: np.asarray(t["a"])  # noqa: E731
    y = predict(table) + rng.normal(size=len(X))
    assert not list(cell_notes(averages(predict, table, y), np.ones(1)))
    shifted = y + 0.8 * (table["k"] == "v")
    (note,) = cell_notes(averages(predict, table, shifted), np.ones(1))
    assert (note.code, note.feature) == (NoteCode.CELL_DIFFERS, "k")
    assert note.value == pytest.approx(0.8, abs=0.15)
    assert note.startswith("near k = v, with 3")
    assert "may be chance among" in note
    assert not list(cell_notes(averages(predict, table, shifted), np.full(1, 20.0)))  # too small to matter
    assert not list(cell_notes(paribus.marginal(predict, table), np.ones(1)))
    gaps = table.assign(b=table["b"].where(table["k"] != "v"))
    texts = list(cell_notes(averages(predict, gaps.drop(columns="k"), shifted), np.ones(1)))
    assert any(text.startswith("where b is missing, with") for text in texts)


def test_chance_among_many_cells_is_no_difference():
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(5):
        X = rng.normal(size=(1_500, 12))
        y = X[:, 0] + rng.normal(size=1_500)
        found += len(list(cell_notes(averages(lambda t: t[:, 0], X, y), np.full(1, 0.1))))
    assert found == 0


def test_cells_whose_rows_all_have_one_outcome_are_no_certainty():
    X = pd.DataFrame({"k": ["u"] * 40 + ["v"] * 200})
    y = np.r_[np.zeros(40), np.tile([0.0, 1.0], 100)]
    predict = lambda t: np.where(np.asarray(t["k"]) == "u", 0.03, 0.5)  # noqa: E731
    assert not list(cell_notes(averages(predict, X, y), np.full(1, 0.1)))
    far = lambda t: np.where(np.asarray(t["k"]) == "u", 0.4, 0.5)  # noqa: E731
    assert len(list(cell_notes(averages(far, X, y), np.full(1, 0.1)))) == 1


def test_calibration(X):
    provenance = paribus.partial_dependence(lambda t: t["a"], X, "a").provenance

    def notes(*metrics):
        return list(calibration_notes(Performance(metrics, (), (), (), provenance)))

    slope = Metric("calibration slope", "yes", 0.7, 0.05, "near 1")
    (note,) = notes(slope)
    assert note == "the calibration slope is 0.7, 6 standard errors from 1"
    assert notes(slope, replace(slope, output="no", value=1.0)) == [
        "the calibration slope of yes is 0.7, 6 standard errors from 1"
    ]
    assert (note.code, note.value) == (NoteCode.POOR_CALIBRATION, pytest.approx(0.3))
    (ratio,) = notes(Metric("observed / predicted", None, 1.2, np.nan, "near 1"))
    assert ratio == "the observed / predicted is 1.2, not 1"
    assert not notes(
        Metric("observed / predicted", None, 1.04, 0.001, "near 1"),  # too little to matter
        Metric("calibration slope", None, 0.7, 0.11, "near 1"),  # within three errors
        Metric("AUC", None, 0.7, 0.01, "higher"),
        Metric("calibration slope", None, np.nan, np.nan, "near 1"),
    )


def test_model_without_skill(X):
    provenance = paribus.partial_dependence(lambda t: t["a"], X, "a").provenance

    def notes(*metrics):
        return list(skill_notes(Performance(metrics, (), (), (), provenance)))

    none = Metric("R²", "y", -0.01, 0.004, "higher")
    (note,) = notes(none)
    assert note == "R² is -0.01 ± 0.004: the average of these rows predicts them as well as the model does"
    assert (note.code, note.severity, note.value) == (NoteCode.NO_SKILL, "issue", -0.01)
    loss, chance = Metric("log loss", None, 0.7, 0.01, "lower"), Metric("AUC", "1", 0.51, 0.01, "higher")
    (ranked,) = notes(loss, chance)
    assert ranked == "AUC is 0.51 ± 0.01: the model ranks these rows no better than chance does"
    (of_class,) = notes(loss, chance, replace(chance, output="2", value=0.8))
    assert of_class.startswith("AUC of class 1 is 0.51")
    assert not notes(replace(none, value=0.01), replace(chance, value=0.53))


def test_model_without_skill_stands_first(X):
    y = np.random.default_rng(1).normal(size=len(X))
    found = paribus.explain(lambda t: t["a"] * t["b"], X[["a", "b"]], y)
    assert found.verdict[0].code is NoteCode.NO_SKILL
    assert NoteCode.NO_SKILL in {check.code for check in found.checks}

"""What only all parts of an explanation show together: each finding planted, and not found without."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus._text import measured
from paribus.notes import NoteCode
from paribus.results import Effects
from paribus.results.performance import Metric, Performance
from paribus.results.shape import Monotonicity, Shape
from paribus.results.verdict import (
    bias_notes,
    cell_notes,
    comparison_notes,
    direction_notes,
    extreme_notes,
    interaction_notes,
    skill_notes,
    strength_notes,
    support_notes,
)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(1_000, 4)), columns=list("abcd"))


def shape(violation, error, support=0.2, *, name="wavy", declared=True, output="y"):
    own = Monotonicity("rising", declared, violation, error, 2.0, 3.5, support)
    return Shape("a", output, name, name, 10.0, 0.1, 0.0, 5.0, own)


def test_violation_of_a_declared_direction():
    (note,) = direction_notes((shape(1.5, 0.1, 0.034, name="rising"),))
    assert (note.code, note.severity, note.feature, note.value) == ("PAR410", "issue", "a", 1.5)
    assert note == (
        "a is declared rising, but its curve moves against it by 1.5, 15% of its range, from 2 to 3.5, where "
        "3.4% of the data lies"
    )
    (exact,) = direction_notes((shape(0.2, 0.0),))  # all rows move alike: there is no sampling error
    assert exact.endswith("lies")
    assert not list(direction_notes((shape(0.2, 0.11), shape(1e-6, 0.0), shape(0.0, 0.0))))
    both = list(direction_notes((shape(1.5, 0.1), shape(2.0, 0.1, output="z"))))
    assert "its curve for z moves" in both[1]


def test_reversal_of_the_prevailing_direction():
    (note,) = direction_notes((shape(1.5, 0.1, declared=False),))
    assert (note.code, note.severity) == (NoteCode.DIRECTION_REVERSED, "tip")
    assert note.startswith("a: wavy; the curve falls by 1.5, 15% of its range, from 2 to 3.5")
    small, noise = shape(0.9, 0.1, declared=False), shape(1.5, 0.8, declared=False)
    rare = shape(1.5, 0.1, 0.009, declared=False)
    assert not list(direction_notes((small, noise, rare)))


@pytest.mark.parametrize("name", ["flat", "rising", "falling", "steps up", "steps down"])
def test_curve_that_does_not_turn_has_no_reversal(name):
    assert list(direction_notes((shape(1.5, 0.1, declared=False),)))
    assert not list(direction_notes((shape(1.5, 0.1, name=name, declared=False),)))


def test_curve_that_turns_once_is_called_by_its_form():
    u = replace(shape(8.0, 0.1, name="U", declared=False), text="U-shaped, lowest at 3")
    (note,) = direction_notes((u,))
    assert note.startswith("a: U-shaped, lowest at 3; the curve falls by 8, 80% of its range, from 2 to 3.5")


def test_reversals_of_waves_are_the_largest():
    wave = shape(8.0, 0.1, declared=False)
    weak = replace(shape(0.08, 0.001, declared=False), feature="b", range=0.09)
    notes = list(direction_notes((wave, weak)))
    (note,) = notes  # that of b is a hundredth of the range of a
    assert note.startswith("a: wavy; the curve falls by 8, 80% of its range, from ")
    assert [note.feature for note in direction_notes((weak,))] == ["b"]


def test_thin_support():
    X = np.repeat(np.arange(12.0), [*[100] * 10, 3, 3])[:, None]

    def notes(height):
        return list(support_notes(paribus.effects(lambda t: height * (t[:, 0] > 9.5) + t[:, 0], X)))

    # The curve rises by 1 eleven times, and by ``height`` more to the last two values, with 6 of 1,006 rows.
    (note,) = notes(100.0)
    assert (note.code, note.feature) == (NoteCode.THIN_SUPPORT, "x0")
    assert note.value == pytest.approx(102 / 111)
    assert note.startswith(
        "91.9% of the movement of the curve of x0 is at values with only 0.596% of the data"
    )
    assert notes(34.5)  # (34.5 + 2) of 45.5, which is 80.2 %
    assert not notes(33.5)  # (33.5 + 2) of 44.5, which is 79.8 %
    assert not notes(0.0)
    flat = paribus.effects(lambda t: 0.1 + 1e-16 * t[:, 0] * (t[:, 0] > 9.5), X)
    assert 0 < np.ptp(flat["x0"].average) < 1e-14
    assert not list(support_notes(flat))  # it moves by rounding alone
    rare = np.repeat([0.0, 1.0], [999, 1])[:, None]
    assert not list(support_notes(paribus.effects(lambda t: t[:, 0], rare)))


def test_thin_support_is_a_tenth_of_the_data_at_most():
    found = []
    for rows in (9, 13):  # of each of the last two values: 8.3 % and 11.5 % of all rows together
        X = np.repeat(np.arange(12.0), [*[20] * 10, rows, rows])[:, None]
        effects = paribus.effects(lambda t: 100.0 * (t[:, 0] > 10.5), X)
        found.append([note.text.rpartition("only ")[2] for note in support_notes(effects)])
    assert found == [["8.26% of the data"], ["5.75% of the data"]]


def test_local_effects_that_differ(X):
    near = X.assign(b=X["a"] + 0.1 * X["b"])
    predict = lambda t: t["a"] * t["b"]  # noqa: E731
    effects, local = paribus.effects(predict, near), paribus.accumulated_local_effects(predict, near)
    # The partial dependence is flat, and the local effects are not.
    notes = list(comparison_notes(effects, local, 1.0))
    assert {note.feature for note in notes} == {"a", "b"}
    cause = "; features that depend on each other, or interactions, can cause this"
    assert all(note.endswith(cause) for note in notes)
    # Neither what is small beside other curves nor what is of a weak feature changes a decision.
    assert not list(comparison_notes(effects, local, 100.0))
    strong = replace(effects["c"], strengths=np.array([100.0]))
    others = Effects((effects["a"], strong))
    assert not list(comparison_notes(others, local, 1.0))
    same = lambda t: t["a"] + t["b"]  # noqa: E731
    one, two = paribus.effects(same, X), paribus.accumulated_local_effects(same, X)
    assert not list(comparison_notes(one, two, 1.0))


def test_features_that_act_in_interactions(X):
    X = X.head(200)

    def notes(predict, **options):
        found = paribus.h_statistic(predict, X, **options)
        return list(interaction_notes(found, paribus.feature_importance(predict, X)))

    found = notes(lambda t: t["a"] * t["b"] + t["c"] + 0.3 * (t["a"] + t["b"]))
    assert {note.feature for note in found} == {"a", "b"}
    assert all(note.value > 0.8 and note.severity == "issue" for note in found)
    assert found[0].startswith("a acts mostly in interactions with other features (strength ")
    small = notes(lambda t: 0.2 * t["a"] * t["b"] + t["c"])  # 4 % of the variance
    assert {note.feature for note in small} == {"a", "b"}
    assert not notes(lambda t: 0.05 * t["a"] * t["b"] + t["c"])  # 0.25 % of it
    assert not notes(lambda t: t["a"] + t["c"], overall=False)


def test_interactions_are_stated_with_the_strength_alone_and_its_error(X):
    X = X.head(200) - X.head(200).mean() + 0.02  # a and b have hardly any effect by themselves
    predict = lambda t: t["a"] * t["b"] + t["c"]  # noqa: E731
    found, importance = paribus.h_statistic(predict, X), paribus.feature_importance(predict, X)
    note = next(note for note in interaction_notes(found, importance) if note.feature == "a")
    place = importance.feature_names.index("a")
    assert importance.values[place] < importance.standard_error[place]
    alone = measured(float(importance.values[place]), float(importance.standard_error[place]))
    assert f"; alone {alone}), which its curve averages out" in note
    assert note.values["alone"] == (importance.values[place], importance.standard_error[place])
    # Interactions that are noise themselves are none.
    noisy = replace(found.overall, numerator_error=found.overall.numerator)
    assert not list(interaction_notes(replace(found, overall=noisy), importance))


def test_interactions_that_a_link_makes_are_none(X):
    margin = lambda t: 8 * t["a"] + 3 * t["c"]  # noqa: E731
    predict = lambda t: np.asarray(1 / (1 + np.exp(-margin(t))))  # noqa: E731
    found, importance = (
        paribus.h_statistic(predict, X[["a", "c"]]),
        paribus.feature_importance(predict, X[["a", "c"]]),
    )
    assert [note.feature for note in interaction_notes(found, importance)] == ["c"]
    linked = (*found.notes, NoteCode.PROBABILITY_SCALE.note(about=""))
    assert not list(interaction_notes(replace(found, notes=linked), importance))


def test_features_without_effect(X):
    X = X.head(200).copy()

    def notes(predict):
        effects, importance = paribus.effects(predict, X), paribus.feature_importance(predict, X)
        return {(note.code.name, note.feature) for note in strength_notes(effects, importance)}

    assert notes(lambda t: 3 * t["a"] + t["b"]) == {("NO_EFFECT", "c"), ("NO_EFFECT", "d")}
    joint = notes(lambda t: t["a"] + t["b"] + t["c"] * (t["d"] - t["d"].mean()))
    assert joint == set()  # c has hardly a curve, but an effect
    assert notes(lambda t: np.ones(len(t))) == set()  # of which there is another note
    X["d"] = 1.0
    assert ("NO_EFFECT", "d") not in notes(lambda t: t["a"] + t["b"])


def averages(predict, X, y):
    return paribus.marginal(predict, X, y=y)


def test_cells_that_differ(X):
    rng = np.random.default_rng(1)
    table = X.assign(k=rng.choice(list("uvw"), len(X)))
    predict = lambda t: np.asarray(t["a"])  # noqa: E731
    y = predict(table) + rng.normal(size=len(X))
    assert not list(cell_notes(averages(predict, table, y), np.ones(1)))
    share = float(np.mean(table["k"] == "v"))
    shifted = y + 0.8 * ((table["k"] == "v") - share)  # zero on average, so that k alone is off
    (note,) = cell_notes(averages(predict, table, shifted), np.ones(1))
    assert (note.code, note.feature) == (NoteCode.CELL_DIFFERS, "k")
    assert note.value == pytest.approx(0.8 * (1 - share), abs=0.15)
    assert note.startswith("near k = v, with 3")
    assert re.search(r"; it is [\d.]+ standard errors, and up to [\d.]+ may be chance among \d+ cells", note)
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


def test_bias_is_a_ratio_or_of_negative_targets_a_difference(X):
    provenance = paribus.partial_dependence(lambda t: t["a"], X, "a").provenance

    def notes(*metrics):
        return list(bias_notes(Performance(metrics, (), (), provenance)))

    ratio = Metric("observed / predicted", "yes", 1.2, np.nan, 1.0, "near 1")
    (note,) = notes(ratio)
    assert note == "the observed / predicted is 1.2, not 1"
    assert (note.code, note.value) == (NoteCode.POOR_CALIBRATION, pytest.approx(0.2))
    assert notes(ratio, replace(ratio, output="no", value=1.0)) == [
        "the observed / predicted of yes is 1.2, not 1"
    ]
    spread = Metric("root mean squared error", "yes", 1.0, 0.1, 2.0, "lower")
    residual = Metric("mean residual", "yes", -0.3, 0.05, 0.0, "near 0")
    assert notes(spread, residual) == ["the mean residual is -0.3 ± 0.05, not 0"]
    assert len(notes(spread, residual, ratio)) == 1  # one number of one fact
    assert not notes(
        replace(ratio, value=1.009, standard_error=0.001),  # too little to matter
        Metric("AUC", None, 0.7, 0.01, 0.5, "higher"),
    )
    assert not notes(replace(ratio, standard_error=0.07))  # within three errors
    assert not notes(replace(ratio, value=np.nan))
    assert not notes(spread, replace(residual, standard_error=0.11))
    assert not notes(spread, replace(residual, value=-0.019, standard_error=0.001))
    assert not notes(replace(spread, value=np.inf), replace(residual, value=np.inf))


def test_bias_of_a_target_with_negative_values_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)
    for shift, outcome in ((0.3, "found"), (0.0, "not found")):
        found = paribus.explain(lambda t: t[:, 0], X, y + shift, interactions=False)
        checks = {check.code: check.outcome for check in found.checks}
        assert checks[NoteCode.POOR_CALIBRATION] == outcome


def test_small_bias_beyond_chance_is_found_with_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1))
    y = X[:, 0] + rng.normal(size=20_000) + 0.035  # 5 standard errors, 2.5 % of the deviation of y
    found = paribus.explain(lambda t: t[:, 0], X, y, interactions=False, subsample=None)
    assert NoteCode.POOR_CALIBRATION in {note.code for note in found.verdict}


@pytest.mark.parametrize("side", [1, -1])
def test_lone_extremes(side):
    rng = np.random.default_rng(0)

    def notes(values):
        X = np.column_stack([side * values, rng.normal(size=len(values))])
        return list(extreme_notes(paribus.effects(lambda t: t[:, 1], X)))

    usual = rng.normal(size=500)
    (note,) = notes(np.append(usual, [9999.0, 9999.0]))
    assert (note.code, note.feature, note.severity) == (NoteCode.LONE_EXTREMES, "x0", "tip")
    assert note.values["data"] == pytest.approx(2 / 502)
    assert (note.values["last"], note.values["extreme"]) == (side * usual.max(), side * 9999.0)
    assert note.values["side"] == ("above" if side == 1 else "below")
    few = np.repeat([0.0, 1.0, 666.0], [400, 1500, 2])
    (coded,) = notes(few)
    assert coded.startswith(
        "0.105% of the data has x0 " + ("above 1, as far as 666" if side == 1 else "below")
    )
    assert not notes(usual)
    assert not notes(np.exp(usual))  # a long tail without a gap
    # Between the last two points of the grid lie six values, each of them near to the next.
    assert not notes(np.concatenate([np.tile(usual, 6), np.linspace(10, 50, 8)]))
    assert not notes(np.append(usual, np.full(6, 9999.0)))  # more than 1 % of the data
    assert not notes(np.repeat([0.0, 1.0], [999, 1]))  # the others have no spread to compare with


def test_model_without_skill(X):
    provenance = paribus.partial_dependence(lambda t: t["a"], X, "a").provenance

    def notes(*metrics):
        return list(skill_notes(Performance(metrics, (), (), provenance)))

    none = Metric("R²", "y", -0.01, 0.004, 0.0, "higher")
    (note,) = notes(none)
    assert note == "R² is -0.01 ± 0.004: the average of these rows predicts them as well as the model does"
    assert (note.code, note.severity) == (NoteCode.NO_SKILL, "issue")
    assert note.values["estimate"] == (-0.01, 0.004)
    loss = Metric("log loss", None, 0.7, 0.01, 0.69, "lower")
    chance = Metric("AUC", "1", 0.51, 0.01, 0.5, "higher")
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

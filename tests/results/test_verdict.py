"""The verdict: findings once each, grouped, worst first."""

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus.notes import NoteCode
from paribus.results.verdict import Sizes, distinct

CODES = {"PAR101", "PAR102", "PAR404", "PAR410"}


def predict(X):
    a, b, c, d, e = (np.nan_to_num(np.asarray(X[name])) for name in "abcde")
    return 2 * a + np.where(b > 0, 30.0, 0.0) * a + 0.1 * c + 0.5 * np.sin(3 * d) + 0 * e


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(250, 5)), columns=list("abcde"))
    table["b"] = table["a"] + 0.1 * table["b"]
    table.loc[::5, "c"] = np.nan
    table.loc[::9, "d"] = np.nan
    return table


@pytest.fixture(scope="module")
def found(X):
    return paribus.explain(predict, X, monotone={"d": 1, "a": "rising"})


def test_a_finding_is_there_once_and_worst_first(found):
    codes = [note.code for note in found.verdict]
    assert len(set(codes)) == len(codes) <= 10
    assert set(codes) >= CODES
    severities = [note.severity for note in found.verdict]
    assert severities == sorted(severities)  # issues before tips
    assert codes[0] is NoteCode.DIRECTION_VIOLATED  # a requirement
    assert found.verdict[0].feature == "d"
    assert {note.code for note in found.verdict if note.severity == "tip"} <= {
        note.code for note in found.notes
    }
    assert sum(note.severity == "tip" for note in found.verdict) <= 6


def test_features_with_the_same_caveat_are_one_finding(found):
    notes = {note.code: note for note in found.verdict}
    missing = notes[NoteCode.MISSING_VALUES]
    # d is missing less often than c, but matters more.
    assert missing.feature == "d"
    assert missing.startswith("d is missing in 11.2% of the data")
    assert missing.endswith("; also for c")
    assert missing.value == pytest.approx(0.112)
    assert notes[NoteCode.EXTRAPOLATION].endswith(("; also for a", "; also for b"))


def test_checks_say_what_was_looked_for(found):
    checks = {check.code: check for check in found.checks}
    assert [check.code for check in found.checks] == sorted(checks)
    assert {code for code, check in checks.items() if check.found} == {note.code for note in found.notes}
    assert checks[NoteCode.MISSING_VALUES].found == checks[NoteCode.EXTRAPOLATION].found == 2
    assert checks[NoteCode.THIN_SUPPORT].found == 0
    assert (checks[NoteCode.CELL_DIFFERS].outcome, checks[NoteCode.CELL_DIFFERS].reason) == (
        "not applicable",
        "it needs y",
    )


@pytest.mark.parametrize("rows", [179, 180])
def test_extrapolation_is_a_check_only_where_it_was_looked_for(rows):
    X = np.random.default_rng(0).normal(size=(rows, 2))
    found = paribus.explain(lambda t: t[:, 0] + t[:, 1], X)
    looked = rows >= 180
    assert [one.extrapolation is not None for one in found.effects.effects] == [looked, looked]
    (check,) = (check for check in found.checks if check.code is NoteCode.EXTRAPOLATION)
    assert check.outcome == ("not found" if looked else "not applicable")


def test_y_adds_checks(X):
    own = X[["c"]]  # a single feature has no interactions
    predicted = lambda t: np.nan_to_num(np.asarray(t["c"]))  # noqa: E731
    y = predicted(own) + 2 * np.isnan(own["c"]) + 0.3 * np.random.default_rng(0).normal(size=len(own))
    alone = paribus.explain(predicted, own, y)
    outcomes = {check.code: check.outcome for check in alone.checks}
    assert outcomes[NoteCode.CELL_DIFFERS] == "found"
    assert outcomes[NoteCode.HIDDEN_INTERACTION] == "not applicable"
    (note,) = (note for note in alone.verdict if note.code is NoteCode.CELL_DIFFERS)
    assert note.startswith("where c is missing, with 20% of the data, the observed average is 1.9")


def test_of_parts_with_the_same_caveat_the_first_is_kept():
    missing = NoteCode.MISSING_VALUES.note
    share = [missing(feature="a", share=0.1, treatment=text) for text in (" in effects", " in ALE")]
    unit = [local(size) for size in (1.0, 2.0)]
    sampled = [sample(rows) for rows in (500, 500, 200)]
    assert distinct([*share, *unit, *sampled]) == [share[0], unit[1], sampled[0], sampled[2]]


def local(size, feature="a"):
    return NoteCode.ALE_DIFFERS.note(feature=feature, size=size, share=0.5, value=3.0)


def sample(rows):
    return NoteCode.ROWS_SAMPLED.note(what="the search", rows=rows, total=900, consequence="")


def test_size_is_the_strength_of_the_feature_times_the_number():
    sizes = Sizes({"a": 1.0, "b": 0.1}, unit=4.0)
    assert sizes.of(NoteCode.INFINITE_VALUES.note(feature="b", share=0.5)) == pytest.approx(0.05)
    # What is in units of the prediction is as large for a weak feature.
    for feature in "ab":
        assert sizes.of(local(2.0, feature)) == pytest.approx(0.5)
    assert sizes.of(NoteCode.CONSTANT_PREDICTION.note()) == 1
    assert sizes.of(NoteCode.UNRELIABLE_H.note(groups=("a x b",), reason="noise")) == 0
    assert sizes.of(NoteCode.METRIC_LEFT_OUT.note(metrics="AUC", reason="one class", share=0.9)) == 0
    leak = NoteCode.TARGET_AMONG_FEATURES.note(feature="b", target="the target", data=1.0, share=0.99)
    assert sizes.of(leak) > 1


def test_what_changes_no_decision_is_a_tip():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "rare": np.where(np.arange(600) % 60 == 0, 1.0, 0.0)})
    X["city"] = pd.Categorical(rng.choice(["Bern", "Genf", "Zug"], 600))
    X["one"], X["noise"] = 1.0, rng.normal(size=600)

    def predict(t):
        a, rare, noise = (np.asarray(t[name]) for name in ("a", "rare", "noise"))
        return a + rare + 1e-3 * (np.asarray(t["city"]) == "Zug") * noise

    found = paribus.explain(predict, X)
    codes = {note.code for note in found.verdict}
    assert codes >= {
        NoteCode.NEARLY_CONSTANT,
        NoteCode.CATEGORY_ORDER,
        NoteCode.UNRELIABLE_H,
        NoteCode.SINGLE_VALUE,
    }
    assert {note.severity for note in found.verdict} == {"tip"}


@pytest.mark.parametrize("value", [2.0, "Bern"])
@pytest.mark.parametrize("effect", [5.0, 0.0])
def test_feature_with_one_value_and_missing_ones_has_the_effect_of_a_missing_value(value, effect):
    X = pd.DataFrame({"a": np.random.default_rng(0).normal(size=200), "k": value})
    X.loc[::3, "k"] = None

    def predict(t):
        return 0.2 * t["a"].to_numpy() + effect * pd.isna(t["k"]).to_numpy()

    found = paribus.explain(predict, X)
    codes = {note.code for note in found.verdict}
    assert NoteCode.MISSING_VALUES in codes
    assert NoteCode.SINGLE_VALUE not in codes
    assert (NoteCode.NO_EFFECT in codes) == (effect == 0)
    for part in (found.effects, found.ale, found.averages):
        assert [note.code for note in part["k"].notes] == [NoteCode.MISSING_VALUES]


def test_other_features_are_listed_the_largest_first():
    X = np.random.default_rng(0).normal(size=(400, 4))
    found = paribus.explain(
        lambda t: 3 * t[:, 0] + np.sin(3 * t[:, 1]) + np.cos(2 * t[:, 2]) + t[:, 3] ** 2, X
    )
    (note,) = (note for note in found.verdict if note.code is NoteCode.DIRECTION_REVERSED)
    violations = {shape.feature: shape.monotonicity.violation for shape in found.shapes}
    first, *others = sorted((name for name in violations if name != "x0"), key=violations.get, reverse=True)
    assert (note.feature, note.value) == (first, violations[first])
    assert note.values["others"] == tuple(others)
    assert note.endswith(f"; also for {others[0]}, {others[1]}")


def test_calibration_stands_after_other_issues():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = 0.2 * X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=600) + 0.5
    found = paribus.explain(lambda t: 3 * t[:, 0] * t[:, 1] + t[:, 2], X, y, monotone={2: "falling"})
    issues = [note.code for note in found.verdict if note.severity == "issue"]
    assert len(issues) >= 3
    assert issues[-1] is NoteCode.POOR_CALIBRATION


def test_curves_that_extrapolate_little_are_no_issue():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    X[:, 1] += 0.75 * X[:, 0]
    found = paribus.explain(lambda t: t[:, 0] + t[:, 1], X)
    shares = [one.extrapolation.share for one in found.effects.effects]
    assert 0.05 <= max(shares) < 0.1
    assert NoteCode.EXTRAPOLATION in {note.code for note in found.effects.notes}
    assert NoteCode.EXTRAPOLATION not in {note.code for note in found.verdict}
    assert {check.found for check in found.checks if check.code is NoteCode.EXTRAPOLATION} == {0}

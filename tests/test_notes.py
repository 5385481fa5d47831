"""What results mean is a value: notes have codes, scales have parts, refusals have reasons."""

import copy
import dataclasses
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostRegressor, HistGradientBoostingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import paribus
from paribus.errors import RefusalCode, RefusalError, check_choice
from paribus.notes import Note, NoteCode
from paribus.results import Estimand, Refusal, Scale

ROOT = Path(__file__).parent.parent
ODD = "income, relative to mean"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    base = rng.normal(size=600)
    frame = pd.DataFrame(
        {ODD: base, "near": base + 0.05 * rng.normal(size=600), "other": rng.normal(size=600)}
    )
    frame.loc[::10, "other"] = np.nan
    return frame


def predict(X):
    return X[ODD] * X["near"] + X["other"].fillna(0)


def test_a_note_is_its_sentence_and_knows_what_it_is_about(table):
    (note,) = paribus.partial_dependence(predict, table, ODD).notes
    assert (note.code, note.code.name, note.severity) == ("PAR101", "EXTRAPOLATION", "issue")
    assert note.feature == ODD
    assert 0.05 < note.value < 1
    assert isinstance(note, str)
    assert str(note) == note.text == note
    assert repr((note,)) == repr((note.text,))
    missing = paribus.partial_dependence(predict, table, "other").notes[-1]
    assert (missing.code, missing.severity, missing.feature) == (NoteCode.MISSING_VALUES, "tip", "other")
    assert missing.value == pytest.approx(0.1)


@pytest.mark.parametrize(
    "value",
    [
        NoteCode.NEARLY_CONSTANT.note(feature="x", value=np.int64(3), share=np.float64(0.5)),
        Scale("probability", "unit of x", "x = 1", True),
        Refusal("tree_exact", RefusalCode.DATA, "text"),
    ],
)
def test_tags_come_along_and_cannot_be_changed(value):
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
        assert type(again) is type(value)
        assert vars(again) == vars(value)
    name = next(iter(vars(value)))
    with pytest.raises(AttributeError, match=f"{name} cannot be set"):
        setattr(value, name, None)


def test_notes_scales_and_refusals_are_saved(table, tmp_path):
    model = HistGradientBoostingClassifier(max_iter=3).fit(table, table["near"] > 0)
    found = paribus.h_statistic(model, table, subsample=50)
    effects = paribus.effects(predict, table, [ODD, "other"])
    for result in (found, effects, effects[ODD].derivative(), effects["other"].centered()):
        path = tmp_path / "result.json"
        result.save(path)
        again = paribus.load(path)
        assert again == result
        assert [vars(note) for note in again.notes] == [vars(note) for note in result.notes]
        assert [*map(type, again.notes)] == [Note] * len(result.notes)
        assert vars(again.provenance.scale) == vars(result.provenance.scale)
        assert again.provenance.estimand is Estimand.INTERVENTIONAL
    assert found.provenance.refusals["tree_exact"].code is RefusalCode.NONLINEAR_LINK
    assert found.provenance.refusals["tree_exact"].evaluator == "tree_exact"
    assert NoteCode.PROBABILITY_SCALE in [note.code for note in found.notes]


def test_results_that_differ_in_a_code_differ(table):
    effect = paribus.partial_dependence(predict, table, "other")
    note = effect.notes[-1]
    other = dataclasses.replace(
        effect, notes=(*effect.notes[:-1], NoteCode.FEATURE_SKIPPED.note(reason=note.text))
    )
    assert other.notes == effect.notes
    assert other != effect


def test_text_that_is_no_note_is_refused(table):
    effect = paribus.partial_dependence(predict, table, "other")
    with pytest.raises(
        paribus.errors.InputError, match=r"notes=\('text',\) of PartialDependence must be .* a Note"
    ):
        dataclasses.replace(effect, notes=("text",))


def test_reasons_for_skipped_features_are_notes():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "odd": [[1], [2], [3]]})
    effects = paribus.effects(lambda X: X["a"], X)
    assert effects.notes[0].code is NoteCode.FEATURE_SKIPPED
    assert effects.notes[0] == effects.skipped[0]


def test_codes_are_documented():
    page = (ROOT / "docs/faq.md").read_text()
    rows = re.findall(r"^\| (PAR\d+) \| `(\w+)` \| (\w+) \| (.*) \|$", page, re.M)
    assert rows == [(code.value, code.name, code.severity, code.meaning) for code in NoteCode]
    assert len({code.value for code in NoteCode}) == len(NoteCode)


def test_the_name_of_a_column_is_not_parsed(table):
    effect = paribus.partial_dependence(predict, table, ODD)
    slope = effect.derivative()
    assert slope.provenance.scale == f"prediction per unit of {ODD}"
    assert slope.figure().panels[0].y.label == f"prediction per unit of {ODD}"
    at = slope.grid_values[0][0]
    moved = slope.centered()
    assert moved.provenance.scale.per == f"unit of {ODD}"
    assert (
        moved.figure().panels[0].y.label.startswith(f"change in prediction per unit of {ODD}\nfrom {ODD} = ")
    )
    assert slope.centered(at=at).derivative().provenance.scale.relative_to is None


def test_scales():
    plain = Scale("probability")
    assert (plain, plain.label("yes"), plain.label("prediction")) == (
        "probability",
        "probability of yes",
        "probability",
    )
    assert not plain.has_zero
    joint = Scale("margin").with_changes(interaction=True)
    assert (joint, joint.label("a")) == ("margin, interaction only", "joint effect on margin (a)")
    moved = joint.with_changes(relative_to="a = 1")
    assert moved == "margin, interaction only, relative to a = 1"
    assert moved.label("prediction") == "change in joint effect on margin\nfrom a = 1"
    assert joint.has_zero
    assert moved.has_zero
    assert Scale("probability", "day").is_probability
    assert not Scale("probability", relative_to="a = 1").is_probability


def test_a_refusal_keeps_its_code_on_the_way_from_a_worker():
    again = pickle.loads(pickle.dumps(RefusalError("rounds across a split", RefusalCode.DATA)))
    assert (str(again), again.code) == ("rounds across a split", RefusalCode.DATA)
    assert RefusalError("why").code is RefusalCode.OTHER


def test_words_are_checked_against_their_type():
    from paribus._typing import OnError

    check_choice("on_error", "skip", OnError)
    with pytest.raises(paribus.errors.OptionError, match="on_error='stop' is not one of 'raise', 'skip'"):
        check_choice("on_error", "stop", OnError)


def test_refusal_names_the_step_or_the_model_that_is_responsible(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    boosting = HistGradientBoostingClassifier(max_iter=3).fit(X, X[:, 0] > 0)
    unread = AdaBoostRegressor(n_estimators=2).fit(X, X[:, 0])
    both = VotingRegressor([("a", LinearRegression()), ("b", AdaBoostRegressor(n_estimators=2))])
    steps = make_pipeline(FunctionTransformer(lambda rows: rows[:, ::-1].cumsum(axis=0)), LinearRegression())
    for model, part in (
        (unread, "AdaBoostRegressor"),
        (both.fit(X, X[:, 0]), "AdaBoostRegressor"),
        (steps.fit(X, X[:, 0]), "FunctionTransformer"),
    ):
        effect = paribus.partial_dependence(model, X, 0, grid_resolution=3)
        parts = {one.part for one in effect.provenance.refusals.values() if one.part}
        assert any(part in one for one in parts), effect.provenance.refusals
        assert f"({next(iter(parts))})" in repr(effect.provenance).replace("\n", " ")
        effect.save(tmp_path / "effect.json")
        assert paribus.load(tmp_path / "effect.json") == effect
        with pytest.raises(RefusalError):
            paribus.partial_dependence(model, X, 0, method="exact")
    assert all(one.part is None for one in paribus.effects(boosting, X).provenance.refusals.values())
    error = RefusalError("no", RefusalCode.DATA, "scale")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.part) == ("no", RefusalCode.DATA, "scale")

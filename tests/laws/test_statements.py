"""The law of statements: values of notes and sentences are those of the raw rows, and none contradicts another."""

import re
from collections import Counter
from functools import cache

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import paribus
from paribus.notes import NoteCode
from statement_cases import random_case, rare_cases
from statements import DEFECTS, NOT_IN_EXPLANATIONS, RECOMPUTED, SENTENCES, UNCHECKED, Rows

CHECKED = 12  # configurations of each change; the others run at night
CONFIGURATIONS = 200
RELATIVE = 1e-6
COUNTED = Counter()


def numbers_in(value):
    """Yield the numbers in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, np.ndarray)):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        yield float(value)


def check_values(where, stated, expected, scale=1.0):
    """Compare the values of a statement with those that were computed again; return how many numbers."""
    compared = 0
    for name, want in expected.items():
        if want is None:
            continue
        have, want = list(numbers_in(stated[name])), list(numbers_in(want))
        np.testing.assert_allclose(have, want, rtol=RELATIVE, atol=1e-7 * scale, err_msg=f"{where}: {name}")
        compared += len(have)
    return compared


def check_notes(rows):
    for note in rows.explanation.notes:
        if note.code not in RECOMPUTED:
            continue
        where = f"{note.code.name} {note}"
        expected = RECOMPUTED[note.code](rows, note.values)
        scale = 1.0 if rows.predicted.size == 0 else max(1e-9, np.nanmax(np.abs(rows.predicted)))
        COUNTED[note.code.name] += check_values(where, note.values, expected, scale)
        COUNTED["notes"] += 1
        left = {
            name
            for name, value in note.values.items()
            if list(numbers_in(value)) and expected.get(name) is None and (note.code, name) not in UNCHECKED
        }
        assert not left, f"{where}: no function computes {left}"


def check_sentences(rows):
    scale = max(1e-9, np.abs(rows.predicted).max())
    for sentence in rows.explanation.sentences:
        (function,) = (each for words, each in SENTENCES.items() if re.match(words, sentence.text))
        expected = function(rows, sentence.values)
        COUNTED[function.__name__] += check_values(sentence.text, sentence.values, expected, scale)
        COUNTED["sentences"] += 1


# Codes --------------------------------------------------------------------------------------------------


def test_every_code_is_computed_again_or_says_why_not():
    assert not set(RECOMPUTED) & set(NOT_IN_EXPLANATIONS)
    assert {*RECOMPUTED, *NOT_IN_EXPLANATIONS} == set(NoteCode)


@cache
def rare():
    return rare_cases()


@pytest.mark.parametrize("name", rare())
def test_values_of_rare_notes_are_those_of_the_rows(name):
    rows = Rows(rare()[name])
    notes = [note for note in rows.explanation.notes if note.code.name == name]
    assert notes
    for note in notes:
        check_values(note, note.values, RECOMPUTED[note.code](rows, note.values))
        check_text_of_note(note)


# Contradictions -----------------------------------------------------------------------------------------


def check_contradictions(rows):
    explanation = rows.explanation
    importance = dict(
        zip(explanation.importance.feature_names, explanation.importance.values.tolist(), strict=True)
    )
    for name, effect in explanation.effects.items():
        strength = np.sqrt(np.mean(np.square(effect.strengths)))
        for other in (
            effect.strength,
            explanation.table[name].strength,
            np.sqrt(np.mean(np.square(importance[name]))),
        ):
            np.testing.assert_allclose(other, strength, rtol=1e-9)
        check_directions(rows, name)
    for note in explanation.notes:
        if note.code is NoteCode.NO_EFFECT:
            assert explanation.effects[note.feature].strength == 0
        if note.code is NoteCode.DIRECTION_REVERSED:
            shapes = [shape for shape in explanation.shapes if shape.feature == note.feature]
            assert note.values["shape"] in {shape.text for shape in shapes}
    shares = explanation.explained
    for added in (shares.pairs, shares.regions):
        if added is not None and np.isfinite(added).all():
            assert (shares.curves + added <= 1 + 1e-9).all()
    checks = {check.code: check.outcome for check in explanation.checks}
    for code, defect in DEFECTS.items():
        assert checks[code] == "found" or not defect(rows), f"{code.name} is {checks[code]}"


def check_directions(rows, name):
    """A curve that is said to rise or to fall ends so, in the table, in its sentence and by its course."""
    shape = rows.explanation.shapes.widest(name)
    if shape is None:
        return
    assert rows.explanation.table[name].shape == shape.text
    sentences = [
        s for s in rows.explanation.sentences if s.values.get("feature") == name and "heights" in s.values
    ]
    signs = {"rising": 1, "steps up": 1, "falling": -1, "steps down": -1}
    if shape.name in signs:
        points = len(rows.grid(name))
        known = np.flatnonzero(rows.support(name)[:points] > 0)
        heights = rows.curve(name)[rows.outputs.index(shape.output), known]
        assert np.sign(heights[-1] - heights[0]) == signs[shape.name]
        verb = "rises" if signs[shape.name] > 0 else "falls"
        assert verb in shape.text
        assert shape.monotonicity.is_declared or shape.monotonicity.direction.startswith(verb[:3])
        for sentence in sentences:
            first, last = sentence.values["heights"][0], sentence.values["heights"][-1]
            beyond = np.ptp(heights) * 0.3  # a tail of lone extremes may have the rest of the movement
            assert signs[shape.name] * (last - first) > -beyond


# Texts --------------------------------------------------------------------------------------------------

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"


def reads(text, value):
    """Return whether a printed number is a value, rounded at its last digit or to three digits."""
    number = float(text.replace(",", ""))
    mantissa = text.partition("e")[0]
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0**-decimals * (10.0 ** int(text.partition("e")[2] or 0))
    return abs(number - value) <= max(0.501 * unit, 0.00501 * abs(value))


def prints(text, value, form):
    """Return whether a part of a sentence is a value in a format of templates."""
    if form == "%":
        return value < 1e-4 if text == "under 0.01%" else text[-1] == "%" and reads(text[:-1], 100 * value)
    if form == "±":
        first, _, last = text.partition(" ± ")
        return text == "–" or (reads(first, value[0]) and (not last or reads(last, value[1])))
    if form not in (None, "at"):
        size, _, noun = text.partition(" ")
        return reads(size, value) and noun == form + "s" * (value != 1)
    if isinstance(value, tuple):
        more = f" and {len(value) - 3} more" if len(value) > 3 else ""
        return text == ", ".join(map(str, value[:3])) + more
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return reads(text, value)
    raise AssertionError(f"no text is known of {value!r}")


def check_text_of_note(note):
    """The sentence is the template, without optional parts whose values are absent, filled with values."""
    template = "<{of}: >" + note.code.template + "<; also for {others}><; and {more} more of this kind>"
    places = re.compile(r"\{(\w+)(?::([^}]+))?\}")

    def optional(part):
        return part[1] if all(name in note.values for name, _ in places.findall(part[1])) else ""

    template = re.sub("<([^<>]*)>", optional, template)
    # Words stand as they are, so that only numbers and lists are to be read.
    numbers = [place for place in places.finditer(template) if not isinstance(note.values[place[1]], str)]
    kept = places.sub(
        lambda place: "\0" if place[0] in {n[0] for n in numbers} else note.values[place[1]], template
    )
    pattern = "(.*?)".join(map(re.escape, kept.split("\0")))
    printed = re.fullmatch(pattern, note.text, re.S)
    assert printed is not None, note.text
    for place, text in zip(numbers, printed.groups(), strict=True):
        value = note.values[place[1]]
        assert prints(text, value, place[2]), (note.code.name, place[1], text, value)


def check_text_of_sentence(rows, sentence):
    """Each number of a sentence is one of its values, rounded, or that in percent."""
    text = sentence.text
    for name in sorted({*rows.X, *rows.outputs}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(str(name))}(?!\w)", "", text)
    values = [value for value in numbers_in(sentence.values) if np.isfinite(value)]
    for number in re.findall(NUMBER, text.replace(" to -", " to  -")):
        assert any(reads(number, value) or reads(number, 100 * value) for value in values), (
            number,
            sentence.text,
        )


def check_texts(rows):
    for note in {*rows.explanation.notes, *rows.explanation.verdict}:
        check_text_of_note(note)
    for sentence in rows.explanation.sentences:
        check_text_of_sentence(rows, sentence)


def test_templates_have_no_number_of_their_own():
    for code in NoteCode:
        assert not re.search(r"\d", re.sub(r"\{[^}]*\}", "", code.template)), code.name


# Planted defects ----------------------------------------------------------------------------------------

PLANTED = (
    NoteCode.MISSING_VALUES,
    NoteCode.NEARLY_CONSTANT,
    NoteCode.SINGLE_VALUE,
    NoteCode.LONE_EXTREMES,
    NoteCode.EXTRAPOLATION,
    NoteCode.ALE_DIFFERS,
    NoteCode.TARGET_AMONG_FEATURES,
    NoteCode.DIRECTION_VIOLATED,
    NoteCode.DIRECTION_REVERSED,
    NoteCode.HIDDEN_INTERACTION,
    NoteCode.NO_EFFECT,
    NoteCode.GROUPS_DIFFER,
    NoteCode.CELL_DIFFERS,
    NoteCode.POOR_CALIBRATION,
    NoteCode.GROUP_BIAS,
    NoteCode.THIN_SUPPORT,
    NoteCode.NO_VALUE,
    NoteCode.INFINITE_VALUES,
    NoteCode.RARE_CATEGORIES,
)
TREES, CALLED, CLASSIFIER = "model that is read", "function that is called", "classifier"
ONLY_CALLED = {NoteCode.NO_VALUE, NoteCode.INFINITE_VALUES, NoteCode.RARE_CATEGORIES}


def planted_table(clean):
    """Return independent normal columns, or with a defect in each."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(900, 4)), columns=["falls", "wave", "one", "other"])
    if not clean:
        X["gap"] = np.where(rng.random(900) < 0.2, np.nan, rng.normal(size=900))
        X["near"] = X["falls"] + 0.02 * rng.normal(size=900)
        X["mostly"] = np.where(np.arange(900) % 40 == 0, 1.0, 0.0)
        X["single"], X["unused"] = 1.0, rng.normal(size=900)
        X["coded"] = np.where(np.arange(900) % 450 == 5, 999.0, rng.normal(size=900))
        X["steep"] = rng.lognormal(0, 0.5, 900)
    return X


def planted_signal(X):
    if "gap" not in X:
        return np.asarray(2.0 * X["falls"] + X["wave"] + 0.5 * X["one"] + 0.3 * X["other"])
    terms = -1.5 * X["falls"] + 1.5 * X["near"] * X["falls"] + 3.0 * np.sin(2.5 * X["wave"])
    terms = terms + 4.0 * X["one"] * X["other"] + 9.0 * (X["steep"] > 2.6)
    return np.asarray(terms + X["gap"].fillna(3.0) + X["mostly"] + 0.01 * X["coded"])


def planted(kind, clean):
    """Return the outcome of each check, of rows with a defect for each of them or without any."""
    X, options, noise = planted_table(clean), {}, np.random.default_rng(4)
    mean = planted_signal(X)
    share = 1 / (1 + np.exp(-mean))
    y = mean + noise.normal(size=900) if kind != CLASSIFIER else (noise.random(900) < share).astype(int)
    fit_on = X
    if not clean:
        group = (X["other"] > 0).to_numpy()
        options = {"monotone": {"falls": "rising"}, "by": np.where(group, "above", "below")}
        steep = np.where(X["steep"] > 2.6, 2.7, 2.5)  # the only step of its curve
        fit_on = X.assign(unused=0.0, steep=steep, target=noise.permutation(y))
        observed = (
            y + 4.0 * group if kind != CLASSIFIER else np.where(group & (noise.random(900) < 0.6), 1, y)
        )
        X["target"] = observed
    if kind == CALLED and not clean:
        X["absent"], X["endless"] = np.nan, np.where(np.arange(900) % 20 == 0, np.inf, X["one"])
        X["street"] = [f"street {number}" for number in np.arange(900) % 130]
    if kind == CALLED:
        model = planted_signal
    elif clean:
        model = (LogisticRegression() if kind == CLASSIFIER else Ridge()).fit(fit_on, y)
    else:
        trees = LGBMClassifier if kind == CLASSIFIER else LGBMRegressor
        model = trees(n_estimators=60, verbose=-1, n_jobs=1).fit(fit_on, y)
    explanation = paribus.explain(model, X, y if clean else observed, progress=False, **options)
    return {check.code: check.outcome for check in explanation.checks}


@pytest.mark.parametrize("kind", [TREES, CALLED, CLASSIFIER])
def test_planted_defects_are_found_and_none_without_them(kind):
    codes = [code for code in PLANTED if kind == CALLED or code not in ONLY_CALLED]
    found, clean = planted(kind, False), planted(kind, True)
    assert [code.name for code in codes if found[code] != "found"] == []
    assert [code.name for code in PLANTED if clean[code] == "found"] == []


def check_statements(rows):
    for check in (check_notes, check_sentences, check_contradictions, check_texts):
        check(rows)


@pytest.mark.parametrize("seed", range(CHECKED))
def test_statements_are_those_of_the_rows(seed):
    check_statements(Rows(random_case(seed, most_rows=450, resolutions=(12,))))


@pytest.mark.nightly
@pytest.mark.alone  # which counts what was compared in one process
@pytest.mark.parametrize("seed", range(20, 20 + CONFIGURATIONS))
def test_statements_of_many_configurations(seed):
    check_statements(Rows(random_case(seed, most_rows=5_000)))


@pytest.mark.nightly
@pytest.mark.alone  # which counts what was compared in one process
def test_many_values_of_most_codes_were_computed_again():
    """Runs after the configurations, and prints what they compared."""
    found = {name: COUNTED[name] for name in sorted(COUNTED)}
    statements = {name: found.pop(name, 0) for name in ("notes", "sentences")}
    codes = [name for name in found if name in NoteCode.__members__]
    print(f"\ncomputed again: {sum(found.values()):,} values of {statements}, {len(codes)} codes: {found}")
    assert len(codes) >= 20
    assert min(statements.values()) >= 5 * CONFIGURATIONS

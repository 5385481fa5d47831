"""Shapes and effects in words, with numbers of two or three digits."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._report.figures import References
from paribus._report.group_section import _chance
from paribus._report.pages import page_of
from paribus._report.sentences import sentences, shape_words, shown_curve
from paribus.results.group_comparison import GroupDifference
from report_examples import complete, hostile, of_classes

GRID = np.linspace(0, 80, 400)


def described(curve, percentiles=(0, 1)):
    """Return the references of a model of one feature."""
    X = pd.DataFrame({"age": GRID, "noise": np.zeros(len(GRID))})
    return References(paribus.explain(lambda X: curve(X["age"].to_numpy()), X, percentiles=percentiles))


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (lambda age: 2 * age, "rises"),
        (lambda age: -age, "falls"),
        (lambda age: np.zeros_like(age) + 3.0, "flat"),
        (lambda age: (age - 40) ** 2, r"U-shaped, lowest at (3\d|4\d)(\.\d)?"),
        (lambda age: -((age - 40) ** 2), r"rises until (3\d|4\d)(\.\d)?, then falls"),
        (lambda age: np.minimum(age, 40), r"rises until (3[6-9]|4[0-4])(\.\d)?, then flat"),
        (lambda age: np.maximum(age, 40), r"flat until (3[6-9]|4[0-4])(\.\d)?, then rises"),
        (lambda age: -np.clip(age, 30, 50), r"falls between (2\d|3\d)(\.\d)? and (4\d|5\d)(\.\d)?"),
        (lambda age: (age > 40) * 1.0, r"rises at 4\d(\.\d)?, flat elsewhere"),
        (lambda age: np.sin(age / 5), "goes up and down"),
        (lambda age: age + 15 * np.sin(age / 5), "mostly rises"),
    ],
)
def test_shapes_are_described_as_people_do(curve, words):
    assert re.fullmatch(words, shape_words(described(curve), "age"))


def test_sentence_of_a_monotone_effect_has_both_ends():
    first, *_ = sentences(described(lambda age: 131.62 + age))
    plain = re.sub("<[^>]*>", "", first)
    assert plain == "As age goes from 0 to 80, the average prediction rises from 132 to 212."


def test_sentence_of_a_wavy_effect_has_the_heights_at_the_ends():
    first, *_ = sentences(described(lambda age: np.interp(age, [0, 20, 60, 80], [40, 0, 100, 60])))
    assert re.search(r"As .*age.* goes from 0 to 80, the .* mostly rises from 40 to 60\.$", first)


def test_sentence_of_a_u_has_its_turn():
    first, *_ = sentences(described(lambda age: (age - 40) ** 2))
    assert re.search(r"falls from 1600 to \S+ at (3\d|4\d)(\.\d)?, then rises to 1600\.$", first)


@pytest.mark.parametrize(
    ("curve", "level"),
    [
        (lambda age: (age < 1) * 1.0, "0"),
        (lambda age: (age > 79) * -1.0, "0"),
        (lambda age: (age < 1) + (age > 79) + 1 / 3, "0.333"),
        (lambda age: 2.0 * (age > 79) - (age < 1) + 1 / 3, "0.333"),
    ],
)
def test_curve_that_moves_only_beyond_the_percentiles_is_flat_within_them(curve, level):
    found = described(curve, percentiles=(0.05, 0.95))
    assert found.widest("age").range > 0.9
    assert shape_words(found, "age") == "flat within the percentiles"
    first, *_ = sentences(found)
    sentence = f"the average prediction stays at {level}. It moves only beyond these values."
    assert re.sub("<[^>]*>", "", first) == f"As age goes from 4 to 76, {sentence}"
    for text in (found.explanation.to_markdown(), page_of(found.explanation)):
        assert "flat within the percentiles" in text


def test_categories_are_named_at_both_ends():
    cities = pd.Categorical(np.resize(["Bern", "Basel", "Chur"], 300))
    X = pd.DataFrame({"city": cities})
    found = paribus.explain(
        lambda X: X["city"].map({"Bern": 2.0, "Basel": 1.0, "Chur": 4.0}).to_numpy(float), X
    )
    first, *_ = sentences(References(found))
    plain = re.sub("<[^>]*>", "", first)
    assert plain == "By city, the average prediction goes from 1 (Basel) to 4 (Chur)."


def test_strength_has_one_definition_and_one_order():
    for found in (complete(), of_classes(), hostile()):
        strengths = [row.strength for row in found.table]
        assert strengths == sorted(strengths, reverse=True)
        assert [row.feature for row in found.table] == list(found.feature_names)
        order = [found.importance.feature_names[place] for place in found.importance.order]
        assert order == list(found.feature_names)
        for row in found.table:
            assert row.strength == pytest.approx(found.effects[row.feature].strength, rel=1e-12)
            place = found.importance.feature_names.index(row.feature)
            values = np.atleast_1d(found.importance.values[place])
            assert row.strength == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-12)


def test_every_explanation_has_three_sentences_at_most():
    for found in (complete(), of_classes(), hostile()):
        assert len(sentences(References(found))) == 3
    X = pd.DataFrame({"a": np.arange(50.0)})
    single = paribus.explain(DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, X["a"]), X)
    lines = [re.sub("<[^>]*>", "", line) for line in sentences(References(single))]
    assert 1 <= len(lines) <= 3
    assert re.match("As a goes from .* to .*, the average prediction rises from ", lines[0])


def test_shares_of_a_curve_are_those_of_the_rows_at_its_points():
    X = pd.DataFrame({"age": np.repeat([0.0, 1.0, 2.0], [60, 30, 10]), "noise": np.zeros(100)})
    curve = shown_curve(References(paribus.explain(lambda X: X["age"].to_numpy(), X)), "age")
    np.testing.assert_allclose(curve.shares, [0.6, 0.3, 0.1])


@pytest.mark.parametrize(("p_value", "text"), [(0.0003, "under 0.001"), (0.0312, "0.031"), (np.nan, "–")])
def test_chance_of_a_difference_is_brief(p_value, text):
    assert _chance(GroupDifference("age", "prediction", "a", "b", 1.0, 2.0, 0.5, p_value)) == text

"""Shapes and effects in words, with numbers of two or three digits."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._report.figures import References
from paribus._report.group_section import _chance
from paribus._report.pages import page_of
from paribus._report.sentences import sentences, shape_words, shown_curve
from paribus.results import Effects
from paribus.results.group_comparison import GroupDifference
from report_examples import complete, hostile, of_classes

GRID = np.linspace(0, 80, 400)


def described(curve, percentiles=None):
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


def test_sentence_of_a_wavy_effect_has_the_lowest_and_the_highest_height():
    curve = lambda age: np.interp(age, [0, 20, 60, 80], [40, 0, 100, 60])  # noqa: E731
    found = described(curve)
    assert shape_words(found, "age") == "mostly rises"
    heights = curve(found.explanation.effects["age"].grid_values[0])
    first, *_ = sentences(found)
    plain = re.sub("<[^>]*>", "", first)
    moved = f"moves between {heights.min():.1f} and {heights.max():.1f}"
    assert plain == f"As age goes from 0 to 80, the average prediction {moved}."


def test_sentence_of_a_u_has_its_turn():
    first, *_ = sentences(described(lambda age: (age - 40) ** 2))
    assert re.search(r"falls from 1600 to \S+ at (3\d|4\d)(\.\d)?, then rises to 1600\.$", first)


@pytest.mark.parametrize(
    ("curve", "words", "sentence"),
    [
        (lambda age: (age < 1) * 1.0, "falls until 1, then flat", "falls from 1 to 0"),
        (lambda age: (age > 79) * -1.0, "flat until 79, then falls", "falls from 0 to -1"),
        (lambda age: 2.0 * (age > 79) - (age < 1) + 1 / 3, "rises in steps", "rises from -0.67 to 2.33"),
        (
            lambda age: (age < 1) + (age > 79) + 1 / 3,
            "U-shaped, lowest at 1",
            "falls from 1.33 to 0.33 at 1, then rises to 1.33",
        ),
    ],
)
def test_movement_in_the_outer_rows_alone_is_told(curve, words, sentence):
    found = described(curve)
    assert shape_words(found, "age") == words
    first, *_ = sentences(found)
    plain = re.sub("<[^>]*>", "", first)
    assert plain == f"As age goes from 0 to 80, the average prediction {sentence}."
    for text in (found.explanation.to_markdown(), page_of(found.explanation)):
        assert words in text
    assert shape_words(described(curve, percentiles=(0.05, 0.95)), "age") == "flat"


def test_range_of_other_features_includes_the_missing_value():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.permuted(np.tile(np.linspace(0, 1, 5), (4, 60)), axis=1).T, columns=list("abcd"))
    X.loc[::10, "c"] = np.nan

    def predict(t):
        return 100 * t["a"] + 50 * t["b"] + t["c"].fillna(-5.0) + 3 * t["d"]

    told = [re.sub("<[^>]*>", "", line) for line in sentences(References(paribus.explain(predict, X)))]
    assert told[2] == "The other 2 features move it by at most 6 (c)."
    told = [
        re.sub("<[^>]*>", "", line)
        for line in sentences(References(paribus.explain(predict, X.assign(d=0.0), features=list("abc"))))
    ]
    assert told[2] == "The other feature moves it by at most 6 (c)."


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


def test_shown_curve_has_the_finite_heights_at_values_with_data():
    X = pd.DataFrame({"age": np.repeat([0.0, 1.0, 2.0, 3.0, np.nan], 20), "noise": np.zeros(100)})
    heights = {0.0: 1.0, 1.0: 7.0, 2.0: np.inf, 3.0: 2.0}
    found = paribus.explain(lambda X: X["age"].map(heights).fillna(9.0).to_numpy(), X)
    curve = shown_curve(References(found), "age")
    assert curve.values.tolist() == [0, 1, 3]
    assert curve.heights.tolist() == [1, 7, 2]
    assert (curve.at_missing, curve.reach, curve.ends) == (9, 8, (0, 1))
    support = np.array([20.0, 0.0, 20.0, 20.0])
    effect = replace(found.effects["age"], support=support, missing=None, covariance=None, quantiles=None)
    some = replace(found, effects=Effects((effect, found.effects["noise"])))
    curve = shown_curve(References(some), "age")
    assert (curve.values.tolist(), curve.heights.tolist()) == ([0, 3], [1, 2])
    assert (curve.at_missing, curve.reach) == (None, 1)


@pytest.mark.parametrize(("p_value", "text"), [(0.0003, "under 0.001"), (0.0312, "0.031"), (np.nan, "–")])
def test_chance_of_a_difference_is_brief(p_value, text):
    assert _chance(GroupDifference("age", "prediction", "a", "b", 1.0, 2.0, 0.5, p_value)) == text

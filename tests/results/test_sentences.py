"""An explanation in sentences: the same in print and in the report, with numbers of two or three digits."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._report.group_section import _chance
from paribus._report.markup import escaped
from paribus._report.pages import page_of, plain
from paribus._text import brief
from paribus.results.group_comparison import GroupDifference
from paribus.results.provenance import reproducible
from paribus.results.sentences import shown_curve
from report_examples import complete, hostile, of_classes

GRID = np.linspace(0, 80, 400)


def described(curve, percentiles=None):
    """Return the explanation of a model of one feature."""
    X = pd.DataFrame({"age": GRID, "noise": np.zeros(len(GRID))})
    return paribus.explain(lambda X: curve(X["age"].to_numpy()), X, percentiles=percentiles)


def texts_of(explanation):
    return [sentence.text for sentence in explanation.sentences]


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
    assert re.fullmatch(words, described(curve).shapes["age"].text)


def test_sentence_of_a_monotone_effect_has_both_ends():
    told = texts_of(described(lambda age: 131.62 + age))
    assert told[2] == "As age goes from 0 to 80, the average prediction rises from 132 to 212."


def test_sentence_of_a_wavy_effect_has_the_lowest_and_the_highest_height():
    curve = lambda age: np.interp(age, [0, 20, 60, 80], [40, 0, 100, 60])  # noqa: E731
    found = described(curve)
    assert found.shapes["age"].text == "mostly rises"
    heights = curve(found.effects["age"].grid_values[0])
    moved = f"mostly rises, between {heights.min():.1f} and {heights.max():.1f}"
    assert texts_of(found)[2] == f"As age goes from 0 to 80, the average prediction {moved}."


def test_sentence_of_a_u_has_its_turn():
    told = texts_of(described(lambda age: (age - 40) ** 2))
    assert re.search(r"falls from 1600 to \S+ at (3\d|4\d)(\.\d)?, then rises to 1600\.$", told[2])


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
    assert found.shapes["age"].text == words
    assert texts_of(found)[2] == f"As age goes from 0 to 80, the average prediction {sentence}."
    for text in (found.to_markdown(), page_of(found)):
        assert words in text
    assert described(curve, percentiles=(0.05, 0.95)).shapes["age"].text == "flat"


def test_range_of_other_features_includes_the_missing_value():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.permuted(np.tile(np.linspace(0, 1, 5), (4, 60)), axis=1).T, columns=list("abcd"))
    X.loc[::10, "c"] = np.nan

    def predict(t):
        return 100 * t["a"] + 50 * t["b"] + t["c"].fillna(-5.0) + 3 * t["d"]

    told = texts_of(paribus.explain(predict, X))
    assert told[4] == "The other 2 features move it by at most 6 (c)."
    told = texts_of(paribus.explain(predict, X.assign(d=0.0), features=list("abc")))
    assert told[4] == "The other feature moves it by at most 6 (c)."


def test_categories_are_named_at_both_ends():
    cities = pd.Categorical(np.resize(["Bern", "Basel", "Chur"], 300))
    X = pd.DataFrame({"city": cities})
    found = paribus.explain(
        lambda X: X["city"].map({"Bern": 2.0, "Basel": 1.0, "Chur": 4.0}).to_numpy(float), X
    )
    assert texts_of(found)[2] == "By city, the average prediction goes from 1 (Basel) to 4 (Chur)."


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


def test_a_lone_extreme_does_not_end_a_sentence_and_a_tail_does():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"guideline": rng.integers(0, 2, 500), "gain": np.r_[np.zeros(400), np.arange(100)]})
    X.loc[7, "guideline"] = 666
    found = paribus.explain(lambda t: 1.0 * (t["guideline"] > 0) + 0.001 * t["gain"], X)
    assert "As guideline goes from 0 to 1, the average prediction rises from 0.01 to 1.01." in texts_of(found)
    assert "As gain goes from 0 to 99, the average prediction rises from" in texts_of(found)[3]
    assert found.sentences[2].values["to"] == 1


def test_first_sentences_say_what_is_predicted_and_how_well_next_to_a_constant():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    y = pd.Series((X["a"] + rng.normal(size=300) > -1).astype(int), name="approve")
    model = LogisticRegression().fit(X, y)
    found = paribus.explain(model, X, y)
    predicted, share = model.predict_proba(X)[:, 1].mean(), y.mean()
    first, second, *_ = texts_of(found)
    assert first == (
        f"The model predicts the probability of class 1 of approve: on average {brief(predicted)}; "
        f"the share of this class in the rows is {brief(share)}."
    )
    scores = [f"{found.performance[name].constant:.3g} for a constant" for name in ("AUC", "accuracy")]
    assert re.fullmatch(rf"On these rows, AUC is .* \({scores[0]}.*accuracy is .* \({scores[1]} .*", second)
    assert found.performance["accuracy"].constant == pytest.approx(max(share, 1 - share))
    bare = paribus.explain(model, X)
    assert texts_of(bare)[:2] == [
        f"The model predicts the probability of class 1: on average {brief(predicted)}.",
        "How well it predicts is not known without y.",
    ]
    words = model.classes_ = np.array(["no", "yes"])
    named = paribus.explain(model, X, words[y])
    assert texts_of(named)[0].startswith("The model predicts the probability of yes: on average ")
    regression = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, X["a"])
    told = texts_of(paribus.explain(regression, X, X["a"].rename("income")))
    assert re.match(r"The model predicts income: on average (\S+); the average target is \1\.", told[0])
    assert re.match(r"On these rows, R² is \S+ ± \S+ \(0 for a constant .* and root mean squared", told[1])
    several = of_classes().sentences[0]
    assert several.text.startswith("The model predicts a probability for each output: 0.167 for a ")
    assert set(several.values["predicted"]) == set(of_classes().output_names)


def numbers_of(values):
    """Return all numbers in the values of a sentence."""
    entries = values.values() if isinstance(values, dict) else values
    flat = []
    for entry in entries:
        if isinstance(entry, (dict, list, tuple, np.ndarray)):
            flat += numbers_of(entry.tolist() if isinstance(entry, np.ndarray) else entry)
        elif isinstance(entry, (int, float, np.number)):
            flat.append(float(entry))
    return flat


NUMBER = r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])"


def test_every_number_in_a_sentence_is_one_of_its_values():
    checked = 0
    for explanation in (complete(), of_classes()):
        for sentence in explanation.sentences:
            known = numbers_of(sentence.values)
            names = [*explanation.feature_names, *explanation.output_names]
            text = sentence.text
            for name in sorted(names, key=len, reverse=True):
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text)
            for written in re.findall(NUMBER, text):
                number = float(written.replace(",", ""))
                last = 0.5 * 10.0 ** -len(written.partition(".")[2])  # half of the last digit
                near = [v for v in known if abs(v - number) <= max(1.01 * last, 0.005 * abs(v))]
                percent = [v for v in known if abs(100 * v - number) <= 1.01 * last]
                assert near or percent, (written, sentence)
                checked += 1
    assert checked > 20


def test_print_report_and_markdown_have_the_same_sentences():
    for found in (complete(), of_classes(), hostile()):
        page, document = page_of(found), found.to_markdown()
        for sentence in reproducible(found).sentences:
            assert escaped(sentence.text) in page
            assert f"- {plain(sentence.text)}" in document
        assert [f"  {text}" for text in texts_of(found)] == repr(found).split("\n")[
            1 : 1 + len(found.sentences)
        ]
    X = pd.DataFrame({"a": np.arange(50.0)})
    single = paribus.explain(DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, X["a"]), X)
    assert re.match("As a goes from .* to .*, the average prediction rises from ", texts_of(single)[2])


def test_sentences_agree_with_shapes():
    words = {"rising": "rises", "steps up": "rises", "falling": "falls", "steps down": "falls"}
    compared = 0
    for found in (complete(), of_classes(), hostile()):
        for sentence in found.sentences:
            shape = found.shapes.widest(str(sentence.values.get("feature")))
            if shape is not None and "heights" in sentence.values:
                compared += 1
                assert words.get(shape.name, "") in sentence.text
    assert compared == 6


def test_shown_curve_has_the_finite_heights_at_values_with_data():
    X = pd.DataFrame({"age": np.repeat([0.0, 1.0, 2.0, 3.0, np.nan], 20), "noise": np.zeros(100)})
    heights = {0.0: 1.0, 1.0: 7.0, 2.0: np.inf, 3.0: 2.0}
    found = paribus.explain(lambda X: X["age"].map(heights).fillna(9.0).to_numpy(), X)
    curve = shown_curve(found.effects["age"], found.shapes["age"])
    assert curve.values.tolist() == [0, 1, 3]
    assert curve.heights.tolist() == [1, 7, 2]
    assert (curve.at_missing, curve.reach) == (9, 8)
    support = np.array([20.0, 0.0, 20.0, 20.0])
    effect = replace(found.effects["age"], support=support, missing=None, covariance=None, quantiles=None)
    curve = shown_curve(effect, found.shapes["age"])
    assert (curve.values.tolist(), curve.heights.tolist()) == ([0, 3], [1, 2])
    assert (curve.at_missing, curve.reach) == (None, 1)


@pytest.mark.parametrize(("p_value", "text"), [(0.0003, "under 0.001"), (0.0312, "0.031"), (np.nan, "–")])
def test_chance_of_a_difference_is_brief(p_value, text):
    assert _chance(GroupDifference("age", "prediction", "a", "b", 1.0, 2.0, 0.5, p_value)) == text

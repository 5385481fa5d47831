"""Results that contradict themselves cannot be made, and say which parts do."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import paribus
from handmade import provenance
from paribus.notes import NoteCode
from paribus.results.curve_parts import ModelSpread, between
from paribus.results.performance import Metric, Performance
from paribus.results.provenance import skipped_notes


@cache
def frame():
    rng = np.random.default_rng(0)
    gap = np.where(np.arange(90) % 6 == 0, np.nan, rng.normal(size=90))
    return pd.DataFrame({"gap": gap, "x": rng.normal(size=90)})


def model(table):
    return table["gap"].fillna(5.0).to_numpy() + table["x"].to_numpy() ** 2


@cache
def effect(kind="both", features="gap", **options):
    return paribus.partial_dependence(model, frame(), features, kind=kind, **options)


@cache
def marginal():
    return paribus.marginal(model, frame(), "gap", y=model(frame()))["gap"]


@cache
def drift():
    explained = paribus.explain(model, frame())
    return explained.compare(explained)


@cache
def difference():
    parts = paribus.compare({"old": effect(), "new": effect()})
    return parts.difference(reference="old")


def contradictions():
    plain = effect("average")
    return {
        "neither": (
            plain,
            {"average": None, "standard_error": None, "missing": None},
            "neither averages nor curves",
        ),
        "weights of none": (plain, {"row_weights": np.ones(90)}, "row_weights are of curves"),
        "of several": (
            effect("average", ("gap", "x")),
            {"missing": plain.missing},
            "several features together",
        ),
        "one error": (plain, {"missing": replace(plain.missing, standard_error=None)}, "need each other"),
        "quantiles": (
            effect("both", quantiles=(0.5,)),
            {"quantiles": replace(effect("both", quantiles=(0.5,)).quantiles, missing=None)},
            "quantiles.missing and missing need each other",
        ),
        "averages": (marginal(), {"predicted_error": None}, "predicted and predicted_error need each other"),
        "no averages": (
            marginal(),
            dict.fromkeys(
                f"{name}{end}" for name in ("predicted", "observed", "residual") for end in ("", "_error")
            ),
            "no averages; pass predicted or observed",
        ),
        "sides": (drift(), {"provenances": {"old": provenance()}}, "those of 'old' and 'new'"),
        "outputs": (drift(), {"output_names": ("other",)}, "of other outputs"),
        "twice": (drift(), {"effects": (drift().effects[0],) * 2}, "of one feature twice"),
        "parts": (difference(), {"provenances": {"old": provenance()}}, "provenances are of other parts"),
        "at missing": (
            difference(),
            {"missing_error": None},
            "missing_difference and missing_error need each other",
        ),
    }


@pytest.mark.parametrize("name", contradictions())
def test_results_that_contradict_themselves_are_refused(name):
    result, changes, words = contradictions()[name]
    with pytest.raises(paribus.errors.InputError, match=words):
        replace(result, **changes)


def test_spread_is_the_standard_deviation_between_models():
    values = np.array([[[1.0, 2.0, 3.0]], [[1.0, 4.0, 3.0]]])
    spread = ModelSpread.of(("one", "two"), values, np.array([[0.0], [10.0]]), np.array([[0.8], [1.2]]))
    assert spread.standard_deviation.tolist() == [[0.0, 2**0.5, 0.0]]
    assert spread.missing_deviation == pytest.approx([50**0.5])
    assert spread.strengths.tolist() == [[0.8], [1.2]]
    assert ModelSpread.of(("one",), None) is None
    with pytest.raises(paribus.errors.InputError, match="strengths has shape"):
        ModelSpread.of(("one", "two"), values, None, np.ones((1, 1)))


def test_models_that_agree_and_lists_of_one_have_no_spread():
    assert ModelSpread.of(("one", "two"), np.ones((2, 1, 3))).standard_deviation.tolist() == [[0.0, 0.0, 0.0]]
    single = ModelSpread.of(("one",), np.ones((1, 1, 3)), np.ones((1, 1)))
    assert np.isnan(single.standard_deviation).all()
    assert np.isnan(single.missing_deviation).all()
    assert np.isnan(between(np.ones((1, 2)))).all()
    assert between(np.array([[1.0, np.inf], [3.0, 1.0]]))[0] == pytest.approx(2**0.5)


def performance():
    metrics = (
        Metric("R²", None, 0.5, 0.1, 0.0, "higher"),
        Metric("mean absolute error", "a", 2.0, 0.2, 2.5, "lower"),
        Metric("mean absolute error", "b", 3.0, 0.3, 3.5, "lower"),
    )
    return Performance(metrics, (), (NoteCode.SINGLE_ROW.note(),), provenance())


def test_metric_is_found_by_its_name_and_the_first_output_comes_first():
    found = performance()
    assert found["R²"].value == 0.5
    assert found["mean absolute error"].output == "a"
    assert list(found) == list(found.keys()) == ["R²", "mean absolute error"]
    assert [metric.value for metric in found.values()] == [0.5, 2.0]
    assert len(found) == 2
    assert "R²" in found
    assert "AUC" not in found
    assert found.get("AUC") is None
    with pytest.raises(
        KeyError, match=r"there is no metric 'mean absolute eror'.*did you mean 'mean absolute error'"
    ):
        found["mean absolute eror"]
    table = found.to_frame()
    assert table["value"].tolist() == [0.5, 2.0, 3.0]
    assert table["constant"].tolist() == [0.0, 2.5, 3.5]
    assert table["better"].tolist() == ["higher", "lower", "lower"]
    assert found.output_names == ()


@pytest.mark.parametrize(
    ("facts", "texts"),
    [
        ({}, []),
        ({"skipped": ("a.parquet: damaged",)}, ["skipped 1 file: a.parquet: damaged"]),
        ({"skipped": tuple("abcde")}, ["skipped 5 files: a, b, c and 2 more"]),
        (
            {"unused_columns": ("id",)},
            ["ignored 1 column of X that the model was not fitted on: id"],
        ),
        (
            {"unused_columns": ("id", "w")},
            ["ignored 2 columns of X that the model was not fitted on: id, w"],
        ),
        ({"unknown_categories": ("city: Chur",)}, ["X has categories that the model does not know"]),
    ],
)
def test_notes_say_what_was_left_out(facts, texts):
    notes = skipped_notes(provenance(**facts))
    assert len(notes) == len(texts)
    for note, text in zip(notes, texts, strict=True):
        assert str(note).startswith(text)

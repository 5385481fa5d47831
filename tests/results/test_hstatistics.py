"""What came out of interactions and importance: keys, rankings, tables, files, text."""

import copy
import json
import pickle
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import paribus
from handmade import importance, provenance, statistics
from paribus.results import Interaction
from paribus.results.storage import _digest

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.fixture
def found():
    """Three features, one output; the pair of a and c is exactly zero."""
    return statistics(["a", "b", "c"], [0.04, 0.0, 1.0], triples=[0.25])


@pytest.fixture
def two():
    """Positions instead of names, two outputs."""
    return statistics([3, 5, 7], [[0.04, 4.0], [0.0, 0.25], [1.0, 0.0]], outputs=("no", "yes"))


def columns(frame):
    return frame.column_names if isinstance(frame, pa.Table) else list(frame.columns)


def column(frame, name):
    return frame[name].to_pylist() if isinstance(frame, pa.Table) else list(frame[name])


def test_keys_and_attributes_are_the_same(found):
    assert found["feature_pairs"] == found.feature_pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["feature_triples"] == [("a", "b", "c")]
    for key in found:
        mine, theirs = found[key], getattr(found, key)
        same = np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
        assert same or key == "main_effect"
    assert len(found) == len(list(found)) == len(dict(found)) == 2 + 4 * 6 + 7
    np.testing.assert_array_equal(found["h_squared_pairwise"], [0.01, 0.0, 0.25])
    np.testing.assert_array_equal(found.strength_pairwise, [0.2, 0.0, 1.0])
    np.testing.assert_allclose(found.standard_error_h_squared_pairwise, [0.0005, 0.0, 0.0125])
    # An error of 0.1 on 1 is one of 0.05 on its root; a strength that is exactly zero has no error.
    np.testing.assert_allclose(found.standard_error_strength_pairwise, [0.01, 0.0, 0.05])


def test_two_or_three_features_are_a_key(found, two):
    by_features = {entry.features: entry for entry in found.strongest(None)}
    assert found["b", "c"] == found["c", "b"] == found.interaction("c", "b") == by_features["b", "c"]
    assert found["b", "c"].strength == found["strength_pairwise"][2]
    assert found["b", "c"].standard_error_h_squared == found["standard_error_h_squared_pairwise"][2]
    assert found["c", "a", "b"] == found.strongest(1, statistic="threeway")[0]
    assert ("c", "a") in found
    assert ("a", "d") not in found
    assert ("a",) not in found
    names = dict(zip(two.features, two.feature_names, strict=True))
    assert two.interaction(7, 3, output="no") == two.interaction(names[3], names[7], output=0)
    assert two.interaction(5, 7, output="no").strength == two["strength_pairwise"][2, 0]


def test_features_that_are_no_key_are_refused(found, two):
    with pytest.raises(KeyError, match="'d' is not one of the features; known: 'a', 'b', 'c'"):
        found["a", "d"]
    with pytest.raises(KeyError, match="a x a was not computed"):
        found["a", "a"]
    with pytest.raises(KeyError, match="3 x 5 x 7 was not computed; it needs threeway="):
        two[3, 5, 7]
    with pytest.raises(paribus.errors.OptionError, match=r"2 or 3 features; 1 were given: \('a',\)"):
        found[("a",)]
    with pytest.raises(
        paribus.errors.OptionError, match=r"2 outputs; choose one: interaction\(3, 5, output='no'\)"
    ):
        two[3, 5]


def test_the_total_is_a_number(found, two):
    assert found.h_squared_total == found["h_squared_total"] == 0.25
    assert isinstance(found["strength_total"], float)
    np.testing.assert_array_equal(two.h_squared_total, [0.25, 0.25])
    assert two.strength_pairwise.shape == (3, 2)


def test_what_was_not_computed_has_no_key(two):
    assert "feature_triples" not in two
    assert "h_squared_threeway" not in two
    assert two.get("h_squared_threeway") is None
    with pytest.raises(KeyError, match="was not computed"):
        two["h_squared_threeway"]
    with pytest.raises(KeyError, match="did you mean 'h_squared_pairwise'"):
        two["h_squared_pairwis"]
    with pytest.raises(KeyError):
        two[0]
    for name in ("strength_threeway", "nothing", "_pairwise", "h_squared"):
        with pytest.raises(AttributeError):
            getattr(two, name)
    with pytest.raises(paribus.errors.OptionError, match="there are pairwise, overall, total"):
        two.ratio("threeway")
    with pytest.raises(paribus.errors.OptionError, match="'pairwise', 'overall'"):
        two.ratio("pairs")


def test_arrays_are_frozen(two):
    arrays = [value for value in two.values() if isinstance(value, np.ndarray)]
    arrays += [two.main_effect.numerator, two.strength_overall]
    assert len(arrays) == 3 * 6 + 3
    importances = importance(["a", "b"], [1.0, 2.0], kind="permutation")
    for array in (*arrays, importances.values, importances.standard_error, importances.repeats):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        two.pairs = ()
    with pytest.raises(AttributeError):
        importances.values = None


def test_results_travel_between_processes(found):
    assert pickle.loads(pickle.dumps(found)) == found
    assert copy.deepcopy(found) == found


def test_the_strongest_come_first(found, two):
    first = found.strongest(1)[0]
    assert first == Interaction(
        ("b", "c"), "prediction", 1.0, pytest.approx(0.05), 0.25, pytest.approx(0.0125)
    )
    assert [entry.features for entry in found.strongest(None)] == [("b", "c"), ("a", "b"), ("a", "c")]
    assert [(entry.features, entry.output) for entry in two.strongest(3)] == [
        ((3, 5), "yes"),
        ((5, 7), "no"),
        ((3, 7), "yes"),
    ]
    assert {entry.output for entry in two.strongest(None, output="no")} == {"no"}
    assert two.strongest(1, output=0) == two.strongest(1, output="no")
    assert [entry.features for entry in found.strongest(statistic="threeway")] == [("a", "b", "c")]
    assert [entry.features for entry in found.strongest(statistic="overall")] == [("a",), ("b",), ("c",)]
    with pytest.raises(paribus.errors.OptionError, match="did you mean 'yes'"):
        two.strongest(output="yess")


@pytest.mark.parametrize("backend", LIBRARIES)
def test_interactions_become_a_long_table(found, backend):
    frame = found.to_frame(backend=backend)
    assert isinstance(frame, LIBRARIES[backend])
    assert columns(frame) == [
        "statistic",
        "feature",
        "feature_2",
        "feature_3",
        "output",
        "strength",
        "standard_error",
        "h_squared",
        "standard_error_h_squared",
        "numerator",
        "denominator",
    ]
    assert column(frame, "statistic") == ["pairwise"] * 3 + ["overall"] * 3 + ["threeway", "total"]
    assert column(frame, "feature")[:3] == ["b", "a", "a"]
    assert column(frame, "feature_2")[:3] == ["c", "b", "c"]
    assert column(frame, "feature_3")[6] == "c"
    assert column(frame, "strength") == [1.0, 0.2, 0.0, 3.0, 3.0, 3.0, 0.5, 5.0]
    assert column(frame, "h_squared")[-1] == 0.25
    assert pd.isna(column(frame, "feature")[-1])  # the total is of all features
    assert column(found.to_frame("pairwise", sort=False, backend=backend), "strength") == [0.2, 0.0, 1.0]
    assert column(found.to_frame("pairwise", zeros=False, backend=backend), "strength") == [1.0, 0.2]


@pytest.mark.parametrize("backend", LIBRARIES)
def test_a_table_without_entries_keeps_its_types(backend):
    zero = statistics(["a", "b"], [0.0])
    empty = zero.to_frame("pairwise", zeros=False, backend=backend)
    assert len(empty) == 0
    if backend == "polars":
        assert empty.schema == zero.to_frame(backend=backend).schema
    if backend == "pyarrow":
        assert empty.schema.types == [pa.string()] * 5 + [pa.float64()] * 6


def test_a_table_tells_outputs_apart_and_is_of_the_users_library(two):
    frame = two.to_frame("pairwise")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["output"]) == ["yes", "no", "yes", "no", "no", "yes"]
    assert list(frame["feature"])[:2] == ["3", "5"]
    assert list(two.to_frame("pairwise", sort=False)["strength"]) == [0.2, 2.0, 0.0, 0.5, 1.0, 0.0]
    of_polars = statistics(["a", "b"], [1.0], backend="polars")
    assert isinstance(of_polars.to_frame(), pl.DataFrame)
    with pytest.raises(paribus.errors.OptionError, match="not computed"):
        two.to_frame("threeway")
    with pytest.raises(paribus.errors.OptionError, match="backend"):
        two.to_frame(backend="excel")


@pytest.mark.parametrize("backend", LIBRARIES)
def test_importance_becomes_a_table(backend):
    one = importance(["a", ("b", "c"), 4], [1.0, 3.0, 2.0])
    frame = one.to_frame(backend=backend)
    assert isinstance(frame, LIBRARIES[backend])
    assert columns(frame) == [
        "feature",
        "importance",
        "standard_error",
        "with_interactions",
        "standard_error_with_interactions",
    ]
    assert column(frame, "feature") == ["b + c", "4", "a"]
    assert column(frame, "importance") == [3.0, 2.0, 1.0]
    assert column(frame, "with_interactions") == [6.0, 4.0, 2.0]
    several = importance(["a", "b"], [[1.0, 2.0], [4.0, 0.0]], outputs=("no", "yes")).to_frame(
        backend=backend
    )
    assert columns(several)[:3] == ["feature", "output", "importance"]
    assert column(several, "feature") == ["b", "b", "a", "a"]
    assert column(several, "output") == ["no", "yes"] * 2
    assert column(several, "importance") == [4.0, 0.0, 1.0, 2.0]
    permuted = importance(["a"], [-1.0], kind="permutation").to_frame(backend=backend)
    assert columns(permuted) == ["feature", "importance", "standard_error"]


def test_the_story_of_interactions(found, two):
    assert repr(found).splitlines() == [
        "HStatistics of Forest: 3 pairs of 3 features, strongest first (prediction)",
        "  total H² 0.25 ± 0.013",
        "  feature  with  strength    H²",
        "  b        c     1 ± 0.05    0.25 ± 0.013",
        "  a        b     0.2 ± 0.01  0.01 ± 0.0005",
        "  1 pair is exactly zero",
        "  feature  with  and  strength     H²",
        "  a        b     c    0.5 ± 0.025  0.0625 ± 0.0031",
        "  averaged over 20,000 rows (unweighted)",
        "  sums over leaves (0.5 s)",
        "  note: a single row has neither effects nor standard errors",
    ]
    assert ["3", "5", "yes", "2", "±", "0.1"] in [line.split()[:6] for line in repr(two).splitlines()]
    assert "  total H² 0.25 ± 0.013 on no, 0.25 ± 0.013 on yes" in repr(two).splitlines()
    assert "exactly zero" not in repr(two)  # no pair is zero on both outputs
    many = statistics("abcde", np.arange(1.0, 11), sampled_rows=500, seed=7, standard_error_rows=100)
    lines = repr(many).splitlines()
    assert lines[3].split()[:2] == ["d", "e"]
    assert lines[8] == "  and 5 more"
    assert lines[9] == (
        "  averaged over 500 of 20,000 rows, sampled with seed 7 (unweighted); standard errors from 100 of them"
    )
    classes = statistics("ab", [[1.0] * 5], outputs=tuple("vwxyz"))
    assert repr(classes).splitlines()[1].endswith("on x and 2 more outputs")


def test_the_story_of_importance():
    effect = importance("abcdef", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert repr(effect).splitlines() == [
        "Importance of 6 features for Forest by effect: loss in $, most important first",
        "  feature  importance  with interactions",
        "  f        6 ± 0.6     12 ± 1.2",
        "  e        5 ± 0.5     10 ± 1",
        "  d        4 ± 0.4     8 ± 0.8",
        "  c        3 ± 0.3     6 ± 0.6",
        "  b        2 ± 0.2     4 ± 0.4",
        "  a        1 ± 0.1     2 ± 0.2",
        "  averaged over 20,000 rows (unweighted)",
        "  sums over leaves (0.5 s)",
        "  note: a single row has neither effects nor standard errors",
    ]
    assert repr(importance("abcdefg", [*range(7)])).splitlines()[7] == "  and 2 more"
    own = repr(importance("ab", [1.0, 2.0], kind="model", estimand=paribus.results.Estimand.TRAINING))
    assert "  b        2\n  a        1\n  sums over leaves" in own  # no error, and over no rows of ours
    outputs = repr(importance("a", [[1.0, 2.0, 3.0, 4.0]], outputs=tuple("wxyz")))
    assert "by effect, 4 outputs: " in outputs
    assert "  a        w       1 ± 0.1" in outputs
    assert "  a        z       4 ± 0.4" in outputs


EVERY = [
    statistics(["a", 1, "c"], [0.1, 0.0, 1 / 3], triples=[1e-300], percentiles=(0.1, 0.9)),
    statistics(
        [0, 1],
        [[np.nan, 5e-324]],
        outputs=("p", "q"),
        sampled_rows=5,
        seed=1,
        verified_difference=float("nan"),
    ),
    importance(["a", ("b", 2), 3], [0.1, -0.0, np.inf]),
    importance(["a", ("b",)], [[0.1, 0.2], [1 / 3, 1.0]], outputs=("p", "q")),
    importance([0, 1], [0.1, 0.7], kind="permutation"),
    importance([0, 1], [0.1, 0.7], kind="model"),
]


@pytest.mark.parametrize("result", EVERY, ids=lambda result: type(result).__name__)
def test_every_bit_survives_saving(result, tmp_path):
    result.save(tmp_path / "r.json")
    again = paribus.load(tmp_path / "r.json")
    assert type(again) is type(result)
    assert repr(again) == repr(result)
    assert again.features == result.features
    assert [type(feature) for feature in again.features] == [type(feature) for feature in result.features]
    assert again == result
    for name in ("sampled_rows", "seed", "percentiles", "refusals"):
        assert getattr(again.provenance, name) == getattr(result.provenance, name)
    assert type(again.provenance.verified_difference) is type(result.provenance.verified_difference)


def test_arrays_and_tuples_come_back_as_they_were(tmp_path):
    found = statistics(["a", "b", "c"], [0.1, -0.0, 1 / 3], triples=[0.3])
    found.save(tmp_path / "r.json")
    again = paribus.load(tmp_path / "r.json")
    for statistic in ("main_effect", "pairwise", "overall", "threeway", "total"):
        for part in ("numerator", "denominator", "numerator_error", "ratio_error"):
            mine, theirs = (getattr(getattr(result, statistic), part) for result in (found, again))
            assert (mine.tobytes(), mine.shape) == (theirs.tobytes(), theirs.shape)
            assert not theirs.flags.writeable
    assert (again.pairs, again.triples, again.notes) == (found.pairs, found.triples, found.notes)
    assert again.feature_pairs == found.feature_pairs
    importances = importance([("a", 1), "b"], [0.1, -0.0], kind="permutation")
    importances.save(tmp_path / "r.json")
    again = paribus.load(tmp_path / "r.json")
    assert again.features == (("a", 1), "b")
    assert again.values.tobytes() == importances.values.tobytes()
    assert again.repeats.tobytes() == importances.repeats.tobytes()


def test_equal_is_equal_in_everything(found):
    assert found == statistics(["a", "b", "c"], [0.04, 0.0, 1.0], triples=[0.25])
    assert found != statistics(["a", "b", "c"], [0.04, 0.0, 1.0])
    assert found != statistics(["a", "b", "c"], [0.04, 0.0, np.nextafter(1.0, 2)], triples=[0.25])
    assert found != statistics(["a", "b", "c"], [0.04, 0.0, 1.0], triples=[0.25], seconds=0.6)
    assert found != dict(found)
    assert importance(["a"], [1.0]) == importance(["a"], [1.0])
    assert importance(["a"], [1.0]) != importance([("a",)], [1.0])
    assert importance([1], [1.0]) != importance(["1"], [1.0])
    with pytest.raises(TypeError):
        hash(found)


def array(*shape):
    return {"dtype": "<f8", "shape": list(shape), "values": [1.0] * int(np.prod(shape))}


def mean_squares(**changes):
    parts = ("numerator", "denominator", "numerator_error", "ratio_error")
    return {**{part: array(3, 1) for part in parts}, **changes}


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"feature_names": ["a", "b"]},
        {"output_names": ["p", "q"]},
        {"variance": array(2)},
        {"variance": None},
        {"main_effect": mean_squares(numerator=array(2, 1))},
        {"main_effect": None},
        {"pairwise": None},
        {"pairwise": mean_squares(ratio_error=array(3, 2))},
        {"pairwise": mean_squares(denominator={**array(3, 1), "dtype": "<f4"})},
        {"pairwise": {"numerator": array(3, 1)}},
        {"overall": mean_squares(numerator_error=array(3))},
        {"pairs": [[0, 1], [0, 2]]},
        {"pairs": [[0, 1], [0, 2], [1, 3]]},
        {"pairs": [[0, 1], [0, 2], [1, -1]]},
        {"pairs": [[0, 1], [0, 2], [1, 2.0]]},
        {"pairs": [[0, 1], [0, 2], [1]]},
        {"triples": [[0, 1]]},
        {"triples": []},
        {"threeway": None},
        {"total": mean_squares()},
        {"provenance": {"rows": 1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_damaged_statistics_are_refused(found, tmp_path, change):
    refuse(found, change, tmp_path / "r.json")


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"features": ["a"]},
        {"feature_names": ["a"]},
        {"output_names": ["p", "q"]},
        {"values": array(2, 1)},
        {"values": None},
        {"standard_error": array(3)},
        {"with_interactions": array(1)},
        {"standard_error_with_interactions": array(2, 2)},
        {"repeats": array(3, 5)},
        {"repeats": array(2)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_damaged_importances_are_refused(tmp_path, change):
    refuse(importance(["a", "b"], [1.0, 2.0]), change, tmp_path / "r.json")


def refuse(result, change, path):
    result.save(path)
    document = json.loads(path.read_text())
    body = {**document["result"], **change}
    path.write_text(json.dumps({**document, "result": body, "digest": _digest(body)}))
    with pytest.raises(paribus.errors.FormatError, match="is damaged: "):
        paribus.load(path)


def test_the_story_of_many_pairs_takes_no_time():
    features = range(500)
    pairs = np.random.default_rng(0).random(124_750)
    pairs[::2] = 0.0
    found = statistics(features, pairs)
    before = time.process_time()
    text = repr(found)
    assert time.process_time() - before < 1
    assert "and 62,370 more" in text
    assert "62,375 pairs are exactly zero" in text
    before = time.perf_counter()
    assert len(found.strongest(None)) == 124_750
    assert found.figure("bars").panels
    assert found.figure("heatmap").panels
    assert time.perf_counter() - before < 20


def test_a_changed_number_is_noticed(found, tmp_path):
    found.save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    document["result"]["pairwise"]["numerator"]["values"][0] += 1e-12
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(paribus.errors.FormatError, match="changed after it was saved"):
        paribus.load(tmp_path / "r.json")


def test_the_most_important_come_first():
    assert importance("abc", [0.0, -3.0, 2.0], kind="permutation").order == [2, 0, 1]
    several = importance("abc", [[3.0, 3.0], [0.0, 5.0], [1.0, 1.0]], outputs=("p", "q"))
    assert several.order == [1, 0, 2]


def test_provenance_says_which_rows_were_drawn():
    drawn = provenance(sampled_rows=500, seed=3).background()
    assert drawn == "500 of 20,000 rows, sampled with seed 3 (unweighted)"


def test_ratio_stays_frozen_when_it_is_copied_and_replaced():
    ratio = statistics(["a", "b", "c"], [0.04, 0.0, 1.0]).pairwise
    for one in (ratio, copy.deepcopy(ratio), copy.copy(ratio), pickle.loads(pickle.dumps(ratio))):
        assert one.share[:, 0].tolist() == [0.01, 0.0, 0.25]
        assert one.strength[:, 0].tolist() == [0.2, 0.0, 1.0]
        np.testing.assert_allclose(one.strength_error[:, 0], [0.01, 0.0, 0.05])
        for name in ("numerator", "denominator", "numerator_error", "ratio_error", "share", "strength"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, name)[0] = 7.0
    other = type(ratio)(*(np.full((1, 1), value) for value in (9.0, 16.0, 0.5, 0.25)))
    mixed = ratio.replaced(np.array([1]), other)
    assert mixed.numerator[:, 0].tolist() == [0.04, 9.0, 1.0]
    assert mixed.denominator[:, 0].tolist() == [4.0, 16.0, 4.0]
    assert (mixed.numerator_error[1, 0], mixed.ratio_error[1, 0]) == (0.5, 0.25)
    empty = type(ratio)(*(np.array([[value]]) for value in (0.0, 0.0, 0.0, 0.0)))
    lost = type(ratio)(*(np.array([[value]]) for value in (1.0, 0.0, 0.0, 0.0)))
    assert empty.share.tolist() == [[0.0]]
    assert np.isnan(lost.share).all()
    averaged = type(ratio)(
        ratio.numerator, ratio.denominator, ratio.numerator_error, ratio.ratio_error, lost.share
    )
    assert averaged.share is lost.share


def test_keys_of_statistics_are_those_it_has(found, two):
    for one in (found, two):
        keys = list(one)
        assert len(one) == len(keys) == len(set(keys))
        for key in keys:
            assert key in one
            one[key]
        assert "nobody" not in one
        assert 3 not in one
        with pytest.raises(KeyError):
            one["nobody"]
    assert "feature_triples" in found
    assert "feature_triples" not in two
    assert ("a", "b") in found
    assert ("a", "z") not in found


def test_constant_prediction_has_nothing_to_explain():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = paribus.h_statistic(lambda t: np.ones(len(t)), X)
    assert [note.code for note in found.notes].count(paribus.notes.NoteCode.CONSTANT_PREDICTION) == 1
    varied = paribus.h_statistic(lambda t: t[:, 0] * t[:, 1], X)
    assert paribus.notes.NoteCode.CONSTANT_PREDICTION not in [note.code for note in varied.notes]


def test_notes_on_a_subsample_name_the_statistic():
    X = np.random.default_rng(0).normal(size=(60, 2))
    predict = lambda t: t[:, 0] * t[:, 1]  # noqa: E731
    for function in (paribus.feature_importance, paribus.h_statistic):
        notes = function(predict, X, subsample=20).notes
        (note,) = (note for note in notes if note.code is paribus.notes.NoteCode.ROWS_SAMPLED)
        assert note == "interactions used 20 rows of 60; errors include that of subsampling"


def test_outputs_that_are_not_there_are_refused(found):
    with pytest.raises(paribus.errors.OptionError, match="output=5 is not one of the outputs 0 to 0"):
        found.strongest(1, output=5)
    with pytest.raises(paribus.errors.OptionError, match="output=-1 is not one of the outputs"):
        found.strongest(1, output=-1)

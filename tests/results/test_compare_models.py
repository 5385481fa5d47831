"""Several models, or slices of the data, on one axis."""

import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import paribus
from paribus._display.figure import Line, Points, Rule
from paribus.notes import NoteCode


def steep(table):
    return 3 * table["age"].to_numpy() + table["city"].eq("Ulm").to_numpy()


def flat(table):
    return 0.5 * table["age"].to_numpy() + 9 * table["city"].eq("Ulm").to_numpy()


@pytest.fixture
def frame(rng):
    table = pd.DataFrame({"age": rng.normal(50, 9, 120), "city": rng.choice(["Ulm", "Bonn", "Kiel"], 120)})
    table["other"] = rng.normal(size=120)
    return table


def of_both(verb, frame, features, **options):
    return {model.__name__: verb(model, frame, features, **options) for model in (steep, flat)}


def one_of_each(frame):
    """Return the three types of results of one feature, by two models each."""
    y = frame["age"].to_numpy()
    effects = {k: v["age"] for k, v in of_both(paribus.effects, frame, ["age"], grid_resolution=5).items()}
    local = {k: v["age"] for k, v in of_both(paribus.accumulated_local_effects, frame, ["age"]).items()}
    near = {k: v["age"] for k, v in of_both(paribus.marginal, frame, ["age"], y=y).items()}
    return effects, local, near


def test_an_overlay_keeps_its_parts_and_speaks_for_them(frame):
    for parts in one_of_each(frame):
        found = paribus.compare(parts)
        assert isinstance(found, paribus.results.Comparison)
        assert not found.several_estimands
        assert list(found.parts) == ["steep", "flat"]
        assert all(found.parts[name] is part for name, part in parts.items())
        assert found.feature_names == ("age",)
        assert found.output_names == parts["flat"].output_names
        assert found.strength == parts["steep"].strength > parts["flat"].strength
        assert found.provenance is parts["steep"].provenance
        assert paribus.compare(dict(reversed(parts.items()))).strength == found.strength
        told = repr(found)
        assert told.startswith(f"Comparison of 2 parts on age: {type(parts['flat']).__name__}, 1 output (")
        assert "\n  steep: " in told
        assert "\n  flat: " in told


def test_slices_may_have_grids_of_their_own(frame):
    young, old = frame[frame["age"] < 50], frame[frame["age"] >= 50]
    parts = {
        k: paribus.partial_dependence(steep, rows, "age") for k, rows in {"young": young, "old": old}.items()
    }
    found = paribus.compare(parts)
    assert found.parts["young"].grid_values[0].max() < found.parts["old"].grid_values[0].min()
    table = found.to_frame()
    for name, part in parts.items():
        own = table[table["part"] == name]
        np.testing.assert_array_equal(own["age"], part.grid_values[0])
        np.testing.assert_array_equal(own["average"], part.average[0])
        np.testing.assert_array_equal(own["support"], part.support)


def test_notes_are_told_once_with_the_names_they_belong_to(frame):
    parts = of_both(paribus.partial_dependence, frame, "age") | {
        "again": paribus.partial_dependence(steep, frame, "age")
    }
    texts = {"steep": ("all", "some", "some"), "flat": ("own", "all"), "again": ("some", "all")}
    notes = {
        name: tuple(
            NoteCode.FEATURE_SKIPPED.note(reason=text, feature="age", share=0.5) for text in texts[name]
        )
        for name in texts
    }
    parts = {name: dataclasses.replace(part, notes=notes[name]) for name, part in parts.items()}
    found = paribus.compare(parts)
    assert found.notes == ("all", "steep, again: some", "flat: own")
    assert {(note.code, note.feature, note.value) for note in found.notes} == {("PAR113", "age", 0.5)}
    assert repr(found).count("note: ") == 3


def test_a_strength_that_is_not_known_does_not_hide_another(frame):
    parts = {name: effects["age"] for name, effects in of_both(paribus.effects, frame, ["age"]).items()}
    nan = {name: dataclasses.replace(part, strengths=np.full(1, np.nan)) for name, part in parts.items()}
    assert paribus.compare({"a": nan["steep"], "b": parts["flat"]}).strength == parts["flat"].strength
    assert np.isnan(paribus.compare(nan).strength)


def test_many_features_are_laid_over_each_other_strongest_first(frame):
    several = {
        "steep": paribus.effects(steep, frame, ["age", "city", "other", ("age", "city")], grid_resolution=4),
        "flat": paribus.effects(flat, frame, ["city", "age", ("age", "city")], grid_resolution=4),
    }
    found = paribus.compare(several)
    assert isinstance(found, paribus.results.Effects)
    assert list(found) == ["age", "city"]
    assert list(found["city"].parts) == ["steep", "flat"]
    assert found["age"].strength > found["city"].strength == several["flat"]["city"].strength
    assert found.skipped == ("other is not in flat",)
    assert "other is not in flat" in found.notes
    told = repr(found).splitlines()
    assert told[0] == "Effects (compared) of steep, flat: 2 features, strongest first (prediction)"
    assert told[1].split() == ["feature", "steep", "flat"]
    assert told[2].split()[0] == "age"
    assert told[-1] == "  skipped: other is not in flat"
    for verb, kind in ((paribus.accumulated_local_effects, "ale"), (paribus.marginal, "predicted")):
        found = paribus.compare(of_both(verb, frame, ["age", "city"]))
        assert set(found) == {"age", "city"}
        assert kind in found["city"].parts["flat"]
        assert {"part", "feature", "value", "number", "output", kind} <= set(found.to_frame().columns)


def test_the_long_table_is_that_of_the_parts(frame):
    for parts in one_of_each(frame):
        table = paribus.compare(parts).to_frame()
        assert table.columns[0] == "part"
        for name, part in parts.items():
            own = table[table["part"] == name].drop(columns="part").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, part.to_frame())


def test_the_long_table_of_many_features_is_that_of_the_parts(frame):
    several = of_both(paribus.effects, frame, ["age", "city"], grid_resolution=4)
    table = paribus.compare(several).to_frame()
    assert list(table.columns[:5]) == ["part", "feature", "value", "number", "output"]
    for name, effects in several.items():
        own = table[table["part"] == name].drop(columns="part")
        want = effects.to_frame().set_index(["feature", "value"]).sort_index()
        pd.testing.assert_frame_equal(own.set_index(["feature", "value"]).sort_index(), want)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_long_table_is_of_the_users_library_whatever_the_axis(library, rng):
    columns = {
        "part": rng.normal(size=40),
        "text": rng.choice(["a", "b"], 40).tolist(),
        "flag": [True, False] * 20,
        "whole": list(range(40)),
        "day": np.arange("2026-01-01", "2026-02-10", dtype="M8[D]").astype("M8[ms]"),
        "gap": [None, *np.arange(39.0)],
    }

    def constant(table):
        return np.zeros(len(table))

    table = library(columns)
    several = {
        name: paribus.effects(constant, table, list(columns), grid_resolution=3) for name in ("a", "b")
    }
    found = paribus.compare(several)
    kind = type(table)
    for name, overlay in found.items():
        frame = overlay.to_frame()
        assert isinstance(frame, kind)
        missing = overlay.parts["a"].missing is not None
        assert missing == (name == "gap")
        assert len(frame) == 2 * (len(overlay.parts["a"].grid_values[0]) + missing)
        names = frame.column_names if kind is pa.Table else list(frame.columns)
        assert names[:3] == ["part", "output", "part (feature)" if name == "part" else name]
        for backend in ("pandas", "polars", "pyarrow"):
            assert len(overlay.to_frame(backend=backend)) == len(frame)
    assert isinstance(found.to_frame(), kind)


def test_what_one_part_lacks_is_empty_and_levels_of_several_types_are_text(frame):
    plain = paribus.partial_dependence(flat, frame, "age", grid_resolution=4)
    rich = paribus.partial_dependence([steep, flat], frame, "age", grid_resolution=3)
    table = paribus.compare({"one": plain, "two": rich}).to_frame()
    assert table["between_models"].isna().tolist() == [True] * 4 + [False] * 3

    def constant(rows):
        return np.zeros(len(rows))

    texts = pd.DataFrame({"c": ["1", "2", "2"]})
    whole = pd.DataFrame({"c": pd.Categorical([1, 2, 3])})
    parts = {k: paribus.partial_dependence(constant, v, "c") for k, v in {"a": texts, "b": whole}.items()}
    assert paribus.compare(parts).to_frame()["c"].tolist() == ["2", "1", "1", "2", "3"]


def refused(parts, words):
    with pytest.raises(paribus.errors.InputError, match=words):
        paribus.compare(parts)


def test_what_does_not_belong_on_one_axis_is_refused_by_name(frame):
    age = paribus.partial_dependence(steep, frame, "age", grid_resolution=4)
    _, local, near = one_of_each(frame)
    refused(
        {"a": age, "b": local["steep"]},
        r"'b' is of another type \(AccumulatedLocalEffect\) than 'a' \(PartialDepend",
    )
    other = paribus.partial_dependence(steep, frame, "other", grid_resolution=4)
    refused({"a": age, "b": age, "c": other}, r"'c' is about another feature \(other\) than 'a' \(age\)")
    odd = dataclasses.replace(age.provenance, scale="log odds")
    refused({"a": age, "b": dataclasses.replace(age, provenance=odd)}, r"another scale \(log odds\) than 'a'")
    refused({"a": age, "b": dataclasses.replace(age, output_names=("up",))}, r"other outputs \(up\)")
    ages = paribus.partial_dependence(steep, frame, "age", categorical_features=["age"])
    refused({"a": age, "b": ages}, r"another kind of axis \(categories\) than 'a' \(numbers\)")
    plain = paribus.marginal(steep, frame, ["age"])["age"]
    refused(
        {"a": near["steep"], "b": plain}, r"something else \(predicted\) than 'a' \(predicted and observed\)"
    )
    days = pd.DataFrame({"age": np.arange("2026-01", "2026-05", dtype="M8[M]").astype("M8[ms]")})
    dated = paribus.partial_dependence(lambda rows: np.zeros(len(rows)), days, "age")
    refused({"a": age, "b": dated}, r"another kind of axis \(dates\)")


def test_what_is_no_overlay_at_all_is_refused(frame):
    age = paribus.partial_dependence(steep, frame, "age", grid_resolution=4)
    refused({"a": age}, "two results at least; there are 1")
    refused({}, "two results at least; there are 0")
    refused([age, age], "results such as PartialDependence, not a list")
    refused({2019: age, 2020: age}, "names that are text; 2019 is not")
    refused({"a": age, "b": 3}, "'b' is not one")
    pair = paribus.partial_dependence(steep, frame, ["age", "other"], grid_resolution=3)
    refused(
        {"a": pair, "b": pair}, "'a' must be the average of a single feature, not an average of age x other"
    )
    curves = paribus.partial_dependence(steep, frame, "age", grid_resolution=3, kind="individual")
    refused({"a": age, "b": curves}, "'b' must be .* not individual curves of age; request")
    several = {name: paribus.effects(steep, frame, [name], grid_resolution=3) for name in ("age", "other")}
    refused(several, "that all of 'age', 'other' have")


def test_overlays_travel(frame, tmp_path):
    for place, parts in enumerate(one_of_each(frame)):
        found = paribus.compare(parts)
        assert pickle.loads(pickle.dumps(found)) == found
        found.save(tmp_path / f"{place}.json")
        again = paribus.load(tmp_path / f"{place}.json")
        assert again == found
        assert list(again.parts) == list(found.parts)
        assert found != paribus.compare(dict(reversed(parts.items())))
        assert found.to_frame()["age"].dtype.kind == "f"
        document = json.loads((tmp_path / f"{place}.json").read_text())
        (tmp_path / "indented.json").write_text(json.dumps(document, indent=1))
        assert paribus.load(tmp_path / "indented.json") == found
        (tmp_path / "sorted.json").write_text(json.dumps(document, sort_keys=True))  # "flat" before "steep"
        with pytest.raises(paribus.errors.FormatError, match="changed after it was saved"):
            paribus.load(tmp_path / "sorted.json")


# --- differences


def test_a_difference_is_one_part_less_another_at_the_values_of_both(frame):
    parts = of_both(paribus.partial_dependence, frame, "age", grid_resolution=5)
    overlay = paribus.compare(parts)
    found = overlay.difference()
    assert (found.part, found.reference, found.curve) == ("flat", "steep", "average")
    np.testing.assert_array_equal(found.grid_values[0], parts["flat"].grid_values[0])
    np.testing.assert_array_equal(found.difference, parts["flat"].average - parts["steep"].average)
    other = overlay.difference(reference="flat")
    np.testing.assert_array_equal(other.difference, -found.difference)
    assert overlay.difference("steep") == other
    assert found.strength == np.abs(found.difference).max()
    assert found["difference"] is found.difference
    with pytest.raises(ValueError, match="read-only"):
        found.difference[0, 0] = 1.0


def test_errors_of_the_same_rows_are_exact_with_their_curves_and_else_a_bound(frame):
    weights = np.arange(len(frame)) + 1.0
    options = {"grid_resolution": 5, "sample_weight": weights}
    exact = of_both(paribus.partial_dependence, frame, "age", kind="both", **options)
    plain = of_both(paribus.partial_dependence, frame, "age", **options)
    apart = paribus.partial_dependence(lambda t: flat(t) - steep(t), frame, "age", **options)
    found = paribus.compare(exact).difference()
    assert found.errors == "row by row"
    np.testing.assert_allclose(found.difference, apart.average)
    np.testing.assert_allclose(found.standard_error, apart.standard_error)
    bound = paribus.compare(plain).difference()
    assert bound.errors == "upper bound"
    np.testing.assert_array_equal(
        bound.standard_error, plain["flat"].standard_error + plain["steep"].standard_error
    )
    assert (bound.standard_error >= found.standard_error).all()
    assert "an upper bound; kind='both' gives the exact ones" in repr(bound)
    assert "same rows" in repr(found)
    for parts in (exact, plain):
        with pytest.raises(paribus.errors.OptionError, match="but 'flat' and 'steep' are over the same rows"):
            paribus.compare(parts).difference(independent=True)


class Columns:
    """A model that was fitted on some columns of a table."""

    def __init__(self, **factors):
        self.factors = factors
        self.feature_names_in_ = np.array(list(factors), dtype=object)

    def fit(self):
        return self

    def predict(self, table):
        return sum(factor * table[name].to_numpy() for name, factor in self.factors.items())


def shared_rows(X, file):
    """Yield pairs of results that share rows, although their fingerprints differ."""
    ab = Columns(a=1.0, b=1.0)
    weights = np.linspace(0.1, 1, len(X))

    def result(model, rows, **options):
        return paribus.partial_dependence(
            model, rows, "a", kind="both", custom_values={"a": [0, 1]}, **options
        )

    yield "other columns", result(ab, X), result(Columns(a=1.0, c=1.0), X)
    yield "other order of columns", result(ab, X), result(Columns(b=-1.0, a=1.0), X)
    yield "other order of rows", result(ab, X), result(Columns(a=1.0, b=-1.0), X[::-1])
    yield "other weights", result(ab, X), result(Columns(a=1.0, b=-1.0), X, sample_weight=weights)
    yield "a slice", result(ab, X), result(Columns(a=1.0, b=-1.0), X[:-1])
    yield "a file", result(ab, X), result(Columns(a=1.0, b=-1.0), file)


def test_errors_are_not_too_small_where_rows_may_be_shared(rng, tmp_path):
    b = rng.normal(size=200)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": b, "c": -b})
    truth = 2 * b.std(ddof=1) / np.sqrt(200)
    X.to_parquet(tmp_path / "X.parquet")
    for case, one, other in shared_rows(X, tmp_path / "X.parquet"):
        assert one.provenance.fingerprint != other.provenance.fingerprint, case
        found = paribus.compare({"one": one, "other": other}).difference()
        assert found.errors == "upper bound", case
        np.testing.assert_array_equal(found.standard_error, one.standard_error + other.standard_error)
        np.testing.assert_allclose(found.standard_error, truth, rtol=0.1, err_msg=case)
        assert "rows may be in both" in repr(found), case
        assert "pass independent=True if" in repr(found), case


def test_exact_errors_are_offered_only_where_there_are_any(frame, tmp_path):
    remedy = "kind='both' gives the exact ones"
    frame.to_parquet(tmp_path / "X.parquet")
    read = of_both(paribus.partial_dependence, tmp_path / "X.parquet", "age", kind="both", grid_resolution=3)
    lists = {
        name: paribus.partial_dependence([model, model], frame, "age", grid_resolution=3)
        for name, model in (("steep", steep), ("flat", flat))
    }
    plain, local, _ = one_of_each(frame)
    for parts, offered in ((plain, True), (read, False), (lists, False), (local, False)):
        (note, *_) = paribus.compare(parts).difference().notes
        assert note.startswith("both are over the same rows: standard errors are the sum of theirs")
        assert (remedy in note) == offered
        assert "independent=True" not in note


@pytest.mark.nightly
def test_errors_of_independent_samples_add_as_squares_and_hold_what_they_promise():
    rng = np.random.default_rng(0)
    size, samples = 60, 400
    held = []
    for _ in range(samples):
        slices = {name: rng.normal(size=(size, 2)) for name in "ab"}
        parts = {
            name: paribus.partial_dependence(lambda t: t[:, 0] + t[:, 1], X, 0, custom_values={0: [0.0, 1.0]})
            for name, X in slices.items()
        }
        found = paribus.compare(parts).difference(independent=True)
        held.append(np.abs(found.difference[0]) <= 1.96 * found.standard_error[0])
    assert found.errors == "independent"
    errors = [part.standard_error for part in parts.values()]
    np.testing.assert_allclose(found.standard_error, np.sqrt(errors[0] ** 2 + errors[1] ** 2))
    assert 0.92 <= np.mean(held) <= 0.98
    assert "as independent=True states" in repr(found)
    many = {name: paribus.effects(lambda t: t[:, 0] + t[:, 1], X) for name, X in slices.items()}
    every = paribus.compare(many)
    assert {one.errors for one in every.difference(independent=True).values()} == {"independent"}
    assert {one.errors for one in every.difference().values()} == {"upper bound"}
    with pytest.raises(paribus.errors.OptionError, match="independent='yes' must be True or False"):
        every.difference(independent="yes")


def test_numbers_are_compared_on_straight_lines_where_grids_overlap(frame):
    young, old = frame[frame["age"] < 55], frame[frame["age"] >= 45]
    parts = {
        "young": paribus.partial_dependence(steep, young, "age", custom_values={"age": [30, 45, 50, 54]}),
        "old": paribus.partial_dependence(flat, old, "age", custom_values={"age": [45, 48, 60]}),
    }
    found = paribus.compare(parts).difference()
    assert found.grid_values[0].tolist() == [45, 48, 50, 54]
    line = {
        name: np.interp([45, 48, 50, 54], part.grid_values[0].astype(float), part.average[0])
        for name, part in parts.items()
    }
    np.testing.assert_allclose(found.difference[0], line["old"] - line["young"])
    assert any("straight line" in note for note in found.notes)
    apart = {
        "low": paribus.partial_dependence(steep, young, "age", custom_values={"age": [1, 2]}),
        "high": parts["old"],
    }
    with pytest.raises(paribus.errors.InputError, match="'high' and 'low' have no value of age in common"):
        paribus.compare(apart).difference()


def test_categories_and_missing_values_are_compared_where_both_have_them():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(["Ulm", "Bonn", "Kiel"], 90), "x": rng.normal(size=90)})
    table.loc[::9, "city"] = None

    def model(rows):
        return rows["city"].map({"Ulm": 1.0, "Bonn": 5.0, "Kiel": 2.0}).astype(float).fillna(9).to_numpy()

    parts = {
        "one": paribus.partial_dependence(model, table, "city", custom_values={"city": ["Kiel", "Ulm"]}),
        "two": paribus.partial_dependence(
            lambda rows: 2 * model(rows), table, "city", custom_values={"city": ["Ulm", "Bonn", "Kiel"]}
        ),
    }
    found = paribus.compare(parts).difference()
    assert found.grid_values[0].tolist() == ["Ulm", "Kiel"]
    assert found.difference.tolist() == [[1.0, 2.0]]
    assert found.missing_difference.tolist() == [9.0]
    assert "at a missing value: 9" in repr(found)
    frame = found.to_frame()
    assert frame["city"].tolist()[:2] == ["Ulm", "Kiel"]
    assert frame["city"].isna().tolist() == [False, False, True]
    assert frame["difference"].tolist() == [1.0, 2.0, 9.0]


def test_differences_of_every_type_of_part_and_of_every_feature(frame, tmp_path):
    _, local, near = one_of_each(frame)
    assert paribus.compare(local).difference().curve == "ale"
    observed = paribus.compare(near).difference(curve="residual")
    np.testing.assert_allclose(observed.difference, near["flat"].residual - near["steep"].residual)
    with pytest.raises(paribus.errors.OptionError, match="curve='ale'"):
        paribus.compare(near).difference(curve="ale")
    every = paribus.compare(of_both(paribus.effects, frame, ["age", "city", "other"], grid_resolution=4))
    found = every.difference(reference="flat")
    assert isinstance(found, paribus.results.Effects)
    assert list(found) == sorted(found, key=lambda name: -found[name].strength)
    assert repr(found).startswith("Effects steep minus flat: 3 features, largest first (prediction)")
    assert "standard errors" in repr(found)
    columns = ["feature", "value", "number", "output", "difference", "standard_error"]
    assert list(found.to_frame().columns) == columns
    for result in (found, found["city"], observed):
        result.save(tmp_path / "found.json")
        assert paribus.load(tmp_path / "found.json") == result
        assert pickle.loads(pickle.dumps(result)) == result
        for backend in ("pandas", "polars", "pyarrow"):
            assert len(result.to_frame(backend=backend)) == len(result.to_frame())


def test_the_parts_of_a_difference_are_named(frame):
    age = paribus.partial_dependence(steep, frame, "age", grid_resolution=4)
    three = paribus.compare({"a": age, "b": age, "c": age})
    assert (three.difference("c").part, three.difference("c").reference) == ("c", "a")
    assert three.difference("a").reference == "b"
    assert (three.difference("c").difference == 0).all()
    for arguments, words in (
        ({}, "two of 3 parts; pass part="),
        ({"part": "d"}, "part='d' is not a part"),
        ({"part": "a", "reference": "x"}, "reference='x' is not a part"),
        ({"part": "a", "reference": "a"}, "are the same; name two"),
    ):
        with pytest.raises(paribus.errors.OptionError, match=words):
            three.difference(**arguments)


def test_a_difference_is_drawn_around_zero(frame):
    every = paribus.compare(of_both(paribus.effects, frame, ["age", "city"], grid_resolution=4)).difference()
    numbers, categories = (every[name].figure().panels[0] for name in ("age", "city"))
    assert numbers.marks[0] == categories.marks[0] == Rule(0.0)
    line = next(mark for mark in numbers.marks if isinstance(mark, Line))
    np.testing.assert_array_equal(line.y, every["age"].difference[0])
    (points,) = (mark for mark in categories.marks if isinstance(mark, Points))
    np.testing.assert_allclose(points.error, 2 * every["city"].standard_error[0])
    assert numbers.y.label == "flat minus steep: prediction"
    assert every.figure().panels


def test_differences_of_samples_of_the_rows_are_not_row_by_row(frame):
    options = {"kind": "both", "grid_resolution": 4}
    few, fewer = (paribus.partial_dependence(flat, frame, "age", subsample=n, **options) for n in (40, 30))
    assert few.provenance.fingerprint == fewer.provenance.fingerprint
    assert few.provenance.sampled_rows != fewer.provenance.sampled_rows
    whole = paribus.partial_dependence(steep, frame, "age", **options)
    for pair in ({"a": few, "b": fewer}, {"a": few, "b": whole}):
        assert paribus.compare(pair).difference().errors == "upper bound"


def test_difference_of_a_single_part_is_refused_and_any_name_is_a_part(frame):
    age = paribus.partial_dependence(flat, frame, "age", grid_resolution=4)
    with pytest.raises(paribus.errors.InputError, match="needs two parts"):
        paribus.compare(age).difference()
    with pytest.raises(paribus.errors.InputError, match="needs two parts"):
        paribus.compare(paribus.effects(flat, frame, ["age"])).difference()
    found = paribus.compare({"a": age, "": age, "c": age}).difference("", reference="c")
    assert (found.part, found.reference) == ("", "c")


def test_a_difference_at_a_missing_value_counts(rng):
    X = pd.DataFrame({"a": np.where(rng.random(200) < 0.5, np.nan, 1.0), "b": rng.normal(size=200)})
    models = {
        gap: lambda t, gap=gap: np.where(t["a"].isna(), gap, 0.0) + t["b"] * (gap / 10) for gap in (0.0, 10.0)
    }
    found = paribus.compare(
        {str(gap): paribus.effects(model, X) for gap, model in models.items()}
    ).difference()
    assert list(found) == ["a", "b"]
    assert found["a"].strength == abs(found["a"].missing_difference[0])
    assert "at a missing value" in repr(found).splitlines()[2]
    missing = paribus.partial_dependence(models[10.0], X, "a").missing
    assert "None" not in repr(missing)
    assert "average=" in repr(missing)

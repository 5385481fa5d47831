"""Several models, or slices of the data, on one axis."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import paribus


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
    effects = of_both(paribus.partial_dependence, frame, "age", grid_resolution=5)
    local = {k: v["age"] for k, v in of_both(paribus.accumulated_local_effects, frame, ["age"]).items()}
    near = {k: v["age"] for k, v in of_both(paribus.marginal, frame, ["age"], y=y).items()}
    return effects, local, near


def test_an_overlay_keeps_its_parts_and_speaks_for_them(frame):
    for parts in one_of_each(frame):
        found = paribus.overlay(parts)
        assert isinstance(found, paribus.Overlay)
        assert list(found.parts) == ["steep", "flat"]
        assert all(found.parts[name] is part for name, part in parts.items())
        assert found.feature_names == ("age",)
        assert found.output_names == parts["flat"].output_names
        assert found.strength == parts["steep"].strength > parts["flat"].strength
        assert found.provenance is parts["steep"].provenance
        assert paribus.overlay(dict(reversed(parts.items()))).strength == found.strength
        told = repr(found)
        assert told.startswith(f"Overlay of 2 parts on age: {type(parts['flat']).__name__}, 1 output (")
        assert "\n  steep: " in told
        assert "\n  flat: " in told


def test_slices_may_have_grids_of_their_own(frame):
    young, old = frame[frame["age"] < 50], frame[frame["age"] >= 50]
    parts = {
        k: paribus.partial_dependence(steep, rows, "age") for k, rows in {"young": young, "old": old}.items()
    }
    found = paribus.overlay(parts)
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
    notes = {"steep": ("all", "some", "some"), "flat": ("own", "all"), "again": ("some", "all")}
    parts = {name: dataclasses.replace(part, notes=notes[name]) for name, part in parts.items()}
    found = paribus.overlay(parts)
    assert found.notes == ("all", "steep, again: some", "flat: own")
    assert repr(found).count("note: ") == 3


def test_a_strength_that_is_not_known_does_not_hide_another(frame):
    parts = of_both(paribus.partial_dependence, frame, "age")
    nan = {name: dataclasses.replace(part, strength=float("nan")) for name, part in parts.items()}
    assert paribus.overlay({"a": nan["steep"], "b": parts["flat"]}).strength == parts["flat"].strength
    assert np.isnan(paribus.overlay(nan).strength)


def test_many_features_are_laid_over_each_other_strongest_first(frame):
    several = {
        "steep": paribus.effects(steep, frame, ["age", "city", "other", ("age", "city")], grid_resolution=4),
        "flat": paribus.effects(flat, frame, ["city", "age", ("age", "city")], grid_resolution=4),
    }
    found = paribus.overlay(several)
    assert isinstance(found, paribus.Overlays)
    assert list(found) == ["age", "city"]
    assert list(found["city"].parts) == ["steep", "flat"]
    assert found["age"].strength > found["city"].strength == several["flat"]["city"].strength
    assert found.skipped == ("other is not in flat",)
    assert "other is not in flat" in found.notes
    told = repr(found).splitlines()
    assert told[0] == "Overlays of steep, flat: 2 features, strongest first (prediction)"
    assert told[1].startswith("  age: ")
    assert told[1].endswith(" (flat)")
    assert told[-1] == "  skipped: other is not in flat"
    for verb, kind in ((paribus.accumulated_local_effects, "ale"), (paribus.marginal, "predicted")):
        found = paribus.overlay(of_both(verb, frame, ["age", "city"]))
        assert set(found) == {"age", "city"}
        assert kind in found["city"].parts["flat"]
        assert {"part", "feature", "value", "number", "output", kind} <= set(found.to_frame().columns)


def test_the_long_table_is_that_of_the_parts(frame):
    for parts in one_of_each(frame):
        table = paribus.overlay(parts).to_frame()
        assert table.columns[0] == "part"
        for name, part in parts.items():
            own = table[table["part"] == name].drop(columns="part").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, part.to_frame())


def test_the_long_table_of_many_features_is_that_of_the_parts(frame):
    several = of_both(paribus.effects, frame, ["age", "city"], grid_resolution=4)
    table = paribus.overlay(several).to_frame()
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
    found = paribus.overlay(several)
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
    table = paribus.overlay({"one": plain, "two": rich}).to_frame()
    assert table["between_models"].isna().tolist() == [True] * 4 + [False] * 3

    def constant(rows):
        return np.zeros(len(rows))

    texts = pd.DataFrame({"c": ["1", "2", "2"]})
    whole = pd.DataFrame({"c": pd.Categorical([1, 2, 3])})
    parts = {k: paribus.partial_dependence(constant, v, "c") for k, v in {"a": texts, "b": whole}.items()}
    assert paribus.overlay(parts).to_frame()["c"].tolist() == ["2", "1", "1", "2", "3"]


def refused(parts, words):
    with pytest.raises(paribus.InputError, match=words):
        paribus.overlay(parts)


def test_what_does_not_belong_on_one_axis_is_refused_by_name(frame):
    age = paribus.partial_dependence(steep, frame, "age", grid_resolution=4)
    _, local, near = one_of_each(frame)
    refused(
        {"a": age, "b": local["steep"]}, r"'b' is of another type \(LocalEffect\) than 'a' \(PartialDepend"
    )
    other = paribus.partial_dependence(steep, frame, "other", grid_resolution=4)
    refused({"a": age, "b": age, "c": other}, r"'c' is about another feature \(other\) than 'a' \(age\)")
    odd = dataclasses.replace(age.provenance, scale="log odds")
    refused({"a": age, "b": dataclasses.replace(age, provenance=odd)}, r"another scale \(log odds\) than 'a'")
    refused({"a": age, "b": dataclasses.replace(age, output_names=("up",))}, r"other outputs \(up\)")
    ages = paribus.partial_dependence(steep, frame, "age", categorical_features=["age"])
    refused({"a": age, "b": ages}, r"another kind of axis \(levels\) than 'a' \(numbers\)")
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
    refused([age, age], "mapping from names to results, not a list")
    refused({2019: age, 2020: age}, "names that are text; 2019 is not")
    refused(age, "'average' is not one")
    refused({"a": age, "b": 3}, "'b' is not one")
    pair = paribus.partial_dependence(steep, frame, ["age", "other"], grid_resolution=3)
    refused({"a": pair, "b": pair}, "'a' has none of age x other")
    curves = paribus.partial_dependence(steep, frame, "age", grid_resolution=3, kind="individual")
    refused({"a": age, "b": curves}, "'b' has none of age")
    several = {name: paribus.effects(steep, frame, [name], grid_resolution=3) for name in ("age", "other")}
    refused(several, "that all of 'age', 'other' have")
    effects = paribus.effects(steep, frame, ["age", "other"], grid_resolution=3)
    refused(effects, "about another feature")

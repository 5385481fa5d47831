"""Effects made of an effect: relative to a point, and slopes."""

import datetime

import numpy as np
import pandas as pd
import pytest

import paribus


def table(rows=60):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(rows), unit="D")
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "n": np.arange(rows) % 7,
            "city": rng.choice(["Bern", "Basel", "Genf"], rows),
            "day": days,
            "zoned": days.tz_localize("Europe/Zurich"),
            "gap": np.where(np.arange(rows) % 5 == 0, np.nan, rng.normal(size=rows)),
        }
    )


def model(frame):
    day = (frame["day"] - pd.Timestamp("2026-01-01")) / pd.Timedelta(days=1)
    zoned = (frame["zoned"] - pd.Timestamp("2026-01-01", tz="UTC")) / pd.Timedelta(days=1)
    size = frame["city"].str.len().to_numpy(float)
    gap = frame["gap"].fillna(9.0)
    return (frame["x"] ** 2 + frame["n"] * frame["x"] + size + 2.0 * day + zoned + gap).to_numpy(float)


def effect_of(feature, **options):
    return paribus.partial_dependence(model, table(), feature, **options)


AT = {
    "x": lambda values: values[3],
    "n": lambda values: int(values[2]),
    "city": lambda values: "Genf",
    "day": lambda values: values[5],
    "zoned": lambda values: (
        pd.Timestamp(values[5]).tz_localize("UTC").tz_convert("Asia/Tokyo").to_pydatetime()
    ),
}


@pytest.mark.parametrize("feature", AT)
@pytest.mark.parametrize("kind", ["average", "individual", "both"])
def test_centered_effect_is_relative_to_one_of_its_points(feature, kind):
    effect = effect_of(feature, kind=kind)
    values = effect.grid_values[0]
    at = AT[feature](values)
    place = {
        "x": 3,
        "n": 2,
        "day": 5,
        "zoned": 5,
        "city": list(values).index("Genf") if feature == "city" else 0,
    }[feature]
    for centered, first in ((effect.centered(), 0), (effect.centered(at), place)):
        if kind != "individual":
            np.testing.assert_allclose(
                centered.average, effect.average - effect.average[:, first : first + 1]
            )
            assert (centered.standard_error is None) == (kind == "average")
        if kind != "average":
            curves = effect.individual - effect.individual[..., first : first + 1]
            np.testing.assert_allclose(centered.individual, curves)
        if kind == "both":
            want = curves.std(axis=1, ddof=1) / np.sqrt(len(table()))
            np.testing.assert_allclose(centered.standard_error, want, rtol=1e-9, atol=1e-12)
        assert str(centered.provenance.scale).count("relative to") == 1
        codes = [note.code for note in centered.notes]
        assert (paribus.notes.NoteCode.ERROR_BASIS in codes) == (kind == "average")


def test_centered_effect_at_missing_is_relative_to_the_same_point():
    effect = effect_of("gap", kind="both")
    centered = effect.centered()
    np.testing.assert_allclose(centered.missing.average, effect.missing.average - effect.average[:, 0])
    np.testing.assert_allclose(
        centered.missing.individual, effect.missing.individual - effect.individual[..., 0]
    )
    assert centered.missing.share == effect.missing.share
    assert centered.missing.standard_error.shape == (1,)


def test_centered_twice_is_relative_to_the_second_point():
    effect = effect_of("x", kind="both")
    at = effect.grid_values[0][4]
    twice = effect.centered(effect.grid_values[0][2]).centered(at)
    np.testing.assert_allclose(twice.average, effect.centered(at).average, atol=1e-12)
    assert twice.provenance.scale == effect.centered(at).provenance.scale


def test_centered_surface_takes_a_value_of_each_feature():
    effect = effect_of(("x", "city"), grid_resolution=5)
    at = effect.grid_values[0][2], "Genf"
    anchor = effect.average[:, 2, list(effect.grid_values[1]).index("Genf")]
    np.testing.assert_allclose(effect.centered(at).average, effect.average - anchor[:, None, None])
    for wrong in (at[0], (at[0],), (*at, 1)):
        with pytest.raises(paribus.errors.OptionError, match="a grid value of each of x, city, as a tuple"):
            effect.centered(wrong)


@pytest.mark.parametrize(
    ("feature", "at", "words"),
    [
        ("x", 99.0, "is not a grid value of x; the nearest is"),
        ("x", "a", "is not a grid value of x: "),
        ("n", 2.5, "is not a grid value of n; the nearest is"),
        ("city", "Basle", "is not a grid value of city; did you mean 'Basel'"),
        ("day", datetime.date(1999, 1, 1), "is not a grid value of day; the nearest is 2026"),
        ("day", "not a day", "is not a grid value of day: "),
    ],
)
def test_centered_effect_refuses_what_is_no_point_of_it(feature, at, words):
    with pytest.raises(paribus.errors.OptionError, match=words):
        effect_of(feature).centered(at)


def test_point_is_found_up_to_rounding_and_large_integers_exactly():
    effect = effect_of("x")
    at = effect.grid_values[0][3]
    for near in (at, at * (1 + 1e-14), float(at)):
        np.testing.assert_array_equal(effect.centered(near).average[:, 3], 0.0)
    with pytest.raises(paribus.errors.OptionError, match="the nearest is"):
        effect.centered(at + 1e-6)
    frame = pd.DataFrame({"id": 2**60 + np.arange(9), "x": 1.0})
    large = paribus.partial_dependence(lambda t: t["id"].to_numpy() - 2.0**60, frame, "id")
    assert large.centered(2**60 + 3).average[0, list(large.grid_values[0]).index(2**60 + 3)] == 0.0


@pytest.mark.parametrize(
    ("feature", "slope", "unit"), [("day", 2.0, "day"), ("zoned", 1.0, "day"), ("n", None, "unit of n")]
)
def test_derivative_is_the_slope_along_the_axis(feature, slope, unit):
    effect = effect_of(feature, kind="both")
    found = effect.derivative()
    values = effect.grid_values[0]
    at = (values - values[0]) / np.timedelta64(1, "D") if values.dtype.kind == "M" else values.astype(float)
    np.testing.assert_allclose(found.average, np.gradient(effect.average, at, axis=1), rtol=1e-9)
    np.testing.assert_allclose(
        found.individual, np.gradient(effect.individual, at, axis=2), rtol=1e-7, atol=1e-9
    )
    if slope is not None:
        np.testing.assert_allclose(found.average, slope)
    assert found.provenance.scale.per == unit
    assert found.derivative().provenance.scale.per == f"{unit} per {unit}"
    assert found.provenance.scale.relative_to is None
    assert effect.centered().derivative().provenance.scale.relative_to is None


def test_centered_effect_keeps_strengths_and_derivative_has_those_of_slopes():
    square = lambda t: t["n"].to_numpy(float) ** 2  # noqa: E731
    effect = paribus.partial_dependence([square, lambda t: 2 * square(t)], table(), "n")
    assert effect.strength_from == "rows"  # the points are all values of the data
    np.testing.assert_allclose(effect.strengths, [np.sqrt(2.5) * square(table()).std()])
    centered, found = effect.centered(), effect.derivative()
    assert (centered.strengths.tolist(), centered.strength_from) == (effect.strengths.tolist(), "rows")
    assert centered.by_model.strengths.tolist() == effect.by_model.strengths.tolist()
    slopes = np.repeat(found.average[0], effect.support.astype(int))
    np.testing.assert_allclose(found.strengths, [slopes.std()])
    assert found.strength_from == "points"


def test_derivative_has_no_value_at_missing():
    effect = effect_of("gap")
    found = effect.derivative()
    assert found.missing is None
    assert found.average.shape == effect.average.shape


@pytest.mark.parametrize(
    ("feature", "options", "words"),
    [
        (("x", "n"), {}, "defined for one feature; this is an effect of x x n"),
        ("city", {}, "city is .*, which has none"),
        ("x", {"custom_values": {"x": [1.0]}}, "two distinct values of x at least"),
        ("x", {"custom_values": {"x": [0.0, 1.0, np.nextafter(1.0, 2.0)]}}, "distinct grid points of x"),
    ],
)
def test_derivative_needs_distances_along_one_axis(feature, options, words):
    with pytest.raises(paribus.errors.OptionError, match=words):
        effect_of(feature, **options).derivative()


def test_quantiles_of_centered_curves_are_those_of_the_rows():
    effect = effect_of("x", kind="both", quantiles=(0.1, 0.9))
    centered = effect.centered()
    want = np.quantile(effect.individual - effect.individual[..., :1], [0.1, 0.9], axis=1)
    np.testing.assert_allclose(centered.quantiles.values[0], want[:, 0], atol=1e-12)
    assert centered.quantiles.rank_error == 0.0
    weights = np.arange(60) % 3
    weighted = effect_of("x", kind="both", sample_weight=weights).centered()
    curves = weighted.individual[0]
    np.testing.assert_allclose(weighted.average[0], np.average(curves, axis=0, weights=weights), atol=1e-12)
    lines = np.repeat(curves, weights, axis=0)
    assert np.isfinite(weighted.standard_error).all()
    assert (weighted.standard_error[0, 1:] < 2 * lines.std(axis=0)[1:] / np.sqrt(20)).all()


def test_integers_that_no_float_tells_apart_are_told_apart():
    first = 2**60
    X = pd.DataFrame({"id": first + np.arange(3).repeat(4)})
    effect = paribus.partial_dependence(lambda t: (t["id"] - first).to_numpy(float), X, "id")
    assert effect.grid_values[0].tolist() == [first, first + 1, first + 2]
    assert effect.centered(at=first + 1).average[0].tolist() == [-1.0, 0.0, 1.0]

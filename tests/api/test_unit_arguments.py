"""Units of dependent rows: how they are given, what is refused, groups, and notes."""

import datetime
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import paribus
from compared_results import differing
from paribus._data.samples import occupied_parts
from paribus.errors import FeatureError, InputError, OptionError, ParibusError
from paribus.notes import NoteCode
from selection import nightly
from unit_examples import FEATURES, QUIET, ROWS, UNITS, X, Y, called, model, table

TEXT = np.array([f"customer {unit:02d}" for unit in UNITS])
DAYS = np.datetime64("2026-01-01") + UNITS.astype("timedelta64[D]")
# The same units, by values of several types and libraries.
GIVEN = {
    "integers": UNITS,
    "small integers": UNITS.astype("int8"),
    "negative integers": UNITS - 40,
    "large integers": UNITS.astype("uint64") * 2**59,
    "nullable integers": pd.array(UNITS, dtype="Int64"),
    "numbers": UNITS / 4,
    "list": UNITS.tolist(),
    "text": TEXT,
    "list of text": TEXT.tolist(),
    "objects": TEXT.astype(object),
    "categories": pd.Categorical(TEXT),
    "categories of integers": pd.Categorical(UNITS),
    "series": pd.Series(TEXT, index=X.index),
    "dates": DAYS,
    "times": DAYS.astype("datetime64[ns]"),
    "days": [datetime.date(2026, 1, 1) + datetime.timedelta(int(unit)) for unit in UNITS],
    "durations": UNITS.astype("timedelta64[h]"),
    "polars": pl.Series(TEXT),
    "arrow": pa.array(TEXT),
}


def effect_of(units, X=X, **options):
    return paribus.partial_dependence(called, X, "a", units=units, **options, **QUIET)


@pytest.mark.parametrize("name", GIVEN)
def test_units_of_any_type_give_the_same_errors(name):
    want, have = effect_of(UNITS), effect_of(GIVEN[name])
    np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=1e-12)
    np.testing.assert_allclose(have.covariance, want.covariance, rtol=1e-9, atol=1e-14)
    assert have.provenance.standard_error_units == len(np.unique(UNITS))


def test_units_of_the_same_text_give_the_same_bits_of_local_effects():
    """Parts of the units are chosen by a hash of their text, whatever library has it."""
    want = paribus.accumulated_local_effects(called, X, ["a"], units=TEXT, **QUIET)
    for name in ("objects", "list of text", "categories", "polars", "arrow"):
        have = paribus.accumulated_local_effects(called, X, ["a"], units=GIVEN[name], **QUIET)
        assert differing(have["a"], want["a"]) == [], name


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_units_by_name_are_the_column_and_no_feature_of_the_model(convert):
    rows, fitted = convert(X.assign(customer=TEXT)), model("boosted trees")
    have = paribus.effects(fitted, rows, units="customer", **QUIET)
    want = paribus.effects(fitted, X, units=TEXT, **QUIET)
    assert set(have) == set(FEATURES)
    for feature in ("a", "b", "n"):
        assert have[feature].standard_error.tobytes() == want[feature].standard_error.tobytes(), feature
        assert have[feature].covariance.tobytes() == want[feature].covariance.tobytes(), feature


def test_units_by_name_of_a_feature_leave_it_a_feature():
    have = paribus.effects(model("boosted trees"), X, units="n", **QUIET)
    want = paribus.effects(model("boosted trees"), X, units=X["n"].to_numpy(), **QUIET)
    assert set(have) == set(FEATURES)
    assert differing(have["n"], want["n"]) == []


def test_series_of_units_is_aligned_by_its_index():
    rows = X.set_axis(np.arange(ROWS)[::-1])
    have = effect_of(pd.Series(UNITS, index=rows.index).sort_index(), rows)
    assert differing(have, effect_of(UNITS)) == []


def test_explainer_has_units_for_every_method():
    explainer = paribus.Explainer(called, X, Y, units=UNITS, **QUIET)
    assert differing(explainer.effects(["a"])["a"], effect_of(UNITS)) == []
    results = explainer.run("effects", "h_statistic", "marginal")
    for name, result in results.items():
        units = len(np.unique(UNITS))
        units = occupied_parts(units) if name == "marginal" else units
        assert result.provenance.standard_error_units == units, name


def gone(values, missing):
    """Return values of which two are missing."""
    values = list(values)
    values[3] = values[5] = missing
    return values


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (UNITS[:-1], rf"units has shape \({ROWS - 1},\) and X has {ROWS} rows; give the name of a column"),
        (np.ones((ROWS, 2)), "one value for each row"),
        (5, "one value for each row"),
        (gone(UNITS.astype(float), np.nan), "the unit is missing in row 3, and in 2 rows in all"),
        (gone(TEXT, None), "the unit is missing in row 3, and in 2 rows in all"),
        (pd.array(gone(UNITS, None), dtype="Int64"), "the unit is missing in row 3"),
        (pd.Series(gone(DAYS, np.datetime64("NaT"))), "the unit is missing in row 3"),
        ("b", "the unit is missing in row"),
        ("custmer", "units='custmer'.*did you mean 'customer'"),
        ("unknown column", "units='unknown column'"),
    ],
)
def test_wrong_units_are_refused_with_a_remedy(units, text):
    with pytest.raises((OptionError, InputError, FeatureError), match=text) as raised:
        effect_of(units, X.assign(customer=TEXT))
    assert isinstance(raised.value, ParibusError)


def test_values_of_units_are_refused_for_rows_that_are_read(tmp_path):
    X.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(OptionError, match="X is out of core, so units must be the name of a column"):
        effect_of(UNITS, str(tmp_path / "rows.parquet"))
    with pytest.raises(InputError, match="did you mean 'city'"):
        effect_of("citty", str(tmp_path / "rows.parquet"))


MANY, GROUPS = table(600, 2), np.repeat(["east", "west"], [250, 350])
NESTED, CROSSED = np.arange(600) // 5, np.arange(600) % 50


@cache
def by_group(name):
    units = {"rows": None, "nested": NESTED, "crossed": CROSSED}[name]
    return paribus.effects(called, MANY, ["a", "n"], by=GROUPS, units=units, **QUIET)


@pytest.mark.parametrize("name", ["nested", "crossed"])
def test_errors_of_a_group_are_those_of_the_units_in_it(name):
    units = {"nested": NESTED, "crossed": CROSSED}[name]
    for label in ("east", "west"):
        rows = label == GROUPS
        alone = paribus.effects(
            called,
            MANY[rows],
            ["a"],
            custom_values={"a": sorted(MANY["a"].unique())},
            units=units[rows],
            **QUIET,
        )["a"]
        effect = by_group(name)[label]["a"]
        np.testing.assert_allclose(effect.standard_error, alone.standard_error, rtol=1e-12)
        np.testing.assert_allclose(effect.covariance, alone.covariance, rtol=1e-9, atol=1e-14)
        assert effect.provenance.shared_units == (name == "crossed")
        assert effect.provenance.standard_error_units == len(np.unique(units[rows]))


@pytest.mark.parametrize("name", ["rows", "nested", "crossed"])
def test_difference_of_groups_with_common_units_has_an_upper_bound(name):
    parts = {label: by_group(name)[label]["a"] for label in ("east", "west")}
    difference = paribus.compare(parts).difference()
    first, second = (part.standard_error for part in parts.values())
    want = first + second if name == "crossed" else np.hypot(first, second)
    np.testing.assert_allclose(difference.standard_error, want, rtol=1e-12)
    text = " ".join(map(str, difference.notes))
    assert ("the groups have units in common" in text) == (name == "crossed")
    assert ("the groups have no row in common" in text) == (name != "crossed")
    assert difference.errors == ("upper bound" if name == "crossed" else "independent")


def test_differences_between_groups_in_an_explanation_are_those_of_units():
    y = called(MANY) + np.random.default_rng(0).normal(size=600)

    def differences(units):
        explanation = paribus.explain(called, MANY, y, features=["a", "n"], by=GROUPS, units=units, **QUIET)
        return {difference.feature: difference for difference in explanation.by_group.differences}

    plain, rows, crossed = map(differences, (None, np.arange(600), CROSSED))
    for feature, difference in plain.items():
        assert rows[feature].difference == difference.difference == crossed[feature].difference
        assert rows[feature].standard_error == pytest.approx(difference.standard_error, rel=0.01)
        assert rows[feature].p_value == pytest.approx(difference.p_value, rel=0.05)
    assert crossed["a"].standard_error > 1.2 * rows["a"].standard_error  # of the sum of both errors


def test_unit_with_rows_of_weight_zero_in_another_group_is_not_shared():
    weights = np.ones(600)
    units = NESTED.copy()
    units[0] = units[-1]
    weights[0] = 0.0
    groups = paribus.effects(called, MANY, ["a"], by=GROUPS, units=units, sample_weight=weights, **QUIET)
    assert not groups["east"]["a"].provenance.shared_units


def notes_of(result, code):
    return [str(note) for note in result.notes if note.code is code]


CALLS = {
    "partial dependence": lambda units: paribus.partial_dependence(called, MANY, "a", units=units, **QUIET),
    "effects": lambda units: paribus.effects(called, MANY, units=units, **QUIET),
    "curves": lambda units: paribus.effects(called, MANY, ["a", "n"], kind="both", units=units, **QUIET),
    "local effects": lambda units: paribus.accumulated_local_effects(
        called, MANY, ["a"], units=units, **QUIET
    ),
    "averages": lambda units: paribus.marginal(called, MANY, ["a", "n"], units=units, **QUIET),
    "interactions": lambda units: paribus.h_statistic(called, MANY, units=units, **QUIET),
    "importance": lambda units: paribus.feature_importance(called, MANY, units=units, **QUIET),
    "explanation": lambda units: paribus.explain(called, MANY, called(MANY) + 1, units=units, **QUIET),
}


@pytest.mark.parametrize("name", [*list(CALLS)[:-1], *nightly("explanation")])
def test_fewer_than_thirty_units_give_one_note(name):
    of_parts = name in ("local effects", "averages", "explanation")  # 60 units are in 39 of 64 parts
    for units, noted in ((29, True), (60 if of_parts else 30, False)):
        notes = notes_of(CALLS[name](np.arange(600) % units), NoteCode.ERROR_BASIS)
        few = [note for note in notes if "fewer than 30 units" in note]
        assert len(few) == noted
    assert notes_of(CALLS[name](None), NoteCode.ERROR_BASIS) == []


CUSTOMERS = np.arange(600) % 150


def repeated(frame, name, **options):
    """Return the notes on columns that look like identifiers."""
    fitted = make_pipeline(make_column_transformer(("passthrough", ["a", "n"])), Ridge()).fit(
        frame, called(MANY)
    )
    return notes_of(getattr(paribus, name)(fitted, frame, **options, **QUIET), NoteCode.REPEATED_UNITS)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("explain", "customer_id"),
        *(("effects", column) for column in ("CustomerID", "policyId", "hospital", "order no", "id")),
    ],
)
def test_column_of_repeated_identifiers_gives_one_tip(name, column):
    notes = repeated(MANY.assign(**{column: CUSTOMERS}), name)
    assert len(notes) == 1
    assert f"{column} looks like an identifier of units, with 4 rows each on average" in notes[0]
    assert f"units='{column}'" in notes[0]


@pytest.mark.parametrize(
    ("column", "values", "options"),
    [
        ("customer_id", CUSTOMERS, {"units": "customer_id"}),
        ("customer_id", CUSTOMERS, {"units": CUSTOMERS}),
        ("customer_id", np.arange(600), {}),  # every row is of its own
        ("customer_id", np.arange(600) // 1.2, {}),  # not an identifier but a number
        ("customer_id", np.arange(600) % 9, {}),  # so few values are a category
        ("identity", CUSTOMERS, {}),
        ("valid", CUSTOMERS, {}),
        ("paid", CUSTOMERS, {}),
    ],
)
def test_other_columns_give_no_tip_on_units(column, values, options):
    assert repeated(MANY.assign(**{column: values}), "effects", **options) == []


def test_two_columns_of_identifiers_give_one_tip():
    rows = MANY.assign(customer_id=CUSTOMERS, policy_id=np.arange(600) % 200)
    assert len(repeated(rows, "effects")) == 1


def refits(*steps):
    columns = make_column_transformer((make_pipeline(*steps), ["a", "b", "n"]), (OneHotEncoder(), ["city"]))
    return [make_pipeline(columns, Ridge(alpha)).fit(X, Y) for alpha in (1.0, 2.0, 3.0)]


@pytest.mark.parametrize("name", ["effects", "explain", *nightly("partial_dependence")])
def test_refits_with_an_imputer_give_one_note_on_imputation(name):
    arguments = {"partial_dependence": ["b"], "explain": [Y], "effects": []}[name]
    effects = getattr(paribus, name)(refits(SimpleImputer()), X, *arguments, **QUIET)
    notes = [note for note in notes_of(effects, NoteCode.ERROR_BASIS) if "imputation" in note]
    assert len(notes) == 1
    assert "intervals over refits do not include its uncertainty" in notes[0]


def test_models_without_an_imputer_or_refits_give_no_note_on_imputation():
    single = paribus.effects(refits(SimpleImputer())[0], X, **QUIET)
    trees = paribus.effects([model("boosted trees")] * 2, X, **QUIET)
    for effects in (single, trees):
        assert notes_of(effects, NoteCode.ERROR_BASIS) == []

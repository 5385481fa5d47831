"""Names for coded categories: the numbers of the codes, and names wherever results have values."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import paribus
from paribus.errors import FeatureError, GridError, InputError, OptionError
from paribus.notes import NoteCode

CITIES = ["Oslo", "Rome", "Bern"]
NAMES = {"city": CITIES}


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(size=400), "city": rng.integers(0, 3, 400).astype(float)})
    X["income"] = rng.normal(size=400)
    X.loc[::41, "city"] = np.nan
    return X


def target(X):
    return X["age"] * (X["city"] == 1) + 2.0 * (X["city"] == 2) + X["income"] * (X["city"] == 0)


@pytest.fixture(scope="module")
def X():
    return table()


@pytest.fixture(scope="module")
def trees(X):
    return HistGradientBoostingRegressor(max_iter=20, categorical_features=[1]).fit(X, target(X))


@pytest.fixture(scope="module")
def explanation(trees, X):
    return paribus.Explainer(trees, X, target(X), category_names=NAMES).explain()


def interaction_of_codes(X):
    values = np.asarray(X, float)
    return values[:, 0] * (values[:, 1] == 1) + 2.0 * (values[:, 1] == 2) + values[:, 2]


def assert_same_numbers(named, coded):
    """Check that two tables are equal once the codes of the second are replaced by names."""
    coded = coded.to_frame()
    if "city" in coded:
        coded["city"] = [code if np.isnan(code) else CITIES[int(code)] for code in coded["city"]]
    pd.testing.assert_frame_equal(named.to_frame(), coded, check_dtype=False, check_exact=True)


@pytest.mark.parametrize("verb", ["effects", "accumulated_local_effects"])
def test_named_curves_have_the_numbers_of_codes_and_names_as_grid_values(trees, X, verb):
    named, coded = (
        getattr(paribus.Explainer(trees, X, **options), verb)(["city", "age", ("age", "city")])
        for options in ({"category_names": NAMES}, {"categorical_features": ["city"]})
    )
    assert list(named) == list(coded)
    for key in coded:
        assert_same_numbers(named[key], coded[key])
    assert {*named["city"].grid_values[0]} == {*named["age", "city"].grid_values[1]} == {*CITIES}
    assert named["city"].missing.support == coded["city"].missing.support == 10


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.to_numpy(),
        lambda X: X,
        lambda X: X.astype({"city": "Int64"}),
        lambda X: X.astype({"city": pd.CategoricalDtype([2.0, 1.0, 0.0])}),
        lambda X: pl.from_pandas(X),
        lambda X: pl.from_pandas(X).with_columns(pl.col("city").cast(pl.Int8)),
    ],
    ids=["numpy", "pandas", "nullable", "categorical", "polars", "polars integers"],
)
def test_names_apply_to_codes_of_every_table(X, convert):
    converted = convert(X)
    model = lambda block: interaction_of_codes(block.astype(float) if hasattr(block, "astype") else block)  # noqa: E731
    curve = paribus.Explainer(model, converted, category_names={1: CITIES}).partial_dependence(1)
    heights = dict(zip(curve.grid_values[0].tolist(), curve.average[0], strict=True))
    for code, city in enumerate(CITIES):
        expected = interaction_of_codes(X.assign(city=float(code))).mean()
        assert heights[city] == pytest.approx(expected, abs=1e-12)


def test_names_by_mapping_apply_to_any_codes(X):
    X = X.assign(city=X["city"] * 10 - 5)
    names = {"city": {-5: "Oslo", 5.0: "Rome", np.int64(15): "Bern", 99: "not in the data"}}
    curve = paribus.Explainer(interaction_of_codes, X, category_names=names).partial_dependence("city")
    assert curve.grid_values[0].tolist() == CITIES


def test_names_are_in_results_of_parquet_as_in_memory(trees, X, tmp_path):
    X.to_parquet(tmp_path / "rows.parquet")
    for by in (None, "city"):
        options = {"category_names": NAMES, "by": by}
        files, memory = (
            paribus.Explainer(trees, source, **options).effects(["city", "age"])
            for source in (str(tmp_path / "rows.parquet"), X)
        )
        assert list(files) == list(memory)
        results = zip(files.values(), memory.values(), strict=True) if by else [(files, memory)]
        for read, held in results:
            assert read["city"].grid_values[0].tolist() == CITIES
            np.testing.assert_allclose(read["city"].average, held["city"].average, rtol=1e-12)


def test_names_are_in_curves_of_a_list_of_models(trees, X):
    models = [trees, HistGradientBoostingRegressor(max_iter=5, categorical_features=[1]).fit(X, target(X))]
    curve = paribus.Explainer(models, X, category_names=NAMES).partial_dependence("city")
    assert curve.grid_values[0].tolist() == CITIES
    assert curve.by_model is not None


def test_custom_values_are_names_or_codes(trees, X):
    explainer = paribus.Explainer(trees, X, category_names=NAMES)
    custom = {"city": ["Bern", 0, np.float64(1)]}
    curve = explainer.partial_dependence("city", custom_values=custom)
    coded = paribus.Explainer(trees, X, categorical_features=["city"]).partial_dependence(
        "city", custom_values={"city": [2, 0, 1]}
    )
    assert curve.grid_values[0].tolist() == ["Bern", "Oslo", "Rome"]
    assert_same_numbers(curve, coded)
    for unknown in ("Paris", 3):
        with pytest.raises(GridError, match=rf"{unknown!r} is not a category of 'city', which has 'Oslo'"):
            explainer.partial_dependence("city", custom_values={"city": [unknown]})


def test_named_values_are_in_tables_pictures_contrasts_and_files(trees, X, tmp_path):
    curve = paribus.Explainer(trees, X, category_names=NAMES).partial_dependence("city")
    assert curve.to_frame()["city"].tolist()[:3] == CITIES
    assert "at city = Bern" in repr(curve)
    (panel,) = curve.figure().panels
    assert {*CITIES} <= {text for _, text in panel.x.ticks}
    contrast = curve.contrast("Oslo", "Bern")
    assert contrast.estimate[0] == pytest.approx(curve.average[0, 2] - curve.average[0, 0])
    curve.save(tmp_path / "curve.json")
    assert paribus.load(tmp_path / "curve.json").grid_values[0].tolist() == CITIES


def test_named_groups_have_the_numbers_of_coded_groups(trees, X):
    named = paribus.Explainer(trees, X, by="city", category_names=NAMES).partial_dependence("age")
    coded = paribus.partial_dependence(trees, X, "age", by="city")
    assert list(named) == [*CITIES, "missing"]
    assert list(coded) == ["0", "1", "2", "missing"]
    for one, other in zip(named.values(), coded.values(), strict=True):
        assert_same_numbers(one, other)
    difference = named.difference("Bern", "Oslo")
    assert np.array_equal(difference.difference, coded.difference(2, 0).difference)


def test_named_groups_of_values_apart_from_the_features_have_names(X):
    model = LinearRegression().fit(X[["age", "income"]], target(X).fillna(0))
    for by in ("city", X["city"]):
        groups = paribus.Explainer(model, X, by=by, category_names=NAMES).partial_dependence("age")
        assert list(groups) == [*CITIES, "missing"]


def test_many_named_codes_are_groups_and_not_intervals(X):
    codes = np.arange(len(X)) % 20
    names = {"code": [f"name {code}" for code in range(20)]}
    model = LinearRegression().fit(X[["age"]], target(X).fillna(0))
    rows = X[["age"]].assign(code=codes)
    groups = paribus.Explainer(model, rows, by="code", category_names=names).partial_dependence("age")
    assert list(groups) == [*(f"name {code}" for code in range(11)), "other"]


def test_note_on_groups_without_sampled_rows_has_names(trees, X):
    X = X.assign(city=np.where(np.arange(len(X)) == 5, 2.0, np.arange(len(X)) % 2))
    explainer = paribus.Explainer(trees, X, by="city", category_names=NAMES)
    groups = explainer.partial_dependence("age", subsample=50)
    assert list(groups) == ["Oslo", "Rome"]
    texts = [note.text for note in groups.notes if note.code == NoteCode.SMALL_GROUP]
    assert texts == ["city = Bern has 0 rows in the sample, and therefore no result"]


def test_named_booleans_are_codes_zero_and_one(X):
    flags = X[["age"]].assign(flag=np.arange(len(X)) % 2 == 1)
    model = lambda rows: rows["age"] * rows["flag"].astype(float)  # noqa: E731
    curve = paribus.Explainer(model, flags, category_names={"flag": ["no", "yes"]}).partial_dependence("flag")
    assert curve.grid_values[0].tolist() == ["no", "yes"]
    assert curve.average[0] == pytest.approx([0.0, X["age"].mean()], abs=1e-12)


def test_regions_have_names(trees, X):
    found = paribus.Explainer(trees, X, category_names=NAMES).regions("age", max_depth=1)["age"]
    (split,) = found.splits
    assert split.feature == "city"
    assert {*split.categories} < {*CITIES}
    assert any(re.search("Oslo|Rome|Bern", region.text) for region in found.regions)


def test_note_on_a_nearly_constant_feature_has_the_name(X):
    X = X.assign(city=np.where(np.arange(len(X)) < 4, 1, 0))
    curve = paribus.Explainer(interaction_of_codes, X, category_names=NAMES).partial_dependence("city")
    texts = [note.text for note in curve.notes if note.code == NoteCode.NEARLY_CONSTANT]
    assert texts == ["city is Oslo in 99% of the data"]


def test_report_and_saved_explanation_have_names_and_no_codes(explanation, tmp_path):
    explanation.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(city in page for city in CITIES)
    assert not re.search(r"city = [\d.]+\b", page)
    explanation.save(tmp_path / "explanation.json")
    assert paribus.load(tmp_path / "explanation.json").effects["city"].grid_values[0].tolist() == CITIES


def test_drift_compares_curves_by_name(trees, explanation):
    other = table(1)
    later = paribus.Explainer(trees, other, target(other), category_names=NAMES).explain()
    drift = explanation.compare(later)
    (change,) = (effect for effect in drift.effects if effect.feature == "city")
    assert change.grid_values[0].tolist() == CITIES
    assert np.isfinite(change.change).all()


def test_column_in_a_group_of_one_keeps_its_names(trees, X):
    effects = paribus.Explainer(trees, X, category_names=NAMES).effects({"place": ["city"], "age": "age"})
    assert effects["place"].grid_values[0].tolist() == CITIES


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["Oslo"], OptionError, "must map features to a list of names by code"),
        ({"cty": CITIES}, FeatureError, "category_names: feature 'cty' is not a column of X; did you mean"),
        ({3: CITIES}, FeatureError, "category_names: feature 3 is not a column of X"),
        ({"city": CITIES, 1: CITIES}, OptionError, "'city' twice; give it by name or by position"),
        ({"city": "Oslo"}, OptionError, "of 'city' is 'Oslo'; pass a list of names by code"),
        ({"city": {"Oslo"}}, OptionError, "of 'city' is {'Oslo'}; pass a list of names by code"),
        ({"city": {"0": "Oslo"}}, OptionError, "has the code '0'; codes must be numbers"),
        ({"city": {np.nan: "Oslo"}}, OptionError, "has the code nan; codes must be numbers"),
        ({"city": ["Oslo", "Rome", "Oslo"]}, OptionError, "has 'Oslo' twice; give each code its own name"),
        ({"city": ["Oslo", " ", "Bern"]}, OptionError, "has the name ' '; names must be text"),
        ({"city": ["Oslo", 2, "Bern"]}, OptionError, "has the name 2; names must be text"),
    ],
)
def test_names_that_cannot_be_used_are_refused_at_once(X, names, error, message):
    with pytest.raises(error, match=re.escape(message)):
        paribus.Explainer(interaction_of_codes, X, category_names=names)


@pytest.mark.parametrize("source", ["memory", "parquet"])
@pytest.mark.parametrize("by", [None, "city"])
def test_codes_without_a_name_and_values_that_are_no_codes_are_refused(X, tmp_path, source, by):
    for values, message in (
        (X["city"], "category_names has 2 names for 'city', and none for its code 2.0; add it"),
        (
            X["city"].map({0: "a", 1: "a", 2: "a"}),
            "'city', whose values, such as 'a', are not numeric codes; leave",
        ),
        (
            pd.Series(pd.Timestamp("2026-01-01"), X.index),
            "are not numeric codes; leave it out",
        ),
    ):
        rows = X.assign(city=values)
        rows.to_parquet(tmp_path / "rows.parquet")
        data = rows if source == "memory" else str(tmp_path / "rows.parquet")
        explainer = paribus.Explainer(
            lambda block: np.asarray(block["age"]), data, by=by, category_names={"city": CITIES[:2]}
        )
        with pytest.raises(InputError, match=re.escape(message)):
            explainer.effects(None if by is None else ["age"])

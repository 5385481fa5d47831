"""How much of an effect is evaluated where there is no data."""

import datetime
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import paribus
from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._data.samples import sample_numbers
from paribus._evaluators import occupancy
from paribus._evaluators.occupancy import CRAMER, RATIO, SPEARMAN, RowSample
from paribus._kernels import compiled, reference
from paribus.errors import FormatError
from selection import nightly
from statistic_of import statistic_of


def first(table):
    """A model that any table will do for."""
    return np.zeros(len(table))


def pair(n, rho, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return np.column_stack([x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)])


def of(X, features=0, model=first, **options):
    return statistic_of("partial_dependence", model, X, features, **options).extrapolation


def by_hand(xj, xk, grid, weights=None):
    """The definition, with the bins of every value of integers."""
    weights = np.ones(len(xj)) if weights is None else weights
    xj, xk, weights = xj[weights > 0], xk[weights > 0], weights[weights > 0]
    off = asked = 0.0
    for g in grid:
        for c in np.unique(xk):
            if (xj == g).sum() * (xk == c).sum() / len(xj) >= 10:
                weight = weights[xk == c].sum()
                asked += weight
                off += weight * (not ((xj == g) & (xk == c)).any())
    return off / asked


def same(one, other):
    assert (one.share, one.feature, one.partner, one.measure) == (
        other.share,
        other.feature,
        other.partner,
        other.measure,
    )
    np.testing.assert_array_equal(one.by_point, other.by_point)
    assert (one.mask is None) == (other.mask is None)
    if one.mask is not None:
        np.testing.assert_array_equal(one.mask, other.mask)
    assert (one.partners, one.bins) == (other.partners, other.bins)


# ---------------------------------------------------------------- what it must show


def test_extrapolation_feature_that_is_copy_of_another_is_requested_off_data():
    X = pd.DataFrame(pair(2_000, 0.95), columns=["x1", "x2"])
    model = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(X, X["x1"])
    effect = paribus.partial_dependence(model, X, "x2")
    found = effect.extrapolation
    assert found.share > 0.2
    assert (found.feature, found.partner, found.measure) == ("x2", "x1", SPEARMAN)
    assert found.association == pytest.approx(X.corr("spearman").iloc[0, 1], abs=1e-12)
    (note,) = effect.notes
    assert note == (
        f"{100 * found.share:.3g}% of this curve combines values of x2 and x1 that do not occur together "
        f"(Spearman correlation {found.association:.3g}); compare accumulated_local_effects"
    )
    assert note in repr(effect)
    assert effect["extrapolation"] is found


MANY = nightly(1_000_000)


@pytest.mark.parametrize("n", [500, 3_000, 50_000, *MANY])
def test_extrapolation_correlated_numbers_are_found_at_every_size(n):
    assert of(pair(n, 0.95)).share > 0.2


@pytest.mark.parametrize("n", [200, 500, 3_000, 50_000, *MANY])
def test_extrapolation_independent_numbers_are_not(n):
    X = np.random.default_rng(1).normal(size=(n, 20 if n < 10**6 else 6))
    found = of(X)
    assert found.share < 0.02
    assert found.partners == X.shape[1] - 1


def test_extrapolation_ends_of_curve_are_off_and_its_middle_is_not():
    found = of(pair(20_000, 0.9))
    assert found.by_point.shape == (50,)
    assert found.by_point[[0, -1]].min() > 0.3 > 0.2 > found.by_point[22:28].max()
    assert found.share == pytest.approx(found.by_point.mean(), abs=0.01)


def test_extrapolation_it_is_definition():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 4_000)
    b = np.clip(a + rng.integers(-1, 2, 4_000), 0, 5)
    X = np.column_stack([a, b, rng.integers(0, 3, 4_000)]).astype(float)
    found = of(X)
    assert found.partner == "x1"
    assert found.share == pytest.approx(by_hand(a, b, np.unique(a)), abs=1e-15)
    assert 0.2 < found.share < 0.8


def test_extrapolation_cells_that_rows_are_not_expected_in_are_not_counted():
    rng = np.random.default_rng(0)
    a = np.repeat([0, 1], [3_000, 60])
    b = np.where(a == 1, 0, rng.integers(0, 2, 3_060))
    rare = np.where(rng.random(3_060) < 0.002, 2, b)  # a handful of rows, of which none is beside a == 1
    rare[a == 1] = 0
    found = of(np.column_stack([a, rare]).astype(float))
    assert found.share == pytest.approx(by_hand(a, rare, [0, 1]), abs=1e-15)
    assert found.by_point[1] == pytest.approx((rare == 1).sum() / (rare != 2).sum())


# ---------------------------------------------------------------- weights


def whole_numbers(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.clip(a + rng.integers(0, 2, n), 0, 3)
    return np.column_stack([a, b]).astype(float), rng.integers(0, 3, n).astype(float)


def test_extrapolation_weights_are_repeated_rows_and_zero_weights_dropped_ones():
    X, weights = whole_numbers(1_300)
    found = of(X, sample_weight=weights)
    repeated = of(np.repeat(X, weights.astype(int), axis=0))
    dropped = of(X[weights > 0], sample_weight=weights[weights > 0])
    for other in (repeated, dropped, of(X, sample_weight=weights * 2.0**20)):
        assert found.share == pytest.approx(other.share, abs=1e-14)
        np.testing.assert_allclose(found.by_point, other.by_point, atol=1e-14)
    assert found.share == pytest.approx(by_hand(*X.T, range(4), weights), abs=1e-14)


def test_extrapolation_row_of_weight_zero_fills_no_cell():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 200, axis=0)
    X = np.vstack([X, [[0.0, 1.0], [1.0, 0.0]]])
    weights = np.ones(len(X))
    assert of(X, sample_weight=weights).share == 0
    weights[-2:] = 0
    assert of(X, sample_weight=weights).share == 0.5


# ---------------------------------------------------------------- the same however it is computed


@pytest.mark.parametrize("weighted", [False, True])
def test_extrapolation_neither_threads_nor_blocks_nor_kind_of_answer_matter(weighted):
    X = np.column_stack([pair(9_000, 0.8), np.random.default_rng(1).normal(size=9_000)])
    weights = np.random.default_rng(2).integers(0, 3, 9_000) if weighted else None
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, X[:, 0])
    options = {"sample_weight": weights, "grid_resolution": 11}
    one = of(X, 1, model, **options)
    assert 0 < one.share < 1
    for more in (
        {"n_jobs": 1},
        {"n_jobs": 3},
        {"kind": "individual", "max_memory": "60MB"},
        {"method": "brute", "max_memory": "3MB"},
    ):
        same(one, of(X, 1, model, **options, **more))


def test_extrapolation_both_kernels_find_same(monkeypatch):
    X = np.column_stack([pair(5_000, 0.8), pair(5_000, -0.9, 1)])
    found = []
    for kernels in (reference, compiled):
        for module in (occupancy, occupancy):
            monkeypatch.setattr(module, "kernels_of", lambda small, kernels=kernels: kernels)
        found.append(of(X, 1))
    same(*found)


@pytest.mark.nightly
def test_extrapolation_small_call_does_not_load_numba():
    code = """
import sys, numpy as np, paribus
X = np.random.default_rng(0).normal(size=(2_000, 5))
assert paribus.effects(lambda t: t[:, 0], X)["x0"].extrapolation.partners == 4
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_extrapolation_pairs_that_few_rows_fill_are_found_empty_of_gaps(monkeypatch):
    X = np.column_stack([pair(9_000, 0.85), np.random.default_rng(1).normal(size=(9_000, 2))])
    found = paribus.effects(first, X, grid_resolution=20)
    monkeypatch.setattr(occupancy, "_has_empty_cells", lambda codes, pairs, *_: [True] * len(pairs))
    every = paribus.effects(first, X, grid_resolution=20)
    for name, effect in found.items():
        assert effect.extrapolation.share == every[name].extrapolation.share
    assert found["x0"].extrapolation.share > 0.05 > found["x2"].extrapolation.share == 0


def frame(n=6_000):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "near": (x + 0.2 * rng.normal(size=n)).astype("float32"),
            "count": np.round(5 * x + 20 + rng.normal(size=n)).astype("int64"),
            "city": pd.Series(np.array(["Bern", "Basel", "Genf"])[np.digitize(x, [-0.5, 0.5])]),
            "level": pd.Categorical(np.array(["low", "high"])[(x > 0).astype(int)], ["low", "high"]),
            "flag": x > 0.3,
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(60 * (x + 5)), unit="D"),
            "gap": np.where(x > 0.8, np.nan, rng.normal(size=n)),
            "noise": rng.normal(size=n),
        }
    )


NAMES = list(frame(40).columns)


@pytest.mark.nightly
@pytest.mark.parametrize("weighted", [*nightly(False), True])
def test_extrapolation_rows_that_are_read_report_same(tmp_path, weighted):
    table = frame()
    table["w"] = np.random.default_rng(3).integers(0, 3, len(table)).astype(float)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    pq.write_table(pa.Table.from_pandas(table[:2_500]), tmp_path / "part-0.parquet", row_group_size=900)
    pq.write_table(pa.Table.from_pandas(table[2_500:]), tmp_path / "part-1.parquet")
    shown = table[NAMES] if weighted else table  # read or held, a column without a use is noted
    # A model that says which columns it was fitted on, so that the weights are not among them.
    model = type(
        "Model", (), {"feature_names_in_": np.array(NAMES), "predict": lambda self, t: np.zeros(len(t))}
    )()
    asked = [*NAMES, ("x", "near"), ("city", "x")]
    options = {"grid_resolution": 12}
    held = paribus.effects(
        model, shown, asked, sample_weight=table["w"].to_numpy() if weighted else None, **options
    )
    for path in (tmp_path / "rows.parquet", sorted(tmp_path.glob("part-*.parquet"))):
        read = paribus.effects(model, path, asked, sample_weight="w" if weighted else None, **options)
        assert read.provenance.passes == 2 + weighted  # rows that are crossed are read by their numbers
        for name, effect in held.items():
            same(effect.extrapolation, read[name].extrapolation)
            assert effect.notes == read[name].notes


def test_extrapolation_rows_that_report_bins_are_those_chosen_among_chosen():
    numbers = np.arange(50_000)
    whole = numbers[sample_numbers(numbers, 0, 100)]
    parts = np.concatenate([part[sample_numbers(part, 0, 100)] for part in np.array_split(numbers, 7)])
    np.testing.assert_array_equal(whole, parts[sample_numbers(parts, 0, 100)])
    assert len(whole) == 100
    assert (np.diff(whole) > 0).all()
    weights = np.where(numbers % 2, 1.0, 0.0)
    few = rows_of(table_of(numbers[:, None].astype(float)), weights).head_sample(0).native
    assert len(few) == 4_096
    assert (few % 2 == 1).all()


# ---------------------------------------------------------------- kinds of columns


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", ["x", "near", "count", "city", "level", "flag", "day"])
def test_extrapolation_every_kind_of_column_is_requested_and_is_partner(name, library):
    table = frame()[[name, "x", "noise"]] if name != "x" else frame()[["x", "near", "noise"]]
    shown = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "pyarrow": lambda: pa.Table.from_pandas(table),
    }[library]()
    other = "near" if name == "x" else "x"
    for asked, partner in ((name, other), (other, name)):
        found = of(shown, asked, lambda t: np.zeros(len(t)))
        assert (found.feature, found.partner) == (asked, partner)
        assert found.share > 0.2
        assert found.measure == (RATIO if name in ("city", "level") else SPEARMAN)
        assert 0.5 < found.association <= 1


def test_extrapolation_categories_beside_categories():
    table = frame()[["city", "level", "noise"]]
    found = of(table, "city")
    assert (found.partner, found.measure) == ("level", CRAMER)
    assert found.by_point.shape == (3,)
    # Basel is beside both, Bern and Genf only beside one.
    assert sorted(found.by_point > 0) == [False, True, True]


def test_extrapolation_numbers_said_to_be_categories_have_bins_of_their_own():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 6, 4_000)
    X = np.column_stack([rng.normal(size=4_000) + 3 * (code % 2), code]).astype(float)
    found = of(X, 1, categorical_features=[1])
    assert (found.measure, found.partner) == (RATIO, "x0")
    assert (found.by_point > 0).all()


def test_extrapolation_rare_categories_are_pooled_and_claim_nothing():
    rng = np.random.default_rng(0)
    n = 20_000
    x = rng.normal(size=n)
    rare = np.where(rng.random(n) < 0.2, rng.integers(100, 400, n), rng.integers(0, 5, n)).astype(str)
    table = pd.DataFrame({"x": x, "rare": rare})
    assert of(table, "x", lambda t: np.zeros(len(t))).share == 0
    by_level = of(table, "rare", lambda t: np.zeros(len(t)))
    # Most of the hundred categories that are evaluated are pooled: too few are told of.
    assert by_level is None
    levels = paribus.partial_dependence(
        lambda t: np.zeros(len(t)), table, "rare", custom_values={"rare": ["0", "1", "300"]}
    ).extrapolation
    assert np.isnan(levels.by_point).tolist() == [False, False, True]


def test_extrapolation_missing_values_of_partner_are_bin():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4_000)
    gap = np.where(x > 0, np.nan, rng.normal(size=4_000))
    found = of(np.column_stack([x, gap]))
    assert found.partner == "x1"
    # Half of the rows miss it, and only at high values of x.
    assert found.share == pytest.approx(0.5, abs=0.05)
    asked = of(np.column_stack([x, gap]), 1)
    assert asked.by_point == pytest.approx(np.full(len(asked.by_point), 0.5), abs=0.1)


def test_extrapolation_infinite_values_and_constants_do_no_harm():
    X = np.column_stack([pair(2_000, 0.95), np.ones(2_000)])
    X[:20, 0], X[20:40, 1] = np.inf, -np.inf
    assert of(X, 1).share > 0.2
    assert of(X, 2).share == 0


def test_extrapolation_columns_that_cannot_be_read_are_no_partners():
    table = frame(500)[["x", "near"]]
    table["list"] = [[1]] * 500
    found = of(table, "x")
    assert (found.partners, found.partner) == (1, "near")


def test_extrapolation_objects_of_several_types_are_categories_whatever_block_holds():
    x = np.random.default_rng(0).normal(size=3_000)
    mixed = np.where(x > 0, "a", "b").astype(object)
    mixed[:40] = 3
    table = pd.DataFrame({"x": x, "mixed": mixed})
    found = of(table, "x", lambda t: np.zeros(len(t)))
    assert (found.partner, found.measure) == ("mixed", RATIO)
    assert found.share == pytest.approx(0.5, abs=0.1)


# ---------------------------------------------------------------- several features


def test_extrapolation_ring_leaves_its_middle_and_corners():
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 20_000), 1 + 0.1 * rng.normal(size=20_000)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=20_000)])
    effect = paribus.partial_dependence(first, X, (0, 1), grid_resolution=21, percentiles=(0, 1))
    found = effect.extrapolation
    assert (found.feature, found.partner) == ("x0", "x1")
    assert found.mask.shape == found.by_point.shape == (21, 21)
    a, b = effect.grid_values
    distance = np.hypot(*np.meshgrid(a, b, indexing="ij"))
    assert found.mask[distance < 0.5].all()
    assert found.mask[distance > 1.75].all()
    assert not found.mask[np.abs(distance - 1) < 0.05].any()
    assert found.share == pytest.approx(found.mask[~np.isnan(found.by_point)].mean())
    (note,) = effect.notes
    assert "values of x0 and x1 that do not occur together (Spearman correlation " in note
    assert "of this surface combines" in note


def test_extrapolation_pair_is_as_far_off_as_one_of_it_with_another():
    X = np.column_stack([pair(5_000, 0.99), np.random.default_rng(1).normal(size=5_000)])
    effect = paribus.partial_dependence(first, X, (2, 0), grid_resolution=10)
    found = effect.extrapolation
    assert (found.feature, found.partner, found.partners) == ("x0", "x1", 1)
    assert not found.mask.any()
    assert (found.by_point == found.by_point[0]).all()  # the same along x2
    alone = of(X, 0, grid_resolution=10, percentiles=(0.05, 0.95))
    assert found.share == alone.share
    np.testing.assert_array_equal(found.by_point[0], alone.by_point)


def test_extrapolation_three_features_are_as_far_off_as_worst_pair():
    X = np.column_stack([pair(5_000, 0.99), np.random.default_rng(1).normal(size=5_000)])
    three = of(X, (2, 0, 1), grid_resolution=6)
    two = of(X, (0, 1), grid_resolution=6)
    assert three.mask is None
    assert three.by_point.shape == (6, 6, 6)
    assert (three.share, three.feature, three.partner) == (two.share, "x0", "x1")
    np.testing.assert_array_equal(three.by_point[3], two.by_point)


# ---------------------------------------------------------------- many features, few rows


def test_extrapolation_of_many_features_those_that_go_most_with_it_are_looked_at():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3_000, 60)), columns=[f"x{j}" for j in range(60)])
    X["x57"] = X["x3"] + 0.1 * rng.normal(size=3_000)
    X["city"] = np.array(["a", "b", "c"])[np.digitize(X["x5"], [-1, 1])]
    X["town"] = X["city"].where(rng.random(3_000) < 0.9, "d")
    found = paribus.effects(
        lambda t: np.zeros(len(t)), X, ["x3", "x5", "city", "x8", ("x8", "x9")], grid_resolution=10
    )
    partners = {name: effect.extrapolation.partner for name, effect in found.items()}
    assert partners["x3"] == "x57"
    assert partners["x5"] in ("city", "town")
    assert partners["city"] in ("x5", "town")
    assert found["x3"].extrapolation.partners == 24
    assert found["x3"].extrapolation.share > 0.2
    assert found["x8", "x9"].extrapolation.mask.shape == (10, 10)


def test_extrapolation_measures():
    rng = np.random.default_rng(0)
    table = frame(3_000)
    table.loc[::7, "near"] = np.nan
    table["cubed"] = table["x"] ** 3
    probe = RowSample.of(table_of(table), frozenset(), 10)
    names = list(table.columns)

    def between(one, other):
        return probe.between(names.index(one), names.index(other))

    assert between("x", "cubed") == (pytest.approx(1.0), SPEARMAN)
    spearman = table[["x", "near"]].dropna().rank().corr().iloc[0, 1]
    assert between("near", "x") == (pytest.approx(spearman), SPEARMAN)
    ranks = table["x"].rank()
    means = ranks.groupby(table["city"]).transform("mean")
    assert between("city", "x") == between("x", "city")
    assert between("city", "x") == (pytest.approx(np.sqrt(means.var(ddof=0) / ranks.var(ddof=0))), RATIO)
    counts = pd.crosstab(table["city"], table["level"])
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / 3_000
    cramer = np.sqrt(((counts - expected) ** 2 / expected).to_numpy().sum() / 3_000)
    assert between("city", "level") == (pytest.approx(cramer), CRAMER)
    constant = RowSample.of(table_of(np.column_stack([np.ones(50), rng.normal(size=50)])), frozenset(), 5)
    assert constant.between(0, 1) == (0.0, SPEARMAN)


@pytest.mark.parametrize("X", [pair(179, 0.99), pair(500, 0.99)[:, :1]], ids=["few rows", "one column"])
def test_extrapolation_where_nothing_can_be_reported_there_is_none(X):
    effect = paribus.partial_dependence(first, X, 0)
    assert effect.extrapolation is None
    assert effect["extrapolation"] is None
    assert not effect.notes


def test_extrapolation_hundred_and_eighty_rows_are_enough_for_three_bins():
    found = of(pair(180, 1.0))
    assert found.bins == 3
    assert found.share > 0.5


# ---------------------------------------------------------------- recursion


def test_extrapolation_recursion_asks_about_no_such_rows():
    X = pair(3_000, 0.95)
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, X[:, 0] * X[:, 1])
    recursion = paribus.partial_dependence(model, X, 1, method="recursion", grid_resolution=20)
    assert recursion.extrapolation is None
    assert recursion.notes[-1].startswith("averaged along the paths of the training data")
    assert recursion.provenance.passes == 1


# ---------------------------------------------------------------- results


def test_extrapolation_it_is_saved_and_read_back(tmp_path):
    X = np.column_stack([pair(2_000, 0.95), np.random.default_rng(1).normal(size=2_000)])
    found = paribus.effects(first, X, [0, (0, 1), (0, 1, 2)], grid_resolution=5)
    found.save(tmp_path / "effects.json")
    again = paribus.load(tmp_path / "effects.json")
    assert again == found
    for name, effect in found.items():
        same(effect.extrapolation, again[name].extrapolation)
        assert again[name].extrapolation.association == effect.extrapolation.association
        with pytest.raises(ValueError):
            again[name].extrapolation.by_point[...] = 0
    one = paribus.partial_dependence(first, X[:30], 0)
    one.save(tmp_path / "one.json")
    assert paribus.load(tmp_path / "one.json").extrapolation is None


@pytest.mark.parametrize("field", ["by_point", "mask"])
def test_extrapolation_saved_one_of_another_shape_is_refused(tmp_path, field):
    from paribus.results.storage import _digest

    path = tmp_path / "effect.json"
    paribus.partial_dependence(first, pair(2_000, 0.9), (0, 1), grid_resolution=5).save(path)
    document = json.loads(path.read_text())
    document["result"]["extrapolation"][field]["shape"] = [25]
    document["digest"] = _digest(document["result"])
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="extrapolation of PartialDependence: mask has shape"):
        paribus.load(path)


def test_extrapolation_classifier_with_several_classes():
    X = pair(2_000, 0.95)
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, np.digitize(X[:, 0], [-1, 1]))
    assert of(X, 1, model).share > 0.2


# ---------------------------------------------------------------- other notes


@pytest.mark.parametrize("weighted", [False, True])
def test_extrapolation_feature_that_hardly_varies_is_reported(tmp_path, weighted):
    rng = np.random.default_rng(0)
    n = 2_000
    mostly = np.zeros(n)
    mostly[:40] = rng.normal(size=40)
    table = pd.DataFrame(
        {
            "mostly": mostly,
            "city": np.where(np.arange(n) < 20, "Genf", "Bern"),
            "flag": np.arange(n) < 10,
            "day": [datetime.datetime(2026, 1, 1 + (i < 30)) for i in range(n)],
            "fair": np.arange(n) % 10 == 0,
            "free": rng.normal(size=n),
        }
    )
    weights = np.where(np.arange(n) < 40, 0.5, 1.0) if weighted else None
    model = lambda t: np.zeros(len(t))  # noqa: E731
    found = paribus.effects(model, table, sample_weight=weights)
    total = n if weights is None else weights.sum()

    def share(varying):
        return 1 - varying * (1.0 if weights is None else 0.5) / total

    told = {
        "mostly": f"mostly is 0 in {100 * share(40):.3g}% of the data",
        "city": f"city is Bern in {100 * share(20):.3g}% of the data",
        "flag": f"flag is False in {100 * share(10):.4g}% of the data",
        "day": f"day is 2026-01-01 in {100 * share(30):.3g}% of the data",
    }
    for name, note in told.items():
        assert note in found[name].notes
    for name in ("fair", "free"):
        assert not any("of the data" in note for note in found[name].notes)
    if not weighted:
        table.to_parquet(tmp_path / "rows.parquet")
        read = paribus.effects(model, tmp_path / "rows.parquet")
        for name in told:
            assert read[name].notes == found[name].notes


def test_extrapolation_missing_values_are_reported():
    X = pair(200, 0.0)
    X[:24, 0] = np.nan
    note = "x0 is missing in 12% of the data; the effect at missing is reported separately"
    assert note in paribus.partial_dependence(first, X, 0).notes
    together = paribus.partial_dependence(first, X, (0, 1), grid_resolution=4).notes
    assert "x0 is missing in 12% of the data; its effect there is reported for it alone" in together

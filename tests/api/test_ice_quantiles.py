"""How differently rows respond: quantiles of their curves, curves relative to a point, slopes."""

import datetime
import json
import pickle
import re
from functools import cache

import lightgbm
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import paribus
from paribus._display.figure import Band
from paribus._states import PointValues, known_states, merge_in_order
from paribus._states.codec import packed, unpacked
from statistic_of import statistic_of

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    """Close the pictures a test has drawn."""
    yield
    plt.close("all")


ROWS = 900
Q = (0.1, 0.25, 0.5, 0.75, 0.9)
ODD = (0.0, 0.05, 0.37, 1.0)


@cache
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"temp": rng.normal(15, 6, ROWS), "wind": rng.normal(size=ROWS)})
    X["gap"] = np.where(rng.random(ROWS) < 0.15, np.nan, rng.gamma(2.0, size=ROWS))
    X["floor"] = rng.integers(0, 12, ROWS)
    return X


def weights():
    rng = np.random.default_rng(5)
    return np.where(rng.random(ROWS) < 0.2, 0.0, rng.gamma(1.0, size=ROWS))


def crossing(X):
    """A model whose rows respond differently."""
    gap = np.nan_to_num(np.asarray(X["gap"]), nan=-1.0)
    return (1 + np.asarray(X["wind"])) * np.sin(np.asarray(X["temp"]) / 4) + gap * np.asarray(X["wind"])


def both_outputs(X):
    return np.stack([crossing(X), 3.0 - crossing(X) ** 2], axis=1)


@cache
def tree(name):
    X, y = table(), crossing(table())
    models = {
        "lightgbm": lightgbm.LGBMRegressor(n_estimators=20, num_leaves=9, verbose=-1, n_jobs=1),
        "lightgbm classes": lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, verbose=-1, n_jobs=1),
        "histgb": HistGradientBoostingRegressor(max_iter=20),
        "histgb class": HistGradientBoostingClassifier(max_iter=15),
    }
    target = {"lightgbm classes": np.digitize(y, [-1, 1]), "histgb class": y > 0}.get(name, y)
    return models[name].fit(X, target)


TREES = ("lightgbm", "lightgbm classes", "histgb", "histgb class")


def pd_of(model, X, features, **options):
    return statistic_of("partial_dependence", model, X, features, **({"grid_resolution": 15} | options))


@pytest.mark.parametrize("model", [crossing, both_outputs, *TREES])
@pytest.mark.parametrize("features", ["temp", "gap", ["temp", "floor"]])
def test_it_is_numpys_quantile_of_all_individual_curves(model, features):
    model = tree(model) if isinstance(model, str) else model
    effect = pd_of(model, table(), features, quantiles=Q)
    curves = pd_of(model, table(), features, kind="individual")
    expected = np.moveaxis(np.quantile(curves.individual, Q, axis=1), 0, 1)
    assert effect.quantiles.values.shape == (len(effect.output_names), len(Q), *effect.support.shape)
    np.testing.assert_allclose(effect.quantiles.values, expected, rtol=0, atol=1e-12)
    assert effect.quantiles.rank_error == 0.0
    assert effect.quantiles.probabilities.tolist() == list(Q)
    if features == "gap":
        missing = np.quantile(curves.missing.individual, Q, axis=1).T
        np.testing.assert_allclose(effect.quantiles.missing, missing, rtol=0, atol=1e-12)
    else:
        assert effect.quantiles.missing is None


@pytest.mark.parametrize("model", [crossing, "lightgbm", "histgb class"])
@pytest.mark.parametrize("kind", ["average", "individual", "both"])
def test_whichever_curves_are_kept_the_spread_is_the_same(model, kind):
    model = tree(model) if isinstance(model, str) else model
    one = pd_of(model, table(), "gap", quantiles=ODD, sample_weight=weights())
    two = pd_of(model, table(), "gap", quantiles=ODD, sample_weight=weights(), kind=kind)
    np.testing.assert_allclose(one.quantiles.values, two.quantiles.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.quantiles.missing, two.quantiles.missing, rtol=0, atol=1e-12)
    assert ("average" in two) == (kind != "individual")


def test_two_rows_of_different_weight():
    X = np.array([[0.0, 1.0], [0.0, 5.0], [1.0, 7.0]])
    effect = paribus.partial_dependence(
        lambda t: t[:, 1], X, 0, quantiles=(0, 0.25, 0.5, 1), sample_weight=[3.0, 1.0, 0.0]
    )
    assert effect.quantiles.values[0, :, 0].tolist() == np.quantile([1, 1, 1, 5], (0, 0.25, 0.5, 1)).tolist()


def ranks(numbers, w, values):
    """Return the share of the weight below each value, and up to it."""
    order = np.argsort(numbers)
    upper = np.append(0.0, np.cumsum(w[order])) / w.sum()
    ordered = numbers[order]
    return upper[np.searchsorted(ordered, values)], upper[np.searchsorted(ordered, values, side="right")]


@pytest.mark.parametrize("model", [crossing, "lightgbm", "histgb class"])
@pytest.mark.parametrize("weighted", [False, True])
def test_beyond_the_bound_ranks_are_off_by_no_more_than_is_said(model, weighted):
    model = tree(model) if isinstance(model, str) else model
    X = pd.concat([table()] * 12, ignore_index=True)
    X["wind"] += np.random.default_rng(1).normal(size=len(X))
    w = np.random.default_rng(2).gamma(1.0, size=len(X))
    grid = {"gap": np.linspace(0.1, 5, 15)}
    options = {"quantiles": (0.0, *Q, 1.0), "sample_weight": w if weighted else None, "custom_values": grid}
    few = pd_of(model, X, "gap", max_memory="4MB", **options).quantiles
    assert 0 < few.rank_error < 0.2
    curves = pd_of(model, X, "gap", kind="individual", custom_values=grid).individual[0]
    counted = w if weighted else np.ones(len(X))
    slack = few.rank_error + counted.max() / counted.sum()
    worst = 0.0
    for g in range(curves.shape[1]):
        below, upto = ranks(curves[:, g], counted, few.values[0, :, g])
        assert (below - slack <= few.probabilities).all()
        assert (few.probabilities <= upto + slack).all()
        worst = max(worst, float(np.max(below - few.probabilities)), float(np.max(few.probabilities - upto)))
        assert few.values[0, [0, -1], g].tolist() == [curves[:, g].min(), curves[:, g].max()]
    assert worst > 0  # or nothing was thinned out
    again = pd_of(model, X, "gap", max_memory="4MB", n_jobs=3, **options).quantiles
    assert again.values.tobytes() == few.values.tobytes()


def test_the_free_memory_changes_nothing(monkeypatch):
    from paribus import _budget

    found = []
    for free in (300_000_000, 8_000_000_000):
        monkeypatch.setattr(_budget, "free_memory", lambda free=free: free)
        monkeypatch.setattr("paribus._api.statistics.effects_statistic.QUANTILE_BYTES", 200_000)
        found.append(pd_of(tree("histgb class"), table(), "gap", quantiles=Q, grid_resolution=40).quantiles)
    assert found[0].rank_error == found[1].rank_error > 0
    assert found[0].values.tobytes() == found[1].values.tobytes()


def test_a_state_is_merged_shipped_and_kept():
    rng = np.random.default_rng(0)
    values, w = rng.normal(size=(2, 3, 700)), rng.gamma(1.0, size=700)
    cuts = [slice(0, 100), slice(100, 130), slice(130, 500), slice(500, 700)]
    for own in (None, w):
        blocks = [(values[..., c], None if own is None else own[c]) for c in cuts]
        exact = [PointValues.of(v, u, most=700, capacity=9) for v, u in blocks]
        thin = [PointValues.of(v, u, most=120, capacity=90) for v, u in blocks]
        told, error = merge_in_order(exact).quantiles(ODD)
        assert error == 0
        left = exact[0].merge(exact[1]).merge(exact[2]).merge(exact[3]).quantiles(ODD)[0]
        right = exact[0].merge(exact[1].merge(exact[2].merge(exact[3]))).quantiles(ODD)[0]
        assert left.tobytes() == right.tobytes() == told.tobytes()
        for state in (merge_in_order(exact), merge_in_order(thin), thin[0], thin[2]):
            before = state.quantiles(ODD)
            for copy in (pickle.loads(pickle.dumps(state)), unpacked(packed(state), known_states())):
                assert copy.quantiles(ODD)[0].tobytes() == before[0].tobytes()
                assert copy.quantiles(ODD)[1] == before[1]
            assert state.merge(state).quantiles(ODD)[0].shape == before[0].shape
            assert state.quantiles(ODD)[0].tobytes() == before[0].tobytes()
        thinned, error = merge_in_order(thin).quantiles(ODD)
        assert 0 < error <= 4 / 90
        assert np.array_equal(thinned[:, [0, -1]], told[:, [0, -1]])


def test_what_is_not_finite_has_no_quantile_and_harms_no_other_point():
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])

    def broken(t):
        return np.where((t[:, 0] == 1) & (t[:, 1] == 2), np.nan, t[:, 1])

    for kind in ("average", "both"):
        effect = paribus.partial_dependence(broken, X, 0, quantiles=(0, 0.5), kind=kind)
        assert np.isnan(effect.quantiles.values[0, :, 1]).all()
        assert effect.quantiles.values[0, :, [0, 2]].tolist() == [[1, 2], [1, 2]]
    thin = PointValues.of(np.array([[[1.0, np.nan, 3.0] * 9, [1.0, 2.0, 3.0] * 9]]), None, most=5, capacity=5)
    found, _ = thin.quantiles((0.5, 1.0))
    assert np.isnan(found[0, :, 0]).all()
    assert found[0, :, 1].tolist() == [2, 3]


def test_a_checkpoint_resumes_to_the_same_spread(tmp_path):
    table().to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    options = {"quantiles": Q, "checkpoint": tmp_path / "kept", "max_memory": "3MB"}
    first = pd_of(tree("lightgbm"), tmp_path / "rows.parquet", "temp", **options)
    second = pd_of(tree("lightgbm"), tmp_path / "rows.parquet", "temp", **options)
    assert first.quantiles.values.tobytes() == second.quantiles.values.tobytes()
    without = pd_of(tree("lightgbm"), tmp_path / "rows.parquet", "temp", **(options | {"quantiles": None}))
    assert without.quantiles is None
    assert without.average.tobytes() == first.average.tobytes()


def test_it_is_absent_unless_asked_for():
    effect = pd_of(crossing, table(), "temp")
    assert "quantiles" not in effect
    assert "row_weights" not in effect
    assert effect.quantiles is None
    with pytest.raises(KeyError):
        effect["quantiles"]
    asked = pd_of(crossing, table(), "temp", quantiles=True)
    assert asked["quantiles"] is asked.quantiles
    assert asked.quantiles.probabilities.tolist() == list(Q)
    with pytest.raises(ValueError, match="read-only"):
        asked.quantiles.values[0] = 0
    assert "80 % of rows lie within" in repr(asked)
    assert np.array_equal(effect.average, asked.average)
    assert np.array_equal(effect.standard_error, asked.standard_error)


@pytest.mark.parametrize("given", [0.5, "0.5", [], [0.5, 1.2], [-0.1], [np.nan], [0.5, 0.5], ["a"], 3])
def test_what_is_no_probability_is_refused(given):
    for request in (paribus.partial_dependence, paribus.effects):
        with pytest.raises(paribus.errors.OptionError, match="quantiles="):
            request(crossing, table(), ["temp"], quantiles=given)


def test_no_spread_is_none():
    assert paribus.partial_dependence(crossing, table(), ["temp"], quantiles=False).quantiles is None


def test_training_paths_have_no_spread():
    forest = RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0)
    X = table()[["temp", "wind"]]
    forest.fit(X, X["temp"] * X["wind"])
    with pytest.raises(paribus.errors.RefusalError, match="leave quantiles out"):
        pd_of(forest, X, "temp", quantiles=True, method="recursion")
    paths = pd_of(forest, X, "temp", method="recursion").centered()
    assert paths.standard_error is None
    assert not any("kind='both'" in note for note in paths.notes)


def test_more_memory_than_the_bound_is_refused():
    with pytest.raises(paribus.errors.MemoryBoundError, match="leave quantiles out"):
        pd_of(crossing, table(), ["temp", "wind"], quantiles=True, grid_resolution=60, max_memory="1MB")


def test_it_is_saved_and_loaded(tmp_path):
    effect = pd_of(both_outputs, table(), "gap", quantiles=Q, kind="both", sample_weight=weights())
    effect.save(tmp_path / "one.json")
    again = paribus.load(tmp_path / "one.json")
    assert again == effect
    assert isinstance(again.quantiles, paribus.results.IceQuantiles)
    assert again.quantiles.missing.tobytes() == effect.quantiles.missing.tobytes()
    assert again.row_weights.tobytes() == effect.row_weights.tobytes()
    other = pd_of(both_outputs, table(), "gap", quantiles=(0.1, 0.25, 0.5, 0.75, 0.95), kind="both")
    assert other != effect
    many = paribus.effects(crossing, table(), ["temp", "gap"], quantiles=True, grid_resolution=5)
    many.save(tmp_path / "many.json")
    assert paribus.load(tmp_path / "many.json") == many


@pytest.mark.parametrize("part", ["values", "missing", "row_weights"])
def test_a_spread_of_another_shape_is_refused(part, tmp_path):
    from paribus.results.storage import _digest

    path = tmp_path / "one.json"
    pd_of(crossing, table(), "gap", quantiles=Q, kind="both", sample_weight=weights()).save(path)
    document = json.loads(path.read_text())
    body = document["result"] if part == "row_weights" else document["result"]["quantiles"]
    body[part] = {"dtype": "<f8", "shape": [3], "values": [0.0, 1.0, 2.0]}
    document["digest"] = _digest(document["result"])
    path.write_text(json.dumps(document))
    with pytest.raises(paribus.errors.FormatError, match=part):
        paribus.load(path)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_table_has_a_column_per_quantile(backend):
    X = table().rename(columns={"gap": "q10"})

    def renamed(t):
        return both_outputs(t.rename(columns={"q10": "gap"}))

    effect = pd_of(renamed, X, "q10", quantiles=(0.1, 0.025, 0.5), target_names=["a", "b"])
    frame = effect.to_frame(backend=backend)
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    wanted = ["output", "q10 (feature)", "average", "standard_error", "support", "q10", "q2.5", "q50"]
    assert names == wanted
    q10 = np.asarray(frame["q10"]).reshape(2, -1)
    np.testing.assert_array_equal(q10[:, :-1], effect.quantiles.values[:, 0])
    np.testing.assert_array_equal(q10[:, -1], effect.quantiles.missing[:, 0])
    long = paribus.effects(
        crossing, table(), ["temp", ("temp", "floor")], quantiles=(0.5,), grid_resolution=4
    )
    assert len(long.to_frame()["q50"]) == sum(e.average.size for e in long.values())


# Relative to a point


@pytest.mark.parametrize("model", [crossing, both_outputs, "lightgbm", "lightgbm classes"])
@pytest.mark.parametrize("features", ["gap", ["temp", "floor"]])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_centered_curves_is_the_centered_average(model, features, weighted):
    model = tree(model) if isinstance(model, str) else model
    w = weights() if weighted else None
    effect = pd_of(model, table(), features, kind="both", quantiles=Q, sample_weight=w, grid_resolution=7)
    place = (3,) if features == "gap" else (3, 2)
    at = tuple(v[g] for v, g in zip(effect.grid_values, place, strict=True))
    centered = effect.centered(at=at if len(at) > 1 else at[0])
    np.testing.assert_allclose(
        np.average(centered.individual, axis=1, weights=w), centered.average, rtol=0, atol=1e-12
    )
    anchor = (slice(None), *place)
    assert not centered.average[anchor].any()
    assert not centered.standard_error[anchor].any()
    assert not centered.quantiles.values[(slice(None), *anchor)].any()
    np.testing.assert_equal(centered.strength, effect.strength)
    expected = effect.individual - effect.individual[(slice(None), *anchor)][(..., *[None] * len(place))]
    np.testing.assert_allclose(centered.individual, expected, atol=1e-14)
    if not weighted:
        error = expected.std(axis=1, ddof=1) / np.sqrt(ROWS)
        np.testing.assert_allclose(centered.standard_error, error, atol=1e-12)
        quantiles = np.moveaxis(np.quantile(expected, Q, axis=1), 0, 1)
        np.testing.assert_allclose(centered.quantiles.values, quantiles, atol=1e-12)
    if features == "gap":
        gone = effect.missing.individual - effect.individual[:, :, 3]
        np.testing.assert_allclose(centered.missing.individual, gone, atol=1e-14)
        np.testing.assert_allclose(
            centered.missing.average, np.average(gone, axis=1, weights=w), rtol=0, atol=1e-12
        )
        assert (centered.missing.standard_error > 0).all()
        assert centered.quantiles.missing.shape == effect.quantiles.missing.shape


def test_zero_weights_do_not_count_in_what_is_centered():
    w = weights()
    values = {"gap": [0.5, 1.0, 4.0]}
    options = {"kind": "both", "quantiles": Q, "custom_values": values}
    one = pd_of(crossing, table(), "gap", sample_weight=w, **options)
    two = pd_of(crossing, table()[w > 0], "gap", sample_weight=16 * w[w > 0], **options)
    for change in (paribus.results.PartialDependence.centered, paribus.results.PartialDependence.derivative):
        for name in ("average", "standard_error"):
            np.testing.assert_allclose(getattr(change(one), name), getattr(change(two), name), atol=1e-12)
        np.testing.assert_allclose(change(one).quantiles.values, change(two).quantiles.values, atol=1e-12)


def test_what_is_centered_says_so():
    effect = pd_of(crossing, table(), "temp", kind="both", custom_values={"temp": [3.2, 8.0, 20.0]})
    centered = effect.centered()
    assert centered.provenance.scale == "prediction, relative to temp = 3.2"
    assert "quantiles" not in centered
    assert centered.plot().axes[0].get_ylabel().replace("\n", " ") == "change in prediction from temp = 3.2"
    again = centered.centered(at=8.0)
    assert again.provenance.scale == "prediction, relative to temp = 8"
    np.testing.assert_allclose(again.average, effect.centered(at=8).average, atol=1e-14)
    levels = paribus.partial_dependence(
        lambda t: np.where(t["town"] == "B", 2.0, 1.0),
        pd.DataFrame({"town": list("ABBC")}),
        "town",
        kind="both",
    )
    assert levels.centered("B").average[0].tolist() == [0.0, -1.0, -1.0]


def test_without_curves_only_the_average_is_centered(tmp_path):
    effect = pd_of(crossing, table(), "gap", quantiles=True)
    for change in (effect.centered(), effect.derivative()):
        assert change.standard_error is None
        assert change.quantiles is None
        assert any("kind='both'" in note for note in change.notes)
        change.plot()
        frame = change.to_frame()
        assert frame["standard_error"].isna().all()
        assert "q50" not in frame
        change.save(tmp_path / "one.json")
        assert paribus.load(tmp_path / "one.json") == change
        assert "PartialDependence" in repr(change)
    np.testing.assert_array_equal(effect.centered().average, effect.average - effect.average[:, :1])
    np.testing.assert_array_equal(
        effect.centered().missing.average, effect.missing.average - effect.average[:, 0]
    )
    alone = pd_of(crossing, table(), "gap", kind="individual", quantiles=True)
    for change in (alone.centered(), alone.derivative()):
        assert change.average is None
        assert change.standard_error is None
        assert change.individual.shape == alone.individual.shape
        assert change.quantiles.values.shape == alone.quantiles.values.shape


def days():
    dates = pd.Timestamp("2024-03-01") + pd.to_timedelta([0, 1, 5, 9, 30, 33], unit="D")
    return pd.DataFrame({"day": dates, "town": list("ABCABC"), "size": np.arange(6.0)})


def by_day(X):
    since = (pd.to_datetime(X["day"]) - pd.Timestamp("2024-01-01")) / pd.Timedelta(days=1)
    return 0.25 * since.to_numpy() * (1 + X["size"].to_numpy())


@pytest.mark.parametrize(
    "at", ["2024-03-06", datetime.date(2024, 3, 6), pd.Timestamp("2024-03-06"), np.datetime64("2024-03-06")]
)
def test_a_date_is_found_however_it_is_written(at):
    effect = paribus.partial_dependence(by_day, days(), "day", kind="both")
    assert effect.centered(at=at).average[0, 2] == 0
    assert effect.centered(at=at).provenance.scale.relative_to == "day = 2024-03-06"


def test_a_date_with_a_zone_is_found():
    X = days().assign(day=days()["day"].dt.tz_localize("UTC"))
    effect = paribus.partial_dependence(lambda t: t["size"].to_numpy(), X, "day", kind="both")
    centered = effect.centered(at=pd.Timestamp("2024-03-06 01:00", tz="Europe/Zurich"))
    assert centered.provenance.scale.relative_to.endswith("2024-03-06")


def test_what_is_no_grid_value_is_refused_with_the_nearest():
    effect = pd_of(crossing, table(), "temp", custom_values={"temp": [3.2, 8.0, 20.0]})
    for at, words in (
        (7.0, "the nearest is 8.0"),
        ("warm", "not a grid value of temp"),
        ((1, 2), "each of temp"),
    ):
        with pytest.raises(paribus.errors.OptionError, match=re.escape(words)):
            effect.centered(at=at)
    dated = paribus.partial_dependence(by_day, days(), "day")
    with pytest.raises(paribus.errors.OptionError, match="the nearest is 2024-03-06"):
        dated.centered(at="2024-03-07")
    with pytest.raises(paribus.errors.OptionError, match="not a grid value of day"):
        dated.centered(at="soon")
    towns = paribus.partial_dependence(lambda t: t["size"], days(), "town")
    with pytest.raises(paribus.errors.OptionError, match="town; known: 'A', 'B', 'C'"):
        towns.centered(at="Z")
    surface = pd_of(crossing, table(), ["temp", "floor"])
    with pytest.raises(paribus.errors.OptionError, match="each of temp, floor"):
        surface.centered(at=3.0)


# Slopes


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_the_slope_of_a_straight_line_is_its_slope(order):
    """On an uneven grid that may run either way and repeat a point."""
    values = np.array([0.1, 0.11, 2.0, 2.0, 7.5, 31.0])[order]
    effect = pd_of(
        lambda X: 3.0 * X["temp"] * X["wind"] - 2.0 * X["temp"],
        table(),
        "temp",
        kind="both",
        quantiles=Q,
        custom_values={"temp": values},
    )
    slope = effect.derivative()
    own = 3.0 * table()["wind"].to_numpy() - 2.0
    np.testing.assert_allclose(slope.individual[0], np.repeat(own[:, None], 6, axis=1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(slope.average[0], own.mean(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(slope.standard_error[0], own.std(ddof=1) / np.sqrt(ROWS), rtol=0, atol=1e-9)
    np.testing.assert_allclose(slope.quantiles.values[0, :, 2], np.quantile(own, Q), rtol=0, atol=1e-9)
    assert slope.provenance.scale == "prediction per unit of temp"
    assert slope.strength == pytest.approx(0, abs=1e-9)
    assert slope.plot().axes[0].get_ylabel() == "prediction per unit of temp"
    assert effect.centered().derivative().provenance.scale == "prediction per unit of temp"


def test_the_slope_of_a_parabola_is_exact_within():
    effect = pd_of(lambda X: X["temp"] ** 2, table(), "temp", custom_values={"temp": [0.0, 1.0, 5.0, 6.0]})
    slope = effect.derivative()
    np.testing.assert_allclose(slope.average[0], [1.0, 2.0, 10.0, 11.0])
    assert slope.strength > 0


def test_dates_have_slopes_per_day():
    effect = paribus.partial_dependence(by_day, days(), "day", kind="both")
    slope = effect.derivative()
    np.testing.assert_allclose(
        slope.individual[0], np.repeat(0.25 * np.arange(1, 7)[:, None], 6, axis=1), atol=1e-9
    )
    assert slope.provenance.scale == "prediction per day"


def test_the_missing_value_has_no_slope():
    effect = pd_of(crossing, table(), "gap", kind="both")
    slope = effect.derivative()
    assert slope.missing is None
    np.testing.assert_allclose(
        slope.individual, np.gradient(effect.individual, effect.grid_values[0], axis=-1), atol=1e-12
    )


def test_what_has_no_slope_is_refused():
    with pytest.raises(paribus.errors.OptionError, match=r"one feature; this is an effect of temp x wind"):
        pd_of(crossing, table(), ["temp", "wind"], grid_resolution=4).derivative()
    with pytest.raises(paribus.errors.OptionError, match="town is string"):
        paribus.partial_dependence(lambda t: t["size"], days(), "town").derivative()
    with pytest.raises(paribus.errors.OptionError, match="two distinct values"):
        pd_of(crossing, table(), "temp", custom_values={"temp": [3.0]}).derivative()
    with pytest.raises(paribus.errors.OptionError, match="splits"):
        pd_of(tree("lightgbm"), table(), "temp", grid_resolution="splits").derivative()


# Pictures


def words(effect):
    """Return what the legend of a picture's first panel says."""
    return [mark.label for mark in effect.figure().panels[0].marks if getattr(mark, "label", None)]


def explained(page):
    """Return what the only legend of a page says."""
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    return [text.get_text() for text in legend.get_texts()]


def test_a_legend_says_which_band_is_which():
    bands = ["80 % of rows", "50 % of rows", "median of rows"]
    effect = pd_of(crossing, table(), "gap", quantiles=True)
    assert words(effect) == explained(effect.plot().figure) == [*bands, "average ± 2 standard errors"]
    both = pd_of(crossing, table(), "gap", quantiles=(0.05, 0.3, 0.95), kind="both")
    assert words(both) == [
        "90 % of rows",
        "quantile 0.3 of rows",
        "12 of 900 rows",
        "average ± 2 standard errors",
    ]
    assert words(effect.centered()) == ["average"]
    many = pd_of(both_outputs, table(), "gap", quantiles=(0.1, 0.5, 0.9), target_names=["a", "b"])
    own = ["80 % of rows", "median of rows", "average ± 2 standard errors"]
    assert [panel.y.label for panel in many.figure().panels] == ["predicted a", "predicted b"]
    assert words(many) == explained(many.plot()) == own
    towns = paribus.partial_dependence(lambda t: t["size"].to_numpy(), days(), "town", quantiles=True)
    assert words(towns) == [*bands, "average ± 2 standard errors"]


def test_a_band_is_drawn_where_the_quantiles_are():
    effect = pd_of(crossing, table(), "temp", quantiles=(0.1, 0.9), percentiles=(0.05, 0.95))
    (panel,) = effect.figure().panels
    (band,) = [mark for mark in panel.marks if isinstance(mark, Band) and mark.label]
    np.testing.assert_array_equal(band.low, effect.quantiles.values[0, 0])
    np.testing.assert_array_equal(band.high, effect.quantiles.values[0, 1])


def test_the_bands_are_explained_once():
    found = paribus.effects(crossing, table(), ["temp", "wind", "floor"], quantiles=True, grid_resolution=6)
    assert explained(found.plot()) == words(found)
    assert len(set(words(found))) == len(words(found)) == 4

"""Models whose predictions are dear: rows are drawn to stay within a bound, and calls are few."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import GradientBoostingRegressor

import paribus
from paribus._api import cost
from paribus.errors import OptionError
from paribus.notes import NoteCode

ROWS, NAMES = 1_200, ["a", "b", "c"]
FIRST, FIRST_CALLS = 103, 4  # rows by which a model is tried first, in so many calls


def frame(rows=ROWS):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=NAMES)
    return table.assign(w=np.where(rng.random(rows) < 0.2, 0.0, rng.gamma(1.0, size=rows)))


class Dear:
    """A model that counts what it predicts and how often it is called."""

    def __init__(self):
        self.calls = []

    def __call__(self, X):
        self.calls.append(len(X))
        a, b, c = (np.asarray(X)[:, j].astype(float) for j in range(3))
        return np.sin(a) + a * np.nan_to_num(b) + 0.1 * c

    @property
    def rows(self):
        return sum(self.calls)


def drawn(provenance, counted=ROWS):
    """Return the rows by hand that a bound draws, as the documentation says."""
    if provenance.sampled_rows is None:
        return np.arange(counted)
    rng = np.random.default_rng(provenance.seed)
    return np.sort(rng.choice(counted, provenance.sampled_rows, replace=False))


def bound_note(result):
    (note,) = [note for note in result.notes if note.code is NoteCode.PREDICTIONS_BOUNDED]
    return note


CALLS = {
    "effects": {"grid_resolution": 10},
    "surface": {"grid_resolution": 8, "features": [("a", "b"), "c"]},
    "individual": {"grid_resolution": 10, "kind": "both"},
    "quantiles": {"grid_resolution": 10, "quantiles": True},
    "verified": {"grid_resolution": 10, "verify": True},
    "accumulated_local_effects": {},
    "h_statistic": {"subsample": 200},
    "threeway": {"threeway": 3, "verify": True, "subsample": 100},
    "feature_importance": {"subsample": 200},
    "permutation": {"kind": "permutation", "y": frame()["a"].to_numpy(), "n_repeats": 2},
    "marginal": {},
}
VERBS = {
    **dict.fromkeys(("surface", "individual", "quantiles", "verified"), "effects"),
    "threeway": "h_statistic",
    "permutation": "feature_importance",
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("most", [900, 21_000, 10**7])
def test_no_call_predicts_more_rows_than_it_may_and_the_forecast_says_how_many(name, most):
    verb, options, X = VERBS.get(name, name), CALLS[name], frame()[NAMES]
    model, forecast = Dear(), Dear()
    own = {key: value for key, value in options.items() if key != "features"}
    features = options.get("features")
    if most == 900 and name == "threeway":
        with pytest.raises(OptionError, match=r"verify=True needs 9,703 predictions .* or leave verify out"):
            getattr(paribus, verb)(model, X, features, max_predictions=most, **own)
        return
    estimate = paribus.estimate_cost(forecast, X, features, verb=verb, max_predictions=most, **own)
    found = getattr(paribus, verb)(model, X, features, max_predictions=most, **own)
    assert model.rows <= most
    assert model.rows == estimate.predictions
    assert len(model.calls) == estimate.calls
    # A few rows are timed; permutation scores the rows as they are before it is planned.
    assert forecast.rows <= FIRST + 129 + (FIRST + ROWS if name == "permutation" else 0)
    assert estimate.seconds > 0
    assert f"the model predicts {model.rows:,} rows in {len(model.calls):,} calls" in repr(estimate)
    one = found["a"] if verb in ("accumulated_local_effects", "marginal") else found
    one = next(iter(found.values())) if verb == "effects" else one
    assert (
        ("max_predictions=900" in bound_note(one)) if most == 900 else model.rows > most // 25 or most > 10**6
    )


def test_a_note_names_the_rows_the_predictions_and_the_error_that_results():
    model, X = Dear(), frame()[NAMES]
    effect = paribus.partial_dependence(model, X, "a", grid_resolution=10, max_predictions=FIRST + 1_800)
    share = effect.standard_error.max() / np.ptp(effect.average)
    assert bound_note(effect) == (
        "100 of 1,200 rows were sampled (seed=0) to keep max_predictions=1903, which took 1,800 predictions; "
        f"standard errors are up to {share:.1%} of the range of the effect"
    )
    assert bound_note(effect).value == pytest.approx(share)
    p = effect.provenance
    assert (p.rows, p.sampled_rows, p.seed, p.predictions, p.standard_error_rows) == (
        ROWS,
        100,
        0,
        1_800,
        100,
    )
    assert p.background() == "100 of 1,200 rows, sampled with seed 0 (unweighted)"
    assert effect.support.sum() == pytest.approx(0.9 * ROWS, rel=0.1)  # that of all rows
    curves = paribus.partial_dependence(Dear(), X, "a", kind="individual", max_predictions=FIRST + 1_800)
    assert "standard errors" not in bound_note(curves)
    assert curves.individual.shape == (1, (1_800 // 108), 100)


@pytest.mark.parametrize(("weighted", "kind"), [(False, "average"), (True, "both")])
@pytest.mark.parametrize("most", [3_000, 30_000, 10**7])
def test_the_same_rows_by_hand_give_the_same_bits(weighted, kind, most):
    X, w = frame()[NAMES], frame()["w"].to_numpy() if weighted else None
    options = {"grid_resolution": 12, "kind": kind, "quantiles": True}
    bounded = paribus.effects(Dear(), X, sample_weight=w, max_predictions=most, **options)
    if most == 10**7:  # which is enough for all rows
        by_hand = paribus.effects(Dear(), X, sample_weight=w, **options)
    else:
        counted = np.arange(ROWS) if w is None else np.flatnonzero(w > 0)
        rows = counted[drawn(bounded["a"].provenance, len(counted))]
        own = {name: bounded[name].grid_values[0] for name in NAMES}
        weights = None if w is None else w[rows]
        options = {"custom_values": own, "kind": kind, "quantiles": True}
        by_hand = paribus.effects(Dear(), X.iloc[rows], sample_weight=weights, **options)
    for name in NAMES:
        assert np.array_equal(bounded[name].average, by_hand[name].average)
        assert np.array_equal(bounded[name].standard_error, by_hand[name].standard_error)
        assert np.array_equal(bounded[name].quantiles.values, by_hand[name].quantiles.values)
        if kind == "both":
            assert np.array_equal(bounded[name].individual, by_hand[name].individual)


def test_ale_and_interactions_by_hand_give_the_same_bits():
    X = frame()[NAMES]
    local = paribus.accumulated_local_effects(Dear(), X, max_predictions=2_000)
    rows = drawn(local["a"].provenance)
    own = {name: local[name].grid_values[0] for name in NAMES}
    by_hand = paribus.accumulated_local_effects(Dear(), X.iloc[rows], custom_values=own)
    for name in NAMES:
        assert np.array_equal(local[name].ale, by_hand[name].ale)
        assert np.array_equal(local[name].standard_error, by_hand[name].standard_error)
        assert not any(note.code is NoteCode.OUTSIDE_GRID for note in local[name].notes)
    for size in (25, 60):
        bound = FIRST + 6 * size * size
        bounded = paribus.h_statistic(Dear(), X, max_predictions=bound, random_state=3)
        sampled = paribus.h_statistic(Dear(), X, subsample=size, random_state=3)
        assert bounded.provenance.sampled_rows == size
        assert np.array_equal(bounded.pairwise.numerator, sampled.pairwise.numerator)
        assert np.array_equal(bounded.overall.ratio_error, sampled.overall.ratio_error)
    fewer = paribus.h_statistic(Dear(), X, max_predictions=bound, subsample=20)
    assert fewer.provenance.sampled_rows == 20  # of both, the fewer rows
    assert not any(note.code is NoteCode.PREDICTIONS_BOUNDED for note in fewer.notes)


def test_calls_are_few_and_large():
    X = frame()[NAMES]
    for verb, options in (
        ("effects", {"grid_resolution": 50}),
        ("effects", {"features": [*NAMES, ("a", "b")], "grid_resolution": 20}),
        ("accumulated_local_effects", {}),
        ("h_statistic", {"subsample": 50}),
    ):
        usual, model = Dear(), Dear()
        getattr(paribus, verb)(usual, X, **options)
        found = getattr(paribus, verb)(model, X, max_predictions=10**7, **options)
        crossed = 3 * 500**2 if verb == "effects" else 0  # for strengths, which no bound allows
        assert model.rows == usual.rows - crossed
        fewest = FIRST_CALLS + -(-model.rows // 262_144) + (verb == "h_statistic")
        assert len(model.calls) <= fewest + 1 < len(usual.calls)
        assert found is not None
    model = Dear()
    paribus.effects(model, X, grid_resolution=50, max_predictions=10**7, max_memory="4MB")
    assert len(model.calls) > fewest  # and no larger than memory allows
    assert max(model.calls) * 3 * 8 * 3 < 4_000_000


def test_exact_shortcuts_are_not_affected():
    X = frame()[NAMES]
    model = GradientBoostingRegressor(n_estimators=5).fit(X, Dear()(X))
    for verb in ("effects", "accumulated_local_effects", "h_statistic", "feature_importance"):
        exact, bounded = (getattr(paribus, verb)(model, X, **more) for more in ({}, {"max_predictions": 1}))
        if verb in ("effects", "accumulated_local_effects"):
            assert all(bounded[name].notes == exact[name].notes for name in NAMES)
            exact, bounded = exact["a"], bounded["a"]
        key = {"effects": "average", "h_statistic": "main_effect", "feature_importance": "values"}.get(
            verb, "ale"
        )
        numbers = [getattr(one, key) for one in (exact, bounded)]
        numbers = [one.numerator for one in numbers] if verb == "h_statistic" else numbers
        assert np.array_equal(*numbers)
        assert bounded.provenance.sampled_rows is None
        assert bounded.provenance.predictions == 0
    with pytest.raises(OptionError, match=r"max_predictions=5000: verify=True needs 1\d,\d+ predictions"):
        paribus.effects(model, X, max_predictions=5_000, verify=True)
    paribus.effects(model, X, max_predictions=20_000, verify=True)
    brute = paribus.effects(model, X, max_predictions=5_000, method="brute", grid_resolution=10)
    assert brute["a"].provenance.sampled_rows == (5_000 - FIRST) // 54


def test_rows_that_are_read_are_drawn_as_those_in_memory(tmp_path):
    table = frame()
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    for weight, columns in ((None, NAMES), ("w", [*NAMES, "w"])):
        table[columns].to_parquet(tmp_path / "rows.parquet", row_group_size=200)
        weights = None if weight is None else table[weight].to_numpy()
        for verb, options in (
            ("effects", {"grid_resolution": 10, "max_predictions": 4_000}),
            ("accumulated_local_effects", {"max_predictions": 1_000}),
            ("h_statistic", {"max_predictions": 4_000}),
            ("marginal", {"max_predictions": 500}),
        ):
            model = Dear()
            held = getattr(paribus, verb)(Dear(), table[NAMES], sample_weight=weights, **options)
            read = getattr(paribus, verb)(model, str(tmp_path), sample_weight=weight, **options)
            assert model.rows <= options["max_predictions"]
            more = {"verb": verb, "sample_weight": weight}
            estimate = paribus.estimate_cost(Dear(), str(tmp_path), **more, **options)
            assert estimate.predictions == model.rows
            one, other = (held, read) if verb == "h_statistic" else (held["a"], read["a"])
            assert estimate.passes == other.provenance.passes
            assert one.provenance.sampled_rows == other.provenance.sampled_rows
            numbers = {"effects": "average", "accumulated_local_effects": "ale", "marginal": "predicted"}
            if verb == "h_statistic":
                assert np.array_equal(one.pairwise.numerator, other.pairwise.numerator)
            else:
                assert np.array_equal(one[numbers[verb]], other[numbers[verb]])
                assert np.allclose(one.support, other.support, rtol=1e-12)
    with pytest.raises(
        OptionError, match=r"max_predictions=500 is below the number of rows, and y of an out"
    ):
        paribus.marginal(Dear(), str(tmp_path), ["a", "b"], y="w", max_predictions=500)


def test_frames_of_any_library_and_missing_values_are_joined_as_they_are():
    table = frame(300)[NAMES].assign(
        city=pd.Categorical(np.resize(["x", "y", None, "z"], 300)),
        text=pd.Series(["u", None, "v"] * 100, dtype=object),
        whole=np.arange(300) % 7,
    )
    table.loc[::5, "b"] = np.nan
    seen = []

    def predict(X):
        seen.append(X)
        city = {None: 0.0, "x": 1.0, "y": 2.0, "z": 3.0}
        numbers = [city.get(value, 0.0) for value in X["city"].to_list() if True]
        return np.asarray(X["a"]) * np.asarray(numbers) + np.asarray(X["whole"])

    for X in (table, pl.from_pandas(table), pa.Table.from_pandas(table, preserve_index=False)):
        model = predict if not isinstance(X, pa.Table) else lambda X: predict(X.to_pandas())
        usual = paribus.effects(model, X, grid_resolution=5)
        seen.clear()
        batched = paribus.effects(model, X, grid_resolution=5, max_predictions=10**6)
        for name in usual:
            assert np.array_equal(usual[name].average, batched[name].average), name
        largest = max(seen, key=len)
        assert len(seen) == FIRST_CALLS + 1
        assert list(largest.dtypes) == list(seen[0].dtypes)
        if isinstance(largest, pd.DataFrame) and isinstance(X, pd.DataFrame):
            assert largest.index.is_unique
            assert {type(value) for value in largest["text"]} == {str, type(None)}


def test_a_model_that_depends_on_the_rows_beside_it_is_evaluated_as_usual():
    X = frame(200)[NAMES]

    def ranked(X):
        return np.argsort(np.argsort(np.asarray(X)[:, 0])) / len(X)

    usual = paribus.effects(ranked, X.iloc[drawn_of(200, 33)], ["b"], custom_values={"b": [0.0, 1.0]})
    bounded = paribus.effects(ranked, X, ["b"], custom_values={"b": [0.0, 1.0]}, max_predictions=64 + 66)
    assert bounded["b"].provenance.sampled_rows == 33
    assert np.array_equal(usual["b"].average, bounded["b"].average)


def drawn_of(rows, size):
    return np.sort(np.random.default_rng(0).choice(rows, size, replace=False))


def test_models_of_a_list_share_the_bound():
    X, models = frame()[NAMES], [Dear(), Dear()]
    found = paribus.effects(models, X, grid_resolution=10, max_predictions=6_000)
    assert sum(model.rows for model in models) <= 6_000
    assert found["a"].provenance.sampled_rows == (3_000 - FIRST) // 54
    assert models[0].rows == models[1].rows
    mixed = [Dear(), GradientBoostingRegressor(n_estimators=3).fit(X, X["a"])]
    found = paribus.effects(mixed, X, grid_resolution=10, max_predictions=6_000)
    alone = paribus.effects(mixed[1], X, grid_resolution=10)
    assert np.array_equal(found["a"].by_model.values[1], alone["a"].average)
    assert bound_note(found["a"])


def test_an_explainer_draws_the_same_rows_each_time():
    X = frame()[NAMES]
    model = Dear()
    explainer = paribus.Explainer(model, X)
    options = {"grid_resolution": 10, "max_predictions": 3_000}
    first, second = explainer.effects(**options), explainer.effects(**options)
    found = explainer.run(("effects", options), ("h_statistic", {"max_predictions": 3_000}))
    alone = paribus.effects(Dear(), X, **options)
    for one in (first, second, found["effects"]):
        assert np.array_equal(one["a"].average, alone["a"].average)
    assert found["h_statistic"].provenance.sampled_rows == int(((3_000 - FIRST) / 6) ** 0.5)


@pytest.mark.parametrize("value", [0, -3, 2.5, True, "many"])
def test_a_bound_is_a_positive_integer(value):
    X = frame(50)[NAMES]
    for verb in ("effects", "accumulated_local_effects", "h_statistic", "feature_importance", "marginal"):
        with pytest.raises(OptionError) as caught:
            getattr(paribus, verb)(Dear(), X, max_predictions=value)
        assert str(caught.value) == f"max_predictions={value!r} must be an integer of at least 1, or None"
    with pytest.raises(OptionError, match="max_predictions has no meaning for kind='model'"):
        paribus.feature_importance(Dear(), X, kind="model", max_predictions=5)


def test_a_bound_that_two_rows_exceed_is_refused_with_the_number_needed():
    X = frame()[NAMES]
    tried = ", including trial calls; raise it"
    for verb, options, message in (
        ("effects", {}, f"2 rows need 751 predictions{tried}, name fewer features or lower grid_resolution"),
        ("accumulated_local_effects", {}, f"2 rows need 115 predictions{tried}, name fewer"),
        (
            "h_statistic",
            {},
            f"2 rows crossed with each other need 127 predictions{tried} or name fewer features",
        ),
        ("marginal", {}, f"2 rows need 105 predictions{tried}"),
        (
            "feature_importance",
            {"kind": "permutation", "y": X["a"]},
            f"2 rows need 135 predictions{tried}, name fewer features or lower n_repeats",
        ),
        ("effects", {"verify": True}, "name fewer features or lower grid_resolution, or leave verify out"),
    ):
        model = Dear()
        with pytest.raises(OptionError) as caught:
            getattr(paribus, verb)(model, X, max_predictions=65, **options)
        assert str(caught.value).startswith("max_predictions=65: 2 rows")
        assert message in str(caught.value)
        assert model.rows <= FIRST
    needed = paribus.effects(Dear(), X, max_predictions=751)
    assert needed["a"].provenance.sampled_rows == 2


def test_a_forecast_takes_the_time_of_calls_and_of_rows_into_account(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(cost, "perf_counter", lambda: now[0])

    def slow(X):
        now[0] += 5 + 0.01 * len(X)
        return np.asarray(X)[:, 0]

    estimate = paribus.estimate_cost(slow, frame()[NAMES], max_predictions=20_000, grid_resolution=10)
    predictions = (20_000 - FIRST) // 54 * 54
    assert estimate.seconds == pytest.approx(5 + 0.01 * predictions)  # of one call
    many = {"verb": "feature_importance", "kind": "permutation", "y": np.arange(ROWS), "n_repeats": 2}
    estimate = paribus.estimate_cost(slow, frame()[NAMES], max_predictions=20_000, **many)
    assert estimate.seconds == pytest.approx(5 * 4 + 0.01 * 7 * ROWS)


@pytest.mark.parametrize("verb", ["effects", "accumulated_local_effects", "h_statistic", "marginal"])
@pytest.mark.parametrize("row", [2e-6, 1e-3], ids=["fast", "slow"])
def test_a_forecast_of_predictions_is_within_a_factor_of_three(monkeypatch, verb, row):
    """Of a model whose predicts of a few rows take far longer for each than those of many."""
    now = [0.0]
    monkeypatch.setattr(cost, "perf_counter", lambda: now[0])

    def uneven(X):
        now[0] += 0.001 + row * len(X) + (0.003 if 1 < len(X) <= 1_000 else 0.0)
        return np.asarray(X)[:, 0] * np.asarray(X)[:, 1]

    estimate = paribus.estimate_cost(uneven, frame()[NAMES], verb=verb)
    began = now[0]
    getattr(paribus, verb)(uneven, frame()[NAMES], progress=False)
    assert 1 / 3 < estimate.seconds / (now[0] - began) < 3


def test_a_progress_bar_says_how_many_predictions_are_made(caplog):
    with caplog.at_level("INFO", logger="paribus"):
        paribus.effects(Dear(), frame()[NAMES], grid_resolution=10, max_predictions=3_000, progress=True)
    assert "partial dependence, 2,862 predictions in 1 call: 100% of 53 rows" in caplog.text

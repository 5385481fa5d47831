"""Curves over the combinations of values that occur."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import paribus
from paribus._display.figure import Line
from paribus.errors import OptionError
from paribus.notes import NoteCode
from paribus.results.supported import SupportedCurve

QUIET = {"progress": False}


def table(n=900, seed=0, kind="numbers"):
    """Two columns whose values are close to each other, and a third one; few distinct values, so that bins are values."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 5, n)
    b = np.clip(a + rng.integers(-1, 2, n), 0, 4)
    frame = pd.DataFrame({"a": a.astype(float), "b": b.astype(float), "c": rng.normal(size=n)})
    if kind == "missing":
        frame.loc[rng.random(n) < 0.1, "a"] = np.nan
        frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    if kind == "categories":
        frame["a"] = pd.Categorical(np.array(list("pqrst"))[a])
        frame["b"] = pd.Categorical(np.array(list("uvwxy"))[b])
    return frame


def codes(column):
    return np.nan_to_num(column.cat.codes if column.dtype == "category" else column, nan=9.0).astype(float)


def interacting(X):
    return codes(X["a"]) * codes(X["b"]) + codes(X["a"]) ** 2 + X["c"].to_numpy()


def with_value(X, value):
    """Set column a to a value; None is missing."""
    if X["a"].dtype == "category":
        return X.assign(a=pd.Categorical([value] * len(X), categories=X["a"].cat.categories))
    return X.assign(a=np.nan if value is None else value)


def by_hand(predict, X, values, weights=None):
    """The definition: least squares over all rows and points whose cell has a row, one equation for each."""
    weights = np.ones(len(X)) if weights is None else weights
    a, b = codes(X["a"]), codes(X["b"])
    pairs = set(zip(a[weights > 0], b[weights > 0], strict=True))
    bins = np.unique(b[weights > 0])
    design, target, root, shares = [], [], [], []
    for g, value in enumerate(values):
        table_at = with_value(X, value)
        occupied = np.array(
            [(one, other) in pairs for one, other in zip(codes(table_at["a"]), b, strict=True)]
        )
        occupied &= weights > 0
        block = np.zeros((occupied.sum(), len(bins) + len(values)))
        block[:, len(bins) + g] = 1
        block[np.arange(len(block)), np.searchsorted(bins, b[occupied])] = 1
        design.append(block)
        target.append(predict(table_at)[occupied])
        root.append(np.sqrt(weights[occupied]))
        shares.append(weights[occupied].sum() / weights.sum())
    root = np.concatenate(root)
    found = np.linalg.lstsq(np.vstack(design) * root[:, None], np.concatenate(target) * root, rcond=None)[0]
    known = weights > 0
    mean = np.average(found[np.searchsorted(bins, b[known])], weights=weights[known])
    return found[len(bins) :] + mean, np.array(shares)


def fitted(X):
    y = interacting(X)
    if X["a"].dtype == "category":
        return HistGradientBoostingRegressor(max_iter=30, categorical_features="from_dtype").fit(X, y)
    return HistGradientBoostingRegressor(max_iter=30).fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "missing", "categories"])
@pytest.mark.parametrize("source", ["trees", "function"])
def test_supported_curve_is_its_definition(source, kind, weighted):
    X = table(kind=kind)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float) if weighted else None
    model = fitted(X) if source == "trees" else interacting
    predict = model.predict if source == "trees" else model
    effect = paribus.partial_dependence(
        model,
        X,
        "a",
        supported=True,
        sample_weight=weights,
        method="exact" if source == "trees" else "auto",
        **QUIET,
    )
    found = effect.supported
    values = [*effect.grid_values[0], *([] if effect.missing is None else [None])]
    want, shares = by_hand(predict, X, values, weights)
    got = found.average[0] if found.missing is None else np.append(found.average[0], found.missing)
    assert found.partner == effect.extrapolation.partner == "b"
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.share, shares[: len(found.share)], atol=1e-12)
    np.testing.assert_allclose(
        found.difference[0], (got - effect_points(effect))[: len(found.share)], atol=1e-10
    )
    assert np.abs(found.difference).max() > 0.01


def effect_points(effect):
    last = [] if effect.missing is None else effect.missing.average
    return np.append(effect.average[0], last)


def test_supported_curve_of_additive_model_is_partial_dependence():
    X = table()
    model = LinearRegression().fit(X, X["a"] + 3 * X["b"])
    effect = paribus.partial_dependence(model, X, "a", supported=True, method="exact", **QUIET)
    assert effect.supported.share.max() < 1
    np.testing.assert_allclose(effect.supported.average, effect.average, atol=1e-12)
    np.testing.assert_allclose(effect.supported.difference, 0, atol=1e-12)
    assert NoteCode.SUPPORTED_DIFFERS not in {note.code for note in effect.notes}


def test_supported_curve_equals_partial_dependence_if_all_combinations_occur():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (2_000, 3)).astype(float)
    effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, supported=True, **QUIET)
    np.testing.assert_array_equal(effect.supported.average, effect.average)
    assert (effect.supported.share == 1).all()
    assert not effect.supported.difference.any()


def test_supported_curve_is_that_of_model_without_its_errors_off_the_data():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 20_000)
    X = np.column_stack([x, x + rng.uniform(-0.5, 0.5, len(x)), rng.normal(size=len(x))])

    def good(X):
        return np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 2]

    def bad(X):  # bins are a twentieth of the data, 0.2 wide: the error begins beyond them
        return good(X) + 5 * (np.abs(X[:, 0] - X[:, 1]) > 1)

    effect = paribus.partial_dependence(bad, X, 0, supported=True, grid_resolution=20, **QUIET)
    truth = paribus.partial_dependence(good, X, 0, grid_resolution=20, **QUIET)
    assert np.abs(effect.average - truth.average).min() > 100 * truth.standard_error.max()
    assert (np.abs(effect.supported.average - truth.average) < 2 * truth.standard_error).all()
    (note,) = [note for note in effect.notes if note.code is NoteCode.SUPPORTED_DIFFERS]
    assert note.value == pytest.approx(np.abs(effect.supported.difference).max())
    assert note.feature == "x0"
    assert str(note) in repr(effect)
    assert "over combinations of x0 and x1 that occur, the curve differs by up to" in note


def test_supported_curve_is_unknown_where_no_combination_leads():
    rng = np.random.default_rng(0)
    part = rng.integers(0, 3, 3_000)
    a = 2 * part + rng.integers(0, 2, 3_000)  # three separate pairs of values
    X = np.column_stack([np.where(part == 2, 4, a), part]).astype(float)
    effect = paribus.partial_dependence(lambda X: X[:, 0] + 2 * X[:, 1], X, 0, supported=True, **QUIET)
    known = np.isfinite(effect.supported.average[0])
    assert known.tolist() == [True, True, False, False, False]
    assert (effect.supported.share > 0).tolist() == known.tolist()
    assert np.diff(effect.supported.average[0, :2]) == pytest.approx(1.0)
    (note,) = [note for note in effect.notes if note.code is NoteCode.SUPPORT_DISCONNECTED]
    assert note.value == pytest.approx(0.6)


def test_supported_curve_of_predictions_that_are_not_finite_is_unknown_only_there():
    X = table()
    effect = paribus.partial_dependence(
        lambda X: np.where((X["a"] == 2) & (X["b"] == 2), np.inf, interacting(X)),
        X,
        "a",
        supported=True,
        **QUIET,
    )
    assert np.isfinite(effect.supported.average[0]).tolist() == [True, True, False, True, True]
    off = paribus.partial_dependence(
        lambda X: np.where((X["a"] == 0) & (X["b"] == 4), np.inf, interacting(X)),
        X,
        "a",
        supported=True,
        **QUIET,
    )
    assert np.isinf(off.average[0, 0])
    assert np.isfinite(off.supported.average).all()


def test_supported_curve_has_every_output_and_is_mean_of_models():
    X = table()
    classes = np.digitize(interacting(X), [4, 12])
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, classes)
    other = HistGradientBoostingClassifier(max_iter=20).fit(X, classes)
    one, two = (paribus.partial_dependence(each, X, "a", supported=True, **QUIET) for each in (model, other))
    both = paribus.partial_dependence([model, other], X, "a", supported=True, **QUIET)
    assert one.supported.average.shape == one.average.shape == (3, 5)
    mean = (one.supported.average + two.supported.average) / 2
    np.testing.assert_allclose(both.supported.average, mean, atol=1e-12)


def test_supported_curves_of_files_and_clusters_equal_those_in_memory(tmp_path):
    distributed = pytest.importorskip("distributed")
    X = table(3_000, kind="missing")
    model = fitted(X)
    X.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    held = paribus.effects(model, X, supported=True, **QUIET)
    read = paribus.effects(model, tmp_path / "rows.parquet", supported=True, **QUIET)
    with distributed.Client(processes=False, dashboard_address=None, n_workers=1) as client:
        sent = paribus.effects(model, X, supported=True, executor=client, **QUIET)
    for other in (read, sent):
        for name, effect in held.items():
            for field in ("average", "difference", "share"):
                np.testing.assert_array_equal(
                    getattr(effect.supported, field), getattr(other[name].supported, field)
                )


def test_supported_curve_does_not_change_other_numbers():
    X = table()
    model = fitted(X)
    plain, more = (paribus.effects(model, X, supported=flag, **QUIET) for flag in (False, True))
    for name, effect in plain.items():
        assert effect.supported is None
        assert "supported" not in effect
        assert more[name].supported is not None
        for field in ("average", "standard_error", "support", "covariance"):
            np.testing.assert_array_equal(getattr(effect, field), getattr(more[name], field))
        assert effect.strength == more[name].strength


def test_supported_curve_is_saved_and_in_tables(tmp_path):
    effect = paribus.partial_dependence(interacting, table(kind="missing"), "a", supported=True, **QUIET)
    effect.save(tmp_path / "effect.json")
    assert paribus.load(tmp_path / "effect.json") == effect
    frame = effect.to_frame()
    np.testing.assert_array_equal(frame["supported_average"][:-1], effect.supported.average[0])
    assert frame["supported_average"].iloc[-1] == effect.supported.missing[0]
    np.testing.assert_array_equal(frame["supported_share"][:-1], effect.supported.share)
    both = paribus.partial_dependence(interacting, table(), "a", supported=True, kind="both", **QUIET)
    assert both.supported is not None
    for made in (both.centered(), both.derivative()):
        assert made.supported is None
        assert NoteCode.SUPPORTED_DIFFERS not in {note.code for note in made.notes}


def test_supported_curve_is_none_where_extrapolation_is():
    X = np.random.default_rng(0).normal(size=(50, 2))
    effect = paribus.partial_dependence(lambda X: X[:, 0], X, 0, supported=True, **QUIET)
    assert effect.extrapolation is effect.supported is None


@pytest.mark.parametrize(
    ("features", "options", "word"),
    [
        ("a", {"by": "b"}, "by"),
        ("a", {"method": "recursion"}, "recursion"),
        ("a", {"kind": "individual"}, "individual"),
        ("a", {"max_predictions": 10_000}, "max_predictions"),
        (["a", "b"], {}, "two-way"),
    ],
)
def test_supported_refuses_options_by_name(features, options, word):
    with pytest.raises(OptionError, match=rf"supported=True cannot be combined with .*{word}"):
        paribus.partial_dependence(interacting, table(), features, supported=True, **options, **QUIET)


def test_supported_curves_of_effects_are_those_of_single_features():
    found = paribus.effects(interacting, table(), ["a", ("a", "b")], supported=True, **QUIET)
    assert found["a"].supported is not None
    assert found["a", "b"].supported is None


def test_cost_estimate_counts_predictions_of_supported_curves():
    X = table()
    explainer = paribus.Explainer(interacting, X, **QUIET)
    request = ("partial_dependence", {"features": "a", "supported": True})
    estimated = explainer.estimate_cost(request)
    plain = explainer.estimate_cost(("partial_dependence", {"features": "a"}))
    assert estimated.predictions - plain.predictions == 5 * len(X)
    effects = [
        paribus.partial_dependence(interacting, X, "a", supported=flag, **QUIET) for flag in (False, True)
    ]
    assert effects[1].provenance.predictions - effects[0].provenance.predictions == 5 * len(X)


def test_explain_has_supported_curves_of_curves_that_extrapolate():
    X = table(2_000)
    y = interacting(X) + 20 * (np.abs(X["a"] - X["b"]) > 1)
    model = fitted(X)
    found = paribus.explain(model, X, y, **QUIET)
    assert {name for name, effect in found.effects.items() if effect.supported is not None} == {"a", "b"}
    alone = paribus.partial_dependence(model, X, "a", supported=True, **QUIET).supported
    np.testing.assert_allclose(found.effects["a"].supported.average, alone.average, atol=1e-12)
    called = paribus.explain(interacting, X, y, **QUIET)
    assert all(effect.supported is None for effect in called.effects.effects)


def test_supported_curve_is_plotted_dashed_if_it_differs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2_000)
    X = np.column_stack([x, x + 0.3 * rng.normal(size=2_000)])
    label = "over combinations that occur"
    lines = []
    for error in (0.0, 5.0):
        effect = paribus.partial_dependence(
            lambda X, error=error: X[:, 0] + error * (np.abs(X[:, 0] - X[:, 1]) > 1.2),
            X,
            0,
            supported=True,
            **QUIET,
        )
        panel = effect.figure().panels[0]
        lines.append([mark for mark in panel.marks if isinstance(mark, Line) and mark.label == label])
    assert not lines[0]
    (line,) = lines[1]
    assert line.dash == "dashed"
    np.testing.assert_array_equal(line.y, effect.supported.average[0])
    ale = paribus.accumulated_local_effects(lambda X: X[:, 0], X, 0, **QUIET)
    assert label not in {getattr(mark, "label", None) for mark in ale["x0"].figure().panels[0].marks}


def test_panel_of_several_outputs_has_thin_supported_curves():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2_000)
    X = np.column_stack([x, x + 0.3 * rng.normal(size=2_000)])

    def predict(X):
        off = np.abs(X[:, 0] - X[:, 1]) > 1.2
        return np.column_stack([X[:, 0] + 5 * off, X[:, 0], -X[:, 0] - 5 * off])

    effect = paribus.partial_dependence(
        predict, X, 0, supported=True, target_names=["low", "plain", "high"], **QUIET
    )
    lines = {mark.label: mark for mark in effect.figure().panels[0].marks if isinstance(mark, Line)}
    thin = [label for label, mark in lines.items() if label is not None and mark.width < 1]
    assert thin == ["low, over combinations that occur", "high, over combinations that occur"]
    for o, name in ((0, "low"), (2, "high")):
        line = lines[f"{name}, over combinations that occur"]
        assert (line.color, line.dash) == (lines[name].color, lines[name].dash)
        np.testing.assert_array_equal(line.y, effect.supported.average[o])


def test_levels_do_not_depend_on_scale_of_weights():
    rng = np.random.default_rng(0)
    curves, occupied = rng.normal(size=(4, 2, 6)), rng.random((6, 4)) < 0.8
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    one, other = (
        SupportedCurve.of("k", 10, curves, factor * shares, occupied, missing=False) for factor in (1.0, 1e-9)
    )
    np.testing.assert_allclose(one.average, other.average, rtol=1e-9)

"""Standard errors of units of dependent rows: no estimate changes, and errors are those of whole units."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics

import paribus
from compared_results import differing, leaves
from interaction_examples import Naive
from paribus._data.samples import UNIT_PARTS, occupied_parts, uniform
from paribus._evaluators.permutation import RowChanges
from paribus.results.curve_values import strength_errors
from selection import nightly
from unit_examples import (
    EQUAL,
    FEATURES,
    QUIET,
    ROWS,
    UNITS,
    WEIGHTS,
    X,
    called,
    jackknife,
    model,
    predicted,
    table,
    target,
)

PLAIN_AND_WEIGHTED = pytest.mark.parametrize(
    "weights", [*nightly(EQUAL), WEIGHTS], ids=["unweighted", "weighted"]
)


def both(name, X, y, **options):
    return paribus.effects(model(name), X, kind="both", **options)


def pairs(name, X, y, **options):
    return paribus.effects(model(name), X, [("a", "b"), ("a", "city")], **options)


def quantiles(name, X, y, **options):
    return paribus.effects(model(name), X, ["a", "b"], quantiles=True, **options)


def local_pairs(name, X, y, **options):
    return paribus.accumulated_local_effects(model(name), X, [("a", "b")], **options)


def effects(name, X, y, **options):
    return paribus.effects(model(name), X, **options)


def interactions(name, X, y, **options):
    return paribus.h_statistic(model(name), X, threeway=3, **options)


def permutation(name, X, y, **options):
    return paribus.feature_importance(model(name), X, y=y, kind="permutation", random_state=0, **options)


def explanation(name, X, y, **options):
    """Curves, local effects, averages, interactions, importance, regions, performance, shares."""
    return paribus.explain(model(name), X, y, **options)


CASES = [
    (effects, "function"),
    (effects, "linear pipeline"),
    (both, "boosted trees"),
    (pairs, "boosted trees"),
    (quantiles, "function"),
    (local_pairs, "boosted trees"),
    (interactions, "boosted trees"),
    (permutation, "function"),
    (explanation, "boosted trees"),
    (explanation, "probabilities"),
]
AT_NIGHT = [
    (both, "function"),
    (both, "probabilities"),
    (quantiles, "probabilities"),
    (local_pairs, "function"),
    (explanation, "function"),
    (explanation, "linear pipeline"),
]
MARKED = [*CASES, *(pytest.param(*case, marks=pytest.mark.nightly) for case in AT_NIGHT)]
EVERY_CASE = pytest.mark.parametrize(("statistic", "name"), MARKED)
WEIGHTED = pytest.mark.parametrize("weighted", [*nightly(False), True], ids=["unweighted", "weighted"])


@cache
def result(statistic, name, units=None, *, weighted=True):
    """Return a result with the units of a name."""
    units = {"skewed": UNITS, "rows": np.arange(ROWS), None: None}[units]
    options = {"sample_weight": WEIGHTS} if weighted else {}
    return statistic(name, X, target(name), units=units, **options, **QUIET)


@cache
def numbers(*asked, weighted=True):
    """Return every number and word of a result by its path."""
    return dict(leaves(result(*asked, weighted=weighted)))


# Gains of regions are measured on a random half of the units, the others select splits: with other halves a gain
# differs. Shapes and sentences count movements and differences that errors do not account for.
OF_ERRORS = re.compile(
    r"error|covariance|units|p_value|observed_(low|high)$|^\.(checks|regions|shapes|verdict)"
)


def alike(array, second, path):
    """Return whether two arrays have the same bits; shares of curves are added up by units."""
    rounding = path.startswith((".explained.", ".interactions.explained."))
    return np.allclose(array, second, rtol=1e-12) if rounding else not differing([array], [second])


@EVERY_CASE
@WEIGHTED
def test_units_change_no_estimate(statistic, name, weighted):
    plain = numbers(statistic, name, weighted=weighted)
    have = numbers(statistic, name, "skewed", weighted=weighted)
    assert {path for path in have.keys() ^ plain.keys() if not OF_ERRORS.search(path)} == set()
    changed = {path for path in plain if path in have and not alike(have[path], plain[path], path)}
    assert {path for path in changed if not OF_ERRORS.search(path)} == set()
    assert any("error" in path for path in changed)


# Errors of cells are those of 64 random parts of the units; checks and sentences follow from them.
OF_PARTS = re.compile(r"^\.(ale|averages|checks|verdict)")


def differing_numbers(have, want, rtol=1e-8):
    """Return the paths where results differ by more than rounding, relative to the largest number of an array."""
    paths = []
    for path, array in want.items():
        if array.dtype.kind == "f":
            size = np.abs(array[np.isfinite(array)]).max(initial=0.0)
            equal = np.allclose(have[path], array, rtol=rtol, atol=rtol * size + 1e-14, equal_nan=True)
        else:
            equal = have[path].tolist() == array.tolist()
        paths += [path] * (not equal)
    return paths


@pytest.mark.parametrize(
    ("statistic", "name"), [case for case in MARKED if local_pairs not in getattr(case, "values", case)]
)
@WEIGHTED
def test_units_of_single_rows_give_the_errors_of_independent_rows(statistic, name, weighted):
    plain = numbers(statistic, name, weighted=weighted)
    have = numbers(statistic, name, "rows", weighted=weighted)
    compared = {path: array for path, array in plain.items() if not OF_PARTS.search(path)}
    assert any("error" in path for path in compared)
    assert differing_numbers(have, compared) == []


@cache
def large(parts):
    """Return a table of 2,000 rows, its target, and results with and without units of single rows."""
    X = table(2_000, 9)
    y = called(X) + np.random.default_rng(1).normal(size=len(X))
    units = np.arange(len(X)) if parts else None
    local = paribus.accumulated_local_effects(
        called, X, ["a", "b", ("a", "b")], grid_resolution=4, units=units, **QUIET
    )
    averages = paribus.marginal(called, X, FEATURES, y=y, units=units, **QUIET)
    return {"local": local, "averages": averages}


@pytest.mark.parametrize("name", ["local", "averages"])
def test_errors_of_parts_of_single_rows_are_nearly_those_of_independent_rows(name):
    plain, have = large(False)[name], large(True)[name]
    assert have.provenance.standard_error_units == UNIT_PARTS
    for feature, effect in plain.items():
        names = ("standard_error", "local_error") if name == "local" else (
            "predicted_error", "observed_error", "residual_error"
        )  # fmt: skip
        for part in names:
            error, independent = have[feature][part], effect[part]
            known = independent > 0
            assert known.any()
            assert (np.isfinite(error) <= np.isfinite(independent)).all()
            enough = np.isfinite(independent)
            if name == "averages":  # a cell needs `FEWEST_PARTS` parts
                enough &= effect.rows >= 20
            assert np.isfinite(error[enough]).all()
            known &= np.isfinite(error)
            assert_allclose(error[known], independent[known], rtol=0.35, err_msg=f"{feature} {part}")
    if name == "local":
        for feature in ("a", "b"):
            ends = plain[feature].grid_values[0][[0, -1]]
            errors = (effects_of[feature].contrast(*ends).standard_error for effects_of in (have, plain))
            assert_allclose(next(errors), next(errors), rtol=0.35)


class Curve:
    """The curve of every row, and statistics of their average for any weights: the definition, by loops."""

    def __init__(self, name, feature):
        self.column = X[feature]
        self.values = sorted(self.column.dropna().unique().tolist())
        self.missing = bool(self.column.isna().any())
        rows = [self.moved(feature, value) for value in [*self.values, *[np.nan] * self.missing]]
        self.curves = np.stack([predicted(name, table) for table in rows], axis=1)
        indicators = [self.column == value for value in self.values] + [self.column.isna()] * self.missing
        self.indicators = np.stack(indicators, axis=1).astype(float)

    @staticmethod
    def moved(feature, value):
        """Return the table with a feature set to a value."""
        column = pd.Series([value] * len(X), index=X.index)
        return X.assign(**{feature: column.astype(X[feature].dtype)})

    def statistics(self, weights, shares=None):
        """Return the average, its ends' difference, slope and strength; ``shares`` are weights of the points."""
        average = weights @ self.curves / weights.sum()
        shares = (weights if shares is None else shares) @ self.indicators
        shares = shares / shares.sum()
        statistics = {
            "average": average,
            "difference": average[len(self.values) - 1] - average[0],
            "strength": np.sqrt(shares @ (average - shares @ average) ** 2),
        }
        if self.missing:
            statistics["difference to missing"] = average[1] - average[-1]
        if self.column.dtype != "category":
            points = len(self.values)
            slopes = np.diff(average[:points]) / np.diff(self.values)
            ends = np.r_[1.0, np.full(points - 2, 2.0), 1.0]
            around = (np.r_[0.0, slopes] + np.r_[slopes, 0.0]) / ends
            statistics["slope"] = shares[:points] @ around / shares[:points].sum()
        return statistics

    def errors(self, weights, units):
        """Return standard errors; those of slopes and strengths are of averages and of shares, apart."""
        errors = jackknife(self.statistics, weights, units)
        of_averages = jackknife(lambda moved: self.statistics(moved, weights), weights, units)
        of_shares = jackknife(lambda moved: self.statistics(weights, moved), weights, units)
        apart = {
            part: np.hypot(of_averages[part], of_shares[part])
            for part in errors
            if part in ("slope", "strength")
        }
        return errors | apart


curve_of = cache(Curve)


def read_statistics(effect):
    """Return the numbers of `Curve.statistics`, and their standard errors, of a result."""
    low, high, missing = effect.grid_values[0][0], effect.grid_values[0][-1], effect.missing
    average, error = effect.average[0], effect.standard_error[0]
    if missing is not None:
        average, error = np.append(average, missing.average[0]), np.append(error, missing.standard_error[0])
    statistics = {"average": (average, error)}
    contrasts = {"difference": effect.contrast(low, high)}
    if effect.kinds[0] not in ("category", "string"):
        contrasts["slope"] = effect.slope()
    if missing is not None:
        contrasts["difference to missing"] = effect.contrast(None, effect.grid_values[0][1])
    statistics |= {name: (part.estimate[0], part.standard_error[0]) for name, part in contrasts.items()}
    statistics["strength"] = effect.strength, strength_errors(effect)[0]
    return statistics


@PLAIN_AND_WEIGHTED
@pytest.mark.parametrize("kind", ["average", "both"])
@pytest.mark.parametrize("name", ["function", "boosted trees", "probabilities", *nightly("linear pipeline")])
def test_error_of_a_curve_is_what_little_more_weight_of_each_unit_does(name, kind, weights):
    given = None if weights is EQUAL else weights
    curves = paribus.effects(model(name), X, FEATURES, kind=kind, sample_weight=given, units=UNITS, **QUIET)
    for feature, effect in curves.items():
        curve = curve_of(name, feature)
        want, errors = curve.statistics(weights), curve.errors(weights, UNITS)
        size = np.abs(want["average"]).max()
        for part, (estimate, error) in read_statistics(effect).items():
            if part == "strength" and kind == "both":
                continue  # the covariance of the points is not stored with the curves
            text = f"{feature}: {part}"
            assert_allclose(estimate, want[part], rtol=1e-9, atol=1e-12, err_msg=text)
            assert_allclose(error, errors[part], rtol=1e-5, atol=1e-9 * size, err_msg=text)


@cache
def naive_interactions(name):
    """Return statistics from every row with the values of every other row."""
    return Naive(lambda rows: predicted(name, rows)[:, None], X, range(len(FEATURES)))


@PLAIN_AND_WEIGHTED
@pytest.mark.parametrize("name", ["function", "boosted trees", "probabilities"])
def test_errors_of_interactions_and_importance_are_what_little_more_weight_of_each_unit_does(name, weights):
    naive = naive_interactions(name)

    def statistics(moved):
        squares = naive.statistics(moved, ((0, 1, 3),))
        ratios = {(part, "ratio"): top / bottom for part, (top, bottom) in squares.items()}
        roots = {(part, "root"): np.sqrt(squares[part][0]) for part in ("main", "left_out")}
        return {(part, "square"): top for part, (top, _) in squares.items()} | ratios | roots

    errors = jackknife(statistics, weights, UNITS)
    options = {"sample_weight": None if weights is EQUAL else weights, "units": UNITS, **QUIET}
    strengths = paribus.h_statistic(model(name), X, threeway=4, **options)
    assert strengths.provenance.standard_error_units == len(np.unique(UNITS[weights > 0]))
    for part in ("pairwise", "overall", "total"):
        ratio = strengths.ratio(part)
        assert_allclose(ratio.numerator_error, errors[part, "square"], rtol=1e-5, atol=1e-9, err_msg=part)
        assert_allclose(ratio.ratio_error, errors[part, "ratio"], rtol=1e-5, atol=1e-9, err_msg=part)
    place = strengths.triples.index((0, 1, 3))
    assert_allclose(
        strengths.threeway.ratio_error[place], errors["threeway", "ratio"][0], rtol=1e-5, atol=1e-9
    )
    importance = paribus.feature_importance(model(name), X, **options)
    assert_allclose(importance.standard_error, errors["main", "root"][:, 0], rtol=1e-5)
    assert_allclose(importance.standard_error_with_interactions, errors["left_out", "root"][:, 0], rtol=1e-5)


def measured(name, weights):
    """Return performance metrics by their names, from scikit-learn."""
    y, f, options = target(name), predicted(name, X), {"sample_weight": weights}
    values = {
        "observed / predicted": weights @ y / (weights @ f),
        "mean prediction": weights @ f / weights.sum(),
    }
    if name == "probabilities":
        values |= {
            "log loss": metrics.log_loss(y, f, **options),
            "AUC": metrics.roc_auc_score(y, f, **options),
        }
        return values | {"accuracy": metrics.accuracy_score(y, f > 0.5, **options)}
    if name == "counts":
        values["mean Poisson deviance"] = metrics.mean_poisson_deviance(y, f, **options)
    return values | {
        "root mean squared error": np.sqrt(metrics.mean_squared_error(y, f, **options)),
        "mean absolute error": metrics.mean_absolute_error(y, f, **options),
        "R²": metrics.r2_score(y, f, **options),
        "mean residual": weights @ (y - f) / weights.sum(),
    }


@PLAIN_AND_WEIGHTED
@pytest.mark.parametrize("name", ["boosted trees", "probabilities", "counts"])
def test_errors_of_metrics_are_what_little_more_weight_of_each_unit_does(name, weights):
    explained = result(explanation, name, "skewed", weighted=weights is WEIGHTS)
    errors = jackknife(lambda moved: measured(name, moved), weights, UNITS)
    by_name = {metric.name: metric for metric in explained.performance.metrics}
    left_out = (
        {"observed / predicted"} if name == "boosted trees" else set()
    )  # the target has negative values
    assert by_name.keys() | {"mean prediction"} | left_out == errors.keys()
    want = measured(name, weights)
    for part, metric in by_name.items():
        assert metric.value == pytest.approx(want[part], rel=1e-9, abs=1e-12), part
        if part == "observed / predicted" and name == "probabilities":  # at least that of such outcomes
            assert metric.standard_error >= float(errors[part]) * (1 - 1e-5)
            continue
        assert metric.standard_error == pytest.approx(float(errors[part]), rel=1e-5), part
    assert explained.predictions.standard_error[0] == pytest.approx(
        float(errors["mean prediction"]), rel=1e-6
    )


def keys_of_different_parts(count):
    """Return keys of units, of which each one is a part of its own."""
    keys = np.arange(2_000)
    parts = np.minimum(UNIT_PARTS - 1, (uniform(keys, 0) * UNIT_PARTS).astype(int))
    return keys[np.unique(parts, return_index=True)[1]][:count]


APART = keys_of_different_parts(UNITS.max() + 1)[UNITS]


def cell_influences(changes, cells, weights):
    """Return the influence ``(u, k)`` of each unit on the mean of each cell, for the changes of the rows."""
    units, influences = np.unique(UNITS), []
    for cell in range(cells.max() + 1):
        here = (cells == cell) & (weights > 0)
        total, mean = weights[here].sum(), np.average(changes[here], weights=weights[here])
        sums = [(weights * (changes - mean))[here & (unit == UNITS)].sum() / total for unit in units]
        several = len(np.unique(UNITS[here]))
        influences.append(np.array(sums) * np.sqrt(several / (several - 1)))
    return np.stack(influences, axis=1)


@PLAIN_AND_WEIGHTED
@pytest.mark.parametrize("name", ["function", "boosted trees"])
def test_errors_of_local_effects_add_up_the_bins_of_each_unit(name, weights):
    edges = [0.0, 1.0, 2.0, 3.0, 4.0]
    effect = paribus.accumulated_local_effects(
        model(name),
        X,
        ["a"],
        custom_values={"a": edges},
        sample_weight=None if weights is EQUAL else weights,
        units=APART,
        **QUIET,
    )["a"]
    bin_of_row = np.clip(np.searchsorted(edges, X["a"]), 1, len(edges) - 1) - 1
    low, high = (predicted(name, X.assign(a=np.asarray(edges)[bin_of_row + side])) for side in (0, 1))
    influences = cell_influences(high - low, bin_of_row, weights)
    bins = np.sqrt((influences**2).sum(axis=0))
    assert_allclose(effect.local_error[0] * np.diff(edges), bins, rtol=1e-9)
    for first, stop in ((0, 4), (1, 3)):
        error = np.sqrt(np.square(influences[:, first:stop].sum(axis=1)).sum())
        contrast = effect.contrast(edges[first], edges[stop])
        assert_allclose(contrast.standard_error, error, rtol=1e-9)
    positions = np.sqrt(np.einsum("ogg->og", effect.covariance))
    assert_allclose(positions, effect.standard_error, rtol=1e-9)


@PLAIN_AND_WEIGHTED
def test_errors_of_averages_are_those_of_the_units_in_each_cell(weights):
    target_rows = target("boosted trees")
    average = paribus.marginal(
        model("boosted trees"),
        X,
        ["city"],
        y=target_rows,
        sample_weight=None if weights is EQUAL else weights,
        units=APART,
        **QUIET,
    )["city"]
    cells = np.array([average.grid_values[0].tolist().index(value) for value in X["city"]])
    f = predicted("boosted trees", X)
    values = {"predicted": f, "observed": target_rows, "residual": target_rows - f}
    for part, rows in values.items():
        errors = np.sqrt((cell_influences(rows, cells, weights) ** 2).sum(axis=0))
        assert_allclose(average[f"{part}_error"][0], errors, rtol=1e-9, err_msg=part)


def test_cell_of_a_single_unit_has_no_error_of_zero():
    """The values of many features are those of a unit: each of its rows is in one cell."""
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(12), 30)
    rows = np.column_stack([units * 1.0, rng.normal(size=360)])

    def predict(table):
        return table[:, 0] * (1 + table[:, 1])

    average = paribus.marginal(predict, rows, [0], units=units, **QUIET)["x0"]
    assert np.isnan(average.predicted_error).all()
    effect = paribus.accumulated_local_effects(predict, rows, [0], units=units, **QUIET)["x0"]
    assert effect.local_error.shape == (1, 11)
    assert not (effect.local_error == 0).any()
    with_rows = paribus.accumulated_local_effects(predict, rows, [0], **QUIET)["x0"]
    ends = effect.grid_values[0][[0, -1]]
    error, of_rows = (local.contrast(*ends).standard_error[0] for local in (effect, with_rows))
    assert np.isnan(error) or error > of_rows / 2


def errors_of(numbers_by_path):
    """Return the errors and covariances among the numbers of a result."""
    return {path: array for path, array in numbers_by_path.items() if re.search("error|covariance", path)}


@pytest.mark.parametrize(
    ("statistic", "name"),
    [
        (effects, "function"),
        (effects, "linear pipeline"),
        (both, "boosted trees"),
        (pairs, "function"),
        (local_pairs, "boosted trees"),
        (explanation, "boosted trees"),
        pytest.param(explanation, "probabilities", marks=pytest.mark.nightly),
    ],
)
def test_repeated_rows_of_units_give_the_errors_of_single_rows(statistic, name):
    again = np.repeat(np.arange(ROWS), 3)
    rows, y = X.iloc[again].reset_index(drop=True), np.asarray(target(name))[again]
    repeated = dict(leaves(statistic(name, rows, y, units=again, sample_weight=WEIGHTS[again], **QUIET)))
    single = errors_of(numbers(statistic, name, "rows"))
    # Regions need 20 rows, whatever their units. Observed / predicted of few rows has the error of chance.
    of_rows = "regions" if name != "probabilities" else r"regions|metrics\[3\]"
    single = {path: array for path, array in single.items() if not re.search(of_rows, path)}
    assert single
    assert differing_numbers(repeated, single) == []


@pytest.mark.parametrize(
    ("statistic", "name"),
    [
        (effects, "function"),
        (both, "boosted trees"),
        (explanation, "boosted trees"),
        (explanation, "probabilities"),
    ],
)
def test_order_of_rows_of_units_changes_no_error(statistic, name):
    order = np.random.default_rng(0).permutation(ROWS)
    rows, y = X.iloc[order].reset_index(drop=True), np.asarray(target(name))[order]
    weights = WEIGHTS[order]
    moved = dict(leaves(statistic(name, rows, y, units=UNITS[order], sample_weight=weights, **QUIET)))
    given = errors_of(numbers(statistic, name, "skewed"))
    assert given
    assert differing_numbers(moved, given) == []


def steps_of_units(units, rng):
    """Return a table of three features of few values; rows of a unit share the last one."""
    size = len(units)
    return np.column_stack([rng.integers(0, 5, size) / 2, rng.integers(0, 2, size), units % 3]).astype(float)


def gated(rows):
    """Predict an effect of the first feature in half of the rows."""
    return rows[:, 0] * rows[:, 1] * (3 + rows[:, 2])


@WEIGHTED
def test_error_of_gain_of_regions_is_what_little_more_weight_of_each_unit_does(weighted):
    rng = np.random.default_rng(1)
    units = rng.integers(0, 20, 300)
    rows = steps_of_units(units, rng)
    weights = rng.choice([0.5, 1.0, 3.0], 300) if weighted else np.ones(300)

    def split(moved):
        searched = paribus.regions(
            gated,
            rows,
            [0],
            sample_weight=moved,
            units=units,
            max_depth=1,
            **QUIET,
        )
        (first,) = searched.features[0].splits
        return first

    first, counted = split(weights), np.unique(units)
    error = jackknife(lambda moved: {"gain": split(moved).gain}, weights, units)["gain"]
    measuring = len(counted) - len(counted) // 2
    factors = [several / (several - 1) for several in (measuring, len(counted))]
    assert 1 < measuring < len(counted)
    assert first.feature == "x1"
    assert first.gain_error == pytest.approx(float(error * np.sqrt(factors[0] / factors[1])), rel=1e-5)


def test_regions_of_few_units_give_no_warning():
    """Four of the eight units are in the half that measures gains."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        units = rng.integers(0, 8, 300)
        searched = paribus.regions(gated, steps_of_units(units, rng), [0], units=units, **QUIET)
        assert all(np.isfinite(split.gain_error) for split in searched.features[0].splits)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_permutation_error_adds_up_the_roles_of_the_rows_of_a_unit(weighted):
    """A row is predicted, and its values are lent to others; permutations are counted once."""
    rng = np.random.default_rng(0)
    repeats = 4
    weights = rng.exponential(size=ROWS) if weighted else np.ones(ROWS)
    changes, donors = (
        rng.normal(1, 1, (repeats, ROWS)),
        np.stack([rng.permutation(ROWS) for _ in range(repeats)]),
    )
    role_changes = RowChanges(ROWS, weights if weighted else None, UNITS)
    for change, lent in zip(changes, donors, strict=True):
        role_changes.add(change, lent)
    mean = (changes @ weights).mean() / weights.sum()
    influence = np.zeros(ROWS)
    for change, lent in zip(changes, donors, strict=True):
        for row in range(ROWS):
            apart = weights[row] * (change[row] - mean) / repeats
            influence[row] += apart
            influence[lent[row]] += apart
    of_units = np.array([influence[unit == UNITS].sum() for unit in np.unique(UNITS)])
    chance = (np.square(weights * (changes - mean)) / repeats**2).sum()
    several = len(of_units)
    variance = (np.square(of_units).sum() - chance) * several / (several - 1) / weights.sum() ** 2
    repeated = (changes @ weights / weights.sum()).std(ddof=1) / np.sqrt(repeats)
    group = role_changes.finish()
    assert group.value == pytest.approx(mean)
    assert group.standard_error == pytest.approx(max(repeated, np.sqrt(max(0.0, variance))), rel=1e-9)


def averages(name, X, y, **options):
    return paribus.marginal(model(name), X, y=y, **options)


def importance(name, X, y, **options):
    return paribus.feature_importance(model(name), X, **options)


def regions(name, X, y, **options):
    return paribus.regions(model(name), X, **options)


RECORDED = [
    effects,
    both,
    pairs,
    local_pairs,
    averages,
    interactions,
    importance,
    permutation,
    regions,
    explanation,
]


@pytest.mark.parametrize("statistic", RECORDED)
@pytest.mark.parametrize("name", ["boosted trees", *nightly("function", "probabilities")])
def test_record_has_the_number_of_units_of_standard_errors(statistic, name):
    computed = result(statistic, name, "skewed")
    units = len(np.unique(UNITS[WEIGHTS > 0]))
    units -= units // 2 * (statistic is regions)  # half of the units measure
    units = occupied_parts(units) if statistic in (local_pairs, averages) else units
    assert computed.provenance.standard_error_units == units
    assert computed.provenance.error_freedom == units - 1
    assert len([note for note in computed.notes if "fewer than 30 units" in note]) == 1


def test_record_of_individual_curves_has_the_sampled_units():
    """Errors come from the curves of 4,096 sampled rows, as without individual curves."""
    X, units = table(5_000, 3), np.arange(5_000) // 2
    effect = paribus.partial_dependence(model("boosted trees"), X, "a", kind="both", units=units, **QUIET)
    average = paribus.partial_dependence(model("boosted trees"), X, "a", units=units, **QUIET)
    assert effect.provenance.standard_error_rows == 4_096
    assert effect.provenance.standard_error_units == 2_048
    np.testing.assert_allclose(effect.standard_error, average.standard_error, rtol=1e-9)


def test_error_of_a_difference_of_models_is_that_of_the_units():
    """Row by row: both models are evaluated at the same rows."""
    by_model = {
        name: paribus.partial_dependence(
            model(name), X, "a", kind="both", units=UNITS, sample_weight=WEIGHTS, **QUIET
        )
        for name in ("boosted trees", "function")
    }
    difference = paribus.compare(by_model).difference()
    curves = [curve_of(name, "a") for name in by_model]

    def statistics(weights):
        first, second = (curve.statistics(weights)["average"] for curve in curves)
        return {"difference": second - first}

    assert_allclose(difference.difference[0], statistics(WEIGHTS)["difference"], rtol=1e-9, atol=1e-12)
    errors = jackknife(statistics, WEIGHTS, UNITS)["difference"]
    assert_allclose(difference.standard_error[0], errors, rtol=1e-5, atol=1e-9)
    assert difference.errors == "row by row"


@pytest.mark.parametrize("name", ["function", "boosted trees"])
def test_error_of_a_centered_curve_is_that_of_the_units(name):
    options = {"units": UNITS, "sample_weight": WEIGHTS, **QUIET}
    effect = paribus.partial_dependence(model(name), X, "a", kind="both", **options).centered(at=1.0)
    place = list(effect.grid_values[0]).index(1.0)

    def statistics(weights):
        average = curve_of(name, "a").statistics(weights)["average"]
        return {"centered": average - average[place]}

    errors = jackknife(statistics, WEIGHTS, UNITS)["centered"]
    assert_allclose(effect.standard_error[0], errors, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("kind", ["average", "both"])
def test_saved_effect_has_the_errors_of_units(kind, tmp_path):
    effect = paribus.partial_dependence(called, X, "b", kind=kind, units=UNITS, **QUIET)
    effect.save(tmp_path / "effect.json")
    kept = paribus.load(tmp_path / "effect.json")
    assert differing(kept, effect) == []
    assert kept.provenance.standard_error_units == len(np.unique(UNITS))
    assert differing(kept.slope(), effect.slope()) == []
    assert differing(kept.contrast(None, 1.0), effect.contrast(None, 1.0)) == []


def test_errors_of_several_models_are_those_of_units_of_each():
    names = ("function", "boosted trees")
    mean_effect = paribus.effects([model(name) for name in names], X, ["a"], units=UNITS, **QUIET)["a"]
    effects_of_models = [paribus.effects(model(name), X, ["a"], units=UNITS, **QUIET)["a"] for name in names]
    want = np.sqrt(
        np.mean([effect.contrast(0.0, 2.0).standard_error ** 2 for effect in effects_of_models], axis=0)
    )
    assert_allclose(mean_effect.contrast(0.0, 2.0).standard_error, want, rtol=1e-9)
    assert_allclose(mean_effect.share_covariance, effects_of_models[0].share_covariance, rtol=1e-12)
    assert mean_effect.provenance.standard_error_units == len(np.unique(UNITS))


def test_single_unit_has_no_errors():
    for name in ("function", "boosted trees"):
        explained = explanation(name, X, target(name), units=np.zeros(ROWS, int), **QUIET)
        for path, array in errors_of(dict(leaves(explained))).items():
            known = array[np.isfinite(array)]
            assert not (known > 1e-20).any(), path

"""What notes and sentences state, computed again from the raw rows by loops, from the documented definitions.

Of a result, these functions read which rows were used, and the values of its grids. A function returns values
by the names that they have in the note or sentence.
"""

import re
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import scipy.stats

from paribus.notes import NoteCode

CROSSED = 420  # most rows that are crossed with each other here
BIN_ROWS = 4_096  # rows that give bins and associations
ERROR_ROWS = 1_024  # rows that errors of curves always use


def mean_error(values, weights):
    """Return the weighted mean of values, and its standard error as that of a sample of rows."""
    mean, rows = np.average(values, weights=weights), len(values)
    squares = (weights**2 * (values - mean) ** 2).sum() * rows / max(1, rows - 1)
    return mean, np.sqrt(squares) / weights.sum() if rows > 1 else np.nan


def deviation(values, weights):
    return np.sqrt(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights))


def mean_square(effects, weights):
    """Return the mean square over rows of centered effects ``(o, i)``, for each output."""
    centered = effects - np.average(effects, axis=1, weights=weights)[:, None]
    return np.average(centered**2, axis=1, weights=weights)


class Rows:
    """The rows of positive weight that an explanation used, and predictions of changed copies of them."""

    def __init__(self, case):
        self.case, self.explanation = case, case.explanation
        weights = np.ones(len(case.X)) if case.weights is None else np.asarray(case.weights)
        sampled = self.explanation.provenance.sampled_rows is not None
        kept = self.explanation.predictions.numbers if sampled else np.flatnonzero(weights > 0)
        self.X, self.weights = case.X.iloc[kept].reset_index(drop=True), weights[kept]
        self.targets = None if case.y is None else case.targets[kept]
        groups = case.options.get("by")
        self.groups = None if groups is None else np.asarray(groups)[kept]
        self.share = self.weights / self.weights.sum()
        self.used = len(kept) if sampled else len(case.X)  # with those of weight zero
        self._curves, self._rows_curves, self._cells = {}, {}, {}

    @cached_property
    def predicted(self):
        return self.case.predict(self.X)

    @property
    def outputs(self):
        return list(self.explanation.output_names)

    def column(self, name):
        """Return a column as an array: numbers as floats, categories as objects, None where missing."""
        column = self.X[name]
        if not self.nominal(name):
            return column.to_numpy(float)
        return np.array([None if pd.isna(value) else value for value in column.astype(object)], dtype=object)

    def missing(self, name):
        return pd.isna(self.X[name]).to_numpy()

    def nominal(self, name):
        return self.X[name].dtype.kind not in "biuf"

    def grid(self, name):
        return self.explanation.effects[name].grid_values[0]

    def changed(self, table, name, values):
        """Return a copy of a table with other values in a column of the same type."""
        column = pd.Series(values, index=table.index)
        kind = self.X[name].dtype
        if kind.kind in "iu" and not pd.isna(column).any():
            column = column.astype(kind)
        elif not self.nominal(name):
            column = column.astype(float)
        elif isinstance(kind, pd.CategoricalDtype):
            column = pd.Series(pd.Categorical(values, categories=kind.categories), index=table.index)
        return table.assign(**{name: column})

    def curves(self, name):
        """Return the curve of each row ``(o, g, i)`` at the points of the grid; last at a missing value."""
        if name not in self._curves:
            points = [*self.grid(name), *[None] * bool(self.missing(name).any())]
            heights = []
            for point in points:
                filled = np.nan if point is None and not self.nominal(name) else point
                heights.append(self.case.predict(self.changed(self.X, name, [filled] * len(self.X))))
            self._curves[name] = np.stack(heights).transpose(2, 0, 1)
        return self._curves[name]

    def curve(self, name, chosen=None):
        """Return the partial dependence ``(o, g)``, over some of the rows; last at a missing value."""
        chosen = np.ones(len(self.X), bool) if chosen is None else chosen
        return np.average(self.curves(name)[..., chosen], axis=2, weights=self.weights[chosen])

    def cells(self, name):
        """Return the point nearest to each row; the number of points if missing, -1 without a point."""
        if name not in self._cells:
            self._cells[name] = self._nearest(name)
        return self._cells[name]

    def _nearest(self, name):
        grid, column = self.grid(name), self.column(name)
        if self.nominal(name):
            places = {value: place for place, value in enumerate(grid.tolist())}
            cells = np.array([places.get(value, -1) for value in column])
        else:
            middles = grid[:-1] + (grid[1:] - grid[:-1]) / 2
            cells = np.array([(value > middles).sum() for value in column])
        return np.where(self.missing(name), len(grid), cells)

    def inside(self, name):
        """Return the cell of each row; an infinite value is in none."""
        infinite = np.zeros(len(self.X), bool) if self.nominal(name) else np.isinf(self.column(name))
        return np.where(infinite, -1, self.cells(name))

    def support(self, name):
        """Return the weight of the rows near each point, and last of missing values."""
        cells, points = self.inside(name), self.curves(name).shape[1]
        return np.array([self.weights[cells == g].sum() for g in range(points)])

    def strengths(self, name):
        """Return the strength for each output, over the rows or over the points of the curve."""
        if self.explanation.effects[name].strength_from == "rows" and len(self.X) > CROSSED:
            return None
        if self.explanation.effects[name].strength_from == "rows":
            return np.sqrt(mean_square(self.at_rows((name,)), self.weights))
        support, curve = self.support(name), self.curve(name)
        return np.array([deviation(heights, support) for heights in curve])

    def at_rows(self, names):
        """Return the partial dependence ``(o, i)`` on some features at the values of each row."""
        if names not in self._rows_curves:
            size = len(self.X)
            table = self.X.loc[np.tile(self.X.index, size)].reset_index(drop=True)
            for name in names:
                table[name] = self.X.loc[np.repeat(self.X.index, size), name].reset_index(drop=True)
            every = self.case.predict(table).reshape(size, size, -1)
            self._rows_curves[names] = np.average(every, axis=1, weights=self.weights).T
        return self._rows_curves[names]

    @property
    def crossed(self):
        """Whether interactions used all rows, and these are few."""
        interactions = self.explanation.interactions
        whole = interactions is not None and interactions.provenance.sampled_rows is None
        return whole and len(self.X) <= CROSSED

    def centered(self, names):
        effect = self.at_rows(names)
        return effect - np.average(effect, axis=1, weights=self.weights)[:, None]

    def interaction(self, one, other):
        """Return the interaction ``(o, i)`` of two features at each row."""
        pair = tuple(name for name in self.X if name in (one, other))
        return self.centered(pair) - self.centered((one,)) - self.centered((other,))


# Metrics ------------------------------------------------------------------------------------------------


def loss_of(predicted, observed):
    """Return the log loss of each row, from the probability of its class; that of 0 is as in scikit-learn."""
    both = predicted if predicted.shape[1] > 1 else np.hstack([1 - predicted, predicted])
    seen = observed if observed.shape[1] > 1 else np.hstack([1 - observed, observed])
    return -np.log(np.maximum(np.finfo(float).eps, (both * seen).sum(axis=1)))


def metric(rows, name, o):
    """Return a metric, its standard error, and that of a constant prediction."""
    w, y, f = rows.weights, rows.targets, rows.predicted
    mean = np.average(y, axis=0, weights=w)
    one, out = y[:, o], f[:, o]
    if name == "log loss":
        level = np.tile(mean, (len(y), 1))
        return *mean_error(loss_of(f, y), w), np.average(loss_of(level, y), weights=w)
    if name == "accuracy":
        several = f.shape[1] > 1
        right = f.argmax(axis=1) == y.argmax(axis=1) if several else (out > 0.5) == (one == 1)
        return *mean_error(right * 1.0, w), mean.max() if several else max(mean[0], 1 - mean[0])
    if name == "mean residual":
        return *mean_error(one - out, w), 0.0
    if name == "observed / predicted":
        total = (w * out).sum()
        ratio, size = (w * one).sum() / total, len(w) / (len(w) - 1)
        error = np.sqrt(size * (w**2 * (one - ratio * out) ** 2).sum()) / total
        if hasattr(rows.case.model, "predict_proba"):
            error = max(error, np.sqrt((w**2 * out * (1 - out)).sum()) / total)
        return ratio, error, 1.0
    if name == "root mean squared error":
        square, error = mean_error((one - out) ** 2, w)
        return np.sqrt(square), error / (2 * np.sqrt(square)), deviation(one, w)
    if name == "R²":
        variance, squares = np.average((one - mean[o]) ** 2, weights=w), (one - out) ** 2
        part = np.average(squares, weights=w) / variance
        influence = (squares - part * (one - mean[o]) ** 2) / variance
        return 1 - part, mean_error(influence, w)[1], 0.0
    assert name == "AUC"
    case, other = one == 1, one == 0
    higher = (out[case][:, None] > out[other]) + 0.5 * (out[case][:, None] == out[other])
    of_case, of_other = (
        np.average(higher, axis=1, weights=w[other]),
        np.average(higher, axis=0, weights=w[case]),
    )
    area, influence = np.average(of_case, weights=w[case]), np.zeros(len(w))
    influence[case] = (of_case - area) * w.sum() / w[case].sum()
    influence[other] = (of_other - area) * w.sum() / w[other].sum()
    return area, mean_error(influence, w)[1], 0.5


def output_of(rows, label):
    """Return the position of an output by its label in a note."""
    return 0 if label is None else rows.outputs.index(re.sub("^class ", "", label))


# Notes --------------------------------------------------------------------------------------------------


def missing_values(rows, values):
    return {"share": rows.share[rows.missing(values["feature"])].sum()}


def nearly_constant(rows, values):
    column, missing = rows.column(values["feature"]), rows.missing(values["feature"])
    shares = {value: rows.share[column == value].sum() for value in set(column[~missing].tolist())}
    value = max(shares, key=shares.get)
    assert (
        float(values["value"]) == value if not rows.nominal(values["feature"]) else values["value"] == value
    )
    return {"share": shares[value] if shares[value] >= 0.95 else 0.0}


def repeated_units(rows, values):
    column = rows.case.X[values["feature"]]
    assert values["remedy"] == repr(values["feature"])
    return {"rows": len(column) / column.nunique()}


def single_value(rows, values):
    assert rows.X[values["feature"]].nunique(dropna=False) == 1
    return {}


def no_value(rows, values):
    assert rows.missing(values["feature"]).all()
    return {}


def infinite_values(rows, values):
    return {"share": rows.share[np.isinf(rows.column(values["feature"]))].sum()}


def lone_extremes(rows, values):
    """At most 1 % of the data lies beyond a gap of ten times the range from the first to the last decile."""
    column, above = rows.column(values["feature"]), values["side"] == "above"
    beyond = column > values["last"] if above else column < values["last"]
    extreme = np.nanmax(column) if above else np.nanmin(column)
    share = rows.share[beyond].sum()
    finite = np.isfinite(column)
    middle = np.quantile(column[finite], [0.1, 0.9], method="inverted_cdf", weights=rows.weights[finite])
    apart = np.diff(np.unique(column[finite]))
    assert share <= 0.01
    assert apart.max() > 9 * np.ptp(middle)
    return {"data": share, "last": values["last"], "extreme": extreme}


def rare_categories(rows, values):
    weights = pd.Series(rows.weights).groupby(rows.column(values["feature"])).sum()
    kept = weights.nlargest(values["kept"]).sum()
    share = (weights.sum() - kept) / rows.weights.sum()
    return {"categories": len(weights), "kept": values["kept"], "share": share}


def time_zone(rows, values):
    assert str(rows.X[values["feature"]].dt.tz) == values["zone"]
    return {}


def outside_grid(rows, values):
    grid, column = rows.explanation.ale[values["feature"]].grid_values[0], rows.column(values["feature"])
    if rows.nominal(values["feature"]):
        outside = ~np.isin(column, list(grid)) & ~rows.missing(values["feature"])
    else:
        outside = (column < grid[0]) | (column > grid[-1])
    return {"share": rows.share[outside].sum()}


def category_order(rows, values):
    known = {str(value) for value in rows.column(values["feature"]) if value is not None}
    assert set(values["categories"]) <= known
    assert len(set(values["categories"])) == len(values["categories"]) == min(len(known), 50)
    return {}


def thin_support(rows, values):
    """The points with the least data, less than a tenth together, and the movement that touches them."""
    name = values["feature"]
    points = len(rows.grid(name))
    shares, curve = rows.support(name)[:points], rows.curve(name)[:, :points]
    shares = shares / shares.sum()
    thin, reached = set(), 0.0
    for g in sorted(range(points), key=lambda g: shares[g]):
        reached += shares[g]
        if reached >= 0.1:
            break
        thin.add(g)
    moves = np.abs(np.diff(curve, axis=1)).sum(axis=0)
    touched = sum(move for g, move in enumerate(moves) if {g, g + 1} & thin)
    return {"share": touched / moves.sum(), "data": sum(shares[g] for g in thin)}


def explained_between(rows_of, sizes, means, variances):
    """Return the adjusted R² of cells that have at least three rows."""
    large = rows_of >= 3
    count, cells = rows_of[large].sum(), large.sum()
    within = (sizes * variances)[large].sum()
    between = (sizes * (means - np.average(means[large], weights=sizes[large])) ** 2)[large].sum()
    return 1 - within / (within + between) * (count - 1) / (count - cells)


def best_cells(y, w, sizes):
    """Return mean and variance of y in cells of some sizes that are filled in its order, with parts of rows."""
    order = np.argsort(y, kind="stable")
    y, w = y[order] - np.average(y, weights=w), w[order]
    ends, stop = np.cumsum(w / w.sum()), np.cumsum(sizes / sizes.sum())
    starts, means, variances = ends - w / w.sum(), [], []
    for low, high in zip(np.append(0.0, stop[:-1]), stop, strict=True):
        part = np.clip(np.minimum(ends, high) - np.maximum(starts, low), 0.0, None)  # of each row, as a share
        squares = part * w
        mean = np.average(y, weights=part)
        means.append(mean)
        variances.append(np.average((y - mean) ** 2, weights=squares))
    return np.array(means), np.array(variances)


def leak_share(rows, name, o, *, with_missing):
    """Return the adjusted R² of the averages of y in the cells of a feature, relative to the best cells."""
    cells, points = rows.inside(name), len(rows.grid(name))
    kept = cells >= 0 if with_missing else (cells >= 0) & (cells < points)
    groups = [np.flatnonzero(kept & (cells == cell)) for cell in np.unique(cells[kept])]
    every, w = rows.targets[:, o], rows.weights
    sizes, counts = np.array([w[group].sum() for group in groups]), np.array([len(group) for group in groups])
    means = np.array([np.average(every[group], weights=w[group]) for group in groups])
    variances = np.array(
        [
            np.average((every[group] - mean) ** 2, weights=w[group] ** 2)
            for group, mean in zip(groups, means, strict=True)
        ]
    )
    share, data = explained_between(counts, sizes, means, variances), w[kept].sum() / w.sum()
    classes = hasattr(rows.case.model, "predict_proba") or len(np.unique(every)) <= 2
    if classes or len(groups) < 10 or (cells == -1).any():
        return share, data
    order = np.argsort(means, kind="stable")
    best = best_cells(every, w, sizes[order])
    return share / explained_between(counts[order], sizes[order], *best), data


def target_among_features(rows, values):
    name, label = values["feature"], values["target"]
    outputs = range(len(rows.outputs))
    if label != "the target":
        named = re.sub("^class ", "", label).split(", ")
        outputs = [rows.outputs.index(part) for part in named if part in rows.outputs]
    shares = [leak_share(rows, name, o, with_missing="data" not in values) for o in outputs]
    data = {"data": shares[0][1]} if "data" in values else {}
    return data | {"share": min(1.0, max(share for share, _ in shares))}


def small_group(rows, values):
    count = int((rows.groups == values["group"]).sum())
    assert values["consequence"].startswith("no" if count < 2 else "standard errors")
    return {"rows": count}


def one_hot_columns(rows, values):
    names = [name for name in rows.X if name.startswith(values["prefix"])]
    ones = rows.X[names].to_numpy(float)
    assert set(np.unique(ones)) == {0.0, 1.0}
    assert ones.sum(axis=1).max() == 1
    return {"columns": len(names)}


def columns_ignored(rows, values):
    unused = [name for name in rows.X if name not in rows.case.model.feature_names_in_]
    assert values["columns"] == tuple(unused)
    return {"count": len(unused)}


def rows_sampled(rows, values):
    """H crosses so many rows that these, times rows, times sets, are at most two or ten million."""
    assert 0 < values["rows"] < values.get("total", len(rows.case.X))
    if values["what"] != "interactions":
        return {"rows": values["rows"], "total": len(rows.X)}  # none of weight zero
    features = len(rows.explanation.effects)
    sets, evaluator = (
        features + features * (features - 1) // 2,
        rows.explanation.interactions.provenance.evaluator,
    )
    most = 2_000_000 if evaluator == "brute" else 10_000_000
    size = max(64, min(500, int((most // sets) ** 0.5))) if features > 1 else 500
    return {"rows": size, "total": len(rows.case.X)}


def pairs_chosen(rows, values):
    return {
        "features": 40,
        "pairs": 40 * 39 // 2,
        "total": len(rows.X.columns) * (len(rows.X.columns) - 1) // 2,
    }


def not_finite(rows, values):
    bad = [name for name in rows.explanation.effects if not np.isfinite(rows.curves(name)).all()]
    assert bad or not np.isfinite(rows.predicted).all()
    return {}


def row_dependent(rows, values):
    extreme = rows.X.copy()
    extreme.iloc[1:] = extreme.iloc[1:] * 1e6
    assert not np.allclose(rows.case.predict(extreme)[0], rows.predicted[0])
    return {}


def constant_prediction(rows, values):
    assert np.ptp(rows.predicted, axis=0).max() <= 1e-9 * np.abs(rows.predicted).max()
    return {}


def single_row(rows, values):
    assert len(rows.X) == 1
    return {}


def probability_scale(rows, values):
    assert ((rows.predicted >= 0) & (rows.predicted <= 1)).all()
    return {}


def residual_cells(rows, name):
    """Yield the cells ``(o, c)`` of a feature: rows, averages, residual, its error, and share of the data."""
    cells, residual = rows.inside(name), rows.targets - rows.predicted
    table = {}
    for o in range(len(rows.outputs)):
        for c in range(rows.curves(name).shape[1]):
            chosen = cells == c
            if chosen.any():
                w = rows.weights[chosen]
                seen, told = (
                    np.average(part[chosen, o], weights=w) for part in (rows.targets, rows.predicted)
                )
                table[o, c] = [
                    chosen.sum(),
                    seen,
                    told,
                    *mean_error(residual[chosen, o], w),
                    rows.share[chosen].sum(),
                ]
    shares = all(0 <= part <= 1 for cell in table.values() for part in cell[1:3])
    for cell in table.values():
        n, p, q = cell[:3]
        if shares:  # Wilson's half width, and the error of outcomes with the predicted probability
            wilson = np.sqrt(p * (1 - p) / n + 0.25 / n**2) / (1 + 1 / n)
            cell[4] = np.fmax(np.fmax(cell[4], np.sqrt(q * (1 - q) / n)), wilson)
    return table


def cell_differs(rows, values):
    name = values.get("feature")
    tables = {feature: residual_cells(rows, feature) for feature in rows.explanation.averages}
    known = sum(cell[0] >= 30 and cell[4] > 0 for table in tables.values() for cell in table.values())
    missing = "missing" in values
    c = len(rows.grid(name)) if missing else rows.grid(name).tolist().index(values["value"])
    _, observed, predicted, residual, error, share = tables[name][output_of(rows, values.get("output")), c]
    return {
        **({} if missing else {"value": values["value"]}),
        "data": share,
        "observed": observed,
        "predicted": predicted,
        "difference": (abs(residual), error),
        "size": abs(residual),
        "errors": abs(residual) / error,
        "bound": scipy.stats.t.isf(scipy.stats.norm.sf(3.0) / known, len(rows.X) - 1),
        "cells": known,
    }


def poor_calibration(rows, values):
    value, error, ideal = metric(rows, values["metric"], output_of(rows, values.get("output")))
    assert abs(value - ideal) > 3 * error
    return {"estimate": (value, error), "ideal": ideal, "share": abs(value - ideal)}


def no_skill(rows, values):
    value, error, constant = metric(rows, values["metric"], output_of(rows, values.get("output")))
    errors = max(2, scipy.stats.t.ppf(0.975, len(rows.X) - 1))
    assert value - constant <= errors * error * (1 + 1e-6)
    return {"estimate": (value, error)}


def group_bias(rows, values):
    chosen, o = rows.groups == values["group"], output_of(rows, values.get("output"))
    w, y, f = rows.weights[chosen], rows.targets[chosen, o], rows.predicted[chosen, o]
    mean, error = mean_error(y - f, w)
    if hasattr(rows.case.model, "predict_proba"):  # that of the ratio, and at least that of chance
        ratio, size = (w * y).sum() / (w * f).sum(), len(w) / (len(w) - 1)
        error = np.sqrt(max(size * (w**2 * (y - ratio * f) ** 2).sum(), (w**2 * f * (1 - f)).sum())) / w.sum()
    return {"difference": (mean, error), "errors": abs(mean) / error, "size": abs(mean)}


def local_effect(rows, name):
    """Return the accumulated changes at the edges of bins: of rows in a bin, between both of its edges."""
    edges, column = rows.explanation.ale[name].grid_values[0], rows.column(name)
    heights = [np.zeros(len(rows.outputs))]
    for low, high in pairwise(edges):
        inside = (column > low) & (column <= high) | (column == low) & (low == edges[0])
        table = rows.X[inside]
        upper, lower = (
            rows.case.predict(rows.changed(table, name, [end] * len(table))) for end in (high, low)
        )
        heights.append(heights[-1] + np.average(upper - lower, axis=0, weights=rows.weights[inside]))
    return np.array(heights).T


def ale_differs(rows, values):
    """The largest distance of the curves, where ALE may have a step anywhere between two of its edges."""
    name, o = values["feature"], output_of(rows, values.get("output"))
    edges, grid = rows.explanation.ale[name].grid_values[0], rows.grid(name)
    average, support = rows.curve(name)[o, : len(grid)], rows.support(name)[: len(grid)]
    if rows.nominal(name):
        ale = rows.explanation.ale[name].ale[o][[edges.tolist().index(value) for value in grid]]
        middle = low = high = ale
        kept = np.ones(len(grid), bool)
    else:
        ale, kept = local_effect(rows, name)[o], (grid >= edges[0]) & (grid <= edges[-1])
        left = [np.flatnonzero(edges <= value)[-1] for value in grid[kept]]
        right = [np.flatnonzero(edges >= value)[0] for value in grid[kept]]
        middle = np.interp(grid[kept], edges, ale)
        low, high = np.minimum(ale[left], ale[right]), np.maximum(ale[left], ale[right])
    average, support = average[kept], support[kept]
    offset = np.average(average - middle, weights=support)
    apart = np.maximum(np.maximum(0.0, low + offset - average), np.maximum(0.0, average - high - offset))
    at = grid[kept].tolist().index(values["value"])
    assert apart[at] >= apart.max() * (1 - 1e-6)
    width = np.ptp(np.concatenate([average, middle + offset]))
    return {"size": apart.max(), "share": apart.max() / width, "value": values["value"]}


def unreliable_h(rows, values):
    for text in values["groups"] if rows.crossed else ():
        one, other = text.split(" x ")
        pair = tuple(name for name in rows.X if name in (one, other))
        interaction, joint = rows.interaction(one, other), rows.centered(pair)
        part, whole = (np.average(each**2, axis=1, weights=rows.weights) for each in (interaction, joint))
        weak = whole < 1e-3 * mean_square(rows.predicted.T, rows.weights)
        claims = {
            "have a joint effect": weak,
            "have an H² above 1": part > whole,
            "interact, but": whole < 1e-12,
        }
        assert next(claim for words, claim in claims.items() if values["reason"].startswith(words)).any()
    return {}


def movement(rows, values, direction):
    """Return the largest movement of a curve against a direction, between points with data."""
    name, o = values["feature"], output_of(rows, values.get("output"))
    points, grid = len(rows.grid(name)), rows.grid(name)
    heights, support = rows.curve(name)[o, :points], rows.support(name)[:points]
    within = [g for g in range(points) if support[g] > 0]
    sign = 1 if direction == "rising" else -1
    drops = {(a, b): sign * (heights[a] - heights[b]) for a, b in combinations(within, 2)}
    start, stop = (grid.tolist().index(values[end]) for end in ("start", "stop"))
    size, column = max(drops.values()), rows.column(name)
    assert drops[start, stop] >= size * (1 - 1e-6)
    between = (column >= grid[start]) & (column <= grid[stop])
    width = np.ptp(heights[within])
    expected = {"size": size, "share": size / width, "data": rows.share[between].sum()}
    return expected | {"start": grid[start], "stop": grid[stop]}


def direction_violated(rows, values):
    assert rows.case.options["monotone"][values["feature"]] == values["direction"]
    return movement(rows, values, values["direction"])


def direction_reversed(rows, values):
    """The prevailing direction is the sign of the covariance of the curve with the rank of the value."""
    name, o = values["feature"], output_of(rows, values.get("output"))
    points = len(rows.grid(name))
    heights, support = rows.curve(name)[o, :points], rows.support(name)[:points]
    below = np.cumsum(support / support.sum())[:-1]
    rises = (below * (1 - below) * np.diff(heights)).sum() > 0
    assert values["moves"] == ("falls" if rises else "rises")
    return movement(rows, values, "rising" if rises else "falling")


def hidden_interaction(rows, values):
    name, alone = values["feature"], rows.strengths(values["feature"])
    error = values["alone"][1]
    expected = {} if alone is None else {"alone": (np.sqrt(np.mean(alone**2)), error)}
    if not rows.crossed:
        return expected
    others = tuple(other for other in rows.X if other != name)
    full = rows.predicted.T - np.average(rows.predicted, axis=0, weights=rows.weights)[:, None]
    joint = full - rows.centered((name,)) - rows.centered(others)
    square, own = (mean_square(each, rows.weights).sum() for each in (joint, rows.centered((name,))))
    return expected | {"joint": (np.sqrt(square), values["joint"][1]), "share": square / (square + own)}


def no_effect(rows, values):
    curves = rows.curves(values["feature"])
    scale = np.abs(curves).max()
    return {"share": 0.0 if np.ptp(curves, axis=1).max() <= 1e-9 * scale else np.inf}


def groups_differ(rows, values):
    """Curves of both groups, apart from their averages over the data of all groups."""
    name, o = values["feature"], output_of(rows, values.get("output"))
    points = len(rows.grid(name))
    known = rows.inside(name)
    support = np.array([rows.weights[known == g].sum() for g in range(points)])
    shares, at = support / support.sum(), rows.grid(name).tolist().index(values["value"])
    means, squares, apart = [], [], 0.0
    for group, sign in ((values["group"], 1), (values["reference"], -1)):
        chosen = rows.groups == group
        curves = rows.curves(name)[o][:points, chosen]
        mean, error = mean_error(curves[at] - shares @ curves, rows.weights[chosen])
        means.append(mean)
        squares.append(error**2)
        apart = apart + sign * np.average(curves, axis=1, weights=rows.weights[chosen])
    influence = np.zeros(len(rows.X))  # of the value of each row on the average over the data
    for g, point in enumerate(np.eye(points)):
        perturbed = support + 1e-30j * point
        influence[known == g] = (perturbed / perturbed.sum() @ apart).imag / 1e-30
    for group in np.unique(rows.groups):
        chosen = rows.groups == group
        squares.append((deviation(influence[chosen], rows.weights[chosen]) * rows.weights[chosen]) ** 2)
    size, error = abs(means[0] - means[1]), np.sqrt(sum(map(np.sum, squares)))
    if len(rows.X) > ERROR_ROWS:  # then errors of trees are of fewer rows
        np.testing.assert_allclose(values["difference"][1], error, rtol=0.1)
        error = values["difference"][1]
    return {"difference": (size, error), "size": size, "value": values["value"]}


def in_region(rows, regions, node):
    """Return which rows are in a region: on the sides of all splits that lead to its node."""
    inside = np.ones(len(rows.X), bool)
    splits = {split.node: split for split in regions.splits}
    while node > 1:
        side, node = node % 2, node // 2
        split = splits[node]
        column, missing = rows.column(split.feature), rows.missing(split.feature)
        if split.threshold is not None:
            left = column <= split.threshold
        elif split.categories is not None:
            left = np.isin(column, list(split.categories))
        else:
            left = ~missing
        if split.missing is not None:
            left = np.where(missing, split.missing == "left", left)
        inside &= left if side == 0 else ~left
    return inside


def regions_found(rows, values):
    regions = rows.explanation.regions[values["feature"]]
    inside = [in_region(rows, regions, region.node) for region in regions.regions]
    assert np.sum(inside, axis=0).tolist() == [1] * len(rows.X)
    for region, chosen in zip(regions.regions, inside, strict=True):
        assert region.rows == chosen.sum() > 0
    assert values["regions"] == tuple(region.text for region in regions.regions)
    return {"count": len(inside)}


def metric_left_out(rows, values):
    metrics = rows.explanation.performance.metrics
    outputs = values.get("outputs", [None])
    assert not {(m.name, m.output) for m in metrics} & {(n, o) for n in values["metrics"] for o in outputs}
    return {}


def bin_numbers(rows, name, most):
    """Return the bin of each row or value, at quantiles of the rows; a bin of its own where missing."""
    column, missing = rows.column(name), rows.missing(name)
    if rows.nominal(name):
        categories = {value: place for place, value in enumerate(sorted(set(column[~missing])))}
        return lambda values: np.array([categories.get(value, -1) for value in values])
    ordered = np.sort(column[np.isfinite(column)])
    distinct = np.unique(ordered)
    edges = distinct[:-1]
    if len(distinct) > most:
        cuts = ordered[[(len(ordered) - 1) * k // most for k in range(1, most)]]
        edges = np.unique(cuts[cuts < distinct[-1]])
    return lambda values: np.array([-1 if value != value else (value > edges).sum() for value in values])


def off_data(rows, name, partner):
    """Return the share of the points of a curve, and values of a partner, where rows are expected but none is."""
    most = min(20, max(2, int((len(rows.X) // 20) ** 0.5)))
    own, others = bin_numbers(rows, name, most), bin_numbers(rows, partner, most)
    mine, theirs = own(rows.column(name)), others(rows.column(partner))
    known = off = 0.0
    for g in own(rows.grid(name)):
        for c in np.unique(theirs):
            expected = (mine == g).sum() * (theirs == c).sum() / len(rows.X)
            weight = rows.weights[theirs == c].sum()
            known += weight * (expected >= 10)
            off += weight * (expected >= 10 and not ((mine == g) & (theirs == c)).any())
    return off / known if known else 0.0


def association(rows, one, other):
    """Return Spearman's correlation, Cramér's V or the correlation ratio of ranks, by the kinds."""
    both = rows.X[[one, other]].dropna()
    nominal = [name for name in (one, other) if rows.nominal(name)]
    if not nominal:
        return both[one].rank().corr(both[other].rank())
    if len(nominal) == 2:
        counts = pd.crosstab(both[one].astype(str), both[other].astype(str)).to_numpy()
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        ways = min(counts.shape) - 1
        return np.sqrt(((counts - expected) ** 2 / expected).sum() / (counts.sum() * ways)) if ways else 0.0
    ranks = both[other if nominal == [one] else one].rank()
    means = ranks.groupby(both[nominal[0]].astype(str)).transform("mean")
    return np.sqrt(means.var(ddof=0) / ranks.var(ddof=0))


def extrapolation(rows, values):
    expected = {"association": association(rows, values["feature"], values["partner"])}
    if values["what"] == "curve":
        expected["share"] = off_data(rows, values["feature"], values["partner"])
    if len(rows.X) <= BIN_ROWS:
        return expected
    for name, number in expected.items():  # bins and ranks are of sampled rows
        np.testing.assert_allclose(values[name], number, atol=0.05)
    return {name: values[name] for name in expected}


RECOMPUTED = {
    NoteCode[function.__name__.upper()]: function
    for function in (
        extrapolation, missing_values, nearly_constant, single_value, no_value, infinite_values,
        lone_extremes, rare_categories, time_zone, outside_grid, category_order, thin_support,
        target_among_features, small_group, one_hot_columns, repeated_units, columns_ignored, rows_sampled,
        pairs_chosen, not_finite, row_dependent, constant_prediction, single_row, probability_scale,
        cell_differs, poor_calibration, no_skill, group_bias, ale_differs, unreliable_h, direction_violated,
        direction_reversed, hidden_interaction, no_effect, groups_differ, regions_found, metric_left_out,
    )
}  # fmt: skip

NOT_IN_EXPLANATIONS = {
    NoteCode.FILES_SKIPPED: "files of this machine that cannot be read",
    NoteCode.UNKNOWN_CATEGORIES: "what a model was fitted on, which its rows do not show",
    NoteCode.QUANTILES_ESTIMATED: "the rank error of a sketch of rows that are read",
    NoteCode.AMPLIFIED_ROUNDING: "rounding inside of a library",
    NoteCode.FEATURE_SKIPPED: "a reason in words, of a column that cannot be read",
    NoteCode.TRAINING_PATHS: "a method that was requested; it has no values",
    NoteCode.EMPTY_CELLS: "cells of two features, or of custom values; explanations have neither",
    NoteCode.ERROR_BASIS: "the basis of standard errors; words only",
}

# Values that a hash or a simulation decides: other tests are about them.
UNCHECKED = {
    (NoteCode.REGIONS_FOUND, "share"): "a gain on the half of the rows that a hash chooses",
    (NoteCode.EXTRAPOLATION, "share"): "of surfaces, over the cells of their grid",
    (NoteCode.HIDDEN_INTERACTION, "joint"): "of sampled rows, or of too many to cross them",
    (NoteCode.HIDDEN_INTERACTION, "share"): "of sampled rows, or of too many to cross them",
    (NoteCode.HIDDEN_INTERACTION, "alone"): "at the value of every row, of too many to cross them",
}


# Defects ------------------------------------------------------------------------------------------------


def numeric(rows):
    return [name for name in rows.X if not rows.nominal(name) and rows.X[name].notna().any()]


def has_lone_extremes(rows, name):
    """At most 1 % of the rows lies beyond an empty gap of ten times the range from first to last decile."""
    column, grid = rows.column(name), rows.grid(name)
    kept = np.isfinite(column)
    low, high = np.quantile(column[kept], [0.1, 0.9], method="inverted_cdf", weights=rows.weights[kept])
    for last, following in pairwise(grid) if high > low else ():
        empty = not (kept & (column > last) & (column < following)).any()
        if empty and following - last > 10.1 * (high - low):
            ends = rows.share[kept & (column < following)].sum(), rows.share[kept & (column > last)].sum()
            if 0 < min(ends) <= 0.009:
                return True
    return False


def declared_moves(rows):
    """Return whether a curve moves against its declared direction, by more than four standard errors."""
    for name, direction in rows.case.options.get("monotone", {}).items():
        points, sign = len(rows.grid(name)), 1 if direction == "rising" else -1
        support = rows.support(name)[:points]
        for curves in rows.curves(name)[:, :points]:
            average = np.average(curves, axis=1, weights=rows.weights)
            width = np.ptp(average)
            for a, b in combinations(np.flatnonzero(support > 0), 2):
                drop, error = mean_error(sign * (curves[a] - curves[b]), rows.weights)
                if drop > max(4 * error, 0.01 * width, 1e-9 * np.abs(average).max()):
                    return True
    return False


def is_flat(rows, name):
    curves = rows.curves(name)
    return curves.shape[1] > 1 and not np.ptp(curves, axis=1).any()


def is_copied(rows):
    """Return whether two numeric columns without many ties have nearly the same order."""
    distinct = [
        name for name in numeric(rows) if rows.X[name].nunique() > 0.9 * rows.X[name].notna().sum() > 400
    ]
    return any(abs(association(rows, *pair)) > 0.99 for pair in combinations(distinct, 2))


def scores(rows, names):
    """Yield metrics of all outputs that explanations have."""
    known = [] if rows.explanation.performance is None else rows.explanation.performance.metrics
    for name in sorted({each.name for each in known} & set(names)):
        yield from ((name, metric(rows, name, o)) for o in range(len(rows.outputs)))


def is_biased(rows):
    biases = dict(scores(rows, ["observed / predicted"])) or dict(scores(rows, ["mean residual"]))
    spread = np.std(rows.targets) if "mean residual" in biases else 1.0
    return any(abs(value - ideal) > max(4 * error, 0.02 * spread) for value, error, ideal in biases.values())


def most_common(rows, name):
    column = rows.column(name)[~rows.missing(name)]
    weights = rows.weights[~rows.missing(name)]
    return (
        max((weights[column == value].sum() for value in set(column.tolist())), default=0.0)
        / rows.weights.sum()
    )


DEFECTS = {
    NoteCode.MISSING_VALUES: lambda rows: (
        rows.X.drop(columns="absent", errors="ignore").isna().to_numpy().any()
    ),
    NoteCode.SINGLE_VALUE: lambda rows: any(
        rows.X[name].nunique(dropna=False) == 1 for name in numeric(rows)
    ),
    NoteCode.NEARLY_CONSTANT: lambda rows: any(
        most_common(rows, name) > 0.95 and rows.X[name].nunique() > 1 for name in rows.X
    ),
    NoteCode.LONE_EXTREMES: lambda rows: any(has_lone_extremes(rows, name) for name in numeric(rows)),
    NoteCode.INFINITE_VALUES: lambda rows: any(np.isinf(rows.column(name)).any() for name in numeric(rows)),
    NoteCode.EXTRAPOLATION: is_copied,
    NoteCode.TARGET_AMONG_FEATURES: lambda rows: (
        "target" in rows.X and rows.targets is not None and (rows.case.y == rows.case.known).all()
    ),
    NoteCode.NO_SKILL: lambda rows: any(
        value <= ideal for _, (value, _, ideal) in scores(rows, ["R²", "AUC"])
    ),
    NoteCode.POOR_CALIBRATION: is_biased,
    NoteCode.NO_EFFECT: lambda rows: (
        np.ptp(rows.predicted, axis=0).any() and any(is_flat(rows, name) for name in rows.explanation.effects)
    ),
    NoteCode.DIRECTION_VIOLATED: declared_moves,
}


# Sentences ----------------------------------------------------------------------------------------------


def is_predicted(rows, values):
    means = np.average(rows.predicted, axis=0, weights=rows.weights)
    expected = {"predicted": dict(zip(rows.outputs, means, strict=True)), "observed": {}}
    if rows.targets is not None:
        seen = np.average(rows.targets, axis=0, weights=rows.weights)
        expected["observed"] = dict(zip(rows.outputs, seen, strict=True))
    return expected


def fits(rows, values):
    return {name: [metric(rows, name, o) for o in range(len(each))] for name, each in values.items()}


def moves(rows, values):
    """Return the heights of the widest curve where the sentence says: at both ends, and where it turns."""
    name = values["feature"]
    points, grid = len(rows.grid(name)), rows.grid(name)
    support, curve = rows.support(name)[:points], rows.curve(name)[:, :points]
    if not support.any():
        support = np.ones(points)
    known = support > 0
    widest = int(np.argmax(np.ptp(curve[:, known], axis=1)))
    heights, places = curve[widest], grid.tolist()
    ends = [places.index(values["from"]), places.index(values["to"])]
    path = sorted({*ends, places.index(values["at"])}) if "at" in values else ends
    shape = rows.explanation.shapes.widest(name)
    if shape.name in ("flat", "wavy", "undefined"):
        inside = heights[ends[0] : ends[1] + 1][known[ends[0] : ends[1] + 1]]
        reached = [inside.min(), inside.max()]
        if shape.monotonicity is not None and inside.argmax() < inside.argmin():
            reached.reverse()
    else:
        reached = [heights[g] for g in path]
    if shape.name == "categories":
        assert (reached[0], reached[-1]) == (heights[known].min(), heights[known].max())
    else:
        beyond = np.isfinite(rows.column(name)) & (
            (rows.column(name) < grid[ends[0]]) | (rows.column(name) > grid[ends[1]])
        )
        assert rows.share[beyond].sum() <= 0.01  # lone extremes at most
    return {"heights": reached, "from": values["from"], "to": values["to"]} | (
        {"at": values["at"]} if "at" in values else {}
    )


def reach(rows, name):
    """Return how far a curve with its missing value reaches, of the output with the widest curve."""
    points, support, curve = len(rows.grid(name)), rows.support(name), rows.curve(name)
    known = np.append(support[:points] > 0, np.ones(curve.shape[1] - points, bool))
    if not known[:points].any():
        known[:] = True
    widest = int(np.argmax(np.ptp(curve[:, :points][:, known[:points]], axis=1)))
    return np.ptp(curve[widest, known])


def others_move(rows, values):
    named = [part.values["feature"] for part in rows.explanation.sentences if "heights" in part.values]
    curves = [name for name in rows.explanation.effects if len(rows.grid(name))]
    assert named == curves[: len(named)]
    assert len(named) == 2 or not any(reach(rows, name) > 1e-9 for name in curves[len(named) :])
    others = curves[len(named) :]
    furthest = max(reach(rows, name) for name in others)
    assert reach(rows, values["feature"]) >= furthest * (1 - 1e-6)
    return {"features": len(others), "range": furthest}


def interact(rows, values):
    if not rows.crossed:
        return {}
    squares = mean_square(rows.interaction(*values["features"]), rows.weights)
    return {"strength": np.sqrt(squares.mean())}


def centered_curve(rows, name, curve):
    """Return a curve ``(o, i)`` apart from its level at the point nearest to each row."""
    support = rows.support(name)
    curve = curve - (curve @ (support / support.sum()))[:, None]
    return np.hstack([curve, np.zeros((len(curve), 1))])[:, rows.cells(name)]


def are_reproduced(rows, values):
    """One minus the variance of what curves leave, over that of the prediction."""
    f, names = rows.predicted.T, [name for name in rows.explanation.effects if len(rows.grid(name))]
    parts = {name: centered_curve(rows, name, rows.curve(name)) for name in names}
    left, variance = f - sum(parts.values()), mean_square(f, rows.weights)
    curves = 1 - mean_square(left, rows.weights) / variance
    expected = {"curves": curves}
    if values["regions"] is not None and values["feature"] is not None and np.any(values["regions"]):
        regions = rows.explanation.regions[values["feature"]]
        regional = parts[values["feature"]].copy()
        for region in regions.regions:
            inside = in_region(rows, regions, region.node)
            own = centered_curve(rows, values["feature"], rows.curve(values["feature"], inside))
            regional[:, inside] = own[:, inside]
        again = mean_square(left + parts[values["feature"]] - regional, rows.weights)
        expected["regions"] = 1 - again / variance - curves
    if values["pairs"] is not None and rows.crossed and len(names) <= 4:
        rest = (
            f
            - np.average(f, axis=1, weights=rows.weights)[:, None]
            - sum(rows.centered((name,)) for name in names)
        )
        joint = rest - sum(rows.interaction(*pair) for pair in combinations(names, 2))
        before, after = (np.average(each**2, axis=1, weights=rows.weights) for each in (rest, joint))
        negligible = before <= 1e-12 * variance
        expected["pairs"] = np.where(
            negligible, 0.0, (before - after) / np.where(negligible, 1.0, before) * (1 - curves)
        )
    return expected


def are_averaged(rows, values):
    return {"rows": rows.used, "total": len(rows.case.X)}


SENTENCES = {
    r"The model predicts ": is_predicted,
    r"On these rows, |How well it predicts is not known": fits,
    r"(As|By) .*, the average ": moves,
    r"The other .*moves? (it|an output) by at most|No (other )?feature moves": others_move,
    r"Check first: ": lambda rows, values: RECOMPUTED[NoteCode[values["code"]]](rows, values),
    r".* interact most: ": interact,
    r"The curves? .* reproduces? ": are_reproduced,
    r"All averages are over ": are_averaged,
}

"""How often 95 % intervals hold the value of the population: `python -m benchmarks.coverage`.

Run it as a module: numba imports the package coverage, which a script of this name would hide. Every
population has four features: a and c are correlated, and b acts more strongly where s is 1. Its model is
fixed. A sample of rows is explained, and its intervals are compared with the values of 500,000 rows, or of
the formula of a function. With dependent rows, five rows of a unit have correlated features and residuals,
and the same s.

The record is in benchmarks/coverage.json, and docs/standard-errors.md has its tables (`--page` writes them).
"""

import argparse
import json
import time
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import paribus

RECORD, PAGE = Path(__file__).with_suffix(".json"), Path(__file__).parents[1] / "docs" / "standard-errors.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
TEST_BEGIN, TEST_END = "<!-- test -->\n", "<!-- end of test -->\n"
PER_UNIT, CORRELATION = 5, 0.5  # rows of a unit, and the correlation of its normal deviates
LEVEL, NOISE, SHARE = 0.3, 0.5, 0.5  # effect of b where s is 0, deviation of residuals, mean of s
POPULATION, SEARCHES = 500_000, 40  # rows that give the true values, and samples that give those of regions
SEARCHED = 20_000  # rows in which regions are searched
QUIET = {"progress": False, "n_jobs": 1}
SHAPES = {"normal": np.arctan, "lognormal": np.sqrt}  # of effects, on features of this distribution
ARRANGEMENTS = ("independent rows", "units", "units ignored")


@dataclass
class Population:
    """Rows of a distribution, and a model of them: trees, classifier or function."""

    distribution: str
    kind: str
    truths: dict[str, float] = field(default_factory=dict)

    @property
    def shape(self):
        """The effect of a feature."""
        return SHAPES[self.distribution]

    def signal(self, X):
        """Return the expected target of rows."""
        a, b, c = (self.shape(X[name].to_numpy()) for name in "abc")
        return a + (LEVEL + X["s"].to_numpy()) * b + 0.5 * c

    def draw(self, rows, rng, per_unit=1):
        """Return rows, their target, and their units."""
        units = np.repeat(np.arange(-(-rows // per_unit)), per_unit)[:rows]

        def deviates():
            noise = rng.normal(size=rows)
            if per_unit == 1:
                return noise
            shared = rng.normal(size=units[-1] + 1)[units]
            return np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * noise

        a, b, c = deviates(), deviates(), deviates()
        X = pd.DataFrame({"a": a, "b": b, "c": 0.5 * a + np.sqrt(0.75) * c})
        X = np.exp(X) if self.distribution == "lognormal" else X
        X["s"] = (rng.random(units[-1] + 1) < SHARE).astype(int)[units]
        y = self.signal(X) + NOISE * deviates()
        if self.kind == "classifier":
            y = (y > np.median(self.signal(X))).astype(int)
        order = rng.permutation(rows)
        return X.iloc[order].reset_index(drop=True), y[order], units[order]

    @cached_property
    def model(self):
        """The model that is explained, fitted to other rows."""
        if self.kind == "function":
            return self.signal
        X, y, _ = self.draw(20_000, np.random.default_rng(99))
        trees = HistGradientBoostingClassifier if self.kind == "classifier" else HistGradientBoostingRegressor
        return trees(max_iter=40, max_leaf_nodes=6, random_state=0).fit(X, y)

    def explain(self, X, y, units):
        """Return an explanation by s, of the response that is a sum of trees."""
        interactions = self.kind != "classifier"  # H of a probability crosses 500 rows
        explainer = paribus.Explainer(self.model, X, y, units=units, by="s", **QUIET)
        return explainer.explain(interactions=interactions)

    @cached_property
    def rows(self):
        """Rows of the population with their target and prediction."""
        X, y, _ = self.draw(POPULATION, np.random.default_rng(12345))
        if self.kind == "classifier":
            return X, y, self.model.predict_proba(X)[:, 1]
        return X, y, self.model(X) if self.kind == "function" else self.model.predict(X)

    @cached_property
    def steps(self):
        """Partial dependence of trees on b at all thresholds: of all rows, and of the rows with each s."""
        X, _, _ = self.rows
        ask = {"features": "b", "grid_resolution": "splits", **QUIET}
        every = paribus.partial_dependence(self.model, X, **ask)
        groups = paribus.partial_dependence(self.model, X, by="s", **ask)
        values = every.grid_values[0]
        return values, every.average[0], [groups[label].average[0] for label in groups]

    def curve(self, at):
        """Return the partial dependence on b at some values, and its difference between both groups."""
        X, _, _ = self.rows
        if self.kind == "function":
            height = self.shape(at)
            rest = self.signal(X.assign(b=1.0)) - (LEVEL + X["s"]) * self.shape(1.0)
            return (LEVEL + X["s"].mean()) * height + rest.mean(), height
        values, every, (low, high) = self.steps
        place = np.clip(np.searchsorted(values, at, side="right") - 1, 0, len(values) - 1)
        return every[place], (high - low)[place]

    @cached_property
    def level(self):
        """Mean of the difference between both groups over the rows."""
        return float(np.mean(self.curve(self.rows[0]["b"].to_numpy())[1]))

    def true_values(self):
        """Return the value in the population of every statistic that does not depend on the sample's grid."""
        X, y, f = self.rows
        truths = dict(metrics(y, f, self.kind == "classifier"))
        truths["mean prediction"] = float(f.mean())
        if self.kind == "classifier":
            return truths
        if self.kind == "trees":
            done = paribus.explain(self.model, X, y, **QUIET)
            truths |= {name: part[0] for name, part in of_explanation(done).items() if name not in truths}
            truths["slope"] = float(
                paribus.partial_dependence(self.model, X, "a", **QUIET).slope().estimate[0]
            )
            return truths | self._of_regions()
        h, s, var = self.shape(X["b"]), X["s"], np.var
        joint, interaction = (h - h.mean()) * (LEVEL + s), (h - h.mean()) * (s - s.mean())
        truths["strength a"], truths["strength b"] = (
            np.std(self.shape(X["a"])),
            np.std(h) * (LEVEL + s.mean()),
        )
        truths["importance with interactions b"] = float(np.sqrt(np.mean(joint**2)))
        truths["H² of b and s"] = var(interaction) / var(h * (LEVEL + s))
        truths["H² of b and others"] = truths["total H²"] = truths["share of pairs"] = var(interaction) / var(
            f
        )
        truths["strength of b and s"] = float(np.std(interaction))
        truths["share of curves"] = 1 - var(interaction) / var(f)
        curve = paribus.partial_dependence(lambda table: self.shape(table["a"]), X, "a", **QUIET)
        truths["slope"] = curve.slope().estimate[0]
        return {name: float(value) for name, value in truths.items()}

    def _of_regions(self):
        """Return the gain of the split of b by s, and the share that regions add: means of many samples."""
        found = {"gain of a split": [], "share of regions": []}
        for seed in range(SEARCHES):
            X, y, _ = self.draw(SEARCHED, np.random.default_rng([77, seed]))
            values = of_explanation(paribus.explain(self.model, X, y, **QUIET))
            for name, kept in found.items():
                kept += [values[name][0]] if name in values else []
        return {name: float(np.mean(values)) for name, values in found.items()}


def metrics(y, f, probability):
    """Yield each metric of predictions, by its definition."""
    if probability:
        order = np.argsort(np.argsort(f)) + 1
        cases = y.sum()
        yield "AUC", (order[y == 1].sum() - cases * (cases + 1) / 2) / (cases * (len(y) - cases))
        yield "log loss", -np.mean(np.where(y == 1, np.log(f), np.log(1 - f)))
        yield "accuracy", np.mean((f > 0.5) == y)
        yield "observed / predicted", y.mean() / f.mean()
        return
    yield "R²", 1 - np.mean((y - f) ** 2) / np.var(y)
    yield "root mean squared error", np.sqrt(np.mean((y - f) ** 2))
    yield "mean absolute error", np.mean(np.abs(y - f))
    yield "mean residual", np.mean(y - f)


def of_explanation(done):
    """Return estimate, standard error and half width of 95 % intervals in errors, of every statistic."""
    curves = done.effects.provenance.error_quantile()
    found = {
        metric.name: (metric.value, metric.standard_error, curves) for metric in done.performance.metrics
    }
    rows = done.predictions
    found["mean prediction"] = (rows.mean[0], rows.standard_error[0], curves)
    if done.interactions is None:
        return found
    ask = done.importance
    for name in "ab":
        place = ask.feature_names.index(name)
        found[f"strength {name}"] = (ask.values[place], ask.standard_error[place], curves)
    errors = ask.standard_error_with_interactions
    found["importance with interactions b"] = (ask.with_interactions[place], errors[place], curves)
    H = done.interactions
    width = H.provenance.error_quantile()
    pair = H["b", "s"]
    found["H² of b and s"] = (pair.h_squared, pair.standard_error_h_squared, width)
    found["strength of b and s"] = (pair.strength, pair.standard_error, width)
    place = H.feature_names.index("b")
    found["H² of b and others"] = (H.overall.share[place, 0], H.overall.ratio_error[place, 0], width)
    found["total H²"] = (H.total.share[0, 0], H.total.ratio_error[0, 0], width)
    for name in ("curves", "pairs", "regions"):
        share, error = getattr(done.explained, name), getattr(done.explained, f"{name}_error")
        if share is not None:
            found[f"share of {name}"] = (share[0], error[0], SHARES)
    slope = done.effects["a"].slope()
    found["slope"] = (slope.estimate[0], slope.standard_error[0], curves)
    splits = () if done.regions is None or "b" not in done.regions else done.regions["b"].splits
    if splits and splits[0].feature == "s":
        width = done.regions["b"].provenance.error_quantile()
        found["gain of a split"] = (splits[0].gain, splits[0].gain_error, width)
    return found


SHARES = 2.093  # quantile of Student's distribution with 19 degrees of freedom, of 20 parts of the rows


def of_grid(population, done):
    """Return the same of statistics at values of the sample's grid, with their true values."""
    effect, found = done.effects["b"], {}
    grid, shares = effect.grid_values[0], np.cumsum(effect.support) / effect.support.sum()
    low, middle, high = (int(np.searchsorted(shares, share)) for share in (0.1, 0.5, 0.9))
    width = effect.provenance.error_quantile()
    truth, apart = population.curve(grid)
    for name, g in (("curve, first decile", low), ("curve, median", middle), ("curve, last decile", high)):
        found[name] = (effect.average[0, g], effect.standard_error[0, g], width, truth[g])
    change = effect.contrast(grid[low], grid[high])
    found["contrast"] = (change.estimate[0], change.standard_error[0], width, truth[high] - truth[low])
    if done.interactions is None:
        return found
    groups = done.by_group.effects
    one, other = (groups[label]["b"] for label in groups)
    gap = paribus.compare({"0": one, "1": other}).difference("1", reference="0")
    place = int(np.argmin(np.abs(gap.grid_values[0] - grid[high])))
    difference = gap.difference[0, place], gap.standard_error[0, place], width, apart[high]
    found["difference of groups"] = difference
    (largest,) = (part for part in done.by_group.differences if part.feature == "b")
    sign = 1 if largest.group == "1" else -1
    want = sign * (population.curve(np.array([largest.value]))[1][0] - population.level)
    found["largest difference of groups"] = (largest.difference, largest.standard_error, width, want)
    local = done.ale["b"]
    nodes, width = local.grid_values[0], local.provenance.error_quantile()
    first, last = nodes[len(nodes) // 4], nodes[-len(nodes) // 4]
    change = local.contrast(first, last)
    if population.kind == "function":
        want = np.diff(population.curve(np.array([first, last]))[0])[0]
        found["contrast of ALE"] = (change.estimate[0], change.standard_error[0], width, want)
    return found


def simulate(population, rows, arrangement, samples):
    """Return coverage, and mean width relative to the ideal one, of the intervals of each statistic."""
    held, widths, estimates = {}, {}, {}
    per_unit = 1 if arrangement == "independent rows" else PER_UNIT
    for sample in range(samples):
        X, y, units = population.draw(rows, np.random.default_rng([rows, per_unit, sample]), per_unit)
        done = population.explain(X, y, units if arrangement == "units" else None)
        results = {
            name: (*part, population.truths[name])
            for name, part in of_explanation(done).items()
            if name in population.truths
        }
        for name, (estimate, error, width, truth) in (results | of_grid(population, done)).items():
            held.setdefault(name, []).append(bool(abs(estimate - truth) <= width * error))
            widths.setdefault(name, []).append(float(width * error))
            estimates.setdefault(name, []).append(float(estimate - truth))
    table = {}
    for name, values in held.items():
        ideal = 1.96 * np.std(estimates[name])
        relative = float(np.mean(widths[name]) / ideal) if ideal > 0 else float("nan")
        table[name] = {"coverage": float(np.mean(values)), "width": relative, "samples": len(values)}
    return table


STRENGTHS = (0.001, 0.01, 0.05)  # H² of the model
ROWS_OF_TESTS, TREES = 500, "trees fitted to additive data"


def tests(samples):
    """Return how often two tests of interactions reject at 5 %, by case: by the target, and of the model.

    The model has an interaction of a and b with an H² of a. The target has the same one, or none. The fitted
    trees have those of their noise; a and b then have a correlation of 0 or 0.6.
    """
    rejected = {}
    cases = [(f"{kind}, H² {size}", size, present) for kind, present in KINDS.items() for size in STRENGTHS]
    for name, size, present in cases:
        for sample in range(samples):
            X, main, product = _deviates(np.random.default_rng([1, sample]), 0.0, ROWS_OF_TESTS)
            factor = np.sqrt(size / (1 - size) * MAIN_VARIANCE)

            def model(table, factor=factor):
                return _main(table) + factor * table[:, 0] * table[:, 1]

            y = (
                main
                + present * factor * product
                + NOISE * np.random.default_rng([2, sample]).normal(size=ROWS_OF_TESTS)
            )
            rejected.setdefault(name, []).append(_rejections(model, X, y))
    for correlation in (0.0, 0.6, 0.8):
        for sample in range(samples):
            rng = np.random.default_rng([3, sample])
            if sample % 10 == 0:
                rows, main, _ = _deviates(rng, correlation, 2_000)
                trees = HistGradientBoostingRegressor(max_iter=80, max_leaf_nodes=8, random_state=0)
                trees.fit(rows, main + NOISE * rng.normal(size=len(rows)))
            X, main, _ = _deviates(rng, correlation, ROWS_OF_TESTS)
            y = main + NOISE * rng.normal(size=ROWS_OF_TESTS)
            name = f"{TREES}, correlation {correlation:g}"
            rejected.setdefault(name, []).append(_rejections(trees, X, y))
    return {name: np.mean(values, axis=0).tolist() for name, values in rejected.items()}


KINDS = {"interaction of the model only": 0, "interaction of model and target": 1}
MAIN_VARIANCE = 1.0  # of the effects of single features, about


def _deviates(rng, correlation, rows):
    """Return three features, their additive effects, and the product of the first two."""
    X = rng.normal(size=(rows, 3))
    X[:, 1] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 1]
    return X, _main(X), X[:, 0] * X[:, 1]


def _main(X):
    """Return additive effects with a variance of about one."""
    return np.sin(X[:, 0]) + 0.7 * np.arctan(2 * X[:, 1]) + 0.3 * X[:, 2]


def _rejections(model, X, y):
    """Return whether the test by the target rejects, and Welchowski and Edelmann's of the model."""
    H = paribus.h_statistic(model, X, y=y, **QUIET)
    predict = model.predict if hasattr(model, "predict") else model
    rows = len(X)
    crossed = np.repeat(X[None], rows, axis=0)
    crossed[:, :, 0] = X[:, :1]
    predictions = predict(crossed.reshape(-1, X.shape[1])).reshape(rows, rows)
    additive = predictions.mean(axis=1) + predictions.mean(axis=0)
    f, g = predict(X), additive
    z = (f + g - np.mean(f + g)) * (f - g - np.mean(f - g))
    errors = abs(z.mean()) * np.sqrt(rows) / z.std(ddof=1)
    return bool(H.p_values[0, 0] < 0.05), bool(errors > 1.96)


def page():
    """Write the tables of the record into the page."""
    record = json.loads(RECORD.read_text())
    lines = ["| case | test by the target | test of the model alone |", "|---|---|---|"]
    for name, shares in record.pop("tests").items():
        lines.append(f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
    _write(TEST_BEGIN, TEST_END, lines)
    settings = [key.split(", ") for key in record]
    lines = []
    for kind, distribution in dict.fromkeys((kind, distribution) for kind, distribution, *_ in settings):
        columns = [key for key in settings if key[:2] == [kind, distribution]]
        lines += [f"### {kind.capitalize()}, {distribution} features", ""]
        lines += ["| | " + " | ".join(f"{rows} rows, {text}" for *_, rows, text in columns) + " |"]
        lines += ["|---" * (len(columns) + 1) + "|"]
        for name in dict.fromkeys(name for key in columns for name in record[", ".join(key)]):
            cells = (record[", ".join(key)].get(name) for key in columns)
            texts = (
                "" if cell is None else f"{cell['coverage']:.1%} ({cell['width']:.2f})" for cell in cells
            )
            lines.append(f"| {name} | " + " | ".join(texts) + " |")
        lines.append("")
    _write(BEGIN, END, lines)


def _write(begin, end, lines):
    """Write lines of the page between two marks."""
    text = PAGE.read_text()
    before, after = text[: text.index(begin) + len(begin)], text[text.index(end) :]
    PAGE.write_text(before + "\n" + "\n".join(lines) + "\n\n" + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=("trees", "classifier", "function"), default="trees")
    parser.add_argument("--distribution", choices=tuple(SHAPES), default="normal")
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1_000])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--arrangements", nargs="+", choices=ARRANGEMENTS, default=ARRANGEMENTS)
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--tests", action="store_true", help="only simulate the tests of interactions")
    parser.add_argument("--page", action="store_true", help="only write the table of docs/standard-errors.md")
    arguments = parser.parse_args()
    if arguments.page:
        page()
        return
    warnings.simplefilter("ignore")
    if arguments.tests:
        record = json.loads(arguments.record.read_text()) if arguments.record.exists() else {}
        record["tests"] = tests(arguments.samples)
        arguments.record.write_text(json.dumps(record, indent=1) + "\n")
        print(record["tests"])
        return
    population = Population(arguments.distribution, arguments.kind)
    population.truths = population.true_values()
    for rows in arguments.rows:
        for arrangement in arguments.arrangements:
            start = time.perf_counter()
            table = simulate(population, rows, arrangement, arguments.samples)
            record = json.loads(arguments.record.read_text()) if arguments.record.exists() else {}
            record[f"{arguments.kind}, {arguments.distribution}, {rows}, {arrangement}"] = table
            arguments.record.write_text(json.dumps(record, indent=1) + "\n")
            print(f"{population.kind}, {population.distribution}, {rows}, {arrangement}: ", end="")
            print(f"{time.perf_counter() - start:.0f} s", flush=True)
            for name, cell in table.items():
                print(f"  {name:32} {cell['coverage']:6.1%} {cell['width']:6.2f}", flush=True)


if __name__ == "__main__":
    main()

"""Error of strengths that follow from the points of a curve, against the definition at every row."""

import warnings

import numpy as np

import paribus

SEEDS = {300: 3, 800: 3, 3_000: 3, 20_000: 1, 200_000: 1}  # tables of each number of rows
POINTS = (30, 50, 100)
TAILS = (0.05, 0.01, 0.003)
STEPS = {f"step in {share:.1%}": (f"step in {share:.1%}",) for share in TAILS}
KINDS = {"smooth": ("line", "wave", "saturating"), "cubic": ("cubic",), **STEPS}


def features(rows, rng):
    """Return seven features: symmetric, skewed, with heavy tails, bounded, with two modes, zeros or ties."""
    return {
        "normal": rng.normal(size=rows),
        "lognormal": rng.lognormal(size=rows),
        "t with 3 degrees": rng.standard_t(3, size=rows),
        "uniform": rng.uniform(size=rows),
        "two modes": np.where(rng.random(rows) < 0.5, -3.0, 3.0) + rng.normal(size=rows),
        "half zeros": np.where(rng.random(rows) < 0.5, 0.0, rng.exponential(size=rows)),
        "rounded": rng.normal(size=rows).round(2),
    }


def curves(values):
    """Return functions of a feature by name: smooth ones, and steps at which the upper tail begins."""
    low, high = np.quantile(values, [0.05, 0.95])
    width = high - low
    smooth = {
        "line": lambda x: x,
        "cubic": lambda x: ((x - low) / width) ** 3,
        "wave": lambda x: np.sin(8 * (x - low) / width),
        "saturating": lambda x: np.tanh(3 * (x - low) / width - 1.5),
    }
    begins = dict(zip(TAILS, np.quantile(values, 1 - np.array(TAILS)), strict=True))
    steps = {f"step in {share:.1%}": lambda x, at=at: (x > at) * 1.0 for share, at in begins.items()}
    return smooth | steps


def error(curve, values, points):
    """Return the relative error of the strength of a function of one feature."""
    effect = paribus.partial_dependence(
        lambda X: curve(X[:, 0]), values[:, None], 0, grid_resolution=points, progress=False
    )
    return effect.strength / np.std(curve(values)) - 1


def main():
    """Print the quantiles of errors by number of points, and by number of rows for effects in tails."""
    warnings.simplefilter("ignore")
    errors = [
        (points, rows, name, error(curve, values, points))
        for rows, seeds in SEEDS.items()
        for seed in range(seeds)
        for values in features(rows, np.random.default_rng(seed)).values()
        for name, curve in curves(values).items()
        if np.ptp(curve(values)) > 0
        for points in (POINTS if rows < 20_000 else POINTS[1:2])
    ]
    print("| points | effect | cases | median | 90 % | worst |\n|---|---|---|---|---|---|")
    for points in POINTS:
        for kind in KINDS:
            sizes = [
                abs(size) for number, _, name, size in errors if number == points and name in KINDS[kind]
            ]
            median, most = np.quantile(sizes, [0.5, 0.9])
            print(f"| {points} | {kind} | {len(sizes)} | {median:.2%} | {most:.1%} | {max(sizes):.1%} |")
    for rows in SEEDS:
        sizes = [abs(size) for n, r, name, size in errors if (n, r) == (50, rows) and name in KINDS["smooth"]]
        print(f"50 points, smooth, {rows:,} rows: median {np.median(sizes):.2%}, worst {max(sizes):.1%}")


if __name__ == "__main__":
    main()

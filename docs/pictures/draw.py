"""Draw the pictures of the documentation anew: ``make pictures``."""

import contextlib
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

import paribus

HERE = Path(__file__).parent
DRAWS, ROWS = 40, 500


def housing(rows, seed=0):
    """Return a table in which two pairs of features interact, one of them weakly, and its target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    X[:, 5] = 0.6 * X[:, 0] + 0.8 * X[:, 5]
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.25 * X[:, 3] * (X[:, 4] > 1) + 0.5 * rng.normal(size=rows)
    return X, y


def noise_of_a_subsample():
    """Compare strengths on many draws of 500 rows with the strength on every row."""
    import matplotlib.pyplot as plt

    X, y = housing(200_000)
    model = HistGradientBoostingRegressor(max_iter=100, random_state=0).fit(X[:20_000], y[:20_000])
    every = paribus.h_statistic(model, X, overall=False)
    asked = {"overall": False, "subsample": ROWS}
    draws = [paribus.h_statistic(model, X, **asked, random_state=seed) for seed in range(DRAWS)]
    order = np.argsort(-every.strength_pairwise)[:8]
    names = [" x ".join(f"x{j}" for j in every.feature_pairs[pair]) for pair in order]
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    for panel, key, error in (
        (panels[0], "strength_pairwise", "standard_error_strength_pairwise"),
        (panels[1], "h_squared_pairwise", "standard_error_h_squared_pairwise"),
    ):
        for place, pair in enumerate(order):
            unit = every[key][pair] if panel is panels[0] else 1.0
            found = np.array([draw[key][pair] for draw in draws]) / unit
            panel.plot(found, [place] * DRAWS, "o", color="0.6", alpha=0.5, ms=4)
            bar = 2 * every[error][pair] / unit
            style = {"fmt": "|", "color": "C3", "ms": 14, "mew": 2, "capsize": 3}
            panel.errorbar(every[key][pair] / unit, place, xerr=bar, **style)
        panel.set_yticks(range(len(order)), names)
        panel.set_xlim(left=0)
    panels[0].invert_yaxis()
    panels[0].set_xlabel("strength, as a multiple of that on every row")
    panels[1].set_xlabel("H²")
    gray = plt.Line2D([], [], marker="o", ls="", color="0.6", label=f"each of {DRAWS} draws of {ROWS} rows")
    red = plt.Line2D([], [], color="C3", label="all 200,000 rows ± 2 standard errors")
    panels[1].legend(handles=[gray, red], loc="lower right", frameon=False, fontsize="small")
    figure.savefig(HERE / "h-of-500-rows.png", dpi=110)


def height_and_weight():
    """Compare what four answers say about weight, where the heavy are also the tall."""
    rng = np.random.default_rng(0)
    height = rng.normal(1.72, 0.09, size=4_000)
    bmi = 23 * np.exp(0.06 * rng.normal(size=4_000))
    X = pd.DataFrame({"height": height, "weight": bmi * height**2})
    y = 0.5 * (bmi - 23) + 8 * (height - 1.72) + 0.3 * rng.normal(size=4_000)
    model = RandomForestRegressor(100, min_samples_leaf=5, random_state=0, n_jobs=2).fit(X, y)
    effect = paribus.partial_dependence(model, X, "weight", grid_resolution=25)
    local = paribus.accumulated_local_effects(model, X, "weight")["weight"]
    near = paribus.marginal(model, X, "weight", y=y, grid_resolution=25)["weight"]
    panel = paribus.compare(effect, local, near).plot()
    panel.figure.savefig(HERE / "height-and-weight.png", dpi=110)


def insurance():
    """Draw what the page on pictures shows, with the table that it makes."""
    page = (HERE.parent / "plots.md").read_text()
    first = page.split("```python\n")[1].split("```")[0].replace("effects.plot()", "")
    made: dict = {}
    exec(first, made)  # the page's own code, so that picture and words cannot drift apart
    model, X = made["model"], made["X"]
    made["effects"].plot().savefig(HERE / "insurance.png", dpi=80)
    rows = paribus.partial_dependence(model, X, "age", kind="both", grid_resolution=30)
    rows.plot().figure.savefig(HERE / "rows.png", dpi=80)
    pairs = [("age", "power"), ("power", "region"), ("region", "bonus")]
    paribus.effects(model, X, pairs, grid_resolution=25).plot().savefig(HERE / "pairs.png", dpi=80)


def tutorial():
    """Draw what the tutorial shows, by running it."""
    page = (HERE.parent / "tutorial.md").read_text()
    made: dict = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in page.split("```python\n")[1:]:
            exec(block.split("\n```")[0], made)
    for name, result in (("effects", "effects"), ("ice", "fan"), ("ldl", "compared")):
        made[result].plot().figure.savefig(HERE / f"tutorial-{name}.png", dpi=80)


if __name__ == "__main__":
    matplotlib.use("Agg")
    insurance()
    tutorial()
    noise_of_a_subsample()
    height_and_weight()

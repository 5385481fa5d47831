"""Draw the pictures of the documentation, and write its sample report: ``make pictures``."""

import base64
import contextlib
import io
import runpy
import sys
import tempfile
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

import paribus

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DRAWS, ROWS = 40, 500
DPI = 160  # twice the resolution of a page
THEMES = {"": False, "-dark": True}  # ending of the name, and whether the background is dark


@cache
def loans():
    """Return the variables of the first example."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(ROOT / "examples" / "effects" / "plot_loans.py"))


def sample_report(path):
    """Write the report that the site shows."""
    about = {"purpose": "how a model of mortgage approvals uses its features", "data_role": "test rows"}
    loans()["explanation"].report(path, title="Mortgage approvals", about=about)


def first_screen():
    """Photograph the first screen of the sample report."""
    sys.path.append(str(ROOT / "tests" / "support"))
    import devtools

    with tempfile.TemporaryDirectory() as folder, devtools.Chrome() as chrome:
        page = Path(folder) / "sample-report.html"
        sample_report(page)
        tab = chrome.tab()
        tab.call("Emulation.setScrollbarsHidden", hidden=True)
        for ending, dark in THEMES.items():
            tab.open(page.as_uri(), dark=dark)
            screen = {"width": 1280, "height": 900, "deviceScaleFactor": 2, "mobile": False}
            tab.call("Emulation.setDeviceMetricsOverride", **screen)
            png = tab.call("Page.captureScreenshot", format="png")["data"]
            (HERE / f"report{ending}.png").write_bytes(base64.b64decode(png))


def save(result, name, **options):
    """Draw a result on a light and on a dark background."""
    import matplotlib.pyplot as plt

    for ending, dark in THEMES.items():
        result.plot(dark=dark, **options).savefig(HERE / f"{name}{ending}.png", dpi=DPI)
        plt.close()


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
    figure.savefig(HERE / "h-of-500-rows.png", dpi=DPI)


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
    save(paribus.compare(effect, local, near), "height-and-weight")


def insurance():
    """Draw what the page on plots shows, with the table that it makes."""
    page = (HERE.parent / "plots.md").read_text()
    first = page.split("```python\n")[1].split("```")[0].replace("effects.plot()", "")
    made: dict = {}
    exec(first, made)  # the page's own code, so that picture and words cannot drift apart
    model, X = made["model"], made["X"]
    save(made["effects"], "insurance")
    save(paribus.partial_dependence(model, X, "age", kind="both", grid_resolution=30), "rows")
    pairs = [("age", "power"), ("power", "region"), ("region", "bonus")]
    save(paribus.effects(model, X, pairs, grid_resolution=25), "pairs")


def page(name, results):
    """Draw results of a page of the documentation, by running it."""
    text = (HERE.parent / f"{name}.md").read_text()
    made: dict = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in text.split("```python\n")[1:]:
            exec(block.split("\n```")[0], made)
    for picture, result in results.items():
        save(made[result], f"{name}-{picture}")


if __name__ == "__main__":
    matplotlib.use("Agg")
    save(loans()["effects"], "effects", k=6, title="Mortgage approvals: the six strongest effects")
    first_screen()
    insurance()
    page("quickstart", {"effects": "effects"})
    page("tutorial", {"effects": "effects", "ice": "fan", "ldl": "compared"})
    noise_of_a_subsample()
    height_and_weight()

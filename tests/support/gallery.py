"""Every kind of panel, by every renderer, on real tables and on one like an insurer's: ``make pictures``.

Writes one PNG for each picture and plotting package, and one SVG, into a folder (``gallery`` by default), and says
how long it took.
"""

import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.datasets import load_diabetes, load_iris, load_linnerud
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression

import paribus
from browser import crops
from paribus._display.output import draw, render_svg

REGIONS = (
    "Île-de-France",
    "Nouvelle-Aquitaine",
    "Provence-Alpes-Côte d'Azur",
    "Bretagne",
    "Saint-Pierre-et-Miquelon, collectivité d'outre-mer",
)
WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def insurance(rows=4_000, seed=0):
    """Return policies with text, dates, missing values, an ordered category, exposure, and claims."""
    rng = np.random.default_rng(seed)
    brands = np.array([f"Brand {chr(65 + number)}" for number in range(26)] + ["Other imports $"] * 4)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "power": rng.gamma(3, 30, rows).round(),
            "region": rng.choice(REGIONS, rows, p=[0.4, 0.3, 0.2, 0.09, 0.01]),
            "brand": rng.choice(brands, rows, p=(lambda w: w / w.sum())(1 / np.arange(1, 31))),
            "bonus": rng.choice([50, 60, 70, 80, 90, 100], rows, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05]),
            "garage": rng.random(rows) < 0.3,
            "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, rows), "D"),
            "claim_day": pd.Categorical(rng.choice(WEEK, rows), WEEK, ordered=True),
        }
    )
    frame["speed"] = 90 + 0.6 * frame["power"] + rng.normal(0, 6, rows)
    rate = 0.1 * np.exp(-0.02 * (frame["age"] - 45) * (frame["age"] < 45) + 0.004 * frame["power"])
    rate *= 1 + 0.8 * (frame["region"] == REGIONS[0]) * (frame["power"] > 100) + 0.4 * ~frame["garage"]
    frame.loc[rng.random(rows) < 0.07, "power"] = np.nan
    frame.loc[rng.random(rows) < 0.05, "region"] = None
    exposure = rng.uniform(0.1, 1, rows)
    return frame, rng.poisson(rate * exposure) / exposure, exposure


class Tariff:
    """A model of claims a year that takes the table as it is."""

    def __init__(self, frame, claims, exposure, **options):
        self.frame = frame
        options = {"objective": "poisson", "n_estimators": 60, "num_leaves": 8, "n_jobs": 1} | options
        self.model = LGBMRegressor(**options, verbose=-1)
        self.model.fit(self.prepared(frame), claims, sample_weight=exposure)

    def prepared(self, frame):
        frame = frame.assign(since=(frame["since"] - pd.Timestamp("2015-01-01")).dt.days)
        for name in ("region", "brand"):
            levels = sorted(self.frame[name].dropna().unique())
            frame[name] = pd.Categorical(frame[name], levels)
        return frame

    def __call__(self, frame):
        return self.model.predict(self.prepared(frame))


def of_insurance():
    """Yield pictures of a tariff: every kind of axis, missing values, weights, models side by side."""
    frame, claims, exposure = insurance()
    tariff = Tariff(frame, claims, exposure)
    asked = {"sample_weight": exposure, "grid_resolution": 25, "progress": False}
    effects = paribus.effects(tariff, frame, **asked)
    yield "effects", effects.figure()
    yield "curve-with-missing", effects["power"].figure(title="Claims a year")
    yield "levels-sorted-and-pooled", effects["brand"].figure()
    yield "long-levels", effects["region"].figure()
    yield "ordered-levels", effects["claim_day"].figure()
    yield "dates", effects["since"].figure()
    yield "boolean", effects["garage"].figure()
    wide = paribus.partial_dependence(
        tariff, frame, "power", **asked | {"percentiles": (0, 1), "grid_resolution": 40}
    )
    yield "fades-where-data-thins-out", wide.figure()
    rows = paribus.partial_dependence(tariff, frame, "age", kind="both", **asked)
    yield "individual", rows.figure()
    yield "individual-centered", rows.centered().figure()
    levels = paribus.partial_dependence(tariff, frame, "region", kind="both", **asked)
    yield "individual-levels", levels.figure()
    local = paribus.accumulated_local_effects(
        tariff, frame, ["age", "power", "region", ("age", "power")], sample_weight=exposure, progress=False
    )
    yield "local-effects", local.figure()
    near = paribus.marginal(tariff, frame, ["age", "power", "region"], y=claims, **asked)
    yield "observed-and-predicted", near.figure()
    yield "side-by-side", paribus.compare(effects, local, near).figure()
    yield "side-by-side-one", paribus.compare(effects["power"], local["power"], near["power"]).figure()
    pairs = [("age", "power"), ("region", "power"), ("region", "garage"), ("power", "speed")]
    both = paribus.effects(tariff, frame, [*pairs, "age", "power", "region", "speed"], **asked)
    for first, second in pairs:
        yield f"pair-{first}-{second}", both[first, second].figure()
    yield "interaction-only", both.interaction("region", "power").figure()
    yield "interaction-only-numbers", both.interaction("power", "speed").figure()
    other = Tariff(frame, claims, exposure, n_estimators=10)
    few = ["age", "region", "power"]
    models = {"60 trees": effects, "10 trees": paribus.effects(other, frame, few, **asked)}
    yield "two-models", paribus.compare(models).figure()
    young = frame["age"] < 40
    slices = {
        name: paribus.effects(tariff, frame[part], ["power", "brand"], grid_resolution=25, progress=False)
        for name, part in (("under 40", young), ("40 and more", ~young))
    }
    yield "two-slices", paribus.compare(slices).figure()


def of_diabetes():
    """Yield pictures of interactions, of every split, of several models."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = GradientBoostingRegressor(n_estimators=80, random_state=0).fit(X, y)
    found = paribus.h_statistic(model, X)
    for kind in ("bars", "heatmap"):
        yield f"interactions-{kind}", found.figure(kind)
    pairs = [entry.features for entry in found.strongest(3)]
    yield "strongest-pairs", paribus.effects(model, X, pairs, grid_resolution=20).figure()
    yield "importance", paribus.feature_importance(model, X).figure()
    drawn = paribus.feature_importance(model, X, y=y, kind="permutation", progress=False)
    yield "importance-permutation", drawn.figure()
    steps = paribus.partial_dependence(model, X, "bmi", grid_resolution="splits")
    yield "every-split", steps.figure()
    parts = np.arange(len(X)) % 5
    forests = [
        RandomForestRegressor(30, min_samples_leaf=5, random_state=0, n_jobs=1).fit(
            X[parts != part], y[parts != part]
        )
        for part in range(5)
    ]
    yield "by_model", paribus.effects(forests, X, ["bmi", "s5", "sex"], grid_resolution=20).figure()
    quantiles = paribus.partial_dependence(forests[0], X, "s5", quantiles=(0.1, 0.25, 0.5, 0.75, 0.9))
    yield "spread", quantiles.figure()


def of_classes():
    """Yield pictures of several classes and of several targets."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names[y]
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, names)
    length, width = "petal length (cm)", "petal width (cm)"
    yield "classes-as-colors", paribus.effects(model, X, grid_resolution=25).figure()
    some = paribus.effects(model, X, [length, width, (length, width)], grid_resolution=25)
    yield "classes-as-rows", some.figure(outputs="rows")
    men = load_linnerud(as_frame=True)
    line = LinearRegression().fit(men.data, men.target)
    targets = paribus.Explainer(line, men.data, target_names=list(men.target.columns)).effects()
    yield "targets-as-rows", targets.figure(outputs="rows")


def of_cross():
    """Yield a surface with a valley, where no row lies in two of its corners."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=3_000)
    X = np.column_stack([first, first + 0.5 * rng.normal(size=3_000)])
    model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, X[:, 0] * X[:, 1])
    yield "unsupported-hatched", paribus.partial_dependence(model, X, [0, 1], grid_resolution=30).figure()


def main(folder):
    """Draw everything with every renderer, and some of it on a dark ground."""
    began = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    figures = dict(of_insurance()) | dict(of_diabetes()) | dict(of_classes()) | dict(of_cross())
    print(f"{len(figures)} pictures composed in {time.perf_counter() - began:.0f} s")
    for name, figure in figures.items():
        draw(figure).savefig(folder / f"{name}.png", dpi=110)
        plt.close("all")
    with plt.style.context("dark_background"):
        for name in ("individual", "effects", "interactions-heatmap", "classes-as-colors"):
            draw(figures[name]).savefig(folder / f"{name}-dark.png", dpi=110)
            plt.close("all")
    print(f"drawn with matplotlib after {time.perf_counter() - began:.0f} s")
    for name, figure in figures.items():
        for dark in (False, True):
            written = render_svg(figure, dark=dark)
            ElementTree.fromstring(written)  # or it raises
            (folder / f"{name}{'-dark' * dark}.svg").write_text(written, encoding="utf-8")
    print(f"drawn as SVG after {time.perf_counter() - began:.0f} s")
    pages = {f"{name}-plotly": draw(figure, backend="plotly") for name, figure in figures.items()}
    crops(pages, folder)
    print(f"drawn with plotly after {time.perf_counter() - began:.0f} s, in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "gallery"))

"""Timings as ratios within one run: `make timings`. Figures, not tests: machines are noisy."""

import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus

warnings.simplefilter("ignore")
RNG = np.random.default_rng(0)


def seconds(body):
    started = time.perf_counter()
    body()
    return time.perf_counter() - started


def ratio(model, rows, points):
    """Time of a curve over the time of the bare predicts it needs, in calls of the table's own size."""
    name = rows.columns[0] if hasattr(rows, "columns") else 0
    model.predict(rows)

    def bare():
        for _ in range(points):
            model.predict(rows)

    def ours():
        paribus.partial_dependence(model, rows, name, grid_resolution=points, progress=False)

    ratios = [seconds(ours) / seconds(bare) for _ in range(7)]
    return f"median {np.median(ratios):.2f}, least {min(ratios):.2f}"


def main():
    small = RNG.normal(size=(400, 5))
    target = small[:, 0] * small[:, 1]
    rows = RNG.normal(size=(20_000, 5))
    frame, small_frame = (pd.DataFrame(x, columns=list("abcde")) for x in (rows, small))
    models = {
        "network in a pipeline": make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=5)
        ),
        "hist gradient boosting": HistGradientBoostingRegressor(),
        "forest of 20": RandomForestRegressor(20),
        "XGBoost": xgboost.XGBRegressor(n_estimators=100),
        "linear in a pipeline": make_pipeline(StandardScaler(), LinearRegression()),
    }
    print("brute force over the bare predicts of the same rows, 20,000 rows x 25 points")
    for name, model in models.items():
        print(f"  {name}: numpy {ratio(model.fit(small, target), rows, 25)}", flush=True)
        print(f"  {name}: pandas {ratio(model.fit(small_frame, target), frame, 25)}", flush=True)
    print("300 rows x 100 points")
    few = rows[:300]
    for name, model in {**models, "neighbours": KNeighborsRegressor()}.items():
        print(f"  {name}: numpy {ratio(model.fit(small, target), few, 100)}", flush=True)
    wide = RNG.normal(size=(400_000, 30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    paribus.partial_dependence(
        lambda t: t[:, 0], wide, 0, grid_resolution=50, max_memory="200MB", progress=False
    )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"400,000 rows x 30 columns, 50 points, max_memory 200MB: {grown:.0f} MB more at the peak")
    code = "import time; s = time.perf_counter(); import paribus; print(time.perf_counter() - s)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(5)]
    print(f"import: {min(float(run.stdout) for run in runs):.2f} s")


if __name__ == "__main__":
    main()

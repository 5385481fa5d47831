"""Timings as ratios within one run: `make measure`. Figures, not tests: machines are noisy."""

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
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
        paribus.partial_dependence(model, rows, name, grid_resolution=points, method="brute", progress=False)

    ratios = [seconds(ours) / seconds(bare) for _ in range(7)]
    return f"median {np.median(ratios):.2f}, least {min(ratios):.2f}"


def in_predicts(model, rows, of, **arguments):
    """Least and median time of an answer, in calls of the model's own predict on the same rows."""
    ask = getattr(model, of)
    paribus.effects(model, rows[:1_000], progress=False, **arguments)
    ratios = []
    for _ in range(5):
        one = seconds(lambda: ask(rows))
        ratios.append(seconds(lambda: paribus.effects(model, rows, progress=False, **arguments)) / one)
    return f"median {np.median(ratios):.2f}, least {min(ratios):.2f} predicts"


def trees():
    """Every curve of tree ensembles, exactly, on every row."""
    rows = RNG.normal(size=(200_000, 20))
    y = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) + rows[:, 3] + 0.1 * RNG.normal(size=len(rows))
    models = {
        "hist gradient boosting": HistGradientBoostingRegressor(early_stopping=False),
        "LightGBM": lightgbm.LGBMRegressor(verbose=-1, n_jobs=2),
        "XGBoost": xgboost.XGBRegressor(n_jobs=2),
        "CatBoost": catboost.CatBoostRegressor(
            iterations=100, verbose=0, thread_count=2, allow_writing_files=False
        ),
    }
    print("all 20 curves of 100 points, 200,000 rows, 100 trees")
    for name, model in models.items():
        print(f"  {name}: {in_predicts(model.fit(rows[:50_000], y[:50_000]), rows, 'predict')}", flush=True)
    classifier = HistGradientBoostingClassifier(early_stopping=False).fit(rows[:20_000], y[:20_000] > 0)
    print(f"  probabilities, 50,000 rows: {in_predicts(classifier, rows[:50_000], 'predict_proba')}")
    one = in_predicts(models["hist gradient boosting"], rows[:50_000], "predict", features=[0], kind="both")
    print(f"  curves of each of 50,000 rows, one feature: {one}")
    forest = RandomForestRegressor(100, n_jobs=2).fit(rows[:5_000], y[:5_000])
    print(f"  100 unpruned trees, 20,000 rows: {in_predicts(forest, rows[:20_000], 'predict')}", flush=True)


def interactions():
    """H-statistics on every row."""
    rows = RNG.normal(size=(1_000_000, 20))
    y = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) + 0.5 * rows[:, 4] * rows[:, 5] * (rows[:, 6] > 0)
    model = HistGradientBoostingRegressor(early_stopping=False).fit(rows[:50_000], y[:50_000])
    paribus.h_statistic(model, rows[:2_000], threeway=3, progress=False)
    asked = {
        "190 pairs": {"overall": False},
        "and overall and total": {},
        "and the triples of 5": {"threeway": 5},
        "20 importances": None,
    }
    print("hist gradient boosting, 1,000,000 rows x 20, 100 trees")
    for name, arguments in asked.items():

        def ours(arguments=arguments):
            if arguments is None:
                paribus.feature_importance(model, rows, progress=False)
            else:
                paribus.h_statistic(model, rows, progress=False, **arguments)

        ratios = [seconds(ours) / seconds(lambda: model.predict(rows)) for _ in range(2)]
        print(f"  {name}: least {min(ratios):.2f} predicts", flush=True)
    forest = RandomForestRegressor(100, n_jobs=2).fit(rows[:5_000, :8], y[:5_000])
    took = seconds(lambda: paribus.h_statistic(forest, rows[:5_000, :8], progress=False))
    print(f"  100 unpruned trees, 5,000 rows x 8: {took:.1f} s", flush=True)


def ale():
    """Accumulated local effects of 20 features: off the trees, and of a model that is evaluated itself."""
    rows = RNG.normal(size=(200_000, 20))
    y = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) + rows[:, 3] + 0.1 * RNG.normal(size=len(rows))
    models = {
        "hist gradient boosting": HistGradientBoostingRegressor(early_stopping=False),
        "LightGBM": lightgbm.LGBMRegressor(verbose=-1, n_jobs=2),
        "LightGBM probabilities": lightgbm.LGBMClassifier(verbose=-1, n_jobs=2),
        "XGBoost": xgboost.XGBRegressor(n_jobs=2),
        "CatBoost": catboost.CatBoostRegressor(
            iterations=100, verbose=0, thread_count=2, allow_writing_files=False
        ),
    }
    print("local effects of 20 features in 40 bins, 200,000 rows, 100 trees")
    for name, model in models.items():
        model.fit(rows[:50_000], y[:50_000] > 0 if hasattr(model, "predict_proba") else y[:50_000])
        ask = getattr(model, "predict_proba", model.predict)
        paribus.accumulated_local_effects(model, rows[:1_000], progress=False)

        def ours(model=model):
            paribus.accumulated_local_effects(model, rows, progress=False)

        ratios = [seconds(ours) / seconds(lambda ask=ask: ask(rows)) for _ in range(5)]
        print(f"  {name}: median {np.median(ratios):.2f}, least {min(ratios):.2f} predicts", flush=True)
    few = rows[:50_000]
    print("  brute force over the bare predicts of the 2 x 20 x 50,000 rows it needs")
    for name in ("hist gradient boosting", "LightGBM", "XGBoost"):
        model = models[name]

        def bare(model=model):
            for _ in range(2 * 20):
                model.predict(few)

        def asked(model=model):
            paribus.accumulated_local_effects(model, few, method="brute", progress=False)

        ratios = [seconds(asked) / seconds(bare) for _ in range(3)]
        print(f"    {name}: median {np.median(ratios):.2f}, least {min(ratios):.2f}", flush=True)


FIRST_CALL = """
import time
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(2_000, 20))
model = HistGradientBoostingRegressor(max_iter=100).fit(X, X[:, 0] * X[:, 1])
started = time.perf_counter()
import paribus
paribus.effects(model, X, progress=False)
print(time.perf_counter() - started)
"""


def first_calls():
    """The first call in a new process: with an empty cache of compiled kernels, and with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", FIRST_CALL]
        cold, *warm = (
            float(subprocess.run(command, env=environment, capture_output=True, text=True).stdout)
            for _ in range(4)
        )
    print(f"first call in a process: cold {cold:.2f} s, warm {min(warm):.2f} s")


def main():
    first_calls()
    trees()
    ale()
    interactions()
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
    for name, model in {**models, "neighbors": KNeighborsRegressor()}.items():
        print(f"  {name}: numpy {ratio(model.fit(small, target), few, 100)}", flush=True)
    wide = RNG.normal(size=(400_000, 30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    paribus.Explainer(lambda t: t[:, 0], wide, max_memory="200MB", progress=False).partial_dependence(
        0, grid_resolution=50
    )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"400,000 rows x 30 columns, 50 points, max_memory 200MB: {grown:.0f} MB more at the peak")
    code = "import time; s = time.perf_counter(); import paribus; print(time.perf_counter() - s)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(5)]
    print(f"import: {min(float(run.stdout) for run in runs):.2f} s")


if __name__ == "__main__":
    main()

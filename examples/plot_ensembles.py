"""
Every family of ensembles, one curve each
=========================================

Forests, extra trees, bagging, AdaBoost, gradient boosting of five kinds, votes and stacking: the effect of
the same feature, by one call that is the same for all. The true effect is a sine; each family draws it in its
own way.
"""

# %%
# The data is simulated. ``y`` is a sine of ``x0`` and an interaction of two other features.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.linear_model import Ridge
from xgboost import XGBRegressor

import paribus

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(500, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=500)

quiet = {"verbose": False, "allow_writing_files": False}
forest = RandomForestRegressor(20, max_depth=6, random_state=0)
boosting = GradientBoostingRegressor(n_estimators=60, random_state=0)
models = {
    "random forest": forest,
    "extra trees": ExtraTreesRegressor(20, max_depth=6, random_state=0),
    "bagging": BaggingRegressor(n_estimators=10, random_state=0),
    "AdaBoost": AdaBoostRegressor(n_estimators=20, random_state=0),
    "boosting, squared error": boosting,
    "boosting, absolute error": GradientBoostingRegressor(loss="absolute_error", n_estimators=60),
    "boosting, Huber": GradientBoostingRegressor(loss="huber", n_estimators=60),
    "boosting, 90% quantile": GradientBoostingRegressor(loss="quantile", n_estimators=60),
    "hist boosting": HistGradientBoostingRegressor(max_iter=60, random_state=0),
    "XGBoost": XGBRegressor(n_estimators=60, max_depth=4, n_jobs=1),
    "LightGBM": LGBMRegressor(n_estimators=60, num_leaves=12, n_jobs=1, verbose=-1),
    "CatBoost": CatBoostRegressor(n_estimators=100, depth=4, thread_count=1, **quiet),
    "vote": VotingRegressor([("forest", forest), ("boosting", boosting)]),
    "stacking": StackingRegressor([("forest", forest), ("line", Ridge())], Ridge(), cv=3),
}

# %%
# ``verify=True`` recomputes some points of each curve with the model's own ``predict`` on all rows, and fails
# if they differ by more than rounding. ``provenance`` has the evaluator of the curve, and this difference.
curves = {}
for name, model in models.items():
    curves[name] = paribus.partial_dependence(model.fit(X, y), X, 0, grid_resolution=40, verify=True)

figure, axes = plt.subplots(3, 5, figsize=(9.5, 6), sharex=True, sharey=True, layout="constrained")
for ax, (name, curve) in zip(axes.flat, curves.items(), strict=False):
    values = curve.grid_values[0]
    ax.plot(values, np.sin(2 * values), color="0.75", linewidth=4, label="truth")
    ax.plot(values, curve.average[0], color="tab:blue", label="model")
    ax.set_title(f"{name}\n{curve.provenance.evaluator}", fontsize="small")
axes.flat[-1].set_axis_off()
axes.flat[-1].legend(*axes.flat[0].get_legend_handles_labels(), loc="center")
figure.supxlabel("x0")
figure.supylabel("average prediction")

# %%
# The gray line is the truth. The model of the 90% quantile lies above it, as it should. Below each name is
# the evaluator: trees and sums of them are read, and what is no sum is evaluated by brute force, with the
# reason in ``provenance.refusals``.
table = pd.DataFrame(
    {
        "evaluator": curve.provenance.evaluator,
        "largest difference": f"{curve.provenance.verified_difference:.1e}",
    }
    for curve in curves.values()
)
table.index = list(curves)
print(table)
print(curves["AdaBoost"].provenance.refusals["tree_exact"])

# %%
# Read next: :doc:`/models` on what is read of which library, :doc:`/models` on models made of models.

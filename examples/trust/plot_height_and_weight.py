"""
Height and weight: where partial dependence extrapolates
========================================================

Partial dependence sets everyone to one weight, tall and short people alike. Many of these people do not
exist, and the model was never fitted on them. Accumulated local effects (ALE) change each weight only a
little, and come closest to the simulated effect. ``compare`` draws both, and averages of rows.
"""

# %%
# The table is simulated: height, weight, and a measure that rises by 0.15 for each kilogram at the same
# height, and falls by 0.2 for each centimeter at the same weight.

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import paribus

rng = np.random.default_rng(0)
n = 2_000
height = rng.normal(172, 9, n)
X = pd.DataFrame({"height": height, "weight": 70 + 0.9 * (height - 172) + rng.normal(0, 4, n)})
y = 0.15 * X["weight"] - 0.2 * X["height"] + rng.normal(0, 0.5, n)
model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)

# %%
# The notes below the plot say which share of the curve extrapolates, and because of which other feature.

grid = {"percentiles": (0.05, 0.95), "grid_resolution": 25}
effect = paribus.partial_dependence(model, X, "weight", **grid)
local = paribus.accumulated_local_effects(model, X, "weight")["weight"]
near = paribus.marginal(model, X, "weight", y=y, **grid)["weight"]
compared = paribus.compare(effect, local, near)
compared.plot()
print(compared)

# %%
# Slopes per kilogram; 0.15 was simulated. The average of people near a weight is not about weight alone:
# heavier people are taller.

for name, result, heights in [
    ("partial dependence", effect, effect.average[0]),
    ("accumulated local effects", local, local.ale[0]),
    ("average prediction of rows here", near, near.predicted[0]),
]:
    slope = np.polyfit(result.grid_values[0], heights, 1)[0]
    print(f"{name:<32} {slope:6.3f}")

# %%
# Reading: where partial dependence and ALE diverge, features depend on each other; prefer ALE there.

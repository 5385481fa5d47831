"""
ICE: an interaction that the average hides
==========================================

On average, a network predicts a few more riders when it is warm. The curves of single rows (individual
conditional expectation, ICE) show two kinds of days. On free days warmth brings many riders, on working
days hardly any. The average describes neither.
"""

# %%
# The table is simulated: 3,000 hours of bike rentals. People who ride to work do so in any weather, so
# that temperature and working day interact by construction.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus

rng = np.random.default_rng(0)
n = 3_000
X = pd.DataFrame(
    {
        "hour": rng.integers(0, 24, n),
        "temperature": rng.uniform(0, 32, n),
        "humidity": 100 * rng.beta(5, 3, n),
        "working": rng.random(n) < 5 / 7,
    }
)
per_degree = np.where(X["working"], 0.5, 5.0)
rentals = 400 - 25 * np.abs(X["hour"] - 15) - 0.5 * X["humidity"] + per_degree * X["temperature"]
network = MLPRegressor(hidden_layer_sizes=20, solver="lbfgs", alpha=1.0, max_iter=2_000, random_state=0)
model = make_pipeline(StandardScaler(), network).fit(X, rentals + rng.normal(0, 20, n))

# %%
# Left, the curves themselves: rows differ most in their hour, which hides everything else. Right, the
# same curves as changes from the lowest temperature. Bands contain half and nine tenths of the rows.

curves = paribus.partial_dependence(model, X, "temperature", kind="both", grid_resolution=30)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
curves.plot(ax=left)
curves.centered().plot(ax=right)
left.set_title("ICE and their average")
right.set_title("centered")

# %%
# The average over each kind of day, as a slope in riders per degree. The simulated slopes are 5 and 0.5.

for working, rows in X.groupby("working"):
    effect = paribus.partial_dependence(model, rows, "temperature")
    slope = np.polyfit(effect.grid_values[0], effect.average[0], 1)[0]
    print("working days" if working else "free days   ", f"{slope:.2f}")

# %%
# Reading: centered curves that fan out mean that the feature interacts with another one.

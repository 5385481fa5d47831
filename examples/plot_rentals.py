"""
Rentals by weather: every feature on one axis
=============================================

One call computes the partial dependence of a model on each of its features, and one picture shows them
strongest first on a common y-axis, so that their sizes can be compared. The data is under each curve.
"""

# %%
# The table is simulated: 4,000 hours of bike rentals. Hour and temperature matter most, humidity and wind
# less, and the day of the week not at all.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 4_000
seasons = ["spring", "summer", "fall", "winter"]
X = pd.DataFrame(
    {
        "weekday": rng.integers(0, 7, n),
        "hour": rng.integers(0, 24, n),
        "temperature": rng.normal(15, 7, n),
        "humidity": 100 * rng.beta(5, 3, n),
        "wind": rng.gamma(4, 4, n),
        "season": pd.Categorical(rng.choice(seasons, n), seasons, ordered=True),
    }
)
rate = 5 - ((X["hour"] - 15) / 9) ** 2 - ((X["temperature"] - 26) / 16) ** 2
rate -= 0.006 * X["humidity"] + 0.02 * X["wind"] + 0.3 * (X["season"] == "winter")
rentals = rng.poisson(np.exp(rate))
model = HistGradientBoostingRegressor(loss="poisson", random_state=0).fit(X, rentals)

# %%
# Hours are integers and are evaluated at integers; a season is a point. Bands are ± 2 standard errors of
# the average.

effects = paribus.effects(model, X)
effects.plot()

# %%
# ``strength`` is how much a curve varies over the data, in rentals per hour. What is left of the weekday is
# noise that the model has fitted.

for name, effect in effects.items():
    print(f"{name:<12} {effect.strength:5.1f}")

# %%
# Read next: :doc:`/effects` defines each number; :doc:`/plots` explains what is drawn.

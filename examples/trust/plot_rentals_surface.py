"""
Two features at once, and combinations without data
===================================================

A surface has a color for each combination of two features, also for combinations that never occur. Those
are hatched. There the model extrapolates, and its error is larger.
"""

# %%
# The table is simulated: 4,000 hours of bike rentals, in a climate where hot hours are dry and cold ones
# humid. Riders dislike humidity, the more the warmer it is.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 4_000
temperature = rng.normal(15, 7, n)
humidity = (75 - 1.8 * (temperature - 15) + rng.normal(0, 9, n)).clip(10, 100)
X = pd.DataFrame({"temperature": temperature, "humidity": humidity, "hour": rng.integers(0, 24, n)})


def expected(table):
    """Return the rentals that the weather and the hour bring."""
    warmth = (table["temperature"] + 5) / 20
    return 100 + 80 * warmth - 0.6 * warmth * table["humidity"] - 3 * np.abs(table["hour"] - 15)


model = HistGradientBoostingRegressor(random_state=0).fit(X, expected(X) + rng.normal(0, 8, n))

# %%
# The margins show the data of each feature alone. They do not reveal the empty corners.

pair = {"features": ["temperature", "humidity"], "percentiles": (0.01, 0.99), "grid_resolution": 40}
surface = paribus.partial_dependence(model, X, **pair)
surface.plot()

# %%
# The truth is known here: the same surface of the function that simulated the rentals.

truth = paribus.partial_dependence(expected, X, **pair)
error = np.abs(surface.average - truth.average)[0]
hatched = surface.extrapolation.mask
print(f"hatched, {hatched.mean():.0%} of the grid: {error[hatched].mean():.1f} rentals off on average")
print(f"the rest: {error[~hatched].mean():.1f} rentals off on average")

# %%
# Reading: ignore the hatched corners, however smooth the colors are.

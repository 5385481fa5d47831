"""
Categories and text: one point for each
=======================================

The effect of a categorical feature belongs to the column of *your* table, whatever an encoder does with
it. There is one average for each category. Points show them, because nothing lies between categories.
"""

# %%
# The table is simulated: 3,000 days of bike rentals. Season is a category with an order, weather is text,
# the day of the week is an integer, and whether it is a holiday is true or false.

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import paribus

rng = np.random.default_rng(0)
n = 3_000
seasons = ["spring", "summer", "fall", "winter"]
X = pd.DataFrame(
    {
        "season": pd.Categorical(rng.choice(seasons, n), seasons, ordered=True),
        "weather": rng.choice(["clear", "mist", "rain", "snow"], n, p=[0.6, 0.25, 0.12, 0.03]),
        "weekday": rng.integers(0, 7, n),
        "holiday": rng.random(n) < 0.1,
    }
)
truth = {
    "spring": 0,
    "summer": 60,
    "fall": 30,
    "winter": -40,
    "clear": 0,
    "mist": -20,
    "rain": -90,
    "snow": -110,
}
y = 200.0 + X["season"].astype(object).map(truth) + X["weather"].map(truth) + 15 * (X["weekday"] >= 5)
y += rng.normal(0, 25, n) - 30 * X["holiday"]

encode = make_column_transformer((OneHotEncoder(), ["season", "weather"]), remainder="passthrough")
model = make_pipeline(encode, GradientBoostingRegressor(random_state=0)).fit(X, y)

# %%
# The season keeps its order. Weather has none and is sorted by effect. ``categorical_features`` declares
# the integers as categories.

effects = paribus.effects(model, X, categorical_features=["weekday"])
effects.plot(columns=2)

# %%
# The steps between categories, next to the simulated ones:

weather = effects["weather"]
average = dict(zip(weather.grid_values[0], weather.average[0], strict=True))
for category, value in average.items():
    print(f"{category:<6} {value - average['clear']:7.1f}  simulated {truth[category]:5d}")

# %%
# How the numbers were computed:

print(weather)

# %%
# Reading: compare heights of points; the order of unordered categories is only their rank.

"""
One-hot and lagged columns as one feature
=========================================

An encoded table has several columns for one feature. A curve of one such column changes it alone, which
makes combinations that do not exist. A mapping in ``features`` sets the columns together.
"""

# %%
# The table is simulated: 4,000 days of bike rentals, with the weather one-hot encoded, and whether it
# rained yesterday and the day before.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 4_000
weather = rng.choice(["clear", "mist", "rain", "snow"], n, p=[0.6, 0.25, 0.12, 0.03])
rained = np.concatenate([[0, 0], np.isin(weather, ["rain", "snow"])]).astype(float)
X = pd.get_dummies(pd.DataFrame({"weather": weather}), dtype=float)
X = X.assign(rain_lag1=rained[1:-1], rain_lag2=rained[:-2], temperature=rng.normal(12, 8, n))
truth = {"clear": 0, "mist": -20, "rain": -90, "snow": -110}
y = 200 + pd.Series(weather).map(truth) + 2 * X["temperature"] * (weather == "clear")
y += -30 * X["rain_lag1"] * X["rain_lag2"] + rng.normal(0, 25, n)
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)

# %%
# The curve of a single column makes impossible rows: with ``weather_rain`` at 1, most are clear *and*
# rainy. A note says which columns look like one feature.

alone = paribus.effects(model, X)
print(next(note for note in alone.notes if note.code == "PAR121"))

# %%
# As one feature, the weather has a point for each category. The lags have the four combinations that
# occur.

columns = [name for name in X if name.startswith("weather_")]
features = {"weather": columns, "rain": ["rain_lag1", "rain_lag2"], "temperature": "temperature"}
effects = paribus.effects(model, X, features)
effects.plot(columns=3)

# %%
# The steps between categories: of the feature, as simulated at 12 degrees, and of the single columns.

average = dict(zip(effects["weather"].grid_values[0], effects["weather"].average[0], strict=True))
for category in ("mist", "rain", "snow"):
    step = average[category] - average["clear"]
    single = alone[f"weather_{category}"].average[0]
    simulated = truth[category] - 24
    own = single[1] - single[0]
    print(f"{category:<5} {step:7.1f}  simulated {simulated:5d}  single column {own:7.1f}")

# %%
# Other functions take the same mapping. A group interacts as one feature:

print(paribus.h_statistic(model, X, features))

# %%
# Reading: the grouped step matches the simulation; the step of a single column does not.

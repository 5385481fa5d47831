"""
Any function, several outputs
=============================

Any function that takes a table and returns numbers can be explained. This one returns three quantiles of
bike rentals. One call computes a curve for each. Warm days have more rentals, and less certain ones.
"""

# %%
# The table is simulated: 3,000 days. The spread of rentals grows with the temperature.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 3_000
code = rng.choice(4, n, p=[0.55, 0.25, 0.15, 0.05])
X = pd.DataFrame(
    {
        "temperature": rng.normal(15, 7, n),
        "weather": pd.Categorical.from_codes(code, ["clear", "mist", "rain", "snow"], ordered=True),
    }
)
spread = 4 + 1.5 * X["temperature"].clip(0)
rentals = 60 + 4 * X["temperature"] - 20 * code + spread * rng.normal(size=n)

probabilities = {"10 %": 0.1, "median": 0.5, "90 %": 0.9}
smooth = {"max_leaf_nodes": 8, "min_samples_leaf": 80, "learning_rate": 0.05, "random_state": 0}
models = [
    HistGradientBoostingRegressor(loss="quantile", quantile=probability, **smooth).fit(X, rentals)
    for probability in probabilities.values()
]


def forecast(table):
    """Return the quantiles of rentals, a column each."""
    return np.column_stack([model.predict(table) for model in models])


# %%
# ``target_names`` are the names of the outputs. ``custom_values`` replaces the grid of a feature: every
# two degrees, and three kinds of weather in this order.

effects = paribus.Explainer(forecast, X, target_names=list(probabilities)).effects(
    custom_values={"temperature": np.arange(-4, 35, 2), "weather": ["clear", "mist", "rain"]}
)
effects.plot()

# %%
# The same as numbers: an array of outputs by grid points, and a table.

effect = effects["temperature"]
print("average", effect.average.shape, "outputs", effect.output_names)
print(effect.to_frame().groupby("output").head(3).to_string(index=False))

# %%
# The width of the forecast. The simulated width is 2.56 standard deviations.

for degrees in (6, 14, 24):
    low, _, high = effect.average[:, effect.grid_values[0] == degrees][:, 0]
    print(f"{degrees:>2} degrees: {high - low:5.1f}, simulated {2.56 * (4 + 1.5 * degrees):5.1f}")

# %%
# Reading: the distance between the outer curves is the width of the forecast; it grows with the
# temperature.

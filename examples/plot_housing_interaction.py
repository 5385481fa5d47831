"""
Housing: what a surface shows beyond its two curves
===================================================

The surface of two features contains the effect of each alone, which usually is most of what one sees.
Without them, what is left is the interaction: here, that old houses are worth more only where few people
live in each.
"""

# %%
# The table is simulated: 3,000 districts, whose prices rise with the age of houses where fewer than 2.5
# people live in a household, and fall with it elsewhere.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 3_000
X = pd.DataFrame(
    {
        "income": rng.gamma(6, 8, n),
        "age": rng.integers(1, 53, n),
        "occupancy": 1.2 + rng.gamma(3, 0.6, n),
    }
)
price = 3 * X["income"] + 250 / X["occupancy"] + np.where(X["occupancy"] < 2.5, 1, -0.2) * X["age"]
model = HistGradientBoostingRegressor(random_state=0).fit(X, price + rng.normal(0, 15, n))

# %%
# Left, the average prediction; right, the part that is not the sum of the two curves.

effects = paribus.effects(model, X, ["age", "occupancy", ("age", "occupancy")], grid_resolution=25)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
effects["age", "occupancy"].plot(ax=left)
effects.interaction("age", "occupancy").plot(ax=right)

# %%
# Is it much? ``strength`` is in units of the price; H² is the share of the joint effect.

print(paribus.h_statistic(model, X).to_frame("pairwise").iloc[:, 1:8].to_string(index=False))

# %%
# Read next: :doc:`/interactions`.

"""
A neural network, or any function of a table
============================================

A model need not be known to paribus: any function that takes a table and returns numbers is explained by
evaluating it. Individual curves (ICE) show what the average of a network hides.
"""

# %%
# The data is simulated: ``x0`` raises ``y`` where ``x1`` is positive and lowers it elsewhere, so that its average effect is
# close to zero.
import numpy as np
import pandas as pd
from sklearn.neural_network import MLPRegressor

import paribus

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-1, 1, size=(1_000, 3)), columns=["x0", "x1", "x2"])
y = X["x0"] * np.sign(X["x1"]) + 0.5 * X["x2"]
network = MLPRegressor((24, 24), learning_rate_init=0.01, max_iter=80, random_state=0).fit(X, y)

# %%
# The function may do what it likes before and after the network: here the prediction is turned into another unit. It gets
# tables like ``X``, with other values in the column of the feature.
curves = paribus.partial_dependence(
    lambda table: 100 * network.predict(table), X, "x0", kind="both", grid_resolution=25
)
ax = curves.plot(title="Two kinds of rows, and an average that is neither")

# %%
# The average moves little; single rows move a lot, in two directions.
average = np.ptp(curves.average)
slopes = curves.individual[0, :, -1] - curves.individual[0, :, 0]
print(f"the average moves by {average:.0f}, nine tenths of the rows by {np.quantile(np.abs(slopes), 0.1):.0f} or more")
print(f"{np.mean(slopes > 0):.0%} of the rows rise")
print(curves)

"""
A neural network, or any function of a table
============================================

A model need not be known to paribus: any function that takes a table and returns numbers is explained by
evaluating it. Individual curves (ICE) show what the average of a network hides.
"""

# %%
# The data is simulated: ``x0`` raises ``y`` where ``x1`` is positive and lowers it elsewhere, so that its
# average effect is close to zero.
import numpy as np
import pandas as pd
from sklearn.neural_network import MLPRegressor

import paribus

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-1, 1, size=(1_000, 3)), columns=["x0", "x1", "x2"])
y = X["x0"] * np.sign(X["x1"]) + 0.5 * X["x2"]
network = MLPRegressor(hidden_layer_sizes=(24, 24), learning_rate_init=0.01, tol=1e-3, random_state=0).fit(
    X, y
)

# %%
# The function may do what it likes before and after the network: here it changes the unit of the prediction.
# It receives tables like ``X``, with other values in the column of the feature.
curves = paribus.partial_dependence(
    lambda table: 100 * network.predict(table), X, "x0", kind="both", grid_resolution=25
)
ax = curves.plot(title="Two kinds of rows, and an average that is neither")

# %%
# The average moves little; single rows move a lot, in two directions.
change = curves.individual[0, :, -1] - curves.individual[0, :, 0]
rise, fall = change[change > 0], -change[change < 0]
print(f"the average moves by {np.ptp(curves.average):.0f} at most")
print(f"{len(rise)} rows rise from one end to the other, by {rise.mean():.0f} on average")
print(f"{len(fall)} rows fall, by {fall.mean():.0f} on average")

# %%
# Read next: :doc:`/effects` on which prediction is explained, and :doc:`/large-data` for functions that are slow
# or have a price: ``max_predictions`` bounds how often they are evaluated.

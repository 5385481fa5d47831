"""
Housing: two models on one axis
===============================

Two models that predict equally well need not say the same. ``compare`` draws the partial dependence of both
on one axis, over the data: they agree where houses are, and part where there are few.
"""

# %%
# The table is simulated: 3,000 districts with the income of their households, the age of houses, rooms and
# people per household, and the distance to the coast. Crowded homes are cheaper, and large households are
# rare.

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus

rng = np.random.default_rng(0)
n = 3_000
X = pd.DataFrame(
    {
        "income": rng.gamma(6, 8, n),
        "age": rng.integers(1, 53, n),
        "rooms": rng.normal(5.3, 1.1, n).clip(1),
        "occupancy": 1.2 + rng.gamma(3, 0.6, n),
        "coast": rng.exponential(40, n),
    }
)
price = 3 * X["income"] + 12 * X["rooms"] + 250 / X["occupancy"] + 90 * np.exp(-X["coast"] / 15)
price += 0.4 * X["age"] + rng.normal(0, 20, n)
train, test, y_train, y_test = train_test_split(X, price, random_state=0)

network = MLPRegressor(hidden_layer_sizes=(30, 15), alpha=0.1, early_stopping=True, random_state=0)
models = {
    "network": TransformedTargetRegressor(
        make_pipeline(StandardScaler(), network), transformer=StandardScaler()
    ),
    "boosting": HistGradientBoostingRegressor(random_state=0),
}
for name, model in models.items():
    print(f"{name:<9} R² {model.fit(train, y_train).score(test, y_test):.3f}")

# %%
# Both are evaluated on the same rows. The grid extends over all of the data, so that sparse ends are shown
# too.

every = {name: paribus.effects(model, train, percentiles=(0, 1)) for name, model in models.items()}
models_on_one_axis = paribus.compare(every)
models_on_one_axis.plot()

# %%
# Where do they differ most? The errors are upper bounds, as both curves are averages over the same rows.

print(models_on_one_axis["occupancy"].difference())

# %%
# Read next: :doc:`/interpret` has the standard errors of differences; :doc:`/plots` has others, such
# as of years.

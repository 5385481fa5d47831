"""
Champion and challenger: the difference of effects
==================================================

A challenger has a lower error than the model in use. The score does not show how predictions would
change. The difference of two effects over the same rows does, with its standard error.
"""

# %%
# Prices of used cars, simulated. The challenger was fitted on newer data, in which electric cars lose
# their value faster than before. Both are explained on the same rows.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)


def cars_of(n, loss):
    """Simulate cars and their prices; electric cars lose more in their first years."""
    age, power, electric = rng.uniform(0, 12, n), rng.normal(110, 25, n), rng.random(n) < 0.3
    cars = pd.DataFrame({"age": age, "power": power, "electric": electric})
    price = (
        30 - 1.5 * cars["age"] + 0.05 * cars["power"] - loss * cars["electric"] * np.minimum(cars["age"], 4)
    )
    return cars, price + rng.normal(size=n)


models = {
    name: HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(*cars_of(3_000, loss))
    for name, loss in (("champion", 0.0), ("challenger", 1.5))
}
cars, price = cars_of(3_000, 1.5)

# %%
# Explain both, and list the changes of effects, interactions and performance.
explained = {name: paribus.explain(model, cars, price) for name, model in models.items()}
drift = explained["champion"].compare(explained["challenger"])
print(drift)

# %%
# Left, both on one axis. Right, the challenger minus the champion.
compared = paribus.compare({name: each.effects["age"] for name, each in explained.items()})
difference = compared.difference()
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
compared.plot(ax=axes[0])
difference.plot(ax=axes[1])

# %%
print(difference)

# %%
# A gate for CI: changes above a tenth of the standard deviation of the predictions.
for change in drift.above(0.1):
    print(f"{change.kind} {' x '.join(change.features)}: {change.size:.2f} standard deviations")

# %%
# Reading: the difference falls in the first four years and then stays below zero, so the challenger predicts
# lower prices for all but new cars.

"""
Claims with exposure: observed against expected
===============================================

A frequency model of insurance claims, with exposure as weights. The observed and the predicted frequency
agree near every age of the driver, and also where the age is missing.
"""

# %%
# The policies are simulated, so the true frequency is known: young drivers and strong cars have more
# claims. A policy is observed for a part of a year, its exposure. The age of some drivers is not known;
# they have more claims too.
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 20_000
policies = pd.DataFrame(
    {
        "age": rng.integers(18, 90, n).astype(float),
        "power": rng.gamma(6, 15, n).round(),
        "garage": rng.random(n) < 0.4,
    }
)
exposure = rng.uniform(0.1, 1, n)
unknown = rng.random(n) < 0.06
truth = (
    0.08 * np.exp(2 * np.exp(-(policies["age"] - 18) / 12) + policies["power"] / 200) * (1 + 0.5 * unknown)
)
claims = rng.poisson(truth * exposure)
policies.loc[unknown, "age"] = np.nan

# %%
# The target is the frequency, claims per year, and each row counts by its exposure: in the fit and in
# every average. Half of the policies are for fitting. Everything below uses the other half.
frequency = claims / exposure
fit, held = slice(0, n // 2), slice(n // 2, n)
model = HistGradientBoostingRegressor(loss="poisson", max_iter=60, learning_rate=0.05, random_state=0)
model.fit(policies[fit], frequency[fit], sample_weight=exposure[fit])

explanation = paribus.explain(model, policies[held], frequency[held], sample_weight=exposure[held])
print(explanation.performance)

# %%
# Averages near each age: observed and predicted claims of the same policies.
explanation.averages["age"].plot(title="Claims per year by age, weighted by exposure")

# %%
# The largest difference of each feature, in standard errors. A few of so many cells differ by two or three
# standard errors by chance.
print(explanation.averages)

# %%
# Only a simulation has the truth: the frequency of the drivers whose age is missing.
missing = explanation.averages["age"].missing
hidden = unknown[held]
true_frequency = np.average(truth[held][hidden], weights=exposure[held][hidden])
print("claims per year where the age is missing:")
print(f"{missing.predicted[0]:.3f} predicted, {missing.observed[0]:.3f} observed, {true_frequency:.3f} true")

# %%
# Reading: the model is calibrated by age where the predicted line lies within the band of the observed one.

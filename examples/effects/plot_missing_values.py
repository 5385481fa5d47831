"""
A missing value is a point of its own
=====================================

Where a value is missing, a model has an effect too: that of not knowing. It belongs to no place on the axis,
so it is drawn beside the curve, and it can be far from the effect of the value that an imputer would insert.
"""

# %%
# Loans, simulated: the income of some applicants is not stated, more often if it is low. So a missing income
# is bad news, and the true chance of default with it is higher than that of the average income.
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import paribus

rng = np.random.default_rng(0)
n = 5_000
income = rng.gamma(5, 10, n)
loans = pd.DataFrame({"income": income, "age": rng.integers(18, 80, n)})
chance = 1 / (1 + np.exp(-2 + income / 12))
default = rng.random(n) < chance
hidden = rng.random(n) < np.where(income < 35, 0.3, 0.03)
loans.loc[hidden, "income"] = np.nan
model = HistGradientBoostingClassifier(max_iter=40, min_samples_leaf=100, random_state=0).fit(loans, default)

# %%
# Trees of this kind send missing values their own way at every split. The curve has none of it.
effect = paribus.partial_dependence(model, loans, "income", grid_resolution=30)
ax = effect.plot()
ax.set_ylabel("chance of default")

# %%
# The same in numbers: at missing, at the mean that an imputer would insert, and what is true.
at_mean = np.interp(loans["income"].mean(), effect.grid_values[0], effect.average[0])
print(f"missing in {effect.missing.share:.1%} of the rows: {effect.missing.average[0]:.2f}")
print(f"at the mean of the known incomes: {at_mean:.2f}")
print(f"truth where it is missing: {chance[hidden].mean():.2f}")

# %%
# Read next: :doc:`/meaning` on what counts as missing, and on missing values in effects of two features.

"""
A missing value is a separate point
===================================

A model also predicts where a value is missing. That average has no place on the axis, so it is drawn next
to the curve. It can be far from the effect of the value that an imputer would insert.
"""

# %%
# Loans, simulated: some applicants do not state their income, more often if it is low. A missing income
# therefore signals a higher chance of default than the average income does.
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
# These trees route missing values separately at every split.
effect = paribus.Explainer(model, loans, target_names=["default"]).partial_dependence(
    "income", grid_resolution=30
)
effect.plot()

# %%
# The same in numbers: if missing, at the mean that an imputer would insert, and the truth.
at_mean = np.interp(loans["income"].mean(), effect.grid_values[0], effect.average[0])
print(f"missing in {effect.missing.share:.1%} of the rows: {effect.missing.average[0]:.2f}")
print(f"at the mean of the known incomes: {at_mean:.2f}")
print(f"truth where it is missing: {chance[hidden].mean():.2f}")

# %%
# Reading: the single point is the average prediction if the income of every applicant were missing.

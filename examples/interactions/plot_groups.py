"""
Groups: the same feature for different rows
===========================================

A curve is an average over all rows. With ``by``, it is an average over the rows of each group. A surface
asks another question: it *sets* the grouping feature in all rows. This example shows both.
"""

# %%
# The table is simulated: 6,000 salaries. Experience counts more in the city than in the country. People
# in the city are younger, and work longer hours.

import lightgbm
import numpy as np
import pandas as pd

import paribus

rng = np.random.default_rng(0)
n = 6_000
city = rng.random(n) < 0.4
X = pd.DataFrame(
    {
        "experience": np.clip(rng.gamma(4, np.where(city, 3, 5)), 0, 45),
        "hours": rng.normal(np.where(city, 44, 38), 4),
        "place": pd.Categorical(np.where(city, "city", "country")),
    }
)
salary = 2_000 + np.where(city, 90, 40) * X["experience"] + 60 * (X["hours"] - 40) + rng.normal(0, 300, n)
model = lightgbm.LGBMRegressor(n_estimators=150, learning_rate=0.06, verbose=-1).fit(X, salary)

# %%
# **By group.** Rows keep their place and their hours, and the gap between the two curves includes both.

center = (0.05, 0.95)
groups = paribus.partial_dependence(model, X, "experience", by="place", percentiles=center)
groups.plot()
print(groups)

# %%
# The difference of the curves has a standard error: rows of two groups are disjoint, so variances add.

groups.difference("city", "country").plot()

# %%
# **A surface** sets the place in all rows and keeps the hours of all rows. The city is lower than above,
# because most rows work fewer hours than those of the city.

surface = paribus.partial_dependence(model, X, ["experience", "place"], percentiles=center)
both = pd.DataFrame(surface.average[0], columns=surface.grid_values[1], index=surface.grid_values[0])
for place in both:
    group = float(groups[place].average[0, -1])
    print(f"{place} at the end of the curve: set {both[place].iloc[-1]:,.0f}, by group {group:,.0f}")

# %%
# A grouping column need not be a feature. The model below does not know the place. It still shows the
# gap, because the hours differ. ``explain(by=...)`` compares all effects and the performance of each
# group.

blind = lightgbm.LGBMRegressor(n_estimators=150, verbose=-1).fit(X[["experience", "hours"]], salary)
explanation = paribus.explain(blind, X, salary, by="place", progress=False)
print(explanation.by_group.to_frame().round(3).to_string(index=False))
for label, performance in explanation.by_group.performance.items():
    residual = next(metric for metric in performance.metrics if metric.name == "mean residual")
    print(f"{label}: mean residual {residual}")

# %%
# Reading: by group, the gap includes everything in which the groups differ; in a surface, only the place.

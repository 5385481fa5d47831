"""
Contrasts: a change with its standard error
===========================================

"From 30 to 50 square meters the rent rises by 214 ± 0.6." A curve shows such a change, but the errors of
its two points do not give the error of their difference. Both are averages over the same rows. A contrast
has it.
"""

# %%
# The table is simulated: 4,000 rents. A square meter costs 10 in the suburbs and 14 in the center, and an
# old building lowers the rent by 60.

import lightgbm
import numpy as np
import pandas as pd

import paribus

rng = np.random.default_rng(0)
n = 4_000
X = pd.DataFrame(
    {
        "area": rng.gamma(12, 5, n),
        "district": pd.Categorical(rng.choice(["suburb", "center", "north"], n, p=[0.5, 0.3, 0.2])),
        "old": rng.random(n) < 0.3,
        "floor": rng.integers(0, 6, n),
    }
)
per_meter = np.where(X["district"] == "center", 14, 10)
rent = 200 + per_meter * X["area"] - 60 * X["old"] + 5 * X["floor"] + rng.normal(0, 60, n)
model = lightgbm.LGBMRegressor(n_estimators=200, learning_rate=0.05, verbose=-1).fit(X, rent)

# %%
# The curve of the area at round values. The contrast compares the predictions of the same rows at 30 and
# 50. The simulated change is 20 times 11.2, the average price of a square meter.

effect = paribus.partial_dependence(model, X, "area", custom_values={"area": np.arange(25.0, 106.0, 5.0)})
effect.plot()
step = effect.contrast(30, 50)
print(step)
print("as if rows were independent: ±", float(np.hypot(*effect.standard_error[0, [1, 5]]).round(1)))

# %%
# The average change per square meter, weighted by the data.

print(effect.slope())

# %%
# A table for all features: from quartile to quartile of numbers, and each category against the most
# frequent.

effects = paribus.effects(model, X, custom_values={"area": [50, 60, 70]})
print(effects.contrasts().round(2).to_string(index=False))

# %%
# Reading: ± is the error of sampling the rows, for the model as it is; refits of the model would add to
# it.

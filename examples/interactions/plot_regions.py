"""
Regions: where the effect of a feature is alike
===============================================

An average curve hides rows whose curves run the other way. ``regions`` finds the rows that belong together,
says it in words, and reports if there is nothing to separate.
"""

# %%
# The table is simulated: 8,000 rental flats. A larger distance to the center lowers the rent of small flats.
# Large flats are for families, who pay for distance: above 90 square meters the effect changes its sign.

import lightgbm
import numpy as np
import pandas as pd

import paribus

rng = np.random.default_rng(0)
n = 8_000
X = pd.DataFrame(
    {
        "area": np.clip(rng.gamma(8, 11, n), 20, 220),
        "distance": rng.gamma(3, 2, n),
        "year": rng.integers(1900, 2025, n),
        "heating": pd.Categorical(rng.choice(["gas", "heat pump", "oil", "district"], n)),
    }
)
X.loc[rng.random(n) < 0.05, "year"] = np.nan
slope = np.where(X["area"] > 90, 25, -35)
other = 11 * X["area"] + 2 * (X["year"].fillna(1960) - 1960) + 60 * (X["heating"] == "heat pump")
rent = 500 + other + slope * X["distance"] + rng.normal(0, 80, n)
model = lightgbm.LGBMRegressor(n_estimators=150, learning_rate=0.06, verbose=-1).fit(X, rent)

# %%
# The average curve of the distance falls a little. The quantiles of the individual curves show that flats
# differ, but not which ones.

paribus.partial_dependence(model, X, "distance", quantiles=True).plot()

# %%
# **Regions.** The rows are split by other features, so that the curves within a region are alike. One half of
# the rows selects a split, and the other half measures how much it gains.

found = paribus.regions(model, X, progress=False)
print(found)

# %%
# The threshold is close to 90 square meters, where the simulation changes. The lines below the picture say
# how far curves differ before and after the splits.

found["distance"].plot()
for region in found["distance"].regions:
    print(f"{region.text}: {region.rows:,} rows")

# %%
# Every split reports its gain in three ways, and each has a bound: as a share of the heterogeneity, as a
# share of the variance of the prediction, and in standard errors.

(split, *_) = found["distance"].splits
print(f"{split.share_of_heterogeneity:.0%} of the heterogeneity")
print(f"{split.share_of_variance:.1%} of the variance of the prediction")
print(f"{split.gain / split.gain_error:.0f} standard errors")

# %%
# **No split** is an answer as well. Below, the rent is a sum of effects. The fitted model has small
# interactions, because it learns from noise, and none of them passes the bounds.

additive = 500 + other - 10 * X["distance"] + rng.normal(0, 80, n)
model = lightgbm.LGBMRegressor(n_estimators=150, learning_rate=0.06, verbose=-1).fit(X, additive)
print(paribus.regions(model, X, ["distance"], progress=False)["distance"])

# %%
# Read next: :doc:`/groups` has the definitions.

"""
Regions: rows with similar curves
=================================

An average curve hides rows whose curves have the opposite slope. ``regions`` splits the rows by other
features, so that curves within a region are similar. It also reports if no split helps.
"""

# %%
# The table is simulated: 4,000 rental flats. A larger distance to the center lowers the rent of small
# flats. Large flats are for families, who pay for distance: above 90 square meters the effect changes its
# sign.

import lightgbm
import numpy as np
import pandas as pd

import paribus

rng = np.random.default_rng(0)
n = 4_000
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
# One half of the rows selects a split, the other half measures its gain.

found = paribus.regions(model, X, progress=False)
print(found)

# %%
# The threshold is close to 90 square meters, where the simulation changes.

found["distance"].plot()
for region in found["distance"].regions:
    print(f"{region.text}: {region.rows:,} rows")

# %%
# Every split reports its gain in three ways, and must be large enough in each.

(split, *_) = found["distance"].splits
print(f"{split.share_of_heterogeneity:.0%} of the heterogeneity")
print(f"{split.share_of_variance:.1%} of the variance of the prediction")
print(f"{split.gain / split.gain_error:.0f} standard errors")

# %%
# Below, the rent is a sum of effects. The model has small interactions, because it also fits noise. None
# of them gains enough, so nothing is split.

additive = 500 + other - 10 * X["distance"] + rng.normal(0, 80, n)
model = lightgbm.LGBMRegressor(n_estimators=150, learning_rate=0.06, verbose=-1).fit(X, additive)
print(paribus.regions(model, X, ["distance"], progress=False)["distance"])

# %%
# Reading: each region has its curve and its rule; read the average curve only if there is one region.

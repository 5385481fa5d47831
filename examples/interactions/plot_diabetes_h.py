"""
Diabetes: which features interact, and how certain is that
==========================================================

By definition, Friedman and Popescu's H-statistic needs n² predictions for each pair of features.
Libraries therefore estimate it from about 500 rows, without a standard error. paribus computes it from
the trees on all rows. The plot shows how far estimates from 500 rows scatter.
"""

# %%
# The data are 442 patients with diabetes (Efron and others, 2004), part of scikit-learn (BSD-3).
# ``strength`` is the part of a joint effect that is not the sum of two single effects. H² is its square
# as a share of the joint effect.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = HistGradientBoostingRegressor(max_iter=100, max_depth=4, random_state=0).fit(X, y)

H = paribus.h_statistic(model, X)
columns = ["feature", "feature_2", "strength", "standard_error", "h_squared", "standard_error_h_squared"]
pairs = H.to_frame("pairwise")
print(pairs[columns].head(12).to_string(index=False, float_format="%.3f"))

# %%
# The pair with the largest H² is not the strongest, because a small joint effect can be mostly
# interaction.

first = pairs.loc[pairs["h_squared"].idxmax()]
print(first[["feature", "feature_2", "h_squared", "strength"]].to_string())

# %%
# All rows and 500 rows
# ---------------------
# 10,000 patients are simulated: rows of the 442 with a little noise. Each gray dot is an estimate from
# 500 of them. Each red mark is the value on all of them, ± 2 standard errors.

rng = np.random.default_rng(0)
patients = X.sample(10_000, replace=True, random_state=0, ignore_index=True)
patients += rng.normal(0, 0.1, patients.shape) * X.std().to_numpy()

every = paribus.h_statistic(model, patients, overall=False)
samples = [
    paribus.h_statistic(model, patients, overall=False, subsample=500, random_state=seed)
    for seed in range(12)
]

strongest = np.argsort(-every["strength_pairwise"])[:10]
names = [" x ".join(every["feature_pairs"][pair]) for pair in strongest]
estimates = np.array([sample["strength_pairwise"][strongest] for sample in samples])

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot(estimates.T, names, "o", color="gray", markersize=4, alpha=0.5)
strength, error = (every[key][strongest] for key in ("strength_pairwise", "standard_error_strength_pairwise"))
ax.errorbar(strength, names, xerr=2 * error, fmt="|", color="red", markersize=14)
ax.invert_yaxis()
ax.set_xlabel("strength of the interaction, in units of the prediction")

# %%
# Do the reported standard errors match the scatter? For the strongest pair:

reported = [sample["standard_error_strength_pairwise"][strongest[0]] for sample in samples]
print(f"estimates from 500 rows: standard deviation {estimates[:, 0].std(ddof=1):.2f}")
print(f"reported standard errors: {np.mean(reported):.2f} on average")
print(f"all rows: standard error {error[0]:.3f}")

# %%
# Reading: pairs whose gray dots overlap cannot be ranked from 500 rows.

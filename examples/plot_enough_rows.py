"""
How many rows are enough?
=========================

A sample of 500 rows, which is usual, can be too small for H, the strength of interactions: another sample
gives another ranking. A standard error shows it, and falls with the root of the number of rows. For trees all
rows can be used.
"""

# %%
# The data is simulated: ``a`` and ``b`` interact a little more than ``b`` and ``c``, and ``d`` interacts with
# ``c`` only.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 20_000
X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
y = X["a"] * X["b"] + 0.95 * X["b"] * X["c"] + 0.3 * X["c"] * X["d"] + rng.normal(size=n)
model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=16, random_state=0).fit(X, y)

# %%
# Strengths on 15 samples of 500 rows, and on all rows. One object shares what is read of model and data.
explainer = paribus.Explainer(model, X)
every = explainer.h_statistic()
samples = [explainer.h_statistic(subsample=500, random_state=seed) for seed in range(15)]

# %%
# And the standard error by the number of rows.
sizes = [125, 250, 500, 1_000, 2_000, 5_000, 10_000]
errors = [explainer.h_statistic(subsample=size)["a", "b"].standard_error for size in sizes]
sizes, errors = [*sizes, n], [*errors, every["a", "b"].standard_error]

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for shift, color, pair in ((-0.12, "tab:blue", ("a", "b")), (0.12, "tab:orange", ("b", "c"))):
    values, spread = np.transpose([(H[pair].strength, H[pair].standard_error) for H in samples])
    at = 1 + np.arange(len(samples)) + shift
    axes[0].errorbar(at, values, 2 * spread, fmt="o", color=color, alpha=0.7, label=" x ".join(pair))
    value, error = every[pair].strength, every[pair].standard_error
    axes[0].axhspan(value - 2 * error, value + 2 * error, color=color, alpha=0.35, linewidth=0)
axes[0].set(
    xlabel="sample of 500 rows",
    ylabel="strength of the interaction",
    title="Two pairs on 15 samples; bands: on all rows",
)
axes[0].legend(loc="lower left")
axes[1].loglog(sizes, errors, "o-", label="reported")
axes[1].loglog(sizes, errors[2] * np.sqrt(500 / np.array(sizes)), "--", color="0.5", label="1 / root of rows")
axes[1].set(xlabel="rows", ylabel="standard error of a x b", title="More rows, smaller error")
axes[1].legend()

# %%
# How often do samples of 500 rows put the wrong pair first?
wrong = sum(H.strongest(1)[0].features != every.strongest(1)[0].features for H in samples)
print(f"{wrong} of {len(samples)} samples")
print(every)

# %%
# An estimate has enough rows when its standard error is small beside the difference that matters. Here the
# two strengths differ by this many standard errors of both together, on all rows and on the first sample:
for H in (every, samples[0]):
    one, other = H["a", "b"], H["b", "c"]
    print(f"{(one.strength - other.strength) / np.hypot(one.standard_error, other.standard_error):.1f}")

# %%
# Read next: :doc:`/interactions` on why H of few rows is noisy, and on what its standard error includes.

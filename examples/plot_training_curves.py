"""
Out of bag is not the same for boosting and for forests
=======================================================

Trees that are fitted to a part of the rows leave the other rows out of their bag. For a forest, the error on
these is an estimate of the error on new rows. For gradient boosting it is not: a row that one tree has not
seen was seen by the trees before it.
"""

# %%
# The data is simulated, with noise that no model can predict. Half of the rows are held out.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

import paribus

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(1_000, 4))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=1_000)
train, held = slice(0, 500), slice(500, 1_000)

boosted = GradientBoostingRegressor(n_estimators=150, subsample=0.5, max_depth=4, random_state=0)
boosted = boosted.fit(X[train], y[train])

# %%
# What a model keeps of its fit is part of the performance that :func:`paribus.explain` measures: with
# ``subsample``, the loss on the rows of each tree and on those out of its bag.
performance = paribus.explain(boosted, X[held], y[held], interactions=False).performance
recorded = {curve.data: np.asarray(curve.values) for curve in performance.training_curves}
print({data: f"{len(values)} iterations, last {values[-1]:.2f}" for data, values in recorded.items()})

# %%
# The error on held rows comes from the predictions after each tree; that of forests from forests that grow.
staged = [np.mean((y[held] - stage) ** 2) for stage in boosted.staged_predict(X[held])]

sizes = [25, 50, 100, 150]
forest = RandomForestRegressor(warm_start=True, oob_score=True, random_state=0)
out_of_bag, new = [], []
for size in sizes:
    forest.set_params(n_estimators=size).fit(X[train], y[train])
    out_of_bag.append(np.mean((y[train] - forest.oob_prediction_) ** 2))
    new.append(np.mean((y[held] - forest.predict(X[held])) ** 2))

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
trees = 1 + np.arange(len(staged))
axes[0].plot(trees, recorded["training"], color="0.6", label="training")
axes[0].plot(trees, recorded["out of bag"], "--", color="tab:orange", label="out of bag")
axes[0].plot(trees, staged, color="tab:blue", label="held rows")
axes[1].plot(sizes, out_of_bag, "o--", color="tab:orange", label="out of bag")
axes[1].plot(sizes, new, "o-", color="tab:blue", label="held rows")
axes[0].set(title="gradient boosting", xlabel="trees", ylabel="mean squared error", ylim=(0, None))
axes[1].set(title="random forest", xlabel="trees")
for ax in axes:
    ax.legend()

# %%
# The errors at both ends of the second half of boosting: out of bag it fell on, on held rows it did not.
for count in (75, 150):
    last = count - 1
    print(f"boosting, {count} trees: {recorded['out of bag'][last]:.2f} out of bag, {staged[last]:.2f} held")
print(f"forest, {sizes[-1]} trees: {out_of_bag[-1]:.2f} out of bag, {new[-1]:.2f} held")

# %%
# Read next: :doc:`/report`, for the other metrics and for the curves that each library records.

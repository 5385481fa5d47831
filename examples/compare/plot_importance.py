"""
Three meanings of importance
============================

A forest and a boosted model are fitted to data with an id column that means nothing. The importance that
a model records while it is fitted (impurity) ranks the id second. Importance by permutation and by effect
rank it last.
"""

# %%
# The data is simulated. ``strong``, ``weak`` and ``rare`` have an effect (``rare`` is seldom true).
# ``id`` is a random number, unrelated to ``y``. Half of the rows are held out.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

import paribus

rng = np.random.default_rng(0)
n = 1_600
X = pd.DataFrame(
    {
        "strong": rng.normal(size=n),
        "weak": rng.choice([-1, 0, 1], n),
        "rare": rng.random(n) < 0.1,
        "id": rng.permutation(n),
    }
)
y = 2 * X["strong"] + 0.7 * X["weak"] + 2 * X["rare"] + 2 * rng.normal(size=n)
train, held = slice(0, n // 2), slice(n // 2, n)

models = {
    "forest": RandomForestRegressor(30, max_depth=12, random_state=0).fit(X[train], y[train]),
    "boosting": GradientBoostingRegressor(max_depth=4, random_state=0).fit(X[train], y[train]),
}

# %%
# Recorded at fit: the share of impurity that splits removed from the training rows. By permutation: the
# increase of the squared error of held-out rows if a column is shuffled. By effect: the standard
# deviation of the partial dependence, in units of ``y``.
found = {}
for name, model in models.items():
    found["as recorded at fit", name] = paribus.feature_importance(model, X[held], kind="model")
    shuffled = paribus.feature_importance(model, X[held], y=y[held], kind="permutation")
    found["by permutation", name] = shuffled
    found["by effect", name] = paribus.feature_importance(model, X[held])

units = {
    "as recorded at fit": "share of the decrease of impurity",
    "by permutation": "increase of the squared error",
    "by effect": "standard deviation of the effect",
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, (meaning, unit) in zip(axes, units.items(), strict=True):
    for shift, name in ((-0.2, "forest"), (0.2, "boosting")):
        importance = found[meaning, name].to_frame(backend="pandas").set_index("feature").loc[X.columns]
        error = 2 * importance.get("standard_error", np.nan)
        ax.barh(np.arange(4) + shift, importance["importance"], 0.38, xerr=error, label=name)
    ax.set(title=meaning, xlabel=unit, yticks=range(4), yticklabels=X.columns)
axes[0].invert_yaxis()
axes[0].legend()

# %%
# The forest records the id as second. Its deep trees find splits on a column of many values, which fit
# the noise of the training rows. On held-out rows the id does not lower the error.
for meaning in units:
    print(found[meaning, "forest"], "\n")

# %%
# Importance by effect does not use ``y``. It measures how far the prediction moves, right or wrong.

# %%
# Reading: a feature that ranks high at fit and low by permutation was used to fit noise.

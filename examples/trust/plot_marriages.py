"""
Age or years of marriage: partial dependence and ALE
====================================================

Older wives report more affairs. They have also been married longer. Averages near an age mix both, partial
dependence combines ages and years that do not occur together, and accumulated local effects (ALE) do neither.
"""

# %%
# The data are 6,366 answers of married women to a magazine in 1974 (Fair, 1978). They are part of statsmodels
# (BSD-3), with permission of the author. The target is whether a wife reports an affair.
import matplotlib.pyplot as plt
import statsmodels.api as sm
from sklearn.ensemble import HistGradientBoostingClassifier

import paribus

answers = sm.datasets.fair.load_pandas().data
X, affair = answers.drop(columns="affairs"), answers["affairs"] > 0
model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0).fit(X, affair)
print(f"correlation of age and years of marriage: {X['age'].corr(X['yrs_married']):.2f}")

# %%
# Three estimates of each feature on one axis. ALE is shifted to the average of partial dependence.
names = ["age", "yrs_married"]
estimates = {
    "partial dependence": paribus.effects(model, X, names),
    "ALE": paribus.accumulated_local_effects(model, X, names),
    "averages": paribus.marginal(model, X, names, y=affair),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
for ax, name in zip(axes, names, strict=True):
    paribus.compare(*(estimate[name] for estimate in estimates.values())).plot(ax=ax)

# %%
# From the first to the last value of each feature, the change by each estimate:
for name in names:
    pd, ale, near = (estimate[name] for estimate in estimates.values())
    changes = [curve[-1] - curve[0] for curve in (pd.average[0], ale.ale[0], near.observed[0])]
    print(f"{name:<12}", *(f"{kind} {change:+.2f}" for kind, change in zip(estimates, changes, strict=True)))

# %%
# A note says how much of a curve extrapolates.
print(estimates["partial dependence"]["age"].notes[0])

# %%
# Reading: averages rise with age, but at the same years of marriage the model hardly responds to age.

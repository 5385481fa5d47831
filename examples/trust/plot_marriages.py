"""
Age or years of marriage: partial dependence and ALE
====================================================

Older wives report more affairs. They have also been married longer. Averages near an age mix both,
partial dependence combines ages and years that do not occur together, and accumulated local effects (ALE)
do neither.
"""

# %%
# The data are 6,366 answers of married women to a magazine in 1974 (Fair, 1978). They are part of
# statsmodels (BSD-3), with permission of the author. The target is whether a wife reports an affair.
import statsmodels.api as sm
from sklearn.ensemble import HistGradientBoostingClassifier

import paribus

answers = sm.datasets.fair.load_pandas().data
X, affair = answers.drop(columns="affairs"), answers["affairs"] > 0
model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0).fit(X, affair)
print(f"correlation of age and years of marriage: {X['age'].corr(X['yrs_married']):.2f}")

# %%
# Three estimates of each feature on one axis. ALE is shifted to the average of partial dependence.
explainer = paribus.Explainer(model, X, affair, target_names=["an affair"])
names = ["age", "yrs_married"]
effects = explainer.effects(names)
local = explainer.accumulated_local_effects(names)
near = explainer.marginal(names)
paribus.compare(effects, local, near).plot()

# %%
# From the first to the last value of each feature, the change by each estimate:
for name in effects:
    for kind, curve in (
        ("partial dependence", effects[name].average[0]),
        ("ALE", local[name].ale[0]),
        ("observed averages", near[name].observed[0]),
    ):
        print(f"{name:<12} {kind:<19} {curve[-1] - curve[0]:+.2f}")

# %%
# A note says how much of a curve extrapolates.
print(effects["age"].notes[0])

# %%
# Reading: averages rise with age, but at the same years of marriage the model hardly responds to age.

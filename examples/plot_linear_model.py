"""
A linear model's partial dependence is its line
===============================================

For a linear model the average over the other features is a constant, so that each curve is a straight line
whose slope is the coefficient. A first check of any tool that draws such curves.
"""

# %%
# scikit-learn's diabetes data, its nine numbers in their own units.

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import paribus

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.drop(columns="sex")
model = LinearRegression().fit(X, y)

effects = paribus.effects(model, X)
effects.plot(k=6)

# %%
# The slope of each curve between its ends, beside the coefficient:

print(f"{'feature':<8} {'slope':>10} {'coefficient':>12} {'relative difference':>20}")
for name, coefficient in zip(X.columns, model.coef_, strict=True):
    values, average = effects[name].grid_values[0], effects[name].average[0]
    slope = (average[-1] - average[0]) / (values[-1] - values[0])
    print(f"{name:<8} {slope:10.4f} {coefficient:12.4f} {abs(slope / coefficient - 1):20.0e}")

# %%
# No row was predicted: the terms of the model were read. By brute force, which predicts every row at every
# grid point, the curves are the same.

brute = paribus.effects(model, X, method="brute")
print(effects["bmi"].provenance.evaluator, effects["bmi"].provenance.predictions, "predictions")
print(brute["bmi"].provenance.evaluator, brute["bmi"].provenance.predictions, "predictions")
print(
    f"largest difference {max(np.abs(effects[name].average - brute[name].average).max() for name in X):.0e}"
)

# %%
# Read next: :doc:`/effects` for the formula; :doc:`/models` for linear models behind preprocessing.

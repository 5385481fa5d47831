"""
Iris: every class, as probability and as score
==============================================

A classifier of three classes has three curves for each feature, and all of them come from one call.
Averages of probabilities sum to one at each value. On the scale of scores, where an additive model adds up,
the same model has curves of other shapes and sizes.
"""

# %%
# Scikit-learn's own iris data: 150 flowers of three species. Stumps make the model additive in its scores.

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier

import paribus

iris = load_iris(as_frame=True)
X, species = iris.data, iris.target_names[iris.target]
model = GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0).fit(X, species)

# %%
# Above, the probability of each species; below, the score of each (``decision_function``), of which the
# probabilities are the softmax.

features = ["petal length (cm)", "petal width (cm)"]
figure, axes = plt.subplots(2, 2, figsize=(10, 8), sharey="row", layout="constrained")
for method, row, top in zip(["predict_proba", "decision_function"], axes, [1, 3], strict=True):
    effects = paribus.effects(model, X, features, response_method=method)
    effects.plot(ax=row)
    row[0].set_ylim(top=top)  # room for the legend
    effect = effects["petal length (cm)"]
    total = effect.average.sum(axis=0)
    print(f"{method}: {', '.join(effect.output_names)} sum to {total.min():.3f} ... {total.max():.3f}")

# %%
# Read next: :doc:`/effects` lists what each ``response_method`` reports, for other models too.

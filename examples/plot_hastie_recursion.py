"""
Hastie's classifier: brute force and recursion are two numbers
==============================================================

By default scikit-learn computes the partial dependence of boosted trees by *recursion*, and of most other
models by brute force. These are two numbers: recursion averages along the paths of the training data, and
leaves out the initial prediction. In paribus the default equals brute force, and recursion has to be
requested.
"""

# %%
# The class is 1 where the sum of squares of ten independent features is large. The model is fitted on 2,000
# rows and explained on 2,000 others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_hastie_10_2
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.inspection import partial_dependence

import paribus

X, y = make_hastie_10_2(n_samples=4_000, random_state=0)
y = y.astype(int)
train, test = X[:2_000], X[2_000:]
stumps = GradientBoostingClassifier(n_estimators=100, learning_rate=1.0, max_depth=1, random_state=0)
model = stumps.fit(train, y[:2_000])

# %%
# The probability, and the score behind it (``decision_function``), by both methods. The features are
# independent and the trees are stumps, so that the two curves of the score have one shape. They have two
# heights.

names = [f"x{j}" for j in range(1, 11)]
score = {"feature_names": names, "response_method": "decision_function"}
exact = paribus.partial_dependence(model, test, "x1", **score)
recursion = paribus.partial_dependence(model, test, "x1", method="recursion", **score)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
paribus.partial_dependence(model, test, "x1", feature_names=names).plot(ax=left)
paribus.compare({"average over the rows": exact, "recursion": recursion}).plot(ax=right)

# %%
# Ours less each of scikit-learn's methods, over its grid. Brute force differs by rounding. On the rows it
# was fitted on, recursion is off by the initial prediction, which it leaves out; on other rows the averages
# of the nine other features differ as well.

for kind, rows in {"training rows": train, "other rows": test}.items():
    for method in ("brute", "recursion", "auto"):
        theirs = partial_dependence(model, rows, [0], method=method, response_method="decision_function")
        ours = paribus.partial_dependence(
            model,
            rows,
            0,
            custom_values={0: theirs["grid_values"][0]},
            response_method="decision_function",
        )
        difference = ours.average - theirs["average"]
        print(f"{kind:<14} {method:<10} {difference.min():9.6f} ... {difference.max():9.6f}")

share = np.mean(y[:2_000] == 1)
print(f"initial prediction, the log odds: {np.log(share / (1 - share)):.6f}")

# %%
# The result of our recursion, which includes the initial prediction, says what it is:

print(recursion)

# %%
# Read next: :doc:`/models` has the identity by which averages of trees are exact; :doc:`/effects` the
# scales.

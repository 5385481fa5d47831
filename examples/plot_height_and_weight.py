"""
Two features that say the same
==============================

Partial dependence at combinations that do not exist.
"""

# %%
# Draft.

import numpy as np

import paribus

rng = np.random.default_rng(0)
height = rng.normal(170, 10, 2000)
weight = 0.9 * (height - 100) + rng.normal(0, 4, 2000)
X = np.column_stack([height, weight])
paribus.partial_dependence(lambda t: t[:, 0] + t[:, 1], X, 0).plot()

"""
Credit default: is the effect monotone?
=======================================

A rule says that the predicted chance of default must not fall as debt rises, nor rise with income. A
model without constraints breaks the rule. ``explain`` says where, by how much and for which share of the
data.
"""

# %%
# Loans, simulated: the true chance of default rises with the ratio of debt to income and with late
# payments, and falls with income. The sample is small, so that a flexible model follows its noise.
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import paribus

rng = np.random.default_rng(0)
n = 3_000
loans = pd.DataFrame(
    {
        "income": rng.lognormal(10.8, 0.4, n).round(-2),
        "debt_ratio": rng.beta(2, 4, n).round(3),
        "late_payments": rng.poisson(0.4, n),
        "region": pd.Categorical(rng.choice(["north", "south", "west"], n)),
    }
)
score = -3 + 4 * loans["debt_ratio"] + 0.8 * loans["late_payments"] - loans["income"] / 60_000
default = rng.random(n) < 1 / (1 + np.exp(-score))

free = HistGradientBoostingClassifier(max_iter=60, random_state=0)
bound = HistGradientBoostingClassifier(
    max_iter=60, random_state=0, monotonic_cst={"income": -1, "debt_ratio": 1, "late_payments": 1}
)
rule = {"income": "falling", "debt_ratio": "rising", "late_payments": "rising"}

# %%
# Both models are checked against the same rule.
options = {"monotone": rule, "interactions": False, "target_names": ["default"]}
explained = {}
for name, model in {"without constraints": free, "monotone": bound}.items():
    model.fit(loans, default)
    explained[name] = paribus.explain(model, loans, default, **options)

compared = paribus.compare({name: each.effects["debt_ratio"] for name, each in explained.items()})
compared.plot()

# %%
# The findings of each, worst first. Each has a stable code, which you can search for.
for name, each in explained.items():
    print(name)
    for note in each.verdict:
        print(f"  {note.severity} {note.code.value}: {note}")

# %%
# ``PAR410`` reports a broken rule. Only the first model has it.

# %%
# Reading: the steps down of the unconstrained curve are noise that the model has fitted.

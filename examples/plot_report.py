"""
The whole model in one file
===========================

One call computes everything, one more writes it to a page that opens without scripts or a network. The page
holds its own numbers: loaded again, it draws the same picture.
"""

# %%
# The diabetes data of scikit-learn: 442 patients, and how far the disease went within a year.
import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import paribus

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(n_estimators=60, max_depth=3, random_state=0).fit(X[:300], y[:300])
explanation = paribus.explain(model, X[300:], y[300:])

# %%
# The page goes to a temporary folder here. Who made it, for what, and on which rows is for you to say.
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "diabetes.html"
    explanation.report(page, title="Diabetes", about={"purpose": "example", "data_role": "held-out rows"})
    size = page.stat().st_size
    loaded = paribus.load(page)
print(f"{size / 1e3:.0f} kB")

# %%
# The picture is drawn from the page that was loaded, without model and data.
figure = loaded.plot(k=4, columns=2)
same = all(
    (loaded.effects[name].average == effect.average).all() for name, effect in explanation.effects.items()
)
print("the same numbers:", same)

# %%
# The summary as Markdown, for a merge request:
print(loaded.to_markdown(title="Diabetes")[:1500])

# %%
# Read next: :doc:`/report` on what the page holds, and :doc:`/command-line` for a nightly job that writes it.

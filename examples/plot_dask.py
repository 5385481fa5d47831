"""
On a Dask cluster, the same bits
================================

With ``executor=`` a cluster evaluates the rows. Its result is that of one process, bit for bit, on any number
of workers, so a curve does not depend on where it was computed.
"""

# %%
# Readings of two sensors, simulated.
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingClassifier

import paribus

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 2))
alarm = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=20_000) > 2
model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X[:5_000], alarm[:5_000])
request = {"features": [0, 1], "grid_resolution": 30, "feature_names": ["pressure", "flow"]}

# %%
# A cluster of this machine: two workers, which are threads of this process so that they start at once.
# Processes (``processes=True``) or an address of a scheduler elsewhere are used in the same way.
workers = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with LocalCluster(**workers) as cluster, Client(cluster) as client:
    far = paribus.effects(model, X, executor=client, **request)
here = paribus.effects(model, X, **request)

# %%
# One curve is drawn over the other. The first is hidden by the second, and the lines below say why.
figure = paribus.compare({"here": here, "on Dask": far}).plot()

for name in here:
    same = here[name].average.tobytes() == far[name].average.tobytes()
    same = same and here[name].standard_error.tobytes() == far[name].standard_error.tobytes()
    print(f"{name}: averages and standard errors are the same bits: {same}")
print("here:", here.provenance.executor)
print("far:", far.provenance.executor)

# %%
# Read next: :doc:`/large-data`, on what workers read and send, and what happens if one of them dies.

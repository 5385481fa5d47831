"""
Doctor visits: one answer from polars, Parquet and Dask
=======================================================

The rows may be a polars table, files larger than a bound on memory, or on a cluster. The results are
bit-identical, so a curve does not depend on where it was computed.
"""

# %%
# The data are 20,190 person-years of the RAND Health Insurance Experiment, public domain, part of
# statsmodels (BSD-3). The target is the number of visits to a doctor.
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import statsmodels.api as sm
from dask.distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

people = pl.from_pandas(sm.datasets.randhie.load_pandas().data)
X = people.select(
    copayment=pl.col("lncoins").exp().round() - 1,  # the patient's share, %
    diseases="disea",
    limitation=pl.col("physlm") > 0,
    health=pl.when(pl.col("hlthp") == 1)
    .then(pl.lit("poor"))
    .when(pl.col("hlthf") == 1)
    .then(pl.lit("fair"))
    .when(pl.col("hlthg") == 1)
    .then(pl.lit("good"))
    .otherwise(pl.lit("excellent"))
    .cast(pl.Enum(["poor", "fair", "good", "excellent"])),
)
model = HistGradientBoostingRegressor(
    loss="poisson", max_leaf_nodes=8, max_iter=60, categorical_features="from_dtype", random_state=0
).fit(X, people["mdvis"])

# %%
# A polars table as it is. The points are given, so that all sources use the same ones.
points = {"copayment": [0, 25, 50, 95], "diseases": np.arange(0, 31, 3)}
effects = paribus.effects(model, X, custom_values=points)
effects.plot(columns=2)

# %%
# Parquet files, which need ``paribus[parquet]``, are read block by block under a bound on memory. A Dask
# cluster, with ``paribus[dask]``, evaluates blocks on its workers, here two threads of this process.
workers = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with tempfile.TemporaryDirectory() as folder, LocalCluster(**workers) as cluster, Client(cluster) as client:
    for part, rows in enumerate(X.iter_slices(5_000)):
        rows.write_parquet(Path(folder) / f"{part}.parquet")
    files = paribus.Explainer(model, f"{folder}/*.parquet", max_memory="64MB").effects(custom_values=points)
    far = paribus.Explainer(model, X, executor=client).effects(custom_values=points)

for name in effects:
    bits = [each[name].average.tobytes() for each in (effects, files, far)]
    print(f"{name}: bit-identical {bits[0] == bits[1] == bits[2]}")

# %%
# Results are tables of your library. What does a visit cost the patient, and how often do they go?
print(effects["copayment"].to_frame().select("copayment", "average", "standard_error"))

# %%
# Reading: with the same health, predicted visits fall as the patient pays a larger share.

"""
Parquet files larger than a bound on memory
===========================================

Files are read block by block under a bound on memory, a run that was interrupted goes on where it was, and
the curve is the same to the bit as that of the table in memory.
"""

# %%
# Four files of sensor readings, simulated, in a temporary folder. A real folder may be of any size, here or
# in an object store.
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lightgbm import LGBMRegressor

import paribus

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "sensors"
path.mkdir()
for part in range(4):
    columns = {name: rng.normal(size=100_000) for name in ("heat", "load", "speed")}
    columns["wear"] = np.tanh(columns["heat"]) + columns["load"] * (columns["speed"] > 0)
    pq.write_table(pa.table(columns), path / f"{part}.parquet", row_group_size=10_000)

features = ["heat", "load", "speed"]
first = pq.read_table(path / "0.parquet").slice(0, 5_000).to_pandas()
model = LGBMRegressor(n_estimators=50, num_leaves=16, n_jobs=1, verbose=-1).fit(
    first[features], first["wear"]
)

# %%
# What would it take? One block is read to find out, before anything else. The bound on memory is smaller than
# the table. The points of the curves are given: by default they lie between quantiles, which so little memory
# can only estimate; a note would say so, and ``provenance.rank_error`` is how closely.
points = np.linspace(-2, 2, 41)
options = {"max_memory": "8MB", "custom_values": dict.fromkeys(features, points)}
pattern = str(path / "*.parquet")
print(paribus.estimate_cost(model, pattern, **options))

# %%
# The run, with a checkpoint of what is finished. The second call loads all of it; had the first been killed,
# it would have gone on from there.
streamed = paribus.effects(model, pattern, checkpoint=path / "run", **options)
resumed = paribus.effects(model, pattern, checkpoint=path / "run", **options)
ax = streamed["heat"].plot()

# %%
# The same rows as one table in memory, with no bound:
table = pa.concat_tables(pq.read_table(file) for file in sorted(path.glob("*.parquet")))
held = paribus.effects(model, table.select(features), custom_values=options["custom_values"])
for name in features:
    bits = [each[name].average.tobytes() for each in (streamed, resumed, held)]
    print(name, "the same bits:", bits[0] == bits[1] == bits[2])
print(f"the table has {table.nbytes / 1e6:.0f} MB, the bound was {options['max_memory']}")
folder.cleanup()

# %%
# Read next: :doc:`/large-data` has every source that can be read, what it costs, and what a checkpoint protects
# against.

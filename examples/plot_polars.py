"""
polars in, polars out
=====================

A polars table goes in as it is, and results come back as polars tables. The same rows as Arrow or pandas have
the same numbers, bit for bit.
"""

# %%
# Hours of a bicycle rental, simulated: an integer, a number with nulls and a category.
import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus

rng = np.random.default_rng(0)
n = 3_000
temperature = pl.Series(rng.normal(12, 8, n).round(1))
hours = pl.DataFrame(
    {
        "hour": rng.integers(0, 24, n),
        "temperature": temperature.set(pl.Series(rng.random(n) < 0.05), None),
        "day": pl.Series(rng.choice(["weekday", "weekend"], n, p=[5 / 7, 2 / 7]), dtype=pl.Categorical),
    }
)
commute = pl.when(pl.col("day") == "weekday").then(6.0).otherwise(0.0)
rentals = hours.select(
    20 - commute * (4 * np.pi * (pl.col("hour") - 2) / 24).cos() + 0.4 * pl.col("temperature").fill_null(12)
).to_series()
model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(hours, rentals)

# %%
# Rentals have two peaks on weekdays and none on weekends.
options = {"grid_resolution": 24, "percentiles": (0, 1)}
effects = paribus.effects(model, hours, [("hour", "day"), "temperature"], **options)
figure = effects.plot()

# %%
# Tables of the numbers are polars, so that polars goes on from here.
curve = effects["hour", "day"].to_frame()
average = pl.col("average")
print(curve.group_by("day").agg(least=average.min(), most=average.max()).sort("day"))

# %%
# Other libraries, the same bits; ``backend=`` returns a table of another one.
as_arrow = paribus.effects(model, hours.to_arrow(), ["temperature"], **options)
as_pandas = paribus.effects(model, hours.to_pandas(), ["temperature"], **options)
for other in (as_arrow, as_pandas):
    same = np.array_equal(other["temperature"].average, effects["temperature"].average)
    print(type(other["temperature"].to_frame()), "the same bits:", same)

# %%
# Read next: :doc:`/effects` on tables and models, and :doc:`/large-data` on lazy frames.

"""Results of tables in memory; run as a script, it computes them where pyarrow cannot be imported."""

import json
import sys

if __name__ == "__main__":
    sys.modules["pyarrow"] = None  # before pandas and polars look for it

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import xgboost

import paribus
from paribus._data.read import table_of

ROWS = 120


def frame():
    """A pandas table with text, categories, dates in a time zone and missing values."""
    rng = np.random.default_rng(3)
    city = np.where(rng.random(ROWS) < 0.1, None, rng.choice(["Bern", "Basel", "Genf"], ROWS))
    return pd.DataFrame(
        {
            "city": city.tolist(),
            "level": pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), ["low", "mid", "high"]),
            "group": pd.Categorical(rng.choice([3, 1, 2], ROWS)),
            "zoned": pd.date_range("2025-03-01", periods=ROWS, tz="Europe/Zurich"),
            "day": pd.date_range("2025-03-01", periods=ROWS),
            "gap": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS)),
        }
    )


def tables():
    """The table in pandas, in pandas with objects, in polars, and its text in numpy."""
    table = frame()
    zoned = pl.Series(
        table["zoned"].dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    ).dt.replace_time_zone("UTC")
    columns = {
        "city": pl.Series([None if pd.isna(city) else city for city in table["city"]]),
        "level": pl.Series(table["level"].tolist(), dtype=pl.Enum(["low", "mid", "high"])),
        "group": pl.Series(table["group"].astype(str).tolist(), dtype=pl.Categorical),
        "zoned": zoned.dt.convert_time_zone("Europe/Zurich"),
        "day": pl.Series(table["day"].to_numpy()),
        "gap": pl.Series(table["gap"].to_numpy()),
    }
    return {
        "pandas": table,
        "objects": table.astype({"city": object, "level": object}),
        "polars": pl.DataFrame(columns),
        "numpy": table[["city", "level", "gap"]].to_numpy(object),
    }


def coded(table):
    """A model of any table: a sum over columns of functions of their values."""
    own, total = table_of(table), 0.0
    for column in map(own.column, range(len(own.names))):
        numbers = np.full(len(column.missing), -3.0)
        if column.kind in ("category", "string"):
            numbers[~column.missing] = [ord(str(value)[-1]) for value in column.values]
        else:
            numbers[~column.missing] = column.values.astype(np.float64)
        total = total + np.cos(numbers)
    return total


def models():
    """Models that are fitted on categories of pandas, and store them."""
    table = frame()[["level", "group", "gap"]]
    known = [lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=5, verbose=-1)]
    if hasattr(xgboost.Booster, "get_categories"):  # from version 3.1 on
        known.append(xgboost.XGBRegressor(n_estimators=5, enable_categorical=True))
    target = table["level"].cat.codes + table["gap"].fillna(0.5)
    return {type(model).__name__: model.fit(table, target) for model in known}


def results():
    """Return the tables of results by name, as plain values."""
    found = {}
    for name, table in tables().items():
        explainer = paribus.Explainer(coded, table, progress=False)
        found[name] = explainer.effects(grid_resolution=6)
        found[f"{name}, ALE"] = explainer.accumulated_local_effects(grid_resolution=6)
    plain = frame()[["level", "group", "gap"]].astype({"level": object, "group": int})
    for name, model in models().items():
        found[name] = paribus.Explainer(model, plain, progress=False).effects(grid_resolution=6)
    return {
        f"{name} in {backend}": str(table_of(result.to_frame(backend=backend)).frame.to_dict(as_series=False))
        for name, result in found.items()
        for backend in ("pandas", "polars")
    }


if __name__ == "__main__":
    print(json.dumps(results()))

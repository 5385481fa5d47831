import datetime

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("ci", deadline=None, max_examples=15)
settings.register_profile("laws", deadline=None, max_examples=10_000)
settings.register_profile("pipelines", deadline=None, max_examples=5_000)
settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Begin with the longest tests, or other workers would wait for them at the end."""
    items.sort(
        key=lambda item: not any(name in item.nodeid for name in ("test_built_site", "test_kernels.py"))
    )


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def client():
    """A cluster in this process; what travels between processes is tested in executors/test_dask."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    options["set_as_default"] = False  # or other tests would compute there
    with distributed.Client(**options) as client:
        yield client


@pytest.fixture(scope="session")
def awkward():
    """A table with every kind of column our users have."""
    rng = np.random.default_rng(1)
    n = 300
    first = datetime.datetime(2026, 1, 1)
    frame = pd.DataFrame(
        {
            "count": rng.poisson(3, n),
            "small": rng.integers(0, 100, n).astype("int8"),
            "nullable": pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(0, 50, n)), dtype="Int64"),
            "flag": rng.random(n) < 0.4,
            "level": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "city": rng.choice(["Bern", "Basel", "Genf"], n, p=[0.2, 0.5, 0.3]),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "single": rng.normal(size=n).astype("float32"),
            "day": [first + datetime.timedelta(days=int(d)) for d in rng.integers(0, 300, n)],
            "zoned": pd.to_datetime(rng.integers(0, 10**9, n), unit="s").tz_localize("Europe/Zurich"),
            "wait": pd.to_timedelta(rng.integers(1, 1000, n), unit="min"),
            "constant": 1.0,
            "mostly": np.where(rng.random(n) < 0.97, 0.0, rng.normal(size=n)),
        }
    )
    frame.loc[::17, "city"] = None
    frame.loc[::19, "day"] = pd.NaT
    return frame


def numbers(table):
    """A model of the awkward table: any library in, one number per row out; strict about dtypes."""
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    city = frame["city"].astype(object).map({"Bern": 1.0, "Basel": 2.0, "Genf": 3.0}).astype(float)
    level = frame["level"].astype(object).map({"low": 0.0, "mid": 1.0, "high": 2.0}).astype(float)
    day = (pd.to_datetime(frame["day"]) - pd.Timestamp("2026-01-01")).dt.days
    zoned = (frame["zoned"] - pd.Timestamp("2000-01-01", tz="UTC")).dt.days / 1000
    wait = frame["wait"].dt.total_seconds() / 3600
    return (
        2.0 * frame["count"].to_numpy(float)
        + frame["small"].to_numpy(float)
        + frame["nullable"].astype("Float64").fillna(-1).to_numpy(float)
        + frame["flag"].to_numpy(float)
        + level.to_numpy()
        + city.fillna(-5).to_numpy()
        + frame["gap"].fillna(10).to_numpy(float)
        + frame["single"].to_numpy(float)
        + day.fillna(-100).to_numpy(float)
        + zoned.to_numpy(float)
        + wait.to_numpy(float)
    )


def by_hand(model, table, column, value):
    """Partial dependence at one point of a pandas table, the slow obvious way."""
    changed = table.copy()
    changed[column] = pd.Series([value] * len(table), index=table.index).astype(table[column].dtype)
    return float(np.mean(model(changed)))

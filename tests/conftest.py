import datetime

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("ci", deadline=None, max_examples=15)
settings.register_profile("soak", deadline=None, max_examples=500)
settings.register_profile("laws", deadline=None, max_examples=10_000)
settings.register_profile("pipelines", deadline=None, max_examples=5_000)
settings.load_profile("ci")


# Long cases that CI leaves to ``make soak``: each repeats with other models, weights or files what a shorter
# case of CI shows, or damages what ``make fuzz`` damages as well.
FURTHER = (
    "compiled_where_nothing_can_be_cached",
    "test_a_process_grows_by_no_more_than_the_bound[function-120",
    "test_a_process_grows_by_no_more_than_the_bound[trees-8",
    "test_a_task_that_fails_twice",
    "test_changed_files_are_refused_or_work",
    "test_checkpoint_changed_folders_give_same_bits",
    "test_damaged_files_are_refused_or_explained[60]",
    "test_extrapolation_rows_that_are_read_report_same[False]",
    "test_files_checkpoints_and_little_memory_change_no_bit[calibrated]",
    "test_files_checkpoints_and_little_memory_change_no_bit[trees]",
    "test_function_and_pipelines_give_the_same_bits_on_a_cluster[average-w]",
    "test_function_and_pipelines_give_the_same_bits_on_a_cluster[both-None]",
    "test_gate_of_refits_passes",
    "test_gate_passes_refits_and_fails_a_model_that_moved[forest]",
    "test_gate_passes_refits_and_fails_a_model_that_moved[histogram]",
    "test_gate_passes_refits_and_fails_a_model_that_moved[xgboost]",
    "test_killed_run_goes_on_and_reads_nothing_twice",
    "test_large_files_end_in_one_sentence",
    "test_model_lists.py::test_threads_do_not_change_a_bit[1]",
    "test_names_are_text_in_pictures_of_both_renderers",
    "test_no_cut_into_files_row_groups_and_tasks_changes_a_bit[None",
    "test_random_models_are_explained_as_loops",
    "test_states_that_are_lost_after",
    "test_svg_is_the_same_to_the_byte",
    "test_thousands_of_tiny_files",
    "test_toy_statistic_that_breaks_laws_is_found_by_them[CountsBlocks",
    "test_toy_statistic_that_breaks_laws_is_found_by_them[DependsOnOrder",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark further cases, and begin with the longest tests, or other workers would wait for them at the end."""
    for item in items:
        if any(case in item.nodeid for case in FURTHER):
            item.add_marker(pytest.mark.soak)
    items.sort(
        key=lambda item: not any(name in item.nodeid for name in ("test_built_site", "test_kernels.py"))
    )


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
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

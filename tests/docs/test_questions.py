"""Every call that the page of questions recommends runs."""

import re
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest

import paribus

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in PAGE.read_text().splitlines()
    if "| `" in row
]
CALLS = [row[1].strip("`") for row in ROWS]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return what the calls name, in a folder that has the files they name."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 90, 200), "income": rng.gamma(3, 20, 200).round(1)})
    X["city"] = pd.Categorical(rng.choice(["Basel", "Bern", "Chur"], 200))
    X.loc[::9, "income"] = np.nan
    y = X["age"] / 20 + X["income"].fillna(9) * (X["city"] == "Bern") / 50 + rng.normal(size=200)
    models = [
        lightgbm.LGBMRegressor(n_estimators=count, num_leaves=5, verbose=-1).fit(X, y) for count in (9, 5)
    ]
    folder = tmp_path_factory.mktemp("questions")
    (folder / "rows").mkdir()
    X.to_parquet(folder / "rows" / "one.parquet")
    models[0].booster_.save_model(folder / "model.txt")
    return folder, {"paribus": paribus, "model": models[0], "other": models[1], "X": X, "y": y}


@pytest.mark.parametrize("call", CALLS)
def test_call_runs(call, names, monkeypatch):
    folder, known = names
    monkeypatch.chdir(folder)
    assert eval(call, dict(known)) is not None or ".report(" in call


def test_table_is_complete():
    assert len(CALLS) == len(set(CALLS)) == len(re.findall(r"^\| (?!question|---)", PAGE.read_text(), re.M))
    assert all(len(row) == 5 and all(row) for row in ROWS)

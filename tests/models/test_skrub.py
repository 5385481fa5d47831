"""skrub's TableVectorizer: numbers, categories, text and dates, each column by itself."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from paribus._data.read import table_of
from paribus._models.preprocessing.dependencies import Dependencies
from paribus.errors import RefusalError
from pipeline_examples import mixed_table, refusals_of

skrub = pytest.importorskip("skrub")
X, Y = mixed_table(60)
X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)) * 37 % 900, unit="D")
X["words"] = [f"text {k} on {k % 7}" for k in range(len(X))]


def fitted(model, table=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of skrub on few rows
        return model.fit(table, Y)


def vectorizer():
    return skrub.TableVectorizer(
        cardinality_threshold=10, high_cardinality=skrub.StringEncoder(n_components=3)
    )


def test_each_output_belongs_to_the_column_it_is_reported_for():
    step = fitted(vectorizer())
    dependencies = Dependencies([step], table_of(X))
    owner = [X.columns[min(owner)] for owner in dependencies.owners]
    assert not dependencies.joined
    assert owner.count("day") == 4
    assert owner.count("words") == 3
    assert owner.count("city") == 4
    step.output_to_input_ = None
    with pytest.raises(RefusalError, match="TableVectorizer does not report"):
        Dependencies([step], table_of(X))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(
            make_pipeline(
                vectorizer(), LGBMRegressor(n_estimators=5, min_child_samples=3, verbose=-1, n_jobs=1)
            ),
            marks=pytest.mark.nightly,
        ),
        pytest.param(skrub.tabular_pipeline("regressor"), marks=pytest.mark.nightly),
        skrub.tabular_pipeline(Ridge()),
    ],
    ids=["LightGBM", "HistGB", "ridge"],
)
@pytest.mark.filterwarnings("ignore")
def test_exact_equals_brute_force_behind_it(model):
    table = X.drop(columns=["words", "price"])
    requests = ["power", "brand", "day", ["age", "flag"]]
    assert not refusals_of(fitted(model, table), table, requests, kind="both", grid_resolution=4)

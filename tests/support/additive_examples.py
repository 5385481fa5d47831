"""Tables and comparisons that tests of sums of terms share."""

import numpy as np
import pandas as pd
import polars as pl

from statistic_of import statistic_of

ROWS = 90
QUIET = {"progress": False}


def numbers(rows=ROWS, seed=0):
    """Return a table of floats, integers and truth values, and a response."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "n": rng.poisson(2.0, rows),
            "flag": rng.random(rows) < 0.4,
            "b": rng.gamma(2.0, size=rows),
        }
    )
    y = 1.5 * X["a"] - 0.4 * X["n"] + X["flag"] + 0.3 * X["b"] + 0.3 * rng.normal(size=rows)
    return X, y.to_numpy()


def mixed(rows=ROWS, seed=0):
    """Return the same with text and gaps, as preprocessing takes it."""
    X, y = numbers(rows, seed)
    rng = np.random.default_rng(seed + 1)
    X["b"] = X["b"].where(rng.random(rows) > 0.1)
    X["city"] = rng.choice(["oslo", "rome", "bern", None], rows, p=[0.4, 0.3, 0.2, 0.1])
    return X, y + (X["city"] == "rome").to_numpy()


TABLES = {
    "pandas": lambda X: X,
    "polars": pl.from_pandas,
    "array": lambda X: X.to_numpy(dtype=float),
    "Fortran": lambda X: np.asfortranarray(X.to_numpy(dtype=float)),
}


def agree(model, X, *requests, tolerance=1e-9, evaluator="additive_exact", **options):
    """Compare averages, curves and errors with brute force, and check who evaluated."""
    for features, more in requests:
        given = {**QUIET, "grid_resolution": 4, **options, **more}
        have = statistic_of("partial_dependence", model, X, features, **given)
        want = statistic_of("partial_dependence", model, X, features, method="brute", **given)
        assert have.provenance.evaluator == evaluator, have.provenance.refusals
        assert have.provenance.predictions == 0
        size = tolerance * max(1.0, float(np.abs(want.average).max()))
        np.testing.assert_allclose(have.average, want.average, rtol=0, atol=size)
        np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=1e-6, atol=size)
        if have.individual is not None:
            np.testing.assert_allclose(have.individual, want.individual, rtol=0, atol=size)

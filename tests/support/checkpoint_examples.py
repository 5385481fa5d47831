"""Rows in files and models for tests of checkpoints."""

from functools import cache, partial
from itertools import pairwise

import lightgbm
import numpy as np
import pandas as pd
import pytest

from paribus._executors import checkpoint
from statistic_of import statistic_of

ROWS = 2_500


@cache
def frame():
    draw = np.random.default_rng(1)
    a = np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(size=ROWS))
    city = draw.choice(["Bern", "Basel", "Genf"], ROWS)
    X = pd.DataFrame({"a": a, "b": draw.integers(0, 9, ROWS), "c": draw.gamma(2.0, size=ROWS), "city": city})
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(draw.integers(0, 5, ROWS), unit="D")
    return X.assign(w=draw.gamma(1.0, size=ROWS), day=day.astype("datetime64[ns]") + pd.Timedelta(7, "ns"))


def written(folder, table=None):
    folder.mkdir(exist_ok=True)
    table = frame() if table is None else table
    for number, (first, stop) in enumerate(pairwise((0, 900, 1_000, ROWS))):
        table.iloc[first:stop].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=300)
    return folder


@cache
def trees(rounds=4):
    X = frame()[["a", "b", "c"]]
    y = X["a"].fillna(2) * X["b"] + np.sin(X["c"])
    return lightgbm.LGBMRegressor(n_estimators=rounds, num_leaves=7, verbose=-1, n_jobs=1).fit(X, y)


def asked(table):
    return np.nan_to_num(table["a"].to_numpy(float), nan=2.0) * table["b"].to_numpy() + table["c"].to_numpy()


def many_levels(table):
    return asked(table) + table["city"].map({"Bern": 1.0, "Basel": 2.0, "Genf": 3.0}).to_numpy()


CALLS = {
    "trees": partial(statistic_of, "effects", trees(), features=["a", "b", ("a", "c")], grid_resolution=9),
    "weighted trees": partial(
        statistic_of, "effects", trees(), features=["a", "c"], grid_resolution=9, sample_weight="w"
    ),
    "function": partial(
        statistic_of, "effects", asked, features=["a", "b"], grid_resolution=5, sample_weight="w"
    ),
    "curves": partial(statistic_of, "effects", asked, features=["c"], grid_resolution=4, kind="both"),
    "text": partial(statistic_of, "effects", many_levels, features=["city", "b"], grid_resolution=5),
    "days as categories": partial(
        statistic_of, "effects", asked, features=["day"], categorical_features=["day"]
    ),
    "interactions": partial(statistic_of, "h_statistic", trees()),
    "weighted interactions": partial(statistic_of, "h_statistic", trees(), sample_weight="w", threeway=3),
}


def numbers(result):
    """Everything a result says, but when and where it was computed."""
    if hasattr(result, "h_squared_pairwise"):
        names = [
            f"{what}_{key}"
            for what in ("h_squared", "standard_error_h_squared")
            for key in ("pairwise", "overall")
        ]
        return [getattr(result, name).tobytes() for name in names]
    found = []
    for key, effect in result.items():
        arrays = [effect.average, effect.standard_error, effect.individual, effect.support]
        found += [key, *(None if array is None else array.tobytes() for array in arrays)]
        found += [values.tolist() for values in effect.grid_values]
        found += [None if values is None else values.tobytes() for values in effect.deciles]
        if effect.missing is not None:
            found += [effect.missing.share, effect.missing.average.tobytes()]
    return found


def stopped_and_resumed(begin, finish, after, patch):
    """Interrupt ``begin()`` after some saved states, and return ``finish()`` and the states that each saved."""
    saved, resumed, save = [], [], checkpoint.KeptStates.save

    def noting(into, most):
        def noted(self, first, stop, state):
            if len(into) == most:
                raise KeyboardInterrupt
            into.append((self.folder.name, first, stop))
            save(self, first, stop, state)

        return noted

    patch.setattr(checkpoint.KeptStates, "save", noting(saved, after))
    with pytest.raises(KeyboardInterrupt):
        begin()
    patch.setattr(checkpoint.KeptStates, "save", noting(resumed, None))
    return finish(), saved, resumed

"""
A pipeline on a mixed table: effects of the raw columns
=======================================================

Real tables have text, integers, dates and missing values, and real models are pipelines. Effects belong
to the columns of your table, in their units. A city is one feature, not a set of one-hot columns, and a
date is a date.
"""

# %%
# Rents of flats, simulated: by size, city and when the contract was signed. Some sizes are missing.
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import paribus

rng = np.random.default_rng(0)
n = 1_000
flats = pd.DataFrame(
    {
        "size": rng.gamma(8, 9, n).round(),
        "rooms": rng.integers(1, 6, n),
        "city": rng.choice(["Bern", "Chur", "Genf", "Zug"], n, p=[0.4, 0.1, 0.3, 0.2]),
        "signed": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2_000, n), "D"),
    }
)
city = flats["city"].map({"Bern": 0, "Chur": -200, "Genf": 400, "Zug": 600})
years = (flats["signed"] - pd.Timestamp("2020-01-01")).dt.days / 365
rent = 300 + 14 * flats["size"] + 80 * flats["rooms"] + city + 90 * years + rng.normal(0, 100, n)
flats.loc[rng.random(n) < 0.08, "size"] = np.nan


# %%
# The preprocessing imputes and scales numbers, encodes the city, and turns dates into days. You do not
# declare it to paribus.
def days(dates):
    """Return days since 2020."""
    return (dates - pd.Timestamp("2020-01-01")) / pd.Timedelta("1D")


prepare = make_column_transformer(
    (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["size", "rooms"]),
    (OneHotEncoder(), ["city"]),
    (FunctionTransformer(days), ["signed"]),
)
model = make_pipeline(prepare, GradientBoostingRegressor(random_state=0)).fit(flats, rent)

effects = paribus.Explainer(model, flats, verify=True).effects(grid_resolution=40)
effects.plot(columns=2)

# %%
# The steps that were read, the evaluator, and its largest difference from the predictions of the
# pipeline:
provenance = effects["city"].provenance
print(provenance.structure)
print(provenance.evaluator, provenance.verified_difference)

# %%
# Reading: values on each axis are those of the raw table, before imputation, scaling and encoding.

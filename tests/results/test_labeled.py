"""Results as xarray's datasets: dimensions with names, coordinates, every number."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import fuzz_results
import paribus
from handmade import importance, statistics


def linear(table):
    return np.asarray(table["x"]) * 2 + np.asarray(table["city"] == "Bern")


@pytest.fixture
def frame(rng):
    size = 30
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 9, size), unit="D")
    return pd.DataFrame({"x": rng.normal(size=size), "city": rng.choice(["Bern", "Genf"], size), "day": days})


def test_xarray_names_dimensions_and_coordinates_of_a_surface(frame):
    effect = paribus.partial_dependence(
        linear, frame, ["x", "city"], kind="both", grid_resolution=4, quantiles=True
    )
    found = effect.to_xarray()
    assert isinstance(found, xr.Dataset)
    assert found["average"].dims == ("output", "x", "city")
    assert found["individual"].dims == ("output", "row", "x", "city")
    assert found["support"].dims == ("x", "city")
    assert found["quantiles_values"].dims == ("output", "quantile", "x", "city")
    assert found["quantile"].values.tolist() == effect.quantiles.probabilities.tolist()
    assert found["x"].values.tolist() == effect.grid_values[0].tolist()
    assert found["city"].values.tolist() == ["Bern", "Genf"]
    assert found["output"].values.tolist() == ["prediction"]
    assert found["strengths"].dims == ("output",)
    assert found["strengths"].values.tolist() == effect.strengths.tolist()
    one = found["average"].sel(output="prediction", city="Genf")
    np.testing.assert_array_equal(one.values, effect.average[0, :, 1])


def test_xarray_has_the_models_of_a_list(frame):
    effect = paribus.partial_dependence([linear, lambda t: 2 * linear(t)], frame, "day", grid_resolution=4)
    found = effect.to_xarray()
    assert found["by_model_values"].dims == ("model", "output", "day")
    assert found["model"].values.tolist() == list(effect.by_model.models)
    assert found["by_model_standard_deviation"].dims == ("output", "day")
    assert found["day"].dtype.kind == "M"
    assert (found["day"].values == effect.grid_values[0]).all()


def test_xarray_lays_steps_at_the_value_they_lead_to(frame):
    effects = paribus.accumulated_local_effects(linear, frame, ["x", "city", ("x", "city")])
    by_key = effects.to_xarray()
    assert set(by_key) == set(effects)
    found = by_key["x"]
    assert found["local"].dims == ("output", "x step")
    assert found["x step"].values.tolist() == effects["x"].grid_values[0][1:].tolist()
    assert found["support"].dims == ("x step",)
    assert by_key["city"]["support"].dims == ("city",)
    assert by_key["x", "city"]["support"].dims == ("x step", "city")


def test_xarray_of_interactions_and_importance_names_features():
    found = statistics("abc", [1.0, 2.0, 3.0], triples=[1.0]).to_xarray()
    assert found["pairwise_numerator"].sel(pair="a x c", output="prediction") == 2.0
    assert found["total_numerator"].dims == ("output",)
    assert found["main_effect_numerator"]["feature"].values.tolist() == ["a", "b", "c"]
    assert importance(["a", "b"], [1.0, 2.0]).to_xarray()["values"].dims == ("feature",)
    several = importance(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], outputs=("p", "q")).to_xarray()
    assert several["values"].sel(feature="b", output="q") == 4.0


def test_xarray_of_every_result_has_every_number():
    for result in fuzz_results.prepared():
        found = result.to_xarray()
        for dataset in found.values() if isinstance(found, dict) else [found]:
            for part in dataset.values() if isinstance(dataset, dict) else [dataset]:
                assert isinstance(part, xr.Dataset)
                assert len(part.data_vars) >= 2

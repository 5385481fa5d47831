"""Small results of every type, saved so that later releases can show that they still read them.

``python tests/support/kept_results.py tests/results/saved/1`` wrote the files of format version 1, each with the
numbers of its table beside it. Files that are there are never written again.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import paribus
from handmade import importance, statistics


def _model(table):
    return np.asarray(table["x"], dtype=float) * 2 + np.nan_to_num(
        np.asarray(table["gap"], dtype=float), nan=3.0
    )


def _turning(table):
    return np.where(np.asarray(table["city"]) == "Bern", 1.0, -1.0) * np.asarray(table["x"], dtype=float)


def results():
    """Return one result of every type, by the name it is stored under, and some with rare parts."""
    frame = pd.DataFrame(
        {
            "x": np.arange(12.0) / 8,
            "gap": [0.5, np.nan, 2.0, 1.0] * 3,
            "city": ["Bern", "Genf", "Zürich"] * 4,
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(12), unit="D"),
        }
    )
    options = {"grid_resolution": 3, "progress": False}
    many = pd.concat([frame] * 8, ignore_index=True)  # so many curves are compressed
    both = paribus.partial_dependence(_model, many, "gap", kind="both", **options)
    effects = paribus.effects(_model, frame, ["x", "gap", ("x", "city")], **options, quantiles=True)
    ale = paribus.accumulated_local_effects(_model, frame, ["gap", "city"], progress=False)
    several = paribus.accumulated_local_effects([_model, _model], frame, ["gap", "x"], progress=False)
    near = paribus.marginal(_model, frame, ["gap", "day"], y=np.arange(12.0), **options)
    plain = paribus.effects(_model, frame, ["gap", "day"], **options)
    compared = paribus.compare(plain, ale, near)
    overlays = paribus.compare(
        {"one": plain, "two": paribus.effects(_model, frame.iloc[:8], ["gap"], **options)}
    )
    explanation = paribus.explain(
        _model, frame[["x", "gap"]], np.arange(12.0) / 4, grid_resolution=3, progress=False
    )
    moved = paribus.explain(lambda X: 2 * _model(X), frame[["x", "gap"]], grid_resolution=3, progress=False)
    regions = paribus.regions(_turning, pd.concat([many] * 2), ["x"], progress=False)
    found = [
        *(regions, regions["x"], explanation, explanation.performance),
        explanation.compare(moved),
        *(both, effects, ale["gap"], near["gap"], compared["gap"], overlays["gap"].difference()),
        effects["gap"].contrast(0.5, None),
        statistics("abc", [1.0, 0.0, np.nan], triples=[1.0]),
        importance(["a", ("b", 2)], [0.5, 1.0]),
        paribus.effects(_model, frame, ["gap", "x"], by="city", **options),
        paribus.explain(
            _model, frame, np.arange(12.0), by="city", grid_resolution=3, progress=False
        ).by_group,
    ]
    mappings = {"ale": several, "marginal": near, "estimands": compared, "models": overlays}
    mappings["differences"] = overlays.difference()
    named = {f"effects-{part}": result for part, result in mappings.items()}
    named["comparison-models"] = overlays["gap"]
    named["partial_dependence-models"] = paribus.partial_dependence(
        [_model, _turning], frame, "gap", **options
    )
    units = np.arange(len(frame)) // 2
    for kind in ("average", "both"):
        named[f"partial_dependence-{kind}_of_units"] = paribus.partial_dependence(
            _model, frame, "gap", kind=kind, units=units, **options
        )
    return (
        {type(result).stored: result for result in found}
        | named
        | {
            f"partial_dependence-{part}": paribus.partial_dependence(_model, _unusual(), feature, **options)
            for part, feature in (
                ("extrapolation", "x"),
                ("grid_extrapolation", ("x", "gap")),
                ("durations", "wait"),
            )
        }
    )


def _unusual():
    """Return two features that hardly differ, which few combinations of values occur of, and durations."""
    x = np.arange(200.0) / 8
    return pd.DataFrame({"x": x, "gap": x + 0.25, "wait": pd.to_timedelta(np.arange(200) % 7, unit="h")})


def numbers(result):
    """Return the table of a result as text."""
    return json.dumps(result.to_frame(backend="pyarrow").to_pydict(), default=str, indent=1)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, result in results().items():
        if not (folder / f"{name}.json").exists():
            result.save(folder / f"{name}.json")
            (folder / f"{name}.table.json").write_text(numbers(result) + "\n")

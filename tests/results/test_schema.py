"""What follows from the dimensions of a field: checks, keys, tables, files, arrays with names."""

import ast
import base64
import copy
import dataclasses
import inspect
import json
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest

import fuzz_results
import paribus
from handmade import provenance, statistics
from kept_results import numbers
from package_classes import changeable, comparing_arrays, dataclasses_of
from paribus._contracts import Array, Floats, Kind
from paribus._evaluators.interactions import Ratio, VarianceShares
from paribus.notes import Note
from paribus.results import PartialDependence
from paribus.results.drift import RowDrift
from paribus.results.mixins import Result
from paribus.results.model_record import ColumnRecord, FileRecord, ModelRecord, RowPredictions, TargetRecord
from paribus.results.performance import Calibration, Metric
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, array, labels, nested, record, stored_records
from paribus.results.shape import Monotonicity, Shape
from paribus.results.verdict import Check

ROOT = Path(__file__).parents[2]
SAVED = Path(__file__).parent / "saved"
PARTS = (
    Calibration,
    Check,
    ColumnRecord,
    paribus.results.Extrapolation,
    paribus.results.IceQuantiles,
    paribus.results.AtMissing,
    Metric,
    FileRecord,
    ModelRecord,
    TargetRecord,
    paribus.results.ModelSpread,
    Monotonicity,
    RowDrift,
    RowPredictions,
    Shape,
    Ratio,
    VarianceShares,
)


# The new type of a result begins here.
@record
class ToyBand(Record):
    """A band around a curve, by share of the rows."""

    shares: Floats = labels("share")
    low: Floats = array("output", "share", "grid")
    width: Floats = array("output", "grid", column="width")


@record
class ToyResult(Result):
    """The mean and the median at each value of a feature."""

    stored = "toy"

    feature_names: tuple[str, ...] = labels("feature")
    output_names: tuple[str, ...] = labels("output")
    kinds: tuple[Kind, ...] = array("feature")
    grid_values: tuple[Array, ...] = array("feature")
    mean: Floats = array("output", "grid")
    median: Floats | None = array("output", "grid", optional=True)
    band: ToyBand | None = nested()
    notes: tuple[Note, ...]
    provenance: Provenance


# It ends here.


def toy(**changes):
    band = ToyBand(np.array([0.5, 0.9]), np.zeros((2, 2, 3)), np.ones((2, 3)))
    fields = {
        "feature_names": ("age",),
        "output_names": ("yes", "no"),
        "kinds": ("numeric",),
        "grid_values": (np.array([1.0, 2.0, 4.0]),),
        "mean": np.arange(6.0).reshape(2, 3),
        "median": None,
        "band": band,
        "notes": (),
        "provenance": provenance(),
    }
    return ToyResult(**fields | changes)


def test_new_result_type_takes_at_most_sixty_lines():
    text = Path(__file__).read_text().split("# The new type of a result begins here.\n")[1]
    own = text.split("# It ends here.\n")[0]
    assert [node.name for node in ast.parse(own).body] == ["ToyBand", "ToyResult"]
    assert len(own.splitlines()) <= 60


def test_new_result_type_saves_loads_and_compares(tmp_path):
    result = toy(median=np.full((2, 3), np.nan))
    result.save(tmp_path / "toy.json")
    again = paribus.load(tmp_path / "toy.json")
    assert again == result
    assert type(again.band) is ToyBand
    assert again != toy()
    assert again != dataclasses.replace(again, mean=again.mean + 1e-16)
    for twin in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert twin == result


def test_new_result_type_has_keys_and_a_table():
    assert list(toy()) == [field.name for field in dataclasses.fields(ToyResult) if field.name != "median"]
    assert next(iter(toy(median=np.zeros((2, 3))))) == "median"
    frame = toy().to_frame(backend="pandas")
    assert list(frame.columns) == ["output", "age", "mean", "width"]
    assert frame["output"].tolist() == ["yes"] * 3 + ["no"] * 3
    assert frame["age"].tolist() == [1.0, 2.0, 4.0] * 2
    assert frame["mean"].tolist() == list(range(6))
    assert "mean (feature)" in toy(feature_names=("mean",)).to_frame(backend="pandas")


def test_record_within_a_result_prints_few_values_of_its_arrays():
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = paribus.partial_dependence(lambda t: t[:, 0] * t[:, 1], X, 0, quantiles=True, grid_resolution=20)
    shown = repr(found.quantiles)
    assert shown.startswith("IceQuantiles(probabilities=")
    assert "shape=(1, 5, 16)" in shown  # 12 points, and the 2 rows in each tail
    assert len(shown) < 500
    assert np.get_printoptions()["threshold"] == 1000


@pytest.mark.parametrize(
    "copied", [lambda one: one, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_new_result_type_is_read_only(copied):
    result, ratio = copied(toy()), copied(statistics("ab", [1.0])).pairwise
    for values in (result.mean, result.band.low, result.grid_values[0], ratio.numerator):
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0
    with pytest.raises(AttributeError):
        result.mean = None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"mean": np.zeros((2, 4))},
            r"mean has shape \(2, 4\); pass it with the shape \(2, 3\) of \(output, grid\)",
        ),
        ({"mean": np.zeros(3)}, r"mean has shape \(3,\)"),
        ({"output_names": ("yes",)}, r"mean has shape \(2, 3\); pass it with the shape \(1, 3\)"),
        ({"feature_names": ("a", "b")}, r"feature_names has shape \(2,\)"),
        ({"grid_values": ()}, "grid_values has 0 axes for 1 kinds"),
        ({"grid_values": (np.array(["a", "b", "c"], object),)}, "dtype object cannot be numeric"),
        (
            {"band": ToyBand(np.ones(1), np.zeros((2, 1, 4)), np.ones((2, 4)))},
            r"band.low has shape \(2, 1, 4\)",
        ),
    ],
)
def test_shape_that_does_not_fit_is_refused_when_a_result_is_made(changes, words):
    with pytest.raises(paribus.errors.InputError, match=words) as caught:
        toy(**changes)
    assert "\n" not in str(caught.value)
    with pytest.raises(paribus.errors.InputError, match=words):
        dataclasses.replace(toy(), **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid_values": ([1, 2, 3, 4],)}, r"grid_values=\(\[1, 2, 3, 4\],\) of ToyResult must be a tuple"),
        ({"kinds": ("evil",)}, r"kinds=\('evil',\) .* each one of \('numeric', "),
        ({"kinds": ["numeric"]}, r"kinds=\['numeric'\] .* must be a tuple"),
        ({"mean": np.zeros((2, 3), int)}, "mean=array.* must be an array of dtype float64$"),
        ({"median": np.zeros((2, 3), np.float32)}, "median=.* an array of dtype float64 or None$"),
        ({"mean": None}, "mean=None of ToyResult must be an array"),
        ({"feature_names": (1,)}, r"feature_names=\(1,\) .* each a str$"),
        ({"notes": ("x",)}, r"notes=\('x',\) of ToyResult must be a tuple, each a Note"),
        ({"provenance": None}, "provenance=None of ToyResult must be a Provenance"),
        ({"band": "wide"}, "band='wide' of ToyResult must be a ToyBand or None"),
    ],
)
def test_type_that_is_not_declared_is_refused_when_a_result_is_made(changes, words):
    with pytest.raises(paribus.errors.InputError, match=words) as caught:
        dataclasses.replace(toy(), **changes)
    assert "\n" not in str(caught.value)


def test_number_that_is_none_is_refused_when_a_result_is_made():
    for part in (r for r in fuzz_results.prepared() if "strength" in r.__dataclass_fields__):
        for strength in ("x", None, True, np.zeros(1)):
            with pytest.raises(paribus.errors.InputError, match=r"^strength=.* must be a float$"):
                dataclasses.replace(part, strength=strength)


def test_part_is_checked_when_it_is_made():
    with pytest.raises(
        paribus.errors.InputError, match=r"width has shape \(2, 5\); pass it with the shape \(2, 4\)"
    ):
        ToyBand(np.ones(1), np.zeros((2, 1, 4)), np.ones((2, 5)))


def test_every_array_of_every_result_has_dimensions():
    for kind in [*stored_records().values(), *PARTS[:-2]]:
        hints = inspect.get_annotations(kind)
        for name, hint in hints.items():
            if any(word in str(hint) for word in ("Floats", "Integers", "Flags", "Array", "Ratio")):
                assert name in kind.declared, f"{kind.__name__}.{name}"


def test_shapes_of_all_results_are_checked():
    """Arrays with one more entry are refused wherever they are."""
    tried = set()
    for result in fuzz_results.prepared():
        for name in result.declared:
            value = getattr(result, name)
            if isinstance(value, np.ndarray):
                with pytest.raises(paribus.errors.InputError, match=f"^{name} has shape"):
                    dataclasses.replace(result, **{name: np.concatenate([value, value[:1]])})
                tried.add((type(result).__name__, name))
    assert {name for name, _ in tried} == {
        "PartialDependence",
        "AccumulatedLocalEffect",
        "Contrast",
        "Marginal",
        "Difference",
        "Drift",
        "Comparison",
        "HStatistics",
        "Importance",
    }
    assert len(tried) > 25


def test_names_in_files_are_not_those_of_classes(tmp_path):
    effect = next(r for r in fuzz_results.prepared() if isinstance(r, PartialDependence))
    effect.save(tmp_path / "effect.json")
    assert json.loads((tmp_path / "effect.json").read_text())["result"]["record"] == "partial_dependence"
    names = {kind.__name__ for kind in stored_records().values()}
    assert not names & set(stored_records())


def test_file_of_every_type_is_kept():
    names = {name for name, kind in stored_records().items() if kind.__module__.startswith("paribus.")}
    kept = {path.name.removesuffix(".table.json") for path in SAVED.glob("1/*.table.json")}
    assert {name.partition("-")[0] for name in kept} == names
    results = {name: paribus.load(SAVED / "1" / f"{name}.json") for name in kept}
    assert results["partial_dependence-extrapolation"].extrapolation.mask is None
    assert results["partial_dependence-grid_extrapolation"].extrapolation.mask.any()
    assert results["partial_dependence-durations"].grid_values[0].dtype.kind == "m"
    assert results["partial_dependence-average_of_units"].share_covariance is not None
    assert results["partial_dependence-both_of_units"].row_units is not None
    assert '"zlib": ' in (SAVED / "1" / "partial_dependence.json").read_text()


@pytest.mark.parametrize("path", sorted(SAVED.glob("*/*.table.json")), ids=lambda path: path.name)
def test_file_of_a_released_format_still_loads(path):
    name = path.name.removesuffix(".table.json")
    result = paribus.load(path.with_name(f"{name}.json"))
    assert type(result).stored == name.partition("-")[0]
    assert numbers(result) == path.read_text().strip()


@pytest.mark.parametrize("path", sorted(SAVED.glob("1/*.table.json")), ids=lambda path: path.name)
def test_file_of_the_present_format_is_written_as_it_was(path, tmp_path):
    kept = path.with_name(path.name.replace(".table.json", ".json"))
    paribus.load(kept).save(tmp_path / "again.json")
    written = json.loads((tmp_path / "again.json").read_text())
    assert unpacked(written["result"]) == unpacked(json.loads(kept.read_text())["result"])


def unpacked(body):
    """Return a body with the bytes of its arrays, which releases of zlib compress differently."""
    if isinstance(body, dict) and "zlib" in body:
        return body | {"zlib": zlib.decompress(base64.b64decode(body["zlib"]))}
    if isinstance(body, dict):
        return {key: unpacked(value) for key, value in body.items()}
    return [unpacked(value) for value in body] if isinstance(body, list) else body


def format_rows():
    """Return the rows of the table of records in docs/stability.md, from what the classes declare."""
    rows = []
    own = {
        f"`{name}`": kind
        for name, kind in sorted(stored_records().items())
        if kind.__module__.startswith("paribus.")
    }
    for name, kind in [*own.items(), *((kind.__name__, kind) for kind in PARTS)]:
        fields = []
        for field in dataclasses.fields(kind):
            declared = getattr(kind, "declared", {}).get(field.name)
            dims = f" ({', '.join(map(str, declared.dims))})" if declared and declared.dims else ""
            fields.append(f"`{field.name}`{dims}")
        rows.append(f"| {name} | {', '.join(fields)} |")
    return rows


def test_format_page_lists_every_record_with_its_dimensions():
    page = (ROOT / "docs" / "stability.md").read_text()
    for row in format_rows():
        assert row in page, row


def test_classes_of_results_are_frozen_and_none_compares_arrays():
    package = "paribus.results"
    assert len(dataclasses_of(package)) > 15
    assert changeable(package) == set()
    assert comparing_arrays(package) == set()


def test_fields_of_large_arrays_are_shown_in_part():
    X = np.random.default_rng(0).normal(size=(300, 1))
    shown = repr(paribus.explain(lambda t: t[:, 0], X, progress=False).predictions)
    assert "..." in shown
    assert len(shown) < 1_000

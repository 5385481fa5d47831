"""Facts about the model and the run that results record."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib import metadata
from pathlib import PurePath
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from paribus._api.data import ExplainerData
from paribus._contracts import NOMINAL, Array, Kind
from paribus._data.features import Header, position
from paribus._data.rows import Background, Rows
from paribus._data.summary import Summary
from paribus._evaluators.performance.measure import TargetEstimate
from paribus._evaluators.survey import SummarySpec
from paribus._kernels import why_numpy
from paribus._models import Model, structure_digest, structure_of
from paribus._models.adapter import describe, library_of
from paribus._models.combination import Combination, Structure
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.files.model_file import FILES
from paribus._models.libraries import PACKAGES
from paribus._models.parameters import libraries_of, parameters_of
from paribus._models.scoring.choose import objective_of
from paribus._models.trees import Trees
from paribus._text import count
from paribus._version import __version__
from paribus.errors import FeatureError, OptionError, RefusalError, did_you_mean
from paribus.results import Provenance
from paribus.results.model_record import ColumnRecord, FileRecord, ModelRecord, TargetRecord
from paribus.results.shape import Direction


def model_record(
    estimators: Sequence[Any], models: Sequence[Model], rows: Background, provenance: Provenance
) -> ModelRecord:
    """Return what is known of a model, of several what they have in common and the parameters of each."""
    ensembles = [one for model in models for one in _ensembles(model)]
    sizes = [_size(one) for one in ensembles]
    several = len(estimators) > 1
    return ModelRecord(
        provenance.model,
        provenance.model_library,
        provenance.model_version,
        provenance.model_digest,
        {
            f"{number}: {name}" if several else name: text
            for number, one in enumerate(estimators, 1)
            for name, text in parameters_of(one).items()
        },
        sum(len(one.roots) for one in ensembles) if sizes else None,
        sum(leaves for leaves, _ in sizes) if sizes else None,
        max(depth for _, depth in sizes) if sizes else None,
        provenance.structure,
        versions_of(estimators, rows, reads_trees=bool(sizes)),
        platform.platform(),
        ", ".join(dict.fromkeys(filter(None, map(objective_of, estimators)))) or None,
        None if several else _model_file(estimators[0]),
        "" if several else structure_digest(models[0]),
    )


def _model_file(estimator: Any) -> FileRecord | None:
    """Return the file that a model was read from."""
    try:
        found = FILES.get(estimator)
    except TypeError:  # of a class without a hash or references that do not keep it alive: no file was read
        return None
    return None if found is None else FileRecord(found[0], None, found[1])


def data_files(data: ExplainerData) -> tuple[FileRecord, ...]:
    """Return the files that out-of-core rows are read from, named within the folder they have in common."""
    files = [(PurePath(path), rows) for path, rows in data.files]
    folder = os.path.commonpath([path.parent for path, _ in files]) if files else ""
    return tuple(FileRecord(path.relative_to(folder).as_posix(), rows, None) for path, rows in files)


def target_records(
    y: Any, data: ExplainerData, found: Sequence[TargetEstimate], outputs: Sequence[str]
) -> tuple[TargetRecord, ...]:
    """Return the distribution of the target under its name: that of a column, a series or a table."""
    columns = getattr(y, "columns", None)
    if isinstance(y, str) or (isinstance(y, (list, tuple)) and not data.rows.in_memory):
        names = [y] if isinstance(y, str) else list(y)
    else:
        names = [getattr(y, "name", None)] if columns is None else list(columns)
    known = [one if isinstance(one, str) else None for one in names]
    return tuple(
        TargetRecord(known[one.output if len(known) > 1 else 0], outputs[one.output], *one[1:])
        for one in found
    )


def _ensembles(model: Model) -> list[Ensemble]:
    """Return the trees that were read of a model, those of its parts if it is made of several."""
    try:
        return _of_structure(structure_of(model))
    except RefusalError:  # which is recorded where it decided how to compute
        return []


def _of_structure(structure: Structure) -> list[Ensemble]:
    if isinstance(structure, Combination):
        return [one for part in structure.parts for one in _of_structure(part.structure)]
    return [structure.ensemble] if isinstance(structure, Trees) else []


def _size(ensemble: Ensemble) -> tuple[int, int]:
    """Return the number of leaves of all trees, and the number of tests of the longest path."""
    leaves, depth, level = 0, 0, ensemble.roots.astype(np.int64)
    while len(level):
        inner = level[ensemble.column[level] != LEAF]
        leaves += len(level) - len(inner)
        depth += bool(len(inner))
        level = np.concatenate([ensemble.left[inner], ensemble.right[inner]]).astype(np.int64)
    return leaves, depth


def versions_of(estimators: Sequence[Any], rows: Background, *, reads_trees: bool) -> dict[str, str]:
    """Return the versions of Python and of the libraries that took part, whatever else is imported."""
    names = {"numpy", "narwhals", *(name for one in estimators for name in libraries_of(one))}
    names.add(rows.table.backend)
    if not rows.in_memory:
        names.add("pyarrow")
    if reads_trees and why_numpy() is None:
        names.add("numba")
    found = {name: _version(name) for name in sorted(names)}
    own = {"python": platform.python_version(), "paribus": __version__}
    return own | {name: version for name, version in found.items() if version is not None}


def _version(name: str) -> str | None:
    """Return the version of a package, None of what has none, such as a script of the user's."""
    known = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(known, str):
        return known
    try:
        return metadata.version(PACKAGES.get(name, name))
    except metadata.PackageNotFoundError:
        return None


def column_records(data: ExplainerData, wanted: Mapping[int, SummarySpec]) -> tuple[ColumnRecord, ...]:
    """Return what is known of the columns that can be varied, in the order of X; no row is read for it."""
    rows, records = data.rows, []
    for feature in sorted(wanted):
        try:
            if isinstance(rows, Rows):
                found = _held(rows, feature, wanted[feature].nominal)
            else:
                found = _surveyed(data.summary(feature, wanted), rows.table.dtype(feature))
        except FeatureError:  # such columns are among those skipped
            continue
        records.append(found)
    return tuple(records)


def _held(rows: Rows, feature: int, nominal: bool) -> ColumnRecord:
    """Return what is known of a column in memory; rows of weight zero do not count."""
    column = rows.table.column(feature)
    kind: Kind = "category" if nominal and column.kind not in NOMINAL else column.kind
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    missing = float(weights[column.missing].sum()) / rows.total
    counted = weights[~column.missing] > 0
    dtype = rows.table.dtype(feature)
    if kind in NOMINAL:
        codes, _ = column.factorized()
        return ColumnRecord(column.name, kind, dtype, None, None, missing, len(np.unique(codes[counted])))
    values = column.values[counted]
    finite = values if values.dtype.kind in "mM" else values[np.isfinite(values)]
    ends: tuple[Any, Any] = (None, None)
    if len(finite):
        ends = (_plain(finite.min()), _plain(finite.max()))
    return ColumnRecord(column.name, kind, dtype, *ends, missing, None)


def _surveyed(summary: Summary, dtype: str) -> ColumnRecord:
    """Return what a survey found of a column."""
    name, kind, missing = summary.name, summary.kind, summary.missing_share
    if kind in NOMINAL:
        count = None if summary.categories is None else len(summary.categories)
        return ColumnRecord(name, kind, dtype, None, None, missing, count)
    ends: tuple[Any, Any] = summary.extremes or (None, None)
    if summary.unit is not None and summary.extremes is not None:
        ticks: Array = np.array(summary.extremes, dtype=np.int64).view(summary.unit)
        ends = (ticks[0], ticks[1])
    return ColumnRecord(name, kind, dtype, *ends, missing, None)


def _plain(value: Any) -> Any:
    """Return a number as one of Python; dates stay what they are."""
    return value if value.dtype.kind in "mM" else value.item()


WORDS: dict[str, Direction | None] = {
    "rising": "rising",
    "increasing": "rising",
    "falling": "falling",
    "decreasing": "falling",
}
SIGNS: dict[int, Direction | None] = {1: "rising", -1: "falling", 0: None}
# What libraries call the constraints: scikit-learn, LightGBM with its aliases, XGBoost, CatBoost.
PARAMETERS = ("monotonic_cst", "monotone_constraints", "monotone_constraint", "mc")
SPELLED = {"1": 1, "+1": 1, "1.0": 1, "-1": -1, "-1.0": -1}  # other text is no direction
WAYS = "1, 'rising' or 'increasing', -1, 'falling' or 'decreasing', 0 or None for neither"

# By feature and output, the direction; None declares that there is none.
Declared: TypeAlias = dict[str, dict[str, Direction | None]]


def directions_of(
    monotone: Any, estimator: Any, header: Header, outputs: Sequence[str]
) -> dict[str, dict[str, Direction]]:
    """Return the direction of each curve that has one, by feature and output.

    What the user declares of a feature comes before the constraints of the model, which of a list of models
    are not read.
    """
    own = {} if estimator is None else model_directions(estimator, header.names, outputs)
    joined = own | declared_directions(monotone, header, outputs)
    return {
        name: {output: direction for output, direction in by_output.items() if direction is not None}
        for name, by_output in joined.items()
    }


def declared_features(monotone: Any, header: Header) -> frozenset[str]:
    """Return the features that ``monotone=`` declares a direction of, before outputs are known."""
    read = declared_directions(monotone, header, None)
    return frozenset(name for name, by_output in read.items() if any(by_output.values()))


def declared_directions(monotone: Any, header: Header, outputs: Sequence[str] | None) -> Declared:
    """Read ``monotone=``: a mapping from features, or one direction for each column of X.

    The value of a feature may be a mapping from outputs, else it is meant for all of them. Outputs may not
    be known yet.
    """
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        monotone = _by_column(monotone, header)
    found: Declared = {}
    for token, value in monotone.items():
        try:
            name = header.names[position(token, header)]
        except FeatureError as error:
            raise FeatureError(f"monotone: {error}") from error
        if name in found:
            raise OptionError(f"monotone={monotone!r} names {name!r} twice, by name and by position")
        by_output = value if isinstance(value, Mapping) else dict.fromkeys(outputs or ("",), value)
        for output, own in by_output.items():
            if outputs is not None and output not in outputs:
                raise OptionError(
                    f"monotone of {name!r}: there is no output {output!r}{did_you_mean(str(output), outputs)}"
                )
            found.setdefault(name, {})[output] = _direction(own, name)
    return found


def _by_column(monotone: Any, header: Header) -> dict[Any, Any]:
    is_list = isinstance(monotone, (Sequence, np.ndarray)) and not isinstance(monotone, str)
    if not is_list or len(monotone) != len(header.given):
        raise OptionError(
            f"monotone={monotone!r} must map features to directions, as in {{{header.given[0]!r}: 1}}, or "
            f"have one for each of the {count(len(header.given), 'column')} of X"
        )
    columns = zip(header.given, monotone, strict=True)
    return {name: value for name, value in columns if name in header.names}


def _direction(value: Any, name: str) -> Direction | None:
    if value is None:
        return None
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if number and value in SIGNS:
        return SIGNS[int(value)]
    close = isinstance(value, str) and get_close_matches(value, WORDS)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise OptionError(f"monotone of {name!r} is {value!r}; it must be {WAYS}{hint}")


def model_directions(estimator: Any, names: tuple[str, ...], outputs: Sequence[str]) -> Declared:
    """Return the constraints a model was fitted with, by feature; none that are not about these columns.

    They are of the prediction, or of the probability of the second of two classes; those of models with more
    outputs are no directions of the outputs.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    classes = getattr(estimator, "classes_", None)
    if len(outputs) != 1 or (classes is not None and len(classes) > 2):
        return {}
    signs = _signs(_parameter(estimator), names)
    return {name: {outputs[0]: SIGNS[sign]} for name, sign in signs.items()}


def _parameter(estimator: Any) -> Any:
    """Return the constraints of a model, as its library has it."""
    own = getattr(estimator, "get_params", None)
    known = own() if callable(own) and not isinstance(estimator, type) else getattr(estimator, "params", {})
    if not isinstance(known, Mapping):
        return None
    return next((known[name] for name in PARAMETERS if known.get(name) is not None), None)


def _signs(constraints: Any, names: tuple[str, ...]) -> dict[str, int]:
    """Return signs by column of constraints in any of the forms libraries take.

    >>> _signs("(1,-1)", ("a", "b")), _signs({"b": -1}, ("a", "b")), _signs("b:1", ("a", "b"))
    ({'a': 1, 'b': -1}, {'b': -1}, {'b': 1})
    """
    if isinstance(constraints, str):
        parts = [part.strip() for part in constraints.strip("()[] ").split(",") if part.strip()]
        pairs = [part.rpartition(":") for part in parts]
        named = all(middle for _, middle, _ in pairs)
        constraints = {key: sign for key, _, sign in pairs} if named else parts
    if isinstance(constraints, Mapping):
        keyed = {str(key): value for key, value in constraints.items()}
        by_name = {name: keyed.get(name, keyed.get(str(j))) for j, name in enumerate(names)}
    elif isinstance(constraints, (Sequence, np.ndarray)) and len(constraints) == len(names):
        by_name = dict(zip(names, constraints, strict=True))
    else:
        return {}
    read = {name: SPELLED.get(str(value).strip()) for name, value in by_name.items()}
    return {name: sign for name, sign in read.items() if sign is not None}


NO_MODEL = {
    "model": "no model",
    "model_library": "",
    "model_version": "",
    "response": "none",
    "scale": "observed",
    "model_digest": "",
}


def of_model(model: Model | None) -> dict[str, str]:
    """Return what is recorded of an adapted model."""
    if model is None:
        return NO_MODEL
    return {
        "model": model.name,
        "model_library": model.library,
        "model_version": model.version,
        "response": model.response,
        "scale": model.scale,
        "model_digest": model.digest(),
    }


def of_estimator(estimator: Any, response: str, scale: str) -> dict[str, str]:
    """Return what is recorded of a model that was not adapted, because it does not predict here."""
    library, version = library_of(estimator)
    return {
        "model": describe(estimator),
        "model_library": library,
        "model_version": version,
        "response": response,
        "scale": scale,
        "model_digest": "",
    }


def recorded(rows: Background, started: float, fingerprint: str, **facts: Any) -> Provenance:
    """Return a record of a call that began at ``started``; what does not apply is None, or 0."""
    absent: dict[str, Any] = {
        "structure": None,
        "refusals": {},
        "sampled_rows": None,
        "seed": None,
        "percentiles": None,
        "grid_resolution": None,
        "points": 0,
        "predictions": 0,
        "standard_error_rows": 0,
        "verified_difference": None,
        "passes": 1,
        "executor": "this process",
        "rank_error": None,
        "source": rows.source_label,
        "skipped": rows.skipped,
    }
    header = rows.header
    return Provenance(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        paribus=__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        pandas=_imported("pandas"),
        numba=_imported("numba"),
        rows=len(rows),
        columns=len(rows.table.names),
        unused_columns=header.unused,
        unknown_categories=header.unknown,
        backend=rows.table.backend,
        fingerprint=fingerprint,
        weights=rows.weight_facts(),
        seconds=perf_counter() - started,
        **(absent | facts),
    )


def _imported(library: str) -> str | None:
    """Return the version of a library that was imported."""
    return getattr(sys.modules.get(library), "__version__", None)

"""Facts about models, columns and runs for the records of results."""

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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paribus._api.data import ExplainerData, GroupData
from paribus._contracts import NOMINAL, Array, Kind
from paribus._data.features import Header, position
from paribus._data.rows import Rows
from paribus._data.summary import Summary, SummarySpec
from paribus._kernels import why_numpy
from paribus._models import Model, structure_digest, structure_of
from paribus._models.adapter import describe, library_of
from paribus._models.combination import Combination, Structure
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.libraries import PACKAGES, libraries_for
from paribus._models.libraries.model_file import FILES
from paribus._models.parameters import libraries_of, parameters_of
from paribus._models.scoring.targets import objective_of
from paribus._models.trees import Trees
from paribus._text import count
from paribus._version import __version__
from paribus.errors import FeatureError, OptionError, RefusalError, did_you_mean
from paribus.results import Provenance
from paribus.results.model_record import ColumnRecord, FileRecord, ModelRecord, TargetRecord
from paribus.results.shape import Direction

if TYPE_CHECKING:
    from paribus._data.scan.open import Background
    from paribus._evaluators.performance.measure import TargetEstimate


def model_record(
    estimators: Sequence[Any], models: Sequence[Model], rows: Background, provenance: Provenance
) -> ModelRecord:
    """Return the record of a model, or a joint one with the parameters of each of several models."""
    ensembles = [one for model in models for one in _ensembles(model)]
    sizes = [_leaves_and_depth(one) for one in ensembles]
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
    """Return the record of the file that a model was read from, None without one."""
    if id(estimator) not in FILES:
        return None
    name, sha256 = FILES[id(estimator)]
    return FileRecord(name, None, sha256)


def data_files(data: ExplainerData) -> tuple[FileRecord, ...]:
    """Return the files of out-of-core data, with paths relative to their common folder."""
    files = [(PurePath(path), rows) for path, rows in data.files]
    folder = os.path.commonpath([path.parent for path, _ in files]) if files else ""
    return tuple(FileRecord(path.relative_to(folder).as_posix(), rows, None) for path, rows in files)


def target_records(
    y: Any, data: ExplainerData, found: Sequence[TargetEstimate], outputs: Sequence[str]
) -> tuple[TargetRecord, ...]:
    """Return the distribution of each target, named after its column or series."""
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
    """Return the trees of a model, including those of its parts; none if they cannot be read."""
    try:
        return _of_structure(structure_of(model))
    except RefusalError:  # recorded by the evaluator
        return []


def _of_structure(structure: Structure) -> list[Ensemble]:
    if isinstance(structure, Combination):
        return [one for part in structure.parts for one in _of_structure(part.structure)]
    return [structure.ensemble] if isinstance(structure, Trees) else []


def _leaves_and_depth(ensemble: Ensemble) -> tuple[int, int]:
    """Return the number of leaves of all trees, and the maximum depth."""
    leaves, depth, level = 0, 0, ensemble.roots.astype(np.int64)
    while len(level):
        inner = level[ensemble.column[level] != LEAF]
        leaves += len(level) - len(inner)
        depth += bool(len(inner))
        level = np.concatenate([ensemble.left[inner], ensemble.right[inner]]).astype(np.int64)
    return leaves, depth


def versions_of(estimators: Sequence[Any], rows: Background, *, reads_trees: bool) -> dict[str, str]:
    """Return the versions of Python and of the libraries that the result depends on."""
    names = {"numpy", "narwhals", *(name for one in estimators for name in libraries_of(one))}
    names.add(rows.table.backend)
    if not rows.in_memory:
        names.add("pyarrow")
    if reads_trees and why_numpy() is None:
        names.add("numba")
    found = {name: _library_version(name) for name in sorted(names)}
    own = {"python": platform.python_version(), "paribus": __version__}
    return own | {name: version for name, version in found.items() if version is not None}


def _library_version(name: str) -> str | None:
    """Return the version of a package, None if there is none, as for a user's script."""
    known = _imported(name)
    if isinstance(known, str):
        return known
    try:
        return metadata.version(PACKAGES.get(name, name))
    except metadata.PackageNotFoundError:
        return None


def column_records(
    data: ExplainerData | GroupData, wanted: Mapping[int, SummarySpec]
) -> tuple[ColumnRecord, ...]:
    """Return the records of the supported columns, in the order of X, without a further pass."""
    rows, records = data.rows, []
    for feature in sorted(wanted):
        try:
            if isinstance(rows, Rows):
                found = _record_in_memory(rows, feature, wanted[feature].nominal)
            else:
                found = _record_from_survey(data.summary(feature, wanted), rows.table.dtype(feature))
        except FeatureError:  # unsupported columns are listed as skipped
            continue
        records.append(found)
    return tuple(records)


def _record_in_memory(rows: Rows, feature: int, nominal: bool) -> ColumnRecord:
    """Return the record of an in-memory column; rows of weight zero do not count."""
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
        low, high = finite.min(), finite.max()
        ends = (low, high) if finite.dtype.kind in "mM" else (low.item(), high.item())
    return ColumnRecord(column.name, kind, dtype, *ends, missing, None)


def _record_from_survey(summary: Summary, dtype: str) -> ColumnRecord:
    """Return the record of an out-of-core column from its summary."""
    name, kind, missing = summary.name, summary.kind, summary.missing_share
    if kind in NOMINAL:
        count = None if summary.categories is None else len(summary.categories)
        return ColumnRecord(name, kind, dtype, None, None, missing, count)
    ends: tuple[Any, Any] = summary.extremes or (None, None)
    if summary.unit is not None and summary.extremes is not None:
        ticks: Array = np.array(summary.extremes, dtype=np.int64).view(summary.unit)
        ends = (ticks[0], ticks[1])
    return ColumnRecord(name, kind, dtype, *ends, missing, None)


WORDS: dict[str, Direction | None] = {
    "rising": "rising",
    "increasing": "rising",
    "falling": "falling",
    "decreasing": "falling",
}
SIGNS: dict[int, Direction | None] = {1: "rising", -1: "falling", 0: None}
SPELLED = {"1": 1, "+1": 1, "1.0": 1, "-1": -1, "-1.0": -1}  # other text declares no direction
WAYS = "1, 'rising' or 'increasing', -1, 'falling' or 'decreasing', 0 or None for neither"

# Direction by feature and output; None declares that there is none.
Declared: TypeAlias = dict[str, dict[str, Direction | None]]


def directions_of(
    monotone: Any, estimator: Any, header: Header, outputs: Sequence[str]
) -> dict[str, dict[str, Direction]]:
    """Return the declared direction of each curve, by feature and output.

    The user's declaration of a feature overrides the constraints of the model. ``estimator`` is None for a
    list of models, whose constraints are not read.
    """
    own = {} if estimator is None else model_directions(estimator, header.columns or header.names, outputs)
    joined = own | declared_directions(monotone, header, outputs)
    return {
        name: {output: direction for output, direction in by_output.items() if direction is not None}
        for name, by_output in joined.items()
    }


def declared_features(monotone: Any, header: Header) -> frozenset[str]:
    """Return the features with a direction in ``monotone=``, before outputs are known."""
    read = declared_directions(monotone, header, None)
    return frozenset(name for name, by_output in read.items() if any(by_output.values()))


def declared_directions(monotone: Any, header: Header, outputs: Sequence[str] | None) -> Declared:
    """Parse ``monotone=``: a mapping from features, or one direction for each column of X.

    The value of a feature may be a mapping from outputs, else it applies to all outputs. ``outputs`` is None
    if they are not known yet.
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
    """Return a list of directions, one for each column of X, by feature name."""
    is_list = isinstance(monotone, (Sequence, np.ndarray)) and not isinstance(monotone, str)
    if not is_list or len(monotone) != len(header.given):
        raise OptionError(
            f"monotone={monotone!r} must map features to directions, as in {{{header.given[0]!r}: 1}}, or "
            f"have one for each of the {count(len(header.given), 'column')} of X"
        )
    columns = zip(header.given, monotone, strict=True)
    return {name: value for name, value in columns if name in header.names}


def _direction(value: Any, name: str) -> Direction | None:
    """Parse the direction of one feature."""
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
    """Return the monotonicity constraints of a fitted model, by feature.

    They apply to the prediction, or to the probability of the second of two classes. Constraints of models
    with more outputs do not imply directions, and are ignored.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    classes = getattr(estimator, "classes_", None)
    if len(outputs) != 1 or (classes is not None and len(classes) > 2):
        return {}
    signs = _signs(_parameter(estimator), names)
    return {name: {outputs[0]: SIGNS[sign]} for name, sign in signs.items()}


def _parameter(estimator: Any) -> Any:
    """Return the constraints of a model in the format of its library, None without any."""
    own = getattr(estimator, "get_params", None)
    known = own() if callable(own) and not isinstance(estimator, type) else getattr(estimator, "params", {})
    if not isinstance(known, Mapping):
        return None
    names = (name for library in libraries_for(estimator) for name in library.constraint_parameters)
    return next((known[name] for name in names if known.get(name) is not None), None)


def _signs(constraints: Any, names: tuple[str, ...]) -> dict[str, int]:
    """Return the sign of each constrained column, for constraints in any format of the libraries.

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
    """Return the record of an adapted model."""
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
    """Return the record of a model that was not adapted because paribus does not call it."""
    library, version = library_of(estimator)
    return {
        "model": describe(estimator),
        "model_library": library,
        "model_version": version,
        "response": response,
        "scale": scale,
        "model_digest": "",
    }


def recorded(rows: Background, started: float, fingerprint: str, /, **facts: Any) -> Provenance:
    """Return the record of a call that began at ``started``; facts that do not apply are None or 0."""
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
        "rows": len(rows),
        "weights": rows.weight_facts(),
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
        columns=len(rows.table.names),
        unused_columns=header.unused,
        unknown_categories=header.unknown,
        backend=rows.table.backend,
        fingerprint=fingerprint,
        seconds=perf_counter() - started,
        **(absent | facts),
    )


def _imported(library: str) -> str | None:
    """Return the version of a library, None if it is not imported."""
    return getattr(sys.modules.get(library), "__version__", None)

"""What is known of a model, of the columns of its data and of the libraries that took part."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import PurePath
from typing import Any

import numpy as np

from paribus._api.data import ExplainerData
from paribus._contracts import NOMINAL, Array, Kind
from paribus._data.background import Background
from paribus._data.rows import Rows
from paribus._data.summary import Summary
from paribus._evaluators.performance.measure import TargetEstimate
from paribus._evaluators.survey import SummarySpec
from paribus._kernels import why_numpy
from paribus._models import Model, structure_digest, structure_of
from paribus._models.combination import Combination, Structure
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.files.model_file import FILES
from paribus._models.libraries import PACKAGES
from paribus._models.parameters import libraries_of, parameters_of
from paribus._models.scoring.family import objective_of
from paribus._models.trees import Trees
from paribus._version import __version__
from paribus.errors import FeatureError, RefusalError
from paribus.results import Provenance
from paribus.results.model_record import ColumnRecord, FileRecord, ModelRecord, TargetRecord


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
        count = None if summary.levels is None else len(summary.levels)
        return ColumnRecord(name, kind, dtype, None, None, missing, count)
    ends: tuple[Any, Any] = summary.extremes or (None, None)
    if summary.unit is not None and summary.extremes is not None:
        ticks: Array = np.array(summary.extremes, dtype=np.int64).view(summary.unit)
        ends = (ticks[0], ticks[1])
    return ColumnRecord(name, kind, dtype, *ends, missing, None)


def _plain(value: Any) -> Any:
    """Return a number as one of Python; dates stay what they are."""
    return value if value.dtype.kind in "mM" else value.item()

"""What a model is made of, where that can be read: the only door from a model to its structure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from threading import RLock
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import xxhash

from paribus._data.read import table_of
from paribus._data.table import Table
from paribus._models.additive import Additive, additive_for, is_additive
from paribus._models.columns import FittedColumns, columns_of
from paribus._models.ensemble import Ensemble
from paribus._models.estimators import METHODS
from paribus._models.libraries import LIBRARIES, boosting_library, library_for
from paribus._models.libraries.library import Library
from paribus._models.model import Model
from paribus._models.preparation import Preparation, last_step
from paribus._models.tree_check import check_at_splits
from paribus._models.trees import Trees, refuse_difference, trees_for
from paribus._models.wrappers import Combination, combination_of, unwrapped
from paribus.errors import RefusalCode, RefusalError, TableError

Structure: TypeAlias = Trees | Additive | Combination  # every kind that evaluators know a shortcut for
# Beside the models: of a refusal its text and code alone, as its traceback would keep the model alive.
_READ: WeakKeyDictionary[Model, Structure | tuple[str, RefusalCode]] = WeakKeyDictionary()
_READING: WeakKeyDictionary[Model, RLock] = WeakKeyDictionary()  # or threads would read the same at once


def structure_of(model: Model) -> Structure:
    """Return the structure that gives the predictions of a model; `RefusalError` says why there is none.

    It is read once, and predicts as the model does: on the rows of its sample, and next to splits.
    """
    with _READING.setdefault(model, RLock()):
        trees = _READ.get(model)
        if trees is None:
            try:
                trees = _read(model)
            except RefusalError as refusal:
                trees = str(refusal), refusal.code
            _READ[model] = trees
    if isinstance(trees, tuple):
        raise RefusalError(*trees)
    return trees


def trees_of(model: Model) -> Trees:
    """Return the trees that give the predictions of a model; `RefusalError` says why there are none."""
    structure = structure_of(model)
    if not isinstance(structure, Trees):
        raise RefusalError("it is a sum of terms, not of trees", RefusalCode.NO_STRUCTURE)
    return structure


def prefetch_structure(model: Model) -> None:
    """Read the structure, or find out why that is not possible, before it is needed."""
    with suppress(RefusalError):
        structure_of(model)


def structure_digest(model: Model) -> str:
    """Return a digest of the structure of a model, empty where none was read.

    Reading it for this alone could take longer than evaluating the model.
    """
    trees = _READ.get(model)
    if not isinstance(trees, Trees):
        return ""
    nodes, digest = trees.ensemble, xxhash.xxh3_128()
    for array in (nodes.column, nodes.threshold, nodes.left, nodes.right, nodes.missing_left, nodes.value):
        digest.update(array.tobytes())
    return str(digest.hexdigest())


def _read(model: Model) -> Structure:
    if model.response == "callable":
        raise RefusalError("it is a function, which has no trees to read", RefusalCode.NO_STRUCTURE)
    if model.sample is None or model.sample_prediction is None:
        raise RefusalError(
            "it has not predicted any rows with which its trees could be compared",
            RefusalCode.NO_STRUCTURE,
        )
    target = unwrapped(model.predictor.target, model.response)
    combination = combination_of(target, model.response, model.sample)
    if combination is not None:
        return _checked(model, combination)
    target, preparation = last_step(target, model.sample)
    if is_additive(target):
        return _read_additive(model, target, preparation)
    ensemble = _prepared(target, model.sample, preparation)
    trees = trees_for(
        ensemble, model.response, model.predictor.columns, model.sample, model.sample_prediction
    )
    if ensemble.preparation is None:
        check_at_splits(trees, model.sample, model.predict)
    return trees


def _checked(model: Model, combination: Combination) -> Combination:
    """Return a combination whose parts can be read and that predicts the sample as the model did."""
    drawn = []
    for part in combination.parts:
        structure_of(part.model)
        assert part.model.sample_prediction is not None
        drawn.append(part.model.sample_prediction.T)
    assert model.sample_prediction is not None
    refuse_difference(combination.outputs(drawn).T, model.sample_prediction, "as a sum of its models")
    return combination


def _prepared(target: Any, sample: Table, preparation: Preparation | None) -> Ensemble:
    """Return the trees of a model, behind preprocessing as trees of the table before it."""
    if preparation is None:
        return read_trees(target, sample)
    made = preparation.transform(sample.native)
    ensemble = read_trees(target, table_of(made.toarray() if hasattr(made, "toarray") else made))
    owners = preparation.owners
    encodings = tuple(replace(e, feature=owners[e.feature], position=e.feature) for e in ensemble.encodings)
    return replace(ensemble, encodings=encodings, preparation=preparation)


def _read_additive(model: Model, target: Any, preparation: Preparation | None) -> Additive:
    """Return the terms of a model, or refuse what may customize its predictions."""
    assert model.sample is not None
    assert model.sample_prediction is not None
    _check_replaced(target)
    if preparation is None:
        _check_names(target, model.sample)
    return additive_for(
        target, model.response, model.predictor.columns, model.sample, model.sample_prediction, preparation
    )


def read_trees(target: Any, table: Table) -> Ensemble:
    """Return the trees of what a predictor evaluates; `RefusalError` says why that is not possible.

    ``table`` has the columns the model is to be evaluated on, some of its rows.
    """
    library = library_for(target)
    if library is None:
        known = ", ".join(one.title for one in LIBRARIES)
        raise RefusalError(f"not a supported tree ensemble ({known})", RefusalCode.NO_STRUCTURE)
    with library.reading():
        _check_own(target, library)
        _check_names(target, table)
        ensemble = library.read_trees(target)
    tested = max((encoding.feature for encoding in ensemble.encodings), default=-1)
    if tested >= len(table.names):
        raise RefusalError(
            f"its trees test column {tested}, and X has {len(table.names)} columns", RefusalCode.DATA
        )
    return ensemble


def _check_own(model: Any, library: Library) -> None:
    """Refuse what may customize its predictions: a subclass, or an instance whose methods were replaced."""
    name = type(model).__name__
    if type(model).__module__.split(".")[0] != library.module:
        raise RefusalError(
            f"{name} is not a class of {library.title}, so its predictions may be customized",
            RefusalCode.NO_STRUCTURE,
        )
    _check_replaced(model)


def _check_replaced(model: Any) -> None:
    """Refuse an instance whose methods were replaced."""
    name = type(model).__name__
    replaced = [method for method in METHODS if method in getattr(model, "__dict__", {})]
    if replaced:
        raise RefusalError(
            f"the {replaced[0]} of this {name} was replaced, so its predictions are customized",
            RefusalCode.NO_STRUCTURE,
        )


def _check_names(model: Any, table: Table) -> None:
    """Refuse columns in another order than fitted: some libraries find them by name, trees by position."""
    header = getattr(table.native, "column_names", getattr(table.native, "columns", None))
    names = columns_of(model)
    if names is None or header is None:
        return
    try:
        positions = FittedColumns(names, boosting_library(model)).places(tuple(map(str, header)))
    except TableError as error:
        raise RefusalError(str(error), RefusalCode.DATA) from error
    if positions is not None and positions != tuple(range(len(header))):
        raise RefusalError(
            "the columns of X are not those it was fitted on, in their order", RefusalCode.DATA
        )

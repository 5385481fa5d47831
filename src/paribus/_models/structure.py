"""Structure of a model, and its description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import xxhash

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.adapter import predictor_of
from paribus._models.additive import Additive, additive_for, is_additive
from paribus._models.columns import FittedColumns, PipelinePosition, columns_of
from paribus._models.combination import Combination, Part, Structure, arrays_of, picked, predicted
from paribus._models.ensemble import Ensemble
from paribus._models.libraries import LIBRARIES, boosting_library, library_for
from paribus._models.libraries.library import Library
from paribus._models.predictor import Model, as_outputs
from paribus._models.preprocessing.dependencies import acting_steps, is_pipeline
from paribus._models.preprocessing.preparation import JoinedPreparation, Preparation
from paribus._models.trees import Trees, check_at_splits, refuse_difference, trees_for
from paribus._models.wrappers import (
    CalibratedOutputs,
    Wrapper,
    handed_to,
    is_wrapper,
    passed_on,
    refuse_replaced,
)
from paribus._text import count
from paribus.errors import RefusalCode, RefusalError, TableError, failure
from paribus.notes import Note, NoteCode

SINGLE_ROUNDING = 2.0**-22  # of a margin, that adding up its leaves in another order may change
NOTED_ROUNDING = 1e-6  # of a probability, that is worth a note
# Beside the models: of a refusal its text and code alone, as its traceback would keep the model alive.
_READ: WeakKeyDictionary[Model, Structure | tuple[str, RefusalCode]] = WeakKeyDictionary()
_READING: WeakKeyDictionary[Model, RLock] = WeakKeyDictionary()  # or threads would read the same at once


def structure_of(model: Model) -> Structure:
    """Return the structure that gives the predictions of a model; `RefusalError` says why there is none.

    It is read once, and predicts as the model does: on the rows of its sample, and next to splits.
    """
    with _READING.setdefault(model, RLock()):
        structure = _READ.get(model)
        if structure is None:
            try:
                structure = _read(model)
            except RefusalError as refusal:
                structure = str(refusal), refusal.code
            _READ[model] = structure
    if isinstance(structure, tuple):
        raise RefusalError(*structure)
    return structure


def trees_of(model: Model) -> Trees:
    """Return the trees that give the predictions of a model; `RefusalError` says why there are none."""
    structure = structure_of(model)
    if isinstance(structure, Combination):
        raise RefusalError(
            "it is made of several models that are not one sum of trees", RefusalCode.UNSUPPORTED
        )
    if not isinstance(structure, Trees):
        raise RefusalError("it is a sum of terms, not of trees", RefusalCode.NO_STRUCTURE)
    return structure


def model_of_part(model: Model, part: Part) -> Model:
    """Return a part of a model as a model whose structure is known; it is not there to predict."""
    names = tuple(f"output {number}" for number in range(part.n_outputs))
    inner = replace(model, output_names=names, sample=None, sample_prediction=None)
    _READ[inner] = part.structure
    return inner


def rounding_notes(models: Iterable[Model]) -> list[Note]:
    """Return a note on each model whose calibration has steps and follows margins of single precision."""
    notes = []
    for model in models:
        try:
            largest = _amplified(structure_of(model))
        except RefusalError:  # the model itself was evaluated
            continue
        if largest > NOTED_ROUNDING:
            text = (
                f"the calibration of {model.name} has steps, and its margins have single precision: where "
                f"these are added up in another order, a prediction may differ by up to {largest:.2g}"
            )
            notes.append(Note(NoteCode.AMPLIFIED_ROUNDING, text, value=largest))
    return notes


def _amplified(structure: Structure) -> float:
    """Return by how much rounding of single precision may change an output behind a step."""
    if not isinstance(structure, Combination):
        return 0.0
    inner = max(_amplified(part.structure) for part in structure.parts)
    function = structure.function
    if isinstance(function, CalibratedOutputs) and any(map(_is_single, structure.parts)):
        return max(inner, function.amplified(SINGLE_ROUNDING))
    return inner


def _is_single(part: Part) -> bool:
    """Return whether a structure, or a part of it, adds up in single precision."""
    if isinstance(part.structure, Combination):
        return any(map(_is_single, part.structure.parts))
    return isinstance(part.structure, Trees) and part.structure.ensemble.single_sum


def prefetch_structure(model: Model) -> None:
    """Read the structure, or find out why that is not possible, before it is needed."""
    with suppress(RefusalError):
        structure_of(model)


def structure_digest(model: Model) -> str:
    """Return a digest of the structure of a model, empty where none was read.

    Reading it for this alone could take longer than evaluating the model.
    """
    structure = _READ.get(model)
    if structure is None or isinstance(structure, tuple):
        return ""
    digest = xxhash.xxh3_128()
    for array in arrays_of(structure):
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
    evidence = Evidence(model.sample_prediction, model.predictor.columns, model.predict)
    structure = _read_at(model.predictor.target, PipelinePosition(model.sample), model.response, evidence)
    if not model.row_independent:
        raise RefusalError("it predicts a row by the rows beside it", RefusalCode.NO_STRUCTURE)
    return structure


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a model predicts, to which its structure is held.

    Attributes
    ----------
    prediction : (n, o)
        Of the rows of the sample.
    columns : tuple of int or None
        Which of all outputs these are, None for all.
    predict : callable
        Predicts a native table of what the model receives, given also its number of rows.
    """

    prediction: Floats
    columns: tuple[int, ...] | None
    predict: Callable[[Any, int], Floats]

    @classmethod
    def of(cls, target: Any, place: PipelinePosition, response: str) -> Evidence:
        """Let a member of another model predict the sample where it is."""
        predict = partial(_predicted, target, response, None)
        return cls(predict(place.received, len(place.sample)), None, predict)

    def inside(self, target: Any, response: str) -> Evidence:
        """Return the same of the model that predictions are passed through from."""
        return replace(self, predict=partial(_predicted, target, response, self.columns))


def _predicted(target: Any, response: str, columns: tuple[int, ...] | None, native: Any, rows: int) -> Floats:
    name = type(target).__name__
    try:
        predictor, _ = predictor_of(target, response)
        outputs = as_outputs(predictor.raw(native), rows, name)
    except Exception as error:  # whatever a foreign model raises
        raise RefusalError(f"{name} within it fails by itself: {failure(error)}", RefusalCode.DATA) from error
    return outputs if columns is None else outputs[:, list(columns)]


def _read_at(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Structure:
    """Return the structure of a model that receives its rows at a place."""
    inner = passed_on(target, place, response)
    if inner is not None:
        return _read_at(*inner, response, evidence.inside(inner[0], response))
    if is_wrapper(target):
        return _read_wrapper(Wrapper(target, place, response, _read_member), evidence)
    if is_additive(target):
        return _read_additive(target, place, response, evidence)
    return _read_trees_at(target, place, response, evidence)


def _read_member(target: Any, place: PipelinePosition, response: str) -> Part:
    """Return the structure of a model within another, with all its outputs."""
    evidence = Evidence.of(target, place, response)
    return Part(_read_at(target, place, response, evidence), evidence.prediction.shape[1])


def _read_wrapper(wrapper: Wrapper, evidence: Evidence) -> Structure:
    """Return what a model made of others is, which must predict the sample as the model did."""
    part = wrapper.read()
    if evidence.columns is not None:
        part = picked(part, evidence.columns, wrapper.place.sample)
    structure: Structure = part.structure
    ours = predicted(structure, wrapper.place.sample).T
    if ours.shape != evidence.prediction.shape:
        raise RefusalError(
            f"{wrapper.name} has {evidence.prediction.shape[1]} outputs, and its models {ours.shape[1]}",
            RefusalCode.UNSUPPORTED,
        )
    refuse_difference(ours, evidence.prediction, f"as a function of the models in {wrapper.name}")
    return structure


def _read_trees_at(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Trees:
    """Return the trees of a model, behind preprocessing as trees of the table before it."""
    own = read_trees(target, place.table)
    ensemble = place.of_table(own, target)
    trees = trees_for(ensemble, response, evidence.columns, place.sample, evidence.prediction)
    received = trees
    if not place.raw:
        before = replace(trees.ensemble, encodings=own.encodings, preparation=None)
        received = replace(trees, ensemble=before)
    check_at_splits(received, place.table, evidence.predict)
    return trees


def _read_additive(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Additive:
    """Return the terms of a model, or refuse what may customize its predictions."""
    refuse_replaced(target)
    if place.raw:
        _check_names(target, place.sample)
    preparation = place.whole_preparation
    return additive_for(target, response, evidence.columns, place.sample, evidence.prediction, preparation)


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
            f"its trees test column {tested}, and X has {count(len(table.names), 'column')}", RefusalCode.DATA
        )
    return ensemble


def _check_own(model: Any, library: Library) -> None:
    """Refuse what may customize its predictions: a subclass, or an instance whose methods were replaced."""
    name = type(model).__name__
    if not library.is_own(model):
        raise RefusalError(
            f"{name} is not a class of {library.title}, so its predictions may be customized",
            RefusalCode.NO_STRUCTURE,
        )
    refuse_replaced(model)


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


SHOWN = 3  # features that own several columns


def structure_text(model: Model) -> str:
    """Return what was read of a model, such as ``Pipeline > OneHotEncoder > Ridge: city owns 41 columns``."""
    structure = structure_of(model)
    *_, last = targets = list(_path(model.predictor.target, model.response))
    path = " > ".join(type(target).__name__ for target in targets)
    library = library_for(last)
    facts = [*_parts(structure), *_owned(structure), *([] if library is None else library.remarks(last))]
    return f"{path}: {'; '.join(facts)}" if facts else path


def _path(target: Any, response: str) -> Iterator[Any]:
    """Yield the models and steps from the outermost to the one that predicts."""
    while True:
        yield target
        inner = handed_to(target, response)
        if inner is not None:
            target = inner
        elif is_pipeline(target):
            *before, target = acting_steps(target)
            yield from before
        else:
            return


def _parts(structure: Structure) -> list[str]:
    if isinstance(structure, Trees):
        count = len(structure.ensemble.roots)
        return [f"{count:,} tree{'s' * (count != 1)}"]
    if isinstance(structure, Additive):
        return []
    count = len(structure.parts)
    return [f"{count} models"] if count > 1 else []


def _owned(structure: Structure) -> list[str]:
    """Return which features of the table own several columns of what the last step receives."""
    columns: Counter[str] = Counter()
    for preparation in _preparations(structure):
        names = preparation.context.names
        columns |= Counter(
            names[j] for owner in preparation.dependencies.owners for j in owner if len(owner) == 1
        )
    several = [(name, count) for name, count in columns.most_common() if count > 1]
    texts = [
        f"{name} {count}" if number else f"{name} owns {count} columns"
        for number, (name, count) in enumerate(several[:SHOWN])
    ]
    rest = len(several) - SHOWN
    return [", ".join([*texts, *([f"{rest} more several"] if rest > 0 else [])])] if texts else []


def _preparations(structure: Structure) -> Iterator[Preparation]:
    if isinstance(structure, Combination):
        for part in structure.parts:
            yield from _preparations(part.structure)
        return
    found = structure.ensemble.preparation if isinstance(structure, Trees) else structure.preparation
    sources = found.sources if isinstance(found, JoinedPreparation) else (found,)
    yield from (source for source in sources if source is not None)

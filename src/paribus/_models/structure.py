"""Structures of models, and their description."""

from __future__ import annotations

import pickle
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
from paribus._models.additive import Additive, ProjectedModel, additive_for, is_additive
from paribus._models.columns import FittedColumns, PipelinePosition, columns_of
from paribus._models.combination import (
    Combination,
    Part,
    Structure,
    arrays_of,
    picked,
    predicted,
    rounds_to_single,
    transformed,
)
from paribus._models.ensemble import Ensemble
from paribus._models.libraries import LIBRARIES, boosting_library, library_for
from paribus._models.predictor import Model, as_outputs
from paribus._models.preprocessing.dependencies import acting_steps, is_pipeline
from paribus._models.preprocessing.preparation import Preparation, sources_of
from paribus._models.survival import HAZARD, SURVIVAL, ProportionalHazards, SurvivalPredictor
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

# Survival models whose cumulative hazard is a baseline times the exponential of their risk score.
PROPORTIONAL = (
    "ComponentwiseGradientBoostingSurvivalAnalysis",
    "CoxPHSurvivalAnalysis",
    "CoxnetSurvivalAnalysis",
    "GradientBoostingSurvivalAnalysis",
)
SINGLE_ROUNDING = 2.0**-22  # relative change of a margin if its leaves are summed in another order
NOTED_ROUNDING = 1e-6  # change of a probability above which a note is given
# Structures by model. Of a refusal no traceback is kept, because that refers to the model.
_READ: WeakKeyDictionary[Model, Structure | tuple[str, RefusalCode, str | None]] = WeakKeyDictionary()
_READING: WeakKeyDictionary[Model, RLock] = WeakKeyDictionary()  # prevents that threads read a model twice
MOST_KNOWN = 4  # ensembles without preprocessing that are kept for further calls, with their programs
KNOWN_NODES = 1 << 19  # nodes of the largest ensemble that is kept
_KNOWN: dict[bytes, Trees] = {}  # checked trees by digest
_KNOWN_LOCK = RLock()


def structure_of(model: Model) -> Structure:
    """Return the structure of a model, or raise `RefusalError` with the reason.

    It is read once. Its predictions are compared with those of the model for sampled rows and next to splits.
    """
    with _READING.setdefault(model, RLock()):
        structure = _READ.get(model)
        if structure is None:
            try:
                structure = _read_structure(model)
            except RefusalError as refusal:
                structure = str(refusal), refusal.code, refusal.part
            _READ[model] = structure
    if isinstance(structure, tuple):
        raise RefusalError(*structure)
    return structure


def trees_of(model: Model) -> Trees:
    """Return the trees of a model, or raise `RefusalError` with the reason."""
    structure = structure_of(model)
    if isinstance(structure, Combination):
        raise RefusalError(
            "it is a function of other models, and not one sum of trees", RefusalCode.UNSUPPORTED
        )
    if not isinstance(structure, Trees):
        raise RefusalError("it is a sum of terms, not of trees", RefusalCode.NO_STRUCTURE)
    return structure


def model_of_part(model: Model, part: Part) -> Model:
    """Return a part of a model as a model with known structure, which is not used for predictions."""
    names = tuple(f"output {number}" for number in range(part.n_outputs))
    inner = replace(model, output_names=names, sample=None, sample_prediction=None)
    _READ[inner] = part.structure
    return inner


def is_called(model: Model) -> bool:
    """Return whether a model has to be called, because its structure cannot be read."""
    try:
        structure_of(model)
    except RefusalError:
        return True
    return False


def rounding_notes(models: Iterable[Model]) -> list[Note]:
    """Return a note for each model with calibration steps after margins in single precision."""
    notes = []
    for model in models:
        try:
            largest = _amplified_rounding(structure_of(model))
        except RefusalError:  # such a model is evaluated itself
            continue
        if largest > NOTED_ROUNDING:
            notes.append(NoteCode.AMPLIFIED_ROUNDING.note(model=model.name, size=largest))
    return notes


def _amplified_rounding(structure: Structure) -> float:
    """Return the largest change of an output that rounding in single precision may cause by calibration."""
    if not isinstance(structure, Combination):
        return 0.0
    inner = max(_amplified_rounding(part.structure) for part in structure.parts)
    function = structure.function
    if isinstance(function, CalibratedOutputs) and rounds_to_single(structure):
        return max(inner, function.amplified(SINGLE_ROUNDING))
    return inner


def reads_single(model: Model) -> bool:
    """Return whether a model was read, and it or a part of it predicts in single precision."""
    structure = _READ.get(model)
    return structure is not None and not isinstance(structure, tuple) and rounds_to_single(structure)


def prefetch_structure(model: Model) -> None:
    """Read the structure, or the reason of its refusal, before it is needed."""
    with suppress(RefusalError):
        structure_of(model)


def structure_digest(model: Model) -> str:
    """Return a digest of the structure of a model, empty if none was read.

    The structure is not read for the digest, because that may take longer than evaluating the model.
    """
    structure = _READ.get(model)
    if structure is None or isinstance(structure, tuple):
        return ""
    digest = xxhash.xxh3_128()
    for array in arrays_of(structure):
        digest.update(array.tobytes())
    return str(digest.hexdigest())


def _read_structure(model: Model) -> Structure:
    if model.response == "callable":
        raise RefusalError("it is a function, which has no trees to read", RefusalCode.NO_STRUCTURE)
    if model.sample is None or model.sample_prediction is None:
        raise RefusalError(
            "it has not predicted any rows with which its trees could be compared",
            RefusalCode.NO_STRUCTURE,
        )
    times = model.predictor.times if isinstance(model.predictor, SurvivalPredictor) else None
    evidence = Evidence(model.sample_prediction, model.predictor.columns, model.predict, times)
    first = PipelinePosition.first(model.sample)
    structure = _read_at(model.predictor.target, first, model.response, evidence)
    if not model.row_independent:
        raise RefusalError("its prediction of a row depends on other rows", RefusalCode.NO_STRUCTURE)
    return structure


@dataclass(frozen=True, eq=False)
class Evidence:
    """Predictions of a model, with which its structure is compared.

    Attributes
    ----------
    prediction : (n, o)
        Predictions of the sampled rows.
    columns : tuple of int or None
        The reported columns among all outputs, None for all.
    predict : callable
        Function of a native table at the position of the model, and of its number of rows.
    times : tuple of float or None
        Times of survival functions, None for other responses.
    """

    prediction: Floats
    columns: tuple[int, ...] | None
    predict: Callable[[Any, int], Floats]
    times: tuple[float, ...] | None = None

    @classmethod
    def of(cls, target: Any, place: PipelinePosition, response: str) -> Evidence:
        """Return the predictions of a nested model for the sample at its position."""
        predict = partial(_predict_by_itself, target, response, None, None)
        return cls(predict(place.received, len(place.sample)), None, predict)

    def inside(self, target: Any, response: str) -> Evidence:
        """Return the same predictions for the nested model that computes them."""
        return replace(self, predict=partial(_predict_by_itself, target, response, self.columns, self.times))


def _predict_by_itself(
    target: Any,
    response: str,
    columns: tuple[int, ...] | None,
    times: tuple[float, ...] | None,
    native: Any,
    rows: int,
) -> Floats:
    name = type(target).__name__
    try:
        predictor, _ = predictor_of(target, response, times)
        outputs = as_outputs(predictor.raw(native), rows, name)
    except Exception as error:  # of any class
        raise RefusalError(f"{name} within it fails by itself: {failure(error)}", RefusalCode.DATA) from error
    return outputs if columns is None else outputs[:, list(columns)]


def _read_at(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Structure:
    """Return the structure of a model at a position in a pipeline."""
    try:
        inner = passed_on(target, place, response)
        if inner is not None:
            return _read_at(*inner, response, evidence.inside(inner[0], response))
        if is_wrapper(target):
            return _read_wrapper(Wrapper(target, place, response, _read_member), evidence)
        if evidence.times is not None and type(target).__name__ in PROPORTIONAL:
            return _read_proportional(target, place, response, evidence)
        read = _read_additive if is_additive(target) else _read_trees_at
        return read(target, place, response, evidence)
    except RefusalError as refusal:
        refusal.part = refusal.part or type(target).__name__  # the innermost model that is refused
        raise


def _read_member(target: Any, place: PipelinePosition, response: str) -> Part:
    """Return the structure of a nested model, with all its outputs."""
    evidence = Evidence.of(target, place, response)
    return Part(_read_at(target, place, response, evidence), evidence.prediction.shape[1])


def _read_wrapper(wrapper: Wrapper, evidence: Evidence) -> Structure:
    """Return the structure of a model with nested models. Refuse if its predictions differ."""
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


def _read_proportional(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Structure:
    """Return a survival function that is a function of the risk score, or refuse if predictions differ."""
    rows, risk = len(place.sample), _read_member(target, place, "predict")
    hazard = _predict_by_itself(target, HAZARD, None, evidence.times, place.received, rows)
    scores = predicted(risk.structure, place.sample)[0]
    survives = response == SURVIVAL
    function = ProportionalHazards.of(scores, hazard, survives)
    structure: Structure = transformed(
        risk, function, len(function.baseline), 1.0 if survives else None
    ).structure
    ours = predicted(structure, place.sample).T
    refuse_difference(ours, evidence.prediction, "as a function of the risk score")
    return structure


def _read_trees_at(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Trees:
    """Return the trees of a model. With preprocessing, they refer to the raw table.

    Trees that were read before and predict the same are not checked again.
    """
    ensemble = read_trees(target, place.table, response, evidence.times)
    if not place.raw or len(ensemble.column) > KNOWN_NODES:
        return _checked_trees(ensemble, target, place, response, evidence)
    # The trees, the rows that the model predicts to check them, and the predictions.
    table = place.table
    kinds = [table.dtype(j) for j in range(len(table.names))]
    facts = type(target), response, evidence.columns, table.backend, table.names, kinds, table.digests
    digest = xxhash.xxh3_128(repr(facts).encode())
    digest.update(pickle.dumps(ensemble, pickle.HIGHEST_PROTOCOL))
    digest.update(evidence.prediction.tobytes())
    key = digest.digest()
    with _KNOWN_LOCK:
        checked_before = _KNOWN.pop(key, None)
    trees = checked_before or _checked_trees(ensemble, target, place, response, evidence)
    with _KNOWN_LOCK:
        _KNOWN[key] = trees  # the last one is the latest
        for oldest in list(_KNOWN)[:-MOST_KNOWN]:
            del _KNOWN[oldest]
    return trees


def _checked_trees(
    ensemble: Ensemble, target: Any, place: PipelinePosition, response: str, evidence: Evidence
) -> Trees:
    """Return trees for a response, or refuse if their predictions differ from those of the model."""
    of_table = place.of_table(ensemble, target)
    trees = trees_for(of_table, response, evidence.columns, place.sample, evidence.prediction)
    received = trees
    if not place.raw:
        before = replace(trees.ensemble, encodings=ensemble.encodings, preparation=None)
        received = replace(trees, ensemble=before)
    check_at_splits(received, place.table, evidence.predict)
    return trees


def _read_additive(target: Any, place: PipelinePosition, response: str, evidence: Evidence) -> Additive:
    """Return the terms of an additive model, or refuse."""
    first, last = target.ends if isinstance(target, ProjectedModel) else (target, target)
    refuse_replaced(last)
    if place.raw:
        _check_column_order(first, place.sample)
    preparation = place.whole_preparation
    return additive_for(target, response, evidence.columns, place.sample, evidence.prediction, preparation)


def read_trees(
    target: Any, table: Table, response: str = "predict", times: tuple[float, ...] | None = None
) -> Ensemble:
    """Return the trees of a model, or raise `RefusalError` with the reason.

    ``table`` has a few rows that the model receives. With ``times``, leaves have a value for each time.
    """
    library = library_for(target)
    if library is None:
        titles = ", ".join(supported.title for supported in LIBRARIES)
        raise RefusalError(f"not a supported tree ensemble ({titles})", RefusalCode.NO_STRUCTURE)
    with library.reading():
        if not library.is_own(target):  # a subclass may customize predictions
            raise RefusalError(
                f"{type(target).__name__} is not a class of {library.title}, so its predictions may be "
                "customized",
                RefusalCode.NO_STRUCTURE,
            )
        refuse_replaced(target)
        _check_column_order(target, table)
        if times is None:
            ensemble = library.read_trees(target)
        else:
            ensemble = library.read_trees_at(target, response, times)
    tested = max((encoding.feature for encoding in ensemble.encodings), default=-1)
    if tested >= len(table.names):
        raise RefusalError(
            f"its trees test column {tested}, and X has {count(len(table.names), 'column')}", RefusalCode.DATA
        )
    return ensemble


def _check_column_order(model: Any, table: Table) -> None:
    """Refuse columns in another order than in ``fit``. Some libraries use names, trees use positions."""
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


SHOWN = 3  # features that are listed with several columns


def structure_text(model: Model) -> str:
    """Return a description of the structure.

    An example is ``Pipeline > OneHotEncoder > Ridge: city owns 41 columns``.
    """
    structure = structure_of(model)
    path = " > ".join(
        type(target).__name__ for target in _models_and_steps(model.predictor.target, model.response)
    )
    facts = []
    if isinstance(structure, Trees):
        trees = len(structure.ensemble.roots)
        facts.append(f"{trees:,} tree{'s' * (trees != 1)}")
    elif isinstance(structure, Combination) and len(structure.parts) > 1:
        facts.append(f"{len(structure.parts)} models")
    columns: Counter[str] = Counter()  # of each feature, in the input of the last step
    for preparation in _preparations(structure):
        names = preparation.context.names
        columns |= Counter(
            names[j] for owner in preparation.dependencies.owners for j in owner if len(owner) == 1
        )
    several = [(name, owned) for name, owned in columns.most_common() if owned > 1]
    if several:
        texts = [f"{name} {owned}" for name, owned in several[:SHOWN]]
        name, owned = several[0]
        texts[0] = f"{name} owns {owned} columns"
        if len(several) > SHOWN:
            texts.append(f"and {len(several) - SHOWN} more")
        facts.append(", ".join(texts))
    return f"{path}: {'; '.join(facts)}" if facts else path


def _models_and_steps(target: Any, response: str) -> Iterator[Any]:
    """Yield models and steps from the outermost model to the one that predicts."""
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


def _preparations(structure: Structure) -> Iterator[Preparation]:
    if isinstance(structure, Combination):
        for part in structure.parts:
            yield from _preparations(part.structure)
        return
    whole = structure.ensemble.preparation if isinstance(structure, Trees) else structure.preparation
    yield from (source for source in sources_of(whole) if source is not None)

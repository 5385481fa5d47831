"""Conversion of estimators, callables and lists of models to `Model`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats
from paribus._data.table import ScratchBuffer, Table
from paribus._models.libraries import boosting_library, library_for
from paribus._models.parameters import METHODS, SURVIVAL_METHODS, kind_of, package_of, steps_of, unbound
from paribus._models.predictor import Model, Predictor, as_outputs
from paribus._models.survival import SCALES as SURVIVAL_SCALES
from paribus._models.survival import SURVIVAL, SurvivalPredictor
from paribus._text import count
from paribus._typing import ResponseMethod
from paribus.errors import FeatureError, ModelError, OptionError, check_choice, did_you_mean, failure

SAMPLE_ROWS = 32  # evenly spaced rows that are predicted first, to find the number of outputs and errors
MOST_SAMPLE_ROWS = 256  # including rows that are added for further categories
SEARCHED = 4_096  # rows that are searched for further categories
PORTION = 8_192  # rows that are searched at once
EXTREME_COLUMNS = 64  # columns whose extreme numbers are searched
NOMINAL_DTYPES = ("Categorical", "Enum", "String", "Object", "object", "<U", "|S", "StringDType")
SCALES = {
    "predict": "prediction",
    "predict_proba": "probability",
    "decision_function": "decision function",
    "callable": "prediction",
    **SURVIVAL_SCALES,
}


def adapt(
    estimator: Any,
    table: Table,
    *,
    response_method: str = "auto",
    times: Any = None,
    target_names: Any = None,
) -> Model:
    """Return the adapted model, or raise `ModelError`.

    The response ``"auto"`` is the first available of ``predict_proba``, ``decision_function`` and
    ``predict``. With ``times``, it is ``predict_survival_function`` at these times, with an output each. A
    bound method, such as ``model.predict_proba``, selects its model, its response and all its outputs. For
    two classes, a model alone reports only the second one. The model predicts a few rows of ``table``.
    """
    check_choice("response_method", response_method, ResponseMethod)
    estimator, method = unbound(estimator)
    if method is not None:
        if response_method not in ("auto", method):
            raise OptionError(
                f"response_method={response_method!r} contradicts the method {method!r} that was passed; "
                "pass the model itself, or leave response_method at 'auto'"
            )
        response_method = method
    if isinstance(estimator, type):
        raise ModelError(f"{estimator.__name__} is a class; pass a fitted instance of it")
    predictor, response = predictor_of(estimator, response_method, times)
    name = describe(estimator)
    chosen = _sampled_rows_mask(table)
    sample = table.keep(chosen)
    raw = _predict_copies(predictor, sample, name, 1)
    prediction = as_outputs(raw, len(sample), name)
    columns, names = _pick_and_name_outputs(predictor, response, raw, prediction, every=method is not None)
    predictor = replace(predictor, columns=columns)
    library, version = library_of(estimator)
    is_margin = response == "decision_function" and boosting_library(estimator) is not None
    independent = _is_row_independent(predictor, sample, name, prediction)
    if independent:
        independent = _is_unaffected_by_extremes(predictor, table, chosen, name, prediction)
    return Model(
        predictor,
        name,
        library,
        version,
        response,
        "margin" if is_margin else SCALES[response],
        named_outputs(target_names, names),
        independent,
        sample,
        prediction if columns is None else prediction[:, list(columns)],
        getattr(raw, "dtype", None) in (np.float32, np.float16),
    )


def _sampled_rows_mask(table: Table) -> Flags:
    """Return a mask of sampled rows. They are evenly spaced, because tables are often sorted by group.

    Further rows are added, such that each category among `SEARCHED` rows occurs.
    """
    mask = np.zeros(len(table), dtype=bool)
    mask[np.linspace(0, len(table) - 1, SAMPLE_ROWS).astype(int)] = True
    nominal = [j for j in range(len(table.names)) if table.dtype(j).startswith(NOMINAL_DTYPES)]
    if nominal and len(table) > SAMPLE_ROWS:
        searched = np.unique(np.linspace(0, len(table) - 1, SEARCHED).astype(int))
        few = table.keep(np.isin(np.arange(len(table)), searched))
        for feature in nominal:
            try:
                column = few.column(feature)
            except FeatureError:
                continue
            if column.kind not in NOMINAL:  # numbers may have dtype object
                continue
            codes, _ = column.factorized()
            first_of_each = np.unique(codes, return_index=True)[1]
            added = searched[np.flatnonzero(~column.missing)[first_of_each]]
            mask[added[: MOST_SAMPLE_ROWS - int(mask.sum())]] = True
    return mask


def _is_row_independent(predictor: Predictor, sample: Table, name: str, prediction: Floats) -> bool:
    """Return whether predictions stay equal if rows are repeated with new labels and without other rows.

    They change for a model that finds rows by label, or whose prediction of a row depends on other rows.
    """
    chosen = np.arange(len(sample)) % 2 == 0
    half = sample.keep(chosen)
    try:
        twice = as_outputs(_predict_copies(predictor, half, name, 2), 2 * len(half), name)
    except ModelError:
        return False  # it predicted the rows before, so that the repetition causes the error
    return _equal_up_to_rounding(twice, np.concatenate([prediction[chosen]] * 2))


def _is_unaffected_by_extremes(
    predictor: Predictor, table: Table, chosen: Flags, name: str, prediction: Floats
) -> bool:
    """Return whether predictions are independent of rows with extreme values.

    The sampled rows are predicted together with the rows with the smallest and largest number of each
    column. The most extreme row is also predicted alone. Errors are ignored here, because the evaluation
    raises them.
    """
    extreme, most = _extreme_rows(table, chosen)
    if most is None:
        return True
    together = chosen.copy()
    together[extreme] = True
    places = np.flatnonzero(together)
    try:
        beside = as_outputs(_predict_copies(predictor, table.keep(together), name, 1), len(places), name)
        alone = as_outputs(_predict_copies(predictor, table.slice(most, most + 1), name, 1), 1, name)
    except ModelError:
        return True
    same = _equal_up_to_rounding(beside[chosen[places]], prediction)
    return same and _equal_up_to_rounding(alone, beside[places == most])


def _equal_up_to_rounding(again: Floats, once: Floats) -> bool:
    """Return whether two predictions of the same rows are equal up to rounding."""
    if again.shape != once.shape:
        return False
    size = np.abs(once[np.isfinite(once)]).max(initial=0.0)
    return bool(np.allclose(again, once, rtol=1e-4, atol=1e-6 * size, equal_nan=True))


def _extreme_rows(table: Table, chosen: Flags) -> tuple[list[int], int | None]:
    """Return rows with the smallest and largest number of each column, and the most extreme of them.

    It has the largest distance from the mean of sampled rows in standard deviations, None if there is none.
    """
    columns: list[Array] = []
    sample = np.flatnonzero(chosen)
    for feature in range(min(len(table.names), EXTREME_COLUMNS)):
        numbers = table.floats(feature)
        if numbers is None and table.dtype(feature).lower().startswith(("int", "uint")):
            column = table.column(feature)
            numbers = column.values if not column.missing.any() else None
        if numbers is not None and np.isfinite(numbers[sample]).any():
            columns.append(numbers)
    rows: list[int] = []
    largest_distance = 0.0
    furthest: int | None = None
    for numbers, ends in zip(columns, _smallest_and_largest(columns, len(table)), strict=True):
        usual = numbers[sample]
        usual = usual[np.isfinite(usual)].astype(np.float64)
        with np.errstate(all="ignore"):
            for row in sorted(ends):
                rows.append(row)
                distance = abs(float(numbers[row]) - usual.mean()) / (usual.std() or 1.0)
                if np.isfinite(distance) and distance > largest_distance:
                    largest_distance, furthest = distance, row
    return rows, furthest


def _smallest_and_largest(columns: list[Array], rows: int) -> list[set[int]]:
    """Return the rows of the smallest and the largest number of each column."""
    candidates_of_columns: list[list[int]] = [[] for _ in columns]
    for first in range(0, rows, PORTION):  # whose columns fit in the cache, where these are interleaved
        parts = [numbers[first : first + PORTION] for numbers in columns]
        # Columns of different dtypes are searched one by one, because a common dtype would round integers.
        together = [np.stack(parts)] if len({part.dtype for part in parts}) == 1 else [p[None] for p in parts]
        ends: list[tuple[int, int]] = []
        for block in together:
            ends += zip(block.argmin(axis=1), block.argmax(axis=1), strict=True)
        for candidates, part, (low, high) in zip(candidates_of_columns, parts, ends, strict=True):
            if part[low] == part[low]:
                candidates += [first + int(low), first + int(high)]
            else:  # the first missing number
                present = np.flatnonzero(~np.isnan(part))
                if len(present):
                    low, high = present[part[present].argmin()], present[part[present].argmax()]
                    candidates += [first + int(low), first + int(high)]
    return [
        {candidates[int(numbers[candidates].argmin())], candidates[int(numbers[candidates].argmax())]}
        for candidates, numbers in zip(candidates_of_columns, columns, strict=True)
    ]


def describe(estimator: Any) -> str:
    """Return a short name: the class, with the steps of a pipeline."""
    steps = steps_of(estimator)
    if steps:
        inner = ", ".join(type(step).__name__ for step in steps)
        return f"{type(estimator).__name__}({inner})"
    if is_model(estimator):
        return type(estimator).__name__
    return str(getattr(estimator, "__name__", type(estimator).__name__))


def is_model(estimator: Any) -> bool:
    """Return whether an object has a prediction method of scikit-learn."""
    return any(hasattr(estimator, method) for method in METHODS)


def predictor_of(estimator: Any, response_method: str, times: Any = None) -> tuple[Predictor, str]:
    """Return the predictor of a model, and its response."""
    if times is not None or response_method in SURVIVAL_METHODS:
        method = SURVIVAL if response_method == "auto" else response_method
        return SurvivalPredictor.of(estimator, method, describe(estimator), times), method
    library = library_for(estimator, boosting=True)
    if library is not None and library.is_native(estimator):  # its predict has the scale of its objective
        if response_method == "predict_proba":
            raise OptionError(
                "response_method='predict_proba': a native Booster has only predict, which returns "
                "probabilities when its objective does; leave it at 'auto'"
            )
        keywords = library.margin(estimator) if response_method == "decision_function" else {}
        predictor = library.native_predictor(estimator, keywords)
        return predictor, "predict" if response_method == "auto" else response_method
    if is_model(estimator):
        return _method_predictor(estimator, response_method)
    if getattr(estimator, "refit", None) is False:
        raise ModelError(
            f"{describe(estimator)} was made with refit=False, so it holds no fitted model; fit it with "
            "refit=True, or pass an estimator that was fitted with its best_params_"
        )
    if not callable(estimator):
        shown = repr(estimator)
        shown = type(estimator).__name__ if "\n" in shown or len(shown) > 100 else shown
        raise ModelError(
            f"{shown} is neither callable nor has predict, predict_proba or decision_function; "
            "pass a fitted model or a function of a table"
        )
    if response_method != "auto":
        raise OptionError(
            f"response_method={response_method!r} cannot be used with a function; leave it at 'auto'"
        )
    return Predictor(estimator, None), "callable"


def has_margin(estimator: Any) -> bool:
    """Return whether a model can predict its margin."""
    return hasattr(estimator, "decision_function") or boosting_library(estimator) is not None


def _method_predictor(estimator: Any, response_method: str) -> tuple[Predictor, str]:
    has = [method for method in METHODS if hasattr(estimator, method)]
    if (has == ["predict"] or response_method == "predict") and kind_of(estimator) == "clusterer":
        raise ModelError(
            f"{describe(estimator)} predicts cluster labels, whose average is meaningless; pass a "
            "function instead, such as lambda t: model.predict(t) == 0 for the share of one cluster, or "
            "model.transform for distances"
        )
    if response_method == "auto":
        order = ("predict_proba", "decision_function", "predict")
        method = next(m for m in order if m in has)
        classes = getattr(estimator, "classes_", None)
        if method == "predict" and classes is not None and len(classes) > 1:
            raise OptionError(
                f"{describe(estimator)} is a classifier without predict_proba or decision_function; pass "
                "response_method='predict' to average its labels, if they are numbers"
            )
        return Predictor(estimator, method), method
    if response_method == "decision_function" and response_method not in has:
        library = boosting_library(estimator)
        if library is not None:
            last = (steps_of(estimator) or [estimator])[-1]
            return Predictor(estimator, "predict", library.margin(last)), response_method
    if response_method not in has:
        way_out = did_you_mean(response_method, has)
        if response_method == "predict_proba" and "decision_function" in has:
            way_out = (
                "; pass response_method='decision_function' for its scores, or a calibrated model, such as "
                "CalibratedClassifierCV, for probabilities"
            )
        raise OptionError(
            f"response_method={response_method!r}: {describe(estimator)} has no such method{way_out}"
        )
    return Predictor(estimator, response_method), response_method


def _predict_copies(predictor: Predictor, sample: Table, name: str, copies: int) -> Any:
    # The rows are copied by stacking, because a model may write into its input.
    stacked = sample.stack(copies, ScratchBuffer()).at({}, np.zeros((copies, 0), dtype=np.int64))
    try:
        return predictor.raw(stacked)
    except Exception as error:  # of any class; the message adds the input
        given = f"{package_of(stacked)}.{type(stacked).__name__}"
        raise ModelError(
            f"{name} failed on {count(len(sample), 'row')} of X (a {given} of "
            f"{count(len(sample.names), 'column')}): {failure(error).removesuffix('.')}. "
            f"{_columns_named_by(error, sample)}{_way_out_of_failure(predictor, sample.backend)}"
        ) from error


def _columns_named_by(error: Exception, sample: Table) -> str:
    """Return the columns of X with categories that an error of preprocessing calls unknown, as a sentence.

    Preprocessing names such a column by its position among its own columns.
    """
    if "unknown categor" not in str(error):
        return ""
    named = []
    for feature, name in enumerate(sample.names):
        column = sample.column(feature)
        if column.kind not in ("numeric", "integer") and any(
            repr(value) in str(error) for value in set(column.values.tolist())
        ):
            named.append(repr(name))
    return f"X has them in {' and '.join(named)}. " if named else ""


def _way_out_of_failure(predictor: Predictor, backend: str) -> str:
    """Return a hint for a model that fails, or for a function that may need another type of table."""
    fitted = predictor.method is not None
    if fitted and (backend == "numpy" or hasattr(predictor.target, "get_params")):
        return "It must be fitted, and X must have the columns and types it was fitted on"
    array = {"numpy": "t", "pyarrow": "t.to_pandas().to_numpy()"}.get(backend, "t.to_numpy()")
    if any(base.__module__.partition(".")[0] == "torch" for base in type(predictor.target).__mro__):
        tensor = f"torch.as_tensor({array}, dtype=torch.float32)"
        return f"If it takes tensors, pass lambda t: module({tensor}).detach().numpy()"
    if backend == "numpy":
        return "If it takes a data frame, pass X as one, with the columns it needs"
    called = f"model.{predictor.method}" if fitted else "f"
    return f"If it takes an array, pass lambda t: {called}({array}) or X as an array"


def _pick_and_name_outputs(
    predictor: Predictor, response: str, raw: Any, prediction: Floats, *, every: bool
) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
    """Return the reported output columns, None for all, and their names.

    For two classes only the second one is reported, also of each of several targets, unless ``every`` is
    set.
    """
    if isinstance(predictor, SurvivalPredictor):
        return None, predictor.names
    estimator, outputs = predictor.target, prediction.shape[1]
    if response == "predict_proba":
        classes = getattr(estimator, "classes_", None)
        if isinstance(raw, (list, tuple)) and raw and np.ndim(raw[0]) == 2:
            columns: list[int] = []
            names: list[str] = []
            first = 0
            for target, block in enumerate(raw):
                width = np.shape(block)[1]
                labels = classes[target] if classes is not None else range(width)
                for k in [1] if width == 2 and not every else range(width):
                    columns.append(first + k)
                    names.append(f"target {target}: {labels[k]}")
                first += width
            return tuple(columns), tuple(names)
        if outputs == 2 and not every and not getattr(estimator, "multilabel_", False):
            sums = prediction.sum(axis=1)
            if np.allclose(sums[np.isfinite(sums)], 1, atol=1e-4):  # those of separate labels need not
                labels = [] if classes is None or np.ndim(classes) != 1 else list(classes)
                return (1,), (str(labels[1]) if len(labels) == 2 else "1",)
        return None, _class_names(classes, outputs)
    if response == "decision_function":
        return None, _class_names(getattr(estimator, "classes_", None), outputs)
    header = getattr(raw, "columns", None)
    if header is not None and len(header) == outputs:
        return None, tuple(str(label) for label in header)
    return None, _default_output_names(outputs)


def _class_names(classes: Any, outputs: int) -> tuple[str, ...]:
    if classes is not None and any(np.ndim(label) for label in classes):
        classes = None  # one list of classes per target
    if classes is not None and outputs == 1 and len(classes) == 2:
        return (str(classes[1]),)
    if classes is not None and len(classes) == outputs:
        return tuple(str(label) for label in classes)
    return _default_output_names(outputs)


def _default_output_names(outputs: int) -> tuple[str, ...]:
    return ("prediction",) if outputs == 1 else tuple(f"output {o}" for o in range(outputs))


def named_outputs(target_names: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the output names of the user if there are any, else the given names."""
    if target_names is None:
        return names
    if not hasattr(target_names, "__iter__"):
        raise OptionError(f"target_names={target_names!r} must be a list of names, one per output")
    given: Sequence[Any] = [target_names] if isinstance(target_names, str) else list(target_names)
    if len(given) != len(names):
        raise OptionError(
            f"target_names has {count(len(given), 'name')} and the number of outputs is {len(names)}: "
            f"{', '.join(names[:8])}"
        )
    return tuple(str(name) for name in given)


def library_of(estimator: Any) -> tuple[str, str]:
    """Return the library of a model and its version, which is empty for user code."""
    library = package_of(estimator)
    return library, str(getattr(sys.modules.get(library), "__version__", ""))


def as_model_list(estimator: Any) -> tuple[Any, ...] | None:
    """Return the models of a list or tuple, None for a single model.

    >>> as_model_list([abs, max]), as_model_list(abs)
    ((<built-in function abs>, <built-in function max>), None)
    """
    if not isinstance(estimator, (list, tuple)) or is_model(estimator) or callable(estimator):
        return None
    if not estimator:
        raise ModelError(
            "estimator is a list without a model; pass a fitted model, or a list of at least one"
        )
    return tuple(estimator)


def adapt_models(
    estimator: Any,
    table: Table,
    *,
    response_method: str = "auto",
    times: Any = None,
    target_names: Any = None,
) -> tuple[Model, ...]:
    """Return the adapted models of a list, or the adapted single model. All have the same outputs."""
    options: dict[str, Any] = {
        "response_method": response_method,
        "times": times,
        "target_names": target_names,
    }
    several = as_model_list(estimator)
    if several is None:
        return (adapt(estimator, table, **options),)
    models = []
    for index, member in enumerate(several):
        try:
            models.append(adapt(member, table, **options))
        except (ModelError, OptionError) as error:
            raise type(error)(f"estimator[{index}]: {error}") from error
    first = models[0]
    for index, model in enumerate(models):
        if model.scale != first.scale:
            differs, other = (f"a {m.scale} (by {m.response})" for m in (model, first))
            way_out = "name a response_method that means the same for all"
        elif model.n_outputs != first.n_outputs:
            differs, other = (count(m.n_outputs, "output") for m in (model, first))
            way_out = "fit them all on the same classes or targets"
        elif model.output_names != first.output_names:
            differs, other = (f"outputs named {', '.join(m.output_names)}" for m in (model, first))
            way_out = "name them with target_names of Explainer if they are the same"
        else:
            continue
        raise ModelError(
            f"the models of a list must have the same outputs: estimator[{index}] ({model.name}) has "
            f"{differs}, and estimator[0] ({first.name}) {other}; {way_out}"
        )
    return tuple(models)

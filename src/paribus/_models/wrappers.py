"""Readers of scikit-learn models that consist of nested models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._models.additive import behind_projections, is_linear, read_linear
from paribus._models.columns import PipelinePosition
from paribus._models.combination import Part, linked, predicted, transformed, weighted_sum
from paribus._models.libraries.sklearn import boosting_links, starts_constant
from paribus._models.parameters import package_of, replaced_method
from paribus._models.preprocessing.dependencies import ColumnSubset, acting_steps, is_pipeline
from paribus.errors import RefusalCode, RefusalError, failure

# Models that pass the table to one nested model, by the attribute of that model.
PASSING = {
    "FrozenEstimator": "estimator",
    "GridSearchCV": "best_estimator_",
    "HalvingGridSearchCV": "best_estimator_",
    "HalvingRandomSearchCV": "best_estimator_",
    "RandomizedSearchCV": "best_estimator_",
}
# The same for margins and probabilities only, because their predict returns a class.
THRESHOLDED = {"FixedThresholdClassifier": "estimator_", "TunedThresholdClassifierCV": "estimator_"}
SELECTING = ("RFE", "RFECV")  # pass some columns as an array
REFUSED = {
    **dict.fromkeys(THRESHOLDED, "predicts a class, which is not a sum"),
    "AdaBoostRegressor": "predicts a weighted median of its trees, which is not a sum",
    "ClassifierChain": "passes predictions of earlier models to later ones",
    "OneVsOneClassifier": "counts votes of classes, which is not a sum of margins",
    "OutputCodeClassifier": "predicts the class of the nearest code, which is not a sum of margins",
    "RegressorChain": "passes predictions of earlier models to later ones",
}
FEW = 8  # predictions that are also transformed one by one, to detect dependence on other rows
SCANNED = 4_097  # points at which a function is searched for jumps
HALVED, HALVINGS = 64, 64  # number of intervals with the largest changes, and how often they are halved
CONTINUOUS = 1e-9  # largest change of a continuous function between adjacent floats, relative to its range
SMALL_SPREAD = 1e-3  # range to search relative to the size of predictions, if these do not vary
AFFINE = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")
BAGGING = ("BaggingClassifier", "BaggingRegressor")
BOOSTING = ("GradientBoostingClassifier", "GradientBoostingRegressor")
EDGE = 1e-5  # smallest distance of a probability from 0 and 1 such that rounding hardly changes its log-odds
SINGLE_TREES = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)


def is_wrapper(target: Any) -> bool:
    """Return whether a model is one of scikit-learn whose nested models are read one by one."""
    name = type(target).__name__
    if package_of(target) != "sklearn":
        return False
    if name in BAGGING:  # with single trees it is read as a forest
        return any(
            type(member).__name__ not in SINGLE_TREES or package_of(member) != "sklearn"
            for member in target.estimators_
        )
    if name in BOOSTING:  # with a constant start it is read as trees
        return hasattr(target, "init_") and not starts_constant(target)
    return name in READERS or name in REFUSED


def passed_on(target: Any, place: PipelinePosition, response: str) -> tuple[Any, PipelinePosition] | None:
    """Return the nested model that computes all predictions, and its position; None if there is none."""
    name = type(target).__name__
    if name in ("Pipeline", *SELECTING, *PASSING, *THRESHOLDED):
        refuse_replaced(target)
    inner = handed_to(target, response)
    if inner is not None:
        return inner, place
    if is_pipeline(target):
        *before, last = acting_steps(target)
        steps, model = behind_projections(before, last)
        return model, place.behind(steps)
    if name in SELECTING and package_of(target) == "sklearn":
        return target.estimator_, place.among(np.flatnonzero(target.support_).tolist())
    return None


def handed_to(target: Any, response: str) -> Any:
    """Return the nested model that predicts the unchanged table, None if there is none."""
    held = {**PASSING, **(THRESHOLDED if response != "predict" else {})}.get(type(target).__name__)
    return getattr(target, held) if held is not None and package_of(target) == "sklearn" else None


def refuse_replaced(target: Any) -> None:
    """Refuse a model with methods that were replaced on the instance or on its class."""
    replaced = replaced_method(target)
    if replaced is not None:
        raise RefusalError(
            f"the {replaced} of this {type(target).__name__} was replaced, so its predictions are customized",
            RefusalCode.NO_STRUCTURE,
        )


@dataclass(frozen=True, eq=False)
class Wrapper:
    """A model with nested models and its position; ``read_member`` reads a nested model."""

    target: Any
    place: PipelinePosition
    response: str
    read_member: Callable[[Any, PipelinePosition, str], Part]

    @property
    def name(self) -> str:
        """Class name of the model."""
        return type(self.target).__name__

    def read(self) -> Part:
        """Return the structure of the model, or refuse."""
        refuse_replaced(self.target)
        if self.name in REFUSED:
            raise self.refusal(REFUSED[self.name])
        try:
            return READERS[self.name](self)
        except RefusalError:
            raise
        except Exception as error:  # attributes may change between releases
            raise RefusalError(
                f"the models in {self.name} cannot be read: {failure(error)}", RefusalCode.NO_STRUCTURE
            ) from error

    def member(
        self, estimator: Any, response: str | None = None, columns: Sequence[int] | None = None
    ) -> Part:
        """Return the structure of a nested model, which receives all or some ``columns`` as an array."""
        place = self.place if columns is None else self.place.among(columns)
        return self.read_member(estimator, place, response or self.response)

    def sum(self, parts: Sequence[Part], weights: Floats, constant: Floats | None = None) -> Part:
        """Return weighted sums of the outputs of parts."""
        zero = np.zeros(len(weights))
        return weighted_sum(parts, weights, zero if constant is None else constant, self.place.sample)

    def mean(self, parts: Sequence[Part], shares: Floats) -> Part:
        """Return the mean of parts with the same number of outputs, weighted by ``shares``."""
        outputs = parts[0].n_outputs
        if any(part.n_outputs != outputs for part in parts):
            raise self.refusal("has members with different numbers of outputs")
        return self.sum(parts, np.hstack([share * np.eye(outputs) for share in shares]))

    def refusal(self, why: str) -> RefusalError:
        """Return a refusal that names the model."""
        return RefusalError(f"{self.name} {why}", RefusalCode.UNSUPPORTED, self.name)


def _voting(wrapper: Wrapper) -> Part:
    target = wrapper.target
    if wrapper.name == "VotingClassifier" and (
        wrapper.response != "predict_proba" or target.voting != "soft"
    ):
        raise wrapper.refusal("counts votes of classes, which is not a sum of probabilities")
    given = [1.0] * len(target.estimators) if target.weights is None else target.weights
    kept = [
        float(weight)
        for (_, member), weight in zip(target.estimators, given, strict=True)
        if not (isinstance(member, str) and member == "drop")
    ]
    parts = [wrapper.member(member) for member in target.estimators_]
    return wrapper.mean(parts, np.array(kept) / sum(kept))


def _bagged_members(wrapper: Wrapper) -> Part:
    target, parts = wrapper.target, []
    classes = len(target.classes_) if wrapper.response == "predict_proba" else 0
    if wrapper.name == "BaggingClassifier" and wrapper.response == "predict":
        raise wrapper.refusal("predicts a class, which is not a sum")
    for member, columns in zip(target.estimators_, target.estimators_features_, strict=True):
        if not hasattr(member, wrapper.response):
            raise wrapper.refusal(
                f"counts votes of {type(member).__name__}, which is not a sum of probabilities"
            )
        columns = np.arange(target.n_features_in_)[columns]  # a slice selects all columns
        part = wrapper.member(member, columns=columns.tolist())
        if classes and part.n_outputs != classes:  # it was fitted on some of the classes
            spread = np.zeros((classes, part.n_outputs))
            spread[member.classes_, np.arange(part.n_outputs)] = 1.0
            part = wrapper.sum([part], spread)
        parts.append(part)
    return wrapper.mean(parts, np.full(len(parts), 1 / len(parts)))


def _side_by_side(wrapper: Wrapper) -> Part:
    parts = [wrapper.member(member) for member in wrapper.target.estimators_]
    return wrapper.sum(parts, np.eye(sum(part.n_outputs for part in parts)))


def _stacking(wrapper: Wrapper) -> Part:
    target = wrapper.target
    last = target.final_estimator_
    if target.passthrough:
        raise wrapper.refusal("passes the columns as well as the predictions of its members to its last step")
    if not is_linear(last):
        raise wrapper.refusal(
            f"ends in {type(last).__name__}, which is not linear in what its members predict"
        )
    refuse_replaced(last)
    coefficients, intercept, link = read_linear(last, wrapper.response)
    if link.name not in ("identity", "sigmoid", "softmax"):
        raise wrapper.refusal(f"ends in {type(last).__name__}, whose link may overflow")
    parts, kept = [], []
    two = len(getattr(target, "classes_", ())) == 2
    for member, method in zip(target.estimators_, target.stack_method_, strict=True):
        part = wrapper.member(member, method)
        counted = np.ones(part.n_outputs, dtype=bool)
        if method == "predict_proba" and two and part.n_outputs == 2:
            counted[0] = False  # the last step receives only the second class
        parts.append(part)
        kept.append(counted)
    shown = np.concatenate(kept)
    if int(shown.sum()) != coefficients.shape[1]:
        raise wrapper.refusal("passes columns other than one per output of its members to its last step")
    weights = np.zeros((len(coefficients), len(shown)))
    weights[:, shown] = coefficients
    margins = wrapper.sum(parts, weights, intercept)
    if link.linear:
        return margins
    return linked(margins, link, both=link.name == "sigmoid" and margins.n_outputs == 1)


@dataclass(frozen=True, eq=False)
class Inverse:
    """Inverse transformation of predictions to the scale of the target."""

    transformer: Any

    def __call__(self, outputs: Floats) -> Floats:
        """Return predictions ``(o, ...)`` on the scale of the target."""
        flat = np.asarray(self.transformer.inverse_transform(outputs.reshape(len(outputs), -1).T), np.float64)
        flat = flat[:, None] if flat.ndim == 1 else flat
        return np.ascontiguousarray(flat.T).reshape(-1, *outputs.shape[1:])


def _transformed_target(wrapper: Wrapper) -> Part:
    transformer = wrapper.target.transformer_
    part = wrapper.member(wrapper.target.regressor_)
    inverse, count = Inverse(transformer), part.n_outputs
    if package_of(transformer) == "sklearn" and type(transformer).__name__ in AFFINE:
        start = inverse(np.zeros((count, 1)))[:, 0]
        slope = inverse(np.ones((count, 1)))[:, 0] - start
        return wrapper.sum([part], np.diag(slope), start)
    values = predicted(part.structure, wrapper.place.sample)
    how = f"transforms predictions by {type(transformer).__name__}, which"
    few = np.concatenate([values[:, :FEW], values.min(axis=1)[:, None], values.max(axis=1)[:, None]], axis=1)
    alone = np.concatenate([inverse(row[:, None]) for row in few.T], axis=1)
    if not np.array_equal(inverse(few), alone, equal_nan=True):
        raise wrapper.refusal(f"{how} looks at other rows")
    jump = largest_jump(inverse, values)
    if jump is not None:
        raise wrapper.refusal(
            f"{how} jumps near {jump:.4g}: sums in another order may fall on the other side of a step"
        )
    return transformed(part, inverse, len(alone), None)


def largest_jump(function: Callable[[Floats], Floats], values: Floats) -> float | None:
    """Return a position at which a function of predictions ``(o, n)`` jumps, None if none is found.

    Each output varies over its range, extended by its width on both sides. The intervals with the largest
    changes are halved until their ends are adjacent floats, between which a continuous function hardly
    changes.
    """
    low, high = values.min(axis=1), values.max(axis=1)
    spread = np.maximum(high - low, np.abs(high) * SMALL_SPREAD)
    for output in range(len(values)):

        def along(points: Floats, output: int = output) -> Floats:
            predictions = np.repeat(values[:, :1], points.size, axis=1)
            predictions[output] = points.ravel()
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function(predictions).reshape(-1, *points.shape)

        for beyond in (spread[output], 0.0):
            points = np.linspace(low[output] - beyond, high[output] + beyond, SCANNED)
            try:
                at_points = along(points)
            except Exception:  # of any class, outside the range of the transformer
                if beyond == 0.0:
                    raise
                continue
            jump = _jump_between(along, points, at_points)
            if jump is not None:
                return jump
            break
    return None


def _jump_between(function: Callable[[Floats], Floats], points: Floats, at_points: Floats) -> float | None:
    """Return where a function of one number jumps, given its values ``(o, p)`` at points; or None."""
    finite = np.asarray(np.isfinite(at_points).all(axis=0))
    size = np.ptp(at_points[:, finite], axis=1).max(initial=0.0)
    steps = np.where(finite[1:] & finite[:-1], np.abs(np.diff(at_points)).max(axis=0), 0.0)
    widest = np.argsort(steps)[-HALVED:]
    left, right = points[widest], points[widest + 1]
    at_left, at_right = at_points[:, widest], at_points[:, widest + 1]
    for _ in range(HALVINGS):
        middle = left + (right - left) / 2
        at_middle = function(middle)
        first = np.abs(at_middle - at_left).max(axis=0) >= np.abs(at_right - at_middle).max(axis=0)
        left, at_left = np.where(first, left, middle), np.where(first, at_left, at_middle)
        right, at_right = np.where(first, middle, right), np.where(first, at_middle, at_right)
    jumps = np.abs(at_right - at_left).max(axis=0)
    worst = int(np.argmax(jumps))
    return float(left[worst]) if jumps[worst] > CONTINUOUS * size else None


@dataclass(frozen=True, eq=False)
class CalibratedOutputs:
    """Calibrated probabilities of one fold of a calibrated classifier.

    ``positions`` are the classes of the calibrators. ``temperature`` means that one calibrator handles all
    classes. ``probabilities`` means that its inputs are probabilities instead of margins.
    """

    calibrators: tuple[Any, ...]
    positions: tuple[int, ...]
    classes: int
    temperature: bool
    probabilities: bool

    def __call__(self, outputs: Floats) -> Floats:
        """Return the probabilities ``(classes, ...)``."""
        flat = outputs.reshape(len(outputs), -1)
        if self.temperature:
            # The calibrator would treat probabilities as margins if one of them exceeded the range.
            given = np.clip(flat, 0.0, 1.0) if self.probabilities else flat
            made = np.asarray(self.calibrators[0].predict(given.T), dtype=np.float64).T
        else:
            made = np.zeros((self.classes, flat.shape[1]))
            for position, calibrator, column in zip(self.positions, self.calibrators, flat, strict=True):
                made[position] = calibrator.predict(column)
            if self.classes == 2:
                made[0] = 1.0 - made[1]
            else:
                total = made.sum(axis=0)
                even = np.full_like(made, 1.0 / self.classes)
                made = np.divide(made, total, out=even, where=total != 0)
        made = np.where((made > 1.0) & (made <= 1.0 + 1e-5), 1.0, made)
        return made.reshape(self.classes, *outputs.shape[1:])

    def amplified(self, rounding: float) -> float:
        """Return the largest change of a probability for a relative change ``rounding`` of margins."""
        most = 0.0
        for calibrator in self.calibrators:
            if type(calibrator).__name__ == "IsotonicRegression":
                at, height = (np.asarray(getattr(calibrator, f"{axis}_thresholds_"), float) for axis in "Xy")
                reach = rounding * np.abs(at).max(initial=0.0)
                rise = np.diff(height) * reach / np.maximum(np.diff(at), reach)
                most = max(most, rise.max(initial=0.0))
        return float(most)


def _calibrated_mean(wrapper: Wrapper) -> Part:
    if wrapper.response != "predict_proba":
        raise wrapper.refusal("predicts a class, which is not a sum")
    target, parts = wrapper.target, []
    classes = len(target.classes_)
    for fold in target.calibrated_classifiers_:
        method = "decision_function" if hasattr(fold.estimator, "decision_function") else "predict_proba"
        part = wrapper.member(fold.estimator, method)
        temperature = fold.method == "temperature"
        if classes == 2 and part.n_outputs == 2 and not temperature:
            part = wrapper.sum([part], np.array([[0.0, 1.0]]))  # only the second class is calibrated
        positions: list[int] = []
        if not temperature:  # a calibrator for each class
            positions = np.searchsorted(fold.classes, fold.estimator.classes_).tolist()
            positions = positions[1:] if len(fold.classes) == 2 else positions
            if not len(positions) == len(fold.calibrators) == part.n_outputs:
                raise wrapper.refusal("has not one calibrator for each class")
        given = method == "predict_proba"
        function = CalibratedOutputs(tuple(fold.calibrators), tuple(positions), classes, temperature, given)
        parts.append(transformed(part, function, classes, 1.0))
    return wrapper.mean(parts, np.full(len(parts), 1 / len(parts)))


@dataclass(frozen=True)
class Shares:
    """Probabilities divided by their sum; with ``both``, from the probability of the second class only."""

    both: bool

    def __call__(self, outputs: Floats) -> Floats:
        """Return outputs that sum to one, zero if all are zero."""
        made = np.concatenate([1.0 - outputs, outputs]) if self.both else outputs
        total = made.sum(axis=0)
        return np.asarray(np.divide(made, total, out=made.copy(), where=total != 0))


def _one_vs_rest(wrapper: Wrapper) -> Part:
    members = wrapper.target.estimators_
    if wrapper.response == "predict":
        raise wrapper.refusal("predicts a class, which is not a sum")
    parts = [wrapper.member(member) for member in members]
    picked = np.zeros((len(parts), sum(part.n_outputs for part in parts)))
    last: Integers = np.cumsum([part.n_outputs for part in parts]) - 1
    picked[np.arange(len(parts)), last] = 1.0  # the second of two classes, or the only margin
    beside = wrapper.sum(parts, picked)
    if wrapper.response == "decision_function" or wrapper.target.multilabel_:
        return beside
    both = len(parts) == 1
    return transformed(beside, Shares(both), len(parts) + both, 1.0)


@dataclass(frozen=True, eq=False)
class InitialMargins:
    """Margins of the initial probabilities of a boosted classifier, by the ``link`` of its loss."""

    link: Any

    def __call__(self, outputs: Floats) -> Floats:
        """Return the margins ``(k, ...)``, one for two classes. Refuse probabilities close to 0 or 1."""
        if np.minimum(outputs, 1.0 - outputs).min(initial=1.0) < EDGE:
            raise RefusalError(
                f"its init predicts a probability within {EDGE:g} of 0 or 1, whose log-odds amplify rounding",
                RefusalCode.DATA,
            )
        given = outputs if self.link.is_multiclass else outputs[1:]
        made = np.asarray(self.link.link(given.reshape(len(given), -1).T))
        return np.ascontiguousarray(made.T).reshape(given.shape)


def _boosted_from_model(wrapper: Wrapper) -> Part:
    """Return the sum of the margins of ``init`` and of the trees, both of rows in single precision."""
    target = wrapper.target
    single = ColumnSubset(tuple(range(target.n_features_in_)), single=True)
    place = wrapper.place.behind([single])
    trees = copy(target)
    trees.init_ = "zero"
    if not hasattr(target, "classes_"):
        parts = [wrapper.read_member(target.init_, place, "predict"), wrapper.member(trees)]
        return wrapper.sum(parts, np.ones((1, 2)))
    if wrapper.response == "predict":
        raise wrapper.refusal("predicts a class, which is not a sum")
    if target.init_.predict_proba(place.received[:1]).dtype == np.float32:
        raise wrapper.refusal(
            f"starts from the log-odds of {type(target.init_).__name__}, which amplify the rounding of "
            "probabilities in single precision"
        )
    start = wrapper.read_member(target.init_, place, "predict_proba")
    margins = target.n_trees_per_iteration_
    parts = [transformed(start, InitialMargins(target._loss.link), margins, None)]
    parts.append(wrapper.member(trees, "decision_function"))
    total = wrapper.sum(parts, np.hstack([np.eye(margins)] * 2))
    link = boosting_links(target)[0][wrapper.response]
    return total if link.linear else linked(total, link, both=margins == 1)


READERS: dict[str, Callable[[Wrapper], Part]] = {
    **dict.fromkeys(BOOSTING, _boosted_from_model),
    "BaggingClassifier": _bagged_members,
    "BaggingRegressor": _bagged_members,
    "CalibratedClassifierCV": _calibrated_mean,
    "MultiOutputClassifier": _side_by_side,
    "MultiOutputRegressor": _side_by_side,
    "OneVsRestClassifier": _one_vs_rest,
    "StackingClassifier": _stacking,
    "StackingRegressor": _stacking,
    "TransformedTargetRegressor": _transformed_target,
    "VotingClassifier": _voting,
    "VotingRegressor": _voting,
}

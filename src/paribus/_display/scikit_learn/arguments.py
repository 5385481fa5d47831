"""What the user passed: checked, and reported in scikit-learn's words where it would refuse."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paribus._data.features import Header, resolve
from paribus._typing import Curves
from paribus.errors import FeatureError, InputError, ModelError, OptionError, RefusalError, check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns: TypeAlias = tuple[int, ...]


@contextmanager
def value_errors() -> Iterator[None]:
    """Raise what scikit-learn has ValueErrors for as such, with our words."""
    try:
        yield
    except RefusalError as refusal:
        raise OptionError(str(refusal)) from refusal
    except ModelError as error:
        if isinstance(error.__cause__, ValueError):  # it is not fitted, or was fitted on other columns
            raise InputError(str(error)) from error
        raise


def kinds_of(kind: Any, features: Any) -> list[str]:
    """Return what is drawn of each entry of ``features``."""
    if isinstance(features, (str, int)) or not hasattr(features, "__len__"):
        raise FeatureError(f"features={features!r} must be a list with an entry for each panel")
    if not len(features):
        raise FeatureError("features is empty; name at least one column")
    kinds = [kind] * len(features) if isinstance(kind, str) else list(kind)
    if len(kinds) != len(features):
        raise OptionError(
            "When `kind` is provided as a list of strings, it should contain as many elements as `features`: "
            f"there are {len(kinds)} and {len(features)}"
        )
    for one in kinds:
        check_choice("kind", one, Curves)
    return kinds


def groups_of(features: Any, kinds: list[str], header: Header) -> list[Columns]:
    """Return the columns of each panel."""
    groups = [resolve(entry, header) for entry in features]
    if any(len(group) > 2 for group in groups):
        raise FeatureError(
            "Each entry in features must be either an int, a string, or an iterable of size at most 2; "
            "paribus.partial_dependence computes the effect of more"
        )
    if any(len(group) == 2 and kind != "average" for group, kind in zip(groups, kinds, strict=True)):
        right = ["average" if len(g) == 2 else kind for g, kind in zip(groups, kinds, strict=True)]
        raise OptionError(
            "ICE plot cannot be rendered for 2-way feature interactions, which have an average only: "
            f"pass kind={right!r}"
        )
    return groups


def own_columns(estimator: Any, X: Any) -> Any:
    """Return as many columns of an array as the model was fitted on.

    scikit-learn's recursion does not show X to the model, so that one with columns to spare passes unnoticed:
    its guide draws a model of the four columns of iris with the ten of another table. Any other model refuses
    such a table, here as there.
    """
    known = getattr(estimator, "n_features_in_", None)
    recursive = hasattr(estimator, "_compute_partial_dependence_recursion")
    if not recursive or known is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] <= known:
        return X
    warnings.warn(
        f"X has {X.shape[1]} columns and {type(estimator).__name__} was fitted on {known}: the first {known} "
        "are taken. Pass the table it was fitted on",
        UserWarning,
        stacklevel=3,
    )
    return X[:, :known]


def response_of(estimator: Any, method: str, response_method: str) -> Any:
    """Return the response method; recursion averages sums of leaves, which probabilities are not."""
    if method == "recursion" and response_method == "auto" and hasattr(estimator, "decision_function"):
        return "decision_function"
    return response_method


def output_of(estimator: Any, target: Any, outputs: tuple[str, ...]) -> int:
    """Return the output that is drawn: a class by its label, any other by its position or name."""
    if len(outputs) == 1:
        return 0
    classes = getattr(estimator, "classes_", None)
    if classes is not None and len(classes) == len(outputs) and not any(np.ndim(one) for one in classes):
        labels = np.asarray(classes).tolist()
        if target is None:
            raise OptionError(f"target must be specified for multi-class: one of {_listed(labels)}")
        if target not in labels:
            known = _listed(labels)
            raise OptionError(f"target not in est.classes_, got {target!r}; the classes are {known}")
        return int(labels.index(target))
    if target is None:
        raise OptionError(
            "target must be specified for multi-output regressors and other models with several outputs: "
            f"0 to {len(outputs) - 1}, or one of {_listed(list(outputs))}"
        )
    if target in outputs:
        return outputs.index(target)
    if not isinstance(target, (int, np.integer)) or not 0 <= target < len(outputs):
        raise OptionError(
            f"target must be in [0, n_tasks), got {target!r}; there are {len(outputs)} outputs, "
            f"{_listed(list(outputs))}"
        )
    return int(target)


def _listed(words: list[Any]) -> str:
    return ", ".join(map(repr, words[:8])) + (f" and {len(words) - 8} more" if len(words) > 8 else "")


def check_subsample(subsample: Any) -> None:
    """Refuse a subsample that is no number of rows and no share of them."""
    every = "None draws the curves of all rows"
    if isinstance(subsample, (int, np.integer)):
        if subsample <= 0:
            raise OptionError(f"When an integer, subsample={subsample} should be positive; {every}")
    elif subsample is not None and not 0 < subsample < 1:
        raise OptionError(
            f"When a floating-point, subsample={subsample} should be in the (0, 1) range; {every}"
        )


def is_axes(ax: Any) -> bool:
    """Return whether this is a single Axes rather than several."""
    from matplotlib.axes import Axes

    return isinstance(ax, Axes)


def check_axes(ax: Any, panels: int) -> None:
    """Refuse axes that cannot hold the panels, before anything is computed for them."""
    if ax is None:
        return
    if is_axes(ax):
        if not ax.axison:
            raise OptionError(
                "The ax was already used in another plot function, please set ax=display.axes_ instead"
            )
        return
    if len(given_axes(ax)) != panels:
        raise OptionError(
            f"Expected ax to have {panels} axes, got {len(given_axes(ax))}: one for each entry of features"
        )


def given_axes(ax: Any) -> list[Axes]:
    """Return the axes in an array; the last row of a display may have gaps."""
    return [one for one in np.asarray(ax, dtype=object).ravel() if one is not None]

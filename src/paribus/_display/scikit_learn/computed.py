"""What the user passed: checked, and computed in as few passes as there are kinds of curves."""

from __future__ import annotations

import warnings
from collections.abc import Sized
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Bunch  # type: ignore[import-untyped]

from paribus._api import Explainer
from paribus._data.features import Header, resolve, values_by_position
from paribus.errors import FeatureError, OptionError
from paribus.results import PartialDependence

Columns: TypeAlias = tuple[int, ...]


def kinds_of(kind: Any, features: Any) -> list[Any]:
    """Return what is drawn of each entry of ``features``."""
    if isinstance(features, str) or not isinstance(features, Sized) or not len(features):
        raise FeatureError(f"features={features!r} must be a list with an entry for each panel")
    kinds = [kind] * len(features) if isinstance(kind, str) else list(kind)
    if len(kinds) != len(features):
        raise OptionError(f"kind={kind!r} must have as many entries as features={features!r}")
    return kinds


def groups_of(features: Any, kinds: list[Any], header: Header) -> list[Columns]:
    """Return the columns of each panel."""
    groups = [resolve(entry, header) for entry in features]
    if any(len(group) > 2 for group in groups):
        raise FeatureError(f"features={features!r}: no more than pairs are drawn; see paribus.effects")
    possible = ["average" if len(group) == 2 else kind for group, kind in zip(groups, kinds, strict=True)]
    if possible != kinds:
        raise OptionError(f"kind={kinds!r}: pairs of features have an average only; pass kind={possible!r}")
    return groups


def check_subsample(subsample: Any) -> None:
    """Refuse a subsample that is no number of rows and no share of them."""
    most = np.inf if isinstance(subsample, (int, np.integer)) else 1
    if subsample is not None and not 0 < subsample < most:
        raise OptionError(
            f"subsample={subsample!r} must be a number of rows, a share of them, or None for all"
        )


def fitted_columns(estimator: Any, X: Any) -> Any:
    """Return as many columns of an array as trees of scikit-learn were fitted on.

    scikit-learn's recursion does not show X to the model, so that one with columns to spare passes unnoticed:
    its guide draws a model of the four columns of iris with the ten of another table.
    """
    known = getattr(estimator, "n_features_in_", None)
    trees = type(estimator).__module__.startswith(("sklearn.ensemble.", "sklearn.tree."))
    if not trees or known is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] <= known:
        return X
    way_out = f"the first {known} are taken. Pass the table it was fitted on"
    warnings.warn(f"X has {X.shape[1]} columns and the model was fitted on {known}: {way_out}", stacklevel=3)
    return X[:, :known]


def output_of(estimator: Any, target: Any, outputs: tuple[str, ...]) -> int:
    """Return the output that is drawn: a class by its label, any other by its name or position."""
    if len(outputs) == 1:
        return 0
    classes = getattr(estimator, "classes_", ())
    labeled = len(classes) == len(outputs) and not any(map(np.ndim, classes))
    known = np.asarray(classes).tolist() if labeled else [*outputs, *range(len(outputs))]
    if target not in known:
        shown = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
        raise OptionError(f"target={target!r} must be one of the outputs of the model: {shown}")
    return int(known.index(target)) % len(outputs)


def effects_of(
    explainer: Explainer, groups: list[Columns], kinds: list[Any], custom_values: Any, **options: Any
) -> list[PartialDependence]:
    """Compute the effect of each panel: all that are of one kind in one pass over the rows."""
    names = explainer.header.names
    given = values_by_position(custom_values, explainer.header, {j for group in groups for j in group})
    found: dict[tuple[str, Columns], PartialDependence] = {}
    for kind in dict.fromkeys(kinds):
        own = [group for group, wanted in zip(groups, kinds, strict=True) if wanted == kind]
        keys = [tuple(names[j] for j in group) for group in own]
        values = {names[j]: given[j] for j in given if any(j in group for group in own)}
        effects = explainer.effects(keys, kind=kind, custom_values=values, **options)
        for group, key in zip(own, keys, strict=True):
            found[kind, group] = effects[key if len(key) == 2 else key[0]]
    return [found[each] for each in zip(kinds, groups, strict=True)]


def bunch_of(effect: PartialDependence) -> Bunch:
    """Return an effect as scikit-learn's ``partial_dependence`` does: text in the order of the alphabet."""
    parts = {key: effect[key] for key in ("average", "individual", "support") if key in effect}
    grid = list(effect.grid_values)
    for axis, (kind, ordered) in enumerate(zip(effect.kinds, effect.ordered, strict=True)):
        if kind == "string" and not ordered:
            places = np.argsort(grid[axis].astype(str), kind="stable")
            grid[axis] = grid[axis][places]
            parts = {key: part.take(places, axis - len(grid)) for key, part in parts.items()}
    return Bunch(grid_values=grid, **parts)

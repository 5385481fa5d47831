"""The effects that are drawn, computed in as few passes as there are kinds of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch  # type: ignore[import-untyped]

from paribus._api import Explainer
from paribus._contracts import NOMINAL, Array
from paribus._data.features import values_by_position
from paribus._display.scikit_learn.arguments import Columns
from paribus.results import PartialDependence


@dataclass(frozen=True)
class ComputedEffect:
    """What scikit-learn's display is given for one panel; a mixed pair has its number first."""

    features: Columns
    result: Bunch
    levels: tuple[bool, ...]
    deciles: dict[int, Array]

    @classmethod
    def of(cls, features: Columns, effect: PartialDependence) -> ComputedEffect:
        """Take from an effect what is drawn."""
        pair = len(features) == 2  # a single value has no surface, but it can be the name of a curve
        levels = tuple(
            kind in NOMINAL or (pair and len(values) == 1)
            for kind, values in zip(effect.kinds, effect.grid_values, strict=True)
        )
        parts = {key: effect[key] for key in ("average", "individual", "support") if key in effect}
        grid = list(effect.grid_values)
        for axis, (kind, ordered) in enumerate(zip(effect.kinds, effect.ordered, strict=True)):
            if kind == "string" and not ordered:  # text by the alphabet, as scikit-learn has it
                places = np.argsort(grid[axis].astype(str), kind="stable")
                grid[axis] = grid[axis][places]
                parts = {key: part.take(places, axis - len(grid)) for key, part in parts.items()}
        deciles = {
            feature: own[1:-1]
            for feature, own, nominal in zip(features, effect.deciles, levels, strict=True)
            if own is not None and not nominal
        }
        if levels == (True, False):
            features, levels, grid = features[::-1], levels[::-1], grid[::-1]
            parts = {key: part.swapaxes(-2, -1) for key, part in parts.items()}
        return cls(features, Bunch(grid_values=grid, **parts), levels, deciles)


def effects_of(
    explainer: Explainer, groups: list[Columns], kinds: list[Any], custom_values: Any, **options: Any
) -> list[PartialDependence]:
    """Compute the effect of each panel: all that are of one kind in one pass over the rows."""
    header = explainer.header
    given = values_by_position(custom_values, header, {feature for group in groups for feature in group})
    found: dict[tuple[str, Columns], PartialDependence] = {}
    for kind in dict.fromkeys(kinds):
        asked = tuple(dict.fromkeys(g for g, asks in zip(groups, kinds, strict=True) if asks == kind))
        own = {j for group in asked for j in group}
        own_values = {header.names[j]: values for j, values in given.items() if j in own}
        named = [tuple(header.names[j] for j in group) for group in asked]
        effects = explainer.effects(named, kind=kind, custom_values=own_values, **options)
        for group, names in zip(asked, named, strict=True):
            found[kind, group] = effects[names[0] if len(names) == 1 else names]
    return [found[kind, group] for kind, group in zip(kinds, groups, strict=True)]

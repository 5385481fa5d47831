"""What a model knows of the columns it was fitted on: their names, and which hold numbers or categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus.errors import RefusalError, TableError, did_you_mean
from paribus.models.boosters import booster_library
from paribus.models.bound import unbound
from paribus.models.foreign import attribute, names_in, steps_of

# How the names begin that a library gives the columns of arrays; XGBoost and scikit-learn give none.
GENERATED = {"lightgbm": "Column_", "catboost": ""}
# Where a search, a calibration, a vote or a transformed target keeps the models it hands its table on to.
INNER = ("best_estimator_", "regressor_", "estimator_", "estimators_", "calibrated_classifiers_", "estimator")
DEEPEST = 3  # models within models that are looked at for names


@dataclass(frozen=True)
class Fitted:
    """The columns a model was fitted on, in its order.

    ``library`` is the boosting library that gets the table as it is, if one does. ``categories`` are those of
    the columns that were categories, where the model keeps them, ``numbers`` the columns that were numbers.
    ``optional`` are columns that the model leaves out before anything else, and does not miss.
    """

    names: tuple[str, ...]
    library: str | None = None
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    numbers: frozenset[int] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def typed(self) -> bool:
        """Whether a column of categories must be one: LightGBM and XGBoost take no text for it."""
        return self.library in ("lightgbm", "xgboost")

    @property
    def closed(self) -> bool:
        """Whether a category the model does not know is an error: to all but XGBoost it is a missing one."""
        return self.library == "xgboost"

    @property
    def pandas(self) -> bool:
        """Whether polars and Arrow tables must become pandas; CatBoost crashes at categories of polars."""
        return self.library == "catboost" or (self.typed and bool(self.categories))

    def knows(self, column: int) -> bool:
        """Return whether it is known what a column was; LightGBM and XGBoost never had text."""
        return self.typed or column in self.numbers or column in self.categories

    def held(self, column: int) -> str | None:
        """Return what the categories of a column are, in words; None where there is no word for it."""
        kinds = {type(value) for value in self.categories[column] if value is not None and value == value}
        if kinds and kinds <= {int, float}:
            return "numbers"
        return {str: "text", bool: "booleans"}.get(kinds.pop()) if len(kinds) == 1 else None

    def in_words(self, column: int) -> str:
        """Return what a column was when the model was fitted."""
        if column in self.categories:
            return f"categories of {self.held(column)}"
        return "numbers" if column in self.numbers else "numbers or on categories that it does not keep"

    def places(self, header: tuple[str, ...]) -> tuple[int | None, ...] | None:
        """Return where each column is in a header, None where it need not be there.

        None instead of all of them where the names are those that its library gives the columns of arrays.
        """
        spelled: dict[str, list[int]] = {}
        for place, own in enumerate(self.spelled(header)):
            spelled.setdefault(own, []).append(place)
        found: list[int | None] = []
        for name in self.names:
            those = spelled.get(name, [])
            if len(those) > 1:
                both = " and ".join(repr(header[place]) for place in those[:2])
                raise TableError(
                    f"X has columns {both}, and LightGBM calls both {name!r}; rename the one the model was "
                    "not fitted on"
                )
            found.append(those[0] if those else None)
        lacking = [
            name
            for name, place in zip(self.names, found, strict=True)
            if place is None and name not in self.optional
        ]
        if len(lacking) == len(found) and self.generated:
            return None
        if lacking:
            more = f" (nor {len(lacking) - 1} others)" if len(lacking) > 1 else ""
            near = did_you_mean(lacking[0], header)
            raise TableError(f"X has no column {lacking[0]!r}{more}, which the model was fitted on{near}")
        return tuple(found)

    def spelled(self, header: tuple[str, ...]) -> tuple[str, ...]:
        """Return a header as the library spells it."""
        return tuple(name.replace(" ", "_") for name in header) if self.library == "lightgbm" else header

    @property
    def generated(self) -> bool:
        """Whether the names are those that the library gives the columns of an array."""
        begin = GENERATED.get(self.library or "")
        return begin is not None and all(name == f"{begin}{j}" for j, name in enumerate(self.names))


def fitted_on(estimator: Any) -> Fitted | None:
    """Return what a model, or a method of one, knows of its columns; None where not even their names."""
    estimator, _ = unbound(estimator)
    names = columns_of(estimator)
    if names is None:
        return None
    model = next((one for one in _inner(estimator, names) if _is_typed(one)), None)
    return Fitted(
        names,
        booster_library(model),
        **({} if model is None else _types(model, len(names))),
        optional=_dropped(estimator, names),
    )


def columns_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns a model was fitted on, None where it does not know them."""
    own = ("feature_names_", "feature_names", "feature_name_", "feature_name")
    for name in ("feature_names_in_", *(own if booster_library(estimator) else ())):
        names = names_in(attribute(estimator, name))
        if names is not None:
            return names
    return None


def width_of(estimator: Any) -> int | None:
    """Return how many columns a model was fitted on, None where it does not know."""
    estimator, _ = unbound(estimator)
    names, width = columns_of(estimator), attribute(estimator, "n_features_in_")
    if names is not None:
        return len(names)
    return int(width) if isinstance(width, (int, np.integer)) else None


def _inner(estimator: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield a model and those within it that get the same columns as they are, outermost first."""
    if columns_of(estimator) == names:
        yield estimator
    steps = steps_of(estimator)
    if steps and all(isinstance(step, str) or step is None for step in steps[:-1]):  # "passthrough"
        yield from _inner(steps[-1], names)
    for inner in _held(estimator):
        if columns_of(inner) == names:
            yield from _inner(inner, names)


def _held(estimator: Any) -> Iterator[Any]:
    """Yield the models that a model hands its table on to, as far as it keeps them under a usual name."""
    for name in INNER:
        held = attribute(estimator, name)
        for one in held if isinstance(held, list) else (held,):
            yield attribute(one, "estimator") if name == "calibrated_classifiers_" else one


def orders_within(estimator: Any, header: tuple[str, ...]) -> Iterator[tuple[int, ...]]:
    """Yield a header in the order that models within one know it, if it is another and the model knows none.

    Steps before them may find columns by name: only predictions show whether the order matters.
    """
    estimator, _ = unbound(estimator)
    if columns_of(estimator) is not None:
        return
    for inner in _within(estimator, DEEPEST):
        own = Fitted(columns_of(inner) or (), booster_library(inner))
        spelled = own.spelled(header)
        if own.generated or not set(own.names) <= set(spelled):
            continue
        places = [spelled.index(name) for name in own.names]
        if places != sorted(places):
            moved = dict(zip(sorted(places), places, strict=True))
            yield tuple(moved.get(place, place) for place in range(len(header)))


def _within(estimator: Any, depth: int) -> Iterator[Any]:
    """Yield the outermost models within one that know the names of their columns."""
    for inner in (*steps_of(estimator)[-1:], *_held(estimator)):
        if columns_of(inner) is not None:
            yield inner
        elif depth:
            yield from _within(inner, depth - 1)


def _is_typed(model: Any) -> bool:
    if steps_of(model):
        return False
    own = any(
        base.__module__.startswith(("sklearn.ensemble.", "sklearn.tree.")) for base in type(model).__mro__
    )
    return booster_library(model) is not None or (own and hasattr(model, "is_categorical_"))


def _types(model: Any, columns: int) -> dict[str, Any]:
    """Return which columns of a model are categories, and which numbers."""
    library = booster_library(model)
    if library == "catboost":
        apart = {
            *model.get_cat_feature_indices(),
            *model.get_text_feature_indices(),
            *model.get_embedding_feature_indices(),
        }
        return {"numbers": frozenset(range(columns)) - apart}
    try:
        categories = _categories(model, library)
    except RefusalError:  # it does not say which columns were categories
        return {}
    if categories is None:
        return {}
    known = {place: tuple(values) for place, values in categories.items()}
    return {"categories": known, "numbers": frozenset(range(columns)).difference(known)}


def _categories(model: Any, library: str | None) -> Mapping[int, Any] | None:
    """Return the categories of each column that had some; None where nothing is known."""
    if library == "lightgbm":
        from paribus.models.readers.lightgbm import categories_of

        return categories_of(getattr(model, "booster_", model))
    if library == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        coded = [place for place, kind in enumerate(booster.feature_types or ()) if kind == "c"]
        # Before version 3.1 it kept none, and of codes given as numbers there are none to keep.
        read = getattr(booster, "get_categories", None) if coded else None
        stored = read(export_to_arrow=True).to_arrow() if read else ()
        found = {place: values.to_pylist() for place, (_, values) in enumerate(stored) if values is not None}
        return found if len(found) == len(coded) else None
    # Trees of scikit-learn number their categories with an encoder, histogram gradient boosting in a step.
    steps = getattr(getattr(model, "_preprocessor", None), "named_transformers_", {})
    encoder = getattr(model, "_categorical_encoder", None) or steps.get("encoder")
    if model.is_categorical_ is None or encoder is None:
        return {}
    places = [place for place, nominal in enumerate(model.is_categorical_) if nominal]
    return dict(zip(places, (values.tolist() for values in encoder.categories_), strict=True))


def _dropped(estimator: Any, names: tuple[str, ...]) -> frozenset[str]:
    """Return the columns that a `ColumnTransformer` at the beginning leaves out, and hence does not miss."""
    first = (steps_of(estimator) or [estimator])[0]
    parts = attribute(first, "transformers_")
    last = parts[-1] if isinstance(parts, list) and parts else None
    if not isinstance(last, tuple) or last[:2] != ("remainder", "drop"):
        return frozenset()
    return frozenset(names[one] if isinstance(one, int) else str(one) for one in last[2])

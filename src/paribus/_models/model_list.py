"""Several fitted models where one is expected: what they must have in common."""

from __future__ import annotations

from typing import Any

from paribus._data.table import Table
from paribus._models.adapter import adapt, is_model
from paribus._models.model import Model
from paribus._text import count
from paribus.errors import ModelError, OptionError


def as_model_list(estimator: Any) -> tuple[Any, ...] | None:
    """Return the models of a list or tuple; None for one model.

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


def require_single_model(estimator: Any, verb: str) -> None:
    """Refuse a list of models for a function that takes a single one."""
    several = as_model_list(estimator)
    if several is not None:
        raise ModelError(
            f"{verb} takes a single model, and estimator is a list of {len(several)}; pass one at a time. "
            f"partial_dependence, effects and accumulated_local_effects accept a list"
        )


def adapt_models(
    estimator: Any, table: Table, *, response_method: str = "auto", target_names: Any = None
) -> tuple[Model, ...]:
    """Return the models of a list, or the one there is, complete and with the same outputs."""
    options: dict[str, Any] = {"response_method": response_method, "target_names": target_names}
    several = as_model_list(estimator)
    if several is None:
        return (adapt(estimator, table, **options),)
    models = []
    for index, one in enumerate(several):
        try:
            models.append(adapt(one, table, **options))
        except (ModelError, OptionError) as error:
            raise type(error)(f"estimator[{index}]: {error}") from error
    for index, model in enumerate(models):
        _check_alike(models[0], model, index)
    return tuple(models)


def _check_alike(first: Model, model: Model, index: int) -> None:
    """Refuse a model whose numbers cannot be averaged with those of the first."""
    if model.scale != first.scale:
        differs, other = (f"a {one.scale} (by {one.response})" for one in (model, first))
        way_out = "name a response_method that means the same for all"
    elif model.n_outputs != first.n_outputs:
        differs, other = (count(one.n_outputs, "output") for one in (model, first))
        way_out = "fit them all on the same classes or targets"
    elif model.output_names != first.output_names:
        differs, other = (f"outputs named {', '.join(one.output_names)}" for one in (model, first))
        way_out = "name them with target_names if they are the same"
    else:
        return
    raise ModelError(
        f"the models of a list must have the same outputs: estimator[{index}] ({model.name}) has {differs}, "
        f"and estimator[0] ({first.name}) {other}; {way_out}"
    )

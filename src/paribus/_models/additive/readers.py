"""From a fitted model to its terms, if they give the model's own predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.additive.additive import Additive
from paribus._models.additive.glm import is_glm, read_glm
from paribus._models.additive.linear import is_linear, read_linear
from paribus._models.additive.naive_bayes import is_naive_bayes, read_naive_bayes
from paribus._models.additive.terms import LinearTerms, Terms
from paribus._models.link import Link
from paribus._models.preprocessing.preparation import Preparation
from paribus._models.trees import refuse_difference
from paribus.errors import RefusalCode, RefusalError


def is_additive(model: Any) -> bool:
    """Return whether a model is of a class whose terms can be read."""
    return is_linear(model) or is_naive_bayes(model) or is_glm(model)


def additive_for(
    model: Any,
    response: str,
    columns: tuple[int, ...] | None,
    sample: Table,
    prediction: Floats,
    preparation: Preparation | None,
) -> Additive:
    """Return the terms of a model for a response, or refuse; they must predict ``sample`` as the model did.

    ``columns`` are those the adapter picked of the model's outputs, ``prediction (n, o)`` what was picked.
    """
    terms, intercept, link = _read(model, response)
    margins, width = terms.shape
    if not (terms.finite and np.isfinite(intercept).all()):
        raise RefusalError(f"a coefficient of {type(model).__name__} is not finite", RefusalCode.UNSUPPORTED)
    received = len(sample.names) if preparation is None else len(preparation.owners)
    if width != received or len(intercept) != margins:
        raise RefusalError(
            f"{type(model).__name__} has coefficients of {width} columns and receives {received}",
            RefusalCode.DATA,
        )
    owner = np.arange(width) if preparation is None else np.array(preparation.owners)
    outputs = prediction.shape[1]
    both = columns is None and link.name == "sigmoid" and (margins, outputs) == (1, 2)
    picked = None if both or margins == outputs else _picked(link, columns, margins, outputs)
    additive = Additive(terms, intercept, owner, link, picked, both, preparation)
    whole = additive.terms(additive.rows(sample), ())
    ours = additive.outputs(additive.rest(whole, [])).T
    refuse_difference(ours, prediction, f"on {len(sample)} rows", "terms")
    return additive


def _read(model: Any, response: str) -> tuple[Terms, Floats, Link]:
    try:
        if is_naive_bayes(model):
            return read_naive_bayes(model, response)
        read = read_glm if is_glm(model) else read_linear
        coefficients, intercept, link = read(model, response)
    except AttributeError as error:
        raise RefusalError(
            f"{type(model).__name__} has no {error.name!r}: it is not fitted, or its release is not known",
            RefusalCode.NO_STRUCTURE,
        ) from error
    return LinearTerms(coefficients), intercept, link


def _picked(link: Link, columns: tuple[int, ...] | None, margins: int, outputs: int) -> tuple[int, ...]:
    """Return which probabilities are reported, where there are more of them."""
    if link.name == "softmax" and columns is not None and len(columns) == outputs and max(columns) < margins:
        return columns
    raise RefusalError(
        f"its terms add up to {margins} margins, and it has {outputs} outputs", RefusalCode.UNSUPPORTED
    )

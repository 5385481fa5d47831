"""Weighted sums of structures, and functions of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.table import Table
from paribus._models.additive import Additive, adds_terms, refuse_overflow, terms_sum
from paribus._models.predictor import Link
from paribus._models.trees import Trees, adds_up, tree_sum
from paribus.errors import RefusalCode, RefusalError, failure

Function: TypeAlias = Callable[[Floats], Floats]  # of outputs (k, ...), applied to each row separately


@dataclass(frozen=True, eq=False)
class Part:
    """A nested structure, and the number of its outputs."""

    structure: Any
    n_outputs: int


@dataclass(frozen=True, eq=False)
class Combination:
    """Outputs that are a function of weighted sums of the outputs of parts.

    Attributes
    ----------
    parts : tuple of Part
    weights : (s, k)
        Weights of the k outputs of all parts in the s sums.
    constant : (s,)
        Added to the sums.
    function : callable or None
        Function from sums ``(s, ...)`` to outputs ``(o, ...)``, None if the outputs are the sums.
    bound : float or None
        A power of two that no output exceeds, None if it is unknown.
    columns : tuple of int or None
        The outputs of the function that are reported, None for all.
    """

    parts: tuple[Part, ...]
    weights: Floats
    constant: Floats
    function: Function | None = None
    bound: float | None = None
    columns: tuple[int, ...] | None = None

    def outputs(self, computed: Sequence[Floats]) -> Floats:
        """Return the outputs ``(o, ...)`` from the outputs of each part."""
        inner = np.concatenate(computed)
        total = np.zeros((len(self.weights), *inner.shape[1:]))
        for sum_number, row in enumerate(self.weights):
            total[sum_number] += self.constant[sum_number]
            # In a fixed order, so that no bit depends on the number of rows.
            for k in np.flatnonzero(row):
                total[sum_number] += row[k] * inner[k]
        outputs = total
        if self.function is not None:
            try:
                outputs = self.function(total)
            except RefusalError:
                raise
            except Exception as error:  # of any class
                raise RefusalError(
                    f"its function of the sum of its models fails: {failure(error)}", RefusalCode.DATA
                ) from error
            if not np.isfinite(outputs).all():
                raise RefusalError(
                    "its function of the sum of its models is not finite everywhere", RefusalCode.DATA
                )
            refuse_overflow(outputs)
        return outputs if self.columns is None else outputs[list(self.columns)]


Structure: TypeAlias = Trees | Additive | Combination  # structures that have exact evaluators


@dataclass(frozen=True)
class Linked:
    """A link as a function of margins; with ``both``, probabilities of both classes are returned."""

    link: Link
    both: bool

    def __call__(self, margins: Floats) -> Floats:
        """Return the outputs."""
        outputs = self.link.apply(margins)
        return np.concatenate([1.0 - outputs, outputs]) if self.both else outputs


def weighted_sum(parts: Sequence[Part], weights: Floats, constant: Floats, context: Table) -> Part:
    """Return a weighted sum of structures. Trees with a linear link become one ensemble, terms one sum.

    ``weights`` have the shape ``(o, k)`` for the k outputs of all parts; ``context`` has a few rows.
    """
    flat: list[Part] = []  # nested sums are replaced by their parts
    flat_weights: list[Floats] = []
    for part, weight in zip(parts, _weights_by_part(parts, weights), strict=True):
        inner = part.structure
        if isinstance(inner, Combination) and inner.function is None and inner.columns is None:
            flat.extend(inner.parts)
            flat_weights.append(weight @ inner.weights)
            constant = constant + weight @ inner.constant
        else:
            flat.append(part)
            flat_weights.append(weight)
    others = list(zip(flat, _weights_by_part(flat, np.hstack(flat_weights)), strict=True))
    sums: list[tuple[Part, Floats]] = []
    for joins, add in ((adds_up, tree_sum), (adds_terms, terms_sum)):
        chosen = [(part.structure, weight) for part, weight in others if joins(part.structure)]
        others = [(part, weight) for part, weight in others if not joins(part.structure)]
        if chosen:
            alone = not others and not sums
            members, member_weights = zip(*chosen, strict=True)
            total = add(members, member_weights, constant if alone else np.zeros_like(constant), context)
            sums.append((Part(total, len(constant)), np.eye(len(constant))))
            if alone:
                return sums[0][0]
    used = (_with_used_outputs(part, weight, context) for part, weight in others)
    return _combined([*sums, *used], constant)


def _weights_by_part(parts: Sequence[Part], weights: Floats) -> list[Floats]:
    """Return the weights of each part."""
    ends = np.cumsum([part.n_outputs for part in parts])
    return np.split(weights, ends[:-1], axis=1)


def _with_used_outputs(part: Part, weights: Floats, context: Table) -> tuple[Part, Floats]:
    """Return a part without outputs of weight zero, and its weights. Keep it if all are zero."""
    used = np.flatnonzero(weights.any(axis=0))
    if not len(used) or len(used) == part.n_outputs:
        return part, weights
    return picked(part, tuple(used.tolist()), context), weights[:, used]


def _combined(parts: Sequence[tuple[Part, Floats]], constant: Floats) -> Part:
    weights = np.hstack([weight for _, weight in parts])
    return Part(Combination(tuple(part for part, _ in parts), weights, constant), len(constant))


def picked(part: Part, columns: tuple[int, ...], context: Table) -> Part:
    """Return a part with some of its outputs."""
    structure, chosen = part.structure, list(columns)
    weights = np.eye(part.n_outputs)[chosen]
    for joins, add in ((adds_up, tree_sum), (adds_terms, terms_sum)):
        if joins(structure):
            return Part(add([structure], [weights], np.zeros(len(chosen)), context), len(chosen))
    if isinstance(structure, (Trees, Additive)) and structure.both and columns == (1,):
        return Part(replace(structure, both=False), 1)
    if isinstance(structure, Combination) and structure.function is not None:
        before = range(part.n_outputs) if structure.columns is None else structure.columns
        return Part(replace(structure, columns=tuple(before[column] for column in chosen)), len(chosen))
    if isinstance(structure, Combination):
        weights_by_part = _weights_by_part(structure.parts, structure.weights[chosen])
        kept = zip(structure.parts, weights_by_part, strict=True)
        used = [_with_used_outputs(inner, weight, context) for inner, weight in kept]
        return _combined(used, structure.constant[chosen])
    return _combined([(part, weights)], np.zeros(len(chosen)))


def linked(part: Part, link: Link, both: bool) -> Part:
    """Return a part after a link to probabilities. Trees with a linear link only change their link."""
    outputs = 2 if both else part.n_outputs
    if adds_up(part.structure):
        return Part(replace(part.structure, link=link, bound=1.0, both=both), outputs)
    return transformed(part, Linked(link, both), outputs, 1.0)


def transformed(part: Part, function: Function, outputs: int, bound: float | None) -> Part:
    """Return a part whose outputs are a function of the outputs of another."""
    inner = part.structure
    if isinstance(inner, Combination) and inner.function is None and inner.columns is None:
        return Part(replace(inner, function=function, bound=bound), outputs)
    whole = Combination((part,), np.eye(part.n_outputs), np.zeros(part.n_outputs), function, bound)
    return Part(whole, outputs)


def refuse_joined(structure: Structure, features: Sequence[int]) -> None:
    """Refuse features that preprocessing combines with others in one column."""
    if isinstance(structure, Combination):
        for part in structure.parts:
            refuse_joined(part.structure, features)
    elif isinstance(structure, Additive):
        structure.refuse_joined(features)
    elif structure.ensemble.preparation is not None:
        structure.ensemble.preparation.refuse_joined(features)


def arrays_of(structure: Structure) -> Iterator[Array]:
    """Yield the arrays of a structure, without those of its preprocessing."""
    if isinstance(structure, Combination):
        yield from (structure.weights, structure.constant)
        for part in structure.parts:
            yield from arrays_of(part.structure)
    elif isinstance(structure, Additive):
        yield from (structure.intercept, structure.owner, *structure.column_terms.arrays)
    else:
        nodes = structure.ensemble
        yield from (nodes.column, nodes.threshold, nodes.left, nodes.right, nodes.missing_left, nodes.value)
        yield from (nodes.base, nodes.output, nodes.category_set)
        yield from (tested.listed for tested in nodes.category_sets)


def rounds_to_single(structure: Structure) -> bool:
    """Return whether a model, or a part of it, predicts in single precision."""
    if isinstance(structure, Combination):
        return any(rounds_to_single(part.structure) for part in structure.parts)
    return structure.single


def predicted(structure: Structure, table: Table) -> Floats:
    """Return the outputs ``(o, n)`` of a structure for the rows of a table."""
    if isinstance(structure, Trees):
        ensemble = structure.ensemble
        return structure.outputs(ensemble.margins(ensemble.numbers(table)).T)
    if isinstance(structure, Additive):
        whole = structure.terms(structure.rows(table), ())
        return structure.outputs(structure.rest(whole, []))
    return structure.outputs([predicted(part.structure, table) for part in structure.parts])

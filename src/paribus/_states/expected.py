"""What a stored state must look like before anybody computes with it.

A digest shows that a file is as it was written, not that whoever wrote it knew what this run expects. Numbers
of kept states become positions in memory, so each array is compared with a pattern first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from paribus._states.keyed import Keyed
from paribus.errors import CheckpointError

SMALLEST = 5e-324  # float above zero
LARGEST = float(np.finfo(np.float64).max)
HEAVIEST = 2.0  # weight of a row, as rows are held
COUNTED = ("i8", "f8")  # counts without and with weights
Lengths = dict[tuple[str, int], int]


class MisfitError(Exception):
    """What is not as expected, in words."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """An array: its dtypes, its shape, and between which numbers all of it lies.

    A length that only the rows decide has a name, and is the same wherever the name occurs in a state.
    Bounds, which may be one for each part of the array, refuse NaN unless ``nan`` lets it pass.
    """

    shape: tuple[int | str, ...]
    dtypes: tuple[Any, ...] = ("f8",)
    low: Any = None
    high: Any = None
    nan: bool = False

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise `MisfitError` unless it is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype not in tuple(map(np.dtype, self.dtypes)):
            raise MisfitError(f"is no array of {' or '.join(map(str, self.dtypes))}")
        if value.ndim != len(self.shape):
            raise MisfitError(f"has shape {value.shape} where {self.shape} is expected")
        wanted = [
            lengths.setdefault((size, where), own) if isinstance(size, str) else size
            for size, own in zip(self.shape, value.shape, strict=True)
        ]
        if wanted != list(value.shape):
            raise MisfitError(f"has shape {value.shape} where {tuple(wanted)} is expected")
        inside = np.ones((), bool) if self.low is None else value >= self.low
        if self.high is not None:
            inside = inside & (value <= self.high)
        if not (inside | np.isnan(value) if self.nan else inside).all():
            raise MisfitError("has numbers out of range")


@dataclass(frozen=True, eq=False)
class Number:
    """A single number of one type."""

    kind: type[int] | type[float]
    low: float = 0
    high: float = LARGEST

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise `MisfitError` unless it is such a number."""
        if not isinstance(value, self.kind) or isinstance(value, bool) or not self.low <= value <= self.high:
            raise MisfitError(f"is no {self.kind.__name__} from {self.low} to {self.high}")


@dataclass(frozen=True, eq=False)
class Where:
    """Anything that passes a test."""

    wording: str
    test: Callable[[Any], bool]

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise `MisfitError` unless it passes."""
        if not self.test(value):
            raise MisfitError(f"is no {self.wording}")


@dataclass(frozen=True, eq=False)
class Either:
    """One of several patterns."""

    patterns: tuple[Any, ...]

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise what the last pattern lacks unless one fits."""
        *others, last = self.patterns
        for pattern in others:
            tried = dict(lengths)
            try:
                _check(value, pattern, tried, where)
            except MisfitError:
                continue
            lengths.update(tried)
            return
        _check(value, last, lengths, where)


@dataclass(frozen=True, eq=False)
class Each:
    """A tuple of one or more parts that all fit one pattern; as many wherever the name occurs."""

    name: str
    pattern: Any
    least: int = 1

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise `MisfitError` unless every part fits."""
        if not isinstance(value, tuple) or len(value) < self.least:
            raise MisfitError(f"is no tuple of {self.least} or more parts")
        if lengths.setdefault((self.name, -1), len(value)) != len(value):
            raise MisfitError("has another number of parts than what belongs to it")
        for number, part in enumerate(value):
            _check(part, self.pattern, lengths, number)


@dataclass(frozen=True, eq=False)
class ByNumber:
    """A mapping of one or more integers in a range to parts that all fit one pattern."""

    low: int
    high: int
    pattern: Any

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise `MisfitError` unless every part fits."""
        if not isinstance(value, Mapping) or not value:
            raise MisfitError("is no mapping with parts")
        for key, part in value.items():
            Number(int, self.low, self.high).check(key, lengths, where)
            _check(part, self.pattern, lengths, where)


class Constructed:
    """A state of one class, each field of which fits a pattern; one that has a law (``holds``) obeys it."""

    def __init__(self, kind: type, /, **parts: Any) -> None:
        self.kind, self.parts = kind, parts
        assert set(parts) == {one.name for one in fields(kind)}, "every field needs a pattern"

    def check(self, value: Any, lengths: Lengths, where: int) -> None:
        """Raise `MisfitError` unless all fields fit."""
        if type(value) is not self.kind:
            raise MisfitError(f"is no {self.kind.__name__}")
        for name, pattern in self.parts.items():
            try:
                _check(getattr(value, name), pattern, lengths, where)
            except MisfitError as misfit:
                raise MisfitError(f"{name} {misfit}") from misfit
        if hasattr(value, "holds") and not value.holds():
            raise MisfitError("contradicts itself")


def _check(value: Any, pattern: Any, lengths: Lengths, where: int) -> None:
    if hasattr(pattern, "check"):
        pattern.check(value, lengths, where)
    elif isinstance(pattern, tuple):
        if not isinstance(value, tuple) or len(value) != len(pattern):
            raise MisfitError(f"is no tuple of {len(pattern)} parts")
        for part, own in zip(value, pattern, strict=True):
            _check(part, own, lengths, where)
    elif type(value) is not type(pattern) or value != pattern:
        raise MisfitError(f"is not {pattern!r}")


@dataclass(frozen=True, eq=False)
class Expected:
    """The patterns of states by key, and what must be there once all ranges are merged.

    ``optional`` keys may be absent then; ``totals`` are sums of named lengths; ``law`` returns what is
    wrong with all of them together, if anything.
    """

    states: Mapping[tuple[str, int], Any]
    optional: frozenset[tuple[str, int]] = frozenset()
    totals: Mapping[str, int] = field(default_factory=dict)
    law: Callable[[Mapping[Any, Any]], str | None] = lambda parts: None

    def beside(self, other: Expected) -> Expected:
        """Return what is expected of two evaluators in one pass."""
        laws = self.law, other.law
        return Expected(
            {**self.states, **other.states},
            self.optional | other.optional,
            {**self.totals, **other.totals},
            lambda parts: next(filter(None, (law(parts) for law in laws)), None),
        )

    def check(self, state: Any, *, whole: bool = False) -> None:
        """Refuse a state that no range of this run has; if it is of the whole run, one that lacks a part."""
        try:
            if type(state) is not Keyed or not isinstance(state.parts, Mapping):
                raise MisfitError("it is no Keyed")
            self._check(state.parts, whole)
        except MisfitError as misfit:
            raise CheckpointError(f"a stored state is not what this run expects: {misfit}") from misfit

    def _check(self, parts: Mapping[Any, Any], whole: bool) -> None:
        lengths: Lengths = {}
        for key, part in parts.items():
            if key not in self.states:
                raise MisfitError(f"{key!r} is unknown")
            try:
                _check(part, self.states[key], lengths, 0)
            except MisfitError as misfit:
                raise MisfitError(f"{key!r} {misfit}") from misfit
        if whole:
            self._complete(parts, lengths)

    def _complete(self, parts: Mapping[Any, Any], lengths: Lengths) -> None:
        lacking = [key for key in self.states if key not in parts and key not in self.optional]
        if lacking:
            raise MisfitError(f"{lacking[0]!r} is missing")
        for name, total in self.totals.items():
            have = sum(size for (own, where), size in lengths.items() if own == name and where >= 0)
            if have != total:
                raise MisfitError(f"it holds {have:,} {name} where there are {total:,}")
        wrong = self.law(parts)
        if wrong is not None:
            raise MisfitError(wrong)

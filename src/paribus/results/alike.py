"""Refuse results that do not belong side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from paribus.errors import InputError
from paribus.results.curve_values import curves_of


def check_same(
    parts: Mapping[str, Any],
    differs: str,
    what: Callable[[Any], Any],
    text: Callable[[Any], Any] | None = None,
) -> None:
    """Refuse parts that are not the same in one respect: ``what`` it is of a part, and ``text`` in words."""
    (first, one), *others = parts.items()
    text = text or what
    for name, other in others:
        if what(other) != what(one):
            differ = f"{name} is {differs} ({text(other)}) than {first} ({text(one)})"
            raise InputError(f"{differ}; pass results of the same")


def check_alike(parts: Mapping[str, Any]) -> None:
    """Refuse what are not averages of one feature on one scale."""
    for name, part in parts.items():
        if len(part.feature_names) != 1 or not curves_of(part):
            what = "an average" if curves_of(part) else "individual curves"
            raise InputError(
                f"{name} must be the average of a single feature, not {what} of "
                f"{' x '.join(part.feature_names)}; request one feature, and kind='average'"
            )
    check_same(parts, "about another feature", lambda part: part.feature_names[0])
    check_same(parts, "on another scale", attrgetter("provenance.scale"))
    check_same(parts, "about other outputs", lambda part: ", ".join(part.output_names))

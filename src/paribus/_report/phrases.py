"""Names, numbers and values as the page and its Markdown write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paribus._report.markup import Markup, element, text
from paribus._text import at_value, number, percent, short

LONGEST = 60  # characters of a name where it stands among others
NONE = "–"


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name that fits into a line: what is too long ends in an ellipsis."""
    plain = " ".join(text(name).split()) or "(empty)"
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def name_of(name: str, longest: int = LONGEST) -> Markup:
    """Return a name from the data: apart from the direction of the text around it, and short."""
    shown = shortened(name, longest)
    return element("bdi", shown, title=name[:1000] if shown.endswith("…") else None)


def full_name(name: str) -> Markup:
    """Return a name that can be unfolded if it is too long."""
    if len(shortened(name)) < LONGEST:
        return name_of(name)
    return element("details", element("summary", name_of(name)), element("bdi", name, class_="long"))


def label_of(key: str) -> Markup:
    """Return the name of a text of the user, such as ``data_role``, as a label."""
    return name_of(key[:1].upper() + key[1:].replace("_", " "))


def digits(value: Any) -> str:
    """Return a number of a table in six digits.

    >>> digits(0.123456789), digits(float("nan")), digits(1e-5)
    ('0.123457', '–', '1e-05')
    """
    return f"{value:.6g}" if math.isfinite(value) else NONE if math.isnan(value) else str(value)


def error_digits(value: Any) -> str:
    """Return a standard error in three digits."""
    return f"{value:.3g}" if math.isfinite(value) else NONE


def measured(value: float, error: float) -> str:
    """Return a number with its standard error, if it has one."""
    if math.isnan(value):
        return NONE
    return f"{number(value)} ± {short(error)}" if math.isfinite(error) else number(value)


def share(part: float) -> str:
    """Return a share of the data."""
    return NONE if math.isnan(part) else "0 %" if part == 0 else percent(part)


def at(value: Any) -> str:
    """Return a value of a feature as text."""
    return NONE if value is None else shortened(at_value(_plain(value)))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufU" else value


def fact(value: Any) -> str:
    """Return one entry of the record: text as it is, several as a list, none as a dash."""
    if value is None or value == () or value == {}:
        return NONE
    if isinstance(value, dict):
        return "; ".join(f"{key}: {fact(entry)}" for key, entry in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(fact, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)

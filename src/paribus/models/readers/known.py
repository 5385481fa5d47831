"""What is known of a library's trees, and what happens where that does not suffice."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from paribus.errors import RefusalError

LIBRARIES = {"sklearn": "scikit-learn", "xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost"}
MOST_COLUMNS = 1_000_000  # more are a damaged number, and one encoding each would take all memory
MOST_MARGINS = 100_000


def release(library: str) -> str:
    """Return a library's name and version, as in ``"XGBoost 3.2.0"``."""
    version = getattr(sys.modules.get(library), "__version__", "of an unknown version")
    return f"{LIBRARIES[library]} {version}"


def refuse_unknown(library: str, what: str, found: Iterable[str], known: Collection[str]) -> None:
    """Refuse fields that are not known: a release that adds one may decide predictions by it."""
    unknown = sorted(set(found).difference(known))
    if unknown:
        fields = ", ".join(map(repr, unknown))
        raise RefusalError(
            f"{release(library)} writes {what} with {fields:.200}, which the reader of its trees does not "
            "know and which may decide predictions"
        )


def counted(what: str, number: int, least: int, most: int) -> int:
    """Return a number that says how large something is, or refuse one out of range."""
    if not least <= number <= most:
        raise RefusalError(f"its trees cannot be read: {what} of {number} is not within {least} and {most}")
    return number


@contextmanager
def reading(library: str) -> Iterator[None]:
    """Refuse with the version whatever reading trees raises: the inside of a library may change."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused, not warned of
            yield
    except RefusalError:
        raise
    except Exception as error:
        raise RefusalError(
            f"the trees of {release(library)} cannot be read: {type(error).__name__}: {error!s:.200}"
        ) from error

"""What there is to know of a library of models, and what happens where that does not suffice."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._models.ensemble import Ensemble
from paribus._models.predictor import Predictor
from paribus.errors import RefusalCode, RefusalError

MOST_COLUMNS = 1_000_000  # more are a damaged number, and one encoding each would take all memory
MOST_MARGINS = 100_000
WHOLE = re.compile(r"[ \t]*-?[0-9]{1,19}[ \t]*")
Curves: TypeAlias = Mapping[str, Mapping[str, Any]]  # scores of each iteration, by their rows and their name


class Library(ABC):
    """All that is known of one library; what a library does not override has no meaning there.

    Attributes
    ----------
    module, title : str
        The name it is imported by, and the one it is written by.
    boosts : bool
        Its wrappers derive from scikit-learn's classes, and their margin takes a keyword of ``predict``.
    native : str, optional
        The class of its models that have ``predict`` alone.
    names : tuple of str
        Where its models keep the names of their columns, beside ``feature_names_in_``.
    generated : str, optional
        How the names begin that it gives the columns of arrays, None if it gives them none.
    typed : bool
        A column of categories must be one: it takes no text for it.
    closed : bool
        A category the model does not know is an error; to the others it is a missing value.
    pandas : bool
        Its models take no categories of other frame libraries.
    absent : float
        What it takes an entry for that a sparse matrix does not store.
    importances : mapping of str
        What it calls importances, in words.
    """

    module: ClassVar[str]
    title: ClassVar[str]
    boosts: ClassVar[bool] = False
    native: ClassVar[str | None] = None
    names: ClassVar[tuple[str, ...]] = ()
    generated: ClassVar[str | None] = None
    typed: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    pandas: ClassVar[bool] = False
    absent: ClassVar[float] = 0.0
    importances: ClassVar[Mapping[str, str]] = {}

    def is_native(self, model: Any) -> bool:
        """Return whether a model is one of the library's own that has ``predict`` alone."""
        kind = type(model)
        return kind.__name__ == self.native and kind.__module__.split(".")[0] == self.module

    def is_own(self, model: Any) -> bool:
        """Return whether the class of a model is one of the library, and no subclass of another."""
        return type(model).__module__.split(".")[0] == self.module

    def written_by(self, model: Any) -> tuple[str, str] | None:
        """Return the library that wrote a model and its version, None for a model of the one imported."""
        return None

    def remarks(self, model: Any) -> list[str]:
        """Return what is to be said of where the structure of a model comes from."""
        return []

    def margin(self, model: Any) -> Mapping[str, Any]:
        """Return the keywords that make ``predict`` of a boosted model return the margin, before any link."""
        return {}

    def native_predictor(self, model: Any, keywords: Mapping[str, Any]) -> Predictor:
        """Return how a native model predicts."""
        return Predictor(model, "predict", keywords)

    def spelled(self, name: str) -> str:
        """Return the name of a column as the library spells it."""
        return name

    def has_types(self, model: Any) -> bool:
        """Return whether a model may know which of its columns were categories."""
        return self.boosts

    def categories(self, model: Any) -> Mapping[int, Any] | None:
        """Return the categories of each column that had some; None where nothing is known."""
        return None

    def numbers(self, model: Any, columns: int) -> frozenset[int]:
        """Return the columns that were numbers, of a model that does not keep its categories."""
        return frozenset()

    def importance(self, model: Any) -> Any:
        """Return the importance a model reports of its columns, None if none; or raise `RefusalError`."""
        return getattr(model, "feature_importances_", None)

    def importance_name(self, model: Any) -> str:
        """Return what that is a share of, in words: of the kind a wrapper was made with, gain if none."""
        kind = getattr(model, "importance_type", None) or "gain"
        return f"{self.importances.get(kind, kind)} in {self.module}"

    def training_curves(self, model: Any) -> Curves:
        """Return the scores that a model kept while it was fitted: by rows and score, one an iteration."""
        return {}

    @abstractmethod
    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a fitted model, or raise `RefusalError`."""

    @classmethod
    def release(cls) -> str:
        """Return the library and its version, as in ``"XGBoost 3.2.0"``."""
        version = getattr(sys.modules.get(cls.module), "__version__", "of an unknown version")
        return f"{cls.title} {version}"

    @classmethod
    def refuse_unknown(cls, what: str, found: Iterable[str], known: Collection[str]) -> None:
        """Refuse fields that are not known: a release that adds one may decide predictions by it."""
        unknown = sorted(set(found).difference(known))
        if unknown:
            fields = ", ".join(map(repr, unknown))
            raise RefusalError(
                f"{cls.release()} writes {what} with {fields:.200}, which the reader of its trees does not "
                "know and which may decide predictions"
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Refuse with the version whatever reading trees raises: the inside of a library may change."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused, not warned of
                yield
        except RefusalError as refusal:
            if refusal.code is RefusalCode.OTHER:
                refusal.code = RefusalCode.NO_STRUCTURE
            raise
        except Exception as error:
            text = f"the trees of {self.release()} cannot be read: {type(error).__name__}: {error!s:.200}"
            raise RefusalError(text, RefusalCode.NO_STRUCTURE) from error


def counted(what: str, number: int, least: int, most: int) -> int:
    """Return a number that says how large something is, or refuse one out of range."""
    if not least <= number <= most:
        raise RefusalError(f"its trees cannot be read: {what} of {number} is not within {least} and {most}")
    return number


def whole(what: str, text: Any) -> int:
    """Return an integer that a file has as text; Python reads more as one than libraries do."""
    if isinstance(text, str) and WHOLE.fullmatch(text):
        return int(text)
    raise RefusalError(f"its trees cannot be read: {what} {text!r:.60} is not an integer")


def whole_numbers(what: str, values: Iterable[Any]) -> None:
    """Refuse positions that are not integers: a truth value or a text is another number to each reader."""
    if not set(map(type, values)) <= {int}:
        raise RefusalError(f"its trees cannot be read: positions of {what} are not all integers")


def real_numbers(what: str, values: Iterable[Any]) -> Floats:
    """Return finite numbers, or refuse others: a text or a truth value is another number to each reader."""
    found = list(values)
    numbers = np.array(found, dtype=np.float64) if set(map(type, found)) <= {int, float} else None
    if numbers is None or not np.isfinite(numbers).all():
        raise RefusalError(f"its trees cannot be read: {what} are not all finite numbers")
    return numbers

"""Interface of a model library, and checks of the numbers that libraries write."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Floats
from paribus._models.ensemble import Ensemble
from paribus._models.parameters import package_of
from paribus._models.predictor import Predictor
from paribus.errors import RefusalCode, RefusalError

MOST_COLUMNS = 1_000_000  # a larger number is damaged, and one encoding each would take all memory
MOST_MARGINS = 100_000
WHOLE = re.compile(r"[ \t]*-?[0-9]{1,19}[ \t]*")


class Library(ABC):
    """Facts about one model library. The defaults hold for libraries that do not override them.

    Attributes
    ----------
    module, title : str
        Name of the imported module, and name of the library in texts.
    boosts : bool
        Whether it is a boosting library: its wrappers derive from scikit-learn's classes, and ``predict``
        returns margins with a keyword.
    native : str, optional
        Name of the class of native models, which have only ``predict``.
    names : tuple of str
        Attributes that hold the column names of its models, other than ``feature_names_in_``.
    generated : str, optional
        Prefix of the names it generates for the columns of arrays, None if it generates no names.
    typed : bool
        Whether categorical columns must have a category dtype. Text is not accepted.
    closed : bool
        Whether an unknown category is an error. For other libraries it is a missing value.
    pandas : bool
        Whether its models accept categories from pandas only.
    absent : float
        Value of entries that a sparse matrix does not store.
    margin_keywords : mapping of str
        Keywords with which ``predict`` of a boosted model returns the margin, before any link.
    importances : mapping of str
        Descriptions of its types of importance.
    constraint_parameters : tuple of str
        Names of the parameter with the monotone constraints, including aliases.
    deviance_powers : mapping of str
        Power of the Tweedie distribution by objective in lower case. None: a parameter sets the power.
    class_powers : mapping of str
        The same by name of the estimator class. None: the attribute ``power`` sets the power.
    probability_objectives : tuple of str
        Objectives for which ``predict`` of a native model returns probabilities.
    other_scale_objectives : tuple of str
        Prefixes of objectives in lower case for which ``predict`` returns margins, labels or ranking scores.
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
    margin_keywords: ClassVar[Mapping[str, Any]] = {}
    importances: ClassVar[Mapping[str, str]] = {}
    constraint_parameters: ClassVar[tuple[str, ...]] = ()
    deviance_powers: ClassVar[Mapping[str, float | None]] = {}
    class_powers: ClassVar[Mapping[str, float | None]] = {}
    probability_objectives: ClassVar[tuple[str, ...]] = ()
    other_scale_objectives: ClassVar[tuple[str, ...]] = ()

    def is_native(self, model: Any) -> bool:
        """Return whether a model is a native model of the library, which has only ``predict``."""
        return type(model).__name__ == self.native and package_of(model) == self.module

    def is_own(self, model: Any) -> bool:
        """Return whether the library defines the class of a model. A user's subclass is excluded."""
        return package_of(model) == self.module

    def margin(self, model: Any) -> Mapping[str, Any]:
        """Return the keywords with which ``predict`` of a boosted model returns the margin."""
        return self.margin_keywords

    def unreported_settings(self, model: Any) -> dict[str, Any]:
        """Return settings of the objective that neither ``get_params`` nor ``params`` of a model reports."""
        return {}

    def native_predictor(self, model: Any, keywords: Mapping[str, Any]) -> Predictor:
        """Return the predictor of a native model."""
        return Predictor(model, "predict", keywords)

    def spelled(self, name: str) -> str:
        """Return the name of a column in the spelling of the library."""
        return name

    def has_types(self, model: Any) -> bool:
        """Return whether a model may record which of its columns were categorical."""
        return self.boosts

    def categories(self, model: Any) -> Mapping[int, Any] | None:
        """Return the categories of each categorical column, None if the model does not record them."""
        return None

    def numbers(self, model: Any, columns: int) -> frozenset[int]:
        """Return the numeric columns of a model that does not record its categories."""
        return frozenset()

    def importance(self, model: Any) -> Any:
        """Return the importance of each column that a model reports, None if it reports none.

        Raise `RefusalError` with the reason if a reported importance is unusable.
        """
        return getattr(model, "feature_importances_", None)

    def importance_name(self, model: Any) -> str:
        """Return a description of the reported importance. The type is gain unless a wrapper sets another."""
        kind = getattr(model, "importance_type", None) or "gain"
        return f"{self.importances.get(kind, kind)} in {self.module}"

    @abstractmethod
    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a fitted model, or raise `RefusalError`."""

    def read_trees_at(self, model: Any, response: str, times: tuple[float, ...]) -> Ensemble:
        """Return trees whose leaves hold a survival function, or a cumulative hazard, at some times."""
        raise RefusalError(f"no trees of {self.title} hold functions of time", RefusalCode.UNSUPPORTED)

    @classmethod
    def release(cls) -> str:
        """Return the library and its version, such as ``"XGBoost 3.2.0"``."""
        version = getattr(sys.modules.get(cls.module), "__version__", "of an unknown version")
        return f"{cls.title} {version}"

    @classmethod
    def refuse_unknown(cls, what: str, fields: Iterable[str], known: Collection[str]) -> None:
        """Refuse unknown fields: in a new release they may affect predictions."""
        unknown = ", ".join(map(repr, sorted(set(fields).difference(known))))
        if unknown:
            raise RefusalError(
                f"{cls.release()} writes {what} with {unknown:.200}, which the reader of its trees does not "
                "know and which may decide predictions"
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert any error while trees are read to a refusal that names the version."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused later, without a warning
                yield
        except RefusalError as refusal:
            if refusal.code is RefusalCode.OTHER:
                refusal.code = RefusalCode.NO_STRUCTURE
            raise
        except Exception as error:
            text = f"the trees of {self.release()} cannot be read: {type(error).__name__}: {error!s:.200}"
            raise RefusalError(text, RefusalCode.NO_STRUCTURE) from error


def counted(what: str, number: int, least: int, most: int) -> int:
    """Return a size or count, or refuse one out of range."""
    if not least <= number <= most:
        raise RefusalError(f"its trees cannot be read: {what} of {number} is not within {least} and {most}")
    return number


def whole(what: str, text: Any) -> int:
    """Return the integer in a text. Only the forms that libraries write are accepted."""
    if isinstance(text, str) and WHOLE.fullmatch(text):
        return int(text)
    raise RefusalError(f"its trees cannot be read: {what} {text!r:.60} is not an integer")


def whole_numbers(what: str, values: Iterable[Any]) -> None:
    """Refuse positions that are not integers. Readers would convert booleans and text differently."""
    if not set(map(type, values)) <= {int}:
        raise RefusalError(f"its trees cannot be read: positions of {what} are not all integers")


def real_numbers(what: str, values: Iterable[Any]) -> Floats:
    """Return finite numbers, or refuse other values, such as booleans and text."""
    items = list(values)
    numbers = np.array(items, dtype=np.float64) if set(map(type, items)) <= {int, float} else None
    if numbers is None or not np.isfinite(numbers).all():
        raise RefusalError(f"its trees cannot be read: {what} are not all finite numbers")
    return numbers

"""Exceptions.

::

    ParibusError
    ├── InputError (also a ValueError)      an argument cannot be used as it is
    │   ├── OptionError                     a keyword has a value outside its range
    │   ├── TableError                      X is not a table paribus can read
    │   │   └── SourceError                 a file or stream of X cannot be read
    │   ├── FeatureError                    a feature is not in X, or cannot be varied
    │   ├── WeightError                     sample_weight is not a set of weights
    │   ├── GridError                       a requested grid value is invalid for the feature
    │   └── ModelFileError                  a model file cannot be read, or is of a kind that is not read
    ├── ModelError                          prediction failed, or returned an unexpected type or shape
    ├── RefusalError                        the requested method does not apply to this model
    ├── MemoryBoundError (also a MemoryError)  the result itself exceeds max_memory
    ├── CheckpointError                     a checkpoint is of another run, was changed, or cannot be used
    ├── ExecutorError                       a cluster could not finish
    ├── FormatError                         a saved result cannot be understood
    └── DrawingError                        this result has no such picture


Every message names the argument, the value, and the way out.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, get_args

__all__ = [
    "CheckpointError",
    "DrawingError",
    "ExecutorError",
    "FeatureError",
    "FormatError",
    "GridError",
    "InputError",
    "MemoryBoundError",
    "ModelError",
    "ModelFileError",
    "OptionError",
    "ParibusError",
    "RefusalCode",
    "RefusalError",
    "SourceError",
    "TableError",
    "WeightError",
]


class ParibusError(Exception):
    """Base class of all errors that paribus raises."""


class InputError(ParibusError, ValueError):
    """An argument cannot be used as it is."""


class OptionError(InputError):
    """A keyword has a value outside its range."""


class TableError(InputError):
    """X is not a table paribus can read."""


class SourceError(TableError):
    """A file or stream of X cannot be read."""


class FeatureError(InputError):
    """A feature is not a column of X, or cannot be varied."""


class WeightError(InputError):
    """sample_weight is not a set of weights for the rows of X."""


class GridError(InputError):
    """A requested grid value is invalid for the feature."""


class ModelFileError(InputError):
    """A model file cannot be read, or is of a kind that is not read."""


class ModelError(ParibusError):
    """Prediction failed, or returned an unexpected type or shape."""


class RefusalCode(StrEnum):
    """Kinds of reasons why an evaluator is not used."""

    NOT_REQUESTED = "not requested"  #: method= names another one
    NO_STRUCTURE = "no structure"  #: the model has no structure that can be read, or was changed
    UNSUPPORTED = "unsupported"  #: it cannot give this statistic of this model
    NONLINEAR_LINK = "nonlinear link"  #: the response is no sum over leaves
    DIFFERS = "differs"  #: what was read does not give the predictions of the model
    DATA = "data"  #: values of X cannot be distinguished as the model does
    MEMORY = "memory"  #: it needs more than max_memory
    SLOWER = "slower"  #: without compiled kernels, the model itself predicts in less time
    OTHER = "other"  #: the reason is in the text alone


class RefusalError(ParibusError):
    """The method requested by name cannot give this estimate; the message and ``code`` say why.

    ``part`` is the step of a pipeline or the model inside another that is responsible, None if it is not one.
    """

    def __init__(self, message: str, code: RefusalCode = RefusalCode.OTHER, part: str | None = None) -> None:
        super().__init__(message)
        self.code, self.part = code, part

    def __reduce__(self) -> tuple[Any, ...]:  # with its code, back from a worker
        return type(self), (str(self), self.code, self.part)


class MemoryBoundError(ParibusError, MemoryError):
    """The result itself exceeds the memory bound."""


class CheckpointError(ParibusError):
    """A checkpoint is of other data, another model or other blocks, was changed, or cannot be used."""


class ExecutorError(ParibusError):
    """A cluster could not finish; the message names the rows."""


class FormatError(ParibusError):
    """A saved result cannot be understood."""


class DrawingError(ParibusError):
    """A result has no such picture."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'age'?"``, or the known words when none is close; nothing without any."""
    words = list(known)
    if not words:
        return ""
    spelled = {one.lower(): one for one in reversed(words)}  # names often differ in case alone
    close = get_close_matches(word, words, n=1) or get_close_matches(word.lower(), spelled, n=1)
    if close:
        return f"; did you mean {spelled.get(close[0], close[0])!r}?"
    shown = ", ".join(repr(w) for w in words[:8])
    return f"; known: {shown}" + (f" and {len(words) - 8} more" if len(words) > 8 else "")


def failure(error: BaseException) -> str:
    """Return the type and text of another library's error, without the middle of a long one.

    XGBoost, for example, appends its stack to what was wrong.
    """
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 500 else f"{text[:400]} ... {text[-95:]}"


def check_choice(name: str, value: object, allowed: Any) -> None:
    """Refuse ``value`` unless it is one of the ``allowed`` words of option ``name``, a tuple or Literal."""
    words = get_args(allowed) or allowed
    if value not in words:
        raise OptionError(f"{name}={value!r} is not one of {', '.join(map(repr, words))}")


def check_flags(**flags: Any) -> None:
    """Raise for flags that are neither True nor False; ``progress`` may be None."""
    for name, value in flags.items():
        allowed = (None, True, False) if name == "progress" else (True, False)
        if not any(value is one for one in allowed):
            raise OptionError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")

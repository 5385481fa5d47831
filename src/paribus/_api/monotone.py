"""Directions that curves should have: those of ``monotone=``, and the constraints a model was fitted with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

from paribus._data.features import Header, position
from paribus._text import count
from paribus.errors import FeatureError, OptionError, did_you_mean
from paribus.results.shape import Direction

WORDS: dict[str, Direction | None] = {
    "rising": "rising",
    "increasing": "rising",
    "falling": "falling",
    "decreasing": "falling",
}
SIGNS: dict[int, Direction | None] = {1: "rising", -1: "falling", 0: None}
# What libraries call the constraints: scikit-learn, LightGBM with its aliases, XGBoost, CatBoost.
PARAMETERS = ("monotonic_cst", "monotone_constraints", "monotone_constraint", "mc")
SPELLED = {"1": 1, "+1": 1, "1.0": 1, "-1": -1, "-1.0": -1}  # other text is no direction
WAYS = "1, 'rising' or 'increasing', -1, 'falling' or 'decreasing', 0 or None for neither"

# By feature and output, the direction; None declares that there is none.
Declared: TypeAlias = dict[str, dict[str, Direction | None]]


def directions_of(
    monotone: Any, estimator: Any, header: Header, outputs: Sequence[str]
) -> dict[str, dict[str, Direction]]:
    """Return the direction of each curve that has one, by feature and output.

    What the user declares of a feature comes before the constraints of the model, which of a list of models
    are not read.
    """
    own = {} if estimator is None else model_directions(estimator, header.names, outputs)
    joined = own | declared_directions(monotone, header, outputs)
    return {
        name: {output: direction for output, direction in by_output.items() if direction is not None}
        for name, by_output in joined.items()
    }


def declared_features(monotone: Any, header: Header) -> frozenset[str]:
    """Return the features that ``monotone=`` declares a direction of, before outputs are known."""
    read = declared_directions(monotone, header, None)
    return frozenset(name for name, by_output in read.items() if any(by_output.values()))


def declared_directions(monotone: Any, header: Header, outputs: Sequence[str] | None) -> Declared:
    """Read ``monotone=``: a mapping from features, or one direction for each column of X.

    The value of a feature may be a mapping from outputs, else it is meant for all of them. Outputs may not
    be known yet.
    """
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        monotone = _by_column(monotone, header)
    found: Declared = {}
    for token, value in monotone.items():
        try:
            name = header.names[position(token, header)]
        except FeatureError as error:
            raise FeatureError(f"monotone: {error}") from error
        if name in found:
            raise OptionError(f"monotone={monotone!r} names {name!r} twice, by name and by position")
        by_output = value if isinstance(value, Mapping) else dict.fromkeys(outputs or ("",), value)
        for output, own in by_output.items():
            if outputs is not None and output not in outputs:
                raise OptionError(
                    f"monotone of {name!r}: there is no output {output!r}{did_you_mean(str(output), outputs)}"
                )
            found.setdefault(name, {})[output] = _direction(own, name)
    return found


def _by_column(monotone: Any, header: Header) -> dict[Any, Any]:
    is_list = isinstance(monotone, (Sequence, np.ndarray)) and not isinstance(monotone, str)
    if not is_list or len(monotone) != len(header.given):
        raise OptionError(
            f"monotone={monotone!r} must map features to directions, as in {{{header.given[0]!r}: 1}}, or "
            f"have one for each of the {count(len(header.given), 'column')} of X"
        )
    columns = zip(header.given, monotone, strict=True)
    return {name: value for name, value in columns if name in header.names}


def _direction(value: Any, name: str) -> Direction | None:
    if value is None:
        return None
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if number and value in SIGNS:
        return SIGNS[int(value)]
    close = isinstance(value, str) and get_close_matches(value, WORDS)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise OptionError(f"monotone of {name!r} is {value!r}; it must be {WAYS}{hint}")


def model_directions(estimator: Any, names: tuple[str, ...], outputs: Sequence[str]) -> Declared:
    """Return the constraints a model was fitted with, by feature; none that are not about these columns.

    They are of the prediction, or of the probability of the second of two classes; those of models with more
    outputs are no directions of the outputs.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    classes = getattr(estimator, "classes_", None)
    if len(outputs) != 1 or (classes is not None and len(classes) > 2):
        return {}
    signs = _signs(_parameter(estimator), names)
    return {name: {outputs[0]: SIGNS[sign]} for name, sign in signs.items()}


def _parameter(estimator: Any) -> Any:
    """Return the constraints of a model, as its library has it."""
    own = getattr(estimator, "get_params", None)
    known = own() if callable(own) and not isinstance(estimator, type) else getattr(estimator, "params", {})
    if not isinstance(known, Mapping):
        return None
    return next((known[name] for name in PARAMETERS if known.get(name) is not None), None)


def _signs(constraints: Any, names: tuple[str, ...]) -> dict[str, int]:
    """Return signs by column of constraints in any of the forms libraries take.

    >>> _signs("(1,-1)", ("a", "b")), _signs({"b": -1}, ("a", "b")), _signs("b:1", ("a", "b"))
    ({'a': 1, 'b': -1}, {'b': -1}, {'b': 1})
    """
    if isinstance(constraints, str):
        parts = [part.strip() for part in constraints.strip("()[] ").split(",") if part.strip()]
        pairs = [part.rpartition(":") for part in parts]
        named = all(middle for _, middle, _ in pairs)
        constraints = {key: sign for key, _, sign in pairs} if named else parts
    if isinstance(constraints, Mapping):
        keyed = {str(key): value for key, value in constraints.items()}
        by_name = {name: keyed.get(name, keyed.get(str(j))) for j, name in enumerate(names)}
    elif isinstance(constraints, (Sequence, np.ndarray)) and len(constraints) == len(names):
        by_name = dict(zip(names, constraints, strict=True))
    else:
        return {}
    read = {name: SPELLED.get(str(value).strip()) for name, value in by_name.items()}
    return {name: sign for name, sign in read.items() if sign is not None}

"""Plain arguments that several verbs share, read once."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus.errors import OptionError

AUTO = "auto"
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def check_flags(**flags: Any) -> None:
    """Refuse flags that are neither True nor False; ``progress`` may be None."""
    for name, value in flags.items():
        allowed = (None, True, False) if name == "progress" else (True, False)
        if not any(value is one for one in allowed):
            raise OptionError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")


def resolve_subsample(subsample: Any, n_max: Any) -> int | str | None:
    """Read how many rows to use; ``n_max`` is another name of ``subsample``."""
    if n_max is not None:
        if subsample != AUTO:
            raise OptionError(f"subsample={subsample!r} and n_max={n_max!r} are aliases; pass one of them")
        return check_int("n_max", n_max, 2)
    if subsample is None or (isinstance(subsample, str) and subsample == AUTO):
        return subsample
    return check_int("subsample", subsample, 2)


def check_int(name: str, value: Any, least: int) -> int:
    """Validate an integer with a lower bound."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        words = {"subsample": ", None or 'auto'", "max_predictions": ", or None"}.get(name, "")
        raise OptionError(f"{name}={value!r} must be an integer of at least {least}{words}")
    return int(value)


def prediction_limit(max_predictions: Any) -> int | None:
    """Read how many predictions a call may make, None for any number."""
    return None if max_predictions is None else check_int("max_predictions", max_predictions, 1)


def hour_limit(max_hours: Any) -> float | None:
    """Read how many hours an explanation may be estimated to take, None for any number."""
    if max_hours is None:
        return None
    number = isinstance(max_hours, (int, float, np.integer, np.floating)) and not isinstance(max_hours, bool)
    if not number or not max_hours > 0:
        raise OptionError(f"max_hours={max_hours!r} must be a positive number of hours, or None for any")
    return float(max_hours)


def seed_of(random_state: Any) -> int:
    """Return the seed of a sample; a generator draws one."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return check_int("random_state", random_state, 0)


def probabilities_of(quantiles: Any) -> tuple[float, ...] | None:
    """Read which quantiles of the rows' curves are wanted.

    >>> probabilities_of(True), probabilities_of([0.5])
    ((0.1, 0.25, 0.5, 0.75, 0.9), (0.5,))
    """
    if quantiles is None or isinstance(quantiles, bool):
        return QUANTILES if quantiles else None
    way_out = f"must be None, True, or distinct probabilities in [0, 1], such as {QUANTILES}"
    try:
        probabilities = tuple(float(p) for p in quantiles)
    except (TypeError, ValueError) as error:
        raise OptionError(f"quantiles={quantiles!r} {way_out}") from error
    if isinstance(quantiles, str) or not probabilities or not all(0 <= p <= 1 for p in probabilities):
        raise OptionError(f"quantiles={quantiles!r} {way_out}")
    if len({f"{p:.8g}" for p in probabilities}) < len(probabilities):
        raise OptionError(f"quantiles={quantiles!r} has a duplicate probability; it {way_out}")
    return probabilities

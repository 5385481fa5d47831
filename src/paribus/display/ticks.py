"""Round numbers along an axis, as people write them."""

from __future__ import annotations

import numpy as np

TICKS = 5  # numbers on an axis, about


def nice_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return round numbers between two ends, as they are written."""
    step = _round_step((high - low) / TICKS)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return [(k * step, _written(k * step, digits, step)) for k in range(first, last + 1)]


def _round_step(about: float) -> float:
    """Return 1, 2, 2.5 or 5 times a power of ten, whichever is nearest."""
    power = 10.0 ** np.floor(np.log10(about))
    return float(power * min((1, 2, 2.5, 5, 10), key=lambda step: abs(np.log(about / power / step))))


def _written(value: float, digits: int, step: float) -> str:
    if digits > 5 or step >= 1e6:
        most = max(
            3, int(np.ceil(np.log10(max(abs(value), step) / step))) + 1
        )  # digits that tell steps apart
        return (
            f"{value:.{most}g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-").replace("-", "−")
        )
    if step * 10**digits % 1 > 1e-9:  # of steps of 2.5
        digits += 1
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")

"""How differently rows respond: quantiles of their curves at each point, whoever drew the curves."""

from __future__ import annotations

from paribus._contracts import Floats
from paribus._evaluators.request import EvaluationRequest
from paribus._states import PointValues, curve_quantiles


def quantile_state(
    request: EvaluationRequest,
    curves: Floats | None,
    weights: Floats | None,
    values: PointValues | None,
    threads: int,
) -> tuple[Floats | None, float]:
    """Return quantiles ``(o, q, g)`` and the error of their ranks, from all curves or from what was kept."""
    if request.quantiles is None:
        return None, 0.0
    if curves is not None:
        return curve_quantiles(curves, weights, request.quantiles.probabilities, threads), 0.0
    assert values is not None
    return values.quantiles(request.quantiles.probabilities, threads)

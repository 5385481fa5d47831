"""Pictures of interactions and of importance: what is asked for, and whether it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paribus.contracts import Floats
from paribus.display.bars import importance_bars, interaction_bars
from paribus.display.pairs import heatmap, network
from paribus.errors import DrawingError, OptionError, one_of
from paribus.results import HStatistics, Importance
from paribus.results.hstatistics import STATISTICS
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("bars", "heatmap", "network")


def draw_interactions(
    result: HStatistics, kind: str, *, statistic: str, k: int, output: str | int | None, ax: Axes | None
) -> Axes:
    """Draw interactions of one output on ``ax``, or on a new figure."""
    one_of("kind", kind, KINDS)
    one_of("statistic", statistic, STATISTICS)
    if statistic == "total":
        raise DrawingError("statistic='total' is one number for each output; read h_squared_total")
    if kind != "bars" and min(k, len(result.features)) < 2:
        raise DrawingError(f"k={k} leaves no pair to draw; pass at least 2")
    if kind != "bars" and statistic != "pairwise":
        raise DrawingError(f"kind={kind!r} shows pairs; draw statistic={statistic!r} with kind='bars'")
    o = _one_output(result.output_names, output)
    _check_positive(k)
    _check_finite(result.ratio(statistic).numerator[:, o])
    if kind == "bars":
        return interaction_bars(result, statistic, k, o, ax)
    return heatmap(result, k, o, ax) if kind == "heatmap" else network(result, k, o, ax)


def draw_importance(result: Importance, *, k: int, output: str | int | None, ax: Axes | None) -> Axes:
    """Draw the importance of features for one output on ``ax``, or on a new figure."""
    o = _one_output(result.output_names, output)
    _check_positive(k)
    _check_finite(result.values if result.values.ndim == 1 else result.values[:, o])
    return importance_bars(result, k, o, ax)


def _one_output(names: tuple[str, ...], output: str | int | None) -> int:
    outputs = chosen(names, output)
    if len(outputs) > 1:
        raise DrawingError(f"a picture shows one output; pass output= one of {', '.join(names)}")
    return outputs[0]


def _check_finite(values: Floats) -> None:
    if not np.isfinite(values).all():
        raise DrawingError("these numbers are not finite, so they have no picture; the notes say why")


def _check_positive(k: int) -> None:
    if k < 1:
        raise OptionError(f"k={k} leaves nothing to draw; pass a positive number")

"""Compiled versions of the functions of `reference`: they allocate memory and call the loops in `jit`."""

from __future__ import annotations

from paribus._kernels.compiled.coverage import (
    CHUNK,
    cover,
    lay_out,
    locate,
    lose,
    mark,
    rank,
    tally,
    weigh,
)
from paribus._kernels.compiled.interactions import count_pairs, interact, look_up, pair_moments, passing
from paribus._kernels.compiled.row_curves import (
    Lines,
    Trace,
    average,
    averages,
    cell_averages,
    collect,
    curves,
    move,
    multiply,
    shift,
    trace,
    trace_bytes,
)

__all__ = [
    "CHUNK",
    "Lines",
    "Trace",
    "average",
    "averages",
    "cell_averages",
    "collect",
    "count_pairs",
    "cover",
    "curves",
    "interact",
    "lay_out",
    "locate",
    "look_up",
    "lose",
    "mark",
    "move",
    "multiply",
    "pair_moments",
    "passing",
    "rank",
    "shift",
    "tally",
    "trace",
    "trace_bytes",
    "weigh",
]

"""The functions of `reference`, for a machine: memory is laid out here, the loops are in `jit`."""

from __future__ import annotations

from paribus._kernels.compiled.coverage import cover, lose, weigh
from paribus._kernels.compiled.drawing import Lines, Trace, average, averages, curves, trace, trace_bytes
from paribus._kernels.compiled.encoding import lay_out, locate, mark, rank, tally
from paribus._kernels.compiled.interactions import count_pairs, interact, look_up, pair_moments, passing
from paribus._kernels.compiled.moving import collect, move, shift
from paribus._kernels.compiled.row_memory import CHUNK

__all__ = [
    "CHUNK",
    "Lines",
    "Trace",
    "average",
    "averages",
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
    "pair_moments",
    "passing",
    "rank",
    "shift",
    "tally",
    "trace",
    "trace_bytes",
    "weigh",
]

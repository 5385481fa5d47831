"""Curves with gaps: the stretches in which they are known."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Flags


def stretches(known: Flags) -> list[slice]:
    """Return where positions are known, one slice for each stretch of them."""
    turns = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0)).tolist()
    return [slice(first, stop) for first, stop in zip(turns[::2], turns[1::2], strict=True)]


def alone(known: Flags) -> list[int]:
    """Return the positions that are known without a neighbor that a line could lead to."""
    return [run.start for run in stretches(known) if run.stop - run.start == 1]

"""Things with ``merge``: what a block of rows leaves behind."""

from paribus.states.cells import CellMoments
from paribus.states.counts import Counts
from paribus.states.curves import RowCurves
from paribus.states.exact import BinnedSum, ExactSum
from paribus.states.keyed import Keyed
from paribus.states.moments import Moments
from paribus.states.occupied import Occupied
from paribus.states.order import Merger, merge_in_order, ranges_of
from paribus.states.spread import PointValues, curve_quantiles

STATES = (BinnedSum, CellMoments, Counts, ExactSum, Keyed, Moments, Occupied, PointValues, RowCurves)


def known_states() -> dict[str, type]:
    """Return the states by name, which is how files refer to them."""
    return {state.__name__: state for state in STATES}


__all__ = [
    "BinnedSum",
    "CellMoments",
    "Counts",
    "ExactSum",
    "Keyed",
    "Merger",
    "Moments",
    "Occupied",
    "PointValues",
    "RowCurves",
    "curve_quantiles",
    "known_states",
    "merge_in_order",
    "ranges_of",
]

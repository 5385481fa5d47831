"""Things with ``merge``: what a block of rows leaves behind."""

from paribus.states.cell_moments import CellMoments
from paribus.states.counts import Counts
from paribus.states.exact_sum import BinnedSum, ExactSum
from paribus.states.keyed import Keyed
from paribus.states.merge_order import Merger, merge_in_order, ranges_of
from paribus.states.moments import Moments
from paribus.states.occupied import Occupied
from paribus.states.point_values import PointValues, curve_quantiles
from paribus.states.row_curves import RowCurves

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

"""States: mergeable summaries of the rows of a block."""

from paribus._data.samples import UnitRows
from paribus._states.moments import CellMoments, CurveProducts, Moments, UnitSums, Variances
from paribus._states.point_values import PointValues, curve_quantiles
from paribus._states.row_states import RankedRows, RowCurves, SampledRows
from paribus._states.sums import (
    BinnedSum,
    CodeTuples,
    Counts,
    ExactSum,
    Keyed,
    Merger,
    Occupied,
    merge_in_order,
    ranges_of,
)

STATES = (
    BinnedSum,
    CellMoments,
    CodeTuples,
    Counts,
    CurveProducts,
    ExactSum,
    Keyed,
    Moments,
    Occupied,
    PointValues,
    RankedRows,
    RowCurves,
    SampledRows,
    UnitSums,
    Variances,
)


def known_states() -> dict[str, type]:
    """Return the state classes by name, as stored in files."""
    return {state.__name__: state for state in (*STATES, UnitRows)}


__all__ = [
    "BinnedSum",
    "CellMoments",
    "CodeTuples",
    "Counts",
    "CurveProducts",
    "ExactSum",
    "Keyed",
    "Merger",
    "Moments",
    "Occupied",
    "PointValues",
    "RankedRows",
    "RowCurves",
    "SampledRows",
    "UnitSums",
    "Variances",
    "curve_quantiles",
    "known_states",
    "merge_in_order",
    "ranges_of",
]

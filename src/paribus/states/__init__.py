"""Things with ``merge``: what a block of rows leaves behind."""

from paribus.states.counts import Counts
from paribus.states.curves import RowCurves
from paribus.states.moments import Moments
from paribus.states.product import Product

__all__ = ["Counts", "Moments", "Product", "RowCurves"]

"""Curves over the combinations of values that occur."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._states.sums import ignore_fp_errors
from paribus._text import at_point, number
from paribus.notes import Note, NoteCode
from paribus.results.curve_parts import NOTE_SHARE
from paribus.results.schema import Record, array, record

if TYPE_CHECKING:
    from paribus.results.partial_dependence import PartialDependence

NOISE = 2.0  # standard errors of the curve that a difference must exceed,
DIFFERENT = 0.1  # share of its range within the percentiles,
ROUNDING = 1e-9  # and share of its largest value


@record
class SupportedCurve(Record):
    r"""Partial dependence of one feature over the combinations of values that occur.

    The partner k is that of `Extrapolation`: the feature with which most of the curve of j extrapolates. A
    cell of the bins of j and k is occupied if it has a row with positive weight. With the bin :math:`b(v)` of
    a grid value and the bin :math:`c_i` of row i, :math:`o_i(v) = 1` if the cell :math:`(b(v), c_i)` is
    occupied, and 0 otherwise:

    .. math:: PD^S(v) = \frac{\sum_i w_i o_i(v) \left( f(v, x_{i,\bar j}) - a_{c_i} \right)}
        {\sum_i w_i o_i(v)}

    The level :math:`a_c` of a bin is the difference of its rows from the others where both are supported. All
    levels are the least squares solution, with :math:`\sum_i w_i a_{c_i} = 0`, of

    .. math:: \min_{a, PD^S} \sum_v \sum_i w_i o_i(v) \left( f(v, x_{i,\bar j}) - a_{c_i} - PD^S(v) \right)^2

    Without levels, the rows that are averaged over would change along the curve, and with them the effect of
    the partner. With levels, the curve equals partial dependence if all cells are occupied, and also if the
    two features do not interact.

    Points are comparable only if a chain of occupied cells connects them. The curve has the points of the
    largest such set, and their bins of k. Others are NaN, with a share of 0.

    Only one partner restricts the rows. Gaps with other features, or of three features, still count.

    Attributes
    ----------
    partner : str
        The other feature.
    rows : int
        Number of rows that the curve is computed from.
    average : ndarray of shape (n_outputs, g)
        The curve.
    difference : ndarray of shape (n_outputs, g)
        The curve minus the partial dependence of all rows in its bins of the partner.
    share : ndarray of shape (g,)
        Share of the data's weight that each point averages over.
    missing : ndarray of shape (n_outputs,) or None
        The curve at a missing value.

    Examples
    --------
    A model with an error of 10 at combinations that do not occur:

    >>> import numpy as np, paribus
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 5, 2_000)
    >>> X = np.column_stack([a, a + rng.integers(0, 2, 2_000)]).astype(float)
    >>> def model(X):
    ...     gap = X[:, 1] - X[:, 0]
    ...     return X[:, 0] + 10 * ((gap < 0) | (gap > 1))
    >>> effect = paribus.partial_dependence(model, X, 0, supported=True)
    >>> effect.average.round(1)
    array([[ 7.1,  7.1,  8. ,  8.9, 10.9]])
    >>> effect.supported.average.round(12)
    array([[0., 1., 2., 3., 4.]])
    """

    partner: str
    rows: int
    average: Floats = array("output", "grid", column="supported_average")
    difference: Floats = array("output", "grid", column="supported_difference")
    share: Floats = array("grid", column="supported_share")
    missing: Floats | None = array("output", default=None)

    def _at_missing(self) -> dict[str, Any]:
        return {} if self.missing is None else {"supported_average": self.missing}

    @classmethod
    @ignore_fp_errors()
    def of(
        cls, partner: str, rows: int, curves: Floats, weights: Floats, occupied: Flags, *, missing: bool
    ) -> SupportedCurve:
        """Combine the curves ``(c, o, g)`` of the ``rows`` in each bin of the partner.

        ``weights (c,)`` are those of the bins, as shares. ``occupied (g, c)`` are the bins that occur with
        each point. With ``missing``, the last point is the missing value.
        """
        finite = np.asarray(np.isfinite(np.where(occupied.T[:, None], curves, 0.0)).all(axis=(0, 1)))
        known = occupied & finite[:, None]
        known &= _connected(known)
        cells = known.any(axis=0)
        used = np.where(known.T[:, None], curves, 0.0)
        total = known @ weights
        shares = np.divide(known * weights, total[:, None], out=np.zeros(known.shape), where=known)
        mean = np.einsum("gc,cog->og", shares, used)
        pull = np.einsum("gc,cog->co", known * weights, used - mean)
        levels = _levels(known, weights, shares, pull)
        average = np.where(total > 0, mean - (shares @ levels).T, np.nan)
        full = np.einsum("c,cog->og", weights[cells], curves[cells]) / weights[cells].sum()
        points = slice(None, len(total) - missing)
        last = average[:, -1].copy() if missing else None
        return cls(partner, rows, average[:, points], (average - full)[:, points], total[points], last)


def _connected(known: Flags) -> Flags:
    """Return the cells ``(g, c)`` of the largest set of points that chains of cells connect."""
    near = known.astype(np.int64) @ known.T > 0
    for _ in range(len(near).bit_length()):
        near = near.astype(np.int64) @ near > 0
    largest = near[np.argmax(near.sum(axis=1))] if len(near) else np.zeros(0, bool)
    return np.asarray(known & largest[:, None])


def _levels(known: Flags, weights: Floats, shares: Floats, pull: Floats) -> Floats:
    """Return the levels ``(c, o)``: the solution of the normal equations without the points.

    Levels are determined up to a constant, which the additional term sets to zero before their mean is.
    """
    levels = np.zeros(pull.shape)
    cells = known.any(axis=0)
    if not cells.any():
        return levels
    weighted = (known * weights)[:, cells]
    own = np.sqrt(weighted.sum(axis=0))
    equations = np.eye(len(own)) - weighted.T @ shares[:, cells] / np.outer(own, own)
    constant = own / np.linalg.norm(own)
    equations += np.outer(constant, constant)
    solved = np.linalg.solve(equations, pull[cells] / own[:, None]) / own[:, None]
    mean = weights[cells] @ solved / weights[cells].sum()
    levels[cells] = solved - mean
    return levels


@ignore_fp_errors()
def supported_difference(effect: PartialDependence, o: int) -> tuple[float, int] | None:
    """Return the largest difference of an output within the percentiles, and its point.

    None if it is small, or if less of the curve extrapolates than a note requires.
    """
    supported, average, far = effect.supported, effect.average, effect.extrapolation
    if supported is None or average is None or far is None or far.share < NOTE_SHARE:
        return None
    below, above = effect.tail_points
    inner = slice(below, average.shape[1] - above)
    curve, apart = average[o, inner], np.abs(supported.difference[o, inner])
    error = 0.0 if effect.standard_error is None else np.nan_to_num(effect.standard_error[o, inner])
    range_ = np.ptp(curve) if curve.size else 0.0
    least = max(DIFFERENT * range_, ROUNDING * np.abs(curve).max(initial=0.0))
    counted = np.where(apart > np.maximum(least, NOISE * error), apart, 0.0)
    return (float(counted.max()), below + int(np.argmax(counted))) if counted.any() else None


def with_supported(effect: PartialDependence, curve: SupportedCurve) -> PartialDependence:
    """Return an effect with its supported curve, and the notes on it."""
    both = replace(effect, supported=curve)
    return replace(both, notes=(*both.notes, *supported_notes(both)))


def supported_notes(effect: PartialDependence) -> Iterator[Note]:
    """Yield a note if the curve differs where combinations occur, and one if parts are not comparable."""
    supported, average = effect.supported, effect.average
    if supported is None or average is None:
        return
    name = effect.feature_names[0]
    found = [(*most, o) for o in range(len(average)) if (most := supported_difference(effect, o)) is not None]
    if found:
        size, g, o = max(found)
        of = f" for {effect.output_names[o]}" if len(effect.output_names) > 1 else ""
        range_ = float(np.ptp(average[o]))
        share = f" ({100 * size / range_:.0f} % of its range)" if range_ > 0 else ""
        at = at_point((name,), effect.grid_values, (g,))
        text = (
            f"over combinations of {name} and {supported.partner} that occur, the curve{of} differs by up to "
            f"{number(size)}{share}, at {at}; the full curve includes predictions for rows that do not exist"
        )
        yield Note(NoteCode.SUPPORTED_DIFFERS, text, name, size)
    lost = float((supported.share == 0).mean()) if supported.share.size else 0.0
    if lost:
        text = (
            f"{lost:.0%} of the points of {name} are not connected with the others by combinations with "
            f"{supported.partner} that occur; the supported curve is unknown there"
        )
        yield Note(NoteCode.SUPPORT_DISCONNECTED, text, name, lost)

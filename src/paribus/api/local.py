"""Accumulated local effects: what changes, for the rows that are there, from one value to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paribus.api.call import Axes, Call
from paribus.api.running import Running
from paribus.errors import OptionError, one_of
from paribus.grid import GridOptions
from paribus.results import LocalEffects

CURVE, SURFACE = 40, 20  # bins of a feature by itself, and of each of two


def accumulated_local_effects(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    grid_resolution: int | None = None,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: str = "raise",
) -> LocalEffects:
    r"""Compute accumulated local effects (ALE): the effect of a feature where the data is.

    The rows in each bin :math:`(z_{k-1}, z_k]` of a feature are asked at both of its edges, all else as it
    is, and the average differences are added up:

    .. math:: \Delta_k = \frac{1}{W_k} \sum_{i: x_{ij} \in (z_{k-1}, z_k]} w_i
        \left[ f(z_k, x_{i,\setminus j}) - f(z_{k-1}, x_{i,\setminus j}) \right], \qquad
        ALE_j(z_k) = \sum_{l \le k} \Delta_l - c

    with c such that the curve, straight between edges, averages to zero over the rows (Apley and Zhu, 2020).
    No row is moved out of its bin, so that features that go together are not torn apart as partial dependence
    does. Of two features, the differences of differences in each cell are added up, and the effect of each by
    itself is taken away.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`; of a list the mean of their effects, and ``refits`` has each.
    features : str, int, tuple or sequence, optional
        Names, positions and pairs of them, one effect each. Every column by default; one that cannot be moved
        is skipped, and said in the notes. Of a pair at least one must be a number or date.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    grid_resolution : int, optional
        Number of bins of a number or date, at most: 40 of a feature by itself and 20 of each of two, if not
        given. Bins have about the same weight, and every edge is a value that occurs. One that is heavier
        than a bin is an edge by itself; the smallest value belongs to the first bin.
    custom_values : mapping, optional
        Edges of bins in rising order, or levels in the order they are to be gone through, keyed by the name
        or position of a feature. Rows beyond them do not count.
    method : {"auto", "exact", "brute"}
        ``"auto"`` reads differences off the trees of an ensemble, where it can, and asks the model itself
        where not; ``"exact"`` insists on the first, ``"brute"`` on the second. The number is the same.
    n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    LocalEffects
        A mapping from the name (or pair of names) to `LocalEffect`, strongest first.

    See Also
    --------
    partial_dependence : The average prediction with the feature set to a value in every row.

    Notes
    -----
    Levels are gone through in an order. Ordered categories have one. Levels that have none are put in one in
    which neighbours have similar rows in the other features; the result says so in ``order`` and the notes,
    and partial dependence, which needs no order, is what to look at first.

    Rows whose value is missing are in no bin. The effect at missing is reported apart from the curve, as
    ``.missing``: see `LocalMissing`.

    Standard errors are given where rows lie: they know that the differences of other rows would be others,
    and take the bins, and how much data each has, as they are.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effects = paribus.accumulated_local_effects(lambda X: 2 * X[:, 0] + X[:, 1], X)
    >>> effects["x0"].ale
    array([[-2.,  0.,  2.]])
    """
    from paribus.api.moves import Local
    from paribus.evaluators.local.plan import METHODS

    size = _resolution(grid_resolution)
    running = Running.of(progress, executor, checkpoint)
    call = Call.of(
        estimator, X, sample_weight, feature_names, GridOptions(), "average", False, on_error, running
    )
    one_of("method", method, METHODS)
    asked = call.asked([features] if isinstance(features, (str, int, np.integer)) else features)
    axes = Axes.of(call.header, asked, call.grid, categorical_features, custom_values, features is None)
    local = Local.of(call, asked, replace(axes, bins=size), n_jobs, max_memory)
    return local.answer(response_method, target_names, method)


def _resolution(grid_resolution: Any) -> tuple[int, int]:
    """Return the number of bins of a feature by itself and of each of two."""
    if grid_resolution is None:
        return CURVE, SURFACE
    whole = isinstance(grid_resolution, (int, np.integer)) and not isinstance(grid_resolution, bool)
    if not whole or grid_resolution < 1:
        raise OptionError(
            f"grid_resolution={grid_resolution!r} must be a whole number of bins, at least 1, or None"
        )
    return int(grid_resolution), int(grid_resolution)

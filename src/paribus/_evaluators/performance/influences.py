"""Influence of rows on performance metrics."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._models.scoring import Family
from paribus._models.scoring.losses import log_losses, right_classes
from paribus._states.sums import ignore_fp_errors

Influences = dict[tuple[str, int | None], Floats]


@ignore_fp_errors()
def metric_influences(
    observed: Floats, predicted: Floats, weights: Floats, family: Family | None = None
) -> Influences:
    r"""Return the influence ``(i,)`` of rows on each metric, by its name and output.

    It is how fast a metric changes with the weight of a row, times the weight of all rows over that of the
    row: :math:`l_i - \bar l` for the mean of a loss :math:`l`. ``observed`` and ``predicted`` are ``(o, i)``.
    Losses of exclusive classes are those of all outputs together, None. A metric that is not defined for the
    values has no finite influence.
    """
    influences: Influences = {}
    columns = [(None, observed.T, predicted.T)]
    columns += [(o, observed[o][:, None], predicted[o][:, None]) for o in range(len(observed))]  # type: ignore
    for output, y, f in columns:
        influences["log loss", output] = log_losses(y, f)
        influences["accuracy", output] = right_classes(y, f)
    for o, (y, f) in enumerate(zip(observed, predicted, strict=True)):
        squared, mean = np.square(y - f), np.average(f, weights=weights)
        root = np.sqrt(np.average(squared, weights=weights))
        influences["root mean squared error", o] = squared / (2 * root)
        influences["mean absolute error", o] = np.abs(y - f)
        influences["mean residual", o] = y - f
        deviations = np.square(y - np.average(y, weights=weights))
        variance = np.average(deviations, weights=weights)
        unexplained = np.average(squared, weights=weights) / variance
        influences["R²", o] = (unexplained * deviations - squared) / variance
        influences["observed / predicted", o] = (y - np.average(y, weights=weights) / mean * f) / mean
        influences["AUC", o] = auc_influence(y, f, weights)
        if family is not None:
            influences[f"mean {family.name} deviance", o] = family.deviance(y[:, None], f[:, None])[:, 0]
    return {key: values - np.average(values, weights=weights) for key, values in influences.items()}


def auc_influence(observed: Floats, predicted: Floats, weights: Floats) -> Floats:
    """Return the influence of each row on the AUC, by the placements of DeLong."""
    order = np.argsort(predicted)
    cases, others = weights * observed, weights * (1 - observed)
    ranked = predicted[order]

    def share_below(of: Floats) -> Floats:
        """Return the share of some rows predicted lower than each row, ties counted half."""
        sums = np.concatenate([[0.0], np.cumsum(of[order])])
        ends = (np.searchsorted(ranked, predicted, side=side) for side in ("left", "right"))
        return np.asarray(sum(sums[end] for end in ends) / 2 / of.sum())

    below, above = share_below(others), 1 - share_below(cases)
    auc = (cases @ below) / cases.sum()
    shares = cases.sum() / weights.sum(), others.sum() / weights.sum()
    return np.asarray(observed * (below - auc) / shares[0] + (1 - observed) * (above - auc) / shares[1])

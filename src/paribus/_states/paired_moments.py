"""Weighted means, variances and the covariance of what came out and what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Floats
from paribus._states.overflow import between, ignore_fp_errors


@dataclass(frozen=True, eq=False)
class PairedMoments:
    r"""Moments of pairs :math:`(y_i, f_i)` of each output, by the weights of the rows.

    - ``mean`` :math:`(\bar y, \bar f)`, shape ``(2, o)``
    - ``products`` :math:`\sum w_i (y_i - \bar y)^2`, :math:`\sum w_i (y_i - \bar y)(f_i - \bar f)` and
      :math:`\sum w_i (f_i - \bar f)^2`, shape ``(3, o)``
    """

    weight: float
    mean: Floats
    products: Floats

    @classmethod
    def of(cls, observed: Floats, predicted: Floats, weights: Floats | None) -> Self:
        """Collect pairs ``(i, o)`` of at least one row; every weight is positive."""
        counted = np.ones(len(observed)) if weights is None else weights
        pairs = np.stack([observed, predicted])
        with ignore_fp_errors():
            total = counted.sum()
            mean = (pairs * counted[:, None]).sum(axis=1) / total
            one, two = pairs - mean[:, None]
            products = [
                (left * right * counted[:, None]).sum(axis=0) for left, right in _products_of(one, two)
            ]
        return cls(float(total), mean, np.stack(products))

    def merge(self, other: Self) -> Self:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        with ignore_fp_errors():
            one, two = other.mean - self.mean
            apart = np.stack([left * right for left, right in _products_of(one, two)]) * (self.weight * share)
            return type(self)(
                weight, between(self.mean, other.mean, share), self.products + other.products + apart
            )


def _products_of(one: Floats, two: Floats) -> tuple[tuple[Floats, Floats], ...]:
    return (one, one), (one, two), (two, two)

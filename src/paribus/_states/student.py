"""Student's distribution, by which standard errors become intervals and probabilities."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from paribus._contracts import Floats

NODES, STEPS = 48, 60  # of the integral of Student's density, and of Newton's method
MANY = 1e4  # degrees of freedom from which the first terms of an expansion about the normal quantile suffice


def student_quantile(level: float, freedom: Any) -> Floats:
    r"""Return t with :math:`P(|T| \le t)` equal to a level, for degrees of freedom of any shape.

    With :math:`T = \sqrt \nu \tan \Theta` the density of the angle is proportional to :math:`\cos^{\nu - 1}`.
    It decreases, so that Newton's steps from below the quantile do not pass it.

    >>> student_quantile(0.95, [1, 4.0, np.inf]).round(2).tolist()
    [12.71, 2.78, 1.96]
    """
    degrees = np.nan_to_num(np.asarray(freedom, dtype=np.float64), nan=np.inf, posinf=np.inf)
    z = NormalDist().inv_cdf((1 + level) / 2)
    found = np.asarray(z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2))
    nu = degrees[degrees < MANY]
    whole = np.array([math.exp(math.lgamma(one / 2) - math.lgamma((one + 1) / 2)) for one in nu])
    whole *= math.sqrt(math.pi) / 2
    angle = level * whole
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    for _ in range(STEPS):
        below = angle / 2 * (weights @ np.cos(np.outer((nodes + 1) / 2, angle)) ** (nu - 1))
        step = (level * whole - below) / np.cos(angle) ** (nu - 1)
        angle += step
        if (np.abs(step) <= 1e-14 * angle).all():
            break
    found[degrees < MANY] = np.sqrt(nu) * np.tan(angle)
    return found


def student_tail(errors: float, freedom: float) -> float:
    r"""Return the probability :math:`P(|T| > t)` of a number of standard errors, as of a normal deviate.

    .. math:: z = \frac{8 \nu + 1}{8 \nu + 3} \sqrt{\nu \ln(1 + t^2 / \nu)}

    This is Wallace's approximation; its relative error is below 1 % for 10 degrees of freedom or more.

    >>> round(student_tail(2.228, 10), 3), round(student_tail(1.96, 1e6), 3)
    (0.05, 0.05)
    """
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(errors**2 / freedom))
    return 2 * NormalDist().cdf(-z)

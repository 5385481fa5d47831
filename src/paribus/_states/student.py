"""Student's distribution, by which standard errors become intervals and probabilities."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from paribus._contracts import Floats

NODES, STEPS = 48, 60  # of the integral of Student's density, and of Newton's method
MOST = 1e8  # degrees of freedom of a normal deviate
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
    whole = np.array([_whole(degree) for degree in nu.tolist()])
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
    r"""Return the probability :math:`P(|T| > t)` of a number of standard errors.

    With :math:`\cos \Theta = e^{-s / \nu} \cos \theta` beyond the angle :math:`\theta` of t, it integrates
    :math:`e^{-s}` times a smooth function, so that small probabilities are accurate.

    >>> round(student_tail(2.228, 10), 3), round(student_tail(1.96, 1e6), 3), student_tail(9, 1e4) > 0
    (0.05, 0.05, True)
    """
    nu = min(freedom, MOST)
    cosine = 1 / (1 + errors**2 / nu)  # squared
    if errors < 1:
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        angle = math.acos(math.sqrt(cosine))
        return 1 - float(angle / 2 * (weights @ np.cos((nodes + 1) / 2 * angle) ** (nu - 1))) / _whole(nu)
    nodes, weights = np.polynomial.laguerre.laggauss(NODES)
    sines = np.sqrt(1 - cosine - cosine * np.expm1(-2 * nodes / nu))
    return float(cosine ** (nu / 2) / nu * (weights @ (1 / sines)) / _whole(nu))


def _whole(nu: float) -> float:
    """Return the integral of the density of the angle from zero to a right angle."""
    return math.sqrt(math.pi) / 2 * math.exp(math.lgamma(nu / 2) - math.lgamma((nu + 1) / 2))

"""From the margins a tree ensemble adds up to what a model predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from paribus._contracts import Floats

LinkName = Literal["identity", "sigmoid", "softmax", "exp", "signed_square", "softplus", "isolation"]


@dataclass(frozen=True)
class Link:
    r"""The function from margins ``(m, ...)`` to outputs of the same shape.

    With :math:`z` the margin times ``scale``:

    ============= =========================================================
    identity      :math:`z`
    sigmoid       :math:`1 / (1 + e^{-z})`; of two classes the second one
    softmax       :math:`e^{z_o} / \sum_k e^{z_k}` over the margins
    exp           :math:`e^z`
    signed_square :math:`z |z|`
    softplus      :math:`\log(1 + e^z)`
    isolation     :math:`-2^{-z}` plus ``shift``
    ============= =========================================================

    >>> Link("sigmoid").apply(np.array([[0.0]]))
    array([[0.5]])
    """

    name: LinkName = "identity"
    scale: float = 1.0
    shift: float = 0.0

    @property
    def linear(self) -> bool:
        """Whether an average of outputs is the output of an average."""
        return self.name == "identity"

    def apply(self, margins: Floats) -> Floats:
        """Return the outputs."""
        with np.errstate(over="ignore"):
            z = margins if self.scale == 1.0 else margins * self.scale
            if self.name == "sigmoid":
                return np.asarray(1.0 / (1.0 + np.exp(-z)))
            if self.name == "softmax":
                raised = np.exp(z - z.max(axis=0))
                return np.asarray(raised / raised.sum(axis=0))
            if self.name == "exp":
                return np.exp(z)
            if self.name == "signed_square":
                return z * np.abs(z)
            if self.name == "softplus":
                return np.logaddexp(0.0, z)
            if self.name == "isolation":
                return self.shift - np.exp2(-z)
        return z

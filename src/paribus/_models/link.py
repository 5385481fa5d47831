"""From the margins a tree ensemble adds up to what a model predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from paribus._contracts import Floats

BATCH = 32_768  # margins whose outputs are computed at once

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

    def apply(self, margins: Floats, *, overwrite: bool = False) -> Floats:
        """Return the outputs; with ``overwrite`` the margins may be written over.

        They are computed some at a time, so that what a function writes the next one finds in a near cache.
        """
        if self.linear:
            return margins if self.scale == 1.0 else margins * self.scale
        flat = np.ascontiguousarray(margins).reshape(len(margins), -1)
        outputs = flat if overwrite else np.empty_like(flat)
        each = max(1, BATCH // max(1, len(flat)))
        with np.errstate(over="ignore"):
            for first in range(0, flat.shape[1], each):
                z = outputs[:, first : first + each]
                if not overwrite or self.scale != 1.0:
                    np.multiply(flat[:, first : first + each], self.scale, out=z)
                self._replace(z)
        return outputs.reshape(margins.shape)

    def _replace(self, z: Floats) -> None:
        """Write outputs over scaled margins ``(m, b)``."""
        if self.name == "sigmoid":
            np.exp(np.negative(z, out=z), out=z)
            z += 1.0
            np.divide(1.0, z, out=z)
        elif self.name == "softmax":
            z -= z.max(axis=0)
            np.exp(z, out=z)
            z /= z.sum(axis=0)
        elif self.name == "exp":
            np.exp(z, out=z)
        elif self.name == "signed_square":
            z *= np.abs(z)
        elif self.name == "softplus":
            np.logaddexp(0.0, z, out=z)
        elif self.name == "isolation":
            np.subtract(self.shift, np.exp2(np.negative(z, out=z), out=z), out=z)

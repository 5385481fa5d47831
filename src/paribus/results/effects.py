"""Many effects from one pass."""

from __future__ import annotations

from paribus.results.effect_mapping import EffectMapping
from paribus.results.partial_dependence import PartialDependence
from paribus.results.schema import record
from paribus.results.transforms import interaction


@record
class Effects(EffectMapping[PartialDependence]):
    """A mapping from a feature's name (or a tuple of names) to its effect, strongest first.

    Strength is `PartialDependence.strength`: the standard deviation of the partial dependence over the
    data, in units of the prediction.

    The table of `to_frame` has the columns ``feature``, ``value`` (as text, None for the missing point),
    ``number`` (None for categories and dates), for effects of several features the same with ``_2``, ``_3``,
    ..., then ``output``, ``average``, ``standard_error``, ``support``, ``between_models``, the standard
    deviation between models if there are several, and ``q10``, ``q25``, ... of the spread.

    Attributes
    ----------
    effects : tuple of PartialDependence
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.
    """

    stored = "effects"

    effects: tuple[PartialDependence, ...]

    def interaction(self, first: str, second: str) -> PartialDependence:
        r"""Return the interaction of two features: their joint effect minus the individual effects.

        .. math:: I_{jk}(x_j, x_k) = PD_{jk}(x_j, x_k) - PD_j(x_j) - PD_k(x_k) - c

        with :math:`c` such that its average over the data, weighted by ``support``, is zero. It is zero
        everywhere if the model is additive in the two features; its mean square over the rows is the
        numerator of Friedman and Popescu's H, see `h_statistic`. With individual curves (``kind="both"``) the
        standard error and the quantiles are those of the row-wise differences, and for several models each
        has its own. ``strength`` is the standard deviation of the interaction over the data.

        Parameters
        ----------
        first, second : str
            Names of the features, in any order. Their one-way effects and their joint effect must have been
            computed.

        Returns
        -------
        PartialDependence
            With the shapes of the joint effect; ``provenance.scale`` says that it is the interaction only.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
        >>> found = paribus.effects(lambda X: 5 * X[:, 0] + X[:, 0] * X[:, 1], X, [0, 1, (0, 1)])
        >>> found.interaction("x0", "x1").average[0]
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        return interaction(self, first, second)

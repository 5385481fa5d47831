"""How much of an effect is asked where there is no data."""

from __future__ import annotations

from dataclasses import dataclass, field

from paribus.contracts import Flags, Floats
from paribus.meaning import Association
from paribus.notes import Note, NoteCode
from paribus.results.frozen import Frozen

TOLD = 0.05  # share of a curve's points from which a note tells
LOOSE = 0.3  # a correlation below this is not what keeps two features apart


@dataclass(frozen=True, eq=False)
class Extrapolation(Frozen):
    r"""How many of the points behind an effect combine values of two features that no row has.

    Partial dependence sets a feature j to a value and leaves all others as they are in the rows. If j goes
    with another feature k, many such rows do not exist, and the model was never shown any like them. Both
    features are cut into coarse bins; a cell of the two is *empty* if no row of weight lies in it although at
    least ten would if they were independent. Then, over the points g of the curve and the bins c of k with
    their weight :math:`w_c`,

    .. math:: share_{jk} = \frac{\sum_g \sum_c w_c 1[(b(g), c) \text{ is empty}]}{\sum_g \sum_c w_c}

    with both sums over the cells where ten rows are to be expected. ``share`` is that of the worst partner k.
    A partner counts if these cells are at least half of what is asked. Every point of the curve counts the
    same, whatever the data around it. Of several features together, cells of the grid itself are counted
    too: the share of those whose values no row combines.

    It cannot see gaps that only show in three or more features together, nor gaps that are narrower than a
    bin, and says nothing of points beyond the smallest or largest value, which share the outermost bin:
    ``support`` tells those. It is None where too few rows, or too many rare levels, leave no cell in which
    ten rows are to be expected (fewer than 180 rows never do), where there is no other feature, and for
    ``method="recursion"``, which follows the training data's own paths and asks about no such rows.

    Whether ten rows are to be expected is a matter of their number, not of their weight. The ends of bins are
    quantiles of at most 4,096 rows, chosen by their place in the table.

    Attributes
    ----------
    share : float
        Share of the points that are off the data, with the worst partner.
    feature, partner : str
        The feature of the effect, and the one it is combined with in ways no row has; where no partner has
        any such cell, the first that was looked at.
    association : float
        How strongly the two go together, in at most 4,096 rows.
    measure : Association
        ``"Spearman correlation"`` of numbers and dates, ``"Cramér's V"`` of levels, ``"correlation ratio"``
        of numbers (their ranks) in levels.
    by_point : ndarray of shape (g0, g1, ...)
        The share at each point of the grid, with that partner; NaN where nothing can be told.
    mask : ndarray of bool of shape (g0, g1) or None
        Of two features, the points whose values no row combines; None otherwise.
    partners : int
        Number of other features that were looked at: all, or the 24 that go most with each of the effect's.
    bins : int
        Number of bins of a number, at most.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> rng = np.random.default_rng(0)
    >>> temperature = rng.normal(size=2_000)
    >>> X = np.column_stack([temperature, temperature + 0.2 * rng.normal(size=2_000)])
    >>> found = paribus.partial_dependence(lambda X: X[:, 0], X, 0).extrapolation
    >>> found.partner, found.measure, found.share > 0.4
    ('x1', 'Spearman correlation', True)
    """

    share: float
    feature: str
    partner: str
    association: float
    measure: Association
    by_point: Floats = field(repr=False)
    mask: Flags | None = field(repr=False)
    partners: int
    bins: int

    def note(self, what: str) -> Note | None:
        """Return a sentence about a share that is not small; ``what`` has the points."""
        if self.share < TOLD:
            return None
        if self.measure is Association.SPEARMAN and abs(self.association) >= LOOSE:
            pair = f"{self.feature} is correlated {self.association:.2f} with {self.partner}"
        else:
            pair = (
                f"{self.feature} and {self.partner} do not vary freely of each other ({self.measure} "
                f"{self.association:.2f})"
            )
        text = (
            f"{pair}; {self.share:.0%} of the points behind this {what} combine values of the two that no "
            "row has; compare accumulated_local_effects"
        )
        return Note(NoteCode.EXTRAPOLATION, text, self.feature, self.share)

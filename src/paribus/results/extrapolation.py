"""How much of an effect extrapolates beyond the data."""

from __future__ import annotations

from paribus._contracts import Flags, Floats
from paribus.meaning import Association
from paribus.notes import Note, NoteCode
from paribus.results.schema import Record, array, record

NOTE_SHARE = 0.05  # share of a curve's points from which a note reports it
LOOSE = 0.3  # a correlation below this is not what keeps two features apart


@record
class Extrapolation(Record):
    r"""Share of an effect that combines values of two features that do not occur together.

    Partial dependence sets a feature j to a value and leaves all others unchanged. If j depends on another
    feature k, many of the resulting rows do not exist, and the model has not been fitted on any like them.
    Both features are divided into coarse bins; a cell of the two is *empty* if it contains no row with
    positive weight although at least ten would be expected under independence. Then, over the grid points g
    of the curve and the bins c of k with weight :math:`w_c`,

    .. math:: share_{jk} = \frac{\sum_g \sum_c w_c 1[(b(g), c) \text{ is empty}]}{\sum_g \sum_c w_c}

    with both sums over the cells with at least ten expected rows. ``share`` is that of the worst partner k. A
    partner is considered if these cells are at least half of all cells. All grid points have equal weight,
    whatever their support. For joint effects the cells of the grid itself are included: the share of grid
    points whose combination of values does not occur.

    It does not detect gaps in three or more dimensions, nor gaps narrower than a bin, nor grid points beyond
    the range of the data, which belong to the outermost bin: ``support`` shows those. It is None if too few
    rows or too many rare categories leave no cell with ten expected rows (always with fewer than 180 rows),
    if there is no other feature, and for ``method="recursion"``, which follows the paths of the training
    data.

    Expected rows are unweighted counts. Bin edges are quantiles of at most 4,096 rows, chosen by position in
    the table.

    Attributes
    ----------
    share : float
        Share of the points outside the data, with the worst partner.
    feature, partner : str
        The feature of the effect and its worst partner; if no partner has an empty cell, the first one
        checked.
    association : float
        Association of the two, on at most 4,096 rows.
    measure : Association
        ``"Spearman correlation"`` for numeric features and dates, ``"Cramér's V"`` for categorical ones,
        ``"correlation ratio"`` (of ranks) for mixed pairs.
    by_point : ndarray of shape (g0, g1, ...)
        The share at each grid point, with that partner; NaN where it is undefined.
    mask : ndarray of bool of shape (g0, g1) or None
        For two features, the grid points whose combination of values does not occur; None otherwise.
    partners : int
        Number of other features checked: all, or the 24 most associated ones.
    bins : int
        Maximum number of bins of a numeric feature.

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
    by_point: Floats = array("grid", repr=False)
    mask: Flags | None = array("grid", repr=False)
    partners: int
    bins: int

    def note(self, what: str) -> Note | None:
        """Return a note if the share is not small; ``what`` names the effect."""
        if self.share < NOTE_SHARE:
            return None
        if self.measure is Association.SPEARMAN and abs(self.association) >= LOOSE:
            pair = f"{self.feature} is correlated {self.association:.2f} with {self.partner}"
        else:
            pair = (
                f"{self.feature} and {self.partner} are not independent ({self.measure} "
                f"{self.association:.2f})"
            )
        text = (
            f"{pair}; {self.share:.0%} of this {what} combines values of the two that do not occur together; "
            f"compare accumulated_local_effects"
        )
        return Note(NoteCode.EXTRAPOLATION, text, self.feature, self.share)

"""How much each feature matters."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._typing import ImportanceKind
from paribus.notes import Note
from paribus.results.mixins import BarsMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import array, labels, record
from paribus.results.tidy import LongTable

Group = str | int | tuple[str | int, ...]


@record
class Importance(BarsMixin):
    """The importance of features, or of groups of features.

    Attributes
    ----------
    kind : {"effect", "permutation", "model"}
        Definition of importance.
    unit : str
        Description of the values, for labels.
    features : tuple
        The features or groups as requested.
    feature_names, output_names : tuple of str
        Their names, a group's joined with ``" + "``, and those of the outputs that values distinguish (one
        unless ``kind`` is effect).
    values, standard_error : ndarray of shape (k,), or (k, n_outputs) with several outputs
        The importance and its standard error; NaN where it has none.
    with_interactions, standard_error_with_interactions : ndarray of the shape of ``values`` or None
        By effect: root mean square change of the prediction when the feature is averaged out, interactions
        included.
    repeats : ndarray of shape (k, n_repeats) or None
        By permutation: the value of each repeat.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.
    provenance : Provenance
        How the result was computed.
    by_model : ndarray of shape (m, k) or (m, k, n_outputs), or None
        For a list of models, the values of each, whose mean (by effect, root mean square) ``values`` are.

    Notes
    -----
    The table of `to_frame` has the most important first: columns ``feature``, ``output`` (with several),
    ``importance``, ``standard_error``, and by effect ``with_interactions`` and
    ``standard_error_with_interactions``.
    """

    stored = "importance"
    table = ("feature", "outputs")

    kind: ImportanceKind
    unit: str
    features: tuple[Group, ...] = array("feature")
    feature_names: tuple[str, ...] = labels("feature")
    output_names: tuple[str, ...] = labels("output")
    values: Floats = array("feature", "outputs", column="importance")
    standard_error: Floats = array("feature", "outputs")
    with_interactions: Floats | None = array("feature", "outputs")
    standard_error_with_interactions: Floats | None = array("feature", "outputs")
    repeats: Floats | None = array("feature", "repeat")
    notes: tuple[Note, ...]
    provenance: Provenance
    by_model: Floats | None = array("model", "feature", "outputs", default=None)

    @property
    def order(self) -> list[int]:
        """Positions of the features, most important first; with several outputs, by the root mean square."""
        values = self.values if self.values.ndim == 1 else np.sqrt(np.mean(self.values**2, axis=1))
        return [int(position) for position in np.argsort(-values, kind="stable")]

    def _tables(self) -> list[LongTable]:
        """Return a table with the most important features first."""
        columns = super()._tables()[0].columns
        rows = np.arange(self.values.size).reshape(len(self.features), -1)[self.order].ravel().tolist()
        return [LongTable(self, {name: [values[row] for row in rows] for name, values in columns.items()})]

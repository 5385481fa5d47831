"""From what was found to results, with what has to be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.interactions import InteractionStatistics, Ratio
from paribus._evaluators.interactions.requests import InteractionRequest
from paribus._models import Model
from paribus._models.adapter import has_margin
from paribus._models.predictor import unsteady_notes
from paribus.errors import RefusalCode
from paribus.notes import Note, NoteCode
from paribus.results.hstatistics import HStatistics, Token
from paribus.results.importance import Importance
from paribus.results.provenance import Provenance, skipped_notes

WEAK = 1e-3  # of the prediction's variance: a joint effect whose H² is noise
ABOVE = 1 + 1e-9  # an H² that is more than one, and not by rounding
SHOWN = 3  # groups that a note names
WEAK_EFFECT = f"have a joint effect below {WEAK:.1%} of the prediction's variance: their H² is noise"
CANCELLING = "have an H² above 1, because their own effects cancel in the joint one; compare strengths"
NOT_FINITE = "predictions, or their squares, are not finite for some rows, so these statistics are not either"
ADDITIVE_ON_MARGIN = "on the probability scale a model that is additive on the margin scale has interactions"
IMPORTANCE_ON_PROBABILITY = (
    "importance with interactions includes those that the probability scale adds to a model that is additive "
    "on the margin scale"
)
VANISHING = "interact, but their joint effect vanishes, so that H² is not defined"


@dataclass(frozen=True, eq=False)
class InteractionBuilder:
    """What H-statistics and importance by effect are made of.

    Attributes
    ----------
    statistics : InteractionStatistics
        What was found; ``every`` are those of each of several models.
    request : InteractionRequest
        What was requested, of the features that ``tokens`` name.
    models : tuple of Model
        Those that predicted, all with the same outputs.
    provenance : Provenance
        How it was computed.
    with_importance : bool
        Whether importance is made of it in addition to H-statistics.
    """

    statistics: InteractionStatistics
    request: InteractionRequest
    tokens: tuple[Token, ...]
    models: tuple[Model, ...]
    provenance: Provenance
    every: Sequence[InteractionStatistics] = ()
    with_importance: bool = False

    def h_statistics(self) -> HStatistics:
        """Return the H-statistics that were requested."""
        found, ratios = self.statistics, [one.pairwise for one in self.every if one.pairwise is not None]
        assert found.pairwise is not None
        return HStatistics(
            **self._named,
            pairs=self._pairs,
            triples=found.triples,
            variance=found.variance,
            main_effect=found.main,
            explained=found.explained,
            p_values=found.p_values if len(self.models) == 1 else None,
            pairwise=found.pairwise,
            overall=found.overall,
            threeway=found.threeway,
            total=found.total,
            notes=(*self._group_notes(), *self._call_notes(), *self._pair_notes()),
            strength_by_model=np.stack([ratio.strength for ratio in ratios]) if ratios else None,
        )

    def importance(self) -> tuple[Importance, Floats]:
        """Return importance by effect: the standard deviation of partial dependence over the data.

        The second array has the standard errors of the squares that interactions add.
        """
        assert self.statistics.left_out is not None
        assert self.statistics.left_out.added_error is not None
        values, errors = _strengths(self.statistics.main)
        lost, lost_errors = _strengths(self.statistics.left_out)
        importance = Importance(
            **self._named,
            kind="effect",
            unit=f"standard deviation of the effect ({self.models[0].scale})",
            values=values,
            standard_error=errors,
            with_interactions=lost,
            standard_error_with_interactions=lost_errors,
            repeats=None,
            notes=tuple(self._call_notes()),
            by_model=np.stack([_strengths(one.main)[0] for one in self.every]) if self.every else None,
        )
        return importance, self.statistics.left_out.added_error.reshape(values.shape)

    @property
    def _named(self) -> dict[str, Any]:
        """The fields that both have."""
        names = self.request.rows.table.names
        return {
            "features": self.tokens,
            "feature_names": tuple(names[feature] for feature in self.request.features),
            "output_names": self.models[0].output_names,
            "provenance": self.provenance,
        }

    @property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs that were evaluated."""
        return self.request.pairs if self.statistics.pairs is None else self.statistics.pairs

    def _pair_notes(self) -> Iterator[Note]:
        """Yield how many pairs were evaluated, if not all."""
        some, every = len(self._pairs), len(self.request.pairs)
        if some < every:
            yield NoteCode.PAIRS_CHOSEN.note(pairs=some, total=every, features=self.request.paired)

    def _group_notes(self) -> Iterator[Note]:
        """Yield which groups have an H² that must not be read as it stands."""
        found, names = self.statistics, self._named["feature_names"]
        for ratio, groups in ((found.pairwise, self._pairs), (found.threeway, found.triples)):
            if ratio is None:
                continue
            some = ratio.numerator > 0
            empty = some & (ratio.denominator == 0)
            weak = some & ~empty & (ratio.denominator < WEAK * found.variance)
            above = some & ~weak & (np.nan_to_num(ratio.share) > ABOVE)
            for which, reason in ((weak, WEAK_EFFECT), (above, CANCELLING), (empty, VANISHING)):
                rows = np.flatnonzero(which.any(axis=1))
                if len(rows):
                    listed = tuple(" x ".join(names[k] for k in groups[row]) for row in rows)
                    yield NoteCode.UNRELIABLE_H.note(groups=listed, reason=reason)

    def _call_notes(self) -> Iterator[Note]:
        p = self.provenance
        if p.sampled_rows is not None:
            yield NoteCode.ROWS_SAMPLED.note(
                what="interactions",
                rows=p.sampled_rows,
                total=p.rows if p.rows > p.sampled_rows else None,
                consequence="errors include that of subsampling",
            )
        yield from skipped_notes(p)
        yield from self._prediction_notes()
        model = self.models[0]
        crossed = model.response == "predict_proba" and p.evaluator in ("brute", "tree_crossed")
        if crossed and has_margin(model.predictor.target):
            exact = any(one.code is RefusalCode.NONLINEAR_LINK for one in p.refusals.values())
            about = ADDITIVE_ON_MARGIN if self.request.pairwise else IMPORTANCE_ON_PROBABILITY
            on_rows = "exact on every row" if exact else None
            yield NoteCode.PROBABILITY_SCALE.note(about=about, exact=on_rows)
        yield from unsteady_notes(self.models, ", so it was evaluated one point at a time")

    def _prediction_notes(self) -> Iterator[Note]:
        """Yield why there is little to explain, if there is."""
        floor, spread = np.sqrt(self.statistics.floor), np.sqrt(self.statistics.variance)
        if not np.isfinite(self.statistics.variance).all():
            yield NoteCode.NOT_FINITE.note(reason=NOT_FINITE)
        elif len(self.request.rows) < 2:
            yield NoteCode.SINGLE_ROW.note()
        elif (spread <= floor).all():
            yield NoteCode.CONSTANT_PREDICTION.note()


def _strengths(ratio: Ratio) -> tuple[Floats, Floats]:
    both = ratio.strength, ratio.strength_error
    values, errors = (array[:, 0] if array.shape[1] == 1 else array for array in both)
    return np.ascontiguousarray(values), np.ascontiguousarray(errors)

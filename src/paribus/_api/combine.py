"""Combination of the estimates and records of several models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._api.model_facts import of_model
from paribus._api.run import ModelEstimates, RunContext
from paribus._api.runner import digest
from paribus._contracts import Floats
from paribus._evaluators.interactions import InteractionStatistics, Ratio, VarianceShares
from paribus._evaluators.request import EffectEstimate
from paribus._text import counted_names
from paribus.results.curve_parts import mean_of

if TYPE_CHECKING:
    from paribus._evaluators.ale.accumulate import AleEstimate
    from paribus._evaluators.cell_means import CellEstimate

JOINED_TEXTS = ("response", "scale", "estimand", "why")


def label(what: str, index: int, count: int) -> str:
    """Return the name of a pass, with the position of the model if there are several."""
    return what if count == 1 else f"{what}-{index + 1}-of-{count}"


def combined_estimates(
    context: RunContext, estimated: Sequence[ModelEstimates], mean: Callable[[Sequence[Any]], Any]
) -> list[Any]:
    """Return the estimates of the single model, or for a list of models their ``mean`` per effect."""
    if not context.several:
        return estimated[0].estimates
    return [mean(estimates) for estimates in zip(*(one.estimates for one in estimated), strict=True)]


def mean_estimate(estimates: Sequence[EffectEstimate]) -> EffectEstimate:
    """Return the mean partial dependence of several models, with the values and strengths of each."""
    values = np.stack([estimate.average for estimate in estimates])
    error = _mean([estimate.standard_error for estimate in estimates])
    strengths = np.stack([estimate.strength for estimate in estimates if estimate.strength is not None])
    bases = {estimate.strength_from for estimate in estimates}
    pairs = [estimate.covariance for estimate in estimates if estimate.covariance is not None]
    covariance = _mean(pairs) if len(pairs) == len(estimates) else None
    return EffectEstimate(
        mean_of(values),
        error,
        None,
        by_model=values,
        strength=np.sqrt(mean_of(strengths**2)),  # the root mean square, as in `mean_statistics`
        strength_from="points" if "points" in bases else "rows",
        strength_by_model=strengths,
        covariance=covariance,
        share_covariance=estimates[0].share_covariance,
    )


def mean_ale_estimate(estimates: Sequence[AleEstimate]) -> AleEstimate:
    """Return the mean ALE of several models; counts of rows are the same for all."""
    values = np.stack([estimate.ale for estimate in estimates])
    at_missing = [estimate.missing for estimate in estimates if estimate.missing is not None]
    pairs = [estimate.covariance for estimate in estimates if estimate.covariance is not None]
    return replace(
        estimates[0],
        ale=mean_of(values),
        error=_mean([estimate.error for estimate in estimates]),
        local=_mean([estimate.local for estimate in estimates]),
        local_error=_mean([estimate.local_error for estimate in estimates]),
        missing=_mean(at_missing) if at_missing else None,
        by_model=values,
        missing_by_model=np.stack([missing[0] for missing in at_missing]) if at_missing else None,
        covariance=_mean(pairs) if pairs else None,
    )


def mean_cells(cells: Sequence[CellEstimate]) -> CellEstimate:
    """Return the mean of the cell averages of several models; counts of rows are the same for all."""
    means = np.stack([one.mean for one in cells])
    return replace(cells[0], mean=mean_of(means), error=_mean([one.error for one in cells]), by_model=means)


def mean_statistics(statistics: Sequence[InteractionStatistics]) -> InteractionStatistics:
    """Return the mean interaction statistics of several models; strengths are root mean squares."""
    ratios: dict[str, Any] = {
        name: _mean_ratio([getattr(one, name) for one in statistics])
        for name in ("main", "left_out", "pairwise", "overall", "total")
        if getattr(statistics[0], name) is not None
    }
    shares = [vars(one.explained) for one in statistics]
    known = [name for name, values in shares[0].items() if values is not None]
    return replace(
        statistics[0],
        explained=VarianceShares(**{name: _mean([one[name] for one in shares]) for name in known}),
        variance=_mean([one.variance for one in statistics]),
        predictions=sum(one.predictions for one in statistics),
        floor=np.max([np.broadcast_to(one.floor, one.variance.shape) for one in statistics], axis=0),
        **ratios,
    )


def _mean_ratio(ratios: Sequence[Ratio]) -> Ratio:
    """Return mean squares, shares and errors averaged over models; the mean error is an upper bound."""
    arrays = ["numerator", "denominator", "numerator_error", "ratio_error", "share"]
    arrays += ["added_error"] * (ratios[0].added_error is not None)
    means = {name: _mean([getattr(one, name) for one in ratios]) for name in arrays}
    return Ratio(**{("mean_share" if name == "share" else name): array for name, array in means.items()})


def _mean(arrays: list[Floats]) -> Floats:
    return mean_of(np.stack(arrays))


def combine_facts(
    estimated: Sequence[ModelEstimates], verified: Sequence[float | None] | None = None
) -> dict[str, Any]:
    """Return one record of several models: shared texts once, predictions as a sum.

    ``verified`` has the difference from brute force of each model.
    """
    differences = verified or [None] * len(estimated)
    facts = [
        {**of_model(one.model), **one.facts, "verified_difference": difference}
        for one, difference in zip(estimated, differences, strict=True)
    ]
    if len(facts) == 1:
        return facts[0]
    libraries = dict.fromkeys((one["model_library"], one["model_version"]) for one in facts)
    joined = {
        "model": counted_names(one["model"] for one in facts),
        "model_library": " and ".join(library for library, _ in libraries),
        "model_version": " and ".join(version for _, version in libraries),
        "model_digest": digest(*(one["model_digest"] for one in facts)),
        **{name: " and ".join(dict.fromkeys(one[name] for one in facts)) for name in JOINED_TEXTS},
        "evaluator": " and ".join(dict.fromkeys(one["evaluator"] for one in facts)),
        "how": "; ".join(dict.fromkeys(one["how"] for one in facts)),
        "structure": " and ".join(dict.fromkeys(filter(None, (one["structure"] for one in facts)))) or None,
        "refusals": _joined_refusals([one["refusals"] for one in facts]),
        "predictions": sum(one["predictions"] for one in facts),
        "standard_error_rows": min(one["standard_error_rows"] for one in facts),
        "standard_error_units": facts[0]["standard_error_units"],
        **{name: max(one[name] for one in facts) for name in ("block_rows", "threads")},
    }
    if facts[0].get("verified_difference") is not None:
        joined["verified_difference"] = float(np.max([one["verified_difference"] for one in facts]))
    return joined


def _joined_refusals(each: list[dict[str, str]]) -> dict[str, str]:
    """Return why evaluators were not used, and for which models if not for all.

    >>> _joined_refusals([{"a": "too old"}, {"a": "too old", "b": "too slow"}])
    {'a': 'too old', 'b': 'too slow (model 2)'}
    """
    joined: dict[str, str] = {}
    for name in dict.fromkeys(name for one in each for name in one):
        reasons: dict[str, list[int]] = {}
        for index, one in enumerate(each):
            if name in one:
                reasons.setdefault(one[name], []).append(index + 1)
        joined[name] = "; ".join(
            reason if len(positions) == len(each) else f"{reason} (model {', '.join(map(str, positions))})"
            for reason, positions in reasons.items()
        )
    return joined

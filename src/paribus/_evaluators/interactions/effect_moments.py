"""Interaction statistics with standard errors, from mean squares and values of effects at rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.interactions.requests import FeatureCurves, InfluenceSample, Ratio, VarianceShares
from paribus._states.student import student_tail
from paribus._states.sums import ignore_fp_errors

NEGLIGIBLE = 1e-8  # strengths up to this share of the prediction's standard deviation are zero
SINGLE, DOUBLE = 4, 16  # rounding errors of a prediction in a strength that is zero; averages have a quarter


@dataclass(frozen=True, eq=False)
class ZeroThresholds:
    """Mean squares ``(o,)`` up to which a statistic is zero within rounding error.

    They are relative to the variance and size of predictions, so that the unit of predictions does not
    matter. ``own`` is for statistics that contain the prediction of a single row, which a library may have
    rounded to single precision; ``averages`` is for all others.
    """

    averages: Floats
    own: Floats

    @classmethod
    def of(cls, variance: Floats, predictions: Floats, *, single: bool, single_own: bool) -> ZeroThresholds:
        """Return the thresholds for predictions ``(i, o)``, with single precision of averages or of rows."""
        largest = np.abs(predictions[np.isfinite(predictions)]).max(initial=0.0)
        fine = DOUBLE * float(np.finfo(np.float64).eps) * largest
        coarse = SINGLE * float(np.finfo(np.float32).eps) * largest
        least = NEGLIGIBLE**2 * variance
        averages, own = coarse / 4 if single else fine, coarse if single_own else fine
        with ignore_fp_errors():
            return cls(least + averages**2, least + own**2)

    def above(self, variance: Floats) -> Floats:
        """Return the variance of the prediction, zero if it is within rounding error."""
        return np.where((variance <= self.own) & np.isfinite(self.own), 0.0, variance)


@dataclass(frozen=True, eq=False)
class EffectMoments:
    """Effects of single features: mean squares over every row, and values at the influence rows.

    Attributes
    ----------
    variance : (o,)
        Mean square of the centered prediction.
    main, lost, overall : (f, o)
        Mean squares of each feature's effect, of the change of the prediction if it is averaged out, and of
        its interaction with all others; the last two None if not requested.
    rest : (o,)
        Mean square of the prediction without the effects of these features.
    full : (o, i)
        The prediction at the influence rows.
    effect, loss : (f, o, i)
        The effects whose mean squares are ``main`` and ``lost``.
    single : callable
        Returns the curves of the influence rows over a feature.
    """

    variance: Floats
    main: Floats
    lost: Floats | None
    overall: Floats | None
    rest: Floats
    full: Floats
    effect: Floats
    loss: Floats | None
    single: Callable[[int], FeatureCurves]


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Effects of groups of features: mean squares over every row, and values at the influence rows.

    Attributes
    ----------
    groups : tuple
        The groups, as positions among the features.
    numerator, denominator : (t, o)
        Mean squares of the interaction and of the joint effect.
    interaction, effect : (t, o, i)
        The interaction and the joint effect at the influence rows.
    inner : (t, 2, o, i)
        Influence of a row on both, through averages that vary more than one feature.
    """

    groups: tuple[tuple[int, ...], ...]
    numerator: Floats
    denominator: Floats
    interaction: Floats
    effect: Floats
    inner: Floats

    @classmethod
    def of(
        cls,
        groups: tuple[tuple[int, ...], ...],
        squares: Sequence[Floats],
        functions: Sequence[Floats],
        inner: Sequence[Floats],
    ) -> JointMoments:
        """Join the results of each group: squares ``(2, o)``, functions and inner ``(2, o, i)``."""
        numerator, denominator = np.stack(squares, axis=1)
        interaction, effect = np.stack(functions, axis=1)
        return cls(groups, numerator, denominator, interaction, effect, np.stack(inner))

    @cached_property
    def of_feature(self) -> dict[int, list[int]]:
        """The groups that each feature is in."""
        found: dict[int, list[int]] = {}
        for number, group in enumerate(self.groups):
            for j in group:
                found.setdefault(j, []).append(number)
        return found


@dataclass(frozen=True, eq=False)
class _CenteredMoments:
    """Effects at the influence rows, each with mean zero."""

    full: Floats
    effect: Floats
    loss: Floats | None
    joint: Floats | None

    @property
    def rest(self) -> Floats:
        """Prediction without the effects of single features."""
        return np.asarray(self.full - self.effect.sum(axis=0))


@dataclass(frozen=True, eq=False)
class _Influence:
    """Influence of rows on the statistics through one feature; ``joint`` by group."""

    main: Floats
    loss: Floats | None
    overall: Floats | None
    rest: Floats
    joint: Floats


def _influence(
    functions: _CenteredMoments, single: FeatureCurves, j: int, share: Floats, groups: list[int]
) -> _Influence:
    effect, loss = functions.effect[j], None if functions.loss is None else functions.loss[j]
    joint = functions.full[:0] if functions.joint is None else functions.joint[groups]
    terms = [effect, functions.rest, *joint]
    lost: Floats | None = None
    overall: Floats | None = None
    if loss is None:
        of_effect, of_rest, *of_joint = single.as_rest(np.stack(terms) * share)
    else:
        among = loss - effect  # F - F_j - F_without_j
        of_among, of_effect, of_rest, *of_joint = single.as_rest(np.stack([among, *terms]) * share)
        loss_away, among_away = single.as_value(np.stack([loss, among]) * share)
        lost, overall = loss**2 - 2 * loss_away, among**2 - 2 * (of_among + among_away)
    joint = np.array(of_joint).reshape(-1, *effect.shape)
    return _Influence(effect**2 + 2 * of_effect, lost, overall, of_rest, joint)


def ratios_of(
    evidence: EffectMoments,
    joint: JointMoments | None,
    influence_rows: InfluenceSample,
    zero: ZeroThresholds,
    threads: int,
) -> dict[str, Ratio]:
    """Return every statistic of single features, and of groups if there are any, by name."""
    with ignore_fp_errors():
        functions = _CenteredMoments(
            influence_rows.centered(evidence.full),
            influence_rows.centered(evidence.effect),
            None if evidence.loss is None else influence_rows.centered(evidence.loss),
            None if joint is None else influence_rows.centered(joint.effect),
        )

    def influence(j: int) -> _Influence:
        groups = [] if joint is None else joint.of_feature.get(j, [])
        with ignore_fp_errors():
            return _influence(functions, evidence.single(j), j, influence_rows.share, groups)

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(influence, range(len(evidence.main))))
    with ignore_fp_errors():
        ratios = _of_singles(evidence, functions, found, influence_rows, zero)
        if joint is not None:
            ratios["joint"] = _of_groups(joint, functions, found, influence_rows, zero)
    return ratios


def _of_singles(
    evidence: EffectMoments,
    functions: _CenteredMoments,
    found: list[_Influence],
    influence_rows: InfluenceSample,
    zero: ZeroThresholds,
) -> dict[str, Ratio]:
    every = np.broadcast_to(evidence.variance, evidence.main.shape)
    square = functions.full**2
    terms: dict[str, tuple[Floats | None, list[Floats | None]]] = {
        "main": (evidence.main, [one.main for one in found]),
        "left_out": (evidence.lost, [one.loss for one in found]),
        "overall": (evidence.overall, [one.overall for one in found]),
    }
    ratios = {}
    for name, (numerator, influence) in terms.items():
        if numerator is not None:
            floor = zero.averages if name == "main" else zero.own
            ratios[name] = influence_rows.ratio(numerator, every, np.array(influence), square, floor)
    if evidence.lost is not None:
        with_others = np.array([one.loss for one in found]) - np.array([one.main for one in found])
        added = np.abs(evidence.lost - evidence.main) > zero.own
        error = np.where(added, influence_rows.error(with_others), 0.0)
        ratios["left_out"] = replace(ratios["left_out"], added_error=error)
    of_rest = functions.rest**2 - 2 * np.sum([one.rest for one in found], axis=0)
    ratios["rest"] = influence_rows.ratio(
        evidence.rest[None], evidence.variance[None], of_rest[None], square, zero.own
    )
    return ratios


def variance_shares(
    rest: Ratio,
    evidence: EffectMoments,
    pairs: Floats | None,
    influence_rows: InfluenceSample,
    zero: ZeroThresholds,
) -> VarianceShares:
    r"""Return the shares of the variance of the prediction that curves reproduce, and that pairs add.

    With the prediction :math:`R_1` without curves and :math:`R_2 = R_1 - \sum I_{jk}` these are :math:`1 -
    \langle R_1^2 \rangle / V` and :math:`\langle R_1^2 - R_2^2 \rangle / V`. The sum ``pairs (o, i)`` of all
    interactions of two is known at the influence rows; None if none were requested. Where these are a sample,
    :math:`\langle R_2^2 \rangle` is :math:`\langle R_1^2 \rangle` of every row times the ratio in the sample.
    The error of the second share holds the averages fixed that interactions are made of.
    """
    left, variance = rest.numerator[0], rest.denominator[0]
    some = np.where(variance > 0, variance, np.nan)
    curves, curves_error = 1 - left / some, rest.ratio_error[0]
    if pairs is None:
        return VarianceShares(curves, curves_error)
    with ignore_fp_errors():
        full, *effects = influence_rows.centered(
            np.stack([evidence.full, evidence.effect.sum(axis=0), pairs])
        )
        before = full - effects[0]
        after = before - effects[1]
        known, unknown = before**2 @ influence_rows.share, after**2 @ influence_rows.share
        kept = np.divide(unknown, known, out=np.zeros_like(known), where=(known > 0) & (left > 0))
        kept = np.where(kept * left <= zero.own, 0.0, kept)
        added = left * (1 - kept) / some
        change = before**2 - after**2 - added[:, None] * full**2
        drawn = np.sqrt(influence_rows.rows / influence_rows.sample.n_units - 1)
        sampled = drawn * influence_rows.error(after**2 - kept[:, None] * before**2)
        error = np.hypot(influence_rows.error(change), sampled) / some
    certain = 0.0 if influence_rows.rows > 1 else np.nan
    return VarianceShares(curves, curves_error, added, np.where(left > 0, error, certain))


def _of_groups(
    joint: JointMoments,
    functions: _CenteredMoments,
    found: list[_Influence],
    influence_rows: InfluenceSample,
    zero: ZeroThresholds,
) -> Ratio:
    assert functions.joint is not None
    outer = np.zeros_like(joint.effect)
    for j, one in enumerate(found):
        outer[joint.of_feature.get(j, [])] += one.joint
    of_numerator = influence_rows.centered(joint.interaction) ** 2 + 2 * joint.inner[:, 0]
    of_denominator = functions.joint**2 + 2 * (joint.inner[:, 1] + outer)
    return influence_rows.ratio(
        joint.numerator, joint.denominator, of_numerator, of_denominator, zero.averages
    )


@ignore_fp_errors()
def interaction_p_values(
    evidence: EffectMoments, observed: Floats | None, influence_rows: InfluenceSample, zero: ZeroThresholds
) -> Floats | None:
    r"""Return p-values ``(f, o)`` of the test that y has no interaction of a feature with all others.

    With the interaction :math:`I = F - F_j - F_{\setminus j}` of the model and the residual :math:`r = y -
    F_j - F_{\setminus j}` of the model without it, both less their regression on :math:`F_{\setminus j}` and
    all single effects, the statistic is the mean of :math:`I r` over its standard error. If y has no such
    interaction and the features are independent, its mean is zero, whatever interaction the model has. If I
    is part of y, it is positive.
    ``observed (o, i)`` is the target at the influence rows, None without one.
    """
    if observed is None or evidence.loss is None or evidence.overall is None:
        return None
    sample, share = influence_rows.sample, influence_rows.share
    full, target = influence_rows.centered(evidence.full), influence_rows.centered(observed)
    effects = influence_rows.centered(evidence.effect)
    values = np.ones(evidence.overall.shape)
    for j, o in np.argwhere(evidence.overall > zero.own):
        effect, loss = effects[j, o], influence_rows.centered(evidence.loss[j, o])
        others = full[o] - loss
        both = np.stack([loss - effect, target[o] - effect - others], axis=1)
        additive, root = np.column_stack([*effects[:, o], others]), np.sqrt(share)[:, None]
        both = both - additive @ np.linalg.lstsq(additive * root, both * root, rcond=None)[0]
        score = both.prod(axis=1)
        mean = float(score @ share)
        apart = (score - mean) * share
        if sample.units is not None:
            apart = np.bincount(sample.units, apart).astype(np.float64)
        error = float(np.sqrt(apart @ apart * len(apart) / max(1, len(apart) - 1)))
        if len(apart) < 2 or not error > 0:
            values[j, o] = np.nan
            continue
        tail = student_tail(abs(mean) / error, len(apart) - 1) / 2
        values[j, o] = tail if mean > 0 else 1 - tail
    return values


def strongest_triples(ratios: dict[str, Ratio], features: int, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the triples of the ``count`` features with the largest overall or pairwise interactions."""
    if min(count, features) < 3:
        return ()
    if "overall" in ratios:
        strength = ratios["overall"].numerator.sum(axis=1)
    else:
        strength = np.zeros(features)
        for pair, numerator in zip(combinations(range(features), 2), ratios["joint"].numerator, strict=True):
            strength[list(pair)] += numerator.sum()
    chosen = np.sort(np.argsort(-strength, kind="stable")[:count])
    return tuple(combinations(chosen.tolist(), 3))

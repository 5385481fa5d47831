"""From functions at rows to statistics with errors, whoever computed the functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.interactions.requests import FeatureCurves, InfluenceSample, Ratio
from paribus._states.sums import ignore_fp_errors

NEGLIGIBLE = 1e-8  # of the prediction's standard deviation: a strength that is called zero
SINGLE, DOUBLE = 4, 16  # roundings of a prediction that a strength may be made of; of averages, a quarter


@dataclass(frozen=True, eq=False)
class ZeroThresholds:
    """Mean squares that are called zero, ``(o,)``: what rounding can make.

    They are relative to the prediction's own variance and size, never absolute, so that a model which
    predicts in units of a millionth loses nothing. ``own`` is for statistics in which a row's own prediction
    stands beside averages: a library may have rounded it to single precision.
    """

    averages: Floats
    own: Floats

    @classmethod
    def of(cls, variance: Floats, predictions: Floats, *, single: bool, single_own: bool) -> ZeroThresholds:
        """Return the floors for some predictions ``(i, o)``; ``single`` says single precision."""
        largest = np.abs(predictions[np.isfinite(predictions)]).max(initial=0.0)
        fine = DOUBLE * float(np.finfo(np.float64).eps) * largest
        coarse = SINGLE * float(np.finfo(np.float32).eps) * largest
        least = NEGLIGIBLE**2 * variance
        averages, own = coarse / 4 if single else fine, coarse if single_own else fine
        with ignore_fp_errors():
            return cls(least + averages**2, least + own**2)

    def above(self, variance: Floats) -> Floats:
        """Return the variance of the prediction, zero where rounding can make as much."""
        return np.where((variance <= self.own) & np.isfinite(self.own), 0.0, variance)


@dataclass(frozen=True, eq=False)
class EffectMoments:
    """Effects of single features: mean squares over every row, and the functions at the influence rows.

    Attributes
    ----------
    variance : (o,)
        Mean square of the centered prediction.
    main, lost, overall : (f, o)
        Mean squares of each feature's effect, of what the prediction loses with it averaged out, and of
        its interaction with all others; the last two None if not requested.
    total : (o,) or None
        Mean square of what is left of the prediction beside the effects of single features.
    full : (o, i)
        The prediction at the influence rows.
    effect, loss : (f, o, i)
        The functions behind ``main`` and ``lost``.
    single : callable
        The influence rows' curves over a feature.
    """

    variance: Floats
    main: Floats
    lost: Floats | None
    overall: Floats | None
    total: Floats | None
    full: Floats
    effect: Floats
    loss: Floats | None
    single: Callable[[int], FeatureCurves]


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Effects of groups of features: mean squares over every row, and the functions at the influence rows.

    Attributes
    ----------
    groups : tuple
        The groups, as positions among the features.
    numerator, denominator : (t, o)
        Mean squares of the interaction and of the joint effect.
    interaction, effect : (t, o, i)
        The functions behind them.
    inner : (t, 2, o, i)
        What an influence row does to both through averages that move more than one feature.
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
        """Join what was found of each group: squares ``(2, o)``, functions and inner ``(2, o, i)``."""
        numerator, denominator = np.stack(squares, axis=1)
        interaction, effect = np.stack(functions, axis=1)
        return cls(groups, numerator, denominator, interaction, effect, np.stack(inner))

    @cached_property
    def _of_feature(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, group in enumerate(self.groups):
            for j in group:
                found.setdefault(j, []).append(number)
        return found

    def having(self, j: int) -> list[int]:
        """Return the groups a feature is in."""
        return self._of_feature.get(j, [])


@dataclass(frozen=True, eq=False)
class _CenteredMoments:
    """The functions at the influence rows, each with mean zero."""

    full: Floats
    effect: Floats
    loss: Floats | None
    joint: Floats | None

    @property
    def rest(self) -> Floats:
        """What the effects of single features leave."""
        return np.asarray(self.full - self.effect.sum(axis=0))


@dataclass(frozen=True, eq=False)
class _Influence:
    """What the influence rows do to the statistics through one feature; ``joint`` by group."""

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
    if loss is None:
        of_effect, of_rest, *of_joint = single.as_rest(np.stack(terms) * share)
        return _Influence(effect**2 + 2 * of_effect, None, None, of_rest, _stacked(of_joint, effect))
    among = loss - effect  # F - F_j - F_without_j
    of_among, of_effect, of_rest, *of_joint = single.as_rest(np.stack([among, *terms]) * share)
    loss_away, among_away = single.as_value(np.stack([loss, among]) * share)
    return _Influence(
        effect**2 + 2 * of_effect,
        loss**2 - 2 * loss_away,
        among**2 - 2 * (of_among + among_away),
        of_rest,
        _stacked(of_joint, effect),
    )


def _stacked(functions: list[Floats], like: Floats) -> Floats:
    return np.array(functions).reshape(-1, *like.shape)


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
        groups = [] if joint is None else joint.having(j)
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
    if evidence.total is not None:
        of_total = functions.rest**2 - 2 * np.sum([one.rest for one in found], axis=0)
        ratios["total"] = influence_rows.ratio(
            evidence.total[None], evidence.variance[None], of_total[None], square, zero.own
        )
    return ratios


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
        outer[joint.having(j)] += one.joint
    of_numerator = influence_rows.centered(joint.interaction) ** 2 + 2 * joint.inner[:, 0]
    of_denominator = functions.joint**2 + 2 * (joint.inner[:, 1] + outer)
    return influence_rows.ratio(
        joint.numerator, joint.denominator, of_numerator, of_denominator, zero.averages
    )


def strongest_triples(ratios: dict[str, Ratio], features: int, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the triples of the ``count`` features that interact most, by what was computed of them."""
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

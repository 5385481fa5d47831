"""Options of the statistics: types and checks; their defaults are in the methods of `Explainer`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from paribus._api.data import ExplainerData
from paribus._api.run import Statistic, Subsample
from paribus._api.statistics.axis_options import AxisOptions, Groups, groups_of
from paribus._data.features import (
    Features,
    check_no_target,
    resolve,
    resolve_each,
    resolve_groups,
    resolve_set,
)
from paribus._data.summary import CENTER
from paribus._grid import GridOptions
from paribus._text import count
from paribus._typing import (
    AUTO,
    Curves,
    EffectMethod,
    GridResolution,
    ImportanceKind,
    LossName,
    Method,
    ResponseMethod,
)
from paribus.errors import ModelError, OptionError, check_choice, check_flags

if TYPE_CHECKING:
    from paribus._api.explainer import Explainer
    from paribus._api.statistics.ale_statistic import AleStatistic
    from paribus._api.statistics.effects_statistic import EffectsStatistic
    from paribus._api.statistics.interaction_statistic import InteractionStatistic
    from paribus._api.statistics.marginal_statistic import MarginalStatistic
    from paribus._api.statistics.region_statistic import RegionStatistic
    from paribus.results import (  # noqa: F401
        AccumulatedLocalEffect,
        Effects,
        HStatistics,
        Importance,
        Marginal,
        PartialDependence,
        Regions,
    )

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def subsample_of(subsample: Any, seed: int, called: int | None = None) -> Subsample:
    """Return the rows of a call; ``called`` is the number of rows of ``"auto"`` if a model is called."""
    if isinstance(subsample, str) and subsample == AUTO:
        return Subsample(None, seed, called)
    if subsample is None:
        return Subsample(None, seed)
    try:
        return Subsample(check_int("subsample", subsample, 2), seed)
    except OptionError as error:
        raise OptionError(f"{error}, None for every row, or 'auto'") from error


def check_int(name: str, value: Any, least: int) -> int:
    """Validate an integer with a lower bound."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name}={value!r} must be an integer of at least {least}")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Validate a number between 0 and 1."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise OptionError(f"{name}={value!r} must be a number of at least 0 and at most 1")
    return float(value)


def seed_of(random_state: Any) -> int:
    """Return a seed from ``random_state``, which may be a generator."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return check_int("random_state", random_state, 0)


def probabilities_of(quantiles: Any) -> tuple[float, ...] | None:
    """Validate the quantiles of individual curves; True stands for the default ones.

    >>> probabilities_of(True), probabilities_of([0.5])
    ((0.1, 0.25, 0.5, 0.75, 0.9), (0.5,))
    """
    if quantiles is None or isinstance(quantiles, bool):
        return QUANTILES if quantiles else None
    way_out = f"must be None, True, or distinct probabilities in [0, 1], such as {QUANTILES}"
    try:
        probabilities = tuple(float(p) for p in quantiles)
    except (TypeError, ValueError) as error:
        raise OptionError(f"quantiles={quantiles!r} {way_out}") from error
    if isinstance(quantiles, str) or not probabilities or not all(0 <= p <= 1 for p in probabilities):
        raise OptionError(f"quantiles={quantiles!r} {way_out}")
    if len({f"{p:.8g}" for p in probabilities}) < len(probabilities):
        raise OptionError(f"quantiles={quantiles!r} has a duplicate probability; it {way_out}")
    return probabilities


CURVE_BINS, SURFACE_BINS = 40, 20  # bins of ALE of one feature, and of each of two
REGION_BINS = 20  # bins of a feature at whose edges curves are compared within regions
REGION_ROWS = 4_000  # rows of `regions` if the model is called
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Subject:
    """The models and data of an `Explainer`, and how predictions are obtained."""

    estimators: tuple[Any, ...]
    several: bool
    data: ExplainerData
    y: Any
    categorical_features: Any
    category_names: Mapping[str, Mapping[Any, str]]
    response_method: ResponseMethod
    times: Any
    target_names: Any
    verify: bool

    def check(self, verb: str, features: Any, *, needs_model: bool = True) -> None:
        """Raise if a target is passed as features, or if a model is needed and missing."""
        check_no_target(features, self.data.header, self.data.known_rows, verb)
        if needs_model and not self.estimators:
            raise ModelError(f"{verb} needs a model, and estimator is None; only marginal averages y alone")

    def grouped(self, groups: Mapping[str, tuple[int, ...]]) -> Subject:
        """Return the subject with groups of columns as one feature each; those of several are categorical."""
        header = self.data.header
        nominal = resolve_set("categorical_features", self.categorical_features, header)
        taken = {column: (name, len(columns)) for name, columns in groups.items() for column in columns}
        features = [taken.get(column, (name, 1)) for column, name in enumerate(header.names)]
        kept = [features[column][0] for column in sorted(nominal) if features[column][1] == 1]
        named = {
            feature: self.category_names[name]
            for name, (feature, size) in zip(header.names, features, strict=True)
            if size == 1 and name in self.category_names
        }
        data = self.data.grouped(groups)
        return replace(self, data=data, categorical_features=kept, category_names=named)

    def axes(
        self, features: Any, groups: Groups, grid: GridOptions, custom_values: Any, bins: tuple[int, ...] = ()
    ) -> AxisOptions:
        """Return the options of axes; with ``features=None``, unsupported columns are skipped."""
        header, nominal, names = self.data.header, self.categorical_features, self.category_names
        return AxisOptions.of(header, groups, grid, nominal, names, custom_values, features is None, bins)


@dataclass(frozen=True, kw_only=True, eq=False)
class Options(ABC, Generic[Result]):
    """The arguments of one function, except those about the data and the computation.

    The fields are the arguments of the function, and of the method of `Explainer`, named ``verb``.
    """

    verb: ClassVar[str]
    called_rows: ClassVar[int | None] = None  # rows of ``subsample="auto"`` if a model is called

    features: Any
    subsample: int | str | None
    random_state: Any

    @classmethod
    def of(cls, explainer: Explainer, **arguments: Any) -> Self:
        """Return the options of a call of the method ``verb``, with the defaults of its signature."""
        parameters = signature(getattr(explainer, cls.verb)).parameters
        defaults = {name: parameter.default for name, parameter in parameters.items()}
        return cls(**defaults | arguments)

    @cached_property
    def seed(self) -> int:
        """Seed of every sample; a generator of random numbers is used once."""
        return seed_of(self.random_state)

    @property
    def sample(self) -> Subsample:
        """The rows that the call uses."""
        return subsample_of(self.subsample, self.seed, self.called_rows)

    @property
    def every(self) -> bool:
        """Whether all of these rows are crossed with each other, if rows are."""
        return self.subsample != AUTO


@dataclass(frozen=True, kw_only=True, eq=False)
class StatisticOptions(Options[Result]):
    """The arguments of a function that computes a single statistic."""

    @abstractmethod
    def statistic(self, subject: Subject) -> Statistic:
        """Check the options, and return the statistic."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CurveOptions(StatisticOptions[Result]):
    """Options shared by `partial_dependence` and `effects`."""

    percentiles: tuple[float, float] | None
    grid_resolution: GridResolution
    custom_values: Mapping[Any, Any] | None
    method: EffectMethod
    kind: Curves
    quantiles: Any
    subsample: int | None

    def _statistic(self, subject: Subject, features: Any, groups: Groups, alone: bool) -> EffectsStatistic:
        """Check the options, and return the statistic; ``alone`` is True for a single result."""
        from paribus._api.statistics.effects_statistic import EffectsStatistic

        joint = all(len(group) > 1 for group in groups)
        percentiles = CENTER if joint and self.percentiles is None else self.percentiles
        grid = GridOptions.of(percentiles, self.grid_resolution)
        check_choice("kind", self.kind, Curves)
        probabilities = probabilities_of(self.quantiles)
        check_choice("method", self.method, EffectMethod)
        if subject.several and (self.kind != "average" or probabilities is not None):
            given = f"kind={self.kind!r}" if self.kind != "average" else "quantiles="
            way_out = "use kind='average'" if self.kind != "average" else "leave it out"
            raise OptionError(
                f"{given} needs a single model, but estimator is a list of {len(subject.estimators)}; pass "
                f"one model or {way_out}"
            )
        if subject.verify and self.method == "recursion":
            raise OptionError("verify=True compares with brute force, and recursion estimates something else")
        return EffectsStatistic(
            groups,
            subject.axes(features, groups, grid, self.custom_values),
            self.kind,
            self.method,
            subject.verify,
            probabilities,
            alone,
            self.verb,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PartialDependenceOptions(CurveOptions["PartialDependence"]):
    """Options of `partial_dependence`."""

    verb = "partial_dependence"

    features: Features

    def statistic(self, subject: Subject) -> EffectsStatistic:
        """Check the options, and return the statistic of one effect."""
        subject.check(self.verb, self.features)
        groups = (resolve(self.features, subject.data.header),)
        return self._statistic(subject, self.features, groups, alone=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class EffectsOptions(CurveOptions["Effects[PartialDependence]"]):
    """Options of `effects`."""

    verb = "effects"

    def statistic(self, subject: Subject) -> EffectsStatistic:
        """Check the options, and return the statistic of several effects."""
        subject.check(self.verb, self.features)
        groups = groups_of(self.features, subject.data.header)
        return self._statistic(subject, self.features, groups, alone=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class AleOptions(StatisticOptions["Effects[AccumulatedLocalEffect]"]):
    """Options of `accumulated_local_effects`."""

    verb = "accumulated_local_effects"

    grid_resolution: int | None
    custom_values: Mapping[Any, Any] | None
    method: Method
    subsample: int | None

    def statistic(self, subject: Subject) -> AleStatistic:
        """Check the options, and return the statistic of accumulated local effects."""
        from paribus._api.statistics.ale_statistic import AleStatistic

        subject.check(self.verb, self.features)
        bins = self._bins()
        check_choice("method", self.method, Method)
        single = isinstance(self.features, (str, int, np.integer))
        groups = groups_of([self.features] if single else self.features, subject.data.header)
        axes = subject.axes(self.features, groups, GridOptions(), self.custom_values, bins)
        return AleStatistic(groups, axes, self.method, subject.verify)

    def _bins(self) -> tuple[int, int]:
        """Return the number of bins for one feature, and for each of two."""
        given = self.grid_resolution
        if given is None:
            return CURVE_BINS, SURFACE_BINS
        if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < 1:
            raise OptionError(
                f"grid_resolution={given!r} must be an integer number of bins, at least 1, or None"
            )
        return int(given), int(given)


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalOptions(StatisticOptions["Effects[Marginal]"]):
    """Options of `marginal`."""

    verb = "marginal"

    percentiles: tuple[float, float] | None
    grid_resolution: GridResolution
    custom_values: Mapping[Any, Any] | None
    subsample: int | None

    def statistic(self, subject: Subject) -> MarginalStatistic:
        """Check the options, and return the statistic of averages near each value."""
        from paribus._api.statistics.marginal_statistic import MarginalStatistic, check_without_model

        subject.check(self.verb, self.features, needs_model=False)
        grid = GridOptions.of(self.percentiles, self.grid_resolution)
        if not subject.estimators:
            check_without_model(subject.y, subject.response_method, subject.times, grid)
        groups = groups_of(self.features, subject.data.header)
        axes = subject.axes(self.features, groups, grid, self.custom_values)
        return MarginalStatistic(groups, axes, subject.estimators, subject.target_names)


@dataclass(frozen=True, kw_only=True, eq=False)
class HStatisticOptions(StatisticOptions["HStatistics"]):
    """Options of `h_statistic`."""

    verb = "h_statistic"

    overall: bool
    threeway: int
    method: Method

    def statistic(self, subject: Subject) -> InteractionStatistic:
        """Check the options, and return the statistic of interactions."""
        from paribus._api.statistics.interaction_statistic import InteractionStatistic

        subject.check(self.verb, self.features)
        check_flags(overall=self.overall)
        check_choice("method", self.method, Method)
        chosen, tokens = resolve_each(self.features, subject.data.header, subject.data.named)
        if len(chosen) < 2:
            raise OptionError(f"features={self.features!r}: an interaction needs at least two features")
        most = check_int("threeway", self.threeway, 0)
        if most and min(most, len(chosen)) < 3:
            raise OptionError(
                f"threeway={self.threeway!r} of {count(len(chosen), 'feature')} gives no triples; it must be "
                "0 or at least 3"
            )
        return InteractionStatistic(
            self.verb,
            chosen,
            tokens,
            self.seed,
            overall=self.overall,
            threeway=most,
            method=self.method,
            verify=subject.verify,
            every=self.every,
            estimators=subject.estimators,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ImportanceOptions(StatisticOptions["Importance"]):
    """Options of `feature_importance`."""

    verb = "feature_importance"

    kind: ImportanceKind
    loss: LossName | None
    n_repeats: int

    def statistic(self, subject: Subject) -> Statistic:
        """Check the options, and return the statistic of the chosen kind."""
        check_choice("kind", self.kind, ImportanceKind)
        subject.check(self.verb, self.features)
        self._check_unused(subject)
        if self.kind == "permutation":
            return self._permuted(subject)
        if self.kind == "effect":
            return self._by_effect(subject)
        from paribus._api.statistics.importance_statistic import OwnStatistic

        subject.data.in_memory("kind='model'")
        chosen, tokens = resolve_each(self.features, subject.data.header, subject.data.named)
        return OwnStatistic(subject.estimators[0], chosen, tokens)

    def _by_effect(self, subject: Subject) -> Statistic:
        """Return the statistic of the strengths of curves."""
        from paribus._api.statistics.effects_statistic import VARIED, EffectsStatistic
        from paribus._api.statistics.importance_statistic import StrengthStatistic

        interactions = self.interactions(subject)
        if self.every:  # crossed rows give the curves at every row's own value
            return interactions
        groups = tuple((feature,) for feature in interactions.features)
        axes = subject.axes(self.features, groups, GridOptions(), None)
        return StrengthStatistic(
            EffectsStatistic(groups, axes), replace(interactions, varied=VARIED, with_importance=True)
        )

    def interactions(self, subject: Subject) -> InteractionStatistic:
        """Return the statistic of the interactions of each feature with all others."""
        from paribus._api.statistics.interaction_statistic import InteractionStatistic

        chosen, tokens = resolve_each(self.features, subject.data.header, subject.data.named)
        return InteractionStatistic(
            self.verb, chosen, tokens, self.seed, pairwise=False, verify=subject.verify, every=self.every
        )

    def _permuted(self, subject: Subject) -> Statistic:
        """Return the statistic of permutation importance."""
        from paribus._api.statistics.importance_statistic import PermutationStatistic

        if self.sample.size is None:
            subject.data.in_memory("kind='permutation'")
        groups, names = resolve_groups(self.features, subject.data.header, subject.data.named)
        return PermutationStatistic(
            subject.estimators,
            groups,
            names,
            self.loss,
            subject.response_method,
            check_int("n_repeats", self.n_repeats, 1),
            self.seed,
        )

    def _check_unused(self, subject: Subject) -> None:
        """Raise for arguments that this kind of importance ignores."""
        kind = self.kind
        given = {
            "times": kind != "effect" and subject.times is not None,
            "target_names": kind != "effect" and subject.target_names is not None,
            "loss": kind != "permutation" and self.loss is not None,
            "n_repeats": kind != "permutation" and self.n_repeats != 5,
            "response_method": kind == "model" and subject.response_method != AUTO,
            "subsample": kind == "model" and self.subsample != AUTO,
            "verify": kind == "model" and subject.verify,
        }
        if kind == "permutation" and subject.y is None:
            raise OptionError("kind='permutation' needs y, to compute losses of predictions")
        if kind == "model" and subject.several:
            raise ModelError(
                f"kind='model' is about one model, and estimator is a list of {len(subject.estimators)}; "
                "pass one"
            )
        for name, is_given in given.items():
            if is_given:
                raise OptionError(f"{name} has no meaning for kind={kind!r}; leave it out")


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionOptions(StatisticOptions["Regions"]):
    """Options of `regions`."""

    verb = "regions"
    called_rows = REGION_ROWS

    max_depth: int
    min_gain: float

    def statistic(self, subject: Subject) -> RegionStatistic:
        """Check the options, and return the statistic of regions."""
        from paribus._api.statistics.region_statistic import RegionStatistic
        from paribus._evaluators.region_search import CUT_BINS

        subject.check(self.verb, self.features)
        if subject.verify:
            raise OptionError("verify=True has no meaning for regions; leave it out")
        if subject.several:
            many = len(subject.estimators)
            raise OptionError(f"regions are of a single model, but estimator is a list of {many}; pass one")
        header, chosen = subject.data.header, None
        if self.features is not None:
            single = isinstance(self.features, (str, int, np.integer))
            chosen, _ = resolve_each([self.features] if single else self.features, header, subject.data.named)
        axes = subject.axes(None, groups_of(None, header), GridOptions(), None, (REGION_BINS, CUT_BINS))
        max_depth = check_int("max_depth", self.max_depth, 1)
        return RegionStatistic(axes, chosen, max_depth, check_share("min_gain", self.min_gain), self.seed)


STATISTICS: tuple[type[StatisticOptions[Any]], ...] = (
    PartialDependenceOptions,
    EffectsOptions,
    AleOptions,
    MarginalOptions,
    HStatisticOptions,
    ImportanceOptions,
    RegionOptions,
)

"""One object that knows a model and its data, with every statistic as a method."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus import _budget
from paribus._api.data import InMemoryData, SurveyRequest
from paribus._api.opening import open_data
from paribus._api.options import (
    AUTO,
    check_flags,
    check_int,
    prediction_limit,
    probabilities_of,
    resolve_subsample,
    seed_of,
)
from paribus._api.run import Statistic, Work, run, surveying_of
from paribus._api.runner import Runner
from paribus._api.statistics.axis_options import AxisOptions, groups_of
from paribus._data.features import (
    Features,
    Header,
    check_no_target,
    resolve,
    resolve_each,
    resolve_groups,
)
from paribus._data.table import Table
from paribus._executors.compiling import showing_compilation
from paribus._executors.progress import announce_line
from paribus._grid import GridOptions
from paribus._models import Model, adapt_models, as_model_list, prefetch_structure, structure_text
from paribus._models.adapter import describe
from paribus._text import count
from paribus._typing import (
    Curves,
    EffectMethod,
    GridResolution,
    ImportanceMethod,
    Method,
    OnError,
    ResponseMethod,
)
from paribus.errors import ModelError, OptionError, RefusalError, check_choice, did_you_mean
from paribus.results import (
    CostEstimate,
    Effects,
    Explanation,
    HStatistics,
    Importance,
    LocalEffects,
    Marginals,
    PartialDependence,
)

if TYPE_CHECKING:
    from paribus._api.explaining import ExplainOptions

# Values of a table, and seconds, from which on an explanation is announced with what it takes.
ANNOUNCED_VALUES, ANNOUNCED_SECONDS = 10_000_000, 10.0
# Predictions that an explanation makes of each row for surfaces, for each feature, and of crossed rows: more
# than usual, to know without a plan that it is short.
SURFACE_POINTS, CURVE_POINTS, CROSSED_POINTS = 2_000, 100, 20_000_000
CURVE, SURFACE = 40, 20  # bins of a feature by itself, and of each of two
# Kernels that a verb needs for averages of shallow trees, for the bar while they are compiled.
KERNELS, FEW_KERNELS = {"effects": 2, "h_statistic": 7, "accumulated_local_effects": 1}, 2


class Explainer:
    """A model and the data it is explained on, opened once, with every statistic as a method.

    The functions `paribus.effects` and the like are ``Explainer(estimator, X, ...).effects(...)``: the same
    numbers, to the bit. The object opens X, adapts the model and surveys the data once, when they are first
    needed, and `run` computes several statistics in shared passes over the rows.

    Parameters
    ----------
    estimator : fitted model or callable, or a list or tuple of them, or None
        As for `partial_dependence`; None only for `marginal`, to average ``y`` alone.
    X : table, or where to read one
        As for `partial_dependence`.
    y : array of shape (n,) or (n, n_outputs), or str or list of str, optional
        The target, for `marginal`, `explain` and importance by permutation, or the name of its column in X.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    See Also
    --------
    partial_dependence : What the arguments mean.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = paribus.Explainer(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
    >>> explainer.h_statistic().strongest(1)[0].features
    (0, 1)
    >>> found = explainer.run("effects", ("h_statistic", {"features": [0, 1]}))
    >>> found["effects"].keys() == explainer.effects().keys()
    True
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        categorical_features: Any = None,
        feature_names: Any = None,
        response_method: ResponseMethod = "auto",
        target_names: Any = None,
        n_jobs: int | None = None,
        max_memory: float | str | None = None,
        progress: bool | None = None,
        executor: Any = None,
        checkpoint: Any = None,
        on_error: OnError = "raise",
    ) -> None:
        check_flags(progress=progress)
        self._estimators = as_model_list(estimator) or (() if estimator is None else (estimator,))
        self._several = as_model_list(estimator) is not None
        self._categorical = categorical_features
        self._response_method, self._target_names = response_method, target_names
        self._threads = None if n_jobs is None else _budget.threads(n_jobs)
        self._max_memory = None if max_memory is None else _budget.memory(max_memory)
        self._runner = Runner.of(progress, executor, checkpoint)
        opening = estimator, X, sample_weight, feature_names, on_error, self._runner
        self._data, self._y = open_data(*opening, y)
        self._models: tuple[Model, ...] | None = None
        self._fingerprint: Future[str] | None = None

    def __repr__(self) -> str:
        names = Counter(describe(one) for one in self._estimators)
        model = " and ".join(name if n == 1 else f"{n} x {name}" for name, n in names.items()) or "no model"
        lines = [f"Explainer of {model}", f"  {self._data.describe()}"]
        unused = self._data.header.unused
        if unused:
            lines.append(f"  without use: {', '.join(unused)}")
        lines += [f"  {line}" for line in self._structures()]
        return "\n".join(lines)

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""
        return self._data.header

    def _structures(self) -> list[str]:
        """Return what is known of how each model computes, without finding it out."""
        if self._models is None:
            return ["the model has not predicted yet"] if self._estimators else []
        lines = []
        for model in self._models:
            count = len(model.output_names)
            response = f"{model.response}, {count} output{'s' * (count != 1)}"
            try:
                lines.append(f"{model.name}: {response}; read as {structure_text(model)}")
            except RefusalError as refusal:
                lines.append(f"{model.name}: {response}; evaluated itself: {refusal}")
        return lines

    def partial_dependence(
        self,
        features: Features,
        *,
        percentiles: tuple[float, float] = (0.05, 0.95),
        grid_resolution: GridResolution = 100,
        custom_values: Mapping[Any, Any] | None = None,
        method: EffectMethod = "auto",
        kind: Curves = "average",
        quantiles: Any = None,
        verify: bool = False,
        max_predictions: int | None = None,
    ) -> PartialDependence:
        """Compute the partial dependence on one feature, or on several together; see `partial_dependence`."""
        result: PartialDependence = self._compute("partial_dependence", locals())
        return result

    def effects(
        self,
        features: Any = None,
        *,
        percentiles: tuple[float, float] = (0.05, 0.95),
        grid_resolution: GridResolution = 100,
        custom_values: Mapping[Any, Any] | None = None,
        method: EffectMethod = "auto",
        kind: Curves = "average",
        quantiles: Any = None,
        verify: bool = False,
        max_predictions: int | None = None,
    ) -> Effects:
        """Compute many effects in one pass over the rows; see `paribus.effects`."""
        result: Effects = self._compute("effects", locals())
        return result

    def accumulated_local_effects(
        self,
        features: Any = None,
        *,
        grid_resolution: int | None = None,
        custom_values: Mapping[Any, Any] | None = None,
        method: Method = "auto",
        verify: bool = False,
        max_predictions: int | None = None,
    ) -> LocalEffects:
        """Compute the effect of each feature where the data is; see `paribus.accumulated_local_effects`."""
        result: LocalEffects = self._compute("accumulated_local_effects", locals())
        return result

    def marginal(
        self,
        features: Any = None,
        *,
        percentiles: tuple[float, float] = (0.05, 0.95),
        grid_resolution: GridResolution = 20,
        custom_values: Mapping[Any, Any] | None = None,
        max_predictions: int | None = None,
    ) -> Marginals:
        """Average predictions, and what came out, over the rows near each value; see `paribus.marginal`."""
        result: Marginals = self._compute("marginal", locals())
        return result

    def h_statistic(
        self,
        features: Any = None,
        *,
        subsample: int | str | None = "auto",
        random_state: Any = None,
        overall: bool = True,
        threeway: int = 0,
        method: Method = "auto",
        n_max: int | None = None,
        verify: bool = False,
        max_predictions: int | None = None,
    ) -> HStatistics:
        """Compute how much of the model is interaction, and between whom; see `paribus.h_statistic`."""
        result: HStatistics = self._compute("h_statistic", locals())
        return result

    def feature_importance(
        self,
        features: Any = None,
        *,
        method: ImportanceMethod = "effect",
        scoring: Any = None,
        n_repeats: int = 5,
        subsample: int | str | None = "auto",
        random_state: Any = None,
        max_predictions: int | None = None,
    ) -> Importance:
        """Compute how much each feature matters; see `paribus.feature_importance`."""
        result: Importance = self._compute("feature_importance", locals())
        return result

    def explain(
        self,
        features: Any = None,
        *,
        monotone: Any = None,
        pairs: int = 10,
        mute: Any = (),
        percentiles: tuple[float, float] = (0.05, 0.95),
        grid_resolution: GridResolution | None = None,
        quantiles: Any = "auto",
        interactions: bool = True,
        subsample: int | str | None = "auto",
        random_state: Any = None,
        max_predictions: int | None = None,
        max_hours: float | None = _budget.MAX_HOURS,
    ) -> Explanation:
        """Compute every statistic in shared passes; see `paribus.explain`."""
        own = {name: value for name, value in locals().items() if name != "self"}
        from paribus._api.explaining import Explained, ExplainOptions, explanation_of

        options = ExplainOptions.of(own, several=self._several)
        statistics = self._explaining(options)
        if options.max_predictions is None:  # a trial would add to them
            self._announce(self._forecasted("explain", own), options.max_hours)
        found = self._run_named(statistics)
        about = Explained(self._estimators, self._models or (), self._data, self._y)
        return explanation_of(found, options, about)

    def run(self, *verbs: str | tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Compute several statistics in shared passes over the rows.

        Each result is the same to the bit as that of the method of its name. Passes that do not fit
        ``max_memory`` together are run one after another, and so are those on a cluster, or of a run that
        goes on from a checkpoint.

        Parameters
        ----------
        *verbs : str, or tuple of str and mapping
            Names of methods; with arguments as a pair, such as ``("effects", {"grid_resolution": 20})``.

        Returns
        -------
        dict
            The result of each, by its name.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> explainer = paribus.Explainer(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
        >>> list(explainer.run("effects", "accumulated_local_effects"))
        ['effects', 'accumulated_local_effects']
        """
        return self._run_named(self._statistics(verbs))

    def _statistics(self, verbs: Sequence[Any]) -> dict[str, Statistic]:
        """Return what computes each of several verbs, as `run` takes them."""
        requests = _requests(verbs)
        twice = [verb for verb, count in Counter(verb for verb, _ in requests).items() if count > 1]
        if twice:
            raise OptionError(f"{twice[0]!r} is requested twice; run it once more for other arguments")
        return {verb: self._statistic(verb, _bound(verb, arguments)) for verb, arguments in requests}

    def _run_named(self, statistics: Mapping[str, Statistic]) -> dict[str, Any]:
        """Return the result of each statistic, computed in shared passes."""
        return dict(zip(statistics, self._run(list(statistics.values())), strict=True))

    def estimate_cost(self, *verbs: str | tuple[str, Mapping[str, Any]]) -> CostEstimate:
        """Estimate what `run` would take with the same arguments: passes, time and memory.

        One block of rows is read, surveyed and evaluated, and the time that took is scaled to all rows.

        Parameters
        ----------
        *verbs : str, or tuple of str and mapping
            As for `run`, or ``"explain"``.

        Returns
        -------
        Estimate
            With ``passes``, ``seconds``, ``memory``, ``evaluator`` and more, and a readable repr.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(1_000, 3))
        >>> explainer = paribus.Explainer(lambda X: X[:, 0] * X[:, 1], X)
        >>> explainer.estimate_cost("effects", "accumulated_local_effects").passes
        1
        """
        requests = _requests(verbs)
        statistics = [one for verb, arguments in requests for one in self._forecasted(verb, arguments)]
        return self._forecast(statistics)

    def _forecasted(self, verb: str, arguments: Mapping[str, Any]) -> list[Statistic]:
        """Return the statistics of a verb, as a forecast needs them."""
        if verb != "explain":
            return [self._statistic(verb, _bound(verb, arguments))]
        from paribus._api.explaining import ExplainOptions
        from paribus._api.statistics.surface_statistic import SurfaceStatistic

        own = _bound(verb, arguments, "explain")
        every = self._explaining(ExplainOptions.of(own, several=self._several)).values()
        # Which surfaces are wanted is found out on the way.
        return [one.likely() if isinstance(one, SurfaceStatistic) else one for one in every]

    def _announce(self, statistics: Sequence[Statistic], max_hours: float | None) -> None:
        """Say how long an explanation takes before it begins, if that is long, and refuse many hours."""
        rows, silent = self._data.known_rows, self._runner.progress is False
        if rows is None or (silent and max_hours is None):
            return
        large = rows * len(self._data.header.names) >= ANNOUNCED_VALUES
        if not large and isinstance(self._data, InMemoryData):
            self._adapt(self._data.rows.predictable)
            evaluated = [model for model in self._models or () if not is_read(model)]
            large = bool(evaluated) and not (silent and self._is_short(evaluated, max_hours))
        if not large:
            return
        estimate = self._forecast(statistics)
        seconds = estimate.seconds or 0.0
        # The estimate is of this process, so that it does not bound what a cluster takes.
        if max_hours is not None and seconds > 3600 * max_hours and self._runner.executor is None:
            raise OptionError(
                f"max_hours={max_hours:g}: {estimate.announcement}. Pass fewer features or rows, or "
                "max_hours=None to run it all the same (on the command line --yes)"
            )
        if seconds > ANNOUNCED_SECONDS and not silent:
            announce_line(estimate.announcement)

    def _is_short(self, models: Sequence[Model], max_hours: float | None) -> bool:
        """Return whether models predict so fast that a trial, which predicts many rows, is not needed."""
        from paribus._api.cost import rough_seconds

        rows = self._data.in_memory("a trial")
        most = len(rows) * (SURFACE_POINTS + CURVE_POINTS * len(rows.table.names)) + CROSSED_POINTS
        return max_hours is None or rough_seconds(models, rows, most) < 3600 * max_hours

    def _forecast(self, statistics: Sequence[Statistic]) -> CostEstimate:
        from paribus._api.cost import forecast

        surveying = surveying_of(statistics, self._threads, self._max_memory)
        targeted = self._y is not None and any(one.needs_target for one in statistics)
        trial = (self._data.with_target(self._y) if targeted else self._data).trial(surveying)
        self._adapt(trial.data.rows.table)
        return forecast(
            statistics,
            trial,
            self._models or (),
            threads=self._threads,
            max_memory=self._max_memory,
            several=self._several,
        )

    def _compute(self, verb: str, arguments: dict[str, Any]) -> Any:
        own = {name: value for name, value in arguments.items() if name != "self"}
        return self._run([self._statistic(verb, own)])[0]

    def _statistic(self, verb: str, arguments: dict[str, Any]) -> Statistic:
        check_no_target(arguments.get("features"), self._data.header, self._data.known_rows, verb)
        return BUILDERS[verb](self, **arguments)

    def _explaining(self, options: ExplainOptions) -> dict[str, Statistic]:
        """Return the statistics of an explanation."""
        from paribus._api.explaining import statistics_of

        self._needs_model("explain")
        check_no_target(options.features, self._data.header, self._data.known_rows, "explain")
        features, _ = resolve_each(options.features, self._data.header, self._data.named)
        groups = tuple((feature,) for feature in features)
        axes = self._axes(options.features, groups, options.surface_grid, None)

        def build(verb: str, **own: Any) -> Statistic:
            return self._statistic(verb, _bound(verb, {"features": options.features, **own}))

        return statistics_of(options, build, axes, features, len(self._estimators))

    def _run(self, statistics: Sequence[Statistic]) -> list[Any]:
        self._runner.begin()
        prepare = lambda pool, surveying: self._work(statistics, pool, surveying)  # noqa: E731
        kernels = sum(KERNELS.get(one.verb, FEW_KERNELS) for one in statistics)
        with showing_compilation(kernels, self._runner.progress):
            return run(statistics, prepare, threads=self._threads, max_memory=self._max_memory)

    def _work(
        self, statistics: Sequence[Statistic], pool: ThreadPoolExecutor, surveying: SurveyRequest
    ) -> Work:
        """Open what the statistics need: the target, the models, and what a survey finds."""
        targeted = self._y is not None and any(one.needs_target for one in statistics)
        data = self._data.with_target(self._y) if targeted else self._data
        needed = any(one.needs_model for one in statistics)
        data.prepare(surveying, self._runner, self._adapt if needed else _no_models)
        models = (self._models or ()) if needed else ()
        if any(one.reads_trees for one in statistics):
            for model in models:
                pool.submit(prefetch_structure, model)
        if self._fingerprint is None:
            self._fingerprint = pool.submit(self._data.rows.fingerprint, target=False)
        return Work(
            data,
            models,
            self._runner,
            _budget.memory(self._max_memory),
            self._max_memory is not None,
            self._threads,
            pool,
            self._fingerprint,
            self._several,
        )

    def _adapt(self, table: Table) -> None:
        """Find out once how each model predicts."""
        if self._models is None and self._estimators:
            estimator = list(self._estimators) if self._several else self._estimators[0]
            self._models = adapt_models(
                estimator, table, response_method=self._response_method, target_names=self._target_names
            )

    def _axes(
        self, features: Any, groups: Any, grid: GridOptions, custom_values: Any, bins: tuple[int, ...] = ()
    ) -> AxisOptions:
        header = self._data.header
        return AxisOptions.of(header, groups, grid, self._categorical, custom_values, features is None, bins)

    def _build_partial_dependence(self, features: Any, **options: Any) -> Statistic:
        groups = (resolve(features, self._data.header),)
        return self._build_effects(features, groups=groups, alone=True, **options)

    def _build_effects(
        self,
        features: Any,
        *,
        percentiles: Any,
        grid_resolution: Any,
        custom_values: Any,
        method: str,
        kind: str,
        quantiles: Any,
        verify: bool,
        max_predictions: Any,
        groups: Any = None,
        alone: bool = False,
    ) -> Statistic:
        from paribus._api.statistics.effects_statistic import EffectsStatistic

        grid = GridOptions.of(percentiles, grid_resolution)
        check_choice("kind", kind, Curves)
        check_flags(verify=verify)
        probabilities = probabilities_of(quantiles)
        check_choice("method", method, EffectMethod)
        if self._several and (kind != "average" or probabilities is not None):
            given = f"kind={kind!r}" if kind != "average" else "quantiles="
            way_out = "use kind='average'" if kind != "average" else "leave it out"
            raise OptionError(
                f"{given} needs a single model, but estimator is a list of {len(self._estimators)}; pass one "
                f"model or {way_out}"
            )
        if verify and method == "recursion":
            raise OptionError("verify=True compares with brute force, and recursion estimates something else")
        verb = "partial_dependence" if alone else "effects"
        self._needs_model(verb)
        groups = groups or groups_of(features, self._data.header)
        axes = self._axes(0 if alone else features, groups, grid, custom_values)
        most = prediction_limit(max_predictions)
        return EffectsStatistic(groups, axes, kind, method, verify, probabilities, alone, verb, most)

    def _build_accumulated_local_effects(
        self,
        features: Any,
        *,
        grid_resolution: Any,
        custom_values: Any,
        method: str,
        verify: bool,
        max_predictions: Any,
    ) -> Statistic:
        from paribus._api.statistics.ale_statistic import AleStatistic

        check_flags(verify=verify)
        bins = _bins(grid_resolution)
        check_choice("method", method, Method)
        self._needs_model("accumulated_local_effects")
        several = [features] if isinstance(features, (str, int, np.integer)) else features
        groups = groups_of(several, self._data.header)
        axes = self._axes(features, groups, GridOptions(), custom_values, bins)
        most = prediction_limit(max_predictions)
        return AleStatistic(groups, axes, method, verify, max_predictions=most)

    def _build_marginal(
        self,
        features: Any,
        *,
        percentiles: Any,
        grid_resolution: Any,
        custom_values: Any,
        max_predictions: Any,
    ) -> Statistic:
        from paribus._api.statistics.marginal_statistic import MarginalStatistic, check_without_model

        grid = GridOptions.of(percentiles, grid_resolution)
        if not self._estimators:
            check_without_model(self._y, self._response_method, grid)
        groups = groups_of(features, self._data.header)
        axes = self._axes(features, groups, grid, custom_values)
        most = prediction_limit(max_predictions)
        return MarginalStatistic(groups, axes, self._estimators, self._target_names, max_predictions=most)

    def _build_h_statistic(
        self,
        features: Any,
        *,
        subsample: Any,
        random_state: Any,
        overall: bool,
        threeway: Any,
        method: str,
        n_max: Any,
        verify: bool,
        max_predictions: Any,
    ) -> Statistic:
        from paribus._api.statistics.interaction_statistic import InteractionStatistic

        check_flags(overall=overall, verify=verify)
        check_choice("method", method, Method)
        self._needs_model("h_statistic")
        size = resolve_subsample(subsample, n_max)
        chosen, tokens = resolve_each(features, self._data.header, self._data.named)
        if len(chosen) < 2:
            raise OptionError(f"features={features!r}: an interaction needs at least two features")
        most = check_int("threeway", threeway, 0)
        if most and min(most, len(chosen)) < 3:
            raise OptionError(
                f"threeway={threeway!r} of {count(len(chosen), 'feature')} gives no triples; it must be 0 or "
                "at least 3"
            )
        options: dict[str, Any] = {
            "overall": overall,
            "threeway": most,
            "method": method,
            "verify": verify,
            "max_predictions": prediction_limit(max_predictions),
        }
        return InteractionStatistic("h_statistic", chosen, tokens, size, seed_of(random_state), **options)

    def _build_feature_importance(
        self,
        features: Any,
        *,
        method: str,
        scoring: Any,
        n_repeats: Any,
        subsample: Any,
        random_state: Any,
        max_predictions: Any,
    ) -> Statistic:
        from paribus._api.statistics.importance_statistic import OwnStatistic, PermutationStatistic
        from paribus._api.statistics.interaction_statistic import InteractionStatistic

        check_choice("method", method, ImportanceMethod)
        self._needs_model("feature_importance")
        self._check_unused(method, scoring, n_repeats, subsample, max_predictions)
        limit = prediction_limit(max_predictions)
        size, header, named = resolve_subsample(subsample, None), self._data.header, self._data.named
        if method == "permutation":
            self._data.in_memory("method='permutation'")
            groups, names = resolve_groups(features, header, named)
            return PermutationStatistic(
                self._estimators,
                self._y,
                groups,
                names,
                scoring,
                self._response_method,
                check_int("n_repeats", n_repeats, 1),
                seed_of(random_state),
                size if isinstance(size, int) else None,
                max_predictions=limit,
            )
        chosen, tokens = resolve_each(features, header, named)
        if method == "model":
            self._data.in_memory("method='model'")
            return OwnStatistic(self._estimators[0], chosen, tokens)
        return InteractionStatistic(
            "feature_importance",
            chosen,
            tokens,
            size,
            seed_of(random_state),
            pairwise=False,
            max_predictions=limit,
        )

    def _check_unused(
        self, method: str, scoring: Any, n_repeats: Any, subsample: Any, max_predictions: Any
    ) -> None:
        """Refuse arguments that the method would silently ignore."""
        given = {
            "target_names": method != "effect" and self._target_names is not None,
            "scoring": method != "permutation" and scoring is not None,
            "n_repeats": method != "permutation" and n_repeats != 5,
            "response_method": method == "model" and self._response_method != AUTO,
            "subsample": method == "model" and subsample != AUTO,
            "max_predictions": method == "model" and max_predictions is not None,
        }
        if method == "permutation" and self._y is None:
            raise OptionError("method='permutation' needs y, to see how much worse predictions of it get")
        if method == "model" and self._several:
            raise ModelError(
                f"method='model' is about one model, and estimator is a list of {len(self._estimators)}; "
                "pass one"
            )
        for name, is_given in given.items():
            if is_given:
                raise OptionError(f"{name} has no meaning for method={method!r}; leave it out")

    def _needs_model(self, verb: str) -> None:
        if not self._estimators:
            raise ModelError(f"{verb} needs a model, and estimator is None; only marginal averages y alone")


BUILDERS: dict[str, Callable[..., Statistic]] = {
    "partial_dependence": Explainer._build_partial_dependence,
    "effects": Explainer._build_effects,
    "accumulated_local_effects": Explainer._build_accumulated_local_effects,
    "marginal": Explainer._build_marginal,
    "h_statistic": Explainer._build_h_statistic,
    "feature_importance": Explainer._build_feature_importance,
}


def _requests(verbs: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return names of methods with their arguments, or refuse what is neither a name nor such a pair."""
    requests: list[tuple[str, Mapping[str, Any]]] = []
    for one in verbs:
        pair = (one, {}) if isinstance(one, str) else one
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)):
            raise OptionError(
                f"{one!r} is neither the name of a method nor a pair such as ('effects', {{'kind': 'both'}})"
            )
        requests.append(pair)
    if not requests:
        raise OptionError(f"nothing is requested; pass at least one of {', '.join(map(repr, BUILDERS))}")
    return requests


def _bound(verb: str, arguments: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """Return the arguments of a statistic, or of one of ``others``, with the defaults of the rest."""
    check_choice("verb", verb, (*BUILDERS, *others))
    signature = inspect.signature(getattr(Explainer, verb))
    known = tuple(name for name in signature.parameters if name != "self")
    for name in arguments:
        if name in inspect.signature(Explainer).parameters:
            raise OptionError(f"{name!r} is an argument of Explainer, not of {verb}; pass it there")
        if name not in known:
            raise OptionError(f"{verb} has no argument {name!r}{did_you_mean(name, known)}")
    needed = [name for name in known if signature.parameters[name].default is inspect.Parameter.empty]
    if not set(needed) <= set(arguments):
        raise OptionError(f"{verb} needs {needed[0]!r}; pass ({verb!r}, {{{needed[0]!r}: ...}})")
    bound = signature.bind(None, **arguments)
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def _bins(grid_resolution: Any) -> tuple[int, int]:
    """Return the number of bins of a feature by itself and of each of two."""
    if grid_resolution is None:
        return CURVE, SURFACE
    integer = isinstance(grid_resolution, (int, np.integer)) and not isinstance(grid_resolution, bool)
    if not integer or grid_resolution < 1:
        raise OptionError(
            f"grid_resolution={grid_resolution!r} must be an integer number of bins, at least 1, or None"
        )
    return int(grid_resolution), int(grid_resolution)


def is_read(model: Model) -> bool:
    """Return whether the structure of a model is read, so that it need not be evaluated itself."""
    try:
        structure_text(model)
    except RefusalError:
        return False
    return True


def _no_models(table: Table) -> None:
    """Adapt nothing: no statistic predicts."""

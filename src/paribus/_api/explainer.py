"""Class `Explainer`: a model and its data, with every statistic as a method."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from paribus import _budget
from paribus._api.data import ExplainerData, InMemoryData, SurveyRequest, open_data
from paribus._api.options import (
    STATISTICS,
    AleOptions,
    EffectsOptions,
    HStatisticOptions,
    ImportanceOptions,
    MarginalOptions,
    Options,
    PartialDependenceOptions,
    RegionOptions,
    Result,
    StatisticOptions,
    Subject,
)
from paribus._api.run import RunContext, Statistic, Subsample, run
from paribus._api.runner import Runner
from paribus._data.features import (
    Features,
    Header,
    names_of_codes,
    split_groups,
)
from paribus._data.table import Table
from paribus._executors.progress import showing_compilation
from paribus._models import Model, adapt_models, as_model_list, prefetch_structure, structure_text
from paribus._models.adapter import describe
from paribus._text import counted_names
from paribus._typing import (
    Curves,
    EffectMethod,
    GridResolution,
    ImportanceKind,
    LossName,
    Method,
    OnError,
    ResponseMethod,
)
from paribus.errors import OptionError, RefusalError, check_choice, check_flags, did_you_mean

if TYPE_CHECKING:
    from paribus.results import (
        AccumulatedLocalEffect,
        Effects,
        Explanation,
        HStatistics,
        Importance,
        Marginal,
        PartialDependence,
        Regions,
    )

Chosen = TypeVar("Chosen", bound=Options[Any])


class Explainer:
    """A model and the data it is explained on, opened once, with every statistic as a method.

    The functions such as `paribus.effects` are ``Explainer(estimator, X, ...).effects(...)``, with
    bit-identical results. The object opens X, adapts the model and surveys the data once, when they are first
    needed. `run` computes several statistics in shared passes over the rows.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> explainer = paribus.Explainer(model, X)
    >>> sorted(explainer.run("effects", "h_statistic"))
    ['effects', 'h_statistic']

    Parameters
    ----------
    estimator : fitted model or callable, or a list or tuple of them, or None
        As for `partial_dependence`; None only for `marginal`, to average ``y`` alone.
    X : table, or where to read one
        As for `partial_dependence`.
    y : array of shape (n,) or (n, n_outputs), or str or list of str, optional
        The target, for `marginal`, `explain` and importance by permutation, or the name of its column in X.
    sample_weight, categorical_features
        As for `partial_dependence`.
    category_names : mapping, optional
        Names of the codes of categorical columns: ``{"city": ["Oslo", "Rome"]}`` for codes 0 and 1, or
        ``{"city": {1: "Oslo"}}``. Results and ``custom_values`` use names; models get codes.
    response_method
        As for `partial_dependence`. For ``times`` also ``"predict_survival_function"``, which is then the
        default, or ``"predict_cumulative_hazard_function"``.
    by : str, array of shape (n,) or mapping, optional
        As for `partial_dependence`. Every method returns a `GroupedResults`; `explain` compares groups.
    units : str or array of shape (n,), optional
        As for `partial_dependence`.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    target_names : sequence of str, optional
        Names of the outputs.
    times : float or sequence of float, optional
        Times of survival models, with an output each; see :doc:`/models`.
    n_jobs : int, optional
        As for `partial_dependence`.
    max_memory : float or str, optional
        Limit on memory beyond X and the model, in bytes or as ``"200MB"``; default: half of the free memory.
        Calls that cannot keep it are refused.
    progress : bool, optional
        As for `partial_dependence`. Without a terminal, the logger ``paribus`` reports progress.
    executor : dask.distributed.Client or pyspark.sql.SparkSession, optional
        Cluster to compute on. Unweighted sums of trees are bit-identical for any number of workers and tasks.
    checkpoint : path, optional
        Folder for intermediate states of out-of-core runs. An interrupted run resumes with a bit-identical
        result. Checkpoints of other data, models or settings are refused.
    on_error : {"raise", "skip"}
        Handling of files that are unreadable or have different columns: raise an error, or skip them with a
        note.
    verify : bool
        Whether to compare results with brute force. The provenance stores the largest difference; a larger
        one than rounding explains is an error. See Notes.

    See Also
    --------
    partial_dependence : Descriptions of other arguments.

    Notes
    -----
    Verification recomputes eight points of partial dependence on all rows (at least one of each effect), ALE
    on up to 512 rows, and H-statistics and importance by effect on 40 rows that are crossed with each other.
    `marginal` and importance by permutation are averages of predictions and need none. `regions` and
    ``kind="model"`` are refused. `explain` verifies all its parts except regions and interactions of margins.

    Examples
    --------
    >>> import numpy as np
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
        category_names: Mapping[Any, Any] | None = None,
        response_method: ResponseMethod = "auto",
        by: Any = None,
        units: Any = None,
        feature_names: Any = None,
        target_names: Any = None,
        times: Any = None,
        n_jobs: int | None = None,
        max_memory: float | str | None = None,
        progress: bool | None = None,
        executor: Any = None,
        checkpoint: Any = None,
        on_error: OnError = "raise",
        verify: bool = False,
    ) -> None:
        check_flags(progress=progress, verify=verify)
        self._threads = None if n_jobs is None else _budget.threads(n_jobs)
        self._max_memory = None if max_memory is None else _budget.memory(max_memory)
        self._runner = Runner.of(progress, executor, checkpoint)
        data, target = open_data(
            estimator, X, sample_weight, feature_names, on_error, self._runner, y, by, units
        )
        if max_memory is not None and isinstance(data, InMemoryData):
            data.rows = replace(data.rows, keeps=False)
        grouped = data.by
        names = names_of_codes(category_names, data.header, None if grouped is None else grouped.name)
        data.by = None if grouped is None else replace(grouped, names=names.get(grouped.name))
        self._subject = Subject(
            estimators=as_model_list(estimator) or (() if estimator is None else (estimator,)),
            several=as_model_list(estimator) is not None,
            data=data,
            y=target,
            categorical_features=categorical_features,
            category_names=names,
            response_method=response_method,
            times=times,
            target_names=target_names,
            verify=verify,
        )
        self._models: tuple[Model, ...] | None = None
        self._fingerprint: Future[str] | None = None
        self._by_groups: dict[Any, Explainer] = {}  # explainers of groups of columns

    def __repr__(self) -> str:
        model = counted_names(map(describe, self._subject.estimators)) or "no model"
        lines = [f"Explainer of {model}", f"  {self._subject.data.describe()}"]
        unused = self._subject.data.header.unused
        if unused:
            lines.append(f"  unused columns: {', '.join(unused)}")
        lines += [f"  {line}" for line in self._structures()]
        return "\n".join(lines)

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""
        return self._subject.data.header

    def _structures(self) -> list[str]:
        """Return one line for each adapted model: its response, and how it is evaluated."""
        if self._models is None:
            return ["the model was not evaluated yet"] if self._subject.estimators else []
        lines = []
        for model in self._models:
            count = len(model.output_names)
            response = f"{model.response}, {count} output{'s' * (count != 1)}"
            try:
                lines.append(f"{model.name}: {response}; read as {structure_text(model)}")
            except RefusalError as refusal:
                lines.append(f"{model.name}: {response}; evaluated by predictions: {refusal}")
        return lines

    def partial_dependence(
        self,
        features: Features,
        *,
        percentiles: tuple[float, float] | None = None,
        grid_resolution: GridResolution = 50,
        custom_values: Mapping[Any, Any] | None = None,
        method: EffectMethod = "auto",
        kind: Curves = "average",
        quantiles: Any = None,
        subsample: int | None = None,
        random_state: Any = None,
    ) -> PartialDependence:
        """Compute the partial dependence of a model on one feature, or on several together.

        As `paribus.partial_dependence` with the same arguments.

        Parameters
        ----------
        features : str, int, sequence of them, or mapping
            One column by name or position, or several that are varied jointly: ``["age", "bmi"]`` is a
            two-way effect. A mapping such as ``{"city": ["city_A", "city_B"]}`` groups columns.
        percentiles, grid_resolution, custom_values, method, kind, quantiles, subsample, random_state
            As for `paribus.partial_dependence`.

        Returns
        -------
        PartialDependence
            With ``grid_values``, ``average``, ``standard_error``, ``individual``, ``quantiles``,
            ``by_model``, ``support``, ``extrapolation``, ``missing``, ``deciles``, names, notes and
            provenance; also as keys.
        """
        options = PartialDependenceOptions(
            features=features,
            percentiles=percentiles,
            grid_resolution=grid_resolution,
            custom_values=custom_values,
            method=method,
            kind=kind,
            quantiles=quantiles,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def effects(
        self,
        features: Any = None,
        *,
        percentiles: tuple[float, float] | None = None,
        grid_resolution: GridResolution = 50,
        custom_values: Mapping[Any, Any] | None = None,
        method: EffectMethod = "auto",
        kind: Curves = "average",
        quantiles: Any = None,
        subsample: int | None = None,
        random_state: Any = None,
    ) -> Effects[PartialDependence]:
        """Compute many effects in one pass over the rows.

        As `paribus.effects` with the same arguments.

        Parameters
        ----------
        features : sequence or mapping, optional
            Names, positions and tuples of them, one effect each; all columns by default. A mapping has one
            effect for each entry.
        percentiles, grid_resolution, custom_values, method, kind, quantiles, subsample, random_state
            As for `paribus.effects`.

        Returns
        -------
        Effects
            A mapping from the name (or tuple of names) to `PartialDependence`, strongest first.
        """
        options = EffectsOptions(
            features=features,
            percentiles=percentiles,
            grid_resolution=grid_resolution,
            custom_values=custom_values,
            method=method,
            kind=kind,
            quantiles=quantiles,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def accumulated_local_effects(
        self,
        features: Any = None,
        *,
        grid_resolution: int | None = None,
        custom_values: Mapping[Any, Any] | None = None,
        method: Method = "auto",
        subsample: int | None = None,
        random_state: Any = None,
    ) -> Effects[AccumulatedLocalEffect]:
        """Compute accumulated local effects (ALE).

        As `paribus.accumulated_local_effects` with the same arguments.

        Parameters
        ----------
        features : str, int, tuple, sequence or mapping, optional
            Names, positions and pairs of them, one effect each; all columns by default. At least one feature
            of a pair must be numeric or a date.
        grid_resolution, custom_values, method, subsample, random_state
            As for `paribus.accumulated_local_effects`.

        Returns
        -------
        Effects
            A mapping from the name (or pair of names) to `AccumulatedLocalEffect`, strongest first.
        """
        options = AleOptions(
            features=features,
            grid_resolution=grid_resolution,
            custom_values=custom_values,
            method=method,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def marginal(
        self,
        features: Any = None,
        *,
        percentiles: tuple[float, float] | None = None,
        grid_resolution: GridResolution = 50,
        custom_values: Mapping[Any, Any] | None = None,
        subsample: int | None = None,
        random_state: Any = None,
    ) -> Effects[Marginal]:
        """Average predictions and observed values over the rows near each value of a feature.

        As `paribus.marginal` with the same arguments.

        Parameters
        ----------
        features : sequence or mapping, optional
            Names or positions, one result each; all columns by default. A mapping groups columns, as for
            `effects`.
        percentiles, grid_resolution, custom_values, subsample, random_state
            As for `paribus.marginal`.

        Returns
        -------
        Effects
            A mapping from the feature's name to `Marginal`, strongest first, each with ``predicted``,
            ``observed``, ``residual``, their standard errors, ``support``, ``rows``, ``to_frame()`` and
            ``plot()``.
        """
        options = MarginalOptions(
            features=features,
            percentiles=percentiles,
            grid_resolution=grid_resolution,
            custom_values=custom_values,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def h_statistic(
        self,
        features: Any = None,
        *,
        overall: bool = True,
        threeway: int = 0,
        method: Method = "auto",
        subsample: int | str | None = "auto",
        random_state: Any = None,
    ) -> HStatistics:
        """Compute Friedman and Popescu's H-statistics of interaction strength.

        As `paribus.h_statistic` with the same arguments.

        Parameters
        ----------
        features : sequence or mapping, optional
            Names or positions of the features, or a boolean mask; all columns by default. A mapping groups
            columns, as for `effects`.
        subsample, random_state, overall, threeway, method
            As for `paribus.h_statistic`.

        Returns
        -------
        HStatistics
            With ``feature_pairs``, ``h_squared_pairwise``, ``numerator_pairwise``, ``denominator_pairwise``,
            ``standard_error_h_squared_pairwise``, the same for ``overall``, ``total`` and ``threeway``, and
            `strongest`; ``H["age", "income"]`` is the `Interaction` of one pair.
        """
        options = HStatisticOptions(
            features=features,
            overall=overall,
            threeway=threeway,
            method=method,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def feature_importance(
        self,
        features: Any = None,
        *,
        kind: ImportanceKind = "effect",
        loss: LossName | None = None,
        n_repeats: int = 5,
        subsample: int | str | None = "auto",
        random_state: Any = None,
    ) -> Importance:
        """Compute the importance of features: by effect, by permutation, or as recorded by the model.

        As `paribus.feature_importance` with the same arguments.

        Parameters
        ----------
        features : sequence or mapping, optional
            Names or positions; all columns by default. For permutation also tuples, whose columns are
            permuted jointly. A mapping groups columns, as for `effects`.
        subsample, random_state, kind, loss, n_repeats
            As for `paribus.feature_importance`.

        Returns
        -------
        Importance
            With ``values``, ``standard_error``, ``to_frame()`` and ``plot()``.
        """
        options = ImportanceOptions(
            features=features,
            kind=kind,
            loss=loss,
            n_repeats=n_repeats,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def regions(
        self,
        features: Any = None,
        *,
        max_depth: int = 2,
        min_gain: float = 0.2,
        subsample: int | str | None = "auto",
        random_state: Any = None,
    ) -> Regions:
        """Find regions of the data in which the individual curves of a feature are alike.

        As `paribus.regions` with the same arguments.

        Parameters
        ----------
        features : str, int or sequence of them, optional
            Names or positions of features. By default the five whose individual curves differ most.
        max_depth, min_gain, subsample, random_state
            As for `paribus.regions`.

        Returns
        -------
        Regions
            A mapping from the name of a feature to `FeatureRegions`, most heterogeneous first.
        """
        options = RegionOptions(
            features=features,
            max_depth=max_depth,
            min_gain=min_gain,
            subsample=subsample,
            random_state=random_state,
        )
        return self._compute(options)

    def explain(
        self,
        features: Any = None,
        *,
        monotone: Any = None,
        percentiles: tuple[float, float] | None = None,
        grid_resolution: GridResolution = 50,
        interactions: bool = True,
        subsample: int | str | None = "auto",
        random_state: Any = None,
    ) -> Explanation:
        """Explain a model: every statistic of every feature, in shared passes over the rows.

        As `paribus.explain` with the same arguments.

        Parameters
        ----------
        features : list of str or int, or mapping, optional
            Features to explain; all by default. A mapping groups columns, as for `effects`.
        monotone, percentiles, grid_resolution, interactions, subsample, random_state
            As for `paribus.explain`.

        Returns
        -------
        Explanation
            Its repr is a table with a row for each feature.
        """
        from paribus._api.explaining import ExplainOptions, explanation_of

        options = ExplainOptions(
            features=features,
            monotone=monotone,
            percentiles=percentiles,
            grid_resolution=grid_resolution,
            interactions=interactions,
            subsample=subsample,
            random_state=random_state,
        )
        own, options = self._for(options)
        found = own._run_named(options.statistics(own, own._subject), options.sample)
        return explanation_of(found, options, own._subject, own._models or ())

    def run(self, *verbs: str | tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Compute several statistics in shared passes over the rows.

        Each result is bit-identical to that of the method of its name. Passes run one after
        another if they do not fit ``max_memory`` together, on a cluster, or when resumed from a checkpoint.

        Parameters
        ----------
        *verbs : str, or tuple of str and mapping
            Names of methods; with arguments as a pair, such as ``("effects", {"grid_resolution": 20})``.

        Returns
        -------
        dict
            The results by name.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> explainer = paribus.Explainer(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
        >>> list(explainer.run("effects", "accumulated_local_effects"))
        ['effects', 'accumulated_local_effects']
        """
        requests = self._requests(verbs)
        found: dict[str, Any] = {}
        shared: dict[tuple[Explainer, Subsample], list[StatisticOptions[Any]]] = {}
        for explainer, options in requests:  # with the same groups of columns, on the same rows
            shared.setdefault((explainer, options.sample), []).append(options)
        for (explainer, sample), together in shared.items():
            statistics = {
                options.verb: explainer._grouped(options.statistic(explainer._subject))
                for options in together
            }
            found |= explainer._run_named(statistics, sample)
        return {options.verb: found[options.verb] for _, options in requests}

    def _requests(self, verbs: Sequence[Any]) -> list[tuple[Explainer, StatisticOptions[Any]]]:
        """Return the options of each verb, given as in `run`, and the explainer with its features."""
        requests = _verb_requests(verbs)
        twice = [verb for verb, count in Counter(verb for verb, _ in requests).items() if count > 1]
        if twice:
            raise OptionError(f"{twice[0]!r} is requested twice; run it once more for other arguments")
        return [self._for(self._options(*request)) for request in requests]

    def _options(self, verb: str, arguments: Mapping[str, Any]) -> StatisticOptions[Any]:
        """Return the options of a method from named arguments, or raise for arguments that it lacks."""
        kinds = {options.verb: options for options in STATISTICS}
        check_choice("verb", verb, tuple(kinds))
        parameters = inspect.signature(getattr(self, verb)).parameters
        for name in arguments:
            if name in inspect.signature(Explainer).parameters:
                raise OptionError(
                    f"{name!r} is an argument of Explainer, not of its method {verb}; pass it there"
                )
            if name not in parameters:
                raise OptionError(f"{verb} has no argument {name!r}{did_you_mean(name, parameters)}")
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in arguments:
                raise OptionError(f"{verb} needs {name!r}; pass ({verb!r}, {{{name!r}: ...}})")
        return kinds[verb].of(self, **arguments)

    def _run_named(self, statistics: Mapping[str, Statistic], sample: Subsample) -> dict[str, Any]:
        """Return the result of each statistic, computed in shared passes."""
        return dict(zip(statistics, self._run(list(statistics.values()), sample), strict=True))

    def _for(self, options: Chosen) -> tuple[Explainer, Chosen]:
        """Return the explainer with the groups of columns in ``features=``, and options that name them."""
        features, groups = split_groups(options.features, self._subject.data.header)
        named = options if features is options.features else replace(options, features=features)
        key = tuple(groups.items())
        if groups and key not in self._by_groups:
            other = copy(self)
            other._subject, other._models, other._fingerprint = self._subject.grouped(groups), None, None
            self._by_groups[key] = other
        return self._by_groups[key] if groups else self, named

    def _data_for(self, statistics: Sequence[Statistic]) -> ExplainerData:
        """Return the data, with the target if there is one and a statistic uses it."""
        targeted = self._subject.y is not None and any(one.needs_target for one in statistics)
        return self._subject.data.with_target(self._subject.y) if targeted else self._subject.data

    def _compute(self, options: StatisticOptions[Result]) -> Result:
        """Return the result of a single statistic."""
        own, options = self._for(options)
        result: Result = own._run([own._grouped(options.statistic(own._subject))], options.sample)[0]
        return result

    def _grouped(self, statistic: Statistic) -> Statistic:
        """Return the statistic, by group if the explainer has groups."""
        if self._subject.data.by is None:
            return statistic
        if statistic.verb == "regions":
            raise OptionError("regions are parts of all rows; leave by out, or pass the rows of one group")
        from paribus._api.by_group import GroupedStatistic

        return cast(Statistic, GroupedStatistic(statistic))

    def _run(self, statistics: Sequence[Statistic], sample: Subsample) -> list[Any]:
        """Return the results of statistics on sampled rows, computed in shared passes."""
        self._runner.begin()
        prepare = lambda pool, surveying: self._work(statistics, pool, surveying)  # noqa: E731
        with showing_compilation(self._runner.progress):
            return run(statistics, prepare, threads=self._threads, max_memory=self._max_memory, sample=sample)

    def _work(
        self, statistics: Sequence[Statistic], pool: ThreadPoolExecutor, surveying: SurveyRequest
    ) -> RunContext:
        """Return the run context with the target, models and summaries that the statistics need."""
        data = self._data_for(statistics)
        needed = any(one.needs_model for one in statistics)
        data.prepare(surveying, self._runner, self._adapt if needed else lambda table: None)
        models = (self._models or ()) if needed else ()
        if any(one.reads_trees for one in statistics):
            for model in models:
                pool.submit(prefetch_structure, model)
        if self._fingerprint is None:
            self._fingerprint = pool.submit(self._subject.data.rows.fingerprint, target=False)
        return RunContext(
            data,
            models,
            self._runner,
            _budget.memory(self._max_memory),
            self._max_memory is not None,
            self._threads,
            pool,
            self._fingerprint,
            self._subject.several,
        )

    def _adapt(self, table: Table) -> None:
        """Adapt the models at the first call."""
        if self._models is None and self._subject.estimators:
            estimator = (
                list(self._subject.estimators) if self._subject.several else self._subject.estimators[0]
            )
            self._models = adapt_models(
                estimator,
                table,
                response_method=self._subject.response_method,
                times=self._subject.times,
                target_names=self._subject.target_names,
            )


def _verb_requests(verbs: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the verbs with their arguments, or raise for other objects."""
    requests: list[tuple[str, Mapping[str, Any]]] = []
    for one in verbs:
        pair = (one, {}) if isinstance(one, str) else one
        valid = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
        if not (valid and isinstance(pair[1], Mapping) and all(isinstance(name, str) for name in pair[1])):
            raise OptionError(
                f"{one!r} is neither the name of a method nor a pair such as ('effects', {{'kind': 'both'}})"
            )
        requests.append(pair)
    if not requests:
        raise OptionError(
            f"nothing is requested; pass at least one of {', '.join(repr(one.verb) for one in STATISTICS)}"
        )
    return requests

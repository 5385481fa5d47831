"""Effects: where we ask, and what the model answers there on average."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np

from paribus import budget
from paribus.api.options import checked
from paribus.api.record import of_model, recorded
from paribus.contracts import Array, Floats
from paribus.data.features import Features, by_position, resolve, resolve_many, resolve_set
from paribus.data.read import table_of
from paribus.data.rows import Rows, rows_of
from paribus.errors import FeatureError, OptionError, RefusalError, one_of
from paribus.evaluators import Ask, Plan, choose
from paribus.evaluators.ask import KINDS, METHODS, Answer
from paribus.evaluators.support import SupportCounter
from paribus.evaluators.together import Together
from paribus.evaluators.verify import largest_difference
from paribus.executors import Local
from paribus.grid import SPLITS, Axis, GridOptions, Question, axis_of
from paribus.models import Model, adapt
from paribus.results import Effects, PartialDependence, Provenance
from paribus.results.build import effect_of
from paribus.states import Keyed

SAMPLE, SEED = 1_024, 0  # draws of rows for standard errors: they are then known to about 2 %
Curves = Literal["average", "individual", "both"]


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Features,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int | str = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    kind: Curves = "average",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    verify: bool = False,
) -> PartialDependence:
    r"""Compute the partial dependence of a model on one feature, or on several together.

    .. math:: PD_S(x_S) = \frac{1}{W} \sum_{i=1}^{n} w_i f(x_S, x_{i,\bar S})

    the average prediction of the rows of ``X`` when the features in S are set to :math:`x_S` and all
    else stays as it is: shape ``(n_outputs, g0, g1, ...)``. The curve of one row,
    :math:`f(x_S, x_{i,\bar S})`, is its individual conditional expectation.

    Parameters
    ----------
    estimator : fitted model or callable
        A scikit-learn estimator or pipeline, an XGBoost, LightGBM or CatBoost model, anything with
        ``predict``, or a function from a table to ``(n,)`` or ``(n, k)`` numbers.
    X : table
        The background: numpy array, or pandas, polars or Arrow table. The model sees the same kind of
        table with the same dtypes.
    features : str, int, or sequence of them
        One column by name or position, or several that are moved together: ``["age", "bmi"]`` is one
        two-way effect. A mask of booleans marks columns.
    sample_weight : array of shape (n,), optional
        Weights of the rows: in the average, its standard error, quantiles and support.
    categorical_features : sequence or mask, optional
        Columns whose values are levels although their dtype is numeric. Text, categories and booleans
        are levels anyway.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        What the model answers. ``"auto"`` is ``predict_proba`` where there is one, else
        ``decision_function``, else ``predict``. Of two classes only the positive one is reported.
        ``"decision_function"`` is also the margin of a booster.
    percentiles : (float, float)
        Quantiles between which a number's evenly spaced axis runs; linear interpolation, weighted when
        there are weights. A feature listed value by value has no such ends.
    grid_resolution : int or "splits"
        Number of points of an evenly spaced axis. A number with fewer distinct values is asked at
        each of them; whole numbers and dates are asked at whole points only. ``"splits"`` asks on both
        sides of every threshold of a tree ensemble, from the smallest value in the data to the largest:
        the line through these points is the exact step function.
    custom_values : mapping, optional
        Values to ask instead, keyed by the name or position of a feature.
    method : {"auto", "exact", "brute", "recursion"}
        ``"auto"`` takes the fastest evaluator that gives the brute-force number; ``"exact"`` insists on
        a shortcut, ``"brute"`` on asking the model itself. ``"recursion"`` is another estimand: the average
        along the paths of a tree ensemble's training data, baseline included.
    kind : {"average", "individual", "both"}
        The average, each row's own curve, or both.
    target_names : sequence of str, optional
        Names of the outputs.
    n_jobs : int, optional
        Threads; -1 is all cores. None is all cores for what is computed here and one for asking the model,
        which may bring threads of its own. They never change the result.
    max_memory : float or str, optional
        Bound in bytes, or text such as ``"200MB"``, on what is held besides ``X`` and the model's own
        working memory. Half of the free memory by default.
    progress : bool, optional
        Show a bar; None shows one when more than two seconds are expected.
    verify : bool
        Ask the model itself about a few of the points, on every row; the largest difference is in the
        provenance.

    Returns
    -------
    PartialDependence
        With ``grid_values``, ``average``, ``standard_error``, ``individual``, ``support``, ``missing``,
        ``deciles``, names, notes and provenance; also as keys.

    See Also
    --------
    effects : Many effects in one pass.

    Notes
    -----
    Partial dependence asks the model about rows that may not exist when features are dependent;
    ``support`` says how much data lies around each point of the grid itself. Missing values enter no
    quantile and no axis: the effect at missing is ``.missing``, a point of its own.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effect = paribus.partial_dependence(lambda X: 2 * X[:, 0] + X[:, 1], X, 0)
    >>> effect.grid_values[0]
    array([0., 1., 2.])
    >>> effect.average
    array([[3., 5., 7.]])
    """
    call = _Call.of(X, sample_weight, feature_names, percentiles, grid_resolution, kind, progress, verify)
    asked = (resolve(features, call.rows.table.names),)
    return call.answer(
        estimator,
        asked,
        categorical_features=categorical_features,
        custom_values=custom_values,
        response_method=response_method,
        target_names=target_names,
        method=method,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )[0][0]


def effects(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int | str = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    kind: Curves = "average",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    verify: bool = False,
) -> Effects:
    """Compute many effects in one pass over the rows.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names, positions and tuples of them, one effect each: ``["age", ("age", "bmi")]`` is a curve and
        a surface. Every column by default; one that cannot be varied is skipped, and said in the notes.
    sample_weight, categorical_features, feature_names, response_method, percentiles, grid_resolution, \
custom_values, method, kind, target_names, n_jobs, max_memory, progress, verify
        As for `partial_dependence`.

    Returns
    -------
    Effects
        A mapping from the name (or tuple of names) to `PartialDependence`, strongest first.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> result = paribus.effects(lambda X: 2 * X[:, 0] + 4 * X[:, 1], X)
    >>> list(result)
    ['x1', 'x0']
    >>> result["x0"].average
    array([[12., 14., 16.]])
    """
    call = _Call.of(X, sample_weight, feature_names, percentiles, grid_resolution, kind, progress, verify)
    if features is None:
        asked: tuple[tuple[int, ...], ...] = tuple((j,) for j in range(len(call.rows.table.names)))
    else:
        asked = resolve_many(features, call.rows.table.names)
    answers, skipped = call.answer(
        estimator,
        asked,
        categorical_features=categorical_features,
        custom_values=custom_values,
        response_method=response_method,
        target_names=target_names,
        method=method,
        n_jobs=n_jobs,
        max_memory=max_memory,
        skip=features is None,
    )
    return Effects(answers, skipped)


@dataclass(frozen=True)
class _Call:
    """What every verb starts from, once its plain arguments are checked."""

    started: float
    rows: Rows
    grid: GridOptions
    kind: Curves
    progress: bool | None
    verify: bool

    @classmethod
    def of(
        cls,
        X: Any,
        sample_weight: Any,
        names: Any,
        percentiles: Any,
        resolution: Any,
        kind: Any,
        progress: Any,
        verify: Any,
    ) -> _Call:
        started = perf_counter()
        one_of("kind", kind, KINDS)
        checked(progress=progress, verify=verify)
        grid = GridOptions.of(percentiles, resolution)
        return cls(started, rows_of(table_of(X, names), sample_weight), grid, kind, progress, verify)

    def answer(
        self,
        estimator: Any,
        asked: tuple[tuple[int, ...], ...],
        *,
        categorical_features: Any,
        custom_values: Any,
        response_method: str,
        target_names: Any,
        method: str,
        n_jobs: Any,
        max_memory: Any,
        skip: bool = False,
    ) -> tuple[list[PartialDependence], tuple[str, ...]]:
        """Follow the path of a call: model, points, plan, fold, results.

        With ``skip`` a feature that cannot be varied is left out, and why is returned beside the results.
        """
        rows = self.rows
        threads = None if n_jobs is None else budget.threads(n_jobs)
        one_of("method", method, METHODS)
        if self.verify and method == "recursion":
            raise OptionError("verify=True compares with brute force, and recursion answers another question")
        model = adapt(estimator, rows.table, response_method=response_method, target_names=target_names)
        # Our own work may take every core; a model that is asked brings its own threads.
        with ThreadPoolExecutor(threads or budget.threads(-1)) as pool:
            if method != "brute":
                pool.submit(model.read_ahead)
            fingerprint = pool.submit(rows.fingerprint)
            sides = _sides(model) if self.grid.splits else None
            axes, skipped = self._axes(asked, categorical_features, custom_values, sides, pool, skip)
        questions = tuple(
            Question(tuple(axes[j] for j in group)) for group in asked if all(j in axes for j in group)
        )
        ask = Ask(
            questions,
            self.kind,
            len(rows),
            rows.counted,
            rows.table.row_bytes,
            budget.memory(max_memory),
            threads,
            rows.weights is not None,
            rows.sample(SAMPLE, SEED),
        )
        plan, answers, supports = self._folded(model, ask, method)
        verified = largest_difference(model, rows, questions, answers) if self.verify else None
        provenance = self._provenance(model, ask, plan, fingerprint.result(), verified)
        effects = [
            effect_of(*answer, ask=ask, model=model, unit=rows.unit, provenance=provenance)
            for answer in zip(questions, answers, supports, strict=True)
        ]
        return effects, skipped

    def _folded(self, model: Model, ask: Ask, method: str) -> tuple[Plan, list[Answer], list[Floats]]:
        """Choose an evaluator and fold; one that refuses what it meets in the rows makes way for the next."""
        refused: dict[str, str] = {}
        while True:
            plan = choose(model, ask, method, refused)
            evaluator, support = plan.evaluator, SupportCounter(ask.questions)
            try:
                state = Local(plan.threads, self.progress).fold(
                    Together((evaluator, support)),
                    self.rows.blocks(evaluator.block_rows, evaluator.parts),
                    Keyed({}),
                )
            except RefusalError as refusal:
                refused[evaluator.name] = str(refusal)
                continue
            return plan, evaluator.finish(state, plan.threads), support.finish(state, self.rows.unit)

    def _axes(
        self,
        asked: tuple[tuple[int, ...], ...],
        categorical_features: Any,
        custom_values: Any,
        sides: Callable[[int, np.dtype[Any]], Array] | None,
        pool: ThreadPoolExecutor,
        skip: bool,
    ) -> tuple[dict[int, Axis], tuple[str, ...]]:
        """Lay out each axis once, however many questions share it."""
        names = self.rows.table.names
        features = sorted({feature for group in asked for feature in group})
        nominal = resolve_set("categorical_features", categorical_features, names)
        given = by_position(custom_values, names, set(features))

        def axis(j: int) -> Axis | FeatureError:
            try:
                return axis_of(self.rows, j, self.grid, nominal=j in nominal, given=given.get(j), sides=sides)
            except FeatureError as error:
                return error

        found = dict(zip(features, pool.map(axis, features), strict=True))
        refused = [error for error in found.values() if isinstance(error, FeatureError)]
        if refused and not skip:
            raise refused[0]
        if len(refused) == len(features):
            raise FeatureError(f"no column of X can be varied: {refused[0]}")
        axes = {j: axis for j, axis in found.items() if isinstance(axis, Axis)}
        return axes, tuple(str(error) for error in refused)

    def _provenance(
        self, model: Model, ask: Ask, plan: Plan, fingerprint: str, verified: float | None
    ) -> Provenance:
        return recorded(
            self.rows,
            self.started,
            fingerprint,
            **of_model(model),
            estimand=plan.evaluator.estimand,
            evaluator=plan.evaluator.name,
            why=plan.why,
            how=plan.evaluator.how,
            refusals=plan.refusals,
            percentiles=self.grid.percentiles,
            grid_resolution=SPLITS if self.grid.splits else self.grid.resolution,
            points=ask.points,
            predictions=plan.evaluator.predictions,
            standard_error_rows=plan.evaluator.error_rows,
            block_rows=plan.evaluator.block_rows,
            threads=plan.threads,
            max_memory=ask.max_memory,
            verified_difference=verified,
        )


def _sides(model: Model) -> Callable[[int, np.dtype[Any]], Array]:
    """Return what tells the numbers on both sides of a model's thresholds."""
    try:
        return model.trees.ensemble.sides
    except RefusalError as refusal:
        raise RefusalError(
            f"grid_resolution={SPLITS!r} needs the trees of {model.name}: {refusal}; give a whole number"
        ) from refusal

"""The verbs. Each reads as the path of a call: what came in, where we ask, how, and what came out."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np

from paribus import budget
from paribus.data.features import Features, by_position, resolve, resolve_many, resolve_set
from paribus.data.read import table_of
from paribus.data.rows import Rows, rows_of
from paribus.errors import FeatureError, OptionError, one_of
from paribus.evaluators import Ask, Plan, choose
from paribus.evaluators.ask import KINDS
from paribus.evaluators.support import SupportCounter
from paribus.evaluators.together import Together
from paribus.executors import Local
from paribus.grid import Axis, GridOptions, Question, axis_of
from paribus.models import Model, adapt
from paribus.results import Effects, PartialDependence, Provenance
from paribus.results.build import effect_of
from paribus.states import Keyed
from paribus.version import __version__

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
    grid_resolution: int = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    kind: Curves = "average",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
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
    grid_resolution : int
        Number of points of an evenly spaced axis. A number with fewer distinct values is asked at
        each of them; whole numbers and dates are asked at whole points only.
    custom_values : mapping, optional
        Values to ask instead, keyed by the name or position of a feature.
    method : {"auto", "exact", "brute"}
        ``"auto"`` takes the fastest evaluator that gives the brute-force number; ``"exact"`` insists on
        a shortcut, ``"brute"`` on asking the model itself.
    kind : {"average", "individual", "both"}
        The average, each row's own curve, or both.
    target_names : sequence of str, optional
        Names of the outputs.
    n_jobs : int, optional
        Threads; None is one, -1 all cores. They help where the model releases the interpreter lock and
        never change the result.
    max_memory : float or str, optional
        Bound in bytes, or text such as ``"200MB"``, on what is held besides ``X`` and the model's own
        working memory. Half of the free memory by default.
    progress : bool, optional
        Show a bar; None shows one when more than two seconds are expected.

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
    call = _Call.of(X, sample_weight, feature_names, percentiles, grid_resolution, kind, progress)
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
    )[0]


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
    grid_resolution: int = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    kind: Curves = "average",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
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
custom_values, method, kind, target_names, n_jobs, max_memory, progress
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
    call = _Call.of(X, sample_weight, feature_names, percentiles, grid_resolution, kind, progress)
    skipped: tuple[str, ...] = ()
    if features is None:
        asked, skipped = call.every_feature()
    else:
        asked = resolve_many(features, call.rows.table.names)
    answers = call.answer(
        estimator,
        asked,
        categorical_features=categorical_features,
        custom_values=custom_values,
        response_method=response_method,
        target_names=target_names,
        method=method,
        n_jobs=n_jobs,
        max_memory=max_memory,
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
    ) -> _Call:
        started = perf_counter()
        one_of("kind", kind, KINDS)
        if progress not in (None, True, False):
            raise OptionError(f"progress={progress!r} must be True, False or None")
        grid = GridOptions.of(percentiles, resolution)
        return cls(started, rows_of(table_of(X, names), sample_weight), grid, kind, progress)

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
    ) -> list[PartialDependence]:
        """Follow the path of a call: points, model, plan, fold, results."""
        rows = self.rows
        questions = self._questions(asked, categorical_features, custom_values)
        model = adapt(estimator, rows.table, response_method=response_method, target_names=target_names)
        ask = Ask(
            questions,
            self.kind,
            len(rows),
            rows.counted,
            rows.table.row_bytes,
            budget.memory(max_memory),
            None if n_jobs is None else budget.threads(n_jobs),
        )
        plan = choose(model, ask, method)
        evaluator, support = plan.evaluator, SupportCounter(questions)
        state = Local(plan.threads, self.progress).fold(
            Together((evaluator, support)),
            rows.blocks(evaluator.block_rows, evaluator.parts),
            Keyed({}),
            work=len(rows) * ask.points,
        )
        answers = zip(
            questions, evaluator.finish(state, plan.threads), support.finish(state, rows.unit), strict=True
        )
        provenance = self._provenance(model, ask, plan)
        return [
            effect_of(*answer, ask=ask, model=model, unit=rows.unit, provenance=provenance)
            for answer in answers
        ]

    def _questions(
        self, asked: tuple[tuple[int, ...], ...], categorical_features: Any, custom_values: Any
    ) -> tuple[Question, ...]:
        """Lay out each axis once, however many questions share it."""
        names = self.rows.table.names
        features = sorted({feature for group in asked for feature in group})
        nominal = resolve_set("categorical_features", categorical_features, names)
        given = by_position(custom_values, names, set(features))
        axes: dict[int, Axis] = {
            j: axis_of(self.rows, j, self.grid, nominal=j in nominal, given=given.get(j)) for j in features
        }
        return tuple(Question(tuple(axes[j] for j in group)) for group in asked)

    def every_feature(self) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
        """Return each column that can be varied as an effect, and why the others cannot."""
        asked: list[tuple[int, ...]] = []
        skipped: list[str] = []
        for feature in range(len(self.rows.table.names)):
            try:
                self.rows.table.column(feature)
                asked.append((feature,))
            except FeatureError as error:
                skipped.append(str(error))
        if not asked:
            raise FeatureError(f"no column of X can be varied: {skipped[0]}")
        return tuple(asked), tuple(skipped)

    def _provenance(self, model: Model, ask: Ask, plan: Plan) -> Provenance:
        table = self.rows.table
        return Provenance(
            paribus=__version__,
            numpy=np.__version__,
            python=platform.python_version(),
            model=model.name,
            model_library=model.library,
            model_version=model.version,
            response=model.response,
            scale=model.scale,
            estimand=plan.evaluator.estimand,
            evaluator=plan.evaluator.name,
            why=plan.why,
            how=plan.evaluator.how,
            refusals=plan.refusals,
            rows=len(self.rows),
            columns=len(table.names),
            backend=table.backend,
            fingerprint=self.rows.fingerprint(),
            weights=self.rows.weight_facts(),
            percentiles=self.grid.percentiles,
            grid_resolution=self.grid.resolution,
            points=ask.points,
            predictions=plan.evaluator.predictions,
            standard_error_rows=plan.evaluator.error_rows,
            block_rows=plan.evaluator.block_rows,
            threads=plan.threads,
            max_memory=ask.max_memory,
            seconds=perf_counter() - self.started,
        )

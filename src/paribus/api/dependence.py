"""Effects: where we ask, and what the model answers there on average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paribus.api.call import Call, Curves
from paribus.api.running import Running
from paribus.data.features import Features, resolve
from paribus.grid import GridOptions
from paribus.results import Effects, PartialDependence


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
    spread: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: str = "raise",
) -> PartialDependence:
    r"""Compute the partial dependence of a model on one feature, or on several together.

    .. math:: PD_S(x_S) = \frac{1}{W} \sum_{i=1}^{n} w_i f(x_S, x_{i,\bar S})

    the average prediction of the rows of ``X`` when the features in S are set to :math:`x_S` and all
    else stays as it is: shape ``(n_outputs, g0, g1, ...)``. The curve of one row,
    :math:`f(x_S, x_{i,\bar S})`, is its individual conditional expectation.

    Parameters
    ----------
    estimator : fitted model or callable, or a list or tuple of them
        A scikit-learn estimator or pipeline, an XGBoost, LightGBM or CatBoost model, anything with
        ``predict``, or a function from a table to ``(n,)`` or ``(n, k)`` numbers. ``model.predict_proba`` is
        that model with that response, and every output the method returns. Of a list (folds of a
        cross-validation, bootstrap fits, members of an ensemble) the result is the mean of the models' own
        effects on the same grid, and ``refits`` has each of them and how much they differ. All must have the
        same outputs; each is asked in the way that is fastest for it.
    X : table, or where to read one
        The background: numpy array, or pandas, polars or Arrow table. The model sees the same kind of
        table with the same dtypes, aligned with what it was fitted on where it knows that: columns by name,
        further ones left out with a note, text as the categories it knows, and pandas where it takes nothing
        else. Or rows that are read, as often as it takes and never held: the path,
        pattern or address of Parquet files or a list of them, a ``pyarrow.dataset.Dataset`` or
        ``RecordBatchReader``, a polars ``LazyFrame``, a DuckDB relation, a Dask data frame, or a function
        that returns an iterator of batches. Only the columns the model was fitted on are read, and it sees
        them as pandas (as polars from a ``LazyFrame``).
    features : str, int, or sequence of them
        One column by name or position in X as it was passed, or several that are moved together:
        ``["age", "bmi"]`` is one two-way effect. A mask of booleans marks columns.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows: in the average, its standard error, quantiles and support. The name of a column
        where rows are read.
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
        sides of every threshold of a tree ensemble (of several models, of all of them), from the smallest
        value in the data to the largest: the line through these points is the exact step function.
    custom_values : mapping, optional
        Values to ask instead, keyed by the name or position of a feature.
    method : {"auto", "exact", "brute", "recursion"}
        ``"auto"`` takes the fastest evaluator that gives the brute-force number; ``"exact"`` insists on
        a shortcut, ``"brute"`` on asking the model itself. ``"recursion"`` is another estimand: the average
        along the paths of a tree ensemble's training data, baseline included; where it differs from the
        exact answer by more than the standard error, a note says by how much.
    kind : {"average", "individual", "both"}
        The average, each row's own curve, or both. A list of models has averages only.
    spread : bool or sequence of float, optional
        Quantiles over the rows of their own curves at each point, by probability: how differently rows
        respond, which is no error of the average. True is 0.1, 0.25, 0.5, 0.75 and 0.9. Every row of positive
        weight counts. Exact while all predictions fit a quarter of ``max_memory`` (500 MB where it is not
        given); of more, the quantiles are within ``spread.rank_error`` of their ranks. Not for
        ``method="recursion"``, which has no curves of rows, nor for a list of models.
    target_names : sequence of str, optional
        Names of the outputs.
    n_jobs : int, optional
        Threads; -1 is all cores. None is all cores for what is computed here and one for asking the model,
        which may bring threads of its own. They never change the result.
    max_memory : float or str, optional
        Bound in bytes, or text such as ``"200MB"``, on what is held besides ``X`` and the model's own
        working memory. Half of the free memory by default. It is kept by smaller portions, or refused; a
        way that costs far more is announced by a `CostWarning` before it begins.
    progress : bool, optional
        Show a bar that counts rows; None shows one when more than two seconds are expected. Where there is
        neither a terminal nor a notebook, the logger ``paribus`` has a line now and then (level ``INFO``).
    verify : bool
        Ask the model itself about a few of the points, on every row; the largest difference is in the
        provenance.
    executor : dask.distributed.Client, optional
        Compute on the workers of a cluster. What is a sum of trees without weights is the same to the bit,
        whatever the number of workers and tasks.
    checkpoint : path, optional
        A folder that keeps what is finished of rows that are read, so that a run that was killed goes on
        from there and ends in the same bits. One of other data, another model or other settings is refused.
    on_error : {"raise", "skip"}
        What to do with a file that cannot be read, or has other columns than the rest: refuse, or leave it
        out and say so in the notes and the provenance.

    Returns
    -------
    PartialDependence
        With ``grid_values``, ``average``, ``standard_error``, ``individual``, ``spread``, ``refits``,
        ``support``, ``extrapolation``, ``missing``, ``deciles``, names, notes and provenance; also as keys.

    See Also
    --------
    effects : Many effects in one pass.

    Notes
    -----
    Partial dependence asks the model about rows that may not exist when features are dependent:
    ``extrapolation`` says how many of them combine values of two features that no row has, and with which
    other feature; ``support`` how much data lies around each point of the grid itself. Missing values enter
    no quantile and no axis: the effect at missing is ``.missing``, a point of its own.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effect = paribus.partial_dependence(lambda X: 2 * X[:, 0] + X[:, 1], X, 0)
    >>> effect.grid_values[0]
    array([0., 1., 2.])
    >>> effect.average
    array([[3., 5., 7.]])

    How much an effect depends on the fit:

    >>> models = [lambda X: 2 * X[:, 0] + X[:, 1], lambda X: X[:, 0] + X[:, 1]]
    >>> effect = paribus.partial_dependence(models, X, 0)
    >>> effect.average, effect.refits.standard_deviation.round(3)
    (array([[3. , 4.5, 6. ]]), array([[0.   , 0.707, 1.414]]))
    """
    grid = GridOptions.of(percentiles, grid_resolution)
    running = Running.of(progress, executor, checkpoint)
    call = Call.of(
        estimator, X, sample_weight, feature_names, grid, kind, verify, on_error, running, spread=spread
    )
    return call.answer(
        (resolve(features, call.header),),
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
    spread: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: str = "raise",
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
custom_values, method, kind, spread, target_names, n_jobs, max_memory, progress, verify, executor, \
checkpoint, on_error
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
    grid = GridOptions.of(percentiles, grid_resolution)
    running = Running.of(progress, executor, checkpoint)
    call = Call.of(
        estimator, X, sample_weight, feature_names, grid, kind, verify, on_error, running, spread=spread
    )
    answers, skipped = call.answer(
        call.asked(features),
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

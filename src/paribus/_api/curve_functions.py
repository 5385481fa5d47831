"""Functions that return curves: partial dependence, ALE and averages near values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paribus._api.explainer import Explainer
from paribus._data.features import Features
from paribus._typing import (
    Curves,
    EffectMethod,
    GridResolution,
    Method,
    OnError,
    ResponseMethod,
)

if TYPE_CHECKING:
    from paribus.results import (
        AccumulatedLocalEffect,
        Effects,
        Marginal,
        PartialDependence,
    )


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Features,
    *,
    by: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: ResponseMethod = "auto",
    times: Any = None,
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: GridResolution = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: EffectMethod = "auto",
    kind: Curves = "average",
    quantiles: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    subsample: int | None = None,
    random_state: Any = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> PartialDependence:
    r"""Compute the partial dependence of a model on one feature, or on several together.

    .. math:: PD_S(x_S) = \frac{1}{W} \sum_{i=1}^{n} w_i f(x_S, x_{i,\bar S})

    the average prediction over the rows of ``X`` when the features in S are set to :math:`x_S` and all others
    are unchanged: shape ``(n_outputs, g0, g1, ...)``. The curve of one row, :math:`f(x_S, x_{i,\bar S})`, is
    its individual conditional expectation (ICE).

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> effect = paribus.partial_dependence(model, X, "bmi")
    >>> effect.average[0, [0, -1]].round(-1)  # at the 5th and the 95th percentile
    array([130., 210.])

    Parameters
    ----------
    estimator : fitted model or callable, or a list or tuple of them
        A fitted estimator or pipeline, a booster, a function of a table, or a bound method such as
        ``model.predict_proba``. For a list, the mean of the models' effects; see Notes.
    X : table, or where to read one
        Background data: array, pandas, polars or Arrow table; or out-of-core data, such as the path of
        Parquet files. Columns are aligned with those of the fit; see Notes.
    features : str, int, sequence of them, or mapping
        One column by name or position, or several that are varied jointly: ``["age", "bmi"]`` is a two-way
        effect. A mapping such as ``{"city": ["city_A", "city_B"]}`` groups columns; see Notes.
    by : str, array of shape (n,) or mapping, optional
        Groups of rows: a column of X, a value for each row, or ``{name: cut points}``. The result is then a
        `GroupedResults`; see Notes.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows, or the name of their column in X. They apply to averages, standard errors,
        quantiles and support.
    categorical_features : sequence or mask, optional
        Numeric columns to treat as categorical. Text, categorical and boolean columns always are.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    percentiles : (float, float)
        Quantiles between which the grid of a numeric feature is evenly spaced, weighted if there are weights.
        Not used if each distinct value is a grid point.
    grid_resolution : int or "splits"
        Number of evenly spaced grid points; a feature with fewer distinct values is evaluated at each.
        ``"splits"`` uses every threshold of a tree ensemble; see Notes.
    custom_values : mapping, optional
        Grid values by feature, instead of a computed grid. Those of grouped columns are names of
        combinations: ``{"city": ["A", "none"]}``.
    method : {"auto", "exact", "brute", "recursion"}
        ``"auto"`` uses the fastest evaluator that equals brute force; ``"exact"`` requires an exact one;
        ``"brute"`` is brute force. ``"recursion"`` is a different estimand; see Notes.
    kind : {"average", "individual", "both"}
        The average, the individual (ICE) curves, or both. Lists of models support averages only.
    quantiles : bool or sequence of float, optional
        Probabilities of quantiles of the ICE curves at each grid point; True means 0.1, 0.25, 0.5, 0.75 and
        0.9. They describe how differently rows respond; see Notes.
    response_method : {"auto", "predict", "predict_proba", "decision_function"} or as in ``times``
        Prediction method. ``"auto"`` is ``predict_proba`` if available, else ``decision_function``, else
        ``predict``. Binary classifiers report the positive class. ``"decision_function"`` is also the margin
        of a booster.
    times : float or sequence of float, optional
        Times of survival models, with an output each, for ``"predict_survival_function"``, the default with
        times, or ``"predict_cumulative_hazard_function"``; see Notes.
    target_names : sequence of str, optional
        Names of the outputs.
    subsample : int, optional
        Number of rows to use, if predictions are expensive; every row by default. Grid, support and errors
        are then of these rows.
    random_state : int, Generator, RandomState or None
        Seed of the subsample; None means 0. A smaller sample is part of a larger one.
    n_jobs : int, optional
        Number of threads, -1 for all cores. By default all cores, but one for predictions, because models may
        use threads themselves. Results do not depend on it.
    max_memory : float or str, optional
        Limit on memory beyond X and the model, in bytes or as ``"200MB"``; default: half of the free memory.
        Calls that cannot keep it are refused.
    progress : bool, optional
        Whether to show a progress bar; by default if more than two seconds are expected. Without a terminal,
        the logger ``paribus`` reports progress.
    verify : bool
        Recompute a few grid points by brute force on all rows. The provenance stores the largest difference.
    executor : dask.distributed.Client or pyspark.sql.SparkSession, optional
        Cluster to compute on. Unweighted sums of trees are bit-identical for any number of workers and tasks.
    checkpoint : path, optional
        Folder for intermediate states of out-of-core runs. An interrupted run resumes with a bit-identical
        result. Checkpoints of other data, models or settings are refused.
    on_error : {"raise", "skip"}
        Handling of files that are unreadable or have different columns: raise an error, or skip them with a
        note.

    Returns
    -------
    PartialDependence
        With ``grid_values``, ``average``, ``standard_error``, ``individual``, ``quantiles``, ``by_model``,
        ``support``, ``extrapolation``, ``missing``, ``deciles``, names, notes and provenance; also as keys.

    See Also
    --------
    effects : Many effects in one pass over the data.

    Notes
    -----
    **Dependent features.** Partial dependence evaluates the model at combinations of values that may not
    exist. ``extrapolation`` is the share of such combinations with the worst other feature; a note reports
    5 % or more. Then use `accumulated_local_effects`, which moves rows within their bin only. ``support`` is
    the amount of data around each grid point.

    **Missing values** are excluded from quantiles and grids. The effect at a missing value is reported
    separately as ``.missing``.

    **Models.** A function maps a table to ``(n,)`` or ``(n, k)`` numbers. A bound method reports every output
    of that method. A list contains folds of a cross-validation, bootstrap fits or members of an ensemble with
    the same outputs. The result is the mean of their effects on a common grid; ``by_model`` has each effect
    and the standard deviation.

    **Survival models.** Models of scikit-survival are explained by their risk score, or, with ``times``, by
    their survival function or cumulative hazard. These are step functions: the value at a time is that of the
    last time of the training data up to it. Before the first one, survival is 1 and the cumulative hazard 0.
    Times after the last one are refused.

    **Data.** The model receives the kind of table that you pass, with the same dtypes. Columns are matched by
    name, additional ones are dropped with a note, and text is converted to the categories of the fit.
    Out-of-core data is read as often as needed and never loaded as a whole. It is a path, pattern or address
    of Parquet files, a list of them, a ``deltalake.DeltaTable``, a table of ``pyiceberg``, a
    ``pyarrow.dataset.Dataset`` or ``RecordBatchReader``, a polars ``LazyFrame``, a DuckDB relation, a Dask or
    Spark data frame, or a function that returns an iterator of batches. Only columns of the model are read,
    and it receives them as pandas (as polars from a ``LazyFrame``). Weights of pandas are aligned with X by
    label; other labels are refused.

    **Groups of columns.** A mapping from a name to columns makes one feature of them, whose values are the
    observed combinations. Combinations of zeros and ones are named by their ones, ``"A"``, or ``"none"``;
    others by their values, ``"(1.0, 2.5)"``. ``{"city": [...], "age": "age"}`` is a two-way effect. A row in
    which all columns are missing has a missing value. Out-of-core data is read once more to find the
    combinations. A boolean mask also selects columns, and a tuple may be a label of a pandas ``MultiIndex``.

    **Groups of rows.** All groups use the grid of all rows. A numeric column with more than 12 values is cut
    into four groups by quantiles. Of more than 12 categories, the 11 most frequent are groups, and the others
    are the group ``"other"``. Missing values are the group ``"missing"``.

    **Grids.** The grids of integers and dates are rounded. ``"splits"`` uses both sides of every threshold of
    a tree ensemble within the range of the data, so that the line through these points is the exact step
    function. Behind preprocessing, splits are in the units of X, and the columns made of a feature must rise
    or fall with it.

    **Recursion** averages along the paths of a tree ensemble's training data, baseline included. A note
    reports a difference from the exact result that exceeds the standard error.

    **Quantiles** use all rows with positive weight. They are exact while all predictions fit in a quarter of
    ``max_memory`` (500 MB if not given). Beyond that, they are within ``quantiles.rank_error`` of their
    ranks. Recursion and lists of models do not support them.

    Examples
    --------
    The numbers of a known function:

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effect = paribus.partial_dependence(lambda X: 2 * X[:, 0] + X[:, 1], X, 0)
    >>> effect.grid_values[0], effect.average
    (array([0., 1., 2.]), array([[3., 5., 7.]]))

    How much an effect depends on the fit:

    >>> models = [lambda X: 2 * X[:, 0] + X[:, 1], lambda X: X[:, 0] + X[:, 1]]
    >>> effect = paribus.partial_dependence(models, X, 0)
    >>> effect.average, effect.by_model.standard_deviation.round(3)
    (array([[3. , 4.5, 6. ]]), array([[0.   , 0.707, 1.414]]))

    One-hot columns, as the feature that they encode:

    >>> X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [2.0, 0.0, 0.0]])
    >>> names = ["age", "city_A", "city_B"]
    >>> effect = paribus.partial_dependence(
    ...     lambda X: X[:, 1] + 2 * X[:, 2], X, {"city": ["city_A", "city_B"]}, feature_names=names
    ... )
    >>> effect.grid_values[0], effect.average
    (array(['A', 'B', 'none'], dtype=object), array([[1., 2., 0.]]))
    """
    explainer = Explainer(
        estimator,
        X,
        by=by,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
        times=times,
        target_names=target_names,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
        executor=executor,
        checkpoint=checkpoint,
        on_error=on_error,
    )
    return explainer.partial_dependence(
        features,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        method=method,
        kind=kind,
        quantiles=quantiles,
        verify=verify,
        subsample=subsample,
        random_state=random_state,
    )


def effects(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    by: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: ResponseMethod = "auto",
    times: Any = None,
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: GridResolution = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: EffectMethod = "auto",
    kind: Curves = "average",
    quantiles: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    subsample: int | None = None,
    random_state: Any = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Effects[PartialDependence]:
    """Compute many effects in one pass over the rows.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> result = paribus.effects(model, X, ["age", "bmi", ("bmi", "s5")])
    >>> sorted(result.keys(), key=str)
    [('bmi', 's5'), 'age', 'bmi']
    >>> result["bmi"].average.shape, result["bmi", "s5"].average.shape
    ((1, 100), (1, 100, 100))

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence or mapping, optional
        Names, positions and tuples of them, one effect each; all columns by default. A mapping has one effect
        for each entry: ``{"city": ["city_A", "city_B"], "age": "age"}``.
    by, sample_weight, categorical_features, feature_names, percentiles, grid_resolution, custom_values, \
method, kind, quantiles, response_method, times, target_names, subsample, random_state, n_jobs, max_memory, \
progress, verify, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    Effects
        A mapping from the name (or tuple of names) to `PartialDependence`, strongest first.

    Notes
    -----
    Columns that cannot be varied are skipped, with a note. In a list, tuples may refer to the names of a
    mapping: ``[{"city": [...]}, ("city", "age")]`` is a curve and a surface.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> result = paribus.effects(lambda X: 2 * X[:, 0] + 4 * X[:, 1], X)
    >>> list(result)
    ['x1', 'x0']
    >>> result["x0"].average
    array([[12., 14., 16.]])
    """
    explainer = Explainer(
        estimator,
        X,
        by=by,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
        times=times,
        target_names=target_names,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
        executor=executor,
        checkpoint=checkpoint,
        on_error=on_error,
    )
    return explainer.effects(
        features,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        method=method,
        kind=kind,
        quantiles=quantiles,
        verify=verify,
        subsample=subsample,
        random_state=random_state,
    )


def accumulated_local_effects(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    by: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: ResponseMethod = "auto",
    times: Any = None,
    grid_resolution: int | None = None,
    custom_values: Mapping[Any, Any] | None = None,
    method: Method = "auto",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    subsample: int | None = None,
    random_state: Any = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Effects[AccumulatedLocalEffect]:
    r"""Compute accumulated local effects (ALE).

    The rows in each bin :math:`(z_{k-1}, z_k]` of a feature are evaluated at both of its edges, all else
    unchanged, and the mean differences are accumulated:

    .. math:: \Delta_k = \frac{1}{W_k} \sum_{i: x_{ij} \in (z_{k-1}, z_k]} w_i
        \left[ f(z_k, x_{i,\setminus j}) - f(z_{k-1}, x_{i,\setminus j}) \right], \qquad
        ALE_j(z_k) = \sum_{l \le k} \Delta_l - c

    with c such that the curve, linear between edges, averages to zero over the rows (Apley and Zhu, 2020).
    Rows stay within their bin, which avoids the extrapolation of partial dependence for dependent features.
    For two features, second-order differences in each cell are accumulated, and the first-order effects are
    subtracted.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> ale = paribus.accumulated_local_effects(model, X, ["bmi", "s5"])
    >>> bool(ale["bmi"].ale[0, 0] < 0 < ale["bmi"].ale[0, -1])  # relative to the average prediction
    True

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : str, int, tuple, sequence or mapping, optional
        Names, positions and pairs of them, one effect each; all columns by default. At least one feature of a
        pair must be numeric or a date. A mapping groups columns.
    by, sample_weight, categorical_features, feature_names
        As for `partial_dependence`.
    grid_resolution : int, optional
        Maximum number of bins of a numeric feature or date; by default 40 for one feature and 20 for each of
        two. Bins have about equal weight.
    custom_values : mapping, optional
        Bin edges in increasing order, or categories in the order of accumulation, keyed by the name or
        position of a feature. Rows outside them are ignored.
    method : {"auto", "exact", "brute"}
        ``"auto"`` reads the structure of the model if possible, and else evaluates it. ``"exact"`` requires
        the former, ``"brute"`` the latter. The results are the same.
    response_method, times, target_names
        As for `partial_dependence`.
    verify : bool
        Compare with the model itself on up to 512 rows; the provenance stores the largest difference.
    subsample, random_state, n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    Effects
        A mapping from the name (or pair of names) to `AccumulatedLocalEffect`, strongest first.

    See Also
    --------
    partial_dependence : The average prediction with a feature set to a value in all rows.

    Notes
    -----
    **Bins.** Every edge is an observed value. A value with more weight than a bin has a separate bin; the
    smallest value belongs to the first bin. Columns that cannot be varied are skipped, with a note.
    Combinations of grouped columns are arranged as categories.

    **Categories.** ALE of a categorical feature depends on the order of its categories. Ordered categories
    have one. Unordered ones are arranged such that neighbors have similar distributions of the other
    features; ``order`` and the notes report it. Read partial dependence, which needs no order, first.

    **Missing values.** Rows with a missing value are in no bin. The effect at missing is reported separately
    as ``.missing``: see `AtMissing`.

    **Standard errors** are conditional on the bins and the amount of data in each of them.

    **Method.** Without numba, ``"auto"`` is brute force where that is faster.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effects = paribus.accumulated_local_effects(lambda X: 2 * X[:, 0] + X[:, 1], X)
    >>> effects["x0"].ale
    array([[-2.,  0.,  2.]])
    """
    explainer = Explainer(
        estimator,
        X,
        by=by,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
        times=times,
        target_names=target_names,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
        executor=executor,
        checkpoint=checkpoint,
        on_error=on_error,
    )
    return explainer.accumulated_local_effects(
        features,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        method=method,
        verify=verify,
        subsample=subsample,
        random_state=random_state,
    )


def marginal(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    y: Any = None,
    by: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: ResponseMethod = "auto",
    times: Any = None,
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: GridResolution = 20,
    custom_values: Mapping[Any, Any] | None = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    subsample: int | None = None,
    random_state: Any = None,
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Effects[Marginal]:
    r"""Average predictions and observed values over the rows near each value of a feature.

    .. math:: M_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i f(x_i) \qquad
              O_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i y_i \qquad R_c = O_c - M_c

    over the cells :math:`c` around the grid points that `effects` uses with the same options: shape
    ``(n_outputs, g)``. Partial dependence sets the feature to a value in all rows. This function averages the
    rows that have the value, unchanged (the M-plot), and so includes the effects of dependent features. With
    ``y``, averages of observed values and residuals show where the model is biased.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> bmi = paribus.marginal(model, X, ["bmi"], y=y)["bmi"]
    >>> bmi.predicted.shape == bmi.observed.shape == bmi.residual.shape
    True

    Parameters
    ----------
    estimator : fitted model, callable or None
        As for `partial_dependence`; None to average ``y`` alone.
    X
        As for `partial_dependence`.
    features : sequence or mapping, optional
        Names or positions, one result each; all columns by default. Columns without a valid grid are skipped,
        with a note. A mapping groups columns, as for `effects`.
    y : array of shape (n,) or (n, n_outputs), or str, optional
        The target: numbers, or class labels for a classifier with probabilities. Or the name of its column in
        X, or a list of names, one for each output.
    by, sample_weight, categorical_features, feature_names
        As for `partial_dependence`.
    percentiles, grid_resolution, custom_values
        As for `partial_dependence`; fewer points by default, because each needs rows near it.
    response_method, times, target_names
        As for `partial_dependence`.
    subsample, random_state, n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    Effects
        A mapping from the feature's name to `Marginal`, strongest first, each with ``predicted``,
        ``observed``, ``residual``, their standard errors, ``support``, ``rows``, ``to_frame()`` and
        ``plot()``.

    See Also
    --------
    effects : The average prediction when a feature is set to a value, all else unchanged.

    Notes
    -----
    **Cells.** The cell of a numeric value extends half-way to its neighbors, and equally far on the outer
    side of an end point. Rows further out are in no cell, so that an end point does not represent a long
    tail. `Marginal.outside` is their share of the weight. With ``percentiles=(0, 1)`` no row is outside.

    **Target.** Class labels become indicators of the positive class, or of each of several classes. The model
    receives the target column only if it was fitted on it. Values of pandas are aligned with X by label.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> result = paribus.marginal(lambda X: 2 * X[:, 0], X, y=[0, 1, 2, 4])
    >>> result["x0"].predicted, result["x0"].observed
    (array([[0., 2.]]), array([[0.5, 3. ]]))
    >>> result["x0"].residual, result["x0"].residual_error
    (array([[0.5, 1. ]]), array([[0.5, 1. ]]))
    """
    explainer = Explainer(
        estimator,
        X,
        y=y,
        by=by,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
        times=times,
        target_names=target_names,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
        executor=executor,
        checkpoint=checkpoint,
        on_error=on_error,
    )
    return explainer.marginal(
        features,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        subsample=subsample,
        random_state=random_state,
    )

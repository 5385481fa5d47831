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
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: GridResolution = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: EffectMethod = "auto",
    kind: Curves = "average",
    quantiles: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    max_predictions: int | None = None,
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

    Parameters
    ----------
    estimator : fitted model or callable, or a list or tuple of them
        A scikit-learn estimator or pipeline, an XGBoost, LightGBM or CatBoost model, anything with
        ``predict``, or a function from a table to ``(n,)`` or ``(n, k)`` numbers. A bound method such as
        ``model.predict_proba`` stands for the model with that response, and every output of the method is
        reported. For a list (folds of a cross-validation, bootstrap fits, members of an ensemble) the result
        is the mean of the models' effects on a common grid, and ``by_model`` holds each of them and their
        standard deviation. All models must have the same outputs; each is evaluated by the fastest method
        that applies to it.
    X : table, or where to read one
        The background data: numpy array, or pandas, polars or Arrow table. The model receives the same kind
        of table with the same dtypes, aligned with what it was fitted on as far as it stores that: columns
        matched by name, additional ones dropped with a note, text converted to its categories, and pandas if
        it accepts nothing else. Or out-of-core data, which is read as often as needed and never loaded as a
        whole: the path, pattern or address of Parquet files or a list of them, a ``pyarrow.dataset.Dataset``
        or ``RecordBatchReader``, a polars ``LazyFrame``, a DuckDB relation, a Dask data frame, or a function
        that returns an iterator of batches. Only the columns the model was fitted on are read, and it
        receives them as pandas (as polars from a ``LazyFrame``).
    features : str, int, sequence of them, or mapping
        One column by name or position in X as passed, or several that are varied jointly: ``["age", "bmi"]``
        is one two-way effect. A boolean mask selects columns. A tuple is also the label of a column of a
        pandas ``MultiIndex``. Values of rows, such as a target, are refused.

        A mapping from a name to a list of columns makes one feature of them, whose values are the observed
        combinations: ``{"city": ["city_A", "city_B"]}`` for one-hot columns, also for lagged or paired ones.
        Combinations of zeros and ones are named by their ones, ``"A"``, or ``"none"``; others by their
        values, ``"(1.0, 2.5)"``. A single column stands for itself: ``{"city": [...], "age": "age"}`` is a
        two-way effect. A row in which all columns are missing has a missing value. Out-of-core data is
        read once more to find the combinations.
    by : str, array of shape (n,) or mapping, optional
        Groups of rows: the result is `GroupedResults`, a mapping from the label of each group to the result
        of its rows, all on the grid of all rows. The name of a column of X, which the model need not use;
        or a value for each row; or ``{name: cut points}``. A numeric column with more than 12 values is cut
        into four groups by quantiles. Of more than 12 categories, the 11 most frequent are groups, and the
        others are the group ``"other"``. Missing values are the group ``"missing"``.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows, used in the average, its standard error, quantiles and support; or the name of
        the column of X that holds them. The model receives that column only if it was fitted on it. If X and
        the weights are of pandas, an index with the same labels in another order is aligned by label, and
        one with other labels is refused.
    categorical_features : sequence or mask, optional
        Columns to treat as categorical although their dtype is numeric. Text, categorical and boolean columns
        are categorical anyway.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        The prediction method. ``"auto"`` is ``predict_proba`` if available, else ``decision_function``, else
        ``predict``. For binary classifiers only the positive class is reported. ``"decision_function"`` is
        also the margin of a booster.
    percentiles : (float, float)
        Lower and upper quantile between which the grid of a numeric feature is evenly spaced; linear
        interpolation, weighted if there are weights. Not used if each distinct value is a grid point.
    grid_resolution : int or "splits"
        Number of evenly spaced grid points. A numeric feature with fewer distinct values is evaluated at each
        of them; the grids of integers and dates are rounded. ``"splits"`` uses both sides of every threshold
        of a tree ensemble (of all models of a list) within the range of the data: the line through these
        points is the exact step function. Behind preprocessing they are in the units of X; the columns made
        of a feature must rise or fall with it.
    custom_values : mapping, optional
        Grid values to use instead, keyed by the name or position of a feature. Those of a group of columns
        are names of combinations: ``{"city": ["A", "none"]}``.
    method : {"auto", "exact", "brute", "recursion"}
        ``"auto"`` uses the fastest evaluator that equals brute force; ``"exact"`` requires an exact shortcut,
        ``"brute"`` brute force. ``"recursion"`` is a different estimand: the average along the paths of a
        tree ensemble's training data, baseline included; if it differs from the exact result by more than the
        standard error, a note says by how much.
    kind : {"average", "individual", "both"}
        The average, the individual (ICE) curves, or both. Lists of models support averages only.
    quantiles : bool or sequence of float, optional
        Probabilities of quantiles of the ICE curves at each grid point. They describe how differently rows
        respond, not the uncertainty of the average. True stands for 0.1, 0.25, 0.5, 0.75 and 0.9. All rows
        with positive weight are used. Exact while all predictions fit in a quarter of ``max_memory`` (500 MB
        if not given); beyond that within ``quantiles.rank_error`` of their ranks. Not available for
        ``method="recursion"``, which has no ICE curves, nor for a list of models.
    target_names : sequence of str, optional
        Names of the outputs.
    n_jobs : int, optional
        Number of threads; -1 means all cores. None means all cores for our own computations and one for
        predictions, as the model may use threads of its own. The result does not depend on it.
    max_memory : float or str, optional
        Bound in bytes, or a string such as ``"200MB"``, on the memory used besides ``X`` and the model's own
        working memory. Half of the free memory by default. It is met by smaller batches, or the call is
        refused; if only a far slower method fits, a `CostWarning` is issued before it starts.
    max_predictions : int, optional
        Bound on the rows that the model predicts in this call, for models whose predictions are expensive.
        Exact shortcuts need none, and are not affected. Where the model itself is evaluated, rows are drawn
        without replacement so that all predictions together, those included by which the model is tried first
        and those of ``verify``, stay within the bound; a note reports how many and the standard error that
        results, and the provenance their number and the seed. Grids and support are still those of all rows.
        The model is then called as seldom as ``max_memory`` allows, on many rows at a time. Divided equally
        among the models of a list. The call is refused if two rows are too many.
    progress : bool, optional
        Show a progress bar; None shows one if more than two seconds are expected. Outside terminals and
        notebooks the logger ``paribus`` reports progress instead (level ``INFO``).
    verify : bool
        Recompute a few grid points by brute force on all rows; the largest difference is stored in the
        provenance.
    executor : dask.distributed.Client, optional
        Compute on the workers of a cluster. Unweighted sums of trees are bit-identical for any number of
        workers and tasks.
    checkpoint : path, optional
        A folder for intermediate states of out-of-core runs, so that a run that was killed can be resumed
        with a bit-identical result. A checkpoint of other data, another model or other settings is refused.
    on_error : {"raise", "skip"}
        How to handle a file that cannot be read, or whose columns differ from the others: raise an error, or
        skip it and report that in the notes and the provenance.

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
    If features are dependent, partial dependence evaluates the model at combinations of values that may not
    exist: ``extrapolation`` is the share of such combinations with the worst other feature; ``support`` is
    the amount of data around each grid point. Missing values are excluded from quantiles and grids: the
    effect at a missing value is reported separately as ``.missing``.

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
        max_predictions=max_predictions,
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
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: GridResolution = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: EffectMethod = "auto",
    kind: Curves = "average",
    quantiles: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    max_predictions: int | None = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Effects[PartialDependence]:
    """Compute many effects in one pass over the rows.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence or mapping, optional
        Names, positions and tuples of them, one effect each: ``["age", ("age", "bmi")]`` is a curve and a
        surface. All columns by default; columns that cannot be varied are skipped, with a note. A mapping
        has one effect for each entry, as for `partial_dependence`: ``{"city": ["city_A", "city_B"], "age":
        "age"}``. In a list, others may refer to its names: ``[{"city": [...]}, ("city", "age")]`` is a curve
        and a surface.
    by, sample_weight, categorical_features, feature_names, response_method, percentiles, grid_resolution, \
custom_values, method, kind, quantiles, target_names, n_jobs, max_memory, max_predictions, progress, \
verify, executor, checkpoint, on_error
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
    explainer = Explainer(
        estimator,
        X,
        by=by,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
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
        max_predictions=max_predictions,
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
    grid_resolution: int | None = None,
    custom_values: Mapping[Any, Any] | None = None,
    method: Method = "auto",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    max_predictions: int | None = None,
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

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`; for a list of models the mean of their effects, with each of them in
        ``by_model``.
    features : str, int, tuple, sequence or mapping, optional
        Names, positions and pairs of them, one effect each. All columns by default; columns that cannot be
        varied are skipped, with a note. At least one feature of a pair must be numeric or a date. A mapping
        makes groups of columns, as for `effects`; their combinations are arranged as categories are.
    by, sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    grid_resolution : int, optional
        Maximum number of bins of a numeric feature or date; by default 40 for one feature and 20 for each of
        two. Bins have about equal weight, and every edge is an observed value. A value with more weight than
        a bin is an edge of its own; the smallest value belongs to the first bin.
    custom_values : mapping, optional
        Bin edges in increasing order, or categories in the order of accumulation, keyed by the name or
        position of a feature. Rows outside them are ignored.
    method : {"auto", "exact", "brute"}
        ``"auto"`` computes differences from the trees of an ensemble if possible, and by brute force
        otherwise, or if numba is missing and brute force is faster; ``"exact"`` requires the former,
        ``"brute"`` the latter. The results are the same.
    verify : bool
        Compare with the model itself on up to 512 rows; the largest difference is in the provenance.
    n_jobs, max_memory, max_predictions, progress, executor, checkpoint, on_error
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
    ALE of a categorical feature depends on the order of its categories. Ordered categories have one.
    Unordered ones are arranged such that neighbors have similar distributions of the other features;
    ``order`` and the notes report it, and partial dependence, which needs no order, should be read
    first.

    Rows with a missing value are in no bin. The effect at missing is reported separately as ``.missing``: see
    `AtMissing`.

    Standard errors are conditional on the bins and the amount of data in each of them.

    Examples
    --------
    >>> import numpy as np, paribus
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
        max_predictions=max_predictions,
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
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: GridResolution = 20,
    custom_values: Mapping[Any, Any] | None = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    max_predictions: int | None = None,
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Effects[Marginal]:
    r"""Average predictions and observed values over the rows near each value of a feature.

    .. math:: M_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i f(x_i) \qquad
              O_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i y_i \qquad R_c = O_c - M_c

    over the cells :math:`c` around the grid points that `effects` uses with the same options, so that both
    can be overlaid: shape ``(n_outputs, g)``. Partial dependence sets the feature to a value in all rows;
    this averages the rows that have the value, unchanged (the M-plot), and therefore includes the effects of
    dependent features. With ``y``, averages of observed values and residuals show where the model is biased.

    The cell of a numeric value extends half-way to its neighbors, and equally far on the outer side of an end
    point. Rows further out are in no cell, so that an end point represents rows near it and not a long tail,
    and the support is that of partial dependence; `Marginal.outside` is their share of the weight. With
    ``percentiles=(0, 1)`` the grid spans all rows, and none is outside.

    Parameters
    ----------
    estimator : fitted model, callable or None
        As for `partial_dependence`; None to average ``y`` alone.
    X
        As for `partial_dependence`.
    features : sequence or mapping, optional
        Names or positions, one result each. All columns by default; columns without a valid grid are skipped,
        with a note. A mapping makes groups of columns, as for `effects`.
    y : array of shape (n,) or (n, n_outputs), or str, optional
        The target: numbers, or class labels for a classifier with probabilities, which become indicators of
        the positive class, or of each of several classes. Or the name of its column in X, which is not passed
        to the model unless it was fitted on it, or a list of names, one for each output. Values of pandas are
        aligned with X by label, as ``sample_weight`` is.
    by, sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    percentiles, grid_resolution, custom_values
        As for `partial_dependence`; fewer cells by default, as each needs rows of its own.
    n_jobs, max_memory, max_predictions, progress, executor, checkpoint, on_error
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

    Examples
    --------
    >>> import numpy as np, paribus
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
        max_predictions=max_predictions,
    )

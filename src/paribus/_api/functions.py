"""The public functions: each is the method of `Explainer` that has its name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from paribus._api.explainer import Explainer
from paribus._budget import MAX_HOURS
from paribus._data.features import Features
from paribus._typing import (
    Curves,
    EffectMethod,
    GridResolution,
    ImportanceMethod,
    Method,
    OnError,
    ResponseMethod,
)
from paribus.errors import OptionError
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


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Features,
    *,
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
    features : str, int, or sequence of them
        One column by name or position in X as passed, or several that are varied jointly: ``["age", "bmi"]``
        is one two-way effect. A boolean mask selects columns. A tuple is also the label of a column of a
        pandas ``MultiIndex``. Values of rows, such as a target, are refused.
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
        Grid values to use instead, keyed by the name or position of a feature.
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
    """
    explainer = Explainer(
        estimator,
        X,
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
) -> Effects:
    """Compute many effects in one pass over the rows.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names, positions and tuples of them, one effect each: ``["age", ("age", "bmi")]`` is a curve and a
        surface. All columns by default; columns that cannot be varied are skipped, with a note.
    sample_weight, categorical_features, feature_names, response_method, percentiles, grid_resolution, \
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
) -> LocalEffects:
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
    features : str, int, tuple or sequence, optional
        Names, positions and pairs of them, one effect each. All columns by default; columns that cannot be
        varied are skipped, with a note. At least one feature of a pair must be numeric or a date.
    sample_weight, categorical_features, feature_names, response_method, target_names
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
        otherwise; ``"exact"`` requires the former, ``"brute"`` the latter. The results are the same.
    verify : bool
        Compare with the model itself on up to 512 rows; the largest difference is in the provenance.
    n_jobs, max_memory, max_predictions, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    LocalEffects
        A mapping from the name (or pair of names) to `LocalEffect`, strongest first.

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
    `LocalEffectAtMissing`.

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
) -> Marginals:
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
    features : sequence, optional
        Names or positions, one result each. All columns by default; columns without a valid grid are skipped,
        with a note.
    y : array of shape (n,) or (n, n_outputs), or str, optional
        The target: numbers, or class labels for a classifier with probabilities, which become indicators of
        the positive class, or of each of several classes. Or the name of its column in X, which is not passed
        to the model unless it was fitted on it, or a list of names, one for each output. Values of pandas are
        aligned with X by label, as ``sample_weight`` is.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    percentiles, grid_resolution, custom_values
        As for `partial_dependence`; fewer cells by default, as each needs rows of its own.
    n_jobs, max_memory, max_predictions, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    Marginals
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


def h_statistic(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    feature_names: Any = None,
    response_method: ResponseMethod = "auto",
    overall: bool = True,
    threeway: int = 0,
    method: Method = "auto",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    max_predictions: int | None = None,
    progress: bool | None = None,
    verify: bool = False,
    n_max: int | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> HStatistics:
    r"""Compute Friedman and Popescu's H-statistics of interaction strength.

    With :math:`F_S` the partial dependence on the features in S, centered to mean zero and evaluated at the
    rows themselves, :math:`F` the centered prediction, and :math:`\langle\cdot\rangle` a weighted mean:

    .. math::
        H_{jk}^2 &= \langle (F_{jk} - F_j - F_k)^2 \rangle / \langle F_{jk}^2 \rangle \\
        H_j^2 &= \langle (F - F_j - F_{\setminus j})^2 \rangle / \langle F^2 \rangle \\
        H_{jkl}^2 &= \langle (F_{jkl} - F_{jk} - F_{jl} - F_{kl} + F_j + F_k + F_l)^2 \rangle
                     / \langle F_{jkl}^2 \rangle \\
        H^2 &= \langle (F - \sum_j F_j)^2 \rangle / \langle F^2 \rangle

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions of the features, or a boolean mask; all columns by default.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows, used in all averages and standard errors. For out-of-core data the name of a
        column.
    subsample : int, None or "auto"
        Number of rows to use, sampled without replacement; None for all. ``"auto"`` means all rows if that
        takes only a few passes (sums of trees), and 500 if n rows are crossed with each other: n² predictions
        per pair, or n² margins off the leaves (probabilities of boosted trees). The number used is part of
        the provenance, the repr and the plots.
    random_state : int or numpy Generator, optional
        Seed of the subsample; None means 0, so that results are reproducible.
    max_predictions : int, optional
        As for `partial_dependence`; of the rows it allows and those of ``subsample`` the fewer are used.
    feature_names, response_method, target_names, n_jobs, max_memory, progress
        As for `partial_dependence`. A model that is additive on the margin scale has interactions on the
        probability scale; ``response_method="decision_function"`` explains the margin.
    overall : bool
        Whether to compute each feature's interaction with all others, and the total.
    threeway : int
        Compute the triples of this many features, those with the strongest interactions.
    method : {"auto", "exact", "brute"}
        ``"exact"`` requires an exact shortcut, ``"brute"`` brute force.
    n_max : int, optional
        Alias of ``subsample``.
    verify : bool
        Compare strengths with the definition on 40 rows, all crossed with each other; the largest difference
        is in the provenance.
    executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    HStatistics
        With ``feature_pairs``, ``h_squared_pairwise``, ``numerator_pairwise``, ``denominator_pairwise``,
        ``standard_error_h_squared_pairwise``, the same for ``overall``, ``total`` and ``threeway``, and
        `strongest`; ``H["age", "income"]`` is the `Interaction` of one pair.

    See Also
    --------
    feature_importance : Importance of each feature.

    Notes
    -----
    Compare pairs by their strength, the square root of the numerator, which is in units of the prediction: H²
    divides by the joint effect, so that two features with negligible effects can have any H². Standard errors
    treat the rows as a random sample, both as points where the effects are evaluated and as the background
    they are averaged over.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> H = paribus.h_statistic(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
    >>> H.strongest(1)[0].features
    (0, 1)
    >>> H["feature_pairs"]
    [(0, 1), (0, 2), (1, 2)]
    >>> (H["h_squared_pairwise"] > 0.5).tolist()
    [True, False, False]
    """
    explainer = Explainer(
        estimator,
        X,
        sample_weight=sample_weight,
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
    return explainer.h_statistic(
        features,
        subsample=subsample,
        random_state=random_state,
        overall=overall,
        threeway=threeway,
        method=method,
        n_max=n_max,
        verify=verify,
        max_predictions=max_predictions,
    )


def feature_importance(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    y: Any = None,
    method: ImportanceMethod = "effect",
    sample_weight: Any = None,
    feature_names: Any = None,
    response_method: ResponseMethod = "auto",
    target_names: Any = None,
    scoring: Any = None,
    n_repeats: int = 5,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    max_predictions: int | None = None,
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Importance:
    r"""Compute the importance of features: by effect, by permutation, or as recorded by the model.

    By **effect**, the standard deviation of the partial dependence over the data, and the root mean square
    change of the prediction when the feature is averaged out, interactions included:

    .. math:: \langle F_j^2 \rangle^{1/2} \qquad \langle (F - F_{\setminus j})^2 \rangle^{1/2}

    both in units of the prediction; no ``y`` is needed. By **permutation**, the increase of the loss when the
    values of a feature, or of several jointly, are permuted among the rows. By the **model**, what it
    recorded at fit (impurity, gain or similar), normalized to sum to one.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions; all columns by default. For permutation also tuples, whose columns are permuted
        jointly.
    y : array of shape (n,), or str, optional
        The target, or the name of its column in X; for permutation only.
    method : {"effect", "permutation", "model"}
        Definition of importance. A list of models has the mean of theirs, but for ``"model"``, which takes
        one.
    sample_weight, feature_names, response_method, target_names, n_jobs, max_memory, progress
        As for `partial_dependence`.
    executor, checkpoint, on_error
        As for `partial_dependence`. By permutation, and by the model, X must be in memory.
    scoring : str or callable, optional
        For permutation: a loss (``"squared_error"``, ``"absolute_error"``, ``"log_loss"``, ``"poisson"``,
        ``"gamma"``, ``"error_rate"``), a function of ``y`` and the prediction, or a scikit-learn scorer or
        its name. The squared error of a regressor and the log loss of a classifier by default.
    n_repeats : int
        Number of permutations of a feature.
    subsample : int, None or "auto"
        Number of rows to use. ``"auto"`` means all rows, except for effects by brute force or of
        probabilities of boosted trees, where n rows are crossed with each other and it is 500; None means
        all rows.
    random_state : int or numpy Generator, optional
        Seed of the subsample and of the permutations; None means 0, so that results are reproducible.
    max_predictions : int, optional
        As for `partial_dependence`; of the rows it allows and those of ``subsample`` the fewer are used.

    Returns
    -------
    Importance
        With ``values``, ``standard_error``, ``to_frame()`` and ``plot()``.

    See Also
    --------
    h_statistic : Strength of interactions.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> predict = lambda X: 3 * X[:, 0] + X[:, 1]
    >>> paribus.feature_importance(predict, X).order
    [0, 1, 2]
    >>> options = {"method": "permutation", "features": [(0, 1), 2]}
    >>> paribus.feature_importance(predict, X, y=predict(X), **options).feature_names
    ('x0 + x1', 'x2')
    """
    if method == "model" and y is not None:
        raise OptionError("y has no meaning for method='model'; leave it out")
    explainer = Explainer(
        estimator,
        X,
        y=y,
        sample_weight=sample_weight,
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
    return explainer.feature_importance(
        features,
        method=method,
        scoring=scoring,
        n_repeats=n_repeats,
        subsample=subsample,
        random_state=random_state,
        max_predictions=max_predictions,
    )


def explain(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    features: Any = None,
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
    max_hours: float | None = MAX_HOURS,
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
) -> Explanation:
    """Explain a model: every statistic of every feature, in shared passes over the rows.

    Partial dependence with quantiles of the individual curves, accumulated local effects, averages over the
    rows near each value, importance by effect, H-statistics of all pairs and the surfaces of the strongest
    are what the functions of these names return with the same arguments. Out-of-core rows are read three
    times: once to survey them, then once for most statistics, and once for those that depend on them.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    y : array of shape (n,) or (n, n_outputs), or str or list of str, optional
        The target, for observed averages, residuals and performance, or the name of its column in X; as for
        `marginal`.
    features : list of str or int, optional
        The features to explain; all by default.
    monotone : mapping, optional
        Features by name or position, and the direction that the model is declared to have in each: 1 or
        ``"rising"``, -1 or ``"falling"``. Others are compared with the prevailing direction.
    pairs : int
        Number of surfaces, of the pairs that interact most.
    mute : list of str or NoteCode
        Codes of notes, such as ``"PAR101"``, that are left out of the verdict.
    percentiles : (float, float)
        Between which curves and averages have evenly spaced points, and plots end. Up to four points on
        either side of them cover the rest of the data, which all statistics of a curve include.
    grid_resolution : int or "splits", optional
        Points of the curves, and of averages, between the percentiles at most. By default 20, and 12 of more
        than 100 features, whose local effects have 20 bins instead of 40.
    quantiles : "auto", None or sequence of float
        Which quantiles of the individual curves. ``"auto"`` is (0.1, 0.5, 0.9) of a single model and none of
        a list.
    interactions : bool
        Whether to compute H-statistics and surfaces, which take most of the time where the model itself has
        to be evaluated. Of a single model whose interactions are not read off trees on their margin, only the
        40 features that interact most with all others together are paired, which a note says; all pairs are
        those of `h_statistic`.
    subsample : int, "auto" or None
        Rows that H-statistics and importance are computed on, None for all. ``"auto"`` is all where they are
        read off the model; otherwise as many as take about ten million predictions, at least 64 and at most
        500. A note says how many.
    random_state : int, Generator, RandomState or None
        What that sample is drawn with.
    max_predictions : int, optional
        Bound on the rows that the model predicts in all: each statistic has a share of it and draws rows to
        keep it, which is noted.
    max_hours : float or None
        Refuse to begin what is estimated to take longer in this process; None confirms that it may. What a
        cluster takes is not estimated, nor what ``max_predictions`` bounds.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`. With progress, what takes longer than ten seconds is announced.

    Returns
    -------
    Explanation
        Its repr is a table with a row for each feature.

    See Also
    --------
    Explainer.run : Some statistics with arguments of their own.
    estimate_cost : What it would take: ``estimate_cost(estimator, X, verb="explain")``.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = paribus.explain(lambda X: X[:, 0] * X[:, 1] + 3 * X[:, 2], X)
    >>> explanation.feature_names[0]
    'x2'
    >>> explanation.table["x0"].partner, list(explanation.surfaces)
    ('x1', [('x0', 'x1')])
    """
    explainer = Explainer(
        estimator,
        X,
        y,
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
    return explainer.explain(
        features,
        monotone=monotone,
        pairs=pairs,
        mute=mute,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        quantiles=quantiles,
        interactions=interactions,
        subsample=subsample,
        random_state=random_state,
        max_predictions=max_predictions,
        max_hours=max_hours,
    )


def estimate_cost(
    estimator: Any, X: Any, features: Any = None, *, verb: str = "effects", **options: Any
) -> CostEstimate:
    """Estimate what a statistic would take with the same arguments: passes, time and memory.

    One block of rows is read, surveyed and evaluated, and the time that took is scaled to all rows.

    Parameters
    ----------
    estimator, X, features
        As for the function of that name.
    verb : str
        Name of a function: ``"effects"``, ``"h_statistic"`` and so on.
    **options
        Its other arguments.

    Returns
    -------
    CostEstimate
        With ``passes``, ``seconds``, ``memory``, ``evaluator`` and more, and a readable repr.

    See Also
    --------
    Explainer.estimate_cost : For several statistics in shared passes.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(1_000, 3))
    >>> estimate = paribus.estimate_cost(lambda X: X[:, 0] * X[:, 1], X)
    >>> estimate.evaluator, estimate.passes, estimate.points
    ('brute', 1, 324)
    """
    shared = inspect.signature(Explainer).parameters
    own = {name: value for name, value in options.items() if name not in shared}
    explainer = Explainer(estimator, X, **{name: options[name] for name in options if name in shared})
    return explainer.estimate_cost((verb, {"features": features, **own}))

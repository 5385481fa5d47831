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
    sample_weight: Any = None,
    categorical_features: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    percentiles: tuple[float, float] | None = None,
    grid_resolution: GridResolution = 50,
    custom_values: Mapping[Any, Any] | None = None,
    kind: Curves = "average",
    quantiles: Any = None,
    method: EffectMethod = "auto",
    subsample: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    >>> effect.average[0, [0, -1]].round(-1)  # at the smallest and the largest value
    array([130., 230.])

    Parameters
    ----------
    estimator : fitted model or callable, or a list or tuple of them
        A fitted estimator or pipeline, a booster, a function of a table, or a bound method such as
        ``model.predict_proba``. For a list, the mean of the models' effects.
    X : table, or where to read one
        Background data: array, pandas, polars or Arrow table; or out-of-core data, such as the path of
        Parquet files. Columns are aligned with those of the fit.
    features : str, int, sequence of them, or mapping
        One column by name or position, or several that are varied jointly: ``["age", "bmi"]`` is a two-way
        effect. A mapping such as ``{"city": ["city_A", "city_B"]}`` groups columns.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows, or the name of their column in X. They apply to averages, standard errors,
        quantiles and support.
    categorical_features : sequence or mask, optional
        Numeric columns to treat as categorical. Text, categorical and boolean columns always are.
    response_method : {"auto", "predict", "predict_proba", "decision_function"} or of a survival model
        Prediction method. ``"auto"`` is ``predict_proba`` if available, else ``decision_function``, else
        ``predict``. Binary classifiers report the positive class.
    by : str, array of shape (n,) or mapping, optional
        Groups of rows, for `GroupedResults`: a column of X, a value for each row, or ``{name: cut points}``.
    units : str or array of shape (n,), optional
        Units of dependent rows, such as customers, for standard errors: a column of X (not a feature, unless
        the model was fitted with it), or a value for each row.
    percentiles : (float, float) or None
        Quantiles between which the grid is evenly spaced. None: the whole range; of joint effects alone, 0.05
        to 0.95.
    grid_resolution : int or "splits"
        Maximum number of grid values; a feature with at most so many values is evaluated at each. With
        ``"splits"``, the thresholds of trees.
    custom_values : mapping, optional
        Grid values by feature, instead of a computed grid. Those of grouped columns are names of
        combinations: ``{"city": ["A", "none"]}``.
    kind : {"average", "individual", "both"}
        The average, the individual (ICE) curves, or both. Lists of models support averages only.
    quantiles : bool or sequence of float, optional
        Probabilities of quantiles of the ICE curves; True means 0.1, 0.25, 0.5, 0.75 and 0.9. Not for lists.
    method : {"auto", "exact", "brute", "recursion"}
        ``"auto"`` uses the fastest evaluator that equals brute force; ``"exact"`` requires an exact one;
        ``"brute"`` is brute force. ``"recursion"`` is a different estimand; see Notes.
    subsample : int, optional
        Number of rows to use for everything, if predictions are expensive; every row by default.
    random_state : int, Generator, RandomState or None
        Seed of the subsample; None means 0. A smaller sample is part of a larger one.
    n_jobs : int, optional
        Number of threads, -1 for all cores; by default all cores, but one for predictions.
    progress : bool, optional
        Whether to show a progress bar; by default if more than two seconds are expected.

    Returns
    -------
    PartialDependence
        With ``grid_values``, ``average``, ``standard_error``, ``individual``, ``quantiles``, ``by_model``,
        ``support``, ``extrapolation``, ``missing``, ``deciles``, names, notes and provenance; also as keys.

    Notes
    -----
    Memory, cluster, checkpoint, verification and other options of the run are arguments of `Explainer`.
    Recursion averages along the paths of training data.

    Partial dependence evaluates the model at combinations of values that may not exist; ``extrapolation`` is
    their share. Then use `accumulated_local_effects`.

    The guide explains :doc:`grids, missing values, quantiles </effects>`, :doc:`grouped columns </models>`,
    :doc:`groups of rows </report>`, :doc:`lists of models </interpret>` and :doc:`data files </large-data>`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effect = paribus.partial_dependence(lambda X: 2 * X[:, 0] + X[:, 1], X, 0)
    >>> effect.grid_values[0], effect.average
    (array([0., 1., 2.]), array([[3., 5., 7.]]))
    """
    explainer = Explainer(
        estimator,
        X,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        response_method=response_method,
        by=by,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.partial_dependence(
        features,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        kind=kind,
        quantiles=quantiles,
        method=method,
        subsample=subsample,
        random_state=random_state,
    )


def effects(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    percentiles: tuple[float, float] | None = None,
    grid_resolution: GridResolution = 50,
    custom_values: Mapping[Any, Any] | None = None,
    kind: Curves = "average",
    quantiles: Any = None,
    method: EffectMethod = "auto",
    subsample: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    ((1, 46), (1, 46, 44))

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence or mapping, optional
        Names, positions and tuples of them, one effect each; all columns by default. A mapping has one effect
        for each entry: ``{"city": ["city_A", "city_B"], "age": "age"}``.
    sample_weight, categorical_features, response_method, by, units, percentiles, grid_resolution, \
custom_values, kind, quantiles, method, subsample, random_state, n_jobs, progress
        As for `partial_dependence`.

    Returns
    -------
    Effects
        A mapping from the name (or tuple of names) to `PartialDependence`, strongest first.

    Notes
    -----
    Columns that cannot be varied are skipped, with a note. In a list, tuples may refer to the names of a
    mapping: ``[{"city": [...]}, ("city", "age")]`` is a curve and a surface. Other options of the run are
    arguments of `Explainer`.

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
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        response_method=response_method,
        by=by,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.effects(
        features,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        kind=kind,
        quantiles=quantiles,
        method=method,
        subsample=subsample,
        random_state=random_state,
    )


def accumulated_local_effects(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    grid_resolution: int | None = None,
    custom_values: Mapping[Any, Any] | None = None,
    method: Method = "auto",
    subsample: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    sample_weight, categorical_features, response_method, by, units
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
    subsample, random_state, n_jobs, progress
        As for `partial_dependence`. Other options of the run are arguments of `Explainer`.

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
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        response_method=response_method,
        by=by,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.accumulated_local_effects(
        features,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        method=method,
        subsample=subsample,
        random_state=random_state,
    )


def marginal(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    percentiles: tuple[float, float] | None = None,
    grid_resolution: GridResolution = 50,
    custom_values: Mapping[Any, Any] | None = None,
    subsample: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    sample_weight, categorical_features, response_method, by, units
        As for `partial_dependence`.
    percentiles, grid_resolution, custom_values
        As for `partial_dependence`.
    subsample, random_state, n_jobs, progress
        As for `partial_dependence`. Other options of the run are arguments of `Explainer`.

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
    tail. `Marginal.outside` is their share of the weight. Without ``percentiles`` no row is outside.

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
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        response_method=response_method,
        by=by,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.marginal(
        features,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        subsample=subsample,
        random_state=random_state,
    )

"""The public functions: each is the method of `Explainer` that has its name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from paribus._typing import (
    Curves,
    EffectMethod,
    GridResolution,
    ImportanceMethod,
    Method,
    OnError,
    ResponseMethod,
)
from paribus.api.explainer import Explainer
from paribus.data.features import Features
from paribus.errors import OptionError
from paribus.results import (
    Effects,
    Estimate,
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
    spread: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
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
    found: PartialDependence = _computed("partial_dependence", locals())
    return found


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
    spread: Any = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
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
    found: Effects = _computed("effects", locals())
    return found


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
    progress: bool | None = None,
    verify: bool = False,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> LocalEffects:
    r"""Compute accumulated local effects (ALE): the effect of a feature where the data is.

    The rows in each bin :math:`(z_{k-1}, z_k]` of a feature are asked at both of its edges, all else as it
    is, and the average differences are added up:

    .. math:: \Delta_k = \frac{1}{W_k} \sum_{i: x_{ij} \in (z_{k-1}, z_k]} w_i
        \left[ f(z_k, x_{i,\setminus j}) - f(z_{k-1}, x_{i,\setminus j}) \right], \qquad
        ALE_j(z_k) = \sum_{l \le k} \Delta_l - c

    with c such that the curve, straight between edges, averages to zero over the rows (Apley and Zhu, 2020).
    No row is moved out of its bin, so that features that go together are not torn apart as partial dependence
    does. Of two features, the differences of differences in each cell are added up, and the effect of each by
    itself is taken away.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`; of a list the mean of their effects, and ``refits`` has each.
    features : str, int, tuple or sequence, optional
        Names, positions and pairs of them, one effect each. Every column by default; one that cannot be moved
        is skipped, and said in the notes. Of a pair at least one must be a number or date.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    grid_resolution : int, optional
        Number of bins of a number or date, at most: 40 of a feature by itself and 20 of each of two, if not
        given. Bins have about the same weight, and every edge is a value that occurs. One that is heavier
        than a bin is an edge by itself; the smallest value belongs to the first bin.
    custom_values : mapping, optional
        Edges of bins in rising order, or levels in the order they are to be gone through, keyed by the name
        or position of a feature. Rows beyond them do not count.
    method : {"auto", "exact", "brute"}
        ``"auto"`` reads differences off the trees of an ensemble, where it can, and asks the model itself
        where not; ``"exact"`` insists on the first, ``"brute"`` on the second. The number is the same.
    verify : bool
        Compare with the model itself on up to 512 rows; the largest difference is in the provenance.
    n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    LocalEffects
        A mapping from the name (or pair of names) to `LocalEffect`, strongest first.

    See Also
    --------
    partial_dependence : The average prediction with the feature set to a value in every row.

    Notes
    -----
    Levels are gone through in an order. Ordered categories have one. Levels that have none are put in one in
    which neighbours have similar rows in the other features; the result says so in ``order`` and the notes,
    and partial dependence, which needs no order, is what to look at first.

    Rows whose value is missing are in no bin. The effect at missing is reported apart from the curve, as
    ``.missing``: see `LocalMissing`.

    Standard errors are given where rows lie: they know that the differences of other rows would be others,
    and take the bins, and how much data each has, as they are.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effects = paribus.accumulated_local_effects(lambda X: 2 * X[:, 0] + X[:, 1], X)
    >>> effects["x0"].ale
    array([[-2.,  0.,  2.]])
    """
    found: LocalEffects = _computed("accumulated_local_effects", locals())
    return found


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
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Marginals:
    r"""Average predictions, and what came out, over the rows near each value of a feature.

    .. math:: M_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i f(x_i) \qquad
              O_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i y_i \qquad R_c = O_c - M_c

    over the cells :math:`c` around the points of the axis that `effects` lays out with the same options, so
    that one can be drawn on top of the other: shape ``(n_outputs, g)``. Where a partial dependence sets the
    feature of every row to a value, this takes the rows that have it, as they are (the M-plot): with it come
    all features that depend on it. With ``y``, averages of what came out and of residuals tell where the
    model is wrong.

    The cell of a number reaches half-way to its neighbours, and as far on the outer side of an end point.
    Rows further out are in no cell, so that an end point stands for rows near it and not for a long tail, and
    the support is that of the partial dependence; `Marginal.outside` tells what share of the weight that is.
    With ``percentiles=(0, 1)`` the grid spans all rows, and none is outside.

    Parameters
    ----------
    estimator : fitted model, callable or None
        As for `partial_dependence`; None to average ``y`` alone.
    X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions, one result each. Every column by default; one that cannot be laid out is skipped,
        and said in the notes.
    y : array of shape (n,) or (n, n_outputs), or str, optional
        What came out: numbers, or the labels of a classifier with probabilities, which become indicators of
        the positive class, or of each of several. Where X is read, the name of the column that has it, which
        is not shown to a model unless it was fitted on it, or a list of names, one for each output.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    percentiles, grid_resolution, custom_values
        As for `partial_dependence`, whose axes these are; fewer cells by default, as each needs rows of its
        own.
    n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    Marginals
        A mapping from the feature's name to `Marginal`, strongest first, each with ``predicted``,
        ``observed``, ``residual``, their standard errors, ``support``, ``rows``, ``to_frame()`` and
        ``plot()``.

    See Also
    --------
    effects : What the prediction does when a feature is set, all else as it is.

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
    found: Marginals = _computed("marginal", locals())
    return found


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
    progress: bool | None = None,
    verify: bool = False,
    n_max: int | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> HStatistics:
    r"""Compute Friedman and Popescu's H-statistics: how much of a model is interaction, and between whom.

    With :math:`F_S` the partial dependence on the features in S, centred to mean zero and evaluated at the
    rows themselves, :math:`F` the centred prediction, and :math:`\langle\cdot\rangle` a weighted mean:

    .. math::
        H_{jk}^2 &= \langle (F_{jk} - F_j - F_k)^2 \rangle / \langle F_{jk}^2 \rangle \\
        H_j^2 &= \langle (F - F_j - F_{\setminus j})^2 \rangle / \langle F^2 \rangle \\
        H_{jkl}^2 &= \langle (F_{jkl} - F_{jk} - F_{jl} - F_{kl} + F_j + F_k + F_l)^2 \rangle
                     / \langle F_{jkl}^2 \rangle \\
        H^2 &= \langle (F - \textstyle\sum_j F_j)^2 \rangle / \langle F^2 \rangle

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions of the features, or a mask; every column by default.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows: in every average, and in the standard errors. The name of a column where rows are
        read.
    subsample : int, None or "auto"
        Rows to use, drawn without replacement; None for all. ``"auto"`` is every row where that takes no
        more than a few passes (sums of trees), and 500 where n rows take n² predictions per pair. What was
        used is in the provenance, the repr and the plots.
    random_state : int or numpy Generator, optional
        Seed of the draw; None is 0, so that the same call gives the same number.
    feature_names, response_method, target_names, n_jobs, max_memory, progress
        As for `partial_dependence`. On the probability scale a model that is additive in its margin
        interacts as well; ``response_method="decision_function"`` asks about the margin.
    overall : bool
        Also each feature's interaction with all others, and the total over all features.
    threeway : int
        Also the triples of so many features, those that interact most.
    method : {"auto", "exact", "brute"}
        ``"exact"`` insists on a shortcut, ``"brute"`` on asking the model itself.
    n_max : int, optional
        Another name of ``subsample``.
    verify : bool
        Compare strengths with the definition on 40 rows, all crossed with each other; the largest difference
        is in the provenance.
    executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    HStatistics
        With ``feature_pairs``, ``h_squared_pairwise``, ``numerator_pairwise``, ``denominator_pairwise``,
        ``standard_error_pairwise``, the same for ``overall``, ``total`` and ``threeway``, and `strongest`.

    See Also
    --------
    feature_importance : How much each feature matters.

    Notes
    -----
    Compare pairs by their strength, the root of the numerator, which is in units of the prediction: H²
    divides by the joint effect, so that two features that do nothing can have any H². Standard errors are
    those of a random sample of rows, both as rows where the effects are evaluated and as rows they are
    averaged over.

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
    found: HStatistics = _computed("h_statistic", locals())
    return found


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
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: OnError = "raise",
) -> Importance:
    r"""Tell how much each feature matters: to predictions, to their quality, or by the model's own account.

    By **effect**, the standard deviation over the data of the partial dependence, each row at its own value
    or level, and what the prediction loses when the feature alone is averaged out, interactions included:

    .. math:: \langle F_j^2 \rangle^{1/2} \qquad \langle (F - F_{\setminus j})^2 \rangle^{1/2}

    both in units of the prediction; no ``y`` is needed. By **permutation**, how much worse predictions of
    ``y`` get when the values of a feature, or of several together, are shuffled among the rows. By the
    **model**, what it recorded itself when it was fitted: impurity, gain or the like, divided by their sum.

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions; every column by default. By permutation also tuples, whose columns are shuffled
        together.
    y : array of shape (n,), optional
        What should have been predicted; for permutation only.
    method : {"effect", "permutation", "model"}
        What importance means. A list of models has the mean of theirs, but for ``"model"``, which takes one.
    sample_weight, feature_names, response_method, target_names, n_jobs, max_memory, progress
        As for `partial_dependence`.
    executor, checkpoint, on_error
        As for `partial_dependence`. By permutation, and by the model, X must be in memory.
    scoring : str or callable, optional
        For permutation: a loss (``"squared_error"``, ``"absolute_error"``, ``"log_loss"``, ``"poisson"``,
        ``"gamma"``, ``"error_rate"``), a function of ``y`` and the prediction, or a scikit-learn scorer or
        its name. The squared error of a regressor and the log loss of a classifier by default.
    n_repeats : int
        How often a feature is shuffled.
    subsample : int, None or "auto"
        Rows to use. ``"auto"`` is every row, but for the effects of a model that has to be asked itself
        about every row with the values of every other, where it is 500; None is every row.
    random_state : int or numpy Generator, optional
        Seed of the draw and of the shuffles; None is 0, so that the same call gives the same number.

    Returns
    -------
    Importance
        With ``values``, ``standard_error``, ``to_frame()`` and ``plot()``.

    See Also
    --------
    h_statistic : How much of it is interaction.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> predict = lambda X: 3 * X[:, 0] + X[:, 1]
    >>> paribus.feature_importance(predict, X).order
    [0, 1, 2]
    >>> asked = {"method": "permutation", "features": [(0, 1), 2]}
    >>> paribus.feature_importance(predict, X, y=predict(X), **asked).feature_names
    ('x0 + x1', 'x2')
    """
    if method == "model" and y is not None:
        raise OptionError("y has no meaning for method='model'; leave it out")
    found: Importance = _computed("feature_importance", locals())
    return found


def estimate_cost(
    estimator: Any, X: Any, features: Any = None, *, verb: str = "effects", **options: Any
) -> Estimate:
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
    Estimate
        With ``passes``, ``seconds``, ``memory``, ``evaluator`` and more; printed, it says them in words.

    See Also
    --------
    Explainer.estimate_cost : For several statistics in shared passes.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(1_000, 3))
    >>> estimate = paribus.estimate_cost(lambda X: X[:, 0] * X[:, 1], X)
    >>> estimate.evaluator, estimate.passes, estimate.points
    ('brute', 1, 300)
    """
    shared = inspect.signature(Explainer).parameters
    own = {name: value for name, value in options.items() if name not in shared}
    explainer = Explainer(estimator, X, **{name: options[name] for name in options if name in shared})
    return explainer.estimate_cost((verb, {"features": features, **own}))


def _computed(verb: str, arguments: dict[str, Any]) -> Any:
    """Divide the arguments of a function between `Explainer` and its method."""
    method = getattr(Explainer, verb)
    own = inspect.signature(method).parameters.keys() - {"self"}
    explainer = Explainer(**{name: value for name, value in arguments.items() if name not in own})
    return getattr(explainer, verb)(**{name: arguments[name] for name in own})

"""Functions about the whole model: interactions, importance, regions and explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paribus._api.explainer import Explainer
from paribus._typing import (
    GridResolution,
    ImportanceKind,
    LossName,
    Method,
    ResponseMethod,
)
from paribus.errors import OptionError

if TYPE_CHECKING:
    from paribus.results import (
        Explanation,
        HStatistics,
        Importance,
        Regions,
    )


def h_statistic(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    overall: bool = True,
    threeway: int = 0,
    method: Method = "auto",
    subsample: int | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
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

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> H = paribus.h_statistic(model, X, ["bmi", "s5", "bp"])
    >>> len(H.strongest(3)), bool(0 < H["bmi", "s5"].h_squared < 1)
    (3, True)

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence or mapping, optional
        Names or positions of the features, or a boolean mask; all columns by default. A mapping groups
        columns, as for `effects`.
    y : array of shape (n,) or (n, n_outputs), or str or list of str, optional
        The target of held-out rows, for ``p_values``: a test that y has no interaction of a feature with all
        others, whatever those of the model.
    sample_weight, by, units
        As for `partial_dependence`.
    response_method
        As for `partial_dependence`. A model that is additive on the margin scale has interactions on the
        probability scale; ``response_method="decision_function"`` explains the margin.
    overall : bool
        Whether to compute each feature's interaction with all others, and the total.
    threeway : int
        Number of features, those with the strongest interactions, whose triples are computed.
    method : {"auto", "exact", "brute"}
        ``"exact"`` requires an exact shortcut, ``"brute"`` brute force.
    subsample : int, None or "auto"
        Number of rows, sampled without replacement; None for all. ``"auto"`` means all rows for sums of
        trees, and 500 where rows are crossed with each other; see Notes.
    random_state : int or numpy Generator, optional
        Seed of the subsample; None means 0, so that results are reproducible.
    n_jobs, progress
        As for `partial_dependence`. Other options of the run are arguments of `Explainer`.

    Returns
    -------
    HStatistics
        With ``feature_pairs``, ``h_squared_pairwise``, ``numerator_pairwise``, ``denominator_pairwise``,
        ``standard_error_h_squared_pairwise``, the same for ``overall``, ``total`` and ``threeway``,
        ``p_values`` and `strongest`; ``H["age", "income"]`` is the `Interaction` of one pair.

    See Also
    --------
    feature_importance : Importance of each feature.

    Notes
    -----
    Compare pairs by their strength, the square root of the numerator, which is in units of the prediction. H²
    divides by the joint effect, so that two features with negligible effects can have any H².

    Standard errors treat the rows, or their units, as a random sample, both as points where the effects are
    evaluated and as the background data. ``p_values`` need a single model and the scale of y; otherwise they
    are None. They hold if features are nearly independent.

    Brute force takes n² predictions per pair, and probabilities of boosted trees n² margins. Both use 500
    rows by default. The provenance, the repr and the plots report the number of rows.

    Examples
    --------
    >>> import numpy as np
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
        y=y,
        sample_weight=sample_weight,
        response_method=response_method,
        by=by,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.h_statistic(
        features,
        overall=overall,
        threeway=threeway,
        method=method,
        subsample=subsample,
        random_state=random_state,
    )


def feature_importance(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    kind: ImportanceKind = "effect",
    loss: LossName | None = None,
    n_repeats: int = 5,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Importance:
    r"""Compute the importance of features: by effect, by permutation, or as recorded by the model.

    By **effect**, the standard deviation of the partial dependence over the data, and the root mean square
    change of the prediction when the feature is averaged out, interactions included:

    .. math:: \langle F_j^2 \rangle^{1/2} \qquad \langle (F - F_{\setminus j})^2 \rangle^{1/2}

    both in units of the prediction; no ``y`` is needed. The first is `PartialDependence.strength`. By
    **permutation**, the increase of the loss when the values of a feature, or of several jointly, are
    permuted among the rows. By the **model**, its record of the fit (impurity, gain or similar), normalized
    to sum to one.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> importance = paribus.feature_importance(model, X, ["bmi", "sex", "age"])
    >>> importance.feature_names[importance.order[0]]
    'bmi'

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`. By permutation, and by the model, X must be in memory.
    features : sequence or mapping, optional
        Names or positions; all columns by default. For permutation also tuples, whose columns are permuted
        jointly. A mapping groups columns, as for `effects`.
    y : array of shape (n,), or str, optional
        The target, or the name of its column in X; for permutation only.
    sample_weight, response_method, by, units
        As for `partial_dependence`.
    kind : {"effect", "permutation", "model"}
        Definition of importance. A list of models has the mean of theirs; ``"model"`` requires a single
        model.
    loss : {"squared_error", "absolute_error", "poisson", "gamma", "log_loss", "error_rate"}, optional
        For permutation: the loss of predictions; ``"poisson"`` and ``"gamma"`` are deviances. Squared error
        of a regressor and log loss of a classifier by default.
    n_repeats : int
        Number of permutations of a feature.
    subsample : int, None or "auto"
        Number of rows; None for all. ``"auto"``: all rows for effects, 500 for interactions where rows are
        crossed with each other. An explicit number is crossed.
    random_state : int or numpy Generator, optional
        Seed of the subsample and of the permutations; None means 0, so that results are reproducible.
    n_jobs, progress
        As for `partial_dependence`. Other options of the run are arguments of `Explainer`.

    Returns
    -------
    Importance
        With ``values``, ``standard_error``, ``to_frame()`` and ``plot()``.

    See Also
    --------
    h_statistic : Strength of interactions.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> predict = lambda X: 3 * X[:, 0] + X[:, 1]
    >>> paribus.feature_importance(predict, X).order
    [0, 1, 2]
    >>> options = {"kind": "permutation", "features": [(0, 1), 2]}
    >>> paribus.feature_importance(predict, X, y=predict(X), **options).feature_names
    ('x0 + x1', 'x2')
    """
    if kind == "model" and y is not None:
        raise OptionError("y has no meaning for kind='model'; leave it out")
    explainer = Explainer(
        estimator,
        X,
        y=y,
        sample_weight=sample_weight,
        response_method=response_method,
        by=by,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.feature_importance(
        features,
        kind=kind,
        loss=loss,
        n_repeats=n_repeats,
        subsample=subsample,
        random_state=random_state,
    )


def regions(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    max_depth: int = 2,
    min_gain: float = 0.2,
    categorical_features: Any = None,
    response_method: ResponseMethod = "auto",
    units: Any = None,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Regions:
    r"""Find regions of the data in which the individual curves of a feature are alike.

    An average curve represents all rows only if their individual curves are parallel. Otherwise a few splits
    by other features may separate rows whose curves differ. With :math:`c_i(x)` the individual curve of row
    i, centered to mean zero over the data, and :math:`p_x` the share of the data near grid point x, the
    heterogeneity of a set R of rows is

    .. math:: L(R) = \sum_{i \in R} w_i \sum_x p_x (c_i(x) - \bar c_R(x))^2

    The best split of R into A and B has the largest gain :math:`L(R) - L(A) - L(B)`. It is selected on one
    half of the rows, by a fixed hash of the row number. The other half measures its gain and the standard
    error. A split is kept if the measured gain is at least ``min_gain`` of :math:`L(R)`, exceeds two standard
    errors, and is at least 1 % of the variance of the prediction. No split is a valid result.

    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(2_000, 3))
    >>> model = lambda X: np.where(X[:, 1] > 0.5, 1, -1) * X[:, 0] + X[:, 2]
    >>> found = paribus.regions(model, X, [0], progress=False)
    >>> [region.text for region in found["x0"].regions]
    ['x1 <= 0.5082', 'x1 > 0.5082']

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`; a single model.
    features : str, int or sequence of them, optional
        Names or positions of features. By default the five whose individual curves differ most.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows, used in all sums. For out-of-core data the name of a column.
    categorical_features, response_method, units
        As for `partial_dependence`.
    max_depth : int
        Maximum number of splits that lead to a region.
    min_gain : float
        Least gain of a split, as a share of the heterogeneity of the rows that it splits.
    subsample : int, None or "auto"
        Number of rows, sampled without replacement; None for all. ``"auto"`` means all rows if the structure
        of the model is read, and else 4,000.
    random_state : int or numpy Generator, optional
        Seed of the subsample; None means 0, so that results are reproducible.
    n_jobs, progress
        As for `partial_dependence`. Other options of the run are arguments of `Explainer`.

    Returns
    -------
    Regions
        A mapping from the name of a feature to `FeatureRegions`, most heterogeneous first. Each has
        ``splits``, ``regions``, ``heterogeneity``, ``heterogeneity_within``, notes and provenance.

    See Also
    --------
    h_statistic : Strength of interactions, which make individual curves differ.

    Notes
    -----
    Rows are split by features that interact with the feature: in a sum of trees, those that share a path
    with it. A sum of terms has none; for other models all other features are tried. Numbers and dates are
    split at up to 64 observed values, by ``x <= threshold``. Of up to eight categories every subset is
    tried. More are put in the order of the first principal direction of their average curves. Missing values
    are tried on both sides. Each side has at least 20 rows of each half. With several outputs, heterogeneity
    and variance are sums over outputs.

    Splits are searched in at most 20,000 rows in memory, the first in the order of a hash of their number and
    ``random_state``. Curves of regions are averages over all rows. Of a numeric feature or date, curves are
    compared at the edges of 20 bins.

    Examples
    --------
    >>> print(found["x0"].splits[0].feature)
    x1
    """
    explainer = Explainer(
        estimator,
        X,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        response_method=response_method,
        units=units,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.regions(
        features,
        max_depth=max_depth,
        min_gain=min_gain,
        subsample=subsample,
        random_state=random_state,
    )


def explain(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    features: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    response_method: ResponseMethod = "auto",
    by: Any = None,
    units: Any = None,
    target_names: Any = None,
    monotone: Any = None,
    percentiles: tuple[float, float] | None = None,
    grid_resolution: GridResolution = 50,
    interactions: bool = True,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Explanation:
    """Explain a model: every statistic of every feature, in shared passes over the rows.

    Partial dependence with the quantiles 0.1, 0.5 and 0.9 of the individual curves (none for a list of
    models), accumulated local effects, averages over the rows near each value, importance by effect,
    H-statistics of all pairs, and surfaces of the ten strongest pairs. Each equals the result of the function
    of that name with the same arguments.

    >>> import paribus
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> explanation = paribus.explain(model, X, y)
    >>> sorted(explanation.feature_names[:2])
    ['bmi', 's5']

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    y : array of shape (n,) or (n, n_outputs), or str or list of str, optional
        The target of held-out rows, or the name of its column in X, for observed averages, performance and
        tests of interactions; as for `marginal`.
    features : list of str or int, or mapping, optional
        Features to explain; all by default. A mapping groups columns, as for `effects`:
        ``{"city": ["city_A", "city_B"], "age": "age"}``.
    sample_weight, categorical_features, response_method, by, units
        As for `partial_dependence`.
    target_names : sequence of str, optional
        Names of the outputs.
    monotone : mapping, optional
        Required directions by feature: 1 or ``"rising"``, -1 or ``"falling"``. Other features are compared
        with their prevailing direction.
    percentiles : (float, float) or None
        Quantiles between which the points of curves are evenly spaced. None: the whole range of the data.
    grid_resolution : int or "splits"
        Maximum number of points of curves and averages.
    interactions : bool
        Whether to compute H-statistics and surfaces, which take most of the time where the model itself is
        evaluated; see Notes.
    subsample : int, "auto" or None
        Number of rows to use, None for every row. ``"auto"`` means every row of a model that is read, and
        1,000 of one that has to be called; see Notes.
    random_state : int, Generator, RandomState or None
        Seed of the subsample; None means 0.
    n_jobs, progress
        As for `partial_dependence`. Other options of the run are arguments of `Explainer`.

    Returns
    -------
    Explanation
        Its repr is a table with a row for each feature.

    See Also
    --------
    Explainer.run : Some statistics, each with separate arguments.

    Notes
    -----
    Out-of-core rows are read three times: for a survey, for most statistics, and for those that depend on the
    first ones.

    Rows that are crossed with each other, for H-statistics, are 64 to 500 of these rows: as many as take
    about two million predictions of a model that is called. Pairs are then limited to the 40 features that
    interact most with all others, with a note; `h_statistic` evaluates all pairs. Trees off their margin
    scale are crossed as well, without predictions.

    Examples
    --------
    >>> import numpy as np
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
        response_method=response_method,
        by=by,
        units=units,
        target_names=target_names,
        n_jobs=n_jobs,
        progress=progress,
    )
    return explainer.explain(
        features,
        monotone=monotone,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        interactions=interactions,
        subsample=subsample,
        random_state=random_state,
    )

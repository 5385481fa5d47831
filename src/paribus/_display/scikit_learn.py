"""scikit-learn's display of partial dependence, with values computed by paribus."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Sized
from inspect import signature
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from sklearn import inspection  # type: ignore[import-untyped]
from sklearn.utils import Bunch  # type: ignore[import-untyped]

from paribus._api.explainer import Explainer
from paribus._contracts import NOMINAL, Array
from paribus._data.features import Header, resolve, values_by_position
from paribus._display.text_width import printable
from paribus._typing import ResponseMethod
from paribus.errors import FeatureError, OptionError
from paribus.results import PartialDependence

__all__ = ["PartialDependenceDisplay"]

KINDS = ("average", "individual", "both")


class PartialDependenceDisplay(inspection.PartialDependenceDisplay):  # type: ignore[misc]
    """Partial dependence and individual curves, drawn by scikit-learn from values of paribus.

    A subclass of `sklearn.inspection.PartialDependenceDisplay` with the same arguments, attributes and
    ``plot``. Make one with `from_estimator`.

    Attributes
    ----------
    pd_results : list of Bunch
        ``grid_values``, ``average`` and ``individual`` of each panel, as
        `sklearn.inspection.partial_dependence` returns them, and ``support``.
    effects_ : list of PartialDependence
        The same as results of paribus: with standard errors, the effect at missing, notes and provenance.

    See Also
    --------
    paribus.effects : Results with richer plots: missing values, pairs of a number and a category, individual
        curves of categories.

    Notes
    -----
    Values differ from scikit-learn as described for ``method`` of `from_estimator`. Categories of text are in
    alphabetical order as there, but those of a categorical column in its declared order. A missing value is
    not a point of the axis but in ``effects_``.
    """

    effects_: list[PartialDependence]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Any,
        *,
        sample_weight: Any = None,
        categorical_features: Any = None,
        feature_names: Any = None,
        target: Any = None,
        response_method: ResponseMethod = "auto",
        grid_resolution: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        custom_values: Mapping[Any, Any] | None = None,
        method: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        ax: Any = None,
        kind: str | Sequence[str] = "average",
        subsample: float | None = 1000,
        random_state: Any = None,
        **drawing: Any,
    ) -> PartialDependenceDisplay:
        """Compute and draw partial dependence and individual curves, one panel per entry of ``features``.

        Parameters
        ----------
        estimator, X, sample_weight, categorical_features, percentiles, grid_resolution, n_jobs
            As for `paribus.partial_dependence`. Of an array with more columns than the model was fitted on,
            the first are used, with a warning.
        feature_names : sequence of str, optional
            Names of the columns of an array.
        features : list of str, int or pairs of them
            One panel each. Two numbers are drawn as contours, two categories as a heat map.
        target : label, int or str, optional
            Which of several outputs is drawn: a class by its label, an output of a regression by its
            position or name.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}
            Prediction method. ``"auto"`` is the probability of a class where there is one, whatever the
            method; only with ``method="recursion"`` it is the decision function, as in scikit-learn.
        custom_values : mapping, optional
            Values to evaluate instead, keyed by the name or position of a feature.
        method : {"auto", "brute", "recursion", "exact"}
            ``"auto"`` is always the average prediction over the rows of ``X``, unlike in scikit-learn, where
            it means ``"recursion"`` for some trees; see Notes.
        verbose : int
            More than 0 shows a bar that counts rows; otherwise one is shown if more than two seconds are
            expected.
        ax : matplotlib Axes or array of them, optional
            A single one is divided into panels; several are drawn into, such as the ``axes_`` of another
            display.
        kind : {"average", "individual", "both"} or a list of them
            The average, each row's own curve, or both, for all panels or for each. Pairs and categories have
            an average only.
        subsample : float, int or None
            How many of the individual curves are drawn, as a number or a share of the rows. The average is
            that of all rows.
        random_state : int, RandomState or None
            Seed of the subsample.
        **drawing
            ``n_cols``, ``line_kw``, ``ice_lines_kw``, ``pd_line_kw``, ``contour_kw``, ``centered`` as in
            scikit-learn, and the other options of its ``plot``.

        Returns
        -------
        PartialDependenceDisplay

        Notes
        -----
        Recursion averages along the paths of the training data, and for a classifier the decision function
        instead of the probability. Here it includes the baseline of a gradient boosting (``init``), which
        scikit-learn leaves out: the curves differ by a constant.

        Examples
        --------
        >>> import numpy as np
        >>> from paribus import PartialDependenceDisplay
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> display = PartialDependenceDisplay.from_estimator(lambda X: X[:, 0] * X[:, 1], X, [0, (0, 1)])
        >>> display.lines_[0, 0].get_xdata().shape
        (50,)
        """
        kinds = kinds_of(kind, features)
        check_subsample(subsample)
        signature(cls.plot).bind(None, ax=ax, **drawing)  # before anything is computed for them
        # Recursion averages sums of leaves, which probabilities are not.
        sums = method == "recursion" and response_method == "auto" and hasattr(estimator, "decision_function")
        explainer = Explainer(
            estimator,
            X if method == "brute" else fitted_columns(estimator, X),
            sample_weight=sample_weight,
            categorical_features=categorical_features,
            feature_names=feature_names,
            response_method="decision_function" if sums else response_method,
            n_jobs=n_jobs,
            progress=True if verbose else None,
        )
        groups = groups_of(features, kinds, explainer.header)
        options = {"percentiles": percentiles, "grid_resolution": grid_resolution, "method": method}
        effects = effects_of(explainer, groups, kinds, custom_values, **options)
        check_categories(effects, kinds)
        deciles: dict[int, Array] = {}
        for group, effect in zip(groups, effects, strict=True):
            for j, deciles_of_feature in zip(group, effect.deciles, strict=True):
                if deciles_of_feature is not None:
                    deciles[j] = deciles_of_feature[1:-1]
        display = cls(
            [bunch_of(effect) for effect in effects],
            features=groups,
            feature_names=[_escaped(name) for name in explainer.header.names],
            target_idx=output_of(estimator, target, effects[0].output_names),
            deciles=deciles,
            kind=kind,
            subsample=subsample,
            random_state=random_state,
            is_categorical=[tuple(kind in NOMINAL for kind in effect.kinds) for effect in effects],
        )
        display.effects_ = effects
        display.plot(ax=ax, **drawing)
        return display


Columns: TypeAlias = tuple[int, ...]


def kinds_of(kind: Any, features: Any) -> list[Any]:
    """Return what is drawn of each entry of ``features``."""
    if isinstance(features, str) or not isinstance(features, Sized) or not len(features):
        raise FeatureError(f"features={features!r} must be a list with an entry for each panel")
    if not isinstance(kind, (str, list, tuple)) or not all(isinstance(entry, str) for entry in kind):
        raise OptionError(f"kind={kind!r} must be one of {KINDS}, or a list of them")
    kinds = [kind] * len(features) if isinstance(kind, str) else list(kind)
    if len(kinds) != len(features):
        raise OptionError(f"kind={kind!r} must have as many entries as features={features!r}")
    return kinds


def groups_of(features: Any, kinds: list[Any], header: Header) -> list[Columns]:
    """Return the columns of each panel."""
    groups = [resolve(entry, header) for entry in features]
    if any(len(group) > 2 for group in groups):
        raise FeatureError(f"features={features!r}: no more than pairs are drawn; see paribus.effects")
    possible = ["average" if len(group) == 2 else kind for group, kind in zip(groups, kinds, strict=True)]
    if possible != kinds:
        raise OptionError(f"kind={kinds!r}: pairs of features have an average only; pass kind={possible!r}")
    return groups


def check_subsample(subsample: Any) -> None:
    """Refuse a subsample that is neither a number nor a share of rows."""
    most = np.inf if isinstance(subsample, (int, np.integer)) else 1
    if subsample is not None and (not isinstance(subsample, Real) or not 0 < float(subsample) < most):
        raise OptionError(
            f"subsample={subsample!r} must be a number of rows, a share of them, or None for all"
        )


def fitted_columns(estimator: Any, X: Any) -> Any:
    """Return as many columns of an array as trees of scikit-learn were fitted on.

    scikit-learn's recursion does not show X to the model, so that one with columns to spare passes unnoticed:
    its guide draws a model of the four columns of iris with the ten of another table.
    """
    fitted = getattr(estimator, "n_features_in_", None)
    trees = type(estimator).__module__.startswith(("sklearn.ensemble.", "sklearn.tree."))
    if not trees or fitted is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] <= fitted:
        return X
    way_out = f"the first {fitted} are taken. Pass the table it was fitted on"
    warnings.warn(f"X has {X.shape[1]} columns and the model was fitted on {fitted}: {way_out}", stacklevel=3)
    return X[:, :fitted]


def output_of(estimator: Any, target: Any, outputs: tuple[str, ...]) -> int:
    """Return the output that is drawn: a class by its label, any other by its name or position."""
    if len(outputs) == 1:
        return 0
    classes = getattr(estimator, "classes_", ())
    labeled = len(classes) == len(outputs) and not any(map(np.ndim, classes))
    targets = np.asarray(classes).tolist() if labeled else [*outputs, *range(len(outputs))]
    if target not in targets:
        shown = ", ".join(map(repr, targets[:12])) + (", ..." if len(targets) > 12 else "")
        raise OptionError(f"target={target!r} must be one of the outputs of the model: {shown}")
    return int(targets.index(target)) % len(outputs)


def effects_of(
    explainer: Explainer, groups: list[Columns], kinds: list[Any], custom_values: Any, **options: Any
) -> list[PartialDependence]:
    """Compute the effect of each panel: all that are of one kind in one pass over the rows."""
    names = explainer.header.names
    given = values_by_position(custom_values, explainer.header, {j for group in groups for j in group})
    by_panel: dict[tuple[str, Columns], PartialDependence] = {}
    for kind in dict.fromkeys(kinds):
        groups_of_kind = [group for group, wanted in zip(groups, kinds, strict=True) if wanted == kind]
        keys = [tuple(names[j] for j in group) for group in groups_of_kind]
        values = {names[j]: given[j] for j in given if any(j in group for group in groups_of_kind)}
        effects = explainer.effects(keys, kind=kind, custom_values=values, **options)
        for group, key in zip(groups_of_kind, keys, strict=True):
            by_panel[kind, group] = effects[key if len(key) == 2 else key[0]]
    return [by_panel[panel] for panel in zip(kinds, groups, strict=True)]


def bunch_of(effect: PartialDependence) -> Bunch:
    """Return an effect as scikit-learn's ``partial_dependence`` does: text in the order of the alphabet."""
    parts = {key: effect[key] for key in ("average", "individual", "support") if key in effect}
    grid = list(effect.grid_values)
    for axis, (kind, ordered) in enumerate(zip(effect.kinds, effect.ordered, strict=True)):
        if kind == "string" and not ordered:
            places = np.argsort(grid[axis].astype(str), kind="stable")
            grid[axis] = grid[axis][places]
            parts = {key: part.take(places, axis - len(grid)) for key, part in parts.items()}
        if kind in NOMINAL and grid[axis].dtype == object:
            grid[axis] = np.array([_escaped(str(value)) for value in grid[axis]], dtype=object)
    return Bunch(grid_values=grid, **parts)


def check_categories(effects: list[PartialDependence], kinds: list[Any]) -> None:
    """Refuse panels that scikit-learn does not draw: mixed pairs, and individual curves of categories."""
    for effect, kind in zip(effects, kinds, strict=True):
        nominal = [kind_of_feature in NOMINAL for kind_of_feature in effect.kinds]
        if any(nominal) and kind != "average":
            raise OptionError(
                f"kind={kind!r}: scikit-learn does not draw individual curves of categories such as "
                f"{effect.feature_names[0]!r}; paribus.effects(..., kind={kind!r}).plot() does"
            )
        if any(nominal) and not all(nominal):
            raise FeatureError(
                f"features={effect.feature_names!r}: scikit-learn does not draw a pair of a number and a "
                "category; paribus.effects(...).plot() does"
            )


def _escaped(name: str) -> str:
    """Return a name that matplotlib does not read as a formula."""
    return printable(name).replace("$", r"\$")

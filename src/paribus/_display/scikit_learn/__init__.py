"""scikit-learn's own display, fed with our results: a notebook that has one changes its import.

The curves come from one pass of paribus, the drawing from the public interface of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import inspection  # type: ignore[import-untyped]

from paribus._api import Explainer
from paribus._contracts import NOMINAL, Array
from paribus._display.scikit_learn.computed import (
    bunch_of,
    check_subsample,
    effects_of,
    fitted_columns,
    groups_of,
    kinds_of,
    output_of,
)
from paribus._display.scikit_learn.panels import draw, is_surface, limits_of, panel_of
from paribus._display.text_width import text_width
from paribus._typing import ResponseMethod
from paribus.errors import OptionError
from paribus.results import PartialDependence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PartialDependenceDisplay"]

ARTISTS = ("contours_", "bars_", "heatmaps_", "deciles_vlines_", "deciles_hlines_", "category_lines_")
BESIDE = 3.0  # em that a legend or a color bar takes besides its names
PANEL = (3.2, 2.9)  # inches that a panel needs besides names of categories


class PartialDependenceDisplay(inspection.PartialDependenceDisplay):  # type: ignore[misc]
    """Partial dependence and individual curves, drawn by scikit-learn's display from paribus' numbers.

    A subclass of `sklearn.inspection.PartialDependenceDisplay` with the same arguments and attributes, which
    uses nothing private of it. Make one with `from_estimator`, and draw it again with `plot`.

    Attributes
    ----------
    axes_, lines_, contours_, bars_, heatmaps_, deciles_vlines_, deciles_hlines_, figure_, bounding_ax_
        As scikit-learn has them. Where any panel has individual curves, the average of a panel is the last of
        its ``lines_``, that of a category too: it has no ``bars_`` among its individual curves.
    category_lines_ : ndarray of the shape of ``axes_``
        For a pair of a number and a category, a tuple of lines, one for each category; None elsewhere.
    pd_results : list of Bunch
        ``grid_values``, ``average`` and ``individual`` of each panel, as
        `sklearn.inspection.partial_dependence` returns them, and ``support``.
    effects_ : list of PartialDependence
        The same as results of paribus: with standard errors, the effect at missing, notes and provenance. Of
        displays made by `from_estimator`.

    See Also
    --------
    paribus.effects : The numbers alone; its results have richer pictures of their own.

    Notes
    -----
    What differs from scikit-learn 1.9, besides the numbers (see ``method`` of `from_estimator`): categories
    of text are in the order of the alphabet as there, but those of a category in its declared order, and all
    by their names; a missing value is no point of the axis but in ``effects_``; two-way panels have deciles
    of both features; a panel of averages beside panels of individual curves has its line among its own
    ``lines_``; the average among individual curves is orange; what is drawn into used axes hides nothing that
    was there; and a figure that is made here is as large as its panels need.
    """

    category_lines_: Array
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
        estimator, X, sample_weight, categorical_features, feature_names, percentiles, grid_resolution, \
n_jobs
            As for `paribus.partial_dependence`: any fitted model or callable, any table, integers too.
            Text, categories and booleans are categories without being named in ``categorical_features``. The
            percentiles are interpolated linearly, and integers are evaluated at whole points. Of an array
            with more columns than the model was fitted on, the first are taken, with a warning.
        features : list of str, int or pairs of them
            One panel each. Two numbers are drawn as contours, two categories as a heat map, and a number
            with a category as one line per category.
        target : label, int or str, optional
            Which output is drawn where there are several: a class by its label, an output of a regression by
            its position, or any by its name.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}
            What the model predicts. ``"auto"`` is the probability of a class where there is one, whatever the
            method; only with ``method="recursion"`` it is the decision function, as in scikit-learn.
        custom_values : mapping, optional
            Values to evaluate instead, keyed by the name or position of a feature.
        method : {"auto", "brute", "recursion", "exact"}
            ``"auto"`` always is the average prediction over the rows of ``X``, read off the trees where that
            is faster. scikit-learn's ``"auto"`` is that too for most models, but for some trees it means
            ``"recursion"``: averages along the paths of the training data, and of a classifier the decision
            function instead of the probability. Requested by name, recursion is that here too, but with the
            baseline of a gradient boosting (``init``), which scikit-learn leaves out: the curves differ by a
            constant.
        verbose : int
            More than 0 shows a bar that counts rows; otherwise one is shown if more than two seconds are
            expected.
        ax : matplotlib Axes or array of them, optional
            A single one is divided into panels; several are drawn into, such as the ``axes_`` of another
            display.
        kind : {"average", "individual", "both"} or a list of them
            The average, each row's own curve, or both, for all panels or for each. Pairs have an average
            only.
        subsample : float, int or None
            How many of the individual curves are drawn, as a number or a share of the rows. The average is
            that of all rows.
        random_state : int, RandomState or None
            Decides which of them.
        **drawing
            ``n_cols``, ``line_kw``, ``ice_lines_kw``, ``pd_line_kw``, ``contour_kw``, ``centered`` as in
            scikit-learn, and the other options of `plot`.

        Returns
        -------
        PartialDependenceDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from paribus._display.scikit_learn import PartialDependenceDisplay
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> display = PartialDependenceDisplay.from_estimator(lambda X: X[:, 0] * X[:, 1], X, [0, (0, 1)])
        >>> display.lines_[0, 0].get_xdata().shape
        (50,)
        """
        kinds = kinds_of(kind, features)
        _check_axes(ax, len(kinds))
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
        deciles: dict[int, Array] = {}
        for group, effect in zip(groups, effects, strict=True):
            deciles |= {j: own[1:-1] for j, own in zip(group, effect.deciles, strict=True) if own is not None}
        display = cls(
            [bunch_of(effect) for effect in effects],
            features=groups,
            feature_names=list(explainer.header.names),
            target_idx=output_of(estimator, target, effects[0].output_names),
            deciles=deciles,
            kind=kind,
            subsample=subsample,
            random_state=random_state,
            is_categorical=[tuple(kind in NOMINAL for kind in effect.kinds) for effect in effects],
        )
        display.effects_ = effects
        return display.plot(ax=ax, **drawing)

    def plot(
        self,
        *,
        ax: Any = None,
        n_cols: int = 3,
        line_kw: dict[str, Any] | None = None,
        ice_lines_kw: dict[str, Any] | None = None,
        pd_line_kw: dict[str, Any] | None = None,
        contour_kw: dict[str, Any] | None = None,
        bar_kw: dict[str, Any] | None = None,
        heatmap_kw: dict[str, Any] | None = None,
        pdp_lim: dict[int, tuple[float, float]] | None = None,
        centered: bool = False,
    ) -> PartialDependenceDisplay:
        """Draw the panels, again if need be and with other options.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            As for `from_estimator`. Without it the figure is as large as its panels need.
        n_cols : int
            Most panels beside each other where ``ax`` is None or a single Axes.
        line_kw, ice_lines_kw, pd_line_kw, contour_kw : dict, optional
            Keywords of the lines, of individual curves, of averages, and of contours.
        bar_kw, heatmap_kw : dict, optional
            Keywords of the bars of a category and of the heat map of two.
        pdp_lim : dict, optional
            Lowest and highest value drawn, of curves under 1 and of surfaces under 2; those of all panels by
            default.
        centered : bool
            Draw curves relative to their first point; surfaces to the first value of their first feature.

        Returns
        -------
        PartialDependenceDisplay
            Itself.
        """
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        _check_axes(ax, len(self.features))
        panels = [panel_of(self, number, centered) for number in range(len(self.features))]
        ax = _new_axes(panels, n_cols) if ax is None else ax
        self.bounding_ax_ = None if np.ndim(ax) else ax
        self.axes_ = np.asarray(ax, dtype=object) if np.ndim(ax) else _divided(ax, len(panels), n_cols)
        axes = [own for own in self.axes_.flat if own is not None]
        self.figure_ = axes[0].figure
        options = {
            "line_kw": normalize_kwargs(line_kw or {}, Line2D),
            "ice_lines_kw": ice_lines_kw,
            "pd_line_kw": normalize_kwargs(pd_line_kw or {}, Line2D),
            "contour_kw": contour_kw,
            "bar_kw": normalize_kwargs(bar_kw or {}, Patch),
            "heatmap_kw": heatmap_kw,
            "pdp_lim": {**limits_of(panels, axes), **(pdp_lim or {})},
        }
        self._draw(panels, options)
        return self

    def _draw(self, panels: list[inspection.PartialDependenceDisplay], options: dict[str, Any]) -> None:
        """Draw each panel and keep what was drawn at its place; an average is the last of several lines."""
        places = [place for place, axes in enumerate(self.axes_.flat) if axes is not None]
        columns = self.axes_.shape[1] if self.axes_.ndim == 2 else 1
        for name in ARTISTS:
            setattr(self, name, np.full(self.axes_.shape, None, dtype=object))
        for place, panel, left in zip(places, panels, [None, *panels], strict=False):
            axes = self.axes_.flat[place]
            label = axes.get_ylabel()
            draw(panel, axes, **options)
            if place % columns and not is_surface(panel) and not is_surface(left):
                axes.set_ylabel(label)  # neighbors have their axis in common
                axes.tick_params(labelleft=False)
            for name in ARTISTS:
                getattr(self, name).flat[place] = getattr(panel, name, [None])[0]
        lines = np.full((self.axes_.size, max(np.size(panel.lines_) for panel in panels)), None, dtype=object)
        for place, panel in zip(places, panels, strict=True):
            own = slice(-1, None) if panel.kind == ["average"] else slice(np.size(panel.lines_))
            lines[place, own] = np.ravel(panel.lines_)
        one_line = all(panel.kind == ["average"] for panel in panels)
        self.lines_ = lines.reshape(self.axes_.shape if one_line else (*self.axes_.shape, -1))


def _check_axes(ax: Any, panels: int) -> None:
    """Refuse axes that cannot hold the panels, before anything is computed for them."""
    if not getattr(ax, "axison", True):
        raise OptionError(f"ax={ax!r} was divided by another display; pass ax=display.axes_ of that")
    if np.ndim(ax) and (given := sum(own is not None for own in np.ravel(ax))) != panels:  # without gaps
        raise OptionError(f"ax has {given} axes for {panels} panels; pass one for each entry of features")


def _divided(ax: Any, panels: int, n_cols: int) -> Array:
    """Return axes for the panels in the place of a single one."""
    columns = min(n_cols, panels)
    axes = np.full((ceil(panels / columns), columns), None, dtype=object)
    ax.set_axis_off()
    grid = ax.get_subplotspec().subgridspec(*axes.shape)
    axes.flat[:panels] = [ax.figure.add_subplot(grid[place]) for place in range(panels)]
    return axes


def _new_axes(panels: list[inspection.PartialDependenceDisplay], n_cols: int) -> Axes:
    """Return axes of a figure that is large enough for its panels and leaves room for their labels."""
    from matplotlib import pyplot

    columns = min(n_cols, len(panels))
    grids = [values for panel in panels for values in panel.pd_results[0]["grid_values"]]
    names = [name for values in grids for name in values if isinstance(name, str)]
    inches = (BESIDE + max(map(text_width, names))) * pyplot.rcParams["font.size"] / 72 if names else 0.0
    needed = columns * (PANEL[0] + inches), ceil(len(panels) / columns) * (PANEL[1] + inches)
    size = np.maximum(pyplot.rcParams["figure.figsize"], needed)
    return pyplot.subplots(figsize=size, layout="constrained")[1]

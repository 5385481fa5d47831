"""The class that a notebook imports instead of scikit-learn's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._api import Explainer
from paribus._contracts import Array
from paribus._display.scikit_learn.arguments import (
    check_axes,
    check_subsample,
    groups_of,
    kinds_of,
    output_of,
    own_columns,
    response_of,
    value_errors,
)
from paribus._display.scikit_learn.category_ticks import longest, names_of, write_names
from paribus._display.scikit_learn.computed import ComputedEffect, effects_of
from paribus._display.scikit_learn.drawing import Drawing
from paribus._display.scikit_learn.panels import Panels
from paribus.results import PartialDependence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = (3.2, 2.9)  # inches that a panel needs at least
LETTER = 0.075  # inches of a letter of a category
BESIDE = 0.6  # inches of a legend or a color bar besides its letters


class PartialDependenceDisplay(Panels):
    """Partial dependence and individual curves, drawn by scikit-learn's display from paribus' numbers.

    A subclass of `sklearn.inspection.PartialDependenceDisplay` with the same signatures and attributes. Make
    one with `from_estimator`, and draw it again with `plot`.

    Attributes
    ----------
    axes_, lines_, contours_, bars_, heatmaps_, deciles_vlines_, deciles_hlines_, figure_, bounding_ax_
        As scikit-learn has them. Where any panel has individual curves, the average of a panel is the last of
        its ``lines_``, that of a category too: it has no ``bars_`` among its individual curves.
    level_lines_ : ndarray of the shape of ``axes_``
        For a pair of a number and a category, a tuple of lines, one for each category; None elsewhere.
    pd_results : list of Bunch
        ``grid_values``, ``average`` and ``individual`` of each panel, as
        `sklearn.inspection.partial_dependence` returns them. A pair of a category and a number has the
        number first, here and in ``features``, because that is the axis it is drawn along.
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

    level_lines_: Array
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
        response_method: str = "auto",
        n_cols: int = 3,
        grid_resolution: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        custom_values: Mapping[Any, Any] | None = None,
        method: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        line_kw: dict[str, Any] | None = None,
        ice_lines_kw: dict[str, Any] | None = None,
        pd_line_kw: dict[str, Any] | None = None,
        contour_kw: dict[str, Any] | None = None,
        ax: Any = None,
        kind: str | Sequence[str] = "average",
        centered: bool = False,
        subsample: float | None = 1000,
        random_state: Any = None,
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
        n_cols : int
            Most panels beside each other where ``ax`` is None or a single Axes.
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
        line_kw, ice_lines_kw, pd_line_kw, contour_kw : dict, optional
            Keywords of the lines, of individual curves, of averages, and of contours.
        ax : matplotlib Axes or array of them, optional
            A single one is divided into panels; several are drawn into, such as the ``axes_`` of another
            display.
        kind : {"average", "individual", "both"} or a list of them
            The average, each row's own curve, or both, for all panels or for each. Pairs have an average
            only.
        centered : bool
            Draw curves relative to their first point; surfaces to the first value of their first feature.
        subsample : float, int or None
            How many of the individual curves are drawn, as a number or a share of the rows. The average is
            that of all rows.
        random_state : int, RandomState or None
            Decides which of them.

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
        wanted = kinds_of(kind, features)
        check_axes(ax, len(wanted))
        check_subsample(subsample)
        X = X if method == "brute" else own_columns(estimator, X)
        with value_errors():
            explainer = Explainer(
                estimator,
                X,
                sample_weight=sample_weight,
                categorical_features=categorical_features,
                feature_names=feature_names,
                response_method=response_of(estimator, method, response_method),
                n_jobs=n_jobs,
                progress=True if verbose else None,
            )
            groups = groups_of(features, wanted, explainer.header)
            options = {"percentiles": percentiles, "grid_resolution": grid_resolution, "method": method}
            effects = effects_of(explainer, groups, wanted, custom_values, **options)
        panels = [ComputedEffect.of(group, effect) for group, effect in zip(groups, effects, strict=True)]
        display = cls(
            [panel.result for panel in panels],
            features=[panel.features for panel in panels],
            feature_names=list(explainer.header.names),
            target_idx=output_of(estimator, target, effects[0].output_names),
            deciles={feature: inner for panel in panels for feature, inner in panel.deciles.items()},
            kind=kind,
            subsample=subsample,
            random_state=random_state,
            is_categorical=[panel.levels for panel in panels],
        )
        display.effects_ = effects
        return display.plot(
            ax=ax,
            n_cols=n_cols,
            line_kw=line_kw,
            ice_lines_kw=ice_lines_kw,
            pd_line_kw=pd_line_kw,
            contour_kw=contour_kw,
            centered=centered,
        )

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
        ax, n_cols, line_kw, ice_lines_kw, pd_line_kw, contour_kw, centered
            As for `from_estimator`. Without ``ax`` the figure is as large as its panels need.
        bar_kw, heatmap_kw : dict, optional
            Keywords of the bars of a category and of the heat map of two.
        pdp_lim : dict, optional
            Lowest and highest value drawn, for single features under 1 and for pairs under 2; those of all
            panels by default.

        Returns
        -------
        PartialDependenceDisplay
            Itself.
        """
        check_axes(ax, len(self.features))
        if ax is None:
            ax = self._new_axes(n_cols)
        fixed = pdp_lim is not None
        self._drawing = drawing = Drawing.of(ax, fixed, line_kw, ice_lines_kw, pd_line_kw, bar_kw)
        super().plot(
            ax=drawing.axes,
            n_cols=n_cols,
            line_kw=line_kw,
            ice_lines_kw=ice_lines_kw,
            pd_line_kw=pd_line_kw,
            contour_kw=contour_kw,
            bar_kw=bar_kw,
            heatmap_kw=heatmap_kw,
            pdp_lim=pdp_lim,
            centered=centered,
        )
        for axes in self.axes_.flat:
            if axes is not None:
                write_names(axes, self.feature_names)
        drawing.keep_labels()
        self._share_height({} if fixed else drawing.heights)
        self.level_lines_ = np.empty_like(self.axes_, dtype=object)
        for number, lines in drawing.levels.items():
            self.level_lines_.flat[number] = lines
        return self

    def _new_axes(self, n_cols: int) -> Axes:
        """Return axes of a figure that is large enough for its panels and leaves room for their labels."""
        from matplotlib import pyplot

        columns = min(n_cols, len(self.features))
        rows = ceil(len(self.features) / columns)
        wide, high = pyplot.rcParams["figure.figsize"]
        below, beside = self._longest(1), self._longest(2)
        width = PANEL[0] + (BESIDE + LETTER * beside if beside else 0)
        height = PANEL[1] + LETTER * max(below, beside)
        size = max(wide, width * columns), max(high, height * rows)
        return pyplot.subplots(figsize=size, layout="constrained")[1]

    def _longest(self, size: int) -> int:
        """Return the letters of the longest category among features, or among pairs of them."""
        return longest(
            name
            for number, result in enumerate(self.pd_results)
            for levels, values in zip(self._levels(number), result["grid_values"], strict=True)
            if levels and len(self.features[number]) == size
            for name in names_of(values)
        )

    def _share_height(self, before: dict[Axes, tuple[float, float]]) -> None:
        """Draw all curves at one height, at which those that were there before are seen too."""
        curves = [
            axes
            for number, (axes, group) in enumerate(zip(self.axes_.flat, self.features, strict=False))
            if len(group) == 1 or number in self._drawing.levels
        ]
        ends = [ends for axes in curves for ends in (axes.get_ylim(), before.get(axes, axes.get_ylim()))]
        for axes in curves:
            axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))

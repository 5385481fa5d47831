"""scikit-learn's own display, fed with our results: a notebook that has one changes its import.

The curves come from one pass of paribus, the drawing from scikit-learn. What it refuses to draw, or draws
wrong, is drawn here: individual curves over levels, a line per level, the deciles of a second feature, dates.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn import inspection  # type: ignore[import-untyped]
from sklearn.utils import Bunch  # type: ignore[import-untyped]

from paribus.api.call import Call
from paribus.api.running import Running
from paribus.contracts import NOMINAL, Array
from paribus.data.features import by_position, resolve
from paribus.display.look import color_of, dash_of
from paribus.errors import FeatureError, InputError, ModelError, OptionError, RefusalError, one_of
from paribus.evaluators.ask import KINDS
from paribus.grid import GridOptions
from paribus.results import PartialDependence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

Columns: TypeAlias = tuple[int, ...]

PANEL = (3.2, 2.9)  # inches that a panel needs at least
LETTER = 0.075  # inches of a letter of a level
BESIDE = 0.6  # inches of a legend or a colour bar besides its letters
LONG = 40  # letters from which a figure grows no more
ROW = 0.19  # inches of a row of a legend
SHORT = 10  # letters of levels that stand in two columns of a legend within a panel
DURATIONS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}  # in seconds
EDGE = 0.07  # of a panel, in which the number on a contour would be cut off or stand on the deciles
NAMED = 10  # levels of a mixed pair that have a colour and a name; the others are drawn grey
TURNED = 18  # letters along the axis of levels that stand side by side; more of them are written upwards


class PartialDependenceDisplay(inspection.PartialDependenceDisplay):  # type: ignore[misc]
    """Partial dependence and individual curves, drawn by scikit-learn's display from paribus' numbers.

    A subclass of `sklearn.inspection.PartialDependenceDisplay` with the same signatures and attributes. Make
    one with `from_estimator`, and draw it again with `plot`.

    Attributes
    ----------
    axes_, lines_, contours_, bars_, heatmaps_, deciles_vlines_, deciles_hlines_, figure_, bounding_ax_
        As scikit-learn has them. Where any panel has individual curves, the average of a panel is the last of
        its ``lines_``, that of a category too: it has no ``bars_`` among its individual curves.
    level_lines_ : ndarray of the shape of ``axes_``
        For a pair of a number and a category, a tuple of lines, one for each level; None elsewhere.
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
    What differs from scikit-learn 1.9, besides the numbers (see ``method`` of `from_estimator`): levels of
    text are in the order of the alphabet as there, but those of a category in its declared order, and all
    by their names; a missing value is no point of the axis but in ``effects_``; two-way panels have deciles
    of both features; a panel of averages beside panels of individual curves has its line among its own
    ``lines_``; the average among individual curves is orange; what is drawn into used axes hides nothing
    that was there; and a figure that is made here is as large as its panels need.
    """

    lines_: Array
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
            As for `paribus.partial_dependence`: any fitted model or callable, any table, whole numbers too.
            Text, categories and booleans are levels without being named in ``categorical_features``. The
            percentiles are interpolated linearly, and whole numbers are asked at whole points. Of an array
            with more columns than the model was fitted on, the first are taken, with a warning.
        features : list of str, int or pairs of them
            One panel each. Two numbers are drawn as contours, two categories as a heat map, and a number
            with a category as one line per level.
        target : label, int or str, optional
            Which output is drawn where there are several: a class by its label, an output of a regression by
            its position, or any by its name.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}
            What the model answers. ``"auto"`` is the probability of a class where there is one, whatever the
            method; only with ``method="recursion"`` it is the decision function, as in scikit-learn.
        n_cols : int
            Most panels beside each other where ``ax`` is None or a single Axes.
        custom_values : mapping, optional
            Values to ask instead, keyed by the name or position of a feature.
        method : {"auto", "brute", "recursion", "exact"}
            ``"auto"`` always is the average prediction over the rows of ``X``, read off the trees where that
            is faster. scikit-learn's ``"auto"`` is that too for most models, but for some trees it means
            ``"recursion"``: averages along the paths of the training data, and of a classifier the decision
            function instead of the probability. Asked for by name, recursion is that here too, but with the
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
        >>> from paribus.display.scikit_learn import PartialDependenceDisplay
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> display = PartialDependenceDisplay.from_estimator(lambda X: X[:, 0] * X[:, 1], X, [0, (0, 1)])
        >>> display.lines_[0, 0].get_xdata().shape
        (50,)
        """
        wanted = _kinds(kind, features)
        _check_axes(ax, len(wanted))
        _check_subsample(subsample)
        X = X if method == "brute" else _own_columns(estimator, X)
        grid = GridOptions.of(percentiles, grid_resolution)
        running = Running.of(True if verbose else None, None, None)
        with _value_errors():
            call = Call.of(
                estimator, X, sample_weight, feature_names, grid, "average", False, "raise", running
            )
            groups = _groups(features, wanted, call.names)
            effects = _effects(
                call,
                groups,
                wanted,
                custom_values,
                categorical_features=categorical_features,
                response_method=_response(estimator, method, response_method),
                target_names=None,
                method=method,
                n_jobs=n_jobs,
                max_memory=None,
            )
        panels = [_Panel.of(group, effect) for group, effect in zip(groups, effects, strict=True)]
        display = cls(
            [panel.result for panel in panels],
            features=[panel.features for panel in panels],
            feature_names=list(call.names),
            target_idx=_output(estimator, target, effects[0].output_names),
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
        _check_axes(ax, len(self.features))
        if ax is None:
            ax = self._new_axes(n_cols)
        fixed = pdp_lim is not None
        self._drawing = drawing = _Drawing.of(ax, fixed, line_kw, ice_lines_kw, pd_line_kw, bar_kw)
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
        """Return the letters of the longest level among features, or among pairs of them."""
        letters = (
            len(name)
            for number, result in enumerate(self.pd_results)
            for levels, values in zip(self._levels(number), result["grid_values"], strict=True)
            if levels and len(self.features[number]) == size
            for name in _names_of(values)
        )
        return min(max(letters, default=0), LONG)

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

    def _levels(self, number: int) -> tuple[bool, ...]:
        """Tell which axes of a panel have levels."""
        if self.is_categorical is None:
            return (False,) * len(self.features[number])
        return tuple(self.is_categorical[number])

    def _plot_one_way_partial_dependence(
        self,
        kind: str,
        preds: Any,
        avg_preds: Any,
        feature_values: Array,
        feature_idx: Columns,
        n_ice_lines: int,
        ax: Axes,
        n_cols: int | None,
        pd_plot_idx: int,
        n_lines: int,
        ice_lines_kw: dict[str, Any],
        pd_line_kw: dict[str, Any],
        categorical: bool,
        bar_kw: dict[str, Any],
        pdp_lim: dict[int, tuple[float, float]],
    ) -> None:
        """Let scikit-learn draw one feature, levels by their names and their individual curves as lines."""
        ice_lines_kw, pd_line_kw = self._drawing.lines(kind)
        lines = self.lines_.copy()
        super()._plot_one_way_partial_dependence(
            kind,
            preds,
            avg_preds,
            _names_of(feature_values) if categorical else feature_values,
            feature_idx,
            n_ice_lines,
            ax,
            n_cols,
            pd_plot_idx,
            n_lines,
            ice_lines_kw,
            {"marker": "o", **pd_line_kw} if categorical or len(feature_values) == 1 else pd_line_kw,
            categorical and kind == "average",
            self._drawing.bars(ax),
            {features: _apart(*ends) for features, ends in pdp_lim.items()},
        )
        if kind == "average" and not categorical and lines.ndim > self.axes_.ndim:
            # scikit-learn puts it among the individual curves of another panel.
            drawn, self.lines_ = self.lines_.flat[pd_plot_idx], lines
            lines.reshape(self.axes_.size, n_lines)[pd_plot_idx, -1] = drawn
        if categorical:
            _write_levels(ax, feature_values)
        _readable_dates(ax.xaxis, feature_values)
        _recolour(self.deciles_vlines_.flat[pd_plot_idx])
        legend = ax.get_legend()
        if legend is not None and kind == "both":
            legend.set_loc("upper left")  # to find the best place among a thousand curves takes seconds

    def _plot_two_way_partial_dependence(
        self,
        avg_preds: Any,
        feature_values: Sequence[Array],
        feature_idx: Columns,
        ax: Axes,
        pd_plot_idx: int,
        Z_level: Array,
        contour_kw: dict[str, Any],
        categorical: bool,
        heatmap_kw: dict[str, Any],
    ) -> None:
        """Let scikit-learn draw two numbers or two categories, and draw one of each ourselves."""
        if any(self._levels(pd_plot_idx)) and not categorical:
            self._plot_levels(avg_preds[self.target_idx].T, feature_values, feature_idx, ax, pd_plot_idx)
            ends = _apart(Z_level[0], Z_level[-1])
            ax.set_ylim(*(ends if _roomy(ax) or self._drawing.fixed else _headroom(ax, *ends)))
            return
        before = set(ax.texts)
        with warnings.catch_warnings():
            # A surface that is flatter than the others may lie between two of their contours.
            warnings.filterwarnings("ignore", "No contour levels were found", UserWarning)
            super()._plot_two_way_partial_dependence(
                avg_preds,
                [_names_of(values) for values in feature_values] if categorical else feature_values,
                feature_idx,
                ax,
                pd_plot_idx,
                np.linspace(*_apart(Z_level[0], Z_level[-1]), num=len(Z_level)),
                contour_kw,
                categorical,
                heatmap_kw,
            )
        if categorical:
            _narrow_colour_bar(self.heatmaps_.flat[pd_plot_idx])
            return
        self.deciles_hlines_.flat[pd_plot_idx].remove()
        self.deciles_hlines_.flat[pd_plot_idx] = _rug(ax, self.deciles[feature_idx[1]], along="y")
        _recolour(self.deciles_vlines_.flat[pd_plot_idx])
        _clear_labels(ax, [text for text in ax.texts if text not in before])
        for axis, values in zip((ax.xaxis, ax.yaxis), feature_values, strict=True):
            _readable_dates(axis, values)

    def _plot_levels(
        self, curves: Array, feature_values: Sequence[Array], feature_idx: Columns, ax: Axes, number: int
    ) -> None:
        """Draw a pair of a number and a category: ``curves (levels, g)`` over the number."""
        values, levels = feature_values
        names, style = _names_of(levels), self._drawing.level_style
        support = self.pd_results[number].get("support")
        weights = np.ones(len(levels)) if support is None else support.sum(axis=0)
        named = np.argsort(-weights, kind="stable")[:NAMED].tolist()
        others = [level for level in range(len(levels)) if level not in named]
        before = len(ax.get_lines())
        lines: dict[int, Line2D] = {}
        for level in (*others, *sorted(named)):
            grey = {"color": "0.6", "linewidth": 0.7}
            own = {"color": color_of(before + level), "linestyle": dash_of(before + level), **style}
            lines[level] = ax.plot(values, curves[level], **(grey if level in others else own))[0]
        for level in named:
            lines[level].set_label(self._drawing.called(names[level]))
        for level in others[:1]:
            lines[level].set_label(f"other ({len(others)} levels)")
        self._drawing.levels[number] = tuple(lines[level] for level in range(len(levels)))
        self.deciles_vlines_.flat[number] = _rug(ax, self.deciles[feature_idx[0]], along="x")
        _readable_dates(ax.xaxis, values)
        ax.set_xlabel(self.feature_names[feature_idx[0]])
        ax.set_ylabel("Partial dependence")
        _explain(ax, self.feature_names[feature_idx[1]])


@dataclass(frozen=True)
class _Drawing:
    """What one call of ``plot`` remembers while scikit-learn draws panel after panel.

    The height of curves is ``fixed`` where the user gave it.
    ``heights`` are those of panels that something was drawn into before, ``labels`` are given where the last
    row of such panels has gaps, and ``levels`` are the lines of mixed pairs by the number of the panel.
    """

    axes: Any
    fixed: bool
    line: dict[str, Any]
    individual: dict[str, Any]
    average: dict[str, Any]
    bar: dict[str, Any]
    heights: dict[Axes, tuple[float, float]]
    labels: dict[Axes, str]
    levels: dict[int, tuple[Line2D, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, ax: Any, fixed: bool, *styles: dict[str, Any] | None) -> _Drawing:
        """Look at the axes before anything is drawn, and spell out the styles of lines and bars."""
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        *lines, bar = styles
        line, individual, average = (normalize_kwargs(style or {}, Line2D) for style in lines)
        looks = line, individual, average, normalize_kwargs(bar or {}, Patch)
        if _is_axes(ax):
            return cls(ax, fixed, *looks, {}, {})
        given, whole = _given(ax), np.asarray(ax, dtype=object)
        gaps = len(given) < whole.size
        heights = {one: one.get_ylim() for one in given if one.has_data()}
        labels = {one: one.get_ylabel() for one in given if gaps}
        return cls(np.array(given, dtype=object) if gaps else whole, fixed, *looks, heights, labels)

    def lines(self, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return how individual curves and the average look.

        scikit-learn 1.9 mixes the styles of panels, so that an average is as blue as the curves around it.
        """
        both = kind == "both"
        apart = {"color": "tab:orange", "linestyle": "--", "label": "average"} if both else {"color": "C0"}
        thin = {"color": "tab:blue" if both else "C0", "alpha": 0.3, "linewidth": 0.5}
        individual = {**thin, **self.line, **self.individual}
        individual.pop("label", None)
        return individual, {**apart, **self.line, **self.average}

    @property
    def level_style(self) -> dict[str, Any]:
        """How lines per level look, whose colour and dashes say which level it is."""
        style = {**self.line, **self.average}
        return {key: value for key, value in style.items() if key not in ("color", "linestyle", "label")}

    def called(self, level: str) -> str:
        """Return the name of a level in a legend, with that of the model if the user gave one."""
        label = {**self.line, **self.average}.get("label")
        return f"{level}, {label}" if label else level

    def bars(self, ax: Axes) -> dict[str, Any]:
        """Return how bars look: within those that were there before, so that both are seen."""
        before = len(ax.containers)
        return {"color": f"C{before}", "width": 0.8 / (before + 1), **self.bar}

    def keep_labels(self) -> None:
        """Give panels the labels they had, where scikit-learn cannot know which stand on the left."""
        for axes, label in self.labels.items():
            axes.set_ylabel(label)


@dataclass(frozen=True)
class _Panel:
    """What scikit-learn's display is given for one panel; a mixed pair has its number first."""

    features: Columns
    result: Bunch
    levels: tuple[bool, ...]
    deciles: dict[int, Array]

    @classmethod
    def of(cls, features: Columns, effect: PartialDependence) -> _Panel:
        """Take from an effect what is drawn."""
        pair = len(features) == 2  # a single value has no surface, but it can be the name of a curve
        levels = tuple(
            kind in NOMINAL or (pair and len(values) == 1)
            for kind, values in zip(effect.kinds, effect.grid_values, strict=True)
        )
        parts = {key: effect[key] for key in ("average", "individual", "support") if key in effect}
        grid = list(effect.grid_values)
        for axis, (kind, ordered) in enumerate(zip(effect.kinds, effect.ordered, strict=True)):
            if kind == "string" and not ordered:  # text by the alphabet, as scikit-learn has it
                places = np.argsort(grid[axis].astype(str), kind="stable")
                grid[axis] = grid[axis][places]
                parts = {key: part.take(places, axis - len(grid)) for key, part in parts.items()}
        deciles = {
            feature: own[1:-1]
            for feature, own, nominal in zip(features, effect.deciles, levels, strict=True)
            if own is not None and not nominal
        }
        if levels == (True, False):
            features, levels, grid = features[::-1], levels[::-1], grid[::-1]
            parts = {key: part.swapaxes(-2, -1) for key, part in parts.items()}
        return cls(features, Bunch(grid_values=grid, **parts), levels, deciles)


@contextmanager
def _value_errors() -> Iterator[None]:
    """Raise what scikit-learn has ValueErrors for as such, with our words."""
    try:
        yield
    except RefusalError as refusal:
        raise OptionError(str(refusal)) from refusal
    except ModelError as error:
        if isinstance(error.__cause__, ValueError):  # it is not fitted, or was fitted on other columns
            raise InputError(str(error)) from error
        raise


def _kinds(kind: Any, features: Any) -> list[str]:
    """Return what is drawn of each entry of ``features``."""
    if isinstance(features, (str, int)) or not hasattr(features, "__len__"):
        raise FeatureError(f"features={features!r} must be a list with an entry for each panel")
    if not len(features):
        raise FeatureError("features is empty; name at least one column")
    kinds = [kind] * len(features) if isinstance(kind, str) else list(kind)
    if len(kinds) != len(features):
        raise OptionError(
            "When `kind` is provided as a list of strings, it should contain as many elements as `features`: "
            f"there are {len(kinds)} and {len(features)}"
        )
    for one in kinds:
        one_of("kind", one, KINDS)
    return kinds


def _groups(features: Any, kinds: list[str], names: tuple[str, ...]) -> list[Columns]:
    """Return the columns of each panel."""
    groups = [resolve(entry, names) for entry in features]
    if any(len(group) > 2 for group in groups):
        raise FeatureError(
            "Each entry in features must be either an int, a string, or an iterable of size at most 2; "
            "paribus.partial_dependence computes the effect of more"
        )
    if any(len(group) == 2 and kind != "average" for group, kind in zip(groups, kinds, strict=True)):
        right = ["average" if len(g) == 2 else kind for g, kind in zip(groups, kinds, strict=True)]
        raise OptionError(
            "ICE plot cannot be rendered for 2-way feature interactions, which have an average only: "
            f"pass kind={right!r}"
        )
    return groups


def _effects(
    call: Call, groups: list[Columns], kinds: list[str], custom_values: Any, **options: Any
) -> list[PartialDependence]:
    """Compute the effect of each panel: all that are asked in one way in one pass over the rows."""
    given = by_position(custom_values, call.names, {feature for group in groups for feature in group})
    found: dict[tuple[str, Columns], PartialDependence] = {}
    for kind in dict.fromkeys(kinds):
        asked = tuple(dict.fromkeys(g for g, own in zip(groups, kinds, strict=True) if own == kind))
        own_values = {f: values for f, values in given.items() if any(f in group for group in asked)}
        answers, _ = replace(call, kind=kind).answer(asked, custom_values=own_values, **options)  # type: ignore[arg-type]
        found.update(zip([(kind, group) for group in asked], answers, strict=True))
    return [found[kind, group] for kind, group in zip(kinds, groups, strict=True)]


def _own_columns(estimator: Any, X: Any) -> Any:
    """Return as many columns of an array as the model was fitted on.

    scikit-learn's recursion does not show X to the model, so that one with columns to spare passes unnoticed:
    its guide draws a model of the four columns of iris with the ten of another table.
    """
    known = getattr(estimator, "n_features_in_", None)
    if known is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] <= known:
        return X
    warnings.warn(
        f"X has {X.shape[1]} columns and {type(estimator).__name__} was fitted on {known}: the first {known} "
        "are taken. Pass the table it was fitted on",
        UserWarning,
        stacklevel=3,
    )
    return X[:, :known]


def _response(estimator: Any, method: str, response_method: str) -> str:
    """Return what the model answers; probabilities are no sums of leaves, which recursion averages."""
    if method == "recursion" and response_method == "auto" and hasattr(estimator, "decision_function"):
        return "decision_function"
    return response_method


def _output(estimator: Any, target: Any, outputs: tuple[str, ...]) -> int:
    """Return the output that is drawn: a class by its label, any other by its position or name."""
    if len(outputs) == 1:
        return 0
    classes = getattr(estimator, "classes_", None)
    if classes is not None and len(classes) == len(outputs) and not any(np.ndim(one) for one in classes):
        labels = np.asarray(classes).tolist()
        if target is None:
            raise OptionError(f"target must be specified for multi-class: one of {_listed(labels)}")
        if target not in labels:
            known = _listed(labels)
            raise OptionError(f"target not in est.classes_, got {target!r}; the classes are {known}")
        return int(labels.index(target))
    if target is None:
        raise OptionError(
            "target must be specified for multi-output regressors and other models with several outputs: "
            f"0 to {len(outputs) - 1}, or one of {_listed(list(outputs))}"
        )
    if target in outputs:
        return outputs.index(target)
    if not isinstance(target, (int, np.integer)) or not 0 <= target < len(outputs):
        raise OptionError(
            f"target must be in [0, n_tasks), got {target!r}; there are {len(outputs)} outputs, "
            f"{_listed(list(outputs))}"
        )
    return int(target)


def _listed(words: list[Any]) -> str:
    return ", ".join(map(repr, words[:8])) + (f" and {len(words) - 8} more" if len(words) > 8 else "")


def _check_subsample(subsample: Any) -> None:
    every = "None draws the curves of all rows"
    if isinstance(subsample, (int, np.integer)):
        if subsample <= 0:
            raise OptionError(f"When an integer, subsample={subsample} should be positive; {every}")
    elif subsample is not None and not 0 < subsample < 1:
        raise OptionError(
            f"When a floating-point, subsample={subsample} should be in the (0, 1) range; {every}"
        )


def _is_axes(ax: Any) -> bool:
    from matplotlib.axes import Axes

    return isinstance(ax, Axes)


def _check_axes(ax: Any, panels: int) -> None:
    """Refuse axes that cannot hold the panels, before anything is computed for them."""
    if ax is None:
        return
    if _is_axes(ax):
        if not ax.axison:
            raise OptionError(
                "The ax was already used in another plot function, please set ax=display.axes_ instead"
            )
        return
    if len(_given(ax)) != panels:
        raise OptionError(
            f"Expected ax to have {panels} axes, got {len(_given(ax))}: one for each entry of features"
        )


def _given(ax: Any) -> list[Axes]:
    """Return the axes in an array; the last row of a display may have gaps."""
    return [one for one in np.asarray(ax, dtype=object).ravel() if one is not None]


def _names_of(levels: Array) -> Array:
    """Return levels as people read them; a dollar sign does not begin a formula."""
    words = []
    for level in levels.tolist():
        whole = isinstance(level, float) and level.is_integer()
        words.append(str(int(level) if whole else level).replace("$", r"\$"))
    return np.array(words, dtype=object)


def _write_levels(ax: Axes, levels: Array) -> None:
    """Write the names of levels side by side if there is room, else upwards."""
    letters = max(map(len, _names_of(levels)), default=0) * len(levels)
    ax.tick_params(axis="x", rotation=90 if letters > TURNED else 0)


def _readable_dates(axis: Axis, values: Array) -> None:
    """Write dates as dates, and times that pass in one of their units."""
    if values.dtype.kind == "m":
        _write_durations(axis, values)
    if values.dtype.kind != "M":
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=5)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _write_durations(axis: Axis, values: Array) -> None:
    """Write whole days, hours, minutes or seconds, whichever is the longest that fits a few times."""
    from matplotlib.ticker import MaxNLocator

    second = np.timedelta64(1, "s") / np.ones(1, values.dtype)[0]
    seconds = values.astype(np.int64) / second
    name, unit = next(
        (one for one in DURATIONS.items() if np.ptp(seconds) >= 3 * one[1]), ("s", DURATIONS["s"])
    )
    ticks = MaxNLocator(5).tick_values(seconds.min() / unit, seconds.max() / unit)
    inside = ticks[(ticks >= seconds.min() / unit) & (ticks <= seconds.max() / unit)]
    axis.set_ticks(inside * unit * second, [f"{tick:g} {name}" for tick in inside])


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, with room around a curve that is flat."""
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    room = 0.05 * abs(low) or 0.05
    return low - room, high + room


def _rug(ax: Axes, at: Array, along: str) -> Any:
    """Draw deciles inside the edge of a panel, whose limits they do not change."""
    from matplotlib import rcParams
    from matplotlib.transforms import blended_transform_factory

    limits = ax.get_xlim(), ax.get_ylim()
    if along == "x":
        place = blended_transform_factory(ax.transData, ax.transAxes)
        lines = ax.vlines(at, 0, 0.05, transform=place, color=rcParams["xtick.color"])
    else:
        place = blended_transform_factory(ax.transAxes, ax.transData)
        lines = ax.hlines(at, 0, 0.05, transform=place, color=rcParams["ytick.color"])
    ax.set_xlim(limits[0])
    ax.set_ylim(limits[1])
    return lines


def _recolour(deciles: Any) -> None:
    """Give deciles the colour of the ticks: black on black is not seen."""
    from matplotlib import rcParams

    if deciles is not None:
        deciles.set_color(rcParams["xtick.color"])


def _clear_labels(ax: Axes, labels: list[Text]) -> None:
    """Keep the numbers on contours that can be read: off the edge, and not black on dark colours."""
    from matplotlib.patheffects import withStroke

    for label in labels:
        place = ax.transAxes.inverted().transform(ax.transData.transform(label.get_position()))
        if place.min() < EDGE or place.max() > 1 - EDGE:
            label.remove()
        label.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.7)])


def _narrow_colour_bar(image: AxesImage) -> None:
    """Put the colour bar beside the cells themselves.

    Beside the panel it would be as high as that, and make tight_layout() fail on our figures.
    """
    axes, figure = image.axes, image.get_figure()
    assert axes is not None
    assert figure is not None
    assert image.colorbar is not None
    image.colorbar.remove()
    figure.colorbar(image, cax=axes.inset_axes((1.04, 0.0, 0.05, 1.0)))


def _roomy(ax: Axes) -> bool:
    """Tell whether the figure makes room for what stands beside a panel."""
    from matplotlib.figure import Figure

    figure = ax.get_figure()
    return isinstance(figure, Figure) and figure.get_layout_engine() is not None


def _explain(ax: Axes, title: str) -> None:
    """Add a legend of levels: beside the panel where the figure makes room, else above its curves."""
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: str(line.get_label()).startswith("other ("))
    place: dict[str, Any] = {"bbox_to_anchor": (1.0, 1.0)} if _roomy(ax) else {"ncols": _columns(ax)}
    ax.legend(handles=lines, title=title, fontsize="small", loc="upper left", **place)


def _columns(ax: Axes) -> int:
    """Return how many names of levels stand beside each other within a panel."""
    return 2 if max(len(str(line.get_label())) for line in ax.get_lines()) <= SHORT else 1


def _headroom(ax: Axes, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis whose legend stands above its curves."""
    legend = ax.get_legend()
    assert legend is not None
    rows = 2 + ceil(len(legend.get_texts()) / _columns(ax))
    share = min(ROW * rows / ax.get_window_extent().height * ax.figure.dpi, 0.6)
    return low, low + (high - low) / (1 - share)

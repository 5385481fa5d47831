"""Base class of results, and methods that draw and report them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from paribus._typing import OutputLayout, PlotBackend
from paribus.errors import InputError, did_you_mean
from paribus.results.repr_text import describe
from paribus.results.storage import Saveable

if TYPE_CHECKING:
    from paribus._display.figure import Figure as Figure

PANELS = 12  # of effects that are drawn by default, the strongest


class NotebookReprMixin(Saveable):
    """Display as text, and in notebooks with a plot."""

    def __repr__(self) -> str:
        return describe(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return all representations for a notebook, drawn once."""
        from paribus._display.output import bundle

        return bundle(self)

    def _figure(self, *options: Any) -> Figure:
        """Return the picture as plain data."""
        from paribus._display.pictures import figure_for

        return figure_for(self, *options)

    def _plotted(self, figure: Figure, backend: str, ax: Any, dark: bool) -> Any:
        """Draw the picture."""
        from paribus._display.output import draw

        return draw(figure, backend=backend, ax=ax, dark=dark)

    def to_svg(
        self: Any, *args: Any, dark: bool = False, id_prefix: str | None = None, **options: Any
    ) -> str:
        """Return the plot as a standalone SVG image, to embed in a page or to write to a file.

        It needs no plotting package. It has no scripts and no styles, and refers to nothing outside it; text
        is kept as text, and screen readers have a title and a description. It is the same to the byte each
        time.

        Parameters
        ----------
        *args
            Those of `figure`.
        dark : bool
            Whether to use light marks on a dark background.
        id_prefix : str, optional
            Prefix of the ids in the SVG, so that several can be embedded in one page; by default
            derived from the content.
        **options
            Those of `figure`.

        Returns
        -------
        str
            An ``<svg>`` element.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0)
        >>> effect.to_svg() == effect.to_svg()
        True
        """
        from paribus._display.output import render_svg

        return render_svg(self.figure(*args, **options), dark=dark, id_prefix=id_prefix)

    def _repr_html_(self) -> str:
        html: str = self._repr_mimebundle_()["text/html"]
        return html

    def _repr_png_(self) -> bytes | None:
        return self._repr_mimebundle_().get("image/png")


class PlotMixin(NotebookReprMixin):
    """A result, or a mapping of results, that can be plotted."""

    def figure(
        self,
        *,
        output: str | int | None = None,
        outputs: OutputLayout | None = None,
        k: int = PANELS,
        columns: int = 3,
        share_y: bool = True,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Return the plot as plain data: panels of lines, bands, points and cells, with their text.

        Two figures are equal if all their numbers and texts are. Parameters are those of `plot`.

        Returns
        -------
        Figure
            Panels, their axes and marks, before any plotting library.
        """
        return self._figure(output, outputs, k, columns, share_y, title, figsize)

    def plot(
        self,
        *,
        ax: Any = None,
        output: str | int | None = None,
        outputs: OutputLayout | None = None,
        k: int = PANELS,
        columns: int = 3,
        share_y: bool = True,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        backend: PlotBackend = "matplotlib",
        dark: bool = False,
    ) -> Any:
        """Plot one panel per effect, strongest first.

        Panels lie between the 5th and the 95th percentile. Tails in which a curve moves have a narrow panel,
        as missing values have. Below every curve is the density of the data in about 30 bars, with its
        deciles as ticks, and curves fade where data is sparse. Categories and at most twelve distinct numbers
        have points with error bars; the bars below them are as long as their share of the data. Categories
        without an order are sorted by effect, numbers and booleans are not; beyond twenty the rarest are
        pooled. Effects of trees on a grid of ``"splits"`` are steps.

        The legend explains the bands: ± two standard errors, the interval over rows and refits for a list of
        models, or quantiles of the rows. The y-axis names the target: the class, or the name in
        ``target_names``. Below the panels are the model, the rows, and one line of ``notes``.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Axes to draw on, one per panel. Their content, labels, titles and positions are kept; make their
            figure with ``layout="constrained"`` for room around them. A new figure by default.
        output : str or int, optional
            One output of several, by name or position; all by default.
        outputs : {"color", "rows"}, optional
            How to show several outputs: one color each ("color") or one row of panels each ("rows"). Default:
            "color" unless color already encodes something else.
        k : int
            Maximum number of effects to plot, strongest first; a line below the plot reports further ones.
        columns : int
            Maximum number of panels per row.
        share_y : bool
            Whether panels of the same unit share the y-axis.
        title : str, optional
            Title of the figure; by default the estimate. An empty one and several ``ax`` leave it out.
        figsize : tuple of two numbers, optional
            Width and height of a new figure in inches; by default as large as its panels need.
        backend : {"matplotlib", "plotly"}
            Plotting library. With plotly a pointer shows values, effects, standard errors and shares of the
            data.
        dark : bool
            Whether to draw on a dark background. By default colors are those of the style of matplotlib, or
            of the template of plotly.

        Returns
        -------
        matplotlib.figure.Figure or plotly.graph_objects.Figure
            The figure, whether it has one panel or several; with ``ax`` the figure of these axes.
        """
        figure = self._figure(output, outputs, k, columns, share_y, title, figsize)
        return self._plotted(figure, backend, ax, dark)


class BarsMixin(NotebookReprMixin):
    """Draw numbers of features as bars: importance, and what has moved."""

    def figure(self, *, k: int = 15, output: str | int | None = None, title: str | None = None) -> Figure:
        """Return the plot as plain data; parameters are those of `plot`.

        Returns
        -------
        Figure
            Panels, their axes and marks, before any plotting library.
        """
        return self._figure(k, output, title)

    def plot(
        self,
        *,
        k: int = 15,
        output: str | int | None = None,
        title: str | None = None,
        ax: Any = None,
        backend: PlotBackend = "matplotlib",
        dark: bool = False,
    ) -> Any:
        """Draw the largest as bars, with their standard errors.

        Parameters
        ----------
        k : int
            How many, at most.
        output : str or int, optional
            One output of several, by name or position. Required if there are several.
        title : str, optional
            Title of the figure; by default the quantity. An empty one leaves it out.
        ax : matplotlib Axes, optional
            Axes to draw on, whose position is kept: make their figure with ``layout="constrained"``. A new
            figure by default.
        backend : {"matplotlib", "plotly"}
            Plotting library.
        dark : bool
            Whether to draw on a dark background.

        Returns
        -------
        matplotlib.figure.Figure or plotly.graph_objects.Figure
            The figure; with ``ax`` that of these axes.
        """
        return self._plotted(self._figure(k, output, title), backend, ax, dark)


class Result(PlotMixin, Mapping[str, Any]):
    """A record whose fields are keys as well.

    Those that are optional come first, and are absent where they were not requested, which is where they are
    None.
    """

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(f"there is no {key!r}{did_you_mean(str(key), self)}")
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __iter__(self) -> Iterator[str]:
        optional = [name for name, declared in self.declared.items() if declared.optional]
        yield from (name for name in optional if getattr(self, name) is not None)
        yield from (name for name in self.__dataclass_fields__ if name not in optional)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _check(self) -> None:
        """Refuse a missing point that has other numbers than the curve, or is of several features."""
        missing = getattr(self, "missing", None)
        if missing is not None and len(self["grid_values"]) != 1:
            raise InputError("missing is of several features together; leave it out")
        for name in () if missing is None else missing.declared:
            if (getattr(self, name, None) is None) != (getattr(missing, name) is None):
                raise InputError(f"{name} and missing.{name} need each other; pass both or none")
        for name, declared in self.declared.items():
            part = getattr(self, name)
            if declared.nested and hasattr(part, "missing") and (part.missing is None) != (missing is None):
                raise InputError(f"{name}.missing and missing need each other; pass both or none")


class ReportMixin(NotebookReprMixin):
    """Write an explanation as one HTML file, or as Markdown."""

    def report(
        self: Any,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        about: Mapping[str, str] | None = None,
        compare: Any = None,
        tables: bool = False,
    ) -> None:
        """Write the explanation to one self-contained HTML file.

        It opens without a network and without scripts. It contains every number, and `paribus.load` returns
        the explanation from it. It contains averages, quantiles and counts. It also contains predictions and
        targets of up to 2,000 rows, without their columns; `Explanation.without_rows` leaves them out. The
        same explanation gives a byte-identical file: facts that differ between runs (date, duration, threads,
        folders) are left out; see `Provenance.reproducible`.

        Parameters
        ----------
        path : str or path
            The file, such as ``"report.html"``; an existing one is replaced once the new one is complete.
        title : str, optional
            Title of the page; one that names the model by default.
        about : mapping of str to str, optional
            Facts for readers, such as ``purpose``, ``owner``, ``period``, ``limitations``, ``data_role``
            (``"held-out rows"``) or ``date`` (by default that of ``SOURCE_DATE_EPOCH``).
        compare : Explanation, optional
            An earlier explanation, for a section on the changes since.
        tables : bool
            Whether to print the number tables and the full record. The screen always has them.

        Raises
        ------
        OptionError
            If title, about or compare are of another type.
        FormatError
            If the file cannot be written.

        Examples
        --------
        >>> import numpy as np, pathlib, tempfile, paribus
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> explanation = paribus.explain(lambda X: X[:, 0] * X[:, 1], X)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> explanation.report(path, about={"owner": "pricing team"})
        >>> paribus.load(path).feature_names == explanation.feature_names
        True
        """
        from paribus._report.pages import write_page

        write_page(self, path, title, about, compare, tables)

    def to_markdown(self: Any, *, title: str | None = None) -> str:
        """Return the verdict and the tables of the model as Markdown, for merge requests.

        Names from the data are escaped: they are text, whatever they contain. Files have no folders.

        Parameters
        ----------
        title : str, optional
            Its heading; one that names the model by default.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> print(paribus.explain(lambda X: X[:, 0] * X[:, 1], X).to_markdown(title="Ours").splitlines()[0])
        # Ours
        """
        from paribus._report.pages import markdown

        return markdown(self, title)

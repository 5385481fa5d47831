"""What has a picture: as plain data, drawn by a plotting package, and in a notebook.

This file is the only door from results to their display, and opens when a picture is requested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paribus._typing import OutputLayout, PlotBackend
from paribus.results.saved import Saved

if TYPE_CHECKING:
    from paribus.display.figure import Figure as Figure


class Shown(Saved):
    """What a notebook shows: the story and a picture."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return all that a notebook can show, drawn once."""
        from paribus.display.notebook import bundle

        return bundle(self)

    def _figure(self, *options: Any) -> Figure:
        """Return the picture as plain data."""
        from paribus.display.pictures import figure_for

        return figure_for(self, *options)

    def _drawn(self, figure: Figure, backend: str, ax: Any) -> Any:
        """Draw the picture."""
        from paribus.display.draw import draw_result

        return draw_result(self, figure, backend, ax)

    def _repr_html_(self) -> str:
        html: str = self._repr_mimebundle_()["text/html"]
        return html

    def _repr_png_(self) -> bytes | None:
        return self._repr_mimebundle_().get("image/png")


class Pictured(Shown):
    """A result about features, or a mapping of them, that can be drawn."""

    def figure(
        self,
        *,
        output: str | int | None = None,
        outputs: OutputLayout | None = None,
        k: int = 24,
        columns: int = 3,
        share_y: bool = True,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Return the picture as plain data: panels of lines, bands, points, cells, with their words.

        Two pictures are equal if every number and word in them is. The parameters are those of `plot`.

        Returns
        -------
        paribus.display.figure.Figure
        """
        return self._figure(output, outputs, k, columns, share_y, title, figsize)

    def plot(
        self,
        *,
        ax: Any = None,
        output: str | int | None = None,
        outputs: OutputLayout | None = None,
        k: int = 24,
        columns: int = 3,
        share_y: bool = True,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        backend: PlotBackend = "matplotlib",
    ) -> Any:
        """Draw one panel for each effect, the strongest first.

        Every curve stands over the data: its density along the bottom, its deciles as ticks; the curve fades
        where the data thins out, and a missing value has a narrow panel of its own. Levels without an order
        are sorted by their effect, and the rarest of more than twenty share one place. The legend says what
        the bands are: two standard errors to each side, two standard deviations between several models, or
        shares of the rows. Below it are the first notes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw: as many as there are panels. What they show already stays, as do their labels and
            titles. A new figure otherwise.
        output : str or int, optional
            One output of several, by name or position; all of them otherwise.
        outputs : {"color", "rows"}, optional
            Whether several outputs are colours of one panel, or have panels of their own; colours where
            these have no other meaning.
        k : int
            Of many effects, how many are drawn, the strongest; a line below says if there are more.
        columns : int
            Panels beside each other, at most.
        share_y : bool
            Whether panels of one unit have one y-axis, so that sizes compare.
        title : str, optional
            A title above everything; there is none otherwise.
        figsize : tuple of two numbers, optional
            Width and height of a new figure in inches; what its panels need otherwise.
        backend : {"matplotlib", "plotly"}
            Who draws. With plotly a pointer tells values, effects, standard errors and shares of the data.

        Returns
        -------
        matplotlib.axes.Axes, matplotlib.figure.Figure or plotly.graph_objects.Figure
            With matplotlib the axes of a single result that has one panel, else the figure.
        """
        figure = self._figure(output, outputs, k, columns, share_y, title, figsize)
        return self._drawn(figure, backend, ax)

"""Mixin of results that can be written as a page; the only door from results to it, opened on request."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from paribus.results.plot_mixin import NotebookReprMixin


class ReportMixin(NotebookReprMixin):
    """Write an explanation as one HTML file, or as Markdown."""

    def report(
        self: Any,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        about: Mapping[str, str] | None = None,
        compare: Any = None,
    ) -> None:
        """Write everything to one HTML file that needs nothing else.

        It opens without a network and without scripts, prints with all sections open, and has every number
        inside: `paribus.load` returns the explanation from it. It holds averages, quantiles and counts, and
        no row of the data. The same explanation gives the same file to the byte: what differs between runs
        (date, duration, threads, folders) is left out, see `Provenance.reproducible`.

        Parameters
        ----------
        path : str or path
            The file, such as ``"report.html"``; an existing one is replaced once the new one is complete.
        title : str, optional
            Title of the page; one that names the model by default.
        about : mapping of str to str, optional
            What readers should know and no computation can tell, such as ``purpose``, ``owner``,
            ``data_role``, ``period``, ``limitations`` or ``date``. It is printed as it is. Without a ``date``
            that of the environment variable ``SOURCE_DATE_EPOCH`` is printed, or none. ``purpose`` and
            ``limitations`` stand below the title.
        compare : Explanation, optional
            An earlier one, such as of the model in use or of earlier rows: what has moved since gets a
            section.

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
        from paribus._report.html_page import write_page

        write_page(self, path, title, about, compare)

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
        from paribus._report.summary_text import markdown

        return markdown(self, title)

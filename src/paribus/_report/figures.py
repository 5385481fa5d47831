"""Figures, internal links and definitions of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import feature_axis
from paribus._display.compose.curves import comparison_panel, curve_panel, without_label
from paribus._display.figure import Band, Bars, Figure, Line, Mark, Points, Rug, Strip
from paribus._display.layout import figure_of
from paribus._display.mark_helpers import INK, PALETTE
from paribus._display.vector import render, sparkline
from paribus._display.vector.page import INCH, labeled, legend_above
from paribus._report.markup import Content, Markup, element, folded, joined, name_of, separated, table
from paribus.notes import Note, NoteCode
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.curve_values import as_numbers
from paribus.results.effects import compare
from paribus.results.explanation import Explanation
from paribus.results.feature_table import FeatureRow
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence, central_points
from paribus.results.shape import Shape
from paribus.results.text_table import TextColumn
from paribus.results.verdict import notes_of

MEDIUM = 500.0  # pixels of the width of a wide figure
SMALL = (3.95, 3.0)  # inches of one of three figures in a row
TINY = (3.95, 1.75)  # inches of a curve of the summary
PAIRED = (4.5, 2.1)  # inches of one of the two figures of a feature, without its legend
ALL_OUTPUTS, SOME_OUTPUTS = 4, 3  # of more than four outputs, figures show the three with the largest range


def figure(
    drawings: Figure | Sequence[Figure],
    caption: Content,
    key: str,
    numbers: Content = None,
    width: float | None = None,
    readouts: bool = False,
    class_: str | None = None,
) -> Markup:
    """Return images with one caption and a folded table of their ``numbers``.

    ``key`` is the prefix of all ids, and ``width`` the width of an image in pixels. With ``readouts`` points
    have hover texts, which need no script.
    """
    images = []
    for place, drawing in enumerate([drawings] if isinstance(drawings, Figure) else drawings):
        panels = tuple(panel.with_marks(_without_data_readout) for panel in drawing.panels)
        bare = replace(drawing, notes=(), title=None, panels=panels)
        images.append(Markup(render(bare, id_prefix=f"{key}-{place}", width=width, hover=readouts)))
    several = len(images) > 1
    table = None if numbers is None else folded("Numbers of this figure", numbers, class_="numbers appendix")
    shown = element("div", *images, class_="images") if several else images
    class_ = " ".join(filter(None, (class_, "wide" * several))) or None
    return element("figure", shown, element("figcaption", caption), table, class_=class_)


def _without_data_readout(mark: Mark) -> Mark:
    return replace(mark, hover=()) if isinstance(mark, Strip | Rug) else mark


def spark(effect: PartialDependence, shape: Shape | None) -> Markup:
    """Return the sparkline of a feature."""
    if effect.average is None or not effect.average.size:
        return Markup("")
    output = moved_most(effect.average, 1)[0] if shape is None else effect.output_names.index(shape.output)
    if feature_axis(effect, 0).categorical:
        return Markup(sparkline(None, effect.average[output]))
    central = central_points(effect)
    return Markup(sparkline(as_numbers(effect.grid_values[0][central]), effect.average[output][central]))


def drawn_outputs(effect: PartialDependence, most: int = SOME_OUTPUTS) -> list[int]:
    """Return the plotted outputs: all if there are few, else the ``most`` with the largest range."""
    outputs = len(effect.output_names)
    assert effect.average is not None  # as explain requests it
    return moved_most(effect.average, outputs if outputs <= ALL_OUTPUTS else most)


def moved_most(curves: Floats, most: int) -> list[int]:
    """Return the indices of the ``most`` outputs with the largest range in ``curves (n_outputs, ...)``."""
    flat = np.nan_to_num(curves.reshape(len(curves), -1))
    moved = np.ptp(flat, axis=1) if flat.shape[1] else np.zeros(len(curves))
    return sorted(np.argsort(-moved, kind="stable")[:most].tolist())


def summary_figures(effects: Sequence[tuple[PartialDependence, int]]) -> list[Figure]:
    """Return small figures of the curves of features on a common y-axis, for one output each."""
    panels = [curve_panel(replace(effect, quantiles=None), [output]) for effect, output in effects]
    drawing = figure_of([panel.with_marks(without_label) for panel in panels], columns=1)
    figures = []
    for panel, (effect, _) in zip(drawing.panels, effects, strict=True):
        y = replace(panel.y, label=str(effect.provenance.scale))  # the caption names the output
        figures.append(replace(drawing, panels=(replace(panel, y=y),), size=TINY))
    return figures


def _in_gray(mark: Mark) -> Mark:
    """Return a mark of rows in gray, so that their average has the color of the other figures."""
    colors = {PALETTE[0]: INK, PALETTE[1]: PALETTE[0]}
    if isinstance(mark, Band | Bars | Line | Points) and isinstance(mark.color, str):
        return replace(mark, color=colors.get(mark.color, mark.color))
    return mark


def feature_figures(
    effect: PartialDependence, ale: AccumulatedLocalEffect | None, averages: Marginal | None
) -> tuple[list[Figure], list[Figure]]:
    """Return figures of one feature on common axes.

    The first ones show the partial dependence with quantiles of the rows, the second ones compare it with
    accumulated local effects and averages. Of more than four outputs, the second has one.
    """
    outputs = drawn_outputs(effect)
    bare = replace(effect, quantiles=None)
    if effect.quantiles is None or len(effect.output_names) > ALL_OUTPUTS:
        spread = [curve_panel(bare, outputs)]
    else:
        spread = [curve_panel(effect, [output]).with_marks(_in_gray) for output in outputs]
    compared = []
    if ale is not None or averages is not None:
        together = compare(bare, ale, averages)
        compared = [comparison_panel(together, output) for output in drawn_outputs(effect, 1)]
    drawing = figure_of([*spread, *compared], columns=1)
    width, height = PAIRED
    figures = []
    for panel in drawing.panels:  # the plots are of one height, whatever their legends need
        legend = legend_above(labeled([panel]), panel.legend_title, INCH * width)
        size = width, height + legend.height / INCH
        figures.append(replace(drawing, panels=(panel,), legend_title=panel.legend_title, size=size))
    return figures[: len(spread)], figures[len(spread) :]


NAME = 120  # characters of a name in a table, other than of a feature
OF_FEATURES = ("feature", "with", "and")  # heads of columns with names of features
CURVES = 60  # curves with hover texts, at most; more would double the size of a page


@dataclass(frozen=True)
class References:
    """Ranks, notes and links of features by name; ids contain ranks, because names are arbitrary."""

    explanation: Explanation

    @property
    def readouts(self) -> bool:
        """Whether points have hover texts, which only a page of few curves has."""
        return len(self.ranks) * len(self.explanation.output_names) <= CURVES

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Rank of each feature, the strongest first."""
        return {name: rank for rank, name in enumerate(self.explanation.feature_names, 1)}

    @cached_property
    def notes(self) -> list[Note]:
        """All notes that the verdict counts."""
        return notes_of(self.explanation)

    @cached_property
    def notes_of(self) -> dict[str, list[Note]]:
        """Notes about each feature."""
        by_feature: dict[str, list[Note]] = {}
        for note in self.notes:
            if note.feature is not None:
                by_feature.setdefault(note.feature, []).append(note)
        return by_feature

    @cached_property
    def rows(self) -> dict[str, FeatureRow]:
        """Row of each feature in the feature table, over all outputs."""
        return {row.feature: row for row in self.explanation.table}

    def feature(self, name: str, longest: int = 40) -> Markup:
        """Return the name of a feature as a link to its panel, or as text if it has no panel."""
        shown = name_of(name, longest)
        rank = self.ranks.get(name)
        return shown if rank is None else element("a", shown, href=f"#feature-{rank}")

    def features(self, names: Iterable[str]) -> Markup:
        """Return the links of several features, joined by a multiplication sign."""
        return separated(" × ", (self.feature(str(name)) for name in names))

    def table(self, caption: str, columns: Sequence[TextColumn], class_: str = "") -> Markup:
        """Return a table for readers as an element, in which features are links to their panels."""
        cells: list[Iterable[str]] = []
        for column in columns:
            write = self.feature if column.head in OF_FEATURES else partial(name_of, longest=NAME)
            cells.append(map(write, column.cells) if column.names else column.cells)
        heads = [f"{column.head[:1].upper()}{column.head[1:]}" for column in columns]
        return table(caption, heads, zip(*cells, strict=True), class_=class_)


def badge(code: NoteCode) -> Markup:
    """Return the badge with the severity of a code."""
    return element("span", code.severity.capitalize(), class_=f"badge {code.severity}")


Formula = tuple[Content, ...]


def _sub(text: str) -> Markup:
    return element("sub", text)


def _sup(text: str) -> Markup:
    return element("sup", text)


DEFINITIONS: tuple[tuple[str, Formula | None, str], ...] = (
    (
        "Partial dependence",
        ("PD", _sub("j"), "(v) = 1/W · Σ", _sub("i"), " w", _sub("i"), " f(v, x", _sub("i, −j"), ")"),
        "The average prediction with the feature set to v in all rows, all else unchanged. W is the sum of "
        "the weights, which are 1 where none were given.",
    ),
    (
        "Individual curves (ICE)",
        ("f", _sub("i"), "(v) = f(v, x", _sub("i, −j"), ")"),
        "The curve of each row. The page shows only quantiles of these curves.",
    ),
    (
        "Standard error",
        ("sd", _sub("i"), " f(v, x", _sub("i, −j"), ") / √n"),
        "The error of an average, as if the rows were a random sample; with weights, n is the effective "
        "number. It says nothing about another model fitted on other rows.",
    ),
    (
        "Accumulated local effects (ALE)",
        (
            "ALE", _sub("j"), "(v) = Σ", _sub("k ≤ k(v)"), " mean", _sub("i in bin k"),
            " [ f(z", _sub("k"), ", x", _sub("i, −j"), ") − f(z", _sub("k−1"), ", x", _sub("i, −j"), ") ]",
            " − c",
        ),
        "The average change of the prediction when the rows of a bin move from its lower to its upper edge, "
        "summed over bins. The constant c makes the average over the data zero.",
    ),
    (
        "Strength",
        (
            "√( 1/W · Σ", _sub("i"), " w", _sub("i"),
            " (PD", _sub("j"), "(x", _sub("ij"), ") − mean)", _sup("2"), " )",
        ),
        "The standard deviation of the partial dependence at every row's own value, in units of the "
        "prediction; over several outputs the root mean square. If only a sample "
        "of rows was evaluated, the record gives their number.",
    ),
    (
        "Movement against a direction",
        ("max", _sub("a ≤ b"), " ( PD(a) − PD(b) )"),
        "This is for a curve that should rise; for one that should fall, PD is replaced by −PD. The standard "
        "error is that of the differences of the same rows at both values.",
    ),
    (
        "Strength of a pair, and H²",
        (
            "√ mean", _sub("i"), " ( PD", _sub("jk"), " − PD", _sub("j"), " − PD", _sub("k"), " )", _sup("2"),
            ",   H", _sup("2"), " = mean", _sub("i"), " ( PD", _sub("jk"), " − PD", _sub("j"), " − PD",
            _sub("k"), " )", _sup("2"), " / mean", _sub("i"), " PD", _sub("jk"), _sup("2"),
        ),
        "Friedman and Popescu's statistics, of centered curves at the rows of the data.",
    ),
    (
        "Averages near a value",
        None,
        "Averages of predictions, of the target and of their difference over the rows whose value is nearest "
        "to v. Other features differ there, too.",
    ),
)  # fmt: skip

NOT_SHOWN = (
    "Causes. Curves show the predictions for changed values, not the consequences of a change in the world.",
    "Single rows are not listed. An average near a value may be that of one row. The numbers saved in the "
    "page include the predictions, weights and target of up to 2,000 rows, unless they were left out.",
    "Extrapolation. Curves may combine values that do not occur together; PAR101 names the features.",
    "Interactions of three or more features.",
    "Uncertainty of the fit. Standard errors cover the sampling of rows, not the training.",
    "Fairness, privacy, the quality of the data, or whether the model suits a purpose.",
    "Compliance with any rule or standard.",
)


def definitions() -> Markup:
    """Return the definitions of the statistics."""
    items = (
        element(
            "div",
            element("dt", name),
            element("dd", None if formula is None else element("p", *formula, class_="formula"), meaning),
        )
        for name, formula, meaning in DEFINITIONS
    )
    return element("dl", *items, class_="definitions")


def not_shown() -> Markup:
    """Return the list of topics that the page does not show."""
    return joined(
        element("h3", "Not shown on this page", id="not-shown"),
        element("ul", *(element("li", line) for line in NOT_SHOWN), class_="plain"),
    )

"""Figures, references and definitions of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.curves import curve_panel
from paribus._display.compose.surfaces import surface_panel
from paribus._display.figure import Figure, Panel, Rug, Strip
from paribus._display.layout import figure_of, single_panel
from paribus._display.vector import render, sparkline
from paribus._report.markup import Content, Markup, element, folded, joined, name_of
from paribus.errors import DrawingError
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import as_numbers
from paribus.results.explanation import Explanation
from paribus.results.feature_table import FeatureRow
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence, trimmed
from paribus.results.shape import Shape
from paribus.results.verdict import notes_of

MEDIUM = 500.0  # pixels: text can be read where a narrow window makes it smaller
SMALL = (3.95, 3.0)  # inches: three figures of a feature stand beside each other
ALL_OUTPUTS, SOME_OUTPUTS = 4, 3  # of a model with more than four, figures have three: those that move most


def figure(
    drawings: Figure | Sequence[Figure],
    caption: Content,
    key: str,
    numbers: Content = None,
    width: float | None = None,
    readouts: bool = False,
) -> Markup:
    """Return images with one caption, and their numbers folded below; ids in them begin with ``key``.

    With ``readouts`` points show their numbers to a pointer, which needs no script.
    """
    every = [drawings] if isinstance(drawings, Figure) else drawings
    images = [
        Markup(render(_bare(drawing), id_prefix=f"{key}-{place}", width=width, hover=readouts))
        for place, drawing in enumerate(every)
    ]
    several = len(images) > 1
    table = None if numbers is None else folded("Numbers of this figure", numbers, class_="numbers")
    shown = element("div", *images, class_="images") if several else images
    return element("figure", shown, element("figcaption", caption), table, class_="wide" if several else None)


def _bare(drawing: Figure) -> Figure:
    """Return a figure without what stands beside it on the page; its strip of data has no read-outs."""
    return replace(drawing, notes=(), title=None, panels=tuple(map(_quiet, drawing.panels)))


def _quiet(panel: Panel) -> Panel:
    marks = (replace(mark, hover=()) if isinstance(mark, (Strip, Rug)) else mark for mark in panel.marks)
    right, top = (part and _quiet(part) for part in (panel.right, panel.top))
    return replace(panel, marks=tuple(marks), right=right, top=top)


def spark(effect: PartialDependence, shape: Shape | None) -> Markup:
    """Return the curve of a feature as a word-sized image, with ± 2 standard errors if its shape has them."""
    below, above = effect.tail_points
    inner = trimmed(effect)
    if effect.average is None or inner.average is None or not inner.average.size:
        return Markup("")
    output = moved_most(effect.average, 1)[0] if shape is None else effect.output_names.index(shape.output)
    curve, values = inner.average[output], inner.grid_values[0]
    low = high = None
    if shape is not None and len(shape.centered_error) == effect.average.shape[1]:
        error = 2 * shape.centered_error[below : effect.average.shape[1] - above]
        low, high = curve - error, curve + error
    places = as_numbers(values) if effect.kinds[0] in ("numeric", "integer", "datetime") else None
    return Markup(sparkline(places, curve, low, high))


def drawn_outputs(result: Any) -> list[int]:
    """Return the outputs that are drawn: all of few, or those that move most.

    Averages near a value need an image for each output, so that of many only one is drawn.
    """
    curves: Floats = next(result[key] for key in ("average", "ale", "predicted", "observed") if key in result)
    some = 1 if isinstance(result, Marginal) else SOME_OUTPUTS
    return moved_most(curves, len(curves) if len(curves) <= ALL_OUTPUTS else some)


def moved_most(curves: Floats, most: int) -> list[int]:
    """Return the outputs ``(n_outputs, ...)`` that move most, in their own order."""
    flat = np.nan_to_num(curves.reshape(len(curves), -1))
    moved = np.ptp(flat, axis=1) if flat.shape[1] else np.zeros(len(curves))
    return sorted(np.argsort(-moved, kind="stable")[:most].tolist())


def curve_figures(result: Any, outputs: Sequence[int]) -> list[Figure]:
    """Return curves of one feature: an image for each output where one has bands of its own, on one scale."""
    if len(result.output_names) > ALL_OUTPUTS and isinstance(result, PartialDependence):
        result = replace(result, quantiles=None)
    together = not isinstance(result, Marginal) and result.get("quantiles") is None
    groups = [list(outputs)] if together or len(outputs) == 1 else [[output] for output in outputs]
    drawing = figure_of([curve_panel(result, group) for group in groups], columns=1)
    return [replace(drawing, panels=(panel,), size=SMALL) for panel in drawing.panels]


def surface_figure(effect: PartialDependence, output: int) -> Figure | None:
    """Return the surface of two features; None where it cannot be drawn."""
    try:
        return figure_of([surface_panel(effect, output)])
    except DrawingError:
        return None


def panel_figure(panel: Panel) -> Figure:
    """Return the figure of a single panel."""
    return single_panel(panel, SMALL, ())


CURVES = 60  # that have read-outs: those of more would make a page twice as large


@dataclass(frozen=True)
class References:
    """Ranks and shapes of features by name; ids are made of ranks, as names may be anything."""

    explanation: Explanation

    @property
    def readouts(self) -> bool:
        """Whether points show their numbers to a pointer, which few curves have room for."""
        return len(self.ranks) * len(self.explanation.output_names) <= CURVES

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Rank of each feature, the strongest first."""
        return {name: rank for rank, name in enumerate(self.explanation.feature_names, 1)}

    @cached_property
    def shapes(self) -> dict[str, list[Shape]]:
        """Shapes of each feature, in the order of the outputs."""
        found: dict[str, list[Shape]] = {name: [] for name in self.ranks}
        for shape in self.explanation.shapes:
            found.setdefault(shape.feature, []).append(shape)
        return found

    @cached_property
    def notes(self) -> list[Note]:
        """Every note that the verdict counts, without muted ones."""
        return notes_of(self.explanation)

    @cached_property
    def notes_of(self) -> dict[str, list[Note]]:
        """Notes about each feature by itself."""
        found: dict[str, list[Note]] = {}
        for note in self.notes:
            if note.feature is not None:
                found.setdefault(note.feature, []).append(note)
        return found

    @cached_property
    def rows(self) -> dict[str, FeatureRow]:
        """What is known of each feature over all outputs."""
        return {row.feature: row for row in self.explanation.table}

    def widest(self, name: str) -> Shape | None:
        """Return the shape of the output that a feature moves most."""
        return max(self.shapes.get(name, ()), key=lambda shape: np.nan_to_num(shape.range), default=None)

    def feature(self, name: str, longest: int = 40) -> Markup:
        """Return a feature as a link to its panel, or as text if it has none."""
        shown = name_of(name, longest)
        rank = self.ranks.get(name)
        return shown if rank is None else element("a", shown, href=f"#feature-{rank}")

    def features(self, names: Iterable[str]) -> Markup:
        """Return features that belong together."""
        return joined((" × " * (place > 0), self.feature(str(name))) for place, name in enumerate(names))

    def pair(self, names: Iterable[str]) -> str:
        """Return the id of the surface of some features."""
        return "pair-" + "-".join(str(self.ranks.get(str(name), 0)) for name in names)


def code_link(code: NoteCode) -> Markup:
    """Return a code as a link to its definition on the page."""
    return element("a", code.value, href=f"#{code.value}", class_="code")


def badge(code: NoteCode) -> Markup:
    """Return the severity of a code as a word."""
    return element("span", code.severity.capitalize(), class_=f"badge {code.severity}")


Formula = tuple[Content, ...]


def _sub(text: str) -> Markup:
    return element("sub", text)


def _sup(text: str) -> Markup:
    return element("sup", text)


AVERAGE: Formula = (
    "PD",
    _sub("j"),
    "(v) = 1/W · Σ",
    _sub("i"),
    " w",
    _sub("i"),
    " f(v, x",
    _sub("i, −j"),
    ")",
)
DEFINITIONS: tuple[tuple[str, Formula | None, str], ...] = (
    (
        "Partial dependence",
        AVERAGE,
        "The average prediction with the feature set to v in all rows, all else unchanged. W is the sum of "
        "the weights, which are 1 where none were given.",
    ),
    (
        "Individual curves (ICE)",
        ("f", _sub("i"), "(v) = f(v, x", _sub("i, −j"), ")"),
        "The curve of each row, of which the page has quantiles at each value and no single one.",
    ),
    (
        "Standard error",
        ("sd", _sub("i"), " f(v, x", _sub("i, −j"), ") / √n"),
        "Of an average over rows, as if the rows were a random sample; with weights, n is the effective "
        "number. It says nothing about another model fitted on other rows.",
    ),
    (
        "Accumulated local effects (ALE)",
        (
            "ALE", _sub("j"), "(v) = Σ", _sub("k ≤ k(v)"), " mean", _sub("i in bin k"),
            " [ f(z", _sub("k"), ", x", _sub("i, −j"), ") − f(z", _sub("k−1"), ", x", _sub("i, −j"), ") ]",
            " − c",
        ),
        "Changes between neighboring values z of the rows that lie between them, added up; c makes the "
        "average over the data zero.",
    ),
    (
        "Strength",
        (
            "√( 1/W · Σ", _sub("i"), " w", _sub("i"),
            " (PD", _sub("j"), "(x", _sub("ij"), ") − mean)", _sup("2"), " )",
        ),
        "The standard deviation of the partial dependence at every row's own value, in units of the "
        "prediction; over several outputs the root mean square. Where rows are crossed with each other, over "
        "the sampled rows that the record names.",
    ),
    (
        "Movement against a direction",
        ("max", _sub("a ≤ b"), " ( PD(a) − PD(b) )"),
        "For a curve that should rise, and the same of −PD for one that should fall. Its standard error is "
        "that of the differences of the same rows at both values.",
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
    "Causes. Curves say what the model predicts if a value is changed, not what would happen in the world.",
    "Single rows. The page shows averages, quantiles and counts. The numbers saved in it also have the "
    "predictions, weights and target of up to 2,000 rows, without their columns, for comparisons row by row.",
    "Rows the model was not explained on. Curves may combine values that do not occur together; the verdict "
    "says where that was found.",
    "Interactions of three features and more, beyond what curves average over.",
    "Uncertainty of the fit. Standard errors are of the rows, not of the training.",
    "Fairness, privacy, the quality of the data, or whether the model is fit for a purpose.",
    "Compliance with any rule or standard. Nothing here claims it.",
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
    """Return what a reader must not expect of the page."""
    return joined(
        element("h3", "What this page does not show", id="not-shown"),
        element("ul", *(element("li", line) for line in NOT_SHOWN)),
    )

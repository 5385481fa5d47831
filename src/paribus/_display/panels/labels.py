"""What pictures call things: units, heights with their errors, shares of the data."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import PanelAxis
from paribus._display.panels.axis_layout import EffectLike, short
from paribus._text import number, percent
from paribus._text import short as short_number
from paribus.notes import NoteCode
from paribus.results import HStatistics, Importance, Provenance


def unit(result: EffectLike | HStatistics, outputs: list[int]) -> str:
    """Return what the heights of outputs are: the scale of the prediction, and of which output."""
    name = result.output_names[outputs[0]] if len(outputs) == 1 else "prediction"
    return result.provenance.scale.label(short(name))


def heights(result: EffectLike, outputs: list[int]) -> PanelAxis:
    """Return the y-axis of outputs: all probabilities are of one unit, whatever they are of."""
    scale = result.provenance.scale
    return PanelAxis(unit(result, outputs), unit=scale.base if scale.is_probability else None)


def one_line(text: str) -> str:
    """Return words without breaks, as a pointer shows them."""
    return text.replace("\n", " ")


def height(name: str, value: float, error: float | None, called: str = "standard error") -> str:
    """Return what a pointer shows: a height, and how uncertain it is if that is known."""
    told = f"{name} {number(value)}"
    if error is None or not np.isfinite(error):
        return told
    return f"{told}, {called} {short_number(error)}"


def share(part: float, whole: float) -> str:
    """Return how much of the data is meant."""
    return f"{percent(part / whole)} of the data" if whole else "no data"


def shares(weights: Floats, whole: float) -> list[str]:
    """Return how much of the data each weight is."""
    return [share(float(weight), whole) for weight in weights]


def whole(provenance: Provenance) -> float:
    """Return the weight of all rows."""
    return float(provenance.rows if provenance.weights is None else provenance.weights["sum"])


def background(provenance: Provenance) -> str:
    """Return the line that says whose numbers these are, and over whom they were taken."""
    model = f"{provenance.model}, " if provenance.model else ""
    return f"{model}{provenance.background()}"


def hover_of(result: HStatistics | Importance, *lines: str) -> tuple[str, ...]:
    """Return the small print of a picture: whose numbers these are, and what else is to be known of them.

    ``lines`` are about the picture itself. The background says already which rows were sampled.
    """
    own = (note for note in result.notes if note.code is not NoteCode.ROWS_SAMPLED)
    return (background(result.provenance), *lines, *own)

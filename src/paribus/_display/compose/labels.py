"""What pictures call things: units, values with their errors, shares of the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import Effect, short
from paribus._display.figure import PanelAxis
from paribus._text import number, percent
from paribus._text import short as short_number
from paribus.notes import NoteCode
from paribus.results import Difference, Drift, HStatistics, Importance, LocalEffect, Provenance


def unit(result: Effect | HStatistics | Drift, outputs: list[int]) -> str:
    """Return what the heights of outputs are: the scale of the prediction, and of which output."""
    name = result.output_names[outputs[0]] if len(outputs) == 1 else "prediction"
    return result.provenance.scale.label(short(name))


def height_axis(result: Effect, outputs: list[int]) -> PanelAxis:
    """Return the y-axis of outputs: all probabilities are of one unit, whatever they are of."""
    label, scale = unit(result, outputs), result.provenance.scale
    if isinstance(result, LocalEffect):
        joint = "joint " if len(result.feature_names) > 1 else ""
        return PanelAxis(f"{joint}effect on {label}")
    if isinstance(result, Difference):
        return PanelAxis(f"{result.part} less {result.reference}: {label}")
    return PanelAxis(label, unit=scale.base if scale.is_probability else None)


def value_text(name: str, value: float, error: float | None, error_name: str = "standard error") -> str:
    """Return a value as hover texts have it, and how uncertain it is if that is known."""
    text = f"{name.replace(chr(10), ' ')} {number(value)}"
    return text if error is None or not np.isfinite(error) else f"{text}, {error_name} {short_number(error)}"


def hover_texts(
    texts: Iterable[str],
    name: str,
    values: Floats,
    errors: Floats | None,
    shares: Sequence[str] = (),
    error_name: str = "standard error",
) -> tuple[str, ...]:
    """Return one text for each point: what it is, its value with its error, its share of the data."""
    lines = []
    for p, text in enumerate(texts):
        error = None if errors is None else float(errors[p])
        lines.append(
            "\n".join([text, value_text(name, float(values[p]), error, error_name), *shares[p : p + 1]])
        )
    return tuple(lines)


def shares(weights: Floats, whole: float) -> list[str]:
    """Return how much of the data each weight is."""
    return [f"{percent(float(part) / whole)} of the data" if whole else "no data" for part in weights]


def with_shares(texts: Iterable[str], weights: Floats, whole: float) -> tuple[str, ...]:
    """Return texts, each with its share of the data."""
    return tuple(map("\n".join, zip(texts, shares(weights, whole), strict=True)))


def whole_of(provenance: Provenance) -> float:
    """Return the weight of all rows."""
    return float(provenance.rows if provenance.weights is None else provenance.weights["sum"])


def background(provenance: Provenance) -> str:
    """Return the line that says whose numbers these are, and over whom they were taken."""
    model = f"{provenance.model}, " if provenance.model else ""
    return f"{model}{provenance.background()}"


def notes_of(result: HStatistics | Importance | Drift, *lines: str) -> tuple[str, ...]:
    """Return the notes of a picture: whose numbers these are, and what else is to be known of them.

    ``lines`` are about the picture itself. The background says already which rows were sampled.
    """
    own = (note for note in result.notes if note.code is not NoteCode.ROWS_SAMPLED)
    return (background(result.provenance), *lines, *own)

"""What pictures call things: units, heights with their errors, shares of the data."""

from __future__ import annotations

import numpy as np

from paribus.contracts import Floats
from paribus.display.panels.place import Laid, short
from paribus.results import Provenance
from paribus.results.joint import ONLY
from paribus.results.relative import RELATIVE as AT
from paribus.results.story import number
from paribus.results.story import short as short_number

RELATIVE = f", {AT}"  # what follows it in a scale is where a centred effect is zero


def unit(result: Laid, outputs: list[int]) -> str:
    """Return what the heights of outputs are: the scale of the prediction, and of which output."""
    name = result.output_names[outputs[0]] if len(outputs) == 1 else "prediction"
    return unit_of(result.provenance.scale, name)


def unit_of(scale: str, output: str) -> str:
    """Return the scale of one output; of a centred effect, what it is a change from."""
    base, _, where = scale.partition(RELATIVE)
    base, joint, _ = base.partition(f", {ONLY}")
    name = short(output)
    if name != "prediction":
        base = f"{base} of {name}" if base == "probability" else f"{base} ({name})"
    if joint:
        base = f"joint effect on {base}"
    return f"change in {base}\nfrom {where}" if where else base


def one_line(text: str) -> str:
    """Return words without breaks, as a pointer tells them."""
    return text.replace("\n", " ")


def height(name: str, value: float, error: float | None, called: str = "standard error") -> str:
    """Return what a pointer tells: a height, and how uncertain it is if that is known."""
    told = f"{name} {number(value)}"
    if error is None or not np.isfinite(error):
        return told
    return f"{told}, {called} {short_number(error)}"


def share(part: float, whole: float) -> str:
    """Return how much of the data is meant."""
    return f"{percent(part / whole)} of the data" if whole else "no data"


def percent(part: float) -> str:
    """Return a share of the data as it is written: two digits, more where nearly all of it is meant."""
    if 0 < part < 1e-4:
        return "under 0.01 %"
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.4g} %"


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


def told_of(provenance: Provenance, notes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the small print of a picture: whose numbers these are, and what else is to be known of them."""
    drawn = f"{provenance.sampled_rows:,} of {provenance.rows:,} rows" if provenance.sampled_rows else None
    return (background(provenance), *(note for note in notes if drawn is None or drawn not in note))

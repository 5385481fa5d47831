"""Colors by role, light and dark, and the colors of numbers.

A mark names its color by a class, which the style sheet of a page turns into the color of a theme. Every
color of a theme but its grid has a contrast of at least 3 to its ground, and that of text one of 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._display.style import DIVERGING, GRAY, INK, PALETTE, SEQUENTIAL
from paribus.errors import DrawingError

Paints: TypeAlias = dict[str, str]  # attributes of an element, among them its class

PAPER, FAINT, GRID, DATA = "paper", "faint", "grid", "data"  # colors of a theme beside its ink
ROOT = "paribus"  # class of every image, within which the others have a meaning
# Few colors of a map, evenly apart, between which others are interpolated.
MAPS = {
    SEQUENTIAL: ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"),
    DIVERGING: ("#1a3f73", "#3d7eb8", "#9cc4de", "#f4f4f2", "#f2b094", "#cb5a4c", "#7d1226"),
}
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue light
SHADES = 120  # of a color map that can be distinguished
# Conversions between linear red, green and blue and a space in which distances are those people see (Oklab).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_SEEN = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@dataclass(frozen=True)
class Theme:
    """The colors of a page: of text, the ground, what is read last, the grid, the data, and of series."""

    ink: str
    paper: str
    faint: str
    grid: str
    data: str
    series: tuple[str, ...]

    def colors(self) -> dict[str, str]:
        """Return the color of each class."""
        roles = {"ink": self.ink, PAPER: self.paper, FAINT: self.faint, GRID: self.grid, DATA: self.data}
        return roles | {f"c{number}": color for number, color in enumerate(self.series, start=1)}


LIGHT = Theme(
    ink="#1f2328",
    paper="#ffffff",
    faint="#5b616b",
    grid="#e4e6ea",
    data="#8a9099",
    series=("#0072b2", "#d55e00", "#00936b", "#c06a9a", "#b57a00", "#2b95c8", "#8c6bb1"),
)
DARK = Theme(
    ink="#e6e8eb",
    paper="#16181d",
    faint="#a9b0bb",
    grid="#2d323b",
    data="#757c87",
    series=("#4ba3dc", "#f0803c", "#2fbf93", "#dd8fbb", "#f0b23c", "#7cc7f2", "#ab92cf"),
)
ROLES = {color.lower(): f"c{number}" for number, color in enumerate(PALETTE, start=1)}
ROLES |= {INK: "ink", GRAY.lower(): DATA} | {role: role for role in (PAPER, FAINT, GRID, DATA)}


def css() -> str:
    """Return the style sheet of images in a page: light, and dark on screens of readers who prefer it.

    It defines variables such as ``--paribus-c1`` for elements of class ``paribus``, and what classes of marks
    inside them mean: ``f-c1`` is filled with that color, ``s-c1`` has lines of it, ``o-20`` shows a fifth.
    """
    classes = "".join(
        f".{ROOT} .f-{name}{{fill:var(--{ROOT}-{name})}}.{ROOT} .s-{name}{{stroke:var(--{ROOT}-{name})}}\n"
        for name in LIGHT.colors()
    )
    parts = {part: f"{in_dark(part / 100):.2g}" for part in range(5, 100, 5)}
    pale = "".join(
        f".{ROOT} .o-{part}{{fill-opacity:{more};stroke-opacity:{more}}}" for part, more in parts.items()
    )
    return (
        f"{_variables(LIGHT)}\n"
        f"@media screen and (prefers-color-scheme:dark){{{_variables(DARK)}{pale}}}\n"
        f"@media print{{.{ROOT}{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}}}\n"
        f".{ROOT}{{fill:var(--{ROOT}-ink);max-width:100%;height:auto}}\n{classes}"
    )


def in_dark(alpha: float) -> float:
    """Return how much of its color a mark shows on black, where what is just seen on white is not seen."""
    return 1 - float((1 - alpha) ** 1.7)


def _variables(theme: Theme) -> str:
    colors = ";".join(f"--{ROOT}-{name}:{color}" for name, color in theme.colors().items())
    return f".{ROOT}{{{colors}}}"


def legible(ground: str) -> str:
    """Return black or white, whichever has more contrast to a color; that is always at least 4.5."""
    light = float(_linear(ground) @ LUMINANCE)
    return "#000000" if (light + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


def _linear(color: str) -> Floats:
    """Return red, green and blue as shares of light."""
    parts = np.array([*bytes.fromhex(color[1:])]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def shades(colors: str | Sequence[str]) -> tuple[str, ...]:
    """Return the colors of a map, by its name or its own few, from low to high."""
    if isinstance(colors, str) and colors not in MAPS:
        raise DrawingError(f"colors={colors!r} is no color map of this renderer; use {', '.join(MAPS)}")
    return _interpolated(MAPS[colors] if isinstance(colors, str) else tuple(colors))


@cache
def _interpolated(anchors: tuple[str, ...]) -> tuple[str, ...]:
    """Return colors between few of them, as evenly apart as they are seen."""
    seen = np.cbrt(np.array([_linear(anchor) for anchor in anchors]) @ TO_CONES.T) @ TO_SEEN.T
    at, known = np.linspace(0, 1, SHADES), np.linspace(0, 1, len(anchors))
    between = np.column_stack([np.interp(at, known, side) for side in seen.T])
    cones = np.linalg.solve(TO_SEEN, between.T) ** 3
    linear = np.clip(np.linalg.solve(TO_CONES, cones).T, 0.0, 1.0)
    parts = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return tuple(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.rint(255 * parts).astype(int))


def shade_numbers(values: Floats, low: float, high: float) -> Floats:
    """Return which of the shades between two ends each value has; NaN for none."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (values / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5 + 0.0 * values
    return np.rint(np.clip(share, 0.0, 1.0) * (SHADES - 1))

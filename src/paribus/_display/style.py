"""How pictures look in every renderer: colors for the color-blind, which survive gray."""

from __future__ import annotations

from paribus._display.figure import Dash, Marker

INK = "ink"  # the color of the theme's own text, so that what is gray on white is gray on black too
GRAY = "#B3B3B3"  # of what says little
# Of Okabe and Ito, without their yellow, which is too light to be seen on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1")
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted", "dashdot")
MARKERS: tuple[Marker, ...] = ("circle", "square", "diamond", "triangle", "cross", "star")
SEQUENTIAL = "viridis"  # of what has no natural middle: as dark in gray as it is low
DIVERGING = "RdBu_r"  # of what is above and below zero

STRIP = 0.10  # height of the strip of data, as a share of the panel
BELOW = 1.5 * STRIP  # room made for it, as a share of the curves' own height


def color_of(series: int) -> str:
    """Return the color of one of several curves."""
    return PALETTE[series % len(PALETTE)]


def dash_of(series: int) -> Dash:
    """Return the dashes of one of several curves: no two of 28 have color and dashes in common."""
    return DASHES[(series % len(PALETTE) + series // len(PALETTE)) % len(DASHES)]


def marker_of(series: int) -> Marker:
    """Return the marker of one of several series of points."""
    return MARKERS[series % len(MARKERS)]
